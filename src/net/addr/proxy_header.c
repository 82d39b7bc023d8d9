/* SPDX-License-Identifier: GPL-2.0-or-later */
/* proxy_header.c - parses the header of the PROXY protocol. */
#include "net/addr/proxy_header.h"

#include <arpa/inet.h>
#include <string.h>

static const char v1_start[] = "PROXY ";
static const char v2_start[] = "\r\n\r\n\0\r\nQUIT\n";

#define V1_START (sizeof v1_start - 1)
#define V2_START (sizeof v2_start - 1)
/* Signature, command, family, length. */
#define V2_FIXED 16u
#define V2_V4_ADDRESSES 12u
#define V2_V6_ADDRESSES 36u
#define V2_UNIX_ADDRESSES 216u

static cw_code invalid(const char **ret_why, const char *why)
{
    *ret_why = why;
    return CW_INVALID;
}

static void set_v4(cw_address *a, const void *bytes, uint16_t port)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&a->sa;
    *v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
    memcpy(&v4->sin_addr, bytes, 4);
    a->len = sizeof *v4;
}

/* A client is counted by its address, so it has one form of it. */
static void set_v6(cw_address *a, const unsigned char *bytes, uint16_t port)
{
    static const unsigned char mapped[12] = {[10] = 0xFF, [11] = 0xFF};
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a->sa;
    if (memcmp(bytes, mapped, sizeof mapped) == 0) {
        set_v4(a, bytes + sizeof mapped, port);
        return;
    }
    *v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
    memcpy(&v6->sin6_addr, bytes, 16);
    a->len = sizeof *v6;
}

/* ---- version 1 ---- */

static bool read_ip(cw_str text, int family, unsigned char out[16])
{
    char copy[INET6_ADDRSTRLEN];
    if (text.n == 0 || text.n >= sizeof copy || memchr(text.p, 0, text.n))
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = 0;
    return inet_pton(family, copy, out) == 1;
}

static bool read_port(cw_str text, uint16_t *ret)
{
    uint64_t port;
    bool has_zero = text.n > 1 && text.p[0] == '0';
    if (text.n > 5 || has_zero || !cw_str_to_u64(text, &port) || port > UINT16_MAX)
        return false;
    *ret = (uint16_t)port;
    return true;
}

/* "203.0.113.9 192.0.2.1 56324 443" */
static bool read_addresses(cw_str text, int family, cw_address *ret)
{
    unsigned char from[16], to[16];
    uint16_t port, to_port;
    cw_str rest;
    if (!read_ip(cw_str_cut(text, ' ', &rest), family, from))
        return false;
    if (!rest.p || !read_ip(cw_str_cut(rest, ' ', &rest), family, to))
        return false;
    if (!rest.p || !read_port(cw_str_cut(rest, ' ', &rest), &port))
        return false;
    if (!rest.p || !read_port(rest, &to_port))
        return false;
    if (family == AF_INET)
        set_v4(ret, from, port);
    else
        set_v6(ret, from, port);
    return true;
}

static cw_code parse_v1(const char *p, size_t n, cw_proxy_header *ret, const char **ret_why)
{
    size_t max = n < CW_PROXY_HEADER_V1_MAX ? n : CW_PROXY_HEADER_V1_MAX;
    const char *end = memmem(p, max, "\r\n", 2);
    if (!end)
        return n < CW_PROXY_HEADER_V1_MAX ? CW_AGAIN
                                          : invalid(ret_why, "a line of more than 107 bytes");
    cw_str line = cw_str_make(p + V1_START, (size_t)(end - p) - V1_START), rest;
    cw_str family = cw_str_cut(line, ' ', &rest);
    *ret = (cw_proxy_header){.size = (size_t)(end - p) + 2};
    /* Receivers ignore the rest of such a line. */
    if (cw_str_is(family, "UNKNOWN"))
        return CW_OK;
    bool is_v4 = cw_str_is(family, "TCP4");
    if (!is_v4 && !cw_str_is(family, "TCP6"))
        return invalid(ret_why, "a protocol other than TCP4, TCP6 and UNKNOWN");
    if (!rest.p || !read_addresses(rest, is_v4 ? AF_INET : AF_INET6, &ret->client))
        return invalid(ret_why, "no two addresses and ports");
    ret->has_client = true;
    return CW_OK;
}

/* ---- version 2 ---- */

static size_t address_size(unsigned family)
{
    static const size_t sizes[] = {0, V2_V4_ADDRESSES, V2_V6_ADDRESSES, V2_UNIX_ADDRESSES};
    return family < CW_COUNT(sizes) ? sizes[family] : SIZE_MAX;
}

static uint16_t read_u16(const unsigned char *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static cw_code take_client(const unsigned char *p, cw_proxy_header *ret, const char **ret_why)
{
    unsigned family = p[13] >> 4, transport = p[13] & 15u;
    const unsigned char *at = p + V2_FIXED;
    if (address_size(family) > ret->size - V2_FIXED)
        return invalid(ret_why, "an unknown address family, or addresses that are too short");
    if (transport != (family ? 1u : 0u))
        return invalid(ret_why, "a transport other than a stream");
    ret->has_client = family == 1 || family == 2;
    if (family == 1)
        set_v4(&ret->client, at, read_u16(at + 8));
    else if (family == 2)
        set_v6(&ret->client, at, read_u16(at + 32));
    return CW_OK;
}

static cw_code parse_v2(const char *text, size_t n, cw_proxy_header *ret, const char **ret_why)
{
    const unsigned char *p = (const unsigned char *)text;
    if (n > 12 && p[12] != 0x20 && p[12] != 0x21)
        return invalid(ret_why, "an unknown version or command");
    if (n < V2_FIXED)
        return CW_AGAIN;
    *ret = (cw_proxy_header){.size = V2_FIXED + (size_t)read_u16(p + 14)};
    if (ret->size > CW_PROXY_HEADER_MAX)
        return invalid(ret_why, "more than 536 bytes");
    if (n < ret->size)
        return CW_AGAIN;
    bool is_local = p[12] == 0x20;
    return is_local ? CW_OK : take_client(p, ret, ret_why);
}

/* ---- both ---- */

static bool starts(const char *p, size_t n, const char *start, size_t n_start)
{
    return memcmp(p, start, n < n_start ? n : n_start) == 0;
}

cw_code cw_proxy_header_parse(const char *p, size_t n, cw_proxy_header *ret, const char **ret_why)
{
    if (n == 0)
        return CW_AGAIN;
    if (starts(p, n, v1_start, V1_START))
        return n < V1_START ? CW_AGAIN : parse_v1(p, n, ret, ret_why);
    if (starts(p, n, v2_start, V2_START))
        return parse_v2(p, n, ret, ret_why);
    return invalid(ret_why, "no header");
}
