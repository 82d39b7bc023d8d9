/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trust.h - whether an issuer, or one of its keys, is still accepted.
 *
 * A verified token stays valid while its issuer is configured as it was, and while the issuer
 * publishes the key that signed it. Callers hold a reference to both, so that a change concerns
 * only the tokens of that issuer or key, and checking costs one load.
 *
 * Its id is a digest of the options of the issuer, or of the key (trust_id.h). After a restart, stored
 * callers find their issuer and key by it.
 *
 * Ownership: reference counted.
 * Threads:   any. Once withdrawn, it stays withdrawn.
 */
#ifndef CW_ACCESS_TRUST_H
#define CW_ACCESS_TRUST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"

#define CW_TRUST_ID 32u

typedef struct cw_trust {
    unsigned char id[CW_TRUST_ID];
    atomic_uint refs;
    atomic_bool is_withdrawn;
} cw_trust;

/* NULL without memory. */
CW_INLINE cw_trust *cw_trust_new(const unsigned char id[CW_TRUST_ID])
{
    cw_trust *trust = malloc(sizeof *trust);
    if (trust) {
        memcpy(trust->id, id, CW_TRUST_ID);
        atomic_init(&trust->refs, 1);
        atomic_init(&trust->is_withdrawn, false);
    }
    return trust;
}

/* NULL is fine. */
CW_INLINE cw_trust *cw_trust_ref(cw_trust *trust)
{
    if (trust)
        atomic_fetch_add_explicit(&trust->refs, 1, memory_order_relaxed);
    return trust;
}

/* NULL is fine. */
CW_INLINE void cw_trust_unref(cw_trust *trust)
{
    if (trust && atomic_fetch_sub_explicit(&trust->refs, 1, memory_order_acq_rel) == 1)
        free(trust);
}

CW_INLINE bool cw_trust_has_id(const cw_trust *trust, const unsigned char id[CW_TRUST_ID])
{
    return memcmp(trust->id, id, CW_TRUST_ID) == 0;
}

CW_INLINE void cw_trust_withdraw(cw_trust *trust)
{
    atomic_store(&trust->is_withdrawn, true);
}

/* NULL: nothing to withdraw. */
CW_INLINE bool cw_trust_is_withdrawn(const cw_trust *trust)
{
    return trust && atomic_load(&trust->is_withdrawn);
}

#endif
