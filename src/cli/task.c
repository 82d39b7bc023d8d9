/* SPDX-License-Identifier: GPL-2.0-or-later */
/* task: lists, shows and cancels tasks of MCP clients. */
#include "cli/account/rights.h"

static void add_row(cw_cli_table *t, const cw_json *task)
{
    cw_cli_table_add(t, cw_cli_admin_text(task, "id"));
    cw_cli_table_add(t, cw_cli_admin_text(task, "status"));
    cw_cli_table_add(t, cw_cli_admin_text(task, "tool"));
    cw_cli_table_add(t, cw_cli_admin_text(task, "caller"));
    cw_cli_table_add(t, cw_cli_admin_text(task, "node"));
    cw_cli_table_add_date(t, cw_cli_admin_number(task, "created"), "-");
}

static void print_list(cw_cli_rights *a, const cw_json *result)
{
    static const cw_cli_column columns[] = {{"ID", 68, false},   {"STATUS", 14, false},
                                            {"TOOL", 24, false}, {"CALLER", 20, false},
                                            {"NODE", 16, false}, {"CREATED", 24, false}};
    cw_cli_rights_print_list(a, cw_json_get(result, CW_STR("tasks")), columns, CW_COUNT(columns),
                             add_row);
}

static int run_list(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "task list",
        .args = "",
        .about = "List the tasks of all callers, oldest first.",
        .method = "causeway.tasks.list",
        .has_json = true,
        .print = print_list,
    };
    return cw_cli_rights_run(&command, argc, argv);
}

static void print_task(cw_cli_rights *a, const cw_json *result)
{
    cw_json_writer w;
    cw_json_writer_init(&w, &a->out, a->json ? CW_JSON_COMPACT : CW_JSON_INDENT);
    cw_cli_rights_add_object(&w, cw_json_first(cw_json_get(result, CW_STR("tasks"))));
    if (!cw_json_writer_end(&w, NULL))
        cw_buf_add_char(&a->out, '\n');
}

static int run_show(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "task show",
        .args = "TASK-ID",
        .about = "Print the state of a task, as JSON.",
        .method = "causeway.tasks.list",
        .params = {"id"},
        .min_args = 1,
        .has_json = true,
        .print = print_task,
    };
    return cw_cli_rights_run(&command, argc, argv);
}

static int run_cancel(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "task cancel",
        .args = "TASK-ID",
        .about = "Cancel a task, and its call in the plugin or service.",
        .method = "causeway.tasks.cancel",
        .params = {"id"},
        .min_args = 1,
        .done = "task % is cancelled",
        .unchanged = "task % has ended",
    };
    return cw_cli_rights_run(&command, argc, argv);
}

int cw_cli_task(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"list", "list tasks", run_list},
        {"show", "print a task", run_show},
        {"cancel", "cancel a task", run_cancel},
        {0},
    };
    static const cw_cli_group group = {
        "causeway task",
        "Manage tasks: calls of MCP clients that outlive their requests. A server must\n"
        "run with this configuration. It also shows the tasks of other servers that\n"
        "share its database.",
        "\"causeway help task COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
