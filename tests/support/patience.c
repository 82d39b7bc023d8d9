/* SPDX-License-Identifier: GPL-2.0-or-later */
/* patience.c - stretch time limits by the load of the machine. */
#include "support/patience.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MAX 20.0

/* How many programs share a core: by the average of the last minute, or those that can run now. */
static double patience_factor(void)
{
    double average = 0;
    unsigned now = 0;
    FILE *f = fopen("/proc/loadavg", "re");
    if (f && fscanf(f, "%lf %*f %*f %u/", &average, &now) != 2)
        average = now = 0;
    if (f)
        fclose(f);
    double waiting = average > now ? average : now;
    double factor = waiting / (double)sysconf(_SC_NPROCESSORS_ONLN);
    factor = factor > PATIENCE_MAX ? PATIENCE_MAX : factor;
    const char *slowness = getenv("CAUSEWAY_TEST_SLOWNESS");
    double base = slowness ? strtod(slowness, NULL) : 1;
    return (factor > 1 ? factor : 1) * (base > 1 ? base : 1);
}

uint64_t patience(uint64_t ms)
{
    return (uint64_t)((double)ms * patience_factor());
}

uint64_t cpu_time_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}
