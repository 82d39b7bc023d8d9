/* SPDX-License-Identifier: GPL-2.0-or-later */
/* login_cache.c - a table of fixed size: sets of a few places, the least recently used goes. */
#include "access/login/login_int.h"

#define WAYS 4u
#define SETS (CW_ACCOUNTS_REMEMBERED / WAYS)

static cw_login_cache_entry *set_of(cw_accounts_loop *al, const unsigned char key[CW_DIGEST])
{
    uint32_t hash;
    memcpy(&hash, key, sizeof hash);
    return &al->remembered[hash % SETS * WAYS];
}

cw_login_cache_entry *cw_login_cache_find(cw_accounts_loop *al, const unsigned char key[CW_DIGEST])
{
    cw_login_cache_entry *set = set_of(al, key);
    for (unsigned i = 0; i < WAYS; i++) {
        if (set[i].caller && cw_secret_equal(set[i].key, key)) {
            set[i].used = ++al->tick;
            return &set[i];
        }
    }
    return NULL;
}

bool cw_login_cache_is_good(const cw_accounts_loop *al, const cw_login_cache_entry *r)
{
    return r->generation == cw_accounts_generation(al->accounts, /* with_issuers= */ false) &&
           cw_loop_now(al->loop) < r->until && (r->expires == 0 || cw_clock_wall_ms() < r->expires);
}

void cw_login_cache_drop(cw_login_cache_entry *r)
{
    cw_caller_unref(r->caller);
    *r = (cw_login_cache_entry){0};
}

void cw_login_cache_add(cw_accounts_loop *al, const cw_login_op *t)
{
    cw_login_cache_entry *r = cw_login_cache_find(al, t->key);
    if (!r) {
        r = set_of(al, t->key);
        cw_login_cache_entry *set = r;
        for (unsigned i = 1; i < WAYS && r->caller; i++) {
            if (!set[i].caller || set[i].used < r->used)
                r = &set[i];
        }
    }
    cw_login_cache_drop(r);
    memcpy(r->key, t->key, sizeof r->key);
    memcpy(r->proof, t->proof, sizeof r->proof);
    r->caller = cw_caller_ref(t->caller);
    r->generation = t->generation;
    r->until = cw_loop_now(al->loop) + CW_ACCOUNTS_REMEMBER_MS;
    r->expires = t->expires;
    r->ended = t->ended;
    r->used = ++al->tick;
}
