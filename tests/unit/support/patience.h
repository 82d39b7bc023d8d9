/* SPDX-License-Identifier: GPL-2.0-or-later */
/* patience.h - upper bounds on wall-clock time that hold on a busy machine.
 *
 *     uint64_t began = cw_clock_ms();
 *     close_it();
 *     assert_true(cw_clock_ms() - began < patience(100));
 *
 * On an idle machine a bound is as tight as written. Where several programs share a core, the
 * scheduler is not under test: the bound grows with their number. Only for upper bounds; work is
 * measured better by the processor time that it takes (processor_ms).
 */
#ifndef CW_TEST_PATIENCE_H
#define CW_TEST_PATIENCE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MAX 20.0

/* How many programs share a core: by the average of the last minute, or those that can run now. */
static inline double patience_factor(void)
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

/* What takes `ms` at most on an idle machine may take this long here and now. */
static inline uint64_t patience(uint64_t ms)
{
    return (uint64_t)((double)ms * patience_factor());
}

/* What all threads of this process have worked so far. */
static inline uint64_t processor_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

#endif
