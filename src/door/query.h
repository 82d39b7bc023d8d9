/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query.h - one parameter of a request's query.
 *
 * Threads: no state.
 */
#ifndef CW_DOOR_QUERY_H
#define CW_DOOR_QUERY_H

#include "net/server/request_api.h"

typedef enum cw_param_state {
    CW_PARAM_ABSENT,
    CW_PARAM_ONCE,
    CW_PARAM_INVALID, /* repeated, a list (name[]), or an ill-formed query */
    CW_PARAM_NOMEM,
} cw_param_state;

/* *ret gets the decoded value when it is there once; others are ignored. */
cw_param_state cw_query_param(cw_http_req *req, cw_str name, cw_str *ret);

#endif
