/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recent.c - rings with the last calls, one of each thread. */
#include "metrics/recent.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "metrics/keep.h"
#include "metrics/metrics.h"

typedef struct ring {
    struct ring *next;
    atomic_bool is_used; /* by a thread that runs */
    atomic_flag is_busy; /* its thread writes, or a reader copies */
    uint32_t n;          /* calls that were added */
    cw_recent_call calls[CW_RECENT_CALLS];
} ring;

static _Atomic(ring *) rings;
static atomic_uint_fast64_t n_calls;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_thread_end;
CW_METRICS_THREAD_LOCAL ring *mine;

static void on_thread_end(void *self)
{
    atomic_store(&((ring *)self)->is_used, false);
}

static void make_key(void)
{
    pthread_key_create(&at_thread_end, on_thread_end);
}

/* One that its thread has left, or a new one; NULL without memory. */
static ring *take_ring(void)
{
    pthread_once(&once, make_key);
    ring *r = atomic_load(&rings);
    for (; r; r = r->next) {
        bool is_free = false;
        if (atomic_compare_exchange_strong(&r->is_used, &is_free, true))
            break;
    }
    if (!r) {
        r = cw_metrics_keep(sizeof *r);
        if (!r)
            return NULL;
        atomic_flag_clear(&r->is_busy);
        atomic_init(&r->is_used, true);
        r->next = atomic_load(&rings);
        while (!atomic_compare_exchange_weak(&rings, &r->next, r))
            ;
    }
    (void)pthread_setspecific(at_thread_end, r);
    mine = r;
    return r;
}

static uint8_t copy(char *to, size_t room, cw_str text)
{
    size_t n = CW_LIKELY(text.n <= room) ? text.n : cw_utf8_cut(text, room);
    if (n)
        memcpy(to, text.p, n);
    return (uint8_t)n;
}

static void set_ids(cw_recent_call *c, const cw_ids *ids)
{
    c->request = ids->request;
    c->protocol = ids->protocol;
    c->client = ids->client;
    c->has_trace = ids->has_trace;
    if (ids->has_trace)
        memcpy(c->trace_id, ids->trace_id, sizeof c->trace_id);
}

void cw_recent_add(const cw_recent_call *call, const cw_ids *ids, cw_str name, cw_str caller)
{
    static const cw_ids no_ids;
    ring *r = mine ? mine : take_ring();
    if (!r)
        return;
    uint64_t number = atomic_fetch_add_explicit(&n_calls, 1, memory_order_relaxed) + 1;
    /* A loop does not wait for a reader: the call is left out. */
    if (atomic_flag_test_and_set_explicit(&r->is_busy, memory_order_acquire))
        return;
    cw_recent_call *c = &r->calls[r->n++ % CW_RECENT_CALLS];
    c->number = number;
    c->at_ns = call->at_ns;
    c->us = call->us;
    c->door = call->door;
    c->outcome = call->outcome;
    c->reason = call->reason;
    set_ids(c, ids ? ids : &no_ids);
    c->n_name = copy(c->name, sizeof c->name, name);
    c->n_caller = copy(c->caller, sizeof c->caller, caller);
    atomic_flag_clear_explicit(&r->is_busy, memory_order_release);
}

/* Insert into a list with the highest number first; the lowest falls off its end. */
static size_t insert(cw_recent_call *out, size_t n, size_t max, const cw_recent_call *call)
{
    size_t at = n;
    while (at && out[at - 1].number < call->number)
        at--;
    if (at == max)
        return n;
    size_t moved = (n < max ? n : max - 1) - at;
    memmove(&out[at + 1], &out[at], moved * sizeof *out);
    out[at] = *call;
    return n < max ? n + 1 : n;
}

uint64_t cw_recent_last(void)
{
    return atomic_load(&n_calls);
}

typedef struct recent_found {
    uint64_t last; /* the highest number of all calls so far */
    uint64_t lost; /* calls over `after` that are no longer kept */
    size_t n;      /* that were copied */
    size_t more;   /* wanted ones beyond the maximum */
} recent_found;

static bool is_wanted(const cw_recent_query *q, const cw_recent_call *call)
{
    return (!q->tool.n || cw_str_eq(q->tool, cw_str_make(call->name, call->n_name))) &&
           (!q->caller.n || cw_str_eq(q->caller, cw_str_make(call->caller, call->n_caller))) &&
           (!q->outcome.n ||
            cw_str_eq(q->outcome, cw_metrics_value_text(CW_METRIC_CALLS, 2, call->outcome)));
}

/* A copy, because the thread of the ring leaves out the calls that end meanwhile. Returns how many were
 * ever added. */
static uint32_t copy_ring(ring *r, cw_recent_call calls[CW_RECENT_CALLS])
{
    /* Another reader, or the thread for some nanoseconds. */
    while (atomic_flag_test_and_set_explicit(&r->is_busy, memory_order_acquire))
        sched_yield();
    memcpy(calls, r->calls, sizeof r->calls);
    uint32_t n = r->n;
    atomic_flag_clear_explicit(&r->is_busy, memory_order_release);
    return n;
}

/* Copy the wanted calls, the newest first, at most `max`. */
static recent_found read_calls(const cw_recent_query *query, cw_recent_call *out, size_t max)
{
    recent_found found = {.last = atomic_load(&n_calls)};
    cw_recent_call *calls = malloc(CW_RECENT_CALLS * sizeof *calls);
    uint64_t kept = 0, wanted = 0;
    for (ring *r = calls ? atomic_load(&rings) : NULL; r; r = r->next) {
        uint32_t n = copy_ring(r, calls);
        /* The newest first: then most calls are appended. */
        for (uint32_t i = 0; i < n && i < CW_RECENT_CALLS; i++) {
            const cw_recent_call *call = &calls[(n - 1 - i) % CW_RECENT_CALLS];
            if (call->number <= query->after)
                break;
            kept++;
            if (!is_wanted(query, call))
                continue;
            wanted++;
            found.n = insert(out, found.n, max, call);
        }
    }
    free(calls);
    found.more = wanted - found.n;
    found.lost = found.last > query->after + kept ? found.last - query->after - kept : 0;
    return found;
}

/* Members that a call may lack. */
static void write_origin(cw_json_writer *w, const cw_recent_call *call)
{
    char request[CW_IDS_HEX], trace[2 * CW_IDS_TRACE + 1];
    cw_ids_format_request(call->request, request);
    cw_hex_write(trace, call->trace_id, sizeof call->trace_id);
    if (call->reason)
        cw_json_add_string_member(w, CW_STR("reason"), cw_str_from(call->reason));
    if (call->protocol)
        cw_json_add_string_member(
            w, CW_STR("version"),
            cw_metrics_value_text(CW_METRIC_MCP_MESSAGES, 0, call->protocol - 1u));
    if (call->client)
        cw_json_add_string_member(
            w, CW_STR("client"),
            cw_metrics_value_text(CW_METRIC_MCP_CLIENTS, 0, call->client - 1u));
    if (call->request)
        cw_json_add_string_member(w, CW_STR("request_id"), cw_str_from(request));
    if (call->has_trace)
        cw_json_add_string_member(w, CW_STR("trace_id"), cw_str_from(trace));
}

static void write_call(cw_json_writer *w, const cw_recent_call *call, int64_t offset_ms)
{
    cw_json_open_object(w);
    cw_json_add_i64_member(w, CW_STR("seq"), (int64_t)call->number);
    cw_json_add_i64_member(w, CW_STR("at"), offset_ms + (int64_t)(call->at_ns / 1000000));
    cw_json_add_string_member(w, CW_STR("outcome"),
                              cw_metrics_value_text(CW_METRIC_CALLS, 2, call->outcome));
    cw_json_add_string_member(w, CW_STR("tool"), cw_str_make(call->name, call->n_name));
    cw_json_add_string_member(w, CW_STR("caller"), cw_str_make(call->caller, call->n_caller));
    cw_json_add_string_member(w, CW_STR("door"),
                              cw_metrics_value_text(CW_METRIC_CALLS, 1, call->door));
    cw_json_add_i64_member(w, CW_STR("us"), (int64_t)call->us);
    write_origin(w, call);
    cw_json_close(w);
}

uint64_t cw_recent_write(cw_json_writer *w, const cw_recent_query *query, size_t max)
{
    cw_recent_call calls[CW_RECENT_WRITE];
    recent_found found = read_calls(query, calls, max < CW_RECENT_WRITE ? max : CW_RECENT_WRITE);
    int64_t offset_ms = cw_clock_wall_ms() - (int64_t)(cw_clock_ns() / 1000000);
    cw_json_add_key(w, CW_STR("calls"));
    cw_json_open_array(w);
    for (size_t i = 0; i < found.n; i++)
        write_call(w, &calls[i], offset_ms);
    cw_json_close(w);
    cw_json_add_i64_member(w, CW_STR("left_out"), (int64_t)(found.lost + found.more));
    cw_json_add_i64_member(w, CW_STR("last"), (int64_t)found.last);
    return found.last;
}
