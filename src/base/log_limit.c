/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log_limit.c - intervals by name, in a table of fixed size. */
#include "base/log_limit.h"

#include <stdio.h>
#include <string.h>

#include "base/assoc.h"
#include "base/map.h"

static bool matches(const void *entry, const void *hash)
{
    const cw_log_limit_entry *e = entry;
    return e->written && e->hash == *(const uint64_t *)hash;
}

static uint64_t age_of(const void *entry)
{
    const cw_log_limit_entry *e = entry;
    return e->written ? e->began + 1 : 0;
}

static const cw_assoc table = {sizeof(cw_log_limit_entry), CW_LOG_LIMIT_NAMES, 4, matches, age_of};

static bool has_ended(const cw_log_limit_entry *e, uint64_t now)
{
    return now >= e->began + CW_LOG_LIMIT_MS;
}

/* Move the count of an entry into a report. */
static void take_count(cw_log_limit_entry *e, uint64_t now, cw_log_limit_report *ret)
{
    *ret = (cw_log_limit_report){.count = e->left_out, .ms = now - e->began};
    if (!e->is_shared)
        memcpy(ret->name, e->name, sizeof ret->name);
    e->left_out = 0;
}

static void begin(cw_log_limit_entry *e, uint64_t hash, cw_str name, uint64_t now)
{
    *e = (cw_log_limit_entry){.hash = hash, .began = now};
    snprintf(e->name, sizeof e->name, "%.*s", CW_STR_ARG(name));
}

cw_log_limit_fate cw_log_limit_take(cw_log_limit *l, cw_str name, uint64_t now,
                                    cw_log_limit_report *ret)
{
    uint64_t hash = cw_hash(name);
    cw_log_limit_entry *e = cw_assoc_find(&table, l->entries, hash, &hash);
    bool is_own = e;
    *ret = (cw_log_limit_report){0};
    if (!e)
        e = cw_assoc_victim(&table, l->entries, hash);
    if (!e->written || has_ended(e, now)) {
        take_count(e, now, ret);
        begin(e, hash, name, now);
    } else if (!is_own) {
        e->is_shared = true;
    }
    if (e->written < CW_LOG_LIMIT_LINES) {
        e->written++;
        return CW_LOG_LIMIT_WRITE;
    }
    return e->left_out++ ? CW_LOG_LIMIT_COUNT : CW_LOG_LIMIT_COUNT_FIRST;
}

bool cw_log_limit_next(cw_log_limit *l, uint64_t now, bool all, cw_log_limit_report *ret)
{
    for (size_t i = 0; i < CW_LOG_LIMIT_NAMES; i++) {
        cw_log_limit_entry *e = &l->entries[i];
        if (!e->left_out || (!all && !has_ended(e, now)))
            continue;
        take_count(e, now, ret);
        return true;
    }
    return false;
}

uint64_t cw_log_limit_due(const cw_log_limit *l)
{
    uint64_t due = UINT64_MAX;
    for (size_t i = 0; i < CW_LOG_LIMIT_NAMES; i++) {
        const cw_log_limit_entry *e = &l->entries[i];
        if (e->left_out && e->began + CW_LOG_LIMIT_MS < due)
            due = e->began + CW_LOG_LIMIT_MS;
    }
    return due;
}
