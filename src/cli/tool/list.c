/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list: the tools that a caller can see. */
#include "catalogue/portable_name.h"
#include "cli/lib/cli.h"
#include "cli/lib/table.h"
#include "cli/tool/tools.h"
#include "config/syntax/quote.h"

#define PAGE 256u

typedef struct tool_table {
    bool json;
    bool has_refusals; /* some tool cannot be called: the table has a column for that */
    const cw_view *view;
    cw_cli_table table;
    cw_cli_column columns[5];
} tool_table;

/* The outcome of a call by this caller. */
static cw_verdict verdict_on(const tool_table *l, const cw_entry *entry)
{
    cw_verdict call = cw_view_call_verdict(l->view);
    return call != CW_VERDICT_ALLOW ? call : cw_view_verdict(l->view, entry);
}

/* "yes", or the reason why a call is refused. */
static void add_verdict(const tool_table *l, const cw_entry *entry, cw_buf *out)
{
    const cw_requirements *needs = &entry->method->needs;
    cw_verdict verdict = verdict_on(l, entry);
    if (verdict == CW_VERDICT_ALLOW) {
        cw_buf_add(out, CW_STR("yes"));
    } else if (verdict == CW_VERDICT_FORBIDDEN) {
        cw_buf_printf(out, "no: needs the permission '%s'", CW_PERMISSION_CALL.p);
    } else if (needs->n_scopes) {
        cw_buf_add(out, CW_STR("asks: needs a token with"));
        for (size_t i = 0; i < needs->n_scopes; i++) {
            cw_buf_add_char(out, ' ');
            cw_quote_shown(out, needs->scopes[i]);
        }
    } else {
        cw_buf_add(out, CW_STR("asks: needs a login"));
    }
}

static cw_str usage_of(const cw_entry *entry)
{
    const cw_method *m = entry->method;
    if (m->usage.n)
        return m->usage;
    return m->mark ? m->mark->title : CW_STR("");
}

static void widen(cw_cli_column *column, cw_str text)
{
    if (text.n > column->width)
        column->width = text.n;
}

static void measure(tool_table *l, const cw_entry *entry)
{
    char room[CW_PORTABLE_NAME_MAX];
    widen(&l->columns[0], entry->tool_name);
    widen(&l->columns[1], cw_portable_name(entry->tool_name, room));
    widen(&l->columns[2], entry->method->source->name);
    if (verdict_on(l, entry) == CW_VERDICT_ALLOW)
        return;
    CW_CLEANUP(cw_buf_done) cw_buf verdict;
    cw_buf_init(&verdict, CW_CLI_OUTPUT_MAX);
    add_verdict(l, entry, &verdict);
    widen(&l->columns[3], cw_buf_str(&verdict));
    l->has_refusals = true;
}

static void write_row(tool_table *l, const cw_entry *entry)
{
    cw_cli_table *t = &l->table;
    char room[CW_PORTABLE_NAME_MAX];
    CW_CLEANUP(cw_buf_done) cw_buf usage, verdict;
    cw_buf_init(&usage, CW_CLI_OUTPUT_MAX);
    cw_buf_init(&verdict, CW_CLI_OUTPUT_MAX);
    cw_tools_add_line(&usage, usage_of(entry));
    add_verdict(l, entry, &verdict);
    cw_cli_table_add(t, entry->tool_name);
    cw_cli_table_add(t, cw_portable_name(entry->tool_name, room));
    cw_cli_table_add(t, entry->method->source->name);
    if (l->has_refusals)
        cw_cli_table_add_raw(t, cw_buf_str(&verdict));
    cw_cli_table_add_raw(t, cw_buf_str(&usage));
}

/* Members for a tool that the caller cannot call. */
static void write_refusal(const tool_table *l, const cw_entry *entry, cw_json_writer *w)
{
    static const char *const names[] = {"allowed", "hidden", "login", "forbidden", "scopes"};
    cw_verdict verdict = verdict_on(l, entry);
    if (verdict == CW_VERDICT_ALLOW)
        return;
    CW_CLEANUP(cw_buf_done) cw_buf reason;
    cw_buf_init(&reason, CW_CLI_OUTPUT_MAX);
    add_verdict(l, entry, &reason);
    cw_json_add_string_member(w, CW_STR("call"), cw_str_from(names[verdict]));
    cw_json_add_string_member(w, CW_STR("reason"), cw_buf_str(&reason));
}

static void write_entry(tool_table *l, const cw_entry *entry)
{
    const cw_mark *mark = entry->method->mark;
    cw_json_writer *w = &l->table.json;
    char room[CW_PORTABLE_NAME_MAX];
    if (!l->json) {
        write_row(l, entry);
        return;
    }
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), entry->tool_name);
    cw_json_add_string_member(w, CW_STR("portableName"), cw_portable_name(entry->tool_name, room));
    cw_json_add_string_member(w, CW_STR("source"), entry->method->source->name);
    cw_json_add_string_member(w, CW_STR("method"), entry->method->id);
    if (mark && mark->title.n)
        cw_json_add_string_member(w, CW_STR("title"), mark->title);
    cw_json_add_string_member(w, CW_STR("description"), usage_of(entry));
    write_refusal(l, entry, w);
    cw_json_close(w);
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
    if (!cw_tools_may(t, /* discovers= */ true))
        return CW_EXIT_FAILURE;
    cw_buf out;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    l->columns[0] = (cw_cli_column){"NAME", sizeof "NAME" - 1, false};
    l->columns[1] = (cw_cli_column){"PORTABLE NAME", sizeof "PORTABLE NAME" - 1, false};
    l->columns[2] = (cw_cli_column){"SOURCE", sizeof "SOURCE" - 1, false};
    l->columns[3] = (cw_cli_column){"CALL", sizeof "CALL" - 1, false};
    l->view = t->view;
    each_tool(l, t->view, measure);
    size_t n = l->has_refusals ? 5 : 4;
    l->columns[n - 1] = (cw_cli_column){"DESCRIPTION", 0, false};
    cw_cli_table_open(&l->table, &out, l->json, l->columns, n);
    each_tool(l, t->view, write_entry);
    cw_cli_table_close(&l->table);
    return cw_cli_print_buf(&out);
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
        "List the tools that a caller can see, and report those that it cannot call.\n"
        "Sources are loaded as in the server.\n"
        "Sources that cannot be loaded are reported on standard error and omitted.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    return code >= 0 ? code : cw_tools_run(&opts, list_tools, &l);
}
