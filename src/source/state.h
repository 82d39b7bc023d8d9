/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state.h - what is known of a source beyond this process: files in state.folder.
 *
 *     NAME.openrpc.json   the last good description; used when the service cannot be asked
 *     NAME.status.json    how it is, for `causeway source list`
 *
 *     {"name":"aria2","pid":4711,"at":"2026-11-15T10:00:00Z","state":"ready","since":…,
 *      "tools":3,"methods":36,"withheld":0,"refreshed":…,"problem":null}
 *
 * state: "ready", "stale" (an older description is used), "down" (nothing is known of it),
 * "broken" (breaker is open). Files are replaced atomically and have mode 0600.
 *
 * Threads: the main loop's thread (files are small; writes are not waited for: no fsync).
 */
#ifndef CW_SOURCE_STATE_H
#define CW_SOURCE_STATE_H

#include "base/arena.h"
#include "base/buf.h"

typedef struct cw_source_status {
    cw_str name;
    cw_str state;
    int64_t pid;
    int64_t at_ms, since_ms, refreshed_ms; /* since 1970; 0: never */
    uint32_t tools, methods, withheld;
    cw_str problem; /* of the last load, or named methods that the service lacks; empty: none */
} cw_source_status;

/* `folder` may be empty: then nothing is kept, and nothing is found (CW_GONE). */
CW_MUST_USE cw_code cw_state_save_description(cw_str folder, cw_str name, cw_str openrpc,
                                              cw_err *err);
CW_MUST_USE cw_code cw_state_load_description(cw_str folder, cw_str name, cw_buf *out, cw_err *err);
CW_MUST_USE cw_code cw_state_save_status(cw_str folder, const cw_source_status *status,
                                         cw_err *err);
/* Texts of *ret are in the arena. */
CW_MUST_USE cw_code cw_state_load_status(cw_str folder, cw_str name, cw_arena *arena,
                                         cw_source_status *ret, cw_err *err);

#endif
