/* SPDX-License-Identifier: GPL-2.0-or-later */
/* buf.c - growth by doubling, always with a spare byte for the NUL of cw_buf_take.
 *
 * Invariant: n < cap <= max + 1 once there is memory, so a byte that fits the
 * memory also fits the ceiling.
 */
#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CAP_MIN 64u

/* Make room for `more` bytes and a NUL. */
static bool grow(cw_buf *b, size_t more)
{
    if (b->code)
        return false;
    if (more > b->max - b->n || more >= SIZE_MAX - b->n) {
        b->code = CW_LIMIT;
        return false;
    }
    size_t need = b->n + more + 1;
    if (need <= b->cap)
        return true;
    size_t cap = b->cap < CAP_MIN ? CAP_MIN : b->cap;
    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    if (b->max < SIZE_MAX && cap > b->max + 1)
        cap = b->max + 1;
    char *p = realloc(b->p, cap);
    if (!p) {
        b->code = CW_NOMEM;
        return false;
    }
    b->p = p;
    b->cap = cap;
    return true;
}

void cw_buf_init(cw_buf *b, size_t max)
{
    *b = (cw_buf){.max = max};
}

void cw_buf_done(cw_buf *b)
{
    cw_buf_release(b);
}

void cw_buf_clear(cw_buf *b)
{
    b->n = 0;
    b->code = CW_OK;
}

void cw_buf_release(cw_buf *b)
{
    free(b->p);
    *b = (cw_buf){.max = b->max};
}

void cw_buf_add_u64(cw_buf *b, uint64_t value)
{
    char text[CW_DIGITS_SIZE];
    cw_buf_add(b, cw_digits_u64(value, text));
}

void cw_buf_add_i64(cw_buf *b, int64_t value)
{
    char text[CW_DIGITS_SIZE];
    cw_buf_add(b, cw_digits_i64(value, text));
}

CW_PRINTF(2, 0) static void add_formatted(cw_buf *b, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(b->p ? b->p + b->n : NULL, b->cap - b->n, fmt, args);
    if (n < 0) {
        b->code = CW_NOMEM;
    } else if ((size_t)n < b->cap - b->n) {
        b->n += (size_t)n;
    } else if (grow(b, (size_t)n)) {
        vsnprintf(b->p + b->n, b->cap - b->n, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void cw_buf_printf(cw_buf *b, const char *fmt, ...)
{
    va_list args;
    if (b->code)
        return;
    va_start(args, fmt);
    add_formatted(b, fmt, args);
    va_end(args);
}

static bool is_control(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f;
}

void cw_buf_escape_controls(cw_buf *b, size_t from)
{
    while (from < b->n && !is_control(b->p[from]))
        from++;
    if (from >= b->n || b->code)
        return;
    CW_CLEANUP(cw_buf_done) cw_buf rest;
    cw_buf_init(&rest, b->max);
    cw_buf_add_bytes(&rest, b->p + from, b->n - from);
    b->n = from;
    b->code = rest.code;
    for (size_t i = 0; i < rest.n; i++) {
        if (is_control(rest.p[i]))
            cw_buf_printf(b, "\\u%04x", (unsigned)rest.p[i]);
        else
            cw_buf_add_char(b, rest.p[i]);
    }
}

void cw_buf_add_line(cw_buf *lines, const char *fmt, ...)
{
    va_list args;
    size_t before = lines->n;
    if (before)
        cw_buf_add_char(lines, '\n');
    size_t from = lines->n;
    if (lines->code)
        return;
    va_start(args, fmt);
    add_formatted(lines, fmt, args);
    va_end(args);
    cw_buf_escape_controls(lines, from);
    if (lines->code)
        lines->n = before; /* no part of a line */
}

char *cw_buf_reserve(cw_buf *b, size_t n)
{
    return grow(b, n) ? b->p + b->n : NULL;
}

void cw_buf_commit(cw_buf *b, size_t n)
{
    assert(n == 0 || n < b->cap - b->n);
    b->n += n;
}

void cw_buf_consume(cw_buf *b, size_t n)
{
    assert(n <= b->n);
    b->n -= n;
    if (n > 0 && b->n > 0)
        memmove(b->p, b->p + n, b->n);
}

char *cw_buf_take(cw_buf *b, size_t *ret_n)
{
    if (!grow(b, 0))
        return NULL;
    char *p = b->p;
    p[b->n] = '\0';
    if (ret_n)
        *ret_n = b->n;
    *b = (cw_buf){.max = b->max};
    return p;
}
