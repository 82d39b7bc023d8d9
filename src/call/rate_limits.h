/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rate_limits.h - how often, and how many at once, callers may call: what the configuration says,
 * and where it is counted.
 *
 * Counted are calls that the gate lets through, each message of a batch on its own; and on
 * their own, lists and descriptions.
 * The anonymous are many callers with one name: for them the address counts alone.
 *
 * Calls that run without a waiting client (notifications, and calls whose client left) have places
 * of their own, in all and for each caller, and each caller has a share of them (base/fair.h).
 *
 * Threads: any; atomics, and a lock for calls without a waiting client.
 * Limits:  access/ratelimit.h
 */
#ifndef CW_CALL_RATE_LIMITS_H
#define CW_CALL_RATE_LIMITS_H

#include "access/caller.h"
#include "access/ratelimit.h"
#include "base/fair.h"
#include "config/config.h"

struct cw_call_request;

/* All zero: none. */
typedef struct cw_rate_limits {
    bool is_any;
    cw_rate global, address, caller, tool;
    cw_rate lists; /* of one caller who has logged in, else of one network; not in is_any */
    uint32_t calls_per_tool, calls_per_source; /* 0: any number */
    uint32_t detached, detached_per_caller;    /* 0: the defaults */
    cw_config_limiteds tools, sources;         /* live as long as the configuration */
} cw_rate_limits;

cw_rate_limits cw_rate_limits_of(const cw_config *config);

typedef struct cw_limiter cw_limiter;

/* For all loops. */
CW_MUST_USE cw_code cw_limiter_new(cw_limiter **ret, cw_err *err);
/* NULL is fine. */
void cw_limiter_free(cw_limiter *l);

/* The slots that a running call occupies. All zero: none. */
typedef struct cw_limiter_slot {
    cw_meter *tool, *source;
    cw_fair_slots *detached_in, *crowd_in;
    cw_fair_group *detached, *crowd;
} cw_limiter_slot;

/* Let the call begin: CW_OK, and leave follows; or CW_LIMIT with a text for the caller and after
 * how many seconds it may try again. `now` is the monotonic clock in ns. */
CW_MUST_USE cw_code cw_limiter_enter(cw_limiter *l, const cw_rate_limits *limits,
                                     const struct cw_call_request *request, uint64_t now,
                                     cw_limiter_slot *ret, uint32_t *ret_retry_s, cw_err *err);
/* The same for running without a waiting client, beside what cw_limiter_enter took. CW_NOMEM. */
CW_MUST_USE cw_code cw_limiter_detach(cw_limiter *l, const cw_rate_limits *limits,
                                      const cw_fair_key *key, cw_limiter_slot *ret,
                                      uint32_t *ret_retry_s, cw_err *err);
/* The same for a call of a crowded loop, where only `left` more may run: one caller gets one more
 * while it holds fewer of these places than are left. CW_LIMIT, CW_NOMEM. */
CW_MUST_USE cw_code cw_limiter_enter_crowded(cw_fair_slots *crowd, const cw_fair_key *key,
                                             uint32_t left, cw_limiter_slot *ret);
void cw_limiter_leave(cw_limiter_slot *place);
/* The same for a list or a description, which occupies nothing. */
CW_MUST_USE cw_code cw_limiter_may_list(cw_limiter *l, const cw_rate_limits *limits,
                                        const cw_caller *caller, cw_str peer, uint64_t now,
                                        uint32_t *ret_retry_s, cw_err *err);

#endif
