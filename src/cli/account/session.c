/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session: lists and ends browser sessions. */
#include "cli/account/rights.h"

static void add_row(cw_cli_table *t, const cw_json *session)
{
    cw_cli_table_add_number(t, cw_cli_admin_number(session, "id"));
    cw_cli_table_add(t, cw_cli_admin_text(session, "account"));
    cw_cli_table_add_date(t, cw_cli_admin_number(session, "created"), "-");
    cw_cli_table_add_date(t, cw_cli_admin_number(session, "used"), "-");
    cw_cli_table_add_date(t, cw_cli_admin_number(session, "expires"), "-");
}

static void print_list(cw_cli_rights *a, const cw_json *result)
{
    static const cw_cli_column columns[] = {{"ID", 5, true},
                                            {"ACCOUNT", 20, false},
                                            {"CREATED", 24, false},
                                            {"USED", 24, false},
                                            {"EXPIRES", 24, false}};
    cw_cli_rights_print_list(a, cw_json_get(result, CW_STR("sessions")), columns, CW_COUNT(columns),
                             add_row);
}

static int run_list(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "session list",
        .args = "[ACCOUNT]",
        .about = "List the browser sessions of all accounts, or of one account.",
        .method = "causeway.sessions.list",
        .params = {"account"},
        .has_json = true,
        .print = print_list,
    };
    return cw_cli_rights_run(&command, argc, argv);
}

static int run_revoke(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "session revoke",
        .args = "SESSION-ID",
        .about = "End a session.",
        .method = "causeway.sessions.end",
        .params = {"id"},
        .min_args = 1,
        .is_id = true,
        .done = "session % is ended",
    };
    return cw_cli_rights_run(&command, argc, argv);
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
        "Manage the sessions of users who logged in with a browser. If a server runs\n"
        "with this configuration, it makes the changes.",
        "\"causeway help session COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
