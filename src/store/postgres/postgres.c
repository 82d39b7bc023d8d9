/* SPDX-License-Identifier: GPL-2.0-or-later */
/* postgres.c - a database on a PostgreSQL server: connection, versions, transactions, statements.
 *
 * Nothing lives in the server's session: no prepared statement, no setting, no lock outlives a
 * transaction. So a pooler may use another connection for each. Every wait has our own deadline,
 * because the kernel of a paused server goes on acknowledging. After a deadline the connection is in
 * an unknown state, and is closed.
 *
 * Changes take turns as in a file: each takes one lock of the database until its end. So a login and
 * a new password cannot overtake each other.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "store/db_int.h"
#include "store/postgres/postgres_url.h"

#define MAX_SQL 2048u

/* Types of values, as in the server's catalogue. */
#define TYPE_BYTEA 17u
#define TYPE_INT8 20u
#define TYPE_TEXT 25u

/* A change of tables, and the wait for another program that makes it. */
#define MIGRATION_MS 60000u

#define BEGIN_CHANGE                                                                               \
    "BEGIN ISOLATION LEVEL READ COMMITTED;"                                                        \
    "SET LOCAL lock_timeout = '1s';" LOCK
/* 1668768121 is "cway". */
#define LOCK                                                                                       \
    "SET LOCAL idle_in_transaction_session_timeout = '10s';"                                       \
    "SELECT pg_advisory_xact_lock(1668768121)"

typedef struct postgres_db {
    cw_db db;
    const cw_libpq *pq;
    PGconn *conn;
    uint32_t timeout_ms;
    char name[CW_POSTGRES_NAME];
} postgres_db;

static postgres_db *own(cw_db *db)
{
    return CW_CONTAINER(db, postgres_db, db);
}

/* ---- errors ---- */

static bool is_of_class(const char *state, const char *class)
{
    return strncmp(state, class, strlen(class)) == 0;
}

static cw_code code_of(const char *state)
{
    static const char *const wait[] = {"40001", "40P01", "55P03", "57014"};
    /* An integrity constraint; a text that is not UTF-8, or holds a NUL. */
    if (is_of_class(state, "23") || is_of_class(state, "22021"))
        return CW_PARAMS;
    for (size_t i = 0; i < CW_COUNT(wait); i++) {
        if (is_of_class(state, wait[i]))
            return CW_TIMEOUT;
    }
    return CW_IO;
}

/* The first line: libpq ends each with a newline, and adds further ones for further hosts. */
static int line_of(const char *text)
{
    return (int)strcspn(text, "\n");
}

static cw_code fail_connection(const postgres_db *db, cw_err *err)
{
    const char *why = db->pq->error_message(db->conn);
    return cw_fail(err, CW_IO, "database '%s': %.*s", db->name, line_of(why), why);
}

static cw_code fail_result(const postgres_db *db, const PGresult *result, cw_err *err)
{
    const char *state = db->pq->result_error_field(result, PG_DIAG_SQLSTATE);
    const char *why = db->pq->result_error_field(result, PG_DIAG_MESSAGE_PRIMARY);
    if (!state)
        return fail_connection(db, err);
    if (is_of_class(state, "42P01") || is_of_class(state, "42703"))
        return cw_fail(err, CW_IO, "database '%s': its tables are of another version", db->name);
    return cw_fail(err, code_of(state), "database '%s': %s", db->name, why ? why : state);
}

/* ---- waiting ---- */

/* Until the connection can be read, or written if that is needed. */
static cw_code wait_for_server(const postgres_db *db, bool may_write, uint64_t end, cw_err *err)
{
    struct pollfd fd = {.fd = db->pq->socket(db->conn),
                        .events = (short)(may_write ? POLLIN | POLLOUT : POLLIN)};
    for (;;) {
        uint64_t now = cw_clock_ms();
        int rc = now < end ? poll(&fd, 1, (int)(end - now)) : 0;
        if (rc > 0)
            return CW_OK;
        if (rc == 0)
            return cw_fail(err, CW_IO, "database '%s': no response within %u ms", db->name,
                           db->timeout_ms);
        if (errno != EINTR)
            return cw_fail_errno(err, errno, "database '%s'", db->name);
    }
}

/* Until a result can be taken without blocking. */
static cw_code wait_for_result(const postgres_db *db, uint64_t end, cw_err *err)
{
    for (;;) {
        int unsent = db->pq->flush(db->conn);
        if (unsent < 0)
            return fail_connection(db, err);
        if (!unsent && !db->pq->is_busy(db->conn))
            return CW_OK;
        cw_code rc = wait_for_server(db, unsent, end, err);
        if (rc)
            return rc;
        if (!db->pq->consume_input(db->conn))
            return fail_connection(db, err);
    }
}

/* The last result of what was sent, or the first failure. */
static cw_code take_results(postgres_db *db, PGresult **ret, cw_err *err)
{
    const uint64_t end = cw_clock_ms() + db->timeout_ms;
    PGresult *last = NULL;
    cw_code rc = CW_OK;
    for (;;) {
        cw_err problem = {0};
        cw_code waited = wait_for_result(db, end, &problem);
        PGresult *result = waited ? NULL : db->pq->get_result(db->conn);
        if (waited && !rc && err)
            *err = problem;
        rc = rc ? rc : waited;
        if (!result)
            break;
        db->pq->clear(last);
        last = result;
        ExecStatusType status = db->pq->result_status(result);
        if (!rc && status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            rc = fail_result(db, result, err);
    }
    if (rc) {
        db->pq->clear(last);
        return rc;
    }
    *ret = last;
    return CW_OK;
}

/* Statements without values. */
static cw_code execute(postgres_db *db, const char *sql, cw_err *err)
{
    PGresult *result = NULL;
    if (!db->pq->send_query(db->conn, sql))
        return fail_connection(db, err);
    cw_code rc = take_results(db, &result, err);
    db->pq->clear(result);
    return rc;
}

/* ---- transactions ---- */

static void undo(postgres_db *db)
{
    if (db->pq->transaction_status(db->conn) != PQTRANS_IDLE)
        (void)!execute(db, "ROLLBACK", NULL);
}

static cw_code begin_with(postgres_db *db, const char *sql, cw_err *err)
{
    cw_code rc = execute(db, sql, err);
    if (rc && rc != CW_IO)
        undo(db);
    return rc;
}

static cw_code begin(cw_db *db, cw_err *err)
{
    return begin_with(own(db), BEGIN_CHANGE, err);
}

static cw_code end(cw_db *of, cw_code rc, cw_err *err)
{
    postgres_db *db = own(of);
    if (rc == CW_OK || rc == CW_DONE) {
        cw_code committed = execute(db, "COMMIT", err);
        if (committed == CW_IO)
            return cw_wrap(err, CW_IO, "it is unknown whether the change was made");
        if (!committed)
            return rc;
        rc = committed;
    }
    if (rc != CW_IO)
        undo(db);
    return rc;
}

/* ---- statements ---- */

static void open_query(cw_db_query *q, const char *sql)
{
    q->sql = sql;
    q->row = -1;
}

static void bind(cw_db_query *q, int at, const cw_db_value *value)
{
    q->values[at - 1] = *value;
    if (q->n_values < at)
        q->n_values = at;
}

/* PostgreSQL writes $1 for ?1, and string_agg for group_concat. No text of ours has either elsewhere. */
static void translate(const char *sql, char out[MAX_SQL])
{
    static const char theirs[] = "group_concat(", ours[] = "string_agg(";
    size_t n = 0;
    while (*sql && n < MAX_SQL - sizeof ours) {
        if (*sql == 'g' && strncmp(sql, theirs, sizeof theirs - 1) == 0) {
            memcpy(out + n, ours, sizeof ours - 1);
            n += sizeof ours - 1;
            sql += sizeof theirs - 1;
        } else {
            out[n++] = *sql == '?' ? '$' : *sql;
            sql++;
        }
    }
    out[n] = '\0';
}

typedef struct sent_values {
    Oid types[CW_DB_MAX_VALUES];
    const char *texts[CW_DB_MAX_VALUES];
    int lengths[CW_DB_MAX_VALUES], formats[CW_DB_MAX_VALUES];
    char numbers[CW_DB_MAX_VALUES][8];
} sent_values;

static void write_number(int64_t value, char out[8])
{
    for (size_t i = 0; i < 8; i++)
        out[i] = (char)((uint64_t)value >> (56 - 8 * i));
}

/* The server finds the type of a null by its place: it may stand for a text or for bytes. */
static void set_value(sent_values *v, int i, const cw_db_value *value)
{
    static const Oid types[] = {[CW_DB_NULL] = 0,
                                [CW_DB_I64] = TYPE_INT8,
                                [CW_DB_TEXT] = TYPE_TEXT,
                                [CW_DB_BYTES] = TYPE_BYTEA};
    v->types[i] = types[value->kind];
    v->formats[i] = 1; /* binary */
    if (value->kind == CW_DB_NULL)
        return;
    v->texts[i] = value->text.n ? value->text.p : "";
    v->lengths[i] = (int)value->text.n;
    if (value->kind == CW_DB_I64) {
        write_number(value->number, v->numbers[i]);
        v->texts[i] = v->numbers[i];
        v->lengths[i] = 8;
    }
}

static void run_query(cw_db_query *q)
{
    postgres_db *db = own(q->db);
    char sql[MAX_SQL];
    sent_values v = {0};
    PGresult *result = NULL;
    translate(q->sql, sql);
    for (int i = 0; i < q->n_values; i++)
        set_value(&v, i, &q->values[i]);
    int is_sent = db->pq->send_query_params(db->conn, sql, q->n_values, v.types, v.texts, v.lengths,
                                            v.formats, /* resultFormat= */ 1);
    q->code = is_sent ? take_results(db, &result, &q->err) : fail_connection(db, &q->err);
    q->rows = result;
    q->row = -1;
}

/* A text that the server cannot store, with a NUL or not in UTF-8, is in no row. */
static bool finds_nothing(const cw_db_query *q)
{
    return q->code == CW_PARAMS && strncmp(q->sql, "SELECT", 6) == 0;
}

static bool step(cw_db_query *q)
{
    if (!q->rows)
        run_query(q);
    if (finds_nothing(q)) {
        q->code = CW_OK;
        return false;
    }
    return !q->code && ++q->row < own(q->db)->pq->ntuples(q->rows);
}

static void close_query(cw_db_query *q)
{
    own(q->db)->pq->clear(q->rows);
    q->rows = NULL;
}

static cw_str column(cw_db_query *q, int column)
{
    const cw_libpq *pq = own(q->db)->pq;
    if (pq->getisnull(q->rows, q->row, column))
        return (cw_str){NULL, 0};
    return cw_str_make(pq->getvalue(q->rows, q->row, column),
                       (size_t)pq->getlength(q->rows, q->row, column));
}

/* Of 1 to 8 bytes: boolean, int, bigint. None of ours is negative but in 8. */
static int64_t column_i64(cw_db_query *q, int at)
{
    cw_str bytes = column(q, at);
    uint64_t value = 0;
    for (size_t i = 0; i < bytes.n && i < 8; i++)
        value = value << 8 | (unsigned char)bytes.p[i];
    return (int64_t)value;
}

static int64_t n_changed(cw_db_query *q)
{
    return strtoll(own(q->db)->pq->cmd_tuples(q->rows), NULL, 10);
}

/* ---- open and close ---- */

static void close_db(cw_db *of)
{
    postgres_db *db = own(of);
    db->pq->finish(db->conn);
    free(db);
}

/* A server that went away is noticed by the next statement. */
static bool is_current(const cw_db *db)
{
    (void)db;
    return true;
}

/* Read two numbers of one row; both are 0 without a row. */
static cw_code read_numbers(cw_db *db, const char *sql, int64_t ret[2], cw_err *err)
{
    cw_db_query q = {.db = db};
    open_query(&q, sql);
    bool is_there = step(&q);
    ret[0] = is_there ? column_i64(&q, 0) : 0;
    ret[1] = is_there ? column_i64(&q, 1) : 0;
    close_query(&q);
    if (q.code && err)
        *err = q.err;
    return q.code;
}

/* The epoch is random, and the factor large: equal sums do not happen. Approvals have bits of their own. */
static cw_code data_version(cw_db *db, int64_t *ret, cw_err *err)
{
    int64_t row[2];
    cw_code rc =
        read_numbers(db,
                     "SELECT n # epoch # ((SELECT coalesce(max(a.n), 0) FROM approval a) << 40),"
                     " (SELECT coalesce(max(id), 0) FROM letter)"
                     " + ((SELECT coalesce(sum(hashtext(node || catalogue)), 0)::bigint"
                     " FROM replica) + (SELECT coalesce(sum(hashtext(name)), 0)::bigint"
                     " FROM secret)) * (1::bigint << 20)"
                     " FROM generation",
                     row, err);
    if (!rc)
        *ret = (int64_t)((uint64_t)row[0] + (uint64_t)row[1] * UINT64_C(0x9e3779b97f4a7c15));
    return rc;
}

/* ---- copies ---- */

#define COUNTER(table)                                                                             \
    {                                                                                              \
        "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM " table "_id_seq", NULL,       \
            "SELECT setval('" table "_id_seq', greatest(?1, 1), ?1 > 0)"                           \
    }
#define TRIGGERS(state)                                                                            \
    "ALTER TABLE account " state " TRIGGER USER", "ALTER TABLE role " state " TRIGGER USER",       \
        "ALTER TABLE role_permission " state " TRIGGER USER",                                      \
        "ALTER TABLE account_role " state " TRIGGER USER",                                         \
        "ALTER TABLE token " state " TRIGGER USER",                                                \
        "ALTER TABLE token_scope " state " TRIGGER USER",                                          \
        "ALTER TABLE session " state " TRIGGER USER",                                              \
        "ALTER TABLE oauth_client " state " TRIGGER USER"
#define HOLD "SET LOCAL idle_in_transaction_session_timeout = 0"

#define NEW_EPOCH                                                                                  \
    "UPDATE generation SET n = n + 1, epoch = hashtextextended(gen_random_uuid()::text, 0)"

static const char *const hold[] = {HOLD, NULL};
static const char *const begin_load[] = {HOLD, TRIGGERS("DISABLE"), NULL};
static const char *const end_load[] = {TRIGGERS("ENABLE"), NEW_EPOCH, "NOTIFY causeway", NULL};

static const cw_db_ops ops = {
    .close = close_db,
    .is_current = is_current,
    .data_version = data_version,
    .begin = begin,
    .end = end,
    .open_query = open_query,
    .bind = bind,
    .step = step,
    .reset = close_query,
    .column_text = column,
    .column_bytes = column,
    .column_i64 = column_i64,
    .n_changed = n_changed,
    .close_query = close_query,
    .notify = "NOTIFY causeway",
    .now = "SELECT (date_part('epoch', clock_timestamp()) * 1000)::bigint",
    .counters = {COUNTER("account"), COUNTER("token"), COUNTER("session"), COUNTER("oauth_grant")},
    .hold = hold,
    .begin_load = begin_load,
    .end_load = end_load,
    .new_epoch = NEW_EPOCH,
};

/* ---- versions ---- */

/* 0: no tables yet. */
static cw_code read_version(cw_db *db, int64_t *ret, cw_err *err)
{
    int64_t row[2];
    /* Not to_regclass: that may answer from a cache after the wait for another program. */
    cw_code rc = read_numbers(db,
                              "SELECT count(*), 0::bigint FROM pg_catalog.pg_class"
                              " WHERE relname = 'causeway_meta' AND pg_table_is_visible(oid)",
                              row, err);
    if (!rc && row[0])
        rc = read_numbers(db, "SELECT version, readable_from FROM causeway_meta", row, err);
    if (rc)
        return rc;
    if (row[0] > CW_POSTGRES_VERSIONS && row[1] > CW_POSTGRES_VERSIONS)
        return cw_fail(err, CW_CONFIG, "database '%s': made by a newer version of this program",
                       own(db)->name);
    *ret = row[0];
    return CW_OK;
}

/* The version is read again inside: another process may have been first. */
static cw_code upgrade(cw_db *db, cw_err *err)
{
    int64_t version = 0;
    cw_code rc = read_version(db, &version, err);
    for (size_t i = (size_t)version; i < CW_POSTGRES_VERSIONS && !rc; i++)
        rc = execute(own(db), cw_postgres_schema[i], err);
    return rc;
}

static cw_code migrate(cw_db *db, bool may_create, cw_err *err)
{
    int64_t version = 0;
    cw_code rc = read_version(db, &version, err);
    if (rc || version >= (int64_t)CW_POSTGRES_VERSIONS)
        return rc;
    if (version == 0 && !may_create)
        return cw_fail(err, CW_NOTFOUND,
                       "database '%s' has no tables of this program; \"causeway store migrate\" "
                       "creates them",
                       own(db)->name);
    uint32_t timeout_ms = own(db)->timeout_ms;
    own(db)->timeout_ms = MIGRATION_MS;
    rc = begin_with(own(db), "BEGIN;" LOCK, err);
    if (!rc)
        rc = end(db, upgrade(db, err), err);
    own(db)->timeout_ms = timeout_ms;
    return rc;
}

static void ignore_notice(void *ctx, const char *message)
{
    (void)ctx;
    (void)message;
}

static cw_code connect_server(postgres_db *db, const cw_db_opts *opts, cw_err *err)
{
    cw_postgres_params params;
    cw_code rc = cw_postgres_params_init(&params, db->pq, opts, err);
    if (!rc) {
        memcpy(db->name, params.name, sizeof db->name);
        db->conn = db->pq->connect(params.keywords, params.values, /* expand_dbname= */ 0);
    }
    cw_postgres_params_done(&params);
    if (rc)
        return rc;
    if (!db->conn)
        return cw_fail_nomem(err);
    if (db->pq->status(db->conn) != CONNECTION_OK || db->pq->set_nonblocking(db->conn, 1))
        return fail_connection(db, err);
    db->pq->set_notice_processor(db->conn, ignore_notice, NULL);
    return CW_OK;
}

static cw_code connect_new(const cw_db_opts *opts, postgres_db **ret, cw_err *err)
{
    const cw_libpq *pq;
    cw_code rc = cw_libpq_load(&pq, err);
    if (rc)
        return rc;
    postgres_db *db = calloc(1, sizeof *db);
    if (!db)
        return cw_fail_nomem(err);
    db->db.ops = &ops;
    db->pq = pq;
    db->timeout_ms = opts->timeout_ms;
    rc = connect_server(db, opts, err);
    if (rc)
        close_db(&db->db);
    else
        *ret = db;
    return rc;
}

cw_code cw_postgres_check_opts(const cw_db_opts *opts, cw_err *err)
{
    const cw_libpq *pq;
    cw_postgres_params params;
    cw_code rc = cw_libpq_load(&pq, err);
    if (rc)
        return rc;
    rc = cw_postgres_params_init(&params, pq, opts, err);
    cw_postgres_params_done(&params);
    return rc;
}

cw_code cw_postgres_open(const cw_db_opts *opts, cw_db **ret, cw_err *err)
{
    postgres_db *db = NULL;
    cw_code rc = connect_new(opts, &db, err);
    if (rc)
        return rc;
    rc = migrate(&db->db, opts->may_create, err);
    if (rc)
        close_db(&db->db);
    else
        *ret = &db->db;
    return rc;
}

cw_code cw_postgres_connect(const cw_db_opts *opts, cw_db **ret, cw_err *err)
{
    postgres_db *db = NULL;
    cw_code rc = connect_new(opts, &db, err);
    if (!rc)
        *ret = &db->db;
    return rc;
}

cw_code cw_postgres_wait(cw_db *of, int wake, int ms, void (*fn)(const char *payload, void *ctx),
                         void *ctx, cw_err *err)
{
    postgres_db *db = own(of);
    struct pollfd fds[] = {{.fd = db->pq->socket(db->conn), .events = POLLIN},
                           {.fd = wake, .events = POLLIN}};
    int n = poll(fds, 2, ms);
    if (n < 0 && errno != EINTR)
        return cw_fail_errno(err, errno, "database '%s'", db->name);
    if (!db->pq->consume_input(db->conn))
        return fail_connection(db, err);
    for (PGnotify *note; (note = db->pq->notifies(db->conn));) {
        fn(note->extra, ctx);
        db->pq->freemem(note);
    }
    return CW_OK;
}

cw_code cw_postgres_check(const cw_db_opts *opts, cw_db_health *ret, cw_err *err)
{
    postgres_db *db = NULL;
    cw_code rc = connect_new(opts, &db, err);
    if (rc)
        return rc;
    *ret = (cw_db_health){.newest = CW_POSTGRES_VERSIONS};
    rc = read_version(&db->db, &ret->version, err);
    close_db(&db->db);
    if (!rc && ret->version == 0)
        return cw_fail(err, CW_NOTFOUND,
                       "the database has no tables of this program; \"causeway store migrate\" "
                       "creates them");
    return rc;
}
