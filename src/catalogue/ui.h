/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ui.h - views of tools: HTML documents that a host shows with a result (MCP Apps, SEP-1865).
 *
 * A tool names a resource ui://…, and the host reads it. The document is a file of the operator, a
 * resource of the same source, or the built-in view. A view that is none of these is not shown: a tool
 * never gets the document of another source.
 *
 *     {"resourceUri":"ui://weather/view.html","visibility":["model","app"],
 *      "csp":{"connectDomains":["https://api.example.org"]},"permissions":{"camera":{}},
 *      "prefersBorder":true}
 *
 * Ownership: texts are in the arena that is given.
 * Threads:   no state.
 * Limits:    CW_UI_MAX_BYTES of a document, CW_UI_MAX_ORIGINS of one list.
 */
#ifndef CW_CATALOGUE_UI_H
#define CW_CATALOGUE_UI_H

#include "base/arena.h"
#include "catalogue/view.h"

#define CW_UI_SCHEME "ui://"
#define CW_UI_TYPE "text/html;profile=mcp-app"
#define CW_UI_BUILTIN "ui://causeway/data.html"

/* Read such an object, or the URI alone. A missing resourceUri is an error unless `uri` has one, which
 * the object must not contradict. CW_PARAMS with the member; CW_NOMEM. */
CW_MUST_USE cw_code cw_ui_read(const cw_json *v, cw_str uri, cw_arena *arena, cw_ui *ret,
                               cw_err *err);
/* Whether a text may be a document: UTF-8 that begins with <!doctype html>. CW_PARAMS. */
CW_MUST_USE cw_code cw_ui_check_html(cw_str html, cw_err *err);
/* `more` of a mark (cw_mark), which may be empty, with the view in its _meta. CW_NOMEM. */
CW_MUST_USE cw_code cw_ui_write_more(const cw_ui *ui, cw_str more, cw_arena *arena, cw_str *ret,
                                     cw_err *err);
/* The view that a plugin declares for its tool, into its mark. `v` may be NULL: none. CW_PARAMS,
 * CW_NOMEM. */
CW_MUST_USE cw_code cw_ui_read_mark(const cw_json *v, cw_arena *arena, cw_mark *mark, cw_err *err);
/* Copy the view of a mark, and `more`, to an arena. CW_NOMEM. */
CW_MUST_USE cw_code cw_ui_copy(cw_mark *mark, cw_arena *arena, cw_err *err);
/* The URI in `more` of an MCP server's tool; empty: none. The nested member wins. */
cw_str cw_ui_uri_of(const cw_json *more);
/* Whether a view is offered by its source, or needs no source. */
bool cw_ui_is_offered(const cw_snapshot *s, const cw_entry *entry);
/* Append the members of a tool's _meta without the address of its view. `first`: where they begin. */
void cw_ui_add_meta_without(cw_buf *out, size_t first, const cw_json *meta);

/* A tool with this view that the caller may call; NULL: none. */
const cw_entry *cw_view_find_ui(const cw_view *v, cw_str uri);
/* Whether the caller sees a tool with a view. */
bool cw_view_has_ui(const cw_view *v);

#endif
