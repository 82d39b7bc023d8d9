/* SPDX-License-Identifier: GPL-2.0-or-later */
/* explain_scalar.c - types, values, numbers and strings, exhaustively. */
#include "schema/explain/walk.h"

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
    if (!cw_schema_walk_charge(w, cw_schema_equal_steps(at->key + 1, at->v)))
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
        if (!cw_schema_walk_charge(w, cw_schema_equal_steps(v, at->v)))
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
        nearest = cw_schema_nearest(w, list, NULL, cw_json_text(at->v));
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
    if (!cw_schema_walk_charge(w, ((uint64_t)at->v->n + limit->n) / 8))
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
    if (!cw_schema_walk_charge(w, at->v->n / 32))
        return false;
    size_t n = cw_schema_code_points(cw_json_text(at->v));
    int order = cw_schema_compare_count((uint32_t)n, at->key + 1);
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
    if (!cw_schema_walk_charge(
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
    cw_str nearest = cw_schema_nearest(w, names_of, object, cw_json_text(key));
    return cw_schema_problem_add(w, at, nearest, "unknown property '%.*s'",
                                 CW_STR_ARG(cw_json_text(key)));
}

bool cw_schema_walk_scalar(walk *w, const site *at, kw_id id)
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
