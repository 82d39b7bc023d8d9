/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mailbox.c - an intrusive queue under a mutex, and the eventfd that wakes its loop. */
#include "net/loop/mailbox.h"

#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void wake(int fd)
{
    uint64_t one = 1;
    /* EAGAIN means that the counter is full, so the loop is awake already. */
    while (write(fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static void clear_wake(int fd)
{
    uint64_t count;
    while (read(fd, &count, sizeof count) < 0 && errno == EINTR)
        ;
}

cw_code cw_mailbox_init(cw_mailbox *m, cw_err *err)
{
    *m = (cw_mailbox){.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    if (m->fd < 0)
        return cw_fail_errno(err, errno, "eventfd");
    m->end = &m->first;
    pthread_mutex_init(&m->lock, NULL);
    return CW_OK;
}

void cw_mailbox_done(cw_mailbox *m)
{
    if (m->fd < 0)
        return;
    pthread_mutex_destroy(&m->lock);
    close(m->fd);
    *m = (cw_mailbox){.fd = -1};
}

/* All messages of the queue. */
static cw_message *take(cw_mailbox *m, bool is_closing)
{
    pthread_mutex_lock(&m->lock);
    cw_message *first = m->first;
    m->first = NULL;
    m->end = &m->first;
    m->is_closed |= is_closing;
    pthread_mutex_unlock(&m->lock);
    return first;
}

static void drop(cw_message *message)
{
    atomic_exchange(&message->is_waiting, false);
    if (message->drop)
        message->drop(message);
}

static void drop_all(cw_message *message)
{
    while (message) {
        cw_message *next = message->next;
        drop(message);
        message = next;
    }
}

void cw_mailbox_close(cw_mailbox *m)
{
    cw_message *rest = take(m, /* is_closing= */ true);
    cw_message *batch = m->batch;
    m->batch = NULL;
    drop_all(batch);
    drop_all(rest);
}

static void add(cw_mailbox *m, cw_message *message)
{
    message->next = NULL;
    pthread_mutex_lock(&m->lock);
    bool is_closed = m->is_closed;
    bool is_first = !m->first;
    if (!is_closed) {
        *m->end = message;
        m->end = &message->next;
    }
    pthread_mutex_unlock(&m->lock);
    if (is_closed)
        drop(message);
    else if (is_first)
        wake(m->fd);
}

void cw_mailbox_post(cw_mailbox *m, cw_message *message)
{
    bool was_waiting = atomic_exchange(&message->is_waiting, true);
    assert(!was_waiting);
    (void)was_waiting;
    add(m, message);
}

void cw_mailbox_notify(cw_mailbox *m, cw_message *message)
{
    if (!atomic_exchange(&message->is_waiting, true))
        add(m, message);
}

void cw_mailbox_deliver(cw_mailbox *m)
{
    /* Cleared before taking: a message posted meanwhile is in this batch or wakes the loop. */
    clear_wake(m->fd);
    m->batch = take(m, /* is_closing= */ false);
    while (m->batch) {
        cw_message *message = m->batch;
        m->batch = message->next;
        /* An exchange, not a store: fn sees what a notify that came too late has written. */
        atomic_exchange(&message->is_waiting, false);
        message->fn(message);
    }
}
