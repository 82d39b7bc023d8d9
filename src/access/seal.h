/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal.h - encrypted state that clients store for the server.
 *
 * Sessions, cursors and the state of an interrupted call are sent to the client as encrypted and
 * authenticated text (XChaCha20-Poly1305). Text that was sealed for one purpose cannot be opened for
 * another. The seal only proves that this server wrote the text. The code that opens it checks the
 * caller and the time in it.
 *
 *     base64url( nonce 24 | ciphertext | tag 16 )
 *
 * A seal has a ring of keys, the newest first. One key seals: the newest whose time has come. All keys of
 * the ring open, and each is tried, so a text does not name its key. The owner replaces the ring as a whole:
 *
 *     cw_seal_set_keys(&seal, keys, n, err);       // one thread at a time
 *     cw_seal_close(&seal, ...), cw_seal_open(...)  // at the same time, on any thread
 *
 * Ownership: texts that are returned live in the arena; a cw_seal_key that is returned lives as long as the seal.
 *            Rings that were replaced are freed with the seal, because a reader may still use them.
 * Threads:   cw_seal_set_keys on one at a time; init and done alone; the others on any, without a lock.
 * Limits:    CW_SEAL_MAX_KEYS keys. Each ring that replaced another one takes some 200 bytes until the end.
 */
#ifndef CW_ACCESS_SEAL_H
#define CW_ACCESS_SEAL_H

#include <stdatomic.h>

#include "base/arena.h"

#define CW_SEAL_KEY 32u
#define CW_SEAL_MAX_KEYS 4u

typedef struct cw_seal_key {
    unsigned char bytes[CW_SEAL_KEY];
    uint64_t seals_from; /* cw_clock_ms; 0: it may seal at once */
} cw_seal_key;

typedef struct cw_seal_ring {
    size_t n;
    cw_seal_key keys[CW_SEAL_MAX_KEYS]; /* the newest first */
    struct cw_seal_ring *replaced;
} cw_seal_ring;

typedef struct cw_seal {
    cw_seal_ring first; /* within the struct: a seal whose keys never change allocates nothing */
    _Atomic(cw_seal_ring *) ring; /* NULL: `first` */
} cw_seal;

/* A key for this process alone. */
CW_MUST_USE cw_code cw_seal_init(cw_seal *seal, cw_err *err);
/* Replace the keys, the newest first, 1 to CW_SEAL_MAX_KEYS. Equal ones change nothing. CW_NOMEM: the
 * old keys stay. */
CW_MUST_USE cw_code cw_seal_set_keys(cw_seal *seal, const cw_seal_key *keys, size_t n, cw_err *err);
/* Erase and free all keys. A seal that is all zero is fine; one whose keys never changed needs no call. */
void cw_seal_done(cw_seal *seal);

/* The keys that open, the newest first. */
const cw_seal_key *cw_seal_get_keys(const cw_seal *seal, size_t *ret_n);
/* The key that seals now. */
const cw_seal_key *cw_seal_get_current(const cw_seal *seal);
/* A key made of any secret bytes: the same on every machine that has them. It seals at once. */
cw_seal_key cw_seal_make_key(cw_str secret);

#define CW_SEAL_DIGEST 32u

/* A digest of some bytes, the same on every machine. Not secret. */
void cw_seal_digest(cw_str bytes, unsigned char out[CW_SEAL_DIGEST]);

CW_MUST_USE cw_code cw_seal_close(const cw_seal *seal, cw_str purpose, cw_str plain,
                                  cw_arena *arena, cw_str *ret, cw_err *err);
/* The same, but equal texts of one purpose are sealed by one key as equal texts: for identifiers. It
 * reveals that two of them are equal. */
CW_MUST_USE cw_code cw_seal_close_same(const cw_seal_key *key, cw_str purpose, cw_str plain,
                                       cw_arena *arena, cw_str *ret, cw_err *err);
/* CW_PARSE: another server wrote it, its key has left the ring, it was changed, or it has another purpose;
 * CW_NOMEM. */
CW_MUST_USE cw_code cw_seal_open(const cw_seal *seal, cw_str purpose, cw_str text, cw_arena *arena,
                                 cw_str *ret);
/* The same, and the key that has sealed the text. */
CW_MUST_USE cw_code cw_seal_open_with(const cw_seal *seal, cw_str purpose, cw_str text,
                                      cw_arena *arena, cw_str *ret, const cw_seal_key **ret_key);
/* A secret that only servers with this key can derive from a text. */
void cw_seal_derive(const cw_seal_key *key, cw_str purpose, cw_str text,
                    unsigned char out[CW_SEAL_DIGEST]);

#endif
