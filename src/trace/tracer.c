/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tracer.c - sampling, ids, and the buffers of the loops. */
#include "trace/tracer.h"

#include <endian.h>
#include <stdlib.h>
#include <time.h>

#include "base/random.h"
#include "trace/tracer_int.h"

#define SECOND_NS UINT64_C(1000000000)
/* R of a trace: the last 56 bits of its id. */
#define R_BITS 56u

/* ---- begin and end ---- */

static void on_spans(cw_message *message)
{
    cw_trace_exporter_wake(CW_CONTAINER(message, cw_tracer, on_spans)->exporter);
}

cw_code cw_tracer_new(cw_loop *main_loop, unsigned n_loops, cw_tracer **ret, cw_err *err)
{
    cw_tracer *t = calloc(1, sizeof *t + n_loops * sizeof(cw_trace_loop));
    if (!t)
        return cw_fail_nomem(err);
    t->main_loop = main_loop;
    t->n_loops = n_loops;
    t->on_spans.fn = on_spans;
    for (unsigned i = 0; i < n_loops; i++)
        t->loops[i].tracer = t;
    cw_code rc = cw_trace_exporter_new(t, &t->exporter, err);
    if (rc) {
        free(t);
        return rc;
    }
    *ret = t;
    return CW_OK;
}

/* R of a trace is evenly distributed, so R >= (1 - ratio) * 2^56 holds for this share of traces. */
static uint64_t threshold_of(double ratio)
{
    const double all = (double)(UINT64_C(1) << R_BITS);
    if (ratio <= 0)
        return UINT64_MAX;
    return ratio >= 1 ? 0 : (uint64_t)((1 - ratio) * all);
}

cw_code cw_tracer_configure(cw_tracer *t, const cw_trace_opts *opts, cw_err *err)
{
    cw_code rc = cw_trace_exporter_configure(t->exporter, &opts->exporter, err);
    if (rc)
        return rc;
    atomic_store(&t->sampler, opts->sampler);
    atomic_store(&t->threshold, threshold_of(opts->ratio));
    atomic_store(&t->keeps_failures, opts->keeps_failures);
    atomic_store(&t->rate, opts->rate ? (opts->rate + t->n_loops - 1) / t->n_loops : 0);
    atomic_store(&t->batch, opts->exporter.batch);
    atomic_store(&t->queue, opts->exporter.queue);
    atomic_store(&t->mode, opts->mode);
    return CW_OK;
}

void cw_tracer_flush(cw_tracer *t, uint32_t ms, void (*fn)(void *ctx), void *ctx)
{
    cw_trace_exporter_flush(t->exporter, ms, fn, ctx);
}

void cw_tracer_close(cw_tracer *t)
{
    atomic_store(&t->mode, CW_TRACE_OFF);
    cw_trace_exporter_close(t->exporter);
}

static void free_tracer(cw_tracer *t)
{
    for (unsigned i = 0; i < t->n_loops; i++)
        free(atomic_load(&t->loops[i].fill));
    free(t);
}

void cw_tracer_free(cw_tracer *t)
{
    if (t)
        cw_trace_exporter_free(t->exporter, free_tracer);
}

void cw_tracer_counts(const cw_tracer *t, cw_trace_counts *ret)
{
    *ret = (cw_trace_counts){0};
    cw_trace_exporter_counts(t->exporter, ret);
    for (unsigned i = 0; i < t->n_loops; i++) {
        ret->full += atomic_load_explicit(&t->loops[i].full, memory_order_relaxed);
        ret->limited += atomic_load_explicit(&t->loops[i].limited, memory_order_relaxed);
        ret->large += atomic_load_explicit(&t->loops[i].large, memory_order_relaxed);
    }
}

cw_trace_loop *cw_tracer_loop(cw_tracer *t, unsigned index)
{
    return t && index < t->n_loops ? &t->loops[index] : NULL;
}

static cw_trace_mode mode_of(const cw_trace_loop *l)
{
    return l ? (cw_trace_mode)atomic_load_explicit(&l->tracer->mode, memory_order_relaxed)
             : CW_TRACE_OFF;
}

bool cw_trace_is_on(const cw_trace_loop *l)
{
    return mode_of(l) != CW_TRACE_OFF;
}

/* ---- the beginning of a span ---- */

static CW_NOINLINE void make_numbers(cw_trace_loop *l)
{
    cw_random_fill(l->numbers, CW_TRACE_NUMBERS);
    l->n_numbers = CW_TRACE_NUMBERS;
}

/* Eight bytes of an id. An id of zeros is invalid. */
CW_INLINE void make_word(cw_trace_loop *l, unsigned char out[sizeof(uint64_t)])
{
    if (CW_UNLIKELY(l->n_numbers == 0))
        make_numbers(l);
    uint64_t number = l->numbers[--l->n_numbers];
    number += number == 0;
    memcpy(out, &number, sizeof number);
}

static uint64_t randomness_of(const unsigned char id[CW_IDS_TRACE])
{
    uint64_t last;
    memcpy(&last, id + CW_IDS_TRACE - sizeof last, sizeof last);
    return be64toh(last) & ((UINT64_C(1) << R_BITS) - 1);
}

static bool is_in_ratio(const cw_tracer *t, const unsigned char id[CW_IDS_TRACE])
{
    return randomness_of(id) >= atomic_load_explicit(&t->threshold, memory_order_relaxed);
}

/* Whether a trace that came with a context we trust is sampled. */
static bool follows(const cw_tracer *t, const cw_trace_parent *parent)
{
    int sampler = atomic_load_explicit(&t->sampler, memory_order_relaxed);
    if (sampler == CW_TRACE_SAMPLE_PARENT)
        return parent->flags & CW_IDS_SAMPLED;
    return is_in_ratio(t, parent->trace_id);
}

static void continue_trace(const cw_trace_loop *l, const cw_trace_incoming *in, cw_span *s)
{
    const cw_trace_parent *parent = in->parent;
    memcpy(s->ids.trace_id, parent->trace_id, CW_IDS_TRACE);
    memcpy(s->parent, parent->span_id, CW_IDS_SPAN);
    s->ids.tracestate = in->tracestate.p ? in->tracestate : CW_STR("");
    s->ids.flags = parent->flags & CW_IDS_RANDOM;
    s->has_parent = s->is_remote = true;
    if (mode_of(l) == CW_TRACE_PROPAGATE) /* the decision of the caller is passed on */
        s->ids.flags |= parent->flags & CW_IDS_SAMPLED;
    else if (follows(l->tracer, parent))
        s->ids.flags |= CW_IDS_SAMPLED;
    s->has_link = in->other != NULL;
    if (in->other)
        s->link = *in->other;
}

/* `link` is a context that the trace does not continue; or NULL. */
static void begin_trace(cw_trace_loop *l, const cw_trace_parent *link, cw_span *s)
{
    make_word(l, s->ids.trace_id);
    make_word(l, s->ids.trace_id + CW_IDS_TRACE / 2);
    s->ids.tracestate = CW_STR("");
    s->ids.flags = CW_IDS_RANDOM;
    if (mode_of(l) == CW_TRACE_ON && is_in_ratio(l->tracer, s->ids.trace_id))
        s->ids.flags |= CW_IDS_SAMPLED;
    s->has_parent = s->is_remote = false;
    s->has_link = link != NULL;
    if (link)
        s->link = *link;
}

void cw_span_begin(cw_trace_loop *l, const cw_trace_incoming *in, uint64_t now_ns, cw_span *ret)
{
    ret->is_on = cw_trace_is_on(l);
    ret->begun_ns = now_ns;
    if (!ret->is_on)
        return;
    if (in && in->parent && in->is_trusted)
        continue_trace(l, in, ret);
    else
        begin_trace(l, in ? in->parent : NULL, ret);
    make_word(l, ret->ids.span_id);
    ret->ids.has_trace = true;
}

void cw_span_begin_child(cw_trace_loop *l, const cw_ids *ids, uint64_t now_ns, cw_span *ret)
{
    ret->is_on = ids->has_trace && cw_trace_is_on(l);
    ret->begun_ns = now_ns;
    ret->ids = *ids;
    if (!ret->is_on)
        return;
    ret->has_parent = true;
    ret->is_remote = ret->has_link = false;
    memcpy(ret->parent, ids->span_id, CW_IDS_SPAN);
    make_word(l, ret->ids.span_id);
}

/* ---- the end of a span ---- */

bool cw_span_may_be_kept(const cw_trace_loop *l, const cw_span *span)
{
    if (!span->is_on || mode_of(l) != CW_TRACE_ON)
        return false;
    return (span->ids.flags & CW_IDS_SAMPLED) ||
           atomic_load_explicit(&l->tracer->keeps_failures, memory_order_relaxed);
}

static void count(atomic_ullong *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Whether this second has room for another span. */
static bool is_within_rate(cw_trace_loop *l, uint64_t now_ns)
{
    unsigned rate = atomic_load_explicit(&l->tracer->rate, memory_order_relaxed);
    if (CW_LIKELY(rate == 0))
        return true;
    if ((int64_t)(now_ns - l->second_ns) >= (int64_t)SECOND_NS || !l->second_ns) {
        l->second_ns = now_ns;
        l->in_second = 0;
    }
    return l->in_second++ < rate;
}

/* From the monotonic clock to the wall clock, which is read once a second. */
static uint64_t wall_offset(cw_trace_loop *l, uint64_t now_ns)
{
    if (CW_UNLIKELY(!l->wall_read_ns || now_ns - l->wall_read_ns > SECOND_NS)) {
        struct timespec wall;
        clock_gettime(CLOCK_REALTIME, &wall);
        uint64_t wall_now = (uint64_t)wall.tv_sec * SECOND_NS + (uint64_t)wall.tv_nsec;
        l->wall_offset = wall_now - cw_clock_ns();
        l->wall_read_ns = now_ns;
    }
    return l->wall_offset;
}

/* The buffer of the loop. The main loop cannot take it before put_buffer. NULL: without memory. */
static cw_span_buffer *take_buffer(cw_trace_loop *l)
{
    cw_span_buffer *b = atomic_exchange_explicit(&l->fill, NULL, memory_order_acquire);
    if (CW_LIKELY(b))
        return b;
    b = malloc(sizeof *b);
    if (b) {
        b->n = b->spans = 0;
        b->wake_at = 1;
    }
    return b;
}

static void put_buffer(cw_trace_loop *l, cw_span_buffer *b)
{
    atomic_store_explicit(&l->fill, b, memory_order_release);
}

static bool has_room(const cw_trace_loop *l, const cw_span_buffer *b)
{
    return b->n <= CW_TRACE_BUFFER - CW_SPAN_MAX &&
           b->spans < atomic_load_explicit(&l->tracer->queue, memory_order_relaxed);
}

cw_otlp_writer *cw_span_open(cw_trace_loop *l, const cw_span *span, const cw_span_report *report)
{
    if (!is_within_rate(l, report->end_ns)) {
        count(&l->limited);
        return NULL;
    }
    cw_span_buffer *b = take_buffer(l);
    if (!b || !has_room(l, b)) {
        put_buffer(l, b);
        count(&l->full);
        return NULL;
    }
    l->writing = b;
    cw_otlp_open(&l->writer, span, report, wall_offset(l, report->end_ns), b->bytes + b->n,
                 CW_SPAN_MAX);
    return &l->writer;
}

/* Whether the exporter sleeps, or has enough for a request. */
static bool is_time_to_wake(const cw_trace_loop *l, cw_span_buffer *b)
{
    if (CW_LIKELY(b->spans != b->wake_at))
        return false;
    unsigned batch = atomic_load_explicit(&l->tracer->batch, memory_order_relaxed);
    b->wake_at = b->spans < batch ? batch : b->spans + batch;
    return true;
}

void cw_span_close(cw_trace_loop *l)
{
    cw_span_buffer *b = l->writing;
    size_t n = cw_otlp_close(&l->writer);
    b->n += n;
    b->spans += n > 0;
    bool wakes = n && is_time_to_wake(l, b);
    uint64_t added = atomic_load_explicit(&l->n_added, memory_order_relaxed);
    atomic_store_explicit(&l->n_added, added + (n > 0), memory_order_relaxed);
    put_buffer(l, b);
    if (!n)
        count(&l->large);
    if (wakes)
        cw_loop_notify(l->tracer->main_loop, &l->tracer->on_spans);
}
