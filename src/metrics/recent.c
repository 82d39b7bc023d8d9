/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recent.c - rings with the last calls, one of each thread. */
#include "metrics/recent.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "metrics/keep.h"

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
static _Thread_local ring *mine;

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
    size_t n = cw_utf8_cut(text, room);
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

size_t cw_recent_read(uint64_t after, cw_recent_call *out, size_t max, uint64_t *ret_last)
{
    size_t n = 0;
    cw_recent_call *calls = malloc(CW_RECENT_CALLS * sizeof *calls);
    *ret_last = atomic_load(&n_calls);
    for (ring *r = calls ? atomic_load(&rings) : NULL; r; r = r->next) {
        /* Another reader, or the thread for some nanoseconds. */
        while (atomic_flag_test_and_set_explicit(&r->is_busy, memory_order_acquire))
            sched_yield();
        memcpy(calls, r->calls, sizeof r->calls);
        atomic_flag_clear_explicit(&r->is_busy, memory_order_release);
        for (size_t i = 0; i < CW_RECENT_CALLS; i++) {
            if (calls[i].number > after)
                n = insert(out, n, max, &calls[i]);
        }
    }
    free(calls);
    return n;
}
