/* SPDX-License-Identifier: GPL-2.0-or-later */
/* admin_requests.c - requests of commands, read from the database by the store's thread. */
#include "server/admin_requests.h"

#include <stdlib.h>

#include "base/clock.h"
#include "catalogue/page_cache.h"

/* Kind 0 is the rebuild, kind n the tag with bit n - 1. */
static bool kind_of(cw_str what, size_t *ret)
{
    unsigned tag = cw_page_cache_tag_find(what);
    *ret = 0;
    while (tag) {
        (*ret)++;
        tag >>= 1;
    }
    return *ret || cw_str_is(what, CW_ORDER_REBUILD);
}

/* Only the store's thread changes the list, so it may read it without the lock. */
static cw_code read_refresh(cw_admin_requests *o, const cw_order *order, cw_err *err)
{
    cw_str prefix = CW_STR(CW_ORDER_REFRESH);
    cw_str name = cw_str_make(order->what.p + prefix.n, order->what.n - prefix.n);
    cw_admin_refresh *r = o->refreshes;
    while (r && !cw_str_is(name, r->name))
        r = r->next;
    if (!r) {
        r = calloc(1, sizeof *r + name.n + 1);
        if (!r)
            return cw_fail_nomem(err);
        memcpy(r->name, name.p, name.n);
        pthread_mutex_lock(&o->lock);
        r->next = o->refreshes;
        o->refreshes = r;
        pthread_mutex_unlock(&o->lock);
    }
    r->fresh = order->n;
    if (!o->was_read && order->when < o->begun)
        r->n = order->n;
    return CW_OK;
}

static cw_code on_order(const cw_order *order, void *ctx, cw_err *err)
{
    cw_admin_requests *o = ctx;
    size_t kind;
    if (cw_str_starts(order->what, CW_STR(CW_ORDER_REFRESH)))
        return read_refresh(o, order, err);
    if (!kind_of(order->what, &kind))
        return CW_OK; /* of a later version of this program */
    /* Of those that were there when the first look was taken, the late ones are for us. */
    o->fresh[kind] = order->n;
    if (!o->was_read && order->when < o->begun)
        o->n[kind] = order->n;
    return CW_OK;
}

static cw_code read_orders(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_admin_requests *o = CW_CONTAINER(job, cw_admin_requests, job);
    for (size_t i = 0; i < CW_ADMIN_REQUESTS_KINDS; i++)
        o->fresh[i] = 0;
    return cw_db_each_order(db, on_order, o, err);
}

static void on_done(cw_store_job *job, cw_code rc)
{
    cw_admin_requests *o = CW_CONTAINER(job, cw_admin_requests, job);
    pthread_mutex_lock(&o->lock);
    o->is_asked = false;
    for (size_t i = 0; i < CW_ADMIN_REQUESTS_KINDS && !rc; i++) {
        if (o->fresh[i] != o->n[i])
            o->todo |= 1u << i;
        o->n[i] = o->fresh[i];
    }
    bool has_some = o->todo != 0;
    for (cw_admin_refresh *r = rc ? NULL : o->refreshes; r; r = r->next) {
        r->todo = r->todo || r->fresh != r->n;
        r->n = r->fresh;
        has_some = has_some || r->todo;
    }
    o->was_read = o->was_read || !rc;
    pthread_mutex_unlock(&o->lock);
    if (has_some)
        o->on_read(o->ctx);
}

void cw_admin_requests_init(cw_admin_requests *o, void (*on_read)(void *ctx), void *ctx)
{
    *o = (cw_admin_requests){.job = {.run = read_orders, .done = on_done},
                             .on_read = on_read,
                             .ctx = ctx,
                             .begun = cw_clock_wall_ms()};
    pthread_mutex_init(&o->lock, NULL);
}

void cw_admin_requests_done(cw_admin_requests *o)
{
    pthread_mutex_destroy(&o->lock);
    while (o->refreshes) {
        cw_admin_refresh *next = o->refreshes->next;
        free(o->refreshes);
        o->refreshes = next;
    }
}

cw_code cw_admin_requests_read(cw_admin_requests *o, cw_store *store)
{
    pthread_mutex_lock(&o->lock);
    /* One that has not ended yet runs after the change that we heard of: the store does one thing
     * at a time. */
    bool is_asked = o->is_asked;
    o->is_asked = true;
    pthread_mutex_unlock(&o->lock);
    if (is_asked)
        return CW_OK;
    cw_code rc = cw_store_ask(store, &o->job);
    if (rc) {
        pthread_mutex_lock(&o->lock);
        o->is_asked = false;
        pthread_mutex_unlock(&o->lock);
    }
    return rc;
}

bool cw_admin_requests_take(cw_admin_requests *o, void (*on_refresh)(cw_str name, void *ctx),
                            void *ctx, unsigned *ret_tags)
{
    pthread_mutex_lock(&o->lock);
    unsigned todo = o->todo;
    o->todo = 0;
    for (cw_admin_refresh *r = o->refreshes; r; r = r->next) {
        if (r->todo)
            on_refresh(cw_str_from(r->name), ctx);
        r->todo = false;
    }
    pthread_mutex_unlock(&o->lock);
    bool is_rebuild = todo & 1u;
    *ret_tags = is_rebuild ? CW_PAGE_CACHE_ALL_TAGS : todo >> 1;
    return is_rebuild;
}
