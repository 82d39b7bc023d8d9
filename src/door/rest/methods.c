/* SPDX-License-Identifier: GPL-2.0-or-later */
/* methods.c - GET /jsonrpc/methods: the methods, in the form of Drupal's jsonrpc_discovery.
 *
 *     {"data":[<method>…],"links":{"self":<url>}}
 *     <method> {"type":"JsonRpcMethod","id":…,"attributes":{"usage":…,"params":{<name>:<param>…},
 *               "output":…},"links":{"self":…,"collection":…}}
 *     <param> {"type":"JsonRpcParameterDefinition","id":…,"attributes":{"schema":…,"description":…,
 *               "required":true},"schema":…}
 *
 * Empty members are omitted. A collection of more than PAGE methods continues at links.next.
 */
#include <stdio.h>

#include "base/digits.h"
#include "catalogue/cursor.h"
#include "catalogue/translate.h"
#include "door/rest/reply.h"
#include "json/write.h"

#define PAGE 1000u
#define PATH "/jsonrpc/methods"

typedef struct page {
    cw_view *view;
    cw_str base;
    const cw_language *language;
    uint64_t offset;
    const cw_entry *entry; /* of one alone */
} page;

/* ---- writing ---- */

/* A path segment: bytes that a URL cannot hold become %HH. */
static void add_segment(cw_buf *out, cw_str id)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < id.n; i++) {
        unsigned char c = (unsigned char)id.p[i];
        bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                        (c >= 'a' && c <= 'z') || (c && strchr("-._~", c));
        if (is_plain) {
            cw_buf_add_char(out, (char)c);
            continue;
        }
        char escaped[] = {'%', digits[c >> 4], digits[c & 15]};
        cw_buf_add_bytes(out, escaped, sizeof escaped);
    }
}

/* "name":"base/jsonrpc/methods" and an id or query behind it. */
static void add_link(cw_json_writer *w, cw_str name, cw_str base, cw_str id, cw_str query)
{
    cw_buf path;
    cw_buf_init(&path, SIZE_MAX / 2);
    cw_buf_add(&path, CW_STR(PATH));
    if (id.n) {
        cw_buf_add_char(&path, '/');
        add_segment(&path, id);
    }
    cw_buf_add(&path, query);
    if (path.code && !w->out->code)
        w->out->code = path.code;
    cw_rest_add_url(w, name, base, cw_buf_str(&path));
    cw_buf_done(&path);
}

static void add_schema(cw_json_writer *w, cw_str schema)
{
    cw_json_add_key(w, CW_STR("schema"));
    cw_json_add_span(w, schema.n ? schema : CW_STR("{}"));
}

static void add_param(cw_json_writer *w, const cw_param *param)
{
    cw_json_add_key(w, param->name);
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("JsonRpcParameterDefinition"));
    cw_json_add_string_member(w, CW_STR("id"), param->name);
    cw_json_add_key(w, CW_STR("attributes"));
    cw_json_open_object(w);
    if (param->schema.n)
        add_schema(w, param->schema);
    if (param->description.n)
        cw_json_add_string_member(w, CW_STR("description"), param->description);
    if (param->is_required)
        cw_json_add_bool_member(w, CW_STR("required"), true);
    cw_json_close(w);
    add_schema(w, param->schema);
    cw_json_close(w);
}

static void add_attributes(cw_json_writer *w, const cw_method *method)
{
    cw_json_add_key(w, CW_STR("attributes"));
    cw_json_open_object(w);
    if (method->usage.n)
        cw_json_add_string_member(w, CW_STR("usage"), method->usage);
    if (method->n_params) {
        cw_json_add_key(w, CW_STR("params"));
        cw_json_open_object(w);
        for (size_t i = 0; i < method->n_params; i++)
            add_param(w, &method->params[i]);
        cw_json_close(w);
    }
    if (method->output.n) {
        cw_json_add_key(w, CW_STR("output"));
        cw_json_add_span(w, method->output);
    }
    cw_json_close(w);
}

/* The path segment of a method: its id, or the name of its tool if the id has a slash, which a
 * segment cannot hold. */
static cw_str address_of(const cw_entry *entry)
{
    cw_str id = entry->method->id;
    bool has_slash = memchr(id.p, '/', id.n) != NULL;
    return has_slash && entry->tool_name.n ? entry->tool_name : id;
}

static void add_method(cw_json_writer *w, const cw_entry *entry, const page *p)
{
    cw_arena arena;
    cw_str base = p->base;
    cw_arena_init(&arena, SIZE_MAX);
    const cw_method *method = cw_translate_method(p->language, entry->method, &arena);
    if (!method && !w->out->code)
        w->out->code = CW_NOMEM;
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("JsonRpcMethod"));
    cw_json_add_string_member(w, CW_STR("id"), entry->method->id);
    add_attributes(w, method ? method : entry->method);
    cw_json_add_key(w, CW_STR("links"));
    cw_json_open_object(w);
    add_link(w, CW_STR("self"), base, address_of(entry), CW_STR(""));
    add_link(w, CW_STR("collection"), base, CW_STR(""), CW_STR(""));
    cw_json_close(w);
    cw_json_close(w);
    cw_arena_done(&arena);
}

static cw_str cursor_query(uint64_t offset, char out[CW_CURSOR_SIZE + 8])
{
    char cursor[CW_CURSOR_SIZE];
    size_t n = cw_cursor_format(offset, cursor);
    while (n && cursor[n - 1] == '=')
        n--; /* the padding would have to be escaped */
    int len = snprintf(out, CW_CURSOR_SIZE + 8, "?cursor=%.*s", (int)n, cursor);
    return cw_str_make(out, (size_t)len);
}

static void write_methods(cw_buf *out, void *ctx)
{
    const page *p = ctx;
    const cw_entry *entries[PAGE];
    char query[CW_CURSOR_SIZE + 8];
    size_t n = 0, total = 0;
    cw_json_writer w;
    out->code = cw_view_page(p->view, CW_VIEW_METHODS, p->offset, entries, PAGE, &n, &total);
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR("data"));
    cw_json_open_array(&w);
    for (size_t i = 0; i < n; i++)
        add_method(&w, entries[i], p);
    cw_json_close(&w);
    cw_json_add_key(&w, CW_STR("links"));
    cw_json_open_object(&w);
    add_link(&w, CW_STR("self"), p->base, CW_STR(""),
             p->offset ? cursor_query(p->offset, query) : CW_STR(""));
    if (p->offset + n < total)
        add_link(&w, CW_STR("next"), p->base, CW_STR(""), cursor_query(p->offset + n, query));
    cw_json_close(&w);
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, NULL);
    if (rc)
        out->code = rc;
}

static void write_method(cw_buf *out, void *ctx)
{
    const page *p = ctx;
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    add_method(&w, p->entry, p);
    cw_code rc = cw_json_writer_end(&w, NULL);
    if (rc)
        out->code = rc;
}

/* ---- the requests ---- */

/* A caller without the permission to call is challenged, as on /jsonrpc. */
static bool may_ask(cw_http_req *req, cw_runtime_loop *rl, cw_view *view)
{
    cw_call_found found;
    if (!cw_rest_find(req, rl, (cw_call_lookup){.view = view}, &found))
        return cw_rest_may_discover(req, rl, view);
    cw_door_refuse_all(req, &cw_door_rest, rl, view, found.verdict, NULL);
    return false;
}

/* The offset of the page, which must exist. False: the request is answered. */
static bool read_offset(cw_http_req *req, page *p)
{
    cw_str cursor = CW_STR("");
    size_t n, total;
    cw_param_state state = cw_query_param(req, CW_STR("cursor"), &cursor);
    bool is_right = state == CW_PARAM_ABSENT ||
                    (state == CW_PARAM_ONCE && (!cursor.n || cw_cursor_parse(cursor, &p->offset)));
    if (state == CW_PARAM_NOMEM || cw_view_page(p->view, CW_VIEW_METHODS, 0, NULL, 0, &n, &total)) {
        cw_door_fail_nomem_all(req, &cw_door_rest);
        return false;
    }
    /* Only what links.next has: the pages are large. */
    if (!is_right || p->offset % PAGE || p->offset > total) {
        cw_rest_fail(req, 400, "invalid_cursor",
                     "Parameter \"cursor\" is not a cursor of this list");
        return false;
    }
    return true;
}

static void answer(cw_http_req *req, cw_runtime_loop *rl, page *p, cw_rest_document *doc)
{
    if (!cw_rest_set_base(req, rl, doc))
        return;
    p->base = doc->key.base;
    doc->key.view = p->view;
    p->language = cw_rest_language(req, rl, p->view);
    doc->language = p->language;
    doc->key.language = cw_language_tag(p->language);
    doc->ctx = p;
    cw_rest_send(req, rl, doc);
}

static void methods(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    (void)self;
    page p = {.view = view};
    char offset[CW_DIGITS_SIZE];
    if (!may_ask(req, rl, view) || !read_offset(req, &p))
        return;
    answer(req, rl, &p,
           &(cw_rest_document){
               .key = {.kind = CW_STR("methods"), .name = cw_digits_u64(p.offset, offset)},
               .write = write_methods,
               .contexts = "user languages url.site url.query_args:cursor"});
}

static void method(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    (void)self;
    page p = {.view = view};
    if (!may_ask(req, rl, view))
        return;
    cw_call_lookup lookup = {
        .view = view, .in = CW_FIND_METHOD_OR_TOOL, .name = cw_http_req_param(req)};
    cw_call_found found;
    cw_code rc = cw_rest_find(req, rl, lookup, &found);
    p.entry = found.entry;
    if (rc) {
        cw_rest_fail(req, 404, "method_not_found", "Method not found or access denied");
        return;
    }
    answer(req, rl, &p,
           &(cw_rest_document){.key = {.kind = CW_STR("method"), .name = p.entry->method->id},
                               .write = write_method,
                               .contexts = "user languages url.site url.path"});
}

void cw_rest_on_methods(cw_http_req *req, void *runtime)
{
    cw_authenticate(req, runtime, &cw_authenticate_rest, methods, runtime);
}

void cw_rest_on_method(cw_http_req *req, void *runtime)
{
    cw_authenticate(req, runtime, &cw_authenticate_rest, method, runtime);
}
