/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scope: what a token may be used for. */
#include "access/scopes.h"
#include "cli/lib/table.h"

#define NAME_WIDTH 20u
#define LABEL_WIDTH 21u
#define OUTPUT_MAX_BYTES (4u * 1024u * 1024u)

static void add_scope(cw_buf *out, cw_json_writer *w, const cw_scope *scope)
{
    if (!w) {
        cw_cli_table_add_column(out, scope->name, NAME_WIDTH);
        cw_cli_table_add_column(out, scope->label, scope->description.n ? LABEL_WIDTH : 0);
        cw_buf_add(out, scope->description);
        cw_buf_add_char(out, '\n');
        return;
    }
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), scope->name);
    cw_json_add_string_member(w, CW_STR("label"), scope->label);
    cw_json_add_string_member(w, CW_STR("description"), scope->description);
    cw_json_close(w);
}

/* Our own, then those of the configuration that are none of ours. */
static void add_scopes(cw_buf *out, cw_json_writer *w, const cw_config_scopes *configured)
{
    size_t n;
    const cw_scope *scopes = cw_scopes(&n);
    for (size_t i = 0; i < n; i++)
        add_scope(out, w, &scopes[i]);
    for (size_t i = 0; i < configured->n; i++) {
        cw_scope scope = {.name = configured->items[i], .description = CW_STR("")};
        scope.label = configured->labels ? configured->labels[i] : CW_STR("");
        if (!cw_scope_find(scope.name))
            add_scope(out, w, &scope);
    }
}

static int run_scopes(int argc, char **argv)
{
    const char *path = NULL;
    bool json = false;
    cw_config *config = NULL;
    const cw_cli_option options[] = {CW_CLI_CONFIG_OPTION(&path), CW_CLI_JSON_OPTION(&json), {0}};
    const cw_cli_spec spec = {
        "scope list", "",
        "List the scopes in the catalogue: the built-in ones, and those of access.scopes\n"
        "in the configuration. Tools may require others.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code < 0)
        code = cw_cli_load_config(path, &config);
    if (code >= 0)
        return code;
    cw_buf out;
    cw_json_writer w;
    cw_buf_init(&out, OUTPUT_MAX_BYTES);
    if (json) {
        cw_json_writer_init(&w, &out, CW_JSON_INDENT);
        cw_json_open_array(&w);
    } else {
        cw_cli_table_add_heading(&out, "SCOPE                 LABEL                  DESCRIPTION");
    }
    add_scopes(&out, json ? &w : NULL, &config->access.scopes);
    if (json) {
        cw_json_close(&w);
        (void)!cw_json_writer_end(&w, NULL); /* sticky in the buffer */
        cw_buf_add_char(&out, '\n');
    }
    cw_config_unref(config);
    return cw_cli_print_buf(&out);
}

int cw_cli_scope(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"list", "list the scopes in the catalogue", run_scopes},
        {0},
    };
    static const cw_cli_group group = {
        "causeway scope",
        "Scopes, which limit the use of a token.",
        "\"causeway help scope COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
