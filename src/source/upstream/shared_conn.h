/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_conn.h - the only connection of a service that is reached by a stream, on the main loop.
 *
 *     loop 1 ─ call ─┐                  ┌─ (token) prelude, then calls ─► channel ─► service
 *     loop 2 ─ call ─┴─► mailbox ─► hub ┤
 *          ▲                            └◄─ answers by id; requests of the service are answered;
 *          └────────── mailbox ◄───────────  announcements are told
 *
 * It is opened by the first call and again by the first after it ended, at once and then with
 * growing pauses. Calls that were sent when it ended have failed (LOST); those that were not are
 * sent when it is open again.
 *
 * A call that is cancelled before it was sent is not sent any more. One that gets no answer is
 * forgotten when its time is up; where nothing at all came for as long as the most patient of those
 * who wait would have waited, the connection is dead and is ended.
 *
 * Ownership: reference counted; each call has a reference of its own. cw_shared_conn_close and
 *            cw_shared_conn_retire end the connection, memory goes with the last reference.
 * Threads:   cw_shared_conn_number, cw_shared_conn_send and cw_shared_conn_cancel on the loop of
 *            the call; use and leave anywhere; new, close, retire and the callbacks on the main loop's thread.
 * Limits:    `queue` calls under way; the channel's sizes.
 */
#ifndef CW_SOURCE_UPSTREAM_SHARED_CONN_H
#define CW_SOURCE_UPSTREAM_SHARED_CONN_H

#include "source/upstream/upstream.h"

typedef struct cw_shared_conn_opts {
    cw_loop *loop; /* the main one */
    cw_spawner *spawner;
    size_t answer_size;
    /* The service said that its methods have changed; on the main loop. May be NULL. */
    void (*announced)(void *ctx);
    void *ctx;
} cw_shared_conn_opts;

CW_MUST_USE cw_code cw_shared_conn_new(cw_endpoint *s, const cw_shared_conn_opts *opts,
                                       cw_shared_conn **ret, cw_err *err);
cw_shared_conn *cw_shared_conn_ref(cw_shared_conn *shared);
void cw_shared_conn_unref(cw_shared_conn *shared);
/* End the connection and give the reference back. What is under way fails, or, where the loops have
 * ended and nobody hears of it, is dropped; later calls fail. NULL is fine. */
void cw_shared_conn_close(cw_shared_conn *shared, bool loops_ended);
/* The same as soon as nobody uses it any more, at the latest when the main loop ends: what is under
 * way goes on till then. From now on nothing is announced. NULL is fine. */
void cw_shared_conn_retire(cw_shared_conn *shared);
/* Whoever makes calls by it says so, and says when it will make no more. */
void cw_shared_conn_acquire(cw_shared_conn *shared);
void cw_shared_conn_release(cw_shared_conn *shared);
/* Whether it is what cw_shared_conn_new would make of these. */
bool cw_shared_conn_is_compatible(const cw_shared_conn *shared, const cw_endpoint *s,
                                  size_t answer_size);
/* Why it is not open, for logs; empty where it is, or nobody has tried. */
cw_str cw_shared_conn_problem(const cw_shared_conn *shared);

#endif
