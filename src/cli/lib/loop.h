/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loop.h - the event loop of a command: created for one piece of work, closed after it.
 *
 *     static cw_code ask(cw_loop *loop, void *ctx, cw_err *err)
 *     {
 *         query *q = ctx;
 *         ... start operations whose callbacks call cw_cli_loop_finish(q->loop, &q->pending) ...
 *         cw_cli_loop_wait(loop, &q->pending);
 *         return CW_OK;
 *     }
 *     rc = cw_cli_loop_run(ask, NULL, &q, &err);
 *
 * Ownership: the loop is valid until cw_cli_loop_run returns.
 * Threads:   main thread only.
 */
#ifndef CW_CLI_LIB_LOOP_H
#define CW_CLI_LIB_LOOP_H

#include "net/loop/loop.h"

typedef cw_code (*cw_cli_loop_fn)(cw_loop *loop, void *ctx, cw_err *err);

/* Create a loop, call run, end the loop and wait until all its handles are closed. Then call
 * `closed` (may be NULL), which frees objects that need a closed loop; it may close further
 * handles. Returns the result of run, which may end the loop itself. If no loop can be created,
 * neither function is called. */
CW_MUST_USE cw_code cw_cli_loop_run(cw_cli_loop_fn run, void (*closed)(void *ctx), void *ctx,
                                    cw_err *err);

/* Run the loop until *pending is 0. */
void cw_cli_loop_wait(cw_loop *loop, const size_t *pending);
/* The same for maximum `ms`. False: *pending is not 0, and the caller cancels its operations. */
bool cw_cli_loop_wait_for(cw_loop *loop, const size_t *pending, uint32_t ms);
/* Count one operation as finished. The loop does not wait for further events. */
void cw_cli_loop_finish(cw_loop *loop, size_t *pending);

#endif
