/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remote.c - calls to a JSON-RPC service: one part per loop, one op per call. */
#include "source/remote.h"

#include <stdlib.h>

#include "base/digits.h"
#include "source/remote_int.h"

/* What ",\"params\":" takes at the end of a wire text. */
#define PARAMS_LEN (sizeof ",\"params\":" - 1)
#define CONNECT_MS 5000u

/* A call, in its arena. */
typedef struct op {
    struct op *prev, *next; /* in its part */
    cw_remote_part *part;   /* NULL: dropped */
    cw_source_call *call;
    uint64_t id;
    uint64_t started; /* ms */
    bool trial;
    cw_client_req req;
    cw_str body[4];
    char begin[48]; /* {"jsonrpc":"2.0","id":N */
} op;

struct cw_remote_part {
    cw_remote *remote; /* one reference */
    cw_loop *loop;
    cw_client *client;
    cw_loop_hook hook;
    op ops; /* ring */
    uint64_t last_id;
};

static cw_remote *remote_of(cw_source *s)
{
    return CW_CONTAINER(s, cw_remote, base);
}

/* ---- parts ---- */

cw_code cw_remote_client(const cw_remote *r, cw_loop *loop, size_t answer_size, cw_client **ret,
                         cw_err *err)
{
    static const cw_http_header headers[] = {
        {CW_STR_INIT("Content-Type"), CW_STR_INIT("application/json")},
        {CW_STR_INIT("Accept"), CW_STR_INIT("application/json")},
        {CW_STR_INIT("User-Agent"), CW_STR_INIT("causeway")},
    };
    cw_client_opts opts = {
        .url = r->url,
        .connections = r->connections,
        .connect_ms = r->base.call_ms < CONNECT_MS ? r->base.call_ms : CONNECT_MS,
        .answer_size = answer_size,
        .headers = headers,
        .n_headers = CW_COUNT(headers),
    };
    return cw_client_new(loop, &opts, ret, err);
}

static void on_part_closed(void *ctx)
{
    cw_remote_part *p = ctx;
    cw_remote *r = p->remote;
    free(p);
    cw_source_unref(&r->base);
}

static void close_part(cw_remote_part *p)
{
    cw_remote *r = p->remote;
    r->parts[p->loop->index] = NULL;
    cw_loop_remove_hook(&p->hook);
    while (p->ops.next != &p->ops) {
        op *o = p->ops.next;
        cw_breaker_neutral(&r->breaker, o->trial);
        o->part = NULL;
        p->ops.next = o->next;
    }
    cw_client_close(p->client, on_part_closed, p);
}

static void close_if_over(cw_remote_part *p)
{
    if (atomic_load(&p->remote->base.retired) && p->ops.next == &p->ops)
        close_part(p);
}

static void on_loop_end(cw_loop_hook *hook)
{
    close_part(CW_CONTAINER(hook, cw_remote_part, hook));
}

static cw_code open_part(cw_remote *r, cw_loop *loop, cw_remote_part **ret, cw_err *err)
{
    cw_remote_part *p = calloc(1, sizeof *p);
    if (!p)
        return cw_fail_nomem(err);
    cw_code rc = cw_remote_client(r, loop, r->answer_size, &p->client, err);
    if (rc) {
        free(p);
        return rc;
    }
    cw_source_ref(&r->base);
    p->remote = r;
    p->loop = loop;
    p->ops.prev = p->ops.next = &p->ops;
    p->hook.on_end = on_loop_end;
    cw_loop_add_hook(loop, &p->hook);
    r->parts[loop->index] = *ret = p;
    return CW_OK;
}

/* ---- calls ---- */

static void unlink_op(op *o)
{
    o->prev->next = o->next;
    o->next->prev = o->prev;
}

static void link_op(op *o, cw_remote_part *p)
{
    o->part = p;
    o->next = &p->ops;
    o->prev = p->ops.prev;
    o->prev->next = o;
    p->ops.prev = o;
}

static void tell_breaker(cw_remote *r, const op *o, cw_client_end end)
{
    if (end == CW_CLIENT_CONNECT)
        cw_breaker_failure(&r->breaker, o->trial, cw_loop_now(o->call->loop));
    else if (end == CW_CLIENT_LOST || end == CW_CLIENT_NOMEM)
        cw_breaker_neutral(&r->breaker, o->trial);
    else
        cw_breaker_success(&r->breaker, o->trial);
}

static void on_done(cw_client_req *req, cw_client_end end, const cw_client_answer *answer,
                    const char *why)
{
    op *o = req->ctx;
    cw_source_call *call = o->call;
    cw_remote_part *p = o->part;
    cw_outcome outcome;
    cw_remote_reply reply = {end, answer, why};
    cw_remote_judge(p->remote->base.name, o->id, &reply, call->arena, &outcome);
    tell_breaker(p->remote, o, end);
    unlink_op(o);
    /* The op ends with the call, and so may the part. */
    close_if_over(p);
    call->sink->ops->done(call->sink, &outcome);
}

/* {"jsonrpc":"2.0","id":7,"method":"a.b","params":{}} in four pieces, two of them ready. */
static void write_body(op *o, const cw_remote_wire *wire, cw_str params)
{
    static const char start[] = "{\"jsonrpc\":\"2.0\",\"id\":";
    char text[CW_DIGITS_SIZE];
    cw_str id = cw_digits_u64(o->id, text);
    memcpy(o->begin, start, sizeof start - 1);
    memcpy(o->begin + sizeof start - 1, id.p, id.n);
    o->body[0] = cw_str_make(o->begin, sizeof start - 1 + id.n);
    o->body[1] = wire->text;
    if (params.n == 0)
        o->body[1].n -= PARAMS_LEN;
    o->body[2] = params;
    o->body[3] = CW_STR("}");
}

static cw_code begin(cw_remote *r, cw_source_call *call, op *o, cw_err *err)
{
    cw_remote_part *p = r->parts[call->loop->index];
    cw_code rc = p ? CW_OK : open_part(r, call->loop, &p, err);
    if (!p)
        return rc;
    const cw_remote_wire *wire = &r->wires[call->method->index];
    o->call = call;
    o->id = ++p->last_id;
    o->started = cw_loop_now(call->loop);
    write_body(o, wire, call->params);
    o->req = (cw_client_req){
        .method = CW_HTTP_POST,
        .body = o->body,
        .n_body = CW_COUNT(o->body),
        .may_repeat = wire->may_repeat,
        .on_done = on_done,
        .ctx = o,
    };
    rc = cw_client_send(p->client, &o->req, err);
    if (rc) {
        close_if_over(p);
        return rc;
    }
    call->op = o;
    link_op(o, p);
    return CW_OK;
}

/* The text of a call that was not begun; what was in err is for nobody's eyes. */
static cw_code refuse(const cw_remote *r, cw_code rc, cw_fault *fault, cw_err *err)
{
    *fault = rc == CW_NOMEM ? CW_FAULT_NOMEM : CW_FAULT_UNAVAILABLE;
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    if (rc == CW_LIMIT)
        return cw_fail(err, rc, "Too many calls wait for the service '%.*s'.",
                       CW_STR_ARG(r->base.name));
    return cw_fail(err, rc, "The service '%.*s' cannot be reached.", CW_STR_ARG(r->base.name));
}

static cw_code start(cw_source *s, cw_source_call *call, cw_fault *fault, cw_err *err)
{
    cw_remote *r = remote_of(s);
    bool trial;
    if (!cw_breaker_allow(&r->breaker, cw_loop_now(call->loop), &trial)) {
        *fault = CW_FAULT_UNAVAILABLE;
        return cw_fail(err, CW_IO, "The service '%.*s' is not available at the moment.",
                       CW_STR_ARG(r->base.name));
    }
    op *o = cw_arena_alloc(call->arena, sizeof *o);
    cw_code rc = CW_NOMEM;
    if (o) {
        o->trial = trial;
        rc = begin(r, call, o, err);
    }
    if (rc == CW_OK)
        return CW_OK;
    if (rc == CW_IO)
        cw_breaker_failure(&r->breaker, trial, cw_loop_now(call->loop));
    else
        cw_breaker_neutral(&r->breaker, trial);
    return refuse(r, rc, fault, err);
}

static void cancel(cw_source *s, cw_source_call *call)
{
    cw_remote *r = remote_of(s);
    op *o = call->op;
    cw_remote_part *p = o->part;
    if (!p)
        return;
    cw_client_cancel(p->client, &o->req);
    unlink_op(o);
    o->part = NULL;
    /* Who gives up near the end of the time had no answer in it; who left early says nothing. */
    uint64_t ms = cw_loop_now(call->loop) - o->started;
    if (ms + ms / 8 >= s->call_ms)
        cw_breaker_failure(&r->breaker, o->trial, cw_loop_now(call->loop));
    else
        cw_breaker_neutral(&r->breaker, o->trial);
    close_if_over(p);
}

static void sweep(cw_source *s, cw_loop *loop, bool now)
{
    cw_remote *r = remote_of(s);
    cw_remote_part *p = loop->index < r->n_loops ? r->parts[loop->index] : NULL;
    if (!p)
        return;
    if (now)
        close_part(p);
    else
        close_if_over(p);
}

void cw_remote_free(cw_remote *r)
{
    if (!r)
        return;
    cw_arena_done(&r->arena);
    free(r);
}

static void free_source(cw_source *s)
{
    cw_remote_free(remote_of(s));
}

const cw_source_ops cw_remote_ops = {
    .name = "remote",
    .start = start,
    .cancel = cancel,
    .sweep = sweep,
    .free = free_source,
};
