/* SPDX-License-Identifier: GPL-2.0-or-later */
/* listeners.h - the listeners of a server: of the service manager, of a predecessor, or new ones.
 *
 * Ownership: the server owns what is opened; sockets of other processes move out of `handed`.
 * Threads:   the main one, before the server starts.
 */
#ifndef CW_SERVER_LISTENERS_H
#define CW_SERVER_LISTENERS_H

#include "config/config.h"
#include "net/server/server.h"

/* Open `listen`, `console.listen` and `metrics.listen`. `handed` has the sockets of a predecessor; those that the
 * service manager has stored are added. CW_IO with the address, CW_CONFIG, CW_LIMIT, CW_NOMEM. */
CW_MUST_USE cw_code cw_app_open_listeners(cw_server *server, const cw_config *config,
                                          cw_handed *handed, cw_err *err);

#endif
