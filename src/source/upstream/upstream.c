/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upstream.c - the common part of all transports: the requests under way, and their end. */
#include "source/upstream/upstream_int.h"

static void forget(cw_upstream_req *req)
{
    cw_list_remove(&req->node);
    req->upstream->ops->forget(req);
}

void cw_upstream_finish(cw_upstream_req *req, const cw_upstream_reply *reply)
{
    forget(req);
    req->on_done(req, reply);
}

uint64_t cw_upstream_next_id(cw_upstream *upstream, bool reads)
{
    return upstream->ops->next_id(upstream, reads);
}

cw_code cw_upstream_send(cw_upstream *upstream, cw_upstream_req *req, cw_err *err)
{
    req->upstream = upstream;
    req->node = (cw_list){0};
    req->conn_call = NULL;
    req->mcp_call = NULL;
    req->query = NULL;
    req->headers = (cw_upstream_headers){.n = 0};
    req->is_sent = req->is_waiting = req->was_again = false;
    cw_code rc = upstream->ops->send(upstream, req, err);
    if (rc)
        upstream->ops->forget(req);
    else if (!cw_list_is_in(&req->node))
        cw_list_add(&upstream->running, &req->node);
    return rc;
}

void cw_upstream_cancel(cw_upstream *upstream, cw_upstream_req *req)
{
    if (!cw_list_is_in(&req->node))
        return;
    upstream->ops->cancel(upstream, req);
    forget(req);
}

void cw_upstream_post(cw_upstream *upstream, cw_upstream_req *req, cw_str message)
{
    if (cw_list_is_in(&req->node) && upstream->ops->post)
        upstream->ops->post(upstream, req, message);
}

cw_code cw_upstream_open(cw_endpoint *s, cw_shared_conn *shared, cw_loop *loop, size_t answer_size,
                         cw_upstream **ret, cw_err *err)
{
    cw_upstream base = {.service = cw_endpoint_ref(s), .loop = loop};
    cw_upstream *upstream = NULL;
    cw_code rc = !shared ? cw_upstream_open_http(answer_size, &base, &upstream, err)
                 : s->kind == CW_ENDPOINT_HTTP
                     ? cw_upstream_open_mcp(shared, answer_size, &base, &upstream, err)
                     : cw_upstream_open_shared(shared, &base, &upstream, err);
    if (rc) {
        cw_endpoint_unref(s);
        return rc;
    }
    cw_list_init(&upstream->running);
    *ret = upstream;
    return CW_OK;
}

void cw_upstream_close(cw_upstream *upstream, void (*on_closed)(void *ctx), void *ctx)
{
    while (!cw_list_is_empty(&upstream->running))
        cw_upstream_cancel(upstream, CW_CONTAINER(upstream->running.next, cw_upstream_req, node));
    upstream->ops->close(upstream, on_closed, ctx);
}
