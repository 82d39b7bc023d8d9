/* SPDX-License-Identifier: GPL-2.0-or-later */
/* caller.h - who asks, and which permissions that gives.
 *
 * A role is a name and a list of permissions; a caller is an identity with the
 * permissions of all its roles: the anonymous one, an account that logged in with
 * its password, or an account that was named by a token. Only a token has scopes.
 *
 * Ownership: reference counted; every string lives in the caller's own memory.
 * Threads:   immutable; may be shared by all loops.
 * Limits:    CW_CALLER_MAX_PERMISSIONS permissions, and as many scopes.
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

#define CW_ROLE_ANONYMOUS "anonymous"
#define CW_ROLE_AUTHENTICATED "authenticated"
#define CW_CALLER_DEFAULT_LANGUAGE "en"

/* All of it is copied; lists are sorted, duplicates dropped. */
typedef struct cw_caller_opts {
    cw_str id; /* not "0" */
    cw_str name;
    cw_str language; /* empty: none chosen */
    const cw_str *permissions;
    size_t n_permissions;
    bool has_token;
    const cw_str *scopes; /* of the token */
    size_t n_scopes;
    int64_t expires;    /* of the token or session, wall clock in ms; 0: never */
    cw_str session;     /* the SHA-256 that it is known by; empty: there is none */
    bool cannot_log_in; /* where nobody can: what asks for a login is hidden, not challenged */
} cw_caller_opts;

/* Somebody who has proved who they are. */
CW_MUST_USE cw_code cw_caller_new(const cw_caller_opts *opts, cw_caller **ret, cw_err *err);
/* An anonymous caller (id "0", name "anonymous", language "en") with these permissions; they are
 * copied, sorted, duplicates dropped. */
CW_MUST_USE cw_code cw_caller_new_anonymous(const cw_str *permissions, size_t n, cw_caller **ret,
                                            cw_err *err);
/* The same where there is no login to be had. */
CW_MUST_USE cw_code cw_caller_new_confined(const cw_str *permissions, size_t n, cw_caller **ret,
                                           cw_err *err);
cw_caller *cw_caller_ref(cw_caller *caller);
/* NULL is fine. */
void cw_caller_unref(cw_caller *caller);

bool cw_caller_is_anonymous(const cw_caller *caller);
/* Whether a challenge would be of no use: there is no login to be had. */
bool cw_caller_cannot_log_in(const cw_caller *caller);
cw_str cw_caller_id(const cw_caller *caller);
cw_str cw_caller_name(const cw_caller *caller);
/* What the account chose, else CW_CALLER_DEFAULT_LANGUAGE. */
cw_str cw_caller_language(const cw_caller *caller);
bool cw_caller_has_language(const cw_caller *caller);
size_t cw_caller_n_permissions(const cw_caller *caller);
/* Binary search. */
bool cw_caller_may(const cw_caller *caller, cw_str permission);
/* Whether a token named the caller: only then can it have scopes. */
bool cw_caller_has_token(const cw_caller *caller);
bool cw_caller_has_scope(const cw_caller *caller, cw_str scope);
/* All of them, sorted; *ret_n is how many. */
const cw_str *cw_caller_scopes(const cw_caller *caller, size_t *ret_n);
/* Until when its token or session is taken, wall clock in ms; 0: it has none, or that never ends.
 */
int64_t cw_caller_expires(const cw_caller *caller);
/* The SHA-256 of the browser's session that named it; empty: it was something else. */
cw_str cw_caller_session(const cw_caller *caller);
/* The caller as a JSON object for sources: {"id":…,"name":…,"permissions":[…],"language":…}.
 * Serialised once, when the caller is made. Never holds credentials. */
cw_str cw_caller_json(const cw_caller *caller);

#endif
