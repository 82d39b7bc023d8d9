/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mailbox.h - the queue through which other threads send messages to a loop.
 *
 * A message is a node embedded in its owner, so posting needs no memory and cannot fail. The loop's
 * thread calls the message's function. An eventfd wakes the loop: uv_async in libuv 1.44 costs ten
 * times as much (docs/decisions/0003-eventfd-mailbox.md). Only the first message of a batch writes
 * to it.
 *
 *     call->message.fn = on_call;
 *     cw_loop_post(loop, &call->message);
 *
 *     static void on_call(cw_message *message)
 *         struct call *call = CW_CONTAINER(message, struct call, message);
 *
 * Ownership: the node stays with its owner, which must not free it while it waits. It waits from
 *            post until fn or drop is called. Both functions may free it or post it again.
 * Threads:   post and notify from any thread; init, deliver and done on the loop's thread. Messages
 *            of one thread are delivered in the order in which it posted them.
 * Limits:    none here; the number of nodes is the ceiling.
 */
#ifndef CW_NET_LOOP_MAILBOX_H
#define CW_NET_LOOP_MAILBOX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

typedef struct cw_message cw_message;
typedef void (*cw_message_fn)(cw_message *message);

/* All zero, except for the functions, before the first post. */
struct cw_message {
    cw_message_fn fn;
    cw_message_fn drop; /* instead of fn when the loop ends first, on any thread; may be NULL */
    cw_message *next;   /* the mailbox's from here on */
    atomic_bool is_waiting;
};

typedef struct cw_mailbox {
    pthread_mutex_t lock; /* of first, end and is_closed */
    cw_message *first, **end;
    bool is_closed;
    cw_message *batch; /* the loop's: taken from the queue and not yet delivered */
    int fd;            /* eventfd; readable while messages wait */
} cw_mailbox;

CW_MUST_USE cw_code cw_mailbox_init(cw_mailbox *m, cw_err *err);
/* Drop the messages that wait, and every later one. */
void cw_mailbox_close(cw_mailbox *m);
/* After close; no thread may post any more. */
void cw_mailbox_done(cw_mailbox *m);
/* Post a message that does not wait yet; posting one that waits is a bug and aborts. */
void cw_mailbox_post(cw_mailbox *m, cw_message *message);
/* Post a message unless it waits already. In both cases its function runs after this call, and sees
 * all that the calling thread wrote before. */
void cw_mailbox_notify(cw_mailbox *m, cw_message *message);
/* Call every message that waits, in order. Messages posted meanwhile wait for the next call. */
void cw_mailbox_deliver(cw_mailbox *m);

#endif
