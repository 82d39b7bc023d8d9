/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source: the commands for the configured services; list, refresh and accept are here. */
#include <errno.h>
#include <signal.h>
#include <sys/types.h>

#include "cli/lib/audit_record.h"
#include "cli/source/source_set.h"
#include "cli/tool/tools.h"
#include "config/syntax/quote.h"
#include "source/remote/state_files.h"

/* ---- list: the status of the services, by the running server or from its files ---- */

typedef struct row {
    const cw_config_remote *config;
    cw_source_status status;
    const char *state; /* NULL: the state in the file */
    bool is_known;
    cw_str protocol;                       /* of an MCP server; else empty */
    int64_t resources, templates, prompts; /* likewise */
    int64_t approved_ms;                   /* the latest approval; 0: not known */
    cw_str approved_by;
} row;

static bool is_running(int64_t pid)
{
    return pid > 0 && (pid_t)pid == pid && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

/* The row of a service in the result of causeway.sources.list. */
static row row_of_server(const cw_json *result, const cw_config_remote *config)
{
    row r = {.config = config, .state = "unknown"};
    const cw_json *list = cw_json_get(result, CW_STR("sources"));
    for (const cw_json *s = cw_cli_admin_items(list); s; s = cw_json_next(s)) {
        if (!cw_str_eq(cw_cli_admin_text(s, "name"), config->name) ||
            !cw_str_is(cw_cli_admin_text(s, "kind"), "service"))
            continue;
        r.is_known = true;
        r.state = NULL;
        r.status = (cw_source_status){
            .state = cw_cli_admin_text(s, "state"),
            .since_ms = cw_cli_admin_number(s, "since"),
            .refreshed_ms = cw_cli_admin_number(s, "refreshed"),
            .tools = (uint32_t)cw_cli_admin_number(s, "tools"),
            .methods = (uint32_t)cw_cli_admin_number(s, "methods"),
            .withheld = (uint32_t)cw_cli_admin_number(s, "withheld"),
            .pid = cw_cli_admin_number(cw_json_get(result, CW_STR("server")), "pid"),
            .problem = cw_cli_admin_text(s, "problem"),
        };
        r.approved_ms = cw_cli_admin_number(s, "approved_at");
        r.approved_by = cw_cli_admin_text(s, "approved_by");
        r.protocol = cw_cli_admin_text(s, "protocol");
        r.resources = cw_cli_admin_number(s, "resources");
        r.templates = cw_cli_admin_number(s, "templates");
        r.prompts = cw_cli_admin_number(s, "prompts");
    }
    return r;
}

static row row_of_file(const cw_source_set *all, const cw_config_remote *config, cw_arena *arena)
{
    row r = {.config = config, .state = "unknown"};
    if (cw_state_load_status(all->config->state.directory, config->name, arena, &r.status, NULL))
        return r;
    r.is_known = true;
    r.state = is_running(r.status.pid) ? NULL : "not running";
    return r;
}

static cw_str state_of(const row *r)
{
    return r->state ? cw_str_from(r->state) : r->status.state;
}

static void write_json(cw_json_writer *w, const row *r)
{
    const cw_source_status *s = &r->status;
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), r->config->name);
    cw_json_add_string_member(w, CW_STR("state"), state_of(r));
    if (r->is_known) {
        cw_json_add_i64_member(w, CW_STR("pid"), s->pid);
        cw_cli_add_date_member(w, CW_STR("since"), s->since_ms);
        cw_cli_add_date_member(w, CW_STR("refreshed"), s->refreshed_ms);
        cw_json_add_i64_member(w, CW_STR("tools"), s->tools);
        cw_json_add_i64_member(w, CW_STR("methods"), s->methods);
        cw_json_add_i64_member(w, CW_STR("withheld"), s->withheld);
        if (r->approved_ms)
            cw_cli_add_date_member(w, CW_STR("approved_at"), r->approved_ms);
        if (r->approved_by.n)
            cw_json_add_string_member(w, CW_STR("approved_by"), r->approved_by);
        if (r->protocol.n) {
            cw_json_add_string_member(w, CW_STR("protocol"), r->protocol);
            cw_json_add_i64_member(w, CW_STR("resources"), r->resources);
            cw_json_add_i64_member(w, CW_STR("templates"), r->templates);
            cw_json_add_i64_member(w, CW_STR("prompts"), r->prompts);
        }
        cw_json_add_key(w, CW_STR("problem"));
        if (s->problem.n)
            cw_json_add_string(w, s->problem);
        else
            cw_json_add_null(w);
    }
    cw_json_close(w);
}

/* An MCP server has more than tools; other services leave the columns out. */
static bool has_exposed(const cw_json *result)
{
    const cw_json *list = cw_json_get(result, CW_STR("sources"));
    for (const cw_json *s = cw_cli_admin_items(list); s; s = cw_json_next(s)) {
        if (cw_cli_admin_text(s, "protocol").n)
            return true;
    }
    return false;
}

static void write_row(cw_cli_table *t, const row *r, bool with_exposed)
{
    const cw_source_status *s = &r->status;
    CW_CLEANUP(cw_buf_done) cw_buf problem;
    cw_buf_init(&problem, CW_CLI_OUTPUT_MAX);
    cw_cli_table_add(t, r->config->name);
    cw_cli_table_add(t, state_of(r));
    if (!r->is_known) {
        cw_cli_table_end_row(t);
        return;
    }
    cw_cli_table_add_number(t, s->tools);
    cw_cli_table_add_number(t, s->methods);
    cw_cli_table_add_number(t, s->withheld);
    cw_cli_table_add(t, r->protocol.n ? r->protocol : CW_STR("-"));
    if (with_exposed) {
        cw_cli_table_add_number(t, (uint64_t)(r->resources + r->templates));
        cw_cli_table_add_number(t, (uint64_t)r->prompts);
    }
    cw_cli_table_add_date(t, s->refreshed_ms, "never");
    cw_tools_add_line(&problem, s->problem);
    cw_cli_table_add_raw(t, cw_buf_str(&problem));
}

/* `result` is that of a running server, or NULL. */
static int print_all(const cw_source_set *all, const cw_json *result)
{
    cw_arena arena;
    cw_buf out;
    cw_cli_table t;
    size_t width = sizeof "NAME" - 1;
    for (size_t i = 0; i < all->n; i++)
        width = all->items[i].config->name.n > width ? all->items[i].config->name.n : width;
    const bool with_exposed = has_exposed(result);
    cw_cli_column columns[10] = {
        {"NAME", width, false}, {"STATE", 11, false},  {"TOOLS", 5, true},
        {"METHODS", 7, true},   {"WITHHELD", 8, true}, {"PROTOCOL", 8, false},
    };
    size_t n = 6;
    if (with_exposed) {
        columns[n++] = (cw_cli_column){"RESOURCES", 9, true};
        columns[n++] = (cw_cli_column){"PROMPTS", 7, true};
    }
    columns[n++] = (cw_cli_column){"REFRESHED", 24, false};
    columns[n++] = (cw_cli_column){"PROBLEM", 0, false};
    cw_arena_init(&arena, CW_CLI_OUTPUT_MAX);
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    cw_cli_table_open(&t, &out, all->json, columns, n);
    for (size_t i = 0; i < all->n; i++) {
        if (!all->items[i].is_wanted)
            continue;
        row r = result ? row_of_server(result, all->items[i].config)
                       : row_of_file(all, all->items[i].config, &arena);
        if (t.is_json)
            write_json(&t.json, &r);
        else
            write_row(&t, &r, with_exposed);
    }
    cw_cli_table_close(&t);
    cw_arena_done(&arena);
    return cw_cli_print_buf(&out);
}

static int list(cw_source_set *all)
{
    cw_cli_admin a;
    const cw_json *result = NULL;
    int code = cw_cli_admin_open(&all->target, &a);
    if (code >= 0)
        return code;
    if (cw_cli_admin_has_server(&a))
        code = cw_cli_admin_call(&a, "causeway.sources.list", NULL, NULL, &result);
    if (code < 0)
        code = print_all(all, result);
    cw_cli_admin_close(&a);
    return code;
}

static int run_list(int argc, char **argv)
{
    static const cw_source_command command = {
        .name = "source list",
        .args = "[SOURCE...]",
        .about = "Show the status of each service: ready, stale (the service is unavailable or\n"
                 "its description unusable, so the last good description is used), down, or\n"
                 "broken (calls are rejected for a while). A running server reports it. Without\n"
                 "one, its last status is read from state.directory, or is unknown.",
        .has_json = true,
        .has_server = true,
        .run = list,
    };
    return cw_source_set_command(&command, argc, argv);
}

/* ---- refresh: by the running server ---- */

/* The objects of "source list --json". */
static int refresh_json(const cw_source_set *all)
{
    cw_cli_admin a;
    const cw_json *result = NULL;
    int code = cw_cli_admin_open(&all->target, &a);
    if (code >= 0)
        return code;
    code =
        cw_cli_admin_call(&a, "causeway.sources.refresh", cw_source_set_write_names, all, &result);
    if (code < 0)
        code = print_all(all, result);
    cw_cli_admin_close(&a);
    return code;
}

static int refresh(cw_source_set *all)
{
    cw_err err = {0};
    cw_buf out;
    for (size_t i = 0; all->n_named == 0 && i < all->n; i++)
        all->items[i].is_wanted = true;
    if (all->json)
        return refresh_json(all);
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    cw_code rc = cw_source_set_refresh(all, &out, &err);
    if (!rc)
        return cw_cli_print_buf(&out);
    cw_buf_done(&out);
    return cw_cli_failure("%s", err.msg);
}

static int run_refresh(int argc, char **argv)
{
    static const cw_source_command command = {
        .name = "source refresh",
        .args = "[SOURCE...]",
        .about = "Make the running server read the descriptions of all services, or of the named\n"
                 "ones, again. A service that does not answer keeps its description.",
        .has_json = true,
        .has_server = true,
        .run = refresh,
    };
    return cw_source_set_command(&command, argc, argv);
}

/* ---- accept: store a description although it is poorer or requires less than the last ---- */

static void write_lines(cw_buf *out, const cw_source_set_item *item)
{
    for (cw_str rest = cw_str_from(item->widened); rest.n;) {
        cw_buf_printf(out, "%s: ", item->config->name.p);
        cw_quote_shown(out, cw_str_cut(rest, '\n', &rest));
        cw_buf_add_char(out, '\n');
    }
    cw_buf_printf(out, "%s: %s\n", item->config->name.p,
                  item->widened ? "accepted"
                                : "nothing to accept: it requires no less than before");
}

static int accept_loaded(cw_source_set *all, void *ctx)
{
    (void)ctx;
    bool is_good = true, is_any_good = false;
    cw_err err = {0};
    cw_buf out;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    for (size_t i = 0; i < all->n; i++) {
        cw_source_set_item *item = &all->items[i];
        if (!item->is_wanted)
            continue;
        item->is_wanted = item->source && !item->is_stale;
        cw_cli_record(all->config, "source accept", item->config->name, item->is_wanted);
        if (item->is_wanted)
            write_lines(&out, item);
        else
            cw_source_set_report(item);
        is_good = is_good && item->is_wanted;
        is_any_good = is_any_good || item->is_wanted;
    }
    /* Without a name the server would refresh all. */
    cw_code rc = is_any_good ? cw_source_set_refresh(all, &out, &err) : CW_OK;
    int code = cw_cli_print_buf(&out);
    if (rc && rc != CW_NOTFOUND) /* without a server there is none to tell */
        return cw_cli_failure("%s", err.msg);
    return code == CW_EXIT_OK && !is_good ? CW_EXIT_FAILURE : code;
}

static int accept_all(cw_source_set *all)
{
    if (all->n_named == 0)
        return cw_cli_usage("name the sources whose descriptions are accepted");
    if (all->config->state.directory.n == 0)
        return cw_cli_usage(
            "state.directory is not set: no descriptions are stored, and a restart of "
            "the server accepts the current ones");
    return cw_source_set_run(all, CW_SOURCE_SET_ACCEPT, accept_loaded, NULL);
}

static int run_accept(int argc, char **argv)
{
    static const cw_source_command command = {
        .name = "source accept",
        .args = "SOURCE...",
        .about = "Read the descriptions of the named services and store them as the last good\n"
                 "ones, even if they require less of callers than before, are of a poorer kind,\n"
                 "or replace a damaged one. A running server uses them from then on. Run\n"
                 "\"causeway source list\" first.",
        .run = accept_all,
    };
    return cw_source_set_command(&command, argc, argv);
}

int cw_cli_source(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"list", "show the status of each service", run_list},
        {"check", "contact the services and report problems", cw_cli_source_check},
        {"refresh", "make a running server read descriptions again", run_refresh},
        {"diff", "show tools that differ from their approved version", cw_cli_source_diff},
        {"approve", "approve the current definitions of tools", cw_cli_source_approve},
        {"accept", "accept a description that requires less of callers", run_accept},
        {0},
    };
    static const cw_cli_group group = {
        "causeway source",
        "Manage the services whose methods become tools.",
        "\"causeway help source COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
