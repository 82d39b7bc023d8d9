/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remote.h - a JSON-RPC service as a source, in any dialect and over any transport.
 *
 *     source/upstream/endpoint.h   its address, its protocol, the credentials for it
 *     discovery.h    its description, as an OpenRPC document
 *     overlay     in config and in a file of its own: the methods that are tools, those that may be
 *                 called at all, and their form for clients; no method by default
 *     lock/lock.h definitions that the operator has approved
 *     source/upstream/upstream.h       calls, with mapping.h before and behind
 *
 * If the discovery fails, or the description requires less of callers than before
 * (required_access.h), the last good description is used (state_files.h).
 *
 * Errors of the service are passed on with code, message and data, but scrubbed:
 *   - a message ends at its first line break and after CW_REMOTE_MESSAGE_MAX bytes;
 *     control characters become spaces, a text that looks like the path of a file
 *     becomes "[path]", and one like the name of a class with its namespace "[class]";
 *   - data larger than CW_REMOTE_DATA_MAX bytes is dropped. Members named trace, traceback,
 *     stack, stacktrace, backtrace or callstack (case, '_' and '-' ignored) are left out of it,
 *     with other texts that look like a stack trace; paths and classes are replaced as in messages;
 *   - secrets (source/upstream/endpoint.h) become "[secret]" in messages, and data that has one is
 *     dropped; logs, states and listings do not have them either.
 *
 * Breaker, shared by all loops, and by a source and the one that takes its place. After
 * CW_REMOTE_FAILURES calls in a row that could not connect, or got no response in their time, calls
 * are rejected for CW_REMOTE_PAUSE_MIN_MS. Then one is let through: a response closes the breaker,
 * another failure doubles the pause, up to CW_REMOTE_PAUSE_MAX_MS.
 *
 * Credentials. A call with the response 401 or 403 raises a doubt: calls are rejected until a load
 * has checked the credentials. If the load is rejected too, nothing is sent any more: the
 * description is requested again after CW_REMOTE_REFUSED_MS, and calls continue when it is
 * returned. If the load has no response about them, or the description is a file, CW_REMOTE_REFUSALS
 * rejected calls in a row have the same effect, and then one call is tried.
 *
 * Sending again. A call that was lost without a response, did not reach the service or had the
 * response 502, 503 or 504 is sent again, up to config.retries times, only if the operator has set
 * that it is read only or idempotent. The values of the service are hints for clients.
 *
 * Merging. Calls of a read-only tool with equal arguments that are under way on one loop become
 * one; with `cache` later calls get its result.
 *
 * Threads: as source.h; cw_remote_load on the main loop's thread.
 * Limits:  source/describe/describe.h; responses by cw_remote_opts.
 */
#ifndef CW_SOURCE_REMOTE_REMOTE_H
#define CW_SOURCE_REMOTE_REMOTE_H

#include "catalogue/method_schemas.h"
#include "config/config.h"
#include "source/source.h"
#include "source/upstream/shared_conn.h"

#define CW_REMOTE_FAILURES 5u
#define CW_REMOTE_PAUSE_MIN_MS 1000u
#define CW_REMOTE_PAUSE_MAX_MS 30000u
/* Rejected credentials. Drupal locks an account after 5 failed logins in 6 hours. */
#define CW_REMOTE_REFUSED_MS (3u * 60u * 60u * 1000u) /* nothing is sent */
#define CW_REMOTE_REFUSALS 3u                    /* calls in a row, where no load has settled it */
#define CW_REMOTE_RECHECK_MS (15u * 60u * 1000u) /* between two loads because of rejected calls */
#define CW_REMOTE_SETTLE_MS 30000u               /* calls wait no longer for such a load */

/* Approved definitions that were read already, from the database. */
typedef struct cw_remote_approvals {
    struct cw_lock *lock; /* a reference is taken; NULL: every tool is withheld */
    cw_str problem;       /* the reason, without a lock */
} cw_remote_approvals;

typedef struct cw_remote_opts {
    const cw_config_remote *config;
    cw_config *owner; /* of the entry; a reference is taken */
    unsigned n_loops;
    size_t answer_size; /* largest response */
    cw_spawner *spawner;
    cw_shared_conn *shared;         /* of the former source, used if it is compatible; or NULL */
    cw_source *before;              /* the former source, or NULL; a reference is taken */
    struct cw_last_good *last_good; /* of the service, borrowed by the job; or NULL */
    cw_str state;                   /* folder, or empty */
    bool is_quiet;                  /* reads the folder, and writes nothing to it */
    cw_str lock;                    /* file, or empty */
    const cw_remote_approvals *approvals; /* instead of a file; borrowed for the call; NULL: none */
    cw_schema_policy policy;              /* how schemas are read */
    cw_event_hub *events;                 /* borrowed; NULL: notifications are no events */
    struct cw_accounts *accounts;         /* likewise; NULL: no logins */
    bool defines;                         /* return the definitions of the exposed methods */
    bool accepts; /* the operator accepts a description that is poorer, or requires less */
    /* The service has sent a notification that its methods have changed; while the connection lives. */
    void (*announced)(void *ctx, unsigned lists);
    /* An MCP server has updated a resource that it is subscribed to; likewise. */
    void (*updated)(void *ctx, cw_str uri);
} cw_remote_opts;

/* The service's definition of a method that the operator exposes, in the form of a lock file: lock.h. */
typedef struct cw_remote_definition {
    cw_str method; /* its id there */
    cw_str definition;
} cw_remote_definition;

typedef enum cw_remote_credentials {
    CW_REMOTE_CREDENTIALS_UNKNOWN, /* no response of the service */
    CW_REMOTE_CREDENTIALS_ACCEPTED,
    CW_REMOTE_CREDENTIALS_REFUSED,
    CW_REMOTE_CREDENTIALS_NEW, /* by an operator's order: former rejections do not count */
} cw_remote_credentials;

typedef struct cw_remote_loaded {
    cw_source *source;      /* one reference, or NULL */
    cw_shared_conn *shared; /* that it uses, one reference; or NULL. Also without a source. */
    cw_str name;
    cw_str problem;  /* each line one; with a source: why its description is an old one */
    cw_str warnings; /* each line one */
    cw_str missing;  /* those of them about methods that are named and do not exist */
    size_t n_found;  /* methods in the description */
    size_t n_withheld;
    cw_str notice;  /* a limitation of the description, for the operator; or empty */
    cw_str widened; /* with `accepts`: lines about the accepted losses */
    cw_remote_credentials credentials;
    cw_str lock;         /* why the lock withholds every tool, also without a source; or empty */
    int64_t approved_at; /* of the latest approval, ms since 1970; 0: not known */
    cw_str approved_by;  /* empty: not known */
    const cw_remote_definition *definitions; /* with `defines`; live as long as a new source */
    size_t n_definitions;
} cw_remote_loaded;

typedef void (*cw_remote_loaded_fn)(const cw_remote_loaded *loaded, void *ctx);

/* As cw_plugin_load: fails immediately, without a call of fn, if the configuration is invalid. A
 * temporary problem (no connection) and a permanent one (an overlay that names an unknown method)
 * both lead to fn with a problem. `ctx` is given to `announced` and `updated` too. */
typedef struct cw_remote_job cw_remote_job;
CW_MUST_USE cw_code cw_remote_load(cw_loop *loop, const cw_remote_opts *opts,
                                   cw_remote_loaded_fn fn, void *ctx, cw_remote_job **ret_job,
                                   cw_err *err);
/* Whether the overlay file, or the approved definitions of the source, are others than those that it
 * was made with. If so, it must not stay when the load fails. An overlay that cannot be read is no
 * other one. False for NULL, and for a source of another kind. */
bool cw_remote_has_other_rules(const cw_source *s, const cw_remote_opts *opts);
/* Append why the lock withholds every tool, or nothing. For a load that could not begin.
 * CW_NOMEM. */
CW_MUST_USE cw_code cw_remote_check_lock(cw_str file, const cw_remote_approvals *given,
                                         cw_buf *lost, cw_err *err);
/* NULL is fine; `loops_ended` as of cw_shared_conn_close. */
void cw_remote_load_cancel(cw_remote_job *job, bool loops_ended);

/* Record the result of a load about the credentials. NULL, and a source of another kind, are
 * fine. */
void cw_remote_set_credentials(const cw_source *s, cw_remote_credentials credentials);
/* Whether a load should check the credentials. */
bool cw_remote_needs_recheck(const cw_source *s);

/* Whether a URI is a resource that a source exposes, or one of a template. False for NULL, and for a
 * source of another kind. */
bool cw_remote_has_resource(const cw_source *s, cw_str uri);

/* Why calls are rejected at the moment, for operators; NULL: they are not. */
const char *cw_remote_trouble(const cw_source *s, uint64_t now_ms);

#endif
