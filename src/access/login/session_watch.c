/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/login/session_watch.h"

#include "access/login/login_int.h"
#include "base/clock.h"

#define TICK_MS 250u

static void link_to(cw_session_watch *ring, cw_session_watch *w)
{
    w->next = ring;
    w->prev = ring->prev;
    w->prev->next = w;
    ring->prev = w;
}

/* Grows with whatever may have ended a session. */
static uint64_t changes_of(const cw_accounts *a)
{
    return cw_accounts_generation(a) + atomic_load(&a->n_ended);
}

/* ---- looking ---- */

/* Write down those that may have ended, as many as go in. */
static void collect_due(cw_session_watches *all, uint64_t changes)
{
    int64_t now = cw_clock_wall_ms();
    all->n = 0;
    for (cw_session_watch *w = all->ring.next; w != &all->ring; w = w->next) {
        w->place = 0;
        if (all->n == CW_COUNT(all->sessions) || (w->seen == changes && now < w->until))
            continue;
        cw_session *session = &all->sessions[all->n++];
        *session = (cw_session){0};
        memcpy(session->hash, w->hash, sizeof w->hash);
        w->place = all->n;
    }
}

/* Without memory, and when the store is too busy, the next tick tries again. */
static void recheck(cw_accounts_loop *al)
{
    cw_session_watches *all = &al->watches;
    cw_credentials none = {0};
    if (all->waiter.next)
        return; /* the last look is not over */
    all->changes = changes_of(al->accounts);
    collect_due(all, all->changes);
    cw_login_op *t = all->n ? cw_login_op_new(al, &none, NULL) : NULL;
    if (!t)
        return;
    t->kind = CW_LOGIN_OP_CHECK;
    (void)cw_login_op_begin(t, &all->waiter);
}

/* On the store's thread, which has `sessions` to itself meanwhile. */
cw_code cw_session_check(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_session_watches *all = &CW_CONTAINER(job, cw_login_op, job)->al->watches;
    return cw_db_date_sessions(db, all->sessions, all->n, err);
}

void cw_session_on_checked(cw_store_job *job, cw_code rc)
{
    cw_login_op_finish(CW_CONTAINER(job, cw_login_op, job),
                       rc ? CW_LOGIN_UNAVAILABLE : CW_LOGIN_OK);
}

/* ---- telling ---- */

/* Take those that have ended out of the ring. */
static void part(cw_accounts_loop *al, cw_session_watch *ended)
{
    cw_session_watches *all = &al->watches;
    cw_session_rules rules = cw_session_rules_of(al->accounts);
    bool is_on = cw_session_is_on(al->accounts);
    int64_t now = cw_clock_wall_ms();
    cw_session_watch *next;
    for (cw_session_watch *w = all->ring.next; w != &all->ring; w = next) {
        next = w->next;
        if (!w->place)
            continue;
        const cw_session *session = &all->sessions[w->place - 1];
        w->place = 0;
        w->until = cw_session_ends(session, &rules);
        w->seen = all->changes;
        if (is_on && session->created && now < w->until)
            continue;
        cw_session_watch_remove(w);
        link_to(ended, w);
    }
}

/* Whoever is told may add and remove others: what has ended waits in a ring of its own. */
static void on_checked(cw_login_waiter *waiter, const cw_login *login)
{
    cw_accounts_loop *al = CW_CONTAINER(waiter, cw_accounts_loop, watches.waiter);
    cw_session_watch ended = {.prev = &ended, .next = &ended};
    if (login->status != CW_LOGIN_OK)
        return;
    part(al, &ended);
    while (ended.next != &ended) {
        cw_session_watch *w = ended.next;
        cw_session_watch_remove(w);
        w->on_ended(w);
    }
    recheck(al); /* the rest, where one look did not hold all */
}

static void on_tick(cw_deadline *d)
{
    cw_accounts_loop *al = CW_CONTAINER(d, cw_accounts_loop, watches.tick);
    if (al->watches.ring.next == &al->watches.ring)
        return;
    recheck(al);
    cw_loop_set_deadline(al->loop, &al->watches.tick, &al->watches.ticks);
}

/* ---- on the loop ---- */

void cw_session_watches_init(cw_accounts_loop *al)
{
    cw_session_watches *all = &al->watches;
    all->ring.prev = all->ring.next = &all->ring;
    all->waiter.fn = on_checked;
    cw_deadline_list_init(&all->ticks, TICK_MS, on_tick);
    cw_loop_watch(al->loop, &all->ticks);
}

void cw_session_watch_add(cw_accounts *a, cw_loop *loop, const cw_caller *caller,
                          cw_session_watch *w)
{
    cw_str hash = cw_caller_session(caller);
    if (!hash.n)
        return;
    cw_accounts_loop *al = cw_accounts_at(a, loop);
    if (!al)
        return; /* cannot be: here it was found out who this is */
    memcpy(w->hash, hash.p, sizeof w->hash);
    w->seen = 0; /* it may have ended since */
    w->place = 0;
    link_to(&al->watches.ring, w);
    if (!al->watches.tick.list)
        cw_loop_set_deadline(loop, &al->watches.tick, &al->watches.ticks);
}

void cw_session_watch_remove(cw_session_watch *w)
{
    if (!w->next)
        return;
    w->prev->next = w->next;
    w->next->prev = w->prev;
    w->prev = w->next = NULL;
}
