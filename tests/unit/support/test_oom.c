/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "support/oom.h"
#include "support/test.h"

/* The compiler must not see that the memory is never used. */
static void *volatile kept;
/* Nor can it, or an analyser, know that a realloc that fails leaves the memory alone. */
static void *(*volatile resize)(void *p, size_t n) = realloc;

TEST(fail_at_fails_once)
{
    oom_fail_at(2);
    void *a = kept = malloc(1);
    void *b = kept = malloc(1);
    void *c = kept = calloc(1, 1);
    assert_non_null(a);
    assert_null(b);
    assert_non_null(c);
    assert_int_equal(oom_count(), 3);
    assert_true(oom_was_hit());
    oom_reset();
    assert_false(oom_was_hit());
    free(a);
    free(c);
}

TEST(fail_from_fails_on)
{
    void *out = NULL;
    oom_fail_from(2);
    char *a = strdup("text");
    errno = 0;
    assert_null(resize(a, 100));
    assert_int_equal(errno, ENOMEM);
    assert_null(kept = malloc(1));
    assert_null(kept = strndup("text", 2));
    assert_null(kept = aligned_alloc(16, 16));
    assert_null(kept = reallocarray(NULL, 2, 2));
    assert_int_equal(posix_memalign(&out, 16, 16), ENOMEM);
    oom_reset();
    assert_string_equal(a, "text");
    free(a);
}

TEST(live_allocations_are_counted)
{
    size_t before = oom_live();
    void *p[1000];
    for (size_t i = 0; i < 1000; i++)
        p[i] = malloc(i + 1);
    assert_int_equal(oom_live(), before + 1000);
    for (size_t i = 0; i < 1000; i++)
        p[i] = realloc(p[i], 2 * i + 1);
    assert_int_equal(oom_live(), before + 1000);
    for (size_t i = 0; i < 1000; i++)
        free(p[(i * 7) % 1000]);
    free(NULL);
    assert_int_equal(oom_live(), before);
    /* What the C library allocates inside was never counted. */
    char *line = NULL;
    assert_true(asprintf(&line, "%d", 5) > 0);
    assert_int_equal(oom_live(), before);
    free(line);
    assert_int_equal(oom_live(), before);
}

static void three_allocations(void *ctx)
{
    size_t *runs = ctx;
    (*runs)++;
    void *a = kept = malloc(1);
    void *b = kept = malloc(1);
    void *c = kept = malloc(1);
    assert_int_equal(!a || !b || !c, oom_was_hit());
    free(a);
    free(b);
    free(c);
}

TEST(each_fails_every_allocation_both_ways)
{
    size_t runs = 0;
    assert_int_equal(oom_each(three_allocations, &runs), 3);
    assert_int_equal(runs, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_at_fails_once),
        cmocka_unit_test(fail_from_fails_on),
        cmocka_unit_test(live_allocations_are_counted),
        cmocka_unit_test(each_fails_every_allocation_both_ways),
    };
    return cmocka_run_group_tests_name("oom", tests, NULL, NULL);
}
