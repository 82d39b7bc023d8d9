/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oauth_token.h - the token of a service with OAuth client credentials, for one loop: asked for
 * when it is needed, kept until it ends.
 *
 *     if (cw_oauth_token_is_needed(&b))
 *         cw_oauth_token_request(&b);              … on_done ─► b.token: "Bearer …"
 *
 * Ownership: a part of its user, who has the service.
 * Threads:   one loop.
 */
#ifndef CW_SOURCE_UPSTREAM_OAUTH_TOKEN_H
#define CW_SOURCE_UPSTREAM_OAUTH_TOKEN_H

#include "net/curl/fetch.h"
#include "source/upstream/endpoint.h"

typedef struct cw_oauth_token cw_oauth_token;

struct cw_oauth_token {
    const cw_endpoint *service;
    cw_loop *loop;
    char *token; /* the value of the header; NULL: there is none */
    /* `why` is NULL where there is a token now. May ask anew, and may end this. */
    void (*on_done)(cw_oauth_token *b, const char *why);
    bool is_refused; /* with `why`: the authorization server refuses our credentials */
    /* Its own. */
    uint64_t until; /* ms of the loop: it is good */
    cw_fetcher *fetcher;
    cw_fetch fetch;
};

void cw_oauth_token_init(cw_oauth_token *b, const cw_endpoint *s, cw_loop *loop,
                         void (*on_done)(cw_oauth_token *b, const char *why));
/* Drops what runs. Twice is fine. */
void cw_oauth_token_done(cw_oauth_token *b);
/* Whether the service wants a token and there is none that is good. */
bool cw_oauth_token_is_needed(const cw_oauth_token *b);
/* Ask for another one. on_done may be called before this returns. */
void cw_oauth_token_request(cw_oauth_token *b);
/* on_done will not be called. */
void cw_oauth_token_cancel(cw_oauth_token *b);
/* Put asterisks over the token wherever it stands in somebody else's words. */
void cw_oauth_token_redact(const cw_oauth_token *b, char *text, size_t n);
/* The service refuses the token. */
void cw_oauth_token_drop(cw_oauth_token *b);

#endif
