/* SPDX-License-Identifier: GPL-2.0-or-later */
/* explain.c - the evaluator that says why: walks the resolved schema, keyword by keyword as they
 * stand in the document, and records problems until there are as many as are wanted.
 *
 * It shares no evaluation code with the program (schema/eval/eval.c), so that a test can hold
 * the two against each other. Recursion is bounded by cw_schema_opts.max_recursion.
 */
#include "schema/explain/walk.h"

/* This evaluator is slower than the program, but its steps are of the same size. */
#define WALK_STEPS 3u
#define KEYWORD_STEPS 2u

bool cw_schema_walk_stop(walk *w, cw_code code)
{
    if (!w->stop)
        w->stop = code;
    return false;
}

const keyword *cw_schema_find_keyword(const cw_schema *s, uint32_t sub_index, kw_id id)
{
    const sub *at = &s->subs[sub_index];
    for (uint32_t i = 0; i < at->count; i++) {
        if (s->keywords[at->first + i].id == id)
            return &s->keywords[at->first + i];
    }
    return NULL;
}

void cw_schema_mark(marks *seen, uint32_t index)
{
    if (seen)
        seen->bits[index / 64] |= UINT64_C(1) << index % 64;
}

bool cw_schema_walk_enough(const walk *w)
{
    return w->stop || w->is_full || w->quiet || (w->level > 0 && !w->nested);
}

bool cw_schema_walk_charge(walk *w, uint64_t steps)
{
    w->steps -= (int64_t)steps;
    return w->steps >= 0 || cw_schema_walk_stop(w, CW_LIMIT);
}

/* False, with nothing to be done about it, when they cannot be had. */
static bool marks_init(walk *w, marks *m, const cw_json *v)
{
    m->words = (cw_json_count(v) + 63) / 64;
    size_t bytes = (m->words ? m->words : 1) * sizeof m->bits[0];
    if (!cw_schema_walk_charge(w, m->words))
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

bool cw_schema_walk_child(walk *w, const site *at, const cw_json *value, const cw_json *v,
                          const cw_json *name, int64_t index, marks *seen)
{
    const frame f = {at->frame, cw_json_text(at->key), name, index};
    return walk_sub(w, cw_schema_link(w->s, &w->s->subs[at->sub], value), v, seen, at->scope, &f);
}

/* A branch that may fail: what it has looked at counts only when it holds. */
static bool walk_branch(walk *w, const site *at, const cw_json *value, int64_t index)
{
    if (!at->seen)
        return cw_schema_walk_child(w, at, value, at->v, NULL, index, NULL);
    marks own;
    if (!marks_init(w, &own, at->v))
        return false;
    bool ok = cw_schema_walk_child(w, at, value, at->v, NULL, index, &own);
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
        ok &= cw_schema_walk_child(w, at, c, at->v, NULL, i, at->seen);
        if (!ok && cw_schema_walk_enough(w))
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
    bool held = cw_schema_walk_child(w, at, at->key + 1, at->v, NULL, -1, NULL);
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
    const keyword *next = cw_schema_find_keyword(w->s, at->sub, held ? KW_THEN : KW_ELSE);
    if (!next)
        return true;
    site there = *at;
    there.key = next->key;
    return cw_schema_walk_child(w, &there, next->key + 1, at->v, NULL, -1, at->seen);
}

/* The outermost resource around us that has the dynamic anchor. */
static uint32_t dynamic_target(walk *w, const site *at, uint32_t target)
{
    const cw_schema *s = w->s;
    cw_str name = cw_schema_dynamic_at(s, target)->name;
    uint32_t found = target;
    for (const scope *sc = at->scope; sc; sc = sc->up) {
        if (!cw_schema_walk_charge(w, s->n_dynamics))
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
        ok &= cw_schema_walk_child(w, at, at->key + 1, c + objects, NULL, -1, NULL);
        cw_schema_mark(at->seen, i);
        if (!ok && cw_schema_walk_enough(w))
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
        return !cw_json_is(at->v, CW_JSON_ARRAY) || cw_schema_walk_array(w, at, id);
    if (id >= KW_MAX_PROPERTIES && id <= KW_PROPERTY_NAMES)
        return !cw_json_is(at->v, CW_JSON_OBJECT) || cw_schema_walk_object(w, at, id);
    return cw_schema_walk_scalar(w, at, id);
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
            if (!ok && cw_schema_walk_enough(w))
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
    if (!cw_schema_walk_charge(w, WALK_STEPS + w->s->subs[sub_index].count * KEYWORD_STEPS))
        return false;
    site at = {.sub = sub_index, .v = v, .seen = seen, .scope = sc, .frame = up};
    const cw_json *schema = w->s->subs[sub_index].value;
    if (cw_json_is(schema, CW_JSON_TRUE))
        return true;
    if (cw_json_is(schema, CW_JSON_FALSE))
        return cw_schema_walk_scalar(w, &at, KW_EVALUATED);
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
    /* What was found before a limit is wrong all the same. */
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
