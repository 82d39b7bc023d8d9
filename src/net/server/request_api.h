/* SPDX-License-Identifier: GPL-2.0-or-later */
/* request_api.h - what a handler sees of a request, and how it answers.
 *
 * The loop of the connection calls a handler when the whole body has arrived. The handler answers at
 * once, returns and answers later, or opens a stream:
 *
 *     static void hello(cw_http_req *req, void *self)
 *     {
 *         cw_http_reply(req, &(cw_http_response){.status = 200, .body = CW_STR("{}")});
 *     }
 *
 * A handler that answers later keeps the pointer, and sets a listener. The listener is called when
 * the client disconnects, when the server stops, and when a stream takes more bytes. The pointer is
 * invalid after CW_HTTP_GONE.
 *
 *     job->req = req;
 *     cw_http_listen(req, on_event, job);   on_event, for CW_HTTP_GONE: cancel the job
 *     ...
 *     cw_http_reply(job->req, &answer);
 *
 * Ownership: a request and everything read from it live until it is answered (for a stream: closed)
 *            or its client is gone; then the pointer is dead. Answer bodies must be static or live
 *            in the request's arena (or be held by it).
 * Threads:   the request's loop only.
 * Limits:    cw_server_opts; an answer's head is at most CW_HTTP_RESPONSE_HEAD bytes.
 */
#ifndef CW_NET_SERVER_REQUEST_API_H
#define CW_NET_SERVER_REQUEST_API_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/ids.h"
#include "net/http/http1.h"
#include "net/loop/loop.h"

#define CW_HTTP_RESPONSE_HEAD 8192u

typedef struct cw_http_req cw_http_req;
typedef void (*cw_http_handler)(cw_http_req *req, void *self);

cw_http_method cw_http_req_method(const cw_http_req *req);
/* The raw query; .p is NULL without one. */
cw_str cw_http_req_query(const cw_http_req *req);
/* The decoded path. */
cw_str cw_http_req_path(const cw_http_req *req);
/* The path of its route: "/item/{name}"; empty: it was answered before it had one. At a path of
 * another protocol (cw_route_protocol) it is empty too. */
cw_str cw_http_req_route(const cw_http_req *req);
/* The same, also at a path of another protocol. */
cw_str cw_http_req_pattern(const cw_http_req *req);
/* Whether the connection has TLS. */
bool cw_http_req_is_tls(const cw_http_req *req);
/* The value of {name} in the route's path, or an empty string. */
cw_str cw_http_req_param(const cw_http_req *req);
/* First field of this name; .p is NULL when there is none. */
cw_str cw_http_req_header(const cw_http_req *req, cw_str name);
/* The same for three names that the parser has noticed. */
cw_str cw_http_req_accept(const cw_http_req *req);
cw_str cw_http_req_content_type(const cw_http_req *req);
cw_str cw_http_req_authorization(const cw_http_req *req);
/* The same, and whether more than one field has this name. */
cw_str cw_http_req_header_once(const cw_http_req *req, cw_str name, bool *ret_repeats);
/* Whether it has a header `traceparent`, known without a search. */
bool cw_http_req_has_traceparent(const cw_http_req *req);
/* The fields of this name one after another; begin with *at 0. .p is NULL behind the last. */
cw_str cw_http_req_header_next(const cw_http_req *req, cw_str name, size_t *at);
cw_str cw_http_req_body(const cw_http_req *req);
/* The client's address as text, without port: the peer's, or the one that a trusted proxy names. */
cw_str cw_http_req_peer(const cw_http_req *req);
/* The port of the client; 0: it is not known, as behind a proxy. */
uint16_t cw_http_req_peer_port(const cw_http_req *req);
/* The origin under which the client reaches this server ("https://example.org"): TLS and Host, or the
 * X-Forwarded fields of a trusted proxy. Empty without a host; .p is NULL without memory. *ret_known:
 * the host is spelt as in the configuration, so that few different origins are known. */
cw_str cw_http_req_origin(cw_http_req *req, bool *ret_known);
/* Whether the request cannot be intercepted: TLS, here or up to a trusted proxy, or a client on
 * this machine. */
bool cw_http_req_is_private(const cw_http_req *req);
/* Whether the request came over the local listener; *ret_uid is the user at the other end. */
bool cw_http_req_local_uid(const cw_http_req *req, uid_t *ret_uid);
cw_arena *cw_http_req_arena(cw_http_req *req);
cw_loop *cw_http_req_loop(cw_http_req *req);
/* Its ids. They are the current ones (base/ids.h) while its handler or its listener runs; a handler that
 * continues elsewhere enters them itself. A door that reads a trace adds it. */
cw_ids *cw_http_req_ids(cw_http_req *req);
/* A pointer of the door's own, into the arena; NULL until it is set. */
void cw_http_req_set_data(cw_http_req *req, void *data);
void *cw_http_req_data(const cw_http_req *req);
/* Whether the server is stopping: it still answers, but long work should not start. */
bool cw_http_req_is_stopping(const cw_http_req *req);

/* A body may have several parts, so that responses can share one of them without a copy. */
#define CW_HTTP_MORE_PARTS 2u

typedef struct cw_http_response {
    unsigned status;
    cw_str type; /* empty: application/json, of a body that is not */
    cw_str body;
    const cw_str *more; /* CW_HTTP_MORE_PARTS of them, behind a body that is not empty; or NULL */
    const cw_http_header *headers; /* beside Date, Content-Type, Content-Length and Connection */
    size_t n_headers;
    bool close;    /* close the connection afterwards */
    bool no_store; /* Cache-Control: no-store, before the headers */
} cw_http_response;

/* Answer, exactly once. A header that would break the response (control bytes, bad name) turns the
 * answer into a 500. */
void cw_http_reply(cw_http_req *req, const cw_http_response *answer);
/* {"error":{"code":…,"message":…}} with a status: every error that is not a protocol's own. At a
 * path of another protocol (cw_route_protocol) it is that protocol's. */
void cw_http_reply_error(cw_http_req *req, unsigned status, const char *code, cw_str message);
/* 405, with the methods of the path. */
void cw_http_reply_not_allowed(cw_http_req *req);

typedef enum cw_http_event {
    CW_HTTP_GONE,     /* the client has disconnected; the request ends when the listener returns */
    CW_HTTP_DRAINED,  /* the queue of a stream that returned CW_AGAIN is empty again */
    CW_HTTP_STOPPING, /* the server stops: finish soon */
} cw_http_event;

typedef void (*cw_http_listener)(cw_http_req *req, cw_http_event event, void *ctx);
void cw_http_listen(cw_http_req *req, cw_http_listener fn, void *ctx);
/* Treat the end of the client's input as CW_HTTP_GONE before the answer has begun, too; for a stream
 * it always is. By default it is not: a client that has closed the connection cannot be told from
 * one that has closed only its side and still reads. */
void cw_http_cancel_on_eof(cw_http_req *req);

/* Streams: a response of unknown length (chunked for 1.1, up to the close for 1.0). */
void cw_http_stream_open(cw_http_req *req, const cw_http_response *answer);
/* Queue bytes. CW_OK; CW_AGAIN: queued, but wait for CW_HTTP_DRAINED before more, which always
 * follows; CW_LIMIT: not queued, the queue is full; CW_NOMEM: not queued. After CW_OK, half of the
 * queue is free, for the bytes and 24 more. If the client has disconnected, the listener is called
 * later. */
cw_code cw_http_stream_write(cw_http_req *req, cw_str bytes);
/* End the response; the request is over. */
void cw_http_stream_close(cw_http_req *req);

/* Server-sent events: cw_sse_open, any number of cw_sse_send, cw_http_stream_close.
 * Cache-Control is added. `event` and `id` may be empty; a line break in them causes CW_PARAMS. Data with several lines becomes several data: lines. */
void cw_sse_open(cw_http_req *req, const cw_http_header *headers, size_t n_headers);
cw_code cw_sse_send(cw_http_req *req, cw_str event, cw_str id, cw_str data);

#endif
