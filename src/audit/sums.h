/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sums.h - counts the records of unauthenticated requests beyond a rate.
 *
 * Each network has a budget of records: one for requests that were refused, a larger one for calls
 * that ran. A record beyond the budget is counted by kind, outcome, door and network instead. The
 * count becomes one record after CW_AUDIT_SUM_MS.
 *
 *     record ─► budgets of its /64, /56 and /48 ─► written
 *                        │ one of them is spent
 *                        └─► count of that network ─► one record with the count
 *
 * A wider network holds more clients: its budget is CW_AUDIT_WIDER times that of the next narrower
 * one. The count belongs to the widest network whose budget is spent, so one network has few
 * counts. If all places for counts are taken, a record is counted without its address.
 *
 * Ownership: addresses are copied.
 * Threads:   those of the caller.
 * Limits:    CW_AUDIT_BUDGETS networks of each level, CW_AUDIT_SUMS counts.
 */
#ifndef CW_AUDIT_SUMS_H
#define CW_AUDIT_SUMS_H

#include "audit/audit.h"
#include "net/addr/network.h"

#define CW_AUDIT_BUDGETS 4096u
#define CW_AUDIT_SUMS 1024u
#define CW_AUDIT_OTHER_SUMS 64u
#define CW_AUDIT_WIDER 4u
#define CW_AUDIT_SUM_MS 60000u
/* The budget of the narrowest network: the time in ms that brings one record back. A minute brings
 * back all of them, so 60 refusals and 600 calls may come at once. */
#define CW_AUDIT_WINDOW_MS 60000u
#define CW_AUDIT_REFUSED_MS 1000u
#define CW_AUDIT_CALLED_MS 100u

#define CW_AUDIT_SUM_TEXT 129u /* with a NUL */

typedef struct cw_audit_budget {
    uint64_t hash;
    uint64_t full_at_us; /* the time when nothing of the budget is spent; 0: free */
} cw_audit_budget;

typedef struct cw_audit_sum {
    uint64_t network;
    uint64_t count; /* 0: free */
    uint64_t due_ms;
    int64_t since; /* wall clock, of the first counted record */
    const char *door, *outcome;
    cw_audit_kind kind;
    char address[CW_NETWORK_TEXT];
    /* Texts of the first record, truncated: a count of one becomes a record like others. */
    struct {
        char caller[CW_AUDIT_SUM_TEXT], method[CW_AUDIT_SUM_TEXT], detail[CW_AUDIT_SUM_TEXT];
        char address[CW_NETWORK_TEXT];
    } first;
} cw_audit_sum;

typedef struct cw_audit_sums {
    cw_audit_budget *budgets[CW_NETWORK_LEVELS];
    cw_audit_sum *items; /* CW_AUDIT_SUMS in sets, and the others behind them */
    uint64_t due_ms;     /* of the first count; UINT64_MAX: none */
} cw_audit_sums;

CW_MUST_USE cw_code cw_audit_sums_init(cw_audit_sums *s, cw_err *err);
/* A zeroed struct is fine. */
void cw_audit_sums_done(cw_audit_sums *s);
/* Count a record that is beyond the budgets. False: write it. `now_ms` is the monotonic clock. */
bool cw_audit_sums_count(cw_audit_sums *s, const cw_audit_record *record, const cw_network *network,
                         uint64_t now_ms);
/* The next count that is due at `now_ms`, from *at on (0 at first); NULL: no more. */
cw_audit_sum *cw_audit_sums_next(const cw_audit_sums *s, size_t *at, uint64_t now_ms);
/* The record of a count; that of one record has no count. It points into `sum`. */
cw_audit_record cw_audit_sum_record(const cw_audit_sum *sum);
/* Find the time of the first count again, after some were written and cleared (count = 0). */
void cw_audit_sums_refresh(cw_audit_sums *s);

#endif
