/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process.c - reads /proc/PID/stat. */
#include "base/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAT_BYTES 512u
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

bool cw_process_is_below(pid_t pid, pid_t ancestor)
{
    for (unsigned i = 0; i < DEPTH_MAX; i++) {
        if (pid == ancestor)
            return true;
        pid = cw_process_parent(pid);
        if (pid <= 0)
            return pid < 0;
    }
    return true;
}
