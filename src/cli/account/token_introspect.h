/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token_introspect.h - what the issuers of a configuration say about one token.
 *
 * They are asked as a server asks them (access/issuer/issuer.h), with its rules for what may be
 * fetched: the metadata and keys of the one that the token names, or about an opaque
 * token all that introspect.
 *
 *     cw_token_introspect ask;
 *     rc = cw_token_introspect_run(&ask, config, token, &arena, &err);
 *     ...
 *     cw_token_introspect_done(&ask);
 *
 * Threads: main thread only; runs a loop of its own until there is an answer.
 */
#ifndef CW_CLI_ACCOUNT_TOKEN_INTROSPECT_H
#define CW_CLI_ACCOUNT_TOKEN_INTROSPECT_H

#include "server/issuers.h"

typedef struct cw_token_introspect {
    cw_issuer_list list;          /* all of them; borrows from the configuration */
    const cw_issuer_opts *issuer; /* that a JWT names; NULL: none of ours */
    cw_jwks *keys;                /* of that one; NULL: they cannot be had */
    cw_jwt jwt;                   /* opaque tokens: what was said, in the arena */
    cw_code answer;               /* likewise: CW_OK, CW_INVALID, CW_IO */
} cw_token_introspect;

/* Whether it can be a JWT at all. */
bool cw_token_introspect_is_jwt(cw_str token);
/* A JWT whose issuer is `named` (may be .p NULL), else an opaque token. Fails when nothing could be
 * asked; done must be called in any case. The token must live as long as the arena. */
CW_MUST_USE cw_code cw_token_introspect_run(cw_token_introspect *ask, const cw_config *config,
                                            cw_str token, cw_str named, cw_arena *arena,
                                            cw_err *err);
void cw_token_introspect_done(cw_token_introspect *ask);

#endif
