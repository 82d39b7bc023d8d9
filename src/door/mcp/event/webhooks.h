/* SPDX-License-Identifier: GPL-2.0-or-later */
/* webhooks.h - events/subscribe: events that are delivered to an HTTPS endpoint of the client.
 *
 *     loop of the request ── store job: the row ──┐          ┌── answer
 *                                                 │ message  │ status
 *                                                 ▼          │
 *     first loop: subscription ────────────────────────────────
 *                      └─ challenge ─► receiver ─ event, event, … ─► receiver
 *
 * A new subscription that the loop cannot apply for want of memory is found when it reads the rows again, a
 * second later. While there are other servers, it also compares its subscriptions with the rows, since a
 * client may end one at any of them.
 *
 * All deliveries run on one loop, off the path of requests, and one at a time for each subscription.
 * Callers take turns, and each has a few at once.
 * The ring of the event is the queue (event/hub.h). Before each delivery the rights of the caller
 * are judged again, and the host is compared with the configuration. The address of the host is checked
 * when its connection is made (net/curl/fetch.h).
 * A subscription by a token of an issuer finds its issuer and its key again when it is read (access/trust.h).
 * It waits until the keys of the issuer are known, and ends if issuer or key are not accepted any more.
 *
 * Ownership: the door has one of these.
 * Threads:   new, start and free on the main thread; the methods on the loop of their request.
 * Limits:    mcp.events.max_webhooks, max_webhooks_per_caller; CW_WEBHOOK_RUNNING deliveries at once,
 *            CW_WEBHOOK_RUNNING_PER_CALLER of one caller.
 */
#ifndef CW_DOOR_MCP_EVENT_WEBHOOKS_H
#define CW_DOOR_MCP_EVENT_WEBHOOKS_H

#include "door/mcp/event/webhook_state.h"
#include "door/mcp/mcp_int.h"

typedef struct cw_mcp_webhooks cw_mcp_webhooks;

CW_MUST_USE cw_code cw_mcp_webhooks_new(cw_mcp *door, cw_mcp_webhooks **ret, cw_err *err);
/* After the loops have ended. NULL is fine. */
void cw_mcp_webhooks_free(cw_mcp_webhooks *all);

void cw_mcp_subscribe_event(const cw_mcp_request *r);
void cw_mcp_unsubscribe_event(const cw_mcp_request *r);

/* ---- for webhook.c and webhooks.c ---- */

/* Whether the configuration allows deliveries to this URL: *ret_problem is NULL, or the reason (static).
 * CW_NOMEM. */
CW_MUST_USE cw_code cw_webhook_check_url(const cw_config *config, cw_str url,
                                         const char **ret_problem);

/* How the deliveries of a subscription go. */
typedef struct cw_webhook_status {
    bool is_active;       /* its receiver is verified */
    int64_t delivered;    /* when the last event was accepted, wall clock in ms; 0: none */
    int64_t failed_since; /* the first failure since then; 0: none */
    const char *error;    /* category of the last failure, static; NULL: none */
} cw_webhook_status;

/* A subscription that is stored, or removed. */
typedef struct cw_webhook_change {
    const char *id; /* CW_WEBHOOK_ID */
    cw_str sealed;  /* empty: removed */
    int64_t expires;
    bool has_cursor;
    uint64_t after; /* the cursor of this process; set to where deliveries continue */
    /* Set: */
    bool is_refresh; /* it was there before */
    cw_webhook_status status;
} cw_webhook_change;

/* Apply a change, on the loop that delivers. Without memory the row is read again later. */
void cw_webhooks_apply(cw_mcp_webhooks *all, cw_webhook_change *change);
/* Pass a message to the loop that delivers, from any thread. False: it has not begun, and will read the
 * rows. */
CW_MUST_USE bool cw_webhooks_post(cw_mcp_webhooks *all, cw_message *message);

#endif
