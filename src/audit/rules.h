/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rules.h - JSON pointers to values of arguments that are never recorded (audit.redact).
 *
 *     "/password", "/users/0/token"; the token "*" is any member or element
 *
 * Ownership: rules borrow the texts of their pointers, and live in the arena.
 * Threads:   no state.
 */
#ifndef CW_AUDIT_RULES_H
#define CW_AUDIT_RULES_H

#include "base/arena.h"
#include "json/write.h"

/* A parsed pointer. */
typedef struct cw_audit_pointer {
    cw_str *tokens;
    size_t n;
} cw_audit_pointer;

typedef struct cw_audit_rules {
    cw_audit_pointer *items;
    size_t n;
} cw_audit_rules;

/* CW_PARAMS: a text is no pointer. */
CW_MUST_USE cw_code cw_audit_rules_make(const cw_str *pointers, size_t n, cw_arena *arena,
                                        cw_audit_rules *ret, cw_err *err);
/* Write arguments, which are JSON, without the values that the rules lead to: as a member, or as a
 * value where `key` is empty. False: nothing is written. Memory is missing, or rules go by names and
 * these arguments have none. */
CW_MUST_USE bool cw_audit_rules_write(const cw_audit_rules *rules, cw_str key, cw_str text,
                                      cw_arena *arena, cw_json_writer *w);

#endif
