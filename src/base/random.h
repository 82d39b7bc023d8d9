/* SPDX-License-Identifier: GPL-2.0-or-later */
/* random.h - unpredictable bytes from the kernel, and fast numbers for ids.
 *
 * Threads: any.
 */
#ifndef CW_BASE_RANDOM_H
#define CW_BASE_RANDOM_H

#include <stdint.h>

#include "base/err.h"

/* Fill `p` from getrandom(2). Fails with CW_IO when the kernel refuses. */
CW_MUST_USE cw_code cw_random_bytes(void *p, size_t n, cw_err *err);

/* A number for an id that must be unique and need not be secret. Each thread has a generator of its
 * own, seeded from getrandom(2). */
uint64_t cw_random_u64(void);
/* So many of them, which costs less than one at a time. */
void cw_random_fill(uint64_t *out, size_t n);

#endif
