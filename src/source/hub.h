/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hub.h - the only connection of a service that is reached by a stream, on the main loop.
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
 * Ownership: reference counted; each call has a reference of its own. cw_hub_close and
 *            cw_hub_retire end the connection, memory goes with the last reference.
 * Threads:   cw_hub_number, cw_hub_send and cw_hub_cancel on the loop of the call; use and leave
 *            anywhere; new, close, retire and the callbacks on the main loop's thread.
 * Limits:    `queue` calls under way; the channel's sizes.
 */
#ifndef CW_SOURCE_HUB_H
#define CW_SOURCE_HUB_H

#include "source/way.h"

typedef struct cw_hub_opts {
    cw_loop *loop; /* the main one */
    cw_spawner *spawner;
    size_t answer_size;
    /* The service said that its methods have changed; on the main loop. May be NULL. */
    void (*announced)(void *ctx);
    void *ctx;
} cw_hub_opts;

CW_MUST_USE cw_code cw_hub_new(cw_service *s, const cw_hub_opts *opts, cw_hub **ret, cw_err *err);
cw_hub *cw_hub_ref(cw_hub *hub);
void cw_hub_unref(cw_hub *hub);
/* End the connection and give the reference back. What is under way fails, or, where the loops have
 * ended and nobody hears of it, is dropped; later calls fail. NULL is fine. */
void cw_hub_close(cw_hub *hub, bool loops_ended);
/* The same as soon as nobody uses it any more, at the latest when the main loop ends: what is under
 * way goes on till then. From now on nothing is announced. NULL is fine. */
void cw_hub_retire(cw_hub *hub);
/* Whoever makes calls by it says so, and says when it will make no more. */
void cw_hub_use(cw_hub *hub);
void cw_hub_leave(cw_hub *hub);
/* Whether it is what cw_hub_new would make of these. */
bool cw_hub_fits(const cw_hub *hub, const cw_service *s, size_t answer_size);
/* Why it is not open, for logs; empty where it is, or nobody has tried. */
cw_str cw_hub_problem(const cw_hub *hub);

/* For way.c. */
uint64_t cw_hub_number(cw_hub *hub);
CW_MUST_USE cw_code cw_hub_send(cw_hub *hub, cw_loop *loop, cw_way_req *req, cw_err *err);
void cw_hub_cancel(cw_way_req *req);

#endif
