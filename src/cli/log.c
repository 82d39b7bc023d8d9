/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log: sets the level of a running server's log. */
#include "cli/lib/admin.h"
#include "cli/lib/table.h"

#define COMPONENTS_MAX 64u

static void write_levels(cw_json_writer *w, const void *ctx)
{
    const cw_cli_args *args = ctx;
    CW_CLEANUP(cw_buf_done) cw_buf components;
    cw_buf_init(&components, CW_CLI_OUTPUT_MAX);
    for (size_t i = 1; i < args->n; i++)
        cw_buf_printf(&components, "%s%s", i > 1 ? "," : "", args->items[i]);
    cw_json_add_string_member(w, CW_STR("level"), cw_str_from(args->items[0]));
    if (components.n)
        cw_json_add_string_member(w, CW_STR("components"), cw_buf_str(&components));
}

/* "log level debug, net=info until the next reload, set by server 0.1.0 (pid 123)" */
static int print_level(const cw_json *result)
{
    cw_buf out;
    cw_str components = cw_cli_admin_text(result, "components");
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    cw_buf_add(&out, CW_STR("log level "));
    cw_cli_add_text(&out, cw_cli_admin_text(result, "level"));
    cw_buf_add(&out, components.n ? CW_STR(", ") : CW_STR(""));
    cw_cli_add_text(&out, components);
    cw_buf_add(&out, CW_STR(" until the next reload, set by "));
    cw_cli_admin_add_server(&out, result);
    cw_buf_add_char(&out, '\n');
    return cw_cli_print_buf(&out);
}

static int set_level(const cw_cli_target *target, const cw_cli_args *args, bool json)
{
    cw_cli_admin a;
    const cw_json *result = NULL;
    int code = cw_cli_admin_open(target, &a);
    if (code >= 0)
        return code;
    code = cw_cli_admin_call(&a, "causeway.log.level", write_levels, args, &result);
    if (code < 0)
        code = json ? cw_cli_print_value(result) : print_level(result);
    cw_cli_admin_close(&a);
    return code;
}

static int run_level(int argc, char **argv)
{
    cw_cli_target target = {0};
    bool json = false;
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&target), CW_CLI_JSON_OPTION(&json), {0}};
    const cw_cli_spec spec = {
        "log level", "LEVEL [COMPONENT=LEVEL...]",
        "Set the level of the running server's log until its next reload or restart:\n"
        "error, warn, info, debug or off. Single components can have a level of their\n"
        "own. log.level and log.levels of the configuration do not change.",
        options, 1 + COMPONENTS_MAX};
    cw_cli_args args = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n < 1)
        return cw_cli_usage("name the level: error, warn, info, debug or off");
    return set_level(&target, &args, json);
}

int cw_cli_log(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"level", "set the level until the next reload", run_level},
        {0},
    };
    static const cw_cli_group group = {
        "causeway log",
        "Set the level of a running server's log.",
        "\"causeway help log COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
