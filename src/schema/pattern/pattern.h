/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pattern.h - ECMA-262 regular expressions (Unicode mode) for `pattern` and `patternProperties`.
 *
 * Our own parser reads the pattern, so that what is legal does not depend on the
 * engine behind it; simple trees (literal, prefix, suffix, one class run, fixed
 * class sequences) are matched by us, the rest is translated to PCRE2 with JIT
 * and match limits.
 *
 * A match has three outcomes: a limit is never "no match", because under `not`
 * that would turn into "valid".
 *
 * Ownership: the caller frees a compiled pattern.
 * Threads:   a compiled pattern is immutable and may be shared; matching uses scratch space of the
 *            thread.
 * Limits:    CW_PATTERN_MAX bytes of pattern, CW_PATTERN_SUBJECT bytes of text that reach PCRE2,
 *            CW_PATTERN_MATCHES backtracking points of one match, and the caller's steps.
 */
#ifndef CW_SCHEMA_PATTERN_PATTERN_H
#define CW_SCHEMA_PATTERN_PATTERN_H

#include "base/err.h"
#include "base/str.h"

#define CW_PATTERN_MAX 4096u
#define CW_PATTERN_SUBJECT 65536u
#define CW_PATTERN_MATCHES 100000u
#define CW_PATTERN_NESTING 64u

typedef struct cw_pattern cw_pattern;

/* Compile. CW_PARAMS with what is wrong and where ("at 7: nothing to repeat"); CW_LIMIT; CW_NOMEM.
 * Escaped ASCII punctuation stands for itself, although Unicode mode forbids most of it. */
CW_MUST_USE cw_code cw_pattern_compile(cw_str text, cw_pattern **ret, cw_err *err);
/* NULL is fine. */
void cw_pattern_free(cw_pattern *pattern);

typedef enum cw_pattern_match {
    CW_PATTERN_NO,
    CW_PATTERN_YES,
    CW_PATTERN_TOO_HARD, /* a limit, or no memory */
} cw_pattern_match;

/* Whether the pattern matches anywhere in `text`, which must be valid UTF-8 (it came through the
 * JSON reader). No allocation when warm. *steps is what the match may cost, in steps of about 10 ns
 * (schema.h). It is reduced by what the match did cost; below 0 the outcome is
 * CW_PATTERN_TOO_HARD. */
cw_pattern_match cw_pattern_test(const cw_pattern *pattern, cw_str text, int64_t *steps);
/* Bytes that the compiled pattern takes. */
size_t cw_pattern_size(const cw_pattern *pattern);
/* Whether we match it ourselves, without PCRE2. For tests. */
bool cw_pattern_is_simple(const cw_pattern *pattern);

/* Whether `text` is a legal ECMA-262 pattern in Unicode mode, strictly: the format "regex". */
bool cw_pattern_is_valid(cw_str text);

#endif
