/* SPDX-License-Identifier: GPL-2.0-or-later */
/* proxies.c - the client address behind trusted proxies. */
#include "net/addr/proxies.h"

#include <arpa/inet.h>
#include <stdlib.h>

/* IPv4 as IPv6, so that an address has one form. */
typedef struct network {
    unsigned char address[16];
    unsigned bits;
} network;

struct cw_proxies {
    bool has_unix;
    size_t n;
    network items[];
};

static const unsigned char mapped[12] = {[10] = 0xFF, [11] = 0xFF};

/* The number of bits that a prefix length counts from, or 0. */
static unsigned read_address(cw_str text, unsigned char out[16])
{
    char copy[INET6_ADDRSTRLEN];
    if (text.n == 0 || text.n >= sizeof copy || memchr(text.p, 0, text.n))
        return 0;
    memcpy(copy, text.p, text.n);
    copy[text.n] = 0;
    if (inet_pton(AF_INET6, copy, out) == 1)
        return 128;
    memcpy(out, mapped, sizeof mapped);
    return inet_pton(AF_INET, copy, out + 12) == 1 ? 32 : 0;
}

static bool read_network(cw_str text, network *ret)
{
    cw_str length;
    uint64_t bits;
    unsigned width = read_address(cw_str_cut(text, '/', &length), ret->address);
    bits = width;
    if (width == 0 || (length.p && (!cw_str_to_u64(length, &bits) || bits > width)))
        return false;
    ret->bits = 128 - width + (unsigned)bits;
    return true;
}

static bool contains(const network *n, const unsigned char address[16])
{
    size_t whole = n->bits / 8;
    unsigned rest = n->bits % 8;
    if (memcmp(n->address, address, whole) != 0)
        return false;
    return rest == 0 || ((n->address[whole] ^ address[whole]) >> (8 - rest)) == 0;
}

static bool bytes_of(const cw_address *a, unsigned char out[16])
{
    if (a->sa.ss_family == AF_INET6) {
        memcpy(out, &((const struct sockaddr_in6 *)&a->sa)->sin6_addr, 16);
        return true;
    }
    memcpy(out, mapped, sizeof mapped);
    memcpy(out + 12, &((const struct sockaddr_in *)&a->sa)->sin_addr, 4);
    return a->sa.ss_family == AF_INET;
}

cw_code cw_proxies_new(const cw_str *entries, size_t n, cw_proxies **ret, cw_err *err)
{
    cw_proxies *p = calloc(1, sizeof *p + n * sizeof *p->items);
    if (!p)
        return cw_fail_nomem(err);
    for (size_t i = 0; i < n; i++) {
        if (cw_str_is(entries[i], "unix")) {
            p->has_unix = true;
        } else if (read_network(entries[i], &p->items[p->n])) {
            p->n++;
        } else {
            free(p);
            return cw_fail(err, CW_PARAMS, "'%.*s' is no address and no network",
                           CW_STR_ARG(entries[i]));
        }
    }
    *ret = p;
    return CW_OK;
}

void cw_proxies_free(cw_proxies *p)
{
    free(p);
}

bool cw_proxies_has(const cw_proxies *p, const cw_address *peer)
{
    unsigned char address[16];
    if (!p)
        return false;
    if (!bytes_of(peer, address))
        return p->has_unix;
    for (size_t i = 0; i < p->n; i++) {
        if (contains(&p->items[i], address))
            return true;
    }
    return false;
}

/* "192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1", or one of the latter two in brackets; a port may
 * follow the first and the brackets. */
static bool read_client(cw_str text, cw_address *ret)
{
    unsigned char address[16] = {0};
    cw_str rest;
    cw_str host = cw_str_cut(text, ':', &rest);
    if (text.n && text.p[0] == '[')
        text = cw_str_cut(cw_str_make(text.p + 1, text.n - 1), ']', &rest);
    else if (rest.p && !memchr(rest.p, ':', rest.n)) /* no IPv6 address has only one colon */
        text = host;
    unsigned width = read_address(text, address);
    /* One client is one address, however its proxy writes it: it is counted by it. */
    bool is_v4 = memcmp(address, mapped, sizeof mapped) == 0;
    *ret = (cw_address){.sa = {.ss_family = is_v4 ? AF_INET : AF_INET6}};
    if (is_v4)
        memcpy(&((struct sockaddr_in *)&ret->sa)->sin_addr, address + 12, 4);
    else
        memcpy(&((struct sockaddr_in6 *)&ret->sa)->sin6_addr, address, 16);
    return width > 0;
}

bool cw_proxies_client(const cw_proxies *p, cw_str list, cw_address *ret)
{
    while (list.n) {
        size_t from = list.n;
        while (from > 0 && list.p[from - 1] != ',')
            from--;
        cw_str entry = cw_str_trim(cw_str_make(list.p + from, list.n - from));
        if (!entry.n || !read_client(entry, ret))
            return false;
        if (!cw_proxies_has(p, ret))
            return true;
        list.n = from ? from - 1 : 0;
    }
    return false;
}
