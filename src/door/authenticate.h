/* SPDX-License-Identifier: GPL-2.0-or-later */
/* authenticate.h - determines the caller of a request, and describes refusals.
 *
 * A request without credentials is anonymous and continues at once, and so does one whose credentials
 * were verified recently. An Authorization header takes precedence over cookies; without one, the session
 * of a browser counts (door/browser.h). Other credentials wait for the store, and a password for the hash
 * pool (access/login/accounts.h). The request is kept meanwhile, and dropped when its client
 * disconnects. Wrong credentials are rejected here, for every path.
 *
 *     static void on_identified(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
 *     { … the door's work … }
 *
 *     static void on_post(cw_http_req *req, void *self)
 *     {
 *         cw_authenticate(req, self, &cw_authenticate_rest, on_identified, NULL);
 *     }
 *
 * Threads: the request's loop.
 */
#ifndef CW_DOOR_AUTHENTICATE_H
#define CW_DOOR_AUTHENTICATE_H

#include "base/buf.h"
#include "call/runtime.h"
#include "net/server/request_api.h"

/* The bodies of a door's refusals. */
typedef struct cw_auth_error_bodies {
    const char *door;   /* its name for the audit */
    bool is_endpoint;   /* the one for MCP clients: they are sent to its own metadata */
    cw_str wrong;       /* 401: wrong or expired credentials */
    cw_str clear_text;  /* 403: a password over a connection that others can listen to */
    cw_str too_many;    /* 429: failures, or logins at once */
    cw_str unavailable; /* 503: no database */
    cw_str forged;      /* 403: a session without the proof that a page of ours uses it */
    bool calls_by_get;  /* GET of this door needs that proof too */
    /* The bodies are texts: make an answer of one. NULL: they are sent as they are. */
    void (*write)(cw_http_req *req, cw_str text, cw_http_response *answer);
} cw_auth_error_bodies;

/* {"error":{"code":…,"message":…}} */
extern const cw_auth_error_bodies cw_authenticate_rest;

/* The request may be answered now, or later. The view is borrowed for this callback. */
typedef void (*cw_authenticated_fn)(cw_http_req *req, cw_runtime_loop *rl, cw_view *view,
                                    void *self);

/* Have fn called, now or later, or answer the request, or let go of it when its client leaves.
 * `texts` is static. */
void cw_authenticate(cw_http_req *req, cw_runtime *runtime, const cw_auth_error_bodies *texts,
                     cw_authenticated_fn fn, void *self);

/* How a login went, for the audit; static. */
const char *cw_authenticate_outcome(cw_login_status status);

/* A refused call. */
typedef struct cw_challenge_input {
    const cw_runtime_loop *rl;    /* with accounts a password is offered */
    cw_http_req *req;             /* NULL: not over HTTP */
    const cw_view *view;          /* the caller's */
    cw_verdict verdict;           /* LOGIN, SCOPES or FORBIDDEN */
    const cw_requirements *needs; /* NULL: a general permission was missing */
    bool names_all; /* MCP: the challenge names all scopes that are needed, not the missing ones,
                       and sends the client to the metadata of the endpoint */
} cw_challenge_input;

/* The answer to a refusal of the gate. */
typedef struct cw_challenge {
    unsigned status;     /* 401 or 403 */
    const char *message; /* of the JSON-RPC error */
    const char *code;    /* of the REST error */
    cw_str challenge;    /* value of WWW-Authenticate; empty: none */
    cw_str data;         /* as JSON: required_scopes, missing_scopes, with SCOPES current_scopes */
} cw_challenge;

#define CW_CHALLENGE_CODE (-32000)

/* The strings are in the arena. */
CW_MUST_USE cw_code cw_challenge_make(const cw_challenge_input *refused, cw_arena *arena,
                                      cw_challenge *ret);

#endif
