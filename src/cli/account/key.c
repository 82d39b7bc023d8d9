/* SPDX-License-Identifier: GPL-2.0-or-later */
/* key: lists and rotates the keys that sign access tokens, and those that seal what clients carry. */
#include "base/clock.h"
#include "cli/account/rights.h"

/* ---- list ---- */

static void add_row(cw_cli_table *t, const cw_json *key)
{
    cw_cli_table_add(t, cw_cli_admin_text(key, "id"));
    cw_cli_table_add(t, cw_cli_admin_text(key, "use"));
    cw_cli_table_add(t, cw_cli_admin_text(key, "alg"));
    cw_cli_table_add(t, cw_cli_admin_text(key, "state"));
    cw_cli_table_add_date(t, cw_cli_admin_number(key, "since"), "-");
    cw_cli_table_add_date(t, cw_cli_admin_number(key, "ends"), "-");
}

static void print_list(cw_cli_rights *a, const cw_json *result)
{
    static const cw_cli_column columns[] = {{"ID", 43, false},    {"USE", 4, false},
                                            {"ALG", 5, false},    {"STATE", 7, false},
                                            {"SINCE", 24, false}, {"ENDS", 0, false}};
    cw_cli_rights_print_list(a, cw_json_get(result, CW_STR("keys")), columns, CW_COUNT(columns),
                             add_row);
}

static int run_list(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "key list",
        .args = "",
        .about = "List the keys that sign access tokens: the next, the current, and the old\n"
                 "ones that are still published. Then the keys that seal what clients carry:\n"
                 "the current one seals, all of them open.",
        .method = "causeway.keys.list",
        .has_json = true,
        .print = print_list,
    };
    return cw_cli_rights_run(&command, argc, argv);
}

/* ---- rotate ---- */

typedef struct rotation {
    bool is_now, is_lost, is_seal;
} rotation;

static void write_rotation(cw_json_writer *w, const void *ctx)
{
    const rotation *r = ctx;
    cw_json_add_bool_member(w, CW_STR("now"), r->is_now);
    cw_json_add_bool_member(w, CW_STR("lost"), r->is_lost);
    cw_json_add_bool_member(w, CW_STR("seal"), r->is_seal);
}

static int rotate(cw_cli_rights *a, const rotation *r)
{
    const cw_json *result = NULL;
    int code = cw_cli_admin_call(&a->admin, "causeway.keys.rotate", write_rotation, r, &result);
    if (code >= 0)
        return code;
    cw_str id = cw_cli_admin_text(result, "current");
    char since[CW_CLOCK_ISO_LEN + 1];
    cw_clock_format_iso(cw_cli_admin_number(result, "since"), since);
    if (r->is_seal)
        cw_buf_printf(&a->out, "key %.*s seals what clients carry from %s on\n", CW_STR_ARG(id),
                      since);
    else if (id.n)
        cw_buf_printf(&a->out, "key %.*s signs access tokens\n", CW_STR_ARG(id));
    else
        cw_buf_add(&a->out, CW_STR("the keys are old; the server makes new ones\n"));
    return -1;
}

static int run_rotate(int argc, char **argv)
{
    cw_cli_rights a = {0};
    rotation r = {0};
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&a.target),
        {"now", 0, CW_CLI_FLAG, &r.is_now, NULL,
         "also if the next key was published less than 24 h\n"
         "ago; with --seal: also if sessions end"},
        {"lost", 0, CW_CLI_FLAG, &r.is_lost, NULL,
         "the secret that sealed the keys is lost: make new\nones"},
        {"seal", 0, CW_CLI_FLAG, &r.is_seal, NULL,
         "rotate the key that seals what clients carry instead"},
        {0},
    };
    const cw_cli_spec spec = {
        "key rotate", "",
        "Sign access tokens with the next key. The current key stays published until its\n"
        "last token has expired, and an hour longer.\n"
        "With --seal: make a key that seals what clients carry, such as MCP sessions. It\n"
        "seals after 10 s, when all servers of the database know it. The three newest\n"
        "keys open. An older one is removed, and what it has sealed ends.",
        options, 0};
    cw_cli_args args = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code < 0)
        code = cw_cli_rights_open(&a);
    if (code >= 0)
        return code;
    cw_cli_rights_change(&a, spec.name, r.is_seal ? "seal" : "", NULL);
    return cw_cli_rights_close(&a, rotate(&a, &r));
}

int cw_cli_key(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"list", "list keys", run_list},
        {"rotate", "sign with the next key, or seal with a new one", run_rotate},
        {0},
    };
    static const cw_cli_group group = {
        "causeway key",
        "Manage the keys that sign access tokens of the built-in authorization server\n"
        "(access.server.token_format: jwt), and the keys that seal what clients carry.\n"
        "If a server runs with this configuration, it makes the changes.",
        "\"causeway help key COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
