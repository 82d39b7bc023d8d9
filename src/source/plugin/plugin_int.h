/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_int.h - types and functions that the files of a plugin share.
 *
 *     plugin.c   the source; its schedulers, one per loop; reports of workers
 *     frames.c   requests and responses as bytes
 *     worker.c   one host process with its socket
 *     breaker.c  when to reject calls
 *     load.c     from a file to a source
 */
#ifndef CW_SOURCE_PLUGIN_PLUGIN_INT_H
#define CW_SOURCE_PLUGIN_PLUGIN_INT_H

#include <pthread.h>

#include "access/fair_key.h"
#include "net/process/child_output.h"
#include "net/stream/frame.h"
#include "source/breaker.h"
#include "source/plugin/plugin.h"

/* Maximum of quick calls that one worker has at a time, and of the time that they may take
 * together: the last one waits for the others. Fewer but larger batches mean fewer process
 * switches. */
#define CW_PLUGIN_DEPTH 32u
#define CW_PLUGIN_AHEAD_NS 8000000u
/* A method is quick if it was called so often, and no recent call took longer. */
#define CW_PLUGIN_QUICK_NS 1000000u
#define CW_PLUGIN_QUICK_CALLS 8u
/* After calls of two callers, one worker is withheld from a busy caller for this time. */
#define CW_PLUGIN_RESERVE_MS 600000u
#define CW_PLUGIN_CALLER_MAX 64u
/* Maximum of callers that are tried for a call that a worker can take, beside one per worker. */
#define CW_PLUGIN_MAX_CALLERS_TRIED 16u
/* From the end of a worker's socket to its exit: half of the 50 ms that a failed call may take. */
#define CW_PLUGIN_LINGER_MS 25u
/* Lines of output of all its workers that reach the log in a minute. */
#define CW_PLUGIN_LINES 100u

typedef struct cw_plugin cw_plugin;
typedef struct cw_plugin_scheduler cw_plugin_scheduler;
typedef struct cw_plugin_op cw_plugin_op;
typedef struct cw_worker cw_worker;

/* ---- breaker: the rule is in plugin.h ---- */

#define CW_WORKER_BREAKER_PLUGIN UINT32_MAX /* a death that no method is to blame for */

typedef struct cw_worker_breaker {
    pthread_mutex_t lock; /* taken while deaths count, never by an ordinary call */
    cw_breaker plugin;
    cw_breaker *methods;
    size_t n_methods;
    atomic_uint counting; /* breakers that are closed and have deaths */
    atomic_uint open;
} cw_worker_breaker;

/* `methods` is zeroed memory that outlives the breaker. */
void cw_worker_breaker_init(cw_worker_breaker *b, cw_breaker *methods, size_t n);
void cw_worker_breaker_done(cw_worker_breaker *b);
/* NULL: the call may begin. Else the paused part: "plugin" or "method". */
const char *cw_worker_breaker_refuses(cw_worker_breaker *b, uint32_t method, uint64_t now);
void cw_worker_breaker_on_death(cw_worker_breaker *b, uint32_t method, uint64_t now);
void cw_worker_breaker_on_success(cw_worker_breaker *b, uint32_t method);
/* Whether the plugin as a whole is paused. */
bool cw_worker_breaker_is_open(cw_worker_breaker *b);

/* ---- the plugin ---- */

struct cw_plugin {
    cw_source base;
    cw_plugin_opts opts;
    cw_arena arena; /* name, arguments, environment, description, methods */
    int file;       /* sealed memory */
    const char *const *argv, *const *env;
    const cw_str *heads;   /* per method: ,"method":"a.b","params": */
    cw_config *config;     /* a reference until its events are known; else NULL */
    cw_event_rule *events; /* that are published; their names are those of the plugin */
    size_t n_events;
    cw_worker_breaker breaker;
    cw_child_output_log output;  /* of its workers */
    cw_plugin_scheduler **parts; /* by loop; each touched by its loop only */
};

extern const cw_source_ops cw_plugin_source_ops;

/* ---- workers ---- */

typedef enum cw_worker_state {
    CW_WORKER_STARTING,
    CW_WORKER_READY,
    CW_WORKER_ENDING, /* its socket has ended, its exit is awaited */
    CW_WORKER_DEAD,
    CW_WORKER_CLOSED,
} cw_worker_state;

/* None of them is called by cw_worker_start; only on_closed after cw_worker_close. */
typedef struct cw_worker_ops {
    void (*on_ready)(cw_worker *w);
    /* It could not load the plugin: one problem a line, and the part of the description that can be
     * checked, or NULL. on_dead follows. */
    void (*on_failed)(cw_worker *w, cw_str problems, const cw_json *partial);
    void (*on_frame)(cw_worker *w, uint64_t id, cw_str body);
    /* It has ended, and w->detail has the reason. All that it sent before was handled. It is closed
     * afterwards. */
    void (*on_dead)(cw_worker *w);
    /* The memory may be freed. */
    void (*on_closed)(cw_worker *w);
} cw_worker_ops;

/* The time limits of a worker, shared by those of one owner. */
typedef struct cw_worker_timers {
    cw_deadline_list load, linger, leave;
} cw_worker_timers;

/* Calls and waiting calls, oldest first. */
struct cw_plugin_op {
    cw_plugin_op *prev, *next; /* in the ring of its worker, of part->again or of part->over */
    cw_fair_item place;        /* in part->waiting */
    uint64_t owner;            /* the widest group of its caller; 0: a quick call of the only one */
    cw_source_call *call;      /* NULL: cancelled, its response is still to come */
    cw_worker *worker;         /* NULL: not sent */
    uint64_t id;               /* on the worker's socket */
    uint64_t began_ns;         /* when it was first in line */
    uint32_t method;           /* index */
    bool is_quick;
    bool is_over; /* in part->over: its end is to be reported */
    cw_fault fault;
    const char *message;
};

struct cw_worker {
    cw_worker *prev, *next; /* the owner's list */
    cw_plugin *plugin;
    cw_loop *loop;
    cw_worker_timers *timers;
    const cw_worker_ops *ops;
    void *owner;
    cw_worker_state state;
    cw_spawn spawn;
    int host_fd;
    int stdio[3]; /* its standard descriptors, until it has them */
    cw_child_output *output;
    cw_spawner *spawner; /* with has_child: a reference */
    cw_frames frames;
    cw_child child;
    bool is_spawning, has_frames, has_child;
    bool refused; /* the process could not be started */
    bool is_late; /* it did not load in time */
    bool was_ready;
    bool ran_out; /* the system killed it, as it does when memory runs out */
    bool killed;  /* by Causeway, because a cancelled call did not end */
    cw_deadline wait;
    char detail[256];
    /* Used by the scheduler. */
    cw_deadline grace, idle;
    cw_plugin_op sent; /* ring, oldest first: the first one runs */
    uint32_t n_sent, n_slow;
    uint64_t last_id;
};

void cw_worker_timers_init(cw_worker_timers *t, cw_loop *loop, const cw_plugin_opts *opts);
void cw_worker_timers_done(cw_worker_timers *t, cw_loop *loop);
/* `w` is zeroed memory. On failure nothing is left open. */
CW_MUST_USE cw_code cw_worker_start(cw_worker *w, cw_plugin *p, cw_loop *loop,
                                    cw_worker_timers *timers, const cw_worker_ops *ops,
                                    cw_err *err);
/* It violated the protocol: on_dead is called, and it is closed. */
void cw_worker_fail(cw_worker *w, const char *why);
/* End it: close its socket, and kill it if it does not exit; with `now` immediately. May be called
 * again with `now`. */
void cw_worker_close(cw_worker *w, bool now);

/* ---- a loop's part ---- */

typedef struct cw_plugin_stat {
    uint32_t calls;
    uint32_t slowest_ns; /* decays */
} cw_plugin_stat;

struct cw_plugin_scheduler {
    cw_plugin *plugin; /* a reference */
    cw_loop *loop;
    cw_loop_hook hook;
    cw_worker workers; /* ring, all states */
    uint32_t n_live;   /* not dead */
    uint32_t n_starting;
    cw_fair_queue waiting;
    cw_plugin_op again; /* ring: calls of a worker that died, which come before those that wait */
    cw_plugin_op over;  /* ring: failed, to be reported */
    cw_deferred over_later;
    cw_plugin_op *pool;    /* free ones, through next */
    uint64_t others_until; /* ms of the loop; 0: all calls were of one caller so far */
    uint32_t n_last;       /* bytes of `last`, the caller of the last call; 0: none */
    char last[CW_PLUGIN_CALLER_MAX];
    uint32_t n_calls; /* of all states, cancelled ones not counted */
    cw_worker_timers timers;
    cw_deadline_list grace, idle, hunger;
    cw_deadline start_deadline; /* calls wait and no worker is there */
    uv_timer_t retry;           /* the next start of a worker */
    uint32_t backoff_ms;
    cw_arena arena; /* of one notification */
    bool closing, gone;
    cw_plugin_stat stats[];
};

/* ---- frames ---- */

/* Queue the request of a call. CW_LIMIT: larger than a frame, or the worker's queue is full. */
CW_MUST_USE cw_code cw_plugin_send_call(cw_worker *w, uint64_t id, const cw_source_call *call);
void cw_plugin_send_cancel(cw_worker *w, uint64_t id);
CW_MUST_USE cw_code cw_plugin_send_discover(cw_worker *w, uint64_t id);
/* Whether a frame is a notification and no response. */
bool cw_plugin_is_notification(cw_str body);
/* Read a response into the arena. CW_PARSE: it is none; CW_NOMEM, CW_LIMIT. */
CW_MUST_USE cw_code cw_plugin_read_response(cw_str body, cw_arena *arena, cw_outcome *ret);
/* The same without a copy of the body, which must live as long as the outcome. */
CW_MUST_USE cw_code cw_plugin_parse_in_place(cw_str body, cw_arena *arena, cw_outcome *ret);
/* Pass a notification to the sink, if the call has asked for it. `call` NULL: it was cancelled, and
 * only its log lines count. `method` is its id. CW_PARSE: it is none. `arena` is reset. */
CW_MUST_USE cw_code cw_plugin_read_notification(const cw_plugin *p, cw_str body,
                                                const cw_source_call *call, cw_str method,
                                                cw_arena *arena);
/* Pass on a notification that belongs to no call: a log line, a change. False when it is none. */
bool cw_plugin_read_change(const cw_plugin *p, cw_str name, const cw_json *params);

#endif
