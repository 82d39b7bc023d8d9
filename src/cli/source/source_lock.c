/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source_lock.c - approved definitions for commands that work without a server. */
#include "admin/approvals.h"
#include "cli/lib/owner.h"
#include "cli/source/source_set.h"
#include "server/options/database.h"

#define BUSY_MS 5000u

static cw_code open_database(const cw_config *config, bool is_change, cw_db **ret, cw_err *err)
{
    const cw_str path = config->store.path;
    cw_db_opts opts = cw_database_opts(config, BUSY_MS);
    opts.may_create = is_change;
    cw_code rc = path.n && is_change ? cw_cli_become_owner(path.p, err) : CW_OK;
    return rc ? rc : cw_db_open(&opts, ret, err);
}

static cw_code read_rows(cw_source_set *all, cw_lock **ret, cw_err *err)
{
    cw_db *db = NULL;
    cw_code rc = open_database(all->config, /* is_change= */ false, &db, err);
    if (!rc)
        rc = cw_approvals_read(db, ret, &all->version, err);
    cw_db_close(db);
    return rc;
}

int cw_source_set_read_lock(cw_source_set *all, cw_lock **ret)
{
    cw_err err = {0};
    if (!cw_config_needs_approvals(all->config))
        return cw_cli_usage(
            "definitions need no approval: set state.lock, or \"approvals: store\", "
            "in the configuration");
    cw_code rc = all->config->state.approvals_in_store
                     ? read_rows(all, ret, &err)
                     : cw_lock_read(all->config->state.lock.p, ret, &err);
    /* A database that a server has not made yet has no approvals. */
    return rc && rc != CW_NOTFOUND ? cw_cli_failure("%s", err.msg) : -1;
}

void cw_source_set_read_approvals(cw_source_set *all, cw_err *why)
{
    cw_lock *lock = NULL;
    if (!read_rows(all, &lock, why) && !lock)
        cw_fail(why, CW_NOTFOUND, "%s", CW_APPROVALS_NONE);
    all->approvals = (cw_remote_approvals){.lock = lock, .problem = cw_str_from(why->msg)};
}

cw_code cw_source_set_save(const cw_source_set *all, const cw_lock_approval *approval, cw_err *err)
{
    const cw_lock_change change = cw_lock_approval_change(approval);
    cw_db *db = NULL;
    if (!all->config->state.approvals_in_store)
        return cw_lock_approval_write(approval, all->config->state.lock.p, err);
    cw_code rc = open_database(all->config, /* is_change= */ true, &db, err);
    if (!rc)
        rc = cw_approvals_write(db, approval->lock, all->version, &change, err);
    cw_db_close(db);
    return rc;
}
