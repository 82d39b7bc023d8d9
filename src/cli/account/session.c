/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session: who is logged in with a browser. */
#include "base/clock.h"
#include "cli/lib/table.h"

#define NAME_WIDTH 20u

/* ---- list ---- */

typedef struct session_table {
    cw_cli_db *a;
    cw_json_writer json;
    bool is_json;
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
    cw_buf *out = &l->a->out;
    (void)err;
    /* The next login removes those that are over. */
    if (end_of(l, s) <= l->now)
        return CW_OK;
    if (l->is_json) {
        cw_json_open_object(&l->json);
        cw_json_add_i64_member(&l->json, CW_STR("id"), s->id);
        cw_json_add_string_member(&l->json, CW_STR("account"), s->account_name);
        cw_cli_table_add_date_member(&l->json, CW_STR("created"), s->created);
        cw_cli_table_add_date_member(&l->json, CW_STR("used"), s->used);
        cw_cli_table_add_date_member(&l->json, CW_STR("expires"), end_of(l, s));
        cw_json_close(&l->json);
        return CW_OK;
    }
    cw_buf_printf(out, "%5lld  ", (long long)s->id);
    cw_cli_table_add_column(out, s->account_name, NAME_WIDTH);
    cw_cli_table_add_date(out, s->created, "-");
    cw_buf_add(out, CW_STR("  "));
    cw_cli_table_add_date(out, s->used, "-");
    cw_buf_add(out, CW_STR("  "));
    cw_cli_table_add_date(out, end_of(l, s), "-");
    cw_buf_add_char(out, '\n');
    return CW_OK;
}

static cw_code list(cw_cli_db *a, const char *account, bool json)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_account *found = NULL;
    session_table l = {.a = a,
                       .is_json = json,
                       .now = cw_clock_wall_ms(),
                       .idle_ms = a->config->access.login.idle_ms,
                       .lifetime_ms = a->config->access.login.lifetime_ms};
    cw_code rc = CW_OK;
    cw_arena_init(&arena, 65536);
    if (account)
        rc = cw_db_find_account(a->db, cw_str_from(account), &arena, &found, &a->err);
    if (rc)
        return rc;
    if (account && !found)
        return cw_fail(&a->err, CW_NOTFOUND, "no account '%s'", account);
    if (json) {
        cw_json_writer_init(&l.json, &a->out, CW_JSON_INDENT);
        cw_json_open_array(&l.json);
    } else {
        cw_cli_table_add_heading(&a->out,
                                 "   ID  ACCOUNT               CREATED                   USED"
                                 "                      EXPIRES");
    }
    rc = cw_db_each_session(a->db, found ? found->id : 0, add_one, &l, &a->err);
    if (json) {
        cw_json_close(&l.json);
        (void)!cw_json_writer_end(&l.json, NULL); /* sticky in the buffer */
        cw_buf_add_char(&a->out, '\n');
    }
    return rc;
}

static int run_list(int argc, char **argv)
{
    return cw_cli_db_run_list(argc, argv, "session list",
                              "List the browser sessions of all accounts, or of one account.",
                              list);
}

/* ---- revoke ---- */

static int run_revoke(int argc, char **argv)
{
    cw_cli_db a = {0};
    int64_t id = 0;
    int code = cw_cli_db_open_id(argc, argv, "session revoke", "End a session.", &a, &id);
    if (code >= 0)
        return code;
    cw_code rc = cw_db_remove_session(a.db, id, &a.err);
    cw_buf_printf(&a.out, "session %lld is ended\n", (long long)id);
    return cw_cli_db_close(&a, rc);
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
