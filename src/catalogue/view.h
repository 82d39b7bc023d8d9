/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view.h - a snapshot as one caller sees it.
 *
 * The gate is asked once per access class; everything else follows from that. The
 * list of visible tools is serialised when it is first wanted and kept.
 *
 * Ownership: holds references to its snapshot and caller.
 * Threads:   one loop; references are not counted atomically.
 */
#ifndef CW_CATALOGUE_VIEW_H
#define CW_CATALOGUE_VIEW_H

#include "catalogue/snapshot.h"

typedef struct cw_view cw_view;

CW_MUST_USE cw_code cw_view_new(cw_snapshot *snapshot, cw_caller *caller, cw_view **ret,
                                cw_err *err);
cw_view *cw_view_ref(cw_view *v);
/* NULL is fine. */
void cw_view_unref(cw_view *v);

const cw_snapshot *cw_view_snapshot(const cw_view *v);
const cw_caller *cw_view_caller(const cw_view *v);
cw_verdict cw_view_verdict(const cw_view *v, const cw_entry *entry);
/* The tool or method of this name unless it is hidden: unknown and forbidden are the same. A
 * method that is neither marked nor callable is unknown too. */
const cw_entry *cw_view_find_tool(const cw_view *v, cw_str name);
const cw_entry *cw_view_find_method(const cw_view *v, cw_str id);

/* Which of an entry's two JSON forms a list has. */
typedef enum cw_tool_form {
    CW_TOOL_ANY_OUTPUT,    /* cw_entry.tool_json */
    CW_TOOL_OBJECT_OUTPUT, /* cw_entry.tool_object */
} cw_tool_form;

/* "[{…},{…}]": all visible tools by name. Built once and kept; .p is NULL without memory. */
cw_str cw_view_tools(cw_view *v, cw_tool_form form);
/* Whether two views list the same tools with the same bytes. */
bool cw_view_lists_equal(cw_view *a, cw_view *b);

#endif
