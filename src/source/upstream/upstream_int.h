/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upstream_int.h - types and functions that upstream.c shares with its transports: upstream_http.c,
 * upstream_mcp.c and shared_conn.c. */
#ifndef CW_SOURCE_UPSTREAM_UPSTREAM_INT_H
#define CW_SOURCE_UPSTREAM_UPSTREAM_INT_H

#include "source/relay/sessions.h"
#include "source/upstream/upstream.h"

#define CW_UPSTREAM_QUERY_MAX 2000u /* a longer GET is sent as POST */

/* A transport. All of it runs on the loop of the upstream. */
typedef struct cw_upstream_ops {
    uint64_t (*next_id)(cw_upstream *upstream, bool reads);
    /* As cw_upstream_send. The request is in no list yet. A transport may put it into one of its
     * own; otherwise it goes to upstream->running. */
    cw_code (*send)(cw_upstream *upstream, cw_upstream_req *req, cw_err *err);
    /* The request is in a list. It is removed from it afterwards. */
    void (*cancel)(cw_upstream *upstream, cw_upstream_req *req);
    /* Free the transport's part of a request that is over. */
    void (*forget)(cw_upstream_req *req);
    /* All requests in upstream->running are cancelled. Drop the others, free the upstream, then
     * call on_closed (which may be NULL), now or later. */
    void (*close)(cw_upstream *upstream, void (*on_closed)(void *ctx), void *ctx);
    /* As cw_upstream_post; NULL: no MCP server. */
    void (*post)(cw_upstream *upstream, cw_upstream_req *req, cw_str message);
} cw_upstream_ops;

/* The beginning of every transport. */
struct cw_upstream {
    const cw_upstream_ops *ops;
    cw_endpoint *service; /* a reference */
    cw_loop *loop;
    cw_list running;  /* of cw_upstream_req */
    size_t n_waiting; /* requests that wait for a login */
};

/* Make a transport from `base`, which has everything but its ops and its list. CW_NOMEM, and for HTTP
 * as cw_client_new. */
CW_MUST_USE cw_code cw_upstream_open_http(size_t answer_size, const cw_upstream *base,
                                          cw_upstream **ret, cw_err *err);
CW_MUST_USE cw_code cw_upstream_open_shared(cw_shared_conn *shared, const cw_upstream *base,
                                            cw_upstream **ret, cw_err *err);
CW_MUST_USE cw_code cw_upstream_open_mcp(cw_shared_conn *shared, size_t answer_size,
                                         const cw_upstream *base, cw_upstream **ret, cw_err *err);

/* The response headers that the HTTP transport keeps, in their order. */
enum {
    CW_UPSTREAM_HEADER_COOKIE,
    CW_UPSTREAM_HEADER_HANDSHAKE,
    CW_UPSTREAM_HEADER_SESSION, /* of an MCP server only */
};

/* ---- upstream_mcp.c ---- */

/* A message of the session's stream that belongs to this call; on the loop of the call. */
void cw_upstream_mcp_receive(struct cw_upstream_mcp_call *call, const cw_json *message);
/* End a session that no request uses: DELETE. Then on_end(ctx), if it is not NULL and the upstream is
 * not closed before. False: it is not sent. */
bool cw_upstream_mcp_end_session(cw_upstream *upstream, const cw_relay_ticket *ticket,
                                 void (*on_end)(void *ctx), void *ctx);
/* Close it when its messages without a response were sent, or timed out, or the loop ends. */
void cw_upstream_mcp_close_when_idle(cw_upstream *upstream);

/* ---- upstream.c ---- */

/* The request is over: its owner is called. */
void cw_upstream_finish(cw_upstream_req *req, const cw_upstream_reply *reply);

#endif
