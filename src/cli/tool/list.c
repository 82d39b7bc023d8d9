/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list: the tools that somebody sees. */
#include "cli/lib/table.h"
#include "cli/tool/tools.h"

#define PAGE 256u

typedef struct tool_table {
    bool json;
    cw_buf out;
    cw_json_writer w;
    size_t name_width, source_width;
} tool_table;

static cw_str usage_of(const cw_entry *entry)
{
    const cw_method *m = entry->method;
    if (m->usage.n)
        return m->usage;
    return m->mark ? m->mark->title : CW_STR("");
}

static void measure(tool_table *l, const cw_entry *entry)
{
    cw_str source = entry->method->source->name;
    if (entry->tool_name.n > l->name_width)
        l->name_width = entry->tool_name.n;
    if (source.n > l->source_width)
        l->source_width = source.n;
}

static void write_entry(tool_table *l, const cw_entry *entry)
{
    cw_str source = entry->method->source->name;
    if (l->json) {
        const cw_mark *mark = entry->method->mark;
        cw_json_open_object(&l->w);
        cw_json_add_string_member(&l->w, CW_STR("name"), entry->tool_name);
        cw_json_add_string_member(&l->w, CW_STR("source"), source);
        cw_json_add_string_member(&l->w, CW_STR("method"), entry->method->id);
        if (mark && mark->title.n)
            cw_json_add_string_member(&l->w, CW_STR("title"), mark->title);
        cw_json_add_string_member(&l->w, CW_STR("description"), usage_of(entry));
        cw_json_close(&l->w);
        return;
    }
    cw_cli_table_add_column(&l->out, entry->tool_name, l->name_width);
    cw_cli_table_add_column(&l->out, source, l->source_width);
    cw_tools_add_line(&l->out, usage_of(entry));
    cw_buf_add_char(&l->out, '\n');
}

static void each_tool(tool_table *l, cw_view *view,
                      void (*fn)(tool_table *l, const cw_entry *entry))
{
    const cw_entry *entries[PAGE];
    cw_str last = CW_STR("");
    bool more = true;
    while (more) {
        size_t n;
        cw_view_after(view, CW_VIEW_TOOLS, last, entries, PAGE, &n, &more);
        for (size_t i = 0; i < n; i++)
            fn(l, entries[i]);
        more = more && n;
        if (n)
            last = entries[n - 1]->tool_name;
    }
}

static int list_tools(cw_tools *t, void *ctx)
{
    tool_table *l = ctx;
    if (!cw_tools_may_look(t))
        return CW_EXIT_FAILURE;
    cw_buf_init(&l->out, CW_CLI_DB_MAX_BYTES);
    if (l->json) {
        cw_json_writer_init(&l->w, &l->out, CW_JSON_INDENT);
        cw_json_open_array(&l->w);
    } else {
        l->name_width = sizeof "NAME" - 1;
        l->source_width = sizeof "SOURCE" - 1;
        each_tool(l, t->view, measure);
        CW_CLEANUP(cw_buf_done) cw_buf heading;
        cw_buf_init(&heading, CW_CLI_DB_MAX_BYTES);
        cw_cli_table_add_column(&heading, CW_STR("NAME"), l->name_width);
        cw_cli_table_add_column(&heading, CW_STR("SOURCE"), l->source_width);
        cw_buf_printf(&heading, "DESCRIPTION%c", 0);
        cw_cli_table_add_heading(&l->out, heading.code ? "" : heading.p);
    }
    each_tool(l, t->view, write_entry);
    if (l->json) {
        cw_json_close(&l->w);
        (void)!cw_json_writer_end(&l->w, NULL); /* sticky in the buffer */
        cw_buf_add_char(&l->out, '\n');
    }
    return cw_cli_print_buf(&l->out);
}

int cw_cli_list(int argc, char **argv)
{
    tool_table l = {0};
    cw_tools_opts opts = {.is_read_only = true};
    const cw_cli_option options[] = {
        CW_CLI_CONFIG_OPTION(&opts.config),
        {"as", 0, CW_CLI_TEXT, &opts.account, "ACCOUNT",
         "list the tools of this account of the database;\n"
         "default: of the anonymous role"},
        CW_CLI_JSON_OPTION(&l.json),
        {0},
    };
    const cw_cli_spec spec = {
        "list", "",
        "List the tools that a caller can see. Sources are loaded as in the server.\n"
        "Sources that cannot be loaded are reported on standard error and omitted.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    return code >= 0 ? code : cw_tools_run(&opts, list_tools, &l);
}
