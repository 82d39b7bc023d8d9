/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <sys/types.h>

#include "base/random.h"
#include "support/test.h"

static int fail_with; /* errno of the next call, or 0 */
static unsigned calls;

ssize_t __real_getrandom(void *p, size_t n, unsigned flags);
ssize_t __wrap_getrandom(void *p, size_t n, unsigned flags);

ssize_t __wrap_getrandom(void *p, size_t n, unsigned flags)
{
    calls++;
    if (!fail_with)
        return __real_getrandom(p, n, flags);
    errno = fail_with;
    fail_with = 0;
    return -1;
}

TEST(bytes_fill_all_of_the_buffer_and_no_more)
{
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

TEST(zero_bytes_are_fine)
{
    assert_int_equal(cw_random_bytes(NULL, 0, NULL), CW_OK);
}

TEST(an_interrupted_call_is_made_again)
{
    unsigned char a[16] = {0};
    static const unsigned char zero[16];
    fail_with = EINTR;
    calls = 0;
    assert_int_equal(cw_random_bytes(a, sizeof a, NULL), CW_OK);
    assert_int_equal(calls, 2);
    assert_memory_not_equal(a, zero, sizeof a);
}

TEST(a_refusal_of_the_kernel_is_an_error)
{
    unsigned char a[16];
    cw_err err = {0};
    fail_with = ENOSYS;
    assert_int_equal(cw_random_bytes(a, sizeof a, &err), CW_IO);
    assert_non_null(strstr(err.msg, "getrandom"));
}

TEST(numbers_of_one_thread_do_not_repeat)
{
    uint64_t numbers[64];
    cw_random_fill(numbers, 32);
    for (size_t i = 32; i < 64; i++)
        numbers[i] = cw_random_u64();
    for (size_t i = 0; i < 64; i++) {
        for (size_t k = 0; k < i; k++)
            assert_true(numbers[i] != numbers[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_one_thread_do_not_repeat),
        cmocka_unit_test(bytes_fill_all_of_the_buffer_and_no_more),
        cmocka_unit_test(zero_bytes_are_fine),
        cmocka_unit_test(an_interrupted_call_is_made_again),
        cmocka_unit_test(a_refusal_of_the_kernel_is_an_error),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
