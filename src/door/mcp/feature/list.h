/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list.h - a list of the catalogue, page by page, as every list method of MCP answers it.
 *
 *     static void write_prompt(cw_buf *out, const cw_entry *entry, const cw_mcp_reader *reader)
 *     {
 *         cw_buf_add(out, entry->exposed_json);
 *     }
 *
 *     static const cw_mcp_list prompts = {CW_VIEW_PROMPTS, CW_STR_INIT("prompts"), write_prompt};
 *     cw_mcp_reply_list(r, &prompts);
 *
 * A page is written once for all callers who see the same and read the same
 * language, and kept with the other documents (catalogue/page_cache.h). A cursor is sealed
 * and holds the list and the last name, so that it stays good while the catalogue
 * changes.
 *
 * Ownership: borrows.
 * Threads:   the loop of the request.
 * Limits:    mcp.page_size entries on a page.
 */
#ifndef CW_DOOR_MCP_FEATURE_LIST_H
#define CW_DOOR_MCP_FEATURE_LIST_H

#include "catalogue/tool/mcp_tool.h"
#include "door/mcp/mcp_int.h"

/* For whom a page is written: which form, language, names. */
typedef cw_tool_mcp_opts cw_mcp_reader;

typedef struct cw_mcp_list {
    cw_view_list list;
    cw_str member; /* "tools": what the array is called */
    /* Append one object. Errors are sticky in `out`. */
    void (*write)(cw_buf *out, const cw_entry *entry, const cw_mcp_reader *reader);
} cw_mcp_list;

/* Answer with the page that params.cursor asks for: the array, nextCursor unless it is the last
 * one, and in the modern era ttlMs and cacheScope. Refuses a caller who may not discover, and a
 * cursor that is not one of this list with -32602. */
void cw_mcp_reply_list(const cw_mcp_request *r, const cw_mcp_list *list);

/* How the client of a request reads tools, but for the language. */
cw_mcp_reader cw_mcp_reader_of(const cw_mcp_request *r);

/* A cacheScope: "public" where no caller can log in and `reads_same`, else "private". */
cw_str cw_mcp_scope(const cw_mcp_request *r, bool reads_same);

#endif
