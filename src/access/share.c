/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/share.h"

#include "base/map.h"
#include "net/network.h"

/* The id of an account may be the text of an address. */
#define ACCOUNT UINT64_C(0x9e3779b97f4a7c15)

static cw_fair_key key_of_network(cw_str peer)
{
    char text[CW_NETWORK_TEXT];
    uint64_t hash = cw_hash(cw_network_text(peer, 0, text));
    cw_fair_key key = {{hash, hash, hash}};
    if (cw_network_levels(peer) == 1)
        return key;
    for (unsigned level = 1; level < CW_NETWORK_LEVELS; level++)
        key.at[CW_FAIR_LEVELS - 1 - level] = cw_hash(cw_network_text(peer, level, text));
    return key;
}

static bool is_anonymous(const cw_caller *caller)
{
    return !caller || cw_caller_is_anonymous(caller);
}

cw_str cw_share_name(const cw_caller *caller, cw_str peer)
{
    return is_anonymous(caller) ? peer : cw_caller_id(caller);
}

cw_fair_key cw_share_key(const cw_caller *caller, cw_str peer)
{
    if (is_anonymous(caller))
        return key_of_network(peer);
    uint64_t hash = cw_hash(cw_caller_id(caller)) ^ ACCOUNT;
    return (cw_fair_key){{hash, hash, hash}};
}
