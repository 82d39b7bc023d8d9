/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cimd_cache.c - documents of clients: one fetch for all who wait, and a cache. */
#include "access/oauth/cimd_cache.h"

#include <stdlib.h>

#include "access/oauth/cimd.h"
#include "access/oauth/per_minute.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "net/curl/fetch.h"

#define KEEP_MIN_S 300u
#define KEEP_MAX_S 86400u

/* A request that waits for a document. */
typedef struct cw_cimd_op {
    cw_message message; /* to its loop: the fetch has ended */
    cw_loop *loop;
    cw_cimd_waiter *waiter; /* NULL: cancelled; the loop's */
    struct cw_cimd_op *next;
    cw_code rc;
    char *body;
    size_t n_body;
} cw_cimd_op;

typedef struct entry {
    cw_list node; /* by use, the oldest first */
    cw_cimd_cache *cache;
    cw_str id;  /* its own memory */
    char *body; /* NULL: none */
    size_t n_body;
    uint64_t fresh_until, paused_until; /* monotonic, ms */
    bool is_running;
    uint64_t account; /* hash of the one who caused the fetch that runs */
    cw_cimd_op *waiting;
    struct entry *next_start;
    cw_fetch fetch; /* the main thread's */
} entry;

struct cw_cimd_cache {
    cw_loop *loop;
    cw_fetcher *fetcher; /* NULL: none yet; this and the next two are the main thread's */
    bool allow_private;
    char *ca_file;        /* NULL: the system's */
    cw_per_minute rates;  /* of accounts */
    pthread_mutex_t lock; /* of what follows, and of entries */
    cw_map entries;
    cw_list by_use;
    entry *starts; /* their fetch has not begun */
    unsigned n_running;
    cw_message on_starts;
    bool is_closed;
};

/* ---- entries, under the lock ---- */

static void free_entry(entry *e)
{
    free(e->body);
    free((char *)(uintptr_t)e->id.p);
    free(e);
}

static void remove_entry(cw_cimd_cache *c, entry *e)
{
    (void)cw_map_remove(&c->entries, e->id);
    cw_list_remove(&e->node);
    free_entry(e);
}

static bool make_room(cw_cimd_cache *c)
{
    if (c->entries.n < CW_CIMD_CACHE_ENTRIES)
        return true;
    CW_LIST_EACH_SAFE (node, &c->by_use) {
        entry *e = CW_CONTAINER(node, entry, node);
        if (e->is_running)
            continue;
        remove_entry(c, e);
        return true;
    }
    return false;
}

static entry *add_entry(cw_cimd_cache *c, cw_str id)
{
    entry *e = make_room(c) ? calloc(1, sizeof *e) : NULL;
    if (!e)
        return NULL;
    e->cache = c;
    e->id = cw_str_make(cw_str_dup(id), id.n);
    cw_list_add(&c->by_use, &e->node);
    if (e->id.p && !cw_map_put(&c->entries, e->id, e, NULL))
        return e;
    cw_list_remove(&e->node);
    free_entry(e);
    return NULL;
}

static void fail_entry(entry *e, uint64_t now)
{
    free(e->body);
    e->body = NULL;
    e->paused_until = now + CW_CIMD_CACHE_PAUSE_MS;
}

/* ---- results, on the loop of the request ---- */

static void free_op(cw_cimd_op *op)
{
    free(op->body);
    free(op);
}

static void deliver(cw_message *message)
{
    cw_cimd_op *op = CW_CONTAINER(message, cw_cimd_op, message);
    cw_cimd_waiter *w = op->waiter;
    if (w) {
        w->op = NULL;
        w->fn(w, op->rc, cw_str_make(op->body, op->n_body));
    }
    free_op(op);
}

static void drop_op(cw_message *message)
{
    cw_cimd_op *op = CW_CONTAINER(message, cw_cimd_op, message);
    if (op->waiter)
        op->waiter->op = NULL;
    free_op(op);
}

static void set_result(cw_cimd_op *op, cw_code rc, cw_str body)
{
    op->rc = rc;
    if (rc)
        return;
    op->body = cw_str_dup(body);
    op->n_body = body.n;
    if (!op->body)
        op->rc = CW_NOMEM;
}

/* ---- fetches, on the main loop ---- */

static void log_problem(cw_str id, const char *why)
{
    cw_log(CW_LOG_WARN, "access", "the document of an OAuth client is not used",
           CW_KV("client", id), CW_KV("problem", cw_str_from(why)));
}

static uint64_t keep_ms(const cw_fetch_response *answer)
{
    uint64_t s = answer->has_max_age ? answer->max_age_s : KEEP_MIN_S;
    s = s < KEEP_MIN_S ? KEEP_MIN_S : s;
    return (s > KEEP_MAX_S ? KEEP_MAX_S : s) * 1000;
}

static void end_fetch(entry *e, const cw_fetch_response *answer, const char *why)
{
    cw_cimd_cache *c = e->cache;
    uint64_t now = cw_clock_ms();
    bool is_good = answer && answer->status == 200;
    char *body = is_good ? cw_str_dup(answer->body) : NULL;
    if (!is_good)
        log_problem(e->id, answer ? "the response is not 200" : why);
    pthread_mutex_lock(&c->lock);
    cw_cimd_op *op = e->waiting;
    e->waiting = NULL;
    e->is_running = false;
    c->n_running--;
    fail_entry(e, now);
    if (body) {
        e->body = body;
        e->n_body = answer->body.n;
        e->fresh_until = now + keep_ms(answer);
    }
    pthread_mutex_unlock(&c->lock);
    while (op) {
        cw_cimd_op *next = op->next;
        set_result(op, is_good ? CW_OK : CW_IO, is_good ? answer->body : CW_STR(""));
        cw_loop_post(op->loop, &op->message);
        op = next;
    }
}

static void on_fetched(cw_fetch *f, const cw_fetch_response *answer, const char *why)
{
    end_fetch(CW_CONTAINER(f, entry, fetch), answer, why);
}

static void start_fetch(entry *e)
{
    cw_err err = {0};
    cw_cimd_cache *c = e->cache;
    cw_code rc = c->fetcher ? CW_OK : cw_fetcher_new(c->loop, &c->fetcher, &err);
    e->fetch = (cw_fetch){.url = e->id,
                          .allow_private = c->allow_private,
                          .ca_file = c->ca_file,
                          .max_bytes = CW_CIMD_MAX_BYTES,
                          .timeout_ms = CW_CIMD_CACHE_TIMEOUT_MS,
                          .on_done = on_fetched};
    if (!rc)
        rc = cw_fetcher_start(c->fetcher, &e->fetch, &err);
    if (rc)
        end_fetch(e, NULL, err.msg);
}

static void on_starts(cw_message *message)
{
    cw_cimd_cache *c = CW_CONTAINER(message, cw_cimd_cache, on_starts);
    for (;;) {
        pthread_mutex_lock(&c->lock);
        entry *e = c->starts;
        bool is_closed = c->is_closed;
        if (e)
            c->starts = e->next_start;
        pthread_mutex_unlock(&c->lock);
        if (!e)
            return;
        if (is_closed)
            end_fetch(e, NULL, "the server stops");
        else
            start_fetch(e);
    }
}

/* ---- requests ---- */

static cw_code wait_for(entry *e, cw_loop *loop, cw_cimd_waiter *w)
{
    cw_cimd_op *op = calloc(1, sizeof *op);
    if (!op)
        return CW_NOMEM;
    *op = (cw_cimd_op){
        .message = {.fn = deliver, .drop = drop_op}, .loop = loop, .waiter = w, .next = e->waiting};
    e->waiting = op;
    w->op = op;
    return CW_OK;
}

/* Whether the account has its share of the fetches that run: publishers that hang must not keep others
 * from theirs. */
static bool has_share(cw_cimd_cache *c, uint64_t account)
{
    unsigned n = 0;
    CW_LIST_EACH (node, &c->by_use) {
        const entry *e = CW_CONTAINER(node, entry, node);
        n += e->is_running && e->account == account;
    }
    return n >= CW_CIMD_CACHE_PER_ACCOUNT;
}

/* Begin a fetch for this request. */
static cw_code begin(cw_cimd_cache *c, entry *e, cw_loop *loop, cw_str id, cw_str account,
                     cw_cimd_waiter *w)
{
    uint64_t who = cw_hash(account);
    if (c->is_closed || c->n_running == CW_CIMD_CACHE_RUNNING || has_share(c, who) ||
        cw_per_minute_take(&c->rates, who, cw_clock_ms()))
        return CW_LIMIT;
    e = e ? e : add_entry(c, id);
    cw_code rc = e ? wait_for(e, loop, w) : CW_NOMEM;
    if (rc)
        return rc;
    e->is_running = true;
    e->account = who;
    c->n_running++;
    e->next_start = c->starts;
    c->starts = e;
    cw_loop_notify(c->loop, &c->on_starts);
    return CW_OK;
}

static void touch(cw_cimd_cache *c, entry *e)
{
    cw_list_remove(&e->node);
    cw_list_add(&c->by_use, &e->node);
}

/* CW_OK: the waiter waits, or *ret_body (to be freed) is there. */
static cw_code find(cw_cimd_cache *c, cw_loop *loop, cw_str id, cw_str account, cw_cimd_waiter *w,
                    char **ret_body, size_t *ret_n)
{
    entry *e = cw_map_find(&c->entries, id);
    uint64_t now = cw_clock_ms();
    if (!e)
        return begin(c, NULL, loop, id, account, w);
    touch(c, e);
    if (e->is_running)
        return wait_for(e, loop, w);
    if (e->body && now < e->fresh_until) {
        *ret_body = cw_str_dup(cw_str_make(e->body, e->n_body));
        *ret_n = e->n_body;
        return *ret_body ? CW_OK : CW_NOMEM;
    }
    return !e->body && now < e->paused_until ? CW_IO : begin(c, e, loop, id, account, w);
}

void cw_cimd_cache_find(cw_cimd_cache *c, cw_loop *loop, cw_str id, cw_str account,
                        cw_cimd_waiter *w)
{
    char *body = NULL;
    size_t n = 0;
    w->op = NULL;
    pthread_mutex_lock(&c->lock);
    cw_code rc = find(c, loop, id, account, w, &body, &n);
    pthread_mutex_unlock(&c->lock);
    if (rc || body)
        w->fn(w, rc, cw_str_make(body, n));
    free(body);
}

void cw_cimd_cache_cancel(cw_cimd_waiter *w)
{
    if (w->op)
        w->op->waiter = NULL;
    w->op = NULL;
}

void cw_cimd_cache_reject(cw_cimd_cache *c, cw_str id, const char *why)
{
    log_problem(id, why);
    pthread_mutex_lock(&c->lock);
    entry *e = cw_map_find(&c->entries, id);
    if (e && !e->is_running)
        fail_entry(e, cw_clock_ms());
    pthread_mutex_unlock(&c->lock);
}

/* ---- begin and end ---- */

cw_code cw_cimd_cache_new(cw_loop *loop, cw_cimd_cache **ret, cw_err *err)
{
    cw_cimd_cache *c = calloc(1, sizeof *c);
    if (!c)
        return cw_fail_nomem(err);
    c->loop = loop;
    c->on_starts.fn = on_starts;
    cw_list_init(&c->by_use);
    cw_map_init(&c->entries, CW_CIMD_CACHE_ENTRIES);
    pthread_mutex_init(&c->lock, NULL);
    cw_per_minute_init(&c->rates, CW_CIMD_CACHE_PER_MINUTE);
    *ret = c;
    return CW_OK;
}

cw_code cw_cimd_cache_configure(cw_cimd_cache *c, bool allow_private, cw_str ca_file, cw_err *err)
{
    char *copy = ca_file.n ? cw_str_dup(ca_file) : NULL;
    if (ca_file.n && !copy)
        return cw_fail_nomem(err);
    free(c->ca_file);
    c->ca_file = copy;
    c->allow_private = allow_private;
    return CW_OK;
}

void cw_cimd_cache_close(cw_cimd_cache *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->is_closed = true;
    pthread_mutex_unlock(&c->lock);
    cw_fetcher_close(c->fetcher);
    c->fetcher = NULL;
    on_starts(&c->on_starts);
    for (size_t pos = 0;;) {
        const cw_map_entry *slot = cw_map_next(&c->entries, &pos);
        if (!slot)
            return;
        entry *e = slot->value;
        if (e->is_running)
            end_fetch(e, NULL, "the server stops");
    }
}

void cw_cimd_cache_free(cw_cimd_cache *c)
{
    if (!c)
        return;
    CW_LIST_EACH_SAFE (node, &c->by_use)
        free_entry(CW_CONTAINER(node, entry, node));
    cw_map_done(&c->entries);
    cw_per_minute_done(&c->rates);
    pthread_mutex_destroy(&c->lock);
    free(c->ca_file);
    free(c);
}
