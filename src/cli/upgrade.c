/* SPDX-License-Identifier: GPL-2.0-or-later */
/* upgrade: makes a new process take over from the running server. */
#include "cli/lib/admin.h"
#include "cli/lib/table.h"
#include "config/syntax/quote.h"

/* "server 0.1.0 (pid 123) was replaced by server 0.2.0 (pid 456)" */
static int print_upgrade(const cw_json *result)
{
    cw_buf out;
    const cw_json *pid = cw_json_get(result, CW_STR("pid"));
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    cw_cli_admin_add_server(&out, result);
    cw_buf_add(&out, CW_STR(" was replaced by server "));
    cw_cli_add_text(&out, cw_cli_admin_text(result, "version"));
    cw_buf_add(&out, CW_STR(" (pid "));
    cw_cli_add_text(&out, pid ? cw_json_text(pid) : CW_STR("?"));
    cw_buf_add(&out, CW_STR(")\n"));
    return cw_cli_print_buf(&out);
}

static int report_problem(const cw_json *result)
{
    cw_buf out;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    cw_cli_add_text(&out, cw_cli_admin_text(result, "problem"));
    int code = out.code ? cw_cli_failure("%s", cw_code_text(out.code))
                        : cw_cli_failure("upgrade failed, the server goes on: %.*s",
                                         CW_STR_ARG(cw_buf_str(&out)));
    cw_buf_done(&out);
    return code;
}

static int report(const cw_json *result, bool json)
{
    bool is_done = cw_json_is(cw_json_get(result, CW_STR("upgraded")), CW_JSON_TRUE);
    if (!json)
        return is_done ? print_upgrade(result) : report_problem(result);
    int code = cw_cli_print_value(result);
    return code == CW_EXIT_OK && !is_done ? CW_EXIT_FAILURE : code;
}

int cw_cli_upgrade(int argc, char **argv)
{
    cw_cli_target target = {0};
    bool json = false;
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&target), CW_CLI_JSON_OPTION(&json), {0}};
    const cw_cli_spec spec = {
        "upgrade", "",
        "Make the running server start its program again, for example after a new\n"
        "version was installed. The new process takes over the sockets, and the old one\n"
        "finishes its calls and exits: no connection is refused. If the new process\n"
        "cannot start, the old one continues, and the reason is printed; the exit code\n"
        "is 1.",
        options, 0};
    cw_cli_admin a;
    const cw_json *result = NULL;
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code < 0)
        code = cw_cli_admin_open(&target, &a);
    if (code >= 0)
        return code;
    a.was_warned = true; /* another version is what an upgrade is for */
    code = cw_cli_admin_call(&a, "causeway.upgrade", NULL, NULL, &result);
    if (code < 0)
        code = report(result, json);
    cw_cli_admin_close(&a);
    return code;
}
