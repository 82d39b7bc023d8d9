/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/limits.h"
#include "config/syntax/names.h"
#include "net/client/client.h"
#include "net/http/hostcheck.h"
#include "support/test.h"

TEST(addresses_are_taken_apart)
{
    static const struct {
        const char *text, *host, *unix_path;
        uint16_t port;
    } cases[] = {
        {"127.0.0.1:8080", "127.0.0.1", "", 8080},
        {"0.0.0.0:0", "0.0.0.0", "", 0},
        {"localhost:65535", "localhost", "", 65535},
        {"my-host.example.org:80", "my-host.example.org", "", 80},
        {"[::1]:8080", "::1", "", 8080},
        {"[::]:0", "::", "", 0},
        {"[fe80::1%eth0]:80", "fe80::1%eth0", "", 80},
        {"[::ffff:1.2.3.4]:80", "::ffff:1.2.3.4", "", 80},
        {"unix:/run/causeway.sock", "", "/run/causeway.sock", 0},
        {"unix:relative.sock", "", "relative.sock", 0},
        {"unix::", "", ":", 0},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_config_address a = {0};
        assert_null(cw_names_parse_address(cw_str_from(cases[i].text), &a));
        assert_true(cw_str_is(a.text, cases[i].text));
        assert_true(cw_str_is(a.host, cases[i].host));
        assert_true(cw_str_is(a.unix_path, cases[i].unix_path));
        assert_int_equal(a.port, cases[i].port);
    }
}

TEST(wrong_addresses_are_explained)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "no host: 127.0.0.1 is this machine only, 0.0.0.0 every IPv4 address of it"},
        {":8080", "no host: 127.0.0.1 is this machine only, 0.0.0.0 every IPv4 address of it"},
        {"localhost", "no port"},
        {"[::1]", "no port"},
        {"[::1]8080", "no port"},
        {"localhost:", "a port is a number from 0 to 65535"},
        {"localhost:65536", "a port is a number from 0 to 65535"},
        {"localhost:-1", "a port is a number from 0 to 65535"},
        {"localhost:http", "a port is a number from 0 to 65535"},
        {"localhost:000080", "a port is a number from 0 to 65535"},
        {"[::1]:", "a port is a number from 0 to 65535"},
        {"::1:80", "an IPv6 address needs brackets: \"[::1]:8080\""},
        {"http://localhost:80", "not a URL: HOST:PORT alone, and \"tls: true\" for https"},
        {"[::1", "not an IPv6 address in brackets"},
        {"[]:80", "not an IPv6 address in brackets"},
        {"[1.2.3.4]:80", "not an IPv6 address in brackets"},
        {"[::1%]:80", "not an IPv6 address in brackets"},
        {"[::1%a/b]:80", "not an IPv6 address in brackets"},
        {"[11111111111111111111111111111111111111111111111111]:80",
         "not an IPv6 address in brackets"},
        {"1.2.3:80", "not an IPv4 address"},
        {"256.0.0.1:80", "not an IPv4 address"},
        {"8080:80", "not an IPv4 address"},
        {"*:80", "not a host name"},
        {"a b:80", "not a host name"},
        {"a..b:80", "not a host name"},
        {".a:80", "not a host name"},
        {"/run/x.sock", "not a host name"},
        {"unix:", "no path behind \"unix:\""},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_config_address a = {.port = 7};
        const char *why = cw_names_parse_address(cw_str_from(cases[i].text), &a);
        assert_non_null(why);
        assert_string_equal(why, cases[i].why);
        assert_int_equal(a.port, 7);
    }
}

static const char *const hosts[] = {
    "*",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "localhost:80",
    "127.0.0.1",
    "127.0.0.1:8080",
    "[::1]",
    "[::1]:8080",
    "[::ffff:1.2.3.4]",
    "*.example.org",
    "*.example.org:443",
    "a_b-c.d",
    "1.2.3",
    "localhost:0",
    "localhost:65535",
    "localhost:00080",
    /* and wrong ones */
    "",
    ".",
    "..",
    "*.",
    "**",
    "*.*",
    "**.a",
    "a.*",
    "a b",
    "a,b",
    "a/b",
    "a@b",
    "http://a",
    "a..b",
    ".a",
    "a..",
    "::1",
    "[::1",
    "[]",
    "[::1]x",
    "[::1]:",
    "[::1]:x",
    "[::1%eth0]",
    "a:",
    "a:x",
    "a:65536",
    "a:-1",
    "a:1:2",
    "*.[::1]",
    "*:80",
    "%61",
    "\xc3\xa9",
    "a\tb",
    "[1.2.3.4]",
    "a:000080",
    "a:99999",
    "a%2eb",
    "[::1]]",
    "[[::1]]",
};

/* config repeats the syntax that net checks; both must say the same of every entry. */
TEST(hosts_are_what_net_takes)
{
    for (size_t i = 0; i < CW_COUNT(hosts); i++) {
        cw_str entry = cw_str_from(hosts[i]);
        cw_hostlist *list = NULL;
        cw_code rc = cw_hostlist_new(&entry, 1, NULL, 0, &list, NULL);
        if (cw_names_is_host(entry) != (rc == CW_OK))
            fail_msg("\"%s\": net says %s", hosts[i], cw_code_text(rc));
        cw_hostlist_free(list);
    }
    assert_true(cw_names_is_host(cw_str_from(hosts[16])));
    assert_false(cw_names_is_host(cw_str_from(hosts[17])));
    assert_false(cw_names_is_host(CW_STR("a\0b")));
}

static const char *const origins[] = {
    "*",
    "null",
    "https://example.org",
    "http://localhost:3000",
    "http://[::1]:80",
    "HTTPS://a",
    "https://*.example.org",
    "chrome-extension://abcdef",
    "a+b.c-d://x",
    /* and wrong ones */
    "",
    "Null",
    "example.org",
    "https://",
    "https:/a",
    "https:a",
    "://a",
    "1http://a",
    "h_t://a",
    "https://a/",
    "https://a/b",
    "https://a?x",
    "https://u@a",
    "https://*",
    "https://a:",
    "http//a",
    "https://a:65536",
    "https://a b",
    "https://a,http://b",
    "https://a https://b",
    "http://*:80",
    "https:// a",
    " https://a",
};

TEST(origins_are_what_net_takes)
{
    for (size_t i = 0; i < CW_COUNT(origins); i++) {
        cw_str entry = cw_str_from(origins[i]);
        cw_hostlist *list = NULL;
        cw_code rc = cw_hostlist_new(NULL, 0, &entry, 1, &list, NULL);
        if (cw_names_is_origin(entry) != (rc == CW_OK))
            fail_msg("\"%s\": net says %s", origins[i], cw_code_text(rc));
        cw_hostlist_free(list);
    }
    assert_true(cw_names_is_origin(cw_str_from(origins[8])));
    assert_false(cw_names_is_origin(cw_str_from(origins[9])));
}

static const char *const urls[] = {
    "http://a",
    "http://a/",
    "http://a.example:8080/rpc?x=1&y=%20",
    "http://[::1]:80",
    "http://127.0.0.1/!$&'()*+,;=:@-._~",
    "unix:/run/a.sock",
    "unix:/run/a.sock:/rpc",
    "unix:/run/a b.sock:/",
    "https://a.example/rpc",
    "https://[::1]:8443",
    /* not for the HTTP client */
    "ws://a",
    "ws://a:81/socket?x=1",
    "wss://a",
    "wss://[::1]:8443/socket",
    "tcp://a:1",
    "tcp://[::1]:65535",
    /* and wrong ones */
    "",
    "a",
    "ftp://a",
    "http:a",
    "http://",
    "http:///x",
    "http://:80/",
    "http://a:0/",
    "http://a:65536/",
    "http://a:x/",
    "http://u@a/",
    "http://u:p@a/",
    "http://*/",
    "http://a b/",
    "http://a/ b",
    "http://a/\xc3\xa9",
    "http://a/#x",
    "http://a#x",
    "http://a?b",
    "http://a/<",
    "http://a/\"",
    "http://a/{b}",
    "http://[::1/",
    "unix:",
    "unix::/x",
    "unix:/a:",
    "unix:/a:b",
    "unix:/a:/ b",
    "tcp://a",
    "tcp://[::1]",
    "tcp://a:1/",
    "tcp://u@a:1",
    "tcp://a:0",
    "tcp://",
    "ws://",
    "ws://a/#x",
    "wss:a",
    "wss://",
    "wss://u@a/",
    "wss://a/#x",
    "https://",
    "https://u@a/",
    "HTTP://a",
};
#define HTTP_URLS 10u
#define RIGHT_URLS 16u

TEST(urls_are_what_net_takes)
{
    for (size_t i = 0; i < CW_COUNT(urls); i++) {
        cw_client_url url;
        cw_str socket;
        bool is_right = i < RIGHT_URLS;
        const char *wrong = cw_names_check_url(cw_str_from(urls[i]), &socket);
        if (is_right != !wrong)
            fail_msg("\"%s\": %s", urls[i], wrong ? wrong : "accepted");
        cw_code rc = cw_client_url_parse(cw_str_from(urls[i]), &url, NULL);
        if (i < HTTP_URLS && rc)
            fail_msg("\"%s\": net does not take it", urls[i]);
    }
    cw_str socket;
    assert_null(cw_names_check_url(CW_STR("unix:a.sock:/x"), &socket));
    assert_true(cw_str_is(socket, "a.sock"));
    assert_null(cw_names_check_url(CW_STR("http://a"), &socket));
    assert_int_equal(socket.n, 0);
    assert_string_equal(cw_names_check_url(CW_STR("tcp://[::1]"), &socket), "no port");
    assert_string_equal(cw_names_check_url(CW_STR("tcp://a:1/x"), &socket), "a stream has no path");
}

TEST(a_url_has_a_length)
{
    char url[CW_HTTP_MAX_TARGET + 16];
    cw_str socket;
    memset(url, 'a', sizeof url);
    memcpy(url, "http://a/", 9);
    assert_null(cw_names_check_url(cw_str_make(url, 8 + CW_HTTP_MAX_TARGET), &socket));
    assert_non_null(cw_names_check_url(cw_str_make(url, 9 + CW_HTTP_MAX_TARGET), &socket));
}

TEST(proxies_have_a_host_and_a_port)
{
    static const char *const names[] = {
        "http://a:3128", "https://[::1]:1", "socks5://a:1", "socks5h://a.b:65535",
        /* and wrong ones */
        "", "a:3128", "http://a", "http://a:1/", "http://u:p@a:1", "ftp://a:1", "socks4://a:1",
        "http://a:0", "http://:1", "http://*:1"};
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        if (cw_names_is_proxy(cw_str_from(names[i])) != (i < 4))
            fail_msg("\"%s\"", names[i]);
    }
}

TEST(a_path_of_calls_has_the_method_in_it_once)
{
    static const char *const good[] = {"/{method}", "/mcp/tools/{method}",
                                       "/a%20b/{method}?v=1&x=[y]"};
    static const char *const bad[] = {
        "",         "mcp/{method}", "/mcp",        "/{name}",       "/{method}/{method}",
        "/{method", "/method}",     "/{method}#x", "/a b/{method}", "/{method}\r\nX: y",
        "{method}"};
    for (size_t i = 0; i < CW_COUNT(good); i++) {
        if (!cw_names_is_call_path(cw_str_from(good[i])))
            fail_msg("\"%s\"", good[i]);
    }
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        if (cw_names_is_call_path(cw_str_from(bad[i])))
            fail_msg("\"%s\"", bad[i]);
    }
}

TEST(a_path_has_no_segment_that_clients_remove)
{
    static const char *const paths[] = {"/mcp", "/a/b.c", "/.well-known/x", "/...",
                                        /* and wrong ones */
                                        "", "/", "mcp", "/mcp/", "/a//b", "/a b", "/.", "/..",
                                        "/mcp/../x", "/a/."};
    for (size_t i = 0; i < CW_COUNT(paths); i++) {
        if (cw_names_is_path(cw_str_from(paths[i])) != (i < 4))
            fail_msg("\"%s\"", paths[i]);
    }
}

TEST(console_host_is_a_name_alone)
{
    assert_true(cw_names_is_console_host(CW_STR("console.localhost")));
    assert_true(cw_names_is_console_host(CW_STR("console-1.example.org")));
    assert_false(cw_names_is_console_host(CW_STR("console.example.org:8080")));
    assert_false(cw_names_is_console_host(CW_STR("*.example.org")));
    assert_false(cw_names_is_console_host(CW_STR("[::1]")));
    assert_false(cw_names_is_console_host(CW_STR("")));
}

TEST(words_variables_and_headers_are_plain)
{
    char longest[258];
    memset(longest, 'a', sizeof longest);
    assert_true(cw_names_is_word(CW_STR("2.0")));
    assert_true(cw_names_is_word(CW_STR("content-length_X")));
    assert_false(cw_names_is_word(CW_STR("")));
    assert_false(cw_names_is_word(CW_STR("a b")));
    assert_true(cw_names_is_word(cw_str_make(longest, 64)));
    assert_false(cw_names_is_word(cw_str_make(longest, 65)));
    assert_true(cw_names_is_variable(CW_STR("_A1")));
    assert_false(cw_names_is_variable(CW_STR("")));
    assert_false(cw_names_is_variable(CW_STR("1A")));
    assert_false(cw_names_is_variable(CW_STR("A=B")));
    assert_false(cw_names_is_variable(CW_STR("A-B")));
    assert_true(cw_names_is_variable(cw_str_make(longest, 255)));
    assert_false(cw_names_is_variable(cw_str_make(longest, 256)));
    assert_true(cw_names_is_header(CW_STR("X-Tenant!#$%&'*+.^_`|~")));
    assert_false(cw_names_is_header(CW_STR("")));
    assert_false(cw_names_is_header(CW_STR("X:")));
    assert_false(cw_names_is_header(CW_STR("X Y")));
    assert_false(cw_names_is_header(CW_STR("X\r\nY")));
    assert_false(cw_names_is_header(cw_str_make("X\0Y", 3)));
    assert_true(cw_names_is_header(cw_str_make(longest, 128)));
    assert_false(cw_names_is_header(cw_str_make(longest, 129)));
}

TEST(sources_are_lower_case_words)
{
    char name[65];
    memset(name, 'a', sizeof name);
    assert_true(cw_names_is_source(CW_STR("a")));
    assert_true(cw_names_is_source(CW_STR("-0_z")));
    assert_true(cw_names_is_source(cw_str_make(name, 64)));
    assert_false(cw_names_is_source(cw_str_make(name, 65)));
    static const char *const wrong[] = {"", "A", "a b", "a.b", "\xc3\xa9", "a/b"};
    for (size_t i = 0; i < CW_COUNT(wrong); i++)
        assert_false(cw_names_is_source(cw_str_from(wrong[i])));
}

TEST(names_have_a_length)
{
    char name[257];
    memset(name, 'a', sizeof name);
    assert_true(cw_names_is_host(cw_str_make(name, 255)));
    assert_false(cw_names_is_host(cw_str_make(name, 256)));
    assert_true(cw_names_is_component(cw_str_make(name, 32)));
    assert_false(cw_names_is_component(cw_str_make(name, 33)));
}

TEST(components_are_lower_case_words)
{
    assert_true(cw_names_is_component(CW_STR("net")));
    assert_true(cw_names_is_component(CW_STR("a")));
    assert_true(cw_names_is_component(CW_STR("source-x_2")));
    static const char *const wrong[] = {"",   "Net", "nEt", "1a",  "-a",
                                        "_a", "a b", "a=b", "a,b", "a."};
    for (size_t i = 0; i < CW_COUNT(wrong); i++)
        assert_false(cw_names_is_component(cw_str_from(wrong[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_has_no_segment_that_clients_remove),
        cmocka_unit_test(console_host_is_a_name_alone),
        cmocka_unit_test(addresses_are_taken_apart),
        cmocka_unit_test(wrong_addresses_are_explained),
        cmocka_unit_test(hosts_are_what_net_takes),
        cmocka_unit_test(origins_are_what_net_takes),
        cmocka_unit_test(urls_are_what_net_takes),
        cmocka_unit_test(a_url_has_a_length),
        cmocka_unit_test(proxies_have_a_host_and_a_port),
        cmocka_unit_test(a_path_of_calls_has_the_method_in_it_once),
        cmocka_unit_test(words_variables_and_headers_are_plain),
        cmocka_unit_test(sources_are_lower_case_words),
        cmocka_unit_test(names_have_a_length),
        cmocka_unit_test(components_are_lower_case_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
