/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ids.c - the current ids of each thread, and new ids of requests. */
#include "base/ids.h"

#include "base/hex.h"
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

void cw_ids_format_request(uint64_t request, char out[CW_IDS_HEX])
{
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(request >> (56 - 8 * i));
    cw_hex_write(out, bytes, sizeof bytes);
}
