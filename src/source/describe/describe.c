/* SPDX-License-Identifier: GPL-2.0-or-later */
/* describe.c - the table of describers, and writing a document. */
#include "source/describe/describe_ctx.h"

#include <stdio.h>

const cw_describer *const cw_describers[] = {
    &cw_describe_openrpc,
    &cw_describe_system,
    &cw_describe_mopidy,
    &cw_describe_kodi,
    &cw_describe_drupal,
    &cw_describe_drupal_tools,
    &cw_describe_qmp,
    &cw_describe_drupal_methods,
    &cw_describe_ovsdb,
    &cw_describe_spdk,
    &cw_describe_transmission,
    &cw_describe_help,
    &cw_describe_lsp,
    &cw_describe_mcp,
    NULL,
};

const cw_describer *cw_describer_find(cw_str name)
{
    for (size_t i = 0; cw_describers[i]; i++) {
        if (cw_str_is(name, cw_describers[i]->name))
            return cw_describers[i];
    }
    return NULL;
}

const char *cw_describer_names(void)
{
    return "auto, openrpc, system, mopidy, kodi, drupal, drupal-tools, drupal-methods, qmp, ovsdb, "
           "spdk, transmission, help, lsp, mcp";
}

/* ---- a document ---- */

void cw_openrpc_writer_open(cw_openrpc_writer *doc, cw_str title, cw_str version)
{
    cw_buf_init(&doc->text, CW_DESCRIBE_DOCUMENT_MAX);
    cw_json_writer_init(&doc->w, &doc->text, CW_JSON_COMPACT);
    doc->in_params = false;
    cw_json_open_object(&doc->w);
    cw_json_add_string_member(&doc->w, CW_STR("openrpc"), CW_STR("1.3.2"));
    cw_json_add_key(&doc->w, CW_STR("info"));
    cw_json_open_object(&doc->w);
    cw_json_add_string_member(&doc->w, CW_STR("title"), title.n ? title : CW_STR("service"));
    cw_json_add_string_member(&doc->w, CW_STR("version"), version.n ? version : CW_STR("0"));
    cw_json_close(&doc->w);
    cw_json_add_key(&doc->w, CW_STR("methods"));
    cw_json_open_array(&doc->w);
    doc->in_methods = true;
}

void cw_openrpc_writer_method(cw_openrpc_writer *doc, cw_str name, cw_str usage)
{
    cw_json_open_object(&doc->w);
    cw_json_add_string_member(&doc->w, CW_STR("name"), name);
    if (usage.n)
        cw_json_add_string_member(&doc->w, CW_STR("description"), usage);
    cw_json_add_key(&doc->w, CW_STR("params"));
    cw_json_open_array(&doc->w);
    doc->in_params = true;
}

void cw_openrpc_writer_param(cw_openrpc_writer *doc, const cw_openrpc_writer_param_opts *p)
{
    cw_json_open_object(&doc->w);
    cw_json_add_string_member(&doc->w, CW_STR("name"), p->name);
    if (p->description.n)
        cw_json_add_string_member(&doc->w, CW_STR("description"), p->description);
    if (p->required)
        cw_json_add_bool_member(&doc->w, CW_STR("required"), true);
    cw_json_add_key(&doc->w, CW_STR("schema"));
    cw_json_add_span(&doc->w, p->schema.n ? p->schema : CW_STR("{}"));
    cw_json_close(&doc->w);
}

void cw_openrpc_writer_any_params(cw_openrpc_writer *doc)
{
    cw_openrpc_writer_param(
        doc, &(cw_openrpc_writer_param_opts){
                 .name = CW_STR("params"),
                 .description = CW_STR("What the method takes: a list in its order, or an object"),
                 .schema = CW_STR("{\"type\":[\"array\",\"object\"],\"x-spread\":true}")});
}

static void end_params(cw_openrpc_writer *doc)
{
    if (doc->in_params)
        cw_json_close(&doc->w);
    doc->in_params = false;
}

void cw_openrpc_writer_result(cw_openrpc_writer *doc, cw_str schema)
{
    end_params(doc);
    if (schema.n == 0)
        return;
    cw_json_add_key(&doc->w, CW_STR("result"));
    cw_json_open_object(&doc->w);
    cw_json_add_string_member(&doc->w, CW_STR("name"), CW_STR("result"));
    cw_json_add_key(&doc->w, CW_STR("schema"));
    cw_json_add_span(&doc->w, schema);
    cw_json_close(&doc->w);
}

void cw_openrpc_writer_member(cw_openrpc_writer *doc, const char *name, cw_str json)
{
    end_params(doc);
    cw_json_add_key(&doc->w, cw_str_from(name));
    cw_json_add_span(&doc->w, json);
}

void cw_openrpc_writer_close_method(cw_openrpc_writer *doc)
{
    end_params(doc);
    cw_json_close(&doc->w);
}

void cw_openrpc_writer_end_methods(cw_openrpc_writer *doc)
{
    if (doc->in_methods)
        cw_json_close(&doc->w);
    doc->in_methods = false;
}

cw_code cw_openrpc_writer_take(cw_openrpc_writer *doc, cw_buf *out, cw_err *err)
{
    cw_openrpc_writer_end_methods(doc);
    cw_json_close(&doc->w);
    cw_code rc = cw_json_writer_end(&doc->w, err);
    if (!rc)
        cw_buf_add(out, cw_buf_str(&doc->text));
    cw_buf_done(&doc->text);
    return rc || !out->code ? rc : cw_fail_nomem(err);
}

void cw_openrpc_writer_finish(cw_openrpc_writer *doc, cw_describe_ctx *d)
{
    cw_err err = {0};
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, CW_DESCRIBE_DOCUMENT_MAX);
    cw_code rc = cw_openrpc_writer_take(doc, &out, &err);
    cw_str text = rc ? (cw_str){NULL, 0} : cw_arena_dup_str(d->arena, cw_buf_str(&out));
    if (text.p)
        d->ops->done(d, text);
    else
        d->ops->fail(d, rc ? rc : CW_NOMEM, rc ? err.msg : "not enough memory");
}

void cw_describe_refused(cw_describe_ctx *d, const char *what, const cw_outcome *outcome)
{
    char text[400];
    snprintf(text, sizeof text, "%s: %.*s%s%.*s%s", what, CW_STR_ARG(outcome->message),
             outcome->detail.n ? " (" : "", CW_STR_ARG(outcome->detail),
             outcome->detail.n ? ")" : "");
    d->ops->fail(d, outcome->fault == CW_FAULT_NOMEM ? CW_NOMEM : CW_IO, text);
}
