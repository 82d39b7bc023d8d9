/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sessions.c - waits for the end of sessions with MCP servers. */
#include "cli/lib/sessions.h"

#include "cli/lib/loop.h"

static void on_end(void *ctx)
{
    cw_cli_sessions *s = ctx;
    cw_cli_loop_finish(s->loop, &s->pending);
}

void cw_cli_sessions_end(cw_cli_sessions *s, cw_shared_conn *shared)
{
    s->pending += cw_shared_conn_end_sessions(shared, on_end, s);
}

/* A server that does not respond keeps its session until it forgets it. */
void cw_cli_sessions_wait(cw_cli_sessions *s)
{
    (void)cw_cli_loop_wait_for(s->loop, &s->pending, CW_CLI_SESSIONS_MS);
}
