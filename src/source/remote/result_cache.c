/* SPDX-License-Identifier: GPL-2.0-or-later */
/* result_cache.c - results that are kept for a while. They are few, so a list is enough. */
#include <stdlib.h>

#include "source/remote/remote_int.h"

void cw_result_cache_init(cw_result_cache *k)
{
    cw_list_init(&k->entries);
}

static cw_result_cache_entry *entry_of(cw_list *node)
{
    return CW_CONTAINER(node, cw_result_cache_entry, node);
}

static void drop(cw_result_cache *k, cw_result_cache_entry *e)
{
    cw_list_remove(&e->node);
    k->n--;
    k->bytes -= e->n_params + e->n_body;
    free(e);
}

void cw_result_cache_done(cw_result_cache *k)
{
    for (cw_list *node; (node = cw_list_take_first(&k->entries));)
        free(entry_of(node));
    *k = (cw_result_cache){0};
    cw_result_cache_init(k);
}

static bool is_for(const cw_result_cache_entry *e, uint32_t method, cw_str params)
{
    return e->method == method && cw_str_eq(cw_str_make(e->bytes, e->n_params), params);
}

const cw_result_cache_entry *cw_result_cache_find(cw_result_cache *k, uint32_t method,
                                                  cw_str params, uint64_t now)
{
    CW_LIST_EACH (node, &k->entries) {
        cw_result_cache_entry *e = entry_of(node);
        if (!is_for(e, method, params))
            continue;
        if (now < e->until)
            return e;
        drop(k, e);
        return NULL;
    }
    return NULL;
}

static bool is_over(const cw_result_cache *k)
{
    return k->n > CW_RESULT_CACHE_ENTRIES || k->bytes > CW_RESULT_CACHE_BYTES;
}

void cw_result_cache_add(cw_result_cache *k, const cw_result_cache_entry *head, cw_str params,
                         cw_str body)
{
    size_t n = params.n + body.n;
    if (n > CW_RESULT_CACHE_BYTES / 8)
        return;
    cw_result_cache_entry *e = malloc(sizeof *e + n);
    if (!e)
        return;
    *e = *head;
    e->n_params = params.n;
    e->n_body = body.n;
    e->bytes = (char *)(e + 1);
    if (params.n)
        memcpy(e->bytes, params.p, params.n);
    memcpy(e->bytes + params.n, body.p, body.n);
    cw_list_add_first(&k->entries, &e->node);
    k->n++;
    k->bytes += n;
    /* An older entry with the same key is never found again. It is dropped here as well. */
    while (k->entries.prev != &e->node && is_over(k))
        drop(k, entry_of(k->entries.prev)); /* NOLINT: a node that was freed is in no list */
}
