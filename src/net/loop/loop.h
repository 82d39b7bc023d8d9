/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loop.h - one event loop and its thread.
 *
 * Wraps a libuv loop with the parts that every user of it needs: messages of other threads,
 * deadlines, the scratch buffer for reads, and the HTTP date, formatted once a second.
 *
 * Ownership: the caller of cw_loop_init calls cw_loop_done, after the loop has ended.
 * Threads:   cw_loop_post and cw_loop_notify from any thread, until cw_loop_done; all else on the
 *            loop's own thread (or before it starts).
 */
#ifndef CW_NET_LOOP_LOOP_H
#define CW_NET_LOOP_LOOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/list.h"

#define CW_LOOP_SCRATCH (64u * 1024u)

/* A message that other threads post to a loop. It is embedded in its owner, so posting needs no
 * memory and cannot fail. The loop's thread calls the message's function. All zero, except for the
 * functions, before the first post.
 *
 *     call->message.fn = on_call;
 *     cw_loop_post(loop, &call->message);
 *
 *     static void on_call(cw_message *message)
 *         struct call *call = CW_CONTAINER(message, struct call, message);
 *
 * Ownership: the node stays with its owner, which must not free it while it waits. It waits from
 *            post until fn or drop is called. Both functions may free it or post it again. */
typedef struct cw_message cw_message;
typedef void (*cw_message_fn)(cw_message *message);
struct cw_message {
    cw_message_fn fn;
    cw_message_fn drop; /* instead of fn when the loop ends first, on any thread; may be NULL */
    cw_message *next;   /* the mailbox's from here on */
    atomic_bool is_waiting;
};

/* An eventfd wakes the loop: uv_async in libuv 1.44 costs ten times as much
 * (docs/decisions/0003-eventfd-mailbox.md). Only the first message of a batch writes to it. */
typedef struct cw_mailbox {
    pthread_mutex_t lock; /* of first, end, n_waiting and is_closed */
    cw_message *first, **end;
    uint32_t n_waiting;
    bool is_closed;
    cw_message *batch; /* the loop's: taken from the queue and not yet delivered */
    int fd;            /* eventfd; readable while messages wait */
} cw_mailbox;

/* A time limit, embedded in its owner, which must clear it before it dies.
 *
 * All deadlines of one kind have the same duration, so a kind is a list in the order of expiry:
 * setting and clearing are a few pointer writes, and one timer per loop watches the heads of the
 * lists. (A timer per connection would cost a heap operation per request and 150 bytes per idle
 * connection.)
 *
 *     idle -> [conn 7, 10:00:05] -> [conn 3, 10:00:06] -> ...
 */
typedef struct cw_deadline_list cw_deadline_list;
typedef struct cw_deadline {
    cw_list node;
    cw_deadline_list *list; /* NULL: not set */
    uint64_t at;            /* ms of the loop's clock */
} cw_deadline;

struct cw_deadline_list {
    cw_list waiting; /* the first one expires first */
    uint64_t ms;
    void (*on_expired)(cw_deadline *d); /* the entry is cleared before the call */
    cw_deadline_list *next_list;        /* the loop's (loop.c) */
};

/* Called when the loop ends (cw_loop_end), on its thread: close what keeps it alive. Embedded in
 * its owner, which removes it when it closes earlier. */
typedef struct cw_loop_hook {
    cw_list node;
    void (*on_end)(struct cw_loop_hook *hook);
} cw_loop_hook;

/* Something to do at the end of this turn, before the loop waits again: sending together what
 * several callbacks queued. Embedded in its owner. */
typedef struct cw_deferred {
    cw_list node;
    void (*fn)(struct cw_deferred *later);
} cw_deferred;

typedef struct cw_loop {
    uv_loop_t uv;
    uv_poll_t mail_poll;
    uv_timer_t timer;
    uv_idle_t again; /* in the next turn: starts `timer` when it is due at once, runs `next` */
    uv_prepare_t before_wait;
    uint64_t timer_at; /* when `timer` fires; UINT64_MAX: not set */
    cw_mailbox mail;
    cw_deadline_list *lists;  /* all that are watched, through their next_list */
    cw_deadline_list *walked; /* the one that on_timer looks at next */
    cw_list hooks;
    cw_list later;                /* deferred to the end of this turn */
    cw_list next;                 /* deferred to the next turn */
    uint64_t recent_ns;           /* cw_loop_recent_ns */
    uint64_t started_ns;          /* of its thread */
    uint32_t turns;               /* counts the loop's turns */
    uint32_t index;               /* of this loop among its server's; 0 for the main thread's */
    bool is_stopping;             /* its server finishes what runs: do not wait for more */
    uint32_t label;               /* of this loop in the metrics */
    _Atomic uint64_t short_turns; /* turns of 0 ms, for the metrics */
    char *scratch;                /* CW_LOOP_SCRATCH bytes, free for use within one callback */
    struct cw_run_queue
        *run_queue; /* its connections take turns (run_queue.h); NULL: they do not */
    int64_t date_second;
    char date[CW_CLOCK_HTTP_LEN + 1];
    pthread_t thread;
    uv_sem_t is_started; /* the thread runs and has grown its heap */
} cw_loop;

/* Make a loop that can watch descriptors below `max_fd` without allocating. */
CW_MUST_USE cw_code cw_loop_init(cw_loop *loop, int max_fd, cw_err *err);
void cw_loop_done(cw_loop *loop);
/* Run on this thread until every handle but the loop's own is closed after cw_loop_end. */
void cw_loop_run(cw_loop *loop);
/* Run on a thread of its own, with all signals blocked; join with pthread_join(loop->thread). */
CW_MUST_USE cw_code cw_loop_start(cw_loop *loop, cw_err *err);
/* Close the loop's own handles, so that cw_loop_run returns when the last other one is closed.
 * Messages that wait are dropped, then the hooks are called. */
void cw_loop_end(cw_loop *loop);

/* Have the loop call the message's function. Cannot fail. Messages of one thread are delivered in
 * the order in which it posted them. Posting a message that waits is a bug and aborts. */
void cw_loop_post(cw_loop *loop, cw_message *message);
/* The same, unless the message waits already. In both cases its function runs after this call, and
 * sees all that the calling thread wrote before. */
void cw_loop_notify(cw_loop *loop, cw_message *message);
/* Drop the messages that wait, and every later one, as the end of the loop does. */
void cw_loop_drop_messages(cw_loop *loop);

void cw_deadline_list_init(cw_deadline_list *list, uint64_t ms, void (*on_expired)(cw_deadline *));
/* Let the loop watch a list, until the loop ends or the list is taken back (it must be empty). */
void cw_loop_watch(cw_loop *loop, cw_deadline_list *list);
void cw_loop_unwatch(cw_loop *loop, cw_deadline_list *list);
/* Have a hook called when the loop ends. Removing one that was not added is fine. */
void cw_loop_add_hook(cw_loop *loop, cw_loop_hook *hook);
void cw_loop_remove_hook(cw_loop_hook *hook);
/* Change the duration of a watched list. If it becomes shorter, entries that wait expire after the
 * new one at the latest. */
void cw_loop_set_duration(cw_loop *loop, cw_deadline_list *list, uint64_t ms);
/* (Re)start `d` on a watched list. */
void cw_loop_set_deadline(cw_loop *loop, cw_deadline *d, cw_deadline_list *list);
void cw_deadline_clear(cw_deadline *d);

/* Call later->fn once, at the end of this turn; asking twice is asking once. */
void cw_loop_defer(cw_loop *loop, cw_deferred *later);
/* The same in the next turn, before the loop looks at its descriptors; the loop does not wait. */
void cw_loop_defer_next(cw_loop *loop, cw_deferred *later);
void cw_loop_cancel_deferred(cw_deferred *later);
/* Whether it waits to be called. */
CW_INLINE bool cw_loop_is_deferred(const cw_deferred *later)
{
    return cw_list_is_in(&later->node);
}

/* Milliseconds of the monotonic clock at the start of this iteration. */
uint64_t cw_loop_now(const cw_loop *loop);
/* The last reading of the clock on this loop, in ns: what a request costs is measured with few
 * readings. Code that reads the clock for other reasons stores it with cw_loop_set_recent. */
CW_INLINE uint64_t cw_loop_recent_ns(const cw_loop *loop)
{
    return loop->recent_ns;
}

CW_INLINE uint64_t cw_loop_set_recent(cw_loop *loop, uint64_t ns)
{
    loop->recent_ns = ns;
    return ns;
}
/* Set the metrics of the loop that a scrape reads; `now` is the time in ns. Any thread, until the
 * loop is done or its thread is joined. */
void cw_loop_set_metrics(cw_loop *loop, uint64_t now);
/* Set the index of a loop of a server, before it starts. */
void cw_loop_set_index(cw_loop *loop, uint32_t index);
/* The current HTTP date, CW_CLOCK_HTTP_LEN characters. */
const char *cw_loop_date(cw_loop *loop);

#endif
