/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drupal.c - a Drupal site: its list of tools where the site has one, else its list of
 * JSON-RPC methods.
 *
 *     GET /mcp/tools/list ─► nextCursor ─► …           (jsonrpc_mcp: titles, annotations, scopes)
 *     GET /jsonrpc/methods ─► the page of each method whose params are left out there
 *
 * PHP writes an object without members as []. A place for an object reads [] as one.
 */
#include "source/describe/describe_ctx.h"

#include <stdio.h>

#include "base/map.h"
#include "base/percent.h"

#define PATH_MAX_LEN 4096u
#define TAG_TOOLS 0u
#define TAG_METHODS 1u
#define TAG_METHOD 2u /* and on: one method each */
#define NAMES_MAX 1000000u

typedef struct site {
    cw_str base; /* path of the site, without a final slash */
    cw_openrpc_writer doc;
    bool may_fall;    /* from tools to methods */
    unsigned n_pages; /* of tools */
    cw_str cursor;
    cw_map cursors, names; /* seen so far: no page is requested twice, no tool taken twice */
    cw_buf schema;         /* one that is being written */
    const cw_json **methods;
    bool *is_unread; /* by method: its own page was requested, and could not be read */
    size_t n, n_open, n_unread, n_written;
} site;

/* ---- schemas as PHP writes them ---- */

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

/* Write "default" and the like of an object's schema, with {} for []. False: another member. */
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

/* `is_map`: the members of `v` are schemas under names of their own. The reader has bounded the
 * depth of the recursion. */
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

/* A schema that PHP wrote, with {} instead of [] for an object without members, as text in `out`,
 * which is cleared first. An empty text: it is no schema, or out->code has the reason. */
static cw_str php_schema(const cw_json *schema, cw_buf *out)
{
    if (!cw_json_is(schema, CW_JSON_OBJECT))
        return CW_STR("");
    cw_json_writer w;
    cw_buf_clear(out);
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    write_value(&w, schema, false);
    return out->code ? CW_STR("") : cw_buf_str(out);
}

static const cw_json *object_of(const cw_json *object, const char *key)
{
    const cw_json *v = cw_json_get(object, cw_str_from(key));
    return cw_json_is(v, CW_JSON_OBJECT) ? v : NULL;
}

/* "/sub/jsonrpc" of the URL is "/sub" of the site. */
static cw_str base_of(cw_str url)
{
    const char *p = memmem(url.p, url.n, "://", 3);
    const char *end = url.p + url.n;
    if (p)
        p = memchr(p + 3, '/', (size_t)(end - p - 3));
    else if (cw_str_starts(url, CW_STR("unix:")))
        p = memmem(url.p + 5, url.n - 5, ":/", 2);
    if (!p)
        return CW_STR("");
    if (*p == ':')
        p++;
    cw_str path = cw_str_make(p, (size_t)(end - p));
    const char *query = memchr(path.p, '?', path.n);
    if (query)
        path.n = (size_t)(query - path.p);
    while (path.n && path.p[path.n - 1] == '/')
        path.n--;
    if (cw_str_ends(path, CW_STR("/jsonrpc")))
        path.n -= sizeof "/jsonrpc" - 1;
    return path;
}

/* ---- tools ---- */

static cw_code get_tools(cw_describe_ctx *d, cw_err *err)
{
    site *s = d->state;
    CW_CLEANUP(cw_buf_done) cw_buf path;
    cw_buf_init(&path, PATH_MAX_LEN);
    cw_buf_printf(&path, "%.*s/mcp/tools/list", CW_STR_ARG(s->base));
    if (s->cursor.n) {
        cw_buf_add(&path, CW_STR("?cursor="));
        cw_percent_encode(&path, s->cursor);
    }
    return path.code ? cw_fail(err, path.code, "the path of the list is too long")
                     : d->ops->get(d, cw_buf_str(&path), TAG_TOOLS, err);
}

/* The names in `required`, which may be as many as there are properties. */
static void find_required(site *s, const cw_json *schema, cw_map *ret)
{
    const cw_json *list = cw_json_get(schema, CW_STR("required"));
    bool is_list = cw_json_is(list, CW_JSON_ARRAY);
    cw_map_init(ret, SIZE_MAX);
    for (const cw_json *v = is_list ? cw_json_first(list) : NULL; v && !s->doc.text.code;
         v = cw_json_next(v)) {
        if (cw_json_is(v, CW_JSON_STRING) && cw_map_put(ret, cw_json_text(v), s, NULL))
            s->doc.text.code = CW_NOMEM;
    }
}

/* The same in the buffer of the site. A failure goes to the document. */
static cw_str schema_text(site *s, const cw_json *schema)
{
    cw_str text = php_schema(schema, &s->schema);
    if (s->schema.code)
        s->doc.text.code = s->schema.code;
    return text;
}

static void write_schema_params(site *s, const cw_json *schema)
{
    const cw_json *properties = object_of(schema, "properties");
    CW_CLEANUP(cw_map_done) cw_map required;
    find_required(s, schema, &required);
    for (const cw_json *k = properties ? cw_json_first(properties) : NULL; k;
         k = cw_json_next_key(k)) {
        const cw_json *v = cw_json_value(k);
        cw_openrpc_writer_param(&s->doc, &(cw_openrpc_writer_param_opts){
                                             .name = cw_json_text(k),
                                             .description = cw_describe_text(v, "description"),
                                             .schema = schema_text(s, v),
                                             .required = cw_map_find(&required, cw_json_text(k))});
    }
}

/* Annotations that are no object are written as they are: the reader withholds such a tool. */
static void write_annotations(cw_json_writer *w, const cw_json *annotations)
{
    cw_json_add_key(w, CW_STR("annotations"));
    if (!cw_json_is(annotations, CW_JSON_OBJECT)) {
        cw_json_add_value(w, annotations);
        return;
    }
    cw_json_open_object(w);
    for (const cw_json *k = cw_json_first(annotations); k; k = cw_json_next_key(k)) {
        if (cw_str_is(cw_json_text(k), "auth") && is_empty_list(cw_json_value(k)))
            continue;
        cw_json_add_key(w, cw_json_text(k));
        cw_json_add_value(w, cw_json_value(k));
    }
    cw_json_close(w);
}

static void write_mark(cw_openrpc_writer *doc, const cw_json *tool)
{
    const cw_json *annotations = cw_json_get(tool, CW_STR("annotations"));
    cw_str title = cw_describe_text(tool, "title");
    if (cw_json_is(annotations, CW_JSON_NULL) || is_empty_list(annotations))
        annotations = NULL;
    if (!annotations && title.n == 0)
        return;
    CW_CLEANUP(cw_buf_done) cw_buf mark;
    cw_buf_init(&mark, CW_DESCRIBE_DOCUMENT_MAX);
    cw_json_writer w;
    cw_json_writer_init(&w, &mark, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    if (title.n)
        cw_json_add_string_member(&w, CW_STR("title"), title);
    if (annotations)
        write_annotations(&w, annotations);
    cw_json_close(&w);
    if (mark.code)
        doc->text.code = mark.code;
    else
        cw_openrpc_writer_member(doc, "x-mcp-tool", cw_buf_str(&mark));
}

static void write_tool(cw_describe_ctx *d, const cw_json *tool)
{
    site *s = d->state;
    cw_str name = cw_describe_text(tool, "name"),
           usage = cw_str_trim(cw_describe_text(tool, "description"));
    char text[300];
    if (cw_str_trim(name).n == 0) {
        d->ops->warn(d, "a tool without a name is left out");
        return;
    }
    if (cw_map_find(&s->names, name))
        return; /* lists that change between two pages show one twice */
    if (cw_map_put(&s->names, name, s, NULL))
        s->doc.text.code = CW_NOMEM;
    if (usage.n == 0) {
        snprintf(text, sizeof text, "tool '%.*s' has no description", CW_STR_ARG(name));
        d->ops->warn(d, text);
    }
    cw_openrpc_writer_method(&s->doc, name, usage);
    write_schema_params(s, object_of(tool, "inputSchema"));
    cw_openrpc_writer_result(&s->doc, schema_text(s, cw_json_get(tool, CW_STR("outputSchema"))));
    write_mark(&s->doc, tool);
    cw_openrpc_writer_close_method(&s->doc);
    s->n_written++;
}

static void finish(cw_describe_ctx *d)
{
    site *s = d->state;
    if (s->n_written == 0)
        d->ops->warn(d, "the site shows nothing to this account");
    cw_openrpc_writer_finish(&s->doc, d);
}

/* Whether the page with this cursor has to be requested. */
static bool is_next(cw_describe_ctx *d, cw_str cursor)
{
    site *s = d->state;
    bool is_known = cursor.n && cw_map_find(&s->cursors, cursor);
    if (is_known || ++s->n_pages >= CW_DESCRIBE_PAGES) {
        d->ops->warn(d, is_known ? "the list of tools leads back to a page that was read; the "
                                   "tools up to there are used"
                                 : "the list of tools does not end; its first pages are used");
        return false;
    }
    if (cw_map_put(&s->cursors, cursor, s, NULL))
        s->doc.text.code = CW_NOMEM;
    s->cursor = cursor;
    return true;
}

static void on_tools(cw_describe_ctx *d, const cw_json *page)
{
    cw_err err = {0};
    const cw_json *tools = cw_json_get(page, CW_STR("tools"));
    if (!cw_json_is(tools, CW_JSON_ARRAY)) {
        d->ops->fail(d, CW_PARAMS, "the list of tools has no \"tools\"");
        return;
    }
    for (const cw_json *v = cw_json_first(tools); v; v = cw_json_next(v))
        write_tool(d, v);
    cw_str next = cw_describe_text(page, "nextCursor");
    if (next.n == 0 || !is_next(d, next)) {
        finish(d);
        return;
    }
    cw_code rc = get_tools(d, &err);
    if (rc)
        d->ops->fail(d, rc, err.msg);
}

/* ---- methods ---- */

static cw_code get_methods(cw_describe_ctx *d, cw_err *err)
{
    const site *s = d->state;
    char path[PATH_MAX_LEN];
    snprintf(path, sizeof path, "%.*s/jsonrpc/methods", CW_STR_ARG(s->base));
    return d->ops->get(d, cw_str_from(path), TAG_METHODS, err);
}

/* The schema of the param takes precedence over the schema of its attributes. */
static void write_site_param(site *s, cw_str name, const cw_json *param)
{
    const cw_json *attributes = object_of(param, "attributes");
    const cw_json *schema = object_of(param, "schema");
    const cw_json *required = cw_json_get(attributes, CW_STR("required"));
    if (!schema)
        schema = object_of(attributes, "schema");
    cw_openrpc_writer_param(&s->doc, &(cw_openrpc_writer_param_opts){
                                         .name = name,
                                         .description = cw_describe_text(attributes, "description"),
                                         .schema = schema_text(s, schema),
                                         .required = cw_json_is(required, CW_JSON_TRUE)});
}

static void write_method(site *s, const cw_json *method, bool is_unread)
{
    const cw_json *attributes = object_of(method, "attributes");
    const cw_json *params = cw_json_get(attributes, CW_STR("params"));
    cw_openrpc_writer_method(&s->doc, cw_describe_text(method, "id"),
                             cw_describe_text(attributes, "usage"));
    if (is_unread) {
        cw_openrpc_writer_any_params(&s->doc);
    } else if (cw_json_is(params, CW_JSON_OBJECT)) {
        for (const cw_json *k = cw_json_first(params); k; k = cw_json_next_key(k))
            write_site_param(s, cw_json_text(k), cw_json_value(k));
    } else if (cw_json_is(params, CW_JSON_ARRAY)) {
        unsigned i = 0;
        for (const cw_json *v = cw_json_first(params); v; v = cw_json_next(v)) {
            char name[16];
            snprintf(name, sizeof name, "p%u", i++);
            write_site_param(s, cw_str_from(name), v);
        }
    }
    cw_openrpc_writer_result(&s->doc, schema_text(s, cw_json_get(attributes, CW_STR("output"))));
    cw_openrpc_writer_close_method(&s->doc);
    s->n_written++;
}

static void write_methods(cw_describe_ctx *d)
{
    site *s = d->state;
    char text[120];
    for (size_t i = 0; i < s->n; i++) {
        if (cw_describe_text(s->methods[i], "id").n)
            write_method(s, s->methods[i], s->is_unread[i]);
    }
    if (s->n_unread) {
        snprintf(text, sizeof text, "the params of %zu method%s are unknown: pages cannot be read",
                 s->n_unread, s->n_unread == 1 ? "" : "s");
        d->ops->warn(d, text);
    }
    finish(d);
}

/* A collection may leave the params out; the method's own page does not. */
static cw_code get_method(cw_describe_ctx *d, size_t i, cw_err *err)
{
    site *s = d->state;
    CW_CLEANUP(cw_buf_done) cw_buf path;
    cw_buf_init(&path, PATH_MAX_LEN);
    cw_str link = cw_describe_text(object_of(s->methods[i], "links"), "self");
    cw_code rc = link.n ? d->ops->get(d, link, (unsigned)(TAG_METHOD + i), err) : CW_PARAMS;
    if (rc != CW_PARAMS)
        return rc;
    /* Behind a proxy the link may have another origin. Then the path is built from the id. */
    cw_buf_printf(&path, "%.*s/jsonrpc/methods/", CW_STR_ARG(s->base));
    cw_percent_encode(&path, cw_describe_text(s->methods[i], "id"));
    return path.code ? cw_fail(err, path.code, "the path of a method is too long")
                     : d->ops->get(d, cw_buf_str(&path), (unsigned)(TAG_METHOD + i), err);
}

static void on_methods(cw_describe_ctx *d, const cw_json *page)
{
    site *s = d->state;
    cw_err err = {0};
    cw_code rc = CW_OK;
    const cw_json *data = cw_json_get(page, CW_STR("data"));
    size_t n = cw_json_is(data, CW_JSON_ARRAY) ? cw_json_count(data) : 0;
    s->methods = cw_arena_calloc(d->arena, n, sizeof *s->methods);
    s->is_unread = cw_arena_calloc(d->arena, n, sizeof *s->is_unread);
    bool has_room = s->methods && s->is_unread;
    if (!cw_json_is(data, CW_JSON_ARRAY) || !has_room) {
        d->ops->fail(d, has_room ? CW_PARAMS : CW_NOMEM,
                     has_room ? "the list of methods has no \"data\"" : "not enough memory");
        return;
    }
    for (const cw_json *v = cw_json_first(data); v && !rc; v = cw_json_next(v)) {
        s->methods[s->n] = v;
        if (!cw_json_get(object_of(v, "attributes"), CW_STR("params"))) {
            rc = get_method(d, s->n, &err);
            s->n_open++;
        }
        s->n++;
    }
    if (rc)
        d->ops->fail(d, rc, err.msg);
    else if (s->n_open == 0)
        write_methods(d);
}

static void on_method(cw_describe_ctx *d, size_t i, const cw_outcome *outcome)
{
    site *s = d->state;
    if (outcome->kind == CW_OUTCOME_RESULT && cw_describe_text(outcome->result, "id").n) {
        s->methods[i] = outcome->result;
    } else {
        s->is_unread[i] = true;
        s->n_unread++;
    }
    if (--s->n_open == 0)
        write_methods(d);
}

/* ---- both ---- */

static void free_site(void *obj)
{
    site *s = obj;
    cw_buf_done(&s->doc.text);
    cw_buf_done(&s->schema);
    cw_map_done(&s->cursors);
    cw_map_done(&s->names);
}

static cw_code begin_with(cw_describe_ctx *d, bool tools, bool may_fall, cw_err *err)
{
    site *s = cw_arena_calloc(d->arena, 1, sizeof *s);
    if (!s)
        return cw_arena_fail(d->arena, err);
    d->state = s;
    s->base = base_of(d->url);
    s->may_fall = may_fall;
    s->cursor = CW_STR("");
    cw_buf_init(&s->schema, CW_DESCRIBE_DOCUMENT_MAX);
    cw_map_init(&s->cursors, CW_DESCRIBE_PAGES);
    cw_map_init(&s->names, NAMES_MAX);
    cw_openrpc_writer_open(&s->doc, d->service, CW_STR(""));
    /* Freed with the arena, since a cancelled job has no other callback. */
    cw_code rc = cw_arena_hold(d->arena, s, free_site);
    if (rc)
        return cw_arena_fail(d->arena, err);
    return tools ? get_tools(d, err) : get_methods(d, err);
}

static cw_code begin_any(cw_describe_ctx *d, cw_err *err)
{
    d->kind = cw_describe_drupal_tools.name;
    return begin_with(d, true, true, err);
}

static cw_code begin_tools(cw_describe_ctx *d, cw_err *err)
{
    return begin_with(d, true, false, err);
}

static cw_code begin_methods(cw_describe_ctx *d, cw_err *err)
{
    return begin_with(d, false, false, err);
}

/* Read methods instead, if the site has no list of tools, or none for these credentials. After
 * other failures this would be wrong: methods have no scopes, so tools would lose theirs during an
 * outage. The caller decides whether a description of the poorer kind is used. */
static bool fall_back(cw_describe_ctx *d, int64_t status)
{
    site *s = d->state;
    cw_err err = {0};
    if (!s->may_fall || s->n_pages || (status != 401 && status != 403 && status != 404))
        return false;
    if (status != 404)
        d->ops->warn(d, "the site does not show its list of tools to these credentials (it never "
                        "does with Basic): titles, annotations and scopes are not known, and "
                        "methods that are no tools are listed too");
    d->is_partial = status != 404;
    d->kind = cw_describe_drupal_methods.name;
    s->may_fall = false;
    return get_methods(d, &err) == CW_OK;
}

static void incoming(cw_describe_ctx *d, unsigned tag, const cw_outcome *outcome)
{
    if (tag >= TAG_METHOD) {
        on_method(d, tag - TAG_METHOD, outcome);
        return;
    }
    if (outcome->kind != CW_OUTCOME_RESULT) {
        if (tag == TAG_TOOLS && fall_back(d, outcome->code))
            return;
        cw_describe_refused(d, tag == TAG_TOOLS ? "tools" : "methods", outcome);
        return;
    }
    if (tag == TAG_TOOLS)
        on_tools(d, outcome->result);
    else
        on_methods(d, outcome->result);
}

const cw_describer cw_describe_drupal = {
    .name = "drupal", .is_http = true, .is_quick = true, .begin = begin_any, .incoming = incoming};
const cw_describer cw_describe_drupal_tools = {
    .name = "drupal-tools", .is_http = true, .begin = begin_tools, .incoming = incoming};
const cw_describer cw_describe_drupal_methods = {
    .name = "drupal-methods", .is_http = true, .begin = begin_methods, .incoming = incoming};
