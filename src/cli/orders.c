/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/orders.h"

#include "base/clock.h"
#include "catalogue/cache.h"

/* Kind 0 is the rebuild, kind n the tag with bit n - 1. */
static bool kind_of(cw_str what, size_t *ret)
{
    unsigned tag = cw_cache_tag_find(what);
    *ret = 0;
    while (tag) {
        (*ret)++;
        tag >>= 1;
    }
    return *ret || cw_str_is(what, CW_ORDER_REBUILD);
}

static cw_code on_order(const cw_order *order, void *ctx, cw_err *err)
{
    cw_orders *o = ctx;
    size_t kind;
    (void)err;
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
    cw_orders *o = CW_CONTAINER(job, cw_orders, job);
    for (size_t i = 0; i < CW_ORDERS_KINDS; i++)
        o->fresh[i] = 0;
    return cw_db_each_order(db, on_order, o, err);
}

static void on_done(cw_store_job *job, cw_code rc)
{
    cw_orders *o = CW_CONTAINER(job, cw_orders, job);
    pthread_mutex_lock(&o->lock);
    o->is_asked = false;
    for (size_t i = 0; i < CW_ORDERS_KINDS && !rc; i++) {
        if (o->fresh[i] != o->n[i])
            o->todo |= 1u << i;
        o->n[i] = o->fresh[i];
    }
    o->was_read = o->was_read || !rc;
    bool has_some = o->todo != 0;
    pthread_mutex_unlock(&o->lock);
    if (has_some)
        o->on_read(o->ctx);
}

void cw_orders_init(cw_orders *o, void (*on_read)(void *ctx), void *ctx)
{
    *o = (cw_orders){.job = {.run = read_orders, .done = on_done},
                     .on_read = on_read,
                     .ctx = ctx,
                     .begun = cw_clock_wall_ms()};
    pthread_mutex_init(&o->lock, NULL);
}

void cw_orders_done(cw_orders *o)
{
    pthread_mutex_destroy(&o->lock);
}

cw_code cw_orders_read(cw_orders *o, cw_store *store)
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

bool cw_orders_take(cw_orders *o, unsigned *ret_tags)
{
    pthread_mutex_lock(&o->lock);
    unsigned todo = o->todo;
    o->todo = 0;
    pthread_mutex_unlock(&o->lock);
    bool is_rebuild = todo & 1u;
    *ret_tags = is_rebuild ? CW_CACHE_ALL_TAGS : todo >> 1;
    return is_rebuild;
}
