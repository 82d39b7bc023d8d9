/* SPDX-License-Identifier: GPL-2.0-or-later */
/* notify.h - messages to the service manager (systemd, sd_notify(3)).
 *
 * Without $NOTIFY_SOCKET all functions do nothing. A message that cannot be sent is lost: the server
 * does not depend on its manager.
 *
 *     cw_notify n;
 *     cw_notify_init(&n);
 *     cw_notify_send(&n, "READY=1\nSTATUS=%u tools", tools);
 *     cw_notify_watch(&n, &main_loop, server, err);     if the manager asks for it: WATCHDOG=1
 *     ...
 *     cw_notify_close(&n);                              on the main loop
 *     cw_notify_done(&n);                               after the server's loops have ended
 *
 * Ownership: borrows the loops.
 * Threads:   the main one.
 * Limits:    CW_NOTIFY_MAX bytes of a message.
 */
#ifndef CW_SERVER_UPGRADE_NOTIFY_H
#define CW_SERVER_UPGRADE_NOTIFY_H

#include <sys/un.h>

#include "net/server/server.h"

#define CW_NOTIFY_MAX 1024u
#define CW_NOTIFY_STATUS_MAX 512u

/* A message to one loop, which shows that the loop runs. */
typedef struct cw_notify_ping {
    cw_message message;
    struct cw_notify *notify;
} cw_notify_ping;

typedef struct cw_notify {
    int fd; /* -1: no manager */
    struct sockaddr_un address;
    socklen_t address_len;
    uint64_t watchdog_us; /* 0: the manager does not watch */
    bool stores;          /* the manager may keep descriptors */
    uv_timer_t timer;
    cw_loop *loop; /* NULL: not watching */
    cw_server *server;
    cw_notify_ping *pings; /* one per loop of the server */
    unsigned n_pings;
    atomic_uint n_waiting; /* pings without an answer */
} cw_notify;

/* Read $NOTIFY_SOCKET (a path, or "@" and an abstract name), $WATCHDOG_USEC, $WATCHDOG_PID and
 * $FDSTORE. */
void cw_notify_init(cw_notify *n);
/* Send assignments, a line each. */
CW_PRINTF(2, 3) void cw_notify_send(cw_notify *n, const char *fmt, ...);
/* Send a text for operators, cut to CW_NOTIFY_STATUS_MAX bytes. `why` may hold anything: line breaks and
 * other control characters become spaces. */
void cw_notify_status(cw_notify *n, const char *what, cw_str why);
/* The manager is asked to keep the sockets of the TCP listeners that it has not opened itself. It
 * passes them to the next process if this one crashes. */
void cw_notify_store_listeners(cw_notify *n, const cw_server *server);
/* The manager is asked to close the stored sockets that no listener has adopted. */
void cw_notify_unstore(cw_notify *n, const cw_handed *handed);
/* Send WATCHDOG=1 twice per interval, as long as every loop of the server has answered since the
 * message before. Nothing happens if the manager does not watch. CW_NOMEM. */
CW_MUST_USE cw_code cw_notify_watch(cw_notify *n, cw_loop *loop, cw_server *server, cw_err *err);
/* Send nothing more. Twice is fine. */
void cw_notify_close(cw_notify *n);
void cw_notify_done(cw_notify *n);

#endif
