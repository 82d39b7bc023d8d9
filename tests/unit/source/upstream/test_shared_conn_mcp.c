/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An MCP server on a stream: its handshake in either era, levels of log lines, and messages of the
 * server that belong to calls. */
#include "support/shared_conn_fixture.h"

#define EVENTS_MAX 1024u
#define STARTING_MS 500u
#define RPC "{\"jsonrpc\":\"2.0\","
#define INITIALIZED(id, capabilities)                                                              \
    RPC "\"id\":" #id ",\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":"          \
        "{" capabilities "}}}\n"
#define DISCOVERED(id)                                                                             \
    RPC "\"id\":" #id ",\"result\":{\"supportedVersions\":[\"" CW_RELAY_MODERN_VERSION "\"],"      \
        "\"capabilities\":{}}}\n"
#define PROGRESS(token)                                                                            \
    RPC "\"method\":\"notifications/progress\",\"params\":{\"progressToken\":" #token "}}\n"
#define LOG_LINE RPC "\"method\":\"notifications/message\",\"params\":{\"level\":\"info\"}}\n"
#define TAKEN_BACK RPC "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"q\"}}\n"
#define QUESTION RPC "\"id\":\"q\",\"method\":\"roots/list\"}\n"
#define TOOL(id) RPC "\"id\":" #id ",\"method\":\"tools/call\",\"params\":{\"name\":\"a\"}}"
#define LEVEL(id, level)                                                                           \
    RPC "\"id\":" #id ",\"method\":\"logging/setLevel\",\"params\":{\"level\":\"" level "\"}}"
#define NOT_KNOWN                                                                                  \
    RPC "\"id\":\"q\",\"error\":{\"code\":-32601,\"message\":\"Several calls run, so that the "    \
        "one that asks is not known\"}}"

/* A call of a tool and the messages that came before its response. */
typedef struct tool_call {
    shared_conn_call call;
    cw_relay_request relay;
    unsigned n_messages;
    char last[128];
} tool_call;

static void on_message(cw_upstream_req *req, const cw_json *message)
{
    shared_conn_call *call = req->ctx;
    tool_call *t = CW_CONTAINER(call, tool_call, call);
    t->n_messages++;
    snprintf(t->last, sizeof t->last, "%.*s\n", CW_STR_ARG(cw_json_span(message)));
}

static cw_code try_tool(cw_upstream *upstream, tool_call *t, const char *level)
{
    t->relay = (cw_relay_request){.method = CW_STR("tools/call"),
                                  .members = CW_STR("\"name\":\"a\""),
                                  .log_level = cw_str_from(level)};
    t->call.req = (cw_upstream_req){.id = cw_upstream_next_id(upstream, /* reads= */ false),
                                    .relay = &t->relay,
                                    .on_message = on_message,
                                    .on_done = shared_conn_on_done,
                                    .ctx = &t->call};
    return cw_upstream_send(upstream, &t->call.req, NULL);
}

static void call_tool(cw_upstream *upstream, tool_call *t, const char *level)
{
    assert_int_equal(try_tool(upstream, t, level), CW_OK);
}

static void open_mcp(shared_conn_fixture *l, const char *protocol)
{
    cw_config_remote config = shared_conn_config();
    config.dialect = CW_STR("mcp");
    config.protocol = cw_str_from(protocol);
    shared_conn_open(l, config);
    service_listen(l);
}

/* Wait for the next line, which must contain this text. */
static void expect_part(shared_conn_fixture *l, const char *part)
{
    const char *got = NULL;
    client_run_until(&l->client, service_accept(l));
    client_run_until(&l->client, (got = service_next_line(l)) || l->ended);
    assert_non_null(got);
    if (!strstr(got, part))
        fail_msg("'%s' is not in '%s'", part, got);
}

/* The first call opens the connection: the handshake has the number after its own. */
static void shake_hands(shared_conn_fixture *l, const char *initialize, const char *initialized)
{
    expect_part(l, initialize);
    service_send(l, initialized);
    service_expect(l, CW_RELAY_INITIALIZED);
}

static void open_legacy(shared_conn_fixture *l, tool_call *first)
{
    open_mcp(l, "legacy");
    call_tool(l->upstream, first, "");
    shake_hands(l, "\"id\":2,\"method\":\"initialize\"", INITIALIZED(2, ""));
    service_expect(l, TOOL(1));
}

/* ---- the handshake ---- */

TEST(a_server_without_an_answer_to_the_era_is_asked_as_a_legacy_one)
{
    shared_conn_fixture l;
    tool_call t = {0};
    open_mcp(&l, "auto");
    cw_loop_set_duration(&l.client.loop, &l.conn->mcp.asking, 20);
    call_tool(l.upstream, &t, "");
    expect_part(&l, "\"id\":2,\"method\":\"server/discover\"");
    shake_hands(&l, "\"id\":3,\"method\":\"initialize\"", INITIALIZED(3, ""));
    service_expect(&l, TOOL(1));
    assert_string_equal(cw_shared_conn_protocol(l.conn), "legacy");
    shared_conn_close(&l);
}

TEST(a_late_answer_to_the_era_counts_still)
{
    shared_conn_fixture l;
    tool_call t = {0};
    open_mcp(&l, "auto");
    cw_loop_set_duration(&l.client.loop, &l.conn->mcp.asking, 20);
    call_tool(l.upstream, &t, "");
    expect_part(&l, "\"id\":2,\"method\":\"server/discover\"");
    expect_part(&l, "\"id\":3,\"method\":\"initialize\"");
    service_send(&l, DISCOVERED(2));
    expect_part(&l, "\"method\":\"subscriptions/listen\"");
    expect_part(&l, "\"id\":1,\"method\":\"tools/call\"");
    assert_string_equal(cw_shared_conn_protocol(l.conn), "modern");
    shared_conn_close(&l);
}

TEST(a_server_that_refuses_initialize_is_given_up)
{
    static const struct {
        const char *answer, *why;
    } cases[] = {
        {RPC "\"id\":2,\"error\":{\"code\":1,\"message\":\"no way\"}}\n", "initialize: no way"},
        {RPC "\"id\":2,\"error\":{\"code\":1,\"message\":7}}\n",
         "initialize: no version in the result"},
        {RPC "\"id\":2,\"result\":{}}\n", "initialize: no version in the result"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        shared_conn_fixture l;
        tool_call t = {0};
        open_mcp(&l, "legacy");
        call_tool(l.upstream, &t, "");
        expect_part(&l, "\"id\":2,\"method\":\"initialize\"");
        service_send(&l, cases[i].answer);
        shared_conn_expect(&l, &t.call, CW_CLIENT_GARBAGE, cases[i].why);
        assert_true(cw_str_is(cw_shared_conn_problem(l.conn), cases[i].why));
        client_run_until(&l.client, !service_next_line(&l) && l.ended);
        shared_conn_close(&l);
    }
}

TEST(a_server_that_answers_nothing_is_given_up)
{
    shared_conn_fixture l;
    tool_call t = {0};
    open_mcp(&l, "legacy");
    cw_loop_set_duration(&l.client.loop, &l.conn->mcp.starting, 30);
    call_tool(l.upstream, &t, "");
    expect_part(&l, "\"method\":\"initialize\"");
    shared_conn_expect(&l, &t.call, CW_CLIENT_SLOW, "no answer to the handshake");
    client_run_until(&l.client, !service_next_line(&l) && l.ended);
    shared_conn_close(&l);
}

TEST(a_server_that_is_back_may_have_other_methods)
{
    shared_conn_fixture l;
    tool_call a = {0}, b = {0};
    open_legacy(&l, &a);
    assert_int_equal(l.announced, 0);
    service_hang_up(&l);
    shared_conn_expect(&l, &a.call, CW_CLIENT_LOST, "");
    call_tool(l.upstream, &b, "");
    shake_hands(&l, "\"id\":4,\"method\":\"initialize\"", INITIALIZED(4, ""));
    service_expect(&l, TOOL(3));
    assert_int_equal(l.announced, 1);
    assert_int_equal(l.lists, 0); /* any of them */
    shared_conn_close(&l);
}

/* ---- levels of log lines ---- */

TEST(a_level_is_set_when_it_rises_and_again_on_a_new_connection)
{
    shared_conn_fixture l;
    tool_call t[5] = {0};
    open_mcp(&l, "legacy");
    call_tool(l.upstream, &t[0], "warning");
    shake_hands(&l, "\"id\":2,\"method\":\"initialize\"", INITIALIZED(2, "\"logging\":{}"));
    service_expect(&l, LEVEL(3, "warning"));
    service_expect(&l, TOOL(1));
    call_tool(l.upstream, &t[1], "warning");
    service_expect(&l, TOOL(4));
    call_tool(l.upstream, &t[2], "error");
    service_expect(&l, TOOL(5));
    call_tool(l.upstream, &t[3], "debug");
    service_expect(&l, LEVEL(7, "debug"));
    service_expect(&l, TOOL(6));
    service_hang_up(&l);
    shared_conn_expect(&l, &t[3].call, CW_CLIENT_LOST, "");
    call_tool(l.upstream, &t[4], "error");
    shake_hands(&l, "\"id\":9,\"method\":\"initialize\"", INITIALIZED(9, "\"logging\":{}"));
    service_expect(&l, LEVEL(10, "error"));
    service_expect(&l, TOOL(8));
    shared_conn_close(&l);
}

TEST(a_server_without_log_lines_gets_no_level)
{
    shared_conn_fixture l;
    tool_call t = {0};
    open_mcp(&l, "legacy");
    call_tool(l.upstream, &t, "debug");
    shake_hands(&l, "\"id\":2,\"method\":\"initialize\"", INITIALIZED(2, "\"tools\":{}"));
    service_expect(&l, TOOL(1));
    shared_conn_close(&l);
}

/* ---- messages of the server ---- */

TEST(progress_reaches_the_call_of_its_token)
{
    shared_conn_fixture l;
    tool_call a = {0}, b = {0};
    open_legacy(&l, &a);
    call_tool(l.upstream, &b, "");
    service_expect(&l, TOOL(3));
    service_send(&l, PROGRESS(99) PROGRESS("x") PROGRESS(3) PROGRESS(3) PROGRESS(1));
    client_run_until(&l.client, a.n_messages);
    assert_int_equal(a.n_messages, 1);
    assert_string_equal(a.last, PROGRESS(1));
    assert_int_equal(b.n_messages, 2);
    assert_string_equal(b.last, PROGRESS(3));
    service_send(&l, REPLY(3) PROGRESS(3) REPLY(1)); /* one that is over gets none */
    shared_conn_expect(&l, &a.call, CW_CLIENT_OK, "\"result\":1");
    shared_conn_expect(&l, &b.call, CW_CLIENT_OK, "\"result\":3");
    assert_int_equal(b.n_messages, 2);
    shared_conn_close(&l);
}

TEST(a_log_line_belongs_to_the_only_call)
{
    shared_conn_fixture l;
    tool_call a = {0}, b = {0};
    open_legacy(&l, &a);
    service_send(&l, LOG_LINE);
    client_run_until(&l.client, a.n_messages == 1);
    assert_string_equal(a.last, LOG_LINE);
    call_tool(l.upstream, &b, "");
    service_expect(&l, TOOL(3));
    service_send(&l, LOG_LINE REPLY(3));
    shared_conn_expect(&l, &b.call, CW_CLIENT_OK, "\"result\":3");
    assert_int_equal(a.n_messages + b.n_messages, 1);
    shared_conn_close(&l);
}

TEST(a_call_that_was_cancelled_gets_no_messages)
{
    shared_conn_fixture l;
    tool_call a = {0};
    open_legacy(&l, &a);
    service_send(&l, PROGRESS(1));
    cw_upstream_cancel(l.upstream, &a.call.req);
    expect_part(&l, "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1,");
    client_run_for(&l.client, 10);
    assert_int_equal(a.n_messages, 0);
    assert_int_equal(a.call.calls, 0);
    assert_int_equal(atomic_load(&l.conn->mcp.n_events), 0);
    shared_conn_close(&l);
}

TEST(the_server_may_ping_and_must_not_ask_for_everything)
{
    shared_conn_fixture l;
    tool_call a = {0};
    open_legacy(&l, &a);
    service_send(&l, RPC "\"id\":\"p\",\"method\":\"ping\"}\n");
    service_expect(&l, RPC "\"id\":\"p\",\"result\":{}}");
    service_send(&l, RPC "\"id\":8,\"method\":\"tools/list\"}\n");
    service_expect(&l,
                   RPC "\"id\":8,\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}");
    assert_int_equal(a.n_messages, 0);
    shared_conn_close(&l);
}

TEST(a_question_is_that_of_the_only_call)
{
    shared_conn_fixture l;
    tool_call a = {0}, b = {0};
    open_legacy(&l, &a);
    service_send(&l, QUESTION);
    client_run_until(&l.client, a.n_messages == 1);
    assert_string_equal(a.last, QUESTION);
    cw_upstream_post(l.upstream, &a.call.req, CW_STR(RPC "\"id\":\"q\",\"result\":{}}"));
    service_expect(&l, RPC "\"id\":\"q\",\"result\":{}}");
    call_tool(l.upstream, &b, "");
    service_expect(&l, TOOL(3));
    service_send(&l, QUESTION);
    service_expect(&l, NOT_KNOWN);
    service_send(&l, TAKEN_BACK); /* each knows its own questions */
    client_run_until(&l.client, a.n_messages == 2 && b.n_messages == 1);
    assert_string_equal(a.last, TAKEN_BACK);
    assert_string_equal(b.last, TAKEN_BACK);
    service_send(&l, REPLY(1) REPLY(3));
    shared_conn_expect(&l, &a.call, CW_CLIENT_OK, "result");
    shared_conn_expect(&l, &b.call, CW_CLIENT_OK, "result");
    service_send(&l, TAKEN_BACK QUESTION); /* of no call at all */
    service_expect(&l, NOT_KNOWN);
    assert_int_equal(a.n_messages + b.n_messages, 3);
    shared_conn_close(&l);
}

/* ---- a loop that is behind ---- */

static void send_many(shared_conn_fixture *l, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        service_send(l, PROGRESS(1));
        if (i % 64 == 0)
            client_fixture_turn(&l->client);
    }
    service_send(l, QUESTION); /* after all of them */
}

static void open_second_loop(shared_conn_fixture *l, client_fixture *other, cw_upstream **ret,
                             tool_call *t)
{
    open_mcp(l, "legacy");
    client_fixture_init(other);
    assert_int_equal(
        cw_upstream_open(l->endpoint, l->conn, &other->loop, SHARED_CONN_BODY_MAX, ret, NULL),
        CW_OK);
    call_tool(*ret, t, "");
    shake_hands(l, "\"id\":2,\"method\":\"initialize\"", INITIALIZED(2, ""));
    service_expect(l, TOOL(1));
}

TEST(messages_on_their_way_have_a_ceiling)
{
    shared_conn_fixture l;
    client_fixture other;
    cw_upstream *upstream = NULL;
    tool_call t = {0};
    open_second_loop(&l, &other, &upstream, &t);
    send_many(&l, EVENTS_MAX + 10);
    service_expect(&l, NOT_KNOWN); /* a question that cannot be passed on is refused */
    assert_int_equal(atomic_load(&l.conn->mcp.n_events), EVENTS_MAX);
    client_run_until(&other, t.n_messages == EVENTS_MAX);
    assert_int_equal(atomic_load(&l.conn->mcp.n_events), 0);
    service_send(&l, PROGRESS(1) REPLY(1));
    client_run_until(&l.client, (client_fixture_turn(&other), t.call.calls));
    assert_int_equal(t.n_messages, EVENTS_MAX + 1);
    assert_int_equal(t.call.end, CW_CLIENT_OK);
    cw_upstream_close(upstream, NULL, NULL);
    client_fixture_done(&other);
    shared_conn_close(&l);
}

/* ---- failed allocations ---- */

typedef struct server {
    shared_conn_fixture *l;
    unsigned n_done;
} server;

/* Answer as a legacy server would, with a question during the call. */
static void answer(shared_conn_fixture *l, const char *line)
{
    if (strstr(line, "\"method\":\"initialize\""))
        service_send(l, INITIALIZED(2, "\"logging\":{}"));
    else if (strstr(line, "\"method\":\"tools/call\""))
        service_send(l, RPC "\"id\":\"p\",\"method\":\"ping\"}\n" QUESTION PROGRESS(1) REPLY(1));
}

static void call_once(void *ctx)
{
    server *s = ctx;
    shared_conn_fixture *l = s->l;
    cw_shared_conn_opts opts = {.loop = &l->client.loop, .answer_size = SHARED_CONN_BODY_MAX};
    cw_shared_conn *conn = NULL;
    cw_upstream *upstream = NULL;
    tool_call t = {0};
    cw_code rc = cw_shared_conn_new(l->endpoint, &opts, &conn, NULL);
    if (!rc)
        rc = cw_upstream_open(l->endpoint, conn, &l->client.loop, SHARED_CONN_BODY_MAX, &upstream,
                              NULL);
    if (conn) /* where the answer could not be read */
        cw_loop_set_duration(&l->client.loop, &conn->mcp.starting, STARTING_MS);
    if (!rc)
        rc = try_tool(upstream, &t, "info");
    uint64_t until = cw_clock_ms() + CLIENT_WAIT_MS;
    while (!rc && !t.call.calls && cw_clock_ms() < until) {
        client_fixture_turn(&l->client);
        const char *line = service_accept(l) ? service_next_line(l) : NULL;
        if (line)
            answer(l, line);
    }
    assert_true(rc ? rc == CW_NOMEM && oom_was_hit() : t.call.calls == 1);
    if (!rc && (t.call.end != CW_CLIENT_OK || t.n_messages < 2))
        assert_true(oom_was_hit());
    s->n_done += !rc && t.call.end == CW_CLIENT_OK;
    if (upstream)
        cw_upstream_close(upstream, NULL, NULL);
    if (conn)
        cw_shared_conn_close(conn, false);
    client_run_for(&l->client, 5);
    if (service_accept(l))
        service_hang_up(l);
}

TEST(every_failed_allocation_is_survived)
{
    shared_conn_fixture l;
    server s = {.l = &l};
    open_mcp(&l, "legacy");
    assert_true(oom_each(call_once, &s) >= 10);
    assert_true(s.n_done >= 2); /* without a level or a message it is a call still */
    shared_conn_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_without_an_answer_to_the_era_is_asked_as_a_legacy_one),
        cmocka_unit_test(a_late_answer_to_the_era_counts_still),
        cmocka_unit_test(a_server_that_refuses_initialize_is_given_up),
        cmocka_unit_test(a_server_that_answers_nothing_is_given_up),
        cmocka_unit_test(a_server_that_is_back_may_have_other_methods),
        cmocka_unit_test(a_level_is_set_when_it_rises_and_again_on_a_new_connection),
        cmocka_unit_test(a_server_without_log_lines_gets_no_level),
        cmocka_unit_test(progress_reaches_the_call_of_its_token),
        cmocka_unit_test(a_log_line_belongs_to_the_only_call),
        cmocka_unit_test(a_call_that_was_cancelled_gets_no_messages),
        cmocka_unit_test(the_server_may_ping_and_must_not_ask_for_everything),
        cmocka_unit_test(a_question_is_that_of_the_only_call),
        cmocka_unit_test(messages_on_their_way_have_a_ceiling),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, service_path_setup, NULL);
}
