/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fair_key.c - keys of fair shares: an account, or the networks of an address. */
#include "access/fair_key.h"

#include "base/map.h"
#include "net/addr/network.h"

/* The id of an account may be the text of an address. */
#define ACCOUNT UINT64_C(0x9e3779b97f4a7c15)

static bool is_anonymous(const cw_caller *caller)
{
    return !caller || cw_caller_is_anonymous(caller);
}

cw_str cw_caller_fair_name(const cw_caller *caller, cw_str peer)
{
    return is_anonymous(caller) ? peer : cw_caller_id(caller);
}

cw_fair_key cw_account_fair_key(cw_str id)
{
    uint64_t hash = cw_hash(id) ^ ACCOUNT;
    return (cw_fair_key){{hash, hash, hash}};
}

cw_fair_key cw_caller_fair_key(const cw_caller *caller, cw_str peer)
{
    if (is_anonymous(caller))
        return cw_network_fair_key(peer);
    return cw_account_fair_key(cw_caller_id(caller));
}
