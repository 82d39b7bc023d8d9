/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process.c - reads /proc/PID/stat, and the processes of a control group. */
#include "base/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define STAT_BYTES 512u
#define GROUP_PATH_BYTES 4096u
#define GROUPS_BYTES 65536u
#define PROCESSES_BYTES (1024u * 1024u)
#define DEPTH_MAX 1024u /* processes may move while they are followed */

/* "PID (name) S PARENT …": the name may hold anything, also parentheses. */
pid_t cw_process_parent(pid_t pid)
{
    char path[32], text[STAT_BYTES];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    const char *end = strrchr(text, ')');
    return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : -1;
}

/* The control group of this process in one hierarchy: the rest of the line that begins with its number
 * and `mark`. Empty: none, or the root of all, which every process may be in. */
static cw_str own_group(cw_str groups, cw_str mark)
{
    while (groups.n) {
        cw_str line = cw_str_cut(groups, '\n', &groups), path;
        (void)cw_str_cut(line, ':', &path);
        if (cw_str_starts(path, mark) && path.n > mark.n + 1)
            return cw_str_make(path.p + mark.n, path.n - mark.n);
    }
    return CW_STR("");
}

static bool lists(cw_str processes, pid_t pid)
{
    uint64_t number;
    while (processes.n) {
        if (cw_str_to_u64(cw_str_cut(processes, '\n', &processes), &number) &&
            number == (uint64_t)pid)
            return true;
    }
    return false;
}

/* Whether the group lists this process and not the other one. A group that has groups in it is not
 * understood. */
static bool excludes(const char *folder, pid_t pid)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    char path[GROUP_PATH_BYTES + sizeof "/cgroup.procs"];
    struct stat st;
    cw_buf_init(&text, PROCESSES_BYTES);
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    return stat(folder, &st) == 0 && st.st_nlink == 2 &&
           cw_file_read(path, CW_FILE_PLAIN, &text, NULL) == CW_OK &&
           lists(cw_buf_str(&text), getpid()) && !lists(cw_buf_str(&text), pid);
}

/* False also if this process is in no group of its own, or has the rights to leave it. */
static bool is_outside_own_group(pid_t pid)
{
    static const struct {
        cw_str mark;
        const char *folder;
    } hierarchies[] = {{CW_STR_INIT(":"), "/sys/fs/cgroup"},
                       {CW_STR_INIT(":"), "/sys/fs/cgroup/unified"},
                       {CW_STR_INIT("name=systemd:"), "/sys/fs/cgroup/systemd"}};
    CW_CLEANUP(cw_buf_done) cw_buf groups;
    cw_buf_init(&groups, GROUPS_BYTES);
    if (!geteuid() || cw_file_read("/proc/self/cgroup", CW_FILE_PLAIN, &groups, NULL))
        return false;
    for (size_t i = 0; i < CW_COUNT(hierarchies); i++) {
        char folder[GROUP_PATH_BYTES];
        cw_str group = own_group(cw_buf_str(&groups), hierarchies[i].mark);
        int n = snprintf(folder, sizeof folder, "%s%.*s", hierarchies[i].folder, CW_STR_ARG(group));
        if (group.n && n > 0 && (size_t)n < sizeof folder && excludes(folder, pid))
            return true;
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
