/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The REST doors with each allocation failing in turn, and what their cache keeps. */
#include <signal.h>
#include <unistd.h>

#include "door/rest/rest.h"
#include "support/door_fixture.h"
#include "support/mo_file.h"
#include "support/oom.h"
#include "support/test.h"

static door_fixture d;

#define JSON "Content-Type: application/json\r\n"
#define RPC "{\"jsonrpc\":\"2.0\","
#define METADATA "/.well-known/oauth-protected-resource"

typedef struct scenario {
    const char *path, *headers;
    const char *body; /* NULL: GET */
    int status;
} scenario;

static const scenario scenarios[] = {
    {"/mcp/tools/list", "", NULL, 200},
    {"/mcp/tools/list", "Accept-Encoding: gzip\r\n", NULL, 200},
    {"/mcp/tools/list", "If-None-Match: *\r\n", NULL, 304},
    {"/mcp/tools/list?cursor=Mw==", "", NULL, 200},
    {"/mcp/tools/list?cursor=%4Dw", "", NULL, 200},
    {"/mcp/tools/list?cursor=x", "", NULL, 400},
    {"/mcp/tools/list?x=%20&cursor=%zz", "", NULL, 400},
    {"/mcp/tools/describe?name=echo", "", NULL, 200},
    {"/mcp/tools/describe?name=h%69dden", "", NULL, 404},
    {"/mcp/tools/describe", "", NULL, 400},
    {"/mcp/tools/invoke", JSON, "{\"name\":\"echo\",\"arguments\":{\"x\":1}}", 200},
    {"/mcp/tools/invoke", JSON, "{\"name\":\"fail\",\"arguments\":[]}", 500},
    {"/mcp/tools/invoke", JSON, "{\"name\":\"broken\",\"arguments\":{}}", 500},
    {"/mcp/tools/invoke", JSON, "{\"name\":\"refuse\",\"arguments\":{}}", 503},
    {"/mcp/tools/invoke", JSON, "{\"name\":\"guarded\",\"arguments\":{}}", 401},
    {"/mcp/tools/invoke", JSON, "{\"name\":\"strict\",\"arguments\":{}}", 400},
    {"/mcp/tools/invoke", JSON, "{\"name\":\"nope\",\"arguments\":{}}", 404},
    {"/mcp/tools/invoke", JSON, "{\"name\":\"plain\",\"arguments\":{}}", 404},
    {"/mcp/tools/invoke", JSON, "{\"name\":1}", 400},
    {"/mcp/tools/invoke", JSON, "{", 400},
    {"/mcp/tools/invoke", "", "{}", 415},
    {"/mcp/tools/echo", JSON, RPC "\"params\":{\"x\":1},\"id\":7}", 200},
    {"/mcp/tools/echo", JSON, RPC "\"method\":\"list\",\"id\":7}", 400},
    {"/mcp/tools/echo", JSON, "[" RPC "\"id\":1}," RPC "\"method\":\"echo\"}]", 200},
    {"/mcp/tools/echo?query=" RPC "%22id%22:1}", "", NULL, 400},
    {"/mcp/tools/echo?query=%7B%22jsonrpc%22:%222.0%22,%22id%22:1%7D", "", NULL, 405},
    {"/mcp/tools/echo", "", NULL, 400},
    {"/mcp/tools/guarded", JSON, RPC "\"id\":7}", 401},
    {"/mcp/tools/hidden", JSON, RPC "\"id\":7}", 404},
    {"/mcp/tools/nope", "", NULL, 404},
    {"/jsonrpc?query=%7B%22jsonrpc%22:%222.0%22,%22method%22:%22plain%22,%22id%22:1%7D", "", NULL,
     405},
    {"/jsonrpc/methods", "", NULL, 200},
    {"/jsonrpc/methods?cursor=MTA", "", NULL, 400},
    {"/jsonrpc/methods/plain", "", NULL, 200},
    {"/jsonrpc/methods/secret", "", NULL, 404},
    {"/.well-known/mcp.json", "", NULL, 200},
    {"/jsonrpc/methods", "Host: localhost:7\r\n", NULL, 200},
    {"/jsonrpc/methods/plain", "Host: localhost:7\r\nAccept-Encoding: gzip\r\n", NULL, 200},
    {"/.well-known/mcp.json", "Host: localhost:7\r\nIf-None-Match: *\r\n", NULL, 304},
    {METADATA, "", NULL, 404},
    {"/.well-known/openid-configuration", "", NULL, 404},
    {"/register", JSON, "{}", 400},
};

/* With an issuer of tokens, and a toolset. */
static const scenario of_issuer[] = {
    {METADATA, "", NULL, 200},
    {METADATA "/mcp", "Host: localhost:7\r\n", NULL, 200},
    {METADATA "/mcp/x/some", "", NULL, 200},
    {METADATA "/mcp/x/other", "", NULL, 404},
    {"/.well-known/openid-configuration", "", NULL, 404},
    {"/authorize", "", NULL, 404},
};

static void elicit(const door_fixture *at, const scenario *s, http_response *ret)
{
    if (s->body)
        door_fixture_post(at, s->path, s->headers, s->body, ret);
    else
        door_fixture_get(at, s->path, s->headers, ret);
}

TEST(every_scenario_has_its_status)
{
    for (size_t i = 0; i < CW_COUNT(scenarios); i++) {
        http_response got;
        elicit(&d, &scenarios[i], &got);
        if (got.status != scenarios[i].status)
            fail_msg("%s %s: %d %s", scenarios[i].path, scenarios[i].body ? scenarios[i].body : "",
                     got.status, got.body);
        if (got.status >= 400 || scenarios[i].body)
            assert_non_null(strstr(got.head, "Cache-Control: no-store\r\n"));
        assert_null(strstr(got.head, "text/html"));
    }
}

static bool is_clean(int healthy, int status)
{
    return status == healthy || status == 0 || status == 500 || status == 503 ||
           (healthy == 401 && status == 400);
}

/* Each run finds the cache empty: otherwise nothing but the first would be written. */
static void run(door_fixture *at, const scenario *s, bool all_following)
{
    for (size_t n = 1; n < 2000; n++) {
        http_response got;
        door_fixture_publish(at, 0);
        door_fixture_get(at, "/nothing", "", &got); /* the loop has heard of it */
        if (all_following)
            oom_fail_from(n);
        else
            oom_fail_at(n);
        elicit(at, s, &got);
        bool hit = oom_was_hit();
        oom_reset();
        if (!is_clean(s->status, got.status))
            fail_msg("%s, allocation %zu: status %d", s->path, n, got.status);
        elicit(at, s, &got);
        assert_int_equal(got.status, s->status);
        if (!hit)
            return;
    }
    fail_msg("%s: the failure is met without end", s->path);
}

TEST(the_doors_survive_every_failed_allocation)
{
    for (size_t i = 0; i < CW_COUNT(scenarios); i++) {
        run(&d, &scenarios[i], /* all_following= */ false);
        run(&d, &scenarios[i], /* all_following= */ true);
    }
}

/* A request begins with a block of memory that the one before left. With a head that nearly fills
 * it, whatever comes next needs another one. */
static void run_padded(door_fixture *at, const scenario *s)
{
    char headers[4096];
    for (size_t n = 2700; n <= 3950; n += 8) {
        char pad[4096] = {0};
        memset(pad, 'x', n);
        snprintf(headers, sizeof headers, "%sX-Pad: %s\r\n", s->headers, pad);
        scenario padded = *s;
        padded.headers = headers;
        run(at, &padded, /* all_following= */ false);
    }
}

#define TEN "%41%41%41%41%41%41%41%41%41%41"
#define ESCAPED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

TEST(a_full_block_is_no_other_case)
{
    static const scenario allowed[] = {
        {"/jsonrpc/methods/plain", "", NULL, 200},
        {"/mcp/tools/list?cursor=" ESCAPED, "", NULL, 400},
        {"/mcp/tools/describe?name=" ESCAPED, "", NULL, 404},
        {"/mcp/tools/invoke", JSON, "{\"name\":\"echo\",\"arguments\":{\"x\":1}}", 200},
        {METADATA, "", NULL, 404},
    };
    static const scenario refused = {"/jsonrpc/methods", "", NULL, 401};
    door_fixture own;
    for (size_t i = 0; i < CW_COUNT(allowed); i++)
        run_padded(&d, &allowed[i]);
    door_fixture_open(&own, 1000, /* may_discover= */ false, /* may_call= */ false);
    run_padded(&own, &refused);
    door_fixture_close(&own);
}

TEST(a_translation_needs_memory)
{
    static const mo_pair pairs[] = {{"", MO_HEADER},
                                    {"Does echo", "Gibt zur\xc3\xbc"
                                                  "ck"}};
    static const scenario methods = {"/jsonrpc/methods/echo", "", NULL, 200};
    static const scenario tools = {"/mcp/tools/list", "", NULL, 200};
    char folder[64];
    cw_translations *t = NULL;
    http_response got;
    door_fixture own;
    mo_dir_create(folder);
    mo_dir_add(folder, "de.mo", pairs, CW_COUNT(pairs));
    cw_translations_opts opts = {
        .folder = folder, .original = CW_STR("en"), .default_value = CW_STR("de")};
    assert_int_equal(cw_translations_load(&opts, &t, NULL), CW_OK);
    mo_dir_remove(folder);
    door_fixture_open(&own, 1000, true, true);
    own.settings.translations = t;
    run(&own, &methods, /* all_following= */ false);
    run(&own, &tools, /* all_following= */ false);
    elicit(&own, &methods, &got);
    assert_non_null(strstr(got.body, pairs[1].text));
    door_fixture_close(&own);
    cw_translations_unref(t);
}

TEST(the_metadata_of_a_protected_resource_needs_memory)
{
    const cw_issuer_opts opts = {.rules = {.issuer = CW_STR("http://127.0.0.1:1")}};
    cw_loop loop;
    cw_issuers *issuers;
    cw_issuer_set *set;
    cw_accounts *accounts;
    door_fixture own;
    assert_int_equal(cw_loop_init(&loop, 64, NULL), CW_OK);
    assert_int_equal(cw_issuers_new(&loop, &issuers, NULL), CW_OK);
    assert_int_equal(cw_issuers_prepare(issuers, &opts, 1, &set, NULL), CW_OK);
    cw_issuers_use(issuers, set);
    assert_int_equal(cw_accounts_new(&(cw_accounts_opts){.n_loops = 1}, &accounts, NULL), CW_OK);
    cw_accounts_set_issuers(accounts, issuers);
    door_fixture_open_accounts(&own, 1000, accounts);
    door_fixture_configure(&own, "toolsets: {some: {tools: ['*']}}\n");
    for (size_t i = 0; i < CW_COUNT(of_issuer); i++) {
        run(&own, &of_issuer[i], /* all_following= */ false);
        run(&own, &of_issuer[i], /* all_following= */ true);
        run_padded(&own, &of_issuer[i]);
    }
    door_fixture_close(&own);
    cw_issuers_close(issuers);
    cw_loop_end(&loop);
    cw_loop_run(&loop);
    cw_accounts_free(accounts);
    cw_issuers_free(issuers);
    cw_loop_done(&loop);
}

static void routes_are_added_or_not(void *ctx)
{
    (void)ctx;
    static cw_oauth_metadata metadata;
    cw_router router;
    cw_router_init(&router);
    cw_code rc = cw_rest_add_routes(&router, d.runtime);
    if (!rc)
        rc = cw_oauth_metadata_add_routes(&router, &metadata, d.runtime, d.settings.config);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_router_done(&router);
}

TEST(routes_need_memory)
{
    assert_true(oom_each(routes_are_added_or_not, NULL) >= 1);
}

TEST(nothing_is_left_behind)
{
    size_t before = oom_live();
    door_fixture own;
    door_fixture_open(&own, 1000, true, true);
    for (size_t i = 0; i < CW_COUNT(scenarios); i++) {
        http_response got;
        elicit(&own, &scenarios[i], &got);
    }
    door_fixture_close(&own);
    assert_int_equal(oom_live(), before);
}

TEST(without_permission_nothing_is_told)
{
    door_fixture own;
    http_response got;
    door_fixture_open(&own, 1000, /* may_discover= */ false, /* may_call= */ false);
    static const scenario all[] = {
        {"/mcp/tools/list", "", NULL, 403},
        {"/mcp/tools/list?cursor=x", "", NULL, 403},
        {"/mcp/tools/describe?name=echo", "", NULL, 403},
        {"/mcp/tools/describe?name=nope", "", NULL, 403},
        {"/mcp/tools/invoke", JSON, "{\"name\":\"echo\",\"arguments\":{}}", 403},
        {"/mcp/tools/invoke", JSON, "{", 403},
        {"/mcp/tools/echo", JSON, RPC "\"id\":1}", 401},
        {"/mcp/tools/nope", JSON, RPC "\"id\":1}", 401},
        {"/jsonrpc/methods", "", NULL, 401},
        {"/jsonrpc/methods/echo", "", NULL, 401},
    };
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        elicit(&own, &all[i], &got);
        assert_int_equal(got.status, all[i].status);
    }
    door_fixture_close(&own);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    (void)!cw_log_configure(&(cw_log_opts){.level = CW_LOG_OFF}, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_left_behind),
        cmocka_unit_test(every_scenario_has_its_status),
        cmocka_unit_test(without_permission_nothing_is_told),
        cmocka_unit_test(the_doors_survive_every_failed_allocation),
        cmocka_unit_test(a_full_block_is_no_other_case),
        cmocka_unit_test(a_translation_needs_memory),
        cmocka_unit_test(the_metadata_of_a_protected_resource_needs_memory),
        cmocka_unit_test(routes_need_memory),
    };
    door_fixture_open(&d, 60000, true, true);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    door_fixture_close(&d);
    return failed;
}
