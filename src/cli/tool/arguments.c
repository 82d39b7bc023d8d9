/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arguments.c - makes a JSON object from NAME=VALUE arguments. */
#include "cli/tool/arguments.h"

#include "base/utf8.h"
#include "config/syntax/quote.h"
#include "json/write.h"

#define DEPTH_MAX 16u
#define SCRATCH_MAX (64u * 1024u * 1024u)
#define VALUE_MAX (16u * 1024u * 1024u)

enum { T_NULL, T_BOOLEAN, T_INTEGER, T_NUMBER, T_STRING, T_ARRAY, T_OBJECT };

static const char *const names[CW_TYPES_N] = {"null",   "boolean", "integer", "number",
                                              "string", "array",   "object"};

const char *cw_cli_type_name_of(unsigned bit)
{
    return names[bit];
}

/* ---- what a schema says ---- */

static unsigned bit_of_name(const cw_json *name)
{
    for (unsigned i = 0; i < CW_TYPES_N && cw_json_is(name, CW_JSON_STRING); i++) {
        if (cw_str_is(cw_json_text(name), names[i]))
            return 1u << i;
    }
    return 0;
}

static unsigned bit_of_value(const cw_json *v)
{
    switch (cw_json_type_of(v)) {
    case CW_JSON_FALSE:
    case CW_JSON_TRUE:
        return 1u << T_BOOLEAN;
    case CW_JSON_NUMBER:
        return 1u << (cw_json_is_integer(v) ? T_INTEGER : T_NUMBER);
    case CW_JSON_STRING:
        return 1u << T_STRING;
    case CW_JSON_ARRAY:
        return 1u << T_ARRAY;
    case CW_JSON_OBJECT:
        return 1u << T_OBJECT;
    case CW_JSON_NULL:
    case CW_JSON_END:
        break;
    }
    return 1u << T_NULL;
}

static unsigned types_of(const cw_json *root, const cw_json *schema, unsigned depth);

/* One branch that says nothing allows anything. */
static unsigned types_of_branches(const cw_json *root, const cw_json *branches, unsigned depth)
{
    unsigned all = 0;
    for (const cw_json *b = cw_json_first(branches); b; b = cw_json_next(b)) {
        unsigned types = types_of(root, b, depth);
        if (!types)
            return 0;
        all |= types;
    }
    return all;
}

static unsigned types_of_word(const cw_json *type)
{
    if (!cw_json_is(type, CW_JSON_ARRAY))
        return bit_of_name(type);
    unsigned all = 0;
    for (const cw_json *t = cw_json_first(type); t; t = cw_json_next(t))
        all |= bit_of_name(t);
    return all;
}

static unsigned types_of(const cw_json *root, const cw_json *schema, unsigned depth)
{
    if (!cw_json_is(schema, CW_JSON_OBJECT) || depth > DEPTH_MAX)
        return 0;
    const cw_json *type = cw_json_get(schema, CW_STR("type"));
    if (type)
        return types_of_word(type);
    const cw_json *constant = cw_json_get(schema, CW_STR("const"));
    if (constant)
        return bit_of_value(constant);
    const cw_json *values = cw_json_get(schema, CW_STR("enum"));
    if (cw_json_is(values, CW_JSON_ARRAY)) {
        unsigned all = 0;
        for (const cw_json *v = cw_json_first(values); v; v = cw_json_next(v))
            all |= bit_of_value(v);
        return all;
    }
    const cw_json *ref = cw_json_get(schema, CW_STR("$ref"));
    if (cw_json_is(ref, CW_JSON_STRING) && ref->n && ref->p[0] == '#')
        return types_of(root, cw_json_pointer(root, cw_str_make(ref->p + 1, ref->n - 1)),
                        depth + 1);
    static const char *const unions[] = {"anyOf", "oneOf"};
    for (size_t i = 0; i < CW_COUNT(unions); i++) {
        const cw_json *branches = cw_json_get(schema, cw_str_from(unions[i]));
        if (cw_json_is(branches, CW_JSON_ARRAY))
            return types_of_branches(root, branches, depth + 1);
    }
    return 0;
}

static cw_code read_types(cw_str schema, unsigned *ret)
{
    cw_arena arena;
    const cw_json *root = NULL;
    const cw_json_opts opts = {.max_bytes = schema.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    *ret = 0;
    if (schema.n == 0)
        return CW_OK;
    cw_arena_init(&arena, SCRATCH_MAX);
    cw_code rc = cw_json_read(schema, &opts, &arena, &root, NULL, NULL);
    if (!rc)
        *ret = types_of(root, root, 0);
    cw_arena_done(&arena);
    return rc;
}

unsigned cw_cli_schema_types(cw_str schema)
{
    unsigned types;
    (void)!read_types(schema, &types);
    return types;
}

/* ---- arguments ---- */

static cw_code add_value(cw_json_writer *w, cw_str name, cw_str text, unsigned types, cw_err *err)
{
    char exposed[CW_EXCERPT_SIZE];
    if (!types || types & 1u << T_STRING) {
        cw_json_add_string_member(w, name, text);
        return CW_OK;
    }
    cw_arena arena;
    const cw_json *value = NULL;
    cw_err why = {0};
    const cw_json_opts opts = {.max_bytes = VALUE_MAX};
    cw_arena_init(&arena, SCRATCH_MAX);
    cw_code rc = cw_json_read(text, &opts, &arena, &value, NULL, &why);
    if (!rc) {
        cw_json_add_key(w, name);
        cw_json_add_value(w, value);
    }
    cw_arena_done(&arena);
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    return rc ? cw_fail(err, CW_PARAMS, "--arg %s: its value must be JSON: %s",
                        cw_excerpt(name, exposed), why.msg)
              : CW_OK;
}

static cw_str name_of(const char *item, cw_str *ret_value)
{
    return cw_str_cut(cw_str_from(item), '=', ret_value);
}

static bool stands_before(const char *const *items, size_t at, cw_str name)
{
    cw_str value;
    for (size_t i = 0; i < at; i++) {
        if (cw_str_eq(name_of(items[i], &value), name))
            return true;
    }
    return false;
}

static cw_code add_argument(cw_json_writer *w, const cw_method *method, const char *const *items,
                            size_t i, cw_err *err)
{
    char exposed[CW_EXCERPT_SIZE];
    cw_str value;
    cw_str name = name_of(items[i], &value);
    if (!value.p || name.n == 0)
        return cw_fail(err, CW_PARAMS, "--arg %s: write it as NAME=VALUE",
                       cw_excerpt(cw_str_from(items[i]), exposed));
    if (!cw_utf8_is_valid(cw_str_from(items[i])))
        return cw_fail(err, CW_PARAMS, "--arg %s: not UTF-8", cw_excerpt(name, exposed));
    if (stands_before(items, i, name))
        return cw_fail(err, CW_PARAMS, "--arg %s: given twice", cw_excerpt(name, exposed));
    const cw_param *param = cw_method_param(method, name);
    unsigned types = 0;
    if (param && read_types(param->schema, &types) == CW_NOMEM)
        return cw_fail_nomem(err);
    return add_value(w, name, value, types, err);
}

cw_code cw_cli_arguments_make(const cw_method *method, const char *const *items, size_t n,
                              cw_buf *out, cw_err *err)
{
    cw_json_writer w;
    cw_code rc = CW_OK;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    for (size_t i = 0; i < n && !rc; i++)
        rc = add_argument(&w, method, items, i, err);
    cw_json_close(&w);
    cw_code ended = cw_json_writer_end(&w, rc ? NULL : err);
    return rc ? rc : ended;
}
