/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_conn.c - calls on their way from a loop to the connection on the main loop, and back. */
#include <stdlib.h>

#include "source/upstream/shared_conn_int.h"

#define POST_RETRY_MS 5u
#define LEAVING_MS 100u
#define SCRATCH_MAX (1024u * 1024u)

/* ---- the hub ---- */

static void on_post_retry(cw_deadline *d);
static void on_retire_poll(cw_deadline *d);

static void watch_lists(cw_shared_conn *shared)
{
    cw_loop_watch(shared->opts.loop, &shared->limit);
    cw_loop_watch(shared->opts.loop, &shared->first);
    cw_loop_watch(shared->opts.loop, &shared->unposted);
    cw_loop_watch(shared->opts.loop, &shared->leaving);
}

cw_code cw_shared_conn_new(cw_endpoint *s, const cw_shared_conn_opts *opts, cw_shared_conn **ret,
                           cw_err *err)
{
    cw_shared_conn *shared = calloc(1, sizeof *shared);
    if (!shared)
        return cw_fail_nomem(err);
    atomic_init(&shared->refs, 1);
    atomic_init(&shared->users, 0);
    atomic_init(&shared->last_id, 0);
    pthread_mutex_init(&shared->lock, NULL);
    shared->service = cw_endpoint_ref(s);
    shared->opts = *opts;
    shared->all.all_prev = shared->all.all_next = &shared->all;
    shared->waiting.prev = shared->waiting.next = &shared->waiting;
    shared->pending.prev = shared->pending.next = &shared->pending;
    cw_arena_init(&shared->scratch, SCRATCH_MAX);
    cw_oauth_token_init(&shared->oauth, s, opts->loop, cw_shared_conn_on_token);
    cw_deadline_list_init(&shared->limit, s->config.timeout_ms, cw_shared_conn_on_limit);
    cw_deadline_list_init(&shared->unposted, POST_RETRY_MS, on_post_retry);
    cw_deadline_list_init(&shared->first, s->config.timeout_ms, cw_shared_conn_on_idle);
    cw_deadline_list_init(&shared->leaving, LEAVING_MS, on_retire_poll);
    watch_lists(shared);
    *ret = shared;
    return CW_OK;
}

cw_shared_conn *cw_shared_conn_ref(cw_shared_conn *shared)
{
    atomic_fetch_add(&shared->refs, 1);
    return shared;
}

void cw_shared_conn_unref(cw_shared_conn *shared)
{
    if (!shared || atomic_fetch_sub(&shared->refs, 1) != 1)
        return;
    cw_endpoint_unref(shared->service);
    cw_arena_done(&shared->scratch);
    pthread_mutex_destroy(&shared->lock);
    free(shared);
}

void cw_shared_conn_acquire(cw_shared_conn *shared)
{
    atomic_fetch_add(&shared->users, 1);
}

void cw_shared_conn_release(cw_shared_conn *shared)
{
    atomic_fetch_sub(&shared->users, 1);
}

bool cw_shared_conn_is_compatible(const cw_shared_conn *shared, const cw_endpoint *s,
                                  size_t answer_size)
{
    return shared->opts.answer_size == answer_size &&
           cw_endpoint_is_same_protocol(shared->service, s);
}

cw_str cw_shared_conn_problem(const cw_shared_conn *shared)
{
    return cw_str_from(shared->problem);
}

uint64_t cw_shared_conn_number(cw_shared_conn *shared)
{
    return atomic_fetch_add_explicit(&shared->last_id, 1, memory_order_relaxed) + 1;
}

/* ---- calls ---- */

/* False: too many are under way. */
static bool list(cw_shared_conn *shared, cw_shared_conn_call *call)
{
    const cw_config_remote *config = &shared->service->config;
    pthread_mutex_lock(&shared->lock);
    bool is_full = shared->n_all >= config->queue + config->connections;
    if (!is_full) {
        call->all_next = &shared->all;
        call->all_prev = shared->all.all_prev;
        call->all_prev->all_next = call;
        shared->all.all_prev = call;
        shared->n_all++;
    }
    pthread_mutex_unlock(&shared->lock);
    return !is_full;
}

/* Without giving its reference back. */
static void drop_call(cw_shared_conn_call *call)
{
    cw_shared_conn *shared = call->shared;
    pthread_mutex_lock(&shared->lock);
    call->all_prev->all_next = call->all_next;
    call->all_next->all_prev = call->all_prev;
    shared->n_all--;
    pthread_mutex_unlock(&shared->lock);
    cw_parsed_message_unref(call->answer);
    free(call);
}

static void free_call(cw_shared_conn_call *call)
{
    cw_shared_conn *shared = call->shared;
    drop_call(call);
    cw_shared_conn_unref(shared);
}

/* On the loop of its caller. */
static void on_reply(void *arg)
{
    cw_shared_conn_call *call = arg;
    cw_upstream_req *req = call->req;
    if (req) {
        cw_parsed_message *message = call->answer;
        cw_client_response answer = {.type = CW_STR("application/json"),
                                     .body = message ? cw_str_make(message->text, message->n)
                                                     : CW_STR("")};
        cw_upstream_reply reply = {
            .end = call->end,
            .answer = call->end == CW_CLIENT_OK ? &answer : NULL,
            .why = call->why,
            .message = message,
        };
        req->conn_call = NULL;
        cw_upstream_finish(req, &reply);
    }
    free_call(call);
}

static void post_reply(cw_shared_conn_call *call)
{
    cw_shared_conn *shared = call->shared;
    if (cw_loop_post(call->loop, on_reply, call) == CW_OK)
        return;
    if (shared->is_over) { /* a call that came after the end: it is put off once more */
        shared->is_over = false;
        watch_lists(cw_shared_conn_ref(shared));
    }
    cw_loop_set_deadline(shared->opts.loop, &call->deadline, &shared->unposted);
}

/* The last that the main loop does for a hub which was closed. */
static void end_if_over(cw_shared_conn *shared)
{
    if (!shared->is_closing || shared->is_over ||
        shared->unposted.root.next != &shared->unposted.root)
        return;
    shared->is_over = true;
    cw_loop_unwatch(shared->opts.loop, &shared->limit);
    cw_loop_unwatch(shared->opts.loop, &shared->first);
    cw_loop_unwatch(shared->opts.loop, &shared->unposted);
    cw_loop_unwatch(shared->opts.loop, &shared->leaving);
    cw_shared_conn_unref(shared);
}

static void on_post_retry(cw_deadline *d)
{
    cw_shared_conn_call *call = CW_CONTAINER(d, cw_shared_conn_call, deadline);
    cw_shared_conn *shared = call->shared;
    post_reply(call);
    end_if_over(shared);
}

void cw_shared_conn_finish(cw_shared_conn_call *call, cw_client_end end, cw_parsed_message *answer,
                           const char *why)
{
    cw_deadline_clear(&call->deadline);
    call->end = end;
    call->answer = answer;
    size_t n = strnlen(why, sizeof call->why - 1);
    memcpy(call->why, why, n);
    call->why[n] = 0;
    post_reply(call);
}

/* On the main loop. */
static void on_call(void *arg)
{
    cw_shared_conn_call *call = arg;
    cw_shared_conn_enqueue(call->shared, call);
}

static cw_shared_conn_call *make_call(cw_shared_conn *shared, cw_loop *loop, cw_upstream_req *req)
{
    size_t n = 0;
    for (size_t i = 0; i < req->n_body; i++)
        n += req->body[i].n;
    cw_shared_conn_call *call = malloc(sizeof *call + n);
    if (!call)
        return NULL;
    uint32_t usual = shared->service->config.timeout_ms;
    *call = (cw_shared_conn_call){
        .body = (char *)(call + 1),
        .shared = cw_shared_conn_ref(shared),
        .loop = loop,
        .req = req,
        .id = req->id,
        .is_notice = req->is_notice,
        .limit_ms = req->limit_ms > usual ? req->limit_ms : usual,
    };
    atomic_init(&call->is_cancelled, false);
    for (size_t i = 0; i < req->n_body; i++) {
        if (req->body[i].n)
            memcpy(call->body + call->n_body, req->body[i].p, req->body[i].n);
        call->n_body += req->body[i].n;
    }
    return call;
}

cw_code cw_shared_conn_send(cw_shared_conn *shared, cw_loop *loop, cw_upstream_req *req,
                            cw_err *err)
{
    cw_shared_conn_call *call = make_call(shared, loop, req);
    if (!call)
        return cw_fail_nomem(err);
    if (!list(shared, call)) {
        free(call);
        cw_shared_conn_unref(shared);
        return cw_fail(err, CW_LIMIT, "too many calls are under way");
    }
    if (cw_loop_post(shared->opts.loop, on_call, call)) {
        free_call(call);
        return cw_fail(err, CW_LIMIT, "the main loop is busy");
    }
    req->conn_call = call;
    return CW_OK;
}

void cw_shared_conn_cancel(cw_upstream_req *req)
{
    cw_shared_conn_call *call = req->conn_call;
    req->conn_call = NULL;
    if (!call)
        return;
    call->req = NULL;
    atomic_store(&call->is_cancelled, true);
}

/* ---- the end ---- */

/* The loops have ended: nobody reads the mail that is left. */
static void drop_all(cw_shared_conn *shared)
{
    while (shared->all.all_next != &shared->all) {
        cw_shared_conn_call *call = shared->all.all_next;
        cw_deadline_clear(&call->deadline);
        if (call->req) /* whoever has it has not closed its way yet */
            call->req->conn_call = NULL;
        drop_call(call);
        atomic_fetch_sub(&shared->refs, 1); /* not the last: whoever closes it has one */
    }
    shared->waiting.prev = shared->waiting.next = &shared->waiting;
    shared->pending.prev = shared->pending.next = &shared->pending;
    memset(shared->buckets, 0, sizeof shared->buckets);
}

void cw_shared_conn_close(cw_shared_conn *shared, bool loops_ended)
{
    if (!shared)
        return;
    shared->is_closing = true;
    cw_deadline_clear(&shared->next_poll);
    cw_loop_remove_hook(&shared->hook);
    if (loops_ended)
        drop_all(shared);
    cw_shared_conn_disconnect(shared, CW_CLIENT_LOST, "the source was taken away");
    cw_oauth_token_done(&shared->oauth);
    end_if_over(shared);
}

/* Looked at now and then: its last user leaves on a loop of its own, whose message might find no
 * room. */
static void on_retire_poll(cw_deadline *d)
{
    cw_shared_conn *shared = CW_CONTAINER(d, cw_shared_conn, next_poll);
    if (atomic_load(&shared->users))
        cw_loop_set_deadline(shared->opts.loop, &shared->next_poll, &shared->leaving);
    else
        cw_shared_conn_close(shared, /* loops_ended= */ false);
}

static void on_loop_end(cw_loop_hook *hook)
{
    cw_shared_conn_close(CW_CONTAINER(hook, cw_shared_conn, hook), /* loops_ended= */ true);
}

void cw_shared_conn_retire(cw_shared_conn *shared)
{
    if (!shared)
        return;
    shared->opts.announced = NULL;
    shared->hook.on_end = on_loop_end;
    cw_loop_add_hook(shared->opts.loop, &shared->hook);
    on_retire_poll(&shared->next_poll);
}
