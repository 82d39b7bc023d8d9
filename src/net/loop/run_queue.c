/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run_queue.c - slices, turns and pauses of the connections of a loop. */
#include "net/loop/run_queue.h"

#define LONG_NS UINT64_C(1000000)
#define PAUSE_FACTOR 3u
#define WASTE_FACTOR 30u
/* Large steps of a group are a group of their own: those that pause must not keep others waiting. */
#define LARGE_KEY UINT64_C(0xd6e8feb86659fd93)
#define PAUSE_MAX_NS UINT64_C(200000000)
/* How long a group counts as using the loop, and steps are measured after one that took long. */
#define RECENT_NS UINT64_C(1000000000)
#define WAKE_MS 2u

static cw_runner *runner_of(cw_fair_item *item)
{
    return CW_CONTAINER(item, cw_runner, item);
}

/* ---- pauses ---- */

static bool is_paused(const cw_run_queue *q, const cw_runner *runner, uint64_t now)
{
    if (CW_LIKELY(now >= q->paused_ns))
        return false;
    uint64_t group = runner->ops->key(runner).at[0];
    size_t i = group % CW_RUN_QUEUE_PAUSES;
    if (q->pauses[i].group != group)
        return false;
    return now < q->pauses[i].until_ns ||
           (now < q->pauses[i].large_until_ns && runner->ops->is_large(runner));
}

static uint64_t pause_end(uint64_t now, uint64_t took, uint64_t factor)
{
    return now + (took * factor < PAUSE_MAX_NS ? took * factor : PAUSE_MAX_NS);
}

static void pause_group(cw_run_queue *q, uint64_t group, uint64_t now, uint64_t took)
{
    if (now - q->contested_ns > RECENT_NS)
        return;
    size_t i = group % CW_RUN_QUEUE_PAUSES;
    uint64_t end = pause_end(now, took, q->is_wasted ? WASTE_FACTOR : PAUSE_FACTOR);
    /* A short pause does not end the long one after waste. */
    if (q->pauses[i].group == group && q->pauses[i].large_until_ns > end)
        end = q->pauses[i].large_until_ns;
    q->pauses[i].group = group;
    q->pauses[i].until_ns = pause_end(now, took, PAUSE_FACTOR);
    q->pauses[i].large_until_ns = end;
    if (q->paused_ns < end)
        q->paused_ns = end;
}

/* ---- turns ---- */

/* Returns the time afterwards. A step may take long only because other threads had the processor.
 * So the first one that takes long is the reason to measure the processor time of those that
 * follow. */
static uint64_t serve(cw_run_queue *q, cw_runner *runner, uint64_t now)
{
    bool measures = now < q->measured_ns;
    uint64_t group = measures ? runner->ops->key(runner).at[0] : 0;
    uint64_t before = measures ? cw_clock_thread_ns() : 0;
    cw_loop_set_recent(q->loop, now);
    q->is_wasted = false;
    runner->ops->run(runner);
    uint64_t end = cw_loop_set_recent(q->loop, cw_clock_ns());
    if (CW_LIKELY(end - now < LONG_NS))
        return end;
    uint64_t used = measures ? cw_clock_thread_ns() - before : 0;
    if (used > LONG_NS)
        pause_group(q, group, end, used);
    q->measured_ns = end + RECENT_NS;
    return end;
}

/* The runner that is served next; NULL: all are paused, or there is none. */
static cw_runner *next_runner(const cw_run_queue *q, uint64_t now)
{
    cw_fair_item *item = cw_fair_first(&q->queue);
    while (item && is_paused(q, runner_of(item), now))
        item = cw_fair_next_network(&q->queue, item);
    return item ? runner_of(item) : NULL;
}

static void run_slice(cw_deferred *later)
{
    cw_run_queue *q = CW_CONTAINER(later, cw_run_queue, run);
    uint64_t now = cw_clock_ns(), end = now + CW_RUN_SLICE_NS;
    while (now < end) {
        cw_runner *runner = next_runner(q, now);
        if (!runner)
            break;
        cw_fair_take(&q->queue, &runner->item);
        now = serve(q, runner, now);
    }
    if (cw_fair_count(&q->queue) == 0)
        return;
    if (now < end)
        cw_loop_set_deadline(q->loop, &q->wake, &q->wakes);
    else
        cw_loop_defer_next(q->loop, &q->run);
}

static void on_wake(cw_deadline *d)
{
    cw_run_queue *q = CW_CONTAINER(d, cw_run_queue, wake);
    cw_loop_defer_next(q->loop, &q->run);
}

/* Whether nothing waits and this turn has not taken long yet. */
static bool is_free(cw_run_queue *q, uint64_t now)
{
    if (cw_fair_count(&q->queue))
        return false;
    if (q->turn == q->loop->turns)
        return now - q->slice_began_ns < CW_RUN_SLICE_NS;
    q->turn = q->loop->turns;
    q->slice_began_ns = now;
    return true;
}

bool cw_run_queue_run(cw_run_queue *q, cw_runner *runner)
{
    uint64_t now = cw_clock_ns();
    bool is_now = is_free(q, now) && !is_paused(q, runner, now);
    if (CW_UNLIKELY(!is_now) && !cw_run_queue_add(q, runner))
        return false;
    serve(q, runner, now);
    return true;
}

cw_code cw_run_queue_add(cw_run_queue *q, cw_runner *runner)
{
    cw_fair_item *lost;
    if (cw_run_queue_has(runner))
        return CW_OK;
    cw_fair_key key = runner->ops->key(runner);
    for (size_t i = 0; i < CW_FAIR_LEVELS && runner->ops->is_large(runner); i++)
        key.at[i] ^= LARGE_KEY;
    cw_code rc = cw_fair_push(&q->queue, &runner->item, &key, UINT32_MAX, &lost);
    if (!rc)
        cw_loop_defer_next(q->loop, &q->run);
    return rc;
}

void cw_run_queue_remove(cw_run_queue *q, cw_runner *runner)
{
    if (cw_run_queue_has(runner))
        cw_fair_remove(&q->queue, &runner->item);
}

void cw_run_queue_init(cw_run_queue *q, cw_loop *loop)
{
    *q = (cw_run_queue){.loop = loop, .turn = loop->turns - 1, .run = {.fn = run_slice}};
    cw_fair_init(&q->queue);
    cw_deadline_list_init(&q->wakes, WAKE_MS, on_wake);
    cw_loop_watch(loop, &q->wakes);
    loop->run_queue = q;
}

void cw_run_queue_done(cw_run_queue *q)
{
    cw_fair_done(&q->queue);
}
