/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unique.c - uniqueItems: pairs for short arrays, a table by seeded hash for long ones. */
#include "schema/model/model.h"

#define PAIRS_MAX 6u
#define ENTRY_STEPS 4 /* to compare or hash an entry of a tape */

typedef struct slot {
    uint64_t hash;
    const cw_json *v; /* NULL: empty */
} slot;

static bool pairs(const cw_json *array, const cw_json **ret_first, const cw_json **ret_second)
{
    for (const cw_json *a = cw_json_first(array); a; a = cw_json_next(a)) {
        for (const cw_json *b = cw_json_next(a); b; b = cw_json_next(b)) {
            if (cw_json_equal(a, b)) {
                *ret_first = a;
                *ret_second = b;
                return false;
            }
        }
    }
    return true;
}

static bool hashed(const cw_json *array, slot *slots, size_t mask, const cw_json **ret_first,
                   const cw_json **ret_second)
{
    for (const cw_json *v = cw_json_first(array); v; v = cw_json_next(v)) {
        uint64_t hash = cw_json_hash(v);
        size_t i = hash & mask;
        for (; slots[i].v; i = (i + 1) & mask) {
            if (slots[i].hash == hash && cw_json_equal(slots[i].v, v)) {
                *ret_first = slots[i].v;
                *ret_second = v;
                return false;
            }
        }
        slots[i] = (slot){hash, v};
    }
    return true;
}

uint64_t cw_schema_equal_steps(const cw_json *a, const cw_json *b)
{
    cw_json_type type = cw_json_type_of(a);
    if (type != cw_json_type_of(b))
        return 1;
    if (type != CW_JSON_ARRAY && type != CW_JSON_OBJECT)
        return 1 + (uint64_t)(a->n < b->n ? a->n : b->n) / 16;
    if (cw_json_count(a) != cw_json_count(b))
        return 1;
    size_t bytes = cw_json_span(a).n;
    size_t other = cw_json_span(b).n;
    return (uint64_t)(a->n < b->n ? a->n : b->n) * ENTRY_STEPS +
           (bytes < other ? bytes : other) / 16;
}

int cw_schema_all_unique(const cw_json *array, cw_schema_scratch *scratch, int64_t *steps,
                         const cw_json **ret_first, const cw_json **ret_second)
{
    size_t n = cw_json_count(array);
    /* Each entry below it is looked at a few times, and so is each byte. */
    *steps -= (int64_t)array->n * ENTRY_STEPS + (int64_t)(cw_json_span(array).n / 16);
    if (*steps < 0)
        return true;
    if (n <= PAIRS_MAX)
        return pairs(array, ret_first, ret_second);
    size_t cap = 16;
    while (cap < 2 * n)
        cap *= 2;
    slot *slots = cw_schema_scratch_push(scratch, cap * sizeof slots[0]);
    if (!slots)
        return -1;
    memset(slots, 0, cap * sizeof slots[0]);
    bool unique = hashed(array, slots, cap - 1, ret_first, ret_second);
    cw_schema_scratch_pop(scratch);
    return unique;
}
