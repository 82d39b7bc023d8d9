/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child_output.h - the output of a child program, as fields of log lines.
 *
 * A child writes into a pipe. Each line becomes the field `text` of one log line, so that a
 * program can neither forge a line of the log nor drive a terminal:
 *
 *     info plugin: output plugin="hello" text="2026-11-16T08:00:00.000Z error access: forged"
 *
 * Control characters become spaces, empty lines are skipped, and a line is cut at
 * CW_CHILD_OUTPUT_LINE bytes. A log accepts so many lines a minute from all its programs. It
 * counts the others and reports their number in the next minute, or when it ends.
 *
 *     cw_child_output_log_init(&log, "plugin", "output", name, NULL, 100);
 *     rc = cw_child_output_open(&log, loop, &output, &fd, err);     fd: for the child
 *     ...
 *     cw_child_output_close(output);                                when the child has exited
 *     cw_child_output_log_done(&log);
 *
 * Ownership: name and secrets must live as long as the log, and the log as long as its outputs.
 * Threads:   an output belongs to one loop; a log may have outputs on several loops.
 * Limits:    CW_CHILD_OUTPUT_LINE. A program that writes without end takes one read of each turn
 *            of the loop, and is never blocked.
 */
#ifndef CW_NET_PROCESS_CHILD_OUTPUT_H
#define CW_NET_PROCESS_CHILD_OUTPUT_H

#include <pthread.h>

#include "base/redact.h"
#include "net/loop/loop.h"

#define CW_CHILD_OUTPUT_LINE 500u

typedef struct cw_child_output cw_child_output;

typedef struct cw_child_output_log {
    const char *component; /* of the log, and the key of `name` */
    const char *what;      /* "standard error" */
    cw_str name;
    const cw_secrets *secrets; /* hidden in the text; NULL: none */
    unsigned lines;            /* a minute */
    pthread_mutex_t lock;      /* of what follows */
    uint64_t since;            /* ms: when the minute began */
    unsigned reported;
    uint64_t left_out;
} cw_child_output_log;

void cw_child_output_log_init(cw_child_output_log *log, const char *component, const char *what,
                              cw_str name, const cw_secrets *secrets, unsigned lines);
/* Report what was left out. */
void cw_child_output_log_done(cw_child_output_log *log);

/* Make a pipe. *ret_fd is the end of the child, which the caller closes when the child has it.
 * CW_LIMIT: no descriptor is free; CW_NOMEM, CW_IO. */
CW_MUST_USE cw_code cw_child_output_open(cw_child_output_log *log, cw_loop *loop,
                                         cw_child_output **ret, int *ret_fd, cw_err *err);
/* Log what waits in the pipe and an unfinished line, close it, and free it on the loop. NULL is
 * fine. */
void cw_child_output_close(cw_child_output *output);

#endif
