/* SPDX-License-Identifier: GPL-2.0-or-later */
/* address.c - parses and formats socket addresses. */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>

#include "net/addr/listener.h"

static cw_code parse_unix(cw_str path, cw_address *ret, cw_err *err)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&ret->sa;
    if (path.n == 0 || path.n >= sizeof un->sun_path || memchr(path.p, 0, path.n))
        return cw_fail(err, CW_PARAMS, "a unix socket path has 1 to %zu characters",
                       sizeof un->sun_path - 1);
    memset(&ret->sa, 0, sizeof ret->sa);
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, path.p, path.n);
    ret->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.n + 1);
    return CW_OK;
}

/* Split "host:port" or "[v6]:port". */
static bool split_port(cw_str text, cw_str *host, cw_str *port)
{
    if (text.n && text.p[0] == '[') {
        const char *end = memchr(text.p, ']', text.n);
        if (!end || end + 1 == text.p + text.n || end[1] != ':')
            return false;
        *host = cw_str_make(text.p + 1, (size_t)(end - text.p - 1));
        *port = cw_str_make(end + 2, (size_t)(text.p + text.n - end - 2));
        return true;
    }
    const char *colon = memchr(text.p, ':', text.n);
    if (!colon)
        return false;
    *host = cw_str_make(text.p, (size_t)(colon - text.p));
    *port = cw_str_make(colon + 1, (size_t)(text.p + text.n - colon - 1));
    return true;
}

cw_code cw_address_parse(cw_str text, cw_address *ret, cw_err *err)
{
    if (cw_str_starts(text, CW_STR("unix:")))
        return parse_unix(cw_str_make(text.p + 5, text.n - 5), ret, err);
    cw_str host, port;
    uint64_t number;
    char name[256];
    char service[8];
    if (!split_port(text, &host, &port) || host.n == 0 || host.n >= sizeof name)
        return cw_fail(err, CW_PARAMS,
                       "'%.*s' is no address; expected HOST:PORT, [IPV6]:PORT or unix:PATH",
                       CW_STR_ARG(text));
    if (!cw_str_to_u64(port, &number) || number > 65535)
        return cw_fail(err, CW_PARAMS, "'%.*s': the port is a number from 0 to 65535",
                       CW_STR_ARG(text));
    memcpy(name, host.p, host.n);
    name[host.n] = 0;
    snprintf(service, sizeof service, "%u", (unsigned)number);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found;
    int rc = getaddrinfo(name, service, &hints, &found);
    if (rc)
        return cw_fail(err, CW_PARAMS, "'%.*s': %s", CW_STR_ARG(text), gai_strerror(rc));
    memset(&ret->sa, 0, sizeof ret->sa);
    memcpy(&ret->sa, found->ai_addr, found->ai_addrlen);
    ret->len = found->ai_addrlen;
    freeaddrinfo(found);
    return CW_OK;
}

/* For every request, and inet_ntop goes through printf. `out` has room. */
static void format_v4(const struct in_addr *address, char *out)
{
    unsigned char bytes[4];
    memcpy(bytes, address, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        unsigned n = bytes[i];
        if (n >= 100)
            *out++ = (char)('0' + n / 100);
        if (n >= 10)
            *out++ = (char)('0' + n / 10 % 10);
        *out++ = (char)('0' + n % 10);
        *out++ = i < 3 ? '.' : '\0';
    }
}

void cw_address_format_host(const cw_address *a, char *out, size_t n)
{
    if (n)
        out[0] = 0;
    if (a->sa.ss_family == AF_INET && n >= INET_ADDRSTRLEN)
        format_v4(&((const struct sockaddr_in *)&a->sa)->sin_addr, out);
    else if (a->sa.ss_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)&a->sa)->sin_addr, out, (socklen_t)n);
    else if (a->sa.ss_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)&a->sa)->sin6_addr, out, (socklen_t)n);
    else
        snprintf(out, n, "unix");
}

uint16_t cw_address_port(const cw_address *a)
{
    if (a->sa.ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)&a->sa)->sin_port);
    if (a->sa.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)&a->sa)->sin6_port);
    return 0;
}

void cw_address_format(const cw_address *a, char *out, size_t n)
{
    char host[INET6_ADDRSTRLEN + 1];
    cw_address_format_host(a, host, sizeof host);
    if (a->sa.ss_family == AF_INET)
        snprintf(out, n, "%s:%u", host, cw_address_port(a));
    else if (a->sa.ss_family == AF_INET6)
        snprintf(out, n, "[%s]:%u", host, cw_address_port(a));
    else
        snprintf(out, n, "unix:%s", ((const struct sockaddr_un *)&a->sa)->sun_path);
}

bool cw_address_is_loopback(const cw_address *a)
{
    if (a->sa.ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)&a->sa)->sin_addr.s_addr) >> 24 == 127;
    if (a->sa.ss_family != AF_INET6)
        return true;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)&a->sa)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}
