/* SPDX-License-Identifier: GPL-2.0-or-later */
/* emit_object.c - tables of names, and the operations for objects. */
#include <stdlib.h>

#include "schema/model/program.h"

#define PUT(b, op) cw_schema_put((b), &(op), sizeof(op))
#define BITS_MAX 64u /* required names that fit a mask */

/* Hashes of names are no secret: names can be chosen so that all share a slot. Lookups in all
 * tables of a schema that are more than this are refused, and a table of such names charges them.
 */
#define LOOKED_MAX 4000000u
#define LOOKED_PER_STEP 4u

/* A table while it is filled. */
typedef struct table {
    slot *slots; /* NULL: no memory, or no names */
    uint32_t shift, mask;
    uint32_t required;
    uint32_t longest; /* slots that were looked at for one name */
    bool undeclared;  /* something is required that `properties` does not name */
} table;

static void fail(builder *b)
{
    if (!b->s->code.code)
        b->s->code.code = CW_NOMEM;
}

/* Room for `names`: a quarter full, so that a name that is not there mostly meets an empty slot at
 * once; large tables half full. */
static bool table_init(builder *b, table *t, uint32_t names)
{
    uint32_t bits = 3;
    while (1u << bits < (names > 64 ? 2 * names : 4 * names))
        bits++;
    *t = (table){.shift = 32 - bits, .mask = (1u << bits) - 1};
    t->slots = calloc((size_t)t->mask + 1, sizeof t->slots[0]);
    if (!t->slots)
        fail(b);
    return t->slots;
}

uint32_t cw_schema_put_bytes(builder *b, cw_str text)
{
    uint32_t at = cw_schema_here(b);
    uint32_t pad = 0;
    cw_buf_add(&b->s->code, text);
    cw_buf_add_bytes(&b->s->code, &pad, (4 - text.n % 4) % 4);
    return at;
}

/* The slot of a name, made when there is none. Keys carry 24 bits of hash in the upper bits of
 * their meta, the highest of which pick the slot. */
static slot *table_slot(builder *b, table *t, cw_str text)
{
    uint32_t hash = cw_json_key_hash(text);
    uint32_t i = hash << 8 >> t->shift;
    for (uint32_t looked = 1;; i = (i + 1) & t->mask, looked++) {
        slot *s = &t->slots[i];
        if (looked > t->longest)
            t->longest = looked;
        if (++b->looked > LOOKED_MAX && !b->s->code.code)
            b->s->code.code = CW_LIMIT;
        if (!s->hash) {
            *s = (slot){.hash = hash | SLOT_USED, .n = (uint32_t)text.n, .to = {TYPE_ANY, 0}};
            s->at = cw_schema_put_bytes(b, text);
            return s;
        }
        if (s->hash == (hash | SLOT_USED) && s->n == text.n && !b->s->code.code &&
            memcmp(b->s->code.p + (size_t)s->at * sizeof(uint32_t), text.p, text.n) == 0)
            return s;
        if (b->s->code.code)
            return s;
    }
}

static uint32_t lookup_steps(const table *t)
{
    return 1 + t->longest / LOOKED_PER_STEP;
}

static uint32_t table_put(builder *b, table *t)
{
    uint32_t at = cw_schema_here(b);
    cw_buf_add_bytes(&b->s->code, t->slots, ((size_t)t->mask + 1) * sizeof t->slots[0]);
    free(t->slots);
    return at;
}

op_strings cw_schema_emit_strings(builder *b, const cw_json *list)
{
    op_strings op = {.op = OP_STRINGS};
    table t;
    if (!table_init(b, &t, cw_json_count(list)))
        return op;
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v)) {
        if (cw_json_is(v, CW_JSON_STRING))
            table_slot(b, &t, cw_json_text(v));
    }
    op.shift = t.shift;
    op.mask = t.mask;
    op.lookup = lookup_steps(&t);
    op.slots = table_put(b, &t);
    return op;
}

static void add_required(builder *b, const cw_json *list, table *t, bool many)
{
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v)) {
        slot *s = table_slot(b, t, cw_json_text(v));
        if (s->bit[0] || s->bit[1] || (s->flags & SLOT_COUNTED))
            continue;
        if (many)
            s->flags |= SLOT_COUNTED;
        else
            s->bit[t->required / 32] = 1u << t->required % 32;
        t->required++;
        t->undeclared |= !(s->flags & SLOT_DECLARED);
    }
}

static const cw_json *value_of(const facts *f, kw_id id)
{
    return f->has & KW_BIT(id) ? f->key[id] + 1 : NULL;
}

static uint32_t count_of(const cw_json *v)
{
    return v ? cw_json_count(v) : 0;
}

static void add_declared(builder *b, uint32_t index, const cw_json *properties, table *t)
{
    const cw_json *k = properties ? cw_json_first(properties) : NULL;
    for (; k; k = cw_json_next_key(k)) {
        target to = cw_schema_target(b, index, k + 1);
        slot *s = table_slot(b, t, cw_json_text(k));
        s->to = to;
        s->flags |= SLOT_DECLARED;
    }
}

/* All names first, so that what is required and undeclared is known as such. */
static void fill_table(builder *b, uint32_t index, const facts *f, table *t, bool many)
{
    CW_UNINIT facts part;
    add_declared(b, index, value_of(f, KW_PROPERTIES), t);
    for (uint32_t i = 0; i < b->n_merged; i++) {
        cw_schema_gather(b->s, &b->s->subs[b->merged[i]], &part);
        add_declared(b, b->merged[i], value_of(&part, KW_PROPERTIES), t);
    }
    const cw_json *required = value_of(f, KW_REQUIRED);
    if (required)
        add_required(b, required, t, many);
    for (uint32_t i = 0; i < b->n_merged; i++) {
        cw_schema_gather(b->s, &b->s->subs[b->merged[i]], &part);
        required = value_of(&part, KW_REQUIRED);
        if (required)
            add_required(b, required, t, many);
    }
}

static uint32_t count_names(const builder *b, const facts *f)
{
    CW_UNINIT facts part;
    uint32_t n = count_of(value_of(f, KW_PROPERTIES)) + count_of(value_of(f, KW_REQUIRED));
    for (uint32_t i = 0; i < b->n_merged; i++) {
        cw_schema_gather(b->s, &b->s->subs[b->merged[i]], &part);
        n += count_of(value_of(&part, KW_PROPERTIES)) + count_of(value_of(&part, KW_REQUIRED));
    }
    return n;
}

static void emit_table(builder *b, uint32_t index, const facts *f, op_object *op)
{
    uint32_t names = count_names(b, f);
    table t;
    if (names == 0 || !table_init(b, &t, names))
        return;
    /* Parts are merged only where all their required names together fit the bits. */
    const cw_json *required = value_of(f, KW_REQUIRED);
    bool many = count_of(required) > BITS_MAX;
    fill_table(b, index, f, &t, many);
    if (many) {
        op->flags |= OBJECT_MANY;
        op->required[0] = t.required;
        op->required_const = cw_schema_add_const(b, required);
    } else {
        uint64_t bits = t.required == 64 ? UINT64_MAX : (UINT64_C(1) << t.required) - 1;
        memcpy(op->required, &bits, sizeof bits);
    }
    op->shift = t.shift;
    op->mask = t.mask;
    op->lookup = lookup_steps(&t);
    op->slots = table_put(b, &t);
    if (!many && !t.undeclared)
        op->flags |= OBJECT_SIMPLE;
}

static void emit_patterns(builder *b, uint32_t index, const facts *f, op_object *op)
{
    if (!(f->has & KW_BIT(KW_PATTERN_PROPERTIES)))
        return;
    const cw_json *map = f->key[KW_PATTERN_PROPERTIES] + 1;
    cw_buf found;
    cw_buf_init(&found, SIZE_MAX / 4);
    for (const cw_json *k = cw_json_first(map); k; k = cw_json_next_key(k)) {
        pattern_target t = {cw_schema_link(b->s, &b->s->subs[index], k),
                            cw_schema_target(b, index, k + 1)};
        cw_buf_add_bytes(&found, &t, sizeof t);
        op->n_patterns++;
    }
    if (found.code)
        fail(b);
    op->patterns = cw_schema_here(b);
    cw_buf_add(&b->s->code, cw_buf_str(&found));
    cw_buf_done(&found);
}

/* properties, patternProperties, additionalProperties and required in one pass over the members. */
static void emit_members(builder *b, uint32_t index, const facts *f)
{
    op_object op = {.op = OP_OBJECT, .lookup = 1};
    emit_table(b, index, f, &op);
    emit_patterns(b, index, f, &op);
    if (f->has & KW_BIT(KW_ADDITIONAL_PROPERTIES)) {
        op.additional = cw_schema_target(b, index, f->key[KW_ADDITIONAL_PROPERTIES] + 1);
        op.flags |= op.additional.types == 0 ? OBJECT_CLOSED : OBJECT_ADDITIONAL;
    }
    if (op.n_patterns || (op.flags & OBJECT_ADDITIONAL))
        op.flags &= ~OBJECT_SIMPLE;
    PUT(b, op);
}

static name put_name(builder *b, const cw_json *text)
{
    cw_str s = cw_json_text(text);
    return (name){cw_schema_put_bytes(b, s), (uint32_t)s.n, cw_json_key_hash(s)};
}

static void emit_needs(builder *b, const cw_json *trigger, const cw_json *list)
{
    op_needs op = {OP_NEEDS, put_name(b, trigger), cw_json_count(list)};
    PUT(b, op);
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v)) {
        name n = put_name(b, v);
        PUT(b, n);
    }
}

static void emit_dependent(builder *b, uint32_t index, const facts *f, kw_id id)
{
    if (!(f->has & KW_BIT(id)))
        return;
    const cw_json *map = f->key[id] + 1;
    for (const cw_json *k = cw_json_first(map); k; k = cw_json_next_key(k)) {
        if (cw_json_is(k + 1, CW_JSON_ARRAY)) {
            emit_needs(b, k, k + 1);
            continue;
        }
        op_when op = {OP_WHEN, put_name(b, k), cw_schema_target(b, index, k + 1)};
        PUT(b, op);
    }
}

void cw_schema_emit_object(builder *b, uint32_t index, const facts *f)
{
    op_count count = {.op = OP_COUNT};
    if (cw_schema_count_bounds(f, KW_MIN_PROPERTIES, KW_MAX_PROPERTIES, &count))
        PUT(b, count);
    uint64_t members = KW_BIT(KW_PROPERTIES) | KW_BIT(KW_PATTERN_PROPERTIES) |
                       KW_BIT(KW_ADDITIONAL_PROPERTIES) | KW_BIT(KW_REQUIRED);
    if ((f->has & members) || b->n_merged)
        emit_members(b, index, f);
    if (f->has & KW_BIT(KW_PROPERTY_NAMES)) {
        op_call op = {OP_NAMES, cw_schema_target(b, index, f->key[KW_PROPERTY_NAMES] + 1)};
        PUT(b, op);
    }
    emit_dependent(b, index, f, KW_DEPENDENT_REQUIRED);
    emit_dependent(b, index, f, KW_DEPENDENT_SCHEMAS);
    emit_dependent(b, index, f, KW_DEPENDENCIES);
}
