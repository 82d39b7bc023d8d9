/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eval.c - runs the compiled program: returns valid or not, without reasons.
 *
 * The evaluator exists twice, from one text: plain, and full. Only the full one keeps the state
 * that unevaluated keywords and $dynamicRef need: marks on evaluated members, and the resources
 * around the current schema. Marks are a bit per member. A branch that may fail has marks of its
 * own; they are added to the outer ones if the branch is valid.
 *
 * A limit is neither valid nor invalid. It sets run.stop and returns false. An operation that
 * inverts or ignores a false (not, anyOf, if, ...) checks run.stop first.
 *
 * Every operation is a function of its own, which keeps the stack of a recursion small.
 */
#include "schema/model/program.h"

typedef struct run {
    const uint32_t *code;
    const cw_schema *s;
    int64_t steps;
    uint32_t depth;
    cw_code stop; /* not CW_OK: no verdict any more */
    cw_schema_scratch *scratch;
} run;

static bool run_stop(run *r, cw_code code);

/* `n` steps at once. */
CW_INLINE bool charge(run *r, uint64_t n)
{
    return CW_LIKELY((r->steps -= (int64_t)n) >= 0) || run_stop(r, CW_LIMIT);
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

/* ==== operations on one value ==== */

/* False, with the reason noted. */
CW_NOINLINE static bool run_stop(run *r, cw_code code)
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
    return r->steps < 0 ? run_stop(r, CW_LIMIT) : ok;
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

/* A list that evaluates no other schema. */
static bool run_pattern(run *r, uint32_t index, const cw_json *text)
{
    cw_str t = cw_str_make(text->p, text->n);
    cw_pattern_match m = cw_pattern_test(r->s->patterns[index], t, &r->steps);
    if (CW_UNLIKELY(m == CW_PATTERN_TOO_HARD))
        return run_stop(r, CW_LIMIT);
    return m == CW_PATTERN_YES;
}

static bool format_ok(run *r, const op_index *op, const cw_json *v)
{
    bool ok = cw_format_test(r->s->formats[op->index], cw_str_make(v->p, v->n), &r->steps);
    return r->steps < 0 ? run_stop(r, CW_LIMIT) : ok;
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

static bool run_leaf(run *r, const uint32_t *op, const cw_json *v)
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
            ok = run_pattern(r, op[1], v);
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

/* ==== operations with other schemas ==== */

typedef struct marks {
    uint64_t *bits;
    uint64_t few; /* the bits, when 64 are enough */
    uint32_t words;
} marks;

static bool eval_plain(run *r, uint32_t at, const cw_json *v);
static bool eval_full(run *r, uint32_t at, const cw_json *v, marks *seen, const scope *sc);

CW_INLINE bool child(run *r, target t, const cw_json *v, marks *seen, const scope *sc,
                     const bool full)
{
    if (t.types & TARGET_NODE)
        return full ? eval_full(r, t.to, v, seen, sc) : eval_plain(r, t.to, v);
    if (!cw_schema_has_type(t.types, v))
        return false;
    return !t.to || run_leaf(r, r->code + t.to, v);
}

/* The same for loops over members and items, with the commonest leaves on the spot: a length that
 * bytes decide, and a number that is plainly not negative. */
CW_INLINE bool child_inline(run *r, target t, const cw_json *v, const scope *sc, const bool full)
{
    if (t.types & TARGET_NODE)
        return full ? eval_full(r, t.to, v, NULL, sc) : eval_plain(r, t.to, v);
    if (!cw_schema_has_type(t.types, v))
        return false;
    if (!t.to)
        return true;
    const uint32_t *op = r->code + t.to;
    if (*op == OP_LENGTH && op[WORDS(op_length)] == OP_END && length_sure(OPERAND(op_length), v))
        return true;
    if (*op == OP_SIGN && sign_sure(OPERAND(op_sign), v) &&
        op[WORDS(op_sign) + WORDS(op_range)] == OP_END)
        return true;
    return run_leaf(r, op, v);
}

/* ------------------------------------------------------------------ marks */

CW_INLINE bool marks_init(run *r, marks *m, const cw_json *v)
{
    m->words = (cw_json_count(v) + 63) / 64;
    m->few = 0;
    m->bits = &m->few;
    if (CW_LIKELY(m->words <= 1))
        return true;
    if (!charge(r, m->words))
        return false;
    m->bits = cw_schema_scratch_push(r->scratch, m->words * sizeof m->bits[0]);
    if (!m->bits)
        return run_stop(r, CW_NOMEM);
    memset(m->bits, 0, m->words * sizeof m->bits[0]);
    return true;
}

CW_INLINE void marks_done(run *r, const marks *m)
{
    if (CW_UNLIKELY(m->words > 1))
        cw_schema_scratch_pop(r->scratch);
}

CW_INLINE void marks_merge(marks *into, const marks *from)
{
    into->bits[0] |= from->bits[0];
    for (uint32_t i = 1; i < from->words; i++)
        into->bits[i] |= from->bits[i];
}

CW_INLINE void mark(marks *m, uint32_t i)
{
    m->bits[i / 64] |= UINT64_C(1) << i % 64;
}

CW_INLINE bool is_marked(const marks *m, uint32_t i)
{
    return m->bits[i / 64] >> i % 64 & 1u;
}

static bool marked_branch(run *r, target t, const cw_json *v, marks *seen, const scope *sc)
{
    CW_UNINIT marks own;
    if (!marks_init(r, &own, v))
        return false;
    bool ok = eval_full(r, t.to, v, &own, sc);
    if (ok)
        marks_merge(seen, &own);
    marks_done(r, &own);
    return ok;
}

/* A branch whose failure is not ours. */
CW_INLINE bool branch(run *r, target t, const cw_json *v, marks *seen, const scope *sc,
                      const bool full)
{
    if (full && seen && (t.types & TARGET_NODE))
        return marked_branch(r, t, v, seen, sc);
    return child(r, t, v, NULL, sc, full);
}

/* ---------------------------------------------------------------- objects */

static bool has_member(run *r, const cw_json *object, const name *n)
{
    cw_str text = cw_str_make((const char *)(r->code + n->at), n->n);
    uint32_t left = cw_json_count(object);
    r->steps -= left / 4;
    for (const cw_json *k = object + 1; left > 0; left--) {
        if (cw_json_key_is(k, text, n->hash))
            return true;
        k = cw_json_after(k + 1);
    }
    return false;
}

static bool needs_ok(run *r, const op_needs *op, const cw_json *v)
{
    if (!has_member(r, v, &op->trigger))
        return true;
    const name *names = (const name *)(const void *)(op + 1);
    for (uint32_t i = 0; i < op->n; i++) {
        if (r->steps < 0)
            return run_stop(r, CW_LIMIT);
        if (!has_member(r, v, &names[i]))
            return false;
    }
    return true;
}

/* With more than 64 required names the distinct ones are counted, which needs distinct members. */
static bool many_required(run *r, const op_object *op, const cw_json *v, uint32_t counted)
{
    if (!(v->meta & CW_JSON_UNCHECKED))
        return counted == op->required[0];
    const cw_json *n = cw_json_first(r->s->consts[op->required_const]);
    for (; n; n = cw_json_next(n)) {
        if (!charge(r, cw_json_count(v) / 4) || !cw_json_get(v, cw_json_text(n)))
            return false;
    }
    return true;
}

/* The patterns that a member's name matches; *ret_any whether there are any. */
CW_INLINE bool patterns_ok(run *r, const op_object *op, const cw_json *k, const scope *sc,
                           const bool full, bool *ret_any)
{
    const pattern_target *p = (const pattern_target *)(const void *)(r->code + op->patterns);
    if (!charge(r, op->n_patterns))
        return false;
    for (uint32_t i = 0; i < op->n_patterns; i++) {
        if (!run_pattern(r, p[i].pattern, k)) {
            if (r->stop)
                return false;
            continue;
        }
        *ret_any = true;
        if (!child(r, p[i].to, k + 1, NULL, sc, full))
            return false;
    }
    return true;
}

CW_INLINE uint64_t load_bits(const uint32_t pair[2])
{
    uint64_t bits;
    memcpy(&bits, pair, sizeof bits);
    return bits;
}

/* A table and nothing else. */
CW_INLINE bool table_ok(run *r, const op_object *op, const cw_json *v, marks *seen, const scope *sc,
                        const bool full)
{
    if (!charge(r, (uint64_t)(v->meta >> 8) * op->lookup))
        return false;
    const uint32_t *code = r->code;
    const slot *table = (const slot *)(const void *)(code + op->slots);
    uint32_t shift = op->shift;
    uint64_t missing = load_bits(op->required);
    const cw_json *k = v + 1;
    for (uint32_t i = 0; (k->meta & 7u) != CW_JSON_END; i++) {
        const slot *s = find_slot(code, table, shift, op->mask, k->meta, k);
        if (s->hash) {
            missing &= ~load_bits(s->bit);
            if (!child_inline(r, s->to, k + 1, sc, full))
                return false;
            if (full && seen)
                mark(seen, i);
        } else if (op->flags & OBJECT_CLOSED) {
            return false;
        }
        k = cw_json_after(k + 1);
    }
    return missing == 0;
}

/* A member that the table does not declare, or any where there are patterns. `known` tells whether
 * something has looked at it. */
CW_INLINE bool other_ok(run *r, const op_object *op, const cw_json *k, bool *known, const scope *sc,
                        const bool full)
{
    if (op->n_patterns && !patterns_ok(r, op, k, sc, full, known))
        return false;
    if (*known)
        return true;
    if (op->flags & OBJECT_CLOSED)
        return false;
    if (!(op->flags & OBJECT_ADDITIONAL))
        return true;
    *known = true;
    return child(r, op->additional, k + 1, NULL, sc, full);
}

CW_INLINE bool members_ok(run *r, const op_object *op, const cw_json *v, marks *seen,
                          const scope *sc, const bool full)
{
    if (!charge(r, (uint64_t)(v->meta >> 8) * op->lookup))
        return false;
    static const slot empty = {0};
    const slot *table = (const slot *)(const void *)(r->code + op->slots);
    uint64_t found = 0;
    uint32_t counted = 0;
    const cw_json *k = v + 1;
    for (uint32_t i = 0; (k->meta & 7u) != CW_JSON_END; i++) {
        const slot *s = &empty;
        if (op->slots)
            s = find_slot(r->code, table, op->shift, op->mask, k->meta, k);
        bool known = false;
        if (s->hash) {
            found |= load_bits(s->bit);
            counted += (s->flags & SLOT_COUNTED) != 0;
            known = s->flags & SLOT_DECLARED;
            if (known && !child(r, s->to, k + 1, NULL, sc, full))
                return false;
        }
        if ((!known || op->n_patterns) && !other_ok(r, op, k, &known, sc, full))
            return false;
        if (full && seen && known)
            mark(seen, i);
        k = cw_json_after(k + 1);
    }
    if (op->flags & OBJECT_MANY)
        return many_required(r, op, v, counted);
    return !(load_bits(op->required) & ~found);
}

CW_INLINE bool names_ok(run *r, target t, const cw_json *v, const scope *sc, const bool full)
{
    if (!charge(r, v->meta >> 8))
        return false;
    for (const cw_json *k = cw_json_first(v); k; k = cw_json_next_key(k)) {
        if (!child(r, t, k, NULL, sc, full))
            return false;
    }
    return true;
}

/* ----------------------------------------------------------------- arrays */

CW_INLINE bool items_ok(run *r, const op_items *op, const cw_json *v, marks *seen, const scope *sc,
                        const bool full)
{
    if (!charge(r, v->meta >> 8))
        return false;
    target each = op->each;
    uint32_t i = 0;
    for (const cw_json *c = v + 1; (c->meta & 7u) != CW_JSON_END; c = cw_json_after(c), i++) {
        if (i < op->from)
            continue;
        if (!child_inline(r, each, c, sc, full))
            return false;
        if (full && seen)
            mark(seen, i);
    }
    return true;
}

CW_INLINE bool prefix_ok(run *r, const op_list *op, const cw_json *v, marks *seen, const scope *sc,
                         const bool full)
{
    const target *t = (const target *)(const void *)(op + 1);
    const cw_json *c = v + 1;
    for (uint32_t i = 0; i < op->n && (c->meta & 7u) != CW_JSON_END; i++) {
        if (!child(r, t[i], c, NULL, sc, full))
            return false;
        if (full && seen)
            mark(seen, i);
        c = cw_json_after(c);
    }
    return true;
}

CW_INLINE bool contains_ok(run *r, const op_contains *op, const cw_json *v, marks *seen,
                           const scope *sc, const bool full)
{
    if (!charge(r, v->meta >> 8))
        return false;
    uint32_t held = 0;
    uint32_t i = 0;
    for (const cw_json *c = cw_json_first(v); c; c = cw_json_next(c), i++) {
        if (!child(r, op->each, c, NULL, sc, full)) {
            if (r->stop)
                return false;
            continue;
        }
        held++;
        if (full && seen)
            mark(seen, i);
        else if (held >= op->min && op->max == UINT32_MAX)
            return true;
    }
    return held >= op->min && held <= op->max;
}

static bool unique_ok(run *r, const cw_json *v)
{
    const cw_json *a;
    const cw_json *b;
    int unique = cw_schema_all_unique(v, r->scratch, &r->steps, &a, &b);
    if (unique < 0)
        return run_stop(r, CW_NOMEM);
    return r->steps < 0 ? run_stop(r, CW_LIMIT) : unique;
}

/* ------------------------------------------------------------------ logic */

CW_INLINE bool any_ok(run *r, const op_list *op, const cw_json *v, marks *seen, const scope *sc,
                      const bool full)
{
    const target *t = (const target *)(const void *)(op + 1);
    bool any = false;
    if (!charge(r, op->n))
        return false;
    for (uint32_t i = 0; i < op->n; i++) {
        if (branch(r, t[i], v, seen, sc, full)) {
            /* If marks are needed, the other branches must run too. */
            if (!full || !seen)
                return true;
            any = true;
        } else if (CW_UNLIKELY(r->stop)) {
            return false;
        }
    }
    return any;
}

CW_INLINE bool one_ok(run *r, const op_list *op, const cw_json *v, marks *seen, const scope *sc,
                      const bool full)
{
    const target *t = (const target *)(const void *)(op + 1);
    uint32_t held = 0;
    if (!charge(r, op->n))
        return false;
    for (uint32_t i = 0; i < op->n && held < 2; i++) {
        if (branch(r, t[i], v, seen, sc, full))
            held++;
        else if (CW_UNLIKELY(r->stop))
            return false;
    }
    return held == 1;
}

CW_INLINE bool if_ok(run *r, const op_if *op, const cw_json *v, marks *seen, const scope *sc,
                     const bool full)
{
    bool held = branch(r, op->test, v, seen, sc, full);
    if (CW_UNLIKELY(!held && r->stop))
        return false;
    return child(r, held ? op->yes : op->no, v, seen, sc, full);
}

/* ---------------------------------------------------- only where it is full */

static bool dynamic_ok(run *r, const op_dynamic *op, const cw_json *v, marks *seen, const scope *sc)
{
    const uint32_t *pairs = (const uint32_t *)(op + 1);
    uint32_t to = op->node;
    /* The outermost wins, and we see the innermost first. */
    for (const scope *at = sc; at; at = at->up) {
        if (!charge(r, op->n))
            return false;
        for (uint32_t i = 0; i < op->n; i++) {
            if (pairs[2 * i] == at->resource)
                to = pairs[2 * i + 1];
        }
    }
    return eval_full(r, to, v, seen, sc);
}

static bool rest_ok(run *r, target t, const cw_json *v, marks *seen, const scope *sc)
{
    if (!seen) /* a node with this operation tracks */
        return run_stop(r, CW_INTERNAL);
    bool object = cw_json_is(v, CW_JSON_OBJECT);
    const cw_json *c = v + 1;
    uint32_t n = cw_json_count(v);
    if (n < 64 && seen->bits[0] + 1 == UINT64_C(1) << n)
        return true;
    if (!charge(r, n))
        return false;
    for (uint32_t i = 0; i < n; i++, c = cw_json_after(c + object)) {
        if (is_marked(seen, i))
            continue;
        if (!child(r, t, c + object, NULL, sc, /* full= */ true))
            return false;
        mark(seen, i);
    }
    return true;
}

/* ------------------------------------------------------------ the two loops */

/* One evaluator's set of functions, so that each gets a frame of its own. */
#define PLAIN(fn, type)                                                                            \
    CW_NOINLINE static bool plain_##fn(run *r, const type *op, const cw_json *v)                   \
    {                                                                                              \
        return fn(r, op, v, NULL, NULL, false);                                                    \
    }
#define FULL(fn, type)                                                                             \
    CW_NOINLINE static bool full_##fn(run *r, const type *op, const cw_json *v, marks *seen,       \
                                      const scope *sc)                                             \
    {                                                                                              \
        return fn(r, op, v, seen, sc, true);                                                       \
    }
#define BOTH(fn, type) PLAIN(fn, type) FULL(fn, type)
BOTH(table_ok, op_object)
BOTH(members_ok, op_object)
BOTH(items_ok, op_items)
BOTH(prefix_ok, op_list)
BOTH(contains_ok, op_contains)
BOTH(any_ok, op_list)
BOTH(one_ok, op_list)
BOTH(if_ok, op_if)

#define RUN(fn, type)                                                                              \
    (full ? full_##fn(r, OPERAND(type), v, seen, sc) : plain_##fn(r, OPERAND(type), v))

/* One operation; *ret_words is its size. */
CW_INLINE bool run_op(run *r, const uint32_t *op, const cw_json *v, marks *seen, const scope *sc,
                      const bool full, size_t *ret_words)
{
    switch ((op_code)*op) {
    case OP_OBJECT:
        *ret_words = WORDS(op_object);
        return RUN(members_ok, op_object);
    case OP_ITEMS:
        *ret_words = WORDS(op_items);
        return RUN(items_ok, op_items);
    case OP_COUNT:
        *ret_words = WORDS(op_count);
        return v->meta >> 8 >= op[1] && v->meta >> 8 <= op[2];
    case OP_CALL:
        *ret_words = WORDS(op_call);
        return child(r, OPERAND(op_call)->to, v, seen, sc, full);
    case OP_UNIQUE:
        *ret_words = 1;
        return unique_ok(r, v);
    case OP_PREFIX:
        *ret_words = WORDS(op_list) + op[1] * WORDS(target);
        return RUN(prefix_ok, op_list);
    case OP_CONTAINS:
        *ret_words = WORDS(op_contains);
        return RUN(contains_ok, op_contains);
    case OP_NEEDS:
        *ret_words = WORDS(op_needs) + OPERAND(op_needs)->n * WORDS(name);
        return needs_ok(r, OPERAND(op_needs), v);
    case OP_WHEN:
        *ret_words = WORDS(op_when);
        return !has_member(r, v, &OPERAND(op_when)->trigger) ||
               child(r, OPERAND(op_when)->to, v, seen, sc, full);
    case OP_NAMES:
        *ret_words = WORDS(op_call);
        return names_ok(r, OPERAND(op_call)->to, v, sc, full);
    case OP_ANY:
        *ret_words = WORDS(op_list) + op[1] * WORDS(target);
        return RUN(any_ok, op_list);
    case OP_ONE:
        *ret_words = WORDS(op_list) + op[1] * WORDS(target);
        return RUN(one_ok, op_list);
    case OP_NOT:
        *ret_words = WORDS(op_call);
        return !child(r, OPERAND(op_call)->to, v, NULL, sc, full) && !r->stop;
    case OP_IF:
        *ret_words = WORDS(op_if);
        return RUN(if_ok, op_if);
    case OP_DYNAMIC:
        *ret_words = WORDS(op_dynamic) + 2 * op[2];
        return full && dynamic_ok(r, OPERAND(op_dynamic), v, seen, sc);
    case OP_REST:
        *ret_words = WORDS(op_call);
        return full && rest_ok(r, OPERAND(op_call)->to, v, seen, sc);
    default: /* leaves stand behind an OP_LEAVES only */
        return run_stop(r, CW_INTERNAL);
    }
}

CW_INLINE bool run_list(run *r, const uint32_t *op, const cw_json *v, marks *seen, const scope *sc,
                        const bool full)
{
    if (*op == OP_LEAVES) {
        if (!run_leaf(r, op + WORDS(op_leaves), v))
            return false;
        op += op[1];
    }
    /* Most objects are one table and no more. */
    if (*op == OP_OBJECT && (op[1] & OBJECT_SIMPLE)) {
        if (!RUN(table_ok, op_object))
            return false;
        op += WORDS(op_object);
    }
    while (*op != OP_END) {
        size_t words = 0;
        if (!charge(r, 1) || !run_op(r, op, v, seen, sc, full, &words))
            return false;
        op += words;
    }
    return true;
}

static bool eval_plain(run *r, uint32_t at, const cw_json *v)
{
    const node *n = (const node *)(const void *)(r->code + at);
    if (!cw_schema_has_type(n->types, v))
        return false;
    uint32_t list = n->ops[v->meta & 7u];
    if (!list)
        return true;
    if (CW_UNLIKELY(--r->steps < 0 || r->depth == 0))
        return run_stop(r, CW_LIMIT);
    r->depth--;
    bool ok = run_list(r, r->code + list, v, NULL, NULL, /* full= */ false);
    r->depth++;
    return ok;
}

/* A node that needs marks gets its own, even if no outer node needs them. */
CW_NOINLINE static bool eval_marking(run *r, uint32_t list, const cw_json *v, marks *seen,
                                     const scope *sc)
{
    CW_UNINIT marks own;
    if (!marks_init(r, &own, v))
        return false;
    bool ok = run_list(r, r->code + list, v, &own, sc, /* full= */ true);
    if (ok && seen)
        marks_merge(seen, &own);
    marks_done(r, &own);
    return ok;
}

/* A node of another resource than the one around it. */
CW_NOINLINE static bool eval_scoped(run *r, const node *n, const cw_json *v, marks *seen,
                                    const scope *sc)
{
    const scope inner = {sc, n->resource};
    uint32_t type = v->meta & 7u;
    uint32_t list = n->ops[type];
    if (n->tracks >> type & 1u)
        return eval_marking(r, list, v, seen, &inner);
    return run_list(r, r->code + list, v, seen, &inner, /* full= */ true);
}

static bool eval_full(run *r, uint32_t at, const cw_json *v, marks *seen, const scope *sc)
{
    const node *n = (const node *)(const void *)(r->code + at);
    if (!cw_schema_has_type(n->types, v))
        return false;
    uint32_t type = v->meta & 7u;
    uint32_t list = n->ops[type];
    if (!list)
        return true;
    if (CW_UNLIKELY(--r->steps < 0 || r->depth == 0))
        return run_stop(r, CW_LIMIT);
    r->depth--;
    bool ok;
    if (r->s->n_dynamics && (!sc || sc->resource != n->resource))
        ok = eval_scoped(r, n, v, seen, sc);
    else if (n->tracks >> type & 1u)
        ok = eval_marking(r, list, v, seen, sc);
    else
        ok = run_list(r, r->code + list, v, seen, sc, /* full= */ true);
    r->depth++;
    return ok;
}

/* *steps is how many there are, then how many are left. */
CW_INLINE cw_code evaluate(const cw_schema *s, const cw_json *instance, cw_schema_scratch *scratch,
                           int64_t *steps)
{
    cw_schema_scratch own = {0};
    run r = {
        .code = (const uint32_t *)(const void *)s->code.p,
        .s = s,
        .steps = *steps,
        .depth = s->max_recursion,
        .scratch = scratch ? scratch : &own,
    };
    bool ok = s->full ? eval_full(&r, s->entry, instance, NULL, NULL)
                      : eval_plain(&r, s->entry, instance);
    if (!scratch)
        cw_schema_scratch_done(&own);
    *steps = r.steps;
    if (ok)
        return CW_OK;
    return r.stop ? r.stop : CW_PARAMS;
}

cw_code cw_schema_validate(const cw_schema *s, const cw_json *instance, cw_schema_scratch *scratch)
{
    int64_t steps = s->max_steps;
    return evaluate(s, instance, scratch, &steps);
}

cw_code cw_schema_validate_within(const cw_schema *s, const cw_json *instance,
                                  cw_schema_scratch *scratch, int64_t *steps)
{
    int64_t most = *steps < s->max_steps ? *steps : s->max_steps;
    int64_t left = most;
    cw_code rc = evaluate(s, instance, scratch, &left);
    *steps -= most - left;
    return rc;
}
