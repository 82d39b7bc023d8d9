/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rest.c - the REST door: tools as JSON documents out of the cache, and calls of tools.
 *
 *     GET  /mcp/tools/list       tools page by page
 *     GET  /mcp/tools/describe   one tool by its name
 *     POST /mcp/tools/invoke     {"name":…,"arguments":{…}} to {"result":…}
 *     *    /mcp/tools/{name}     JSON-RPC with one method
 */
#include "door/rest/rest.h"

#include "base/digits.h"
#include "base/utf8.h"
#include "call/call.h"
#include "catalogue/cursor.h"
#include "catalogue/translate.h"
#include "door/jsonrpc/jsonrpc.h"
#include "door/negotiate.h"
#include "door/oauth_challenge.h"
#include "door/rest/reply.h"
#include "json/write.h"

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

static void fail_unknown(cw_http_req *req, cw_str name)
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

/* The batch only waited: `fn` makes another one for the answer. */
static void run_again(cw_rpc_item *item, void *ctx)
{
    const awaiting *a = ctx;
    a->fn(a->req, item->batch->opts.rl, item->batch->opts.view, NULL);
}

static bool wait_catalogue(cw_http_req *req, cw_runtime_loop *rl, cw_view *view,
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

/* Caches must revalidate: the caller's view can change before its next request. Revalidation is
 * cheap. */
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
    /* The bytes must live until they are sent, also when the cache drops them. */
    if (!rc)
        rc = cw_arena_hold(cw_http_req_arena(req), d, cw_page_unref);
    if (rc) {
        cw_responder_reply_http(
            req, &(cw_response){.status = cw_door_rest.bad_status, .body = cw_door_rest.failure});
        return;
    }
    answer(req, rl, doc, d, is_hit);
}

typedef struct tool_page {
    cw_view *view;
    const cw_language *language;
    uint64_t offset;
    uint32_t size;
} tool_page;

/* ---- GET /mcp/tools/list ---- */

static void write_page(cw_buf *out, void *ctx)
{
    const tool_page *p = ctx;
    const cw_entry *entries[CW_PAGE_SIZE_MAX];
    size_t n, total;
    cw_code rc = cw_view_page(p->view, CW_VIEW_TOOLS, p->offset, entries, p->size, &n, &total);
    if (rc) {
        out->code = rc;
        return;
    }
    cw_buf_add(out, CW_STR("{\"tools\":["));
    for (size_t i = 0; i < n; i++) {
        if (i)
            cw_buf_add_char(out, ',');
        cw_translate_tool(out, entries[i], CW_TOOL_ANY_OUTPUT, p->language);
    }
    cw_buf_add(out, CW_STR("],\"nextCursor\":"));
    if (p->offset + n < total) {
        char cursor[CW_CURSOR_SIZE];
        size_t len = cw_cursor_format(p->offset + n, cursor);
        cw_json_escape(out, cw_str_make(cursor, len));
    } else {
        cw_buf_add(out, CW_STR("null"));
    }
    cw_buf_add_char(out, '}');
}

/* The offset at which the page begins. False: the request is answered. */
static bool read_offset(cw_http_req *req, uint64_t *ret)
{
    cw_str cursor;
    *ret = 0;
    switch (cw_query_param(req, CW_STR("cursor"), &cursor)) {
    case CW_PARAM_ABSENT:
        return true;
    case CW_PARAM_ONCE:
        if (cursor.n == 0 || cw_cursor_parse(cursor, ret))
            return true;
        break;
    case CW_PARAM_NOMEM:
        cw_door_fail_nomem_all(req, &cw_door_rest);
        return false;
    case CW_PARAM_INVALID:
        break;
    }
    cw_rest_fail(req, 400, "invalid_cursor", "Parameter \"cursor\" is not a cursor of this list");
    return false;
}

/* Every offset behind the end is the same empty page. */
static cw_code clamp(tool_page *p)
{
    size_t n, total;
    if (p->offset == 0)
        return CW_OK;
    cw_code rc = cw_view_page(p->view, CW_VIEW_TOOLS, 0, NULL, 0, &n, &total);
    if (!rc && p->offset > total)
        p->offset = total;
    return rc;
}

static void list(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    (void)self;
    tool_page p = {.view = view,
                   .language = cw_rest_language(req, rl, view),
                   .size = cw_runtime_settings_of(rl)->page_size};
    char offset[CW_DIGITS_SIZE];
    if (!p.size)
        p.size = CW_PAGE_SIZE;
    if (!cw_rest_may_discover(req, rl, view) || !read_offset(req, &p.offset))
        return;
    if (clamp(&p)) {
        cw_door_fail_nomem_all(req, &cw_door_rest);
        return;
    }
    cw_rest_document doc = {
        .key = {.kind = CW_STR("list"),
                .view = view,
                .language = cw_language_tag(p.language),
                .name = cw_digits_u64(p.offset, offset),
                /* No cursor of ours leads there. */
                .is_transient = p.offset % p.size != 0},
        .write = write_page,
        .ctx = &p,
        .language = p.language,
        .contexts = "user languages url.query_args:cursor",
    };
    cw_rest_send(req, rl, &doc);
}

static void on_list(cw_http_req *req, void *runtime)
{
    static const cw_http_header headers[] = {
        {CW_STR_INIT("Cache-Control"), CW_STR_INIT("no-store")},
        {CW_STR_INIT("Allow"), CW_STR_INIT("POST, OPTIONS")},
    };
    if (cw_negotiate_only_events(req)) {
        /* A client of the protocol that was given this address: it goes on with POST. */
        cw_http_reply(req, &(cw_http_response){
                               .status = 405,
                               .body = CW_STR("{\"error\":{\"code\":\"method_not_allowed\","
                                              "\"message\":\"There is no event stream here\"}}"),
                               .headers = headers,
                               .n_headers = CW_COUNT(headers)});
        return;
    }
    cw_authenticate(req, runtime, &cw_authenticate_rest, list, runtime);
}

/* ---- GET /mcp/tools/describe ---- */

typedef struct tool_doc {
    const cw_entry *entry;
    const cw_language *language;
} tool_doc;

static void write_tool(cw_buf *out, void *ctx)
{
    const tool_doc *t = ctx;
    cw_buf_add(out, CW_STR("{\"tool\":"));
    cw_translate_tool(out, t->entry, CW_TOOL_ANY_OUTPUT, t->language);
    cw_buf_add_char(out, '}');
}

/* False: the request is answered. */
static bool read_name(cw_http_req *req, cw_str *ret)
{
    cw_param_state state = cw_query_param(req, CW_STR("name"), ret);
    /* "0" is none, as for the original. */
    if (state == CW_PARAM_ONCE && ret->n && !cw_str_is(*ret, "0"))
        return true;
    if (state == CW_PARAM_NOMEM)
        cw_door_fail_nomem_all(req, &cw_door_rest);
    else if (state == CW_PARAM_INVALID)
        cw_rest_fail(req, 400, "invalid_arguments",
                     "Parameter \"name\" must stand there once, as one text");
    else
        cw_rest_fail(req, 400, "missing_parameter", "Required parameter \"name\" is missing");
    return false;
}

static void describe(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    (void)self;
    cw_str name;
    if (!cw_rest_may_discover(req, rl, view) || !read_name(req, &name))
        return;
    cw_call_lookup lookup = {.view = view, .discovers = true, .in = CW_FIND_TOOL, .name = name};
    cw_call_found found;
    cw_code rc = cw_rest_find(req, rl, lookup, &found);
    tool_doc t = {found.entry, cw_rest_language(req, rl, view)};
    if (rc) {
        fail_unknown(req, name);
        return;
    }
    cw_rest_document doc = {
        .key = {.kind = CW_STR("describe"),
                .view = view,
                .language = cw_language_tag(t.language),
                .name = t.entry->tool_name},
        .write = write_tool,
        .ctx = &t,
        .language = t.language,
        .contexts = "user languages url.query_args:name",
    };
    cw_rest_send(req, rl, &doc);
}

static void on_describe(cw_http_req *req, void *runtime)
{
    cw_authenticate(req, runtime, &cw_authenticate_rest, describe, runtime);
}

typedef struct invocation {
    cw_sink sink;
    cw_rpc_item *item;
} invocation;

/* ---- what comes back ---- */

static void fail(cw_rpc_item *item, unsigned status, const char *code, cw_str message)
{
    cw_door_reply_error(item, &(cw_door_error){.status = status, .name = code, .text = message});
}

/* The method's message with its data: text for people, and as it is for programs. */
static void fail_method(cw_rpc_item *item, const cw_outcome *outcome)
{
    cw_buf text;
    cw_str more = cw_rpc_error_detail(outcome);
    bool has_data = outcome->data && !cw_json_is(outcome->data, CW_JSON_NULL);
    cw_buf_init(&text, SIZE_MAX / 2);
    cw_buf_add(&text, outcome->message);
    if (more.n) {
        cw_buf_add(&text, CW_STR(": "));
        cw_buf_add(&text, more);
    }
    cw_door_reply_error(
        item, &(cw_door_error){.status = 500,
                               .name = "execution_error",
                               .text = text.code ? outcome->message : cw_buf_str(&text),
                               .data = has_data ? cw_json_span(outcome->data) : CW_STR("")});
    cw_buf_done(&text);
}

static void fail_call(cw_rpc_item *item, cw_fault fault, cw_str message)
{
    switch (fault) {
    case CW_FAULT_UNAVAILABLE:
        fail(item, 503, "unavailable", message);
        return;
    case CW_FAULT_DIED:
    case CW_FAULT_TIMEOUT:
        fail(item, 500, "execution_error", message);
        return;
    case CW_FAULT_NONE:
    case CW_FAULT_PROTOCOL:
    case CW_FAULT_NOMEM:
    case CW_FAULT_SCHEMA:
        fail(item, 500, "internal_error", message);
        return;
    }
}

static void on_done(cw_sink *sink, const cw_outcome *outcome)
{
    cw_rpc_item *item = CW_CONTAINER(sink, invocation, sink)->item;
    cw_buf b;
    switch (outcome->kind) {
    case CW_OUTCOME_RESULT: {
        cw_str span = cw_json_span(outcome->result);
        cw_buf_init(&b, SIZE_MAX / 2);
        cw_buf_reserve(&b, span.n + 16);
        cw_buf_add(&b, CW_STR("{\"result\":"));
        cw_rpc_add_returned(&b, outcome);
        cw_buf_add_char(&b, '}');
        cw_rpc_item_reply(item, 200, &b, CW_STR(""));
        return;
    }
    case CW_OUTCOME_ERROR:
        fail_method(item, outcome);
        return;
    case CW_OUTCOME_FAILED:
    case CW_OUTCOME_INPUT_REQUIRED: /* never: request.can_ask is not set */
        fail_call(item, outcome->fault, outcome->message);
        return;
    }
}

/* ---- the way in ---- */

static void start_call(cw_rpc_item *item, const cw_entry *entry, const cw_json *arguments)
{
    static const cw_sink_ops ops = {cw_sink_no_progress, cw_sink_no_log, on_done};
    const cw_rpc_batch_opts *opts = &item->batch->opts;
    invocation *call = cw_arena_alloc(item->batch->responder->arena, sizeof *call);
    if (!call) {
        cw_door_fail_nomem(item);
        return;
    }
    *call = (invocation){.sink = {&ops}, .item = item};
    cw_call_request request = {.view = opts->view,
                               .entry = entry,
                               .params = arguments,
                               .steps = &item->batch->steps,
                               .sink = &call->sink,
                               .door = "rest",
                               .peer = cw_responder_peer(item->batch->responder)};
    cw_call_error refusal;
    cw_code rc = cw_call_start(opts->rl, &request, &item->call, &refusal);
    if (rc == CW_DECLINED)
        cw_door_refuse(item, refusal.verdict, &entry->method->needs);
    else if (rc == CW_PARAMS)
        fail(item, 400, refusal.lacks_required ? "missing_parameter" : "invalid_arguments",
             cw_str_from(refusal.err.msg));
    else if (rc == CW_LIMIT)
        cw_door_fail_rate_limited(item, &refusal);
    else if (rc)
        fail(item, 503, "unavailable", cw_str_from(refusal.err.msg));
}

static bool is_container(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_OBJECT) || cw_json_is(v, CW_JSON_ARRAY);
}

/* The body as a document; NULL: the request is answered. */
static const cw_json *read_body(cw_http_req *req)
{
    const cw_json *root;
    cw_err err;
    if (!cw_rpc_is_json(req)) {
        cw_rest_fail(req, 415, "unsupported_media_type", "Content-Type must be application/json");
        return NULL;
    }
    cw_code rc =
        cw_json_read(cw_http_req_body(req), NULL, cw_http_req_arena(req), &root, NULL, &err);
    if (rc == CW_NOMEM) {
        cw_door_fail_nomem_all(req, &cw_door_rest);
        return NULL;
    }
    if (rc || !is_container(root)) {
        cw_rest_fail(req, 400, "invalid_json", rc ? err.msg : "The body must be an object");
        return NULL;
    }
    return root;
}

static void invoke(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    (void)self;
    cw_call_found found;
    if (cw_rest_find(req, rl, (cw_call_lookup){.view = view}, &found)) {
        cw_rest_fail(req, 403, "access_denied", "This needs the permission 'use jsonrpc services'");
        return;
    }
    const cw_json *root = read_body(req);
    if (!root)
        return;
    const cw_json *name = cw_json_get(root, CW_STR("name"));
    const cw_json *arguments = cw_json_get(root, CW_STR("arguments"));
    const char *missing = cw_json_is(name, CW_JSON_STRING) ? NULL : "name";
    if (!missing && !is_container(arguments))
        missing = "arguments";
    if (missing) {
        cw_rest_fail(req, 400, "missing_parameter",
                     missing[0] == 'n'
                         ? "Required parameter \"name\" is missing or no string"
                         : "Required parameter \"arguments\" is missing or no object");
        return;
    }
    cw_call_lookup lookup = {
        .view = view, .may_wait = true, .in = CW_FIND_TOOL, .name = cw_json_text(name)};
    cw_code rc = cw_rest_find(req, rl, lookup, &found);
    if (rc == CW_AGAIN) {
        if (wait_catalogue(req, rl, view, invoke))
            return;
        lookup.may_wait = false;
        rc = cw_rest_find(req, rl, lookup, &found);
    }
    if (rc) {
        fail_unknown(req, cw_json_text(name));
        return;
    }
    cw_rpc_batch_opts opts = {
        .rl = rl, .view = view, .n = 1, .none_status = 204, .form = &cw_door_rest};
    cw_rpc_batch *batch = cw_rpc_batch_of(req, &opts);
    if (batch)
        start_call(&batch->items[0], found.entry, arguments);
}

static void on_invoke(cw_http_req *req, void *runtime)
{
    cw_authenticate(req, runtime, &cw_authenticate_rest, invoke, runtime);
}

/* cw_call_find records what it refuses; the requirements of the method itself are checked here. */
static void audit_refusal(const cw_http_req *req, cw_runtime_loop *rl, const cw_view *view,
                          cw_verdict verdict)
{
    cw_call_audit_refused(rl, &(cw_refusal_record){.view = view,
                                                   .door = "rest",
                                                   .peer = cw_http_req_peer(req),
                                                   .name = cw_http_req_param(req),
                                                   .verdict = verdict});
}

static void run_tool(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    (void)self;
    cw_call_lookup lookup = {
        .view = view, .may_wait = true, .in = CW_FIND_TOOL, .name = cw_http_req_param(req)};
    cw_call_found found;
    cw_code rc = cw_rest_find(req, rl, lookup, &found);
    if (rc == CW_AGAIN) {
        if (wait_catalogue(req, rl, view, run_tool))
            return;
        lookup.may_wait = false;
        rc = cw_rest_find(req, rl, lookup, &found);
    }
    if (rc == CW_DECLINED) {
        cw_door_refuse_all(req, &cw_door_jsonrpc, rl, view, found.verdict, NULL);
        return;
    }
    if (rc) {
        cw_door_reply_error_all(req, &cw_door_jsonrpc,
                                &(cw_door_error){.status = 404, .code = CW_RPC_METHOD});
        return;
    }
    const cw_entry *entry = found.entry;
    cw_verdict verdict = cw_view_verdict(view, entry);
    if (verdict != CW_VERDICT_ALLOW) {
        audit_refusal(req, rl, view, verdict);
        cw_door_refuse_all(req, &cw_door_jsonrpc, rl, view, verdict, &entry->method->needs);
        return;
    }
    cw_jsonrpc_receive(req, &(cw_jsonrpc_in){.rl = rl,
                                             .view = view,
                                             .only = entry,
                                             .is_get = cw_http_req_method(req) != CW_HTTP_POST});
}

static void on_tool(cw_http_req *req, void *runtime)
{
    cw_authenticate(req, runtime, &cw_authenticate_jsonrpc, run_tool, runtime);
}

/* ---- routes ---- */

cw_code cw_rest_add_routes(cw_router *router, cw_runtime *runtime)
{
    static const struct {
        cw_http_method method;
        const char *path;
        cw_http_handler handler;
    } routes[] = {
        {CW_HTTP_GET, "/mcp/tools/list", on_list},
        {CW_HTTP_GET, "/mcp/tools/describe", on_describe},
        {CW_HTTP_POST, "/mcp/tools/invoke", on_invoke},
        {CW_HTTP_GET, "/mcp/tools/{name}", on_tool},
        {CW_HTTP_POST, "/mcp/tools/{name}", on_tool},
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
