/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server_int.h - what the files of the server share: connection, request, loop state.
 *
 *     server.c   options, loops, accepting, start and stop
 *     conn.c     a connection: bytes in, turns, states, deadlines, the end
 *     conn_tls.c its bytes through TLS
 *     conn_proxy.c the header of the PROXY protocol before them
 *     request.c  a request: slots, checks before routing, dispatch, the handler's view
 *     reply.c    a response: head, body, streams, bytes that wait to be sent
 *
 * States of a connection; every arrow is one function of conn.c:
 *
 *     IDLE -> HEAD -> BODY -> RUN -> SEND -> IDLE        (or -> LINGER -> CLOSED)
 *                              \-> STREAM --/
 *
 * A connection of a balancer with the PROXY protocol begins with PROXY instead of IDLE. Only PROXY,
 * IDLE, HEAD and BODY take input. In the others bytes that were already
 * read wait in conn.in (less than one scratch buffer) and the rest waits in the
 * kernel; that the client leaves is still noticed, through EPOLLRDHUP. That alone
 * says only that nothing more will come: RUN asks the request what it means.
 */
#ifndef CW_NET_SERVER_SERVER_INT_H
#define CW_NET_SERVER_SERVER_INT_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/fair.h"
#include "base/ids.h"
#include "json/id_scan.h"
#include "net/addr/addrcount.h"
#include "net/addr/proxies.h"
#include "net/http/target.h"
#include "net/loop/run_queue.h"
#include "net/server/server.h"
#include "net/server/tls.h"

typedef struct cw_server_loop cw_server_loop;
typedef struct cw_conn cw_conn;

typedef enum cw_conn_state {
    CONN_PROXY,  /* the header of the PROXY protocol is incomplete */
    CONN_IDLE,   /* no byte of a request yet */
    CONN_HEAD,   /* a part of a head */
    CONN_BODY,   /* head accepted, body incomplete */
    CONN_RUN,    /* the handler has it */
    CONN_SEND,   /* an answer is not completely sent */
    CONN_STREAM, /* an open stream */
    CONN_LINGER, /* answered for the last time; input is thrown away until the client closes */
    CONN_CLOSED, /* waiting for libuv to let go */
} cw_conn_state;

struct cw_conn {
    uv_poll_t poll;
    cw_deadline deadline;
    cw_runner runner; /* in the loop's queue: it reads or sends when its turn comes */
    cw_list node;     /* of the loop's connections */
    cw_server_loop *sl;
    SSL *tls; /* NULL: plain */
    cw_http_req *req;
    cw_buf in; /* input that was read but not taken; no memory while empty */
    unsigned char peer[16];
    cw_addrkey peer_key;
    int fd;
    uid_t local_uid;    /* is_local: of the peer */
    uint64_t progress;  /* bytes moved in the current body or write window */
    uint32_t window_ms; /* how long that window is */
    uint32_t queued;    /* bytes in the kernel's send queue when the write window began */
    uint32_t pipelined; /* requests in a row that were there before the answer to the one before */
    uint16_t peer_port; /* 0: none */
    uint8_t peer_family;
    uint8_t listener; /* its slot in the metrics */
    uint8_t at;       /* the bit of its listener, CW_AT_* */
    uint8_t state;
    uint8_t events; /* what libuv polls for now */
    bool counted : 1;
    bool is_local : 1;          /* on the local listener */
    bool fresh : 1;             /* no byte of a first request yet */
    bool taking : 1;            /* inside conn_take: do not enter again */
    bool tls_write : 1;         /* TLS wants to write before it can read */
    bool tls_read : 1;          /* TLS wants to read before it can write */
    bool tls_more : 1;          /* TLS has read more than it gave us */
    bool closing : 1;           /* answer with Connection: close */
    bool client_done : 1;       /* the client asked for the close: nothing more will come */
    bool input_over : 1;        /* it has ended its side; the answer may still be wanted */
    bool is_far : 1;            /* through a balancer on another machine */
    bool ignores_forwarded : 1; /* its balancer passes the headers of clients through */
    bool is_told : 1;           /* that the server stops */
};

/* Large bodies are counted in units of so many bytes. */
#define CW_BODY_UNIT 16384u

/* A body that is refused and read on, for the id in it. */
typedef struct cw_skipped_body {
    cw_json_id_scan scan;
    uint64_t until_ns;
    const char *reason;
    unsigned status;
} cw_skipped_body;

/* A head and a body, which may have more parts. */
#define CW_REPLY_PARTS (2u + CW_HTTP_MORE_PARTS)

struct cw_http_req {
    cw_conn *c;
    uint32_t slot;
    uint32_t generation; /* changes when the request ends */
    uint64_t started_ns;
    cw_ids ids;
    cw_arena arena;
    cw_buf body;
    cw_skipped_body *skipped;    /* in the arena; NULL: the body is kept */
    uint32_t charged;            /* units of cw_server.bodies that the body holds */
    cw_buf out;                  /* a stream's queue */
    const char *bytes;           /* the head, in the arena */
    cw_str left[CW_REPLY_PARTS]; /* of a response that could not be sent at once */
    cw_target target;
    cw_str param;
    const cw_route *route;
    cw_http_listener listener;
    void *listener_ctx;
    void *data;    /* the door's */
    uint64_t sent; /* body bytes of the response, for the log */
    uint16_t status;
    uint8_t n_left;
    bool answered : 1;
    bool from_page : 1; /* of another origin, which is allowed */
    bool stream_chunked : 1;
    bool stream_silent : 1;  /* HEAD: no body bytes */
    bool stream_sse : 1;     /* events: comments may go in between */
    bool stream_full : 1;    /* the writer waits for CW_HTTP_DRAINED */
    bool ending : 1;         /* stream: close when the queue is empty */
    bool cancels_on_eof : 1; /* the end of the client's input counts as its leaving */
    cw_fair_key payer;       /* while `charged`: the networks that the body counts for */
    cw_http1_body reader;
    cw_http1_head head;
};

typedef struct cw_acceptor {
    uv_poll_t poll;
    cw_deadline pause; /* after EMFILE: try again when this expires */
    cw_server_loop *sl;
    int *fd; /* of the listener; -1 once it is closed */
    bool tls;
    bool is_local;
    bool proxy; /* balancers send the header of the PROXY protocol */
    uint8_t at; /* CW_AT_* */
    bool open;
    uint32_t slot; /* of its listener, in the metrics */
} cw_acceptor;

/* One immutable set of options, shared by all loops. */
typedef struct cw_settings {
    atomic_uint refs;
    cw_server_opts opts; /* its pointers are not used: hosts and tls hold what they meant */
    cw_hostlist *hosts;
    cw_proxies *proxies; /* NULL: none */
    SSL_CTX *tls;
} cw_settings;

/* An address and its text. */
typedef struct cw_peer_text {
    unsigned char peer[16];
    sa_family_t family;
    size_t n; /* 0: none yet */
    char text[CW_ADDRESS_TEXT];
} cw_peer_text;

struct cw_server_loop {
    cw_loop loop;
    cw_server *server;
    cw_settings *settings;
    _Atomic(cw_settings *) new_settings; /* a reference; the next ones, or NULL */
    cw_message on_settings, on_stop;
    atomic_uint n_stops; /* orders to stop that were not carried out yet */
    cw_acceptor *acceptors;
    size_t n_acceptors;
    cw_list conns;
    cw_http_req **slots;
    uint32_t n_slots, cap_slots;
    uint32_t *free_slots;
    uint32_t n_free;
    cw_deadline_list header, body, idle, write, linger, ping, pause, drain, trim;
    cw_deadline_list last; /* for the last request of an idle connection, when the server stops */
    cw_deadline drain_end;
    cw_deadline_list spread; /* when the server stops, streams end in groups */
    cw_deadline next_group;
    uint32_t group;
    cw_deadline trim_at;            /* set after a burst of connections */
    uint32_t n_conns, most_conns;   /* now, and since memory was last given back */
    cw_run_queue ready;             /* connections with something to do */
    cw_deferred add_missed;         /* deferred while some could not be queued */
    unsigned char contested_by[16]; /* the last peer that was served */
    const cw_route *last_route;     /* of a fixed path; or NULL */
    cw_peer_text last_peer;
    bool stopping;
    bool ended;
    char head[CW_HTTP_RESPONSE_HEAD];
};

struct cw_server {
    const cw_router *router;
    cw_server_loop *loops;
    unsigned n_loops;
    unsigned n_ready;   /* loops that are initialised */
    unsigned n_started; /* loops whose threads run */
    cw_listener listeners[CW_SERVER_MAX_LISTENERS];
    size_t n_listeners;
    cw_settings *settings;
    cw_addrcount addresses;
    atomic_uint connections;
    cw_fair_slots bodies; /* units of large bodies, of all loops */
    atomic_uint running;  /* loops that have not ended */
    bool stopping;
    bool is_handed_over; /* set before the loops are stopped */
    void (*on_stopped)(void *ctx);
    void *stopped_ctx;
};

/* conn.c */
/* Prepare a loop for its connections: their deadlines and the queue in which they take turns. */
void cw_conn_loop_init(cw_server_loop *sl);
void cw_conn_loop_done(cw_server_loop *sl);
/* NULL: without memory; the socket is closed then. */
cw_conn *cw_conn_new(cw_server_loop *sl, int fd, const cw_address *peer, bool tls, bool counted,
                     cw_addrkey key);
/* A header of the PROXY protocol must come first; right after cw_conn_new. */
void cw_conn_expect_proxy_header(cw_conn *c, const cw_address *peer);
/* Bytes taken, or CONN_IO_*. */
#define CONN_IO_AGAIN (-1)
#define CONN_IO_FAILED (-2)
ssize_t cw_conn_write(cw_conn *c, struct iovec *iov, int n_iov);
/* The request is over and its answer sent: on to the next one, or close. */
void cw_conn_next(cw_conn *c);
/* Set polling and deadline to what the state needs. */
void cw_conn_settle(cw_conn *c);
/* The client is gone, or the connection broke: notify the handler's listener, then close. */
void cw_conn_lost(cw_conn *c);
/* The client: the peer, or whom a trusted proxy speaks for. */
void cw_req_client(const cw_http_req *req, cw_address *ret);
void cw_conn_peer_address(const cw_conn *c, cw_address *ret);
void cw_conn_set_peer(cw_conn *c, const cw_address *peer);
/* The server stops: close after the next answer, or when none is asked for within the linger time. */
void cw_conn_stop(cw_conn *c);

/* conn_proxy.c */
/* Read the header, and no byte after it. CW_OK: the state is CONN_IDLE. CW_AGAIN: it is incomplete.
 * Otherwise the connection must be closed. */
CW_MUST_USE cw_code cw_conn_read_proxy_header(cw_conn *c);
/* Count and log a connection that is refused. `why` is a constant text. */
void cw_conn_refuse_proxy(const cw_address *peer, const char *why);

/* conn_tls.c */
/* Results of reading and writing beside a byte count; 0 is the peer's clean end. */
#define CONN_TLS_WANT_READ (-1)
#define CONN_TLS_WANT_WRITE (-2)
#define CONN_TLS_FAILED (-3)
/* NULL: without memory. */
SSL *cw_conn_tls_new(SSL_CTX *context, int fd);
ssize_t cw_conn_tls_read(SSL *tls, void *p, size_t n);
ssize_t cw_conn_tls_write(SSL *tls, const struct iovec *iov, int n_iov);
/* Announce the end of what is sent. */
void cw_conn_tls_goodbye(SSL *tls);
/* `clean`: with a goodbye. NULL is fine. */
void cw_conn_tls_free(SSL *tls, bool clean);

/* request.c */
cw_http_req *cw_request_new(cw_conn *c);
void cw_request_free(cw_http_req *req);
/* The head is complete: check, route, and run, or go on to the body. */
void cw_request_begin(cw_http_req *req, const char *head);
/* Take body bytes; runs the handler at the end. Returns what was taken. */
size_t cw_request_take_body(cw_http_req *req, const char *p, size_t n);
/* The body comes too slowly: refuse the request. */
void cw_request_refuse_slow(cw_http_req *req);
void cw_request_notify(cw_http_req *req, cw_http_event event);
/* Free the requests that are not in use, but for a few and those before one that is in use. */
void cw_request_pool_trim(cw_server_loop *sl);
void cw_request_pool_done(cw_server_loop *sl);

/* reply.c */
/* A line of every response head: browsers must not guess types. */
#define CW_REPLY_NOSNIFF "X-Content-Type-Options: nosniff\r\n"
/* No error may be stored. */
extern const cw_http_header cw_reply_no_store;
/* cw_http_reply_error with these headers. */
void cw_reply_error(cw_http_req *req, unsigned status, const char *code, cw_str message,
                    const cw_http_header *headers, size_t n_headers);
/* Answer an error of the HTTP layer itself and close. */
void cw_reply_refuse(cw_http_req *req, unsigned status, const char *reason);
/* The same with the id of the request (cw_route_protocol.write_error). */
void cw_reply_refuse_id(cw_http_req *req, unsigned status, const char *reason, cw_str id);
/* Go on sending a response or a stream; CW_AGAIN, CW_OK when all is sent, CW_GONE when the connection failed. */
cw_code cw_reply_flush(cw_http_req *req);
void cw_reply_log(cw_http_req *req, unsigned status);

void cw_stream_ping(cw_http_req *req);

/* server.c */
/* Count a connection of an address. False: it has too many. *ret_counted: it must be removed from
 * cw_server.addresses by *ret_key. */
bool cw_server_count_address(cw_server_loop *sl, const cw_address *peer, cw_addrkey *ret_key,
                             bool *ret_counted);
/* Answer a connection that is one too many, of all or of its address. The caller closes it. */
void cw_server_refuse_full(int fd, bool tls, bool is_total);
/* A connection has ended; ends the loop when it was the last one of a stopping server. */
void cw_server_check_end(cw_server_loop *sl);

#endif
