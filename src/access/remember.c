/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remember.c - a table of fixed size: sets of a few places, the least recently used goes. */
#include "access/accounts_int.h"

#define WAYS 4u
#define SETS (CW_ACCOUNTS_REMEMBERED / WAYS)

static cw_remembered *set_of(cw_accounts_loop *al, const unsigned char key[CW_DIGEST])
{
    uint32_t hash;
    memcpy(&hash, key, sizeof hash);
    return &al->remembered[hash % SETS * WAYS];
}

cw_remembered *cw_remember_find(cw_accounts_loop *al, const unsigned char key[CW_DIGEST])
{
    cw_remembered *set = set_of(al, key);
    for (unsigned i = 0; i < WAYS; i++) {
        if (set[i].caller && cw_secret_equal(set[i].key, key)) {
            set[i].used = ++al->tick;
            return &set[i];
        }
    }
    return NULL;
}

bool cw_remember_is_good(const cw_accounts_loop *al, const cw_remembered *r)
{
    return r->generation == cw_accounts_generation(al->accounts) &&
           cw_loop_now(al->loop) < r->until && (r->expires == 0 || cw_clock_wall_ms() < r->expires);
}

void cw_remember_drop(cw_remembered *r)
{
    cw_caller_unref(r->caller);
    *r = (cw_remembered){0};
}

void cw_remember_add(cw_accounts_loop *al, const cw_attempt *t)
{
    cw_remembered *r = cw_remember_find(al, t->key);
    if (!r) {
        r = set_of(al, t->key);
        cw_remembered *set = r;
        for (unsigned i = 1; i < WAYS && r->caller; i++) {
            if (!set[i].caller || set[i].used < r->used)
                r = &set[i];
        }
    }
    cw_remember_drop(r);
    memcpy(r->key, t->key, sizeof r->key);
    memcpy(r->proof, t->proof, sizeof r->proof);
    r->caller = cw_caller_ref(t->caller);
    r->generation = t->generation;
    r->until = cw_loop_now(al->loop) + CW_ACCOUNTS_REMEMBER_MS;
    r->expires = t->token ? t->token->expires : t->expires;
    r->ended = t->ended;
    r->used = ++al->tick;
}
