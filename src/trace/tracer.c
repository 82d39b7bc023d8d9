/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tracer.c - sampling, ids, and the buffers of the loops. */
#include "trace/tracer.h"

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
    for (unsigned i = 0; i < n_loops; i++) {
        t->loops[i].tracer = t;
        pthread_mutex_init(&t->loops[i].lock, NULL);
    }
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
    for (unsigned i = 0; i < t->n_loops; i++) {
        free(t->loops[i].fill.p);
        pthread_mutex_destroy(&t->loops[i].lock);
    }
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

static void make_id(unsigned char *out, size_t n)
{
    for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
        uint64_t number;
        do
            number = cw_random_u64();
        while (number == 0);
        memcpy(out + i, &number, sizeof number);
    }
}

static uint64_t randomness_of(const unsigned char id[CW_IDS_TRACE])
{
    uint64_t r = 0;
    for (size_t i = CW_IDS_TRACE - R_BITS / 8; i < CW_IDS_TRACE; i++)
        r = r << 8 | id[i];
    return r;
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

static void begin_trace(const cw_trace_loop *l, const cw_trace_incoming *in, cw_span *s)
{
    make_id(s->ids.trace_id, CW_IDS_TRACE);
    s->ids.tracestate = CW_STR("");
    s->ids.flags = CW_IDS_RANDOM;
    if (mode_of(l) == CW_TRACE_ON && is_in_ratio(l->tracer, s->ids.trace_id))
        s->ids.flags |= CW_IDS_SAMPLED;
    s->has_parent = s->is_remote = false;
    s->has_link = in->parent != NULL;
    if (in->parent)
        s->link = *in->parent;
}

void cw_span_begin(cw_trace_loop *l, const cw_trace_incoming *in, uint64_t now_ns, cw_span *ret)
{
    ret->is_on = cw_trace_is_on(l);
    ret->begun_ns = now_ns;
    if (!ret->is_on)
        return;
    if (in->parent && in->is_trusted)
        continue_trace(l, in, ret);
    else
        begin_trace(l, in, ret);
    make_id(ret->ids.span_id, CW_IDS_SPAN);
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
    make_id(ret->ids.span_id, CW_IDS_SPAN);
}

/* ---- the end of a span ---- */

bool cw_span_is_kept(const cw_trace_loop *l, const cw_span *span, bool has_failed)
{
    if (!span->is_on || mode_of(l) != CW_TRACE_ON)
        return false;
    return (span->ids.flags & CW_IDS_SAMPLED) ||
           (has_failed && atomic_load_explicit(&l->tracer->keeps_failures, memory_order_relaxed));
}

static void count(atomic_ullong *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Whether this second has room for another span. */
static bool is_within_rate(cw_trace_loop *l, uint64_t now_ns)
{
    unsigned rate = atomic_load_explicit(&l->tracer->rate, memory_order_relaxed);
    if (now_ns / SECOND_NS != l->second) {
        l->second = now_ns / SECOND_NS;
        l->in_second = 0;
    }
    return rate == 0 || l->in_second++ < rate;
}

/* The wall clock at a time of the monotonic one. It is read once a second. */
static uint64_t wall_ns(cw_trace_loop *l, uint64_t now_ns, uint64_t at_ns)
{
    if (!l->wall_read_ns || now_ns - l->wall_read_ns > SECOND_NS) {
        struct timespec wall;
        clock_gettime(CLOCK_REALTIME, &wall);
        uint64_t wall_now = (uint64_t)wall.tv_sec * SECOND_NS + (uint64_t)wall.tv_nsec;
        l->wall_offset = wall_now - cw_clock_ns();
        l->wall_read_ns = now_ns;
    }
    return at_ns + l->wall_offset;
}

typedef enum added {
    ADDED,
    ADDED_FIRST, /* the exporter sleeps */
    ADDED_BATCH, /* enough for a request */
    NO_ROOM,
} added;

/* With the lock held. */
static added add(cw_trace_loop *l, const char *bytes, size_t n)
{
    cw_span_buffer *b = &l->fill;
    if (!b->p)
        b->p = malloc(CW_TRACE_BUFFER);
    unsigned queue = atomic_load_explicit(&l->tracer->queue, memory_order_relaxed);
    if (!b->p || n > CW_TRACE_BUFFER - b->n || b->spans >= queue)
        return NO_ROOM;
    memcpy(b->p + b->n, bytes, n);
    b->n += n;
    b->spans++;
    if (b->spans == 1)
        return ADDED_FIRST;
    return b->spans % atomic_load_explicit(&l->tracer->batch, memory_order_relaxed) ? ADDED
                                                                                    : ADDED_BATCH;
}

void cw_span_end(cw_trace_loop *l, const cw_span *span, const cw_span_report *report)
{
    if (!is_within_rate(l, report->end_ns)) {
        count(&l->limited);
        return;
    }
    cw_otlp_span out = {
        .ids = &span->ids,
        .parent = span->has_parent ? span->parent : NULL,
        .is_remote = span->is_remote,
        .link = span->has_link ? &span->link : NULL,
        .name = report->name,
        .target = report->target,
        .kind = report->kind,
        .start_ns = wall_ns(l, report->end_ns, span->begun_ns),
        .end_ns = wall_ns(l, report->end_ns, report->end_ns),
        .attrs = report->attrs,
        .n_attrs = report->n_attrs,
        .is_error = report->is_error,
        .message = report->message,
    };
    size_t n = cw_otlp_write_span(&out, l->room, sizeof l->room);
    if (n == 0) {
        count(&l->large);
        return;
    }
    pthread_mutex_lock(&l->lock);
    added how = add(l, l->room + sizeof l->room - n, n);
    pthread_mutex_unlock(&l->lock);
    if (how == NO_ROOM)
        count(&l->full);
    else if (how != ADDED)
        cw_loop_notify(l->tracer->main_loop, &l->tracer->on_spans);
}
