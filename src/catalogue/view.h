/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view.h - a snapshot as one caller sees it.
 *
 * The gate is asked once per access class; everything else follows from that.
 *
 * Ownership: holds references to its snapshot and caller.
 * Threads:   one loop; references are not counted atomically.
 */
#ifndef CW_CATALOGUE_VIEW_H
#define CW_CATALOGUE_VIEW_H

#include "catalogue/change.h"
#include "catalogue/tool/tool_json.h"

typedef struct cw_view cw_view;

CW_MUST_USE cw_code cw_view_new(cw_snapshot *snapshot, cw_caller *caller, cw_view **ret,
                                cw_err *err);
/* The same in a toolset of the snapshot: what is not in it is hidden too. NULL: everything. */
CW_MUST_USE cw_code cw_view_new_in(cw_snapshot *snapshot, cw_caller *caller,
                                   const cw_toolset *toolset, cw_view **ret, cw_err *err);
cw_view *cw_view_ref(cw_view *v);
/* NULL is fine. */
void cw_view_unref(cw_view *v);

const cw_snapshot *cw_view_snapshot(const cw_view *v);
cw_caller *cw_view_caller(const cw_view *v);
/* NULL: everything. */
const cw_toolset *cw_view_toolset(const cw_view *v);
cw_verdict cw_view_verdict(const cw_view *v, const cw_entry *entry);
/* Whether the caller sees it: it is not hidden, and in the toolset. */
bool cw_view_shows(const cw_view *v, const cw_entry *entry);
/* The general permissions to discover and to call: ALLOW, NEEDS_LOGIN or FORBIDDEN. cw_call_find
 * checks them before it looks a name up, so that a refusal does not reveal which names exist. */
cw_verdict cw_view_discover_verdict(const cw_view *v);
cw_verdict cw_view_call_verdict(const cw_view *v);
/* The tool or method of this name, unless it is hidden: unknown and forbidden are the same. A
 * method that is neither marked nor callable is unknown too. */
const cw_entry *cw_view_find_tool(const cw_view *v, cw_str name);
const cw_entry *cw_view_find_method(const cw_view *v, cw_str id);
/* Likewise the tool with this portable name (portable_name.h). NULL also when the caller sees two of
 * them, or without memory. */
const cw_entry *cw_view_find_portable(const cw_view *v, cw_str name);
/* Likewise the resource, template or prompt with this address. */
const cw_entry *cw_view_find_exposed(const cw_view *v, cw_exposed_kind kind, cw_str address);

/* The lists: visible tools by name, or visible methods by id (those that are marked or callable).
 */
typedef enum cw_view_list {
    CW_VIEW_TOOLS,
    CW_VIEW_METHODS,
    CW_VIEW_RESOURCES, /* by URI */
    CW_VIEW_TEMPLATES, /* by template */
    CW_VIEW_PROMPTS,   /* by name */
} cw_view_list;

#define CW_VIEW_LISTS 5

/* Up to `n` of them from `offset` on go to `ret`, their number to *ret_n, that of all to
 * *ret_total. Takes as long as the page is large, but for the first time, when everything is
 * counted. CW_NOMEM. */
CW_MUST_USE cw_code cw_view_page(cw_view *v, cw_view_list list, size_t offset, const cw_entry **ret,
                                 size_t n, size_t *ret_n, size_t *ret_total);

/* The resource with this URI, or the first template (in the order of the list) that matches it, with
 * the object of its variables as JSON text in the arena (empty: none). CW_NOTFOUND: nothing that the
 * caller sees; CW_NOMEM. */
CW_MUST_USE cw_code cw_view_match_resource(cw_view *v, cw_str uri, cw_arena *arena,
                                           const cw_entry **ret, cw_str *ret_variables);

/* Up to `n` of those behind `name` (empty: from the first on) in the order of the list, whether or
 * not there is one of that name; *ret_more tells whether others follow. */
void cw_view_after(const cw_view *v, cw_view_list list, cw_str name, const cw_entry **ret, size_t n,
                   size_t *ret_n, bool *ret_more);
/* Under what name a list has an entry. */
cw_str cw_view_name(cw_view_list list, const cw_entry *entry);

/* A bit for each access class, set where it is visible: with the toolset, it decides who sees what.
 */
cw_str cw_view_visibility_key(const cw_view *v);
/* The number that a cache has assigned (page_cache.h); 0: none. */
uint64_t cw_view_cache_id(const cw_view *v);
void cw_view_set_cache_id(cw_view *v, uint64_t number);
/* In which of the `lists` (CW_CHANGE_…) the caller sees something of a source. The answer for the
 * last source is kept. */
unsigned cw_view_lists_with_source(cw_view *v, const void *source, unsigned lists);
/* The lists (CW_CHANGE_…) in which the caller sees something that it may not call as it is. */
unsigned cw_view_gated_lists(const cw_view *v);
/* Which lists are not the same in both views, byte for byte: CW_CHANGE_…; templates count as
 * resources. */
unsigned cw_view_changes(const cw_view *a, const cw_view *b);

#endif
