/* SPDX-License-Identifier: GPL-2.0-or-later */
/* status and reload: ask the running server how it is, or to read its configuration again. */
#include "base/clock.h"
#include "cli/lib/admin.h"
#include "cli/lib/table.h"
#include "config/syntax/quote.h"

/* A command that calls a method without params and prints its result. */
typedef struct question {
    cw_cli_target target;
    bool json;
    bool all; /* of status */
    cw_cli_admin admin;
    const cw_json *result;
} question;

static int parse(question *q, const char *name, const char *about, int argc, char **argv)
{
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&q->target), CW_CLI_JSON_OPTION(&q->json), {0}};
    const cw_cli_spec spec = {name, "", about, options, 0};
    return cw_cli_parse(&spec, argc, argv, NULL);
}

/* Call the method. Returns -1: the caller prints the result and closes q->admin. Otherwise the exit
 * code, with nothing to close. */
static int ask(question *q, const char *method)
{
    int code = cw_cli_admin_open(&q->target, &q->admin);
    if (code >= 0)
        return code;
    code = cw_cli_admin_call(&q->admin, method, NULL, NULL, &q->result);
    if (code >= 0)
        cw_cli_admin_close(&q->admin);
    return code;
}

static void add_texts(cw_buf *out, const char *heading, const cw_json *list)
{
    const cw_json *first = cw_cli_admin_items(list);
    if (!first)
        return;
    cw_buf_printf(out, "%-13s", heading);
    for (const cw_json *item = first; item; item = cw_json_next(item)) {
        cw_cli_add_text(out, cw_json_text(item));
        cw_buf_add(out, cw_json_next(item) ? CW_STR(", ") : CW_STR("\n"));
    }
}

static int print_result(const question *q, void (*print)(cw_buf *out, const cw_json *result))
{
    cw_buf out;
    cw_json_writer w;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    if (q->json) {
        cw_json_writer_init(&w, &out, CW_JSON_INDENT);
        cw_json_add_value(&w, q->result);
        cw_cli_end_json(&w);
    } else {
        print(&out, q->result);
    }
    return cw_cli_print_buf(&out);
}

/* ---- status ---- */

static void add_duration(cw_buf *out, int64_t ms)
{
    int64_t s = ms > 0 ? ms / 1000 : 0;
    if (s >= 86400)
        cw_buf_printf(out, "%lld d ", (long long)(s / 86400));
    if (s >= 3600)
        cw_buf_printf(out, "%lld h ", (long long)(s / 3600 % 24));
    cw_buf_printf(out, "%lld min %lld s", (long long)(s / 60 % 60), (long long)(s % 60));
}

static void print_status(cw_buf *out, const cw_json *result)
{
    const cw_json *sources = cw_json_get(result, CW_STR("sources"));
    cw_str config = cw_cli_admin_text(result, "config");
    cw_buf_printf(out, "%-13s", "running");
    cw_cli_admin_add_server(out, result);
    cw_buf_add(out, CW_STR(", for "));
    add_duration(out, cw_clock_wall_ms() -
                          cw_cli_admin_number(cw_json_get(result, CW_STR("server")), "started"));
    cw_buf_printf(out, "\n%-13s", "config");
    cw_cli_add_text(out, config.n ? config : CW_STR("none: example plugin"));
    cw_buf_add_char(out, '\n');
    add_texts(out, "listen", cw_json_get(result, CW_STR("listen")));
    add_texts(out, "restart for", cw_json_get(result, CW_STR("restart")));
    cw_buf_printf(out, "%-13s%lld\n", "connections",
                  (long long)cw_cli_admin_number(result, "connections"));
    cw_buf_printf(out, "%-13s%lld tools, %lld methods of plugins and services\n", "catalogue",
                  (long long)cw_cli_admin_number(result, "tools"),
                  (long long)cw_cli_admin_number(result, "methods"));
    cw_buf_printf(out, "%-13s%lld ready, %lld stale, %lld down, %lld withheld; %lld plugins\n",
                  "sources", (long long)cw_cli_admin_number(sources, "ready"),
                  (long long)cw_cli_admin_number(sources, "stale"),
                  (long long)cw_cli_admin_number(sources, "down"),
                  (long long)cw_cli_admin_number(sources, "withheld"),
                  (long long)cw_cli_admin_number(sources, "plugins"));
}

static void add_difference(cw_buf *out, const cw_json *differs)
{
    const cw_json *first = cw_cli_admin_items(differs);
    for (const cw_json *item = first; item; item = cw_json_next(item)) {
        cw_buf_add(out, item == first ? CW_STR("another ") : CW_STR(", "));
        cw_buf_add(out, cw_json_text(item));
    }
}

static void print_replicas(cw_buf *out, const cw_json *result)
{
    static const cw_cli_column columns[] = {{"NAME", 24, false},   {"NODE", 16, false},
                                            {"VERSION", 8, false}, {"STATE", 8, false},
                                            {"SEEN", 24, false},   {"DIFFERENCES", 0, false}};
    cw_cli_table t;
    const cw_json *list = cw_json_get(result, CW_STR("replicas"));
    cw_cli_table_open(&t, out, /* json= */ false, columns, CW_COUNT(columns));
    for (const cw_json *r = cw_cli_admin_items(list); r; r = cw_json_next(r)) {
        CW_CLEANUP(cw_buf_done) cw_buf differs;
        cw_buf_init(&differs, CW_CLI_OUTPUT_MAX);
        add_difference(&differs, cw_json_get(r, CW_STR("differs")));
        cw_cli_table_add(&t, cw_cli_admin_text(r, "name"));
        cw_cli_table_add(&t, cw_cli_admin_text(r, "node"));
        cw_cli_table_add(&t, cw_cli_admin_text(r, "version"));
        cw_cli_table_add(&t, cw_cli_admin_text(r, "state"));
        cw_cli_table_add_date(&t, cw_cli_admin_number(r, "seen"), "-");
        cw_cli_table_add(&t, differs.n ? cw_buf_str(&differs) : CW_STR(""));
    }
    cw_cli_table_close(&t);
}

static int parse_status(question *q, int argc, char **argv)
{
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&q->target),
        {"all", 0, CW_CLI_FLAG, &q->all, NULL, "list all servers that share the database"},
        CW_CLI_JSON_OPTION(&q->json),
        {0}};
    static const char about[] =
        "Print the state of the running server: version, addresses, connections, tools\n"
        "and sources. The exit code is 1 if no server runs. With --all, list the servers\n"
        "that share the database, and whether they differ from the first one in version,\n"
        "configuration or catalogue.";
    const cw_cli_spec spec = {"status", "", about, options, 0};
    return cw_cli_parse(&spec, argc, argv, NULL);
}

int cw_cli_status(int argc, char **argv)
{
    question q = {0};
    int code = parse_status(&q, argc, argv);
    if (code < 0)
        code = ask(&q, q.all ? "causeway.replicas.list" : "causeway.status");
    if (code >= 0)
        return code;
    code = print_result(&q, q.all ? print_replicas : print_status);
    cw_cli_admin_close(&q.admin);
    return code;
}

/* ---- reload ---- */

static void print_reload(cw_buf *out, const cw_json *result)
{
    const cw_json *changed = cw_json_get(result, CW_STR("changed"));
    cw_buf_add(out, CW_STR("configuration read again by "));
    cw_cli_admin_add_server(out, result);
    cw_buf_add_char(out, '\n');
    if (!cw_cli_admin_items(changed))
        cw_buf_printf(out, "no %s; sources are discovered again\n",
                      cw_json_at(cw_json_get(result, CW_STR("restart")), 0)
                          ? "change takes effect without a restart"
                          : "value changed");
    add_texts(out, "changed", changed);
    add_texts(out, "restart for", cw_json_get(result, CW_STR("restart")));
}

static int report_problems(const cw_json *result)
{
    const cw_json *problems = cw_json_get(result, CW_STR("problems"));
    for (const cw_json *p = cw_cli_admin_items(problems); p; p = cw_json_next(p)) {
        CW_CLEANUP(cw_buf_done) cw_buf line;
        cw_buf_init(&line, CW_CLI_OUTPUT_MAX);
        cw_quote_shown(&line, cw_json_text(p));
        (void)cw_cli_usage("%.*s", CW_STR_ARG(cw_buf_str(&line)));
    }
    return cw_cli_usage("configuration rejected, the server keeps the old one");
}

/* The members of a result of causeway.reload. */
static int print_rejected(const cw_config_problems *problems)
{
    cw_buf out;
    cw_json_writer w;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    cw_json_writer_init(&w, &out, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_bool_member(&w, CW_STR("applied"), false);
    cw_json_add_key(&w, CW_STR("problems"));
    cw_json_open_array(&w);
    for (size_t i = 0; i < problems->n; i++)
        cw_json_add_string(&w, cw_str_from(problems->items[i].text));
    cw_json_close(&w);
    cw_json_close(&w);
    cw_cli_end_json(&w);
    int code = cw_cli_print_buf(&out);
    return code == CW_EXIT_OK ? CW_EXIT_USAGE : code;
}

/* The file names the socket of the server, so a file with mistakes is rejected here. Returns -1 if
 * it has none. */
static int check_file(const question *q)
{
    const cw_config_source source = {.path = cw_cli_config_path(q->target.config)};
    cw_config *config = NULL;
    cw_err err = {0};
    cw_config_problems problems;
    int code = -1;
    cw_config_problems_init(&problems);
    cw_code rc = cw_config_load(&source, &config, &problems, &err);
    if (rc && q->json && problems.n)
        code = print_rejected(&problems);
    else if (rc)
        code = cw_cli_config_failure(rc, &problems, &err);
    if (rc && !q->json && problems.n)
        code = cw_cli_usage("rejected; a running server keeps its previous configuration");
    cw_config_problems_done(&problems);
    cw_config_unref(config);
    return code;
}

int cw_cli_reload(int argc, char **argv)
{
    static const char about[] =
        "Make the running server read its configuration file again, and print what\n"
        "changed. A configuration with errors is rejected with line and column, and the\n"
        "server keeps the old one.";
    question q = {0};
    int code = parse(&q, "reload", about, argc, argv);
    if (code < 0 && !q.target.server)
        code = check_file(&q);
    if (code < 0)
        code = ask(&q, "causeway.reload");
    if (code >= 0)
        return code;
    bool is_applied = cw_cli_admin_flag(q.result, "applied");
    if (q.json || is_applied)
        code = print_result(&q, print_reload);
    if (!is_applied)
        code = q.json ? CW_EXIT_USAGE : report_problems(q.result);
    cw_cli_admin_close(&q.admin);
    return code;
}
