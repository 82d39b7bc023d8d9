/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dialect.c - the table of dialects, requests as bytes, the kinds of messages, and responses as the
 * outcomes of calls. */
#include "source/protocol/dialect.h"

#include "base/digits.h"
#include "json/write.h"
#include "source/protocol/sanitize.h"

typedef enum error_style {
    ERROR_OBJECT, /* {"code":…,"message":…,"data":…} */
    ERROR_ANY,    /* any value that is not null */
    ERROR_CLASS,  /* {"class":…,"desc":…} */
    ERROR_WORD,   /* `result` is "success", or else the error */
} error_style;

/* The members of a message that all dialects have in some way. */
typedef enum member {
    MEMBER_ID,
    MEMBER_RESULT,
    MEMBER_ERROR,
    MEMBER_VERSION,
    MEMBER_METHOD,
    MEMBER_EVENT,    /* the name of a notification, where it is not the member of METHOD */
    MEMBER_GREETING, /* its presence makes a message a greeting */
    N_MEMBERS,
} member;

/* Their values in one message; NULL: the message has no such member. */
typedef const cw_json *member_values[N_MEMBERS];

/* Equals no key of a document, since it is not UTF-8. */
#define MEMBER_NONE CW_STR_INIT("\xff")

struct cw_dialect {
    const char *name;
    const char *version; /* of "jsonrpc", in requests and responses; NULL: none */
    cw_str names[N_MEMBERS];
    const char *params;
    error_style errors;
    bool is_exclusive; /* a response has one of result and error, not both with a value */
    bool needs_params; /* a request always has them */
    bool is_mcp;
};

/* In the order of member. */
#define NAMES(id, result, error, version, method, event, greeting)                                 \
    {                                                                                              \
        CW_STR_INIT(id), CW_STR_INIT(result), CW_STR_INIT(error), version, CW_STR_INIT(method),    \
            event, greeting                                                                        \
    }
#define VERSION CW_STR_INIT("jsonrpc")

static const cw_dialect dialects[] = {
    /* "event" is a member of Mopidy's notifications. */
    {.name = "2.0",
     .version = "2.0",
     .names = NAMES("id", "result", "error", VERSION, "method", CW_STR_INIT("event"), MEMBER_NONE),
     .params = "params",
     .errors = ERROR_OBJECT,
     .is_exclusive = true},
    {.name = "1.0",
     .names = NAMES("id", "result", "error", MEMBER_NONE, "method", MEMBER_NONE, MEMBER_NONE),
     .params = "params",
     .errors = ERROR_ANY,
     .needs_params = true},
    {.name = "qmp",
     .names = NAMES("id", "return", "error", MEMBER_NONE, "execute", CW_STR_INIT("event"),
                    CW_STR_INIT("QMP")),
     .params = "arguments",
     .errors = ERROR_CLASS},
    {.name = "transmission",
     .names = NAMES("tag", "arguments", "result", MEMBER_NONE, "method", MEMBER_NONE, MEMBER_NONE),
     .params = "arguments",
     .errors = ERROR_WORD},
    {.name = "mcp",
     .version = "2.0",
     .names = NAMES("id", "result", "error", VERSION, "method", MEMBER_NONE, MEMBER_NONE),
     .params = "params",
     .errors = ERROR_OBJECT,
     .is_exclusive = true,
     .is_mcp = true},
};

const cw_dialect *cw_dialect_find(cw_str name)
{
    for (size_t i = 0; i < CW_COUNT(dialects); i++) {
        if (cw_str_is(name, dialects[i].name))
            return &dialects[i];
    }
    return NULL;
}

bool cw_dialect_is_mcp(const cw_dialect *dialect)
{
    return dialect->is_mcp;
}

const char *cw_dialect_names(void)
{
    return "2.0, 1.0, qmp, transmission, mcp";
}

/* ---- requests ---- */

cw_code cw_request_template_make(const cw_protocol_opts *protocol, cw_str method, cw_arena *arena,
                                 cw_request_template *ret, cw_err *err)
{
    const cw_dialect *d = protocol->dialect;
    CW_CLEANUP(cw_buf_done) cw_buf b;
    cw_buf_init(&b, 6 * method.n + 128);
    cw_buf_printf(&b, ",\"%.*s\":", CW_STR_ARG(d->names[MEMBER_METHOD]));
    cw_json_escape(&b, method);
    size_t n_bare = b.n;
    cw_buf_printf(&b, ",\"%s\":", d->params);
    if (b.code)
        return cw_fail_nomem(err);
    ret->text = cw_arena_dup_str(arena, cw_buf_str(&b));
    if (!ret->text.p)
        return cw_arena_fail(arena, err);
    ret->bare = cw_str_make(ret->text.p, n_bare);
    return CW_OK;
}

/* Write {"jsonrpc":"2.0","id":7, the begin of a request. The texts of the table are short. */
static size_t write_head(const cw_protocol_opts *protocol, uint64_t id,
                         char room[CW_REQUEST_TEMPLATE_ROOM])
{
    const cw_dialect *d = protocol->dialect;
    char digits[CW_DIGITS_SIZE];
    cw_str number = cw_digits_u64(id, digits);
    cw_str quote = protocol->string_ids ? CW_STR("\"") : CW_STR("");
    const cw_str parts[] = {
        CW_STR("{"),   d->version ? CW_STR("\"jsonrpc\":\"2.0\",") : CW_STR(""),
        CW_STR("\""),  d->names[MEMBER_ID],
        CW_STR("\":"), quote,
        number,        quote,
    };
    size_t n = 0;
    for (size_t i = 0; i < CW_COUNT(parts); i++) {
        memcpy(room + n, parts[i].p, parts[i].n);
        n += parts[i].n;
    }
    return n;
}

void cw_request_template_write(const cw_protocol_opts *protocol, const cw_request_template *wire,
                               uint64_t id, cw_str params, char room[CW_REQUEST_TEMPLATE_ROOM],
                               cw_str pieces[CW_REQUEST_TEMPLATE_PIECES])
{
    if (params.n == 0 && protocol->dialect->needs_params)
        params = CW_STR("[]");
    pieces[0] = cw_str_make(room, write_head(protocol, id, room));
    pieces[1] = params.n ? wire->text : wire->bare;
    pieces[2] = params;
    pieces[3] = CW_STR("}");
}

/* The text of the method begins with a comma. The comma goes, unless a version or an id that is
 * null stays before it. */
void cw_request_template_drop_id(const cw_protocol_opts *protocol,
                                 cw_str pieces[CW_REQUEST_TEMPLATE_PIECES])
{
    const cw_dialect *d = protocol->dialect;
    pieces[0] = d->version        ? CW_STR("{\"jsonrpc\":\"2.0\"")
                : d->needs_params ? CW_STR("{\"id\":null")
                                  : CW_STR("{");
    if (pieces[0].n == 1) {
        pieces[1].p++;
        pieces[1].n--;
    }
}

/* ---- incoming messages ---- */

static bool is_null(const cw_json *v)
{
    return !v || cw_json_is(v, CW_JSON_NULL);
}

static bool read_id(const cw_protocol_opts *protocol, const cw_json *v, uint64_t *ret)
{
    if (protocol->string_ids)
        return cw_json_is(v, CW_JSON_STRING) && cw_str_to_u64(cw_json_text(v), ret);
    const uint32_t other = CW_JSON_FRACTION | CW_JSON_EXPONENT | CW_JSON_NEGATIVE;
    if (CW_LIKELY(cw_json_is(v, CW_JSON_NUMBER) && !(v->meta & other))) /* as it was sent */
        return cw_str_to_u64(cw_json_text(v), ret);
    return v && cw_json_to_u64(v, ret);
}

static void find_members(const cw_dialect *d, const cw_json *message, member_values ret)
{
    cw_json_get_all(message, d->names, N_MEMBERS, ret);
}

static bool is_text(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_STRING);
}

static void classify_call(const cw_dialect *d, const cw_json *message, const member_values found,
                          cw_incoming *ret)
{
    const cw_json *method = found[MEMBER_METHOD];
    ret->method = cw_json_text(is_text(method) ? method : found[MEMBER_EVENT]);
    ret->params = cw_json_get(message, is_text(method) ? cw_str_from(d->params) : CW_STR("data"));
    ret->request_id = found[MEMBER_ID];
    ret->kind = is_null(ret->request_id) ? CW_INCOMING_NOTIFICATION : CW_INCOMING_REQUEST;
}

void cw_dialect_classify(const cw_protocol_opts *protocol, const cw_json *message, cw_incoming *ret)
{
    const cw_dialect *d = protocol->dialect;
    *ret = (cw_incoming){.kind = CW_INCOMING_INVALID, .why = "not a JSON object"};
    if (!cw_json_is(message, CW_JSON_OBJECT))
        return;
    member_values found;
    find_members(d, message, found);
    const cw_json *id = found[MEMBER_ID];
    bool is_answer = found[MEMBER_RESULT] || found[MEMBER_ERROR];
    bool is_call = is_text(found[MEMBER_EVENT]) || is_text(found[MEMBER_METHOD]);
    if (found[MEMBER_GREETING]) {
        ret->kind = CW_INCOMING_GREETING;
    } else if (is_call && !is_answer) {
        classify_call(d, message, found, ret);
    } else if (!is_answer) {
        ret->why = "neither an answer nor a call";
    } else if (is_null(id)) {
        ret->kind = CW_INCOMING_ERROR_WITHOUT_ID;
    } else if (read_id(protocol, id, &ret->id)) {
        ret->kind = CW_INCOMING_RESPONSE;
    } else {
        ret->why = "an answer with an id that is none of ours";
    }
}

void cw_dialect_reply(const cw_protocol_opts *protocol, const cw_json *request_id, cw_str result,
                      cw_buf *out)
{
    const cw_dialect *d = protocol->dialect;
    cw_str result_name = d->names[MEMBER_RESULT], error_name = d->names[MEMBER_ERROR];
    cw_buf_add_char(out, '{');
    if (d->version)
        cw_buf_add(out, CW_STR("\"jsonrpc\":\"2.0\","));
    cw_buf_printf(out, "\"%.*s\":", CW_STR_ARG(d->names[MEMBER_ID]));
    cw_buf_add(out, cw_json_span(request_id));
    if (result.n) {
        cw_buf_printf(out, ",\"%.*s\":", CW_STR_ARG(result_name));
        cw_buf_add(out, result);
        if (!d->is_exclusive)
            cw_buf_printf(out, ",\"%.*s\":null", CW_STR_ARG(error_name));
    } else if (d->is_exclusive) {
        cw_buf_add(out, CW_STR(",\"error\":{\"code\":-32601,\"message\":\"Method not found\"}"));
    } else {
        cw_buf_printf(out, ",\"%.*s\":null,\"%.*s\":\"unknown method\"", CW_STR_ARG(result_name),
                      CW_STR_ARG(error_name));
    }
    cw_buf_add_char(out, '}');
}

/* ---- responses ---- */

#define LATE_MAX 64u
#define LOOKED_AT 65536u /* bytes that are kept for the search for secrets of the session */
#define DETAIL_BODY 200u
#define DETAIL_MESSAGE 2000u
#define SHOWN_MESSAGE (4u * CW_REMOTE_MESSAGE_MAX) /* of which one line is shown */

/* A text in the arena; if that is full, a constant one. */
#define TEXT(arena, ...) text_or(cw_arena_printf((arena), __VA_ARGS__))

static cw_str text_or(const char *text)
{
    return cw_str_from(text ? text : "The service could not be used.");
}

static void fail(cw_outcome *ret, cw_fault fault, cw_str message, cw_str detail)
{
    *ret = (cw_outcome){
        .kind = CW_OUTCOME_FAILED, .fault = fault, .message = message, .detail = detail};
}

/* A response, and the secrets that have to be removed from it. */
typedef struct response {
    const cw_protocol_opts *protocol;
    cw_str service;
    const cw_upstream_reply *reply;
    cw_arena *arena;
} response;

/* Text of the service without secrets; .p is NULL without memory. */
static cw_str hide(const response *j, cw_str text, size_t max)
{
    cw_str exposed = cw_secrets_hide_begin(j->protocol->secrets, text, max + LOOKED_AT, j->arena);
    return exposed.p ? cw_secrets_hide_begin(j->reply->session, exposed, max, j->arena) : exposed;
}

static void fail_nomem(cw_outcome *ret)
{
    fail(ret, CW_FAULT_NOMEM, CW_STR("There is not enough memory for the answer."), CW_STR(""));
}

/* ---- no response ---- */

static void parse_end(cw_str service, const cw_upstream_reply *reply, cw_arena *arena,
                      cw_outcome *ret)
{
    int n = (int)service.n;
    cw_str detail = TEXT(arena, "%s", reply->why);
    switch (reply->end) {
    case CW_CLIENT_CONNECT:
        fail(ret, CW_FAULT_UNAVAILABLE,
             TEXT(arena, "The service '%.*s' cannot be reached.", n, service.p), detail);
        return;
    case CW_CLIENT_LOST:
        fail(ret, CW_FAULT_DIED,
             TEXT(arena, "The service '%.*s' closed the connection without an answer.", n,
                  service.p),
             detail);
        return;
    case CW_CLIENT_SLOW:
        fail(ret, CW_FAULT_TIMEOUT,
             TEXT(arena, "The service '%.*s' did not begin to answer in time.", n, service.p),
             detail);
        return;
    case CW_CLIENT_TOO_LARGE:
        fail(ret, CW_FAULT_PROTOCOL,
             TEXT(arena, "The answer of the service '%.*s' is too large.", n, service.p), detail);
        return;
    case CW_CLIENT_REFUSED:
        fail(ret, CW_FAULT_UNAVAILABLE,
             TEXT(arena, "The service '%.*s' refuses our credentials.", n, service.p), detail);
        return;
    case CW_CLIENT_NOMEM:
        fail_nomem(ret);
        return;
    case CW_CLIENT_GARBAGE:
    case CW_CLIENT_OK:
        break;
    }
    fail(ret, CW_FAULT_PROTOCOL,
         TEXT(arena, "The service '%.*s' sent something that cannot be read.", n, service.p),
         detail);
}

/* ---- responses that are no JSON-RPC ---- */

const char *cw_dialect_auth_hint(const cw_protocol_opts *protocol, unsigned status)
{
    if (status != 401 && status != 403)
        return "";
    return protocol->has_credentials ? ": it refuses our credentials" : ": it asks for credentials";
}

static cw_str quote(const response *j, const char *reason)
{
    const cw_client_response *answer = j->reply->answer;
    cw_str begin = hide(j, answer->body, DETAIL_BODY);
    if (answer->status == 0)
        return TEXT(j->arena, "%s; the message begins with: %.*s", reason, CW_STR_ARG(begin));
    return TEXT(j->arena, "HTTP status %u, %s; the body begins with: %.*s", answer->status, reason,
                CW_STR_ARG(begin));
}

static void fail_protocol(const response *j, const char *reason, cw_outcome *ret)
{
    const cw_client_response *answer = j->reply->answer;
    cw_arena *arena = j->arena;
    cw_str service = j->service;
    cw_str detail = quote(j, reason);
    bool is_fine = answer->status == 0 || (answer->status >= 200 && answer->status < 300);
    if (is_fine) {
        fail(ret, CW_FAULT_PROTOCOL,
             TEXT(arena, "The service '%.*s' answered with something that is no JSON-RPC.",
                  CW_STR_ARG(service)),
             detail);
        return;
    }
    /* With these the service has not processed the request. With others it may have. */
    bool away = answer->status == 429 || answer->status == 503;
    fail(ret, away ? CW_FAULT_UNAVAILABLE : CW_FAULT_PROTOCOL,
         TEXT(arena, "The service '%.*s' answered with HTTP status %u%s.", CW_STR_ARG(service),
              answer->status, cw_dialect_auth_hint(j->protocol, answer->status)),
         detail);
}

/* ---- responses that are JSON-RPC ---- */

/* Whether a response belongs to an earlier request of the connection. If responses are matched by
 * exchange, ids need not match: some services always return 1. But the id of a recent request shows
 * that the connection is out of step. */
static bool is_late(const cw_protocol_opts *protocol, const member_values found, uint64_t id)
{
    const cw_json *v = found[MEMBER_ID];
    uint64_t got;
    return protocol->by_exchange && v && read_id(protocol, v, &got) && got < id &&
           id - got <= LATE_MAX;
}

/* NULL, or why the id does not match. */
static const char *check_id(const cw_protocol_opts *protocol, const cw_json *v, uint64_t id,
                            bool is_error)
{
    uint64_t got;
    if (protocol->by_exchange || (is_error && is_null(v)))
        return NULL;
    if (!v)
        return "no id";
    return read_id(protocol, v, &got) && got == id ? NULL : "the id of another request";
}

static bool says_error(const cw_dialect *d, const cw_json *error)
{
    if (d->errors != ERROR_WORD)
        return !is_null(error);
    return !cw_json_is(error, CW_JSON_STRING) || !cw_str_is(cw_json_text(error), "success");
}

static const char *check(const cw_protocol_opts *protocol, const cw_json *root,
                         const member_values found, uint64_t id)
{
    const cw_dialect *d = protocol->dialect;
    if (!cw_json_is(root, CW_JSON_OBJECT))
        return "not a JSON object";
    const cw_json *version = found[MEMBER_VERSION];
    if (d->version &&
        (!cw_json_is(version, CW_JSON_STRING) || !cw_str_is(cw_json_text(version), d->version)))
        return "not \"jsonrpc\":\"2.0\"";
    const cw_json *result = found[MEMBER_RESULT];
    const cw_json *error = found[MEMBER_ERROR];
    bool is_error = says_error(d, error);
    if (!is_error && !result)
        return "neither result nor error";
    if (d->errors == ERROR_WORD && !error)
        return "neither result nor error";
    if (is_error && d->is_exclusive && !is_null(result))
        return "both result and error";
    if (is_error && d->errors == ERROR_OBJECT) {
        const cw_json *code = cw_json_get(error, CW_STR("code"));
        int64_t number;
        if (!code || !cw_json_to_i64(code, &number))
            return "an error without a code";
    }
    return check_id(protocol, found[MEMBER_ID], id, is_error);
}

/* An error, in the terms of JSON-RPC 2.0. */
typedef struct said {
    int64_t code;
    cw_str message;
    const cw_json *data;
} said;

static cw_str text_of(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
}

/* Whether a message is a fixed text of the specification. Then the reason may be in `data`. */
static bool is_generic(cw_str message)
{
    static const char *const words[] = {"Parse Error",    "Invalid Request", "Method Not Found",
                                        "Invalid Params", "Internal Error",  "Server Error"};
    for (size_t i = 0; i < CW_COUNT(words); i++) {
        if (cw_str_ieq(message, cw_str_from(words[i])))
            return true;
    }
    return message.n == 0;
}

static void read_object(const cw_json *error, said *ret)
{
    const cw_json *code = cw_json_get(error, CW_STR("code"));
    ret->message = text_of(cw_json_get(error, CW_STR("message")));
    ret->data = cw_json_get(error, CW_STR("data"));
    if (code)
        cw_json_to_i64(code, &ret->code);
    if (is_generic(ret->message) && text_of(ret->data).n)
        ret->message = text_of(ret->data);
}

/* A dialect without a fixed form of errors: anything that looks like a message. */
static void read_any(const cw_json *error, said *ret)
{
    ret->code = -32000;
    if (!cw_json_is(error, CW_JSON_OBJECT)) {
        ret->message = text_of(error);
        ret->data = cw_json_is(error, CW_JSON_STRING) ? NULL : error;
        return;
    }
    static const char *const names[] = {"message", "details", "desc", "error", "name"};
    read_object(error, ret);
    for (size_t i = 0; i < CW_COUNT(names) && ret->message.n == 0; i++)
        ret->message = text_of(cw_json_get(error, cw_str_from(names[i])));
    if (!ret->data)
        ret->data = error;
}

static void read_error(const cw_dialect *d, const cw_json *error, said *ret)
{
    *ret = (said){.message = CW_STR("")};
    switch (d->errors) {
    case ERROR_OBJECT:
        read_object(error, ret);
        return;
    case ERROR_CLASS:
        ret->code = -32000;
        ret->message = text_of(cw_json_get(error, CW_STR("desc")));
        ret->data = cw_json_get(error, CW_STR("class"));
        return;
    case ERROR_ANY:
    case ERROR_WORD:
        read_any(error, ret);
        return;
    }
}

/* If data is dropped, its message is kept: Mopidy's message is "Application error", and its data has
 * the reason beside a traceback. */
static cw_str add_reason(const said *s, cw_arena *arena)
{
    cw_str reason = text_of(cw_json_get(s->data, CW_STR("message")));
    const char *both =
        reason.n ? cw_arena_printf(arena, "%.*s: %.*s", CW_STR_ARG(s->message), CW_STR_ARG(reason))
                 : NULL;
    if (!both)
        return s->message;
    return s->message.n ? cw_str_from(both) : reason;
}

/* The error of the service, for the log. If it has a secret, in any spelling, then only its message
 * with the secret replaced. */
static cw_str original_of(const response *j, const cw_json *error, const said *s)
{
    bool is_clean = cw_sanitize_has_no_secret(j->protocol->secrets, error) &&
                    cw_sanitize_has_no_secret(j->reply->session, error);
    if (!is_clean)
        return hide(j, s->message, DETAIL_MESSAGE);
    cw_str all = cw_json_span(error);
    return cw_str_make(all.p, all.n < DETAIL_MESSAGE ? all.n : DETAIL_MESSAGE);
}

/* The data that callers may see; NULL: none. */
static const cw_json *safe_data(const response *j, const cw_json *data)
{
    bool is_free = !is_null(data) && cw_sanitize_has_no_secret(j->protocol->secrets, data) &&
                   cw_sanitize_has_no_secret(j->reply->session, data);
    return is_free ? cw_sanitize_data(data, j->arena) : NULL;
}

static void parse_error(const response *j, const cw_json *error, cw_outcome *ret)
{
    said s;
    read_error(j->protocol->dialect, error, &s);
    const cw_json *data = safe_data(j, s.data);
    bool is_cut = !is_null(s.data) && data != s.data;
    if (is_cut)
        s.message = add_reason(&s, j->arena);
    cw_str message = hide(j, s.message, SHOWN_MESSAGE);
    if (message.p)
        message = cw_sanitize_message(message, j->arena);
    if (!message.p) {
        fail_nomem(ret);
        return;
    }
    bool is_changed = message.p != s.message.p || message.n != s.message.n;
    if (message.n == 0)
        message = TEXT(j->arena, "The service '%.*s' reported an error.", CW_STR_ARG(j->service));
    *ret = (cw_outcome){.kind = CW_OUTCOME_ERROR, .code = s.code, .message = message, .data = data};
    if (is_cut || is_changed)
        ret->detail = original_of(j, error, &s);
}

/* The body as a document that lives as long as the arena. */
static cw_code read_body(const response *j, const cw_json **ret, cw_err *err)
{
    cw_parsed_message *message = j->reply->message;
    if (message) {
        *ret = message->root;
        cw_code rc = cw_parsed_message_hold(message, j->arena);
        return rc ? cw_arena_fail(j->arena, err) : CW_OK;
    }
    cw_str body = cw_arena_dup_str(j->arena, j->reply->answer->body);
    const cw_json_opts opts = {.max_bytes = body.n + 1}; /* the client has checked its size */
    return body.p ? cw_json_read(body, &opts, j->arena, ret, NULL, err)
                  : cw_arena_fail(j->arena, err);
}

void cw_dialect_parse_response(const cw_protocol_opts *protocol, cw_str service, uint64_t id,
                               const cw_upstream_reply *reply, cw_arena *arena, cw_outcome *ret)
{
    const response j = {protocol, service, reply, arena};
    const cw_client_response *answer = reply->answer;
    if (reply->end != CW_CLIENT_OK) {
        parse_end(service, reply, arena, ret);
        return;
    }
    cw_err err;
    const cw_json *root = NULL;
    cw_code rc = read_body(&j, &root, &err);
    if (rc == CW_NOMEM) {
        fail_nomem(ret);
        return;
    }
    member_values found;
    find_members(protocol->dialect, root, found);
    const char *wrong = rc ? err.msg : check(protocol, root, found, id);
    bool is_fine = answer->status < 300;
    if (answer->is_spoiled && ((wrong && is_fine) || (!wrong && is_late(protocol, found, id))))
        *answer->is_spoiled = true;
    if (wrong) {
        fail_protocol(&j, wrong, ret);
        return;
    }
    const cw_json *error = found[MEMBER_ERROR];
    if (says_error(protocol->dialect, error))
        parse_error(&j, error, ret);
    else
        *ret = (cw_outcome){.kind = CW_OUTCOME_RESULT, .result = found[MEMBER_RESULT]};
}
