/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ask.c - questions to the client, by running the method again.
 *
 *     run 1   cw_ask("name") -> NULL     "asks": {"name": …}    the method has returned
 *     run 2   cw_ask("name") -> answer   result
 *
 * Each run is a call of its own to this process, or to another one: all that is
 * known from earlier runs comes with it, as "answers" and "state".
 */
#include <stdarg.h>

#include "base/utf8.h"
#include "host/call.h"

struct cw_question {
    cw_question *next;
    cw_str key;
    cw_str method;
    cw_str params; /* JSON */
};

static const char *const methods[] = {"elicitation/create", "sampling/createMessage", "roots/list"};

static bool is_method(const char *name)
{
    for (size_t i = 0; i < CW_COUNT(methods); i++)
        if (name && strcmp(name, methods[i]) == 0)
            return true;
    return false;
}

/* Whether a question with this key may be noted. One that is there already is asked once. */
static bool is_new(cw_call *call, cw_str key, cw_str method)
{
    size_t n = 0;
    for (const cw_question *q = call->questions; q; q = q->next, n++) {
        if (!cw_str_eq(q->key, key))
            continue;
        if (!cw_str_eq(q->method, method))
            cw_call_misuse(call, "cw_ask: two questions have the same key");
        return false;
    }
    if (n == CW_PLUGIN_MAX_QUESTIONS)
        cw_call_misuse(call, "cw_ask: more than 32 questions");
    return n < CW_PLUGIN_MAX_QUESTIONS;
}

static void note(cw_call *call, const char *key, const char *method, const char *params)
{
    const cw_json *root = cw_call_read(call, params ? params : "{}", "cw_ask: params");
    if (!root || !is_new(call, cw_str_from(key), cw_str_from(method)))
        return;
    if (!cw_json_is(root, CW_JSON_OBJECT)) {
        cw_call_misuse(call, "cw_ask: params must be an object");
        return;
    }
    cw_question *q = cw_arena_alloc(call->arena, sizeof(*q));
    cw_str key_copy = cw_arena_dup_str(call->arena, cw_str_from(key));
    cw_str params_copy = cw_arena_dup_str(call->arena, cw_json_span(root));
    cw_str method_copy = cw_arena_dup_str(call->arena, cw_str_from(method));
    if (!q || !key_copy.p || !params_copy.p || !method_copy.p) {
        call->wire->out.code = CW_NOMEM;
        return;
    }
    *q = (cw_question){NULL, key_copy, method_copy, params_copy};
    cw_question **end = &call->questions;
    while (*end)
        end = &(*end)->next;
    *end = q;
}

/* {"mode":…,"message":…, and one member more, as text or as JSON. */
static const cw_value *ask_user(cw_call *call, const char *key, const char *message,
                                const char *schema, const char *url)
{
    cw_buf params;
    const cw_value *answer = NULL;
    cw_buf_init(&params, call->wire->max_body);
    cw_buf_add(&params, url ? CW_STR("{\"mode\":\"url\",\"message\":") : CW_STR("{\"message\":"));
    cw_json_escape(&params, cw_str_from(message));
    if (url) {
        cw_buf_add(&params, CW_STR(",\"url\":"));
        cw_json_escape(&params, cw_str_from(url));
    } else {
        cw_buf_add(&params, CW_STR(",\"requestedSchema\":"));
        cw_buf_add(&params, cw_str_from(schema));
    }
    cw_buf_add_bytes(&params, "}", sizeof("}"));
    if (params.code)
        call->wire->out.code = params.code;
    else
        answer = cw_ask(call, key, methods[0], params.p);
    cw_buf_done(&params);
    return answer;
}

void cw_ask_write(const cw_call *call, cw_buf *out)
{
    cw_json_writer w;
    const char *state = call->state;
    const cw_json *old = cw_json_get(call->root, CW_STR("state"));
    cw_buf_add(out, CW_STR("\"asks\":"));
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    for (const cw_question *q = call->questions; q; q = q->next) {
        cw_json_add_key(&w, q->key);
        cw_json_open_object(&w);
        cw_json_add_string_member(&w, CW_STR("method"), q->method);
        cw_json_add_key(&w, CW_STR("params"));
        cw_json_add_span(&w, q->params);
        cw_json_close(&w);
    }
    cw_json_close(&w);
    if (!state && !cw_json_is(old, CW_JSON_STRING))
        return;
    cw_buf_add(out, CW_STR(",\"state\":"));
    cw_json_escape(out, state ? cw_str_from(state) : cw_json_text(old));
}

const cw_value *cw_ask(cw_call *call, const char *key, const char *method, const char *params)
{
    if (call->complete)
        cw_call_misuse(call, "cw_ask: a completion cannot ask");
    else if (!key || !key[0] || !cw_utf8_is_valid(cw_str_from(key)))
        cw_call_misuse(call, "cw_ask: a question without a key");
    else if (!is_method(method))
        cw_call_misuse(call, "cw_ask: the method must be elicitation/create, "
                             "sampling/createMessage or roots/list");
    if (call->misuse || call->has_error)
        return NULL;
    const cw_json *answers = cw_json_get(call->root, CW_STR("answers"));
    const cw_json *answer = cw_json_get(answers, cw_str_from(key));
    if (cw_json_is(answer, CW_JSON_OBJECT))
        return (const cw_value *)(const void *)answer;
    note(call, key, method, params);
    return NULL;
}

const cw_value *cw_ask_form(cw_call *call, const char *key, const char *message, const char *schema)
{
    /* Read on its own, so that no text can close what it did not open. */
    const cw_json *root = cw_call_read(call, schema, "cw_ask_form: schema");
    if (root && !cw_json_is(root, CW_JSON_OBJECT))
        cw_call_misuse(call, "cw_ask_form: the schema must be an object");
    if (!root || call->misuse)
        return NULL;
    return ask_user(call, key, message, schema, NULL);
}

const cw_value *cw_ask_url(cw_call *call, const char *key, const char *message, const char *url)
{
    return ask_user(call, key, message, NULL, url ? url : "");
}

const cw_value *cw_ask_sample(cw_call *call, const char *key, const char *params)
{
    return cw_ask(call, key, methods[1], params);
}

const cw_value *cw_ask_roots(cw_call *call, const char *key)
{
    return cw_ask(call, key, methods[2], NULL);
}

const cw_value *cw_answer_content(const cw_value *answer)
{
    const cw_json *v = (const cw_json *)(const void *)answer;
    const cw_json *action = cw_json_get(v, CW_STR("action"));
    const cw_json *content = cw_json_get(v, CW_STR("content"));
    bool is_accepted =
        cw_json_is(action, CW_JSON_STRING) && cw_str_is(cw_json_text(action), "accept");
    return is_accepted && cw_json_is(content, CW_JSON_OBJECT)
               ? (const cw_value *)(const void *)content
               : NULL;
}

const char *cw_format(cw_call *call, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = cw_arena_vprintf(call->arena, fmt, args);
    va_end(args);
    if (!text)
        call->wire->out.code = CW_NOMEM;
    return text ? text : "";
}

const char *cw_quoted(cw_call *call, const char *text)
{
    cw_buf quoted;
    cw_buf_init(&quoted, call->wire->max_body);
    cw_json_escape(&quoted, cw_str_from(text));
    const char *copy = quoted.code ? NULL : cw_arena_dup(call->arena, quoted.p, quoted.n);
    if (!copy)
        call->wire->out.code = quoted.code ? quoted.code : CW_NOMEM;
    cw_buf_done(&quoted);
    return copy ? copy : "\"\"";
}

const char *cw_state(cw_call *call)
{
    const cw_json *v = cw_json_get(call->root, CW_STR("state"));
    if (call->state || !cw_json_is(v, CW_JSON_STRING))
        return call->state;
    const char *text = cw_arena_dup(call->arena, v->p, v->n);
    if (!text)
        call->wire->out.code = CW_NOMEM;
    return text;
}

void cw_state_set(cw_call *call, const char *text)
{
    cw_str s = cw_str_from(text);
    bool is_valid = cw_utf8_is_valid(s);
    if (s.n > CW_PLUGIN_MAX_STATE || !is_valid) {
        cw_call_misuse(call, is_valid ? "cw_state_set: more than 16384 bytes"
                                      : "cw_state_set: not UTF-8");
        return;
    }
    call->state = cw_arena_dup(call->arena, s.p, s.n);
    if (!call->state)
        call->wire->out.code = CW_NOMEM;
}

bool cw_client_can(cw_call *call, const char *capability)
{
    const cw_json *list = cw_json_get(call->root, CW_STR("client"));
    if (!cw_json_is(list, CW_JSON_ARRAY))
        return false;
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v))
        if (cw_json_is(v, CW_JSON_STRING) && cw_str_is(cw_json_text(v), capability))
            return true;
    return false;
}

bool cw_client_wants_log(cw_call *call, cw_level level)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    const cw_json *least = cw_json_get(call->root, CW_STR("log"));
    for (size_t i = 0; cw_json_is(least, CW_JSON_STRING) && i < CW_COUNT(names); i++)
        if (cw_str_is(cw_json_text(least), names[i]))
            return (size_t)level <= i;
    return false;
}
