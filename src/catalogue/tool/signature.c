/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signature.c - input schemas as one line. */
#include "catalogue/tool/signature.h"

#define DEPTH 4u

typedef struct signature {
    cw_buf *out;
    const cw_json *root; /* references count from here */
} signature;

static void add_type(const signature *s, const cw_json *schema, unsigned depth);

/* The names of the types that have a shorter usual name. */
static cw_str short_name(cw_str type)
{
    static const struct {
        const char *type, *name;
    } names[] = {{"string", "str"}, {"integer", "int"}, {"boolean", "bool"}};
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        if (cw_str_is(type, names[i].type))
            return cw_str_from(names[i].name);
    }
    return type;
}

/* a|b|c */
static void add_choices(const signature *s, const cw_json *values, bool are_types)
{
    for (const cw_json *v = cw_json_first(values); v; v = cw_json_next(v)) {
        cw_buf_add(s->out, are_types ? short_name(cw_json_text(v)) : cw_json_text(v));
        if (cw_json_next(v))
            cw_buf_add_char(s->out, '|');
    }
}

static void add_union(const signature *s, const cw_json *schemas, unsigned depth)
{
    for (const cw_json *v = cw_json_first(schemas); v; v = cw_json_next(v)) {
        add_type(s, v, depth);
        if (cw_json_next(v))
            cw_buf_add_char(s->out, '|');
    }
}

static void add_named(const signature *s, const cw_json *schema, cw_str type, unsigned depth)
{
    const cw_json *items = cw_json_get(schema, CW_STR("items"));
    if (!cw_str_is(type, "array")) {
        cw_buf_add(s->out, short_name(type));
        return;
    }
    if (cw_json_is(items, CW_JSON_OBJECT) && cw_json_first(items))
        add_type(s, items, depth);
    else
        cw_buf_add(s->out, CW_STR("any"));
    cw_buf_add(s->out, CW_STR("[]"));
}

/* The schema that a reference inside of the document leads to, or NULL. */
static const cw_json *resolve(const signature *s, const cw_json *ref)
{
    cw_str text = cw_json_is(ref, CW_JSON_STRING) ? cw_json_text(ref) : CW_STR("");
    if (text.n < 2 || text.p[0] != '#' || text.p[1] != '/')
        return NULL;
    return cw_json_pointer(s->root, cw_str_make(text.p + 1, text.n - 1));
}

static const cw_json *alternatives(const cw_json *schema)
{
    const cw_json *any = cw_json_get(schema, CW_STR("anyOf"));
    const cw_json *ret = any ? any : cw_json_get(schema, CW_STR("oneOf"));
    return cw_json_is(ret, CW_JSON_ARRAY) ? ret : NULL;
}

static void add_type(const signature *s, const cw_json *schema, unsigned depth)
{
    const cw_json *values = cw_json_get(schema, CW_STR("enum"));
    const cw_json *value = cw_json_get(schema, CW_STR("const"));
    const cw_json *type = cw_json_get(schema, CW_STR("type"));
    const cw_json *target = resolve(s, cw_json_get(schema, CW_STR("$ref")));
    const cw_json *either = alternatives(schema);
    if (depth >= DEPTH)
        cw_buf_add(s->out, CW_STR("any"));
    else if (cw_json_is(values, CW_JSON_ARRAY))
        add_choices(s, values, /* are_types= */ false);
    else if (value)
        cw_buf_add(s->out, cw_json_text(value));
    else if (cw_json_is(type, CW_JSON_STRING))
        add_named(s, schema, cw_json_text(type), depth + 1);
    else if (cw_json_is(type, CW_JSON_ARRAY))
        add_choices(s, type, /* are_types= */ true);
    else if (either)
        add_union(s, either, depth + 1);
    else if (target)
        add_type(s, target, depth + 1);
    else
        cw_buf_add(s->out, CW_STR("any"));
}

static bool is_required(const cw_json *schema, cw_str name)
{
    const cw_json *names = cw_json_get(schema, CW_STR("required"));
    for (const cw_json *v = names ? cw_json_first(names) : NULL; v; v = cw_json_next(v)) {
        if (cw_json_is(v, CW_JSON_STRING) && cw_str_eq(cw_json_text(v), name))
            return true;
    }
    return false;
}

void cw_signature_add(cw_buf *out, const cw_json *schema)
{
    const signature s = {out, schema};
    const cw_json *properties = cw_json_get(schema, CW_STR("properties"));
    const cw_json *k = cw_json_is(properties, CW_JSON_OBJECT) ? cw_json_first(properties) : NULL;
    cw_buf_add_char(out, '(');
    for (; k; k = cw_json_next_key(k)) {
        cw_buf_add(out, cw_json_text(k));
        if (!is_required(schema, cw_json_text(k)))
            cw_buf_add_char(out, '?');
        cw_buf_add_char(out, ':');
        add_type(&s, cw_json_value(k), 0);
        if (cw_json_next_key(k))
            cw_buf_add_char(out, ',');
    }
    cw_buf_add_char(out, ')');
}
