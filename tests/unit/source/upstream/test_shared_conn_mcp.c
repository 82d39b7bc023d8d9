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

static void begin_legacy(shared_conn_fixture *l, tool_call *first)
{
    call_tool(l->upstream, first, "");
    shake_hands(l, "\"id\":2,\"method\":\"initialize\"", INITIALIZED(2, ""));
    service_expect(l, TOOL(1));
}

/* A server, and calls of its tool. */
static struct {
    shared_conn_fixture conn;
    union {
        tool_call calls[5];
        struct {
            tool_call a, b;
        };
    };
} f;

static int open_fixture(const char *protocol)
{
    memset(&f, 0, sizeof f);
    open_mcp(&f.conn, protocol);
    return 0;
}

static int setup_auto(void **state)
{
    (void)state;
    return open_fixture("auto");
}

static int setup_legacy(void **state)
{
    (void)state;
    return open_fixture("legacy");
}

/* The first call runs. */
static int setup_call(void **state)
{
    int rc = setup_legacy(state);
    begin_legacy(&f.conn, &f.a);
    return rc;
}

static int teardown(void **state)
{
    (void)state;
    shared_conn_close(&f.conn);
    return 0;
}

/* ---- the handshake ---- */

TEST(a_server_without_an_answer_to_the_era_is_asked_as_a_legacy_one)
{
    cw_loop_set_duration(&f.conn.client.loop, &f.conn.conn->mcp.asking, 20);
    call_tool(f.conn.upstream, &f.a, "");
    expect_part(&f.conn, "\"id\":2,\"method\":\"server/discover\"");
    shake_hands(&f.conn, "\"id\":3,\"method\":\"initialize\"", INITIALIZED(3, ""));
    service_expect(&f.conn, TOOL(1));
    assert_string_equal(cw_shared_conn_protocol(f.conn.conn), "legacy");
}

TEST(a_late_answer_to_the_era_counts_still)
{
    cw_loop_set_duration(&f.conn.client.loop, &f.conn.conn->mcp.asking, 20);
    call_tool(f.conn.upstream, &f.a, "");
    expect_part(&f.conn, "\"id\":2,\"method\":\"server/discover\"");
    expect_part(&f.conn, "\"id\":3,\"method\":\"initialize\"");
    service_send(&f.conn, DISCOVERED(2));
    expect_part(&f.conn, "\"method\":\"subscriptions/listen\"");
    expect_part(&f.conn, "\"id\":1,\"method\":\"tools/call\"");
    assert_string_equal(cw_shared_conn_protocol(f.conn.conn), "modern");
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
    cw_loop_set_duration(&f.conn.client.loop, &f.conn.conn->mcp.starting, 30);
    call_tool(f.conn.upstream, &f.a, "");
    expect_part(&f.conn, "\"method\":\"initialize\"");
    shared_conn_expect(&f.conn, &f.a.call, CW_CLIENT_SLOW, "no answer to the handshake");
    client_run_until(&f.conn.client, !service_next_line(&f.conn) && f.conn.ended);
}

TEST(a_server_that_is_back_may_have_other_methods)
{
    assert_int_equal(f.conn.announced, 0);
    service_hang_up(&f.conn);
    shared_conn_expect(&f.conn, &f.a.call, CW_CLIENT_LOST, "");
    call_tool(f.conn.upstream, &f.b, "");
    shake_hands(&f.conn, "\"id\":4,\"method\":\"initialize\"", INITIALIZED(4, ""));
    service_expect(&f.conn, TOOL(3));
    assert_int_equal(f.conn.announced, 1);
    assert_int_equal(f.conn.lists, 0); /* any of them */
}

/* ---- levels of log lines ---- */

TEST(a_level_is_set_when_it_rises_and_again_on_a_new_connection)
{
    call_tool(f.conn.upstream, &f.calls[0], "warning");
    shake_hands(&f.conn, "\"id\":2,\"method\":\"initialize\"", INITIALIZED(2, "\"logging\":{}"));
    service_expect(&f.conn, LEVEL(3, "warning"));
    service_expect(&f.conn, TOOL(1));
    call_tool(f.conn.upstream, &f.calls[1], "warning");
    service_expect(&f.conn, TOOL(4));
    call_tool(f.conn.upstream, &f.calls[2], "error");
    service_expect(&f.conn, TOOL(5));
    call_tool(f.conn.upstream, &f.calls[3], "debug");
    service_expect(&f.conn, LEVEL(7, "debug"));
    service_expect(&f.conn, TOOL(6));
    service_hang_up(&f.conn);
    shared_conn_expect(&f.conn, &f.calls[3].call, CW_CLIENT_LOST, "");
    call_tool(f.conn.upstream, &f.calls[4], "error");
    shake_hands(&f.conn, "\"id\":9,\"method\":\"initialize\"", INITIALIZED(9, "\"logging\":{}"));
    service_expect(&f.conn, LEVEL(10, "error"));
    service_expect(&f.conn, TOOL(8));
}

TEST(a_server_without_log_lines_gets_no_level)
{
    call_tool(f.conn.upstream, &f.a, "debug");
    shake_hands(&f.conn, "\"id\":2,\"method\":\"initialize\"", INITIALIZED(2, "\"tools\":{}"));
    service_expect(&f.conn, TOOL(1));
}

/* ---- messages of the server ---- */

TEST(progress_reaches_the_call_of_its_token)
{
    call_tool(f.conn.upstream, &f.b, "");
    service_expect(&f.conn, TOOL(3));
    service_send(&f.conn, PROGRESS(99) PROGRESS("x") PROGRESS(3) PROGRESS(3) PROGRESS(1));
    client_run_until(&f.conn.client, f.a.n_messages);
    assert_int_equal(f.a.n_messages, 1);
    assert_string_equal(f.a.last, PROGRESS(1));
    assert_int_equal(f.b.n_messages, 2);
    assert_string_equal(f.b.last, PROGRESS(3));
    service_send(&f.conn, REPLY(3) PROGRESS(3) REPLY(1)); /* one that is over gets none */
    shared_conn_expect(&f.conn, &f.a.call, CW_CLIENT_OK, "\"result\":1");
    shared_conn_expect(&f.conn, &f.b.call, CW_CLIENT_OK, "\"result\":3");
    assert_int_equal(f.b.n_messages, 2);
}

TEST(a_log_line_belongs_to_the_only_call)
{
    service_send(&f.conn, LOG_LINE);
    client_run_until(&f.conn.client, f.a.n_messages == 1);
    assert_string_equal(f.a.last, LOG_LINE);
    call_tool(f.conn.upstream, &f.b, "");
    service_expect(&f.conn, TOOL(3));
    service_send(&f.conn, LOG_LINE REPLY(3));
    shared_conn_expect(&f.conn, &f.b.call, CW_CLIENT_OK, "\"result\":3");
    assert_int_equal(f.a.n_messages + f.b.n_messages, 1);
}

TEST(a_call_that_was_cancelled_gets_no_messages)
{
    service_send(&f.conn, PROGRESS(1));
    cw_upstream_cancel(f.conn.upstream, &f.a.call.req);
    expect_part(&f.conn, "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1,");
    client_run_for(&f.conn.client, 10);
    assert_int_equal(f.a.n_messages, 0);
    assert_int_equal(f.a.call.calls, 0);
    assert_int_equal(atomic_load(&f.conn.conn->mcp.n_events), 0);
}

TEST(the_server_may_ping_and_must_not_ask_for_everything)
{
    service_send(&f.conn, RPC "\"id\":\"p\",\"method\":\"ping\"}\n");
    service_expect(&f.conn, RPC "\"id\":\"p\",\"result\":{}}");
    service_send(&f.conn, RPC "\"id\":8,\"method\":\"tools/list\"}\n");
    service_expect(&f.conn,
                   RPC "\"id\":8,\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}");
    assert_int_equal(f.a.n_messages, 0);
}

TEST(a_question_is_that_of_the_only_call)
{
    service_send(&f.conn, QUESTION);
    client_run_until(&f.conn.client, f.a.n_messages == 1);
    assert_string_equal(f.a.last, QUESTION);
    cw_upstream_post(f.conn.upstream, &f.a.call.req, CW_STR(RPC "\"id\":\"q\",\"result\":{}}"));
    service_expect(&f.conn, RPC "\"id\":\"q\",\"result\":{}}");
    call_tool(f.conn.upstream, &f.b, "");
    service_expect(&f.conn, TOOL(3));
    service_send(&f.conn, QUESTION);
    service_expect(&f.conn, NOT_KNOWN);
    service_send(&f.conn, TAKEN_BACK); /* each knows its own questions */
    client_run_until(&f.conn.client, f.a.n_messages == 2 && f.b.n_messages == 1);
    assert_string_equal(f.a.last, TAKEN_BACK);
    assert_string_equal(f.b.last, TAKEN_BACK);
    service_send(&f.conn, REPLY(1) REPLY(3));
    shared_conn_expect(&f.conn, &f.a.call, CW_CLIENT_OK, "result");
    shared_conn_expect(&f.conn, &f.b.call, CW_CLIENT_OK, "result");
    service_send(&f.conn, TAKEN_BACK QUESTION); /* of no call at all */
    service_expect(&f.conn, NOT_KNOWN);
    assert_int_equal(f.a.n_messages + f.b.n_messages, 3);
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
    client_fixture other;
    cw_upstream *upstream = NULL;
    open_second_loop(&f.conn, &other, &upstream, &f.a);
    send_many(&f.conn, EVENTS_MAX + 10);
    service_expect(&f.conn, NOT_KNOWN); /* a question that cannot be passed on is refused */
    assert_int_equal(atomic_load(&f.conn.conn->mcp.n_events), EVENTS_MAX);
    client_run_until(&other, f.a.n_messages == EVENTS_MAX);
    assert_int_equal(atomic_load(&f.conn.conn->mcp.n_events), 0);
    service_send(&f.conn, PROGRESS(1) REPLY(1));
    client_run_until(&f.conn.client, (client_fixture_turn(&other), f.a.call.calls));
    assert_int_equal(f.a.n_messages, EVENTS_MAX + 1);
    assert_int_equal(f.a.call.end, CW_CLIENT_OK);
    cw_upstream_close(upstream, NULL, NULL);
    client_fixture_done(&other);
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
    server s = {.l = &f.conn};
    assert_true(oom_each(call_once, &s) >= 10);
    assert_true(s.n_done >= 2); /* without a level or a message it is a call still */
}

int main(void)
{
#define T(name, setup) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_server_without_an_answer_to_the_era_is_asked_as_a_legacy_one, setup_auto),
        T(a_late_answer_to_the_era_counts_still, setup_auto),
        cmocka_unit_test(a_server_that_refuses_initialize_is_given_up),
        T(a_server_that_answers_nothing_is_given_up, setup_legacy),
        T(a_server_that_is_back_may_have_other_methods, setup_call),
        T(a_level_is_set_when_it_rises_and_again_on_a_new_connection, setup_legacy),
        T(a_server_without_log_lines_gets_no_level, setup_legacy),
        T(progress_reaches_the_call_of_its_token, setup_call),
        T(a_log_line_belongs_to_the_only_call, setup_call),
        T(a_call_that_was_cancelled_gets_no_messages, setup_call),
        T(the_server_may_ping_and_must_not_ask_for_everything, setup_call),
        T(a_question_is_that_of_the_only_call, setup_call),
        T(messages_on_their_way_have_a_ceiling, setup_legacy),
        T(every_failed_allocation_is_survived, setup_legacy),
    };
    return cmocka_run_group_tests(tests, service_path_setup, NULL);
}
