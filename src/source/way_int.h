/* SPDX-License-Identifier: GPL-2.0-or-later */
/* way_int.h - what the files of a way share: way.c (requests), way_http.c (one of them as HTTP) and
 * way_login.c (what a service wants to hear first). Nobody else includes it. */
#ifndef CW_SOURCE_WAY_INT_H
#define CW_SOURCE_WAY_INT_H

#include "source/bearer.h"
#include "source/hub.h"

#define CW_WAY_QUERY_MAX 2000u /* a longer GET goes as POST */

/* Which headers of answers are looked at. */
enum { CW_WAY_COOKIE, CW_WAY_HANDSHAKE };

typedef enum cw_login_state {
    CW_LOGIN_NONE,
    CW_LOGIN_RUNS,
    CW_LOGIN_DONE,
} cw_login_state;

struct cw_way {
    cw_service *service; /* a reference */
    cw_hub *hub;         /* a reference, or NULL */
    cw_loop *loop;
    cw_way_req running, waiting; /* rings; those that wait do so for a login */
    size_t n_waiting;
    uint64_t last_id;
    cw_client *client; /* HTTP */
    /* way_login.c */
    cw_login_state login;
    size_t n_prelude; /* that were said */
    cw_client_req prelude;
    cw_way_headers prelude_headers;
    cw_str prelude_body[CW_WIRE_PIECES];
    char prelude_room[CW_WIRE_ROOM];
    uint64_t prelude_id;
    cw_arena scratch;        /* of the prelude */
    cw_later later;          /* begin to log in */
    cw_deadline_list limits; /* of one call of the prelude */
    cw_deadline limit;
    cw_bearer bearer;
    char *cookies, *handshake;
    cw_secrets session;     /* what the login gave us */
    cw_arena session_texts; /* its texts */
    unsigned depth;         /* of loops over those who wait: who is told may close the way */
    bool is_closing;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

/* ---- way.c ---- */

void cw_way_move(cw_way_req *req, cw_way_req *ring);
/* Have it wait for a login. */
void cw_way_wait(cw_way *way, cw_way_req *req);
/* Those who wait have nothing to wait for any more: send them, or fail them all. The way may be
 * gone afterwards. */
void cw_way_send_waiting(cw_way *way);
void cw_way_fail_waiting(cw_way *way, cw_client_end end, const char *why);

/* ---- way_http.c ---- */

/* Whether a request is sent by GET where it fits into a URL. */
bool cw_way_gets(const cw_way *way, bool reads);
CW_MUST_USE cw_code cw_way_open_http(cw_way *way, size_t answer_size, cw_err *err);
CW_MUST_USE cw_code cw_way_transmit(cw_way *way, cw_way_req *req, cw_err *err);
/* What the way has to say now, in place of what *ret had. */
CW_MUST_USE cw_code cw_way_headers_make(const cw_way *way, cw_way_headers *ret, cw_err *err);
void cw_way_headers_done(cw_way_headers *headers);

/* ---- way_login.c ---- */

void cw_way_login_init(cw_way *way);
bool cw_way_is_logged_in(const cw_way *way);
/* Begin to log in unless that is under way; those who wait are told how it went. */
void cw_way_log_in(cw_way *way);
/* The service does not know us any more. False: it never did, a login would change nothing. */
bool cw_way_log_out(cw_way *way, unsigned status);
void cw_way_login_done(cw_way *way);

#endif
