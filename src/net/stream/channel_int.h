/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channel_int.h - shared by the files of a channel only.
 *
 *     socket     BEGIN ─► NAMING ─► CONNECTING ─► (GREETING) ─► OPEN ─► ENDED
 *     with TLS   BEGIN ─► NAMING ─► SECURING ─► GREETING ─► OPEN ─► ENDED
 *     program    BEGIN ─► STARTING ─► OPEN ─► ENDED
 *
 * `closing` may come in any state; the channel is freed when its ends are closed, its program is
 * reaped and its timer is gone.
 *
 * Threads: one loop.
 */
#ifndef CW_NET_STREAM_CHANNEL_INT_H
#define CW_NET_STREAM_CHANNEL_INT_H

#include "base/arena.h"
#include "net/addr/connect.h"
#include "net/addr/lookup.h"
#include "net/http/http1.h"
#include "net/process/child_output.h"
#include "net/stream/channel.h"

/* ---- WebSocket ---- */

#define CW_WS_KEY 24u      /* characters */
#define CW_WS_HEAD_MAX 14u /* bytes before what a frame carries */
#define CW_WS_MASK 4u
#define CW_WS_CONTROL_MAX 125u /* bytes that a control frame carries */

typedef enum cw_ws_kind {
    CW_WS_TEXT = 1,
    CW_WS_BINARY = 2,
    CW_WS_CLOSE = 8,
    CW_WS_PING = 9,
    CW_WS_PONG = 10,
} cw_ws_kind;

/* Why a side closes (RFC 6455 7.4.1). */
enum {
    CW_WS_NORMAL = 1000,
    CW_WS_PROTOCOL = 1002,
    CW_WS_NO_STATUS = 1005, /* never on the wire */
    CW_WS_NOT_UTF8 = 1007,
    CW_WS_TOO_LARGE = 1009,
};

typedef struct cw_ws_reader {
    size_t max_message;
    cw_buf parts;         /* of a message that comes in pieces */
    uint8_t kind;         /* of that one; 0: there is none */
    bool is_handed;       /* `parts` were handed out whole */
    uint16_t status;      /* after a failure: what to close with */
    uint16_t peer_status; /* of a CW_WS_CLOSE; CW_WS_NO_STATUS: it says none */
} cw_ws_reader;

/* ---- the channel ---- */

#define CW_CHANNEL_ADDRESSES 8u /* of a name, at most */
#define CW_CHANNEL_LINES 20u    /* of standard error, a minute */

typedef enum cw_channel_state {
    CHANNEL_BEGIN,
    CHANNEL_NAMING,
    CHANNEL_CONNECTING,
    CHANNEL_SECURING, /* libcurl connects and makes the handshake */
    CHANNEL_GREETING, /* a WebSocket's handshake */
    CHANNEL_STARTING,
    CHANNEL_OPEN,
    CHANNEL_ENDED,
} cw_channel_state;

/* A descriptor that is watched. On its own, for libuv lets go of it later than we do. */
typedef struct cw_channel_end {
    uv_poll_t poll;
    cw_channel *channel;
    int fd;
    int events;
} cw_channel_end;

struct cw_channel {
    cw_loop *loop;
    cw_loop_hook hook;
    uv_timer_t timer; /* of the state; while closing: for the program's end */
    cw_arena texts;   /* what `opts` point to */
    cw_channel_opts opts;
    cw_channel_state state;
    bool closing;
    bool is_deaf;     /* the other side reads no more */
    bool is_released; /* the timer is being closed, and then all is over */
    unsigned n_ends;  /* that libuv holds; TLS is one more */

    cw_channel_end *in, *out; /* of a socket: the same */
    cw_buf input;             /* the begin of a message */
    cw_framing_reader cutter;
    cw_buf output;
    size_t sent;             /* bytes of `output` that are written */
    cw_deferred flush, more; /* more: reading goes on in the next turn */

    /* A socket. */
    cw_address addresses[CW_CHANNEL_ADDRESSES];
    size_t n_addresses, next_address;
    cw_lookup *lookup;
    uint64_t until;      /* ms: connecting */
    cw_err why;          /* the last address was not reached */
    cw_str authority;    /* of a WebSocket: for the Host field */
    char key[CW_WS_KEY]; /* of the handshake */
    cw_http1_head head;
    cw_ws_reader frames;
    uint64_t received_at, pinged_at; /* ms */
    cw_tls_client *secure;           /* NULL: without TLS */
    cw_tls_client_conn *link;
    char *record; /* that is being sent with TLS */
    size_t n_record;

    /* A program. */
    cw_spawn job;
    int job_fds[3]; /* its standard descriptors, until it has them */
    cw_child child;
    bool has_child;
    cw_child_output_log log; /* of its standard error; .component NULL: not begun */
    cw_child_output *errors;
};

/* ---- channel.c ---- */

/* Connected, greeted, started. */
void cw_channel_opened(cw_channel *ch);
/* Tell the end, once. Nothing happens while closing. */
void cw_channel_ended(cw_channel *ch, cw_code code, const char *why);
/* Free it when nothing is left to wait for. */
void cw_channel_settle(cw_channel *ch);
/* Call `fn` after `ms`, in place of what the timer was set to. */
void cw_channel_wait(cw_channel *ch, uv_timer_cb fn, uint64_t ms);

/* Take over `fd` (closed on failure) as one of the channel's ends. */
CW_MUST_USE cw_code cw_channel_add_end(cw_channel *ch, int fd, cw_channel_end **ret, cw_err *err);
/* Close and forget *end; NULL is fine. An end that is two ends is closed once. */
void cw_channel_close_end(cw_channel_end **end);
/* Watch the ends as the state asks. */
void cw_channel_watch(cw_channel *ch);
/* Read what waits now, and little of what comes meanwhile. */
void cw_channel_drain(cw_channel *ch);
/* Write what can be written now. */
void cw_channel_flush(cw_channel *ch);
/* Queue one message with what belongs around it, of at most max_queue bytes in all. */
CW_MUST_USE cw_code cw_channel_queue(cw_channel *ch, cw_str before, const cw_str *pieces, size_t n,
                                     cw_str behind, char **ret_message);

/* ---- channel_ws.c ---- */

/* `max_message` limits all pieces of a message together. */
void cw_ws_reader_init(cw_ws_reader *r, size_t max_message);
void cw_ws_reader_done(cw_ws_reader *r);
/* The text of the Host field, in the channel's arena; .p is NULL: no memory. */
cw_str cw_channel_ws_authority(cw_channel *ch);
/* Send the request of the handshake. */
void cw_channel_send_handshake(cw_channel *ch);
/* It is open: look from time to time whether it still is. */
void cw_channel_ws_start_keepalive(cw_channel *ch);
/* Take from `bytes` what can be taken, hand a message out. CW_AGAIN: more is needed. */
CW_MUST_USE cw_code cw_channel_ws_read(cw_channel *ch, cw_str bytes, cw_str *ret_message,
                                       size_t *ret_used);
/* Queue a frame. */
CW_MUST_USE cw_code cw_channel_ws_send(cw_channel *ch, cw_ws_kind kind, const cw_str *pieces,
                                       size_t n);
/* Say why this side ends it: 1000 and so on. */
void cw_channel_ws_send_close(cw_channel *ch, unsigned status);

/* ---- channel_process.c ---- */

void cw_channel_start_program(cw_channel *ch);
/* It closed its output or its input: its exit follows, or it is told without. */
void cw_channel_on_output_closed(cw_channel *ch);
/* Begin to end it. */
void cw_channel_stop_program(cw_channel *ch);
/* The loop ends, and hears no more of a start that is under way. */
void cw_channel_cancel_start(cw_channel *ch);

#endif
