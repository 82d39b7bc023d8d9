/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oauth.c - methods about clients and grants of the built-in authorization server. Only the result of
 * clients.add holds a secret. */
#include "store/oauth.h"
#include "access/credentials.h"
#include "access/oauth/client.h"
#include "access/oauth/exchange.h"
#include "access/oauth/redirect.h"
#include "access/oauth/settings.h"
#include "access/scopes.h"
#include "admin/admin.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "config/syntax/quote.h"

/* ---- clients: list ---- */

static void write_texts(cw_json_writer *w, cw_str name, const cw_str *items, size_t n)
{
    cw_json_add_key(w, name);
    cw_json_open_array(w);
    for (size_t i = 0; i < n; i++)
        cw_json_add_string(w, items[i]);
    cw_json_close(w);
}

static void write_client(cw_json_writer *w, const cw_oauth_client *client, const char *state,
                         int64_t created)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("id"), client->id);
    cw_json_add_string_member(w, CW_STR("name"), client->name);
    cw_json_add_string_member(w, CW_STR("state"), cw_str_from(state));
    cw_json_add_bool_member(w, CW_STR("secret"), client->has_secret);
    write_texts(w, CW_STR("redirect_uris"), client->redirect_uris, client->n_redirect_uris);
    write_texts(w, CW_STR("ceiling"), client->ceiling, client->n_ceiling);
    cw_admin_add_date_member(w, "created", created);
    cw_json_close(w);
}

static cw_code write_row(const cw_db_oauth_client *row, void *ctx, cw_err *err)
{
    const cw_admin_call *c = ctx;
    cw_oauth_client client;
    cw_code rc = cw_oauth_client_parse(row->record, c->arena, &client, err);
    if (!rc)
        write_client(c->out, &client, row->denied ? "denied" : "registered", row->created);
    return rc;
}

static void write_configured(cw_json_writer *w, const cw_config_oauth_client *from)
{
    cw_oauth_client client = {.id = from->id,
                              .name = from->name.n ? from->name : from->id,
                              .has_secret = from->secret_file.n > 0,
                              .redirect_uris = from->redirect_uris.items,
                              .n_redirect_uris = from->redirect_uris.n,
                              .ceiling = from->ceiling.items,
                              .n_ceiling = from->ceiling.n};
    write_client(w, &client, "configured", 0);
}

static cw_code list_clients(cw_admin_call *c, cw_err *err)
{
    const cw_config_oauth_clients *all = &c->config->access.server.clients;
    cw_json_add_key(c->out, CW_STR("clients"));
    cw_json_open_array(c->out);
    for (size_t i = 0; i < all->n; i++)
        write_configured(c->out, &all->items[i]);
    cw_code rc = cw_db_each_oauth_client(c->db, write_row, c, err);
    cw_json_close(c->out);
    return rc;
}

/* ---- clients: add ---- */

static cw_code check_id(const cw_admin_call *c, cw_str id, cw_err *err)
{
    char excerpt[CW_EXCERPT_SIZE];
    bool is_good = id.n > 0 && id.n <= CW_DB_MAX_NAME;
    for (size_t i = 0; i < id.n && is_good; i++)
        is_good = cw_is_alnum(id.p[i]) || id.p[i] == '-' || id.p[i] == '_';
    if (!is_good)
        return cw_fail(err, CW_PARAMS, "an id has letters, digits, - and _: %s",
                       cw_excerpt(id, excerpt));
    for (size_t i = 0; i < c->config->access.server.clients.n; i++) {
        if (cw_str_eq(c->config->access.server.clients.items[i].id, id))
            return cw_fail(err, CW_PARAMS, "the configuration has a client '%.*s'", CW_STR_ARG(id));
    }
    return CW_OK;
}

static cw_code check_addresses(const cw_admin_call *c, const cw_oauth_client *client, cw_err *err)
{
    const cw_config_strings *listed = &c->config->access.server.redirect_uris;
    const cw_redirect_rules rules = {listed->items, listed->n};
    char excerpt[CW_EXCERPT_SIZE];
    if (!client->n_redirect_uris || client->n_redirect_uris > CW_OAUTH_MAX_REDIRECTS)
        return cw_fail(err, CW_PARAMS, "a client has 1 to %u redirect_uris",
                       CW_OAUTH_MAX_REDIRECTS);
    for (size_t i = 0; i < client->n_redirect_uris; i++) {
        cw_redirect unused;
        const char *why = cw_redirect_parse(client->redirect_uris[i], &rules, &unused);
        if (why)
            return cw_fail(err, CW_PARAMS, "%s: %s", cw_excerpt(client->redirect_uris[i], excerpt),
                           why);
    }
    return CW_OK;
}

static cw_code read_client(const cw_admin_call *c, cw_oauth_client *ret, cw_err *err)
{
    cw_str *addresses = NULL, *ceiling = NULL;
    cw_str name = cw_admin_text(c, "name"), id = cw_admin_text(c, "id");
    *ret = (cw_oauth_client){.kind = CW_OAUTH_REGISTERED,
                             .id = id,
                             .name = name.n ? name : id,
                             .has_secret = cw_admin_flag(c, "secret"),
                             .may_refresh = true};
    cw_code rc = cw_admin_texts(c, "redirect_uris", &addresses, &ret->n_redirect_uris, err);
    if (!rc)
        rc = cw_admin_texts(c, "ceiling", &ceiling, &ret->n_ceiling, err);
    ret->redirect_uris = addresses;
    ret->ceiling = ceiling;
    if (!rc)
        rc = check_id(c, id, err);
    if (!rc)
        rc = cw_admin_check_name("client", ret->name, err);
    return rc ? rc : check_addresses(c, ret, err);
}

static cw_code add_client(cw_admin_call *c, cw_err *err)
{
    char secret[CW_ACCESS_TOKEN_LEN + 1] = "";
    cw_oauth_client client;
    cw_code rc = read_client(c, &client, err);
    cw_db_oauth_client row = {.id = client.id, .created = cw_clock_wall_ms()};
    if (!rc)
        rc = cw_oauth_client_format(&client, c->arena, &row.record, err);
    if (!rc && client.has_secret)
        rc = cw_access_token_make(CW_CLIENT_SECRET_PREFIX, secret, err);
    if (!rc && client.has_secret)
        row.has_secret =
            cw_access_token_digest(CW_CLIENT_SECRET_PREFIX, cw_str_from(secret), row.secret);
    if (!rc)
        rc = cw_db_add_oauth_client(c->db, &row, err);
    if (!rc) {
        cw_json_add_string_member(c->out, CW_STR("id"), client.id);
        cw_json_add_string_member(c->out, CW_STR("secret"), cw_str_from(secret));
    }
    explicit_bzero(secret, sizeof secret);
    return rc;
}

/* ---- clients: remove, deny ---- */

static cw_code remove_client(cw_admin_call *c, cw_err *err)
{
    return cw_admin_end_change(c, cw_db_remove_oauth_client(c->db, cw_admin_text(c, "id"), err));
}

static cw_code deny_client(cw_admin_call *c, cw_err *err)
{
    cw_str id = cw_admin_text(c, "id"), record;
    cw_oauth_client client = {.kind = CW_OAUTH_REGISTERED, .id = id, .name = id};
    if (!id.n || id.n > CW_OAUTH_MAX_ID)
        return cw_fail(err, CW_PARAMS, "an id has 1 to %u bytes", CW_OAUTH_MAX_ID);
    if (cw_str_starts(id, CW_STR(CW_OAUTH_DYNAMIC_PREFIX)))
        client.kind = CW_OAUTH_DYNAMIC;
    else if (cw_str_starts(id, CW_STR(CW_OAUTH_DOCUMENT_PREFIX)))
        client.kind = CW_OAUTH_DOCUMENT;
    cw_code rc = cw_oauth_client_format(&client, c->arena, &record, err);
    if (rc)
        return rc;
    return cw_admin_end_change(c,
                               cw_db_deny_oauth_client(c->db, id, record, cw_clock_wall_ms(), err));
}

/* ---- grants ---- */

typedef struct lister {
    cw_admin_call *c;
    int64_t now, idle_ms;
} lister;

static cw_code write_grant(const cw_db_oauth_grant *grant, void *ctx, cw_err *err)
{
    const lister *l = ctx;
    cw_json_writer *w = l->c->out;
    cw_oauth_client client;
    int64_t end = cw_oauth_grant_end(grant, l->idle_ms);
    /* The next grant removes those that have ended. */
    if (end <= l->now)
        return CW_OK;
    cw_code rc = cw_oauth_client_parse(grant->record, l->c->arena, &client, err);
    if (rc)
        return rc;
    cw_json_open_object(w);
    cw_json_add_i64_member(w, CW_STR("id"), grant->id);
    cw_json_add_string_member(w, CW_STR("account"), grant->account_name);
    cw_json_add_string_member(w, CW_STR("client"), grant->client);
    cw_json_add_string_member(w, CW_STR("name"), client.name);
    cw_json_add_string_member(w, CW_STR("kind"), cw_oauth_client_kind_name(client.kind));
    cw_json_add_string_member(w, CW_STR("scope"), grant->scopes);
    cw_json_add_string_member(w, CW_STR("resource"), grant->resource);
    cw_admin_add_date_member(w, "created", grant->created);
    cw_admin_add_date_member(w, "used", grant->used);
    cw_admin_add_date_member(w, "expires", end);
    cw_json_close(w);
    return CW_OK;
}

static cw_code list_grants(cw_admin_call *c, cw_err *err)
{
    int64_t account = 0;
    lister l = {.c = c,
                .now = cw_clock_wall_ms(),
                .idle_ms = (int64_t)c->config->access.server.grant_idle_ms};
    cw_code rc = cw_admin_account_id(c, "account", &account, err);
    if (rc)
        return rc;
    cw_json_add_key(c->out, CW_STR("grants"));
    cw_json_open_array(c->out);
    rc = cw_db_each_oauth_grant(c->db, account, write_grant, &l, err);
    cw_json_close(c->out);
    return rc;
}

static cw_code revoke_grant(cw_admin_call *c, cw_err *err)
{
    int64_t id = cw_admin_number(c, "id", 0);
    return cw_admin_end_change(c, cw_db_remove_oauth_grant(c->db, 0, id, err));
}

#define TEXT "{\"type\":\"string\"}"
#define TEXTS "{\"type\":\"array\",\"items\":" TEXT ",\"maxItems\":100}"
#define CHANGE (CW_ADMIN_CHANGES | CW_ADMIN_GUARDED | CW_ADMIN_NEEDS_STORE)
#define CHANGED "{\"changed\":{\"type\":\"boolean\"}}"

const cw_admin_method cw_admin_oauth_methods[] = {
    {.name = "causeway.clients.list",
     .about = "List the OAuth clients that an operator registered or denied",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[]",
     .result = "{\"clients\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":["
               "\"id\",\"name\",\"state\",\"secret\",\"redirect_uris\",\"ceiling\",\"created\"]}}}",
     .place = CW_ADMIN_STORE,
     .flags = CW_ADMIN_NEEDS_STORE,
     .run = list_clients},
    {.name = "causeway.clients.add",
     .about = "Register an OAuth client and return its secret, this once: only its hash is stored",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[{\"name\":\"id\",\"required\":true,\"schema\":" TEXT "},"
               "{\"name\":\"name\",\"description\":\"For people\",\"schema\":" TEXT "},"
               "{\"name\":\"redirect_uris\",\"required\":true,\"schema\":" TEXTS "},"
               "{\"name\":\"ceiling\",\"description\":\"Roles that bound its grants\","
               "\"schema\":" TEXTS "},"
               "{\"name\":\"secret\",\"description\":\"It gets a secret\",\"schema\":{"
               "\"type\":\"boolean\"}}]",
     .result = "{\"id\":" TEXT ",\"secret\":{\"type\":\"string\",\"description\":\"Empty: a public "
               "client\"}}",
     .place = CW_ADMIN_STORE,
     .flags = CHANGE | CW_ADMIN_SECRET,
     .n_audited = 2,
     .run = add_client},
    {.name = "causeway.clients.remove",
     .about = "Remove an OAuth client that was registered or denied, and end its grants",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[{\"name\":\"id\",\"required\":true,\"schema\":" TEXT "}]",
     .result = CHANGED,
     .place = CW_ADMIN_STORE,
     .flags = CHANGE,
     .n_audited = 1,
     .run = remove_client},
    {.name = "causeway.clients.deny",
     .about = "Deny an OAuth client of any kind, and end its grants",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[{\"name\":\"id\",\"required\":true,\"schema\":" TEXT "}]",
     .result = CHANGED,
     .place = CW_ADMIN_STORE,
     .flags = CHANGE,
     .n_audited = 1,
     .run = deny_client},
    {.name = "causeway.grants.list",
     .about = "List what people allowed OAuth clients",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params =
         "[{\"name\":\"account\",\"description\":\"Only those of this account\",\"schema\":" TEXT
         "}]",
     .result = "{\"grants\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":["
               "\"id\",\"account\",\"client\",\"name\",\"kind\",\"scope\",\"resource\","
               "\"created\",\"used\",\"expires\"]}}}",
     .place = CW_ADMIN_STORE,
     .flags = CW_ADMIN_NEEDS_STORE,
     .run = list_grants},
    {.name = "causeway.grants.revoke",
     .about = "End a grant and all its tokens",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[{\"name\":\"id\",\"required\":true,\"schema\":{\"type\":\"integer\"}}]",
     .result = CHANGED,
     .place = CW_ADMIN_STORE,
     .flags = CHANGE,
     .n_audited = 1,
     .run = revoke_grant},
    {.name = NULL},
};
