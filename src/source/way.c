/* SPDX-License-Identifier: GPL-2.0-or-later */
/* way.c - requests and where each of them is: with the client, the hub, or waiting for a login. */
#include <stdlib.h>

#include "source/way_int.h"

#define SCRATCH_MAX (1024u * 1024u)

void cw_way_move(cw_way_req *req, cw_way_req *ring)
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

static void stop_waiting(cw_way_req *req)
{
    req->way->n_waiting -= req->is_waiting;
    req->is_waiting = false;
}

static void free_texts(cw_way_req *req)
{
    cw_way_headers_done(&req->headers);
    free(req->query);
    req->query = NULL;
}

static void forget(cw_way_req *req)
{
    stop_waiting(req);
    cw_way_move(req, NULL);
    free_texts(req);
}

void cw_way_tell(cw_way_req *req, const cw_reply *reply)
{
    forget(req);
    req->on_done(req, reply);
}

static void fail(cw_way_req *req, cw_client_end end, const char *why)
{
    cw_reply reply = {end, NULL, why, NULL};
    cw_way_tell(req, &reply);
}

static void end_way(cw_way *way);

static void leave(cw_way *way)
{
    if (--way->depth == 0 && way->is_closing)
        end_way(way);
}

void cw_way_fail_waiting(cw_way *way, cw_client_end end, const char *why)
{
    way->depth++;
    /* No more than there are: who is told may ask again, and waits for the next login then. */
    for (size_t n = way->n_waiting; n && way->waiting.next != &way->waiting; n--)
        fail(way->waiting.next, end, why);
    leave(way);
}

void cw_way_send_waiting(cw_way *way)
{
    way->depth++;
    while (way->waiting.next != &way->waiting && cw_way_is_logged_in(way)) {
        cw_way_req *req = way->waiting.next;
        cw_err err = {0};
        stop_waiting(req);
        cw_way_move(req, &way->running);
        cw_code rc = cw_way_transmit(way, req, &err);
        if (rc)
            fail(req, rc == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT, err.msg);
    }
    leave(way);
}

uint64_t cw_way_number(cw_way *way, bool reads)
{
    if (way->hub)
        return cw_hub_number(way->hub);
    uint64_t next = ++way->last_id;
    return cw_way_gets(way, reads) ? CW_WAY_GET_ID : next;
}

void cw_way_wait(cw_way *way, cw_way_req *req)
{
    req->is_waiting = true;
    way->n_waiting++;
    cw_way_move(req, &way->waiting);
    cw_way_log_in(way);
}

static cw_code queue(cw_way *way, cw_way_req *req, cw_err *err)
{
    if (way->n_waiting >= way->service->config.queue)
        return cw_fail(err, CW_LIMIT, "too many wait for the login");
    cw_way_wait(way, req);
    return CW_OK;
}

cw_code cw_way_send(cw_way *way, cw_way_req *req, cw_err *err)
{
    req->way = way;
    req->prev = req->next = NULL;
    req->hub_call = NULL;
    req->query = NULL;
    req->headers = (cw_way_headers){.n = 0};
    req->is_sent = req->is_waiting = req->was_again = false;
    if (!way->hub && !cw_way_is_logged_in(way))
        return queue(way, req, err);
    cw_code rc =
        way->hub ? cw_hub_send(way->hub, way->loop, req, err) : cw_way_transmit(way, req, err);
    if (rc)
        free_texts(req);
    else
        cw_way_move(req, &way->running);
    return rc;
}

void cw_way_cancel(cw_way *way, cw_way_req *req)
{
    if (!req->next)
        return;
    if (way->hub)
        cw_hub_cancel(req);
    else if (req->is_sent)
        cw_client_cancel(way->client, &req->http);
    forget(req);
}

/* ---- begin and end ---- */

static void free_way(cw_way *way)
{
    cw_service_unref(way->service);
    cw_hub_unref(way->hub);
    cw_arena_done(&way->scratch);
    cw_arena_done(&way->session_texts);
    free(way->cookies);
    free(way->handshake);
    free(way);
}

cw_code cw_way_open(cw_service *s, cw_hub *hub, cw_loop *loop, size_t answer_size, cw_way **ret,
                    cw_err *err)
{
    cw_way *way = calloc(1, sizeof *way);
    if (!way)
        return cw_fail_nomem(err);
    way->service = cw_service_ref(s);
    way->hub = hub ? cw_hub_ref(hub) : NULL;
    way->loop = loop;
    way->running.prev = way->running.next = &way->running;
    way->waiting.prev = way->waiting.next = &way->waiting;
    cw_arena_init(&way->scratch, SCRATCH_MAX);
    cw_arena_init(&way->session_texts, SCRATCH_MAX);
    cw_way_login_init(way);
    cw_code rc = hub ? CW_OK : cw_way_open_http(way, answer_size, err);
    if (rc) {
        cw_way_login_done(way);
        free_way(way);
        return rc;
    }
    *ret = way;
    return CW_OK;
}

static void on_client_closed(void *ctx)
{
    cw_way *way = ctx;
    void (*on_closed)(void *) = way->on_closed;
    void *closed_ctx = way->closed_ctx;
    free_way(way);
    if (on_closed)
        on_closed(closed_ctx);
}

static void end_way(cw_way *way)
{
    if (way->client)
        cw_client_close(way->client, on_client_closed, way);
    else
        on_client_closed(way);
}

void cw_way_close(cw_way *way, void (*on_closed)(void *ctx), void *ctx)
{
    while (way->running.next != &way->running)
        cw_way_cancel(way, way->running.next);
    while (way->waiting.next != &way->waiting)
        cw_way_cancel(way, way->waiting.next);
    cw_way_login_done(way);
    way->on_closed = on_closed;
    way->closed_ctx = ctx;
    way->is_closing = true;
    if (way->depth == 0)
        end_way(way);
}
