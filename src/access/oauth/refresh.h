/* SPDX-License-Identifier: GPL-2.0-or-later */
/* refresh.h - refresh tokens, each of which determines the next one.
 *
 *     "cwr_" base64url( grant 8 | generation 4 | secret 32 | tag 8 )
 *
 *     secret(n + 1) = HMAC(K, grant | n + 1 | secret(n))          tag = MAC of the rest, with the same K
 *
 * The database has the generation and the SHA-256 of the current secret, and no list of older tokens.
 * A token of the generation before gets the same successor for a short time: two processes that
 * share a token, and a client whose answer was lost, both continue. The tag proves that the server
 * made a token: an older one with a tag was used twice, one without a tag was made up.
 *
 * Threads: any.
 */
#ifndef CW_ACCESS_OAUTH_REFRESH_H
#define CW_ACCESS_OAUTH_REFRESH_H

#include "access/credentials.h"
#include "access/seal.h"

#define CW_REFRESH_PREFIX "cwr_"
#define CW_REFRESH_LEN 74u /* prefix and 70 characters */
#define CW_REFRESH_SECRET 32u

typedef struct cw_refresh_token {
    int64_t grant;
    uint32_t generation;
    unsigned char secret[CW_REFRESH_SECRET];
    const cw_seal_key
        *key; /* that has made its tag, of the seal; NULL: it was not read from a text */
} cw_refresh_token;

/* The text, with a NUL. */
void cw_refresh_format(const cw_seal *seal, const cw_refresh_token *token,
                       char out[CW_REFRESH_LEN + 1]);
/* False: not a token that this server made. */
bool cw_refresh_parse(const cw_seal *seal, cw_str text, cw_refresh_token *ret);
/* The next generation, which follows from the token and the key of its tag: so a repeated token gets the
 * same successor after a rotation of keys. The text of the next one gets its tag from the current key. */
cw_refresh_token cw_refresh_next(const cw_seal *seal, const cw_refresh_token *token);
/* The digest that is stored. */
void cw_refresh_digest(const cw_refresh_token *token, unsigned char out[CW_DIGEST]);

#endif
