/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_hole.h - a port where connecting never ends. */
#ifndef CW_TESTS_FAKE_HOLE_H
#define CW_TESTS_FAKE_HOLE_H

#include "fake_server.h"

/* A port that takes no more connections and does not refuse them either: its queue is full. */
typedef struct fake_hole {
    int fd;
    int fillers[4];
    uint16_t port;
} fake_hole;

static inline void fake_hole_open(fake_hole *h)
{
    fake_server s = {0};
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    fake_listen(&s, NULL);
    assert_int_equal(listen(s.fd, 0), 0);
    h->fd = s.fd;
    h->port = s.port;
    in.sin_port = htons(s.port);
    for (size_t i = 0; i < 4; i++) {
        h->fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        connect(h->fillers[i], (struct sockaddr *)&in, sizeof in);
    }
    usleep(20000);
}

static inline void fake_hole_close(const fake_hole *h)
{
    for (size_t i = 0; i < 4; i++)
        close(h->fillers[i]);
    close(h->fd);
}

#endif
