/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/http1_splits.h"

#define MAX 20u

static cw_code parse_piece(cw_http1_head *h, cw_str text, size_t n)
{
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, text.p, n);
    cw_code rc = cw_http1_parse_response(h, copy, n);
    free(copy);
    return rc;
}

/* Whole, cut in two at every byte, and byte by byte: one answer. */
static cw_code parse_answer(cw_http1_head *h, cw_str text)
{
    cw_http1_head other;
    cw_http1_response_init(h, &http1_usual_limits);
    cw_code rc = parse_piece(h, text, text.n);
    for (size_t cut = 0; cut <= text.n; cut++) {
        cw_http1_response_init(&other, &http1_usual_limits);
        parse_piece(&other, text, cut);
        assert_int_equal(parse_piece(&other, text, text.n), rc);
        assert_same_http1_head(h, &other);
        assert_int_equal(h->code, other.code);
    }
    cw_http1_response_init(&other, &http1_usual_limits);
    cw_code last = CW_AGAIN;
    for (size_t n = 1; n <= text.n && last == CW_AGAIN; n++)
        last = parse_piece(&other, text, n);
    assert_int_equal(last, rc);
    assert_same_http1_head(h, &other);
    return rc;
}

TEST(an_ordinary_answer_is_read)
{
    static const char text[] = "HTTP/1.1 200 OK\r\n"
                               "Content-Type: application/json\r\n"
                               "Content-Length: 2\r\n"
                               "Host: means nothing here\r\n"
                               "Expect: nor does this\r\n\r\n{}";
    cw_http1_head h;
    assert_int_equal(parse_answer(&h, TEXT(text)), CW_OK);
    assert_int_equal(h.code, 200);
    assert_int_equal(h.minor, 1);
    assert_int_equal(h.size, sizeof text - 3);
    assert_true(h.has_length && h.keep_alive && !h.chunked && !h.expect_continue);
    assert_int_equal(h.content_length, 2);
    assert_true(cw_str_is(cw_http1_value(&h, text, h.content_type), "application/json"));
}

TEST(a_status_line_needs_no_phrase)
{
    cw_http1_head h;
    assert_int_equal(parse_answer(&h, CW_STR("HTTP/1.1 404 \r\n\r\n")), CW_OK);
    assert_int_equal(h.code, 404);
    assert_int_equal(parse_answer(&h, CW_STR("HTTP/1.0 599\r\n\r\n")), CW_OK);
    assert_int_equal(h.code, 599);
    assert_false(h.keep_alive);
    assert_int_equal(parse_answer(&h, CW_STR("HTTP/1.1 200 \xc3\xa4\t!\r\n\r\n")), CW_OK);
}

TEST(the_version_and_connection_decide_whether_it_is_kept)
{
    cw_http1_head h;
    assert_int_equal(parse_answer(&h, CW_STR("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")),
                     CW_OK);
    assert_false(h.keep_alive);
    assert_int_equal(parse_answer(&h, CW_STR("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n")),
                     CW_OK);
    assert_true(h.keep_alive);
    assert_int_equal(h.minor, 0);
    assert_int_equal(parse_answer(&h, CW_STR("HTTP/1.9 200 OK\r\n\r\n")), CW_OK);
    assert_int_equal(h.minor, 1);
}

TEST(whatever_is_not_of_the_form_is_refused)
{
    static const char *const bad[] = {
        "hello",
        "\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/0.9 200 OK\r\n\r\n",
        "http/1.1 200 OK\r\n\r\n",
        "HTTP/1.1  200 OK\r\n\r\n",
        "HTTP/1.1\t200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 20x OK\r\n\r\n",
        "HTTP/1.1 -20 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 600 OK\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 200\tOK\r\n\r\n",
        "HTTP/1.1 200 OK\n\n",
        "HTTP/1.1 200 OK\rX",
        "HTTP/1.1 200 O\x01K\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n\rX",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Type: c/d\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: a b\r\n\r\n",
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        cw_http1_head h;
        if (parse_answer(&h, cw_str_from(bad[i])) != CW_INVALID)
            fail_msg("accepted: %s", bad[i]);
        assert_non_null(h.reason);
    }
}

TEST(a_head_has_a_largest_size_and_number_of_fields)
{
    static const cw_http1_limits small = {.target = 0, .head = 40, .fields = 1};
    cw_http1_head h;
    cw_str fits = CW_STR("HTTP/1.1 200 OK\r\nA: 234567890123456\r\n\r\n");
    assert_int_equal(fits.n, 40 - 1);
    cw_http1_response_init(&h, &small);
    assert_int_equal(cw_http1_parse_response(&h, fits.p, fits.n), CW_OK);
    cw_str large = CW_STR("HTTP/1.1 200 OK\r\nA: 23456789012345678\r\n\r\n");
    cw_http1_response_init(&h, &small);
    assert_int_equal(cw_http1_parse_response(&h, large.p, large.n), CW_INVALID);
    cw_str two = CW_STR("HTTP/1.1 200 OK\r\nA: 1\r\nB: 1\r\n\r\n");
    cw_http1_response_init(&h, &small);
    assert_int_equal(cw_http1_parse_response(&h, two.p, two.n), CW_INVALID);
    cw_str endless = CW_STR("HTTP/1.1 200 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    cw_http1_response_init(&h, &small);
    assert_int_equal(cw_http1_parse_response(&h, endless.p, endless.n), CW_INVALID);
}

/* ---- bodies ---- */

typedef struct collected {
    cw_code rc; /* of reading, or of the end when all was read */
    char p[64];
    size_t n;
} collected;

static collected collect(cw_str head, cw_http_method method, cw_str in, size_t step)
{
    collected c = {.rc = CW_AGAIN};
    cw_http1_head h;
    cw_http1_body b;
    cw_http1_response_init(&h, &http1_usual_limits);
    assert_int_equal(cw_http1_parse_response(&h, head.p, head.n), CW_OK);
    c.rc = cw_http1_response_body_init(&b, &h, method, MAX);
    if (c.rc)
        return c;
    for (size_t at = 0; at <= in.n; at += step) {
        cw_str part = {in.p + at, in.n - at < step ? in.n - at : step}, piece;
        while ((c.rc = cw_http1_read_body(&b, &part, &piece)) == CW_AGAIN && piece.n) {
            assert_true(c.n + piece.n <= sizeof c.p);
            memcpy(c.p + c.n, piece.p, piece.n);
            c.n += piece.n;
        }
        if (c.rc != CW_AGAIN)
            return c;
    }
    c.rc = cw_http1_end_body(&b);
    return c;
}

static void assert_body(const char *head, cw_http_method method, const char *in, cw_code rc,
                        const char *content)
{
    for (size_t step = 1; step <= strlen(in) + 1; step++) {
        collected c = collect(cw_str_from(head), method, cw_str_from(in), step);
        assert_int_equal(c.rc, rc);
        if (!content)
            continue;
        assert_int_equal(c.n, strlen(content));
        assert_memory_equal(c.p, content, c.n);
    }
}

TEST(a_body_without_framing_goes_up_to_the_close)
{
    assert_body("HTTP/1.1 200 OK\r\n\r\n", CW_HTTP_GET, "some text", CW_DONE, "some text");
    assert_body("HTTP/1.0 500 No\r\n\r\n", CW_HTTP_POST, "", CW_DONE, "");
    assert_body("HTTP/1.1 200 OK\r\n\r\n", CW_HTTP_GET, "12345678901234567890", CW_DONE,
                "12345678901234567890");
    assert_body("HTTP/1.1 200 OK\r\n\r\n", CW_HTTP_GET, "123456789012345678901", CW_LIMIT,
                "12345678901234567890");
}

TEST(a_body_with_framing_must_be_whole)
{
    const char *five = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    const char *chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_body(five, CW_HTTP_POST, "hello", CW_DONE, "hello");
    assert_body(five, CW_HTTP_POST, "hell", CW_INVALID, "hell");
    assert_body(chunked, CW_HTTP_POST, "5\r\nhello\r\n0\r\n\r\n", CW_DONE, "hello");
    assert_body(chunked, CW_HTTP_POST, "5\r\nhello\r\n0\r\n", CW_INVALID, "hello");
    assert_body(chunked, CW_HTTP_POST, "5\r\nhello\r\n", CW_INVALID, "hello");
    assert_body(chunked, CW_HTTP_POST, "ff\r\n", CW_LIMIT, "");
    assert_body("HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n", CW_HTTP_POST, "", CW_LIMIT, "");
}

TEST(some_answers_never_have_a_body)
{
    const char *ok = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n";
    assert_body(ok, CW_HTTP_HEAD, "next", CW_DONE, "");
    assert_body("HTTP/1.1 204 No\r\n\r\n", CW_HTTP_POST, "next", CW_DONE, "");
    assert_body("HTTP/1.1 304 No\r\nContent-Length: 500\r\n\r\n", CW_HTTP_GET, "next", CW_DONE, "");
    assert_body("HTTP/1.1 100 Go\r\n\r\n", CW_HTTP_POST, "next", CW_DONE, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ordinary_answer_is_read),
        cmocka_unit_test(a_status_line_needs_no_phrase),
        cmocka_unit_test(the_version_and_connection_decide_whether_it_is_kept),
        cmocka_unit_test(whatever_is_not_of_the_form_is_refused),
        cmocka_unit_test(a_head_has_a_largest_size_and_number_of_fields),
        cmocka_unit_test(a_body_without_framing_goes_up_to_the_close),
        cmocka_unit_test(a_body_with_framing_must_be_whole),
        cmocka_unit_test(some_answers_never_have_a_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
