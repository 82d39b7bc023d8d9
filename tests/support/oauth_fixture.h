/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oauth_fixture.h - a database with an account, and the clients and settings of an authorization server.
 *
 *     oauth_fixture_open(&f);                         the database at temp_db_path
 *     oauth_fixture_add_code(&f, code, "app");        what a consent leaves behind
 *     cw_oauth_token_request r = oauth_fixture_exchange(code);
 *     … cw_oauth_exchange(f.db, &f.settings, &r, OAUTH_NOW, …) …
 *     oauth_fixture_close(&f);
 *
 * The clients are "app" and "other", which are public, and "robot", which has the secret OAUTH_SECRET and
 * acts for the account.
 */
#ifndef CW_TESTS_OAUTH_FIXTURE_H
#define CW_TESTS_OAUTH_FIXTURE_H

#include "access/oauth/exchange.h"
#include "base/buf.h"
#include "support/temp_db.h"

#define OAUTH_NOW 1800000000000
#define OAUTH_SECRET "a-secret-of-a-robot-0123456789"
#define OAUTH_REDIRECT "http://127.0.0.1:9/callback"

typedef struct oauth_fixture {
    cw_db *db;
    int64_t account; /* alice */
    cw_oauth_client clients[3];
    cw_seal seal;               /* of the settings */
    cw_oauth_settings settings; /* 30 minutes; 14 and 90 days; 60 seconds; 5 grants */
} oauth_fixture;

/* A fixture that is all zero, or was used before. Its seal stays until then: it may be reopened. */
void oauth_fixture_open(oauth_fixture *f);
/* Only open the database again, which exists. */
void oauth_fixture_reopen(oauth_fixture *f);
void oauth_fixture_close(oauth_fixture *f);
/* A code for this client, with the scopes "a b" and the resource "/mcp". */
void oauth_fixture_add_code(oauth_fixture *f, char code[CW_ACCESS_TOKEN_LEN + 1],
                            const char *client);
/* Requests of "app" that have everything right. */
cw_oauth_token_request oauth_fixture_exchange(const char *code);
cw_oauth_token_request oauth_fixture_refresh(const char *token);
/* Make one; the database must work. The texts of the result are not kept. */
cw_oauth_tokens oauth_fixture_ask(oauth_fixture *f, const cw_oauth_token_request *r, int64_t now);
/* All rows of codes, grants and tokens as text: equal texts are equal rows. */
void oauth_fixture_dump(oauth_fixture *f, cw_buf *out);
/* Whether the database has this access token. */
bool oauth_fixture_has_token(oauth_fixture *f, const char *access_token);

#endif
