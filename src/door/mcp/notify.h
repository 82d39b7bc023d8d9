/* SPDX-License-Identifier: GPL-2.0-or-later */
/* notify.h - subscribers: clients that are notified when lists and resources change.
 *
 *     notify.c      notifications, and the streams of legacy sessions
 *     subscribe.c   subscriptions/listen
 *
 * Ownership: a subscriber lives in its responder's arena.
 * Threads:   the loop of its responder.
 */
#ifndef CW_DOOR_MCP_NOTIFY_H
#define CW_DOOR_MCP_NOTIFY_H

#include "door/mcp/mcp_int.h"

typedef struct cw_mcp_subscriber {
    cw_runtime_watch watch;
    cw_mcp_registry_entry link; /* for those who end it */
    cw_mcp_expiry expiry;       /* of the token that opened it */
    cw_login_watch opened_by;   /* the credentials of the caller */
    cw_mcp *door;
    cw_responder *responder;
    cw_fair_group *place;          /* among the streams of all clients */
    cw_rpc_item *item;             /* modern: the request that waits */
    const cw_mcp_session *session; /* legacy */
    cw_view *view;      /* of an authenticated caller: its last view; held by the arena */
    const cw_str *uris; /* modern */
    uint32_t n_uris;
    uint32_t next_uri; /* of those that are told since some were missed; n_uris: none */
    cw_buf late;       /* legacy: the same; a NUL behind each */
    size_t late_at;    /* up to here they are told */
    uint8_t wants;     /* CW_CHANGE_… */
    uint8_t missed;    /* to be told when the reader has caught up */
    bool has_missed_uri;
    bool is_full;
    bool holds_session; /* in what is remembered of it */
} cw_mcp_subscriber;

/* Lists that may change. */
typedef struct cw_mcp_change {
    unsigned list;
    cw_str wish; /* its name in subscriptions/listen */
    cw_str method;
} cw_mcp_change;

#define CW_MCP_CHANGES 3u
extern const cw_mcp_change cw_mcp_changes[CW_MCP_CHANGES];

/* A subscriber that is not notified yet. CW_NOMEM; CW_LIMIT: too many subscribers, or too many of
 * this caller. */
CW_MUST_USE cw_code cw_mcp_subscriber_new(cw_mcp *door, cw_responder *responder,
                                          cw_runtime_loop *rl, cw_view *view,
                                          cw_mcp_subscriber **ret);
/* From now on it is told. The port's listener is taken. */
void cw_mcp_subscriber_enter(cw_mcp_subscriber *l, cw_runtime_loop *rl);
/* A lost notification would go unnoticed, so a client that cannot be reached is disconnected.
 * False: that happened. */
bool cw_mcp_subscriber_send(cw_mcp_subscriber *l, const cw_buf *b);

#endif
