/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp.c - an MCP server: its lists, page after page, one list after the other.
 *
 * A tool is a method. The properties of its input schema are the params; the members that apply to
 * all arguments together go to `x-input`. A property that refers to a definition of the input
 * schema gets a copy of all definitions, since each param stands alone. Prompts, resources and
 * templates are methods too; mcp_exposed.c writes them. A list without the server's capability is
 * not requested: some servers do not respond to unknown methods.
 */
#include "source/describe/describe_ctx.h"

#include <stdio.h>

#include "base/map.h"
#include "source/describe/mcp_exposed.h"
#include "source/describe/view_hash.h"
#include "source/openrpc/openrpc.h"

/* In the order of the requests, and their tags. Each view has a tag from VIEWS on. */
enum { TOOLS, PROMPTS, RESOURCES, TEMPLATES, LISTS, DISCOVER, VIEWS };

static const struct list {
    const char *method, *member;
    uint32_t max; /* entries that are taken */
} lists[LISTS] = {
    {"tools/list", "tools", CW_DESCRIBE_METHODS},
    {"prompts/list", "prompts", CW_DESCRIBE_EXPOSED_PROMPTS},
    {"resources/list", "resources", CW_DESCRIBE_METHODS},
    {"resources/templates/list", "resourceTemplates", CW_DESCRIBE_EXPOSED_TEMPLATES},
};

/* A resource that is code for hosts: it is written when its hash is known. */
typedef struct view {
    const cw_json *entry;
    cw_str id;
    char hash[CW_DESCRIBE_VIEW_HASH + 1]; /* empty: it cannot be read */
} view;

typedef struct listing {
    cw_openrpc_writer doc;
    cw_map cursors, names; /* seen so far: no page is requested twice, no tool taken twice */
    cw_buf schema;         /* one that is being written */
    unsigned n_pages;
    uint32_t n, n_all; /* entries of this list that were taken, and of all lists */
    uint32_t n_left;   /* entries of this list that were left out */
    cw_err left;       /* why the first of them was */
    bool is_full;      /* no more of this list is taken */
    cw_describe_server server;
    view *views;
    uint32_t n_views, n_unread; /* without a response yet */
} listing;

static cw_code ask(cw_describe_ctx *d, unsigned list, cw_str cursor, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf params;
    cw_buf_init(&params, CW_DESCRIBE_DOCUMENT_MAX);
    cw_buf_add_char(&params, '{');
    if (cursor.n) {
        cw_buf_add(&params, CW_STR("\"cursor\":"));
        cw_json_escape(&params, cursor);
    }
    cw_buf_add_char(&params, '}');
    return params.code
               ? cw_fail_nomem(err)
               : d->ops->query(d, cw_str_from(lists[list].method), cw_buf_str(&params), list, err);
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

/* Each param is searched in `required`, and may get a copy of all definitions. So nothing is written
 * after one more param than a method may have: the reader rejects those anyway. */
static void write_params(listing *l, const cw_json *input)
{
    const cw_json *properties = object_of(input, "properties");
    const cw_json *required = cw_json_get(input, CW_STR("required"));
    const cw_json *k = properties ? cw_json_first(properties) : NULL;
    for (size_t n = 0; k && n <= CW_OPENRPC_MAX_PARAMS && !l->doc.text.code;
         k = cw_json_next_key(k), n++) {
        const cw_json *v = cw_json_value(k);
        cw_openrpc_writer_param(&l->doc, &(cw_openrpc_writer_param_opts){
                                             .name = cw_json_text(k),
                                             .description = cw_describe_text(v, "description"),
                                             .schema = property_schema(l, input, v),
                                             .required = is_among(required, cw_json_text(k))});
    }
}

/* Whether a member of the input schema has a meaning beyond the params. */
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

/* Whether a member is "$schema" with the dialect that Causeway writes. */
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

/* Further members of a listed tool: icons, and _meta. */
static void write_more(listing *l, const cw_json *tool)
{
    cw_buf_clear(&l->schema);
    if (cw_describe_exposed_more(tool, &l->schema))
        cw_openrpc_writer_member(&l->doc, "x-mcp-more", cw_buf_str(&l->schema));
    if (l->schema.code)
        l->doc.text.code = l->schema.code;
}

/* ---- entries ---- */

static void write_tool(listing *l, const cw_json *tool, cw_str name)
{
    const cw_json *input = object_of(tool, "inputSchema"),
                  *output = object_of(tool, "outputSchema");
    cw_openrpc_writer_method(&l->doc, name, cw_describe_text(tool, "description"));
    write_params(l, input);
    cw_openrpc_writer_result(&l->doc, output ? cw_json_span(output) : CW_STR(""));
    write_common(l, input);
    write_mark(l, tool);
    write_more(l, tool);
    cw_openrpc_writer_close_method(&l->doc);
}

/* Whether an entry of this id is new: lists that change between two pages show one twice. */
static bool is_new(listing *l, cw_str id)
{
    void *other = NULL;
    if (cw_map_put(&l->names, id, l, &other))
        l->doc.text.code = CW_NOMEM;
    return !other;
}

static void leave_out(listing *l, const cw_err *why)
{
    if (l->n_left++ == 0)
        l->left = *why;
}

/* Keep a view, which is written when its hash is known. False: the entry is no view. */
static bool keep_view(cw_describe_ctx *d, unsigned list, const cw_json *v, cw_str id)
{
    listing *l = d->state;
    if (list != RESOURCES || !d->ops->read || !cw_describe_is_view(cw_describe_text(v, "uri")) ||
        l->n_views == CW_DESCRIBE_VIEWS)
        return false;
    if (!l->views)
        l->views = cw_arena_calloc(d->arena, CW_DESCRIBE_VIEWS, sizeof *l->views);
    if (!l->views) {
        l->doc.text.code = CW_NOMEM;
        return false;
    }
    l->views[l->n_views++] = (view){.entry = v, .id = id};
    return true;
}

static void take_entry(cw_describe_ctx *d, unsigned list, const cw_json *v)
{
    listing *l = d->state;
    cw_err err = {0};
    cw_str id = cw_describe_text(v, "name");
    if (list == TOOLS && id.n == 0)
        cw_fail(&err, CW_PARAMS, "it has no name");
    else if (list != TOOLS && cw_json_span(v).n > CW_DESCRIBE_EXPOSED_BYTES)
        cw_fail(&err, CW_PARAMS, "it is larger than %u bytes", CW_DESCRIBE_EXPOSED_BYTES);
    else if (list != TOOLS)
        id = cw_describe_exposed_id(list - PROMPTS, v, d->arena, &err);
    if (err.code == CW_NOMEM)
        l->doc.text.code = err.code;
    if (err.code) {
        leave_out(l, &err);
        return;
    }
    if (l->n == lists[list].max || l->n_all == CW_DESCRIBE_METHODS ||
        l->doc.text.n > CW_DESCRIBE_DOCUMENT_MAX / 2) {
        l->is_full = true;
        return;
    }
    if (!is_new(l, id))
        return;
    l->n++;
    l->n_all++;
    if (list == TOOLS)
        write_tool(l, v, id);
    else if (!keep_view(d, list, v, id))
        cw_describe_exposed_write(&l->doc, list - PROMPTS, v, id, /* view= */ NULL, &l->schema);
}

/* ---- the lists ---- */

/* Whether the page with this cursor has to be requested. */
static bool is_next(cw_describe_ctx *d, unsigned list, cw_str cursor)
{
    listing *l = d->state;
    char text[160];
    if (l->is_full)
        return false;
    if (cw_map_find(&l->cursors, cursor) || ++l->n_pages >= CW_DESCRIBE_PAGES) {
        snprintf(text, sizeof text, "%s does not end; its first pages are used",
                 lists[list].method);
        d->ops->warn(d, text);
        return false;
    }
    if (cw_map_put(&l->cursors, cursor, l, NULL))
        l->doc.text.code = CW_NOMEM;
    return true;
}

static void end_list(cw_describe_ctx *d, unsigned list)
{
    listing *l = d->state;
    char text[400];
    if (l->n_left) {
        snprintf(text, sizeof text, "%s: %u entries are left out, the first because %.200s",
                 lists[list].method, l->n_left, l->left.msg);
        d->ops->warn(d, text);
    }
    if (l->is_full) {
        snprintf(text, sizeof text, "%s: too long; its first %u entries are used",
                 lists[list].method, l->n);
        d->ops->warn(d, text);
    }
    cw_map_done(&l->cursors);
    cw_map_init(&l->cursors, CW_DESCRIBE_PAGES);
    l->n_pages = l->n = l->n_left = 0;
    l->is_full = false;
}

static void finish(cw_describe_ctx *d)
{
    listing *l = d->state;
    cw_str text = l->server.instructions;
    cw_openrpc_writer_end_methods(&l->doc);
    if (text.n)
        cw_json_add_string_member(&l->doc.w, CW_STR("x-instructions"), text);
    cw_openrpc_writer_finish(&l->doc, d);
}

/* ---- views ---- */

static void finish_views(cw_describe_ctx *d)
{
    listing *l = d->state;
    for (size_t i = 0; i < l->n_views; i++)
        cw_describe_exposed_write(&l->doc, CW_DESCRIBE_EXPOSED_RESOURCE, l->views[i].entry,
                                  l->views[i].id, l->views[i].hash, &l->schema);
    finish(d);
}

static void read_views(cw_describe_ctx *d)
{
    listing *l = d->state;
    cw_err err = {0};
    l->n_unread = l->n_views;
    for (uint32_t i = 0; i < l->n_views; i++) {
        cw_str uri = cw_describe_text(l->views[i].entry, "uri");
        cw_code rc = d->ops->read(d, uri, VIEWS + i, &err);
        if (rc) {
            d->ops->fail(d, rc, err.msg);
            return;
        }
    }
    if (!l->n_views)
        finish(d);
}

/* A view that cannot be read gets an empty hash, which equals that of no document. */
static void on_view(cw_describe_ctx *d, view *v, const cw_outcome *outcome)
{
    listing *l = d->state;
    cw_err text;
    cw_code rc = outcome->kind == CW_OUTCOME_RESULT
                     ? cw_describe_view_hash(outcome->result, v->hash)
                     : CW_PARAMS;
    if (rc == CW_NOMEM)
        l->doc.text.code = rc;
    if (rc) {
        v->hash[0] = 0;
        cw_fail(&text, rc, "the view '%.*s' cannot be read: %.*s",
                CW_STR_ARG(cw_describe_text(v->entry, "uri")), CW_STR_ARG(outcome->message));
        d->ops->warn(d, text.msg);
    }
    if (--l->n_unread == 0)
        finish_views(d);
}

static bool has_list(const cw_describe_server *s, unsigned list)
{
    return list == TOOLS || (list == PROMPTS ? s->has_prompts : s->has_resources);
}

/* Request the first list from `list` on that the server has. */
static void ask_next(cw_describe_ctx *d, unsigned list)
{
    const listing *l = d->state;
    cw_err err = {0};
    while (list < LISTS && !has_list(&l->server, list))
        list++;
    if (list == LISTS) {
        read_views(d);
        return;
    }
    cw_code rc = ask(d, list, CW_STR(""), &err);
    if (rc)
        d->ops->fail(d, rc, err.msg);
}

/* The list of tools is complete. The other lists depend on the capabilities of the server. */
static void after_tools(cw_describe_ctx *d)
{
    listing *l = d->state;
    cw_err err = {0};
    if (d->ops->server)
        d->ops->server(d, &l->server);
    if (l->server.is_known || !d->ops->server) {
        ask_next(d, PROMPTS);
        return;
    }
    cw_code rc = d->ops->query(d, CW_STR("server/discover"), CW_STR("{}"), DISCOVER, &err);
    if (rc)
        d->ops->fail(d, rc, err.msg);
}

static void go_on(cw_describe_ctx *d, unsigned list)
{
    end_list(d, list);
    if (list == TOOLS)
        after_tools(d);
    else
        ask_next(d, list + 1);
}

static void on_page(cw_describe_ctx *d, unsigned list, const cw_json *page)
{
    cw_err err = {0};
    const cw_json *entries = cw_json_get(page, cw_str_from(lists[list].member));
    if (!cw_json_is(entries, CW_JSON_ARRAY)) {
        cw_fail(&err, CW_PARAMS, "%s: the answer has no \"%s\"", lists[list].method,
                lists[list].member);
        d->ops->fail(d, CW_PARAMS, err.msg);
        return;
    }
    for (const cw_json *v = cw_json_first(entries); v; v = cw_json_next(v))
        take_entry(d, list, v);
    cw_str next = cw_describe_text(page, "nextCursor");
    if (next.n == 0 || !is_next(d, list, next)) {
        go_on(d, list);
        return;
    }
    cw_code rc = ask(d, list, next, &err);
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
    cw_map_init(&l->names, 2 * CW_DESCRIBE_METHODS);
    cw_openrpc_writer_open(&l->doc, d->service, CW_STR(""));
    /* Freed with the arena, since a cancelled job has no other callback. */
    if (cw_arena_hold(d->arena, l, free_listing))
        return cw_arena_fail(d->arena, err);
    return ask(d, TOOLS, CW_STR(""), err);
}

static void on_discovered(cw_describe_ctx *d, const cw_outcome *outcome)
{
    listing *l = d->state;
    const cw_json *has = cw_json_get(outcome->result, CW_STR("capabilities"));
    if (outcome->kind == CW_OUTCOME_RESULT)
        l->server = (cw_describe_server){
            .has_prompts = object_of(has, "prompts"),
            .has_resources = object_of(has, "resources"),
            .instructions = cw_describe_text(outcome->result, "instructions"),
        };
    ask_next(d, PROMPTS);
}

/* A server without tools rejects the method. An error for another list ends that list. If a
 * response is missing or invalid, the job fails, and the last good description stays in use. */
static void incoming(cw_describe_ctx *d, unsigned tag, const cw_outcome *outcome)
{
    bool is_error = outcome->kind == CW_OUTCOME_ERROR;
    if (tag == DISCOVER) {
        on_discovered(d, outcome);
        return;
    }
    if (tag >= VIEWS) {
        on_view(d, &((listing *)d->state)->views[tag - VIEWS], outcome);
        return;
    }
    if (outcome->kind == CW_OUTCOME_RESULT) {
        on_page(d, tag, outcome->result);
    } else if (is_error && outcome->code == -32601) {
        go_on(d, tag);
    } else if (is_error && tag != TOOLS) {
        cw_err text;
        cw_fail(&text, CW_PARAMS, "%s: %.*s", lists[tag].method, CW_STR_ARG(outcome->message));
        d->ops->warn(d, text.msg);
        go_on(d, tag);
    } else {
        cw_describe_refused(d, lists[tag].method, outcome);
    }
}

const cw_describer cw_describe_mcp = {.name = "mcp", .begin = begin, .incoming = incoming};
