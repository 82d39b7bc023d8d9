/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client: registers, lists, removes and denies OAuth clients. */
#include <stdio.h>

#include "cli/account/rights.h"

/* ---- add ---- */

typedef struct new_client {
    const char *id;
    const char *name; /* or NULL */
    cw_cli_texts addresses, ceiling;
    bool has_secret;
} new_client;

static void write_texts(cw_json_writer *w, cw_str name, const cw_cli_texts *texts)
{
    cw_json_add_key(w, name);
    cw_json_open_array(w);
    for (size_t i = 0; i < texts->n; i++)
        cw_json_add_string(w, cw_str_from(texts->items[i]));
    cw_json_close(w);
}

static void write_client(cw_json_writer *w, const void *ctx)
{
    const new_client *n = ctx;
    cw_json_add_string_member(w, CW_STR("id"), cw_str_from(n->id));
    if (n->name)
        cw_json_add_string_member(w, CW_STR("name"), cw_str_from(n->name));
    write_texts(w, CW_STR("redirect_uris"), &n->addresses);
    write_texts(w, CW_STR("ceiling"), &n->ceiling);
    cw_json_add_bool_member(w, CW_STR("secret"), n->has_secret);
}

/* Only the secret goes to standard output. */
static int add(cw_cli_rights *a, const new_client *n)
{
    const cw_json *result = NULL;
    int code = cw_cli_admin_call(&a->admin, "causeway.clients.add", write_client, n, &result);
    if (code >= 0)
        return code;
    cw_str secret = cw_cli_admin_text(result, "secret");
    if (!secret.n) {
        fprintf(stderr, "causeway: client %s is registered; it has no secret\n", n->id);
        return -1;
    }
    fprintf(stderr, "causeway: client %s is registered; its secret is shown this once\n", n->id);
    cw_buf_add(&a->out, secret);
    cw_buf_add_char(&a->out, '\n');
    return -1;
}

static int run_add(int argc, char **argv)
{
    cw_cli_rights a = {0};
    new_client n = {0};
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&a.target),
        {"name", 'n', CW_CLI_TEXT, &n.name, "TEXT", "name that people see; default: the id"},
        {"redirect-uri", 'r', CW_CLI_TEXTS, &n.addresses, "URL",
         "address to which codes may be sent; may be repeated"},
        {"ceiling", 0, CW_CLI_TEXTS, &n.ceiling, "ROLE",
         "role that bounds its grants; may be repeated"},
        {"secret", 's', CW_CLI_FLAG, &n.has_secret, NULL, "make a secret and print it"},
        {0},
    };
    const cw_cli_spec spec = {
        "client add", "CLIENT-ID",
        "Register an OAuth client of the built-in authorization server. With --secret\n"
        "its secret is printed, only once, because only its hash is stored.",
        options, 1};
    cw_cli_args args = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n == 0)
        return cw_cli_usage("name the id of the client");
    n.id = args.items[0];
    if (n.addresses.n == 0)
        return cw_cli_usage("name an address with --redirect-uri");
    code = cw_cli_rights_open(&a);
    if (code >= 0)
        return code;
    cw_cli_rights_change(&a, spec.name, n.id, NULL);
    return cw_cli_rights_close(&a, add(&a, &n));
}

/* ---- list, remove, deny ---- */

static void add_row(cw_cli_table *t, const cw_json *client)
{
    cw_cli_table_add(t, cw_cli_admin_text(client, "id"));
    cw_cli_table_add(t, cw_cli_admin_text(client, "name"));
    cw_cli_table_add(t, cw_cli_admin_text(client, "state"));
    cw_cli_rights_add_texts(t, cw_json_get(client, CW_STR("redirect_uris")));
}

static void print_list(cw_cli_rights *a, const cw_json *result)
{
    static const cw_cli_column columns[] = {
        {"ID", 24, false}, {"NAME", 24, false}, {"STATE", 10, false}, {"REDIRECT URIS", 0, false}};
    cw_cli_rights_print_list(a, cw_json_get(result, CW_STR("clients")), columns, CW_COUNT(columns),
                             add_row);
}

static int run_list(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "client list",
        .args = "",
        .about = "List the OAuth clients that an operator registered or denied.",
        .method = "causeway.clients.list",
        .has_json = true,
        .print = print_list,
    };
    return cw_cli_rights_run(&command, argc, argv);
}

static int run_remove(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "client remove",
        .args = "CLIENT-ID",
        .about = "Remove a client that was registered or denied, and end its grants.",
        .method = "causeway.clients.remove",
        .params = {"id"},
        .min_args = 1,
        .done = "client % is removed",
    };
    return cw_cli_rights_run(&command, argc, argv);
}

static int run_deny(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "client deny",
        .args = "CLIENT-ID",
        .about = "Deny an OAuth client of any kind, and end its grants.\n"
                 "\"client remove\" undoes it.",
        .method = "causeway.clients.deny",
        .params = {"id"},
        .min_args = 1,
        .done = "client % is denied",
    };
    return cw_cli_rights_run(&command, argc, argv);
}

int cw_cli_client(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"add", "register a client", run_add},
        {"list", "list clients", run_list},
        {"remove", "remove a client", run_remove},
        {"deny", "deny a client of any kind", run_deny},
        {0},
    };
    static const cw_cli_group group = {
        "causeway client",
        "Manage the OAuth clients of the built-in authorization server. If a server runs\n"
        "with this configuration, it makes the changes.",
        "\"causeway help client COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
