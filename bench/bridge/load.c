/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load.c - the same request again and again over kept-alive connections.
 *
 *     load ADDRESS CONNECTIONS SECONDS RATE FILE EXPECTED [TOKENS]
 *
 * FILE holds the request, byte for byte. With TOKENS, a file of lines, each request gets another
 * one of them in place of its @TOKEN@, and the end comes after the last, or after SECONDS. RATE 0:
 * every connection asks as soon as it has its answer. Otherwise so many requests a second, all
 * connections together, at even distances; one that finds no free connection when it is due waits,
 * and its time counts from when it was due. Any answer but 200 with the text EXPECTED in it counts
 * as failed: a tool's error is a 200 too, and cheap. Prints one JSON object, times in microseconds.
 *
 * Not here: chunked answers; the servers measured here know the length of theirs, except the one
 * made with the SDK, whose answers end with the chunk of size 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "client.h"

#define MAX_REQUEST 65536u
#define MAX_ANSWER                                                                                 \
    (8u * 1024u * 1024u) /* of each connection; memory that is not used is not there */
#define MAX_WAITING (1u << 20)
#define MAX_TOKEN 8192u
#define PLACE "@TOKEN@"

typedef struct conn {
    int fd;
    bool is_busy;
    uint64_t due;
    size_t n;
    char answer[MAX_ANSWER + 1];
} conn;

typedef struct load {
    char request[MAX_REQUEST + 1];
    size_t n_request;
    char *token;        /* the next line; NULL: there are no tokens */
    size_t n_head;      /* of the request, before the token */
    const char *behind; /* what follows the token */
    conn *conns;
    unsigned n_conns;
    unsigned *idle; /* stack of connections that have nothing to do */
    unsigned n_idle;
    int epoll;
    int timer;
    uint64_t first, end; /* when it begins and when nothing new is asked */
    unsigned rate;
    const char *expected;
    uint64_t n_due; /* requests whose time has come */
    uint64_t n_sent;
    uint64_t n_busy;
    uint64_t *times;
    uint64_t n_times, cap_times;
    uint64_t failed;
} load;

static void read_request(load *l, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, l->request, MAX_REQUEST);
    if (n <= 0 || (size_t)n == MAX_REQUEST)
        bench_give_up("load: cannot use '%s'", path);
    close(fd);
    l->n_request = (size_t)n;
}

static void read_tokens(load *l, const char *path)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) != 0)
        bench_give_up("load: cannot use '%s'", path);
    size_t size = (size_t)about.st_size, n = 0;
    l->token = calloc(1, size + 1);
    while (l->token && n < size) {
        ssize_t got = read(fd, l->token + n, size - n);
        if (got <= 0)
            bench_give_up("load: cannot read '%s'", path);
        n += (size_t)got;
    }
    close(fd);
    const char *place = strstr(l->request, PLACE);
    if (!l->token || !place)
        bench_give_up("load: no memory, or no " PLACE " in the request");
    l->n_head = (size_t)(place - l->request);
    l->behind = place + strlen(PLACE);
}

static void open_connections(load *l, const struct sockaddr_in *to)
{
    l->conns = calloc(l->n_conns, sizeof *l->conns);
    l->idle = calloc(l->n_conns, sizeof *l->idle);
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!l->conns || !l->idle || l->epoll < 0)
        bench_give_up("load: out of memory");
    for (unsigned i = 0; i < l->n_conns; i++) {
        conn *c = &l->conns[i];
        c->fd = bench_connect(to, BENCH_ANY_SOURCE);
        if (c->fd < 0 || fcntl(c->fd, F_SETFL, O_NONBLOCK) != 0)
            bench_give_up("load: connection refused");
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
        if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &event) != 0)
            bench_give_up("load: epoll: %s", strerror(errno));
        l->idle[l->n_idle++] = i;
    }
}

static void start_timer(load *l)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = UINT32_MAX};
    l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (l->timer < 0 || epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->timer, &event) != 0)
        bench_give_up("load: timer: %s", strerror(errno));
}

static void arm_timer(const load *l, uint64_t at)
{
    struct itimerspec when = {
        .it_value = {(time_t)(at / 1000000000u), (long)(at % 1000000000u)},
    };
    timerfd_settime(l->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void keep_time(load *l, uint64_t ns)
{
    if (l->n_times == l->cap_times) {
        l->cap_times = l->cap_times ? l->cap_times * 2 : 1u << 16;
        l->times = realloc(l->times, l->cap_times * sizeof *l->times);
        if (!l->times)
            bench_give_up("load: out of memory");
    }
    l->times[l->n_times++] = ns;
}

/* The next request, with its token. */
static const char *compose(load *l, size_t *n)
{
    static char text[MAX_REQUEST + MAX_TOKEN];
    *n = l->n_request;
    if (!l->token)
        return l->request;
    size_t length = strcspn(l->token, "\n"), rest = strlen(l->behind);
    if (length > MAX_TOKEN)
        bench_give_up("load: a token is too long");
    memcpy(text, l->request, l->n_head);
    memcpy(text + l->n_head, l->token, length);
    memcpy(text + l->n_head + length, l->behind, rest);
    *n = l->n_head + length + rest;
    l->token += length;
    l->token += *l->token == '\n';
    if (!*l->token)
        l->end = 0; /* that was the last */
    return text;
}

static void ask(load *l, uint64_t due)
{
    conn *c = &l->conns[l->idle[--l->n_idle]];
    c->due = due;
    c->n = 0;
    c->is_busy = true;
    l->n_busy++;
    l->n_sent++;
    size_t n;
    const char *request = compose(l, &n);
    if (send(c->fd, request, n, MSG_NOSIGNAL) != (ssize_t)n)
        bench_give_up("load: a connection is gone: %s", strerror(errno));
}

static uint64_t due_at(const load *l, uint64_t i)
{
    return l->first + i * 1000000000u / l->rate;
}

/* Ask for all that is due and finds a connection; then wait for the next. */
static void ask_what_is_due(load *l, uint64_t now)
{
    if (l->rate == 0) {
        while (l->n_idle > 0 && now < l->end)
            ask(l, now);
        return;
    }
    while (due_at(l, l->n_due) <= now && due_at(l, l->n_due) < l->end)
        l->n_due++;
    if (l->n_due - l->n_sent > MAX_WAITING)
        bench_give_up("load: the server does not keep up");
    while (l->n_sent < l->n_due && l->n_idle > 0)
        ask(l, due_at(l, l->n_sent));
    if (due_at(l, l->n_due) < l->end)
        arm_timer(l, due_at(l, l->n_due));
}

/* Whether the whole answer is there. */
static bool is_complete(const conn *c)
{
    const char *end = strstr(c->answer, "\r\n\r\n");
    if (!end)
        return false;
    size_t head = (size_t)(end + 4 - c->answer);
    const char *length = strcasestr(c->answer, "\r\ncontent-length:");
    if (length && length < end)
        return c->n >= head + strtoul(length + 17, NULL, 10);
    return c->n >= 5 && memcmp(c->answer + c->n - 5, "0\r\n\r\n", 5) == 0;
}

static void on_readable(load *l, unsigned i)
{
    conn *c = &l->conns[i];
    if (c->n == MAX_ANSWER)
        bench_give_up("load: an answer of more than %u bytes: %.200s", MAX_ANSWER, c->answer);
    ssize_t n = recv(c->fd, c->answer + c->n, MAX_ANSWER - c->n, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0 || !c->is_busy)
        bench_give_up("load: the server closed a connection: %.200s", c->answer);
    c->n += (size_t)n;
    c->answer[c->n] = '\0';
    if (!is_complete(c))
        return;
    if (memcmp(c->answer, "HTTP/1.1 200", 12) != 0 || !strstr(c->answer, l->expected)) {
        if (l->failed++ == 0)
            fprintf(stderr, "load: the first answer that failed: %.900s\n", c->answer);
    }
    keep_time(l, bench_now_ns() - c->due);
    c->is_busy = false;
    l->n_busy--;
    l->idle[l->n_idle++] = i;
}

static void run(load *l, unsigned seconds)
{
    struct epoll_event events[64];
    l->first = bench_now_ns();
    l->end = l->first + (uint64_t)seconds * 1000000000u;
    uint64_t give_up = l->end + 10 * 1000000000ull;
    for (uint64_t now = l->first; now < l->end || l->n_busy > 0 || l->n_sent < l->n_due;) {
        ask_what_is_due(l, now);
        int n = epoll_wait(l->epoll, events, 64, 100);
        for (int i = 0; i < n; i++) {
            uint64_t ticks;
            if (events[i].data.u32 != UINT32_MAX)
                on_readable(l, events[i].data.u32);
            else if (read(l->timer, &ticks, sizeof ticks) < 0 && errno != EAGAIN)
                bench_give_up("load: timer: %s", strerror(errno));
        }
        now = bench_now_ns();
        if (now > give_up)
            bench_give_up("load: no answer for ten seconds");
    }
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double us_at(const load *l, double part)
{
    return (double)l->times[(uint64_t)((double)(l->n_times - 1) * part)] / 1000;
}

int main(int argc, char **argv)
{
    static load l;
    if (argc != 7 && argc != 8)
        bench_give_up("usage: load ADDRESS CONNECTIONS SECONDS RATE FILE EXPECTED [TOKENS]");
    struct sockaddr_in to = bench_parse_address(argv[1]);
    l.n_conns = bench_parse_count(argv[2]);
    unsigned seconds = bench_parse_count(argv[3]);
    l.rate = bench_parse_count(argv[4]);
    read_request(&l, argv[5]);
    l.expected = argv[6];
    if (argc == 8)
        read_tokens(&l, argv[7]);
    bench_raise_file_limit();
    open_connections(&l, &to);
    start_timer(&l);
    run(&l, seconds);
    double took = (double)(bench_now_ns() - l.first) / 1e9;
    if (l.n_times == 0)
        bench_give_up("load: no answer");
    qsort(l.times, l.n_times, sizeof *l.times, compare_u64);
    printf("{\"requests\":%llu,\"failed\":%llu,\"perSecond\":%.1f,\"p50\":%.1f,\"p99\":%.1f,"
           "\"max\":%.1f}\n",
           (unsigned long long)l.n_times, (unsigned long long)l.failed, (double)l.n_times / took,
           us_at(&l, 0.5), us_at(&l, 0.99), us_at(&l, 1));
    return 0;
}
