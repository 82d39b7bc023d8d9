/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stdio.h - MCP over standard input and output: one message per line, one client.
 *
 *     line ─► responder (its own arena) ─► mcp ─► messages, one reply ─► lines
 *
 * The caller is the runtime's anonymous caller, which the command line selects. Calls run at the same
 * time and are answered in the order in which they end. While the client does not read, its input is not
 * read either. After it has closed our input, all lines are taken. Calls may then finish within
 * CW_STDIO_END_MS, and are cancelled after that. If the input has ended before cw_stdio_go, calls have
 * twice the time of loading in addition: each may start a worker, which loads the same again, and takes
 * longer on a busy machine. Input from a file is answered completely, since no client has left.
 *
 * Ownership: borrows door and runtime, which must outlive it.
 * Threads:   one loop, which is the runtime's.
 * Limits:    cw_stdio_opts.
 */
#ifndef CW_DOOR_MCP_STDIO_H
#define CW_DOOR_MCP_STDIO_H

#include "door/mcp/mcp.h"

/* From the last line of the input to the end of all. Time in which the loop could not run is extra. */
#define CW_STDIO_END_MS 600u
/* Between two calls of on_overdue. */
#define CW_STDIO_OVERDUE_MS 50u
/* For the client to read what is left, after that. */
#define CW_STDIO_FLUSH_MS 200u

typedef struct cw_stdio cw_stdio;

typedef struct cw_stdio_opts {
    cw_mcp *door;
    cw_runtime *runtime;
    cw_loop *loop;
    cw_str toolset;            /* of the catalogue (catalogue/toolset.h); empty: everything */
    bool is_read_only_toolset; /* its read-only part */
    int in, out;               /* borrowed */
    size_t line_size;          /* of one message */
    size_t queue_size;         /* that may wait for a slow reader, before it is listened to again */
    uint32_t calls;            /* messages that are worked on at once; the next ones wait */
    uint32_t file_ms;          /* how long the calls of a file may take after its end */
    /* The input has ended CW_STDIO_END_MS ago, and cw_stdio_go was not called. Called again until it
     * is. May be NULL. */
    void (*on_overdue)(void *ctx);
    /* Nothing is left to do. Close it. Once. */
    void (*on_end)(void *ctx);
    void *ctx;
} cw_stdio_opts;

/* Read, but take no message before cw_stdio_go. */
CW_MUST_USE cw_code cw_stdio_new(const cw_stdio_opts *opts, cw_stdio **ret, cw_err *err);
/* The catalogue is there: take messages. */
void cw_stdio_go(cw_stdio *s);
/* End soon, as if the client had closed our input; a second time: at once. */
void cw_stdio_stop(cw_stdio *s);
/* Drop everything; it frees itself on the loop. NULL is fine. */
void cw_stdio_close(cw_stdio *s);

#endif
