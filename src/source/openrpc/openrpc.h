/* SPDX-License-Identifier: GPL-2.0-or-later */
/* openrpc.h - an OpenRPC document to methods.
 *
 * Read of each method: name, description or else summary (usage), params (name,
 * schema, required, description, `default` of the schema), result.schema,
 * paramStructure, tags, and two members of Causeway: `x-access` {"permissions":[…]} and
 * `x-mcp-tool` {"title":…, "annotations":{…, "auth":{…}}, "visibility":…, "task":…}, the mark. References
 * "#/components/…" of methods, params, results and schemas are followed inside the
 * document; what a schema refers to deeper down is copied into its "$defs", so that
 * every schema stands alone. White space between tokens goes.
 *
 * A document of a service may have errors. With `warnings` a schema that cannot
 * be used (no schema at all, a reference that leads nowhere, in a circle or out of the document,
 * one that grows beyond all bounds) is left out, so that it accepts anything; a param that cannot
 * be read is left out, with its method where the place of a param behind it would change; and so is
 * a method that cannot be read. Each is a line of `warnings`. It fails only if no method is left.
 *
 * Ownership: methods live in the arena; nothing of the document is kept.
 * Threads:   no state.
 * Limits:    CW_OPENRPC_MAX_METHODS, CW_OPENRPC_MAX_PARAMS of a method, none of more than
 *            CW_OPENRPC_MAX_TAGS of its tags; what schemas refer to, each
 *            time that it is copied, adds at most 16 MiB and four times the document's size to it.
 */
#ifndef CW_SOURCE_OPENRPC_OPENRPC_H
#define CW_SOURCE_OPENRPC_OPENRPC_H

#include "base/buf.h"
#include "catalogue/method.h"
#include "json/index.h"

#define CW_OPENRPC_MAX_METHODS 10000u
#define CW_OPENRPC_MAX_PARAMS 256u
#define CW_OPENRPC_MAX_TAGS 256u

typedef struct cw_openrpc_opts {
    bool trust_marks;  /* plugins: x-mcp-tool and x-access count; else they are ignored */
    bool relays;       /* an MCP server: resources, templates and prompts as it lists them */
    bool callable;     /* unmarked methods may be called on /jsonrpc */
    cw_source *source; /* stored in each method */
    cw_buf *warnings;  /* omitted parts, a line each; NULL: none, the document is rejected */
    /* Every mistake, a line each with '\n' behind it; a document with one is rejected, and the
     * methods that could be read are fit for catalogue/method_errors.h only. NULL: the first
     * mistake, in `err`. Not with `warnings`. */
    cw_buf *problems;
} cw_openrpc_opts;

/* Rewrite bounds of draft-04 ("exclusiveMinimum": true) with the keywords of later drafts,
 * everywhere in *doc, which stays the same without such bounds. New values live in `arena`.
 * CW_NOMEM, CW_LIMIT. */
CW_MUST_USE cw_code cw_openrpc_upgrade_draft4(const cw_json **doc, cw_arena *arena, cw_err *err);

/* Read `doc`. Fails with CW_PARAMS and a message that names the member ("method 'a.b': param 'x':
 * schema: not an object"); CW_LIMIT, CW_NOMEM. */
CW_MUST_USE cw_code cw_openrpc_read(const cw_json *doc, const cw_openrpc_opts *opts,
                                    cw_arena *arena, cw_method **ret, size_t *ret_n, cw_err *err);

/* While *v is an object with a "$ref" only, replace it by the value that it refers to, as is done
 * with every entry of `methods`. CW_PARAMS: it leads nowhere, in a circle or out of the document.
 * `index` is one of `doc`; NULL: the document is searched. */
CW_MUST_USE cw_code cw_openrpc_follow(const cw_json *doc, cw_json_pointer_index *index,
                                      const cw_json **v, cw_err *err);

/* Read `x-input` of a method whose params are read, and make method->input of it. Trees live in
 * `scratch`, the text in `arena`. A method without `x-input` is not changed. CW_PARAMS: it is
 * invalid; CW_LIMIT, CW_NOMEM. */
CW_MUST_USE cw_code cw_openrpc_input(const cw_json *object, cw_arena *scratch, cw_arena *arena,
                                     cw_method *method, cw_err *err);

/* Check and read a mark {"title":…, "annotations":…, "visibility":…, "task":…}: annotations must be
 * an object (a list, or keys "0","1",… in order are rejected; an empty one is left out),
 * annotations.auth has scopes, a level, or both, visibility is "challenge" or, if the level is
 * "required", "hide". Fills *ret_mark and the level, scopes and hidden_unless_met of *needs, with
 * nothing of `mark` kept. `where` begins the message. */
CW_MUST_USE cw_code cw_openrpc_mark(const cw_json *mark, const char *where, cw_arena *arena,
                                    const cw_mark **ret_mark, cw_requirements *needs, cw_err *err);

#endif
