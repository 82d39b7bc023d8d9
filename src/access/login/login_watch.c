/* SPDX-License-Identifier: GPL-2.0-or-later */
/* login_watch.c - checks of credentials for streams: collect, read again, end or confirm. */
#include "access/login/login_watch.h"

#include "access/login/login_int.h"
#include "base/clock.h"

#define TICK_MS 250u
#define REREAD_MAX_BYTES ((size_t)64 << 20) /* all rights of an account */

static cw_login_watch *watch_of(cw_list *node)
{
    return CW_CONTAINER(node, cw_login_watch, node);
}

static cw_credential_kind kind_of(const cw_login_watch *w)
{
    return cw_caller_credential_of(w->caller)->kind;
}

/* The counts of all changes that can end credentials of this kind. */
static cw_login_watch_time time_of(const cw_login_watch *w)
{
    const cw_accounts *a = w->al->accounts;
    uint64_t ended = kind_of(w) == CW_CREDENTIAL_SESSION ? atomic_load(&a->n_ended) : 0;
    return (cw_login_watch_time){cw_accounts_generation(a), ended};
}

static bool is_current(const cw_login_watch *w)
{
    const cw_accounts *a = w->al->accounts;
    return cw_accounts_is_current(a, cw_caller_account(w->caller), w->confirmed.generation) &&
           w->confirmed.ended == time_of(w).ended && cw_caller_is_trusted(w->caller);
}

/* ---- collecting ---- */

/* The place of a caller in the check, shared by its streams where the table shows it; 0: full. */
static size_t place_of(cw_login_watches *all, cw_caller *caller)
{
    uint8_t *slot = &all->slots[((uintptr_t)caller >> 4) % CW_COUNT(all->slots)];
    if (*slot && all->items[*slot - 1].caller == caller)
        return *slot;
    if (all->n == CW_COUNT(all->items))
        return 0;
    _Static_assert(CW_LOGIN_RECHECK <= UINT8_MAX, "a place is a byte");
    all->items[all->n++] = (cw_login_recheck){.caller = cw_caller_ref(caller)};
    *slot = (uint8_t)all->n;
    return all->n;
}

static void collect_due(cw_login_watches *all)
{
    int64_t now = cw_clock_wall_ms();
    memset(all->slots, 0, sizeof all->slots);
    CW_LIST_EACH (node, &all->ring) {
        cw_login_watch *w = watch_of(node);
        bool is_due = w->is_new || !is_current(w) || now >= w->until;
        w->checking = time_of(w);
        w->place = is_due ? place_of(all, w->caller) : 0;
    }
}

static void release(cw_login_watches *all)
{
    for (size_t i = 0; i < all->n; i++) {
        cw_caller_unref(all->items[i].caller);
        cw_caller_unref(all->items[i].now);
    }
    all->n = 0;
}

/* ---- reading again ---- */

static cw_code reread_password(cw_accounts *a, cw_db *db, const cw_caller *before, cw_arena *arena,
                               cw_caller **ret, cw_err *err)
{
    cw_account *account;
    unsigned char hash[CW_DIGEST];
    cw_code rc = cw_db_find_account(db, cw_caller_name(before), arena, &account, err);
    if (rc || !account || account->is_blocked)
        return rc;
    cw_password_id(account->password, hash);
    cw_account_login login = {.account = account, .verified_hash = hash};
    return cw_permissions_of_account(a, db, &login, ret, err);
}

static cw_code reread_issued(cw_accounts *a, cw_db *db, const cw_caller *before, cw_arena *arena,
                             cw_caller **ret, cw_err *err)
{
    cw_account *account = NULL;
    cw_code rc = cw_db_find_account(db, cw_caller_name(before), arena, &account, err);
    if (rc || !account || account->is_blocked)
        return rc;
    return cw_permissions_of_issued(a, db, account, before, ret, err);
}

/* *ret stays NULL when the credentials are gone. `db` is NULL without a database: only tokens of
 * issuers are valid then, by their claims. */
static cw_code reread(cw_accounts *a, cw_db *db, cw_login_recheck *r, cw_arena *arena,
                      cw_caller **ret, cw_err *err)
{
    const cw_caller_credential *c = cw_caller_credential_of(r->caller);
    const unsigned char *hash = (const unsigned char *)c->hash.p;
    if (c->kind == CW_CREDENTIAL_ISSUED_CLAIMS)
        return cw_permissions_of_issued(a, db, NULL, r->caller, ret, err);
    if (!db)
        return CW_OK;
    switch (c->kind) {
    case CW_CREDENTIAL_PASSWORD:
        return reread_password(a, db, r->caller, arena, ret, err);
    case CW_CREDENTIAL_TOKEN:
        return cw_login_read_token(a, db, hash, arena, NULL, ret, err);
    case CW_CREDENTIAL_ACCESS_TOKEN:
        return cw_login_read_access_token(a, db, hash, arena, ret, err);
    case CW_CREDENTIAL_SESSION:
        return cw_session_read(a, db, hash, arena, &r->session, ret, err);
    default:
        return reread_issued(a, db, r->caller, arena, ret, err);
    }
}

static cw_code recheck_one(cw_accounts *a, cw_db *db, cw_login_recheck *r, cw_err *err)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_arena_init(&arena, REREAD_MAX_BYTES);
    cw_code rc = reread(a, db, r, &arena, &r->now, err);
    r->is_gone = !r->now;
    r->is_changed = !cw_caller_equal(r->now, r->caller);
    return rc;
}

static cw_code recheck_all(cw_accounts_loop *al, cw_db *db, cw_err *err)
{
    cw_login_watches *all = &al->watches;
    cw_code rc = CW_OK;
    for (size_t i = 0; i < all->n && !rc; i++)
        rc = recheck_one(al->accounts, db, &all->items[i], err);
    return rc;
}

/* On the store's thread, which owns `items` meanwhile. */
static cw_code check(cw_store_job *job, cw_db *db, cw_err *err)
{
    return recheck_all(CW_CONTAINER(job, cw_login_op, job)->al, db, err);
}

static void on_store_checked(cw_store_job *job, cw_code rc)
{
    cw_login_op_finish(CW_CONTAINER(job, cw_login_op, job),
                       rc ? CW_LOGIN_UNAVAILABLE : CW_LOGIN_OK);
}

/* ---- ending and confirming ---- */

static bool has_ended(const cw_login_watch *w, const cw_login_recheck *r)
{
    return r->is_gone || (r->is_changed && !w->only_session) || !cw_caller_is_trusted(w->caller);
}

/* Move the watches that were checked into two rings of their own: callbacks may add and remove
 * others. */
static void split(cw_login_watches *all, cw_list *ended, cw_list *confirmed)
{
    CW_LIST_EACH_SAFE (node, &all->ring) {
        cw_login_watch *w = watch_of(node);
        if (!w->place)
            continue;
        const cw_login_recheck *r = &all->items[w->place - 1];
        w->place = 0;
        w->until = kind_of(w) == CW_CREDENTIAL_SESSION ? r->session.until : INT64_MAX;
        w->confirmed = w->checking;
        w->is_new = false;
        bool ends = has_ended(w, r);
        w->now = ends && r->now ? cw_caller_ref(r->now) : NULL;
        cw_list_remove(node);
        cw_list_add(ends ? ended : confirmed, node);
    }
}

static void recheck(cw_accounts_loop *al);

static void finish(cw_accounts_loop *al)
{
    cw_login_watches *all = &al->watches;
    cw_list ended, confirmed;
    cw_list_init(&ended);
    cw_list_init(&confirmed);
    split(all, &ended, &confirmed);
    release(all);
    for (cw_list *node; (node = cw_list_take_first(&confirmed));) {
        cw_login_watch *w = watch_of(node);
        cw_list_add(&all->ring, node);
        if (w->on_confirmed)
            w->on_confirmed(w);
    }
    while (!cw_list_is_empty(&ended)) {
        cw_login_watch *w = watch_of(ended.next);
        cw_caller *now = w->now;
        w->now = NULL; /* kept while the watch is removed */
        cw_login_watch_remove(w);
        w->now = now;
        w->on_ended(w);
        cw_caller_unref(now);
    }
    recheck(al); /* the rest, if there were more than one check holds */
}

static void on_checked(cw_login_waiter *waiter, const cw_login *login)
{
    cw_accounts_loop *al = CW_CONTAINER(waiter, cw_accounts_loop, watches.waiter);
    if (login->status == CW_LOGIN_OK)
        finish(al);
    else
        release(&al->watches);
}

/* Have the store's thread read again. Without memory, and while the store is too busy, the next
 * tick tries again. */
static void ask_store(cw_accounts_loop *al)
{
    cw_credentials none = {0};
    cw_login_op *t = cw_login_op_new(al, &none, NULL);
    if (t) {
        t->kind = CW_LOGIN_OP_CHECK;
        t->job.run = check;
        t->job.done = on_store_checked;
    }
    if (!t || cw_login_op_begin(t, &al->watches.waiter).status != CW_LOGIN_PENDING)
        release(&al->watches);
}

static void recheck(cw_accounts_loop *al)
{
    cw_login_watches *all = &al->watches;
    if (all->n)
        return; /* a check is running */
    collect_due(all);
    if (!all->n)
        return;
    if (al->accounts->store)
        ask_store(al);
    else if (recheck_all(al, NULL, NULL))
        release(all);
    else
        finish(al);
}

static void on_tick(cw_deadline *d)
{
    cw_accounts_loop *al = CW_CONTAINER(d, cw_accounts_loop, watches.tick);
    if (cw_list_is_empty(&al->watches.ring))
        return;
    recheck(al);
    cw_loop_set_deadline(al->loop, &al->watches.tick, &al->watches.ticks);
}

/* ---- on the loop ---- */

void cw_login_watches_init(cw_accounts_loop *al)
{
    cw_login_watches *all = &al->watches;
    cw_list_init(&all->ring);
    all->waiter.fn = on_checked;
    cw_deadline_list_init(&all->ticks, TICK_MS, on_tick);
    cw_loop_watch(al->loop, &all->ticks);
}

void cw_login_watches_done(cw_accounts_loop *al)
{
    release(&al->watches);
}

void cw_login_watch_add(cw_accounts *a, cw_loop *loop, cw_caller *caller, cw_login_watch *w)
{
    cw_credential_kind kind = cw_caller_credential_of(caller)->kind;
    if (kind == CW_CREDENTIAL_NONE || (w->only_session && kind != CW_CREDENTIAL_SESSION))
        return;
    cw_accounts_loop *al = cw_accounts_at(a, loop);
    if (!al)
        return; /* cannot be: the caller was authenticated here */
    w->al = al;
    w->caller = cw_caller_ref(caller);
    w->confirmed = time_of(w);
    w->until = INT64_MAX;
    w->is_new = true; /* the credentials may have ended since */
    w->place = 0;
    w->now = NULL;
    cw_list_add(&al->watches.ring, &w->node);
    if (!al->watches.tick.list)
        cw_loop_set_deadline(loop, &al->watches.tick, &al->watches.ticks);
}

void cw_login_watch_remove(cw_login_watch *w)
{
    if (!cw_list_is_in(&w->node))
        return;
    cw_list_remove(&w->node);
    cw_caller_unref(w->caller);
    cw_caller_unref(w->now);
    w->caller = w->now = NULL;
}

bool cw_login_watch_is_current(cw_login_watch *w)
{
    if (!cw_list_is_in(&w->node) || is_current(w))
        return true;
    /* Without a store a check would call back at once: the next tick does it. */
    if (w->al->accounts->store)
        recheck(w->al);
    return false;
}
