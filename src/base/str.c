/* SPDX-License-Identifier: GPL-2.0-or-later */
/* str.c - comparing, cutting and searching borrowed text. */
#include "base/str.h"

#include <stdlib.h>

/* Longest string the edit distance looks at; names longer than this are no typos. */
#define DISTANCE_MAX 64

static unsigned char lower(char c)
{
    unsigned char u = (unsigned char)c;
    return u >= 'A' && u <= 'Z' ? (unsigned char)(u | 0x20) : u;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static unsigned min(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Eight bytes as they lie in memory; their order does not matter here. */
static uint64_t load8(const char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Whether eight bytes are the same but for the case of letters: they differ in bit 5 only, and
 * where they do there is a letter. The sums set the top bit of a byte from 'a' on and from '{' on;
 * bytes are below 128 there, so nothing is carried into the next one. */
static bool same_word(uint64_t a, uint64_t b)
{
    uint64_t differ = a ^ b;
    if (differ == 0)
        return true;
    if (differ & ~EACH(0x20))
        return false;
    uint64_t small = (a | EACH(0x20)) & EACH(0x7f);
    uint64_t letters = (small + EACH(0x80 - 'a')) & ~(small + EACH(0x7f - 'z')) & ~a & EACH(0x80);
    return (differ << 2 & ~letters) == 0;
}

bool cw_str_ieq(cw_str a, cw_str b)
{
    size_t i = 0;
    if (a.n != b.n)
        return false;
    if (a.n >= 8) {
        for (; i < a.n - 8; i += 8) {
            if (!same_word(load8(a.p + i), load8(b.p + i)))
                return false;
        }
        /* The last word overlaps the one before it. */
        return same_word(load8(a.p + a.n - 8), load8(b.p + a.n - 8));
    }
    for (; i < a.n; i++)
        if (lower(a.p[i]) != lower(b.p[i]))
            return false;
    return true;
}

bool cw_str_icontains(cw_str s, cw_str part)
{
    for (size_t i = 0; i + part.n <= s.n; i++) {
        if (cw_str_ieq(cw_str_make(s.p + i, part.n), part))
            return true;
    }
    return false;
}

int cw_str_cmp(cw_str a, cw_str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n ? memcmp(a.p, b.p, n) : 0;
    if (c != 0)
        return c;
    return (a.n > b.n) - (a.n < b.n);
}

bool cw_str_starts(cw_str s, cw_str prefix)
{
    return s.n >= prefix.n && cw_str_eq(cw_str_make(s.p, prefix.n), prefix);
}

bool cw_str_ends(cw_str s, cw_str suffix)
{
    if (suffix.n == 0)
        return true;
    return s.n >= suffix.n && cw_str_eq(cw_str_make(s.p + (s.n - suffix.n), suffix.n), suffix);
}

cw_str cw_str_trim(cw_str s)
{
    while (s.n > 0 && is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

char *cw_str_dup(cw_str s)
{
    char *copy = malloc(s.n + 1);
    if (!copy)
        return NULL;
    if (s.n)
        memcpy(copy, s.p, s.n);
    copy[s.n] = 0;
    return copy;
}

cw_str cw_str_cut(cw_str s, char sep, cw_str *rest)
{
    const char *at = s.n ? memchr(s.p, sep, s.n) : NULL;
    if (!at) {
        *rest = (cw_str){NULL, 0};
        return s;
    }
    size_t n = (size_t)(at - s.p);
    *rest = (cw_str){at + 1, s.n - n - 1};
    return (cw_str){s.p, n};
}

bool cw_str_to_u64(cw_str s, uint64_t *ret)
{
    uint64_t v = 0;
    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = (unsigned)(unsigned char)s.p[i] - '0';
        if (digit > 9 || v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *ret = v;
    return true;
}

/* Edit distance with transpositions, capped: anything above `max` returns max + 1. Strings over 64
 * bytes count as too far. */
static unsigned distance(cw_str a, cw_str b, unsigned max)
{
    /* Three rows of the table of prefix distances: a transposition reaches two rows back. */
    unsigned char rows[3][DISTANCE_MAX + 1];
    size_t gap = a.n < b.n ? b.n - a.n : a.n - b.n;
    if (a.n > DISTANCE_MAX || b.n > DISTANCE_MAX || gap > max)
        return max + 1;
    for (size_t j = 0; j <= b.n; j++)
        rows[0][j] = (unsigned char)j;
    for (size_t i = 1; i <= a.n; i++) {
        unsigned char *row = rows[i % 3];
        const unsigned char *above = rows[(i + 2) % 3];
        const unsigned char *above2 = rows[(i + 1) % 3];
        row[0] = (unsigned char)i;
        for (size_t j = 1; j <= b.n; j++) {
            unsigned same = a.p[i - 1] == b.p[j - 1] ? 0 : 1;
            unsigned d = min(above[j - 1] + same, min(above[j], row[j - 1]) + 1u);
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1])
                d = min(d, above2[j - 2] + 1u);
            row[j] = (unsigned char)d;
        }
    }
    unsigned d = rows[a.n % 3][b.n];
    return d > max ? max + 1 : d;
}

unsigned cw_str_distance_within(cw_str a, cw_str b, unsigned max)
{
    size_t longer = a.n < b.n ? b.n : a.n;
    unsigned d = distance(a, b, max);
    bool is_near = d < longer && (d <= 1 || d <= longer / 3);
    return is_near || longer == 0 ? d : max + 1;
}

static bool is_match(char pattern, char c, unsigned how)
{
    if (pattern == '?' && (how & CW_STR_ANY_BYTE))
        return true;
    return pattern == c ||
           ((how & CW_STR_ANY_CASE) && cw_str_ieq(cw_str_make(&pattern, 1), cw_str_make(&c, 1)));
}

bool cw_str_matches(cw_str pattern, cw_str text, unsigned how)
{
    /* The last star is the only one to go back to. */
    size_t at = 0, i = 0, star = SIZE_MAX, behind = 0;
    while (i < text.n) {
        if (at < pattern.n && pattern.p[at] == '*') {
            star = at++;
            behind = i;
        } else if (at < pattern.n && is_match(pattern.p[at], text.p[i], how)) {
            at++;
            i++;
        } else if (star != SIZE_MAX) {
            at = star + 1;
            i = ++behind;
        } else {
            return false;
        }
    }
    while (at < pattern.n && pattern.p[at] == '*')
        at++;
    return at == pattern.n;
}
