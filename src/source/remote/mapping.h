/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mapping.h - from the arguments of a tool to the params of a service, and from its result to the
 * result of the tool.
 *
 * The operator can hide, fix, rename and preset params, and choose a part of the result. The
 * params that are shown and those that are sent are made from the same overlay, so that they cannot
 * differ.
 *
 *     found: token, gid, keys        overlay: token fixed, keys renamed to "fields"
 *     shown: gid, fields             sent: {"gid":…,"keys":…,"token":"x"}  or  ["x",…,…]
 *
 * Without a change no map is made, and the bytes of the arguments are sent as they came.
 *
 * Params that the service does not describe are declared by the overlay, with a schema. A method
 * whose params are not described (cw_method.takes_any_params) has one param "params": a list, or an
 * object, that is sent as it is.
 *
 * Positional: an optional param that is left out ends the list; with later ones given it is null,
 * or its default where it has one.
 *
 * Results over the overlay's result_size are returned in parts, if the tool is read only: a list as
 * {"items":[…],"total":N,"continuation":"…"}, another value as {"text":"…","total":BYTES,
 * "continuation":"…"}. With the argument "continuation" the method is called again, and the next
 * part is cut from its result. A result that has changed meanwhile is an error. If the tool is not
 * read only, the rest is dropped, and the result has "truncated":true. Such a tool has no output
 * schema.
 *
 * Ownership: maps and their contents live in the source's arena; params and results in the
 *            call's.
 * Threads:   a plan is immutable.
 */
#ifndef CW_SOURCE_REMOTE_MAPPING_H
#define CW_SOURCE_REMOTE_MAPPING_H

#include "catalogue/method.h"
#include "config/config.h"
#include "source/protocol/dialect.h"

typedef struct cw_param_map cw_param_map;

/* Make the map of a method from its description (`m` as it was found) and from its overlay, and
 * change `m` (params, input, output) to the form that clients see. *ret is NULL if no map is
 * needed. CW_PARAMS: the overlay names a param that does not exist without declaring it, two params
 * get one name, or a pointer is invalid. */
CW_MUST_USE cw_code cw_param_map_make(const cw_protocol_opts *protocol,
                                      const cw_config_overlay *overlay, cw_method *m,
                                      cw_arena *arena, const cw_param_map **ret, cw_err *err);

/* Give the schema of a param another value of a member; empty: remove the member. Nothing is changed
 * if it is true or false. */
CW_MUST_USE cw_code cw_param_map_change_schema(cw_arena *arena, const char *member, cw_str value,
                                               cw_param *p, cw_err *err);

/* The part of a result that the caller requests. */
typedef struct cw_continuation {
    bool is_given; /* false: the first part */
    uint64_t at;   /* where it begins */
    uint64_t hash; /* of the result from which the previous parts were cut */
} cw_continuation;

/* Make the params that are sent. `arguments` has the value of each param of the method as clients
 * see it, NULL for a param that was not given. `arguments` may be NULL: none was given. CW_PARAMS:
 * an invalid continuation; CW_NOMEM. */
CW_MUST_USE cw_code cw_param_map_apply(const cw_param_map *map, const cw_json *const *arguments,
                                       cw_arena *arena, cw_str *ret, cw_continuation *ret_part,
                                       cw_err *err);
/* Change an outcome that is a result to the result of the tool: the part at the pointer, within the
 * budget. */
void cw_param_map_result(const cw_param_map *map, const cw_continuation *part, cw_arena *arena,
                         cw_outcome *outcome);

#endif
