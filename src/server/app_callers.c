/* SPDX-License-Identifier: GPL-2.0-or-later */
/* app_callers.c - callers that no credentials name. */
#include "server/app_callers.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>

#include "admin/admin.h"

cw_code cw_app_new_operator(uid_t uid, cw_caller **ret, cw_err *err)
{
    static const cw_str permissions[] = {
        CW_STR_INIT("access mcp tool discovery"),      CW_STR_INIT("use jsonrpc services"),
        CW_STR_INIT(CW_PERMISSION_VIEW_TRAFFIC),       CW_STR_INIT(CW_PERMISSION_VIEW_AUDIT),
        CW_STR_INIT(CW_PERMISSION_VIEW_ARGUMENTS),     CW_STR_INIT(CW_PERMISSION_ADMINISTER_ACCESS),
        CW_STR_INIT(CW_PERMISSION_ADMINISTER_SOURCES), CW_STR_INIT("view metrics"),
        CW_STR_INIT(CW_PERMISSION_USE_CONSOLE),
    };
    char id[32];
    const struct passwd *user = getpwuid(uid);
    snprintf(id, sizeof id, "uid:%u", (unsigned)uid);
    cw_caller_opts opts = {.id = cw_str_from(id),
                           .name = cw_str_from(user ? user->pw_name : id),
                           .permissions = permissions,
                           .n_permissions = CW_COUNT(permissions)};
    return cw_caller_new(&opts, ret, err);
}

cw_code cw_app_new_guest(const cw_config *config, cw_caller **ret, cw_err *err)
{
    static const cw_str added[] = {CW_STR_INIT(CW_PERMISSION_VIEW_TRAFFIC),
                                   CW_STR_INIT(CW_PERMISSION_USE_CONSOLE)};
    const cw_config_strings *own = NULL;
    for (size_t i = 0; i < config->roles.n; i++) {
        if (cw_str_is(config->roles.items[i].name, CW_ROLE_ANONYMOUS))
            own = &config->roles.items[i].permissions;
    }
    size_t n = own ? own->n : 0;
    cw_str *all = calloc(n + CW_COUNT(added), sizeof *all);
    if (!all)
        return cw_fail_nomem(err);
    if (n)
        memcpy(all, own->items, n * sizeof *all);
    memcpy(all + n, added, sizeof added);
    cw_code rc = cw_caller_new_confined(all, n + CW_COUNT(added), ret, err);
    free(all);
    return rc;
}
