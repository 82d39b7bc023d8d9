/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query.c - single parameters of the query string. */
#include "door/query.h"

#include "net/http/target.h"

/* "cursor[]" and "cursor[0]" are how some frameworks write a list. */
static bool is_list_of(cw_str name, cw_str wanted)
{
    return name.n > wanted.n && name.p[wanted.n] == '[' && cw_str_starts(name, wanted);
}

cw_param_state cw_query_param(cw_http_req *req, cw_str name, cw_str *ret)
{
    cw_str rest = cw_http_req_query(req), key, value;
    cw_param_state state = CW_PARAM_ABSENT;
    while (rest.p) {
        cw_code rc = cw_query_next(&rest, cw_http_req_arena(req), &key, &value);
        if (rc == CW_DONE)
            return state;
        if (rc)
            return rc == CW_INVALID ? CW_PARAM_INVALID : CW_PARAM_NOMEM;
        if (is_list_of(key, name))
            return CW_PARAM_INVALID;
        if (!cw_str_eq(key, name))
            continue;
        if (state == CW_PARAM_ONCE)
            return CW_PARAM_INVALID;
        state = CW_PARAM_ONCE;
        *ret = value;
    }
    return state;
}
