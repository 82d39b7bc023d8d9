/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upstream_int.h - what the files of a way share: upstream.c (requests), upstream_http.c (one of
 * them as HTTP) and upstream_login.c (what a service wants to hear first). Nobody else includes
 * it. */
#ifndef CW_SOURCE_UPSTREAM_UPSTREAM_INT_H
#define CW_SOURCE_UPSTREAM_UPSTREAM_INT_H

#include "source/upstream/oauth_token.h"
#include "source/upstream/shared_conn.h"

#define CW_UPSTREAM_QUERY_MAX 2000u /* a longer GET goes as POST */

/* Which headers of answers are looked at. */
enum { CW_UPSTREAM_COOKIE, CW_UPSTREAM_HANDSHAKE };

typedef enum cw_upstream_login {
    CW_UPSTREAM_LOGIN_NONE,
    CW_UPSTREAM_LOGIN_RUNNING,
    CW_UPSTREAM_LOGIN_DONE,
} cw_upstream_login;

struct cw_upstream {
    cw_endpoint *service;   /* a reference */
    cw_shared_conn *shared; /* a reference, or NULL */
    cw_loop *loop;
    cw_upstream_req running, waiting; /* rings; those that wait do so for a login */
    size_t n_waiting;
    uint64_t last_id;
    cw_client *client; /* HTTP */
    /* upstream_login.c */
    cw_upstream_login login;
    size_t n_init_calls; /* that were said */
    cw_client_req init_calls;
    cw_upstream_headers prelude_headers;
    cw_str prelude_body[CW_REQUEST_TEMPLATE_PIECES];
    char prelude_room[CW_REQUEST_TEMPLATE_ROOM];
    uint64_t prelude_id;
    cw_arena scratch;        /* of the prelude */
    cw_deferred later;       /* begin to log in */
    cw_deadline_list limits; /* of one call of the prelude */
    cw_deadline limit;
    cw_oauth_token oauth;
    char *cookies, *handshake;
    cw_secrets session;     /* what the login gave us */
    cw_arena session_texts; /* its texts */
    unsigned depth;         /* of loops over those who wait: who is told may close the way */
    bool is_closing;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

/* ---- upstream.c ---- */

void cw_upstream_move(cw_upstream_req *req, cw_upstream_req *ring);
/* Have it wait for a login. */
void cw_upstream_enqueue(cw_upstream *upstream, cw_upstream_req *req);
/* Those who wait have nothing to wait for any more: send them, or fail them all. The way may be
 * gone afterwards. */
void cw_upstream_send_waiting(cw_upstream *upstream);
void cw_upstream_fail_waiting(cw_upstream *upstream, cw_client_end end, const char *why);

/* ---- upstream_http.c ---- */

/* Whether a request is sent by GET where it fits into a URL. */
bool cw_upstream_uses_get(const cw_upstream *upstream, bool reads);
CW_MUST_USE cw_code cw_upstream_open_http(cw_upstream *upstream, size_t answer_size, cw_err *err);
CW_MUST_USE cw_code cw_upstream_send_http(cw_upstream *upstream, cw_upstream_req *req, cw_err *err);
/* What the way has to say now, in place of what *ret had. */
CW_MUST_USE cw_code cw_upstream_headers_make(const cw_upstream *upstream, cw_upstream_headers *ret,
                                             cw_err *err);
void cw_upstream_headers_done(cw_upstream_headers *headers);

/* ---- upstream_login.c ---- */

void cw_upstream_login_init(cw_upstream *upstream);
bool cw_upstream_is_logged_in(const cw_upstream *upstream);
/* Begin to log in unless that is under way; those who wait are told how it went. */
void cw_upstream_log_in(cw_upstream *upstream);
/* The service does not know us any more. False: it never did, a login would change nothing. */
bool cw_upstream_log_out(cw_upstream *upstream, unsigned status);
void cw_upstream_login_done(cw_upstream *upstream);

#endif
