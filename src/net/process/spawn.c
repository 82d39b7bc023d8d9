/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spawn.c - the spawner: a thread that starts children and tells their loops.
 *
 * A job is the caller's; what travels through a mailbox is a ticket of the
 * spawner's own, so that a message which is delivered late, or never, because its
 * loop has ended, points to nothing that is gone:
 *
 *     ask -> QUEUED -> STARTING -> POSTED -> delivered: freed
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/thread.h"
#include "net/process/child.h"
#include "net/process/child_int.h"
#include "net/process/orphans.h"

/* Children that exit while /proc is read. */
#define MARKS_MAX 256u

typedef enum ticket_state { QUEUED, STARTING, STARTED, POSTED } ticket_state;

typedef struct cw_spawn_ticket ticket;
struct cw_spawn_ticket {
    cw_list node; /* of the spawner's */
    cw_message message;
    cw_spawner *spawner;
    cw_spawn *job; /* NULL: taken back */
    ticket_state state;
    bool cancelled; /* cw_spawner_cancel waits for STARTED */
};

struct cw_spawner {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work;       /* for the thread */
    pthread_cond_t started;    /* a ticket left STARTING */
    cw_list tickets;           /* in all states, in the order they came */
    uint64_t marks[MARKS_MAX]; /* of children whose strays are to be killed */
    size_t n_marks;
    unsigned refs;
    bool ending;
    bool ended; /* the thread uses nothing any more */
    /* The thread's. */
    uint64_t last_mark;
    cw_orphans_space space;
};

/* ---- one start ---- */

/* How many descriptors the child has. */
static int n_targets(const cw_spawn *job)
{
    return CW_SPAWN_FIRST_FD + (int)job->n_fds;
}

/* The job's descriptor that becomes descriptor `i` of the child; -1: none. */
static int source_of(const cw_spawn *job, int i)
{
    if (i >= CW_SPAWN_FIRST_FD)
        return job->fds[i - CW_SPAWN_FIRST_FD];
    return job->stdio ? job->stdio[i] : -1;
}

/* The descriptor to copy from in the child: never one of the numbers that are copied to, or a copy
 * would overwrite a source. *ret_own says that it must be closed here. */
static int clear_of_targets(int fd, int n, bool *ret_own)
{
    *ret_own = fd < n;
    return *ret_own ? fcntl(fd, F_DUPFD_CLOEXEC, n) : fd;
}

/* The first three of `fds` are the standard ones, or -1. */
static int add_standard(posix_spawn_file_actions_t *actions, const int *fds)
{
    int rc = 0;
    if (fds[2] >= 0)
        rc = posix_spawn_file_actions_adddup2(actions, fds[2], 2);
    if (!rc && fds[0] >= 0)
        rc = posix_spawn_file_actions_adddup2(actions, fds[0], 0);
    else if (!rc)
        rc = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    if (!rc)
        rc = posix_spawn_file_actions_adddup2(actions, fds[1] >= 0 ? fds[1] : 2, 1);
    return rc;
}

static int add_actions(posix_spawn_file_actions_t *actions, const cw_spawn *job, const int *fds)
{
    int rc = add_standard(actions, fds);
    for (int i = CW_SPAWN_FIRST_FD; i < n_targets(job) && !rc; i++)
        rc = posix_spawn_file_actions_adddup2(actions, fds[i], i);
    /* Ours are close-on-exec; this is for what our own parent has left open. */
    if (!rc)
        rc = posix_spawn_file_actions_addclosefrom_np(actions, n_targets(job));
    if (!rc && job->folder)
        rc = posix_spawn_file_actions_addchdir_np(actions, job->folder);
    return rc;
}

/* All signals at their default and none blocked, whatever this process does with them. */
static int set_attributes(posix_spawnattr_t *attr, bool has_own_group)
{
    short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int rc = posix_spawnattr_setsigdefault(attr, &all);
    if (!rc)
        rc = posix_spawnattr_setsigmask(attr, &none);
    if (!rc && has_own_group) {
        flags |= POSIX_SPAWN_SETPGROUP;
        rc = posix_spawnattr_setpgroup(attr, 0);
    }
    if (!rc)
        rc = posix_spawnattr_setflags(attr, flags);
    return rc;
}

/* posix_spawn does not change the strings; its type is older than const. */
static char *const *plain(const char *const *strings)
{
    return (char *const *)(uintptr_t)strings;
}

/* The environment of the job behind its mark, in memory that the caller frees. */
static const char **marked(const cw_spawn *job, const char *mark)
{
    size_t n = 0;
    while (job->env[n])
        n++;
    const char **env = calloc(n + 2, sizeof *env);
    if (!env)
        return NULL;
    env[0] = mark;
    for (size_t i = 0; i < n; i++)
        env[i + 1] = job->env[i];
    return env;
}

static int spawn_marked(cw_spawn *job, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attr)
{
    char mark[CW_ORPHANS_MARK];
    const char **env = marked(job, cw_orphans_mark(job->mark, mark));
    if (!env)
        return ENOMEM;
    int rc = (job->searches_path ? posix_spawnp : posix_spawn)(&job->pid, job->path, actions, attr,
                                                               plain(job->argv), plain(env));
    free(env);
    return rc;
}

static int spawn_with(cw_spawn *job, const int *fds)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc)
        return rc;
    rc = posix_spawnattr_init(&attr);
    if (rc) {
        posix_spawn_file_actions_destroy(&actions);
        return rc;
    }
    rc = add_actions(&actions, job, fds);
    if (!rc)
        rc = set_attributes(&attr, job->has_own_group);
    if (!rc)
        rc = spawn_marked(job, &actions, &attr);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

static void start(cw_spawn *job)
{
    int fds[CW_SPAWN_FIRST_FD + CW_SPAWN_MAX_FDS] = {-1, -1, -1};
    bool own[CW_COUNT(fds)] = {false};
    int rc = 0, n = 0;
    for (; n < n_targets(job) && !rc; n++) {
        fds[n] = source_of(job, n);
        if (fds[n] < 0)
            continue;
        fds[n] = clear_of_targets(fds[n], n_targets(job), &own[n]);
        if (fds[n] < 0)
            rc = errno;
    }
    if (!rc)
        rc = spawn_with(job, fds);
    for (int i = 0; i < n; i++) {
        if (own[i] && fds[i] >= 0)
            close(fds[i]);
    }
    job->code = CW_OK;
    if (rc) {
        job->code = cw_fail_errno(&job->err, rc, "start '%s'%s%s", job->path,
                                  job->folder ? " in " : "", job->folder ? job->folder : "");
        return;
    }
    job->pidfd = pidfd_open(job->pid, 0);
    if (job->pidfd < 0) {
        job->code = cw_fail_errno(&job->err, errno, "pidfd of '%s'", job->path);
        cw_child_end(job->pid, -1, job->has_own_group);
        job->pid = 0;
    }
}

/* ---- the thread ---- */

static void deliver(cw_message *message)
{
    ticket *t = CW_CONTAINER(message, ticket, message);
    cw_spawner *s = t->spawner;
    pthread_mutex_lock(&s->lock);
    cw_list_remove(&t->node);
    cw_spawn *job = t->job;
    pthread_mutex_unlock(&s->lock);
    free(t);
    if (!job)
        return;
    job->ticket = NULL;
    job->done(job);
}

static ticket *first_queued(cw_spawner *s)
{
    CW_LIST_EACH (node, &s->tickets) {
        ticket *t = CW_CONTAINER(node, ticket, node);
        if (t->state == QUEUED)
            return t;
    }
    return NULL;
}

/* With the lock, which is released meanwhile. */
static void start_one(cw_spawner *s, ticket *t)
{
    t->state = STARTING;
    t->job->mark = ++s->last_mark;
    pthread_mutex_unlock(&s->lock);
    start(t->job);
    pthread_mutex_lock(&s->lock);
    t->state = STARTED;
    /* Under the lock, so that a job which is taken back is posted before or never. */
    if (!t->cancelled) {
        t->state = POSTED;
        cw_loop_post(t->job->loop, &t->message);
    }
    pthread_cond_broadcast(&s->started);
}

/* Likewise. */
static void sweep_all(cw_spawner *s)
{
    uint64_t marks[MARKS_MAX];
    size_t n = s->n_marks;
    memcpy(marks, s->marks, n * sizeof marks[0]);
    s->n_marks = 0;
    pthread_mutex_unlock(&s->lock);
    cw_orphans_kill(marks, n, &s->space);
    pthread_mutex_lock(&s->lock);
}

static void *spawner_main(void *arg)
{
    cw_spawner *s = arg;
    pthread_mutex_lock(&s->lock);
    while (!s->ending) {
        ticket *t = first_queued(s);
        if (t)
            start_one(s, t);
        else if (s->n_marks)
            sweep_all(s);
        else
            pthread_cond_wait(&s->work, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- the public part ---- */

cw_code cw_spawner_new(cw_spawner **ret, cw_err *err)
{
    cw_spawner *s = calloc(1, sizeof *s);
    if (!s)
        return cw_fail_nomem(err);
    s->refs = 1;
    cw_list_init(&s->tickets);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->started, NULL);
    int errnum = cw_thread_start(&s->thread, spawner_main, s);
    if (errnum) {
        free(s);
        return cw_fail_errno(err, errnum, "start the spawner");
    }
    *ret = s;
    return CW_OK;
}

void cw_spawner_free(cw_spawner *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->ending = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    for (cw_list *node; (node = cw_list_take_first(&s->tickets));) {
        ticket *t = CW_CONTAINER(node, ticket, node);
        if (t->job && t->state != QUEUED && !t->job->code)
            cw_child_end(t->job->pid, t->job->pidfd, t->job->has_own_group);
        if (t->job)
            t->job->ticket = NULL;
        free(t);
    }
    pthread_mutex_lock(&s->lock);
    s->ended = true;
    cw_orphans_kill(s->marks, s->n_marks, &s->space);
    pthread_mutex_unlock(&s->lock);
    cw_spawner_unref(s);
}

cw_spawner *cw_spawner_ref(cw_spawner *s)
{
    pthread_mutex_lock(&s->lock);
    s->refs++;
    pthread_mutex_unlock(&s->lock);
    return s;
}

void cw_spawner_unref(cw_spawner *s)
{
    pthread_mutex_lock(&s->lock);
    bool is_last = --s->refs == 0;
    pthread_mutex_unlock(&s->lock);
    if (!is_last)
        return;
    pthread_cond_destroy(&s->started);
    pthread_cond_destroy(&s->work);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

cw_code cw_spawner_ask(cw_spawner *s, cw_spawn *job, cw_err *err)
{
    ticket *t = calloc(1, sizeof *t);
    if (!t)
        return cw_fail_nomem(err);
    t->message.fn = deliver;
    t->spawner = s;
    t->job = job;
    job->pid = 0;
    job->pidfd = -1;
    pthread_mutex_lock(&s->lock);
    bool ending = s->ending;
    if (!ending) {
        job->ticket = t;
        cw_list_add(&s->tickets, &t->node);
        pthread_cond_signal(&s->work);
    }
    pthread_mutex_unlock(&s->lock);
    if (!ending)
        return CW_OK;
    free(t);
    return cw_fail(err, CW_GONE, "the spawner is ending");
}

void cw_spawner_cancel(cw_spawner *s, cw_spawn *job)
{
    ticket *t = job->ticket;
    if (!t)
        return;
    pthread_mutex_lock(&s->lock);
    t->cancelled = true;
    while (t->state == STARTING)
        pthread_cond_wait(&s->started, &s->lock);
    bool has_child = t->state != QUEUED && !job->code;
    t->job = NULL;
    bool posted = t->state == POSTED;
    if (!posted)
        cw_list_remove(&t->node);
    pthread_mutex_unlock(&s->lock);
    /* A posted one stays the spawner's: the message frees it, or the end of the spawner does. */
    if (!posted)
        free(t);
    job->ticket = NULL;
    if (!has_child)
        return;
    cw_child_end(job->pid, job->pidfd, job->has_own_group);
    cw_spawner_sweep(s, job->mark);
}

void cw_spawner_sweep(cw_spawner *s, uint64_t mark)
{
    pthread_mutex_lock(&s->lock);
    if (s->ended)
        cw_orphans_kill(&mark, 1, &s->space);
    else if (s->n_marks < MARKS_MAX)
        s->marks[s->n_marks++] = mark;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
}
