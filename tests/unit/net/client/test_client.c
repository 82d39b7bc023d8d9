/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the HTTP client makes of all that a server may do to one request. */
#include "support/client_fixture.h"
#include "support/patience.h"

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define OK_HI OK_HEAD "Content-Length: 2\r\n\r\nhi"

/* ---- urls ---- */

TEST(urls_are_taken_apart)
{
    cw_client_url u;
    assert_int_equal(cw_client_url_parse(CW_STR("http://example.org"), &u, NULL), CW_OK);
    assert_true(cw_str_is(u.host, "example.org") && cw_str_is(u.path, "/") && u.port == 80);
    assert_int_equal(cw_client_url_parse(CW_STR("HTTP://[::1]:8080/a?b=c"), &u, NULL), CW_OK);
    assert_true(cw_str_is(u.host, "::1") && cw_str_is(u.authority, "[::1]:8080"));
    assert_true(cw_str_is(u.path, "/a?b=c") && u.port == 8080);
    assert_false(u.is_tls);
    assert_int_equal(cw_client_url_parse(CW_STR("https://example.org/a"), &u, NULL), CW_OK);
    assert_true(cw_str_is(u.host, "example.org") && u.port == 443 && u.is_tls);
    assert_int_equal(cw_client_url_parse(CW_STR("Https://[::1]:8443"), &u, NULL), CW_OK);
    assert_true(cw_str_is(u.host, "::1") && u.port == 8443 && u.is_tls);
    assert_int_equal(cw_client_url_parse(CW_STR("unix:/run/x.sock:/rpc"), &u, NULL), CW_OK);
    assert_true(cw_str_is(u.unix_path, "/run/x.sock") && cw_str_is(u.path, "/rpc"));
    assert_false(u.is_tls);
    assert_true(cw_str_is(u.authority, "localhost") && u.host.n == 0);
    assert_int_equal(cw_client_url_parse(CW_STR("unix:/run/x.sock"), &u, NULL), CW_OK);
    assert_true(cw_str_is(u.path, "/"));
}

TEST(urls_that_mean_something_else_are_refused)
{
    static const char *const bad[] = {
        "",
        "example.org",
        "https://",
        "https:/example.org/",
        "https://user@example.org/",
        "ftp://example.org/",
        "http://",
        "http:///path",
        "http://user@example.org/",
        "http://user:word@example.org/",
        "http://example.org/#part",
        "http://example.org#part",
        "http://example.org?query",
        "http://example.org/a b",
        "http://example.org/a\r\nX: y",
        "http://example.org/\xc3\xa4",
        "http://exa mple.org/",
        "http://example.org:0/",
        "http://example.org:65536/",
        "http://example.org:/",
        "http://example.org:80x/",
        "http://[::1/",
        "http://::1/",
        "unix:",
        "unix:relative.sock:/",
        "unix:/run/x.sock:path",
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        cw_client_url u = {.port = 7};
        cw_err err = {0};
        if (cw_client_url_parse(cw_str_from(bad[i]), &u, &err) != CW_PARAMS)
            fail_msg("accepted: %s", bad[i]);
        assert_true(*err.msg);
        assert_int_equal(u.port, 7);
    }
    char name[300];
    cw_client_url u;
    memset(name, 'a', sizeof name);
    memcpy(name, "unix:/", 6);
    assert_int_equal(cw_client_url_parse(cw_str_make(name, 5 + 107), &u, NULL), CW_OK);
    assert_int_equal(cw_client_url_parse(cw_str_make(name, 5 + 108), &u, NULL), CW_PARAMS);
    memset(name, 'a', sizeof name);
    memcpy(name, "http://", 7);
    assert_int_equal(cw_client_url_parse(cw_str_make(name, 7 + 254), &u, NULL), CW_PARAMS);
}

/* ---- answers ---- */

/* One request to a server with this script. */
static client_exchange ask_script(const fake_step *script, cw_http_method method)
{
    fake_server s;
    client_fixture b;
    client_exchange a = {.req.method = method};
    serve(&s, SCRIPTS(script), 1);
    client_fixture_open(&b, s.port);
    client_request(&b, &a);
    client_fixture_done(&b);
    fake_server_stop(&s);
    return a;
}

static client_exchange ask_text(const char *text)
{
    fake_step script[] = {DO_READ, DO_SEND(text), DO_CLOSE, DO_END};
    return ask_script(script, CW_HTTP_POST);
}

TEST(a_request_is_what_it_should_be)
{
    static const fake_step script[] = {DO_READ, DO_SEND(OK_HI), DO_REPEAT};
    static const cw_http_header fixed[] = {{CW_STR_INIT("Accept"), CW_STR_INIT("a/b")}};
    static const cw_http_header own[] = {{CW_STR_INIT("X-Own"), CW_STR_INIT("1")}};
    static const cw_str pieces[] = {CW_STR_INIT("{"), CW_STR_INIT(""), CW_STR_INIT("}")};
    fake_server s;
    client_fixture b;
    serve(&s, SCRIPTS(script), 1);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.headers = fixed, .n_headers = 1});
    client_exchange a = {.req = {.headers = own, .n_headers = 1, .body = pieces, .n_body = 3}};
    client_request(&b, &a);
    assert_response(&a, 200, "hi");
    assert_string_equal(a.type, "application/json");
    char want[256];
    snprintf(want, sizeof want,
             "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAccept: a/b\r\nX-Own: 1\r\n"
             "Content-Length: 2\r\n\r\n{}",
             s.port);
    assert_string_equal(fake_server_last_request(&s), want);
    client_exchange get = {.req = {.method = CW_HTTP_GET, .path = CW_STR("/other?x")}};
    client_request(&b, &get);
    snprintf(want, sizeof want,
             "GET /other?x HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAccept: a/b\r\n\r\n", s.port);
    assert_string_equal(fake_server_last_request(&s), want);
    assert_int_equal(s.accepted, 1);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(a_request_that_would_break_is_refused)
{
    static const cw_http_header bad[] = {
        {CW_STR_INIT("X"), CW_STR_INIT("a\r\nY: b")},
        {CW_STR_INIT("X Y"), CW_STR_INIT("a")},
        {CW_STR_INIT(""), CW_STR_INIT("a")},
    };
    static const char *const paths[] = {"x", "/a b", "/a\r\n", "*"};
    client_fixture b;
    client_fixture_open(&b, 1);
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        client_exchange a = {.req = {.headers = &bad[i], .n_headers = 1}};
        assert_int_equal(client_send(&b, &a), CW_PARAMS);
        cw_client *c;
        cw_client_opts opts = {.headers = &bad[i], .n_headers = 1};
        assert_int_equal(cw_client_url_parse(CW_STR("http://a/"), &opts.url, NULL), CW_OK);
        assert_int_equal(cw_client_new(&b.loop, &opts, &c, NULL), CW_PARAMS);
    }
    for (size_t i = 0; i < CW_COUNT(paths); i++) {
        client_exchange a = {.req = {.path = cw_str_from(paths[i])}};
        assert_int_equal(client_send(&b, &a), CW_PARAMS);
    }
    static char long_value[40000];
    memset(long_value, 'a', sizeof long_value);
    cw_http_header large = {CW_STR("X"), {long_value, sizeof long_value}};
    client_exchange a = {.req = {.headers = &large, .n_headers = 1}};
    assert_int_equal(client_send(&b, &a), CW_PARAMS);
    assert_int_equal(count_requests(b.client), 0);
    client_fixture_done(&b);
}

TEST(bodies_come_in_every_framing)
{
    client_exchange a = ask_text(OK_HEAD "Content-Length: 5\r\n\r\nhello");
    assert_response(&a, 200, "hello");
    a = ask_text(OK_HEAD "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x\r\nllo\r\n0\r\n\r\n");
    assert_response(&a, 200, "hello");
    a = ask_text(OK_HEAD "\r\nhello");
    assert_response(&a, 200, "hello");
    a = ask_text("HTTP/1.0 500 Oh\r\n\r\nhello");
    assert_response(&a, 500, "hello");
    assert_string_equal(a.type, "");
    a = ask_text(OK_HEAD "\r\n");
    assert_response(&a, 200, "");
    a = ask_text(OK_HEAD "Content-Length: 0\r\n\r\n");
    assert_response(&a, 200, "");
    a = ask_text("HTTP/1.1 204 No Content\r\n\r\n");
    assert_response(&a, 204, "");
    a = ask_text("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n");
    assert_response(&a, 304, "");
    static const fake_step head[] = {DO_READ, DO_SEND(OK_HEAD "Content-Length: 9\r\n\r\n"), DO_END};
    a = ask_script(head, CW_HTTP_HEAD);
    assert_response(&a, 200, "");
}

TEST(bytes_may_come_one_by_one)
{
    static const char *const texts[] = {
        OK_HEAD "Content-Length: 5\r\n\r\nhello",
        OK_HEAD "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x\r\nllo\r\n0\r\nA: b\r\n\r\n",
        OK_HEAD "Connection: close\r\n\r\nhello",
        "HTTP/1.1 100 Continue\r\n\r\n" OK_HEAD "Content-Length: 5\r\n\r\nhello",
    };
    for (size_t i = 0; i < CW_COUNT(texts); i++) {
        fake_step script[] = {DO_READ, DO_BYTES(texts[i]), DO_CLOSE, DO_END};
        client_exchange a = ask_script(script, CW_HTTP_POST);
        assert_response(&a, 200, "hello");
        assert_string_equal(a.type, "application/json");
    }
}

TEST(interim_answers_are_skipped_up_to_a_few)
{
#define WAIT "HTTP/1.1 102 Wait\r\nA: b\r\n\r\n"
#define EIGHT WAIT WAIT WAIT WAIT WAIT WAIT WAIT WAIT
    client_exchange a = ask_text(EIGHT OK_HI);
    assert_response(&a, 200, "hi");
    a = ask_text(EIGHT WAIT OK_HI);
    assert_int_equal(a.end, CW_CLIENT_GARBAGE);
}

TEST(garbage_is_no_answer)
{
    static const char *const bad[] = {
        "hello, I am not HTTP",
        "\x15\x03\x01\x00\x02\x02\x46",
        "HTTP/1.1 200 OK\n\nhi",
        "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nhi",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        OK_HEAD "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
        OK_HEAD "Transfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n",
        OK_HEAD "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n",
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        client_exchange a = ask_text(bad[i]);
        if (a.end != CW_CLIENT_GARBAGE)
            fail_msg("%s: %d %s", bad[i], a.end, a.why);
    }
    static char head[20000] = "HTTP/1.1 200 OK\r\nA: ";
    memset(head + strlen(head), 'a', sizeof head - 1 - strlen(head));
    client_exchange a = ask_text(head);
    assert_int_equal(a.end, CW_CLIENT_GARBAGE);
}

TEST(an_answer_has_a_largest_size)
{
    static const fake_step exact[] = {DO_READ, DO_SEND(OK_HEAD "Content-Length: 100000\r\n\r\n"),
                                      DO_FILL(100000), DO_END};
    client_exchange a = ask_script(exact, CW_HTTP_POST);
    assert_int_equal(a.end, CW_CLIENT_OK);
    assert_int_equal(a.n, 100000);
    static const fake_step exact_close[] = {DO_READ, DO_SEND(OK_HEAD "\r\n"), DO_FILL(100000),
                                            DO_CLOSE, DO_END};
    a = ask_script(exact_close, CW_HTTP_POST);
    assert_int_equal(a.end, CW_CLIENT_OK);
    assert_int_equal(a.n, 100000);
    static const fake_step length[] = {DO_READ, DO_SEND(OK_HEAD "Content-Length: 100001\r\n\r\n"),
                                       DO_END};
    a = ask_script(length, CW_HTTP_POST);
    assert_int_equal(a.end, CW_CLIENT_TOO_LARGE);
    static const fake_step endless[] = {DO_READ, DO_SEND(OK_HEAD "\r\n"), DO_FILL(1 << 30), DO_END};
    a = ask_script(endless, CW_HTTP_POST);
    assert_int_equal(a.end, CW_CLIENT_TOO_LARGE);
    static const fake_step chunk[] = {
        DO_READ, DO_SEND(OK_HEAD "Transfer-Encoding: chunked\r\n\r\n186a1\r\n"), DO_END};
    a = ask_script(chunk, CW_HTTP_POST);
    assert_int_equal(a.end, CW_CLIENT_TOO_LARGE);
    static const fake_step large_chunk[] = {
        DO_READ, DO_SEND(OK_HEAD "Transfer-Encoding: chunked\r\n\r\n186a0\r\n"), DO_FILL(100000),
        DO_SEND("\r\n0\r\n\r\n"), DO_END};
    a = ask_script(large_chunk, CW_HTTP_POST);
    assert_int_equal(a.end, CW_CLIENT_OK);
    assert_int_equal(a.n, 100000);
}

TEST(half_an_answer_is_lost)
{
    static const char *const halves[] = {
        "",
        "HTTP/1.1",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nContent-Len",
        "HTTP/1.1 100 Continue\r\n\r\n",
        OK_HEAD "Content-Length: 5\r\n\r\n",
        OK_HEAD "Content-Length: 5\r\n\r\nhell",
        OK_HEAD "Transfer-Encoding: chunked\r\n\r\n",
        OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
        OK_HEAD "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
    };
    for (size_t i = 0; i < CW_COUNT(halves); i++) {
        client_exchange a = ask_text(halves[i]);
        if (a.end != CW_CLIENT_LOST)
            fail_msg("%s: %d %s", halves[i], a.end, a.why);
        fake_step script[] = {DO_READ, DO_SEND(halves[i]), DO_PAUSE(2), DO_RESET};
        a = ask_script(script, CW_HTTP_POST);
        if (a.end != CW_CLIENT_LOST)
            fail_msg("%s: %d %s", halves[i], a.end, a.why);
    }
    /* Up to the close, an error is no end. */
    static const fake_step reset[] = {DO_READ, DO_SEND(OK_HEAD "\r\nhel"), DO_PAUSE(2), DO_RESET};
    client_exchange a = ask_script(reset, CW_HTTP_POST);
    assert_int_equal(a.end, CW_CLIENT_LOST);
    static const fake_step at_once[] = {DO_RESET};
    a = ask_script(at_once, CW_HTTP_POST);
    /* Before or after the client saw that it was connected. */
    assert_true(a.end == CW_CLIENT_LOST || a.end == CW_CLIENT_CONNECT);
}

/* ---- connecting ---- */

TEST(nobody_there_is_said)
{
    client_fixture b;
    client_exchange a = {0};
    client_fixture_open(&b, unused_port());
    client_request(&b, &a);
    assert_int_equal(a.end, CW_CLIENT_CONNECT);
    assert_int_equal(count_requests(b.client), 0);
    client_fixture_done(&b);
    client_fixture_init(&b);
    assert_int_equal(client_fixture_new_client(&b, "unix:/nowhere/at.all:/", (cw_client_opts){0}),
                     CW_OK);
    client_exchange u = {0};
    client_request(&b, &u);
    assert_int_equal(u.end, CW_CLIENT_CONNECT);
    client_fixture_done(&b);
}

TEST(a_connection_has_its_time)
{
    blackhole hole;
    client_fixture b;
    client_exchange a = {0};
    blackhole_open(&hole);
    client_fixture_open_with(&b, hole.port, (cw_client_opts){.connect_ms = 60});
    uint64_t start = cw_clock_ms();
    client_request(&b, &a);
    uint64_t took = cw_clock_ms() - start;
    assert_int_equal(a.end, CW_CLIENT_CONNECT);
    assert_true(took >= 50 && took < patience(1000));
    client_fixture_done(&b);
    blackhole_close(&hole);
}

TEST(a_name_is_looked_up_and_each_address_tried)
{
    static const fake_step script[] = {DO_READ, DO_SEND(OK_HI), DO_REPEAT};
    fake_server s;
    client_fixture b;
    char url[64];
    serve(&s, SCRIPTS(script), 1);
    /* On most machines this is ::1 too, where nobody listens. */
    snprintf(url, sizeof url, SCHEME "://localhost:%u/", s.port);
    client_fixture_init(&b);
    assert_int_equal(client_fixture_new_client(&b, url, (cw_client_opts){0}), CW_OK);
    client_exchange first = {0}, second = {0};
    assert_int_equal(client_send(&b, &first), CW_OK);
    assert_int_equal(client_send(&b, &second), CW_OK);
    client_run_until(&b, first.calls && second.calls);
    assert_response(&first, 200, "hi");
    assert_response(&second, 200, "hi");
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(a_name_that_leads_nowhere_is_said_to_all)
{
    client_fixture b;
    client_fixture_init(&b);
    assert_int_equal(
        client_fixture_new_client(&b, SCHEME "://no-such-name.invalid/", (cw_client_opts){0}),
        CW_OK);
    client_exchange a[3] = {0};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(client_send(&b, &a[i]), CW_OK);
    client_run_until(&b, a[0].calls && a[1].calls && a[2].calls);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(a[i].end, CW_CLIENT_CONNECT);
    assert_non_null(strstr(a[0].why, "no-such-name.invalid"));
    /* Closed while a lookup is under way. */
    client_exchange last = {0};
    assert_int_equal(client_send(&b, &last), CW_OK);
    client_fixture_done(&b);
    assert_int_equal(last.calls, 0);
}

TEST(unix_sockets_work)
{
    static const fake_step script[] = {DO_READ, DO_SEND(OK_HI), DO_REPEAT};
    char folder[64], path[96], url[128];
    snprintf(folder, sizeof folder, "%s/cw-client-XXXXXX", P_tmpdir);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/s", folder);
    snprintf(url, sizeof url, "unix:%s:/rpc", path);
    fake_server s;
    client_fixture b;
    client_exchange a = {0}, again = {0};
    fake_server_start_unix(&s, path, SCRIPTS(script), 1);
    client_fixture_init(&b);
    assert_int_equal(client_fixture_new_client(&b, url, (cw_client_opts){0}), CW_OK);
    client_request(&b, &a);
    client_request(&b, &again);
    assert_response(&a, 200, "hi");
    assert_response(&again, 200, "hi");
    assert_int_equal(s.accepted, 1);
    assert_non_null(
        strstr(fake_server_last_request(&s), "POST /rpc HTTP/1.1\r\nHost: localhost\r\n"));
    client_fixture_done(&b);
    fake_server_stop(&s);
    rmdir(folder);
}

/* ---- large requests ---- */

#define LARGE (8u << 20)

TEST(a_large_request_goes_out_in_many_parts)
{
    static const fake_step script[] = {DO_PAUSE(20), DO_READ, DO_SEND(OK_HI), DO_END};
    static char bytes[LARGE];
    cw_str pieces[40];
    for (size_t i = 0; i < 40; i++)
        pieces[i] = cw_str_make(bytes, i ? LARGE / 40 : 1);
    fake_server s;
    client_fixture b;
    client_exchange a = {.req = {.body = pieces, .n_body = 40}};
    serve(&s, SCRIPTS(script), 1);
    client_fixture_open(&b, s.port);
    client_request(&b, &a);
    assert_response(&a, 200, "hi");
    assert_int_equal(s.body_bytes, 1 + 39 * (size_t)(LARGE / 40));
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(an_answer_before_the_request_is_out_counts)
{
    static const fake_step script[] = {DO_SEND("HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno"),
                                       DO_END};
    static char bytes[LARGE];
    cw_str body = {bytes, LARGE};
    fake_server s;
    client_fixture b;
    client_exchange a = {.req = {.body = &body, .n_body = 1}};
    serve(&s, SCRIPTS(script), 1);
    client_fixture_open(&b, s.port);
    client_request(&b, &a);
    assert_response(&a, 413, "no");
    /* Half a request is on that connection: it is of no use. */
    client_run_until(&b, atomic_load(&s.accepted) == 1);
    client_exchange next = {0};
    client_request(&b, &next);
    assert_int_equal(s.accepted, 2);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

/* ---- time ---- */

TEST(an_answer_must_begin_in_time)
{
    static const fake_step silent[] = {DO_READ, DO_END};
    static const fake_step fine[] = {DO_READ, DO_SEND(OK_HI), DO_REPEAT};
    fake_server s;
    client_fixture b;
    client_exchange first = {0}, late = {.req.may_repeat = true}, next = {0};
    static const fake_step once[] = {DO_READ, DO_SEND(OK_HI), DO_READ, DO_END};
    serve(&s, SCRIPTS(once, fine), 2);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.first_byte_ms = 150});
    client_request(&b, &first);
    assert_response(&first, 200, "hi");
    client_run_for(&b, 200); /* an idle connection owes nothing */
    uint64_t start = cw_clock_ms();
    client_request(&b, &late);
    uint64_t took = cw_clock_ms() - start;
    assert_int_equal(late.end, CW_CLIENT_SLOW);
    assert_non_null(strstr(late.why, "150 ms"));
    assert_true(took >= 140 && took < patience(2000));
    /* It is not sent again, and its connection is of no use. */
    assert_int_equal(s.requests, 2);
    client_run_until(&b, atomic_load(&s.gone) == 1);
    client_request(&b, &next);
    assert_response(&next, 200, "hi");
    assert_int_equal(s.accepted, 2);
    client_fixture_done(&b);
    fake_server_stop(&s);
    /* Closed while it is waited for. */
    client_exchange dropped = {0};
    serve(&s, SCRIPTS(silent), 1);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.first_byte_ms = 30});
    assert_int_equal(client_send(&b, &dropped), CW_OK);
    client_run_until(&b, atomic_load(&s.requests) == 1);
    client_fixture_done(&b);
    assert_true(dropped.calls == 0 || dropped.end == CW_CLIENT_SLOW);
    fake_server_stop(&s);
}

TEST(an_answer_that_has_begun_may_take_its_time)
{
    static const fake_step slow[] = {DO_READ, DO_SEND("H"), DO_PAUSE(400), DO_SEND(&OK_HI[1]),
                                     DO_END};
    fake_server s;
    client_fixture b;
    client_exchange a = {0};
    serve(&s, SCRIPTS(slow), 1);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.first_byte_ms = 250});
    client_request(&b, &a);
    assert_response(&a, 200, "hi");
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(the_time_for_an_answer_begins_when_the_request_is_out)
{
    static const fake_step slow[] = {DO_PAUSE(900), DO_READ, DO_SEND(OK_HI), DO_END};
    static char bytes[2 * LARGE];
    cw_str body = {bytes, sizeof bytes};
    fake_server s;
    client_fixture b;
    client_exchange a = {.req = {.body = &body, .n_body = 1}};
    serve(&s, SCRIPTS(slow), 1);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.first_byte_ms = 800});
    client_request(&b, &a);
    assert_response(&a, 200, "hi");
    client_fixture_done(&b);
    fake_server_stop(&s);
}

/* ---- headers of answers ---- */

static const cw_str wanted[] = {CW_STR_INIT("x-session"), CW_STR_INIT("Set-Cookie"),
                                CW_STR_INIT("X-None"), CW_STR_INIT("X-Empty")};

static client_exchange ask_wanting(const char *head)
{
    /* The body comes when the head is gone. */
    fake_step script[] = {DO_READ,       DO_SEND("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"),
                          DO_SEND(head), DO_SEND("\r\n"),
                          DO_PAUSE(5),   DO_SEND("hi"),
                          DO_END};
    fake_server s;
    client_fixture b;
    client_exchange a = {0};
    serve(&s, SCRIPTS(script), 1);
    client_fixture_open_with(&b, s.port,
                             (cw_client_opts){.wanted = wanted, .n_wanted = CW_COUNT(wanted)});
    client_request(&b, &a);
    assert_response(&a, 200, "hi");
    client_fixture_done(&b);
    fake_server_stop(&s);
    return a;
}

TEST(wanted_headers_come_with_the_answer)
{
    client_exchange a =
        ask_wanting("X-Empty:\r\nX-Other: 1\r\nX-Session:  first \r\nX-SESSION: second\r\n");
    assert_string_equal(a.wanted[0], "first");
    assert_true(a.has_kept[0] && a.has_kept[3] && !a.has_kept[1] && !a.has_kept[2]);
    assert_string_equal(a.wanted[3], "");
    assert_string_equal(a.cookies, "");
    static char long_head[CW_CLIENT_WANTED_MAX + 64];
    for (size_t more = 0; more < 2; more++) {
        int n = snprintf(long_head, sizeof long_head, "X-Session: ");
        memset(long_head + n, 'v', CW_CLIENT_WANTED_MAX + more);
        snprintf(long_head + n + CW_CLIENT_WANTED_MAX + more, 3, "\r\n");
        a = ask_wanting(long_head);
        assert_int_equal(a.has_kept[0], more == 0);
    }
}

TEST(headers_of_interim_answers_do_not_count)
{
    static const fake_step script[] = {
        DO_READ, DO_SEND("HTTP/1.1 103 Soon\r\nX-Session: early\r\nSet-Cookie: a=1\r\n\r\n" OK_HI),
        DO_REPEAT};
    fake_server s;
    client_fixture b;
    client_exchange a = {0};
    serve(&s, SCRIPTS(script), 1);
    client_fixture_open_with(&b, s.port, (cw_client_opts){.wanted = wanted, .n_wanted = 2});
    client_request(&b, &a);
    assert_true(!a.has_kept[0] && !a.has_kept[1] && !*a.cookies);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(only_so_many_headers_can_be_wanted)
{
    static const cw_str many[CW_CLIENT_WANTED + 1] = {
        CW_STR_INIT("A"), CW_STR_INIT("B"), CW_STR_INIT("C"), CW_STR_INIT("D"), CW_STR_INIT("E")};
    client_fixture b;
    client_fixture_init(&b);
    cw_client_opts opts = {.wanted = many, .n_wanted = CW_COUNT(many)};
    assert_int_equal(client_fixture_new_client(&b, SCHEME "://localhost/", opts), CW_PARAMS);
    b.client = NULL;
    client_fixture_done(&b);
}

TEST(cookies_come_as_they_are_to_be_sent_back)
{
    client_exchange a = ask_wanting("Set-Cookie: sid=old; Path=/\r\n"
                                    "Set-Cookie: theme = dark ;HttpOnly\r\n"
                                    "set-cookie: sid=a=b\"c\"; Secure; Max-Age=10\r\n"
                                    "Set-Cookie: nothing\r\n"
                                    "Set-Cookie: =nameless\r\n"
                                    "Set-Cookie:\r\n"
                                    "Set-Cookie: gone=x; max-age=0\r\n"
                                    "Set-Cookie: past=x; Max-Age=-1; Path=/\r\n"
                                    "Set-Cookie: empty=; Path=/\r\n");
    assert_string_equal(a.cookies, "theme = dark; sid=a=b\"c\"; empty=");
    assert_string_equal(a.wanted[1], "sid=old; Path=/");
    /* One that was set and taken back in one answer is gone. */
    a = ask_wanting("Set-Cookie: sid=1\r\nSet-Cookie: sid=; Max-Age=0\r\n");
    assert_string_equal(a.cookies, "");
}

TEST(cookies_have_a_largest_size)
{
    static char head[3 * CW_CLIENT_WANTED_MAX];
    int n = snprintf(head, sizeof head, "Set-Cookie: a=");
    memset(head + n, 'v', CW_CLIENT_WANTED_MAX - 8);
    snprintf(head + n + CW_CLIENT_WANTED_MAX - 8, 100,
             "\r\nSet-Cookie: long=v\r\nSet-Cookie: b=1\r\n");
    client_exchange a = ask_wanting(head);
    /* The long one has no room; the next one has. */
    assert_int_equal(strlen(a.cookies), CW_CLIENT_WANTED_MAX - 8 + 2 + 5);
    assert_null(strstr(a.cookies, "long"));
    assert_non_null(strstr(a.cookies, "v; b=1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_are_taken_apart),
        cmocka_unit_test(urls_that_mean_something_else_are_refused),
        cmocka_unit_test(a_request_is_what_it_should_be),
        cmocka_unit_test(a_request_that_would_break_is_refused),
        cmocka_unit_test(bodies_come_in_every_framing),
        cmocka_unit_test(bytes_may_come_one_by_one),
        cmocka_unit_test(interim_answers_are_skipped_up_to_a_few),
        cmocka_unit_test(garbage_is_no_answer),
        cmocka_unit_test(an_answer_has_a_largest_size),
        cmocka_unit_test(half_an_answer_is_lost),
        cmocka_unit_test(nobody_there_is_said),
        cmocka_unit_test(a_connection_has_its_time),
        cmocka_unit_test(a_name_is_looked_up_and_each_address_tried),
        cmocka_unit_test(a_name_that_leads_nowhere_is_said_to_all),
        cmocka_unit_test(unix_sockets_work),
        cmocka_unit_test(a_large_request_goes_out_in_many_parts),
        cmocka_unit_test(an_answer_before_the_request_is_out_counts),
        cmocka_unit_test(an_answer_must_begin_in_time),
        cmocka_unit_test(an_answer_that_has_begun_may_take_its_time),
        cmocka_unit_test(the_time_for_an_answer_begins_when_the_request_is_out),
        cmocka_unit_test(wanted_headers_come_with_the_answer),
        cmocka_unit_test(headers_of_interim_answers_do_not_count),
        cmocka_unit_test(only_so_many_headers_can_be_wanted),
        cmocka_unit_test(cookies_come_as_they_are_to_be_sent_back),
        cmocka_unit_test(cookies_have_a_largest_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
