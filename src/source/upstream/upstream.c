/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upstream.c - requests and where each of them is: with the client, the hub, or waiting for a
 * login. */
#include <stdlib.h>

#include "source/upstream/upstream_int.h"

#define SCRATCH_MAX (1024u * 1024u)

void cw_upstream_move(cw_upstream_req *req, cw_upstream_req *ring)
{
    if (req->next) {
        req->prev->next = req->next;
        req->next->prev = req->prev;
    }
    req->prev = req->next = NULL;
    if (!ring)
        return;
    req->next = ring;
    req->prev = ring->prev;
    req->prev->next = req;
    ring->prev = req;
}

static void stop_waiting(cw_upstream_req *req)
{
    req->upstream->n_waiting -= req->is_waiting;
    req->is_waiting = false;
}

static void free_texts(cw_upstream_req *req)
{
    cw_upstream_headers_done(&req->headers);
    free(req->query);
    req->query = NULL;
}

static void forget(cw_upstream_req *req)
{
    stop_waiting(req);
    cw_upstream_move(req, NULL);
    free_texts(req);
}

void cw_upstream_finish(cw_upstream_req *req, const cw_upstream_reply *reply)
{
    forget(req);
    req->on_done(req, reply);
}

static void fail(cw_upstream_req *req, cw_client_end end, const char *why)
{
    cw_upstream_reply reply = {end, NULL, why, NULL, NULL};
    cw_upstream_finish(req, &reply);
}

static void end_upstream(cw_upstream *upstream);

static void leave(cw_upstream *upstream)
{
    if (--upstream->depth == 0 && upstream->is_closing)
        end_upstream(upstream);
}

void cw_upstream_fail_waiting(cw_upstream *upstream, cw_client_end end, const char *why)
{
    upstream->depth++;
    /* No more than there are: who is told may ask again, and waits for the next login then. */
    for (size_t n = upstream->n_waiting; n && upstream->waiting.next != &upstream->waiting; n--)
        fail(upstream->waiting.next, end, why);
    leave(upstream);
}

void cw_upstream_send_waiting(cw_upstream *upstream)
{
    upstream->depth++;
    while (upstream->waiting.next != &upstream->waiting && cw_upstream_is_logged_in(upstream)) {
        cw_upstream_req *req = upstream->waiting.next;
        cw_err err = {0};
        stop_waiting(req);
        cw_upstream_move(req, &upstream->running);
        cw_code rc = cw_upstream_send_http(upstream, req, &err);
        if (rc)
            fail(req, rc == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT, err.msg);
    }
    leave(upstream);
}

uint64_t cw_upstream_next_id(cw_upstream *upstream, bool reads)
{
    if (upstream->shared)
        return cw_shared_conn_number(upstream->shared);
    uint64_t next = ++upstream->last_id;
    return cw_upstream_uses_get(upstream, reads) ? CW_UPSTREAM_GET_ID : next;
}

void cw_upstream_enqueue(cw_upstream *upstream, cw_upstream_req *req)
{
    req->is_waiting = true;
    upstream->n_waiting++;
    cw_upstream_move(req, &upstream->waiting);
    cw_upstream_log_in(upstream);
}

static cw_code queue(cw_upstream *upstream, cw_upstream_req *req, cw_err *err)
{
    if (upstream->n_waiting >= upstream->service->config.queue)
        return cw_fail(err, CW_LIMIT, "too many wait for the login");
    cw_upstream_enqueue(upstream, req);
    return CW_OK;
}

cw_code cw_upstream_send(cw_upstream *upstream, cw_upstream_req *req, cw_err *err)
{
    req->upstream = upstream;
    req->prev = req->next = NULL;
    req->conn_call = NULL;
    req->query = NULL;
    req->headers = (cw_upstream_headers){.n = 0};
    req->is_sent = req->is_waiting = req->was_again = false;
    if (!upstream->shared && !cw_upstream_is_logged_in(upstream))
        return queue(upstream, req, err);
    cw_code rc = upstream->shared ? cw_shared_conn_send(upstream->shared, upstream->loop, req, err)
                                  : cw_upstream_send_http(upstream, req, err);
    if (rc)
        free_texts(req);
    else
        cw_upstream_move(req, &upstream->running);
    return rc;
}

void cw_upstream_cancel(cw_upstream *upstream, cw_upstream_req *req)
{
    if (!req->next)
        return;
    if (upstream->shared)
        cw_shared_conn_cancel(req);
    else if (req->is_sent)
        cw_client_cancel(upstream->client, &req->http);
    forget(req);
}

/* ---- begin and end ---- */

static void free_upstream(cw_upstream *upstream)
{
    cw_endpoint_unref(upstream->service);
    cw_shared_conn_unref(upstream->shared);
    cw_arena_done(&upstream->scratch);
    cw_arena_done(&upstream->session_texts);
    free(upstream->cookies);
    free(upstream->handshake);
    free(upstream);
}

cw_code cw_upstream_open(cw_endpoint *s, cw_shared_conn *shared, cw_loop *loop, size_t answer_size,
                         cw_upstream **ret, cw_err *err)
{
    cw_upstream *upstream = calloc(1, sizeof *upstream);
    if (!upstream)
        return cw_fail_nomem(err);
    upstream->service = cw_endpoint_ref(s);
    upstream->shared = shared ? cw_shared_conn_ref(shared) : NULL;
    upstream->loop = loop;
    upstream->running.prev = upstream->running.next = &upstream->running;
    upstream->waiting.prev = upstream->waiting.next = &upstream->waiting;
    cw_arena_init(&upstream->scratch, SCRATCH_MAX);
    cw_arena_init(&upstream->session_texts, SCRATCH_MAX);
    cw_upstream_login_init(upstream);
    cw_code rc = shared ? CW_OK : cw_upstream_open_http(upstream, answer_size, err);
    if (rc) {
        cw_upstream_login_done(upstream);
        free_upstream(upstream);
        return rc;
    }
    *ret = upstream;
    return CW_OK;
}

static void on_client_closed(void *ctx)
{
    cw_upstream *upstream = ctx;
    void (*on_closed)(void *) = upstream->on_closed;
    void *closed_ctx = upstream->closed_ctx;
    free_upstream(upstream);
    if (on_closed)
        on_closed(closed_ctx);
}

static void end_upstream(cw_upstream *upstream)
{
    if (upstream->client)
        cw_client_close(upstream->client, on_client_closed, upstream);
    else
        on_client_closed(upstream);
}

void cw_upstream_close(cw_upstream *upstream, void (*on_closed)(void *ctx), void *ctx)
{
    while (upstream->running.next != &upstream->running)
        cw_upstream_cancel(upstream, upstream->running.next);
    while (upstream->waiting.next != &upstream->waiting)
        cw_upstream_cancel(upstream, upstream->waiting.next);
    cw_upstream_login_done(upstream);
    upstream->on_closed = on_closed;
    upstream->closed_ctx = ctx;
    upstream->is_closing = true;
    if (upstream->depth == 0)
        end_upstream(upstream);
}
