/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server with the product's whole HTTP layer and routes for tests and benchmarks, which the
 * product has not got. Options are "name=value" words: listen=ADDRESS (tls:ADDRESS with TLS; may be
 * repeated), certificate=FILE, key=FILE, loops=N, host=NAME and origin=ORIGIN (may be repeated),
 * log_json=1, and the numbers of cw_server_opts (connections, per_address, body_size,
 * header_ms...).
 *
 *   GET  /2k           a JSON answer of 2,048 bytes from memory
 *   ANY  /echo         method, path, some headers and body as JSON
 *   GET  /later?N      answers after N milliseconds; a client that leaves is counted
 *   GET  /gone         how many clients left a call or a stream
 *   GET  /events?N     N server-sent events, one each 10 ms; without N until the client leaves;
 *                      with 0 a stream without events
 *   GET  /hold?N       a plain stream: "a", N silent milliseconds, "b"
 *   GET  /piece?N      a plain stream of one piece of N bytes
 *   GET  /flood?N      a stream of N bytes as fast as the client reads
 *   GET  /refill       a stream that ends once the writer need not wait
 *   GET  /big?N        a plain answer of N bytes
 *   GET  /item/{id}    the id
 *   ANY  /canary/{id}  the id; counts how often it ran
 *   GET  /canaries     that count
 *   GET  /badheader    an answer whose header has a line break in it
 *   POST /badheader    an answer with the header that the body names, "name=value"
 *   GET  /park         waits for /release
 *   GET  /release      answers all that are parked on its loop from its own handler, then itself
 *
 * TERM and INT stop it gracefully, a second one at once.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "net/server/server.h"
#include "routes.h"

#define NAMES_MAX 16u

static atomic_bool stopped;

typedef struct options {
    cw_server_opts server;
    const char *listen[8];
    size_t n_listen;
    unsigned loops;
    cw_str hosts[NAMES_MAX], origins[NAMES_MAX];
    bool log_json;
} options;

static bool set_number(options *o, cw_str name, uint64_t n)
{
    const struct {
        const char *name;
        uint32_t *field;
    } fields[] = {
        {"loops", &o->loops},
        {"connections", &o->server.connections},
        {"per_address", &o->server.per_address},
        {"pipelined", &o->server.pipelined},
        {"min_rate", &o->server.min_rate},
        {"header_ms", &o->server.header_ms},
        {"body_ms", &o->server.body_ms},
        {"idle_ms", &o->server.idle_ms},
        {"write_ms", &o->server.write_ms},
        {"drain_ms", &o->server.drain_ms},
        {"linger_ms", &o->server.linger_ms},
        {"ping_ms", &o->server.ping_ms},
        {"header_size", &o->server.head.head},
        {"target_size", &o->server.head.target},
        {"header_fields", &o->server.head.fields},
    };
    for (size_t i = 0; i < CW_COUNT(fields); i++) {
        if (cw_str_is(name, fields[i].name)) {
            *fields[i].field = (uint32_t)n;
            return true;
        }
    }
    if (cw_str_is(name, "body_size"))
        o->server.body_size = n;
    else if (cw_str_is(name, "body_memory"))
        o->server.body_memory = n;
    else if (cw_str_is(name, "stream_queue"))
        o->server.stream_queue = (size_t)n;
    else if (cw_str_is(name, "access_log"))
        o->server.access_log = n != 0;
    else if (cw_str_is(name, "log_json"))
        o->log_json = n != 0;
    else
        return false;
    return true;
}

static bool parse_options(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        cw_str value;
        uint64_t n;
        cw_str name = cw_str_cut(cw_str_from(argv[i]), '=', &value);
        bool ok = value.p != NULL;
        if (cw_str_is(name, "listen") && o->n_listen < CW_COUNT(o->listen))
            o->listen[o->n_listen++] = value.p;
        else if (cw_str_is(name, "host") && o->server.n_hosts < NAMES_MAX)
            o->hosts[o->server.n_hosts++] = value;
        else if (cw_str_is(name, "origin") && o->server.n_origins < NAMES_MAX)
            o->origins[o->server.n_origins++] = value;
        else if (cw_str_is(name, "certificate"))
            o->server.tls_certificate = value.p;
        else if (cw_str_is(name, "key"))
            o->server.tls_key = value.p;
        else
            ok = ok && cw_str_to_u64(value, &n) && set_number(o, name, n);
        if (!ok) {
            fprintf(stderr, "testserver: bad option '%s'\n", argv[i]);
            return false;
        }
    }
    if (!o->n_listen)
        o->listen[o->n_listen++] = "127.0.0.1:0";
    o->server.hosts = o->server.n_hosts ? o->hosts : NULL;
    o->server.origins = o->origins;
    return true;
}

static cw_code start(const options *o, const cw_router *router, cw_server **ret, cw_err *err)
{
    cw_log_opts log = {.json = o->log_json, .level = CW_LOG_INFO};
    cw_code rc = cw_log_configure(&log, err);
    if (!rc)
        rc = cw_server_new(router, o->loops, ret, err);
    for (size_t i = 0; i < o->n_listen && !rc; i++) {
        cw_str address = cw_str_from(o->listen[i]);
        bool tls = cw_str_starts(address, CW_STR("tls:"));
        if (tls)
            address = cw_str_make(address.p + 4, address.n - 4);
        rc = cw_server_listen(*ret, address, tls, err);
    }
    if (!rc)
        rc = cw_server_configure(*ret, &o->server, err);
    return rc ? rc : cw_server_start(*ret, err);
}

static void announce(const cw_server *s)
{
    size_t n;
    const cw_listener *l = cw_server_listeners(s, &n);
    for (size_t i = 0; i < n; i++) {
        char text[CW_ADDRESS_TEXT];
        cw_address_format(&l[i].address, text, sizeof text);
        printf("testserver: listening on %s%s\n", l[i].tls ? "https://" : "http://", text);
    }
    fflush(stdout);
}

static void on_stopped(void *ctx)
{
    (void)ctx;
    atomic_store(&stopped, true);
}

static void serve_until_stopped(cw_server *server, const sigset_t *signals)
{
    int signum;
    sigwait(signals, &signum);
    cw_server_stop(server, on_stopped, NULL);
    while (!atomic_load(&stopped)) {
        struct timespec patience = {.tv_nsec = 5 * 1000 * 1000};
        if (sigtimedwait(signals, NULL, &patience) > 0)
            cw_server_stop(server, NULL, NULL);
    }
}

int main(int argc, char **argv)
{
    options o = {.server = CW_SERVER_DEFAULTS, .loops = 1};
    /* Most tests leave idle connections behind, and none shall wait five seconds for its end. */
    o.server.linger_ms = 100;
    cw_router router;
    cw_server *server = NULL;
    cw_err err = {0};
    sigset_t signals;
    if (!parse_options(argc, argv, &o))
        return 2;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    cw_router_init(&router);
    cw_code rc = test_routes_add(&router);
    if (!rc)
        rc = start(&o, &router, &server, &err);
    if (rc) {
        fprintf(stderr, "testserver: %s\n", err.msg);
    } else {
        announce(server);
        serve_until_stopped(server, &signals);
    }
    cw_server_free(server);
    cw_router_done(&router);
    return rc ? 1 : 0;
}
