/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/http/hostcheck.h"
#include "support/oom.h"
#include "support/test.h"

#define LENGTH_63 "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0"

/* A list of comma-separated hosts and origins, compiled. */
static cw_hostlist *list_of(const char *hosts, const char *origins)
{
    cw_str h[16], o[16], rest;
    size_t n_hosts = 0, n_origins = 0;
    cw_hostlist *list = NULL;
    cw_err err = {0};
    for (rest = cw_str_from(hosts); rest.n;)
        h[n_hosts++] = cw_str_cut(rest, ',', &rest);
    for (rest = cw_str_from(origins); rest.n;)
        o[n_origins++] = cw_str_cut(rest, ',', &rest);
    if (cw_hostlist_new(h, n_hosts, o, n_origins, &list, &err))
        fail_msg("%s", err.msg);
    return list;
}

static void assert_allows(const char *hosts, const char *const *good, const char *const *bad)
{
    cw_hostlist *list = list_of(hosts, NULL);
    for (; *good; good++) {
        if (!cw_hostlist_allows_host(list, cw_str_from(*good)))
            fail_msg("'%s' does not allow '%s'", hosts, *good);
    }
    for (; *bad; bad++) {
        if (cw_hostlist_allows_host(list, cw_str_from(*bad)))
            fail_msg("'%s' allows '%s'", hosts, *bad);
    }
    cw_hostlist_free(list);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(host_values_have_a_strict_syntax)
{
    static const char *const good[] = {"a",
                                       "localhost",
                                       "localhost:80",
                                       "localhost.",
                                       "a.b.c:65535",
                                       "127.0.0.1:0",
                                       "my_host-1",
                                       "[::1]",
                                       "[::1]:8080",
                                       "[2001:db8::1]",
                                       "[::ffff:1.2.3.4]",
                                       "xn--bcher-kva.example",
                                       "A:00080",
                                       LENGTH_63 "." LENGTH_63 "." LENGTH_63
                                                 "." LENGTH_63 /* 255 */};
    static const char *const bad[] = {"",
                                      ".",
                                      "..",
                                      "a..b",
                                      ".a",
                                      "a..",
                                      "a b",
                                      " a",
                                      "a ",
                                      "a:",
                                      "a:b",
                                      "a:-1",
                                      "a:+1",
                                      "a:65536",
                                      "a:000080",
                                      "a:80:80",
                                      "a/",
                                      "a/b",
                                      "a?b",
                                      "a#b",
                                      "u@a",
                                      "u:p@a",
                                      "a,b",
                                      "a%20b",
                                      "a%2eb",
                                      "http://a",
                                      "*",
                                      "*.a",
                                      "a*",
                                      "\xc3\xa9",
                                      "a\tb",
                                      "a\\b",
                                      "a!b",
                                      "(a)",
                                      "a=b",
                                      "a;b",
                                      "~a",
                                      ":80",
                                      "[",
                                      "[]",
                                      "[::1",
                                      "::1",
                                      "::1]",
                                      "[::1]a",
                                      "[::1]:",
                                      "[::1]:x",
                                      "[::g]",
                                      "[1.2.3.4]",
                                      "[fe80::1%25eth0]",
                                      "[fe80::1%eth0]",
                                      "[v1.a]",
                                      "[:::1]",
                                      "[::1]]",
                                      "[[::1]]",
                                      "[0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:1]",
                                      LENGTH_63 "." LENGTH_63 "." LENGTH_63 "." LENGTH_63 "x"};
    for (size_t i = 0; i < CW_COUNT(good); i++) {
        if (!cw_host_is_valid(cw_str_from(good[i])))
            fail_msg("refused: '%s'", good[i]);
    }
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        if (cw_host_is_valid(cw_str_from(bad[i])))
            fail_msg("accepted: '%s'", bad[i]);
    }
    assert_false(cw_host_is_valid(CW_STR("a\0b")));
    assert_false(cw_host_is_valid(CW_STR("a\0")));
    assert_false(cw_host_is_valid(CW_STR("[::1\0]")));
    assert_false(cw_host_is_valid(CW_STR("[\0::1]")));
    assert_false(cw_host_is_valid(CW_STR("a:8\0")));
}

TEST(equal_hosts_are_found_equal)
{
    assert_true(cw_host_eq(CW_STR("Localhost."), CW_STR("localhost")));
    assert_true(cw_host_eq(CW_STR("a:80"), CW_STR("A:080")));
    assert_true(cw_host_eq(CW_STR("[::1]"), CW_STR("[0:0:0:0:0:0:0:1]")));
    assert_true(cw_host_eq(CW_STR("[2001:DB8::1]:8"), CW_STR("[2001:db8:0::1]:8")));
    assert_false(cw_host_eq(CW_STR("a"), CW_STR("a:80")));
    assert_false(cw_host_eq(CW_STR("a:80"), CW_STR("a:81")));
    assert_false(cw_host_eq(CW_STR("a"), CW_STR("b")));
    assert_false(cw_host_eq(CW_STR("a"), CW_STR("ab")));
    assert_false(cw_host_eq(CW_STR("[::1]"), CW_STR("[::2]")));
    assert_false(cw_host_eq(CW_STR("[::1]"), CW_STR("localhost")));
    assert_false(cw_host_eq(CW_STR("a b"), CW_STR("a b")));
    assert_false(cw_host_eq(CW_STR(""), CW_STR("")));
}

TEST(only_loopback_passes_by_default)
{
    assert_allows("",
                  LIST("localhost", "LOCALHOST", "localhost.", "localhost:1", "127.0.0.1",
                       "127.0.0.1:65535", "[::1]", "[::1]:8080", "[0:0:0:0:0:0:0:1]"),
                  LIST("example.org", "localhost.example.org", "xlocalhost", "localhostx",
                       "127.0.0.1.example.org", "127.0.0.2", "127.1", "0x7f000001", "2130706433",
                       "0.0.0.0", "[::]", "[::ffff:127.0.0.1]", "localhost..", "", "local%68ost",
                       "sub.localhost"));
}

TEST(a_plain_entry_matches_any_port)
{
    assert_allows("Example.org,[2001:db8::1]",
                  LIST("example.org", "EXAMPLE.ORG.", "example.org:8080", "[2001:DB8:0::1]:443"),
                  LIST("localhost", "www.example.org", "example.org.evil.example", "example.or",
                       "[2001:db8::2]", "2001"));
}

TEST(an_entry_with_a_port_matches_that_port)
{
    assert_allows("example.org:8080,[::1]:1",
                  LIST("example.org:8080", "example.org.:8080", "[::1]:1"),
                  LIST("example.org", "example.org:80", "example.org:808", "[::1]", "[::1]:2"));
}

TEST(a_wildcard_matches_names_below)
{
    assert_allows("*.example.org", LIST("a.example.org", "A.B.Example.ORG.:80"),
                  LIST("example.org", "xexample.org", ".example.org", "a.example.org.evil.example",
                       "aexample.org", "[::1]", "org"));
    assert_allows("*.example.org:8080", LIST("a.example.org:8080"), LIST("a.example.org"));
}

TEST(the_asterisk_allows_every_valid_host)
{
    assert_allows("*", LIST("a", "example.org:80", "[::2]"), LIST("", "a b", "a,b", "u@a"));
    assert_allows("a,*", LIST("a", "b"), LIST("a/b"));
}

static void assert_origins_of(bool is_https, const char *hosts, const char *origins,
                              const char *host, const char *const *good, const char *const *bad)
{
    cw_hostlist *list = list_of(hosts, origins);
    for (; *good; good++) {
        if (!cw_hostlist_allows_origin(list, cw_str_from(*good), is_https, cw_str_from(host)))
            fail_msg("for '%s', '%s' does not allow '%s'", host, origins, *good);
    }
    for (; *bad; bad++) {
        if (cw_hostlist_allows_origin(list, cw_str_from(*bad), is_https, cw_str_from(host)))
            fail_msg("for '%s', '%s' allows '%s'", host, origins, *bad);
    }
    cw_hostlist_free(list);
}

/* For a request without TLS. */
static void assert_origins(const char *hosts, const char *origins, const char *host,
                           const char *const *good, const char *const *bad)
{
    assert_origins_of(false, hosts, origins, host, good, bad);
}

TEST(the_servers_own_pages_may_call_it)
{
    assert_origins("", "", "localhost:8080",
                   LIST("http://localhost:8080", "http://LOCALHOST:8080", "HTTP://localhost.:8080"),
                   LIST("https://localhost:8080", "http://localhost", "http://localhost:8081",
                        "http://127.0.0.1:8080", "http://evil.example", "http://evil.example:8080",
                        "null", "", "localhost:8080", "ws://localhost:8080", "file://",
                        "file://localhost:8080", "http://localhost:8080/",
                        "http://u@localhost:8080", "http://localhost:8080 http://evil.example",
                        "http:localhost:8080", "http//localhost:8080", "://localhost:8080",
                        "http://", "http:///"));
    /* A port that is not written is that of the page's scheme, which is the request's. */
    assert_origins("", "", "localhost", LIST("http://localhost", "http://localhost:80"),
                   LIST("https://localhost", "https://localhost:443", "http://localhost:443",
                        "https://localhost:80"));
    assert_origins_of(true, "", "", "localhost", LIST("https://localhost", "HTTPS://localhost:443"),
                      LIST("http://localhost", "http://localhost:80", "http://localhost:443",
                           "https://localhost:80"));
    assert_origins_of(true, "", "", "localhost:443", LIST("https://localhost"),
                      LIST("http://localhost", "http://localhost:443"));
    assert_origins("", "", "[::1]:1", LIST("http://[0::1]:1"), LIST("http://[::1]"));
}

TEST(a_host_that_is_not_listed_makes_no_origin_its_own)
{
    assert_origins("", "", "evil.example", LIST("http://localhost:1") + 1,
                   LIST("http://evil.example", "null", "http://localhost"));
    assert_origins("", "", "a b", LIST("x") + 1, LIST("http://a b", "http://localhost"));
}

TEST(listed_origins_pass_for_any_host)
{
    assert_origins(
        "", "https://app.example.org,http://dev:3000,vscode-webview://abc,app://x,z3+a.b://y",
        "localhost",
        LIST("https://app.example.org", "HTTPS://App.Example.Org.:443", "http://dev:3000",
             "vscode-webview://abc", "APP://x", "z3+a.b://y"),
        LIST("http://app.example.org", "https://app.example.org:8443", "https://x.app.example.org",
             "http://dev", "http://dev:300", "null", "vscode-webview://abd",
             "vscode-webview://abc:1", "https://app.example.org.evil.example"));
    assert_origins("", "https://*.example.org", "localhost", LIST("https://a.example.org"),
                   LIST("https://example.org", "http://a.example.org", "https://a.example.org:1"));
}

TEST(null_passes_only_if_listed)
{
    assert_origins("", "null", "localhost", LIST("null"),
                   LIST("NULL", "Null", "nul", "", "null://x"));
    assert_origins("", "*", "localhost", LIST("null", "https://anything.example", "x"),
                   LIST("x") + 1);
    assert_origins("*", "", "evil.example", LIST("http://evil.example"),
                   LIST("null", "http://other.example"));
}

TEST(bad_entries_are_named)
{
    static const char *const bad_hosts[] = {
        "",        "a b", "http://a", "a/b",  "*a",  "**",  "*.",
        "*.[::1]", "a:b", "a:",       "*:80", "a,b", "[::", "*.*.a"};
    static const char *const bad_origins[] = {
        "",          "a",          "a.example", "http://", "http://a/", "http:a",     "://a",
        "1http://a", "http://a b", "ht_tp://a", "http:/a", "Null",      "http://u@a", "http://*"};
    cw_hostlist *list = NULL;
    cw_err err;
    for (size_t i = 0; i < CW_COUNT(bad_hosts); i++) {
        cw_str entries[] = {CW_STR("good"), cw_str_from(bad_hosts[i])};
        err = (cw_err){0};
        assert_int_equal(cw_hostlist_new(entries, 2, NULL, 0, &list, &err), CW_PARAMS);
        assert_non_null(strstr(err.msg, bad_hosts[i]));
        assert_null(list);
    }
    for (size_t i = 0; i < CW_COUNT(bad_origins); i++) {
        cw_str entry = cw_str_from(bad_origins[i]);
        err = (cw_err){0};
        assert_int_equal(cw_hostlist_new(NULL, 0, &entry, 1, &list, &err), CW_PARAMS);
        assert_non_null(strstr(err.msg, bad_origins[i]));
        assert_null(list);
        assert_int_equal(cw_hostlist_new(NULL, 0, &entry, 1, &list, NULL), CW_PARAMS);
    }
}

TEST(a_list_keeps_its_own_copy)
{
    char host[] = "example.org", origin[] = "https://a.example";
    cw_str h = cw_str_from(host), o = cw_str_from(origin);
    cw_hostlist *list = NULL;
    assert_int_equal(cw_hostlist_new(&h, 1, &o, 1, &list, NULL), CW_OK);
    memset(host, 'x', sizeof host - 1);
    memset(origin, 'x', sizeof origin - 1);
    assert_true(cw_hostlist_allows_host(list, CW_STR("example.org")));
    assert_true(cw_hostlist_allows_origin(list, CW_STR("https://a.example"), false, CW_STR("b")));
    cw_hostlist_free(list);
    cw_hostlist_free(NULL);
}

TEST(few_texts_are_spelt_as_listed)
{
    static const uint16_t ports[] = {8080, 8443};
    static const char *const good[] = {"localhost", "localhost:8080", "localhost:8443",
                                       "[::1]",     "[::1]:8080",     "a.org:81",
                                       "a.org",     "a.org:8443"};
    static const char *const bad[] = {
        "localhost:81", "localhost:08080", "localhost.", "localhost.:8080", "LOCALHOST", "[0::1]",
        "[::1]:1",      "localhost:0",     "x.b.org",    "b.org",           "a.org:82",  "",
        "c.org"};
    cw_hostlist *list = list_of("localhost,[::1],a.org:81,*.b.org", NULL);
    for (size_t i = 0; i < CW_COUNT(good); i++)
        assert_true(cw_hostlist_has_spelling(list, cw_str_from(good[i]), ports, CW_COUNT(ports)));
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_false(cw_hostlist_has_spelling(list, cw_str_from(bad[i]), ports, CW_COUNT(ports)));
    cw_hostlist_free(list);
}

static void make_once(void *ctx)
{
    (void)ctx;
    cw_str host = CW_STR("a"), origin = CW_STR("http://b");
    cw_hostlist *list = NULL;
    cw_err err = {0};
    cw_code rc = cw_hostlist_new(&host, 1, &origin, 1, &list, &err);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_hostlist_free(list);
}

TEST(a_failed_allocation_is_reported)
{
    assert_true(oom_each(make_once, NULL) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_texts_are_spelt_as_listed),
        cmocka_unit_test(host_values_have_a_strict_syntax),
        cmocka_unit_test(equal_hosts_are_found_equal),
        cmocka_unit_test(only_loopback_passes_by_default),
        cmocka_unit_test(a_plain_entry_matches_any_port),
        cmocka_unit_test(an_entry_with_a_port_matches_that_port),
        cmocka_unit_test(a_wildcard_matches_names_below),
        cmocka_unit_test(the_asterisk_allows_every_valid_host),
        cmocka_unit_test(the_servers_own_pages_may_call_it),
        cmocka_unit_test(a_host_that_is_not_listed_makes_no_origin_its_own),
        cmocka_unit_test(listed_origins_pass_for_any_host),
        cmocka_unit_test(null_passes_only_if_listed),
        cmocka_unit_test(bad_entries_are_named),
        cmocka_unit_test(a_list_keeps_its_own_copy),
        cmocka_unit_test(a_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
