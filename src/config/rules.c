/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rules.c - rules that involve more than one key. */
#include "config/rules.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/limits.h"
#include "base/map.h"
#include "config/syntax/names.h"

/* The value of a key in the file, or NULL when it has its default. `name` may be NULL. */
static const cw_json *find(const cw_checker *c, const char *section, const char *name)
{
    const cw_json *v = c->doc ? cw_json_get(c->doc->root, cw_str_from(section)) : NULL;
    return v && name ? cw_json_get(v, cw_str_from(name)) : v;
}

/* Report at the key limits.NAME (or another section), at its value in the file, else at `at`. */
CW_PRINTF(5, 6)
static cw_code complain(cw_checker *c, const char *section, const char *name, const cw_json *at,
                        const char *fmt, ...)
{
    const cw_place root = {0};
    const cw_place top = {.up = &root, .name = cw_str_from(section)};
    const cw_place place = {.up = &top, .name = cw_str_from(name)};
    const cw_json *v = find(c, section, name);
    char message[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    return cw_check_problem(c, &place, v ? v : at, "%s", message);
}

/* Report that item `i` of the list with the value `v` has the same `what` as item `first`. */
static cw_code report_same(cw_checker *c, const cw_place *list, const cw_json *v, size_t i,
                           const char *what, size_t first)
{
    const cw_place item = {.up = list, .index = i};
    return cw_check_problem(c, &item, cw_json_at(v, i), "the same %s as %.*s[%zu]", what,
                            CW_STR_ARG(list->name), first);
}

#define TLS_MISSING "a listener with tls needs tls.certificate and tls.key"

static bool has_tls(const cw_config_listener *l)
{
    return l->tls;
}

static bool has_proxy_protocol(const cw_config_listener *l)
{
    return l->proxy_protocol;
}

static bool any_has(const cw_config_listeners *listen, bool (*has)(const cw_config_listener *))
{
    for (size_t i = 0; i < listen->n; i++) {
        if (has(&listen->items[i]))
            return true;
    }
    return false;
}

/* Report the first listener that has something which another key must permit. */
static cw_code check_no_listener(cw_checker *c, const cw_config *config,
                                 bool (*has)(const cw_config_listener *), const char *problem)
{
    if (any_has(&config->metrics.listen, has))
        return complain(c, "metrics", "listen", NULL, "%s", problem);
    if (any_has(&config->console.listen, has))
        return complain(c, "console", "listen", NULL, "%s", problem);
    const cw_place root = {0};
    const cw_place list = {.up = &root, .name = CW_STR("listen")};
    for (size_t i = 0; i < config->listen.n; i++) {
        if (!has(&config->listen.items[i]))
            continue;
        const cw_json *v = find(c, "listen", NULL);
        const cw_place item = {.up = &list, .index = i};
        bool is_list = cw_json_is(v, CW_JSON_ARRAY);
        const cw_json *at = is_list ? cw_json_at(v, i) : v;
        return cw_check_problem(c, is_list ? &item : &list, at, "%s", problem);
    }
    return CW_OK;
}

static cw_code check_tls(cw_checker *c, const cw_config *config)
{
    bool has_certificate = config->tls.certificate.n > 0;
    bool has_key = config->tls.key.n > 0;
    if (has_certificate && !has_key)
        return complain(c, "tls", "key", find(c, "tls", "certificate"),
                        "missing; a certificate needs its key");
    if (has_key && !has_certificate)
        return complain(c, "tls", "certificate", find(c, "tls", "key"),
                        "missing; a key needs its certificate");
    if (has_key)
        return CW_OK;
    return check_no_listener(c, config, has_tls, TLS_MISSING);
}

static cw_code check_balancers(cw_checker *c, const cw_config *config)
{
    if (config->trusted_proxies.n)
        return CW_OK;
    return check_no_listener(c, config, has_proxy_protocol,
                             "a listener with proxy_protocol needs trusted_proxies");
}

/* The same port of the same address twice cannot work; port 0 picks another each time. */
static cw_code check_listeners(cw_checker *c, const cw_config *config)
{
    const cw_place root = {0};
    const cw_place list = {.up = &root, .name = CW_STR("listen")};
    for (size_t i = 1; i < config->listen.n; i++) {
        const cw_config_address *a = &config->listen.items[i].address;
        if (!a->unix_path.n && !a->port)
            continue;
        for (size_t j = 0; j < i; j++) {
            if (!cw_str_eq(a->text, config->listen.items[j].address.text))
                continue;
            const cw_place item = {.up = &list, .index = i};
            const cw_json *v = find(c, "listen", NULL);
            cw_code rc = cw_check_problem(c, &item, v ? cw_json_at(v, i) : NULL,
                                          "the same address as listen[%zu]", j);
            if (rc)
                return rc;
            break;
        }
    }
    return CW_OK;
}

/* Two limits of which the first may not exceed the second. The one that the file sets is blamed,
 * the smaller one when it sets both. */
static cw_code check_order(cw_checker *c, const char *small_name, uint64_t small,
                           const char *large_name, uint64_t large)
{
    if (small <= large)
        return CW_OK;
    if (find(c, "limits", small_name))
        return complain(c, "limits", small_name, NULL,
                        "%" PRIu64 " is more than limits.%s, %" PRIu64, small, large_name, large);
    return complain(c, "limits", large_name, NULL, "%" PRIu64 " is less than limits.%s, %" PRIu64,
                    large, small_name, small);
}

static cw_code check_limits(cw_checker *c, const cw_config *config)
{
    cw_code rc = check_order(c, "target_size", config->limits.target_size, "header_size",
                             config->limits.header_size);
    if (rc)
        return rc;
    return check_order(c, "connections_per_address", config->limits.connections_per_address,
                       "connections", config->limits.connections);
}

/* Paths of the other doors: config stands below them, and a test holds the two together. */
static cw_code check_path(cw_checker *c, const cw_config *config)
{
    static const char *const taken[] = {
        "/healthz",          "/readyz",
        "/jsonrpc",          "/jsonrpc/methods",
        "/mcp/tools/list",   "/mcp/tools/describe",
        "/mcp/tools/invoke", "/.well-known/mcp.json",
        "/logout",           "/session/token",
        "/console",          "/",
    };
    const cw_place root = {0};
    const cw_place access = {.up = &root, .name = CW_STR("access")};
    const cw_place login = {.up = &access, .name = CW_STR("login")};
    const cw_place path = {.up = &login, .name = CW_STR("path")};
    const cw_json *section = find(c, "access", "login");
    const cw_json *v = section ? cw_json_get(section, CW_STR("path")) : NULL;
    for (size_t i = 0; i < CW_COUNT(taken); i++) {
        if (cw_str_is(config->mcp.path, taken[i]))
            return complain(c, "mcp", "path", NULL, "%s is something else already", taken[i]);
        if (cw_str_is(config->access.login.path, taken[i]))
            return cw_check_problem(c, &path, v, "%s is something else already", taken[i]);
        bool is_own = cw_str_eq(cw_str_from(taken[i]), CW_STR("/console"));
        if (cw_str_is(config->console.path, taken[i]) && !is_own)
            return complain(c, "console", "path", NULL, "%s is something else already", taken[i]);
    }
    if (cw_str_eq(config->mcp.path, config->access.login.path))
        return cw_check_problem(c, &path, v, "%.*s is mcp.path already",
                                CW_STR_ARG(config->mcp.path));
    return CW_OK;
}

static bool all_are_near(const cw_config_listeners *listen)
{
    for (size_t i = 0; i < listen->n; i++) {
        if (!cw_names_is_loopback(&listen->items[i].address))
            return false;
    }
    return true;
}

/* A host whose pages could read the cookie of the console is not the console's own. */
static cw_code check_console_host(cw_checker *c, const cw_config *config)
{
    cw_str host = config->console.host;
    for (size_t i = 0; i < config->hosts.n; i++) {
        cw_str rest;
        cw_str other = cw_str_cut(config->hosts.items[i], ':', &rest);
        if (cw_str_ieq(other, host))
            return complain(c, "console", "host", NULL,
                            "%.*s is an entry of hosts: the console needs a name of its own",
                            CW_STR_ARG(host));
    }
    const cw_config_listeners *own = &config->console.listen;
    if (cw_str_is(host, CW_CONSOLE_HOST) && !all_are_near(own->n ? own : &config->listen))
        return complain(c, "console", "host", find(c, "console", NULL),
                        "missing; %s is for listeners on loopback", CW_CONSOLE_HOST);
    return CW_OK;
}

/* USER:PASSWORD@ before the host, or a parameter. */
static bool has_password(cw_str url)
{
    cw_str rest, user, host;
    (void)cw_str_cut(url, ':', &rest);
    cw_str authority = cw_str_cut(cw_str_make(rest.p + 2, rest.n - 2), '/', &host);
    user = cw_str_cut(authority, '@', &host);
    return (host.p && memchr(user.p, ':', user.n)) || strstr(url.p, "password=");
}

/* A message quotes no URL: it may hold a password. */
static cw_code check_store(cw_checker *c, const cw_config *config)
{
    cw_str url = config->store.url;
    bool is_url =
        cw_str_starts(url, CW_STR("postgresql://")) || cw_str_starts(url, CW_STR("postgres://"));
    if (url.n && !is_url)
        return complain(c, "store", "url", NULL, "does not start with postgresql://");
    if (url.n && has_password(url))
        return complain(c, "store", "url", NULL,
                        "holds a password: move it to the file of store.password_file");
    if (config->store.path.n && url.n)
        return complain(c, "store", "url", NULL, "there is store.path already: use one of them");
    if (config->store.password_file.n && !url.n)
        return complain(c, "store", "password_file", NULL, "needs store.url");
    return CW_OK;
}

static cw_code check_approvals(cw_checker *c, const cw_config *config)
{
    if (!config->state.approvals_in_store)
        return CW_OK;
    if (!cw_config_store(config).n)
        return complain(c, "state", "approvals", NULL, "needs store.path or store.url");
    if (config->state.lock.n)
        return complain(c, "state", "lock", NULL,
                        "is not used with \"approvals: store\": remove one of them");
    return CW_OK;
}

/* A subscription is stored before it is answered: without a store, each one would be refused. */
static cw_code check_webhooks(cw_checker *c, const cw_config *config)
{
    const cw_place root = {0};
    const cw_place mcp = {.up = &root, .name = CW_STR("mcp")};
    const cw_place events = {.up = &mcp, .name = CW_STR("events")};
    const cw_place place = {.up = &events, .name = CW_STR("webhooks")};
    const cw_json *at = find(c, "mcp", "events");
    if (!config->mcp.events.enabled || !config->mcp.events.webhooks.n || cw_config_store(config).n)
        return CW_OK;
    return cw_check_problem(c, &place, at ? cw_json_get(at, place.name) : NULL,
                            "needs store.path or store.url");
}

static cw_code check_console(cw_checker *c, const cw_config *config)
{
    if (!config->console.enabled)
        return CW_OK;
    if (!cw_config_store(config).n)
        return complain(c, "console", "enabled", NULL, "needs store.path or store.url");
    if (!config->admin.enabled)
        return complain(c, "console", "enabled", NULL, "needs admin.enabled");
    if (!config->access.login.enabled)
        return complain(c, "console", "enabled", NULL, "needs access.login.enabled");
    if (cw_str_eq(config->console.path, config->mcp.path) ||
        cw_str_eq(config->console.path, config->access.login.path))
        return complain(c, "console", "path", NULL, "%.*s is something else already",
                        CW_STR_ARG(config->console.path));
    return check_console_host(c, config);
}

static cw_code check_issuer(cw_checker *c, const cw_config *config, const cw_config_issuer *issuer,
                            const cw_place *place, const cw_json *v)
{
    bool is_clear = cw_str_starts(issuer->issuer, CW_STR("http:"));
    if (is_clear && !issuer->allow_private)
        return cw_check_problem(c, place, v,
                                "an issuer without https needs \"allow_private: true\"");
    if (!issuer->audience.n && !config->public_url.n)
        return cw_check_problem(c, place, v,
                                "whom are its tokens for? set \"audience\", or public_url");
    if (issuer->client_id.n && !issuer->client_secret_file.n)
        return cw_check_problem(c, place, v, "client_id needs client_secret_file");
    if (issuer->token_prefix.n && !issuer->client_id.n)
        return cw_check_problem(c, place, v, "token_prefix needs client_id");
    if (issuer->account.n && !cw_config_store(config).n)
        return cw_check_problem(c, place, v, "\"account\" needs store.path or store.url");
    return CW_OK;
}

/* An opaque token is shown to one issuer only: another one could use it here. */
static bool both_would_be_asked(const cw_config_issuer *a, const cw_config_issuer *b)
{
    return a->client_id.n && b->client_id.n &&
           (cw_str_starts(a->token_prefix, b->token_prefix) ||
            cw_str_starts(b->token_prefix, a->token_prefix));
}

static cw_code check_issuers(cw_checker *c, const cw_config *config)
{
    const cw_place root = {0};
    const cw_place access = {.up = &root, .name = CW_STR("access")};
    const cw_place list = {.up = &access, .name = CW_STR("issuers")};
    const cw_json *v = find(c, "access", "issuers");
    bool is_list = cw_json_is(v, CW_JSON_ARRAY);
    const cw_config_issuers *all = &config->access.issuers;
    cw_code rc = CW_OK;
    for (size_t i = 0; i < all->n && !rc; i++) {
        const cw_place item = {.up = &list, .index = i};
        for (size_t j = 0; j < i && !rc; j++) {
            if (cw_str_eq(all->items[i].issuer, all->items[j].issuer))
                rc = report_same(c, &list, v, i, "issuer", j);
            else if (both_would_be_asked(&all->items[i], &all->items[j]))
                rc = cw_check_problem(c, &item, cw_json_at(v, i),
                                      "issuers[%zu] has a client_id too: give each a token_prefix, "
                                      "so that a token is shown to one of them only",
                                      j);
        }
        if (!rc)
            rc = check_issuer(c, config, &all->items[i], is_list ? &item : &list,
                              is_list ? cw_json_at(v, i) : v);
    }
    return rc;
}

/* A client_id that Basic authentication carries the same way raw and encoded. */
static bool is_client_id(cw_str id)
{
    for (size_t i = 0; i < id.n; i++) {
        char ch = id.p[i];
        if (!cw_is_alnum(ch) && ch != '-' && ch != '_')
            return false;
    }
    return id.n > 0;
}

static cw_code check_client(cw_checker *c, const cw_config_oauth_client *client,
                            const cw_place *place, const cw_json *v)
{
    bool is_document = cw_str_starts(client->id, CW_STR("https://"));
    if (!is_document && !is_client_id(client->id))
        return cw_check_problem(c, place, v,
                                "an id has letters, digits, - and _, or is an https URL");
    unsigned n_proofs =
        (client->secret_file.n > 0) + (client->jwks.n > 0) + (client->jwks_file.n > 0);
    if (is_document && n_proofs)
        return cw_check_problem(c, place, v, "a client with a document has no secret and no keys");
    if (n_proofs > 1)
        return cw_check_problem(c, place, v, "has one of secret_file, jwks and jwks_file");
    if (client->account.n && !n_proofs)
        return cw_check_problem(c, place, v, "account needs secret_file, jwks or jwks_file");
    if (!client->redirect_uris.n && !client->account.n && !client->device)
        return cw_check_problem(c, place, v, "needs redirect_uris, account or device");
    return CW_OK;
}

static cw_code check_clients(cw_checker *c, const cw_config_oauth_clients *all,
                             const cw_place *list, const cw_json *v)
{
    bool is_list = v && cw_json_is(v, CW_JSON_ARRAY);
    cw_code rc = CW_OK;
    for (size_t i = 0; i < all->n && !rc; i++) {
        const cw_place item = {.up = list, .index = i};
        for (size_t j = 0; j < i && !rc; j++) {
            if (cw_str_eq(all->items[i].id, all->items[j].id))
                rc = report_same(c, list, v, i, "id", j);
        }
        if (!rc)
            rc = check_client(c, &all->items[i], is_list ? &item : list,
                              is_list ? cw_json_at(v, i) : v);
    }
    return rc;
}

/* Whether clients may send their secrets and codes to this address. */
static bool is_safe_url(cw_str url)
{
    static const char *const near[] = {"http://localhost", "http://127.", "http://[::1]"};
    bool is_near = false;
    for (size_t i = 0; i < CW_COUNT(near); i++)
        is_near = is_near || cw_str_starts(url, cw_str_from(near[i]));
    return is_near || cw_str_starts(url, CW_STR("https://"));
}

/* Whether a path is one of the authorization server. */
static bool is_server_path(cw_str path)
{
    static const char *const own[] = {"/authorize",
                                      "/token",
                                      "/revoke",
                                      "/register",
                                      "/jwks",
                                      "/device",
                                      "/device_authorization",
                                      "/account/grants"};
    for (size_t i = 0; i < CW_COUNT(own); i++) {
        if (cw_str_is(path, own[i]))
            return true;
    }
    return false;
}

static cw_code check_server(cw_checker *c, const cw_config *config)
{
    const cw_config_server *server = &config->access.server;
    const cw_place root = {0};
    const cw_place access = {.up = &root, .name = CW_STR("access")};
    const cw_place section = {.up = &access, .name = CW_STR("server")};
    const cw_place enabled = {.up = &section, .name = CW_STR("enabled")};
    const cw_place list = {.up = &section, .name = CW_STR("clients")};
    const cw_json *at = find(c, "access", "server");
    const cw_json *v = at ? cw_json_get(at, CW_STR("enabled")) : NULL;
    const char *problem = NULL;
    if (!cw_config_store(config).n)
        problem = "needs store.path or store.url";
    else if (!config->access.login.enabled)
        problem = "needs access.login.enabled";
    else if (config->public_url.n && !is_safe_url(config->public_url))
        problem = "needs a public_url with https";
    else if (!config->public_url.n && !all_are_near(&config->listen))
        problem = "needs public_url: without it all listeners must be on loopback";
    else if (is_server_path(config->mcp.path) || is_server_path(config->access.login.path))
        problem = "needs the paths of its endpoints: change mcp.path or access.login.path";
    if (server->enabled && problem)
        return cw_check_problem(c, &enabled, v ? v : at, "%s", problem);
    return check_clients(c, &server->clients, &list,
                         at ? cw_json_get(at, CW_STR("clients")) : NULL);
}

/* ---- sources ----
 *
 * Only src/source knows which words of a service go together.
 */

/* A service, and where it stands. */
typedef struct entry {
    const cw_config_remote *source;
    const cw_place *place;
    const cw_json *v;
} entry;

/* Report at a key of the entry, or of a section of it. */
static cw_code complain_source(cw_checker *c, const entry *e, const char *section, const char *name,
                               const char *message)
{
    const cw_place outer = {.up = e->place, .name = cw_str_from(section ? section : name)};
    const cw_place inner = {.up = &outer, .name = cw_str_from(name)};
    const cw_json *v = cw_json_get(e->v, outer.name);
    const cw_json *below = section && v ? cw_json_get(v, inner.name) : NULL;
    return cw_check_problem(c, section ? &inner : &outer, below ? below : v, "%s", message);
}

static bool has_wildcard(cw_str method)
{
    return memchr(method.p, '*', method.n) || memchr(method.p, '?', method.n);
}

/* A list of methods, and where it stands. */
typedef struct method_list {
    const cw_config_overlays *methods;
    cw_place place;
    const cw_json *v;
    const char *key; /* of what an entry is about */
} method_list;

/* `text` of method `i` is in the map already, or is now. */
static cw_code check_unique(cw_checker *c, const method_list *l, cw_map *seen, size_t i,
                            cw_str text, const char *what)
{
    const cw_config_overlay *items = l->methods->items;
    void *other = NULL;
    if (cw_map_put(seen, text, (void *)(uintptr_t)&items[i], &other))
        return cw_fail_nomem(c->err);
    if (!other)
        return CW_OK;
    return report_same(c, &l->place, l->v, i, what,
                       (size_t)((const cw_config_overlay *)other - items));
}

static cw_code check_name(cw_checker *c, const method_list *l, cw_map *names, size_t i)
{
    const cw_config_overlay *o = &l->methods->items[i];
    if (!o->name.n)
        return CW_OK;
    if (!has_wildcard(o->method))
        return check_unique(c, l, names, i, o->name, "name");
    const cw_place item = {.up = &l->place, .index = i};
    bool is_list = cw_json_is(l->v, CW_JSON_ARRAY);
    return cw_check_problem(c, is_list ? &item : &l->place, is_list ? cw_json_at(l->v, i) : l->v,
                            "\"name\" is for one %s, and \"%s\" may fit several", l->key, l->key);
}

static cw_code check_list(cw_checker *c, const method_list *l)
{
    const cw_config_overlays *methods = l->methods;
    cw_map seen, names;
    cw_map_init(&seen, methods->n);
    cw_map_init(&names, methods->n);
    cw_code rc = CW_OK;
    for (size_t i = 0; i < methods->n && !rc; i++) {
        rc = check_unique(c, l, &seen, i, methods->items[i].method, l->key);
        if (!rc)
            rc = check_name(c, l, &names, i);
    }
    cw_map_done(&seen);
    cw_map_done(&names);
    return rc;
}

cw_code cw_rules_check_methods(cw_checker *c, const cw_config_overlays *methods,
                               const cw_config_overlays exposed[CW_CONFIG_EXPOSED],
                               const cw_place *source, const cw_json *v)
{
    static const char *const names[CW_CONFIG_EXPOSED][2] = {
        {"resources", "uri"}, {"templates", "uri_template"}, {"prompts", "prompt"}};
    const cw_str name = CW_STR("methods");
    const method_list all = {methods, {.up = source, .name = name}, cw_json_get(v, name), "method"};
    cw_code rc = check_list(c, &all);
    for (size_t i = 0; i < CW_CONFIG_EXPOSED && !rc; i++) {
        const cw_str list = cw_str_from(names[i][0]);
        const method_list l = {
            &exposed[i], {.up = source, .name = list}, cw_json_get(v, list), names[i][1]};
        rc = check_list(c, &l);
    }
    return rc;
}

/* Reports, toolsets and metrics tell sources apart by their names. */
static cw_code check_source_name(cw_checker *c, const entry *e)
{
    if (!cw_str_is(e->source->name, CW_CONFIG_BUILTIN_SOURCE))
        return CW_OK;
    return complain_source(c, e, NULL, "name",
                           "\"" CW_CONFIG_BUILTIN_SOURCE
                           "\" is the name of the built-in source; choose another one");
}

/* The address. */
static cw_code check_protocol(cw_checker *c, const entry *e)
{
    const cw_config_remote *s = e->source;
    if (!s->url.n && !s->command.n)
        return cw_check_problem(c, e->place, e->v, "missing key \"url\" or \"command\"");
    if (s->url.n && s->command.n)
        return complain_source(c, e, NULL, "command",
                               "there is a url already; it is one or the other");
    if (s->url.n && s->environment.n)
        return complain_source(c, e, NULL, "environment", "only for a command");
    if (s->url.n && s->folder.n)
        return complain_source(c, e, NULL, "working_directory", "only for a command");
    if (s->url.n)
        return CW_OK;
    cw_str program = s->command.items[0];
    if (!program.n)
        return complain_source(c, e, NULL, "command", "the program has no name");
    /* A program with a space in its name can still stand in a list. */
    if (cw_json_is(cw_json_get(e->v, CW_STR("command")), CW_JSON_STRING) &&
        memchr(program.p, ' ', program.n))
        return complain_source(c, e, NULL, "command",
                               "the program and each of its arguments are entries of a list");
    return CW_OK;
}

/* Header fields that the client itself sends, or that would contradict them. */
static cw_code check_headers(cw_checker *c, const entry *e)
{
    static const char *const ours[] = {"Host",
                                       "Content-Length",
                                       "Transfer-Encoding",
                                       "Connection",
                                       "Content-Type",
                                       "Upgrade",
                                       "Sec-WebSocket-Key",
                                       "Sec-WebSocket-Version",
                                       "Sec-WebSocket-Extensions",
                                       "Sec-WebSocket-Protocol"};
    const cw_config_pairs *headers = &e->source->headers;
    for (size_t i = 0; i < headers->n; i++) {
        cw_str name = headers->items[i].name;
        for (size_t j = 0; j < CW_COUNT(ours); j++) {
            if (cw_str_ieq(name, cw_str_from(ours[j])))
                return complain_source(c, e, "headers", name.p,
                                       "this header is set by Causeway itself");
        }
        for (size_t j = 0; j < i; j++) {
            if (cw_str_ieq(name, headers->items[j].name))
                return complain_source(c, e, "headers", name.p, "the same header twice");
        }
    }
    return CW_OK;
}

/* The credentials. */
static cw_code check_credentials(cw_checker *c, const entry *e)
{
    const cw_config_remote *s = e->source;
    if (s->tls.certificate.n && !s->tls.key.n)
        return complain_source(c, e, "tls", "certificate", "a certificate needs its key");
    if (s->tls.key.n && !s->tls.certificate.n)
        return complain_source(c, e, "tls", "key", "a key needs its certificate");
    if (s->secret.file.n && s->secret.environment.n)
        return complain_source(c, e, "secret", "environment", "there is a file already");
    if (s->oauth.client_secret_file.n && s->oauth.client_secret_environment.n)
        return complain_source(c, e, "oauth", "client_secret_environment",
                               "there is a file already");
    if (s->oauth.token_url.n && !s->oauth.client_id.n)
        return complain_source(c, e, "oauth", "token_url", "needs client_id");
    return CW_OK;
}

static cw_code check_entry(cw_checker *c, const entry *e)
{
    cw_code rc = check_source_name(c, e);
    if (!rc)
        rc = check_protocol(c, e);
    if (!rc)
        rc = check_headers(c, e);
    if (!rc)
        rc = check_credentials(c, e);
    if (!rc)
        rc = cw_rules_check_methods(c, &e->source->methods, e->source->exposed, e->place, e->v);
    return rc;
}

static cw_code check_sources(cw_checker *c, const cw_config_remotes *sources)
{
    const cw_place root = {0};
    const cw_place list = {.up = &root, .name = CW_STR("sources")};
    const cw_json *v = c->doc ? cw_json_get(c->doc->root, list.name) : NULL;
    bool is_list = cw_json_is(v, CW_JSON_ARRAY);
    cw_code rc = CW_OK;
    for (size_t i = 0; i < sources->n && !rc; i++) {
        for (size_t j = 0; j < i && !rc; j++) {
            if (cw_str_eq(sources->items[i].name, sources->items[j].name))
                rc = report_same(c, &list, v, i, "name", j);
        }
        const cw_place item = {.up = &list, .index = i};
        const entry e = {&sources->items[i], is_list ? &item : &list,
                         is_list ? cw_json_at(v, i) : v};
        if (!rc)
            rc = check_entry(c, &e);
    }
    return rc;
}

/* ---- everything ---- */

cw_code cw_rules_check(cw_checker *c, const cw_config *config)
{
    cw_code rc = check_listeners(c, config);
    if (!rc)
        rc = check_tls(c, config);
    if (!rc)
        rc = check_balancers(c, config);
    if (!rc)
        rc = check_limits(c, config);
    if (!rc)
        rc = check_sources(c, &config->sources);
    if (!rc)
        rc = check_path(c, config);
    if (!rc)
        rc = check_store(c, config);
    if (!rc)
        rc = check_approvals(c, config);
    if (!rc)
        rc = check_webhooks(c, config);
    if (!rc)
        rc = check_console(c, config);
    if (!rc)
        rc = check_issuers(c, config);
    if (!rc)
        rc = check_server(c, config);
    return rc;
}
