/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signer.h - what an authorization server has: keys, and tokens signed with them.
 *
 *     signer rsa;
 *     signer_init(&rsa, CW_JOSE_RS256, "one");
 *     cw_str set = signer_key_set(&rsa, 1, "", &arena);
 *     cw_str token = signer_token(&rsa, header, claims, &arena);
 *
 * What goes wrong here ends the program. Texts lie in the arena.
 */
#ifndef CW_TESTS_SIGNER_H
#define CW_TESTS_SIGNER_H

#include <openssl/evp.h>

#include "access/jose.h"

typedef struct signer {
    cw_jose_alg alg;
    const char *kid;
    EVP_PKEY *key;
} signer;

void signer_init(signer *s, cw_jose_alg alg, const char *kid);
void signer_done(signer *s);

/* {"kty":...,"kid":...MORE}, where `more` is empty or begins with a comma. */
cw_str signer_jwk(const signer *s, const char *more, cw_arena *arena);
/* {"keys":[...]} of all, each with `more`. */
cw_str signer_key_set(const signer *all, size_t n, const char *more, cw_arena *arena);

cw_str signer_base64url(cw_str bytes, cw_arena *arena);
/* The signature's bytes, as a JWS has them. */
cw_str signer_sign(const signer *s, cw_str text, cw_arena *arena);
/* header.payload.signature of any two texts. */
cw_str signer_token(const signer *s, cw_str header, cw_str payload, cw_arena *arena);
cw_str signer_text(cw_arena *arena, const char *fmt, ...) CW_PRINTF(2, 3);

#endif
