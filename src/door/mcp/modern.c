/* SPDX-License-Identifier: GPL-2.0-or-later */
/* modern.c - the stateless era: envelope, headers that repeat the body, and the table of methods.
 */
#include "base/base64.h"
#include "catalogue/tool/param_headers.h"
#include "door/mcp/event/events.h"
#include "door/mcp/event/webhooks.h"
#include "door/mcp/feature/list.h"
#include "door/mcp/feature/skills.h"
#include "door/mcp/instructions.h"
#include "door/mcp/mcp_int.h"
#include "door/mcp/task/task.h"
#include "json/write.h"

#define VERSION "2026-07-28"

static const cw_str versions[] = {CW_STR_INIT(VERSION)};

static void discover(const cw_mcp_request *r)
{
    cw_buf b;
    if (cw_mcp_challenge_stranger(r))
        return;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_open_result(&b);
    cw_buf_add(&b, CW_STR("{\"supportedVersions\":[\"" VERSION "\"],\"capabilities\":"));
    cw_mcp_add_capabilities(&b, r);
    cw_mcp_add_instructions(&b, r);
    cw_buf_add(&b, CW_STR(",\"ttlMs\":"));
    cw_buf_add_i64(&b, cw_runtime_settings_of(r->rl)->list_ttl_ms);
    cw_buf_add(&b, CW_STR(",\"cacheScope\":\""));
    /* The instructions have names as the client reads them. */
    cw_buf_add(&b, cw_mcp_scope(r, !cw_runtime_config(r->rl)->mcp.clients.n));
    cw_buf_add(&b, CW_STR("\"," CW_MCP_RESULT_META "}"));
    cw_rpc_close(&b, r->item->id);
    cw_rpc_item_reply(r->item, 200, &b, CW_STR(""));
}

static const cw_mcp_method methods[] = {
    {CW_STR_INIT("tools/call"), cw_mcp_call_tool},
    {CW_STR_INIT("tasks/get"), cw_mcp_get_task},
    {CW_STR_INIT("tools/list"), cw_mcp_list_tools},
    {CW_STR_INIT("resources/read"), cw_mcp_read_resource},
    {CW_STR_INIT("prompts/get"), cw_mcp_get_prompt},
    {CW_STR_INIT("completion/complete"), cw_mcp_complete},
    {CW_STR_INIT("resources/list"), cw_mcp_list_resources},
    {CW_STR_INIT("resources/templates/list"), cw_mcp_list_templates},
    {CW_STR_INIT("prompts/list"), cw_mcp_list_prompts},
    {CW_STR_INIT("server/discover"), discover},
    {CW_STR_INIT("subscriptions/listen"), cw_mcp_subscriptions_listen},
    {CW_STR_INIT("skills/list"), cw_mcp_list_skills},
    {CW_STR_INIT("skills/get"), cw_mcp_get_skill},
    {CW_STR_INIT("resources/directory/read"), cw_mcp_read_directory},
    {CW_STR_INIT("tasks/update"), cw_mcp_update_task},
    {CW_STR_INIT("tasks/cancel"), cw_mcp_cancel_task},
    {CW_STR_INIT("events/list"), cw_mcp_list_events},
    {CW_STR_INIT("events/poll"), cw_mcp_poll_events},
    {CW_STR_INIT("events/stream"), cw_mcp_stream_events},
    {CW_STR_INIT("events/subscribe"), cw_mcp_subscribe_event},
    {CW_STR_INIT("events/unsubscribe"), cw_mcp_unsubscribe_event},
};

const cw_mcp_era cw_mcp_modern = {
    .methods = methods,
    .n_methods = CW_COUNT(methods),
    .unknown_status = 404,
    .no_resource = CW_RPC_PARAMS,
    .form = CW_TOOL_ANY_OUTPUT,
    .is_modern = true,
    .has_mirrors = true,
};

/* Which param a method's Mcp-Name repeats. */
static const struct {
    cw_str method;
    cw_str param; /* empty: `name` */
} named[] = {
    {CW_STR_INIT("tools/call"), CW_STR_INIT("")},
    {CW_STR_INIT("prompts/get"), CW_STR_INIT("")},
    {CW_STR_INIT("resources/read"), CW_STR_INIT("uri")},
    {CW_STR_INIT("tasks/get"), CW_STR_INIT("taskId")},
    {CW_STR_INIT("tasks/update"), CW_STR_INIT("taskId")},
    {CW_STR_INIT("tasks/cancel"), CW_STR_INIT("taskId")},
};

/* ---- versions ---- */

cw_str cw_mcp_modern_version(size_t i)
{
    return i < CW_COUNT(versions) ? versions[i] : (cw_str){NULL, 0};
}

bool cw_mcp_is_modern(cw_str version)
{
    for (size_t i = 0; i < CW_COUNT(versions); i++) {
        if (cw_str_eq(versions[i], version))
            return true;
    }
    return false;
}

/* ---- headers ---- */

static cw_str decode_header(cw_str value, cw_arena *arena)
{
    const cw_str prefix = CW_STR("=?base64?"), suffix = CW_STR("?=");
    if (value.n < prefix.n + suffix.n || !cw_str_starts(value, prefix) ||
        !cw_str_ends(value, suffix))
        return value;
    value = cw_str_make(value.p + prefix.n, value.n - prefix.n - suffix.n);
    size_t n;
    char *out = cw_arena_alloc(arena, CW_BASE64_BYTES(value.n));
    if (!out || !cw_base64_decode(value, CW_BASE64_PADDED, out, &n))
        return cw_str_make(NULL, 0);
    return cw_str_make(out, n);
}

/* -32020: the header is missing (.p NULL), or differs from the body. */
static void fail_header(const cw_mcp_request *r, cw_str name, cw_str header, cw_str body,
                        const char *problem)
{
    cw_buf data, text;
    cw_buf_init(&data, CW_BUF_MAX);
    cw_buf_init(&text, CW_BUF_MAX);
    if (header.p) {
        cw_json_writer w;
        cw_json_writer_init(&w, &data, CW_JSON_COMPACT);
        cw_json_open_object(&w);
        cw_json_add_key(&w, CW_STR("mismatch"));
        cw_json_open_object(&w);
        cw_json_add_string_member(&w, CW_STR("header"), cw_door_excerpt(header));
        cw_json_add_string_member(&w, CW_STR("body"), cw_door_excerpt(body));
        cw_json_close(&w);
        cw_json_close(&w);
    }
    cw_buf_printf(&text, "Header mismatch: %.*s %s", CW_STR_ARG(name), problem);
    cw_door_fail_with(r->item, 400, CW_MCP_HEADER, &text, &data);
}

/* Compare a header with the body. False: the request is answered. */
static bool check_header(const cw_mcp_request *r, cw_str name, cw_str body, bool may_be_encoded)
{
    if (!r->responder->has_headers)
        return true;
    bool repeats;
    cw_str raw = cw_responder_header_once(r->responder, name, &repeats);
    cw_str value = raw;
    if (raw.p && may_be_encoded)
        value = decode_header(raw, r->responder->arena);
    const char *problem = NULL;
    if (!raw.p)
        problem = "is missing";
    else if (!value.p || !cw_str_eq(value, body))
        problem = "is not what the body says";
    else if (repeats)
        problem = "stands more than once"; /* a proxy may have read the other one */
    if (problem)
        fail_header(r, name, raw, body, problem);
    return !problem;
}

static bool has_header(const cw_mcp_request *r, cw_str name)
{
    return r->responder->has_headers && cw_responder_header(r->responder, name).p;
}

static bool check_name(const cw_mcp_request *r, bool is_required)
{
    const cw_str header = CW_STR("Mcp-Name");
    for (size_t i = 0; i < CW_COUNT(named); i++) {
        if (!cw_str_eq(named[i].method, r->method))
            continue;
        if (!is_required && !has_header(r, header))
            return true;
        const cw_json *name =
            named[i].param.n ? cw_json_get(r->params, named[i].param) : r->members.name;
        if (cw_json_is(name, CW_JSON_STRING))
            return check_header(r, header, cw_json_text(name), /* may_be_encoded= */ true);
        /* The body has no name. Without a header too, the method reports the problem. */
        cw_str value = r->responder->has_headers ? cw_responder_header(r->responder, header)
                                                 : cw_str_make(NULL, 0);
        if (value.p)
            fail_header(r, header, value, CW_STR(""), "is not in the body");
        return !value.p;
    }
    return true;
}

bool cw_mcp_check_sent_headers(const cw_mcp_request *r)
{
    const cw_str header = CW_STR("Mcp-Method");
    return (!has_header(r, header) ||
            check_header(r, header, r->method, /* may_be_encoded= */ false)) &&
           check_name(r, /* is_required= */ false);
}

/* ---- the envelope ---- */

static bool check_client(const cw_mcp_request *r)
{
    const char *problem = cw_mcp_client_problem(r->meta.client);
    if (problem)
        cw_door_fail(r->item, 400, CW_RPC_PARAMS, problem);
    return !problem;
}

static bool check_envelope(const cw_mcp_request *r)
{
    const cw_json *client_capabilities = r->meta.capabilities;
    cw_str data;
    if (!cw_json_is(r->meta.claim, CW_JSON_STRING))
        data = CW_STR("{\"envelope\":{\"invalid\":[\"" CW_MCP_CLAIM "\"]}}");
    else if (!client_capabilities)
        data = CW_STR("{\"envelope\":{\"missing\":[\"" CW_MCP_META("clientCapabilities") "\"]}}");
    else if (!cw_json_is(client_capabilities, CW_JSON_OBJECT))
        data = CW_STR("{\"envelope\":{\"invalid\":[\"" CW_MCP_META("clientCapabilities") "\"]}}");
    else
        return check_client(r);
    cw_door_reply_error(
        r->item,
        &(cw_door_error){
            .status = 400,
            .code = CW_RPC_PARAMS,
            .message = CW_STR("Invalid params: a required member of _meta is missing or wrong"),
            .data = data});
    return false;
}

static bool check_version(const cw_mcp_request *r)
{
    cw_str claim = cw_json_text(r->meta.claim);
    if (!check_header(r, CW_STR("MCP-Protocol-Version"), claim, /* may_be_encoded= */ false))
        return false;
    if (cw_mcp_is_modern(claim))
        return true;
    cw_buf text, data;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_buf_init(&data, CW_BUF_MAX);
    cw_buf_add(&text, CW_STR("Unsupported protocol version"));
    cw_buf_add(&data, CW_STR("{\"supported\":[\"" VERSION "\"],\"requested\":"));
    cw_json_escape(&data, cw_door_excerpt(claim));
    cw_buf_add_char(&data, '}');
    cw_door_fail_with(r->item, 400, CW_MCP_UNSUPPORTED, &text, &data);
    return false;
}

void cw_mcp_run_modern(const cw_mcp_request *r)
{
    if (check_envelope(r) && check_version(r) &&
        check_header(r, CW_STR("Mcp-Method"), r->method, /* may_be_encoded= */ false) &&
        check_name(r, /* is_required= */ true)) {
        cw_mcp_session client = {.level = CW_LOG_OFF};
        cw_mcp_request with = *r;
        client.client_capabilities = cw_mcp_client_capabilities(r->meta.capabilities);
        client.version = CW_STR(VERSION);
        client.profile = cw_mcp_profile(cw_runtime_config(r->rl), r->meta.client);
        if (r->responder->session) { /* the client can cancel its requests */
            client.is_named = true;
            memcpy(client.number, r->responder->session->number, CW_MCP_NUMBER);
        }
        with.session = &client;
        r->item->op.version = client.version;
        cw_mcp_dispatch(&with);
    }
}

#define PREFIX "Mcp-Param-"

/* A number or boolean is what its text means: 42.0 is 42. */
static bool says(cw_str header, const cw_json *value, cw_arena *arena)
{
    const cw_json *read;
    if (cw_json_is(value, CW_JSON_STRING))
        return cw_str_eq(header, cw_json_text(value));
    return !cw_json_read(header, NULL, arena, &read, NULL, NULL) &&
           cw_json_type_of(read) == cw_json_type_of(value) && cw_json_equal(read, value);
}

static const char *check_param(const cw_mcp_request *r, cw_str name, cw_str raw,
                               const cw_json *value)
{
    bool is_there = value && !cw_json_is(value, CW_JSON_NULL);
    if (!raw.p)
        return is_there ? "is missing" : NULL;
    if (cw_responder_repeats(r->responder, name))
        return "stands more than once";
    cw_str header = decode_header(cw_str_trim(raw), r->responder->arena);
    if (!header.p)
        return "is not encoded as it should be";
    if (!is_there)
        return "says what the body does not";
    return says(header, value, r->responder->arena) ? NULL : "is not what the body says";
}

static bool check_param_header(const cw_mcp_request *r, const cw_param_headers *mirror)
{
    char *text = cw_arena_printf(r->responder->arena, PREFIX "%.*s", CW_STR_ARG(mirror->header));
    if (!text) {
        cw_door_fail_nomem(r->item);
        return false;
    }
    cw_str name = cw_str_from(text), raw = cw_responder_header(r->responder, name);
    const char *problem = check_param(r, name, raw, mirror->value);
    if (problem)
        fail_header(r, name, raw, mirror->value ? cw_json_span(mirror->value) : CW_STR("null"),
                    problem);
    return !problem;
}

bool cw_mcp_check_param_headers(const cw_mcp_request *r, const cw_method *method,
                                const cw_json *arguments)
{
    const cw_param_headers *mirrors;
    size_t n = 0;
    if (!r->responder->has_headers)
        return true;
    /* They were right when the catalogue was made: this fails without memory only. */
    if (cw_param_headers_find(method, arguments, r->responder->arena, &mirrors, &n, NULL)) {
        cw_door_fail_nomem(r->item);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!check_param_header(r, &mirrors[i]))
            return false;
    }
    return true;
}
