/* SPDX-License-Identifier: GPL-2.0-or-later */
/* frames.c - requests and responses of a plugin host as bytes (docs/plugin-protocol.md).
 *
 * Params, caller and the fixed part of each method are copied once, into the
 * socket's buffer; a response is copied once, into the call's arena, and read there.
 */
#include <math.h>

#include "base/digits.h"
#include "source/plugin/plugin_int.h"

#define NOTICE "{\"jsonrpc\":\"2.0\",\"method\":\"$/"
#define STARTED NOTICE "started\"}"

#define TRACE ",\"traceparent\":\""
#define PROGRESS ",\"progress\":true"
#define TAIL_MAX (sizeof TRACE + CW_TRACE_PARENT_LEN + sizeof PROGRESS + 2)

/* The last members of a call, and its end, as one piece. */
static cw_str write_tail(const cw_source_call *call, char out[TAIL_MAX])
{
    char *to = out;
    if (call->traceparent.n) {
        memcpy(to, TRACE, sizeof TRACE - 1);
        memcpy(to + sizeof TRACE - 1, call->traceparent.p, CW_TRACE_PARENT_LEN);
        to += sizeof TRACE - 1 + CW_TRACE_PARENT_LEN;
        *to++ = '"';
    }
    if (call->wants_progress) {
        memcpy(to, PROGRESS, sizeof PROGRESS - 1);
        to += sizeof PROGRESS - 1;
    }
    *to++ = '}';
    return cw_str_make(out, (size_t)(to - out));
}

cw_code cw_plugin_send_call(cw_worker *w, uint64_t id, const cw_source_call *call)
{
    char number[CW_DIGITS_SIZE];
    CW_UNINIT char tail[TAIL_MAX];
    CW_UNINIT cw_str pieces[10];
    size_t n = 0;
    pieces[n++] = CW_STR("{\"jsonrpc\":\"2.0\",\"id\":");
    pieces[n++] = cw_digits_u64(id, number);
    pieces[n++] = w->plugin->heads[call->method->index];
    pieces[n++] = call->params.n ? call->params : CW_STR("{}");
    if (call->caller) {
        pieces[n++] = CW_STR(",\"caller\":");
        pieces[n++] = cw_caller_json(call->caller);
    }
    if (call->extras.n)
        pieces[n++] = call->extras;
    pieces[n++] = write_tail(call, tail);
    return cw_frames_send(&w->frames, id, pieces, n);
}

void cw_plugin_send_cancel(cw_worker *w, uint64_t id)
{
    cw_str body = CW_STR("{\"jsonrpc\":\"2.0\",\"method\":\"$/cancel\"}");
    /* Without memory for the frame the call continues, and the grace period ends it. */
    cw_code rc = cw_frames_send(&w->frames, id, &body, 1);
    (void)rc;
}

cw_code cw_plugin_send_discover(cw_worker *w, uint64_t id)
{
    char number[CW_DIGITS_SIZE];
    cw_str pieces[] = {
        CW_STR("{\"jsonrpc\":\"2.0\",\"id\":"),
        cw_digits_u64(id, number),
        CW_STR(",\"method\":\"rpc.discover\"}"),
    };
    return cw_frames_send(&w->frames, id, pieces, CW_COUNT(pieces));
}

bool cw_plugin_is_notification(cw_str body)
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

/* Whether a block has the members that doors rely on. Its type may be any. */
static bool is_block(const cw_json *v)
{
    const cw_json *role = cw_json_get(v, CW_STR("role"));
    if (!cw_json_is(cw_json_get(v, CW_STR("type")), CW_JSON_STRING))
        return false;
    if (!role)
        return true;
    return cw_json_is(role, CW_JSON_STRING) &&
           (cw_str_is(cw_json_text(role), "user") || cw_str_is(cw_json_text(role), "assistant"));
}

static bool read_result(const cw_json *result, const cw_json *content, cw_outcome *ret)
{
    *ret = (cw_outcome){.kind = CW_OUTCOME_RESULT, .result = result, .content = content};
    if (!content)
        return true;
    if (!cw_json_is(content, CW_JSON_ARRAY))
        return false;
    for (const cw_json *v = cw_json_first(content); v; v = cw_json_next(v)) {
        if (!is_block(v))
            return false;
    }
    return true;
}

/* Only the form is checked. The doors check the questions, which depend on their protocol. */
static bool read_asks(const cw_json *root, const cw_json *asks, cw_outcome *ret)
{
    const cw_json *state = cw_json_get(root, CW_STR("state"));
    *ret = (cw_outcome){.kind = CW_OUTCOME_INPUT_REQUIRED, .asks = asks};
    if (state && !cw_json_is(state, CW_JSON_STRING))
        return false;
    if (state)
        ret->state = cw_json_text(state);
    if (ret->state.n > CW_PLUGIN_MAX_STATE)
        return false;
    if (!cw_json_is(asks, CW_JSON_OBJECT) || (cw_json_count(asks) == 0 && !state))
        return false;
    for (const cw_json *k = cw_json_first(asks); k; k = cw_json_next_key(k)) {
        const cw_json *ask = cw_json_value(k);
        if (!cw_json_is(cw_json_get(ask, CW_STR("method")), CW_JSON_STRING))
            return false;
    }
    return true;
}

cw_code cw_plugin_parse_in_place(cw_str body, cw_arena *arena, cw_outcome *ret)
{
    const cw_json *result = NULL, *content = NULL, *asks = NULL, *error = NULL;
    const cw_json *root;
    cw_json_opts opts = {.max_bytes = body.n + 1};
    cw_code rc = cw_json_read(body, &opts, arena, &root, NULL, NULL);
    if (rc)
        return rc;
    const cw_json *first = cw_json_is(root, CW_JSON_OBJECT) ? cw_json_first(root) : NULL;
    for (const cw_json *k = first; k; k = cw_json_next_key(k)) {
        if (cw_json_key_eq(k, CW_STR("result")))
            result = cw_json_value(k);
        else if (cw_json_key_eq(k, CW_STR("content")))
            content = cw_json_value(k);
        else if (cw_json_key_eq(k, CW_STR("asks")))
            asks = cw_json_value(k);
        else if (cw_json_key_eq(k, CW_STR("error")))
            error = cw_json_value(k);
    }
    if (result)
        return read_result(result, content, ret) ? CW_OK : CW_PARSE;
    if (asks)
        return read_asks(root, asks, ret) ? CW_OK : CW_PARSE;
    return error && read_error(error, ret) ? CW_OK : CW_PARSE;
}

cw_code cw_plugin_read_response(cw_str body, cw_arena *arena, cw_outcome *ret)
{
    char *copy = cw_arena_alloc(arena, body.n);
    if (!copy)
        return cw_arena_code(arena);
    if (body.n)
        memcpy(copy, body.p, body.n);
    return cw_plugin_parse_in_place(cw_str_make(copy, body.n), arena, ret);
}

static bool report_progress(const cw_source_call *call, const cw_json *params)
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

/* Make the call a task, or report another text for its task. The call may be freed afterwards. */
static void report_task(const cw_source_call *call, const cw_json *params)
{
    const cw_json *message = cw_json_get(params, CW_STR("message"));
    cw_progress progress = {.progress = (double)NAN, .total = (double)NAN};
    if (!call)
        return;
    if (cw_json_is(message, CW_JSON_STRING)) {
        progress.message = cw_json_text(message);
        call->sink->ops->progress(call->sink, &progress);
    } else if (call->sink->ops->become_task) {
        (void)call->sink->ops->become_task(call->sink);
    }
}

/* Pass a log line to the sink of its call. Without one (`call` is NULL: cancelled, or none at all)
 * only the log gets the line. */
static bool report_log(const cw_plugin *p, const cw_source_call *call, cw_str method,
                       const cw_json *params)
{
    const cw_json *name = cw_json_get(params, CW_STR("level"));
    const cw_json *message = cw_json_get(params, CW_STR("message"));
    cw_log_level level;
    if (!cw_json_is(message, CW_JSON_STRING) || !cw_json_is(name, CW_JSON_STRING) ||
        !cw_log_level_parse(cw_json_text(name), &level))
        return false;
    if (level == CW_LOG_OFF)
        return true;
    if (call)
        call->sink->ops->log(call->sink, level, cw_json_text(message));
    else if (method.n)
        cw_log(level, "source", "logged", CW_KV("source", p->base.name), CW_KV("method", method),
               CW_KV("text", cw_json_text(message)));
    else
        cw_log(level, "source", "logged", CW_KV("source", p->base.name),
               CW_KV("text", cw_json_text(message)));
    return true;
}

static bool report_updated(const cw_plugin *p, const cw_json *params)
{
    const cw_json *uri = cw_json_get(params, CW_STR("uri"));
    if (!cw_json_is(uri, CW_JSON_STRING) || cw_json_text(uri).n > CW_RESOURCE_MAX_URI)
        return false;
    if (p->base.change)
        p->base.change->tell(p->base.change,
                             &(cw_change){.uri = cw_json_text(uri), .from = p->base.name});
    return true;
}

static bool report_changed(const cw_plugin *p, const cw_json *params)
{
    static const struct {
        cw_str name;
        unsigned list;
    } lists[] = {
        {CW_STR_INIT("tools"), CW_CHANGED_TOOLS},
        {CW_STR_INIT("prompts"), CW_CHANGED_PROMPTS},
        {CW_STR_INIT("resources"), CW_CHANGED_RESOURCES},
    };
    const cw_json *names = cw_json_get(params, CW_STR("lists"));
    cw_change change = {.source = &p->base, .from = p->base.name};
    if (!cw_json_is(names, CW_JSON_ARRAY))
        return false;
    for (const cw_json *v = cw_json_first(names); v; v = cw_json_next(v)) {
        for (size_t i = 0; i < CW_COUNT(lists); i++) {
            if (cw_str_eq(cw_json_text(v), lists[i].name))
                change.lists |= lists[i].list;
        }
    }
    if (change.lists && p->base.change)
        p->base.change->tell(p->base.change, &change);
    return change.lists != 0;
}

/* An event that the operator does not publish is dropped. */
static bool report_event(const cw_plugin *p, const cw_json *params)
{
    const cw_json *name = cw_json_get(params, CW_STR("name"));
    const cw_json *id = cw_json_get(params, CW_STR("id"));
    const cw_json *data = cw_json_get(params, CW_STR("data"));
    if (!cw_json_is(name, CW_JSON_STRING) || !data || (id && !cw_json_is(id, CW_JSON_STRING)))
        return false;
    for (size_t i = 0; i < p->n_events; i++) {
        if (!cw_str_eq(p->events[i].config.name, cw_json_text(name)))
            continue;
        cw_event_news news = {.id = id ? cw_json_text(id) : CW_STR(""), .data = cw_json_span(data)};
        cw_event_source_publish(&p->events[i], &news, data);
        break;
    }
    return true;
}

bool cw_plugin_read_change(const cw_plugin *p, cw_str name, const cw_json *params)
{
    if (cw_str_is(name, "$/log"))
        return report_log(p, NULL, (cw_str){0}, params);
    if (cw_str_is(name, "$/updated"))
        return report_updated(p, params);
    if (cw_str_is(name, "$/changed"))
        return report_changed(p, params);
    if (cw_str_is(name, "$/event"))
        return report_event(p, params);
    return false;
}

cw_code cw_plugin_read_notification(const cw_plugin *p, cw_str body, const cw_source_call *call,
                                    cw_str method, cw_arena *arena)
{
    /* The most frequent one adds nothing to the order of the responses. */
    if (cw_str_eq(body, CW_STR(STARTED)))
        return CW_OK;
    cw_arena_reset(arena);
    const cw_json *root;
    cw_code rc = cw_json_read(body, NULL, arena, &root, NULL, NULL);
    if (rc)
        return rc == CW_PARSE ? rc : CW_OK; /* too large, or no memory: it is dropped */
    const cw_json *kind = cw_json_get(root, CW_STR("method"));
    const cw_json *params = cw_json_get(root, CW_STR("params"));
    cw_str name = kind ? cw_json_text(kind) : CW_STR("");
    if (cw_str_is(name, "$/progress"))
        return report_progress(call, params) ? CW_OK : CW_PARSE;
    if (cw_str_is(name, "$/log"))
        return report_log(p, call, method, params) ? CW_OK : CW_PARSE;
    if (cw_str_is(name, "$/task")) {
        report_task(call, params);
        return CW_OK;
    }
    return cw_plugin_read_change(p, name, params) ? CW_OK : CW_PARSE;
}
