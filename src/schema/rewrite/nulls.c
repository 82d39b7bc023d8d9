/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nulls.c - copies a value and leaves out members that are null and need not be there. */
#include "schema/rewrite/nulls.h"

#include "schema/model/model.h"

#define MAX_SUBS 32u  /* that apply to one value; with more of them it is copied as it is */
#define MAX_DEPTH 16u /* of subs that apply to one value */

/* The subs that apply to one value. */
typedef struct place {
    uint32_t n;
    bool is_full;
    uint32_t subs[MAX_SUBS];
    bool are_certain[MAX_SUBS]; /* not a branch that may not apply */
} place;

typedef struct copier {
    const cw_schema *s;
    cw_buf *out;
    int64_t *steps;
    uint32_t n_dropped;
} copier;

static const keyword *keyword_of(const cw_schema *s, const sub *at, kw_id id)
{
    for (uint32_t i = 0; i < at->count; i++) {
        if (s->keywords[at->first + i].id == id)
            return &s->keywords[at->first + i];
    }
    return NULL;
}

/* ---- schemas that accept null ---- */

static bool may_take_null(const cw_schema *s, uint32_t index, uint32_t depth, int64_t *steps);

static bool is_null_among(const cw_json *list)
{
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v)) {
        if (cw_json_is(v, CW_JSON_NULL))
            return true;
    }
    return false;
}

/* The number of schemas of a list that may accept null. */
static uint32_t count_takers(const cw_schema *s, const sub *at, const cw_json *list, uint32_t depth,
                             int64_t *steps)
{
    uint32_t n = 0;
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v))
        n += may_take_null(s, cw_schema_link(s, at, v), depth + 1, steps);
    return n;
}

static bool keyword_takes_null(const cw_schema *s, const sub *at, const keyword *k, uint32_t depth,
                               int64_t *steps)
{
    const cw_json *v = k->key + 1;
    switch (k->id) {
    case KW_TYPE:
        return (cw_schema_type_bits(v) & TYPE_BIT(CW_JSON_NULL)) != 0;
    case KW_CONST:
        return cw_json_is(v, CW_JSON_NULL);
    case KW_ENUM:
        return is_null_among(v);
    case KW_REF:
        return may_take_null(s, cw_schema_link(s, at, v), depth + 1, steps);
    case KW_ALL_OF:
        return count_takers(s, at, v, depth, steps) == cw_json_count(v);
    case KW_ANY_OF:
    case KW_ONE_OF:
        return count_takers(s, at, v, depth, steps) > 0;
    default:
        return true;
    }
}

static bool may_take_null(const cw_schema *s, uint32_t index, uint32_t depth, int64_t *steps)
{
    const sub *at = &s->subs[index];
    *steps -= 1 + at->count;
    if (depth == MAX_DEPTH || *steps < 0)
        return true;
    if (cw_json_is(at->value, CW_JSON_FALSE))
        return false;
    for (uint32_t i = 0; i < at->count; i++) {
        if (!keyword_takes_null(s, at, &s->keywords[at->first + i], depth, steps))
            return false;
    }
    return true;
}

bool cw_schema_takes_null(const cw_schema *s, int64_t *steps)
{
    return may_take_null(s, s->root, 0, steps);
}

/* ---- places ---- */

static void add_sub(const cw_schema *s, place *at, uint32_t index, bool is_certain, uint32_t depth);

static void add_list(const cw_schema *s, place *at, const sub *owner, const cw_json *list,
                     bool is_certain, uint32_t depth)
{
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v))
        add_sub(s, at, cw_schema_link(s, owner, v), is_certain, depth);
}

/* A sub and those that it applies to the same value. */
static void add_sub(const cw_schema *s, place *at, uint32_t index, bool is_certain, uint32_t depth)
{
    const sub *one = &s->subs[index];
    for (uint32_t i = 0; i < at->n; i++) {
        if (at->subs[i] == index && (at->are_certain[i] || !is_certain))
            return;
    }
    if (at->n == MAX_SUBS || depth == MAX_DEPTH) {
        at->is_full = true;
        return;
    }
    at->subs[at->n] = index;
    at->are_certain[at->n++] = is_certain;
    for (uint32_t i = 0; i < one->count && !at->is_full; i++) {
        const keyword *k = &s->keywords[one->first + i];
        const cw_json *v = k->key + 1;
        if (k->id == KW_REF)
            add_sub(s, at, cw_schema_link(s, one, v), is_certain, depth + 1);
        else if (k->id == KW_ALL_OF)
            add_list(s, at, one, v, is_certain, depth + 1);
        else if (k->id == KW_ANY_OF || k->id == KW_ONE_OF)
            add_list(s, at, one, v, /* is_certain= */ false, depth + 1);
        else if (k->id == KW_THEN || k->id == KW_ELSE)
            add_sub(s, at, cw_schema_link(s, one, v), /* is_certain= */ false, depth + 1);
    }
}

/* ---- members ---- */

static bool is_named(const cw_json *names, cw_str name)
{
    for (const cw_json *v = cw_json_first(names); v; v = cw_json_next(v)) {
        if (cw_str_eq(cw_json_text(v), name))
            return true;
    }
    return false;
}

/* The place of a member; whether `properties` declares it, and whether it may be null or must be
 * there. */
static void enter_member(copier *c, const place *at, cw_str name, place *ret, bool *ret_declared,
                         bool *ret_stays)
{
    ret->n = 0;
    ret->is_full = at->is_full;
    for (uint32_t i = 0; i < at->n && !ret->is_full; i++) {
        const sub *one = &c->s->subs[at->subs[i]];
        const keyword *all = keyword_of(c->s, one, KW_PROPERTIES);
        const keyword *required = keyword_of(c->s, one, KW_REQUIRED);
        const keyword *rest = keyword_of(c->s, one, KW_ADDITIONAL_PROPERTIES);
        const cw_json *own = all ? cw_json_get(all->key + 1, name) : NULL;
        *c->steps -= 1 + (all ? cw_json_count(all->key + 1) / 8 : 0);
        if (own) {
            uint32_t index = cw_schema_link(c->s, one, own);
            *ret_declared = true;
            *ret_stays |= may_take_null(c->s, index, 0, c->steps);
            add_sub(c->s, ret, index, at->are_certain[i], 0);
        } else if (rest) {
            add_sub(c->s, ret, cw_schema_link(c->s, one, rest->key + 1), at->are_certain[i], 0);
        }
        if (at->are_certain[i] && required)
            *ret_stays |= is_named(required->key + 1, name);
    }
}

static void enter_item(const copier *c, const place *at, uint32_t index, place *ret)
{
    ret->n = 0;
    ret->is_full = at->is_full;
    for (uint32_t i = 0; i < at->n && !ret->is_full; i++) {
        const sub *one = &c->s->subs[at->subs[i]];
        const keyword *items = keyword_of(c->s, one, KW_ITEMS);
        const keyword *prefix = keyword_of(c->s, one, KW_PREFIX_ITEMS);
        const cw_json *v = prefix ? cw_json_at(prefix->key + 1, index) : NULL;
        if (!v && items)
            v = items->key + 1;
        if (cw_json_is(v, CW_JSON_ARRAY))
            v = cw_json_at(v, index);
        if (v)
            add_sub(c->s, ret, cw_schema_link(c->s, one, v), at->are_certain[i], 0);
    }
}

static void copy(copier *c, const cw_json *v, const place *at);

static void copy_members(copier *c, const cw_json *object, const place *at)
{
    char separator = '{';
    for (const cw_json *k = cw_json_first(object); k && *c->steps >= 0; k = cw_json_next_key(k)) {
        CW_UNINIT place below;
        bool is_declared = false, stays = false;
        enter_member(c, at, cw_json_text(k), &below, &is_declared, &stays);
        if (cw_json_is(k + 1, CW_JSON_NULL) && is_declared && !stays && !at->is_full) {
            c->n_dropped++;
            continue;
        }
        cw_buf_add_char(c->out, separator);
        separator = ',';
        cw_buf_add(c->out, cw_json_span(k));
        cw_buf_add_char(c->out, ':');
        copy(c, k + 1, &below);
    }
    cw_buf_add(c->out, separator == '{' ? CW_STR("{}") : CW_STR("}"));
}

/* As deep as the value, whose reader has a limit. */
static void copy(copier *c, const cw_json *v, const place *at)
{
    bool is_array = cw_json_is(v, CW_JSON_ARRAY);
    --*c->steps;
    if (!at->n || at->is_full || !(is_array || cw_json_is(v, CW_JSON_OBJECT))) {
        cw_buf_add(c->out, cw_json_span(v));
        return;
    }
    if (!is_array) {
        copy_members(c, v, at);
        return;
    }
    char separator = '[';
    uint32_t i = 0;
    for (const cw_json *item = cw_json_first(v); item && *c->steps >= 0;
         item = cw_json_next(item)) {
        CW_UNINIT place below;
        enter_item(c, at, i++, &below);
        cw_buf_add_char(c->out, separator);
        separator = ',';
        copy(c, item, &below);
    }
    cw_buf_add(c->out, separator == '[' ? CW_STR("[]") : CW_STR("]"));
}

cw_code cw_schema_write_without_nulls(const cw_schema *s, const cw_json *value, cw_buf *out,
                                      uint32_t *n, int64_t *steps)
{
    int64_t left = *steps;
    copier c = {.s = s, .out = out, .steps = &left};
    CW_UNINIT place at;
    at.n = 0;
    at.is_full = false;
    add_sub(s, &at, s->root, /* is_certain= */ true, 0);
    copy(&c, value, &at);
    *n += c.n_dropped;
    *steps = left;
    return left < 0 ? CW_LIMIT : out->code;
}
