/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sums.c - budgets by network, and the counts of records beyond them. */
#include "audit/sums.h"

#include <stdlib.h>

#include "base/assoc.h"
#include "base/clock.h"
#include "base/utf8.h"

#define ALL_SUMS (CW_AUDIT_SUMS + CW_AUDIT_OTHER_SUMS)
/* Keeps the two budgets of a network apart. */
#define CALLED_SALT UINT64_C(0x9e3779b97f4a7c15)

/* ---- budgets ---- */

static bool is_budget_of(const void *entry, const void *hash)
{
    const cw_audit_budget *b = entry;
    return b->full_at_us && b->hash == *(const uint64_t *)hash;
}

static uint64_t budget_age(const void *entry)
{
    return ((const cw_audit_budget *)entry)->full_at_us;
}

static const cw_assoc budget_table = {sizeof(cw_audit_budget), CW_AUDIT_BUDGETS, 4, is_budget_of,
                                      budget_age};

/* The budget of a kind of records, on one level. */
typedef struct budget_rule {
    uint64_t salt;
    uint64_t step_us; /* the time that brings one record back */
} budget_rule;

/* Only a call that ran has a duration. */
static budget_rule rule_of(const cw_audit_record *r, unsigned level)
{
    budget_rule rule = {.step_us = 1000u * CW_AUDIT_REFUSED_MS};
    if (r->has_us)
        rule = (budget_rule){.salt = CALLED_SALT, .step_us = 1000u * CW_AUDIT_CALLED_MS};
    for (unsigned i = 0; i < level; i++)
        rule.step_us /= CW_AUDIT_WIDER;
    return rule;
}

/* The budget of a network. A new network that takes the place of another one begins with what is
 * left of the other's budget: changing networks does not help. */
static cw_audit_budget *budget_at(const cw_audit_sums *s, unsigned level, uint64_t hash)
{
    cw_audit_budget *b = cw_assoc_find(&budget_table, s->budgets[level], hash, &hash);
    if (!b)
        b = cw_assoc_victim(&budget_table, s->budgets[level], hash);
    b->hash = hash;
    return b;
}

static uint64_t charge(const cw_audit_budget *b, const budget_rule *rule, uint64_t now_us)
{
    return (b->full_at_us > now_us ? b->full_at_us : now_us) + rule->step_us;
}

/* Spend one record of the budgets of all levels, or none. Returns the widest level that has none
 * left, or CW_NETWORK_LEVELS. */
static unsigned spend(cw_audit_sums *s, const cw_audit_record *r, const cw_network *network,
                      uint64_t now_us)
{
    cw_audit_budget *found[CW_NETWORK_LEVELS];
    uint64_t full_at_us[CW_NETWORK_LEVELS];
    unsigned spent = CW_NETWORK_LEVELS;
    for (unsigned i = 0; i < CW_NETWORK_LEVELS; i++) {
        budget_rule rule = rule_of(r, i);
        found[i] = budget_at(s, i, network->keys[i] ^ rule.salt);
        full_at_us[i] = charge(found[i], &rule, now_us);
        if (full_at_us[i] > now_us + 1000u * CW_AUDIT_WINDOW_MS)
            spent = i;
    }
    for (unsigned i = 0; i < CW_NETWORK_LEVELS && spent == CW_NETWORK_LEVELS; i++)
        found[i]->full_at_us = full_at_us[i];
    return spent;
}

/* ---- counts ---- */

/* Doors and outcomes are static texts. */
static bool is_sum_of(const void *entry, const void *key)
{
    const cw_audit_sum *s = entry, *wanted = key;
    return s->count && s->network == wanted->network && s->kind == wanted->kind &&
           s->outcome == wanted->outcome && s->door == wanted->door;
}

static uint64_t sum_age(const void *entry)
{
    return ((const cw_audit_sum *)entry)->count;
}

static const cw_assoc sum_table = {sizeof(cw_audit_sum), CW_AUDIT_SUMS, 8, is_sum_of, sum_age};

/* The place among the counts without an address; NULL: none is left. */
static cw_audit_sum *find_other(const cw_audit_sums *s, cw_audit_sum *key)
{
    key->network = 0;
    key->address[0] = 0;
    cw_audit_sum *others = s->items + CW_AUDIT_SUMS, *free_one = NULL;
    for (size_t i = 0; i < CW_AUDIT_OTHER_SUMS; i++) {
        if (is_sum_of(&others[i], key))
            return &others[i];
        if (!free_one && !others[i].count)
            free_one = &others[i];
    }
    return free_one;
}

static uint64_t hash_of(const cw_audit_sum *key)
{
    return key->network ^ ((uintptr_t)key->outcome >> 1) * CALLED_SALT ^
           ((uintptr_t)key->door + key->kind) * CALLED_SALT;
}

static cw_audit_sum *find_sum(const cw_audit_sums *s, cw_audit_sum *key)
{
    uint64_t hash = hash_of(key);
    cw_audit_sum *sum = cw_assoc_find(&sum_table, s->items, hash, key);
    if (!sum)
        sum = cw_assoc_victim(&sum_table, s->items, hash);
    if (sum->count && !is_sum_of(sum, key))
        sum = find_other(s, key);
    return sum;
}

static void copy_address(cw_str address, unsigned level, char out[CW_NETWORK_TEXT])
{
    char text[CW_NETWORK_TEXT];
    /* The count of a /64 has the network, not the address that came first. */
    cw_str network = cw_network_text(address, level, text);
    size_t n = network.n < CW_NETWORK_TEXT - 1 ? network.n : CW_NETWORK_TEXT - 1;
    if (n)
        memcpy(out, network.p, n);
    out[n] = 0;
}

static void copy_text(cw_str text, char *out, size_t size)
{
    size_t n = cw_utf8_cut(text, size - 1);
    if (n)
        memcpy(out, text.p, n);
    out[n] = 0;
}

static void keep_first(cw_audit_sum *sum, const cw_audit_record *record)
{
    copy_text(record->caller, sum->first.caller, sizeof sum->first.caller);
    copy_text(record->method, sum->first.method, sizeof sum->first.method);
    copy_text(record->detail, sum->first.detail, sizeof sum->first.detail);
    copy_text(record->address, sum->first.address, sizeof sum->first.address);
}

bool cw_audit_sums_count(cw_audit_sums *s, const cw_audit_record *record, const cw_network *network,
                         uint64_t now_ms)
{
    unsigned level = spend(s, record, network, now_ms * 1000);
    if (level == CW_NETWORK_LEVELS)
        return false;
    cw_audit_sum key = {.network = network->keys[level],
                        .kind = record->kind,
                        .door = record->door,
                        .outcome = record->outcome};
    copy_address(record->address, level, key.address);
    cw_audit_sum *sum = find_sum(s, &key);
    if (!sum)
        return false;
    if (!sum->count) {
        *sum = key;
        keep_first(sum, record);
        sum->since = cw_clock_wall_ms();
        sum->due_ms = now_ms + CW_AUDIT_SUM_MS;
        s->due_ms = sum->due_ms < s->due_ms ? sum->due_ms : s->due_ms;
    }
    sum->count++;
    return true;
}

cw_audit_sum *cw_audit_sums_next(const cw_audit_sums *s, size_t *at, uint64_t now_ms)
{
    while (s->items && now_ms >= s->due_ms && *at < ALL_SUMS) {
        cw_audit_sum *sum = &s->items[(*at)++];
        if (sum->count && sum->due_ms <= now_ms)
            return sum;
    }
    return NULL;
}

void cw_audit_sums_refresh(cw_audit_sums *s)
{
    s->due_ms = UINT64_MAX;
    for (size_t i = 0; i < ALL_SUMS; i++) {
        if (s->items[i].count && s->items[i].due_ms < s->due_ms)
            s->due_ms = s->items[i].due_ms;
    }
}

/* The names of the caller are those of access/caller.h. A failed login has none: the claimed names
 * may differ. */
cw_audit_record cw_audit_sum_record(const cw_audit_sum *sum)
{
    bool is_login = sum->kind == CW_AUDIT_LOGIN;
    if (sum->count == 1)
        return (cw_audit_record){.kind = sum->kind,
                                 .door = sum->door,
                                 .outcome = sum->outcome,
                                 .caller = cw_str_from(sum->first.caller),
                                 .caller_id = is_login ? CW_STR("") : CW_STR("0"),
                                 .method = cw_str_from(sum->first.method),
                                 .detail = cw_str_from(sum->first.detail),
                                 .address = cw_str_from(sum->first.address)};
    return (cw_audit_record){.kind = sum->kind,
                             .door = sum->door,
                             .outcome = sum->outcome,
                             .caller = is_login ? CW_STR("") : CW_STR("anonymous"),
                             .caller_id = is_login ? CW_STR("") : CW_STR("0"),
                             .address = cw_str_from(sum->address),
                             .count = sum->count,
                             .since = sum->since};
}

cw_code cw_audit_sums_init(cw_audit_sums *s, cw_err *err)
{
    *s = (cw_audit_sums){.due_ms = UINT64_MAX};
    s->items = calloc(ALL_SUMS, sizeof *s->items);
    bool is_ok = s->items != NULL;
    for (unsigned i = 0; i < CW_NETWORK_LEVELS && is_ok; i++) {
        s->budgets[i] = calloc(CW_AUDIT_BUDGETS, sizeof *s->budgets[i]);
        is_ok = s->budgets[i] != NULL;
    }
    if (is_ok)
        return CW_OK;
    cw_audit_sums_done(s);
    return cw_fail_nomem(err);
}

void cw_audit_sums_done(cw_audit_sums *s)
{
    for (unsigned i = 0; i < CW_NETWORK_LEVELS; i++)
        free(s->budgets[i]);
    free(s->items);
    *s = (cw_audit_sums){0};
}
