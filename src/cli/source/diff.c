/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source diff: prints tools that differ from their approved definition, member by member. */
#include "cli/source/source_set.h"
#include "config/syntax/quote.h"

#define SCRATCH_MAX ((size_t)16 * CW_LOCK_MAX_BYTES)

/* ---- printing ---- */

/* Nothing was there, or is there any more: null. */
static void add_value(cw_buf *out, const cw_json *value)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_json_writer w;
    cw_buf_init(&text, CW_CLI_OUTPUT_MAX);
    if (!value || cw_json_is(value, CW_JSON_NULL)) {
        cw_buf_add(out, CW_STR("(none)"));
        return;
    }
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    cw_json_add_value(&w, value);
    if (cw_json_writer_end(&w, NULL) && !out->code)
        out->code = CW_NOMEM;
    cw_quote_shown(out, cw_buf_str(&text));
}

static void add_tool(cw_buf *out, const cw_json *tool)
{
    const cw_json *list = cw_json_get(tool, CW_STR("differences"));
    cw_cli_add_text(out, cw_cli_admin_text(tool, "source"));
    cw_buf_add(out, CW_STR(": "));
    cw_cli_add_text(out, cw_cli_admin_text(tool, "method"));
    cw_buf_add(out, CW_STR(": "));
    cw_cli_add_text(out, cw_cli_admin_text(tool, "change"));
    cw_buf_add_char(out, '\n');
    for (const cw_json *d = cw_cli_admin_items(list); d; d = cw_json_next(d)) {
        cw_buf_add(out, CW_STR("  "));
        cw_quote_shown(out, cw_cli_admin_text(d, "pointer"));
        cw_buf_add(out, CW_STR(": "));
        add_value(out, cw_json_get(d, CW_STR("old")));
        cw_buf_add(out, CW_STR(" → "));
        add_value(out, cw_json_get(d, CW_STR("new")));
        cw_buf_add_char(out, '\n');
    }
}

/* Print the differences, an array, and their etag. The exit code is 1 if there are some, or if not
 * all services could be compared. */
static int print(const cw_json *differences, cw_str etag, bool json, bool is_whole)
{
    cw_buf out;
    cw_json_writer w;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    bool differs = cw_json_count(differences) > 0;
    if (json) {
        cw_json_writer_init(&w, &out, CW_JSON_INDENT);
        cw_json_open_object(&w);
        cw_json_add_key(&w, CW_STR("differences"));
        cw_json_add_value(&w, differences);
        cw_json_add_string_member(&w, CW_STR("etag"), etag);
        cw_json_close(&w);
        cw_cli_end_json(&w);
    }
    for (const cw_json *t = json ? NULL : cw_json_first(differences); t; t = cw_json_next(t))
        add_tool(&out, t);
    if (!json && differs) {
        cw_buf_add(&out, CW_STR("etag: "));
        cw_cli_add_text(&out, etag);
        cw_buf_add_char(&out, '\n');
    }
    int code = cw_cli_print_buf(&out);
    return code == CW_EXIT_OK && (differs || !is_whole) ? CW_EXIT_FAILURE : code;
}

/* ---- by the running server ---- */

static int diff_on_server(const cw_source_set *all, cw_cli_admin *a)
{
    const cw_json *result = NULL;
    int code = cw_source_set_ask_diff(all, a, &result);
    if (code >= 0)
        return code;
    const cw_json *differences = cw_json_get(result, CW_STR("differences"));
    bool is_whole = cw_source_set_report_problems(result);
    return print(differences, cw_cli_admin_text(result, "etag"), all->json, is_whole);
}

/* ---- by this process ---- */

typedef struct comparison {
    const cw_lock *lock;
    cw_buf text;
    cw_arena arena;
} comparison;

static int print_differences(cw_source_set *all, void *ctx)
{
    comparison *c = ctx;
    cw_err err = {0};
    bool is_whole = true;
    char etag[CW_LOCK_HASH + 1];
    const cw_json *differences = NULL;
    const cw_json_opts opts = {.max_bytes = CW_CLI_OUTPUT_MAX, .max_depth = CW_JSON_DEPTH_CEILING};
    for (size_t i = 0; i < all->n; i++) {
        const cw_source_set_item *item = &all->items[i];
        if (!item->is_wanted || item->source)
            continue;
        is_whole = false;
        cw_source_set_report(item);
    }
    cw_code rc = cw_source_set_compare(all, c->lock, &c->text, etag, &err);
    if (!rc)
        rc = cw_json_read(cw_buf_str(&c->text), &opts, &c->arena, &differences, NULL, &err);
    return rc ? cw_cli_failure("%s", err.msg)
              : print(differences, cw_str_from(etag), all->json, is_whole);
}

static int diff_alone(cw_source_set *all)
{
    cw_lock *lock = NULL;
    int code = cw_source_set_read_lock(all, &lock);
    if (code >= 0)
        return code;
    comparison c = {.lock = lock};
    cw_arena_init(&c.arena, SCRATCH_MAX);
    cw_buf_init(&c.text, CW_CLI_OUTPUT_MAX);
    code = cw_source_set_run(all, CW_SOURCE_SET_DEFINE, print_differences, &c);
    cw_arena_done(&c.arena);
    cw_buf_done(&c.text);
    cw_lock_unref(lock);
    return code;
}

static int diff(cw_source_set *all)
{
    cw_cli_admin a;
    int code = cw_cli_admin_open(&all->target, &a);
    if (code >= 0)
        return code;
    code = cw_cli_admin_has_server(&a) ? diff_on_server(all, &a) : diff_alone(all);
    cw_cli_admin_close(&a);
    return code;
}

int cw_cli_source_diff(int argc, char **argv)
{
    static const cw_source_command command = {
        .name = "source diff",
        .args = "[SOURCE...]",
        .about = "Read the description of each service (or of the named ones) and compare the\n"
                 "exposed tools with the lock file. Print changed tools with JSON Pointers, tools\n"
                 "that were never approved, and removed tools. The last line is the etag of these\n"
                 "differences, for \"causeway source approve --etag\". The exit code is 1 if\n"
                 "something differs or a service cannot be reached. A running server does the\n"
                 "work.",
        .has_json = true,
        .has_server = true,
        .run = diff,
    };
    return cw_source_set_command(&command, argc, argv);
}
