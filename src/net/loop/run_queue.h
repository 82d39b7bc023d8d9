/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run_queue.h - connections of one loop take turns, by network or caller.
 *
 * Most turns of a loop have little to do: input is read, and a response is continued, when the poll
 * announces it. After a turn has taken CW_RUN_SLICE_NS, connections with something to do are queued. The
 * next turns serve the queue, one group after the other, one slice at a time, and poll in between. So a
 * client waits for at most a slice and one read or write of each other group, however many connections
 * one group has.
 *
 * A step that takes long (a large body that is parsed and validated, or a large result of a service) is
 * not cut short. While others use the loop too, its group pauses afterwards for three times as long. So no
 * group has more than a quarter of a loop that others need. If the step was wasted, because it ended in an
 * error, large bodies and results of the group pause for thirty times as long.
 *
 *     static void on_poll(...)
 *         if (!cw_run_queue_run(loop->run_queue, &c->runner))
 *             stop to poll: run() is called when it is the turn of this connection
 *
 * Ownership: runners are embedded in their owners, which remove them before they end.
 * Threads:   that of the loop.
 * Limits:    the number of connections.
 */
#ifndef CW_NET_LOOP_RUN_QUEUE_H
#define CW_NET_LOOP_RUN_QUEUE_H

#include "base/fair.h"
#include "net/loop/loop.h"

#define CW_RUN_SLICE_NS UINT64_C(300000)
#define CW_RUN_QUEUE_PAUSES 64u

typedef struct cw_runner cw_runner;
typedef struct cw_runner_ops {
    /* Do what there is to do. May remove the runner, or add it again; its memory stays until this returns. */
    void (*run)(cw_runner *runner);
    /* The groups of the runner, the widest first. Those of one that runs are asked for beforehand. */
    cw_fair_key (*key)(const cw_runner *runner);
    /* Whether its next step may take long. */
    bool (*is_large)(const cw_runner *runner);
} cw_runner_ops;

struct cw_runner {
    cw_fair_item item;
    const cw_runner_ops *ops;
};

typedef struct cw_run_queue {
    cw_loop *loop;
    cw_fair_queue queue;
    cw_deferred run;         /* deferred while the queue is not empty */
    cw_deadline wake;        /* set while all of the queue is paused */
    cw_deadline_list wakes;  /* of wake */
    uint32_t turn;           /* of the loop, in which slice_began */
    uint64_t slice_began_ns; /* when this turn served its first runner */
    uint64_t contested_ns;   /* when two groups last followed each other */
    uint64_t answered;       /* owner of the latest answer (client.h); 0: none yet */
    uint64_t measured_ns;    /* until then the processor time of each step is measured */
    uint64_t paused_ns;      /* no pause is longer than until then */
    struct {
        uint64_t group, until_ns, large_until_ns;
    } pauses[CW_RUN_QUEUE_PAUSES]; /* by the widest group */
    bool is_wasted;                /* the step that runs, or ran last */
} cw_run_queue;

/* The queue becomes that of the loop (cw_loop.run_queue). */
void cw_run_queue_init(cw_run_queue *q, cw_loop *loop);
/* After the loop has ended. */
void cw_run_queue_done(cw_run_queue *q);

/* Call run() now and return true, or queue the runner and return false. Without memory for the queue, it
 * runs at once. */
bool cw_run_queue_run(cw_run_queue *q, cw_runner *runner);
/* Queue the runner, unless it is queued. CW_NOMEM. */
CW_MUST_USE cw_code cw_run_queue_add(cw_run_queue *q, cw_runner *runner);
void cw_run_queue_remove(cw_run_queue *q, cw_runner *runner);
CW_INLINE bool cw_run_queue_has(const cw_runner *runner)
{
    return runner->item.group != NULL;
}
/* The step that runs has done expensive work in vain. */
CW_INLINE void cw_run_queue_set_wasted(cw_run_queue *q)
{
    q->is_wasted = true;
}
/* Two groups have followed each other: long steps lead to pauses for a while. `now` in ns. */
CW_INLINE void cw_run_queue_set_contested(cw_run_queue *q, uint64_t now)
{
    q->contested_ns = now;
}

#endif
