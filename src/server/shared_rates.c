/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_rates.c - jobs of the store that share rates with other servers. */
#include "server/shared_rates.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "store/bucket.h"

#define REPORT_MS 50u
#define COUNT_TICKS 5u
/* Servers that start together do not see each other at once: a young one counts more often. */
#define YOUNG_TICKS 2u
#define FORGET_COUNTS 12u
/* A name, a number and five signs each. */
#define JSON_MAX (CW_BUCKET_QUEUE * (CW_BUCKET_NAME + 32u) + 2u)

struct cw_shared_rates {
    cw_store_job job;
    cw_message wake, done;
    uv_timer_t *timer;
    cw_loop *loop;
    cw_store *store;
    cw_bucket_share *share;
    cw_bucket_use uses[CW_BUCKET_QUEUE];
    int64_t ahead[CW_BUCKET_QUEUE]; /* the answers; -1: none */
    size_t n;
    cw_buf json;
    cw_code rc;
    int64_t servers; /* 0: not counted */
    unsigned ticks, counts;
    bool must_count, must_forget; /* with the next job */
    bool counts_now, forgets_now; /* of the job that runs */
    bool is_running, is_closed;
};

static void start(cw_shared_rates *r, bool is_tick);

/* ---- the job, on the store's thread ---- */

static int by_name(const void *name, const void *use)
{
    const cw_str *key = name;
    int order = memcmp(key->p, ((const cw_bucket_use *)use)->name, CW_BUCKET_NAME);
    return order;
}

/* Two buckets may have one name: both get the level. */
static void on_level(cw_str name, int64_t ahead_ns, void *ctx)
{
    cw_shared_rates *r = ctx;
    if (name.n != CW_BUCKET_NAME)
        return;
    const cw_bucket_use *found = bsearch(&name, r->uses, r->n, sizeof *r->uses, by_name);
    if (!found)
        return;
    size_t i = (size_t)(found - r->uses);
    while (i > 0 && by_name(&name, &r->uses[i - 1]) == 0)
        i--;
    for (; i < r->n && by_name(&name, &r->uses[i]) == 0; i++)
        r->ahead[i] = ahead_ns > 0 ? ahead_ns : 0;
}

static cw_code run(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_shared_rates *r = CW_CONTAINER(job, cw_shared_rates, job);
    cw_code rc = r->n ? cw_db_fill_buckets(db, cw_buf_str(&r->json), on_level, r, err) : CW_OK;
    if (!rc && r->counts_now)
        rc = cw_db_count_replicas(db, &r->servers, err);
    if (!rc && r->forgets_now)
        rc = cw_db_forget_full_buckets(db, err);
    return rc;
}

static void on_job_done(cw_store_job *job, cw_code rc)
{
    cw_shared_rates *r = CW_CONTAINER(job, cw_shared_rates, job);
    r->rc = rc;
    cw_loop_post(r->loop, &r->done);
}

/* ---- the main loop ---- */

static void write_json(cw_shared_rates *r)
{
    r->json.n = 0;
    cw_buf_add_char(&r->json, '{');
    for (size_t i = 0; i < r->n;) {
        const cw_bucket_use *use = &r->uses[i];
        int64_t ns = 0;
        for (; i < r->n && strcmp(use->name, r->uses[i].name) == 0; i++)
            ns += r->uses[i].tokens * (int64_t)r->uses[i].rate.interval_ns;
        cw_buf_printf(&r->json, "%s\"%s\":\"%" PRId64 "\"", r->json.n > 1 ? "," : "", use->name,
                      ns);
    }
    cw_buf_add_char(&r->json, '}');
}

static void take_answers(cw_shared_rates *r)
{
    uint64_t now = cw_clock_ns();
    bool is_away = r->rc && r->rc != CW_NOMEM;
    cw_bucket_share_set(r->share, r->rc ? 0 : (uint32_t)r->servers, is_away);
    for (size_t i = 0; i < r->n; i++) {
        if (!r->rc && r->ahead[i] >= 0)
            cw_bucket_share_settle(r->share, &r->uses[i], (uint64_t)r->ahead[i], now);
        else
            cw_bucket_share_give_up(r->share, &r->uses[i]);
    }
}

static void on_timer(uv_timer_t *timer)
{
    start(timer->data, /* is_tick= */ false);
}

static void schedule(cw_shared_rates *r)
{
    if (r->is_closed || r->is_running)
        return;
    uint64_t ms = cw_bucket_share_is_urgent(r->share) ? 0 : REPORT_MS;
    if (ms == 0 || !uv_is_active((uv_handle_t *)r->timer))
        uv_timer_start(r->timer, on_timer, ms, 0);
}

static void on_done(cw_message *message)
{
    cw_shared_rates *r = CW_CONTAINER(message, cw_shared_rates, done);
    r->is_running = false;
    take_answers(r);
    r->n = 0;
    schedule(r);
}

static void on_wake(cw_message *message)
{
    schedule(CW_CONTAINER(message, cw_shared_rates, wake));
}

static void wake(void *ctx)
{
    cw_shared_rates *r = ctx;
    cw_loop_notify(r->loop, &r->wake);
}

static void start(cw_shared_rates *r, bool is_tick)
{
    if (r->is_closed || r->is_running)
        return;
    r->n = cw_bucket_share_collect(r->share, r->uses, CW_BUCKET_QUEUE);
    r->counts_now = r->must_count && (r->n || is_tick || r->ticks <= YOUNG_TICKS);
    if (!r->n && !r->counts_now)
        return;
    r->forgets_now = r->must_forget;
    r->must_forget = false;
    for (size_t i = 0; i < r->n; i++)
        r->ahead[i] = -1;
    write_json(r);
    r->is_running = true;
    cw_code rc = r->json.code;
    if (!rc)
        rc = cw_store_ask(r->store, &r->job);
    if (!rc)
        return; /* the job has it until on_done */
    r->rc = rc;
    cw_loop_post(r->loop, &r->done);
}

void cw_shared_rates_tick(cw_shared_rates *r)
{
    if (!r || r->is_closed || r->is_running)
        return;
    bool is_due = r->ticks % COUNT_TICKS == 0;
    r->must_count = is_due || r->ticks < YOUNG_TICKS;
    r->ticks++;
    if (is_due && ++r->counts % FORGET_COUNTS == 0)
        r->must_forget = true;
    if (r->must_count)
        start(r, /* is_tick= */ true);
}

cw_code cw_shared_rates_new(cw_loop *loop, uv_timer_t *timer, cw_store *store, cw_limiter *limiter,
                            cw_shared_rates **ret, cw_err *err)
{
    cw_shared_rates *r = calloc(1, sizeof *r);
    if (!r)
        return cw_fail_nomem(err);
    cw_code rc = cw_bucket_share_new(wake, r, &r->share, err);
    if (rc) {
        free(r);
        return rc;
    }
    r->loop = loop;
    r->store = store;
    r->job = (cw_store_job){.run = run, .done = on_job_done};
    r->wake.fn = on_wake;
    r->done.fn = on_done;
    cw_buf_init(&r->json, JSON_MAX);
    r->timer = timer;
    timer->data = r;
    cw_limiter_set_share(limiter, r->share);
    *ret = r;
    return CW_OK;
}

void cw_shared_rates_close(cw_shared_rates *r)
{
    if (r)
        r->is_closed = true;
}

void cw_shared_rates_free(cw_shared_rates *r)
{
    if (!r)
        return;
    cw_bucket_share_free(r->share);
    cw_buf_done(&r->json);
    free(r);
}
