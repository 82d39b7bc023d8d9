/* SPDX-License-Identifier: GPL-2.0-or-later */
/* readers.c - a burst of clients that all ask for a large response and read it slowly.
 *
 *     readers ADDRESS CONNECTIONS FILE BYTES
 *
 * FILE holds the request, byte for byte. All clients connect and send it at once, from 127.0.0.2.
 * They read nothing for a second, and then BYTES bytes every 100 ms each. A client that has read
 * its response sends the request again; one that was disconnected connects again. The process
 * lowers its own priority, so that it does not compete with the server for cores. Prints
 * {"ready":true} when all have sent a request. When standard input ends, prints one object: the
 * responses that were read to their end, the bytes, and the connections that the server ended.
 *
 * Not here: chunked responses. A response needs a Content-Length.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"

#define MAX_REQUEST 65536u
#define MAX_BYTES 65536u
#define SOURCE 2u
/* A round has so many slices, and each client its turn in one of them. */
#define SLICES 10u
#define SLICE_NS 10000000u
#define PAUSE_NS 1000000000u
#define LOWEST 19
/* As over Ethernet, and a window that a slow client would have. With the 64 KB segments of the
 * loopback interface the kernel takes megabytes for each client. */
#define SEGMENT 1460
#define WINDOW 32768

typedef struct reader {
    int fd; /* -1: connects at its next turn */
    bool is_waiting;
    uint64_t left; /* of the body */
} reader;

typedef struct crowd {
    struct sockaddr_in to;
    reader *readers;
    unsigned n;
    char request[MAX_REQUEST + 1];
    size_t n_bytes;
    uint64_t responses, read, ended;
} crowd;

static void read_request(crowd *c, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, c->request, MAX_REQUEST);
    if (n <= 0)
        bench_give_up("readers: cannot use '%s'", path);
    close(fd);
}

static void leave(crowd *c, reader *r)
{
    c->ended++;
    close(r->fd);
    r->fd = -1;
}

static void ask(crowd *c, reader *r)
{
    r->is_waiting = true;
    if (!bench_send(r->fd, c->request))
        leave(c, r);
}

static void open_reader(crowd *c, reader *r)
{
    int segment = SEGMENT, window = WINDOW;
    r->fd = bench_socket(SOURCE);
    setsockopt(r->fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
    setsockopt(r->fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
    if (connect(r->fd, (const struct sockaddr *)&c->to, sizeof c->to) != 0)
        bench_give_up("readers: connect: %s", strerror(errno));
    fcntl(r->fd, F_SETFL, O_NONBLOCK);
    ask(c, r);
}

/* The first bytes of a response hold its whole head. Returns the bytes of the body among them. */
static size_t read_head(reader *r, char *text, size_t n)
{
    text[n] = '\0';
    const char *end = strstr(text, "\r\n\r\n");
    const char *length = strcasestr(text, "\r\ncontent-length:");
    if (strncmp(text, "HTTP/1.1 200", 12) != 0 || !end || !length || length > end)
        bench_give_up("readers: not a response with a length: %.300s", text);
    r->left = strtoull(length + 17, NULL, 10);
    r->is_waiting = false;
    return n - (size_t)(end + 4 - text);
}

static void take_turn(crowd *c, reader *r)
{
    static char bytes[MAX_BYTES + 1];
    if (r->fd < 0) {
        open_reader(c, r);
        return;
    }
    ssize_t n = recv(r->fd, bytes, c->n_bytes, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        leave(c, r);
        return;
    }
    c->read += (uint64_t)n;
    size_t of_body = r->is_waiting ? read_head(r, bytes, (size_t)n) : (size_t)n;
    r->left -= of_body < r->left ? of_body : r->left;
    if (r->left > 0)
        return;
    c->responses++;
    ask(c, r);
}

/* False when standard input has ended. */
static bool wait_until(uint64_t end)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    uint64_t now = bench_now_ns();
    return poll(&input, 1, now < end ? (int)((end - now) / 1000000) : 0) == 0;
}

static void run(crowd *c)
{
    for (unsigned i = 0; i < c->n; i++)
        open_reader(c, &c->readers[i]);
    printf("{\"ready\":true}\n");
    fflush(stdout);
    uint64_t end = bench_now_ns() + PAUSE_NS;
    for (unsigned slice = 0; wait_until(end); slice = (slice + 1) % SLICES) {
        for (unsigned i = slice; i < c->n; i += SLICES)
            take_turn(c, &c->readers[i]);
        end += SLICE_NS;
    }
}

int main(int argc, char **argv)
{
    static crowd c;
    if (argc != 5)
        bench_give_up("usage: readers ADDRESS CONNECTIONS FILE BYTES");
    c.to = bench_parse_address(argv[1]);
    c.n = bench_parse_count(argv[2]);
    read_request(&c, argv[3]);
    c.n_bytes = bench_parse_count(argv[4]);
    c.readers = calloc(c.n, sizeof *c.readers);
    if (!c.readers || c.n_bytes == 0 || c.n_bytes > MAX_BYTES)
        bench_give_up("readers: cannot begin");
    errno = 0;
    if (nice(LOWEST) == -1 && errno != 0)
        bench_give_up("readers: nice: %s", strerror(errno));
    bench_raise_file_limit();
    run(&c);
    printf("{\"responses\":%llu,\"bytes\":%llu,\"ended\":%llu}\n", (unsigned long long)c.responses,
           (unsigned long long)c.read, (unsigned long long)c.ended);
    free(c.readers);
    return 0;
}
