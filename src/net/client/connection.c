/* SPDX-License-Identifier: GPL-2.0-or-later */
/* connection.c - one connection of the HTTP client: connect, send, close.
 *
 * The poll of a kept connection is never changed: it is readable when an answer
 * comes, and readable when the server closes it while it is idle.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/client/client_int.h"

/* A server that closes a connection so soon after an answer, or under a request, does not keep
 * connections, whatever it says: for a while each is used once. */
#define EARLY_CLOSE_MS 100u
#define NO_REUSE_MS 10000u

static void on_poll(uv_poll_t *poll, int status, int events);

static void poll_for(cw_client_conn *l, int events)
{
    if (l->events == events)
        return;
    l->events = (uint8_t)events;
    uv_poll_start(&l->poll, events, on_poll);
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
        cw_client_set_conn(l->req, NULL);
    l->req = NULL;
    cw_list_remove(&l->node);
    cw_deadline_clear(&l->deadline);
    cw_buf_done(&l->in);
    cw_buf_done(&l->answer);
    cw_buf_done(&l->header_text);
    cw_buf_done(&l->out);
    cw_tls_client_end(l->secure);
    l->secure = NULL;
    uv_close((uv_handle_t *)&l->poll, on_handle_closed);
    close(l->fd);
    l->client->n_links--;
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
    cw_code rc = cw_client_conn_open(c, req, /* again= */ true, &err);
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
    return is_quiet(l) && (!l->secure || cw_client_conn_reserve(l, req));
}

bool cw_client_conn_reuse(cw_client_conn *l, cw_client_req *req)
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
    cw_client_set_conn(req, l);
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

void cw_client_conn_not_reached(cw_client_conn *l, int errnum)
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
    cw_client_reached(c, index, false);
    cw_client_conn_close(l);
    if (tried < c->n_addresses)
        rc = open_from(c, req, (index + 1) % c->n_addresses, tried, again, &err);
    if (rc)
        cw_client_finish(req, rc == CW_NOMEM ? CW_CLIENT_NOMEM : CW_CLIENT_CONNECT, NULL, err.msg);
    cw_client_leave(c);
}

void cw_client_conn_on_tls(cw_client_conn *l)
{
    cw_deadline_clear(&l->deadline);
    cw_client_reached(l->client, l->address, true);
    begin(l);
}

static void on_connected(cw_client_conn *l)
{
    int errnum = cw_connect_result(l->fd);
    if (errnum) {
        cw_client_conn_not_reached(l, errnum);
        return;
    }
    cw_client_conn_on_tls(l);
}

/* ---- events ---- */

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
        if (l->state == LINK_HEAD || l->state == LINK_BODY)
            cw_client_conn_end(l, EIO);
        return;
    }
    /* What TLS has taken from the socket, the socket does not tell again. */
    if (events & UV_READABLE) {
        while (cw_client_conn_read(l) && l->secure)
            continue;
    }
    /* After that, since a server that has answered may take no more. */
    if ((events & UV_WRITABLE) && l->unsent && (l->state == LINK_HEAD || l->state == LINK_BODY))
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
    cw_buf_init(&l->out, SIZE_MAX / 2);
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
        cw_code rc = cw_client_conn_reserve(l, req)
                         ? cw_tls_client_begin(c->secure, l->fd, a, l, &l->secure, err)
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
    cw_client_conn_move(l, &c->links);
    cw_buf_init(&l->in, CW_HTTP_MAX_HEAD + CW_LOOP_SCRATCH);
    cw_buf_init(&l->answer, c->opts.answer_size);
    cw_buf_init(&l->header_text, (CW_CLIENT_WANTED + 1) * CW_CLIENT_WANTED_MAX);
    l->req = req;
    cw_client_set_conn(req, l);
    if (pending || l->secure) {
        l->state = l->secure ? LINK_TLS : LINK_CONNECT;
        if (!l->secure)
            poll_for(l, UV_WRITABLE); /* else libcurl watches, until it is done */
        cw_loop_set_deadline(c->loop, &l->deadline, &c->connecting);
        return;
    }
    cw_client_reached(c, l->address, true);
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
        cw_client_reached(c, index, false);
        index = (index + 1) % c->n_addresses;
    }
    return rc;
}

cw_code cw_client_conn_open(cw_client *c, cw_client_req *req, bool again, cw_err *err)
{
    return open_from(c, req, c->best, 0, again, err);
}

void cw_client_conn_on_connect_deadline(cw_deadline *d)
{
    cw_client_conn_not_reached(CW_CONTAINER(d, cw_client_conn, deadline), ETIMEDOUT);
}

void cw_client_conn_on_response_deadline(cw_deadline *d)
{
    cw_client_conn *l = CW_CONTAINER(d, cw_client_conn, deadline);
    char why[64];
    snprintf(why, sizeof why, "no answer within %u ms", l->client->opts.first_byte_ms);
    cw_client_conn_fail(l, CW_CLIENT_SLOW, why);
}

void cw_client_conn_on_idle_deadline(cw_deadline *d)
{
    cw_client_conn_close(CW_CONTAINER(d, cw_client_conn, deadline));
}
