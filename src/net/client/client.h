/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client.h - HTTP/1.1 requests to one server, over kept-alive connections of one loop.
 *
 * Uses the server's own head and chunk readers: the same strictness applies to
 * what answers. One request per connection at a time (no pipelining); a request
 * that finds no free connection waits, in order.
 *
 * A kept connection may have been closed by the server meanwhile. If that is
 * seen before anything was sent, another one is used. If it is
 * seen afterwards and no byte of an answer came, the server may or may not have
 * acted on the request: it is sent once more, on a fresh connection, only if that
 * does no harm (`may_repeat`).
 *
 * https: libcurl makes the connection (handshake, certificate, a proxy's tunnel), of TLS 1.2
 * or 1.3; what goes over it is ours as without TLS (net/curl/tls_client.h says why), HTTP/1.1. It
 * is loaded with the first such client.
 *
 * A host name is looked up (net/addr/lookup.h) and believed for CW_CLIENT_NAME_MS; its addresses
 * are tried one after another, beginning with
 * the one that was reached last.
 *
 *     cw_client *c;
 *     cw_client_new(loop, &(cw_client_opts){.url = …}, &c, err);
 *     cw_client_req r = {.path = …, .body = …, .on_done = …, .ctx = …};
 *     rc = cw_client_send(c, &r, err);
 *
 * Cancelling closes the connection: that is how the server learns of it.
 *
 * Ownership: the request struct and what it points to stay the caller's, unchanged, until on_done
 *            is called or cancel has returned. The answer lives until on_done returns, or until it
 *            closes the client.
 * Threads:   one loop.
 * Limits:    cw_client_opts; heads as for the server.
 */
#ifndef CW_NET_CLIENT_CLIENT_H
#define CW_NET_CLIENT_CLIENT_H

#include "base/buf.h"
#include "net/addr/listener.h"
#include "net/curl/tls_client.h"
#include "net/http/http1.h"
#include "net/loop/loop.h"

#define CW_CLIENT_NAME_MS 30000u
#define CW_CLIENT_ADDRESSES 8u /* of a name, at most */
#define CW_CLIENT_WANTED 4u
#define CW_CLIENT_WANTED_MAX 4096u

typedef struct cw_client cw_client;
typedef struct cw_client_req cw_client_req;

/* A destination: "http://host:port/path", "https://…", "http://[::1]/", or "unix:/run/x.sock:/path". */
typedef struct cw_client_url {
    cw_str host;      /* without brackets; empty for unix */
    cw_str authority; /* for the Host field */
    cw_str unix_path;
    cw_str path; /* with query, begins with '/' */
    uint16_t port;
    bool is_tls;
} cw_client_url;

/* Parts of `text`, which must outlive them. CW_PARAMS with a reason: another scheme, user info, a
 * fragment, bytes that may not stand in a request line. */
CW_MUST_USE cw_code cw_client_url_parse(cw_str text, cw_client_url *ret, cw_err *err);

typedef struct cw_client_opts {
    cw_client_url url;             /* strings are copied */
    uint32_t connections;          /* at most, 0: 64 */
    uint32_t waiting;              /* requests that may wait for a connection, 0: 1024 */
    uint32_t connect_ms;           /* for a name, and for each address with TLS; 0: 5000 */
    uint32_t first_byte_ms;        /* from the request's end to the answer's begin; 0: no limit */
    uint32_t idle_ms;              /* a kept connection is closed after this; 0: 60000 */
    size_t answer_size;            /* largest body */
    const cw_http_header *headers; /* of every request; copied */
    size_t n_headers;
    const cw_str *wanted;    /* names of headers of answers that are wanted; copied */
    size_t n_wanted;         /* <= CW_CLIENT_WANTED */
    cw_client_tls tls;       /* for https; texts are copied */
    uint32_t metrics_source; /* slot of the source whose connections these are; 0: not counted */
    cw_str proxy; /* "http://host:port", which also looks the URL's name up; empty: none, whatever
                     the environment says */
} cw_client_opts;

typedef struct cw_client_response {
    unsigned status;
    cw_str type; /* Content-Type, cut at 127 bytes, or empty */
    cw_str body;
    cw_str
        wanted[CW_CLIENT_WANTED]; /* values of the wanted headers, the first of several; .p is NULL
                                    where there is none, or it has over CW_CLIENT_WANTED_MAX bytes */
    cw_str cookies; /* "a=1; b=2" of all Set-Cookie, as they are to be sent back: without those with
                       Max-Age=0, of one name the last, up to CW_CLIENT_WANTED_MAX bytes (what has no
                       room is left out); only where "Set-Cookie" is among the wanted */
    const struct cw_client_conn *conn; /* cw_client_peer; NULL: no connection of a client */
    bool *is_spoiled; /* on_done sets it where this is no answer to the request: what comes behind
                         it is none either, and the connection is closed. NULL: there is none */
} cw_client_response;

/* Why there is no answer, for on_done. */
typedef enum cw_client_end {
    CW_CLIENT_OK,
    CW_CLIENT_CONNECT, /* not reached: name, refused, connect time, TLS, proxy; nothing was sent */
    CW_CLIENT_LOST,    /* the connection ended before the whole answer */
    CW_CLIENT_GARBAGE, /* not an HTTP answer */
    CW_CLIENT_TOO_LARGE,
    CW_CLIENT_SLOW, /* no byte of an answer in first_byte_ms; the request was sent */
    CW_CLIENT_NOMEM,
    CW_CLIENT_REFUSED, /* of ways and hubs only: a login before the request was refused */
} cw_client_end;

struct cw_client_req {
    cw_http_method method;
    cw_str path;                   /* empty: the URL's */
    const cw_http_header *headers; /* beside Host, Content-Length and Connection */
    size_t n_headers;
    const cw_str *body; /* pieces, one after another */
    size_t n_body;
    bool may_repeat; /* sending it twice does no harm */
    /* Hash of the caller or network for which it is sent: the answers of different ones are read in turn
     * (net/loop/run_queue.h). 0: the server itself. */
    uint64_t owner;
    /* `answer` only with CW_CLIENT_OK; `why` is a text for logs. */
    void (*on_done)(cw_client_req *req, cw_client_end end, const cw_client_response *answer,
                    const char *why);
    /* An answer of type text/event-stream comes here as it arrives, without a limit of its size:
     * first an empty piece, when its head is complete. on_done follows, with an empty body. The
     * head has no body either. May cancel the request. NULL: such an answer is one like others. */
    void (*on_data)(cw_client_req *req, const cw_client_response *head, cw_str piece);
    void *ctx;
    void *internal[4]; /* the client's own */
};

/* CW_PARAMS: headers, a proxy or a server name that mean nothing; CW_IO: https, and libcurl is not
 * there; CW_NOMEM. */
CW_MUST_USE cw_code cw_client_new(cw_loop *loop, const cw_client_opts *opts, cw_client **ret,
                                  cw_err *err);
/* Begin. on_done is called exactly once, never before this returns, unless it fails (CW_LIMIT: too
 * many wait; CW_IO: the server cannot be reached, known at once; CW_PARAMS: a header or path that
 * would break the request; CW_NOMEM) or the request is cancelled. */
CW_MUST_USE cw_code cw_client_send(cw_client *c, cw_client_req *req, cw_err *err);
/* The address at the other end of the connection that an answer came over, which may be a proxy's.
 * False: it is not known. While on_done runs. */
bool cw_client_peer(const cw_client_response *answer, cw_address *ret);
/* on_done will not be called. Nothing happens when it was already. */
void cw_client_cancel(cw_client *c, cw_client_req *req);
/* Drop what runs without a call of on_done, close the connections, then call on_closed(ctx), which
 * may be before this returns. */
void cw_client_close(cw_client *c, void (*on_closed)(void *ctx), void *ctx);

#endif
