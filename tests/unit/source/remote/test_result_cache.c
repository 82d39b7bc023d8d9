/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results that are kept for a while: how many, how large, and which of them go. */
#include "source/remote/remote_int.h"
#include "support/test.h"

static cw_result_cache kept;

SETUP(begin)
{
    cw_result_cache_init(&kept);
    return 0;
}

TEARDOWN(end)
{
    cw_result_cache_done(&kept);
    return 0;
}

/* The params are the number. */
static void keep(unsigned number, cw_str body)
{
    char text[16];
    snprintf(text, sizeof text, "%03u", number);
    cw_result_cache_add(&kept, &(cw_result_cache_entry){.until = 10}, cw_str_from(text), body);
}

static bool has(unsigned number)
{
    char text[16];
    snprintf(text, sizeof text, "%03u", number);
    return cw_result_cache_find(&kept, /* method= */ 0, cw_str_from(text), /* now= */ 9) != NULL;
}

TEST(of_too_many_the_oldest_goes)
{
    for (unsigned i = 0; i < CW_RESULT_CACHE_ENTRIES; i++)
        keep(i, CW_STR("x"));
    assert_true(has(0));
    keep(CW_RESULT_CACHE_ENTRIES, CW_STR("x"));
    assert_false(has(0));
    assert_true(has(1));
    assert_true(has(CW_RESULT_CACHE_ENTRIES));
    assert_int_equal(kept.n, CW_RESULT_CACHE_ENTRIES);
    assert_int_equal(kept.bytes, CW_RESULT_CACHE_ENTRIES * 4);
}

/* Params and body count. */
TEST(one_may_have_an_eighth_of_the_room)
{
    char *large = calloc(1, CW_RESULT_CACHE_BYTES / 8);
    assert_non_null(large);
    keep(0, cw_str_make(large, CW_RESULT_CACHE_BYTES / 8 - 2));
    assert_false(has(0));
    assert_int_equal(kept.n, 0);
    for (unsigned i = 1; i <= 8; i++)
        keep(i, cw_str_make(large, CW_RESULT_CACHE_BYTES / 8 - 3));
    assert_true(has(1));
    assert_int_equal(kept.bytes, CW_RESULT_CACHE_BYTES);
    keep(9, CW_STR("x"));
    assert_false(has(1));
    assert_true(has(2));
    assert_true(has(9));
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(of_too_many_the_oldest_goes, begin, end),
        cmocka_unit_test_setup_teardown(one_may_have_an_eighth_of_the_room, begin, end),
    };
    return cmocka_run_group_tests_name("source/remote_kept", tests, NULL, NULL);
}
