/* SPDX-License-Identifier: GPL-2.0-or-later */
/* filter.c - compares records with wanted values. */
#include "audit/filter.h"

const char cw_audit_kinds[] = "call, refusal, login, change, consent, grant, task, lost";
const char cw_audit_outcomes[] =
    "ok, error, failed, asks, cancelled, invalid, unavailable, hidden, login, scopes, forbidden, "
    "too_many, wrong, clear_text, forged, logout, allowed, denied, issued, refreshed, revoked, "
    "reused, created, answered, cancel, completed";

bool cw_audit_is_word(const char *list, cw_str word)
{
    for (cw_str rest = cw_str_from(list); rest.p;) {
        if (cw_str_eq(cw_str_trim(cw_str_cut(rest, ',', &rest)), word))
            return true;
    }
    return false;
}

static cw_str text_of(const cw_json *record, const char *name)
{
    const cw_json *v = cw_json_get(record, cw_str_from(name));
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
}

static bool is_one_of(const cw_json *record, const char *a, const char *b, cw_str wanted)
{
    return !wanted.n || cw_str_eq(text_of(record, a), wanted) ||
           (b && cw_str_eq(text_of(record, b), wanted));
}

/* Times are all written alike, so their order is that of their texts. */
bool cw_audit_filter_matches(const cw_audit_filter *f, const cw_json *record)
{
    return cw_str_cmp(text_of(record, "time"), cw_str_from(f->since)) >= 0 &&
           is_one_of(record, "caller", "caller_id", f->caller) &&
           is_one_of(record, "method", "tool", f->tool) &&
           is_one_of(record, "outcome", NULL, f->outcome) &&
           is_one_of(record, "kind", NULL, f->kind);
}
