/* SPDX-License-Identifier: GPL-2.0-or-later */
/* interest.c - counts the subscriptions to each resource. */
#include "catalogue/interest.h"

#include <stdlib.h>

#include "base/sort.h"

typedef struct wanted {
    size_t n; /* subscriptions */
    size_t length;
    char uri[];
} wanted;

void cw_interest_init(cw_interest *i)
{
    *i = (cw_interest){0};
    pthread_mutex_init(&i->lock, NULL);
    cw_map_init(&i->uris, CW_INTEREST_MAX);
}

void cw_interest_done(cw_interest *i)
{
    size_t at = 0;
    for (const cw_map_entry *e; (e = cw_map_next(&i->uris, &at));)
        free(e->value);
    cw_map_done(&i->uris);
    pthread_mutex_destroy(&i->lock);
}

static void tell(const cw_interest *i)
{
    if (i->changed)
        i->changed(i->ctx);
}

static wanted *add(cw_interest *i, cw_str uri)
{
    wanted *w = malloc(sizeof *w + uri.n);
    if (!w)
        return NULL;
    *w = (wanted){.length = uri.n};
    memcpy(w->uri, uri.p, uri.n);
    if (cw_map_put(&i->uris, cw_str_make(w->uri, w->length), w, NULL)) {
        free(w);
        return NULL;
    }
    tell(i);
    return w;
}

void cw_interest_enter(cw_interest *i, cw_str uri)
{
    if (!i || uri.n == 0)
        return;
    pthread_mutex_lock(&i->lock);
    wanted *w = cw_map_find(&i->uris, uri);
    if (!w)
        w = add(i, uri);
    if (w)
        w->n++;
    pthread_mutex_unlock(&i->lock);
}

void cw_interest_leave(cw_interest *i, cw_str uri)
{
    if (!i || uri.n == 0)
        return;
    pthread_mutex_lock(&i->lock);
    wanted *w = cw_map_find(&i->uris, uri);
    if (w && --w->n == 0) {
        (void)cw_map_remove(&i->uris, uri);
        free(w);
        tell(i);
    }
    pthread_mutex_unlock(&i->lock);
}

void cw_interest_listen(cw_interest *i, void (*changed)(void *ctx), void *ctx)
{
    pthread_mutex_lock(&i->lock);
    i->changed = changed;
    i->ctx = ctx;
    pthread_mutex_unlock(&i->lock);
}

cw_code cw_interest_list(cw_interest *i, cw_arena *arena, cw_str **ret, size_t *ret_n)
{
    cw_code rc = CW_OK;
    size_t at = 0, n = 0;
    pthread_mutex_lock(&i->lock);
    cw_str *uris = cw_arena_calloc(arena, i->uris.n, sizeof *uris);
    if (!uris)
        rc = CW_NOMEM;
    for (const cw_map_entry *e; !rc && (e = cw_map_next(&i->uris, &at));) {
        uris[n] = cw_arena_dup_str(arena, e->key);
        if (!uris[n++].p)
            rc = CW_NOMEM;
    }
    pthread_mutex_unlock(&i->lock);
    if (rc)
        return rc;
    qsort(uris, n, sizeof *uris, cw_sort_texts);
    *ret = uris;
    *ret_n = n;
    return CW_OK;
}
