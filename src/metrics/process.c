/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process.c - CPU time, memory and descriptors of the process; memory of plugins. */
#include "metrics/process.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "metrics/metrics.h"
#include "metrics/names.h"

static struct {
    pthread_mutex_t lock;
    struct {
        pid_t pid;
        uint32_t plugin;
    } items[CW_METRICS_CHILDREN];
    size_t n;
} children = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* 0: the process has ended. */
static int64_t resident_bytes(pid_t pid)
{
    char path[64];
    long long size, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%lld %lld", &size, &resident) != 2)
        resident = 0;
    fclose(file);
    return resident * (int64_t)sysconf(_SC_PAGESIZE);
}

static int64_t count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int64_t n = -3; /* "." and "..", and the descriptor of this directory */
    if (!dir)
        return 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static int64_t cpu_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t))
        return 0;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Field 22 of /proc/self/stat counts ticks since the boot. */
static int64_t start_ms(void)
{
    unsigned long long ticks = 0;
    FILE *file = fopen("/proc/self/stat", "re");
    if (!file)
        return 0;
    /* The name of the program, which may hold anything, ends at the last bracket. */
    char text[1024];
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = 0;
    const char *rest = strrchr(text, ')');
    struct timespec boot;
    if (!rest ||
        sscanf(rest,
               ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &ticks) != 1 ||
        clock_gettime(CLOCK_BOOTTIME, &boot))
        return 0;
    int64_t up_ms = (int64_t)boot.tv_sec * 1000 + boot.tv_nsec / 1000000;
    return cw_clock_wall_ms() - up_ms +
           (int64_t)(ticks * 1000 / (unsigned long)sysconf(_SC_CLK_TCK));
}

static void set_children(void)
{
    int64_t sums[CW_METRICS_SOURCES] = {0};
    bool is_any[CW_METRICS_SOURCES] = {false};
    pthread_mutex_lock(&children.lock);
    for (size_t i = 0; i < children.n; i++) {
        sums[children.items[i].plugin] += resident_bytes(children.items[i].pid);
        is_any[children.items[i].plugin] = true;
    }
    pthread_mutex_unlock(&children.lock);
    for (uint32_t i = 0; i < CW_METRICS_SOURCES; i++) {
        if (is_any[i] || cw_metrics_read(CW_METRIC_PLUGIN_MEMORY, i, 0, 0))
            cw_metrics_set(CW_METRIC_PLUGIN_MEMORY, i, 0, 0, sums[i]);
    }
}

void cw_metrics_set_process(void)
{
    static _Atomic int64_t started;
    struct rlimit files = {0};
    if (!started)
        started = start_ms();
    getrlimit(RLIMIT_NOFILE, &files);
    cw_metrics_set(CW_METRIC_CPU, 0, 0, 0, cpu_ns());
    cw_metrics_set(CW_METRIC_MEMORY, 0, 0, 0, resident_bytes(getpid()));
    cw_metrics_set(CW_METRIC_OPEN_FDS, 0, 0, 0, count_fds());
    cw_metrics_set(CW_METRIC_MAX_FDS, 0, 0, 0, (int64_t)files.rlim_cur);
    cw_metrics_set(CW_METRIC_START_TIME, 0, 0, 0, started);
    cw_metrics_set(CW_METRIC_BUILD, 0, 0, 0, 1);
    set_children();
}

void cw_metrics_child_add(uint32_t plugin, pid_t pid)
{
    pthread_mutex_lock(&children.lock);
    if (children.n < CW_METRICS_CHILDREN) {
        children.items[children.n].plugin = plugin;
        children.items[children.n++].pid = pid;
    }
    pthread_mutex_unlock(&children.lock);
}

void cw_metrics_child_remove(pid_t pid)
{
    pthread_mutex_lock(&children.lock);
    for (size_t i = 0; i < children.n; i++) {
        if (children.items[i].pid == pid) {
            children.items[i] = children.items[--children.n];
            break;
        }
    }
    pthread_mutex_unlock(&children.lock);
}
