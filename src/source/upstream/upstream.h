/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upstream.h - the requests of one loop to a service, over one of two transports.
 *
 *     HTTP      connections of this loop (net/client/client.h). It logs in before the first request:
 *               a token, initial calls whose cookies are kept, a handshake header.
 *     MCP       the same, with the sessions of an MCP server (upstream_mcp.c)
 *     others    the shared connection, on the main loop, by message (shared_conn.h)
 *
 * A request that was rejected because the login, the token or the handshake header had expired was
 * not carried out. It is sent once more.
 *
 * Ownership: a request and its body stay the caller's until on_done or cancel; a response lives
 *            until on_done returns.
 * Threads:   one loop.
 * Limits:    config.connections and config.queue.
 */
#ifndef CW_SOURCE_UPSTREAM_UPSTREAM_H
#define CW_SOURCE_UPSTREAM_UPSTREAM_H

#include "base/list.h"
#include "source/relay/event_stream.h"
#include "source/relay/relay.h"
#include "source/upstream/endpoint.h"

typedef struct cw_shared_conn cw_shared_conn; /* shared_conn.h */
typedef struct cw_upstream cw_upstream;
typedef struct cw_upstream_req cw_upstream_req;

/* The headers of one request beside those of the service: copies, since a login, a token or a
 * handshake may be renewed while it waits. */
#define CW_UPSTREAM_MORE_HEADERS (5u + CW_RELAY_HEADERS)
typedef struct cw_upstream_headers {
    cw_http_header items[5 + CW_UPSTREAM_MORE_HEADERS];
    size_t n;
    char *texts;
} cw_upstream_headers;

/* The stream of a request with relay->is_stream, to an MCP server. */
typedef struct cw_upstream_stream {
    char last_event[CW_EVENT_ID_MAX + 1]; /* set before on_done: where it can go on; may be empty */
    uint32_t retry_ms; /* likewise: the pause that the server asks for; 0: none */
    void (*on_open)(cw_upstream_req *req);
} cw_upstream_stream;

struct cw_upstream_req {
    uint64_t id; /* its number: cw_upstream_next_id */
    const cw_str *body;
    size_t n_body; /* pieces of one message; none: a GET of `path` */
    cw_str path;   /* of the same server; HTTP only; empty: the URL's */
    /* The time limit of its caller. The shared connection uses it if it is longer than the service's. */
    uint32_t limit_ms;
    uint64_t owner; /* of the call, as cw_client_req.owner; HTTP only */
    bool may_repeat;
    bool reads;                     /* changes nothing: may go as GET */
    bool is_notice;                 /* has no response: it is over when it was sent */
    cw_str traceparent, tracestate; /* headers; HTTP only; empty: none */
    bool is_delete;                 /* HTTP only: DELETE of the URL */
    /* HTTP only: further headers, at most CW_UPSTREAM_MORE_HEADERS; and the pieces of an event
     * stream, as cw_client_req.on_data. */
    const cw_http_header *more;
    size_t n_more;
    void (*on_data)(cw_upstream_req *req, const cw_client_response *head, cw_str piece);
    /* Of an MCP server: the request, in place of a body; and messages that belong to it and come
     * before its response, each for the call only. `on_message` may be NULL. */
    const cw_relay_request *relay;
    cw_upstream_stream *stream;
    void (*on_message)(cw_upstream_req *req, const cw_json *message);
    /* Once, never before send returns. The reply is that of net/client/client.h; without HTTP the
     * status is 0. */
    void (*on_done)(cw_upstream_req *req, const cw_upstream_reply *reply);
    void *ctx;
    /* For the transport. */
    cw_upstream *upstream;
    cw_list node;
    struct cw_shared_conn_call *conn_call;
    struct cw_upstream_mcp_call *mcp_call;
    cw_client_req http;
    cw_upstream_headers headers;
    char *query;     /* path of a GET that has the request in it */
    bool is_sent;    /* the client has it */
    bool is_waiting; /* for a login */
    bool was_again;  /* sent for the second time */
};

/* `shared` is NULL for HTTP, unless it is an MCP server; `answer_size`: largest response. Takes
 * references. */
CW_MUST_USE cw_code cw_upstream_open(cw_endpoint *s, cw_shared_conn *shared, cw_loop *loop,
                                     size_t answer_size, cw_upstream **ret, cw_err *err);
/* Cancel all requests, then call on_closed(ctx), which may be before this returns. */
void cw_upstream_close(cw_upstream *upstream, void (*on_closed)(void *ctx), void *ctx);
/* The id of every request that may be sent by GET: it is part of the URL, and equal requests must
 * have equal URLs, or each fills a cache with an entry of its own. HTTP does not need the id to
 * match a response to its request. */
#define CW_UPSTREAM_GET_ID 1u
/* The number for the next request; `reads` as of the request. */
uint64_t cw_upstream_next_id(cw_upstream *upstream, bool reads);
/* As cw_client_send. CW_LIMIT: too many wait; CW_IO: an immediate failure to connect; CW_NOMEM. */
CW_MUST_USE cw_code cw_upstream_send(cw_upstream *upstream, cw_upstream_req *req, cw_err *err);
/* on_done is not called any more, and an MCP server is notified. Fine for a request that is
 * over. */
void cw_upstream_cancel(cw_upstream *upstream, cw_upstream_req *req);
/* Send a message to an MCP server within the session of a request that is under way: the answer to
 * a question. If it cannot be sent, the server gets none. */
void cw_upstream_post(cw_upstream *upstream, cw_upstream_req *req, cw_str message);

#endif
