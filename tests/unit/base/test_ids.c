/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/ids.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/random.h"
#include "support/test.h"

static void assert_formatted(uint64_t request)
{
    char expected[CW_IDS_HEX], out[CW_IDS_HEX];
    snprintf(expected, sizeof expected, "%016" PRIx64, request);
    cw_ids_format_request(request, out);
    assert_string_equal(out, expected);
}

TEST(ids_are_sixteen_hexadecimal_digits)
{
    for (unsigned digit = 0; digit < 16; digit++) {
        for (unsigned place = 0; place < 64; place += 4)
            assert_formatted((uint64_t)digit << place);
    }
    assert_formatted(UINT64_MAX);
    assert_formatted(0x0123456789abcdef);
    for (unsigned i = 0; i < 1000; i++)
        assert_formatted(cw_ids_new_request());
}

TEST(ids_are_current_until_they_are_left)
{
    cw_ids first = {.request = 1}, second = {.request = 2};
    assert_null(cw_ids_current());
    cw_ids *none = cw_ids_enter(&first);
    cw_ids *outer = cw_ids_enter(&second);
    assert_ptr_equal(cw_ids_current(), &second);
    cw_ids_leave(outer);
    assert_ptr_equal(cw_ids_current(), &first);
    cw_ids_leave(none);
    assert_null(cw_ids_current());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_sixteen_hexadecimal_digits),
        cmocka_unit_test(ids_are_current_until_they_are_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
