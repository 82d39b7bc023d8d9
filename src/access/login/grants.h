/* SPDX-License-Identifier: GPL-2.0-or-later */
/* grants.h - what people allowed OAuth clients: codes, grants, and their tokens.
 *
 *     consent ─► code (60 s, once) ─► grant ─┬─► refresh token, a new one at each use
 *                                            └─► access tokens (cwa_)
 *
 * The database has hashes of all of them. Ending a grant ends its tokens at once. A new password, a
 * block and the removal of the account end all its grants.
 *
 * Each function asks the store's thread. It returns CW_OK, and later calls the waiter once, on the
 * loop; or CW_LIMIT (too many wait) or CW_NOMEM, and does not call it. The result and everything in
 * it is borrowed until the callback returns. A waiter whose request ends is cancelled.
 *
 *     w->fn = on_code;
 *     if (cw_oauth_issue_code(accounts, loop, &code, w))
 *         ... 503 ...
 *
 * Ownership: the caller's texts are copied.
 * Threads:   the loop.
 * Limits:    settings.grants of an account: the one that was not used for the longest time ends.
 */
#ifndef CW_ACCESS_LOGIN_GRANTS_H
#define CW_ACCESS_LOGIN_GRANTS_H

#include "access/login/accounts.h"
#include "access/oauth/client.h"
#include "access/oauth/device.h"

typedef struct cw_oauth_grant {
    int64_t id;
    int64_t account;
    cw_str account_name;
    cw_oauth_client client; /* the snapshot */
    cw_str redirect_uri;    /* that the code was sent to */
    cw_str resource;        /* a path behind the address of the server (cw_oauth_code_request) */
    cw_str scopes;          /* with spaces between them */
    int64_t created, used;  /* ms since 1970 */
    int64_t expires;        /* likewise; the end without use may come earlier */
} cw_oauth_grant;

typedef struct cw_oauth_result {
    /* CW_OK. find_client: CW_NOTFOUND (unknown, or denied by the operator), CW_DECLINED (the id is
     * the URL of a document, and not denied: fetch it). issue_code: CW_GONE (the session has ended).
     * end_grant: CW_NOTFOUND. begin_device: CW_LIMIT (no user code is free). find_device,
     * decide_device: CW_NOTFOUND (no device waits under this code), CW_GONE (the session has ended).
     * ask_keys: CW_NOTFOUND (tokens are not JWTs). Those with ret_wait_s: CW_AGAIN (failures on
     * another server delay it). All: CW_IO, CW_TIMEOUT (no database), CW_NOMEM. */
    cw_code rc;
    const cw_oauth_client *client; /* find_client */
    cw_str code;                   /* issue_code: "cwc_…" */
    const cw_oauth_grant *grants;  /* list_grants: the newest first */
    size_t n_grants;
    const cw_oauth_tokens *tokens; /* exchange, revoke; begin_device: only its error */
    const cw_device_codes *codes;  /* begin_device */
    const cw_device *device;       /* find_device */
    cw_str keys;                   /* ask_keys: a JWK set */
    uint32_t wait_s;               /* CW_AGAIN: the delay */
} cw_oauth_result;

typedef struct cw_oauth_waiter {
    struct cw_oauth_op *op; /* NULL: does not wait */
    cw_fair_key by;         /* whose turn with the database it takes; all zero: the server's */
    void (*fn)(struct cw_oauth_waiter *w, const cw_oauth_result *result);
} cw_oauth_waiter;

/* Stop waiting. Fine for a waiter that does not wait. */
void cw_oauth_cancel(cw_oauth_waiter *w);

/* A client that is registered or dynamic. */
CW_MUST_USE cw_code cw_oauth_find_client(cw_accounts *a, cw_loop *loop, cw_str id,
                                         cw_oauth_waiter *w);

/* A consent, as its page showed it. */
typedef struct cw_oauth_code_request {
    int64_t account;     /* its id */
    cw_str account_name; /* for the audit */
    cw_str session;      /* the secret of the browser session, which must still be valid */
    const cw_oauth_client *client;
    cw_str redirect_uri;   /* as the client sent it, or its only one */
    cw_str code_challenge; /* S256 */
    cw_str resource; /* the path of the endpoint or toolset behind the server's address; empty: the
                        whole server */
    const cw_str *scopes; /* that were allowed; not offline_access */
    size_t n_scopes;
    bool is_offline; /* offline_access was asked for: a refresh token in any case */
} cw_oauth_code_request;

CW_MUST_USE cw_code cw_oauth_issue_code(cw_accounts *a, cw_loop *loop,
                                        const cw_oauth_code_request *request, cw_oauth_waiter *w);
/* The token endpoint, and the revocation endpoint: exchange.h has their rules. `peer` is the address of
 * the client. CW_AGAIN: too many requests of this client from there have failed; *ret_wait_s is how
 * long it must wait. */
CW_MUST_USE cw_code cw_oauth_ask_tokens(cw_accounts *a, cw_loop *loop,
                                        const cw_oauth_token_request *request, cw_str peer,
                                        uint32_t *ret_wait_s, cw_oauth_waiter *w);
CW_MUST_USE cw_code cw_oauth_ask_revoke(cw_accounts *a, cw_loop *loop,
                                        const cw_oauth_token_request *request, cw_str token,
                                        cw_str peer, uint32_t *ret_wait_s, cw_oauth_waiter *w);
/* The public keys of access tokens that are JWTs. CW_AGAIN as above: this network has asked too often. */
CW_MUST_USE cw_code cw_oauth_ask_keys(cw_accounts *a, cw_loop *loop, cw_str peer,
                                      uint32_t *ret_wait_s, cw_oauth_waiter *w);
/* The login of a device (access/oauth/device.h): first the device asks, then a person finds its request by
 * the user code and decides. CW_AGAIN as above: too many of this network have asked, or too many user
 * codes of this account or network were wrong. */
CW_MUST_USE cw_code cw_oauth_begin_device(cw_accounts *a, cw_loop *loop,
                                          const cw_oauth_token_request *request, cw_str peer,
                                          uint32_t *ret_wait_s, cw_oauth_waiter *w);
CW_MUST_USE cw_code cw_oauth_find_device(cw_accounts *a, cw_loop *loop, cw_str user_code,
                                         int64_t account, cw_str peer, uint32_t *ret_wait_s,
                                         cw_oauth_waiter *w);

typedef struct cw_oauth_device_decision {
    cw_str user_code;
    bool is_allowed;
    int64_t account;
    cw_str session;       /* which must still be valid */
    const cw_str *scopes; /* that were allowed */
    size_t n_scopes;
} cw_oauth_device_decision;

CW_MUST_USE cw_code cw_oauth_decide_device(cw_accounts *a, cw_loop *loop,
                                           const cw_oauth_device_decision *decision,
                                           cw_oauth_waiter *w);
/* The newest grants of an account, at most so many. `before`: only those with a smaller number; 0: all. */
#define CW_OAUTH_GRANTS_LISTED 128u
CW_MUST_USE cw_code cw_oauth_list_grants(cw_accounts *a, cw_loop *loop, int64_t account,
                                         int64_t before, cw_oauth_waiter *w);
/* The grant of an access token, by the SHA-256 of the token; result->client is its client as it is now.
 * CW_NOTFOUND. */
CW_MUST_USE cw_code cw_oauth_find_token_grant(cw_accounts *a, cw_loop *loop,
                                              const unsigned char hash[CW_DIGEST],
                                              cw_oauth_waiter *w);
/* End a grant of this account. */
CW_MUST_USE cw_code cw_oauth_end_grant(cw_accounts *a, cw_loop *loop, int64_t account, int64_t id,
                                       cw_oauth_waiter *w);

#endif
