/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/snapshot.h"
#include "support/json_fixture.h"

#include "door/rest/cursor.h"

TEST(an_offset_is_written_with_padding)
{
    static const struct {
        uint64_t offset;
        const char *text;
    } cases[] = {
        {0, "MA=="},
        {5, "NQ=="},
        {50, "NTA="},
        {100, "MTAw"},
        {1000, "MTAwMA=="},
        {99950, "OTk5NTA="},
        {INT64_MAX, "OTIyMzM3MjAzNjg1NDc3NTgwNw=="},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char text[CW_CURSOR_SIZE];
        uint64_t back = 1;
        size_t n = cw_cursor_format(cases[i].offset, text);
        assert_int_equal(n, strlen(cases[i].text));
        assert_string_equal(text, cases[i].text);
        assert_true(cw_cursor_parse(cw_str_make(text, n), &back));
        assert_int_equal(back, cases[i].offset);
        while (n && text[n - 1] == '=')
            n--;
        back = 1;
        assert_true(cw_cursor_parse(cw_str_make(text, n), &back));
        assert_int_equal(back, cases[i].offset);
    }
}

TEST(everything_else_is_refused)
{
    static const char *const wrong[] = {
        "",
        "abc",
        "!!!",
        "=",
        "==",
        "====",
        "M",
        "MA=",      /* half the padding */
        "MA===",    /* more than enough */
        "NTA==",    /* the same */
        "MTAw=",    /* none is due */
        "MTAw====", /* the same */
        "MB==",     /* bits behind the last digit */
        "NTB",      /* the same */
        "NT=A",     /* padding inside */
        "NTB4",     /* 50x */
        "MWU5",     /* 1e9 */
        "LTEw",     /* -10 */
        "KzEw",     /* +10 */
        "MDA=",     /* 00 */
        "MDUw",     /* 050 */
        "IDUw",     /* " 50" */
        "NTAK",     /* "50\n" */
        "MS41",     /* 1.5 */
        "NTA-",     /* base64url */
        "NTA_",
        "NTA ",
        " NTA",
        "OTIyMzM3MjAzNjg1NDc3NTgwOA==", /* INT64_MAX + 1 */
        "MTg0NDY3NDQwNzM3MDk1NTE2MTU=", /* UINT64_MAX */
        "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk=",
    };
    for (size_t i = 0; i < CW_COUNT(wrong); i++) {
        uint64_t untouched = 77;
        if (cw_cursor_parse(cw_str_from(wrong[i]), &untouched))
            fail_msg("taken: %s", wrong[i]);
        assert_int_equal(untouched, 77);
    }
    uint64_t untouched = 77;
    assert_false(cw_cursor_parse(cw_str_make("NTA\0", 4), &untouched));
    assert_false(cw_cursor_parse(cw_str_make("\0", 1), &untouched));
}

/* Whatever is taken is what would be written. */
TEST(there_is_one_spelling_of_each_offset)
{
    static const char letters[] = "MNOTADEwkxyzIjQUg=0159+/-";
    uint64_t seed = 12345, taken = 0;
    for (int round = 0; round < 1000000; round++) {
        char text[12], again[CW_CURSOR_SIZE];
        size_t n = 0;
        uint64_t value;
        for (size_t len = 1 + (seed >> 40) % 8; n < len; n++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            text[n] = letters[(seed >> 33) % (sizeof letters - 1)];
        }
        if (!cw_cursor_parse(cw_str_make(text, n), &value))
            continue;
        taken++;
        size_t full = cw_cursor_format(value, again);
        assert_true(full >= n && memcmp(text, again, n) == 0);
        assert_true(full == n || again[n] == '=');
    }
    assert_true(taken > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_offset_is_written_with_padding),
        cmocka_unit_test(everything_else_is_refused),
        cmocka_unit_test(there_is_one_spelling_of_each_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
