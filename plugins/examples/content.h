/* SPDX-License-Identifier: GPL-2.0-or-later */
/* content.h - the example content: an SQLite file beside the plugin, opened when it is first used.
 *
 * Statements are prepared once and kept; a worker runs one call at a time.
 */
#ifndef EXAMPLES_CONTENT_H
#define EXAMPLES_CONTENT_H

#include <sqlite3.h>

#include <causeway/plugin.h>

typedef enum content_query {
    CONTENT_TYPES,    /* -> id, label */
    CONTENT_ARTICLES, /* limit, offset -> nid, title, created */
    CONTENT_ARTICLE,  /* nid -> title, body */
    CONTENT_QUERIES,
} content_query;

/* A statement with nothing bound, or NULL: the call has been answered with an error then. Give it
 * back with content_end. */
sqlite3_stmt *content_begin(cw_call *call, content_query query);
/* The next row: true. The end: false; a failure of the content file answers the call. */
bool content_next(cw_call *call, sqlite3_stmt *statement);
void content_end(sqlite3_stmt *statement);
/* A column as text, never NULL. */
const char *content_text(sqlite3_stmt *statement, int column);

#endif
