/* SPDX-License-Identifier: GPL-2.0-or-later */
/* langtag.c - language tags by RFC 5646: syntax and fallback. */
#include "base/langtag.h"

#include "base/ascii.h"

#define PART_MAX 8u

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool is_language(cw_str part)
{
    bool letters = true;
    for (size_t i = 0; i < part.n; i++)
        letters = letters && cw_is_letter(part.p[i]);
    return letters && (part.n == 2 || part.n == 3);
}

static bool is_part(cw_str part)
{
    bool plain = true;
    for (size_t i = 0; i < part.n; i++)
        plain = plain && (cw_is_letter(part.p[i]) || cw_is_digit(part.p[i]));
    return plain && part.n >= 1 && part.n <= PART_MAX;
}

bool cw_langtag_is_valid(cw_str tag)
{
    cw_str rest;
    if (tag.n > CW_LANGTAG_MAX || !is_language(cw_str_cut(tag, '-', &rest)))
        return false;
    while (rest.p) {
        if (!is_part(cw_str_cut(rest, '-', &rest)))
            return false;
    }
    return true;
}

/* Regions (two letters) are written large, scripts (four) begin so, everything else is small. */
static void set_case(char *part, size_t n)
{
    for (size_t i = 0; i < n; i++)
        part[i] = n == 2 || (n == 4 && i == 0) ? upper(part[i]) : lower(part[i]);
}

size_t cw_langtag_format(cw_str name, char out[CW_LANGTAG_MAX])
{
    if (name.n > CW_LANGTAG_MAX)
        return 0;
    for (size_t i = 0; i < name.n; i++)
        out[i] = name.p[i] == '_' ? '-' : lower(name.p[i]);
    if (!cw_langtag_is_valid(cw_str_make(out, name.n)))
        return 0;
    size_t begin = 0;
    for (size_t i = 0; i <= name.n; i++) {
        if (i < name.n && out[i] != '-')
            continue;
        if (begin)
            set_case(out + begin, i - begin);
        begin = i + 1;
    }
    return name.n;
}

bool cw_langtag_covers(cw_str range, cw_str tag)
{
    return range.n > 0 && range.n <= tag.n && cw_str_ieq(range, cw_str_make(tag.p, range.n)) &&
           (range.n == tag.n || tag.p[range.n] == '-');
}

cw_str cw_langtag_widen(cw_str tag)
{
    while (tag.n && tag.p[tag.n - 1] != '-')
        tag.n--;
    return cw_str_make(tag.p, tag.n ? tag.n - 1 : 0);
}
