/* SPDX-License-Identifier: GPL-2.0-or-later */
/* describe: prints a tool with its parameters. */
#include <unistd.h>

#include "catalogue/portable_name.h"
#include "cli/lib/cli.h"
#include "cli/lib/table.h"
#include "cli/plugin/plugin.h"
#include "cli/tool/arguments.h"
#include "cli/tool/tools.h"
#include "config/syntax/quote.h"

#define SCRATCH_MAX ((size_t)1 << 30)

typedef struct description {
    const char *tool;
    bool json;
} description;

/* A line in bold on a terminal. */
static void add_title(cw_buf *out, const char *text)
{
    cw_buf_printf(out, "%s%s%s\n", cw_cli_escape(STDOUT_FILENO, CW_CLI_BOLD), text,
                  cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN));
}

/* Line by line, each safe for a terminal. */
static void add_lines(cw_buf *out, cw_str text)
{
    for (cw_str rest = text; rest.p && text.n;) {
        cw_quote_shown(out, cw_str_cut(rest, '\n', &rest));
        cw_buf_add_char(out, '\n');
    }
}

/* Append the type in a schema (JSON, or empty): "integer", "array|object", "any". */
static void add_type(cw_buf *out, cw_str schema)
{
    unsigned types = cw_cli_schema_types(schema);
    bool any = false;
    for (unsigned i = 0; i < CW_TYPES_N; i++) {
        if (!(types & 1u << i))
            continue;
        cw_buf_printf(out, "%s%s", any ? "|" : "", cw_cli_type_name_of(i));
        any = true;
    }
    if (!any)
        cw_buf_add(out, CW_STR("any"));
}

static void add_param(cw_buf *out, const cw_param *p, size_t name_width)
{
    CW_CLEANUP(cw_buf_done) cw_buf type;
    cw_buf_init(&type, CW_CLI_OUTPUT_MAX);
    add_type(&type, p->schema);
    cw_buf_add(out, CW_STR("  "));
    cw_cli_add_column(out, p->name, name_width);
    cw_cli_add_column(out, p->is_required ? CW_STR("required") : CW_STR("optional"), 8);
    cw_buf_printf(out, "%-14.*s  ", (int)type.n, type.n ? type.p : "");
    cw_tools_add_line(out, p->description);
    while (out->n && out->p[out->n - 1] == ' ')
        out->n--;
    cw_buf_add_char(out, '\n');
}

/* The requirements of the method beyond the general permission to call. */
static void add_permissions(cw_buf *out, const cw_requirements *needs)
{
    cw_buf_add(out, CW_STR("permissions: "));
    for (size_t i = 0; i < needs->n_permissions; i++) {
        cw_buf_add(out, i ? CW_STR(", ") : CW_STR(""));
        cw_quote_shown(out, needs->permissions[i]);
    }
    cw_buf_printf(out, "%s\n", needs->n_permissions ? "" : cw_plugin_any_caller(needs));
}

/* The scopes and the level that a call needs. */
static void add_auth(cw_buf *out, const cw_requirements *needs)
{
    cw_buf_add(out, CW_STR("scopes: "));
    for (size_t i = 0; i < needs->n_scopes; i++) {
        cw_buf_add(out, i ? CW_STR(", ") : CW_STR(""));
        cw_quote_shown(out, needs->scopes[i]);
    }
    cw_buf_printf(out, "%s\nlevel: %s%s\n", needs->n_scopes ? "" : "none",
                  cw_auth_level_name(needs->level).p,
                  needs->hidden_unless_met ? ", hidden unless it is met" : "");
}

/* The name on MCP doors, if it is another one. */
static void add_portable_name(cw_buf *out, const cw_entry *entry)
{
    char room[CW_PORTABLE_NAME_MAX];
    if (entry->tool_name.n == 0)
        return;
    cw_str name = cw_portable_name(entry->tool_name, room);
    if (name.p == room)
        cw_buf_printf(out, "portable name: %.*s\n", CW_STR_ARG(name));
}

static int print_text(const cw_entry *entry)
{
    const cw_method *m = entry->method;
    cw_buf out;
    size_t width = 0;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    cw_cli_add_text(&out, entry->tool_name.n ? entry->tool_name : m->id);
    cw_buf_add(&out, CW_STR(" of "));
    cw_cli_add_text(&out, m->source->name);
    cw_buf_add_char(&out, '\n');
    add_portable_name(&out, entry);
    if (m->mark)
        add_lines(&out, m->mark->title);
    add_lines(&out, m->usage);
    if (m->mark && m->mark->annotations.n) {
        cw_buf_add(&out, CW_STR("annotations: "));
        cw_quote_shown(&out, m->mark->annotations);
        cw_buf_add_char(&out, '\n');
    }
    add_permissions(&out, &m->needs);
    add_auth(&out, &m->needs);
    add_title(&out, m->n_params ? "parameters:" : "no parameters");
    for (size_t i = 0; i < m->n_params; i++)
        width = m->params[i].name.n > width ? m->params[i].name.n : width;
    for (size_t i = 0; i < m->n_params; i++)
        add_param(&out, &m->params[i], width);
    return cw_cli_print_buf(&out);
}

/* The tool as clients get it. */
static int print_json(const cw_entry *entry)
{
    cw_arena arena;
    cw_err err = {0};
    cw_json_writer w;
    const cw_json *tool = NULL;
    cw_buf out;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    const cw_json_opts opts = {.max_bytes = CW_CLI_OUTPUT_MAX, .max_depth = CW_JSON_DEPTH_CEILING};
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    cw_buf_init(&text, CW_CLI_OUTPUT_MAX);
    cw_arena_init(&arena, SCRATCH_MAX);
    cw_tool_write(entry, CW_TOOL_ANY_OUTPUT, &text);
    cw_code rc = text.code ? cw_fail(&err, text.code, "%s", cw_code_text(text.code))
                           : cw_json_read(cw_buf_str(&text), &opts, &arena, &tool, NULL, &err);
    if (!rc) {
        cw_json_writer_init(&w, &out, CW_JSON_INDENT);
        cw_json_add_value(&w, tool);
        cw_cli_end_json(&w);
    }
    cw_arena_done(&arena);
    int code = rc ? cw_cli_failure("%s", err.msg) : cw_cli_print_buf(&out);
    cw_buf_done(&out);
    return code;
}

static int describe_tool(cw_tools *t, void *ctx)
{
    const description *d = ctx;
    if (!cw_tools_may(t, /* discovers= */ true))
        return CW_EXIT_FAILURE;
    const cw_entry *entry = cw_tools_find(t, d->tool);
    if (!entry)
        return CW_EXIT_FAILURE;
    if (d->json && entry->tool_name.n == 0)
        return cw_cli_failure("%s is not a tool: it can be called on /jsonrpc only", d->tool);
    return d->json ? print_json(entry) : print_text(entry);
}

int cw_cli_describe(int argc, char **argv)
{
    description d = {0};
    cw_tools_opts opts = {.is_read_only = true};
    const cw_cli_option options[] = {
        CW_CLI_CONFIG_OPTION(&opts.config),
        {"as", 0, CW_CLI_TEXT, &opts.account, "ACCOUNT",
         "print what this account of the database can see;\n"
         "default: the anonymous role"},
        {"json", 0, CW_CLI_FLAG, &d.json, NULL, "print the tool as MCP clients receive it"},
        {0},
    };
    const cw_cli_spec spec = {"describe", "TOOL", "Print a tool with its parameters.", options, 1};
    cw_cli_args args = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n == 0)
        return cw_cli_usage("name the tool; \"causeway list\" prints those that there are");
    d.tool = args.items[0];
    return cw_tools_run(&opts, describe_tool, &d);
}
