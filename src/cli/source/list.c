/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source list: prints the status of the services from the files of a running server, without
 * contacting them. */
#include <errno.h>
#include <signal.h>
#include <sys/types.h>

#include "cli/source/source_set.h"
#include "cli/tool/tools.h"
#include "source/remote/state_files.h"

typedef struct row {
    const cw_config_remote *config;
    cw_source_status status;
    const char *state; /* as it is shown */
    bool is_known;
} row;

static bool is_running(int64_t pid)
{
    return pid > 0 && (pid_t)pid == pid && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

static row read_row(const cw_source_set *all, const cw_config_remote *config, cw_arena *arena)
{
    row r = {.config = config, .state = "unknown"};
    if (cw_state_load_status(all->config->state.directory, config->name, arena, &r.status, NULL))
        return r;
    r.is_known = true;
    /* A text of the arena; .p has a NUL behind it where JSON had no escapes, which names have not.
     */
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
        cw_json_add_key(w, CW_STR("problem"));
        if (s->problem.n)
            cw_json_add_string(w, s->problem);
        else
            cw_json_add_null(w);
    }
    cw_json_close(w);
}

static void write_row(cw_cli_table *t, const row *r)
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
    cw_cli_table_add_date(t, s->refreshed_ms, "never");
    cw_tools_add_line(&problem, s->problem);
    cw_cli_table_add_raw(t, cw_buf_str(&problem));
}

static int print_all(cw_source_set *all)
{
    cw_arena arena;
    cw_buf out;
    cw_cli_table t;
    size_t width = sizeof "NAME" - 1;
    for (size_t i = 0; i < all->n; i++)
        width = all->items[i].config->name.n > width ? all->items[i].config->name.n : width;
    const cw_cli_column columns[] = {
        {"NAME", width, false}, {"STATE", 11, false},  {"TOOLS", 5, true},
        {"METHODS", 7, true},   {"WITHHELD", 8, true}, {"REFRESHED", 24, false},
        {"PROBLEM", 0, false},
    };
    cw_arena_init(&arena, CW_CLI_OUTPUT_MAX);
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    cw_cli_table_open(&t, &out, all->json, columns, CW_COUNT(columns));
    for (size_t i = 0; i < all->n; i++) {
        if (!all->items[i].is_wanted)
            continue;
        row r = read_row(all, all->items[i].config, &arena);
        if (t.is_json)
            write_json(&t.json, &r);
        else
            write_row(&t, &r);
    }
    cw_cli_table_close(&t);
    cw_arena_done(&arena);
    return cw_cli_print_buf(&out);
}

int cw_cli_source_list(int argc, char **argv)
{
    static const cw_source_command command = {
        .name = "source list",
        .args = "[NAME...]",
        .about = "Show the status of each service: ready, stale (the service is unavailable or\n"
                 "its description unusable, so the last good description is used), down, or\n"
                 "broken (calls are rejected for a while). A running server writes the status to\n"
                 "state.directory; without one it is unknown.",
        .has_json = true,
        .run = print_all,
    };
    return cw_source_set_command(&command, argc, argv);
}
