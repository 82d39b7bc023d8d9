/* SPDX-License-Identifier: GPL-2.0-or-later */
/* host.c - addresses, host names and e-mail addresses.
 *
 * Host names are cut into labels; an ASCII label is checked here, all others and
 * those that begin with "xn--" by libidn2 (IDNA 2008, contextual rules included).
 */
#include <idn2.h>
#include <stdlib.h>

#include "schema/format/format_int.h"

#define LABEL_MAX 63u
#define NAME_MAX_LEN 253u
#define LOCAL_MAX 64u
#define UTF8_LABEL_MAX 255u /* bytes of a label that is not ASCII; over 63 when encoded anyway */

bool cw_format_ipv4(cw_str s)
{
    size_t at = 0;
    for (unsigned part = 0; part < 4; part++) {
        if (part > 0 && (at >= s.n || s.p[at++] != '.'))
            return false;
        unsigned value = 0;
        size_t first = at;
        while (at < s.n && at < first + 3 && cw_format_is_digit(s.p[at]))
            value = value * 10 + (unsigned)(s.p[at++] - '0');
        if (at == first || value > 255 || (at > first + 1 && s.p[first] == '0'))
            return false;
    }
    return at == s.n;
}

/* Groups of up to four hexadecimal digits, joined by colons; the last may be an IPv4 address when
 * `last` says so. Returns how many 16-bit groups they are, or -1. An empty string has none. */
static int count_groups(cw_str s, bool last)
{
    if (s.n == 0)
        return 0;
    int groups = 0;
    cw_str rest = s;
    do {
        cw_str group = cw_str_cut(rest, ':', &rest);
        if (last && !rest.p && memchr(group.p, '.', group.n))
            return cw_format_ipv4(group) ? groups + 2 : -1;
        if (group.n == 0 || group.n > 4)
            return -1;
        for (size_t i = 0; i < group.n; i++) {
            if (!cw_format_is_hex(group.p[i]))
                return -1;
        }
        groups++;
    } while (rest.p && groups <= 8);
    return groups;
}

bool cw_format_ipv6(cw_str s)
{
    for (size_t i = 0; i + 1 < s.n; i++) {
        if (s.p[i] != ':' || s.p[i + 1] != ':')
            continue;
        int left = count_groups(cw_str_make(s.p, i), false);
        int right = count_groups(cw_str_make(s.p + i + 2, s.n - i - 2), true);
        return left >= 0 && right >= 0 && left + right <= 7;
    }
    return count_groups(s, true) == 8;
}

/* ---- host names ---- */

static bool is_ascii(cw_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] >= 0x80)
            return false;
    }
    return true;
}

static bool is_ldh_label(cw_str s)
{
    if (s.n == 0 || s.n > LABEL_MAX || s.p[0] == '-' || s.p[s.n - 1] == '-')
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (!cw_format_is_alpha(s.p[i]) && !cw_format_is_digit(s.p[i]) && s.p[i] != '-')
            return false;
    }
    return true;
}

static bool is_alabel(cw_str s)
{
    return s.n > 4 && cw_str_ieq(cw_str_make(s.p, 4), CW_STR("xn--"));
}

/* Letters of scripts that are written from right to left, by block. */
static bool has_rtl(cw_str s)
{
    for (size_t i = 0; i + 1 < s.n; i++) {
        unsigned a = (unsigned char)s.p[i];
        unsigned b = (unsigned char)s.p[i + 1];
        bool two = a >= 0xd6 && a <= 0xdf && !(a == 0xd6 && b < 0x90); /* U+0590 to U+07FF */
        bool three = (a == 0xe0 && b >= 0xa0 && b <= 0xa3) ||          /* U+0800 to U+08FF */
                     (a == 0xef && b >= 0xac && b <= 0xbb && b != 0xb8 && b != 0xb9);
        bool four = a == 0xf0 && (b == 0x90 || b == 0x9e); /* with U+10800 and U+1E800 */
        if (two || three || (four && i + 2 < s.n && (unsigned char)s.p[i + 2] >= 0xa0))
            return true;
    }
    return false;
}

/* RFC 5893, rule 4: European and Arabic-Indic digits do not mix in a label from right to left. */
static bool mixes_digits(cw_str s)
{
    bool european = false;
    bool arabic = false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned a = (unsigned char)s.p[i];
        unsigned b = i + 1 < s.n ? (unsigned char)s.p[i + 1] : 0;
        european |= cw_format_is_digit(s.p[i]) || (a == 0xdb && b >= 0xb0 && b <= 0xb9);
        arabic |= a == 0xd9 && b >= 0xa0 && b <= 0xa9;
    }
    return european && arabic;
}

/* Whether a U-label obeys what libidn2 does not look at. */
static bool is_bidi_label(cw_str label, bool *ret_rtl)
{
    bool rtl = has_rtl(label);
    *ret_rtl |= rtl;
    return !rtl || !mixes_digits(label);
}

/* What libidn2 says of a label that is not plain ASCII. An A-label is decoded and must be what its
 * U-label encodes to. *ret_rtl tells whether it makes the name a bidirectional one. */
static bool is_idn_label(cw_str label, int flags, bool *ret_rtl)
{
    char text[UTF8_LABEL_MAX + 1];
    if (label.n > UTF8_LABEL_MAX || memchr(label.p, '\0', label.n))
        return false;
    memcpy(text, label.p, label.n);
    text[label.n] = '\0';
    uint8_t *encoded = NULL;
    if (!is_alabel(label)) {
        bool ok = is_bidi_label(label, ret_rtl) &&
                  idn2_register_u8((uint8_t *)text, NULL, &encoded, flags) == IDN2_OK;
        idn2_free(encoded);
        return ok;
    }
    for (char *c = text; *c; c++) {
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    }
    char *decoded = NULL;
    if (idn2_to_unicode_8z8z(text, &decoded, 0) != IDN2_OK)
        return false;
    cw_str ulabel = cw_str_from(decoded);
    bool ok = !is_ascii(ulabel) && is_bidi_label(ulabel, ret_rtl) &&
              idn2_register_u8((uint8_t *)decoded, (uint8_t *)text, &encoded, flags) == IDN2_OK;
    idn2_free(encoded);
    idn2_free(decoded);
    return ok;
}

/* The first label of *rest; *rest moves on, and .p becomes NULL behind the last one. Full stops of
 * other scripts count for internationalised names. */
static cw_str take_label(cw_str *rest, bool idn)
{
    static const cw_str stops[] = {CW_STR_INIT("."), CW_STR_INIT("\xe3\x80\x82"),
                                   CW_STR_INIT("\xef\xbc\x8e"), CW_STR_INIT("\xef\xbd\xa1")};
    cw_str s = *rest;
    for (size_t i = 0; i < s.n; i++) {
        for (size_t k = 0; k < (idn ? CW_COUNT(stops) : 1); k++) {
            if (!cw_str_starts(cw_str_make(s.p + i, s.n - i), stops[k]))
                continue;
            *rest = cw_str_make(s.p + i + stops[k].n, s.n - i - stops[k].n);
            return cw_str_make(s.p, i);
        }
    }
    *rest = (cw_str){NULL, 0};
    return s;
}

static bool is_name(cw_str s, bool idn, int flags)
{
    bool rtl = false;
    bool digit_first = false;
    size_t length = 0;
    cw_str rest = s;
    do {
        cw_str label = take_label(&rest, idn);
        length += label.n + 1;
        /* In time: what libidn2 does costs far more than a comparison. */
        if (length - 1 > NAME_MAX_LEN)
            return false;
        bool ascii = is_ascii(label);
        if (ascii ? !is_ldh_label(label) : !idn)
            return false;
        if ((!ascii || is_alabel(label)) && !is_idn_label(label, flags, &rtl))
            return false;
        digit_first |= cw_format_is_digit(label.p[0]);
    } while (rest.p);
    /* RFC 5893: in a bidirectional name every label follows the rule, and begins with a letter. */
    return !(rtl && digit_first);
}

bool cw_format_hostname(cw_str s)
{
    return is_name(s, false, 0);
}

bool cw_format_idn_hostname(cw_str s)
{
    return is_name(s, true, 0);
}

/* ---- e-mail ---- */

static bool is_atext(char c, bool idn)
{
    if ((unsigned char)c >= 0x80)
        return idn;
    return cw_format_is_alpha(c) || cw_format_is_digit(c) ||
           (c && strchr("!#$%&'*+-/=?^_`{|}~", c) != NULL);
}

/* The length of the quoted string at the front, or 0. */
static size_t quoted_length(cw_str s, bool idn)
{
    for (size_t i = 1; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '"')
            return i + 1;
        if (c == '\\')
            c = ++i < s.n ? (unsigned char)s.p[i] : 0;
        if (c < ' ' || c == 0x7f || (c >= 0x80 && !idn))
            return 0;
    }
    return 0;
}

static size_t dot_atom_length(cw_str s, bool idn)
{
    bool dot = true; /* neither first nor last, nor two in a row */
    size_t i = 0;
    for (; i < s.n && s.p[i] != '@'; i++) {
        if (s.p[i] == '.' ? dot : !is_atext(s.p[i], idn))
            return 0;
        dot = s.p[i] == '.';
    }
    return dot ? 0 : i;
}

static bool is_address_literal(cw_str s)
{
    s = cw_str_make(s.p + 1, s.n - 2);
    if (s.n > 5 && cw_str_ieq(cw_str_make(s.p, 5), CW_STR("IPv6:")))
        return cw_format_ipv6(cw_str_make(s.p + 5, s.n - 5));
    return cw_format_ipv4(s);
}

static bool is_email(cw_str s, bool idn)
{
    size_t local = s.n && s.p[0] == '"' ? quoted_length(s, idn) : dot_atom_length(s, idn);
    if (local == 0 || local > LOCAL_MAX || local + 1 >= s.n || s.p[local] != '@')
        return false;
    cw_str domain = {s.p + local + 1, s.n - local - 1};
    if (domain.n > 2 && domain.p[0] == '[' && domain.p[domain.n - 1] == ']')
        return is_address_literal(domain);
    return is_name(domain, idn, IDN2_NFC_INPUT);
}

bool cw_format_email(cw_str s)
{
    return is_email(s, false);
}

bool cw_format_idn_email(cw_str s)
{
    return is_email(s, true);
}
