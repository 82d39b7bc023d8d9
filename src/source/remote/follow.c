/* SPDX-License-Identifier: GPL-2.0-or-later */
/* follow.c - the times of requests about a followed job, and the use of their responses. */
#include "source/remote/follow.h"

#include <math.h>
#include <stdlib.h>

#include "source/remote/remote_int.h"

#define ARENA_MAX ((size_t)16 * CW_JSON_MAX_BYTES)
#define BUCKETS 64u
#define SAME_POLLS 8u /* without a change, until the job is polled less often */
#define SLOWER 2u     /* by so many steps at most */
#define CANCEL_TRIES 3u

/* Times between two polls. All jobs with one of them share a deadline list. */
static const uint32_t paces[] = {CW_FOLLOW_MIN_MS, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000,
                                 CW_FOLLOW_MAX_MS};
#define PACES CW_COUNT(paces)

/* A request that is under way. */
typedef struct probe {
    cw_upstream_req req;
    cw_follower *follower;
    cw_follow_request request;
    cw_arena arena;
    cw_deadline limit;
    cw_str body[CW_REQUEST_TEMPLATE_PIECES];
    char room[CW_REQUEST_TEMPLATE_ROOM];
    bool trial; /* of the breaker */
} probe;

struct cw_follower {
    cw_list node, bucket;
    cw_list due; /* it waits for a place; in none: it waits for its time, or is under way */
    cw_followers *home;
    cw_source_call *call; /* NULL: it has ended, and nothing is reported any more */
    const cw_follow_ops *ops;
    const void *rule;
    void *self;
    cw_deadline timer;
    probe *probe; /* NULL: none */
    uint64_t since;
    uint64_t seen; /* hash of the last report */
    uint32_t n_same;
    uint32_t n_reports;
    cw_follow_step step;
    uint8_t base, pace; /* indices of `paces` */
    uint8_t failures, errors;
    bool is_told; /* its sink or its rule is being called, so it must not be freed */
    bool keeps_job;
    bool has_news;
    bool wants_update;
    size_t n_key;
    char key[]; /* NOLINT: of n_key bytes */
};

struct cw_followers {
    cw_remote_loop_state *part;
    cw_list all, due;
    uint32_t n, n_running;
    cw_deferred pump;
    cw_job_listener *listener; /* NULL: the service has no notifications */
    cw_deadline_list times[PACES];
    cw_deadline_list limit; /* of one request */
    cw_list buckets[BUCKETS];
};

static cw_follower *at_due(cw_list *node)
{
    return CW_CONTAINER(node, cw_follower, due);
}

static uint8_t pace_of(uint32_t ms)
{
    uint8_t i = 0;
    while (i + 1u < PACES && paces[i] < ms)
        i++;
    return i;
}

static cw_list *bucket_of(cw_followers *all, cw_str key)
{
    return &all->buckets[cw_hash(key) % BUCKETS];
}

/* ---- lists ---- */

static void make_due(cw_follower *f)
{
    cw_deadline_clear(&f->timer);
    if (f->probe || cw_list_is_in(&f->due))
        return;
    cw_list_add(&f->home->due, &f->due);
    cw_loop_defer(f->home->part->loop, &f->home->pump);
}

static void wait_at(cw_follower *f, unsigned pace)
{
    f->pace = (uint8_t)(pace < PACES ? pace : PACES - 1);
    cw_loop_set_deadline(f->home->part->loop, &f->timer, &f->home->times[f->pace]);
}

static void on_time(cw_deadline *d)
{
    make_due(CW_CONTAINER(d, cw_follower, timer));
}

static void free_probe(probe *q)
{
    cw_deadline_clear(&q->limit);
    cw_arena_done(&q->arena);
    free(q);
}

static void stop_probe(cw_follower *f)
{
    probe *q = f->probe;
    if (!q)
        return;
    f->probe = NULL;
    f->home->n_running--;
    /* Its place is free. A follower that is due has no timer, so the pump has to send its step. */
    if (!cw_list_is_empty(&f->home->due))
        cw_loop_defer(f->home->part->loop, &f->home->pump);
    cw_upstream_cancel(f->home->part->upstream, &q->req);
    cw_breaker_neutral(&f->home->part->remote->health->breaker, q->trial);
    free_probe(q);
}

static void free_follower(cw_follower *f)
{
    stop_probe(f);
    cw_deadline_clear(&f->timer);
    cw_list_remove(&f->due);
    cw_list_remove(&f->node);
    cw_list_remove(&f->bucket);
    f->home->n--;
    if (f->ops->free)
        f->ops->free(f);
    free(f);
}

/* ---- ends ---- */

static bool has_step(const cw_follower *f, cw_follow_step step)
{
    cw_arena arena;
    cw_follow_request unused;
    cw_arena_init(&arena, ARENA_MAX);
    cw_code rc = f->ops->write(f, step, &arena, &unused);
    cw_arena_done(&arena);
    return rc != CW_NOTFOUND;
}

/* Its call is over. Send one more request, if it is wanted and the rule has it, else free it. */
static void leave(cw_follower *f, cw_follow_step last, bool is_wanted)
{
    stop_probe(f);
    f->call = NULL;
    if (!is_wanted || !has_step(f, last)) {
        free_follower(f);
        return;
    }
    f->step = last;
    f->failures = 0;
    make_due(f);
}

/* End the call with an outcome. The sink may end the part. */
static void end(cw_follower *f, const cw_outcome *outcome, bool cancels)
{
    cw_source_call *call = f->call;
    leave(f, cancels ? CW_FOLLOW_CANCEL : CW_FOLLOW_DISMISS,
          cancels || outcome->kind != CW_OUTCOME_FAILED);
    call->sink->ops->done(call->sink, outcome);
}

void cw_follow_cancel(cw_follower *f, bool keeps_job)
{
    f->call = NULL;
    f->keeps_job = keeps_job;
    if (!f->is_told)
        leave(f, CW_FOLLOW_CANCEL, !keeps_job);
}

/* A request failed. */
static void miss(cw_follower *f, cw_str why)
{
    const cw_remote *r = f->home->part->remote;
    f->failures++;
    if (!f->call && f->failures >= CANCEL_TRIES) {
        cw_log(CW_LOG_WARN, "source", "a job could not be cancelled or dismissed",
               CW_KV("source", r->base.name), CW_KV("problem", why));
        free_follower(f);
        return;
    }
    if (!f->call || f->failures < CW_FOLLOW_FAILURES) {
        wait_at(f, f->base + f->failures);
        return;
    }
    cw_err text;
    cw_fail(&text, CW_IO,
            "The service '%.*s' cannot be asked about the job any more, which may still run: %.*s",
            CW_STR_ARG(r->base.name), CW_STR_ARG(why));
    end(f,
        &(cw_outcome){
            .kind = CW_OUTCOME_FAILED, .fault = CW_FAULT_DIED, .message = cw_str_from(text.msg)},
        /* cancels= */ false);
}

/* ---- responses ---- */

static uint64_t hash_of(const cw_progress *progress)
{
    uint64_t bits[2];
    memcpy(&bits[0], &progress->progress, sizeof bits[0]);
    memcpy(&bits[1], &progress->total, sizeof bits[1]);
    return cw_hash(progress->message) ^ bits[0] ^ (bits[1] << 1) ^ 1;
}

/* Report progress. Clients expect a number that grows. */
static void report(cw_follower *f, cw_progress *progress)
{
    f->n_reports++;
    if (!isfinite(progress->progress))
        progress->progress = f->n_reports;
    f->is_told = true;
    f->call->sink->ops->progress(f->call->sink, progress);
    f->is_told = false;
}

/* The job runs: report a change, and poll later. */
static void go_on(cw_follower *f, cw_follow_state *state)
{
    uint64_t hash = hash_of(&state->progress);
    bool is_new = hash != f->seen;
    f->seen = hash;
    f->n_same = is_new ? 0 : f->n_same + 1;
    if (state->poll_ms)
        f->base = pace_of(state->poll_ms);
    if (is_new && (state->progress.message.n || isfinite(state->progress.progress)))
        report(f, &state->progress);
    if (!f->call) {
        leave(f, CW_FOLLOW_CANCEL, !f->keeps_job);
        return;
    }
    if (f->wants_update) {
        f->wants_update = false;
        f->step = CW_FOLLOW_UPDATE;
        make_due(f);
        return;
    }
    /* A job is polled often at first, since it may be short. */
    unsigned slow = f->n_same / SAME_POLLS;
    unsigned pace = f->pace < f->base ? f->pace + 1u : f->base;
    wait_at(f, pace == f->base ? pace + (slow < SLOWER ? slow : SLOWER) : pace);
}

/* Act on the state of the job. */
static void conclude(cw_follower *f, cw_follow_state *state)
{
    if (!state->has_ended) {
        go_on(f, state);
    } else if (state->outcome.kind == CW_OUTCOME_RESULT && f->step == CW_FOLLOW_POLL &&
               has_step(f, CW_FOLLOW_RESULT)) {
        f->step = CW_FOLLOW_RESULT;
        make_due(f);
    } else {
        end(f, &state->outcome, state->cancels);
    }
}

/* End the call if a notification has reported the end of the job. */
static bool conclude_by_news(cw_follower *f)
{
    cw_remote *r = f->home->part->remote;
    cw_job_news *news = r->shared ? cw_shared_conn_news(r->shared) : NULL;
    cw_arena arena;
    cw_job_end told;
    cw_follow_state state = {0};
    f->has_news = false;
    if (!f->call || !f->ops->judge_news || !news)
        return false;
    cw_arena_init(&arena, ARENA_MAX);
    bool is_over = cw_job_news_find(news, cw_follower_key(f), f->since, &arena, &told) &&
                   !f->ops->judge_news(f, &told, &arena, &state);
    if (is_over)
        conclude(f, &state);
    cw_arena_done(&arena);
    return is_over;
}

static void take_result(cw_follower *f, const cw_outcome *outcome, cw_arena *arena)
{
    cw_follow_state state = {.progress = {.progress = (double)NAN, .total = (double)NAN}};
    f->failures = f->errors = 0;
    cw_follow_step step = f->step;
    f->is_told = true;
    f->ops->judge(f, step, outcome, arena, &state);
    f->is_told = false;
    if (step == CW_FOLLOW_UPDATE) {
        f->step = CW_FOLLOW_POLL;
        wait_at(f, 0);
    } else if (f->call)
        conclude(f, &state);
    else
        leave(f, CW_FOLLOW_CANCEL, !f->keeps_job);
}

static void take(cw_follower *f, const cw_outcome *outcome, cw_arena *arena)
{
    if (outcome->kind == CW_OUTCOME_FAILED) {
        miss(f, outcome->message);
    } else if (!f->call) {
        free_follower(f); /* cancelled or dismissed, or the service has rejected that */
    } else if (conclude_by_news(f)) {
        return;
    } else if (outcome->kind == CW_OUTCOME_RESULT) {
        take_result(f, outcome, arena);
    } else if (++f->errors >= CW_FOLLOW_ERRORS) {
        end(f, outcome, /* cancels= */ false);
    } else {
        wait_at(f, f->base + f->errors);
    }
}

/* A callback may have ended the part, so it is looked up again. */
static void settle(cw_remote *r, uint32_t index)
{
    cw_remote_loop_state *part = r->parts[index];
    if (part && part->followers && !cw_list_is_empty(&part->followers->due))
        cw_loop_defer(part->loop, &part->followers->pump);
    if (part)
        cw_remote_close_if_over(part);
}

static void on_done(cw_upstream_req *req, const cw_upstream_reply *reply)
{
    probe *q = req->ctx;
    cw_follower *f = q->follower;
    cw_remote_loop_state *part = f->home->part;
    cw_remote *r = part->remote;
    uint32_t index = part->loop->index;
    cw_outcome outcome = {0};
    f->probe = NULL;
    f->home->n_running--;
    cw_remote_record_end(r, cw_loop_now(part->loop), q->trial, reply);
    cw_dialect_parse_response(&r->service->protocol, r->base.name, req->id, reply, &q->arena,
                              &outcome);
    cw_source_ref(&r->base);
    take(f, &outcome, &q->arena);
    free_probe(q);
    settle(r, index);
    cw_source_unref(&r->base);
}

static void on_limit(cw_deadline *d)
{
    probe *q = CW_CONTAINER(d, probe, limit);
    cw_upstream_reply reply = {.end = CW_CLIENT_SLOW, .why = "no response in time"};
    cw_upstream_cancel(q->follower->home->part->upstream, &q->req);
    on_done(&q->req, &reply);
}

/* ---- requests ---- */

static cw_code launch(cw_follower *f, probe *q, cw_err *err)
{
    cw_remote_loop_state *part = f->home->part;
    const cw_remote *r = part->remote;
    cw_code rc = f->ops->write(f, f->step, &q->arena, &q->request);
    if (rc)
        return rc;
    q->req = (cw_upstream_req){.id = cw_upstream_next_id(part->upstream, /* reads= */ false),
                               .path = q->request.path,
                               .on_done = on_done,
                               .ctx = q};
    if (q->request.wire) {
        cw_request_template_write(&r->service->protocol, q->request.wire, q->req.id,
                                  q->request.params, q->room, q->body);
        q->req.body = q->body;
        q->req.n_body = CW_REQUEST_TEMPLATE_PIECES;
    } else {
        q->req.relay = &q->request.relay;
    }
    return cw_upstream_send(part->upstream, &q->req, err);
}

static void send_step(cw_follower *f)
{
    cw_followers *all = f->home;
    cw_remote_loop_state *part = all->part;
    cw_err err = {0};
    bool trial = false;
    if (!cw_remote_may_ask(part->remote, cw_loop_now(part->loop), &trial)) {
        miss(f, CW_STR("it is not available at the moment."));
        return;
    }
    probe *q = calloc(1, sizeof *q);
    cw_code rc = q ? CW_OK : CW_NOMEM;
    if (q) {
        cw_arena_init(&q->arena, ARENA_MAX);
        q->follower = f;
        q->trial = trial;
        rc = launch(f, q, &err);
    }
    if (!rc) {
        f->probe = q;
        all->n_running++;
        cw_loop_set_deadline(part->loop, &q->limit, &all->limit);
        return;
    }
    cw_remote_record_not_begun(part->remote, rc, trial, cw_loop_now(part->loop));
    if (q)
        free_probe(q);
    if (rc == CW_LIMIT) /* the queue is full: the service is busy, but available */
        wait_at(f, f->base + 1u);
    else
        miss(f,
             cw_str_from(rc == CW_NOMEM ? "there is not enough memory." : "it cannot be reached."));
}

/* Maximum of polls at a time. Calls need connections too. */
static uint32_t places(const cw_followers *all)
{
    uint32_t n = all->part->remote->service->config.connections / 4;
    return n == 0 ? 1 : n < CW_FOLLOW_POLLS ? n : CW_FOLLOW_POLLS;
}

static void on_pump(cw_deferred *later)
{
    cw_followers *all = CW_CONTAINER(later, cw_followers, pump);
    cw_remote *r = all->part->remote;
    uint32_t index = all->part->loop->index;
    cw_source_ref(&r->base);
    while (r->parts[index] && (all = r->parts[index]->followers) && all->n_running < places(all)) {
        cw_list *node = cw_list_take_first(&all->due);
        if (!node)
            break;
        cw_follower *f = at_due(node);
        if (!f->has_news || !conclude_by_news(f))
            send_step(f);
    }
    /* The others are sent as soon as a place is free. */
    if (r->parts[index])
        cw_remote_close_if_over(r->parts[index]);
    cw_source_unref(&r->base);
}

/* ---- all of a loop ---- */

/* With the lock of the news, so followers are only made due. */
static void on_news(void *ctx, cw_str id)
{
    cw_followers *all = ctx;
    CW_LIST_EACH (node, bucket_of(all, id)) {
        cw_follower *f = CW_CONTAINER(node, cw_follower, bucket);
        if (!f->call || !cw_str_eq(cw_follower_key(f), id))
            continue;
        f->has_news = true;
        make_due(f);
    }
}

static cw_followers *followers_new(cw_remote_loop_state *part)
{
    cw_followers *all = calloc(1, sizeof *all);
    if (!all)
        return NULL;
    all->part = part;
    all->pump.fn = on_pump;
    cw_list_init(&all->all);
    cw_list_init(&all->due);
    for (size_t i = 0; i < BUCKETS; i++)
        cw_list_init(&all->buckets[i]);
    for (size_t i = 0; i < PACES; i++) {
        cw_deadline_list_init(&all->times[i], paces[i], on_time);
        cw_loop_watch(part->loop, &all->times[i]);
    }
    cw_deadline_list_init(&all->limit, part->remote->service->config.timeout_ms, on_limit);
    cw_loop_watch(part->loop, &all->limit);
    cw_job_news *news = part->remote->shared ? cw_shared_conn_news(part->remote->shared) : NULL;
    /* Without memory the jobs are polled. */
    all->listener = news ? cw_job_news_listen(news, part->loop, on_news, all) : NULL;
    return all;
}

void cw_followers_free(cw_followers *all)
{
    if (!all)
        return;
    CW_LIST_EACH_SAFE (node, &all->all)
        free_follower(CW_CONTAINER(node, cw_follower, node));
    cw_loop_cancel_deferred(&all->pump);
    cw_job_listener_free(all->listener);
    for (size_t i = 0; i < PACES; i++)
        cw_loop_unwatch(all->part->loop, &all->times[i]);
    cw_loop_unwatch(all->part->loop, &all->limit);
    free(all);
}

bool cw_followers_is_busy(const cw_followers *all)
{
    return all && all->n > 0;
}

cw_code cw_follow(cw_remote_loop_state *part, const cw_follow_start *start, cw_follower **ret)
{
    if (!part->followers)
        part->followers = followers_new(part);
    cw_followers *all = part->followers;
    if (start->key.n > CW_FOLLOW_KEY)
        return CW_PARAMS;
    if (all && all->n >= CW_FOLLOW_MAX)
        return CW_LIMIT;
    cw_follower *f = all ? calloc(1, sizeof *f + start->key.n) : NULL;
    if (!f)
        return CW_NOMEM;
    f->home = all;
    f->call = start->call;
    f->ops = start->ops;
    f->rule = start->rule;
    f->self = start->self;
    f->since = start->since;
    f->base = pace_of(start->poll_ms);
    f->n_key = start->key.n;
    memcpy(f->key, start->key.p, start->key.n);
    cw_list_add(&all->all, &f->node);
    cw_list_add(bucket_of(all, start->key), &f->bucket);
    all->n++;
    f->has_news = true; /* that came before the response */
    if (f->ops->judge_news)
        wait_at(f, 0);
    else
        wait_at(f, f->base);
    *ret = f;
    return CW_OK;
}

void cw_follow_answer(cw_follower *f, uint32_t number, cw_str result, cw_str problem)
{
    if (f->ops->answer)
        f->ops->answer(f, number, result, problem);
}

/* ---- for the rules ---- */

cw_str cw_follower_key(const cw_follower *f)
{
    return cw_str_make(f->key, f->n_key);
}

const void *cw_follower_rule(const cw_follower *f)
{
    return f->rule;
}

void *cw_follower_self(const cw_follower *f)
{
    return f->self;
}

cw_source_call *cw_follower_call(const cw_follower *f)
{
    return f->call;
}

void cw_follower_send(cw_follower *f, cw_follow_step step)
{
    if (f->probe || f->is_told) {
        f->wants_update = step == CW_FOLLOW_UPDATE;
        return;
    }
    f->step = step;
    make_due(f);
}
