/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names.h - the names that a server has: accounts, roles, tools, sources and others.
 *
 *     a running server   through its local socket (cli/lib/admin.h)
 *     else the database  if it belongs to this user and needs no migration
 *     else               the configuration
 *
 * Nothing is created, and no service is contacted.
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_COMPLETE_NAMES_H
#define CW_CLI_COMPLETE_NAMES_H

#include "cli/complete/values.h"

/* A name, and a few words about it, perhaps none. Both live until the function returns. */
typedef void (*cw_complete_name_fn)(cw_str name, cw_str about, void *ctx);

/* Call `fn` with each name of a kind. `config` is the value of --config, or NULL. Problems leave names
 * out. */
void cw_complete_each_name(cw_complete_kind kind, const char *config, cw_complete_name_fn fn,
                           void *ctx);

#endif
