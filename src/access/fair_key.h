/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fair_key.h - which share of queues and counted places (base/fair.h) a caller has.
 *
 * An account is one caller, wherever it is. Anonymous callers differ by network: by their IPv4
 * address, or by /48, then /56, then /64.
 *
 * Threads: any.
 */
#ifndef CW_ACCESS_FAIR_KEY_H
#define CW_ACCESS_FAIR_KEY_H

#include "access/caller.h"
#include "base/fair.h"

/* NULL: the caller is not known yet, and counts as anonymous. `peer` is the address of the request
 * as text; empty: none, which counts as one network. */
cw_fair_key cw_caller_fair_key(const cw_caller *caller, cw_str peer);
/* The key of an account by the id of its callers (cw_caller_id). */
cw_fair_key cw_account_fair_key(cw_str id);
/* The same as a text, cheaply, without the networks: two that differ may be one caller. */
cw_str cw_caller_fair_name(const cw_caller *caller, cw_str peer);

#endif
