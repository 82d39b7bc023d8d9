/* SPDX-License-Identifier: GPL-2.0-or-later */
/* required_access.h - the access that a service has required, so that it cannot silently require less.
 *
 * A description may lose the protection of a tool: its scopes and level, or the whole list that has
 * them, if the service returns only a poorer kind of description. So each new description is
 * compared with the last good one. One that requires less of callers, or is of a poorer kind, is
 * not used: the last good one stays until an operator accepts it (`causeway source accept`).
 *
 *     {"METHOD":{"x-mcp-tool":{"annotations":{"auth":{…}}}}}      for each method that has "auth"
 *
 * If the mark or its annotations cannot be read, they are the value of "auth", which is invalid then.
 * Methods that a description no longer has stay in it, within CW_REQUIRED_ACCESS_MAX: a tool that
 * is removed and returns has to require the same. A method also keeps its former requirements if it
 * cannot be read now, or if it requires less now and that has not been accepted: it is not selected,
 * the lock withholds it, or the overlay of the operator requires as much.
 *
 * Ownership: borrows.
 * Threads:   no state.
 */
#ifndef CW_SOURCE_REMOTE_REQUIRED_ACCESS_H
#define CW_SOURCE_REMOTE_REQUIRED_ACCESS_H

#include "access/gate.h"
#include "base/buf.h"
#include "base/map.h"
#include "json/json.h"

#define CW_REQUIRED_ACCESS_MAX (1024u * 1024u) /* bytes about methods that are gone */

/* Append the object above for a document, and for further methods of `old` (an object, or NULL).
 * Methods of `kept` (its keys) are written as in `old`. Returns how many methods of `old` are left
 * out, since CW_REQUIRED_ACCESS_MAX is reached. */
size_t cw_required_access_write(const cw_json *doc, const cw_json *old, const cw_map *kept,
                                cw_buf *out);

/* The part of a mark (or NULL) that may contain requirements and cannot be read: the mark, or its
 * annotations; NULL: none. */
const cw_json *cw_required_access_hidden_in(const cw_json *mark);

/* Whether two descriptions of a method have literally the same requirements. */
bool cw_required_access_is_same(const cw_json *a, const cw_json *b);

/* Whether a description of kind `now` may lack facts that one of kind `old` had. */
bool cw_required_access_is_weaker(cw_str old, cw_str now);

/* Whether every caller that `now` lets in was let in by `old` too, as far as level and scopes
 * decide. If not, *ret_scope is a scope that is gone, or empty where the level is. */
bool cw_required_access_covers(const cw_requirements *now, const cw_requirements *old,
                               cw_str *ret_scope);

#endif
