/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "door/mcp/elicit.h"

#include <stdio.h>

#define PURPOSE CW_STR("mcp request state")

/* What can be asked, and what an answer has to have. */
struct cw_mcp_elicit_kind {
    cw_str method;
    unsigned ability;
    const char *capability; /* as an object: what the client would have to declare */
    bool (*is_answer)(const cw_json *answer);
};

typedef cw_mcp_elicit_kind elicit_kind;

/* ---- kinds ---- */

cw_str cw_mcp_elicit_caller(const cw_mcp_call *call)
{
    return cw_caller_id(cw_view_caller(call->view));
}

static bool is_elicited(const cw_json *v)
{
    const cw_json *action = cw_json_get(v, CW_STR("action"));
    const cw_json *content = cw_json_get(v, CW_STR("content"));
    cw_str text = cw_json_is(action, CW_JSON_STRING) ? cw_json_text(action) : CW_STR("");
    bool is_action =
        cw_str_is(text, "accept") || cw_str_is(text, "decline") || cw_str_is(text, "cancel");
    return is_action &&
           (!content || cw_json_is(content, CW_JSON_OBJECT) || cw_json_is(content, CW_JSON_NULL));
}

static bool is_sampled(const cw_json *v)
{
    return cw_json_is(cw_json_get(v, CW_STR("role")), CW_JSON_STRING) &&
           cw_json_get(v, CW_STR("content"));
}

static bool is_roots(const cw_json *v)
{
    return cw_json_is(cw_json_get(v, CW_STR("roots")), CW_JSON_ARRAY);
}

static const elicit_kind kinds[] = {
    {CW_STR_INIT("elicitation/create"), CW_MCP_CAN_ELICIT, "{\"elicitation\":{}}", is_elicited},
    {CW_STR_INIT("sampling/createMessage"), CW_MCP_CAN_SAMPLE, "{\"sampling\":{}}", is_sampled},
    {CW_STR_INIT("roots/list"), CW_MCP_CAN_ROOTS, "{\"roots\":{}}", is_roots},
};

const elicit_kind *cw_mcp_elicit_kind_of(const cw_json *elicit)
{
    const cw_json *method = cw_json_get(elicit, CW_STR("method"));
    for (size_t i = 0; cw_json_is(method, CW_JSON_STRING) && i < CW_COUNT(kinds); i++) {
        if (cw_str_eq(kinds[i].method, cw_json_text(method)))
            return &kinds[i];
    }
    return NULL;
}

cw_str cw_mcp_elicit_method(const elicit_kind *kind)
{
    return kind->method;
}

bool cw_mcp_elicit_is_url(const cw_json *elicit)
{
    const cw_json *mode = cw_json_get(cw_json_get(elicit, CW_STR("params")), CW_STR("mode"));
    const elicit_kind *kind = cw_mcp_elicit_kind_of(elicit);
    return kind && kind->ability == CW_MCP_CAN_ELICIT && cw_json_is(mode, CW_JSON_STRING) &&
           cw_str_is(cw_json_text(mode), "url");
}

cw_str cw_mcp_elicit_form(const cw_json *elicit)
{
    const cw_json *form =
        cw_json_get(cw_json_get(elicit, CW_STR("params")), CW_STR("requestedSchema"));
    const elicit_kind *kind = cw_mcp_elicit_kind_of(elicit);
    bool has_form = kind && kind->ability == CW_MCP_CAN_ELICIT && !cw_mcp_elicit_is_url(elicit) &&
                    cw_json_is(form, CW_JSON_OBJECT);
    return has_form ? cw_json_span(form) : CW_STR("");
}

cw_code cw_mcp_elicit_check(const cw_mcp_call *call, const elicit_kind *kind, cw_str form,
                            const cw_json *answer, cw_err *err)
{
    const cw_json *action = cw_json_get(answer, CW_STR("action"));
    const cw_json *content = cw_json_get(answer, CW_STR("content"));
    if (!kind->is_answer(answer))
        return cw_fail(err, CW_PARAMS, "its answer makes no sense");
    if (!form.n || !cw_str_is(cw_json_text(action), "accept"))
        return CW_OK;
    if (!cw_json_is(content, CW_JSON_OBJECT))
        return cw_fail(err, CW_PARAMS, "its answer has no content");
    return cw_elicitation_check(call->rl, form, content, call->responder->arena, err);
}

/* What the client would have to declare for this question. */
static unsigned ability_of(const elicit_kind *kind, const cw_json *elicit)
{
    if (cw_mcp_elicit_is_url(elicit))
        return CW_MCP_CAN_ELICIT_URL;
    bool has_tools = kind->ability == CW_MCP_CAN_SAMPLE &&
                     cw_json_get(cw_json_get(elicit, CW_STR("params")), CW_STR("tools"));
    return has_tools ? CW_MCP_CAN_SAMPLE_TOOLS : kind->ability;
}

/* ---- answers ---- */

static bool is_replaced(cw_str key, const cw_mcp_elicit_reply *fresh, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (fresh[i].json.n && cw_str_eq(fresh[i].key, key))
            return true;
    }
    return false;
}

cw_str cw_mcp_elicit_join(const cw_json *old, const cw_mcp_elicit_reply *fresh, size_t n,
                          cw_arena *arena)
{
    cw_str ret = {NULL, 0};
    cw_buf b;
    cw_json_writer w;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    for (const cw_json *k = old ? cw_json_first(old) : NULL; k; k = cw_json_next_key(k)) {
        if (is_replaced(cw_json_text(k), fresh, n))
            continue;
        cw_json_add_key(&w, cw_json_text(k));
        cw_json_add_span(&w, cw_json_span(cw_json_value(k)));
    }
    for (size_t i = 0; i < n; i++) {
        if (!fresh[i].json.n)
            continue;
        cw_json_add_key(&w, fresh[i].key);
        cw_json_add_span(&w, fresh[i].json);
    }
    cw_json_close(&w);
    if (!cw_json_writer_end(&w, NULL))
        ret = cw_arena_dup_str(arena, cw_buf_str(&b));
    cw_buf_done(&b);
    return ret;
}

/* ---- the modern era: the client brings everything back ---- */

/* The arguments that the state belongs to, whatever their spelling; none are the same as no
 * members. */
static bool digest_params(const cw_mcp_call *call, char out[2 * CW_SEAL_DIGEST + 1])
{
    unsigned char digest[CW_SEAL_DIGEST];
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    if (call->job.params)
        cw_json_add_canonical(&b, call->job.params);
    else
        cw_buf_add(&b, CW_STR("{}"));
    bool is_ok = !b.code;
    if (is_ok)
        cw_seal_digest(cw_buf_str(&b), digest);
    cw_buf_done(&b);
    for (size_t i = 0; is_ok && i < CW_SEAL_DIGEST; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
    return is_ok;
}

/* The questions without what is of no use for their answers. */
static void write_asks(cw_json_writer *w, const cw_json *asks)
{
    cw_json_open_object(w);
    for (const cw_json *k = cw_json_first(asks); k; k = cw_json_next_key(k)) {
        cw_str form = cw_mcp_elicit_form(cw_json_value(k));
        cw_json_add_key(w, cw_json_text(k));
        cw_json_open_object(w);
        cw_json_add_string_member(w, CW_STR("method"),
                                  cw_mcp_elicit_kind_of(cw_json_value(k))->method);
        if (form.n) {
            cw_json_add_key(w, CW_STR("form"));
            cw_json_add_span(w, form);
        }
        cw_json_close(w);
    }
    cw_json_close(w);
}

/* {"until":…,"caller":…,"method":…,"params":…,"state":…,"answers":{…},
 *  "asks":{key:{"method":…,"form":…}}} */
static void write_state(cw_json_writer *w, const cw_mcp_call *call, const cw_outcome *outcome,
                        const char *params)
{
    uint32_t s = cw_runtime_settings_of(call->rl)->elicitation_timeout_s;
    cw_json_open_object(w);
    cw_json_add_i64_member(w, CW_STR("until"), cw_clock_wall_ms() + INT64_C(1000) * s);
    cw_json_add_string_member(w, CW_STR("caller"), cw_mcp_elicit_caller(call));
    cw_json_add_string_member(w, CW_STR("method"), call->job.entry->method->id);
    cw_json_add_string_member(w, CW_STR("params"), cw_str_from(params));
    cw_json_add_string_member(w, CW_STR("state"), outcome->state);
    cw_json_add_i64_member(w, CW_STR("rounds"), (int64_t)call->n_rounds);
    if (call->answers.n) {
        cw_json_add_key(w, CW_STR("answers"));
        cw_json_add_span(w, call->answers);
    }
    cw_json_add_key(w, CW_STR("asks"));
    write_asks(w, outcome->asks);
    cw_json_close(w);
}

static cw_str seal_state(const cw_mcp_call *call, const cw_outcome *outcome)
{
    char params[2 * CW_SEAL_DIGEST + 1];
    cw_str ret = {NULL, 0};
    cw_buf b;
    cw_json_writer w;
    cw_err err;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    if (digest_params(call, params)) {
        write_state(&w, call, outcome, params);
        if (!cw_json_writer_end(&w, NULL) &&
            cw_seal_close(&call->door->seal, PURPOSE, cw_buf_str(&b), call->responder->arena, &ret,
                          &err))
            ret = (cw_str){NULL, 0};
    }
    cw_buf_done(&b);
    return ret;
}

static void answer_input_required(cw_mcp_call *call, const cw_outcome *outcome)
{
    cw_rpc_item *item = call->item;
    cw_str state = seal_state(call, outcome);
    cw_buf b;
    if (!state.p) {
        cw_door_fail_nomem(item);
        return;
    }
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_rpc_open_result(&b);
    cw_buf_add(&b, CW_STR("{\"resultType\":\"input_required\",\"inputRequests\":"));
    cw_buf_add(&b, cw_json_span(outcome->asks));
    cw_buf_add(&b, CW_STR(",\"requestState\":\""));
    cw_buf_add(&b, state);
    cw_buf_add(&b, CW_STR("\",\"_meta\":{\"" CW_MCP_META("serverInfo") "\":" CW_MCP_SERVER "}}"));
    cw_rpc_close(&b, item->id);
    cw_rpc_item_reply(item, 200, &b, CW_STR(""));
}

static bool has_text(const cw_json *object, cw_str name, cw_str text)
{
    const cw_json *v = cw_json_get(object, name);
    return cw_json_is(v, CW_JSON_STRING) && cw_str_eq(cw_json_text(v), text);
}

/* The state that the client has brought back, or NULL when it is not ours, not for this call, or
 * too old. */
static const cw_json *open_state(const cw_mcp_request *r, const cw_mcp_call *call, cw_str text)
{
    char params[2 * CW_SEAL_DIGEST + 1];
    cw_str plain;
    const cw_json *state;
    int64_t until = 0;
    if (cw_seal_open(&r->door->seal, PURPOSE, text, r->responder->arena, &plain) ||
        cw_json_read(plain, NULL, r->responder->arena, &state, NULL, NULL) ||
        !digest_params(call, params))
        return NULL;
    const cw_json *v = cw_json_get(state, CW_STR("until"));
    bool is_ours = v && cw_json_to_i64(v, &until) && until > cw_clock_wall_ms() &&
                   has_text(state, CW_STR("caller"), cw_mcp_elicit_caller(call)) &&
                   has_text(state, CW_STR("method"), call->job.entry->method->id) &&
                   has_text(state, CW_STR("params"), cw_str_from(params));
    return is_ours ? state : NULL;
}

/* Earlier answers and those of now, as far as they were asked for and make sense: what is missing
 * will be asked again. .p is NULL without memory. */
static cw_str join_answers(const cw_mcp_call *call, const cw_json *state, const cw_json *responses,
                           cw_arena *arena)
{
    cw_mcp_elicit_reply fresh[CW_MCP_MAX_ELICITATIONS];
    size_t n = 0;
    const cw_json *asks = cw_json_get(state, CW_STR("asks"));
    for (const cw_json *k = cw_json_first(asks); k; k = cw_json_next_key(k)) {
        const cw_json *elicit = cw_json_value(k);
        const cw_json *answer = cw_json_get(responses, cw_json_text(k));
        const cw_json *form = cw_json_get(elicit, CW_STR("form"));
        const elicit_kind *kind = cw_mcp_elicit_kind_of(elicit);
        cw_err err;
        if (!answer || !kind)
            continue;
        cw_code rc =
            cw_mcp_elicit_check(call, kind, form ? cw_json_span(form) : CW_STR(""), answer, &err);
        if (rc == CW_NOMEM)
            return (cw_str){NULL, 0};
        if (!rc)
            fresh[n++] = (cw_mcp_elicit_reply){cw_json_text(k), cw_json_span(answer)};
    }
    return cw_mcp_elicit_join(cw_json_get(state, CW_STR("answers")), fresh, n, arena);
}

bool cw_mcp_elicit_resume(const cw_mcp_request *r, cw_mcp_call *call)
{
    const cw_json *text = cw_json_get(r->params, CW_STR("requestState"));
    const cw_json *responses = cw_json_get(r->params, CW_STR("inputResponses"));
    int64_t rounds = 0;
    if (!text) {
        call->early = cw_json_is(responses, CW_JSON_OBJECT) ? responses : NULL;
        return true;
    }
    const cw_json *state =
        cw_json_is(text, CW_JSON_STRING) ? open_state(r, call, cw_json_text(text)) : NULL;
    if (!state || (responses && !cw_json_is(responses, CW_JSON_OBJECT))) {
        call->problem = state ? "inputResponses must be an object"
                              : "requestState is not valid for this call, or no longer";
        return true;
    }
    call->state = cw_json_text(cw_json_get(state, CW_STR("state")));
    call->answers = join_answers(call, state, responses, r->responder->arena);
    (void)cw_json_to_i64(cw_json_get(state, CW_STR("rounds")), &rounds);
    call->n_rounds = (unsigned)rounds;
    if (call->answers.p)
        return true;
    cw_door_fail_nomem(r->item);
    return false;
}

/* Whether the client has answered all that is asked now before it was asked. Nothing else of what
 * it has sent counts. */
static bool take_early(cw_mcp_call *call, const cw_outcome *outcome)
{
    cw_arena *arena = call->responder->arena;
    cw_mcp_elicit_reply fresh[CW_MCP_MAX_ELICITATIONS];
    const cw_json *old = NULL;
    size_t n = 0;
    if (!call->early ||
        (call->answers.n && cw_json_read(call->answers, NULL, arena, &old, NULL, NULL)))
        return false;
    for (const cw_json *k = cw_json_first(outcome->asks); k; k = cw_json_next_key(k)) {
        const cw_json *elicit = cw_json_value(k);
        const cw_json *answer = cw_json_get(call->early, cw_json_text(k));
        cw_err err;
        /* What it was told already and asks again is not answered by saying it once more. */
        if (!answer || cw_json_get(old, cw_json_text(k)) ||
            cw_mcp_elicit_check(call, cw_mcp_elicit_kind_of(elicit), cw_mcp_elicit_form(elicit),
                                answer, &err))
            return false;
        fresh[n++] = (cw_mcp_elicit_reply){cw_json_text(k), cw_json_span(answer)};
    }
    cw_str answers = n ? cw_mcp_elicit_join(old, fresh, n, arena) : (cw_str){NULL, 0};
    cw_str state = cw_arena_dup_str(arena, outcome->state);
    if (!answers.p || !state.p)
        return false;
    call->answers = answers;
    call->state = state;
    return true;
}

/* ---- both ---- */

/* NULL: all of it can be asked. Else the capability that is missing, or "": not even we know it. */
static const char *missing(const cw_mcp_call *call, const cw_json *asks)
{
    for (const cw_json *k = cw_json_first(asks); k; k = cw_json_next_key(k)) {
        const elicit_kind *kind = cw_mcp_elicit_kind_of(cw_json_value(k));
        if (!kind)
            return "";
        unsigned ability = ability_of(kind, cw_json_value(k));
        if (call->session.client_capabilities & ability)
            continue;
        if (ability == CW_MCP_CAN_ELICIT_URL)
            return "{\"elicitation\":{\"url\":{}}}";
        return ability == CW_MCP_CAN_SAMPLE_TOOLS ? "{\"sampling\":{\"tools\":{}}}"
                                                  : kind->capability;
    }
    return NULL;
}

static void fail_missing(cw_mcp_call *call, const char *capability)
{
    char text[160];
    if (!call->era->is_stamped) {
        snprintf(text, sizeof text, "The method asks something that this client cannot answer: %s",
                 capability);
        cw_mcp_call_fail(call, text);
        return;
    }
    snprintf(text, sizeof text, "{\"requiredCapabilities\":%s}", capability);
    cw_mcp_call_close(call);
    cw_door_reply_error(call->item,
                        &(cw_door_error){.status = 400,
                                         .code = CW_MCP_CAPABILITY,
                                         .message = CW_STR("Missing required client capability"),
                                         .data = cw_str_from(text)});
}

void cw_mcp_elicit(cw_mcp_call *call, const cw_outcome *outcome)
{
    size_t n = cw_json_count(outcome->asks);
    const char *capability = missing(call, outcome->asks);
    if (n > CW_MCP_MAX_ELICITATIONS || ++call->n_rounds > CW_MCP_ROUNDS ||
        (capability && !*capability)) {
        cw_mcp_call_fail(call, "The method asks too much of the client.");
        return;
    }
    if (capability) {
        fail_missing(call, capability);
    } else if (call->era->is_stamped && take_early(call, outcome)) {
        cw_mcp_call_run(call);
    } else if (call->era->is_stamped) {
        cw_mcp_call_close(call);
        answer_input_required(call, outcome);
    } else if (n == 0 || !call->may_stream || !call->session.is_named) {
        cw_mcp_call_fail(call, "The method asks something, and the client cannot be asked here.");
    } else {
        cw_mcp_elicit_client(call, outcome);
    }
}
