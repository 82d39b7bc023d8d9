/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fnv.h - FNV-1a: a hash that is the same in every process.
 *
 *     uint64_t h = cw_fnv1a(CW_FNV1A_START, name);
 *
 * For names and marks that other processes compare. Tables take cw_hash (base/map.h), which is seeded:
 * a client that knows this hash can make texts collide.
 *
 * Threads: no state.
 */
#ifndef CW_BASE_FNV_H
#define CW_BASE_FNV_H

#include "base/str.h"

#define CW_FNV1A_START UINT64_C(0xcbf29ce484222325)

/* Add bytes to a hash, which begins with CW_FNV1A_START. */
CW_INLINE uint64_t cw_fnv1a(uint64_t hash, cw_str bytes)
{
    for (size_t i = 0; i < bytes.n; i++)
        hash = (hash ^ (unsigned char)bytes.p[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
