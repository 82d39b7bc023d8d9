/* SPDX-License-Identifier: GPL-2.0-or-later */
/* identify.h - who asks, before anything else; and what a refused caller is told.
 *
 * There are no accounts yet: whoever shows no credentials is anonymous, and any
 * credentials are wrong ones.
 *
 * Threads: the request's loop.
 */
#ifndef CW_DOOR_IDENTIFY_H
#define CW_DOOR_IDENTIFY_H

#include "base/buf.h"
#include "call/bridge.h"
#include "net/http.h"

/* The caller's view; borrowed, it lives to the end of this callback. NULL when the credentials are
 * wrong: the request is then answered with 401 and `body` (static). */
cw_view *cw_identify(cw_http_req *req, cw_bridge_loop *bl, cw_str body);

/* How a refusal of the gate is said. */
typedef struct cw_refusal {
    unsigned status;     /* 401 or 403 */
    const char *message; /* of the JSON-RPC error */
    cw_str challenge;    /* value of WWW-Authenticate; empty: none */
    cw_str data;         /* {"required_scopes":[…],"missing_scopes":[…]} */
} cw_refusal;

#define CW_REFUSAL_CODE (-32000)

/* `needs` NULL: a general permission was missing. The strings are in the arena. */
CW_MUST_USE cw_code cw_refusal_make(cw_verdict verdict, const cw_needs *needs, cw_arena *arena,
                                    cw_refusal *ret);

#endif
