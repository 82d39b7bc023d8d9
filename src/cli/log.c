/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log: sets the level of a running server's log. */
#include "base/clock.h"
#include "cli/lib/admin.h"
#include "cli/lib/table.h"
#include "config/syntax/units.h"

#define COMPONENTS_MAX 64u
#define DAY_MS 86400000u

typedef struct wanted {
    cw_cli_args args;
    uint64_t ms; /* 0: until the next reload */
} wanted;

/* The first word may be a level for all components. */
static void write_levels(cw_json_writer *w, const void *ctx)
{
    const wanted *of = ctx;
    CW_CLEANUP(cw_buf_done) cw_buf components;
    cw_buf_init(&components, CW_CLI_OUTPUT_MAX);
    size_t first = strchr(of->args.items[0], '=') ? 0 : 1;
    for (size_t i = first; i < of->args.n; i++)
        cw_buf_printf(&components, "%s%s", i > first ? "," : "", of->args.items[i]);
    if (first)
        cw_json_add_string_member(w, CW_STR("level"), cw_str_from(of->args.items[0]));
    if (components.n)
        cw_json_add_string_member(w, CW_STR("components"), cw_buf_str(&components));
    if (of->ms)
        cw_json_add_i64_member(w, CW_STR("for_s"), (int64_t)((of->ms + 999) / 1000));
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
    int64_t until = cw_cli_admin_number(result, "until");
    char date[CW_CLOCK_ISO_LEN + 1];
    cw_clock_format_iso(until, date);
    cw_buf_printf(&out, " until %s, set by ", until ? date : "the next reload");
    cw_cli_admin_add_server(&out, result);
    cw_buf_add_char(&out, '\n');
    return cw_cli_print_buf(&out);
}

static int set_level(const cw_cli_target *target, const wanted *levels, bool json)
{
    cw_cli_admin a;
    const cw_json *result = NULL;
    int code = cw_cli_admin_open(target, &a);
    if (code >= 0)
        return code;
    code = cw_cli_admin_call(&a, "causeway.log.level", write_levels, levels, &result);
    if (code < 0)
        code = json ? cw_cli_print_value(result) : print_level(result);
    cw_cli_admin_close(&a);
    return code;
}

static int run_level(int argc, char **argv)
{
    cw_cli_target target = {0};
    bool json = false;
    const char *duration = NULL;
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&target),
        CW_CLI_JSON_OPTION(&json),
        {"for", 0, CW_CLI_TEXT, &duration, "DURATION",
         "return to the configured level after this time,\nsuch as 10m"},
        {0},
    };
    const cw_cli_spec spec = {
        "log level", "[LEVEL] [COMPONENT=LEVEL...]",
        "Set the level of the running server's log until its next reload or restart:\n"
        "error, warn, info, debug or off. Single components can have a level of their\n"
        "own. log.level and log.levels of the configuration do not change.",
        options, 1 + COMPONENTS_MAX};
    wanted levels = {.ms = 0};
    int code = cw_cli_parse(&spec, argc, argv, &levels.args);
    if (code >= 0)
        return code;
    if (levels.args.n < 1)
        return cw_cli_usage("name the level: error, warn, info, debug or off");
    if (duration && (!cw_units_parse_duration(cw_str_from(duration), &levels.ms) || !levels.ms ||
                     levels.ms > DAY_MS))
        return cw_cli_usage("--for: expected a duration up to 24h, such as 10m");
    return set_level(&target, &levels, json);
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
