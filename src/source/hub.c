/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hub.c - calls on their way from a loop to the connection on the main loop, and back. */
#include <stdlib.h>

#include "source/hub_int.h"

#define STUCK_MS 5u
#define LEAVING_MS 100u

/* ---- the hub ---- */

static void on_stuck(cw_deadline *d);
static void on_look(cw_deadline *d);

static void watch_lists(cw_hub *hub)
{
    cw_loop_watch(hub->opts.loop, &hub->limit);
    cw_loop_watch(hub->opts.loop, &hub->first);
    cw_loop_watch(hub->opts.loop, &hub->stuck);
    cw_loop_watch(hub->opts.loop, &hub->leaving);
}

cw_code cw_hub_new(cw_service *s, const cw_hub_opts *opts, cw_hub **ret, cw_err *err)
{
    cw_hub *hub = calloc(1, sizeof *hub);
    if (!hub)
        return cw_fail_nomem(err);
    atomic_init(&hub->refs, 1);
    atomic_init(&hub->users, 0);
    atomic_init(&hub->last_id, 0);
    pthread_mutex_init(&hub->lock, NULL);
    hub->service = cw_service_ref(s);
    hub->opts = *opts;
    hub->all.all_prev = hub->all.all_next = &hub->all;
    hub->waiting.prev = hub->waiting.next = &hub->waiting;
    hub->pending.prev = hub->pending.next = &hub->pending;
    cw_arena_init(&hub->scratch, opts->answer_size * 16 + 65536);
    cw_bearer_init(&hub->bearer, s, opts->loop, cw_hub_on_token);
    cw_deadline_list_init(&hub->limit, s->config.timeout_ms, cw_hub_on_limit);
    cw_deadline_list_init(&hub->stuck, STUCK_MS, on_stuck);
    cw_deadline_list_init(&hub->first, s->config.timeout_ms, cw_hub_on_silence);
    cw_deadline_list_init(&hub->leaving, LEAVING_MS, on_look);
    watch_lists(hub);
    *ret = hub;
    return CW_OK;
}

cw_hub *cw_hub_ref(cw_hub *hub)
{
    atomic_fetch_add(&hub->refs, 1);
    return hub;
}

void cw_hub_unref(cw_hub *hub)
{
    if (!hub || atomic_fetch_sub(&hub->refs, 1) != 1)
        return;
    cw_service_unref(hub->service);
    cw_arena_done(&hub->scratch);
    pthread_mutex_destroy(&hub->lock);
    free(hub);
}

void cw_hub_use(cw_hub *hub)
{
    atomic_fetch_add(&hub->users, 1);
}

void cw_hub_leave(cw_hub *hub)
{
    atomic_fetch_sub(&hub->users, 1);
}

bool cw_hub_fits(const cw_hub *hub, const cw_service *s, size_t answer_size)
{
    return hub->opts.answer_size == answer_size && cw_service_is_same_way(hub->service, s);
}

cw_str cw_hub_problem(const cw_hub *hub)
{
    return cw_str_from(hub->problem);
}

uint64_t cw_hub_number(cw_hub *hub)
{
    return atomic_fetch_add_explicit(&hub->last_id, 1, memory_order_relaxed) + 1;
}

/* ---- calls ---- */

static void list(cw_hub *hub, cw_hub_call *call)
{
    pthread_mutex_lock(&hub->lock);
    call->all_next = &hub->all;
    call->all_prev = hub->all.all_prev;
    call->all_prev->all_next = call;
    hub->all.all_prev = call;
    hub->n_all++;
    pthread_mutex_unlock(&hub->lock);
}

/* Without giving its reference back. */
static void drop_call(cw_hub_call *call)
{
    cw_hub *hub = call->hub;
    pthread_mutex_lock(&hub->lock);
    call->all_prev->all_next = call->all_next;
    call->all_next->all_prev = call->all_prev;
    hub->n_all--;
    pthread_mutex_unlock(&hub->lock);
    free(call->answer);
    free(call);
}

static void free_call(cw_hub_call *call)
{
    cw_hub *hub = call->hub;
    drop_call(call);
    cw_hub_unref(hub);
}

/* On the loop of its caller. */
static void on_home(void *arg)
{
    cw_hub_call *call = arg;
    cw_way_req *req = call->req;
    if (req) {
        cw_client_answer answer = {.type = CW_STR("application/json"),
                                   .body = cw_str_make(call->answer, call->n_answer)};
        cw_reply reply = {call->end, call->end == CW_CLIENT_OK ? &answer : NULL, call->why, NULL};
        req->hub_call = NULL;
        cw_way_tell(req, &reply);
    }
    free_call(call);
}

static void send_home(cw_hub_call *call)
{
    cw_hub *hub = call->hub;
    if (cw_loop_post(call->loop, on_home, call) == CW_OK)
        return;
    if (hub->is_over) { /* a call that came after the end: it is put off once more */
        hub->is_over = false;
        watch_lists(cw_hub_ref(hub));
    }
    cw_loop_set_deadline(hub->opts.loop, &call->deadline, &hub->stuck);
}

/* The last that the main loop does for a hub which was closed. */
static void end_if_over(cw_hub *hub)
{
    if (!hub->is_closing || hub->is_over || hub->stuck.root.next != &hub->stuck.root)
        return;
    hub->is_over = true;
    cw_loop_unwatch(hub->opts.loop, &hub->limit);
    cw_loop_unwatch(hub->opts.loop, &hub->first);
    cw_loop_unwatch(hub->opts.loop, &hub->stuck);
    cw_loop_unwatch(hub->opts.loop, &hub->leaving);
    cw_hub_unref(hub);
}

static void on_stuck(cw_deadline *d)
{
    cw_hub_call *call = CW_CONTAINER(d, cw_hub_call, deadline);
    cw_hub *hub = call->hub;
    send_home(call);
    end_if_over(hub);
}

void cw_hub_finish(cw_hub_call *call, cw_client_end end, cw_str answer, const char *why)
{
    cw_deadline_clear(&call->deadline);
    call->end = end;
    if (end == CW_CLIENT_OK) {
        call->answer = malloc(answer.n + 1);
        if (call->answer) {
            memcpy(call->answer, answer.p, answer.n);
            cw_bearer_mask(&call->hub->bearer, call->answer, answer.n);
            call->n_answer = answer.n;
        } else {
            call->end = CW_CLIENT_NOMEM;
        }
    }
    size_t n = strnlen(why, sizeof call->why - 1);
    memcpy(call->why, why, n);
    call->why[n] = 0;
    send_home(call);
}

/* On the main loop. */
static void on_call(void *arg)
{
    cw_hub_call *call = arg;
    cw_hub_take(call->hub, call);
}

static cw_hub_call *make_call(cw_hub *hub, cw_loop *loop, cw_way_req *req)
{
    size_t n = 0;
    for (size_t i = 0; i < req->n_body; i++)
        n += req->body[i].n;
    cw_hub_call *call = calloc(1, sizeof *call + n);
    if (!call)
        return NULL;
    call->body = (char *)(call + 1);
    call->hub = cw_hub_ref(hub);
    call->loop = loop;
    call->req = req;
    call->id = req->id;
    call->is_notice = req->is_notice;
    atomic_init(&call->is_cancelled, false);
    uint32_t usual = hub->service->config.timeout_ms;
    call->limit_ms = req->limit_ms > usual ? req->limit_ms : usual;
    for (size_t i = 0; i < req->n_body; i++) {
        if (req->body[i].n)
            memcpy(call->body + call->n_body, req->body[i].p, req->body[i].n);
        call->n_body += req->body[i].n;
    }
    list(hub, call);
    return call;
}

cw_code cw_hub_send(cw_hub *hub, cw_loop *loop, cw_way_req *req, cw_err *err)
{
    pthread_mutex_lock(&hub->lock);
    bool is_full = hub->n_all >= hub->service->config.queue + hub->service->config.connections;
    pthread_mutex_unlock(&hub->lock);
    if (is_full)
        return cw_fail(err, CW_LIMIT, "too many calls are under way");
    cw_hub_call *call = make_call(hub, loop, req);
    if (!call)
        return cw_fail_nomem(err);
    if (cw_loop_post(hub->opts.loop, on_call, call)) {
        free_call(call);
        return cw_fail(err, CW_LIMIT, "the main loop is busy");
    }
    req->hub_call = call;
    return CW_OK;
}

void cw_hub_cancel(cw_way_req *req)
{
    cw_hub_call *call = req->hub_call;
    req->hub_call = NULL;
    if (!call)
        return;
    call->req = NULL;
    atomic_store(&call->is_cancelled, true);
}

/* ---- the end ---- */

/* The loops have ended: nobody reads the mail that is left. */
static void drop_all(cw_hub *hub)
{
    while (hub->all.all_next != &hub->all) {
        cw_hub_call *call = hub->all.all_next;
        cw_deadline_clear(&call->deadline);
        if (call->req) /* whoever has it has not closed its way yet */
            call->req->hub_call = NULL;
        drop_call(call);
        atomic_fetch_sub(&hub->refs, 1); /* not the last: whoever closes it has one */
    }
    hub->waiting.prev = hub->waiting.next = &hub->waiting;
    hub->pending.prev = hub->pending.next = &hub->pending;
    memset(hub->buckets, 0, sizeof hub->buckets);
}

void cw_hub_close(cw_hub *hub, bool loops_ended)
{
    if (!hub)
        return;
    hub->is_closing = true;
    cw_deadline_clear(&hub->next_look);
    cw_loop_remove_hook(&hub->hook);
    if (loops_ended)
        drop_all(hub);
    cw_hub_hang_up(hub, CW_CLIENT_LOST, "the source was taken away");
    cw_bearer_done(&hub->bearer);
    end_if_over(hub);
}

/* Looked at now and then: its last user leaves on a loop of its own, whose message might find no
 * room. */
static void on_look(cw_deadline *d)
{
    cw_hub *hub = CW_CONTAINER(d, cw_hub, next_look);
    if (atomic_load(&hub->users))
        cw_loop_set_deadline(hub->opts.loop, &hub->next_look, &hub->leaving);
    else
        cw_hub_close(hub, /* loops_ended= */ false);
}

static void on_loop_end(cw_loop_hook *hook)
{
    cw_hub_close(CW_CONTAINER(hook, cw_hub, hook), /* loops_ended= */ true);
}

void cw_hub_retire(cw_hub *hub)
{
    if (!hub)
        return;
    hub->opts.announced = NULL;
    hub->hook.on_end = on_loop_end;
    cw_loop_add_hook(hub->opts.loop, &hub->hook);
    on_look(&hub->next_look);
}
