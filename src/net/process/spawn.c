/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spawn.c - the spawner: a thread that starts children and tells their loops.
 *
 * A job is the caller's; what travels through a mailbox is a ticket of the
 * spawner's own, so that a message which is delivered late, or never, because its
 * loop has ended, points to nothing that is gone:
 *
 *     ask -> QUEUED -> STARTING -> POSTED -> delivered: freed
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "base/thread.h"
#include "net/process/launch.h"

#define ORPHANS_MARK 48u /* bytes of a mark, NUL included */
#define ORPHANS_ENVIRONMENT (64u * 1024u)

/* Memory for one search at a time, so that it never asks for any. */
typedef struct orphans_space {
    _Alignas(8) char entries[16384]; /* of /proc */
    char environment[ORPHANS_ENVIRONMENT];
} orphans_space;

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
    orphans_space space;
    cw_launcher *launcher; /* under the lock */
};

/* ---- one start ---- */

static void child_end(pid_t pid, int pidfd, bool has_group);
static const char *orphans_mark(uint64_t n, char out[ORPHANS_MARK]);
static void orphans_kill(const uint64_t *marks, size_t n, orphans_space *space);

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

static int spawn_marked(cw_spawn *job, const cw_launch *how,
                        const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr)
{
    char mark[ORPHANS_MARK];
    const char **env = marked(job, orphans_mark(job->mark, mark));
    if (!env)
        return ENOMEM;
    int rc = (how->searches_path ? posix_spawnp : posix_spawn)(
        &job->pid, how->path, actions, attr, plain(how->argv),
        plain(job->is_independent ? job->env : env));
    free(env);
    return rc;
}

static int spawn_with(cw_spawn *job, const cw_launch *how, const int *fds)
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
        rc = spawn_marked(job, how, &actions, &attr);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

static void start(cw_spawn *job, const cw_launcher *launcher)
{
    cw_launch how;
    job->code = cw_launch_init(&how, launcher, job, &job->err);
    if (job->code)
        return;
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
        rc = spawn_with(job, &how, fds);
    cw_launch_done(&how);
    for (int i = 0; i < n; i++) {
        if (own[i] && fds[i] >= 0)
            close(fds[i]);
    }
    if (rc) {
        job->code = cw_launch_fail(job, rc, &job->err);
        return;
    }
    job->pidfd = pidfd_open(job->pid, 0);
    if (job->pidfd < 0) {
        job->code = cw_fail_errno(&job->err, errno, "pidfd of '%s'", job->path);
        child_end(job->pid, -1, job->has_own_group);
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
    cw_launcher *launcher = cw_launcher_ref(s->launcher);
    pthread_mutex_unlock(&s->lock);
    start(t->job, launcher);
    pthread_mutex_lock(&s->lock);
    cw_launcher_unref(launcher);
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
    orphans_kill(marks, n, &s->space);
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
            child_end(t->job->pid, t->job->pidfd, t->job->has_own_group);
        if (t->job)
            t->job->ticket = NULL;
        free(t);
    }
    pthread_mutex_lock(&s->lock);
    s->ended = true;
    orphans_kill(s->marks, s->n_marks, &s->space);
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
    cw_launcher_unref(s->launcher);
    free(s);
}

cw_code cw_spawner_set_launcher(cw_spawner *s, const char *path, const char *const *hidden,
                                cw_err *err)
{
    cw_launcher *launcher = NULL;
    cw_code rc = cw_launcher_new(path, hidden, &launcher, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&s->lock);
    cw_launcher *old = s->launcher;
    s->launcher = launcher;
    cw_launcher_unref(old);
    pthread_mutex_unlock(&s->lock);
    return CW_OK;
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
    child_end(job->pid, job->pidfd, job->has_own_group);
    cw_spawner_sweep(s, job->mark);
}

void cw_spawner_sweep(cw_spawner *s, uint64_t mark)
{
    pthread_mutex_lock(&s->lock);
    if (s->ended)
        orphans_kill(&mark, 1, &s->space);
    else if (s->n_marks < MARKS_MAX)
        s->marks[s->n_marks++] = mark;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
}

/* ---- children ---- */

static int status_of(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED)
        return (info->si_status & 0xFF) << 8;
    return (info->si_status & 0x7F) | (info->si_code == CLD_DUMPED ? 0x80 : 0);
}

static void child_end(pid_t pid, int pidfd, bool has_group)
{
    /* Our own child, which only we reap, so its pid cannot be another process's. By pid: waitid
     * does not wait on a pidfd that uv_poll made non-blocking. */
    kill(pid, SIGKILL);
    if (has_group)
        kill(-pid, SIGKILL);
    siginfo_t info;
    while (waitid(P_PID, (id_t)pid, &info, WEXITED) != 0 && errno == EINTR)
        ;
    if (pidfd >= 0)
        close(pidfd);
}

static void on_closed(uv_handle_t *handle)
{
    cw_child *child = handle->data;
    if (child->on_closed)
        child->on_closed(child, child->ctx);
}

/* The descriptor is closed behind its poll: libuv asks the kernel to forget that number, which may
 * be in use again as soon as it is free. */
static void release(cw_child *child)
{
    uv_close((uv_handle_t *)&child->poll, on_closed);
    close(child->pidfd);
    child->pidfd = -1;
}

static void on_pidfd(uv_poll_t *poll, int poll_status, int events)
{
    (void)poll_status;
    (void)events;
    cw_child *child = poll->data;
    siginfo_t info = {0};
    int rc = waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG | WNOWAIT);
    if (rc != 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (rc == 0 && info.si_pid == 0)
        return;
    if (child->has_group)
        kill(-child->pid, SIGKILL);
    waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG);
    uv_poll_stop(poll);
    child->exited = true;
    if (child->closing)
        release(child);
    else
        child->on_exit(child, status_of(&info), child->ctx);
}

cw_code cw_child_watch(cw_child *child, const cw_spawn *job, cw_child_exit_fn on_exit, void *ctx,
                       cw_err *err)
{
    *child = (cw_child){.pid = job->pid,
                        .pidfd = job->pidfd,
                        .on_exit = on_exit,
                        .ctx = ctx,
                        .has_group = job->has_own_group};
    int rc = uv_poll_init(&job->loop->uv, &child->poll, child->pidfd);
    if (rc) {
        child_end(child->pid, child->pidfd, child->has_group);
        child->pidfd = -1;
        return cw_fail(err, CW_IO, "watch a child: %s", uv_strerror(rc));
    }
    child->poll.data = child;
    uv_poll_start(&child->poll, UV_READABLE, on_pidfd);
    return CW_OK;
}

void cw_child_signal(cw_child *child, int signum)
{
    if (child->exited || child->pidfd < 0)
        return;
    /* The group has its name as long as the child is not reaped. */
    if (child->has_group)
        kill(-child->pid, signum);
    else
        pidfd_send_signal(child->pidfd, signum, NULL, 0);
}

void cw_child_close(cw_child *child, void (*closed)(cw_child *child, void *ctx))
{
    if (child->closing)
        return;
    child->closing = true;
    child->on_closed = closed;
    if (child->exited)
        release(child);
    else
        cw_child_signal(child, SIGKILL);
}

void cw_child_release(cw_child *child, void (*closed)(cw_child *child, void *ctx))
{
    child->closing = child->exited = true;
    child->on_closed = closed;
    uv_poll_stop(&child->poll);
    release(child);
}

const char *cw_child_status_text(int status, char *out, size_t n)
{
    if (WIFEXITED(status)) {
        snprintf(out, n, "exited with %d", WEXITSTATUS(status));
        return out;
    }
    const char *name = sigabbrev_np(WTERMSIG(status));
    if (name)
        snprintf(out, n, "killed by SIG%s", name);
    else
        snprintf(out, n, "killed by signal %d", WTERMSIG(status));
    return out;
}

/* ---- orphans ---- */

/* Processes of the group of a child are killed when the child exits. One that has left the group
 * (setsid) is found by a mark in its environment, which programs pass on:
 *
 *     CAUSEWAY_CHILD=PID-N     our process, and a number for each child program
 *
 * One that has removed or overwritten its environment is not found. */

#define NAME "CAUSEWAY_CHILD="
/* A process may start others while we look; one that always outruns us is left alone. */
#define PASSES_MAX 8u

typedef struct search {
    const uint64_t *marks;
    size_t n;
    cw_str prefix; /* NAME and our process number */
    orphans_space *space;
} search;

static const char *orphans_mark(uint64_t n, char out[ORPHANS_MARK])
{
    snprintf(out, ORPHANS_MARK, NAME "%d-%" PRIu64, (int)getpid(), n);
    return out;
}

/* The value is the rest of the variable behind the prefix. */
static bool is_wanted(const search *s, cw_str value)
{
    uint64_t mark;
    if (!cw_str_to_u64(value, &mark))
        return false;
    for (size_t i = 0; i < s->n; i++) {
        if (s->marks[i] == mark)
            return true;
    }
    return false;
}

/* The first bytes of a process's environment; empty where we may not read it. */
static cw_str read_environment(const search *s, const char *pid)
{
    char path[64];
    size_t n = 0;
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got = 1; fd >= 0 && got > 0 && n < ORPHANS_ENVIRONMENT; n += (size_t)got) {
        got = read(fd, s->space->environment + n, ORPHANS_ENVIRONMENT - n);
        got = got < 0 ? 0 : got;
    }
    if (fd >= 0)
        close(fd);
    return cw_str_make(s->space->environment, n);
}

static bool has_mark(const search *s, const char *pid)
{
    cw_str all = read_environment(s, pid), rest = all;
    const char *at;
    while (rest.n && (at = memmem(rest.p, rest.n, s->prefix.p, s->prefix.n))) {
        const char *value = at + s->prefix.n;
        bool begins = at == all.p || at[-1] == '\0';
        rest = cw_str_make(value, rest.n - (size_t)(value - rest.p));
        cw_str behind;
        if (begins && is_wanted(s, cw_str_cut(rest, '\0', &behind)))
            return true;
    }
    return false;
}

/* Whether a process was killed. The mark is looked for again behind its descriptor: a number that is
 * used again meanwhile is never hit. Nearly all processes are those of others, and need none. */
static bool kill_marked(const search *s, const char *name)
{
    uint64_t pid;
    if (!cw_str_to_u64(cw_str_from(name), &pid) || pid == (uint64_t)getpid() || !has_mark(s, name))
        return false;
    int fd = pidfd_open((pid_t)pid, 0);
    bool killed = fd >= 0 && has_mark(s, name) && pidfd_send_signal(fd, SIGKILL, NULL, 0) == 0;
    if (fd >= 0)
        close(fd);
    return killed;
}

static bool kill_listed(const search *s, size_t n)
{
    bool any = false;
    for (size_t at = 0; at < n;) {
        const struct dirent64 *e = (const void *)(s->space->entries + at);
        any = kill_marked(s, e->d_name) || any;
        at += e->d_reclen;
    }
    return any;
}

static bool kill_all(const search *s)
{
    int processes = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool any = false;
    ssize_t n = 0;
    while (processes >= 0 &&
           (n = getdents64(processes, s->space->entries, sizeof s->space->entries)) > 0)
        any = kill_listed(s, (size_t)n) || any;
    if (processes >= 0)
        close(processes);
    return any;
}

static void orphans_kill(const uint64_t *marks, size_t n, orphans_space *space)
{
    char prefix[ORPHANS_MARK];
    int length = snprintf(prefix, sizeof prefix, NAME "%d-", (int)getpid());
    search s = {marks, n, cw_str_make(prefix, (size_t)length), space};
    for (unsigned i = 0; n > 0 && i < PASSES_MAX && kill_all(&s); i++)
        continue;
}
