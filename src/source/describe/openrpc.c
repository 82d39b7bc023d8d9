/* SPDX-License-Identifier: GPL-2.0-or-later */
/* openrpc.c - a service that returns its OpenRPC document, by one of several methods. */
#include "source/describe/describe_ctx.h"

#define NOT_FOUND (-32601)

static const char *const names[] = {"rpc.discover", "rpc_discover", "getopenrpcinfo"};

static cw_code query(cw_describe_ctx *d, unsigned i, cw_err *err)
{
    return d->ops->query(d, cw_str_from(names[i]), CW_STR(""), i, err);
}

static cw_code begin(cw_describe_ctx *d, cw_err *err)
{
    return query(d, 0, err);
}

static void incoming(cw_describe_ctx *d, unsigned tag, const cw_outcome *outcome)
{
    cw_err err = {0};
    bool is_unknown = outcome->kind == CW_OUTCOME_ERROR && outcome->code == NOT_FOUND;
    if (is_unknown && tag + 1 < CW_COUNT(names)) {
        cw_code rc = query(d, tag + 1, &err);
        if (rc)
            d->ops->fail(d, rc, err.msg);
        return;
    }
    if (outcome->kind != CW_OUTCOME_RESULT) {
        cw_describe_refused(d, names[is_unknown ? 0 : tag], outcome);
        return;
    }
    if (!cw_json_is(cw_json_get(outcome->result, CW_STR("methods")), CW_JSON_ARRAY)) {
        d->ops->fail(d, CW_PARAMS, "the answer is no OpenRPC document");
        return;
    }
    d->ops->done(d, cw_json_span(outcome->result));
}

const cw_describer cw_describe_openrpc = {
    .name = "openrpc", .is_quick = true, .begin = begin, .incoming = incoming};
