/* SPDX-License-Identifier: GPL-2.0-or-later */
/* buf.h - a growing byte buffer with a ceiling and a sticky error.
 *
 * Appending never returns an error: after the first failure (out of memory, or
 * over the ceiling) every further append does nothing, and the code is asked
 * for once, at the end.
 *
 *     cw_buf b;
 *     cw_buf_init(&b, 64 * 1024);
 *     cw_buf_add(&b, CW_STR("id="));
 *     cw_buf_printf(&b, "%d", id);
 *     if (b.code) ...
 *     cw_buf_done(&b);
 *
 * Ownership: the buffer owns its bytes; cw_buf_take moves them to the caller, who calls free().
 * Threads:   one thread at a time.
 */
#ifndef CW_BASE_BUF_H
#define CW_BASE_BUF_H

#include "base/digits.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/str.h"

typedef struct cw_buf {
    char *p;
    size_t n;   /* bytes used */
    size_t cap; /* bytes allocated, one more than may be used: at most max + 1 */
    size_t max; /* ceiling for n */
    cw_code code;
} cw_buf;

void cw_buf_init(cw_buf *b, size_t max);
void cw_buf_done(cw_buf *b);
/* Empty, without error, memory kept. */
void cw_buf_clear(cw_buf *b);
/* Empty, without error, memory given back. */
void cw_buf_release(cw_buf *b);

/* Room for `n` more bytes at the end: a pointer to write to, followed by cw_buf_commit with what
 * was used. NULL (sticky) on failure. */
char *cw_buf_reserve(cw_buf *b, size_t n);
void cw_buf_commit(cw_buf *b, size_t n);

CW_INLINE void cw_buf_add_bytes(cw_buf *b, const void *p, size_t n)
{
    if (n == 0)
        return;
    bool fits = !b->code && n < b->cap - b->n;
    char *to = CW_LIKELY(fits) ? b->p + b->n : cw_buf_reserve(b, n);
    if (!to)
        return;
    memcpy(to, p, n);
    b->n += n;
}

CW_INLINE void cw_buf_add(cw_buf *b, cw_str s)
{
    cw_buf_add_bytes(b, s.p, s.n);
}

CW_INLINE void cw_buf_add_char(cw_buf *b, char c)
{
    cw_buf_add_bytes(b, &c, 1);
}

/* Decimal digits. */
void cw_buf_add_u64(cw_buf *b, uint64_t value);
void cw_buf_add_i64(cw_buf *b, int64_t value);
CW_PRINTF(2, 3) void cw_buf_printf(cw_buf *b, const char *fmt, ...);

/* Write controls (C0 and DEL) among the bytes from `from` on as \uXXXX, so that these stay one line. */
void cw_buf_escape_controls(cw_buf *b, size_t from);
/* Append a line to lines that '\n' separates, with its controls written so. */
CW_PRINTF(2, 3) void cw_buf_add_line(cw_buf *lines, const char *fmt, ...);

/* Drop the first `n` bytes. */
void cw_buf_consume(cw_buf *b, size_t n);

CW_INLINE cw_str cw_buf_str(const cw_buf *b)
{
    return (cw_str){b->n ? b->p : "", b->n};
}

/* NUL-terminated bytes, ownership to the caller, buffer empty again; NULL when the buffer has
 * failed. *ret_n (may be NULL) gets the length. */
char *cw_buf_take(cw_buf *b, size_t *ret_n);

#endif
