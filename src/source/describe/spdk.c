/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spdk.c - rpc_get_methods: a list of names, and nothing else. */
#include "source/describe/describe_ctx.h"

static cw_code begin(cw_describe_ctx *d, cw_err *err)
{
    return d->ops->query(d, CW_STR("rpc_get_methods"), CW_STR(""), 0, err);
}

static void incoming(cw_describe_ctx *d, unsigned tag, const cw_outcome *outcome)
{
    (void)tag;
    if (outcome->kind != CW_OUTCOME_RESULT) {
        cw_describe_refused(d, "rpc_get_methods", outcome);
        return;
    }
    if (!cw_json_is(outcome->result, CW_JSON_ARRAY)) {
        d->ops->fail(d, CW_PARAMS, "rpc_get_methods: expected a list of names");
        return;
    }
    cw_openrpc_writer doc;
    cw_openrpc_writer_open(&doc, d->service, CW_STR(""));
    for (const cw_json *v = cw_json_first(outcome->result); v; v = cw_json_next(v)) {
        if (!cw_json_is(v, CW_JSON_STRING) || v->n == 0)
            continue;
        cw_openrpc_writer_method(&doc, cw_json_text(v), CW_STR(""));
        cw_openrpc_writer_any_params(&doc);
        cw_openrpc_writer_close_method(&doc);
    }
    cw_openrpc_writer_finish(&doc, d);
}

const cw_describer cw_describe_spdk = {
    .name = "spdk", .is_quick = true, .begin = begin, .incoming = incoming};
