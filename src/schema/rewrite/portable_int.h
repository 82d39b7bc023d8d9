/* SPDX-License-Identifier: GPL-2.0-or-later */
/* portable_int.h - types and functions that the files of portable schemas share.
 *
 *     portable.c        what needs to be rewritten, and with which limits
 *     portable_top.c    the top level: merged properties, names, the note
 *     portable_write.c  everything below it
 */
#ifndef CW_SCHEMA_REWRITE_PORTABLE_INT_H
#define CW_SCHEMA_REWRITE_PORTABLE_INT_H

#include "json/write.h"
#include "schema/model/model.h"
#include "schema/rewrite/portable.h"

/* Subs that are being written: one that is met again contains itself. */
typedef struct open_sub {
    const struct open_sub *up;
    uint32_t sub;
} open_sub;

/* A definition at the root. */
typedef struct definition {
    struct definition *next;
    uint32_t sub;
    cw_str name;
} definition;

typedef struct portable_writer {
    const cw_schema *s;
    cw_arena *arena; /* for definitions */
    cw_json_writer w;
    cw_code code;     /* CW_LIMIT, CW_NOMEM */
    bool has_defs;    /* references lead to $defs at the root */
    bool is_widened;  /* some rule is not in the text */
    uint32_t n_refs;  /* references around the present place */
    size_t ref_begin; /* where the outermost of them begins in the text */
    size_t ref_bytes; /* of those before it */
    uint32_t work;    /* left */
    definition *first_def, **last_def;
} portable_writer;

/* Count a visited value. False: stop, a limit was reached. */
bool cw_portable_visit(portable_writer *p);
/* The target of a sub's reference, or 0. *ret_has (may be NULL): it has a reference, even one whose
 * target depends on its user. */
uint32_t cw_portable_target(const portable_writer *p, const sub *at, bool *ret_has);
/* The sub that a sub without rules of its own refers to, or the sub itself. */
uint32_t cw_portable_follow(const portable_writer *p, uint32_t index);
cw_schema_draft cw_portable_draft(const cw_schema *s, const sub *at);
/* Write the sub, and what is below it. */
void cw_portable_write_sub(portable_writer *p, uint32_t index, const open_sub *up);
/* The definitions that references need, as the member $defs; nothing if they need none. */
void cw_portable_write_defs(portable_writer *p);
/* The value of a keyword that holds schemas. */
void cw_portable_write_below(portable_writer *p, const sub *owner, const cw_json *v,
                             const open_sub *up);
/* "type" that all values of an enum, or a const, share; NULL: none. */
const char *cw_portable_type_of(const cw_json *enumeration, const cw_json *constant);

/* portable.c */
/* Whether a top-level property may have this name: [a-zA-Z0-9_.-]{1,64}. */
bool cw_portable_is_name(cw_str name);
bool cw_portable_is_name_char(char c);

/* portable_top.c: the rewritten schema. CW_LIMIT: not with references in this form; CW_NOMEM. */
CW_MUST_USE cw_code cw_portable_write_top(const cw_schema *s, bool has_defs, cw_arena *scratch,
                                          cw_arena *arena, cw_schema_portable *ret);

#endif
