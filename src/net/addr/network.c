/* SPDX-License-Identifier: GPL-2.0-or-later */
/* network.c - the networks of an address, as hashes. */
#include "net/addr/network.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "base/map.h"

static const unsigned prefix_bytes[CW_NETWORK_LEVELS] = {8, 7, 6};
static const char *const suffixes[CW_NETWORK_LEVELS] = {"", "/56", "/48"};

static bool is_v6(cw_str address, struct in6_addr *ret)
{
    char text[INET6_ADDRSTRLEN];
    if (address.n >= sizeof text || !address.n || !memchr(address.p, ':', address.n))
        return false;
    memcpy(text, address.p, address.n);
    text[address.n] = 0;
    return inet_pton(AF_INET6, text, ret) == 1;
}

/* How many levels differ for this address: CW_NETWORK_LEVELS for IPv6, else 1. */
static unsigned levels_of(cw_str address)
{
    struct in6_addr ip;
    return is_v6(address, &ip) && !IN6_IS_ADDR_V4MAPPED(&ip) ? CW_NETWORK_LEVELS : 1;
}

cw_str cw_network_text(cw_str address, unsigned level, char out[CW_NETWORK_TEXT])
{
    struct in6_addr ip;
    char text[INET6_ADDRSTRLEN];
    if (!is_v6(address, &ip))
        return address;
    if (IN6_IS_ADDR_V4MAPPED(&ip))
        return cw_str_from(inet_ntop(AF_INET, ip.s6_addr + 12, out, CW_NETWORK_TEXT));
    unsigned n = prefix_bytes[level];
    memset(ip.s6_addr + n, 0, sizeof ip.s6_addr - n);
    inet_ntop(AF_INET6, &ip, text, sizeof text);
    snprintf(out, CW_NETWORK_TEXT, "%s%s", text, suffixes[level]);
    return cw_str_from(out);
}

void cw_network_of(cw_str address, cw_network *ret)
{
    char text[CW_NETWORK_TEXT];
    for (unsigned i = 0; i < CW_NETWORK_LEVELS; i++)
        ret->keys[i] = cw_hash(cw_network_text(address, i, text));
}

cw_fair_key cw_network_key(const cw_network *network)
{
    return (cw_fair_key){{network->keys[2], network->keys[1], network->keys[0]}};
}

cw_fair_key cw_network_fair_key(cw_str address)
{
    CW_UNINIT char text[CW_NETWORK_TEXT];
    bool is_plain = !address.n || !memchr(address.p, ':', address.n);
    uint64_t hash = cw_hash(is_plain ? address : cw_network_text(address, 0, text));
    cw_fair_key key = {{hash, hash, hash}};
    if (is_plain || levels_of(address) == 1)
        return key;
    for (unsigned level = 1; level < CW_NETWORK_LEVELS; level++)
        key.at[CW_FAIR_LEVELS - 1 - level] = cw_hash(cw_network_text(address, level, text));
    return key;
}
