/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

void bench_give_up(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

uint64_t bench_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void bench_sleep_until(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        continue;
}

unsigned bench_parse_count(const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (end == text || *end || n > 100000000u)
        bench_give_up("not a count: '%s'", text);
    return (unsigned)n;
}

struct sockaddr_in bench_parse_address(const char *text)
{
    char host[INET_ADDRSTRLEN];
    struct sockaddr_in sa = {.sin_family = AF_INET};
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : sizeof host;
    if (n >= sizeof host)
        bench_give_up("not an IPv4 address with a port: '%s'", text);
    memcpy(host, text, n);
    host[n] = '\0';
    sa.sin_port = htons((uint16_t)bench_parse_count(colon + 1));
    if (inet_pton(AF_INET, host, &sa.sin_addr) != 1)
        bench_give_up("not an IPv4 address with a port: '%s'", text);
    return sa;
}

unsigned bench_raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        bench_give_up("getrlimit: %s", strerror(errno));
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        bench_give_up("setrlimit: %s", strerror(errno));
    return limit.rlim_cur < 1000000 ? (unsigned)limit.rlim_cur : 1000000;
}

int bench_socket(unsigned source)
{
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        bench_give_up("socket: %s", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (source == BENCH_ANY_SOURCE)
        return fd;
    struct sockaddr_in from = {
        .sin_family = AF_INET,
        .sin_addr = {htonl(INADDR_LOOPBACK - 1 + source)},
    };
    /* The port is chosen at connect, when the whole pair of addresses is known. */
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)&from, sizeof from) != 0)
        bench_give_up("bind to 127.0.0.%u: %s", source, strerror(errno));
    return fd;
}

int bench_connect(const struct sockaddr_in *to, unsigned source)
{
    int fd = bench_socket(source);
    if (connect(fd, (const struct sockaddr *)to, sizeof *to) == 0)
        return fd;
    close(fd);
    return -1;
}

bool bench_send(int fd, const char *text)
{
    size_t n = strlen(text);
    return send(fd, text, n, MSG_NOSIGNAL) == (ssize_t)n;
}

ssize_t bench_read_socket(void *from, char *p, size_t n)
{
    return recv(*(int *)from, p, n, 0);
}

static size_t parse_length(const char *head)
{
    static const char name[] = "\r\ncontent-length:";
    const char *field = strcasestr(head, name);
    return field ? strtoul(field + sizeof name - 1, NULL, 10) : 0;
}

static bool skip(bench_read_fn read, void *from, size_t n)
{
    char buf[16384];
    while (n > 0) {
        ssize_t got = read(from, buf, n < sizeof buf ? n : sizeof buf);
        if (got <= 0)
            return false;
        n -= (size_t)got;
    }
    return true;
}

int bench_read_answer(bench_read_fn read, void *from)
{
    char buf[BENCH_MAX_HEAD + 1];
    size_t n = 0;
    const char *end = NULL;
    while (!end) {
        ssize_t got = read(from, buf + n, BENCH_MAX_HEAD - n);
        if (got <= 0)
            return -1;
        n += (size_t)got;
        buf[n] = '\0';
        end = strstr(buf, "\r\n\r\n");
    }
    if (n < 12 || memcmp(buf, "HTTP/1.", 7) != 0)
        return -1;
    size_t here = n - (size_t)(end + 4 - buf);
    size_t length = parse_length(buf);
    if (here > length || !skip(read, from, length - here))
        return -1;
    return (int)strtol(buf + 9, NULL, 10);
}
