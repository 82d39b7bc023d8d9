/* SPDX-License-Identifier: GPL-2.0-or-later */
/* result.c - writes the result of a method into its answer.
 *
 * The JSON writer asserts that it is used well; a plugin is not trusted to do so.
 * Each put asks first (may_put), and the first mistake is remembered: the call is
 * answered with an internal error then and the log says why.
 */
#include <stdarg.h>
#include <stdio.h>

#include "host/call.h"

#define DATA ",\"data\":"
#define DEPTH_SAFE 32u /* certainly within what the other side reads */

static bool in_object(const cw_json_writer *w)
{
    uint32_t level = w->depth - 1;
    return w->depth > 0 && (w->is_object[level / 64] >> (level % 64) & 1);
}

/* Whether a value may be put now; its key is written then. */
static bool may_put(cw_call *call, const char *key)
{
    cw_json_writer *w = &call->w;
    if (call->misuse || w->code || w->out->code)
        return false;
    if (call->complete && !call->has_error)
        cw_call_misuse(call, "a completion adds values and puts nothing");
    else if (in_object(w) && !key)
        cw_call_misuse(call, "a value without a key was put into an object");
    else if (!in_object(w) && key)
        cw_call_misuse(call, w->depth ? "a value with a key was put into an array"
                                      : "a value with a key was put outside of an object");
    else if (w->depth == 0 && w->need_comma)
        cw_call_misuse(call, "a second result was put");
    if (call->misuse)
        return false;
    if (key) {
        cw_json_add_key(w, cw_str_from(key));
        call->needs_check = true;
    }
    return true;
}

static void open_answer(cw_call *call)
{
    cw_buf *out = &call->wire->out;
    out->n = call->start;
    out->code = CW_OK;
    call->misuse = NULL;
    call->needs_check = false;
    cw_wire_open_frame(out, call->id);
    cw_buf_add(out, CW_STR("{\"jsonrpc\":\"2.0\",\"id\":"));
    cw_json_writer_init(&call->w, out, CW_JSON_COMPACT);
    cw_json_add_u64(&call->w, call->id);
}

static void open_value(cw_call *call)
{
    cw_json_writer_init(&call->w, &call->wire->out, CW_JSON_COMPACT);
    call->value = call->wire->out.n;
}

static void open_error(cw_call *call, int code, cw_str message)
{
    open_answer(call);
    cw_buf *out = &call->wire->out;
    cw_buf_add(out, CW_STR(",\"error\":{\"code\":"));
    open_value(call);
    cw_json_add_i64(&call->w, code);
    cw_buf_add(out, CW_STR(",\"message\":"));
    cw_json_escape(out, message);
    cw_buf_add(out, CW_STR(DATA));
    open_value(call);
    call->has_error = true;
}

/* Answer with an error that is ours. */
static void replace(cw_call *call, int code, cw_str message, cw_str data)
{
    call->wire->out.n = call->start;
    call->wire->out.code = CW_OK;
    cw_call_refuse(call->wire, call->id, code, message, data);
}

/* The blocks beside the result, if there are any. */
static void add_content(cw_call *call)
{
    const cw_buf *content = &call->wire->content;
    cw_buf *out = &call->wire->out;
    if (content->code)
        out->code = content->code;
    if (!call->has_block)
        return;
    cw_buf_add(out, CW_STR(",\"content\":["));
    cw_buf_add(out, cw_buf_str(content));
    cw_buf_add(out, CW_STR("}]"));
}

static void close_answer(cw_call *call)
{
    cw_buf *out = &call->wire->out;
    bool is_empty = out->n == call->value;
    if (out->code)
        return;
    if (call->has_error && is_empty)
        out->n -= sizeof(DATA) - 1;
    else if (is_empty)
        cw_buf_add(out, CW_STR("null"));
    if (!call->has_error)
        add_content(call);
    cw_buf_add_bytes(out, "}}", call->has_error ? 2 : 1);
    cw_wire_close_frame(out, call->start);
}

/* Drop the data of an error, which cannot be sent. */
static void drop_data(cw_call *call)
{
    cw_buf *out = &call->wire->out;
    out->n = call->value;
    out->code = CW_OK;
    close_answer(call);
}

/* A text that names the error in writing the value, or NULL. */
static const char *find_misuse(const cw_call *call)
{
    if (call->misuse)
        return call->misuse;
    if (call->w.code == CW_LIMIT && !call->wire->out.code)
        return "nested too deep";
    if (call->w.depth > 0 && !call->wire->out.code)
        return in_object(&call->w) ? "an object was not closed" : "an array was not closed";
    return NULL;
}

/* Duplicate keys, or a depth that the other side does not read: only reading tells. */
static cw_code check_answer(cw_call *call, cw_err *err)
{
    const cw_buf *out = &call->wire->out;
    size_t body = call->start + CW_WIRE_HEAD;
    if (out->code == CW_NOMEM)
        return CW_NOMEM;
    if (out->code || out->n - body > call->wire->max_body)
        return CW_LIMIT;
    if (!call->needs_check)
        return CW_OK;
    const cw_json *root;
    const cw_json_opts opts = {.max_bytes = call->wire->max_body};
    cw_str text = cw_str_make(out->p + body, out->n - body);
    cw_code rc = cw_json_read(text, &opts, call->arena, &root, NULL, err);
    return rc == CW_OK || rc == CW_NOMEM ? rc : CW_PARSE;
}

static void answer_failure(cw_call *call, cw_code rc)
{
    if (rc == CW_NOMEM) {
        replace(call, CW_ERROR_INTERNAL, CW_STR("out of memory"), (cw_str){0});
        return;
    }
    if (rc == CW_LIMIT) {
        char text[64];
        int n =
            snprintf(text, sizeof(text), "result is larger than %zu bytes", call->wire->max_body);
        replace(call, CW_ERROR_INTERNAL, cw_str_make(text, (size_t)n), (cw_str){0});
        return;
    }
    replace(call, CW_ERROR_INTERNAL, CW_STR("Internal error"), (cw_str){0});
}

/* The answer of a method that waits for the client. Its results are dropped, because it is run again. */
static cw_code answer_questions(cw_call *call, cw_err *err)
{
    cw_buf *out = &call->wire->out;
    open_answer(call);
    cw_buf_add_char(out, ',');
    cw_ask_write(call, out);
    cw_buf_add_char(out, '}');
    cw_wire_close_frame(out, call->start);
    call->needs_check = true;
    return check_answer(call, err);
}

static void finish(cw_call *call)
{
    cw_err err;
    if (call->bad_args && !call->has_error) {
        replace(call, CW_ERROR_PARAMS, CW_STR("Invalid params"), cw_str_from(call->bad_args));
        return;
    }
    bool waits = call->questions && !call->has_error;
    const char *misuse = waits ? call->misuse : find_misuse(call);
    cw_code rc = CW_PARSE;
    if (!misuse && waits && call->wire->out.code != CW_NOMEM) {
        rc = answer_questions(call, &err);
        misuse = rc == CW_PARSE ? err.msg : NULL;
    } else if (!misuse) {
        close_answer(call);
        rc = check_answer(call, &err);
        misuse = rc == CW_PARSE ? err.msg : NULL;
    }
    if (misuse)
        cw_report_problem(call, misuse);
    if (misuse && call->has_error)
        drop_data(call);
    else if (rc)
        answer_failure(call, rc);
}

void cw_call_open(cw_call *call)
{
    cw_buf_clear(&call->wire->content);
    call->start = call->wire->out.n;
    call->wire->answer = call->start;
    call->wire->is_answering = true;
    open_answer(call);
    cw_buf_add(&call->wire->out, CW_STR(",\"result\":"));
    open_value(call);
}

void cw_call_finish(cw_call *call)
{
    finish(call);
    cw_buf_clear(&call->wire->content);
    call->wire->is_answering = false;
}

void cw_call_misuse(cw_call *call, const char *what)
{
    /* Without memory texts are empty and addresses missing: that is not an error of the plugin. */
    if (!call->misuse && call->wire->out.code != CW_NOMEM)
        call->misuse = what;
}

const cw_json *cw_call_read(cw_call *call, const char *json, const char *what)
{
    const cw_json *root;
    cw_err err;
    const cw_json_opts opts = {.max_bytes = call->wire->max_body};
    cw_code rc = cw_json_read(cw_str_from(json), &opts, call->arena, &root, NULL, &err);
    if (!rc)
        return root;
    if (rc == CW_NOMEM) {
        call->wire->out.code = CW_NOMEM;
        return NULL;
    }
    const char *text = cw_arena_printf(call->arena, "%s: %s", what, err.msg);
    cw_call_misuse(call, text ? text : "JSON that is not valid");
    return NULL;
}

void cw_call_refuse(cw_wire *wire, uint64_t id, int code, cw_str message, cw_str data)
{
    cw_buf *out = &wire->out;
    size_t start = cw_wire_open_frame(out, id);
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("jsonrpc"), CW_STR("2.0"));
    cw_json_add_key(&w, CW_STR("id"));
    cw_json_add_u64(&w, id);
    cw_json_add_key(&w, CW_STR("error"));
    cw_json_open_object(&w);
    cw_json_add_i64_member(&w, CW_STR("code"), code);
    cw_json_add_string_member(&w, CW_STR("message"), message);
    if (data.p)
        cw_json_add_string_member(&w, CW_STR("data"), data);
    cw_json_close(&w);
    cw_json_close(&w);
    cw_wire_close_frame(out, start);
}

void cw_open_object(cw_call *call, const char *key)
{
    if (!may_put(call, key))
        return;
    cw_json_open_object(&call->w);
    call->needs_check |= call->w.depth > DEPTH_SAFE;
}

void cw_open_array(cw_call *call, const char *key)
{
    if (!may_put(call, key))
        return;
    cw_json_open_array(&call->w);
    call->needs_check |= call->w.depth > DEPTH_SAFE;
}

void cw_close(cw_call *call)
{
    if (call->misuse || call->w.code || call->w.out->code)
        return;
    bool is_ours = call->complete && !call->has_error;
    if (call->w.depth == 0 || is_ours)
        cw_call_misuse(call, "closed more than was opened");
    else
        cw_json_close(&call->w);
}

void cw_put_text(cw_call *call, const char *key, const char *text)
{
    if (!text)
        cw_put_null(call, key);
    else
        cw_put_string(call, key, text, strlen(text));
}

void cw_put_string(cw_call *call, const char *key, const char *p, size_t n)
{
    if (may_put(call, key))
        cw_json_add_string(&call->w, cw_str_make(p, n));
}

void cw_put_format(cw_call *call, const char *key, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = cw_arena_vprintf(call->arena, fmt, args);
    va_end(args);
    if (!text)
        call->wire->out.code = CW_NOMEM;
    else
        cw_put_text(call, key, text);
}

void cw_put_int(cw_call *call, const char *key, int64_t value)
{
    if (may_put(call, key))
        cw_json_add_i64(&call->w, value);
}

void cw_put_double(cw_call *call, const char *key, double value)
{
    if (may_put(call, key))
        cw_json_add_double(&call->w, value);
}

void cw_put_bool(cw_call *call, const char *key, bool value)
{
    if (may_put(call, key))
        cw_json_add_bool(&call->w, value);
}

void cw_put_null(cw_call *call, const char *key)
{
    if (may_put(call, key))
        cw_json_add_null(&call->w);
}

/* Read on its own, so that no text can close what it did not open. */
void cw_put_json(cw_call *call, const char *key, const char *json)
{
    const cw_json *root = cw_call_read(call, json, "JSON that was put");
    if (root && may_put(call, key)) {
        cw_json_add_span(&call->w, cw_json_span(root));
        call->needs_check = true;
    }
}

void cw_put_value(cw_call *call, const char *key, const cw_value *value)
{
    if (!value)
        cw_put_null(call, key);
    else if (may_put(call, key)) {
        cw_json_add_span(&call->w, cw_json_span((const cw_json *)(const void *)value));
        call->needs_check = true;
    }
}

void cw_error(cw_call *call, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = cw_arena_vprintf(call->arena, fmt, args);
    va_end(args);
    open_error(call, code, text ? cw_str_from(text) : CW_STR("out of memory"));
}

bool cw_call_has_failed(const cw_call *call)
{
    return call->has_error || call->bad_args || call->misuse || call->wire->out.code ||
           call->wire->content.code;
}
