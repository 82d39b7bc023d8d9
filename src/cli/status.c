/* SPDX-License-Identifier: GPL-2.0-or-later */
/* status and reload: ask the running server how it is, or to read its configuration again. */
#include "base/clock.h"
#include "cli/lib/admin.h"
#include "cli/lib/table.h"

/* ---- status ---- */

static void add_texts(cw_buf *out, const char *heading, const cw_json *list)
{
    if (!list || !cw_json_count(list))
        return;
    cw_buf_printf(out, "%-13s", heading);
    for (const cw_json *item = cw_json_first(list); item; item = cw_json_next(item)) {
        cw_cli_add_text(out, cw_json_text(item));
        cw_buf_add(out, cw_json_next(item) ? CW_STR(", ") : CW_STR("\n"));
    }
}

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
    const cw_json *config = cw_json_get(result, CW_STR("config"));
    cw_buf_printf(out, "%-13s", "running");
    cw_cli_admin_add_server(out, result);
    cw_buf_add(out, CW_STR(", since "));
    add_duration(out, cw_clock_wall_ms() -
                          cw_cli_admin_number(cw_json_get(result, CW_STR("server")), "started"));
    cw_buf_printf(out, "\n%-13s", "config");
    cw_cli_add_text(out, config && cw_json_text(config).n ? cw_json_text(config)
                                                          : CW_STR("none: example plugin"));
    cw_buf_add_char(out, '\n');
    add_texts(out, "listen", cw_json_get(result, CW_STR("listen")));
    add_texts(out, "restart for", cw_json_get(result, CW_STR("restart")));
    cw_buf_printf(out, "%-13s%lld\n", "connections",
                  (long long)cw_cli_admin_number(result, "connections"));
    cw_buf_printf(out, "%-13s%lld tools, %lld methods\n", "catalogue",
                  (long long)cw_cli_admin_number(result, "tools"),
                  (long long)cw_cli_admin_number(result, "methods"));
    cw_buf_printf(out, "%-13s%lld ready, %lld stale, %lld down, %lld withheld; %lld plugins\n",
                  "sources", (long long)cw_cli_admin_number(sources, "ready"),
                  (long long)cw_cli_admin_number(sources, "stale"),
                  (long long)cw_cli_admin_number(sources, "down"),
                  (long long)cw_cli_admin_number(sources, "withheld"),
                  (long long)cw_cli_admin_number(sources, "plugins"));
}

static int print_result(const cw_json *result, bool json,
                        void (*print)(cw_buf *out, const cw_json *result))
{
    cw_buf out;
    cw_json_writer w;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    if (json) {
        cw_json_writer_init(&w, &out, CW_JSON_INDENT);
        cw_json_add_value(&w, result);
        cw_cli_end_json(&w);
    } else {
        print(&out, result);
    }
    return cw_cli_print_buf(&out);
}

int cw_cli_status(int argc, char **argv)
{
    cw_cli_target target = {0};
    bool json = false;
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&target), CW_CLI_JSON_OPTION(&json), {0}};
    const cw_cli_spec spec = {
        "status", "",
        "Print the state of the running server: version, addresses, connections, tools\n"
        "and sources. The exit code is 1 if no server runs.",
        options, 0};
    cw_cli_admin a;
    const cw_json *result = NULL;
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code < 0)
        code = cw_cli_admin_open(&target, &a);
    if (code >= 0)
        return code;
    code = cw_cli_admin_call(&a, "causeway.status", NULL, NULL, &result);
    if (code < 0)
        code = print_result(result, json, print_status);
    cw_cli_admin_close(&a);
    return code;
}

/* ---- reload ---- */

static void print_reload(cw_buf *out, const cw_json *result)
{
    const cw_json *changed = cw_json_get(result, CW_STR("changed"));
    cw_buf_add(out, CW_STR("configuration read again by "));
    cw_cli_admin_add_server(out, result);
    cw_buf_add_char(out, '\n');
    if (!changed || !cw_json_count(changed))
        cw_buf_add(out, CW_STR("no value changed; sources are discovered again\n"));
    add_texts(out, "changed", changed);
    add_texts(out, "restart for", cw_json_get(result, CW_STR("restart")));
}

static int report_problems(const cw_json *result)
{
    const cw_json *problems = cw_json_get(result, CW_STR("problems"));
    for (const cw_json *p = cw_json_first(problems); p; p = cw_json_next(p))
        (void)cw_cli_usage("%.*s", CW_STR_ARG(cw_json_text(p)));
    return cw_cli_usage("configuration rejected, the server keeps the old one");
}

int cw_cli_reload(int argc, char **argv)
{
    cw_cli_target target = {0};
    bool json = false;
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&target), CW_CLI_JSON_OPTION(&json), {0}};
    const cw_cli_spec spec = {
        "reload", "",
        "Make the running server read its configuration file again, and print what\n"
        "changed. A configuration with errors is rejected with line and column, and the\n"
        "server keeps the old one.",
        options, 0};
    cw_cli_admin a;
    const cw_json *result = NULL;
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code < 0)
        code = cw_cli_admin_open(&target, &a);
    if (code >= 0)
        return code;
    code = cw_cli_admin_call(&a, "causeway.reload", NULL, NULL, &result);
    bool is_applied = code < 0 && cw_json_is(cw_json_get(result, CW_STR("applied")), CW_JSON_TRUE);
    if (code < 0 && (json || is_applied))
        code = print_result(result, json, print_reload);
    if (result && !is_applied)
        code = json ? CW_EXIT_USAGE : report_problems(result);
    cw_cli_admin_close(&a);
    return code;
}
