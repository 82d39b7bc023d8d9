/* SPDX-License-Identifier: GPL-2.0-or-later */
/* describe_ctx.h - types and functions that the describers share.
 *
 * A describer keeps its state in d->arena, reads responses that live there too, and
 * writes its document with these:
 *
 *     cw_openrpc_writer doc;
 *     cw_openrpc_writer_open(&doc, CW_STR("aria2"), CW_STR("1.36"));
 *     cw_openrpc_writer_method(&doc, CW_STR("a.b"), CW_STR("what it does"));
 *     cw_openrpc_writer_param(&doc, &(cw_openrpc_writer_param_opts){.name = …, .schema = …});
 *     cw_openrpc_writer_result(&doc, schema);
 *     cw_openrpc_writer_close_method(&doc);
 *     cw_openrpc_writer_finish(&doc, d);            ends in done or fail
 */
#ifndef CW_SOURCE_DESCRIBE_DESCRIBE_CTX_H
#define CW_SOURCE_DESCRIBE_DESCRIBE_CTX_H

#include "json/write.h"
#include "source/describe/describe.h"

extern const cw_describer cw_describe_openrpc, cw_describe_drupal, cw_describe_drupal_tools,
    cw_describe_drupal_methods, cw_describe_system, cw_describe_mopidy, cw_describe_kodi,
    cw_describe_qmp, cw_describe_ovsdb, cw_describe_spdk, cw_describe_help, cw_describe_lsp,
    cw_describe_transmission, cw_describe_mcp;

typedef struct cw_openrpc_writer {
    cw_buf text;
    cw_json_writer w;
    bool in_params, in_methods;
} cw_openrpc_writer;

/* {"openrpc":"1.3.2","info":{…},"methods":[ */
void cw_openrpc_writer_open(cw_openrpc_writer *doc, cw_str title, cw_str version);
/* Begin a method; `usage` may be empty. */
void cw_openrpc_writer_method(cw_openrpc_writer *doc, cw_str name, cw_str usage);

typedef struct cw_openrpc_writer_param_opts {
    cw_str name;
    cw_str description; /* may be empty */
    cw_str schema;      /* JSON text; empty: anything */
    bool required;
} cw_openrpc_writer_param_opts;

/* Params follow the method, before anything else. */
void cw_openrpc_writer_param(cw_openrpc_writer *doc, const cw_openrpc_writer_param_opts *p);
/* The only param of a method whose params are not described. */
void cw_openrpc_writer_any_params(cw_openrpc_writer *doc);
/* JSON text; empty: none. */
void cw_openrpc_writer_result(cw_openrpc_writer *doc, cw_str schema);
/* A further member of the method, its value as JSON text. */
void cw_openrpc_writer_member(cw_openrpc_writer *doc, const char *name, cw_str json);
void cw_openrpc_writer_close_method(cw_openrpc_writer *doc);
/* No method follows, but further members of the document itself, through doc->w. */
void cw_openrpc_writer_end_methods(cw_openrpc_writer *doc);
/* Pass it to d->ops->done, or call d->ops->fail for want of memory. Frees it. */
void cw_openrpc_writer_finish(cw_openrpc_writer *doc, cw_describe_ctx *d);
/* The text of it, in `out`; frees it. */
CW_MUST_USE cw_code cw_openrpc_writer_take(cw_openrpc_writer *doc, cw_buf *out, cw_err *err);

/* A member that is a text, or an empty one. */
CW_INLINE cw_str cw_describe_text(const cw_json *object, const char *key)
{
    const cw_json *v = cw_json_get(object, cw_str_from(key));
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
}

/* Fail with the message of an outcome that is no result; `what` was requested. */
void cw_describe_refused(cw_describe_ctx *d, const char *what, const cw_outcome *outcome);

#endif
