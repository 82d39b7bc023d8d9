/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of an MCP server before its response, and the request of a call. */
#include "source/remote/mcp/relayed.h"
#include "support/test.h"

static cw_arena arena;
static cw_relayed_questions questions;
static unsigned n_asked, n_withdrawn, n_progress, n_logs;
static uint32_t last_number;

static void on_progress(cw_sink *sink, const cw_progress *progress)
{
    (void)sink;
    n_progress += progress->progress > 0;
}

static void on_log(cw_sink *sink, cw_log_level level, cw_str message)
{
    (void)sink;
    (void)message;
    n_logs += level == CW_LOG_WARN;
}

static void on_ask(cw_sink *sink, const cw_question *question)
{
    (void)sink;
    n_asked++;
    last_number = question->number;
}

static void on_withdraw(cw_sink *sink, uint32_t number)
{
    (void)sink;
    n_withdrawn++;
    assert_int_equal(number, last_number);
}

static const cw_sink_ops ops = {
    .progress = on_progress, .log = on_log, .ask = on_ask, .withdraw = on_withdraw};
static cw_sink sink = {&ops};

static cw_source_call call = {.arena = &arena, .sink = &sink};

SETUP(begin)
{
    cw_arena_init(&arena, (size_t)1 << 20);
    questions = (cw_relayed_questions){0};
    n_asked = n_withdrawn = n_progress = n_logs = last_number = 0;
    return 0;
}

TEARDOWN(end)
{
    cw_arena_done(&arena);
    return 0;
}

/* The server sends this; the reply that it gets at once, or "". */
static const char *receive(const char *text, unsigned asks)
{
    static char replied[256];
    const cw_json *message = NULL;
    CW_CLEANUP(cw_buf_done) cw_buf reply;
    cw_buf_init(&reply, 4096);
    assert_int_equal(cw_json_read(cw_str_from(text), NULL, &arena, &message, NULL, NULL), CW_OK);
    cw_relayed_receive(&call, asks, &questions, message, &reply);
    snprintf(replied, sizeof replied, "%.*s", (int)reply.n, reply.p ? reply.p : "");
    return replied;
}

#define FORM "{\"id\":\"q\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"?\"}}"
#define CANCEL(id) "{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" id "}}"

TEST(a_question_goes_to_the_client_if_the_source_may_ask_it)
{
    assert_string_equal(receive(FORM, CW_RELAY_FORM), "");
    assert_int_equal(n_asked, 1);
    assert_non_null(strstr(receive(FORM, CW_RELAY_URL), "-32601"));
    assert_non_null(strstr(receive("{\"id\":2,\"method\":\"no/such\"}", 0), "-32601"));
    assert_non_null(strstr(receive("{\"id\":3,\"method\":\"ping\"}", 0), "\"result\":{}"));
    assert_int_equal(n_asked, 1);
}

TEST(a_question_that_is_taken_back_needs_no_answer)
{
    CW_CLEANUP(cw_buf_done) cw_buf reply;
    cw_buf_init(&reply, 4096);
    receive(FORM, CW_RELAY_FORM);
    receive(CANCEL("\"other\""), CW_RELAY_FORM);
    receive("{\"method\":\"notifications/cancelled\"}", CW_RELAY_FORM);
    assert_int_equal(n_withdrawn, 0);
    receive(CANCEL("\"q\""), CW_RELAY_FORM);
    receive(CANCEL("\"q\""), CW_RELAY_FORM);
    assert_int_equal(n_withdrawn, 1);
    assert_false(cw_relayed_answer(&questions, last_number, CW_STR("{}"), CW_STR(""), &reply));
    assert_int_equal(reply.n, 0);
}

TEST(an_answer_is_sent_once_and_then_nothing_can_be_taken_back)
{
    CW_CLEANUP(cw_buf_done) cw_buf reply;
    cw_buf_init(&reply, 4096);
    receive(FORM, CW_RELAY_FORM);
    assert_true(cw_relayed_answer(&questions, last_number, CW_STR("{\"action\":\"accept\"}"),
                                  CW_STR(""), &reply));
    assert_true(cw_str_is(cw_buf_str(&reply),
                          "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{\"action\":\"accept\"}}"));
    assert_false(cw_relayed_answer(&questions, last_number, CW_STR("{}"), CW_STR(""), &reply));
    receive(CANCEL("\"q\""), CW_RELAY_FORM);
    assert_int_equal(n_withdrawn, 0);
}

TEST(questions_and_log_lines_of_a_call_are_bounded)
{
    for (unsigned i = 0; i < CW_RELAYED_QUESTIONS; i++)
        assert_string_equal(receive(FORM, CW_RELAY_FORM), "");
    assert_non_null(strstr(receive(FORM, CW_RELAY_FORM), "Too many questions"));
    for (unsigned i = 0; i < CW_RELAYED_LOGS + 10; i++)
        receive("{\"method\":\"notifications/message\",\"params\":{\"level\":\"warning\","
                "\"data\":{\"a\":1}}}",
                0);
    assert_int_equal(n_logs, CW_RELAYED_LOGS);
    receive("{\"method\":\"notifications/progress\",\"params\":{\"progress\":2}}", 0);
    assert_int_equal(n_progress, 1);
}

#define IN_ARENA(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ARENA(a_question_goes_to_the_client_if_the_source_may_ask_it),
        IN_ARENA(a_question_that_is_taken_back_needs_no_answer),
        IN_ARENA(an_answer_is_sent_once_and_then_nothing_can_be_taken_back),
        IN_ARENA(questions_and_log_lines_of_a_call_are_bounded),
    };
    return cmocka_run_group_tests_name("relayed", tests, NULL, NULL);
}
