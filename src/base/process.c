/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process.c - reads /proc/PID/stat, names of processes, and the processes of a control group. */
#include "base/process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define STAT_BYTES 512u
#define START_FIELD 22u /* of /proc/PID/stat: the start, in ticks since the boot */
#define GROUP_PATH_BYTES 4096u
#define GROUPS_BYTES 65536u
#define PROCESSES_BYTES (1024u * 1024u)
#define DEPTH_MAX 1024u /* processes may move while they are followed */

/* The first line of a small file; empty: it cannot be read. */
static void read_line(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

/* A field of /proc/PID/stat, "PID (name) S PARENT …", behind the name, which may hold anything, also
 * parentheses. Field 3 is the state. NULL: the process is gone, or cannot be seen. */
static const char *stat_field(pid_t pid, unsigned number, char text[STAT_BYTES])
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    read_line(path, text, STAT_BYTES);
    const char *at = strrchr(text, ')');
    for (unsigned i = 2; at && i < number; i++)
        at = strchr(at + 1, ' ');
    return at ? at + 1 : NULL;
}

pid_t cw_process_parent(pid_t pid)
{
    char text[STAT_BYTES];
    const char *parent = stat_field(pid, 4, text);
    return parent ? (pid_t)strtol(parent, NULL, 10) : -1;
}

/* When a process was started; 0: it has ended, also if its parent does not know that yet. */
static uint64_t start_of(pid_t pid)
{
    char text[STAT_BYTES];
    const char *state = stat_field(pid, 3, text);
    if (!state || *state == 'Z' || *state == 'X')
        return 0;
    const char *start = stat_field(pid, START_FIELD, text);
    return start ? strtoull(start, NULL, 10) : 0;
}

/* The part of a name that all processes have that can see each other. */
static bool write_place(char out[CW_PROCESS_ID])
{
    char boot[64], space[48];
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    ssize_t n = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    space[n > 0 ? n : 0] = '\0';
    snprintf(out, CW_PROCESS_ID, "%s/%s/", boot, space);
    return boot[0] && space[0];
}

void cw_process_name(char out[CW_PROCESS_ID])
{
    pid_t pid = getpid();
    if (!write_place(out)) {
        out[0] = '\0';
        return;
    }
    size_t n = strlen(out);
    snprintf(out + n, CW_PROCESS_ID - n, "%d/%" PRIu64, (int)pid, start_of(pid));
}

cw_process_state cw_process_state_of(cw_str name)
{
    char place[CW_PROCESS_ID];
    uint64_t pid, start;
    cw_str rest;
    if (!write_place(place) || !cw_str_starts(name, cw_str_from(place)))
        return CW_PROCESS_UNKNOWN;
    size_t n = strlen(place);
    cw_str number = cw_str_cut(cw_str_make(name.p + n, name.n - n), '/', &rest);
    if (!cw_str_to_u64(number, &pid) || !cw_str_to_u64(rest, &start) || pid > INT_MAX)
        return CW_PROCESS_UNKNOWN;
    return start && start_of((pid_t)pid) == start ? CW_PROCESS_ALIVE : CW_PROCESS_ENDED;
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
