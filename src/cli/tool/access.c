/* SPDX-License-Identifier: GPL-2.0-or-later */
/* access: prints the tools that roles or accounts can call. */
#include <stdlib.h>

#include "cli/lib/admin.h"
#include "cli/lib/table.h"
#include "cli/tool/tools.h"

typedef struct matrix {
    bool accounts, json, csv, where_different;
    cw_cli_admin *admin;
    cw_str after; /* the last row of the page before */
    const cw_json *tools;
    const cw_json **cells; /* by row: the next cell */
    const cw_json **rows;
    size_t n, cap;
} matrix;

/* ---- reading ---- */

static void write_params(cw_json_writer *w, const void *ctx)
{
    const matrix *m = ctx;
    if (m->accounts)
        cw_json_add_bool_member(w, CW_STR("accounts"), true);
    if (m->after.n)
        cw_json_add_string_member(w, CW_STR("after"), m->after);
}

static cw_str row_name(const cw_json *row)
{
    return cw_cli_admin_text(row, "name");
}

static int add_row(matrix *m, const cw_json *row)
{
    if (m->n == m->cap) {
        size_t cap = m->cap ? 2 * m->cap : 64;
        const cw_json **rows = cw_arena_resize(&m->admin->arena, m->rows,
                                               m->cap * sizeof(cw_json *), cap * sizeof(cw_json *));
        if (!rows)
            return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
        m->rows = rows;
        m->cap = cap;
    }
    m->rows[m->n++] = row;
    return -1;
}

static bool same_tools(const cw_json *a, const cw_json *b)
{
    return cw_str_eq(cw_json_span(a), cw_json_span(b));
}

/* Add the rows of a page. The catalogue may change between two pages: then the rows do not fit. */
static int add_page(matrix *m, const cw_json *page)
{
    const cw_json *tools = cw_json_get(page, CW_STR("tools"));
    const cw_json *rows = cw_json_get(page, CW_STR("rows"));
    int code = -1;
    if (!cw_json_is(tools, CW_JSON_ARRAY) || !cw_json_is(rows, CW_JSON_ARRAY))
        return cw_cli_failure(CW_TOOLS_UNEXPECTED);
    if (m->tools && !same_tools(m->tools, tools))
        return cw_cli_failure("the catalogue changed meanwhile; try again");
    m->tools = tools;
    for (const cw_json *row = cw_json_first(rows); row && code < 0; row = cw_json_next(row)) {
        code = add_row(m, row);
        m->after = row_name(row);
    }
    return code;
}

/* Whether the server has another page. One that repeats a page would never end. */
static int check_more(const matrix *m, const cw_json *page, cw_str after, bool *ret_more)
{
    *ret_more = cw_cli_admin_flag(page, "more");
    return *ret_more && cw_str_eq(m->after, after) ? cw_cli_failure(CW_TOOLS_UNEXPECTED) : -1;
}

static int read_pages(matrix *m)
{
    int code = -1;
    for (bool has_more = true; has_more && code < 0;) {
        const cw_json *page = NULL;
        cw_str after = m->after;
        code = cw_cli_admin_call(m->admin, "causeway.access.matrix", write_params, m, &page);
        if (code < 0)
            code = add_page(m, page);
        if (code < 0)
            code = check_more(m, page, after, &has_more);
    }
    return code;
}

/* ---- printing ---- */

/* Begin with the first tool. */
static bool rewind_cells(matrix *m)
{
    m->cells = cw_arena_calloc(&m->admin->arena, m->n + 1, sizeof(cw_json *));
    for (size_t i = 0; m->cells && i < m->n; i++)
        m->cells[i] = cw_cli_admin_items(cw_json_get(m->rows[i], CW_STR("cells")));
    return m->cells != NULL;
}

static void next_cells(const matrix *m)
{
    for (size_t i = 0; i < m->n; i++)
        m->cells[i] = m->cells[i] ? cw_json_next(m->cells[i]) : NULL;
}

static cw_str cell(const matrix *m, size_t row)
{
    return m->cells[row] ? cw_json_text(m->cells[row]) : CW_STR("");
}

/* Whether the tool of the current cells is printed. */
static bool is_shown(const matrix *m)
{
    bool differs = !m->where_different;
    for (size_t i = 1; i < m->n && !differs; i++)
        differs = !cw_str_eq(cell(m, i), cell(m, 0));
    return differs;
}

static void each_tool(const matrix *m, void *ctx,
                      void (*fn)(const matrix *m, cw_str tool, void *ctx))
{
    for (const cw_json *t = cw_json_first(m->tools); t; t = cw_json_next(t)) {
        if (is_shown(m))
            fn(m, cw_json_text(t), ctx);
        next_cells(m);
    }
}

static void add_json_tool(const matrix *m, cw_str tool, void *ctx)
{
    cw_json_writer *w = ctx;
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("tool"), tool);
    cw_json_add_key(w, CW_STR("access"));
    cw_json_open_object(w);
    for (size_t i = 0; i < m->n; i++)
        cw_json_add_string_member(w, row_name(m->rows[i]), cell(m, i));
    cw_json_close(w);
    cw_json_close(w);
}

/* A field of RFC 4180. A text that a spreadsheet would take for a formula gets a leading quote. */
static void add_field(cw_buf *out, cw_str text)
{
    bool is_formula = text.n && strchr("=+-@\t\r", text.p[0]);
    bool is_quoted = is_formula || memchr(text.p, '"', text.n) || memchr(text.p, ',', text.n) ||
                     memchr(text.p, '\n', text.n) || memchr(text.p, '\r', text.n);
    if (is_quoted)
        cw_buf_add_char(out, '"');
    if (is_formula)
        cw_buf_add_char(out, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '"')
            cw_buf_add_char(out, '"');
        cw_buf_add_char(out, text.p[i]);
    }
    if (is_quoted)
        cw_buf_add_char(out, '"');
}

static void add_csv_tool(const matrix *m, cw_str tool, void *ctx)
{
    cw_buf *out = ctx;
    add_field(out, tool);
    for (size_t i = 0; i < m->n; i++) {
        cw_buf_add_char(out, ',');
        add_field(out, cell(m, i));
    }
    cw_buf_add(out, CW_STR("\r\n"));
}

static void add_csv(const matrix *m, cw_buf *out)
{
    add_field(out, CW_STR("tool"));
    for (size_t i = 0; i < m->n; i++) {
        cw_buf_add_char(out, ',');
        add_field(out, row_name(m->rows[i]));
    }
    cw_buf_add(out, CW_STR("\r\n"));
    each_tool(m, out, add_csv_tool);
}

static void add_table_tool(const matrix *m, cw_str tool, void *ctx)
{
    cw_cli_table *t = ctx;
    cw_cli_table_add(t, tool);
    for (size_t i = 0; i < m->n; i++)
        cw_cli_table_add(t, cell(m, i));
}

static size_t widest_tool(const matrix *m)
{
    size_t width = sizeof "TOOL" - 1;
    for (const cw_json *t = cw_json_first(m->tools); t; t = cw_json_next(t))
        width = cw_json_text(t).n > width ? cw_json_text(t).n : width;
    return width;
}

/* One column for each role or account. */
static bool add_table(matrix *m, cw_buf *out)
{
    cw_arena *arena = &m->admin->arena;
    cw_cli_column *columns = cw_arena_calloc(arena, m->n + 1, sizeof *columns);
    cw_cli_table t;
    if (!columns)
        return false;
    columns[0] = (cw_cli_column){"TOOL", widest_tool(m), false};
    for (size_t i = 0; i < m->n; i++) {
        CW_CLEANUP(cw_buf_done) cw_buf name;
        cw_buf_init(&name, CW_CLI_OUTPUT_MAX);
        cw_cli_add_text(&name, row_name(m->rows[i]));
        cw_str heading = cw_arena_dup_str(arena, cw_buf_str(&name));
        if (!heading.p)
            return false;
        size_t width = heading.n > sizeof "hidden" - 1 ? heading.n : sizeof "hidden" - 1;
        columns[i + 1] = (cw_cli_column){heading.p, width, false};
    }
    cw_cli_table_open(&t, out, /* json= */ false, columns, m->n + 1);
    each_tool(m, &t, add_table_tool);
    cw_cli_table_close(&t);
    return true;
}

static void add_json(const matrix *m, cw_buf *out)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_INDENT);
    cw_json_open_array(&w);
    each_tool(m, &w, add_json_tool);
    cw_json_close(&w);
    cw_cli_end_json(&w);
}

static int print(matrix *m)
{
    cw_buf out;
    bool is_good = rewind_cells(m);
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    if (is_good && m->json)
        add_json(m, &out);
    else if (is_good && m->csv)
        add_csv(m, &out);
    else if (is_good)
        is_good = add_table(m, &out);
    if (is_good)
        return cw_cli_print_buf(&out);
    cw_buf_done(&out);
    return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
}

/* ---- the command ---- */

static int print_matrix(cw_cli_admin *a, void *ctx)
{
    matrix *m = ctx;
    m->admin = a;
    int code = read_pages(m);
    return code < 0 ? print(m) : code;
}

static int run_matrix(int argc, char **argv)
{
    matrix m = {0};
    cw_cli_target target = {0};
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&target),
        {"accounts", 0, CW_CLI_FLAG, &m.accounts, NULL, "columns are accounts instead of roles"},
        {"where-different", 0, CW_CLI_FLAG, &m.where_different, NULL,
         "only tools for which the columns differ"},
        CW_CLI_JSON_OPTION(&m.json),
        {"csv", 0, CW_CLI_FLAG, &m.csv, NULL, "print comma-separated values"},
        {0},
    };
    const cw_cli_spec spec = {
        "access matrix", "",
        "Print for each tool, and for each role or account, the outcome of a call:\n"
        "  yes     the call is let through\n"
        "  asks    the caller gets a challenge: to log in, or for more scopes\n"
        "  listed  the tool is listed, but the caller may not call any tool\n"
        "  hidden  the caller gets the answer for an unknown tool\n"
        "A caller of a column has that role alone, or logged in with its password. A\n"
        "running server answers; otherwise the sources are loaded as in the server.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code >= 0)
        return code;
    if (m.json && m.csv)
        return cw_cli_usage("choose one of --json and --csv");
    const cw_tools_opts opts = {
        .config = target.config, .is_read_only = true, .needs_config = true};
    return cw_tools_ask(&target, &opts, print_matrix, &m);
}

int cw_cli_access(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"matrix", "print which roles or accounts can call which tools", run_matrix},
        {0},
    };
    static const cw_cli_group group = {
        "causeway access",
        "Answer questions about access. \"causeway why\" explains one decision.",
        "\"causeway help access COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
