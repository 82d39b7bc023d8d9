/* SPDX-License-Identifier: GPL-2.0-or-later */
/* access.h - answers to questions about access, from the gate itself.
 *
 * Ownership: borrows.
 * Threads:   no state.
 */
#ifndef CW_ADMIN_ACCESS_H
#define CW_ADMIN_ACCESS_H

#include "admin/admin.h"
#include "catalogue/view.h"

/* The tool with this name, else the method with this id, else the tool with this portable name;
 * NULL: none has it. `snapshot` may be NULL. */
const cw_entry *cw_admin_find_entry(const cw_snapshot *snapshot, cw_str name);

/* The tool or callable method that the caller of a view sees under this name, by the same rules.
 * CW_NOTFOUND: none; the message has the nearest name, if the caller may list tools. */
CW_MUST_USE cw_code cw_admin_find_visible(const cw_view *view, cw_str name, const cw_entry **ret,
                                          cw_err *err);

/* Whether the params name a caller: `account`, `role` or `token`. */
bool cw_admin_names_caller(const cw_admin_call *c);
/* That caller, or the anonymous one, as a reference. CW_PARAMS: two are named; CW_NOTFOUND: it does
 * not exist. */
CW_MUST_USE cw_code cw_admin_named_caller(const cw_admin_call *c, cw_caller **ret, cw_err *err);

/* "allowed", "hidden", "login", "forbidden" or "scopes": the outcome of a call. */
cw_str cw_admin_verdict_name(cw_verdict verdict);

/* Write the members of the result of causeway.access.why: each rule that the gate checks for this
 * caller, and the decisions. CW_NOTFOUND: no tool or method has this name. */
CW_MUST_USE cw_code cw_admin_explain(const cw_snapshot *snapshot, const cw_caller *caller,
                                     cw_str tool, cw_json_writer *out, cw_err *err);

#endif
