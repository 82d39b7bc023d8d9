/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oom.h - fail the n-th allocation, and count the live ones.
 *
 * A test that lists `oom_dep` among its dependencies has malloc, calloc, realloc,
 * reallocarray, posix_memalign, aligned_alloc, strdup, strndup and free of its own
 * code and of our static libraries wrapped by the linker. What shared libraries
 * (libc, libyaml, libuv, cmocka) allocate inside is neither failed nor counted.
 *
 *     static void build_once(void *ctx)
 *     {
 *         cw_code rc = build(&thing, &err);
 *         assert_true(rc == CW_OK || rc == CW_NOMEM);
 *         if (oom_was_hit())
 *             assert_int_equal(rc, CW_NOMEM);
 *         thing_done(&thing);
 *     }
 *
 *     TEST(build_survives_every_failed_allocation)
 *     {
 *         assert_true(oom_each(build_once, NULL) >= 3);
 *     }
 *
 * Threads: the wrappers may be called by any thread; the oom_ functions by the test's.
 */
#ifndef CW_TESTS_OOM_H
#define CW_TESTS_OOM_H

#include <stdbool.h>
#include <stddef.h>

/* The n-th allocation from now fails, once. 0: none fails. Starts the count of oom_count anew. */
void oom_fail_at(size_t n);
/* The n-th allocation from now and all that follow fail. 0: none fails. */
void oom_fail_from(size_t n);
/* No failures, counts at zero. Live allocations stay counted. */
void oom_reset(void);

/* Allocations tried since the last oom_fail_at, oom_fail_from or oom_reset. */
size_t oom_count(void);
/* Whether an allocation was made to fail since then. */
bool oom_was_hit(void);
/* Allocations that are not freed yet. */
size_t oom_live(void);

/* Run fn(ctx) with the first, then the second, ... allocation failing, each time once alone and
 * once with all that follow, until a run ends without meeting the failure. Fails the test when a
 * run leaves other live allocations than it found. Returns the number of allocations that fn
 * makes when none fails. */
size_t oom_each(void (*fn)(void *ctx), void *ctx);

#endif
