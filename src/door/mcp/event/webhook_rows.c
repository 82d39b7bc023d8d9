/* SPDX-License-Identifier: GPL-2.0-or-later */
/* webhook_rows.c - jobs of the store for rows of webhook subscriptions. */
#include "door/mcp/event/webhook_rows.h"

#include <stdlib.h>

#include "access/fair_key.h"
#include "base/clock.h"
#include "base/log.h"

/* ---- changes ---- */

/* A change of a row, on its way. */
typedef struct change_job {
    cw_store_job job;
    cw_db_webhook row;
    char text[];
} change_job;

static cw_code run_change(cw_store_job *job, cw_db *db, cw_err *err)
{
    const change_job *j = CW_CONTAINER(job, change_job, job);
    return j->row.state.n
               ? cw_db_update_webhook(db, &j->row, err)
               : cw_db_remove_webhook_as(db, j->row.id, j->row.expires, cw_clock_wall_ms(), err);
}

static void on_changed(cw_store_job *job, cw_code rc)
{
    if (rc && rc != CW_GONE)
        cw_log(CW_LOG_WARN, "events", "a webhook subscription could not be stored",
               CW_KV("problem", cw_str_from(cw_code_text(rc))));
    free(CW_CONTAINER(job, change_job, job));
}

void cw_webhook_rows_change(cw_store *store, const cw_db_webhook *row)
{
    change_job *j = malloc(sizeof *j + row->id.n + row->state.n);
    if (!j)
        return;
    memcpy(j->text, row->id.p, row->id.n);
    if (row->state.n)
        memcpy(j->text + row->id.n, row->state.p, row->state.n);
    j->job = (cw_store_job){
        .run = run_change, .done = on_changed, .by = cw_account_fair_key(row->owner)};
    j->row = (cw_db_webhook){.id = cw_str_make(j->text, row->id.n),
                             .state = cw_str_make(j->text + row->id.n, row->state.n),
                             .expires = row->expires};
    if (cw_store_ask(store, &j->job))
        free(j);
}

/* ---- reading ---- */

/* Rows on their way to the loop. */
typedef struct read_job {
    cw_store_job job;
    cw_message message;
    cw_accounts_loop *home;
    cw_webhook_rows_fn fn;
    void *ctx;
    cw_arena arena;
    cw_webhook_rows rows;
    size_t room;
    bool only_ids;
} read_job;

static cw_code add_row(const cw_db_webhook *row, void *ctx, cw_err *err)
{
    read_job *j = ctx;
    cw_webhook_rows *rows = &j->rows;
    if (rows->n == j->room) {
        size_t room = j->room ? 2 * j->room : 64;
        cw_db_webhook *items =
            cw_arena_resize(&j->arena, rows->items, j->room * sizeof *items, room * sizeof *items);
        if (!items)
            return cw_fail_nomem(err);
        rows->items = items;
        j->room = room;
    }
    cw_db_webhook *copy = &rows->items[rows->n];
    *copy = (cw_db_webhook){.id = cw_arena_dup_str(&j->arena, row->id),
                            .state = cw_arena_dup_str(&j->arena, row->state),
                            .expires = row->expires};
    if (!copy->id.p || !copy->state.p)
        return cw_fail_nomem(err);
    rows->n++;
    return CW_OK;
}

static cw_code run_read(cw_store_job *job, cw_db *db, cw_err *err)
{
    read_job *j = CW_CONTAINER(job, read_job, job);
    int64_t now = cw_clock_wall_ms();
    return j->only_ids ? cw_db_each_webhook_id(db, now, add_row, j, err)
                       : cw_db_each_webhook(db, now, add_row, j, err);
}

static void free_read(cw_message *message)
{
    read_job *j = CW_CONTAINER(message, read_job, message);
    cw_arena_done(&j->arena);
    free(j);
}

static void on_rows(cw_message *message)
{
    const read_job *j = CW_CONTAINER(message, read_job, message);
    j->fn(j->ctx, &j->rows);
    free_read(message);
}

static void on_read(cw_store_job *job, cw_code rc)
{
    read_job *j = CW_CONTAINER(job, read_job, job);
    j->rows.rc = rc;
    j->message = (cw_message){.fn = on_rows, .drop = free_read};
    cw_accounts_post(j->home, &j->message);
}

cw_code cw_webhook_rows_read(cw_store *store, cw_accounts_loop *home, bool only_ids,
                             cw_webhook_rows_fn fn, void *ctx)
{
    read_job *j = calloc(1, sizeof *j);
    if (!j)
        return CW_NOMEM;
    j->job = (cw_store_job){.run = run_read, .done = on_read};
    j->home = home;
    j->fn = fn;
    j->ctx = ctx;
    j->only_ids = only_ids;
    cw_arena_init(&j->arena, CW_ARENA_MAX);
    cw_code rc = cw_store_ask(store, &j->job);
    if (rc)
        free_read(&j->message);
    return rc;
}
