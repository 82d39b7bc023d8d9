/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token_cache.h - results of token checks: values of valid tokens, and rejected tokens.
 *
 * A signature check costs as much as a hundred lookups, so each loop caches the results. A valid
 * token has a value (a caller); a rejected one has none. The cache does not hold tokens: the key is
 * a keyed digest (cw_secret_digest).
 *
 *     unsigned char key[CW_DIGEST];
 *     cw_secret_digest(token, key);
 *     switch (cw_token_cache_find(cache, key, &now, &value)) ...
 *
 * A valid token is cached until it expires, maximum max_age_ms, and while the generation of rights
 * is the same. The least recently used entry is replaced. A rejected token is cached for refused_ms,
 * while the generations of rights and keys are the same (new keys may verify it), or until another
 * replaces it. The user checks whether the key of a valid token is still accepted (access/trust.h).
 *
 * Ownership: owns a reference to every value in it. All memory is taken at the beginning: adding
 *            cannot fail.
 * Threads:   one; a cache per loop.
 * Limits:    max_entries and max_bytes; CW_TOKEN_CACHE_REFUSED bad ones.
 */
#ifndef CW_ACCESS_ISSUER_TOKEN_CACHE_H
#define CW_ACCESS_ISSUER_TOKEN_CACHE_H

#include "access/credentials.h"
#include "base/limits.h"

#define CW_TOKEN_CACHE_ENTRIES CW_TOKENS_REMEMBERED
#define CW_TOKEN_CACHE_MAX_ENTRIES 1000000u
#define CW_TOKEN_CACHE_BYTES (16u * 1024u * 1024u)
#define CW_TOKEN_CACHE_AGE_MS 60000u
#define CW_TOKEN_CACHE_REFUSED_MS 5000u
#define CW_TOKEN_CACHE_REFUSED 1024u

typedef struct cw_token_cache cw_token_cache; /* opaque */

typedef struct cw_token_cache_opts {
    size_t max_entries;    /* 1 to CW_TOKEN_CACHE_MAX_ENTRIES; 0: CW_TOKEN_CACHE_ENTRIES */
    size_t max_bytes;      /* of values, as their users count them; 0: CW_TOKEN_CACHE_BYTES */
    uint32_t max_age_ms;   /* 0: CW_TOKEN_CACHE_AGE_MS */
    uint32_t refused_ms;   /* 0: CW_TOKEN_CACHE_REFUSED_MS */
    void (*unref)(void *); /* gives back a value; never NULL */
    /* Whether the rights of a value are still those of `rights`. NULL: while the number is the same. */
    bool (*is_current)(const void *value, uint64_t rights, void *ctx);
    void *ctx; /* of is_current */
} cw_token_cache_opts;

/* When, and with which rights and keys. */
typedef struct cw_cache_time {
    uint64_t rights; /* any number that changes when rights change */
    uint64_t keys;   /* any number that changes when an issuer's keys change */
    uint64_t now_ms; /* the monotonic clock */
    int64_t wall_ms;
} cw_cache_time;

typedef enum cw_token_found {
    CW_TOKEN_UNKNOWN,
    CW_TOKEN_GOOD,
    CW_TOKEN_BAD,
} cw_token_found;

/* CW_NOMEM, or CW_LIMIT for too many entries. */
CW_MUST_USE cw_code cw_token_cache_new(const cw_token_cache_opts *opts, cw_token_cache **ret,
                                       cw_err *err);
/* NULL is fine. */
void cw_token_cache_free(cw_token_cache *cache);

/* *ret (borrowed until the next call that may change the cache) is set for CW_TOKEN_GOOD only. */
cw_token_found cw_token_cache_find(cw_token_cache *cache, const unsigned char key[CW_DIGEST],
                                   const cw_cache_time *now, void **ret);
/* The value of a token that was good before, also with earlier rights; borrowed likewise, or
 * NULL. Not a verdict: the value of the next check may be equal to it. */
void *cw_token_cache_peek(cw_token_cache *cache, const unsigned char key[CW_DIGEST]);
/* Keep a value of `bytes` bytes until `expires_ms` (wall clock) at the latest. Takes the caller's
 * reference over in any case; what has expired or is larger than the cache is given back at once.
 */
void cw_token_cache_add(cw_token_cache *cache, const unsigned char key[CW_DIGEST],
                        const cw_cache_time *now, void *value, size_t bytes, int64_t expires_ms);
/* Remember a refusal. Only where the token itself is to blame: not when keys could not be had. */
void cw_token_cache_refuse(cw_token_cache *cache, const unsigned char key[CW_DIGEST],
                           const cw_cache_time *now);

#endif
