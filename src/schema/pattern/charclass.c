/* SPDX-License-Identifier: GPL-2.0-or-later */
/* charclass.c - escapes and classes: sets of code points. */
#include "base/hex.h"
#include "base/utf8.h"
#include "schema/pattern/pattern_int.h"

#define SURROGATE_FIRST 0xd800u
#define SURROGATE_LAST 0xdfffu

static const cw_range digits[] = {{'0', '9'}};
static const cw_range words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
static const cw_range spaces[] = {
    {0x09, 0x0d},     {0x20, 0x20},     {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
    {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff},
};

/* Room for one more in a growing array of the arena. */
static void *grow(cw_pattern_reader *r, void *items, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return items;
    size_t more = *cap ? *cap * 2 : 4;
    void *grown = cw_arena_resize(r->arena, items, *cap * size, more * size);
    if (grown)
        *cap = more;
    return grown;
}

static cw_code add_range(cw_pattern_reader *r, cw_set *set, uint32_t lo, uint32_t hi)
{
    cw_range *ranges = grow(r, set->ranges, set->n_ranges, &set->cap_ranges, sizeof *ranges);
    if (!ranges)
        return cw_arena_fail(r->arena, r->err);
    set->ranges = ranges;
    ranges[set->n_ranges++] = (cw_range){lo, hi};
    return CW_OK;
}

cw_code cw_set_add(cw_pattern_reader *r, cw_set *set, uint32_t lo, uint32_t hi)
{
    /* Text has no surrogates, and PCRE2 none in its patterns. */
    if (lo < SURROGATE_FIRST && hi >= SURROGATE_FIRST) {
        cw_code rc = add_range(r, set, lo, SURROGATE_FIRST - 1);
        if (rc)
            return rc;
        lo = SURROGATE_LAST + 1;
    } else if (lo >= SURROGATE_FIRST && lo <= SURROGATE_LAST) {
        lo = SURROGATE_LAST + 1;
    }
    return lo > hi ? CW_OK : add_range(r, set, lo, hi);
}

static cw_code add_ranges(cw_pattern_reader *r, cw_set *set, const cw_range *ranges, size_t n,
                          bool complement)
{
    cw_code rc = CW_OK;
    uint32_t from = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        if (!complement)
            rc = cw_set_add(r, set, ranges[i].lo, ranges[i].hi);
        else if (ranges[i].lo > from)
            rc = cw_set_add(r, set, from, ranges[i].lo - 1);
        from = ranges[i].hi + 1;
    }
    if (complement && !rc)
        rc = cw_set_add(r, set, from, CW_CODE_POINT_MAX);
    return rc;
}

uint32_t cw_pattern_next(cw_pattern_reader *r)
{
    uint32_t c = 0;
    unsigned n = cw_utf8_decode(r->text.p + r->at, r->text.n - r->at, &c);
    r->at += n ? n : 1;
    return c;
}

/* ---- \p ---- */

static cw_code add_property(cw_pattern_reader *r, cw_set *set, bool negated)
{
    cw_str rest = {r->text.p + r->at, r->text.n - r->at};
    cw_str after;
    cw_str inside = cw_str_cut(rest, '}', &after);
    if (inside.n < 2 || inside.p[0] != '{' || !after.p)
        return cw_pattern_fail(r, "\\p needs a {name}");
    cw_str name = cw_property_find(cw_str_make(inside.p + 1, inside.n - 1), r->arena);
    if (!name.p)
        return cw_pattern_fail(r, "no property '%.*s'", (int)inside.n - 1, inside.p + 1);
    cw_property *properties = name.n == 0 ? NULL
                                          : grow(r, set->properties, set->n_properties,
                                                 &set->cap_properties, sizeof *properties);
    if (!properties)
        return cw_arena_fail(r->arena, r->err);
    set->properties = properties;
    properties[set->n_properties++] = (cw_property){name, negated};
    r->at += inside.n + 1;
    return CW_OK;
}

cw_code cw_pattern_class_escape(cw_pattern_reader *r, cw_set *set, bool *ret_taken)
{
    *ret_taken = true;
    switch (r->text.p[r->at++]) {
    case 'd':
        return add_ranges(r, set, digits, CW_COUNT(digits), false);
    case 'D':
        return add_ranges(r, set, digits, CW_COUNT(digits), true);
    case 's':
        return add_ranges(r, set, spaces, CW_COUNT(spaces), false);
    case 'S':
        return add_ranges(r, set, spaces, CW_COUNT(spaces), true);
    case 'w':
        return add_ranges(r, set, words, CW_COUNT(words), false);
    case 'W':
        return add_ranges(r, set, words, CW_COUNT(words), true);
    case 'p':
        return add_property(r, set, false);
    case 'P':
        return add_property(r, set, true);
    default:
        r->at--;
        *ret_taken = false;
        return CW_OK;
    }
}

/* ---- characters ---- */

static bool read_hex(cw_pattern_reader *r, unsigned n, uint32_t *ret)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < n; i++) {
        int digit = r->at + i < r->text.n ? cw_hex_value(r->text.p[r->at + i]) : -1;
        if (digit < 0)
            return false;
        value = value << 4 | (uint32_t)digit;
    }
    r->at += n;
    *ret = value;
    return true;
}

/* \u{1F600} behind its brace. */
static bool read_braced(cw_pattern_reader *r, uint32_t *ret)
{
    uint32_t value = 0;
    size_t first = r->at;
    for (; r->at < r->text.n && cw_hex_value(r->text.p[r->at]) >= 0; r->at++) {
        value = value << 4 | (uint32_t)cw_hex_value(r->text.p[r->at]);
        if (value > CW_CODE_POINT_MAX)
            return false;
    }
    if (r->at == first || r->at == r->text.n || r->text.p[r->at] != '}')
        return false;
    r->at++;
    *ret = value;
    return true;
}

/* Behind \u. Two escapes that are a surrogate pair are one code point. */
static cw_code read_unicode(cw_pattern_reader *r, uint32_t *ret)
{
    if (r->at < r->text.n && r->text.p[r->at] == '{') {
        r->at++;
        return read_braced(r, ret) ? CW_OK : cw_pattern_fail(r, "not a code point");
    }
    if (!read_hex(r, 4, ret))
        return cw_pattern_fail(r, "\\u needs four hexadecimal digits");
    size_t mark = r->at;
    uint32_t low;
    if (*ret >= SURROGATE_FIRST && *ret < 0xdc00 && r->at + 1 < r->text.n &&
        r->text.p[r->at] == '\\' && r->text.p[r->at + 1] == 'u') {
        r->at += 2;
        if (read_hex(r, 4, &low) && low >= 0xdc00 && low <= SURROGATE_LAST)
            *ret = 0x10000 + ((*ret - SURROGATE_FIRST) << 10) + (low - 0xdc00);
        else
            r->at = mark;
    }
    return CW_OK;
}

static cw_code read_control(cw_pattern_reader *r, uint32_t *ret)
{
    char c = r->at < r->text.n ? r->text.p[r->at] : '\0';
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
        return cw_pattern_fail(r, "\\c needs a letter");
    r->at++;
    *ret = (uint32_t)c & 0x1f;
    return CW_OK;
}

static bool is_digit_at(const cw_pattern_reader *r, size_t at)
{
    return at < r->text.n && r->text.p[at] >= '0' && r->text.p[at] <= '9';
}

/* Characters that a backslash may stand before: those of the syntax, and, where we are lenient, all
 * ASCII punctuation, because schemas in the wild have \- and \@. */
static bool is_escapable(const cw_pattern_reader *r, char c, bool in_class)
{
    if (c && strchr("^$\\.*+?()[]{}|/", c))
        return true;
    if (c == '-' && in_class)
        return true;
    return !r->strict && c && strchr("!\"#%&',-:;<=>@_`~ ", c) != NULL;
}

cw_code cw_pattern_character(cw_pattern_reader *r, bool in_class, uint32_t *ret)
{
    static const char from[] = "tnvfr";
    static const char to[] = "\t\n\v\f\r";
    if (r->at == r->text.n)
        return cw_pattern_fail(r, "a backslash at the end");
    char c = r->text.p[r->at++];
    const char *letter = c ? strchr(from, c) : NULL;
    if (letter) {
        *ret = (unsigned char)to[letter - from];
        return CW_OK;
    }
    if (c == 'b' && in_class) {
        *ret = '\b';
        return CW_OK;
    }
    if (c == '0' && !is_digit_at(r, r->at)) {
        *ret = 0;
        return CW_OK;
    }
    if (c == 'x')
        return read_hex(r, 2, ret) ? CW_OK : cw_pattern_fail(r, "\\x needs two hexadecimal digits");
    if (c == 'u')
        return read_unicode(r, ret);
    if (c == 'c')
        return read_control(r, ret);
    if (!is_escapable(r, c, in_class)) {
        r->at--;
        return cw_pattern_fail(r, "unknown escape");
    }
    *ret = (unsigned char)c;
    return CW_OK;
}

/* ---- classes ---- */

/* One atom of a class: a character in *ret, or (*is_set) an escape that was added. */
static cw_code class_atom(cw_pattern_reader *r, cw_set *set, uint32_t *ret, bool *is_set)
{
    *is_set = false;
    if (r->text.p[r->at] != '\\') {
        *ret = cw_pattern_next(r);
        return CW_OK;
    }
    if (++r->at == r->text.n)
        return cw_pattern_fail(r, "a class is not closed");
    cw_code rc = cw_pattern_class_escape(r, set, is_set);
    return rc || *is_set ? rc : cw_pattern_character(r, true, ret);
}

static bool at_class_end(const cw_pattern_reader *r)
{
    return r->at >= r->text.n || r->text.p[r->at] == ']';
}

static cw_code class_item(cw_pattern_reader *r, cw_set *set)
{
    uint32_t lo = 0, hi = 0;
    bool lo_is_set, hi_is_set;
    cw_code rc = class_atom(r, set, &lo, &lo_is_set);
    if (rc)
        return rc;
    bool range = r->at + 1 < r->text.n && r->text.p[r->at] == '-' && r->text.p[r->at + 1] != ']';
    if (!range)
        return lo_is_set ? CW_OK : cw_set_add(r, set, lo, lo);
    r->at++;
    rc = class_atom(r, set, &hi, &hi_is_set);
    if (rc)
        return rc;
    if (lo_is_set || hi_is_set)
        return cw_pattern_fail(r, "a range needs two characters");
    if (lo > hi)
        return cw_pattern_fail(r, "a range is out of order");
    return cw_set_add(r, set, lo, hi);
}

cw_code cw_pattern_class(cw_pattern_reader *r, cw_set *set)
{
    if (r->at < r->text.n && r->text.p[r->at] == '^') {
        set->negated = true;
        r->at++;
    }
    while (!at_class_end(r)) {
        cw_code rc = class_item(r, set);
        if (rc)
            return rc;
    }
    if (r->at >= r->text.n)
        return cw_pattern_fail(r, "a class is not closed");
    r->at++;
    return CW_OK;
}
