/* SPDX-License-Identifier: GPL-2.0-or-later */
/* php_schema.c - schemas that PHP wrote: for want of members an object is a list there.
 *
 * Only where JSON Schema knows of no list is an empty one read as an object, and as the `default`,
 * `const` or one of the `examples` or `enum` of an object; elsewhere (`required`) it is what it is.
 */
#include "source/describe/describe_ctx.h"

/* Members whose values have schemas as members. */
static bool has_schemas(cw_str key)
{
    static const char *const keys[] = {"properties", "patternProperties", "$defs", "definitions",
                                       "dependentSchemas"};
    for (size_t i = 0; i < CW_COUNT(keys); i++) {
        if (cw_str_is(key, keys[i]))
            return true;
    }
    return false;
}

/* Members that are a schema. */
static bool is_schema(cw_str key)
{
    static const char *const keys[] = {"items", "additionalProperties", "not", "contains",
                                       "propertyNames"};
    for (size_t i = 0; i < CW_COUNT(keys); i++) {
        if (cw_str_is(key, keys[i]))
            return true;
    }
    return false;
}

static bool is_empty_list(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_ARRAY) && cw_json_count(v) == 0;
}

static bool is_object_type(const cw_json *schema)
{
    const cw_json *type = cw_json_get(schema, CW_STR("type"));
    return cw_json_is(type, CW_JSON_STRING) && cw_str_is(cw_json_text(type), "object");
}

static void write_empty(cw_json_writer *w)
{
    cw_json_open_object(w);
    cw_json_close(w);
}

/* Values of an object's schema: [] is one without members. False: it is no such member. */
static bool write_instances(cw_json_writer *w, cw_str key, const cw_json *v)
{
    bool is_one = cw_str_is(key, "default") || cw_str_is(key, "const");
    bool is_many = cw_str_is(key, "examples") || cw_str_is(key, "enum");
    if (is_one && is_empty_list(v)) {
        write_empty(w);
        return true;
    }
    if (!is_many || !cw_json_is(v, CW_JSON_ARRAY))
        return false;
    cw_json_open_array(w);
    for (const cw_json *item = cw_json_first(v); item; item = cw_json_next(item)) {
        if (is_empty_list(item))
            write_empty(w);
        else
            cw_json_add_value(w, item);
    }
    cw_json_close(w);
    return true;
}

/* `is_map`: the members of `v` are schemas under names of their own. The reader has bounded how
 * deep this goes. */
static void write_value(cw_json_writer *w, const cw_json *v, bool is_map)
{
    if (cw_json_is(v, CW_JSON_ARRAY)) {
        cw_json_open_array(w);
        for (const cw_json *item = cw_json_first(v); item; item = cw_json_next(item))
            write_value(w, item, false);
        cw_json_close(w);
        return;
    }
    if (!cw_json_is(v, CW_JSON_OBJECT)) {
        cw_json_add_value(w, v);
        return;
    }
    bool is_object = !is_map && is_object_type(v);
    cw_json_open_object(w);
    for (const cw_json *k = cw_json_first(v); k; k = cw_json_next_key(k)) {
        cw_str key = cw_json_text(k);
        const cw_json *member = cw_json_value(k);
        bool has = !is_map && has_schemas(key);
        cw_json_add_key(w, key);
        if (is_object && write_instances(w, key, member))
            continue;
        if (is_empty_list(member) && (is_map || has || is_schema(key)))
            write_empty(w);
        else
            write_value(w, member, has);
    }
    cw_json_close(w);
}

cw_str cw_describe_php_schema(const cw_json *schema, cw_buf *out)
{
    if (!cw_json_is(schema, CW_JSON_OBJECT))
        return CW_STR("");
    cw_json_writer w;
    cw_buf_clear(out);
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    write_value(&w, schema, false);
    return out->code ? CW_STR("") : cw_buf_str(out);
}
