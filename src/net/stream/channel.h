/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channel.h - one connection over which messages go both ways: a socket, a WebSocket, or the
 * standard input and output of a program that we start.
 *
 *     open ─► on_open ─► on_message* ─► on_end ─► close ─► on_closed
 *         └─► on_end: not reached, not started, no WebSocket there
 *
 * A program gets a process group of its own, is told to end by the end of its input, then by
 * SIGTERM to its group after CW_CHANNEL_GRACE_MS and by SIGKILL after as long again; what is left
 * of its group when it has ended is killed, and what has left the group (net/process/spawn.c).
 * It is reaped before on_closed. Should this process die, the program sees the end of its input
 * and a broken output, and no more than that: posix_spawn has no parent-death signal. One that
 * heeds neither goes on.
 * Its standard error goes to the log ("source"), line by line, cut at 500 bytes
 * and at most 20 lines a minute; the others are counted.
 *
 * A WebSocket's binary messages are messages like its texts; pings are answered. The client's Host
 * is the name that was given. With TLS it is wss: net/curl/tls_client.h makes the connection.
 * The channel sends a ping if nothing came for `ping_ms`, nothing waits to be sent and no answer is
 * awaited. It ends if nothing comes then for `connect_ms`.
 *
 * Ownership: what opts point to is copied. A message that is handed out lives until on_message
 *            returns. The channel is freed behind on_closed.
 * Threads:   one loop. SIGPIPE must be ignored.
 * Limits:    max_message either way, max_queue bytes that wait to be sent, framing included.
 */
#ifndef CW_NET_STREAM_CHANNEL_H
#define CW_NET_STREAM_CHANNEL_H

#include "base/redact.h"
#include "net/curl/tls_client.h"
#include "net/http/http1.h"
#include "net/process/child.h"
#include "net/stream/framing.h"

#define CW_CHANNEL_GRACE_MS 500u
#define CW_CHANNEL_PING_MS 30000u

typedef struct cw_channel cw_channel;

typedef struct cw_channel_ops {
    /* Messages may be sent from now on. */
    void (*on_open)(cw_channel *ch, void *ctx);
    /* May close the channel. */
    void (*on_message)(cw_channel *ch, cw_str message, void *ctx);
    /* There is no channel any more, or never was: CW_IO (not reached, not started; nothing was
     * sent), CW_GONE (it ended), CW_LIMIT (a message too large), CW_INVALID (no such framing, no
     * WebSocket, or none for us), CW_TIMEOUT (connecting), CW_NOMEM. `why` is a text for logs.
     * Once; close it then. */
    void (*on_end)(cw_channel *ch, cw_code code, const char *why, void *ctx);
    /* After cw_channel_close; the channel is gone. */
    void (*on_closed)(void *ctx);
    /* Whether an answer with a deadline of its own is awaited: then no ping is sent.
     * NULL: never. */
    bool (*is_awaited)(void *ctx);
} cw_channel_ops;

typedef struct cw_channel_opts {
    /* Exactly one of these three. */
    cw_str unix_path;
    cw_str host;                /* an address or a name, looked up off the loop; with `port` */
    const char *const *command; /* path and arguments, NULL-terminated; our PATH is searched */

    uint16_t port;
    cw_framing framing; /* not for a WebSocket: a text message is a message */
    cw_str websocket;   /* path of a WebSocket (RFC 6455) on the socket; empty: a plain stream */
    const cw_http_header *headers; /* of its handshake, beside those that make it one */
    size_t n_headers;
    bool is_tls; /* for a WebSocket at a host */
    cw_client_tls tls;
    uint32_t ping_ms;               /* 0: CW_CHANNEL_PING_MS */
    const char *const *environment; /* of the program: NAME=VALUE, NULL-terminated, all of it */
    const char *folder; /* it works in, where a relative path of it begins; NULL: ours */
    const cw_confinement *confinement; /* of the program; NULL: none. Outlives the channel. */
    cw_spawner *spawner;               /* for a program; outlives the channel */
    size_t max_message;
    size_t max_queue;
    uint32_t connect_ms;       /* for all of it: name, addresses, handshakes; 0: 5000 */
    cw_str name;               /* for the log: of the source */
    const cw_secrets *secrets; /* what the log does not repeat; outlives the channel, may be NULL */
    const cw_channel_ops *ops;
    void *ctx;
} cw_channel_opts;

/* Begin; callbacks come later, never before this returns. CW_PARAMS: opts that cannot be; CW_IO:
 * TLS, and libcurl is not there; CW_NOMEM, CW_LIMIT: over a megabyte of texts. Whatever else goes
 * wrong is told by on_end. */
CW_MUST_USE cw_code cw_channel_open(cw_loop *loop, const cw_channel_opts *opts, cw_channel **ret,
                                    cw_err *err);
/* Send one message made of pieces, after on_open; it leaves at the end of this turn. CW_LIMIT: too
 * much waits already, or it is too large; CW_GONE: not open; CW_NOMEM. Nothing of it was sent then.
 * With a framing by lines, line breaks within a message are sent as spaces. */
CW_MUST_USE cw_code cw_channel_send(cw_channel *ch, const cw_str *pieces, size_t n);
/* Never blocks. No callback but on_closed comes after this; that one never before this returns.
 * Queued messages are written as far as possible without waiting. The end of the loop does this
 * too: then on_closed comes without it. Closing twice is closing once. */
void cw_channel_close(cw_channel *ch);

#endif
