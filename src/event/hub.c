/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hub.c - rings of events, cursors, and the messages that wake loops. */
#include "event/hub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/random.h"
#include "metrics/names.h"
#include "net/addr/wasted_work.h"

#define BOOT_HEX 16u
#define NUMBER_HEX 16u
#define TOKEN_US 60000000u /* of one event at one per minute */

/* The watches of one loop. */
struct cw_event_loop {
    cw_event_hub *hub;
    cw_loop *loop; /* under the lock of the hub; NULL: no watch was added, or the loop has ended */
    cw_message bell;
    cw_loop_hook hook;
    cw_list watches; /* used by the loop only */
    atomic_uint n;
};

struct cw_event_type {
    cw_metrics_cached_slot slot; /* of the source */
    cw_list node;                /* under the lock of the hub */
    cw_event_hub *hub;
    unsigned refs;            /* likewise */
    cw_str source, name, uri; /* in `text` */
    pthread_mutex_t lock;     /* of the rules and the ring */
    cw_event_rules rules;
    cw_event **ring; /* rules.keep places */
    uint32_t first, n;
    size_t bytes;
    uint64_t lost; /* number of the last lost event; events up to it may be incomplete */
    _Atomic uint64_t last;
    uint64_t credit_us, filled_at;    /* of the rate limit: unused time, and when it was counted */
    atomic_bool is_updated, has_loss; /* the main loop has to report it */
    uint64_t told_at;                 /* the last report, ms of the main loop; 0: none */
    char text[];
};

struct cw_event_hub {
    cw_event_hub_opts opts;
    uint64_t boot;
    atomic_uint refs; /* of its owner, and of each type */
    _Atomic uint64_t number;
    _Atomic uint32_t steps;
    pthread_mutex_t lock;
    cw_list types;
    cw_wasted_work waste; /* of sources; under the lock */
    /* Updates, on the main loop. */
    cw_message updates;
    bool is_closed;
    cw_deadline_list calm;
    cw_deadline calm_end;
    struct cw_event_loop loops[]; /* those of the server, then the main one */
};

/* ---- numbers ---- */

static uint64_t next_number(cw_event_hub *hub)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t us = (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
    uint64_t last = atomic_load(&hub->number), next;
    do {
        next = us > last ? us : last + 1;
    } while (!atomic_compare_exchange_weak(&hub->number, &last, next));
    return next;
}

uint64_t cw_event_now(cw_event_hub *hub)
{
    return next_number(hub);
}

static void write_u64(char *out, uint64_t n)
{
    cw_hex_write_u32(out, (uint32_t)(n >> 32));
    cw_hex_write_u32(out + 8, (uint32_t)n);
}

static bool read_u64(const char *p, uint64_t *ret)
{
    uint64_t n = 0;
    for (size_t i = 0; i < NUMBER_HEX; i++) {
        int digit = cw_hex_value(p[i]);
        if (digit < 0)
            return false;
        n = n << 4 | (uint64_t)digit;
    }
    *ret = n;
    return true;
}

void cw_event_cursor_write(const cw_event_hub *hub, uint64_t number, char out[CW_EVENT_CURSOR])
{
    write_u64(out, hub->boot);
    out[BOOT_HEX] = '-';
    write_u64(out + BOOT_HEX + 1, number);
    out[CW_EVENT_CURSOR - 1] = '\0';
}

bool cw_event_cursor_parse(const cw_event_hub *hub, cw_str text, uint64_t *ret, bool *ret_is_old)
{
    uint64_t boot, number;
    if (text.n != CW_EVENT_CURSOR - 1 || text.p[BOOT_HEX] != '-' || !read_u64(text.p, &boot) ||
        !read_u64(text.p + BOOT_HEX + 1, &number))
        return false;
    *ret_is_old = boot != hub->boot;
    *ret = *ret_is_old || number == 0 ? 1 : number;
    return true;
}

/* ---- events ---- */

cw_event *cw_event_ref(cw_event *event)
{
    atomic_fetch_add_explicit(&event->refs, 1, memory_order_relaxed);
    return event;
}

void cw_event_unref(cw_event *event)
{
    if (event && atomic_fetch_sub_explicit(&event->refs, 1, memory_order_acq_rel) == 1)
        free(event);
}

static cw_event *event_new(const cw_event_hub *hub, const cw_event_news *news, uint64_t number)
{
    char own[CW_EVENT_CURSOR];
    cw_str id = news->id;
    if (id.n == 0) {
        cw_event_cursor_write(hub, number, own);
        id = cw_str_make(own, CW_EVENT_CURSOR - 1);
    }
    cw_event *event = malloc(sizeof *event + id.n + news->data.n);
    if (!event)
        return NULL;
    int64_t now = cw_clock_wall_ms();
    *event = (cw_event){.number = number,
                        .time = news->time ? news->time : now,
                        .arrived = now,
                        .id = {event->bytes, id.n},
                        .data = {event->bytes + id.n, news->data.n}};
    atomic_init(&event->refs, 1);
    memcpy(event->bytes, id.p, id.n);
    memcpy(event->bytes + id.n, news->data.p, news->data.n);
    return event;
}

/* ---- the ring, under the lock of its type ---- */

static cw_event *event_at(const cw_event_type *type, uint32_t i)
{
    return type->ring[(type->first + i) % type->rules.keep];
}

static size_t size_of(const cw_event *event)
{
    return sizeof *event + event->id.n + event->data.n;
}

static void evict_first(cw_event_type *type)
{
    cw_event *event = type->ring[type->first];
    type->first = (type->first + 1) % type->rules.keep;
    type->n--;
    type->bytes -= size_of(event);
    /* A later event may have been lost without being stored. Its number is higher. */
    if (type->lost < event->number)
        type->lost = event->number;
    cw_event_unref(event);
}

static void evict_old(cw_event_type *type)
{
    int64_t oldest = cw_clock_wall_ms() - (int64_t)type->rules.max_age;
    while (type->n && event_at(type, 0)->arrived < oldest)
        evict_first(type);
}

static bool is_repeated(const cw_event_type *type, cw_str id)
{
    for (uint32_t i = type->n; id.n && i > 0; i--) {
        if (cw_str_eq(event_at(type, i - 1)->id, id))
            return true;
    }
    return false;
}

/* Take the credit for one event. Elapsed time is credit, at most one minute. */
static bool spend(cw_event_type *type)
{
    uint64_t now = cw_clock_ns() / 1000u, cost = TOKEN_US / type->rules.per_minute;
    type->credit_us += now - type->filled_at;
    type->filled_at = now;
    if (type->credit_us > TOKEN_US)
        type->credit_us = TOKEN_US;
    if (type->credit_us < cost)
        return false;
    type->credit_us -= cost;
    return true;
}

static void append(cw_event_type *type, cw_event *event)
{
    size_t size = size_of(event);
    while (type->n && (type->n == type->rules.keep || type->bytes + size > CW_EVENT_KEPT_BYTES))
        evict_first(type);
    type->ring[(type->first + type->n) % type->rules.keep] = event;
    type->n++;
    type->bytes += size;
}

/* ---- publishing, reading, watching ---- */

static void ring_bells(cw_event_hub *hub)
{
    pthread_mutex_lock(&hub->lock);
    for (unsigned i = 0; i <= hub->opts.n_loops; i++) {
        struct cw_event_loop *home = &hub->loops[i];
        if (home->loop && atomic_load(&home->n))
            cw_loop_notify(home->loop, &home->bell);
    }
    pthread_mutex_unlock(&hub->lock);
}

/* Set a flag of a type, and wake the main loop, which clears it. */
static void tell_soon(cw_event_hub *hub, atomic_bool *mark)
{
    if (atomic_exchange(mark, true))
        return;
    pthread_mutex_lock(&hub->lock);
    if (!hub->is_closed)
        cw_loop_notify(hub->opts.main, &hub->updates);
    pthread_mutex_unlock(&hub->lock);
}

static uint32_t slot_of(cw_event_type *type)
{
    return cw_metrics_cached(&type->slot, CW_METRICS_SOURCE, type->source);
}

static void count_dropped(cw_event_type *type, cw_metrics_event_drop reason)
{
    cw_metrics_count(CW_METRIC_EVENTS_DROPPED, slot_of(type), reason, 0);
}

static void count_published(cw_event_type *type, cw_code rc)
{
    if (!rc)
        cw_metrics_count(CW_METRIC_EVENTS_PUBLISHED, slot_of(type), 0, 0);
    else
        count_dropped(type, rc == CW_DECLINED ? CW_EVENT_DROP_REPEATED : CW_EVENT_DROP_MEMORY);
}

void cw_event_count_delivered(cw_event_type *type, cw_metrics_event_mode mode, size_t n)
{
    if (n)
        cw_metrics_add(CW_METRIC_EVENTS_DELIVERED, slot_of(type), mode, 0, (int64_t)n);
}

static void count_subscriber(const cw_event_watch *w, int64_t n)
{
    cw_metrics_add(CW_METRIC_EVENT_SUBSCRIBERS, slot_of(w->type), w->mode, 0, n);
}

cw_code cw_event_admit(cw_event_type *type, const cw_event_news *news)
{
    cw_code rc = CW_OK;
    pthread_mutex_lock(&type->lock);
    evict_old(type);
    if (is_repeated(type, news->id))
        rc = CW_DECLINED;
    else if (!spend(type) || news->data.n > CW_EVENT_MAX_BYTES || news->id.n > CW_EVENT_MAX_ID)
        rc = CW_LIMIT;
    if (rc == CW_LIMIT)
        type->lost = next_number(type->hub);
    pthread_mutex_unlock(&type->lock);
    if (rc)
        count_dropped(type, rc == CW_LIMIT ? CW_EVENT_DROP_LIMIT : CW_EVENT_DROP_REPEATED);
    if (rc == CW_LIMIT)
        tell_soon(type->hub, &type->has_loss);
    return rc;
}

cw_code cw_event_publish(cw_event_type *type, const cw_event_news *news)
{
    cw_code rc = CW_OK;
    cw_event *event = NULL;
    pthread_mutex_lock(&type->lock);
    uint64_t number = next_number(type->hub);
    if (is_repeated(type, news->id))
        rc = CW_DECLINED;
    else if (!(event = event_new(type->hub, news, number)))
        rc = CW_NOMEM;
    if (event) {
        append(type, event);
        atomic_store(&type->last, number);
    } else if (rc != CW_DECLINED) {
        /* Earlier events stay in the ring. A reader that has read them learns of the gap. */
        type->lost = number;
    }
    pthread_mutex_unlock(&type->lock);
    count_published(type, rc);
    if (event)
        ring_bells(type->hub);
    if (rc != CW_DECLINED)
        tell_soon(type->hub, event ? &type->is_updated : &type->has_loss);
    return rc;
}

void cw_event_gap(cw_event_type *type)
{
    pthread_mutex_lock(&type->lock);
    type->lost = next_number(type->hub);
    pthread_mutex_unlock(&type->lock);
    tell_soon(type->hub, &type->has_loss);
}

void cw_event_drop(cw_event_type *type, cw_metrics_event_drop reason)
{
    count_dropped(type, reason);
    cw_event_gap(type);
}

void cw_event_read(cw_event_type *type, uint64_t after, size_t max, cw_event_batch *ret)
{
    ret->n = 0;
    pthread_mutex_lock(&type->lock);
    evict_old(type);
    uint32_t i = 0;
    if (max > CW_EVENT_BATCH)
        max = CW_EVENT_BATCH;
    if (after == 0 && type->n > max)
        i = type->n - (uint32_t)max;
    while (i < type->n && event_at(type, i)->number <= after)
        i++;
    while (i < type->n && ret->n < max)
        ret->items[ret->n++] = cw_event_ref(event_at(type, i++));
    ret->is_truncated = after && after < type->lost;
    ret->lost = type->lost;
    ret->has_more = i < type->n;
    uint64_t last = atomic_load(&type->last);
    if (type->lost > last)
        last = type->lost;
    ret->cursor = ret->has_more ? ret->items[ret->n - 1]->number : last > after ? last : after;
    pthread_mutex_unlock(&type->lock);
}

void cw_event_batch_done(cw_event_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++)
        cw_event_unref(batch->items[i]);
    batch->n = 0;
}

static void on_bell(cw_message *message)
{
    struct cw_event_loop *home = CW_CONTAINER(message, struct cw_event_loop, bell);
    cw_list old;
    cw_list_init(&old);
    cw_list_move(&home->watches, &home->watches, &old);
    for (cw_list *node; (node = cw_list_take_first(&old));) {
        cw_event_watch *w = CW_CONTAINER(node, cw_event_watch, node);
        cw_list_add(&home->watches, node);
        uint64_t last = atomic_load(&w->type->last);
        if (last <= w->seen)
            continue;
        w->seen = last;
        w->on_news(w);
    }
}

static void on_loop_end(cw_loop_hook *hook)
{
    struct cw_event_loop *home = CW_CONTAINER(hook, struct cw_event_loop, hook);
    pthread_mutex_lock(&home->hub->lock);
    home->loop = NULL;
    pthread_mutex_unlock(&home->hub->lock);
}

static struct cw_event_loop *home_of(cw_event_hub *hub, cw_loop *loop)
{
    struct cw_event_loop *home =
        &hub->loops[loop == hub->opts.main ? hub->opts.n_loops : loop->index];
    if (home->loop) /* only this thread sets it */
        return home;
    home->hook.on_end = on_loop_end;
    cw_loop_add_hook(loop, &home->hook);
    pthread_mutex_lock(&hub->lock);
    home->loop = loop;
    pthread_mutex_unlock(&hub->lock);
    return home;
}

void cw_event_watch_add(cw_event_type *type, cw_loop *loop, uint64_t after, cw_event_watch *w)
{
    struct cw_event_loop *home = home_of(type->hub, loop);
    w->home = home;
    w->type = cw_event_type_ref(type);
    w->seen = after;
    cw_list_add(&home->watches, &w->node);
    atomic_fetch_add(&home->n, 1);
    count_subscriber(w, 1);
    /* An event may have arrived between the owner's read and this. */
    if (atomic_load(&type->last) > after)
        cw_loop_notify(loop, &home->bell);
}

void cw_event_watch_remove(cw_event_watch *w)
{
    if (!cw_list_is_in(&w->node))
        return;
    cw_list_remove(&w->node);
    atomic_fetch_sub(&w->home->n, 1);
    count_subscriber(w, -1);
    cw_event_type_unref(w->type);
    w->type = NULL;
}

/* ---- updates of resources, and losses, on the main loop ---- */

static void on_calm(cw_deadline *d)
{
    cw_event_hub *hub = CW_CONTAINER(d, cw_event_hub, calm_end);
    cw_loop_notify(hub->opts.main, &hub->updates);
}

/* A type whose update or loss may be reported now, with a reference; NULL: none. The report runs
 * without the lock. */
static cw_event_type *take_updated(cw_event_hub *hub, uint64_t now, bool *ret_is_waiting)
{
    CW_LIST_EACH (node, &hub->types) {
        cw_event_type *type = CW_CONTAINER(node, cw_event_type, node);
        if (!atomic_load(&type->is_updated) && !atomic_load(&type->has_loss))
            continue;
        if (type->told_at && now - type->told_at < CW_EVENT_UPDATE_MS) {
            *ret_is_waiting = true;
            continue;
        }
        type->told_at = now ? now : 1;
        type->refs++;
        return type;
    }
    return NULL;
}

/* Wake the watches of a type: their next read shows the gap. An event after the loss has woken
 * them already. */
static void wake_for_loss(cw_event_hub *hub, cw_event_type *type)
{
    pthread_mutex_lock(&type->lock);
    bool is_news = type->lost > atomic_load(&type->last);
    if (is_news)
        atomic_store(&type->last, type->lost);
    pthread_mutex_unlock(&type->lock);
    if (is_news)
        ring_bells(hub);
}

static void tell(cw_event_hub *hub, cw_event_type *type)
{
    if (atomic_exchange(&type->has_loss, false))
        wake_for_loss(hub, type);
    if (atomic_exchange(&type->is_updated, false) && hub->opts.updated)
        hub->opts.updated(hub->opts.ctx, type->uri);
}

static void on_updates(cw_message *message)
{
    cw_event_hub *hub = CW_CONTAINER(message, cw_event_hub, updates);
    bool is_waiting = false;
    if (hub->is_closed)
        return;
    for (;;) {
        pthread_mutex_lock(&hub->lock);
        cw_event_type *type = take_updated(hub, cw_loop_now(hub->opts.main), &is_waiting);
        pthread_mutex_unlock(&hub->lock);
        if (!type)
            break;
        tell(hub, type);
        cw_event_type_unref(type);
    }
    if (is_waiting && !hub->calm_end.list)
        cw_loop_set_deadline(hub->opts.main, &hub->calm_end, &hub->calm);
}

/* ---- types ---- */

static cw_event_type *find_type(const cw_event_hub *hub, cw_str source, cw_str name)
{
    CW_LIST_EACH (node, &hub->types) {
        cw_event_type *type = CW_CONTAINER(node, cw_event_type, node);
        if (cw_str_eq(type->source, source) && cw_str_eq(type->name, name))
            return type;
    }
    return NULL;
}

static cw_event_type *type_new(cw_event_hub *hub, cw_str source, cw_str name,
                               const cw_event_rules *rules)
{
    size_t n_uri = sizeof "events:///" - 1 + source.n + name.n;
    cw_event_type *type = calloc(1, sizeof *type + n_uri + 1);
    cw_event **ring = calloc(rules->keep, sizeof *ring);
    if (!type || !ring) {
        free(type);
        free(ring);
        return NULL;
    }
    snprintf(type->text, n_uri + 1, "events://%.*s/%.*s", CW_STR_ARG(source), CW_STR_ARG(name));
    type->uri = cw_str_make(type->text, n_uri);
    type->source = cw_str_make(type->text + sizeof "events://" - 1, source.n);
    type->name = cw_str_make(type->text + n_uri - name.n, name.n);
    type->hub = hub;
    atomic_fetch_add(&hub->refs, 1);
    type->refs = 1;
    type->ring = ring;
    type->rules = *rules;
    type->lost = next_number(hub); /* earlier events are unknown */
    type->credit_us = TOKEN_US;
    type->filled_at = cw_clock_ns() / 1000u;
    pthread_mutex_init(&type->lock, NULL);
    return type;
}

/* Use other rules. Without memory only `keep` stays as it was. */
static cw_code set_rules(cw_event_type *type, const cw_event_rules *rules)
{
    cw_code rc = CW_OK;
    pthread_mutex_lock(&type->lock);
    if (rules->keep != type->rules.keep) {
        cw_event **ring = calloc(rules->keep, sizeof *ring);
        while (ring && type->n > rules->keep)
            evict_first(type);
        for (uint32_t i = 0; ring && i < type->n; i++)
            ring[i] = event_at(type, i);
        rc = ring ? CW_OK : CW_NOMEM;
        if (ring) {
            free(type->ring);
            type->ring = ring;
            type->first = 0;
            type->rules.keep = rules->keep;
        }
    }
    type->rules.max_age = rules->max_age;
    type->rules.per_minute = rules->per_minute;
    pthread_mutex_unlock(&type->lock);
    return rc;
}

cw_code cw_event_open(cw_event_hub *hub, cw_str source, cw_str name, const cw_event_rules *rules,
                      cw_event_type **ret, cw_err *err)
{
    cw_code rc = CW_OK;
    pthread_mutex_lock(&hub->lock);
    cw_event_type *type = find_type(hub, source, name);
    if (type) {
        rc = set_rules(type, rules);
        type->refs += rc == CW_OK;
    } else if ((type = type_new(hub, source, name, rules))) {
        cw_list_add(&hub->types, &type->node);
    } else {
        rc = CW_NOMEM;
    }
    pthread_mutex_unlock(&hub->lock);
    if (rc)
        return cw_fail_nomem(err);
    *ret = type;
    return CW_OK;
}

cw_event_type *cw_event_type_ref(cw_event_type *type)
{
    pthread_mutex_lock(&type->hub->lock);
    type->refs++;
    pthread_mutex_unlock(&type->hub->lock);
    return type;
}

void cw_event_type_unref(cw_event_type *type)
{
    if (!type)
        return;
    cw_event_hub *hub = type->hub;
    pthread_mutex_lock(&hub->lock);
    bool is_last = --type->refs == 0;
    if (is_last)
        cw_list_remove(&type->node);
    pthread_mutex_unlock(&hub->lock);
    if (!is_last)
        return;
    while (type->n)
        evict_first(type);
    pthread_mutex_destroy(&type->lock);
    free(type->ring);
    free(type);
    cw_event_hub_free(hub);
}

cw_event_hub *cw_event_type_hub(const cw_event_type *type)
{
    return type->hub;
}

int64_t cw_event_type_steps(const cw_event_type *type)
{
    cw_event_hub *hub = type->hub;
    int64_t whole = atomic_load(&hub->steps);
    pthread_mutex_lock(&hub->lock);
    int64_t steps = cw_wasted_work_ceiling(&hub->waste, type->source, whole);
    pthread_mutex_unlock(&hub->lock);
    return steps;
}

void cw_event_type_add_waste(const cw_event_type *type, int64_t spent)
{
    cw_event_hub *hub = type->hub;
    int64_t whole = atomic_load(&hub->steps);
    pthread_mutex_lock(&hub->lock);
    cw_wasted_work_add(&hub->waste, type->source, whole, spent);
    pthread_mutex_unlock(&hub->lock);
}

cw_str cw_event_type_source(const cw_event_type *type)
{
    return type->source;
}

cw_str cw_event_type_name(const cw_event_type *type)
{
    return type->name;
}

cw_str cw_event_type_uri(const cw_event_type *type)
{
    return type->uri;
}

/* ---- lifetime ---- */

cw_code cw_event_hub_new(const cw_event_hub_opts *opts, cw_event_hub **ret, cw_err *err)
{
    cw_event_hub *hub = calloc(1, sizeof *hub + (opts->n_loops + 1) * sizeof hub->loops[0]);
    if (!hub)
        return cw_fail_nomem(err);
    cw_code rc = cw_random_bytes(&hub->boot, sizeof hub->boot, err);
    if (rc) {
        free(hub);
        return rc;
    }
    hub->opts = *opts;
    atomic_init(&hub->refs, 1);
    atomic_init(&hub->steps, opts->validation_steps);
    pthread_mutex_init(&hub->lock, NULL);
    cw_list_init(&hub->types);
    hub->updates.fn = on_updates;
    cw_deadline_list_init(&hub->calm, CW_EVENT_UPDATE_MS, on_calm);
    cw_loop_watch(opts->main, &hub->calm);
    for (unsigned i = 0; i <= opts->n_loops; i++) {
        hub->loops[i].hub = hub;
        hub->loops[i].bell.fn = on_bell;
        cw_list_init(&hub->loops[i].watches);
    }
    *ret = hub;
    return CW_OK;
}

void cw_event_hub_set_steps(cw_event_hub *hub, uint32_t validation_steps)
{
    atomic_store(&hub->steps, validation_steps);
}

void cw_event_hub_close(cw_event_hub *hub)
{
    if (!hub || hub->is_closed)
        return;
    pthread_mutex_lock(&hub->lock);
    hub->is_closed = true;
    pthread_mutex_unlock(&hub->lock);
    cw_deadline_clear(&hub->calm_end);
    cw_loop_unwatch(hub->opts.main, &hub->calm);
}

void cw_event_hub_free(cw_event_hub *hub)
{
    if (!hub || atomic_fetch_sub(&hub->refs, 1) != 1)
        return;
    pthread_mutex_destroy(&hub->lock);
    free(hub);
}
