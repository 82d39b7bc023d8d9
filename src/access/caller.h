/* SPDX-License-Identifier: GPL-2.0-or-later */
/* caller.h - who asks, and which permissions that gives.
 *
 * A role is a name and a list of permissions; a caller is an identity with the
 * permissions of all its roles. Until there are accounts the only caller is the
 * anonymous one, with the role "anonymous".
 *
 * Ownership: reference counted; every string lives in the caller's own memory.
 * Threads:   immutable; may be shared by all loops.
 * Limits:    CW_CALLER_MAX_PERMISSIONS.
 */
#ifndef CW_ACCESS_CALLER_H
#define CW_ACCESS_CALLER_H

#include "base/err.h"
#include "base/str.h"

#define CW_CALLER_MAX_PERMISSIONS 10000u

/* Listing and describing tools, on every door. */
#define CW_PERMISSION_DISCOVER CW_STR("access mcp tool discovery")
/* Calling methods, on every door. */
#define CW_PERMISSION_CALL CW_STR("use jsonrpc services")

typedef struct cw_caller cw_caller;

/* An anonymous caller (id "0", name "anonymous", language "en") with these permissions; they are
 * copied, sorted, duplicates dropped. */
CW_MUST_USE cw_code cw_caller_new_anonymous(const cw_str *permissions, size_t n, cw_caller **ret,
                                            cw_err *err);
cw_caller *cw_caller_ref(cw_caller *caller);
/* NULL is fine. */
void cw_caller_unref(cw_caller *caller);

bool cw_caller_is_anonymous(const cw_caller *caller);
cw_str cw_caller_id(const cw_caller *caller);
cw_str cw_caller_name(const cw_caller *caller);
cw_str cw_caller_language(const cw_caller *caller);
/* Sorted. */
const cw_str *cw_caller_permissions(const cw_caller *caller, size_t *ret_n);
/* Binary search. */
bool cw_caller_may(const cw_caller *caller, cw_str permission);
/* The caller as a JSON object for sources: {"id":…,"name":…,"permissions":[…],"language":…}.
 * Serialised once, when the caller is made. Never holds credentials. */
cw_str cw_caller_json(const cw_caller *caller);

#endif
