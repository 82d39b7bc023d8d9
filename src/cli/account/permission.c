/* SPDX-License-Identifier: GPL-2.0-or-later */
/* permission: lists the permissions that roles grant and methods require. */
#include "access/gate.h"
#include "cli/lib/cli.h"
#include "cli/lib/db.h"

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

static cw_code list(cw_cli_db *a)
{
    cw_name_list all = {0};
    cw_json_writer w;
    cw_arena_init(&all.arena, CW_CLI_OUTPUT_MAX);
    cw_code rc = collect(a, &all);
    if (rc == CW_NOMEM || rc == CW_LIMIT)
        cw_fail(&a->err, rc, "%s", cw_code_text(rc));
    cw_json_writer_init(&w, &a->out, CW_JSON_INDENT);
    if (a->json)
        cw_json_open_array(&w);
    for (size_t i = 0; i < all.n && !rc; i++) {
        if (a->json) {
            cw_json_add_string(&w, all.items[i]);
            continue;
        }
        cw_cli_add_text(&a->out, all.items[i]);
        cw_buf_add_char(&a->out, '\n');
    }
    if (a->json) {
        cw_json_close(&w);
        cw_cli_end_json(&w);
    }
    cw_arena_done(&all.arena);
    return rc;
}

static int run_list(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "permission list",
        .args = "",
        .about = "List the permissions that Causeway itself requires, and those of the roles.\n"
                 "\"plugin check\" prints the permissions that a plugin's methods require.",
        .has_json = true,
        .run = list,
    };
    return cw_cli_db_run(&command, argc, argv);
}

int cw_cli_permission(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"list", "list permissions", run_list},
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
