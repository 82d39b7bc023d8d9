/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remote_kept.c - results that are good for a while. There are few of them, so a list will do. */
#include <stdlib.h>

#include "source/remote_int.h"

void cw_kepts_init(cw_kepts *k)
{
    k->ring.prev = k->ring.next = &k->ring;
}

static void drop(cw_kepts *k, cw_kept *e)
{
    e->prev->next = e->next;
    e->next->prev = e->prev;
    k->n--;
    k->bytes -= e->n_params + e->n_body;
    free(e);
}

void cw_kepts_done(cw_kepts *k)
{
    cw_kept *next;
    for (cw_kept *e = k->ring.next; e != &k->ring; e = next) {
        next = e->next;
        free(e);
    }
    *k = (cw_kepts){0};
    cw_kepts_init(k);
}

static bool is_for(const cw_kept *e, uint32_t method, cw_str params)
{
    return e->method == method && cw_str_eq(cw_str_make(e->bytes, e->n_params), params);
}

const cw_kept *cw_kepts_find(cw_kepts *k, uint32_t method, cw_str params, uint64_t now)
{
    for (cw_kept *e = k->ring.next; e != &k->ring; e = e->next) {
        if (!is_for(e, method, params))
            continue;
        if (now < e->until)
            return e;
        drop(k, e);
        return NULL;
    }
    return NULL;
}

static bool is_over(const cw_kepts *k)
{
    return k->n > CW_KEPT_ENTRIES || k->bytes > CW_KEPT_BYTES;
}

void cw_kepts_add(cw_kepts *k, const cw_kept *head, cw_str params, cw_str body)
{
    size_t n = params.n + body.n;
    if (n > CW_KEPT_BYTES / 8)
        return;
    cw_kept *e = malloc(sizeof *e + n);
    if (!e)
        return;
    *e = *head;
    e->n_params = params.n;
    e->n_body = body.n;
    e->bytes = (char *)(e + 1);
    if (params.n)
        memcpy(e->bytes, params.p, params.n);
    memcpy(e->bytes + params.n, body.p, body.n);
    e->prev = &k->ring;
    e->next = k->ring.next;
    e->next->prev = k->ring.next = e;
    k->n++;
    k->bytes += n;
    /* An older one with the same key is never found again, and goes here too. */
    cw_kept *prev;
    for (cw_kept *old = k->ring.prev; old != e && is_over(k); old = prev) {
        prev = old->prev;
        drop(k, old);
    }
}
