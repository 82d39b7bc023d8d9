/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schema: checks JSON Schemas, and validates instances. */
#include "schema/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/lib/cli.h"
#include "config/syntax/quote.h"
#include "schema/rewrite/draft_diff.h"

#define FILE_MAX_BYTES (64u * 1024u * 1024u)
#define OUTPUT_MAX_BYTES (64u * 1024u * 1024u)
#define ARENA_MAX_BYTES ((size_t)1024 * 1024 * 1024)
#define FILES_MAX 1000u

typedef struct settings {
    cw_schema_opts opts;
    bool formatted; /* --output was given */
    cw_schema_output output;
} settings;

#define DRAFT_OPTION(target)                                                                       \
    {                                                                                              \
        "draft", 'd', CW_CLI_TEXT, target, "DRAFT",                                                \
            "dialect without $schema: 7 or 2020-12 (default)"                                      \
    }

/* The options as words. Returns -1, or reports a wrong one and returns the exit code. */
static int read_settings(const char *draft, const char *output, bool formats, settings *ret)
{
    *ret = (settings){.opts = {.annotate_formats = !formats}};
    if (draft && strcmp(draft, "7") == 0)
        ret->opts.draft = CW_SCHEMA_DRAFT_07;
    else if (draft && strcmp(draft, "2020-12") != 0)
        return cw_cli_usage("--draft is 7 or 2020-12, not '%s'", draft);
    static const char *const outputs[] = {"flag", "basic", "detailed"};
    for (size_t i = 0; output && i < CW_COUNT(outputs); i++) {
        if (strcmp(output, outputs[i]) != 0)
            continue;
        ret->formatted = true;
        ret->output = (cw_schema_output)i;
    }
    if (output && !ret->formatted)
        return cw_cli_usage("--output is flag, basic or detailed, not '%s'", output);
    return -1;
}

/* A file, or standard input for "-". */
static bool read_file(const char *path, cw_buf *out)
{
    cw_err err;
    cw_code rc = strcmp(path, "-") == 0 ? cw_file_read_fd(STDIN_FILENO, path, out, &err)
                                        : cw_file_read(path, CW_FILE_ANY, out, &err);
    if (rc)
        cw_cli_failure("%s", err.msg);
    return !rc;
}

static cw_schema *load_schema(const char *path, const settings *set)
{
    cw_buf text;
    cw_buf_init(&text, FILE_MAX_BYTES);
    cw_schema *s = NULL;
    cw_err err = {0};
    if (read_file(path, &text) && cw_schema_compile_text(cw_buf_str(&text), &set->opts, &s, &err))
        cw_cli_failure("%s: %s", path, err.msg);
    cw_buf_done(&text);
    return s;
}

/* Every problem with its place in the file. */
static void add_problems(cw_buf *out, const char *path, cw_str text, const cw_schema_report *report)
{
    for (size_t i = 0; i < report->n; i++) {
        const cw_schema_problem *p = &report->problems[i];
        size_t offset = (size_t)(cw_json_span(p->instance).p - text.p);
        cw_json_pos pos = cw_json_locate(text, offset);
        cw_buf_printf(out, "%s:%u:%u: ", path, pos.line, pos.column);
        cw_schema_problem_text(p, out);
        cw_buf_add_char(out, '\n');
    }
    if (report->total > report->n)
        cw_buf_printf(out, "%s: and %llu more\n", path,
                      (unsigned long long)(report->total - report->n));
}

static int report_verdict(const char *path, cw_str text, const cw_schema_report *report,
                          const settings *set)
{
    cw_buf out;
    cw_buf_init(&out, OUTPUT_MAX_BYTES);
    if (set->formatted) {
        cw_schema_write_output(report, set->output, &out);
        cw_buf_add_char(&out, '\n');
    } else if (report->valid) {
        cw_buf_printf(&out, "%s: %svalid%s\n", path, cw_cli_escape(STDOUT_FILENO, CW_CLI_GREEN),
                      cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN));
    } else {
        add_problems(&out, path, text, report);
    }
    int code = cw_cli_print_buf(&out);
    if (code)
        return code;
    return report->valid ? CW_EXIT_OK : CW_EXIT_FAILURE;
}

static int validate_text(const cw_schema *s, const char *path, cw_str text, const settings *set)
{
    cw_arena arena;
    cw_arena_init(&arena, ARENA_MAX_BYTES);
    const cw_json *instance = NULL;
    cw_err err = {0};
    cw_schema_report report = {.valid = true};
    cw_code rc = cw_json_read(text, NULL, &arena, &instance, NULL, &err);
    if (!rc)
        rc = cw_schema_validate(s, instance, NULL);
    if (rc == CW_PARAMS) {
        const cw_schema_explain_opts opts = {.max_problems = set->formatted ? 1000 : 20,
                                             .nested = set->formatted};
        rc = cw_schema_explain(s, instance, &opts, &arena, &report, &err);
    } else if (rc == CW_LIMIT && !err.msg[0]) {
        cw_fail(&err, rc, "too hard to validate within the limits");
    }
    int code = CW_EXIT_USAGE;
    if (rc == CW_OK || rc == CW_PARAMS)
        code = report_verdict(path, text, &report, set);
    else
        cw_cli_failure("%s: %s", path, err.msg[0] ? err.msg : cw_code_text(rc));
    cw_arena_done(&arena);
    return code;
}

static int validate_file(const cw_schema *s, const char *path, const settings *set)
{
    cw_buf text;
    cw_buf_init(&text, FILE_MAX_BYTES);
    int code = CW_EXIT_USAGE;
    if (read_file(path, &text))
        code = validate_text(s, path, cw_buf_str(&text), set);
    cw_buf_done(&text);
    return code;
}

/* One line of --jsonl. */
static void add_line_verdict(cw_buf *out, cw_str line, const settings *set)
{
    cw_arena arena;
    cw_arena_init(&arena, ARENA_MAX_BYTES);
    cw_err err = {0};
    const cw_json *pair = NULL;
    cw_schema *s = NULL;
    cw_code rc = cw_json_read(line, NULL, &arena, &pair, NULL, &err);
    const cw_json *schema = cw_json_get(pair, CW_STR("schema"));
    const cw_json *instance = cw_json_get(pair, CW_STR("instance"));
    if (!rc && (!schema || !instance))
        rc = cw_fail(&err, CW_PARAMS, "a line is {\"schema\":...,\"instance\":...}");
    if (!rc)
        rc = cw_schema_compile(schema, &set->opts, &s, &err);
    cw_code verdict = rc ? rc : cw_schema_validate(s, instance, NULL);
    if (!rc && (verdict == CW_OK || verdict == CW_PARAMS)) {
        cw_buf_add(out, verdict == CW_OK ? CW_STR("true\n") : CW_STR("false\n"));
    } else {
        /* A name in a message may hold anything, but a line stays a line. */
        for (char *p = err.msg; *p; p++)
            *p = (unsigned char)*p < 0x20 ? ' ' : *p;
        cw_buf_printf(out, "error: %s\n", rc ? err.msg : cw_code_text(verdict));
    }
    cw_schema_unref(s);
    cw_arena_done(&arena);
}

static int validate_lines(const settings *set)
{
    char *line = NULL;
    size_t cap = 0;
    int code = CW_EXIT_OK;
    for (;;) {
        ssize_t n = getline(&line, &cap, stdin);
        if (n < 0 || code)
            break;
        cw_str text = cw_str_make(line, (size_t)n);
        if (text.n > 0 && text.p[text.n - 1] == '\n')
            text.n--;
        cw_buf out;
        cw_buf_init(&out, OUTPUT_MAX_BYTES);
        add_line_verdict(&out, text, set);
        code = cw_cli_print_buf(&out);
    }
    free(line);
    return code;
}

static int run_validate(int argc, char **argv)
{
    const char *draft = NULL;
    const char *output = NULL;
    bool formats = false;
    bool lines = false;
    const cw_cli_option options[] = {
        DRAFT_OPTION(&draft),
        {"format-assertion", 'f', CW_CLI_FLAG, &formats, NULL, "treat \"format\" as an assertion"},
        {"output", 'o', CW_CLI_TEXT, &output, "FORMAT",
         "print a standard output format: flag, basic or\n"
         "detailed"},
        {"jsonl", 0, CW_CLI_FLAG, &lines, NULL,
         "read lines {\"schema\":...,\"instance\":...} from\n"
         "standard input; print true, false or an error"},
        {0},
    };
    const cw_cli_spec spec = {
        "schema validate", "SCHEMA INSTANCE...",
        "Validate instances against a JSON Schema (draft-07 or 2020-12). \"-\" is standard\n"
        "input. The exit code is 0 if all are valid, 1 if one is invalid, and 2 if the\n"
        "schema or an instance cannot be read. Nothing is fetched.",
        options, FILES_MAX};
    cw_cli_args args;
    int code = cw_cli_parse(&spec, argc, argv, &args);
    settings set;
    if (code < 0)
        code = read_settings(draft, output, formats, &set);
    if (code >= 0)
        return code;
    if (lines)
        return args.n ? cw_cli_usage("--jsonl takes no files") : validate_lines(&set);
    if (args.n < 2)
        return cw_cli_usage("name a schema and at least one instance");
    cw_schema *s = load_schema(args.items[0], &set);
    if (!s)
        return CW_EXIT_USAGE;
    int worst = CW_EXIT_OK;
    for (size_t i = 1; i < args.n; i++) {
        code = validate_file(s, args.items[i], &set);
        worst = code > worst ? code : worst;
    }
    cw_schema_unref(s);
    return worst;
}

typedef struct checking {
    const char *path;
    cw_buf *out;
} checking;

static bool add_difference(const cw_schema_difference *d, void *ctx)
{
    const checking *c = ctx;
    cw_buf_printf(c->out, "%s: %swarning%s: ", c->path, cw_cli_escape(STDOUT_FILENO, CW_CLI_BOLD),
                  cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN));
    cw_quote_bare(c->out, d->pointer);
    cw_buf_printf(c->out, ": %s\n", d->text);
    return !c->out->code;
}

static int check_file(const char *path, const settings *set)
{
    cw_schema *s = load_schema(path, set);
    if (!s)
        return CW_EXIT_USAGE;
    cw_buf out;
    cw_buf_init(&out, OUTPUT_MAX_BYTES);
    checking c = {path, &out};
    cw_code rc = cw_schema_differences(s, add_difference, &c);
    cw_schema_unref(s);
    if (rc)
        out.code = rc;
    cw_buf_printf(&out, "%s: %sok%s\n", path, cw_cli_escape(STDOUT_FILENO, CW_CLI_GREEN),
                  cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN));
    return cw_cli_print_buf(&out);
}

static int run_check(int argc, char **argv)
{
    const char *draft = NULL;
    const cw_cli_option options[] = {DRAFT_OPTION(&draft), {0}};
    const cw_cli_spec spec = {
        "schema check", "SCHEMA...",
        "Check that JSON Schemas are valid in their dialect and can be compiled: keyword\n"
        "values, references, patterns. The exit code is 0 or 2. Warn if a draft-07\n"
        "schema has another meaning in 2020-12.",
        options, FILES_MAX};
    cw_cli_args args;
    int code = cw_cli_parse(&spec, argc, argv, &args);
    settings set;
    if (code < 0)
        code = read_settings(draft, NULL, /* formats= */ true, &set);
    if (code >= 0)
        return code;
    if (args.n == 0)
        return cw_cli_usage("name a schema to check");
    int worst = CW_EXIT_OK;
    for (size_t i = 0; i < args.n; i++) {
        code = check_file(args.items[i], &set);
        worst = code > worst ? code : worst;
    }
    return worst;
}

static const cw_cli_command commands[] = {
    {"validate", "validate instances against a schema", run_validate},
    {"check", "check schemas", run_check},
    {0},
};

int cw_cli_schema(int argc, char **argv)
{
    static const cw_cli_group group = {
        "causeway schema",
        "Check JSON Schemas, and validate instances.",
        "\"causeway help schema COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
