/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channel.h - one connection over which messages go both ways: a socket, a WebSocket, or the
 * standard input and output of a program that we start.
 *
 *     open ─► on_open ─► on_message* ─► on_end ─► close ─► on_closed
 *         └─► on_end: not reached, not started, no WebSocket there
 *
 * A program gets a process group of its own, is told to end by the end of its input, then by
 * SIGTERM to its group after CW_CHANNEL_GRACE_MS and by SIGKILL after as long again. What it
 * writes to its standard error goes to the log, line by line, cut and bounded.
 *
 * Ownership: what opts point to is copied. A message that is handed out lives until on_message
 *            returns. The channel is freed behind on_closed.
 * Threads:   one loop.
 * Limits:    max_message either way, max_queue bytes that wait to be sent.
 */
#ifndef CW_NET_CHANNEL_H
#define CW_NET_CHANNEL_H

#include "net/child.h"
#include "net/framing.h"

#define CW_CHANNEL_GRACE_MS 500u

typedef struct cw_channel cw_channel;

typedef struct cw_channel_ops {
    /* Messages may be sent from now on. */
    void (*on_open)(cw_channel *ch, void *ctx);
    /* May close the channel. */
    void (*on_message)(cw_channel *ch, cw_str message, void *ctx);
    /* There is no channel any more, or never was: CW_IO (not reached, not started; nothing was
     * sent), CW_GONE (it ended), CW_LIMIT (a message too large), CW_INVALID (no such framing, no
     * WebSocket), CW_TIMEOUT (connecting), CW_NOMEM. `why` is a text for logs. Once; close it
     * then. */
    void (*on_end)(cw_channel *ch, cw_code code, const char *why, void *ctx);
    /* After cw_channel_close; the channel is gone. */
    void (*on_closed)(void *ctx);
} cw_channel_ops;

typedef struct cw_channel_opts {
    /* Exactly one of these three. */
    cw_str unix_path;
    cw_str host;                /* an address or a name, looked up off the loop; with `port` */
    const char *const *command; /* path and arguments, NULL-terminated; PATH is searched */

    uint16_t port;
    cw_str websocket; /* path of a WebSocket (RFC 6455) on host; empty: a plain stream */
    const char *const *environment; /* of the program: NAME=VALUE, NULL-terminated, all of it */
    const char *folder;             /* it works in; NULL: ours */
    cw_spawner *spawner;            /* for a program */
    cw_framing framing;             /* not for a WebSocket: a text message is a message */
    size_t max_message;
    size_t max_queue;
    uint32_t connect_ms;
    cw_str name; /* for the log: of the source */
    const cw_channel_ops *ops;
    void *ctx;
} cw_channel_opts;

/* Begin; callbacks come later, never before this returns. */
CW_MUST_USE cw_code cw_channel_open(cw_loop *loop, const cw_channel_opts *opts, cw_channel **ret,
                                    cw_err *err);
/* Send one message made of pieces, after on_open. CW_LIMIT: too much waits already, or it is too
 * large; CW_NOMEM. Nothing of it was sent then. */
CW_MUST_USE cw_code cw_channel_send(cw_channel *ch, const cw_str *pieces, size_t n);
/* No callback but on_closed comes after this; that one never before this returns. */
void cw_channel_close(cw_channel *ch);

#endif
