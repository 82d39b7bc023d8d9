/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin.h - a plugin as a source: worker processes that run one shared object each.
 *
 * The file is copied into sealed memory when it is loaded, so that replacing it
 * on disk never changes what runs. Each loop has workers of its own, started on
 * demand up to a ceiling; docs/plugin-protocol.md has the frames between them.
 *
 *     call -> waiting (per loop) -> worker: sent, started, done
 *
 *     worker  STARTING -> READY <-> BUSY -> (kill) -> DYING -> reaped
 *
 * A worker that dies fails the call that it ran and nothing else: calls that were
 * sent to it but not started are sent to another one. A cancelled call gets a
 * frame, and its worker is killed when that does not end it.
 *
 * Calls of a method that keeps crashing are rejected before they reach a worker. A
 * death while a call runs counts against the call's method, and the worker is
 * replaced immediately; a death at start or while idle counts against the plugin, and
 * the next start waits, 100 ms at first, twice as long each time. After CW_PLUGIN_DEATHS
 * deaths within CW_PLUGIN_DEATHS_MS, over all loops and with no call of the plugin
 * succeeding in between, the method or the plugin is paused: calls are rejected with
 * CW_FAULT_UNAVAILABLE, except for a trial call after each pause (if that dies too,
 * the pause doubles). So one method that crashes its workers never makes another one
 * fail, and healthy traffic prevents all pauses. A worker that Causeway kills after a
 * cancel does not count as a death: clients that leave must not be able to pause a
 * method, and a method that hangs slows itself down.
 * Neither does a process that the system did not start: calls wait for it, with the
 * same growing pauses, for as long as a worker may take to load.
 *
 * Threads: as source.h; cw_plugin_load on the main loop's thread.
 */
#ifndef CW_SOURCE_PLUGIN_PLUGIN_H
#define CW_SOURCE_PLUGIN_PLUGIN_H

#include "catalogue/method_schemas.h"
#include "net/process/child.h"
#include "source/event/event_offers.h"
#include "source/source.h"

#define CW_PLUGIN_DEATHS 5u
#define CW_PLUGIN_DEATHS_MS 60000u
#define CW_PLUGIN_BACKOFF_MIN_MS 100u
#define CW_PLUGIN_BACKOFF_MAX_MS 30000u
#define CW_PLUGIN_PAUSE_MIN_MS 5000u
#define CW_PLUGIN_PAUSE_MAX_MS 30000u
#define CW_PLUGIN_FILE_MAX (256u * 1024u * 1024u)

/* How workers are run; the same for all plugins. */
typedef struct cw_plugin_opts {
    const char *host;        /* path of causeway-plugin-host */
    cw_str data;             /* folder that plugins keep files in; empty: that of the plugin */
    cw_spawner *spawner;     /* outlives every plugin */
    unsigned n_loops;        /* cw_loop.index is below this */
    uint32_t workers;        /* per plugin and loop, at most */
    uint32_t queue;          /* calls that may wait, per plugin and loop */
    uint32_t call_ms;        /* time limit of one call */
    uint32_t grace_ms;       /* from the cancel frame to the kill */
    uint32_t load_ms;        /* for a worker to load the plugin and describe it */
    uint32_t idle_ms;        /* a worker that had nothing to do for so long is ended; 0: never */
    uint64_t memory;         /* RLIMIT_AS of a worker; 0: no limit */
    uint32_t files;          /* RLIMIT_NOFILE of a worker */
    size_t frame_size;       /* largest frame either way */
    cw_change_sink *change;  /* gets notifications that belong to no call; may be NULL */
    cw_schema_policy policy; /* how schemas are read */
    cw_event_hub *events;    /* borrowed; NULL: plugins have no events */
    cw_config *config; /* has those that are published; a load takes a reference. May be NULL */
    struct cw_accounts *accounts; /* borrowed; NULL: no logins */
} cw_plugin_opts;

/* The result of a load: `source` with one reference, or NULL and the reasons, for the log: each
 * line is a problem ("articles: method 'a.b': annotations must be an object"). */
typedef struct cw_plugin_loaded {
    cw_source *source;
    cw_str name;
    cw_str problem;
    bool may_pass; /* the problem: no process could be started, or it took too long */
} cw_plugin_loaded;

typedef void (*cw_plugin_loaded_fn)(const cw_plugin_loaded *loaded, void *ctx);

/* Load the file at `path` under `name`: copy it, start a worker on `loop` (the main one), ask it to
 * describe itself, and call fn(…, ctx) later, exactly once, on that loop. Fails immediately,
 * without a call of fn, when the file cannot be read or the worker cannot be requested (CW_NOMEM,
 * CW_LIMIT: for want of memory or descriptors). *ret_job (may be NULL) can be given to
 * cw_plugin_load_cancel until fn was called. */
typedef struct cw_plugin_job cw_plugin_job;
CW_MUST_USE cw_code cw_plugin_load(cw_loop *loop, const cw_plugin_opts *opts, cw_str name,
                                   const char *path, cw_plugin_loaded_fn fn, void *ctx,
                                   cw_plugin_job **ret_job, cw_err *err);
void cw_plugin_load_cancel(cw_plugin_job *job);

/* Append all errors in the description of a plugin: in its marks, its schemas, and defaults that
 * their schema does not accept. A line each, with the plugin's name in front and '\n' behind.
 * `description` may be that of a plugin with other mistakes ("partial" of $/failed). CW_NOMEM. */
CW_MUST_USE cw_code cw_plugin_declaration_errors(cw_str name, const cw_json *description,
                                                 const cw_schema_policy *policy, cw_buf *out);

#endif
