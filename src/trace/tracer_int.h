/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tracer_int.h - what the tracer and its exporter share: the buffers of the loops.
 *
 *     tracer.c    options, sampling, spans of a loop
 *     exporter.c  batches, requests, retries, on the main loop
 */
#ifndef CW_TRACE_TRACER_INT_H
#define CW_TRACE_TRACER_INT_H

#include <stdatomic.h>

#include "trace/tracer.h"

/* Random numbers that are made at a time. */
#define CW_TRACE_NUMBERS 64u

/* Finished spans, one behind the other. */
typedef struct cw_span_buffer {
    size_t n; /* bytes */
    uint32_t spans;
    uint32_t wake_at; /* so many spans wake the exporter */
    char bytes[CW_TRACE_BUFFER];
} cw_span_buffer;

struct cw_trace_loop {
    cw_tracer *tracer;
    /* The buffer that the loop fills. NULL while it writes a span, and before the first one. */
    _Atomic(cw_span_buffer *) fill;
    atomic_ullong n_added; /* spans that were ever added to a buffer; written by the loop only */
    atomic_ullong full, limited, large;
    /* The loop's own. */
    uint64_t wall_offset, wall_read_ns; /* of the wall clock, and when it was read */
    uint64_t second_ns;                 /* the beginning of the second of the limit */
    uint32_t in_second;
    uint32_t n_numbers; /* of those below that were not used */
    uint64_t numbers[CW_TRACE_NUMBERS];
    cw_span_buffer *writing; /* while a span is open */
    cw_otlp_writer writer;
};

typedef struct cw_trace_exporter cw_trace_exporter;

struct cw_tracer {
    /* Options that loops read. */
    atomic_int mode, sampler;
    atomic_ullong threshold; /* the least R (cw_span_begin) that is sampled */
    atomic_bool keeps_failures;
    atomic_uint rate, batch, queue;
    cw_loop *main_loop;
    cw_message on_spans; /* to the main loop */
    cw_trace_exporter *exporter;
    unsigned n_loops;
    cw_trace_loop loops[];
};

/* exporter.c */
CW_MUST_USE cw_code cw_trace_exporter_new(cw_tracer *t, cw_trace_exporter **ret, cw_err *err);
CW_MUST_USE cw_code cw_trace_exporter_configure(cw_trace_exporter *e,
                                                const cw_trace_export_opts *opts, cw_err *err);
/* Spans wait. */
void cw_trace_exporter_wake(cw_trace_exporter *e);
void cw_trace_exporter_flush(cw_trace_exporter *e, uint32_t ms, void (*fn)(void *ctx), void *ctx);
void cw_trace_exporter_close(cw_trace_exporter *e);
/* Frees the exporter, and calls fn(tracer) when its handles are closed. */
void cw_trace_exporter_free(cw_trace_exporter *e, void (*fn)(cw_tracer *t));
void cw_trace_exporter_counts(const cw_trace_exporter *e, cw_trace_counts *ret);

#endif
