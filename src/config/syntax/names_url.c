/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names_url.c - URLs of services, and names in them. */
#include "base/ascii.h"
#include "base/limits.h"
#include "base/template.h"
#include "config/syntax/names.h"

#define WORD_MAX 64u
#define VARIABLE_MAX 255u
#define HEADER_MAX 128u

bool cw_names_is_word(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!cw_is_alnum(c) && c != '.' && c != '_' && c != '-')
            return false;
    }
    return text.n > 0 && text.n <= WORD_MAX;
}

bool cw_names_is_variable(cw_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (!cw_is_alnum(name.p[i]) && name.p[i] != '_')
            return false;
    }
    return name.n > 0 && name.n <= VARIABLE_MAX && (name.p[0] < '0' || name.p[0] > '9');
}

bool cw_names_is_header(cw_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (!cw_is_alnum(c) && (c == '\0' || !strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return name.n > 0 && name.n <= HEADER_MAX;
}

/* The characters that need no escape in the path and query of a URL. */
static bool is_target(cw_str path)
{
    for (size_t i = 0; i < path.n; i++) {
        char c = path.p[i];
        if (c <= ' ' || c > '~' || strchr("\"#<>\\^`{|}", c))
            return false;
    }
    return path.n <= CW_HTTP_MAX_TARGET;
}

bool cw_names_is_call_path(cw_str path)
{
    cw_template_part part;
    bool has_method = false;
    cw_str rest = path;
    if (path.n == 0 || path.p[0] != '/')
        return false;
    while (rest.n) {
        if (!cw_template_next(&rest, &part) || !is_target(part.literal))
            return false;
        if (part.name.p && (has_method || !cw_str_is(part.name, "method")))
            return false;
        has_method = has_method || part.name.p;
    }
    return has_method && path.n <= CW_HTTP_MAX_TARGET;
}

static const char *check_authority(cw_str authority)
{
    if (authority.n && memchr(authority.p, '@', authority.n))
        return "a user name or password does not belong into a URL";
    if (!cw_names_is_host(authority) || authority.p[0] == '*')
        return "no valid host";
    if (cw_str_ends(authority, CW_STR(":0")))
        return "a port is 1 to 65535";
    return NULL;
}

/* "[::1]" has colons, but no port. */
static bool has_port(cw_str authority)
{
    size_t digits = 0;
    while (digits < authority.n && authority.p[authority.n - 1 - digits] >= '0' &&
           authority.p[authority.n - 1 - digits] <= '9')
        digits++;
    return digits && digits < authority.n && authority.p[authority.n - 1 - digits] == ':';
}

static const char *check_unix(cw_str text, cw_str *ret_socket)
{
    cw_str path;
    cw_str socket = cw_str_cut(text, ':', &path);
    if (socket.n == 0)
        return "no path of a socket";
    if (path.p && (path.n == 0 || path.p[0] != '/' || !is_target(path)))
        return "the path behind the socket begins with '/' and has no special characters";
    *ret_socket = socket;
    return NULL;
}

/* "HOST[:PORT][/PATH]" */
static const char *check_web(cw_str rest)
{
    size_t end = 0;
    while (end < rest.n && rest.p[end] != '/' && rest.p[end] != '?' && rest.p[end] != '#')
        end++;
    if (end < rest.n && rest.p[end] == '?')
        return "the path begins with '/'";
    if (!is_target(cw_str_make(rest.p + end, rest.n - end)))
        return "the path has characters that must be percent-encoded";
    return check_authority(cw_str_make(rest.p, end));
}

static const char *check_tcp(cw_str rest)
{
    if (rest.n && memchr(rest.p, '/', rest.n))
        return "a stream has no path";
    const char *wrong = check_authority(rest);
    return wrong || has_port(rest) ? wrong : "no port";
}

const char *cw_names_check_url(cw_str text, cw_str *ret_socket)
{
    static const char *const webs[] = {"http://", "https://", "ws://", "wss://"};
    const cw_str tcp = CW_STR("tcp://");
    *ret_socket = CW_STR("");
    if (cw_str_starts(text, CW_STR("unix:")))
        return check_unix(cw_str_make(text.p + 5, text.n - 5), ret_socket);
    if (cw_str_starts(text, tcp))
        return check_tcp(cw_str_make(text.p + tcp.n, text.n - tcp.n));
    for (size_t i = 0; i < CW_COUNT(webs); i++) {
        cw_str scheme = cw_str_from(webs[i]);
        if (cw_str_starts(text, scheme))
            return check_web(cw_str_make(text.p + scheme.n, text.n - scheme.n));
    }
    return "no URL of that kind";
}

bool cw_names_is_proxy(cw_str text)
{
    static const char *const schemes[] = {"http://", "https://", "socks5://", "socks5h://"};
    for (size_t i = 0; i < CW_COUNT(schemes); i++) {
        cw_str scheme = cw_str_from(schemes[i]);
        if (!cw_str_starts(text, scheme))
            continue;
        cw_str rest = cw_str_make(text.p + scheme.n, text.n - scheme.n);
        return !check_authority(rest) && has_port(rest);
    }
    return false;
}
