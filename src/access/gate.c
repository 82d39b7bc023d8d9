/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/gate.h"

#include <stdlib.h>

#include "base/map.h"

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

/* An odd factor, so that the place of a string in its list counts. cw_hash is seeded: nobody
 * outside can choose strings whose sums meet. */
static uint64_t hash_list(uint64_t h, const cw_str *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = h * UINT64_C(0x9E3779B97F4A7C15) + cw_hash(items[i]);
    return h * UINT64_C(0xD6E8FEB86659FD93) + n;
}

static int compare(const void *a, const void *b)
{
    return cw_str_cmp(*(const cw_str *)a, *(const cw_str *)b);
}

size_t cw_needs_sort(cw_str *items, size_t n)
{
    if (n == 0)
        return 0;
    qsort(items, n, sizeof *items, compare);
    size_t kept = 1;
    for (size_t i = 1; i < n; i++) {
        if (!cw_str_eq(items[i], items[kept - 1]))
            items[kept++] = items[i];
    }
    return kept;
}

bool cw_needs_equal(const cw_needs *a, const cw_needs *b)
{
    return a->level == b->level && a->hides == b->hides &&
           lists_equal(a->permissions, a->n_permissions, b->permissions, b->n_permissions) &&
           lists_equal(a->scopes, a->n_scopes, b->scopes, b->n_scopes);
}

uint64_t cw_needs_hash(const cw_needs *needs)
{
    uint64_t h = hash_list((uint64_t)needs->level * 2 + needs->hides, needs->permissions,
                           needs->n_permissions);
    return hash_list(h, needs->scopes, needs->n_scopes);
}

bool cw_auth_level_parse(cw_str text, cw_auth_level *ret)
{
    static const char *const names[] = {
        [CW_AUTH_NONE] = "none",
        [CW_AUTH_OPTIONAL] = "optional",
        [CW_AUTH_REQUIRED] = "required",
    };
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        if (cw_str_is(text, names[i])) {
            *ret = (cw_auth_level)i;
            return true;
        }
    }
    return false;
}

bool cw_visibility_parse(cw_str text, bool *ret_hides)
{
    bool hides = cw_str_is(text, "hide");
    if (!hides && !cw_str_is(text, "challenge"))
        return false;
    *ret_hides = hides;
    return true;
}

cw_verdict cw_gate_permission(const cw_caller *caller, cw_str permission)
{
    if (cw_caller_may(caller, permission))
        return CW_VERDICT_ALLOW;
    return cw_caller_is_anonymous(caller) ? CW_VERDICT_LOGIN : CW_VERDICT_FORBIDDEN;
}

static bool has_scopes(const cw_caller *caller, const cw_needs *needs)
{
    for (size_t i = 0; i < needs->n_scopes; i++) {
        if (!cw_caller_has_scope(caller, needs->scopes[i]))
            return false;
    }
    return true;
}

/* By level and scopes alone. */
static cw_verdict judge_auth(const cw_caller *caller, const cw_needs *needs)
{
    if (needs->level != CW_AUTH_REQUIRED)
        return CW_VERDICT_ALLOW;
    if (cw_caller_is_anonymous(caller))
        return CW_VERDICT_LOGIN;
    if (needs->n_scopes == 0)
        return CW_VERDICT_ALLOW;
    if (!cw_caller_has_token(caller))
        return CW_VERDICT_LOGIN;
    return has_scopes(caller, needs) ? CW_VERDICT_ALLOW : CW_VERDICT_SCOPES;
}

cw_verdict cw_gate_judge(const cw_caller *caller, const cw_needs *needs)
{
    for (size_t i = 0; i < needs->n_permissions; i++) {
        if (!cw_caller_may(caller, needs->permissions[i]))
            return CW_VERDICT_HIDDEN;
    }
    cw_verdict verdict = judge_auth(caller, needs);
    return verdict != CW_VERDICT_ALLOW && needs->hides ? CW_VERDICT_HIDDEN : verdict;
}
