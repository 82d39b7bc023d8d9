/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oauth_challenge.c - addresses and scopes for OAuth clients. */
#include "door/oauth_challenge.h"

#include <stdlib.h>

#include "access/gate.h"
#include "access/scopes.h"
#include "base/ascii.h"
#include "base/sort.h"
#include "config/toolset_path.h"

bool cw_oauth_resource_has_issuers(const cw_runtime_loop *rl)
{
    const cw_accounts *accounts = cw_runtime_accounts(rl);
    return accounts && (cw_accounts_has_issuers(accounts) || cw_accounts_has_oauth(accounts));
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

/* Scheme and authority of a URL, in lower case and without a default port; .p is NULL without
 * memory. */
static cw_str origin_of(cw_str url, cw_arena *arena)
{
    cw_str path = cw_oauth_resource_path(url);
    char *text = cw_arena_printf(arena, "%.*s", (int)(url.n - path.n), url.p);
    if (!text)
        return (cw_str){NULL, 0};
    for (char *p = text; *p; p++)
        *p = cw_is_upper(*p) ? (char)(*p | 0x20) : *p;
    cw_str origin = cw_str_from(text);
    cw_str port = cw_str_starts(origin, CW_STR("https:")) ? CW_STR(":443") : CW_STR(":80");
    return cw_str_make(origin.p, cw_str_ends(origin, port) ? origin.n - port.n : origin.n);
}

/* The text behind a name of this machine: a port, or nothing; .p is NULL for another host. */
static cw_str after_loopback(cw_str origin)
{
    static const char *const names[] = {"http://localhost", "http://127.0.0.1", "http://[::1]"};
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        cw_str name = cw_str_from(names[i]);
        bool is_it = cw_str_starts(origin, name) && (origin.n == name.n || origin.p[name.n] == ':');
        if (is_it)
            return cw_str_make(origin.p + name.n, origin.n - name.n);
    }
    return (cw_str){NULL, 0};
}

static bool same_server(cw_str a, cw_str b, bool is_local)
{
    cw_str port_a = after_loopback(a), port_b = after_loopback(b);
    return cw_str_eq(a, b) || (is_local && port_a.p && port_b.p && cw_str_eq(port_a, port_b));
}

static bool is_resource(const cw_config *config, cw_str path)
{
    cw_config_toolset_path at;
    return !path.n || cw_str_eq(path, config->mcp.path) ||
           (cw_config_toolset_path_parse(path, config->mcp.path, &at) && cw_str_eq(at.path, path) &&
            cw_config_toolset_path_is_known(config, at.name));
}

cw_code cw_oauth_resource_match(cw_http_req *req, const cw_runtime_loop *rl, cw_str url,
                                cw_str *ret_path)
{
    const cw_config *config = cw_runtime_config(rl);
    cw_arena *arena = cw_http_req_arena(req);
    cw_str base = cw_oauth_resource_base(req, rl, NULL);
    cw_str own = origin_of(base, arena), other = origin_of(url, arena);
    if (!base.p || !own.p || !other.p)
        return CW_NOMEM;
    cw_str prefix = cw_oauth_resource_path(base), path = cw_oauth_resource_path(url);
    if (!same_server(own, other, !config->public_url.n) || !cw_str_starts(path, prefix))
        return CW_INVALID;
    path = cw_str_make(path.p + prefix.n, path.n - prefix.n);
    if (path.n && path.p[path.n - 1] == '/')
        path.n--;
    if (!is_resource(config, path))
        return CW_INVALID;
    *ret_path = cw_arena_dup_str(arena, path);
    return ret_path->p ? CW_OK : CW_NOMEM;
}

bool cw_oauth_resource_covers(const cw_config *config, cw_str resource, cw_str path)
{
    if (!resource.n || cw_str_eq(resource, config->mcp.path))
        return true;
    return cw_str_starts(path, resource) && (path.n == resource.n || path.p[resource.n] == '/');
}

/* ---- scopes ---- */

#define OFFLINE "offline_access"

static bool is_shown(cw_str scope)
{
    /* How long a login lasts is between the client and its authorization server. */
    return cw_scope_is_token(scope) && !cw_str_is(scope, OFFLINE);
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

/* A request may repeat a scope as often as its size allows, so `is_taken` marks those that were found. */
static cw_code choose(const cw_oauth_scope_list *known, cw_str asked, bool *is_taken,
                      cw_oauth_asked_scopes *ret)
{
    bool is_any = false;
    while (asked.n) {
        cw_str scope = cw_str_cut(asked, ' ', &asked);
        const cw_str *found =
            bsearch(&scope, known->items, known->n, sizeof *known->items, cw_sort_texts);
        is_any = is_any || scope.n;
        if (cw_str_is(scope, OFFLINE))
            ret->is_offline = true;
        if (!found || is_taken[found - known->items])
            continue;
        is_taken[found - known->items] = true;
        ret->items[ret->n++] = scope;
    }
    return !is_any || ret->n || ret->is_offline ? CW_OK : CW_NOTFOUND;
}

cw_code cw_oauth_resource_choose_scopes(cw_runtime_loop *rl, cw_str asked, cw_arena *arena,
                                        cw_oauth_asked_scopes *ret)
{
    cw_oauth_scope_list known;
    if (cw_oauth_resource_scopes(rl, &known))
        return CW_NOMEM;
    bool *is_taken = cw_arena_calloc(arena, known.n + 1, sizeof *is_taken);
    *ret =
        (cw_oauth_asked_scopes){.items = cw_arena_calloc(arena, known.n + 1, sizeof *ret->items)};
    cw_code rc =
        is_taken && ret->items ? choose(&known, asked, is_taken, ret) : cw_arena_code(arena);
    free(known.items);
    return rc;
}
