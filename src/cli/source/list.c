/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source list: how the services are, by the files that a running server keeps. Nothing is asked. */
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
    if (cw_state_load_status(all->config->state.folder, config->name, arena, &r.status, NULL))
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
        cw_cli_table_add_date_member(w, CW_STR("since"), s->since_ms);
        cw_cli_table_add_date_member(w, CW_STR("refreshed"), s->refreshed_ms);
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

static void write_row(cw_buf *out, const row *r, size_t width)
{
    const cw_source_status *s = &r->status;
    cw_cli_table_add_column(out, r->config->name, width);
    cw_cli_table_add_column(out, state_of(r), 11);
    if (r->is_known) {
        cw_buf_printf(out, "%5u  %7u  %8u  ", s->tools, s->methods, s->withheld);
        cw_cli_table_add_date(out, s->refreshed_ms, "never                   ");
        cw_buf_add(out, CW_STR("  "));
        cw_tools_add_line(out, s->problem);
    }
    while (out->n && out->p[out->n - 1] == ' ')
        out->n--;
    cw_buf_add_char(out, '\n');
}

static void write_heading(cw_buf *out, size_t width)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_CLI_DB_MAX_BYTES);
    cw_cli_table_add_column(&text, CW_STR("NAME"), width);
    cw_buf_printf(&text,
                  "STATE        TOOLS  METHODS  WITHHELD  REFRESHED                 "
                  "PROBLEM%c",
                  0);
    cw_cli_table_add_heading(out, text.code ? "" : text.p);
}

static int print_all(cw_source_set *all, bool json)
{
    cw_arena arena;
    cw_buf out;
    cw_json_writer w;
    size_t width = sizeof "NAME" - 1;
    cw_arena_init(&arena, CW_CLI_DB_MAX_BYTES);
    cw_buf_init(&out, CW_CLI_DB_MAX_BYTES);
    for (size_t i = 0; i < all->n; i++)
        width = all->items[i].config->name.n > width ? all->items[i].config->name.n : width;
    cw_json_writer_init(&w, &out, CW_JSON_INDENT);
    if (json)
        cw_json_open_array(&w);
    else
        write_heading(&out, width);
    for (size_t i = 0; i < all->n; i++) {
        if (!all->items[i].is_wanted)
            continue;
        row r = read_row(all, all->items[i].config, &arena);
        if (json)
            write_json(&w, &r);
        else
            write_row(&out, &r, width);
    }
    if (json) {
        cw_json_close(&w);
        (void)!cw_json_writer_end(&w, NULL); /* sticky in the buffer */
        cw_buf_add_char(&out, '\n');
    }
    cw_arena_done(&arena);
    return cw_cli_print_buf(&out);
}

int cw_cli_source_list(int argc, char **argv)
{
    return cw_source_set_command(
        argc, argv, "source list",
        "Show the status of each service: ready, stale (the service is unavailable or\n"
        "its description unusable, so the last good description is used), down, or\n"
        "broken (calls are rejected for a while). A running server writes the status to\n"
        "state.folder; without one it is unknown.",
        print_all);
}
