/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exchange.h - the rules of the token endpoint: codes and refresh tokens become access tokens.
 *
 * Each function is one change of the database. A check that fails consumes nothing, with one
 * exception: a code or refresh token that was used before ends its grant.
 *
 *     client ─► code or refresh token ─► its client ─► address ─► resource ─► verifier ─► expiry ─► once
 *
 * Ownership: texts of a result live in the arena.
 * Threads:   that of the database.
 */
#ifndef CW_ACCESS_OAUTH_EXCHANGE_H
#define CW_ACCESS_OAUTH_EXCHANGE_H

#include "access/oauth/refresh.h"
#include "access/oauth/settings.h"
#include "store/oauth.h"

#define CW_OAUTH_CODE_MS 60000

typedef enum cw_oauth_error {
    CW_OAUTH_NO_ERROR,
    CW_OAUTH_INVALID_REQUEST,
    CW_OAUTH_INVALID_CLIENT,
    CW_OAUTH_INVALID_GRANT,
    CW_OAUTH_UNAUTHORIZED_CLIENT,
    CW_OAUTH_UNSUPPORTED_GRANT_TYPE,
    CW_OAUTH_INVALID_SCOPE,
    CW_OAUTH_INVALID_TARGET,
    CW_OAUTH_AUTHORIZATION_PENDING,
    CW_OAUTH_SLOW_DOWN,
    CW_OAUTH_ACCESS_DENIED,
    CW_OAUTH_EXPIRED_TOKEN,
} cw_oauth_error;

typedef enum cw_oauth_grant_type {
    CW_OAUTH_AUTHORIZATION_CODE,
    CW_OAUTH_REFRESH_TOKEN,
    CW_OAUTH_CLIENT_CREDENTIALS,
    CW_OAUTH_DEVICE_CODE,
} cw_oauth_grant_type;

/* A request of a client; an absent text has .p NULL. */
typedef struct cw_oauth_token_request {
    cw_oauth_grant_type type;
    cw_str client_id, client_secret;
    cw_str assertion; /* of the client, in place of a secret (assertion.h) */
    cw_str issuer;    /* this server, as the client knows it */
    cw_str code;      /* or of a device (device.h) */
    cw_str code_verifier, redirect_uri;
    cw_str refresh_token;
    cw_str token;   /* to revoke */
    cw_str address; /* of a device that asks for codes */
    cw_str scope;
    cw_str resource;          /* the path behind the server's address */
    bool is_foreign_resource; /* it asked for one that is not here */
} cw_oauth_token_request;

/* An event of a grant, for the audit. */
typedef enum cw_oauth_event {
    CW_OAUTH_NO_EVENT,
    CW_OAUTH_ISSUED,
    CW_OAUTH_REFRESHED,
    CW_OAUTH_REUSED,  /* a code or refresh token came twice: the grant ended */
    CW_OAUTH_REVOKED, /* by its client */
} cw_oauth_event;

typedef struct cw_oauth_tokens {
    cw_oauth_error error;
    cw_oauth_event event;    /* for the audit */
    const char *description; /* static */
    int64_t expires_ms;      /* life of the access token */
    cw_str jwt;              /* in place of access_token, which is empty then */
    cw_str scope;
    /* For the audit: */
    int64_t grant, account;
    cw_str account_name, client_id;
    bool has_ended_others; /* grants of the account, or tokens of the grant, beyond their number */
    bool is_registered;    /* the operator has registered the client */
    char access_token[CW_ACCESS_TOKEN_LEN + 1];
    char refresh_token[CW_REFRESH_LEN + 1]; /* empty: none */
} cw_oauth_tokens;

/* The client with this id: of the configuration, registered by a command, or dynamic. CW_NOTFOUND:
 * unknown, or denied; CW_DECLINED: its id is the URL of a document, and not denied. */
CW_MUST_USE cw_code cw_oauth_client_find(cw_db *db, const cw_oauth_settings *settings, cw_str id,
                                         cw_arena *arena, cw_oauth_client *ret, cw_err *err);
/* When a grant ends unless it is used: it has a life, and an idle time. */
int64_t cw_oauth_grant_end(const cw_db_oauth_grant *grant, int64_t idle_ms);
/* Scopes as one text; .p is NULL without memory. */
cw_str cw_oauth_join_scopes(cw_arena *arena, const cw_str *items, size_t n);
/* Issue tokens, or set ret->error. Other failures are those of the database. */
CW_MUST_USE cw_code cw_oauth_exchange(cw_db *db, const cw_oauth_settings *settings,
                                      const cw_oauth_token_request *request, int64_t now,
                                      cw_arena *arena, cw_oauth_tokens *ret, cw_err *err);
/* Revoke an access token, or the grant of a refresh token, that belongs to the client. Any other
 * token changes nothing and is no error; ret->error is INVALID_CLIENT or none. */
CW_MUST_USE cw_code cw_oauth_revoke(cw_db *db, const cw_oauth_settings *settings,
                                    const cw_oauth_token_request *request, int64_t now,
                                    cw_arena *arena, cw_oauth_tokens *ret, cw_err *err);

#endif
