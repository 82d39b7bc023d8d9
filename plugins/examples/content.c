/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "content.h"

#include <stdio.h>
#include <stdlib.h>

#define FILE_NAME "examples.db"
#define PATH_BYTES 4096

static sqlite3 *content;
static sqlite3_stmt *statements[CONTENT_QUERIES];

/* clang takes literals that are joined in a list for a forgotten comma, unless they are in
 * parentheses. */
static const char *const queries[CONTENT_QUERIES] = {
    [CONTENT_TYPES] = "SELECT id, label FROM content_types ORDER BY id",
    [CONTENT_ARTICLES] = ("SELECT nid, title, created FROM nodes"
                          " WHERE type = 'article' AND published = 1"
                          " ORDER BY created DESC, nid DESC LIMIT ?1 OFFSET ?2"),
    [CONTENT_ARTICLE] = ("SELECT title, body FROM nodes"
                         " WHERE nid = ?1 AND type = 'article' AND published = 1"),
};

/* The caller learns that it failed; the log learns why. */
static void fail(cw_call *call)
{
    cw_call_log(call, CW_LEVEL_ERROR, FILE_NAME ": %s",
                content ? sqlite3_errmsg(content) : "no memory");
    cw_error(call, CW_ERROR_INTERNAL, "Internal error");
    cw_put_text(call, NULL, "The content cannot be read");
}

/* Start anew with the next call. */
static void close_content(void)
{
    for (int i = 0; i < CONTENT_QUERIES; i++) {
        sqlite3_finalize(statements[i]);
        statements[i] = NULL;
    }
    sqlite3_close(content);
    content = NULL;
}

static bool open_content(void)
{
    if (content)
        return true;
    const char *folder = getenv("CAUSEWAY_PLUGIN_DIR");
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/" FILE_NAME, folder ? folder : ".");
    return sqlite3_open_v2(path, &content, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) ==
           SQLITE_OK;
}

sqlite3_stmt *content_begin(cw_call *call, content_query query)
{
    if (open_content() &&
        (statements[query] ||
         sqlite3_prepare_v3(content, queries[query], -1, SQLITE_PREPARE_PERSISTENT,
                            &statements[query], NULL) == SQLITE_OK))
        return statements[query];
    fail(call);
    close_content();
    return NULL;
}

bool content_next(cw_call *call, sqlite3_stmt *statement)
{
    int rc = sqlite3_step(statement);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        fail(call);
    return rc == SQLITE_ROW;
}

void content_end(sqlite3_stmt *statement)
{
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

const char *content_text(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text ? text : "";
}
