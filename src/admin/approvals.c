/* SPDX-License-Identifier: GPL-2.0-or-later */
/* approvals.c - approved definitions in the database: rows, and what a server holds of them. */
#include "admin/approvals.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"

struct cw_approvals {
    cw_loop *loop;
    void (*on_change)(void *ctx);
    void *ctx;
    cw_store *store;
    cw_message message; /* to the main loop: other rows were read */
    atomic_bool is_used;
    pthread_mutex_t lock;
    /* Under the lock. */
    cw_lock *held; /* NULL: `why` is the reason */
    int64_t version;
    bool is_read;
    cw_err why;
};

/* ---- rows ---- */

static cw_code add_row(const cw_db_approval *row, void *ctx, cw_err *err)
{
    cw_json_writer *w = ctx;
    (void)err;
    cw_json_add_key(w, row->source);
    cw_json_add_span(w, row->entries);
    return w->out->code;
}

cw_code cw_approvals_read(cw_db *db, cw_lock **ret, int64_t *ret_version, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_json_writer w;
    int64_t version = 0;
    cw_buf_init(&text, CW_LOCK_MAX_BYTES);
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_i64_member(&w, CW_STR("version"), 1);
    cw_json_add_key(&w, CW_STR("sources"));
    cw_json_open_object(&w);
    cw_code rc = cw_db_each_approval(db, add_row, &w, &version, err);
    cw_json_close(&w);
    cw_json_close(&w);
    if (!rc)
        rc = cw_json_writer_end(&w, err);
    *ret = NULL;
    if (!rc && version)
        rc = cw_wrap(err, cw_lock_parse(cw_buf_str(&text), ret, err),
                     "the approved definitions of the database");
    *ret_version = version;
    return rc;
}

/* The rows of the sources that a change replaces; they borrow from *ret_fresh. */
static cw_code make_rows(const cw_lock *old, const cw_lock_change *change, cw_lock **ret_fresh,
                         cw_db_approval **ret, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_lock *fresh = NULL;
    cw_buf_init(&text, CW_LOCK_MAX_BYTES);
    cw_code rc = cw_lock_apply(old, change, &text, &fresh, err);
    if (rc)
        return rc;
    cw_db_approval *rows = calloc(change->n_replaced + 1, sizeof *rows);
    if (!rows) {
        cw_lock_unref(fresh);
        return cw_fail_nomem(err);
    }
    for (size_t i = 0; i < change->n_replaced; i++)
        rows[i] = (cw_db_approval){.source = change->replaced[i],
                                   .entries = cw_lock_entries(fresh, change->replaced[i])};
    *ret = rows;
    *ret_fresh = fresh;
    return CW_OK;
}

cw_code cw_approvals_write(cw_db *db, const cw_lock *old, int64_t version,
                           const cw_lock_change *change, cw_err *err)
{
    cw_lock *fresh = NULL;
    cw_db_approval *rows = NULL;
    cw_code rc = make_rows(old, change, &fresh, &rows, err);
    if (!rc)
        rc = cw_db_set_approvals(db, version, rows, change->n_replaced, err);
    free(rows);
    cw_lock_unref(fresh);
    return rc;
}

/* ---- what a server holds ---- */

static void on_message(cw_message *message)
{
    cw_approvals *a = CW_CONTAINER(message, cw_approvals, message);
    a->on_change(a->ctx);
}

cw_code cw_approvals_new(cw_loop *main, void (*on_change)(void *ctx), void *ctx, cw_approvals **ret,
                         cw_err *err)
{
    cw_approvals *a = calloc(1, sizeof *a);
    if (!a)
        return cw_fail_nomem(err);
    a->loop = main;
    a->on_change = on_change;
    a->ctx = ctx;
    a->message.fn = on_message;
    cw_fail(&a->why, CW_IO, "the approved definitions of the database are not read yet");
    atomic_init(&a->is_used, false);
    pthread_mutex_init(&a->lock, NULL);
    *ret = a;
    return CW_OK;
}

void cw_approvals_free(cw_approvals *a)
{
    if (!a)
        return;
    cw_lock_unref(a->held);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* Rows that cannot be read protect nothing: without them every tool is withheld. A database that is away
 * has not lost them: the last ones count. */
static void hold(cw_approvals *a, cw_code rc, cw_lock *lock, int64_t version, const cw_err *err)
{
    bool is_damaged = rc == CW_PARAMS || rc == CW_PARSE || rc == CW_LIMIT;
    pthread_mutex_lock(&a->lock);
    cw_lock *old = NULL;
    if (!rc || is_damaged || !a->is_read) {
        old = a->held;
        a->held = lock;
        a->version = version;
        a->is_read = !rc || is_damaged;
        a->why = (cw_err){0};
        if (rc)
            a->why = *err;
        else if (!lock)
            cw_fail(&a->why, CW_NOTFOUND, "%s", CW_APPROVALS_NONE);
    }
    pthread_mutex_unlock(&a->lock);
    cw_lock_unref(old);
}

static cw_code read_all(cw_db *db, void *ctx, cw_err *err)
{
    cw_lock *lock = NULL;
    int64_t version = 0;
    cw_code rc = cw_approvals_read(db, &lock, &version, err);
    hold(ctx, rc, lock, version, err);
    /* Others are no failure of the database, and stay until the rows change. */
    return rc == CW_IO || rc == CW_TIMEOUT || rc == CW_NOMEM ? rc : CW_OK;
}

void cw_approvals_use(cw_approvals *a, cw_store *store, bool is_used)
{
    cw_err err = {0};
    a->store = store;
    atomic_store(&a->is_used, is_used && store);
    pthread_mutex_lock(&a->lock);
    bool is_read = a->is_read;
    pthread_mutex_unlock(&a->lock);
    if (!is_used || is_read)
        return;
    cw_code rc = store ? cw_store_call(store, read_all, a, &err)
                       : cw_fail(&err, CW_CONFIG, "the server was started without a database");
    if (rc)
        hold(a, rc, NULL, 0, &err);
}

bool cw_approvals_read_news(cw_approvals *a, cw_db *db)
{
    cw_err err = {0};
    int64_t version = 0;
    if (!atomic_load(&a->is_used))
        return true;
    cw_code rc = cw_db_approval_version(db, &version, &err);
    pthread_mutex_lock(&a->lock);
    bool is_same = a->is_read && a->version == version;
    pthread_mutex_unlock(&a->lock);
    if (!rc && !is_same)
        rc = read_all(db, a, &err);
    if (rc)
        cw_log_err(CW_LOG_DEBUG, "sources", "approved definitions are read later", &err);
    else if (!is_same)
        cw_loop_notify(a->loop, &a->message);
    return !rc;
}

cw_code cw_approvals_get(cw_approvals *a, cw_lock **ret, int64_t *ret_version, cw_err *why)
{
    pthread_mutex_lock(&a->lock);
    *ret = cw_lock_ref(a->held);
    *ret_version = a->version;
    cw_code rc = a->held ? CW_OK : a->why.code;
    if (rc && why)
        *why = a->why;
    pthread_mutex_unlock(&a->lock);
    return rc;
}

/* ---- a change ---- */

static void release(cw_approvals_change *c)
{
    free(c->rows);
    cw_lock_unref(c->fresh);
    c->rows = NULL;
    c->fresh = NULL;
}

static cw_code run_change(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_approvals_change *c = CW_CONTAINER(job, cw_approvals_change, job);
    cw_code rc = cw_db_set_approvals(db, c->version, c->rows, c->n, &c->err);
    if (!rc || rc == CW_INVALID)
        (void)cw_approvals_read_news(c->all, db);
    if (rc)
        *err = c->err;
    return rc;
}

static void on_run(cw_store_job *job, cw_code rc)
{
    cw_approvals_change *c = CW_CONTAINER(job, cw_approvals_change, job);
    c->rc = rc;
    if (rc && !c->err.msg[0])
        cw_fail(&c->err, rc, "the database cannot be used at the moment");
    cw_loop_post(c->all->loop, &c->message);
}

static void on_changed(cw_message *message)
{
    cw_approvals_change *c = CW_CONTAINER(message, cw_approvals_change, message);
    release(c);
    c->done(c, c->rc, &c->err);
}

static void on_dropped(cw_message *message)
{
    cw_approvals_change *c = CW_CONTAINER(message, cw_approvals_change, message);
    release(c);
    c->drop(c);
}

cw_code cw_approvals_start(cw_approvals *a, const cw_lock *old, int64_t version,
                           const cw_lock_change *what, cw_approvals_change *ret, cw_err *err)
{
    ret->all = a;
    ret->n = what->n_replaced;
    ret->version = version;
    ret->job = (cw_store_job){.run = run_change, .done = on_run};
    ret->message = (cw_message){.fn = on_changed, .drop = on_dropped};
    if (!a->store)
        return cw_fail(err, CW_CONFIG, "the server was started without a database");
    cw_code rc = make_rows(old, what, &ret->fresh, &ret->rows, err);
    if (rc)
        return rc;
    rc = cw_store_ask(a->store, &ret->job);
    if (!rc)
        return CW_OK;
    release(ret);
    return cw_fail(err, rc, "too many operations wait for the database; try again");
}
