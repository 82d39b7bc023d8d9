/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rights.c - runs a command about access: arguments, the call, output, audit. */
#include "cli/account/rights.h"

#include <stdio.h>

#include "cli/lib/audit_record.h"

/* ---- begin and end ---- */

int cw_cli_rights_open(cw_cli_rights *a)
{
    cw_buf_init(&a->out, CW_CLI_OUTPUT_MAX);
    int code = cw_cli_admin_open(&a->target, &a->admin);
    if (code >= 0)
        return code;
    if (cw_cli_admin_has_server(&a->admin) || cw_config_store(a->admin.config).n)
        return -1;
    cw_cli_admin_close(&a->admin);
    return cw_cli_usage("no database: set store.path in the configuration");
}

void cw_cli_rights_change(cw_cli_rights *a, const char *what, const char *target, const char *more)
{
    a->what = what;
    snprintf(a->changed, sizeof a->changed, "%s%s%s", target, more ? " " : "", more ? more : "");
}

int cw_cli_rights_close(cw_cli_rights *a, int code)
{
    /* A server records its calls itself. */
    if (a->what && !cw_cli_admin_has_server(&a->admin))
        cw_cli_record(a->admin.config, a->what, cw_str_from(a->changed), code < 0);
    cw_cli_admin_close(&a->admin);
    if (code < 0)
        return cw_cli_print_buf(&a->out);
    cw_buf_done(&a->out);
    return code;
}

void cw_cli_rights_end_line(cw_cli_rights *a, const cw_json *result)
{
    if (cw_json_is(cw_json_get(result, CW_STR("changed")), CW_JSON_FALSE))
        cw_buf_add(&a->out, CW_STR(" already"));
    if (cw_cli_admin_has_server(&a->admin)) {
        cw_buf_add(&a->out, CW_STR(" by "));
        cw_cli_admin_add_server(&a->out, result);
    }
    cw_buf_add_char(&a->out, '\n');
}

/* ---- arguments ---- */

int cw_cli_rights_check_name(const char *what, const char *name)
{
    cw_err err = {0};
    return cw_admin_check_name(what, cw_str_from(name), &err) ? cw_cli_usage("%s", err.msg) : -1;
}

static bool parse_id(const char *text, uint64_t *ret)
{
    return cw_str_to_u64(cw_str_from(text), ret) && *ret <= INT64_MAX;
}

static int check_id(const cw_cli_rights_command *command, const char *text)
{
    uint64_t id;
    int n_noun = (int)strcspn(command->name, " ");
    if (parse_id(text, &id))
        return -1;
    return cw_cli_usage("give the number of the %.*s, as \"causeway %.*s list\" prints it", n_noun,
                        command->name, n_noun, command->name);
}

static int check_args(const cw_cli_rights_command *command, const cw_cli_args *args)
{
    if (args->n < command->min_args)
        return cw_cli_usage("usage: causeway %s %s", command->name, command->args);
    if (command->is_id)
        return check_id(command, args->items[0]);
    return command->check ? command->check(args->items) : -1;
}

/* ---- a command that is a row ---- */

typedef struct call {
    const cw_cli_rights_command *command;
    const cw_cli_rights *a;
} call;

static void write_params(cw_json_writer *w, const void *ctx)
{
    const call *c = ctx;
    uint64_t id;
    for (size_t i = 0; i < c->a->n_args; i++) {
        cw_json_add_key(w, cw_str_from(c->command->params[i]));
        if (c->command->is_id && parse_id(c->a->args[i], &id))
            cw_json_add_i64(w, (int64_t)id);
        else
            cw_json_add_string(w, cw_str_from(c->a->args[i]));
    }
}

static void print_line(cw_cli_rights *a, const char *line, const cw_json *result)
{
    char *const *arg = a->args;
    for (const char *p = line; *p; p++) {
        if (*p == '%')
            cw_buf_add(&a->out, cw_str_from(*arg++));
        else
            cw_buf_add_char(&a->out, *p);
    }
    cw_cli_rights_end_line(a, result);
}

static int run(cw_cli_rights *a, const cw_cli_rights_command *command)
{
    const cw_json *result = NULL;
    call c = {command, a};
    int code = cw_cli_admin_call(&a->admin, command->method, write_params, &c, &result);
    if (code >= 0)
        return code;
    bool is_same = cw_json_is(cw_json_get(result, CW_STR("changed")), CW_JSON_FALSE);
    if (command->done)
        print_line(a, is_same && command->unchanged ? command->unchanged : command->done, result);
    if (command->print)
        command->print(a, result);
    return -1;
}

static size_t count_params(const cw_cli_rights_command *command)
{
    size_t n = 0;
    while (n < CW_CLI_RIGHTS_MAX_ARGS && command->params[n])
        n++;
    return n;
}

int cw_cli_rights_run(const cw_cli_rights_command *command, int argc, char **argv)
{
    cw_cli_rights a = {0};
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&a.target),
        command->has_json ? (cw_cli_option)CW_CLI_JSON_OPTION(&a.json) : (cw_cli_option){0},
        {0},
    };
    const cw_cli_spec spec = {command->name, command->args, command->about, options,
                              count_params(command)};
    cw_cli_args args = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code < 0)
        code = check_args(command, &args);
    if (code < 0)
        code = cw_cli_rights_open(&a);
    if (code >= 0)
        return code;
    a.args = args.items;
    a.n_args = args.n;
    if (command->done)
        cw_cli_rights_change(&a, command->name, args.items[0], args.n > 1 ? args.items[1] : NULL);
    return cw_cli_rights_close(&a, run(&a, command));
}

/* ---- output ---- */

void cw_cli_rights_add_texts(cw_cli_table *t, const cw_json *list)
{
    CW_CLEANUP(cw_buf_done) cw_buf texts;
    cw_buf_init(&texts, CW_CLI_OUTPUT_MAX);
    for (const cw_json *v = cw_cli_admin_items(list); v; v = cw_json_next(v)) {
        if (texts.n)
            cw_buf_add(&texts, CW_STR(", "));
        cw_cli_add_text(&texts, cw_json_text(v));
    }
    cw_cli_table_add_raw(t, texts.n ? cw_buf_str(&texts) : CW_STR("-"));
}

static bool is_date(cw_str name)
{
    static const cw_str names[] = {
        CW_STR_INIT("created"), CW_STR_INIT("updated"), CW_STR_INIT("used"), CW_STR_INIT("expires"),
        CW_STR_INIT("revoked"), CW_STR_INIT("since"),   CW_STR_INIT("ends"),
    };
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        if (cw_str_eq(names[i], name))
            return true;
    }
    return false;
}

void cw_cli_rights_add_object(cw_json_writer *w, const cw_json *object)
{
    if (!cw_json_is(object, CW_JSON_OBJECT)) {
        cw_json_add_value(w, object);
        return;
    }
    cw_json_open_object(w);
    for (const cw_json *k = cw_json_first(object); k; k = cw_json_next_key(k)) {
        if (is_date(cw_json_text(k))) {
            int64_t wall_ms = 0;
            (void)cw_json_to_i64(cw_json_value(k), &wall_ms);
            cw_cli_add_date_member(w, cw_json_text(k), wall_ms);
            continue;
        }
        cw_json_add_key(w, cw_json_text(k));
        cw_json_add_value(w, cw_json_value(k));
    }
    cw_json_close(w);
}

void cw_cli_rights_print_list(cw_cli_rights *a, const cw_json *list, const cw_cli_column *columns,
                              size_t n_columns,
                              void (*add_row)(cw_cli_table *t, const cw_json *item))
{
    cw_cli_table t;
    cw_cli_table_open(&t, &a->out, a->json, columns, n_columns);
    for (const cw_json *v = cw_cli_admin_items(list); v; v = cw_json_next(v)) {
        if (a->json)
            cw_cli_rights_add_object(&t.json, v);
        else
            add_row(&t, v);
    }
    cw_cli_table_close(&t);
}
