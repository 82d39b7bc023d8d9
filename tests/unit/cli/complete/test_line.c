/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/complete/line.h"

#include "support/assert_str.h"
#include "support/oom.h"
#include "support/test.h"

#define ARENA_MAX ((size_t)1 << 22)

/* The words of a line with '|' between them. */
static void join(const cw_complete_line *line, cw_buf *out)
{
    for (size_t i = 0; i < line->n; i++)
        cw_buf_printf(out, "%s%s", i ? "|" : "", line->words[i]);
}

static void assert_split(const char *text, const char *typed, const char *words, const char *kept,
                         char quote)
{
    cw_arena arena;
    cw_complete_line line;
    cw_err err = {0};
    CW_CLEANUP(cw_buf_done) cw_buf joined;
    cw_buf_init(&joined, ARENA_MAX);
    cw_arena_init(&arena, ARENA_MAX);
    assert_int_equal(cw_complete_split(cw_str_from(text), cw_str_from(typed), &arena, &line, &err),
                     CW_OK);
    join(&line, &joined);
    assert_str(cw_buf_str(&joined), words);
    assert_str(line.kept, kept);
    assert_int_equal(line.quote, quote);
    cw_arena_done(&arena);
}

TEST(words_are_split_at_spaces_outside_quotes)
{
    assert_split("", "", "", "", 0);
    assert_split("a", "a", "a", "", 0);
    assert_split("a ", "", "a|", "", 0);
    assert_split("  a \t b", "b", "a|b", "", 0);
    assert_split("a 'b c' d", "d", "a|b c|d", "", 0);
    assert_split("a b\\ c", "b\\ c", "a|b c", "", 0);
    assert_split("a \"b\\\"c\\d\" e", "e", "a|b\"c\\d|e", "", 0);
    assert_split("a b'c'\"d\"e", "b'c'\"d\"e", "a|bcde", "", 0);
    assert_split("a \\", "\\", "a|", "", 0);
}

TEST(an_open_quote_is_reported)
{
    assert_split("a \"b c", "b c", "a|b c", "", '"');
    assert_split("a 'b \\c", "b \\c", "a|b \\c", "", '\'');
    assert_split("a 'b' \"", "", "a|b|", "", '"');
}

TEST(bytes_in_front_of_the_typed_end_are_kept)
{
    assert_split("a --b=c", "c", "a|--b=c", "--b=", 0);
    assert_split("a x:", "", "a|x:", "x:", 0);
    assert_split("a eve@ex", "ex", "a|eve@ex", "eve@", 0);
    assert_split("a b\\ c:d", "d", "a|b c:d", "b c:", 0);
    assert_split("a b=c d", "d", "a|b=c|d", "", 0);
}

TEST(long_lines_are_refused)
{
    cw_arena arena;
    cw_complete_line line;
    cw_err err = {0};
    static char text[CW_COMPLETE_LINE_MAX + 2];
    cw_arena_init(&arena, ARENA_MAX);
    memset(text, 'a', sizeof text - 1);
    assert_int_equal(cw_complete_split(cw_str_from(text), CW_STR(""), &arena, &line, &err),
                     CW_LIMIT);
    for (size_t i = 0; i < sizeof text - 1; i += 2)
        text[i] = ' ';
    text[CW_COMPLETE_LINE_MAX] = '\0';
    assert_int_equal(cw_complete_split(cw_str_from(text), CW_STR(""), &arena, &line, &err),
                     CW_LIMIT);
    cw_arena_done(&arena);
}

/* A shell reads a quoted word as the word itself. */
TEST(quoted_words_are_read_back_unchanged)
{
    static const char *const words[] = {"plain", "two words", "a'b\"c", "$HOME `x` \\",
                                        "*?[a]{}~#!"};
    static const char quotes[] = {0, '"', '\''};
    for (size_t i = 0; i < CW_COUNT(words); i++) {
        for (size_t k = 0; k < CW_COUNT(quotes); k++) {
            CW_CLEANUP(cw_buf_done) cw_buf text;
            cw_buf_init(&text, ARENA_MAX);
            if (quotes[k])
                cw_buf_add_char(&text, quotes[k]);
            bool can_be = cw_complete_quote(&text, cw_str_from(words[i]), quotes[k]);
            assert_int_equal(can_be, quotes[k] != '\'' || !strchr(words[i], '\''));
            cw_buf_add_char(&text, '\0');
            if (can_be)
                assert_split(text.p, text.p + (quotes[k] ? 1 : 0), words[i], "", quotes[k]);
        }
    }
}

static void split_once(void *ctx)
{
    cw_arena arena;
    cw_complete_line line;
    cw_err err = {0};
    (void)ctx;
    cw_arena_init(&arena, ARENA_MAX);
    cw_code rc = cw_complete_split(CW_STR("a 'b c' d"), CW_STR("d"), &arena, &line, &err);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_arena_done(&arena);
}

TEST(a_failed_allocation_is_an_error)
{
    assert_true(oom_each(split_once, NULL) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_split_at_spaces_outside_quotes),
        cmocka_unit_test(an_open_quote_is_reported),
        cmocka_unit_test(bytes_in_front_of_the_typed_end_are_kept),
        cmocka_unit_test(long_lines_are_refused),
        cmocka_unit_test(quoted_words_are_read_back_unchanged),
        cmocka_unit_test(a_failed_allocation_is_an_error),
    };
    return cmocka_run_group_tests_name("line", tests, NULL, NULL);
}
