/* SPDX-License-Identifier: GPL-2.0-or-later */
/* issuers.h - the issuers of a configuration, as access/issuer/issuer.h takes them.
 *
 * Ownership: the list borrows from the configuration, and owns the secrets that it has read.
 * Threads:   main thread only.
 */
#ifndef CW_SERVER_OPTIONS_ISSUERS_H
#define CW_SERVER_OPTIONS_ISSUERS_H

#include "access/issuer/issuer.h"
#include "config/config.h"

typedef struct cw_issuer_list {
    cw_arena arena;
    cw_issuer_opts *items;
    size_t n;
} cw_issuer_list;

/* Reads the files with secrets. Borrows from the configuration; done must be called in any case. */
CW_MUST_USE cw_code cw_issuer_list_init(cw_issuer_list *list, const cw_config *config, cw_err *err);
void cw_issuer_list_done(cw_issuer_list *list);

#endif
