/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sessions.c - the table of sessions with one MCP server. Every function but init and done takes the
 * lock, and none calls back while it has it. */
#include "source/relay/sessions.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"

typedef struct session {
    cw_list node;
    cw_relay_ticket ticket;
    bool is_open;    /* else it is being opened */
    bool has_stream; /* or one is being made */
    unsigned level;  /* of log lines that the server was asked for; 0: none */
    cw_list routes;  /* of the calls that run in it */
    uint64_t used_at;
} session;

void cw_relay_sessions_init(cw_relay_sessions *t, cw_relay_mode mode, cw_relay_era pinned)
{
    *t = (cw_relay_sessions){.mode = mode, .pinned = pinned};
    pthread_mutex_init(&t->lock, NULL);
    atomic_init(&t->era, (int)pinned);
    cw_list_init(&t->all);
    cw_list_init(&t->ended);
    cw_list_init(&t->waiters);
}

static session *session_at(cw_list *node)
{
    return CW_CONTAINER(node, session, node);
}

/* Free a session. Its calls continue without a route. */
static void forget(cw_relay_sessions *t, session *s)
{
    while (cw_list_take_first(&s->routes))
        ;
    cw_list_remove(&s->node);
    t->n--;
    free(s);
}

/* Keep a session for cw_relay_sessions_next_ended. */
static void end_session(cw_relay_sessions *t, session *s)
{
    if (!s->ticket.id[0] || t->n_ended >= CW_RELAY_SESSIONS) {
        forget(t, s);
        return;
    }
    cw_list_remove(&s->node);
    t->n--;
    cw_list_add(&t->ended, &s->node);
    t->n_ended++;
}

void cw_relay_sessions_done(cw_relay_sessions *t)
{
    CW_LIST_EACH_SAFE (node, &t->all)
        forget(t, session_at(node));
    for (cw_list *node; (node = cw_list_take_first(&t->ended));)
        free(session_at(node));
    free((char *)(uintptr_t)t->server.instructions.p);
    pthread_mutex_destroy(&t->lock);
}

static session *find(cw_relay_sessions *t, const char *key)
{
    CW_LIST_EACH (node, &t->all) {
        if (strcmp(session_at(node)->ticket.key, key) == 0)
            return session_at(node);
    }
    return NULL;
}

/* ---- the server ---- */

static bool is_object(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_OBJECT);
}

void cw_relay_sessions_learn(cw_relay_sessions *t, const cw_json *answer)
{
    const cw_json *result = cw_json_get(answer, CW_STR("result"));
    const cw_json *has = cw_json_get(result, CW_STR("capabilities"));
    const cw_json *resources = cw_json_get(has, CW_STR("resources"));
    const cw_json *text = cw_json_get(result, CW_STR("instructions"));
    if (!is_object(result))
        return;
    cw_relay_server server = {
        .is_known = true,
        .has_prompts = is_object(cw_json_get(has, CW_STR("prompts"))),
        .has_resources = is_object(resources),
        .has_logging = is_object(cw_json_get(has, CW_STR("logging"))),
        .can_subscribe = cw_json_is(cw_json_get(resources, CW_STR("subscribe")), CW_JSON_TRUE),
    };
    if (cw_json_is(text, CW_JSON_STRING)) {
        cw_str all = cw_json_text(text);
        size_t n = cw_utf8_cut(all, CW_RELAY_INSTRUCTIONS_MAX);
        char *copy = n ? malloc(n) : NULL;
        if (copy)
            server.instructions = cw_str_make(memcpy(copy, all.p, n), n);
    }
    pthread_mutex_lock(&t->lock);
    free((char *)(uintptr_t)t->server.instructions.p);
    t->server = server;
    pthread_mutex_unlock(&t->lock);
}

cw_relay_server cw_relay_sessions_server(cw_relay_sessions *t, cw_arena *arena)
{
    pthread_mutex_lock(&t->lock);
    cw_relay_server server = t->server;
    server.instructions = cw_arena_dup_str(arena, server.instructions);
    pthread_mutex_unlock(&t->lock);
    if (!server.instructions.p)
        server.instructions = CW_STR("");
    return server;
}

/* ---- the era ---- */

cw_relay_era cw_relay_sessions_era(const cw_relay_sessions *t)
{
    return (cw_relay_era)atomic_load_explicit(&t->era, memory_order_relaxed);
}

void cw_relay_sessions_forget_era(cw_relay_sessions *t)
{
    atomic_store(&t->era, (int)t->pinned);
    pthread_mutex_lock(&t->lock);
    t->has_listener = false;
    pthread_mutex_unlock(&t->lock);
}

/* Post each waiter to its loop. From then on its message owns it. */
static void wake_all(cw_relay_sessions *t)
{
    for (cw_list *node; (node = cw_list_take_first(&t->waiters));) {
        cw_relay_waiter *w = CW_CONTAINER(node, cw_relay_waiter, node);
        cw_loop_post(w->loop, &w->message);
    }
}

void cw_relay_sessions_set_era(cw_relay_sessions *t, cw_relay_era era)
{
    pthread_mutex_lock(&t->lock);
    if (t->pinned == CW_RELAY_UNKNOWN)
        atomic_store(&t->era, (int)era);
    t->is_probing = false;
    wake_all(t);
    pthread_mutex_unlock(&t->lock);
}

/* ---- sessions ---- */

/* The id of a caller may be long. A key is not truncated: two callers must not get one session. */
static cw_code make_key(cw_relay_sessions *t, const cw_relay_request *r, char key[CW_RELAY_KEY_MAX])
{
    bool is_shared =
        t->mode == CW_RELAY_MODE_SHARED || (t->mode == CW_RELAY_MODE_AUTO && t->has_no_ids);
    cw_str caller = is_shared ? CW_STR("") : r->caller;
    int n = t->mode == CW_RELAY_MODE_CALL && r->caller.n
                ? snprintf(key, CW_RELAY_KEY_MAX, "%u #%llu", r->capabilities,
                           (unsigned long long)++t->n_calls)
                : snprintf(key, CW_RELAY_KEY_MAX, "%u %.*s", r->capabilities, CW_STR_ARG(caller));
    return n > 0 && n < (int)CW_RELAY_KEY_MAX ? CW_OK : CW_LIMIT;
}

/* End sessions that were idle for long, and the least recently used ones beyond the maximum. A
 * session with a running call is in use, however old the call is. Causeway's own session stays. */
static void evict(cw_relay_sessions *t, uint64_t now)
{
    for (unsigned n = t->n; n && !cw_list_is_empty(&t->all); n--) {
        session *last = session_at(t->all.prev); /* NOLINT: a freed node is in no list */
        bool is_old = now > last->used_at + CW_RELAY_IDLE_MS;
        bool is_used = !cw_list_is_empty(&last->routes) || /* NOLINT: likewise */
                       strcmp(last->ticket.key, CW_RELAY_OWN_KEY) == 0;
        if (!last->is_open || (!is_old && t->n < CW_RELAY_SESSIONS))
            return;
        if (is_used) {
            cw_list_remove(&last->node);
            cw_list_add_first(&t->all, &last->node);
            continue;
        }
        end_session(t, last);
    }
}

static cw_code add(cw_relay_sessions *t, const cw_relay_ticket *ticket, uint64_t now)
{
    evict(t, now);
    session *s = t->n < 2 * CW_RELAY_SESSIONS ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return CW_NOMEM;
    s->ticket = *ticket;
    s->used_at = now;
    cw_list_init(&s->routes);
    cw_list_add_first(&t->all, &s->node);
    t->n++;
    return CW_DECLINED;
}

static cw_code wait(cw_relay_sessions *t, cw_relay_waiter *waiter)
{
    if (waiter)
        cw_list_add(&t->waiters, &waiter->node);
    return CW_AGAIN;
}

static cw_code use(cw_relay_sessions *t, session *s, uint64_t now, cw_relay_ticket *ret)
{
    s->used_at = now;
    cw_list_remove(&s->node);
    cw_list_add_first(&t->all, &s->node);
    *ret = s->ticket;
    ret->has_stream = s->has_stream;
    return CW_OK;
}

static cw_code enter(cw_relay_sessions *t, const cw_relay_request *r, uint64_t now,
                     cw_relay_waiter *waiter, cw_relay_ticket *ret)
{
    bool is_again = t->mode == CW_RELAY_MODE_CALL && ret->key[0];
    ret->era = cw_relay_sessions_era(t);
    ret->is_modern = ret->era == CW_RELAY_MODERN;
    ret->has_stream = t->has_listener;
    ret->version[0] = ret->id[0] = 0;
    if (ret->is_modern)
        return CW_OK;
    ret->has_stream = false;
    cw_code rc = is_again ? CW_OK : make_key(t, r, ret->key);
    if (rc)
        return rc;
    session *s = find(t, ret->key);
    if (s)
        return s->is_open ? use(t, s, now, ret) : wait(t, waiter);
    if (ret->era == CW_RELAY_UNKNOWN && t->is_probing)
        return wait(t, waiter);
    rc = add(t, ret, now);
    t->is_probing = t->is_probing || (rc == CW_DECLINED && ret->era == CW_RELAY_UNKNOWN);
    return rc;
}

cw_code cw_relay_sessions_enter(cw_relay_sessions *t, const cw_relay_request *r, uint64_t now,
                                cw_relay_waiter *waiter, cw_relay_ticket *ret)
{
    pthread_mutex_lock(&t->lock);
    cw_code rc = enter(t, r, now, waiter, ret);
    pthread_mutex_unlock(&t->lock);
    return rc;
}

void cw_relay_sessions_opened(cw_relay_sessions *t, const cw_relay_ticket *ticket, uint64_t now)
{
    pthread_mutex_lock(&t->lock);
    session *s = find(t, ticket->key);
    if (s) {
        s->ticket = *ticket;
        s->is_open = true;
        s->used_at = now;
    }
    t->has_no_ids = t->has_no_ids || ticket->id[0] == 0;
    t->is_probing = false;
    wake_all(t);
    pthread_mutex_unlock(&t->lock);
}

void cw_relay_sessions_failed(cw_relay_sessions *t, const cw_relay_ticket *ticket)
{
    pthread_mutex_lock(&t->lock);
    session *s = find(t, ticket->key);
    if (s && !s->is_open)
        forget(t, s);
    t->is_probing = false;
    wake_all(t);
    pthread_mutex_unlock(&t->lock);
}

void cw_relay_sessions_drop(cw_relay_sessions *t, const cw_relay_ticket *ticket)
{
    pthread_mutex_lock(&t->lock);
    session *s = find(t, ticket->key);
    if (s && s->is_open && strcmp(s->ticket.id, ticket->id) == 0)
        forget(t, s);
    pthread_mutex_unlock(&t->lock);
}

bool cw_relay_sessions_leave(cw_relay_sessions *t, cw_relay_waiter *waiter)
{
    pthread_mutex_lock(&t->lock);
    bool is_waiting = cw_list_is_in(&waiter->node);
    cw_list_remove(&waiter->node);
    pthread_mutex_unlock(&t->lock);
    return is_waiting;
}

/* ---- streams ---- */

/* NULL: the session is gone. */
static bool *stream_flag(cw_relay_sessions *t, const cw_relay_ticket *ticket)
{
    session *s = ticket->is_modern ? NULL : find(t, ticket->key);
    return ticket->is_modern ? &t->has_listener : (s ? &s->has_stream : NULL);
}

bool cw_relay_sessions_claim_stream(cw_relay_sessions *t, const cw_relay_ticket *ticket)
{
    pthread_mutex_lock(&t->lock);
    bool *has = stream_flag(t, ticket);
    bool is_ours = has && !*has;
    if (is_ours)
        *has = true;
    pthread_mutex_unlock(&t->lock);
    return is_ours;
}

void cw_relay_sessions_drop_stream(cw_relay_sessions *t, const cw_relay_ticket *ticket)
{
    pthread_mutex_lock(&t->lock);
    bool *has = stream_flag(t, ticket);
    if (has)
        *has = false;
    pthread_mutex_unlock(&t->lock);
}

/* ---- log levels ---- */

bool cw_relay_sessions_has_logging(cw_relay_sessions *t)
{
    pthread_mutex_lock(&t->lock);
    bool has = t->server.has_logging;
    pthread_mutex_unlock(&t->lock);
    return has;
}

bool cw_relay_sessions_raise_level(cw_relay_sessions *t, const cw_relay_ticket *ticket,
                                   unsigned level)
{
    if (ticket->is_modern || !level)
        return false;
    pthread_mutex_lock(&t->lock);
    session *s = t->server.has_logging ? find(t, ticket->key) : NULL;
    bool is_higher = s && level > s->level;
    if (is_higher)
        s->level = level;
    pthread_mutex_unlock(&t->lock);
    return is_higher;
}

/* A lower level that was requested before may be requested again, which does no harm. */
void cw_relay_sessions_forget_level(cw_relay_sessions *t, const cw_relay_ticket *ticket,
                                    unsigned level)
{
    pthread_mutex_lock(&t->lock);
    session *s = find(t, ticket->key);
    if (s && s->level == level)
        s->level = 0;
    pthread_mutex_unlock(&t->lock);
}

/* ---- sessions that have ended ---- */

/* Take the first ended session out of the table. */
static bool take_ended(cw_relay_sessions *t, cw_relay_ticket *ret)
{
    cw_list *node = cw_list_take_first(&t->ended);
    if (!node)
        return false;
    t->n_ended--;
    *ret = session_at(node)->ticket;
    free(session_at(node));
    return true;
}

bool cw_relay_sessions_next_ended(cw_relay_sessions *t, uint64_t now, cw_relay_ticket *ret)
{
    pthread_mutex_lock(&t->lock);
    evict(t, now);
    bool has_one = take_ended(t, ret);
    pthread_mutex_unlock(&t->lock);
    return has_one;
}

bool cw_relay_sessions_next_open(cw_relay_sessions *t, cw_relay_ticket *ret)
{
    pthread_mutex_lock(&t->lock);
    CW_LIST_EACH_SAFE (node, &t->all) {
        session *s = session_at(node);
        while (cw_list_take_first(&s->routes))
            ;
        if (s->is_open)
            end_session(t, s);
    }
    bool has_one = take_ended(t, ret);
    pthread_mutex_unlock(&t->lock);
    return has_one;
}

/* ---- calls ---- */

cw_relay_route *cw_relay_route_new(cw_loop *loop, uint64_t id, void *call)
{
    cw_relay_route *route = malloc(sizeof *route);
    if (!route)
        return NULL;
    *route = (cw_relay_route){.loop = loop, .id = id, .call = call};
    atomic_init(&route->refs, 1);
    return route;
}

cw_relay_route *cw_relay_route_ref(cw_relay_route *route)
{
    atomic_fetch_add(&route->refs, 1);
    return route;
}

void cw_relay_route_unref(cw_relay_route *route)
{
    if (route && atomic_fetch_sub(&route->refs, 1) == 1)
        free(route);
}

void cw_relay_sessions_begin_call(cw_relay_sessions *t, const char *key, cw_relay_route *route)
{
    pthread_mutex_lock(&t->lock);
    session *s = find(t, key);
    if (s)
        cw_list_add(&s->routes, &route->node);
    pthread_mutex_unlock(&t->lock);
}

void cw_relay_sessions_end_call(cw_relay_sessions *t, cw_relay_route *route)
{
    if (!route)
        return;
    pthread_mutex_lock(&t->lock);
    cw_list_remove(&route->node);
    pthread_mutex_unlock(&t->lock);
    route->call = NULL;
    cw_relay_route_unref(route);
}

static cw_relay_route *route_at(cw_list *node)
{
    return CW_CONTAINER(node, cw_relay_route, node);
}

static cw_relay_route *find_route(const session *s, uint64_t id)
{
    bool is_one = !cw_list_is_empty(&s->routes) && s->routes.next == s->routes.prev;
    if (!id)
        return is_one ? route_at(s->routes.next) : NULL;
    CW_LIST_EACH (node, &s->routes) {
        if (route_at(node)->id == id)
            return route_at(node);
    }
    return NULL;
}

cw_relay_route *cw_relay_sessions_find_call(cw_relay_sessions *t, const char *key, uint64_t id)
{
    pthread_mutex_lock(&t->lock);
    const session *s = find(t, key);
    cw_relay_route *route = s ? find_route(s, id) : NULL;
    if (route)
        cw_relay_route_ref(route);
    pthread_mutex_unlock(&t->lock);
    return route;
}

bool cw_relay_sessions_is_busy(cw_relay_sessions *t, const char *key)
{
    pthread_mutex_lock(&t->lock);
    const session *s = find(t, key);
    bool is_busy = s && !cw_list_is_empty(&s->routes);
    pthread_mutex_unlock(&t->lock);
    return is_busy;
}
