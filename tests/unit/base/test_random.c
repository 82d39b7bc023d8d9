/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"

static void bytes_fill_all_of_the_buffer_and_no_more(void **state)
{
    (void)state;
    /* Over 256 bytes the kernel may answer in parts. */
    static unsigned char a[100001];
    static unsigned char b[100001];
    a[100000] = 0x5A;
    assert_int_equal(cw_random_bytes(a, 100000, NULL), CW_OK);
    assert_int_equal(cw_random_bytes(b, 100000, NULL), CW_OK);
    assert_int_equal(a[100000], 0x5A);
    assert_memory_not_equal(a, b, 100000);
    /* 64 zero bytes at the end would mean that it was not reached. */
    static const unsigned char zero[64];
    assert_memory_not_equal(a + 100000 - 64, zero, 64);
}

static void zero_bytes_are_fine(void **state)
{
    (void)state;
    assert_int_equal(cw_random_bytes(NULL, 0, NULL), CW_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_fill_all_of_the_buffer_and_no_more),
        cmocka_unit_test(zero_bytes_are_fine),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
