/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mopidy.c - core.describe: {"method": {"description": …, "params": [{"name",
 * "default"}]}}. Params have no types; one with a default may be left out. */
#include "source/describe/describe_ctx.h"

static cw_code begin(cw_describe_ctx *d, cw_err *err)
{
    return d->ops->query(d, CW_STR("core.describe"), CW_STR(""), 0, err);
}

/* {"default": …} is the only known fact about the value. */
static void write_param(cw_openrpc_writer *doc, const cw_json *p)
{
    const cw_json *default_value = cw_json_get(p, CW_STR("default"));
    CW_CLEANUP(cw_buf_done) cw_buf schema;
    cw_buf_init(&schema, CW_DESCRIBE_DOCUMENT_MAX);
    if (default_value) {
        cw_buf_add(&schema, CW_STR("{\"default\":"));
        cw_buf_add(&schema, cw_json_span(default_value));
        cw_buf_add_char(&schema, '}');
    }
    if (schema.code)
        doc->text.code = schema.code;
    /* *args and **kwargs are left out, since no name can stand for their values. */
    bool is_rest = cw_json_get(p, CW_STR("varargs")) || cw_json_get(p, CW_STR("kwargs"));
    if (!is_rest)
        cw_openrpc_writer_param(doc,
                                &(cw_openrpc_writer_param_opts){.name = cw_describe_text(p, "name"),
                                                                .schema = cw_buf_str(&schema),
                                                                .required = !default_value});
}

static void incoming(cw_describe_ctx *d, unsigned tag, const cw_outcome *outcome)
{
    (void)tag;
    if (outcome->kind != CW_OUTCOME_RESULT) {
        cw_describe_refused(d, "core.describe", outcome);
        return;
    }
    if (!cw_json_is(outcome->result, CW_JSON_OBJECT)) {
        d->ops->fail(d, CW_PARAMS, "core.describe: expected an object of methods");
        return;
    }
    cw_openrpc_writer doc;
    cw_openrpc_writer_open(&doc, d->service, CW_STR(""));
    for (const cw_json *k = cw_json_first(outcome->result); k; k = cw_json_next_key(k)) {
        const cw_json *about = cw_json_value(k);
        const cw_json *params = cw_json_get(about, CW_STR("params"));
        cw_openrpc_writer_method(&doc, cw_json_text(k), cw_describe_text(about, "description"));
        for (const cw_json *p = cw_json_is(params, CW_JSON_ARRAY) ? cw_json_first(params) : NULL; p;
             p = cw_json_next(p)) {
            if (cw_describe_text(p, "name").n)
                write_param(&doc, p);
        }
        cw_openrpc_writer_close_method(&doc);
    }
    cw_openrpc_writer_finish(&doc, d);
}

const cw_describer cw_describe_mopidy = {
    .name = "mopidy", .is_quick = true, .begin = begin, .incoming = incoming};
