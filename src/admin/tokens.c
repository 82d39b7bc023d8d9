/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tokens.c - methods about API tokens. Only the result of create holds a token. */
#include "access/credentials.h"
#include "access/scopes.h"
#include "admin/admin.h"
#include "base/clock.h"
#include "config/syntax/quote.h"

/* ---- list ---- */

typedef struct lister {
    cw_admin_call *c;
    int64_t now;
} lister;

static const char *state_of(const cw_token *token, int64_t now)
{
    if (token->revoked)
        return "revoked";
    return token->expires && token->expires <= now ? "expired" : "active";
}

static cw_code write_token(const cw_token *token, void *ctx, cw_err *err)
{
    const lister *l = ctx;
    cw_json_writer *w = l->c->out;
    cw_json_open_object(w);
    cw_json_add_i64_member(w, CW_STR("id"), token->id);
    cw_json_add_string_member(w, CW_STR("account"), token->account_name);
    cw_json_add_string_member(w, CW_STR("name"), token->name);
    cw_json_add_string_member(w, CW_STR("state"), cw_str_from(state_of(token, l->now)));
    cw_admin_add_date_member(w, "created", token->created);
    cw_admin_add_date_member(w, "expires", token->expires);
    cw_admin_add_date_member(w, "revoked", token->revoked);
    cw_admin_add_date_member(w, "used", token->used);
    cw_json_add_string_member(w, CW_STR("used_from"), token->used_from);
    cw_json_add_key(w, CW_STR("scopes"));
    cw_json_open_array(w);
    cw_code rc = cw_db_each_scope_of(l->c->db, token->id, cw_admin_add_text, w, err);
    cw_json_close(w);
    cw_json_close(w);
    return rc;
}

static cw_code list(cw_admin_call *c, cw_err *err)
{
    int64_t account = 0;
    lister l = {.c = c, .now = cw_clock_wall_ms()};
    cw_code rc = cw_admin_account_id(c, "account", &account, err);
    if (rc)
        return rc;
    cw_json_add_key(c->out, CW_STR("tokens"));
    cw_json_open_array(c->out);
    rc = cw_db_each_token(c->db, account, write_token, &l, err);
    cw_json_close(c->out);
    return rc;
}

/* ---- create ---- */

static cw_code check_scopes(const cw_str *scopes, size_t n, cw_err *err)
{
    char excerpt[CW_EXCERPT_SIZE];
    for (size_t i = 0; i < n; i++) {
        if (!cw_scope_is_valid(scopes[i]))
            return cw_fail(err, CW_PARAMS, "not a scope: %s", cw_excerpt(scopes[i], excerpt));
    }
    return CW_OK;
}

/* A lifetime, not a date: the clock of the caller does not matter. */
static cw_code set_expiry(const cw_admin_call *c, cw_token *token, cw_err *err)
{
    const cw_json *v = cw_json_get(c->params, CW_STR("lifetime"));
    int64_t lifetime = cw_admin_number(c, "lifetime", 0);
    if (!v || cw_json_is(v, CW_JSON_NULL))
        return CW_OK;
    if (lifetime < 1 || lifetime > CW_ADMIN_TOKEN_MAX_MS)
        return cw_fail(err, CW_PARAMS, "lifetime: 1 ms to 36500 days");
    token->expires = token->created + lifetime;
    return CW_OK;
}

static cw_code check_token(const cw_token *token, const cw_str *scopes, size_t n, cw_err *err)
{
    cw_code rc = token->name.n ? cw_admin_check_name("token", token->name, err) : CW_OK;
    return rc ? rc : check_scopes(scopes, n, err);
}

static bool is_known(const cw_config *config, cw_str scope)
{
    for (size_t i = 0; i < config->access.scopes.n; i++) {
        if (cw_str_eq(config->access.scopes.items[i], scope))
            return true;
    }
    return cw_scope_find(scope) != NULL;
}

static void write_created(const cw_admin_call *c, const cw_token *token, const char *secret,
                          const cw_str *scopes, size_t n)
{
    cw_json_add_i64_member(c->out, CW_STR("id"), token->id);
    cw_json_add_string_member(c->out, CW_STR("token"), cw_str_from(secret));
    cw_admin_add_date_member(c->out, "expires", token->expires);
    cw_json_add_key(c->out, CW_STR("unknown_scopes"));
    cw_json_open_array(c->out);
    for (size_t i = 0; i < n; i++) {
        if (!is_known(c->config, scopes[i]))
            cw_json_add_string(c->out, scopes[i]);
    }
    cw_json_close(c->out);
}

static cw_code store_token(const cw_admin_call *c, cw_token *token, const cw_str *scopes, size_t n,
                           cw_err *err)
{
    char secret[CW_TOKEN_LEN + 1];
    cw_code rc = cw_token_make(secret, err);
    if (!rc && !cw_token_digest(cw_str_from(secret), token->hash))
        rc = cw_fail(err, CW_INTERNAL, "the new token is malformed");
    if (!rc)
        rc = cw_db_add_token(c->db, token, scopes, n, &token->id, err);
    if (!rc)
        write_created(c, token, secret, scopes, n);
    explicit_bzero(secret, sizeof secret);
    return rc;
}

static cw_code create(cw_admin_call *c, cw_err *err)
{
    cw_token token = {.name = cw_admin_text(c, "name"), .created = cw_clock_wall_ms()};
    cw_str *scopes = NULL;
    size_t n = 0;
    cw_code rc = cw_admin_texts(c, "scopes", &scopes, &n, err);
    if (!rc)
        rc = check_token(&token, scopes, n, err);
    if (!rc)
        rc = set_expiry(c, &token, err);
    if (!rc)
        rc = cw_admin_account_id(c, "account", &token.account, err);
    return rc ? rc : store_token(c, &token, scopes, n, err);
}

/* ---- revoke ---- */

static cw_code revoke(cw_admin_call *c, cw_err *err)
{
    int64_t id = cw_admin_number(c, "id", 0);
    return cw_admin_end_change(c, cw_db_revoke_token(c->db, id, cw_clock_wall_ms(), err));
}

#define TEXT "{\"type\":\"string\"}"
#define DATE "{\"type\":[\"integer\",\"null\"],\"description\":\"ms since 1970; null: never\"}"
#define CHANGE (CW_ADMIN_CHANGES | CW_ADMIN_GUARDED | CW_ADMIN_NEEDS_STORE)

const cw_admin_method cw_admin_tokens_methods[] = {
    {.name = "causeway.tokens.list",
     .about = "List the tokens, without the tokens themselves",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params =
         "[{\"name\":\"account\",\"description\":\"Only those of this account\",\"schema\":" TEXT
         "}]",
     .result = "{\"tokens\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":["
               "\"id\",\"account\",\"name\",\"state\",\"created\",\"expires\",\"revoked\","
               "\"used\",\"used_from\",\"scopes\"]}}}",
     .place = CW_ADMIN_STORE,
     .flags = CW_ADMIN_NEEDS_STORE,
     .run = list},
    {.name = "causeway.tokens.create",
     .about = "Create a token and return it, this once: only its hash is stored",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[{\"name\":\"account\",\"required\":true,\"schema\":" TEXT "},"
               "{\"name\":\"name\",\"description\":\"Its purpose\",\"schema\":" TEXT "},"
               "{\"name\":\"scopes\",\"schema\":{\"type\":\"array\",\"items\":" TEXT
               ",\"maxItems\":100}},{\"name\":\"lifetime\",\"schema\":{\"type\":[\"integer\","
               "\"null\"],\"description\":\"ms; null: the token does not expire\"}}]",
     .result = "{\"id\":{\"type\":\"integer\"},\"token\":" TEXT ",\"expires\":" DATE ","
               "\"unknown_scopes\":{\"type\":\"array\",\"items\":" TEXT ","
               "\"description\":\"Neither built in nor in access.scopes\"}}",
     .place = CW_ADMIN_STORE,
     .flags = CHANGE | CW_ADMIN_SECRET,
     .n_audited = 2,
     .run = create},
    {.name = "causeway.tokens.revoke",
     .about = "Revoke a token",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[{\"name\":\"id\",\"required\":true,\"schema\":{\"type\":\"integer\"}}]",
     .result = "{\"changed\":{\"type\":\"boolean\"}}",
     .place = CW_ADMIN_STORE,
     .flags = CHANGE,
     .n_audited = 1,
     .run = revoke},
    {.name = NULL},
};
