/* SPDX-License-Identifier: GPL-2.0-or-later */
/* describe: prints a tool with its parameters. */
#include <unistd.h>

#include "cli/lib/table.h"
#include "cli/plugin/plugin.h"
#include "cli/tool/arguments.h"
#include "cli/tool/tools.h"
#include "config/syntax/quote.h"

typedef struct description {
    const char *tool;
    const char *account; /* NULL: the anonymous role */
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

static void add_param(cw_buf *out, const cw_json *param, size_t name_width)
{
    const cw_json *schema = cw_json_get(param, CW_STR("schema"));
    bool is_required = cw_cli_admin_flag(param, "required");
    CW_CLEANUP(cw_buf_done) cw_buf type;
    cw_buf_init(&type, CW_CLI_OUTPUT_MAX);
    add_type(&type, schema ? cw_json_span(schema) : CW_STR(""));
    cw_buf_add(out, CW_STR("  "));
    cw_cli_add_column(out, cw_cli_admin_text(param, "name"), name_width);
    cw_cli_add_column(out, is_required ? CW_STR("required") : CW_STR("optional"), 8);
    cw_buf_printf(out, "%-14.*s  ", (int)type.n, type.n ? type.p : "");
    cw_tools_add_line(out, cw_cli_admin_text(param, "description"));
    while (out->n && out->p[out->n - 1] == ' ')
        out->n--;
    cw_buf_add_char(out, '\n');
}

static void add_params(cw_buf *out, const cw_json *params)
{
    size_t width = 0;
    const cw_json *first = cw_cli_admin_items(params);
    add_title(out, first ? "parameters:" : "no parameters");
    for (const cw_json *p = first; p; p = cw_json_next(p)) {
        size_t n = cw_cli_admin_text(p, "name").n;
        width = n > width ? n : width;
    }
    for (const cw_json *p = first; p; p = cw_json_next(p))
        add_param(out, p, width);
}

/* "heading: a, b", or "heading: none". */
static void add_names(cw_buf *out, const char *heading, const cw_json *names, const char *none)
{
    const cw_json *first = cw_cli_admin_items(names);
    cw_buf_printf(out, "%s: %s", heading, first ? "" : none);
    for (const cw_json *n = first; n; n = cw_json_next(n)) {
        cw_quote_shown(out, cw_json_text(n));
        cw_buf_add(out, cw_json_next(n) ? CW_STR(", ") : CW_STR(""));
    }
    cw_buf_add_char(out, '\n');
}

/* The requirements of the method beyond the general permission to call. */
static void add_requirements(cw_buf *out, const cw_json *tool)
{
    cw_str level = cw_cli_admin_text(tool, "level");
    bool is_hidden = cw_str_is(cw_cli_admin_text(tool, "visibility"), "hide");
    add_names(out, "permissions", cw_json_get(tool, CW_STR("permissions")),
              cw_plugin_any_caller(cw_str_is(level, "required")));
    add_names(out, "scopes", cw_json_get(tool, CW_STR("scopes")), "none");
    cw_buf_add(out, CW_STR("level: "));
    cw_quote_shown(out, level);
    cw_buf_add(out, is_hidden ? CW_STR(", hidden unless it is met\n") : CW_STR("\n"));
}

/* The name on MCP doors, if it is another one. */
static void add_portable_name(cw_buf *out, const cw_json *tool)
{
    cw_str name = cw_cli_admin_text(tool, "portableName");
    if (cw_str_eq(name, cw_cli_admin_text(tool, "name")))
        return;
    cw_buf_add(out, CW_STR("portable name: "));
    cw_quote_shown(out, name);
    cw_buf_add_char(out, '\n');
}

static int print_text(const cw_json *tool)
{
    const cw_json *mark = cw_json_get(tool, CW_STR("mark"));
    const cw_json *annotations = cw_json_get(mark, CW_STR("annotations"));
    cw_str name = cw_cli_admin_text(tool, "name");
    cw_buf out;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    cw_cli_add_text(&out, name.n ? name : cw_cli_admin_text(tool, "method"));
    cw_buf_add(&out, CW_STR(" of "));
    cw_cli_add_text(&out, cw_cli_admin_text(tool, "source"));
    cw_buf_add_char(&out, '\n');
    add_portable_name(&out, tool);
    add_lines(&out, cw_cli_admin_text(mark, "title"));
    add_lines(&out, cw_cli_admin_text(tool, "description"));
    if (annotations) {
        cw_buf_add(&out, CW_STR("annotations: "));
        cw_quote_shown(&out, cw_json_span(annotations));
        cw_buf_add_char(&out, '\n');
    }
    add_requirements(&out, tool);
    add_params(&out, cw_json_get(tool, CW_STR("params")));
    return cw_cli_print_buf(&out);
}

static void write_params(cw_json_writer *w, const void *ctx)
{
    const description *d = ctx;
    cw_json_add_string_member(w, CW_STR("name"), cw_str_from(d->tool));
    cw_tools_write_caller(w, d->account);
}

static int describe_tool(cw_cli_admin *a, void *ctx)
{
    const description *d = ctx;
    const cw_json *result = NULL;
    int code = cw_cli_admin_call(a, "causeway.tools.describe", write_params, d, &result);
    if (code < 0)
        code = cw_tools_check_caller(a, result);
    if (code >= 0)
        return code;
    const cw_json *tool = cw_json_get(result, CW_STR("tool"));
    if (d->json && !tool)
        return cw_cli_failure("%s is not a tool: it can be called on /jsonrpc only", d->tool);
    /* As clients get it. */
    return d->json ? cw_cli_print_value(tool) : print_text(result);
}

int cw_cli_describe(int argc, char **argv)
{
    description d = {0};
    cw_cli_target target = {0};
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&target),
        {"as", 0, CW_CLI_TEXT, &d.account, "ACCOUNT",
         "print what this account of the database can see;\n"
         "default: the anonymous role"},
        {"json", 0, CW_CLI_FLAG, &d.json, NULL, "print the tool as MCP clients receive it"},
        {0},
    };
    const cw_cli_spec spec = {
        "describe", "TOOL",
        "Print a tool with its parameters. A running server answers; otherwise the\n"
        "sources are loaded as in the server.",
        options, 1};
    cw_cli_args args = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n == 0)
        return cw_cli_usage("name the tool; \"causeway list\" prints those that there are");
    d.tool = args.items[0];
    const cw_tools_opts opts = {
        .config = target.config, .account = d.account, .is_read_only = true};
    return cw_tools_ask(&target, &opts, describe_tool, &d);
}
