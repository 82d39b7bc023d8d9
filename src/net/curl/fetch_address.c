/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fetch_address.c - which URLs and addresses may be asked: the defence against being used to reach
 * what only we can reach. Default deny: of IPv6 only the global part is public. */
#include <netinet/in.h>

#include "net/curl/fetch.h"
#include "net/http/hostcheck.h"

#define NAME_MAX_LEN 253u
#define FIRST_FREE_PORT 1024u

typedef enum kind {
    PUBLIC,
    PRIVATE, /* this machine, or a private network */
    NEVER,
} kind;

typedef struct v4_range {
    uint32_t address;
    unsigned bits;
    kind kind;
} v4_range;

#define V4(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (d))

static const v4_range v4_ranges[] = {
    {V4(0, 0, 0, 0), 8, NEVER},        /* this network */
    {V4(10, 0, 0, 0), 8, PRIVATE},     /* RFC 1918 */
    {V4(100, 64, 0, 0), 10, PRIVATE},  /* carriers, RFC 6598 */
    {V4(127, 0, 0, 0), 8, PRIVATE},    /* loopback */
    {V4(169, 254, 0, 0), 16, NEVER},   /* link-local: clouds keep credentials there */
    {V4(172, 16, 0, 0), 12, PRIVATE},  /* RFC 1918 */
    {V4(192, 0, 0, 0), 24, NEVER},     /* protocol assignments */
    {V4(192, 0, 2, 0), 24, NEVER},     /* documentation */
    {V4(192, 88, 99, 0), 24, NEVER},   /* 6to4 relays */
    {V4(192, 168, 0, 0), 16, PRIVATE}, /* RFC 1918 */
    {V4(198, 18, 0, 0), 15, NEVER},    /* benchmarks */
    {V4(198, 51, 100, 0), 24, NEVER},  /* documentation */
    {V4(203, 0, 113, 0), 24, NEVER},   /* documentation */
    {V4(224, 0, 0, 0), 4, NEVER},      /* multicast */
    {V4(240, 0, 0, 0), 4, NEVER},      /* reserved, broadcast */
};

static kind kind_of_v4(uint32_t address)
{
    for (size_t i = 0; i < CW_COUNT(v4_ranges); i++) {
        if ((address ^ v4_ranges[i].address) >> (32 - v4_ranges[i].bits) == 0)
            return v4_ranges[i].kind;
    }
    return PUBLIC;
}

static uint32_t v4_at(const unsigned char *b)
{
    return V4(b[0], b[1], b[2], b[3]);
}

static bool begins(const unsigned char b[16], const unsigned char *prefix, size_t n)
{
    return memcmp(b, prefix, n) == 0;
}

/* Addresses that stand for one of IPv4 are judged as that one. */
static kind kind_of_v6(const unsigned char b[16])
{
    static const unsigned char loopback[16] = {[15] = 1};
    static const unsigned char mapped[12] = {[10] = 0xFF, [11] = 0xFF};
    static const unsigned char nat64[12] = {0x00, 0x64, 0xFF, 0x9B};
    static const unsigned char teredo[4] = {0x20, 0x01, 0x00, 0x00};
    static const unsigned char documentation[4] = {0x20, 0x01, 0x0D, 0xB8};
    if (begins(b, loopback, 16))
        return PRIVATE;
    if (begins(b, mapped, sizeof mapped) || begins(b, nat64, sizeof nat64))
        return kind_of_v4(v4_at(b + 12));
    if (b[0] == 0x20 && b[1] == 0x02) /* 6to4 */
        return kind_of_v4(v4_at(b + 2));
    if ((b[0] & 0xFE) == 0xFC) /* unique local */
        return PRIVATE;
    bool is_global = (b[0] & 0xE0) == 0x20;
    bool is_special = begins(b, teredo, 4) || begins(b, documentation, 4);
    return is_global && !is_special ? PUBLIC : NEVER;
}

static const char *check_port(unsigned port, bool is_clear)
{
    return port == (is_clear ? 80 : 443) || port >= FIRST_FREE_PORT
               ? NULL
               : "its port belongs to another service";
}

const char *cw_fetch_check_address(const struct sockaddr *address, bool allow_private,
                                   bool is_clear)
{
    kind k = NEVER;
    unsigned port = 0;
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
        k = kind_of_v4(ntohl(v4->sin_addr.s_addr));
        port = ntohs(v4->sin_port);
    } else if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
        k = kind_of_v6(v6->sin6_addr.s6_addr);
        port = ntohs(v6->sin6_port);
    }
    if (k == NEVER)
        return "its address is none that may be asked";
    if (k == PRIVATE && !allow_private)
        return "its address is private, and allow_private is not set";
    if (k == PUBLIC && is_clear)
        return "http:// is for private addresses only";
    return check_port(port, is_clear);
}

static cw_str authority_of(cw_str rest)
{
    size_t n = 0;
    while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?' && rest.p[n] != '#')
        n++;
    return cw_str_make(rest.p, n);
}

const char *cw_fetch_check_url(cw_str url, bool allow_private)
{
    static const cw_str https = CW_STR_INIT("https://"), http = CW_STR_INIT("http://");
    bool is_clear = cw_str_starts(url, http);
    if (!is_clear && !cw_str_starts(url, https))
        return "it is no https:// URL";
    if (is_clear && !allow_private)
        return "it is no https:// URL, and allow_private is not set";
    if (url.n > CW_FETCH_MAX_URL)
        return "the URL is too long";
    for (size_t i = 0; i < url.n; i++) {
        if (url.p[i] <= ' ' || url.p[i] > '~' || url.p[i] == '\\')
            return "the URL has characters that must be percent-encoded";
    }
    if (memchr(url.p, '#', url.n))
        return "the URL has a fragment";
    size_t n = is_clear ? http.n : https.n;
    cw_str authority = authority_of(cw_str_make(url.p + n, url.n - n));
    if (authority.n == 0 || authority.n > NAME_MAX_LEN || memchr(authority.p, '@', authority.n) ||
        !cw_host_is_valid(authority))
        return "the URL has no host, or more than that";
    return NULL;
}
