/* SPDX-License-Identifier: GPL-2.0-or-later */
/* discovery.h - reads the description of a service: runs a describer (source/describe/describe.h) over
 * an upstream (source/upstream/upstream.h).
 *
 *     file       OpenRPC or a manifest, read at once
 *     service    the describer of its configuration; for `auto` one quick question after another
 *                until one of them makes sense
 *
 * Ownership: the job is freed before fn returns control, or by cancel.
 * Threads:   the main loop's thread.
 * Limits:    each question has the time of a call, CW_DISCOVERY_AT_ONCE of them under way;
 *            source/describe/describe.h.
 */
#ifndef CW_SOURCE_REMOTE_DISCOVERY_H
#define CW_SOURCE_REMOTE_DISCOVERY_H

#include "source/upstream/shared_conn.h"

#define CW_DISCOVERY_AT_ONCE 8u

typedef struct cw_discovery cw_discovery;

/* The result. Everything lives for the call only. */
typedef struct cw_discovery_result {
    cw_code code;
    cw_str openrpc;        /* CW_OK: the document */
    const char *describer; /* that made it; "file" */
    const char *kind;      /* of the description: the describer's name, or one of several it has */
    bool is_partial;       /* there is a richer one, which our credentials may not read */
    cw_str warnings;       /* each line one */
    cw_str problem;        /* else: each line one */
    unsigned status;       /* HTTP, of the last call; 0: there was none */
    bool wants_login;      /* it refused a call: no other question would do better */
    bool is_refused;       /* it refuses our credentials, or wants some: 401 or 403 */
    bool is_unreachable;   /* the last request did not reach the service */
    bool speaks;           /* a call was answered in the service's dialect, if with an error */
} cw_discovery_result;

typedef void (*cw_discovery_fn)(const cw_discovery_result *result, void *ctx);

/* Begin; fn is called once, never before this returns. `shared` as of source/upstream/upstream.h. */
CW_MUST_USE cw_code cw_discovery_start(cw_loop *loop, cw_endpoint *s, cw_shared_conn *shared,
                                       cw_discovery_fn fn, void *ctx, cw_discovery **ret,
                                       cw_err *err);
/* Ask one question that changes nothing, whatever the service is said to offer: whether it accepts
 * our credentials. `status` of what fn gets tells; the code is CW_OK where it answered at all. */
CW_MUST_USE cw_code cw_discovery_probe(cw_loop *loop, cw_endpoint *s, cw_shared_conn *shared,
                                       cw_discovery_fn fn, void *ctx, cw_discovery **ret,
                                       cw_err *err);
/* Read the views of an MCP server too, so that the description has their hashes. Call it right after
 * the start. */
void cw_discovery_read_views(cw_discovery *job);
/* The number of responses so far, of any kind, to show progress. */
unsigned cw_discovery_responses(const cw_discovery *job);
/* fn will not be called. NULL is fine. */
void cw_discovery_cancel(cw_discovery *job);

#endif
