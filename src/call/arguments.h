/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arguments.h - the params of a request to the params that a method takes.
 *
 * By name: every name must be declared (the nearest right one is suggested), every
 * required one present. By position: bound in declared order; too many are an
 * error; [] means {}. Defaults fill what is missing. Params that need no change
 * travel on as the bytes they came in.
 *
 * Ownership: the text is in the arena (always a copy: it outlives the request); the values are
 *            those of the request and of the method.
 * Threads:   no state.
 */
#ifndef CW_CALL_ARGUMENTS_H
#define CW_CALL_ARGUMENTS_H

#include "base/buf.h"
#include "catalogue/snapshot.h"

struct cw_schema_problem;  /* schema/schema.h */
struct cw_schema_portable; /* schema/rewrite/portable.h */

typedef struct cw_arguments {
    cw_str text;                  /* as they will be sent */
    const cw_json *const *values; /* of each declared param; NULL: not given, without default */
    bool lacks_required;          /* CW_PARAMS: a required param was not given */
} cw_arguments;

/* `params` is an object, an array or NULL. CW_PARAMS with "Missing required parameter: nid",
 * "Unknown parameter: nidd; did you mean nid?", "Too many parameters: …"; CW_NOMEM, CW_LIMIT. */
CW_MUST_USE cw_code cw_arguments_bind(const cw_method *method, const cw_json *params,
                                      bool ignore_unknown, cw_arena *arena, cw_arguments *ret,
                                      cw_err *err);

/* The arguments, an object or NULL, with own names in place of those that a portable schema shows.
 * *ret is `params` if no shown name is used. CW_PARAMS: one has both of its names; CW_NOMEM. */
CW_MUST_USE cw_code cw_arguments_own_names(const struct cw_schema_portable *shown,
                                           const cw_json *params, cw_arena *arena,
                                           const cw_json **ret);
/* Replace own names in a message about arguments by the shown ones. */
void cw_arguments_show_names(const struct cw_schema_portable *shown, cw_err *err);

/* The arguments, an object, without members that are null although their schema rejects it, and that
 * need not be there (schema/rewrite/nulls.h): at the top, members whose parameter is optional. NULL
 * in *ret: there are none. *steps is reduced by the work. CW_LIMIT; CW_NOMEM. */
CW_MUST_USE cw_code cw_arguments_drop_nulls(const cw_entry *entry, const cw_json *params,
                                            cw_arena *arena, int64_t *steps, const cw_json **ret);

/* Append a problem with the value of a parameter, or with a result (`name` empty), as clients get
 * it: "/nid: must be an integer". After the first problem "; " comes before it. */
void cw_arguments_add_problem(cw_buf *out, cw_str name, const struct cw_schema_problem *problem);

#endif
