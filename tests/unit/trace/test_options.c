/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/options.h"

#include "base/log.h"
#include "support/test.h"

static const char *const variables[] = {
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_TIMEOUT",
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    "OTEL_SERVICE_NAME",
    "OTEL_RESOURCE_ATTRIBUTES",
    "OTEL_SDK_DISABLED",
    "OTEL_TRACES_EXPORTER",
    "OTEL_TRACES_SAMPLER",
    "OTEL_TRACES_SAMPLER_ARG",
    "OTEL_BSP_SCHEDULE_DELAY",
    "OTEL_BSP_MAX_QUEUE_SIZE",
    "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
};

static cw_arena arena;

SETUP(clear)
{
    for (size_t i = 0; i < CW_COUNT(variables); i++)
        unsetenv(variables[i]);
    cw_arena_init(&arena, 65536);
    return 0;
}

TEARDOWN(drop)
{
    cw_arena_done(&arena);
    return 0;
}

static cw_trace_opts read_options(const cw_trace_config *config)
{
    cw_trace_opts opts;
    cw_err err;
    assert_int_equal(cw_trace_options_read(config, &arena, &opts, &err), CW_OK);
    return opts;
}

static const cw_trace_config none = {.endpoint = CW_STR_INIT("")};

static const char *text_of(cw_str s)
{
    return cw_arena_dup(&arena, s.p, s.n);
}

TEST(without_an_endpoint_traces_are_off)
{
    cw_trace_opts opts = read_options(&none);
    assert_int_equal(opts.mode, CW_TRACE_OFF);
    assert_int_equal(opts.exporter.url.n, 0);
}

TEST(an_endpoint_of_the_environment_turns_traces_on)
{
    setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318/", 1);
    cw_trace_opts opts = read_options(&none);
    assert_int_equal(opts.mode, CW_TRACE_ON);
    assert_string_equal(text_of(opts.exporter.url), "http://localhost:4318/v1/traces");
    assert_int_equal(opts.exporter.batch, CW_TRACE_BATCH);
    assert_true(opts.ratio > 0.049 && opts.ratio < 0.051);
    setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://other:1/x", 1);
    assert_string_equal(text_of(read_options(&none).exporter.url), "http://other:1/x");
    setenv("OTEL_SDK_DISABLED", "true", 1);
    assert_int_equal(read_options(&none).mode, CW_TRACE_OFF);
    unsetenv("OTEL_SDK_DISABLED");
    setenv("OTEL_TRACES_EXPORTER", "none", 1);
    assert_int_equal(read_options(&none).mode, CW_TRACE_OFF);
}

TEST(the_configuration_counts_before_the_environment)
{
    const cw_http_header headers[] = {{CW_STR("X-A"), CW_STR("1")}};
    cw_trace_config config = {.endpoint = CW_STR("http://configured/v1"),
                              .headers = headers,
                              .n_headers = 1,
                              .has_ratio = true,
                              .ratio = 0.25};
    setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318", 1);
    setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-b=2", 1);
    setenv("OTEL_TRACES_SAMPLER", "always_on", 1);
    cw_trace_opts opts = read_options(&config);
    assert_string_equal(text_of(opts.exporter.url), "http://configured/v1");
    assert_int_equal(opts.exporter.n_headers, 1);
    assert_true(cw_str_is(opts.exporter.headers[0].name, "X-A"));
    assert_int_equal(opts.sampler, CW_TRACE_SAMPLE_PARENT);
    assert_true(opts.ratio > 0.24 && opts.ratio < 0.26);
    config.has_mode = true;
    config.mode = CW_TRACE_PROPAGATE;
    opts = read_options(&config);
    assert_int_equal(opts.mode, CW_TRACE_PROPAGATE);
    assert_int_equal(opts.exporter.url.n, 0);
}

TEST(samplers_have_opentelemetrys_names)
{
    static const struct {
        const char *name, *arg;
        cw_trace_sampler sampler;
        double ratio;
    } cases[] = {
        {"always_on", NULL, CW_TRACE_SAMPLE_RATIO, 1},
        {"always_off", NULL, CW_TRACE_SAMPLE_RATIO, 0},
        {"traceidratio", "0.5", CW_TRACE_SAMPLE_RATIO, 0.5},
        {"parentbased_always_on", NULL, CW_TRACE_SAMPLE_PARENT, 1},
        {"parentbased_always_off", "1", CW_TRACE_SAMPLE_PARENT, 0},
        {"parentbased_traceidratio", "0.125", CW_TRACE_SAMPLE_PARENT, 0.125},
        {"parentbased_traceidratio", "2", CW_TRACE_SAMPLE_PARENT, 1},
        {"unheard_of", NULL, CW_TRACE_SAMPLE_PARENT, CW_TRACE_DEFAULT_RATIO},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        setenv("OTEL_TRACES_SAMPLER", cases[i].name, 1);
        unsetenv("OTEL_TRACES_SAMPLER_ARG");
        if (cases[i].arg)
            setenv("OTEL_TRACES_SAMPLER_ARG", cases[i].arg, 1);
        cw_trace_opts opts = read_options(&none);
        assert_int_equal(opts.sampler, cases[i].sampler);
        assert_true(opts.ratio > cases[i].ratio - 1e-9 && opts.ratio < cases[i].ratio + 1e-9);
    }
}

TEST(headers_and_resource_attributes_are_decoded_and_bad_ones_ignored)
{
    setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x, x-tenant = a%2Cb ,,", 1);
    setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=prod,service.name=other", 1);
    setenv("OTEL_SERVICE_NAME", "gateway", 1);
    setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "soon", 1);
    cw_trace_export_opts exporter = read_options(&none).exporter;
    assert_int_equal(exporter.n_headers, 2);
    assert_string_equal(text_of(exporter.headers[0].value), "Bearer x");
    assert_string_equal(text_of(exporter.headers[1].name), "x-tenant");
    assert_string_equal(text_of(exporter.headers[1].value), "a,b");
    assert_int_equal(exporter.timeout_ms, CW_TRACE_TIMEOUT_MS);
    assert_true(cw_str_is(exporter.resource[0].key, "service.name"));
    assert_string_equal(text_of(exporter.resource[0].text), "gateway");
    assert_true(cw_str_is(exporter.resource[1].key, "deployment.environment.name"));
    setenv("OTEL_EXPORTER_OTLP_HEADERS", "good=1,bad=%zz,later=2", 1);
    assert_int_equal(read_options(&none).exporter.n_headers, 1);
}

TEST(a_batch_is_no_larger_than_the_queue)
{
    setenv("OTEL_BSP_MAX_QUEUE_SIZE", "100", 1);
    setenv("OTEL_BSP_SCHEDULE_DELAY", "50", 1);
    cw_trace_export_opts exporter = read_options(&none).exporter;
    assert_int_equal(exporter.queue, 100);
    assert_int_equal(exporter.batch, 100);
    assert_int_equal(exporter.delay_ms, 50);
}

#define options_test(name) cmocka_unit_test_setup_teardown(name, clear, drop)

int main(void)
{
    cw_err err;
    /* Variables that cannot be read are logged. */
    if (cw_log_configure(&(cw_log_opts){.level = CW_LOG_OFF}, &err))
        return 1;
    const struct CMUnitTest tests[] = {
        options_test(without_an_endpoint_traces_are_off),
        options_test(an_endpoint_of_the_environment_turns_traces_on),
        options_test(the_configuration_counts_before_the_environment),
        options_test(samplers_have_opentelemetrys_names),
        options_test(headers_and_resource_attributes_are_decoded_and_bad_ones_ignored),
        options_test(a_batch_is_no_larger_than_the_queue),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
