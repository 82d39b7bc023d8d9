/* SPDX-License-Identifier: GPL-2.0-or-later */
/* probe.c - a healthy client: a steady rate of small requests, and how long each took.
 *
 *     probe ADDRESS PATH RATE SECONDS FRESH
 *
 * Every FRESH-th request opens a connection of its own (and its time includes that); the others
 * share one. Prints one JSON object, times in microseconds.
 *
 * A request that could not be sent when it was due, because the answer before it was late, counts
 * from when it was due: otherwise one long stall would look like one slow request.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "client.h"

#define GIVE_UP_SECONDS 5

typedef struct probe {
    struct sockaddr_in to;
    char request[512];
    int shared; /* -1: to be opened */
} probe;

static int open_connection(const probe *p)
{
    struct timeval limit = {.tv_sec = GIVE_UP_SECONDS};
    int fd = bench_connect(&p->to, BENCH_ANY_SOURCE);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
}

static bool ask(const probe *p, int fd)
{
    return fd >= 0 && bench_send(fd, p->request) &&
           bench_read_answer(bench_read_socket, &fd) == 200;
}

static bool ask_fresh(const probe *p)
{
    int fd = open_connection(p);
    bool ok = ask(p, fd);
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool ask_shared(probe *p)
{
    if (p->shared < 0)
        p->shared = open_connection(p);
    bool ok = ask(p, p->shared);
    if (!ok && p->shared >= 0) {
        close(p->shared);
        p->shared = -1;
    }
    return ok;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double us_at(const uint64_t *sorted, unsigned n, double part)
{
    return (double)sorted[(unsigned)((double)(n - 1) * part)] / 1000;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        bench_give_up("usage: probe ADDRESS PATH RATE SECONDS FRESH");
    probe p = {.to = bench_parse_address(argv[1]), .shared = -1};
    snprintf(p.request, sizeof p.request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", argv[2]);
    unsigned rate = bench_parse_count(argv[3]);
    unsigned n = rate * bench_parse_count(argv[4]);
    unsigned fresh = bench_parse_count(argv[5]);
    uint64_t *times = calloc(n + 1, sizeof *times);
    if (!times || n == 0)
        bench_give_up("probe: nothing to do");
    unsigned ok = 0;
    uint64_t first = bench_now_ns();
    for (unsigned i = 0; i < n; i++) {
        uint64_t due = first + (uint64_t)i * 1000000000u / rate;
        uint64_t start = due;
        if (bench_now_ns() < due) {
            bench_sleep_until(due);
            start = bench_now_ns();
        }
        ok += fresh && i % fresh == fresh - 1 ? ask_fresh(&p) : ask_shared(&p);
        times[i] = bench_now_ns() - start;
    }
    qsort(times, n, sizeof *times, compare_u64);
    printf("{\"requests\":%u,\"ok\":%u,\"p50\":%.1f,\"p99\":%.1f,\"max\":%.1f}\n", n, ok,
           us_at(times, n, 0.5), us_at(times, n, 0.99), us_at(times, n, 1));
    free(times);
    return 0;
}
