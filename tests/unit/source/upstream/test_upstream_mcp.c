/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An MCP server over HTTP: the era, sessions, answers as events, log levels, ends of sessions. One
 * connection, so that requests come one after another. */
#include "source/upstream/shared_conn_int.h"
#include "source/upstream/upstream_int.h"
#include "support/client_fixture.h"

#define REPLIES 16u

typedef struct sent {
    cw_upstream_req req;
    cw_relay_request relay;
    unsigned calls;
    cw_client_end end;
    unsigned status;
    char text[256];
    char message[128]; /* the method of the last one before the response */
} sent;

typedef struct road {
    client_fixture b;
    fake_server server;
    const fake_step *scripts[2]; /* of the first connection, and of the second */
    cw_endpoint *service;
    cw_shared_conn *shared;
    cw_upstream *upstream;
    unsigned n_seen;
    bool closed;
} road;

/* A response with these headers, each with its line end. */
static const char *reply(const char *status, const char *headers, const char *body)
{
    static char texts[REPLIES][1024];
    static unsigned next;
    char *text = texts[next++ % REPLIES];
    snprintf(text, sizeof texts[0], "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s", status,
             headers, strlen(body), body);
    return text;
}

#define TYPE_JSON "Content-Type: application/json\r\n"
#define TYPE_EVENTS "Content-Type: text/event-stream\r\n"
#define NO_METHOD reply("404 Not Found", "", "")
#define ACCEPTED reply("202 Accepted", "", "")
#define INITIALIZED(id, session, capabilities)                                                     \
    reply("200 OK", TYPE_JSON "Mcp-Session-Id: " session "\r\n",                                   \
          "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":{\"protocolVersion\":\"2025-06-18\","    \
          "\"capabilities\":" capabilities ",\"serverInfo\":{\"name\":\"f\",\"version\":\"1\"}}}")
#define RESULT(id) reply("200 OK", TYPE_JSON, "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":{}}")
/* One request is read, held until the test has seen it, and answered. */
#define STEP(text) DO_READ, DO_HOLD, DO_SEND(text)

static void on_sent(cw_upstream_req *req, const cw_upstream_reply *reply_of)
{
    sent *s = req->ctx;
    s->calls++;
    s->end = reply_of->end;
    if (reply_of->end != CW_CLIENT_OK || !reply_of->answer)
        return;
    s->status = reply_of->answer->status;
    snprintf(s->text, sizeof s->text, "%.*s", CW_STR_ARG(reply_of->answer->body));
}

static void on_message(cw_upstream_req *req, const cw_json *message)
{
    sent *s = req->ctx;
    const cw_json *method = cw_json_get(message, CW_STR("method"));
    if (method)
        snprintf(s->message, sizeof s->message, "%.*s", CW_STR_ARG(cw_json_text(method)));
}

static void open_road(road *r, const fake_step *script, cw_relay_mode mode)
{
    static const char *const modes[] = {"auto", "shared", "caller", "call"};
    static char url[64];
    cw_err err = {0};
    memset(r, 0, sizeof *r);
    r->scripts[0] = r->scripts[1] = script;
    fake_server_start(&r->server, r->scripts, CW_COUNT(r->scripts));
    client_fixture_init(&r->b);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/mcp", r->server.port);
    cw_config_remote config = {.name = CW_STR("srv"),
                               .url = cw_str_from(url),
                               .dialect = CW_STR("mcp"),
                               .session = cw_str_from(modes[mode]),
                               .timeout_ms = 5000,
                               .connections = 1,
                               .queue = 10};
    cw_shared_conn_opts opts = {.loop = &r->b.loop, .answer_size = CLIENT_BODY_MAX};
    if (cw_endpoint_new(&config, NULL, &r->service, &err) ||
        cw_shared_conn_new(r->service, &opts, &r->shared, &err) ||
        cw_upstream_open(r->service, r->shared, &r->b.loop, CLIENT_BODY_MAX, &r->upstream, &err))
        fail_msg("%s", err.msg);
}

static void on_closed(void *ctx)
{
    ((road *)ctx)->closed = true;
}

static void close_road(road *r)
{
    cw_upstream_close(r->upstream, on_closed, r);
    client_run_until(&r->b, r->closed);
    cw_shared_conn_close(r->shared, /* loops_ended= */ false);
    cw_endpoint_unref(r->service);
    client_fixture_done(&r->b);
    fake_server_stop(&r->server);
}

static void begin(road *r, sent *s)
{
    s->relay.method = CW_STR("tools/call");
    s->relay.members = CW_STR("\"name\":\"a\"");
    s->relay.caller = s->relay.caller.n ? s->relay.caller : CW_STR("ada");
    s->req = (cw_upstream_req){
        .relay = &s->relay, .on_done = on_sent, .on_message = on_message, .ctx = s};
    s->req.id = cw_upstream_next_id(r->upstream, /* reads= */ false);
    assert_int_equal(cw_upstream_send(r->upstream, &s->req, NULL), CW_OK);
}

/* The next request has this in it; then it goes on. */
static void see(road *r, const char *expected)
{
    r->n_seen++;
    client_run_until(&r->b, atomic_load(&r->server.held) == r->n_seen);
    const char *request = fake_server_last_request(&r->server);
    if (!strstr(request, expected))
        fail_msg("'%s' is not in '%s'", expected, request);
    fake_server_release(&r->server);
}

static void wait_for(road *r, sent *s)
{
    client_run_until(&r->b, s->calls);
    assert_int_equal(s->calls, 1);
}

TEST(a_session_is_opened_before_the_first_request)
{
    const fake_step script[] = {STEP(NO_METHOD), STEP(INITIALIZED(3, "s-1", "{}")),
                                STEP(ACCEPTED),  STEP(RESULT(1)),
                                STEP(RESULT(4)), DO_END};
    road r;
    sent a = {0}, b = {0};
    open_road(&r, script, CW_RELAY_MODE_CALLER);
    begin(&r, &a);
    see(&r, "\"method\":\"server/discover\"");
    see(&r, "\"method\":\"initialize\"");
    see(&r, "notifications/initialized");
    see(&r, "\r\nMcp-Session-Id: s-1\r\n");
    wait_for(&r, &a);
    assert_int_equal(a.status, 200);
    assert_int_equal(cw_shared_conn_era(r.shared), CW_RELAY_LEGACY);
    /* The next one of the same caller is in the same session. */
    begin(&r, &b);
    see(&r, "\r\nMCP-Protocol-Version: 2025-06-18\r\n");
    wait_for(&r, &b);
    close_road(&r);
}

TEST(a_modern_server_has_no_session)
{
    const fake_step script[] = {
        STEP(reply(
            "200 OK", TYPE_JSON,
            "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"supportedVersions\":[\"2026-07-28\"],"
            "\"capabilities\":{}}}")),
        STEP(RESULT(1)), DO_END};
    road r;
    sent a = {.relay.name = CW_STR("a")};
    open_road(&r, script, CW_RELAY_MODE_AUTO);
    begin(&r, &a);
    see(&r, "\r\nMcp-Method: server/discover\r\n");
    see(&r, "\r\nMcp-Name: a\r\n");
    wait_for(&r, &a);
    assert_int_equal(cw_shared_conn_era(r.shared), CW_RELAY_MODERN);
    close_road(&r);
}

TEST(events_before_the_response_go_to_the_call)
{
    const fake_step script[] = {
        STEP(NO_METHOD), STEP(INITIALIZED(3, "s-1", "{}")), STEP(ACCEPTED),
        STEP(reply(
            "200 OK", TYPE_EVENTS,
            "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n"
            "data: nonsense\n\n"
            "data: {\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n\n"
            "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":1}}\n\n")),
        DO_END};
    road r;
    sent a = {0};
    open_road(&r, script, CW_RELAY_MODE_CALLER);
    begin(&r, &a);
    for (unsigned i = 0; i < 4; i++)
        see(&r, "POST /mcp");
    wait_for(&r, &a);
    assert_int_equal(a.end, CW_CLIENT_OK);
    assert_non_null(strstr(a.text, "\"x\":1"));
    assert_string_equal(a.message, "notifications/message");
    close_road(&r);
}

TEST(a_stream_without_a_response_is_a_lost_call)
{
    const fake_step script[] = {STEP(NO_METHOD), STEP(INITIALIZED(3, "s-1", "{}")), STEP(ACCEPTED),
                                STEP(reply("200 OK", TYPE_EVENTS, "data: {}\n\n")), DO_END};
    road r;
    sent a = {0};
    open_road(&r, script, CW_RELAY_MODE_CALLER);
    begin(&r, &a);
    for (unsigned i = 0; i < 4; i++)
        see(&r, "POST /mcp");
    wait_for(&r, &a);
    assert_int_equal(a.end, CW_CLIENT_LOST);
    close_road(&r);
}

TEST(a_session_that_was_lost_is_opened_again_once)
{
    const fake_step script[] = {
        STEP(NO_METHOD), STEP(INITIALIZED(3, "s-1", "{}")), STEP(ACCEPTED), STEP(NO_METHOD),
        STEP(NO_METHOD), STEP(INITIALIZED(5, "s-2", "{}")), STEP(ACCEPTED), STEP(NO_METHOD),
        DO_END};
    road r;
    sent a = {0};
    open_road(&r, script, CW_RELAY_MODE_CALLER);
    begin(&r, &a);
    for (unsigned i = 0; i < 3; i++)
        see(&r, "POST /mcp");
    see(&r, "\r\nMcp-Session-Id: s-1\r\n");
    see(&r, "\"method\":\"server/discover\"");
    see(&r, "\"method\":\"initialize\"");
    see(&r, "notifications/initialized");
    see(&r, "\r\nMcp-Session-Id: s-2\r\n");
    wait_for(&r, &a); /* the second 404 is the answer */
    assert_int_equal(a.status, 404);
    close_road(&r);
}

TEST(the_log_level_is_set_before_the_call)
{
    const fake_step script[] = {STEP(NO_METHOD), STEP(INITIALIZED(3, "s-1", "{\"logging\":{}}")),
                                STEP(ACCEPTED),  STEP(RESULT(4)),
                                STEP(RESULT(1)), STEP(RESULT(5)),
                                DO_END};
    road r;
    sent a = {.relay.log_level = CW_STR("info")}, b = {.relay.log_level = CW_STR("error")};
    open_road(&r, script, CW_RELAY_MODE_CALLER);
    begin(&r, &a);
    for (unsigned i = 0; i < 3; i++)
        see(&r, "POST /mcp");
    see(&r, "\"method\":\"logging/setLevel\",\"params\":{\"level\":\"info\"}");
    see(&r, "\"method\":\"tools/call\"");
    wait_for(&r, &a);
    begin(&r, &b);
    see(&r, "\"method\":\"tools/call\"");
    wait_for(&r, &b);
    close_road(&r);
}

TEST(a_session_of_one_call_ends_with_it)
{
    const fake_step script[] = {STEP(NO_METHOD), STEP(INITIALIZED(3, "s-1", "{}")),
                                STEP(ACCEPTED),  STEP(RESULT(1)),
                                STEP(ACCEPTED),  DO_END};
    road r;
    sent a = {0};
    open_road(&r, script, CW_RELAY_MODE_CALL);
    begin(&r, &a);
    for (unsigned i = 0; i < 4; i++)
        see(&r, "POST /mcp");
    see(&r, "DELETE /mcp");
    wait_for(&r, &a);
    close_road(&r);
}

TEST(a_cancelled_call_is_cancelled_at_the_server)
{
    const fake_step script[] = {STEP(NO_METHOD), STEP(INITIALIZED(3, "s-1", "{}")),
                                STEP(ACCEPTED),  DO_READ,
                                DO_HOLD,         DO_END};
    const fake_step second[] = {STEP(ACCEPTED), DO_END};
    road r;
    sent a = {0};
    open_road(&r, script, CW_RELAY_MODE_CALLER);
    r.scripts[1] = second;
    begin(&r, &a);
    for (unsigned i = 0; i < 3; i++)
        see(&r, "POST /mcp");
    see(&r, "\"method\":\"tools/call\"");
    cw_upstream_cancel(r.upstream, &a.req);
    see(&r, "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1");
    assert_int_equal(a.calls, 0);
    close_road(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_is_opened_before_the_first_request),
        cmocka_unit_test(a_modern_server_has_no_session),
        cmocka_unit_test(events_before_the_response_go_to_the_call),
        cmocka_unit_test(a_stream_without_a_response_is_a_lost_call),
        cmocka_unit_test(a_session_that_was_lost_is_opened_again_once),
        cmocka_unit_test(the_log_level_is_set_before_the_call),
        cmocka_unit_test(a_session_of_one_call_ends_with_it),
        cmocka_unit_test(a_cancelled_call_is_cancelled_at_the_server),
    };
    return cmocka_run_group_tests_name("upstream_mcp", tests, NULL, NULL);
}
