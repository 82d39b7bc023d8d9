/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "source/plugin/plugin_int.h"
#include "support/test.h"

static cw_arena arena;
static cw_sink sink;
static cw_source_call call;
static const cw_plugin plugin; /* without anybody who wants news */
static size_t n_uri;
static int n_progress, n_log;
static double total;
static char text[64];

static void on_progress(cw_sink *s, const cw_progress *progress)
{
    (void)s;
    n_progress++;
    total = progress->total;
    snprintf(text, sizeof text, "%.*s", CW_STR_ARG(progress->message));
}

static void on_log(cw_sink *s, cw_log_level level, cw_str message)
{
    (void)s;
    n_log++;
    snprintf(text, sizeof text, "%d %.*s", (int)level, CW_STR_ARG(message));
}

static void on_done(cw_sink *s, const cw_outcome *outcome)
{
    (void)s;
    (void)outcome;
    fail_msg("done was called");
}

static const cw_sink_ops ops = {.progress = on_progress, .log = on_log, .done = on_done};

SETUP(set_up)
{
    cw_arena_init(&arena, 1 << 20);
    sink.ops = &ops;
    call = (cw_source_call){.sink = &sink, .wants_progress = true};
    n_progress = n_log = 0;
    n_uri = 0;
    return 0;
}

TEARDOWN(tear_down)
{
    cw_arena_done(&arena);
    return 0;
}

TEST(answers_are_results_or_errors)
{
    cw_outcome out;
    assert_int_equal(cw_plugin_read_response(
                         CW_STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}"), &arena, &out),
                     CW_OK);
    assert_int_equal(out.kind, CW_OUTCOME_RESULT);
    assert_true(cw_json_is(out.result, CW_JSON_NULL));
    assert_int_equal(cw_plugin_read_response(CW_STR("{\"error\":{\"code\":-7,\"message\":\"m\","
                                                    "\"data\":{\"a\":1}}}"),
                                             &arena, &out),
                     CW_OK);
    assert_int_equal(out.kind, CW_OUTCOME_ERROR);
    assert_int_equal(out.code, -7);
    assert_true(cw_str_is(out.message, "m"));
    assert_non_null(cw_json_get(out.data, CW_STR("a")));
}

TEST(anything_else_is_no_answer)
{
    static const char *const wrong[] = {
        "",
        "x",
        "[]",
        "1",
        "{}",
        "{\"error\":1}",
        "{\"error\":{\"code\":1}}",
        "{\"error\":{\"message\":\"m\"}}",
        "{\"error\":{\"code\":\"1\",\"message\":\"m\"}}",
        "{\"error\":{\"code\":1.5,\"message\":\"m\"}}",
        "{\"result\":1}x",
        "{\"result\":1,\"result\":2}",
        "{\"result\":1,\"content\":{}}",
        "{\"result\":1,\"content\":[5]}",
        "{\"result\":1,\"content\":[{}]}",
        "{\"result\":1,\"content\":[[]]}",
        "{\"result\":1,\"content\":[{\"type\":5}]}",
        "{\"result\":1,\"content\":[{\"type\":\"text\"},null]}",
        "{\"result\":1,\"content\":[{\"type\":\"text\",\"role\":\"system\"}]}",
        "{\"result\":1,\"content\":[{\"type\":\"text\",\"role\":{\"a\":1}}]}",
        "{\"asks\":{},\"state\":5}",
        "{\"asks\":{\"a\":{}}}",
        "{\"asks\":{}}",
        "{\"asks\":[]}",
    };
    for (size_t i = 0; i < CW_COUNT(wrong); i++) {
        cw_outcome out;
        if (cw_plugin_read_response(cw_str_from(wrong[i]), &arena, &out) != CW_PARSE)
            fail_msg("'%s' was taken", wrong[i]);
    }
}

TEST(blocks_of_content_have_a_type_and_perhaps_a_role)
{
    static const char *const right[] = {
        "{\"result\":1,\"content\":[]}",
        "{\"result\":null,\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"new\"}]}",
        ("{\"result\":1,\"content\":[{\"role\":\"user\",\"type\":\"text\"},"
         "{\"role\":\"assistant\",\"type\":\"text\"}]}"),
    };
    for (size_t i = 0; i < CW_COUNT(right); i++) {
        cw_outcome out;
        if (cw_plugin_read_response(cw_str_from(right[i]), &arena, &out) != CW_OK)
            fail_msg("'%s' was refused", right[i]);
        assert_true(cw_json_is(out.content, CW_JSON_ARRAY));
    }
}

/* An answer with a question and a state of n bytes. */
static cw_code read_state(size_t n, cw_outcome *ret)
{
    cw_buf b;
    cw_buf_init(&b, 1 << 20);
    cw_buf_add(&b, CW_STR("{\"asks\":{\"a\":{\"method\":\"roots/list\"}},\"state\":\""));
    for (size_t i = 0; i < n; i++)
        cw_buf_add_char(&b, 's');
    cw_buf_add(&b, CW_STR("\"}"));
    cw_code rc = cw_plugin_read_response(cw_buf_str(&b), &arena, ret);
    cw_buf_done(&b);
    return rc;
}

TEST(a_state_has_a_ceiling)
{
    cw_outcome out;
    assert_int_equal(read_state(CW_PLUGIN_MAX_STATE, &out), CW_OK);
    assert_int_equal(out.kind, CW_OUTCOME_INPUT_REQUIRED);
    assert_int_equal(out.state.n, CW_PLUGIN_MAX_STATE);
    assert_int_equal(read_state(CW_PLUGIN_MAX_STATE + 1, &out), CW_PARSE);
}

TEST(an_answer_beyond_the_arena_is_a_limit)
{
    cw_arena small;
    cw_arena_init(&small, 64);
    cw_outcome out;
    assert_int_equal(
        cw_plugin_read_response(CW_STR("{\"result\":[1,2,3,4,5,6,7,8]}"), &small, &out), CW_LIMIT);
    cw_arena_done(&small);
}

#define NOTICE(rest) CW_STR("{\"jsonrpc\":\"2.0\",\"method\":\"$/" rest "}")

TEST(notices_reach_the_sink)
{
    cw_str started = NOTICE("started\"");
    assert_true(cw_plugin_is_notification(started));
    assert_false(
        cw_plugin_is_notification(CW_STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":true}")));
    assert_false(cw_plugin_is_notification(CW_STR("{\"jsonrpc\":\"2.0\"")));
    assert_int_equal(cw_plugin_read_notification(&plugin, started, &call, CW_STR("a.b"), &arena),
                     CW_OK);
    cw_str progress = NOTICE("progress\",\"params\":{\"progress\":1,\"message\":\"hi\"}");
    assert_int_equal(cw_plugin_read_notification(&plugin, progress, &call, CW_STR("a.b"), &arena),
                     CW_OK);
    assert_int_equal(n_progress, 1);
    assert_true(isnan(total));
    assert_string_equal(text, "hi");
    cw_str log = NOTICE("log\",\"params\":{\"level\":\"debug\",\"message\":\"line\"}");
    assert_int_equal(cw_plugin_read_notification(&plugin, log, &call, CW_STR("a.b"), &arena),
                     CW_OK);
    assert_string_equal(text, "3 line");
    call.wants_progress = false;
    assert_int_equal(cw_plugin_read_notification(&plugin, progress, &call, CW_STR("a.b"), &arena),
                     CW_OK);
    assert_int_equal(cw_plugin_read_notification(&plugin, progress, NULL, CW_STR("a.b"), &arena),
                     CW_OK);
    assert_int_equal(cw_plugin_read_notification(&plugin, log, NULL, CW_STR("a.b"), &arena), CW_OK);
    assert_int_equal(n_progress, 1);
    assert_int_equal(n_log, 1);
}

TEST(notices_that_mean_nothing_are_told_apart)
{
    const cw_str wrong[] = {
        NOTICE("else\""),
        NOTICE("progress\""),
        NOTICE("progress\",\"params\":{\"progress\":\"1\"}"),
        NOTICE("progress\",\"params\":{\"progress\":1,\"total\":[]}"),
        NOTICE("log\",\"params\":{\"level\":\"loud\",\"message\":\"x\"}"),
        NOTICE("log\",\"params\":{\"level\":\"info\"}"),
        CW_STR("{\"jsonrpc\":\"2.0\",\"method\":\"$/log\","),
    };
    for (size_t i = 0; i < CW_COUNT(wrong); i++)
        assert_int_equal(
            cw_plugin_read_notification(&plugin, wrong[i], &call, CW_STR("a.b"), &arena), CW_PARSE);
    assert_int_equal(n_progress + n_log, 0);
}

static void on_change_event(cw_change_sink *port, const cw_change *change)
{
    (void)port;
    n_uri = change->uri.n;
}

static cw_code announce(size_t n)
{
    static cw_change_sink port = {.tell = on_change_event};
    static cw_plugin listened;
    cw_buf b;
    listened.base.change = &port;
    cw_buf_init(&b, 1 << 20);
    cw_buf_add(&b, CW_STR("{\"jsonrpc\":\"2.0\",\"method\":\"$/updated\",\"params\":{\"uri\":\""));
    for (size_t i = 0; i < n; i++)
        cw_buf_add_char(&b, 'u');
    cw_buf_add(&b, CW_STR("\"}}"));
    cw_code rc =
        cw_plugin_read_notification(&listened, cw_buf_str(&b), NULL, CW_STR("a.b"), &arena);
    cw_buf_done(&b);
    return rc;
}

TEST(an_announced_address_has_a_ceiling)
{
    assert_int_equal(announce(CW_RESOURCE_MAX_URI), CW_OK);
    assert_int_equal(n_uri, CW_RESOURCE_MAX_URI);
    n_uri = 0;
    assert_int_equal(announce(CW_RESOURCE_MAX_URI + 1), CW_PARSE);
    assert_int_equal(n_uri, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(answers_are_results_or_errors),
        T(anything_else_is_no_answer),
        T(blocks_of_content_have_a_type_and_perhaps_a_role),
        T(a_state_has_a_ceiling),
        T(an_answer_beyond_the_arena_is_a_limit),
        T(notices_reach_the_sink),
        T(notices_that_mean_nothing_are_told_apart),
        T(an_announced_address_has_a_ceiling),
    };
    return cmocka_run_group_tests_name("source/plugin_frames", tests, NULL, NULL);
}
