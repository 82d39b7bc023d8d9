/* SPDX-License-Identifier: GPL-2.0-or-later */
/* failures.c - counters of failed logins: here, and in the database for all servers. */
#include "access/login/failures.h"

#include "access/login/login_int.h"
#include "base/clock.h"

#define TRIM_MS 60000u
/* A day: a network that is known is written so rarely. */
#define RENEW_MS (CW_DB_KNOWN_NETWORK_MS - INT64_C(86400000))
#define GUESS "guess"

_Static_assert(CW_THROTTLE_FORGET_MS == CW_DB_FAILURES_MS, "both forget at the same time");
_Static_assert(CW_RECENT_LOGINS_NETWORK_MS == CW_DB_KNOWN_NETWORK_MS, "likewise");

/* ---- counters of this process ---- */

/* The name of an account in a network. */
#define PAIR_MAX (CW_DB_MAX_NAME + 1 + sizeof(uint64_t))

static cw_str pair_of(cw_str account, const cw_network *network, char pair[PAIR_MAX])
{
    size_t n = account.n;
    memcpy(pair, account.p, n);
    pair[n++] = ':'; /* no name of an account has one */
    memcpy(pair + n, &network->keys[0], sizeof(uint64_t));
    return cw_str_make(pair, n + sizeof(uint64_t));
}

static cw_str counter_of(cw_accounts *a, cw_str account, const cw_network *network, bool *is_known,
                         char pair[PAIR_MAX])
{
    *is_known = cw_recent_logins_has_network(&a->verified, account, network, cw_clock_ms());
    return *is_known ? pair_of(account, network, pair) : account;
}

static cw_str name_of(const cw_login_op *t)
{
    return cw_str_make(t->credentials.name, t->credentials.n_name);
}

uint64_t cw_failures_wait(cw_accounts *a, cw_str account, const cw_network *network)
{
    bool is_known;
    char pair[PAIR_MAX];
    uint64_t now = cw_clock_ms();
    cw_str counter = counter_of(a, account, network, &is_known, pair);
    uint64_t of_account = cw_throttle_wait(&a->by_account, counter, now);
    uint64_t of_network = cw_network_throttle_wait(&a->guesses, network, is_known, now);
    return of_account > of_network ? of_account : of_network;
}

bool cw_failures_may_read(cw_accounts *a, const cw_network *network)
{
    uint64_t now = cw_clock_ms();
    size_t slot = network->keys[CW_NETWORK_LEVELS - 1] % CW_FAILURES_SLOTS;
    uint_least64_t last = atomic_load(&a->failures_read[slot]);
    return now >= last + CW_FAILURES_READ_MS &&
           atomic_compare_exchange_strong(&a->failures_read[slot], &last, now);
}

uint64_t cw_failures_wait_or_read(cw_accounts *a, cw_str account, const cw_network *network)
{
    uint64_t wait = cw_failures_wait(a, account, network);
    return wait && cw_failures_may_read(a, network) ? 0 : wait;
}

void cw_failures_add(cw_login_op *t)
{
    cw_accounts *a = t->accounts;
    bool is_known;
    char pair[PAIR_MAX];
    uint64_t now = cw_clock_ms();
    cw_throttle_fail(&a->by_account, counter_of(a, name_of(t), &t->work.network, &is_known, pair),
                     now);
    cw_network_throttle_fail(&a->guesses, &t->work.network, now);
}

void cw_failures_clear(cw_login_op *t)
{
    cw_accounts *a = t->accounts;
    bool is_known;
    char pair[PAIR_MAX];
    cw_throttle_forget(&a->by_account,
                       counter_of(a, name_of(t), &t->work.network, &is_known, pair));
}

/* ---- counters of all servers ---- */

static void add_counter(cw_failure_counters *counters, cw_throttle *throttle, cw_str name,
                        const char *who)
{
    if (who)
        counters->items[counters->n++] =
            (cw_failure_counter){.throttle = throttle, .name = name, .who = cw_str_from(who)};
}

/* An IPv4 address is its network on all levels, and the narrowest is the strictest. */
void cw_failures_of_networks(cw_network_throttle *throttle, const cw_network *network,
                             const char *kind, cw_str address, cw_arena *arena,
                             cw_failure_counters *ret)
{
    for (unsigned i = 0; i < CW_NETWORK_LEVELS; i++) {
        char text[CW_NETWORK_TEXT];
        if (i && network->keys[i] == network->keys[i - 1])
            break;
        cw_str of = cw_network_text(address, i, text);
        add_counter(ret, &throttle->levels[i], cw_network_throttle_name(network, i),
                    cw_arena_printf(arena, "%s:%.*s", kind, CW_STR_ARG(of)));
    }
}

/* The names of both counters of an account in the database. */
static char *account_text(cw_login_op *t)
{
    return cw_arena_printf(&t->arena, "account:%.*s", CW_STR_ARG(name_of(t)));
}

static char *pair_text(cw_login_op *t)
{
    char text[CW_NETWORK_TEXT];
    cw_str network = cw_network_text(t->peer, 0, text);
    return cw_arena_printf(&t->arena, "pair:%.*s:%.*s", CW_STR_ARG(name_of(t)),
                           CW_STR_ARG(network));
}

static void trim(cw_accounts *a, cw_db *db)
{
    uint64_t now = cw_clock_ms();
    if (now - a->failures_trimmed < TRIM_MS)
        return;
    a->failures_trimmed = now;
    (void)!cw_db_trim_failures(db, NULL); /* the next one removes them */
}

/* Take what was added here. Returns for how many counters. */
static size_t take_added(const cw_failure_counters *counters, cw_db_failures *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < counters->n; i++) {
        const cw_failure_counter *c = &counters->items[i];
        rows[i] = (cw_db_failures){.who = c->who, .n = cw_throttle_take(c->throttle, c->name)};
        n += rows[i].n > 0;
    }
    return n;
}

static void give_back(const cw_failure_counters *counters, const cw_db_failures *rows)
{
    for (size_t i = 0; i < counters->n; i++) {
        const cw_failure_counter *c = &counters->items[i];
        cw_throttle_give_back(c->throttle, c->name, (uint32_t)rows[i].n);
    }
}

static void set_all(const cw_failure_counters *counters, const cw_db_failures *rows)
{
    uint64_t now = cw_clock_ms();
    for (size_t i = 0; i < counters->n; i++) {
        const cw_failure_counter *c = &counters->items[i];
        uint64_t n = rows[i].n > 0 ? (uint64_t)rows[i].n : 0;
        cw_throttle_set(c->throttle, c->name, n, (uint64_t)rows[i].age_ms, now);
    }
}

cw_code cw_failures_sync(cw_accounts *a, const cw_failure_counters *counters, cw_db *db,
                         cw_db_failures *ret, cw_err *err)
{
    size_t n_added = take_added(counters, ret);
    if (n_added && cw_db_add_failures(db, ret, counters->n, NULL)) {
        give_back(counters, ret);
        n_added = 0;
    }
    cw_code rc = CW_OK;
    if (n_added < counters->n)
        rc = cw_db_read_failures(db, ret, counters->n, err);
    if (!rc)
        set_all(counters, ret);
    if (n_added)
        trim(a, db);
    return rc;
}

cw_code cw_failures_read_shared(cw_login_op *t, cw_db *db, cw_err *err)
{
    cw_accounts *a = t->accounts;
    char local[PAIR_MAX];
    cw_failure_counters counters = {.n = 0};
    cw_db_failures rows[CW_DB_FAILURE_COUNTERS];
    cw_str pair = pair_of(name_of(t), &t->work.network, local);
    add_counter(&counters, &a->by_account, name_of(t), account_text(t));
    add_counter(&counters, &a->by_account, pair, pair_text(t));
    cw_failures_of_networks(&a->guesses, &t->work.network, GUESS, t->peer, &t->arena, &counters);
    if (t->arena.failed)
        return cw_arena_fail(&t->arena, err);
    cw_code rc = cw_failures_sync(a, &counters, db, rows, err);
    if (rc)
        return rc;
    t->shared = (cw_failures_read){.is_read = true,
                                   .has_account = rows[0].left_ms > 0,
                                   .has_pair_failures = rows[1].n > 0,
                                   .known_ms = rows[1].left_ms};
    if (t->shared.known_ms)
        cw_recent_logins_add_network(&a->verified, name_of(t), &t->work.network, cw_clock_ms());
    return CW_OK;
}

void cw_failures_write_shared(cw_login_op *t, cw_db *db)
{
    cw_accounts *a = t->accounts;
    bool is_known;
    char local[PAIR_MAX];
    cw_failure_counters counters = {.n = 0};
    cw_db_failures rows[CW_DB_FAILURE_COUNTERS];
    cw_str counter = counter_of(a, name_of(t), &t->work.network, &is_known, local);
    add_counter(&counters, &a->by_account, counter, is_known ? pair_text(t) : account_text(t));
    cw_failures_of_networks(&a->guesses, &t->work.network, GUESS, t->peer, &t->arena, &counters);
    if (!t->arena.failed)
        (void)!cw_failures_sync(a, &counters, db, rows, NULL);
}

/* A database that cannot be written keeps the failures until they are forgotten. */
void cw_failures_clear_shared(cw_login_op *t, cw_db *db)
{
    const cw_failures_read *before = &t->shared;
    bool is_renewed = before->is_read && before->known_ms > RENEW_MS && !before->has_pair_failures;
    const char *who = is_renewed ? NULL : pair_text(t);
    if (who)
        (void)!cw_db_know_network(db, cw_str_from(who), NULL);
    /* Guesses of others keep their counter, unless this login was delayed by it. */
    bool was_delayed = !before->is_read || (before->has_account && !before->known_ms);
    who = was_delayed ? account_text(t) : NULL;
    if (who)
        (void)!cw_db_forget_failures(db, cw_str_from(who), NULL);
}
