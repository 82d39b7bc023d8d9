/* SPDX-License-Identifier: GPL-2.0-or-later */
/* explain.c - the evaluator that gives reasons. It walks the resolved schema, keyword by keyword as
 * they stand in the document, and records problems up to the requested number.
 *
 * It shares no evaluation code with the program (schema/eval/eval.c), so that a test can compare
 * the two. Recursion is bounded by cw_schema_opts.max_recursion.
 */
#include "base/digits.h"
#include "schema/explain/walk.h"

static bool walk_child(walk *w, const site *at, const cw_json *value, const cw_json *v,
                       const cw_json *name, int64_t index, marks *seen);
static bool walk_enough(const walk *w);
static bool walk_charge(walk *w, uint64_t steps);
static const keyword *find_keyword(const cw_schema *s, uint32_t sub_index, kw_id id);
static void mark(marks *seen, uint32_t index);
static int compare_count(uint32_t n, const cw_json *limit);
static cw_str find_nearest(walk *w, const cw_json *names, const cw_json *taken, cw_str name);

/* ==== types, values, numbers and strings ==== */

#define LIST_MAX 400u /* bytes of a list of values in a message */

/* "integer or null" */
static bool walk_type(walk *w, const site *at)
{
    const cw_json *type = at->key + 1;
    if (cw_schema_has_type(cw_schema_type_bits(type), at->v))
        return true;
    cw_buf b;
    cw_buf_init(&b, LIST_MAX);
    if (cw_json_is(type, CW_JSON_STRING))
        cw_buf_add(&b, cw_json_text(type));
    for (const cw_json *t = cw_json_first(type); t; t = cw_json_next(t)) {
        if (b.n)
            cw_buf_add(&b, cw_json_next(t) ? CW_STR(", ") : CW_STR(" or "));
        cw_buf_add(&b, cw_json_text(t));
    }
    cw_str list = cw_buf_str(&b);
    cw_schema_problem_add(w, at, CW_STR(""), "expected %.*s, got %s", CW_STR_ARG(list),
                          cw_schema_type_text(at->v));
    cw_buf_done(&b);
    return false;
}

static bool walk_const(walk *w, const site *at)
{
    if (!walk_charge(w, cw_schema_equal_steps(at->key + 1, at->v)))
        return false;
    if (cw_json_equal(at->key + 1, at->v))
        return true;
    if (!cw_schema_problem_wanted(w, at->v))
        return cw_schema_problem_add(w, at, CW_STR(""), "no");
    cw_str expected = cw_schema_shorten(w, at, at->key + 1);
    cw_str got = cw_schema_shorten(w, at, at->v);
    return cw_schema_problem_add(w, at, CW_STR(""), "expected %.*s, got %.*s", CW_STR_ARG(expected),
                                 CW_STR_ARG(got));
}

static bool walk_enum(walk *w, const site *at)
{
    const cw_json *list = at->key + 1;
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v)) {
        if (!walk_charge(w, cw_schema_equal_steps(v, at->v)))
            return false;
        if (cw_json_equal(v, at->v))
            return true;
    }
    if (!cw_schema_problem_wanted(w, at->v))
        return cw_schema_problem_add(w, at, CW_STR(""), "no");
    cw_buf b;
    cw_buf_init(&b, LIST_MAX);
    for (const cw_json *v = cw_json_first(list); v && b.n < LIST_MAX / 2; v = cw_json_next(v)) {
        if (b.n)
            cw_buf_add(&b, CW_STR(", "));
        cw_buf_add(&b, cw_schema_shorten(w, at, v));
    }
    cw_str nearest = CW_STR("");
    if (cw_json_is(at->v, CW_JSON_STRING))
        nearest = find_nearest(w, list, NULL, cw_json_text(at->v));
    cw_str values = cw_buf_str(&b);
    cw_str got = cw_schema_shorten(w, at, at->v);
    cw_schema_problem_add(w, at, nearest, "expected one of %.*s, got %.*s", CW_STR_ARG(values),
                          CW_STR_ARG(got));
    cw_buf_done(&b);
    return false;
}

static bool walk_bound(walk *w, const site *at, kw_id id)
{
    const cw_json *limit = at->key + 1;
    if (!walk_charge(w, ((uint64_t)at->v->n + limit->n) / 8))
        return false;
    int order = cw_json_compare_numbers(at->v, limit);
    const char *text;
    bool ok;
    if (id == KW_MINIMUM) {
        ok = order >= 0;
        text = "a number of at least";
    } else if (id == KW_MAXIMUM) {
        ok = order <= 0;
        text = "a number of at most";
    } else if (id == KW_EXCLUSIVE_MINIMUM) {
        ok = order > 0;
        text = "a number greater than";
    } else {
        ok = order < 0;
        text = "a number less than";
    }
    if (ok)
        return true;
    cw_str got = cw_schema_shorten(w, at, at->v);
    return cw_schema_problem_add(w, at, CW_STR(""), "expected %s %.*s, got %.*s", text,
                                 CW_STR_ARG(cw_json_text(limit)), CW_STR_ARG(got));
}

static bool walk_multiple(walk *w, const site *at)
{
    bool ok = cw_schema_is_multiple(at->v, at->key + 1, &w->steps);
    if (w->steps < 0)
        return cw_schema_walk_stop(w, CW_LIMIT);
    if (ok)
        return true;
    cw_str got = cw_schema_shorten(w, at, at->v);
    return cw_schema_problem_add(w, at, CW_STR(""), "expected a multiple of %.*s, got %.*s",
                                 CW_STR_ARG(cw_json_text(at->key + 1)), CW_STR_ARG(got));
}

static bool walk_length(walk *w, const site *at, bool maximum)
{
    if (!walk_charge(w, at->v->n / 32))
        return false;
    size_t n = cw_schema_code_points(cw_json_text(at->v));
    int order = compare_count((uint32_t)n, at->key + 1);
    if (maximum ? order <= 0 : order >= 0)
        return true;
    return cw_schema_problem_add(w, at, CW_STR(""), "expected at %s %.*s characters, got %zu",
                                 maximum ? "most" : "least", CW_STR_ARG(cw_json_text(at->key + 1)),
                                 n);
}

static bool walk_pattern(walk *w, const site *at)
{
    uint32_t index = cw_schema_link(w->s, &w->s->subs[at->sub], at->key + 1);
    cw_pattern_match m = cw_pattern_test(w->s->patterns[index], cw_json_text(at->v), &w->steps);
    if (m == CW_PATTERN_YES)
        return true;
    if (m == CW_PATTERN_TOO_HARD)
        return cw_schema_walk_stop(w, CW_LIMIT);
    cw_str got = cw_schema_shorten(w, at, at->v);
    return cw_schema_problem_add(w, at, CW_STR(""), "expected text that matches '%.*s', got %.*s",
                                 CW_STR_ARG(cw_json_text(at->key + 1)), CW_STR_ARG(got));
}

static bool walk_format(walk *w, const site *at)
{
    const cw_schema *s = w->s;
    if (!s->resources[s->subs[at->sub].resource].assert_format)
        return true;
    const cw_schema_format *format = cw_format_find(cw_json_text(at->key + 1));
    if (!format || cw_format_test(format, cw_json_text(at->v), &w->steps))
        return true;
    if (w->steps < 0)
        return cw_schema_walk_stop(w, CW_LIMIT);
    cw_str got = cw_schema_shorten(w, at, at->v);
    return cw_schema_problem_add(w, at, CW_STR(""), "expected the format '%.*s', got %.*s",
                                 CW_STR_ARG(cw_json_text(at->key + 1)), CW_STR_ARG(got));
}

/* A false schema refuses whatever led to it. */
static bool walk_false(walk *w, const site *at)
{
    const frame *f = at->frame;
    bool names = f && (cw_str_is(f->keyword, "additionalProperties") ||
                       cw_str_is(f->keyword, "unevaluatedProperties"));
    if (!names || !cw_schema_problem_wanted(w, at->v))
        return cw_schema_problem_add(w, at, CW_STR(""), "no value is allowed here");
    /* Both searches go over a document once. */
    if (!walk_charge(
            w, (w->root->n + cw_schema_document_of(w->s, w->s->subs[at->sub].value)->count) / 4))
        return false;
    /* A member's value stands behind its name, both behind the object. */
    const cw_json *key = at->v - 1;
    const cw_json *object = key;
    for (const cw_json *v = w->root; v && v != at->v;) {
        bool is_object = cw_json_is(v, CW_JSON_OBJECT);
        object = is_object ? v : object;
        const cw_json *c = cw_json_first(v);
        while (c && cw_json_after(c + is_object) <= at->v)
            c = cw_json_next(c + is_object);
        v = c ? c + is_object : NULL;
    }
    /* The names beside the false schema: it stands in the same object as `properties`. */
    const cw_json *names_of = NULL;
    const cw_schema *s = w->s;
    for (uint32_t i = 1; i < s->n_subs && !names_of; i++) {
        const cw_json *owner = s->subs[i].value;
        if (cw_json_is(owner, CW_JSON_OBJECT) &&
            cw_json_get(owner, f->keyword) == s->subs[at->sub].value)
            names_of = cw_json_get(owner, CW_STR("properties"));
    }
    cw_str nearest = find_nearest(w, names_of, object, cw_json_text(key));
    return cw_schema_problem_add(w, at, nearest, "unknown property '%.*s'",
                                 CW_STR_ARG(cw_json_text(key)));
}

/* Evaluate a keyword for scalars, arrays or objects. */
static bool walk_scalar(walk *w, const site *at, kw_id id)
{
    bool number = cw_json_is(at->v, CW_JSON_NUMBER);
    bool string = cw_json_is(at->v, CW_JSON_STRING);
    switch (id) {
    case KW_EVALUATED:
        return walk_false(w, at);
    case KW_TYPE:
        return walk_type(w, at);
    case KW_CONST:
        return walk_const(w, at);
    case KW_ENUM:
        return walk_enum(w, at);
    case KW_MULTIPLE_OF:
        return !number || walk_multiple(w, at);
    case KW_MAXIMUM:
    case KW_EXCLUSIVE_MAXIMUM:
    case KW_MINIMUM:
    case KW_EXCLUSIVE_MINIMUM:
        return !number || walk_bound(w, at, id);
    case KW_MAX_LENGTH:
    case KW_MIN_LENGTH:
        return !string || walk_length(w, at, id == KW_MAX_LENGTH);
    case KW_PATTERN:
        return !string || walk_pattern(w, at);
    case KW_FORMAT:
        return !string || walk_format(w, at);
    default: /* then and else belong to if */
        return true;
    }
}

/* ==== arrays ==== */

static const cw_json *value_or(const keyword *k, const cw_json *other)
{
    return k ? k->key + 1 : other;
}

/* -1, 0 or 1: a count against the number in a schema, which may be 2.0 or 1e99. */
static int compare_count(uint32_t n, const cw_json *limit)
{
    char text[CW_DIGITS_SIZE];
    cw_str digits = cw_digits_u64(n, text);
    cw_json number = {digits.p, (uint32_t)digits.n, CW_JSON_NUMBER};
    return cw_json_compare_numbers(&number, limit);
}

static bool walk_item_counts(walk *w, const site *at, bool maximum)
{
    uint32_t n = cw_json_count(at->v);
    const cw_json *limit = at->key + 1;
    int order = compare_count(n, limit);
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
        ok &= walk_child(w, at, at->key + 1, c, NULL, -1, NULL);
        mark(at->seen, i);
        if (!ok && walk_enough(w))
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
        ok &= walk_child(w, at, schema, c, NULL, i, NULL);
        mark(at->seen, i);
        if (!ok && walk_enough(w))
            return false;
        schema = cw_json_next(schema);
    }
    return ok;
}

static bool walk_items(walk *w, const site *at)
{
    if (cw_json_is(at->key + 1, CW_JSON_ARRAY))
        return walk_prefix(w, at);
    const keyword *prefix = find_keyword(w->s, at->sub, KW_PREFIX_ITEMS);
    return walk_rest(w, at, prefix ? cw_json_count(prefix->key + 1) : 0);
}

static bool walk_additional_items(walk *w, const site *at)
{
    const keyword *items = find_keyword(w->s, at->sub, KW_ITEMS);
    if (!items || !cw_json_is(items->key + 1, CW_JSON_ARRAY))
        return true;
    return walk_rest(w, at, cw_json_count(items->key + 1));
}

static bool walk_contains(walk *w, const site *at)
{
    static const cw_json one = {"1", 1, CW_JSON_NUMBER};
    const keyword *min = find_keyword(w->s, at->sub, KW_MIN_CONTAINS);
    const keyword *max = find_keyword(w->s, at->sub, KW_MAX_CONTAINS);
    uint32_t held = 0;
    uint32_t i = 0;
    w->quiet++;
    for (const cw_json *c = cw_json_first(at->v); c && !w->stop; c = cw_json_next(c), i++) {
        if (!walk_child(w, at, at->key + 1, c, NULL, -1, NULL))
            continue;
        held++;
        mark(at->seen, i);
    }
    w->quiet--;
    if (w->stop)
        return false;
    const cw_json *least = value_or(min, &one);
    if (compare_count(held, least) < 0)
        return cw_schema_problem_add(w, at, CW_STR(""),
                                     "expected at least %.*s matching items, got %u",
                                     CW_STR_ARG(cw_json_text(least)), held);
    if (max && compare_count(held, max->key + 1) > 0)
        return cw_schema_problem_add(w, at, CW_STR(""),
                                     "expected at most %.*s matching items, got %u",
                                     CW_STR_ARG(cw_json_text(max->key + 1)), held);
    return true;
}

static bool walk_array(walk *w, const site *at, kw_id id)
{
    switch (id) {
    case KW_MAX_ITEMS:
    case KW_MIN_ITEMS:
        return walk_item_counts(w, at, id == KW_MAX_ITEMS);
    case KW_UNIQUE_ITEMS:
        return walk_unique(w, at);
    case KW_PREFIX_ITEMS:
        return walk_prefix(w, at);
    case KW_ITEMS:
        return walk_items(w, at);
    case KW_ADDITIONAL_ITEMS:
        return walk_additional_items(w, at);
    case KW_CONTAINS:
        return walk_contains(w, at);
    default: /* minContains and maxContains belong to contains */
        return true;
    }
}

/* ==== objects ==== */

/* Names are searched for, one after the other; many cost a step. */
#define SEARCHED_PER_STEP 4u

#define NEAR 3u /* edits that still make a name the one that was meant */
#define NEAR_BYTES 256u
#define NEAR_STEPS 16u /* to compare two names */
#define NEAR_STEPS_MAX 100000u

static const cw_json *find(walk *w, const cw_json *object, const cw_json *name)
{
    if (!walk_charge(w, 1 + cw_json_count(object) / SEARCHED_PER_STEP))
        return NULL;
    return cw_json_get(object, cw_json_text(name));
}

static bool walk_member_counts(walk *w, const site *at, bool maximum)
{
    uint32_t n = cw_json_count(at->v);
    const cw_json *limit = at->key + 1;
    int order = compare_count(n, limit);
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
        if (walk_enough(w))
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
        ok &= cw_json_is(k + 1, CW_JSON_ARRAY) ? walk_required(w, at, k + 1, k)
                                               : walk_child(w, at, k + 1, at->v, k, -1, at->seen);
        if (!ok && walk_enough(w))
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
        ok &= walk_child(w, at, schema, k + 1, k, -1, NULL);
        mark(at->seen, i);
        if (!ok && walk_enough(w))
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
            ok &= walk_child(w, at, p + 1, k + 1, p, -1, NULL);
            mark(at->seen, i);
            if (!ok && walk_enough(w))
                return false;
        }
    }
    return ok && !w->stop;
}

static bool is_declared(walk *w, const site *at, const cw_json *name)
{
    const keyword *k = find_keyword(w->s, at->sub, KW_PROPERTIES);
    if (k && find(w, k->key + 1, name))
        return true;
    k = find_keyword(w->s, at->sub, KW_PATTERN_PROPERTIES);
    const cw_json *p = k ? cw_json_first(k->key + 1) : NULL;
    for (; p; p = cw_json_next_key(p)) {
        if (w->stop || matches(w, at, p, name))
            return true;
    }
    return false;
}

static bool walk_additional_members(walk *w, const site *at)
{
    bool ok = true;
    uint32_t i = 0;
    for (const cw_json *k = cw_json_first(at->v); k; k = cw_json_next_key(k), i++) {
        if (is_declared(w, at, k))
            continue;
        ok &= walk_child(w, at, at->key + 1, k + 1, NULL, -1, NULL);
        mark(at->seen, i);
        if (!ok && walk_enough(w))
            return false;
    }
    return ok && !w->stop;
}

static bool walk_names(walk *w, const site *at)
{
    bool ok = true;
    for (const cw_json *k = cw_json_first(at->v); k; k = cw_json_next_key(k)) {
        ok &= walk_child(w, at, at->key + 1, k, NULL, -1, NULL);
        if (!ok && walk_enough(w))
            return false;
    }
    return ok;
}

/* The string nearest to `name` among the keys or items of `names` (may be NULL) that `taken` (may
 * be NULL) does not have; empty when none is near, and when looking for it would cost too much. */
static cw_str find_nearest(walk *w, const cw_json *names, const cw_json *taken, cw_str name)
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

static bool walk_object(walk *w, const site *at, kw_id id)
{
    switch (id) {
    case KW_MAX_PROPERTIES:
    case KW_MIN_PROPERTIES:
        return walk_member_counts(w, at, id == KW_MAX_PROPERTIES);
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
        return walk_additional_members(w, at);
    case KW_PROPERTY_NAMES:
        return walk_names(w, at);
    default:
        return true;
    }
}

/* ==== the walk ==== */

/* This evaluator is slower than the program, but its steps are of the same size. */
#define WALK_STEPS 3u
#define KEYWORD_STEPS 2u

/* A sub's keyword, or NULL. */
static const keyword *find_keyword(const cw_schema *s, uint32_t sub_index, kw_id id)
{
    const sub *at = &s->subs[sub_index];
    for (uint32_t i = 0; i < at->count; i++) {
        if (s->keywords[at->first + i].id == id)
            return &s->keywords[at->first + i];
    }
    return NULL;
}

/* Evaluate a child of the keyword at `value` on v: `name` or `index` say which child. */
static void mark(marks *seen, uint32_t index)
{
    if (seen)
        seen->bits[index / 64] |= UINT64_C(1) << index % 64;
}

/* Whether a failure here is all there is to find out: nothing of it will be reported, or all that
 * will be is known. Loops end with it. */
static bool walk_enough(const walk *w)
{
    return w->stop || w->is_full || w->quiet || (w->level > 0 && !w->nested);
}

/* Steps for something beside the walk itself; false when none are left. */
static bool walk_charge(walk *w, uint64_t steps)
{
    w->steps -= (int64_t)steps;
    return w->steps >= 0 || cw_schema_walk_stop(w, CW_LIMIT);
}

/* False, with nothing to be done about it, when they cannot be had. */
static bool marks_init(walk *w, marks *m, const cw_json *v)
{
    m->words = (cw_json_count(v) + 63) / 64;
    size_t bytes = (m->words ? m->words : 1) * sizeof m->bits[0];
    if (!walk_charge(w, m->words))
        return false;
    m->bits = cw_schema_scratch_push(&w->scratch, bytes);
    if (!m->bits)
        return cw_schema_walk_stop(w, CW_NOMEM);
    memset(m->bits, 0, bytes);
    return true;
}

static void marks_done(walk *w)
{
    cw_schema_scratch_pop(&w->scratch);
}

static void marks_merge(marks *into, const marks *from)
{
    for (uint32_t i = 0; i < from->words; i++)
        into->bits[i] |= from->bits[i];
}

static bool walk_sub(walk *w, uint32_t sub_index, const cw_json *v, marks *seen, const scope *sc,
                     const frame *up);

static bool walk_child(walk *w, const site *at, const cw_json *value, const cw_json *v,
                       const cw_json *name, int64_t index, marks *seen)
{
    const frame f = {at->frame, cw_json_text(at->key), name, index};
    return walk_sub(w, cw_schema_link(w->s, &w->s->subs[at->sub], value), v, seen, at->scope, &f);
}

/* A branch that may fail: what it has looked at counts only when it holds. */
static bool walk_branch(walk *w, const site *at, const cw_json *value, int64_t index)
{
    if (!at->seen)
        return walk_child(w, at, value, at->v, NULL, index, NULL);
    marks own;
    if (!marks_init(w, &own, at->v))
        return false;
    bool ok = walk_child(w, at, value, at->v, NULL, index, &own);
    if (ok)
        marks_merge(at->seen, &own);
    marks_done(w);
    return ok;
}

static bool quiet_branch(walk *w, const site *at, const cw_json *value)
{
    w->quiet++;
    bool ok = walk_branch(w, at, value, /* index= */ -1);
    w->quiet--;
    return ok;
}

static bool walk_all_of(walk *w, const site *at)
{
    bool ok = true;
    int64_t i = 0;
    for (const cw_json *c = cw_json_first(at->key + 1); c; c = cw_json_next(c), i++) {
        ok &= walk_child(w, at, c, at->v, NULL, i, at->seen);
        if (!ok && walk_enough(w))
            return false;
    }
    return ok;
}

/* Branches that failed are no problem when another one holds. */
static void drop_since(walk *w, uint64_t order)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->n; i++) {
        if (w->problems[i].order < order)
            w->problems[kept++] = w->problems[i];
    }
    w->n = kept;
}

/* anyOf and oneOf. The problems of the branches are one level down. */
static bool walk_alternatives(walk *w, const site *at, bool only_one)
{
    uint64_t before = w->order;
    uint32_t held = 0;
    int64_t i = 0;
    w->level++;
    for (const cw_json *c = cw_json_first(at->key + 1); c && !w->stop; c = cw_json_next(c), i++)
        held += walk_branch(w, at, c, i);
    w->level--;
    if (w->stop)
        return false;
    if (held > 0)
        drop_since(w, before);
    if (held == 0)
        return cw_schema_problem_add(w, at, CW_STR(""),
                                     "expected one of %u alternatives to match, got %s",
                                     cw_json_count(at->key + 1), cw_schema_type_text(at->v));
    if (only_one && held > 1)
        return cw_schema_problem_add(w, at, CW_STR(""),
                                     "expected exactly one alternative to match, got %u", held);
    return true;
}

static bool walk_not(walk *w, const site *at)
{
    w->quiet++;
    bool held = walk_child(w, at, at->key + 1, at->v, NULL, -1, NULL);
    w->quiet--;
    if (held)
        return cw_schema_problem_add(w, at, CW_STR(""), "must not match the schema of 'not'");
    return !w->stop;
}

static bool walk_if(walk *w, const site *at)
{
    bool held = quiet_branch(w, at, at->key + 1);
    if (w->stop)
        return false;
    const keyword *next = find_keyword(w->s, at->sub, held ? KW_THEN : KW_ELSE);
    if (!next)
        return true;
    site there = *at;
    there.key = next->key;
    return walk_child(w, &there, next->key + 1, at->v, NULL, -1, at->seen);
}

/* The outermost resource around us that has the dynamic anchor. */
static uint32_t dynamic_target(walk *w, const site *at, uint32_t target)
{
    const cw_schema *s = w->s;
    cw_str name = cw_schema_dynamic_at(s, target)->name;
    uint32_t found = target;
    for (const scope *sc = at->scope; sc; sc = sc->up) {
        if (!walk_charge(w, s->n_dynamics))
            return target;
        for (uint32_t i = 0; i < s->n_dynamics; i++) {
            if (s->dynamics[i].resource == sc->resource && cw_str_eq(s->dynamics[i].name, name))
                found = s->dynamics[i].sub;
        }
    }
    return found;
}

static bool walk_reference(walk *w, const site *at, kw_id id)
{
    const frame f = {at->frame, cw_json_text(at->key), NULL, -1};
    uint32_t target = cw_schema_link(w->s, &w->s->subs[at->sub], at->key + 1);
    if (id == KW_DYNAMIC_REF)
        target = dynamic_target(w, at, target);
    return walk_sub(w, target, at->v, at->seen, at->scope, &f);
}

static bool walk_unevaluated(walk *w, const site *at, bool objects)
{
    if (!cw_json_is(at->v, objects ? CW_JSON_OBJECT : CW_JSON_ARRAY))
        return true;
    bool ok = true;
    uint32_t i = 0;
    for (const cw_json *c = cw_json_first(at->v); c; c = cw_json_next(c + objects), i++) {
        if (at->seen->bits[i / 64] >> i % 64 & 1u)
            continue;
        ok &= walk_child(w, at, at->key + 1, c + objects, NULL, -1, NULL);
        mark(at->seen, i);
        if (!ok && walk_enough(w))
            return false;
    }
    return ok;
}

static bool walk_keyword(walk *w, const site *at, kw_id id)
{
    switch (id) {
    case KW_REF:
    case KW_DYNAMIC_REF:
        return walk_reference(w, at, id);
    case KW_ALL_OF:
        return walk_all_of(w, at);
    case KW_ANY_OF:
        return walk_alternatives(w, at, /* only_one= */ false);
    case KW_ONE_OF:
        return walk_alternatives(w, at, /* only_one= */ true);
    case KW_NOT:
        return walk_not(w, at);
    case KW_IF:
        return walk_if(w, at);
    case KW_UNEVALUATED_ITEMS:
        return walk_unevaluated(w, at, /* objects= */ false);
    case KW_UNEVALUATED_PROPERTIES:
        return walk_unevaluated(w, at, /* objects= */ true);
    default:
        break;
    }
    if (id >= KW_MAX_ITEMS && id <= KW_ADDITIONAL_ITEMS)
        return !cw_json_is(at->v, CW_JSON_ARRAY) || walk_array(w, at, id);
    if (id >= KW_MAX_PROPERTIES && id <= KW_PROPERTY_NAMES)
        return !cw_json_is(at->v, CW_JSON_OBJECT) || walk_object(w, at, id);
    return walk_scalar(w, at, id);
}

static bool is_unevaluated(kw_id id)
{
    return id == KW_UNEVALUATED_ITEMS || id == KW_UNEVALUATED_PROPERTIES;
}

static bool has_unevaluated(const cw_schema *s, const sub *here)
{
    for (uint32_t i = 0; i < here->count; i++) {
        if (is_unevaluated(s->keywords[here->first + i].id))
            return true;
    }
    return false;
}

/* When a keyword's turn is: what is wrong with the value itself is found before what is wrong
 * inside it, and those that ask what others have seen come last. */
static int round_of(kw_id id)
{
    switch (id) {
    case KW_PROPERTIES:
    case KW_PATTERN_PROPERTIES:
    case KW_ADDITIONAL_PROPERTIES:
    case KW_PROPERTY_NAMES:
    case KW_PREFIX_ITEMS:
    case KW_ITEMS:
    case KW_ADDITIONAL_ITEMS:
        return 1;
    default:
        return is_unevaluated(id) ? 2 : 0;
    }
}

static bool walk_keywords(walk *w, site *at)
{
    const cw_schema *s = w->s;
    const sub *here = &s->subs[at->sub];
    bool ok = true;
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < here->count && !w->stop; i++) {
            const keyword *k = &s->keywords[here->first + i];
            if (round_of(k->id) != round)
                continue;
            at->key = k->key;
            ok &= walk_keyword(w, at, k->id);
            if (!ok && walk_enough(w))
                return false;
        }
    }
    return ok && !w->stop;
}

static bool walk_object_schema(walk *w, const site *at)
{
    const cw_schema *s = w->s;
    const sub *schema = &s->subs[at->sub];
    const scope inner = {at->scope, schema->resource};
    site here = *at;
    if (!at->scope || at->scope->resource != schema->resource)
        here.scope = &inner;
    marks own;
    bool tracks = has_unevaluated(s, schema);
    if (tracks) {
        if (!marks_init(w, &own, at->v))
            return false;
        here.seen = &own;
    }
    bool ok = walk_keywords(w, &here);
    if (tracks && at->seen && ok)
        marks_merge(at->seen, &own);
    if (tracks)
        marks_done(w);
    return ok;
}

/* The walk. */
static bool walk_sub(walk *w, uint32_t sub_index, const cw_json *v, marks *seen, const scope *sc,
                     const frame *up)
{
    if (w->stop || w->is_full)
        return false;
    if (w->depth == 0)
        return cw_schema_walk_stop(w, CW_LIMIT);
    if (!walk_charge(w, WALK_STEPS + w->s->subs[sub_index].count * KEYWORD_STEPS))
        return false;
    site at = {.sub = sub_index, .v = v, .seen = seen, .scope = sc, .frame = up};
    const cw_json *schema = w->s->subs[sub_index].value;
    if (cw_json_is(schema, CW_JSON_TRUE))
        return true;
    if (cw_json_is(schema, CW_JSON_FALSE))
        return walk_scalar(w, &at, KW_EVALUATED);
    w->depth--;
    bool ok = walk_object_schema(w, &at);
    w->depth++;
    return ok;
}

cw_code cw_schema_explain(const cw_schema *s, const cw_json *instance,
                          const cw_schema_explain_opts *opts, cw_arena *arena,
                          cw_schema_report *ret, cw_err *err)
{
    walk w = {.s = s, .root = instance, .arena = arena};
    int64_t *left = opts ? opts->steps : NULL;
    int64_t most = left && *left < s->max_steps ? *left : s->max_steps;
    w.steps = most;
    w.depth = s->max_recursion;
    w.max = opts && opts->max_problems ? opts->max_problems : 16;
    if (w.max > CW_SCHEMA_MAX_PROBLEMS)
        w.max = CW_SCHEMA_MAX_PROBLEMS;
    w.nested = opts && opts->nested;
    w.problems = cw_arena_alloc(arena, (w.max + 1) * sizeof w.problems[0]);
    if (!w.problems)
        return cw_arena_fail(arena, err);
    cw_schema_scratch_init(&w.scratch);
    bool ok = walk_sub(&w, s->root, instance, NULL, NULL, NULL);
    cw_schema_scratch_done(&w.scratch);
    if (left)
        *left -= most - w.steps;
    /* Problems found before a limit stay valid. */
    if (w.stop == CW_LIMIT && w.total > 0)
        w.stop = CW_OK;
    if (w.stop)
        return cw_fail(err, w.stop, "validating: %s", cw_code_text(w.stop));
    *ret = (cw_schema_report){ok, w.problems, w.n, w.total};
    if (ok)
        return CW_OK;
    return cw_fail(err, CW_PARAMS, "%.*s", w.n ? (int)w.problems[0].message.n : 7,
                   w.n ? w.problems[0].message.p : "invalid");
}
