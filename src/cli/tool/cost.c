/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cost.c - prints what lists of tools cost. */
#include "cli/tool/cost.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/lib/admin.h"
#include "cli/lib/table.h"

#define BYTES_PER_TOKEN 4
#define DESCRIPTION_MAX 2048
#define NAME_PREFIX (sizeof "mcp__causeway__" - 1)
#define GROUPS_MAX 1024u

/* A source or a toolset. */
typedef struct group {
    cw_str name;
    int64_t tools, bytes;
    bool is_search; /* its list has a search in place of its tools */
} group;

typedef struct cost {
    const cw_json **tools; /* the largest first */
    size_t n;
    int64_t bytes;
    group sources[GROUPS_MAX], toolsets[GROUPS_MAX];
    size_t n_sources, n_toolsets;
    cw_buf warnings; /* a line each */
} cost;

static int64_t number(const cw_json *object, const char *name)
{
    int64_t n = 0;
    const cw_json *v = cw_json_get(object, cw_str_from(name));
    return v && cw_json_to_i64(v, &n) ? n : 0;
}

static const cw_json *cost_of(const cw_json *tool)
{
    return cw_json_get(tool, CW_STR("cost"));
}

static int64_t bytes_of(const cw_json *tool)
{
    return number(cost_of(tool), "bytes");
}

static int64_t tokens(int64_t bytes)
{
    return (bytes + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN;
}

/* ---- sums ---- */

static int compare_tools(const void *a, const void *b)
{
    const cw_json *x = *(const cw_json *const *)a, *y = *(const cw_json *const *)b;
    int64_t p = bytes_of(x), q = bytes_of(y);
    if (p != q)
        return p < q ? 1 : -1;
    return cw_str_cmp(cw_cli_admin_text(x, "name"), cw_cli_admin_text(y, "name"));
}

static int compare_groups(const void *a, const void *b)
{
    const group *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return cw_str_cmp(x->name, y->name);
}

static void add_to(group *groups, size_t *n, cw_str name, int64_t bytes, bool is_search)
{
    size_t i = 0;
    while (i < *n && !cw_str_eq(groups[i].name, name))
        i++;
    if (i == GROUPS_MAX)
        return;
    if (i == *n)
        groups[(*n)++] = (group){.name = name, .is_search = is_search};
    groups[i].tools++;
    groups[i].bytes += bytes;
}

static void add_tool(cost *c, const cw_json *tool)
{
    const cw_json *toolsets = cw_json_get(cost_of(tool), CW_STR("toolsets"));
    c->bytes += bytes_of(tool);
    add_to(c->sources, &c->n_sources, cw_cli_admin_text(tool, "source"), bytes_of(tool), false);
    for (const cw_json *t = cw_cli_admin_items(toolsets); t; t = cw_json_next(t))
        add_to(c->toolsets, &c->n_toolsets, cw_cli_admin_text(t, "name"), number(t, "bytes"),
               cw_cli_admin_flag(t, "search"));
}

/* ---- warnings ---- */

CW_PRINTF(2, 3)
static void warn(cost *c, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    cw_buf_printf(&c->warnings, "%s\n", line);
}

const char *cw_tools_count_problem(size_t n)
{
    if (n > 128)
        return "VS Code and Copilot reject more than 128";
    if (n > 100)
        return "Antigravity accepts 100 of one server";
    return n > 40 ? "Cursor uses about 40, and models choose worse from more" : NULL;
}

static void warn_of_count(cost *c, const char *address, cw_str name, int64_t n)
{
    const char *problem = cw_tools_count_problem((size_t)n);
    if (problem)
        warn(c, "%s%.*s has %lld tools: %s", address, CW_STR_ARG(name), (long long)n, problem);
}

static void warn_of_tool(cost *c, const cw_json *tool)
{
    cw_str name = cw_cli_admin_text(tool, "name");
    const cw_json *of = cost_of(tool);
    size_t shown = cw_cli_admin_text(of, "name").n + NAME_PREFIX;
    int64_t output = number(of, "output"), description = number(of, "description");
    if (description > DESCRIPTION_MAX)
        warn(c, "%.*s: its description has %lld characters; Claude Code cuts it at 2048",
             CW_STR_ARG(name), (long long)description);
    if (shown > 64)
        warn(c, "%.*s: with the prefix of clients its name has %zu characters; %s",
             CW_STR_ARG(name), shown,
             shown > 128 ? "Claude Code omits tools over 128" : "many model APIs reject over 64");
    if (output > bytes_of(tool) - output)
        warn(c, "%.*s: its output schema is larger than the rest of it", CW_STR_ARG(name));
}

static void find_warnings(cost *c)
{
    warn_of_count(c, "the endpoint", CW_STR(""), (int64_t)c->n);
    for (size_t i = 0; i < c->n_toolsets; i++) {
        if (!c->toolsets[i].is_search)
            warn_of_count(c, "the toolset ", c->toolsets[i].name, c->toolsets[i].tools);
    }
    for (size_t i = 0; i < c->n; i++)
        warn_of_tool(c, c->tools[i]);
}

/* ---- printing ---- */

static void print_tools(const cost *c, cw_buf *out)
{
    static const cw_cli_column columns[] = {
        {"TOKENS", 8, true}, {"OUTPUT", 8, true}, {"SOURCE", 20, false}, {"TOOL", 0, false}};
    cw_cli_table t;
    cw_cli_table_open(&t, out, false, columns, CW_COUNT(columns));
    for (size_t i = 0; i < c->n; i++) {
        cw_cli_table_add_number(&t, tokens(bytes_of(c->tools[i])));
        cw_cli_table_add_number(&t, tokens(number(cost_of(c->tools[i]), "output")));
        cw_cli_table_add(&t, cw_cli_admin_text(c->tools[i], "source"));
        cw_cli_table_add(&t, cw_cli_admin_text(c->tools[i], "name"));
    }
    cw_cli_table_close(&t);
}

static void print_groups(const group *groups, size_t n, const char *heading, cw_buf *out)
{
    const cw_cli_column columns[] = {{"TOKENS", 8, true}, {"TOOLS", 8, true}, {heading, 0, false}};
    cw_cli_table t;
    if (!n)
        return;
    cw_buf_add_char(out, '\n');
    cw_cli_table_open(&t, out, false, columns, CW_COUNT(columns));
    for (size_t i = 0; i < n; i++) {
        if (groups[i].is_search)
            cw_cli_table_add(&t, CW_STR("search"));
        else
            cw_cli_table_add_number(&t, tokens(groups[i].bytes));
        cw_cli_table_add_number(&t, groups[i].tools);
        cw_cli_table_add(&t, groups[i].name);
    }
    cw_cli_table_close(&t);
}

static void print_text(const cost *c, cw_buf *out)
{
    print_tools(c, out);
    print_groups(c->sources, c->n_sources, "SOURCE", out);
    print_groups(c->toolsets, c->n_toolsets, "TOOLSET", out);
    cw_buf_printf(out, "\n%zu tool%s, about %lld tokens (bytes / 4)\n", c->n, c->n == 1 ? "" : "s",
                  (long long)tokens(c->bytes));
    for (cw_str rest = cw_buf_str(&c->warnings); rest.n;) {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        cw_buf_printf(out, "warning: ");
        cw_cli_add_text(out, line);
        cw_buf_add_char(out, '\n');
    }
}

static void write_tokens(cw_json_writer *w, const char *name, int64_t bytes)
{
    cw_json_add_key(w, cw_str_from(name));
    cw_json_add_i64(w, tokens(bytes));
}

static void write_groups(cw_json_writer *w, const char *name, const group *groups, size_t n)
{
    cw_json_add_key(w, cw_str_from(name));
    cw_json_open_array(w);
    for (size_t i = 0; i < n; i++) {
        cw_json_open_object(w);
        cw_json_add_string_member(w, CW_STR("name"), groups[i].name);
        cw_json_add_key(w, CW_STR("tools"));
        cw_json_add_i64(w, groups[i].tools);
        if (groups[i].is_search)
            cw_json_add_bool_member(w, CW_STR("search"), true);
        else
            write_tokens(w, "tokens", groups[i].bytes);
        cw_json_close(w);
    }
    cw_json_close(w);
}

static void print_json(const cost *c, cw_buf *out)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_INDENT);
    cw_json_open_object(&w);
    write_tokens(&w, "tokens", c->bytes);
    cw_json_add_string_member(&w, CW_STR("estimate"), CW_STR("bytes / 4"));
    cw_json_add_key(&w, CW_STR("tools"));
    cw_json_open_array(&w);
    for (size_t i = 0; i < c->n; i++) {
        cw_json_open_object(&w);
        cw_json_add_string_member(&w, CW_STR("name"), cw_cli_admin_text(c->tools[i], "name"));
        cw_json_add_string_member(&w, CW_STR("source"), cw_cli_admin_text(c->tools[i], "source"));
        write_tokens(&w, "tokens", bytes_of(c->tools[i]));
        write_tokens(&w, "output", number(cost_of(c->tools[i]), "output"));
        cw_json_close(&w);
    }
    cw_json_close(&w);
    write_groups(&w, "sources", c->sources, c->n_sources);
    write_groups(&w, "toolsets", c->toolsets, c->n_toolsets);
    cw_json_add_key(&w, CW_STR("warnings"));
    cw_json_open_array(&w);
    for (cw_str rest = cw_buf_str(&c->warnings); rest.n;)
        cw_json_add_string(&w, cw_str_cut(rest, '\n', &rest));
    cw_json_close(&w);
    cw_json_close(&w);
    cw_cli_end_json(&w);
}

/* Member names, quotes and braces of a tool and of a param. */
#define TOOL_FRAME 96u
#define PARAM_FRAME 24u

size_t cw_tools_estimate(const cw_method *m)
{
    size_t n = TOOL_FRAME + m->id.n + m->usage.n + m->input.n + m->output.n;
    for (size_t i = 0; i < m->n_params; i++)
        n += PARAM_FRAME + m->params[i].name.n + m->params[i].description.n + m->params[i].schema.n;
    return (n + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN;
}

int cw_tools_print_cost(const cw_json *const *tools, size_t n, bool json)
{
    cw_buf out;
    cost *c = calloc(1, sizeof *c);
    const cw_json **sorted = calloc(n + 1, sizeof *sorted);
    if (!c || !sorted) {
        free(c);
        free(sorted);
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    }
    memcpy(sorted, tools, n * sizeof *sorted);
    c->tools = sorted;
    c->n = n;
    cw_buf_init(&c->warnings, CW_CLI_OUTPUT_MAX);
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    qsort(sorted, n, sizeof *sorted, compare_tools);
    for (size_t i = 0; i < n; i++)
        add_tool(c, sorted[i]);
    qsort(c->sources, c->n_sources, sizeof *c->sources, compare_groups);
    qsort(c->toolsets, c->n_toolsets, sizeof *c->toolsets, compare_groups);
    find_warnings(c);
    if (json)
        print_json(c, &out);
    else
        print_text(c, &out);
    cw_buf_done(&c->warnings);
    free(sorted);
    free(c);
    return cw_cli_print_buf(&out);
}
