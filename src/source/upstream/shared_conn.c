/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_conn.c - calls on their way from a loop to the connection on the main loop, and back. */
#include <stdlib.h>

#include "source/upstream/shared_conn_int.h"

#define SCRATCH_MAX (1024u * 1024u)

/* ---- the hub ---- */

static void on_unused(cw_message *message);
static void on_unused_dropped(cw_message *message);

cw_code cw_shared_conn_new(cw_endpoint *s, const cw_shared_conn_opts *opts, cw_shared_conn **ret,
                           cw_err *err)
{
    cw_shared_conn *shared = calloc(1, sizeof *shared);
    if (!shared)
        return cw_fail_nomem(err);
    atomic_init(&shared->refs, 1);
    atomic_init(&shared->users, 0);
    atomic_init(&shared->is_retired, false);
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
    cw_deadline_list_init(&shared->first, s->config.timeout_ms, cw_shared_conn_on_idle);
    cw_loop_watch(opts->loop, &shared->limit);
    cw_loop_watch(opts->loop, &shared->first);
    shared->unused = (cw_message){.fn = on_unused, .drop = on_unused_dropped};
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
    if (atomic_fetch_sub(&shared->users, 1) == 1 && atomic_exchange(&shared->is_retired, false))
        cw_loop_post(shared->opts.loop, &cw_shared_conn_ref(shared)->unused);
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
static void on_reply(cw_message *message)
{
    cw_shared_conn_call *call = CW_CONTAINER(message, cw_shared_conn_call, message);
    cw_upstream_req *req = call->req;
    if (req) {
        cw_parsed_message *parsed = call->answer;
        cw_client_response answer = {.type = CW_STR("application/json"),
                                     .body = parsed ? cw_str_make(parsed->text, parsed->n)
                                                    : CW_STR("")};
        cw_upstream_reply reply = {
            .end = call->end,
            .answer = call->end == CW_CLIENT_OK ? &answer : NULL,
            .why = call->why,
            .message = parsed,
        };
        req->conn_call = NULL;
        cw_upstream_finish(req, &reply);
    }
    free_call(call);
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
    call->message.fn = on_reply;
    cw_loop_post(call->loop, &call->message);
}

/* On the main loop. */
static void on_call(cw_message *message)
{
    cw_shared_conn_call *call = CW_CONTAINER(message, cw_shared_conn_call, message);
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
    req->conn_call = call;
    call->message.fn = on_call;
    cw_loop_post(shared->opts.loop, &call->message);
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
    atomic_store(&shared->is_retired, false);
    cw_loop_remove_hook(&shared->hook);
    if (loops_ended)
        drop_all(shared);
    cw_shared_conn_disconnect(shared, CW_CLIENT_LOST, "the source was taken away");
    cw_oauth_token_done(&shared->oauth);
    cw_loop_unwatch(shared->opts.loop, &shared->limit);
    cw_loop_unwatch(shared->opts.loop, &shared->first);
    cw_shared_conn_unref(shared);
}

/* On the main loop: the last user of a retired one has left. */
static void on_unused(cw_message *message)
{
    cw_shared_conn *shared = CW_CONTAINER(message, cw_shared_conn, unused);
    if (!shared->is_closing)
        cw_shared_conn_close(shared, /* loops_ended= */ false);
    cw_shared_conn_unref(shared);
}

static void on_unused_dropped(cw_message *message)
{
    cw_shared_conn_unref(CW_CONTAINER(message, cw_shared_conn, unused));
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
    atomic_store(&shared->is_retired, true);
    /* The last user may have left before this: then its release has posted nothing. */
    if (!atomic_load(&shared->users) && atomic_exchange(&shared->is_retired, false))
        cw_shared_conn_close(shared, /* loops_ended= */ false);
}
