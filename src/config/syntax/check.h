/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check.h - what checking carries along: the document, the place in it, the problems found.
 *
 * A problem never stops the checking; the functions that report one return
 * CW_OK, and a code only when they are out of memory. The values that a checked
 * document fills are used only when there are no problems.
 *
 * Threads: one thread at a time.
 */
#ifndef CW_CONFIG_SYNTAX_CHECK_H
#define CW_CONFIG_SYNTAX_CHECK_H

#include "base/limits.h"
#include "config/config.h"
#include "config/syntax/yaml.h"

/* A document is gone when what it fills is made. The densest YAML ("[a: b,a: b") was measured to
 * need 30 times its size. */
#define CW_CHECK_DOCUMENT_BYTES (64u * CW_CONFIG_MAX_BYTES)

typedef struct cw_checker {
    const char *file;          /* as the user named it; NULL: no file */
    const cw_yaml *doc;        /* NULL: values do not come from a file */
    const struct cw_key *root; /* where a misplaced key may belong; NULL: unknown */
    cw_arena *arena;           /* of the configuration that is being filled */
    cw_config_problems *problems;
    cw_err *err;
} cw_checker;

/* A path such as listen[2].address as a chain of stack frames, so that it costs nothing until a
 * problem is told. `name.p` NULL: an index. */
typedef struct cw_place {
    const struct cw_place *up; /* NULL: the root, which has no name */
    cw_str name;
    size_t index;
} cw_place;

/* Report "FILE:LINE:COLUMN: PATH: MESSAGE". `at` gives line and column and may be NULL. */
CW_PRINTF(4, 5)
CW_MUST_USE cw_code cw_check_problem(cw_checker *c, const cw_place *place, const cw_json *at,
                                     const char *fmt, ...);
/* Report "expected EXPECTED, got VALUE", followed by " (WHY)" unless `why` is NULL. */
CW_MUST_USE cw_code cw_check_expected(cw_checker *c, const cw_place *place, const cw_json *got,
                                      const char *expected, const char *why);

/* The text as a document in `arena`, which may be as large as CW_CHECK_DOCUMENT_BYTES: a mistake in
 * the syntax is reported, CW_CONFIG. */
CW_MUST_USE cw_code cw_check_read(cw_checker *c, cw_str text, cw_arena *arena, cw_yaml *ret);
/* CW_CONFIG with the first problem and the number of the others. */
cw_code cw_check_fail(const cw_config_problems *problems, cw_err *err);

/* The line of a value, 0 when there is no file. */
uint32_t cw_check_line(const cw_checker *c, const cw_json *v);

/* A copy of a path in the arena, absolute: a relative one is taken from the folder of the file, or
 * from the current one. Fails with CW_IO when the current folder is gone. */
CW_MUST_USE cw_code cw_check_resolve(cw_checker *c, cw_str path, cw_str *ret);
/* A copy of a text in the arena, with a NUL behind it. */
CW_MUST_USE cw_code cw_check_copy(cw_checker *c, cw_str text, cw_str *ret);

/* Non-empty and without control characters (C0, DEL): what may be a path, a name or an address. */
bool cw_check_is_clean(cw_str text);

#endif
