/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test.h - cmocka with the headers that it needs, and macros that declare tests.
 *
 *     #include "support/test.h"
 *
 *     TEST(a_buffer_starts_empty)
 *     {
 *         assert_int_equal(buf.n, 0);
 *     }
 *
 *     TEST_WITH(a_number_is_read, cw_arena *a)
 *     {
 *         assert_non_null(must_read(a, "1"));
 *     }
 *
 *     int main(void)
 *     {
 *         const struct CMUnitTest tests[] = {
 *             cmocka_unit_test(a_buffer_starts_empty),
 *             arena_test(a_number_is_read),
 *         };
 *         return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
 *     }
 *
 * A test that no table names is unused, and the compiler rejects the file.
 */
#ifndef CW_TESTS_TEST_H
#define CW_TESTS_TEST_H

/* cmocka.h needs the first four and does not include them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A test function without a fixture. The body follows. */
#define TEST(name) static void name(__attribute__((unused)) void **state)

/* A test function whose setup stored a fixture in *state: `fixture` declares the variable that
 * points at it, as in TEST_WITH(a_number_is_read, cw_arena *a). */
#define TEST_WITH(name, fixture)                                                                   \
    static void name##_with(fixture);                                                              \
    static void name(void **state)                                                                 \
    {                                                                                              \
        name##_with(*state);                                                                       \
    }                                                                                              \
    static void name##_with(fixture)

/* A setup or teardown that stores no fixture; the body follows. Returns 0 on success. */
#define SETUP(name) static int name(__attribute__((unused)) void **state)
#define TEARDOWN(name) SETUP(name)

#endif
