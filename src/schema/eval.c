/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eval.c - the program's evaluator: yes or no, nothing else.
 *
 * It exists twice, from one text: plain, and full. Only the full one carries what
 * unevaluated keywords ($dynamicRef) need: marks on the members that something has
 * looked at, and the resources that evaluation is inside of. Marks are a bit per
 * member; a branch that may fail has marks of its own, which are added to those
 * around it when it holds.
 *
 * A limit is neither yes nor no. It sets run.stop and returns false, and whoever
 * turns a false into something else (not, anyOf, if, ...) looks at run.stop first.
 */
#include "schema/program.h"

typedef struct scope {
    const struct scope *up;
    uint32_t resource;
} scope;

typedef struct marks {
    uint64_t *bits;
    uint64_t few; /* the bits, when 64 are enough */
    uint32_t words;
} marks;

typedef struct run {
    const uint32_t *code;
    const cw_schema *s;
    int64_t steps;
    uint32_t depth;
    cw_code stop;
    cw_schema_scratch *scratch;
} run;

static bool eval_plain(run *r, uint32_t at, const cw_json *v);
static bool eval_full(run *r, uint32_t at, const cw_json *v, marks *seen, const scope *sc);

CW_NOINLINE static bool stop(run *r, cw_code code)
{
    if (!r->stop)
        r->stop = code;
    return false;
}

CW_INLINE bool child(run *r, target t, const cw_json *v, marks *seen, const scope *sc,
                     const bool full)
{
    if (!t.node)
        return cw_schema_has_type(t.types, v);
    return full ? eval_full(r, t.node, v, seen, sc) : eval_plain(r, t.node, v);
}

/* ------------------------------------------------------------------ marks */

static bool marks_init(run *r, marks *m, const cw_json *v)
{
    m->words = (cw_json_count(v) + 63) / 64;
    m->few = 0;
    m->bits = &m->few;
    if (m->words <= 1)
        return true;
    m->bits = cw_schema_scratch_push(r->scratch, m->words * sizeof m->bits[0]);
    if (!m->bits)
        return stop(r, CW_NOMEM);
    memset(m->bits, 0, m->words * sizeof m->bits[0]);
    return true;
}

static void marks_done(run *r, const marks *m)
{
    if (m->words > 1)
        cw_schema_scratch_pop(r->scratch);
}

static void marks_merge(marks *into, const marks *from)
{
    for (uint32_t i = 0; i < from->words; i++)
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

CW_NOINLINE static bool marked_branch(run *r, target t, const cw_json *v, marks *seen,
                                      const scope *sc)
{
    marks own;
    if (!marks_init(r, &own, v))
        return false;
    bool ok = child(r, t, v, &own, sc, /* full= */ true);
    if (ok)
        marks_merge(seen, &own);
    marks_done(r, &own);
    return ok;
}

/* A branch whose failure is not ours. */
CW_INLINE bool branch(run *r, target t, const cw_json *v, marks *seen, const scope *sc,
                      const bool full)
{
    if (full && seen && t.node)
        return marked_branch(r, t, v, seen, sc);
    return child(r, t, v, NULL, sc, full);
}

/* ---------------------------------------------------------------- scalars */

CW_INLINE bool length_ok(const op_count *op, const cw_json *v)
{
    size_t n = v->n;
    if (n < op->min)
        return false;
    /* A character is 1 to 4 bytes long. */
    if (n <= op->max && n / 4 >= op->min)
        return true;
    if (n / 4 > op->max)
        return false;
    n = cw_schema_code_points(cw_str_make(v->p, v->n));
    return n >= op->min && n <= op->max;
}

/* Floor and ceiling of a number without exponent whose whole part has at most 18 digits. */
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

static bool range_slowly(const run *r, const op_range *op, const cw_json *v)
{
    const cw_json *const *consts = r->s->consts;
    const uint32_t *at = op->consts;
    return (!at[0] || cw_json_compare_numbers(v, consts[at[0]]) >= 0) &&
           (!at[1] || cw_json_compare_numbers(v, consts[at[1]]) > 0) &&
           (!at[2] || cw_json_compare_numbers(v, consts[at[2]]) <= 0) &&
           (!at[3] || cw_json_compare_numbers(v, consts[at[3]]) < 0);
}

CW_INLINE bool range_ok(const run *r, const op_range *op, const cw_json *v)
{
    int64_t floor;
    int64_t ceiling;
    if (!whole_parts(v, &floor, &ceiling))
        return range_slowly(r, op, v);
    int64_t bounds[4];
    memcpy(bounds, op->bounds, sizeof bounds);
    return floor >= bounds[0] && ceiling >= bounds[1] && ceiling <= bounds[2] && floor <= bounds[3];
}

static bool bound_ok(const run *r, const op_bound *op, const cw_json *v)
{
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
    return r->steps < 0 ? stop(r, CW_LIMIT) : ok;
}

static bool consts_ok(run *r, const op_consts *op, const cw_json *v)
{
    uint32_t size = v->n / 16 + 1;
    for (uint32_t i = 0; i < op->n; i++) {
        if ((r->steps -= size) < 0)
            return stop(r, CW_LIMIT);
        if (cw_json_equal(r->s->consts[op->first + i], v))
            return true;
    }
    return false;
}

static bool pattern_ok(run *r, uint32_t index, cw_str text)
{
    cw_pattern_match m = cw_pattern_test(r->s->patterns[index], text);
    if (CW_UNLIKELY(m == CW_PATTERN_TOO_HARD))
        return stop(r, CW_LIMIT);
    return m == CW_PATTERN_YES;
}

/* ------------------------------------------------------------------ names */

/* memcmp for names, most of which are short. */
CW_INLINE bool same_bytes(const char *a, const char *b, uint32_t n)
{
    if (n > 16)
        return memcmp(a, b, n) == 0;
    if (n >= 8)
        return cw_json_load8(a) == cw_json_load8(b) &&
               cw_json_load8(a + n - 8) == cw_json_load8(b + n - 8);
    if (n >= 4)
        return cw_json_load4(a) == cw_json_load4(b) &&
               cw_json_load4(a + n - 4) == cw_json_load4(b + n - 4);
    return n == 0 || (a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1]);
}

/* `hash` is a key hash in the upper 24 bits. */
CW_INLINE const slot *find_slot(const run *r, uint32_t slots, uint32_t shift, uint32_t mask,
                                uint32_t hash, const cw_json *text)
{
    const slot *table = (const slot *)(const void *)(r->code + slots);
    for (uint32_t i = hash >> shift;; i = (i + 1) & mask) {
        const slot *s = table + i;
        if (s->hash == (hash >> 8 | SLOT_USED) && s->n == text->n &&
            same_bytes((const char *)(r->code + s->at), text->p, s->n))
            return s;
        if (!s->hash)
            return NULL;
    }
}

static bool strings_ok(const run *r, const op_strings *op, const cw_json *v)
{
    uint32_t hash = cw_json_key_hash(cw_str_make(v->p, v->n)) << 8;
    return find_slot(r, op->slots, op->shift, op->mask, hash, v);
}

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
        if (!has_member(r, v, &names[i]))
            return r->steps < 0 ? stop(r, CW_LIMIT) : false;
    }
    return true;
}

/* ---------------------------------------------------------------- objects */

/* With more than 64 required names the distinct ones are counted, which needs distinct members. */
static bool many_required(const run *r, const op_object *op, const cw_json *v, uint32_t counted)
{
    if (!(v->meta & CW_JSON_UNCHECKED))
        return counted == op->required[0];
    const cw_json *n = cw_json_first(r->s->consts[op->required_const]);
    for (; n; n = cw_json_next(n)) {
        if (!cw_json_get(v, cw_json_text(n)))
            return false;
    }
    return true;
}

/* The patterns that a member's name matches; *ret_any whether there are any. */
CW_NOINLINE static bool patterns_ok(run *r, const op_object *op, const cw_json *k, const scope *sc,
                                    bool full, bool *ret_any)
{
    const pattern_target *p = (const pattern_target *)(const void *)(r->code + op->patterns);
    if ((r->steps -= op->n_patterns) < 0)
        return stop(r, CW_LIMIT);
    for (uint32_t i = 0; i < op->n_patterns; i++) {
        if (!pattern_ok(r, p[i].pattern, cw_str_make(k->p, k->n))) {
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

/* A member that `properties` does not name, or any member when there are patterns. */
CW_INLINE bool other_member(run *r, const op_object *op, const cw_json *k, bool known,
                            const scope *sc, const bool full, bool *ret_known)
{
    if (op->n_patterns && !patterns_ok(r, op, k, sc, full, &known))
        return false;
    if (!known) {
        if (op->flags & OBJECT_CLOSED)
            return false;
        if (!(op->flags & OBJECT_ADDITIONAL))
            return true;
        if (!child(r, op->additional, k + 1, NULL, sc, full))
            return false;
    }
    *ret_known = true;
    return true;
}

CW_INLINE bool members_ok(run *r, const op_object *op, const cw_json *v, marks *seen,
                          const scope *sc, const bool full)
{
    uint64_t found = 0;
    uint32_t many = 0;
    if ((r->steps -= v->meta >> 8) < 0)
        return stop(r, CW_LIMIT);
    const cw_json *k = v + 1;
    for (uint32_t i = 0; (k->meta & 7u) != CW_JSON_END; i++) {
        const slot *s = NULL;
        if (op->slots)
            s = find_slot(r, op->slots, op->shift, op->mask, k->meta, k);
        bool known = false;
        if (s) {
            if (s->bit < 64)
                found |= UINT64_C(1) << s->bit;
            many += s->bit == SLOT_MANY;
            known = s->declared;
            if (known && !child(r, s->to, k + 1, NULL, sc, full))
                return false;
        }
        if ((!known || op->n_patterns) && !other_member(r, op, k, known, sc, full, &known))
            return false;
        if (full && seen && known)
            mark(seen, i);
        k = cw_json_after(k + 1);
    }
    if (op->flags & OBJECT_MANY)
        return many_required(r, op, v, many);
    uint64_t required;
    memcpy(&required, op->required, sizeof required);
    return (found & required) == required;
}

static bool names_ok(run *r, target t, const cw_json *v, const scope *sc, bool full)
{
    if ((r->steps -= v->meta >> 8) < 0)
        return stop(r, CW_LIMIT);
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
    if ((r->steps -= v->meta >> 8) < 0)
        return stop(r, CW_LIMIT);
    uint32_t i = 0;
    for (const cw_json *c = v + 1; (c->meta & 7u) != CW_JSON_END; c = cw_json_after(c), i++) {
        if (i < op->from)
            continue;
        if (!child(r, op->each, c, NULL, sc, full))
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
    if ((r->steps -= v->meta >> 8) < 0)
        return stop(r, CW_LIMIT);
    uint32_t held = 0;
    uint32_t i = 0;
    for (const cw_json *c = cw_json_first(v); c; c = cw_json_next(c), i++) {
        if (child(r, op->each, c, NULL, sc, full)) {
            held++;
            if (full && seen)
                mark(seen, i);
            else if (held >= op->min && op->max == UINT32_MAX)
                return true;
        } else if (r->stop) {
            return false;
        }
    }
    return held >= op->min && held <= op->max;
}

static bool unique_ok(run *r, const cw_json *v)
{
    const cw_json *a;
    const cw_json *b;
    int unique = cw_schema_all_unique(v, r->scratch, &r->steps, &a, &b);
    if (unique < 0)
        return stop(r, CW_NOMEM);
    return r->steps < 0 ? stop(r, CW_LIMIT) : unique;
}

/* ------------------------------------------------------------------ logic */

CW_INLINE bool any_ok(run *r, const op_list *op, const cw_json *v, marks *seen, const scope *sc,
                      const bool full)
{
    const target *t = (const target *)(const void *)(op + 1);
    bool any = false;
    for (uint32_t i = 0; i < op->n; i++) {
        if (branch(r, t[i], v, seen, sc, full)) {
            /* Where marks count, the other branches have theirs to add. */
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
        if ((r->steps -= op->n) < 0)
            return stop(r, CW_LIMIT);
        for (uint32_t i = 0; i < op->n; i++) {
            if (pairs[2 * i] == at->resource)
                to = pairs[2 * i + 1];
        }
    }
    return eval_full(r, to, v, seen, sc);
}

static bool rest_ok(run *r, target t, const cw_json *v, marks *seen, const scope *sc, bool object)
{
    uint32_t i = 0;
    for (const cw_json *c = cw_json_first(v); c; c = cw_json_next(c + object), i++) {
        if (is_marked(seen, i))
            continue;
        if (!child(r, t, c + object, NULL, sc, /* full= */ true))
            return false;
        mark(seen, i);
    }
    return true;
}

/* ------------------------------------------------------------ the two loops */

#define OPERAND(type) ((const type *)(const void *)op)
#define STEP(type, ok)                                                                             \
    if (!(ok))                                                                                     \
        return false;                                                                              \
    op += WORDS(type);                                                                             \
    break

CW_INLINE bool run_list(run *r, const uint32_t *op, const cw_json *v, marks *seen, const scope *sc,
                        const bool full)
{
    for (;;) {
        switch ((op_code)*op) {
        case OP_END:
            return true;
        case OP_LENGTH:
            STEP(op_count, length_ok(OPERAND(op_count), v));
        case OP_PATTERN:
            STEP(op_index, pattern_ok(r, op[1], cw_str_make(v->p, v->n)));
        case OP_FORMAT:
            STEP(op_index, r->s->formats[op[1]](cw_str_make(v->p, v->n)));
        case OP_STRINGS:
            STEP(op_strings, strings_ok(r, OPERAND(op_strings), v));
        case OP_CONSTS:
            STEP(op_consts, consts_ok(r, OPERAND(op_consts), v));
        case OP_RANGE:
            STEP(op_range, range_ok(r, OPERAND(op_range), v));
        case OP_BOUND:
            STEP(op_bound, bound_ok(r, OPERAND(op_bound), v));
        case OP_MULTIPLE:
            STEP(op_index, multiple_ok(r, OPERAND(op_index), v));
        case OP_COUNT:
            STEP(op_count, v->meta >> 8 >= op[1] && v->meta >> 8 <= op[2]);
        case OP_UNIQUE:
            STEP(uint32_t, unique_ok(r, v));
        case OP_ITEMS:
            STEP(op_items, items_ok(r, OPERAND(op_items), v, seen, sc, full));
        case OP_PREFIX:
            if (!prefix_ok(r, OPERAND(op_list), v, seen, sc, full))
                return false;
            op += WORDS(op_list) + op[1] * WORDS(target);
            break;
        case OP_CONTAINS:
            STEP(op_contains, contains_ok(r, OPERAND(op_contains), v, seen, sc, full));
        case OP_OBJECT:
            STEP(op_object, members_ok(r, OPERAND(op_object), v, seen, sc, full));
        case OP_NEEDS:
            if (!needs_ok(r, OPERAND(op_needs), v))
                return false;
            op += WORDS(op_needs) + OPERAND(op_needs)->n * WORDS(name);
            break;
        case OP_WHEN:
            STEP(op_when, !has_member(r, v, &OPERAND(op_when)->trigger) ||
                              child(r, OPERAND(op_when)->to, v, seen, sc, full));
        case OP_NAMES:
            STEP(op_call, names_ok(r, OPERAND(op_call)->to, v, sc, full));
        case OP_CALL:
            STEP(op_call, child(r, OPERAND(op_call)->to, v, seen, sc, full));
        case OP_DYNAMIC:
            if (!full || !dynamic_ok(r, OPERAND(op_dynamic), v, seen, sc))
                return false;
            op += WORDS(op_dynamic) + 2 * op[2];
            break;
        case OP_ANY:
            if (!any_ok(r, OPERAND(op_list), v, seen, sc, full))
                return false;
            op += WORDS(op_list) + op[1] * WORDS(target);
            break;
        case OP_ONE:
            if (!one_ok(r, OPERAND(op_list), v, seen, sc, full))
                return false;
            op += WORDS(op_list) + op[1] * WORDS(target);
            break;
        case OP_NOT:
            STEP(op_call, !child(r, OPERAND(op_call)->to, v, NULL, sc, full) && !r->stop);
        case OP_IF:
            STEP(op_if, if_ok(r, OPERAND(op_if), v, seen, sc, full));
        case OP_REST_ITEMS:
            STEP(op_call, full && rest_ok(r, OPERAND(op_call)->to, v, seen, sc, false));
        case OP_REST_MEMBERS:
            STEP(op_call, full && rest_ok(r, OPERAND(op_call)->to, v, seen, sc, true));
        }
    }
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
        return stop(r, CW_LIMIT);
    r->depth--;
    bool ok = run_list(r, r->code + list, v, NULL, NULL, /* full= */ false);
    r->depth++;
    return ok;
}

/* A node that asks what has been looked at: marks of its own, also when nobody around it asks. */
CW_NOINLINE static bool eval_marking(run *r, uint32_t list, const cw_json *v, marks *seen,
                                     const scope *sc)
{
    marks own;
    if (!marks_init(r, &own, v))
        return false;
    bool ok = run_list(r, r->code + list, v, &own, sc, /* full= */ true);
    if (ok && seen)
        marks_merge(seen, &own);
    marks_done(r, &own);
    return ok;
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
        return stop(r, CW_LIMIT);
    r->depth--;
    const scope inner = {sc, n->resource};
    if (!sc || sc->resource != n->resource)
        sc = &inner;
    bool ok = n->tracks >> type & 1u ? eval_marking(r, list, v, seen, sc)
                                     : run_list(r, r->code + list, v, seen, sc, /* full= */ true);
    r->depth++;
    return ok;
}

cw_code cw_schema_validate(const cw_schema *s, const cw_json *instance, cw_schema_scratch *scratch)
{
    cw_schema_scratch own = {0};
    run r = {
        .code = (const uint32_t *)(const void *)s->code.p,
        .s = s,
        .steps = s->max_steps,
        .depth = s->max_recursion,
        .scratch = scratch ? scratch : &own,
    };
    bool ok = s->full ? eval_full(&r, s->entry, instance, NULL, NULL)
                      : eval_plain(&r, s->entry, instance);
    if (!scratch)
        cw_schema_scratch_done(&own);
    if (ok)
        return CW_OK;
    return r.stop ? r.stop : CW_PARAMS;
}
