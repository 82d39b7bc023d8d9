/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state_files.h - the facts about a source that outlive this process: files in state.directory.
 *
 *     NAME.description.json   the last good description, and its requirements
 *     NAME.status.json        its state, for `causeway source list`
 *
 *     {"version":1,"at":"http://…","describe":"drupal","kind":"drupal-tools","partial":false,
 *      "accepted_ms":0,"requires":{"METHOD":{"x-mcp-tool":{"annotations":{"auth":{…}}}}},"openrpc":{…}}
 *
 * The first file is used when a discovery fails, and each new description is compared with it
 * (required_access.h). A file that exists and cannot be read counts as lost, never as missing.
 *
 *     {"name":"aria2","pid":4711,"at":"2026-11-15T10:00:00Z","state":"ready","since":…,
 *      "tools":3,"methods":36,"withheld":0,"refreshed":…,"problem":null}
 *
 * state: "ready", "stale" (an older description is used), "down" (nothing is known of it),
 * "withheld" (the lock file is lost), "broken" (breaker is open). Files are replaced atomically,
 * have mode 0600, and belong to the owner of the folder where root writes them.
 *
 * Threads: the main loop's thread. A description that differs is synced to the disk.
 */
#ifndef CW_SOURCE_REMOTE_STATE_FILES_H
#define CW_SOURCE_REMOTE_STATE_FILES_H

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

typedef struct cw_state_description {
    cw_str at;           /* URL or command of its service */
    cw_str describe;     /* `discovery` in the configuration */
    cw_str kind;         /* of the description: cw_discovery_result.kind */
    bool is_partial;     /* likewise */
    int64_t accepted_ms; /* when an operator accepted it, since 1970; 0: it was not necessary */
    cw_str requires;     /* a JSON object, as required_access.h writes it */
    cw_str openrpc;      /* a JSON document; empty: not kept */
    bool is_of_other;    /* not in the file; see last_good.h */
} cw_state_description;

/* `folder` may be empty: then nothing is kept, and nothing is found. */
CW_MUST_USE cw_code cw_state_save_description(cw_str folder, cw_str name,
                                              const cw_state_description *d, cw_err *err);
/* Texts of *ret are in the arena. CW_GONE: none exists. Another code: it exists, and is
 * unusable. */
CW_MUST_USE cw_code cw_state_load_description(cw_str folder, cw_str name, cw_arena *arena,
                                              cw_state_description *ret, cw_err *err);
CW_MUST_USE cw_code cw_state_save_status(cw_str folder, const cw_source_status *status,
                                         cw_err *err);
/* Texts of *ret are in the arena. */
CW_MUST_USE cw_code cw_state_load_status(cw_str folder, cw_str name, cw_arena *arena,
                                         cw_source_status *ret, cw_err *err);

#endif
