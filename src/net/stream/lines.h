/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lines.h - two descriptors, of any kind, as lines that come and lines that go.
 *
 * A program's standard input and output may be pipes, sockets, terminals or
 * files. A descriptor is opened anew if possible, so that O_NONBLOCK is never
 * seen by processes that share it (a terminal's shell); if not, its flags are
 * put back at the end.
 *
 *     in ─► [buffer] ─► on_line, one at a time ─► pause() leaves the rest where it is
 *     send(piece) ─► [list of pieces] ─► writev ─► on_left
 *
 * A piece belongs to its sender, so that sending needs no memory.
 *
 * Ownership: the descriptors are borrowed: copies of them are used and closed.
 * Threads:   one loop. SIGPIPE must be ignored.
 * Limits:    max_line bytes of a line; a longer one is dropped up to its end.
 */
#ifndef CW_NET_STREAM_LINES_H
#define CW_NET_STREAM_LINES_H

#include "base/buf.h"
#include "net/loop/loop.h"

typedef struct cw_lines cw_lines;

/* A line on its way out, without its end. It stays as it is until on_left. */
typedef struct cw_line {
    struct cw_line *next;
    cw_str text; /* has no line break */
    /* It is written, or will never be (closed). Not from within cw_lines_send. */
    void (*on_left)(struct cw_line *line);
} cw_line;

typedef struct cw_lines_ops {
    /* A line without its end (LF, or CR LF); it lives for the call and is not empty. */
    void (*on_line)(cw_lines *l, cw_str text);
    /* A piece of a line that is too long; the first one is its begin. */
    void (*on_skipped)(cw_lines *l, cw_str piece);
    /* A line was dropped: CW_LIMIT, it is too long, and this was its end; CW_NOMEM. */
    void (*on_dropped)(cw_lines *l, cw_code why);
    /* The other side writes no more; lines that wait here may still follow. Once. */
    void (*on_last)(cw_lines *l);
    /* No line follows (CW_GONE), or the reader is gone (CW_IO). At most once each. */
    void (*on_end)(cw_lines *l, cw_code why);
    /* Fewer than max_queue bytes wait again. */
    void (*on_drained)(cw_lines *l);
    /* After cw_lines_close: the struct may be freed. */
    void (*on_closed)(cw_lines *l);
} cw_lines_ops;

typedef struct cw_lines_opts {
    int in, out;
    size_t max_line;
    size_t max_queue; /* bytes that wait to be written; more are taken, but cw_lines_is_full */
} cw_lines_opts;

/* One of the two descriptors. */
typedef struct cw_lines_end {
    uv_poll_t poll;
    int fd;        /* our own; -1: none */
    int shared;    /* its flags are put back at the end; -1: none */
    int flags;     /* those */
    bool is_plain; /* cannot be polled: a file, which never blocks */
    bool is_open;  /* has a handle */
    bool is_polled;
} cw_lines_end;

struct cw_lines {
    cw_loop *loop;
    const cw_lines_ops *ops;
    size_t max_line, max_queue;
    cw_lines_end in, out;
    uv_idle_t again; /* goes on with what is there already: a file, or lines in the buffer */
    cw_buf buffer;
    size_t looked; /* bytes at its begin without a line break */
    bool is_paused, is_skipping;
    bool is_too_long;       /* the line that is skipped: on_dropped follows at its end */
    bool is_last, is_ended; /* on_last, on_end were told so */
    bool is_deaf, is_closing;
    bool was_full;
    cw_line *first, **last;
    size_t queued; /* bytes of all pieces, less what is written of the first */
    size_t sent;   /* of the first one, its line break included */
    cw_deferred flush;
    unsigned open_handles;
};

/* Begin to read. Also after a failure it must be closed, and on_closed comes. */
CW_MUST_USE cw_code cw_lines_open(cw_lines *l, cw_loop *loop, const cw_lines_opts *opts,
                                  const cw_lines_ops *ops, cw_err *err);
/* Queue a line; it leaves with others at the end of this turn. */
void cw_lines_send(cw_lines *l, cw_line *line);
/* Whether max_queue bytes or more wait. */
bool cw_lines_is_full(const cw_lines *l);
/* Whether anything waits to be written. */
bool cw_lines_has_queue(const cw_lines *l);
/* Hand out no more lines, or again. Input meanwhile waits, up to one line's limit. */
void cw_lines_pause(cw_lines *l, bool is_paused);
bool cw_lines_is_paused(const cw_lines *l);
/* Whether lines come from a file, which always has data or an end. */
bool cw_lines_is_file(const cw_lines *l);
/* No callback but on_left and on_closed comes after this. */
void cw_lines_close(cw_lines *l);

#endif
