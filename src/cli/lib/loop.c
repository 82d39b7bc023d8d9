/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loop.c - creates, runs and closes the event loop of a command. */
#include "cli/lib/loop.h"

#define MAX_FD 1024

cw_code cw_cli_loop_run(cw_cli_loop_fn run, void (*closed)(void *ctx), void *ctx, cw_err *err)
{
    cw_loop loop;
    cw_code rc = cw_loop_init(&loop, MAX_FD, err);
    if (rc)
        return rc;
    rc = run(&loop, ctx, err);
    cw_loop_end(&loop);
    cw_loop_run(&loop);
    if (closed) {
        closed(ctx);
        cw_loop_run(&loop);
    }
    cw_loop_done(&loop);
    return rc;
}

void cw_cli_loop_wait(cw_loop *loop, const size_t *pending)
{
    while (*pending)
        uv_run(&loop->uv, UV_RUN_ONCE);
}

void cw_cli_loop_finish(cw_loop *loop, size_t *pending)
{
    (*pending)--;
    /* The callback may run just before the loop waits for events: it must return instead. */
    uv_stop(&loop->uv);
}
