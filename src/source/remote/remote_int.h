/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remote_int.h - types and functions that the files of the remote source share. */
#ifndef CW_SOURCE_REMOTE_REMOTE_INT_H
#define CW_SOURCE_REMOTE_REMOTE_INT_H

#include "base/fair.h"
#include "base/list.h"
#include "base/map.h"
#include "source/breaker.h"
#include "source/remote/follow.h"
#include "source/remote/job.h"
#include "source/remote/lock/lock.h"
#include "source/remote/mapping.h"
#include "source/remote/mcp/relayed.h"
#include "source/remote/remote.h"
#include "source/remote/state_files.h"
#include "source/upstream/shared_conn.h"

/* Whether a service is called at all. Times are milliseconds of a loop's clock: the same clock for
 * all of them. */
typedef struct cw_remote_health {
    atomic_uint refs;
    cw_breaker breaker; /* it cannot be reached, or hangs */
    /* Credentials. A call that is rejected raises a doubt, which the next load settles: a service
     * may reject one method, and accept the credentials. */
    atomic_bool call_refused, load_refused; /* the last one */
    atomic_uint refusals;                   /* calls in a row that no load has settled */
    _Atomic uint64_t doubted_at;            /* 0: never */
    atomic_bool is_doubted;                 /* the next load ends it, whatever its result */
    atomic_bool is_unsettled;               /* since a doubt, no load had a response about it */
    _Atomic uint64_t refused_until;         /* by refusals in a row */
    _Atomic uint64_t tried_at;              /* a call after that pause; 0: never */
} cw_remote_health;

/* The health of a service without problems; NULL without memory. */
cw_remote_health *cw_remote_health_new(void);
cw_remote_health *cw_remote_health_ref(cw_remote_health *h);
/* NULL is fine. */
void cw_remote_health_unref(cw_remote_health *h);

/* A call did not reach the service, or had no response in its time. */
void cw_remote_health_failed(cw_remote_health *h, bool trial, uint64_t now);
/* Whether the service rejects the credentials. */
bool cw_remote_is_refused(const cw_remote_health *h, uint64_t now);
/* The same for a request that would be sent now: after a pause the first one is let through alone. */
bool cw_remote_denies(cw_remote_health *h, uint64_t now);

typedef struct cw_remote_loop_state cw_remote_loop_state;
typedef struct cw_remote_php_schema cw_remote_php_schema;

/* A method, by its index. */
typedef struct cw_remote_tool {
    cw_request_template wire;
    cw_str path;              /* of its calls; empty: the service's */
    cw_relayed_target target; /* of an MCP server */
    const cw_job_rule *job;   /* of the job that it begins; NULL: none */
    const cw_param_map *map;  /* NULL: arguments and results are not changed */
    bool may_repeat;          /* it may be sent twice */
    bool reads;               /* changes nothing: equal calls are merged */
    bool is_notice;           /* a notification: sent without an id, no response */
    bool has_headers;         /* of a modern MCP server: arguments are repeated in headers */
    uint32_t cache_ms;        /* how long a result is kept; 0: not at all */
    const cw_remote_php_schema *output; /* of a service that writes {} as []; or NULL */
} cw_remote_tool;

#define CW_REMOTE_DIGEST 32u /* SHA-256 */

typedef struct cw_remote {
    cw_source base;
    cw_arena arena; /* everything below that is no number */
    cw_endpoint *service;
    cw_shared_conn *shared; /* NULL: HTTP */
    size_t answer_size;
    unsigned n_loops;
    cw_remote_loop_state **parts; /* by loop, each touched by its loop only */
    const cw_remote_tool *tools;
    size_t n_found, n_withheld; /* methods of the description; tools that the lock withholds */
    cw_method *absent;          /* tools that are selected, and missing or withheld */
    size_t n_absent;
    bool lacks_needs; /* what another such tool requires is not known */
    cw_map resources; /* URIs that are exposed, of an MCP server */
    cw_str *templates;
    size_t n_templates;
    const cw_remote_definition *definitions; /* of all exposed methods, or NULL */
    size_t n_definitions;
    bool is_partial;          /* the service has a list of tools that was not read */
    cw_remote_health *health; /* a reference */
    cw_event_intake *intake;  /* a reference; NULL: it has no events */
    bool has_inputs;
    unsigned char inputs[CW_REMOTE_DIGEST];   /* of all its inputs, but its configuration */
    unsigned char approved[CW_REMOTE_DIGEST]; /* of the approved definitions */
    bool has_rules;
    unsigned char rules[CW_REMOTE_DIGEST]; /* of the overlay file */
} cw_remote;

/* ---- remote.c ---- */

extern const cw_source_ops cw_remote_ops;
/* NULL: it is none. */
const cw_remote *cw_remote_of(const cw_source *s);
void cw_remote_free(cw_remote *r);
/* Close a part if the source is retired and nothing runs. */
void cw_remote_close_if_over(cw_remote_loop_state *part);
/* Whether requests may be sent now: credentials and breaker allow it. *ret_trial as
 * cw_breaker_allow. */
bool cw_remote_may_ask(cw_remote *r, uint64_t now, bool *ret_trial);
/* Record that a request has ended, or was not begun for this reason. */
void cw_remote_record_end(cw_remote *r, uint64_t now, bool trial, const cw_upstream_reply *reply);
void cw_remote_record_not_begun(cw_remote *r, cw_code why, bool trial, uint64_t now);

/* ---- result_cache.c: results of one loop that are kept for a while ---- */

#define CW_RESULT_CACHE_BYTES (4u * 1024u * 1024u)
#define CW_RESULT_CACHE_ENTRIES 256u

typedef struct cw_result_cache_entry {
    cw_list node;   /* the newest first */
    uint64_t until; /* ms of the loop */
    uint64_t id;    /* of the request for this response */
    uint32_t method;
    unsigned status;
    size_t n_params, n_body;
    char *bytes; /* behind this: params, body */
} cw_result_cache_entry;

typedef struct cw_result_cache {
    cw_list entries;
    size_t n, bytes;
} cw_result_cache;

void cw_result_cache_init(cw_result_cache *k);
void cw_result_cache_done(cw_result_cache *k);
/* NULL: none, or it is too old. Lives until the next call of one of these. */
const cw_result_cache_entry *cw_result_cache_find(cw_result_cache *k, uint32_t method,
                                                  cw_str params, uint64_t now);
/* Keep a copy; without memory, or where it is too large, nothing is kept. */
void cw_result_cache_add(cw_result_cache *k, const cw_result_cache_entry *head, cw_str params,
                         cw_str body);

/* The part of one loop. */
struct cw_remote_loop_state {
    cw_remote *remote; /* one reference */
    cw_loop *loop;
    cw_upstream *upstream;
    cw_loop_hook hook;
    cw_list running; /* requests that are under way */
    uint32_t n_running;
    cw_fair_queue waiting;
    cw_list lost; /* requests displaced by those of other callers; their calls are to be failed */
    cw_deferred pump;
    uint64_t last_owner, others_until; /* ms; 0: all calls were of one caller so far */
    cw_list later;                     /* ops with a kept result */
    cw_result_cache kept;
    cw_followers *followers; /* NULL: none yet */
    cw_deadline_list retries;
    cw_deadline_list left; /* requests whose calls are over; their jobs are to be cancelled */
};

/* php_result.c: read the schema of results, for the function below. It lives in the arena; `text`
 * lives as long. CW_NOMEM, CW_LIMIT, CW_PARSE. */
CW_MUST_USE cw_code cw_remote_read_php_schema(cw_str text, cw_arena *arena,
                                              const cw_remote_php_schema **ret, cw_err *err);
/* Have {} in a result where its schema declares an object and the service, written in PHP, has [].
 * *result is replaced where that is so, by a copy in the arena. CW_NOMEM. */
CW_MUST_USE cw_code cw_remote_decode_php_result(const cw_remote_php_schema *schema, cw_arena *arena,
                                                const cw_json **result);

/* hidden_text.c: CW_PARAMS if a text of the method has characters that an operator does not see. */
CW_MUST_USE cw_code cw_remote_check_hidden(const cw_method *m, cw_err *err);

/* mark.c: make m->mark, and the level, scopes and visibility of m->needs. `described` is the method in
 * the document, or NULL. Invalid values of the service are left out, with a warning; its hints are
 * shown. Only the operator makes a method read-only or idempotent. CW_PARAMS: the operator's values are
 * wrong. CW_INVALID: the requirements of the service are. `scratch` is reset. */
CW_MUST_USE cw_code cw_remote_make_mark(cw_remote *r, const cw_config_overlay *o,
                                        const cw_json *described, cw_arena *scratch,
                                        cw_buf *warnings, cw_method *m, cw_err *err);

/* ---- overlay.c ---- */

typedef struct cw_remote_reading {
    const cw_config_remote *config;
    cw_config_overlay_lists more; /* of the overlay file */
    const cw_lock *lock;          /* NULL: nothing is compared with it */
    bool withholds_all;           /* a lock is configured and cannot be used */
    cw_schema_policy policy;
    const cw_json *requires; /* the requirements of the last good description, or NULL */
    /* The document is an old one: its methods also have the requirements in `requires`. */
    bool enforces;
    bool accepts;     /* the operator accepts lesser requirements of the methods that are offered */
    cw_buf *required; /* gets `requires` of the next reading; may be NULL */
    bool is_partial;  /* the service has a list of tools that was not read: wildcards fit nothing */
    bool defines;     /* fill cw_remote.definitions */
    cw_buf *problems; /* lines that keep it from being used */
    cw_buf *warnings; /* lines that do not */
    cw_buf *missing;  /* one for each named method that is missing, also in one of the two */
    cw_buf *widened;  /* one for each method that requires less of callers than before */
} cw_remote_reading;

/* The check of the defaults of one document. */
typedef struct cw_remote_defaults {
    const cw_remote_reading *given;
    cw_arena *scratch;               /* of one method */
    int64_t of_service, of_operator; /* steps that are left; below 0: they are spent */
} cw_remote_defaults;

#define CW_REMOTE_DEFAULT_STEPS CW_SCHEMA_MAX_STEPS /* of each kind: about 100 ms */

/* defaults.c: check the defaults of a method's params as clients see them. `described` is the method in
 * the document, or NULL. CW_PARAMS: the operator's is wrong. One of the service is left out of `m`,
 * with a warning. Once the steps are spent, all others of the service are left out, with one warning.
 */
CW_MUST_USE cw_code cw_remote_check_defaults(cw_remote *r, const cw_config_overlay *o,
                                             const cw_json *described, cw_remote_defaults *defaults,
                                             cw_method *m, cw_err *err);

/* Make the methods that the operator exposes from the document. CW_PARAMS: it has problems. A named
 * method that is missing is a warning, if another named one exists. */
CW_MUST_USE cw_code cw_remote_read(cw_remote *r, const cw_remote_reading *reading,
                                   const cw_json *doc);

/* remote_events.c: add the events that the configuration enables to the methods. */
CW_MUST_USE cw_code cw_remote_add_events(cw_remote *r, const cw_remote_opts *opts, cw_buf *warnings,
                                         cw_err *err);

/* Publish notifications as events from now on. On the main loop; NULL is fine. */
void cw_remote_start_events(const cw_source *s);

/* span.c: the span of one attempt to call the service, a child of the span of its call. */
typedef struct cw_remote_span {
    cw_trace_loop *tracer;
    cw_ids parent;        /* the ids of the call */
    cw_trace_place place; /* of the context in the request */
    cw_span span;         /* is_on: an attempt is under way */
    char *room;           /* cw_remote_span_room; NULL: the params are sent as they are */
    char traceparent[CW_TRACE_PARENT_LEN + 1];
} cw_remote_span;

/* The bytes that params with a context in them need; 0: they have none. */
size_t cw_remote_span_room(const cw_remote *r, const cw_source_call *call, cw_str params,
                           cw_str tracestate);
/* `tracestate` and `room` live as long as the span; empty, NULL: none. */
void cw_remote_span_init(cw_remote_span *s, const cw_remote *r, const cw_source_call *call,
                         cw_str tracestate, char *room);
/* The params of the attempt that has begun: those of the call, or in the room with a context. */
cw_str cw_remote_span_params(const cw_remote_span *s, cw_str params);
/* An attempt begins; its context is sent with the request. */
void cw_remote_span_begin(cw_remote_span *s, cw_upstream_req *req);
/* A line of the log, with the ids of the call: an attempt begins (`reply` NULL), or has ended. */
void cw_remote_span_log(cw_remote_span *s, const cw_remote *r, cw_str method, uint32_t n_tries,
                        const cw_upstream_reply *reply);
/* It is over. `reply` NULL: it was cancelled; `outcome` NULL: the reply was not read. */
void cw_remote_span_end(cw_remote_span *s, const cw_remote *r, cw_str method, uint32_t n_tries,
                        const cw_upstream_reply *reply, const cw_outcome *outcome);

#endif
