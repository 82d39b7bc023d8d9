/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lint.h - warnings about the declarations of a source.
 *
 * None of them prevents loading: unknown scopes and annotations, which are often typing errors,
 * permissions that no role has, schemas that clients may interpret differently
 * (schema/rewrite/draft_diff.h), schemas that cannot be made portable (schema/rewrite/portable.h),
 * and invalid declarations of headers (catalogue/tool/param_headers.h). They are logged
 * when a source is loaded; `plugin check` prints them for the plugin's author.
 *
 * Ownership: a note lives as long as the call of fn.
 * Threads:   no state.
 */
#ifndef CW_CATALOGUE_LINT_H
#define CW_CATALOGUE_LINT_H

#include "catalogue/method_schemas.h"

typedef struct cw_lint_finding {
    cw_str method;
    cw_str scope;      /* empty: it is about something else */
    cw_str annotation; /* likewise */
    cw_str permission; /* likewise */
    cw_str param;      /* whose schema; empty: the result's */
    bool is_input;     /* it is about all params together */
    cw_str pointer;
    cw_str keyword;
    const char *text;  /* "ignored in 2020-12, which has …" */
    cw_str suggestion; /* of an annotation or permission: the nearest that is known; empty: none */
    bool is_minor;     /* likely meant: an annotation of its author's own */
} cw_lint_finding;

/* False: stop. */
typedef bool (*cw_lint_fn)(const cw_lint_finding *finding, void *ctx);

typedef struct cw_lint_opts {
    cw_schema_policy policy;
    const cw_str *scopes; /* known besides those of access/scopes.h */
    size_t n_scopes;
    const cw_str *permissions; /* that some role has; NULL: not known, and not asked */
    size_t n_permissions;
    bool annotations; /* look at annotations: they are ours to correct */
    bool portable;    /* rewrite schemas, to find those that every model API cannot get */
} cw_lint_opts;

/* Call fn for every warning, until it returns false. Invalid schemas are skipped: the catalogue
 * rejects them. CW_NOMEM. */
CW_MUST_USE cw_code cw_lint(const cw_method *methods, size_t n, const cw_lint_opts *opts,
                            cw_lint_fn fn, void *ctx);
/* "method 'a.b': param 'tags': /items: an array is not allowed in 2020-12, which has prefixItems":
 * one line, since controls in names are escaped. */
void cw_lint_write(const cw_lint_finding *finding, cw_buf *out);

#endif
