/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upstream.c - a JSON-RPC service that costs next to nothing, behind whatever forwards to it.
 *
 *     upstream [DELAY]
 *
 * Listens on a free port of 127.0.0.1, prints its URL, and answers every POST, whatever its method,
 * with {"jsonrpc":"2.0","id":(the request's),"result":{"message":…}}, at once or DELAY milliseconds
 * after the request, of which there is one at a time on a connection then. Single-threaded, epoll.
 * Trusts its callers: the first "id": of a body is taken as its id.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"

#define MAX_REQUEST 65536u
#define MAX_CONNS 4096
#define MAX_ID 64
#define RESULT "{\"message\":\"" TEXT TEXT "\"}"
#define TEXT "A bridge you can walk across, from one side to the other. "

typedef struct conn {
    size_t n;
    char request[MAX_REQUEST + 1];
} conn;

/* A request that is answered later. */
typedef struct waiting {
    uint64_t due;
    int fd;
    int n_id;
    char id[MAX_ID];
} waiting;

static conn *conns[MAX_CONNS]; /* by descriptor */
static uint64_t delay;         /* ns */
/* All wait for the same time: the first is due first. One for each connection at most. */
static waiting queue[MAX_CONNS];
static size_t first, n_queued;

static int open_listener(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof at) != 0 ||
        listen(fd, SOMAXCONN) != 0 || getsockname(fd, (struct sockaddr *)&at, &n) != 0)
        bench_give_up("upstream: %s", strerror(errno));
    printf("upstream listens on http://127.0.0.1:%u\n", ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

/* The bytes of the id, a number or a string; "null" when there is none. */
static int find_id(const char *body, const char **ret)
{
    const char *id = strstr(body, "\"id\":");
    *ret = "null";
    if (!id)
        return 4;
    id += 5;
    id += strspn(id, " ");
    *ret = id;
    return *id == '"' ? (int)strcspn(id + 1, "\"") + 2 : (int)strcspn(id, ",} ");
}

static bool answer(int fd, const char *id, int n_id)
{
    char head[256];
    char text[1024];
    int n = snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}", n_id, id,
                     RESULT);
    int n_head = snprintf(head, sizeof head,
                          "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                          "Content-Length: %d\r\n\r\n",
                          n);
    char out[sizeof head + sizeof text];
    memcpy(out, head, (size_t)n_head);
    memcpy(out + n_head, text, (size_t)n);
    size_t n_out = (size_t)n_head + (size_t)n;
    return send(fd, out, n_out, MSG_NOSIGNAL) == (ssize_t)n_out;
}

/* Now or later; false when that cannot be done. */
static bool take_request(int fd, const char *body)
{
    const char *id;
    int n_id = find_id(body, &id);
    if (delay == 0)
        return answer(fd, id, n_id);
    if (n_queued == MAX_CONNS || n_id > MAX_ID)
        return false;
    waiting *w = &queue[(first + n_queued++) % MAX_CONNS];
    *w = (waiting){.due = bench_now_ns() + delay, .fd = fd, .n_id = n_id};
    memcpy(w->id, id, (size_t)n_id);
    return true;
}

/* Answer what is due. How long the next may wait, in milliseconds; -1: there is none. */
static int answer_due(void)
{
    while (n_queued > 0) {
        const waiting *w = &queue[first];
        uint64_t now = bench_now_ns();
        if (w->due > now)
            return (int)((w->due - now) / 1000000u) + 1;
        if (conns[w->fd])
            answer(w->fd, w->id, w->n_id);
        first = (first + 1) % MAX_CONNS;
        n_queued--;
    }
    return -1;
}

/* Answer the whole requests of the buffer; false when the connection is of no use any more. */
static bool serve(int fd, conn *c)
{
    for (;;) {
        c->request[c->n] = '\0';
        char *end = strstr(c->request, "\r\n\r\n");
        if (!end)
            return c->n < MAX_REQUEST;
        const char *field = strcasestr(c->request, "\r\ncontent-length:");
        size_t length = field && field < end ? strtoul(field + 17, NULL, 10) : 0;
        size_t whole = (size_t)(end + 4 - c->request) + length;
        if (c->n < whole)
            return whole <= MAX_REQUEST;
        char kept = c->request[whole];
        c->request[whole] = '\0';
        if (!take_request(fd, end + 4))
            return false;
        c->request[whole] = kept;
        c->n -= whole;
        memmove(c->request, c->request + whole, c->n);
    }
}

static void take(int epoll, int listener)
{
    int on = 1;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    conn *c = fd < MAX_CONNS ? calloc(1, sizeof *c) : NULL;
    if (!c || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        bench_give_up("upstream: too many connections");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    conns[fd] = c;
}

static void on_readable(int fd)
{
    conn *c = conns[fd];
    ssize_t n = recv(fd, c->request + c->n, MAX_REQUEST - c->n, 0);
    if (n > 0) {
        c->n += (size_t)n;
        if (serve(fd, c))
            return;
    }
    close(fd);
    free(c);
    conns[fd] = NULL;
}

int main(int argc, char **argv)
{
    struct epoll_event events[64];
    delay = argc > 1 ? bench_parse_count(argv[1]) * UINT64_C(1000000) : 0;
    bench_raise_file_limit();
    int listener = open_listener();
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0)
        bench_give_up("upstream: epoll: %s", strerror(errno));
    for (;;) {
        int n = epoll_wait(epoll, events, 64, answer_due());
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == listener)
                take(epoll, listener);
            else
                on_readable(events[i].data.fd);
        }
    }
}
