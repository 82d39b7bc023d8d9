/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log_limit.h - which lines of one kind are written if they repeat.
 *
 * Lines are counted by a name: the network of a client, or a source. The first lines of a name in an
 * interval are written at once. The others are counted, and the count is reported when the interval
 * has ended.
 *
 *     line      1 … 30     31 … 4741                     4742 …
 *     result    written    counted: "4711 more", once    written: the next interval
 *
 * The table has a fixed size. A name for which its set has no place shares the entry whose interval
 * began first, so any number of names causes maximum CW_LOG_LIMIT_NAMES * (CW_LOG_LIMIT_LINES + 1)
 * lines in an interval.
 *
 * Ownership: names are copied. A zeroed struct is ready.
 * Threads:   those of the caller, who has a lock.
 * Limits:    CW_LOG_LIMIT_NAMES names; CW_LOG_LIMIT_NAME - 1 bytes of a name.
 */
#ifndef CW_BASE_LOG_LIMIT_H
#define CW_BASE_LOG_LIMIT_H

#include <stdbool.h>

#include "base/str.h"

#define CW_LOG_LIMIT_LINES 30u
#define CW_LOG_LIMIT_MS 60000u
#define CW_LOG_LIMIT_NAMES 64u
#define CW_LOG_LIMIT_NAME 64u

typedef struct cw_log_limit_entry {
    uint64_t hash;     /* of the name */
    uint64_t began;    /* the interval */
    uint64_t left_out; /* lines of it that are not reported yet */
    uint32_t written;  /* lines of it; 0: the entry is free */
    bool is_shared;    /* with other names */
    char name[CW_LOG_LIMIT_NAME];
} cw_log_limit_entry;

typedef struct cw_log_limit {
    cw_log_limit_entry entries[CW_LOG_LIMIT_NAMES];
} cw_log_limit;

/* Lines that were left out. */
typedef struct cw_log_limit_report {
    uint64_t count;               /* 0: nothing is to be reported */
    uint64_t ms;                  /* since the interval began */
    char name[CW_LOG_LIMIT_NAME]; /* empty: of several names, or without a name */
} cw_log_limit_report;

typedef enum cw_log_limit_fate {
    CW_LOG_LIMIT_WRITE,
    CW_LOG_LIMIT_COUNT,
    CW_LOG_LIMIT_COUNT_FIRST, /* it is the first one of its interval: a report becomes due */
} cw_log_limit_fate;

/* Decide about a line. *ret receives the count of an interval that this line ends: report it first.
 * `now` is the monotonic clock in ms. */
CW_MUST_USE cw_log_limit_fate cw_log_limit_take(cw_log_limit *l, cw_str name, uint64_t now,
                                                cw_log_limit_report *ret);
/* Take the next count of an interval that has ended, or (`all`) of any interval. False: none. */
CW_MUST_USE bool cw_log_limit_next(cw_log_limit *l, uint64_t now, bool all,
                                   cw_log_limit_report *ret);
/* When the next count is due; UINT64_MAX: none is. */
uint64_t cw_log_limit_due(const cw_log_limit *l);

#endif
