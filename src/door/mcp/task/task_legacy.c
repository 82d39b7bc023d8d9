/* SPDX-License-Identifier: GPL-2.0-or-later */
/* task_legacy.c - the methods and messages of the tasks of 2025-11-25. */
#include "door/mcp/task/task_legacy.h"

#include "door/mcp/task/task_away.h"

#define RELATED CW_MCP_META("related-task")
#define ENDED "The task has ended already."
#define CANCELLED "The task was cancelled."
#define TOO_MANY "Too many tasks of other servers are awaited."

/* ---- who has them ---- */

static cw_str version_of(const cw_mcp_request *r)
{
    if (r->session->version.n)
        return r->session->version;
    cw_str header = cw_responder_header(r->responder, CW_STR("MCP-Protocol-Version"));
    return header.p ? header : CW_STR("");
}

bool cw_mcp_has_legacy_tasks(const cw_mcp_request *r)
{
    const cw_config_tasks *tasks = &cw_runtime_config(r->rl)->mcp.tasks;
    return !r->era->is_modern && tasks->enabled && tasks->legacy && cw_runtime_tasks(r->rl) &&
           cw_str_eq(version_of(r), CW_MCP_LEGACY_TASKS);
}

bool cw_mcp_wants_legacy_task(const cw_mcp_request *r)
{
    return cw_mcp_has_legacy_tasks(r) &&
           cw_json_is(cw_json_get(r->params, CW_STR("task")), CW_JSON_OBJECT);
}

/* ---- the state of a task ---- */

/* As tasks/get of the extension shows it, in the arena; NULL without memory. */
static const cw_json *state_of(cw_task *task, const cw_config *config, cw_arena *arena)
{
    const cw_json *state = NULL;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_buf_add_char(&text, '{');
    cw_task_write(task, config->mcp.tasks.poll_ms, /* is_full= */ true, &text);
    cw_buf_add_char(&text, '}');
    cw_str copy = text.code ? (cw_str){NULL, 0} : cw_arena_dup_str(arena, cw_buf_str(&text));
    const cw_json_opts deep = {.max_bytes = copy.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    if (!copy.p || cw_json_read(copy, &deep, arena, &state, NULL, NULL))
        return NULL;
    return state;
}

static cw_str member(const cw_json *state, const char *name)
{
    const cw_json *v = cw_json_get(state, cw_str_from(name));
    return v ? cw_json_text(v) : CW_STR("");
}

static bool is_tool_error(const cw_json *state)
{
    return cw_json_is(cw_json_get(cw_json_get(state, CW_STR("result")), CW_STR("isError")),
                      CW_JSON_TRUE);
}

/* A result that is an error counts as a failure here, and questions do not exist. */
static cw_str status_of(const cw_json *state)
{
    cw_str status = member(state, "status");
    if (cw_str_is(status, "completed") && is_tool_error(state))
        return CW_STR("failed");
    return cw_str_is(status, "input_required") ? CW_STR("working") : status;
}

/* "taskId":…,"status":…,"createdAt":…,"lastUpdatedAt":…,"ttl":…,"pollInterval":… */
static void write_task(cw_buf *out, const cw_json *state)
{
    static const struct {
        const char *theirs, *ours;
    } members[] = {{"taskId", "taskId"},       {"statusMessage", "statusMessage"},
                   {"createdAt", "createdAt"}, {"lastUpdatedAt", "lastUpdatedAt"},
                   {"ttl", "ttlMs"},           {"pollInterval", "pollIntervalMs"}};
    cw_buf_add(out, CW_STR("\"status\":"));
    cw_json_escape(out, status_of(state));
    for (size_t i = 0; i < CW_COUNT(members); i++) {
        const cw_json *v = cw_json_get(state, cw_str_from(members[i].ours));
        if (!v)
            continue;
        cw_buf_printf(out, ",\"%s\":", members[i].theirs);
        cw_buf_add(out, cw_json_span(v));
    }
}

static void reply_task(cw_rpc_item *item, const cw_json *state)
{
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_open_result(&b);
    cw_buf_add_char(&b, '{');
    write_task(&b, state);
    cw_buf_add_char(&b, '}');
    cw_rpc_close(&b, item->id);
    cw_rpc_item_reply(item, 200, &b, CW_STR(""));
}

void cw_mcp_reply_legacy_created(cw_rpc_item *item, const cw_config *config, cw_task *record)
{
    cw_buf b;
    const cw_json *state = state_of(record, config, item->batch->responder->arena);
    if (!state) {
        cw_door_fail_nomem(item);
        return;
    }
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_open_result(&b);
    cw_buf_add(&b, CW_STR("{\"task\":{"));
    write_task(&b, state);
    cw_buf_add(&b, CW_STR("}}"));
    cw_rpc_close(&b, item->id);
    cw_rpc_item_reply(item, 200, &b, CW_STR(""));
}

/* ---- notifications ---- */

void cw_mcp_notify_legacy_task(cw_mcp *door, cw_runtime_loop *rl, const cw_mcp_session *session,
                               cw_task *record)
{
    if (!session->is_named)
        return;
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    CW_CLEANUP(cw_buf_done) cw_buf b;
    cw_arena_init(&arena, CW_ARENA_MAX);
    cw_buf_init(&b, CW_BUF_MAX);
    const cw_json *state = state_of(record, cw_runtime_config(rl), &arena);
    if (!state)
        return; /* the client polls, too */
    cw_buf_add(
        &b, CW_STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks/status\",\"params\":{"));
    write_task(&b, state);
    cw_buf_add(&b, CW_STR("}}"));
    if (!b.code)
        cw_mcp_notify_session(door, rl, session, cw_task_tool(record), cw_buf_str(&b));
}

/* ---- tasks/get ---- */

/* The state of the task that a request names. NULL: the request is answered. */
static const cw_json *named_state(const cw_mcp_request *r, cw_task *task)
{
    const cw_json *state = state_of(task, cw_runtime_config(r->rl), r->responder->arena);
    if (!state)
        cw_door_fail_nomem(r->item);
    return state;
}

static void get(const cw_mcp_request *r, cw_task *task, bool has_changed)
{
    const cw_json *state = named_state(r, task);
    (void)has_changed;
    if (state)
        reply_task(r->item, state);
}

void cw_mcp_get_legacy_task(const cw_mcp_request *r)
{
    cw_mcp_with_task(r, get);
}

/* ---- tasks/result, tasks/cancel ---- */

/* A request that waits for the end of a task; in the arena of its responder. */
typedef struct waiter {
    cw_mcp_task_watch watch;
    cw_rpc_item *item;
    cw_runtime_loop *rl;
    cw_view *view; /* of the request; a reference, held by the arena */
    void (*reply)(cw_rpc_item *item, const cw_json *state);
    bool is_anonymous;
} waiter;

static void add_meta(cw_json_writer *w, const cw_json *meta, cw_str id)
{
    cw_json_add_key(w, CW_STR("_meta"));
    cw_json_open_object(w);
    for (const cw_json *k = cw_json_is(meta, CW_JSON_OBJECT) ? cw_json_first(meta) : NULL; k;
         k = cw_json_next_key(k)) {
        cw_json_add_key(w, cw_json_text(k));
        cw_json_add_value(w, cw_json_value(k));
    }
    cw_json_add_key(w, CW_STR(RELATED));
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("taskId"), id);
    cw_json_close(w);
    cw_json_close(w);
}

/* The result of the call, with the task that it belongs to. */
static void write_result(cw_buf *out, const cw_json *state)
{
    const cw_json *result = cw_json_get(state, CW_STR("result"));
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    for (const cw_json *k = cw_json_first(result); k; k = cw_json_next_key(k)) {
        if (cw_str_is(cw_json_text(k), "_meta"))
            continue;
        cw_json_add_key(&w, cw_json_text(k));
        cw_json_add_value(&w, cw_json_value(k));
    }
    add_meta(&w, cw_json_get(result, CW_STR("_meta")), member(state, "taskId"));
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, NULL);
    if (rc && !out->code)
        out->code = rc;
}

static void reply_end(cw_rpc_item *item, const cw_json *state)
{
    const cw_json *error = cw_json_get(state, CW_STR("error"));
    int64_t code = CW_RPC_INTERNAL;
    cw_buf b;
    if (error || !cw_json_get(state, CW_STR("result"))) {
        cw_str text = error ? member(error, "message") : CW_STR(CANCELLED);
        (void)cw_json_to_i64(cw_json_get(error, CW_STR("code")), &code);
        cw_door_reply_error(item, &(cw_door_error){.status = 200, .code = code, .message = text});
        return;
    }
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_open_result(&b);
    write_result(&b, state);
    cw_rpc_close(&b, item->id);
    cw_rpc_item_reply(item, 200, &b, CW_STR(""));
}

static void leave(waiter *w)
{
    cw_mcp_task_watch_remove(&w->watch);
    w->item->on_gone = NULL;
    w->item->on_stopping = NULL;
}

/* The rights of the caller may have changed while it waited. */
static bool is_allowed(const waiter *w)
{
    const cw_view *now = cw_runtime_view_in(w->rl, w->is_anonymous ? NULL : cw_view_caller(w->view),
                                            cw_view_toolset(w->view));
    return now && cw_mcp_task_is_allowed(now, w->watch.task);
}

/* Answer if the task has ended. */
static void look(waiter *w)
{
    cw_rpc_item *item = w->item;
    if (cw_task_status_of(w->watch.task) < CW_TASK_COMPLETED)
        return;
    const cw_json *state =
        state_of(w->watch.task, cw_runtime_config(w->rl), item->batch->responder->arena);
    bool may_read = is_allowed(w);
    leave(w);
    if (!state)
        cw_door_fail_nomem(item);
    else if (!may_read)
        cw_door_fail(item, 200, CW_RPC_PARAMS, "Unknown task");
    else
        w->reply(item, state);
}

static void on_change(cw_mcp_task_watch *watch)
{
    look(watch->self);
}

static void on_gone(cw_rpc_item *item)
{
    leave(item->self);
}

static void on_stopping(cw_rpc_item *item)
{
    leave(item->self);
    cw_door_fail(item, 503, CW_RPC_INTERNAL, "The server is stopping.");
}

static void unref_view(void *view)
{
    cw_view_unref(view);
}

/* Answer the request when the task has ended. */
static void await(const cw_mcp_request *r, cw_task *task,
                  void (*reply)(cw_rpc_item *item, const cw_json *state))
{
    waiter *w = cw_arena_calloc(r->responder->arena, 1, sizeof *w);
    if (!w || cw_arena_hold(r->responder->arena, cw_view_ref(r->view), unref_view)) {
        cw_door_fail_nomem(r->item);
        return;
    }
    *w = (waiter){.item = r->item, .rl = r->rl, .view = r->view, .reply = reply};
    w->is_anonymous = cw_runtime_is_anonymous(r->rl, r->view);
    w->watch.on_change = on_change;
    w->watch.self = w;
    if (cw_mcp_task_watch_enter(r, cw_task_ref(task), &w->watch)) {
        cw_door_fail(r->item, 503, CW_RPC_INTERNAL, TOO_MANY);
        return;
    }
    r->item->self = w;
    r->item->on_gone = on_gone;
    r->item->on_stopping = on_stopping;
    look(w); /* it may have ended before it was watched */
}

static void await_end(const cw_mcp_request *r, cw_task *task, bool has_changed)
{
    (void)has_changed;
    await(r, task, reply_end);
}

void cw_mcp_await_legacy_task(const cw_mcp_request *r)
{
    cw_mcp_with_task(r, await_end);
}

static void on_cancelled_away(const cw_mcp_request *r, cw_task *task, bool has_changed)
{
    if (!has_changed) {
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, ENDED);
        return;
    }
    cw_mcp_task_audit(r, task, "cancel");
    get(r, task, has_changed);
}

/* The answer shows the end, which can be read when its row is written. */
static void on_cancelled_here(const cw_mcp_request *r, cw_task *task, bool has_changed)
{
    if (has_changed)
        await(r, task, reply_task);
    else
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, ENDED);
}

static void cancel(const cw_mcp_request *r, cw_task *task, bool has_changed)
{
    (void)has_changed;
    cw_mcp_task_cancel(r, task, on_cancelled_here, on_cancelled_away);
}

void cw_mcp_cancel_legacy_task(const cw_mcp_request *r)
{
    cw_mcp_with_task(r, cancel);
}
