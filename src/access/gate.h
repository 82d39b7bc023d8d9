/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gate.h - the one place that decides whether a caller may use a method.
 *
 * Default deny. Permissions decide whether a method exists for a caller. Auth level and scopes
 * decide whether the caller gets a challenge: to log in, or to obtain more scopes. Methods with
 * equal requirements share a verdict (catalogue/view.h checks once per class), so a list does not
 * check each tool.
 *
 * Ownership: borrows.
 * Threads:   no state.
 */
#ifndef CW_ACCESS_GATE_H
#define CW_ACCESS_GATE_H

#include "access/caller.h"

typedef enum cw_auth_level {
    CW_AUTH_NONE,
    CW_AUTH_OPTIONAL,
    CW_AUTH_REQUIRED,
} cw_auth_level;

/* The requirements of a method. */
typedef struct cw_requirements {
    const cw_str *permissions; /* all of them */
    size_t n_permissions;
    cw_auth_level level; /* the effective one: seed table, scopes without level are REQUIRED */
    const cw_str *scopes;
    size_t n_scopes;
    bool hidden_unless_met; /* `visibility: hide`: hidden from callers who would get a challenge */
} cw_requirements;

typedef enum cw_verdict {
    CW_VERDICT_ALLOW,
    CW_VERDICT_HIDDEN,      /* as if it did not exist */
    CW_VERDICT_NEEDS_LOGIN, /* listed; a call needs credentials, or a token instead of a password */
    CW_VERDICT_FORBIDDEN,   /* visible, but not allowed for this caller */
    CW_VERDICT_NEEDS_SCOPES, /* listed; a call needs a token with more scopes */
} cw_verdict;

/* A general permission (discover, call): ALLOW, NEEDS_LOGIN for the anonymous, else FORBIDDEN. */
cw_verdict cw_gate_permission(const cw_caller *caller, cw_str permission);
/* Whether this method exists for the caller, and may be called: HIDDEN when one of its permissions
 * is missing. With the level REQUIRED: NEEDS_LOGIN for the anonymous, and for an account without a token
 * if it has scopes (a password never satisfies them); NEEDS_SCOPES when the token lacks one. With
 * hidden_unless_met, and for a caller who cannot log in, both are HIDDEN. Else ALLOW. */
cw_verdict cw_gate_check(const cw_caller *caller, const cw_requirements *needs);

/* Called for each rule, in order, by the code that decides. */
typedef struct cw_gate_trace {
    /* `rule` is "permission", "level", "token", "scope" or "visibility"; `what` is the requirement. */
    void (*step)(struct cw_gate_trace *trace, const char *rule, cw_str what, bool passes);
} cw_gate_trace;

/* The two above with a trace; NULL is fine. */
cw_verdict cw_gate_explain_permission(const cw_caller *caller, cw_str permission,
                                      cw_gate_trace *trace);
cw_verdict cw_gate_explain(const cw_caller *caller, const cw_requirements *needs,
                           cw_gate_trace *trace);

/* "challenge" or "hide"; false and *ret_hides untouched otherwise. */
bool cw_visibility_parse(cw_str text, bool *ret_hides);
/* "none", "optional" or "required"; false and *ret untouched otherwise. */
bool cw_auth_level_parse(cw_str text, cw_auth_level *ret);
/* And back. */
cw_str cw_auth_level_name(cw_auth_level level);
/* Sort a list of permissions and drop duplicates. Returns the new length. */
size_t cw_requirements_sort(cw_str *items, size_t n);
/* Whether two methods have the same requirements in the same order. Permissions are sorted; scopes
 * keep the order of their declaration, because a challenge lists them so. */
bool cw_requirements_equal(const cw_requirements *a, const cw_requirements *b);
/* Whether every caller that may call at all may use it. */
bool cw_requirements_are_empty(const cw_requirements *needs);
/* A seeded hash that agrees with cw_requirements_equal. */
uint64_t cw_requirements_hash(const cw_requirements *needs);

#endif
