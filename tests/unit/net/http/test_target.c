/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/http/target.h"
#include "support/oom.h"
#include "support/test.h"

static cw_arena arena;

SETUP(setup)
{
    cw_arena_init(&arena, 1u << 20);
    return 0;
}

TEARDOWN(teardown)
{
    cw_arena_done(&arena);
    return 0;
}

static cw_target parsed(cw_str raw)
{
    cw_target t;
    const char *reason = NULL;
    if (cw_target_parse(raw, &arena, &t, &reason))
        fail_msg("refused (%s): %.*s", reason, CW_STR_ARG(raw));
    return t;
}

static void refused(cw_str raw)
{
    cw_target t = {.path = CW_STR("untouched")};
    const char *reason = NULL;
    if (cw_target_parse(raw, &arena, &t, &reason) != CW_INVALID)
        fail_msg("accepted: %.*s", CW_STR_ARG(raw));
    assert_non_null(reason);
    assert_true(cw_str_is(t.path, "untouched"));
}

#define REFUSED(lit) refused(CW_STR(lit))

static void assert_path(cw_str raw, cw_str path)
{
    cw_target t = parsed(raw);
    if (!cw_str_eq(t.path, path))
        fail_msg("%.*s instead of %.*s", CW_STR_ARG(t.path), CW_STR_ARG(path));
}

#define PATH(raw, path) assert_path(CW_STR(raw), CW_STR(path))

TEST(a_plain_path_is_borrowed)
{
    static const char raw[] = "/a/b";
    cw_target t = parsed(CW_STR("/a/b"));
    assert_true(cw_str_is(t.path, "/a/b"));
    assert_null(t.query.p);
    assert_null(t.authority.p);
    t = parsed(cw_str_make(raw, 4));
    assert_ptr_equal(t.path.p, raw);
}

TEST(a_query_is_cut_off_and_kept_as_sent)
{
    cw_target t = parsed(CW_STR("/a?x=%31&y=?/.."));
    assert_true(cw_str_is(t.path, "/a"));
    assert_true(cw_str_is(t.query, "x=%31&y=?/.."));
    t = parsed(CW_STR("/?"));
    assert_true(cw_str_is(t.path, "/"));
    assert_non_null(t.query.p);
    assert_int_equal(t.query.n, 0);
}

TEST(escapes_are_decoded_once)
{
    PATH("/%41%62c", "/Abc");
    PATH("/%c3%a9", "/\xc3\xa9");
    PATH("/%C3%A9", "/\xc3\xa9");
    PATH("/%2541", "/%41");
    PATH("/%252e%252e/", "/%2e%2e/");
    PATH("/a+b%20c", "/a+b c");
    PATH("/%3f%23%25", "/?#%");
    PATH("/%f0%9f%98%80", "/\xf0\x9f\x98\x80");
}

TEST(bad_escapes_are_refused)
{
    REFUSED("/%");
    REFUSED("/%4");
    REFUSED("/a%");
    REFUSED("/%zz");
    REFUSED("/%4g");
    REFUSED("/%%41");
    REFUSED("/%u0041");
}

TEST(threat_D10_encoded_separators_and_controls_are_refused)
{
    REFUSED("/a%2fb");
    REFUSED("/a%2Fb");
    REFUSED("/a%5cb");
    REFUSED("/a%5Cb");
    REFUSED("/%00");
    REFUSED("/a%00.png");
    REFUSED("/%0d%0aX:y");
    REFUSED("/%09");
    REFUSED("/%1f");
    REFUSED("/%7f");
    REFUSED("/%c2%80");
    REFUSED("/%c2%9f");
    PATH("/%c2%a0", "/\xc2\xa0");
    PATH("/%c2%bf", "/\xc2\xbf");
}

TEST(ill_formed_utf8_is_refused)
{
    REFUSED("/%80");
    REFUSED("/%ff");
    REFUSED("/%c3");
    REFUSED("/%c2");
    REFUSED("/%c0%af");
    REFUSED("/%c0%ae%c0%ae/");
    REFUSED("/%e0%80%af");
    REFUSED("/%ed%a0%80");
    REFUSED("/%f4%90%80%80");
}

TEST(threat_D10_dot_segments_are_refused_however_written)
{
    REFUSED("/.");
    REFUSED("/..");
    REFUSED("/../etc");
    REFUSED("/a/..");
    REFUSED("/a/./b");
    REFUSED("/a/../b");
    REFUSED("/%2e");
    REFUSED("/%2e%2e/etc");
    REFUSED("/.%2E/etc");
    REFUSED("/a/%2e./b");
    REFUSED("http://localhost/../x");
    PATH("/...", "/...");
    PATH("/.a", "/.a");
    PATH("/a.", "/a.");
    PATH("/a/..b/.well-known", "/a/..b/.well-known");
}

TEST(empty_segments_are_kept_but_not_the_first)
{
    PATH("/a//b/", "/a//b/");
    REFUSED("//a");
    REFUSED("//");
    REFUSED("//evil.example/x");
    REFUSED("http://localhost//a");
}

TEST(characters_outside_the_grammar_are_refused)
{
    static const char bad[] = "\x01 \"#<>\\^`{|}\x7f\x80\xff";
    for (size_t i = 0; i < sizeof bad; i++) {
        char raw[] = "/aXb";
        raw[2] = bad[i];
        refused(cw_str_make(raw, 4));
        char query[] = "/?aXb";
        query[3] = bad[i];
        refused(cw_str_make(query, 5));
    }
    REFUSED("");
    REFUSED("a");
    REFUSED("?a");
    REFUSED("a/b");
    REFUSED("localhost:80");
    REFUSED("**");
    REFUSED("*?a");
}

TEST(the_asterisk_form_is_itself)
{
    cw_target t = parsed(CW_STR("*"));
    assert_true(cw_str_is(t.path, "*"));
    assert_null(t.query.p);
    assert_null(t.authority.p);
}

TEST(the_absolute_form_has_an_authority)
{
    cw_target t = parsed(CW_STR("http://localhost:80/a%20b?c"));
    assert_true(cw_str_is(t.authority, "localhost:80"));
    assert_true(cw_str_is(t.path, "/a b"));
    assert_true(cw_str_is(t.query, "c"));
    t = parsed(CW_STR("HTTPS://[::1]"));
    assert_true(cw_str_is(t.authority, "[::1]"));
    assert_true(cw_str_is(t.path, "/"));
    assert_null(t.query.p);
    t = parsed(CW_STR("http://a?b"));
    assert_true(cw_str_is(t.authority, "a"));
    assert_true(cw_str_is(t.path, "/"));
    assert_true(cw_str_is(t.query, "b"));
}

TEST(other_absolute_forms_are_refused)
{
    REFUSED("ftp://localhost/");
    REFUSED("file:///etc/passwd");
    REFUSED("http:/localhost/");
    REFUSED("http:localhost/");
    REFUSED("http://");
    REFUSED("http:///x");
    REFUSED("http://?x");
    REFUSED("https:/");
    REFUSED("http://user@localhost/");
    REFUSED("http://user:pw@localhost/");
    REFUSED("http://localhost:/");
    REFUSED("http://localhost:99999/");
    REFUSED("http://[::1/");
    REFUSED("http://a,b/");
    REFUSED("httpx://localhost/");
}

/* ---- queries ---- */

TEST(queries_give_pairs_in_order)
{
    static const char *const want[][2] = {{"a", "1"},       {"b", ""},      {"c", ""},
                                          {"d", "x y z"},   {"e f", "g=h"}, {"", "v"},
                                          {"\xc3\xa9", "&"}};
    cw_str rest = CW_STR("a=1&b&&c=&d=x+y%20z&e+f=g=h&=v&%c3%a9=%26&");
    for (size_t i = 0; i < CW_COUNT(want); i++) {
        cw_str name, value;
        assert_int_equal(cw_query_next(&rest, &arena, &name, &value), CW_OK);
        assert_true(cw_str_is(name, want[i][0]));
        assert_true(cw_str_is(value, want[i][1]));
        assert_non_null(value.p);
    }
    cw_str name = CW_STR("untouched"), value = name;
    assert_int_equal(cw_query_next(&rest, &arena, &name, &value), CW_DONE);
    assert_int_equal(cw_query_next(&rest, &arena, &name, &value), CW_DONE);
    assert_true(cw_str_is(name, "untouched"));
}

TEST(an_absent_or_empty_query_ends_at_once)
{
    static const cw_str empty[] = {
        {NULL, 0}, CW_STR_INIT(""), CW_STR_INIT("&"), CW_STR_INIT("&&&")};
    for (size_t i = 0; i < CW_COUNT(empty); i++) {
        cw_str rest = empty[i], name, value;
        assert_int_equal(cw_query_next(&rest, &arena, &name, &value), CW_DONE);
    }
}

TEST(bad_text_in_a_query_is_refused)
{
    static const char *const bad[] = {"a=%",   "a=%4",     "a=%zz", "%=1",    "a=%00",  "a=%0a",
                                      "%7f=1", "a=%c0%af", "a=%ff", "a=\xff", "a=\x01", "a=%c2%85"};
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        cw_str rest = cw_str_from(bad[i]), name = CW_STR("untouched"), value = name;
        assert_int_equal(cw_query_next(&rest, &arena, &name, &value), CW_INVALID);
        assert_true(cw_str_is(name, "untouched"));
        assert_true(cw_str_is(value, "untouched"));
        assert_true(cw_str_is(rest, bad[i]));
    }
}

TEST(plain_pairs_are_borrowed)
{
    static const char query[] = "name=value";
    cw_str rest = cw_str_from(query), name, value;
    assert_int_equal(cw_query_next(&rest, &arena, &name, &value), CW_OK);
    assert_ptr_equal(name.p, query);
    assert_ptr_equal(value.p, query + 5);
}

/* ---- memory ---- */

static void decode_once(void *ctx)
{
    (void)ctx;
    cw_arena a;
    cw_target t;
    const char *reason = NULL;
    cw_arena_init(&a, 1u << 20);
    cw_code rc = cw_target_parse(CW_STR("/%61?%62=%63"), &a, &t, &reason);
    if (rc == CW_OK) {
        cw_str name, value;
        cw_str rest = CW_STR("%62=%63");
        rc = cw_query_next(&rest, &a, &name, &value);
    }
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_arena_done(&a);
}

TEST(a_failed_allocation_is_reported)
{
    assert_true(oom_each(decode_once, NULL) >= 1);
}

TEST(the_arena_limit_is_reported)
{
    cw_arena tiny;
    cw_target t;
    const char *reason = NULL;
    cw_arena_init(&tiny, 16);
    assert_int_equal(cw_target_parse(CW_STR("/%61"), &tiny, &t, &reason), CW_LIMIT);
    assert_non_null(reason);
    cw_str rest = CW_STR("a=%61"), name, value;
    assert_int_equal(cw_query_next(&rest, &tiny, &name, &value), CW_LIMIT);
    cw_arena_done(&tiny);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_path_is_borrowed),
        cmocka_unit_test(a_query_is_cut_off_and_kept_as_sent),
        cmocka_unit_test(escapes_are_decoded_once),
        cmocka_unit_test(bad_escapes_are_refused),
        cmocka_unit_test(threat_D10_encoded_separators_and_controls_are_refused),
        cmocka_unit_test(ill_formed_utf8_is_refused),
        cmocka_unit_test(threat_D10_dot_segments_are_refused_however_written),
        cmocka_unit_test(empty_segments_are_kept_but_not_the_first),
        cmocka_unit_test(characters_outside_the_grammar_are_refused),
        cmocka_unit_test(the_asterisk_form_is_itself),
        cmocka_unit_test(the_absolute_form_has_an_authority),
        cmocka_unit_test(other_absolute_forms_are_refused),
        cmocka_unit_test(queries_give_pairs_in_order),
        cmocka_unit_test(an_absent_or_empty_query_ends_at_once),
        cmocka_unit_test(bad_text_in_a_query_is_refused),
        cmocka_unit_test(plain_pairs_are_borrowed),
        cmocka_unit_test(a_failed_allocation_is_reported),
        cmocka_unit_test(the_arena_limit_is_reported),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
