/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_cells.c - counting and scraping without memory: counts may be missing, nothing ends.
 *
 * Cells are in pages that are never freed (metrics/keep.h), so mmap is wrapped as well.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "metrics/keep.h"
#include "metrics/metrics.h"
#include "metrics/names.h"
#include "metrics/recent.h"
#include "support/oom.h"
#include "support/test.h"

static bool has_no_pages;

/* With 64 bits of offsets, mmap is mmap64 for the linker. */
void *__real_mmap64(void *at, size_t n, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t n, int protection, int flags, int fd, off_t offset);

void *__wrap_mmap64(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    if (has_no_pages) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap64(at, n, protection, flags, fd, offset);
}

static void *count_reloads(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++)
        cw_metrics_count(CW_METRIC_RELOADS, CW_RESULT_OK, 0, 0);
    return NULL;
}

static void run_thread(void)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, count_reloads, NULL), 0);
    pthread_join(thread, NULL);
}

/* A block is larger than what is left of a page: it needs pages of its own. */
TEST(a_thread_without_a_block_counts_in_the_shared_one)
{
    cw_metrics_count(CW_METRIC_RELOADS, CW_RESULT_OK, 0, 0);
    int64_t before = cw_metrics_read(CW_METRIC_RELOADS, CW_RESULT_OK, 0, 0);
    has_no_pages = true;
    run_thread();
    run_thread();
    has_no_pages = false;
    assert_int_equal(cw_metrics_read(CW_METRIC_RELOADS, CW_RESULT_OK, 0, 0), before + 200);
}

TEST(counts_without_memory_are_lost_and_known_ones_go_on)
{
    has_no_pages = true;
    for (unsigned i = 0; cw_metrics_keep(64); i++)
        assert_true(i < 1000000);
    int64_t before = cw_metrics_read(CW_METRIC_RELOADS, CW_RESULT_OK, 0, 0);
    run_thread();
    cw_metrics_count(CW_METRIC_RELOADS, CW_RESULT_OK, 0, 0);
    assert_true(cw_metrics_read(CW_METRIC_RELOADS, CW_RESULT_OK, 0, 0) > before);
    /* Rows that have no memory: a new name, a histogram, a gauge. */
    uint32_t slot = cw_metrics_slot(CW_METRICS_SOURCE, CW_STR("late"));
    cw_metrics_count(CW_METRIC_SOURCE_BREAKER_OPENS, slot, 0, 0);
    cw_metrics_observe(CW_METRIC_SOURCE_CALL, slot, 0, 0, 1000, NULL);
    cw_metrics_set(CW_METRIC_SOURCE_QUEUE, slot, 0, 0, 7);
    cw_recent_add(&(cw_recent_call){.us = 1}, NULL, CW_STR("a.tool"), CW_STR(""));
    has_no_pages = false;
}

static void scrape_once(void *ctx)
{
    cw_buf text;
    (void)ctx;
    cw_buf_init(&text, (size_t)16 << 20);
    cw_metrics_write(CW_METRICS_OPENMETRICS, &text);
    /* The list of child processes may be missing without an error. */
    assert_true(text.code == CW_OK || (text.code == CW_NOMEM && oom_was_hit()));
    cw_buf_done(&text);
}

TEST(a_scrape_survives_every_failed_allocation)
{
    assert_true(oom_each(scrape_once, NULL) >= 1);
}

static void list_once(void *ctx)
{
    cw_buf text;
    cw_json_writer w;
    (void)ctx;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    (void)cw_recent_write(&w, &(cw_recent_query){0}, 10);
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, NULL);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    cw_buf_done(&text);
}

TEST(the_last_calls_survive_every_failed_allocation)
{
    cw_recent_add(&(cw_recent_call){.us = 1}, NULL, CW_STR("a.tool"), CW_STR(""));
    assert_true(oom_each(list_once, NULL) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_without_a_block_counts_in_the_shared_one),
        cmocka_unit_test(a_scrape_survives_every_failed_allocation),
        cmocka_unit_test(the_last_calls_survive_every_failed_allocation),
        cmocka_unit_test(counts_without_memory_are_lost_and_known_ones_go_on),
    };
    cw_metrics_enable(true);
    return cmocka_run_group_tests_name("cells", tests, NULL, NULL);
}
