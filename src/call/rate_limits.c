/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rate_limits.c - rates of calls and lists, and limits of running calls. */
#include "call/rate_limits.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "access/fair_key.h"
#include "base/assoc.h"
#include "base/limits.h"
#include "base/map.h"
#include "call/call.h"
#include "metrics/metrics.h"
#include "net/addr/network.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
/* The time at which a slot becomes free is unknown. */
#define BUSY_RETRY_S 1u

/* ---- buckets and meters ----
 *
 * `buckets` is for names that clients choose (callers, addresses): a table of fixed size. If a set
 * is full, a new name takes over the bucket that is nearest to full, with its level. So invented
 * names do not get full buckets.
 *
 * `meters` is for names from the catalogue (tools, sources). They are never dropped, and also have
 * the places of running calls.
 */

typedef cw_bucket bucket;

typedef struct bucket_entry {
    atomic_uint_fast64_t key; /* 0: free */
    bucket bucket;
} bucket_entry;

typedef struct buckets {
    bucket_entry *entries; /* NULL: none */
} buckets;

typedef struct meter {
    atomic_uint_fast64_t key; /* 0: free */
    bucket bucket;
    _Atomic(cw_fair_turns *) running; /* NULL: none was limited yet */
} meter;

typedef struct meters {
    meter *items;
} meters;

/* `n` each `period_ms`, and `burst` at once. n 0: no limit. */
static cw_rate rate_make(uint32_t n, uint64_t period_ms, uint32_t burst)
{
    if (n == 0)
        return (cw_rate){0};
    uint64_t interval = period_ms * NS_PER_MS / n;
    if (interval == 0)
        interval = 1;
    return (cw_rate){.interval_ns = interval, .depth_ns = interval * (burst ? burst - 1 : 0)};
}

/* ---- names that clients choose ---- */

/* Never 0, which is a free place. */
static uint64_t key_of(cw_str name)
{
    uint64_t key = cw_hash(name);
    return key ? key : 1;
}

static cw_code buckets_init(buckets *t, cw_err *err)
{
    t->entries = calloc(CW_BUCKETS_MAX, sizeof *t->entries);
    return t->entries ? CW_OK : cw_fail_nomem(err);
}

static void buckets_done(buckets *t)
{
    free(t->entries);
    t->entries = NULL;
}

static bool is_of_key(const void *e, const void *key)
{
    return atomic_load_explicit(&((const bucket_entry *)e)->key, memory_order_relaxed) ==
           *(const uint64_t *)key;
}

/* The bucket that is nearest to full is replaced first. */
static uint64_t full_at(const void *e)
{
    return atomic_load_explicit(&((const bucket_entry *)e)->bucket.full, memory_order_relaxed);
}

static const cw_assoc bucket_table = {sizeof(bucket_entry), CW_BUCKETS_MAX, 8, is_of_key, full_at};

/* The bucket of a name; another name may have used it before. */
static bucket *buckets_find(buckets *t, cw_str name)
{
    uint64_t key = key_of(name);
    bucket_entry *e = cw_assoc_find(&bucket_table, t->entries, key, &key);
    if (e)
        return &e->bucket;
    /* Two loops may make room for one name at once: it has two buckets then, until one of them
     * is the oldest of its set. */
    e = cw_assoc_victim(&bucket_table, t->entries, key);
    atomic_store_explicit(&e->key, key, memory_order_relaxed);
    cw_bucket_reset_share(&e->bucket);
    return &e->bucket;
}

/* ---- names that the catalogue chooses ---- */

static cw_code meters_init(meters *t, cw_err *err)
{
    t->items = calloc(CW_METERS_MAX, sizeof *t->items);
    return t->items ? CW_OK : cw_fail_nomem(err);
}

static void turns_free(cw_fair_turns *turns)
{
    if (turns)
        cw_fair_turns_done(turns);
    free(turns);
}

static void meters_done(meters *t)
{
    for (uint32_t i = 0; t->items && i < CW_METERS_MAX; i++)
        turns_free(atomic_load_explicit(&t->items[i].running, memory_order_relaxed));
    free(t->items);
    t->items = NULL;
}

/* The meter of a name, created at the first call; NULL: too many names. */
static meter *meters_find(meters *t, cw_str name)
{
    uint64_t key = key_of(name);
    for (uint32_t i = 0; i < CW_METERS_MAX; i++) {
        meter *m = &t->items[(key + i) % CW_METERS_MAX];
        uint_fast64_t found = atomic_load_explicit(&m->key, memory_order_relaxed);
        /* If another thread was faster, `found` is its key. */
        if (found == 0 && atomic_compare_exchange_strong(&m->key, &found, key))
            return m;
        if (found == key)
            return m;
    }
    return NULL;
}

/* The places of running calls, made at the first call that needs one; NULL: no memory. */
static cw_fair_turns *turns_of(meter *m)
{
    cw_fair_turns *found = atomic_load_explicit(&m->running, memory_order_acquire);
    if (CW_LIKELY(found != NULL))
        return found;
    cw_fair_turns *turns = malloc(sizeof *turns);
    if (!turns)
        return NULL;
    cw_fair_turns_init(turns);
    if (atomic_compare_exchange_strong(&m->running, &found, turns))
        return turns;
    turns_free(turns); /* another thread was faster */
    return found;
}

/* ---- configuration ---- */

static cw_rate rate_of(const cw_config_rate *rate)
{
    return rate_make(rate->n, rate->period_ms, rate->burst);
}

cw_rate_limits cw_rate_limits_of(const cw_config *config)
{
    cw_rate_limits limits = {
        .global = rate_of(&config->limits.rates.global),
        .address = rate_of(&config->limits.rates.address),
        .caller = rate_of(&config->limits.rates.caller),
        .tool = rate_of(&config->limits.rates.tool),
        .lists = rate_of(&config->limits.rates.lists),
        .calls_per_tool = config->limits.calls_per_tool,
        .calls_per_source = config->limits.calls_per_source,
        .detached = config->limits.detached_calls,
        .detached_per_caller = config->limits.detached_calls_per_caller,
        .tools = config->limits.tools,
        .sources = config->limits.sources,
    };
    limits.is_any = limits.global.interval_ns || limits.address.interval_ns ||
                    limits.caller.interval_ns || limits.tool.interval_ns || limits.calls_per_tool ||
                    limits.calls_per_source || limits.tools.n || limits.sources.n;
    return limits;
}

/* The entry of its own, or NULL. There are few of them. */
static const cw_config_limited *find_limited(const cw_config_limiteds *list, cw_str a, cw_str b)
{
    for (size_t i = 0; i < list->n; i++) {
        if (cw_str_eq(list->items[i].name, a) || cw_str_eq(list->items[i].name, b))
            return &list->items[i];
    }
    return NULL;
}

/* ---- counting ---- */

struct cw_limiter {
    cw_bucket_share *share; /* NULL: not shared */
    bucket global;
    buckets addresses, callers, lists;
    meters tools, sources;
    cw_fair_slots detached;
};

void cw_limiter_free(cw_limiter *l)
{
    if (!l)
        return;
    buckets_done(&l->addresses);
    buckets_done(&l->callers);
    buckets_done(&l->lists);
    meters_done(&l->tools);
    meters_done(&l->sources);
    cw_fair_slots_done(&l->detached);
    free(l);
}

cw_code cw_limiter_new(cw_limiter **ret, cw_err *err)
{
    cw_limiter *l = calloc(1, sizeof *l);
    if (!l)
        return cw_fail_nomem(err);
    cw_fair_slots_init(&l->detached);
    cw_code rc = buckets_init(&l->addresses, err);
    if (!rc)
        rc = buckets_init(&l->callers, err);
    if (!rc)
        rc = buckets_init(&l->lists, err);
    if (!rc)
        rc = meters_init(&l->tools, err);
    if (!rc)
        rc = meters_init(&l->sources, err);
    if (rc) {
        cw_limiter_free(l);
        return rc;
    }
    *ret = l;
    return CW_OK;
}

void cw_limiter_set_share(cw_limiter *l, cw_bucket_share *share)
{
    l->share = share;
}

void cw_limiter_leave(cw_limiter_slot *place)
{
    cw_fair_turns_leave(place->tool_in, place->tool);
    cw_fair_turns_leave(place->source_in, place->source);
    cw_fair_slots_leave(place->detached_in, place->detached);
    cw_fair_slots_leave(place->crowd_in, place->crowd);
    *place = (cw_limiter_slot){0};
}

/* The tokens that one call takes. */
typedef struct tokens {
    struct {
        bucket *bucket;
        cw_rate rate;
        const char *whose; /* for the text; NULL: the method's */
        cw_str name;
        cw_metrics_limit limit;
    } items[4];
    size_t n;
} tokens;

static void add_token(tokens *t, bucket *from, cw_str name, cw_rate rate, const char *whose,
                      cw_metrics_limit limit)
{
    t->items[t->n].name = name;
    t->items[t->n].bucket = from;
    t->items[t->n].limit = limit;
    t->items[t->n].rate = rate;
    t->items[t->n++].whose = whose;
}

/* A text that a model can make something of. */
static cw_code refuse(const char *whose, cw_str name, uint32_t seconds, cw_err *err)
{
    if (!whose)
        return cw_fail(err, CW_LIMIT, "Too many calls of %.*s: try again in %u s", CW_STR_ARG(name),
                       seconds);
    return cw_fail(err, CW_LIMIT, "Too many calls %s: try again in %u s", whose, seconds);
}

static uint32_t seconds_of(uint64_t ns)
{
    uint64_t seconds = (ns + NS_PER_S - 1) / NS_PER_S;
    return seconds < UINT32_MAX ? (uint32_t)seconds : UINT32_MAX;
}

/* The same name on all servers. */
static void report_one(cw_limiter *l, const tokens *t, size_t i, uint64_t now)
{
    cw_bucket_report(l->share, t->items[i].bucket, t->items[i].rate,
                     (char)('a' + (int)t->items[i].limit), t->items[i].name, now);
}

static void report(cw_limiter *l, const tokens *t, uint64_t now)
{
    for (size_t i = 0; i < t->n; i++)
        report_one(l, t, i, now);
}

/* All of them, or none. */
static cw_code take_tokens(cw_limiter *l, const tokens *t, cw_str name, uint64_t now,
                           uint32_t *ret_retry_s, cw_err *err)
{
    for (size_t i = 0; i < t->n; i++) {
        uint64_t wait = cw_bucket_take(l->share, t->items[i].bucket, t->items[i].rate, now);
        if (wait == 0)
            continue;
        if (CW_UNLIKELY(l->share != NULL))
            report_one(l, t, i, now);
        for (size_t j = 0; j < i; j++)
            cw_bucket_give(l->share, t->items[j].bucket, t->items[j].rate);
        *ret_retry_s = seconds_of(wait);
        cw_metrics_count(CW_METRIC_RATE_LIMITED, t->items[i].limit, 0, 0);
        return refuse(t->items[i].whose, name, *ret_retry_s, err);
    }
    if (CW_UNLIKELY(l->share != NULL))
        report(l, t, now);
    return CW_OK;
}

cw_code cw_limiter_detach(cw_limiter *l, const cw_rate_limits *limits, const cw_fair_key *key,
                          cw_limiter_slot *ret, uint32_t *ret_retry_s, cw_err *err)
{
    uint32_t max = limits->detached ? limits->detached : CW_CALL_MAX_DETACHED;
    uint32_t each =
        limits->detached_per_caller ? limits->detached_per_caller : CW_CALL_MAX_DETACHED_PER_CALLER;
    cw_code rc = cw_fair_slots_enter(&l->detached, key, max, each, &ret->detached);
    ret->detached_in = &l->detached;
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    *ret_retry_s = BUSY_RETRY_S;
    if (rc)
        cw_metrics_count(CW_METRIC_RATE_LIMITED, CW_LIMITED_DETACHED, 0, 0);
    return rc ? cw_fail(err, rc,
                        "Too many calls without a waiting client are running: try again "
                        "in %u s",
                        BUSY_RETRY_S)
              : CW_OK;
}

cw_code cw_limiter_enter_crowded(cw_fair_slots *crowd, const cw_fair_key *key, uint32_t left,
                                 cw_limiter_slot *ret)
{
    /* Calls that began before the crowd have no place there, but what they leave is free too. */
    uint32_t max = crowd->groups.n + left;
    ret->crowd_in = crowd;
    return cw_fair_slots_enter(crowd, key, max, /* each= */ 0, &ret->crowd);
}

/* The limits that apply to one call. */
typedef struct counted {
    const cw_method *method;
    meter *tool, *source; /* NULL: not counted */
    cw_rate rate;
    uint32_t calls, source_calls;
} counted;

static counted count(cw_limiter *l, const cw_rate_limits *limits, const cw_entry *entry)
{
    counted c = {.method = entry->method,
                 .rate = limits->tool,
                 .calls = limits->calls_per_tool,
                 .source_calls = limits->calls_per_source};
    cw_str source = c.method->source->name;
    const cw_config_limited *own = find_limited(&limits->tools, c.method->id, entry->tool_name);
    if (own && own->rate.n)
        c.rate = rate_of(&own->rate);
    if (own && own->calls)
        c.calls = own->calls;
    own = find_limited(&limits->sources, source, source);
    if (own && own->calls)
        c.source_calls = own->calls;
    if (c.calls || c.rate.interval_ns)
        c.tool = meters_find(&l->tools, c.method->id);
    if (c.source_calls)
        c.source = meters_find(&l->sources, source);
    return c;
}

static cw_code take_place(meter *m, uint32_t max, const cw_fair_key *key, uint64_t now,
                          cw_fair_turns **ret_in, cw_fair_group **ret)
{
    *ret_in = turns_of(m);
    return *ret_in ? cw_fair_turns_enter(*ret_in, key, max, now, ret) : CW_NOMEM;
}

/* The error of a call that finds no place of its tool or source. */
static cw_code fail_place(cw_code rc, cw_metrics_limit limit, const char *what, cw_str name,
                          uint32_t *ret_retry_s, cw_err *err)
{
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    cw_metrics_count(CW_METRIC_RATE_LIMITED, limit, 0, 0);
    *ret_retry_s = BUSY_RETRY_S;
    return cw_fail(err, CW_LIMIT, "Too many calls of %s%.*s are running: try again in %u s", what,
                   CW_STR_ARG(name), BUSY_RETRY_S);
}

static cw_code take_places(const counted *c, const cw_call_request *request, uint64_t now,
                           cw_limiter_slot *ret, uint32_t *ret_retry_s, cw_err *err)
{
    bool has_tool = c->tool && c->calls;
    if (!has_tool && !c->source)
        return CW_OK;
    cw_fair_key key = cw_caller_fair_key(cw_view_caller(request->view), request->peer);
    cw_code rc = CW_OK;
    if (has_tool)
        rc = take_place(c->tool, c->calls, &key, now, &ret->tool_in, &ret->tool);
    if (rc)
        return fail_place(rc, CW_LIMITED_CALLS_PER_TOOL, "", c->method->id, ret_retry_s, err);
    if (!c->source)
        return CW_OK;
    rc = take_place(c->source, c->source_calls, &key, now, &ret->source_in, &ret->source);
    if (!rc)
        return CW_OK;
    cw_limiter_leave(ret);
    return fail_place(rc, CW_LIMITED_CALLS_PER_SOURCE, "the source ", c->method->source->name,
                      ret_retry_s, err);
}

cw_code cw_limiter_enter(cw_limiter *l, const cw_rate_limits *limits,
                         const cw_call_request *request, uint64_t now, cw_limiter_slot *ret,
                         uint32_t *ret_retry_s, cw_err *err)
{
    char network[CW_NETWORK_TEXT];
    const cw_caller *caller = cw_view_caller(request->view);
    counted c = count(l, limits, request->entry);
    tokens t = {.n = 0};
    cw_code rc = take_places(&c, request, now, ret, ret_retry_s, err);
    if (rc)
        return rc;
    if (c.tool)
        add_token(&t, &c.tool->bucket, c.method->id, c.rate, NULL, CW_LIMITED_TOOL);
    if (limits->caller.interval_ns && !cw_caller_is_anonymous(caller))
        add_token(&t, buckets_find(&l->callers, cw_caller_id(caller)), cw_caller_id(caller),
                  limits->caller, "by this caller", CW_LIMITED_CALLER);
    if (limits->address.interval_ns && request->peer.n) {
        cw_str address = cw_network_text(request->peer, 0, network);
        add_token(&t, buckets_find(&l->addresses, address), address, limits->address,
                  "from this address", CW_LIMITED_ADDRESS);
    }
    add_token(&t, &l->global, CW_STR(""), limits->global, "to this server", CW_LIMITED_GLOBAL);
    rc = take_tokens(l, &t, c.method->id, now, ret_retry_s, err);
    if (rc)
        cw_limiter_leave(ret);
    return rc;
}

cw_code cw_limiter_may_list(cw_limiter *l, const cw_rate_limits *limits, const cw_caller *caller,
                            cw_str peer, uint64_t now, uint32_t *ret_retry_s, cw_err *err)
{
    char network[CW_NETWORK_TEXT];
    bool is_anonymous = cw_caller_is_anonymous(caller);
    cw_str name = is_anonymous ? cw_network_text(peer, 0, network) : cw_caller_id(caller);
    bucket *b = buckets_find(&l->lists, name);
    uint64_t wait = cw_bucket_take(l->share, b, limits->lists, now);
    cw_bucket_report(l->share, b, limits->lists, 'a' + CW_LIMITED_LISTS, name, now);
    if (!wait)
        return CW_OK;
    *ret_retry_s = seconds_of(wait);
    cw_metrics_count(CW_METRIC_RATE_LIMITED, CW_LIMITED_LISTS, 0, 0);
    return cw_fail(err, CW_LIMIT, "Too many lists and descriptions %s: try again in %u s",
                   is_anonymous ? "for this address" : "for this caller", *ret_retry_s);
}
