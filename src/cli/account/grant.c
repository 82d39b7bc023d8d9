/* SPDX-License-Identifier: GPL-2.0-or-later */
/* grant: lists and ends what people allowed OAuth clients. */
#include "cli/account/rights.h"

static void add_row(cw_cli_table *t, const cw_json *grant)
{
    cw_str scope = cw_cli_admin_text(grant, "scope");
    cw_cli_table_add_number(t, cw_cli_admin_number(grant, "id"));
    cw_cli_table_add(t, cw_cli_admin_text(grant, "account"));
    cw_cli_table_add(t, cw_cli_admin_text(grant, "name"));
    cw_cli_table_add(t, cw_cli_admin_text(grant, "kind"));
    cw_cli_table_add_date(t, cw_cli_admin_number(grant, "used"), "-");
    cw_cli_table_add_date(t, cw_cli_admin_number(grant, "expires"), "-");
    cw_cli_table_add(t, scope.n ? scope : CW_STR("-"));
}

static void print_list(cw_cli_rights *a, const cw_json *result)
{
    static const cw_cli_column columns[] = {
        {"ID", 5, true},     {"ACCOUNT", 20, false}, {"CLIENT", 24, false}, {"KIND", 10, false},
        {"USED", 24, false}, {"EXPIRES", 24, false}, {"SCOPE", 0, false}};
    cw_cli_rights_print_list(a, cw_json_get(result, CW_STR("grants")), columns, CW_COUNT(columns),
                             add_row);
}

static int run_list(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "grant list",
        .args = "[ACCOUNT]",
        .about = "List the grants of all accounts, or of one account.",
        .method = "causeway.grants.list",
        .params = {"account"},
        .has_json = true,
        .print = print_list,
    };
    return cw_cli_rights_run(&command, argc, argv);
}

static int run_revoke(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "grant revoke",
        .args = "GRANT-ID",
        .about = "End a grant and all its tokens.",
        .method = "causeway.grants.revoke",
        .params = {"id"},
        .min_args = 1,
        .is_id = true,
        .done = "grant % is ended",
    };
    return cw_cli_rights_run(&command, argc, argv);
}

int cw_cli_grant(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"list", "list grants", run_list},
        {"revoke", "end a grant", run_revoke},
        {0},
    };
    static const cw_cli_group group = {
        "causeway grant",
        "Manage what people allowed OAuth clients of the built-in authorization server.\n"
        "If a server runs with this configuration, it makes the changes.",
        "\"causeway help grant COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
