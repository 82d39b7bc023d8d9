/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source.h - the built-in source `causeway`: administration methods as calls.
 *
 *     loop of the call ── post ──► main loop ──► CW_ADMIN_MAIN: run
 *            ▲                         ├──────► CW_ADMIN_STORE: [hash pool, prepare], store's thread, run
 *            │                         └──────► CW_ADMIN_FILES: thread pool, run in turn
 *            └───────────── post ─────────────────────┘
 *
 * An operation owns copies of all it needs, so a call that is cancelled leaves nothing behind that
 * it could touch.
 *
 * Ownership: the source is reference counted; each running operation holds a reference.
 * Threads:   cw_admin_source_new on the main thread; calls on any loop.
 */
#ifndef CW_ADMIN_SOURCE_H
#define CW_ADMIN_SOURCE_H

#include "admin/server.h"
#include "source/source.h"

#define CW_ADMIN_SOURCE_NAME CW_CONFIG_BUILTIN_SOURCE
/* Longer than an upgrade may take, and shorter than a command waits. */
#define CW_ADMIN_CALL_MS (CW_UPGRADE_MS + 2000u)

/* The source of the methods, with those in config->admin.tools marked. `server` is borrowed and
 * outlives every operation. */
CW_MUST_USE cw_code cw_admin_source_new(cw_admin_server *server, const cw_config *config,
                                        cw_source **ret, cw_err *err);

#endif
