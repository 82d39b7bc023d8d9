/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tracer.h - spans: their ids, the choice which are recorded, and the queue to the exporter.
 *
 * A span begins with its ids, which cost a few random numbers. Its attributes are written at the end,
 * and only if it is recorded: it was sampled, or it failed and failures are kept.
 *
 *     cw_span span;
 *     cw_span_begin(loop, &incoming, now, &span);
 *     …
 *     cw_otlp_writer *w = NULL;
 *     if (cw_span_is_kept(loop, &span, has_failed))
 *         w = cw_span_open(loop, &span, &(cw_span_report){.name = …, .end_ns = …});
 *     if (w) {
 *         cw_otlp_add_text(w, CW_STR("rpc.method"), method);
 *         cw_span_close(loop);
 *     }
 *
 * Each loop writes finished spans into a buffer of its own. The main loop takes that buffer by
 * exchanging it for an empty one, and sends it (exporter.c). A loop waits neither for the main loop
 * nor for the collector: a span that finds the buffer full is dropped and counted.
 *
 * Ownership: the tracer owns the state of its loops; a report is borrowed.
 * Threads:   new, configure, flush, close and free on the main thread; a cw_trace_loop on its loop;
 *            the counts on any.
 * Limits:    CW_TRACE_BUFFER bytes per loop wait, CW_SPAN_MAX bytes per span, opts.rate spans per
 *            second.
 */
#ifndef CW_TRACE_TRACER_H
#define CW_TRACE_TRACER_H

#include "net/http/http1.h"
#include "net/loop/loop.h"
#include "trace/otlp.h"

#define CW_TRACE_BUFFER (1024u * 1024u)
#define CW_TRACE_MAX_HEADERS 16u

typedef struct cw_tracer cw_tracer;
typedef struct cw_trace_loop cw_trace_loop;

typedef enum cw_trace_mode {
    CW_TRACE_OFF,
    CW_TRACE_PROPAGATE, /* contexts are read and sent on; no span is recorded */
    CW_TRACE_ON,
} cw_trace_mode;

typedef enum cw_trace_sampler {
    CW_TRACE_SAMPLE_RATIO,  /* of all traces */
    CW_TRACE_SAMPLE_PARENT, /* as the caller decided; the ratio is for traces that begin here */
} cw_trace_sampler;

/* Where spans are sent, and how. */
typedef struct cw_trace_export_opts {
    cw_str url;                    /* the whole URL; empty: nothing is sent */
    const cw_http_header *headers; /* at most CW_TRACE_MAX_HEADERS */
    size_t n_headers;
    cw_str ca_file, certificate, key; /* of TLS; may be empty */
    uint32_t timeout_ms;              /* for one request */
    uint32_t give_up_ms;              /* no retry begins later than this after the first request */
    bool is_gzip;                     /* requests are compressed */
    uint32_t delay_ms;                /* from the first span to its request */
    uint32_t batch;                   /* spans of one request */
    uint32_t queue;                   /* spans of one loop that wait */
    const cw_otlp_attr *resource;     /* attributes of this process */
    size_t n_resource;
} cw_trace_export_opts;

typedef struct cw_trace_opts {
    cw_trace_mode mode;
    cw_trace_sampler sampler;
    double ratio;        /* 0 to 1 */
    bool keeps_failures; /* failed spans are recorded, sampled or not */
    uint32_t rate;       /* spans per second; 0: no limit */
    cw_trace_export_opts exporter;
} cw_trace_opts;

/* Spans since the start. */
typedef struct cw_trace_counts {
    uint64_t sent;
    uint64_t full;     /* dropped: the buffer of the loop was full */
    uint64_t limited;  /* dropped: beyond the rate */
    uint64_t large;    /* dropped: over CW_SPAN_MAX */
    uint64_t failed;   /* dropped: the collector could not be reached, or refused them */
    uint64_t rejected; /* the collector reported a partial success */
} cw_trace_counts;

CW_MUST_USE cw_code cw_tracer_new(cw_loop *main_loop, unsigned n_loops, cw_tracer **ret,
                                  cw_err *err);
/* Use these options from now on. CW_PARAMS with a reason: a URL or header that cannot be used; then
 * the old ones stay. */
CW_MUST_USE cw_code cw_tracer_configure(cw_tracer *t, const cw_trace_opts *opts, cw_err *err);
/* Send the spans that wait, for at most `ms`, then call fn(ctx), which may be before this returns. */
void cw_tracer_flush(cw_tracer *t, uint32_t ms, void (*fn)(void *ctx), void *ctx);
/* Close the handles on the main loop. Twice is fine. */
void cw_tracer_close(cw_tracer *t);
/* After the loops have ended. The memory goes when the main loop has closed the handles. NULL is
 * fine. */
void cw_tracer_free(cw_tracer *t);
void cw_tracer_counts(const cw_tracer *t, cw_trace_counts *ret);

/* The part of a loop, by its index. */
cw_trace_loop *cw_tracer_loop(cw_tracer *t, unsigned index);
/* Whether contexts are read at all; NULL is fine. */
bool cw_trace_is_on(const cw_trace_loop *l);

/* The context of a request. */
typedef struct cw_trace_incoming {
    const cw_trace_parent *parent; /* NULL: none */
    cw_str tracestate;             /* of the parent; lives as long as the span */
    const cw_trace_parent *other;  /* a second context, which becomes a link; or NULL */
    bool is_trusted;               /* the trace continues; else a new one links to it */
} cw_trace_incoming;

/* Begin the span of a request; `in` NULL: it has no context. ret->ids.request is left as it is. */
void cw_span_begin(cw_trace_loop *l, const cw_trace_incoming *in, uint64_t now_ns, cw_span *ret);
/* Begin a span below the one with these ids. Without a trace in them the span is off. */
void cw_span_begin_child(cw_trace_loop *l, const cw_ids *ids, uint64_t now_ns, cw_span *ret);

/* Whether a span that is sampled, or has failed, is recorded. */
bool cw_span_may_be_kept(const cw_trace_loop *l, const cw_span *span);
/* Whether the span is recorded. NULL is fine for the loop. */
CW_INLINE bool cw_span_is_kept(const cw_trace_loop *l, const cw_span *span, bool has_failed)
{
    bool is_sampled = span->ids.flags & CW_IDS_SAMPLED;
    return CW_UNLIKELY(is_sampled || has_failed) && cw_span_may_be_kept(l, span);
}
/* Begin to record it. The attributes are written before anything else is recorded. NULL: it is
 * dropped, and counted. */
CW_MUST_USE cw_otlp_writer *cw_span_open(cw_trace_loop *l, const cw_span *span,
                                         const cw_span_report *report);
/* All attributes are written. */
void cw_span_close(cw_trace_loop *l);

#endif
