/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kept_results.h - large results that their callers can read in parts for some time.
 *
 * A result that is cut for an MCP client is kept here, and the client gets a resource link:
 *
 *     causeway://results/0123456789abcdef0123456789abcdef       its first part
 *     causeway://results/0123456789abcdef0123456789abcdef/2     its second part
 *
 * A result belongs to the account that made the call, or to the network of an anonymous client. Its id is
 * 128 bits of the kernel's random numbers. For other callers it does not exist. Parts of a list are
 * lists; parts of any other value are pieces of its text.
 *
 * An owner that exceeds its share loses its oldest results. If all shares together are too much, the
 * owner that uses the most loses its oldest one.
 *
 * Ownership: everything is copied.
 * Threads:   any; one lock.
 * Limits:    mcp.kept_results; CW_MCP_KEPT_MAX results in all.
 */
#ifndef CW_DOOR_MCP_FEATURE_KEPT_RESULTS_H
#define CW_DOOR_MCP_FEATURE_KEPT_RESULTS_H

#include <pthread.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "config/config.h"
#include "door/mcp/session_store.h"

#define CW_MCP_KEPT_MAX 4096u
#define CW_MCP_KEPT_ID 33u /* hexadecimal digits, and their end */
#define CW_MCP_KEPT_SCHEME "causeway://results/"

typedef struct cw_mcp_kept_results {
    pthread_mutex_t lock;
    cw_map results; /* id -> result */
    cw_map owners;  /* name -> owner */
    cw_list all;    /* oldest first */
    size_t used;    /* bytes */
} cw_mcp_kept_results;

void cw_mcp_kept_init(cw_mcp_kept_results *k);
void cw_mcp_kept_done(cw_mcp_kept_results *k);

typedef struct cw_mcp_kept_id {
    char text[CW_MCP_KEPT_ID];
    uint32_t n_parts;
    int64_t until; /* wall clock, ms */
} cw_mcp_kept_id;

/* Keep a result of this tool. CW_LIMIT: it is larger than the owner's share, or nothing is kept;
 * CW_NOMEM, CW_IO (no random numbers). */
CW_MUST_USE cw_code cw_mcp_kept_add(cw_mcp_kept_results *k, const cw_config_kept_results *limits,
                                    const cw_mcp_session_owner *by, cw_str tool,
                                    const cw_json *value, size_t part_size, cw_mcp_kept_id *ret);

typedef struct cw_mcp_kept_part {
    cw_buf text; /* initialized by the caller */
    cw_buf tool; /* the name of the tool; likewise */
    bool is_json;
    uint32_t part, n_parts; /* the first is 1 */
    char id[CW_MCP_KEPT_ID];
} cw_mcp_kept_part;

/* Read the part at an address. CW_NOTFOUND: no such result, part, or owner of it; CW_NOMEM. */
CW_MUST_USE cw_code cw_mcp_kept_read(cw_mcp_kept_results *k, const cw_mcp_session_owner *by,
                                     cw_str uri, cw_mcp_kept_part *ret);

/* Drop results whose time is over. Returns whether some are left. */
bool cw_mcp_kept_sweep(cw_mcp_kept_results *k, int64_t now);

#endif
