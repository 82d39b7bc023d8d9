/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token_signer.h - the keys of an authorization server, and tokens signed with them.
 *
 *     token_signer rsa;
 *     token_signer_init(&rsa, CW_JOSE_RS256, "one");
 *     cw_str set = token_signer_key_set(&rsa, 1, "", &arena);
 *     cw_str token = token_signer_token(&rsa, header, claims, &arena);
 *
 * A failure aborts the program. Texts lie in the arena.
 */
#ifndef CW_TESTS_TOKEN_SIGNER_H
#define CW_TESTS_TOKEN_SIGNER_H

#include <openssl/evp.h>

#include "access/jwt/jose.h"

typedef struct token_signer {
    cw_jose_alg alg;
    const char *kid;
    EVP_PKEY *key;
} token_signer;

/* The name of an algorithm in headers of tokens. */
const char *token_signer_alg_name(cw_jose_alg alg);
void token_signer_init(token_signer *s, cw_jose_alg alg, const char *kid);
void token_signer_done(token_signer *s);

/* {"kty":...,"kid":...MORE}, where `more` is empty or begins with a comma. */
cw_str token_signer_jwk(const token_signer *s, const char *more, cw_arena *arena);
/* {"keys":[...]} of all, each with `more`. */
cw_str token_signer_key_set(const token_signer *all, size_t n, const char *more, cw_arena *arena);

cw_str token_signer_base64url(cw_str bytes, cw_arena *arena);
/* The signature's bytes, as a JWS has them. */
cw_str token_signer_sign(const token_signer *s, cw_str text, cw_arena *arena);
/* header.payload.signature of any two texts. */
cw_str token_signer_token(const token_signer *s, cw_str header, cw_str payload, cw_arena *arena);
cw_str token_signer_text(cw_arena *arena, const char *fmt, ...) CW_PRINTF(2, 3);

#endif
