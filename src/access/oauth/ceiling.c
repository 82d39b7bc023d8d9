/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceiling.c - permissions of an account, bounded by roles. */
#include "access/oauth/ceiling.h"

#include <stdlib.h>

#include "access/caller.h"
#include "access/gate.h"
#include "base/sort.h"

static bool is_administration(cw_str permission)
{
    static const char *const others[] = {"use console", "view traffic", "view metrics",
                                         "view audit", "view arguments"};
    if (cw_str_starts(permission, CW_STR("administer ")))
        return true;
    for (size_t i = 0; i < CW_COUNT(others); i++) {
        if (cw_str_is(permission, others[i]))
            return true;
    }
    return false;
}

static cw_code collect(cw_rights *ceiling, const cw_str *roles, size_t n, cw_err *err)
{
    /* Every caller has these, also without a token. */
    cw_code rc = cw_rights_add_role(ceiling, cw_str_from(CW_ROLE_ANONYMOUS), err);
    for (size_t i = 0; i < n && !rc; i++)
        rc = cw_rights_add_role(ceiling, roles[i], err);
    if (!rc)
        ceiling->n = cw_requirements_sort(ceiling->items, ceiling->n);
    return rc;
}

cw_code cw_oauth_ceiling_apply(cw_rights *rights, const cw_oauth_settings *settings,
                               const cw_oauth_client *client, cw_err *err)
{
    bool has_own = client->n_ceiling > 0;
    const cw_str *roles = has_own ? client->ceiling : settings->ceiling;
    size_t n_roles = has_own ? client->n_ceiling : settings->n_ceiling, kept = 0;
    cw_rights ceiling = {.arena = rights->arena, .db = rights->db, .roles = rights->roles};
    cw_code rc = n_roles ? collect(&ceiling, roles, n_roles, err) : CW_OK;
    for (size_t i = 0; i < rights->n && !rc; i++) {
        cw_str permission = rights->items[i];
        bool may = n_roles ? ceiling.n && bsearch(&permission, ceiling.items, ceiling.n,
                                                  sizeof *ceiling.items, cw_sort_texts)
                           : !is_administration(permission);
        if (may)
            rights->items[kept++] = permission;
    }
    if (!rc)
        rights->n = kept;
    return rc;
}
