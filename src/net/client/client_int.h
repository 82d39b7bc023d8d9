/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client_int.h - shared by the files of the HTTP client only.
 *
 *     request   WAITING -> on a connection -> done
 *
 *     link      CONNECT (or TLS) -> HEAD -> BODY -> TELL (on_done) -> IDLE -> HEAD ...
 *                  any state -> CLOSED, freed when libuv lets go of it
 *
 * Threads: one loop.
 */
#ifndef CW_NET_CLIENT_CLIENT_INT_H
#define CW_NET_CLIENT_CLIENT_INT_H

#include <netinet/in.h>

#include "net/addr/lookup.h"
#include "net/client/client.h"
#include "net/curl/tls_client.h"
#include "net/loop/run_queue.h"

#define CW_CLIENT_CONN_TYPE_MAX 127u

typedef struct cw_client_conn cw_client_conn;

typedef enum cw_client_conn_state {
    LINK_CONNECT,
    LINK_TLS,  /* libcurl connects and makes the handshake */
    LINK_HEAD, /* the head of the answer has not ended; maybe the request is not wholly out either
                */
    LINK_BODY,
    LINK_TELL, /* within on_done */
    LINK_IDLE,
    LINK_CLOSED,
} cw_client_conn_state;

/* The place of a wanted header in its text. */
typedef struct cw_client_conn_place {
    uint32_t at, n;
    bool is_there;
} cw_client_conn_place;

/* One connection. */
struct cw_client_conn {
    cw_list node; /* of the client's idle or of its other connections */
    cw_client *client;
    uv_poll_t poll;
    int fd;
    uint8_t state;
    uint8_t events;  /* that are polled for */
    uint8_t address; /* index of the one that it goes to */
    uint8_t tried;   /* addresses, this one included */
    uint8_t interim; /* 1xx answers */
    bool wanted;     /* has answered before */
    bool unsent;     /* the request is not wholly out */
    bool broken;     /* must not be used for another request */
    bool answered;   /* a byte of the answer came */
    bool again;      /* the request is sent for the second time */
    bool streams;    /* the body goes to on_data */
    cw_client_req *req;
    size_t sent;         /* bytes of head and body together */
    uint64_t idle_since; /* ms of the loop */
    uint64_t idle_until; /* as far as the server promised */
    cw_deadline deadline;
    cw_deferred more; /* of TLS: reading goes on in the next turn */
    cw_runner runner; /* in the loop's queue: an answer is read when its turn comes */
    uint64_t owner;   /* of the request that it answers */
    cw_buf in;        /* a head that came in pieces */
    cw_buf answer;    /* a body that did */
    cw_buf header_text;
    cw_client_conn_place values[CW_CLIENT_WANTED], cookies;
    cw_tls_client_conn *secure; /* NULL: without TLS */
    cw_buf out;                 /* of TLS: the same bytes in the same place until they are sent */
    char type[CW_CLIENT_CONN_TYPE_MAX + 1];
    uint8_t type_len;
    cw_http1_body body;
    cw_http1_head head;
};

struct cw_client {
    cw_loop *loop;
    cw_client_opts opts; /* strings live in `text` */
    char *text;
    cw_str wanted[CW_CLIENT_WANTED]; /* opts.kept */
    cw_str dial_host;                /* where connections go: the URL's host, or the proxy's */
    cw_str origin; /* "http://host" before each path where a proxy must be told; else empty */
    cw_str post;   /* "POST /path" and `common`: what most requests begin with */
    cw_str common; /* " HTTP/1.1", Host and the fixed headers */
    cw_buf out;    /* the request that is being sent, within one function */
    cw_deadline_list connecting, answering, idling, naming;
    cw_list links;           /* ring: all that are not idle */
    cw_list idle;            /* ring, newest first */
    uint32_t n_links;        /* not closed */
    uint32_t n_open;         /* handles that libuv still holds */
    uint32_t depth;          /* of functions that call back and go on with the client */
    uint64_t no_reuse_until; /* no connection is used twice; ms of the loop */
    size_t n_waiting;        /* requests */
    cw_client_req *first, *last;
    cw_deferred later;     /* serve who waits */
    cw_tls_client *secure; /* NULL: without TLS */
    /* Addresses. */
    cw_address addresses[CW_CLIENT_ADDRESSES];
    uint16_t dial_port;
    uint8_t n_addresses;
    uint8_t best; /* the one to begin with */
    bool wants_cookies;
    bool is_name;       /* they came from a lookup */
    uint64_t looked_up; /* when */
    cw_lookup *lookup;  /* under way */
    bool lookup_late;   /* it took too long; to be said at the end of this turn */
    cw_deadline lookup_deadline;
    bool closing;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

/* ---- client.c ---- */

/* Around whatever may call on_done: the client stays until the last leave. */
void cw_client_enter(cw_client *c);
void cw_client_leave(cw_client *c);
/* The request is over: forget it and tell. Within enter and leave. */
void cw_client_finish(cw_client_req *req, cw_client_end end, const cw_client_response *answer,
                      const char *why);
/* A connection became free or ended: see to those who wait, at the end of this turn. */
void cw_client_defer_serve(cw_client *c);

/* ---- dns.c ---- */

/* ---- send.c ---- */

/* Make the texts that requests begin with, of opts that are the caller's still. */
CW_MUST_USE cw_code cw_client_make_texts(cw_client *c, const cw_client_opts *opts, cw_err *err);
/* Whether the request can be sent at all; and room for it in `out`, so that sending cannot fail for
 * want of memory. */
CW_MUST_USE cw_code cw_client_prepare(cw_client *c, const cw_client_req *req, cw_err *err);
/* Bytes of `out` that the request takes. */
size_t cw_client_room(const cw_client *c, const cw_client_req *req);
/* Send what is left. CW_OK: all is out; CW_AGAIN; CW_GONE. */
CW_MUST_USE cw_code cw_client_conn_send(cw_client_conn *l);

/* ---- response.c ---- */

extern const cw_http1_limits cw_client_conn_limits;
/* Read once and take it. False: nothing to read now, or the answer is over. */
bool cw_client_conn_read(cw_client_conn *l);
/* The server sends no more; `errnum` is 0 where it said so. */
void cw_client_conn_end(cw_client_conn *l, int errnum);

/* ---- response_headers.c ---- */

/* ---- tls.c ---- */

/* As cw_tls_client_send; notes what may have arrived. */
ssize_t cw_client_conn_send_secure(cw_client_conn *l, const void *p, size_t n);

/* ---- connection.c ---- */

/* Close without a word to its request. */
void cw_client_conn_close(cw_client_conn *l);
/* Close, and tell the request why. */
void cw_client_conn_fail(cw_client_conn *l, cw_client_end end, const char *why);
/* The connection ended too early: send again where that is right, else fail. */
void cw_client_conn_lost(cw_client_conn *l, const char *why);
/* To the front of a ring. */
void cw_client_conn_move(cw_client_conn *l, cw_list *list);

#endif
