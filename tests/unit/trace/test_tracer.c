/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_tracer.c - spans from their begin to a collector, with every allocation failing in turn. */
#include "trace/tracer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/log.h"
#include "support/client_fixture.h"
#include "trace/options.h"

#define ACCEPTED                                                                                   \
    "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n"

static const fake_step accept_all[] = {DO_READ, DO_SEND(ACCEPTED), DO_REPEAT};

static client_fixture fixture;

static void on_flushed(void *ctx)
{
    *(bool *)ctx = true;
}

static void record_span(cw_trace_loop *l, const cw_span *span, cw_str name)
{
    cw_otlp_writer *w = NULL;
    if (cw_span_is_kept(l, span, /* has_failed= */ false))
        w = cw_span_open(
            l, span,
            &(cw_span_report){.name = name, .kind = CW_SPAN_SERVER, .end_ns = cw_clock_ns()});
    if (!w)
        return;
    cw_otlp_add_text(w, CW_STR("key"), CW_STR("value"));
    cw_span_close(l);
}

static void record_spans(cw_trace_loop *l, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        cw_span span = {.is_on = false};
        cw_span_begin(l, NULL, cw_clock_ns(), &span);
        record_span(l, &span, CW_STR("span"));
    }
}

static cw_code configure(cw_tracer *t, const char *url, bool is_gzip, cw_err *err)
{
    cw_trace_opts opts = {.mode = CW_TRACE_ON,
                          .ratio = 1,
                          .exporter = {.url = cw_str_from(url),
                                       .ca_file = CW_STR(""),
                                       .certificate = CW_STR(""),
                                       .key = CW_STR(""),
                                       .timeout_ms = CW_TRACE_TIMEOUT_MS,
                                       .give_up_ms = 1,
                                       .is_gzip = is_gzip,
                                       .delay_ms = 1,
                                       .batch = CW_TRACE_BATCH,
                                       .queue = CW_TRACE_QUEUE}};
    return cw_tracer_configure(t, &opts, err);
}

static void send_spans(cw_tracer *t)
{
    cw_trace_counts n;
    bool is_flushed = false;
    record_spans(cw_tracer_loop(t, 0), 3);
    cw_tracer_flush(t, CLIENT_WAIT_MS, on_flushed, &is_flushed);
    client_run_until(&fixture, is_flushed);
    cw_tracer_counts(t, &n);
    assert_int_equal(n.sent + n.full + n.failed, 3);
    if (!oom_was_hit())
        assert_int_equal(n.sent, 3);
}

/* A tracer sends some spans and ends. Without memory it may send none, and counts them. */
static void trace(const char *url, bool is_gzip)
{
    cw_tracer *t = NULL;
    cw_err err = {0};
    size_t live = oom_live();
    cw_code rc = cw_tracer_new(&fixture.loop, 1, &t, &err);
    assert_true(rc == CW_OK || oom_was_hit());
    if (rc)
        return;
    rc = configure(t, url, is_gzip, &err);
    assert_true(rc == CW_OK || oom_was_hit());
    if (!rc)
        send_spans(t);
    cw_tracer_free(t);
    client_run_until(&fixture, oom_live() <= live);
}

/* Each with a collector of its own: the number of its connections is limited. */
static void trace_once(void *is_gzip)
{
    char url[64];
    fake_server collector;
    fake_server_start(&collector, SCRIPTS(accept_all), 1);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/v1/traces", collector.port);
    trace(url, is_gzip != NULL);
    fake_server_stop(&collector);
}

TEST(spans_survive_every_failed_allocation)
{
    assert_true(oom_each(trace_once, NULL) >= 5);
}

TEST(compressed_spans_survive_every_failed_allocation)
{
    assert_true(oom_each(trace_once, &fixture) >= 5);
}

/* The options are read at start-up and at each reload. */
static void read_once(void *ctx)
{
    cw_arena arena;
    cw_trace_opts opts;
    cw_err err = {0};
    (void)ctx;
    cw_arena_init(&arena, 65536);
    cw_code rc =
        cw_trace_options_read(&(cw_trace_config){.endpoint = CW_STR("")}, &arena, &opts, &err);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    cw_arena_done(&arena);
}

TEST(options_survive_every_failed_allocation)
{
    setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318", 1);
    setenv("OTEL_EXPORTER_OTLP_HEADERS", "a=b,c=d", 1);
    setenv("OTEL_RESOURCE_ATTRIBUTES", "e=f", 1);
    assert_true(oom_each(read_once, NULL) >= 1);
}

TEST(spans_beyond_the_queue_the_rate_and_the_size_are_counted)
{
    static char large[CW_SPAN_MAX];
    cw_tracer *t;
    cw_err err = {0};
    cw_trace_counts n;
    assert_int_equal(cw_tracer_new(&fixture.loop, 1, &t, &err), CW_OK);
    cw_trace_opts opts = {
        .mode = CW_TRACE_ON, .ratio = 1, .exporter = {.url = CW_STR(""), .batch = 4, .queue = 4}};
    assert_int_equal(cw_tracer_configure(t, &opts, &err), CW_OK);
    cw_trace_loop *l = cw_tracer_loop(t, 0);
    record_spans(l, 10);
    cw_tracer_counts(t, &n);
    assert_int_equal(n.full, 6);
    cw_span span = {.is_on = false};
    memset(large, 'x', sizeof large);
    cw_span_begin(l, NULL, cw_clock_ns(), &span);
    opts.exporter.queue = 5;
    assert_int_equal(cw_tracer_configure(t, &opts, &err), CW_OK);
    record_span(l, &span, cw_str_make(large, sizeof large));
    cw_tracer_counts(t, &n);
    assert_int_equal(n.large, 1);
    opts.rate = 1;
    assert_int_equal(cw_tracer_configure(t, &opts, &err), CW_OK);
    record_spans(l, 10);
    cw_tracer_counts(t, &n);
    assert_true(n.limited >= 8); /* at most two seconds have begun */
    cw_tracer_free(t);
}

#define MANY 20000u

typedef struct writing {
    cw_trace_loop *loop;
    atomic_bool is_over;
} writing;

static void *write_many(void *arg)
{
    writing *w = arg;
    record_spans(w->loop, MANY);
    atomic_store(&w->is_over, true);
    return NULL;
}

/* The buffers change hands while their loop, another thread, writes. */
TEST(spans_that_are_written_while_others_are_taken_are_all_counted)
{
    char url[64];
    fake_server collector;
    cw_tracer *t;
    cw_err err = {0};
    cw_trace_counts n;
    pthread_t thread;
    bool is_flushed = false;
    fake_server_start(&collector, SCRIPTS(accept_all), 1);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/v1/traces", collector.port);
    assert_int_equal(cw_tracer_new(&fixture.loop, 1, &t, &err), CW_OK);
    assert_int_equal(configure(t, url, /* is_gzip= */ false, &err), CW_OK);
    writing w = {.loop = cw_tracer_loop(t, 0)};
    assert_int_equal(pthread_create(&thread, NULL, write_many, &w), 0);
    client_run_until(&fixture, atomic_load(&w.is_over));
    pthread_join(thread, NULL);
    cw_tracer_flush(t, CLIENT_WAIT_MS, on_flushed, &is_flushed);
    client_run_until(&fixture, is_flushed);
    cw_tracer_counts(t, &n);
    assert_int_equal(n.sent + n.full, MANY);
    assert_true(n.sent >= CW_TRACE_BATCH);
    cw_tracer_free(t);
    fake_server_stop(&collector);
}

SETUP(start)
{
    client_fixture_init(&fixture);
    return 0;
}

TEARDOWN(stop)
{
    client_fixture_done(&fixture);
    return 0;
}

int main(void)
{
    cw_err err;
    if (cw_log_configure(&(cw_log_opts){.level = CW_LOG_OFF}, &err))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(spans_survive_every_failed_allocation, start, stop),
        cmocka_unit_test_setup_teardown(compressed_spans_survive_every_failed_allocation, start,
                                        stop),
        cmocka_unit_test(options_survive_every_failed_allocation),
        cmocka_unit_test_setup_teardown(
            spans_that_are_written_while_others_are_taken_are_all_counted, start, stop),
        cmocka_unit_test_setup_teardown(spans_beyond_the_queue_the_rate_and_the_size_are_counted,
                                        start, stop),
    };
    return cmocka_run_group_tests_name("tracer", tests, NULL, NULL);
}
