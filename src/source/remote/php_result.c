/* SPDX-License-Identifier: GPL-2.0-or-later */
/* php_result.c - results that PHP wrote: for want of members an object is an empty list there.
 *
 * An empty list becomes an object where the schema of the result declares an object and no list.
 * Everything else stays what it is.
 */
#include "json/write.h"
#include "source/remote/remote_int.h"

#define REFS_MAX 16u      /* that lead to each other */
#define STEPS_MAX 200000u /* schemas that are looked at for one result */

typedef struct reading {
    const cw_json *root; /* of the schema */
    cw_json_writer w;
    unsigned n_steps;
    bool is_changed;
} reading;

/* A schema without its $ref; NULL: there is none, or it leads too far. */
static const cw_json *resolve(reading *x, const cw_json *schema)
{
    for (unsigned i = 0; i < REFS_MAX && cw_json_is(schema, CW_JSON_OBJECT); i++) {
        const cw_json *ref = cw_json_get(schema, CW_STR("$ref"));
        if (++x->n_steps > STEPS_MAX)
            return NULL;
        if (!cw_json_is(ref, CW_JSON_STRING))
            return schema;
        cw_str text = cw_json_text(ref);
        if (!cw_str_starts(text, CW_STR("#")))
            return NULL;
        schema = cw_json_pointer(x->root, cw_str_make(text.p + 1, text.n - 1));
    }
    return NULL;
}

static bool has_type(const cw_json *type, const char *name)
{
    if (cw_json_is(type, CW_JSON_STRING))
        return cw_str_is(cw_json_text(type), name);
    bool is_list = cw_json_is(type, CW_JSON_ARRAY);
    for (const cw_json *v = is_list ? cw_json_first(type) : NULL; v; v = cw_json_next(v)) {
        if (cw_json_is(v, CW_JSON_STRING) && cw_str_is(cw_json_text(v), name))
            return true;
    }
    return false;
}

static const char *const choices[] = {"anyOf", "oneOf", "allOf"};

/* Whether this schema, or one of its alternatives, declares the type. */
static bool declares(reading *x, const cw_json *schema, const char *type, unsigned depth)
{
    schema = resolve(x, schema);
    if (!schema || depth == 0)
        return false;
    if (has_type(cw_json_get(schema, CW_STR("type")), type))
        return true;
    for (size_t i = 0; i < CW_COUNT(choices); i++) {
        const cw_json *list = cw_json_get(schema, cw_str_from(choices[i]));
        bool is_list = cw_json_is(list, CW_JSON_ARRAY);
        for (const cw_json *v = is_list ? cw_json_first(list) : NULL; v; v = cw_json_next(v)) {
            if (declares(x, v, type, depth - 1))
                return true;
        }
    }
    return false;
}

/* The schema of a member (`name`) or, where that has no .p, of the elements; NULL: nothing is said
 * of it. The first alternative with a schema counts. */
static const cw_json *inner(reading *x, const cw_json *schema, cw_str name, unsigned depth)
{
    schema = resolve(x, schema);
    if (!schema || depth == 0)
        return NULL;
    const cw_json *found = name.p ? cw_json_get(cw_json_get(schema, CW_STR("properties")), name)
                                  : cw_json_get(schema, CW_STR("items"));
    if (!found && name.p)
        found = cw_json_get(schema, CW_STR("additionalProperties"));
    for (size_t i = 0; i < CW_COUNT(choices) && !found; i++) {
        const cw_json *list = cw_json_get(schema, cw_str_from(choices[i]));
        bool is_list = cw_json_is(list, CW_JSON_ARRAY);
        for (const cw_json *v = is_list ? cw_json_first(list) : NULL; v && !found;
             v = cw_json_next(v))
            found = inner(x, v, name, depth - 1);
    }
    return found;
}

/* The reader has bounded how deep this goes. */
static void write_value(reading *x, const cw_json *v, const cw_json *schema)
{
    const unsigned deep = 4; /* alternatives within alternatives */
    bool is_list = cw_json_is(v, CW_JSON_ARRAY);
    if (!schema || (!is_list && !cw_json_is(v, CW_JSON_OBJECT))) {
        cw_json_add_value(&x->w, v);
    } else if (is_list && cw_json_count(v) == 0 && declares(x, schema, "object", deep) &&
               !declares(x, schema, "array", deep)) {
        x->is_changed = true;
        cw_json_open_object(&x->w);
        cw_json_close(&x->w);
    } else if (is_list) {
        const cw_json *items = inner(x, schema, (cw_str){NULL, 0}, deep);
        cw_json_open_array(&x->w);
        for (const cw_json *item = cw_json_first(v); item; item = cw_json_next(item))
            write_value(x, item, items);
        cw_json_close(&x->w);
    } else {
        cw_json_open_object(&x->w);
        for (const cw_json *k = cw_json_first(v); k; k = cw_json_next_key(k)) {
            cw_json_add_key(&x->w, cw_json_text(k));
            write_value(x, cw_json_value(k), inner(x, schema, cw_json_text(k), deep));
        }
        cw_json_close(&x->w);
    }
}

/* "[]", with white space in it or not; texts may have it too, which costs time only. */
static bool may_have_empty(cw_str text)
{
    for (const char *p = text.p, *end = text.p + text.n; p; p++) {
        p = memchr(p, '[', (size_t)(end - p));
        if (!p)
            return false;
        const char *next = p + 1;
        while (next < end && (*next == ' ' || *next == '\n' || *next == '\r' || *next == '\t'))
            next++;
        if (next < end && *next == ']')
            return true;
    }
    return false;
}

cw_code cw_remote_decode_php_result(const cw_json *schema, cw_arena *arena, const cw_json **result)
{
    cw_str span = cw_json_span(*result);
    if (!may_have_empty(span))
        return CW_OK;
    CW_CLEANUP(cw_buf_done) cw_buf out;
    reading x = {.root = schema};
    cw_buf_init(&out, span.n + 64); /* nothing gets longer */
    cw_json_writer_init(&x.w, &out, CW_JSON_COMPACT);
    write_value(&x, *result, schema);
    cw_code rc = cw_json_writer_end(&x.w, NULL);
    if (rc || !x.is_changed)
        return rc == CW_NOMEM ? rc : CW_OK;
    cw_str text = cw_arena_dup_str(arena, cw_buf_str(&out));
    const cw_json_opts opts = {.max_bytes = text.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    return text.p ? cw_json_read(text, &opts, arena, result, NULL, NULL) : CW_NOMEM;
}
