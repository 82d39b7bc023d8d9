/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manual/roff.h"

#include <stdlib.h>

#include "support/assert_str.h"
#include "support/test.h"

#define PAGE_MAX ((size_t)1 << 20)

static void assert_escaped(const char *text, const char *expected)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, PAGE_MAX);
    cw_roff_escape(&out, cw_str_from(text));
    assert_str(cw_buf_str(&out), expected);
}

static void assert_prose(const char *text, const char *expected)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, PAGE_MAX);
    cw_roff_prose(&out, text);
    assert_str(cw_buf_str(&out), expected);
}

static void assert_arguments(const char *args, const char *expected)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, PAGE_MAX);
    cw_roff_arguments(&out, args);
    assert_str(cw_buf_str(&out), expected);
}

TEST(characters_with_a_meaning_are_escaped)
{
    assert_escaped("plain text", "plain text");
    assert_escaped("--config", "\\-\\-config");
    assert_escaped("a\\n", "a\\en");
    assert_escaped("\"it's\"", "\\(dqit\\(aqs\\(dq");
    assert_escaped("`~/x^2`", "\\(ga\\(ti/x\\(ha2\\(ga");
    assert_escaped("caf\xC3\xA9 \xE2\x80\xA6", "caf\\[u00E9] \\[u2026]");
}

TEST(each_sentence_has_a_line)
{
    assert_prose("", "");
    assert_prose("one", "one\n");
    assert_prose("One. Two (three.) Four\nfive. six", "One.\nTwo (three.)\nFour five.\nsix\n");
}

TEST(a_dot_does_not_begin_a_line)
{
    assert_prose(".so", "\\&.so\n");
    assert_prose("Ends. .Dd is text", "Ends.\n\\&\\%.Dd is text\n");
    assert_prose("'quoted", "\\(aqquoted\n");
}

TEST(names_are_not_hyphenated)
{
    assert_prose("the file limits.body_size, or a configuration",
                 "the file \\%limits.body_size, or a configuration\n");
}

TEST(long_text_is_broken_between_words)
{
    assert_prose("aaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb "
                 "cccccccccccccccccccccccccccc",
                 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n"
                 "cccccccccccccccccccccccccccc\n");
}

TEST(indented_lines_are_a_list)
{
    assert_prose("Print:\n  yes   the call\n  asks  a challenge\nThen more.",
                 "Print:\n.Bl -tag -width Ds\n.It Cm \\&yes\nthe call\n.It Cm asks\na challenge\n"
                 ".El\n.Pp\nThen more.\n");
}

TEST(arguments_become_macros)
{
    assert_arguments("", "");
    assert_arguments("ACCOUNT ROLE", ".Ar ACCOUNT\n.Ar ROLE\n");
    assert_arguments("[SOURCE...] METHOD...", ".Op Ar SOURCE ...\n.Ar METHOD ...\n");
    assert_arguments("URL|FILE|--exec PROGRAM", ".Ar \\&URL | Ar FILE | Fl \\-exec\n.Ar PROGRAM\n");
    assert_arguments("CLIENT | --all", ".Ar CLIENT | Fl \\-all\n");
}

TEST(a_page_has_the_date_of_the_source)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, PAGE_MAX);
    assert_int_equal(setenv("SOURCE_DATE_EPOCH", "951782400", 1), 0);
    cw_roff_open(&out, "causeway-x", 1, "do it");
    assert_str(cw_buf_str(&out),
               ".Dd February 29, 2000\n.Dt CAUSEWAY-X 1\n.Os \"Causeway " CW_VERSION
               "\"\n.Sh NAME\n.Nm causeway\\-x\n.Nd do it\n");
    unsetenv("SOURCE_DATE_EPOCH");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_with_a_meaning_are_escaped),
        cmocka_unit_test(each_sentence_has_a_line),
        cmocka_unit_test(a_dot_does_not_begin_a_line),
        cmocka_unit_test(names_are_not_hyphenated),
        cmocka_unit_test(long_text_is_broken_between_words),
        cmocka_unit_test(indented_lines_are_a_list),
        cmocka_unit_test(arguments_become_macros),
        cmocka_unit_test(a_page_has_the_date_of_the_source),
    };
    return cmocka_run_group_tests_name("roff", tests, NULL, NULL);
}
