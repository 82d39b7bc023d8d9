/* SPDX-License-Identifier: GPL-2.0-or-later */
/* permission: what roles allow and methods ask for. */
#include "access/gate.h"
#include "cli/lib/table.h"

static cw_code on_pair(void *ctx, cw_str role, cw_str permission, const char *from)
{
    (void)role;
    (void)from;
    return permission.n ? cw_name_list_add(ctx, permission) : CW_OK;
}

/* Our own, and those that some role has. */
static cw_code collect(cw_cli_db *a, cw_name_list *all)
{
    cw_code rc = cw_name_list_add(all, CW_PERMISSION_DISCOVER);
    if (!rc)
        rc = cw_name_list_add(all, CW_PERMISSION_CALL);
    if (!rc)
        rc = cw_cli_walk_roles(a, on_pair, all);
    if (!rc)
        all->n = cw_requirements_sort(all->items, all->n);
    return rc;
}

static cw_code list_permissions(cw_cli_db *a, bool json)
{
    cw_name_list all = {0};
    cw_json_writer w;
    cw_arena_init(&all.arena, CW_CLI_DB_MAX_BYTES);
    cw_code rc = collect(a, &all);
    if (rc == CW_NOMEM || rc == CW_LIMIT)
        cw_fail(&a->err, rc, "%s", cw_code_text(rc));
    cw_json_writer_init(&w, &a->out, CW_JSON_INDENT);
    if (json)
        cw_json_open_array(&w);
    for (size_t i = 0; i < all.n && !rc; i++) {
        if (json) {
            cw_json_add_string(&w, all.items[i]);
            continue;
        }
        cw_cli_table_add_text(&a->out, all.items[i]);
        cw_buf_add_char(&a->out, '\n');
    }
    if (json) {
        cw_json_close(&w);
        (void)!cw_json_writer_end(&w, NULL); /* sticky in the buffer */
        cw_buf_add_char(&a->out, '\n');
    }
    cw_arena_done(&all.arena);
    return rc;
}

static int run_permissions(int argc, char **argv)
{
    const char *config = NULL;
    bool json = false;
    const cw_cli_option options[] = {CW_CLI_CONFIG_OPTION(&config), CW_CLI_JSON_OPTION(&json), {0}};
    const cw_cli_spec spec = {
        "permission list", "",
        "List the permissions that Causeway itself requires, and those of the roles.\n"
        "\"plugin check\" prints the permissions that a plugin's methods require.",
        options, 0};
    cw_cli_db a = {0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code < 0)
        code = cw_cli_db_open(config, /* may_create= */ false, &a);
    return code >= 0 ? code : cw_cli_db_close(&a, list_permissions(&a, json));
}

int cw_cli_permission(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"list", "list permissions", run_permissions},
        {0},
    };
    static const cw_cli_group group = {
        "causeway permission",
        "Permissions, which roles grant and methods require.",
        "\"causeway help permission COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
