/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_frames.c - requests and answers of a plugin host as bytes (docs/plugin-protocol.md).
 *
 * Params, caller and the fixed part of each method are copied once, into the
 * socket's buffer; an answer is copied once, into the call's arena, and read there.
 */
#include <math.h>
#include <stdio.h>

#include "source/plugin_int.h"

#define NOTICE "{\"jsonrpc\":\"2.0\",\"method\":\"$/"
#define STARTED NOTICE "started\"}"

/* Decimal digits of `value`, at the end of `out`. */
static cw_str digits(uint64_t value, char out[20])
{
    size_t at = 20;
    do {
        out[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return cw_str_make(out + at, 20 - at);
}

cw_code cw_plugin_send_call(cw_worker *w, uint64_t id, const cw_source_call *call)
{
    char number[20];
    cw_str pieces[8];
    size_t n = 0;
    pieces[n++] = CW_STR("{\"jsonrpc\":\"2.0\",\"id\":");
    pieces[n++] = digits(id, number);
    pieces[n++] = w->plugin->heads[call->method->index];
    pieces[n++] = call->params.n ? call->params : CW_STR("{}");
    if (call->caller) {
        pieces[n++] = CW_STR(",\"caller\":");
        pieces[n++] = cw_caller_json(call->caller);
    }
    pieces[n++] = call->wants_progress ? CW_STR(",\"progress\":true}") : CW_STR("}");
    return cw_frames_send(&w->frames, id, pieces, n);
}

void cw_plugin_send_cancel(cw_worker *w, uint64_t id)
{
    cw_str body = CW_STR("{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel\"}");
    /* Without memory for it the call just runs on, and the grace period ends it. */
    cw_code rc = cw_frames_send(&w->frames, id, &body, 1);
    (void)rc;
}

cw_code cw_plugin_send_discover(cw_worker *w, uint64_t id)
{
    char number[20];
    cw_str pieces[] = {
        CW_STR("{\"jsonrpc\":\"2.0\",\"id\":"),
        digits(id, number),
        CW_STR(",\"method\":\"rpc.discover\"}"),
    };
    return cw_frames_send(&w->frames, id, pieces, CW_COUNT(pieces));
}

bool cw_plugin_is_notice(cw_str body)
{
    return body.n > sizeof NOTICE && memcmp(body.p, NOTICE, sizeof NOTICE - 1) == 0;
}

static bool read_error(const cw_json *error, cw_outcome *ret)
{
    const cw_json *message = cw_json_get(error, CW_STR("message"));
    const cw_json *code = cw_json_get(error, CW_STR("code"));
    *ret = (cw_outcome){.kind = CW_OUTCOME_ERROR, .data = cw_json_get(error, CW_STR("data"))};
    if (!code || !cw_json_to_i64(code, &ret->code) || !cw_json_is(message, CW_JSON_STRING))
        return false;
    ret->message = cw_json_text(message);
    return true;
}

cw_code cw_plugin_read_answer(cw_str body, cw_arena *arena, cw_outcome *ret)
{
    char *copy = cw_arena_alloc(arena, body.n);
    if (!copy)
        return cw_arena_code(arena);
    if (body.n)
        memcpy(copy, body.p, body.n);
    const cw_json *root;
    cw_json_opts opts = {.max_bytes = body.n + 1};
    cw_code rc = cw_json_read(cw_str_make(copy, body.n), &opts, arena, &root, NULL, NULL);
    if (rc)
        return rc;
    const cw_json *result = cw_json_get(root, CW_STR("result"));
    if (result) {
        *ret = (cw_outcome){.kind = CW_OUTCOME_RESULT, .result = result};
        return CW_OK;
    }
    const cw_json *error = cw_json_get(root, CW_STR("error"));
    return error && read_error(error, ret) ? CW_OK : CW_PARSE;
}

static bool tell_progress(const cw_source_call *call, const cw_json *params)
{
    const cw_json *done = cw_json_get(params, CW_STR("progress"));
    const cw_json *total = cw_json_get(params, CW_STR("total"));
    const cw_json *message = cw_json_get(params, CW_STR("message"));
    cw_progress progress = {.total = (double)NAN};
    if (!done || !cw_json_to_double(done, &progress.progress))
        return false;
    if (total && !cw_json_to_double(total, &progress.total))
        return false;
    if (cw_json_is(message, CW_JSON_STRING))
        progress.message = cw_json_text(message);
    if (call && call->wants_progress)
        call->sink->ops->progress(call->sink, &progress);
    return true;
}

static bool tell_log(const cw_source_call *call, const cw_json *params)
{
    const cw_json *name = cw_json_get(params, CW_STR("level"));
    const cw_json *message = cw_json_get(params, CW_STR("message"));
    cw_log_level level;
    if (!cw_json_is(message, CW_JSON_STRING) || !cw_json_is(name, CW_JSON_STRING) ||
        !cw_log_level_parse(cw_json_text(name), &level))
        return false;
    if (call && level != CW_LOG_OFF)
        call->sink->ops->log(call->sink, level, cw_json_text(message));
    return true;
}

cw_code cw_plugin_read_notice(cw_str body, const cw_source_call *call, cw_arena *arena)
{
    /* The most frequent one says nothing that the order of the answers does not. */
    if (cw_str_eq(body, CW_STR(STARTED)))
        return CW_OK;
    cw_arena_reset(arena);
    const cw_json *root;
    cw_code rc = cw_json_read(body, NULL, arena, &root, NULL, NULL);
    if (rc)
        return rc == CW_PARSE ? rc : CW_OK; /* one report less */
    const cw_json *method = cw_json_get(root, CW_STR("method"));
    const cw_json *params = cw_json_get(root, CW_STR("params"));
    cw_str name = method ? cw_json_text(method) : CW_STR("");
    if (cw_str_is(name, "$/progress"))
        return tell_progress(call, params) ? CW_OK : CW_PARSE;
    if (cw_str_is(name, "$/log"))
        return tell_log(call, params) ? CW_OK : CW_PARSE;
    return CW_PARSE;
}
