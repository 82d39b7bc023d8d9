/* SPDX-License-Identifier: GPL-2.0-or-later */
/* group.c - selects a sub-command from a table. */
#include "cli/lib/options.h"
#include "config/syntax/quote.h"

#define NEAR_MAX 2u
#define HELP_MAX_BYTES (64u * 1024u)

static int print_group(const cw_cli_group *group, const cw_cli_option *options)
{
    cw_buf out;
    cw_buf_init(&out, HELP_MAX_BYTES);
    cw_buf_printf(&out, "Usage: %s COMMAND [OPTION...] [ARGUMENT...]\n\n%s\n", group->name,
                  group->about);
    cw_cli_add_heading(&out, "Commands:");
    for (const cw_cli_command *c = group->commands; c->name; c++)
        cw_buf_printf(&out, "  %-14s%s\n", c->name, c->summary);
    cw_cli_describe_options(&out, NULL, options);
    if (group->more)
        cw_buf_printf(&out, "\n%s\n", group->more);
    return cw_cli_print_buf(&out);
}

static int unknown_command(const cw_cli_group *group, cw_str name)
{
    char exposed[CW_EXCERPT_SIZE];
    const char *nearest = NULL;
    unsigned best = NEAR_MAX + 1;
    for (const cw_cli_command *c = group->commands; c->name; c++) {
        unsigned distance = cw_str_distance_within(name, cw_str_from(c->name), NEAR_MAX);
        if (distance < best) {
            best = distance;
            nearest = c->name;
        }
    }
    cw_excerpt(name, exposed);
    if (nearest)
        return cw_cli_usage("unknown command %s; did you mean \"%s %s\"?", exposed, group->name,
                            nearest);
    return cw_cli_usage("unknown command %s; see \"%s --help\"", exposed, group->name);
}

int cw_cli_dispatch(const cw_cli_group *group, int argc, char **argv)
{
    bool wants_help = false, wants_version = false;
    const char *color = NULL;
    const cw_cli_option options[] = {
        CW_CLI_COLOR_OPTION(&color),
        CW_CLI_HELP_OPTION(&wants_help),
        {"version", 'V', CW_CLI_FLAG, &wants_version, NULL, "print the version"},
        {0},
    };
    cw_cli_reader r = {group->name, NULL, options, true, argv, argc, 0, 0};
    int code = cw_cli_read_options(&r);
    if (code < 0)
        code = cw_cli_apply_color(color);
    if (code >= 0)
        return code;
    if (wants_help)
        return print_group(group, options);
    char version[] = "version";
    char *version_argv[] = {version, NULL};
    if (wants_version)
        return cw_cli_version(1, version_argv);
    if (r.at >= argc)
        return cw_cli_usage("a command is missing; see \"%s --help\"", group->name);
    cw_str name = cw_str_from(argv[r.at]);
    for (const cw_cli_command *c = group->commands; c->name; c++)
        if (cw_str_is(name, c->name))
            return c->run(argc - r.at, argv + r.at);
    return unknown_command(group, name);
}
