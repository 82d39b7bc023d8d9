/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/oauth/device.h"
#include "support/test.h"

static char code[CW_DEVICE_USER_CODE + 1];

TEST(AS31_a_user_code_is_read_in_any_spelling)
{
    static const char *const good[] = {"BCDF-GHJK", "bcdfghjk", " bcdf ghjk ", "B-C-D-F-G-H-J-K",
                                       "bCdF-gHjK-"};
    for (size_t i = 0; i < CW_COUNT(good); i++) {
        assert_true(cw_device_read_code(cw_str_from(good[i]), code));
        assert_string_equal(code, "BCDFGHJK");
    }
}

TEST(AS31_other_texts_are_no_user_codes)
{
    static const char *const bad[] = {"",           "-",         "BCDF-GHJ",        "BCDF-GHJKL",
                                      "ACDF-GHJK",  "BCDF-GHJ1", "BCDF_GHJK",       "BCDFGHJ\xC3",
                                      "BCDF\tGHJK", "BCDFGHJY",  "BCDFGHJKBCDFGHJK"};
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_false(cw_device_read_code(cw_str_from(bad[i]), code));
    assert_false(cw_device_read_code(cw_str_make("BCDF\0GHJ", 8), code));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AS31_a_user_code_is_read_in_any_spelling),
        cmocka_unit_test(AS31_other_texts_are_no_user_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
