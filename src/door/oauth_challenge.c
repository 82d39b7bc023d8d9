/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oauth_challenge.c - addresses and scopes for OAuth clients. */
#include "door/oauth_challenge.h"

#include <stdlib.h>

#include "access/gate.h"
#include "access/scopes.h"
#include "config/toolset_path.h"

bool cw_oauth_resource_has_issuers(const cw_runtime_loop *rl)
{
    const cw_accounts *accounts = cw_runtime_accounts(rl);
    return accounts && cw_accounts_has_issuers(accounts);
}

/* ---- addresses ---- */

cw_str cw_oauth_resource_base(cw_http_req *req, const cw_runtime_loop *rl, bool *ret_known)
{
    bool unused;
    bool *is_known = ret_known ? ret_known : &unused;
    cw_str public_url = cw_runtime_config(rl)->public_url;
    *is_known = true;
    if (public_url.n)
        return cw_arena_dup_str(cw_http_req_arena(req), public_url);
    return cw_http_req_origin(req, is_known);
}

cw_str cw_oauth_resource_path(cw_str url)
{
    size_t at = 0, slashes = 0;
    for (; at < url.n && slashes < 3; at++)
        slashes += url.p[at] == '/';
    return slashes < 3 ? CW_STR("") : cw_str_make(url.p + at - 1, url.n - at + 1);
}

cw_str cw_oauth_resource_endpoint(const cw_http_req *req, const cw_config *config)
{
    cw_config_toolset_path at;
    bool is_toolset = cw_config_toolset_path_parse(cw_http_req_path(req), config->mcp.path, &at) &&
                      cw_config_toolset_path_is_known(config, at.name);
    return is_toolset ? at.path : config->mcp.path;
}

/* ---- scopes ---- */

static bool is_shown(cw_str scope)
{
    /* How long a login lasts is between the client and its authorization server. */
    return cw_scope_is_token(scope) && !cw_str_is(scope, "offline_access");
}

/* The scopes of all tools, or of the tools that the anonymous caller sees; a tool without
 * requirements adds none. */
cw_code cw_oauth_resource_scopes(cw_runtime_loop *rl, cw_oauth_scope_list *list)
{
    cw_view *anonymous = cw_runtime_anonymous(rl);
    size_t n, max = 0;
    const cw_requirements *classes = cw_snapshot_classes(cw_view_snapshot(anonymous), &n);
    for (size_t i = 0; i < n; i++)
        max += classes[i].n_scopes;
    list->n = 0;
    list->items = calloc(max + 1, sizeof *list->items);
    if (!list->items)
        return CW_NOMEM;
    for (size_t i = 0; i < n; i++) {
        bool shows_all = cw_runtime_config(rl)->access.shows_all_scopes;
        if (classes[i].level == CW_AUTH_NONE)
            continue;
        if (!shows_all &&
            cw_gate_check(cw_view_caller(anonymous), &classes[i]) == CW_VERDICT_HIDDEN)
            continue;
        for (size_t j = 0; j < classes[i].n_scopes; j++) {
            if (is_shown(classes[i].scopes[j]))
                list->items[list->n++] = classes[i].scopes[j];
        }
    }
    list->n = cw_requirements_sort(list->items, list->n);
    return CW_OK;
}
