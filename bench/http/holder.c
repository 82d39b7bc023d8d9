/* SPDX-License-Identifier: GPL-2.0-or-later */
/* holder.c - open many keep-alive connections, use each once, then hold them all idle.
 *
 *     holder ADDRESS COUNT [tls]
 *
 * Prints {"held":N,"asked":COUNT} when all are open and answered, then waits until standard input
 * ends, and prints {"closed":N}: how many of them the server did not keep. Holds fewer than asked
 * when the hard limit of open files is too low.
 */
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"

/* Connections per source address, far below the number of ephemeral ports. */
#define PER_SOURCE 5000u
#define FIRST_SOURCE 2u
/* Descriptors for anything but connections. */
#define SPARE_FILES 32u

static const char request[] = "GET /2k HTTP/1.1\r\nHost: localhost\r\n\r\n";

static ssize_t read_tls(void *from, char *p, size_t n)
{
    return SSL_read(from, p, (int)n);
}

/* The session is thrown away, the socket stays: nobody will use it again, and keeping ten thousand
 * sessions would only make this program large. */
static bool ask_tls(SSL_CTX *ctx, int fd)
{
    SSL *ssl = SSL_new(ctx);
    if (!ssl)
        return false;
    bool ok = SSL_set_fd(ssl, fd) == 1 && SSL_connect(ssl) == 1 &&
              SSL_write(ssl, request, sizeof request - 1) > 0 &&
              bench_read_answer(read_tls, ssl) == 200;
    SSL_free(ssl);
    return ok;
}

static int open_one(const struct sockaddr_in *to, unsigned i, SSL_CTX *ctx)
{
    int fd = bench_connect(to, FIRST_SOURCE + i / PER_SOURCE);
    bool ok = fd >= 0 &&
              (ctx ? ask_tls(ctx, fd)
                   : bench_send(fd, request) && bench_read_answer(bench_read_socket, &fd) == 200);
    if (!ok)
        bench_give_up("holder: connection %u was not answered", i);
    return fd;
}

static unsigned count_closed(const int *fds, unsigned n)
{
    unsigned closed = 0;
    char byte;
    for (unsigned i = 0; i < n; i++)
        closed += recv(fds[i], &byte, 1, MSG_DONTWAIT) == 0;
    return closed;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        bench_give_up("usage: holder ADDRESS COUNT [tls]");
    struct sockaddr_in to = bench_parse_address(argv[1]);
    unsigned asked = bench_parse_count(argv[2]);
    unsigned limit = bench_raise_file_limit();
    unsigned n = asked + SPARE_FILES <= limit ? asked : limit - SPARE_FILES;
    SSL_CTX *ctx = NULL;
    if (argc > 3 && strcmp(argv[3], "tls") == 0) {
        ctx = SSL_CTX_new(TLS_client_method());
        if (!ctx)
            bench_give_up("holder: no TLS");
    }
    int *fds = calloc(n + 1, sizeof *fds);
    if (!fds)
        bench_give_up("holder: out of memory");
    for (unsigned i = 0; i < n; i++)
        fds[i] = open_one(&to, i, ctx);
    printf("{\"held\":%u,\"asked\":%u}\n", n, asked);
    fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    printf("{\"closed\":%u}\n", count_closed(fds, n));
    free(fds);
    SSL_CTX_free(ctx);
    return 0;
}
