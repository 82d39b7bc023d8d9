/* SPDX-License-Identifier: GPL-2.0-or-later */
/* portable_write.c - writes subschemas so that readers of both drafts accept at least as much.
 *
 * Dropping a keyword widens a schema, but a schema that is wider under `not`, under `if` or in a
 * branch of `oneOf` makes the schema around it narrower. There a subschema must mean the same to
 * all readers (is_exact), or the keyword around it is dropped.
 */
#include <stdio.h>

#include "schema/rewrite/portable_int.h"

#define REPEATS 2u /* how often a sub may stand inside itself, the first one included */
#define EXACT_DEPTH 64u

#define ANYTHING "{\"description\":\"Any value: the schema repeats itself here.\"}"

/* Members of a subschema that are read together. */
typedef struct members {
    cw_schema_draft draft;
    const cw_json *type, *enumeration, *constant;
    const cw_json *any_of, *one_of, *condition;
    const cw_json *items, *prefix_items, *additional_items, *unevaluated_items, *max_items;
    const cw_json *contains, *min_contains;
    bool has_inplace; /* a keyword that applies other schemas to the same value */
    uint32_t split;   /* bits of a `type` that names several, which becomes an anyOf; else 0 */
} members;

bool cw_portable_visit(portable_writer *p)
{
    if (p->code || p->w.code || p->w.out->code)
        return false;
    bool is_over = p->n_refs && !p->has_defs &&
                   p->ref_bytes + (p->w.out->n - p->ref_begin) > CW_PORTABLE_REF_BYTES;
    if (is_over || p->work == 0)
        p->code = CW_LIMIT;
    else
        p->work--;
    return p->code == CW_OK;
}

cw_schema_draft cw_portable_draft(const cw_schema *s, const sub *at)
{
    return (cw_schema_draft)s->resources[at->resource].draft;
}

uint32_t cw_portable_target(const portable_writer *p, const sub *at, bool *ret_has)
{
    bool has = false;
    uint32_t to = 0;
    for (uint32_t i = 0; i < at->count && !has; i++) {
        const keyword *k = &p->s->keywords[at->first + i];
        if (k->id != KW_REF && k->id != KW_DYNAMIC_REF)
            continue;
        has = true;
        to = cw_schema_link(p->s, at, k->key + 1);
        if (k->id == KW_DYNAMIC_REF)
            to = cw_schema_static_dynamic(p->s, to);
    }
    if (ret_has)
        *ret_has = has;
    return to;
}

/* ---- exactness ---- */

static bool is_exact(portable_writer *p, uint32_t index, const open_sub *up, uint32_t depth);

static bool is_exact_below(portable_writer *p, const sub *owner, const cw_json *v,
                           const open_sub *up, uint32_t depth)
{
    uint32_t known = cw_json_is(v, CW_JSON_STRING) ? 0 : cw_schema_link(p->s, owner, v);
    if (known)
        return is_exact(p, known, up, depth + 1);
    bool is_all = true;
    if (cw_json_is(v, CW_JSON_ARRAY)) {
        for (const cw_json *c = cw_json_first(v); c && is_all; c = cw_json_next(c))
            is_all = is_exact_below(p, owner, c, up, depth);
    } else if (cw_json_is(v, CW_JSON_OBJECT)) {
        for (const cw_json *k = cw_json_first(v); k && is_all; k = cw_json_next_key(k))
            is_all = is_exact_below(p, owner, k + 1, up, depth);
    }
    return is_all;
}

static bool is_exact_keyword(portable_writer *p, const sub *at, const keyword *k,
                             const open_sub *up, uint32_t depth)
{
    const cw_json *v = k->key + 1;
    switch (k->id) {
    case KW_DYNAMIC_REF:
    case KW_DEPENDENT_REQUIRED:
    case KW_DEPENDENT_SCHEMAS:
    case KW_DEPENDENCIES:
    case KW_UNEVALUATED_ITEMS:
    case KW_UNEVALUATED_PROPERTIES:
    case KW_PREFIX_ITEMS:
    case KW_ADDITIONAL_ITEMS:
    case KW_MIN_CONTAINS:
    case KW_MAX_CONTAINS:
        return false;
    case KW_REF:
        return is_exact(p, cw_schema_link(p->s, at, v), up, depth + 1);
    case KW_ITEMS:
        if (cw_json_is(v, CW_JSON_ARRAY))
            return false;
        break;
    default:
        break;
    }
    const kw_row *row =
        cw_schema_keyword(cw_json_text(k->key), cw_portable_draft(p->s, at), VOCAB_STANDARD);
    return !row || row->shape < SHAPE_SCHEMA || is_exact_below(p, at, v, up, depth);
}

/* Whether the sub, as it will be written, means the same to readers of both drafts. */
static bool is_exact(portable_writer *p, uint32_t index, const open_sub *up, uint32_t depth)
{
    const sub *at = &p->s->subs[index];
    const open_sub here = {up, index};
    bool is_all = depth < EXACT_DEPTH && cw_portable_visit(p);
    for (const open_sub *o = up; o && is_all; o = o->up)
        is_all = o->sub != index;
    for (uint32_t i = 0; i < at->count && is_all; i++)
        is_all = is_exact_keyword(p, at, &p->s->keywords[at->first + i], &here, depth);
    return is_all;
}

/* ---- references ---- */

static void write_anything(portable_writer *p)
{
    cw_json_add_span(&p->w, CW_STR(ANYTHING));
}

static bool is_plain_name(cw_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool is_alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!is_alnum && c != '_' && c != '-')
            return false;
    }
    return name.n > 0 && name.n <= CW_PORTABLE_PROPERTY_MAX;
}

/* The last part of the sub's pointer if it is free and a plain name, else a number. */
static cw_str name_definition(portable_writer *p, uint32_t index, uint32_t n)
{
    CW_CLEANUP(cw_buf_done) cw_buf path;
    cw_buf_init(&path, CW_SCHEMA_MAX_BYTES);
    const cw_json *value = p->s->subs[index].value;
    cw_schema_add_pointer(&path, cw_schema_document_of(p->s, value)->root, value);
    cw_str name = cw_buf_str(&path);
    for (size_t i = name.n; i > 0; i--) {
        if (name.p[i - 1] == '/') {
            name = cw_str_make(name.p + i, name.n - i);
            break;
        }
    }
    if (path.code)
        return (cw_str){NULL, 0};
    bool is_free = is_plain_name(name) && !(name.p[0] >= '0' && name.p[0] <= '9');
    for (const definition *d = p->first_def; d && is_free; d = d->next)
        is_free = !cw_str_eq(d->name, name);
    if (is_free)
        return cw_arena_dup_str(p->arena, name);
    return cw_str_from(cw_arena_printf(p->arena, "%u", n));
}

/* The definition of a sub, made when it is first needed; NULL without memory. */
static const definition *define(portable_writer *p, uint32_t index)
{
    uint32_t n = 1;
    for (const definition *d = p->first_def; d; d = d->next, n++) {
        if (d->sub == index)
            return d;
        if (!cw_portable_visit(p))
            return NULL;
    }
    definition *fresh = cw_arena_calloc(p->arena, 1, sizeof *fresh);
    if (fresh)
        fresh->name = name_definition(p, index, n);
    if (!fresh || !fresh->name.p || !fresh->name.n) {
        p->code = CW_NOMEM;
        return NULL;
    }
    fresh->sub = index;
    *p->last_def = fresh;
    p->last_def = &fresh->next;
    return fresh;
}

static void add_ref_to_definition(portable_writer *p, uint32_t to)
{
    const definition *d = define(p, to);
    char text[CW_PORTABLE_PROPERTY_MAX + 16];
    if (!d)
        return;
    int n = snprintf(text, sizeof text, "#/$defs/%.*s", CW_STR_ARG(d->name));
    cw_json_add_string_member(&p->w, CW_STR("$ref"), cw_str_make(text, (size_t)n));
}

static bool repeats_itself(const open_sub *up, uint32_t index)
{
    uint32_t n = 0;
    for (const open_sub *o = up; o; o = o->up)
        n += o->sub == index;
    return n >= REPEATS;
}

static void write_object(portable_writer *p, uint32_t index, const open_sub *up,
                         const cw_json *annotated);

/* The target of a reference; `annotated` (may be NULL) has annotations that replace those of the
 * target. */
static void write_target(portable_writer *p, uint32_t to, const open_sub *up,
                         const cw_json *annotated)
{
    if (!to || repeats_itself(up, to)) {
        p->is_widened |= !to;
        write_anything(p);
        return;
    }
    if (p->n_refs == CW_PORTABLE_REF_DEPTH) {
        p->code = CW_LIMIT;
        cw_json_add_null(&p->w);
        return;
    }
    if (p->n_refs++ == 0)
        p->ref_begin = p->w.out->n;
    if (annotated && cw_json_is(p->s->subs[to].value, CW_JSON_OBJECT))
        write_object(p, to, up, annotated);
    else
        cw_portable_write_sub(p, to, up);
    if (--p->n_refs == 0)
        p->ref_bytes += p->w.out->n - p->ref_begin;
}

static bool is_identifier(cw_str name)
{
    static const char *const names[] = {"$ref",        "$dynamicRef", "$defs",
                                        "definitions", "$anchor",     "$dynamicAnchor",
                                        "$id",         "$vocabulary", "$schema"};
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        if (cw_str_is(name, names[i]))
            return true;
    }
    return false;
}

/* A keyword of either draft that takes part in evaluation. */
static bool is_evaluated(cw_str name)
{
    const kw_row *row = cw_schema_keyword(name, CW_SCHEMA_2020_12, VOCAB_STANDARD);
    if (!row)
        row = cw_schema_keyword(name, CW_SCHEMA_DRAFT_07, VOCAB_STANDARD);
    return row && row->id < KW_EVALUATED;
}

/* ---- members ---- */

/* The type to which another one of the list adds nothing. */
static bool is_covered(const cw_json *list, const cw_json *type)
{
    uint32_t bits = cw_schema_type_bits(type), before = 0;
    for (const cw_json *t = cw_json_first(list); t != type; t = cw_json_next(t))
        before |= cw_schema_type_bits(t);
    bool is_number =
        bits == TYPE_INTEGER && (cw_schema_type_bits(list) & TYPE_BIT(CW_JSON_NUMBER)) != 0;
    return is_number || (bits & ~before) == 0;
}

/* The next type of a list that names each once; NULL: none. */
static const cw_json *next_type(const cw_json *list, const cw_json *after)
{
    const cw_json *t = after ? cw_json_next(after) : cw_json_first(list);
    while (t && is_covered(list, t))
        t = cw_json_next(t);
    return t;
}

static uint32_t split_of(const cw_json *type)
{
    if (!cw_json_is(type, CW_JSON_ARRAY))
        return 0;
    const cw_json *first = next_type(type, NULL);
    return first && next_type(type, first) ? cw_schema_type_bits(type) : 0;
}

static members read_members(const portable_writer *p, const sub *at)
{
    static const cw_str names[] = {CW_STR_INIT("type"),        CW_STR_INIT("enum"),
                                   CW_STR_INIT("const"),       CW_STR_INIT("anyOf"),
                                   CW_STR_INIT("if"),          CW_STR_INIT("items"),
                                   CW_STR_INIT("prefixItems"), CW_STR_INIT("additionalItems"),
                                   CW_STR_INIT("maxItems"),    CW_STR_INIT("contains"),
                                   CW_STR_INIT("minContains"), CW_STR_INIT("unevaluatedItems"),
                                   CW_STR_INIT("allOf"),       CW_STR_INIT("oneOf"),
                                   CW_STR_INIT("not"),         CW_STR_INIT("dependentSchemas"),
                                   CW_STR_INIT("$ref"),        CW_STR_INIT("$dynamicRef"),
                                   CW_STR_INIT("dependencies")};
    const cw_json *v[CW_COUNT(names)];
    cw_json_get_all(at->value, names, CW_COUNT(names), v);
    members m = {.draft = cw_portable_draft(p->s, at)};
    m.type = v[0];
    m.enumeration = v[1];
    m.constant = v[2];
    m.any_of = v[3];
    m.one_of = v[13];
    m.condition = v[4];
    m.items = v[5];
    m.max_items = v[8];
    m.contains = v[9];
    if (m.draft == CW_SCHEMA_2020_12) {
        m.prefix_items = v[6];
        m.min_contains = v[10];
        m.unevaluated_items = v[11];
    } else if (cw_json_is(m.items, CW_JSON_ARRAY)) {
        m.prefix_items = m.items;
        m.items = m.additional_items = v[7];
    }
    for (size_t i = 12; i < CW_COUNT(names); i++)
        m.has_inplace |= v[i] != NULL;
    m.has_inplace |= m.any_of || m.condition;
    m.split = split_of(m.type);
    return m;
}

static bool is_zero(const cw_json *v)
{
    int64_t n;
    return v && cw_json_to_i64(v, &n) && n == 0;
}

static void add_below(portable_writer *p, const sub *at, cw_str name, const cw_json *v,
                      const open_sub *up)
{
    cw_json_add_key(&p->w, name);
    cw_portable_write_below(p, at, v, up);
}

/* Some readers do not know minContains, and would require one where 0 are enough. */
static void write_contains(portable_writer *p, const sub *at, const members *m, const cw_json *key,
                           const open_sub *up)
{
    const cw_json *v = key + 1;
    bool is_max = cw_str_is(cw_json_text(key), "maxContains");
    if (!m->contains || is_zero(m->min_contains)) {
        p->is_widened |= is_max && m->contains;
        return;
    }
    if (v == m->contains)
        add_below(p, at, cw_json_text(key), v, up);
    else if (!is_max || is_exact_below(p, at, m->contains, up, 0)) {
        cw_json_add_key(&p->w, cw_json_text(key));
        cw_json_add_value(&p->w, v);
    } else {
        p->is_widened = true;
    }
}

static void write_one_of(portable_writer *p, const sub *at, const members *m, const cw_json *v,
                         const open_sub *up)
{
    bool is_same = is_exact_below(p, at, v, up, 0);
    if (is_same)
        add_below(p, at, CW_STR("oneOf"), v, up);
    else if (!m->any_of)
        add_below(p, at, CW_STR("anyOf"), v, up);
    p->is_widened |= !is_same;
}

static void write_if_exact(portable_writer *p, const sub *at, const cw_json *key,
                           const cw_json *judged, const open_sub *up)
{
    if (!judged)
        return;
    if (is_exact_below(p, at, judged, up, 0))
        add_below(p, at, cw_json_text(key), key + 1, up);
    else
        p->is_widened = true;
}

/* One half of `dependencies`: the lists of names, or the schemas. */
static void write_half(portable_writer *p, const sub *at, const cw_json *all, bool are_lists,
                       const open_sub *up)
{
    bool is_open = false;
    for (const cw_json *k = cw_json_first(all); k; k = cw_json_next_key(k)) {
        if (cw_json_is(k + 1, CW_JSON_ARRAY) != are_lists)
            continue;
        if (!is_open) {
            cw_json_add_key(&p->w,
                            are_lists ? CW_STR("dependentRequired") : CW_STR("dependentSchemas"));
            cw_json_open_object(&p->w);
        }
        is_open = true;
        add_below(p, at, cw_json_text(k), k + 1, up);
    }
    if (is_open)
        cw_json_close(&p->w);
}

static void write_dependencies(portable_writer *p, const sub *at, const members *m,
                               const cw_json *all, const open_sub *up)
{
    if (m->draft == CW_SCHEMA_2020_12) {
        /* Its halves may be there already. */
        p->is_widened = true;
        return;
    }
    write_half(p, at, all, /* are_lists= */ true, up);
    write_half(p, at, all, /* are_lists= */ false, up);
}

static void write_known(portable_writer *p, const sub *at, const members *m, const cw_json *key,
                        const kw_row *row, const open_sub *up)
{
    cw_str name = cw_json_text(key);
    const cw_json *v = key + 1;
    switch ((kw_id)row->id) {
    case KW_ITEMS:
    case KW_PREFIX_ITEMS:
    case KW_ADDITIONAL_ITEMS:
    case KW_UNEVALUATED_ITEMS:
    case KW_MAX_ITEMS:
        return; /* write_array */
    case KW_NOT:
        write_if_exact(p, at, key, v, up);
        return;
    case KW_IF:
    case KW_THEN:
    case KW_ELSE:
        write_if_exact(p, at, key, m->condition, up);
        return;
    case KW_ONE_OF:
        write_one_of(p, at, m, v, up);
        return;
    case KW_CONTAINS:
    case KW_MIN_CONTAINS:
    case KW_MAX_CONTAINS:
        write_contains(p, at, m, key, up);
        return;
    case KW_DEPENDENCIES:
        write_dependencies(p, at, m, v, up);
        return;
    case KW_UNEVALUATED_PROPERTIES:
        if (m->has_inplace) {
            p->is_widened = true;
            return;
        }
        break;
    default:
        break;
    }
    if (row->shape >= SHAPE_SCHEMA) {
        add_below(p, at, name, v, up);
        return;
    }
    cw_json_add_key(&p->w, name);
    cw_json_add_value(&p->w, v);
}

static void write_member(portable_writer *p, const sub *at, const members *m, const cw_json *key,
                         const open_sub *up)
{
    cw_str name = cw_json_text(key);
    const kw_row *row = cw_schema_keyword(name, m->draft, VOCAB_STANDARD);
    if (row) {
        write_known(p, at, m, key, row, up);
        return;
    }
    /* A keyword of the other draft alone does not count here, but its readers would apply it. A
     * header that an argument is repeated in belongs to one place. */
    bool is_header = cw_str_is(name, "x-mcp-header") && p->n_refs;
    if (is_evaluated(name) || is_header)
        return;
    cw_json_add_key(&p->w, name);
    cw_json_add_value(&p->w, key + 1);
}

/* ---- arrays ---- */

static void write_max_items(portable_writer *p, const members *m, uint32_t n, bool is_closed)
{
    uint64_t own = UINT64_MAX;
    if (m->max_items && !cw_json_to_u64(m->max_items, &own))
        own = UINT64_MAX;
    if (is_closed && n < own) {
        cw_json_add_key(&p->w, CW_STR("maxItems"));
        cw_json_add_u64(&p->w, n);
    } else if (m->max_items) {
        cw_json_add_key(&p->w, CW_STR("maxItems"));
        cw_json_add_value(&p->w, m->max_items);
    }
}

static bool is_true(const cw_json *v)
{
    return !v || cw_json_is(v, CW_JSON_TRUE) ||
           (cw_json_is(v, CW_JSON_OBJECT) && cw_json_count(v) == 0);
}

/* Readers of draft-07 apply `items` to each position, so that it must accept all of them. */
static void write_array(portable_writer *p, const sub *at, const members *m, const open_sub *up)
{
    const cw_json *rest = m->items;
    bool is_tuple = cw_json_is(m->prefix_items, CW_JSON_ARRAY) && cw_json_count(m->prefix_items);
    if (!rest && !m->has_inplace && !m->contains)
        rest = m->unevaluated_items;
    else if (m->unevaluated_items && !rest)
        p->is_widened = true;
    bool is_closed = is_tuple && cw_json_is(rest, CW_JSON_FALSE);
    const char *type = m->type ? NULL : cw_portable_type_of(m->enumeration, m->constant);
    bool is_array = type ? strcmp(type, "array") == 0
                         : m->type && cw_schema_type_bits(m->type) & TYPE_BIT(CW_JSON_ARRAY);
    if (is_tuple)
        add_below(p, at, CW_STR("prefixItems"), m->prefix_items, up);
    write_max_items(p, m, is_tuple ? cw_json_count(m->prefix_items) : 0, is_closed);
    if (is_tuple || (is_array && !rest)) {
        cw_json_add_key(&p->w, CW_STR("items"));
        cw_json_add_span(&p->w, CW_STR("{}"));
        p->is_widened |= is_tuple && !is_closed && !is_true(rest);
    } else if (rest) {
        add_below(p, at, CW_STR("items"), rest, up);
    }
}

/* ---- types ---- */

static const char *type_name(const cw_json *v)
{
    if (cw_json_is(v, CW_JSON_NUMBER))
        return cw_json_is_integer(v) && !(v->meta & CW_JSON_FRACTION) ? "integer" : "number";
    return cw_json_type_name(v);
}

const char *cw_portable_type_of(const cw_json *enumeration, const cw_json *constant)
{
    if (constant)
        return type_name(constant);
    if (!cw_json_is(enumeration, CW_JSON_ARRAY) || !cw_json_count(enumeration))
        return NULL;
    const char *type = type_name(cw_json_first(enumeration));
    for (const cw_json *v = cw_json_first(enumeration); v && type; v = cw_json_next(v)) {
        const char *other = type_name(v);
        bool are_numbers =
            cw_json_is(v, CW_JSON_NUMBER) && cw_json_is(cw_json_first(enumeration), CW_JSON_NUMBER);
        if (are_numbers && strcmp(other, type) != 0)
            type = "number";
        else if (strcmp(other, type) != 0)
            type = NULL;
    }
    return type;
}

/* The types whose values alone a keyword judges; 0: it judges all values. */
static uint32_t judged_types(const members *m, cw_str name)
{
    const kw_row *row = cw_schema_keyword(name, m->draft, VOCAB_STANDARD);
    kw_id id = row ? (kw_id)row->id : KW_DEFAULT;
    if (id >= KW_MULTIPLE_OF && id <= KW_EXCLUSIVE_MINIMUM)
        return TYPE_BIT(CW_JSON_NUMBER) | TYPE_INTEGER;
    if (id >= KW_MAX_LENGTH && id <= KW_PATTERN)
        return TYPE_BIT(CW_JSON_STRING);
    if (id == KW_FORMAT) /* of other types it is an annotation */
        return m->split & TYPE_BIT(CW_JSON_STRING);
    if ((id >= KW_MAX_ITEMS && id <= KW_ADDITIONAL_ITEMS) || id == KW_UNEVALUATED_ITEMS)
        return TYPE_BIT(CW_JSON_ARRAY);
    if ((id >= KW_MAX_PROPERTIES && id <= KW_PROPERTY_NAMES) || id == KW_UNEVALUATED_PROPERTIES)
        return TYPE_BIT(CW_JSON_OBJECT);
    return 0;
}

/* One of several types, with the keywords that judge its values. */
static void write_branch(portable_writer *p, const sub *at, const members *m, const cw_json *type,
                         const open_sub *up)
{
    uint32_t bits = cw_schema_type_bits(type);
    cw_json_open_object(&p->w);
    cw_json_add_key(&p->w, CW_STR("type"));
    cw_json_add_value(&p->w, type);
    for (const cw_json *k = cw_json_first(at->value); k && cw_portable_visit(p);
         k = cw_json_next_key(k)) {
        if (judged_types(m, cw_json_text(k)) & bits)
            write_member(p, at, m, k, up);
    }
    if (bits & TYPE_BIT(CW_JSON_ARRAY))
        write_array(p, at, m, up);
    cw_json_close(&p->w);
}

/* Several types, as the member anyOf: some clients read `type` as one word. Others join the branches' types
 * to a list again and drop the rest of a branch, so `items` also stands beside them. */
static void write_branches(portable_writer *p, const sub *at, const members *m, const open_sub *up)
{
    cw_json_add_key(&p->w, CW_STR("anyOf"));
    cw_json_open_array(&p->w);
    for (const cw_json *t = next_type(m->type, NULL); t; t = next_type(m->type, t))
        write_branch(p, at, m, t, up);
    cw_json_close(&p->w);
    if (m->split & TYPE_BIT(CW_JSON_ARRAY)) {
        cw_json_add_key(&p->w, CW_STR("items"));
        cw_json_add_span(&p->w, CW_STR("{}"));
    }
}

/* The branches stand in an allOf if the name anyOf is taken. */
static bool splits_in_all_of(const members *m)
{
    return m->split && (m->any_of || m->one_of);
}

static void write_type(portable_writer *p, const sub *at, const members *m, const open_sub *up)
{
    if (m->split) {
        if (!splits_in_all_of(m))
            write_branches(p, at, m, up);
        return;
    }
    const char *type = m->type ? NULL : cw_portable_type_of(m->enumeration, m->constant);
    if (type)
        cw_json_add_string_member(&p->w, CW_STR("type"), cw_str_from(type));
    else if (cw_json_is(m->type, CW_JSON_ARRAY) && next_type(m->type, NULL))
        cw_json_add_string_member(&p->w, CW_STR("type"), cw_json_text(next_type(m->type, NULL)));
    write_array(p, at, m, up);
}

/* ---- subschemas ---- */

static void write_members(portable_writer *p, const sub *at, const members *m, const open_sub *up,
                          const cw_json *annotated, bool skip_all_of)
{
    for (const cw_json *k = cw_json_first(at->value); k && cw_portable_visit(p);
         k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        bool is_replaced = annotated && !is_evaluated(name) && cw_json_get(annotated, name);
        if (is_identifier(name) || is_replaced || (skip_all_of && cw_str_is(name, "allOf")))
            continue;
        if (m->split && judged_types(m, name))
            continue; /* write_branch */
        if (cw_str_is(name, "type") && cw_json_is(k + 1, CW_JSON_ARRAY))
            continue; /* write_type */
        write_member(p, at, m, k, up);
    }
    write_type(p, at, m, up);
}

/* The members of an object that take no part in evaluation. */
static void write_annotations(portable_writer *p, const cw_json *object)
{
    for (const cw_json *k = cw_json_first(object); k && cw_portable_visit(p);
         k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        bool is_header = cw_str_is(name, "x-mcp-header") && p->n_refs > 1;
        if (is_identifier(name) || is_evaluated(name) || is_header)
            continue;
        cw_json_add_key(&p->w, name);
        cw_json_add_value(&p->w, k + 1);
    }
}

static bool has_siblings(const sub *at, bool evaluated)
{
    for (const cw_json *k = cw_json_first(at->value); k; k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        if (!is_identifier(name) && is_evaluated(name) == evaluated)
            return true;
    }
    return false;
}

static bool is_reference(const portable_writer *p, const sub *at)
{
    bool has_ref;
    (void)cw_portable_target(p, at, &has_ref);
    return has_ref && (cw_portable_draft(p->s, at) == CW_SCHEMA_DRAFT_07 ||
                       !has_siblings(at, /* evaluated= */ true));
}

uint32_t cw_portable_follow(const portable_writer *p, uint32_t index)
{
    for (uint32_t i = 0; i < CW_PORTABLE_REF_DEPTH; i++) {
        const sub *at = &p->s->subs[index];
        uint32_t to = is_reference(p, at) ? cw_portable_target(p, at, NULL) : 0;
        if (!to)
            break;
        index = to;
    }
    return index;
}

/* The sub's own allOf, and its types if splits_in_all_of; the list stays open. */
static void open_all_of(portable_writer *p, const sub *at, const members *m, const open_sub *up)
{
    const cw_json *own = cw_json_get(at->value, CW_STR("allOf"));
    cw_json_add_key(&p->w, CW_STR("allOf"));
    cw_json_open_array(&p->w);
    for (const cw_json *c = own ? cw_json_first(own) : NULL; c; c = cw_json_next(c))
        cw_portable_write_below(p, at, c, up);
    if (splits_in_all_of(m)) {
        cw_json_open_object(&p->w);
        write_branches(p, at, m, up);
        cw_json_close(&p->w);
    }
}

/* A reference and other rules: all of them, and an allOf with their own allOf and the target. */
static void write_with_siblings(portable_writer *p, const sub *at, uint32_t to, const open_sub *up,
                                const cw_json *annotated)
{
    members m = read_members(p, at);
    write_members(p, at, &m, up, annotated, /* skip_all_of= */ true);
    open_all_of(p, at, &m, up);
    if (p->has_defs) {
        cw_json_open_object(&p->w);
        add_ref_to_definition(p, to);
        cw_json_close(&p->w);
    } else {
        write_target(p, to, up, NULL);
    }
    cw_json_close(&p->w);
}

static void write_alone(portable_writer *p, const sub *at, const open_sub *up,
                        const cw_json *annotated)
{
    members m = read_members(p, at);
    bool has_types = splits_in_all_of(&m);
    write_members(p, at, &m, up, annotated, /* skip_all_of= */ has_types);
    if (has_types) {
        open_all_of(p, at, &m, up);
        cw_json_close(&p->w);
    }
}

static void write_object(portable_writer *p, uint32_t index, const open_sub *up,
                         const cw_json *annotated)
{
    const sub *at = &p->s->subs[index];
    const open_sub here = {up, index};
    bool has_ref;
    uint32_t to = cw_portable_target(p, at, &has_ref);
    bool is_alone = is_reference(p, at);
    if (!annotated && is_alone && has_siblings(at, /* evaluated= */ false))
        annotated = at->value;
    if (is_alone && (!to || !p->has_defs)) {
        write_target(p, to, &here, annotated);
        return;
    }
    cw_json_open_object(&p->w);
    if (annotated)
        write_annotations(p, annotated);
    if (is_alone) {
        add_ref_to_definition(p, to);
    } else if (has_ref && (to || !p->has_defs)) {
        write_with_siblings(p, at, to, &here, annotated);
    } else {
        p->is_widened |= has_ref;
        write_alone(p, at, &here, annotated);
    }
    cw_json_close(&p->w);
}

void cw_portable_write_sub(portable_writer *p, uint32_t index, const open_sub *up)
{
    const cw_json *value = p->s->subs[index].value;
    /* Beyond a limit nothing is kept. */
    if (!cw_portable_visit(p))
        cw_json_add_null(&p->w);
    else if (cw_json_is(value, CW_JSON_OBJECT))
        write_object(p, index, up, NULL);
    else
        cw_json_add_value(&p->w, value);
}

void cw_portable_write_below(portable_writer *p, const sub *owner, const cw_json *v,
                             const open_sub *up)
{
    uint32_t known = cw_json_is(v, CW_JSON_STRING) ? 0 : cw_schema_link(p->s, owner, v);
    if (known) {
        cw_portable_write_sub(p, known, up);
    } else if (cw_json_is(v, CW_JSON_ARRAY)) {
        cw_json_open_array(&p->w);
        for (const cw_json *c = cw_json_first(v); c; c = cw_json_next(c))
            cw_portable_write_below(p, owner, c, up);
        cw_json_close(&p->w);
    } else if (cw_json_is(v, CW_JSON_OBJECT)) {
        cw_json_open_object(&p->w);
        for (const cw_json *k = cw_json_first(v); k; k = cw_json_next_key(k)) {
            cw_json_add_key(&p->w, cw_json_text(k));
            cw_portable_write_below(p, owner, k + 1, up);
        }
        cw_json_close(&p->w);
    } else {
        cw_json_add_value(&p->w, v);
    }
}

void cw_portable_write_defs(portable_writer *p)
{
    if (!p->first_def)
        return;
    cw_json_add_key(&p->w, CW_STR("$defs"));
    cw_json_open_object(&p->w);
    /* Writing one may add others behind it. */
    for (const definition *d = p->first_def; d && cw_portable_visit(p); d = d->next) {
        cw_json_add_key(&p->w, d->name);
        cw_portable_write_sub(p, d->sub, NULL);
    }
    cw_json_close(&p->w);
}
