/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slow.c - clients that are as slow as they can be, many of each kind at once.
 *
 *     slow ADDRESS HEADERS BODIES READERS BYTES
 *
 *     slow header   sends a head that never ends, one byte a second
 *     slow body     announces a large body, then sends one byte a second
 *     slow reader   asks for BYTES bytes through the smallest receive buffer there is, and reads a
 *                   few bytes a second
 *
 * They come spread over one second, so that their time limits do not end in the same millisecond,
 * and who is thrown out comes back within a second. Prints {"ready":true} when all have begun, and
 * when standard input ends one object with, per kind, how many were thrown out and how long the
 * longest lived.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"

#define KINDS 3u
/* A second has so many slices, and each client its turn in one of them. */
#define SLICES 100u
#define SLICE_NS (1000000000u / SLICES)
#define READ_BYTES 4u
/* As over Ethernet. With the 64 KB segments of the loopback interface the kernel gives each
 * connection a send buffer of 2.6 MB, and the server would never see that a reader is slow. */
#define SEGMENT 1460

typedef enum kind { SLOW_HEADER, SLOW_BODY, SLOW_READER } kind;

typedef struct client {
    kind what;
    int fd;     /* -1: comes (back) at its next turn */
    bool begun; /* the first part of its request is sent */
    uint64_t since;
} client;

typedef struct crowd {
    struct sockaddr_in to;
    int epoll;
    client *clients;
    unsigned n, begun;
    unsigned thrown_out[KINDS];
    uint64_t longest[KINDS];
    char requests[KINDS][256];
} crowd;

static void open_client(crowd *c, client *who)
{
    int least = 1, segment = SEGMENT;
    who->fd = bench_socket(BENCH_ANY_SOURCE);
    who->begun = false;
    who->since = bench_now_ns();
    fcntl(who->fd, F_SETFL, O_NONBLOCK);
    setsockopt(who->fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
    if (who->what == SLOW_READER)
        setsockopt(who->fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
    if (connect(who->fd, (const struct sockaddr *)&c->to, sizeof c->to) != 0 &&
        errno != EINPROGRESS)
        bench_give_up("slow: connect: %s", strerror(errno));
    struct epoll_event event = {.events = EPOLLRDHUP, .data = {.ptr = who}};
    if (epoll_ctl(c->epoll, EPOLL_CTL_ADD, who->fd, &event) != 0)
        bench_give_up("slow: epoll_ctl: %s", strerror(errno));
}

static void on_thrown_out(crowd *c, client *who)
{
    uint64_t life = bench_now_ns() - who->since;
    c->thrown_out[who->what]++;
    if (life > c->longest[who->what])
        c->longest[who->what] = life;
    close(who->fd);
    who->fd = -1;
}

static ssize_t begin(crowd *c, client *who)
{
    const char *text = c->requests[who->what];
    ssize_t sent = send(who->fd, text, strlen(text), MSG_NOSIGNAL);
    if (sent > 0) {
        who->begun = true;
        c->begun++;
    }
    return sent;
}

static void take_turn(crowd *c, client *who)
{
    char bytes[READ_BYTES] = "a";
    ssize_t n;
    if (who->fd < 0)
        open_client(c, who);
    if (!who->begun)
        n = begin(c, who);
    else if (who->what == SLOW_READER)
        n = recv(who->fd, bytes, sizeof bytes, 0);
    else
        n = send(who->fd, bytes, 1, MSG_NOSIGNAL);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        on_thrown_out(c, who);
}

/* Wait for the end of the slice. False when standard input has ended. */
static bool wait_slice(crowd *c, uint64_t end)
{
    struct epoll_event events[256];
    for (;;) {
        uint64_t now = bench_now_ns();
        int ms = now < end ? (int)((end - now) / 1000000) : 0;
        int n = epoll_wait(c->epoll, events, 256, ms);
        for (int i = 0; i < n; i++) {
            if (!events[i].data.ptr)
                return false;
            on_thrown_out(c, events[i].data.ptr);
        }
        if (bench_now_ns() + 1000000 >= end)
            return true;
    }
}

static void run(crowd *c)
{
    bool said = false;
    uint64_t end = bench_now_ns();
    for (unsigned slice = 0;; slice = (slice + 1) % SLICES) {
        for (unsigned i = slice; i < c->n; i += SLICES)
            take_turn(c, &c->clients[i]);
        if (!said && c->begun >= c->n) {
            said = true;
            printf("{\"ready\":true}\n");
            fflush(stdout);
        }
        end += SLICE_NS;
        if (!wait_slice(c, end))
            return;
    }
}

static void write_requests(crowd *c, unsigned bytes)
{
    snprintf(c->requests[SLOW_HEADER], sizeof c->requests[0],
             "GET /2k HTTP/1.1\r\nHost: localhost\r\nX-Slow: a");
    snprintf(c->requests[SLOW_BODY], sizeof c->requests[0],
             "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
    snprintf(c->requests[SLOW_READER], sizeof c->requests[0],
             "GET /big?%u HTTP/1.1\r\nHost: localhost\r\n\r\n", bytes);
}

static void gather(crowd *c, const unsigned counts[KINDS])
{
    struct epoll_event input = {.events = EPOLLIN, .data = {.ptr = NULL}};
    c->n = counts[0] + counts[1] + counts[2];
    c->clients = calloc(c->n + 1, sizeof *c->clients);
    c->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!c->clients || c->epoll < 0 ||
        epoll_ctl(c->epoll, EPOLL_CTL_ADD, STDIN_FILENO, &input) != 0)
        bench_give_up("slow: cannot begin: %s", strerror(errno));
    unsigned i = 0;
    for (unsigned what = 0; what < KINDS; what++) {
        for (unsigned k = 0; k < counts[what]; k++)
            c->clients[i++] = (client){.what = (kind)what, .fd = -1};
    }
}

int main(int argc, char **argv)
{
    if (argc != 6)
        bench_give_up("usage: slow ADDRESS HEADERS BODIES READERS BYTES");
    crowd c = {.to = bench_parse_address(argv[1])};
    unsigned counts[KINDS];
    for (unsigned i = 0; i < KINDS; i++)
        counts[i] = bench_parse_count(argv[2 + i]);
    bench_raise_file_limit();
    write_requests(&c, bench_parse_count(argv[5]));
    gather(&c, counts);
    run(&c);
    static const char *const names[KINDS] = {"header", "body", "reader"};
    printf("{");
    for (unsigned i = 0; i < KINDS; i++)
        printf("%s\"%s\":{\"thrown_out\":%u,\"longest_ms\":%.0f}", i ? "," : "", names[i],
               c.thrown_out[i], (double)c.longest[i] / 1e6);
    printf("}\n");
    free(c.clients);
    return 0;
}
