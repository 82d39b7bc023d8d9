/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The doors with each allocation failing in turn: a request may fail cleanly; the next one must
 * not, and nothing may leak. */
#include <signal.h>

#include "support/door_fixture.h"
#include "support/oom.h"
#include "support/test.h"

static door_fixture d;

#define JSON "Content-Type: application/json\r\n"
#define MODERN JSON "MCP-Protocol-Version: 2026-07-28\r\n"
#define META "io.modelcontextprotocol/"
#define M "\"" META "protocolVersion\":\"2026-07-28\",\"" META "clientCapabilities\":{}"
#define RPC "{\"jsonrpc\":\"2.0\","

typedef struct scenario {
    const char *path, *headers, *body;
} scenario;

static const scenario scenarios[] = {
    {"/jsonrpc", JSON, RPC "\"method\":\"echo\",\"params\":{\"x\":1},\"id\":7}"},
    {"/jsonrpc", JSON, RPC "\"method\":\"strict\",\"params\":[1],\"id\":7}"},
    {"/jsonrpc", JSON, RPC "\"method\":\"guarded\",\"id\":7}"},
    {"/jsonrpc", JSON, RPC "\"method\":\"nope\",\"id\":7}"},
    {"/jsonrpc", JSON, RPC "\"method\":\"echo\"}"},
    {"/jsonrpc", JSON,
     "[" RPC "\"method\":\"echo\",\"id\":1}," RPC "\"method\":\"fail\",\"id\":2}]"},
    {"/jsonrpc", JSON, "{"},
    {"/mcp", JSON, RPC "\"method\":\"tools/list\",\"id\":1}"},
    {"/mcp", JSON, RPC "\"method\":\"tools/call\",\"id\":1,\"params\":{\"name\":\"fail\"}}"},
    {"/mcp", MODERN "Mcp-Method: server/discover\r\n",
     RPC "\"method\":\"server/discover\",\"id\":1,\"params\":{\"_meta\":{" M "}}}"},
    {"/mcp", MODERN "Mcp-Method: tools/call\r\nMcp-Name: =?base64?dGV4dA==?=\r\n",
     RPC "\"method\":\"tools/call\",\"id\":1,\"params\":{\"name\":\"text\",\"_meta\":{" M "}}}"},
    {"/mcp", MODERN "Mcp-Method: x\r\n",
     RPC "\"method\":\"tools/list\",\"id\":1,\"params\":{\"_meta\":{" M "}}}"},
    {"/mcp", MODERN "Mcp-Method: tools/call\r\nMcp-Name: steps\r\n",
     RPC "\"method\":\"tools/call\",\"id\":1,\"params\":{\"name\":\"steps\",\"_meta\":{" M
         ",\"progressToken\":1}}}"},
    {"/mcp", JSON, RPC "\"method\":\"resources/list\",\"id\":1}"},
    {"/mcp", JSON, RPC "\"method\":\"prompts/list\",\"id\":1}"},
    {"/mcp", JSON, RPC "\"method\":\"initialize\",\"id\":1,\"params\":{\"protocolVersion\":\"\"}}"},
    {"/mcp", JSON,
     RPC "\"method\":\"resources/read\",\"id\":1,\"params\":{\"uri\":\"fake://text\"}}"},
    {"/mcp", JSON,
     RPC "\"method\":\"resources/read\",\"id\":1,\"params\":{\"uri\":\"fake://item/5/of/pear\"}}"},
    {"/mcp", JSON,
     RPC "\"method\":\"resources/read\",\"id\":1,\"params\":{\"uri\":\"fake://no\"}}"},
    {"/mcp", JSON,
     RPC "\"method\":\"prompts/get\",\"id\":1,\"params\":{\"name\":\"ask\",\"arguments\":{\"what\":"
         "\"x\",\"loud\":\"true\"}}}"},
    {"/mcp", JSON,
     RPC "\"method\":\"completion/complete\",\"id\":1,\"params\":{\"ref\":{\"type\":\"ref/prompt\","
         "\"name\":\"ask\"},\"argument\":{\"name\":\"what\",\"value\":\"w\"}}}"},
    {"/mcp", JSON,
     RPC
     "\"method\":\"completion/complete\",\"id\":1,\"params\":{\"ref\":{\"type\":\"ref/resource\","
     "\"uri\":\"fake://item/{id}/of/{kind}\"},\"argument\":{\"name\":\"kind\",\"value\":\"a\"}}}"},
};

static bool is_clean(int healthy, int status)
{
    return status == healthy || status == 0 || status == 500 || status == 503 ||
           (healthy == 401 && status == 400);
}

static void run(const door_fixture *f, const scenario *s, int healthy, bool all_following)
{
    for (size_t n = 1; n < 2000; n++) {
        http_response got;
        if (all_following)
            oom_fail_from(n);
        else
            oom_fail_at(n);
        door_fixture_post(f, s->path, s->headers, s->body, &got);
        bool hit = oom_was_hit();
        oom_reset();
        /* Without memory a tool's call may also be a 200 that says so. */
        if (!is_clean(healthy, got.status) && got.status != 200)
            fail_msg("%s, allocation %zu: status %d", s->body, n, got.status);
        door_fixture_post(f, "/jsonrpc", JSON, RPC "\"method\":\"number\",\"id\":1}", &got);
        assert_int_equal(got.status, 200);
        if (!hit)
            return;
    }
    fail_msg("%s: the failure is met without end", s->body);
}

TEST(the_doors_survive_every_failed_allocation)
{
    for (size_t i = 0; i < CW_COUNT(scenarios); i++) {
        http_response got;
        door_fixture_post(&d, scenarios[i].path, scenarios[i].headers, scenarios[i].body, &got);
        int healthy = got.status;
        assert_true(healthy >= 200);
        run(&d, &scenarios[i], healthy, /* all_following= */ false);
        run(&d, &scenarios[i], healthy, /* all_following= */ true);
    }
}

TEST(nothing_is_left_behind)
{
    size_t before = oom_live();
    door_fixture own;
    door_fixture_open(&own, 1000, true, true);
    for (size_t i = 0; i < CW_COUNT(scenarios); i++) {
        http_response got;
        door_fixture_post(&own, scenarios[i].path, scenarios[i].headers, scenarios[i].body, &got);
    }
    door_fixture_close(&own);
    assert_int_equal(oom_live(), before);
}

/* A list so long that responses send it from the cache (door/mcp/feature/list.c). */
#define LONG_LIST 40000u
static const scenario long_list = {"/mcp", JSON, RPC "\"method\":\"tools/list\",\"id\":1}"};

static void publish_long_list(door_fixture *f)
{
    static char text[LONG_LIST];
    memset(text, 'x', sizeof text);
    cw_method *methods = (cw_method *)(uintptr_t)f->source->base.methods;
    methods[0].usage = cw_str_make(text, sizeof text);
    door_fixture_publish(f, 0);
}

static void post_long_list(const door_fixture *f)
{
    static const char end[] = "\"id\":1}";
    http_response got;
    door_fixture_post(f, long_list.path, long_list.headers, long_list.body, &got);
    assert_int_equal(got.status, 200);
    assert_true(got.n > LONG_LIST);
    assert_string_equal(got.body + got.n - strlen(end), end);
}

TEST(a_long_list_survives_every_failed_allocation)
{
    size_t before = oom_live();
    door_fixture own;
    door_fixture_open(&own, 1000, true, true);
    publish_long_list(&own);
    post_long_list(&own);
    run(&own, &long_list, 200, /* all_following= */ false);
    run(&own, &long_list, 200, /* all_following= */ true);
    post_long_list(&own);
    door_fixture_close(&own);
    assert_int_equal(oom_live(), before);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    (void)!cw_log_configure(&(cw_log_opts){.level = CW_LOG_OFF}, NULL);
    const struct CMUnitTest tests[] = {
        /* These count memory, so the server of the last one must not have worked yet: it frees the
         * end of a connection after its client has seen it. */
        cmocka_unit_test(nothing_is_left_behind),
        cmocka_unit_test(a_long_list_survives_every_failed_allocation),
        cmocka_unit_test(the_doors_survive_every_failed_allocation),
    };
    door_fixture_open(&d, 60000, true, true);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    door_fixture_close(&d);
    return failed;
}
