/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source check: load the services as the server would, and say what is wrong. */
#include "cli/remotes.h"
#include "config/quote.h"

static size_t count_tools(const cw_remote_item *item)
{
    size_t n = 0;
    for (size_t i = 0; item->source && i < item->source->n_methods; i++)
        n += item->source->methods[i].mark != NULL;
    return n;
}

static void add_lines(cw_buf *out, const char *what, const char *lines)
{
    for (cw_str rest = lines ? cw_str_from(lines) : (cw_str){0}; rest.p;) {
        cw_buf_printf(out, "  %s: ", what);
        cw_quote_shown(out, cw_str_cut(rest, '\n', &rest));
        cw_buf_add_char(out, '\n');
    }
}

static void write_text(cw_buf *out, const cw_remote_item *item)
{
    cw_buf_printf(out, "%s: ", item->config->name.p);
    if (item->source)
        cw_buf_printf(out, "%zu methods, %zu tools, %zu withheld\n", item->n_found,
                      count_tools(item), item->n_withheld);
    else
        cw_buf_add(out, CW_STR("cannot be loaded\n"));
    if (!item->source && !item->problem)
        add_lines(out, "problem", "not enough memory");
    add_lines(out, "problem", item->problem);
    add_lines(out, "warning", item->warnings);
}

static void write_json(cw_json_writer *w, const cw_remote_item *item)
{
    const char *problem = item->problem || item->source ? item->problem : "not enough memory";
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), item->config->name);
    cw_json_add_bool_member(w, CW_STR("ok"), item->source != NULL);
    cw_json_add_i64_member(w, CW_STR("methods"), (int64_t)item->n_found);
    cw_json_add_i64_member(w, CW_STR("tools"), (int64_t)count_tools(item));
    cw_json_add_i64_member(w, CW_STR("withheld"), (int64_t)item->n_withheld);
    cw_plugin_write_problems(w, CW_STR("problems"), problem ? cw_str_from(problem) : CW_STR(""));
    cw_plugin_write_problems(w, CW_STR("warnings"),
                             item->warnings ? cw_str_from(item->warnings) : CW_STR(""));
    cw_json_close(w);
}

static int print_checked(cw_remotes *all, void *ctx)
{
    bool json = *(const bool *)ctx;
    bool is_good = true;
    cw_buf out;
    cw_json_writer w;
    cw_buf_init(&out, CW_ACCESS_MAX_BYTES);
    cw_json_writer_init(&w, &out, CW_JSON_INDENT);
    if (json)
        cw_json_open_array(&w);
    for (size_t i = 0; i < all->n; i++) {
        const cw_remote_item *item = &all->items[i];
        if (!item->is_wanted)
            continue;
        is_good = is_good && item->source && !item->is_lacking;
        if (json)
            write_json(&w, item);
        else
            write_text(&out, item);
    }
    if (json) {
        cw_json_close(&w);
        (void)!cw_json_writer_end(&w, NULL); /* sticky in the buffer */
        cw_buf_add_char(&out, '\n');
    }
    int code = cw_cli_print_buf(&out);
    return code == CW_EXIT_OK && !is_good ? CW_EXIT_FAILURE : code;
}

static int check(cw_remotes *all, bool json)
{
    return cw_remotes_run(all, CW_REMOTES_CHECK, print_checked, &json);
}

int cw_cli_source_check(int argc, char **argv)
{
    return cw_remotes_command(
        argc, argv, "source check",
        "Ask each service (or those that are named) what it offers, read its overlay\n"
        "and the lock file, and print what a server would complain about. It ends with\n"
        "1 when one of them cannot be used, or lacks a method that is named.",
        check);
}
