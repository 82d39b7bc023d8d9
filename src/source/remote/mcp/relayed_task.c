/* SPDX-License-Identifier: GPL-2.0-or-later */
/* relayed_task.c - requests about a task of an MCP server, and the states that they show. */
#include "source/remote/mcp/relayed_task.h"

#include <stdio.h>
#include <stdlib.h>

#include "json/write.h"
#include "source/protocol/sanitize.h"

#define DEFAULT_POLL_MS 1000u
#define CANCELLED_ANSWER CW_STR("{\"action\":\"cancel\"}")

typedef enum question_state {
    ASKED,    /* the client has it */
    ANSWERED, /* the answer is to be sent */
    SENDING,  /* it is under way */
    SENT,
} question_state;

typedef struct question {
    cw_list node;
    uint32_t number;
    question_state state;
    char *key;
    size_t n_key;
    char *answer; /* JSON; NULL: none */
    bool is_form; /* an elicitation: its answer may be "cancel" */
    bool is_seen; /* in the last response */
} question;

struct cw_relayed_task {
    const cw_relayed_target *target;
    cw_list questions;
    uint32_t n;
    unsigned asks;
    bool is_strict;
    char problem[CW_ERR_MSG_MAX]; /* why it cannot continue; empty: no problem */
    size_t n_caller;
    char caller[]; /* NOLINT: of n_caller bytes */
};

static question *question_at(cw_list *node)
{
    return CW_CONTAINER(node, question, node);
}

static const cw_json *text_in(const cw_json *v, const char *name)
{
    const cw_json *member = cw_json_get(v, cw_str_from(name));
    return cw_json_is(member, CW_JSON_STRING) ? member : NULL;
}

static uint32_t interval_of(const cw_json *task)
{
    const cw_json *v = cw_json_get(task, CW_STR("pollIntervalMs"));
    int64_t ms = 0;
    if (!cw_json_is(v, CW_JSON_NUMBER) || !cw_json_to_i64(v, &ms) || ms <= 0)
        return DEFAULT_POLL_MS;
    return ms > CW_FOLLOW_MAX_MS ? CW_FOLLOW_MAX_MS : (uint32_t)ms;
}

bool cw_relayed_is_task(const cw_json *result, cw_follow_start *ret_start)
{
    const cw_json *type = text_in(result, "resultType"), *id = text_in(result, "taskId");
    if (!type || !cw_str_is(cw_json_text(type), "task") || !id || id->n == 0)
        return false;
    ret_start->key = cw_json_text(id);
    ret_start->poll_ms = interval_of(result);
    return true;
}

cw_relayed_task *cw_relayed_task_new(const cw_relayed_target *target, const cw_relay_request *call,
                                     bool is_strict)
{
    cw_relayed_task *task = calloc(1, sizeof *task + call->caller.n);
    if (!task)
        return NULL;
    task->target = target;
    task->asks = call->capabilities;
    task->is_strict = is_strict;
    task->n_caller = call->caller.n;
    if (call->caller.n)
        memcpy(task->caller, call->caller.p, call->caller.n);
    cw_list_init(&task->questions);
    return task;
}

static void free_question(question *q)
{
    cw_list_remove(&q->node);
    free(q->key);
    free(q->answer);
    free(q);
}

void cw_relayed_task_free(cw_relayed_task *task)
{
    if (!task)
        return;
    CW_LIST_EACH_SAFE (node, &task->questions)
        free_question(question_at(node));
    free(task);
}

static void free_task(cw_follower *f)
{
    cw_relayed_task_free(cw_follower_self(f));
}

/* ---- requests ---- */

static void add_answers(cw_relayed_task *task, cw_buf *out)
{
    char separator = '{';
    cw_buf_add(out, CW_STR(",\"inputResponses\":"));
    CW_LIST_EACH (node, &task->questions) {
        question *q = question_at(node);
        if (q->state != ANSWERED && q->state != SENDING)
            continue;
        cw_buf_add_char(out, separator);
        cw_json_escape(out, cw_str_make(q->key, q->n_key));
        cw_buf_add_char(out, ':');
        cw_buf_add(out, cw_str_from(q->answer));
        q->state = SENDING;
        separator = ',';
    }
    cw_buf_add(out, separator == '{' ? CW_STR("{}") : CW_STR("}"));
}

static cw_code write_step(const cw_follower *f, cw_follow_step step, cw_arena *arena,
                          cw_follow_request *ret)
{
    cw_relayed_task *task = cw_follower_self(f);
    const char *method = step == CW_FOLLOW_POLL     ? "tasks/get"
                         : step == CW_FOLLOW_CANCEL ? "tasks/cancel"
                         : step == CW_FOLLOW_UPDATE ? "tasks/update"
                                                    : NULL;
    if (!method)
        return CW_NOTFOUND;
    CW_CLEANUP(cw_buf_done) cw_buf members;
    cw_buf_init(&members, CW_BUF_MAX);
    cw_buf_add(&members, CW_STR("\"taskId\":"));
    cw_json_escape(&members, cw_follower_key(f));
    if (step == CW_FOLLOW_UPDATE)
        add_answers(task, &members);
    cw_str text = members.code ? (cw_str){NULL, 0} : cw_arena_dup_str(arena, cw_buf_str(&members));
    *ret = (cw_follow_request){.relay = {.method = cw_str_from(method),
                                         .members = text,
                                         .meta = CW_STR(""),
                                         .traceparent = CW_STR(""),
                                         .tracestate = CW_STR(""),
                                         .name = cw_follower_key(f),
                                         .caller = cw_str_make(task->caller, task->n_caller),
                                         .log_level = CW_STR(""),
                                         .last_event = CW_STR(""),
                                         .capabilities = task->asks,
                                         .takes_tasks = true}};
    return text.p ? CW_OK : CW_NOMEM;
}

/* ---- questions ---- */

static question *find_question(const cw_relayed_task *task, cw_str key)
{
    CW_LIST_EACH (node, &task->questions) {
        question *q = question_at(node);
        if (cw_str_eq(cw_str_make(q->key, q->n_key), key))
            return q;
    }
    return NULL;
}

static bool may_ask(const cw_relayed_task *task, const cw_json *request)
{
    const cw_json *method = text_in(request, "method");
    unsigned bit =
        method ? cw_relay_question(cw_json_text(method), cw_json_get(request, CW_STR("params")))
               : 0;
    return bit & task->asks;
}

/* Pass a question to the client. False: it is not allowed, or there are too many, or no memory. */
static bool ask(cw_follower *f, cw_relayed_task *task, cw_str key, const cw_json *request)
{
    if (task->n >= CW_RELAYED_QUESTIONS || key.n > CW_FOLLOW_KEY || !may_ask(task, request))
        return false;
    question *q = calloc(1, sizeof *q);
    char *copy = q ? cw_str_dup(key) : NULL;
    if (!copy) {
        free(q);
        return false;
    }
    const cw_json *method = text_in(request, "method");
    q->number = ++task->n;
    q->key = copy;
    q->n_key = key.n;
    q->is_form = cw_str_is(cw_json_text(method), "elicitation/create");
    q->is_seen = true;
    cw_list_add(&task->questions, &q->node);
    cw_sink *sink = cw_follower_call(f)->sink;
    sink->ops->ask(sink, &(cw_question){q->number, request});
    return true;
}

/* Withdraw questions that are missing in the last response. The sink may end the call. */
static void withdraw_unseen(cw_follower *f, cw_relayed_task *task)
{
    CW_LIST_EACH (node, &task->questions) {
        question *q = question_at(node);
        if (q->is_seen || q->state != ASKED || !cw_follower_call(f))
            continue;
        q->state = SENT;
        cw_sink *sink = cw_follower_call(f)->sink;
        sink->ops->withdraw(sink, q->number);
    }
}

/* False: a question of the server could not be passed on. */
static bool take_questions(cw_follower *f, cw_relayed_task *task, const cw_json *requests)
{
    bool is_map = cw_json_is(requests, CW_JSON_OBJECT);
    CW_LIST_EACH (node, &task->questions)
        question_at(node)->is_seen = false;
    for (const cw_json *k = is_map ? cw_json_first(requests) : NULL; k; k = cw_json_next_key(k)) {
        question *q = find_question(task, cw_json_text(k));
        if (q)
            q->is_seen = true;
        else if (!ask(f, task, cw_json_text(k), cw_json_value(k)))
            return false;
        if (!cw_follower_call(f))
            return true;
    }
    withdraw_unseen(f, task);
    return true;
}

static void answer(cw_follower *f, uint32_t number, cw_str result, cw_str problem)
{
    cw_relayed_task *task = cw_follower_self(f);
    CW_LIST_EACH (node, &task->questions) {
        question *q = question_at(node);
        if (q->number != number || q->state != ASKED)
            continue;
        q->state = ANSWERED;
        q->answer =
            result.n || q->is_form ? cw_str_dup(result.n ? result : CANCELLED_ANSWER) : NULL;
        if (!q->answer) { /* `problem` ends the task with the next poll */
            q->state = SENT;
            snprintf(task->problem, sizeof task->problem, "%.*s", CW_STR_ARG(problem));
        }
        cw_follower_send(f, q->answer ? CW_FOLLOW_UPDATE : CW_FOLLOW_POLL);
        return;
    }
}

/* ---- states ---- */

static void fail(cw_follow_state *ret, int64_t code, cw_str why)
{
    ret->has_ended = true;
    ret->outcome = (cw_outcome){
        .kind = CW_OUTCOME_FAILED, .fault = CW_FAULT_PROTOCOL, .code = code, .message = why};
}

/* The error of a task that has failed. */
static void take_error(const cw_json *task, cw_arena *arena, cw_follow_state *ret)
{
    const cw_json *error = cw_json_get(task, CW_STR("error"));
    const cw_json *code = cw_json_get(error, CW_STR("code")), *text = text_in(error, "message");
    int64_t number = 0;
    cw_str message = text ? cw_sanitize_message(cw_json_text(text), arena) : (cw_str){NULL, 0};
    if (!code || !cw_json_to_i64(code, &number))
        number = 0;
    fail(ret, number, message.p ? message : CW_STR("The task has failed at the server."));
}

/* The server has the answers that were under way. */
static void mark_sent(cw_relayed_task *task)
{
    CW_LIST_EACH (node, &task->questions) {
        question *q = question_at(node);
        if (q->state == SENDING)
            q->state = SENT;
    }
}

static void judge(cw_follower *f, cw_follow_step step, const cw_outcome *polled, cw_arena *arena,
                  cw_follow_state *ret)
{
    cw_relayed_task *task = cw_follower_self(f);
    const cw_json *state = polled->result;
    const cw_json *status = text_in(state, "status"), *message = text_in(state, "statusMessage");
    cw_str name = status ? cw_json_text(status) : CW_STR("");
    if (step == CW_FOLLOW_UPDATE) {
        mark_sent(task);
        return;
    }
    if (task->problem[0]) {
        fail(ret, 0, cw_str_from(task->problem));
        ret->cancels = true;
    } else if (cw_str_is(name, "completed")) {
        ret->has_ended = true;
        ret->outcome =
            (cw_outcome){.kind = CW_OUTCOME_RESULT, .result = cw_json_get(state, CW_STR("result"))};
        cw_relayed_result(task->target, CW_STR(""), task->is_strict, /* asks= */ 0, &ret->outcome);
    } else if (cw_str_is(name, "failed")) {
        take_error(state, arena, ret);
    } else if (cw_str_is(name, "cancelled")) {
        fail(ret, 0, CW_STR("The task was cancelled at the server."));
    } else if (!cw_str_is(name, "working") && !cw_str_is(name, "input_required")) {
        fail(ret, 0, CW_STR("The server returned a state of a task that is none."));
    } else if (!take_questions(f, task, cw_json_get(state, CW_STR("inputRequests")))) {
        fail(ret, 0, CW_STR("The server asks something that it may not ask here."));
        ret->cancels = true;
    } else {
        ret->poll_ms = interval_of(state);
        ret->progress.message = message ? cw_json_text(message) : CW_STR("");
    }
}

const cw_follow_ops cw_relayed_task_ops = {
    .write = write_step, .judge = judge, .answer = answer, .free = free_task};
