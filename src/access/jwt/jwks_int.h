/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jwks_int.h - one key, shared by those who make it (jwk.c), keep it (jwks.c) and use it
 * (jwks_verify.c). Only these three talk to OpenSSL.
 */
#ifndef CW_ACCESS_JWT_JWKS_INT_H
#define CW_ACCESS_JWT_JWKS_INT_H

#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdatomic.h>

#include "access/jwt/jwks.h"

typedef struct cw_jwk {
    cw_str kid; /* .p is NULL without one */
    unsigned algs;
    size_t signature_bytes; /* the one length that its signatures have */
    EVP_PKEY *key;
} cw_jwk;

/* Make a key of a member of `keys`; its kid still lies in the document. CW_OK; CW_DECLINED with
 * *why when it cannot be used; CW_NOMEM. */
CW_MUST_USE cw_code cw_jwk_make(const cw_json *source, unsigned allowed, cw_arena *scratch,
                                cw_jwk *ret, const char **why);

struct cw_jwks {
    atomic_uint refs;
    cw_arena arena;
    cw_jwk *keys;
    size_t n;
    cw_jwks_left_out *left_out;
    size_t n_left_out;
};

#endif
