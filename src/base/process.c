/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process.c - reads /proc/PID/stat and /proc/PID/cgroup. */
#include "base/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"

#define STAT_BYTES 512u
#define GROUPS_BYTES 4096u
#define DEPTH_MAX 1024u /* processes may move while they are followed */

/* The start of a file of the process, as text. False: the process is gone, or cannot be seen. */
static bool read_file(pid_t pid, const char *name, char *text, size_t size)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* "PID (name) S PARENT …": the name may hold anything, also parentheses. */
pid_t cw_process_parent(pid_t pid)
{
    char text[STAT_BYTES];
    if (!read_file(pid, "stat", text, sizeof text))
        return -1;
    const char *end = strrchr(text, ')');
    return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : -1;
}

/* The group in the hierarchy whose lines contain `mark`; NULL: none, or its line may be cut. */
static const char *find_group(char *groups, const char *mark)
{
    char *found = strstr(groups, mark);
    char *end = found ? strchr(found, '\n') : NULL;
    if (!end)
        return NULL;
    *end = '\0';
    return found + strlen(mark);
}

/* False also if this process is in no group of its own, or has the rights to move processes. */
static bool is_outside_own_group(pid_t pid)
{
    static const char *const marks[] = {"0::", ":name=systemd:"};
    for (size_t i = 0; i < CW_COUNT(marks); i++) {
        char own_text[GROUPS_BYTES], text[GROUPS_BYTES];
        if (!geteuid() || !read_file(getpid(), "cgroup", own_text, sizeof own_text) ||
            !read_file(pid, "cgroup", text, sizeof text))
            return false;
        const char *own = find_group(own_text, marks[i]);
        const char *other = find_group(text, marks[i]);
        if (!own || !other || strcmp(own, "/") == 0)
            continue;
        size_t n = strlen(own);
        return strncmp(own, other, n) != 0 || (other[n] != '/' && other[n] != '\0');
    }
    return false;
}

bool cw_process_is_below(pid_t pid, pid_t ancestor)
{
    pid_t at = pid;
    for (unsigned i = 0; i < DEPTH_MAX; i++) {
        if (at == ancestor)
            return true;
        at = cw_process_parent(at);
        if (at <= 0)
            return at < 0 && !is_outside_own_group(pid);
    }
    return true;
}
