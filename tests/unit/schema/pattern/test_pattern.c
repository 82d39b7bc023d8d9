/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns: what is legal, what matches, which engine runs them, and that both engines agree. */
#include "schema/pattern/pattern_int.h"
#include "support/oom.h"
#include "support/test.h"

#define TREE_BYTES (1024u * 1024u)

static cw_pattern_match match(const char *pattern, cw_str text)
{
    cw_pattern *p;
    cw_err err = {0};
    if (cw_pattern_compile(cw_str_from(pattern), &p, &err))
        fail_msg("%s: %s", pattern, err.msg);
    int64_t steps = INT64_MAX;
    cw_pattern_match m = cw_pattern_test(p, text, &steps);
    cw_pattern_free(p);
    return m;
}

static void matches(const char *pattern, const char *text)
{
    if (match(pattern, cw_str_from(text)) != CW_PATTERN_YES)
        fail_msg("\"%s\" does not match \"%s\"", pattern, text);
}

static void misses(const char *pattern, const char *text)
{
    if (match(pattern, cw_str_from(text)) != CW_PATTERN_NO)
        fail_msg("\"%s\" matches \"%s\"", pattern, text);
}

static bool is_simple(const char *pattern)
{
    cw_pattern *p;
    assert_int_equal(cw_pattern_compile(cw_str_from(pattern), &p, NULL), CW_OK);
    bool simple = cw_pattern_is_simple(p);
    cw_pattern_free(p);
    return simple;
}

static void refused(const char *pattern, const char *why)
{
    cw_pattern *p = NULL;
    cw_err err = {0};
    cw_code rc = cw_pattern_compile(cw_str_from(pattern), &p, &err);
    if (!rc) {
        cw_pattern_free(p);
        fail_msg("\"%s\" is accepted", pattern);
    }
    assert_string_equal(err.msg, why);
}

TEST(a_pattern_matches_anywhere_unless_it_is_anchored)
{
    matches("b", "abc");
    misses("^b", "abc");
    misses("b$", "abc");
    matches("^abc$", "abc");
    misses("^abc$", "abc\n");
    matches("", "x");
    matches("^$", "");
    misses("^$", "x");
    matches("$", "x");
    matches("a*$", "x");
    matches("^a|b$", "ax");
    matches("^a|b$", "xb");
    misses("^a|b$", "xax");
}

TEST(quantifiers_count)
{
    matches("^a{2}$", "aa");
    misses("^a{2}$", "aaa");
    matches("^a{2,}$", "aaaa");
    misses("^a{2,}$", "a");
    matches("^a{1,3}$", "aaa");
    misses("^a{1,3}$", "aaaa");
    matches("^a{0}$", "");
    matches("^a{0}b$", "b");
    matches("^(ab)*?c$", "ababc");
    matches("^(a|bc)+d?$", "abcbca");
    matches("^(a*)*$", "aaa");
    matches("^(|a)+$", "aa");
}

TEST(classes_are_sets_of_code_points)
{
    matches("^[a-c]$", "b");
    misses("^[^a-c]$", "b");
    matches("^[^a-c]$", "\xf0\x9f\x98\x80");
    matches("^[\\]\\-a]+$", "]-a");
    matches("^[a-]$", "-");
    matches("^[-a]$", "-");
    matches("^[\\d_]+$", "1_2");
    matches("^[\\b]$", "\b");
    matches("^[^]$", "\n");
    misses("[]", "a");
    matches("^.$", "\xc3\xbc");
    misses("^.$", "\xe2\x80\xa8");
    misses("^.$", "\n");
    matches("^\\s$", "\xe2\x80\xa8");
    matches("^\\s$", "\xef\xbb\xbf");
    matches("^\\S\\D\\W$", "xy-");
    misses("^\\w$", "\xc3\xbc");
    misses("^\\d$", "\xd9\xa1");
}

TEST(escapes_stand_for_characters)
{
    matches("^\\t\\n\\v\\f\\r$", "\t\n\v\f\r");
    matches("^\\x41\\u0042\\u{43}\\cJ$", "ABC\n");
    matches("^\\ud83d\\ude00$", "\xf0\x9f\x98\x80");
    misses("\\ud83d", "\xf0\x9f\x98\x80");
    misses("\\ud83d\\u0041", "A");
    matches("^\\^\\$\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\/\\\\$", "^$.*+?()[]{}|/\\");
    assert_int_equal(match("^\\0$", cw_str_make("\0", 1)), CW_PATTERN_YES);
    /* Needless, but seen in the wild. */
    matches("^\\-\\@\\_$", "-@_");
}

TEST(properties_are_those_of_unicode)
{
    matches("^\\p{L}+$", "a\xc3\xbc");
    matches("^\\p{Letter}\\p{Lu}\\p{digit}$", "aA1");
    matches("^\\p{Script=Greek}+$", "\xce\xb1");
    matches("^\\p{sc=Grek}\\p{scx=Greek}$", "\xce\xb1\xce\xb2");
    matches("^\\p{General_Category=Decimal_Number}$", "\xd9\xa1");
    matches("^[\\p{Lu}\\P{L}]+$", "A1");
    matches("^\\p{ASCII}\\p{Alphabetic}\\p{Any}$", "ab\n");
    matches("^\\p{Assigned}$", "a");
    misses("^\\p{Lu}$", "a");
}

TEST(groups_look_and_refer)
{
    matches("^(a)(?:b)\\1$", "aba");
    matches("^(?<x>a)\\k<x>$", "aa");
    matches("^\\k<x>(?<x>a)$", "a"); /* a group that has not matched is empty */
    matches("^(?=a)a(?!c)", "ab");
    misses("^a(?!b)", "ab");
    matches("(?<=a)b", "ab");
    misses("(?<!a)b$", "ab");
    matches("\\bfoo\\b", "a foo b");
    misses("\\Bfoo", "foo");
}

TEST(what_ecma_262_does_not_know_is_refused)
{
    static const char *const bad[] = {
        "\\a",       "\\e",
        "\\A",       "\\z",
        "\\Q",       "(?P<n>a)",
        "(?#c)",     "(?i)a",
        "(?R)",      "(?>a)",
        "a++",       "a**",
        "^*",        "(?=a)*",
        "\\b+",      "(*UTF)",
        "{",         "}",
        "]",         "a{,5}",
        "a{2,1}",    "a{1",
        "[[:a:]]",   "\\1",
        "\\k<n>",    "\\k",
        "\\01",      "\\x4",
        "\\u12",     "\\u{110000}",
        "\\u{}",     "\\c1",
        "\\pL",      "\\p{Latin}",
        "\\p{}",     "[b-a]",
        "[\\d-z]",   "[\\B]",
        "[a",        "(a",
        "a)",        "*",
        "a|*",       "\\",
        "[\\",       "(?<a>b)(?<a>c)",
        "(?<1>a)",   "(?<a",
        "\\p{sc=1}", "\\p{x=L}",
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        cw_pattern *p = NULL;
        cw_err err = {0};
        cw_code rc = cw_pattern_compile(cw_str_from(bad[i]), &p, &err);
        if (rc != CW_PARAMS)
            fail_msg("\"%s\" gives %s", bad[i], cw_code_text(rc));
        assert_int_equal(strncmp(err.msg, "at ", 3), 0);
        assert_false(cw_pattern_is_valid(cw_str_from(bad[i])));
    }
    refused("ab(", "at 3: a group is not closed");
    refused("a{x", "at 2: a count must follow '{'");
    refused("a\\y", "at 2: unknown escape");
}

TEST(the_format_regex_is_strict_about_escapes)
{
    assert_true(cw_pattern_is_valid(CW_STR("^[a\\-z]\\.$")));
    assert_true(cw_pattern_is_valid(CW_STR("(?<=a+)b")));
    assert_false(cw_pattern_is_valid(CW_STR("\\-")));
    assert_false(cw_pattern_is_valid(CW_STR("\\@")));
}

TEST(what_pcre2_cannot_do_is_refused)
{
    cw_err err = {0};
    cw_pattern *p;
    assert_int_equal(cw_pattern_compile(CW_STR("(?<=a+)b"), &p, &err), CW_PARAMS);
    assert_int_equal(strncmp(err.msg, "not supported: ", 15), 0);
    assert_int_equal(cw_pattern_compile(CW_STR("(?=a)\\p{Script=Nowhere}"), &p, &err), CW_PARAMS);
    assert_int_equal(cw_pattern_compile(CW_STR("(?=a)b{99999}"), &p, &err), CW_LIMIT);
}

TEST(ceilings_hold)
{
    cw_err err = {0};
    cw_pattern *p;
    static char text[CW_PATTERN_SUBJECT + 1];
    memset(text, '(', sizeof text);
    assert_int_equal(cw_pattern_compile(cw_str_make(text, CW_PATTERN_MAX + 1), &p, &err), CW_LIMIT);
    assert_int_equal(cw_pattern_compile(cw_str_make(text, CW_PATTERN_NESTING + 1), &p, &err),
                     CW_LIMIT);
    memset(text, 'a', sizeof text);
    assert_int_equal(match("(?=a)a", cw_str_make(text, CW_PATTERN_SUBJECT)), CW_PATTERN_YES);
    assert_int_equal(match("(?=a)a", cw_str_make(text, sizeof text)), CW_PATTERN_TOO_HARD);
    assert_int_equal(match("^a+$", cw_str_make(text, sizeof text)), CW_PATTERN_YES);
    /* Nested repeats cost nothing as a table, and end at a limit in PCRE2. */
    assert_int_equal(match("^(a+)+$", cw_str_from("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")),
                     CW_PATTERN_NO);
    assert_int_equal(match("^(?=a)(a+)+$", cw_str_from("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")),
                     CW_PATTERN_TOO_HARD);
}

TEST(ordinary_patterns_do_not_reach_pcre2)
{
    assert_true(is_simple("^[a-z]{2}(-[A-Z]{2})?$"));
    assert_true(is_simple("^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$"));
    assert_true(is_simple("^[a-z_]+--[a-z_]+$"));
    assert_true(is_simple("^S"));
    assert_true(is_simple(".*"));
    assert_true(is_simple("^[^\\s@]+@[^\\s@]+$"));
    assert_true(is_simple("^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"));
    assert_false(is_simple("^(?!a)"));
    assert_false(is_simple("(a)\\1"));
    assert_false(is_simple("\\bx"));
    assert_false(is_simple("^\\p{L}"));
    assert_false(is_simple("^a{65}$"));
    assert_false(is_simple("(^a|b)c"));
}

/* ---- both engines ---- */

static uint32_t random_state = 1;

static uint32_t next_random(uint32_t below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % below;
}

static void random_term(cw_buf *out, unsigned depth)
{
    static const char *const atoms[] = {"a", "b", "c", "[ab]", "[^a]", ".", "\\d", "\xc3\xbc", "-"};
    static const char *const counts[] = {"", "", "", "*", "+", "?", "{2}", "{1,3}", "{0,2}", "*?"};
    if (depth > 0 && next_random(4) == 0) {
        cw_buf_add_char(out, '(');
        unsigned n = 1 + next_random(3);
        for (unsigned i = 0; i < n; i++) {
            if (i > 0 && next_random(3) == 0)
                cw_buf_add_char(out, '|');
            random_term(out, depth - 1);
        }
        cw_buf_add_char(out, ')');
    } else {
        cw_buf_add(out, cw_str_from(atoms[next_random(CW_COUNT(atoms))]));
    }
    cw_buf_add(out, cw_str_from(counts[next_random(CW_COUNT(counts))]));
}

static void random_pattern(cw_buf *out)
{
    cw_buf_clear(out);
    unsigned alternatives = 1 + next_random(2);
    for (unsigned i = 0; i < alternatives; i++) {
        cw_buf_add(out, cw_str_from(i ? "|" : ""));
        cw_buf_add(out, cw_str_from(next_random(2) ? "^" : ""));
        for (unsigned n = next_random(4); n > 0; n--)
            random_term(out, 2);
        cw_buf_add(out, cw_str_from(next_random(2) ? "$" : ""));
    }
}

static void random_text(cw_buf *out)
{
    static const char *const pieces[] = {"a", "b", "c", "1", "-", "\n", "\xc3\xbc", "x"};
    cw_buf_clear(out);
    for (unsigned n = next_random(9); n > 0; n--)
        cw_buf_add(out, cw_str_from(pieces[next_random(CW_COUNT(pieces))]));
}

static void compare_engines(cw_str pattern, cw_buf *text)
{
    cw_arena arena;
    cw_arena_init(&arena, TREE_BYTES);
    cw_pattern_reader r = {.text = pattern, .arena = &arena};
    cw_node *tree;
    assert_int_equal(cw_pattern_parse(&r, &tree), CW_OK);
    cw_dfa *dfa = NULL;
    cw_pcre *pcre = NULL;
    cw_code rc = cw_dfa_build(tree, &dfa, NULL);
    assert_true(rc == CW_OK || rc == CW_DECLINED);
    assert_int_equal(cw_pcre_build(tree, &pcre, NULL), CW_OK);
    for (unsigned i = 0; i < 20 && dfa; i++) {
        random_text(text);
        int64_t steps = INT64_MAX;
        cw_pattern_match m = cw_pcre_test(pcre, cw_buf_str(text), &steps);
        if (m != CW_PATTERN_TOO_HARD && cw_dfa_test(dfa, cw_buf_str(text)) != (m == CW_PATTERN_YES))
            fail_msg("\"%.*s\" on \"%.*s\": PCRE2 says %d", CW_STR_ARG(pattern),
                     CW_STR_ARG(cw_buf_str(text)), m);
    }
    free(dfa);
    cw_pcre_free(pcre);
    cw_arena_done(&arena);
}

TEST(both_engines_agree_on_random_patterns)
{
    cw_buf pattern, text;
    cw_buf_init(&pattern, 4096);
    cw_buf_init(&text, 4096);
    for (unsigned i = 0; i < 4000; i++) {
        random_pattern(&pattern);
        compare_engines(cw_buf_str(&pattern), &text);
    }
    cw_buf_done(&pattern);
    cw_buf_done(&text);
}

/* ---- memory ---- */

static void compile_once(void *ctx)
{
    cw_pattern *p = NULL;
    cw_err err = {0};
    cw_code rc = cw_pattern_compile(cw_str_from(ctx), &p, &err);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    if (oom_was_hit())
        assert_int_equal(rc, CW_NOMEM);
    cw_pattern_free(p);
}

TEST(compiling_survives_every_failed_allocation)
{
    char table[] = "^[a-z0-9_.-]+(x|y)$";
    char engine[] = "^(?<n>\\p{Script=Greek}[\\p{L}])\\k<n>$";
    assert_true(oom_each(compile_once, table) >= 3);
    assert_true(oom_each(compile_once, engine) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_matches_anywhere_unless_it_is_anchored),
        cmocka_unit_test(quantifiers_count),
        cmocka_unit_test(classes_are_sets_of_code_points),
        cmocka_unit_test(escapes_stand_for_characters),
        cmocka_unit_test(properties_are_those_of_unicode),
        cmocka_unit_test(groups_look_and_refer),
        cmocka_unit_test(what_ecma_262_does_not_know_is_refused),
        cmocka_unit_test(the_format_regex_is_strict_about_escapes),
        cmocka_unit_test(what_pcre2_cannot_do_is_refused),
        cmocka_unit_test(ceilings_hold),
        cmocka_unit_test(ordinary_patterns_do_not_reach_pcre2),
        cmocka_unit_test(both_engines_agree_on_random_patterns),
        cmocka_unit_test(compiling_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("schema/pattern", tests, NULL, NULL);
}
