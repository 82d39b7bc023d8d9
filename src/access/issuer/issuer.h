/* SPDX-License-Identifier: GPL-2.0-or-later */
/* issuer.h - authorization servers whose tokens are accepted.
 *
 * The operator configures the issuers; a token only selects one of them. The main loop fetches the
 * keys. Every loop checks tokens with the available keys, and starts a check on the main loop if
 * they are not sufficient:
 *
 *     loop:  cw_issuers_check ──► good, or refused
 *                  │ keys not there yet, key id unknown, or an opaque token
 *                  ▼
 *     main:  cw_issuers_start_check ──► metadata ─► keys, or introspection ──► done
 *
 *     metadata    RFC 8414, then OpenID Connect; its `issuer` must be equal to the configured one
 *     keys        fetched again before they are old (Cache-Control, 5 minutes to a day), and when a
 *                 token names an unknown key, maximum once a minute. All checks that need them wait
 *                 for the same response. While the issuer is down, old keys are valid for a day.
 *     opaque      introspection (RFC 7662); the same rules apply to the response
 *
 * Not here: the rights of a token (access/login/accounts.h), caching (token_cache.h), the SSRF rules
 * (net/curl/fetch.h).
 *
 * Ownership: options are copied. A check belongs to its caller, and must live until its done.
 * Threads:   new, prepare, use, close, free: the main thread. The others: any.
 * Limits:    CW_ISSUERS_MAX issuers, CW_ISSUER_MAX_ASKS asks at once; of introspections
 *            CW_ISSUER_MAX_INTROSPECTING, and CW_ISSUER_MAX_OF_NETWORK for one network.
 */
#ifndef CW_ACCESS_ISSUER_ISSUER_H
#define CW_ACCESS_ISSUER_ISSUER_H

#include "access/jwt/jwt.h"
#include "net/addr/network.h"
#include "net/curl/fetch.h"

#define CW_ISSUERS_MAX 16u
#define CW_ISSUER_MAX_ASKS 1024u
#define CW_ISSUER_MAX_INTROSPECTING (CW_FETCH_MAX_RUNNING * 3 / 4)
#define CW_ISSUER_MAX_OF_NETWORK (CW_FETCH_MAX_RUNNING / 4)
#define CW_ISSUER_FORCED_MS 60000u  /* between refreshes that tokens cause */
#define CW_ISSUER_KEEP_MS 86400000u /* old keys, while fetching fails */

/* The permissions that a scope of a token gives. */
typedef struct cw_issuer_grant {
    cw_str scope;
    const cw_str *permissions;
    size_t n_permissions;
} cw_issuer_grant;

typedef struct cw_issuer_opts {
    cw_jwt_rules rules;
    cw_str jwks_uri; /* empty: from the metadata */
    cw_str account;  /* pointer to the claim with the name of an account; empty: there is none,
                        claims alone count */
    const cw_issuer_grant *grants;
    size_t n_grants;
    cw_str introspection; /* endpoint; empty: from the metadata */
    cw_str client_id;     /* for introspection; empty: opaque tokens are rejected */
    cw_str client_secret;
    cw_str token_prefix; /* only tokens with this prefix are introspected */
    cw_str ca_file;      /* PEM; empty: the authorities of the system */
    bool allow_private;
} cw_issuer_opts;

typedef struct cw_issuers cw_issuers;
typedef struct cw_issuer cw_issuer;

CW_MUST_USE cw_code cw_issuers_new(cw_loop *main_loop, cw_issuers **ret, cw_err *err);
/* Replace all issuers in two steps: prepare can fail, use cannot. use takes `set` over, drop frees
 * it. NULL is fine for both, and means none. Equal issuers stay, and only their keys are fetched;
 * the trust of the others is withdrawn. */
typedef struct cw_issuer_set cw_issuer_set;
CW_MUST_USE cw_code cw_issuers_prepare(cw_issuers *is, const cw_issuer_opts *items, size_t n,
                                       cw_issuer_set **ret, cw_err *err);
void cw_issuers_use(cw_issuers *is, cw_issuer_set *set);
void cw_issuers_drop(cw_issuer_set *set);
/* Stop fetching, and end the checks that wait. Handles close on the main loop. NULL is fine. */
void cw_issuers_close(cw_issuers *is);
/* After the other loops have ended, and close. NULL is fine. */
void cw_issuers_free(cw_issuers *is);

/* Whether any issuer is configured. */
bool cw_issuers_any(const cw_issuers *is);
/* Grows when issuers or their keys change: tokens that were rejected may be valid then. */
uint64_t cw_issuers_generation(const cw_issuers *is);

/* A token that is good. */
typedef struct cw_verified_token {
    cw_issuer *issuer; /* a reference; NULL: none */
    cw_jwt jwt;        /* in the arena */
    /* References, set by a successful check; the key of an opaque token is NULL. */
    cw_trust *by_issuer, *by_key;
} cw_verified_token;

/* Whether it may be a bearer token of an issuer, by its characters and length. */
bool cw_issuer_may_be_token(cw_str token);
/* Whether a JWT names one of the issuers; true also for what is no JWT, and without memory. Nothing is
 * verified. */
bool cw_issuers_name(cw_issuers *is, cw_str token);
/* Take a token apart, and find its issuer and a key: cheap enough for a loop. CW_OK: verify it, it
 * may still be made up. CW_INVALID: refused; CW_AGAIN: ask; CW_NOMEM or CW_LIMIT. The token must
 * live as long as *ret. */
CW_MUST_USE cw_code cw_issuers_find(cw_issuers *is, cw_str token, cw_arena *arena,
                                    cw_verified_token *ret, cw_err *err);
/* Check signature and claims of a token that was found. Costs up to a millisecond of CPU: not on a
 * loop. The same codes; here CW_OK means that it is good. */
CW_MUST_USE cw_code cw_verified_token_check(cw_verified_token *issued, cw_arena *arena,
                                            cw_err *err);
/* Release the issuer and the trusts, if any. */
void cw_verified_token_done(cw_verified_token *issued);

/* The name of the account that a token acts for, by the claim that `account` points to; .p is NULL
 * when it names none. */
cw_str cw_issuer_account_name(const cw_jwt *jwt, const cw_issuer_opts *issuer);
const cw_issuer_opts *cw_issuer_opts_of(const cw_issuer *issuer);
/* A reference to the keys of the issuer with this name, or NULL: there are none (yet). */
cw_jwks *cw_issuers_keys(cw_issuers *is, cw_str name);

/* References to the trusts of a stored caller, by their ids; `key` is NULL for an opaque token.
 * CW_NOTFOUND: no issuer has these options, or it does not publish the key. CW_AGAIN: its keys are not
 * known yet; the generation grows with them. */
CW_MUST_USE cw_code cw_issuers_find_trust(cw_issuers *is, const unsigned char issuer[CW_TRUST_ID],
                                          const unsigned char *key, cw_trust **ret_issuer,
                                          cw_trust **ret_key);

/* The result of the last fetch of metadata and keys. */
typedef struct cw_issuer_report {
    bool is_busy;        /* a fetch is running */
    const char *problem; /* NULL: none; lives until the loop runs */
    const char *url;     /* fetched last; lives as long */
    size_t n_keys;       /* that can be used */
    int64_t clock_ms;    /* the issuer's clock minus this machine's; 0 also: not known */
} cw_issuer_report;

/* On the main thread. False: no issuer has this name. */
bool cw_issuers_report(cw_issuers *is, cw_str name, cw_issuer_report *ret);

typedef struct cw_token_check {
    struct cw_token_check *next; /* from here to `issuers` the issuers' */
    cw_issuer *issuer;
    cw_fetch fetch;
    size_t at;           /* which issuer is asked about an opaque token */
    bool is_unreachable; /* one could not say */
    cw_issuer_set *set;
    cw_issuers *issuers;
    cw_str token;       /* must live until done */
    cw_network network; /* of the client that has shown it */
    cw_arena *arena;    /* for the result; must live until done */
    bool verifies;      /* signatures are checked here; else the asker does it (CW_AGAIN) */
    cw_verified_token issued;
    /* On the main thread, once; rc as of check, or CW_IO: the issuer cannot be asked. CW_AGAIN,
     * only without `verifies`: the keys were fetched, and `issued` is as of cw_issuers_find. */
    void (*done)(struct cw_token_check *check, cw_code rc);
} cw_token_check;

/* CW_LIMIT when too many ask, CW_IO after close: done is not called then. */
CW_MUST_USE cw_code cw_issuers_start_check(cw_issuers *is, cw_token_check *check);

#endif
