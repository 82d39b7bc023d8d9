/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "door/rest/rest.h"

#include "base/utf8.h"
#include "call/call.h"
#include "door/negotiate.h"
#include "door/oauth_challenge.h"
#include "door/rest/reply.h"

#define MAX_HEADERS 10
#define MARK 1 /* a byte that no JSON text has */

/* ---- errors ---- */

void cw_rest_fail(cw_http_req *req, unsigned status, const char *code, const char *message)
{
    cw_door_reply_error_all(
        req, &cw_door_rest,
        &(cw_door_error){.status = status, .name = code, .text = cw_str_from(message)});
}

/* "Tool 'x' not found or access denied"; a name that no tool can have is cut. */
static void write_unknown(cw_buf *out, cw_str name)
{
    size_t n = cw_utf8_cut(name, CW_TOOL_NAME_MAX);
    cw_buf_add(out, CW_STR("Tool '"));
    cw_buf_add_bytes(out, name.p, n);
    cw_buf_add(out, n < name.n ? CW_STR("…' not found or access denied")
                               : CW_STR("' not found or access denied"));
}

void cw_rest_fail_unknown(cw_http_req *req, cw_str name)
{
    cw_buf text;
    cw_buf_init(&text, SIZE_MAX / 2);
    write_unknown(&text, name);
    cw_door_error e = {.status = 404, .name = "tool_not_found", .text = cw_buf_str(&text)};
    if (text.code)
        cw_responder_reply_http(
            req, &(cw_response){.status = cw_door_rest.bad_status, .body = cw_door_rest.failure});
    else
        cw_door_reply_error_all(req, &cw_door_rest, &e);
    cw_buf_done(&text);
}

typedef struct awaiting {
    cw_http_req *req;
    cw_authenticated_fn fn;
} awaiting;

/* The turn only waited: `fn` makes another one for the answer. */
static void run_again(cw_rpc_item *item, void *ctx)
{
    const awaiting *a = ctx;
    a->fn(a->req, item->batch->opts.rl, item->batch->opts.view, NULL);
}

bool cw_rest_wait_catalogue(cw_http_req *req, cw_runtime_loop *rl, cw_view *view,
                            cw_authenticated_fn fn)
{
    if (!cw_runtime_settings_of(rl)->is_loading)
        return false;
    cw_rpc_batch_opts opts = {
        .rl = rl, .view = view, .n = 1, .none_status = 204, .form = &cw_door_rest};
    awaiting *a = cw_arena_alloc(cw_http_req_arena(req), sizeof *a);
    cw_rpc_batch *batch = a ? cw_rpc_batch_of(req, &opts) : NULL;
    if (!batch)
        return a != NULL; /* then it was answered */
    *a = (awaiting){req, fn};
    return cw_rpc_item_wait_catalogue(&batch->items[0], run_again, a);
}

static cw_str peer_of(const void *req)
{
    return cw_http_req_peer(req);
}

cw_code cw_rest_find(cw_http_req *req, cw_runtime_loop *rl, cw_call_lookup lookup,
                     cw_call_found *ret)
{
    lookup.door = "rest";
    lookup.peer = peer_of;
    lookup.ctx = req;
    return cw_call_find(rl, &lookup, ret);
}

bool cw_rest_may_discover(cw_http_req *req, cw_runtime_loop *rl, cw_view *view)
{
    cw_call_error refusal = {0};
    cw_call_found found;
    if (cw_rest_find(req, rl, (cw_call_lookup){.view = view, .discovers = true}, &found)) {
        cw_rest_fail(req, 403, "access_denied",
                     "This needs the permission 'access mcp tool discovery'");
        return false;
    }
    if (!cw_call_may_list(rl, view, cw_http_req_peer(req), &refusal))
        return true;
    cw_door_fail_rate_limited_all(req, &cw_door_rest, &refusal);
    return false;
}

/* ---- documents ---- */

typedef struct header_list {
    cw_http_header items[MAX_HEADERS];
    size_t n;
} header_list;

static void add_header(header_list *list, cw_str name, cw_str value)
{
    list->items[list->n++] = (cw_http_header){name, value};
}

static void add_debug(header_list *list, const cw_rest_document *doc, const cw_page *d, bool is_hit)
{
    add_header(list, CW_STR("X-Causeway-Cache"), is_hit ? CW_STR("HIT") : CW_STR("MISS"));
    add_header(list, CW_STR("X-Causeway-Cache-Tags"), cw_page_cache_tags_text(d->tags));
    add_header(list, CW_STR("X-Causeway-Cache-Contexts"), cw_str_from(doc->contexts));
    add_header(list, CW_STR("X-Causeway-Cache-Max-Age"), CW_STR("-1"));
}

/* Nobody between us and the client may keep it without asking: what a caller sees can change with
 * its next request. Asking is cheap. */
static void answer(cw_http_req *req, const cw_runtime_loop *rl, const cw_rest_document *doc,
                   cw_page *d, bool is_hit)
{
    header_list headers = {.n = 0};
    cw_http_response answer = {.status = 200, .type = doc->type, .body = cw_buf_str(&d->body)};
    cw_str etag = cw_page_etag(d), packed_etag = cw_page_packed_etag(d);
    cw_str packed = cw_negotiate_gzip(req) ? cw_page_pack(d) : CW_STR("");
    cw_str other = packed.n ? etag : packed_etag;
    if (packed.n)
        etag = packed_etag;
    /* A client that has the other form has what it asks for. */
    if (cw_negotiate_has(req, etag)) {
        answer = (cw_http_response){.status = 304};
    } else if (cw_negotiate_has(req, other)) {
        answer = (cw_http_response){.status = 304};
        etag = other;
    } else if (packed.n) {
        answer.body = packed;
        add_header(&headers, CW_STR("Content-Encoding"), CW_STR("gzip"));
    }
    add_header(&headers, CW_STR("ETag"), etag);
    cw_str keep = doc->is_public ? CW_STR("no-cache") : CW_STR("no-cache, private");
    add_header(&headers, CW_STR("Cache-Control"),
               doc->is_open ? CW_STR("public, max-age=3600") : keep);
    if (doc->is_open)
        add_header(&headers, CW_STR("Access-Control-Allow-Origin"), CW_STR("*"));
    add_header(&headers, CW_STR("Vary"),
               doc->is_public ? CW_STR("Accept-Encoding")
                              : CW_STR("Authorization, Cookie, Accept-Language, Accept-Encoding"));
    if (doc->language)
        add_header(&headers, CW_STR("Content-Language"), cw_language_tag(doc->language));
    if (cw_runtime_settings_of(rl)->debug_headers)
        add_debug(&headers, doc, d, is_hit);
    answer.headers = headers.items;
    answer.n_headers = headers.n;
    cw_http_reply(req, &answer);
}

const cw_language *cw_rest_language(const cw_http_req *req, const cw_runtime_loop *rl,
                                    const cw_view *view)
{
    return cw_negotiate_language(cw_http_req_header(req, CW_STR("Accept-Language")),
                                 cw_runtime_settings_of(rl)->translations, cw_view_caller(view));
}

/* ---- addresses in documents ---- */

static bool is_mark(cw_str base)
{
    return base.n == 1 && base.p[0] == MARK;
}

bool cw_rest_set_base(cw_http_req *req, cw_runtime_loop *rl, cw_rest_document *doc)
{
    static const char mark = MARK;
    bool is_known;
    doc->base = cw_oauth_resource_base(req, rl, &is_known);
    doc->key.base = is_known ? doc->base : cw_str_make(&mark, 1);
    if (!doc->base.p)
        cw_door_fail_nomem_all(req, &cw_door_rest);
    return doc->base.p;
}

void cw_rest_add_url(cw_json_writer *w, cw_str name, cw_str base, cw_str path)
{
    cw_buf url;
    cw_buf_init(&url, SIZE_MAX / 2);
    cw_buf_add(&url, is_mark(base) ? CW_STR("?") : base);
    cw_buf_add(&url, path);
    if (url.code && !w->out->code)
        w->out->code = url.code;
    cw_json_add_key(w, name);
    size_t at = w->out->n;
    cw_json_add_string(w, cw_buf_str(&url));
    if (is_mark(base) && w->out->n > at + 1)
        w->out->p[at + 1] = MARK; /* behind the quote; the writer would escape it */
    cw_buf_done(&url);
}

/* The document for this request. *ret holds a reference. */
static cw_code find_document(cw_runtime_loop *rl, const cw_rest_document *doc, cw_page **ret,
                             bool *ret_hit)
{
    cw_page *d;
    cw_code rc =
        cw_page_cache_get(cw_runtime_cache(rl), &doc->key, doc->write, doc->ctx, &d, ret_hit);
    if (rc || !is_mark(doc->key.base)) {
        *ret = d;
        return rc;
    }
    *ret = cw_page_fill(d, MARK, doc->base);
    cw_page_unref(d);
    return *ret ? CW_OK : CW_NOMEM;
}

void cw_rest_send(cw_http_req *req, cw_runtime_loop *rl, const cw_rest_document *doc)
{
    cw_page *d;
    bool is_hit;
    cw_code rc = find_document(rl, doc, &d, &is_hit);
    /* The bytes must live until they are sent, whatever becomes of the cache. */
    if (!rc)
        rc = cw_arena_hold(cw_http_req_arena(req), d, cw_page_unref);
    if (rc) {
        cw_responder_reply_http(
            req, &(cw_response){.status = cw_door_rest.bad_status, .body = cw_door_rest.failure});
        return;
    }
    answer(req, rl, doc, d, is_hit);
}

/* ---- routes ---- */

cw_code cw_rest_add_routes(cw_router *router, cw_runtime *runtime)
{
    static const struct {
        cw_http_method method;
        const char *path;
        cw_http_handler handler;
    } routes[] = {
        {CW_HTTP_GET, "/mcp/tools/list", cw_rest_on_list},
        {CW_HTTP_GET, "/mcp/tools/describe", cw_rest_on_describe},
        {CW_HTTP_POST, "/mcp/tools/invoke", cw_rest_on_invoke},
        {CW_HTTP_GET, "/mcp/tools/{name}", cw_rest_on_tool},
        {CW_HTTP_POST, "/mcp/tools/{name}", cw_rest_on_tool},
        {CW_HTTP_GET, "/jsonrpc/methods", cw_rest_on_methods},
        {CW_HTTP_GET, "/jsonrpc/methods/{id}", cw_rest_on_method},
    };
    for (size_t i = 0; i < CW_COUNT(routes); i++) {
        cw_code rc =
            cw_router_add(router, routes[i].method, routes[i].path, routes[i].handler, runtime);
        if (rc)
            return rc;
    }
    return CW_OK;
}
