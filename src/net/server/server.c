/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server.c - loops, listeners, accepting, settings, start and stop of the server. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/process.h"
#include "metrics/metrics.h"
#include "metrics/names.h"
#include "net/server/server_int.h"

#define ACCEPT_PAUSE_MS 100u
#define SPREAD_MS 10u /* between two groups of streams that end */

/* ---- settings ---- */

static void acceptor_on_pause_over(cw_deadline *d);
static cw_code acceptor_start(cw_acceptor *a, cw_server_loop *sl, const cw_listener *l, int *fd,
                              cw_err *err);
static void acceptor_stop(cw_acceptor *a);

static void settings_unref(cw_settings *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    cw_hostlist_free(s->hosts);
    cw_proxies_free(s->proxies);
    SSL_CTX_free(s->tls);
    free(s);
}

/* "https://example.org/path" without its path. */
static cw_str origin_of(cw_str url)
{
    const char *host = memmem(url.p, url.n, "://", 3);
    size_t at = host ? (size_t)(host - url.p) + 3 : url.n;
    const char *path = memchr(url.p + at, '/', url.n - at);
    return path ? cw_str_make(url.p, (size_t)(path - url.p)) : url;
}

/* Pages of the public address are the server's own, also behind a proxy that is not trusted. */
static cw_code make_hosts(const cw_server_opts *opts, const cw_str *hosts, size_t n_hosts,
                          cw_hostlist **ret, cw_err *err)
{
    size_t n = opts->n_origins;
    cw_str *origins = calloc(n + 1 + n_hosts + 1, sizeof *origins);
    if (!origins)
        return cw_fail_nomem(err);
    cw_str *names = origins + n + 1;
    if (n)
        memcpy(origins, opts->origins, n * sizeof *origins);
    if (opts->public_url.n)
        origins[n++] = origin_of(opts->public_url);
    memcpy(names, hosts, n_hosts * sizeof *names);
    if (opts->page_host.n)
        names[n_hosts++] = opts->page_host;
    cw_code rc = cw_hostlist_new(names, n_hosts, origins, n, ret, err);
    free(origins);
    return rc;
}

static cw_code settings_new(const cw_server_opts *opts, cw_settings **ret, cw_err *err)
{
    static const cw_str loopback[] = {CW_STR_INIT("localhost"), CW_STR_INIT("127.0.0.1"),
                                      CW_STR_INIT("[::1]")};
    cw_settings *s = calloc(1, sizeof *s);
    if (!s)
        return cw_fail_nomem(err);
    atomic_init(&s->refs, 1);
    s->opts = *opts;
    const cw_str *hosts = opts->hosts ? opts->hosts : loopback;
    size_t n_hosts = opts->hosts ? opts->n_hosts : CW_COUNT(loopback);
    cw_code rc = make_hosts(opts, hosts, n_hosts, &s->hosts, err);
    if (!rc && opts->n_proxies)
        rc = cw_proxies_new(opts->proxies, opts->n_proxies, &s->proxies, err);
    if (!rc && opts->tls_certificate)
        rc = cw_tls_context_new(&(cw_tls_opts){opts->tls_certificate, opts->tls_key,
                                               opts->tls_ciphers, opts->tls13_only},
                                &s->tls, err);
    if (rc) {
        settings_unref(s);
        return rc;
    }
    *ret = s;
    return CW_OK;
}

/* ---- one loop ---- */

static void apply_durations(cw_server_loop *sl)
{
    const cw_server_opts *o = &sl->settings->opts;
    cw_loop_set_duration(&sl->loop, &sl->header, o->header_ms);
    cw_loop_set_duration(&sl->loop, &sl->body, o->body_ms);
    cw_loop_set_duration(&sl->loop, &sl->idle, o->idle_ms);
    cw_loop_set_duration(&sl->loop, &sl->write, o->write_ms);
    cw_loop_set_duration(&sl->loop, &sl->ping, o->ping_ms);
    cw_loop_set_duration(&sl->loop, &sl->drain, o->drain_ms);
    cw_loop_set_duration(&sl->loop, &sl->last, o->linger_ms);
}

static void on_new_settings(cw_message *message)
{
    cw_server_loop *sl = CW_CONTAINER(message, cw_server_loop, on_settings);
    cw_settings *settings = atomic_exchange(&sl->new_settings, NULL);
    if (!settings)
        return;
    settings_unref(sl->settings);
    sl->settings = settings;
    apply_durations(sl);
    /* Streams may wait without a deadline; the others notice by themselves. */
    CW_LIST_EACH_SAFE (node, &sl->conns) {
        cw_conn *c = CW_CONTAINER(node, cw_conn, node);
        if (c->state == CONN_STREAM)
            cw_conn_settle(c);
    }
}

/* Each connection, where the loop body may close any of them: a request may end the streams of others. Those that
 * are closed are freed later. If the next one is closed, the walk begins again. */
/* NOLINTBEGIN(bugprone-macro-parentheses): a declaration takes none. */
#define EACH_CONN(node, sl)                                                                        \
    for (cw_list *node = (sl)->conns.next, *node##_next = node->next; node != &(sl)->conns;        \
         node = cw_list_is_in(node##_next) ? node##_next : (sl)->conns.next,                       \
                 node##_next = node->next)
/* NOLINTEND(bugprone-macro-parentheses) */

static void close_all(cw_server_loop *sl)
{
    EACH_CONN (node, sl)
        cw_conn_lost(CW_CONTAINER(node, cw_conn, node));
}

static void on_drain_end(cw_deadline *d)
{
    close_all(CW_CONTAINER(d, cw_server_loop, drain_end));
}

void cw_server_check_end(cw_server_loop *sl)
{
    if (!sl->stopping || sl->ended || !cw_list_is_empty(&sl->conns))
        return;
    sl->ended = true;
    cw_deadline_clear(&sl->drain_end);
    cw_deadline_clear(&sl->next_group);
    cw_deadline_clear(&sl->trim_at);
    cw_loop_end(&sl->loop);
    cw_server *s = sl->server;
    if (atomic_fetch_sub(&s->running, 1) == 1 && s->on_stopped)
        s->on_stopped(s->stopped_ctx);
}

/* The sockets are closed now, not at the end: a client must be refused, not left in their queues
 * while others finish. Each loop has its own. */
static void stop_listening(cw_server_loop *sl)
{
    for (size_t i = 0; i < sl->n_acceptors; i++) {
        int *fd = sl->acceptors[i].fd;
        acceptor_stop(&sl->acceptors[i]);
        close(*fd);
        *fd = -1;
    }
}

/* Stop the next group of streams. */
static void stop_group(cw_server_loop *sl)
{
    uint32_t left = sl->group;
    EACH_CONN (node, sl) {
        cw_conn *c = CW_CONTAINER(node, cw_conn, node);
        if (c->is_told)
            continue;
        if (left-- == 0) {
            cw_loop_set_deadline(&sl->loop, &sl->next_group, &sl->spread);
            return;
        }
        cw_conn_stop(c);
    }
}

static void on_next_group(cw_deadline *d)
{
    cw_server_loop *sl = CW_CONTAINER(d, cw_server_loop, next_group);
    stop_group(sl);
    cw_server_check_end(sl);
}

/* Streams that end at one moment come back at one moment. So their ends are spread: one a millisecond, and
 * all within half of the drain time. */
static void stop_streams(cw_server_loop *sl, uint32_t n)
{
    uint32_t most = sl->settings->opts.drain_ms / 2;
    uint32_t groups = (n < most ? n : most) / SPREAD_MS;
    sl->group = groups ? (n + groups - 1) / groups : n;
    stop_group(sl);
}

static void stop_once(cw_server_loop *sl)
{
    uint32_t n_streams = 0;
    if (sl->stopping) {
        close_all(sl);
        return;
    }
    stop_listening(sl);
    sl->stopping = sl->loop.is_stopping = true;
    cw_loop_set_deadline(&sl->loop, &sl->drain_end, &sl->drain);
    EACH_CONN (node, sl) {
        cw_conn *c = CW_CONTAINER(node, cw_conn, node);
        if (c->state != CONN_STREAM && !c->is_told)
            cw_conn_stop(c);
    }
    CW_LIST_EACH (node, &sl->conns)
        n_streams += !CW_CONTAINER(node, cw_conn, node)->is_told;
    stop_streams(sl, n_streams);
    cw_server_check_end(sl);
}

/* The first order drains, the second one closes. */
static void on_stop(cw_message *message)
{
    cw_server_loop *sl = CW_CONTAINER(message, cw_server_loop, on_stop);
    for (unsigned n = atomic_exchange(&sl->n_stops, 0); n; n--)
        stop_once(sl);
}

static void init_lists(cw_server_loop *sl)
{
    cw_deadline_list_init(&sl->pause, ACCEPT_PAUSE_MS, acceptor_on_pause_over);
    cw_deadline_list_init(&sl->drain, 0, on_drain_end);
    cw_deadline_list_init(&sl->spread, SPREAD_MS, on_next_group);
    cw_loop_watch(&sl->loop, &sl->spread);
    cw_loop_watch(&sl->loop, &sl->pause);
    cw_loop_watch(&sl->loop, &sl->drain);
}

static cw_code init_loop(cw_server *s, cw_server_loop *sl, cw_err *err)
{
    int max_fd = (int)(s->settings->opts.connections + CW_SERVER_SPARE_FDS);
    cw_code rc = cw_loop_init(&sl->loop, max_fd, err);
    if (rc)
        return rc;
    cw_loop_set_index(&sl->loop, (uint32_t)(sl - s->loops));
    sl->server = s;
    sl->on_settings.fn = on_new_settings;
    sl->on_stop.fn = on_stop;
    sl->settings = s->settings;
    atomic_fetch_add(&s->settings->refs, 1);
    init_lists(sl);
    cw_conn_loop_init(sl);
    apply_durations(sl);
    return CW_OK;
}

/* A listener that was adopted may have more sockets than the server has loops; none may be left
 * without a loop that polls it. */
static size_t count_sockets(const cw_server *s, size_t index)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_listeners; i++) {
        for (size_t k = index; k < s->listeners[i].n_fds; k += s->n_loops)
            n++;
    }
    return n;
}

static cw_code start_acceptors(cw_server *s, cw_server_loop *sl, size_t index, cw_err *err)
{
    size_t n = count_sockets(s, index);
    sl->acceptors = n ? calloc(n, sizeof *sl->acceptors) : NULL;
    if (n && !sl->acceptors)
        return cw_fail_nomem(err);
    for (size_t i = 0; i < s->n_listeners; i++) {
        const cw_listener *l = &s->listeners[i];
        for (size_t k = index; k < l->n_fds; k += s->n_loops) {
            cw_code rc = acceptor_start(&sl->acceptors[sl->n_acceptors], sl, l, &l->fds[k], err);
            if (rc)
                return rc;
            sl->n_acceptors++;
        }
    }
    return CW_OK;
}

/* End a loop that was initialised but whose thread has never run. */
static void discard_loop(cw_server_loop *sl)
{
    for (size_t i = 0; i < sl->n_acceptors; i++) {
        sl->acceptors[i].open = false;
        uv_close((uv_handle_t *)&sl->acceptors[i].poll, NULL);
    }
    cw_loop_end(&sl->loop);
    cw_loop_run(&sl->loop);
}

static void free_loop(cw_server_loop *sl)
{
    cw_request_pool_done(sl);
    cw_conn_loop_done(sl);
    cw_loop_done(&sl->loop);
    free(sl->acceptors);
    settings_unref(sl->settings);
    settings_unref(atomic_load(&sl->new_settings));
}

/* ---- the server ---- */

static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

cw_code cw_server_new(const cw_router *router, unsigned n_loops, cw_server **ret, cw_err *err)
{
    raise_file_limit();
    if (n_loops == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        n_loops = cores > 0 ? (unsigned)cores : 1;
    }
    if (n_loops > CW_SERVER_MAX_LOOPS)
        n_loops = CW_SERVER_MAX_LOOPS;
    cw_server *s = calloc(1, sizeof *s);
    if (!s)
        return cw_fail_nomem(err);
    s->loops = calloc(n_loops, sizeof *s->loops);
    if (!s->loops) {
        free(s);
        return cw_fail_nomem(err);
    }
    s->router = router;
    s->n_loops = n_loops;
    cw_addrcount_init(&s->addresses);
    cw_fair_slots_init(&s->bodies);
    *ret = s;
    return CW_OK;
}

unsigned cw_server_n_loops(const cw_server *s)
{
    return s->n_loops;
}

cw_loop *cw_server_loop_at(cw_server *s, unsigned index)
{
    return &s->loops[index].loop;
}

static cw_code next_listener(cw_server *s, bool tls, cw_listener **ret, cw_err *err)
{
    if (s->n_listeners == CW_SERVER_MAX_LISTENERS)
        return cw_fail(err, CW_LIMIT, "at most %u listeners", CW_SERVER_MAX_LISTENERS);
    *ret = &s->listeners[s->n_listeners];
    **ret = (cw_listener){.tls = tls};
    return CW_OK;
}

cw_code cw_server_listen(cw_server *s, cw_str address, bool tls, cw_err *err)
{
    cw_listener *l;
    cw_code rc = next_listener(s, tls, &l, err);
    if (!rc)
        rc = cw_listener_open(l, address, s->n_loops, err);
    if (!rc)
        s->n_listeners++;
    return rc;
}

cw_code cw_server_listen_local(cw_server *s, cw_str address, cw_err *err)
{
    cw_listener *l;
    cw_code rc = next_listener(s, /* tls= */ false, &l, err);
    if (rc)
        return rc;
    l->is_local = true;
    rc = cw_listener_open(l, address, s->n_loops, err);
    if (!rc)
        s->n_listeners++;
    return rc;
}

cw_code cw_server_inherit(cw_server *s, int fd, bool tls, cw_err *err)
{
    cw_listener *l;
    cw_code rc = next_listener(s, tls, &l, err);
    if (!rc)
        rc = cw_listener_inherit(l, fd, s->n_loops, err);
    if (!rc)
        s->n_listeners++;
    return rc;
}

cw_code cw_server_adopt(cw_server *s, cw_handed_listener *from, bool tls, cw_err *err)
{
    cw_listener *l;
    cw_code rc = next_listener(s, tls, &l, err);
    if (!rc)
        rc = cw_listener_adopt(l, from, s->n_loops, err);
    if (!rc)
        s->n_listeners++;
    return rc;
}

void cw_server_set_for_metrics(cw_server *s)
{
    s->listeners[s->n_listeners - 1].is_for_metrics = true;
}

void cw_server_set_for_console(cw_server *s)
{
    s->listeners[s->n_listeners - 1].is_for_console = true;
}

void cw_server_set_proxy(cw_server *s)
{
    s->listeners[s->n_listeners - 1].proxy = true;
}

const cw_listener *cw_server_listeners(const cw_server *s, size_t *ret_n)
{
    *ret_n = s->n_listeners;
    return s->listeners;
}

static cw_code check_tls(const cw_server *s, const cw_settings *settings, cw_err *err)
{
    for (size_t i = 0; i < s->n_listeners; i++) {
        if (s->listeners[i].tls && !settings->tls)
            return cw_fail(err, CW_PARAMS, "a TLS listener needs a certificate and a key");
    }
    return CW_OK;
}

/* Settings that a loop has not installed yet are replaced. */
static void publish(cw_server *s, cw_settings *settings)
{
    for (unsigned i = 0; i < s->n_started; i++) {
        cw_server_loop *sl = &s->loops[i];
        atomic_fetch_add(&settings->refs, 1);
        settings_unref(atomic_exchange(&sl->new_settings, settings));
        cw_loop_notify(&sl->loop, &sl->on_settings);
    }
}

/* The kernel's table of descriptors grows on demand, and growing takes 10 ms and more once a
 * process has threads. So it is grown before there are any; without success it just grows later. */
static void grow_descriptors(uint32_t connections)
{
    struct rlimit limit;
    uint64_t most = (uint64_t)connections + CW_SERVER_SPARE_FDS;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && most >= limit.rlim_cur)
        most = limit.rlim_cur - 1;
    int fd = eventfd(0, EFD_CLOEXEC);
    if (fd < 0)
        return;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, (int)most);
    if (high >= 0)
        close(high);
    close(fd);
}

static uint32_t slot_of(const cw_listener *l)
{
    char address[CW_ADDRESS_TEXT];
    cw_address_format(&l->address, address, sizeof address);
    return cw_metrics_slot(CW_METRICS_LISTENER, cw_str_from(address));
}

/* All listeners with TLS have the same certificate. */
static void set_expiry(const cw_server *s)
{
    struct tm date;
    const X509 *certificate = s->settings->tls ? SSL_CTX_get0_certificate(s->settings->tls) : NULL;
    if (!certificate || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &date) != 1)
        return;
    for (size_t i = 0; i < s->n_listeners; i++) {
        if (s->listeners[i].tls)
            cw_metrics_set(CW_METRIC_TLS_EXPIRY, slot_of(&s->listeners[i]), 0, 0, timegm(&date));
    }
}

cw_code cw_server_configure(cw_server *s, const cw_server_opts *opts, cw_err *err)
{
    if (!s->n_started)
        grow_descriptors(opts->connections);
    cw_settings *fresh;
    cw_code rc = settings_new(opts, &fresh, err);
    if (rc)
        return rc;
    rc = check_tls(s, fresh, err);
    if (rc) {
        settings_unref(fresh);
        return rc;
    }
    publish(s, fresh);
    settings_unref(s->settings);
    s->settings = fresh;
    set_expiry(s);
    return CW_OK;
}

static cw_code init_loops(cw_server *s, cw_err *err)
{
    cw_code rc = CW_OK;
    while (s->n_ready < s->n_loops && !rc) {
        unsigned i = s->n_ready;
        rc = init_loop(s, &s->loops[i], err);
        if (rc)
            break;
        s->n_ready++;
        rc = start_acceptors(s, &s->loops[i], i, err);
    }
    return rc;
}

static cw_code listen_all(cw_server *s, cw_err *err)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < s->n_listeners && !rc; i++)
        rc = cw_listener_listen(&s->listeners[i], err);
    return rc;
}

cw_code cw_server_start(cw_server *s, cw_err *err)
{
    /* All loops before the first thread: a request on one loop may post to each of the others. */
    cw_code rc = listen_all(s, err);
    if (!rc)
        rc = init_loops(s, err);
    while (s->n_started < s->n_loops && !rc) {
        rc = cw_loop_start(&s->loops[s->n_started].loop, err);
        if (rc)
            break;
        s->n_started++;
        atomic_fetch_add(&s->running, 1);
    }
    for (size_t i = 0; i < s->n_listeners && !rc; i++)
        s->listeners[i].has_file = s->listeners[i].has_file || s->listeners[i].owes_file;
    return rc;
}

void cw_server_stop(cw_server *s, void (*on_stopped)(void *ctx), void *ctx)
{
    if (!s->stopping) {
        s->stopping = true;
        s->on_stopped = on_stopped;
        s->stopped_ctx = ctx;
    }
    for (size_t i = 0; i < s->n_listeners; i++)
        cw_listener_unlink(&s->listeners[i]);
    for (unsigned i = 0; i < s->n_started; i++) {
        atomic_fetch_add(&s->loops[i].n_stops, 1);
        cw_loop_notify(&s->loops[i].loop, &s->loops[i].on_stop);
    }
}

void cw_server_hand_over(cw_server *s)
{
    s->is_handed_over = true;
    for (size_t i = 0; i < s->n_listeners; i++)
        s->listeners[i].has_file = false;
}

void cw_server_free(cw_server *s)
{
    if (!s)
        return;
    if (s->n_started && !s->stopping)
        cw_server_stop(s, NULL, NULL);
    /* A loop that still runs may post to one that has ended, so all are joined first. */
    for (unsigned i = 0; i < s->n_started; i++)
        pthread_join(s->loops[i].loop.thread, NULL);
    for (unsigned i = s->n_started; i < s->n_ready; i++)
        discard_loop(&s->loops[i]);
    for (unsigned i = 0; i < s->n_ready; i++)
        free_loop(&s->loops[i]);
    for (size_t i = 0; i < s->n_listeners; i++)
        cw_listener_close(&s->listeners[i]);
    settings_unref(s->settings);
    cw_addrcount_done(&s->addresses);
    cw_fair_slots_done(&s->bodies);
    free(s->loops);
    free(s);
}

uint64_t cw_server_body_bytes(cw_server *s)
{
    return (uint64_t)cw_fair_slots_count(&s->bodies) * CW_BODY_UNIT;
}

uint32_t cw_server_connections(const cw_server *s)
{
    return atomic_load_explicit(&s->connections, memory_order_relaxed);
}

/* ---- accepting ---- */

/* Connections taken per wake-up, so that a flood of them does not starve the others. */
#define BATCH 64
/* Batches taken before closing: as many connections as can wait. */
#define LAST_BATCHES 64

static const char full_answer[] =
    "HTTP/1.1 503 Service Unavailable\r\n"
    "Content-Type: application/json\r\n" CW_REPLY_NOSNIFF "Content-Length: 76\r\n"
    "Retry-After: 1\r\n"
    "Connection: close\r\n\r\n"
    "{\"error\":{\"code\":\"unavailable\","
    "\"message\":\"Too many connections, try later\"}}";

void cw_server_refuse_full(int fd, bool tls, bool is_total)
{
    cw_metrics_count(CW_METRIC_CONNECTIONS_REFUSED,
                     is_total ? CW_REFUSED_TOTAL : CW_REFUSED_ADDRESS, 0, 0);
    cw_log(CW_LOG_DEBUG, "net", "connection refused: too many");
    if (!tls && send(fd, full_answer, sizeof full_answer - 1, MSG_NOSIGNAL) > 0)
        shutdown(fd, SHUT_WR);
}

bool cw_server_count_address(cw_server_loop *sl, const cw_address *peer, cw_addrkey *ret_key,
                             bool *ret_counted)
{
    const cw_server_opts *opts = &sl->settings->opts;
    uint32_t each = opts->per_address ? opts->per_address : CW_HTTP_MAX_PER_ADDRESS;
    *ret_counted = opts->per_address > 0 || !cw_address_is_loopback(peer);
    if (!*ret_counted)
        return true;
    *ret_key = cw_addrcount_key(peer);
    return !cw_addrcount_add(&sl->server->addresses, *ret_key, each, opts->connections);
}

/* On a local listener: this user and root. The mode of the file already keeps others away. What this
 * process has started is foreign code of the same user, and gets no operator's rights. */
static bool may_connect(int fd, uid_t *ret_uid)
{
    struct ucred peer = {0};
    socklen_t n = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n))
        return false;
    *ret_uid = peer.uid;
    /* 0: a process outside the namespace of ours. A process of another user is none that we started:
     * it may even be invisible to us (ProtectProc= of systemd), and could then not be checked. */
    if (peer.pid && peer.uid == geteuid() && cw_process_is_below(peer.pid, getpid())) {
        cw_log(CW_LOG_WARN, "net", "a program of this server was refused on the local socket",
               CW_KN("pid", (uint64_t)peer.pid));
        return false;
    }
    if (peer.uid == geteuid() || peer.uid == 0)
        return true;
    cw_log(CW_LOG_WARN, "net", "another user was refused on the local socket",
           CW_KN("uid", peer.uid));
    return false;
}

static bool is_balancer(const cw_acceptor *a, const cw_address *peer)
{
    if (cw_proxies_has(a->sl->settings->proxies, peer))
        return true;
    cw_conn_refuse_proxy(peer, "the peer is not in trusted_proxies");
    return false;
}

/* Whether the peer may use this listener at all. */
static bool is_welcome(const cw_acceptor *a, int fd, const cw_address *peer, uid_t *ret_uid)
{
    if (a->proxy)
        return is_balancer(a, peer);
    if (!a->is_local || may_connect(fd, ret_uid))
        return true;
    cw_metrics_count(CW_METRIC_CONNECTIONS_REFUSED, CW_REFUSED_USER, 0, 0);
    return false;
}

/* Refused without a connection object: what is full must not grow. A balancer is not counted: its
 * header names the client that is. */
static void admit(cw_acceptor *a, int fd, const cw_address *peer)
{
    cw_server_loop *sl = a->sl;
    cw_server *server = sl->server;
    cw_addrkey key = {{0}};
    bool counted = false;
    uid_t uid = 0;
    if (!is_welcome(a, fd, peer, &uid)) {
        close(fd);
        return;
    }
    uint32_t before = atomic_fetch_add_explicit(&server->connections, 1, memory_order_relaxed);
    bool is_full = !a->is_local && before >= sl->settings->opts.connections;
    if (is_full || (!a->proxy && !cw_server_count_address(sl, peer, &key, &counted))) {
        atomic_fetch_sub_explicit(&server->connections, 1, memory_order_relaxed);
        cw_server_refuse_full(fd, a->tls, is_full);
        close(fd);
        return;
    }
    cw_conn *c = cw_conn_new(sl, fd, peer, a->tls, counted, key);
    if (!c) {
        cw_metrics_count(CW_METRIC_CONNECTIONS_REFUSED, CW_REFUSED_MEMORY, 0, 0);
        return;
    }
    c->listener = (uint8_t)a->slot;
    c->at = a->at;
    if (a->proxy)
        cw_conn_expect_proxy_header(c, peer);
    cw_metrics_count(CW_METRIC_CONNECTIONS, a->slot, 0, 0);
    cw_metrics_count(CW_METRIC_CONNECTIONS_TOTAL, a->slot, 0, 0);
    if (a->is_local) {
        c->is_local = true;
        c->local_uid = uid;
    }
}

/* Out of descriptors or memory: the waiting connection would wake us at once, for ever. */
static void pause_accepting(cw_acceptor *a)
{
    uv_poll_stop(&a->poll);
    cw_loop_set_deadline(&a->sl->loop, &a->pause, &a->sl->pause);
}

/* True when more may be waiting. */
static bool accept_batch(cw_acceptor *a)
{
    for (int i = 0; i < BATCH; i++) {
        cw_address peer = {.len = sizeof peer.sa};
        int fd =
            accept4(*a->fd, (struct sockaddr *)&peer.sa, &peer.len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            admit(a, fd, &peer);
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return false;
        cw_log(CW_LOG_DEBUG, "net", "accept failed, pausing",
               CW_KV("why", cw_str_from(strerror(errno))));
        pause_accepting(a);
        return false;
    }
    return true;
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    (void)events;
    cw_acceptor *a = poll->data;
    if (status < 0)
        pause_accepting(a);
    else
        accept_batch(a);
}

static void acceptor_on_pause_over(cw_deadline *d)
{
    cw_acceptor *a = CW_CONTAINER(d, cw_acceptor, pause);
    if (a->open)
        uv_poll_start(&a->poll, UV_READABLE, on_connection);
}

static cw_code acceptor_start(cw_acceptor *a, cw_server_loop *sl, const cw_listener *l, int *fd,
                              cw_err *err)
{
    unsigned at = l->is_local ? CW_AT_LOCAL : l->is_for_console ? CW_AT_CONSOLE : CW_AT_CLIENTS;
    *a = (cw_acceptor){.sl = sl, .tls = l->tls, .is_local = l->is_local, .proxy = l->proxy};
    a->at = (uint8_t)(l->is_for_metrics ? CW_AT_METRICS : at);
    a->slot = slot_of(l);
    a->fd = fd;
    int rc = uv_poll_init(&sl->loop.uv, &a->poll, *fd);
    if (rc == 0)
        rc = uv_poll_start(&a->poll, UV_READABLE, on_connection);
    if (rc)
        return cw_fail(err, CW_IO, "poll a listener: %s", uv_strerror(rc));
    a->poll.data = a;
    a->open = true;
    return CW_OK;
}

static void acceptor_stop(cw_acceptor *a)
{
    if (!a->open)
        return;
    /* Connections that the kernel has accepted are served: closing would reset them. The successor
     * has the same queue. */
    for (int i = 0; i < LAST_BATCHES && !a->sl->server->is_handed_over && accept_batch(a); i++)
        ;
    a->open = false;
    cw_deadline_clear(&a->pause);
    uv_close((uv_handle_t *)&a->poll, NULL);
}
