/* SPDX-License-Identifier: GPL-2.0-or-later */
/* listen.c - open many streams that wait for news, and see when the news has reached all of them.
 *
 *     listen ADDRESS COUNT FILE NEWS
 *
 * Sends the bytes of FILE on every connection and reads until the first event has come. Prints
 * {"held":N} then, and waits for a line on standard input: what is behind NEWS counts from there.
 * Prints {"reached":N,"ms":T} when every stream has had an event with the text NEWS, T being the
 * time from that line to the last of them, and ends with its standard input.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"

#define MAX_BYTES 16384u
/* Connections per source address, far below the number of ephemeral ports. */
#define PER_SOURCE 5000u
#define FIRST_SOURCE 2u
#define EVENTS 256
#define PATIENCE_MS 30000

/* Read until `text` has come; false when the stream has ended. */
static bool read_until(int fd, const char *text)
{
    static char bytes[MAX_BYTES];
    size_t n = 0;
    while (n + 1 < sizeof bytes) {
        ssize_t got = recv(fd, bytes + n, sizeof bytes - 1 - n, 0);
        if (got <= 0)
            return false;
        n += (size_t)got;
        bytes[n] = '\0';
        if (strstr(bytes, text))
            return true;
    }
    return false;
}

static void open_all(const struct sockaddr_in *to, const char *request, unsigned n, int epoll)
{
    for (unsigned i = 0; i < n; i++) {
        int fd = bench_connect(to, FIRST_SOURCE + i / PER_SOURCE);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        if (fd < 0 || !bench_send(fd, request) || !read_until(fd, "acknowledged"))
            bench_give_up("listen: stream %u was not opened", i);
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
            bench_give_up("listen: epoll: %s", strerror(errno));
    }
}

/* How many have had the news when all have, or nothing comes any more. */
static unsigned wait_all(int epoll, unsigned n, const char *change)
{
    struct epoll_event events[EVENTS];
    unsigned reached = 0;
    while (reached < n) {
        int got = epoll_wait(epoll, events, EVENTS, PATIENCE_MS);
        if (got <= 0)
            break;
        for (int i = 0; i < got; i++) {
            if (!read_until(events[i].data.fd, change))
                bench_give_up("listen: a stream has ended");
            (void)epoll_ctl(epoll, EPOLL_CTL_DEL, events[i].data.fd, NULL);
            reached++;
        }
    }
    return reached;
}

int main(int argc, char **argv)
{
    static char request[MAX_BYTES];
    char line[16];
    if (argc != 5)
        bench_give_up("usage: listen ADDRESS COUNT FILE NEWS");
    struct sockaddr_in to = bench_parse_address(argv[1]);
    unsigned n = bench_parse_count(argv[2]);
    FILE *file = fopen(argv[3], "r");
    if (!file || fread(request, 1, sizeof request - 1, file) == 0)
        bench_give_up("listen: %s: cannot be read", argv[3]);
    fclose(file);
    if (bench_raise_file_limit() < n + 32)
        bench_give_up("listen: the limit of open files is too low for %u streams", n);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    open_all(&to, request, n, epoll);
    printf("{\"held\":%u}\n", n);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        return 0;
    uint64_t begin = bench_now_ns();
    unsigned reached = wait_all(epoll, n, argv[4]);
    printf("{\"reached\":%u,\"ms\":%.1f}\n", reached, (double)(bench_now_ns() - begin) / 1e6);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin))
        ;
    return 0;
}
