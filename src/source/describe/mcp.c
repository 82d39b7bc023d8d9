/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp.c - an MCP server: its list of tools, page after page.
 *
 * A tool is a method. The properties of its input schema are the params; what the schema says of all
 * arguments together goes to `x-input`. A property that refers to a definition of the input schema
 * gets a copy of all definitions, since each param stands alone.
 */
#include "source/describe/describe_ctx.h"

#include <stdio.h>

#include "base/map.h"

#define LIST "tools/list"
#define NAMES_MAX 100000u

typedef struct listing {
    cw_openrpc_writer doc;
    cw_map cursors, names; /* that came: no page is asked for twice, no tool taken twice */
    cw_buf schema;         /* one that is being written */
    unsigned n_pages;
} listing;

static cw_code ask(cw_describe_ctx *d, cw_str cursor, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf params;
    cw_buf_init(&params, CW_DESCRIBE_DOCUMENT_MAX);
    cw_buf_add_char(&params, '{');
    if (cursor.n) {
        cw_buf_add(&params, CW_STR("\"cursor\":"));
        cw_json_escape(&params, cursor);
    }
    cw_buf_add_char(&params, '}');
    return params.code ? cw_fail_nomem(err)
                       : d->ops->query(d, CW_STR(LIST), cw_buf_str(&params), 0, err);
}

static const cw_json *object_of(const cw_json *object, const char *key)
{
    const cw_json *v = cw_json_get(object, cw_str_from(key));
    return cw_json_is(v, CW_JSON_OBJECT) ? v : NULL;
}

static bool is_among(const cw_json *list, cw_str name)
{
    bool is_list = cw_json_is(list, CW_JSON_ARRAY);
    for (const cw_json *v = is_list ? cw_json_first(list) : NULL; v; v = cw_json_next(v)) {
        if (cw_json_is(v, CW_JSON_STRING) && cw_str_eq(cw_json_text(v), name))
            return true;
    }
    return false;
}

/* ---- schemas ---- */

static bool is_definitions(cw_str key)
{
    return cw_str_is(key, "$defs") || cw_str_is(key, "definitions");
}

static void add_members(cw_json_writer *w, const cw_json *object, const cw_json *but)
{
    for (const cw_json *k = cw_json_first(object); k; k = cw_json_next_key(k)) {
        if (but && cw_json_get(but, cw_json_text(k)))
            continue;
        cw_json_add_key(w, cw_json_text(k));
        cw_json_add_value(w, cw_json_value(k));
    }
}

/* A property with the definitions that it may refer to; its own go first. */
static cw_str property_schema(listing *l, const cw_json *input, const cw_json *v)
{
    cw_str text = cw_json_span(v);
    bool has_refs = memmem(text.p, text.n, "\"$ref\"", sizeof "\"$ref\"" - 1);
    if (!has_refs || !cw_json_is(v, CW_JSON_OBJECT))
        return text;
    cw_json_writer w;
    cw_buf_clear(&l->schema);
    cw_json_writer_init(&w, &l->schema, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    add_members(&w, v, NULL);
    for (const cw_json *k = cw_json_first(input); k; k = cw_json_next_key(k)) {
        if (!is_definitions(cw_json_text(k)) || cw_json_get(v, cw_json_text(k)))
            continue;
        cw_json_add_key(&w, cw_json_text(k));
        cw_json_add_value(&w, cw_json_value(k));
    }
    cw_json_close(&w);
    if (l->schema.code)
        l->doc.text.code = l->schema.code;
    return cw_buf_str(&l->schema);
}

static void write_params(listing *l, const cw_json *input)
{
    const cw_json *properties = object_of(input, "properties");
    const cw_json *required = cw_json_get(input, CW_STR("required"));
    for (const cw_json *k = properties ? cw_json_first(properties) : NULL; k;
         k = cw_json_next_key(k)) {
        const cw_json *v = cw_json_value(k);
        cw_openrpc_writer_param(&l->doc, &(cw_openrpc_writer_param_opts){
                                             .name = cw_json_text(k),
                                             .description = cw_describe_text(v, "description"),
                                             .schema = property_schema(l, input, v),
                                             .required = is_among(required, cw_json_text(k))});
    }
}

/* Whether a member of the input schema says something that the params do not. */
static bool is_common(cw_str key)
{
    static const char *const others[] = {"type",  "properties",  "required",    "$schema", "$id",
                                         "title", "description", "definitions", "$defs"};
    for (size_t i = 0; i < CW_COUNT(others); i++) {
        if (cw_str_is(key, others[i]))
            return false;
    }
    return true;
}

/* "$schema": our own dialect. Another one is named by each param. */
static bool is_dialect(const cw_json *key)
{
    const cw_json *v = cw_json_value(key);
    return cw_str_is(cw_json_text(key), "$schema") && cw_json_is(v, CW_JSON_STRING) &&
           cw_str_is(cw_json_text(v), "https://json-schema.org/draft/2020-12/schema");
}

static void write_common(listing *l, const cw_json *input)
{
    bool has_common = false;
    for (const cw_json *k = input ? cw_json_first(input) : NULL; k; k = cw_json_next_key(k))
        has_common = has_common || is_common(cw_json_text(k));
    if (!has_common)
        return;
    cw_json_writer w;
    cw_buf_clear(&l->schema);
    cw_json_writer_init(&w, &l->schema, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    for (const cw_json *k = cw_json_first(input); k; k = cw_json_next_key(k)) {
        if (!is_common(cw_json_text(k)) && !is_definitions(cw_json_text(k)) && !is_dialect(k))
            continue;
        cw_json_add_key(&w, cw_json_text(k));
        cw_json_add_value(&w, cw_json_value(k));
    }
    cw_json_close(&w);
    if (l->schema.code)
        l->doc.text.code = l->schema.code;
    else
        cw_openrpc_writer_member(&l->doc, "x-input", cw_buf_str(&l->schema));
}

static void write_mark(listing *l, const cw_json *tool)
{
    const cw_json *annotations = object_of(tool, "annotations");
    cw_str title = cw_describe_text(tool, "title");
    cw_json_writer w;
    cw_buf_clear(&l->schema);
    cw_json_writer_init(&w, &l->schema, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    if (title.n)
        cw_json_add_string_member(&w, CW_STR("title"), title);
    if (annotations) {
        cw_json_add_key(&w, CW_STR("annotations"));
        cw_json_add_value(&w, annotations);
    }
    cw_json_close(&w);
    if (l->schema.code)
        l->doc.text.code = l->schema.code;
    else if (title.n || annotations)
        cw_openrpc_writer_member(&l->doc, "x-mcp-tool", cw_buf_str(&l->schema));
}

/* ---- the list ---- */

static void write_tool(cw_describe_ctx *d, const cw_json *tool)
{
    listing *l = d->state;
    cw_str name = cw_describe_text(tool, "name");
    const cw_json *input = object_of(tool, "inputSchema"),
                  *output = object_of(tool, "outputSchema");
    if (name.n == 0) {
        d->ops->warn(d, "a tool without a name is left out");
        return;
    }
    if (cw_map_find(&l->names, name))
        return; /* lists that change between two pages show one twice */
    if (cw_map_put(&l->names, name, l, NULL))
        l->doc.text.code = CW_NOMEM;
    cw_openrpc_writer_method(&l->doc, name, cw_describe_text(tool, "description"));
    write_params(l, input);
    cw_openrpc_writer_result(&l->doc, output ? cw_json_span(output) : CW_STR(""));
    write_common(l, input);
    write_mark(l, tool);
    cw_openrpc_writer_close_method(&l->doc);
}

/* Whether the page with this cursor is still to be asked for. */
static bool is_next(cw_describe_ctx *d, cw_str cursor)
{
    listing *l = d->state;
    if (cw_map_find(&l->cursors, cursor) || ++l->n_pages >= CW_DESCRIBE_PAGES) {
        d->ops->warn(d, "the list of tools does not end; its first pages are used");
        return false;
    }
    if (cw_map_put(&l->cursors, cursor, l, NULL))
        l->doc.text.code = CW_NOMEM;
    return true;
}

static void on_page(cw_describe_ctx *d, const cw_json *page)
{
    listing *l = d->state;
    cw_err err = {0};
    const cw_json *tools = cw_json_get(page, CW_STR("tools"));
    if (!cw_json_is(tools, CW_JSON_ARRAY)) {
        d->ops->fail(d, CW_PARAMS, LIST ": the answer has no \"tools\"");
        return;
    }
    for (const cw_json *v = cw_json_first(tools); v; v = cw_json_next(v))
        write_tool(d, v);
    cw_str next = cw_describe_text(page, "nextCursor");
    if (next.n == 0 || !is_next(d, next)) {
        cw_openrpc_writer_finish(&l->doc, d);
        return;
    }
    cw_code rc = ask(d, next, &err);
    if (rc)
        d->ops->fail(d, rc, err.msg);
}

static void free_listing(void *obj)
{
    listing *l = obj;
    cw_buf_done(&l->doc.text);
    cw_buf_done(&l->schema);
    cw_map_done(&l->cursors);
    cw_map_done(&l->names);
}

static cw_code begin(cw_describe_ctx *d, cw_err *err)
{
    listing *l = cw_arena_calloc(d->arena, 1, sizeof *l);
    if (!l)
        return cw_arena_fail(d->arena, err);
    d->state = l;
    cw_buf_init(&l->schema, CW_DESCRIBE_DOCUMENT_MAX);
    cw_map_init(&l->cursors, CW_DESCRIBE_PAGES);
    cw_map_init(&l->names, NAMES_MAX);
    cw_openrpc_writer_open(&l->doc, d->service, CW_STR(""));
    /* A job that is cancelled ends its arena, and there is no other callback. */
    if (cw_arena_hold(d->arena, l, free_listing))
        return cw_arena_fail(d->arena, err);
    return ask(d, CW_STR(""), err);
}

/* A server without tools does not know the method. */
static bool has_none(const cw_outcome *outcome)
{
    return outcome->kind == CW_OUTCOME_ERROR && outcome->code == -32601;
}

static void incoming(cw_describe_ctx *d, unsigned tag, const cw_outcome *outcome)
{
    listing *l = d->state;
    (void)tag;
    if (outcome->kind == CW_OUTCOME_RESULT)
        on_page(d, outcome->result);
    else if (has_none(outcome))
        cw_openrpc_writer_finish(&l->doc, d);
    else
        cw_describe_refused(d, LIST, outcome);
}

const cw_describer cw_describe_mcp = {.name = "mcp", .begin = begin, .incoming = incoming};
