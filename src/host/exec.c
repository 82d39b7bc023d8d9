/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exec.c - starts a program without privileges, and ends it with all of its descendants. */
#include "host/exec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"

#define CANNOT_CONFINE 126
#define CANNOT_START 127
#define CAPABILITIES_MAX 64u

static int fail(const char *what)
{
    fprintf(stderr, "causeway-plugin-host: %s: %s\n", what, strerror(errno));
    return CANNOT_CONFINE;
}

/* ---- the program ---- */

/* A package runner keeps what it downloads in a directory of the user. Below a directory with hidden
 * files it could not make one (landlock.h). */
static void make_caches(const char *program)
{
    static const struct {
        const char *program, *folder;
    } caches[] = {
        {"npx", ".npm"},   {"npm", ".npm"},  {"pnpm", ".cache"}, {"pnpm", ".local"},
        {"bunx", ".bun"},  {"bun", ".bun"},  {"uvx", ".cache"},  {"uv", ".cache"},
        {"uvx", ".local"}, {"uv", ".local"}, {"pipx", ".cache"}, {"pipx", ".local"},
    };
    char path[PATH_MAX];
    const char *home = getenv("HOME"), *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;
    for (size_t i = 0; home && home[0] == '/' && i < sizeof caches / sizeof caches[0]; i++) {
        int n = snprintf(path, sizeof path, "%s/%s", home, caches[i].folder);
        if (strcmp(name, caches[i].program) == 0 && n > 0 && (size_t)n < sizeof path)
            (void)mkdir(path, 0700); /* it exists, or cannot be used anyway */
    }
}

/* Never above the hard limit that this process has. */
static bool limit(int resource, uint64_t n)
{
    struct rlimit both;
    if (n == 0)
        return true;
    if (getrlimit(resource, &both))
        return false;
    if (both.rlim_max != RLIM_INFINITY && both.rlim_max < n)
        n = both.rlim_max;
    both.rlim_cur = both.rlim_max = n;
    return setrlimit(resource, &both) == 0;
}

static bool limit_all(const cw_host_program *p)
{
    const struct rlimit no_core = {0, 0};
    /* Address space would be the wrong measure: JavaScript engines reserve far more than they use. */
    return setrlimit(RLIMIT_CORE, &no_core) == 0 && limit(RLIMIT_DATA, p->memory) &&
           limit(RLIMIT_NOFILE, p->files) && limit(RLIMIT_NPROC, p->processes);
}

/* The program of a server that runs as root gets no capability. */
static bool drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capget, &head, sets))
        return false;
    bool has_any = false;
    for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        has_any = has_any || sets[i].permitted;
        sets[i].inheritable = 0;
    }
    if (!has_any)
        return true;
    /* Numbers that the kernel does not know fail. Without CAP_SETPCAP all do, and
     * root stays what it was allowed to be. */
    for (unsigned long i = 0; i < CAPABILITIES_MAX; i++)
        (void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 &&
           syscall(SYS_capset, &head, sets) == 0;
}

static _Noreturn void run_program(const cw_host_program *p, pid_t supervisor)
{
    sigset_t none;
    sigemptyset(&none);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != supervisor || !limit_all(p) ||
        !drop_capabilities() || sigprocmask(SIG_SETMASK, &none, NULL))
        _exit(fail("limits"));
    execvp(p->argv[0], p->argv);
    fprintf(stderr, "causeway-plugin-host: start '%s': %s\n", p->argv[0], strerror(errno));
    _exit(CANNOT_START);
}

/* ---- the end ---- */

static void kill_children(void)
{
    DIR *all = opendir("/proc");
    for (const struct dirent *e; all && (e = readdir(all));) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid > 1 && cw_process_parent(pid) == getpid())
            kill(pid, SIGKILL);
    }
    if (all)
        closedir(all);
}

/* Children of a killed process become ours, so this ends when nothing is left. */
static void kill_descendants(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0 && errno == ECHILD)
            return;
        if (pid > 0)
            continue;
        kill_children();
        nanosleep(&pause, NULL);
    }
}

/* Exit as the program did. */
static int repeat_end(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, WTERMSIG(status));
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    return CANNOT_CONFINE;
}

/* ---- between ---- */

/* Reap what has exited; whether the program is among it. */
static bool reap(pid_t program, int *ret_status)
{
    bool has_ended = false;
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid != program)
            continue;
        has_ended = true;
        *ret_status = status;
    }
    return has_ended;
}

static int supervise(const cw_host_program *p, pid_t program, const sigset_t *signals)
{
    int status = SIGKILL;
    while (!reap(program, &status)) {
        int signum = sigwaitinfo(signals, NULL);
        if (signum == SIGUSR1 || (uint64_t)getppid() != p->parent)
            break;
    }
    kill_descendants();
    return repeat_end(status);
}

/* The pipes are the program's alone: the server waits for their end. */
static int drop_descriptors(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return 1;
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    return null > STDERR_FILENO ? close(null) : 0;
}

/* Tied to the server: its end is a SIGTERM here. */
static int follow_server(const cw_host_program *p)
{
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) || prctl(PR_SET_CHILD_SUBREAPER, 1))
        return fail("prctl");
    return (uint64_t)getppid() == p->parent ? 0 : CANNOT_CONFINE;
}

int cw_host_exec(const cw_host_program *p)
{
    sigset_t signals;
    sigfillset(&signals);
    if (sigprocmask(SIG_SETMASK, &signals, NULL))
        return fail("signals");
    int status = follow_server(p);
    if (status)
        return status;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return fail("no_new_privs");
    make_caches(p->argv[0]);
    if (cw_landlock_apply(&p->landlock))
        return fail("landlock");
    pid_t supervisor = getpid(), program = fork();
    if (program < 0)
        return fail("fork");
    if (program == 0)
        run_program(p, supervisor);
    if (drop_descriptors()) {
        kill_descendants();
        return fail("/dev/null");
    }
    return supervise(p, program, &signals);
}
