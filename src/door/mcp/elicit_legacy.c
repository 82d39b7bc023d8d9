/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elicit_legacy.c - questions to clients of the handshake: requests of our own, on the stream of
 * the call that asks. The answers arrive as requests of theirs, on any loop.
 */
#include <stdio.h>

#include "base/random.h"
#include "base/utf8.h"
#include "door/mcp/elicit.h"

#define ID_PREFIX "causeway-"
#define ID_RANDOM 16u /* bytes */

/* ---- asking ---- */

void cw_mcp_elicit_drop(cw_mcp_call *call)
{
    if (call->is_waiting)
        cw_mcp_registry_of(call->door, call->responder->loop)->n_waiting--;
    call->is_waiting = false;
    cw_deadline_clear(&call->wait);
    call->item->on_stopping = NULL;
    for (size_t i = 0; i < call->n_questions; i++)
        cw_mcp_registry_remove(&call->questions[i].link);
    call->n_questions = call->n_open = 0;
}

void cw_mcp_elicit_withdraw(cw_mcp_call *call, const char *why)
{
    for (size_t i = 0; i < call->n_questions; i++) {
        cw_mcp_elicitation *q = &call->questions[i];
        cw_buf b;
        cw_json_writer w;
        if (!q->link.next)
            continue;
        cw_mcp_open_notification(&w, &b, CW_STR("notifications/cancelled"));
        cw_json_add_string_member(&w, CW_STR("requestId"), q->link.key);
        cw_json_add_string_member(&w, CW_STR("reason"), cw_str_from(why));
        cw_mcp_send_notification(call->responder, CW_SEND_MESSAGE, &w, &b);
    }
}

static void give_up(cw_mcp_call *call, const char *why)
{
    cw_mcp_elicit_withdraw(call, why);
    cw_mcp_call_fail(call, why);
}

void cw_mcp_elicit_on_late(cw_deadline *d)
{
    give_up(CW_CONTAINER(d, cw_mcp_call, wait), "The client did not answer in time.");
}

/* Nobody shall wait for people while the server stops. */
static void on_stopping(cw_rpc_item *item)
{
    give_up(item->self, "The server is stopping.");
}

/* "causeway-LOOP-RANDOM": names the loop, and nobody can guess it. */
static cw_str make_id(cw_arena *arena, uint32_t loop)
{
    unsigned char bytes[ID_RANDOM];
    size_t room = sizeof ID_PREFIX + 12 + 2 * sizeof bytes;
    char *text = cw_arena_alloc(arena, room);
    cw_err err;
    if (!text || cw_random_bytes(bytes, sizeof bytes, &err))
        return (cw_str){NULL, 0};
    int n = snprintf(text, room, ID_PREFIX "%u-", loop);
    for (size_t i = 0; i < sizeof bytes; i++)
        n += snprintf(text + n, room - (size_t)n, "%02x", bytes[i]);
    return cw_str_make(text, (size_t)n);
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
    /* This era wants to name what happens outside. */
    if (cw_mcp_elicit_is_url(elicit) && !cw_json_get(params, CW_STR("elicitationId")))
        cw_json_add_string_member(w, CW_STR("elicitationId"), q->link.key);
    cw_json_close(w);
}

static bool send_elicitation(cw_responder *responder, const cw_mcp_elicitation *q,
                             const cw_json *elicit)
{
    cw_buf b;
    cw_json_writer w;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("jsonrpc"), CW_STR("2.0"));
    cw_json_add_string_member(&w, CW_STR("id"), q->link.key);
    cw_json_add_string_member(&w, CW_STR("method"), cw_mcp_elicit_method(q->kind));
    write_params(&w, q, elicit);
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, NULL);
    if (!rc)
        rc = cw_responder_send(responder, CW_SEND_MESSAGE, cw_buf_str(&b));
    cw_buf_done(&b);
    return rc == CW_OK || rc == CW_AGAIN;
}

/* Write down one question and send it. */
static bool put_question(cw_mcp_call *call, const cw_json *key)
{
    cw_responder *responder = call->responder;
    cw_mcp_elicitation *q = &call->questions[call->n_questions];
    const cw_json *elicit = cw_json_value(key);
    cw_str id = make_id(responder->arena, responder->loop->index);
    *q = (cw_mcp_elicitation){.call = call};
    q->key = cw_arena_dup_str(responder->arena, cw_json_text(key));
    q->form = cw_arena_dup_str(responder->arena, cw_mcp_elicit_form(elicit));
    q->kind = cw_mcp_elicit_kind_of(elicit);
    if (!id.p || !q->key.p || !q->form.p)
        return false;
    cw_mcp_registry_add(cw_mcp_registry_of(call->door, responder->loop)->asks, &q->link, id);
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
static bool hold_view(cw_mcp_call *call)
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

void cw_mcp_elicit_client(cw_mcp_call *call, const cw_outcome *outcome)
{
    cw_responder *responder = call->responder;
    const cw_runtime_settings *settings = cw_runtime_settings_of(call->rl);
    cw_mcp_registry *registry = cw_mcp_registry_of(call->door, responder->loop);
    size_t n = cw_json_count(outcome->asks);
    /* People take their time, and a client on lines may begin any number of calls meanwhile. */
    if (registry->n_waiting >= settings->calls) {
        cw_mcp_call_fail(call, "Too many calls wait for answers of their clients.");
        return;
    }
    call->item->call = (cw_call_handle){0};
    call->questions = cw_arena_calloc(responder->arena, n, sizeof *call->questions);
    call->state = cw_arena_dup_str(responder->arena, outcome->state);
    bool is_ok = call->questions && call->state.p && hold_view(call);
    for (const cw_json *k = cw_json_first(outcome->asks); is_ok && k; k = cw_json_next_key(k))
        is_ok = put_question(call, k);
    if (!is_ok) {
        cw_mcp_call_fail(call, "The client could not be asked.");
        return;
    }
    call->is_waiting = true;
    registry->n_waiting++;
    uint64_t ms = UINT64_C(1000) * settings->elicitation_timeout_s;
    if (registry->waiting.ms != ms)
        cw_loop_set_duration(responder->loop, &registry->waiting, ms);
    cw_loop_set_deadline(responder->loop, &call->wait, &registry->waiting);
    call->item->on_stopping = on_stopping;
}

/* ---- the answers of a legacy client ---- */

/* Rights may have been taken away while the client thought: from now on those of the request count
 * that brought the last answer, and what it does not see is not there. False: the call is answered.
 */
static bool diff_view(cw_mcp_call *call, cw_view *view)
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
        .in = call->job.kind->same, .name = call->job.name, .entry = call->job.entry};
    cw_call_found found;
    cw_code rc = cw_mcp_find(&r, general, &found);
    if (!rc)
        rc = cw_mcp_find(&r, same, &found);
    cw_view *old = call->view;
    call->view = call->item->batch->opts.view = cw_view_ref(view);
    call->job.entry = found.entry;
    cw_view_unref(old);
    if (!rc)
        return true;
    cw_mcp_call_close(call);
    if (rc == CW_DECLINED)
        cw_door_refuse(call->item, found.verdict, NULL);
    else
        call->job.kind->fail_unknown(&r, call->job.name);
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
        answers = cw_mcp_elicit_join(old, fresh, n, arena);
    cw_mcp_elicit_drop(call);
    call->answers = answers;
    if (!answers.p)
        cw_mcp_call_fail(call, "There is not enough memory for the answers.");
    else if (diff_view(call, view))
        cw_mcp_call_run(call);
}

static void refuse_answer(cw_mcp_elicitation *q, cw_str why)
{
    char text[256];
    cw_str method = cw_mcp_elicit_method(q->kind);
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
    cw_mcp_registry_remove(&q->link);
    if (!result) {
        refuse_answer(q, cw_json_is(error, CW_JSON_STRING) ? cw_json_text(error)
                                                           : CW_STR("it says nothing"));
        return;
    }
    if (cw_mcp_elicit_check(call, q->kind, q->form, result, &err)) {
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
    cw_caller *caller;                   /* who answers; NULL: whoever shows no credentials */
    unsigned char number[CW_MCP_NUMBER]; /* of the session it came through */
    size_t n_id;                         /* id and message follow */
} parcel;

static void on_parcel(cw_runtime_loop *rl, cw_str bytes)
{
    parcel p;
    memcpy(&p, bytes.p, sizeof p);
    cw_str id = cw_str_make(bytes.p + sizeof p, p.n_id);
    cw_str text = cw_str_make(id.p + id.n, bytes.n - sizeof p - p.n_id);
    cw_caller *caller = p.caller ? p.caller : cw_view_caller(cw_runtime_anonymous(rl));
    cw_mcp_registry *registry = cw_mcp_registry_of(p.door, cw_runtime_loop_of(rl));
    cw_mcp_registry_entry *link = cw_mcp_registry_find(registry->asks, id, NULL);
    if (!link)
        return; /* too late, or never asked */
    cw_mcp_elicitation *q = CW_CONTAINER(link, cw_mcp_elicitation, link);
    if (memcmp(q->call->session.number, p.number, CW_MCP_NUMBER) != 0 ||
        !cw_str_eq(cw_caller_id(caller), cw_mcp_elicit_caller(q->call)))
        return;
    const cw_json *message;
    cw_view *view = p.caller ? cw_runtime_view(rl, caller) : cw_runtime_anonymous(rl);
    if (!view || cw_json_read(text, NULL, q->call->responder->arena, &message, NULL, NULL))
        give_up(q->call, "There is not enough memory for the answer.");
    else
        take_answer(q, view, message);
}

/* The loop that an id names; false when it is none of ours. */
static bool loop_of(cw_str id, uint32_t *ret)
{
    cw_str prefix = CW_STR(ID_PREFIX), rest;
    uint64_t loop;
    if (!cw_str_starts(id, prefix))
        return false;
    cw_str digits = cw_str_cut(cw_str_make(id.p + prefix.n, id.n - prefix.n), '-', &rest);
    if (!cw_str_to_u64(digits, &loop) || loop > UINT32_MAX)
        return false;
    *ret = (uint32_t)loop;
    return true;
}

void cw_mcp_elicit_answer(const cw_mcp_request *r, const cw_json *message)
{
    const cw_json *id = cw_json_get(message, CW_STR("id"));
    uint32_t loop;
    if (!r->session->is_named || !cw_json_is(id, CW_JSON_STRING) ||
        !loop_of(cw_json_text(id), &loop))
        return;
    cw_runtime_loop *rl = r->rl;
    cw_str name = cw_json_text(id), text = cw_json_span(message);
    const cw_view *view = r->view;
    parcel p = {.door = r->door, .n_id = name.n};
    if (view != cw_runtime_anonymous(rl) && !cw_caller_is_anonymous(cw_view_caller(view)))
        p.caller = cw_view_caller(view);
    memcpy(p.number, r->session->number, CW_MCP_NUMBER);
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_buf_add(&b, cw_str_make((const char *)&p, sizeof p));
    cw_buf_add(&b, name);
    cw_buf_add(&b, text);
    if (!b.code)
        cw_runtime_send(rl, loop, p.caller, on_parcel, cw_buf_str(&b));
    cw_buf_done(&b);
}
