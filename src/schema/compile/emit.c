/* SPDX-License-Identifier: GPL-2.0-or-later */
/* emit.c - the code generator. Nodes that are mentioned get their place at once and their lists
 * later, from a list of work, so that nothing recurses and cycles need no care.
 *
 * Failures (memory, size) are sticky in the code buffer and asked for at the end.
 */
#include <stdlib.h>

#include "schema/model/program.h"

static void put(builder *b, const void *op, size_t bytes);
static uint32_t here(const builder *b);
static uint32_t add_const(builder *b, const cw_json *v);
static bool count_bounds(const facts *f, kw_id min, kw_id max, op_count *op);
static uint32_t skip_references(const cw_schema *s, uint32_t index);
static target target_of(builder *b, uint32_t sub_index, const cw_json *value);

/* ==== merging ==== */

#define NAMES_MAX 64u /* in one part: names are searched for one by one here */

/* The whole and eight parts have at most 64 required names together: they are bits of one word. */
#define WHOLE_REQUIRED 8u
#define PART_REQUIRED 7u

static const cw_json *names_of(const facts *f, kw_id id)
{
    return f->has & KW_BIT(id) ? f->key[id] + 1 : NULL;
}

static uint32_t count(const cw_json *v)
{
    return v ? cw_json_count(v) : 0;
}

static bool shares_names(const cw_json *a, const cw_json *b)
{
    for (const cw_json *k = a && b ? cw_json_first(a) : NULL; k; k = cw_json_next_key(k)) {
        if (cw_json_get(b, cw_json_text(k)))
            return true;
    }
    return false;
}

/* Whether the part is a table and no more, for objects of the whole. */
static bool is_table(const cw_schema *s, const facts *whole, uint32_t resource_index, uint32_t part,
                     facts *ret)
{
    const sub *at = &s->subs[part];
    if (!cw_json_is(at->value, CW_JSON_OBJECT) || (s->n_dynamics && at->resource != resource_index))
        return false;
    cw_schema_gather(s, at, ret);
    uint64_t table = KW_BIT(KW_PROPERTIES) | KW_BIT(KW_REQUIRED);
    if ((ret->has & ~(table | KW_BIT(KW_TYPE))) || !(ret->has & table))
        return false;
    /* If the part rejects other types, the whole must have rejected them already. */
    uint32_t object = TYPE_BIT(CW_JSON_OBJECT);
    if ((ret->has & KW_BIT(KW_TYPE)) && (whole->types != object || !(ret->types & object)))
        return false;
    return count(names_of(ret, KW_PROPERTIES)) <= NAMES_MAX &&
           count(names_of(ret, KW_REQUIRED)) <= PART_REQUIRED;
}

static void try_part(builder *b, uint32_t index, const facts *f, const cw_json *value)
{
    const cw_schema *s = b->s;
    uint32_t direct = cw_schema_link(s, &s->subs[index], value);
    uint32_t part = skip_references(s, direct);
    CW_UNINIT facts own;
    if (b->n_merged == CW_COUNT(b->merged) || part == index ||
        !is_table(s, f, s->subs[index].resource, part, &own))
        return;
    const cw_json *mine = names_of(&own, KW_PROPERTIES);
    if (shares_names(mine, names_of(f, KW_PROPERTIES)))
        return;
    for (uint32_t i = 0; i < b->n_merged; i++) {
        CW_UNINIT facts other;
        cw_schema_gather(s, &s->subs[b->merged[i]], &other);
        if (b->merged[i] == part || shares_names(mine, names_of(&other, KW_PROPERTIES)))
            return;
    }
    b->merged[b->n_merged++] = part;
}

/* Select the subschemas whose tables become part of the table of `index`, into b->merged. */
static void choose_merged(builder *b, uint32_t index, const facts *f)
{
    uint64_t asks = KW_BIT(KW_ADDITIONAL_PROPERTIES) | KW_BIT(KW_PATTERN_PROPERTIES);
    if ((f->has & asks) || count(names_of(f, KW_PROPERTIES)) > NAMES_MAX ||
        count(names_of(f, KW_REQUIRED)) > WHOLE_REQUIRED)
        return;
    if (f->has & KW_BIT(KW_REF))
        try_part(b, index, f, f->key[KW_REF] + 1);
    const cw_json *c = f->has & KW_BIT(KW_ALL_OF) ? cw_json_first(f->key[KW_ALL_OF] + 1) : NULL;
    for (; c; c = cw_json_next(c))
        try_part(b, index, f, c);
}

static bool is_merged(const builder *b, uint32_t sub_index)
{
    uint32_t part = skip_references(b->s, sub_index);
    for (uint32_t i = 0; i < b->n_merged; i++) {
        if (b->merged[i] == part)
            return true;
    }
    return false;
}

/* ==== objects ==== */

#define PUT(b, op) put((b), &(op), sizeof(op))
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

static uint32_t put_bytes(builder *b, cw_str text)
{
    uint32_t at = here(b);
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
            s->at = put_bytes(b, text);
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
    uint32_t at = here(b);
    cw_buf_add_bytes(&b->s->code, t->slots, ((size_t)t->mask + 1) * sizeof t->slots[0]);
    free(t->slots);
    return at;
}

/* A table of the strings in `list`. */
static op_strings emit_strings(builder *b, const cw_json *list)
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
        target to = target_of(b, index, k + 1);
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
        op->required_const = add_const(b, required);
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
    cw_buf_init(&found, CW_BUF_MAX);
    for (const cw_json *k = cw_json_first(map); k; k = cw_json_next_key(k)) {
        pattern_target t = {cw_schema_link(b->s, &b->s->subs[index], k),
                            target_of(b, index, k + 1)};
        cw_buf_add_bytes(&found, &t, sizeof t);
        op->n_patterns++;
    }
    if (found.code)
        fail(b);
    op->patterns = here(b);
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
        op.additional = target_of(b, index, f->key[KW_ADDITIONAL_PROPERTIES] + 1);
        op.flags |= op.additional.types == 0 ? OBJECT_CLOSED : OBJECT_ADDITIONAL;
    }
    if (op.n_patterns || (op.flags & OBJECT_ADDITIONAL))
        op.flags &= ~OBJECT_SIMPLE;
    PUT(b, op);
}

static name put_name(builder *b, const cw_json *text)
{
    cw_str s = cw_json_text(text);
    return (name){put_bytes(b, s), (uint32_t)s.n, cw_json_key_hash(s)};
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
        op_when op = {OP_WHEN, put_name(b, k), target_of(b, index, k + 1)};
        PUT(b, op);
    }
}

/* Bytes in the code, padded to a word; where they start. */
static void emit_object(builder *b, uint32_t index, const facts *f)
{
    op_count count = {.op = OP_COUNT};
    if (count_bounds(f, KW_MIN_PROPERTIES, KW_MAX_PROPERTIES, &count))
        PUT(b, count);
    uint64_t members = KW_BIT(KW_PROPERTIES) | KW_BIT(KW_PATTERN_PROPERTIES) |
                       KW_BIT(KW_ADDITIONAL_PROPERTIES) | KW_BIT(KW_REQUIRED);
    if ((f->has & members) || b->n_merged)
        emit_members(b, index, f);
    if (f->has & KW_BIT(KW_PROPERTY_NAMES)) {
        op_call op = {OP_NAMES, target_of(b, index, f->key[KW_PROPERTY_NAMES] + 1)};
        PUT(b, op);
    }
    emit_dependent(b, index, f, KW_DEPENDENT_REQUIRED);
    emit_dependent(b, index, f, KW_DEPENDENT_SCHEMAS);
    emit_dependent(b, index, f, KW_DEPENDENCIES);
}

/* ==== nodes ==== */

static const target anything = {TYPE_ANY, 0};

static void put(builder *b, const void *op, size_t bytes)
{
    cw_buf_add_bytes(&b->list, op, bytes);
}

#define PUT(b, op) put((b), &(op), sizeof(op))

/* schema/compile/emit.c: operations are gathered in b->list, nodes and tables go straight to the
 * code. */
static uint32_t here(const builder *b)
{
    return (uint32_t)(b->s->code.n / sizeof(uint32_t));
}

static uint32_t add_const(builder *b, const cw_json *v)
{
    cw_schema *s = b->s;
    if (!GROW(s, consts)) {
        fail(b);
        return 0;
    }
    s->consts[s->n_consts] = v;
    return s->n_consts++;
}

static uint32_t node_of(builder *b, uint32_t index)
{
    cw_schema *s = b->s;
    if (s->subs[index].node)
        return s->subs[index].node;
    const node empty = {.resource = s->subs[index].resource};
    uint32_t at = here(b);
    cw_buf_add_bytes(&s->code, &empty, sizeof empty);
    if (!GROW(b, work)) {
        fail(b);
        return at;
    }
    b->work[b->n_work++] = index;
    s->subs[index].node = at;
    return at;
}

/* The subschema behind subschemas that are only references. With a dynamic scope none is skipped,
 * because evaluation passes through each of them. */
static uint32_t skip_references(const cw_schema *s, uint32_t index)
{
    for (;;) {
        const sub *at = &s->subs[index];
        if (s->n_dynamics || at->count != 1 || s->keywords[at->first].id != KW_REF)
            return index;
        index = cw_schema_link(s, at, s->keywords[at->first].key + 1);
    }
}

static void emit_leaves(builder *b, uint32_t index, const facts *f, cw_json_type type);
static uint32_t end_list(builder *b);

/* A leaf's list is made on the spot, in the middle of another one. */
static uint32_t leaf_of(builder *b, uint32_t index, const facts *f, cw_json_type type)
{
    cw_schema *s = b->s;
    if (s->subs[index].leaf)
        return s->subs[index].leaf;
    cw_buf around = b->list;
    b->list = b->leaf;
    cw_buf_clear(&b->list);
    emit_leaves(b, index, f, type);
    uint32_t at = end_list(b);
    b->leaf = b->list;
    b->list = around;
    s->subs[index].leaf = at;
    return at;
}

static target make_target(builder *b, uint32_t index)
{
    const cw_schema *s = b->s;
    CW_UNINIT facts f;
    cw_schema_gather(s, &s->subs[index], &f);
    if (cw_schema_only_types(&f))
        return (target){f.types, 0};
    cw_json_type leaf = cw_schema_leaf_type(&f);
    if (leaf != CW_JSON_END)
        return (target){f.types, leaf_of(b, index, &f, leaf)};
    return (target){TARGET_NODE, node_of(b, index)};
}

static target node_target(builder *b, uint32_t index)
{
    index = skip_references(b->s, index);
    const sub *at = &b->s->subs[index];
    uint32_t types = at->types & ~TARGET_KNOWN;
    if (at->types)
        return (target){types, types & TARGET_NODE ? at->node : at->leaf};
    target t = make_target(b, index);
    b->s->subs[index].types = t.types | TARGET_KNOWN;
    return t;
}

static target target_of(builder *b, uint32_t sub_index, const cw_json *value)
{
    return node_target(b, cw_schema_link(b->s, &b->s->subs[sub_index], value));
}

/* A count in a schema, clamped: no instance has more than UINT32_MAX of anything. */
static uint32_t limit_of(const cw_json *v)
{
    uint64_t n;
    return cw_json_to_u64(v, &n) && n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static bool count_bounds(const facts *f, kw_id min, kw_id max, op_count *op)
{
    bool has_min = f->has & KW_BIT(min);
    bool has_max = f->has & KW_BIT(max);
    op->min = has_min ? limit_of(f->key[min] + 1) : 0;
    op->max = has_max ? limit_of(f->key[max] + 1) : UINT32_MAX;
    return has_min || has_max;
}

/* Constants of one type out of const and enum. */
static void emit_consts_from(builder *b, const cw_json *list, bool is_list, cw_json_type type)
{
    op_consts op = {OP_CONSTS, b->s->n_consts, 0};
    const cw_json *v = is_list ? cw_json_first(list) : list;
    for (; v; v = is_list ? cw_json_next(v) : NULL) {
        if (cw_json_type_of(v) != type)
            continue;
        add_const(b, v);
        op.n++;
    }
    PUT(b, op);
}

static void emit_values(builder *b, const facts *f, cw_json_type type)
{
    const cw_json *same = f->has & KW_BIT(KW_CONST) ? f->key[KW_CONST] + 1 : NULL;
    if (same && cw_json_is(same, CW_JSON_STRING)) {
        op_same op = {OP_SAME, put_bytes(b, cw_json_text(same)), same->n};
        PUT(b, op);
    } else if (same) {
        emit_consts_from(b, same, /* is_list= */ false, type);
    }
    if (!(f->has & KW_BIT(KW_ENUM)))
        return;
    const cw_json *list = f->key[KW_ENUM] + 1;
    if (type != CW_JSON_STRING) {
        emit_consts_from(b, list, /* is_list= */ true, type);
        return;
    }
    op_strings op = emit_strings(b, list);
    PUT(b, op);
}

static void emit_bounds(builder *b, const facts *f)
{
    static const kw_id ids[4] = {KW_MINIMUM, KW_EXCLUSIVE_MINIMUM, KW_MAXIMUM,
                                 KW_EXCLUSIVE_MAXIMUM};
    int64_t bounds[4] = {INT64_MIN, INT64_MIN, INT64_MAX, INT64_MAX};
    op_range range = {.op = OP_RANGE};
    bool any = false;
    for (int i = 0; i < 4; i++) {
        if (!(f->has & KW_BIT(ids[i])))
            continue;
        const cw_json *limit = f->key[ids[i]] + 1;
        uint32_t index = add_const(b, limit);
        int64_t whole;
        /* One inside the ends, so that stepping past an exclusive bound does not overflow. */
        if (cw_json_to_i64(limit, &whole) && whole > INT64_MIN && whole < INT64_MAX) {
            bounds[i] = i == 1 ? whole + 1 : i == 3 ? whole - 1 : whole;
            range.consts[i] = index;
            any = true;
            continue;
        }
        op_bound op = {OP_BOUND, ids[i], index};
        PUT(b, op);
    }
    if (!any)
        return;
    /* exclusiveMinimum 0 also holds for everything from 1 on. */
    op_sign sign = {OP_SIGN, bounds[0] == 1 || bounds[1] == 1};
    bool low = (bounds[1] == INT64_MIN && (bounds[0] == 0 || bounds[0] == 1)) ||
               (bounds[0] == INT64_MIN && bounds[1] == 1);
    if (low && bounds[2] == INT64_MAX && bounds[3] == INT64_MAX)
        PUT(b, sign);
    memcpy(range.bounds, bounds, sizeof bounds);
    PUT(b, range);
}

static void emit_number(builder *b, const facts *f)
{
    emit_bounds(b, f);
    if (f->has & KW_BIT(KW_MULTIPLE_OF)) {
        op_index op = {OP_MULTIPLE, add_const(b, f->key[KW_MULTIPLE_OF] + 1)};
        PUT(b, op);
    }
}

static void emit_string(builder *b, uint32_t index, const facts *f)
{
    cw_schema *s = b->s;
    op_count bounds;
    if (count_bounds(f, KW_MIN_LENGTH, KW_MAX_LENGTH, &bounds)) {
        /* n bytes are at least n / 4 characters, rounded up. */
        uint64_t enough = bounds.min < 2 ? bounds.min : UINT64_C(4) * bounds.min - 3;
        op_length op = {OP_LENGTH, bounds.min, bounds.max,
                        enough < UINT32_MAX ? (uint32_t)enough : UINT32_MAX};
        PUT(b, op);
    }
    if (f->has & KW_BIT(KW_PATTERN)) {
        op_index op = {OP_PATTERN, cw_schema_link(s, &s->subs[index], f->key[KW_PATTERN] + 1)};
        PUT(b, op);
    }
    if (!(f->has & KW_BIT(KW_FORMAT)))
        return;
    if (!GROW(s, formats)) {
        fail(b);
        return;
    }
    s->formats[s->n_formats] = cw_format_find(cw_json_text(f->key[KW_FORMAT] + 1));
    op_index op = {OP_FORMAT, s->n_formats++};
    PUT(b, op);
}

static void emit_targets(builder *b, uint32_t index, op_code code, const cw_json *list)
{
    op_list op = {code, cw_json_count(list)};
    PUT(b, op);
    for (const cw_json *c = cw_json_first(list); c; c = cw_json_next(c)) {
        target t = target_of(b, index, c);
        PUT(b, t);
    }
}

static void emit_rest_of_items(builder *b, uint32_t index, const facts *f)
{
    op_items op = {.op = OP_ITEMS};
    const cw_json *rest = NULL;
    const cw_json *items = f->has & KW_BIT(KW_ITEMS) ? f->key[KW_ITEMS] + 1 : NULL;
    if (f->has & KW_BIT(KW_PREFIX_ITEMS)) {
        emit_targets(b, index, OP_PREFIX, f->key[KW_PREFIX_ITEMS] + 1);
        op.from = cw_json_count(f->key[KW_PREFIX_ITEMS] + 1);
    }
    if (cw_json_is(items, CW_JSON_ARRAY)) {
        emit_targets(b, index, OP_PREFIX, items);
        op.from = cw_json_count(items);
        if (f->has & KW_BIT(KW_ADDITIONAL_ITEMS))
            rest = f->key[KW_ADDITIONAL_ITEMS] + 1;
    } else {
        rest = items;
    }
    if (!rest)
        return;
    op.each = target_of(b, index, rest);
    PUT(b, op);
}

static void emit_array(builder *b, uint32_t index, const facts *f)
{
    op_count count = {.op = OP_COUNT};
    if (count_bounds(f, KW_MIN_ITEMS, KW_MAX_ITEMS, &count))
        PUT(b, count);
    emit_rest_of_items(b, index, f);
    if (f->has & KW_BIT(KW_CONTAINS)) {
        op_count bounds;
        if (!count_bounds(f, KW_MIN_CONTAINS, KW_MAX_CONTAINS, &bounds) ||
            !(f->has & KW_BIT(KW_MIN_CONTAINS)))
            bounds.min = 1;
        op_contains op = {OP_CONTAINS, bounds.min, bounds.max,
                          target_of(b, index, f->key[KW_CONTAINS] + 1)};
        PUT(b, op);
    }
    if (f->has & KW_BIT(KW_UNIQUE_ITEMS)) {
        uint32_t op = OP_UNIQUE;
        PUT(b, op);
    }
}

static void emit_call(builder *b, op_code code, target to)
{
    op_call op = {code, to};
    PUT(b, op);
}

static void emit_dynamic(builder *b, uint32_t index, const cw_json *key)
{
    cw_schema *s = b->s;
    uint32_t first = cw_schema_link(s, &s->subs[index], key + 1);
    uint32_t sure = cw_schema_static_dynamic(s, first);
    if (sure) {
        emit_call(b, OP_CALL, node_target(b, sure));
        return;
    }
    s->full = true;
    cw_str anchor = cw_schema_dynamic_at(s, first)->name;
    op_dynamic op = {OP_DYNAMIC, node_of(b, first), 0};
    for (uint32_t i = 0; i < s->n_dynamics; i++)
        op.n += cw_str_eq(s->dynamics[i].name, anchor);
    PUT(b, op);
    for (uint32_t i = 0; i < s->n_dynamics; i++) {
        if (!cw_str_eq(s->dynamics[i].name, anchor))
            continue;
        uint32_t pair[2] = {s->dynamics[i].resource, node_of(b, s->dynamics[i].sub)};
        PUT(b, pair);
    }
}

static target target_if(builder *b, uint32_t index, const facts *f, kw_id id)
{
    return f->has & KW_BIT(id) ? target_of(b, index, f->key[id] + 1) : anything;
}

/* A schema that applies as well, unless the table has taken it in. */
static void emit_also(builder *b, uint32_t index, const cw_json *value)
{
    if (!is_merged(b, cw_schema_link(b->s, &b->s->subs[index], value)))
        emit_call(b, OP_CALL, target_of(b, index, value));
}

/* References and logic, which apply to values of all types. */
static void emit_general(builder *b, uint32_t index, const facts *f)
{
    if (f->has & KW_BIT(KW_REF))
        emit_also(b, index, f->key[KW_REF] + 1);
    if (f->has & KW_BIT(KW_DYNAMIC_REF))
        emit_dynamic(b, index, f->key[KW_DYNAMIC_REF]);
    if (f->has & KW_BIT(KW_ALL_OF)) {
        const cw_json *c = cw_json_first(f->key[KW_ALL_OF] + 1);
        for (; c; c = cw_json_next(c))
            emit_also(b, index, c);
    }
    if (f->has & KW_BIT(KW_IF)) {
        op_if op = {.op = OP_IF};
        op.test = target_of(b, index, f->key[KW_IF] + 1);
        op.yes = target_if(b, index, f, KW_THEN);
        op.no = target_if(b, index, f, KW_ELSE);
        PUT(b, op);
    }
    if (f->has & KW_BIT(KW_ANY_OF))
        emit_targets(b, index, OP_ANY, f->key[KW_ANY_OF] + 1);
    if (f->has & KW_BIT(KW_ONE_OF))
        emit_targets(b, index, OP_ONE, f->key[KW_ONE_OF] + 1);
    if (f->has & KW_BIT(KW_NOT))
        emit_call(b, OP_NOT, target_of(b, index, f->key[KW_NOT] + 1));
}

/* Keywords that depend on what all others have evaluated come last. */
static void emit_unevaluated(builder *b, uint32_t index, const facts *f, cw_json_type type, node *n)
{
    kw_id id = type == CW_JSON_ARRAY ? KW_UNEVALUATED_ITEMS : KW_UNEVALUATED_PROPERTIES;
    if ((type != CW_JSON_ARRAY && type != CW_JSON_OBJECT) || !(f->has & KW_BIT(id)))
        return;
    b->s->full = true;
    n->tracks |= TYPE_BIT(type);
    emit_call(b, OP_REST, target_of(b, index, f->key[id] + 1));
}

static uint64_t keywords_of(cw_json_type type)
{
    uint64_t values = KW_BIT(KW_CONST) | KW_BIT(KW_ENUM);
    switch (type) {
    case CW_JSON_NUMBER:
        return NUMBER_KEYWORDS | values;
    case CW_JSON_STRING:
        return STRING_KEYWORDS | values;
    case CW_JSON_ARRAY:
        return ARRAY_KEYWORDS | values;
    case CW_JSON_OBJECT:
        return OBJECT_KEYWORDS | values;
    default: /* null, true and false: the mask says it all */
        return 0;
    }
}

static void emit_leaves(builder *b, uint32_t index, const facts *f, cw_json_type type)
{
    if (keywords_of(type) & f->has & (KW_BIT(KW_CONST) | KW_BIT(KW_ENUM)))
        emit_values(b, f, type);
    if (type == CW_JSON_NUMBER)
        emit_number(b, f);
    else if (type == CW_JSON_STRING)
        emit_string(b, index, f);
}

static void put_end(builder *b)
{
    uint32_t end = OP_END;
    PUT(b, end);
}

/* The list is gathered apart, since the nodes and tables that it names are written meanwhile. */
static uint32_t end_list(builder *b)
{
    put_end(b);
    if (b->list.code && !b->s->code.code)
        b->s->code.code = b->list.code;
    uint32_t start = here(b);
    cw_buf_add(&b->s->code, cw_buf_str(&b->list));
    return start;
}

static uint32_t emit_list(builder *b, uint32_t index, const facts *f, cw_json_type type, node *n)
{
    op_leaves leaves = {.op = OP_LEAVES};
    cw_buf_clear(&b->list);
    PUT(b, leaves);
    emit_leaves(b, index, f, type);
    if (b->list.n == sizeof leaves) {
        cw_buf_clear(&b->list);
    } else {
        put_end(b);
        leaves.words = (uint32_t)(b->list.n / sizeof(uint32_t));
        if (!b->list.code)
            memcpy(b->list.p, &leaves, sizeof leaves);
    }
    b->n_merged = 0;
    if (type == CW_JSON_OBJECT)
        choose_merged(b, index, f);
    if (type == CW_JSON_ARRAY)
        emit_array(b, index, f);
    else if (type == CW_JSON_OBJECT)
        emit_object(b, index, f);
    emit_general(b, index, f);
    emit_unevaluated(b, index, f, type, n);
    return end_list(b);
}

static void emit_node(builder *b, uint32_t index)
{
    cw_schema *s = b->s;
    CW_UNINIT facts f;
    cw_schema_gather(s, &s->subs[index], &f);
    node n = {.types = f.types, .resource = s->subs[index].resource};
    uint32_t general = 0; /* the list of all types that have no keywords of their own */
    for (cw_json_type type = CW_JSON_NULL; type <= CW_JSON_OBJECT; type++) {
        uint32_t bits = TYPE_BIT(type) | (type == CW_JSON_NUMBER ? TYPE_INTEGER : 0);
        if (!(f.types & bits))
            continue;
        uint64_t also = type == CW_JSON_OBJECT ? KW_BIT(KW_ALL_OF) | KW_BIT(KW_REF) : 0;
        if (f.has & (keywords_of(type) | also)) {
            n.ops[type] = emit_list(b, index, &f, type, &n);
            continue;
        }
        if (!(f.has & GENERAL_KEYWORDS))
            continue;
        if (!general)
            general = emit_list(b, index, &f, CW_JSON_NULL, &n);
        n.ops[type] = general;
    }
    if (!s->code.code)
        memcpy(s->code.p + (size_t)s->subs[index].node * sizeof(uint32_t), &n, sizeof n);
}

cw_code cw_schema_emit(builder *b)
{
    cw_schema *s = b->s;
    uint32_t zero = 0; /* no node and no list begins at 0 */
    cw_buf_add_bytes(&s->code, &zero, sizeof zero);
    /* Constant 0 is none. */
    add_const(b, NULL);
    s->entry = node_of(b, skip_references(s, s->root));
    while (b->n_work > 0 && !s->code.code)
        emit_node(b, b->work[--b->n_work]);
    if (s->code.code == CW_LIMIT)
        return cw_fail(b->err, CW_LIMIT, "the compiled schema is too large");
    return s->code.code ? cw_fail_nomem(b->err) : CW_OK;
}
