/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metrics.h - counters, gauges and histograms of the process, and their text form.
 *
 * Each thread counts in cells of its own, so counting needs no lock and no shared cache line. A
 * scrape sums the cells of all threads, on a thread that is no event loop.
 *
 *     cw_metrics_count(CW_METRIC_RELOADS, CW_RELOAD_OK, 0, 0);
 *     cw_metrics_add(CW_METRIC_STREAMS, CW_STREAM_LISTEN, 0, 0, -1);    a gauge goes down
 *     cw_metrics_observe(CW_METRIC_STORE_JOB, 0, 0, 0, ns, NULL);
 *     cw_metrics_write(CW_METRICS_OPENMETRICS, &buf);
 *
 * A metric is a row of the table in families.c: name, help, labels. The value of a label is an index
 * into a fixed list, or a slot of a name that the server knows (names.h). Slot 0 is `_OTHER`: no
 * text of a client becomes a label.
 *
 * Ownership: process-wide, like the log. Cells live until the process ends; another thread reuses
 *            those of a thread that has ended.
 * Threads:   any.
 * Limits:    CW_METRICS_TOOLS and the other numbers of names; without memory a thread counts in
 *            cells that all such threads share.
 */
#ifndef CW_METRICS_METRICS_H
#define CW_METRICS_METRICS_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/ids.h"

typedef enum cw_metric {
    /* calls */
    CW_METRIC_MCP_METHOD, /* method, error */
    CW_METRIC_MCP_TOOL,   /* tool, error */
    CW_METRIC_HTTP,       /* route, method, status */
    CW_METRIC_CALLS,      /* tool, door, outcome */
    CW_METRIC_OVERHEAD,   /* door */
    CW_METRIC_RUNNING,    /* source */
    CW_METRIC_CALLS_LIMIT,
    CW_METRIC_REFUSALS,        /* door, outcome */
    CW_METRIC_RATE_LIMITED,    /* limit */
    CW_METRIC_SCHEMA_FAILURES, /* tool, side */
    CW_METRIC_TOKENS,          /* direction */
    /* MCP */
    CW_METRIC_MCP_MESSAGES, /* version, transport */
    CW_METRIC_MCP_CLIENTS,  /* client */
    CW_METRIC_QUESTIONS,    /* answer */
    CW_METRIC_STREAMS,      /* kind */
    /* HTTP */
    CW_METRIC_CONNECTIONS,         /* listener */
    CW_METRIC_CONNECTIONS_TOTAL,   /* listener */
    CW_METRIC_CONNECTIONS_REFUSED, /* reason */
    CW_METRIC_REQUESTS_REJECTED,   /* reason */
    CW_METRIC_BODY_MEMORY,
    CW_METRIC_TLS_HANDSHAKES, /* version, result */
    CW_METRIC_TLS_EXPIRY,     /* listener */
    /* sources */
    CW_METRIC_SOURCE_STATE,         /* source, state */
    CW_METRIC_SOURCE_CALL,          /* source */
    CW_METRIC_SOURCE_ATTEMPTS,      /* source, result */
    CW_METRIC_SOURCE_CONNECTIONS,   /* source */
    CW_METRIC_SOURCE_QUEUE,         /* source */
    CW_METRIC_SOURCE_BREAKER_OPEN,  /* source */
    CW_METRIC_SOURCE_BREAKER_OPENS, /* source */
    CW_METRIC_SOURCE_REFRESHES,     /* source, result */
    CW_METRIC_SOURCE_REFRESHED,     /* source */
    CW_METRIC_SOURCE_TOOLS,         /* source, state */
    CW_METRIC_RESULTS,              /* source, origin */
    CW_METRIC_EVENTS_PUBLISHED,     /* source */
    CW_METRIC_EVENTS_DROPPED,       /* source, reason */
    CW_METRIC_EVENTS_DELIVERED,     /* source, mode */
    CW_METRIC_EVENT_SUBSCRIBERS,    /* source, mode */
    CW_METRIC_PLUGIN_WORKERS,       /* plugin */
    CW_METRIC_PLUGIN_QUEUE,         /* plugin */
    CW_METRIC_PLUGIN_MEMORY,        /* plugin */
    CW_METRIC_PLUGIN_EXITS,         /* plugin, reason */
    /* the rest of the server */
    CW_METRIC_DOCUMENTS, /* result */
    CW_METRIC_DOCUMENT_BYTES,
    CW_METRIC_LOGINS,         /* credentials, outcome */
    CW_METRIC_ISSUER_FETCHES, /* issuer, result */
    CW_METRIC_STORE_UP,
    CW_METRIC_STORE_QUEUE,
    CW_METRIC_STORE_JOB,
    CW_METRIC_LETTERS,
    CW_METRIC_AUDIT_RECORDS, /* kind */
    CW_METRIC_AUDIT_LOST,    /* lane */
    CW_METRIC_AUDIT_FAILING,
    CW_METRIC_AUDIT_QUEUE, /* lane */
    CW_METRIC_LOG_DROPPED,
    CW_METRIC_SPANS, /* result */
    CW_METRIC_FOLDED,
    CW_METRIC_LOOP_IDLE, /* loop */
    CW_METRIC_LOOP_TURN, /* loop */
    CW_METRIC_MAILBOX,   /* loop */
    CW_METRIC_RELOADS,   /* result */
    CW_METRIC_CONFIG_TIME,
    CW_METRIC_BUILD,
    CW_METRIC_CPU,
    CW_METRIC_MEMORY,
    CW_METRIC_OPEN_FDS,
    CW_METRIC_MAX_FDS,
    CW_METRIC_START_TIME,
    CW_METRIC_N,
} cw_metric;

/* The values of labels, in the order of the texts in families.c. */
typedef enum cw_metrics_outcome {
    CW_OUTCOME_WORD_OK,
    CW_OUTCOME_WORD_ERROR,
    CW_OUTCOME_WORD_FAILED,
    CW_OUTCOME_WORD_ASKS,
    CW_OUTCOME_WORD_CANCELLED,
    CW_OUTCOME_WORD_INVALID,
    CW_OUTCOME_WORD_UNAVAILABLE,
    CW_OUTCOME_WORD_HIDDEN,
    CW_OUTCOME_WORD_LOGIN,
    CW_OUTCOME_WORD_FORBIDDEN,
    CW_OUTCOME_WORD_SCOPES,
    CW_OUTCOME_WORD_TOO_MANY,
} cw_metrics_outcome;
typedef enum cw_metrics_side { CW_SIDE_ARGUMENTS, CW_SIDE_RESULT } cw_metrics_side;
typedef enum cw_metrics_limit {
    CW_LIMITED_GLOBAL,
    CW_LIMITED_ADDRESS,
    CW_LIMITED_CALLER,
    CW_LIMITED_TOOL,
    CW_LIMITED_LISTS,
    CW_LIMITED_CALLS_PER_TOOL,
    CW_LIMITED_CALLS_PER_SOURCE,
    CW_LIMITED_DETACHED,
    CW_LIMITED_CALLS,
} cw_metrics_limit;
typedef enum cw_metrics_tokens { CW_TOKENS_LISTED, CW_TOKENS_RETURNED } cw_metrics_tokens;
typedef enum cw_metrics_stream {
    CW_STREAM_CALL,
    CW_STREAM_LISTEN,
    CW_STREAM_GET,
} cw_metrics_stream;
typedef enum cw_metrics_result { CW_RESULT_OK, CW_RESULT_FAILED } cw_metrics_result;
typedef enum cw_metrics_refused {
    CW_REFUSED_TOTAL,
    CW_REFUSED_ADDRESS,
    CW_REFUSED_MEMORY,
    CW_REFUSED_USER,
    CW_REFUSED_PROXY,
} cw_metrics_refused;
typedef enum cw_metrics_rejected {
    CW_REJECTED_HEAD,
    CW_REJECTED_HOST,
    CW_REJECTED_ORIGIN,
    CW_REJECTED_BODY,
    CW_REJECTED_TIMEOUT,
    CW_REJECTED_MEMORY,
} cw_metrics_rejected;
typedef enum cw_metrics_attempt {
    CW_ATTEMPT_OK,
    CW_ATTEMPT_ERROR,
    CW_ATTEMPT_TIMEOUT,
    CW_ATTEMPT_CONNECT,
    CW_ATTEMPT_BROKEN,
    CW_ATTEMPT_QUEUE_FULL,
    CW_ATTEMPT_CANCELLED,
} cw_metrics_attempt;
typedef enum cw_metrics_origin {
    CW_RESULT_CALLED,
    CW_RESULT_MERGED,
    CW_RESULT_KEPT,
} cw_metrics_origin;
typedef enum cw_metrics_event_drop {
    CW_EVENT_DROP_REPEATED,
    CW_EVENT_DROP_LIMIT,
    CW_EVENT_DROP_SCHEMA,
    CW_EVENT_DROP_SECRET,
    CW_EVENT_DROP_MEMORY,
} cw_metrics_event_drop;
typedef enum cw_metrics_event_mode {
    CW_EVENT_MODE_TOOL,
    CW_EVENT_MODE_RESOURCE,
    CW_EVENT_MODE_POLL,
    CW_EVENT_MODE_PUSH,
    CW_EVENT_MODE_WEBHOOK,
} cw_metrics_event_mode;
typedef enum cw_metrics_exit {
    CW_EXIT_IDLE,
    CW_EXIT_CRASH,
    CW_EXIT_KILLED,
    CW_EXIT_MEMORY,
} cw_metrics_exit;
typedef enum cw_metrics_lookup { CW_LOOKUP_HIT, CW_LOOKUP_MISS } cw_metrics_lookup;
typedef enum cw_metrics_lane { CW_LANE_CALLS, CW_LANE_SECURITY } cw_metrics_lane;
typedef enum cw_metrics_offer { CW_OFFER_OFFERED, CW_OFFER_WITHHELD } cw_metrics_offer;

/* The index of a text among the values of a label of a metric. The last value, `_OTHER`, stands for
 * unknown texts. */
uint32_t cw_metrics_value(cw_metric metric, unsigned label, cw_str text);
/* The text of a value of a fixed list. */
cw_str cw_metrics_value_text(cw_metric metric, unsigned label, uint32_t value);

/* Begin or end to count; off at first. */
void cw_metrics_enable(bool is_on);
bool cw_metrics_is_on(void);

/* A trace to which an observation belongs. */
typedef struct cw_metrics_exemplar {
    const cw_ids *ids; /* borrowed */
    uint64_t at_ns;    /* of the monotonic clock */
} cw_metrics_exemplar;

/* The exemplar of a request whose trace is recorded; NULL: it is not, or there is no request. */
CW_INLINE const cw_metrics_exemplar *cw_metrics_exemplar_of(const cw_ids *ids, uint64_t at_ns,
                                                            cw_metrics_exemplar *out)
{
    if (!ids || !ids->has_trace || !(ids->flags & CW_IDS_SAMPLED))
        return NULL;
    *out = (cw_metrics_exemplar){ids, at_ns};
    return out;
}
/* Add to a counter or gauge; labels that the metric lacks are 0. */
void cw_metrics_add(cw_metric metric, uint32_t a, uint32_t b, uint32_t c, int64_t n);
CW_INLINE void cw_metrics_count(cw_metric metric, uint32_t a, uint32_t b, uint32_t c)
{
    cw_metrics_add(metric, a, b, c, 1);
}
/* Set a gauge that one thread at a time sets, and no thread adds to; or the number of observations
 * of 0 in a histogram whose owner counts those itself. */
void cw_metrics_set(cw_metric metric, uint32_t a, uint32_t b, uint32_t c, int64_t value);
/* Add a duration in ns to a histogram. `exemplar` may be NULL. */
void cw_metrics_observe(cw_metric metric, uint32_t a, uint32_t b, uint32_t c, uint64_t ns,
                        const cw_metrics_exemplar *exemplar);

/* A call that a source has ended. */
typedef struct cw_metrics_call {
    uint32_t source, tool; /* slots */
    uint32_t door;         /* label of CW_METRIC_OVERHEAD */
    cw_metrics_attempt attempt;
    cw_metrics_outcome outcome;
    uint64_t ns; /* in its source */
} cw_metrics_call;

/* Count it: CW_METRIC_SOURCE_CALL, _SOURCE_ATTEMPTS and _CALLS; it is no longer _RUNNING. */
void cw_metrics_end_call(const cw_metrics_call *call, const cw_metrics_exemplar *exemplar);

/* Called on the thread of a scrape, before it reads: sets gauges that are read, not counted.
 * Embedded in its owner, which removes it. */
typedef struct cw_metrics_probe {
    void (*fn)(struct cw_metrics_probe *probe);
    struct cw_metrics_probe *next;
} cw_metrics_probe;
void cw_metrics_probe_add(cw_metrics_probe *probe);
/* After this the function does not run. */
void cw_metrics_probe_remove(cw_metrics_probe *probe);
void cw_metrics_run_probes(void);

typedef enum cw_metrics_form {
    CW_METRICS_TEXT,        /* Prometheus 0.0.4 */
    CW_METRICS_OPENMETRICS, /* 1.0, with exemplars */
} cw_metrics_form;

/* Write all metrics. Errors are sticky in `out`. Takes milliseconds: not for a loop. */
void cw_metrics_write(cw_metrics_form form, cw_buf *out);

/* The sum of a counter or gauge over all threads. */
int64_t cw_metrics_read(cw_metric metric, uint32_t a, uint32_t b, uint32_t c);

#define CW_METRICS_BUCKETS_MAX 18u
/* A histogram, summed over all threads. */
typedef struct cw_metrics_summary {
    uint64_t count, sum_ns;
    uint64_t buckets[CW_METRICS_BUCKETS_MAX + 1]; /* not cumulative; the last one has no bound */
    const uint64_t *bounds_ns;
    unsigned n_bounds;
} cw_metrics_summary;
void cw_metrics_summarize(cw_metric metric, uint32_t a, uint32_t b, uint32_t c,
                          cw_metrics_summary *ret);
/* The bound below which this share (0 to 1) of the observations are; 0: none was made. */
uint64_t cw_metrics_quantile(const cw_metrics_summary *s, double share);

#endif
