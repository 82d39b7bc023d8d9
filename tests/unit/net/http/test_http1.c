/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/http1_splits.h"

#include "base/buf.h"

#define HOST "Host: localhost\r\n"

/* Expect a refusal, however the bytes come. */
static void refused(unsigned status, cw_str text)
{
    cw_http1_head h;
    cw_code rc = http1_parse_all_splits(&h, text, &http1_usual_limits);
    if (rc != CW_INVALID)
        fail_msg("accepted (%d): %.*s", rc, CW_STR_ARG(text));
    if (h.status != status)
        fail_msg("%u (%s) instead of %u: %.*s", h.status, h.reason, status, CW_STR_ARG(text));
    assert_non_null(h.reason);
}

static void accepted(cw_str text, cw_http1_head *h)
{
    if (http1_parse_all_splits(h, text, &http1_usual_limits) != CW_OK)
        fail_msg("%u (%s): %.*s", h->status, h->reason, CW_STR_ARG(text));
    assert_int_equal(h->size, text.n);
    assert_int_equal(h->status, 0);
    assert_null(h->reason);
}

#define REFUSED(status, lit) refused((status), CW_STR(lit))
/* A GET with these header lines. */
#define REFUSED_FIELDS(status, lines)                                                              \
    refused((status), CW_STR("GET / HTTP/1.1\r\n" HOST lines "\r\n"))
#define ACCEPTED_FIELDS(lines, h) accepted(CW_STR("GET / HTTP/1.1\r\n" HOST lines "\r\n"), (h))

TEST(a_complete_head_is_taken_apart)
{
    static const char text[] = "POST /mcp?x=1 HTTP/1.1\r\n"
                               "Host: localhost:8080\r\n"
                               "ORIGIN: http://localhost:8080\r\n"
                               "content-TYPE: application/json\r\n"
                               "Accept: text/html\r\n"
                               "accept: */*\r\n"
                               "Authorization: Bearer x\r\n"
                               "Content-Length: 12\r\n"
                               "\r\n";
    cw_http1_head h;
    accepted(TEXT(text), &h);
    assert_int_equal(h.method, CW_HTTP_POST);
    assert_int_equal(h.minor, 1);
    assert_true(cw_str_is(cw_str_make(text + h.method_at, h.method_len), "POST"));
    assert_true(cw_str_is(cw_str_make(text + h.target_at, h.target_len), "/mcp?x=1"));
    assert_int_equal(h.n_fields, 7);
    assert_int_equal(h.host, 0);
    assert_int_equal(h.origin, 1);
    assert_int_equal(h.content_type, 2);
    assert_int_equal(h.accept, 3);
    assert_int_equal(h.authorization, 5);
    assert_true(h.has_length);
    assert_false(h.chunked);
    assert_int_equal(h.content_length, 12);
    assert_true(h.keep_alive);
    assert_false(h.expect_continue);
    assert_true(cw_str_is(cw_str_make(text + h.fields[1].name, h.fields[1].name_len), "ORIGIN"));
    assert_true(cw_str_is(cw_http1_value(&h, text, 0), "localhost:8080"));
}

TEST(absent_fields_have_no_index)
{
    cw_http1_head h;
    accepted(CW_STR("GET / HTTP/1.0\r\n\r\n"), &h);
    assert_int_equal(h.host, CW_HTTP1_NONE);
    assert_int_equal(h.origin, CW_HTTP1_NONE);
    assert_int_equal(h.content_type, CW_HTTP1_NONE);
    assert_int_equal(h.accept, CW_HTTP1_NONE);
    assert_int_equal(h.authorization, CW_HTTP1_NONE);
    assert_int_equal(h.n_fields, 0);
    assert_false(h.has_length);
    assert_int_equal(h.content_length, 0);
}

TEST(find_goes_through_fields_of_one_name)
{
    static const char text[] = "GET / HTTP/1.1\r\n" HOST "X-A: 1\r\nx-b: 2\r\nx-a: 3\r\n\r\n";
    cw_http1_head h;
    accepted(TEXT(text), &h);
    assert_int_equal(cw_http1_find(&h, text, CW_STR("x-A"), 0), 1);
    assert_int_equal(cw_http1_find(&h, text, CW_STR("x-A"), 2), 3);
    assert_int_equal(cw_http1_find(&h, text, CW_STR("x-A"), 4), CW_HTTP1_NONE);
    assert_int_equal(cw_http1_find(&h, text, CW_STR("x-c"), 0), CW_HTTP1_NONE);
}

TEST(bytes_behind_the_head_are_left_alone)
{
    static const char text[] = "GET / HTTP/1.1\r\n" HOST "\r\nGET \x01";
    cw_http1_head h;
    assert_int_equal(http1_parse_all_splits(&h, TEXT(text), &http1_usual_limits), CW_OK);
    assert_int_equal(h.size, sizeof text - 1 - 5);
}

TEST(every_proper_prefix_asks_for_more)
{
    static const char text[] = "\r\nGET /a HTTP/1.1\r\n" HOST "Empty:\r\nX:  y \t\r\n\r\n";
    for (size_t n = 0; n < sizeof text - 1; n++) {
        cw_http1_head h;
        cw_http1_head_init(&h, &http1_usual_limits);
        assert_int_equal(http1_parse_prefix(&h, TEXT(text), n), CW_AGAIN);
        assert_int_equal(h.pos, n);
    }
}

TEST(methods_are_known_by_their_exact_name)
{
    static const struct {
        const char *name;
        cw_http_method method;
    } cases[] = {
        {"GET", CW_HTTP_GET},
        {"HEAD", CW_HTTP_HEAD},
        {"POST", CW_HTTP_POST},
        {"PUT", CW_HTTP_PUT},
        {"DELETE", CW_HTTP_DELETE},
        {"PATCH", CW_HTTP_PATCH},
        {"OPTIONS", CW_HTTP_OPTIONS},
        {"CONNECT", CW_HTTP_CONNECT},
        {"TRACE", CW_HTTP_TRACE},
        {"get", CW_HTTP_UNKNOWN},
        {"Get", CW_HTTP_UNKNOWN},
        {"GETS", CW_HTTP_UNKNOWN},
        {"GE", CW_HTTP_UNKNOWN},
        {"PROPFIND", CW_HTTP_UNKNOWN},
        {"M!#$%&'*+-.^_`|~9", CW_HTTP_UNKNOWN},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char text[128];
        int n = snprintf(text, sizeof text, "%s / HTTP/1.1\r\n" HOST "\r\n", cases[i].name);
        cw_http1_head h;
        accepted(cw_str_make(text, (size_t)n), &h);
        assert_int_equal(h.method, cases[i].method);
        if (cases[i].method != CW_HTTP_UNKNOWN)
            assert_string_equal(cw_http_method_name(h.method), cases[i].name);
    }
    assert_string_equal(cw_http_method_name(CW_HTTP_UNKNOWN), "unknown");
}

TEST(a_method_has_at_most_32_characters)
{
    cw_http1_head h;
    accepted(CW_STR("ABCDEFGHIJKLMNOPQRSTUVWXYZ123456 / HTTP/1.1\r\n" HOST "\r\n"), &h);
    assert_int_equal(h.method_len, 32);
    REFUSED(501, "ABCDEFGHIJKLMNOPQRSTUVWXYZ1234567 / HTTP/1.1\r\n" HOST "\r\n");
    /* Certain before the method ends. */
    REFUSED(501, "ABCDEFGHIJKLMNOPQRSTUVWXYZ1234567");
}

TEST(the_request_line_has_single_spaces_and_crlf)
{
    REFUSED(400, " GET / HTTP/1.1\r\n");
    REFUSED(400, "\tGET / HTTP/1.1\r\n");
    REFUSED(400, "GET  / HTTP/1.1\r\n");
    REFUSED(400, "GET /  HTTP/1.1\r\n");
    REFUSED(400, "GET\t/ HTTP/1.1\r\n");
    REFUSED(400, "GET /\tHTTP/1.1\r\n");
    REFUSED(400, "GET / HTTP/1.1 \r\n");
    REFUSED(400, "GET / HTTP/1.1\n");
    REFUSED(400, "GET / HTTP/1.1\r\r\n");
    REFUSED(400, "GET / HTTP/1.1\rX");
    REFUSED(400, "GET /\r\n");
    REFUSED(400, "GET\r\n");
    REFUSED(400, "G(T / HTTP/1.1\r\n");
    REFUSED(400, "G\xc3\x89T / HTTP/1.1\r\n");
    REFUSED(400, "G\0T / HTTP/1.1\r\n");
}

TEST(other_protocols_are_told_early)
{
    cw_http1_head h;
    cw_http1_head_init(&h, &http1_usual_limits);
    assert_int_equal(cw_http1_parse_head(&h, "\x16\x03\x01", 3), CW_INVALID);
    assert_int_equal(h.status, 400);
    assert_non_null(strstr(h.reason, "TLS"));
    REFUSED(505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    REFUSED(400, "SSH-2.0-OpenSSH_9.2\r\n");
    REFUSED(400, "{\"jsonrpc\":\"2.0\"}");
}

TEST(versions_have_two_digits_and_start_with_1)
{
    static const char *const bad[] = {"HTTP/1",    "HTTP/1.",   "HTTP/11",  "HTTP/1.10",
                                      "HTTP/01.1", "http/1.1",  "HTTP/1,1", "HTTP/a.1",
                                      "HTTP/1.a",  "HTTP/ 1.1", "HTTP 1.1", "HTTPS/1.1",
                                      "HTTP/-1.1", "XTTP/1.1",  "H"};
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        char text[64];
        int n = snprintf(text, sizeof text, "GET / %s\r\n", bad[i]);
        refused(400, cw_str_make(text, (size_t)n));
    }
    REFUSED(505, "GET / HTTP/2.0\r\n");
    REFUSED(505, "GET / HTTP/0.9\r\n");
    REFUSED(505, "GET / HTTP/3.1\r\n");
    REFUSED(505, "GET / HTTP/9.9\r\n");
    /* Syntax first: this is no version 2.0 but nonsense. */
    REFUSED(400, "GET / HTTP/2.0x\r\n");
}

TEST(a_higher_minor_version_is_read_as_1)
{
    for (int minor = '0'; minor <= '9'; minor++) {
        char text[] = "GET / HTTP/1.x\r\n" HOST "\r\n";
        *strchr(text, 'x') = (char)minor;
        cw_http1_head h;
        accepted(TEXT(text), &h);
        assert_int_equal(h.minor, minor == '0' ? 0 : 1);
    }
}

static bool is_target_char(unsigned c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c && strchr("-._~:/?[]@!$&'()*+,;=%", (int)c));
}

TEST(targets_consist_of_uri_characters)
{
    for (unsigned c = 0; c < 256; c++) {
        char text[] = "GET /aXb HTTP/1.1\r\n" HOST "\r\n";
        *strchr(text, 'X') = (char)c;
        cw_http1_head h;
        if (is_target_char(c))
            accepted(TEXT(text), &h);
        else
            refused(400, TEXT(text));
    }
}

static bool is_token_char(unsigned c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c && strchr("!#$%&'*+-.^_`|~", (int)c));
}

TEST(names_and_methods_consist_of_token_characters)
{
    for (unsigned c = 0; c < 256; c++) {
        char text[] = "GET / HTTP/1.1\r\n" HOST "aXb: 1\r\n\r\n";
        *strchr(text, 'X') = (char)c;
        cw_http1_head h;
        if (is_token_char(c))
            accepted(TEXT(text), &h);
        else if (c != ':')
            refused(400, TEXT(text));
        char method[] = "aXb / HTTP/1.1\r\n" HOST "\r\n";
        *strchr(method, 'X') = (char)c;
        if (is_token_char(c))
            accepted(TEXT(method), &h);
        else if (c != ' ')
            refused(400, TEXT(method));
        char token = (char)c;
        assert_int_equal(cw_http_is_token((cw_str){&token, 1}), is_token_char(c));
    }
    assert_false(cw_http_is_token(CW_STR("")));
    assert_true(cw_http_is_token(CW_STR("a-b")));
    assert_false(cw_http_is_token(CW_STR("a b")));
}

/* At every place of a word of eight, since values are scanned by words. */
TEST(values_take_all_but_controls)
{
    for (unsigned c = 0; c < 256; c++) {
        bool good = c == '\t' || (c >= 0x20 && c != 0x7f);
        for (size_t at = 0; at < 9; at++) {
            char text[] = "GET / HTTP/1.1\r\n" HOST "a:abcdefghijklm\xff~\xff~rstuv\r\n\r\n";
            strstr(text, "abcdef")[1 + at] = (char)c;
            cw_http1_head h;
            cw_http1_head_init(&h, &http1_usual_limits);
            cw_code rc = cw_http1_parse_head(&h, text, sizeof text - 1);
            assert_int_equal(rc, good ? CW_OK : CW_INVALID);
            assert_int_equal(h.status, good ? 0 : 400);
        }
        char text[] = "GET / HTTP/1.1\r\n" HOST "a: bXc\r\n\r\n";
        *strchr(text, 'X') = (char)c;
        cw_http1_head h;
        if (good)
            accepted(TEXT(text), &h);
        else
            refused(400, TEXT(text));
        char value = (char)c;
        assert_int_equal(cw_http_is_value((cw_str){&value, 1}), good);
    }
    assert_true(cw_http_is_value(CW_STR("")));
}

TEST(values_are_trimmed)
{
    static const char text[] =
        "GET / HTTP/1.1\r\n" HOST "A:x\r\nB:  \t x y\t z \t \r\nC:\r\nF: \t \r\nE: :\r\n\r\n";
    static const char *const values[] = {"localhost", "x", "x y\t z", "", "", ":"};
    cw_http1_head h;
    accepted(TEXT(text), &h);
    assert_int_equal(h.n_fields, CW_COUNT(values));
    for (size_t i = 0; i < CW_COUNT(values); i++)
        assert_true(cw_str_is(cw_http1_value(&h, text, i), values[i]));
}

TEST(header_lines_follow_the_grammar)
{
    REFUSED_FIELDS(400, "A : x\r\n");
    REFUSED_FIELDS(400, "A\t: x\r\n");
    REFUSED_FIELDS(400, "A: x\r\n y\r\n");
    REFUSED_FIELDS(400, "A: x\r\n\ty\r\n");
    REFUSED_FIELDS(400, ": x\r\n");
    REFUSED_FIELDS(400, "A\r\n");
    REFUSED_FIELDS(400, "A: x\n");
    REFUSED_FIELDS(400, "A: x\ry\r\n");
    REFUSED_FIELDS(400, "A: x\r\r\n");
    REFUSED_FIELDS(400, "A: x\r\n\n");
    REFUSED_FIELDS(400, "A: x\r\n\rB: y\r\n");
    REFUSED_FIELDS(400, "\n");
    REFUSED_FIELDS(400, "A\n");
    REFUSED(400, "GET / HTTP/1.1\r\n Host: localhost\r\n\r\n");
}

TEST(host_is_required_once_and_valid)
{
    REFUSED(400, "GET / HTTP/1.1\r\n\r\n");
    REFUSED(400, "GET / HTTP/1.9\r\nA: b\r\n\r\n");
    REFUSED_FIELDS(400, "Host: localhost\r\n");
    REFUSED_FIELDS(400, "hOST: other\r\n");
    REFUSED(400, "GET / HTTP/1.0\r\n" HOST HOST "\r\n");
    REFUSED(400, "GET / HTTP/1.1\r\nHost:\r\n\r\n");
    REFUSED(400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n");
    REFUSED(400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n");
    REFUSED(400, "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n");
    REFUSED(400, "GET / HTTP/1.0\r\nHost: a@b\r\n\r\n");
}

TEST(a_length_is_a_plain_number)
{
    static const char *const bad[] = {"",
                                      "+5",
                                      "-5",
                                      "-0",
                                      "5 5",
                                      "5,5",
                                      "5, 5",
                                      "0x5",
                                      "5.0",
                                      "5e1",
                                      "00",
                                      "05",
                                      "5;",
                                      "a",
                                      "\"5\"",
                                      "5\xc2\xa0",
                                      "\xb2",
                                      "10000000000000000000",
                                      "99999999999999999999999",
                                      "18446744073709551616",
                                      "1_0"};
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        char text[128];
        int n = snprintf(text, sizeof text, "GET / HTTP/1.1\r\n" HOST "Content-Length: %s\r\n\r\n",
                         bad[i]);
        refused(400, cw_str_make(text, (size_t)n));
    }
    REFUSED_FIELDS(400, "Content-Length: 5\r\ncontent-length: 5\r\n");
    REFUSED_FIELDS(400, "Content-Length: 5\r\ncontent-length: 6\r\n");
    cw_http1_head h;
    ACCEPTED_FIELDS("Content-Length: 0\r\n", &h);
    assert_true(h.has_length);
    assert_int_equal(h.content_length, 0);
    ACCEPTED_FIELDS("CONTENT-LENGTH:\t9999999999999999999 \r\n", &h);
    assert_int_equal(h.content_length, UINT64_C(9999999999999999999));
}

TEST(transfer_encoding_is_exactly_chunked)
{
    cw_http1_head h;
    ACCEPTED_FIELDS("Transfer-Encoding: chunked\r\n", &h);
    assert_true(h.chunked);
    assert_false(h.has_length);
    ACCEPTED_FIELDS("tRANSFER-eNCODING:ChunkeD\r\n", &h);
    assert_true(h.chunked);
    REFUSED_FIELDS(501, "Transfer-Encoding: gzip\r\n");
    REFUSED_FIELDS(501, "Transfer-Encoding: gzip, chunked\r\n");
    REFUSED_FIELDS(501, "Transfer-Encoding: identity\r\n");
    REFUSED_FIELDS(501, "Transfer-Encoding: xchunked\r\n");
    REFUSED_FIELDS(501, "Transfer-Encoding: chunke\r\n");
    REFUSED_FIELDS(400, "Transfer-Encoding:\r\n");
    REFUSED_FIELDS(400, "Transfer-Encoding: ,\r\n");
    REFUSED_FIELDS(400, "Transfer-Encoding: chunked,\r\n");
    REFUSED_FIELDS(400, "Transfer-Encoding: , chunked\r\n");
    REFUSED_FIELDS(400, "Transfer-Encoding: chunked, chunked\r\n");
    REFUSED_FIELDS(400, "Transfer-Encoding: chunked, gzip\r\n");
    REFUSED_FIELDS(400, "Transfer-Encoding: gzip, chunked, chunked\r\n");
    REFUSED_FIELDS(400, "Transfer-Encoding: chunked;a=b\r\n");
    REFUSED_FIELDS(400, "Transfer-Encoding: \"chunked\"\r\n");
    REFUSED_FIELDS(400, "Transfer-Encoding: chun ked\r\n");
    REFUSED_FIELDS(400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n");
    REFUSED(400, "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST(two_framings_are_refused_in_either_order)
{
    REFUSED_FIELDS(400, "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n");
    REFUSED_FIELDS(400, "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n");
}

TEST(fields_that_stand_alone_are_not_repeated)
{
    REFUSED_FIELDS(400, "Content-Type: a/b\r\nContent-Type: a/b\r\n");
    REFUSED_FIELDS(400, "Authorization: a\r\nauthorization: b\r\n");
    REFUSED_FIELDS(400, "Origin: null\r\nOrigin: null\r\n");
    REFUSED_FIELDS(400, "Expect: 100-continue\r\nExpect: 100-continue\r\n");
    cw_http1_head h;
    ACCEPTED_FIELDS("X-A: 1\r\nX-A: 2\r\nAccept: a\r\nAccept: b\r\nCookie: a\r\nCookie: b\r\n", &h);
    assert_int_equal(h.n_fields, 7);
}

/* Names that differ from a known one in one bit, or are one character off. */
TEST(names_that_resemble_known_ones_are_ordinary)
{
    static const char *const known[] = {"host",          "accept",         "origin",
                                        "expect",        "connection",     "content-type",
                                        "authorization", "content-length", "transfer-encoding"};
    for (size_t i = 0; i < CW_COUNT(known); i++) {
        for (size_t at = 0; known[i][at]; at++) {
            char text[96];
            int n =
                snprintf(text, sizeof text, "GET / HTTP/1.1\r\n" HOST "%s: \x80\r\n\r\n", known[i]);
            char *c = strstr(text, ": \x80") - strlen(known[i]) + at;
            *c = *c == 'q' ? 'z' : 'q';
            cw_http1_head h;
            accepted(cw_str_make(text, (size_t)n), &h);
            assert_int_equal(h.host, 0);
            assert_int_equal(h.accept, CW_HTTP1_NONE);
            assert_int_equal(h.origin, CW_HTTP1_NONE);
            assert_int_equal(h.content_type, CW_HTTP1_NONE);
            assert_int_equal(h.authorization, CW_HTTP1_NONE);
        }
    }
    cw_http1_head h;
    ACCEPTED_FIELDS("Content_Length: x\r\nTransfer_Encoding: x\r\nHos: x\r\nHostx: x\r\n", &h);
    assert_false(h.has_length);
    assert_false(h.chunked);
}

TEST(connection_options_decide_about_keeping_alive)
{
    static const struct {
        const char *version, *lines;
        bool keep;
    } cases[] = {
        {"1.1", "", true},
        {"1.1", "Connection: close\r\n", false},
        {"1.1", "Connection: CLOSE\r\n", false},
        {"1.1", "Connection: keep-alive\r\n", true},
        {"1.1", "Connection: keep-alive, Close\r\n", false},
        {"1.1", "Connection: close\r\nConnection: keep-alive\r\n", false},
        {"1.1", "Connection: foo ,\t, close,\r\n", false},
        {"1.1", "Connection: closed\r\n", true},
        {"1.1", "Connection: upgrade\r\nUpgrade: h2c\r\n", true},
        {"1.1", "Connection:\r\n", true},
        {"1.0", "", false},
        {"1.0", "Connection: Keep-Alive\r\n", true},
        {"1.0", "Connection: x, keep-alive\r\n", true},
        {"1.0", "Connection: keep-alive, close\r\n", false},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char text[160];
        int n = snprintf(text, sizeof text, "GET / HTTP/%s\r\n" HOST "%s\r\n", cases[i].version,
                         cases[i].lines);
        cw_http1_head h;
        accepted(cw_str_make(text, (size_t)n), &h);
        assert_int_equal(h.keep_alive, cases[i].keep);
    }
    REFUSED_FIELDS(400, "Connection: clo se\r\n");
    REFUSED_FIELDS(400, "Connection: \"close\"\r\n");
    REFUSED_FIELDS(400, "Connection: close;x\r\n");
}

TEST(only_100_continue_can_be_expected)
{
    cw_http1_head h;
    ACCEPTED_FIELDS("Expect: 100-Continue\r\n", &h);
    assert_true(h.expect_continue);
    REFUSED_FIELDS(417, "Expect: 101-continue\r\n");
    REFUSED_FIELDS(417, "Expect: 100-continue, x\r\n");
    REFUSED_FIELDS(417, "Expect:\r\n");
    accepted(CW_STR("GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n"), &h);
    assert_false(h.expect_continue);
    accepted(CW_STR("GET / HTTP/1.0\r\nExpect: x\r\n\r\n"), &h);
}

TEST(two_empty_lines_may_come_first)
{
    cw_http1_head h;
    accepted(CW_STR("\r\nGET / HTTP/1.1\r\n" HOST "\r\n"), &h);
    assert_int_equal(h.method_at, 2);
    accepted(CW_STR("\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n"), &h);
    assert_int_equal(h.method_at, 4);
    REFUSED(400, "\r\n\r\n\r");
    REFUSED(400, "\nGET / HTTP/1.1\r\n");
    REFUSED(400, "\r\r\n");
    REFUSED(400, "\rGET");
}

TEST(the_asterisk_is_for_options)
{
    cw_http1_head h;
    accepted(CW_STR("OPTIONS * HTTP/1.1\r\n" HOST "\r\n"), &h);
    REFUSED(400, "GET * HTTP/1.1\r\n" HOST "\r\n");
    REFUSED(400, "FOO * HTTP/1.1\r\n" HOST "\r\n");
}

/* ---- limits ---- */

static cw_buf fill(const char *before, const char *piece, size_t times, const char *after)
{
    cw_buf b;
    cw_buf_init(&b, 1u << 20);
    cw_buf_add(&b, cw_str_from(before));
    for (size_t i = 0; i < times; i++)
        cw_buf_add(&b, cw_str_from(piece));
    cw_buf_add(&b, cw_str_from(after));
    assert_int_equal(b.code, CW_OK);
    return b;
}

/* What the filled text gives under these limits: 0 accepted, else the status. */
static unsigned status_of(cw_buf b, const cw_http1_limits *limits)
{
    cw_http1_head h;
    cw_code rc = http1_parse_all_splits(&h, cw_buf_str(&b), limits);
    cw_buf_done(&b);
    assert_int_not_equal(rc, CW_AGAIN);
    return h.status;
}

TEST(the_target_has_its_limit)
{
    static const char end[] = " HTTP/1.1\r\n" HOST "\r\n";
    cw_http1_limits limits = {100, 1000, 10};
    assert_int_equal(status_of(fill("GET ", "/", 99, end), &limits), 0);
    assert_int_equal(status_of(fill("GET ", "/", 100, end), &limits), 0);
    assert_int_equal(status_of(fill("GET ", "/", 101, end), &limits), 414);
    assert_int_equal(status_of(fill("GET ", "/", 101, ""), &limits), 414);
    assert_int_equal(status_of(fill("GET ", "/", 200, "\x01"), &limits), 414);
    /* A target that fills the whole head is a long target, not a large head. */
    limits.target = 5000;
    assert_int_equal(status_of(fill("GET ", "/", 2000, end), &limits), 414);
}

TEST(the_head_has_its_limit)
{
    static const char start[] = "GET / HTTP/1.1\r\n" HOST "A:";
    size_t room = 200 - (sizeof start - 1) - 4;
    cw_http1_limits limits = {100, 200, 10};
    assert_int_equal(status_of(fill(start, "x", room - 1, "\r\n\r\n"), &limits), 0);
    assert_int_equal(status_of(fill(start, "x", room, "\r\n\r\n"), &limits), 0);
    assert_int_equal(status_of(fill(start, "x", room + 1, "\r\n\r\n"), &limits), 431);
    assert_int_equal(status_of(fill(start, "x", room + 5, ""), &limits), 431);
    assert_int_equal(status_of(fill(start, " ", 500, ""), &limits), 431);
    assert_int_equal(status_of(fill("GET / HTTP/1.1\r\n", "x", 500, ""), &limits), 431);
}

TEST(a_large_head_is_known_before_it_ends)
{
    cw_http1_limits limits = {100, 64, 10};
    cw_buf b = fill("GET / HTTP/1.1\r\nA: ", "x", 64, "");
    cw_http1_head h;
    cw_http1_head_init(&h, &limits);
    assert_int_equal(cw_http1_parse_head(&h, b.p, 63), CW_AGAIN);
    assert_int_equal(cw_http1_parse_head(&h, b.p, 64), CW_INVALID);
    assert_int_equal(h.status, 431);
    cw_buf_done(&b);
}

TEST(a_head_never_exceeds_what_offsets_can_hold)
{
    cw_http1_limits limits = {1u << 20, 1u << 20, 1000};
    static const char start[] = "GET / HTTP/1.1\r\n" HOST "A:";
    size_t room = 65535 - (sizeof start - 1) - 4;
    cw_http1_head h;
    cw_buf b = fill(start, "x", room, "\r\n\r\n");
    cw_http1_head_init(&h, &limits);
    assert_int_equal(cw_http1_parse_head(&h, b.p, b.n), CW_OK);
    assert_int_equal(h.size, 65535);
    assert_int_equal(h.fields[1].value_len, room);
    cw_buf_done(&b);
    b = fill(start, "x", room + 1, "\r\n\r\n");
    cw_http1_head_init(&h, &limits);
    assert_int_equal(cw_http1_parse_head(&h, b.p, b.n), CW_INVALID);
    assert_int_equal(h.status, 431);
    cw_buf_done(&b);
}

TEST(the_number_of_fields_has_its_limit)
{
    static const char start[] = "GET / HTTP/1.1\r\n" HOST;
    cw_http1_limits limits = {100, 16384, 10};
    assert_int_equal(status_of(fill(start, "A:\r\n", 8, "\r\n"), &limits), 0);
    assert_int_equal(status_of(fill(start, "A:\r\n", 9, "\r\n"), &limits), 0);
    assert_int_equal(status_of(fill(start, "A:\r\n", 10, "\r\n"), &limits), 431);
    assert_int_equal(status_of(fill(start, "A:\r\n", 9, "B"), &limits), 431);
    /* No limit goes beyond the table. */
    limits.fields = 5000;
    assert_int_equal(status_of(fill(start, "A:\r\n", CW_HTTP_MAX_FIELDS - 1, "\r\n"), &limits), 0);
    assert_int_equal(status_of(fill(start, "A:\r\n", CW_HTTP_MAX_FIELDS, "\r\n"), &limits), 431);
}

TEST(a_status_has_its_phrase)
{
    assert_string_equal(cw_http_status_text(200), "OK");
    assert_string_equal(cw_http_status_text(404), "Not Found");
    assert_string_equal(cw_http_status_text(431), "Request Header Fields Too Large");
    assert_string_equal(cw_http_status_text(505), "HTTP Version Not Supported");
    assert_string_equal(cw_http_status_text(299), "Unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_complete_head_is_taken_apart),
        cmocka_unit_test(absent_fields_have_no_index),
        cmocka_unit_test(find_goes_through_fields_of_one_name),
        cmocka_unit_test(bytes_behind_the_head_are_left_alone),
        cmocka_unit_test(every_proper_prefix_asks_for_more),
        cmocka_unit_test(methods_are_known_by_their_exact_name),
        cmocka_unit_test(a_method_has_at_most_32_characters),
        cmocka_unit_test(the_request_line_has_single_spaces_and_crlf),
        cmocka_unit_test(other_protocols_are_told_early),
        cmocka_unit_test(versions_have_two_digits_and_start_with_1),
        cmocka_unit_test(a_higher_minor_version_is_read_as_1),
        cmocka_unit_test(targets_consist_of_uri_characters),
        cmocka_unit_test(names_and_methods_consist_of_token_characters),
        cmocka_unit_test(values_take_all_but_controls),
        cmocka_unit_test(values_are_trimmed),
        cmocka_unit_test(header_lines_follow_the_grammar),
        cmocka_unit_test(host_is_required_once_and_valid),
        cmocka_unit_test(a_length_is_a_plain_number),
        cmocka_unit_test(transfer_encoding_is_exactly_chunked),
        cmocka_unit_test(two_framings_are_refused_in_either_order),
        cmocka_unit_test(fields_that_stand_alone_are_not_repeated),
        cmocka_unit_test(names_that_resemble_known_ones_are_ordinary),
        cmocka_unit_test(connection_options_decide_about_keeping_alive),
        cmocka_unit_test(only_100_continue_can_be_expected),
        cmocka_unit_test(two_empty_lines_may_come_first),
        cmocka_unit_test(the_asterisk_is_for_options),
        cmocka_unit_test(the_target_has_its_limit),
        cmocka_unit_test(the_head_has_its_limit),
        cmocka_unit_test(a_large_head_is_known_before_it_ends),
        cmocka_unit_test(a_head_never_exceeds_what_offsets_can_hold),
        cmocka_unit_test(the_number_of_fields_has_its_limit),
        cmocka_unit_test(a_status_has_its_phrase),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
