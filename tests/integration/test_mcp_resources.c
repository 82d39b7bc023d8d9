/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resources, prompts, completion and streams of the MCP door, byte for byte; and streams with each
 * allocation failing in turn. */
#include <signal.h>
#include <unistd.h>

#include "support/door_fixture.h"
#include "support/oom.h"
#include "support/patience.h"
#include "support/test.h"

static door_fixture d;

#define JSON "Content-Type: application/json\r\n"
#define MODERN JSON "MCP-Protocol-Version: 2026-07-28\r\n"
#define META "io.modelcontextprotocol/"
#define M "\"_meta\":{\"" META "protocolVersion\":\"2026-07-28\",\"" META "clientCapabilities\":{}}"
#define STAMP                                                                                      \
    "\"resultType\":\"complete\",\"_meta\":{\"" META "serverInfo\":{\"name\":\"Causeway\","        \
    "\"version\":\"" CW_VERSION "\"}}"
#define RPC "{\"jsonrpc\":\"2.0\","
#define ASK(method, params) RPC "\"id\":1,\"method\":\"" method "\",\"params\":{" params "}}"

typedef struct row {
    const char *headers, *body, *expected;
} row;

#define TEXTS                                                                                      \
    "{\"contents\":[{\"uri\":\"fake://text\",\"mimeType\":\"text/plain\",\"text\":\"one\"},{"      \
    "\"uri\":\"fake://text\",\"mimeType\":\"image/png\",\"blob\":\"AA==\"},"                       \
    "{\"uri\":\"fake://other\",\"text\":\"two\"}]"
#define NONE "{\"completion\":{\"values\":[],\"total\":0,\"hasMore\":false}}"

static const row rows[] = {
    {JSON, ASK("resources/list", ""),
     "\"result\":{\"resources\":[{\"uri\":\"fake://text\",\"name\":\"text\",\"mimeType\":"
     "\"text/plain\",\"description\":\"Shows fake.text\"}]}"},
    {JSON, ASK("resources/templates/list", ""),
     "\"result\":{\"resourceTemplates\":[{\"uriTemplate\":\"fake://item/{id}/of/{kind}\","
     "\"name\":\"items\",\"description\":\"Shows fake.items\"}]}"},
    {JSON, ASK("prompts/list", ""),
     "\"result\":{\"prompts\":[{\"name\":\"ask\",\"description\":\"Shows fake.ask\",\"arguments\":"
     "[{\"name\":\"what\",\"description\":\"What\",\"required\":true},{\"name\":\"loud\"}]}]}"},
    {JSON, ASK("resources/read", "\"uri\":\"fake://text\""), "\"result\":" TEXTS "}"},
    {MODERN "Mcp-Method: resources/read\r\nMcp-Name: fake://text\r\n",
     ASK("resources/read", "\"uri\":\"fake://text\"," M),
     "\"result\":" TEXTS ",\"ttlMs\":0,\"cacheScope\":\"private\"," STAMP "}"},
    /* Variables become what the method wants. */
    {JSON, ASK("resources/read", "\"uri\":\"fake://item/12/of/pe%61r\""),
     "\"result\":{\"contents\":[{\"uri\":\"fake://item/12/of/pe%61r\",\"mimeType\":"
     "\"application/json\",\"text\":\"{\\\"id\\\":12,\\\"kind\\\":\\\"pear\\\"}\"}]}"},
    {JSON, ASK("resources/read", "\"uri\":\"fake://item/x/of/pear\""), "\"code\":-32602"},
    {JSON, ASK("resources/read", "\"uri\":\"fake://item/1/of/kiwi\""), "\"code\":-32602"},
    {JSON, ASK("resources/read", "\"uri\":\"fake://hidden\""),
     "\"error\":{\"code\":-32002,\"message\":\"Resource not found: fake://hidden\",\"data\":{"
     "\"uri\":\"fake://hidden\"}}"},
    {MODERN "Mcp-Method: resources/read\r\nMcp-Name: fake://hidden\r\n",
     ASK("resources/read", "\"uri\":\"fake://hidden\"," M),
     "\"error\":{\"code\":-32602,\"message\":\"Resource not found: fake://hidden\",\"data\":{"
     "\"uri\":\"fake://hidden\"}}"},
    {JSON, ASK("prompts/get", "\"name\":\"ask\",\"arguments\":{\"what\":\"5\",\"loud\":\"true\"}"),
     "\"result\":{\"description\":\"Shows fake.ask\",\"messages\":[{\"role\":\"assistant\","
     "\"content\":{\"type\":\"text\",\"text\":\"Yes?\"}},{\"role\":\"user\",\"content\":{"
     "\"type\":\"text\",\"text\":\"No.\"}}]}"},
    {JSON, ASK("prompts/get", "\"name\":\"ask\",\"arguments\":{\"what\":\"5\",\"loud\":\"yes\"}"),
     "\"code\":-32602"},
    {JSON, ASK("prompts/get", "\"name\":\"nope\""), "\"message\":\"Unknown prompt: nope\""},
    {JSON,
     ASK("completion/complete", "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"ask\"},\"argument\":{"
                                "\"name\":\"what\",\"value\":\"w\"}"),
     "\"result\":{\"completion\":{\"values\":[\"who\",\"why\"],\"total\":9,\"hasMore\":true}}"},
    {JSON,
     ASK("completion/complete", "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"ask\"},\"argument\":{"
                                "\"name\":\"loud\",\"value\":\"\"}"),
     "\"result\":" NONE},
    {JSON,
     ASK("completion/complete",
         "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"fake://item/{id}/of/{kind}\"},"
         "\"argument\":{\"name\":\"kind\",\"value\":\"ap\"}"),
     "\"result\":{\"completion\":{\"values\":[\"apple\",\"apricot\"],\"total\":2,\"hasMore\":"
     "false}}"},
    {JSON,
     ASK("completion/complete", "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"fake://hidden\"},"
                                "\"argument\":{\"name\":\"kind\",\"value\":\"\"}"),
     "\"code\":-32002"},
};

TEST(answers_are_what_they_should_be)
{
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        http_response got;
        door_fixture_post(&d, "/mcp", rows[i].headers, rows[i].body, &got);
        assert_int_equal(got.status, 200);
        if (!strstr(got.body, rows[i].expected))
            fail_msg("%s\ngot      %s\nexpected %s", rows[i].body, got.body, rows[i].expected);
    }
}

#define HOUR_NS (3600 * UINT64_C(1000000000))
#define COMPLETE(ref, name)                                                                        \
    ASK("completion/complete", ref ",\"argument\":{\"name\":\"" name "\",\"value\":\"\"}")
#define PROMPT "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"ask\"}"
#define TEMPLATE "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"fake://item/{id}/of/{kind}\"}"

static void limit_lists(cw_rate rate)
{
    d.settings.limits.lists = rate;
    door_fixture_publish(&d, 0);
    assert_true(cw_runtime_wait(d.runtime, (uint32_t)patience(10000)));
}

TEST(values_that_are_no_call_of_the_source_count_as_lists)
{
    /* An enum, though the source declared that it completes it, and an argument without values. */
    static const char *const here[] = {COMPLETE(TEMPLATE, "kind"), COMPLETE(PROMPT, "loud")};
    http_response got;
    limit_lists((cw_rate){.interval_ns = HOUR_NS, .depth_ns = HOUR_NS});
    for (size_t i = 0; i < 2 * CW_COUNT(here); i++) {
        door_fixture_post(&d, "/mcp", JSON, here[i % CW_COUNT(here)], &got);
        assert_int_equal(got.status, i < CW_COUNT(here) ? 200 : 429);
    }
    assert_non_null(strstr(got.body, "Too many lists and descriptions for this address"));
    door_fixture_post(&d, "/mcp", JSON, COMPLETE(PROMPT, "what"), &got);
    assert_int_equal(got.status, 200);
    assert_non_null(strstr(got.body, "\"who\""));
    limit_lists((cw_rate){0});
}

/* ---- streams ---- */

/* Read until `text` has come or the connection ends; false then. */
static bool read_until(int fd, char *all, size_t size, const char *text)
{
    size_t n = strlen(all), seen = 0, overlap = strlen(text);
    while (!strstr(all + seen, text)) {
        seen = n > overlap ? n - overlap : 0;
        ssize_t got = recv(fd, all + n, size - 1 - n, 0);
        if (got <= 0)
            return false;
        n += (size_t)got;
        all[n] = 0;
    }
    return true;
}

/* The header line of a new session. */
static void new_session(char *out, size_t size)
{
    http_response got;
    door_fixture_post(&d, "/mcp", JSON, ASK("initialize", "\"protocolVersion\":\"2025-11-25\""),
                      &got);
    const char *line = strstr(got.head, "Mcp-Session-Id: ");
    assert_non_null(line);
    int n = (int)(strstr(line, "\r\n") - line) + 2;
    assert_true((size_t)n < size);
    snprintf(out, size, "%.*s", n, line);
}

static int send_get(const char *headers)
{
    char head[2048];
    int fd = door_fixture_connect(&d);
    int n = snprintf(head, sizeof head,
                     "GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                     "Accept: text/event-stream\r\n%s\r\n",
                     headers);
    (void)!send(fd, head, (size_t)n, MSG_NOSIGNAL);
    return fd;
}

#define LISTEN                                                                                     \
    ASK("subscriptions/listen",                                                                    \
        "\"notifications\":{\"toolsListChanged\":true,\"resourcesListChanged\":true,"              \
        "\"resourceSubscriptions\":[\"fake://text\",\"fake://item/1/of/x\",\"fake://no\"]}," M)
#define LISTEN_HEADERS MODERN "Mcp-Method: subscriptions/listen\r\n"
#define SUBSCRIBE ASK("resources/subscribe", "\"uri\":\"fake://text\"")

static void tell(unsigned lists, const char *uri)
{
    cw_change_sink *change = cw_runtime_changes(d.runtime);
    change->tell(change, &(cw_change){.lists = lists, .uri = cw_str_from(uri)});
}

TEST(both_kinds_of_streams_hear_the_news)
{
    static char modern[65536], legacy[65536];
    char session[1024], headers[2048];
    http_response got;
    modern[0] = legacy[0] = 0;
    new_session(session, sizeof session);
    snprintf(headers, sizeof headers, "%s%s", JSON, session);
    int a = door_fixture_connect(&d), b = send_get(session);
    door_fixture_send(a, "/mcp", LISTEN_HEADERS, LISTEN);
    assert_true(read_until(a, modern, sizeof modern,
                           "\"resourceSubscriptions\":[\"fake://text\",\"fake://item/1/of/x\"]"));
    assert_true(read_until(b, legacy, sizeof legacy, "\r\n\r\n"));
    door_fixture_post(&d, "/mcp", headers, SUBSCRIBE, &got);
    assert_string_equal(got.body, RPC "\"result\":{},\"id\":1}");

    tell(CW_CHANGED_PROMPTS, "");
    tell(0, "fake://text");
    tell(0, "fake://other");
    tell(CW_CHANGED_TOOLS, "");
    assert_true(read_until(a, modern, sizeof modern, "tools/list_changed"));
    assert_true(read_until(b, legacy, sizeof legacy, "tools/list_changed"));
    assert_non_null(strstr(modern,
                           "updated\",\"params\":{\"uri\":\"fake://text\",\"_meta\":{\"" META
                           "subscriptionId\":1}}}"));
    assert_non_null(strstr(legacy, "updated\",\"params\":{\"uri\":\"fake://text\"}}"));
    assert_null(strstr(modern, "prompts/list_changed"));
    assert_non_null(strstr(legacy, "prompts/list_changed\"}"));
    assert_null(strstr(modern, "fake://other"));
    assert_null(strstr(legacy, "fake://other"));

    door_fixture_publish(&d, 3); /* there are no resources any more */
    assert_true(read_until(a, modern, sizeof modern, "resources/list_changed"));
    assert_true(read_until(b, legacy, sizeof legacy, "resources/list_changed"));
    door_fixture_publish(&d, 0);
    close(a);
    close(b);
}

TEST(a_reader_who_reads_nothing_is_told_later_or_disconnected)
{
    static char all[16 << 20];
    all[0] = 0;
    int fd = door_fixture_connect(&d);
    door_fixture_send(fd, "/mcp", LISTEN_HEADERS, LISTEN);
    assert_true(read_until(fd, all, sizeof all, "acknowledged"));
    /* More than the kernel takes and the queue holds. */
    for (int i = 0; i < 40000; i++) {
        tell(CW_CHANGED_TOOLS, "fake://text");
        if (i % 500 == 0)
            usleep(2000); /* the mailbox has an end */
    }
    usleep(100000);
    tell(CW_CHANGED_RESOURCES, "");
    /* Everything of the queue, and what was kept behind it. */
    assert_true(read_until(fd, all, sizeof all, "resources/list_changed"));
    assert_non_null(strstr(all, "resources/updated"));
    close(fd);
}

/* ---- without memory ---- */

static void stream_without_memory(const char *session)
{
    static char all[65536];
    for (size_t n = 1; n < 2000; n++) {
        http_response got;
        all[0] = 0;
        oom_fail_at(n);
        int fd = session ? send_get(session) : door_fixture_connect(&d);
        if (!session)
            door_fixture_send(fd, "/mcp", LISTEN_HEADERS, LISTEN);
        bool is_open = read_until(fd, all, sizeof all, session ? "event-stream" : "acknowledged");
        if (is_open) {
            tell(CW_CHANGED_TOOLS, "fake://text");
            usleep(3000);
        }
        bool hit = oom_was_hit();
        oom_reset();
        /* The stream still works, or it has ended. */
        if (is_open) {
            tell(CW_CHANGED_TOOLS, "");
            (void)read_until(fd, all, sizeof all, "list_changed");
        }
        close(fd);
        door_fixture_post(&d, "/mcp", JSON, ASK("ping", ""), &got);
        assert_int_equal(got.status, 200);
        if (!hit)
            return;
    }
    fail_msg("the failure is met without end");
}

TEST(streams_survive_every_failed_allocation)
{
    char session[1024];
    new_session(session, sizeof session);
    stream_without_memory(NULL);
    stream_without_memory(session);
}

TEST(subscriptions_survive_every_failed_allocation)
{
    char session[1024], headers[2048];
    http_response got;
    for (size_t n = 1; n < 2000; n++) {
        new_session(session, sizeof session);
        snprintf(headers, sizeof headers, "%s%s", JSON, session);
        oom_fail_at(n);
        door_fixture_post(&d, "/mcp", headers, SUBSCRIBE, &got);
        bool hit = oom_was_hit();
        oom_reset();
        assert_true(got.status == 0 || got.status == 200 || got.status == 404 ||
                    got.status == 500 || got.status == 503);
        if (!hit)
            return;
    }
    fail_msg("the failure is met without end");
}

TEST(nothing_is_left_behind)
{
    door_fixture_close(&d);
    size_t before = oom_live();
    door_fixture_open(&d, 60000, true, true);
    answers_are_what_they_should_be(NULL);
    both_kinds_of_streams_hear_the_news(NULL);
    door_fixture_close(&d);
    assert_int_equal(oom_live(), before);
    door_fixture_open(&d, 60000, true, true);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    (void)!cw_log_configure(&(cw_log_opts){.level = CW_LOG_OFF}, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_what_they_should_be),
        cmocka_unit_test(values_that_are_no_call_of_the_source_count_as_lists),
        cmocka_unit_test(both_kinds_of_streams_hear_the_news),
        cmocka_unit_test(a_reader_who_reads_nothing_is_told_later_or_disconnected),
        cmocka_unit_test(streams_survive_every_failed_allocation),
        cmocka_unit_test(subscriptions_survive_every_failed_allocation),
        cmocka_unit_test(nothing_is_left_behind),
    };
    door_fixture_open(&d, 60000, true, true);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    door_fixture_close(&d);
    return failed;
}
