/* SPDX-License-Identifier: GPL-2.0-or-later */
/* param_headers.c - finds and checks x-mcp-header declarations. */
#include "catalogue/tool/param_headers.h"

#include "catalogue/schema_bundle.h"

typedef struct finder {
    cw_arena *arena;
    cw_param_headers *items; /* CW_PARAM_HEADERS_MAX of them; NULL: none found yet */
    size_t n;
    cw_err *err;
} finder;

bool cw_param_headers_may_be_in(cw_str schema)
{
    static const char keyword[] = CW_PARAM_HEADERS_KEYWORD;
    if (!schema.p || !schema.n)
        return false;
    /* A backslash: it may be spelt with escapes. */
    return memmem(schema.p, schema.n, keyword, sizeof keyword - 1) ||
           memchr(schema.p, '\\', schema.n);
}

/* ---- finding ---- */

static bool is_token(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool is_alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!is_alnum && (c == 0 || !strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return text.n > 0;
}

static bool is_plain_type(const cw_json *type)
{
    if (!cw_json_is(type, CW_JSON_STRING))
        return false;
    cw_str name = cw_json_text(type);
    return cw_str_is(name, "string") || cw_str_is(name, "integer") || cw_str_is(name, "boolean");
}

static bool is_there(const finder *f, cw_str header)
{
    for (size_t i = 0; i < f->n; i++) {
        if (cw_str_ieq(f->items[i].header, header))
            return true;
    }
    return false;
}

static cw_code add(finder *f, const cw_json *schema, const cw_json *name, const cw_json *value)
{
    const char *problem = NULL;
    if (!cw_json_is(name, CW_JSON_STRING) || !is_token(cw_json_text(name)))
        problem = "must be the name of a header";
    else if (!is_plain_type(cw_json_get(schema, CW_STR("type"))))
        problem = "stands on what is not of type string, integer or boolean";
    else if (is_there(f, cw_json_text(name)))
        problem = "names the same header twice";
    else if (f->n == CW_PARAM_HEADERS_MAX)
        problem = "stands there too often";
    if (problem)
        return cw_fail(f->err, CW_PARAMS, CW_PARAM_HEADERS_KEYWORD " %s", problem);
    if (!f->items)
        f->items = cw_arena_calloc(f->arena, CW_PARAM_HEADERS_MAX, sizeof *f->items);
    if (!f->items)
        return cw_arena_fail(f->arena, f->err);
    f->items[f->n++] = (cw_param_headers){.header = cw_json_text(name), .value = value};
    return CW_OK;
}

/* The position of a schema. */
typedef enum place {
    ROOT,     /* of the arguments */
    PROPERTY, /* reached through `properties` alone */
    ELSEWHERE,
} place;

static cw_code scan_schema(finder *f, const cw_json *v, place at, const cw_json *value);

static cw_code scan_names(finder *f, const cw_json *names, bool are_properties,
                          const cw_json *value)
{
    cw_code rc = CW_OK;
    if (!cw_json_is(names, CW_JSON_OBJECT))
        return CW_OK;
    for (const cw_json *k = cw_json_first(names); k && !rc; k = cw_json_next_key(k))
        rc = scan_schema(f, cw_json_value(k), are_properties ? PROPERTY : ELSEWHERE,
                         are_properties ? cw_json_get(value, cw_json_text(k)) : NULL);
    return rc;
}

static cw_code scan_member(finder *f, const cw_json *schema, const cw_json *key, place at,
                           const cw_json *value)
{
    cw_str keyword = cw_json_text(key);
    const cw_json *v = cw_json_value(key);
    bool are_properties = at != ELSEWHERE && cw_str_is(keyword, "properties");
    if (cw_str_is(keyword, CW_PARAM_HEADERS_KEYWORD)) {
        if (at != PROPERTY)
            return cw_fail(f->err, CW_PARAMS,
                           CW_PARAM_HEADERS_KEYWORD " stands where `properties` alone do not lead");
        return add(f, schema, v, value);
    }
    switch (cw_bundle_kind_of(keyword)) {
    case CW_BUNDLE_NAMES:
        return scan_names(f, v, are_properties, value);
    case CW_BUNDLE_SCHEMA:
        return scan_schema(f, v, ELSEWHERE, NULL);
    case CW_BUNDLE_DATA:
        break;
    }
    return CW_OK;
}

/* As deep as the document, which has the reader's ceiling. */
static cw_code scan_schema(finder *f, const cw_json *v, place at, const cw_json *value)
{
    cw_code rc = CW_OK;
    if (cw_json_is(v, CW_JSON_ARRAY)) {
        for (const cw_json *i = cw_json_first(v); i && !rc; i = cw_json_next(i))
            rc = scan_schema(f, i, ELSEWHERE, NULL);
    } else if (cw_json_is(v, CW_JSON_OBJECT)) {
        for (const cw_json *k = cw_json_first(v); k && !rc; k = cw_json_next_key(k))
            rc = scan_member(f, v, k, at, value);
    }
    return rc;
}

static cw_code scan_text(finder *f, cw_str text, place at, const cw_json *value)
{
    const cw_json_opts deep = {.max_depth = CW_JSON_DEPTH_CEILING};
    const cw_json *schema;
    if (!cw_param_headers_may_be_in(text))
        return CW_OK;
    cw_code rc = cw_json_read(text, &deep, f->arena, &schema, NULL, f->err);
    return rc ? rc : scan_schema(f, schema, at, value);
}

cw_code cw_param_headers_find(const cw_method *method, const cw_json *arguments, cw_arena *arena,
                              const cw_param_headers **ret, size_t *ret_n, cw_err *err)
{
    finder f = {.arena = arena, .err = err};
    cw_code rc = scan_text(&f, method->input, ROOT, arguments);
    for (size_t i = 0; i < method->n_params && !method->input.n && !rc; i++) {
        const cw_param *param = &method->params[i];
        rc = scan_text(&f, param->schema, PROPERTY, cw_json_get(arguments, param->name));
    }
    if (rc)
        return rc;
    *ret = f.items;
    *ret_n = f.n;
    return CW_OK;
}

/* ---- leaving out ---- */

static void copy(cw_buf *out, const cw_json *v, cw_bundle_kind as);

static void copy_members(cw_buf *out, const cw_json *object, cw_bundle_kind as)
{
    bool is_first = true;
    for (const cw_json *k = cw_json_first(object); k; k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        if (as == CW_BUNDLE_SCHEMA && cw_str_is(name, CW_PARAM_HEADERS_KEYWORD))
            continue;
        if (!is_first)
            cw_buf_add_char(out, ',');
        is_first = false;
        cw_buf_add(out, cw_json_span(k));
        cw_buf_add_char(out, ':');
        copy(out, cw_json_value(k),
             as == CW_BUNDLE_NAMES ? CW_BUNDLE_SCHEMA : cw_bundle_kind_of(name));
    }
}

/* Not by a writer, whose ceiling of depth is lower than the reader's. */
static void copy(cw_buf *out, const cw_json *v, cw_bundle_kind as)
{
    if (as != CW_BUNDLE_DATA && cw_json_is(v, CW_JSON_OBJECT)) {
        cw_buf_add_char(out, '{');
        copy_members(out, v, as);
        cw_buf_add_char(out, '}');
        return;
    }
    if (as != CW_BUNDLE_DATA && cw_json_is(v, CW_JSON_ARRAY)) {
        cw_buf_add_char(out, '[');
        for (const cw_json *i = cw_json_first(v); i; i = cw_json_next(i)) {
            if (i != cw_json_first(v))
                cw_buf_add_char(out, ',');
            copy(out, i, as);
        }
        cw_buf_add_char(out, ']');
        return;
    }
    cw_buf_add(out, cw_json_span(v));
}

void cw_param_headers_write_without(cw_buf *out, const cw_json *schema)
{
    copy(out, schema, CW_BUNDLE_SCHEMA);
}
