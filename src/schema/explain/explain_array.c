/* SPDX-License-Identifier: GPL-2.0-or-later */
/* explain_array.c - the keywords for arrays, exhaustively. */
#include "base/digits.h"
#include "schema/explain/walk.h"

static const cw_json *value_or(const keyword *k, const cw_json *other)
{
    return k ? k->key + 1 : other;
}

/* -1, 0 or 1: a count against the number in a schema, which may be 2.0 or 1e99. */
int cw_schema_compare_count(uint32_t n, const cw_json *limit)
{
    char text[CW_DIGITS_SIZE];
    cw_str digits = cw_digits_u64(n, text);
    cw_json number = {digits.p, (uint32_t)digits.n, CW_JSON_NUMBER};
    return cw_json_compare_numbers(&number, limit);
}

static bool walk_counts(walk *w, const site *at, bool maximum)
{
    uint32_t n = cw_json_count(at->v);
    const cw_json *limit = at->key + 1;
    int order = cw_schema_compare_count(n, limit);
    if (maximum ? order <= 0 : order >= 0)
        return true;
    return cw_schema_problem_add(w, at, CW_STR(""), "expected at %s %.*s items, got %u",
                                 maximum ? "most" : "least", CW_STR_ARG(cw_json_text(limit)), n);
}

static bool walk_unique(walk *w, const site *at)
{
    if (!cw_json_is(at->key + 1, CW_JSON_TRUE))
        return true;
    const cw_json *a = NULL;
    const cw_json *b = NULL;
    int unique = cw_schema_all_unique(at->v, &w->scratch, &w->steps, &a, &b);
    if (unique < 0)
        return cw_schema_walk_stop(w, CW_NOMEM);
    if (w->steps < 0)
        return cw_schema_walk_stop(w, CW_LIMIT);
    if (unique > 0)
        return true;
    int i = 0;
    int j = 0;
    int n = 0;
    for (const cw_json *c = cw_json_first(at->v); c; c = cw_json_next(c), n++) {
        i = c == a ? n : i;
        j = c == b ? n : j;
    }
    return cw_schema_problem_add(w, at, CW_STR(""), "expected different items, got %d equal to %d",
                                 j, i);
}

/* Items from `skip` on against one schema. */
static bool walk_rest(walk *w, const site *at, uint32_t skip)
{
    bool ok = true;
    uint32_t i = 0;
    for (const cw_json *c = cw_json_first(at->v); c; c = cw_json_next(c), i++) {
        if (i < skip)
            continue;
        ok &= cw_schema_walk_child(w, at, at->key + 1, c, NULL, -1, NULL);
        cw_schema_mark(at->seen, i);
        if (!ok && cw_schema_walk_enough(w))
            return false;
    }
    return ok;
}

/* Item by item against a list of schemas. */
static bool walk_prefix(walk *w, const site *at)
{
    bool ok = true;
    uint32_t i = 0;
    const cw_json *schema = cw_json_first(at->key + 1);
    for (const cw_json *c = cw_json_first(at->v); c && schema; c = cw_json_next(c), i++) {
        ok &= cw_schema_walk_child(w, at, schema, c, NULL, i, NULL);
        cw_schema_mark(at->seen, i);
        if (!ok && cw_schema_walk_enough(w))
            return false;
        schema = cw_json_next(schema);
    }
    return ok;
}

static bool walk_items(walk *w, const site *at)
{
    if (cw_json_is(at->key + 1, CW_JSON_ARRAY))
        return walk_prefix(w, at);
    const keyword *prefix = cw_schema_find_keyword(w->s, at->sub, KW_PREFIX_ITEMS);
    return walk_rest(w, at, prefix ? cw_json_count(prefix->key + 1) : 0);
}

static bool walk_additional(walk *w, const site *at)
{
    const keyword *items = cw_schema_find_keyword(w->s, at->sub, KW_ITEMS);
    if (!items || !cw_json_is(items->key + 1, CW_JSON_ARRAY))
        return true;
    return walk_rest(w, at, cw_json_count(items->key + 1));
}

static bool walk_contains(walk *w, const site *at)
{
    static const cw_json one = {"1", 1, CW_JSON_NUMBER};
    const keyword *min = cw_schema_find_keyword(w->s, at->sub, KW_MIN_CONTAINS);
    const keyword *max = cw_schema_find_keyword(w->s, at->sub, KW_MAX_CONTAINS);
    uint32_t held = 0;
    uint32_t i = 0;
    w->quiet++;
    for (const cw_json *c = cw_json_first(at->v); c && !w->stop; c = cw_json_next(c), i++) {
        if (!cw_schema_walk_child(w, at, at->key + 1, c, NULL, -1, NULL))
            continue;
        held++;
        cw_schema_mark(at->seen, i);
    }
    w->quiet--;
    if (w->stop)
        return false;
    const cw_json *least = value_or(min, &one);
    if (cw_schema_compare_count(held, least) < 0)
        return cw_schema_problem_add(w, at, CW_STR(""),
                                     "expected at least %.*s matching items, got %u",
                                     CW_STR_ARG(cw_json_text(least)), held);
    if (max && cw_schema_compare_count(held, max->key + 1) > 0)
        return cw_schema_problem_add(w, at, CW_STR(""),
                                     "expected at most %.*s matching items, got %u",
                                     CW_STR_ARG(cw_json_text(max->key + 1)), held);
    return true;
}

bool cw_schema_walk_array(walk *w, const site *at, kw_id id)
{
    switch (id) {
    case KW_MAX_ITEMS:
    case KW_MIN_ITEMS:
        return walk_counts(w, at, id == KW_MAX_ITEMS);
    case KW_UNIQUE_ITEMS:
        return walk_unique(w, at);
    case KW_PREFIX_ITEMS:
        return walk_prefix(w, at);
    case KW_ITEMS:
        return walk_items(w, at);
    case KW_ADDITIONAL_ITEMS:
        return walk_additional(w, at);
    case KW_CONTAINS:
        return walk_contains(w, at);
    default: /* minContains and maxContains belong to contains */
        return true;
    }
}
