/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attr.h - the compiler attributes and tiny macros the code base uses.
 *
 * GNU extensions appear only as attributes and only through this file.
 */
#ifndef CW_BASE_ATTR_H
#define CW_BASE_ATTR_H

#include <stddef.h>

#define CW_MUST_USE __attribute__((warn_unused_result))
#define CW_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define CW_CLEANUP(fn) __attribute__((cleanup(fn)))
#define CW_LIKELY(x) __builtin_expect(!!(x), 1)
#define CW_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define CW_FALLTHROUGH __attribute__((fallthrough))
#define CW_NOINLINE __attribute__((noinline))
/* For a large local that is written before it is read: not cleared by -ftrivial-auto-var-init. */
#define CW_UNINIT __attribute__((uninitialized))
#define CW_INLINE static inline __attribute__((always_inline))

#define CW_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The struct that holds `member` at address `ptr`. */
#define CW_CONTAINER(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
