/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rpc_message.c - the media type and the writing of JSON-RPC messages. */
#include "door/rpc_message.h"

#include "door/authenticate.h"
#include "json/write.h"

bool cw_rpc_is_json(const cw_http_req *req)
{
    cw_str rest;
    cw_str field = cw_http_req_content_type(req);
    if (CW_LIKELY(field.p && cw_str_eq(field, CW_STR("application/json"))))
        return true;
    return field.p &&
           cw_str_ieq(cw_str_trim(cw_str_cut(field, ';', &rest)), CW_STR("application/json"));
}

/* The specification's message for one of its codes, else "Server error". */
static cw_str text_of(int64_t code)
{
    switch (code) {
    case CW_RPC_PARSE:
        return CW_STR("Parse error");
    case CW_RPC_INVALID:
        return CW_STR("Invalid Request");
    case CW_RPC_METHOD:
        return CW_STR("Method not found");
    case CW_RPC_PARAMS:
        return CW_STR("Invalid params");
    case CW_RPC_INTERNAL:
        return CW_STR("Internal error");
    default:
        return CW_STR("Server error");
    }
}

#define OPEN_RESULT "{\"jsonrpc\":\"2.0\",\"result\":"
#define OPEN_ID ",\"id\":"

void cw_rpc_open_result(cw_buf *out)
{
    cw_buf_add(out, CW_STR(OPEN_RESULT));
}

bool cw_rpc_result_of(cw_str message, cw_str id, cw_str *ret)
{
    size_t head = sizeof OPEN_RESULT - 1, tail = sizeof OPEN_ID - 1 + id.n + 1;
    if (message.n <= head + tail || !cw_str_starts(message, CW_STR(OPEN_RESULT)))
        return false;
    *ret = cw_str_make(message.p + head, message.n - head - tail);
    return true;
}

void cw_rpc_close(cw_buf *out, cw_str id)
{
    if (id.p) {
        cw_buf_add(out, CW_STR(OPEN_ID));
        cw_buf_add(out, id);
    }
    cw_buf_add_char(out, '}');
}

void cw_rpc_add_returned(cw_buf *out, const cw_outcome *outcome)
{
    bool is_content = outcome->content && cw_json_is(outcome->result, CW_JSON_NULL);
    cw_str span = cw_json_span(is_content ? outcome->content : outcome->result);
    if (is_content)
        cw_buf_add(out, CW_STR("{\"content\":"));
    cw_buf_add(out, span);
    if (is_content)
        cw_buf_add_char(out, '}');
}

static bool is_small(char c)
{
    return c >= 'a' && c <= 'z';
}

/* Whether the text begins with a plain word, "Missing …", and not with a name, "Content-Type …". */
static bool begins_with_word(cw_str text)
{
    size_t i = 1;
    if (!text.n || text.p[0] < 'A' || text.p[0] > 'Z')
        return false;
    while (i < text.n && is_small(text.p[i]))
        i++;
    return i < text.n && text.p[i] == ' ';
}

void cw_rpc_add_reason(cw_buf *out, cw_str text)
{
    if (begins_with_word(text)) {
        cw_buf_add_char(out, (char)(text.p[0] | 0x20));
        text = cw_str_make(text.p + 1, text.n - 1);
    }
    cw_buf_add(out, text);
}

static void open_error(cw_buf *out, int64_t code, cw_str message)
{
    cw_buf_add(out, CW_STR("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":"));
    cw_buf_add_i64(out, code);
    cw_buf_add(out, CW_STR(",\"message\":"));
    cw_json_escape(out, message);
}

cw_str cw_rpc_error_detail(const cw_outcome *outcome)
{
    if (!outcome->data || !cw_json_is(outcome->data, CW_JSON_STRING))
        return CW_STR("");
    cw_str text = cw_json_text(outcome->data);
    return cw_str_starts(text, outcome->message) ? CW_STR("") : text;
}

void cw_rpc_error(cw_buf *out, int64_t code, cw_str message, cw_str data, cw_str id)
{
    open_error(out, code, message);
    if (data.n) {
        cw_buf_add(out, CW_STR(",\"data\":"));
        cw_buf_add(out, data);
    }
    cw_buf_add_char(out, '}');
    cw_rpc_close(out, id);
}

static bool is_standard(int64_t code)
{
    return code == CW_RPC_PARSE || (code >= CW_RPC_INTERNAL && code <= CW_RPC_INVALID);
}

void cw_rpc_explain(cw_buf *out, int64_t code, cw_str text, cw_str id)
{
    cw_buf message, data;
    if (!is_standard(code)) {
        cw_rpc_error(out, code, text, CW_STR(""), id);
        return;
    }
    cw_buf_init(&message, CW_BUF_MAX);
    cw_buf_init(&data, CW_BUF_MAX);
    cw_buf_add(&message, text_of(code));
    if (text.n) {
        cw_buf_add(&message, CW_STR(": "));
        cw_rpc_add_reason(&message, text);
        cw_json_escape(&data, text);
    }
    cw_rpc_error(out, code, cw_buf_str(&message), cw_buf_str(&data), id);
    if (!out->code)
        out->code = message.code ? message.code : data.code;
    cw_buf_done(&message);
    cw_buf_done(&data);
}

void cw_rpc_fail(cw_buf *out, int64_t code, cw_str text, cw_str id)
{
    open_error(out, code, text_of(code));
    if (text.n) {
        cw_buf_add(out, CW_STR(",\"data\":"));
        cw_json_escape(out, text);
    }
    cw_buf_add_char(out, '}');
    cw_rpc_close(out, id);
}
