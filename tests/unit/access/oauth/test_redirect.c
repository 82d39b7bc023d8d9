/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/oauth/redirect.h"
#include "support/test.h"

static const cw_str listed[] = {CW_STR_INIT("cursor://anysphere.cursor-mcp/oauth/callback")};
static const cw_redirect_rules rules = {listed, CW_COUNT(listed)};

static const char *problem_of(const char *uri)
{
    cw_redirect parts;
    return cw_redirect_parse(cw_str_from(uri), &rules, &parts);
}

static void assert_accepted(const char *uri)
{
    const char *problem = problem_of(uri);
    if (problem)
        fail_msg("%s: %s", uri, problem);
}

static void assert_rejected(const char *uri)
{
    if (!problem_of(uri))
        fail_msg("%s was accepted", uri);
}

TEST(AS7_the_uris_of_known_clients_are_accepted)
{
    static const char *const all[] = {
        "https://claude.ai/api/mcp/auth_callback",
        "http://localhost/callback",
        "http://127.0.0.1/callback",
        "http://localhost:51004/callback",
        "http://127.0.0.1:33418/",
        "http://127.0.0.1:33418",
        "http://[::1]:6276/oauth/callback",
        "https://vscode.dev/redirect",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "https://chatgpt.com/connector_platform_oauth_redirect",
        "https://example.org/cb?tenant=7&x=%20",
        "https://EXAMPLE.org:8443/a//b",
        "https://[2001:db8::1]/cb",
        "https://192.0.2.1/cb",
        "com.example.app:/oauth2redirect",
        "com.example.app://callback",
        "https://example.org",
        "https://example.org?a=b",
        "https://example.org/..a/a../...",
    };
    for (size_t i = 0; i < CW_COUNT(all); i++)
        assert_accepted(all[i]);
}

TEST(T2_spellings_with_a_second_meaning_are_rejected)
{
    static const char *const all[] = {
        "",
        "https:",
        "https:/example.org/",
        "https:example.org",
        "https:///cb",
        "https://@example.org/",
        "http://localhost:80@evil.example/",
        "https://a@b@c/",
        "https://user:pass@example.org/cb",
        "https://example.org\\@evil.example/",
        "https://example.org\\cb",
        "https://example.org/\tcb",
        "https://exam\nple.org/",
        " https://example.org/",
        "https://example.org/ cb",
        "https://example.org/cb#",
        "https://example.org/cb#f",
        "https://example.org/a/../b",
        "https://example.org/a/..",
        "https://example.org/./cb",
        "https://example.org/%2e%2e/cb",
        "https://example.org/.%2E/cb",
        "https://example.org/..;/cb",
        "https://example.org/..;a=b/cb",
        "https://example.org/a%2f..%2fb",
        "https://example.org/a%5c..",
        "https://example.org/%",
        "https://example.org/%2",
        "https://example.org/%zz",
        "JaVaScRiPt:alert(1)",
        "javascript:alert(1)",
        "javascript://example.org/%0aalert(1)",
        "data:text/html,x",
        "HTTPS://example.org/",
        "Https://example.org/",
        "//example.org/",
        "/callback",
        "example.org",
        ".a:/b",
        "ftp://example.org/",
        "custom://callback",
        "cursor://anysphere.cursor-mcp/oauth/callback2",
        "CURSOR://anysphere.cursor-mcp/oauth/callback",
        "https://example.org:/cb",
        "https://example.org:0/cb",
        "https://example.org:080/cb",
        "https://example.org:65536/cb",
        "https://example.org:8o/cb",
        "https://example..org/",
        "https://example.org./",
        "https://.example.org/",
        "https://ex%61mple.org/",
        "https://0x7f.1/",
        "https://2130706433/",
        "https://127.1/",
        "https://127.0.0.01/",
        "https://1.2.3.4.5/",
        "https://[::1/",
        "https://[::g]/",
        "https://[1.2.3.4]/",
        "https://[::1]x/",
        "https://m\xc3\xbcnchen.example/",
        "https://example.org/\xff",
        "https://example.org/a|b",
        "https://example.org/<b>",
        "https://example.org/\"",
        "com.example.app:",
        "com.example.app:?a=b",
        "com.example.app://user@host/",
        "com.example.app:/../x",
    };
    for (size_t i = 0; i < CW_COUNT(all); i++)
        assert_rejected(all[i]);
}

TEST(T3_clear_text_is_for_this_computer_only)
{
    static const char *const all[] = {
        "http://example.org/",
        "http://127.0.0.1.evil.example/",
        "http://localhost.evil.test/",
        "http://LOCALHOST/",
        "http://127.0.0.2/",
        "http://[::ffff:127.0.0.1]/",
        "http://[0:0:0:0:0:0:0:1]/",
        "http://localhost./",
        "http://0.0.0.0/",
        "http://[::]/",
    };
    for (size_t i = 0; i < CW_COUNT(all); i++)
        assert_rejected(all[i]);
}

TEST(T17_a_query_must_not_have_the_parameters_of_an_answer)
{
    static const char *const rejected[] = {
        "https://example.org/?code=1",   "https://example.org/?a=b&state",
        "https://example.org/?iss=",     "https://example.org/?error=x",
        "https://example.org/?c%6fde=1", "https://example.org?code",
    };
    for (size_t i = 0; i < CW_COUNT(rejected); i++)
        assert_rejected(rejected[i]);
    assert_accepted("https://example.org/?codec=1&errors=2&restate=3&a=code");
    assert_accepted("https://example.org/code?");
}

TEST(T4_of_two_loopback_uris_only_the_port_may_differ)
{
    static const struct {
        const char *registered, *used;
        bool matches;
    } all[] = {
        {"http://localhost/callback", "http://localhost:51004/callback", true},
        {"http://127.0.0.1:33418/", "http://127.0.0.1:9999/", true},
        {"http://127.0.0.1:33418/", "http://127.0.0.1/", true},
        {"http://[::1]:1/a?b=c", "http://[::1]:2/a?b=c", true},
        {"https://example.org/cb", "https://example.org/cb", true},
        {"cursor://anysphere.cursor-mcp/oauth/callback",
         "cursor://anysphere.cursor-mcp/oauth/callback", true},
        {"http://localhost/callback", "http://localhost:51004/callback2", false},
        {"http://localhost/callback", "http://localhost:51004/callback?x=1", false},
        {"http://localhost/callback", "http://localhost:51004/callback/", false},
        {"http://localhost/callback", "http://127.0.0.1:51004/callback", false},
        {"http://127.0.0.1/callback", "http://[::1]/callback", false},
        {"http://localhost/callback", "https://localhost/callback", false},
        {"https://localhost/callback", "https://localhost:8443/callback", false},
        {"https://example.org/cb", "https://example.org:443/cb", false},
        {"https://example.org/cb", "https://EXAMPLE.org/cb", false},
        {"https://example.org/cb", "https://example.org/cb?", false},
        {"https://example.org/%7e", "https://example.org/~", false},
        {"http://localhost/callback", "http://localhost:80@evil.example/callback", false},
        {"http://localhost/callback", "http://localhost:1/callback#x", false},
        {"http://localhost", "http://localhost:1/", false},
    };
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        bool matches =
            cw_redirect_matches(cw_str_from(all[i].registered), cw_str_from(all[i].used));
        if (matches != all[i].matches)
            fail_msg("%s, %s: %d", all[i].registered, all[i].used, matches);
    }
}

TEST(the_parts_of_a_uri_are_told)
{
    cw_redirect uri;
    assert_null(cw_redirect_parse(CW_STR("http://[::1]:80/a/b?c=d"), &rules, &uri));
    assert_int_equal(uri.kind, CW_REDIRECT_LOOPBACK);
    assert_true(cw_str_is(uri.host, "[::1]"));
    assert_true(cw_str_is(uri.port, "80"));
    assert_true(cw_str_is(uri.rest, "/a/b?c=d"));
    assert_null(cw_redirect_parse(CW_STR("https://example.org"), &rules, &uri));
    assert_int_equal(uri.kind, CW_REDIRECT_HTTPS);
    assert_true(cw_str_is(uri.host, "example.org"));
    assert_true(cw_str_is(uri.port, "") && cw_str_is(uri.rest, ""));
    assert_null(cw_redirect_parse(CW_STR("com.example.app:/cb"), &rules, &uri));
    assert_int_equal(uri.kind, CW_REDIRECT_SCHEME);
    assert_true(cw_str_is(uri.scheme, "com.example.app"));
}

TEST(a_uri_has_a_longest_length)
{
    char text[CW_REDIRECT_MAX + 2];
    cw_redirect uri;
    memset(text, 'a', sizeof text);
    memcpy(text, "https://example.org/", 20);
    assert_null(cw_redirect_parse(cw_str_make(text, CW_REDIRECT_MAX), &rules, &uri));
    assert_non_null(cw_redirect_parse(cw_str_make(text, CW_REDIRECT_MAX + 1), &rules, &uri));
}

TEST(a_nul_byte_is_no_end)
{
    cw_redirect uri;
    assert_non_null(cw_redirect_parse(CW_STR("https://example.org/\0cb"), &rules, &uri));
    assert_non_null(cw_redirect_parse(CW_STR("\0https://example.org/"), &rules, &uri));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AS7_the_uris_of_known_clients_are_accepted),
        cmocka_unit_test(T2_spellings_with_a_second_meaning_are_rejected),
        cmocka_unit_test(T3_clear_text_is_for_this_computer_only),
        cmocka_unit_test(T17_a_query_must_not_have_the_parameters_of_an_answer),
        cmocka_unit_test(T4_of_two_loopback_uris_only_the_port_may_differ),
        cmocka_unit_test(the_parts_of_a_uri_are_told),
        cmocka_unit_test(a_uri_has_a_longest_length),
        cmocka_unit_test(a_nul_byte_is_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
