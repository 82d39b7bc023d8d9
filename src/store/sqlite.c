/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sqlite.c - a database in a file: opening, versions of the schema, transactions, statements.
 *
 * Write-ahead log with full syncs: a change that was reported is on the disk, and readers never
 * wait for a writer. This file creates the database, so that its mode is 0600 from the first
 * moment; SQLite gives its side files the same mode.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/db_int.h"

typedef struct sqlite_db {
    cw_db db;
    sqlite3 *sqlite;
    dev_t device; /* of the open file */
    ino_t inode;
    bool is_changing; /* between begin and end */
    char path[];
} sqlite_db;

#define NOTE(table, event, condition, who)                                                         \
    "CREATE TRIGGER change_" table "_" event " AFTER " event " ON " table " " condition            \
    " BEGIN UPDATE generation SET n = n + 1;"                                                      \
    " INSERT INTO change (n, account) SELECT n, " who " FROM generation; END;"
#define NOTE_CHANGES(table, who_new, who_old)                                                      \
    NOTE(table, "INSERT", "", who_new)                                                             \
    NOTE(table, "UPDATE", "", who_new) NOTE(table, "DELETE", "", who_old)
#define SCOPE_OWNER(row) "coalesce((SELECT account FROM token WHERE id = " row ".token), 0)"
#define GRANT_OWNER "coalesce((SELECT account FROM oauth_grant WHERE id = old.given_by), 0)"
/* Rows that had expired gave no rights. */
#define IF_ALIVE "WHEN old.expires > CAST(strftime('%s', 'now') AS INTEGER) * 1000"

/* Each text takes the database from its index to the next version, and records that at its end. Never
 * edit one; add one. */
static const char *const versions[] = {
    "CREATE TABLE account ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " name TEXT NOT NULL UNIQUE,"
    " password TEXT,"
    " language TEXT,"
    " created INTEGER NOT NULL,"
    " blocked INTEGER NOT NULL DEFAULT 0"
    ") STRICT;"
    "CREATE TABLE role (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;"
    "CREATE TABLE role_permission ("
    " role TEXT NOT NULL REFERENCES role ON DELETE CASCADE,"
    " permission TEXT NOT NULL,"
    " PRIMARY KEY (role, permission)"
    ") STRICT, WITHOUT ROWID;"
    /* Without a reference to role: the configuration defines roles too. */
    "CREATE TABLE account_role ("
    " account INTEGER NOT NULL REFERENCES account ON DELETE CASCADE,"
    " role TEXT NOT NULL,"
    " PRIMARY KEY (account, role)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX account_role_by_role ON account_role (role);"
    "CREATE TABLE token ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " account INTEGER NOT NULL REFERENCES account ON DELETE CASCADE,"
    " name TEXT NOT NULL,"
    " hash BLOB NOT NULL UNIQUE,"
    " created INTEGER NOT NULL,"
    " expires INTEGER NOT NULL,"
    " revoked INTEGER NOT NULL DEFAULT 0"
    ") STRICT;"
    "CREATE INDEX token_by_account ON token (account);"
    "CREATE TABLE token_scope ("
    " token INTEGER NOT NULL REFERENCES token ON DELETE CASCADE,"
    " scope TEXT NOT NULL,"
    " PRIMARY KEY (token, scope)"
    ") STRICT, WITHOUT ROWID;"
    "INSERT INTO role (name) VALUES ('anonymous'), ('authenticated');"
    "PRAGMA application_id = 1668768121;"
    "PRAGMA user_version = 1;",
    "CREATE TABLE cache_order ("
    " what TEXT PRIMARY KEY,"
    " n INTEGER NOT NULL,"
    " at INTEGER NOT NULL"
    ") STRICT, WITHOUT ROWID;"
    "PRAGMA user_version = 2;",
    "CREATE TABLE secret ("
    " name TEXT PRIMARY KEY,"
    " value BLOB NOT NULL"
    ") STRICT, WITHOUT ROWID;"
    "PRAGMA user_version = 3;",
    "CREATE TABLE session ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " account INTEGER NOT NULL REFERENCES account ON DELETE CASCADE,"
    " hash BLOB NOT NULL UNIQUE,"
    " created INTEGER NOT NULL,"
    " used INTEGER NOT NULL"
    ") STRICT;"
    "CREATE INDEX session_by_account ON session (account);"
    /* An account whose rights have changed has to log in again. Triggers hold for every command that
     * changes an account. */
    "CREATE TRIGGER session_of_account AFTER UPDATE OF password, blocked ON account BEGIN"
    " DELETE FROM session WHERE account = new.id; END;"
    "CREATE TRIGGER session_of_new_role AFTER INSERT ON account_role BEGIN"
    " DELETE FROM session WHERE account = new.account; END;"
    "CREATE TRIGGER session_of_old_role AFTER DELETE ON account_role BEGIN"
    " DELETE FROM session WHERE account = old.account; END;"
    "PRAGMA user_version = 4;",
    ("DROP TABLE cache_order;"
     "PRAGMA user_version = 5;"),
    ("CREATE TABLE oauth_client ("
     " id TEXT PRIMARY KEY,"
     " record TEXT NOT NULL,"
     " secret BLOB,"
     " created INTEGER NOT NULL,"
     " denied INTEGER NOT NULL DEFAULT 0"
     ") STRICT, WITHOUT ROWID;"
     "CREATE TABLE oauth_code ("
     " hash BLOB PRIMARY KEY,"
     " account INTEGER NOT NULL REFERENCES account ON DELETE CASCADE,"
     " client TEXT NOT NULL,"
     " record TEXT NOT NULL,"
     " redirect_uri TEXT NOT NULL,"
     " challenge TEXT NOT NULL,"
     " resource TEXT NOT NULL,"
     " scopes TEXT NOT NULL,"
     " refresh INTEGER NOT NULL,"
     " expires INTEGER NOT NULL,"
     " given INTEGER NOT NULL DEFAULT 0"
     ") STRICT, WITHOUT ROWID;"
     "CREATE INDEX oauth_code_by_account ON oauth_code (account);"
     "CREATE TABLE oauth_grant ("
     " id INTEGER PRIMARY KEY AUTOINCREMENT,"
     " account INTEGER NOT NULL REFERENCES account ON DELETE CASCADE,"
     " client TEXT NOT NULL,"
     " record TEXT NOT NULL,"
     " redirect_uri TEXT NOT NULL,"
     " resource TEXT NOT NULL,"
     " scopes TEXT NOT NULL,"
     " created INTEGER NOT NULL,"
     " used INTEGER NOT NULL,"
     " expires INTEGER NOT NULL,"
     " generation INTEGER NOT NULL,"
     " rotated INTEGER NOT NULL,"
     " secret BLOB"
     ") STRICT;"
     "CREATE INDEX oauth_grant_by_account ON oauth_grant (account);"
     "CREATE TABLE oauth_token ("
     " hash BLOB PRIMARY KEY,"
     " given_by INTEGER NOT NULL REFERENCES oauth_grant ON DELETE CASCADE,"
     " scopes TEXT NOT NULL,"
     " created INTEGER NOT NULL,"
     " expires INTEGER NOT NULL"
     ") STRICT, WITHOUT ROWID;"
     "CREATE INDEX oauth_token_by_grant ON oauth_token (given_by);"
     "CREATE INDEX oauth_token_by_expiry ON oauth_token (expires);"
     /* A new password and a block end all that the account has allowed. */
     "CREATE TRIGGER oauth_of_account AFTER UPDATE OF password, blocked ON account BEGIN"
     " DELETE FROM oauth_code WHERE account = new.id;"
     " DELETE FROM oauth_grant WHERE account = new.id; END;"
     "PRAGMA user_version = 6;"),
    ("CREATE TABLE oauth_assertion ("
     " hash BLOB PRIMARY KEY,"
     " until INTEGER NOT NULL"
     ") STRICT, WITHOUT ROWID;"
     "CREATE INDEX oauth_assertion_by_end ON oauth_assertion (until);"
     "PRAGMA user_version = 7;"),
    ("CREATE TABLE oauth_device ("
     " hash BLOB PRIMARY KEY,"
     " code BLOB NOT NULL UNIQUE,"
     " client TEXT NOT NULL,"
     " record TEXT NOT NULL,"
     " resource TEXT NOT NULL,"
     " scopes TEXT NOT NULL,"
     " address TEXT NOT NULL,"
     " created INTEGER NOT NULL,"
     " expires INTEGER NOT NULL,"
     " polled INTEGER NOT NULL,"
     " pause INTEGER NOT NULL,"
     " account INTEGER REFERENCES account ON DELETE CASCADE,"
     " denied INTEGER NOT NULL DEFAULT 0"
     ") STRICT, WITHOUT ROWID;"
     "CREATE INDEX oauth_device_by_account ON oauth_device (account);"
     "CREATE TRIGGER oauth_device_of_account AFTER UPDATE OF password, blocked ON account BEGIN"
     " DELETE FROM oauth_device WHERE account = new.id; END;"
     "PRAGMA user_version = 8;"),
    ("CREATE TABLE task ("
     " id TEXT PRIMARY KEY,"
     " owner TEXT NOT NULL,"
     " caller TEXT NOT NULL,"
     " tool TEXT NOT NULL,"
     " method TEXT NOT NULL,"
     " process TEXT NOT NULL,"
     " status INTEGER NOT NULL,"
     " message TEXT,"
     " payload TEXT,"
     " created INTEGER NOT NULL,"
     " ended INTEGER NOT NULL,"
     " expires INTEGER NOT NULL,"
     " alive INTEGER NOT NULL"
     ") STRICT;"
     "CREATE INDEX task_by_expiry ON task (expires);"
     "CREATE INDEX task_by_process ON task (process) WHERE ended = 0;"
     "PRAGMA user_version = 9;"),
    ("CREATE TABLE oauth_key ("
     " id TEXT PRIMARY KEY,"
     " alg TEXT NOT NULL,"
     " jwk TEXT NOT NULL,"
     " secret TEXT NOT NULL,"
     " state INTEGER NOT NULL,"
     " created INTEGER NOT NULL,"
     " since INTEGER NOT NULL,"
     " ends INTEGER NOT NULL DEFAULT 0"
     ") STRICT, WITHOUT ROWID;"
     /* One key signs, and one is the next: also if two servers begin at once. */
     "CREATE UNIQUE INDEX oauth_key_in_use ON oauth_key (state) WHERE state < 2;"
     "PRAGMA user_version = 10;"),
    ("CREATE TABLE replica ("
     " node TEXT PRIMARY KEY,"
     " number INTEGER NOT NULL,"
     " name TEXT NOT NULL,"
     " process TEXT NOT NULL,"
     " version TEXT NOT NULL,"
     " config TEXT NOT NULL,"
     " catalogue TEXT NOT NULL,"
     " every INTEGER NOT NULL,"
     " started INTEGER NOT NULL,"
     " seen INTEGER NOT NULL"
     ") STRICT, WITHOUT ROWID;"
     "CREATE UNIQUE INDEX replica_by_number ON replica (number) WHERE number > 0;"
     "PRAGMA user_version = 11;"),
    ("CREATE TABLE webhook ("
     " id TEXT PRIMARY KEY,"
     " owner TEXT NOT NULL,"
     " state TEXT NOT NULL,"
     " expires INTEGER NOT NULL"
     ") STRICT, WITHOUT ROWID;"
     "CREATE INDEX webhook_by_expiry ON webhook (expires);"
     "PRAGMA user_version = 12;"),
    /* Changes of rights are counted, by account; 0 stands for everybody. The use of a session is none. */
    ("CREATE TABLE generation ("
     " one INTEGER PRIMARY KEY CHECK (one = 1),"
     " n INTEGER NOT NULL,"
     " epoch INTEGER NOT NULL" /* of this database: a restored or copied one gets another */
     ") STRICT;"
     "INSERT INTO generation (one, n, epoch) VALUES (1, 1, random());"
     "CREATE TABLE change (n INTEGER PRIMARY KEY, account INTEGER NOT NULL) STRICT;" NOTE_CHANGES(
         "account", "new.id", "old.id") NOTE_CHANGES("role", "0",
                                                     "0") NOTE_CHANGES("role_permission", "0", "0")
         NOTE_CHANGES("account_role", "new.account", "old.account") "PRAGMA user_version = 13;"),
    (NOTE_CHANGES("token", "new.account",
                  "old.account") NOTE_CHANGES("token_scope", SCOPE_OWNER("new"), SCOPE_OWNER("old"))
         NOTE_CHANGES("oauth_client", "0", "0") NOTE("session", "DELETE", "", "old.account")
             NOTE("oauth_grant", "DELETE", IF_ALIVE, "old.account")
                 NOTE("oauth_token", "DELETE", IF_ALIVE, GRANT_OWNER) "PRAGMA user_version = 14;"),
    ("CREATE TABLE letter ("
     " id INTEGER PRIMARY KEY AUTOINCREMENT,"
     " to_node TEXT NOT NULL,"
     " body BLOB NOT NULL,"
     " until INTEGER NOT NULL"
     ") STRICT;"
     "CREATE INDEX letter_by_node ON letter (to_node, id);"
     "CREATE INDEX letter_by_end ON letter (until);"
     "PRAGMA user_version = 15;"),
    /* Beside the tokens: a use is written often, and is no change of rights. */
    ("CREATE TABLE token_use ("
     " token INTEGER PRIMARY KEY REFERENCES token ON DELETE CASCADE,"
     " used INTEGER NOT NULL,"
     " address TEXT NOT NULL"
     ") STRICT;"
     "PRAGMA user_version = 16;"),
    ("CREATE TABLE approval ("
     " source TEXT PRIMARY KEY,"
     " entries TEXT NOT NULL,"
     " n INTEGER NOT NULL" /* of the change that wrote the row */
     ") STRICT, WITHOUT ROWID;"
     "PRAGMA user_version = 17;"),
    ("CREATE TABLE failure ("
     " who TEXT PRIMARY KEY,"
     " n INTEGER NOT NULL,"
     " at INTEGER NOT NULL,"
     " until INTEGER NOT NULL"
     ") STRICT, WITHOUT ROWID;"
     /* An account that the operator has changed may log in at once. ';' comes after ':'. */
     "CREATE TRIGGER failure_of_account AFTER UPDATE OF password, blocked ON account BEGIN"
     " DELETE FROM failure WHERE who = 'account:' || new.name;"
     " UPDATE failure SET n = 0"
     " WHERE who > 'pair:' || new.name || ':' AND who < 'pair:' || new.name || ';'; END;"
     "CREATE TRIGGER failure_of_old_account AFTER DELETE ON account BEGIN"
     " DELETE FROM failure"
     " WHERE who > 'pair:' || old.name || ':' AND who < 'pair:' || old.name || ';'; END;"
     "PRAGMA user_version = 18;"),
    /* The server that runs a task, and the state that another server shows of it. */
    ("ALTER TABLE task ADD COLUMN node TEXT NOT NULL DEFAULT '';"
     "ALTER TABLE task ADD COLUMN updated INTEGER NOT NULL DEFAULT 0;"
     "PRAGMA user_version = 19;"),
    /* The clock of the database, in ms: a key is known to all servers before it seals. */
    ("ALTER TABLE secret ADD COLUMN created INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE secret ADD COLUMN begins INTEGER NOT NULL DEFAULT 0;"
     "PRAGMA user_version = 20;"),
    /* Callers share the lasting letters. */
    ("ALTER TABLE letter ADD COLUMN share INTEGER NOT NULL DEFAULT 0;"
     "PRAGMA user_version = 21;"),
};

/* "cway": whose file this is. */
#define APPLICATION_ID 1668768121
#define WAL_PAUSE_MS 5

/* ---- errors ---- */

static cw_code code_of(int rc)
{
    switch (rc & 0xFF) {
    case SQLITE_OK:
        return CW_OK;
    case SQLITE_NOMEM:
        return CW_NOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return CW_TIMEOUT;
    case SQLITE_CONSTRAINT:
        return CW_PARAMS;
    default:
        return CW_IO;
    }
}

static cw_code fail(const sqlite_db *db, int rc, cw_err *err)
{
    cw_code code = code_of(rc);
    return cw_fail(err, code, "database '%s': %s", db->path, sqlite3_errstr(rc));
}

static cw_code execute(sqlite_db *db, const char *sql, cw_err *err)
{
    int rc = sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL);
    return rc ? fail(db, rc, err) : CW_OK;
}

/* ---- transactions ---- */

static void undo(sqlite_db *db)
{
    (void)sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
}

/* Without memory a change cannot be undone at its end. The next statement is not a part of it. */
static void undo_earlier(sqlite_db *db)
{
    if (!db->is_changing && !sqlite3_get_autocommit(db->sqlite))
        undo(db);
}

static cw_code begin(sqlite_db *db, cw_err *err)
{
    undo_earlier(db);
    cw_code rc = execute(db, "BEGIN IMMEDIATE", err);
    db->is_changing = !rc;
    return rc;
}

static cw_code end(sqlite_db *db, cw_code rc, cw_err *err)
{
    db->is_changing = false;
    if (rc == CW_OK || rc == CW_DONE) {
        cw_code end = execute(db, "COMMIT", err);
        if (!end)
            return rc;
        rc = end;
    }
    /* The caller gets the first failure. Some failures have rolled back already. */
    undo(db);
    return rc;
}

/* ---- versions ---- */

static cw_code read_number(sqlite_db *db, const char *sql, int64_t *ret, cw_err *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->sqlite, sql, -1, &stmt, NULL);
    if (!rc)
        rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? CW_OK : fail(db, rc, err);
}

static cw_code upgrade(sqlite_db *db, cw_err *err)
{
    int64_t version = 0;
    cw_code rc = read_number(db, "PRAGMA user_version", &version, err);
    for (size_t i = (size_t)version; i < CW_COUNT(versions) && !rc; i++)
        rc = execute(db, versions[i], err);
    return rc;
}

/* Check that the file belongs to this program, and that its version is known. */
static cw_code check_version(sqlite_db *db, int64_t *ret_version, cw_err *err)
{
    int64_t version = 0, application = 0, tables = 0;
    cw_code rc = read_number(db, "PRAGMA user_version", &version, err);
    if (!rc)
        rc = read_number(db, "PRAGMA application_id", &application, err);
    if (!rc)
        rc = read_number(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (rc)
        return rc;
    if (tables > 0 && application != APPLICATION_ID)
        return cw_fail(err, CW_IO, "database '%s': belongs to another program", db->path);
    if (version < 0 || version > (int64_t)CW_COUNT(versions))
        return cw_fail(err, CW_IO, "database '%s': made by a newer version of this program",
                       db->path);
    *ret_version = version;
    return CW_OK;
}

static cw_code migrate(sqlite_db *db, cw_err *err)
{
    int64_t version = 0;
    /* In one transaction: another process may be creating the tables of a new file. */
    cw_code rc = execute(db, "BEGIN", err);
    if (!rc)
        rc = end(db, check_version(db, &version, err), err);
    if (rc || version == (int64_t)CW_COUNT(versions))
        return rc;
    /* Two processes may open a new file at once: the version is read again inside. */
    rc = begin(db, err);
    return rc ? rc : end(db, upgrade(db, err), err);
}

/* ---- open and close ---- */

static sqlite_db *own(cw_db *db)
{
    return CW_CONTAINER(db, sqlite_db, db);
}

static void close_db(cw_db *db)
{
    sqlite3_close(own(db)->sqlite);
    free(own(db));
}

static bool is_current(const cw_db *of)
{
    const sqlite_db *db = (const void *)of; /* its first member */
    struct stat st;
    return stat(db->path, &st) == 0 && st.st_dev == db->device && st.st_ino == db->inode;
}

static cw_code data_version(cw_db *db, int64_t *ret, cw_err *err)
{
    return read_number(own(db), "PRAGMA data_version", ret, err);
}

static cw_code begin_change(cw_db *db, cw_err *err)
{
    return begin(own(db), err);
}

static cw_code end_change(cw_db *db, cw_code rc, cw_err *err)
{
    return end(own(db), rc, err);
}

/* ---- statements ---- */

static void check(cw_db_query *q, int rc)
{
    if (rc == SQLITE_OK || q->code)
        return;
    q->code = fail(own(q->db), rc, &q->err);
}

static void open_query(cw_db_query *q, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    undo_earlier(own(q->db));
    check(q, sqlite3_prepare_v2(own(q->db)->sqlite, sql, -1, &stmt, NULL));
    q->rows = stmt;
}

static int bind_value(sqlite3_stmt *stmt, int at, const cw_db_value *value)
{
    /* A pointer of NULL would be the value NULL. */
    const char *p = value->text.n ? value->text.p : "";
    switch (value->kind) {
    case CW_DB_I64:
        return sqlite3_bind_int64(stmt, at, value->number);
    case CW_DB_TEXT:
        return sqlite3_bind_text64(stmt, at, p, value->text.n, SQLITE_TRANSIENT, SQLITE_UTF8);
    case CW_DB_BYTES:
        return sqlite3_bind_blob64(stmt, at, p, value->text.n, SQLITE_TRANSIENT);
    case CW_DB_NULL:
        break;
    }
    return sqlite3_bind_null(stmt, at);
}

static void bind(cw_db_query *q, int at, const cw_db_value *value)
{
    check(q, bind_value(q->rows, at, value));
}

static bool step(cw_db_query *q)
{
    int rc = sqlite3_step(q->rows);
    if (rc == SQLITE_ROW)
        return true;
    if (rc != SQLITE_DONE)
        check(q, rc);
    return false;
}

static void reset(cw_db_query *q)
{
    check(q, sqlite3_reset(q->rows));
}

static cw_str column_text(cw_db_query *q, int column)
{
    const char *p = (const char *)sqlite3_column_text(q->rows, column);
    int n = sqlite3_column_bytes(q->rows, column);
    /* NULL is what the column holds, or what is left without memory. */
    if (!p && sqlite3_errcode(own(q->db)->sqlite) == SQLITE_NOMEM)
        check(q, SQLITE_NOMEM);
    return (cw_str){p, (size_t)n};
}

static cw_str column_bytes(cw_db_query *q, int column)
{
    const char *p = sqlite3_column_blob(q->rows, column);
    return (cw_str){p, (size_t)sqlite3_column_bytes(q->rows, column)};
}

static int64_t column_i64(cw_db_query *q, int column)
{
    return sqlite3_column_int64(q->rows, column);
}

static int64_t n_changed(cw_db_query *q)
{
    return sqlite3_changes64(own(q->db)->sqlite);
}

static void close_query(cw_db_query *q)
{
    sqlite3_finalize(q->rows); /* repeats what the last step said */
    q->rows = NULL;
}

#define COUNTER(table)                                                                             \
    {                                                                                              \
        "SELECT seq FROM sqlite_sequence WHERE name = '" table "'",                                \
            "DELETE FROM sqlite_sequence WHERE name = '" table "'",                                \
            "INSERT INTO sqlite_sequence (name, seq) VALUES ('" table "', ?1)"                     \
    }

#define NEW_EPOCH "UPDATE generation SET n = n + 1, epoch = random()"

static const char *const end_load[] = {"DELETE FROM change", NEW_EPOCH, NULL};

static const cw_db_ops ops = {
    .close = close_db,
    .is_current = is_current,
    .data_version = data_version,
    .begin = begin_change,
    .end = end_change,
    .open_query = open_query,
    .bind = bind,
    .step = step,
    .reset = reset,
    .column_text = column_text,
    .column_bytes = column_bytes,
    .column_i64 = column_i64,
    .n_changed = n_changed,
    .close_query = close_query,
    .counters = {COUNTER("account"), COUNTER("token"), COUNTER("session"), COUNTER("oauth_grant")},
    .end_load = end_load,
    .new_epoch = NEW_EPOCH,
};

static cw_code create(const char *path, cw_err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return CW_OK;
    if (fd < 0)
        return cw_fail_errno(err, errno, "create database '%s'", path);
    close(fd);
    return CW_OK;
}

static cw_code poll_version(sqlite_db *db, cw_err *err)
{
    struct stat st;
    if (stat(db->path, &st) == 0) {
        db->device = st.st_dev;
        db->inode = st.st_ino;
        return CW_OK;
    }
    if (errno == ENOENT)
        return cw_fail(err, CW_NOTFOUND, "database '%s' does not exist", db->path);
    return cw_fail_errno(err, errno, "database '%s'", db->path);
}

/* If several programs open a new file at once, SQLite rejects some without waiting for its busy
 * timeout, in order to avoid a deadlock. */
static cw_code use_wal(sqlite_db *db, uint32_t busy_ms, cw_err *err)
{
    uint64_t end = cw_clock_ms() + busy_ms;
    for (;;) {
        cw_code rc = execute(db, "PRAGMA journal_mode = WAL", err);
        if (rc != CW_TIMEOUT || cw_clock_ms() >= end)
            return rc;
        sqlite3_sleep(WAL_PAUSE_MS);
    }
}

static cw_code set_up(sqlite_db *db, uint32_t busy_ms, cw_err *err)
{
    int rc = sqlite3_busy_timeout(db->sqlite, (int)busy_ms);
    if (!rc)
        rc = sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    if (!rc)
        rc = sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    if (rc)
        return fail(db, rc, err);
    cw_code code = use_wal(db, busy_ms, err);
    if (code)
        return code;
    return execute(db,
                   "PRAGMA synchronous = FULL;"
                   "PRAGMA foreign_keys = ON;"
                   "PRAGMA secure_delete = ON;"
                   "PRAGMA journal_size_limit = 1048576",
                   err);
}

static cw_code open_file(sqlite_db *db, const cw_db_opts *opts, cw_err *err)
{
    cw_code rc = opts->may_create ? create(db->path, err) : CW_OK;
    if (!rc)
        rc = poll_version(db, err);
    if (rc)
        return rc;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    int opened = sqlite3_open_v2(db->path, &db->sqlite, flags, NULL);
    if (opened)
        return fail(db, opened, err);
    sqlite3_extended_result_codes(db->sqlite, 1);
    rc = set_up(db, opts->busy_ms, err);
    if (!rc)
        rc = migrate(db, err);
    /* A file that was replaced meanwhile is found by the next cw_db_is_current. */
    return rc;
}

/* NULL without memory. */
static sqlite_db *new_db(const char *path)
{
    size_t n = strlen(path);
    sqlite_db *db = calloc(1, sizeof *db + n + 1);
    if (!db)
        return NULL;
    db->db.ops = &ops;
    memcpy(db->path, path, n + 1);
    return db;
}

cw_code cw_sqlite_open(const cw_db_opts *opts, cw_db **ret, cw_err *err)
{
    sqlite_db *db = new_db(opts->where);
    if (!db)
        return cw_fail_nomem(err);
    cw_code rc = open_file(db, opts, err);
    if (rc) {
        close_db(&db->db);
        return rc;
    }
    *ret = &db->db;
    return CW_OK;
}

/* ---- health ---- */

static void keep_text(char *out, size_t n, const char *text)
{
    size_t length = strnlen(text, n - 1);
    memcpy(out, text, length);
    out[length] = '\0';
}

static cw_code find_damage(sqlite_db *db, char *out, size_t n, cw_err *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->sqlite, "PRAGMA quick_check(1)", -1, &stmt, NULL);
    if (!rc)
        rc = sqlite3_step(stmt);
    const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
    if (text && strcmp(text, "ok") != 0)
        keep_text(out, n, text);
    cw_code code = rc == SQLITE_ROW ? CW_OK : fail(db, rc, err);
    sqlite3_finalize(stmt);
    return code;
}

static cw_code check_file(sqlite_db *db, uint32_t busy_ms, cw_db_health *ret, cw_err *err)
{
    cw_code rc = poll_version(db, err);
    if (rc)
        return rc;
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    int opened = sqlite3_open_v2(db->path, &db->sqlite, flags, NULL);
    if (opened)
        return fail(db, opened, err);
    (void)sqlite3_busy_timeout(db->sqlite, (int)busy_ms);
    *ret = (cw_db_health){.newest = (int64_t)CW_COUNT(versions)};
    rc = check_version(db, &ret->version, err);
    if (!rc)
        rc = find_damage(db, ret->damage, sizeof ret->damage, err);
    if (rc && (sqlite3_errcode(db->sqlite) & 0xFF) == SQLITE_CORRUPT) {
        keep_text(ret->damage, sizeof ret->damage, sqlite3_errmsg(db->sqlite));
        return CW_OK;
    }
    return rc;
}

cw_code cw_sqlite_check(const cw_db_opts *opts, cw_db_health *ret, cw_err *err)
{
    sqlite_db *db = new_db(opts->where);
    if (!db)
        return cw_fail_nomem(err);
    cw_code rc = check_file(db, opts->busy_ms, ret, err);
    close_db(&db->db);
    return rc;
}

static uint32_t read_u32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The format of SQLite files, 1.3: user_version is at offset 60, application_id at 68. */
bool cw_db_is_up_to_date(const char *path)
{
    unsigned char head[72];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? pread(fd, head, sizeof head, 0) : -1;
    if (fd >= 0)
        close(fd);
    return n == sizeof head && memcmp(head, "SQLite format 3", 16) == 0 &&
           read_u32(head + 60) == CW_COUNT(versions) && read_u32(head + 68) == APPLICATION_ID;
}
