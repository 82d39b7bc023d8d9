/* SPDX-License-Identifier: GPL-2.0-or-later */
/* filter.h - selects records of an audit by their members.
 *
 * Ownership: borrows.
 * Threads:   no state.
 */
#ifndef CW_AUDIT_FILTER_H
#define CW_AUDIT_FILTER_H

#include "base/clock.h"
#include "json/json.h"

/* The words of records, as docs/audit.md explains them. */
extern const char cw_audit_kinds[];    /* "call, refusal, …" */
extern const char cw_audit_outcomes[]; /* "ok, error, …" */
/* Whether a word is in one of these lists. */
bool cw_audit_is_word(const char *list, cw_str word);

/* The wanted values; empty: all. */
typedef struct cw_audit_filter {
    cw_str caller; /* name or id */
    cw_str tool;   /* name, or id of the method */
    cw_str outcome, kind;
    char since[CW_CLOCK_ISO_LEN + 1]; /* "": from the beginning */
} cw_audit_filter;

bool cw_audit_filter_matches(const cw_audit_filter *f, const cw_json *record);

#endif
