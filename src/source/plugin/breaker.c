/* SPDX-License-Identifier: GPL-2.0-or-later */
/* breaker.c - counts deaths over all loops, and refuses what keeps dying.
 *
 *     closed --CW_PLUGIN_DEATHS deaths, no success--> open --pause--> one call is let through
 *        ^                                             ^                 |
 *        |                                             +---- died -------+
 *        +--------------------- succeeded -------------------------------+
 *
 * The counts of all closed gates start anew with every call that succeeds.
 */
#include "source/plugin/plugin_int.h"

void cw_worker_breaker_init(cw_worker_breaker *b, cw_worker_breaker_gate *methods, size_t n)
{
    *b = (cw_worker_breaker){.methods = methods, .n_methods = n};
    pthread_mutex_init(&b->lock, NULL);
}

void cw_worker_breaker_done(cw_worker_breaker *b)
{
    pthread_mutex_destroy(&b->lock);
}

static cw_worker_breaker_gate *gate_of(cw_worker_breaker *b, uint32_t method)
{
    return method < b->n_methods ? &b->methods[method] : &b->plugin;
}

static bool is_open(cw_worker_breaker_gate *gate)
{
    return atomic_load_explicit(&gate->until, memory_order_relaxed) != 0;
}

/* Let one call through when the pause is over, and begin the next pause. */
static void try_again(cw_worker_breaker_gate *gate, uint64_t now)
{
    if (!is_open(gate))
        return;
    gate->trial = true;
    atomic_store_explicit(&gate->until, now + gate->pause_ms, memory_order_relaxed);
}

const char *cw_worker_breaker_refuses(cw_worker_breaker *b, uint32_t method, uint64_t now)
{
    if (CW_LIKELY(atomic_load_explicit(&b->open, memory_order_relaxed) == 0))
        return NULL;
    cw_worker_breaker_gate *gate = gate_of(b, method);
    const char *paused = NULL;
    pthread_mutex_lock(&b->lock);
    if (atomic_load(&b->plugin.until) > now) {
        paused = "plugin";
    } else if (atomic_load(&gate->until) > now) {
        paused = "method";
    } else {
        try_again(&b->plugin, now);
        try_again(gate, now);
    }
    pthread_mutex_unlock(&b->lock);
    return paused;
}

static void open_gate(cw_worker_breaker *b, cw_worker_breaker_gate *gate, uint64_t now)
{
    atomic_fetch_sub(&b->counting, 1);
    atomic_fetch_add(&b->open, 1);
    gate->pause_ms = CW_PLUGIN_PAUSE_MIN_MS;
    gate->trial = false;
    atomic_store(&gate->until, now + gate->pause_ms);
}

void cw_worker_breaker_on_death(cw_worker_breaker *b, uint32_t method, uint64_t now)
{
    cw_worker_breaker_gate *gate = gate_of(b, method);
    pthread_mutex_lock(&b->lock);
    if (!is_open(gate)) {
        if (gate->deaths == 0)
            atomic_fetch_add(&b->counting, 1);
        if (gate->deaths == 0 || now - gate->first > CW_PLUGIN_DEATHS_MS) {
            gate->first = now;
            gate->deaths = 0;
        }
        if (++gate->deaths >= CW_PLUGIN_DEATHS)
            open_gate(b, gate, now);
    } else if (gate->trial) {
        /* Only the call that was let through says something new; others were on their way. */
        gate->trial = false;
        gate->pause_ms = gate->pause_ms > CW_PLUGIN_PAUSE_MAX_MS / 2 ? CW_PLUGIN_PAUSE_MAX_MS
                                                                     : gate->pause_ms * 2;
        atomic_store(&gate->until, now + gate->pause_ms);
    }
    pthread_mutex_unlock(&b->lock);
}

static void forget(cw_worker_breaker *b, cw_worker_breaker_gate *gate)
{
    if (is_open(gate)) {
        atomic_store(&gate->until, 0);
        atomic_fetch_sub(&b->open, 1);
    } else if (gate->deaths) {
        atomic_fetch_sub(&b->counting, 1);
    }
    gate->deaths = 0;
    gate->trial = false;
}

void cw_worker_breaker_on_success(cw_worker_breaker *b, uint32_t method)
{
    cw_worker_breaker_gate *gate = gate_of(b, method);
    if (CW_LIKELY(atomic_load_explicit(&b->counting, memory_order_relaxed) == 0 && !is_open(gate) &&
                  !is_open(&b->plugin)))
        return;
    pthread_mutex_lock(&b->lock);
    forget(b, &b->plugin);
    forget(b, gate);
    for (size_t i = 0; i < b->n_methods && atomic_load(&b->counting) > 0; i++) {
        if (!is_open(&b->methods[i]))
            forget(b, &b->methods[i]);
    }
    pthread_mutex_unlock(&b->lock);
}

bool cw_worker_breaker_is_open(cw_worker_breaker *b)
{
    return is_open(&b->plugin);
}
