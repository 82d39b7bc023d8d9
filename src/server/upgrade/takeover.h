/* SPDX-License-Identifier: GPL-2.0-or-later */
/* takeover.h - a new process takes the sockets of a running server over.
 *
 *     old                                  new
 *      │ start the program again, with a socket as descriptor 3 ($CAUSEWAY_TAKEOVER)
 *      │ ◄──────────────────────── hello ── │  version
 *      │ ── listener …, end ──────────────► │  descriptors of each listener
 *      │                                    │  reads its configuration, loads its sources
 *      │ ◄──────────────── ready, failed ── │
 *      │ ── go ───────────────────────────► │
 *      │                                    │  accepts connections
 *      │ ◄────────────────────── started ── │
 *      │ ── done ─────────────────────────► │  state (app_state.h)
 *      │ closes its sockets, drains, exits
 *
 * Both processes have the same sockets, so no connection is lost whichever of them accepts it. Until
 * "started" the old process serves as before. It goes on if the new one fails, exits, or is not ready
 * in time; the new process has accepted nothing by then.
 *
 * Ownership: borrows what its options name.
 * Threads:   the main one.
 * Limits:    server/upgrade/packet.h; one take-over at a time.
 */
#ifndef CW_SERVER_UPGRADE_TAKEOVER_H
#define CW_SERVER_UPGRADE_TAKEOVER_H

#include "json/write.h"
#include "net/process/child.h"
#include "net/server/server.h"

#define CW_TAKEOVER_VERSION 64u
#define CW_TAKEOVER_PROBLEM 1200u

/* ---- the program ---- */

/* The command line of this process. */
typedef struct cw_program {
    char *path; /* of the file, as it was started; NULL: it is not known */
    char **argv;
    char *bytes; /* of argv */
} cw_program;

/* Read it from /proc. A relative path is completed with the working directory, links are not
 * followed: the path may lead to another file by now. CW_IO, CW_NOMEM. */
CW_MUST_USE cw_code cw_program_read(cw_program *p, cw_err *err);
/* A zeroed struct is fine. */
void cw_program_done(cw_program *p);

/* ---- the old process ---- */

typedef struct cw_takeover cw_takeover;

typedef struct cw_takeover_result {
    pid_t pid; /* of the new process; 0: the old one goes on */
    char version[CW_TAKEOVER_VERSION];
    char problem[CW_TAKEOVER_PROBLEM]; /* "": none */
} cw_takeover_result;

typedef void (*cw_takeover_fn)(const cw_takeover_result *result, void *ctx);

typedef struct cw_takeover_opts {
    cw_loop *loop;
    cw_spawner *spawner;
    const cw_server *server;
    const cw_program *program;
    uint64_t timeout_ms; /* until the new process has started */
    cw_takeover_fn done; /* called once, on the loop */
    void *ctx;
} cw_takeover_opts;

/* Start a new process. CW_OK: `done` follows. CW_NOMEM, CW_IO. */
CW_MUST_USE cw_code cw_takeover_start(const cw_takeover_opts *opts, cw_takeover **ret, cw_err *err);
/* After `done` with success: let go, with a file of state (-1: none), which the caller closes. Returns
 * a descriptor that the caller keeps open until this process ends, so that the new one notices the
 * end; -1: none. */
int cw_takeover_let_go(cw_takeover *t, int state_fd);
/* After `done`: send a signal to the new process. */
void cw_takeover_signal(cw_takeover *t, int signum);
/* Write the members of a report: upgraded, and pid and version, or problem. */
void cw_takeover_write_result(const cw_takeover_result *result, cw_json_writer *out);
/* End it: a new process that has not started is killed, and `done` is called if it was not. After
 * that the loop frees it. NULL is fine. */
void cw_takeover_close(cw_takeover *t);

/* ---- the new process ---- */

typedef struct cw_successor {
    int fd; /* -1: this process takes nothing over */
} cw_successor;

/* If this process was started for a take-over, receive the listeners. Otherwise fd is -1. CW_IO,
 * CW_PARAMS, CW_TIMEOUT, CW_NOMEM. */
CW_MUST_USE cw_code cw_successor_begin(cw_successor *s, cw_handed *listeners, cw_err *err);
/* All is ready but the loops. Waits until the old process agrees, or has gone. */
CW_MUST_USE cw_code cw_successor_ready(cw_successor *s, cw_err *err);
/* The loops run. Waits a moment until the old process has let go. Returns a file of its state that the
 * caller owns, or -1. */
int cw_successor_started(cw_successor *s);
/* Whether the old process has ended, or there was none. */
bool cw_successor_is_alone(cw_successor *s);
/* This process cannot start. */
void cw_successor_failed(cw_successor *s, cw_str problem);

#endif
