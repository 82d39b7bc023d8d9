/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/loop/mailbox.h"

#include <errno.h>
#include <stdlib.h>
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

static bool take(cw_mailbox *m, cw_message *ret)
{
    pthread_mutex_lock(&m->lock);
    bool any = m->n > 0;
    if (any) {
        *ret = m->ring[m->head];
        m->head = (m->head + 1) % m->capacity;
        m->n--;
    }
    pthread_mutex_unlock(&m->lock);
    return any;
}

cw_code cw_mailbox_init(cw_mailbox *m, uint32_t capacity, cw_err *err)
{
    *m = (cw_mailbox){.capacity = capacity, .fd = -1};
    m->ring = calloc(capacity, sizeof *m->ring);
    if (!m->ring)
        return cw_fail_nomem(err);
    m->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (m->fd < 0) {
        int errnum = errno;
        free(m->ring);
        m->ring = NULL;
        return cw_fail_errno(err, errnum, "eventfd");
    }
    pthread_mutex_init(&m->lock, NULL);
    return CW_OK;
}

void cw_mailbox_done(cw_mailbox *m)
{
    if (!m->ring)
        return;
    pthread_mutex_destroy(&m->lock);
    close(m->fd);
    free(m->ring);
    *m = (cw_mailbox){.fd = -1};
}

cw_code cw_mailbox_post(cw_mailbox *m, cw_message_fn fn, void *arg)
{
    pthread_mutex_lock(&m->lock);
    if (m->n == m->capacity) {
        pthread_mutex_unlock(&m->lock);
        return CW_LIMIT;
    }
    m->ring[(m->head + m->n) % m->capacity] = (cw_message){fn, arg};
    bool first = m->n++ == 0;
    pthread_mutex_unlock(&m->lock);
    if (first)
        wake(m->fd);
    return CW_OK;
}

void cw_mailbox_deliver(cw_mailbox *m)
{
    /* Cleared before taking: a message posted meanwhile finds n == 0 or is taken below. */
    clear_wake(m->fd);
    pthread_mutex_lock(&m->lock);
    uint32_t budget = m->n;
    pthread_mutex_unlock(&m->lock);
    cw_message msg;
    while (budget-- && take(m, &msg))
        msg.fn(msg.arg);
    pthread_mutex_lock(&m->lock);
    bool more = m->n > 0;
    pthread_mutex_unlock(&m->lock);
    if (more)
        wake(m->fd);
}
