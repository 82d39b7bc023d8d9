/* SPDX-License-Identifier: GPL-2.0-or-later */
/* equal.c - JSON Schema's idea of equality, and a hash that agrees with it.
 *
 * Recursion is bounded: no document is deeper than CW_JSON_DEPTH_CEILING.
 * Members are compared pairwise while both objects name them in the same order,
 * which is the usual case; only the rest is looked up, so no value is ever
 * compared twice and nesting cannot multiply the work.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/map.h"
#include "json/decimal.h"

/* Up to this many members are found by searching. */
#define SEARCHED 16u

/* The keys of one object by seeded hash: open addressing, at most half full. */
typedef struct key_index {
    const cw_json **slots; /* NULL: search instead */
    size_t mask;
} key_index;

static bool equal_values(const cw_json *a, const cw_json *b, unsigned depth);
static uint64_t hash_value(const cw_json *v, unsigned depth);

static bool same_name(const cw_json *a, const cw_json *b)
{
    return cw_json_key_is(a, cw_str_make(b->p, b->n), b->meta >> 8);
}

/* Index the members from `first` on. Without memory the index stays empty, which is only slower. */
static void index_init(key_index *index, const cw_json *first, size_t members)
{
    *index = (key_index){0};
    if (members <= SEARCHED)
        return;
    size_t cap = 2 * SEARCHED;
    while (cap < 2 * members)
        cap *= 2;
    index->slots = calloc(cap, sizeof index->slots[0]);
    if (!index->slots)
        return;
    index->mask = cap - 1;
    for (const cw_json *k = first; k; k = cw_json_next_key(k)) {
        size_t i = cw_hash(cw_json_text(k)) & index->mask;
        while (index->slots[i])
            i = (i + 1) & index->mask;
        index->slots[i] = k;
    }
}

static const cw_json *index_find(const key_index *index, const cw_json *first, const cw_json *name)
{
    if (!index->slots) {
        const cw_json *k = first;
        while (k && !same_name(k, name))
            k = cw_json_next_key(k);
        return k;
    }
    size_t i = cw_hash(cw_json_text(name)) & index->mask;
    while (index->slots[i] && !same_name(index->slots[i], name))
        i = (i + 1) & index->mask;
    return index->slots[i];
}

/* Whether the members from `a` on are those from `b` on, in any order. As many on both sides, and
 * names are unique, so it is enough to find each of one in the other. */
static bool equal_unordered(const cw_json *a, const cw_json *b, size_t members, unsigned depth)
{
    key_index index;
    index_init(&index, b, members);
    bool equal = true;
    for (const cw_json *k = a; k && equal; k = cw_json_next_key(k)) {
        const cw_json *other = index_find(&index, b, k);
        equal = other && equal_values(k + 1, other + 1, depth);
    }
    free(index.slots);
    return equal;
}

static bool equal_objects(const cw_json *a, const cw_json *b, unsigned depth)
{
    size_t left = cw_json_count(a);
    const cw_json *k = cw_json_first(a);
    const cw_json *l = cw_json_first(b);
    while (k && same_name(k, l)) {
        if (!equal_values(k + 1, l + 1, depth))
            return false;
        k = cw_json_next_key(k);
        l = cw_json_next_key(l);
        left--;
    }
    return equal_unordered(k, l, left, depth);
}

static bool equal_arrays(const cw_json *a, const cw_json *b, unsigned depth)
{
    const cw_json *w = cw_json_first(b);
    for (const cw_json *v = cw_json_first(a); v; v = cw_json_next(v), w = cw_json_next(w)) {
        if (!equal_values(v, w, depth))
            return false;
    }
    return true;
}

static bool equal_values(const cw_json *a, const cw_json *b, unsigned depth)
{
    assert(depth <= CW_JSON_DEPTH_CEILING);
    cw_json_type type = cw_json_type_of(a);
    if (type != cw_json_type_of(b))
        return false;
    if (type == CW_JSON_STRING)
        return cw_str_eq(cw_json_text(a), cw_json_text(b));
    if (type == CW_JSON_NUMBER)
        return cw_str_eq(cw_json_text(a), cw_json_text(b)) || cw_json_compare_numbers(a, b) == 0;
    if (cw_json_count(a) != cw_json_count(b))
        return false;
    if (type == CW_JSON_ARRAY)
        return equal_arrays(a, b, depth + 1);
    return type != CW_JSON_OBJECT || equal_objects(a, b, depth + 1);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t pair[2] = {a, b};
    return cw_hash(cw_str_make((const char *)pair, sizeof pair));
}

/* Digits and the power of ten of the last one, modulo 2^64: both are the same for equal numbers,
 * however they are spelled. */
static uint64_t hash_number(const cw_json *v)
{
    decimal d;
    cw_json_decimal_split(v, &d);
    if (d.count == 0)
        return mix(CW_JSON_NUMBER, 0);
    uint64_t exponent = 0;
    for (size_t i = 0; i < d.exp.n; i++)
        exponent = exponent * 10 + (uint64_t)(d.exp.p[i] - '0');
    if (d.exp_negative)
        exponent = -exponent;
    uint64_t hash = mix(exponent + (uint64_t)d.point, d.negative);

    const char *dot = memchr(d.first, '.', (size_t)(d.last - d.first));
    char part[64];
    size_t n = 0;
    for (const char *p = d.first; p < d.last; p++) {
        if (p == dot)
            continue;
        part[n++] = *p;
        if (n == sizeof part) {
            hash = mix(hash, cw_hash(cw_str_make(part, n)));
            n = 0;
        }
    }
    return mix(hash, cw_hash(cw_str_make(part, n)));
}

static uint64_t hash_object(const cw_json *v, unsigned depth)
{
    /* A sum does not depend on order; its terms are seeded, so clients cannot choose it. */
    uint64_t sum = cw_json_count(v);
    for (const cw_json *k = cw_json_first(v); k; k = cw_json_next_key(k))
        sum += mix(cw_hash(cw_json_text(k)), hash_value(k + 1, depth));
    return mix(CW_JSON_OBJECT, sum);
}

static uint64_t hash_array(const cw_json *v, unsigned depth)
{
    uint64_t hash = mix(CW_JSON_ARRAY, cw_json_count(v));
    for (const cw_json *e = cw_json_first(v); e; e = cw_json_next(e))
        hash = mix(hash, hash_value(e, depth));
    return hash;
}

static uint64_t hash_value(const cw_json *v, unsigned depth)
{
    assert(depth <= CW_JSON_DEPTH_CEILING);
    switch (cw_json_type_of(v)) {
    case CW_JSON_STRING:
        return mix(CW_JSON_STRING, cw_hash(cw_json_text(v)));
    case CW_JSON_NUMBER:
        return hash_number(v);
    case CW_JSON_ARRAY:
        return hash_array(v, depth + 1);
    case CW_JSON_OBJECT:
        return hash_object(v, depth + 1);
    case CW_JSON_NULL:
    case CW_JSON_FALSE:
    case CW_JSON_TRUE:
    case CW_JSON_END:
        break;
    }
    return mix((uint64_t)cw_json_type_of(v), 0);
}

bool cw_json_equal(const cw_json *a, const cw_json *b)
{
    return equal_values(a, b, /* depth= */ 0);
}

uint64_t cw_json_hash(const cw_json *v)
{
    return hash_value(v, /* depth= */ 0);
}
