/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token_uses.c - groups the uses of API tokens and writes them. */
#include "access/login/token_uses.h"

#include <stdlib.h>

#include "base/clock.h"

#define PAUSE_MS 1000u

static int compare(const void *a, const void *b)
{
    const cw_token_use *x = a, *y = b;
    return (x->token > y->token) - (x->token < y->token);
}

void cw_token_uses_write(cw_token_uses *u, cw_db *db, bool at_once)
{
    uint64_t now = cw_clock_ms();
    if (u->n == 0 || (!at_once && now < u->next))
        return;
    qsort(u->items, u->n, sizeof *u->items, compare);
    (void)!cw_db_add_token_uses(db, u->items, u->n, NULL);
    u->next = now + PAUSE_MS;
    u->n = 0;
}

void cw_token_uses_note(cw_token_uses *u, cw_db *db, const cw_token *token, cw_str address)
{
    int64_t now = cw_clock_wall_ms();
    if (now - token->used < CW_TOKEN_USE_MS)
        return;
    if (u->n == CW_TOKEN_USES_MAX)
        cw_token_uses_write(u, db, /* at_once= */ true);
    cw_token_use *use = &u->items[u->n++];
    *use = (cw_token_use){.token = token->id, .used = now};
    size_t n = address.n < sizeof use->address ? address.n : sizeof use->address - 1;
    if (n)
        memcpy(use->address, address.p, n);
}
