/* SPDX-License-Identifier: GPL-2.0-or-later */
/* install.h - the entry of a server in the configuration file of an MCP client.
 *
 * These files belong to others, so they are changed as texts: only the bytes of our
 * own entry come and go, and comments, order and indentation stay. JSON with comments
 * and commas at the end of lists is understood.
 *
 *     {"mcpServers": {"causeway": {"command": …, "args": […]}}, …}
 *       ▲ section       ▲ name      ▲ value
 *
 * Threads: main thread only.
 */
#ifndef CW_CLI_INSTALL_INSTALL_H
#define CW_CLI_INSTALL_INSTALL_H

#include "base/buf.h"
#include "json/json.h"

#define CW_INSTALL_MAX_BYTES ((size_t)16 << 20)

/* ---- edit.c: texts ---- */

/* Read a text into a document whose values lie in `plain`, a copy of the text of the same length
 * without comments. CW_PARSE, CW_LIMIT, CW_NOMEM; CW_PARAMS where its root or its section is no
 * object. An empty text gives NULL. */
CW_MUST_USE cw_code cw_install_read(cw_str text, const char *section, cw_arena *arena,
                                    const cw_json **ret_root, cw_str *ret_plain, cw_err *err);
/* The bytes of an entry's value in a text; .p is NULL when it has none. */
CW_MUST_USE cw_code cw_install_find(cw_str text, const char *section, cw_str name, cw_arena *arena,
                                    cw_str *ret_value, cw_err *err);
/* Append the text with this entry to `out`. Lines of `value` are indented to where
 * they stand; a tab at their begin is one level more. */
CW_MUST_USE cw_code cw_install_put(cw_str text, const char *section, cw_str name, cw_str value,
                                   cw_arena *arena, cw_buf *out, cw_err *err);
/* The same without the entry, which must be there, and with `drops_section` without a section that
 * has no other. *ret_is_bare: nothing else is left either. */
CW_MUST_USE cw_code cw_install_remove(cw_str text, const char *section, cw_str name,
                                      bool drops_section, cw_arena *arena, cw_buf *out,
                                      bool *ret_is_bare, cw_err *err);
/* Append the lines that differ, with a few around them, as in a diff. */
void cw_install_add_diff(cw_buf *out, cw_str old_text, cw_str new_text);

/* ---- file.c: files ---- */

/* Replace a file as a whole, or make it; mode and owner stay. Links are followed. */
CW_MUST_USE cw_code cw_install_write(const char *path, cw_str text, cw_err *err);
/* All of a file; *ret_exists is false when there is none. */
CW_MUST_USE cw_code cw_install_load(const char *path, cw_buf *out, bool *ret_exists, cw_err *err);
/* Make the folders of a file. */
CW_MUST_USE cw_code cw_install_make_folders(const char *path, cw_err *err);

#endif
