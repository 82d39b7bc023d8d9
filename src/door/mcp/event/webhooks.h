/* SPDX-License-Identifier: GPL-2.0-or-later */
/* webhooks.h - events/subscribe: events that are delivered to an HTTPS endpoint of the client.
 *
 *     loop of the request ── store job: the row ── answer
 *            │ message
 *            ▼
 *     first loop: subscription ─ challenge ─► receiver ─ event, event, … ─► receiver
 *
 * All deliveries run on one loop, off the path of requests, and one at a time for each subscription.
 * The ring of the event is the queue (event/hub.h). Before each delivery the rights of the caller
 * are judged again, and the host is compared with the configuration. The address of the host is checked
 * when its connection is made (net/curl/fetch.h).
 *
 * Ownership: the door has one of these.
 * Threads:   new, start and free on the main thread; the methods on the loop of their request.
 * Limits:    mcp.events.max_webhooks, max_webhooks_per_caller; CW_WEBHOOK_RUNNING deliveries at once.
 */
#ifndef CW_DOOR_MCP_EVENT_WEBHOOKS_H
#define CW_DOOR_MCP_EVENT_WEBHOOKS_H

#include "door/mcp/mcp_int.h"
#include "door/mcp/event/webhook_state.h"

typedef struct cw_mcp_webhooks cw_mcp_webhooks;

CW_MUST_USE cw_code cw_mcp_webhooks_new(cw_mcp *door, cw_mcp_webhooks **ret, cw_err *err);
/* After the loops have ended. NULL is fine. */
void cw_mcp_webhooks_free(cw_mcp_webhooks *all);

void cw_mcp_subscribe_event(const cw_mcp_request *r);
void cw_mcp_unsubscribe_event(const cw_mcp_request *r);

/* ---- for webhook.c and webhooks.c ---- */

/* Whether the configuration allows deliveries to this URL; else the reason. Static. */
const char *cw_webhook_url_problem(const cw_config *config, cw_str url);
/* A subscription is stored, or (`sealed` empty) removed: pass it to the loop that delivers. `after` is
 * the cursor of this process. */
void cw_webhooks_tell(cw_runtime_loop *from, cw_mcp_webhooks *all, const char id[CW_WEBHOOK_ID],
                      cw_str sealed, int64_t expires, uint64_t after);

#endif
