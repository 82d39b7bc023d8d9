/* SPDX-License-Identifier: GPL-2.0-or-later */
/* relay.c - the texts that are sent to an MCP server, and the era that its responses show. */
#include "source/relay/relay.h"

#include "base/base64.h"
#include "json/write.h"

#define CLIENT "{\"name\":\"causeway\",\"version\":\"" CW_VERSION "\"}"

/* Errors that only a server of the modern era returns. */
enum { HEADER_MISMATCH = -32020, MISSING_CAPABILITY = -32021, UNSUPPORTED_VERSION = -32022 };

const char *cw_relay_era_name(cw_relay_era era)
{
    static const char *const names[] = {"unknown", "legacy", "modern"};
    return names[era];
}

/* ---- capabilities ---- */

unsigned cw_relay_capability(cw_str name)
{
    static const struct {
        const char *name;
        unsigned bits;
    } all[] = {
        {"form", CW_RELAY_FORM},
        {"url", CW_RELAY_URL},
        {"sampling", CW_RELAY_SAMPLING | CW_RELAY_SAMPLING_TOOLS},
        {"roots", CW_RELAY_ROOTS},
    };
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        if (cw_str_is(name, all[i].name))
            return all[i].bits;
    }
    return 0;
}

unsigned cw_relay_client_capabilities(const cw_json *names)
{
    static const struct {
        const char *name;
        unsigned bit;
    } all[] = {
        {"elicitation", CW_RELAY_FORM},  {"elicitation.url", CW_RELAY_URL},
        {"sampling", CW_RELAY_SAMPLING}, {"sampling.tools", CW_RELAY_SAMPLING_TOOLS},
        {"roots", CW_RELAY_ROOTS},
    };
    unsigned bits = 0;
    for (const cw_json *v = names ? cw_json_first(names) : NULL; v; v = cw_json_next(v)) {
        for (size_t i = 0; i < CW_COUNT(all); i++) {
            if (cw_str_is(cw_json_text(v), all[i].name))
                bits |= all[i].bit;
        }
    }
    return bits;
}

static bool has_mode_url(const cw_json *params)
{
    const cw_json *mode = cw_json_get(params, CW_STR("mode"));
    return cw_json_is(mode, CW_JSON_STRING) && cw_str_is(cw_json_text(mode), "url");
}

unsigned cw_relay_question(cw_str method, const cw_json *params)
{
    if (cw_str_is(method, "elicitation/create"))
        return has_mode_url(params) ? CW_RELAY_URL : CW_RELAY_FORM;
    if (cw_str_is(method, "sampling/createMessage"))
        return cw_json_get(params, CW_STR("tools")) ? CW_RELAY_SAMPLING_TOOLS : CW_RELAY_SAMPLING;
    return cw_str_is(method, "roots/list") ? CW_RELAY_ROOTS : 0;
}

/* {"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}} */
static void add_capabilities(cw_buf *out, unsigned has, bool takes_tasks)
{
    const char *comma = "";
    cw_buf_add_char(out, '{');
    if (has & (CW_RELAY_FORM | CW_RELAY_URL)) {
        bool both = (has & CW_RELAY_FORM) && (has & CW_RELAY_URL);
        cw_buf_printf(out, "\"elicitation\":{%s%s%s}", has & CW_RELAY_FORM ? "\"form\":{}" : "",
                      both ? "," : "", has & CW_RELAY_URL ? "\"url\":{}" : "");
        comma = ",";
    }
    if (has & CW_RELAY_SAMPLING) {
        cw_buf_printf(out, "%s\"sampling\":{%s}", comma,
                      has & CW_RELAY_SAMPLING_TOOLS ? "\"tools\":{}" : "");
        comma = ",";
    }
    if (has & CW_RELAY_ROOTS) {
        cw_buf_printf(out, "%s\"roots\":{}", comma);
        comma = ",";
    }
    if (takes_tasks)
        cw_buf_printf(out, "%s\"extensions\":{\"" CW_RELAY_META "tasks\":{}}", comma);
    cw_buf_add_char(out, '}');
}

/* ---- requests ---- */

#define TEXTS 9
static void list_texts(cw_relay_request *r, cw_str *ret[TEXTS])
{
    ret[0] = &r->method;
    ret[1] = &r->members;
    ret[2] = &r->meta;
    ret[3] = &r->name;
    ret[4] = &r->caller;
    ret[5] = &r->log_level;
    ret[6] = &r->last_event;
    ret[7] = &r->traceparent;
    ret[8] = &r->tracestate;
}

size_t cw_relay_size(const cw_relay_request *r)
{
    return r->method.n + r->members.n + r->meta.n + r->name.n + r->caller.n + r->log_level.n +
           r->last_event.n + r->traceparent.n + r->tracestate.n;
}

cw_relay_request cw_relay_copy(const cw_relay_request *r, char *room)
{
    cw_relay_request copy = *r;
    cw_str *texts[TEXTS];
    copy.headers = NULL;
    copy.n_headers = 0;
    list_texts(&copy, texts);
    for (size_t i = 0; i < TEXTS; i++) {
        if (texts[i]->n)
            memcpy(room, texts[i]->p, texts[i]->n);
        *texts[i] = cw_str_make(room, texts[i]->n);
        room += texts[i]->n;
    }
    return copy;
}

static bool is_plain(cw_str text)
{
    bool is = text.n && text.p[0] != ' ' && text.p[text.n - 1] != ' ' && text.p[0] != '=';
    for (size_t i = 0; i < text.n && is; i++)
        is = text.p[i] >= ' ' && text.p[i] < 127;
    return is;
}

cw_str cw_relay_header_value(cw_str text, cw_arena *arena)
{
    static const char begin[] = "=?base64?", end[] = "?=";
    if (is_plain(text))
        return text;
    size_t n = sizeof begin - 1;
    char *to = cw_arena_alloc(arena, n + CW_BASE64_TEXT(text.n) + sizeof end);
    if (!to)
        return (cw_str){NULL, 0};
    memcpy(to, begin, n);
    n += cw_base64_encode(text, to + n);
    memcpy(to + n, end, sizeof end - 1);
    return cw_str_make(to, n + sizeof end - 1);
}

static void open_request(cw_buf *out, cw_str method, uint64_t id)
{
    cw_buf_add(out, CW_STR("{\"jsonrpc\":\"2.0\",\"id\":"));
    cw_buf_add_u64(out, id);
    cw_buf_add(out, CW_STR(",\"method\":\""));
    cw_buf_add(out, method);
    cw_buf_add(out, CW_STR("\",\"params\":{"));
}

static void add_modern_meta(cw_buf *out, unsigned capabilities, bool takes_tasks, cw_str log_level)
{
    cw_buf_add(out, CW_STR("\"" CW_RELAY_META "protocolVersion\":\"" CW_RELAY_MODERN_VERSION
                           "\",\"" CW_RELAY_META "clientInfo\":" CLIENT ",\"" CW_RELAY_META
                           "clientCapabilities\":"));
    add_capabilities(out, capabilities, takes_tasks);
    if (log_level.n)
        cw_buf_printf(out, ",\"" CW_RELAY_META "logLevel\":\"%.*s\"", CW_STR_ARG(log_level));
}

/* A comma before every member but the first. */
static void add_key(cw_buf *out, size_t start, const char *key)
{
    if (out->n > start)
        cw_buf_add_char(out, ',');
    cw_buf_printf(out, "\"%s\":", key);
}

static void add_meta(cw_buf *out, const cw_relay_request *r, bool is_modern, uint64_t id)
{
    size_t start = out->n;
    if (is_modern)
        add_modern_meta(out, r->capabilities, r->takes_tasks, r->log_level);
    if (r->wants_progress) {
        add_key(out, start, "progressToken");
        cw_buf_add_u64(out, id);
    }
    if (r->traceparent.n) {
        add_key(out, start, "traceparent");
        cw_json_escape(out, r->traceparent);
    }
    if (r->tracestate.n) {
        add_key(out, start, "tracestate");
        cw_json_escape(out, r->tracestate);
    }
    if (r->meta.n && out->n > start)
        cw_buf_add_char(out, ',');
    cw_buf_add(out, r->meta);
}

void cw_relay_write(cw_buf *out, const cw_relay_request *r, cw_relay_era era, uint64_t id)
{
    bool is_modern = era == CW_RELAY_MODERN;
    open_request(out, r->method, id);
    cw_buf_add(out, r->members);
    if (is_modern || r->wants_progress || r->meta.n || r->traceparent.n) {
        cw_buf_add(out, r->members.n ? CW_STR(",\"_meta\":{") : CW_STR("\"_meta\":{"));
        add_meta(out, r, is_modern, id);
        cw_buf_add_char(out, '}');
    }
    cw_buf_add(out, CW_STR("}}"));
}

unsigned cw_relay_level(cw_str name)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    for (unsigned i = 0; i < CW_COUNT(names); i++) {
        if (cw_str_is(name, names[i]))
            return i + 1;
    }
    return 0;
}

void cw_relay_write_level(cw_buf *out, cw_str level, uint64_t id)
{
    open_request(out, CW_STR("logging/setLevel"), id);
    cw_buf_printf(out, "\"level\":\"%.*s\"}}", CW_STR_ARG(level));
}

void cw_relay_write_initialize(cw_buf *out, unsigned capabilities, uint64_t id)
{
    open_request(out, CW_STR("initialize"), id);
    cw_buf_add(out,
               CW_STR("\"protocolVersion\":\"" CW_RELAY_LEGACY_VERSION "\",\"capabilities\":"));
    add_capabilities(out, capabilities, /* takes_tasks= */ false);
    cw_buf_add(out, CW_STR(",\"clientInfo\":" CLIENT "}}"));
}

void cw_relay_write_discover(cw_buf *out, unsigned capabilities, uint64_t id)
{
    open_request(out, CW_STR("server/discover"), id);
    cw_buf_add(out, CW_STR("\"_meta\":{"));
    add_modern_meta(out, capabilities, /* takes_tasks= */ false, CW_STR(""));
    cw_buf_add(out, CW_STR("}}}"));
}

void cw_relay_write_cancelled(cw_buf *out, uint64_t id)
{
    cw_buf_add(out, CW_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
                           "{\"requestId\":"));
    cw_buf_add_u64(out, id);
    cw_buf_add(out, CW_STR(",\"reason\":\"The caller has cancelled the call.\"}}"));
}

void cw_relay_write_answer(cw_buf *out, cw_str request_id, cw_str result, int64_t code,
                           cw_str message)
{
    cw_buf_add(out, CW_STR("{\"jsonrpc\":\"2.0\",\"id\":"));
    cw_buf_add(out, request_id);
    if (result.n) {
        cw_buf_add(out, CW_STR(",\"result\":"));
        cw_buf_add(out, result);
    } else {
        cw_buf_add(out, CW_STR(",\"error\":{\"code\":"));
        cw_buf_add_i64(out, code);
        cw_buf_add(out, CW_STR(",\"message\":"));
        cw_json_escape(out, message);
        cw_buf_add_char(out, '}');
    }
    cw_buf_add_char(out, '}');
}

/* ---- eras ---- */

static bool has_modern_version(const cw_json *result)
{
    const cw_json *versions = cw_json_get(result, CW_STR("supportedVersions"));
    bool is_list = cw_json_is(versions, CW_JSON_ARRAY);
    for (const cw_json *v = is_list ? cw_json_first(versions) : NULL; v; v = cw_json_next(v)) {
        if (cw_json_is(v, CW_JSON_STRING) && cw_str_is(cw_json_text(v), CW_RELAY_MODERN_VERSION))
            return true;
    }
    return false;
}

/* A result with another type than "complete": only a modern server has such types. */
static bool has_other_type(const cw_json *result)
{
    const cw_json *type = cw_json_get(result, CW_STR("resultType"));
    return cw_json_is(type, CW_JSON_STRING) && !cw_str_is(cw_json_text(type), "complete");
}

static bool is_modern_error(const cw_json *error)
{
    const cw_json *code = cw_json_get(error, CW_STR("code"));
    int64_t number = 0;
    return code && cw_json_to_i64(code, &number) && number <= HEADER_MISMATCH &&
           number >= UNSUPPORTED_VERSION;
}

/* Whether the status is due to an outage or to missing rights, which must not decide the era. */
static bool says_nothing(unsigned status)
{
    return status == 401 || status == 403 || status == 407 || status == 408 || status == 429 ||
           status >= 500;
}

cw_relay_era cw_relay_judge(unsigned status, const cw_json *answer)
{
    const cw_json *result = cw_json_get(answer, CW_STR("result"));
    if (has_modern_version(result) || has_other_type(result) ||
        is_modern_error(cw_json_get(answer, CW_STR("error"))))
        return CW_RELAY_MODERN;
    return says_nothing(status) ? CW_RELAY_UNKNOWN : CW_RELAY_LEGACY;
}

cw_str cw_relay_negotiated(const cw_json *answer)
{
    const cw_json *version =
        cw_json_get(cw_json_get(answer, CW_STR("result")), CW_STR("protocolVersion"));
    bool is_text =
        cw_json_is(version, CW_JSON_STRING) && version->n && version->n < CW_RELAY_VERSION_MAX;
    return is_text ? cw_json_text(version) : (cw_str){NULL, 0};
}
