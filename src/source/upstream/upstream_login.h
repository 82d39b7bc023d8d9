/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upstream_login.h - the login sequence of every transport: a token of the authorization server,
 * then the initial calls of the configuration.
 *
 *     start ─► (token) ─► ops.on_token ─► continue ─► ops.send ─► accept ─► continue … ─► ops.on_done
 *       └──────────┴──────────────────────────┴───────────┴──────────┴─► ops.on_failed
 *
 * The transport connects in on_token, sends the initial calls and reports their responses. A
 * connection that waits for a greeting first starts the time limit itself (wait).
 *
 * Ownership: embedded in the transport, which has the endpoint. Texts of on_failed live for the
 *            call only.
 * Threads:   one loop.
 * Limits:    the endpoint's timeout for the token and for each initial call.
 */
#ifndef CW_SOURCE_UPSTREAM_UPSTREAM_LOGIN_H
#define CW_SOURCE_UPSTREAM_UPSTREAM_LOGIN_H

#include "net/curl/fetch.h"
#include "source/upstream/endpoint.h"

/* The token of a service with OAuth client credentials: requested when it is needed, kept until it
 * expires. */
typedef struct cw_oauth_token cw_oauth_token;

struct cw_oauth_token {
    const cw_endpoint *service;
    cw_loop *loop;
    char *token; /* the value of the header; NULL: none */
    /* `why` NULL: the token is valid. The callback may request another one, and may free this. */
    void (*on_done)(cw_oauth_token *b, const char *why);
    bool is_refused; /* with `why`: the authorization server rejects the credentials */
    /* Private. */
    uint64_t until; /* ms of the loop: the end of its validity */
    cw_fetcher *fetcher;
    cw_fetch fetch;
};

/* Whether the service needs a token and there is no valid one. */
bool cw_oauth_token_is_needed(const cw_oauth_token *b);
/* Replace the token by asterisks wherever it stands in text of the service. */
void cw_oauth_token_redact(const cw_oauth_token *b, char *text, size_t n);
/* The service rejects the token. */
void cw_oauth_token_drop(cw_oauth_token *b);

/* ---- the sequence ---- */

typedef struct cw_upstream_login cw_upstream_login;

typedef struct cw_upstream_login_ops {
    /* login->oauth.token is valid, or none is needed. */
    void (*on_token)(cw_upstream_login *login);
    uint64_t (*next_id)(cw_upstream_login *login);
    /* Send login->body. CW_NOMEM or another code: nothing was sent. */
    cw_code (*send)(cw_upstream_login *login, cw_err *err);
    void (*on_done)(cw_upstream_login *login);
    /* May end the login's owner. */
    void (*on_failed)(cw_upstream_login *login, cw_client_end end, const char *why);
    /* A notification has a response too (HTTP). */
    bool answers_notifications;
    /* The end that an error response to an initial call stands for. */
    cw_client_end error_end;
} cw_upstream_login_ops;

struct cw_upstream_login {
    cw_oauth_token oauth;
    cw_str body[CW_REQUEST_TEMPLATE_PIECES]; /* of the initial call under way */
    uint64_t id;                             /* its id */
    /* Private. */
    const cw_upstream_login_ops *ops;
    const cw_endpoint *service;
    cw_loop *loop;
    size_t n_answered; /* initial calls */
    char room[CW_REQUEST_TEMPLATE_ROOM];
    cw_arena scratch; /* of one initial call */
    cw_deadline_list limits;
    cw_deadline limit;
};

void cw_upstream_login_init(cw_upstream_login *login, const cw_endpoint *service, cw_loop *loop,
                            const cw_upstream_login_ops *ops);
/* Stop, and stop using the loop. No callback follows. Twice is fine. */
void cw_upstream_login_done(cw_upstream_login *login);
/* Free the memory, on any thread; after done. */
void cw_upstream_login_free(cw_upstream_login *login);

/* Begin with the token. Callbacks may come before this returns. */
void cw_upstream_login_start(cw_upstream_login *login);
/* Begin or go on with the initial calls. */
void cw_upstream_login_continue(cw_upstream_login *login);
/* The response to the initial call under way. True: it was accepted; continue then. False: the
 * login has failed, and on_failed was called. */
bool cw_upstream_login_accept(cw_upstream_login *login, const cw_upstream_reply *reply);
/* Fail unless the login continues within the time limit. */
void cw_upstream_login_wait(cw_upstream_login *login);
/* Stop. No callback follows. The token is kept. */
void cw_upstream_login_cancel(cw_upstream_login *login);

#endif
