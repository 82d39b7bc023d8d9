/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/str.c" /* NOLINT(bugprone-suspicious-include) */
#include "support/test.h"

TEST(from_treats_null_as_empty)
{
    cw_str s = cw_str_from(NULL);
    assert_non_null(s.p);
    assert_int_equal(s.n, 0);
    assert_int_equal(cw_str_from("ab").n, 2);
}

TEST(eq_compares_bytes_and_length)
{
    assert_true(cw_str_eq(CW_STR("a\0b"), cw_str_make("a\0b", 3)));
    assert_false(cw_str_eq(CW_STR("a\0b"), CW_STR("a\0c")));
    assert_false(cw_str_eq(CW_STR("a"), CW_STR("ab")));
    assert_true(cw_str_eq((cw_str){NULL, 0}, CW_STR("")));
    assert_true(cw_str_is(CW_STR("x"), "x"));
    assert_false(cw_str_is(CW_STR("x\0"), "x"));
    assert_true(cw_str_is(CW_STR(""), NULL));
}

TEST(ieq_ignores_the_case_of_ascii_letters_only)
{
    assert_true(cw_str_ieq(CW_STR("Content-LENGTH"), CW_STR("content-length")));
    assert_false(cw_str_ieq(CW_STR("ab"), CW_STR("abc")));
    /* Pairs that differ in bit 0x20 but are no letters, and letters outside ASCII. */
    assert_false(cw_str_ieq(CW_STR("@"), CW_STR("`")));
    assert_false(cw_str_ieq(CW_STR("["), CW_STR("{")));
    assert_false(cw_str_ieq(CW_STR("\xC4"), CW_STR("\xE4")));
    assert_true(cw_str_ieq((cw_str){NULL, 0}, CW_STR("")));
}

/* Long strings are compared by words: every pair of bytes, at every place of them. */
TEST(ieq_compares_each_byte_of_a_long_string)
{
    for (unsigned pair = 0; pair < 65536; pair++) {
        char a[] = "Mcp-Name-of-it", b[] = "mcp-nAME-oF-iT";
        size_t at = pair % (sizeof a - 1);
        unsigned char x = (unsigned char)(pair >> 8), y = (unsigned char)pair;
        bool is_letter = (x >= 'A' && x <= 'Z') || (x >= 'a' && x <= 'z');
        a[at] = (char)x;
        b[at] = (char)y;
        for (size_t n = at + 1 > 8 ? at + 1 : 8; n < sizeof a; n++)
            assert_int_equal(cw_str_ieq(cw_str_make(a, n), cw_str_make(b, n)),
                             x == y || (is_letter && (x ^ 0x20) == y));
    }
}

TEST(cmp_orders_bytes_and_puts_prefixes_first)
{
    assert_true(cw_str_cmp(CW_STR("a"), CW_STR("b")) < 0);
    assert_true(cw_str_cmp(CW_STR("b"), CW_STR("a")) > 0);
    assert_true(cw_str_cmp(CW_STR("a"), CW_STR("aa")) < 0);
    assert_true(cw_str_cmp(CW_STR("aa"), CW_STR("a")) > 0);
    assert_true(cw_str_cmp(CW_STR("\x7F"), CW_STR("\x80")) < 0);
    assert_int_equal(cw_str_cmp(CW_STR("a"), CW_STR("a")), 0);
    assert_int_equal(cw_str_cmp((cw_str){NULL, 0}, CW_STR("")), 0);
}

TEST(starts_and_ends_know_the_empty_string)
{
    assert_true(cw_str_starts(CW_STR("tools/list"), CW_STR("tools/")));
    assert_false(cw_str_starts(CW_STR("tool"), CW_STR("tools/")));
    assert_true(cw_str_starts(CW_STR(""), CW_STR("")));
    assert_true(cw_str_ends(CW_STR("a.json"), CW_STR(".json")));
    assert_false(cw_str_ends(CW_STR("json"), CW_STR(".json")));
    assert_true(cw_str_ends(CW_STR("a"), CW_STR("")));
    assert_true(cw_str_ends((cw_str){NULL, 0}, (cw_str){NULL, 0}));
}

TEST(trim_removes_blanks_and_no_other_space)
{
    assert_true(cw_str_is(cw_str_trim(CW_STR(" \t a b\t ")), "a b"));
    assert_true(cw_str_is(cw_str_trim(CW_STR("\na ")), "\na"));
    assert_int_equal(cw_str_trim(CW_STR(" \t ")).n, 0);
    assert_int_equal(cw_str_trim((cw_str){NULL, 0}).n, 0);
}

TEST(a_copy_ends_where_the_text_does)
{
    char text[3] = {'a', 'b', 'c'}; /* nothing behind it may be read */
    char *copy = cw_str_dup(cw_str_make(text, 3)), *none = cw_str_dup(CW_STR(""));
    assert_string_equal(copy, "abc");
    assert_string_equal(none, "");
    free(copy);
    free(none);
}

TEST(cut_splits_at_the_first_separator)
{
    cw_str rest;
    assert_true(cw_str_is(cw_str_cut(CW_STR("a=b=c"), '=', &rest), "a"));
    assert_true(cw_str_is(rest, "b=c"));
    assert_true(cw_str_is(cw_str_cut(CW_STR("a="), '=', &rest), "a"));
    assert_non_null(rest.p);
    assert_int_equal(rest.n, 0);
    assert_true(cw_str_is(cw_str_cut(CW_STR("ab"), '=', &rest), "ab"));
    assert_null(rest.p);
    /* The rest may be the string itself, which is how a list is walked. */
    rest = CW_STR("x,y");
    cw_str first = cw_str_cut(rest, ',', &rest);
    assert_true(cw_str_is(first, "x"));
    assert_true(cw_str_is(rest, "y"));
}

TEST(to_u64_takes_digits_up_to_the_largest_number)
{
    uint64_t v = 7;
    assert_true(cw_str_to_u64(CW_STR("18446744073709551615"), &v));
    assert_true(v == UINT64_MAX);
    assert_true(cw_str_to_u64(CW_STR("0000000000000000000000012"), &v));
    assert_int_equal(v, 12);
    static const char *const bad[] = {"",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "0x1",
                                      "1.0",
                                      "1a",
                                      "/",
                                      ":",
                                      "18446744073709551616",
                                      "99999999999999999999"};
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_false(cw_str_to_u64(cw_str_from(bad[i]), &v));
    assert_int_equal(v, 12);
}

TEST(distance_counts_edits_and_transpositions)
{
    static const struct {
        const char *a, *b;
        unsigned max, expected;
    } cases[] = {
        {"", "", 3, 0},
        {"listen", "listen", 3, 0},
        {"listen", "lisetn", 3, 1},
        {"listen", "liten", 3, 1},
        {"a", "", 3, 1},
        {"kitten", "sitting", 5, 3},
        {"kitten", "sitting", 2, 3},
        {"abcdef", "", 2, 3},
        {"ab", "ba", 0, 1},
        {"ca", "abc", 5, 3},
        {"port", "path", 5, 3},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_str a = cw_str_from(cases[i].a);
        cw_str b = cw_str_from(cases[i].b);
        assert_int_equal(distance(a, b, cases[i].max), cases[i].expected);
        assert_int_equal(distance(b, a, cases[i].max), cases[i].expected);
    }
}

TEST(distance_of_long_strings_is_too_far)
{
    char text[65];
    memset(text, 'a', sizeof(text));
    assert_int_equal(distance(cw_str_make(text, 64), cw_str_make(text, 64), 3), 0);
    assert_int_equal(distance(cw_str_make(text, 65), cw_str_make(text, 65), 3), 4);
    assert_int_equal(distance(cw_str_make(text, 64), CW_STR(""), 64), 64);
}

TEST(near_is_at_most_a_third_away)
{
    static const struct {
        const char *a, *b;
        unsigned expected; /* of at most 3 */
    } cases[] = {
        {"", "", 0},
        {"zz", "n", 4}, /* nothing of it is left */
        {"x", "n", 4},
        {"aa", "a", 1},
        {"sa", "as", 1},
        {"ad", "add", 1},
        {"list", "ls", 4}, /* two of four */
        {"conf", "config", 2},
        {"kitten", "sitting", 4}, /* three of seven */
        {"shop.added", "shop.a", 4},
        {"positional", "poistinal", 2},
        {"positional", "positixxx", 4},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_str a = cw_str_from(cases[i].a);
        cw_str b = cw_str_from(cases[i].b);
        assert_int_equal(cw_str_distance_within(a, b, 3), cases[i].expected);
        assert_int_equal(cw_str_distance_within(b, a, 3), cases[i].expected);
    }
}

TEST(patterns_match_texts)
{
    static const struct {
        const char *pattern, *text;
        unsigned how;
        bool matches;
    } rows[] = {
        {"", "", 0, true},
        {"", "a", 0, false},
        {"*", "", 0, true},
        {"**", "abc", 0, true},
        {"a*c", "abbc", 0, true},
        {"a*c", "abcd", 0, false},
        {"*ab", "aab", 0, true},
        {"*a*b*", "xxaxxb", 0, true},
        {"a*b*c", "axbxb", 0, false},
        {"abc", "ab", 0, false},
        {"A*", "abc", 0, false},
        {"A*C", "abc", CW_STR_ANY_CASE, true},
        {"\xc3\x84", "\xc3\xa4", CW_STR_ANY_CASE, false},
        {"a?c", "abc", 0, false},
        {"a?c", "a?c", 0, true},
        {"a?c", "abc", CW_STR_ANY_BYTE, true},
        {"a?c", "ac", CW_STR_ANY_BYTE, false},
        {"?*", "", CW_STR_ANY_BYTE, false},
        {"A?*", "ab", CW_STR_ANY_BYTE, false},
        {"A?*", "ab", CW_STR_ANY_BYTE | CW_STR_ANY_CASE, true},
    };
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        bool found =
            cw_str_matches(cw_str_from(rows[i].pattern), cw_str_from(rows[i].text), rows[i].how);
        if (found != rows[i].matches)
            fail_msg("%s and %s", rows[i].pattern, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_treats_null_as_empty),
        cmocka_unit_test(eq_compares_bytes_and_length),
        cmocka_unit_test(ieq_ignores_the_case_of_ascii_letters_only),
        cmocka_unit_test(ieq_compares_each_byte_of_a_long_string),
        cmocka_unit_test(cmp_orders_bytes_and_puts_prefixes_first),
        cmocka_unit_test(starts_and_ends_know_the_empty_string),
        cmocka_unit_test(trim_removes_blanks_and_no_other_space),
        cmocka_unit_test(a_copy_ends_where_the_text_does),
        cmocka_unit_test(cut_splits_at_the_first_separator),
        cmocka_unit_test(to_u64_takes_digits_up_to_the_largest_number),
        cmocka_unit_test(patterns_match_texts),
        cmocka_unit_test(distance_counts_edits_and_transpositions),
        cmocka_unit_test(distance_of_long_strings_is_too_far),
        cmocka_unit_test(near_is_at_most_a_third_away),
    };
    return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
