/* SPDX-License-Identifier: GPL-2.0-or-later */
/* random.h - unpredictable bytes from the kernel.
 *
 * Threads: any.
 */
#ifndef CW_BASE_RANDOM_H
#define CW_BASE_RANDOM_H

#include "base/err.h"

/* Fill `p` from getrandom(2). Fails with CW_IO when the kernel refuses. */
CW_MUST_USE cw_code cw_random_bytes(void *p, size_t n, cw_err *err);

#endif
