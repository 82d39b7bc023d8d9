/* SPDX-License-Identifier: GPL-2.0-or-later */
/* progress.h - a line on a terminal that shows the progress of long work.
 *
 * It is shown when the work has taken PROGRESS_AFTER_MS and standard error is a terminal that is not
 * dumb; else nothing is. Before anything else is printed it must be stopped, which takes it away.
 *
 *     cw_cli_progress p;
 *     cw_cli_progress_start(&p, &loop->uv, write_text, ctx);
 *     ... run the loop ...
 *     cw_cli_progress_stop(&p);
 *
 * Ownership: the struct must live until the loop has closed its timer.
 * Threads:   the loop's.
 */
#ifndef CW_CLI_LIB_PROGRESS_H
#define CW_CLI_LIB_PROGRESS_H

#include <uv.h>

#include "base/buf.h"

typedef struct cw_cli_progress {
    uv_timer_t timer;
    void (*write)(cw_buf *out, void *ctx); /* append the text, without a line break */
    void *ctx;
    uint64_t begun; /* ms of the loop */
    bool is_on, is_shown;
} cw_cli_progress;

/* Whether standard error is a terminal on which a line can be drawn and erased. */
bool cw_cli_progress_can_draw(void);

void cw_cli_progress_start(cw_cli_progress *p, uv_loop_t *loop,
                           void (*write)(cw_buf *out, void *ctx), void *ctx);
/* Twice is fine, and so is one that was never started and is all zero. */
void cw_cli_progress_stop(cw_cli_progress *p);
/* Take the line away until it is drawn again: something else is to be printed. */
void cw_cli_progress_hide(cw_cli_progress *p);

#endif
