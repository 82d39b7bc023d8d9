/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sessions.h - ends the sessions that a command has opened at MCP servers, before it closes them.
 *
 *     cw_cli_sessions sessions = {.loop = loop};
 *     cw_cli_sessions_end(&sessions, shared);
 *     cw_cli_sessions_wait(&sessions);
 *     cw_shared_conn_close(shared, false);
 *
 * Threads: main thread only.
 * Limits:  CW_CLI_SESSIONS_MS for all of them.
 */
#ifndef CW_CLI_LIB_SESSIONS_H
#define CW_CLI_LIB_SESSIONS_H

#include "source/upstream/shared_conn.h"

#define CW_CLI_SESSIONS_MS 2000u

typedef struct cw_cli_sessions {
    cw_loop *loop;
    size_t pending;
} cw_cli_sessions;

/* Ask the server of this connection to end its sessions. NULL is fine. */
void cw_cli_sessions_end(cw_cli_sessions *s, cw_shared_conn *shared);
/* Wait for the responses. The connections must be closed after this. */
void cw_cli_sessions_wait(cw_cli_sessions *s);

#endif
