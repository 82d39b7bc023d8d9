/* SPDX-License-Identifier: GPL-2.0-or-later */
/* format.c - the formats of JSON Schema: dates and times, hosts and e-mail addresses, URIs. */
#include <idn2.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "base/attr.h"
#include "base/utf8.h"
#include "schema/format/format.h"
#include "schema/pattern/pattern.h"

/* ==== dates and times (RFC 3339) ==== */

#define DATE_LEN 10
#define DAY_MINUTES (24 * 60)

/* The number that `n` digits make, or -1. */
static int digits(cw_str s, size_t at, size_t n)
{
    if (s.n < at + n)
        return -1;
    int value = 0;
    for (size_t i = at; i < at + n; i++) {
        if (!cw_is_digit(s.p[i]))
            return -1;
        value = value * 10 + (s.p[i] - '0');
    }
    return value;
}

static bool char_at(cw_str s, size_t at, char c)
{
    return at < s.n && s.p[at] == c;
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month == 2 && leap ? 29 : days[month - 1];
}

static bool is_date(cw_str s)
{
    int year = digits(s, 0, 4);
    int month = digits(s, 5, 2);
    int day = digits(s, 8, 2);
    if (s.n != DATE_LEN || year < 0 || s.p[4] != '-' || s.p[7] != '-')
        return false;
    return month >= 1 && month <= 12 && day >= 1 && day <= days_in(year, month);
}

/* "Z" or "+hh:mm": minutes east of UTC in *ret. */
static bool read_offset(cw_str s, int *ret)
{
    *ret = 0;
    if (s.n == 1)
        return s.p[0] == 'Z' || s.p[0] == 'z';
    int hours = digits(s, 1, 2);
    int minutes = digits(s, 4, 2);
    if (s.n != 6 || (s.p[0] != '+' && s.p[0] != '-') || s.p[3] != ':')
        return false;
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
        return false;
    *ret = (s.p[0] == '-' ? -1 : 1) * (hours * 60 + minutes);
    return true;
}

static bool is_time(cw_str s)
{
    int hour = digits(s, 0, 2);
    int minute = digits(s, 3, 2);
    int second = digits(s, 6, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
        return false;
    if (s.p[2] != ':' || s.p[5] != ':')
        return false;
    size_t at = 8;
    if (char_at(s, at, '.')) {
        size_t first = ++at;
        while (at < s.n && cw_is_digit(s.p[at]))
            at++;
        if (at == first)
            return false;
    }
    int offset;
    if (!read_offset(cw_str_make(s.p + at, s.n - at), &offset))
        return false;
    /* A leap second comes at 23:59:60 UTC only. */
    int utc = (hour * 60 + minute - offset + 2 * DAY_MINUTES) % DAY_MINUTES;
    return second < 60 || utc == DAY_MINUTES - 1;
}

static bool is_date_time(cw_str s)
{
    if (!char_at(s, DATE_LEN, 'T') && !char_at(s, DATE_LEN, 't'))
        return false;
    return is_date(cw_str_make(s.p, DATE_LEN)) &&
           is_time(cw_str_make(s.p + DATE_LEN + 1, s.n - DATE_LEN - 1));
}

/* Take components such as "1Y2M3D" whose units come in the order of `units`, without a gap. Returns
 * how many were taken; *at stands behind them. */
static unsigned take_components(cw_str s, size_t *at, const char *units)
{
    unsigned taken = 0;
    while (*at < s.n && cw_is_digit(s.p[*at])) {
        size_t end = *at;
        while (end < s.n && cw_is_digit(s.p[end]))
            end++;
        const char *unit = end < s.n && s.p[end] ? strchr(units, s.p[end]) : NULL;
        if (!unit || (taken > 0 && unit != units))
            return taken; /* what is left over makes the duration invalid */
        units = unit + 1;
        *at = end + 1;
        taken++;
    }
    return taken;
}

static bool is_duration(cw_str s)
{
    if (!char_at(s, 0, 'P'))
        return false;
    size_t at = 1;
    if (take_components(s, &at, "W") > 0)
        return at == s.n;
    unsigned taken = take_components(s, &at, "YMD");
    if (char_at(s, at, 'T')) {
        at++;
        if (take_components(s, &at, "HMS") == 0)
            return false;
        taken++;
    }
    return taken > 0 && at == s.n;
}

/* ==== addresses, host names, e-mail addresses ==== */

#define LABEL_MAX 63u
#define NAME_MAX_LEN 253u
#define LOCAL_MAX 64u
#define UTF8_LABEL_MAX 255u /* bytes of a label that is not ASCII; over 63 when encoded anyway */

static bool is_ipv4(cw_str s)
{
    size_t at = 0;
    for (unsigned part = 0; part < 4; part++) {
        if (part > 0 && (at >= s.n || s.p[at++] != '.'))
            return false;
        unsigned value = 0;
        size_t first = at;
        while (at < s.n && at < first + 3 && cw_is_digit(s.p[at]))
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
            return is_ipv4(group) ? groups + 2 : -1;
        if (group.n == 0 || group.n > 4)
            return -1;
        for (size_t i = 0; i < group.n; i++) {
            if (!cw_is_hex(group.p[i]))
                return -1;
        }
        groups++;
    } while (rest.p && groups <= 8);
    return groups;
}

static bool is_ipv6(cw_str s)
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
        if (!cw_is_letter(s.p[i]) && !cw_is_digit(s.p[i]) && s.p[i] != '-')
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
        european |= cw_is_digit(s.p[i]) || (a == 0xdb && b >= 0xb0 && b <= 0xb9);
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

/* Check a label that is not plain ASCII with libidn2. An A-label is decoded and must be what its
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
        digit_first |= cw_is_digit(label.p[0]);
    } while (rest.p);
    /* RFC 5893: in a bidirectional name every label follows the rule, and begins with a letter. */
    return !(rtl && digit_first);
}

static bool is_hostname(cw_str s)
{
    return is_name(s, false, 0);
}

static bool is_idn_hostname(cw_str s)
{
    return is_name(s, true, 0);
}

/* ---- e-mail ---- */

static bool is_atext(char c, bool idn)
{
    if ((unsigned char)c >= 0x80)
        return idn;
    return cw_is_letter(c) || cw_is_digit(c) || (c && strchr("!#$%&'*+-/=?^_`{|}~", c) != NULL);
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
        return is_ipv6(cw_str_make(s.p + 5, s.n - 5));
    return is_ipv4(s);
}

static bool is_mailbox(cw_str s, bool idn)
{
    size_t local = s.n && s.p[0] == '"' ? quoted_length(s, idn) : dot_atom_length(s, idn);
    if (local == 0 || local > LOCAL_MAX || local + 1 >= s.n || s.p[local] != '@')
        return false;
    cw_str domain = {s.p + local + 1, s.n - local - 1};
    if (domain.n > 2 && domain.p[0] == '[' && domain.p[domain.n - 1] == ']')
        return is_address_literal(domain);
    return is_name(domain, idn, IDN2_NFC_INPUT);
}

static bool is_email(cw_str s)
{
    return is_mailbox(s, false);
}

static bool is_idn_email(cw_str s)
{
    return is_mailbox(s, true);
}

/* ==== URIs, IRIs (RFC 3986, 3987) and URI templates (RFC 6570) ==== */

/* Sets of bytes, as bits of `classes`. */
enum {
    UNRESERVED = 1,
    SUB_DELIM = 2,
    GEN_PATH = 4, /* ":" "@" */
    SLASH = 8,
    QUESTION = 16,
    COLON = 32,
};

#define PCHAR (UNRESERVED | SUB_DELIM | GEN_PATH)

static unsigned class_of(char c)
{
    if (cw_is_letter(c) || cw_is_digit(c))
        return UNRESERVED;
    switch (c) {
    case '-':
    case '.':
    case '_':
    case '~':
        return UNRESERVED;
    case '!':
    case '$':
    case '&':
    case '\'':
    case '(':
    case ')':
    case '*':
    case '+':
    case ',':
    case ';':
    case '=':
        return SUB_DELIM;
    case ':':
        return GEN_PATH | COLON;
    case '@':
        return GEN_PATH;
    case '/':
        return SLASH;
    case '?':
        return QUESTION;
    default:
        return 0;
    }
}

/* The code point at s.p[*at]; *at moves on. */
static uint32_t decode(cw_str s, size_t *at)
{
    uint32_t c = 0;
    unsigned n = cw_utf8_decode(s.p + *at, s.n - *at, &c);
    *at += n ? n : 1;
    return c;
}

/* ucschar of RFC 3987. */
static bool is_ucschar(uint32_t c)
{
    if (c < 0x10000)
        return (c >= 0xa0 && c <= 0xd7ff) || (c >= 0xf900 && c <= 0xfdcf) ||
               (c >= 0xfdf0 && c <= 0xffef);
    return c <= 0xeffff && (c & 0xffff) <= 0xfffd && !(c >= 0xe0000 && c < 0xe1000);
}

/* iprivate of RFC 3987: in queries only. */
static bool is_iprivate(uint32_t c)
{
    return (c >= 0xe000 && c <= 0xf8ff) || (c >= 0xf0000 && (c & 0xffff) <= 0xfffd);
}

typedef struct rules {
    bool iri;
    bool in_query;
} rules;

static bool is_percent(cw_str s, size_t at)
{
    return at + 2 < s.n && s.p[at] == '%' && cw_is_hex(s.p[at + 1]) && cw_is_hex(s.p[at + 2]);
}

/* Whether all of `s` is of the classes, percent triplets included. */
static bool consists_of(cw_str s, unsigned classes, rules r)
{
    for (size_t at = 0; at < s.n;) {
        if (s.p[at] == '%') {
            if (!is_percent(s, at))
                return false;
            at += 3;
        } else if ((unsigned char)s.p[at] >= 0x80) {
            uint32_t c = decode(s, &at);
            if (!r.iri || (!is_ucschar(c) && !(r.in_query && is_iprivate(c))))
                return false;
        } else if (class_of(s.p[at++]) & classes) {
            continue;
        } else {
            return false;
        }
    }
    return true;
}

static bool is_ip_future(cw_str s)
{
    size_t at = 1;
    while (at < s.n && cw_is_hex(s.p[at]))
        at++;
    if (at == 1 || at + 1 >= s.n || s.p[at] != '.')
        return false;
    cw_str rest = {s.p + at + 1, s.n - at - 1};
    return !memchr(rest.p, '%', rest.n) &&
           consists_of(rest, UNRESERVED | SUB_DELIM | COLON, (rules){0});
}

static bool is_port(cw_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!cw_is_digit(s.p[i]))
            return false;
    }
    return true;
}

static bool is_authority(cw_str s, rules r)
{
    const char *at = s.n ? memchr(s.p, '@', s.n) : NULL;
    if (at) {
        cw_str user = {s.p, (size_t)(at - s.p)};
        if (!consists_of(user, UNRESERVED | SUB_DELIM | COLON, r))
            return false;
        s = cw_str_make(at + 1, s.n - user.n - 1);
    }
    cw_str rest;
    if (s.n > 0 && s.p[0] == '[') {
        cw_str inside = cw_str_cut(cw_str_make(s.p + 1, s.n - 1), ']', &rest);
        bool future = inside.n > 0 && (inside.p[0] == 'v' || inside.p[0] == 'V');
        if (!rest.p || !(future ? is_ip_future(inside) : is_ipv6(inside)))
            return false;
        return rest.n == 0 || (rest.p[0] == ':' && is_port(cw_str_make(rest.p + 1, rest.n - 1)));
    }
    cw_str host = cw_str_cut(s, ':', &rest);
    return consists_of(host, UNRESERVED | SUB_DELIM, r) && (!rest.p || is_port(rest));
}

/* The length of the scheme, or 0. */
static size_t scheme_length(cw_str s)
{
    size_t n = 0;
    while (n < s.n && (cw_is_letter(s.p[n]) || (n > 0 && (cw_is_digit(s.p[n]) || s.p[n] == '+' ||
                                                          s.p[n] == '-' || s.p[n] == '.'))))
        n++;
    return n < s.n && s.p[n] == ':' ? n : 0;
}

/* The part between scheme and query: authority and path. */
static bool is_hierarchy(cw_str s, bool has_scheme, rules r)
{
    if (cw_str_starts(s, CW_STR("//"))) {
        s = cw_str_make(s.p + 2, s.n - 2);
        const char *slash = s.n ? memchr(s.p, '/', s.n) : NULL;
        size_t n = slash ? (size_t)(slash - s.p) : s.n;
        return is_authority(cw_str_make(s.p, n), r) &&
               consists_of(cw_str_make(s.p + n, s.n - n), PCHAR | SLASH, r);
    }
    /* Without a scheme a colon in the first segment would read as one. */
    cw_str rest;
    cw_str first = cw_str_cut(s, '/', &rest);
    if (!has_scheme && first.n && memchr(first.p, ':', first.n))
        return false;
    return consists_of(s, PCHAR | SLASH, r);
}

static bool is_reference(cw_str s, bool iri, bool needs_scheme)
{
    rules r = {.iri = iri};
    size_t scheme = scheme_length(s);
    if (needs_scheme && scheme == 0)
        return false;
    if (scheme)
        s = cw_str_make(s.p + scheme + 1, s.n - scheme - 1);
    cw_str fragment, query;
    s = cw_str_cut(s, '#', &fragment);
    s = cw_str_cut(s, '?', &query);
    if (fragment.p && !consists_of(fragment, PCHAR | SLASH | QUESTION, r))
        return false;
    rules in_query = {.iri = iri, .in_query = true};
    if (query.p && !consists_of(query, PCHAR | SLASH | QUESTION, in_query))
        return false;
    return is_hierarchy(s, scheme > 0, r);
}

static bool is_uri(cw_str s)
{
    return is_reference(s, false, true);
}

static bool is_uri_reference(cw_str s)
{
    return is_reference(s, false, false);
}

static bool is_iri(cw_str s)
{
    return is_reference(s, true, true);
}

static bool is_iri_reference(cw_str s)
{
    return is_reference(s, true, false);
}

/* ---- templates ---- */

/* varname with its modifier: "a.b", "v:3", "v*". */
static bool is_varspec(cw_str s)
{
    if (s.n > 0 && s.p[s.n - 1] == '*')
        s.n--;
    cw_str prefix;
    cw_str name = cw_str_cut(s, ':', &prefix);
    if (prefix.p && (prefix.n == 0 || prefix.n > 4 || prefix.p[0] == '0' || !is_port(prefix)))
        return false;
    bool dot = true; /* a name neither begins nor ends with one, nor has two in a row */
    for (size_t at = 0; at < name.n; at++) {
        char c = name.p[at];
        if (c == '.' && dot)
            return false;
        dot = c == '.';
        if (dot || cw_is_letter(c) || cw_is_digit(c) || c == '_')
            continue;
        if (!is_percent(name, at))
            return false;
        at += 2;
    }
    return !dot;
}

static bool is_expression(cw_str s)
{
    if (s.n > 0 && s.p[0] && strchr("+#./;?&=,!@|", s.p[0])) {
        /* The last five are reserved for later versions: a template with them is well formed. */
        if (s.p[0] == ',')
            return false;
        s = cw_str_make(s.p + 1, s.n - 1);
    }
    cw_str rest = s;
    do {
        if (!is_varspec(cw_str_cut(rest, ',', &rest)))
            return false;
    } while (rest.p);
    return true;
}

static bool is_literal(cw_str s, size_t *at)
{
    char c = s.p[*at];
    if ((unsigned char)c >= 0x80) {
        uint32_t code = decode(s, at);
        return is_ucschar(code) || is_iprivate(code);
    }
    if (c == '%') {
        if (!is_percent(s, *at))
            return false;
        *at += 3;
        return true;
    }
    (*at)++;
    return c > ' ' && c != 0x7f && !strchr("\"<>\\^`{|}", c);
}

static bool is_uri_template(cw_str s)
{
    for (size_t at = 0; at < s.n;) {
        if (s.p[at] != '{') {
            if (!is_literal(s, &at))
                return false;
            continue;
        }
        cw_str rest;
        cw_str inside = cw_str_cut(cw_str_make(s.p + at + 1, s.n - at - 1), '}', &rest);
        if (!rest.p || !is_expression(inside))
            return false;
        at += inside.n + 2;
    }
    return true;
}

/* ==== the table of names ==== */

#define UUID_LEN 36

static bool is_uuid(cw_str s)
{
    if (s.n != UUID_LEN)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? s.p[i] != '-' : !cw_is_hex(s.p[i]))
            return false;
    }
    return true;
}

static bool is_json_pointer(cw_str s)
{
    if (s.n > 0 && s.p[0] != '/')
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '~' && (i + 1 == s.n || (s.p[i + 1] != '0' && s.p[i + 1] != '1')))
            return false;
    }
    return true;
}

static bool is_relative_json_pointer(cw_str s)
{
    size_t digits = 0;
    while (digits < s.n && cw_is_digit(s.p[digits]))
        digits++;
    if (digits == 0 || (digits > 1 && s.p[0] == '0'))
        return false;
    cw_str rest = {s.p + digits, s.n - digits};
    return cw_str_eq(rest, CW_STR("#")) || is_json_pointer(rest);
}

/* The cost of a check in steps. */
typedef enum cost {
    COST_BYTES, /* one pass over the text */
    COST_NAMES, /* and libidn2 for labels that are not plain ASCII */
    COST_TREE,  /* a tree of the text */
} cost;

#define BYTES_PER_STEP 4u
#define STEPS_PER_NAME_BYTE 8u
#define STEPS_PER_NODE 8u
#define NAME_BYTES 1024u /* more are not looked at */

struct cw_schema_format {
    cw_str name;
    bool (*has)(cw_str text);
    cost cost;
};

static const cw_schema_format formats[] = {
    {CW_STR_INIT("date"), is_date, COST_BYTES},
    {CW_STR_INIT("time"), is_time, COST_BYTES},
    {CW_STR_INIT("date-time"), is_date_time, COST_BYTES},
    {CW_STR_INIT("duration"), is_duration, COST_BYTES},
    {CW_STR_INIT("email"), is_email, COST_NAMES},
    {CW_STR_INIT("idn-email"), is_idn_email, COST_NAMES},
    {CW_STR_INIT("hostname"), is_hostname, COST_NAMES},
    {CW_STR_INIT("idn-hostname"), is_idn_hostname, COST_NAMES},
    {CW_STR_INIT("ipv4"), is_ipv4, COST_BYTES},
    {CW_STR_INIT("ipv6"), is_ipv6, COST_BYTES},
    {CW_STR_INIT("uri"), is_uri, COST_BYTES},
    {CW_STR_INIT("uri-reference"), is_uri_reference, COST_BYTES},
    {CW_STR_INIT("iri"), is_iri, COST_BYTES},
    {CW_STR_INIT("iri-reference"), is_iri_reference, COST_BYTES},
    {CW_STR_INIT("uri-template"), is_uri_template, COST_BYTES},
    {CW_STR_INIT("uuid"), is_uuid, COST_BYTES},
    {CW_STR_INIT("json-pointer"), is_json_pointer, COST_BYTES},
    {CW_STR_INIT("relative-json-pointer"), is_relative_json_pointer, COST_BYTES},
    {CW_STR_INIT("regex"), cw_pattern_is_valid, COST_TREE},
};

const cw_schema_format *cw_format_find(cw_str name)
{
    for (size_t i = 0; i < CW_COUNT(formats); i++) {
        if (cw_str_eq(formats[i].name, name))
            return &formats[i];
    }
    return NULL;
}

static bool has_idn_labels(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] >= 0x80 ||
            (i + 1 < text.n && memcmp(text.p + i, "--", 2) == 0))
            return true;
    }
    return false;
}

static uint64_t steps_of(const cw_schema_format *format, cw_str text)
{
    uint64_t steps = 1 + text.n / BYTES_PER_STEP;
    cw_str start = cw_str_make(text.p, text.n < NAME_BYTES ? text.n : NAME_BYTES);
    if (format->cost == COST_NAMES && has_idn_labels(start))
        steps += start.n * STEPS_PER_NAME_BYTE;
    if (format->cost == COST_TREE && text.n <= CW_PATTERN_MAX)
        steps += text.n * STEPS_PER_NODE;
    return steps;
}

bool cw_format_test(const cw_schema_format *format, cw_str text, int64_t *steps)
{
    *steps -= (int64_t)steps_of(format, text);
    return *steps >= 0 && format->has(text);
}
