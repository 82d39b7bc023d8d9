/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eval_int.h - the evaluator's state, and what its hot loops (eval.c) and leaves (leaf.c) share. */
#ifndef CW_SCHEMA_EVAL_EVAL_INT_H
#define CW_SCHEMA_EVAL_EVAL_INT_H

#include "schema/model/program.h"

typedef struct run {
    const uint32_t *code;
    const cw_schema *s;
    int64_t steps;
    uint32_t depth;
    cw_code stop; /* not CW_OK: no verdict any more */
    cw_schema_scratch *scratch;
} run;

/* False, with the reason noted. */
bool cw_schema_run_stop(run *r, cw_code code);
/* A list that evaluates no other schema. */
bool cw_schema_run_leaf(run *r, const uint32_t *op, const cw_json *v);
bool cw_schema_run_pattern(run *r, uint32_t index, const cw_json *text);

/* `n` steps at once. */
CW_INLINE bool charge(run *r, uint64_t n)
{
    return CW_LIKELY((r->steps -= (int64_t)n) >= 0) || cw_schema_run_stop(r, CW_LIMIT);
}

/* memcmp for names, most of which are short. */
CW_INLINE bool same_bytes(const char *a, const char *b, uint32_t n)
{
    if (n >= 8) {
        if (n > 16)
            return memcmp(a, b, n) == 0;
        return cw_json_load8(a) == cw_json_load8(b) &&
               cw_json_load8(a + n - 8) == cw_json_load8(b + n - 8);
    }
    if (n >= 4)
        return cw_json_load4(a) == cw_json_load4(b) &&
               cw_json_load4(a + n - 4) == cw_json_load4(b + n - 4);
    return n == 0 || (a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1]);
}

CW_INLINE bool slot_is(const uint32_t *code, const slot *s, uint32_t wanted, const cw_json *text)
{
    return s->hash == wanted && s->n == text->n &&
           same_bytes((const char *)(code + s->at), text->p, s->n);
}

/* The slot of a name, or an empty one. `hash` is a key hash in the upper 24 bits. */
CW_INLINE const slot *find_slot(const uint32_t *code, const slot *table, uint32_t shift,
                                uint32_t mask, uint32_t hash, const cw_json *text)
{
    uint32_t wanted = hash >> 8 | SLOT_USED;
    uint32_t i = hash >> shift;
    const slot *s = table + i;
    /* Tables are sparse: the first slot mostly decides. */
    while (CW_UNLIKELY(!slot_is(code, s, wanted, text))) {
        if (CW_LIKELY(!s->hash))
            break;
        i = (i + 1) & mask;
        s = table + i;
    }
    return s;
}

/* Whether bytes alone say that the length is right. */
CW_INLINE bool length_sure(const op_length *op, const cw_json *v)
{
    return v->n >= op->enough && v->n <= op->max;
}

/* Whether a number is plainly at least 0, or 1: JSON has no leading zeros. */
CW_INLINE bool sign_sure(const op_sign *op, const cw_json *v)
{
    if (v->meta & CW_JSON_NEGATIVE)
        return false;
    return op->least == 0 || (*v->p != '0' && !(v->meta & CW_JSON_EXPONENT));
}

#define OPERAND(type) ((const type *)(const void *)op)

#endif
