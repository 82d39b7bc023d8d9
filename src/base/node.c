/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node.c - the identity of this process. */
#include "base/node.h"

#include <pthread.h>
#include <string.h>

#include "base/hex.h"
#include "base/random.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char text[CW_NODE_TEXT];

/* The id names a process, and proves nothing: a fast generator is enough. */
static void draw(void)
{
    unsigned char id[(CW_NODE_TEXT - 1) / 2];
    uint64_t number = cw_random_u64();
    memcpy(id, &number, sizeof id);
    cw_hex_write(text, id, sizeof id);
}

const char *cw_node_text(void)
{
    pthread_once(&once, draw);
    return text;
}
