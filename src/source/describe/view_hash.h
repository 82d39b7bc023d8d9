/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view_hash.h - the hash of a view of an MCP server (docs/apps.md), for the lock file.
 *
 * The hash covers all that a host acts on: address, type, document, and _meta.ui, which has the content
 * security policy and the permissions. Other keys of _meta may differ from one read to the next.
 *
 * Threads:   pure functions.
 */
#ifndef CW_SOURCE_DESCRIBE_VIEW_HASH_H
#define CW_SOURCE_DESCRIBE_VIEW_HASH_H

#include "json/json.h"

#define CW_DESCRIBE_VIEW_HASH 64u /* characters */

/* Whether an address is that of a view: "ui://…", in any case. */
bool cw_describe_is_view(cw_str uri);
/* The SHA-256 of a result of resources/read, in hexadecimal. CW_NOMEM; CW_PARAMS: it has no
 * contents. */
CW_MUST_USE cw_code cw_describe_view_hash(const cw_json *result,
                                          char ret[CW_DESCRIBE_VIEW_HASH + 1]);

#endif
