/* SPDX-License-Identifier: GPL-2.0-or-later */
/* random.c - random bytes from the kernel. */
#include "base/random.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/types.h>

cw_code cw_random_bytes(void *p, size_t n, cw_err *err)
{
    char *out = p;
    while (n > 0) {
        /* Large requests come back in parts, and a signal may cut any of them short. */
        ssize_t got = getrandom(out, n, /* flags= */ 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cw_fail_errno(err, errno, "getrandom");
        out += got;
        n -= (size_t)got;
    }
    return CW_OK;
}
