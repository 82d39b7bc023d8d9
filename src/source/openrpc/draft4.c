/* SPDX-License-Identifier: GPL-2.0-or-later */
/* draft4.c - rewrites the bounds of draft-04 with the keywords of later drafts.
 *
 *     {"minimum":5,"exclusiveMinimum":true}     {"exclusiveMinimum":5}
 *     {"maximum":9,"exclusiveMaximum":false}    {"maximum":9}
 *
 * Many services describe themselves so, with any draft in their "$schema". Later drafts
 * reject a boolean there, and the schema would be lost.
 */
#include "catalogue/schema_bundle.h"
#include "json/write.h"
#include "source/openrpc/openrpc.h"

static const struct {
    cw_str bound, exclusive;
} pairs[] = {
    {CW_STR_INIT("minimum"), CW_STR_INIT("exclusiveMinimum")},
    {CW_STR_INIT("maximum"), CW_STR_INIT("exclusiveMaximum")},
};

static bool is_boolean(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_TRUE) || cw_json_is(v, CW_JSON_FALSE);
}

/* An object with a type or a bound that is a number is a schema, not a list of properties. */
static bool is_schema(const cw_json *object)
{
    const cw_json *type = cw_json_get(object, CW_STR("type"));
    return cw_json_is(type, CW_JSON_STRING) || cw_json_is(type, CW_JSON_ARRAY) ||
           cw_json_is(cw_json_get(object, pairs[0].bound), CW_JSON_NUMBER) ||
           cw_json_is(cw_json_get(object, pairs[1].bound), CW_JSON_NUMBER);
}

/* The kind of a member's value. The names below "components" are those of the document. */
static cw_bundle_kind kind_of(cw_str name)
{
    bool has_names = cw_str_is(name, "schemas") || cw_str_is(name, "contentDescriptors");
    return has_names ? CW_BUNDLE_NAMES : cw_bundle_kind_of(name);
}

/* Whether the member is part of an old bound. Its replacement, if it has one, is written. */
static bool write_bound(cw_json_writer *w, const cw_json *object, cw_str name)
{
    for (size_t i = 0; i < CW_COUNT(pairs); i++) {
        const cw_json *exclusive = cw_json_get(object, pairs[i].exclusive);
        const cw_json *bound = cw_json_get(object, pairs[i].bound);
        bool is_old = is_boolean(exclusive);
        if (is_old && cw_str_eq(name, pairs[i].exclusive))
            return true;
        if (!is_old || !cw_json_is(exclusive, CW_JSON_TRUE) || !cw_str_eq(name, pairs[i].bound))
            continue;
        cw_json_add_key(w, pairs[i].exclusive);
        cw_json_add_span(w, cw_json_span(bound));
        return true;
    }
    return false;
}

static void write_value(cw_json_writer *w, const cw_json *v, cw_bundle_kind kind);

/* Names with a schema each may be those of keywords. */
static void write_names(cw_json_writer *w, const cw_json *names)
{
    cw_json_open_object(w);
    for (const cw_json *k = cw_json_first(names); k; k = cw_json_next_key(k)) {
        cw_json_add_key(w, cw_json_text(k));
        write_value(w, cw_json_value(k), CW_BUNDLE_SCHEMA);
    }
    cw_json_close(w);
}

static void write_object(cw_json_writer *w, const cw_json *object)
{
    bool schema = is_schema(object);
    cw_json_open_object(w);
    for (const cw_json *k = cw_json_first(object); k; k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        if (schema && write_bound(w, object, name))
            continue;
        cw_json_add_key(w, name);
        write_value(w, cw_json_value(k), kind_of(name));
    }
    cw_json_close(w);
}

static void write_list(cw_json_writer *w, const cw_json *list)
{
    cw_json_open_array(w);
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v))
        write_value(w, v, CW_BUNDLE_SCHEMA);
    cw_json_close(w);
}

static void write_value(cw_json_writer *w, const cw_json *v, cw_bundle_kind kind)
{
    bool is_object = kind != CW_BUNDLE_DATA && cw_json_is(v, CW_JSON_OBJECT);
    if (is_object && kind == CW_BUNDLE_NAMES)
        write_names(w, v);
    else if (is_object)
        write_object(w, v);
    else if (kind != CW_BUNDLE_DATA && cw_json_is(v, CW_JSON_ARRAY))
        write_list(w, v);
    else
        cw_json_add_span(w, cw_json_span(v));
}

static bool has_old_bounds(const cw_json *doc)
{
    for (const cw_json *v = doc; v < cw_json_after(doc); v++) {
        if (!(v->meta & CW_JSON_KEY) || !is_boolean(v + 1))
            continue;
        cw_str name = cw_json_text(v);
        if (cw_str_eq(name, pairs[0].exclusive) || cw_str_eq(name, pairs[1].exclusive))
            return true;
    }
    return false;
}

cw_code cw_openrpc_upgrade_draft4(const cw_json **doc, cw_arena *arena, cw_err *err)
{
    if (!has_old_bounds(*doc))
        return CW_OK;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_json_writer w;
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    write_value(&w, *doc, CW_BUNDLE_SCHEMA);
    cw_code rc = cw_json_writer_end(&w, err);
    if (rc)
        return rc;
    cw_str kept = cw_arena_dup_str(arena, cw_buf_str(&text));
    if (!kept.p)
        return cw_arena_fail(arena, err);
    const cw_json_opts opts = {.max_bytes = kept.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    return cw_json_read(kept, &opts, arena, doc, NULL, err);
}
