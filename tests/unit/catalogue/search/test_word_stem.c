/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/search/word_stem.h"

#include "support/test.h"

static void check(const char *word, const char *stem)
{
    char room[32];
    size_t n = strlen(word);
    memcpy(room, word, n + 1);
    n = cw_word_stem(room, n, sizeof room);
    room[n] = 0;
    assert_string_equal(room, stem);
}

static void check_same(const char *first, const char *second)
{
    char stem[32];
    size_t n = strlen(first);
    memcpy(stem, first, n + 1);
    n = cw_word_stem(stem, n, sizeof stem);
    stem[n] = 0;
    check(second, stem);
}

TEST(forms_of_a_word_have_one_stem)
{
    static const char *const pairs[][2] = {
        {"delete", "deleting"},
        {"delete", "deletion"},
        {"delete", "deleted"},
        {"invoice", "invoices"},
        {"query", "queries"},
        {"stop", "stopping"},
        {"create", "creation"},
        {"list", "listing"},
        {"address", "addresses"},
        {"hope", "hoping"},
        {"translate", "translation"},
        {"agree", "agreed"},
        {"organize", "organization"},
        {"buy", "bought"},
        {"person", "people"},
        {"send", "sent"},
        {"shelf", "shelves"},
        {"control", "controlling"},
        {"tie", "ties"},
        {"lie", "lies"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        check_same(pairs[i][0], pairs[i][1]);
}

TEST(stems_are_those_of_the_algorithm)
{
    check("relational", "relat");
    check("conditional", "condit");
    check("hopping", "hop");
    check("falling", "fall");
    check("happy", "happi");
    check("sky", "sky");
    check("cement", "cement");
    check("adjustment", "adjust");
    check("probate", "probat");
    check("rate", "rate");
    check("controll", "control");
    check("feed", "feed");
}

TEST(short_words_digits_and_other_scripts_stay)
{
    check("", "");
    check("is", "is");
    check("us", "us");
    check("status", "status");
    check("2fas", "2fas");
    check("\xc3\xbc"
          "bungen",
          "\xc3\xbc"
          "bungen");
}

/* Nothing is written behind the room. */
TEST(a_long_word_stays_in_its_room)
{
    char room[33] = "abcdefghijklmnopqrstuvwxyzhoping";
    room[32] = '!';
    size_t n = cw_word_stem(room, 32, 32);
    assert_true(n <= 32);
    assert_int_equal(room[32], '!');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_of_a_word_have_one_stem),
        cmocka_unit_test(stems_are_those_of_the_algorithm),
        cmocka_unit_test(short_words_digits_and_other_scripts_stay),
        cmocka_unit_test(a_long_word_stays_in_its_room),
    };
    return cmocka_run_group_tests_name("word_stem", tests, NULL, NULL);
}
