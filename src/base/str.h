/* SPDX-License-Identifier: GPL-2.0-or-later */
/* str.h - strings as (pointer, length): borrowed, never NUL-terminated by promise.
 *
 * Everything that comes from a network or a file is a cw_str, so that a NUL byte
 * inside a name is an ordinary character and not an end.
 *
 * Ownership: a cw_str borrows; the contract of its producer states how long the bytes live.
 * Threads:   values, no shared state.
 */
#ifndef CW_BASE_STR_H
#define CW_BASE_STR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/attr.h"

typedef struct cw_str {
    const char *p;
    size_t n;
} cw_str;

/* A string literal as a cw_str, and the same as a static initialiser. */
#define CW_STR(lit) ((cw_str){"" lit, sizeof(lit) - 1})
#define CW_STR_INIT(lit)                                                                           \
    {                                                                                              \
        "" lit, sizeof(lit) - 1                                                                    \
    }
/* For printf: "%.*s", CW_STR_ARG(s). */
#define CW_STR_ARG(s) (int)(s).n, (s).p

CW_INLINE cw_str cw_str_make(const char *p, size_t n)
{
    return (cw_str){p, n};
}

/* A NUL-terminated string; NULL gives the empty string. */
CW_INLINE cw_str cw_str_from(const char *cstr)
{
    return (cw_str){cstr ? cstr : "", cstr ? strlen(cstr) : 0};
}

CW_INLINE bool cw_str_eq(cw_str a, cw_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

CW_INLINE bool cw_str_is(cw_str a, const char *cstr)
{
    return cw_str_eq(a, cw_str_from(cstr));
}

/* ASCII letters compared without case; every other byte exactly. */
bool cw_str_ieq(cw_str a, cw_str b);
/* Whether `part` is somewhere in `s`, compared in the same way. */
bool cw_str_icontains(cw_str s, cw_str part);
/* Byte order, the shorter first when one is a prefix of the other. */
int cw_str_cmp(cw_str a, cw_str b);
bool cw_str_starts(cw_str s, cw_str prefix);
bool cw_str_ends(cw_str s, cw_str suffix);
/* Without leading and trailing spaces and tabs. */
cw_str cw_str_trim(cw_str s);
/* A copy that ends in a NUL, to be freed; NULL without memory. For texts that have no NUL behind
 * them, where strndup would look for one. */
char *cw_str_dup(cw_str s);
/* The part before the first `sep`; *rest gets what follows it. Without `sep`: all of `s`, and
 * *rest.p is NULL. */
cw_str cw_str_cut(cw_str s, char sep, cw_str *rest);
/* Digits only, no sign, no overflow; false and *ret untouched otherwise. */
bool cw_str_to_u64(cw_str s, uint64_t *ret);
/* Edit distance with transpositions, for "did you mean". It returns max + 1 for anything above `max`,
 * for strings over 64 bytes, and if more than a third of the longer one differs. One slip is always
 * near, unless nothing else is left. */
unsigned cw_str_distance_within(cw_str a, cw_str b, unsigned max);

/* How a pattern is read. */
enum {
    CW_STR_ANY_CASE = 1, /* ASCII letters of both cases are the same */
    CW_STR_ANY_BYTE = 2, /* '?' stands for one byte; otherwise for itself */
};
/* Whether a text matches a pattern in which '*' stands for any text. Takes at most pattern.n times
 * text.n steps. `how`: CW_STR_ANY_…, or 0. */
bool cw_str_matches(cw_str pattern, cw_str text, unsigned how);

#endif
