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

typedef struct wait_limit {
    cw_deadline_list list;
    cw_deadline deadline;
    cw_loop *loop;
    bool is_over;
} wait_limit;

static void on_limit(cw_deadline *d)
{
    wait_limit *limit = CW_CONTAINER(d, wait_limit, deadline);
    limit->is_over = true;
    uv_stop(&limit->loop->uv);
}

bool cw_cli_loop_wait_for(cw_loop *loop, const size_t *pending, uint32_t ms)
{
    wait_limit limit = {.loop = loop};
    cw_deadline_list_init(&limit.list, ms, on_limit);
    cw_loop_watch(loop, &limit.list);
    uv_update_time(&loop->uv);
    cw_loop_set_deadline(loop, &limit.deadline, &limit.list);
    while (*pending && !limit.is_over)
        uv_run(&loop->uv, UV_RUN_ONCE);
    cw_deadline_clear(&limit.deadline);
    cw_loop_unwatch(loop, &limit.list);
    return *pending == 0;
}

void cw_cli_loop_finish(cw_loop *loop, size_t *pending)
{
    (*pending)--;
    /* The callback may run just before the loop waits for events: it must return instead. */
    uv_stop(&loop->uv);
}
