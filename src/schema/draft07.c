/* SPDX-License-Identifier: GPL-2.0-or-later */
/* draft07.c - a 2020-12 schema in the words of draft-07.
 *
 *     $defs                          definitions
 *     prefixItems, items             items as an array, additionalItems
 *     dependentRequired, -Schemas    dependencies
 *     $ref with siblings             allOf with the reference as its last member
 *     unevaluatedX without logic     additionalX
 *
 * References become JSON Pointers to where their targets now stand, so that no
 * identifier but the root's is needed.
 */
#include "schema/explain_int.h"
#include "schema/project.h"
#include "json/write.h"

typedef struct stripper {
    const cw_schema *s;
    cw_json_writer w;
} stripper;

static void strip_sub(stripper *p, uint32_t index);

static const cw_json *value_of(const stripper *p, uint32_t index, kw_id id)
{
    const keyword *k = cw_schema_find_keyword(p->s, index, id);
    return k ? k->key + 1 : NULL;
}

static uint32_t link_of(const stripper *p, uint32_t index, const cw_json *v)
{
    return cw_schema_link(p->s, &p->s->subs[index], v);
}

/* --------------------------------------------------------------- references */

static cw_str new_name(const cw_json *owner, cw_str name)
{
    if (cw_str_is(name, "$defs"))
        return CW_STR("definitions");
    if (cw_str_is(name, "prefixItems"))
        return CW_STR("items");
    if (cw_str_is(name, "dependentSchemas"))
        return CW_STR("dependencies");
    if (cw_str_is(name, "items") && cw_json_get(owner, CW_STR("prefixItems")))
        return CW_STR("additionalItems");
    return name;
}

/* The pointer to `at`, keywords renamed. Names inside properties and the like are no keywords: only
 * what stands right in a sub is. */
static void add_pointer(const stripper *p, cw_buf *out, const cw_json *at)
{
    const document *doc = &p->s->docs[0];
    const cw_json *v = doc->root;
    while (v != at && cw_json_count(v) > 0) {
        bool object = cw_json_is(v, CW_JSON_OBJECT);
        size_t index;
        const cw_json *c = cw_schema_child_with(v, at, &index);
        if (!c)
            return;
        cw_buf_add_char(out, '/');
        if (object && doc->links[v - doc->root])
            cw_json_escape_token(out, new_name(v, cw_json_text(c)));
        else if (object)
            cw_json_escape_token(out, cw_json_text(c));
        else
            cw_buf_add_u64(out, index);
        v = c + object;
    }
}

/* The characters that a pointer may hold but a reference may not. */
static void add_encoded(cw_buf *out, cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c <= ' ' || c >= 0x7F || strchr("\"%<>\\^`{|}#", c))
            cw_buf_printf(out, "%%%02X", c);
        else
            cw_buf_add_char(out, (char)c);
    }
}

static void add_reference(stripper *p, uint32_t index, const keyword *k)
{
    uint32_t to = link_of(p, index, k->key + 1);
    const cw_schema *s = p->s;
    if (k->id == KW_DYNAMIC_REF && cw_schema_static_dynamic(s, to))
        to = cw_schema_static_dynamic(s, to);
    cw_json_open_object(&p->w);
    cw_json_add_key(&p->w, CW_STR("$ref"));
    if (s->resources[s->subs[to].resource].doc != 0) {
        cw_json_add_value(&p->w, k->key + 1);
    } else {
        cw_buf pointer;
        cw_buf text;
        cw_buf_init(&pointer, SIZE_MAX / 4);
        cw_buf_init(&text, SIZE_MAX / 4);
        add_pointer(p, &pointer, s->subs[to].value);
        cw_buf_add_char(&text, '#');
        add_encoded(&text, cw_buf_str(&pointer));
        cw_json_add_string(&p->w, cw_buf_str(&text));
        if ((pointer.code || text.code) && !p->w.code)
            p->w.code = CW_NOMEM;
        cw_buf_done(&pointer);
        cw_buf_done(&text);
    }
    cw_json_close(&p->w);
}

static const keyword *reference_of(const stripper *p, uint32_t index)
{
    const keyword *k = cw_schema_find_keyword(p->s, index, KW_REF);
    return k ? k : cw_schema_find_keyword(p->s, index, KW_DYNAMIC_REF);
}

/* ----------------------------------------------------------------- keywords */

static void strip_list(stripper *p, uint32_t index, const cw_json *list)
{
    for (const cw_json *c = cw_json_first(list); c; c = cw_json_next(c))
        strip_sub(p, link_of(p, index, c));
}

static void strip_map(stripper *p, uint32_t index, const cw_json *map)
{
    for (const cw_json *k = map ? cw_json_first(map) : NULL; k; k = cw_json_next_key(k)) {
        cw_json_add_key(&p->w, cw_json_text(k));
        strip_sub(p, link_of(p, index, k + 1));
    }
}

static void strip_all_of(stripper *p, uint32_t index, const keyword *reference)
{
    const cw_json *own = value_of(p, index, KW_ALL_OF);
    if (!own && !reference)
        return;
    cw_json_add_key(&p->w, CW_STR("allOf"));
    cw_json_open_array(&p->w);
    if (own)
        strip_list(p, index, own);
    if (reference)
        add_reference(p, index, reference);
    cw_json_close(&p->w);
}

/* Names that a trigger requires and a schema that it brings, in one place. */
static void strip_dependency(stripper *p, uint32_t index, const cw_json *names,
                             const cw_json *schema)
{
    if (!schema) {
        cw_json_add_value(&p->w, names);
        return;
    }
    if (!names) {
        strip_sub(p, link_of(p, index, schema));
        return;
    }
    cw_json_open_object(&p->w);
    cw_json_add_key(&p->w, CW_STR("required"));
    cw_json_add_value(&p->w, names);
    cw_json_add_key(&p->w, CW_STR("allOf"));
    cw_json_open_array(&p->w);
    strip_sub(p, link_of(p, index, schema));
    cw_json_close(&p->w);
    cw_json_close(&p->w);
}

static void strip_dependencies(stripper *p, uint32_t index)
{
    const cw_json *required = value_of(p, index, KW_DEPENDENT_REQUIRED);
    const cw_json *schemas = value_of(p, index, KW_DEPENDENT_SCHEMAS);
    const cw_json *old = value_of(p, index, KW_DEPENDENCIES);
    if (!required && !schemas && !old)
        return;
    cw_json_add_key(&p->w, CW_STR("dependencies"));
    cw_json_open_object(&p->w);
    const cw_json *k = schemas ? cw_json_first(schemas) : NULL;
    for (; k; k = cw_json_next_key(k)) {
        cw_json_add_key(&p->w, cw_json_text(k));
        strip_dependency(p, index, cw_json_get(required, cw_json_text(k)), k + 1);
    }
    for (k = required ? cw_json_first(required) : NULL; k; k = cw_json_next_key(k)) {
        if (cw_json_get(schemas, cw_json_text(k)))
            continue;
        cw_json_add_key(&p->w, cw_json_text(k));
        strip_dependency(p, index, k + 1, NULL);
    }
    for (k = old ? cw_json_first(old) : NULL; k; k = cw_json_next_key(k)) {
        if (cw_json_get(schemas, cw_json_text(k)) || cw_json_get(required, cw_json_text(k)))
            continue;
        bool names = cw_json_is(k + 1, CW_JSON_ARRAY);
        cw_json_add_key(&p->w, cw_json_text(k));
        strip_dependency(p, index, names ? k + 1 : NULL, names ? NULL : k + 1);
    }
    cw_json_close(&p->w);
}

static void strip_items(stripper *p, uint32_t index)
{
    const cw_json *prefix = value_of(p, index, KW_PREFIX_ITEMS);
    const cw_json *items = value_of(p, index, KW_ITEMS);
    if (prefix) {
        cw_json_add_key(&p->w, CW_STR("items"));
        cw_json_open_array(&p->w);
        strip_list(p, index, prefix);
        cw_json_close(&p->w);
    }
    if (items) {
        cw_json_add_key(&p->w, prefix ? CW_STR("additionalItems") : CW_STR("items"));
        strip_sub(p, link_of(p, index, items));
    }
    const cw_json *contains = value_of(p, index, KW_CONTAINS);
    const cw_json *least = value_of(p, index, KW_MIN_CONTAINS);
    uint64_t n = 1;
    if (!contains || (least && cw_json_to_u64(least, &n) && n == 0))
        return;
    cw_json_add_key(&p->w, CW_STR("contains"));
    strip_sub(p, link_of(p, index, contains));
}

/* unevaluatedProperties says the same as additionalProperties where nothing else evaluates. */
static void strip_unevaluated(stripper *p, uint32_t index)
{
    static const kw_id logic[] = {KW_REF,
                                  KW_DYNAMIC_REF,
                                  KW_ALL_OF,
                                  KW_ANY_OF,
                                  KW_ONE_OF,
                                  KW_IF,
                                  KW_DEPENDENT_SCHEMAS,
                                  KW_DEPENDENCIES,
                                  KW_ADDITIONAL_PROPERTIES};
    const cw_json *rest = value_of(p, index, KW_UNEVALUATED_PROPERTIES);
    for (size_t i = 0; i < CW_COUNT(logic); i++) {
        if (!rest || value_of(p, index, logic[i]))
            return;
    }
    cw_json_add_key(&p->w, CW_STR("additionalProperties"));
    strip_sub(p, link_of(p, index, rest));
}

/* Handled apart, or without a counterpart in draft-07. */
static bool is_special(cw_str name)
{
    static const char *const names[] = {
        "$schema",
        "$id",
        "$anchor",
        "$dynamicAnchor",
        "$ref",
        "$dynamicRef",
        "$vocabulary",
        "$defs",
        "definitions",
        "allOf",
        "prefixItems",
        "items",
        "contains",
        "minContains",
        "maxContains",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "unevaluatedItems",
        "unevaluatedProperties",
        "contentSchema",
    };
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        if (cw_str_is(name, names[i]))
            return true;
    }
    return false;
}

static void strip_others(stripper *p, uint32_t index)
{
    const sub *at = &p->s->subs[index];
    for (const cw_json *k = cw_json_first(at->value); k; k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        if (is_special(name))
            continue;
        const kw_row *row = cw_schema_keyword(name, CW_SCHEMA_2020_12, VOCAB_STANDARD);
        cw_json_add_key(&p->w, name);
        kw_shape shape = row ? (kw_shape)row->shape : SHAPE_ANY;
        if (shape == SHAPE_SCHEMA) {
            strip_sub(p, link_of(p, index, k + 1));
        } else if (shape == SHAPE_SCHEMAS) {
            cw_json_open_array(&p->w);
            strip_list(p, index, k + 1);
            cw_json_close(&p->w);
        } else if (shape == SHAPE_SCHEMA_MAP || shape == SHAPE_PATTERN_MAP) {
            cw_json_open_object(&p->w);
            strip_map(p, index, k + 1);
            cw_json_close(&p->w);
        } else {
            cw_json_add_value(&p->w, k + 1);
        }
    }
}

static void strip_definitions(stripper *p, uint32_t index)
{
    const cw_json *value = p->s->subs[index].value;
    const cw_json *defs = cw_json_get(value, CW_STR("$defs"));
    const cw_json *old = cw_json_get(value, CW_STR("definitions"));
    if (!defs && !old)
        return;
    cw_json_add_key(&p->w, CW_STR("definitions"));
    cw_json_open_object(&p->w);
    strip_map(p, index, defs);
    for (const cw_json *k = old ? cw_json_first(old) : NULL; k; k = cw_json_next_key(k)) {
        if (cw_json_get(defs, cw_json_text(k)))
            continue;
        cw_json_add_key(&p->w, cw_json_text(k));
        strip_sub(p, link_of(p, index, k + 1));
    }
    cw_json_close(&p->w);
}

static void strip_sub(stripper *p, uint32_t index)
{
    const sub *at = &p->s->subs[index];
    bool other = p->s->resources[at->resource].draft != CW_SCHEMA_2020_12;
    if (!cw_json_is(at->value, CW_JSON_OBJECT) || other) {
        cw_json_add_value(&p->w, at->value);
        return;
    }
    const keyword *reference = reference_of(p, index);
    if (reference && cw_json_count(at->value) == 1) {
        add_reference(p, index, reference);
        return;
    }
    cw_json_open_object(&p->w);
    if (index == p->s->root) {
        cw_json_add_string_member(&p->w, CW_STR("$schema"),
                                  CW_STR("http://json-schema.org/draft-07/schema#"));
        const cw_json *id = cw_json_get(at->value, CW_STR("$id"));
        if (id) {
            cw_json_add_key(&p->w, CW_STR("$id"));
            cw_json_add_value(&p->w, id);
        }
    }
    strip_others(p, index);
    strip_items(p, index);
    strip_dependencies(p, index);
    strip_unevaluated(p, index);
    strip_all_of(p, index, reference);
    strip_definitions(p, index);
    cw_json_close(&p->w);
}

cw_code cw_schema_write_draft07(const cw_schema *s, cw_buf *out, cw_err *err)
{
    stripper p = {.s = s};
    cw_json_writer_init(&p.w, out, CW_JSON_COMPACT);
    strip_sub(&p, s->root);
    return cw_json_writer_end(&p.w, err);
}
