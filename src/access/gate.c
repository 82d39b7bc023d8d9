/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gate.c - the checks of permissions, auth level and scopes. */
#include "access/gate.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/sort.h"

static const char *const level_names[] = {
    [CW_AUTH_NONE] = "none",
    [CW_AUTH_OPTIONAL] = "optional",
    [CW_AUTH_REQUIRED] = "required",
};

static bool lists_equal(const cw_str *a, size_t n_a, const cw_str *b, size_t n_b)
{
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++) {
        if (!cw_str_eq(a[i], b[i]))
            return false;
    }
    return true;
}

/* An odd factor, so that the order of the list changes the hash. cw_hash is seeded: a client cannot
 * choose strings that collide. */
static uint64_t hash_list(uint64_t h, const cw_str *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = h * UINT64_C(0x9E3779B97F4A7C15) + cw_hash(items[i]);
    return h * UINT64_C(0xD6E8FEB86659FD93) + n;
}

size_t cw_requirements_sort(cw_str *items, size_t n)
{
    if (n == 0)
        return 0;
    qsort(items, n, sizeof *items, cw_sort_texts);
    size_t kept = 1;
    for (size_t i = 1; i < n; i++) {
        if (!cw_str_eq(items[i], items[kept - 1]))
            items[kept++] = items[i];
    }
    return kept;
}

bool cw_requirements_are_empty(const cw_requirements *needs)
{
    return needs->n_permissions == 0 && needs->level != CW_AUTH_REQUIRED;
}

bool cw_requirements_equal(const cw_requirements *a, const cw_requirements *b)
{
    return a->level == b->level && a->hidden_unless_met == b->hidden_unless_met &&
           lists_equal(a->permissions, a->n_permissions, b->permissions, b->n_permissions) &&
           lists_equal(a->scopes, a->n_scopes, b->scopes, b->n_scopes);
}

uint64_t cw_requirements_hash(const cw_requirements *needs)
{
    uint64_t h = hash_list((uint64_t)needs->level * 2 + needs->hidden_unless_met,
                           needs->permissions, needs->n_permissions);
    return hash_list(h, needs->scopes, needs->n_scopes);
}

bool cw_auth_level_parse(cw_str text, cw_auth_level *ret)
{
    for (size_t i = 0; i < CW_COUNT(level_names); i++) {
        if (cw_str_is(text, level_names[i])) {
            *ret = (cw_auth_level)i;
            return true;
        }
    }
    return false;
}

cw_str cw_auth_level_name(cw_auth_level level)
{
    return cw_str_from(level_names[level]);
}

bool cw_visibility_parse(cw_str text, bool *ret_hides)
{
    bool hidden_unless_met = cw_str_is(text, "hide");
    if (!hidden_unless_met && !cw_str_is(text, "challenge"))
        return false;
    *ret_hides = hidden_unless_met;
    return true;
}

static bool step(cw_gate_trace *trace, const char *rule, cw_str what, bool passes)
{
    if (trace)
        trace->step(trace, rule, what, passes);
    return passes;
}

cw_verdict cw_gate_explain_permission(const cw_caller *caller, cw_str permission,
                                      cw_gate_trace *trace)
{
    if (step(trace, "permission", permission, cw_caller_may(caller, permission)))
        return CW_VERDICT_ALLOW;
    return cw_caller_is_anonymous(caller) ? CW_VERDICT_NEEDS_LOGIN : CW_VERDICT_FORBIDDEN;
}

cw_verdict cw_gate_permission(const cw_caller *caller, cw_str permission)
{
    return cw_gate_explain_permission(caller, permission, NULL);
}

/* All of them are looked at, so that a trace tells of all; this runs once per class of methods. */
static bool has_permissions(const cw_caller *caller, const cw_requirements *needs,
                            cw_gate_trace *trace)
{
    bool has_all = true;
    for (size_t i = 0; i < needs->n_permissions; i++) {
        cw_str permission = needs->permissions[i];
        if (!step(trace, "permission", permission, cw_caller_may(caller, permission)))
            has_all = false;
    }
    return has_all;
}

static bool has_scopes(const cw_caller *caller, const cw_requirements *needs, cw_gate_trace *trace)
{
    bool has_all = true;
    for (size_t i = 0; i < needs->n_scopes; i++) {
        cw_str scope = needs->scopes[i];
        if (!step(trace, "scope", scope, cw_caller_has_scope(caller, scope)))
            has_all = false;
    }
    return has_all;
}

/* By level and scopes alone. */
static cw_verdict check_auth(const cw_caller *caller, const cw_requirements *needs,
                             cw_gate_trace *trace)
{
    bool is_required = needs->level == CW_AUTH_REQUIRED;
    bool passes = !is_required || !cw_caller_is_anonymous(caller);
    if (!step(trace, "level", cw_auth_level_name(needs->level), passes))
        return CW_VERDICT_NEEDS_LOGIN;
    if (!is_required || needs->n_scopes == 0)
        return CW_VERDICT_ALLOW;
    if (!step(trace, "token", CW_STR("scopes need a token"), cw_caller_has_token(caller)))
        return CW_VERDICT_NEEDS_LOGIN;
    return has_scopes(caller, needs, trace) ? CW_VERDICT_ALLOW : CW_VERDICT_NEEDS_SCOPES;
}

cw_verdict cw_gate_explain(const cw_caller *caller, const cw_requirements *needs,
                           cw_gate_trace *trace)
{
    if (!has_permissions(caller, needs, trace))
        return CW_VERDICT_HIDDEN;
    cw_verdict verdict = check_auth(caller, needs, trace);
    if (verdict == CW_VERDICT_ALLOW)
        return verdict;
    bool hidden_unless_met = needs->hidden_unless_met || cw_caller_cannot_log_in(caller);
    bool shows = step(trace, "visibility", hidden_unless_met ? CW_STR("hide") : CW_STR("challenge"),
                      !hidden_unless_met);
    return shows ? verdict : CW_VERDICT_HIDDEN;
}

cw_verdict cw_gate_check(const cw_caller *caller, const cw_requirements *needs)
{
    return cw_gate_explain(caller, needs, NULL);
}
