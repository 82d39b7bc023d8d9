/* SPDX-License-Identifier: GPL-2.0-or-later */
/* breaker.c - when to leave a service alone: it cannot be reached, or it refuses our
 * credentials, and each further attempt may lock the account.
 *
 * The variables are read and written one by one. What two loops may do to each
 * other in between is to let a call more through, or to pause a little longer.
 */
#include <stdlib.h>

#include "source/remote/remote_int.h"

cw_circuit_breaker *cw_circuit_breaker_new(void)
{
    cw_circuit_breaker *b = calloc(1, sizeof *b);
    if (b)
        atomic_init(&b->refs, 1);
    return b;
}

cw_circuit_breaker *cw_circuit_breaker_ref(cw_circuit_breaker *b)
{
    atomic_fetch_add(&b->refs, 1);
    return b;
}

void cw_circuit_breaker_unref(cw_circuit_breaker *b)
{
    if (b && atomic_fetch_sub(&b->refs, 1) == 1)
        free(b);
}

bool cw_circuit_breaker_allow(cw_circuit_breaker *b, uint64_t now, bool *ret_trial)
{
    uint64_t until = atomic_load_explicit(&b->open_until, memory_order_relaxed);
    *ret_trial = false;
    if (CW_LIKELY(until == 0))
        return true;
    bool expected = false;
    if (now < until || !atomic_compare_exchange_strong(&b->trial, &expected, true))
        return false;
    *ret_trial = true;
    return true;
}

void cw_circuit_breaker_success(cw_circuit_breaker *b, bool trial)
{
    /* Read first: every call comes by here, and a write would make the loops wait for each other.
     */
    if (atomic_load_explicit(&b->failures, memory_order_relaxed))
        atomic_store(&b->failures, 0);
    if (atomic_load_explicit(&b->open_until, memory_order_relaxed)) {
        atomic_store(&b->pause_ms, 0);
        atomic_store(&b->open_until, 0);
    }
    cw_circuit_breaker_neutral(b, trial);
}

static void open_for(cw_circuit_breaker *b, uint64_t now, unsigned ms)
{
    atomic_store(&b->pause_ms, ms);
    atomic_store(&b->open_until, now + ms);
}

void cw_circuit_breaker_failure(cw_circuit_breaker *b, bool trial, uint64_t now)
{
    unsigned failures = atomic_fetch_add(&b->failures, 1) + 1;
    if (trial) {
        unsigned ms = atomic_load(&b->pause_ms) * 2;
        open_for(b, now,
                 ms < CW_REMOTE_PAUSE_MIN_MS   ? CW_REMOTE_PAUSE_MIN_MS
                 : ms > CW_REMOTE_PAUSE_MAX_MS ? CW_REMOTE_PAUSE_MAX_MS
                                               : ms);
    } else if (failures >= CW_REMOTE_FAILURES && atomic_load(&b->open_until) == 0) {
        open_for(b, now, CW_REMOTE_PAUSE_MIN_MS);
    }
    cw_circuit_breaker_neutral(b, trial);
}

void cw_circuit_breaker_neutral(cw_circuit_breaker *b, bool trial)
{
    if (trial)
        atomic_store(&b->trial, false);
}

/* ---- credentials ---- */

void cw_circuit_breaker_refused(cw_circuit_breaker *b, uint64_t now, bool has_load)
{
    uint64_t last = atomic_load(&b->doubted_at);
    atomic_store(&b->call_refused, true);
    if (!has_load) {
        if (atomic_fetch_add(&b->refusals, 1) + 1 >= CW_REMOTE_REFUSALS)
            atomic_store(&b->refused_until, now + CW_REMOTE_REFUSED_MS);
        return;
    }
    if (atomic_load(&b->load_refused) || (last && now - last < CW_REMOTE_RECHECK_MS))
        return;
    atomic_store(&b->doubted_at, now ? now : 1);
    atomic_store(&b->is_doubted, true);
}

void cw_circuit_breaker_accepted(cw_circuit_breaker *b)
{
    /* Read first, as above. */
    if (atomic_load_explicit(&b->call_refused, memory_order_relaxed)) {
        atomic_store(&b->call_refused, false);
        atomic_store(&b->refusals, 0);
        atomic_store(&b->refused_until, 0);
    }
}

bool cw_circuit_breaker_is_refused(const cw_circuit_breaker *b, uint64_t now)
{
    if (CW_LIKELY(!atomic_load_explicit(&b->call_refused, memory_order_relaxed)))
        return false;
    bool is_doubted =
        atomic_load(&b->is_doubted) && now - atomic_load(&b->doubted_at) < CW_REMOTE_SETTLE_MS;
    return is_doubted || atomic_load(&b->load_refused) || now < atomic_load(&b->refused_until);
}
