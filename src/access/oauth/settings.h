/* SPDX-License-Identifier: GPL-2.0-or-later */
/* settings.h - the settings of the built-in authorization server, as the configuration has them.
 *
 * The main thread makes them at the start and after a change of the configuration, and gives them to
 * the accounts (cw_accounts_set_oauth). A request takes a reference.
 *
 * Ownership: reference counted; all texts are copied.
 * Threads:   immutable; any.
 */
#ifndef CW_ACCESS_OAUTH_SETTINGS_H
#define CW_ACCESS_OAUTH_SETTINGS_H

#include "access/oauth/client.h"
#include "access/seal.h"

typedef struct cw_oauth_settings {
    const cw_seal *seal; /* of dynamic clients, sealed requests and refresh tokens; borrowed */
    const cw_oauth_client *clients; /* of the configuration */
    size_t n_clients;
    const cw_str *ceiling; /* roles that bound grants; none: all but administration */
    size_t n_ceiling;
    bool is_dynamic;          /* clients may register themselves */
    bool has_documents;       /* clients may be described by a document */
    bool is_jwt;              /* access tokens are JWTs (keys.h) */
    bool signs_with_rsa;      /* new keys are for RS256, else for ES256 */
    int64_t access_ms;        /* life of an access token */
    int64_t idle_ms, life_ms; /* of a grant: without use, and at most */
    int64_t grace_ms;         /* for so long the previous refresh token gets the same successor */
    uint32_t grants;          /* of one account */
    uint32_t access_tokens;   /* of one grant */
} cw_oauth_settings;

/* A copy, with one reference. CW_NOMEM. */
CW_MUST_USE cw_code cw_oauth_settings_new(const cw_oauth_settings *from, cw_oauth_settings **ret,
                                          cw_err *err);
cw_oauth_settings *cw_oauth_settings_ref(cw_oauth_settings *s);
/* NULL is fine. */
void cw_oauth_settings_unref(cw_oauth_settings *s);

#endif
