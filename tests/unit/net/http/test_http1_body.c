/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/http1_splits.h"

#include "base/buf.h"

#define MAX 100u

/* What came of reading a body. */
typedef struct outcome {
    cw_code rc;
    unsigned status;
    const char *reason;
    char content[MAX];
    size_t n;
    size_t left; /* bytes behind the body */
} outcome;

/* Feed `text` in pieces that end at `cut` and then every `step` bytes, each in memory of its own.
 */
static outcome read_cut(const cw_http1_head *h, cw_str text, size_t cut, size_t step)
{
    outcome o = {0};
    cw_http1_body b;
    o.rc = cw_http1_body_init(&b, h, MAX);
    for (size_t at = 0, end = cut; o.rc == CW_OK || (o.rc == CW_AGAIN && at < text.n);
         end += step) {
        size_t n = (end < text.n ? end : text.n) - at;
        char *copy = malloc(n ? n : 1);
        assert_non_null(copy);
        memcpy(copy, text.p + at, n);
        cw_str in = {copy, n}, piece = {0};
        while ((o.rc = cw_http1_read_body(&b, &in, &piece)) == CW_AGAIN && piece.n) {
            assert_true(o.n + piece.n <= MAX);
            memcpy(o.content + o.n, piece.p, piece.n);
            o.n += piece.n;
        }
        at += n - in.n;
        if (o.rc == CW_AGAIN)
            assert_int_equal(in.n, 0);
        o.left = text.n - at;
        /* Asked again, it says the same. */
        if (o.rc != CW_AGAIN)
            assert_int_equal(cw_http1_read_body(&b, &in, &piece), o.rc);
        assert_int_equal(piece.n, 0);
        free(copy);
    }
    assert_int_equal(b.received, o.n);
    o.status = b.status;
    o.reason = b.reason;
    return o;
}

static void assert_same(const outcome *a, const outcome *b)
{
    assert_int_equal(a->rc, b->rc);
    assert_int_equal(a->status, b->status);
    assert_ptr_equal(a->reason, b->reason);
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->content, b->content, a->n);
    if (a->rc == CW_DONE)
        assert_int_equal(a->left, b->left);
}

/* Whole, cut at every byte, and byte by byte. */
static outcome read_all_ways(const cw_http1_head *h, cw_str text)
{
    outcome whole = read_cut(h, text, text.n, 1);
    for (size_t cut = 0; cut <= text.n; cut++) {
        outcome o = read_cut(h, text, cut, text.n + 1);
        assert_same(&whole, &o);
    }
    outcome bytes = read_cut(h, text, 1, 1);
    assert_same(&whole, &bytes);
    return whole;
}

static const cw_http1_head chunked_head = {.chunked = true};

static void refused(cw_code rc, cw_str text)
{
    outcome o = read_all_ways(&chunked_head, text);
    if (o.rc != rc)
        fail_msg("%d instead of %d: %.*s", o.rc, rc, CW_STR_ARG(text));
    assert_int_equal(o.status, rc == CW_LIMIT ? 413 : 400);
    assert_non_null(o.reason);
}

static void accepted(cw_str text, const char *content)
{
    outcome o = read_all_ways(&chunked_head, text);
    if (o.rc != CW_DONE)
        fail_msg("%d (%s): %.*s", o.rc, o.reason ? o.reason : "", CW_STR_ARG(text));
    assert_int_equal(o.left, 0);
    assert_true(cw_str_is(cw_str_make(o.content, o.n), content));
}

#define REFUSED(lit) refused(CW_INVALID, CW_STR(lit))
#define TOO_LARGE(lit) refused(CW_LIMIT, CW_STR(lit))
#define ACCEPTED(lit, content) accepted(CW_STR(lit), (content))

TEST(without_framing_there_is_no_body)
{
    cw_http1_head h = {0};
    outcome o = read_all_ways(&h, CW_STR("GET /"));
    assert_int_equal(o.rc, CW_DONE);
    assert_int_equal(o.n, 0);
    assert_int_equal(o.left, 5);
    h.has_length = true;
    o = read_all_ways(&h, CW_STR("GET /"));
    assert_int_equal(o.rc, CW_DONE);
    assert_int_equal(o.left, 5);
}

TEST(a_length_takes_exactly_its_bytes)
{
    cw_http1_head h = {.has_length = true, .content_length = 5};
    outcome o = read_all_ways(&h, CW_STR("he\0loGET /"));
    assert_int_equal(o.rc, CW_DONE);
    assert_int_equal(o.left, 5);
    assert_int_equal(o.n, 5);
    assert_memory_equal(o.content, "he\0lo", 5);
    o = read_all_ways(&h, CW_STR("hell"));
    assert_int_equal(o.rc, CW_AGAIN);
    assert_int_equal(o.n, 4);
}

TEST(a_length_over_the_limit_is_refused_before_reading)
{
    cw_http1_body b;
    cw_http1_head h = {.has_length = true, .content_length = MAX};
    assert_int_equal(cw_http1_body_init(&b, &h, MAX), CW_OK);
    h.content_length = MAX + 1;
    assert_int_equal(cw_http1_body_init(&b, &h, MAX), CW_LIMIT);
    assert_int_equal(b.status, 413);
    assert_non_null(b.reason);
    cw_str in = CW_STR("x"), piece;
    assert_int_equal(cw_http1_read_body(&b, &in, &piece), CW_LIMIT);
    h.content_length = UINT64_MAX;
    assert_int_equal(cw_http1_body_init(&b, &h, MAX), CW_LIMIT);
    assert_int_equal(cw_http1_body_init(&b, &h, UINT64_MAX), CW_OK);
}

TEST(content_is_not_copied)
{
    cw_http1_body b;
    assert_int_equal(cw_http1_body_init(&b, &chunked_head, MAX), CW_OK);
    static const char text[] = "5\r\nhello\r\n0\r\n\r\n";
    cw_str in = TEXT(text), piece;
    assert_int_equal(cw_http1_read_body(&b, &in, &piece), CW_AGAIN);
    assert_ptr_equal(piece.p, text + 3);
    assert_int_equal(piece.n, 5);
    assert_ptr_equal(in.p, text + 8);
    assert_int_equal(cw_http1_read_body(&b, &in, &piece), CW_DONE);
    assert_int_equal(in.n, 0);
}

TEST(chunks_are_put_together)
{
    ACCEPTED("0\r\n\r\n", "");
    ACCEPTED("5\r\nhello\r\n0\r\n\r\n", "hello");
    ACCEPTED("2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "hello");
    ACCEPTED("A\r\n0123456789\r\nb\r\nabcdefghijk\r\n0\r\n\r\n", "0123456789abcdefghijk");
    ACCEPTED("00000005\r\nhello\r\n00000000\r\n\r\n", "hello");
    ACCEPTED("4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n");
    outcome o = read_all_ways(&chunked_head, CW_STR("1\r\na\r\n0\r\n\r\nGET /"));
    assert_int_equal(o.rc, CW_DONE);
    assert_int_equal(o.left, 5);
}

TEST(every_proper_prefix_of_a_chunked_body_asks_for_more)
{
    static const char text[] = "2;a=\"b\\\"\" ; c = d\r\nhe\r\n0\r\nX: y\r\n\r\n";
    for (size_t n = 0; n < sizeof text - 1; n++)
        assert_int_equal(read_cut(&chunked_head, cw_str_make(text, n), n, 1).rc, CW_AGAIN);
    accepted(TEXT(text), "he");
}

TEST(a_size_is_one_to_eight_hex_digits)
{
    REFUSED("\r\n");
    REFUSED(";a\r\n");
    REFUSED("g\r\n");
    REFUSED("0x5\r\nhello\r\n");
    REFUSED(" 5\r\nhello\r\n");
    REFUSED("+5\r\nhello\r\n");
    REFUSED("-1\r\n");
    REFUSED("5_0\r\n");
    REFUSED("5,\r\n");
    REFUSED("5.\r\n");
    REFUSED("000000005\r\nhello\r\n");
    REFUSED("100000000\r\n");
    REFUSED("ffffffffffffffff\r\n");
    REFUSED("5\xff\r\n");
    REFUSED("5\0\r\n");
}

TEST(size_lines_end_in_crlf)
{
    REFUSED("5\nhello\r\n0\r\n\r\n");
    REFUSED("5\rhello\r\n0\r\n\r\n");
    REFUSED("5\r\rhello");
    REFUSED("5 \r\nhello\r\n");
    REFUSED("5\t\r\nhello\r\n");
    REFUSED("0\n\r\n");
    REFUSED("0 \r\n\r\n");
}

TEST(content_ends_where_its_size_says)
{
    REFUSED("5\r\nhelloX\r\n0\r\n\r\n");
    REFUSED("5\r\nhello0\r\n\r\n");
    REFUSED("5\r\nhello\n0\r\n\r\n");
    REFUSED("5\r\nhello\r0\r\n\r\n");
    REFUSED("6\r\nhello\r\n0\r\n\r\n");
    REFUSED("7\r\nhello\r\n0\r\n\r\n");
}

TEST(the_sum_of_chunks_has_the_limit)
{
    char text[MAX + 64];
    for (unsigned n = MAX - 1; n <= MAX + 1; n++) {
        /* One chunk, and two. */
        char body[MAX + 2];
        memset(body, 'x', sizeof body);
        int len = snprintf(text, sizeof text, "%x\r\n%.*s\r\n0\r\n\r\n", n, (int)n, body);
        outcome o = read_all_ways(&chunked_head, cw_str_make(text, (size_t)len));
        assert_int_equal(o.rc, n <= MAX ? CW_DONE : CW_LIMIT);
        assert_int_equal(o.n, n <= MAX ? n : 0);
        len = snprintf(text, sizeof text, "1\r\nx\r\n%x\r\n%.*s\r\n0\r\n\r\n", n - 1, (int)n - 1,
                       body);
        o = read_all_ways(&chunked_head, cw_str_make(text, (size_t)len));
        assert_int_equal(o.rc, n <= MAX ? CW_DONE : CW_LIMIT);
        assert_int_equal(o.n, n <= MAX ? n : 1);
        assert_int_equal(o.status, n <= MAX ? 0 : 413);
    }
    TOO_LARGE("ffffffff\r\n");
    TOO_LARGE("1\r\nx\r\nffffffff\r\n");
    TOO_LARGE("65;");
}

TEST(extensions_are_checked_and_ignored)
{
    ACCEPTED("1;a\r\nx\r\n0;b\r\n\r\n", "x");
    ACCEPTED("1;a=b;c=d\r\nx\r\n0\r\n\r\n", "x");
    ACCEPTED("1;a=\"b;\\\"\\\\ \t\xff\"\r\nx\r\n0\r\n\r\n", "x");
    ACCEPTED("1 ; a = b ;\tc\t=\t\"d\" ;e\r\nx\r\n0\r\n\r\n", "x");
    ACCEPTED("1  ;  a  =\t\tb\r\nx\r\n0\r\n\r\n", "x");
    ACCEPTED("1;a ;b\r\nx\r\n0\r\n\r\n", "x");
    ACCEPTED("1;a=\"\"\r\nx\r\n0\r\n\r\n", "x");
    REFUSED("1;\r\nx\r\n");
    REFUSED("1;;a\r\nx\r\n");
    REFUSED("1; \r\nx\r\n");
    REFUSED("1;a \r\nx\r\n");
    REFUSED("1;a=\r\nx\r\n");
    REFUSED("1;a= \r\nx\r\n");
    REFUSED("1;=b\r\nx\r\n");
    REFUSED("1;a==b\r\nx\r\n");
    REFUSED("1;a=b=c\r\nx\r\n");
    REFUSED("1;a b\r\nx\r\n");
    REFUSED("1;a=b c\r\nx\r\n");
    REFUSED("1;a=b \r\nx\r\n");
    REFUSED("1;a=\"b\r\nx\r\n");
    REFUSED("1;a=\"b\nc\"\r\nx\r\n");
    REFUSED("1;a=\"b\\\rc\"\r\nx\r\n");
    REFUSED("1;a=\"b\x7f\"\r\nx\r\n");
    REFUSED("1;a=\"b\"c\r\nx\r\n");
    REFUSED("1;a=\"b\" \r\nx\r\n");
    REFUSED("1;a=b\"c\"\r\nx\r\n");
    REFUSED("1;(\r\nx\r\n");
    REFUSED("1;a\0\r\nx\r\n");
    REFUSED("1;a\nx\r\n0\r\n\r\n");
    REFUSED("1;a\rx\r\n0\r\n\r\n");
    REFUSED("1;\xff\r\nx\r\n");
    REFUSED("1 a\r\nx\r\n");
}

/* A chunk with an extension that is `n` bytes long from behind its ';' to its CR. */
static outcome read_extension(size_t n)
{
    cw_buf b;
    cw_buf_init(&b, 4096);
    cw_buf_add(&b, CW_STR("1;"));
    for (size_t i = 1; i < n; i++)
        cw_buf_add_char(&b, 'a');
    cw_buf_add(&b, CW_STR("\r\nx\r\n1;b\r\ny\r\n0\r\n\r\n"));
    assert_int_equal(b.code, CW_OK);
    outcome o = read_all_ways(&chunked_head, cw_buf_str(&b));
    cw_buf_done(&b);
    return o;
}

TEST(extensions_of_a_chunk_have_their_limit)
{
    assert_int_equal(read_extension(255).rc, CW_DONE);
    assert_int_equal(read_extension(256).rc, CW_DONE);
    outcome o = read_extension(257);
    assert_int_equal(o.rc, CW_LIMIT);
    assert_int_equal(o.status, 413);
    assert_int_equal(read_extension(2000).rc, CW_LIMIT);
}

TEST(trailers_are_checked_and_dropped)
{
    ACCEPTED("1\r\nx\r\n0\r\nX-A: b\r\nX-B:\r\nX-C: \t\xff \r\n\r\n", "x");
    ACCEPTED("0\r\nContent-Lengths: 5\r\nHos: x\r\nA-Name-Longer-Than-The-Buffer-Is: y\r\n\r\n",
             "");
    REFUSED("0\r\nX : y\r\n\r\n");
    REFUSED("0\r\n: y\r\n\r\n");
    REFUSED("0\r\nX\r\n\r\n");
    REFUSED("0\r\nX: y\r\n z\r\n\r\n");
    REFUSED("0\r\n X: y\r\n\r\n");
    REFUSED("0\r\nX: y\n\r\n");
    REFUSED("0\r\nX: y\rz\r\n\r\n");
    REFUSED("0\r\nX: \0\r\n\r\n");
    REFUSED("0\r\nX: \x7f\r\n\r\n");
    REFUSED("0\r\n\n");
    REFUSED("0\r\n\r\r\n");
    REFUSED("0\r\nX: y\r\n\n");
}

TEST(trailers_cannot_carry_framing_routing_or_credentials)
{
    static const char *const names[] = {"Authorization",
                                        "Cache-Control",
                                        "Connection",
                                        "Content-Encoding",
                                        "Content-Length",
                                        "Content-Range",
                                        "Content-Type",
                                        "Cookie",
                                        "Expect",
                                        "Host",
                                        "Keep-Alive",
                                        "Max-Forwards",
                                        "Origin",
                                        "Proxy-Authorization",
                                        "Proxy-Connection",
                                        "Range",
                                        "TE",
                                        "Trailer",
                                        "Transfer-Encoding",
                                        "Upgrade"};
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        char text[96];
        int n = snprintf(text, sizeof text, "0\r\nX: y\r\n%s: z\r\n\r\n", names[i]);
        refused(CW_INVALID, cw_str_make(text, (size_t)n));
        for (char *c = text + 10; *c != ':'; c++) {
            if (*c >= 'A' && *c <= 'Z')
                *c = (char)(*c | 0x20);
            else if (*c >= 'a' && *c <= 'z')
                *c = (char)(*c & ~0x20);
        }
        refused(CW_INVALID, cw_str_make(text, (size_t)n));
    }
}

static outcome read_trailers(size_t n)
{
    cw_buf b;
    cw_buf_init(&b, 65536);
    cw_buf_add(&b, CW_STR("0\r\nX:"));
    for (size_t i = 6; i < n; i++)
        cw_buf_add_char(&b, 'a');
    cw_buf_add(&b, CW_STR("\r\n\r\n"));
    assert_int_equal(b.code, CW_OK);
    outcome o = read_cut(&chunked_head, cw_buf_str(&b), b.n, 1);
    outcome bytes = read_cut(&chunked_head, cw_buf_str(&b), 1, 1);
    assert_same(&o, &bytes);
    cw_buf_done(&b);
    return o;
}

TEST(trailers_have_their_limit)
{
    assert_int_equal(read_trailers(8191).rc, CW_DONE);
    assert_int_equal(read_trailers(8192).rc, CW_DONE);
    outcome o = read_trailers(8193);
    assert_int_equal(o.rc, CW_LIMIT);
    assert_int_equal(o.status, 413);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_framing_there_is_no_body),
        cmocka_unit_test(a_length_takes_exactly_its_bytes),
        cmocka_unit_test(a_length_over_the_limit_is_refused_before_reading),
        cmocka_unit_test(content_is_not_copied),
        cmocka_unit_test(chunks_are_put_together),
        cmocka_unit_test(every_proper_prefix_of_a_chunked_body_asks_for_more),
        cmocka_unit_test(a_size_is_one_to_eight_hex_digits),
        cmocka_unit_test(size_lines_end_in_crlf),
        cmocka_unit_test(content_ends_where_its_size_says),
        cmocka_unit_test(the_sum_of_chunks_has_the_limit),
        cmocka_unit_test(extensions_are_checked_and_ignored),
        cmocka_unit_test(extensions_of_a_chunk_have_their_limit),
        cmocka_unit_test(trailers_are_checked_and_dropped),
        cmocka_unit_test(trailers_cannot_carry_framing_routing_or_credentials),
        cmocka_unit_test(trailers_have_their_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
