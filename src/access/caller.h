/* SPDX-License-Identifier: GPL-2.0-or-later */
/* caller.h - an identity and its permissions.
 *
 * A role is a name and a list of permissions. A caller is an identity with the permissions of all
 * its roles: the anonymous caller, an account that logged in with its password, or an account that
 * a token names. Only a token has scopes.
 *
 * A caller keeps the digest of the credentials that named it, never the credentials. With the
 * digest the store can read the rights again (login/login_watch.h).
 *
 * Ownership: reference counted; every string lives in the caller's own memory.
 * Threads:   immutable; may be shared by all loops.
 * Limits:    CW_CALLER_MAX_PERMISSIONS permissions, and as many scopes.
 */
#ifndef CW_ACCESS_CALLER_H
#define CW_ACCESS_CALLER_H

#include "access/trust.h"
#include "base/err.h"
#include "base/str.h"

#define CW_CALLER_MAX_PERMISSIONS 10000u

/* Listing and describing tools, on every door. */
#define CW_PERMISSION_DISCOVER CW_STR("access mcp tool discovery")
/* Calling methods, on every door. */
#define CW_PERMISSION_CALL CW_STR("use jsonrpc services")
/* GET /metrics. */
/* State, rates and calls of the server, without arguments. */
#define CW_PERMISSION_VIEW_TRAFFIC "view traffic"
#define CW_PERMISSION_METRICS CW_STR("view metrics")

typedef struct cw_caller cw_caller;

#define CW_CALLER_ANONYMOUS_ID "0"
#define CW_ROLE_ANONYMOUS "anonymous"
#define CW_ROLE_AUTHENTICATED "authenticated"
#define CW_CALLER_DEFAULT_LANGUAGE "en"

/* The credentials that named a caller. */
typedef enum cw_credential_kind {
    CW_CREDENTIAL_NONE,         /* the anonymous caller, or a caller that the operator names */
    CW_CREDENTIAL_PASSWORD,     /* hash: cw_password_id of the stored hash that it matched */
    CW_CREDENTIAL_TOKEN,        /* hash: SHA-256 of a token of this server */
    CW_CREDENTIAL_SESSION,      /* hash: SHA-256 of the secret of a browser session */
    CW_CREDENTIAL_ACCESS_TOKEN, /* hash: SHA-256 of a token of the built-in authorization server */
    CW_CREDENTIAL_ISSUED_ACCOUNT, /* a token of an issuer, for an account */
    CW_CREDENTIAL_ISSUED_CLAIMS,  /* a token of an issuer, with rights by its claims */
} cw_credential_kind;

typedef struct cw_caller_credential {
    cw_credential_kind kind;
    cw_str hash;
    const cw_str *roles; /* ISSUED_CLAIMS: the roles that the claims name */
    size_t n_roles;
    const cw_str *granted; /* ISSUED_CLAIMS: the permissions that the scopes give */
    size_t n_granted;
    cw_str resource;        /* ACCESS_TOKEN: the only path that it is valid for; empty: all */
    cw_trust *issuer, *key; /* of the issuer of a token, and of the key that signed it; or NULL */
} cw_caller_credential;

/* All of it is copied, trusts by reference. Lists are sorted and duplicates are dropped. */
typedef struct cw_caller_opts {
    cw_str id; /* not CW_CALLER_ANONYMOUS_ID */
    cw_str name;
    cw_str language; /* empty: none chosen */
    const cw_str *permissions;
    size_t n_permissions;
    bool has_token;
    const cw_str *scopes; /* of the token */
    size_t n_scopes;
    int64_t expires;   /* of the token or session, wall clock in ms; 0: never */
    int64_t logged_in; /* when the browser session began, wall clock in ms; 0: it is none */
    cw_caller_credential credential;
    bool cannot_log_in; /* no login exists: tools that require one are hidden, not challenged */
} cw_caller_opts;

/* A caller that has proved its identity. */
CW_MUST_USE cw_code cw_caller_new(const cw_caller_opts *opts, cw_caller **ret, cw_err *err);
/* An anonymous caller (id "0", name "anonymous", language "en") with these permissions; they are
 * copied, sorted, duplicates dropped. */
CW_MUST_USE cw_code cw_caller_new_anonymous(const cw_str *permissions, size_t n, cw_caller **ret,
                                            cw_err *err);
/* The same for a server without logins. */
CW_MUST_USE cw_code cw_caller_new_confined(const cw_str *permissions, size_t n, cw_caller **ret,
                                           cw_err *err);
cw_caller *cw_caller_ref(cw_caller *caller);
/* NULL is fine. */
void cw_caller_unref(cw_caller *caller);

/* Whether both have the same identity, rights, expiry and credentials. NULL is fine. */
bool cw_caller_equal(const cw_caller *a, const cw_caller *b);
bool cw_caller_is_anonymous(const cw_caller *caller);
/* Whether a challenge would be useless: the server has no logins. */
bool cw_caller_cannot_log_in(const cw_caller *caller);
cw_str cw_caller_id(const cw_caller *caller);
/* The number of its account; 0: it is none of the database. */
int64_t cw_caller_account(const cw_caller *caller);
cw_str cw_caller_name(const cw_caller *caller);
/* The language of the account, or CW_CALLER_DEFAULT_LANGUAGE. */
cw_str cw_caller_language(const cw_caller *caller);
bool cw_caller_has_language(const cw_caller *caller);
size_t cw_caller_n_permissions(const cw_caller *caller);
/* Binary search. */
bool cw_caller_may(const cw_caller *caller, cw_str permission);
/* Whether a token named the caller: only then can it have scopes. */
bool cw_caller_has_token(const cw_caller *caller);
bool cw_caller_has_scope(const cw_caller *caller, cw_str scope);
/* All scopes, sorted; *ret_n is their number. */
const cw_str *cw_caller_scopes(const cw_caller *caller, size_t *ret_n);
/* The end of its token or session, wall clock in ms; 0: none, or no end. */
int64_t cw_caller_expires(const cw_caller *caller);
/* The use of a browser session is recorded so often in the time after which an unused one ends. */
#define CW_SESSION_TOUCHES 8
/* The begin of its browser session, wall clock in ms; 0: it has none. */
int64_t cw_caller_logged_in(const cw_caller *caller);
const cw_caller_credential *cw_caller_credential_of(const cw_caller *caller);
/* Whether the issuer and the key of its token are still accepted; true without such a token. */
bool cw_caller_is_trusted(const cw_caller *caller);
/* The caller as a JSON object for sources: {"id":…,"name":…,"permissions":[…],"language":…}.
 * Serialised once, when the caller is made. Never holds credentials. */
cw_str cw_caller_json(const cw_caller *caller);

#endif
