/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config: checks files, prints the JSON Schema, prints the effective configuration. */
#include "config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/lib/admin.h"
#include "cli/lib/config_files.h"
#include "cli/lib/table.h"
#include "config/syntax/check.h"

#define OUTPUT_MAX_BYTES (64u * 1024u * 1024u)
#define FILES_MAX 1000u

typedef struct checks {
    bool no_files;
    cw_cli_table *json; /* NULL: print lines */
} checks;

/* The text, the words of `sources`, and all files that the configuration names. */
static cw_code examine(const char *path, bool no_files, cw_config_problems *problems,
                       cw_config_problems *warnings, cw_err *err)
{
    const cw_config_source source = {.path = path};
    cw_config *config = NULL;
    cw_code rc = cw_config_load(&source, &config, problems, err);
    if (!rc)
        rc = cw_cli_check_sources(path, config, problems, err);
    if (!rc && !no_files) {
        rc = cw_cli_check_files(path, config, problems, warnings);
        if (!rc)
            rc = cw_cli_check_risks(path, config, warnings);
        if (!rc)
            rc = cw_cli_check_socket(path, config, problems, warnings);
        if (!rc && problems->total)
            rc = cw_check_fail(problems, err);
    }
    cw_config_unref(config);
    return rc;
}

static int print_check(const char *path, cw_code rc, const cw_config_problems *problems,
                       const cw_config_problems *warnings, const cw_err *err)
{
    for (size_t i = 0; i < warnings->n; i++)
        fprintf(stderr, "%s\n", warnings->items[i].text);
    if (rc)
        return cw_cli_config_failure(rc, problems, err);
    cw_buf out;
    cw_buf_init(&out, OUTPUT_MAX_BYTES);
    cw_buf_printf(&out, "%s: %sok%s\n", path, cw_cli_escape(STDOUT_FILENO, CW_CLI_GREEN),
                  cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN));
    return cw_cli_print_buf(&out);
}

static void add_position(cw_json_writer *w, cw_str name, uint32_t position)
{
    cw_json_add_key(w, name);
    if (position)
        cw_json_add_i64(w, position);
    else
        cw_json_add_null(w);
}

static void add_problem(cw_json_writer *w, const char *text, uint32_t line, uint32_t column)
{
    cw_json_open_object(w);
    add_position(w, CW_STR("line"), line);
    add_position(w, CW_STR("column"), column);
    cw_json_add_string_member(w, CW_STR("text"), cw_str_from(text));
    cw_json_close(w);
}

static void add_problems(cw_json_writer *w, const char *name, const cw_config_problems *list,
                         const char *other)
{
    cw_json_add_key(w, cw_str_from(name));
    cw_json_open_array(w);
    for (size_t i = 0; i < list->n; i++)
        add_problem(w, list->items[i].text, list->items[i].line, list->items[i].column);
    if (!list->n && other)
        add_problem(w, other, 0, 0);
    cw_json_close(w);
}

static int add_check(cw_json_writer *w, const char *path, cw_code rc,
                     const cw_config_problems *problems, const cw_config_problems *warnings,
                     const cw_err *err)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("file"), cw_str_from(path));
    cw_json_add_bool_member(w, CW_STR("ok"), rc == CW_OK);
    add_problems(w, "problems", problems, rc ? err->msg : NULL);
    add_problems(w, "warnings", warnings, NULL);
    cw_json_close(w);
    if (rc == CW_NOMEM)
        return CW_EXIT_FAILURE;
    return rc ? CW_EXIT_USAGE : CW_EXIT_OK;
}

static int check_file(const char *path, const checks *c)
{
    cw_err err = {0};
    cw_config_problems problems, warnings;
    cw_config_problems_init(&problems);
    cw_config_problems_init(&warnings);
    cw_code rc = examine(path, c->no_files, &problems, &warnings, &err);
    int code = c->json ? add_check(&c->json->json, path, rc, &problems, &warnings, &err)
                       : print_check(path, rc, &problems, &warnings, &err);
    cw_config_problems_done(&problems);
    cw_config_problems_done(&warnings);
    return code;
}

/* The file of `path` (may be NULL) and those of the arguments; the worst exit code. */
static int check_all(const char *path, const cw_cli_args *args, const checks *c)
{
    int worst = path ? check_file(path, c) : CW_EXIT_OK;
    for (size_t i = 0; i < args->n; i++) {
        int code = check_file(args->items[i], c);
        worst = code > worst ? code : worst;
    }
    return worst;
}

static int check_json(const char *path, const cw_cli_args *args, bool no_files)
{
    cw_buf out;
    cw_cli_table t;
    cw_buf_init(&out, OUTPUT_MAX_BYTES);
    cw_cli_table_open(&t, &out, /* json= */ true, NULL, 0);
    int worst = check_all(path, args, &(checks){.no_files = no_files, .json = &t});
    cw_cli_table_close(&t);
    int code = cw_cli_print_buf(&out);
    return code > worst ? code : worst;
}

/* The tools that callers see, and their cost, by the command that has it. */
static int print_cost(const char *path)
{
    char *copy = strdup(path);
    char command[] = "list", cost[] = "--cost", config[] = "--config";
    char *argv[] = {command, cost, config, copy, NULL};
    int code = copy ? cw_cli_list((int)CW_COUNT(argv) - 1, argv)
                    : cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    free(copy);
    return code;
}

static int run_check(int argc, char **argv)
{
    const char *path = NULL;
    bool no_files = false, has_cost = false, json = false;
    const cw_cli_option options[] = {
        CW_CLI_CONFIG_OPTION(&path),
        {"no-files", 0, CW_CLI_FLAG, &no_files, NULL,
         "check only the text, for a server on another machine"},
        {"cost", 0, CW_CLI_FLAG, &has_cost, NULL,
         "then print the tokens that the tools cost, as\n"
         "\"causeway list --cost\" does; loads the sources"},
        CW_CLI_JSON_OPTION(&json),
        {0},
    };
    const cw_cli_spec spec = {
        "config check", "[FILE...]",
        "Check configuration files and report each error with its line and column. All\n"
        "files that a configuration names are opened and checked too: certificates and\n"
        "keys, secrets, overlays and their schemas, descriptions, directories, the\n"
        "database. Nothing is changed, and no service is contacted without --cost.",
        options, FILES_MAX};
    cw_cli_args args;
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n == 0 || path)
        path = cw_cli_config_path(path);
    if (args.n == 0 && !path)
        return cw_cli_usage("name a file to check, or set CAUSEWAY_CONFIG");
    if (has_cost && (json || args.n + (path != NULL) != 1))
        return cw_cli_usage("--cost needs one file, and cannot be combined with --json; \"causeway "
                            "list --cost --json\" prints JSON");
    code = json ? check_json(path, &args, no_files)
                : check_all(path, &args, &(checks){.no_files = no_files});
    return code || !has_cost ? code : print_cost(path ? path : args.items[0]);
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

/* The configuration of a server elsewhere, as its method returns it. */
static int show_server(const cw_cli_target *target)
{
    cw_cli_admin a;
    const cw_json *result = NULL;
    int code = cw_cli_admin_open(target, &a);
    if (code >= 0)
        return code;
    code = cw_cli_admin_call(&a, "causeway.config.show", NULL, NULL, &result);
    if (code < 0)
        code = cw_cli_print_value(result);
    cw_cli_admin_close(&a);
    return code;
}

static int run_show(int argc, char **argv)
{
    cw_cli_target target = {0};
    const cw_cli_option options[] = {CW_CLI_TARGET_OPTIONS(&target), {0}};
    const cw_cli_spec spec = {
        "config show", "",
        "Print the effective configuration, including defaults, as YAML with comments.\n"
        "Relative paths are printed as absolute ones. With --server, print the\n"
        "configuration of that server as JSON; values that may hold secrets are masked.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code >= 0)
        return code;
    if (target.server)
        return show_server(&target);
    cw_config *config;
    code = cw_cli_load_config(target.config, &config);
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
