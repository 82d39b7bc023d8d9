/* SPDX-License-Identifier: GPL-2.0-or-later */
/* breaker.h - a circuit breaker: no calls after repeated failures, and a trial call after a pause.
 *
 *     closed ──rule.failures failures, no success──► open ──pause──► one trial call
 *        ▲                                             ▲                 │
 *        │                                             └──── failed ─────┤ the pause doubles
 *        └──────────────────────────── succeeded ────────────────────────┘
 *
 * Ownership: embedded; a zeroed breaker is closed.
 * Threads:   any. The variables are read and written one by one: two concurrent threads may let one
 *            more call through or pause a little longer.
 */
#ifndef CW_SOURCE_BREAKER_H
#define CW_SOURCE_BREAKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

typedef struct cw_breaker_rule {
    uint32_t failures;  /* that open it */
    uint32_t window_ms; /* within this time of the first one; 0: any time */
    uint32_t pause_min_ms, pause_max_ms;
} cw_breaker_rule;

typedef struct cw_breaker {
    atomic_uint failures; /* without a success in between */
    atomic_uint pause_ms;
    _Atomic uint64_t first;      /* when the first of the failures was */
    _Atomic uint64_t open_until; /* 0: closed */
    atomic_bool trial;           /* a trial call is under way */
} cw_breaker;

bool cw_breaker_is_open(const cw_breaker *b);
/* Whether it is open and its pause is not over. */
bool cw_breaker_is_paused(const cw_breaker *b, uint64_t now);
/* Whether a call may be made. With *ret_trial it is a trial: report its end with `trial` set. */
bool cw_breaker_allow(cw_breaker *b, uint64_t now, bool *ret_trial);
void cw_breaker_success(cw_breaker *b, bool trial);
void cw_breaker_failure(cw_breaker *b, const cw_breaker_rule *rule, bool trial, uint64_t now);
/* The call ended without a success or a failure. */
void cw_breaker_neutral(cw_breaker *b, bool trial);

#endif
