/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trust_id.h - the digest that identifies an issuer or a key in every process.
 *
 * Each text follows its length, so that different lists of texts never give the same bytes.
 *
 * Ownership: the state belongs to its user; nothing is kept of the texts.
 * Threads:   no state of its own.
 */
#ifndef CW_ACCESS_TRUST_ID_H
#define CW_ACCESS_TRUST_ID_H

#include <sodium.h>

#include "access/trust.h"
#include "base/str.h"

_Static_assert(CW_TRUST_ID == crypto_hash_sha256_BYTES, "an id is a SHA-256");

CW_INLINE void cw_trust_id_add_number(crypto_hash_sha256_state *id, uint64_t n)
{
    crypto_hash_sha256_update(id, (const unsigned char *)&n, sizeof n);
}

CW_INLINE void cw_trust_id_add(crypto_hash_sha256_state *id, cw_str text)
{
    cw_trust_id_add_number(id, text.n);
    if (text.n)
        crypto_hash_sha256_update(id, (const unsigned char *)text.p, text.n);
}

#endif
