/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config: checks files, prints the JSON Schema, prints the effective configuration. */
#include "config/config.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/lib/cli.h"
#include "cli/lib/config_files.h"
#include "config/syntax/check.h"

#define OUTPUT_MAX_BYTES (64u * 1024u * 1024u)
#define FILES_MAX 1000u

/* Open what the configuration names. Returns -1 when all of it can be used; warnings are printed.
 */
static int check_named(const char *path, const cw_config *config)
{
    cw_err err = {0};
    cw_config_problems problems, warnings;
    cw_config_problems_init(&problems);
    cw_config_problems_init(&warnings);
    cw_code rc = cw_cli_check_files(path, config, &problems, &warnings);
    for (size_t i = 0; i < warnings.n; i++)
        fprintf(stderr, "%s\n", warnings.items[i].text);
    if (!rc && problems.total)
        rc = cw_check_fail(&problems, &err);
    int code = rc ? cw_cli_config_failure(rc, &problems, &err) : -1;
    cw_config_problems_done(&problems);
    cw_config_problems_done(&warnings);
    return code;
}

static int check_file(const char *path, bool no_files)
{
    cw_config *config = NULL;
    int code = cw_cli_load_checked(path, &config);
    if (code >= 0)
        return code;
    code = no_files ? -1 : check_named(path, config);
    cw_config_unref(config);
    if (code >= 0)
        return code;
    cw_buf out;
    cw_buf_init(&out, OUTPUT_MAX_BYTES);
    cw_buf_printf(&out, "%s: %sok%s\n", path, cw_cli_escape(STDOUT_FILENO, CW_CLI_GREEN),
                  cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN));
    return cw_cli_print_buf(&out);
}

static int run_check(int argc, char **argv)
{
    const char *path = NULL;
    bool no_files = false;
    const cw_cli_option options[] = {
        CW_CLI_CONFIG_OPTION(&path),
        {"no-files", 0, CW_CLI_FLAG, &no_files, NULL,
         "check only the text, for a server on another machine"},
        {0},
    };
    const cw_cli_spec spec = {
        "config check", "[FILE...]",
        "Check configuration files and report each error with its line and column. All\n"
        "files that a configuration names are opened and checked too: certificates and\n"
        "keys, secrets, overlays and their schemas, descriptions, directories, the\n"
        "database. Nothing is changed, and no service is contacted.",
        options, FILES_MAX};
    cw_cli_args args;
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n == 0 || path)
        path = cw_cli_config_path(path);
    if (args.n == 0 && !path)
        return cw_cli_usage("name a file to check, or set CAUSEWAY_CONFIG");
    int worst = path ? check_file(path, no_files) : CW_EXIT_OK;
    for (size_t i = 0; i < args.n; i++) {
        code = check_file(args.items[i], no_files);
        worst = code > worst ? code : worst;
    }
    return worst;
}

static int run_schema(int argc, char **argv)
{
    const cw_cli_spec spec = {
        .name = "config schema",
        .args = "",
        .about = "Print the JSON Schema (2020-12) of configuration files, for editors and tools.",
    };
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code >= 0)
        return code;
    cw_buf out;
    cw_buf_init(&out, OUTPUT_MAX_BYTES);
    /* A failure is sticky in the buffer. */
    (void)!cw_config_schema(&out, NULL);
    return cw_cli_print_buf(&out);
}

static int run_show(int argc, char **argv)
{
    const char *path = NULL;
    const cw_cli_option options[] = {CW_CLI_CONFIG_OPTION(&path), {0}};
    const cw_cli_spec spec = {
        "config show", "",
        "Print the effective configuration, including defaults, as YAML with comments.\n"
        "Relative paths are printed as absolute ones.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code >= 0)
        return code;
    cw_config *config;
    code = cw_cli_load_config(path, &config);
    if (code >= 0)
        return code;
    cw_buf out;
    cw_buf_init(&out, OUTPUT_MAX_BYTES);
    cw_config_show(config, &out);
    cw_config_unref(config);
    return cw_cli_print_buf(&out);
}

static const cw_cli_command commands[] = {
    {"check", "check configuration files", run_check},
    {"schema", "print the JSON Schema of configuration files", run_schema},
    {"show", "print the effective configuration", run_show},
    {0},
};

int cw_cli_config(int argc, char **argv)
{
    static const cw_cli_group group = {
        "causeway config",
        "Check or print configurations.",
        "\"causeway help config COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
