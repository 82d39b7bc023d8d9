/* SPDX-License-Identifier: GPL-2.0-or-later */
/* access.h - answers to questions about access, from the gate itself.
 *
 * Ownership: borrows.
 * Threads:   no state.
 */
#ifndef CW_ADMIN_ACCESS_H
#define CW_ADMIN_ACCESS_H

#include "admin/admin.h"

/* The tool with this name, else the method with this id, else the tool with this portable name;
 * NULL: none has it. `snapshot` may be NULL. */
const cw_entry *cw_admin_find_entry(const cw_snapshot *snapshot, cw_str name);

/* Write the members of the result of causeway.access.why: each rule that the gate checks for this
 * caller, and the decisions. CW_NOTFOUND: no tool or method has this name. */
CW_MUST_USE cw_code cw_admin_explain(const cw_snapshot *snapshot, const cw_caller *caller,
                                     cw_str tool, cw_json_writer *out, cw_err *err);

#endif
