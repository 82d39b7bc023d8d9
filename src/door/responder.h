/* SPDX-License-Identifier: GPL-2.0-or-later */
/* responder.h - the transport of one request of a JSON-RPC door: HTTP, or a line of standard input.
 *
 * A door reads messages and answers them through this interface. Before its one reply it may send more
 * messages: over HTTP that makes the response an event stream.
 *
 *     mcp, jsonrpc ─► rpc_batch ─► responder ─┬─► responder_http.c   a response, or events
 *                                             └─► door/mcp/stdio.c   lines
 *
 * Ownership: a responder lives in its own arena, until it has replied, has ended or its client is gone.
 * Threads:   the loop of the request.
 */
#ifndef CW_DOOR_RESPONDER_H
#define CW_DOOR_RESPONDER_H

#include "base/arena.h"
#include "base/buf.h"
#include "net/server/request_api.h"

struct cw_mcp_session;
typedef struct cw_responder cw_responder;

/* How a message to a slow reader is treated. */
typedef enum cw_send_class {
    CW_SEND_PROGRESS, /* only the newest is sent */
    CW_SEND_LOG,      /* some are dropped and counted */
    CW_SEND_MESSAGE,  /* all are sent, or the responder fails */
} cw_send_class;

typedef enum cw_responder_event {
    CW_RESPONDER_GONE,     /* client gone or request cancelled; ends after this */
    CW_RESPONDER_DRAINED,  /* a slow reader reads again */
    CW_RESPONDER_STOPPING, /* the server stops: finish soon */
} cw_responder_event;

/* `body` is static or lives in the arena. Status and challenge mean something to HTTP only. */
typedef struct cw_response {
    unsigned status;
    cw_str body;        /* empty: nothing but the status */
    const cw_str *more; /* cw_http_response.more, where p->takes_parts; or NULL */
    cw_str challenge;   /* WWW-Authenticate; empty: none */
    cw_str session;     /* Mcp-Session-Id; empty: none */
    cw_str language;    /* Content-Language; empty: none */
    uint32_t retry_s;   /* Retry-After; 0: none */
    /* One sentence that HTTP sends as text/plain in place of the body; empty: none. Clients drop a
     * JSON-RPC error without an id, and their call waits for ever. */
    cw_str plain;
} cw_response;

typedef struct cw_responder_ops {
    void (*reply)(cw_responder *p, const cw_response *answer);
    cw_code (*send)(cw_responder *p, cw_send_class kind, cw_str message);
    void (*end)(cw_responder *p);
    cw_str (*header)(const cw_responder *p, cw_str name, bool *ret_repeats);
    cw_str (*peer)(const cw_responder *p);  /* NULL: none has an address */
    void (*cancel_on_eof)(cw_responder *p); /* NULL: there is but one end */
} cw_responder_ops;

struct cw_responder {
    const cw_responder_ops *ops;
    cw_arena *arena;
    cw_loop *loop;
    bool has_headers; /* the protocol's headers are required */
    bool can_stream;  /* the client accepts an event stream */
    bool takes_parts; /* the body of a reply may have more parts */
    bool
        is_lasting; /* HTTP: set before the stream opens; a client whose stream ends opens another */
    bool is_get;    /* HTTP: the stream of a legacy session, which a GET opens */
    void (*on_event)(cw_responder *p, cw_responder_event event, void *ctx); /* or NULL */
    void *ctx;
    struct cw_mcp_session *session; /* of the one client at the other end; NULL: HTTP */
};

/* The one reply; the responder ends. */
static inline void cw_responder_reply(cw_responder *p, const cw_response *answer)
{
    p->ops->reply(p, answer);
}

/* Send a message before the reply, where p->can_stream. CW_OK; CW_AGAIN: accepted, but the reader
 * is slow; anything else, for CW_SEND_MESSAGE: not accepted. */
static inline cw_code cw_responder_send(cw_responder *p, cw_send_class kind, cw_str message)
{
    return p->ops->send(p, kind, message);
}

/* End without an answer. */
static inline void cw_responder_end(cw_responder *p)
{
    p->ops->end(p);
}

/* The first field of this name; .p is NULL when there is none. */
static inline cw_str cw_responder_header(const cw_responder *p, cw_str name)
{
    return p->ops->header(p, name, NULL);
}

/* The same, and whether more than one field has this name. */
static inline cw_str cw_responder_header_once(const cw_responder *p, cw_str name, bool *ret_repeats)
{
    return p->ops->header(p, name, ret_repeats);
}

/* Whether more than one field has this name. */
static inline bool cw_responder_repeats(const cw_responder *p, cw_str name)
{
    bool repeats;
    (void)p->ops->header(p, name, &repeats);
    return repeats;
}

/* The address of the client, in the arena; empty: none. */
static inline cw_str cw_responder_peer(const cw_responder *p)
{
    return p->ops->peer ? p->ops->peer(p) : CW_STR("");
}

/* cw_responder_peer for cw_call_lookup. */
static inline cw_str cw_responder_peer_of(const void *responder)
{
    return cw_responder_peer(responder);
}

/* The end of the client's input counts as CW_RESPONDER_GONE from now on (cw_http_cancel_on_eof). */
static inline void cw_responder_cancel_on_eof(cw_responder *p)
{
    if (p->ops->cancel_on_eof)
        p->ops->cancel_on_eof(p);
}

/* Replace line breaks, which are white space in JSON, by spaces. In place: a body with line breaks
 * must not be a constant. */
void cw_responder_join_lines(cw_str body);
/* The log message with the number of lost ones, for a slow reader. */
void cw_responder_add_lost(cw_buf *out, uint64_t n);

/* ---- HTTP ---- */

/* The responder of an HTTP request, in its arena; NULL without memory. Uses the request's listener.
 */
cw_responder *cw_responder_of(cw_http_req *req);
/* The request of a responder that cw_responder_of made. */
cw_http_req *cw_responder_req(const cw_responder *p);
#define CW_RESPONDER_PLAIN CW_STR("text/plain; charset=utf-8")
/* Answer a request that has no responder. */
void cw_responder_reply_http(cw_http_req *req, const cw_response *answer);
/* Open the event stream now, before the first message. */
void cw_responder_open(cw_responder *p);

#endif
