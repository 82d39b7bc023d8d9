/* SPDX-License-Identifier: GPL-2.0-or-later */
/* relayed.c - the params of tools/call, and its results as outcomes. */
#include "source/remote/mcp/relayed.h"

#include <math.h>

#include "json/write.h"
#include "source/describe/view_hash.h"

#define TOOL_ERROR (-32000) /* for callers that are no MCP clients */
#define LOG_MAX 65536u
#define MEMBERS_MAX (64u * 1024u * 1024u)

/* "name":"add","arguments": or "uri":"file:///a" */
static void write_head(const cw_relayed_target *t, cw_buf *out)
{
    bool is_named = t->kind == CW_RELAYED_TOOL || t->kind == CW_RELAYED_PROMPT;
    if (t->kind == CW_RELAYED_TEMPLATE)
        return; /* each call has its own address */
    cw_buf_add(out, is_named ? CW_STR("\"name\":") : CW_STR("\"uri\":"));
    cw_json_escape(out, t->name);
    if (is_named)
        cw_buf_add(out, CW_STR(",\"arguments\":"));
}

cw_code cw_relayed_target_make(const cw_method *m, cw_arena *arena, cw_relayed_target *ret,
                               cw_err *err)
{
    static const cw_relayed_kind kinds[] = {
        [CW_EXPOSED_RESOURCE] = CW_RELAYED_RESOURCE,
        [CW_EXPOSED_TEMPLATE] = CW_RELAYED_TEMPLATE,
        [CW_EXPOSED_PROMPT] = CW_RELAYED_PROMPT,
    };
    *ret = (cw_relayed_target){.kind = m->exposed ? kinds[m->exposed->kind] : CW_RELAYED_TOOL,
                               .name = m->exposed ? m->exposed->address : m->id};
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, 6 * ret->name.n + 64);
    write_head(ret, &text);
    ret->head = text.code ? (cw_str){NULL, 0} : cw_arena_dup_str(arena, cw_buf_str(&text));
    ret->name = cw_arena_dup_str(arena, ret->name);
    return ret->head.p && ret->name.p ? CW_OK : cw_fail_nomem(err);
}

/* The members that a door sent beside the arguments, as an object; NULL: none. */
static cw_code read_extras(const cw_source_call *call, const cw_json **ret, cw_err *err)
{
    *ret = NULL;
    if (call->extras.n == 0)
        return CW_OK;
    char *text = cw_arena_printf(call->arena, "{%.*s}", (int)call->extras.n - 1,
                                 call->extras.p + 1); /* without its first comma */
    return text ? cw_json_read(cw_str_from(text), NULL, call->arena, ret, NULL, err)
                : cw_fail_nomem(err);
}

/* The name in MCP of a level, which a door names as plugins do. */
static cw_str level_of(const cw_json *level)
{
    cw_str name = cw_json_is(level, CW_JSON_STRING) ? cw_json_text(level) : CW_STR("");
    return cw_str_is(name, "warn") ? CW_STR("warning") : name;
}

/* The keys of _meta that the client sent for the server. If this call has a span of its own, the
 * server gets its context instead of the client's. */
static cw_code write_meta(const cw_json *meta, bool has_span, cw_arena *arena, cw_str *ret,
                          cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, MEMBERS_MAX);
    for (const cw_json *k = meta ? cw_json_first(meta) : NULL; k; k = cw_json_next_key(k)) {
        if (has_span &&
            (cw_json_key_eq(k, CW_STR("traceparent")) || cw_json_key_eq(k, CW_STR("tracestate"))))
            continue;
        if (text.n)
            cw_buf_add_char(&text, ',');
        cw_buf_add(&text, cw_json_span(k));
        cw_buf_add_char(&text, ':');
        cw_buf_add(&text, cw_json_span(cw_json_value(k)));
    }
    *ret = text.code ? (cw_str){NULL, 0} : cw_arena_dup_str(arena, cw_buf_str(&text));
    return ret->p ? CW_OK : cw_fail_nomem(err);
}

static void add_member(cw_buf *out, const char *name, const cw_json *v)
{
    if (!v)
        return;
    cw_buf_printf(out, ",\"%s\":", name);
    cw_buf_add(out, cw_json_span(v));
}

/* "ref":{…},"argument":{…},"context":{…} */
static void write_completion(const cw_relayed_target *t, const cw_json *complete, cw_buf *out)
{
    bool is_prompt = t->kind == CW_RELAYED_PROMPT;
    const cw_json *others = cw_json_get(complete, CW_STR("arguments"));
    cw_buf_add(out, is_prompt ? CW_STR("\"ref\":{\"type\":\"ref/prompt\",\"name\":")
                              : CW_STR("\"ref\":{\"type\":\"ref/resource\",\"uri\":"));
    cw_json_escape(out, t->name);
    cw_buf_add(out, CW_STR("},\"argument\":{\"name\":"));
    cw_buf_add(out, cw_json_span(cw_json_get(complete, CW_STR("argument"))));
    add_member(out, "value", cw_json_get(complete, CW_STR("value")));
    cw_buf_add_char(out, '}');
    if (cw_json_is(others, CW_JSON_OBJECT) && cw_json_count(others)) {
        cw_buf_add(out, CW_STR(",\"context\":{\"arguments\":"));
        cw_buf_add(out, cw_json_span(others));
        cw_buf_add_char(out, '}');
    }
}

static void write_params(const cw_relayed_target *t, cw_str arguments, const cw_json *uri,
                         cw_buf *out)
{
    cw_buf_add(out, t->head);
    if (t->kind == CW_RELAYED_TEMPLATE) {
        cw_buf_add(out, CW_STR("\"uri\":"));
        cw_buf_add(out, uri ? cw_json_span(uri) : CW_STR("\"\""));
    }
    if (t->kind == CW_RELAYED_TOOL || t->kind == CW_RELAYED_PROMPT)
        cw_buf_add(out, arguments.n ? arguments : CW_STR("{}"));
}

static cw_code write_members(const cw_relayed_target *t, cw_str arguments, const cw_json *extras,
                             cw_arena *arena, cw_str *ret, cw_err *err)
{
    const cw_json *complete = cw_json_get(extras, CW_STR("complete"));
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, MEMBERS_MAX);
    if (complete)
        write_completion(t, complete, &text);
    else
        write_params(t, arguments, cw_json_get(extras, CW_STR("uri")), &text);
    add_member(&text, "inputResponses", cw_json_get(extras, CW_STR("answers")));
    add_member(&text, "requestState", cw_json_get(extras, CW_STR("state")));
    *ret = text.code ? (cw_str){NULL, 0} : cw_arena_dup_str(arena, cw_buf_str(&text));
    return ret->p ? CW_OK : cw_fail_nomem(err);
}

/* The text that the header Mcp-Name repeats. */
static cw_str header_name(const cw_relayed_target *t, const cw_json *extras)
{
    const cw_json *uri = cw_json_get(extras, CW_STR("uri"));
    if (cw_json_get(extras, CW_STR("complete")))
        return CW_STR("");
    return t->kind == CW_RELAYED_TEMPLATE && uri ? cw_json_text(uri) : t->name;
}

cw_code cw_relayed_request(const cw_endpoint *service, const cw_relayed_target *target,
                           const cw_source_call *call, cw_str arguments, cw_relay_request *ret,
                           bool *ret_completes, cw_err *err)
{
    static const cw_str methods[] = {
        [CW_RELAYED_TOOL] = CW_STR_INIT("tools/call"),
        [CW_RELAYED_PROMPT] = CW_STR_INIT("prompts/get"),
        [CW_RELAYED_RESOURCE] = CW_STR_INIT("resources/read"),
        [CW_RELAYED_TEMPLATE] = CW_STR_INIT("resources/read"),
    };
    const cw_json *extras;
    cw_code rc = read_extras(call, &extras, err);
    if (rc)
        return rc;
    unsigned can = cw_relay_client_capabilities(cw_json_get(extras, CW_STR("client")));
    *ret_completes = cw_json_get(extras, CW_STR("complete"));
    *ret = (cw_relay_request){
        .method = *ret_completes ? CW_STR("completion/complete") : methods[target->kind],
        .name = header_name(target, extras),
        .caller = cw_caller_id(call->caller),
        .log_level = level_of(cw_json_get(extras, CW_STR("log"))),
        .capabilities = *ret_completes ? 0 : can & service->words.questions,
        .wants_progress = call->wants_progress,
        .takes_tasks = target->kind == CW_RELAYED_TOOL && !*ret_completes,
    };
    bool has_span = call->ids && call->ids->has_trace && cw_trace_is_on(call->tracer);
    rc = write_meta(cw_json_get(extras, CW_STR("meta")), has_span, call->arena, &ret->meta, err);
    return rc ? rc : write_members(target, arguments, extras, call->arena, &ret->members, err);
}

/* ---- before the response ---- */

struct cw_relayed_question {
    struct cw_relayed_question *next;
    uint32_t number;
    bool is_open;
    cw_str id; /* of the server's request, JSON */
};

static double number_of(const cw_json *v)
{
    double number = 0;
    return v && cw_json_to_double(v, &number) ? number : (double)NAN;
}

static void report_progress(const cw_source_call *call, const cw_json *params)
{
    const cw_json *message = cw_json_get(params, CW_STR("message"));
    cw_progress progress = {
        .progress = number_of(cw_json_get(params, CW_STR("progress"))),
        .total = number_of(cw_json_get(params, CW_STR("total"))),
        .message = cw_json_is(message, CW_JSON_STRING) ? cw_json_text(message) : CW_STR(""),
    };
    call->sink->ops->progress(call->sink, &progress);
}

static cw_log_level log_level(const cw_json *level)
{
    cw_str name = cw_json_is(level, CW_JSON_STRING) ? cw_json_text(level) : CW_STR("");
    if (cw_str_is(name, "debug"))
        return CW_LOG_DEBUG;
    if (cw_str_is(name, "info") || name.n == 0)
        return CW_LOG_INFO;
    return cw_str_is(name, "notice") || cw_str_is(name, "warning") ? CW_LOG_WARN : CW_LOG_ERROR;
}

static void report_log(const cw_source_call *call, const cw_json *params)
{
    const cw_json *data = cw_json_get(params, CW_STR("data"));
    cw_log_level level = log_level(cw_json_get(params, CW_STR("level")));
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, LOG_MAX);
    if (cw_json_is(data, CW_JSON_STRING))
        cw_buf_add(&text, cw_json_text(data));
    else if (data)
        cw_json_add_compact(&text, data);
    if (!text.code)
        call->sink->ops->log(call->sink, level, cw_buf_str(&text));
}

static void refuse(cw_buf *reply, const cw_json *id, int64_t code, const char *why)
{
    cw_relay_write_answer(reply, cw_json_span(id), CW_STR(""), code, cw_str_from(why));
}

static void ask(cw_source_call *call, cw_relayed_questions *questions, const cw_json *message,
                const cw_json *id, cw_buf *reply)
{
    struct cw_relayed_question *q =
        questions->n < CW_RELAYED_QUESTIONS ? cw_arena_calloc(call->arena, 1, sizeof *q) : NULL;
    cw_str copy = q ? cw_arena_dup_str(call->arena, cw_json_span(id)) : (cw_str){NULL, 0};
    if (!copy.p) {
        refuse(reply, id, -32603, "Too many questions");
        return;
    }
    *q = (struct cw_relayed_question){
        .next = questions->first, .number = ++questions->n, .is_open = true, .id = copy};
    questions->first = q;
    call->sink->ops->ask(call->sink, &(cw_question){q->number, message});
}

/* The server cancels a question of this call. */
static void withdraw(const cw_source_call *call, const cw_relayed_questions *questions,
                     const cw_json *id)
{
    struct cw_relayed_question *q = questions->first;
    while (q && !(id && q->is_open && cw_str_eq(q->id, cw_json_span(id))))
        q = q->next;
    if (!q)
        return;
    q->is_open = false;
    call->sink->ops->withdraw(call->sink, q->number);
}

void cw_relayed_receive(cw_source_call *call, unsigned asks, cw_relayed_questions *questions,
                        const cw_json *message, cw_buf *reply)
{
    const cw_json *method = cw_json_get(message, CW_STR("method"));
    const cw_json *params = cw_json_get(message, CW_STR("params"));
    const cw_json *id = cw_json_get(message, CW_STR("id"));
    cw_str name = cw_json_is(method, CW_JSON_STRING) ? cw_json_text(method) : CW_STR("");
    bool is_request = name.n && id && !cw_json_is(id, CW_JSON_NULL);
    unsigned bit = cw_relay_question(name, params);
    if (is_request && (bit & asks))
        ask(call, questions, message, id, reply);
    else if (is_request && cw_str_is(name, "ping"))
        cw_relay_write_answer(reply, cw_json_span(id), CW_STR("{}"), 0, CW_STR(""));
    else if (is_request)
        refuse(reply, id, -32601, bit ? "The client does not answer this" : "Method not found");
    else if (cw_str_is(name, "notifications/progress"))
        report_progress(call, params);
    else if (cw_str_is(name, "notifications/cancelled"))
        withdraw(call, questions, cw_json_get(params, CW_STR("requestId")));
    else if (cw_str_is(name, "notifications/message") && questions->n_logs++ < CW_RELAYED_LOGS)
        report_log(call, params);
}

bool cw_relayed_answer(cw_relayed_questions *questions, uint32_t number, cw_str result,
                       cw_str problem, cw_buf *reply)
{
    struct cw_relayed_question *q = questions->first;
    while (q && q->number != number)
        q = q->next;
    if (!q || !q->is_open)
        return false;
    q->is_open = false;
    cw_relay_write_answer(reply, q->id, result, -32603, problem);
    return true;
}

/* ---- results ---- */

static void fail(cw_outcome *ret, const char *text)
{
    *ret = (cw_outcome){
        .kind = CW_OUTCOME_FAILED, .fault = CW_FAULT_PROTOCOL, .message = cw_str_from(text)};
}

static bool is_type(const cw_json *result, const char *type)
{
    const cw_json *v = cw_json_get(result, CW_STR("resultType"));
    return cw_json_is(v, CW_JSON_STRING) && cw_str_is(cw_json_text(v), type);
}

/* Whether the type of a result is unknown, which makes it invalid by the protocol. Passed on, it
 * would look like the end of the call. A task does not come here, since it is followed. */
static bool has_unknown_type(const cw_json *result)
{
    return cw_json_get(result, CW_STR("resultType")) && !is_type(result, "complete");
}

/* Whether every question is one that the source may ask of this client. */
static bool may_ask(const cw_json *asks, unsigned allowed)
{
    for (const cw_json *k = asks ? cw_json_first(asks) : NULL; k; k = cw_json_next_key(k)) {
        const cw_json *method = cw_json_get(cw_json_value(k), CW_STR("method"));
        const cw_json *params = cw_json_get(cw_json_value(k), CW_STR("params"));
        unsigned bit = cw_json_is(method, CW_JSON_STRING)
                           ? cw_relay_question(cw_json_text(method), params)
                           : 0;
        if (!(bit & allowed))
            return false;
    }
    return true;
}

static void make_questions(const cw_json *result, unsigned allowed, cw_outcome *ret)
{
    const cw_json *asks = cw_json_get(result, CW_STR("inputRequests"));
    const cw_json *state = cw_json_get(result, CW_STR("requestState"));
    if (!cw_json_is(asks, CW_JSON_OBJECT) || !may_ask(asks, allowed)) {
        fail(ret, "The server asks something that it may not ask here.");
        return;
    }
    *ret =
        (cw_outcome){.kind = CW_OUTCOME_INPUT_REQUIRED,
                     .asks = asks,
                     .state = cw_json_is(state, CW_JSON_STRING) ? cw_json_text(state) : CW_STR("")};
}

/* The first text of a result. */
static cw_str first_text(const cw_json *content)
{
    for (const cw_json *b = content ? cw_json_first(content) : NULL; b; b = cw_json_next(b)) {
        const cw_json *text = cw_json_get(b, CW_STR("text"));
        if (cw_json_is(text, CW_JSON_STRING))
            return cw_json_text(text);
    }
    return CW_STR("The tool reports an error.");
}

static void make_tool_result(bool is_strict, cw_outcome *outcome)
{
    const cw_json *result = outcome->result;
    const cw_json *content = cw_json_get(result, CW_STR("content"));
    const cw_json *structured = cw_json_get(result, CW_STR("structuredContent"));
    bool has_content = cw_json_is(content, CW_JSON_ARRAY);
    if (!cw_json_is(result, CW_JSON_OBJECT) || (!has_content && !structured)) {
        fail(outcome, "The server returned a result that is no result of a tool.");
        return;
    }
    outcome->relay = result;
    outcome->is_unchecked = !is_strict;
    outcome->result = structured ? structured : content;
    if (!cw_json_is(cw_json_get(result, CW_STR("isError")), CW_JSON_TRUE))
        return;
    outcome->kind = CW_OUTCOME_ERROR;
    outcome->code = TOOL_ERROR;
    outcome->data = NULL;
    outcome->message = first_text(has_content ? content : NULL);
}

/* The result of a prompt or a resource. */
static void make_result(const char *member, cw_outcome *outcome)
{
    if (!cw_json_is(cw_json_get(outcome->result, cw_str_from(member)), CW_JSON_ARRAY)) {
        fail(outcome, "The server returned a result that has no messages or contents.");
        return;
    }
    outcome->relay = outcome->result;
    outcome->is_unchecked = true;
}

/* Reject a view whose document differs from the approved one. Documents of a template are unknown
 * before they are read, so none of them is approved. */
static void check_view(const cw_relayed_target *t, cw_str uri, cw_outcome *outcome)
{
    char hash[CW_DESCRIBE_VIEW_HASH + 1];
    if (!t->has_lock || !cw_describe_is_view(uri) || outcome->kind != CW_OUTCOME_RESULT)
        return;
    if (cw_describe_view_hash(outcome->result, hash) || !cw_str_is(t->view, hash))
        fail(outcome, "The view is not the one that the operator approved.");
}

void cw_relayed_result(const cw_relayed_target *target, cw_str uri, bool is_strict, unsigned asks,
                       cw_outcome *outcome)
{
    if (is_type(outcome->result, "input_required")) {
        make_questions(outcome->result, asks, outcome);
    } else if (has_unknown_type(outcome->result)) {
        fail(outcome, "The server returned a result of a type that is not known.");
    } else if (target->kind == CW_RELAYED_TOOL) {
        make_tool_result(is_strict, outcome);
    } else {
        make_result(target->kind == CW_RELAYED_PROMPT ? "messages" : "contents", outcome);
        check_view(target, uri, outcome);
    }
}

void cw_relayed_completion(cw_arena *arena, cw_outcome *outcome)
{
    const cw_json *completion = cw_json_get(outcome->result, CW_STR("completion"));
    bool has_none = outcome->kind == CW_OUTCOME_ERROR && outcome->code == -32601;
    if (has_none) {
        const cw_json *none = NULL;
        if (cw_json_read(CW_STR("{\"values\":[]}"), NULL, arena, &none, NULL, NULL))
            return;
        *outcome = (cw_outcome){.kind = CW_OUTCOME_RESULT, .result = none, .is_unchecked = true};
    } else if (outcome->kind == CW_OUTCOME_RESULT && cw_json_is(completion, CW_JSON_OBJECT)) {
        outcome->result = completion;
        outcome->is_unchecked = true;
    } else if (outcome->kind == CW_OUTCOME_RESULT) {
        fail(outcome, "The server returned a result that is no completion.");
    }
}
