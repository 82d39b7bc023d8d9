/* SPDX-License-Identifier: GPL-2.0-or-later */
/* breaker.c - the breakers of a plugin over all loops: one for each method, and one for the plugin.
 *
 * A death counts against its method, or against the plugin. Every call that succeeds resets the
 * counts of all breakers that are closed.
 */
#include "source/plugin/plugin_int.h"

static const cw_breaker_rule rule = {.failures = CW_PLUGIN_DEATHS,
                                     .window_ms = CW_PLUGIN_DEATHS_MS,
                                     .pause_min_ms = CW_PLUGIN_PAUSE_MIN_MS,
                                     .pause_max_ms = CW_PLUGIN_PAUSE_MAX_MS};

void cw_worker_breaker_init(cw_worker_breaker *b, cw_breaker *methods, size_t n)
{
    *b = (cw_worker_breaker){.methods = methods, .n_methods = n};
    pthread_mutex_init(&b->lock, NULL);
}

void cw_worker_breaker_done(cw_worker_breaker *b)
{
    pthread_mutex_destroy(&b->lock);
}

static cw_breaker *breaker_of(cw_worker_breaker *b, uint32_t method)
{
    return method < b->n_methods ? &b->methods[method] : &b->plugin;
}

/* Let one call through when the pause is over, and begin the next pause: the call may be cancelled
 * before it reaches a worker. */
static void try_again(cw_breaker *gate, uint64_t now)
{
    bool trial;
    if (!cw_breaker_is_open(gate))
        return;
    cw_breaker_neutral(gate, /* trial= */ true);
    if (cw_breaker_allow(gate, now, &trial))
        atomic_store(&gate->open_until, now + atomic_load(&gate->pause_ms));
}

const char *cw_worker_breaker_refuses(cw_worker_breaker *b, uint32_t method, uint64_t now)
{
    if (CW_LIKELY(atomic_load_explicit(&b->open, memory_order_relaxed) == 0))
        return NULL;
    cw_breaker *gate = breaker_of(b, method);
    const char *paused = NULL;
    pthread_mutex_lock(&b->lock);
    if (cw_breaker_is_paused(&b->plugin, now)) {
        paused = "plugin";
    } else if (cw_breaker_is_paused(gate, now)) {
        paused = "method";
    } else {
        try_again(&b->plugin, now);
        if (gate != &b->plugin)
            try_again(gate, now);
    }
    pthread_mutex_unlock(&b->lock);
    return paused;
}

void cw_worker_breaker_on_death(cw_worker_breaker *b, uint32_t method, uint64_t now)
{
    cw_breaker *gate = breaker_of(b, method);
    pthread_mutex_lock(&b->lock);
    bool was_open = cw_breaker_is_open(gate);
    bool was_counting = !was_open && atomic_load(&gate->failures);
    cw_breaker_failure(gate, &rule, was_open && atomic_load(&gate->trial), now);
    if (!was_open && cw_breaker_is_open(gate)) {
        atomic_fetch_sub(&b->counting, was_counting);
        atomic_fetch_add(&b->open, 1);
    } else if (!was_open && !was_counting) {
        atomic_fetch_add(&b->counting, 1);
    }
    pthread_mutex_unlock(&b->lock);
}

static void forget(cw_worker_breaker *b, cw_breaker *gate)
{
    if (cw_breaker_is_open(gate))
        atomic_fetch_sub(&b->open, 1);
    else if (atomic_load(&gate->failures))
        atomic_fetch_sub(&b->counting, 1);
    cw_breaker_success(gate, /* trial= */ true);
}

void cw_worker_breaker_on_success(cw_worker_breaker *b, uint32_t method)
{
    cw_breaker *gate = breaker_of(b, method);
    if (CW_LIKELY(atomic_load_explicit(&b->counting, memory_order_relaxed) == 0 &&
                  !cw_breaker_is_open(gate) && !cw_breaker_is_open(&b->plugin)))
        return;
    pthread_mutex_lock(&b->lock);
    forget(b, &b->plugin);
    forget(b, gate);
    for (size_t i = 0; i < b->n_methods && atomic_load(&b->counting) > 0; i++) {
        if (!cw_breaker_is_open(&b->methods[i]))
            forget(b, &b->methods[i]);
    }
    pthread_mutex_unlock(&b->lock);
}

bool cw_worker_breaker_is_open(cw_worker_breaker *b)
{
    return cw_breaker_is_open(&b->plugin);
}
