/* SPDX-License-Identifier: GPL-2.0-or-later */
/* app_shared.c - news of the database: letters, approvals and keys of the seal. */
#include "server/app_shared.h"

#include "base/log.h"

/* A key that a server does not know in time costs sessions, so it is read again after a failure. A
 * database without keys (CW_NOTFOUND) was reported at the start. */
static bool read_keys(cw_app *b, cw_db *db)
{
    cw_err err = {0};
    cw_code rc = cw_seal_keys_read(&b->seals, db, &err);
    bool is_late = rc && rc != CW_NOTFOUND;
    if (is_late && !b->has_late_keys)
        cw_log_err(CW_LOG_WARN, "serve", "the keys of the seal are read later", &err);
    b->has_late_keys = is_late;
    return !is_late;
}

/* Keys come first: they open letters. */
bool cw_app_on_news(void *ctx, cw_db *db, bool is_new)
{
    cw_app *b = ctx;
    bool has_keys = read_keys(b, db);
    bool has_letters = !b->replicas || cw_replicas_read_news(b->replicas, db, is_new);
    bool has_approvals = cw_approvals_read_news(b->approvals, db);
    return has_keys && has_letters && has_approvals;
}

void cw_app_on_approvals(void *ctx)
{
    cw_app *b = ctx;
    cw_lock *lock = NULL;
    int64_t version;
    cw_err why = {0};
    if (!b->is_open)
        return;
    cw_code rc = cw_approvals_get(b->approvals, &lock, &version, &why);
    if (cw_sources_set_approvals(b->sources, lock, cw_str_from(rc ? why.msg : "")))
        cw_log(CW_LOG_ERROR, "sources", "new approvals are not used: out of memory");
    cw_lock_unref(lock);
}

void cw_app_use_approvals(cw_app *b, const cw_config *config)
{
    cw_approvals_use(b->approvals, b->has_store ? cw_accounts_store(b->accounts) : NULL,
                     config->state.approvals_in_store);
    if (config->state.approvals_in_store)
        cw_app_on_approvals(b);
}

static void on_letter(const cw_letter *letter, void *ctx)
{
    cw_app *b = ctx;
    if (b->is_open && letter->kind == CW_SHARED_CHANGES_LETTER)
        cw_shared_changes_receive(b->changes, letter->bytes, b->sources);
    else if (b->is_open)
        cw_mcp_take_letter(b->mcp, letter);
}

static void on_returned(const cw_letter *letter, bool has_no_receiver, void *ctx)
{
    cw_app *b = ctx;
    if (b->is_open && letter->kind != CW_SHARED_CHANGES_LETTER)
        cw_mcp_take_returned(b->mcp, letter, has_no_receiver);
}

cw_change_sink *cw_app_changes(cw_app *b)
{
    return b->changes ? cw_shared_changes_sink(b->changes) : cw_runtime_changes(b->runtime);
}

cw_code cw_app_share_changes(cw_app *b, cw_err *err)
{
    const cw_shared_changes_opts opts = {
        .loop = b->loop, .here = cw_runtime_changes(b->runtime), .replicas = b->replicas};
    return cw_shared_changes_new(&opts, &b->changes, err);
}

static void on_difference(void *ctx)
{
    cw_app *b = ctx;
    if (!b->is_open)
        return;
    cw_log(CW_LOG_INFO, "replica",
           "another server has another catalogue: services are asked again");
    cw_sources_ask_again(b->sources);
}

static void on_catalogue(void *ctx)
{
    cw_app *b = ctx;
    if (!b->is_open || !b->runtime)
        return;
    cw_change_sink *sink = cw_runtime_changes(b->runtime);
    unsigned settled = cw_replicas_is_settled(b->replicas) ? CW_CHANGED_SETTLED : 0;
    sink->tell(sink, &(cw_change){.lists = CW_CHANGED_AGAIN | settled});
}

cw_code cw_app_open_replicas(cw_app *b, const cw_config *config, cw_err *err)
{
    const cw_replicas_opts opts = {.loop = b->loop,
                                   .seal = &b->seals.server,
                                   .on_letter = on_letter,
                                   .on_returned = on_returned,
                                   .on_difference = on_difference,
                                   .on_catalogue = on_catalogue,
                                   .ctx = b,
                                   .is_file = !cw_db_is_server(cw_config_store(config).p),
                                   .version = CW_VERSION};
    return cw_replicas_new(&opts, &b->replicas, err);
}
