/* SPDX-License-Identifier: GPL-2.0-or-later */
/* task.c - tasks: calls whose answer goes to a record, and the methods that read it. */
#include "door/mcp/task/task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "access/fair_key.h"
#include "base/clock.h"
#include "door/mcp/elicit_kind.h"
#include "door/mcp/task/task_away.h"
#include "door/mcp/task/task_legacy.h"

#define ARENA_MAX ((size_t)16 * CW_JSON_MAX_BYTES)
#define NO_TASKS "This tool runs as a task only, and this client or server does not support tasks."
#define NEVER_A_TASK "This tool does not run as a task."
#define NOTIFY_MS 1000u /* between notifications of progress */
#define STOPPING "The server is stopping."
#define STOPPING_ERROR "{\"code\":-32603,\"message\":\"" STOPPING "\"}"
#define NOT_READ "The database with the tasks cannot be read at the moment."
#define TOO_MANY "Too many requests wait for the database with the tasks."
#define NUMBER_MAX 32u
#define EXACT 1e15 /* larger numbers are rounded */
/* The id of the only message of a task's call. */
#define OWN_ID CW_STR("0")

struct cw_mcp_task {
    cw_responder responder; /* that the call replies to */
    cw_mcp_registry_entry link;
    cw_arena arena;
    cw_mcp_call call;
    cw_str params;        /* its arguments for another run; empty: none */
    cw_task *record;      /* a reference; NULL: it is being made */
    cw_rpc_item *created; /* the request that waits for its id; NULL: answered */
    cw_str peer;
    cw_deadline over;
    cw_loop_hook hook;
    uint64_t notified; /* ms of the loop */
};

static bool has_tasks(const cw_runtime_loop *rl)
{
    return cw_runtime_tasks(rl) && cw_runtime_config(rl)->mcp.tasks.enabled;
}

bool cw_mcp_has_tasks(const cw_mcp_request *r)
{
    return r->era->is_modern && has_tasks(r->rl);
}

static bool is_declared(const cw_mcp_request *r)
{
    return r->era->is_modern && (r->session->client_capabilities & CW_MCP_CAN_TASKS);
}

/* ---- the audit ---- */

static void audit(cw_runtime_loop *rl, const cw_view *view, const cw_responder *responder,
                  const cw_task *task, const char *outcome)
{
    cw_call_audit_task(rl, &(cw_task_record){.view = view,
                                             .door = cw_mcp_door_name(responder),
                                             .outcome = outcome,
                                             .peer = cw_responder_peer(responder),
                                             .tool = cw_task_tool(task),
                                             .method = cw_task_method(task),
                                             .id = cw_task_id(task)});
}

void cw_mcp_task_audit(const cw_mcp_request *r, const cw_task *task, const char *outcome)
{
    audit(r->rl, r->view, r->responder, task, outcome);
}

/* An event of the task that a running part has. */
static void audit_running(const cw_mcp_task *t, const char *outcome)
{
    audit(t->call.rl, t->call.view, &t->responder, t->record, outcome);
}

/* ---- notifications ---- */

/* The message to the loops. */
typedef struct change {
    cw_mcp *door;
    char id[CW_TASK_ID];
} change;

void cw_mcp_task_on_change(cw_runtime_loop *rl, cw_str bytes)
{
    change c;
    memcpy(&c, bytes.p, sizeof c);
    cw_mcp_registry *registry = cw_mcp_registry_of(c.door, cw_runtime_loop_of(rl));
    cw_mcp_registry_entry *link =
        cw_mcp_registry_find(registry->task_watches, cw_str_from(c.id), NULL);
    while (link) {
        cw_mcp_registry_entry *next =
            cw_mcp_registry_find(registry->task_watches, cw_str_from(c.id), link);
        cw_mcp_task_watch *watch = CW_CONTAINER(link, cw_mcp_task_watch, link);
        watch->on_change(watch);
        link = next;
    }
}

static void notify(cw_mcp *door, cw_runtime_loop *rl, const cw_task *record)
{
    change c;
    if (!cw_task_is_watched(record))
        return;
    memset(&c, 0, sizeof c);
    c.door = door;
    memcpy(c.id, cw_task_id(record).p, cw_task_id(record).n);
    cw_runtime_broadcast(rl, cw_mcp_task_on_change, cw_str_make((const char *)&c, sizeof c));
}

/* A change of a running task, for the subscribers of both eras. */
static void notify_all(cw_mcp_task *t)
{
    notify(t->call.door, t->call.rl, t->record);
    if (!t->call.era->is_modern)
        cw_mcp_notify_legacy_task(t->call.door, t->call.rl, &t->call.session, t->record);
}

/* ---- the running part ---- */

/* Its call is over: neither its time nor an answer matters any more. */
static void stop(cw_mcp_task *t)
{
    cw_list_remove(&t->link.node);
    cw_mcp_elicit_drop(&t->call);
    cw_deadline_clear(&t->over);
}

static void free_task(cw_mcp_task *t)
{
    stop(t);
    cw_loop_remove_hook(&t->hook);
    if (t->created)
        t->created->on_gone = NULL;
    if (t->record)
        cw_task_leave(t->record);
    cw_task_unref(t->record);
    cw_arena_done(&t->arena);
    free(t);
}

/* The end of the record can be read. */
static void on_ended(void *self)
{
    cw_mcp_task *t = self;
    audit_running(t, cw_task_status_name(cw_task_status_of(t->record)));
    notify_all(t);
    free_task(t);
}

/* End the record, and the running part when that can be read. */
static void finish(cw_mcp_task *t, cw_task_status status, cw_str message, cw_str payload)
{
    t->call.item->call = (cw_call_handle){0};
    if (cw_task_end(t->record, status, message, payload))
        stop(t);
    else
        on_ended(t);
}

static void fail(cw_mcp_task *t, const char *text)
{
    CW_CLEANUP(cw_buf_done) cw_buf error;
    cw_buf_init(&error, CW_BUF_MAX);
    cw_buf_printf(&error, "{\"code\":%d,\"message\":\"%s\"}", CW_RPC_INTERNAL, text);
    finish(t, CW_TASK_FAILED, cw_str_from(text), cw_buf_str(&error));
}

/* The record is cancelled already. */
static void on_cancelled(void *self)
{
    cw_mcp_task *t = self;
    cw_call_handle handle = t->call.item->call;
    t->call.item->call = (cw_call_handle){0};
    cw_call_cancel(t->call.rl, handle);
    stop(t);
}

void cw_mcp_task_on_over(cw_deadline *d)
{
    cw_mcp_task *t = CW_CONTAINER(d, cw_mcp_task, over);
    cw_loop *loop = t->responder.loop;
    /* mcp.tasks.ttl was shortened: a task keeps the time that it was given. */
    if (cw_task_until(t->record) > cw_clock_wall_ms()) {
        cw_loop_set_deadline(loop, &t->over, &cw_mcp_registry_of(t->call.door, loop)->task_ends);
        return;
    }
    /* A job of the service is not the task's: it goes on. */
    cw_call_handle handle = t->call.item->call;
    t->call.item->call = (cw_call_handle){0};
    cw_call_abandon(t->call.rl, handle);
    fail(t, CW_TASK_OVER);
}

/* The store writes the end without the running part. */
static void on_loop_end(cw_loop_hook *hook)
{
    cw_mcp_task *t = CW_CONTAINER(hook, cw_mcp_task, hook);
    cw_task *record = cw_task_ref(t->record);
    (void)cw_call_set_sink(t->call.rl, t->call.item->call, NULL);
    audit_running(t, cw_task_status_name(CW_TASK_FAILED));
    free_task(t);
    (void)!cw_task_end(record, CW_TASK_FAILED, CW_STR(STOPPING), CW_STR(STOPPING_ERROR));
    cw_task_unref(record);
}

/* ---- its responder ---- */

/* An answer that is an error, {"error":{…}}. */
static void take_error(cw_mcp_task *t, cw_str body)
{
    const cw_json *message = NULL, *error = NULL;
    if (body.n && !cw_json_read(body, NULL, &t->arena, &message, NULL, NULL))
        error = cw_json_get(message, CW_STR("error"));
    const cw_json *text = cw_mcp_string(error, CW_STR("message"));
    if (text)
        finish(t, CW_TASK_FAILED, cw_json_text(text), cw_json_span(error));
    else
        fail(t, "There is not enough memory for the result.");
}

static void on_reply(cw_responder *p, const cw_response *answer)
{
    cw_mcp_task *t = CW_CONTAINER(p, cw_mcp_task, responder);
    cw_str result;
    if (!t->record)
        return;
    if (cw_rpc_result_of(answer->body, OWN_ID, &result))
        finish(t, CW_TASK_COMPLETED, CW_STR(""), result);
    else
        take_error(t, answer->body);
}

static cw_code on_send(cw_responder *p, cw_send_class kind, cw_str message)
{
    (void)p;
    (void)kind;
    (void)message;
    return CW_OK;
}

static void on_end(cw_responder *p)
{
    cw_mcp_task *t = CW_CONTAINER(p, cw_mcp_task, responder);
    if (t->record)
        fail(t, "The call has ended without a result.");
}

static cw_str no_header(const cw_responder *p, cw_str name, bool *ret_repeats)
{
    (void)p;
    (void)name;
    if (ret_repeats)
        *ret_repeats = false;
    return cw_str_make(NULL, 0);
}

static cw_str peer_of(const cw_responder *p)
{
    return CW_CONTAINER((cw_responder *)(uintptr_t)p, cw_mcp_task, responder)->peer;
}

/* ---- the beginning ---- */

static bool copy_text(cw_mcp_task *t, cw_str *text)
{
    *text = cw_arena_dup_str(&t->arena, text->p ? *text : CW_STR(""));
    return text->p != NULL;
}

static cw_str params_of(const cw_mcp_call *call)
{
    return call->target.params ? cw_json_span(call->target.params) : CW_STR("");
}

/* Copies the parts that a second run of the method needs out of the arena of the request. Arguments stay
 * text: parsed, they may need ten times the memory. */
static bool copy_target(cw_mcp_task *t, const cw_mcp_call *from)
{
    cw_mcp_target *target = &t->call.target;
    t->params = params_of(from);
    target->params = NULL;
    return copy_text(t, &target->name) && copy_text(t, &target->address) &&
           copy_text(t, &target->extras) && copy_text(t, &t->params);
}

static bool copy_call(cw_mcp_task *t, const cw_mcp_call *from)
{
    const cw_rpc_batch_opts *opts = &from->item->batch->opts;
    cw_mcp_call *call = &t->call;
    cw_rpc_batch *batch = cw_rpc_batch_new(
        &t->responder,
        &(cw_rpc_batch_opts){
            .rl = from->rl, .view = from->view, .n = 1, .none_status = 200, .form = opts->form});
    if (!batch)
        return false;
    *call = (cw_mcp_call){.sink = from->sink,
                          .item = batch->items,
                          .door = from->door,
                          .rl = from->rl,
                          .responder = &t->responder,
                          .era = from->era,
                          .target = from->target,
                          .session = from->session,
                          .view = from->view,
                          .token = CW_STR(""),
                          .reached = from->reached,
                          .task = t,
                          .n_rounds = from->n_rounds,
                          .state = from->state,
                          .answers = from->answers};
    call->item->id = OWN_ID;
    call->item->self = call;
    call->item->call = from->item->call;
    return copy_text(t, &call->state) && copy_text(t, &call->answers) && copy_target(t, from) &&
           cw_mcp_call_hold_view(call);
}

/* NULL without memory. */
static cw_mcp_task *new_task(const cw_mcp_call *from)
{
    static const cw_responder_ops ops = {
        .reply = on_reply, .send = on_send, .end = on_end, .header = no_header, .peer = peer_of};
    cw_mcp_task *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    cw_arena_init(&t->arena, ARENA_MAX);
    t->responder = (cw_responder){.ops = &ops,
                                  .arena = &t->arena,
                                  .loop = from->responder->loop,
                                  .session = from->responder->session};
    t->hook.on_end = on_loop_end;
    t->peer = cw_responder_peer(from->responder);
    if (copy_text(t, &t->peer) && copy_call(t, from))
        return t;
    cw_arena_done(&t->arena);
    free(t);
    return NULL;
}

static void enter(cw_mcp_task *t, cw_task *record)
{
    cw_loop *loop = t->responder.loop;
    cw_mcp_registry *registry = cw_mcp_registry_of(t->call.door, loop);
    uint64_t ms = cw_runtime_config(t->call.rl)->mcp.tasks.ttl_ms;
    t->record = cw_task_ref(record);
    cw_mcp_registry_add(registry->tasks, &t->link, cw_task_id(record));
    if (registry->task_ends.ms != ms)
        cw_loop_set_duration(loop, &registry->task_ends, ms);
    cw_loop_set_deadline(loop, &t->over, &registry->task_ends);
    cw_loop_add_hook(loop, &t->hook);
}

/* The answer of the request that became a task. */
static void reply_created(const cw_mcp_task *t, cw_rpc_item *item)
{
    const cw_config *config = cw_runtime_config(t->call.rl);
    cw_task *record = t->record;
    cw_buf b;
    if (!t->call.era->is_modern) {
        cw_mcp_reply_legacy_created(item, config, record);
        return;
    }
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_open_result(&b);
    cw_buf_add(&b, CW_STR("{\"resultType\":\"task\","));
    cw_task_write(record, config->mcp.tasks.poll_ms, /* is_full= */ false, &b);
    cw_buf_add(&b, CW_STR(",\"_meta\":{" CW_MCP_SERVER_META "}}"));
    cw_rpc_close(&b, item->id);
    cw_rpc_item_reply(item, 200, &b, CW_STR(""));
}

/* The row of the task is written. */
static void on_saved(void *self)
{
    cw_mcp_task *t = self;
    cw_rpc_item *item = t->created;
    if (!item)
        return;
    t->created = NULL;
    item->on_gone = NULL;
    reply_created(t, item);
}

/* The client has closed its connection before it got the id. */
static void on_client_gone(cw_rpc_item *item)
{
    cw_mcp_task *t = item->self;
    t->created = NULL;
    (void)cw_task_cancel(t->record);
}

/* Answer the request, now or when the row of the task is written. */
static void answer_created(cw_mcp_task *t, cw_rpc_item *item)
{
    if (!cw_task_save(t->record)) {
        reply_created(t, item);
        return;
    }
    t->created = item;
    item->self = t;
    item->on_gone = on_client_gone;
}

bool cw_mcp_task_begin(cw_mcp_call *call, cw_task *record)
{
    static const cw_task_ops ops = {
        .on_saved = on_saved, .on_cancel = on_cancelled, .on_end = on_ended};
    cw_rpc_item *item = call->item;
    cw_mcp_task *t = new_task(call);
    if (!t || !cw_call_set_sink(call->rl, item->call, &t->call.sink)) {
        if (t)
            free_task(t);
        cw_task_drop(record);
        return false;
    }
    item->call = (cw_call_handle){0};
    enter(t, record);
    bool runs = cw_task_run(record, t->responder.loop, &ops, t);
    audit_running(t, "created");
    cw_mcp_call_close(call);
    answer_created(t, item);
    if (!runs) { /* an operator has cancelled it, a moment ago */
        on_cancelled(t);
        on_ended(t);
    }
    cw_task_unref(record);
    return true;
}

/* The bytes that a call keeps as a task. Most texts are in the task and in the exchange. */
static size_t size_of(const cw_mcp_call *call)
{
    const cw_mcp_target *target = &call->target;
    size_t texts = params_of(call).n + target->name.n + target->address.n + target->extras.n +
                   call->state.n + call->answers.n;
    return sizeof(cw_mcp_task) + 2 * texts + (call->meta ? cw_json_span(call->meta).n : 0);
}

cw_task *cw_mcp_task_reserve(const cw_mcp_call *call)
{
    char name[CW_MCP_OWNER_MAX];
    const cw_entry *entry = call->target.entry;
    const cw_caller *caller = cw_view_caller(call->view);
    cw_task_start start = {.owner = cw_mcp_task_owner(call->view, call->responder, name),
                           .by = cw_caller_fair_key(caller, cw_responder_peer(call->responder)),
                           .is_anonymous = cw_caller_is_anonymous(caller),
                           .caller = cw_caller_name(caller),
                           .tool = entry->tool_name,
                           .method = entry->method->id,
                           .size = size_of(call)};
    cw_task *record = NULL;
    if (!start.owner.p || cw_tasks_add(cw_runtime_tasks(call->rl),
                                       &cw_runtime_config(call->rl)->mcp.tasks, &start, &record))
        return NULL;
    return record;
}

void cw_mcp_task_on_grace(cw_deadline *d)
{
    cw_mcp_call *call = CW_CONTAINER(d, cw_mcp_call, grace);
    cw_task *record = cw_mcp_task_reserve(call);
    if (record)
        (void)cw_mcp_task_begin(call, record);
}

void cw_mcp_task_run_again(cw_mcp_task *t)
{
    CW_CLEANUP(cw_arena_done) cw_arena scratch;
    const cw_json *params = NULL;
    const cw_json_opts opts = {.max_bytes = t->params.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    cw_arena_init(&scratch, ARENA_MAX);
    if (t->params.n && cw_json_read(t->params, &opts, &scratch, &params, NULL, NULL))
        cw_mcp_call_fail(&t->call, "There is not enough memory for the arguments.");
    else
        cw_mcp_call_run(&t->call, params);
}

cw_task_mark cw_mcp_task_mark(const cw_mcp_request *r, const cw_mcp_target *target)
{
    const cw_mark *mark = target->entry->method->mark;
    bool is_tool = target->ops->same == CW_FIND_SAME_TOOL && mark && !target->is_completion;
    if (is_tool && cw_mcp_wants_legacy_task(r) && mark->task != CW_TASK_MARK_NEVER)
        return CW_TASK_MARK_REQUIRED; /* the client expects a task, whatever the rule */
    if (!is_tool || !is_declared(r) || !has_tasks(r->rl) || r->item->batch->opts.is_batch)
        return CW_TASK_MARK_NEVER;
    return mark->task ? mark->task : CW_TASK_MARK_AUTO;
}

/* ---- reports of the call ---- */

/* A count of bytes is written with all its digits. */
static void write_number(double v, char out[NUMBER_MAX])
{
    bool is_count = isfinite(v) && v == floor(v) && fabs(v) < EXACT;
    snprintf(out, NUMBER_MAX, is_count ? "%.0f" : "%g", v);
}

void cw_mcp_task_progress(cw_mcp_task *t, const cw_progress *progress)
{
    char text[CW_TASK_MESSAGE], reached[NUMBER_MAX], total[NUMBER_MAX];
    int n = (int)cw_door_excerpt(progress->message).n;
    bool is_known = isfinite(progress->progress);
    write_number(progress->progress, reached);
    write_number(progress->total, total);
    if (is_known && isfinite(progress->total) && progress->total > 0)
        snprintf(text, sizeof text, "%.*s%s%s of %s%s", n, n ? progress->message.p : "",
                 n ? " (" : "", reached, total, n ? ")" : "");
    else if (n)
        snprintf(text, sizeof text, "%.*s", n, progress->message.p);
    else if (is_known)
        snprintf(text, sizeof text, "%s", reached);
    else
        return;
    cw_task_set_message(t->record, cw_str_from(text));
    uint64_t now = cw_loop_now(t->responder.loop);
    if (now - t->notified < NOTIFY_MS)
        return;
    t->notified = now;
    notify_all(t);
}

bool cw_mcp_task_ask(cw_mcp_task *t, cw_str key, const cw_json *request)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_json_writer w;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    cw_mcp_elicit_write(&w, request);
    if (cw_json_writer_end(&w, NULL) || cw_task_ask(t->record, key, cw_buf_str(&text)))
        return false;
    notify_all(t);
    return true;
}

void cw_mcp_task_withdraw(cw_mcp_task *t)
{
    cw_task_answer_all(t->record);
}

void cw_mcp_task_take_back(cw_mcp_task *t, cw_str key)
{
    if (cw_task_answer(t->record, key))
        notify_all(t);
}

/* ---- access ---- */

/* -32021, with the extension that the client would have to declare. */
static void fail_undeclared(cw_rpc_item *item)
{
    cw_door_reply_error(
        item,
        &(cw_door_error){.status = 400,
                         .code = CW_MCP_CAPABILITY,
                         .message = CW_STR("Missing client capability: extensions." CW_MCP_TASKS),
                         .data = CW_STR("{\"requiredCapabilities\":{\"extensions\":{\"" CW_MCP_TASKS
                                        "\":{}}}}")});
}

bool cw_mcp_task_check_declared(const cw_mcp_request *r)
{
    if (!is_declared(r))
        fail_undeclared(r->item);
    return is_declared(r);
}

bool cw_mcp_task_check_required(const cw_mcp_request *r, const cw_entry *entry)
{
    const cw_mark *mark = entry->method->mark;
    if (CW_UNLIKELY(mark && mark->task == CW_TASK_MARK_NEVER && cw_mcp_wants_legacy_task(r))) {
        cw_door_reply_error(r->item, &(cw_door_error){.status = 200,
                                                      .code = CW_RPC_METHOD,
                                                      .message = CW_STR(NEVER_A_TASK)});
        return false;
    }
    if (CW_LIKELY(!mark || mark->task != CW_TASK_MARK_REQUIRED) ||
        (is_declared(r) && has_tasks(r->rl)) || cw_mcp_wants_legacy_task(r) ||
        cw_view_verdict(r->view, entry) != CW_VERDICT_ALLOW)
        return true;
    if (cw_mcp_has_tasks(r)) {
        fail_undeclared(r->item);
        return false;
    }
    cw_door_reply_error(
        r->item,
        &(cw_door_error){.status = 200, .code = CW_RPC_INTERNAL, .message = CW_STR(NO_TASKS)});
    return false;
}

bool cw_mcp_task_is_allowed(const cw_view *view, const cw_task *task)
{
    const cw_entry *entry = cw_view_find_tool(view, cw_task_tool(task));
    return entry && cw_str_eq(entry->method->id, cw_task_method(task)) &&
           cw_view_call_verdict(view) == CW_VERDICT_ALLOW &&
           cw_view_verdict(view, entry) == CW_VERDICT_ALLOW;
}

cw_str cw_mcp_task_owner(const cw_view *view, const cw_responder *responder,
                         char out[CW_MCP_OWNER_MAX])
{
    cw_mcp_session_owner by;
    cw_mcp_session_owner_init(&by, view, responder);
    return cw_mcp_session_owner_name(&by, out);
}

/* A reference to a task of this server. CW_NOTFOUND: unknown here, or not the caller's, or not any
 * more. */
static cw_code find_task(const cw_mcp_request *r, cw_str id, cw_task **ret)
{
    char name[CW_MCP_OWNER_MAX];
    cw_str owner = cw_mcp_task_owner(r->view, r->responder, name);
    cw_task *task = NULL;
    cw_code rc =
        owner.p ? cw_tasks_find(cw_runtime_tasks(r->rl), owner, id, &task) : (cw_code)CW_NOTFOUND;
    if (!rc && !cw_mcp_task_is_allowed(r->view, task)) {
        cw_task_unref(task);
        return CW_NOTFOUND;
    }
    if (!rc)
        *ret = task;
    return rc;
}

bool cw_mcp_task_is_here(const cw_mcp_request *r, cw_str id)
{
    cw_task *task = NULL;
    bool is_here = !find_task(r, id, &task);
    cw_task_unref(task);
    return is_here;
}

void cw_mcp_task_fail_unfound(const cw_mcp_request *r, cw_code rc, cw_str id)
{
    if (rc == CW_NOMEM) {
        cw_door_fail_nomem(r->item);
    } else if (rc != CW_NOTFOUND) {
        cw_door_fail(r->item, 503, CW_RPC_INTERNAL, rc == CW_LIMIT ? TOO_MANY : NOT_READ);
    } else {
        cw_mcp_audit_refusal(r, r->method, CW_STR("unknown task"), CW_VERDICT_HIDDEN);
        cw_mcp_fail_unknown(r, "task", id);
    }
}

/* A task that is not found, another caller's, and one that the caller may not use any more take the same
 * way to the same answer, also while the database is away. */
void cw_mcp_with_task(const cw_mcp_request *r, cw_mcp_task_fn fn)
{
    const cw_json *id = cw_json_get(r->params, CW_STR("taskId"));
    cw_task *task = NULL;
    if (!cw_mcp_has_tasks(r) && !cw_mcp_has_legacy_tasks(r)) {
        cw_mcp_fail_method(r);
        return;
    }
    if (!cw_mcp_may(r, /* discovers= */ false) ||
        (r->era->is_modern && !cw_mcp_task_check_declared(r)))
        return;
    if (!cw_json_is(id, CW_JSON_STRING)) {
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, "taskId must be a string");
    } else if (find_task(r, cw_json_text(id), &task)) {
        cw_mcp_task_look_up(r, cw_json_text(id), /* cancels= */ false, fn);
    } else {
        fn(r, task, /* has_changed= */ false);
        cw_task_unref(task);
    }
}

/* ---- methods ---- */

void cw_mcp_task_acknowledge(const cw_mcp_request *r)
{
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_open_result(&b);
    cw_buf_add(&b, CW_STR("{" CW_MCP_RESULT_META "}"));
    cw_rpc_close(&b, r->item->id);
    cw_rpc_item_reply(r->item, 200, &b, CW_STR(""));
}

static void get(const cw_mcp_request *r, cw_task *task, bool has_changed)
{
    cw_buf b;
    (void)has_changed;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_open_result(&b);
    cw_buf_add_char(&b, '{');
    cw_task_write(task, cw_runtime_config(r->rl)->mcp.tasks.poll_ms, /* is_full= */ true, &b);
    cw_buf_add(&b, CW_STR("," CW_MCP_RESULT_META "}"));
    cw_rpc_close(&b, r->item->id);
    cw_rpc_item_reply(r->item, 200, &b, CW_STR(""));
}

void cw_mcp_get_task(const cw_mcp_request *r)
{
    cw_mcp_with_task(r, get);
}

void cw_mcp_task_cancel(const cw_mcp_request *r, cw_task *task, cw_mcp_task_fn here,
                        cw_mcp_task_fn away)
{
    bool is_running = cw_task_status_of(task) <= CW_TASK_INPUT_REQUIRED;
    if (is_running && cw_task_is_elsewhere(task)) {
        cw_mcp_task_look_up(r, cw_task_id(task), /* cancels= */ true, away);
        return;
    }
    /* Before its end, which another loop may write. */
    if (is_running)
        cw_mcp_task_audit(r, task, "cancel");
    here(r, task, is_running && cw_task_cancel(task));
}

static void on_cancelled_here(const cw_mcp_request *r, cw_task *task, bool has_changed)
{
    (void)task;
    (void)has_changed;
    cw_mcp_task_acknowledge(r);
}

static void on_cancelled_away(const cw_mcp_request *r, cw_task *task, bool has_changed)
{
    if (has_changed)
        cw_mcp_task_audit(r, task, "cancel");
    cw_mcp_task_acknowledge(r);
}

static void cancel(const cw_mcp_request *r, cw_task *task, bool has_changed)
{
    (void)has_changed;
    cw_mcp_task_cancel(r, task, on_cancelled_here, on_cancelled_away);
}

void cw_mcp_cancel_task(const cw_mcp_request *r)
{
    cw_mcp_with_task(r, cancel);
}

/* ---- answers ---- */

/* How answers travel to the loop of their task: a JSON object by key follows. */
typedef struct parcel {
    cw_mcp *door;
    cw_caller *caller; /* NULL: the anonymous one */
    char id[CW_TASK_ID];
} parcel;

static cw_mcp_task *running_task(const parcel *p, cw_runtime_loop *rl)
{
    cw_mcp_registry *registry = cw_mcp_registry_of(p->door, cw_runtime_loop_of(rl));
    cw_mcp_registry_entry *link = cw_mcp_registry_find(registry->tasks, cw_str_from(p->id), NULL);
    return link ? CW_CONTAINER(link, cw_mcp_task, link) : NULL;
}

/* Each answer may end the task. */
static void take_answers(const parcel *p, cw_runtime_loop *rl, cw_view *view,
                         const cw_json *answers)
{
    for (const cw_json *k = cw_json_first(answers); k; k = cw_json_next_key(k)) {
        cw_mcp_task *t = running_task(p, rl);
        if (!t)
            return;
        cw_mcp_elicit_take(&t->call, view, cw_json_text(k), cw_json_value(k));
    }
    const cw_mcp_task *t = running_task(p, rl);
    if (t)
        notify(p->door, rl, t->record);
}

static void on_parcel(cw_runtime_loop *rl, cw_str bytes)
{
    parcel p;
    memcpy(&p, bytes.p, sizeof p);
    cw_mcp_task *t = running_task(&p, rl);
    if (!t)
        return;
    cw_arena arena;
    const cw_json *answers = NULL;
    cw_str text = cw_str_make(bytes.p + sizeof p, bytes.n - sizeof p);
    cw_view *view = cw_runtime_view_in(rl, p.caller, cw_view_toolset(t->call.view));
    cw_arena_init(&arena, ARENA_MAX);
    if (!view || cw_json_read(text, NULL, &arena, &answers, NULL, NULL)) {
        cw_mcp_call_fail(&t->call, "There is not enough memory for the answer.");
    } else {
        cw_view_ref(view);
        take_answers(&p, rl, view, answers);
        cw_view_unref(view);
    }
    cw_arena_done(&arena);
}

cw_code cw_mcp_task_check_answer(cw_runtime_loop *rl, cw_arena *arena, cw_task *task,
                                 const cw_json *key, cw_err *err)
{
    const cw_json *question;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_code rc = cw_task_question(task, cw_json_text(key), &text);
    if (rc == CW_NOTFOUND)
        return CW_OK;
    cw_str kept = rc ? (cw_str){NULL, 0} : cw_arena_dup_str(arena, cw_buf_str(&text));
    if (!kept.p || cw_json_read(kept, NULL, arena, &question, NULL, NULL))
        return cw_fail_nomem(err);
    const cw_mcp_elicit_kind *kind = cw_mcp_elicit_kind_of(question);
    return cw_mcp_elicit_check(rl, kind, cw_mcp_elicit_form(question), cw_json_value(key), arena,
                               err);
}

/* Close the answered questions, and collect their answers. */
static void close_answered(cw_task *task, const cw_json *responses, cw_json_writer *w)
{
    cw_json_open_object(w);
    for (const cw_json *k = cw_json_first(responses); k; k = cw_json_next_key(k)) {
        if (!cw_task_answer(task, cw_json_text(k)))
            continue;
        cw_json_add_key(w, cw_json_text(k));
        cw_json_add_span(w, cw_json_span(cw_json_value(k)));
    }
    cw_json_close(w);
}

cw_code cw_mcp_task_deliver(cw_mcp *door, cw_runtime_loop *rl, cw_caller *caller, cw_task *task,
                            const cw_json *responses)
{
    CW_CLEANUP(cw_buf_done) cw_buf b;
    cw_json_writer w;
    parcel p;
    memset(&p, 0, sizeof p);
    p.door = door;
    p.caller = caller;
    memcpy(p.id, cw_task_id(task).p, cw_task_id(task).n);
    cw_buf_init(&b, CW_BUF_MAX);
    cw_buf_add_bytes(&b, &p, sizeof p);
    /* Before the questions are closed: no answer may be lost for want of memory. */
    cw_buf_reserve(&b, cw_json_span(responses).n + 2);
    if (b.code)
        return b.code;
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    close_answered(task, responses, &w);
    cw_code rc = cw_json_writer_end(&w, NULL);
    if (!rc)
        cw_runtime_send(rl, cw_task_loop(task), p.caller, on_parcel, cw_buf_str(&b));
    return rc;
}

/* The answers to a task of this server. */
static cw_code deliver(const cw_mcp_request *r, cw_task *task, const cw_json *responses)
{
    cw_caller *caller = NULL;
    if (!cw_runtime_is_anonymous(r->rl, r->view) &&
        !cw_caller_is_anonymous(cw_view_caller(r->view)))
        caller = cw_view_caller(r->view);
    return cw_mcp_task_deliver(r->door, r->rl, caller, task, responses);
}

static void update(const cw_mcp_request *r, cw_task *task, bool has_changed)
{
    const cw_json *responses = r->members.responses;
    cw_err err = {0};
    cw_code rc = CW_OK;
    (void)has_changed;
    if (!cw_json_is(responses, CW_JSON_OBJECT)) {
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, "inputResponses must be an object");
        return;
    }
    for (const cw_json *k = cw_json_first(responses); k && !rc; k = cw_json_next_key(k))
        rc = cw_mcp_task_check_answer(r->rl, r->responder->arena, task, k, &err);
    if (!rc && cw_task_is_elsewhere(task)) {
        cw_mcp_task_send_inputs(r, task, responses);
        return;
    }
    if (!rc)
        rc = deliver(r, task, responses);
    if (rc == CW_PARAMS)
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, err.msg);
    else if (rc)
        cw_door_fail_nomem(r->item);
    if (rc)
        return;
    cw_mcp_task_audit(r, task, "answered");
    cw_mcp_task_acknowledge(r);
}

void cw_mcp_update_task(const cw_mcp_request *r)
{
    cw_mcp_with_task(r, update);
}

/* ---- subscriptions ---- */

cw_code cw_mcp_task_watch_enter(const cw_mcp_request *r, cw_task *task, cw_mcp_task_watch *watch)
{
    const cw_fair_key by =
        cw_caller_fair_key(cw_view_caller(r->view), cw_responder_peer(r->responder));
    cw_mcp_registry *registry = cw_mcp_registry_of(r->door, r->responder->loop);
    watch->task = task;
    /* First, so that it stays followed. */
    cw_task_watch(task, 1);
    cw_mcp_registry_add(registry->task_watches, &watch->link, cw_task_id(task));
    cw_code rc = cw_task_follow(task, &by);
    if (rc)
        cw_mcp_task_watch_remove(watch);
    return rc;
}

/* A reference to one of the tasks that were read for the request; NULL: it is not among them. */
static cw_task *find_away(const cw_mcp_request *r, cw_str id, const cw_mcp_tasks_found *found)
{
    for (uint32_t i = 0; i < found->n; i++) {
        cw_task *task = found->tasks[i];
        if (cw_str_eq(cw_task_id(task), id))
            return cw_mcp_task_is_allowed(r->view, task) ? cw_task_ref(task) : NULL;
    }
    return NULL;
}

bool cw_mcp_task_watch_add(const cw_mcp_request *r, cw_str id, const cw_mcp_tasks_found *found,
                           cw_mcp_task_watch *watch)
{
    cw_task *task = NULL;
    watch->task = NULL;
    if (!cw_mcp_has_tasks(r))
        return false;
    if (find_task(r, id, &task))
        task = find_away(r, id, found);
    if (!task)
        return false;
    return !cw_mcp_task_watch_enter(r, task, watch);
}

void cw_mcp_task_watch_remove(cw_mcp_task_watch *watch)
{
    if (!watch->task)
        return;
    cw_list_remove(&watch->link.node);
    cw_task_watch(watch->task, -1);
    cw_task_unref(watch->task);
    watch->task = NULL;
}
