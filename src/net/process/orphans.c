/* SPDX-License-Identifier: GPL-2.0-or-later */
/* orphans.c - find processes by a mark in /proc/PID/environ, and kill them. */
#include "net/process/orphans.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/str.h"

#define NAME "CAUSEWAY_CHILD="
/* A process may start others while we look; one that always outruns us is left alone. */
#define PASSES_MAX 8u

typedef struct search {
    const uint64_t *marks;
    size_t n;
    cw_str prefix; /* NAME and our process number */
    cw_orphans_space *space;
} search;

const char *cw_orphans_mark(uint64_t n, char out[CW_ORPHANS_MARK])
{
    snprintf(out, CW_ORPHANS_MARK, NAME "%d-%" PRIu64, (int)getpid(), n);
    return out;
}

static bool is_wanted(const search *s, cw_str variable)
{
    uint64_t mark;
    if (!cw_str_starts(variable, s->prefix) ||
        !cw_str_to_u64(cw_str_make(variable.p + s->prefix.n, variable.n - s->prefix.n), &mark))
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
    for (ssize_t got = 1; fd >= 0 && got > 0 && n < CW_ORPHANS_ENVIRONMENT; n += (size_t)got) {
        got = read(fd, s->space->environment + n, CW_ORPHANS_ENVIRONMENT - n);
        got = got < 0 ? 0 : got;
    }
    if (fd >= 0)
        close(fd);
    return cw_str_make(s->space->environment, n);
}

static bool has_mark(const search *s, const char *pid)
{
    cw_str rest = read_environment(s, pid);
    while (rest.p && rest.n) {
        if (is_wanted(s, cw_str_cut(rest, '\0', &rest)))
            return true;
    }
    return false;
}

/* Whether a process was killed. Its descriptor comes first: a number that is used again meanwhile
 * is never hit. */
static bool kill_marked(const search *s, const char *name)
{
    uint64_t pid;
    if (!cw_str_to_u64(cw_str_from(name), &pid) || pid == (uint64_t)getpid())
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

void cw_orphans_kill(const uint64_t *marks, size_t n, cw_orphans_space *space)
{
    char prefix[CW_ORPHANS_MARK];
    int length = snprintf(prefix, sizeof prefix, NAME "%d-", (int)getpid());
    search s = {marks, n, cw_str_make(prefix, (size_t)length), space};
    for (unsigned i = 0; n > 0 && i < PASSES_MAX && kill_all(&s); i++)
        continue;
}
