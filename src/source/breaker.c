/* SPDX-License-Identifier: GPL-2.0-or-later */
/* breaker.c - the circuit breaker of plugins and remote services. */
#include "source/breaker.h"

#include "base/clock.h"

bool cw_breaker_is_open(const cw_breaker *b)
{
    return atomic_load_explicit(&b->open_until, memory_order_relaxed) != 0;
}

bool cw_breaker_is_paused(const cw_breaker *b, uint64_t now)
{
    return atomic_load_explicit(&b->open_until, memory_order_relaxed) > now;
}

bool cw_breaker_allow(cw_breaker *b, uint64_t now, bool *ret_trial)
{
    *ret_trial = false;
    if (CW_LIKELY(!cw_breaker_is_open(b)))
        return true;
    bool expected = false;
    if (cw_breaker_is_paused(b, now) || !atomic_compare_exchange_strong(&b->trial, &expected, true))
        return false;
    *ret_trial = true;
    return true;
}

void cw_breaker_success(cw_breaker *b, bool trial)
{
    /* Read before write: every call runs this, and a write makes the loops wait for each other. */
    if (atomic_load_explicit(&b->failures, memory_order_relaxed))
        atomic_store(&b->failures, 0);
    if (cw_breaker_is_open(b))
        atomic_store(&b->open_until, 0);
    cw_breaker_neutral(b, trial);
}

static void pause_for(cw_breaker *b, uint64_t now, uint32_t ms)
{
    atomic_store(&b->pause_ms, ms);
    atomic_store(&b->open_until, now + ms);
}

/* Failures that the rule counts, with this one. */
static uint32_t count(cw_breaker *b, const cw_breaker_rule *rule, uint64_t now)
{
    /* Another thread may have set a later time. */
    bool is_late = rule->window_ms && cw_clock_since(now, atomic_load(&b->first)) > rule->window_ms;
    if (is_late || atomic_load(&b->failures) == 0) {
        atomic_store(&b->first, now);
        atomic_store(&b->failures, 0);
    }
    return atomic_fetch_add(&b->failures, 1) + 1;
}

void cw_breaker_failure(cw_breaker *b, const cw_breaker_rule *rule, bool trial, uint64_t now)
{
    if (trial) {
        uint32_t ms = atomic_load(&b->pause_ms);
        pause_for(b, now, ms > rule->pause_max_ms / 2 ? rule->pause_max_ms : ms * 2);
    } else if (!cw_breaker_is_open(b) && count(b, rule, now) >= rule->failures) {
        pause_for(b, now, rule->pause_min_ms);
    }
    /* Calls that began before the breaker opened may still fail. They change nothing. */
    cw_breaker_neutral(b, trial);
}

void cw_breaker_neutral(cw_breaker *b, bool trial)
{
    if (trial)
        atomic_store(&b->trial, false);
}
