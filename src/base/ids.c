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
    cw_hex_write_u32(out, (uint32_t)(request >> 32));
    cw_hex_write_u32(out + 8, (uint32_t)request);
    out[16] = '\0';
}
