/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rate_limits.h - rates of calls and lists, and limits of running calls.
 *
 * Calls that pass the gate are counted, each message of a batch on its own. Lists and descriptions are
 * counted separately. For anonymous callers the address alone counts, since they share one name.
 *
 * Limits of running calls of a tool or source are shared by caller, then by network: these take turns
 * (cw_fair_turns in base/fair.h). Calls that run without a client (notifications, and calls whose client disconnected) have slots of
 * their own: a total, a number for each caller, and fair shares (base/fair.h).
 *
 * Servers that share a PostgreSQL database share these rates. Limits of running calls are those of one
 * server.
 *
 * Threads: any; atomics, and a lock for calls without a client and for each tool or source with a
 *          limit of running calls.
 * Limits:  CW_BUCKETS_MAX callers or addresses; another one takes over a bucket of the others.
 *          CW_METERS_MAX tools or sources; those beyond have no limits.
 */
#ifndef CW_CALL_RATE_LIMITS_H
#define CW_CALL_RATE_LIMITS_H

#include "access/caller.h"
#include "base/fair.h"
#include "call/bucket.h"
#include "config/config.h"

#define CW_BUCKETS_MAX 16384u
#define CW_METERS_MAX 32768u

struct cw_call_request;

/* All zero: none. */
typedef struct cw_rate_limits {
    bool is_any;
    cw_rate global, address, caller, tool;
    cw_rate lists; /* of an authenticated caller, else of a network; not in is_any */
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
/* Count together with other servers (call/bucket.h); before the loops start. Borrowed. */
void cw_limiter_set_share(cw_limiter *l, cw_bucket_share *share);

/* The slots that a running call occupies. All zero: none. */
typedef struct cw_limiter_slot {
    cw_fair_turns *tool_in, *source_in;
    cw_fair_slots *detached_in, *crowd_in;
    cw_fair_group *tool, *source, *detached, *crowd;
} cw_limiter_slot;

/* Let the call start: CW_OK, and leave follows; CW_LIMIT with a text for the caller and the seconds
 * until a retry; CW_NOMEM. `now` is the monotonic clock in ns. */
CW_MUST_USE cw_code cw_limiter_enter(cw_limiter *l, const cw_rate_limits *limits,
                                     const struct cw_call_request *request, uint64_t now,
                                     cw_limiter_slot *ret, uint32_t *ret_retry_s, cw_err *err);
/* The same for a call without a client, in addition to cw_limiter_enter. CW_NOMEM. */
CW_MUST_USE cw_code cw_limiter_detach(cw_limiter *l, const cw_rate_limits *limits,
                                      const cw_fair_key *key, cw_limiter_slot *ret,
                                      uint32_t *ret_retry_s, cw_err *err);
/* The same for a crowded loop with only `left` free slots: a caller gets one while it holds fewer
 * of these slots than are free. CW_LIMIT, CW_NOMEM. */
CW_MUST_USE cw_code cw_limiter_enter_crowded(cw_fair_slots *crowd, const cw_fair_key *key,
                                             uint32_t left, cw_limiter_slot *ret);
void cw_limiter_leave(cw_limiter_slot *place);
/* The same for a list or a description, which occupies nothing. */
CW_MUST_USE cw_code cw_limiter_may_list(cw_limiter *l, const cw_rate_limits *limits,
                                        const cw_caller *caller, cw_str peer, uint64_t now,
                                        uint32_t *ret_retry_s, cw_err *err);

#endif
