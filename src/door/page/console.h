/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console.h - the pages of the console, and the page at "/".
 *
 *     GET /                          without a configuration: a redirect to the console; else a text
 *     GET /console/…                 below console.path: the document of every page: its script reads the address
 *     GET /console/-/HASH/FILE       scripts, stylesheet, icon; immutable
 *
 * The document is the same for all callers: the script gets its data from the administration methods
 * on /jsonrpc and from /mcp, with the session of the browser (door/browser.h). The pages are served
 * under the host name of the console only. The files are public, and the login page uses two of them.
 *
 * Threads: add_routes on the main thread; everything else on the loop of the request.
 */
#ifndef CW_DOOR_PAGE_CONSOLE_H
#define CW_DOOR_PAGE_CONSOLE_H

#include "call/runtime.h"
#include "net/server/router.h"

#define CW_CONSOLE_PAGES 12u

typedef struct cw_console {
    cw_runtime *runtime;
    char assets_path[64];                    /* of the files, for the router */
    char pages[CW_CONSOLE_PAGES][1024 + 32]; /* of the pages, for the router */
    char path[1024];
    char login_path[1024];
    char mcp_path[1024];
} cw_console;

/* `door` must outlive the router. The routes of the login page are there already. */
CW_MUST_USE cw_code cw_console_add_routes(cw_router *router, cw_console *door, cw_runtime *runtime,
                                          const cw_config *config);

#endif
