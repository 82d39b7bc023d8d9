/* SPDX-License-Identifier: GPL-2.0-or-later */
/* blackhole.c - a listening socket whose queue is full. */
#include "support/blackhole.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

void blackhole_open(blackhole *h)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof in;
    h->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(h->fd >= 0);
    assert_int_equal(bind(h->fd, (struct sockaddr *)&in, sizeof in), 0);
    assert_int_equal(getsockname(h->fd, (struct sockaddr *)&in, &n), 0);
    assert_int_equal(listen(h->fd, 0), 0);
    h->port = ntohs(in.sin_port);
    for (size_t i = 0; i < 4; i++) {
        h->fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        connect(h->fillers[i], (struct sockaddr *)&in, sizeof in);
    }
    usleep(20000);
}

void blackhole_close(const blackhole *h)
{
    for (size_t i = 0; i < 4; i++)
        close(h->fillers[i]);
    close(h->fd);
}
