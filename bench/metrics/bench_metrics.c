/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench_metrics.c - the cost of counting one call, and of one scrape.
 *
 *     bench_metrics    one JSON object
 *
 * "call" makes all counts of a tool call over MCP and one reading of the clock: those of net/server,
 * door and call. "scrape" writes the text of 200 tools and 50 sources that THREADS threads have
 * counted. CPU time of this thread, the median of ROUNDS rounds.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "metrics/metrics.h"
#include "metrics/names.h"
#include "metrics/recent.h"

#define ROUNDS 9
#define CALLS 200000u
#define SCRAPES 20u
#define TOOLS 200u
#define SOURCES 50u
#define THREADS 4u

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double times[ROUNDS])
{
    qsort(times, ROUNDS, sizeof times[0], compare_doubles);
    return times[ROUNDS / 2];
}

static void count_call(uint32_t tool, uint32_t source)
{
    uint64_t now = cw_clock_ns();
    uint32_t door = 1; /* call/count.c remembers the label of the last door */
    (void)cw_metrics_value(CW_METRIC_MCP_METHOD, 0, CW_STR("tools/call"));
    cw_metrics_count(CW_METRIC_MCP_MESSAGES,
                     cw_metrics_value(CW_METRIC_MCP_MESSAGES, 0, CW_STR("2026-07-28")), 0, 0);
    cw_metrics_count(CW_METRIC_RUNNING, source, 0, 0);
    cw_metrics_end_call(&(cw_metrics_call){.source = source,
                                           .tool = tool,
                                           .door = door,
                                           .attempt = CW_ATTEMPT_OK,
                                           .outcome = CW_OUTCOME_WORD_OK,
                                           .ns = now % 1000000},
                        NULL);
    cw_recent_add(&(cw_recent_call){.at_ns = now, .us = 100}, &(cw_ids){.request = now},
                  CW_STR("examples.article.toMarkdown"), CW_STR(""));
    cw_metrics_add(CW_METRIC_TOKENS, CW_TOKENS_RETURNED, 0, 0, 512);
    cw_metrics_observe(CW_METRIC_MCP_TOOL, tool, 0, 0, now % 1000000, NULL);
    cw_metrics_observe(CW_METRIC_HTTP, 1, 3, 0, now % 1000000, NULL);
    cw_metrics_observe(CW_METRIC_OVERHEAD, door, 0, 0, now % 100000, NULL);
}

static double measure_calls(void)
{
    double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double start = cpu_ns();
        for (uint32_t k = 0; k < CALLS; k++)
            count_call(1 + k % 7, 1 + k % 3);
        times[i] = (cpu_ns() - start) / CALLS;
    }
    return median(times);
}

static void *fill(void *arg)
{
    (void)arg;
    for (uint32_t tool = 1; tool <= TOOLS; tool++)
        count_call(tool, 1 + tool % SOURCES);
    return NULL;
}

static double measure_scrapes(size_t *ret_bytes)
{
    double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double start = cpu_ns();
        for (uint32_t k = 0; k < SCRAPES; k++) {
            cw_buf text;
            cw_buf_init(&text, (size_t)16 << 20);
            cw_metrics_write(CW_METRICS_OPENMETRICS, &text);
            *ret_bytes = text.n;
            cw_buf_done(&text);
        }
        times[i] = (cpu_ns() - start) / SCRAPES;
    }
    return median(times);
}

static void add_names(cw_metrics_kind kind, const char *prefix, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%03u", prefix, i);
        (void)cw_metrics_slot(kind, cw_str_from(name));
    }
}

int main(void)
{
    pthread_t threads[THREADS];
    size_t bytes = 0;
    cw_metrics_enable(true);
    add_names(CW_METRICS_TOOL, "example.content.tool", TOOLS);
    add_names(CW_METRICS_SOURCE, "service-", SOURCES);
    add_names(CW_METRICS_ROUTE, "/route/", 1);
    for (unsigned i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, fill, NULL))
            return 1;
        pthread_join(threads[i], NULL);
    }
    fill(NULL);
    size_t before = mallinfo2().uordblks;
    double call = measure_calls();
    size_t allocated = mallinfo2().uordblks - before;
    double scrape = measure_scrapes(&bytes);
    printf("{\"call_ns\":%.0f,\"call_bytes\":%zu,\"scrape_us\":%.0f,\"scrape_bytes\":%zu,"
           "\"tools\":%u,\"sources\":%u}\n",
           call, allocated, scrape / 1000.0, bytes, TOOLS, SOURCES);
    return 0;
}
