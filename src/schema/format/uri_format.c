/* SPDX-License-Identifier: GPL-2.0-or-later */
/* uri_format.c - URI and IRI references (RFC 3986, 3987) and URI templates (RFC 6570).
 *
 *     scheme ":" "//" userinfo "@" host ":" port path "?" query "#" fragment
 *
 * An IRI is a URI in which the characters above U+007F, but not all of them, count
 * as letters.
 */
#include "base/utf8.h"
#include "schema/format/format_int.h"

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
    if (cw_format_is_alpha(c) || cw_format_is_digit(c))
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
    return at + 2 < s.n && s.p[at] == '%' && cw_format_is_hex(s.p[at + 1]) &&
           cw_format_is_hex(s.p[at + 2]);
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
    while (at < s.n && cw_format_is_hex(s.p[at]))
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
        if (!cw_format_is_digit(s.p[i]))
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
        if (!rest.p || !(future ? is_ip_future(inside) : cw_format_ipv6(inside)))
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
    while (n < s.n &&
           (cw_format_is_alpha(s.p[n]) || (n > 0 && (cw_format_is_digit(s.p[n]) || s.p[n] == '+' ||
                                                     s.p[n] == '-' || s.p[n] == '.'))))
        n++;
    return n < s.n && s.p[n] == ':' ? n : 0;
}

/* What is left after scheme, query and fragment were taken off: authority and path. */
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

bool cw_format_uri(cw_str s)
{
    return is_reference(s, false, true);
}

bool cw_format_uri_reference(cw_str s)
{
    return is_reference(s, false, false);
}

bool cw_format_iri(cw_str s)
{
    return is_reference(s, true, true);
}

bool cw_format_iri_reference(cw_str s)
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
        if (dot || cw_format_is_alpha(c) || cw_format_is_digit(c) || c == '_')
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

bool cw_format_uri_template(cw_str s)
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
