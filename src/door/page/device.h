/* SPDX-License-Identifier: GPL-2.0-or-later */
/* device.h - the page where people enter the code that a device shows, and decide (RFC 8628).
 *
 *     GET /device      a field for the code
 *     POST /device     csrf, user_code: the consent page of the request; consent, decision: the decision
 *
 * No address has the code in it: a link would bring people here who have no device.
 *
 * Threads: add_routes on the main thread; everything else on the loop of the request.
 * Limits:  after some wrong codes an account, and a network, must wait.
 */
#ifndef CW_DOOR_PAGE_DEVICE_H
#define CW_DOOR_PAGE_DEVICE_H

#include "call/runtime.h"
#include "net/server/router.h"

#define CW_DEVICE_PAGE_PATH "/device"

/* The runtime must outlive the router. */
CW_MUST_USE cw_code cw_device_page_add_routes(cw_router *router, cw_runtime *runtime);

#endif
