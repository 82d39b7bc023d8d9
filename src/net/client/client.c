/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client.c - requests, their connections, names and TLS of the HTTP client. */
#include "net/client/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "metrics/metrics.h"
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

static void looked_up(cw_client *c, const char *why);
static void find_address(cw_client *c);
static cw_code look_up(cw_client *c, cw_err *err);
static void forget_lookup(cw_client *c);
static void on_name_deadline(cw_deadline *d);
static cw_code tls_open(cw_client *c, cw_err *err);
static void tls_close(cw_client *c);
static bool reuse(cw_client_conn *l, cw_client_req *req);
static void not_reached(cw_client_conn *l, int errnum);
static void on_tls(cw_client_conn *l);
static cw_code client_conn_open(cw_client *c, cw_client_req *req, bool again, cw_err *err);

static void count_connection(const cw_client *c, int64_t n)
{
    if (c->opts.metrics_source)
        cw_metrics_add(CW_METRIC_SOURCE_CONNECTIONS, c->opts.metrics_source, 0, 0, n);
}
static void on_connect_deadline(cw_deadline *d);
static void on_response_deadline(cw_deadline *d);
static void on_idle_deadline(cw_deadline *d);

static cw_client_conn *link_of(const cw_client_req *req)
{
    return req->internal[LINK];
}

static void set_conn(cw_client_req *req, cw_client_conn *link)
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
    set_conn(req, NULL);
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
        if (reuse(first_conn(&c->idle), req))
            return true;
    }
    return false;
}

/* Old addresses are good while newer ones are looked for. */
static void refresh_addresses(cw_client *c)
{
    if (c->is_name && cw_loop_now(c->loop) - c->looked_up >= CW_CLIENT_NAME_MS) {
        cw_code rc = look_up(c, NULL);
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
        cw_code rc = look_up(c, err);
        return rc ? rc : CW_DECLINED;
    }
    refresh_addresses(c);
    return client_conn_open(c, req, /* again= */ false, err);
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
    looked_up(c, "the lookup of its name took too long");
}

void cw_client_defer_serve(cw_client *c)
{
    if (c->first && !c->closing)
        cw_loop_defer(c->loop, &c->later);
}

static void looked_up(cw_client *c, const char *why)
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

static void reached(cw_client *c, unsigned index, bool reached)
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
        rc = tls_open(c, err);
    if (rc) {
        free(c->text);
        free(c);
        return rc;
    }
    c->later.fn = on_later;
    cw_list_init(&c->links);
    cw_list_init(&c->idle);
    cw_buf_init(&c->out, CW_BUF_MAX);
    cw_deadline_list_init(&c->connecting, c->opts.connect_ms, on_connect_deadline);
    cw_deadline_list_init(&c->answering, c->opts.first_byte_ms, on_response_deadline);
    cw_deadline_list_init(&c->idling, c->opts.idle_ms, on_idle_deadline);
    cw_deadline_list_init(&c->naming, c->opts.connect_ms, on_name_deadline);
    cw_loop_watch(loop, &c->connecting);
    cw_loop_watch(loop, &c->answering);
    cw_loop_watch(loop, &c->idling);
    cw_loop_watch(loop, &c->naming);
    find_address(c);
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
        reached(c, l->address, false);
    cw_client_conn_close(l);
}

void cw_client_close(cw_client *c, void (*on_closed)(void *ctx), void *ctx)
{
    c->closing = true;
    c->on_closed = on_closed;
    c->closed_ctx = ctx;
    cw_loop_cancel_deferred(&c->later);
    forget_lookup(c);
    while (c->first)
        dequeue(c, c->first);
    while (!cw_list_is_empty(&c->links))
        cw_client_conn_close(first_conn(&c->links));
    while (!cw_list_is_empty(&c->idle))
        cw_client_conn_close(first_conn(&c->idle));
    if (c->secure)
        tls_close(c);
    destroy_if_over(c);
}

/* ---- names ---- */

static void find_address(cw_client *c)
{
    cw_address *a = &c->addresses[0];
    const cw_client_url *url = &c->opts.url; /* our copy, with NULs behind its strings */
    c->is_name = false;
    if (url->unix_path.n ? cw_connect_unix(url->unix_path, a)
                         : cw_connect_literal(c->dial_host.p, c->dial_port, a))
        c->n_addresses = 1;
    else
        c->is_name = !url->unix_path.n;
}

static void on_found(void *ctx, const char *why, const struct addrinfo *found)
{
    cw_client *c = ctx;
    c->lookup = NULL;
    cw_deadline_clear(&c->lookup_deadline);
    cw_address addresses[CW_CLIENT_ADDRESSES];
    size_t n = cw_lookup_take(found, c->dial_port, addresses, CW_CLIENT_ADDRESSES);
    /* Old addresses are kept when no new ones are found. */
    if (n) {
        memcpy(c->addresses, addresses, n * sizeof *addresses);
        c->n_addresses = (uint8_t)n;
        c->best = 0;
    }
    c->looked_up = cw_loop_now(c->loop);
    looked_up(c, why ? why : "no address");
}

static cw_code look_up(cw_client *c, cw_err *err)
{
    /* One that others have given up may still find something; a second one would hang as well. */
    cw_code rc =
        c->lookup ? CW_OK : cw_lookup_start(c->loop, c->dial_host.p, on_found, c, &c->lookup, err);
    if (!rc && !c->lookup_deadline.list)
        cw_loop_set_deadline(c->loop, &c->lookup_deadline, &c->naming);
    return rc;
}

static void forget_lookup(cw_client *c)
{
    cw_deadline_clear(&c->lookup_deadline);
    cw_lookup_forget(c->lookup);
    c->lookup = NULL;
}

static void on_name_deadline(cw_deadline *d)
{
    cw_client *c = CW_CONTAINER(d, cw_client, lookup_deadline);
    c->looked_up = cw_loop_now(c->loop);
    /* Not from here: who is told may close the client, and with it this list of deadlines. */
    c->lookup_late = true;
    cw_loop_defer(c->loop, &c->later);
}

/* ---- TLS ---- */

/* TLS for the connections of the HTTP client (net/curl/tls_client.h): what goes over it is
 * read, limited, repeated and kept by the same code as without. */

static void on_secured(void *owner, cw_code code, int errnum, const char *why)
{
    cw_client_conn *l = owner;
    if (code == CW_OK) {
        on_tls(l);
        return;
    }
    if (errnum) {
        not_reached(l, errnum);
        return;
    }
    reached(l->client, l->address, false);
    cw_client_conn_fail(l, code == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT, why);
}

static cw_code tls_open(cw_client *c, cw_err *err)
{
    const cw_tls_client_opts opts = {
        .host = c->opts.url.host,
        .authority = c->opts.url.authority,
        .port = c->opts.url.port,
        .has_proxy = c->opts.proxy.n,
        .tls = c->opts.tls,
        .on_done = on_secured,
    };
    cw_code rc = cw_tls_client_new(c->loop, &opts, &c->secure, err);
    if (!rc)
        c->n_open++;
    return rc;
}

static void on_closed(void *ctx)
{
    cw_client *c = ctx;
    cw_client_enter(c);
    c->n_open--;
    cw_client_leave(c);
}

static void tls_close(cw_client *c)
{
    cw_tls_client *s = c->secure;
    c->secure = NULL;
    cw_tls_client_close(s, on_closed, c);
}

static bool reserve(cw_client_conn *l, const cw_client_req *req)
{
    cw_buf_clear(&l->out);
    return cw_buf_reserve(&l->out, cw_client_room(l->client, req)) != NULL;
}

ssize_t cw_client_conn_send_secure(cw_client_conn *l, const void *p, size_t n)
{
    ssize_t put = cw_tls_client_send(l->secure, p, n);
    if (put < 0 && errno != EAGAIN && l->sent == 0 && n > CW_TLS_CLIENT_RECORD)
        l->sent = 1; /* the first records may have arrived */
    return put;
}

/* ---- connections ---- */

/* one connection of the HTTP client: connect, send, close.
 *
 * The poll of a kept connection is never changed: it is readable when an answer
 * comes, and readable when the server closes it while it is idle.
 */

/* A server that closes a connection so soon after an answer, or under a request, does not keep
 * connections, whatever it says: for a while each is used once. */
#define EARLY_CLOSE_MS 100u
#define NO_REUSE_MS 10000u
#define TURN_RECORDS 16u /* of TLS, in one turn of the loop */

static void on_poll(uv_poll_t *poll, int status, int events);

static void poll_for(cw_client_conn *l, int events)
{
    if (l->events == events)
        return;
    l->events = (uint8_t)events;
    if (events)
        uv_poll_start(&l->poll, events, on_poll);
    else
        uv_poll_stop(&l->poll);
}

void cw_client_conn_move(cw_client_conn *l, cw_list *list)
{
    cw_list_remove(&l->node);
    cw_list_add_first(list, &l->node);
}

/* ---- the end ---- */

static void on_handle_closed(uv_handle_t *handle)
{
    cw_client_conn *l = handle->data;
    cw_client *c = l->client;
    free(l);
    cw_client_enter(c);
    c->n_open--;
    cw_client_leave(c);
}

void cw_client_conn_close(cw_client_conn *l)
{
    if (l->state == LINK_CLOSED)
        return;
    l->state = LINK_CLOSED;
    if (l->req)
        set_conn(l->req, NULL);
    l->req = NULL;
    cw_list_remove(&l->node);
    cw_deadline_clear(&l->deadline);
    cw_loop_cancel_deferred(&l->more);
    if (cw_run_queue_has(&l->runner))
        cw_run_queue_remove(l->client->loop->run_queue, &l->runner);
    cw_buf_done(&l->in);
    cw_buf_done(&l->answer);
    cw_buf_done(&l->header_text);
    cw_buf_done(&l->out);
    cw_tls_client_end(l->secure);
    l->secure = NULL;
    uv_close((uv_handle_t *)&l->poll, on_handle_closed);
    close(l->fd);
    l->client->n_links--;
    count_connection(l->client, -1);
    cw_client_defer_serve(l->client);
}

void cw_client_conn_fail(cw_client_conn *l, cw_client_end end, const char *why)
{
    cw_client *c = l->client;
    cw_client_req *req = l->req;
    cw_client_enter(c);
    cw_client_conn_close(l);
    cw_client_finish(req, end, NULL, why);
    cw_client_leave(c);
}

static void stop_reuse(cw_client *c)
{
    c->no_reuse_until = cw_loop_now(c->loop) + NO_REUSE_MS;
}

void cw_client_conn_lost(cw_client_conn *l, const char *why)
{
    if (l->wanted && !l->answered)
        stop_reuse(l->client);
    if (!l->wanted || l->answered || l->again || !l->req->may_repeat) {
        cw_client_conn_fail(l, CW_CLIENT_LOST, why);
        return;
    }
    cw_client *c = l->client;
    cw_client_req *req = l->req;
    cw_err err;
    cw_client_enter(c);
    cw_client_conn_close(l);
    cw_code rc = client_conn_open(c, req, /* again= */ true, &err);
    if (rc)
        cw_client_finish(req, rc == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT, NULL, err.msg);
    cw_client_leave(c);
}

/* ---- output ---- */

static void push(cw_client_conn *l)
{
    cw_code rc = cw_client_conn_send(l);
    l->unsent = rc == CW_AGAIN;
    /* There may be an answer all the same (413, say): the next read tells. */
    if (rc == CW_GONE)
        l->broken = true;
    poll_for(l, l->unsent ? UV_READABLE | UV_WRITABLE : UV_READABLE);
    if (!l->unsent && !l->answered && l->client->opts.first_byte_ms)
        cw_loop_set_deadline(l->client->loop, &l->deadline, &l->client->answering);
}

static void begin(cw_client_conn *l)
{
    l->state = LINK_HEAD;
    l->owner = l->req->owner;
    l->sent = 0;
    l->unsent = false;
    l->interim = 0;
    l->answered = false;
    l->broken = false;
    cw_http1_response_init(&l->head, &cw_client_conn_limits);
    push(l);
}

/* Whether nothing came since the last answer, not even the end. Of TLS, what came may be a message
 * of its own that is no byte for us; and it may have been read already together with the last
 * answer, so that the socket would never tell. */
static bool is_quiet(const cw_client_conn *l)
{
    char byte;
    ssize_t n = l->secure ? cw_tls_client_recv(l->secure, &byte, 1)
                          : recv(l->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n < 0 && errno == EAGAIN;
}

static bool may_reuse(cw_client_conn *l, const cw_client_req *req)
{
    uint64_t now = cw_loop_now(l->client->loop);
    if (now >= l->idle_until || now < l->client->no_reuse_until)
        return false;
    /* Unsolicited bytes would be taken for the response to this request. */
    return is_quiet(l) && (!l->secure || reserve(l, req));
}

static bool reuse(cw_client_conn *l, cw_client_req *req)
{
    cw_client *c = l->client;
    if (!may_reuse(l, req)) {
        cw_client_conn_close(l);
        return false;
    }
    cw_deadline_clear(&l->deadline);
    cw_client_conn_move(l, &c->links);
    l->req = req;
    l->again = false;
    set_conn(req, l);
    begin(l);
    if (!l->broken || l->sent)
        return true;
    /* Not a byte was taken: the server had closed it. */
    cw_client_conn_close(l);
    return false;
}

/* ---- connecting ---- */

static cw_code open_from(cw_client *c, cw_client_req *req, unsigned index, unsigned tried,
                         bool again, cw_err *err);

static void not_reached(cw_client_conn *l, int errnum)
{
    cw_client *c = l->client;
    cw_client_req *req = l->req;
    unsigned index = l->address, tried = l->tried;
    bool again = l->again;
    char text[CW_ADDRESS_TEXT];
    cw_err err;
    if (index < c->n_addresses)
        cw_address_format(&c->addresses[index], text, sizeof text);
    else
        snprintf(text, sizeof text, "'%s'", c->dial_host.p);
    cw_code rc = cw_fail_errno(&err, errnum, "connect to %s", text);
    cw_client_enter(c);
    reached(c, index, false);
    cw_client_conn_close(l);
    if (tried < c->n_addresses)
        rc = open_from(c, req, (index + 1) % c->n_addresses, tried, again, &err);
    if (rc)
        cw_client_finish(req, rc == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT, NULL, err.msg);
    cw_client_leave(c);
}

static void on_tls(cw_client_conn *l)
{
    cw_deadline_clear(&l->deadline);
    reached(l->client, l->address, true);
    begin(l);
}

static void on_connected(cw_client_conn *l)
{
    int errnum = cw_connect_result(l->fd);
    if (errnum) {
        not_reached(l, errnum);
        return;
    }
    on_tls(l);
}

/* ---- events ---- */

/* Records that libcurl has already taken from the socket cause no event of the socket. A server that
 * sends without end must not keep the loop from others, so reading goes on in the next turn. */
static void read_turn(cw_client_conn *l)
{
    size_t n = 0;
    while (cw_client_conn_read(l) && l->secure) {
        if (++n < TURN_RECORDS)
            continue;
        cw_loop_defer_next(l->client->loop, &l->more);
        return;
    }
}

static bool is_reading(const cw_client_conn *l)
{
    return l->state == LINK_HEAD || l->state == LINK_BODY;
}

static cw_client_conn *conn_of(const cw_runner *runner)
{
    return CW_CONTAINER((cw_runner *)(uintptr_t)runner, cw_client_conn, runner);
}

static cw_fair_key key_of(const cw_runner *runner)
{
    uint64_t owner = conn_of(runner)->owner;
    return (cw_fair_key){{owner, owner, owner}};
}

/* Callers behind one proxy have one peer address, so the server alone would not see two of them. */
static void watch_owner(const cw_client_conn *l)
{
    cw_loop *loop = l->client->loop;
    cw_run_queue *q = loop->run_queue;
    if (CW_LIKELY(l->owner == q->answered || l->owner == 0))
        return;
    if (q->answered)
        cw_run_queue_set_contested(q, cw_loop_recent_ns(loop));
    q->answered = l->owner;
}

/* Its turn has come. */
static void run_conn(cw_runner *runner)
{
    cw_client_conn *l = conn_of(runner);
    watch_owner(l);
    if (is_reading(l))
        read_turn(l);
    if (CW_UNLIKELY(!(l->events & UV_READABLE)) && l->state != LINK_CLOSED)
        poll_for(l, l->events | UV_READABLE);
}

/* A body that came in pieces. */
static bool is_large(const cw_runner *runner)
{
    return conn_of(runner)->answer.n > 0;
}

static const cw_runner_ops runner_ops = {.run = run_conn, .key = key_of, .is_large = is_large};

/* A large answer may take long to read, so answers take turns. One that waits is not polled for once the
 * poll has announced it again. */
static void read_in_turn(cw_client_conn *l)
{
    cw_run_queue *q = l->client->loop->run_queue;
    if (!q)
        read_turn(l);
    else if (cw_run_queue_has(&l->runner))
        poll_for(l, l->events & ~UV_READABLE);
    else
        (void)cw_run_queue_run(q, &l->runner);
}

static void on_more(cw_deferred *later)
{
    cw_client_conn *l = CW_CONTAINER(later, cw_client_conn, more);
    if (is_reading(l) && !cw_run_queue_has(&l->runner))
        read_in_turn(l);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    cw_client_conn *l = poll->data;
    if (l->state == LINK_CONNECT) {
        on_connected(l);
        return;
    }
    if (l->state == LINK_IDLE) {
        /* Closed by the server, or unsolicited bytes. */
        if (status < 0 || !l->secure || !is_quiet(l)) {
            if (cw_loop_now(l->client->loop) - l->idle_since < EARLY_CLOSE_MS)
                stop_reuse(l->client);
            cw_client_conn_close(l);
        }
        return;
    }
    if (status < 0) {
        /* libuv has stopped to look; what came before the error is still to be had. */
        l->events = 0;
        l->broken = true;
        while (cw_client_conn_read(l))
            continue;
        if (is_reading(l))
            cw_client_conn_end(l, EIO);
        return;
    }
    if (events & UV_READABLE)
        read_in_turn(l);
    /* After that, since a server that has answered may take no more. */
    if ((events & UV_WRITABLE) && l->unsent && is_reading(l))
        push(l);
}

static void discard(cw_client_conn *l)
{
    cw_tls_client_end(l->secure);
    cw_buf_done(&l->out);
    if (l->fd >= 0)
        close(l->fd);
    free(l);
}

static cw_code open_one(cw_client *c, const cw_address *a, const cw_client_req *req,
                        cw_client_conn **ret, bool *pending, cw_err *err)
{
    cw_client_conn *l = calloc(1, sizeof *l);
    if (!l)
        return cw_fail_nomem(err);
    l->client = c;
    l->more.fn = on_more;
    l->runner.ops = &runner_ops;
    cw_buf_init(&l->out, CW_BUF_MAX);
    l->fd = c->secure ? socket(a->sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)
                      : cw_connect_open(a, pending);
    if (l->fd < 0) {
        char text[CW_ADDRESS_TEXT];
        int errnum = errno;
        cw_address_format(a, text, sizeof text);
        discard(l);
        return cw_fail_errno(err, errnum, "connect to %s", text);
    }
    if (c->secure) {
        cw_code rc = reserve(l, req) ? cw_tls_client_begin(c->secure, l->fd, a, l, &l->secure, err)
                                     : cw_fail_nomem(err);
        if (rc) {
            discard(l);
            return rc;
        }
    }
    int rc = uv_poll_init(&c->loop->uv, &l->poll, l->fd);
    if (rc) {
        discard(l);
        return cw_fail(err, rc == UV_ENOMEM ? CW_NOMEM : CW_IO, "poll: %s", uv_strerror(rc));
    }
    l->poll.data = l;
    *ret = l;
    return CW_OK;
}

static void start(cw_client_conn *l, cw_client_req *req, bool pending)
{
    cw_client *c = l->client;
    c->n_links++;
    c->n_open++;
    count_connection(c, 1);
    cw_client_conn_move(l, &c->links);
    cw_buf_init(&l->in, CW_HTTP_MAX_HEAD + CW_LOOP_SCRATCH);
    cw_buf_init(&l->answer, c->opts.answer_size);
    cw_buf_init(&l->header_text, (CW_CLIENT_WANTED + 1) * CW_CLIENT_WANTED_MAX);
    l->req = req;
    set_conn(req, l);
    if (pending || l->secure) {
        l->state = l->secure ? LINK_TLS : LINK_CONNECT;
        if (!l->secure)
            poll_for(l, UV_WRITABLE); /* else libcurl watches, until it is done */
        cw_loop_set_deadline(c->loop, &l->deadline, &c->connecting);
        return;
    }
    reached(c, l->address, true);
    begin(l);
}

/* Try the addresses from `index` on, of which `tried` have been before. */
static cw_code open_from(cw_client *c, cw_client_req *req, unsigned index, unsigned tried,
                         bool again, cw_err *err)
{
    cw_code rc = CW_IO;
    while (tried < c->n_addresses) {
        cw_client_conn *l = NULL;
        bool pending = false;
        tried++;
        rc = open_one(c, &c->addresses[index], req, &l, &pending, err);
        if (l) {
            l->address = (uint8_t)index;
            l->tried = (uint8_t)tried;
            l->again = again;
            start(l, req, pending);
            return CW_OK;
        }
        if (rc == CW_NOMEM)
            break;
        reached(c, index, false);
        index = (index + 1) % c->n_addresses;
    }
    return rc;
}

static cw_code client_conn_open(cw_client *c, cw_client_req *req, bool again, cw_err *err)
{
    return open_from(c, req, c->best, 0, again, err);
}

static void on_connect_deadline(cw_deadline *d)
{
    not_reached(CW_CONTAINER(d, cw_client_conn, deadline), ETIMEDOUT);
}

static void on_response_deadline(cw_deadline *d)
{
    cw_client_conn *l = CW_CONTAINER(d, cw_client_conn, deadline);
    char why[64];
    /* Its answer is here, and waits for its turn. */
    if (cw_run_queue_has(&l->runner)) {
        cw_loop_set_deadline(l->client->loop, &l->deadline, &l->client->answering);
        return;
    }
    snprintf(why, sizeof why, "no answer within %u ms", l->client->opts.first_byte_ms);
    cw_client_conn_fail(l, CW_CLIENT_SLOW, why);
}

static void on_idle_deadline(cw_deadline *d)
{
    cw_client_conn_close(CW_CONTAINER(d, cw_client_conn, deadline));
}
