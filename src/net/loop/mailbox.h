/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mailbox.h - the bounded queue through which other threads talk to a loop.
 *
 * A message is a function and a pointer; the loop's thread calls the function.
 * The loop is woken by an eventfd of our own: uv_async in libuv 1.44 costs ten
 * times as much (docs/decisions/0003-eventfd-mailbox.md). Only the first message
 * of a batch pays for the wake-up.
 *
 * Ownership: the message's pointer belongs to the function that receives it; when posting fails it
 *            stays with the sender.
 * Threads:   cw_mailbox_post from any thread; everything else on the loop's own.
 * Limits:    the capacity given at init; CW_LIMIT beyond it.
 */
#ifndef CW_NET_LOOP_MAILBOX_H
#define CW_NET_LOOP_MAILBOX_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

typedef void (*cw_message_fn)(void *arg);

typedef struct cw_message {
    cw_message_fn fn;
    void *arg;
} cw_message;

typedef struct cw_mailbox {
    pthread_mutex_t lock;
    cw_message *ring;
    uint32_t capacity;
    uint32_t head;
    uint32_t n;
    int fd; /* eventfd; readable while messages wait */
} cw_mailbox;

CW_MUST_USE cw_code cw_mailbox_init(cw_mailbox *m, uint32_t capacity, cw_err *err);
/* Messages that were not delivered are dropped. */
void cw_mailbox_done(cw_mailbox *m);
CW_MUST_USE cw_code cw_mailbox_post(cw_mailbox *m, cw_message_fn fn, void *arg);
/* Call every message that waited when this was called, in order. */
void cw_mailbox_deliver(cw_mailbox *m);

#endif
