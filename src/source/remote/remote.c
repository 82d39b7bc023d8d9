/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remote.c - calls to a JSON-RPC service: the state of each loop.
 *
 *     call ─► op ─┐
 *     call ─► op ─┴─► request ─► (queue) ─► upstream ─► service
 *
 * Equal calls of a read-only tool share a request.
 *
 * A request of one call lies in the arena of the call; one that may be shared has memory of its own.
 *
 * As many requests run as the service may have connections. The others wait, and callers take turns.
 * The last place is withheld from a caller that already has requests running, as long as there are
 * other callers.
 */
#include "source/remote/remote.h"

#include <stdlib.h>

#include "access/fair_key.h"
#include "catalogue/exposed.h"
#include "metrics/metrics.h"
#include "source/remote/mcp/relayed_task.h"
#include "source/remote/remote_int.h"

#define RETRY_MS 100u
#define REPLY_MAX (16u * 1024u * 1024u) /* of a response to an MCP server */
#define OTHERS_MS UINT64_C(600000)      /* after calls of two callers, a place is kept so long */
/* Networks and accounts that are tried, beside those with running requests. */
#define MAX_CALLERS_TRIED 16u

typedef struct request request;

/* A call, in its arena. */
typedef struct op {
    cw_list node; /* of its request, or `later` of its part; in none: over, or dropped */
    request *request;
    cw_source_call *call;
    cw_continuation part; /* of the result that the caller requests */
    unsigned asks;        /* CW_RELAY_…: questions that an MCP server may ask its client */
    bool completes;       /* requests values of an argument from an MCP server */
    cw_relayed_questions questions;
    cw_follower *follower; /* of its job, after the response; NULL: none */
    uint64_t since;        /* notifications about jobs before it began */
    /* A kept result, which is reported at the end of this turn. */
    cw_deferred later;
    cw_str kept;
    uint64_t kept_id;
    unsigned kept_status;
    cw_remote_loop_state *home; /* set for a kept result */
} op;

/* A request that waits or is under way, and the calls that wait for it. */
struct request {
    cw_list node;       /* of its part: `running` or `lost` */
    cw_fair_item place; /* in the queue of its part */
    uint64_t owner;     /* widest group of the caller that made it */
    cw_remote_loop_state *part;
    const cw_remote_tool *tool;
    uint32_t method;
    uint32_t n_tries;
    uint64_t started; /* ms; 0: it waits */
    cw_list ops;
    cw_upstream_req req;
    cw_deadline retry;
    cw_remote_span span;
    cw_str params;
    cw_str body[CW_REQUEST_TEMPLATE_PIECES];
    char room[CW_REQUEST_TEMPLATE_ROOM];
    cw_relay_request relay; /* of an MCP server */
    bool trial;             /* of the breaker */
    bool is_shared;         /* has memory of its own, with the params behind it; others may join, if
                               the tool only reads */
    bool is_left;           /* its call is over; the job that it begins is to be cancelled */
    bool is_over;           /* its outcome is being reported to its calls */
};

static cw_remote *remote_of(cw_source *s)
{
    return CW_CONTAINER(s, cw_remote, base);
}

static op *op_at(cw_list *node)
{
    return CW_CONTAINER(node, op, node);
}

static request *request_at(cw_list *node)
{
    return CW_CONTAINER(node, request, node);
}

static request *request_of(cw_fair_item *item)
{
    return CW_CONTAINER(item, request, place);
}

static bool is_running(const request *f)
{
    return f->started != 0;
}

/* ---- parts ---- */

static void on_part_closed(void *ctx)
{
    cw_remote_loop_state *p = ctx;
    cw_remote *r = p->remote;
    free(p);
    cw_source_unref(&r->base);
}

/* Drop calls without calling their sinks. */
static void drop_ops(cw_list *ops)
{
    for (cw_list *node; (node = cw_list_take_first(ops));)
        cw_loop_cancel_deferred(&op_at(node)->later);
}

/* Remove a request from the lists of its part. */
static void leave_part(request *f)
{
    cw_remote_loop_state *p = f->part;
    if (f->place.group) {
        cw_fair_remove(&p->waiting, &f->place);
        return;
    }
    cw_list_remove(&f->node);
    if (!is_running(f))
        return;
    p->n_running--;
    if (cw_fair_count(&p->waiting))
        cw_loop_defer(p->loop, &p->pump);
}

static void end_span(const cw_remote *r, request *f, const cw_upstream_reply *reply,
                     const cw_outcome *outcome)
{
    cw_remote_span_end(&f->span, r, r->base.methods[f->method].id, f->n_tries, reply, outcome);
}

/* `reply` NULL: it begins. */
static void log_attempt(request *f, const cw_upstream_reply *reply)
{
    const cw_remote *r = f->part->remote;
    cw_remote_span_log(&f->span, r, r->base.methods[f->method].id, f->n_tries, reply);
}

static void drop_request(request *f)
{
    drop_ops(&f->ops);
    end_span(f->part->remote, f, NULL, NULL);
    cw_deadline_clear(&f->retry);
    cw_upstream_cancel(f->part->upstream, &f->req);
    cw_breaker_neutral(&f->part->remote->health->breaker, f->trial);
    leave_part(f);
    if (f->is_shared)
        free(f);
}

static void drop_requests(cw_list *requests)
{
    CW_LIST_EACH_SAFE (node, requests)
        drop_request(request_at(node));
}

static void close_part(cw_remote_loop_state *p)
{
    p->remote->parts[p->loop->index] = NULL;
    cw_loop_remove_hook(&p->hook);
    cw_fair_item *item;
    while ((item = cw_fair_first(&p->waiting)))
        drop_request(request_of(item));
    drop_requests(&p->running);
    drop_requests(&p->lost);
    cw_followers_free(p->followers);
    cw_fair_done(&p->waiting);
    cw_loop_cancel_deferred(&p->pump);
    drop_ops(&p->later);
    cw_loop_unwatch(p->loop, &p->retries);
    cw_loop_unwatch(p->loop, &p->left);
    cw_result_cache_done(&p->kept);
    cw_upstream_close(p->upstream, on_part_closed, p);
}

void cw_remote_close_if_over(cw_remote_loop_state *p)
{
    if (atomic_load(&p->remote->base.retired) && cw_list_is_empty(&p->running) &&
        cw_list_is_empty(&p->lost) && cw_fair_count(&p->waiting) == 0 &&
        cw_list_is_empty(&p->later) && !cw_followers_is_busy(p->followers))
        close_part(p);
}

static void on_loop_end(cw_loop_hook *hook)
{
    close_part(CW_CONTAINER(hook, cw_remote_loop_state, hook));
}

static void on_retry(cw_deadline *d);
static void on_left(cw_deadline *d);
static void on_pump(cw_deferred *later);

static cw_code open_part(cw_remote *r, cw_loop *loop, cw_remote_loop_state **ret, cw_err *err)
{
    cw_remote_loop_state *p = calloc(1, sizeof *p);
    if (!p)
        return cw_fail_nomem(err);
    cw_code rc = cw_upstream_open(r->service, r->shared, loop, r->answer_size, &p->upstream, err);
    if (rc) {
        free(p);
        return rc;
    }
    cw_source_ref(&r->base);
    p->remote = r;
    p->loop = loop;
    cw_list_init(&p->running);
    cw_list_init(&p->lost);
    cw_list_init(&p->later);
    p->pump.fn = on_pump;
    cw_fair_init(&p->waiting);
    cw_result_cache_init(&p->kept);
    cw_deadline_list_init(&p->retries, RETRY_MS, on_retry);
    cw_loop_watch(loop, &p->retries);
    cw_deadline_list_init(&p->left, r->service->config.timeout_ms, on_left);
    cw_loop_watch(loop, &p->left);
    p->hook.on_end = on_loop_end;
    cw_loop_add_hook(loop, &p->hook);
    r->parts[loop->index] = *ret = p;
    return CW_OK;
}

/* ---- the end of calls ---- */

static void fail_nomem(cw_outcome *ret)
{
    *ret = (cw_outcome){.kind = CW_OUTCOME_FAILED,
                        .fault = CW_FAULT_NOMEM,
                        .message = CW_STR("There is not enough memory.")};
}

/* A notification has no response. Its result is null, once it was sent. */
static void check_notification(cw_arena *arena, cw_outcome *ret)
{
    *ret = (cw_outcome){.kind = CW_OUTCOME_RESULT};
    if (cw_json_read(CW_STR("null"), NULL, arena, &ret->result, NULL, NULL))
        fail_nomem(ret);
}

static bool is_mcp(const cw_remote *r)
{
    return cw_dialect_is_mcp(r->service->protocol.dialect);
}

/* ---- jobs ---- */

/* Whether the response has begun a job of the service, or a task of an MCP server. */
static bool is_begun(const cw_remote *r, const request *f, const op *o, const cw_outcome *outcome,
                     cw_follow_start *ret)
{
    const cw_remote_tool *tool = f->tool;
    *ret = (cw_follow_start){.call = o->call, .since = o->since};
    if (outcome->kind != CW_OUTCOME_RESULT)
        return false;
    if (is_mcp(r) && f->relay.takes_tasks) {
        ret->ops = &cw_relayed_task_ops;
        return cw_relayed_is_task(outcome->result, ret);
    }
    if (!tool->job)
        return false;
    ret->ops = &cw_job_ops;
    ret->rule = tool->job;
    ret->poll_ms = cw_job_interval(tool->job);
    ret->key = cw_job_id(tool->job, outcome->result, f->params, o->call->arena);
    return ret->key.p != NULL;
}

/* Follow a job, for a client that gets a task. CW_DECLINED: the response is the result; CW_DONE: the
 * call is over. Without tasks a task of an MCP server is followed, too. */
static cw_code follow(cw_remote *r, const request *f, op *o, cw_follow_start *start)
{
    cw_source_call *call = o->call;
    cw_err unused;
    bool is_job = start->rule != NULL;
    call->is_followed = true;
    cw_code rc = call->sink->ops->become_task ? call->sink->ops->become_task(call->sink)
                                              : (cw_code)CW_DECLINED;
    if (rc == CW_DONE)
        return rc;
    call->is_followed = !rc;
    if (rc && is_job)
        return CW_DECLINED;
    if (!is_job) {
        start->self = cw_relayed_task_new(&f->tool->target, &f->relay, r->service->words.is_strict);
        if (!start->self)
            return CW_NOMEM;
    }
    /* The sink was called, which may have ended the part. */
    cw_remote_loop_state *p = r->parts[call->loop->index];
    rc = p ? CW_OK : open_part(r, call->loop, &p, &unused);
    return rc ? rc : cw_follow(p, start, &o->follower);
}

/* Follow a job or task that the response began. False: none, or a failure, which is in *outcome. */
static bool begin_follow(cw_remote *r, const request *f, op *o, cw_outcome *outcome)
{
    cw_follow_start start;
    if (CW_LIKELY(!f->tool->job && !f->relay.takes_tasks) || !is_begun(r, f, o, outcome, &start))
        return false;
    cw_code rc = follow(r, f, o, &start);
    if (rc == CW_DECLINED)
        return false;
    if (!rc || rc == CW_DONE)
        return true;
    cw_relayed_task_free(start.self);
    fail_nomem(outcome);
    if (rc == CW_LIMIT)
        *outcome = (cw_outcome){.kind = CW_OUTCOME_FAILED,
                                .fault = CW_FAULT_FULL,
                                .message = CW_STR("Too many jobs are followed.")};
    if (rc == CW_PARAMS)
        *outcome =
            (cw_outcome){.kind = CW_OUTCOME_FAILED,
                         .fault = CW_FAULT_PROTOCOL,
                         .message = CW_STR("The server returned a task whose id is too long.")};
    return false;
}

static void parse_reply(const cw_remote *r, const cw_remote_tool *tool, const op *o, uint64_t id,
                        const cw_upstream_reply *reply, cw_outcome *ret)
{
    const cw_source_call *call = o->call;
    if (tool->is_notice && reply->end == CW_CLIENT_OK) {
        check_notification(call->arena, ret);
        return;
    }
    cw_dialect_parse_response(&r->service->protocol, r->base.name, id, reply, call->arena, ret);
    if (is_mcp(r)) {
        cw_follow_start unused;
        if (o->completes)
            cw_relayed_completion(call->arena, ret);
        else if (ret->kind == CW_OUTCOME_RESULT && !cw_relayed_is_task(ret->result, &unused)) {
            /* A kept result has no request. */
            cw_str uri = o->request ? o->request->relay.name : tool->target.name;
            cw_relayed_result(&tool->target, uri, r->service->words.is_strict, o->asks, ret);
        }
        return;
    }
    if (tool->map && ret->kind == CW_OUTCOME_RESULT)
        cw_param_map_result(tool->map, &o->part, call->arena, ret);
    if (tool->output && ret->kind == CW_OUTCOME_RESULT &&
        cw_remote_decode_php_result(tool->output, call->arena, &ret->result))
        fail_nomem(ret);
}

static bool is_away(const cw_upstream_reply *reply)
{
    unsigned status = reply->end == CW_CLIENT_OK ? reply->answer->status : 0;
    return reply->end == CW_CLIENT_CONNECT || reply->end == CW_CLIENT_LOST || status == 502 ||
           status == 503 || status == 504;
}

static void keep(const request *f, const cw_client_response *answer)
{
    cw_result_cache_entry head = {
        .until = cw_loop_now(f->part->loop) + f->tool->cache_ms,
        .id = f->req.id,
        .method = f->method,
        .status = answer->status,
    };
    cw_result_cache_add(&f->part->kept, &head, f->params, answer->body);
}

/* Report the outcome to every waiting call. A request in the arena of its call has only that
 * one. */
static void finish(cw_remote *r, request *f, const cw_upstream_reply *reply)
{
    const cw_remote_tool *tool = f->tool;
    bool is_shared = f->is_shared, more = true;
    uint64_t id = f->req.id;
    f->is_over = true;
    while (more) {
        op *o = op_at(f->ops.next);
        cw_source_call *call = o->call;
        cw_outcome outcome;
        parse_reply(r, tool, o, id, reply, &outcome);
        end_span(r, f, reply, &outcome);
        bool is_kept = tool->cache_ms && outcome.kind == CW_OUTCOME_RESULT && reply->answer;
        if (is_kept && o->node.next == &f->ops)
            keep(f, reply->answer);
        cw_list_remove(&o->node);
        if (!begin_follow(r, f, o, &outcome))
            call->sink->ops->done(call->sink, &outcome);
        more = is_shared && !cw_list_is_empty(&f->ops);
    }
    if (is_shared)
        free(f);
}

/* Cancel the job of a call that is over. The response has its id. */
static void cancel_job(cw_remote *r, request *f, const cw_upstream_reply *reply)
{
    cw_outcome outcome;
    cw_follower *follower;
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_arena_init(&arena, CW_ARENA_MAX);
    cw_dialect_parse_response(&r->service->protocol, r->base.name, f->req.id, reply, &arena,
                              &outcome);
    end_span(r, f, reply, &outcome);
    cw_str key = outcome.kind == CW_OUTCOME_RESULT
                     ? cw_job_id(f->tool->job, outcome.result, f->params, &arena)
                     : (cw_str){NULL, 0};
    const cw_follow_start start = {.ops = &cw_job_ops, .rule = f->tool->job, .key = key};
    if (key.p && !cw_follow(f->part, &start, &follower))
        cw_follow_cancel(follower, /* keeps_job= */ false);
    else if (key.p)
        cw_log(CW_LOG_WARN, "source", "a job could not be cancelled or dismissed",
               CW_KV("source", r->base.name),
               CW_KV("problem", CW_STR("too many jobs, or no memory")));
    free(f);
}

static void on_left(cw_deadline *d)
{
    request *f = CW_CONTAINER(d, request, retry);
    cw_remote_loop_state *p = f->part;
    drop_request(f);
    cw_remote_close_if_over(p);
}

static void on_done(cw_upstream_req *req, const cw_upstream_reply *reply)
{
    request *f = req->ctx;
    cw_remote_loop_state *p = f->part;
    cw_remote *r = p->remote;
    uint32_t index = p->loop->index;
    log_attempt(f, reply);
    cw_deadline_clear(&f->retry);
    if (f->tool->may_repeat && !f->is_left && is_away(reply) &&
        f->n_tries <= r->service->config.retries) {
        end_span(r, f, reply, NULL);
        cw_loop_set_deadline(p->loop, &f->retry, &p->retries);
        return;
    }
    cw_remote_record_end(r, cw_loop_now(p->loop), f->trial, reply);
    leave_part(f);
    cw_source_ref(&r->base);
    if (f->is_left)
        cancel_job(r, f, reply);
    else
        finish(r, f, reply);
    /* A sink may have ended the part, so it is looked up again. */
    if (r->parts[index])
        cw_remote_close_if_over(r->parts[index]);
    cw_source_unref(&r->base);
}

/* A message of an MCP server before its response. The sink may end the call. */
static void on_message(cw_upstream_req *req, const cw_json *message)
{
    request *f = req->ctx;
    op *o = op_at(f->ops.next);
    cw_upstream *upstream = f->part->upstream;
    CW_CLEANUP(cw_buf_done) cw_buf reply;
    cw_buf_init(&reply, REPLY_MAX);
    cw_relayed_receive(o->call, o->asks, &o->questions, message, &reply);
    if (reply.n && !reply.code)
        cw_upstream_post(upstream, req, cw_buf_str(&reply));
}

static cw_code launch(request *f, cw_err *err)
{
    cw_remote_loop_state *p = f->part;
    f->req = (cw_upstream_req){
        .id = cw_upstream_next_id(p->upstream, f->tool->reads),
        .body = f->body,
        .n_body = CW_REQUEST_TEMPLATE_PIECES,
        .path = f->tool->path,
        .limit_ms = p->remote->base.methods[f->method].call_ms,
        .owner = f->owner,
        .may_repeat = f->tool->may_repeat,
        .reads = f->tool->reads,
        .is_notice = f->tool->is_notice,
        .on_done = on_done,
        .ctx = f,
    };
    f->n_tries++;
    cw_remote_span_begin(&f->span, &f->req);
    log_attempt(f, NULL);
    const cw_protocol_opts *protocol = &p->remote->service->protocol;
    if (is_mcp(p->remote)) {
        if (f->span.span.is_on && f->span.place != CW_TRACE_PLACE_NONE) {
            f->relay.traceparent = cw_str_from(f->span.traceparent);
            f->relay.tracestate = f->span.parent.tracestate;
        }
        f->req.relay = &f->relay;
        f->req.on_message = on_message;
        f->req.n_body = 0;
        return cw_upstream_send(p->upstream, &f->req, err);
    }
    cw_request_template_write(protocol, &f->tool->wire, f->req.id,
                              cw_remote_span_params(&f->span, f->params), f->room, f->body);
    if (f->tool->is_notice)
        cw_request_template_drop_id(protocol, f->body);
    return cw_upstream_send(p->upstream, &f->req, err);
}

static void on_retry(cw_deadline *d)
{
    request *f = CW_CONTAINER(d, request, retry);
    cw_err err = {0};
    cw_code rc = launch(f, &err);
    if (!rc)
        return;
    f->n_tries = UINT32_MAX;
    cw_upstream_reply reply = {rc == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT, NULL, err.msg,
                               NULL, NULL};
    on_done(&f->req, &reply);
}

/* The reason for the caller why a call was not begun. It replaces err, which may have details. */
static cw_code refuse(const cw_remote *r, cw_code rc, cw_fault *fault, cw_err *err)
{
    *fault = rc == CW_NOMEM ? CW_FAULT_NOMEM : CW_FAULT_UNAVAILABLE;
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    if (rc == CW_PARAMS)
        return rc; /* the text is about the arguments */
    if (rc == CW_INVALID)
        return cw_fail(err, CW_IO, "The service '%.*s' refuses our credentials.",
                       CW_STR_ARG(r->base.name));
    if (rc == CW_LIMIT) {
        *fault = CW_FAULT_FULL;
        return cw_fail(err, rc, "Too many calls wait for the service '%.*s'.",
                       CW_STR_ARG(r->base.name));
    }
    return cw_fail(err, rc, "The service '%.*s' cannot be reached.", CW_STR_ARG(r->base.name));
}

/* ---- the queue ---- */

/* Requests that may be under way at once. */
static uint32_t places_of(const cw_remote_loop_state *p)
{
    uint32_t n = p->remote->service->config.connections;
    return n ? n : CW_REMOTE_MAX_CONNECTIONS;
}

/* Whether the only free place is withheld from this caller. */
static bool is_withheld_from(const cw_remote_loop_state *p, uint64_t owner)
{
    if (p->n_running + 1 < places_of(p) || cw_loop_now(p->loop) >= p->others_until)
        return false;
    CW_LIST_EACH (node, &p->running) {
        if (request_at(node)->owner == owner)
            return true;
    }
    return false;
}

static bool may_begin(const cw_remote_loop_state *p, uint64_t owner)
{
    return p->n_running < places_of(p) && !is_withheld_from(p, owner);
}

static void record_caller(cw_remote_loop_state *p, uint64_t owner)
{
    if (CW_LIKELY(owner == p->last_owner))
        return;
    if (p->last_owner)
        p->others_until = cw_loop_now(p->loop) + OTHERS_MS;
    p->last_owner = owner;
}

/* Send a request, which comes from the queue or directly from its call. */
static cw_code depart(request *f, cw_err *err)
{
    cw_remote_loop_state *p = f->part;
    cw_code rc = launch(f, err);
    if (rc)
        return rc;
    f->started = cw_loop_now(p->loop);
    CW_LIST_EACH (node, &f->ops)
        cw_source_call_begin(op_at(node)->call);
    cw_list_add(&p->running, &f->node);
    p->n_running++;
    return CW_OK;
}

static cw_code enqueue(request *f, const cw_fair_key *key, cw_err *err)
{
    cw_remote_loop_state *p = f->part;
    cw_fair_item *lost;
    uint32_t most = p->remote->service->config.queue;
    cw_code rc = cw_fair_push(&p->waiting, &f->place, key, most, &lost);
    if (rc)
        return rc == CW_NOMEM ? cw_fail_nomem(err) : cw_fail(err, rc, "too many calls wait");
    if (lost)
        cw_list_add(&p->lost, &request_of(lost)->node);
    if (lost || p->n_running < places_of(p))
        cw_loop_defer(p->loop, &p->pump);
    return CW_OK;
}

/* The next request that may begin; NULL: none. */
static request *next_request(const cw_remote_loop_state *p)
{
    cw_fair_item *item = p->n_running < places_of(p) ? cw_fair_first(&p->waiting) : NULL;
    for (uint32_t n = places_of(p) + MAX_CALLERS_TRIED; item && n; n--) {
        if (may_begin(p, request_of(item)->owner))
            return request_of(item);
        item = cw_fair_next_network(&p->waiting, item);
    }
    return NULL;
}

/* Fail the calls of a request that is in no list and has not begun. */
static void fail(request *f, cw_fault fault, cw_str message)
{
    bool is_shared = f->is_shared, more = true;
    f->is_over = true;
    while (more) {
        op *o = op_at(f->ops.next);
        cw_source_call *call = o->call;
        cw_outcome outcome = {.kind = CW_OUTCOME_FAILED, .fault = fault, .message = message};
        cw_list_remove(&o->node);
        call->sink->ops->done(call->sink, &outcome);
        more = is_shared && !cw_list_is_empty(&f->ops);
    }
    if (is_shared)
        free(f);
}

/* Send requests while places are free. Returns the next request that ends before it began, and the
 * reason; or NULL. */
static request *next_end(cw_remote_loop_state *p, cw_code *ret_why)
{
    cw_list *lost = cw_list_take_first(&p->lost);
    if (lost) {
        *ret_why = CW_LIMIT;
        return request_at(lost);
    }
    for (request *f; (f = next_request(p));) {
        cw_err err = {0};
        cw_fair_take(&p->waiting, &f->place);
        /* Each attempt with rejected credentials may lock the account. */
        bool is_denied = cw_remote_is_refused(p->remote->health, cw_loop_now(p->loop));
        *ret_why = is_denied ? CW_INVALID : depart(f, &err);
        if (*ret_why)
            return f;
    }
    return NULL;
}

/* A sink may end the part, so it is looked up again each time. */
static void on_pump(cw_deferred *later)
{
    cw_remote_loop_state *p = CW_CONTAINER(later, cw_remote_loop_state, pump);
    cw_remote *r = p->remote;
    uint32_t index = p->loop->index;
    uint64_t now = cw_loop_now(p->loop);
    cw_code why;
    request *f;
    cw_source_ref(&r->base);
    while ((p = r->parts[index]) && (f = next_end(p, &why))) {
        cw_fault fault;
        cw_err err;
        cw_remote_record_not_begun(r, why, f->trial, now);
        cw_code rc = refuse(r, why, &fault, &err);
        (void)rc;
        fail(f, fault, cw_str_from(err.msg));
    }
    if (p)
        cw_remote_close_if_over(p);
    cw_source_unref(&r->base);
}

/* ---- the begin of calls ---- */

static void count_result(const cw_remote_loop_state *p, cw_metrics_origin origin)
{
    cw_metrics_count(CW_METRIC_RESULTS, cw_source_slot(&p->remote->base), origin, 0);
}

/* A call joins an equal request that is under way. It does not join one that waits, since it would
 * use the turn of another caller. */
static bool join(cw_remote_loop_state *p, const cw_source_call *call, cw_str params, op *o)
{
    CW_LIST_EACH (node, &p->running) {
        request *f = request_at(node);
        if (!f->is_shared || f->method != call->method->index || !cw_str_eq(f->params, params))
            continue;
        o->request = f;
        cw_list_add(&f->ops, &o->node);
        count_result(p, CW_RESULT_MERGED);
        return true;
    }
    return false;
}

static void on_cached(cw_deferred *later)
{
    op *o = CW_CONTAINER(later, op, later);
    cw_source_call *call = o->call;
    cw_remote_loop_state *p = o->home;
    cw_client_response answer = {.status = o->kept_status, .body = o->kept};
    cw_upstream_reply reply = {CW_CLIENT_OK, &answer, "", NULL, NULL};
    cw_outcome outcome;
    parse_reply(p->remote, &p->remote->tools[call->method->index], o, o->kept_id, &reply, &outcome);
    cw_list_remove(&o->node);
    cw_remote_close_if_over(p);
    call->sink->ops->done(call->sink, &outcome);
}

static bool use_cached(cw_remote_loop_state *p, const cw_source_call *call, cw_str params, op *o)
{
    const cw_result_cache_entry *e =
        cw_result_cache_find(&p->kept, call->method->index, params, cw_loop_now(p->loop));
    cw_str body = e ? cw_arena_dup_str(call->arena, cw_str_make(e->bytes + e->n_params, e->n_body))
                    : (cw_str){NULL, 0};
    if (!body.p)
        return false;
    o->kept = body;
    o->kept_id = e->id;
    o->kept_status = e->status;
    o->home = p;
    o->later.fn = on_cached;
    cw_list_add(&p->later, &o->node);
    cw_loop_defer(p->loop, &o->later);
    count_result(p, CW_RESULT_KEPT);
    return true;
}

/* Whether a job of the tool can be ended at the service. */
static bool has_cancel(const cw_remote *r, const cw_remote_tool *tool)
{
    return tool->job && !is_mcp(r) && cw_job_can_cancel(tool->job);
}

static request *make_request(cw_remote_loop_state *p, const cw_source_call *call, cw_str params)
{
    const cw_remote_tool *tool = &p->remote->tools[call->method->index];
    /* A call to an MCP server has its own progress, and its own client for questions. */
    bool is_shared = (tool->reads && !is_mcp(p->remote)) || has_cancel(p->remote, tool);
    cw_str state = call->ids ? call->ids->tracestate : CW_STR("");
    size_t kept = is_shared ? params.n + state.n : 0;
    size_t room = cw_remote_span_room(p->remote, call, params, state);
    request *f =
        is_shared ? malloc(sizeof *f + kept + room) : cw_arena_alloc(call->arena, sizeof *f + room);
    if (!f)
        return NULL;
    *f = (request){.part = p,
                   .tool = tool,
                   .method = call->method->index,
                   .params = params,
                   .is_shared = is_shared};
    if (is_shared && params.n)
        f->params.p = memcpy(f + 1, params.p, params.n);
    if (is_shared && state.n)
        state.p = memcpy((char *)(f + 1) + params.n, state.p, state.n);
    cw_remote_span_init(&f->span, p->remote, call, state, room ? (char *)(f + 1) + kept : NULL);
    cw_list_init(&f->ops);
    return f;
}

static cw_code begin_request(cw_remote_loop_state *p, cw_source_call *call, cw_str params, op *o,
                             bool trial, cw_err *err)
{
    request *f = make_request(p, call, params);
    if (!f)
        return cw_fail_nomem(err);
    if (f->tool->job && p->remote->shared)
        o->since = cw_job_news_now(cw_shared_conn_news(p->remote->shared));
    if (is_mcp(p->remote)) {
        cw_code failed = cw_relayed_request(p->remote->service, &f->tool->target, call, params,
                                            &f->relay, &o->completes, err);
        if (!failed && f->tool->has_headers)
            failed = cw_relayed_headers(call, params, &f->relay, err);
        if (failed && f->is_shared)
            free(f);
        if (failed)
            return failed;
        o->asks = f->relay.capabilities;
    }
    f->trial = trial;
    cw_fair_key key = cw_caller_fair_key(call->caller, call->peer);
    f->owner = key.at[0];
    record_caller(p, f->owner);
    bool waits = cw_fair_count(&p->waiting) > 0 || !may_begin(p, f->owner);
    cw_code rc = waits ? enqueue(f, &key, err) : depart(f, err);
    if (rc) {
        if (f->is_shared)
            free(f);
        return rc;
    }
    if (waits)
        cw_source_call_wait(call);
    count_result(p, CW_RESULT_CALLED);
    o->request = f;
    cw_list_add(&f->ops, &o->node);
    return CW_OK;
}

/* Make the params that are sent for the call's arguments. */
static cw_code make_params(const cw_remote *r, const cw_source_call *call, op *o, cw_str *ret,
                           cw_err *err)
{
    const cw_param_map *map = r->tools[call->method->index].map;
    *ret = call->params;
    if (map)
        return cw_param_map_apply(map, call->arguments, call->arena, ret, &o->part, err);
    bool is_empty = ret->n == 2 && (ret->p[0] == '{' || ret->p[0] == '[');
    if (is_empty && !r->service->protocol.sends_empty)
        *ret = CW_STR("");
    return CW_OK;
}

/* CW_DECLINED: the breaker is open; CW_INVALID: the credentials are rejected. Calls that do
 * not need the service are served nevertheless.
 */
static cw_code begin(cw_remote *r, cw_source_call *call, op *o, bool *trial, cw_err *err)
{
    const cw_remote_tool *tool = &r->tools[call->method->index];
    cw_remote_loop_state *p = r->parts[call->loop->index];
    cw_str params;
    cw_code rc = make_params(r, call, o, &params, err);
    if (!rc && !p)
        rc = open_part(r, call->loop, &p, err);
    if (!p || rc)
        return rc;
    bool is_served = (tool->cache_ms && use_cached(p, call, params, o)) ||
                     (tool->reads && join(p, call, params, o));
    if (is_served)
        return CW_OK;
    if (cw_remote_denies(r->health, cw_loop_now(call->loop))) {
        cw_remote_close_if_over(p);
        return CW_INVALID;
    }
    if (!cw_breaker_allow(&r->health->breaker, cw_loop_now(call->loop), trial)) {
        cw_remote_close_if_over(p);
        return CW_DECLINED;
    }
    rc = begin_request(p, call, params, o, *trial, err);
    if (rc)
        cw_remote_close_if_over(p);
    return rc;
}

static cw_code start(cw_source *s, cw_source_call *call, cw_fault *fault, cw_err *err)
{
    cw_remote *r = remote_of(s);
    bool trial = false;
    op *o = cw_arena_calloc(call->arena, 1, sizeof *o);
    cw_code rc = CW_NOMEM;
    if (o) {
        o->call = call;
        call->op = o;
        rc = begin(r, call, o, &trial, err);
    }
    if (rc == CW_OK)
        return CW_OK;
    if (rc == CW_DECLINED) {
        *fault = CW_FAULT_UNAVAILABLE;
        return cw_fail(err, CW_IO, "The service '%.*s' is not available at the moment.",
                       CW_STR_ARG(r->base.name));
    }
    cw_remote_record_not_begun(r, rc, trial, cw_loop_now(call->loop));
    return refuse(r, rc, fault, err);
}

static void cancel(cw_source *s, cw_source_call *call)
{
    cw_remote *r = remote_of(s);
    op *o = call->op;
    if (o->follower) {
        cw_remote_loop_state *part = r->parts[call->loop->index];
        cw_follow_cancel(o->follower, call->keeps_job);
        cw_remote_close_if_over(part);
        return;
    }
    if (!cw_list_is_in(&o->node))
        return;
    request *f = o->request;
    cw_remote_loop_state *p = f ? f->part : o->home;
    cw_list_remove(&o->node);
    cw_loop_cancel_deferred(&o->later);
    if (!f) {
        cw_remote_close_if_over(p);
        return;
    }
    if (f->is_over || !cw_list_is_empty(&f->ops))
        return; /* other calls wait for it too */
    /* A cancel near the time limit counts as a timeout of the service, an earlier one does not. */
    uint64_t now = cw_loop_now(call->loop), ms = is_running(f) ? now - f->started : 0;
    uint32_t limit = call->method->call_ms ? call->method->call_ms : s->call_ms;
    if (is_running(f) && ms + ms / 8 >= limit) {
        cw_remote_health_failed(r->health, f->trial, now);
        f->trial = false;
    }
    if (is_running(f) && has_cancel(r, f->tool) && !call->keeps_job) {
        f->is_left = true;
        cw_loop_set_deadline(p->loop, &f->retry, &p->left);
        return;
    }
    drop_request(f);
    cw_remote_close_if_over(p);
}

static void answer(cw_source *s, cw_source_call *call, uint32_t number, cw_str result,
                   cw_str problem)
{
    op *o = call->op;
    request *f = o->request;
    CW_CLEANUP(cw_buf_done) cw_buf reply;
    (void)s;
    cw_buf_init(&reply, REPLY_MAX);
    if (o->follower)
        cw_follow_answer(o->follower, number, result, problem);
    else if (f && cw_relayed_answer(&o->questions, number, result, problem, &reply) && !reply.code)
        cw_upstream_post(f->part->upstream, &f->req, cw_buf_str(&reply));
}

static void sweep(cw_source *s, cw_loop *loop, bool now)
{
    cw_remote *r = remote_of(s);
    cw_remote_loop_state *p = loop->index < r->n_loops ? r->parts[loop->index] : NULL;
    if (!p)
        return;
    if (now)
        close_part(p);
    else
        cw_remote_close_if_over(p);
}

void cw_remote_free(cw_remote *r)
{
    if (!r)
        return;
    if (r->shared)
        cw_shared_conn_release(r->shared);
    cw_shared_conn_unref(r->shared);
    cw_source_unref(r->base.companion);
    cw_event_intake_unref(r->intake);
    cw_remote_health_unref(r->health);
    cw_endpoint_unref(r->service);
    cw_map_done(&r->resources);
    cw_arena_done(&r->arena);
    free(r);
}

static void free_source(cw_source *s)
{
    cw_remote_free(remote_of(s));
}

const cw_remote *cw_remote_of(const cw_source *s)
{
    /* `base` is the first member. */
    return s && s->ops == &cw_remote_ops ? (const cw_remote *)(const void *)s : NULL;
}

bool cw_remote_has_resource(const cw_source *s, cw_str uri)
{
    const cw_remote *r = cw_remote_of(s);
    if (!r)
        return false;
    if (cw_map_find(&r->resources, uri))
        return true;
    for (size_t i = 0; i < r->n_templates; i++) {
        if (cw_exposed_covers(r->templates[i], uri))
            return true;
    }
    return false;
}

const cw_source_ops cw_remote_ops = {
    .name = "remote",
    .start = start,
    .cancel = cancel,
    .answer = answer,
    .sweep = sweep,
    .free = free_source,
};
