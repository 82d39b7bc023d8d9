/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dialect.c - the table, requests as bytes, and what a message of a stream is. */
#include "base/digits.h"
#include "json/write.h"
#include "source/protocol/dialect_int.h"

/* In the order of cw_member. */
#define NAMES(id, result, error, version, method, event, greeting)                                 \
    {                                                                                              \
        CW_STR_INIT(id), CW_STR_INIT(result), CW_STR_INIT(error), version, CW_STR_INIT(method),    \
            event, greeting                                                                        \
    }
#define VERSION CW_STR_INIT("jsonrpc")

static const cw_dialect dialects[] = {
    {.name = "2.0",
     .version = "2.0",
     .names = NAMES("id", "result", "error", VERSION, "method", CW_MEMBER_NONE, CW_MEMBER_NONE),
     .params = "params",
     .errors = CW_ERROR_OBJECT,
     .is_exclusive = true},
    {.name = "1.0",
     .names =
         NAMES("id", "result", "error", CW_MEMBER_NONE, "method", CW_MEMBER_NONE, CW_MEMBER_NONE),
     .params = "params",
     .errors = CW_ERROR_ANY,
     .needs_params = true},
    {.name = "qmp",
     .names = NAMES("id", "return", "error", CW_MEMBER_NONE, "execute", CW_STR_INIT("event"),
                    CW_STR_INIT("QMP")),
     .params = "arguments",
     .errors = CW_ERROR_CLASS},
    {.name = "transmission",
     .names = NAMES("tag", "arguments", "result", CW_MEMBER_NONE, "method", CW_MEMBER_NONE,
                    CW_MEMBER_NONE),
     .params = "arguments",
     .errors = CW_ERROR_WORD},
};

const cw_dialect *cw_dialect_find(cw_str name)
{
    for (size_t i = 0; i < CW_COUNT(dialects); i++) {
        if (cw_str_is(name, dialects[i].name))
            return &dialects[i];
    }
    return NULL;
}

const char *cw_dialect_names(void)
{
    return "2.0, 1.0, qmp, transmission";
}

/* ---- out ---- */

cw_code cw_request_template_make(const cw_protocol_opts *protocol, cw_str method, cw_arena *arena,
                                 cw_request_template *ret, cw_err *err)
{
    const cw_dialect *d = protocol->dialect;
    CW_CLEANUP(cw_buf_done) cw_buf b;
    cw_buf_init(&b, 6 * method.n + 128);
    cw_buf_printf(&b, ",\"%.*s\":", CW_STR_ARG(d->names[CW_MEMBER_METHOD]));
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

/* {"jsonrpc":"2.0","id":7 without what follows; the texts of the table are short. */
static size_t write_head(const cw_protocol_opts *protocol, uint64_t id,
                         char room[CW_REQUEST_TEMPLATE_ROOM])
{
    const cw_dialect *d = protocol->dialect;
    char digits[CW_DIGITS_SIZE];
    cw_str number = cw_digits_u64(id, digits);
    cw_str quote = protocol->string_ids ? CW_STR("\"") : CW_STR("");
    const cw_str parts[] = {
        CW_STR("{"),   d->version ? CW_STR("\"jsonrpc\":\"2.0\",") : CW_STR(""),
        CW_STR("\""),  d->names[CW_MEMBER_ID],
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

/* The method's text begins with a comma, which now has nothing before it but, in one dialect, the
 * version, and in another an id that is null. */
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

/* ---- in ---- */

bool cw_dialect_is_null(const cw_json *v)
{
    return !v || cw_json_is(v, CW_JSON_NULL);
}

bool cw_dialect_id(const cw_protocol_opts *protocol, const cw_json *v, uint64_t *ret)
{
    if (protocol->string_ids)
        return cw_json_is(v, CW_JSON_STRING) && cw_str_to_u64(cw_json_text(v), ret);
    const uint32_t other = CW_JSON_FRACTION | CW_JSON_EXPONENT | CW_JSON_NEGATIVE;
    if (CW_LIKELY(cw_json_is(v, CW_JSON_NUMBER) && !(v->meta & other))) /* as we sent it */
        return cw_str_to_u64(cw_json_text(v), ret);
    return v && cw_json_to_u64(v, ret);
}

void cw_dialect_find_members(const cw_dialect *d, const cw_json *message, cw_member_values ret)
{
    cw_json_get_all(message, d->names, CW_MEMBERS, ret);
}

static bool is_text(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_STRING);
}

static void classify_call(const cw_dialect *d, const cw_json *message, const cw_member_values found,
                          cw_incoming *ret)
{
    const cw_json *event = found[CW_MEMBER_EVENT];
    ret->method = cw_json_text(is_text(event) ? event : found[CW_MEMBER_METHOD]);
    ret->params = cw_json_get(message, cw_str_from(d->params));
    ret->request_id = found[CW_MEMBER_ID];
    ret->kind =
        cw_dialect_is_null(ret->request_id) ? CW_INCOMING_NOTIFICATION : CW_INCOMING_REQUEST;
}

void cw_dialect_classify(const cw_protocol_opts *protocol, const cw_json *message, cw_incoming *ret)
{
    const cw_dialect *d = protocol->dialect;
    *ret = (cw_incoming){.kind = CW_INCOMING_INVALID, .why = "not a JSON object"};
    if (!cw_json_is(message, CW_JSON_OBJECT))
        return;
    cw_member_values found;
    cw_dialect_find_members(d, message, found);
    const cw_json *id = found[CW_MEMBER_ID];
    bool is_answer = found[CW_MEMBER_RESULT] || found[CW_MEMBER_ERROR];
    bool is_call = is_text(found[CW_MEMBER_EVENT]) || is_text(found[CW_MEMBER_METHOD]);
    if (found[CW_MEMBER_GREETING]) {
        ret->kind = CW_INCOMING_GREETING;
    } else if (is_call && !is_answer) {
        classify_call(d, message, found, ret);
    } else if (!is_answer) {
        ret->why = "neither an answer nor a call";
    } else if (cw_dialect_is_null(id)) {
        ret->kind = CW_INCOMING_ERROR_WITHOUT_ID;
    } else if (cw_dialect_id(protocol, id, &ret->id)) {
        ret->kind = CW_INCOMING_RESPONSE;
    } else {
        ret->why = "an answer with an id that is none of ours";
    }
}

void cw_dialect_reply(const cw_protocol_opts *protocol, const cw_json *request_id, cw_str result,
                      cw_buf *out)
{
    const cw_dialect *d = protocol->dialect;
    cw_str result_name = d->names[CW_MEMBER_RESULT], error_name = d->names[CW_MEMBER_ERROR];
    cw_buf_add_char(out, '{');
    if (d->version)
        cw_buf_add(out, CW_STR("\"jsonrpc\":\"2.0\","));
    cw_buf_printf(out, "\"%.*s\":", CW_STR_ARG(d->names[CW_MEMBER_ID]));
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
