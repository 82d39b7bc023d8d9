/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "content.h"

#include <stdio.h>
#include <stdlib.h>

#include "content_sql.h"

#define FILE_NAME "examples.db"
#define PATH_BYTES 4096
#define BUSY_MS 2000 /* another process writes */

static sqlite3 *content;
static sqlite3_stmt *statements[CONTENT_QUERIES];
static int in_use; /* statements that were not given back yet */
/* Set by a failure: the file is closed when the last statement has been given back. */
static bool is_bad;

/* clang takes literals that are joined in a list for a forgotten comma, unless they are in
 * parentheses. */
static const char *const queries[CONTENT_QUERIES] = {
    [CONTENT_TYPES] = "SELECT id, label FROM content_types ORDER BY id",
    [CONTENT_ARTICLES] = ("SELECT nid, title, created FROM nodes"
                          " WHERE type = 'article' AND published = 1"
                          " ORDER BY created DESC, nid DESC LIMIT ?1 OFFSET ?2"),
    [CONTENT_ARTICLE] = ("SELECT title, body, markdown"
                         " FROM nodes LEFT JOIN markdown_cache USING (nid)"
                         " WHERE nid = ?1 AND type = 'article' AND published = 1"),
    [CONTENT_BODIES] = ("SELECT nid, title, body FROM nodes"
                        " WHERE type = 'article' AND published = 1"),
    /* One statement: the type cannot go between being looked up and being used. */
    [CONTENT_ADD_NODE] = ("INSERT INTO nodes (type, title, published, created, body)"
                          " SELECT id, ?2, publish, CAST(strftime('%s') AS INTEGER), ''"
                          " FROM content_types WHERE id = ?1 RETURNING nid"),
    [CONTENT_KEEP] = "INSERT INTO markdown_cache (nid, markdown) VALUES (?1, ?2)",
    [CONTENT_FORGET] = "DELETE FROM markdown_cache",
    [CONTENT_BEGIN] = "BEGIN IMMEDIATE",
    [CONTENT_COMMIT] = "COMMIT",
};

/* The caller learns that it failed; the log learns why. */
static void fail(cw_call *call)
{
    cw_call_log(call, CW_LEVEL_ERROR, FILE_NAME ": %s",
                content ? sqlite3_errmsg(content) : "no memory");
    cw_error(call, CW_ERROR_INTERNAL, "Internal error");
    cw_put_text(call, NULL, "The content cannot be used");
    is_bad = true;
}

/* After a failure: start anew with the next call. Changes that were not committed are undone. */
static void close_if_bad(void)
{
    if (!is_bad || in_use > 0)
        return;
    for (int i = 0; i < CONTENT_QUERIES; i++) {
        sqlite3_finalize(statements[i]);
        statements[i] = NULL;
    }
    sqlite3_close(content);
    content = NULL;
    is_bad = false;
}

/* 0: no process has filled it yet; -1: it cannot be read. */
static int read_version(void)
{
    sqlite3_stmt *statement = NULL;
    int version = -1;
    if (sqlite3_prepare_v2(content, "PRAGMA user_version", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        version = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return version;
}

/* A second process waits for its turn, finds the database filled, and changes nothing. */
static bool fill(void)
{
    if (sqlite3_exec(content, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return false;
    if (read_version() == 0 && sqlite3_exec(content, content_sql, NULL, NULL, NULL) != SQLITE_OK)
        return false;
    return sqlite3_exec(content, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
}

static bool open_content(void)
{
    if (content)
        return true;
    const char *folder = getenv("CAUSEWAY_PLUGIN_DATA");
    if (!folder)
        folder = getenv("CAUSEWAY_PLUGIN_DIR"); /* a host of an older version */
    char path[PATH_BYTES];
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    snprintf(path, sizeof path, "%s/" FILE_NAME, folder ? folder : ".");
    if (sqlite3_open_v2(path, &content, flags, NULL) != SQLITE_OK)
        return false;
    sqlite3_busy_timeout(content, BUSY_MS);
    int version = read_version();
    return version > 0 || (version == 0 && fill());
}

sqlite3_stmt *content_begin(cw_call *call, content_query query)
{
    if (open_content() &&
        (statements[query] ||
         sqlite3_prepare_v3(content, queries[query], -1, SQLITE_PREPARE_PERSISTENT,
                            &statements[query], NULL) == SQLITE_OK)) {
        in_use++;
        return statements[query];
    }
    fail(call);
    close_if_bad();
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
    in_use--;
    close_if_bad();
}

bool content_run(cw_call *call, content_query query)
{
    sqlite3_stmt *statement = content_begin(call, query);
    if (!statement)
        return false;
    content_next(call, statement);
    bool is_done = !is_bad;
    content_end(statement);
    return is_done;
}

void content_undo(void)
{
    /* A failure has closed the file, which undoes it too; SQLite itself may have done so. */
    if (content)
        (void)sqlite3_exec(content, "ROLLBACK", NULL, NULL, NULL);
}

const char *content_text(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text ? text : "";
}
