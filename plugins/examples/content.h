/* SPDX-License-Identifier: GPL-2.0-or-later */
/* content.h - the example content: an SQLite file, opened when it is first used.
 *
 * It is examples.db in $CAUSEWAY_PLUGIN_DATA. Where there is none it is made and
 * filled, by one of the processes that want it at the same time. A file that is bad,
 * gone or locked is an error of the call; the next call opens it anew.
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
    CONTENT_ARTICLE,  /* nid -> title, body, Markdown that is kept or NULL */
    CONTENT_BODIES,   /* -> nid, title, body of the published articles */
    CONTENT_ADD_NODE, /* type, title -> nid; no row: there is no such type */
    CONTENT_KEEP,     /* nid, Markdown */
    CONTENT_FORGET,   /* drops all Markdown that is kept */
    CONTENT_BEGIN,    /* a transaction that writes, to end with CONTENT_COMMIT or content_undo */
    CONTENT_COMMIT,
    CONTENT_QUERIES,
} content_query;

/* A statement with nothing bound, or NULL: the call has been answered with an error then. Give it
 * back with content_end. */
sqlite3_stmt *content_begin(cw_call *call, content_query query);
/* The next row: true. The end: false; a failure of the content file answers the call. */
bool content_next(cw_call *call, sqlite3_stmt *statement);
void content_end(sqlite3_stmt *statement);
/* Run a statement that takes nothing and returns nothing. False: the call has been answered. */
bool content_run(cw_call *call, content_query query);
/* Undo what was done since CONTENT_BEGIN. */
void content_undo(void);
/* A column as text, never NULL. */
const char *content_text(sqlite3_stmt *statement, int column);

#endif
