/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scope: what a token may be used for. */
#include "access/scopes.h"
#include "cli/access.h"

#define NAME_WIDTH 20u

static int run_scopes(int argc, char **argv)
{
    bool json = false;
    const cw_cli_option options[] = {CW_CLI_JSON_OPTION(&json), {0}};
    const cw_cli_spec spec = {"scope list", "",
                              "List the scopes that are known by name. Tools may ask for others.",
                              options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code >= 0)
        return code;
    size_t n;
    const cw_scope *scopes = cw_scopes(&n);
    cw_buf out;
    cw_json_writer w;
    cw_buf_init(&out, 65536);
    cw_json_writer_init(&w, &out, CW_JSON_INDENT);
    if (!json)
        cw_access_add_heading(&out, "SCOPE                 DESCRIPTION");
    for (size_t i = 0; i < n && !json; i++) {
        cw_access_add_column(&out, scopes[i].name, NAME_WIDTH);
        cw_buf_printf(&out, "%s\n", scopes[i].description.p);
    }
    if (json)
        cw_json_open_array(&w);
    for (size_t i = 0; i < n && json; i++) {
        cw_json_open_object(&w);
        cw_json_add_string_member(&w, CW_STR("name"), scopes[i].name);
        cw_json_add_string_member(&w, CW_STR("label"), scopes[i].label);
        cw_json_add_string_member(&w, CW_STR("description"), scopes[i].description);
        cw_json_close(&w);
    }
    if (json) {
        cw_json_close(&w);
        (void)!cw_json_writer_end(&w, NULL); /* sticky in the buffer */
        cw_buf_add_char(&out, '\n');
    }
    return cw_cli_print_buf(&out);
}

int cw_cli_scope(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"list", "list the scopes that are known by name", run_scopes},
        {0},
    };
    static const cw_cli_group group = {
        "causeway scope",
        "Scopes: what a token may be used for.",
        "\"causeway help scope COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
