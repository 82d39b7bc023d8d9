/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session: lists and ends browser sessions. */
#include "base/clock.h"
#include "cli/lib/cli.h"
#include "cli/lib/db.h"

/* ---- list ---- */

typedef struct session_table {
    cw_cli_table *table;
    int64_t now;
    int64_t idle_ms, lifetime_ms;
} session_table;

static int64_t end_of(const session_table *l, const cw_session *s)
{
    int64_t end = s->created + l->lifetime_ms, idle = s->used + l->idle_ms;
    return idle < end ? idle : end;
}

static cw_code add_one(const cw_session *s, void *ctx, cw_err *err)
{
    session_table *l = ctx;
    cw_cli_table *t = l->table;
    (void)err;
    /* The next login removes expired sessions. */
    if (end_of(l, s) <= l->now)
        return CW_OK;
    if (t->is_json) {
        cw_json_open_object(&t->json);
        cw_json_add_i64_member(&t->json, CW_STR("id"), s->id);
        cw_json_add_string_member(&t->json, CW_STR("account"), s->account_name);
        cw_cli_add_date_member(&t->json, CW_STR("created"), s->created);
        cw_cli_add_date_member(&t->json, CW_STR("used"), s->used);
        cw_cli_add_date_member(&t->json, CW_STR("expires"), end_of(l, s));
        cw_json_close(&t->json);
        return CW_OK;
    }
    cw_cli_table_add_number(t, s->id);
    cw_cli_table_add(t, s->account_name);
    cw_cli_table_add_date(t, s->created, "-");
    cw_cli_table_add_date(t, s->used, "-");
    cw_cli_table_add_date(t, end_of(l, s), "-");
    return CW_OK;
}

static cw_code add_all(cw_cli_db *a, int64_t account, cw_cli_table *t)
{
    session_table l = {.table = t,
                       .now = cw_clock_wall_ms(),
                       .idle_ms = a->config->access.login.idle_ms,
                       .lifetime_ms = a->config->access.login.lifetime_ms};
    return cw_db_each_session(a->db, account, add_one, &l, &a->err);
}

static cw_code list(cw_cli_db *a)
{
    static const cw_cli_column columns[] = {{"ID", 5, true},
                                            {"ACCOUNT", 20, false},
                                            {"CREATED", 24, false},
                                            {"USED", 24, false},
                                            {"EXPIRES", 24, false}};
    return cw_cli_db_list(a, columns, CW_COUNT(columns), add_all);
}

static int run_list(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "session list",
        .args = "[ACCOUNT]",
        .about = "List the browser sessions of all accounts, or of one account.",
        .max_args = 1,
        .has_json = true,
        .run = list,
    };
    return cw_cli_db_run(&command, argc, argv);
}

/* ---- revoke ---- */

static cw_code revoke(cw_cli_db *a)
{
    cw_buf_printf(&a->out, "session %s is ended\n", a->args[0]);
    return cw_db_remove_session(a->db, cw_cli_db_id(a), &a->err);
}

static int run_revoke(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "session revoke",
        .args = "ID",
        .about = "End a session.",
        .min_args = 1,
        .max_args = 1,
        .is_change = true,
        .check = cw_cli_db_check_id,
        .run = revoke,
    };
    return cw_cli_db_run(&command, argc, argv);
}

int cw_cli_session(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"list", "list sessions", run_list},
        {"revoke", "end a session", run_revoke},
        {0},
    };
    static const cw_cli_group group = {
        "causeway session",
        "Manage the sessions of users who logged in with a browser. Changes take effect\n"
        "in a running server within a second.",
        "\"causeway help session COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
