/* SPDX-License-Identifier: GPL-2.0-or-later */
/* required_access.h - the access that a service has required, so that it cannot silently require less.
 *
 * A description may lose what protects a tool: its scopes and level, or the whole list that has
 * them, where the service answers a richer question no longer and a poorer one still. So each new
 * description is compared with the last good one. One that asks less of callers, or is of a poorer
 * kind, is not used: the last good one stays until an operator accepts it (`causeway source
 * accept`).
 *
 *     {"METHOD":{"x-mcp-tool":{"annotations":{"auth":{…}}}}}      for each method that has "auth"
 *
 * Methods that a description no longer has stay in it, within CW_REQUIRED_ACCESS_MAX: a tool that
 * goes and comes back asks for the same.
 *
 * Ownership: borrows.
 * Threads:   no state.
 */
#ifndef CW_SOURCE_REMOTE_REQUIRED_ACCESS_H
#define CW_SOURCE_REMOTE_REQUIRED_ACCESS_H

#include "access/gate.h"
#include "base/buf.h"
#include "json/json.h"

#define CW_REQUIRED_ACCESS_MAX (1024u * 1024u) /* bytes of what is kept of methods that are gone */

/* Append the object above for a document and, where `old` (an object, or NULL) has more methods,
 * for these. */
void cw_required_access_write(const cw_json *doc, const cw_json *old, cw_buf *out);

/* Whether a description of kind `now` may lack what one of kind `old` had. */
bool cw_required_access_is_weaker(cw_str old, cw_str now);

/* Whether every caller that `now` lets in was let in by `old` too, as far as level and scopes
 * decide. If not, *ret_scope is a scope that is gone, or empty where the level is. */
bool cw_required_access_covers(const cw_requirements *now, const cw_requirements *old,
                               cw_str *ret_scope);

#endif
