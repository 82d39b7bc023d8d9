/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sessions.h - the era of one MCP server over HTTP, and the legacy sessions with it, for all loops.
 *
 * A loop that needs a session enters with the key of its caller. One loop at a time asks for the
 * era; one at a time opens the session of a key. Others wait, and enter again when they are woken.
 *
 *     enter ─┬─ CW_OK        use ret
 *            ├─ CW_DECLINED  open it, then call opened or failed
 *            └─ CW_AGAIN     wait: the waiter's message is posted to its loop
 *
 * The session that a call uses (`mode`):
 *     shared   one for all callers with the same capabilities
 *     caller   one for each caller
 *     call     one for each call: the key has its number
 *     auto     caller, until the server has opened one without an id; then shared
 * A session with other capabilities is another session: initialize sends them to the server.
 *
 * A server may send a message that belongs to a call on the stream of the session. Each running
 * call has a route, and the table finds it.
 *
 * Ownership: a waiter belongs to its maker until its message is posted, then to the message. A route
 *            is reference counted.
 * Threads:   any; a lock protects the table.
 * Limits:    CW_RELAY_SESSIONS, the least recently used one without a running call is ended;
 *            CW_RELAY_IDLE_MS.
 */
#ifndef CW_SOURCE_RELAY_SESSIONS_H
#define CW_SOURCE_RELAY_SESSIONS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/list.h"
#include "net/loop/loop.h"
#include "source/relay/relay.h"

#define CW_RELAY_SESSIONS 1000u
#define CW_RELAY_IDLE_MS (15u * 60u * 1000u)
#define CW_RELAY_KEY_MAX 320u

typedef enum cw_relay_mode {
    CW_RELAY_MODE_AUTO,
    CW_RELAY_MODE_SHARED,
    CW_RELAY_MODE_CALLER,
    CW_RELAY_MODE_CALL,
} cw_relay_mode;

#define CW_RELAY_OWN_KEY "0 " /* of Causeway's own session, which is no caller's */

/* A copy of the parts of a session that a request needs. */
typedef struct cw_relay_ticket {
    cw_relay_era era; /* UNKNOWN: legacy for this once */
    bool is_modern;
    bool has_stream;                    /* it was claimed: cw_relay_sessions_claim_stream */
    char version[CW_RELAY_VERSION_MAX]; /* that was negotiated */
    char id[CW_RELAY_SESSION_MAX];      /* Mcp-Session-Id; empty: the server gave none */
    char key[CW_RELAY_KEY_MAX];
} cw_relay_ticket;

#define CW_RELAY_INSTRUCTIONS_MAX 16384u /* bytes; the rest is cut off */

/* Facts about a server, from its last handshake. */
typedef struct cw_relay_server {
    bool is_known;
    bool has_prompts, has_resources;
    bool can_subscribe; /* to resources */
    bool has_logging;   /* its log level can be set */
    cw_str instructions;
} cw_relay_server;

typedef struct cw_relay_waiter {
    cw_list node; /* of the table */
    cw_message message;
    cw_loop *loop;
    void *owner; /* used by its loop; NULL: it has closed */
} cw_relay_waiter;

/* A call that runs in a session. */
typedef struct cw_relay_route {
    cw_list node; /* of its session; the table's */
    atomic_uint refs;
    cw_loop *loop;
    uint64_t id; /* of its request */
    void *call;  /* used by its loop; NULL: the call is over */
} cw_relay_route;

typedef struct cw_relay_sessions {
    pthread_mutex_t lock;
    cw_relay_mode mode;
    cw_relay_era pinned; /* UNKNOWN: not */
    atomic_int era;      /* cw_relay_era */
    bool is_probing;     /* a loop asks for the era */
    bool has_no_ids;     /* a session was opened without an id */
    bool has_listener;   /* a stream of a modern server was claimed */
    uint64_t n_calls;    /* of mode `call` */
    cw_list all;         /* sessions, the most recently used first */
    cw_list ended;       /* sessions that are no longer used, but still open at the server */
    unsigned n, n_ended;
    cw_list waiters;
    cw_relay_server server; /* its text is memory of its own */
} cw_relay_sessions;

void cw_relay_sessions_init(cw_relay_sessions *t, cw_relay_mode mode, cw_relay_era pinned);
void cw_relay_sessions_done(cw_relay_sessions *t);

/* The era as it is known now. */
cw_relay_era cw_relay_sessions_era(const cw_relay_sessions *t);
/* The era is unknown again, so the next request asks for it. A pinned era stays. */
void cw_relay_sessions_forget_era(cw_relay_sessions *t);
/* The era is known. */
void cw_relay_sessions_set_era(cw_relay_sessions *t, cw_relay_era era);

/* Keep the facts of a response to initialize, or to server/discover. */
void cw_relay_sessions_learn(cw_relay_sessions *t, const cw_json *answer);
/* Those facts, with the text in the arena; without memory no text. */
cw_relay_server cw_relay_sessions_server(cw_relay_sessions *t, cw_arena *arena);

/* Enter for a request; see above. The key of *ret is kept where it has one: it is the same call
 * again. With CW_DECLINED, era of *ret is LEGACY: initialize; UNKNOWN: ask for the era first.
 * *waiter is taken with CW_AGAIN only; NULL: nothing will be posted. `now` is a loop's clock. */
CW_MUST_USE cw_code cw_relay_sessions_enter(cw_relay_sessions *t, const cw_relay_request *r,
                                            uint64_t now, cw_relay_waiter *waiter,
                                            cw_relay_ticket *ret);
/* A session is open, or could not be opened. The waiters are woken. */
void cw_relay_sessions_opened(cw_relay_sessions *t, const cw_relay_ticket *ticket, uint64_t now);
void cw_relay_sessions_failed(cw_relay_sessions *t, const cw_relay_ticket *ticket);
/* The server has lost the session, or it is over: forget it, unless another one has replaced it. */
void cw_relay_sessions_drop(cw_relay_sessions *t, const cw_relay_ticket *ticket);
/* Remove a waiter. False: its message is under way. */
bool cw_relay_sessions_leave(cw_relay_sessions *t, cw_relay_waiter *waiter);

/* True: this session, or this modern server, has no stream, and the calling function opens one. */
bool cw_relay_sessions_claim_stream(cw_relay_sessions *t, const cw_relay_ticket *ticket);
/* The stream of a session ended: the next call claims another. */
void cw_relay_sessions_drop_stream(cw_relay_sessions *t, const cw_relay_ticket *ticket);
/* True: log lines of this rank (cw_relay_level) were not requested in the legacy session, and the
 * calling function requests them now. The level of a session is never lowered: calls share it, and
 * each gets its own lines only. */
bool cw_relay_sessions_raise_level(cw_relay_sessions *t, const cw_relay_ticket *ticket,
                                   unsigned level);
/* The level was not requested after all. The next call that needs it requests it. */
void cw_relay_sessions_forget_level(cw_relay_sessions *t, const cw_relay_ticket *ticket,
                                    unsigned level);
/* Whether the server has log levels. */
bool cw_relay_sessions_has_logging(cw_relay_sessions *t);
/* Take the open sessions, one after another: none is used any more. False: no further one. */
bool cw_relay_sessions_next_open(cw_relay_sessions *t, cw_relay_ticket *ret);
/* Take a session that has ended, because it was idle or the table was full. False: none. */
bool cw_relay_sessions_next_ended(cw_relay_sessions *t, uint64_t now, cw_relay_ticket *ret);
/* Whether calls run in the session. */
bool cw_relay_sessions_is_busy(cw_relay_sessions *t, const char *key);

/* A route for a call on this loop, with one reference; NULL without memory. */
cw_relay_route *cw_relay_route_new(cw_loop *loop, uint64_t id, void *call);
cw_relay_route *cw_relay_route_ref(cw_relay_route *route);
/* NULL is fine. */
void cw_relay_route_unref(cw_relay_route *route);
/* The call begins in the session; it ends, which releases the call's own reference. */
void cw_relay_sessions_begin_call(cw_relay_sessions *t, const char *key, cw_relay_route *route);
void cw_relay_sessions_end_call(cw_relay_sessions *t, cw_relay_route *route);
/* A reference to the call of the session with this id; 0: the only one. NULL: none, or several. */
cw_relay_route *cw_relay_sessions_find_call(cw_relay_sessions *t, const char *key, uint64_t id);

#endif
