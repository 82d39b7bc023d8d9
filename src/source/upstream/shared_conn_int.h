/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_conn_int.h - the state of a shared connection, for shared_conn*.c and upstream_mcp.c. */
#ifndef CW_SOURCE_UPSTREAM_SHARED_CONN_INT_H
#define CW_SOURCE_UPSTREAM_SHARED_CONN_INT_H

#include <pthread.h>

#include "base/list.h"
#include "source/relay/sessions.h"
#include "source/upstream/shared_conn.h"
#include "source/upstream/upstream_login.h"

#define CW_SHARED_CONN_BUCKETS 256u
#define CW_SHARED_CONN_WHY 200u

typedef struct cw_shared_conn_call cw_shared_conn_call;

/* A call. It is made on the loop of its caller, passes to the main loop, and returns. One loop has it
 * at a time; only the caller's loop touches `req`. */
struct cw_shared_conn_call {
    cw_message message;        /* to the main loop, then to the caller's */
    cw_list node;              /* in `waiting` or `pending` of the connection */
    cw_list all_node;          /* in `all` */
    cw_shared_conn_call *same; /* the next one of its bucket */
    cw_shared_conn *shared;    /* a reference */
    cw_loop *loop;
    cw_upstream_req *req;     /* NULL: cancelled */
    atomic_bool is_cancelled; /* the same, for the main loop */
    uint64_t id;
    bool is_notice;
    bool is_relay; /* of an MCP server: `relay` is the request, its texts behind this */
    cw_relay_request relay;
    uint32_t limit_ms; /* of the call; its deadline list may have a shorter one */
    uint64_t until;
    cw_deadline deadline;
    cw_client_end end;
    cw_parsed_message *answer; /* a reference; NULL: none */
    char why[CW_SHARED_CONN_WHY];
    size_t n_body;
    char *body; /* behind this */
};

typedef enum cw_shared_conn_state {
    CW_SHARED_CONN_CLOSED,
    CW_SHARED_CONN_OPENING, /* also while a token is requested: no channel exists yet */
    CW_SHARED_CONN_WAITING, /* for the greeting of the service */
    CW_SHARED_CONN_INIT_CALLS,
    CW_SHARED_CONN_READY,
} cw_shared_conn_state;

/* An MCP server at the other end: its handshake, on the main loop. */
typedef struct cw_shared_conn_mcp {
    bool is_on;
    bool was_ready;                 /* before: the next handshake is announced as a change */
    uint64_t ask_id, initialize_id; /* 0: not sent, or answered */
    unsigned level;                 /* of log lines that a legacy server was asked for; 0: none */
    cw_deadline_list asking, starting; /* time for the era, and for the whole handshake */
    cw_deadline asking_limit, starting_limit;
    atomic_uint n_events; /* messages on their way to the loops of calls */
} cw_shared_conn_mcp;

/* A message to the main loop that requests the stream of a session, or of a modern server. With
 * `on_reply` it returns when the stream is open, or cannot be opened, or takes too long. */
typedef struct cw_shared_conn_want {
    cw_message message;
    cw_list node;           /* of the stream that it waits for */
    cw_shared_conn *shared; /* a reference */
    cw_deadline limit;
    cw_relay_ticket ticket;
    cw_loop *loop;
    void *owner;                                     /* on its loop; NULL: it has closed */
    void (*on_reply)(struct cw_shared_conn_want *w); /* frees it; NULL: no reply */
} cw_shared_conn_want;

#define CW_SHARED_CONN_PAUSES 9u /* 256 ms, doubled each time */

/* The streams of an MCP server over HTTP, on the main loop. */
typedef struct cw_shared_conn_streams {
    bool is_on;            /* it is an MCP server over HTTP; never changed */
    bool is_following;     /* streams are opened, to report changes; never changed */
    cw_upstream *upstream; /* NULL: none yet */
    cw_list all;           /* the newest first */
    unsigned n;
    bool has_missed;        /* Causeway's own stream ended by a rejection of the credentials */
    cw_relay_ticket missed; /* its session, if so */
    atomic_uint_least64_t refused_at; /* when that was last; 0: accepted since, or never */
    cw_list subscribing;              /* requests of subscriptions to resources */
    cw_deadline_list pauses[CW_SHARED_CONN_PAUSES], openings, sweeps;
    cw_deadline sweep;
    atomic_uint changed_lists; /* not 0: `changed` is under way, with a reference */
    cw_message changed;
} cw_shared_conn_streams;
/* A resource that is subscribed to. */
typedef struct cw_shared_conn_resource {
    cw_str uri;      /* memory of its own */
    bool is_updated; /* to be reported */
    bool is_sent;    /* legacy: the subscription was requested */
    uint64_t id;     /* of that request, on a channel */
} cw_shared_conn_resource;

/* All such resources, on the main loop. */
typedef struct cw_shared_conn_resources {
    cw_shared_conn_resource *items; /* sorted by URI */
    size_t n;
    uint64_t listen_id; /* modern: of the subscription; 0: none */
    cw_deadline_list calm;
    cw_deadline calm_end; /* updates are reported then */
} cw_shared_conn_resources;

/* The lists whose changes a modern server has to report. */
#define CW_SHARED_CONN_LISTS                                                                       \
    "\"toolsListChanged\":true,\"promptsListChanged\":true,\"resourcesListChanged\":true"

/* Events of the service, on the main loop. */
typedef struct cw_shared_conn_events {
    cw_event_intake *intake; /* a reference; NULL: none */
    uint64_t first_id;       /* of the calls that subscribe to them, which follow each other */
    uint64_t ready_at;       /* when the connection was ready last */
    unsigned short_ones;     /* connections in a row that ended soon */
    bool is_refused;         /* credentials were rejected: events do not open it again */
    bool was_away;           /* it has ended, or could not be opened, since it was ready last */
    cw_deadline_list pauses;
    cw_deadline pause;
} cw_shared_conn_events;

struct cw_shared_conn {
    atomic_uint refs;
    atomic_uint users;
    atomic_bool is_retired; /* the last user to leave posts `unused` */
    cw_message unused;      /* to the main loop, with a reference */
    cw_endpoint *service;   /* a reference */
    cw_shared_conn_opts opts;
    _Atomic uint64_t last_id;
    cw_job_news *news;          /* of a service with jobs; or NULL */
    cw_relay_sessions sessions; /* of an MCP server: its era, and over HTTP its sessions */
    pthread_mutex_t lock;
    cw_list all; /* under the lock: every call, on any loop */
    unsigned n_all;
    /* ---- used by the main loop only ---- */
    unsigned failures; /* in a row, to open it */
    cw_channel *channel;
    cw_list waiting, pending; /* calls */
    cw_shared_conn_call *buckets[CW_SHARED_CONN_BUCKETS];
    cw_upstream_login login;
    cw_deadline_list limit; /* of calls */
    cw_loop_hook hook;
    uint64_t retry_at;    /* not before */
    uint64_t received_at; /* when the last message came */
    cw_shared_conn_mcp mcp;
    cw_shared_conn_streams streams;
    cw_shared_conn_resources resources;
    cw_shared_conn_events events;
    cw_shared_conn_state state;
    bool has_old_token; /* the token of this opening is not a new one */
    bool is_closing;
    bool was_noted;  /* that a message was invalid */
    bool is_counted; /* in the metrics */
    char problem[CW_SHARED_CONN_WHY];
};

/* ---- shared_conn.c ---- */

uint64_t cw_shared_conn_next_id(cw_shared_conn *shared);
/* The call that waits for the response of this id; NULL: none. */
cw_shared_conn_call *cw_shared_conn_find(cw_shared_conn *shared, uint64_t id);
/* The only call that waits for a response; NULL: none, or several. */
cw_shared_conn_call *cw_shared_conn_only_pending(const cw_shared_conn *shared);
/* The connection can be used: send the waiting calls. */
void cw_shared_conn_ready(cw_shared_conn *shared);
/* It could not be opened, or the first messages were wrong. */
void cw_shared_conn_give_up(cw_shared_conn *shared, cw_client_end end, const char *why);

/* Open it, if it is closed and no pause has to be made. */
void cw_shared_conn_open(cw_shared_conn *shared);

/* ---- shared_conn_events.c ---- */

void cw_shared_conn_events_init(cw_shared_conn *shared);
void cw_shared_conn_events_done(cw_shared_conn *shared);
/* The connection can be used: subscribe. */
void cw_shared_conn_events_ready(cw_shared_conn *shared);
/* It has ended, or could not be opened. */
void cw_shared_conn_events_ended(cw_shared_conn *shared, bool was_ready, bool is_refused);
void cw_shared_conn_events_notice(cw_shared_conn *shared, cw_str method, const cw_json *message);
/* A message was lost, which may have been an event. */
void cw_shared_conn_events_lost(cw_shared_conn *shared);
/* A response that no call waits for: log that the service sends no events, if it is an error. */
void cw_shared_conn_events_answer(const cw_shared_conn *shared, uint64_t id,
                                  const cw_json *response);

/* The lists that have changed by a notification (CW_CHANGED_…); 0: it has another meaning. */
unsigned cw_shared_conn_changed_lists(const cw_shared_conn *shared, cw_str method);
/* Call `announced`. */
void cw_shared_conn_announce(cw_shared_conn *shared, unsigned lists);

/* ---- shared_conn_mcp.c: all of it does nothing where it is not an MCP server ---- */

void cw_shared_conn_mcp_init(cw_shared_conn *shared);
void cw_shared_conn_mcp_done(cw_shared_conn *shared);
/* The channel is open: begin the handshake. */
void cw_shared_conn_mcp_begin(cw_shared_conn *shared);
/* Ask a legacy server for log lines of this level, if it was not asked for them yet. */
void cw_shared_conn_mcp_set_level(cw_shared_conn *shared, cw_str level);
/* The channel has ended. */
void cw_shared_conn_mcp_stop(cw_shared_conn *shared);
/* shared_conn_resources.c */
void cw_shared_conn_resources_init(cw_shared_conn *shared);
void cw_shared_conn_resources_done(cw_shared_conn *shared);
/* A stream is open, and its era is known: subscribe to everything that is wanted, and report all of it
 * as updated. Over HTTP a modern server has got the set with the request of the stream. */
void cw_shared_conn_resources_opened(cw_shared_conn *shared);
/* Append ,"resourceSubscriptions":[…], or nothing. */
void cw_shared_conn_write_resources(const cw_shared_conn *shared, cw_buf *out);
/* Over HTTP: whether Causeway's own stream is open; open it again with other resources (modern);
 * send a request about one of them (legacy). */
bool cw_shared_conn_streams_is_open(const cw_shared_conn *shared);
void cw_shared_conn_streams_listen(cw_shared_conn *shared);
void cw_shared_conn_streams_send(cw_shared_conn *shared, const char *method, cw_str uri);
/* Log that the server does not report updates of a resource, if its response is an error. */
void cw_shared_conn_log_refusal(const cw_shared_conn *shared, cw_str uri, const cw_json *response);
/* The response to a request of a subscription on a channel; another one is ignored. */
void cw_shared_conn_resources_answer(const cw_shared_conn *shared, uint64_t id,
                                     const cw_json *response);
/* notifications/resources/updated. */
void cw_shared_conn_resource_updated(cw_shared_conn *shared, const cw_json *params);

/* A response; false: it is not one of the handshake. */
bool cw_shared_conn_mcp_accept(cw_shared_conn *shared, uint64_t id, const cw_json *message);
/* A request or notification of the server. */
void cw_shared_conn_mcp_request(cw_shared_conn *shared, const cw_incoming *incoming,
                                cw_parsed_message *message);
void cw_shared_conn_mcp_notice(cw_shared_conn *shared, const cw_incoming *incoming,
                               cw_parsed_message *message);

/* ---- shared_conn_streams.c: all of it does nothing where it is not an MCP server over HTTP ---- */

void cw_shared_conn_streams_init(cw_shared_conn *shared);
/* Open sessions are ended first, unless the loops have ended. */
void cw_shared_conn_streams_close(cw_shared_conn *shared, bool loops_ended);
/* Send the request for a stream to the main loop; its `shared` is set. Any thread. */
void cw_shared_conn_streams_want(cw_shared_conn_want *want);
void cw_shared_conn_want_free(cw_shared_conn_want *want);
/* A call was accepted by the server: streams may be opened again. Any thread, with the time of its loop. */
void cw_shared_conn_streams_accepted(cw_shared_conn *shared, uint64_t now);
/* A call has received the notification that lists have changed; any thread. */
void cw_shared_conn_streams_changed(cw_shared_conn *shared, unsigned lists);

#endif
