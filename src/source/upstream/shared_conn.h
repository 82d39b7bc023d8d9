/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_conn.h - the only connection of a service that is reached by a stream, on the main loop;
 * for an MCP server over HTTP, the state that all loops share.
 *
 *     loop 1 ─ call ─┐                         ┌─ login, then calls ─► channel ─► service
 *     loop 2 ─ call ─┴─► mailbox ─► connection ┤
 *          ▲                                   └◄─ responses by id, requests, notifications
 *          └───────────── mailbox ◄──────────────┘
 *
 * A response is copied and parsed once, when it arrives (source/protocol/parsed_message.h).
 *
 * The first call opens it. The first call after its end opens it again, immediately and then with
 * growing pauses. When it ends, calls that were sent fail (LOST). Other calls wait until it is open
 * again.
 *
 * A call that is cancelled before it was sent is not sent. A call without a response ends at its
 * time limit. The connection is closed if it was silent for longer than the longest limit of all
 * calls.
 *
 * Ownership: reference counted; each call has a reference of its own. cw_shared_conn_close and
 *            cw_shared_conn_retire end the connection, memory goes with the last reference.
 * Threads:   ref, unref, acquire and release on any thread; new, close, retire and the callback on
 *            the main loop's thread.
 * Limits:    `queue` calls under way; the channel's sizes.
 */
#ifndef CW_SOURCE_UPSTREAM_SHARED_CONN_H
#define CW_SOURCE_UPSTREAM_SHARED_CONN_H

#include "catalogue/change.h"
#include "source/relay/sessions.h"
#include "source/upstream/event_intake.h"
#include "source/upstream/job_news.h"
#include "source/upstream/upstream.h"

typedef struct cw_shared_conn_opts {
    cw_loop *loop;    /* the main one */
    unsigned n_loops; /* that send calls; 0: one */
    cw_spawner *spawner;
    size_t answer_size;
    /* The service has sent a notification that its methods have changed; on the main loop. `lists`:
     * those that it named (CW_CHANGED_…); 0: all may have changed, after a new connection. May be
     * NULL. */
    void (*announced)(void *ctx, unsigned lists);
    /* An MCP server has updated a resource that it is subscribed to; likewise, and several updates in a
     * row are one. */
    void (*updated)(void *ctx, cw_str uri);
    void *ctx;
} cw_shared_conn_opts;

CW_MUST_USE cw_code cw_shared_conn_new(cw_endpoint *s, const cw_shared_conn_opts *opts,
                                       cw_shared_conn **ret, cw_err *err);
cw_shared_conn *cw_shared_conn_ref(cw_shared_conn *shared);
void cw_shared_conn_unref(cw_shared_conn *shared);
/* End the connection and release the reference. Running calls fail; if the loops have ended they are
 * dropped without a callback. Later calls fail. NULL is fine. */
void cw_shared_conn_close(cw_shared_conn *shared, bool loops_ended);
/* End all sessions with an MCP server over HTTP, before the process ends. Returns their number;
 * on_end(ctx) is called for each, but not after cw_shared_conn_close. NULL is fine. */
size_t cw_shared_conn_end_sessions(cw_shared_conn *shared, void (*on_end)(void *ctx), void *ctx);
/* As cw_shared_conn_close, but as soon as it has no user, at the latest when the main loop ends.
 * Running calls continue until then. `announced` and `updated` are not called. NULL is fine. */
void cw_shared_conn_retire(cw_shared_conn *shared);
/* Count a user that makes calls, and one that makes no more. */
void cw_shared_conn_acquire(cw_shared_conn *shared);
void cw_shared_conn_release(cw_shared_conn *shared);
/* Whether cw_shared_conn_new would make an equal connection of these. */
bool cw_shared_conn_is_compatible(const cw_shared_conn *shared, const cw_endpoint *s,
                                  size_t answer_size);
/* Set the resources of an MCP server that are subscribed to: all of them, sorted. They are copied.
 * On the main loop. Without memory the former set stays. */
void cw_shared_conn_subscribe(cw_shared_conn *shared, const cw_str *uris, size_t n);
/* Publish notifications as events (NULL: none), and keep the connection open from now on. After its end
 * it is opened again with growing pauses, unless its credentials were rejected. On the main loop. Takes a
 * reference. */
void cw_shared_conn_set_events(cw_shared_conn *shared, cw_event_intake *intake);
/* The name of the era of an MCP server, as far as it is known; NULL: no MCP server. Any thread. */
const char *cw_shared_conn_protocol(const cw_shared_conn *shared);
cw_relay_era cw_shared_conn_era(const cw_shared_conn *shared);
/* The facts that an MCP server has sent about itself. Any thread. */
cw_relay_server cw_shared_conn_server(cw_shared_conn *shared, cw_arena *arena);
/* The notifications about jobs; NULL: none. Lives as long as the connection. Any thread. */
cw_job_news *cw_shared_conn_news(const cw_shared_conn *shared);
/* Why it is not open, for logs; empty: it is, or it was never opened. */
cw_str cw_shared_conn_problem(const cw_shared_conn *shared);

#endif
