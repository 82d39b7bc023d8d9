/* SPDX-License-Identifier: GPL-2.0-or-later */
/* blackhole.h - a port of 127.0.0.1 that neither accepts nor refuses connections.
 *
 * Its queue is full, so a connection attempt stays pending until its timeout.
 */
#ifndef CW_TESTS_BLACKHOLE_H
#define CW_TESTS_BLACKHOLE_H

#include "support/test.h"

typedef struct blackhole {
    int fd;
    int fillers[4]; /* connections that fill the queue */
    uint16_t port;
} blackhole;

void blackhole_open(blackhole *h);
void blackhole_close(const blackhole *h);

#endif
