/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run_queue.c - connections with input take turns, by network.
 *
 * Most turns of a loop have little to do, and input is read where the poll announces it. Once a
 * turn has taken SLICE_NS, connections with input are queued. The next turns serve the queue, one
 * network after the other, one slice at a time, and look for new input in between. So a client
 * waits for at most a slice and one read of each other network, however many connections one
 * network has.
 *
 * A read that takes long (a large body, which is parsed and validated) is not cut short. While
 * others use the loop too, its network pauses afterwards for PAUSE_FACTOR times as long. So no
 * network has more than a quarter of a loop that others need.
 */
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "net/addr/network.h"
#include "net/server/server_int.h"

#define SLICE_NS UINT64_C(300000)
#define LONG_NS UINT64_C(1000000)
#define PAUSE_FACTOR 3u
#define PAUSE_MAX_NS UINT64_C(200000000)
/* How long a peer counts as using the loop, and reads are measured after one that took long. */
#define RECENT_NS UINT64_C(1000000000)

/* Behind a trusted proxy each connection counts as a client: the addresses are in the requests. */
static cw_fair_key key_of(const cw_conn *c)
{
    char text[CW_ADDRESS_TEXT];
    cw_address peer;
    cw_conn_peer_address(c, &peer);
    cw_address_format_host(&peer, text, sizeof text);
    const cw_proxies *proxies = c->sl->settings->proxies;
    if (CW_LIKELY(!proxies || !cw_proxies_has(proxies, &peer)))
        return cw_network_fair_key(cw_str_from(text));
    uint64_t hash = cw_hash(cw_str_make((const char *)&c->fd, sizeof c->fd));
    return (cw_fair_key){{hash, hash, hash}};
}

/* ---- pauses ---- */

static void watch_peer(cw_run_queue *r, const cw_conn *c, uint64_t now)
{
    if (CW_LIKELY(memcmp(r->last_peer, c->peer, sizeof c->peer) == 0))
        return;
    memcpy(r->last_peer, c->peer, sizeof c->peer);
    r->contested_ns = now;
}

static bool is_paused(const cw_conn *c, uint64_t now)
{
    const cw_run_queue *r = &c->sl->ready;
    if (CW_LIKELY(now >= r->paused_ns))
        return false;
    uint64_t network = key_of(c).at[0];
    size_t i = network % CW_RUN_QUEUE_PAUSES;
    return r->pauses[i].network == network && now < r->pauses[i].until_ns;
}

static void pause_network(const cw_conn *c, uint64_t now, uint64_t took)
{
    cw_run_queue *r = &c->sl->ready;
    if (now - r->contested_ns > RECENT_NS)
        return;
    uint64_t ns = took * PAUSE_FACTOR < PAUSE_MAX_NS ? took * PAUSE_FACTOR : PAUSE_MAX_NS;
    uint64_t network = key_of(c).at[0];
    size_t i = network % CW_RUN_QUEUE_PAUSES;
    r->pauses[i].network = network;
    r->pauses[i].until_ns = now + ns;
    if (r->paused_ns < now + ns)
        r->paused_ns = now + ns;
}

/* Returns the time afterwards. A read may take long only because other threads had the processor.
 * So the first one that takes long is the reason to measure the processor time of those that
 * follow. */
static uint64_t serve(cw_conn *c, uint64_t now)
{
    cw_run_queue *r = &c->sl->ready;
    bool measures = now < r->measured_ns;
    uint64_t before = measures ? cw_clock_thread_ns() : 0;
    watch_peer(r, c, now);
    cw_conn_read(c);
    uint64_t end = cw_clock_ns();
    if (CW_LIKELY(end - now < LONG_NS))
        return end;
    uint64_t used = measures ? cw_clock_thread_ns() - before : 0;
    if (used > LONG_NS)
        pause_network(c, end, used);
    r->measured_ns = end + RECENT_NS;
    return end;
}

/* ---- the queue ---- */

static cw_conn *conn_of(cw_fair_item *item)
{
    return CW_CONTAINER(item, cw_conn, ready);
}

/* There was no memory to queue a connection whose input no poll announces: look for it. */
static void add_missed(cw_server_loop *sl)
{
    sl->ready.missed = false;
    CW_LIST_EACH_SAFE (node, &sl->conns) {
        cw_conn *c = CW_CONTAINER(node, cw_conn, node);
        if (cw_conn_has_input(c))
            cw_run_queue_add(c);
    }
}

/* The connection that is served next; NULL: all are paused, or there is none. */
static cw_conn *next_conn(const cw_run_queue *r, uint64_t now)
{
    cw_fair_item *item = cw_fair_first(&r->queue);
    while (item && is_paused(conn_of(item), now))
        item = cw_fair_next_caller(&r->queue, item);
    return item ? conn_of(item) : NULL;
}

static void run_ready(cw_deferred *later)
{
    cw_server_loop *sl = CW_CONTAINER(later, cw_server_loop, ready.run);
    cw_run_queue *r = &sl->ready;
    if (CW_UNLIKELY(r->missed))
        add_missed(sl);
    uint64_t now = cw_clock_ns(), end = now + SLICE_NS;
    while (now < end) {
        cw_conn *c = next_conn(r, now);
        if (!c)
            break;
        cw_fair_take(&r->queue, &c->ready);
        now = serve(c, now);
    }
    if (cw_fair_count(&r->queue) == 0)
        return;
    if (now < end)
        cw_loop_set_deadline(&sl->loop, &r->wake, &sl->wake);
    else
        cw_loop_defer_next(&sl->loop, &r->run);
}

void cw_run_queue_on_wake(cw_deadline *d)
{
    cw_server_loop *sl = CW_CONTAINER(d, cw_server_loop, ready.wake);
    cw_loop_defer_next(&sl->loop, &sl->ready.run);
}

void cw_run_queue_init(cw_server_loop *sl)
{
    cw_fair_init(&sl->ready.queue);
    sl->ready.run = (cw_deferred){.fn = run_ready};
    sl->ready.turn = sl->loop.turns - 1;
}

void cw_run_queue_done(cw_server_loop *sl)
{
    cw_fair_done(&sl->ready.queue);
}

/* Whether nothing waits and this turn has not taken long yet. */
static bool is_free(cw_server_loop *sl, uint64_t now)
{
    cw_run_queue *r = &sl->ready;
    if (cw_fair_count(&r->queue))
        return false;
    if (r->turn == sl->loop.turns)
        return now - r->slice_began_ns < SLICE_NS;
    r->turn = sl->loop.turns;
    r->slice_began_ns = now;
    return true;
}

void cw_run_queue_read(cw_conn *c)
{
    uint64_t now = cw_clock_ns();
    if (CW_LIKELY(is_free(c->sl, now) && !is_paused(c, now)))
        serve(c, now);
    else {
        cw_run_queue_add(c);
        cw_conn_settle(c);
    }
}

void cw_run_queue_add(cw_conn *c)
{
    cw_fair_item *lost;
    if (cw_run_queue_has(c))
        return;
    cw_fair_key key = key_of(c);
    if (cw_fair_push(&c->sl->ready.queue, &c->ready, &key, UINT32_MAX, &lost))
        c->sl->ready.missed = true;
    cw_loop_defer_next(&c->sl->loop, &c->sl->ready.run);
}

void cw_run_queue_remove(cw_conn *c)
{
    if (cw_run_queue_has(c))
        cw_fair_remove(&c->sl->ready.queue, &c->ready);
}
