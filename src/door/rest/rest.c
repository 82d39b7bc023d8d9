/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rest.c - the REST door: tools as JSON documents out of the cache, and calls of tools.
 *
 *     GET  /mcp/tools/list       tools page by page
 *     GET  /mcp/tools/describe   one tool by its name
 *     POST /mcp/tools/invoke     {"name":…,"arguments":{…}} to {"result":…}
 *     *    /mcp/tools/{name}     JSON-RPC with one method
 *     GET  /jsonrpc/methods      methods page by page, and one by its id
 */
#include <stdio.h>

#include "base/digits.h"
#include "base/utf8.h"
#include "call/call.h"
#include "catalogue/translate.h"
#include "door/jsonrpc/jsonrpc.h"
#include "door/negotiate.h"
#include "door/rest/cursor.h"
#include "door/rest/reply.h"
#include "door/rest/rest.h"
#include "json/write.h"

#define METHODS_PAGE 1000u
#define METHODS_PATH "/jsonrpc/methods"

/* ---- errors ---- */

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
    cw_buf_init(&text, CW_BUF_MAX);
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

/* False: look again without waiting. Each wait has a batch of its own, which does not know that an
 * earlier one was ended by the stop. */
static bool wait_catalogue(cw_http_req *req, cw_runtime_loop *rl, cw_view *view,
                           cw_authenticated_fn fn)
{
    if (cw_http_req_is_stopping(req))
        return false;
    cw_rpc_batch_opts opts = {
        .rl = rl, .view = view, .n = 1, .none_status = 204, .form = &cw_door_rest};
    cw_rpc_batch *batch = cw_rpc_batch_of(req, &opts);
    awaiting *a = batch ? cw_arena_alloc(cw_http_req_arena(req), sizeof *a) : NULL;
    if (a)
        *a = (awaiting){req, fn};
    /* Without a batch it was answered. */
    return !batch || cw_rpc_item_wait_catalogue(&batch->items[0], run_again, a);
}

static cw_str peer_of(const void *req)
{
    return cw_http_req_peer(req);
}

/* Look a name up (call/find.h); door and peer are those of the request. */
static cw_code find(cw_http_req *req, cw_runtime_loop *rl, cw_call_lookup lookup,
                    cw_call_found *ret)
{
    lookup.door = "rest";
    lookup.peer = peer_of;
    lookup.ctx = req;
    return cw_call_find(rl, &lookup, ret);
}

/* Whether the caller may list and describe; answers 403 otherwise. */
static bool may_discover(cw_http_req *req, cw_runtime_loop *rl, cw_view *view)
{
    cw_call_error refusal = {0};
    cw_call_found found;
    if (find(req, rl, (cw_call_lookup){.view = view, .discovers = true}, &found)) {
        cw_rest_fail(req, 403, "access_denied",
                     "This needs the permission 'access mcp tool discovery'");
        return false;
    }
    if (!cw_call_may_list(rl, view, cw_http_req_peer(req), &refusal))
        return true;
    cw_door_fail_rate_limited_all(req, &cw_door_rest, &refusal);
    return false;
}

/* The language of the answer (door/negotiate.h). */
static const cw_language *language_of(const cw_http_req *req, const cw_runtime_loop *rl,
                                      const cw_view *view)
{
    return cw_negotiate_language(cw_http_req_header(req, CW_STR("Accept-Language")),
                                 cw_runtime_settings_of(rl)->translations, cw_view_caller(view));
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
                   .language = language_of(req, rl, view),
                   .size = cw_runtime_config(rl)->page_size};
    char offset[CW_DIGITS_SIZE];
    if (!may_discover(req, rl, view) || !read_offset(req, &p.offset))
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
    if (!may_discover(req, rl, view) || !read_name(req, &name))
        return;
    cw_call_lookup lookup = {.view = view, .discovers = true, .in = CW_FIND_TOOL, .name = name};
    cw_call_found found;
    cw_code rc = find(req, rl, lookup, &found);
    tool_doc t = {found.entry, language_of(req, rl, view)};
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
    cw_buf_init(&text, CW_BUF_MAX);
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
    case CW_FAULT_FULL:
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
        cw_buf_init(&b, CW_BUF_MAX);
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
    static const cw_sink_ops ops = {.done = on_done};
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
    if (find(req, rl, (cw_call_lookup){.view = view}, &found)) {
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
    cw_code rc = find(req, rl, lookup, &found);
    if (rc == CW_AGAIN) {
        if (wait_catalogue(req, rl, view, invoke))
            return;
        lookup.may_wait = false;
        rc = find(req, rl, lookup, &found);
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
    cw_code rc = find(req, rl, lookup, &found);
    if (rc == CW_AGAIN) {
        if (wait_catalogue(req, rl, view, run_tool))
            return;
        lookup.may_wait = false;
        rc = find(req, rl, lookup, &found);
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

/* ---- GET /jsonrpc/methods: the methods, in the form of Drupal's jsonrpc_discovery ----
 *
 *     {"data":[<method>…],"links":{"self":<url>}}
 *     <method> {"type":"JsonRpcMethod","id":…,"attributes":{"usage":…,"params":{<name>:<param>…},
 *               "output":…},"links":{"self":…,"collection":…}}
 *     <param> {"type":"JsonRpcParameterDefinition","id":…,"attributes":{"schema":…,"description":…,
 *               "required":true},"schema":…}
 *
 * Empty members are omitted. A collection of more than METHODS_PAGE methods continues at links.next.
 */

typedef struct method_page {
    cw_view *view;
    cw_str base;
    const cw_language *language;
    uint64_t offset;
    const cw_entry *entry; /* of one alone */
} method_page;

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
    cw_buf_init(&path, CW_BUF_MAX);
    cw_buf_add(&path, CW_STR(METHODS_PATH));
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

static void add_method(cw_json_writer *w, const cw_entry *entry, const method_page *p)
{
    cw_arena arena;
    cw_str base = p->base;
    cw_arena_init(&arena, CW_ARENA_MAX);
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
    const method_page *p = ctx;
    const cw_entry *entries[METHODS_PAGE];
    char query[CW_CURSOR_SIZE + 8];
    size_t n = 0, total = 0;
    cw_json_writer w;
    out->code =
        cw_view_page(p->view, CW_VIEW_METHODS, p->offset, entries, METHODS_PAGE, &n, &total);
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
    const method_page *p = ctx;
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    add_method(&w, p->entry, p);
    cw_code rc = cw_json_writer_end(&w, NULL);
    if (rc)
        out->code = rc;
}

/* A caller without the permission to call is challenged, as on /jsonrpc. */
static bool may_ask(cw_http_req *req, cw_runtime_loop *rl, cw_view *view)
{
    cw_call_found found;
    if (!find(req, rl, (cw_call_lookup){.view = view}, &found))
        return may_discover(req, rl, view);
    cw_door_refuse_all(req, &cw_door_rest, rl, view, found.verdict, NULL);
    return false;
}

/* The offset of the page, which must exist. False: the request is answered. */
static bool read_methods_offset(cw_http_req *req, method_page *p)
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
    if (!is_right || p->offset % METHODS_PAGE || p->offset > total) {
        cw_rest_fail(req, 400, "invalid_cursor",
                     "Parameter \"cursor\" is not a cursor of this list");
        return false;
    }
    return true;
}

static void send_methods(cw_http_req *req, cw_runtime_loop *rl, method_page *p,
                         cw_rest_document *doc)
{
    if (!cw_rest_set_base(req, rl, doc))
        return;
    p->base = doc->key.base;
    doc->key.view = p->view;
    p->language = language_of(req, rl, p->view);
    doc->language = p->language;
    doc->key.language = cw_language_tag(p->language);
    doc->ctx = p;
    cw_rest_send(req, rl, doc);
}

static void list_methods(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    (void)self;
    method_page p = {.view = view};
    char offset[CW_DIGITS_SIZE];
    if (!may_ask(req, rl, view) || !read_methods_offset(req, &p))
        return;
    send_methods(req, rl, &p,
                 &(cw_rest_document){
                     .key = {.kind = CW_STR("methods"), .name = cw_digits_u64(p.offset, offset)},
                     .write = write_methods,
                     .contexts = "user languages url.site url.query_args:cursor"});
}

static void describe_method(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    (void)self;
    method_page p = {.view = view};
    if (!may_ask(req, rl, view))
        return;
    cw_call_lookup lookup = {
        .view = view, .in = CW_FIND_METHOD_OR_TOOL, .name = cw_http_req_param(req)};
    cw_call_found found;
    cw_code rc = find(req, rl, lookup, &found);
    p.entry = found.entry;
    if (rc) {
        cw_rest_fail(req, 404, "method_not_found", "Method not found or access denied");
        return;
    }
    send_methods(req, rl, &p,
                 &(cw_rest_document){.key = {.kind = CW_STR("method"), .name = p.entry->method->id},
                                     .write = write_method,
                                     .contexts = "user languages url.site url.path"});
}

static void on_methods(cw_http_req *req, void *runtime)
{
    cw_authenticate(req, runtime, &cw_authenticate_rest, list_methods, runtime);
}

static void on_method(cw_http_req *req, void *runtime)
{
    cw_authenticate(req, runtime, &cw_authenticate_rest, describe_method, runtime);
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
        {CW_HTTP_GET, METHODS_PATH, on_methods},
        {CW_HTTP_GET, METHODS_PATH "/{id}", on_method},
    };
    for (size_t i = 0; i < CW_COUNT(routes); i++) {
        cw_code rc =
            cw_router_add(router, routes[i].method, routes[i].path, routes[i].handler, runtime);
        if (rc)
            return rc;
    }
    return CW_OK;
}
