/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remote_answer.c - what a service answered, as the outcome of a call. */
#include "source/remote_int.h"

#define DETAIL_BODY 200u
#define DETAIL_MESSAGE 2000u

/* Texts in the arena; where it is full, one that needs no memory. */
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

static void fail_nomem(cw_outcome *ret)
{
    fail(ret, CW_FAULT_NOMEM, CW_STR("There is not enough memory for the answer."), CW_STR(""));
}

/* ---- no answer ---- */

static void judge_end(cw_str service, const cw_remote_reply *reply, cw_arena *arena,
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
    case CW_CLIENT_NOMEM:
        fail_nomem(ret);
        return;
    case CW_CLIENT_GARBAGE:
    case CW_CLIENT_OK:
        break;
    }
    fail(ret, CW_FAULT_PROTOCOL,
         TEXT(arena, "The service '%.*s' answered with something that is no HTTP.", n, service.p),
         detail);
}

/* ---- an answer that is no JSON-RPC ---- */

static cw_str quote(const cw_client_answer *answer, const char *reason, cw_arena *arena)
{
    size_t n = answer->body.n < DETAIL_BODY ? answer->body.n : DETAIL_BODY;
    return TEXT(arena, "HTTP status %u, %s; the body begins with: %.*s", answer->status, reason,
                (int)n, answer->body.p);
}

static void fail_protocol(cw_str service, const cw_client_answer *answer, const char *reason,
                          cw_arena *arena, cw_outcome *ret)
{
    cw_str detail = quote(answer, reason, arena);
    if (answer->status >= 200 && answer->status < 300) {
        fail(ret, CW_FAULT_PROTOCOL,
             TEXT(arena, "The service '%.*s' answered with something that is no JSON-RPC 2.0.",
                  CW_STR_ARG(service)),
             detail);
        return;
    }
    /* These say that it did not look at the request; the others leave that open. */
    bool away = answer->status == 429 || answer->status == 503;
    fail(ret, away ? CW_FAULT_UNAVAILABLE : CW_FAULT_PROTOCOL,
         TEXT(arena, "The service '%.*s' answered with HTTP status %u.", CW_STR_ARG(service),
              answer->status),
         detail);
}

/* ---- an answer ---- */

static bool is_null(const cw_json *v)
{
    return !v || cw_json_is(v, CW_JSON_NULL);
}

/* NULL, or what is wrong. */
static const char *check_id(const cw_json *root, uint64_t id, bool is_error)
{
    const cw_json *v = cw_json_get(root, CW_STR("id"));
    uint64_t got;
    if (is_error && is_null(v))
        return NULL;
    if (!v)
        return "no id";
    return cw_json_to_u64(v, &got) && got == id ? NULL : "the id of another request";
}

static const char *check(const cw_json *root, uint64_t id)
{
    if (!cw_json_is(root, CW_JSON_OBJECT))
        return "not a JSON object";
    const cw_json *version = cw_json_get(root, CW_STR("jsonrpc"));
    if (!cw_json_is(version, CW_JSON_STRING) || !cw_str_is(cw_json_text(version), "2.0"))
        return "not \"jsonrpc\":\"2.0\"";
    const cw_json *result = cw_json_get(root, CW_STR("result"));
    const cw_json *error = cw_json_get(root, CW_STR("error"));
    bool is_error = !is_null(error);
    if (!is_error && !result)
        return "neither result nor error";
    if (is_error && !is_null(result))
        return "both result and error";
    const cw_json *code = cw_json_get(error, CW_STR("code"));
    int64_t number;
    if (is_error && !(code && cw_json_to_i64(code, &number)))
        return "an error without a code";
    return check_id(root, id, is_error);
}

static void judge_error(cw_str service, const cw_json *error, cw_arena *arena, cw_outcome *ret)
{
    const cw_json *text = cw_json_get(error, CW_STR("message"));
    const cw_json *data = cw_json_get(error, CW_STR("data"));
    cw_str original = cw_json_is(text, CW_JSON_STRING) ? cw_json_text(text) : CW_STR("");
    cw_str message = cw_remote_scrub_message(original, arena);
    if (!message.p) {
        fail_nomem(ret);
        return;
    }
    if (message.n == 0)
        message = TEXT(arena, "The service '%.*s' reported an error.", CW_STR_ARG(service));
    bool drop = data && !cw_remote_is_fit(data);
    *ret = (cw_outcome){
        .kind = CW_OUTCOME_ERROR, .message = message, .data = drop || is_null(data) ? NULL : data};
    cw_json_to_i64(cw_json_get(error, CW_STR("code")), &ret->code);
    if (drop || message.p != original.p || message.n != original.n)
        ret->detail = cw_json_span(error);
    if (ret->detail.n > DETAIL_MESSAGE)
        ret->detail.n = DETAIL_MESSAGE;
}

void cw_remote_judge(cw_str service, uint64_t id, const cw_remote_reply *reply, cw_arena *arena,
                     cw_outcome *ret)
{
    const cw_client_answer *answer = reply->answer;
    if (reply->end != CW_CLIENT_OK) {
        judge_end(service, reply, arena, ret);
        return;
    }
    cw_err err;
    const cw_json *root = NULL;
    cw_str body = cw_arena_dup_str(arena, answer->body);
    const cw_json_opts opts = {.max_bytes = body.n + 1}; /* the client has checked its size */
    cw_code rc =
        body.p ? cw_json_read(body, &opts, arena, &root, NULL, &err) : cw_arena_fail(arena, &err);
    if (rc == CW_NOMEM) {
        fail_nomem(ret);
        return;
    }
    const char *wrong = rc ? err.msg : check(root, id);
    if (wrong) {
        fail_protocol(service, answer, wrong, arena, ret);
        return;
    }
    const cw_json *error = cw_json_get(root, CW_STR("error"));
    if (is_null(error))
        *ret =
            (cw_outcome){.kind = CW_OUTCOME_RESULT, .result = cw_json_get(root, CW_STR("result"))};
    else
        judge_error(service, error, arena, ret);
}
