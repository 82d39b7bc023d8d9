/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wire.h - the host's end of the socket: frames in, frames out, one thread, blocking.
 *
 * docs/plugin-protocol.md has the frames. Several may be read at once; the body
 * that is handed out stays where it is until the next one is asked for, since the
 * arguments of the running call point into it:
 *
 *     in     [ done | the frame in use | what was read beyond it ]
 *     ahead  [ what was read beyond it | what came while the call runs ]
 *
 * While a call runs, new bytes go to `ahead` (after a copy of what is behind the
 * frame in use), and the two change places when the call is over.
 *
 *     out    [ sent | frames to be sent | the result that is being written ]
 *
 * Writing blocks. That cannot lock up with the parent: it always reads.
 *
 * Ownership: borrows the descriptor.
 * Threads:   one thread.
 * Limits:    max_body per frame; about CW_WIRE_AHEAD bytes are read ahead while a call runs.
 */
#ifndef CW_HOST_WIRE_H
#define CW_HOST_WIRE_H

#include "base/buf.h"

#define CW_WIRE_HEAD 12u
#define CW_WIRE_READ 65536u           /* room for one read */
#define CW_WIRE_AHEAD (1024u * 1024u) /* besides what had been read before */
#define CW_WIRE_KEEP 262144u          /* a buffer larger than this is given back after use */
#define CW_WIRE_SLACK 65536u          /* of `out` beyond one frame: reports, "started" */

typedef struct cw_wire {
    int fd; /* -1: no server (--call) */
    size_t max_body;
    cw_buf in, ahead, out;
    cw_buf side;      /* a report while it is made */
    cw_buf content;   /* blocks of the answer that is being written */
    cw_buf cancels;   /* ids of calls whose $/cancel was read and not yet reached */
    size_t pos;       /* in `in`: the frame in use */
    size_t frame;     /* its length with the head; 0: none in use */
    size_t sent;      /* in `out` */
    size_t answer;    /* in `out`: where the answer that is being written begins */
    uint64_t at;      /* how many bytes of the stream are in front of the frame in use */
    uint64_t scanned; /* and of those that were searched for cancels */
    uint64_t looked_ns;
    bool is_answering;
    bool is_moved; /* what was behind the frame in use is in `ahead` now */
    bool has_ended;
} cw_wire;

/* Memory for everything that an answer "out of memory" needs is taken here. */
CW_MUST_USE cw_code cw_wire_init(cw_wire *w, int fd, size_t max_body, cw_err *err);
void cw_wire_done(cw_wire *w);

/* Wait for a frame; what is in `out` leaves before. CW_DONE: the peer closed. CW_NOMEM: a frame
 * was dropped, *ret_id is set, go on. CW_LIMIT, CW_INVALID (ended inside a frame), CW_IO: give up.
 * The body lives until the next call. */
CW_MUST_USE cw_code cw_wire_next(cw_wire *w, uint64_t *ret_id, cw_str *ret_body, cw_err *err);
/* Whether bytes were read that are behind the frame in use. */
bool cw_wire_has_more(const cw_wire *w);
/* Read what the socket has, without waiting, at most once a millisecond, and only while no more
 * than so many bytes wait behind the frame in use. */
void cw_wire_look(cw_wire *w, size_t max_waiting);
/* Whether a $/cancel of this call is among what was read behind the frame in use. */
bool cw_wire_has_cancel(cw_wire *w, uint64_t id);
/* Its turn has come: forget it. */
void cw_wire_drop_cancel(cw_wire *w, uint64_t id);

/* Append a frame's head to `b`, and set its length when the body is complete. */
size_t cw_wire_open_frame(cw_buf *b, uint64_t id);
void cw_wire_close_frame(cw_buf *b, size_t start);

/* Send `out` up to `end` (of out.n), then `more`. A peer that is gone is noticed by the next read.
 */
void cw_wire_send(cw_wire *w, size_t end, cw_str more);
/* Send all of `out`; it is empty then. */
void cw_wire_flush(cw_wire *w);

#endif
