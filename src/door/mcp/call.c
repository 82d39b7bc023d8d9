/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call.c - a method that runs for an MCP client: as a tool, a prompt, a resource, a completion.
 *
 * All of them may send progress, log lines and questions before their one answer. The differences are in
 * cw_mcp_target_ops.
 */
#include <math.h>

#include "door/mcp/elicit.h"
#include "door/mcp/feature/fit.h"
#include "door/mcp/mcp_int.h"
#include "door/mcp/park.h"
#include "door/mcp/task/task.h"
#include "json/write.h"
#include "metrics/metrics.h"

/* For so long a full table of tasks is not tried again. */
#define TASKS_RETRY_S 10u

/* ---- log levels ---- */

/* Causeway has fewer levels: a level in between maps to the more severe one. */
static const struct {
    cw_str name;
    cw_log_level level;
} protocol_levels[] = {
    {CW_STR_INIT("debug"), CW_LOG_DEBUG}, {CW_STR_INIT("info"), CW_LOG_INFO},
    {CW_STR_INIT("notice"), CW_LOG_WARN}, {CW_STR_INIT("warning"), CW_LOG_WARN},
    {CW_STR_INIT("error"), CW_LOG_ERROR}, {CW_STR_INIT("critical"), CW_LOG_OFF},
    {CW_STR_INIT("alert"), CW_LOG_OFF},   {CW_STR_INIT("emergency"), CW_LOG_OFF},
};

bool cw_mcp_level_parse(cw_str name, cw_log_level *ret)
{
    for (size_t i = 0; i < CW_COUNT(protocol_levels); i++) {
        if (cw_str_eq(protocol_levels[i].name, name)) {
            *ret = protocol_levels[i].level;
            return true;
        }
    }
    return false;
}

static cw_str level_name(cw_log_level level)
{
    if (level == CW_LOG_WARN)
        return CW_STR("warning");
    return level == CW_LOG_ERROR ? CW_STR("error")
                                 : (level == CW_LOG_INFO ? CW_STR("info") : CW_STR("debug"));
}

/* ---- what comes back ---- */

void cw_mcp_open_notification(cw_json_writer *w, cw_buf *b, cw_str method)
{
    cw_buf_init(b, CW_BUF_MAX);
    cw_json_writer_init(w, b, CW_JSON_COMPACT);
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("jsonrpc"), CW_STR("2.0"));
    cw_json_add_string_member(w, CW_STR("method"), method);
    cw_json_add_key(w, CW_STR("params"));
    cw_json_open_object(w);
}

void cw_mcp_send_notification(cw_responder *responder, cw_send_class kind, cw_json_writer *w,
                              cw_buf *b)
{
    cw_json_close(w);
    cw_json_close(w);
    if (!cw_json_writer_end(w, NULL))
        (void)cw_responder_send(responder, kind, cw_buf_str(b));
    cw_buf_done(b);
}

static void on_progress(cw_sink *sink, const cw_progress *progress)
{
    cw_mcp_call *call = CW_CONTAINER(sink, cw_mcp_call, sink);
    cw_buf b;
    cw_json_writer w;
    if (call->task) { /* its text may change without its number */
        cw_mcp_task_progress(call->task, progress);
        return;
    }
    if (!call->token.n || !isfinite(progress->progress) || progress->progress <= call->reached)
        return;
    call->reached = progress->progress;
    cw_mcp_open_notification(&w, &b, CW_STR("notifications/progress"));
    cw_json_add_key(&w, CW_STR("progressToken"));
    cw_json_add_span(&w, call->token);
    cw_json_add_key(&w, CW_STR("progress"));
    cw_json_add_double(&w, progress->progress);
    if (isfinite(progress->total)) {
        cw_json_add_key(&w, CW_STR("total"));
        cw_json_add_double(&w, progress->total);
    }
    if (progress->message.n)
        cw_json_add_string_member(&w, CW_STR("message"), progress->message);
    cw_mcp_send_notification(call->responder, CW_SEND_PROGRESS, &w, &b);
}

static void on_log(cw_sink *sink, cw_log_level level, cw_str message)
{
    const cw_mcp_call *call = CW_CONTAINER(sink, cw_mcp_call, sink);
    cw_buf b;
    cw_json_writer w;
    if (!call->may_stream || level > call->session.level)
        return;
    cw_mcp_open_notification(&w, &b, CW_STR("notifications/message"));
    cw_json_add_string_member(&w, CW_STR("level"), level_name(level));
    cw_json_add_string_member(&w, CW_STR("logger"), call->target.entry->method->id);
    cw_json_add_string_member(&w, CW_STR("data"), message);
    cw_mcp_send_notification(call->responder, CW_SEND_LOG, &w, &b);
}

void cw_mcp_call_close(cw_mcp_call *call)
{
    cw_list_remove(&call->link.node);
    cw_login_watch_remove(&call->called_by);
    cw_deadline_clear(&call->grace);
    cw_mcp_elicit_drop(call);
    call->item->on_gone = NULL;
    call->item->on_stopping = NULL;
}

/* An MCP server behind us needs a capability that this client did not declare. */
static bool needs_capability(const cw_mcp_call *call, const cw_outcome *outcome)
{
    return outcome->kind == CW_OUTCOME_ERROR && outcome->code == CW_MCP_CAPABILITY &&
           call->era->is_modern &&
           cw_json_is(cw_json_get(outcome->data, CW_STR("requiredCapabilities")), CW_JSON_OBJECT);
}

/* A task whose method did not run to its end has failed: its state says so, and a client can tell it
 * from a method that reports an error. */
static void fail_task(cw_mcp_call *call, const cw_outcome *outcome)
{
    cw_mcp_call_close(call);
    cw_door_reply_error(call->item,
                        &(cw_door_error){.status = 200,
                                         .code = outcome->code ? outcome->code : CW_RPC_INTERNAL,
                                         .message = outcome->message});
}

static void on_done(cw_sink *sink, const cw_outcome *outcome)
{
    cw_mcp_call *call = CW_CONTAINER(sink, cw_mcp_call, sink);
    cw_buf b;
    if (outcome->kind == CW_OUTCOME_INPUT_REQUIRED) {
        cw_mcp_elicit(call, outcome);
        return;
    }
    if (CW_UNLIKELY(needs_capability(call, outcome))) {
        cw_operation_set_outcome(call->item, outcome);
        cw_mcp_call_close(call);
        cw_door_reply_error(call->item, &(cw_door_error){.status = 400,
                                                         .code = CW_MCP_CAPABILITY,
                                                         .message = outcome->message,
                                                         .data = cw_json_span(outcome->data)});
        return;
    }
    if (CW_UNLIKELY(call->task && outcome->kind == CW_OUTCOME_FAILED)) {
        fail_task(call, outcome);
        return;
    }
    cw_outcome fitted;
    if (CW_UNLIKELY(cw_mcp_is_large(call, outcome))) {
        cw_mcp_fit(call, outcome, &fitted);
        outcome = &fitted;
    }
    cw_buf_init(&b, CW_BUF_MAX);
    cw_operation_set_outcome(call->item, outcome);
    call->item->op.is_tool_error = call->item->op.is_call && outcome->kind != CW_OUTCOME_RESULT;
    call->target.ops->write(&b, call->era, &call->target, outcome, call->item->id);
    cw_metrics_add(CW_METRIC_TOKENS, CW_TOKENS_RETURNED, 0, 0, (int64_t)b.n);
    cw_mcp_call_close(call);
    cw_rpc_item_reply(call->item, 200, &b, CW_STR(""));
}

void cw_mcp_call_fail(cw_mcp_call *call, const char *text)
{
    on_done(&call->sink, &(cw_outcome){.kind = CW_OUTCOME_FAILED, .message = cw_str_from(text)});
}

static void on_ask(cw_sink *sink, const cw_question *question)
{
    cw_mcp_elicit_ask(CW_CONTAINER(sink, cw_mcp_call, sink), question);
}

static void on_withdraw(cw_sink *sink, uint32_t number)
{
    cw_mcp_elicit_take_back(CW_CONTAINER(sink, cw_mcp_call, sink), number);
}

static cw_code on_become_task(cw_sink *sink)
{
    cw_mcp_call *call = CW_CONTAINER(sink, cw_mcp_call, sink);
    if (call->task)
        return CW_OK;
    cw_task *record = call->task_mark > CW_TASK_MARK_NEVER ? cw_mcp_task_reserve(call) : NULL;
    return record && cw_mcp_task_begin(call, record) ? CW_OK : CW_DECLINED;
}

static void on_gone(cw_rpc_item *item)
{
    cw_mcp_call *call = item->self;
    cw_mcp_park_leave(call);
    /* A call without its client may run on, and its time limit waits for the answers. Nothing that
     * the refusal causes may be reported to a request that is gone. */
    if (cw_call_set_sink(call->rl, item->call, NULL))
        cw_mcp_elicit_refuse(call, "The client has left.");
    cw_mcp_call_close(call);
}

/* The client has taken its request back; the link is that of a running call. */
static void cancel_call(cw_mcp_registry_entry *link)
{
    cw_mcp_call *call = CW_CONTAINER(link, cw_mcp_call, link);
    cw_rpc_item *item = call->item;
    cw_call_handle handle = item->call;
    cw_runtime_loop *rl = call->rl;
    cw_mcp_elicit_withdraw(call, "The call was cancelled.");
    cw_mcp_park_leave(call);
    cw_mcp_call_close(call);
    cw_call_cancel(rl, handle);
    cw_rpc_item_no_reply(item);
}

/* The caller has logged out. The answer is written first, while the call's data is alive. */
static void on_session_end(cw_login_watch *watch)
{
    static const char why[] = "The call was ended: its caller's session is over.";
    cw_mcp_call *call = CW_CONTAINER(watch, cw_mcp_call, called_by);
    cw_rpc_item *item = call->item;
    cw_call_handle handle = item->call;
    cw_runtime_loop *rl = call->rl;
    cw_outcome outcome = {.kind = CW_OUTCOME_FAILED, .message = cw_str_from(why)};
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    call->target.ops->write(&b, call->era, &call->target, &outcome, item->id);
    cw_mcp_elicit_withdraw(call, why);
    cw_mcp_park_leave(call);
    cw_mcp_call_close(call);
    cw_call_cancel(rl, handle);
    cw_rpc_item_reply(item, 200, &b, CW_STR(""));
}

/* ---- the way in ---- */

static void add_client(cw_buf *b, unsigned client_capabilities)
{
    static const struct {
        unsigned ability;
        const char *name;
    } names[] = {
        {CW_MCP_CAN_ELICIT, "elicitation"}, {CW_MCP_CAN_ELICIT_URL, "elicitation.url"},
        {CW_MCP_CAN_SAMPLE, "sampling"},    {CW_MCP_CAN_SAMPLE_TOOLS, "sampling.tools"},
        {CW_MCP_CAN_ROOTS, "roots"},        {CW_MCP_CAN_TASKS, "tasks"},
    };
    const char *separator = ",\"client\":[\"";
    if (!client_capabilities)
        return;
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        if (!(client_capabilities & names[i].ability))
            continue;
        cw_buf_add(b, cw_str_from(separator));
        cw_buf_add(b, cw_str_from(names[i].name));
        separator = "\",\"";
    }
    cw_buf_add(b, CW_STR("\"]"));
}

/* Keys of _meta that belong to this hop: the protocol's, the token of progress, and ours. */
static bool is_of_hop(cw_str key)
{
    return cw_str_starts(key, CW_STR("io.modelcontextprotocol/")) ||
           cw_str_starts(key, CW_STR("causeway/")) || cw_str_is(key, "progressToken");
}

/* ,"meta":{…}: the other keys of the client's _meta, for an MCP server. */
static void add_meta(cw_buf *b, const cw_json *meta)
{
    const char *separator = ",\"meta\":{";
    if (!cw_json_is(meta, CW_JSON_OBJECT))
        return;
    for (const cw_json *k = cw_json_first(meta); k; k = cw_json_next_key(k)) {
        if (is_of_hop(cw_json_text(k)))
            continue;
        cw_buf_add(b, cw_str_from(separator));
        cw_json_escape(b, cw_json_text(k));
        cw_buf_add_char(b, ':');
        cw_json_add_compact(b, cw_json_value(k));
        separator = ",";
    }
    if (*separator == ',' && !separator[1])
        cw_buf_add_char(b, '}');
}

/* Members that the method receives beside its arguments. */
static void add_extras(cw_buf *b, const cw_mcp_call *call)
{
    static const char *const levels[] = {"error", "warn", "info", "debug"};
    add_client(b, call->session.client_capabilities);
    if (call->session.level != CW_LOG_OFF)
        cw_buf_printf(b, ",\"log\":\"%s\"", levels[call->session.level]);
    if (call->target.address.n) {
        cw_buf_add(b, CW_STR(",\"uri\":"));
        cw_json_escape(b, call->target.address);
    }
    if (call->answers.n) {
        cw_buf_add(b, CW_STR(",\"answers\":"));
        cw_buf_add(b, call->answers);
    }
    if (call->state.n) {
        cw_buf_add(b, CW_STR(",\"state\":"));
        cw_json_escape(b, call->state);
    }
    if (call->target.entry->method->source->takes_meta)
        add_meta(b, call->meta);
    cw_buf_add(b, call->target.extras);
}

static void refuse(cw_mcp_call *call, cw_code rc, const cw_call_error *refusal)
{
    cw_rpc_item *item = call->item;
    bool is_tool = call->target.ops->same == CW_FIND_SAME_TOOL;
    const char *no_login =
        rc == CW_DECLINED && is_tool ? cw_mcp_explain_no_login(call->rl, call->responder) : NULL;
    cw_call_error explained = {0};
    cw_operation_set_refused(item, rc, refusal->verdict);
    cw_mcp_call_close(call);
    if (no_login) {
        rc = cw_fail(&explained.err, CW_PARAMS, "%s", no_login);
        call->target.ops->refuse(item, call->era, rc, &explained);
    } else if (rc == CW_DECLINED) {
        cw_mcp_refuse(item, refusal->verdict, &call->target.entry->method->needs);
    } else if (rc == CW_PARAMS && call->problem && !call->target.problem) {
        cw_door_fail(item, 200, CW_RPC_PARAMS, call->problem);
    } else if (rc == CW_PARAMS || rc == CW_IO || rc == CW_LIMIT) {
        call->target.ops->refuse(item, call->era, rc, refusal);
    } else {
        cw_door_fail(item, 500, CW_RPC_INTERNAL, refusal->err.msg);
    }
}

static bool may_be_task(const cw_mcp_call *call)
{
    return call->task || call->task_mark > CW_TASK_MARK_NEVER;
}

/* A place for a call that is a task from its beginning. CW_LIMIT: it must be one, and there is none. */
static cw_code reserve_task(const cw_mcp_call *call, cw_task **ret, cw_call_error *refusal)
{
    if (CW_LIKELY(call->task_mark < CW_TASK_MARK_ALWAYS))
        return CW_OK;
    *ret = cw_mcp_task_reserve(call);
    if (*ret || call->task_mark == CW_TASK_MARK_ALWAYS || call->problem)
        return CW_OK;
    refusal->retry_s = TASKS_RETRY_S;
    return cw_fail(&refusal->err, CW_LIMIT, "Too many tasks are kept. Try again later.");
}

/* It runs: it is a task now, or after a time. A task cannot be made of a call whose place is gone. */
static void begin_task(cw_mcp_call *call, cw_task *record)
{
    cw_loop *loop = call->responder->loop;
    if (record) {
        (void)cw_mcp_task_begin(call, record);
    } else if (call->task_mark == CW_TASK_MARK_AUTO) {
        cw_mcp_registry *registry = cw_mcp_registry_of(call->door, loop);
        uint64_t ms = cw_runtime_config(call->rl)->mcp.tasks.grace_ms;
        if (registry->graces.ms != ms)
            cw_loop_set_duration(loop, &registry->graces, ms);
        cw_loop_set_deadline(loop, &call->grace, &registry->graces);
    }
}

void cw_mcp_call_run(cw_mcp_call *call, const cw_json *params)
{
    cw_rpc_item *item = call->item;
    cw_buf extras;
    cw_call_error refusal;
    cw_buf_init(&extras, CW_BUF_MAX);
    add_extras(&extras, call);
    cw_call_request request = {.view = call->view,
                               .entry = call->target.entry,
                               .params = params,
                               .shown = call->target.shown,
                               .can_elicit = !call->target.is_completion,
                               .null_is_absent = cw_runtime_config(call->rl)->mcp.null_is_absent,
                               .is_completion = call->target.is_completion,
                               .problem = call->problem,
                               .steps = &item->batch->steps,
                               .extras = cw_buf_str(&extras),
                               .wants_progress = call->token.n > 0 || may_be_task(call),
                               .sink = &call->sink,
                               .door = cw_mcp_door_name(call->responder),
                               .peer = cw_responder_peer(call->responder)};
    cw_task *record = NULL;
    cw_code rc = extras.code ? cw_fail_nomem(&refusal.err) : reserve_task(call, &record, &refusal);
    if (!rc)
        rc = cw_call_start(call->rl, &request, &item->call, &refusal);
    cw_buf_done(&extras);
    if (!rc) {
        begin_task(call, record);
        return;
    }
    if (record)
        cw_task_drop(record);
    refuse(call, rc, &refusal);
}

/* The level of log lines that a request asks for, else that of its session. */
static bool read_level(const cw_mcp_request *r, cw_log_level *ret)
{
    const cw_json *level = r->meta.level;
    *ret = r->session->level;
    if (!r->era->is_modern || !level)
        return true;
    return cw_json_is(level, CW_JSON_STRING) && cw_mcp_level_parse(cw_json_text(level), ret);
}

static const char *check(const cw_mcp_request *r, cw_log_level *ret_level, cw_str *ret_token)
{
    const cw_json *token = r->meta.token;
    *ret_token = token ? cw_json_span(token) : CW_STR("");
    if (token && !cw_json_is(token, CW_JSON_STRING) && !cw_json_is_integer(token))
        return "progressToken must be a string or an integer";
    if (!read_level(r, ret_level))
        return "logLevel must be one of debug, info, notice, warning, error, critical, alert, "
               "emergency";
    return NULL;
}

/* The version of a legacy client: that of its session, else of its header, else the default. */
static cw_str version_of(const cw_mcp_request *r)
{
    if (r->session->version.n)
        return r->session->version;
    cw_str said = cw_responder_header(r->responder, CW_STR("MCP-Protocol-Version"));
    return cw_mcp_static_version(said.p ? said : CW_STR("2025-03-26"));
}

/* The attributes of a span that describe the target. */
static void observe(const cw_mcp_request *r, const cw_mcp_target *target)
{
    cw_operation *op = &r->item->op;
    bool is_prompt = cw_str_is(r->method, "prompts/get");
    bool is_tool = target->ops->same == CW_FIND_SAME_TOOL;
    if (is_tool || is_prompt)
        cw_operation_set_entry(r->item, target->entry, is_prompt);
    if (is_tool)
        cw_operation_set_arguments(r->item, target->entry, target->params);
    op->uri = target->address;
    op->version = r->era->is_modern ? cw_json_text(r->meta.claim) : version_of(r);
}

void cw_mcp_start(const cw_mcp_request *r, const cw_mcp_target *target)
{
    static const cw_sink_ops ops = {on_progress, on_log,      on_done,
                                    on_ask,      on_withdraw, on_become_task};
    cw_log_level level = CW_LOG_OFF;
    cw_str token;
    /* The gate is checked before problems of the request are reported. */
    const char *problem = check(r, &level, &token);
    if (CW_UNLIKELY(target->problem && !problem))
        problem = target->problem;
    cw_mcp_call *call = cw_arena_alloc(r->responder->arena, sizeof *call);
    if (!call) {
        cw_door_fail_nomem(r->item);
        return;
    }
    /* A batch is answered as one JSON text. */
    bool may_stream = !r->item->batch->opts.is_batch && r->responder->can_stream;
    *call = (cw_mcp_call){.sink = {&ops},
                          .item = r->item,
                          .door = r->door,
                          .rl = r->rl,
                          .responder = r->responder,
                          .era = r->era,
                          .target = *target,
                          .session = *r->session,
                          .view = r->view,
                          .meta = cw_json_get(r->params, CW_STR("_meta")),
                          .token = may_stream && !problem ? token : CW_STR(""),
                          .problem = problem,
                          .may_stream = may_stream,
                          .reached = -HUGE_VAL};
    call->session.level = level;
    observe(r, target);
    call->task_mark = cw_mcp_task_mark(r, target);
    /* A task of an older version has no way to ask. */
    if (!r->era->is_modern && call->task_mark > CW_TASK_MARK_NEVER)
        call->session.client_capabilities = 0;
    call->target.version = r->era->is_modern ? CW_STR("") : version_of(r);
    r->item->self = call;
    r->item->on_gone = on_gone;
    /* Before a parked call may go on: that is watched, and can be cancelled, too. */
    if (may_stream) {
        call->called_by.only_session = true;
        call->called_by.on_ended = on_session_end;
        cw_mcp_watch_login(r->rl, call->view, &call->called_by);
    }
    call->link.cancel = cancel_call;
    if (cw_mcp_registry_enter(r, &call->link)) {
        cw_mcp_call_close(call);
        cw_door_fail_nomem(r->item);
        return;
    }
    if (r->era->is_modern && !problem && !cw_mcp_elicit_resume(r, call))
        return;
    cw_mcp_call_run(call, call->target.params);
}
