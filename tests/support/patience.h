/* SPDX-License-Identifier: GPL-2.0-or-later */
/* patience.h - upper bounds on wall-clock time that hold on a busy machine.
 *
 *     uint64_t began = cw_clock_ms();
 *     close_it();
 *     assert_true(cw_clock_ms() - began < patience(100));
 *
 * On an idle machine a bound is as tight as written. When several programs share a core, the bound
 * grows with their number, because the scheduler is not under test. Use it for upper bounds only.
 * To bound work, compare the processor time that it takes (cpu_time_ms).
 */
#ifndef CW_TESTS_PATIENCE_H
#define CW_TESTS_PATIENCE_H

#include <stdint.h>

/* How much slower sanitizers make the measured code. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZER_SLOWNESS 8u
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(undefined_behavior_sanitizer)
#define SANITIZER_SLOWNESS 8u
#endif
#endif
#ifndef SANITIZER_SLOWNESS
#define SANITIZER_SLOWNESS 1u
#endif
#define IS_SANITIZED (SANITIZER_SLOWNESS > 1u)

/* The bound here and now for work that takes at most `ms` on an idle machine. */
uint64_t patience(uint64_t ms);
/* The processor time of all threads of this process. */
uint64_t cpu_time_ms(void);

#endif
