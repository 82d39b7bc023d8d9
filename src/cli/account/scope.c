/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scope: lists the scopes that limit a token. */
#include "access/scopes.h"
#include "cli/lib/cli.h"
#include "cli/lib/table.h"

static void add_scope(cw_cli_table *t, const cw_scope *scope)
{
    if (!t->is_json) {
        cw_cli_table_add(t, scope->name);
        cw_cli_table_add(t, scope->label);
        cw_cli_table_add_raw(t, scope->description);
        return;
    }
    cw_json_open_object(&t->json);
    cw_json_add_string_member(&t->json, CW_STR("name"), scope->name);
    cw_json_add_string_member(&t->json, CW_STR("label"), scope->label);
    cw_json_add_string_member(&t->json, CW_STR("description"), scope->description);
    cw_json_close(&t->json);
}

/* The built-in scopes, then the others of the configuration. */
static void add_scopes(cw_cli_table *t, const cw_config_scopes *configured)
{
    size_t n;
    const cw_scope *scopes = cw_scopes(&n);
    for (size_t i = 0; i < n; i++)
        add_scope(t, &scopes[i]);
    for (size_t i = 0; i < configured->n; i++) {
        cw_scope scope = {.name = configured->items[i], .description = CW_STR("")};
        scope.label = configured->labels ? configured->labels[i] : CW_STR("");
        if (!cw_scope_find(scope.name))
            add_scope(t, &scope);
    }
}

static int run_scopes(int argc, char **argv)
{
    const char *path = NULL;
    bool json = false;
    cw_config *config = NULL;
    const cw_cli_option options[] = {CW_CLI_CONFIG_OPTION(&path), CW_CLI_JSON_OPTION(&json), {0}};
    const cw_cli_spec spec = {"scope list", "",
                              "List the built-in scopes, and those of access.scopes\n"
                              "in the configuration. Tools may require others.",
                              options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code < 0)
        code = cw_cli_load_config(path, &config);
    if (code >= 0)
        return code;
    static const cw_cli_column columns[] = {
        {"SCOPE", 20, false}, {"LABEL", 21, false}, {"DESCRIPTION", 0, false}};
    cw_buf out;
    cw_cli_table t;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    cw_cli_table_open(&t, &out, json, columns, CW_COUNT(columns));
    add_scopes(&t, &config->access.scopes);
    cw_cli_table_close(&t);
    cw_config_unref(config);
    return cw_cli_print_buf(&out);
}

int cw_cli_scope(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"list", "list the built-in and configured scopes", run_scopes},
        {0},
    };
    static const cw_cli_group group = {
        "causeway scope",
        "List the scopes that limit the use of tokens.",
        "\"causeway help scope COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
