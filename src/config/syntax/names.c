/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names.c - parses and checks addresses, hosts, origins, paths and other names. */
#include "config/syntax/names.h"

#include <arpa/inet.h>

#include "base/ascii.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "config/syntax/check.h"

#define NAME_MAX_LEN 255u
#define PATH_MAX_BYTES 128u
#define COMPONENT_MAX 32u
#define SOURCE_MAX 64u
#define SERVER_PART_MAX 99u
#define SUMMARY_MAX 100u

static bool is_label(char c)
{
    return cw_is_letter(c) || cw_is_digit(c) || c == '-' || c == '_';
}

/* Labels between single dots; one dot may end it. */
static bool is_name(cw_str s)
{
    if (s.n > 1 && s.p[s.n - 1] == '.')
        s.n--;
    if (s.n == 0 || s.n > NAME_MAX_LEN)
        return false;
    size_t label = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (is_label(s.p[i])) {
            label++;
            continue;
        }
        if (s.p[i] != '.' || label == 0)
            return false;
        label = 0;
    }
    return label > 0;
}

static bool is_port(cw_str s, uint16_t *ret)
{
    uint64_t port;
    if (s.n == 0 || s.n > 5 || !cw_str_to_u64(s, &port) || port > UINT16_MAX)
        return false;
    *ret = (uint16_t)port;
    return true;
}

static bool is_ip(int family, cw_str s)
{
    char text[INET6_ADDRSTRLEN];
    unsigned char addr[16];
    if (s.n == 0 || s.n >= sizeof text || memchr(s.p, 0, s.n))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    return inet_pton(family, text, addr) == 1;
}

/* An IPv6 address, perhaps with the zone that a link-local one needs: "fe80::1%eth0". */
static bool is_v6_with_zone(cw_str s)
{
    cw_str zone;
    cw_str address = cw_str_cut(s, '%', &zone);
    if (!is_ip(AF_INET6, address))
        return false;
    return !zone.p || is_name(zone);
}

/* "[inside]rest", with s beginning with '['. */
static bool cut_brackets(cw_str s, cw_str *ret_inside, cw_str *ret_rest)
{
    const char *close = memchr(s.p, ']', s.n);
    if (!close)
        return false;
    *ret_inside = cw_str_make(s.p + 1, (size_t)(close - s.p) - 1);
    *ret_rest = cw_str_make(close + 1, (size_t)(s.p + s.n - close) - 1);
    return true;
}

/* A text of digits and dots is meant to be an IPv4 address, not a name. */
static bool looks_like_v4(cw_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!cw_is_digit(s.p[i]) && s.p[i] != '.')
            return false;
    return s.n > 0;
}

static const char *parse_unix(cw_str path, cw_config_address *ret)
{
    if (path.n == 0)
        return "no path behind \"unix:\"";
    ret->unix_path = path;
    return NULL;
}

static const char *check_host(cw_str host)
{
    if (host.n == 0)
        return "no host: 127.0.0.1 is this machine only, 0.0.0.0 every IPv4 address of it";
    if (looks_like_v4(host))
        return is_ip(AF_INET, host) ? NULL : "not an IPv4 address";
    return is_name(host) ? NULL : "not a host name";
}

static const char *parse_tcp(cw_str text, cw_config_address *ret)
{
    cw_str host, port;
    if (text.n && text.p[0] == '[') {
        if (!cut_brackets(text, &host, &port) || !is_v6_with_zone(host))
            return "not an IPv6 address in brackets";
        if (port.n == 0 || port.p[0] != ':')
            return "no port";
        port = cw_str_make(port.p + 1, port.n - 1);
    } else {
        host = cw_str_cut(text, ':', &port);
        if (port.p && cw_str_starts(port, CW_STR("//")))
            return "not a URL: HOST:PORT alone, and \"tls: true\" for https";
        if (port.p && memchr(port.p, ':', port.n))
            return "an IPv6 address needs brackets: \"[::1]:8080\"";
        const char *wrong = check_host(host);
        if (wrong)
            return wrong;
        if (!port.p)
            return "no port";
    }
    if (!is_port(port, &ret->port))
        return "a port is a number from 0 to 65535";
    ret->host = host;
    return NULL;
}

const char *cw_names_parse_address(cw_str text, cw_config_address *ret)
{
    cw_config_address address = {.text = text, .host = CW_STR(""), .unix_path = CW_STR("")};
    const cw_str scheme = CW_STR("unix:");
    const char *wrong =
        cw_str_starts(text, scheme)
            ? parse_unix(cw_str_make(text.p + scheme.n, text.n - scheme.n), &address)
            : parse_tcp(text, &address);
    if (!wrong)
        *ret = address;
    return wrong;
}

/* "name[:port]", "*.name[:port]" or "[v6][:port]". */
static bool is_host_port(cw_str s)
{
    cw_str host, port;
    if (s.n && s.p[0] == '[') {
        if (!cut_brackets(s, &host, &port) || !is_ip(AF_INET6, host))
            return false;
        if (port.n && port.p[0] != ':')
            return false;
        port = port.n ? cw_str_make(port.p + 1, port.n - 1) : (cw_str){0};
    } else {
        if (s.n > 2 && s.p[0] == '*' && s.p[1] == '.')
            s = cw_str_make(s.p + 2, s.n - 2);
        host = cw_str_cut(s, ':', &port);
        if (!is_name(host))
            return false;
    }
    uint16_t number;
    return !port.p || is_port(port, &number);
}

bool cw_names_is_host(cw_str entry)
{
    return cw_str_is(entry, "*") || is_host_port(entry);
}

/* Names that lead to this machine only, and the addresses behind them. */
bool cw_names_is_loopback(const cw_config_address *a)
{
    return a->unix_path.n || cw_str_is(a->host, "localhost") || cw_str_is(a->host, "::1") ||
           cw_str_starts(a->host, CW_STR("127."));
}

bool cw_names_is_console_host(cw_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == ':' || name.p[i] == '*' || name.p[i] == '[')
            return false;
    }
    return is_host_port(name);
}

bool cw_names_is_origin(cw_str entry)
{
    if (cw_str_is(entry, "*") || cw_str_is(entry, "null"))
        return true;
    cw_str rest;
    cw_str scheme = cw_str_cut(entry, ':', &rest);
    if (scheme.n == 0 || !cw_is_letter(scheme.p[0]))
        return false;
    for (size_t i = 1; i < scheme.n; i++)
        if ((!is_label(scheme.p[i]) || scheme.p[i] == '_') && scheme.p[i] != '+' &&
            scheme.p[i] != '.')
            return false;
    if (!rest.p || !cw_str_starts(rest, CW_STR("//")))
        return false;
    return is_host_port(cw_str_make(rest.p + 2, rest.n - 2));
}

/* Segments of plain characters, each behind its slash. */
static bool is_plain_path(cw_str path)
{
    for (size_t i = 0; i < path.n; i++) {
        char c = path.p[i];
        bool is_empty = c == '/' && (i + 1 == path.n || path.p[i + 1] == '/');
        if (is_empty || (c != '/' && !is_label(c) && c != '.' && c != '~'))
            return false;
    }
    return true;
}

bool cw_names_is_public_url(cw_str text)
{
    cw_str rest;
    cw_str scheme = cw_str_cut(text, ':', &rest);
    if (!cw_str_is(scheme, "http") && !cw_str_is(scheme, "https"))
        return false;
    if (text.n >= CW_PUBLIC_URL_MAX || !rest.p || !cw_str_starts(rest, CW_STR("//")))
        return false;
    rest = cw_str_make(rest.p + 2, rest.n - 2);
    const char *slash = memchr(rest.p, '/', rest.n);
    cw_str host = cw_str_make(rest.p, slash ? (size_t)(slash - rest.p) : rest.n);
    if (host.n && host.p[0] == '*')
        return false;
    return is_host_port(host) && is_plain_path(cw_str_make(rest.p + host.n, rest.n - host.n));
}

bool cw_names_is_issuer(cw_str text)
{
    cw_str rest;
    cw_str scheme = cw_str_cut(text, ':', &rest);
    bool is_web = cw_str_is(scheme, "http") || cw_str_is(scheme, "https");
    if (!is_web || text.n >= CW_PUBLIC_URL_MAX || !rest.p || !cw_str_starts(rest, CW_STR("//")))
        return false;
    rest = cw_str_make(rest.p + 2, rest.n - 2);
    const char *slash = memchr(rest.p, '/', rest.n);
    cw_str host = cw_str_make(rest.p, slash ? (size_t)(slash - rest.p) : rest.n);
    for (size_t i = host.n; i < rest.n; i++) {
        if (rest.p[i] <= ' ' || rest.p[i] > '~' || strchr("?#<>", rest.p[i]))
            return false;
    }
    return host.n && host.p[0] != '*' && is_host_port(host);
}

bool cw_names_is_network(cw_str text)
{
    cw_str length;
    uint64_t bits = 0;
    cw_str address = cw_str_cut(text, '/', &length);
    bool is_v4 = is_ip(AF_INET, address);
    if (cw_str_is(text, "unix"))
        return true;
    if (length.p && (!cw_str_to_u64(length, &bits) || bits > (is_v4 ? 32 : 128)))
        return false;
    return is_v4 || is_ip(AF_INET6, address);
}

bool cw_names_is_pointer(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char next = i + 1 < text.n ? text.p[i + 1] : 0;
        if ((unsigned char)text.p[i] < ' ' || (text.p[i] == '~' && next != '0' && next != '1'))
            return false;
    }
    return text.n > 0 && text.p[0] == '/';
}

/* Whether a segment is "." or "..": a client removes it before it sends the path. */
static bool has_dot_segment(cw_str path)
{
    for (cw_str rest = path, segment; rest.n;) {
        segment = cw_str_cut(rest, '/', &rest);
        if (cw_str_is(segment, ".") || cw_str_is(segment, ".."))
            return true;
    }
    return false;
}

bool cw_names_is_path(cw_str text)
{
    return text.n > 1 && text.n <= PATH_MAX_BYTES && text.p[0] == '/' && is_plain_path(text) &&
           !has_dot_segment(text);
}

bool cw_names_is_prose(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7F)
            return false;
    }
    return true;
}

bool cw_names_is_scope(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c <= ' ' || c >= 0x7F || c == '"' || c == '\\')
            return false;
    }
    return text.n > 0;
}

static bool is_part(cw_str text, bool has_underscores)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!cw_is_letter(c) && !cw_is_digit(c) && c != '.' && c != '-' &&
            !(has_underscores && c == '_'))
            return false;
    }
    return text.n > 0 && text.n <= SERVER_PART_MAX;
}

bool cw_names_is_server(cw_str text)
{
    cw_str name;
    cw_str space = cw_str_cut(text, '/', &name);
    return name.p && is_part(space, false) && is_part(name, true);
}

bool cw_names_is_summary(cw_str text)
{
    size_t n = cw_utf8_count(text);
    return n > 0 && n <= SUMMARY_MAX && cw_check_is_clean(text);
}

bool cw_names_is_component(cw_str name)
{
    if (name.n == 0 || name.n > COMPONENT_MAX || name.p[0] < 'a' || name.p[0] > 'z')
        return false;
    for (size_t i = 1; i < name.n; i++)
        if (!is_label(name.p[i]) || (name.p[i] >= 'A' && name.p[i] <= 'Z'))
            return false;
    return true;
}

bool cw_names_is_source(cw_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if ((c < 'a' || c > 'z') && !cw_is_digit(c) && c != '_' && c != '-')
            return false;
    }
    return name.n > 0 && name.n <= SOURCE_MAX;
}
