/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams of an MCP server over HTTP: opening, messages, ends, room for others, and each allocation
 * failing in turn. The test plays the server itself, in the same thread. */
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "source/upstream/shared_conn_int.h"
#include "support/client_fixture.h"

#define PEERS 8u
#define TURNS 100u
#define FEW_TURNS 20u /* for each of many failures */

/* A connection of the client. */
typedef struct peer {
    int fd; /* -1: none */
    char in[4096];
    size_t n;
} peer;

typedef struct rig {
    client_fixture b;
    int listener;
    uint16_t port;
    peer peers[PEERS];
    char request[4096]; /* the last one that was expected */
    unsigned n_requests;
    cw_endpoint *service;
    cw_shared_conn *shared;
    unsigned announced, lists; /* calls of `announced`, and all lists of these */
    unsigned n_back;           /* wants that came back */
    unsigned n_ended;          /* sessions */
} rig;

/* ---- the server ---- */

static void listen_here(rig *r)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof at;
    r->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(r->listener >= 0);
    assert_int_equal(bind(r->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(r->listener, 16), 0);
    assert_int_equal(getsockname(r->listener, (struct sockaddr *)&at, &n), 0);
    r->port = ntohs(at.sin_port);
    for (unsigned i = 0; i < PEERS; i++)
        r->peers[i].fd = -1;
}

static void hang_up(peer *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    p->n = 0;
}

static void accept_all(rig *r)
{
    for (int fd; (fd = accept4(r->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        peer *p = r->peers;
        while (p < r->peers + PEERS && p->fd >= 0)
            p++;
        assert_true(p < r->peers + PEERS);
        p->fd = fd;
    }
}

/* Read what has come; a connection that the client closed is gone. */
static void receive(rig *r)
{
    accept_all(r);
    for (peer *p = r->peers; p < r->peers + PEERS; p++) {
        ssize_t n = p->fd < 0 ? -1 : recv(p->fd, p->in + p->n, sizeof p->in - 1 - p->n, 0);
        if (n == 0)
            hang_up(p);
        if (n <= 0)
            continue;
        p->n += (size_t)n;
        p->in[p->n] = 0;
    }
}

/* The bytes of the request at the beginning of a buffer; 0: it is not whole yet. */
static size_t whole_request(const peer *p)
{
    const char *end = p->n ? strstr(p->in, "\r\n\r\n") : NULL;
    const char *length = end ? strcasestr(p->in, "\r\nContent-Length: ") : NULL;
    size_t body = length && length < end ? strtoul(length + 18, NULL, 10) : 0;
    size_t all = end ? (size_t)(end + 4 - p->in) + body : 0;
    return all && all <= p->n ? all : 0;
}

/* Take a whole request that has this text in it; NULL: none yet. */
static peer *take_request(rig *r, const char *text)
{
    receive(r);
    for (peer *p = r->peers; p < r->peers + PEERS; p++) {
        size_t n = whole_request(p);
        if (!n)
            continue;
        snprintf(r->request, sizeof r->request, "%.*s", (int)n, p->in);
        if (!strstr(r->request, text))
            continue;
        memmove(p->in, p->in + n, p->n - n + 1);
        p->n -= n;
        r->n_requests++;
        return p;
    }
    return NULL;
}

static peer *expect(rig *r, const char *text)
{
    peer *p = NULL;
    client_run_until(&r->b, (p = take_request(r, text)));
    return p;
}

static void assert_requested(const rig *r, const char *text)
{
    if (!strstr(r->request, text))
        fail_msg("'%s' is not in '%s'", text, r->request);
}

static void say(const peer *p, const char *text)
{
    assert_int_equal(send(p->fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static void say_status(const peer *p, const char *status)
{
    char text[128];
    snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status);
    say(p, text);
}

#define STREAM_HEAD                                                                                \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
#define RPC "{\"jsonrpc\":\"2.0\","

/* An event, as one chunk. `fields` are lines before the data. */
static void say_event(const peer *p, const char *fields, const char *data)
{
    char event[512], text[600];
    snprintf(event, sizeof event, "%sdata: %s\n\n", fields, data);
    snprintf(text, sizeof text, "%zx\r\n%s\r\n", strlen(event), event);
    say(p, text);
}

/* ---- the client ---- */

static void on_announced(void *ctx, unsigned lists)
{
    rig *r = ctx;
    r->announced++;
    r->lists |= lists;
}

static cw_code open_shared(rig *r, bool is_following)
{
    cw_shared_conn_opts opts = {.loop = &r->b.loop,
                                .answer_size = CLIENT_BODY_MAX,
                                .announced = is_following ? on_announced : NULL,
                                .ctx = r};
    return cw_shared_conn_new(r->service, &opts, &r->shared, NULL);
}

static void prepare_rig(rig *r)
{
    static char url[64];
    memset(r, 0, sizeof *r);
    client_fixture_init(&r->b);
    listen_here(r);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/mcp", r->port);
    cw_config_remote config = {.name = CW_STR("srv"),
                               .url = cw_str_from(url),
                               .dialect = CW_STR("mcp"),
                               .protocol = CW_STR("legacy"),
                               .session = CW_STR("caller"),
                               .timeout_ms = 5000,
                               .connections = 4,
                               .queue = 10};
    assert_int_equal(cw_endpoint_new(&config, NULL, &r->service, NULL), CW_OK);
}

static void open_rig(rig *r, bool is_following)
{
    prepare_rig(r);
    assert_int_equal(open_shared(r, is_following), CW_OK);
}

static void run_turns(rig *r, unsigned n)
{
    while (n--) {
        client_fixture_turn(&r->b);
        receive(r);
    }
}

static void finish_rig(rig *r)
{
    for (unsigned i = 0; i < PEERS; i++)
        hang_up(&r->peers[i]);
    cw_endpoint_unref(r->service);
    client_fixture_done(&r->b);
    close(r->listener);
}

static void close_rig(rig *r)
{
    cw_shared_conn_close(r->shared, /* loops_ended= */ false);
    run_turns(r, TURNS);
    finish_rig(r);
}

static void on_want_back(cw_shared_conn_want *w)
{
    ((rig *)w->owner)->n_back++;
    cw_shared_conn_want_free(w);
}

/* A stream is wanted for the session of this key. False: no memory. */
static bool want(rig *r, const char *key)
{
    cw_shared_conn_want *w = calloc(1, sizeof *w);
    if (!w)
        return false;
    w->shared = cw_shared_conn_ref(r->shared);
    w->ticket = (cw_relay_ticket){.era = CW_RELAY_LEGACY, .version = "2025-06-18"};
    snprintf(w->ticket.id, sizeof w->ticket.id, "s-%c", key[0]);
    snprintf(w->ticket.key, sizeof w->ticket.key, "%s", key);
    w->loop = &r->b.loop;
    w->owner = r;
    w->on_reply = on_want_back;
    cw_shared_conn_streams_want(w);
    return true;
}

/* A stream that is open. */
static peer *open_stream(rig *r, const char *key)
{
    unsigned n_back = r->n_back;
    assert_true(want(r, key));
    peer *p = expect(r, "GET /mcp");
    say(p, STREAM_HEAD);
    client_run_until(&r->b, r->n_back == n_back + 1);
    return p;
}

/* ---- opening ---- */

TEST(a_session_has_one_stream)
{
    rig r;
    open_rig(&r, true);
    (void)open_stream(&r, "ada");
    assert_requested(&r, "\r\nMcp-Session-Id: s-a\r\n");
    assert_requested(&r, "\r\nMCP-Protocol-Version: 2025-06-18\r\n");
    assert_true(want(&r, "ada"));
    client_run_until(&r.b, r.n_back == 2);
    run_turns(&r, TURNS);
    assert_null(take_request(&r, ""));
    assert_int_equal(r.shared->streams.n, 1);
    close_rig(&r);
}

TEST(a_server_without_streams_is_not_asked_again)
{
    rig r;
    open_rig(&r, true);
    assert_true(want(&r, "ada"));
    say_status(expect(&r, "GET /mcp"), "405 Method Not Allowed");
    client_run_until(&r.b, r.n_back == 1);
    assert_int_equal(r.shared->streams.n, 0);
    assert_int_equal(r.announced, 0);
    close_rig(&r);
}

TEST(a_want_does_not_wait_long_for_a_silent_server)
{
    rig r;
    open_rig(&r, true);
    assert_true(want(&r, "ada"));
    (void)expect(&r, "GET /mcp");
    client_run_until(&r.b, r.n_back == 1); /* after a second */
    assert_int_equal(r.shared->streams.n, 1);
    assert_false(cw_shared_conn_streams_is_open(r.shared));
    close_rig(&r);
}

/* Streams have half of the connections: two of four. */
TEST(the_oldest_idle_stream_makes_room_for_another)
{
    rig r;
    open_rig(&r, true);
    peer *first = open_stream(&r, "ada");
    (void)open_stream(&r, "bob");
    (void)open_stream(&r, "cyd");
    client_run_until(&r.b, (receive(&r), first->fd < 0));
    assert_int_equal(r.shared->streams.n, 2);
    close_rig(&r);
}

TEST(a_connection_that_closes_returns_the_wants)
{
    rig r;
    open_rig(&r, true);
    assert_true(want(&r, "ada"));
    (void)expect(&r, "GET /mcp");
    cw_shared_conn_ref(r.shared);
    cw_shared_conn_close(r.shared, /* loops_ended= */ false);
    client_run_until(&r.b, r.n_back == 1);
    assert_true(want(&r, "bob"));
    client_run_until(&r.b, r.n_back == 2);
    assert_null(take_request(&r, "s-b"));
    cw_shared_conn_unref(r.shared);
    run_turns(&r, TURNS);
    finish_rig(&r);
}

/* ---- messages ---- */

TEST(changes_are_announced_with_their_lists)
{
    rig r;
    open_rig(&r, true);
    const peer *p = open_stream(&r, CW_RELAY_OWN_KEY);
    assert_true(cw_shared_conn_streams_is_open(r.shared));
    say_event(p, "", RPC "\"method\":\"notifications/prompts/list_changed\"}");
    client_run_until(&r.b, r.announced == 1);
    assert_int_equal(r.lists, CW_CHANGED_PROMPTS);
    say_event(p, "", "nonsense");
    say_event(p, "", RPC "\"method\":\"notifications/other\"}");
    say_event(p, "", RPC "\"method\":\"notifications/tools/list_changed\"}");
    say_event(p, "", RPC "\"method\":\"notifications/resources/list_changed\"}");
    /* Announcements that come together may be one. */
    client_run_until(&r.b,
                     r.lists == (CW_CHANGED_PROMPTS | CW_CHANGED_TOOLS | CW_CHANGED_RESOURCES));
    close_rig(&r);
}

TEST(changes_that_calls_have_seen_are_one_announcement)
{
    rig r;
    open_rig(&r, true);
    cw_shared_conn_streams_changed(r.shared, CW_CHANGED_TOOLS);
    cw_shared_conn_streams_changed(r.shared, CW_CHANGED_PROMPTS);
    client_run_until(&r.b, r.announced);
    run_turns(&r, TURNS);
    assert_int_equal(r.announced, 1);
    assert_int_equal(r.lists, CW_CHANGED_TOOLS | CW_CHANGED_PROMPTS);
    close_rig(&r);
}

TEST(requests_that_belong_to_no_call_are_answered)
{
    rig r;
    open_rig(&r, true);
    const peer *p = open_stream(&r, "ada");
    say_event(p, "", RPC "\"id\":\"a\",\"method\":\"ping\"}");
    say_status(expect(&r, "\"id\":\"a\""), "202 Accepted");
    assert_requested(&r, "\"result\":{}");
    assert_requested(&r, "\r\nMcp-Session-Id: s-a\r\n");
    say_event(p, "", RPC "\"id\":7,\"method\":\"tools/list\"}");
    say_status(expect(&r, "\"id\":7"), "202 Accepted");
    assert_requested(&r, "-32601");
    say_event(p, "",
              RPC "\"id\":8,\"method\":\"elicitation/create\",\"params\":{\"message\":\"Who?\","
                  "\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}");
    say_status(expect(&r, "\"id\":8"), "202 Accepted");
    assert_requested(&r, "-32603");
    assert_requested(&r, "No call, or more than one");
    close_rig(&r);
}

/* ---- ends ---- */

TEST(a_stream_is_continued_after_its_last_event)
{
    rig r;
    open_rig(&r, true);
    const peer *p = open_stream(&r, CW_RELAY_OWN_KEY);
    say_event(p, "id: 7\nretry: 10\n", RPC "\"method\":\"notifications/tools/list_changed\"}");
    client_run_until(&r.b, r.announced == 1);
    say(p, "0\r\n\r\n");
    /* Our own stream finds its session anew. */
    peer *q = expect(&r, "\"method\":\"initialize\"");
    char text[512], reply[700], id[16] = "";
    assert_int_equal(sscanf(strstr(r.request, "\"id\":"), "\"id\":%15[0-9]", id), 1);
    snprintf(text, sizeof text,
             RPC "\"id\":%s,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                 "\"serverInfo\":{\"name\":\"f\",\"version\":\"1\"}}}",
             id);
    snprintf(reply, sizeof reply,
             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s-9\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             strlen(text), text);
    say(q, reply);
    say_status(expect(&r, "notifications/initialized"), "202 Accepted");
    q = expect(&r, "GET /mcp");
    assert_requested(&r, "\r\nLast-Event-ID: 7\r\n");
    say(q, STREAM_HEAD);
    client_run_until(&r.b, cw_shared_conn_streams_is_open(r.shared));
    assert_int_equal(r.announced, 1); /* nothing was missed */
    cw_shared_conn_close(r.shared, /* loops_ended= */ false);
    say_status(expect(&r, "DELETE /mcp"), "200 OK");
    run_turns(&r, TURNS);
    finish_rig(&r);
}

/* Put a session into the table, as a call does that has opened it. */
static void enter_session(rig *r, const char *caller)
{
    const cw_relay_request request = {.method = CW_STR("tools/call"),
                                      .caller = cw_str_from(caller)};
    cw_relay_ticket ticket = {0};
    uint64_t now = cw_loop_now(&r->b.loop);
    assert_int_equal(cw_relay_sessions_enter(&r->shared->sessions, &request, now, NULL, &ticket),
                     CW_DECLINED);
    snprintf(ticket.id, sizeof ticket.id, "s-%s", caller);
    snprintf(ticket.version, sizeof ticket.version, "2025-06-18");
    cw_relay_sessions_opened(&r->shared->sessions, &ticket, now);
}

static void on_session_end(void *ctx)
{
    ((rig *)ctx)->n_ended++;
}

/* Also where no changes are wanted, and so no streams: a command of the command line. */
TEST(sessions_are_ended_by_delete)
{
    for (int is_following = 0; is_following <= 1; is_following++) {
        rig r;
        open_rig(&r, is_following);
        enter_session(&r, "ada");
        enter_session(&r, "bob");
        assert_int_equal(cw_shared_conn_end_sessions(r.shared, on_session_end, &r), 2);
        say_status(expect(&r, "Mcp-Session-Id: s-ada"), "200 OK");
        assert_requested(&r, "DELETE /mcp");
        say_status(expect(&r, "Mcp-Session-Id: s-bob"), "404 Not Found");
        client_run_until(&r.b, r.n_ended == 2);
        close_rig(&r);
    }
}

TEST(an_end_of_a_session_is_not_reported_after_the_close)
{
    rig r;
    open_rig(&r, false);
    enter_session(&r, "ada");
    assert_int_equal(cw_shared_conn_end_sessions(r.shared, on_session_end, &r), 1);
    const peer *p = expect(&r, "DELETE /mcp");
    cw_shared_conn_close(r.shared, /* loops_ended= */ false);
    say_status(p, "200 OK");
    run_turns(&r, TURNS);
    assert_int_equal(r.n_ended, 0);
    finish_rig(&r);
}

/* ---- memory ---- */

/* Run until a request with this text, or for some turns: without memory it may never come. */
static peer *await(rig *r, const char *text)
{
    peer *p = NULL;
    for (unsigned i = 0; !p && (!oom_was_hit() || i < FEW_TURNS); i++) {
        client_fixture_turn(&r->b);
        p = take_request(r, text);
    }
    return p;
}

static void follow_once(void *ctx)
{
    rig *r = ctx;
    r->announced = r->n_back = 0;
    if (open_shared(r, true)) {
        assert_true(oom_was_hit());
        return;
    }
    const peer *p = want(r, CW_RELAY_OWN_KEY) ? await(r, "GET /mcp") : NULL;
    if (p) {
        say(p, STREAM_HEAD);
        say_event(p, "", RPC "\"method\":\"notifications/tools/list_changed\"}");
        say_event(p, "", RPC "\"id\":\"a\",\"method\":\"ping\"}");
        const peer *q = await(r, "\"id\":\"a\"");
        if (q)
            say_status(q, "202 Accepted");
        assert_true(oom_was_hit() || (q && r->announced == 1 && r->n_back == 1));
    }
    assert_true(oom_was_hit() || p);
    cw_shared_conn_close(r->shared, /* loops_ended= */ false);
    run_turns(r, FEW_TURNS);
    for (unsigned i = 0; i < PEERS; i++)
        hang_up(&r->peers[i]);
}

TEST(every_failed_allocation_is_survived)
{
    rig r;
    prepare_rig(&r);
    assert_true(oom_each(follow_once, &r) >= 8);
    finish_rig(&r);
}

int main(void)
{
    (void)!cw_log_configure(&(cw_log_opts){.level = CW_LOG_OFF}, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_has_one_stream),
        cmocka_unit_test(a_server_without_streams_is_not_asked_again),
        cmocka_unit_test(a_want_does_not_wait_long_for_a_silent_server),
        cmocka_unit_test(the_oldest_idle_stream_makes_room_for_another),
        cmocka_unit_test(a_connection_that_closes_returns_the_wants),
        cmocka_unit_test(changes_are_announced_with_their_lists),
        cmocka_unit_test(changes_that_calls_have_seen_are_one_announcement),
        cmocka_unit_test(requests_that_belong_to_no_call_are_answered),
        cmocka_unit_test(a_stream_is_continued_after_its_last_event),
        cmocka_unit_test(sessions_are_ended_by_delete),
        cmocka_unit_test(an_end_of_a_session_is_not_reported_after_the_close),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("shared_conn_streams", tests, NULL, NULL);
}
