/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elicit.c - questions of a method to its client, in both eras of the protocol.
 *
 * A modern client gets the questions as a result and calls again with the answers. A legacy client
 * gets requests of ours on the stream of the call; its answers arrive as requests, on any loop.
 */
#include "door/mcp/elicit.h"

#include <stdio.h>

#include "base/digits.h"
#include "base/hex.h"
#include "base/random.h"
#include "base/utf8.h"
#include "door/mcp/letter.h"
#include "door/mcp/park.h"
#include "door/mcp/task/task.h"

#define PURPOSE CW_STR("mcp request state")
/* Ids of requests to clients: below 2^53, which every language reads exactly.
 *
 *     place 17 | random 36        (letter.h)
 */
#define ID_RANDOM_BITS 36u

_Static_assert((UINT64_C(1) << (53 - ID_RANDOM_BITS - CW_MCP_PLACE_LOOP_BITS)) > CW_REPLICAS_MAX,
               "the number of a replica fits");

typedef cw_mcp_elicit_kind elicit_kind;

static cw_str caller_of(const cw_mcp_call *call)
{
    return cw_caller_id(cw_view_caller(call->view));
}

/* cw_mcp_elicit_check for the client of a call. */
static cw_code check_answer(const cw_mcp_call *call, const elicit_kind *kind, cw_str form,
                            const cw_json *answer, cw_err *err)
{
    return cw_mcp_elicit_check(call->rl, kind, form, answer, call->responder->arena, err);
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

static cw_str join(const cw_json *old, const cw_mcp_elicit_reply *fresh, size_t n, cw_arena *arena)
{
    cw_str ret = {NULL, 0};
    cw_buf b;
    cw_json_writer w;
    cw_buf_init(&b, CW_BUF_MAX);
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

/* A digest of the arguments, independent of their spelling; no arguments equal an empty object. */
static bool digest_params(const cw_mcp_call *call, char out[2 * CW_SEAL_DIGEST + 1])
{
    unsigned char digest[CW_SEAL_DIGEST];
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    if (call->target.params)
        cw_json_add_canonical(&b, call->target.params);
    else
        cw_buf_add(&b, CW_STR("{}"));
    bool is_ok = !b.code;
    if (is_ok)
        cw_seal_digest(cw_buf_str(&b), digest);
    cw_buf_done(&b);
    if (is_ok)
        cw_hex_write(out, digest, CW_SEAL_DIGEST);
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
    int64_t ms = cw_runtime_config(call->rl)->mcp.elicitation_timeout_ms;
    cw_json_open_object(w);
    cw_json_add_i64_member(w, CW_STR("until"), cw_clock_wall_ms() + ms);
    cw_json_add_string_member(w, CW_STR("caller"), caller_of(call));
    cw_json_add_string_member(w, CW_STR("method"), call->target.entry->method->id);
    cw_json_add_string_member(w, CW_STR("params"), cw_str_from(params));
    cw_json_add_string_member(w, CW_STR("state"), outcome->state);
    cw_json_add_i64_member(w, CW_STR("rounds"), (int64_t)call->n_rounds);
    if (call->answers.n) {
        cw_json_add_key(w, CW_STR("answers"));
        cw_json_add_span(w, call->answers);
    }
    if (call->park.n) {
        cw_json_add_string_member(w, CW_STR("park"), call->park);
        cw_json_add_i64_member(w, CW_STR("loop"), call->park_place);
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
    cw_buf_init(&b, CW_BUF_MAX);
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    if (digest_params(call, params)) {
        write_state(&w, call, outcome, params);
        if (!cw_json_writer_end(&w, NULL) &&
            cw_seal_close(call->door->seal, PURPOSE, cw_buf_str(&b), call->responder->arena, &ret,
                          &err))
            ret = (cw_str){NULL, 0};
    }
    cw_buf_done(&b);
    return ret;
}

void cw_mcp_elicit_reply_input(cw_mcp_call *call, const cw_outcome *outcome)
{
    cw_rpc_item *item = call->item;
    cw_str state = seal_state(call, outcome);
    cw_buf b;
    if (!state.p) {
        cw_door_fail_nomem(item);
        return;
    }
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_open_result(&b);
    cw_buf_add(&b, CW_STR("{\"resultType\":\"input_required\",\"inputRequests\":"));
    cw_mcp_elicit_add_all(&b, outcome->asks);
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
    if (cw_seal_open(r->door->seal, PURPOSE, text, r->responder->arena, &plain) ||
        cw_json_read(plain, NULL, r->responder->arena, &state, NULL, NULL) ||
        !digest_params(call, params))
        return NULL;
    const cw_json *v = cw_json_get(state, CW_STR("until"));
    bool is_ours = v && cw_json_to_i64(v, &until) && until > cw_clock_wall_ms() &&
                   has_text(state, CW_STR("caller"), caller_of(call)) &&
                   has_text(state, CW_STR("method"), call->target.entry->method->id) &&
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
        cw_code rc = check_answer(call, kind, form ? cw_json_span(form) : CW_STR(""), answer, &err);
        if (rc == CW_NOMEM)
            return (cw_str){NULL, 0};
        if (!rc)
            fresh[n++] = (cw_mcp_elicit_reply){cw_json_text(k), cw_json_span(answer)};
    }
    return join(cw_json_get(state, CW_STR("answers")), fresh, n, arena);
}

/* Continue a call that runs on. False: there is none, or the gate would not let it begin now; then
 * the call is begun, and refused. */
static bool resume_park(cw_mcp_call *call, const cw_json *state)
{
    const cw_json *park = cw_json_get(state, CW_STR("park"));
    const cw_json *loop = cw_json_get(state, CW_STR("loop"));
    uint64_t index = 0;
    if (!cw_json_is(park, CW_JSON_STRING) || !loop || !cw_json_to_u64(loop, &index) ||
        index > UINT32_MAX)
        return false;
    if (cw_view_verdict(call->view, call->target.entry) != CW_VERDICT_ALLOW)
        return false;
    cw_mcp_park_resume(call, cw_json_text(park), (uint32_t)index);
    return true;
}

bool cw_mcp_elicit_resume(const cw_mcp_request *r, cw_mcp_call *call)
{
    const cw_json *text = r->members.state, *responses = r->members.responses;
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
        return !resume_park(call, state);
    cw_mcp_call_close(call);
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
        /* A question whose answer the method already has is not answered a second time. */
        if (!answer || cw_json_get(old, cw_json_text(k)) ||
            check_answer(call, cw_mcp_elicit_kind_of(elicit), cw_mcp_elicit_form(elicit), answer,
                         &err))
            return false;
        fresh[n++] = (cw_mcp_elicit_reply){cw_json_text(k), cw_json_span(answer)};
    }
    cw_str answers = n ? join(old, fresh, n, arena) : (cw_str){NULL, 0};
    cw_str state = cw_arena_dup_str(arena, outcome->state);
    if (!answers.p || !state.p)
        return false;
    call->answers = answers;
    call->state = state;
    return true;
}

/* ---- questions to a legacy client ---- */

void cw_mcp_elicit_drop(cw_mcp_call *call)
{
    if (call->is_waiting)
        cw_mcp_registry_of(call->door, call->responder->loop)->n_waiting--;
    call->is_waiting = false;
    cw_deadline_clear(&call->wait);
    call->item->on_stopping = NULL;
    for (size_t i = 0; i < call->n_questions; i++)
        cw_list_remove(&call->questions[i].link.node);
    for (cw_mcp_elicitation *q = call->asked; q; q = q->next)
        cw_list_remove(&q->link.node);
    call->asked = NULL;
    call->n_questions = call->n_open = call->n_asked = 0;
}

static void withdraw(const cw_mcp_call *call, const cw_mcp_elicitation *q, const char *why)
{
    cw_buf b;
    cw_json_writer w;
    if (!cw_list_is_in(&q->link.node))
        return;
    cw_mcp_open_notification(&w, &b, CW_STR("notifications/cancelled"));
    cw_json_add_key(&w, CW_STR("requestId"));
    cw_json_add_span(&w, q->link.key);
    cw_json_add_string_member(&w, CW_STR("reason"), cw_str_from(why));
    cw_mcp_send_notification(call->responder, CW_SEND_MESSAGE, &w, &b);
}

void cw_mcp_elicit_withdraw(cw_mcp_call *call, const char *why)
{
    if (call->task)
        cw_mcp_task_withdraw(call->task);
    for (size_t i = 0; i < call->n_questions; i++)
        withdraw(call, &call->questions[i], why);
    for (const cw_mcp_elicitation *q = call->asked; q; q = q->next)
        withdraw(call, q, why);
}

static void give_up(cw_mcp_call *call, const char *why)
{
    cw_mcp_elicit_withdraw(call, why);
    cw_mcp_call_fail(call, why);
}

/* Whether a question of a call that runs on is open. Those of a task are in no list. */
static bool is_open(const cw_mcp_elicitation *q)
{
    return q->call->task ? !q->answer.n : cw_list_is_in(&q->link.node);
}

static void close_asked(cw_mcp_elicitation *q)
{
    cw_mcp_call *call = q->call;
    cw_list_remove(&q->link.node);
    if (!q->answer.n)
        q->answer = CW_STR("null");
    if (--call->n_asked)
        return;
    cw_mcp_registry_of(call->door, call->responder->loop)->n_waiting--;
    call->is_waiting = false;
    cw_deadline_clear(&call->wait);
    call->item->on_stopping = NULL;
}

void cw_mcp_elicit_refuse(cw_mcp_call *call, const char *why)
{
    for (cw_mcp_elicitation *q = call->asked; q; q = q->next) {
        if (!is_open(q))
            continue;
        close_asked(q);
        cw_call_answer(call->rl, call->item->call, q->number, CW_STR(""), cw_str_from(why));
    }
}

/* A call that runs on decides what it does without the answers. */
static void stop_waiting(cw_mcp_call *call, const char *why)
{
    if (!call->n_asked) {
        give_up(call, why);
        return;
    }
    cw_mcp_elicit_withdraw(call, why);
    cw_mcp_elicit_refuse(call, why);
}

void cw_mcp_elicit_on_late(cw_deadline *d)
{
    cw_mcp_elicit_count(CW_STR("timeout"));
    stop_waiting(CW_CONTAINER(d, cw_mcp_call, wait), "The client did not answer in time.");
}

/* A stopping server does not wait for answers. */
static void on_stopping(cw_rpc_item *item)
{
    stop_waiting(item->self, "The server is stopping.");
}

/* An id that names the place, cannot be guessed, and is not that of another open question. */
static cw_str make_id(cw_arena *arena, cw_mcp_registry *registry, uint64_t place)
{
    const uint64_t mask = (UINT64_C(1) << ID_RANDOM_BITS) - 1;
    char *text = cw_arena_alloc(arena, CW_DIGITS_SIZE);
    uint64_t number;
    cw_str id;
    cw_err err;
    do {
        if (!text || cw_random_bytes(&number, sizeof number, &err))
            return (cw_str){NULL, 0};
        id = cw_digits_u64(place << ID_RANDOM_BITS | (number & mask), text);
    } while (cw_mcp_registry_find(registry->asks, id, NULL));
    return id;
}

static bool make_outside_id(char text[CW_MCP_OUTSIDE_ID])
{
    unsigned char bytes[(CW_MCP_OUTSIDE_ID - 1) / 2];
    cw_err err;
    if (cw_random_bytes(bytes, sizeof bytes, &err))
        return false;
    cw_hex_write(text, bytes, sizeof bytes);
    return true;
}

static void write_params(cw_json_writer *w, const cw_mcp_elicitation *q, const cw_json *elicit)
{
    const cw_json *params = cw_json_get(elicit, CW_STR("params"));
    if (!cw_json_is(params, CW_JSON_OBJECT))
        return;
    cw_json_add_key(w, CW_STR("params"));
    cw_json_open_object(w);
    for (const cw_json *k = cw_json_first(params); k; k = cw_json_next_key(k)) {
        cw_json_add_key(w, cw_json_text(k));
        cw_json_add_value(w, cw_json_value(k));
    }
    /* Legacy clients need an id for what happens outside. */
    if (cw_mcp_elicit_is_url(elicit) && !cw_json_get(params, CW_STR("elicitationId")))
        cw_json_add_string_member(w, CW_STR("elicitationId"), cw_str_from(q->outside));
    cw_json_close(w);
}

static bool send_elicitation(cw_responder *responder, const cw_mcp_elicitation *q,
                             const cw_json *elicit)
{
    cw_buf b;
    cw_json_writer w;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("jsonrpc"), CW_STR("2.0"));
    cw_json_add_key(&w, CW_STR("id"));
    cw_json_add_span(&w, q->link.key);
    cw_json_add_string_member(&w, CW_STR("method"), q->kind->method);
    write_params(&w, q, elicit);
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, NULL);
    if (!rc)
        rc = cw_responder_send(responder, CW_SEND_MESSAGE, cw_buf_str(&b));
    cw_buf_done(&b);
    return rc == CW_OK || rc == CW_AGAIN;
}

/* Give the question an id, under which its answer is found. */
static bool enter_question(cw_mcp_call *call, cw_mcp_elicitation *q, const cw_json *elicit)
{
    cw_responder *responder = call->responder;
    cw_mcp_registry *registry = cw_mcp_registry_of(call->door, responder->loop);
    cw_str id = make_id(responder->arena, registry, cw_mcp_place_of(call->rl));
    *q = (cw_mcp_elicitation){.call = call};
    if (!make_outside_id(q->outside))
        return false;
    q->form = cw_arena_dup_str(responder->arena, cw_mcp_elicit_form(elicit));
    q->kind = cw_mcp_elicit_kind_of(elicit);
    if (!id.p || !q->form.p)
        return false;
    cw_mcp_registry_add(registry->asks, &q->link, id);
    return true;
}

/* Write down one question and send it. */
static bool put_question(cw_mcp_call *call, const cw_json *key)
{
    cw_responder *responder = call->responder;
    cw_mcp_elicitation *q = &call->questions[call->n_questions];
    const cw_json *elicit = cw_json_value(key);
    cw_str name = cw_arena_dup_str(responder->arena, cw_json_text(key));
    if (!name.p || !enter_question(call, q, elicit))
        return false;
    q->key = name;
    call->n_questions++;
    call->n_open++;
    return send_elicitation(responder, q, elicit);
}

static void release_view(void *ctx)
{
    const cw_mcp_call *call = ctx;
    cw_view_unref(call->view);
}

/* The exchange is over when this has returned, and its view with it: keep it. */
bool cw_mcp_call_hold_view(cw_mcp_call *call)
{
    cw_rpc_batch *batch = call->item->batch;
    if (call->holds_view)
        return true;
    cw_view_ref(call->view);
    if (cw_arena_hold(batch->responder->arena, call, release_view))
        return false;
    call->holds_view = true;
    batch->opts.view = call->view;
    return true;
}

static void start_waiting(cw_mcp_call *call)
{
    cw_loop *loop = call->responder->loop;
    cw_mcp_registry *registry = cw_mcp_registry_of(call->door, loop);
    uint64_t ms = cw_runtime_config(call->rl)->mcp.elicitation_timeout_ms;
    registry->n_waiting += !call->is_waiting;
    call->is_waiting = true;
    if (registry->waiting.ms != ms)
        cw_loop_set_duration(loop, &registry->waiting, ms);
    cw_loop_set_deadline(loop, &call->wait, &registry->waiting);
    call->item->on_stopping = on_stopping;
}

static void ask_client(cw_mcp_call *call, const cw_outcome *outcome)
{
    cw_responder *responder = call->responder;
    cw_mcp_registry *registry = cw_mcp_registry_of(call->door, responder->loop);
    size_t n = cw_json_count(outcome->asks);
    /* People take their time, and a client on lines may begin any number of calls meanwhile. */
    if (registry->n_waiting >= cw_runtime_settings_of(call->rl)->calls) {
        cw_mcp_call_fail(call, "Too many calls wait for answers of their clients.");
        return;
    }
    call->item->call = (cw_call_handle){0};
    call->questions = cw_arena_calloc(responder->arena, n, sizeof *call->questions);
    call->state = cw_arena_dup_str(responder->arena, outcome->state);
    bool is_ok = call->questions && call->state.p && cw_mcp_call_hold_view(call);
    for (const cw_json *k = cw_json_first(outcome->asks); is_ok && k; k = cw_json_next_key(k))
        is_ok = put_question(call, k);
    if (!is_ok) {
        cw_mcp_call_fail(call, "The client could not be asked.");
        return;
    }
    start_waiting(call);
}

/* ---- questions of a task ---- */

/* Enter a question in the task under a key that no other one of its questions has. */
static bool enter_in_task(cw_mcp_call *call, cw_mcp_elicitation *q, const char *key,
                          const cw_json *elicit)
{
    cw_arena *arena = call->responder->arena;
    q->call = call;
    q->kind = cw_mcp_elicit_kind_of(elicit);
    q->link.key = key ? cw_str_from(key) : (cw_str){NULL, 0};
    q->form = cw_arena_dup_str(arena, cw_mcp_elicit_form(elicit));
    return key && q->form.p && cw_mcp_task_ask(call->task, q->link.key, elicit);
}

/* A method has ended with questions: they wait in the task, by round and name. */
static void ask_all_in_task(cw_mcp_call *call, const cw_outcome *outcome)
{
    cw_arena *arena = call->responder->arena;
    size_t n = cw_json_count(outcome->asks);
    call->item->call = (cw_call_handle){0};
    call->questions = cw_arena_calloc(arena, n, sizeof *call->questions);
    call->state = cw_arena_dup_str(arena, outcome->state);
    bool is_ok = n && call->questions && call->state.p;
    for (const cw_json *k = cw_json_first(outcome->asks); is_ok && k; k = cw_json_next_key(k)) {
        cw_mcp_elicitation *q = &call->questions[call->n_questions];
        q->key = cw_arena_dup_str(arena, cw_json_text(k));
        const char *key =
            q->key.p ? cw_arena_printf(arena, "%u.%.*s", call->n_rounds, CW_STR_ARG(q->key)) : NULL;
        is_ok = enter_in_task(call, q, key, cw_json_value(k));
        call->n_questions++;
        call->n_open++;
    }
    if (is_ok)
        start_waiting(call);
    else
        cw_mcp_call_fail(call, "The client could not be asked.");
}

/* The method asks, and runs on. */
static bool ask_in_task(cw_mcp_call *call, const cw_question *question)
{
    cw_arena *arena = call->responder->arena;
    cw_mcp_elicitation *q = cw_arena_calloc(arena, 1, sizeof *q);
    const char *key = cw_arena_printf(arena, "q%u.%u", call->n_rounds, (unsigned)question->number);
    if (!q || !enter_in_task(call, q, key, question->request))
        return false;
    q->is_running = true;
    q->number = question->number;
    q->next = call->asked;
    call->asked = q;
    call->n_asked++;
    start_waiting(call);
    return true;
}

/* ---- questions of a call that runs on ---- */

static bool ask_running(cw_mcp_call *call, const cw_question *question)
{
    const cw_mcp_registry *registry = cw_mcp_registry_of(call->door, call->responder->loop);
    bool is_full = registry->n_waiting >= cw_runtime_settings_of(call->rl)->calls;
    cw_mcp_elicitation *q = is_full ? NULL : cw_arena_calloc(call->responder->arena, 1, sizeof *q);
    if (!q || !enter_question(call, q, question->request))
        return false;
    q->is_running = true;
    q->number = question->number;
    q->next = call->asked;
    call->asked = q;
    if (!send_elicitation(call->responder, q, question->request)) {
        cw_list_remove(&q->link.node);
        return false;
    }
    call->n_asked++;
    start_waiting(call);
    return true;
}

void cw_mcp_elicit_ask(cw_mcp_call *call, const cw_question *question)
{
    bool is_asked = false;
    if (cw_mcp_elicit_kind_of(question->request) && call->task)
        is_asked = ask_in_task(call, question);
    else if (cw_mcp_elicit_kind_of(question->request) && call->era->is_modern)
        is_asked = cw_mcp_park(call, question);
    else if (cw_mcp_elicit_kind_of(question->request) && call->may_stream && call->session.is_named)
        is_asked = ask_running(call, question);
    if (!is_asked)
        cw_call_answer(call->rl, call->item->call, question->number, CW_STR(""),
                       CW_STR("The client cannot be asked."));
}

void cw_mcp_elicit_take_back(cw_mcp_call *call, uint32_t number)
{
    for (cw_mcp_elicitation *q = call->asked; q; q = q->next) {
        if (q->number != number || !is_open(q))
            continue;
        if (call->task)
            cw_mcp_task_take_back(call->task, q->link.key);
        withdraw(call, q, "The server has taken its question back.");
        close_asked(q);
        return;
    }
}

static void take_running_answer(cw_mcp_elicitation *q, const cw_json *result, cw_str problem)
{
    cw_mcp_call *call = q->call;
    cw_err err = {0};
    if (result && check_answer(call, q->kind, q->form, result, &err)) {
        problem = cw_str_from(err.msg);
        result = NULL;
    }
    close_asked(q);
    cw_call_answer(call->rl, call->item->call, q->number,
                   result ? cw_json_span(result) : CW_STR(""), problem);
}

/* ---- the answers of a legacy client ---- */

/* Rights may have been taken away while the client thought: from now on those of the request count
 * that brought the last answer, and what it does not see is not there. False: the call is answered.
 */
static bool renew_view(cw_mcp_call *call, cw_view *view)
{
    cw_mcp_request r = {.door = call->door,
                        .rl = call->rl,
                        .view = view,
                        .responder = call->responder,
                        .item = call->item,
                        .era = call->era,
                        .session = &call->session};
    cw_call_lookup general = {0};
    cw_call_lookup same = {
        .in = call->target.ops->same, .name = call->target.name, .entry = call->target.entry};
    cw_call_found found;
    cw_code rc = cw_mcp_find(&r, general, &found);
    if (!rc)
        rc = cw_mcp_find(&r, same, &found);
    cw_view *old = call->view;
    call->view = call->item->batch->opts.view = cw_view_ref(view);
    call->target.entry = found.entry;
    cw_view_unref(old);
    if (!rc)
        return true;
    cw_mcp_call_close(call);
    if (rc == CW_DECLINED)
        cw_mcp_refuse(call->item, found.verdict, NULL);
    else
        call->target.ops->fail_unknown(&r, call->target.name);
    return false;
}

/* All are there: run the method again. */
static void go_on(cw_mcp_call *call, cw_view *view)
{
    cw_arena *arena = call->responder->arena;
    cw_mcp_elicit_reply fresh[CW_MCP_MAX_ELICITATIONS];
    size_t n = call->n_questions;
    const cw_json *old = NULL;
    cw_str answers = {NULL, 0};
    for (size_t i = 0; i < n; i++)
        fresh[i] = (cw_mcp_elicit_reply){call->questions[i].key, call->questions[i].answer};
    if (!call->answers.n || !cw_json_read(call->answers, NULL, arena, &old, NULL, NULL))
        answers = join(old, fresh, n, arena);
    cw_mcp_elicit_drop(call);
    call->answers = answers;
    if (!answers.p) {
        cw_mcp_call_fail(call, "There is not enough memory for the answers.");
        return;
    }
    if (!renew_view(call, view))
        return;
    if (call->task)
        cw_mcp_task_run_again(call->task);
    else
        cw_mcp_call_run(call, call->target.params);
}

/* The question with this key in the task, if it is open. */
static cw_mcp_elicitation *find_in_task(const cw_mcp_call *call, cw_str key)
{
    for (size_t i = 0; i < call->n_questions; i++) {
        if (!call->questions[i].answer.n && cw_str_eq(call->questions[i].link.key, key))
            return &call->questions[i];
    }
    for (cw_mcp_elicitation *q = call->asked; q; q = q->next) {
        if (!q->answer.n && cw_str_eq(q->link.key, key))
            return q;
    }
    return NULL;
}

void cw_mcp_elicit_take(cw_mcp_call *call, cw_view *view, cw_str key, const cw_json *answer)
{
    cw_mcp_elicitation *q = find_in_task(call, key);
    if (!q)
        return;
    q->answer = cw_arena_dup_str(call->responder->arena, cw_json_span(answer));
    if (!q->answer.p) {
        give_up(call, "There is not enough memory for the answer.");
    } else if (q->is_running) {
        close_asked(q);
        cw_call_answer(call->rl, call->item->call, q->number, q->answer, CW_STR(""));
    } else if (--call->n_open == 0) {
        go_on(call, view);
    }
}

static void refuse_answer(cw_mcp_elicitation *q, cw_str why)
{
    char text[256];
    cw_str method = q->kind->method;
    snprintf(text, sizeof text, "The client could not answer '%.*s': %.*s", CW_STR_ARG(method),
             (int)cw_utf8_cut(why, 160), why.p);
    give_up(q->call, text);
}

static void take_answer(cw_mcp_elicitation *q, cw_view *view, const cw_json *message)
{
    cw_mcp_call *call = q->call;
    const cw_json *result = cw_json_get(message, CW_STR("result"));
    const cw_json *error = cw_json_get(cw_json_get(message, CW_STR("error")), CW_STR("message"));
    cw_err err = {0};
    if (q->is_running) {
        take_running_answer(q, result,
                            cw_json_is(error, CW_JSON_STRING)
                                ? cw_json_text(error)
                                : CW_STR("The client has no answer."));
        return;
    }
    cw_list_remove(&q->link.node);
    if (!result) {
        refuse_answer(q, cw_json_is(error, CW_JSON_STRING) ? cw_json_text(error)
                                                           : CW_STR("it says nothing"));
        return;
    }
    if (check_answer(call, q->kind, q->form, result, &err)) {
        refuse_answer(q, cw_str_from(err.msg));
        return;
    }
    q->answer = cw_arena_dup_str(call->responder->arena, cw_json_span(result));
    if (!q->answer.p)
        give_up(call, "There is not enough memory for the answer.");
    else if (--call->n_open == 0)
        go_on(call, view);
}

/* How an answer travels to the loop that has asked. */
typedef struct parcel {
    cw_mcp *door;
    cw_caller *caller;                   /* NULL: the anonymous one */
    unsigned char number[CW_MCP_NUMBER]; /* of the session it came through */
    bool has_joined;                     /* cw_mcp_session.has_joined */
    unsigned char opened[CW_MCP_NUMBER];
    size_t n_id; /* id and message follow */
} parcel;

/* The caller of the parcel goes on with a call that the anonymous caller began: from now on it is
 * that caller's alone. False: out of memory. */
static bool adopt(cw_mcp_call *call, const parcel *p, const cw_view *view)
{
    cw_list *calls = cw_mcp_registry_of(call->door, call->responder->loop)->calls;
    if (!cw_mcp_call_rekey(calls, &call->link, p->number, call->responder->arena))
        return false;
    memcpy(call->session.number, p->number, CW_MCP_NUMBER);
    cw_mcp_watch_login(call->rl, view, &call->called_by);
    return true;
}

static bool is_number(const cw_mcp_call *call, const unsigned char number[CW_MCP_NUMBER])
{
    return memcmp(call->session.number, number, CW_MCP_NUMBER) == 0;
}

static void take_parcel(cw_runtime_loop *rl, parcel p, cw_str bytes)
{
    cw_str id = cw_str_make(bytes.p + sizeof p, p.n_id);
    cw_str text = cw_str_make(id.p + id.n, bytes.n - sizeof p - p.n_id);
    cw_mcp_registry *registry = cw_mcp_registry_of(p.door, cw_runtime_loop_of(rl));
    cw_mcp_registry_entry *link = cw_mcp_registry_find(registry->asks, id, NULL);
    if (!link)
        return; /* too late, or never asked */
    cw_mcp_elicitation *q = CW_CONTAINER(link, cw_mcp_elicitation, link);
    cw_mcp_call *call = q->call;
    bool is_adopted = p.has_joined && is_number(call, p.opened);
    if (!is_adopted && !is_number(call, p.number))
        return;
    const cw_json *message;
    cw_view *view = cw_runtime_view_in(rl, p.caller, cw_view_toolset(call->view));
    if (!view || (is_adopted && !adopt(call, &p, view)) ||
        cw_json_read(text, NULL, call->responder->arena, &message, NULL, NULL))
        give_up(call, "There is not enough memory for the answer.");
    else
        take_answer(q, view, message);
}

static void on_answer(cw_runtime_loop *rl, cw_str bytes)
{
    parcel p;
    memcpy(&p, bytes.p, sizeof p);
    take_parcel(rl, p, bytes);
}

/* Addresses in it are those of the process that has sent it. */
void cw_mcp_take_answer(cw_runtime_loop *rl, cw_str bytes, cw_caller *caller)
{
    parcel p;
    if (bytes.n < sizeof p)
        return;
    memcpy(&p, bytes.p, sizeof p);
    p.caller = caller;
    if (p.n_id <= bytes.n - sizeof p)
        take_parcel(rl, p, bytes);
}

/* The place that an id names. */
static bool place_of(const cw_json *id, int64_t *ret_number, uint32_t *ret_place)
{
    if (!cw_json_is_integer(id) || !cw_json_to_i64(id, ret_number) || *ret_number < 0 ||
        *ret_number >> 53)
        return false;
    *ret_place = (uint32_t)((uint64_t)*ret_number >> ID_RANDOM_BITS);
    return true;
}

static void send_answer(const cw_mcp_request *r, uint32_t place, cw_caller *caller, cw_str bytes)
{
    uint32_t loop;
    bool is_here = cw_mcp_place_is_here(r->rl, place, &loop);
    cw_mcp_count_answer(/* is_letter= */ !is_here);
    if (is_here) {
        cw_runtime_send(r->rl, loop, caller, on_answer, bytes);
        return;
    }
    const cw_http_req *req = cw_responder_req(r->responder);
    cw_str header = req && caller ? cw_http_req_authorization(req) : CW_STR("");
    /* A caller without such a header has logged in otherwise, and cannot be identified elsewhere. */
    if (!caller || header.n)
        cw_mcp_send_away(r, place, CW_MCP_LETTER_ANSWER, header, bytes);
}

void cw_mcp_elicit_answer(const cw_mcp_request *r, const cw_json *message)
{
    const cw_json *id = cw_json_get(message, CW_STR("id"));
    char digits[CW_DIGITS_SIZE];
    int64_t number;
    uint32_t place;
    if (!r->session->is_named || !id || !place_of(id, &number, &place))
        return;
    cw_runtime_loop *rl = r->rl;
    cw_str name = cw_digits_u64((uint64_t)number, digits), text = cw_json_span(message);
    const cw_view *view = r->view;
    parcel p;
    memset(&p, 0, sizeof p); /* also what lies between the members: it is copied as bytes */
    p.door = r->door;
    p.n_id = name.n;
    if (!cw_runtime_is_anonymous(rl, view) && !cw_caller_is_anonymous(cw_view_caller(view)))
        p.caller = cw_view_caller(view);
    memcpy(p.number, r->session->number, CW_MCP_NUMBER);
    p.has_joined = r->session->has_joined;
    memcpy(p.opened, r->session->opened, CW_MCP_NUMBER);
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_buf_add(&b, cw_str_make((const char *)&p, sizeof p));
    cw_buf_add(&b, name);
    cw_buf_add(&b, text);
    if (!b.code)
        send_answer(r, place, p.caller, cw_buf_str(&b));
    cw_buf_done(&b);
}

/* ---- both ---- */

#define CAPABILITY_NAME 48

/* "elicitation", "elicitation.url": the name of a capability that is written as JSON. */
static void name_capability(const char *json, char name[CAPABILITY_NAME])
{
    size_t n = 0;
    bool is_in_name = false;
    for (const char *p = json; *p && n + 2 < CAPABILITY_NAME; p++) {
        if (*p == '"' && !is_in_name && n)
            name[n++] = '.';
        if (*p == '"')
            is_in_name = !is_in_name;
        else if (is_in_name)
            name[n++] = *p;
    }
    name[n] = 0;
}

static void fail_missing(cw_mcp_call *call, const char *capability)
{
    char text[160], name[CAPABILITY_NAME], message[CAPABILITY_NAME + 32];
    if (!call->era->is_modern) {
        snprintf(text, sizeof text, "The method asks something that this client cannot answer: %s",
                 capability);
        cw_mcp_call_fail(call, text);
        return;
    }
    name_capability(capability, name);
    snprintf(message, sizeof message, "Missing client capability: %s", name);
    snprintf(text, sizeof text, "{\"requiredCapabilities\":%s}", capability);
    cw_mcp_call_close(call);
    cw_door_reply_error(call->item, &(cw_door_error){.status = 400,
                                                     .code = CW_MCP_CAPABILITY,
                                                     .message = cw_str_from(message),
                                                     .data = cw_str_from(text)});
}

void cw_mcp_elicit(cw_mcp_call *call, const cw_outcome *outcome)
{
    size_t n = cw_json_count(outcome->asks);
    const char *capability =
        cw_mcp_elicit_missing(call->session.client_capabilities, outcome->asks);
    if (n > CW_MCP_MAX_ELICITATIONS || ++call->n_rounds > CW_MCP_ROUNDS ||
        (capability && !*capability)) {
        cw_mcp_call_fail(call, "The method asks too much of the client.");
        return;
    }
    if (capability) {
        fail_missing(call, capability);
    } else if (call->task) {
        ask_all_in_task(call, outcome);
    } else if (call->era->is_modern && take_early(call, outcome)) {
        cw_mcp_call_run(call, call->target.params);
    } else if (call->era->is_modern) {
        cw_mcp_call_close(call);
        cw_mcp_elicit_reply_input(call, outcome);
    } else if (n == 0 || !call->may_stream || !call->session.is_named) {
        cw_mcp_call_fail(call, "The method asks something, and the client cannot be asked here.");
    } else {
        ask_client(call, outcome);
    }
}
