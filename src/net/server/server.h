/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server.h - listeners, loops and connections put together.
 *
 *     cw_server_opts opts = CW_SERVER_DEFAULTS;
 *     cw_server *s;
 *     cw_server_new(&router, 2, &s, err);
 *     cw_server_listen(s, CW_STR("127.0.0.1:0"), false, err);
 *     cw_server_configure(s, &opts, err);
 *     cw_server_start(s, err);
 *     ...
 *     cw_server_stop(s, on_stopped, ctx);    graceful; told from a loop's thread
 *     cw_server_free(s);                     joins the loops
 *
 * Ownership: the server copies its options and borrows the router, which must outlive it.
 * Threads:   all functions here belong to one thread (the main one). Connections live on loops.
 * Limits:    cw_server_opts, each with a default in base/limits.h.
 */
#ifndef CW_NET_SERVER_SERVER_H
#define CW_NET_SERVER_SERVER_H

#include "net/addr/handed.h"
#include "net/http/hostcheck.h"
#include "net/server/router.h"

#define CW_SERVER_MAX_LOOPS 64u
#define CW_SERVER_MAX_LISTENERS                                                                    \
    25u /* those of the configuration, console, metrics; the local one */
/* Descriptors beside connections: listeners and loops, two for each worker of a plugin and one for
 * its file, and those to remote services. A number of a descriptor counts for all loops. */
#define CW_SERVER_SPARE_FDS 4096u

typedef struct cw_server cw_server;

typedef struct cw_server_opts {
    cw_http1_limits head;
    uint64_t body_size;
    uint64_t body_memory; /* of all requests together, bodies over 16 KB; one always fits.
                           * Networks share it (base/fair.h). */
    uint32_t connections;
    uint32_t per_address; /* 0: CW_HTTP_MAX_PER_ADDRESS, loopback and unix peers not counted */
    uint32_t pipelined;   /* requests sent without waiting for answers */
    uint32_t min_rate;    /* bytes per second, over each body or write window */
    size_t stream_queue;
    uint32_t header_ms, body_ms, idle_ms, write_ms, drain_ms, linger_ms, ping_ms;
    bool access_log;
    const cw_str *hosts, *origins; /* NULL hosts: loopback names */
    size_t n_hosts, n_origins;
    const cw_str *proxies; /* whose word about clients is taken (net/addr/proxies.h) */
    size_t n_proxies;
    const char *tls_certificate, *tls_key; /* paths; NULL: no TLS */
    const char *tls_ciphers;               /* of TLS 1.2; NULL: CW_TLS_CIPHERS */
    bool tls13_only;
    cw_str public_url; /* its pages are the server's own; may be empty */
    /* Called for each response before its line of the access log; or NULL. `begun_ns` is of the
     * monotonic clock. */
    void (*on_response)(cw_http_req *req, unsigned status, uint64_t begun_ns, void *ctx);
    void *response_ctx;
    cw_str page_host; /* a host beside `hosts`, or empty */
} cw_server_opts;

#define CW_SERVER_DEFAULTS                                                                         \
    {                                                                                              \
        .head = {CW_HTTP_MAX_TARGET, CW_HTTP_MAX_HEAD, CW_HTTP_MAX_FIELDS},                        \
        .body_size = CW_HTTP_MAX_BODY, .body_memory = CW_HTTP_MAX_BODY_MEMORY,                     \
        .connections = CW_HTTP_MAX_CONNECTIONS, .pipelined = CW_HTTP_MAX_PIPELINED,                \
        .min_rate = CW_HTTP_MIN_RATE, .stream_queue = CW_HTTP_MAX_STREAM_QUEUE,                    \
        .header_ms = CW_HTTP_HEADER_MS, .body_ms = CW_HTTP_BODY_MS, .idle_ms = CW_HTTP_IDLE_MS,    \
        .write_ms = CW_HTTP_WRITE_MS, .drain_ms = CW_HTTP_DRAIN_MS,                                \
        .linger_ms = CW_HTTP_LINGER_MS, .ping_ms = CW_HTTP_PING_MS,                                \
    }

/* A server with `n_loops` loops (0: one per core). Raises the soft limit of open files to the hard
 * one. */
CW_MUST_USE cw_code cw_server_new(const cw_router *router, unsigned n_loops, cw_server **ret,
                                  cw_err *err);
/* Open a listener; before start. */
CW_MUST_USE cw_code cw_server_listen(cw_server *s, cw_str address, bool tls, cw_err *err);
/* Open a unix socket for this user and root; before start. Requests on it have
 * cw_http_req_local_uid, need no known Host, and are not refused when connections are full. */
CW_MUST_USE cw_code cw_server_listen_local(cw_server *s, cw_str address, cw_err *err);
/* Take over an inherited listening socket; before start. */
CW_MUST_USE cw_code cw_server_inherit(cw_server *s, int fd, bool tls, cw_err *err);
/* Take over the sockets of another process (net/addr/handed.h); before start. Until start that
 * process loses nothing. On failure `from` keeps its descriptors. */
CW_MUST_USE cw_code cw_server_adopt(cw_server *s, cw_handed_listener *from, bool tls, cw_err *err);
/* The listener that was opened last knows routes for metrics alone (net/server/router.h). */
void cw_server_set_for_metrics(cw_server *s);
/* The same for the routes of the console, beside those of clients. */
void cw_server_set_for_console(cw_server *s);
/* Connections to the listener that was opened last must come from cw_server_opts.proxies, and begin
 * with the header of the PROXY protocol (net/addr/proxy_header.h). */
void cw_server_set_proxy(cw_server *s);
/* The loops; they can be used after start. */
unsigned cw_server_n_loops(const cw_server *s);
cw_loop *cw_server_loop_at(cw_server *s, unsigned index);
/* The bound listeners, in the order they were opened. */
const cw_listener *cw_server_listeners(const cw_server *s, size_t *ret_n);

/* Check and install options: before start, and again at any time (reload). Certificates are read
 * anew; connections stay. On failure the old options stay in force. */
CW_MUST_USE cw_code cw_server_configure(cw_server *s, const cw_server_opts *opts, cw_err *err);
CW_MUST_USE cw_code cw_server_start(cw_server *s, cw_err *err);

/* Stop accepting, finish what runs within the drain time, then call on_stopped(ctx) from the thread
 * of the last loop to end. Idle connections may send one more request within the linger time, which
 * is answered with "Connection: close". A second call ends everything at once. */
void cw_server_stop(cw_server *s, void (*on_stopped)(void *ctx), void *ctx);
/* Another process has the sockets of all listeners and polls them: a stop closes them without taking
 * what waits in their queues, and leaves the files of unix sockets alone. */
void cw_server_hand_over(cw_server *s);
/* Wait for the loops (stop must have been called, or start not) and free everything. */
void cw_server_free(cw_server *s);

/* Bytes of large request bodies (opts.body_memory), and open connections, now. Any thread. */
uint64_t cw_server_body_bytes(cw_server *s);
uint32_t cw_server_connections(const cw_server *s);

#endif
