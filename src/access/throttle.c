/* SPDX-License-Identifier: GPL-2.0-or-later */
/* throttle.c - failures by hash, in a table of fixed size under one lock. */
#include "access/throttle.h"

#include <stdlib.h>

#include "base/assoc.h"
#include "base/map.h"

static bool matches(const void *entry, const void *hash)
{
    const cw_throttle_entry *e = entry;
    return e->failures && e->hash == *(const uint64_t *)hash;
}

static uint64_t age_of(const void *entry)
{
    const cw_throttle_entry *e = entry;
    return e->failures ? e->failed_at + 1 : 0;
}

static const cw_assoc table = {sizeof(cw_throttle_entry), CW_THROTTLE_ENTRIES, 4, matches, age_of};

cw_code cw_throttle_init(cw_throttle *t, uint32_t free_failures, cw_err *err)
{
    *t = (cw_throttle){.free_failures = free_failures};
    t->entries = calloc(CW_THROTTLE_ENTRIES, sizeof *t->entries);
    if (!t->entries)
        return cw_fail_nomem(err);
    pthread_mutex_init(&t->lock, NULL);
    return CW_OK;
}

void cw_throttle_done(cw_throttle *t)
{
    if (!t->entries)
        return;
    pthread_mutex_destroy(&t->lock);
    free(t->entries);
    t->entries = NULL;
}

static cw_throttle_entry *find(const cw_throttle *t, uint64_t hash)
{
    return cw_assoc_find(&table, t->entries, hash, &hash);
}

/* A free place, or the one whose last failure is the oldest. */
static cw_throttle_entry *make_room(const cw_throttle *t, uint64_t hash)
{
    cw_throttle_entry *e = cw_assoc_victim(&table, t->entries, hash);
    *e = (cw_throttle_entry){.hash = hash};
    return e;
}

static uint64_t pause_of(const cw_throttle *t, const cw_throttle_entry *e)
{
    if (e->failures < t->free_failures)
        return 0;
    uint64_t pause = CW_THROTTLE_FIRST_MS;
    for (uint32_t i = t->free_failures; i < e->failures && pause < CW_THROTTLE_LONGEST_MS; i++)
        pause *= 2;
    return pause < CW_THROTTLE_LONGEST_MS ? pause : CW_THROTTLE_LONGEST_MS;
}

uint64_t cw_throttle_wait(cw_throttle *t, cw_str who, uint64_t now)
{
    uint64_t left = 0;
    pthread_mutex_lock(&t->lock);
    const cw_throttle_entry *e = find(t, cw_hash(who));
    /* The last failure may be later than `now`: without a pause that is no reason to wait. */
    uint64_t pause = e ? pause_of(t, e) : 0;
    if (pause && e->failed_at + pause > now)
        left = e->failed_at + pause - now;
    pthread_mutex_unlock(&t->lock);
    return left;
}

static uint32_t sum_of(uint64_t a, uint64_t b)
{
    return a > UINT32_MAX || b > UINT32_MAX - a ? UINT32_MAX : (uint32_t)(a + b);
}

void cw_throttle_fail(cw_throttle *t, cw_str who, uint64_t now)
{
    uint64_t hash = cw_hash(who);
    pthread_mutex_lock(&t->lock);
    cw_throttle_entry *e = find(t, hash);
    if (!e)
        e = make_room(t, hash);
    if (e->failed_at + CW_THROTTLE_FORGET_MS <= now)
        e->failures = e->unshared = 0;
    e->failures = sum_of(e->failures, 1);
    e->unshared = sum_of(e->unshared, 1);
    e->failed_at = now;
    pthread_mutex_unlock(&t->lock);
}

void cw_throttle_forget(cw_throttle *t, cw_str who)
{
    pthread_mutex_lock(&t->lock);
    cw_throttle_entry *e = find(t, cw_hash(who));
    if (e)
        e->failures = e->unshared = 0;
    pthread_mutex_unlock(&t->lock);
}

/* ---- shared with other servers ---- */

uint32_t cw_throttle_take(cw_throttle *t, cw_str who)
{
    pthread_mutex_lock(&t->lock);
    cw_throttle_entry *e = find(t, cw_hash(who));
    uint32_t n = e ? e->unshared : 0;
    if (e)
        e->unshared = 0;
    pthread_mutex_unlock(&t->lock);
    return n;
}

void cw_throttle_give_back(cw_throttle *t, cw_str who, uint32_t n)
{
    pthread_mutex_lock(&t->lock);
    cw_throttle_entry *e = find(t, cw_hash(who));
    if (e)
        e->unshared = sum_of(e->unshared, n);
    pthread_mutex_unlock(&t->lock);
}

void cw_throttle_set(cw_throttle *t, cw_str who, uint64_t n, uint64_t age, uint64_t now)
{
    uint64_t hash = cw_hash(who);
    uint64_t failed_at = age < now ? now - age : 0;
    pthread_mutex_lock(&t->lock);
    cw_throttle_entry *e = find(t, hash);
    if (!e && n)
        e = make_room(t, hash);
    if (e) {
        e->failures = sum_of(n, e->unshared);
        e->failed_at = e->unshared && e->failed_at > failed_at ? e->failed_at : failed_at;
    }
    pthread_mutex_unlock(&t->lock);
}

/* ---- for a successor ---- */

void cw_throttle_write(cw_throttle *t, cw_json_writer *w, uint64_t now)
{
    cw_json_open_array(w);
    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; i < CW_THROTTLE_ENTRIES; i++) {
        const cw_throttle_entry *e = &t->entries[i];
        if (!e->failures || e->failed_at + CW_THROTTLE_FORGET_MS <= now)
            continue;
        cw_json_open_array(w);
        cw_json_add_u64(w, e->hash);
        cw_json_add_u64(w, e->failed_at);
        cw_json_add_u64(w, e->failures);
        cw_json_close(w);
    }
    pthread_mutex_unlock(&t->lock);
    cw_json_close(w);
}

static bool number_at(const cw_json *array, size_t index, uint64_t *ret)
{
    const cw_json *v = cw_json_is(array, CW_JSON_ARRAY) ? cw_json_at(array, index) : NULL;
    return cw_json_is(v, CW_JSON_NUMBER) && cw_str_to_u64(cw_json_text(v), ret);
}

static void read_one(cw_throttle *t, const cw_json *failure)
{
    uint64_t hash, failed_at, failures;
    if (!number_at(failure, 0, &hash) || !number_at(failure, 1, &failed_at) ||
        !number_at(failure, 2, &failures) || failures == 0 || failures > UINT32_MAX)
        return;
    cw_throttle_entry *e = find(t, hash);
    if (!e)
        e = make_room(t, hash);
    e->failures = sum_of(failures, e->failures);
    e->failed_at = failed_at > e->failed_at ? failed_at : e->failed_at;
}

void cw_throttle_read(cw_throttle *t, const cw_json *failures)
{
    if (!cw_json_is(failures, CW_JSON_ARRAY))
        return;
    size_t n = 0;
    pthread_mutex_lock(&t->lock);
    for (const cw_json *f = cw_json_first(failures); f && n < CW_THROTTLE_ENTRIES; n++) {
        read_one(t, f);
        f = cw_json_next(f);
    }
    pthread_mutex_unlock(&t->lock);
}

/* ---- networks ---- */

cw_code cw_network_throttle_init(cw_network_throttle *t, uint32_t free_failures, cw_err *err)
{
    cw_code rc = CW_OK;
    *t = (cw_network_throttle){0};
    for (unsigned i = 0; i < CW_NETWORK_LEVELS && !rc; i++) {
        rc = cw_throttle_init(&t->levels[i], free_failures, err);
        free_failures *= CW_THROTTLE_WIDER;
    }
    return rc;
}

void cw_network_throttle_done(cw_network_throttle *t)
{
    for (unsigned i = 0; i < CW_NETWORK_LEVELS; i++)
        cw_throttle_done(&t->levels[i]);
}

cw_str cw_network_throttle_name(const cw_network *network, unsigned level)
{
    return cw_str_make((const char *)&network->keys[level], sizeof network->keys[level]);
}

uint64_t cw_network_throttle_wait(cw_network_throttle *t, const cw_network *network,
                                  bool only_narrowest, uint64_t now)
{
    uint64_t longest = 0;
    for (unsigned i = 0; i < (only_narrowest ? 1 : CW_NETWORK_LEVELS); i++) {
        uint64_t wait = cw_throttle_wait(&t->levels[i], cw_network_throttle_name(network, i), now);
        longest = wait > longest ? wait : longest;
    }
    return longest;
}

void cw_network_throttle_fail(cw_network_throttle *t, const cw_network *network, uint64_t now)
{
    for (unsigned i = 0; i < CW_NETWORK_LEVELS; i++)
        cw_throttle_fail(&t->levels[i], cw_network_throttle_name(network, i), now);
}

void cw_network_throttle_write(cw_network_throttle *t, cw_json_writer *w, uint64_t now)
{
    cw_json_open_array(w);
    for (unsigned i = 0; i < CW_NETWORK_LEVELS; i++)
        cw_throttle_write(&t->levels[i], w, now);
    cw_json_close(w);
}

void cw_network_throttle_read(cw_network_throttle *t, const cw_json *levels)
{
    if (!cw_json_is(levels, CW_JSON_ARRAY))
        return;
    for (unsigned i = 0; i < CW_NETWORK_LEVELS; i++)
        cw_throttle_read(&t->levels[i], cw_json_at(levels, i));
}
