/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests in the form of each era, and the era that an answer shows. */
#include "source/relay/relay.h"
#include "support/test.h"

static cw_arena arena;

static const cw_json *parse(const char *text)
{
    const cw_json *root = NULL;
    cw_arena_reset(&arena);
    assert_int_equal(cw_json_read(cw_str_from(text), NULL, &arena, &root, NULL, NULL), CW_OK);
    return root;
}

static const cw_relay_request call = {
    .method = CW_STR_INIT("tools/call"),
    .members = CW_STR_INIT("\"name\":\"a\""),
    .meta = CW_STR_INIT("\"example.org/x\":1"),
    .capabilities = CW_RELAY_FORM,
    .wants_progress = true,
};

static void assert_written(cw_relay_era era, const char *expected)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, 4096);
    cw_relay_write(&out, &call, era, 7);
    assert_int_equal(out.code, CW_OK);
    assert_true(cw_str_is(cw_buf_str(&out), expected));
}

TEST(a_legacy_request_has_the_token_and_what_is_passed)
{
    assert_written(CW_RELAY_LEGACY,
                   "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":"
                   "\"a\",\"_meta\":{\"progressToken\":7,\"example.org/x\":1}}}");
}

TEST(a_modern_request_has_the_envelope_too)
{
    assert_written(
        CW_RELAY_MODERN,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"a\",\"_meta"
        "\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"
        "clientInfo\":{\"name\":\"causeway\",\"version\":\"" CW_VERSION
        "\"},\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{\"form\":{}}},"
        "\"progressToken\":7,\"example.org/x\":1}}}");
}

TEST(the_answer_to_discover_shows_the_era)
{
    static const struct {
        unsigned status;
        const char *answer;
        cw_relay_era era;
    } rows[] = {
        {200, "{\"result\":{\"supportedVersions\":[\"2026-07-28\"]}}", CW_RELAY_MODERN},
        {200, "{\"result\":{\"supportedVersions\":[\"2025-11-25\"]}}", CW_RELAY_LEGACY},
        {200, "{\"result\":{\"resultType\":\"input_required\"}}", CW_RELAY_MODERN},
        {200, "{\"result\":{\"resultType\":\"complete\"}}", CW_RELAY_LEGACY},
        {400, "{\"error\":{\"code\":-32020}}", CW_RELAY_MODERN},
        {400, "{\"error\":{\"code\":-32022}}", CW_RELAY_MODERN},
        {200, "{\"error\":{\"code\":-32601}}", CW_RELAY_LEGACY},
        {404, "{\"error\":{\"code\":-32601}}", CW_RELAY_LEGACY},
        {405, "{}", CW_RELAY_LEGACY},
        {401, "{}", CW_RELAY_UNKNOWN},
        {403, "{}", CW_RELAY_UNKNOWN},
        {429, "{}", CW_RELAY_UNKNOWN},
        {503, "{}", CW_RELAY_UNKNOWN},
    };
    for (size_t i = 0; i < CW_COUNT(rows); i++)
        assert_int_equal(cw_relay_judge(rows[i].status, parse(rows[i].answer)), rows[i].era);
}

TEST(any_version_of_the_legacy_era_is_accepted)
{
    assert_true(
        cw_str_is(cw_relay_negotiated(parse("{\"result\":{\"protocolVersion\":\"2024-11-05\"}}")),
                  "2024-11-05"));
    assert_null(cw_relay_negotiated(parse("{\"error\":{\"code\":-32022}}")).p);
    assert_null(cw_relay_negotiated(parse("{\"result\":{\"protocolVersion\":1}}")).p);
}

TEST(questions_need_the_capability_of_their_kind)
{
    assert_int_equal(cw_relay_question(CW_STR("elicitation/create"), parse("{}")), CW_RELAY_FORM);
    assert_int_equal(cw_relay_question(CW_STR("elicitation/create"), parse("{\"mode\":\"url\"}")),
                     CW_RELAY_URL);
    assert_int_equal(cw_relay_question(CW_STR("roots/list"), NULL), CW_RELAY_ROOTS);
    assert_int_equal(cw_relay_question(CW_STR("sampling/createMessage"), parse("{\"tools\":[]}")),
                     CW_RELAY_SAMPLING_TOOLS);
    assert_int_equal(cw_relay_question(CW_STR("ping"), NULL), 0);
}

TEST(a_header_holds_any_text)
{
    cw_arena_reset(&arena);
    assert_true(cw_str_is(cw_relay_header_value(CW_STR("plain text"), &arena), "plain text"));
    assert_true(cw_str_is(cw_relay_header_value(CW_STR(" x"), &arena), "=?base64?IHg=?="));
    assert_true(cw_str_is(cw_relay_header_value(CW_STR("=?"), &arena), "=?base64?PT8=?="));
    assert_true(cw_str_is(cw_relay_header_value(CW_STR("a\nb"), &arena), "=?base64?YQpi?="));
}

TEST(a_copy_has_texts_of_its_own)
{
    char room[256];
    assert_true(cw_relay_size(&call) <= sizeof room);
    cw_relay_request copy = cw_relay_copy(&call, room);
    assert_true(cw_str_eq(copy.members, call.members));
    assert_ptr_not_equal(copy.members.p, call.members.p);
    assert_int_equal(copy.n_headers, 0);
}

TEST(levels_have_ranks_and_a_request_of_their_own)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, 4096);
    assert_true(cw_relay_level(CW_STR("debug")) > cw_relay_level(CW_STR("info")));
    assert_true(cw_relay_level(CW_STR("warning")) > cw_relay_level(CW_STR("error")));
    assert_int_equal(cw_relay_level(CW_STR("")), 0);
    cw_relay_write_level(&out, CW_STR("info"), 3);
    assert_true(cw_str_is(cw_buf_str(&out), "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"logging/"
                                            "setLevel\",\"params\":{\"level\":\"info\"}}"));
}

TEST(our_span_stands_in_the_meta_of_a_request)
{
    cw_relay_request traced = {.method = CW_STR("tools/call"),
                               .traceparent = CW_STR("00-1-2-01"),
                               .tracestate = CW_STR("a=1")};
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, 4096);
    cw_relay_write(&out, &traced, CW_RELAY_LEGACY, 1);
    assert_true(cw_str_is(cw_buf_str(&out),
                          "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                          "\"_meta\":{\"traceparent\":\"00-1-2-01\",\"tracestate\":\"a=1\"}}}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_legacy_request_has_the_token_and_what_is_passed),
        cmocka_unit_test(a_modern_request_has_the_envelope_too),
        cmocka_unit_test(the_answer_to_discover_shows_the_era),
        cmocka_unit_test(any_version_of_the_legacy_era_is_accepted),
        cmocka_unit_test(questions_need_the_capability_of_their_kind),
        cmocka_unit_test(a_header_holds_any_text),
        cmocka_unit_test(a_copy_has_texts_of_its_own),
        cmocka_unit_test(levels_have_ranks_and_a_request_of_their_own),
        cmocka_unit_test(our_span_stands_in_the_meta_of_a_request),
    };
    cw_arena_init(&arena, 65536);
    int rc = cmocka_run_group_tests_name("relay", tests, NULL, NULL);
    cw_arena_done(&arena);
    return rc;
}
