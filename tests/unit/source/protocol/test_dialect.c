/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests as bytes, what a message is, and what answers mean, in every dialect. (Answers of 2.0
 * over HTTP: tests/unit/source/remote/test_remote.c.) */
#include "support/json_fixture.h"
#include "support/oom.h"
#include "support/temp_dir.h"

#include "source/protocol/dialect.h"

static cw_arena arena;

SETUP(make_arena)
{
    cw_arena_init(&arena, 1 << 20);
    return 0;
}

TEARDOWN(free_arena)
{
    cw_arena_done(&arena);
    return 0;
}

static cw_protocol_opts speech_of(const char *name)
{
    cw_protocol_opts s = {.dialect = cw_dialect_find(cw_str_from(name))};
    assert_non_null(s.dialect);
    return s;
}

static cw_str join(const cw_str *pieces)
{
    char *text =
        cw_arena_printf(&arena, "%.*s%.*s%.*s%.*s", CW_STR_ARG(pieces[0]), CW_STR_ARG(pieces[1]),
                        CW_STR_ARG(pieces[2]), CW_STR_ARG(pieces[3]));
    return cw_str_from(text);
}

static cw_str request(const cw_protocol_opts *protocol, uint64_t id, const char *params,
                      bool drop_id)
{
    cw_request_template wire;
    cw_str pieces[CW_REQUEST_TEMPLATE_PIECES];
    char room[CW_REQUEST_TEMPLATE_ROOM];
    assert_int_equal(cw_request_template_make(protocol, CW_STR("a.b"), &arena, &wire, NULL), CW_OK);
    cw_request_template_write(protocol, &wire, id, cw_str_from(params), room, pieces);
    if (drop_id)
        cw_request_template_drop_id(protocol, pieces);
    return join(pieces);
}

TEST(every_name_of_the_list_is_a_dialect)
{
    unsigned n = 0;
    for (cw_str rest = cw_str_from(cw_dialect_names()); rest.p; n++)
        assert_non_null(cw_dialect_find(cw_str_trim(cw_str_cut(rest, ',', &rest))));
    assert_int_equal(n, 5);
    assert_null(cw_dialect_find(CW_STR("3.0")));
    assert_null(cw_dialect_find(CW_STR("")));
}

TEST(requests_are_what_each_dialect_wants)
{
    static const struct {
        const char *dialect, *params, *expected, *dropped;
    } cases[] = {
        {"2.0", "[1]", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a.b\",\"params\":[1]}",
         "{\"jsonrpc\":\"2.0\",\"method\":\"a.b\",\"params\":[1]}"},
        {"2.0", "", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a.b\"}",
         "{\"jsonrpc\":\"2.0\",\"method\":\"a.b\"}"},
        {"1.0", "[1]", "{\"id\":7,\"method\":\"a.b\",\"params\":[1]}",
         "{\"id\":null,\"method\":\"a.b\",\"params\":[1]}"},
        {"1.0", "", "{\"id\":7,\"method\":\"a.b\",\"params\":[]}",
         "{\"id\":null,\"method\":\"a.b\",\"params\":[]}"},
        {"qmp", "{}", "{\"id\":7,\"execute\":\"a.b\",\"arguments\":{}}",
         "{\"execute\":\"a.b\",\"arguments\":{}}"},
        {"qmp", "", "{\"id\":7,\"execute\":\"a.b\"}", "{\"execute\":\"a.b\"}"},
        {"transmission", "{\"x\":1}", "{\"tag\":7,\"method\":\"a.b\",\"arguments\":{\"x\":1}}",
         "{\"method\":\"a.b\",\"arguments\":{\"x\":1}}"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_protocol_opts s = speech_of(cases[i].dialect);
        assert_str(request(&s, 7, cases[i].params, false), cases[i].expected);
        assert_str(request(&s, 7, cases[i].params, true), cases[i].dropped);
    }
}

TEST(the_longest_head_fits_its_room)
{
    cw_protocol_opts s = speech_of("2.0");
    s.string_ids = true;
    assert_str(request(&s, UINT64_MAX, "", false),
               "{\"jsonrpc\":\"2.0\",\"id\":\"18446744073709551615\",\"method\":\"a.b\"}");
}

TEST(names_of_methods_are_escaped)
{
    cw_protocol_opts s = speech_of("2.0");
    cw_request_template wire;
    assert_int_equal(cw_request_template_make(&s, CW_STR("a\"b\n"), &arena, &wire, NULL), CW_OK);
    assert_str(wire.text, ",\"method\":\"a\\\"b\\n\",\"params\":");
    assert_str(wire.bare, ",\"method\":\"a\\\"b\\n\"");
    /* All of it must be six bytes each. */
    char worst[300];
    memset(worst, 1, sizeof worst);
    assert_int_equal(
        cw_request_template_make(&s, cw_str_make(worst, sizeof worst), &arena, &wire, NULL), CW_OK);
    assert_true(wire.bare.n > 6 * sizeof worst);
}

/* ---- in ---- */

static cw_incoming hear(const cw_protocol_opts *s, const char *message)
{
    cw_incoming incoming;
    cw_dialect_classify(s, json_of(&arena, message), &incoming);
    return incoming;
}

TEST(messages_of_a_stream_are_told_apart)
{
    static const struct {
        const char *dialect, *message;
        cw_incoming_kind kind;
    } cases[] = {
        {"2.0", "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":null}", CW_INCOMING_RESPONSE},
        {"2.0", "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1,\"message\":\"\"}}",
         CW_INCOMING_RESPONSE},
        {"2.0", "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"\"}}",
         CW_INCOMING_ERROR_WITHOUT_ID},
        {"2.0", "{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":1}", CW_INCOMING_INVALID},
        {"2.0", "{\"jsonrpc\":\"2.0\",\"id\":-7,\"result\":1}", CW_INCOMING_INVALID},
        {"2.0", "{\"jsonrpc\":\"2.0\",\"id\":7.5,\"result\":1}", CW_INCOMING_INVALID},
        {"2.0", "{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":1}", CW_INCOMING_INVALID},
        {"2.0", "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}", CW_INCOMING_NOTIFICATION},
        {"2.0", "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"m\"}", CW_INCOMING_REQUEST},
        {"2.0", "{\"jsonrpc\":\"2.0\",\"method\":1}", CW_INCOMING_INVALID},
        {"2.0", "{}", CW_INCOMING_INVALID},
        {"2.0", "[]", CW_INCOMING_INVALID},
        {"2.0", "null", CW_INCOMING_INVALID},
        {"2.0", "{\"QMP\":{}}", CW_INCOMING_INVALID},
        {"1.0", "{\"id\":7,\"result\":1,\"error\":null}", CW_INCOMING_RESPONSE},
        {"1.0", "{\"id\":null,\"method\":\"update\",\"params\":[]}", CW_INCOMING_NOTIFICATION},
        {"1.0", "{\"id\":\"echo\",\"method\":\"echo\",\"params\":[]}", CW_INCOMING_REQUEST},
        {"qmp", "{\"QMP\":{\"version\":{}}}", CW_INCOMING_GREETING},
        {"qmp", "{\"event\":\"STOP\",\"timestamp\":{}}", CW_INCOMING_NOTIFICATION},
        {"qmp", "{\"return\":{},\"id\":7}", CW_INCOMING_RESPONSE},
        {"qmp", "{\"error\":{\"class\":\"GenericError\",\"desc\":\"x\"}}",
         CW_INCOMING_ERROR_WITHOUT_ID},
        {"transmission", "{\"tag\":7,\"result\":\"success\"}", CW_INCOMING_RESPONSE},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_protocol_opts s = speech_of(cases[i].dialect);
        cw_incoming incoming = hear(&s, cases[i].message);
        if (incoming.kind != cases[i].kind)
            fail_msg("%d instead of %d: %s", incoming.kind, cases[i].kind, cases[i].message);
        if (incoming.kind == CW_INCOMING_RESPONSE)
            assert_int_equal(incoming.id, 7);
        if (incoming.kind == CW_INCOMING_INVALID)
            assert_non_null(incoming.why);
    }
}

TEST(a_call_has_its_name_params_and_id)
{
    cw_protocol_opts s = speech_of("1.0");
    cw_incoming incoming = hear(&s, "{\"id\":[1],\"method\":\"echo\",\"params\":[2]}");
    assert_str(incoming.method, "echo");
    assert_str(cw_json_span(incoming.params), "[2]");
    assert_str(cw_json_span(incoming.request_id), "[1]");
    s = speech_of("qmp");
    assert_str(hear(&s, "{\"event\":\"STOP\"}").method, "STOP");
}

TEST(string_ids_are_strings_both_ways)
{
    cw_protocol_opts s = speech_of("2.0");
    s.string_ids = true;
    assert_int_equal(hear(&s, "{\"id\":\"7\",\"result\":1}").kind, CW_INCOMING_RESPONSE);
    assert_int_equal(hear(&s, "{\"id\":\"7\",\"result\":1}").id, 7);
    assert_int_equal(hear(&s, "{\"id\":7,\"result\":1}").kind, CW_INCOMING_INVALID);
    assert_int_equal(hear(&s, "{\"id\":\"7x\",\"result\":1}").kind, CW_INCOMING_INVALID);
}

static cw_str reply(const char *dialect, const char *request_id, const char *result, cw_buf *out)
{
    cw_protocol_opts s = speech_of(dialect);
    cw_buf_clear(out);
    cw_dialect_reply(&s, json_of(&arena, request_id), cw_str_from(result), out);
    return cw_buf_str(out);
}

TEST(requests_of_a_service_are_answered_in_its_dialect)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, 1000);
    assert_str(reply("2.0", "\"x\"", "null", &out),
               "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":null}");
    assert_str(reply("2.0", "1", "", &out),
               "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,"
               "\"message\":\"Method not found\"}}");
    assert_str(reply("1.0", "\"echo\"", "[1]", &out),
               "{\"id\":\"echo\",\"result\":[1],\"error\":null}");
    assert_str(reply("1.0", "1", "", &out),
               "{\"id\":1,\"result\":null,\"error\":\"unknown method\"}");
}

/* ---- answers ---- */

static cw_outcome judge_as(const cw_protocol_opts *s, unsigned status, const char *body)
{
    cw_client_response answer = {.status = status, .body = cw_str_from(body)};
    cw_upstream_reply r = {CW_CLIENT_OK, &answer, "", NULL, NULL};
    cw_outcome o;
    cw_dialect_parse_response(s, CW_STR("shop"), 7, &r, &arena, &o);
    return o;
}

static cw_outcome judge(const char *dialect, const char *body)
{
    cw_protocol_opts s = speech_of(dialect);
    return judge_as(&s, 0, body);
}

static void assert_result(cw_outcome o, const char *json)
{
    assert_int_equal(o.kind, CW_OUTCOME_RESULT);
    assert_str(cw_json_span(o.result), json);
}

static void assert_error(cw_outcome o, int64_t code, const char *message, const char *data)
{
    assert_int_equal(o.kind, CW_OUTCOME_ERROR);
    assert_int_equal(o.code, code);
    assert_str(o.message, message);
    assert_str(o.data ? cw_json_span(o.data) : CW_STR(""), data);
}

TEST(answers_of_1_0_may_have_both_members)
{
    assert_result(judge("1.0", "{\"id\":7,\"result\":[1],\"error\":null}"), "[1]");
    assert_result(judge("1.0", "{\"id\":7,\"result\":null,\"error\":null}"), "null");
    assert_error(judge("1.0", "{\"id\":7,\"result\":null,\"error\":\"unknown method\"}"), -32000,
                 "unknown method", "");
    assert_error(judge("1.0", "{\"id\":7,\"result\":1,\"error\":\"both\"}"), -32000, "both", "");
    assert_error(judge("1.0", "{\"id\":7,\"error\":{\"error\":\"syntax\",\"details\":\"no\"}}"),
                 -32000, "no", "{\"error\":\"syntax\",\"details\":\"no\"}");
    assert_error(judge("1.0", "{\"id\":7,\"error\":{\"code\":3,\"message\":\"m\",\"data\":[1]}}"),
                 3, "m", "[1]");
    assert_error(judge("1.0", "{\"id\":7,\"error\":[5]}"), -32000,
                 "The service 'shop' reported an error.", "[5]");
    assert_int_equal(judge("1.0", "{\"id\":8,\"result\":1,\"error\":null}").fault,
                     CW_FAULT_PROTOCOL);
}

TEST(answers_of_qmp_have_return_or_a_class)
{
    assert_result(judge("qmp", "{\"return\":{\"a\":1},\"id\":7}"), "{\"a\":1}");
    assert_error(judge("qmp", "{\"id\":7,\"error\":{\"class\":\"CommandNotFound\","
                              "\"desc\":\"The command x has not been found\"}}"),
                 -32000, "The command x has not been found", "\"CommandNotFound\"");
    assert_error(judge("qmp", "{\"error\":{\"class\":\"GenericError\"}}"), -32000,
                 "The service 'shop' reported an error.", "\"GenericError\"");
    assert_int_equal(judge("qmp", "{\"id\":7}").fault, CW_FAULT_PROTOCOL);
}

TEST(answers_of_transmission_say_success)
{
    assert_result(judge("transmission", "{\"tag\":7,\"result\":\"success\",\"arguments\":{}}"),
                  "{}");
    assert_error(judge("transmission", "{\"tag\":7,\"result\":\"method name not recognized\","
                                       "\"arguments\":{}}"),
                 -32000, "method name not recognized", "");
    assert_error(judge("transmission", "{\"tag\":7,\"result\":5,\"arguments\":{}}"), -32000,
                 "The service 'shop' reported an error.", "5");
    static const char *const bad[] = {
        "{\"tag\":7,\"arguments\":{}}",
        "{\"tag\":7,\"result\":\"success\"}",
        "{\"tag\":8,\"result\":\"success\",\"arguments\":{}}",
        "{\"result\":\"success\",\"arguments\":{}}",
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_int_equal(judge("transmission", bad[i]).fault, CW_FAULT_PROTOCOL);
}

TEST(where_an_exchange_says_whose_answer_it_is_ids_do_not_count)
{
    cw_protocol_opts s = speech_of("2.0");
    s.by_exchange = true;
    assert_result(judge_as(&s, 200, "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":1}"), "1");
    assert_result(judge_as(&s, 200, "{\"jsonrpc\":\"2.0\",\"result\":1}"), "1");
}

TEST(a_text_in_data_goes_before_words_that_say_nothing)
{
    assert_error(judge("2.0", "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32602,\"message\""
                              ":\"Invalid params\",\"data\":\"nid must be a number\"}}"),
                 -32602, "nid must be a number", "\"nid must be a number\"");
    assert_error(judge("2.0", "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32602,\"message\""
                              ":\"Invalid params\",\"data\":{\"a\":1}}}"),
                 -32602, "Invalid params", "{\"a\":1}");
    assert_error(judge("2.0", "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":5,\"message\""
                              ":\"No such node\",\"data\":\"nid\"}}"),
                 5, "No such node", "\"nid\"");
}

TEST(the_reason_beside_a_traceback_is_kept)
{
    cw_outcome o = judge("2.0", "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":0,\"message\":"
                                "\"Application error\",\"data\":{\"type\":\"ValidationError\","
                                "\"message\":\"Expected a string\",\"traceback\":\"Traceback "
                                "(most recent call last)\"}}}");
    assert_error(o, 0, "Application error: Expected a string",
                 "{\"type\":\"ValidationError\",\"message\":\"Expected a string\"}");
    assert_true(str_has(o.detail, "Traceback"));
    o = judge("2.0", "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":0,\"message\":\"\","
                     "\"data\":{\"message\":\"alone\",\"traceback\":\"x\"}}}");
    assert_error(o, 0, "alone", "{\"message\":\"alone\"}");
}

TEST(every_end_without_an_answer_has_its_fault)
{
    static const struct {
        cw_client_end end;
        cw_fault fault;
        const char *part;
    } cases[] = {
        {CW_CLIENT_CONNECT, CW_FAULT_UNAVAILABLE, "cannot be reached"},
        {CW_CLIENT_LOST, CW_FAULT_DIED, "closed the connection"},
        {CW_CLIENT_SLOW, CW_FAULT_TIMEOUT, "in time"},
        {CW_CLIENT_TOO_LARGE, CW_FAULT_PROTOCOL, "too large"},
        {CW_CLIENT_GARBAGE, CW_FAULT_PROTOCOL, "cannot be read"},
        {CW_CLIENT_NOMEM, CW_FAULT_NOMEM, "memory"},
    };
    cw_protocol_opts s = speech_of("2.0");
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_upstream_reply r = {cases[i].end, NULL, "why so", NULL, NULL};
        cw_outcome o;
        cw_dialect_parse_response(&s, CW_STR("shop"), 7, &r, &arena, &o);
        assert_int_equal(o.kind, CW_OUTCOME_FAILED);
        assert_int_equal(o.fault, cases[i].fault);
        assert_true(str_has(o.message, cases[i].part));
        if (cases[i].end != CW_CLIENT_NOMEM)
            assert_str(o.detail, "why so");
    }
}

TEST(what_is_no_answer_is_quoted_for_the_log)
{
    cw_outcome o = judge("2.0", "hello");
    assert_true(str_has(o.detail, "the message begins with: hello"));
    cw_protocol_opts s = speech_of("2.0");
    o = judge_as(&s, 502, "<html>");
    assert_true(str_has(o.detail, "HTTP status 502"));
    assert_true(str_has(o.detail, "the body begins with: <html>"));
    assert_int_equal(judge_as(&s, 429, "").fault, CW_FAULT_UNAVAILABLE);
}

/* ---- without memory ---- */

static void make_once(void *ctx)
{
    (void)ctx;
    cw_arena a;
    cw_request_template wire;
    cw_arena_init(&a, 1 << 20);
    cw_protocol_opts s = speech_of("2.0");
    cw_code rc = cw_request_template_make(&s, CW_STR("a.b"), &a, &wire, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_arena_done(&a);
}

static bool spoils(const cw_protocol_opts *s, unsigned status, const char *body)
{
    bool is_spoiled = false;
    cw_client_response answer = {
        .status = status, .body = cw_str_from(body), .is_spoiled = &is_spoiled};
    cw_upstream_reply r = {CW_CLIENT_OK, &answer, "", NULL, NULL};
    cw_outcome o;
    cw_dialect_parse_response(s, CW_STR("shop"), 7, &r, &arena, &o);
    return is_spoiled;
}

TEST(an_answer_to_somebody_else_spoils_its_connection)
{
    cw_protocol_opts s = speech_of("2.0");
    assert_false(spoils(&s, 200, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1}"));
    assert_true(spoils(&s, 200, "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":1}"));
    assert_true(spoils(&s, 200, "<html>"));
    assert_false(spoils(&s, 503, "<html>"));
    s.by_exchange = true;
    assert_false(spoils(&s, 200, "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":1}"));
    assert_false(spoils(&s, 200, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1}"));
    assert_true(spoils(&s, 200, "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":1}"));
}

static const cw_secrets ours = {
    .items = {CW_STR_INIT("pass\\\"word"), CW_STR_INIT("pass\"word"), CW_STR_INIT("87654321")},
    .n = 3};
static const cw_secrets session = {.items = {CW_STR_INIT("cookie-7")}, .n = 1};

static cw_outcome judge_secret(unsigned status, const char *body)
{
    cw_protocol_opts s = speech_of("2.0");
    s.secrets = &ours;
    cw_client_response answer = {.status = status, .body = cw_str_from(body)};
    cw_upstream_reply r = {CW_CLIENT_OK, &answer, "", &session, NULL};
    cw_outcome o;
    cw_dialect_parse_response(&s, CW_STR("shop"), 7, &r, &arena, &o);
    assert_false(cw_secrets_are_in(&ours, o.message) || cw_secrets_are_in(&session, o.message));
    assert_false(cw_secrets_are_in(&ours, o.detail) || cw_secrets_are_in(&session, o.detail));
    return o;
}

#define ERROR(rest) "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1,\"message\":" rest "}}"

TEST(threat_C5_a_service_that_repeats_our_secret_is_not_heard)
{
    cw_outcome o = judge_secret(200, ERROR("\"no: pass\\\"word cookie-7\",\"data\":{\"a\":1}"));
    assert_int_equal(o.kind, CW_OUTCOME_ERROR);
    assert_str(o.message, "no: [secret] [secret]");
    assert_str(o.detail, "no: [secret] [secret]");
    assert_str(cw_json_span(o.data), "{\"a\":1}");
    /* As JSON within a text. */
    o = judge_secret(200, ERROR("\"params: [\\\"pass\\\\\\\"word\\\"]\""));
    assert_str(o.message, "params: [\"[secret]\"]");
    /* In data: as a text however it is spelled, as a key, as a number. */
    static const char *const data[] = {"[\"pass\\u0022word\"]", "{\"xpass\\\"word\":1}",
                                       "[87654321]", "{\"x\":{\"y\":[\"cookie-7\"]}}"};
    for (size_t i = 0; i < CW_COUNT(data); i++) {
        char body[300];
        snprintf(body, sizeof body, ERROR("\"no\",\"data\":%s"), data[i]);
        o = judge_secret(500, body);
        assert_null(o.data);
        assert_str(o.message, "no");
        assert_str(o.detail, "no");
    }
    /* What is kept of dropped data. */
    o = judge_secret(200, ERROR("\"no\",\"data\":{\"message\":\"bad 87654321\"}"));
    assert_str(o.message, "no: bad [secret]");
    /* In something that is no answer. */
    o = judge_secret(401, "<p>bad pass\"word</p>");
    assert_true(str_has(o.detail, "<p>bad [secret]</p>"));
    /* Where it is cut. */
    char body[400];
    memset(body, 'x', 195);
    snprintf(body + 195, sizeof body - 195, "pass\"word");
    o = judge_secret(500, body);
    assert_false(str_has(o.detail, "pass"));
    /* A result is what it is. */
    o = judge_secret(200, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"87654321\"}");
    assert_str(cw_json_text(o.result), "87654321");
}

/* ---- messages that are parsed already ---- */

static cw_parsed_message *message_of(const char *text)
{
    cw_parsed_message *m = cw_parsed_message_new(cw_str_from(text));
    cw_err err = {0};
    assert_non_null(m);
    if (cw_parsed_message_parse(m, 1 << 20, &err))
        fail_msg("%s", err.msg);
    return m;
}

static bool is_within(const cw_parsed_message *m, cw_str part)
{
    return part.p >= m->text && part.p + part.n <= m->text + m->n;
}

static void a_parsed_message_is_neither_copied_nor_parsed_again(void **state)
{
    (void)state;
    cw_protocol_opts s = speech_of("2.0");
    cw_parsed_message *m = message_of("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":[1,2]}");
    /* The body says something else, so that it shows when it is read. */
    cw_client_response answer = {.body = CW_STR("not at all")};
    cw_upstream_reply r = {CW_CLIENT_OK, &answer, "", .message = m};
    cw_arena calls[2];
    cw_outcome o[2];
    for (size_t i = 0; i < 2; i++) {
        cw_arena_init(&calls[i], 1 << 20);
        cw_dialect_parse_response(&s, CW_STR("shop"), 7, &r, &calls[i], &o[i]);
        assert_result(o[i], "[1,2]");
        assert_true(is_within(m, cw_json_span(o[i].result)));
    }
    assert_int_equal(m->refs, 3);
    cw_parsed_message_unref(m);
    cw_arena_done(&calls[0]);
    assert_result(o[1], "[1,2]"); /* the other call has a reference of its own */
    assert_int_equal(m->refs, 1);
    cw_arena_done(&calls[1]);
}

static void a_parsed_message_keeps_to_its_memory(void **state)
{
    (void)state;
    static char deep[20000];
    memset(deep, '1', sizeof deep - 1);
    for (size_t i = 1; i < sizeof deep - 2; i += 2)
        deep[i] = ',';
    deep[0] = '[';
    deep[1] = '1';
    deep[sizeof deep - 2] = ']';
    cw_parsed_message *m = cw_parsed_message_new(cw_str_from(deep));
    assert_non_null(m);
    assert_int_equal(cw_parsed_message_parse(m, 4096, NULL), CW_LIMIT);
    cw_parsed_message_unref(m);
    m = cw_parsed_message_new(CW_STR("{"));
    assert_int_equal(cw_parsed_message_parse(m, 4096, NULL), CW_PARSE);
    assert_null(m->root);
    cw_parsed_message_unref(m);
    cw_parsed_message_unref(NULL);
}

static void judge_message_once(void *ctx)
{
    cw_arena a;
    cw_outcome o = {0};
    cw_protocol_opts s = speech_of("2.0");
    cw_arena_init(&a, 1 << 20);
    cw_parsed_message *m = cw_parsed_message_new(cw_str_from(ctx));
    cw_code rc = m ? cw_parsed_message_parse(m, 1 << 20, NULL) : CW_NOMEM;
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    if (!rc) {
        cw_client_response answer = {.body = CW_STR("")};
        cw_upstream_reply r = {CW_CLIENT_OK, &answer, "", .message = m};
        cw_dialect_parse_response(&s, CW_STR("shop"), 7, &r, &a, &o);
        assert_int_equal(o.kind, oom_was_hit() ? CW_OUTCOME_FAILED : CW_OUTCOME_RESULT);
    }
    cw_parsed_message_unref(m);
    cw_arena_done(&a);
}

static void judge_secret_once(void *ctx)
{
    cw_arena a;
    cw_outcome o;
    cw_arena_init(&a, 1 << 20);
    cw_protocol_opts s = speech_of("2.0");
    s.secrets = &ours;
    cw_client_response answer = {.status = 200, .body = cw_str_from(ctx)};
    cw_upstream_reply r = {CW_CLIENT_OK, &answer, "", &session, NULL};
    cw_dialect_parse_response(&s, CW_STR("shop"), 7, &r, &a, &o);
    assert_true(o.message.n > 0);
    assert_false(cw_secrets_are_in(&ours, o.message) || cw_secrets_are_in(&ours, o.detail));
    cw_arena_done(&a);
}

static void judge_once(void *ctx)
{
    cw_arena a;
    cw_outcome o;
    cw_arena_init(&a, 1 << 20);
    cw_protocol_opts s = speech_of("2.0");
    cw_client_response answer = {.status = 200, .body = cw_str_from(ctx)};
    cw_upstream_reply r = {CW_CLIENT_OK, &answer, "", NULL, NULL};
    cw_dialect_parse_response(&s, CW_STR("shop"), 7, &r, &a, &o);
    assert_true(o.kind == CW_OUTCOME_FAILED || !oom_was_hit() || o.kind == CW_OUTCOME_ERROR);
    if (o.kind == CW_OUTCOME_ERROR)
        assert_true(o.message.n > 0);
    cw_arena_done(&a);
}

TEST(every_failed_allocation_is_survived)
{
    assert_true(oom_each(make_once, NULL) >= 2);
    char good[] = "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":[1,2]}", bad[] = "not at all";
    assert_true(oom_each(judge_once, good) >= 1);
    assert_true(oom_each(judge_once, bad) >= 1);
    /* A document of more than the room within its message. */
    char many[] =
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,"
        "19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40]}";
    assert_true(oom_each(judge_message_once, many) >= 3);
    char told[] = ERROR("\"no: 87654321\",\"data\":{\"trace\":\"cookie-7\"}");
    assert_true(oom_each(judge_secret_once, told) >= 2);
    char page[] = "<p>87654321</p>";
    assert_true(oom_each(judge_secret_once, page) >= 2);
    char large[3000];
    snprintf(
        large, sizeof large,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1,\"message\":\"%01500d /usr/lib/x\","
        "\"data\":{\"message\":\"%0500d\",\"traceback\":\"y\"}}}",
        1, 2);
    assert_true(oom_each(judge_once, large) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_of_the_list_is_a_dialect),
        cmocka_unit_test(requests_are_what_each_dialect_wants),
        cmocka_unit_test(the_longest_head_fits_its_room),
        cmocka_unit_test(names_of_methods_are_escaped),
        cmocka_unit_test(messages_of_a_stream_are_told_apart),
        cmocka_unit_test(a_call_has_its_name_params_and_id),
        cmocka_unit_test(string_ids_are_strings_both_ways),
        cmocka_unit_test(requests_of_a_service_are_answered_in_its_dialect),
        cmocka_unit_test(answers_of_1_0_may_have_both_members),
        cmocka_unit_test(answers_of_qmp_have_return_or_a_class),
        cmocka_unit_test(answers_of_transmission_say_success),
        cmocka_unit_test(where_an_exchange_says_whose_answer_it_is_ids_do_not_count),
        cmocka_unit_test(a_text_in_data_goes_before_words_that_say_nothing),
        cmocka_unit_test(the_reason_beside_a_traceback_is_kept),
        cmocka_unit_test(every_end_without_an_answer_has_its_fault),
        cmocka_unit_test(what_is_no_answer_is_quoted_for_the_log),
        cmocka_unit_test(an_answer_to_somebody_else_spoils_its_connection),
        cmocka_unit_test(threat_C5_a_service_that_repeats_our_secret_is_not_heard),
        cmocka_unit_test(a_parsed_message_is_neither_copied_nor_parsed_again),
        cmocka_unit_test(a_parsed_message_keeps_to_its_memory),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
