/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/percent.h"
#include "support/test.h"

TEST(all_but_plain_characters_are_escaped)
{
    cw_buf b;
    cw_buf_init(&b, 100);
    cw_percent_encode(&b, CW_STR("aZ09-._~/ %@[`{\xc3\xa9\0"));
    assert_true(cw_str_is(cw_buf_str(&b), "aZ09-._~%2F%20%25%40%5B%60%7B%C3%A9%00"));
    cw_buf_done(&b);
}

TEST(a_full_buffer_is_noticed)
{
    cw_buf b;
    cw_buf_init(&b, 2);
    cw_percent_encode(&b, CW_STR("/"));
    assert_int_equal(b.code, CW_LIMIT);
    cw_buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_but_plain_characters_are_escaped),
        cmocka_unit_test(a_full_buffer_is_noticed),
    };
    return cmocka_run_group_tests_name("percent", tests, NULL, NULL);
}
