/* SPDX-License-Identifier: GPL-2.0-or-later */
/* issuers.c - issuer options from a configuration, with the secrets from their files. */
#include "server/options/issuers.h"

#include <sodium.h>

#include "base/file.h"
#include "config/toolset_path.h"

#define LIST_MAX_BYTES ((size_t)4 << 20)
#define SECRET_MAX 1024u

/* ---- audiences ---- */

/* Our resource identifiers: everything that we serve, and the endpoint for MCP clients. */
static cw_code default_audience(cw_issuer_list *list, const cw_config *config,
                                cw_config_strings *ret, cw_err *err)
{
    cw_str *all = cw_arena_calloc(&list->arena, 2, sizeof *all);
    char *endpoint =
        cw_arena_printf(&list->arena, "%s%s", config->public_url.p, config->mcp.path.p);
    if (!all || !endpoint)
        return cw_arena_fail(&list->arena, err);
    all[0] = config->public_url;
    all[1] = cw_str_from(endpoint);
    *ret = (cw_config_strings){all, 2};
    return CW_OK;
}

/* An audience that is the endpoint covers its toolsets: clients ask for a token for the address that
 * they were given. */
static cw_code cover_toolsets(cw_issuer_list *list, const cw_config *config,
                              cw_config_strings audiences, cw_jwt_rules *rules, cw_err *err)
{
    static const char *const ends[] = {"", CW_CONFIG_TOOLSET_READ_ONLY};
    size_t each = CW_COUNT(ends) * config->toolsets.n, n = 0;
    cw_str *all = cw_arena_calloc(&list->arena, audiences.n * (1 + each), sizeof *all);
    if (!all)
        return cw_arena_fail(&list->arena, err);
    for (size_t i = 0; i < audiences.n; i++) {
        cw_str audience = all[n++] = audiences.items[i];
        for (size_t j = 0; j < each && cw_str_ends(audience, config->mcp.path); j++) {
            char *address = cw_arena_printf(
                &list->arena, "%s" CW_CONFIG_TOOLSET_PATH "%s%s", audience.p,
                config->toolsets.items[j / CW_COUNT(ends)].name.p, ends[j % CW_COUNT(ends)]);
            if (!address)
                return cw_arena_fail(&list->arena, err);
            all[n++] = cw_str_from(address);
        }
    }
    rules->audiences = all;
    rules->n_audiences = n;
    return CW_OK;
}

static cw_code take_audiences(cw_issuer_list *list, const cw_config *config,
                              const cw_config_issuer *c, cw_jwt_rules *rules, cw_err *err)
{
    cw_config_strings audiences = c->audience;
    cw_code rc = audiences.n ? CW_OK : default_audience(list, config, &audiences, err);
    return rc ? rc : cover_toolsets(list, config, audiences, rules, err);
}

static cw_code take_grants(cw_issuer_list *list, const cw_config_issuer *c, cw_issuer_opts *o,
                           cw_err *err)
{
    cw_issuer_grant *grants =
        cw_arena_calloc(&list->arena, c->scopes.n ? c->scopes.n : 1, sizeof *grants);
    if (!grants)
        return cw_arena_fail(&list->arena, err);
    for (size_t i = 0; i < c->scopes.n; i++) {
        const cw_config_role *scope = &c->scopes.items[i];
        grants[i] = (cw_issuer_grant){scope->name, scope->permissions.items, scope->permissions.n};
    }
    o->grants = grants;
    o->n_grants = c->scopes.n;
    return CW_OK;
}

/* The first line of the file. */
static cw_code read_secret(cw_issuer_list *list, cw_str path, cw_str *ret, cw_err *err)
{
    cw_buf b;
    cw_buf_init(&b, SECRET_MAX);
    cw_code rc = cw_file_read(path.p, CW_FILE_PLAIN, &b, err);
    cw_str rest;
    cw_str line = cw_str_cut(cw_buf_str(&b), '\n', &rest);
    if (!rc && line.n == 0)
        rc = cw_fail(err, CW_CONFIG, "'%s' has no secret in it", path.p);
    if (!rc) {
        *ret = cw_arena_dup_str(&list->arena, line);
        rc = ret->p ? CW_OK : cw_arena_fail(&list->arena, err);
    }
    if (b.p)
        sodium_memzero(b.p, b.n);
    cw_buf_done(&b);
    return rc;
}

static cw_code take_issuer(cw_issuer_list *list, const cw_config *config, const cw_config_issuer *c,
                           cw_issuer_opts *o, cw_err *err)
{
    unsigned algs = 0;
    for (size_t i = 0; i < c->algorithms.n; i++) {
        cw_jose_alg alg;
        if (cw_jose_alg_parse(c->algorithms.items[i], &alg))
            algs |= alg;
    }
    *o = (cw_issuer_opts){
        .rules = {.issuer = c->issuer,
                  .names_account = c->account.n > 0,
                  .roles = c->roles.items,
                  .n_roles = c->roles.n,
                  .algs = algs,
                  .leeway_s = c->leeway_ms / 1000,
                  .allow_missing_typ = c->allow_missing_typ},
        .jwks_uri = c->jwks_uri,
        .account = c->account,
        .introspection = c->introspection,
        .client_id = c->client_id,
        .token_prefix = c->token_prefix,
        .ca_file = c->ca_file,
        .allow_private = c->allow_private,
    };
    cw_code rc = take_audiences(list, config, c, &o->rules, err);
    if (!rc)
        rc = take_grants(list, c, o, err);
    if (!rc && c->client_id.n)
        rc = read_secret(list, c->client_secret_file, &o->client_secret, err);
    return rc;
}

cw_code cw_issuer_list_init(cw_issuer_list *list, const cw_config *config, cw_err *err)
{
    const cw_config_issuers *all = &config->access.issuers;
    *list = (cw_issuer_list){.n = all->n};
    cw_arena_init(&list->arena, LIST_MAX_BYTES);
    list->items = cw_arena_calloc(&list->arena, all->n ? all->n : 1, sizeof *list->items);
    if (!list->items)
        return cw_arena_fail(&list->arena, err);
    cw_code rc = CW_OK;
    for (size_t i = 0; i < all->n && !rc; i++)
        rc = take_issuer(list, config, &all->items[i], &list->items[i], err);
    return rc;
}

void cw_issuer_list_done(cw_issuer_list *list)
{
    for (size_t i = 0; list->items && i < list->n; i++) {
        cw_str secret = list->items[i].client_secret;
        if (secret.p)
            sodium_memzero((char *)(uintptr_t)secret.p, secret.n);
    }
    cw_arena_done(&list->arena);
}
