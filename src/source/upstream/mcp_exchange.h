/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_exchange.h - one HTTP request to an MCP server, and the message that answers it: the body, or an
 * event among others. In upstream_mcp.c it begins each call, opening of a session and post.
 *
 * Ownership: an exchange is the first member of an object from malloc, and freed with it.
 * Threads:   one loop.
 * Limits:    `answer_size` bytes of an event; messages and bytes of a stream in a while.
 */
#ifndef CW_SOURCE_UPSTREAM_MCP_EXCHANGE_H
#define CW_SOURCE_UPSTREAM_MCP_EXCHANGE_H

#include "source/protocol/dialect.h"
#include "source/relay/sessions.h"
#include "source/upstream/upstream.h"

typedef struct cw_upstream_exchange cw_upstream_exchange;

/* One HTTP request, and the message that answers it. */
struct cw_upstream_exchange {
    cw_list node; /* of its upstream: `waiting`, `running`, `openings` or `posts` */
    struct cw_upstream_mcp *home;
    cw_upstream *http;
    size_t answer_size;
    cw_upstream_req inner;
    uint64_t id;    /* of the message; 0: it has no response */
    uint64_t owner; /* of the call; 0: none */
    cw_relay_ticket ticket;
    cw_buf body;
    cw_str piece;   /* the body */
    cw_arena texts; /* of headers */
    bool is_cut;    /* a header is missing for want of memory */
    cw_http_header headers[CW_UPSTREAM_MORE_HEADERS];
    size_t n_headers;
    cw_str traceparent, tracestate; /* of the call */
    cw_event_stream events;
    bool has_events;
    bool in_events;             /* its events are being read, so it must not be freed */
    bool is_gone;               /* it is freed after its events are read */
    uint64_t flood_at;          /* when counting began */
    size_t n_events, n_bytes;   /* since then */
    cw_parsed_message *message; /* the response, of an event stream */
    cw_deferred later;          /* the response came, and the stream goes on */
    cw_deadline limit;          /* of openings and posts */
    /* The end, once. `message` is set where an event stream had the response. */
    void (*on_end)(cw_upstream_exchange *x, const cw_upstream_reply *reply);
    /* The pieces of its stream; NULL: cw_upstream_exchange_read. */
    void (*on_data)(cw_upstream_req *inner, const cw_client_response *head, cw_str piece);
    /* Another message of the stream; may be NULL. */
    void (*on_other)(cw_upstream_exchange *x, const cw_json *message);
    void (*on_open)(cw_upstream_exchange
                        *x); /* the head of a stream came; again with each piece; may be NULL */
    bool is_stream;          /* no response ends it */
};

void cw_upstream_exchange_init(cw_upstream_exchange *x, struct cw_upstream_mcp *home,
                               cw_upstream *http, size_t answer_size);
/* Free it: it is in no list, and its HTTP request is over or cancelled. */
void cw_upstream_exchange_free(cw_upstream_exchange *x);
/* Cancel it, and free it. */
void cw_upstream_exchange_drop(cw_upstream_exchange *x);
/* The headers of a message in the session of the ticket; and one more. An empty value: none. */
void cw_upstream_exchange_set_headers(cw_upstream_exchange *x, cw_str method, cw_str name);
void cw_upstream_exchange_add_header(cw_upstream_exchange *x, const char *name, cw_str value);
/* Send the body; without a body it is a GET, or a DELETE. on_end is called once, later. */
CW_MUST_USE cw_code cw_upstream_exchange_send(cw_upstream_exchange *x, bool has_body,
                                              bool is_delete, cw_err *err);
/* Read a piece of its stream. */
void cw_upstream_exchange_read(cw_upstream_req *inner, const cw_client_response *head,
                               cw_str piece);
/* `limit` has expired. */
void cw_upstream_exchange_on_late(cw_deadline *d);

#endif
