/* SPDX-License-Identifier: GPL-2.0-or-later */
/* explain_object.c - the keywords for objects, exhaustively. */
#include "schema/explain/walk.h"

/* Names are searched for, one after the other; many cost a step. */
#define SEARCHED_PER_STEP 4u

#define NEAR 3u /* edits that still make a name the one that was meant */
#define NEAR_BYTES 256u
#define NEAR_STEPS 16u /* to compare two names */
#define NEAR_STEPS_MAX 100000u

static const cw_json *find(walk *w, const cw_json *object, const cw_json *name)
{
    if (!cw_schema_walk_charge(w, 1 + cw_json_count(object) / SEARCHED_PER_STEP))
        return NULL;
    return cw_json_get(object, cw_json_text(name));
}

static bool walk_counts(walk *w, const site *at, bool maximum)
{
    uint32_t n = cw_json_count(at->v);
    const cw_json *limit = at->key + 1;
    int order = cw_schema_compare_count(n, limit);
    if (maximum ? order <= 0 : order >= 0)
        return true;
    return cw_schema_problem_add(w, at, CW_STR(""), "expected at %s %.*s properties, got %u",
                                 maximum ? "most" : "least", CW_STR_ARG(cw_json_text(limit)), n);
}

static bool walk_required(walk *w, const site *at, const cw_json *list, const cw_json *because)
{
    bool ok = true;
    for (const cw_json *name = cw_json_first(list); name; name = cw_json_next(name)) {
        if (find(w, at->v, name))
            continue;
        if (w->stop)
            return false;
        cw_str text = cw_json_text(name);
        if (because)
            ok = cw_schema_problem_add(w, at, CW_STR(""),
                                       "missing property '%.*s', which '%.*s' requires",
                                       CW_STR_ARG(text), CW_STR_ARG(cw_json_text(because)));
        else
            ok = cw_schema_problem_add(w, at, CW_STR(""), "missing required property '%.*s'",
                                       CW_STR_ARG(text));
        if (cw_schema_walk_enough(w))
            return false;
    }
    return ok;
}

/* dependentRequired, dependentSchemas, and dependencies, which are both. */
static bool walk_dependent(walk *w, const site *at)
{
    bool ok = true;
    for (const cw_json *k = cw_json_first(at->key + 1); k; k = cw_json_next_key(k)) {
        if (!find(w, at->v, k))
            continue;
        ok &= cw_json_is(k + 1, CW_JSON_ARRAY)
                  ? walk_required(w, at, k + 1, k)
                  : cw_schema_walk_child(w, at, k + 1, at->v, k, -1, at->seen);
        if (!ok && cw_schema_walk_enough(w))
            return false;
    }
    return ok && !w->stop;
}

static bool walk_properties(walk *w, const site *at)
{
    bool ok = true;
    uint32_t i = 0;
    for (const cw_json *k = cw_json_first(at->v); k; k = cw_json_next_key(k), i++) {
        const cw_json *schema = find(w, at->key + 1, k);
        if (!schema)
            continue;
        ok &= cw_schema_walk_child(w, at, schema, k + 1, k, -1, NULL);
        cw_schema_mark(at->seen, i);
        if (!ok && cw_schema_walk_enough(w))
            return false;
    }
    return ok && !w->stop;
}

static bool matches(walk *w, const site *at, const cw_json *pattern, const cw_json *name)
{
    uint32_t index = cw_schema_link(w->s, &w->s->subs[at->sub], pattern);
    cw_pattern_match m = cw_pattern_test(w->s->patterns[index], cw_json_text(name), &w->steps);
    if (m == CW_PATTERN_TOO_HARD)
        cw_schema_walk_stop(w, CW_LIMIT);
    return m == CW_PATTERN_YES;
}

static bool walk_patterns(walk *w, const site *at)
{
    bool ok = true;
    uint32_t i = 0;
    for (const cw_json *k = cw_json_first(at->v); k; k = cw_json_next_key(k), i++) {
        for (const cw_json *p = cw_json_first(at->key + 1); p; p = cw_json_next_key(p)) {
            if (w->stop || !matches(w, at, p, k))
                continue;
            ok &= cw_schema_walk_child(w, at, p + 1, k + 1, p, -1, NULL);
            cw_schema_mark(at->seen, i);
            if (!ok && cw_schema_walk_enough(w))
                return false;
        }
    }
    return ok && !w->stop;
}

static bool is_declared(walk *w, const site *at, const cw_json *name)
{
    const keyword *k = cw_schema_find_keyword(w->s, at->sub, KW_PROPERTIES);
    if (k && find(w, k->key + 1, name))
        return true;
    k = cw_schema_find_keyword(w->s, at->sub, KW_PATTERN_PROPERTIES);
    const cw_json *p = k ? cw_json_first(k->key + 1) : NULL;
    for (; p; p = cw_json_next_key(p)) {
        if (w->stop || matches(w, at, p, name))
            return true;
    }
    return false;
}

static bool walk_additional(walk *w, const site *at)
{
    bool ok = true;
    uint32_t i = 0;
    for (const cw_json *k = cw_json_first(at->v); k; k = cw_json_next_key(k), i++) {
        if (is_declared(w, at, k))
            continue;
        ok &= cw_schema_walk_child(w, at, at->key + 1, k + 1, NULL, -1, NULL);
        cw_schema_mark(at->seen, i);
        if (!ok && cw_schema_walk_enough(w))
            return false;
    }
    return ok && !w->stop;
}

static bool walk_names(walk *w, const site *at)
{
    bool ok = true;
    for (const cw_json *k = cw_json_first(at->v); k; k = cw_json_next_key(k)) {
        ok &= cw_schema_walk_child(w, at, at->key + 1, k, NULL, -1, NULL);
        if (!ok && cw_schema_walk_enough(w))
            return false;
    }
    return ok;
}

cw_str cw_schema_nearest(walk *w, const cw_json *names, const cw_json *taken, cw_str name)
{
    cw_str best = CW_STR("");
    uint64_t each = NEAR_STEPS + (taken ? cw_json_count(taken) / SEARCHED_PER_STEP : 0);
    uint64_t steps = names ? cw_json_count(names) * each : 0;
    if (name.n > NEAR_BYTES || steps > NEAR_STEPS_MAX || (int64_t)steps > w->steps)
        return best;
    w->steps -= (int64_t)steps;
    unsigned best_distance = NEAR + 1;
    bool object = cw_json_is(names, CW_JSON_OBJECT);
    for (const cw_json *k = names ? cw_json_first(names) : NULL; k; k = cw_json_next(k + object)) {
        cw_str candidate = cw_json_text(k);
        if (!cw_json_is(k, CW_JSON_STRING) || (taken && cw_json_get(taken, candidate)))
            continue;
        unsigned distance = cw_str_distance_within(name, candidate, NEAR);
        if (distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

bool cw_schema_walk_object(walk *w, const site *at, kw_id id)
{
    switch (id) {
    case KW_MAX_PROPERTIES:
    case KW_MIN_PROPERTIES:
        return walk_counts(w, at, id == KW_MAX_PROPERTIES);
    case KW_REQUIRED:
        return walk_required(w, at, at->key + 1, NULL);
    case KW_DEPENDENT_REQUIRED:
    case KW_DEPENDENT_SCHEMAS:
    case KW_DEPENDENCIES:
        return walk_dependent(w, at);
    case KW_PROPERTIES:
        return walk_properties(w, at);
    case KW_PATTERN_PROPERTIES:
        return walk_patterns(w, at);
    case KW_ADDITIONAL_PROPERTIES:
        return walk_additional(w, at);
    case KW_PROPERTY_NAMES:
        return walk_names(w, at);
    default:
        return true;
    }
}
