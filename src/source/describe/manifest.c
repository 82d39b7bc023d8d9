/* SPDX-License-Identifier: GPL-2.0-or-later */
/* manifest.c - methods written down by hand:
 *
 *     {"methods": [{"name": "a.b", "description": "…", "params": {"x": {schema}}, "required":
 * ["x"], "result": {schema}, "title": "…", "annotations": {…}, "notification": false}]}
 */
#include "source/describe/describe_ctx.h"

static cw_code wrong(size_t i, const char *what, cw_err *err)
{
    return cw_fail(err, CW_PARAMS, "methods[%zu]: %s", i, what);
}

static const cw_json *member(const cw_json *v, const char *name)
{
    return cw_json_get(v, cw_str_from(name));
}

static cw_code check(const cw_json *m, size_t i, cw_err *err)
{
    static const char *const known[] = {"name",        "description",  "params",
                                        "required",    "result",       "title",
                                        "annotations", "notification", NULL};
    if (!cw_json_is(m, CW_JSON_OBJECT))
        return wrong(i, "expected an object", err);
    for (const cw_json *k = cw_json_first(m); k; k = cw_json_next_key(k)) {
        size_t j = 0;
        while (known[j] && !cw_str_is(cw_json_text(k), known[j]))
            j++;
        if (!known[j])
            return cw_fail(err, CW_PARAMS, "methods[%zu]: unknown member '%.*s'", i,
                           CW_STR_ARG(cw_json_text(k)));
    }
    if (!cw_json_is(member(m, "name"), CW_JSON_STRING) || member(m, "name")->n == 0)
        return wrong(i, "name: missing or empty", err);
    if (member(m, "description") && !cw_json_is(member(m, "description"), CW_JSON_STRING))
        return wrong(i, "description: expected a text", err);
    if (member(m, "params") && !cw_json_is(member(m, "params"), CW_JSON_OBJECT))
        return wrong(i, "params: expected an object of names and schemas", err);
    if (member(m, "required") && !cw_json_is(member(m, "required"), CW_JSON_ARRAY))
        return wrong(i, "required: expected a list of names", err);
    return CW_OK;
}

static bool is_required(const cw_json *m, cw_str name)
{
    const cw_json *list = member(m, "required");
    for (const cw_json *v = list ? cw_json_first(list) : NULL; v; v = cw_json_next(v)) {
        if (cw_json_is(v, CW_JSON_STRING) && cw_str_eq(cw_json_text(v), name))
            return true;
    }
    return false;
}

static void write_mark(cw_openrpc_writer *doc, const cw_json *m)
{
    const cw_json *title = member(m, "title"), *annotations = member(m, "annotations");
    CW_CLEANUP(cw_buf_done) cw_buf mark;
    cw_buf_init(&mark, CW_DESCRIBE_DOCUMENT_MAX);
    if (!title && !annotations)
        return;
    cw_json_writer w;
    cw_json_writer_init(&w, &mark, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    if (title) {
        cw_json_add_key(&w, CW_STR("title"));
        cw_json_add_value(&w, title);
    }
    if (annotations) {
        cw_json_add_key(&w, CW_STR("annotations"));
        cw_json_add_value(&w, annotations);
    }
    cw_json_close(&w);
    if (mark.code)
        doc->text.code = mark.code;
    else
        cw_openrpc_writer_member(doc, "x-mcp-tool", cw_buf_str(&mark));
}

static void write_method(cw_openrpc_writer *doc, const cw_json *m)
{
    const cw_json *about = member(m, "description"), *params = member(m, "params");
    const cw_json *result = member(m, "result");
    cw_openrpc_writer_method(doc, cw_json_text(member(m, "name")),
                             about ? cw_json_text(about) : CW_STR(""));
    for (const cw_json *k = params ? cw_json_first(params) : NULL; k; k = cw_json_next_key(k)) {
        const cw_json *v = cw_json_value(k);
        const cw_json *text = member(v, "description");
        cw_openrpc_writer_param(
            doc, &(cw_openrpc_writer_param_opts){.name = cw_json_text(k),
                                                 .description = cw_json_is(text, CW_JSON_STRING)
                                                                    ? cw_json_text(text)
                                                                    : CW_STR(""),
                                                 .schema = cw_json_span(v),
                                                 .required = is_required(m, cw_json_text(k))});
    }
    if (!params)
        cw_openrpc_writer_any_params(doc);
    cw_openrpc_writer_result(doc, result ? cw_json_span(result) : CW_STR(""));
    if (cw_json_is(member(m, "notification"), CW_JSON_TRUE))
        cw_openrpc_writer_member(doc, "x-notification", CW_STR("true"));
    write_mark(doc, m);
    cw_openrpc_writer_close_method(doc);
}

cw_code cw_describe_manifest(const cw_json *manifest, cw_buf *out, cw_err *err)
{
    const cw_json *methods = member(manifest, "methods");
    if (member(manifest, "openrpc")) {
        cw_buf_add(out, cw_json_span(manifest));
        return out->code ? cw_fail_nomem(err) : CW_OK;
    }
    if (!cw_json_is(methods, CW_JSON_ARRAY))
        return cw_fail(err, CW_PARAMS, "neither an OpenRPC document nor a list of \"methods\"");
    size_t i = 0;
    for (const cw_json *m = cw_json_first(methods); m; m = cw_json_next(m)) {
        cw_code rc = check(m, i++, err);
        if (rc)
            return rc;
    }
    cw_openrpc_writer doc;
    cw_openrpc_writer_open(&doc, CW_STR(""), CW_STR(""));
    for (const cw_json *m = cw_json_first(methods); m; m = cw_json_next(m))
        write_method(&doc, m);
    return cw_openrpc_writer_take(&doc, out, err);
}
