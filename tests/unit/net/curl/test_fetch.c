/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/curl/fetch.c" /* NOLINT(bugprone-suspicious-include) */

#include <arpa/inet.h>

#include "support/client_fixture.h"
#include "support/patience.h"

/* ---- addresses ---- */

static const char *check(const char *text, uint16_t port, bool allow_private, bool is_clear)
{
    struct sockaddr_storage sa = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&sa;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&sa;
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        sa.ss_family = AF_INET;
        v4->sin_port = htons(port);
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
        sa.ss_family = AF_INET6;
        v6->sin6_port = htons(port);
    }
    return check_address((struct sockaddr *)&sa, allow_private, is_clear);
}

TEST(public_addresses_may_be_asked_with_tls_only)
{
    static const char *const good[] = {
        "1.1.1.1",        "9.255.255.255",   "11.0.0.0",         "100.63.255.255",
        "100.128.0.0",    "126.255.255.255", "128.0.0.0",        "169.253.255.255",
        "169.255.0.0",    "172.15.255.255",  "172.32.0.0",       "192.0.1.0",
        "192.0.3.0",      "192.88.98.255",   "192.167.255.255",  "192.169.0.0",
        "198.17.255.255", "198.20.0.0",      "198.51.99.255",    "203.0.112.255",
        "203.0.114.0",    "223.255.255.255", "2606:4700::1111",  "2001:200::1",
        "3fff:1::1",      "::ffff:1.1.1.1",  "64:ff9b::1.1.1.1", "2002:101:101::1",
    };
    for (size_t i = 0; i < CW_COUNT(good); i++) {
        if (check(good[i], 443, false, false))
            fail_msg("%s is refused", good[i]);
        if (!check(good[i], 80, true, true))
            fail_msg("%s is asked without TLS", good[i]);
    }
}

TEST(private_addresses_may_be_asked_where_allowed)
{
    static const char *const some[] = {
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "172.16.0.0",
        "172.31.255.255",
        "192.168.0.1",
        "::1",
        "fc00::1",
        "fdff::1",
        "::ffff:127.0.0.1",
        "::ffff:10.1.2.3",
        "64:ff9b::192.168.1.1",
        "2002:7f00:1::",
    };
    for (size_t i = 0; i < CW_COUNT(some); i++) {
        if (!check(some[i], 443, false, false) || !check(some[i], 80, false, true))
            fail_msg("%s is asked", some[i]);
        if (check(some[i], 443, true, false) || check(some[i], 80, true, true) ||
            check(some[i], 8080, true, true))
            fail_msg("%s is refused", some[i]);
    }
}

TEST(other_addresses_are_never_asked)
{
    static const char *const bad[] = {
        "0.0.0.0",
        "0.1.2.3",
        "169.254.0.0",
        "169.254.169.254",
        "169.254.255.255",
        "192.0.0.1",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.7",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::127.0.0.1",
        "::2",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "2001::1",
        "2001:db8::1",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::1",
        "::ffff:169.254.169.254",
        "::ffff:0.0.0.0",
        "2002:a9fe:a9fe::",
        "4000::1",
        "100::1",
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        for (int flags = 0; flags < 4; flags++) {
            if (!check(bad[i], 443, flags & 1, flags & 2))
                fail_msg("%s is asked", bad[i]);
        }
    }
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    assert_non_null(check_address((struct sockaddr *)&un, true, false));
}

TEST(ports_of_other_services_are_refused)
{
    for (unsigned port = 0; port < 1024; port++) {
        assert_int_equal(check("1.1.1.1", (uint16_t)port, false, false) == NULL, port == 443);
        assert_int_equal(check("127.0.0.1", (uint16_t)port, true, true) == NULL, port == 80);
    }
    assert_null(check("1.1.1.1", 1024, false, false));
    assert_null(check("1.1.1.1", 65535, false, false));
}

TEST(urls_are_checked_before_anything_is_looked_up)
{
    static const char *const good[] = {"https://a", "https://a.example:8443/x?y=1",
                                       "https://[2001:200::1]/", "https://10.0.0.1/"};
    static const char *const bad[] = {
        "",
        "a",
        "ftp://a/",
        "file:///etc/passwd",
        "gopher://a/",
        "HTTPS://a/",
        "https:/a",
        "https://",
        "https:///x",
        "https://u@a/",
        "https://u:p@a/",
        "https://a\\@b/",
        "https://a b/",
        "https://a/\r\nX: y",
        "https://a/\x7f",
        "https://a/\xc3\xa4",
        "https://a/#f",
        "https://a:x/",
        "https://[::1/",
        "http://a/",
    };
    for (size_t i = 0; i < CW_COUNT(good); i++)
        assert_null(check_url(cw_str_from(good[i]), false));
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        if (!check_url(cw_str_from(bad[i]), false))
            fail_msg("%s is taken", bad[i]);
    }
    assert_null(check_url(CW_STR("http://a/"), true));
    char text[CW_FETCH_MAX_URL + 2];
    memset(text, 'a', sizeof text);
    memcpy(text, "https://a/", 10);
    assert_null(check_url(cw_str_make(text, CW_FETCH_MAX_URL), false));
    assert_non_null(check_url(cw_str_make(text, CW_FETCH_MAX_URL + 1), false));
    /* A name of more than 253 bytes. */
    memset(text + 8, 'b', 254);
    assert_non_null(check_url(cw_str_make(text, 262), false));
}

/* ---- requests ---- */

typedef struct got {
    cw_fetch fetch;
    char url[128];
    unsigned calls, status;
    size_t n;
    char why[256];
    cw_fetch_response answer;
    cw_fetcher **closes; /* within on_done */
} got;

static void on_got(cw_fetch *f, const cw_fetch_response *answer, const char *why)
{
    got *g = CW_CONTAINER(f, got, fetch);
    g->calls++;
    if (answer) {
        g->answer = *answer;
        g->status = answer->status;
        g->n = answer->body.n;
    } else {
        snprintf(g->why, sizeof g->why, "%s", why);
    }
    if (g->closes) {
        cw_fetcher_close(*g->closes);
        *g->closes = NULL;
    }
}

static cw_code start(cw_fetcher *fr, got *g, const char *host, uint16_t port)
{
    snprintf(g->url, sizeof g->url, "http://%s:%u/doc", host, port);
    g->fetch.url = cw_str_from(g->url);
    g->fetch.on_done = on_got;
    return cw_fetcher_start(fr, &g->fetch, NULL);
}

#define SAY(head, body) DO_SEND("HTTP/1.1 200 OK\r\n" head "\r\n\r\n" body)

/* One request to a server that follows a script. */
static void fetch(const fake_step *script, got *g)
{
    fake_server s;
    client_fixture b;
    cw_fetcher *fr;
    fake_server_start(&s, &script, 1);
    client_fixture_init(&b);
    assert_int_equal(cw_fetcher_new(&b.loop, &fr, NULL), CW_OK);
    g->fetch.allow_private = true;
    assert_int_equal(start(fr, g, "127.0.0.1", s.port), CW_OK);
    client_run_until(&b, g->calls);
    client_run_for(&b, 20);
    assert_int_equal(g->calls, 1);
    cw_fetcher_close(fr);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(a_document_is_fetched)
{
    static const fake_step script[] = {
        DO_READ, SAY("Content-Length: 2\r\nCache-Control: public, max-age=77", "{}"), DO_END};
    got g = {0};
    fetch(script, &g);
    assert_int_equal(g.status, 200);
    assert_int_equal(g.n, 2);
    assert_true(g.answer.has_max_age);
    assert_int_equal(g.answer.max_age_s, 77);
}

TEST(a_document_that_is_too_large_is_refused)
{
    static const fake_step exact[] = {DO_READ, SAY("Content-Length: 65536", ""), DO_FILL(65536),
                                      DO_END};
    static const fake_step announced[] = {DO_READ, SAY("Content-Length: 65537", ""), DO_FILL(65537),
                                          DO_END};
    static const fake_step endless[] = {DO_READ, SAY("X: y", ""), DO_FILL(10000000), DO_END};
    got a = {0}, b = {0}, c = {0};
    fetch(exact, &a);
    assert_int_equal(a.n, CW_FETCH_MAX_BYTES);
    fetch(announced, &b);
    assert_string_equal(b.why, "the answer is too large");
    fetch(endless, &c);
    assert_string_equal(c.why, "the answer is too large");
}

TEST(of_an_answer_that_may_be_cut_the_status_counts)
{
    static const fake_step large[] = {DO_READ, SAY("Content-Length: 65537", ""), DO_FILL(65537),
                                      DO_END};
    got g = {.fetch = {.may_cut = true}};
    fetch(large, &g);
    assert_string_equal(g.why, "");
    assert_int_equal(g.status, 200);
    assert_int_equal(g.n, 0);
}

TEST(who_says_nothing_is_not_waited_for)
{
    static const fake_step silent[] = {DO_READ, DO_HOLD, DO_END};
    got g = {.fetch = {.timeout_ms = 100}};
    uint64_t before = cw_clock_ms();
    fetch(silent, &g);
    assert_null(strstr(g.why, "too large"));
    assert_true(g.why[0] && cw_clock_ms() - before < patience(5000));
}

TEST(redirects_are_answers_like_others)
{
    static const fake_step script[] = {DO_READ,
                                       DO_SEND("HTTP/1.1 302 Found\r\nLocation: /other\r\n"
                                               "Content-Length: 0\r\n\r\n"),
                                       DO_END};
    got g = {0};
    fetch(script, &g);
    assert_int_equal(g.status, 302);
}

TEST(nobody_is_asked_who_may_not_be)
{
    static const fake_step script[] = {DO_READ, SAY("Content-Length: 2", "{}"), DO_END};
    static const fake_step *const scripts[] = {script};
    /* Spellings of this machine; names are looked up. */
    static const char *const hosts[] = {"127.0.0.1",  "127.1",      "2130706433",
                                        "0x7f000001", "0177.0.0.1", "localhost",
                                        "localhost.", "0.0.0.0",    "0"};
    fake_server s;
    client_fixture b;
    cw_fetcher *fr;
    fake_server_start(&s, scripts, 1);
    client_fixture_init(&b);
    assert_int_equal(cw_fetcher_new(&b.loop, &fr, NULL), CW_OK);
    for (size_t i = 0; i < CW_COUNT(hosts); i++) {
        got g = {0};
        snprintf(g.url, sizeof g.url, "https://%s:%u/doc", hosts[i], s.port);
        g.fetch = (cw_fetch){.url = cw_str_from(g.url), .on_done = on_got};
        if (cw_fetcher_start(fr, &g.fetch, NULL))
            continue;
        client_run_until(&b, g.calls);
        assert_true(g.why[0]);
    }
    assert_int_equal(atomic_load(&s.accepted), 0);
    cw_fetcher_close(fr);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(proxies_of_the_environment_do_not_count)
{
    static const fake_step script[] = {DO_READ, SAY("Content-Length: 2", "{}"), DO_END};
    got g = {0};
    setenv("http_proxy", "http://127.0.0.1:9", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:9", 1);
    fetch(script, &g);
    unsetenv("http_proxy");
    unsetenv("ALL_PROXY");
    assert_int_equal(g.status, 200);
}

TEST(a_form_is_sent_with_its_authorization)
{
    static const fake_step script[] = {DO_READ, SAY("Content-Length: 2", "{}"), DO_END};
    static const fake_step *const scripts[] = {script};
    fake_server s;
    client_fixture b;
    cw_fetcher *fr;
    got g = {.fetch = {.allow_private = true,
                       .form = CW_STR("token=x"),
                       .authorization = CW_STR("Basic eA==")}};
    fake_server_start(&s, scripts, 1);
    client_fixture_init(&b);
    assert_int_equal(cw_fetcher_new(&b.loop, &fr, NULL), CW_OK);
    assert_int_equal(start(fr, &g, "127.0.0.1", s.port), CW_OK);
    client_run_until(&b, g.calls);
    const char *last = fake_server_last_request(&s);
    assert_non_null(strstr(last, "POST /doc HTTP/1.1\r\n"));
    assert_non_null(strstr(last, "Authorization: Basic eA==\r\n"));
    assert_non_null(strstr(last, "application/x-www-form-urlencoded"));
    assert_non_null(strstr(last, "\r\n\r\ntoken=x"));
    cw_fetcher_close(fr);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(what_is_cancelled_or_closed_is_not_told)
{
    static const fake_step silent[] = {DO_READ, DO_HOLD, DO_END};
    static const fake_step good[] = {DO_READ, SAY("Content-Length: 2", "{}"), DO_END};
    static const fake_step *const scripts[] = {silent, silent, good};
    fake_server s;
    client_fixture b;
    cw_fetcher *fr;
    got a = {.fetch = {.allow_private = true}}, c = a, d = a;
    fake_server_start(&s, scripts, 3);
    client_fixture_init(&b);
    assert_int_equal(cw_fetcher_new(&b.loop, &fr, NULL), CW_OK);
    assert_int_equal(start(fr, &a, "127.0.0.1", s.port), CW_OK);
    client_run_until(&b, atomic_load(&s.requests) == 1);
    cw_fetch_cancel(&a.fetch);
    cw_fetch_cancel(&a.fetch);
    assert_int_equal(start(fr, &c, "127.0.0.1", s.port), CW_OK);
    client_run_until(&b, atomic_load(&s.requests) == 2);
    d.closes = &fr;
    assert_int_equal(start(fr, &d, "127.0.0.1", s.port), CW_OK);
    client_run_until(&b, d.calls);
    client_run_for(&b, 20);
    assert_int_equal(a.calls + c.calls, 0);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(only_so_many_run_at_once)
{
    static const fake_step silent[] = {DO_READ, DO_HOLD, DO_END};
    static const fake_step *const scripts[] = {silent};
    static got all[CW_FETCH_MAX_RUNNING + 1];
    fake_server s;
    client_fixture b;
    cw_fetcher *fr;
    fake_server_start(&s, scripts, 1);
    client_fixture_init(&b);
    assert_int_equal(cw_fetcher_new(&b.loop, &fr, NULL), CW_OK);
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        all[i].fetch.allow_private = true;
        cw_code rc = start(fr, &all[i], "127.0.0.1", s.port);
        assert_int_equal(rc, i < CW_FETCH_MAX_RUNNING ? CW_OK : CW_LIMIT);
    }
    cw_fetcher_close(fr);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

static void fetch_once(void *ctx)
{
    const fake_server *s = ctx;
    client_fixture b;
    cw_fetcher *fr = NULL;
    got g = {.fetch = {.allow_private = true, .timeout_ms = 500, .authorization = CW_STR("x")}};
    memset(&b, 0, sizeof b);
    if (cw_loop_init(&b.loop, 1024, NULL))
        return;
    client_fixture_start_tick(&b);
    cw_code rc = cw_fetcher_new(&b.loop, &fr, NULL);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    if (!rc)
        rc = start(fr, &g, "127.0.0.1", s->port);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    if (!rc)
        client_run_until(&b, g.calls);
    cw_fetcher_close(fr);
    client_fixture_done(&b);
}

TEST(fetching_survives_every_failed_allocation)
{
    static const fake_step script[] = {DO_READ, SAY("Content-Length: 2", "{}"), DO_END};
    static const fake_step *const scripts[] = {script};
    fake_server s;
    fake_server_start(&s, scripts, 1);
    assert_true(oom_each(fetch_once, &s) >= 5);
    fake_server_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(public_addresses_may_be_asked_with_tls_only),
        cmocka_unit_test(private_addresses_may_be_asked_where_allowed),
        cmocka_unit_test(other_addresses_are_never_asked),
        cmocka_unit_test(ports_of_other_services_are_refused),
        cmocka_unit_test(urls_are_checked_before_anything_is_looked_up),
        cmocka_unit_test(a_document_is_fetched),
        cmocka_unit_test(a_document_that_is_too_large_is_refused),
        cmocka_unit_test(of_an_answer_that_may_be_cut_the_status_counts),
        cmocka_unit_test(who_says_nothing_is_not_waited_for),
        cmocka_unit_test(redirects_are_answers_like_others),
        cmocka_unit_test(nobody_is_asked_who_may_not_be),
        cmocka_unit_test(proxies_of_the_environment_do_not_count),
        cmocka_unit_test(a_form_is_sent_with_its_authorization),
        cmocka_unit_test(what_is_cancelled_or_closed_is_not_told),
        cmocka_unit_test(only_so_many_run_at_once),
        cmocka_unit_test(fetching_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
