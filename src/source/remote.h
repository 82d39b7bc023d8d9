/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remote.h - a plain JSON-RPC 2.0 service over HTTP as a source.
 *
 * Its methods come from an OpenRPC document (a file) or from `rpc.discover`;
 * which of them are tools, and which may be called at all, is said by an overlay
 * in config: nothing by default. Each loop has its own connections to it.
 *
 * Answers. A JSON-RPC answer counts whatever the HTTP status is. It must say
 * "jsonrpc":"2.0" and have the id of its request; an error may have the id null,
 * as of a server that could not read the request. "error":null beside a result is
 * a result. All else is a fault: the caller is told the kind, the log the details.
 *
 * Errors of the service are passed on with code, message and data, but scrubbed:
 *   - a message ends at its first line break and after CW_REMOTE_MESSAGE_MAX bytes;
 *     control characters become spaces, and what looks like the path of a file
 *     becomes "[path]";
 *   - data is dropped when it is larger than CW_REMOTE_DATA_MAX bytes, or when there
 *     is anywhere in it a member named trace, traceback, stack, stacktrace, backtrace
 *     or callstack (case, '_' and '-' ignored), or a text that looks like a stack
 *     trace or has the path of a file in it.
 *
 * Breaker, shared by all loops. After CW_REMOTE_FAILURES calls in a row that could
 * not connect, or got no answer in their time, calls are refused at once for
 * CW_REMOTE_PAUSE_MIN_MS. Then one is let through: an answer ends it, another
 * failure doubles the pause, up to CW_REMOTE_PAUSE_MAX_MS.
 *
 * Sending again. A call that a kept connection lost without an answer is sent once
 * more only where the operator's annotations say readOnlyHint or idempotentHint.
 *
 * Threads: as source.h; cw_remote_load on the main loop's thread.
 * Limits:  CW_REMOTE_DOCUMENT_MAX; answers by cw_remote_opts.
 */
#ifndef CW_SOURCE_REMOTE_H
#define CW_SOURCE_REMOTE_H

#include "config/config.h"
#include "source/source.h"

#define CW_REMOTE_DOCUMENT_MAX (16u * 1024u * 1024u)
#define CW_REMOTE_MESSAGE_MAX 500u
#define CW_REMOTE_DATA_MAX 4096u
#define CW_REMOTE_FAILURES 5u
#define CW_REMOTE_PAUSE_MIN_MS 1000u
#define CW_REMOTE_PAUSE_MAX_MS 30000u

typedef struct cw_remote_opts {
    const cw_config_remote *config; /* copied where it is needed longer */
    unsigned n_loops;
    size_t answer_size; /* largest answer */
} cw_remote_opts;

typedef struct cw_remote_loaded {
    cw_source *source; /* one reference, or NULL */
    cw_str name;
    cw_str problem; /* each line one */
} cw_remote_loaded;

typedef void (*cw_remote_loaded_fn)(const cw_remote_loaded *loaded, void *ctx);

/* As cw_plugin_load: fails at once, without a call of fn, when the URL is wrong or the file cannot
 * be read. A problem that time may heal (no connection) and one that it will not (an overlay that
 * names an unknown method) both end in fn with a problem. */
typedef struct cw_remote_job cw_remote_job;
CW_MUST_USE cw_code cw_remote_load(cw_loop *loop, const cw_remote_opts *opts,
                                   cw_remote_loaded_fn fn, void *ctx, cw_remote_job **ret_job,
                                   cw_err *err);
void cw_remote_load_cancel(cw_remote_job *job);

#endif
