/* SPDX-License-Identifier: GPL-2.0-or-later */
/* random.c - random bytes from the kernel, and the generator of ids. */
#include "base/random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

#include "base/clock.h"

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

/* ---- ids: xoshiro256++, whose state a thread seeds at its first number ---- */

typedef struct generator {
    uint64_t s[4];
    bool is_seeded;
} generator;

static void seed(generator *g)
{
    /* Without the kernel's bytes ids are still unlikely to repeat. */
    if (cw_random_bytes(g->s, sizeof g->s, NULL)) {
        g->s[0] = cw_clock_ns();
        g->s[1] = (uint64_t)(uintptr_t)g;
    }
    g->s[3] |= 1; /* a state of zeros stays so */
    g->is_seeded = true;
}

static uint64_t rotate(uint64_t x, unsigned n)
{
    return x << n | x >> (64 - n);
}

CW_INLINE uint64_t next(uint64_t s[4])
{
    uint64_t result = rotate(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

static _Thread_local generator mine;

uint64_t cw_random_u64(void)
{
    generator *g = &mine;
    if (CW_UNLIKELY(!g->is_seeded))
        seed(g);
    return next(g->s);
}

/* The state stays in registers. */
void cw_random_fill(uint64_t *out, size_t n)
{
    generator *g = &mine;
    if (CW_UNLIKELY(!g->is_seeded))
        seed(g);
    uint64_t s[4] = {g->s[0], g->s[1], g->s[2], g->s[3]};
    for (size_t i = 0; i < n; i++)
        out[i] = next(s);
    memcpy(g->s, s, sizeof s);
}
