/* SPDX-License-Identifier: GPL-2.0-or-later */
/* url.c - the URLs that the HTTP client takes, apart. */
#include <sys/un.h>

#include "net/client/client.h"
#include "net/http/hostcheck.h"
#include "net/http/http1_chars.h"

#define NAME_MAX_LEN 253u /* longer ones are no DNS names, and libuv 1.44 may cut them */

static cw_str rest_of(cw_str s, size_t from)
{
    return cw_str_make(s.p + from, s.n - from);
}

static cw_code take_path(cw_str path, cw_client_url *url, cw_err *err)
{
    url->path = path.n ? path : CW_STR("/");
    if (memchr(path.p, '#', path.n))
        return cw_fail(err, CW_PARAMS, "a fragment ('#') means nothing to a server");
    if (url->path.p[0] != '/')
        return cw_fail(err, CW_PARAMS, "the path begins with '/'");
    if (cw_http_span(url->path, CW_HTTP_URI) != url->path.n)
        return cw_fail(err, CW_PARAMS, "the path has characters that must be percent-encoded");
    if (url->path.n > CW_HTTP_MAX_TARGET)
        return cw_fail(err, CW_PARAMS, "the path is longer than %u bytes", CW_HTTP_MAX_TARGET);
    return CW_OK;
}

/* "/run/x.sock:/path": the first ':' ends the socket's path. */
static cw_code parse_unix(cw_str text, cw_client_url *url, cw_err *err)
{
    const char *colon = memchr(text.p, ':', text.n);
    size_t n = colon ? (size_t)(colon - text.p) : text.n;
    url->unix_path = cw_str_make(text.p, n);
    url->authority = CW_STR("localhost");
    if (n == 0 || text.p[0] != '/' || memchr(text.p, 0, n))
        return cw_fail(err, CW_PARAMS, "'unix:' is followed by the absolute path of a socket");
    if (n >= sizeof((struct sockaddr_un *)0)->sun_path)
        return cw_fail(err, CW_PARAMS, "the path of a unix socket has at most %zu characters",
                       sizeof((struct sockaddr_un *)0)->sun_path - 1);
    return take_path(colon ? rest_of(text, n + 1) : CW_STR(""), url, err);
}

static cw_code take_port(cw_str port, cw_client_url *url, cw_err *err)
{
    uint64_t number;
    if (!cw_str_to_u64(port, &number) || number == 0 || number > 65535)
        return cw_fail(err, CW_PARAMS, "the port is a number from 1 to 65535");
    url->port = (uint16_t)number;
    return CW_OK;
}

/* "host", "host:port", "[v6]" or "[v6]:port"; the whole is what a Host field says. */
static cw_code take_authority(cw_str text, cw_client_url *url, cw_err *err)
{
    url->authority = text;
    url->port = url->is_tls ? 443 : 80;
    if (memchr(text.p, '@', text.n))
        return cw_fail(err, CW_PARAMS, "a user name or password does not belong into a URL");
    if (text.n == 0 || !cw_host_is_valid(text))
        return cw_fail(err, CW_PARAMS, "the URL has no valid host");
    size_t end = 0;
    if (text.p[0] == '[') {
        end = (size_t)((const char *)memchr(text.p, ']', text.n) - text.p) + 1;
        url->host = cw_str_make(text.p + 1, end - 2);
    } else {
        const char *colon = memchr(text.p, ':', text.n);
        end = colon ? (size_t)(colon - text.p) : text.n;
        url->host = cw_str_make(text.p, end);
    }
    if (url->host.n == 0 || url->host.n > NAME_MAX_LEN)
        return cw_fail(err, CW_PARAMS, "a host name has 1 to %u characters", NAME_MAX_LEN);
    return end < text.n ? take_port(rest_of(text, end + 1), url, err) : CW_OK;
}

cw_code cw_client_url_parse(cw_str text, cw_client_url *ret, cw_err *err)
{
    cw_client_url url = {.host = CW_STR(""), .unix_path = CW_STR("")};
    if (cw_str_starts(text, CW_STR("unix:"))) {
        cw_code rc = parse_unix(rest_of(text, 5), &url, err);
        if (rc == CW_OK)
            *ret = url;
        return rc;
    }
    bool is_plain = text.n >= 7 && cw_str_ieq(cw_str_make(text.p, 7), CW_STR("http://"));
    url.is_tls = text.n >= 8 && cw_str_ieq(cw_str_make(text.p, 8), CW_STR("https://"));
    if (!is_plain && !url.is_tls)
        return cw_fail(err, CW_PARAMS, "expected http[s]://HOST[:PORT]/PATH or unix:SOCKET:/PATH");
    cw_str rest = rest_of(text, is_plain ? 7 : 8);
    size_t end = 0;
    while (end < rest.n && rest.p[end] != '/' && rest.p[end] != '?' && rest.p[end] != '#')
        end++;
    cw_code rc = take_authority(cw_str_make(rest.p, end), &url, err);
    if (rc == CW_OK)
        rc = take_path(rest_of(rest, end), &url, err);
    if (rc == CW_OK)
        *ret = url;
    return rc;
}
