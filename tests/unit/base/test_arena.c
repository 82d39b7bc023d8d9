/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"
#include "support/oom.h"
#include "support/test.h"

#define MIB (1024u * 1024u)

static char unref_log[16];
static size_t unref_n;

static void note_unref(void *obj)
{
    unref_log[unref_n++] = *(const char *)obj;
    unref_log[unref_n] = '\0';
}

static void start_unref_log(void)
{
    unref_n = 0;
    unref_log[0] = '\0';
}

TEST(memory_is_aligned_and_does_not_overlap)
{
    cw_arena a;
    cw_arena_init(&a, 16 * MIB);
    unsigned char *p[3000];
    for (size_t i = 0; i < CW_COUNT(p); i++) {
        size_t n = i % 700;
        p[i] = cw_arena_alloc(&a, n);
        assert_non_null(p[i]);
        assert_int_equal((uintptr_t)p[i] % 16, 0);
        memset(p[i], (int)(i % 251), n);
    }
    for (size_t i = 0; i < CW_COUNT(p); i++)
        for (size_t j = 0; j < i % 700; j++)
            assert_int_equal(p[i][j], i % 251);
    cw_arena_done(&a);
}

TEST(zero_bytes_give_a_valid_pointer)
{
    cw_arena a;
    cw_arena_init(&a, MIB);
    assert_non_null(cw_arena_alloc(&a, 0));
    assert_non_null(cw_arena_calloc(&a, 0, 8));
    assert_non_null(cw_arena_calloc(&a, 8, 0));
    assert_string_equal(cw_arena_dup(&a, NULL, 0), "");
    cw_arena_done(&a);
}

TEST(a_zeroed_arena_can_be_done_and_gives_nothing)
{
    cw_arena a = {0};
    assert_null(cw_arena_alloc(&a, 1));
    assert_null(cw_arena_alloc(&a, 0));
    assert_int_equal(cw_arena_code(&a), CW_LIMIT);
    cw_arena_reset(&a);
    cw_arena_done(&a);
    cw_arena_done(&a);
}

TEST(a_wiped_arena_has_released_everything)
{
    cw_arena a;
    cw_arena_init(&a, 1 << 20);
    for (size_t i = 0; i < 100; i++)
        assert_non_null(cw_arena_dup(&a, "a secret", 8));
    assert_non_null(cw_arena_alloc(&a, 200000));
    cw_arena_wipe(&a);
    assert_int_equal(a.used, 0);
    assert_null(a.blocks);
    assert_null(a.large);
}

TEST(ceiling_holds_for_small_and_large)
{
    static const size_t sizes[] = {1, 16, 100, 300, 5000, 40000};
    for (size_t i = 0; i < CW_COUNT(sizes); i++) {
        cw_arena a;
        cw_err err;
        size_t got = 0;
        cw_arena_init(&a, 100000);
        while (cw_arena_alloc(&a, sizes[i])) {
            got += sizes[i];
            assert_true(a.used <= 100000);
        }
        /* At most a bump block's waste or a head per allocation is lost. */
        assert_true(got >= (sizes[i] == 1 ? 100000 / 16 - 100 : 60000));
        assert_int_equal(cw_arena_code(&a), CW_LIMIT);
        assert_int_equal(cw_arena_fail(&a, &err), CW_LIMIT);
        assert_non_null(strstr(err.msg, "100000"));
        cw_arena_reset(&a);
        assert_true(a.used <= CW_ARENA_BLOCK_MIN);
        assert_non_null(cw_arena_alloc(&a, sizes[i]));
        cw_arena_done(&a);
    }
}

TEST(the_last_bytes_below_the_ceiling_can_be_used)
{
    cw_arena a;
    /* Room for one block of the smallest size and a short one behind it. */
    cw_arena_init(&a, CW_ARENA_BLOCK_MIN + 128);
    size_t n = 0;
    while (cw_arena_alloc(&a, 16))
        n++;
    assert_true(n >= (CW_ARENA_BLOCK_MIN + 128 - 2 * 64) / 16);
    assert_true(a.used <= CW_ARENA_BLOCK_MIN + 128);
    cw_arena_done(&a);
}

TEST(blocks_double_up_to_the_largest_size)
{
    cw_arena a;
    cw_arena_init(&a, 64 * MIB);
    size_t before = 0;
    size_t expected = CW_ARENA_BLOCK_MIN;
    for (int i = 0; i < 20000; i++) {
        assert_non_null(cw_arena_alloc(&a, 48));
        if (a.used == before)
            continue;
        assert_int_equal(a.used - before, expected);
        before = a.used;
        expected = expected < CW_ARENA_BLOCK_MAX ? expected * 2 : expected;
    }
    assert_int_equal(expected, CW_ARENA_BLOCK_MAX);
    cw_arena_done(&a);
}

TEST(an_arena_without_a_limit_of_its_own_ends_at_the_common_one)
{
    cw_arena a;
    cw_arena_init(&a, CW_ARENA_MAX);
    assert_non_null(cw_arena_alloc(&a, 10));
    assert_null(cw_arena_alloc(&a, CW_ARENA_MAX));
    assert_int_equal(cw_arena_code(&a), CW_LIMIT);
    cw_arena_done(&a);
}

TEST(impossible_sizes_are_over_the_limit)
{
    cw_arena a;
    cw_arena_init(&a, SIZE_MAX);
    char *p = cw_arena_alloc(&a, 10);
    volatile size_t huge = SIZE_MAX;
    assert_null(cw_arena_alloc(&a, huge));
    assert_int_equal(cw_arena_code(&a), CW_LIMIT);
    assert_null(cw_arena_alloc(&a, huge - 20));
    /* The product would wrap round to 16. */
    assert_null(cw_arena_calloc(&a, huge / 16 + 2, 16));
    assert_null(cw_arena_dup(&a, p, huge));
    assert_null(cw_arena_resize(&a, p, 10, huge));
    assert_null(cw_arena_resize(&a, p, 10, huge - 20));
    char *large = cw_arena_alloc(&a, 100000);
    assert_null(cw_arena_resize(&a, large, 100000, huge));
    assert_int_equal(cw_arena_code(&a), CW_LIMIT);
    cw_arena_done(&a);
}

TEST(copies_end_in_nul)
{
    cw_arena a;
    cw_arena_init(&a, MIB);
    char *p = cw_arena_dup(&a, "a\0bc", 3);
    assert_memory_equal(p, "a\0b", 4);
    cw_str s = cw_arena_dup_str(&a, CW_STR("hello"));
    assert_int_equal(s.n, 5);
    assert_string_equal(s.p, "hello");
    unsigned char *z = cw_arena_calloc(&a, 100, 100);
    for (size_t i = 0; i < 10000; i++)
        assert_int_equal(z[i], 0);
    cw_arena_done(&a);
    cw_arena_init(&a, 10);
    s = cw_arena_dup_str(&a, CW_STR("hello"));
    assert_null(s.p);
    assert_int_equal(s.n, 0);
    cw_arena_done(&a);
}

TEST(printf_gives_text_of_any_length)
{
    cw_arena a;
    cw_arena_init(&a, MIB);
    for (int width = 1; width < 3000; width += width < 250 || width > 260 ? 7 : 1) {
        char *p = cw_arena_printf(&a, "%0*d!", width, 5);
        assert_int_equal(strlen(p), width + 1);
        assert_string_equal(p + width - 1, "5!");
    }
    assert_null(cw_arena_printf(&a, "%0*d", 2000000, 1));
    assert_int_equal(cw_arena_code(&a), CW_LIMIT);
    cw_arena_done(&a);
}

TEST(newest_allocation_is_resized_in_place)
{
    cw_arena a;
    cw_arena_init(&a, MIB);
    char *p = cw_arena_resize(&a, NULL, 0, 100);
    memcpy(p, "hello", 6);
    assert_ptr_equal(cw_arena_resize(&a, p, 100, 500), p);
    assert_ptr_equal(cw_arena_resize(&a, p, 500, 6), p);
    /* What shrinking gave back is handed out next. */
    assert_ptr_equal(cw_arena_alloc(&a, 1), p + 16);
    assert_ptr_equal(cw_arena_resize(&a, p, 6, 3), p);
    char *moved = cw_arena_resize(&a, p, 3, 200);
    assert_ptr_not_equal(moved, p);
    assert_memory_equal(moved, "hel", 3);
    p = cw_arena_alloc(&a, 0);
    assert_ptr_equal(cw_arena_resize(&a, p, 0, 40), p);
    assert_ptr_equal(cw_arena_resize(&a, p, 40, 0), p);
    assert_ptr_not_equal(cw_arena_alloc(&a, 1), p);
    cw_arena_done(&a);
}

TEST(large_allocations_grow_with_their_bytes)
{
    cw_arena a;
    cw_arena_init(&a, 64 * MIB);
    enum { COUNT = 20 };
    unsigned char *p[COUNT];
    size_t n[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        n[i] = 5000 + i;
        p[i] = cw_arena_alloc(&a, n[i]);
        memset(p[i], (int)i, n[i]);
    }
    /* Old ones at the far end of the list, new ones at its head, small and over a bump block. */
    for (size_t round = 0; round < 4; round++) {
        for (size_t k = 0; k < COUNT; k++) {
            size_t i = (k * 7 + round) % COUNT;
            unsigned char *q = cw_arena_resize(&a, p[i], n[i], n[i] * 3);
            assert_non_null(q);
            memset(q + n[i], (int)i, n[i] * 2);
            p[i] = q;
            n[i] *= 3;
        }
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < n[i]; j++)
            if (p[i][j] != i)
                fail_msg("byte %zu of %zu is %d", j, i, p[i][j]);
    cw_arena_reset(&a);
    assert_int_equal(a.used, 0);
    cw_arena_done(&a);
}

TEST(a_growing_large_allocation_keeps_one_block)
{
    cw_arena a;
    cw_arena_init(&a, 10 * MIB);
    size_t n = 1024;
    char *p = cw_arena_alloc(&a, n);
    size_t live = oom_live();
    while (n < 8 * MIB) {
        p = cw_arena_resize(&a, p, n, n * 2);
        assert_non_null(p);
        n *= 2;
    }
    assert_int_equal(oom_live(), live);
    assert_true(a.used <= n + 64);
    /* Over the ceiling: refused, and the bytes stay. */
    p[n - 1] = 'z';
    size_t used = a.used;
    assert_null(cw_arena_resize(&a, p, n, n * 2));
    assert_int_equal(cw_arena_code(&a), CW_LIMIT);
    assert_int_equal(p[n - 1], 'z');
    assert_int_equal(a.used, used);
    /* Shrinking moves nothing, and growing back needs no memory. */
    assert_ptr_equal(cw_arena_resize(&a, p, n, 10), p);
    assert_ptr_equal(cw_arena_resize(&a, p, 10, n), p);
    assert_int_equal(a.used, used);
    cw_arena_done(&a);
}

TEST(held_objects_are_released_newest_first)
{
    cw_arena a;
    cw_arena_init(&a, MIB);
    start_unref_log();
    char x[] = "xyz";
    assert_int_equal(cw_arena_hold(&a, &x[0], note_unref), CW_OK);
    assert_int_equal(cw_arena_hold(&a, &x[1], note_unref), CW_OK);
    assert_string_equal(unref_log, "");
    cw_arena_reset(&a);
    assert_string_equal(unref_log, "yx");
    assert_int_equal(cw_arena_hold(&a, &x[2], note_unref), CW_OK);
    cw_arena_done(&a);
    assert_string_equal(unref_log, "yxz");
    /* Without room the object is released at once. */
    cw_arena_init(&a, 8);
    assert_int_equal(cw_arena_hold(&a, &x[0], note_unref), CW_LIMIT);
    assert_string_equal(unref_log, "yxzx");
    cw_arena_done(&a);
    assert_string_equal(unref_log, "yxzx");
}

TEST(reset_keeps_one_small_block)
{
    cw_arena a;
    cw_arena_init(&a, 10 * MIB);
    size_t live = oom_live();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 5000; i++)
            assert_non_null(cw_arena_alloc(&a, (size_t)i % 2000));
        cw_arena_reset(&a);
        assert_int_equal(a.used, CW_ARENA_BLOCK_MIN);
        assert_int_equal(oom_live(), live + 1);
        oom_reset();
        assert_non_null(cw_arena_alloc(&a, 900));
        assert_int_equal(oom_count(), 0);
    }
    cw_arena_done(&a);
    assert_int_equal(oom_live(), live);
}

#ifdef CW_ARENA_ASAN
TEST(unused_memory_is_poisoned)
{
    cw_arena a;
    cw_arena_init(&a, 10 * MIB);
    char *p = cw_arena_alloc(&a, 21);
    assert_false(__asan_address_is_poisoned(p + 20));
    assert_true(__asan_address_is_poisoned(p + 21));
    assert_ptr_equal(cw_arena_resize(&a, p, 21, 200), p);
    assert_false(__asan_address_is_poisoned(p + 199));
    assert_ptr_equal(cw_arena_resize(&a, p, 200, 3), p);
    assert_true(__asan_address_is_poisoned(p + 3));
    char *large = cw_arena_alloc(&a, 100001);
    assert_true(__asan_address_is_poisoned(large + 100001));
    cw_arena_resize(&a, large, 100001, 50);
    assert_true(__asan_address_is_poisoned(large + 50));
    cw_arena_reset(&a);
    assert_true(__asan_address_is_poisoned(p));
    cw_arena_done(&a);
}
#endif

static void use_once(void *ctx)
{
    (void)ctx;
    char obj = 'o';
    cw_arena a;
    cw_arena_init(&a, 10 * MIB);
    start_unref_log();
    bool failed = false;
    for (size_t i = 0; i < 200 && !failed; i++) {
        size_t n = i * 37 % 600;
        char *p = cw_arena_alloc(&a, n);
        char *q = p ? cw_arena_resize(&a, p, n, n * 9) : NULL;
        failed = !q;
        if (p && !q)
            memset(p, 'x', n);
    }
    if (failed) {
        cw_err err;
        assert_true(oom_was_hit());
        assert_int_equal(cw_arena_fail(&a, &err), CW_NOMEM);
        assert_string_equal(err.msg, "out of memory");
    }
    cw_code rc = cw_arena_hold(&a, &obj, note_unref);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    cw_arena_reset(&a);
    assert_string_equal(unref_log, "o");
    cw_arena_done(&a);
}

static void fill_arena(cw_arena *a, size_t n)
{
    for (size_t i = 0; i < n; i += 64)
        assert_non_null(cw_arena_alloc(a, 64));
}

TEST(a_recycled_arena_has_room_for_what_its_last_user_needed)
{
    cw_arena a;
    cw_arena_init(&a, 1 << 20);
    /* One block is enough: it stays as it is. */
    fill_arena(&a, 512);
    cw_arena_recycle(&a);
    assert_int_equal(a.used, CW_ARENA_BLOCK_MIN);
    /* Some blocks become one, which the next user finds enough. */
    fill_arena(&a, 3000);
    assert_true(a.used > CW_ARENA_BLOCK_MIN);
    cw_arena_recycle(&a);
    fill_arena(&a, 3000);
    assert_int_equal(a.used, CW_ARENA_WARM);
    cw_arena_recycle(&a);
    assert_int_equal(a.used, CW_ARENA_WARM);
    /* A user that needs much changes nothing for the next. */
    fill_arena(&a, 100000);
    cw_arena_recycle(&a);
    assert_int_equal(a.used, CW_ARENA_WARM);
    assert_int_equal(a.max, 1 << 20);
    cw_arena_done(&a);
}

TEST(every_failed_allocation_is_survived)
{
    assert_true(oom_each(use_once, NULL) >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_aligned_and_does_not_overlap),
        cmocka_unit_test(zero_bytes_give_a_valid_pointer),
        cmocka_unit_test(a_zeroed_arena_can_be_done_and_gives_nothing),
        cmocka_unit_test(a_wiped_arena_has_released_everything),
        cmocka_unit_test(ceiling_holds_for_small_and_large),
        cmocka_unit_test(the_last_bytes_below_the_ceiling_can_be_used),
        cmocka_unit_test(blocks_double_up_to_the_largest_size),
        cmocka_unit_test(an_arena_without_a_limit_of_its_own_ends_at_the_common_one),
        cmocka_unit_test(impossible_sizes_are_over_the_limit),
        cmocka_unit_test(copies_end_in_nul),
        cmocka_unit_test(printf_gives_text_of_any_length),
        cmocka_unit_test(newest_allocation_is_resized_in_place),
        cmocka_unit_test(large_allocations_grow_with_their_bytes),
        cmocka_unit_test(a_growing_large_allocation_keeps_one_block),
        cmocka_unit_test(held_objects_are_released_newest_first),
        cmocka_unit_test(reset_keeps_one_small_block),
        cmocka_unit_test(a_recycled_arena_has_room_for_what_its_last_user_needed),
#ifdef CW_ARENA_ASAN
        cmocka_unit_test(unused_memory_is_poisoned),
#endif
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
