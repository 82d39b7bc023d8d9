/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client.c - requests, those who wait, and the life of a client. */
#include "net/client/client.h"

#include <stdlib.h>

#include "net/client/client_int.h"

#define CONNECTIONS 64u
#define WAITING 1024u
#define CONNECT_MS 5000u
#define IDLE_MS 60000u

/* Members of cw_client_req.internal. */
enum {
    PREV,
    NEXT,
    LINK,
    WAITS, /* not NULL: in the queue */
};

static cw_client_conn *link_of(const cw_client_req *req)
{
    return req->internal[LINK];
}

void cw_client_set_conn(cw_client_req *req, cw_client_conn *link)
{
    req->internal[LINK] = link;
}

/* ---- the queue ---- */

static void enqueue(cw_client *c, cw_client_req *req)
{
    req->internal[PREV] = c->last;
    req->internal[NEXT] = NULL;
    req->internal[WAITS] = c;
    if (c->last)
        c->last->internal[NEXT] = req;
    else
        c->first = req;
    c->last = req;
    c->n_waiting++;
}

static void dequeue(cw_client *c, cw_client_req *req)
{
    cw_client_req *prev = req->internal[PREV], *next = req->internal[NEXT];
    if (prev)
        prev->internal[NEXT] = next;
    else
        c->first = next;
    if (next)
        next->internal[PREV] = prev;
    else
        c->last = prev;
    req->internal[WAITS] = NULL;
    c->n_waiting--;
}

/* ---- the end of a client ---- */

static void destroy_if_over(cw_client *c)
{
    if (!c->closing || c->n_open || c->depth)
        return;
    void (*on_closed)(void *ctx) = c->on_closed;
    void *ctx = c->closed_ctx;
    cw_loop_unwatch(c->loop, &c->connecting);
    cw_loop_unwatch(c->loop, &c->answering);
    cw_loop_unwatch(c->loop, &c->idling);
    cw_loop_unwatch(c->loop, &c->naming);
    cw_buf_done(&c->out);
    free(c->text);
    free(c);
    if (on_closed)
        on_closed(ctx);
}

void cw_client_enter(cw_client *c)
{
    c->depth++;
}

void cw_client_leave(cw_client *c)
{
    c->depth--;
    destroy_if_over(c);
}

void cw_client_finish(cw_client_req *req, cw_client_end end, const cw_client_response *answer,
                      const char *why)
{
    cw_client_set_conn(req, NULL);
    req->on_done(req, end, answer, why);
}

/* ---- where a request goes ---- */

static cw_client_conn *first_conn(const cw_list *list)
{
    return CW_CONTAINER(list->next, cw_client_conn, node);
}

static bool reuse_idle(cw_client *c, cw_client_req *req)
{
    while (!cw_list_is_empty(&c->idle)) {
        if (cw_client_conn_reuse(first_conn(&c->idle), req))
            return true;
    }
    return false;
}

/* Old addresses are good while newer ones are looked for. */
static void refresh_addresses(cw_client *c)
{
    if (c->is_name && cw_loop_now(c->loop) - c->looked_up >= CW_CLIENT_NAME_MS) {
        cw_code rc = cw_client_look_up(c, NULL);
        (void)rc;
    }
}

/* Begin, or CW_DECLINED: it has to wait. */
static cw_code place(cw_client *c, cw_client_req *req, cw_err *err)
{
    if (reuse_idle(c, req))
        return CW_OK;
    if (c->n_links >= c->opts.connections)
        return CW_DECLINED;
    if (c->n_addresses == 0) {
        cw_code rc = cw_client_look_up(c, err);
        return rc ? rc : CW_DECLINED;
    }
    refresh_addresses(c);
    return cw_client_conn_open(c, req, /* again= */ false, err);
}

static void serve(cw_client *c)
{
    cw_client_enter(c);
    while (c->first && !c->closing) {
        cw_client_req *req = c->first;
        cw_err err;
        cw_code rc = place(c, req, &err);
        if (rc == CW_DECLINED)
            break;
        dequeue(c, req);
        if (rc)
            cw_client_finish(req, rc == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT, NULL,
                             err.msg);
    }
    cw_client_leave(c);
}

static void on_later(cw_deferred *later)
{
    cw_client *c = CW_CONTAINER(later, cw_client, later);
    if (!c->lookup_late) {
        serve(c);
        return;
    }
    c->lookup_late = false;
    cw_client_looked_up(c, "the lookup of its name took too long");
}

void cw_client_defer_serve(cw_client *c)
{
    if (c->first && !c->closing)
        cw_loop_defer(c->loop, &c->later);
}

void cw_client_looked_up(cw_client *c, const char *why)
{
    if (c->n_addresses) {
        serve(c);
        return;
    }
    cw_err err;
    cw_fail(&err, CW_IO, "'%s': %s", c->dial_host.p, why);
    cw_client_enter(c);
    /* A request that on_done starts is not among these. */
    for (size_t n = c->n_waiting; n && c->first; n--) {
        cw_client_req *req = c->first;
        dequeue(c, req);
        cw_client_finish(req, CW_CLIENT_CONNECT, NULL, err.msg);
    }
    cw_client_leave(c);
}

void cw_client_reached(cw_client *c, unsigned index, bool reached)
{
    if (index >= c->n_addresses)
        return; /* a lookup changed them meanwhile */
    if (reached) {
        c->best = (uint8_t)index;
        return;
    }
    if (c->best == index)
        c->best = (uint8_t)((index + 1) % c->n_addresses);
    c->looked_up = 0; /* maybe the name leads elsewhere by now */
}

/* ---- public ---- */

static void set_defaults(cw_client_opts *opts)
{
    opts->connections = opts->connections ? opts->connections : CONNECTIONS;
    opts->waiting = opts->waiting ? opts->waiting : WAITING;
    opts->connect_ms = opts->connect_ms ? opts->connect_ms : CONNECT_MS;
    opts->idle_ms = opts->idle_ms ? opts->idle_ms : IDLE_MS;
    opts->headers = NULL;
    opts->n_headers = 0;
}

cw_code cw_client_new(cw_loop *loop, const cw_client_opts *opts, cw_client **ret, cw_err *err)
{
    cw_client *c = calloc(1, sizeof *c);
    if (!c)
        return cw_fail_nomem(err);
    c->loop = loop;
    c->opts = *opts;
    set_defaults(&c->opts);
    cw_code rc = cw_client_make_texts(c, opts, err);
    if (!rc && c->opts.url.is_tls)
        rc = cw_client_tls_open(c, err);
    if (rc) {
        free(c->text);
        free(c);
        return rc;
    }
    c->later.fn = on_later;
    cw_list_init(&c->links);
    cw_list_init(&c->idle);
    cw_buf_init(&c->out, SIZE_MAX / 2);
    cw_deadline_list_init(&c->connecting, c->opts.connect_ms, cw_client_conn_on_connect_deadline);
    cw_deadline_list_init(&c->answering, c->opts.first_byte_ms,
                          cw_client_conn_on_response_deadline);
    cw_deadline_list_init(&c->idling, c->opts.idle_ms, cw_client_conn_on_idle_deadline);
    cw_deadline_list_init(&c->naming, c->opts.connect_ms, cw_client_on_name_deadline);
    cw_loop_watch(loop, &c->connecting);
    cw_loop_watch(loop, &c->answering);
    cw_loop_watch(loop, &c->idling);
    cw_loop_watch(loop, &c->naming);
    cw_client_find_address(c);
    *ret = c;
    return CW_OK;
}

cw_code cw_client_send(cw_client *c, cw_client_req *req, cw_err *err)
{
    memset(req->internal, 0, sizeof req->internal);
    if (c->closing)
        return cw_fail(err, CW_IO, "the client is closing");
    cw_code rc = cw_client_prepare(c, req, err);
    if (rc)
        return rc;
    /* Requests that wait are served first. */
    rc = c->first ? CW_DECLINED : place(c, req, err);
    if (rc == CW_DECLINED) {
        if (c->n_waiting >= c->opts.waiting)
            return cw_fail(err, CW_LIMIT, "too many requests wait for a connection");
        enqueue(c, req);
        rc = CW_OK;
    }
    return rc;
}

void cw_client_cancel(cw_client *c, cw_client_req *req)
{
    cw_client_conn *l = link_of(req);
    if (!req->internal[WAITS] && !l)
        return;
    if (!l) {
        dequeue(c, req);
        return;
    }
    /* The time of the request ended before ours: the next one begins with another address. */
    if (l->state == LINK_CONNECT || l->state == LINK_TLS)
        cw_client_reached(c, l->address, false);
    cw_client_conn_close(l);
}

void cw_client_close(cw_client *c, void (*on_closed)(void *ctx), void *ctx)
{
    c->closing = true;
    c->on_closed = on_closed;
    c->closed_ctx = ctx;
    cw_loop_cancel_deferred(&c->later);
    cw_client_forget_lookup(c);
    while (c->first)
        dequeue(c, c->first);
    while (!cw_list_is_empty(&c->links))
        cw_client_conn_close(first_conn(&c->links));
    while (!cw_list_is_empty(&c->idle))
        cw_client_conn_close(first_conn(&c->idle));
    if (c->secure)
        cw_client_tls_close(c);
    destroy_if_over(c);
}
