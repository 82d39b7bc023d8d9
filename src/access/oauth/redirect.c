/* SPDX-License-Identifier: GPL-2.0-or-later */
/* redirect.c - redirect URIs, judged by their bytes. */
#include "access/oauth/redirect.h"

#include <arpa/inet.h>

#include "base/ascii.h"
#include "base/hex.h"

#define HOST_MAX 253u
#define LABEL_MAX 63u

/* ---- bytes ---- */

/* The characters of RFC 3986, without '#': a fragment is reported on its own. */
static bool is_uri_char(char c)
{
    return cw_is_alnum(c) || (c && strchr("-._~:/?[]@!$&'()*+,;=%", c));
}

static bool is_escape(cw_str text, size_t i)
{
    return i + 2 < text.n && cw_is_hex(text.p[i + 1]) && cw_is_hex(text.p[i + 2]);
}

static const char *check_bytes(cw_str uri)
{
    if (uri.n == 0 || uri.n > CW_REDIRECT_MAX)
        return uri.n ? "it is too long" : "it is empty";
    for (size_t i = 0; i < uri.n; i++) {
        if (uri.p[i] == '#')
            return "it has a fragment";
        if (!is_uri_char(uri.p[i]))
            return "it has characters that must be percent-encoded";
        if (uri.p[i] == '%' && !is_escape(uri, i))
            return "it has a broken escape";
    }
    return NULL;
}

/* The byte at `*at`, decoded; moves behind it. */
static char next_byte(cw_str text, size_t *at)
{
    char c = text.p[(*at)++];
    if (c != '%')
        return c;
    *at += 2;
    int byte = cw_hex_value(text.p[*at - 2]) * 16 + cw_hex_value(text.p[*at - 1]);
    return (char)(unsigned char)byte;
}

/* ---- path and query ---- */

/* Whether a segment is "." or "..", by any reading: servers and browsers decode it, take an encoded
 * slash or backslash for a separator, or leave out parameters behind ';'. */
static bool has_dot_segment(cw_str path)
{
    size_t dots = 0;
    bool is_plain = true, is_cut = false;
    for (size_t i = 0; i < path.n;) {
        char c = next_byte(path, &i);
        if (c == '/' || c == '\\') {
            if (is_plain && (dots == 1 || dots == 2))
                return true;
            dots = 0;
            is_plain = true;
            is_cut = false;
        } else if (c == ';') {
            is_cut = true;
        } else if (!is_cut) {
            dots += c == '.';
            is_plain = is_plain && c == '.';
        }
    }
    return is_plain && (dots == 1 || dots == 2);
}

static bool name_is(cw_str name, const char *wanted)
{
    size_t n = 0;
    for (size_t i = 0; i < name.n;) {
        char c = next_byte(name, &i);
        if (!wanted[n] || wanted[n++] != c)
            return false;
    }
    return !wanted[n];
}

/* A client would find its own parameter in place of ours. */
static bool has_reserved_name(cw_str query)
{
    static const char *const reserved[] = {"code", "state", "iss", "error"};
    while (query.p) {
        cw_str value;
        cw_str name = cw_str_cut(cw_str_cut(query, '&', &query), '=', &value);
        for (size_t i = 0; i < CW_COUNT(reserved); i++) {
            if (name_is(name, reserved[i]))
                return true;
        }
    }
    return false;
}

static const char *check_rest(cw_str rest)
{
    cw_str query;
    cw_str path = cw_str_cut(rest, '?', &query);
    if (has_dot_segment(path))
        return "its path has dot segments";
    if (has_reserved_name(query))
        return "its query has code, state, iss or error";
    return NULL;
}

/* ---- host and port ---- */

static bool is_label(cw_str label)
{
    if (label.n == 0 || label.n > LABEL_MAX)
        return false;
    for (size_t i = 0; i < label.n; i++) {
        if (!cw_is_alnum(label.p[i]) && label.p[i] != '-' && label.p[i] != '_')
            return false;
    }
    return true;
}

static bool is_address(int family, cw_str text)
{
    char copy[INET6_ADDRSTRLEN];
    unsigned char address[sizeof(struct in6_addr)];
    if (text.n >= sizeof copy)
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    return inet_pton(family, copy, address) == 1;
}

/* Browsers read a host whose last label is a number as an IPv4 address: "0x7f.1", "2130706433". */
static bool is_number(cw_str label)
{
    size_t i = 0;
    bool is_hex = label.n > 1 && label.p[0] == '0' && (label.p[1] | 0x20) == 'x';
    for (i = is_hex ? 2 : 0; i < label.n; i++) {
        if (is_hex ? !cw_is_hex(label.p[i]) : !cw_is_digit(label.p[i]))
            return false;
    }
    return true;
}

static bool is_host(cw_str host)
{
    cw_str rest = host, label = {NULL, 0};
    if (host.n == 0 || host.n > HOST_MAX)
        return false;
    if (host.p[0] == '[')
        return host.p[host.n - 1] == ']' &&
               is_address(AF_INET6, cw_str_make(host.p + 1, host.n - 2));
    while (rest.p) {
        label = cw_str_cut(rest, '.', &rest);
        if (!is_label(label))
            return false;
    }
    return !is_number(label) || is_address(AF_INET, host);
}

static bool is_port(cw_str port)
{
    uint64_t number;
    return port.n && port.n <= 5 && port.p[0] != '0' && cw_str_to_u64(port, &number) &&
           number <= 65535;
}

/* `text` begins behind "//". */
static const char *split_authority(cw_str text, cw_redirect *ret)
{
    size_t n = 0;
    while (n < text.n && text.p[n] != '/' && text.p[n] != '?')
        n++;
    cw_str authority = cw_str_make(text.p, n);
    ret->rest = cw_str_make(text.p + n, text.n - n);
    if (n && memchr(authority.p, '@', n))
        return "it has a user name";
    const char *end = n && authority.p[0] == '[' ? memchr(authority.p, ']', n) : NULL;
    size_t from = end ? (size_t)(end - authority.p) : 0;
    const char *colon = n ? memchr(authority.p + from, ':', n - from) : NULL;
    ret->host = colon ? cw_str_make(authority.p, (size_t)(colon - authority.p)) : authority;
    ret->port = colon ? cw_str_make(colon + 1, n - ret->host.n - 1) : CW_STR("");
    if (!is_host(ret->host))
        return "its host is missing, or has another spelling";
    if (colon && !is_port(ret->port))
        return "its port is not a number from 1 to 65535";
    return NULL;
}

/* ---- schemes ---- */

static bool is_loopback(cw_str host)
{
    return cw_str_is(host, "127.0.0.1") || cw_str_is(host, "[::1]") || cw_str_is(host, "localhost");
}

/* A scheme of small letters, digits, '+', '-' and '.'; empty: there is none. */
static cw_str scheme_of(cw_str uri)
{
    size_t n = 0;
    while (n < uri.n && (cw_is_lower(uri.p[n]) || cw_is_digit(uri.p[n]) || uri.p[n] == '+' ||
                         uri.p[n] == '-' || uri.p[n] == '.'))
        n++;
    bool is_scheme = n && n < uri.n && uri.p[n] == ':' && cw_is_lower(uri.p[0]);
    return is_scheme ? cw_str_make(uri.p, n) : CW_STR("");
}

static bool is_listed(cw_str uri, const cw_redirect_rules *rules)
{
    for (size_t i = 0; i < rules->n_listed; i++) {
        if (cw_str_eq(uri, rules->listed[i]))
            return true;
    }
    return false;
}

static const char *parse_scheme(cw_str uri, const cw_redirect_rules *rules, cw_redirect *ret)
{
    cw_str behind = cw_str_make(uri.p + ret->scheme.n + 1, uri.n - ret->scheme.n - 1), query;
    cw_str path = cw_str_cut(behind, '?', &query);
    ret->kind = CW_REDIRECT_SCHEME;
    ret->host = ret->port = CW_STR("");
    ret->rest = behind;
    if (!is_listed(uri, rules) && !memchr(ret->scheme.p, '.', ret->scheme.n))
        return "its scheme is not https, has no dot, and the server does not list the URI";
    if (path.n == 0 || memchr(path.p, '@', path.n))
        return path.n ? "it has a user name" : "it has no path";
    return check_rest(behind);
}

/* http and https. */
static const char *parse_web(cw_str uri, cw_redirect *ret)
{
    size_t n = ret->scheme.n + 3;
    if (uri.n < n || memcmp(uri.p + ret->scheme.n, "://", 3) != 0)
        return "it has no host";
    const char *problem = split_authority(cw_str_make(uri.p + n, uri.n - n), ret);
    return problem ? problem : check_rest(ret->rest);
}

const char *cw_redirect_parse_https(cw_str url, cw_redirect *ret)
{
    const char *problem = check_bytes(url);
    if (problem)
        return problem;
    *ret = (cw_redirect){.kind = CW_REDIRECT_HTTPS, .scheme = scheme_of(url)};
    return cw_str_is(ret->scheme, "https") ? parse_web(url, ret) : "it is no https URL";
}

const char *cw_redirect_parse(cw_str uri, const cw_redirect_rules *rules, cw_redirect *ret)
{
    const char *problem = check_bytes(uri);
    if (problem)
        return problem;
    *ret = (cw_redirect){.kind = CW_REDIRECT_HTTPS, .scheme = scheme_of(uri)};
    if (!ret->scheme.n)
        return "it does not begin with a scheme in small letters";
    if (cw_str_is(ret->scheme, "https"))
        return parse_web(uri, ret);
    if (!cw_str_is(ret->scheme, "http"))
        return parse_scheme(uri, rules, ret);
    ret->kind = CW_REDIRECT_LOOPBACK;
    problem = parse_web(uri, ret);
    if (problem)
        return problem;
    return is_loopback(ret->host) ? NULL : "http is for 127.0.0.1, [::1] and localhost only";
}

bool cw_redirect_matches(cw_str registered, cw_str used)
{
    static const cw_redirect_rules none = {0};
    cw_redirect a, b;
    if (cw_str_eq(registered, used))
        return true;
    return !cw_redirect_parse(registered, &none, &a) && !cw_redirect_parse(used, &none, &b) &&
           a.kind == CW_REDIRECT_LOOPBACK && b.kind == CW_REDIRECT_LOOPBACK &&
           cw_str_eq(a.host, b.host) && cw_str_eq(a.rest, b.rest);
}
