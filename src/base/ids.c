/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ids.c - the current ids of each thread, and new ids of requests. */
#include "base/ids.h"

#include <endian.h>

#include "base/random.h"

static _Thread_local cw_ids *current;

cw_ids *cw_ids_enter(cw_ids *ids)
{
    cw_ids *outer = current;
    current = ids;
    return outer;
}

void cw_ids_leave(cw_ids *outer)
{
    current = outer;
}

cw_ids *cw_ids_current(void)
{
    return current;
}

uint64_t cw_ids_new_request(void)
{
    uint64_t id = cw_random_u64();
    return id ? id : 1;
}

/* Each response has an id, so the eight digits of one half are computed side by side, in the bytes
 * of a word: 0 to 9 are '0' + n, and 10 to 15 are 39 more. */
static void format_half(uint32_t half, char *out)
{
    uint64_t n = half;
    n = (n << 16 | n) & 0x0000ffff0000ffff;
    n = (n << 8 | n) & 0x00ff00ff00ff00ff;
    n = (n << 4 | n) & 0x0f0f0f0f0f0f0f0f;
    uint64_t is_letter = (n + 0x0606060606060606) >> 4 & 0x0101010101010101;
    uint64_t digits = htobe64(n + 0x3030303030303030 + is_letter * 39);
    memcpy(out, &digits, sizeof digits);
}

void cw_ids_format_request(uint64_t request, char out[CW_IDS_HEX])
{
    format_half((uint32_t)(request >> 32), out);
    format_half((uint32_t)request, out + 8);
    out[16] = '\0';
}
