/* SPDX-License-Identifier: GPL-2.0-or-later */
/* frame.h - length-framed messages over a stream socket of this machine.
 *
 *     u32 length of the body | u64 id | body        (both numbers in this machine's order)
 *
 * Frames that come in are handed out from the loop's scratch buffer without a
 * copy when they arrive whole; a part waits in a buffer of its own. Output that
 * the socket does not take waits, up to a ceiling. Several frames that are
 * sent within one turn of the loop leave in one system call.
 *
 * Ownership: the stream owns its descriptor from cw_frames_open on. A body that is handed out lives
 *            until the callback returns.
 * Threads:   one loop.
 * Limits:    max_body per frame either way, max_queue bytes unsent; CW_LIMIT.
 */
#ifndef CW_NET_STREAM_FRAME_H
#define CW_NET_STREAM_FRAME_H

#include "base/buf.h"
#include "net/loop/loop.h"

#define CW_FRAME_HEAD 12u

typedef struct cw_frames cw_frames;

typedef struct cw_frames_ops {
    /* A frame came. May close the stream. */
    void (*on_frame)(cw_frames *f, uint64_t id, cw_str body);
    /* The peer closed, or the stream is broken (CW_GONE, CW_LIMIT: frame too large, CW_IO,
     * CW_NOMEM, CW_INVALID: ended inside a frame). Called once; close it then. */
    void (*on_end)(cw_frames *f, cw_code why);
    /* After cw_frames_close: the struct may be freed. */
    void (*on_closed)(cw_frames *f);
} cw_frames_ops;

struct cw_frames {
    uv_poll_t poll;
    cw_loop *loop;
    const cw_frames_ops *ops;
    int fd;
    size_t max_body;
    cw_buf in, out;
    size_t sent;       /* bytes of `out` that the socket has taken */
    int events;        /* polled for now */
    cw_deferred flush; /* `out` leaves at the end of this turn */
    bool ended, closing;
    bool deaf; /* the peer reads no more; what it wrote may still wait here */
};

/* Take over the non-blocking socket `fd` (closed on failure too) and begin to read. */
CW_MUST_USE cw_code cw_frames_open(cw_frames *f, cw_loop *loop, int fd, size_t max_body,
                                   size_t max_queue, const cw_frames_ops *ops, cw_err *err);
/* Queue one frame whose body is the given pieces, one after another. CW_LIMIT, CW_NOMEM: not
 * queued, nothing changed. */
CW_MUST_USE cw_code cw_frames_send(cw_frames *f, uint64_t id, const cw_str *pieces, size_t n);
/* Read all that waits now, and little of what comes meanwhile: what a peer wrote before it died.
 * Ends in on_end when that was the end. Only from a callback of the loop itself: it uses its
 * scratch. */
void cw_frames_drain(cw_frames *f);
/* Whether frames wait for the end of this turn: one more would leave with them. */
CW_INLINE bool cw_frames_gathers(const cw_frames *f)
{
    return cw_loop_is_deferred(&f->flush);
}
/* No callback but on_closed comes after this. */
void cw_frames_close(cw_frames *f);

#endif
