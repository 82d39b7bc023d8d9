/* SPDX-License-Identifier: GPL-2.0-or-later */
/* leaf.c - operations that look at one value and at no other schema. */
#include "schema/eval/eval_int.h"

CW_NOINLINE bool cw_schema_run_stop(run *r, cw_code code)
{
    if (!r->stop)
        r->stop = code;
    return false;
}

CW_INLINE bool length_ok(run *r, const op_length *op, const cw_json *v)
{
    uint32_t n = v->n;
    if (CW_LIKELY(length_sure(op, v)))
        return true;
    /* A character is 1 to 4 bytes long. */
    if (n < op->min || n / 4 > op->max || !charge(r, n / 32))
        return false;
    size_t points = cw_schema_code_points(cw_str_make(v->p, n));
    return points >= op->min && points <= op->max;
}

/* Floor and ceiling of a number without exponent and with at most 18 characters. */
CW_INLINE bool whole_parts(const cw_json *v, int64_t *ret_floor, int64_t *ret_ceiling)
{
    if ((v->meta & CW_JSON_EXPONENT) || v->n > 18)
        return false;
    const char *p = v->p;
    const char *end = p + v->n;
    bool negative = v->meta & CW_JSON_NEGATIVE;
    p += negative;
    int64_t whole = 0;
    for (; p < end && *p != '.'; p++)
        whole = whole * 10 + (*p - '0');
    bool rest = false;
    for (p++; p < end; p++)
        rest |= *p != '0';
    *ret_floor = negative ? -whole - rest : whole;
    *ret_ceiling = negative ? -whole : whole + rest;
    return true;
}

/* Digits of the value and of a bound are compared one by one. */
static bool charge_digits(run *r, const cw_json *v, const cw_json *bound)
{
    return charge(r, 1 + ((uint64_t)v->n + bound->n) / 8);
}

static bool range_slowly(run *r, const op_range *op, const cw_json *v)
{
    const cw_json *const *consts = r->s->consts;
    const uint32_t *at = op->consts;
    for (unsigned i = 0; i < CW_COUNT(op->consts); i++) {
        if (at[i] && !charge_digits(r, v, consts[at[i]]))
            return false;
    }
    return (!at[0] || cw_json_compare_numbers(v, consts[at[0]]) >= 0) &&
           (!at[1] || cw_json_compare_numbers(v, consts[at[1]]) > 0) &&
           (!at[2] || cw_json_compare_numbers(v, consts[at[2]]) <= 0) &&
           (!at[3] || cw_json_compare_numbers(v, consts[at[3]]) < 0);
}

CW_INLINE int64_t bound(const op_range *op, int i)
{
    int64_t x;
    memcpy(&x, &op->bounds[2 * i], sizeof x);
    return x;
}

static bool range_ok(run *r, const op_range *op, const cw_json *v)
{
    int64_t floor;
    int64_t ceiling;
    if (!whole_parts(v, &floor, &ceiling))
        return range_slowly(r, op, v);
    return floor >= bound(op, 0) && ceiling >= bound(op, 1) && ceiling <= bound(op, 2) &&
           floor <= bound(op, 3);
}

static bool bound_ok(run *r, const op_bound *op, const cw_json *v)
{
    if (!charge_digits(r, v, r->s->consts[op->index]))
        return false;
    int order = cw_json_compare_numbers(v, r->s->consts[op->index]);
    switch (op->keyword) {
    case KW_MINIMUM:
        return order >= 0;
    case KW_MAXIMUM:
        return order <= 0;
    case KW_EXCLUSIVE_MINIMUM:
        return order > 0;
    default:
        return order < 0;
    }
}

static bool multiple_ok(run *r, const op_index *op, const cw_json *v)
{
    bool ok = cw_schema_is_multiple(v, r->s->consts[op->index], &r->steps);
    return r->steps < 0 ? cw_schema_run_stop(r, CW_LIMIT) : ok;
}

static bool consts_ok(run *r, const op_consts *op, const cw_json *v)
{
    for (uint32_t i = 0; i < op->n; i++) {
        const cw_json *c = r->s->consts[op->first + i];
        if (!charge(r, cw_schema_equal_steps(c, v)))
            return false;
        if (cw_json_equal(c, v))
            return true;
    }
    return false;
}

bool cw_schema_run_pattern(run *r, uint32_t index, const cw_json *text)
{
    cw_str t = cw_str_make(text->p, text->n);
    cw_pattern_match m = cw_pattern_test(r->s->patterns[index], t, &r->steps);
    if (CW_UNLIKELY(m == CW_PATTERN_TOO_HARD))
        return cw_schema_run_stop(r, CW_LIMIT);
    return m == CW_PATTERN_YES;
}

static bool format_ok(run *r, const op_index *op, const cw_json *v)
{
    bool ok = cw_format_test(r->s->formats[op->index], cw_str_make(v->p, v->n), &r->steps);
    return r->steps < 0 ? cw_schema_run_stop(r, CW_LIMIT) : ok;
}

CW_INLINE bool strings_ok(run *r, const op_strings *op, const cw_json *v)
{
    if (!charge(r, op->lookup))
        return false;
    uint32_t hash = cw_json_key_hash(cw_str_make(v->p, v->n)) << 8;
    const slot *table = (const slot *)(const void *)(r->code + op->slots);
    return find_slot(r->code, table, op->shift, op->mask, hash, v)->hash;
}

CW_INLINE bool same_ok(run *r, const op_same *op, const cw_json *v)
{
    r->steps -= op->n / 128;
    return v->n == op->n && same_bytes((const char *)(r->code + op->at), v->p, op->n);
}

bool cw_schema_run_leaf(run *r, const uint32_t *op, const cw_json *v)
{
    for (;;) {
        bool ok;
        size_t words;
        if (!charge(r, 1))
            return false;
        switch ((op_code)*op) {
        case OP_LENGTH:
            ok = length_ok(r, OPERAND(op_length), v);
            words = WORDS(op_length);
            break;
        case OP_PATTERN:
            ok = cw_schema_run_pattern(r, op[1], v);
            words = WORDS(op_index);
            break;
        case OP_FORMAT:
            ok = format_ok(r, OPERAND(op_index), v);
            words = WORDS(op_index);
            break;
        case OP_SAME:
            ok = same_ok(r, OPERAND(op_same), v);
            words = WORDS(op_same);
            break;
        case OP_STRINGS:
            ok = strings_ok(r, OPERAND(op_strings), v);
            words = WORDS(op_strings);
            break;
        case OP_CONSTS:
            ok = consts_ok(r, OPERAND(op_consts), v);
            words = WORDS(op_consts);
            break;
        case OP_SIGN:
            ok = true;
            words = WORDS(op_sign) + (sign_sure(OPERAND(op_sign), v) ? WORDS(op_range) : 0);
            break;
        case OP_RANGE:
            ok = range_ok(r, OPERAND(op_range), v);
            words = WORDS(op_range);
            break;
        case OP_BOUND:
            ok = bound_ok(r, OPERAND(op_bound), v);
            words = WORDS(op_bound);
            break;
        case OP_MULTIPLE:
            ok = multiple_ok(r, OPERAND(op_index), v);
            words = WORDS(op_index);
            break;
        default: /* OP_END */
            return true;
        }
        if (!ok)
            return false;
        op += words;
        if (*op == OP_END)
            return true;
    }
}
