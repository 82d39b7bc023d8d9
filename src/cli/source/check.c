/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source check: loads the services as the server does, and reports problems. */
#include <stdlib.h>

#include "catalogue/snapshot.h"
#include "cli/lib/loop.h"
#include "cli/lib/progress.h"
#include "cli/plugin/plugin.h"
#include "cli/source/source_set.h"
#include "config/syntax/quote.h"
#include "server/options/permissions.h"

#define PROBLEMS_MAX 65536u

/* ---- what loading does not show ---- */

void cw_source_set_add_problem(cw_source_set_item *item, cw_str text)
{
    CW_CLEANUP(cw_buf_done) cw_buf lines;
    cw_buf_init(&lines, PROBLEMS_MAX);
    cw_buf_printf(&lines, "%s%s%.*s%c", item->problem ? item->problem : "",
                  item->problem ? "\n" : "", CW_STR_ARG(text), 0);
    item->is_faulty = true;
    if (lines.code)
        return;
    free(item->problem);
    item->problem = cw_buf_take(&lines, NULL);
}

/* Whether an error rejects the credentials, for a service that takes the secret as a param. */
static bool says_refused(cw_str message)
{
    static const char *const words[] = {"unauthorized",          "not authorized",
                                        "authentication failed", "access denied",
                                        "permission denied",     "invalid token"};
    for (size_t i = 0; i < CW_COUNT(words); i++) {
        cw_str word = cw_str_from(words[i]);
        for (size_t at = 0; at + word.n <= message.n; at++) {
            if (cw_str_ieq(cw_str_make(message.p + at, word.n), word))
                return true;
        }
    }
    return false;
}

static void on_probed(const cw_discovery_result *asked, void *ctx)
{
    cw_source_set_item *item = ctx;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, PROBLEMS_MAX);
    /* An account may lack the right to the address that all calls share, where each has its own. */
    bool is_forbidden = asked->status == 403 && item->config->call_path.n == 0;
    if (asked->code)
        cw_buf_printf(&text, "the credentials could not be tried: %.*s",
                      CW_STR_ARG(asked->problem));
    else if (asked->status == 401 || is_forbidden)
        cw_buf_printf(&text, "the service rejects the credentials: HTTP status %u", asked->status);
    else if (says_refused(asked->openrpc))
        cw_buf_printf(&text, "the service rejects the credentials: %.*s",
                      CW_STR_ARG(asked->openrpc));
    if (text.n)
        cw_source_set_add_problem(item, cw_buf_str(&text));
    item->probe = NULL;
    cw_cli_loop_finish(item->all->loop, &item->all->n_loading);
}

static void begin_probe(cw_source_set_item *item)
{
    cw_endpoint *service = NULL;
    cw_err err = {0};
    cw_code rc = cw_endpoint_new(item->config, item->all->config, &service, &err);
    if (!rc)
        rc = cw_discovery_probe(item->all->loop, service, item->shared, on_probed, item,
                                &item->probe, &err);
    cw_endpoint_unref(service);
    if (rc)
        cw_source_set_add_problem(item, cw_str_from(err.msg));
    else
        item->all->n_loading++;
}

static void write_probing(cw_buf *out, void *ctx)
{
    const cw_source_set *all = ctx;
    cw_buf_add(out, CW_STR("testing the credentials of"));
    for (size_t i = 0; i < all->n; i++) {
        if (all->items[i].probe)
            cw_buf_printf(out, " %s", all->items[i].config->name.p);
    }
}

/* A description may be a file, or public: only a call shows whether the credentials are accepted. */
static void try_credentials(cw_source_set *all)
{
    cw_cli_progress progress;
    cw_cli_progress_start(&progress, &all->loop->uv, write_probing, all);
    for (size_t i = 0; i < all->n; i++) {
        if (all->items[i].source && cw_config_has_credentials(all->items[i].config))
            begin_probe(&all->items[i]);
    }
    cw_cli_loop_wait(all->loop, &all->n_loading);
    cw_cli_progress_stop(&progress);
    uv_run(&all->loop->uv, UV_RUN_NOWAIT); /* closes it */
}

cw_code cw_source_set_test(cw_source_set *all)
{
    try_credentials(all);
    for (size_t i = 0; i < all->n; i++) {
        cw_source_set_item *item = &all->items[i];
        if (item->source)
            item->n_tools =
                cw_snapshot_count(NULL, item->source->methods, item->source->n_methods).tools;
    }
    return cw_source_set_find_clashes(all);
}

/* ---- printing ---- */

static void add_lines(cw_buf *out, const char *what, const char *lines)
{
    for (cw_str rest = lines ? cw_str_from(lines) : (cw_str){0}; rest.p;) {
        cw_buf_printf(out, "  %s: ", what);
        cw_quote_shown(out, cw_str_cut(rest, '\n', &rest));
        cw_buf_add_char(out, '\n');
    }
}

static void write_text(cw_buf *out, const cw_source_set_item *item)
{
    cw_buf_printf(out, "%s: ", item->config->name.p);
    if (item->source)
        cw_buf_printf(out, "%zu method%s, %zu tool%s, %zu withheld\n", item->n_found,
                      item->n_found == 1 ? "" : "s", item->n_tools, item->n_tools == 1 ? "" : "s",
                      item->n_withheld);
    else
        cw_buf_add(out, CW_STR("cannot be loaded\n"));
    if (!item->source && !item->problem)
        add_lines(out, "problem", "not enough memory");
    add_lines(out, "problem", item->problem);
    add_lines(out, "warning", item->warnings);
}

static void write_json(cw_json_writer *w, const cw_source_set_item *item)
{
    const char *problem = item->problem || item->source ? item->problem : "not enough memory";
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), item->config->name);
    cw_json_add_bool_member(w, CW_STR("ok"), item->source && !item->is_faulty);
    cw_json_add_i64_member(w, CW_STR("methods"), (int64_t)item->n_found);
    cw_json_add_i64_member(w, CW_STR("tools"), (int64_t)item->n_tools);
    cw_json_add_i64_member(w, CW_STR("withheld"), (int64_t)item->n_withheld);
    cw_plugin_write_problems(w, CW_STR("problems"), problem ? cw_str_from(problem) : CW_STR(""));
    cw_plugin_write_problems(w, CW_STR("warnings"),
                             item->warnings ? cw_str_from(item->warnings) : CW_STR(""));
    cw_json_close(w);
}

static int print_checked(cw_source_set *all, void *ctx)
{
    bool json = all->json;
    (void)ctx;
    bool is_good = cw_source_set_test(all) == CW_OK && !all->uncompared.code;
    if (all->uncompared.code)
        cw_cli_failure("the names of plugins are not compared: %s", all->uncompared.msg);
    cw_buf out;
    cw_json_writer w;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    cw_json_writer_init(&w, &out, CW_JSON_INDENT);
    if (json)
        cw_json_open_array(&w);
    for (size_t i = 0; i < all->n; i++) {
        const cw_source_set_item *item = &all->items[i];
        if (!item->is_wanted)
            continue;
        is_good = is_good && item->source && !item->is_lacking && !item->is_faulty;
        if (json)
            write_json(&w, item);
        else
            write_text(&out, item);
    }
    if (json) {
        cw_json_close(&w);
        cw_cli_end_json(&w);
    }
    int code = cw_cli_print_buf(&out);
    return code == CW_EXIT_OK && !is_good ? CW_EXIT_FAILURE : code;
}

static int check(cw_source_set *all)
{
    cw_name_list granted = {0};
    bool is_known = false;
    cw_arena_init(&granted.arena, CW_NAME_LIST_MAX_BYTES);
    if (cw_role_permissions_of_roles(all->config, &granted, &is_known) == CW_OK && is_known)
        all->granted = &granted;
    int code = cw_source_set_run(all, CW_SOURCE_SET_CHECK, print_checked, NULL);
    all->granted = NULL;
    cw_arena_done(&granted.arena);
    return code;
}

int cw_cli_source_check(int argc, char **argv)
{
    static const cw_source_command command = {
        .name = "source check",
        .args = "[SOURCE...]",
        .about = "Read the description, overlay and lock file of each service (or of the named\n"
                 "ones), test the credentials with one call that changes nothing, and print the\n"
                 "problems a server would report. The exit code is 1 if a service is unusable,\n"
                 "lacks a listed method, rejects the credentials, or shares a method name with\n"
                 "another one, with a plugin or with the server.",
        .has_json = true,
        .run = check,
    };
    return cw_source_set_command(&command, argc, argv);
}
