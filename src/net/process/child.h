/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child.h - child processes, started by a thread of their own.
 *
 * Starting a process takes a millisecond or more, so loops do not do it: they ask
 * the spawner's thread, which lives as long as the process (a child's parent-death
 * signal comes when the *thread* that made it ends), and hear of it in their
 * mailbox. Nothing of ours runs between fork and exec (posix_spawn). A child has
 * the environment and descriptors it is given and no others, except the mark CAUSEWAY_CHILD: every
 * descriptor of ours is close-on-exec.
 *
 * Foreign programs are started by a launcher, `causeway-plugin-host --exec`, which takes privileges
 * and files away and ends all that they start (host/exec.h).
 *
 * A child is known by a pidfd, so that a signal can never hit a stranger who got
 * the same number.
 *
 *     cw_spawn job = {.path = host, .argv = argv, .fds = {sock, so}, .n_fds = 2,
 *                     .loop = loop, .done = on_started, .ctx = w};
 *     rc = cw_spawner_ask(spawner, &job, err);
 *     ...
 *     static void on_started(cw_spawn *job)      on the loop
 *         if (job->code) ... job->err.msg
 *         else cw_child_watch(&w->child, job, on_exit, w, err);
 *
 * Ownership: the job and all it points to belong to the caller and must live until done is called
 *            or the job is taken back.
 * Threads:   cw_spawner_ask and _cancel on the job's loop; cw_child on its loop.
 */
#ifndef CW_NET_PROCESS_CHILD_H
#define CW_NET_PROCESS_CHILD_H

#include <sys/types.h>

#include "net/loop/loop.h"

#define CW_SPAWN_MAX_FDS 4u
#define CW_SPAWN_FIRST_FD 3

typedef struct cw_spawner cw_spawner;
typedef struct cw_spawn cw_spawn;

/* What a foreign program may use. Lists end with NULL. */
typedef struct cw_confinement {
    uint64_t memory;    /* bytes of data of each process; 0: no limit */
    uint32_t files;     /* open descriptors of each process */
    uint32_t processes; /* of its user; 0: no limit */
    /* Both empty: all files but those of the launcher. */
    const char *const *readable, *const *writable;
} cw_confinement;

struct cw_spawn {
    const char *path;
    const char *const *argv;   /* NULL-terminated */
    const char *const *env;    /* NULL-terminated: the whole environment */
    int fds[CW_SPAWN_MAX_FDS]; /* become 3, 4, … of the child; stay open here */
    unsigned n_fds;
    /* Become 0, 1 and 2 of the child and stay open here; -1: the default. NULL: the child reads
     * /dev/null and writes to our standard error. */
    const int *stdio;
    const char *folder;  /* it works in, where a relative path begins; NULL: ours */
    bool has_own_group;  /* of processes, which is named by its pid */
    bool searches_path;  /* for a path without '/', in our PATH */
    bool is_independent; /* without a mark: it may outlive this process (cw_child_release) */
    /* Start it by the launcher; NULL: start it directly. */
    const cw_confinement *confinement;
    bool is_launcher; /* `path` is the launcher, in another mode: it hides the same files */
    cw_loop *loop;
    void (*done)(cw_spawn *job); /* on the loop */
    void *ctx;
    /* Filled before done. */
    cw_code code;
    cw_err err;
    pid_t pid;
    int pidfd;
    uint64_t mark;                  /* of it and of what it starts, for cw_spawner_sweep */
    struct cw_spawn_ticket *ticket; /* the spawner's; NULL: not asked for, or done */
};

CW_MUST_USE cw_code cw_spawner_new(cw_spawner **ret, cw_err *err);
/* End the thread and drop the first reference; jobs that wait are dropped. NULL is fine. The loops
 * of the jobs must have ended. */
void cw_spawner_free(cw_spawner *s);
/* The program that starts confined jobs, and files and directories (NULL-terminated) that neither
 * these nor plugins can use. Texts are copied. Applies to jobs that start from now on. CW_NOMEM. */
CW_MUST_USE cw_code cw_spawner_set_launcher(cw_spawner *s, const char *path,
                                            const char *const *hidden, cw_err *err);
/* Never blocks. CW_NOMEM; CW_GONE when the spawner is ending. */
CW_MUST_USE cw_code cw_spawner_ask(cw_spawner *s, cw_spawn *job, cw_err *err);
/* Take a job back: done is not called, a child that was started already is killed and reaped. May
 * wait a moment for a start that is under way; for the end of a loop, which hears nothing more in
 * its mailbox. Nothing happens when the job is not waiting. */
void cw_spawner_cancel(cw_spawner *s, cw_spawn *job);
/* The memory of a spawner whose thread may have ended, for cw_spawner_sweep. Any thread. */
cw_spawner *cw_spawner_ref(cw_spawner *s);
void cw_spawner_unref(cw_spawner *s);
/* A child has exited: kill what it started and left behind, outside its group too. Never blocks:
 * the spawner's thread does it when nothing waits to be started, of at most 256 children. When that
 * thread has ended it is done here. Any thread. */
void cw_spawner_sweep(cw_spawner *s, uint64_t mark);

/* A running child: told when it has exited. */
typedef struct cw_child cw_child;
typedef void (*cw_child_exit_fn)(cw_child *child, int status, void *ctx); /* as waitpid */

struct cw_child {
    uv_poll_t poll;
    pid_t pid;
    int pidfd; /* -1: none */
    cw_child_exit_fn on_exit;
    void (*on_closed)(cw_child *child, void *ctx);
    void *ctx;
    bool exited, closing;
    bool has_group;
};

/* Watch the child that a job has started, on the job's loop. Takes over the pidfd, on failure too:
 * the child is then killed and reaped. If the job has_own_group, signals go to all of the group. The
 * rest of the group is killed when the child has exited, before the child is reaped and its number
 * may be used again. */
CW_MUST_USE cw_code cw_child_watch(cw_child *child, const cw_spawn *job, cw_child_exit_fn on_exit,
                                   void *ctx, cw_err *err);
/* Send a signal; nothing happens when it has exited. SIGUSR1 makes a launcher kill all below it. */
void cw_child_signal(cw_child *child, int signum);
/* Let go: a child that still runs is killed, without a call of on_exit. on_closed (may be NULL) is
 * called when it has been reaped and the struct may be freed. */
void cw_child_close(cw_child *child, void (*on_closed)(cw_child *child, void *ctx));
/* Let go of a child that goes on by itself: it is neither killed nor reaped. */
void cw_child_release(cw_child *child, void (*on_closed)(cw_child *child, void *ctx));
/* "killed by SIGSEGV", "exited with 3". */
const char *cw_child_status_text(int status, char *out, size_t n);

#endif
