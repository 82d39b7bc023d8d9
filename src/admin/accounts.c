/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts.c - methods about accounts: their state, passwords and roles. */
#include "access/credentials.h"
#include "admin/admin.h"
#include "base/clock.h"
#include "base/utf8.h"

/* ---- list ---- */

static cw_code write_account(const cw_account *account, void *ctx, cw_err *err)
{
    cw_admin_call *c = ctx;
    cw_json_writer *w = c->out;
    cw_json_open_object(w);
    cw_json_add_i64_member(w, CW_STR("id"), account->id);
    cw_json_add_string_member(w, CW_STR("name"), account->name);
    cw_json_add_string_member(w, CW_STR("state"),
                              account->is_blocked ? CW_STR("blocked") : CW_STR("active"));
    cw_json_add_bool_member(w, CW_STR("password"), account->password.n > 0);
    cw_json_add_string_member(w, CW_STR("language"), account->language);
    cw_admin_add_date_member(w, "created", account->created);
    cw_json_add_key(w, CW_STR("roles"));
    cw_json_open_array(w);
    cw_code rc = cw_db_each_role_of(c->db, account->id, cw_admin_add_text, w, err);
    cw_json_close(w);
    cw_json_close(w);
    return rc;
}

static cw_code write_one(cw_admin_call *c, cw_str name, cw_err *err)
{
    cw_account *account = NULL;
    cw_code rc = cw_db_find_account(c->db, name, c->arena, &account, err);
    if (!rc && !account)
        return cw_fail(err, CW_NOTFOUND, "no account '%.*s'", CW_STR_ARG(name));
    return rc ? rc : write_account(account, c, err);
}

static cw_code list(cw_admin_call *c, cw_err *err)
{
    bool is_one = cw_json_get(c->params, CW_STR("name")) != NULL;
    cw_json_add_key(c->out, CW_STR("accounts"));
    cw_json_open_array(c->out);
    cw_code rc = is_one ? write_one(c, cw_admin_text(c, "name"), err)
                        : cw_db_each_account(c->db, write_account, c, err);
    cw_json_close(c->out);
    return rc;
}

/* ---- passwords ---- */

/* Characters, not bytes; each ill-formed byte counts as one. */
static size_t count_characters(cw_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; n++) {
        unsigned length = cw_utf8_len(text.p + i, text.n - i);
        i += length ? length : 1;
    }
    return n;
}

static cw_code check_password(const cw_admin_call *c, cw_str password, cw_err *err)
{
    uint32_t min = c->config->access.password_length;
    if (!password.n)
        return cw_fail(err, CW_PARAMS, "the password is empty");
    if (password.n > CW_PASSWORD_MAX)
        return cw_fail(err, CW_PARAMS, "a password has 1 to %u bytes", CW_PASSWORD_MAX);
    if (count_characters(password) >= min)
        return CW_OK;
    return cw_fail(err, CW_PARAMS,
                   "the password is too short: it needs %u characters (access.password_length)",
                   min);
}

/* Leaves the hash of the param `password` in c->prepared; "" for none. */
static cw_code hash_password(cw_admin_call *c, cw_err *err)
{
    char *hash = cw_arena_calloc(c->arena, 1, CW_PASSWORD_HASH);
    cw_str password = cw_admin_text(c, "password");
    c->prepared = hash;
    if (!hash)
        return cw_arena_fail(c->arena, err);
    if (!cw_json_is(cw_json_get(c->params, CW_STR("password")), CW_JSON_STRING))
        return CW_OK;
    cw_code rc = check_password(c, password, err);
    return rc ? rc : cw_password_hash(password, hash, err);
}

static cw_code set_password(cw_admin_call *c, cw_err *err)
{
    return cw_admin_end_change(
        c, cw_db_set_password(c->db, cw_admin_text(c, "name"), cw_str_from(c->prepared), err));
}

/* ---- add ---- */

/* CW_NOTFOUND: neither the database nor the configuration has the role. */
static cw_code check_role(const cw_admin_call *c, cw_str role, cw_err *err)
{
    bool is_known = false;
    for (size_t i = 0; i < c->config->roles.n && !is_known; i++)
        is_known = cw_str_eq(c->config->roles.items[i].name, role);
    cw_code rc = is_known ? CW_OK : cw_db_has_role(c->db, role, &is_known, err);
    if (rc || is_known)
        return rc;
    return cw_fail(err, CW_NOTFOUND,
                   "no role '%.*s', neither in the database nor in the configuration; \"causeway "
                   "role add\" adds one",
                   CW_STR_ARG(role));
}

static cw_code check_account(const cw_admin_call *c, const cw_account *account, const cw_str *roles,
                             size_t n_roles, cw_err *err)
{
    cw_code rc = cw_admin_check_account_name(account->name, err);
    if (!rc && account->language.n)
        rc = cw_admin_check_name("language", account->language, err);
    for (size_t i = 0; i < n_roles && !rc; i++)
        rc = check_role(c, roles[i], err);
    return rc;
}

static cw_code add(cw_admin_call *c, cw_err *err)
{
    cw_account account = {.name = cw_admin_text(c, "name"),
                          .password = cw_str_from(c->prepared),
                          .language = cw_admin_text(c, "language"),
                          .created = cw_clock_wall_ms()};
    cw_str *roles = NULL;
    size_t n_roles = 0;
    int64_t id = 0;
    cw_code rc = cw_admin_texts(c, "roles", &roles, &n_roles, err);
    if (!rc)
        rc = check_account(c, &account, roles, n_roles, err);
    if (!rc)
        rc = cw_db_add_account(c->db, &account, roles, n_roles, &id, err);
    cw_json_add_i64_member(c->out, CW_STR("id"), id);
    return cw_admin_end_change(c, rc);
}

/* ---- other changes ---- */

static cw_code remove_account(cw_admin_call *c, cw_err *err)
{
    return cw_admin_end_change(c, cw_db_remove_account(c->db, cw_admin_text(c, "name"), err));
}

static cw_code block(cw_admin_call *c, cw_err *err)
{
    return cw_admin_end_change(c, cw_db_block_account(c->db, cw_admin_text(c, "name"), true, err));
}

static cw_code unblock(cw_admin_call *c, cw_err *err)
{
    return cw_admin_end_change(c, cw_db_block_account(c->db, cw_admin_text(c, "name"), false, err));
}

static cw_code grant(cw_admin_call *c, cw_err *err)
{
    cw_str role = cw_admin_text(c, "role");
    cw_code rc = check_role(c, role, err);
    if (rc)
        return rc;
    return cw_admin_end_change(c, cw_db_grant(c->db, cw_admin_text(c, "name"), role, true, err));
}

static cw_code revoke(cw_admin_call *c, cw_err *err)
{
    return cw_admin_end_change(
        c, cw_db_grant(c->db, cw_admin_text(c, "name"), cw_admin_text(c, "role"), false, err));
}

#define TEXT "{\"type\":\"string\"}"
#define CHANGED "\"changed\":{\"type\":\"boolean\"}"
#define NAME "{\"name\":\"name\",\"required\":true,\"schema\":" TEXT "}"
#define ROLE "{\"name\":\"role\",\"required\":true,\"schema\":" TEXT "}"
#define PASSWORD "{\"type\":[\"string\",\"null\"]}"
#define CHANGE (CW_ADMIN_CHANGES | CW_ADMIN_GUARDED | CW_ADMIN_NEEDS_STORE)

const cw_admin_method cw_admin_accounts_methods[] = {
    {.name = "causeway.accounts.list",
     .about = "List the accounts with their roles",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[{\"name\":\"name\",\"description\":\"Only this account\",\"schema\":" TEXT "}]",
     .result = "{\"accounts\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":["
               "\"id\",\"name\",\"state\",\"password\",\"language\",\"created\",\"roles\"]}}}",
     .place = CW_ADMIN_STORE,
     .flags = CW_ADMIN_NEEDS_STORE,
     .run = list},
    {.name = "causeway.accounts.add",
     .about = "Add an account",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[" NAME ",{\"name\":\"password\",\"description\":\"Without one the account logs in "
               "with tokens only\",\"schema\":" PASSWORD "},{\"name\":\"roles\",\"schema\":"
               "{\"type\":\"array\",\"items\":" TEXT ",\"maxItems\":100}},"
               "{\"name\":\"language\",\"schema\":" TEXT "}]",
     .result = "{\"id\":{\"type\":\"integer\"}," CHANGED "}",
     .place = CW_ADMIN_STORE,
     .flags = CHANGE | CW_ADMIN_SECRET | CW_ADMIN_CREATES_STORE,
     .n_audited = 1,
     .prepare = hash_password,
     .run = add},
    {.name = "causeway.accounts.remove",
     .about = "Remove an account, its tokens and its sessions",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[" NAME "]",
     .result = "{" CHANGED "}",
     .place = CW_ADMIN_STORE,
     .flags = CHANGE,
     .n_audited = 1,
     .run = remove_account},
    {.name = "causeway.accounts.block",
     .about = "Block an account: reject its password and its tokens, end its sessions",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[" NAME "]",
     .result = "{" CHANGED "}",
     .place = CW_ADMIN_STORE,
     .flags = CHANGE,
     .n_audited = 1,
     .run = block},
    {.name = "causeway.accounts.unblock",
     .about = "Unblock an account",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[" NAME "]",
     .result = "{" CHANGED "}",
     .place = CW_ADMIN_STORE,
     .flags = CHANGE,
     .n_audited = 1,
     .run = unblock},
    {.name = "causeway.accounts.grant",
     .about = "Grant a role to an account",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[" NAME "," ROLE "]",
     .result = "{" CHANGED "}",
     .place = CW_ADMIN_STORE,
     .flags = CHANGE,
     .n_audited = 2,
     .run = grant},
    {.name = "causeway.accounts.revoke",
     .about = "Revoke a role from an account",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[" NAME "," ROLE "]",
     .result = "{" CHANGED "}",
     .place = CW_ADMIN_STORE,
     .flags = CHANGE,
     .n_audited = 2,
     .run = revoke},
    {.name = "causeway.accounts.password",
     .about = "Change the password of an account; null allows logins with tokens only",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[" NAME ",{\"name\":\"password\",\"required\":true,\"schema\":" PASSWORD "}]",
     .result = "{" CHANGED "}",
     .place = CW_ADMIN_STORE,
     .flags = CHANGE | CW_ADMIN_SECRET,
     .n_audited = 1,
     .prepare = hash_password,
     .run = set_password},
    {.name = NULL},
};
