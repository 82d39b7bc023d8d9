/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conn.c - one connection: polling, reading in turn, deadlines, TLS and its end. */
#include <errno.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "metrics/metrics.h"
#include "net/addr/network.h"
#include "net/server/server_int.h"

/* Room for the rest of a head that came in pieces. */
#define READ_MORE 4096u
/* Held input: less than a scratch buffer, plus the rest of a head. */
#define IN_MAX (CW_LOOP_SCRATCH + 64u * 1024u)
/* Pipelined requests, and reads of a TLS connection, before other connections get their turn. */
#define TURN_REQUESTS 32u
#define TURN_READS 4u

#define LINGER_MS 2000u
/* Memory is given back TRIM_MS after so many connections of a loop have become a quarter of them. */
#define TRIM_CONNS 256u
#define TRIM_FACTOR 4u
#define TRIM_MS 15000u

static const char nomem_answer[] =
    "HTTP/1.1 503 Service Unavailable\r\n" CW_REPLY_NOSNIFF "Content-Length: 0\r\n"
    "Retry-After: 1\r\n"
    "Connection: close\r\n\r\n";

static bool takes_input(const cw_conn *c)
{
    return c->state <= CONN_BODY;
}

static bool is_sending(const cw_conn *c)
{
    return c->state == CONN_SEND || c->state == CONN_STREAM;
}

/* ---- the socket ---- */

static ssize_t from_tls(ssize_t n)
{
    if (n >= 0)
        return n;
    return n == CONN_TLS_FAILED ? CONN_IO_FAILED : CONN_IO_AGAIN;
}

static ssize_t from_errno(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK ? CONN_IO_AGAIN : CONN_IO_FAILED;
}

static ssize_t receive(cw_conn *c, char *p, size_t n)
{
    ssize_t got;
    /* Input after the last response is discarded, so it need not be decrypted. */
    if (c->tls && c->state != CONN_LINGER) {
        got = cw_conn_tls_read(c->tls, p, n);
        c->tls_write = got == CONN_TLS_WANT_WRITE;
        /* Asked only after bytes came: half a record counts as pending too. */
        c->tls_more = got > 0 && SSL_has_pending(c->tls);
        return from_tls(got);
    }
    do
        got = recv(c->fd, p, n, 0);
    while (got < 0 && errno == EINTR);
    return got >= 0 ? got : from_errno();
}

ssize_t cw_conn_write(cw_conn *c, struct iovec *iov, int n_iov)
{
    ssize_t sent;
    if (c->tls) {
        sent = cw_conn_tls_write(c->tls, iov, n_iov);
        c->tls_read = sent == CONN_TLS_WANT_READ;
        return sent == 0 ? CONN_IO_FAILED : from_tls(sent);
    }
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = (size_t)n_iov};
    do {
        /* The kernel takes one range noticeably quicker than a list of one. */
        sent = n_iov == 1 ? send(c->fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL)
                          : sendmsg(c->fd, &msg, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent >= 0 ? sent : from_errno();
}

/* Bytes in the kernel that the client has not acknowledged. */
static uint32_t unsent(const cw_conn *c)
{
    int n = 0;
    return ioctl(c->fd, SIOCOUTQ, &n) == 0 && n > 0 ? (uint32_t)n : 0;
}

/* ---- taking turns ---- */

/* Makes responses a group of their own. */
#define SENDING_KEY UINT64_C(0xff51afd7ed558ccd)

static cw_conn *conn_of(const cw_runner *runner)
{
    return CW_CONTAINER((cw_runner *)(uintptr_t)runner, cw_conn, runner);
}

/* Behind a trusted proxy each connection counts as a client: the addresses are in the requests. */
static cw_fair_key network_of(const cw_conn *c)
{
    char text[CW_ADDRESS_TEXT];
    cw_address peer;
    cw_conn_peer_address(c, &peer);
    cw_address_format_host(&peer, text, sizeof text);
    const cw_proxies *proxies = c->sl->settings->proxies;
    if (CW_LIKELY(!proxies || !cw_proxies_has(proxies, &peer)))
        return cw_network_fair_key(cw_str_from(text));
    uint64_t hash = cw_hash(cw_str_make((const char *)&c->fd, sizeof c->fd));
    return (cw_fair_key){{hash, hash, hash}};
}

/* Within a network, input and responses that wait take turns: a client need not wait for others
 * that share its address and read slowly. */
static cw_fair_key key_of(const cw_runner *runner)
{
    const cw_conn *c = conn_of(runner);
    cw_fair_key key = network_of(c);
    if (is_sending(c))
        key.at[CW_FAIR_LEVELS - 1] ^= SENDING_KEY;
    return key;
}

/* The connection has something to do that no poll announces: it is done when its turn comes. */
static void enqueue(cw_conn *c)
{
    cw_server_loop *sl = c->sl;
    if (cw_run_queue_add(&sl->ready, &c->runner))
        cw_loop_defer_next(&sl->loop, &sl->add_missed);
}

/* ---- the end ---- */

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

/* ---- memory after a burst ---- */

static bool is_burst_over(const cw_server_loop *sl)
{
    return sl->most_conns >= TRIM_CONNS && sl->n_conns <= sl->most_conns / TRIM_FACTOR;
}

/* The allocator keeps what was freed, and the pool what requests may need again. */
static void on_trim(cw_deadline *d)
{
    cw_server_loop *sl = CW_CONTAINER(d, cw_server_loop, trim_at);
    if (!is_burst_over(sl))
        return;
    sl->most_conns = sl->n_conns;
    cw_request_pool_trim(sl);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static void count_closed(cw_server_loop *sl)
{
    sl->n_conns--;
    if (CW_UNLIKELY(is_burst_over(sl)) && !sl->trim_at.list && !sl->stopping)
        cw_loop_set_deadline(&sl->loop, &sl->trim_at, &sl->trim);
}

static void count_handshake(const cw_conn *c, cw_metrics_result result)
{
    uint32_t version =
        cw_metrics_value(CW_METRIC_TLS_HANDSHAKES, 0, cw_str_from(SSL_get_version(c->tls)));
    cw_metrics_count(CW_METRIC_TLS_HANDSHAKES, version, result, 0);
}

static void close_conn(cw_conn *c, bool clean)
{
    if (c->state == CONN_CLOSED)
        return;
    c->state = CONN_CLOSED;
    if (c->tls && !SSL_is_init_finished(c->tls))
        count_handshake(c, CW_RESULT_FAILED);
    cw_server *server = c->sl->server;
    if (c->req)
        cw_request_free(c->req);
    c->req = NULL;
    cw_deadline_clear(&c->deadline);
    cw_run_queue_remove(&c->sl->ready, &c->runner);
    cw_buf_done(&c->in);
    cw_conn_tls_free(c->tls, clean);
    c->tls = NULL;
    uv_close((uv_handle_t *)&c->poll, on_closed);
    close(c->fd);
    cw_list_remove(&c->node);
    count_closed(c->sl);
    cw_metrics_add(CW_METRIC_CONNECTIONS, c->listener, 0, 0, -1);
    if (c->counted)
        cw_addrcount_remove(&server->addresses, c->peer_key);
    atomic_fetch_sub_explicit(&server->connections, 1, memory_order_relaxed);
    cw_server_check_end(c->sl);
}

void cw_conn_lost(cw_conn *c)
{
    cw_http_req *req = c->req;
    if (req && (c->state == CONN_RUN || c->state == CONN_STREAM)) {
        uint32_t generation = req->generation;
        cw_request_notify(req, CW_HTTP_GONE);
        if (c->state == CONN_CLOSED || req->generation != generation)
            return;
    }
    if (req && c->state >= CONN_BODY)
        cw_reply_log(req, req->status ? req->status : 499);
    close_conn(c, /* clean= */ false);
}

/* After the last answer: bytes of the client may still be on their way, and closing on unread bytes
 * makes the kernel send a reset, which can destroy the answer. So say that nothing more will come,
 * and wait a little for the client to close. */
static void finish(cw_conn *c)
{
    if (c->client_done) {
        close_conn(c, /* clean= */ true);
        return;
    }
    if (c->tls)
        cw_conn_tls_goodbye(c->tls);
    shutdown(c->fd, SHUT_WR);
    c->state = CONN_LINGER;
    cw_buf_release(&c->in);
}

/* ---- polling and time ---- */

static void poll_for(cw_conn *c, int events);

static int events_for(const cw_conn *c)
{
    int write = c->tls_write ? UV_WRITABLE : 0;
    int flush = c->tls_read ? UV_READABLE : UV_WRITABLE;
    if (cw_run_queue_has(&c->runner))
        return 0; /* its turn comes by itself */
    switch ((cw_conn_state)c->state) {
    case CONN_IDLE:
        if (c->in.n)
            return 0;
        return UV_READABLE | UV_DISCONNECT | write;
    case CONN_PROXY:
    case CONN_HEAD:
    case CONN_BODY:
        return UV_READABLE | UV_DISCONNECT | write;
    case CONN_RUN:
        /* Without anything to wait for the poll still tells of a connection that broke. */
        if (c->input_over && !c->req->cancels_on_eof)
            return UV_PRIORITIZED;
        /* Left as it is: most clients send nothing now, and changing costs two system calls. */
        return (c->events & UV_READABLE) | UV_DISCONNECT;
    case CONN_SEND:
        return flush;
    case CONN_STREAM:
        return UV_DISCONNECT | (c->req->out.n || c->req->stream_full ? flush : 0);
    case CONN_LINGER:
        return UV_READABLE;
    case CONN_CLOSED:
        break;
    }
    return 0;
}

static cw_deadline_list *list_for(const cw_conn *c)
{
    cw_server_loop *sl = c->sl;
    switch ((cw_conn_state)c->state) {
    case CONN_IDLE:
        if (c->in.n)
            return NULL;
        if (sl->stopping)
            return c->fresh && sl->last.ms < sl->linger.ms ? &sl->linger : &sl->last;
        /* A TLS handshake is part of the first head's time. */
        return c->fresh ? &sl->header : &sl->idle;
    case CONN_PROXY:
    case CONN_HEAD:
        return &sl->header;
    case CONN_BODY:
        return &sl->body;
    case CONN_SEND:
        return &sl->write;
    case CONN_STREAM:
        if (c->req->out.n)
            return &sl->write;
        return c->req->stream_sse && sl->ping.ms ? &sl->ping : NULL;
    case CONN_LINGER:
        return &sl->linger;
    case CONN_RUN:
    case CONN_CLOSED:
        break;
    }
    return NULL;
}

/* Whether it has input that was read, by us or by TLS, and that no poll will announce again. */
static bool has_input(const cw_conn *c)
{
    if (!takes_input(c))
        return false;
    if (c->state == CONN_IDLE && c->in.n)
        return true;
    return c->tls_more;
}

void cw_conn_settle(cw_conn *c)
{
    if (c->state == CONN_CLOSED || c->taking)
        return;
    if (has_input(c))
        enqueue(c);
    int events = events_for(c);
    if (events != c->events)
        poll_for(c, events);
    cw_deadline_list *list = list_for(c);
    if (!list) {
        cw_deadline_clear(&c->deadline);
        return;
    }
    /* Idle and ping start anew with every event; the others count from where they began. */
    if (c->deadline.list != list || list == &c->sl->idle || list == &c->sl->ping) {
        c->progress = 0;
        c->window_ms = (uint32_t)list->ms;
        if (list == &c->sl->write)
            c->queued = unsent(c);
        cw_loop_set_deadline(&c->sl->loop, &c->deadline, list);
    }
}

/* ---- input ---- */

static void refuse_nomem(cw_conn *c)
{
    struct iovec iov = {(void *)(uintptr_t)nomem_answer, sizeof nomem_answer - 1};
    if (cw_conn_write(c, &iov, 1) < 0) {
        close_conn(c, /* clean= */ false);
        return;
    }
    finish(c);
}

static bool start_request(cw_conn *c, bool was_waiting)
{
    c->req = cw_request_new(c);
    if (!c->req) {
        refuse_nomem(c);
        return false;
    }
    c->state = CONN_HEAD;
    c->pipelined = was_waiting ? c->pipelined + 1 : 0;
    /* A first request counts from the accept, later ones from their first byte. */
    if (!c->fresh)
        cw_deadline_clear(&c->deadline);
    else if (c->tls)
        count_handshake(c, CW_RESULT_OK);
    c->fresh = false;
    return true;
}

static size_t take_head(cw_conn *c, const char *p, size_t n)
{
    cw_http_req *req = c->req;
    cw_code rc = cw_http1_parse_head(&req->head, p, n);
    if (rc == CW_AGAIN)
        return 0;
    if (rc) {
        cw_reply_refuse(req, req->head.status, req->head.reason);
        return n;
    }
    size_t size = req->head.size;
    cw_request_begin(req, p);
    return size;
}

/* Take requests from the front of `p`; returns the bytes that were used. `waited`: these bytes were
 * here before the last answer was. */
static size_t take(cw_conn *c, const char *p, size_t n, bool waited)
{
    size_t used = 0;
    unsigned requests = c->state != CONN_IDLE; /* the one that is begun counts */
    c->taking = true;
    while (used < n && takes_input(c)) {
        if (c->state == CONN_IDLE) {
            if (requests == TURN_REQUESTS || !start_request(c, waited || requests > 0))
                break;
            requests++;
        }
        if (c->state == CONN_HEAD) {
            size_t size = take_head(c, p + used, n - used);
            used += size;
            if (size == 0)
                break;
        } else {
            size_t size = cw_request_take_body(c->req, p + used, n - used);
            c->progress += size;
            used += size;
        }
    }
    c->taking = false;
    return used;
}

/* Keep what was not taken; `p` is the scratch buffer. */
static void hold(cw_conn *c, const char *p, size_t n)
{
    if (c->state == CONN_CLOSED || c->state == CONN_LINGER || n == 0)
        return;
    cw_buf_add_bytes(&c->in, p, n);
    if (c->in.code)
        cw_conn_lost(c);
}

static void take_held(cw_conn *c, bool waited)
{
    size_t used = take(c, c->in.p, c->in.n, waited);
    if (c->state == CONN_CLOSED || c->state == CONN_LINGER)
        return; /* the buffer is gone */
    cw_buf_consume(&c->in, used);
    if (c->in.n == 0)
        cw_buf_release(&c->in);
}

static void on_end(cw_conn *c, bool failed)
{
    /* Half a body is an accepted request that the client left: it has a line in the log. */
    if (failed || c->state == CONN_BODY)
        cw_conn_lost(c);
    else
        close_conn(c, /* clean= */ true);
}

/* False when the header is incomplete, or the connection is closed. */
static bool read_proxy_header(cw_conn *c)
{
    cw_code rc = cw_conn_read_proxy_header(c);
    if (rc && rc != CW_AGAIN)
        close_conn(c, /* clean= */ false);
    return !rc;
}

/* Read once and take it. False when there is nothing more to read now. */
static bool read_once(cw_conn *c)
{
    if (CW_UNLIKELY(c->state == CONN_PROXY) && !read_proxy_header(c))
        return false;
    bool held = c->in.n > 0;
    char *p = held ? cw_buf_reserve(&c->in, READ_MORE) : c->sl->loop.scratch;
    if (!p) {
        close_conn(c, /* clean= */ false);
        return false;
    }
    ssize_t n = receive(c, p, held ? READ_MORE : CW_LOOP_SCRATCH);
    if (n == CONN_IO_AGAIN)
        return false;
    if (n <= 0) {
        on_end(c, n < 0);
        return false;
    }
    if (c->state == CONN_LINGER)
        return true;
    if (held) {
        cw_buf_commit(&c->in, (size_t)n);
        take_held(c, /* waited= */ false);
        return true;
    }
    size_t used = take(c, p, (size_t)n, /* waited= */ false);
    hold(c, p + used, (size_t)n - used);
    return true;
}

static void read_input(cw_conn *c)
{
    /* TLS gives one record at a time; what it still has after a few of them waits for its turn. */
    for (unsigned reads = 0; reads < TURN_READS; reads++) {
        if (!read_once(c) || !c->tls || !takes_input(c) || (c->state == CONN_IDLE && c->in.n))
            break;
    }
    cw_conn_settle(c);
}

static void flush(cw_conn *c)
{
    if (cw_reply_flush(c->req) == CW_GONE)
        cw_conn_lost(c);
}

static void watch_peer(cw_conn *c)
{
    cw_server_loop *sl = c->sl;
    if (CW_LIKELY(memcmp(sl->contested_by, c->peer, sizeof c->peer) == 0))
        return;
    memcpy(sl->contested_by, c->peer, sizeof c->peer);
    cw_run_queue_set_contested(&sl->ready, cw_loop_recent_ns(&sl->loop));
}

/* Its turn has come: send more of a response, or read and take input. */
static void run_conn(cw_runner *runner)
{
    cw_conn *c = conn_of(runner);
    watch_peer(c);
    if (is_sending(c))
        flush(c);
    else if (c->state == CONN_IDLE && c->in.n)
        take_held(c, /* waited= */ true);
    else if (takes_input(c) || c->state == CONN_LINGER)
        read_input(c);
    cw_conn_settle(c);
}

static bool is_large(const cw_runner *runner)
{
    return conn_of(runner)->state == CONN_BODY;
}

static const cw_runner_ops runner_ops = {.run = run_conn, .key = key_of, .is_large = is_large};

void cw_conn_next(cw_conn *c)
{
    cw_http_req *req = c->req;
    c->req = NULL;
    cw_reply_log(req, req->status);
    cw_request_free(req);
    if (c->closing)
        finish(c);
    else
        c->state = CONN_IDLE;
    cw_conn_settle(c);
}

/* There was no memory to queue a connection whose input no poll announces: look for it. */
static void add_missed(cw_deferred *later)
{
    cw_server_loop *sl = CW_CONTAINER(later, cw_server_loop, add_missed);
    CW_LIST_EACH_SAFE (node, &sl->conns) {
        cw_conn *c = CW_CONTAINER(node, cw_conn, node);
        if (has_input(c))
            enqueue(c);
    }
}

/* Do what a poll has announced: now, or when it is the turn of this connection. False: it waits. */
static bool run_in_turn(cw_conn *c)
{
    if (CW_LIKELY(cw_run_queue_run(&c->sl->ready, &c->runner)))
        return true;
    cw_conn_settle(c);
    return false;
}

/* ---- events ---- */

/* True when that is all that the event means. */
static bool on_disconnect(cw_conn *c, int events)
{
    if (c->state != CONN_RUN && c->state != CONN_STREAM)
        return false;
    c->input_over = true;
    if (c->state == CONN_RUN && !c->req->cancels_on_eof && !(events & UV_PRIORITIZED))
        cw_conn_settle(c);
    else
        cw_conn_lost(c);
    return true;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    cw_conn *c = poll->data;
    if (status < 0) {
        cw_conn_lost(c);
        return;
    }
    bool writes = (events & UV_WRITABLE) || ((events & UV_READABLE) && c->tls_read);
    /* The poll announces everything else again when it has been this connection's turn. */
    if (writes && is_sending(c) && !run_in_turn(c))
        return;
    if (c->state == CONN_CLOSED)
        return;
    if ((events & (UV_DISCONNECT | UV_PRIORITIZED)) && on_disconnect(c, events))
        return;
    bool reads = (takes_input(c) && !(c->state == CONN_IDLE && c->in.n)) || c->state == CONN_LINGER;
    if (reads) {
        (void)run_in_turn(c);
        return;
    }
    /* Pipelined bytes during a call: they wait in the kernel until the answer is out. */
    if ((events & UV_READABLE) && (c->events & UV_READABLE) && !c->tls_read)
        poll_for(c, c->events & ~UV_READABLE);
}

static void poll_for(cw_conn *c, int events)
{
    c->events = (uint8_t)events;
    if (events)
        uv_poll_start(&c->poll, events, on_poll);
    else
        uv_poll_stop(&c->poll);
}

static void on_deadline(cw_deadline *d)
{
    cw_conn *c = CW_CONTAINER(d, cw_conn, deadline);
    if (c->state != CONN_HEAD) {
        close_conn(c, /* clean= */ true);
        return;
    }
    cw_reply_refuse(c->req, 408, "the request head took too long");
    cw_conn_settle(c);
}

/* Without a least rate, a window that moved nothing at all is still too slow. */
static bool too_slow(const cw_conn *c, uint64_t moved, uint32_t now_ms)
{
    /* A reload may have changed the window meanwhile; the shorter one asks for less. */
    uint64_t ms = c->window_ms < now_ms ? c->window_ms : now_ms;
    return moved == 0 || moved < c->sl->settings->opts.min_rate * ms / 1000;
}

static void on_body_window(cw_deadline *d)
{
    cw_conn *c = CW_CONTAINER(d, cw_conn, deadline);
    if (too_slow(c, c->progress, c->sl->settings->opts.body_ms))
        cw_request_refuse_slow(c->req);
    cw_conn_settle(c);
}

static void on_write_window(cw_deadline *d)
{
    cw_conn *c = CW_CONTAINER(d, cw_conn, deadline);
    /* The kernel takes megabytes at once and then nothing for long, so what counts is what left its
     * queue, not what entered it. */
    uint64_t before = (uint64_t)c->progress + c->queued, now = unsent(c);
    if (!too_slow(c, before > now ? before - now : 0, c->sl->settings->opts.write_ms)) {
        cw_conn_settle(c);
        return;
    }
    /* Closed politely, the kernel would go on trying to deliver what this reader does not take. */
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    cw_conn_lost(c);
}

static void on_ping(cw_deadline *d)
{
    cw_conn *c = CW_CONTAINER(d, cw_conn, deadline);
    cw_stream_ping(c->req);
}

void cw_conn_loop_init(cw_server_loop *sl)
{
    cw_deadline_list_init(&sl->header, 0, on_deadline);
    cw_deadline_list_init(&sl->body, 0, on_body_window);
    cw_deadline_list_init(&sl->idle, 0, on_deadline);
    cw_deadline_list_init(&sl->write, 0, on_write_window);
    cw_deadline_list_init(&sl->linger, LINGER_MS, on_deadline);
    cw_deadline_list_init(&sl->last, 0, on_deadline);
    cw_deadline_list_init(&sl->ping, 0, on_ping);
    cw_deadline_list_init(&sl->trim, TRIM_MS, on_trim);
    cw_deadline_list *all[] = {&sl->header, &sl->body, &sl->idle, &sl->write,
                               &sl->linger, &sl->last, &sl->ping, &sl->trim};
    for (size_t i = 0; i < CW_COUNT(all); i++)
        cw_loop_watch(&sl->loop, all[i]);
    cw_list_init(&sl->conns);
    cw_run_queue_init(&sl->ready, &sl->loop);
    sl->add_missed = (cw_deferred){.fn = add_missed};
}

void cw_conn_loop_done(cw_server_loop *sl)
{
    cw_run_queue_done(&sl->ready);
}

void cw_conn_stop(cw_conn *c)
{
    c->closing = c->is_told = true;
    cw_loop_set_recent(&c->sl->loop, cw_clock_ns());
    if (c->state == CONN_IDLE && c->in.n == 0)
        read_input(c); /* a request may have come since we last looked */
    if (c->state == CONN_RUN || c->state == CONN_STREAM) {
        cw_request_notify(c->req, CW_HTTP_STOPPING);
        return;
    }
    /* The client cannot know that the server stops: its next request may be on its way. A fresh one
     * has a little time in any case. */
    if (c->state == CONN_IDLE && c->in.n == 0 && !c->fresh && c->sl->last.ms == 0)
        close_conn(c, /* clean= */ true);
    else
        cw_conn_settle(c);
}

/* ---- the beginning ---- */

void cw_conn_set_peer(cw_conn *c, const cw_address *peer)
{
    memset(c->peer, 0, sizeof c->peer);
    c->peer_port = 0;
    c->peer_family = (uint8_t)peer->sa.ss_family;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&peer->sa;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&peer->sa;
    if (peer->sa.ss_family == AF_INET) {
        memcpy(c->peer, &v4->sin_addr, 4);
        c->peer_port = ntohs(v4->sin_port);
    } else if (peer->sa.ss_family == AF_INET6) {
        memcpy(c->peer, &v6->sin6_addr, 16);
        c->peer_port = ntohs(v6->sin6_port);
    }
}

void cw_conn_peer_address(const cw_conn *c, cw_address *ret)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&ret->sa;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&ret->sa;
    ret->sa.ss_family = c->peer_family;
    ret->len = 0;
    /* Only what means something in this family: the whole is eight times as large. */
    if (c->peer_family == AF_INET) {
        *v4 = (struct sockaddr_in){.sin_family = AF_INET};
        memcpy(&v4->sin_addr, c->peer, 4);
    } else if (c->peer_family == AF_INET6) {
        *v6 = (struct sockaddr_in6){.sin6_family = AF_INET6};
        memcpy(&v6->sin6_addr, c->peer, 16);
    }
}

static bool open_socket(cw_conn *c, bool tls)
{
    if (tls) {
        c->tls = cw_conn_tls_new(c->sl->settings->tls, c->fd);
        if (!c->tls)
            return false;
    }
    if (uv_poll_init(&c->sl->loop.uv, &c->poll, c->fd) == 0)
        return true;
    cw_conn_tls_free(c->tls, /* clean= */ false);
    return false;
}

cw_conn *cw_conn_new(cw_server_loop *sl, int fd, const cw_address *peer, bool tls, bool counted,
                     cw_addrkey key)
{
    cw_conn *c = calloc(1, sizeof *c);
    if (c) {
        *c = (cw_conn){.sl = sl,
                       .fd = fd,
                       .state = CONN_IDLE,
                       .counted = counted,
                       .peer_key = key,
                       .runner = {.ops = &runner_ops}};
        cw_buf_init(&c->in, IN_MAX);
        cw_conn_set_peer(c, peer);
    }
    if (!c || !open_socket(c, tls)) {
        free(c);
        close(fd);
        if (counted)
            cw_addrcount_remove(&sl->server->addresses, key);
        atomic_fetch_sub_explicit(&sl->server->connections, 1, memory_order_relaxed);
        return NULL;
    }
    c->poll.data = c;
    c->fresh = true;
    c->closing = sl->stopping;
    cw_list_add(&c->sl->conns, &c->node);
    if (++sl->n_conns > sl->most_conns)
        sl->most_conns = sl->n_conns;
    poll_for(c, UV_READABLE | UV_DISCONNECT);
    cw_loop_set_deadline(&sl->loop, &c->deadline, &sl->header);
    return c;
}

void cw_conn_expect_proxy_header(cw_conn *c, const cw_address *peer)
{
    c->state = CONN_PROXY;
    c->ignores_forwarded = true;
    c->is_far = peer->sa.ss_family != AF_UNIX && !cw_address_is_loopback(peer);
}
