/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/library.h"

#include <string.h>

#include "support/test.h"

typedef size_t length_fn(const char *text);

TEST(library_sets_the_pointers_of_its_functions)
{
    length_fn *length = NULL;
    const cw_library_symbol symbols[] = {{"strlen", &length}};
    void *library = NULL;
    cw_err err = {0};
    assert_int_equal(cw_library_load("libc.so.6", symbols, CW_COUNT(symbols), &library, &err),
                     CW_OK);
    assert_non_null(library);
    assert_int_equal(length("four"), 4);
}

TEST(library_that_is_missing_or_lacks_a_function_is_named)
{
    length_fn *length = NULL;
    const cw_library_symbol symbols[] = {{"no_such_function", &length}};
    void *library = NULL;
    cw_err err = {0};
    assert_int_equal(cw_library_load("libno-such.so.1", symbols, 1, &library, &err), CW_IO);
    assert_string_equal(err.msg, "libno-such.so.1 cannot be loaded");
    assert_int_equal(cw_library_load("libc.so.6", symbols, 1, &library, &err), CW_IO);
    assert_string_equal(err.msg, "libc.so.6 lacks the function no_such_function");
    assert_null(library);
    assert_null(length);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(library_sets_the_pointers_of_its_functions),
        cmocka_unit_test(library_that_is_missing_or_lacks_a_function_is_named),
    };
    return cmocka_run_group_tests_name("library", tests, NULL, NULL);
}
