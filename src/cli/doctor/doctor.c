/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor: checks a set-up, and prints each fault with its remedy. */
#include "cli/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/lib/progress.h"
#include "cli/lib/table.h"
#include "config/syntax/quote.h"

#define ARENA_MAX ((size_t)64 << 20)
#define SEVERITY_WIDTH 9

typedef struct check {
    const char *name;  /* the group of its findings */
    bool needs_config; /* runs only with a configuration that was loaded */
    void (*run)(cw_doctor *d);
} check;

static const check checks[] = {
    {"configuration", false, cw_doctor_check_configuration},
    {"files", true, cw_doctor_check_files},
    {"certificates", true, cw_doctor_check_certificates},
    {"database", true, cw_doctor_check_database},
    {"clock", false, cw_doctor_check_clock},
    {"system", true, cw_doctor_check_system},
    {"sources", true, cw_doctor_check_sources},
    {"issuers", true, cw_doctor_check_issuers},
    {"plugins", true, cw_doctor_check_plugins},
    {"rights", true, cw_doctor_check_rights},
    {"server", false, cw_doctor_check_server},
};

static const char *const severities[] = {"note", "warning", "error"};

/* ---- findings ---- */

CW_PRINTF(2, 0) static const char *format(cw_doctor *d, const char *fmt, va_list args)
{
    const char *text = cw_arena_vprintf(&d->arena, fmt, args);
    d->is_failed = d->is_failed || !text;
    return text ? text : "";
}

const char *cw_doctor_text(cw_doctor *d, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = format(d, fmt, args);
    va_end(args);
    return text;
}

void cw_doctor_add(cw_doctor *d, cw_doctor_severity severity, const char *subject,
                   const char *remedy, const char *problem, ...)
{
    va_list args;
    d->counts[severity]++;
    if (d->n == CW_DOCTOR_MAX_FINDINGS)
        return;
    cw_doctor_finding *f = &d->items[d->n++];
    va_start(args, problem);
    *f = (cw_doctor_finding){.group = d->group,
                             .severity = severity,
                             .subject = cw_doctor_text(d, "%s", subject),
                             .problem = format(d, problem, args),
                             .remedy = cw_doctor_text(d, "%s", remedy)};
    va_end(args);
}

/* ---- printing ---- */

static void print_finding(cw_buf *out, const cw_doctor_finding *f)
{
    static const cw_cli_style styles[] = {CW_CLI_PLAIN, CW_CLI_BOLD, CW_CLI_RED};
    cw_buf_printf(out, "  %s%-*s%s", cw_cli_escape(STDOUT_FILENO, styles[f->severity]),
                  SEVERITY_WIDTH, severities[f->severity],
                  cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN));
    cw_quote_shown(out, cw_str_from(f->subject));
    cw_buf_add(out, CW_STR(": "));
    cw_quote_shown(out, cw_str_from(f->problem));
    cw_buf_printf(out, "\n  %-*s-> ", SEVERITY_WIDTH, "");
    cw_quote_shown(out, cw_str_from(f->remedy));
    cw_buf_add_char(out, '\n');
}

/* The gravest first. */
static void print_group(cw_buf *out, const cw_doctor *d, const char *group)
{
    bool has_heading = false;
    for (unsigned s = CW_DOCTOR_SEVERITIES; s-- > 0;) {
        for (size_t i = 0; i < d->n; i++) {
            if (d->items[i].group != group || d->items[i].severity != s)
                continue;
            if (!has_heading)
                cw_buf_printf(out, "%s%s%s\n", cw_cli_escape(STDOUT_FILENO, CW_CLI_BOLD), group,
                              cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN));
            has_heading = true;
            print_finding(out, &d->items[i]);
        }
    }
}

static void add_count(cw_buf *out, size_t n, const char *what, const char *after)
{
    cw_buf_printf(out, "%zu %s%s%s", n, what, n == 1 ? "" : "s", after);
}

static void print_text(cw_buf *out, const cw_doctor *d)
{
    size_t total = 0;
    for (size_t i = 0; i < CW_COUNT(checks); i++)
        print_group(out, d, checks[i].name);
    for (size_t i = 0; i < CW_DOCTOR_SEVERITIES; i++)
        total += d->counts[i];
    if (total > d->n)
        cw_buf_printf(out, "%zu further findings are not listed\n", total - d->n);
    if (!total) {
        cw_buf_printf(out, "%sno findings%s\n", cw_cli_escape(STDOUT_FILENO, CW_CLI_GREEN),
                      cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN));
        return;
    }
    add_count(out, d->counts[CW_DOCTOR_ERROR], "error", ", ");
    add_count(out, d->counts[CW_DOCTOR_WARNING], "warning", ", ");
    add_count(out, d->counts[CW_DOCTOR_NOTE], "note", "\n");
}

static void write_finding(cw_json_writer *w, const cw_doctor_finding *f)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("check"), cw_str_from(f->group));
    cw_json_add_string_member(w, CW_STR("severity"), cw_str_from(severities[f->severity]));
    cw_json_add_string_member(w, CW_STR("subject"), cw_str_from(f->subject));
    cw_json_add_string_member(w, CW_STR("problem"), cw_str_from(f->problem));
    cw_json_add_string_member(w, CW_STR("remedy"), cw_str_from(f->remedy));
    cw_json_close(w);
}

static void print_json(cw_buf *out, const cw_doctor *d)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR("findings"));
    cw_json_open_array(&w);
    for (size_t i = 0; i < d->n; i++)
        write_finding(&w, &d->items[i]);
    cw_json_close(&w);
    cw_json_add_i64_member(&w, CW_STR("errors"), (int64_t)d->counts[CW_DOCTOR_ERROR]);
    cw_json_add_i64_member(&w, CW_STR("warnings"), (int64_t)d->counts[CW_DOCTOR_WARNING]);
    cw_json_add_i64_member(&w, CW_STR("notes"), (int64_t)d->counts[CW_DOCTOR_NOTE]);
    cw_json_close(&w);
    cw_cli_end_json(&w);
}

static int print(const cw_doctor *d, bool json)
{
    cw_buf out;
    if (d->is_failed)
        return cw_cli_failure("not all checks could be run; run the command again");
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    if (json)
        print_json(&out, d);
    else
        print_text(&out, d);
    int code = cw_cli_print_buf(&out);
    if (code != CW_EXIT_OK)
        return code;
    if (d->counts[CW_DOCTOR_ERROR])
        return 2;
    return d->counts[CW_DOCTOR_WARNING] ? 1 : 0;
}

/* ---- the command ---- */

static void show_progress(const char *name)
{
    if (cw_cli_progress_can_draw())
        fprintf(stderr, "\r\033[K%s%s", name ? "checking: " : "", name ? name : "");
}

static void run_checks(cw_doctor *d)
{
    for (size_t i = 0; i < CW_COUNT(checks); i++) {
        if (checks[i].needs_config && !d->config)
            continue;
        show_progress(checks[i].name);
        d->group = checks[i].name;
        checks[i].run(d);
    }
    show_progress(NULL);
}

static void release(cw_doctor *d)
{
    for (size_t i = 0; i < d->n_services; i++)
        cw_source_unref(d->services[i]);
    free(d->services);
    cw_config_unref(d->config);
    cw_arena_done(&d->arena);
    if (d->server)
        cw_cli_admin_close(d->server);
}

/* --server alone checks only that server. */
static int run(cw_doctor *d, bool json)
{
    cw_cli_admin server;
    if (!d->target.server || d->target.config)
        d->config_path = cw_cli_config_path(d->target.config);
    if (!d->target.server && !d->config_path)
        return cw_cli_usage("name a configuration with --config, or a server with --server");
    if (d->target.server) {
        int code = cw_cli_admin_open(&d->target, &server);
        if (code >= 0)
            return code;
        d->server = &server;
    }
    cw_arena_init(&d->arena, ARENA_MAX);
    run_checks(d);
    int code = print(d, json);
    release(d);
    return code;
}

int cw_cli_doctor(int argc, char **argv)
{
    bool json = false;
    cw_doctor *d = calloc(1, sizeof *d);
    if (!d)
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&d->target), CW_CLI_JSON_OPTION(&json), {0}};
    const cw_cli_spec spec = {
        "doctor", "",
        "Check a set-up: configuration, files and their modes, certificates, database,\n"
        "clock, system limits, services and their credentials, issuers, plugins, rights\n"
        "and the running server. Each finding has a severity and a remedy. Nothing is\n"
        "changed. With --server, check that server; add --config to check both.\n"
        "The exit code is 0 without errors and warnings, 1 with warnings, 2 with errors.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code < 0)
        code = run(d, json);
    free(d);
    return code;
}
