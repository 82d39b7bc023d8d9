/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session_store.h - the state of sessions that is not in their id.
 *
 * That is the log level, the subscribed resources, and that a session has ended. All of it has an owner:
 * an account, or the anonymous clients of one network. Each owner has a share; the anonymous ones together
 * have at most half of the total, and no owner displaces another's state. Within a share, a session that
 * has been idle for long and has no stream is ended; its client starts a new one. If there is none, the
 * caller gets an error. To end a session never fails for want of room: the owner's oldest end is
 * forgotten, or, if it has none, the oldest of all.
 *
 *     networks ─┐
 *     accounts ─┴─► owner ─► sessions with state, and counts
 *     sessions: number ─► record
 *
 * Ownership: everything is copied.
 * Threads:   any; one lock, which is not taken to look a session up while the store is empty.
 * Limits:    below; a session's state is dropped when it expires.
 */
#ifndef CW_DOOR_MCP_SESSION_STORE_H
#define CW_DOOR_MCP_SESSION_STORE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "catalogue/interest.h"
#include "json/write.h"
#include "net/addr/network.h"

#define CW_MCP_STATES 4096u /* sessions with a level or subscriptions */
#define CW_MCP_STATES_SHARE 256u
#define CW_MCP_ENDS 32768u /* sessions that were ended before their time */
#define CW_MCP_ENDS_SHARE 4096u
#define CW_MCP_URIS (16u * 1024u * 1024u) /* bytes of addresses that are subscribed to */
#define CW_MCP_URIS_SHARE (1024u * 1024u)
#define CW_MCP_URIS_SESSION (64u * 1024u)
#define CW_MCP_IDLE_MS INT64_C(600000)

#define CW_MCP_NUMBER 16u /* bytes that identify a session */

struct cw_mcp_session;

/* The owner of new state, and the time. Must not be copied. */
typedef struct cw_mcp_session_owner {
    cw_str owner; /* id of the account, or the network */
    bool is_anonymous;
    int64_t now; /* wall clock, ms */
    char network[CW_NETWORK_TEXT];
} cw_mcp_session_owner;

#define CW_MCP_OWNER_MAX 512u
/* A name of the owner that an account and a network never share; .p NULL: it is too long. */
cw_str cw_mcp_session_owner_name(const cw_mcp_session_owner *by, char out[CW_MCP_OWNER_MAX]);

/* The limited quantities. */
enum { CW_MCP_POOL_STATES, CW_MCP_POOL_ENDS, CW_MCP_POOL_URIS, CW_MCP_POOLS };

typedef struct cw_mcp_session_store {
    pthread_mutex_t lock;
    cw_map sessions;  /* number -> known */
    cw_map owners[2]; /* accounts, networks */
    struct cw_mcp_session_record *first;
    cw_list ends[2]; /* sessions that were ended, oldest first: of accounts, of networks */
    size_t used[CW_MCP_POOLS], by_anonymous[CW_MCP_POOLS];
    int64_t swept;
    int ends_fd;          /* -1: ends are not kept */
    uint16_t *free_slots; /* of the file, `n_slots` of them */
    size_t n_slots;
    bool yields;           /* the last slots are used first */
    atomic_size_t n;       /* states and ends, without the lock: most often there are none */
    cw_interest *interest; /* that subscriptions are entered in; NULL: none */
} cw_mcp_session_store;

void cw_mcp_session_store_init(cw_mcp_session_store *m);
void cw_mcp_session_store_done(cw_mcp_session_store *m);

/* Read the ends of an earlier process from a file, and write later ones to it: CW_MCP_ENDS slots of
 * 32 bytes. An end is in the page cache when its session is answered; a crash of the machine may lose
 * the last ones. Takes the descriptor. CW_IO, CW_NOMEM: the file is not used. */
CW_MUST_USE cw_code cw_mcp_session_store_keep_ends(cw_mcp_session_store *m, int fd, int64_t now,
                                                   cw_err *err);

/* Two processes use the file: the other one takes the first slots first, this one the last. */
void cw_mcp_session_store_yield(cw_mcp_session_store *m);
/* Read the ends that another process has added to the file since. */
void cw_mcp_session_store_reread_ends(cw_mcp_session_store *m, int64_t now);

/* Add an array of the levels and subscriptions of all sessions, for a process that takes over. */
void cw_mcp_session_store_write(cw_mcp_session_store *m, cw_json_writer *w);
/* Restore them, as far as the shares of their owners allow. `states` may be NULL or anything. */
void cw_mcp_session_store_read(cw_mcp_session_store *m, const cw_json *states, int64_t now);

/* Add the stored state to the session; its level stays if its client has set none. False: it has
 * ended. */
bool cw_mcp_session_store_recall(cw_mcp_session_store *m, struct cw_mcp_session *session,
                                 int64_t now);

/* CW_NOMEM. */
CW_MUST_USE cw_code cw_mcp_session_store_end(cw_mcp_session_store *m,
                                             const cw_mcp_session_owner *by,
                                             const struct cw_mcp_session *session);
/* CW_LOG_OFF is a level like others: the client gets no lines.
 * CW_LIMIT: the owner's share, or all of it, is used up; CW_NOMEM. Then nothing has changed. */
CW_MUST_USE cw_code cw_mcp_session_store_set_level(cw_mcp_session_store *m,
                                                   const cw_mcp_session_owner *by,
                                                   const struct cw_mcp_session *session,
                                                   cw_log_level level);
CW_MUST_USE cw_code cw_mcp_session_store_subscribe(cw_mcp_session_store *m,
                                                   const cw_mcp_session_owner *by,
                                                   const struct cw_mcp_session *session,
                                                   cw_str uri);
void cw_mcp_session_store_unsubscribe(cw_mcp_session_store *m, const struct cw_mcp_session *session,
                                      cw_str uri);

/* Whether it has subscribed to this. */
bool cw_mcp_session_store_is_subscribed(cw_mcp_session_store *m,
                                        const struct cw_mcp_session *session, cw_str uri);
/* Append all that it has subscribed to, a NUL behind each. */
void cw_mcp_session_store_subscriptions(cw_mcp_session_store *m,
                                        const struct cw_mcp_session *session, cw_buf *out);

/* It has a stream, so that it does not give way; once for each. CW_NOMEM. */
CW_MUST_USE cw_code cw_mcp_session_store_hold(cw_mcp_session_store *m,
                                              const cw_mcp_session_owner *by,
                                              const struct cw_mcp_session *session);
void cw_mcp_session_store_release(cw_mcp_session_store *m, const struct cw_mcp_session *session,
                                  int64_t now);

#endif
