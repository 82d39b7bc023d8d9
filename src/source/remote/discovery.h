/* SPDX-License-Identifier: GPL-2.0-or-later */
/* discovery.h - reads the description of a service: runs a describer (source/describe/describe.h) over
 * an upstream (source/upstream/upstream.h).
 *
 *     file       OpenRPC or a manifest, read in one step
 *     service    the describer of its configuration; for `auto` the quick describers, one after
 *                another, until one succeeds
 *
 * Ownership: the job is freed before fn returns control, or by cancel.
 * Threads:   the main loop's thread.
 * Limits:    each request has the time of a call, CW_DISCOVERY_AT_ONCE of them under way; all
 *            together have CW_DISCOVERY_TIMES as much, at least CW_DISCOVERY_MIN_MS;
 *            source/describe/describe.h.
 */
#ifndef CW_SOURCE_REMOTE_DISCOVERY_H
#define CW_SOURCE_REMOTE_DISCOVERY_H

#include "source/upstream/shared_conn.h"

#define CW_DISCOVERY_AT_ONCE 8u
#define CW_DISCOVERY_TIMES 10u
#define CW_DISCOVERY_MIN_MS 10000u

typedef struct cw_discovery cw_discovery;

/* The result. Everything lives for the call only. */
typedef struct cw_discovery_result {
    cw_code code;
    cw_str openrpc;        /* CW_OK: the document */
    const char *describer; /* its name, or "file" */
    const char *kind;      /* of the description: the describer's name, or one of several it has */
    bool is_partial;       /* a richer one exists, which these credentials may not read */
    cw_str warnings;       /* each line one */
    cw_str problem;        /* else: each line one */
    unsigned status;       /* HTTP, of the last call; 0: none */
    bool wants_login; /* it rejected a call for its credentials: further requests would fail, too */
    bool is_refused;  /* it rejects the credentials, or requires some: 401 or 403 */
    bool is_unreachable; /* the last request did not reach the service */
    bool speaks;         /* a call had a response in the service's dialect, maybe an error */
} cw_discovery_result;

typedef void (*cw_discovery_fn)(const cw_discovery_result *result, void *ctx);

/* Begin; fn is called once, never before this returns. `shared` as of source/upstream/upstream.h. */
CW_MUST_USE cw_code cw_discovery_start(cw_loop *loop, cw_endpoint *s, cw_shared_conn *shared,
                                       cw_discovery_fn fn, void *ctx, cw_discovery **ret,
                                       cw_err *err);
/* Send one request that changes nothing, to find out whether the service accepts the credentials.
 * The `status` of the result shows it; its code is CW_OK after any response. */
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
