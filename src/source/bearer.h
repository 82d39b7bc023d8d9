/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bearer.h - the token of a service with OAuth client credentials, for one loop: asked for when it
 * is needed, kept until it ends.
 *
 *     if (cw_bearer_is_due(&b))
 *         cw_bearer_ask(&b);              … on_done ─► b.token: "Bearer …"
 *
 * Ownership: a part of its user, who has the service.
 * Threads:   one loop.
 */
#ifndef CW_SOURCE_BEARER_H
#define CW_SOURCE_BEARER_H

#include "net/fetch.h"
#include "source/service.h"

typedef struct cw_bearer cw_bearer;

struct cw_bearer {
    const cw_service *service;
    cw_loop *loop;
    char *token; /* the value of the header; NULL: there is none */
    /* `why` is NULL where there is a token now. May ask anew, and may end this. */
    void (*on_done)(cw_bearer *b, const char *why);
    bool is_refused; /* with `why`: the authorization server refuses our credentials */
    /* Its own. */
    uint64_t until; /* ms of the loop: it is good */
    cw_fetcher *fetcher;
    cw_fetch fetch;
};

void cw_bearer_init(cw_bearer *b, const cw_service *s, cw_loop *loop,
                    void (*on_done)(cw_bearer *b, const char *why));
/* Drops what runs. Twice is fine. */
void cw_bearer_done(cw_bearer *b);
/* Whether the service wants a token and there is none that is good. */
bool cw_bearer_is_due(const cw_bearer *b);
/* Ask for another one. on_done may be called before this returns. */
void cw_bearer_ask(cw_bearer *b);
/* on_done will not be called. */
void cw_bearer_cancel(cw_bearer *b);
/* Put asterisks over the token wherever it stands in somebody else's words. */
void cw_bearer_mask(const cw_bearer *b, char *text, size_t n);
/* The service refuses the token. */
void cw_bearer_drop(cw_bearer *b);

#endif
