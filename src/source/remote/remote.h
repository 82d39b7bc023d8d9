/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remote.h - a service that speaks JSON-RPC, in whatever dialect and over whatever transport, as a
 * source.
 *
 *     source/upstream/endpoint.h   where it is, how it is spoken to, our credentials there
 *     discovery.h    its description, as an OpenRPC document
 *     overlay     in config and in a file of its own: which methods are tools, which may be called
 *                 at all, and how they look: nothing by default
 *     lock/lock.h definitions that the operator has approved
 *     source/upstream/upstream.h       calls, with mapping.h before and behind
 *
 * If the service cannot be asked, or its description requires less of callers than before
 * (required_access.h), the last good description is used (state_files.h).
 *
 * Errors of the service are passed on with code, message and data, but scrubbed:
 *   - a message ends at its first line break and after CW_REMOTE_MESSAGE_MAX bytes;
 *     control characters become spaces, and what looks like the path of a file
 *     becomes "[path]", like the name of a class with its namespace "[class]";
 *   - data larger than CW_REMOTE_DATA_MAX bytes is dropped. Members named trace, traceback,
 *     stack, stacktrace, backtrace or callstack (case, '_' and '-' ignored) are left out of it,
 *     with whatever else looks like a stack trace; paths and classes are replaced as in messages;
 *   - our secrets there (source/upstream/endpoint.h) become "[secret]" in messages, data that has
 *     one is dropped; in logs, states and listings they are not either.
 *
 * Breaker, shared by all loops, and by a source and the one that takes its place. After
 * CW_REMOTE_FAILURES calls in a row that could not connect, or got no answer in their time, calls
 * are refused at once for CW_REMOTE_PAUSE_MIN_MS. Then one is let through: an answer ends it,
 * another failure doubles the pause, up to CW_REMOTE_PAUSE_MAX_MS.
 *
 * Credentials. A call that is answered 401 or 403 raises a doubt: calls are refused until a load
 * has asked the service. If the load is rejected too, nothing is sent any more: the description is
 * requested again after CW_REMOTE_REFUSED_MS, and calls continue when it is returned. If the
 * description is a file, CW_REMOTE_REFUSALS refused calls in a row have the same effect.
 *
 * Sending again. A call that was lost without an answer, did not reach the service or was answered
 * 502, 503 or 504 is sent again, up to config.retries times, only where the operator says that it
 * is read only or idempotent; what the service says of itself is a hint for clients.
 *
 * Merging. Calls of a read-only tool with equal arguments that are under way on one loop become
 * one; with `cache` its result is given to those who come later.
 *
 * Threads: as source.h; cw_remote_load on the main loop's thread.
 * Limits:  source/describe/describe.h; answers by cw_remote_opts.
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
/* Credentials that were refused. Drupal locks an account after 5 failed logins in 6 hours. */
#define CW_REMOTE_REFUSED_MS (3u * 60u * 60u * 1000u) /* nothing is sent */
#define CW_REMOTE_REFUSALS 3u /* calls in a row, of a service whose description is a file */
#define CW_REMOTE_RECHECK_MS (15u * 60u * 1000u) /* between two loads because of refused calls */
#define CW_REMOTE_SETTLE_MS 30000u               /* calls wait no longer for such a load */

/* Approved definitions that were read already, from the database. */
typedef struct cw_remote_approvals {
    struct cw_lock *lock; /* a reference is taken; NULL: every tool is withheld */
    cw_str problem;       /* why, without a lock */
} cw_remote_approvals;

typedef struct cw_remote_opts {
    const cw_config_remote *config;
    cw_config *owner; /* of the entry; a reference is taken */
    unsigned n_loops;
    size_t answer_size; /* largest answer */
    cw_spawner *spawner;
    cw_shared_conn *shared; /* of the source before, used where it leads to the same; or NULL */
    cw_source *before;      /* that this one takes the place of, or NULL; a reference is taken */
    cw_str state;           /* folder, or empty */
    bool is_quiet;          /* reads the folder, and writes nothing to it */
    cw_str lock;            /* file, or empty */
    const cw_remote_approvals *approvals; /* instead of a file; borrowed for the call; NULL: none */
    cw_schema_policy policy;              /* how schemas are read */
    cw_event_hub *events;                 /* borrowed; NULL: notifications are no events */
    struct cw_accounts *accounts;         /* likewise; NULL: there are no logins */
    bool defines;                         /* wants the definitions of what is exposed */
    bool accepts; /* the operator accepts a description that is poorer, or asks less of callers */
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
    CW_REMOTE_CREDENTIALS_UNKNOWN, /* it could not be asked */
    CW_REMOTE_CREDENTIALS_ACCEPTED,
    CW_REMOTE_CREDENTIALS_REFUSED,
    CW_REMOTE_CREDENTIALS_NEW, /* by an operator's order: what was refused before does not count */
} cw_remote_credentials;

typedef struct cw_remote_loaded {
    cw_source *source; /* one reference, or NULL */
    cw_shared_conn
        *shared; /* that it uses, one reference; or NULL. Also where there is no source. */
    cw_str name;
    cw_str problem;  /* each line one; with a source: why its description is an old one */
    cw_str warnings; /* each line one */
    cw_str missing;  /* those of them that are about methods that are named and not there */
    size_t n_found;  /* methods in the description */
    size_t n_withheld;
    cw_str notice;  /* something about the description that the operator must know, or empty */
    cw_str widened; /* with `accepts`: lines about what was accepted */
    cw_remote_credentials credentials;
    cw_str lock;         /* why the lock withholds every tool, also without a source; else empty */
    int64_t approved_at; /* of the latest approval, ms since 1970; 0: not known */
    cw_str approved_by;  /* empty: not known */
    const cw_remote_definition *definitions; /* where they are wanted; live as long as the source */
    size_t n_definitions;
} cw_remote_loaded;

typedef void (*cw_remote_loaded_fn)(const cw_remote_loaded *loaded, void *ctx);

/* As cw_plugin_load: fails at once, without a call of fn, when the configuration makes no sense. A
 * problem that time may heal (no connection) and one that it will not (an overlay that names an
 * unknown method) both end in fn with a problem. `ctx` is given to `announced` and `updated` too. */
typedef struct cw_remote_job cw_remote_job;
CW_MUST_USE cw_code cw_remote_load(cw_loop *loop, const cw_remote_opts *opts,
                                   cw_remote_loaded_fn fn, void *ctx, cw_remote_job **ret_job,
                                   cw_err *err);
/* NULL is fine; `loops_ended` as of cw_shared_conn_close. */
void cw_remote_load_cancel(cw_remote_job *job, bool loops_ended);

/* Record what a load found about our credentials. NULL, and a source of another kind, are
 * fine. */
void cw_remote_set_credentials(const cw_source *s, cw_remote_credentials credentials);
/* Whether a load should find out. */
bool cw_remote_needs_recheck(const cw_source *s);

/* Whether a URI is a resource that a source exposes, or one of a template. False for NULL, and for a
 * source of another kind. */
bool cw_remote_has_resource(const cw_source *s, cw_str uri);

/* How it is, for people: NULL where it is well, else why calls are refused at the moment. */
const char *cw_remote_trouble(const cw_source *s, uint64_t now_ms);

#endif
