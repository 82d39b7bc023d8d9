/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loop.c - one libuv loop: messages, deadlines, deferred calls, heap of its thread. */
#include "net/loop/loop.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "metrics/metrics.h"

/* A block is smaller than what malloc maps by itself. */
#define HEAP_BLOCK (64 * 1024)
#define HEAP_BLOCKS 32

/* ---- messages ---- */

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

static cw_code mailbox_init(cw_mailbox *m, cw_err *err)
{
    *m = (cw_mailbox){.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    if (m->fd < 0)
        return cw_fail_errno(err, errno, "eventfd");
    m->end = &m->first;
    pthread_mutex_init(&m->lock, NULL);
    return CW_OK;
}

static void mailbox_done(cw_mailbox *m)
{
    if (m->fd < 0)
        return;
    pthread_mutex_destroy(&m->lock);
    close(m->fd);
    *m = (cw_mailbox){.fd = -1};
}

/* All messages of the queue. */
static cw_message *take_all(cw_mailbox *m, bool is_closing)
{
    pthread_mutex_lock(&m->lock);
    cw_message *first = m->first;
    m->first = NULL;
    m->end = &m->first;
    m->n_waiting = 0;
    m->is_closed |= is_closing;
    pthread_mutex_unlock(&m->lock);
    return first;
}

static void drop_message(cw_message *message)
{
    atomic_exchange(&message->is_waiting, false);
    if (message->drop)
        message->drop(message);
}

static void drop_all(cw_message *message)
{
    while (message) {
        cw_message *next = message->next;
        drop_message(message);
        message = next;
    }
}

/* Drop the messages that wait, and every later one. */
static void mailbox_close(cw_mailbox *m)
{
    cw_message *rest = take_all(m, /* is_closing= */ true);
    cw_message *batch = m->batch;
    m->batch = NULL;
    drop_all(batch);
    drop_all(rest);
}

static void add_message(cw_mailbox *m, cw_message *message)
{
    message->next = NULL;
    pthread_mutex_lock(&m->lock);
    bool is_closed = m->is_closed;
    bool is_first = !m->first;
    if (!is_closed) {
        *m->end = message;
        m->end = &message->next;
        m->n_waiting++;
    }
    pthread_mutex_unlock(&m->lock);
    if (is_closed) {
        drop_message(message);
        return;
    }
    if (is_first)
        wake(m->fd);
}

static void mailbox_post(cw_mailbox *m, cw_message *message)
{
    bool was_waiting = atomic_exchange(&message->is_waiting, true);
    assert(!was_waiting);
    (void)was_waiting;
    add_message(m, message);
}

static void mailbox_notify(cw_mailbox *m, cw_message *message)
{
    if (!atomic_exchange(&message->is_waiting, true))
        add_message(m, message);
}

/* Call every message that waits, in order. Messages posted meanwhile wait for the next call. */
static void mailbox_deliver(cw_mailbox *m)
{
    /* Cleared before taking: a message posted meanwhile is in this batch or wakes the loop. */
    clear_wake(m->fd);
    m->batch = take_all(m, /* is_closing= */ false);
    while (m->batch) {
        cw_message *message = m->batch;
        m->batch = message->next;
        /* An exchange, not a store: fn sees what a notify that came too late has written. */
        atomic_exchange(&message->is_waiting, false);
        message->fn(message);
    }
}

/* ---- deadlines ---- */

static cw_deadline *deadline_of(cw_list *node)
{
    return CW_CONTAINER(node, cw_deadline, node);
}

void cw_deadline_list_init(cw_deadline_list *list, uint64_t ms, void (*on_expired)(cw_deadline *))
{
    *list = (cw_deadline_list){.ms = ms, .on_expired = on_expired};
    cw_list_init(&list->waiting);
}

/* Change the duration, also for the entries that wait. */
static void list_set_ms(cw_deadline_list *list, uint64_t ms, uint64_t now)
{
    list->ms = ms;
    /* The entries stay in order, and those that are set from now on belong behind them. */
    CW_LIST_EACH (node, &list->waiting) {
        if (deadline_of(node)->at > now + ms)
            deadline_of(node)->at = now + ms;
    }
}

/* The entry that expires first, or NULL. */
static const cw_deadline *list_first(const cw_deadline_list *list)
{
    return cw_list_is_empty(&list->waiting) ? NULL : deadline_of(list->waiting.next);
}

void cw_deadline_clear(cw_deadline *d)
{
    cw_list_remove(&d->node);
    d->list = NULL;
}

/* (Re)start `d` on `list`, from `now`. */
static void deadline_set(cw_deadline *d, cw_deadline_list *list, uint64_t now)
{
    cw_list_remove(&d->node);
    d->at = now + list->ms;
    d->list = list;
    cw_list_add(&list->waiting, &d->node);
}

/* Expire the entries that are due. The list itself may end with the last entry that expires. */
static void list_run(cw_deadline_list *list, uint64_t now)
{
    /* Entries that are due get a list of their own: one that is set again while others expire waits
     * for the next run, even with a duration of 0. */
    cw_list due, *end = list->waiting.next;
    while (end != &list->waiting && deadline_of(end)->at <= now)
        end = end->next;
    cw_list_init(&due);
    cw_list_move(&list->waiting, end, &due);
    void (*on_expired)(cw_deadline *) = list->on_expired;
    for (cw_list *node; (node = cw_list_take_first(&due));) {
        deadline_of(node)->list = NULL;
        on_expired(deadline_of(node));
    }
}

/* ---- events of the loop ---- */

static void on_mail(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    cw_loop *loop = poll->data;
    mailbox_deliver(&loop->mail);
}

static void on_timer(uv_timer_t *timer);

static void arm_timer(cw_loop *loop, uint64_t at)
{
    loop->timer_at = at;
    if (at == UINT64_MAX) {
        uv_timer_stop(&loop->timer);
        return;
    }
    uint64_t now = uv_now(&loop->uv);
    uv_timer_start(&loop->timer, on_timer, at > now ? at - now : 0, 0);
}

/* Run deferred calls until none is left. */
static void run_deferred(cw_list *list)
{
    for (cw_list *node; (node = cw_list_take_first(list));) {
        cw_deferred *later = CW_CONTAINER(node, cw_deferred, node);
        later->fn(later);
    }
}

static void on_again(uv_idle_t *again)
{
    cw_loop *loop = again->data;
    uv_idle_stop(again);
    if (loop->timer_at <= uv_now(&loop->uv))
        arm_timer(loop, loop->timer_at);
    /* Calls that are deferred again belong to the next turn: this turn's have a list of their
     * own. */
    cw_list now;
    cw_list_init(&now);
    cw_list_move(&loop->next, &loop->next, &now);
    run_deferred(&now);
}

static void on_timer(uv_timer_t *timer)
{
    cw_loop *loop = timer->data;
    uint64_t now = uv_now(&loop->uv);
    uint64_t next = UINT64_MAX;
    /* Deadlines that the callbacks set must not arm the timer: it is armed once, below. */
    loop->timer_at = 0;
    /* A callback may take back any list: cw_loop_unwatch moves `walked` on. */
    for (cw_deadline_list *list = loop->lists; list; list = loop->walked) {
        loop->walked = list->next_list;
        list_run(list, now);
    }
    for (const cw_deadline_list *list = loop->lists; list; list = list->next_list) {
        const cw_deadline *first = list_first(list);
        if (first && first->at < next)
            next = first->at;
    }
    if (uv_is_closing((uv_handle_t *)timer))
        return;
    if (next > now) {
        arm_timer(loop, next);
        return;
    }
    /* Started here, a timer that is due at once would run again before any socket is looked at: not
     * every libuv makes it wait. So it is started when all timers have had their turn. */
    loop->timer_at = next;
    uv_idle_start(&loop->again, on_again);
}

/* From the end of the wait, of which libuv keeps the time, to now. The coarse clock costs a fifth
 * of the precise one, and lags by a few milliseconds at most. Nearly every turn ends within its
 * millisecond: those are counted here, and a scrape adds them to the histogram. */
static void observe_turn(cw_loop *loop)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now))
        return;
    uint64_t ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    uint64_t began = uv_now(&loop->uv);
    if (CW_UNLIKELY(ms > began))
        cw_metrics_observe(CW_METRIC_LOOP_TURN, loop->label, 0, 0, (ms - began) * 1000000, NULL);
    else
        atomic_store_explicit(&loop->short_turns,
                              atomic_load_explicit(&loop->short_turns, memory_order_relaxed) + 1,
                              memory_order_relaxed);
}

static void before_wait(uv_prepare_t *prepare)
{
    cw_loop *loop = prepare->data;
    loop->turns++;
    run_deferred(&loop->later);
    observe_turn(loop);
}

/* libuv has written zeros to all of the array, and most of it will never be anything else: such
 * pages go back to the kernel, which gives zeros for them when they are touched again. */
static void release_zeros(uv_loop_t *uv)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *p = (char *)uv->watchers + page - 1;
    p -= (uintptr_t)p % page;
    const char *end = (const char *)(uv->watchers + uv->nwatchers);
    for (; p + page <= end; p += page) {
        /* A page is zeros when its first byte is and each byte is like the one before it. */
        if (p[0] == 0 && memcmp(p, p + 1, page - 1) == 0)
            (void)madvise(p, page, MADV_DONTNEED);
    }
}

/* libuv keeps an array indexed by descriptor and aborts when it cannot grow it; grown here, once,
 * it never has to while requests are served. */
static cw_code grow_watchers(cw_loop *loop, int max_fd, cw_err *err)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)max_fd >= limit.rlim_cur)
        max_fd = (int)limit.rlim_cur - 1;
    int fd = fcntl(loop->mail.fd, F_DUPFD_CLOEXEC, max_fd);
    if (fd < 0)
        return CW_OK; /* no such high descriptor can come up later either */
    uv_poll_t poll;
    int rc = uv_poll_init(&loop->uv, &poll, fd);
    if (rc == 0) {
        uv_poll_start(&poll, UV_READABLE, on_mail);
        uv_close((uv_handle_t *)&poll, NULL);
        uv_run(&loop->uv, UV_RUN_NOWAIT);
        release_zeros(&loop->uv);
    }
    close(fd);
    return rc ? cw_fail(err, CW_IO, "event loop: %s", uv_strerror(rc)) : CW_OK;
}

static cw_code init_handles(cw_loop *loop, int max_fd, cw_err *err)
{
    cw_code rc = grow_watchers(loop, max_fd, err);
    if (rc)
        return rc;
    uv_timer_init(&loop->uv, &loop->timer);
    loop->timer.data = loop;
    uv_idle_init(&loop->uv, &loop->again);
    loop->again.data = loop;
    uv_prepare_init(&loop->uv, &loop->before_wait);
    loop->before_wait.data = loop;
    uv_prepare_start(&loop->before_wait, before_wait);
    int status = uv_poll_init(&loop->uv, &loop->mail_poll, loop->mail.fd);
    if (status)
        return cw_fail(err, CW_IO, "event loop: %s", uv_strerror(status));
    loop->mail_poll.data = loop;
    uv_poll_start(&loop->mail_poll, UV_READABLE, on_mail);
    return CW_OK;
}

/* A heap that grows needs the lock of the address space, which other threads may hold for 50 ms:
 * hashing a password maps and fills 64 MB. So the heap of a loop's thread is grown at its start.
 * Returns its last block: while that is in use, the heap does not shrink. Pages that are not
 * touched cost no memory. */
static void *grow_heap(void)
{
    void *blocks[HEAP_BLOCKS];
    for (size_t i = 0; i < HEAP_BLOCKS; i++)
        blocks[i] = malloc(HEAP_BLOCK);
    for (size_t i = 0; i < HEAP_BLOCKS - 1; i++)
        free(blocks[i]);
    return blocks[HEAP_BLOCKS - 1];
}

static void *thread_main(void *arg)
{
    cw_loop *loop = arg;
    void *last = grow_heap();
    uv_sem_post(&loop->is_started);
    cw_loop_run(loop);
    free(last);
    return NULL;
}

/* ---- the loop ---- */

cw_code cw_loop_init(cw_loop *loop, int max_fd, cw_err *err)
{
    *loop = (cw_loop){.timer_at = UINT64_MAX, .date_second = -1};
    cw_list_init(&loop->hooks);
    cw_list_init(&loop->later);
    cw_list_init(&loop->next);
    loop->scratch = malloc(CW_LOOP_SCRATCH);
    if (!loop->scratch)
        return cw_fail_nomem(err);
    cw_code rc = mailbox_init(&loop->mail, err);
    if (rc) {
        free(loop->scratch);
        return rc;
    }
    int status = uv_loop_init(&loop->uv);
    if (status) {
        mailbox_done(&loop->mail);
        free(loop->scratch);
        return cw_fail(err, CW_IO, "event loop: %s", uv_strerror(status));
    }
    rc = init_handles(loop, max_fd, err);
    if (rc) {
        cw_loop_end(loop);
        cw_loop_run(loop);
        cw_loop_done(loop);
    }
    return rc;
}

void cw_loop_done(cw_loop *loop)
{
    uv_loop_close(&loop->uv);
    mailbox_done(&loop->mail);
    free(loop->scratch);
    loop->scratch = NULL;
}

void cw_loop_run(cw_loop *loop)
{
    uv_run(&loop->uv, UV_RUN_DEFAULT);
}

cw_code cw_loop_start(cw_loop *loop, cw_err *err)
{
    if (uv_sem_init(&loop->is_started, 0))
        return cw_fail(err, CW_IO, "start a loop thread: no semaphore");
    loop->started_ns = cw_clock_ns();
    int errnum = cw_thread_start(&loop->thread, thread_main, loop);
    if (!errnum)
        uv_sem_wait(&loop->is_started);
    uv_sem_destroy(&loop->is_started);
    return errnum ? cw_fail_errno(err, errnum, "start a loop thread") : CW_OK;
}

static void close_handle(uv_handle_t *handle)
{
    if (handle->loop && !uv_is_closing(handle))
        uv_close(handle, NULL);
}

void cw_loop_end(cw_loop *loop)
{
    /* First: the owners of messages may free them in their hooks. */
    mailbox_close(&loop->mail);
    for (cw_list *node; (node = cw_list_take_first(&loop->hooks));) {
        cw_loop_hook *hook = CW_CONTAINER(node, cw_loop_hook, node);
        hook->on_end(hook);
    }
    /* Nothing is due any more, and the owners of lists may go before the loop does. */
    loop->lists = loop->walked = NULL;
    close_handle((uv_handle_t *)&loop->before_wait);
    close_handle((uv_handle_t *)&loop->timer);
    close_handle((uv_handle_t *)&loop->again);
    close_handle((uv_handle_t *)&loop->mail_poll);
}

void cw_loop_drop_messages(cw_loop *loop)
{
    mailbox_close(&loop->mail);
}

void cw_loop_post(cw_loop *loop, cw_message *message)
{
    mailbox_post(&loop->mail, message);
}

void cw_loop_notify(cw_loop *loop, cw_message *message)
{
    mailbox_notify(&loop->mail, message);
}

void cw_loop_watch(cw_loop *loop, cw_deadline_list *list)
{
    list->next_list = loop->lists;
    loop->lists = list;
}

void cw_loop_unwatch(cw_loop *loop, cw_deadline_list *list)
{
    assert(cw_list_is_empty(&list->waiting));
    if (loop->walked == list)
        loop->walked = list->next_list;
    for (cw_deadline_list **at = &loop->lists; *at; at = &(*at)->next_list) {
        if (*at == list) {
            *at = list->next_list;
            return;
        }
    }
}

void cw_loop_add_hook(cw_loop *loop, cw_loop_hook *hook)
{
    cw_list_add(&loop->hooks, &hook->node);
}

void cw_loop_remove_hook(cw_loop_hook *hook)
{
    cw_list_remove(&hook->node);
}

void cw_loop_defer(cw_loop *loop, cw_deferred *later)
{
    if (!cw_loop_is_deferred(later))
        cw_list_add(&loop->later, &later->node);
}

void cw_loop_defer_next(cw_loop *loop, cw_deferred *later)
{
    if (!cw_loop_is_deferred(later))
        cw_list_add(&loop->next, &later->node);
    if (!uv_is_closing((uv_handle_t *)&loop->again))
        uv_idle_start(&loop->again, on_again);
}

void cw_loop_cancel_deferred(cw_deferred *later)
{
    cw_list_remove(&later->node);
}

void cw_loop_set_duration(cw_loop *loop, cw_deadline_list *list, uint64_t ms)
{
    list_set_ms(list, ms, uv_now(&loop->uv));
    const cw_deadline *first = list_first(list);
    if (first && first->at < loop->timer_at)
        arm_timer(loop, first->at);
}

void cw_loop_set_deadline(cw_loop *loop, cw_deadline *d, cw_deadline_list *list)
{
    deadline_set(d, list, uv_now(&loop->uv));
    if (CW_UNLIKELY(d->at < loop->timer_at))
        arm_timer(loop, d->at);
}

static uint64_t idle_ns(const cw_loop *loop, uint64_t now)
{
    clockid_t clock;
    struct timespec used;
    if (pthread_getcpuclockid(loop->thread, &clock) || clock_gettime(clock, &used))
        return 0;
    uint64_t busy = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
    uint64_t all = now - loop->started_ns;
    return all > busy ? all - busy : 0;
}

void cw_loop_set_index(cw_loop *loop, uint32_t index)
{
    loop->index = index;
    loop->label = index + 1; /* 0 is the main loop's */
}

void cw_loop_set_metrics(cw_loop *loop, uint64_t now)
{
    pthread_mutex_lock(&loop->mail.lock);
    uint32_t n_waiting = loop->mail.n_waiting;
    pthread_mutex_unlock(&loop->mail.lock);
    cw_metrics_set(CW_METRIC_MAILBOX, loop->label, 0, 0, n_waiting);
    cw_metrics_set(CW_METRIC_LOOP_TURN, loop->label, 0, 0,
                   (int64_t)atomic_load_explicit(&loop->short_turns, memory_order_relaxed));
    if (loop->label)
        cw_metrics_set(CW_METRIC_LOOP_IDLE, loop->label, 0, 0, (int64_t)idle_ns(loop, now));
}

uint64_t cw_loop_now(const cw_loop *loop)
{
    return uv_now(&loop->uv);
}

const char *cw_loop_date(cw_loop *loop)
{
    int64_t now = cw_clock_wall_ms();
    if (now / 1000 != loop->date_second) {
        loop->date_second = now / 1000;
        cw_clock_format_http(now, loop->date);
    }
    return loop->date;
}
