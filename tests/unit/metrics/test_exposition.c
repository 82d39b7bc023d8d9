/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_exposition.c - the text of metrics: names that must be escaped, sums over threads, exemplars,
 * slots that run out.
 */
#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "metrics/metrics.h"
#include "metrics/names.h"
#include "metrics/recent.h"
#include "support/test.h"

static bool has_line(cw_metrics_form form, const char *line)
{
    cw_buf text;
    cw_buf_init(&text, (size_t)16 << 20);
    cw_metrics_write(form, &text);
    cw_buf_add_char(&text, '\0');
    assert_int_equal(text.code, CW_OK);
    char wanted[512];
    snprintf(wanted, sizeof wanted, "\n%s\n", line);
    bool has = strstr(text.p, wanted) != NULL;
    cw_buf_done(&text);
    return has;
}

TEST(exposition_escapes_quotes_backslashes_and_line_breaks)
{
    uint32_t slot = cw_metrics_slot(CW_METRICS_SOURCE, CW_STR("a\"b\\c\nd} 1"));
    cw_metrics_count(CW_METRIC_SOURCE_BREAKER_OPENS, slot, 0, 0);
    const char *line = "causeway_source_breaker_opens_total{source=\"a\\\"b\\\\c\\nd} 1\"} 1";
    assert_true(has_line(CW_METRICS_TEXT, line));
    assert_true(has_line(CW_METRICS_OPENMETRICS, line));
}

static void *count_reloads(void *arg)
{
    (void)arg;
    for (int i = 0; i < 1000; i++)
        cw_metrics_count(CW_METRIC_RELOADS, CW_RESULT_OK, 0, 0);
    return NULL;
}

TEST(exposition_sums_the_cells_of_all_threads_also_of_ended_ones)
{
    pthread_t threads[4];
    for (size_t i = 0; i < CW_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_reloads, NULL), 0);
    for (size_t i = 0; i < CW_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    count_reloads(NULL);
    assert_int_equal(cw_metrics_read(CW_METRIC_RELOADS, CW_RESULT_OK, 0, 0), 5000);
    assert_true(has_line(CW_METRICS_TEXT, "causeway_reloads_total{result=\"ok\"} 5000"));
    assert_true(has_line(CW_METRICS_TEXT, "causeway_reloads_total{result=\"failed\"} 0"));
}

static void *end_stream(void *arg)
{
    (void)arg;
    cw_metrics_add(CW_METRIC_STREAMS, CW_STREAM_LISTEN, 0, 0, -1);
    return NULL;
}

TEST(exposition_shows_a_gauge_that_one_thread_raises_and_another_lowers)
{
    pthread_t thread;
    cw_metrics_add(CW_METRIC_STREAMS, CW_STREAM_LISTEN, 0, 0, 2);
    assert_int_equal(pthread_create(&thread, NULL, end_stream, NULL), 0);
    pthread_join(thread, NULL);
    assert_true(has_line(CW_METRICS_TEXT, "causeway_streams{kind=\"listen\"} 1"));
}

TEST(exposition_writes_exemplars_in_openmetrics_only)
{
    const cw_ids ids = {.trace_id = {0xab, [15] = 0x01}, .span_id = {0xcd}};
    const cw_metrics_exemplar e = {&ids, cw_clock_ns()};
    uint32_t slot = cw_metrics_slot(CW_METRICS_SOURCE, CW_STR("traced"));
    cw_metrics_observe(CW_METRIC_SOURCE_CALL, slot, 0, 0, 4300000, &e);
    cw_buf text;
    cw_buf_init(&text, (size_t)16 << 20);
    cw_metrics_write(CW_METRICS_OPENMETRICS, &text);
    cw_buf_add_char(&text, '\0');
    assert_non_null(strstr(text.p, "{source=\"traced\",le=\"0.005\"} 1 # {trace_id=\""
                                   "ab000000000000000000000000000001\",span_id="
                                   "\"cd00000000000000\"} 0.0043 "));
    assert_non_null(strstr(text.p, "{source=\"traced\",le=\"0.01\"} 1\n"));
    cw_buf_done(&text);
    assert_true(has_line(CW_METRICS_TEXT, "causeway_source_call_duration_seconds_bucket{"
                                          "source=\"traced\",le=\"0.005\"} 1"));
}

TEST(summary_has_quantiles_by_bucket)
{
    cw_metrics_summary s;
    uint32_t slot = cw_metrics_slot(CW_METRICS_SOURCE, CW_STR("quantiles"));
    for (int i = 0; i < 95; i++)
        cw_metrics_observe(CW_METRIC_SOURCE_CALL, slot, 0, 0, 900000, NULL);
    for (int i = 0; i < 5; i++)
        cw_metrics_observe(CW_METRIC_SOURCE_CALL, slot, 0, 0, 90000000, NULL);
    cw_metrics_summarize(CW_METRIC_SOURCE_CALL, slot, 0, 0, &s);
    assert_int_equal(s.count, 100);
    assert_int_equal(cw_metrics_quantile(&s, 0.5), 1000000);
    assert_int_equal(cw_metrics_quantile(&s, 0.99), 100000000);
}

TEST(names_beyond_the_limit_share_a_slot_and_known_ones_keep_theirs)
{
    char name[32];
    uint32_t first = cw_metrics_slot(CW_METRICS_TOOL, CW_STR("first"));
    cw_metrics_limit_tools(10);
    for (int i = 0; i < 100000; i++) {
        snprintf(name, sizeof name, "tool%d", i);
        (void)cw_metrics_slot(CW_METRICS_TOOL, cw_str_from(name));
    }
    assert_int_equal(cw_metrics_slots(CW_METRICS_TOOL), 11);
    assert_int_equal(cw_metrics_slot(CW_METRICS_TOOL, CW_STR("tool99999")), 0);
    assert_int_equal(cw_metrics_slot(CW_METRICS_TOOL, CW_STR("first")), first);
    assert_int_equal(cw_metrics_read(CW_METRIC_FOLDED, 0, 0, 0), 100000 - 9 + 1);
}

static void expect_recent(const cw_recent_query *query, size_t max, const char *first,
                          const char *end)
{
    cw_buf b;
    cw_json_writer w;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    assert_int_equal(cw_recent_write(&w, query, max), 1000);
    cw_json_close(&w);
    assert_int_equal(cw_json_writer_end(&w, NULL), CW_OK);
    cw_buf_add_char(&b, '\0');
    assert_non_null(strstr(b.p, first));
    assert_non_null(strstr(b.p, end));
    cw_buf_done(&b);
}

TEST(recent_calls_are_kept_newest_first_and_the_oldest_fall_out)
{
    for (int i = 0; i < 1000; i++)
        cw_recent_add(&(cw_recent_call){.us = (uint64_t)i, .outcome = 1}, NULL,
                      i % 4 ? CW_STR("a.tool") : CW_STR("b.tool"), CW_STR("alice"));
    assert_int_equal(cw_recent_last(), 1000);
    expect_recent(&(cw_recent_query){.after = 998}, 1, "[{\"seq\":1000,",
                  "\"left_out\":1,\"last\":1000");
    expect_recent(&(cw_recent_query){0}, 100, "[{\"seq\":1000,", "\"left_out\":900,\"last\":1000");
    expect_recent(&(cw_recent_query){.after = 990, .tool = CW_STR("b.tool")}, 10, "[{\"seq\":997,",
                  "\"us\":992}],\"left_out\":0,\"last\":1000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exposition_escapes_quotes_backslashes_and_line_breaks),
        cmocka_unit_test(exposition_sums_the_cells_of_all_threads_also_of_ended_ones),
        cmocka_unit_test(exposition_shows_a_gauge_that_one_thread_raises_and_another_lowers),
        cmocka_unit_test(exposition_writes_exemplars_in_openmetrics_only),
        cmocka_unit_test(summary_has_quantiles_by_bucket),
        cmocka_unit_test(names_beyond_the_limit_share_a_slot_and_known_ones_keep_theirs),
        cmocka_unit_test(recent_calls_are_kept_newest_first_and_the_oldest_fall_out),
    };
    cw_metrics_enable(true);
    return cmocka_run_group_tests_name("exposition", tests, NULL, NULL);
}
