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
 * Ownership: what is returned lives in the arena.
 * Threads:   a seal is constant; any.
 */
#ifndef CW_ACCESS_SEAL_H
#define CW_ACCESS_SEAL_H

#include "base/arena.h"

#define CW_SEAL_KEY 32u

typedef struct cw_seal {
    unsigned char key[CW_SEAL_KEY];
} cw_seal;

/* A key for this process alone. */
CW_MUST_USE cw_code cw_seal_init(cw_seal *seal, cw_err *err);
/* A key made of any secret bytes: the same on every machine that has them. */
void cw_seal_init_from(cw_seal *seal, cw_str secret);

#define CW_SEAL_DIGEST 32u

/* A digest of some bytes, the same on every machine. Not secret. */
void cw_seal_digest(cw_str bytes, unsigned char out[CW_SEAL_DIGEST]);

CW_MUST_USE cw_code cw_seal_close(const cw_seal *seal, cw_str purpose, cw_str plain,
                                  cw_arena *arena, cw_str *ret, cw_err *err);
/* The same, but equal texts of one purpose are sealed as equal texts: for identifiers. It reveals that two
 * of them are equal. */
CW_MUST_USE cw_code cw_seal_close_same(const cw_seal *seal, cw_str purpose, cw_str plain,
                                       cw_arena *arena, cw_str *ret, cw_err *err);
/* CW_PARSE: another server wrote it, it was changed, or it has another purpose; CW_NOMEM. */
CW_MUST_USE cw_code cw_seal_open(const cw_seal *seal, cw_str purpose, cw_str text, cw_arena *arena,
                                 cw_str *ret);
/* A secret that only servers with this key can derive from a text. */
void cw_seal_derive(const cw_seal *seal, cw_str purpose, cw_str text,
                    unsigned char out[CW_SEAL_DIGEST]);

#endif
