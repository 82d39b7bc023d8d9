/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list: the tools that a caller can see. */
#include <stdlib.h>

#include "cli/lib/table.h"
#include "cli/tool/cost.h"
#include "cli/tool/tools.h"
#include "config/syntax/quote.h"

/* Some tools of the list: an array of a result. */
typedef struct page {
    const cw_json *tools;
    struct page *next;
} page;

typedef struct tool_table {
    const char *account; /* NULL: the anonymous role */
    bool json;
    bool has_cost;     /* print what the tools cost */
    bool has_refusals; /* some tool cannot be called: the table has a column for that */
    cw_cli_admin *admin;
    page *pages;
    cw_str after; /* the last tool of the page before */
    cw_cli_table table;
    cw_cli_column columns[5];
} tool_table;

/* ---- reading ---- */

static void write_params(cw_json_writer *w, const void *ctx)
{
    const tool_table *l = ctx;
    cw_tools_write_caller(w, l->account);
    if (l->after.n)
        cw_json_add_string_member(w, CW_STR("after"), l->after);
    if (l->has_cost)
        cw_json_add_bool_member(w, CW_STR("cost"), true);
}

/* The next tools. *ret_more: others follow. Returns -1, or the exit code. */
static int read_page(tool_table *l, page *p, bool *ret_more)
{
    const cw_json *result = NULL;
    const cw_str after = l->after;
    int code = cw_cli_admin_call(l->admin, "causeway.tools.list", write_params, l, &result);
    if (code < 0)
        code = cw_tools_check_caller(l->admin, result);
    if (code >= 0)
        return code;
    p->tools = cw_json_get(result, CW_STR("tools"));
    if (!cw_json_is(p->tools, CW_JSON_ARRAY))
        return cw_cli_failure(CW_TOOLS_UNEXPECTED);
    for (const cw_json *t = cw_json_first(p->tools); t; t = cw_json_next(t))
        l->after = cw_cli_admin_text(t, "name");
    *ret_more = cw_cli_admin_flag(result, "more");
    /* A server that repeats a page would never end. */
    return *ret_more && cw_str_eq(l->after, after) ? cw_cli_failure(CW_TOOLS_UNEXPECTED) : -1;
}

static int read_pages(tool_table *l)
{
    page **end = &l->pages;
    int code = -1;
    for (bool has_more = true; has_more && code < 0;) {
        page *p = cw_arena_calloc(&l->admin->arena, 1, sizeof *p);
        if (!p)
            return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
        *end = p;
        end = &p->next;
        code = read_page(l, p, &has_more);
    }
    return code;
}

/* ---- printing ---- */

static bool is_allowed(const cw_json *tool)
{
    return cw_str_is(cw_cli_admin_text(tool, "call"), "allowed");
}

/* "yes", or the reason why a call is refused. */
static void add_verdict(const cw_json *tool, cw_buf *out)
{
    const cw_json *scopes = cw_json_get(tool, CW_STR("scopes"));
    if (is_allowed(tool)) {
        cw_buf_add(out, CW_STR("yes"));
    } else if (cw_str_is(cw_cli_admin_text(tool, "call"), "forbidden")) {
        cw_buf_printf(out, "no: needs the permission '%s'", CW_PERMISSION_CALL.p);
    } else if (cw_cli_admin_items(scopes)) {
        cw_buf_add(out, CW_STR("asks: needs a token with"));
        for (const cw_json *s = cw_cli_admin_items(scopes); s; s = cw_json_next(s)) {
            cw_buf_add_char(out, ' ');
            cw_quote_shown(out, cw_json_text(s));
        }
    } else {
        cw_buf_add(out, CW_STR("asks: needs a login"));
    }
}

static cw_str title_of(const cw_json *tool)
{
    return cw_cli_admin_text(cw_json_get(tool, CW_STR("mark")), "title");
}

static cw_str usage_of(const cw_json *tool)
{
    cw_str usage = cw_cli_admin_text(tool, "description");
    return usage.n ? usage : title_of(tool);
}

static void widen(cw_cli_column *column, cw_str text)
{
    if (text.n > column->width)
        column->width = text.n;
}

static void measure(tool_table *l, const cw_json *tool)
{
    widen(&l->columns[0], cw_cli_admin_text(tool, "name"));
    widen(&l->columns[1], cw_cli_admin_text(tool, "portableName"));
    widen(&l->columns[2], cw_cli_admin_text(tool, "source"));
    if (is_allowed(tool))
        return;
    CW_CLEANUP(cw_buf_done) cw_buf verdict;
    cw_buf_init(&verdict, CW_CLI_OUTPUT_MAX);
    add_verdict(tool, &verdict);
    widen(&l->columns[3], cw_buf_str(&verdict));
    l->has_refusals = true;
}

static void write_row(tool_table *l, const cw_json *tool)
{
    cw_cli_table *t = &l->table;
    CW_CLEANUP(cw_buf_done) cw_buf usage, verdict;
    cw_buf_init(&usage, CW_CLI_OUTPUT_MAX);
    cw_buf_init(&verdict, CW_CLI_OUTPUT_MAX);
    cw_tools_add_line(&usage, usage_of(tool));
    add_verdict(tool, &verdict);
    cw_cli_table_add(t, cw_cli_admin_text(tool, "name"));
    cw_cli_table_add(t, cw_cli_admin_text(tool, "portableName"));
    cw_cli_table_add(t, cw_cli_admin_text(tool, "source"));
    if (l->has_refusals)
        cw_cli_table_add_raw(t, cw_buf_str(&verdict));
    cw_cli_table_add_raw(t, cw_buf_str(&usage));
}

/* Members for a tool that the caller cannot call. */
static void write_refusal(const cw_json *tool, cw_json_writer *w)
{
    if (is_allowed(tool))
        return;
    CW_CLEANUP(cw_buf_done) cw_buf reason;
    cw_buf_init(&reason, CW_CLI_OUTPUT_MAX);
    add_verdict(tool, &reason);
    cw_json_add_string_member(w, CW_STR("call"), cw_cli_admin_text(tool, "call"));
    cw_json_add_string_member(w, CW_STR("reason"), cw_buf_str(&reason));
}

static void write_tool(tool_table *l, const cw_json *tool)
{
    static const char *const names[] = {"name", "portableName", "source", "method"};
    cw_json_writer *w = &l->table.json;
    if (!l->json) {
        write_row(l, tool);
        return;
    }
    cw_json_open_object(w);
    for (size_t i = 0; i < CW_COUNT(names); i++)
        cw_json_add_string_member(w, cw_str_from(names[i]), cw_cli_admin_text(tool, names[i]));
    if (title_of(tool).n)
        cw_json_add_string_member(w, CW_STR("title"), title_of(tool));
    cw_json_add_string_member(w, CW_STR("description"), usage_of(tool));
    write_refusal(tool, w);
    cw_json_close(w);
}

static void each_tool(tool_table *l, void (*fn)(tool_table *l, const cw_json *tool))
{
    for (const page *p = l->pages; p; p = p->next) {
        for (const cw_json *t = cw_json_first(p->tools); t; t = cw_json_next(t))
            fn(l, t);
    }
}

static int print_cost(const tool_table *l)
{
    size_t n = 0;
    for (const page *p = l->pages; p; p = p->next)
        n += cw_json_count(p->tools);
    const cw_json **tools = calloc(n + 1, sizeof *tools);
    if (!tools)
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    n = 0;
    for (const page *p = l->pages; p; p = p->next) {
        for (const cw_json *t = cw_json_first(p->tools); t; t = cw_json_next(t))
            tools[n++] = t;
    }
    int code = cw_tools_print_cost(tools, n, l->json);
    free(tools);
    return code;
}

static int list_tools(cw_cli_admin *a, void *ctx)
{
    tool_table *l = ctx;
    l->admin = a;
    int code = read_pages(l);
    if (code >= 0 || l->has_cost)
        return code >= 0 ? code : print_cost(l);
    cw_buf out;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    l->columns[0] = (cw_cli_column){"NAME", sizeof "NAME" - 1, false};
    l->columns[1] = (cw_cli_column){"PORTABLE NAME", sizeof "PORTABLE NAME" - 1, false};
    l->columns[2] = (cw_cli_column){"SOURCE", sizeof "SOURCE" - 1, false};
    l->columns[3] = (cw_cli_column){"CALL", sizeof "CALL" - 1, false};
    each_tool(l, measure);
    size_t n = l->has_refusals ? 5 : 4;
    l->columns[n - 1] = (cw_cli_column){"DESCRIPTION", 0, false};
    cw_cli_table_open(&l->table, &out, l->json, l->columns, n);
    each_tool(l, write_tool);
    cw_cli_table_close(&l->table);
    return cw_cli_print_buf(&out);
}

int cw_cli_list(int argc, char **argv)
{
    tool_table l = {0};
    cw_cli_target target = {0};
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&target),
        {"as", 0, CW_CLI_TEXT, &l.account, "ACCOUNT",
         "list the tools of this account of the database;\n"
         "default: of the anonymous role"},
        {"cost", 0, CW_CLI_FLAG, &l.has_cost, NULL,
         "print the tokens that each tool, source and toolset\n"
         "costs in a list (bytes / 4), the largest first, and\n"
         "warnings"},
        CW_CLI_JSON_OPTION(&l.json),
        {0},
    };
    const cw_cli_spec spec = {
        "list", "",
        "List the tools that a caller can see, and report those that it cannot call.\n"
        "A running server answers; otherwise the sources are loaded as in the server,\n"
        "and those that cannot be loaded are reported on standard error and omitted.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    const cw_tools_opts opts = {
        .config = target.config, .account = l.account, .is_read_only = true};
    return code >= 0 ? code : cw_tools_ask(&target, &opts, list_tools, &l);
}
