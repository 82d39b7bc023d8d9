/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lock_diff.h - the differences between the tools of a service and their approved definitions.
 *
 *     {"source":"shop","method":"add","change":"changed","differences":[
 *         {"pointer":"/usage","old":"Adds two numbers","new":"Adds two numbers, or texts"}]}
 *
 * A method that was approved once has `approved_at` and `approved_by`, if the lock has them.
 * `change` is "new" (never approved), "changed" or "gone" (approved, but not there any more).
 *
 * Ownership: borrows.
 * Threads:   no state.
 */
#ifndef CW_SOURCE_REMOTE_LOCK_LOCK_DIFF_H
#define CW_SOURCE_REMOTE_LOCK_LOCK_DIFF_H

#include "json/write.h"
#include "source/remote/lock/lock.h"
#include "source/remote/remote.h"

/* Write an object for each tool that differs, in the order of the definitions; those that are gone
 * follow. `lock` may be NULL: every tool is new. Errors of the writer are sticky. CW_NOMEM, CW_LIMIT,
 * CW_PARSE: a definition cannot be read. */
CW_MUST_USE cw_code cw_lock_diff(const cw_lock *lock, cw_str source,
                                 const cw_remote_definition *definitions, size_t n,
                                 cw_json_writer *w);

#endif
