/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token: creates, lists and revokes the credentials of programs. */
#include <stdio.h>

#include "access/credentials.h"
#include "access/scopes.h"
#include "base/clock.h"
#include "cli/lib/cli.h"
#include "cli/lib/db.h"
#include "config/syntax/quote.h"
#include "config/syntax/units.h"

#define DAY_MS UINT64_C(86400000)
/* A century: the years of a date have four digits. */
#define EXPIRY_MAX_DAYS UINT64_C(36500)

/* ---- create ---- */

/* "30d", "12h", "never"; false for anything else. */
static bool parse_expiry(const char *text, int64_t now, int64_t *ret)
{
    cw_str s = cw_str_from(text);
    uint64_t ms;
    if (cw_str_is(s, "never")) {
        *ret = 0;
        return true;
    }
    if (cw_str_ends(s, CW_STR("d"))) {
        if (!cw_str_to_u64(cw_str_make(s.p, s.n - 1), &ms) || ms > EXPIRY_MAX_DAYS)
            return false;
        ms *= DAY_MS;
    } else if (!cw_units_parse_duration(s, &ms)) {
        return false;
    }
    if (ms == 0 || ms > EXPIRY_MAX_DAYS * DAY_MS)
        return false;
    *ret = now + (int64_t)ms;
    return true;
}

static int check_scopes(const cw_cli_texts *scopes)
{
    char exposed[CW_EXCERPT_SIZE];
    for (size_t i = 0; i < scopes->n; i++) {
        cw_str scope = cw_str_from(scopes->items[i]);
        cw_excerpt(scope, exposed);
        if (!cw_scope_is_valid(scope))
            return cw_cli_usage("not a scope: %s", exposed);
    }
    return -1;
}

static bool is_known(const cw_config *config, cw_str scope)
{
    for (size_t i = 0; i < config->access.scopes.n; i++) {
        if (cw_str_eq(config->access.scopes.items[i], scope))
            return true;
    }
    return cw_scope_find(scope) != NULL;
}

/* Most likely a typing error. */
static void warn_of_unknown(const cw_config *config, const cw_cli_texts *scopes)
{
    char exposed[CW_EXCERPT_SIZE];
    for (size_t i = 0; i < scopes->n; i++) {
        cw_str scope = cw_str_from(scopes->items[i]);
        if (is_known(config, scope))
            continue;
        cw_excerpt(scope, exposed);
        fprintf(stderr,
                "causeway: the scope %s is not one of \"causeway scope list\" or "
                "access.scopes\n",
                exposed);
    }
}

static void print_secret(cw_cli_db *a, const cw_token *token, const char *secret, bool json)
{
    if (!json) {
        cw_buf_printf(&a->out, "%s\n", secret);
        fprintf(stderr, "causeway: token %lld; it is shown this once\n", (long long)token->id);
        return;
    }
    cw_json_writer w;
    cw_json_writer_init(&w, &a->out, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_i64_member(&w, CW_STR("id"), token->id);
    cw_json_add_string_member(&w, CW_STR("token"), cw_str_from(secret));
    cw_cli_add_date_member(&w, CW_STR("expires"), token->expires);
    cw_json_close(&w);
    cw_cli_end_json(&w);
}

static cw_code create(cw_cli_db *a, cw_token *token, const char *account,
                      const cw_cli_texts *scopes, bool json)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_str names[CW_CLI_MAX_TEXTS];
    char secret[CW_TOKEN_LEN + 1];
    cw_account *found;
    cw_arena_init(&arena, 65536);
    cw_code rc = cw_cli_db_find_account(a, account, &arena, &found);
    if (rc)
        return rc;
    token->account = found->id;
    for (size_t i = 0; i < scopes->n; i++)
        names[i] = cw_str_from(scopes->items[i]);
    rc = cw_token_make(secret, &a->err);
    if (!rc && !cw_token_digest(cw_str_from(secret), token->hash))
        return cw_fail(&a->err, CW_INTERNAL, "the new token is malformed");
    if (!rc)
        rc = cw_db_add_token(a->db, token, names, scopes->n, &token->id, &a->err);
    if (!rc)
        print_secret(a, token, secret, json);
    return rc;
}

static int run_create(int argc, char **argv)
{
    const char *config = NULL, *name = "", *expires = "never";
    cw_cli_texts scopes = {0};
    bool json = false;
    const char *given_name = NULL, *given_expires = NULL;
    const cw_cli_option options[] = {
        CW_CLI_CONFIG_OPTION(&config),
        {"name", 'n', CW_CLI_TEXT, &given_name, "TEXT", "purpose of the token"},
        {"scope", 's', CW_CLI_TEXTS, &scopes, "SCOPE", "grant this scope; may be repeated"},
        {"expires", 'e', CW_CLI_TEXT, &given_expires, "TIME",
         "lifetime, such as 12h or 30d; default: \"never\""},
        CW_CLI_JSON_OPTION(&json),
        {0},
    };
    const cw_cli_spec spec = {
        "token create", "ACCOUNT",
        "Create a token for an account and print it. It is printed only once, because\n"
        "only its hash is stored.",
        options, 1};
    cw_cli_args args = {0};
    cw_cli_db a = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    name = given_name ? given_name : name;
    expires = given_expires ? given_expires : expires;
    if (args.n == 0)
        return cw_cli_usage("name the account of the token");
    cw_token token = {.name = cw_str_from(name), .created = cw_clock_wall_ms()};
    if (!parse_expiry(expires, token.created, &token.expires))
        return cw_cli_usage("not a time: %s; write 12h, 30d or never, at most 36500d", expires);
    code = name[0] ? cw_cli_db_check_name("token", name) : -1;
    if (code < 0)
        code = check_scopes(&scopes);
    if (code < 0)
        code = cw_cli_db_open(config, /* may_create= */ false, &a);
    if (code >= 0)
        return code;
    warn_of_unknown(a.config, &scopes);
    cw_cli_db_change(&a, spec.name, args.items[0], name[0] ? name : NULL);
    return cw_cli_db_close(&a, create(&a, &token, args.items[0], &scopes, json));
}

/* ---- list ---- */

typedef struct token_table {
    cw_db *db;
    cw_cli_table *table;
    int64_t now;
} token_table;

static const char *state_of(const token_table *l, const cw_token *token)
{
    if (token->revoked)
        return "revoked";
    return token->expires && token->expires <= l->now ? "expired" : "active";
}

static cw_code add_line(token_table *l, const cw_token *token, cw_err *err)
{
    cw_cli_table *t = l->table;
    CW_CLEANUP(cw_buf_done) cw_buf scopes;
    cw_buf_init(&scopes, CW_CLI_OUTPUT_MAX);
    cw_code rc = cw_db_each_scope_of(l->db, token->id, cw_cli_db_on_text, &scopes, err);
    if (rc)
        return rc;
    cw_cli_table_add_number(t, token->id);
    cw_cli_table_add(t, token->account_name);
    cw_cli_table_add(t, token->name);
    cw_cli_table_add(t, cw_str_from(state_of(l, token)));
    cw_cli_table_add_date(t, token->expires, "never");
    cw_cli_table_add_raw(t, scopes.n ? cw_buf_str(&scopes) : CW_STR("-"));
    return CW_OK;
}

static cw_code add_one(const cw_token *token, void *ctx, cw_err *err)
{
    token_table *l = ctx;
    cw_json_writer *w = &l->table->json;
    if (!l->table->is_json)
        return add_line(l, token, err);
    cw_json_open_object(w);
    cw_json_add_i64_member(w, CW_STR("id"), token->id);
    cw_json_add_string_member(w, CW_STR("account"), token->account_name);
    cw_json_add_string_member(w, CW_STR("name"), token->name);
    cw_json_add_string_member(w, CW_STR("state"), cw_str_from(state_of(l, token)));
    cw_cli_add_date_member(w, CW_STR("created"), token->created);
    cw_cli_add_date_member(w, CW_STR("expires"), token->expires);
    cw_cli_add_date_member(w, CW_STR("revoked"), token->revoked);
    cw_json_add_key(w, CW_STR("scopes"));
    cw_json_open_array(w);
    cw_code rc = cw_db_each_scope_of(l->db, token->id, cw_cli_db_on_json, w, err);
    cw_json_close(w);
    cw_json_close(w);
    return rc;
}

static cw_code add_all(cw_cli_db *a, int64_t account, cw_cli_table *t)
{
    token_table l = {.db = a->db, .table = t, .now = cw_clock_wall_ms()};
    return cw_db_each_token(a->db, account, add_one, &l, &a->err);
}

static cw_code list(cw_cli_db *a)
{
    static const cw_cli_column columns[] = {{"ID", 5, true},        {"ACCOUNT", 20, false},
                                            {"NAME", 20, false},    {"STATE", 7, false},
                                            {"EXPIRES", 24, false}, {"SCOPES", 0, false}};
    return cw_cli_db_list(a, columns, CW_COUNT(columns), add_all);
}

static int run_list(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "token list",
        .args = "[ACCOUNT]",
        .about = "List the tokens, or those of one account.",
        .max_args = 1,
        .has_json = true,
        .run = list,
    };
    return cw_cli_db_run(&command, argc, argv);
}

/* ---- revoke ---- */

static cw_code revoke(cw_cli_db *a)
{
    cw_code rc = cw_db_revoke_token(a->db, cw_cli_db_id(a), cw_clock_wall_ms(), &a->err);
    cw_buf_printf(&a->out, "token %s is revoked%s\n", a->args[0], rc == CW_DONE ? " already" : "");
    return rc;
}

static int run_revoke(int argc, char **argv)
{
    static const cw_cli_db_command command = {
        .name = "token revoke",
        .args = "ID",
        .about = "Revoke a token.",
        .min_args = 1,
        .max_args = 1,
        .is_change = true,
        .check = cw_cli_db_check_id,
        .run = revoke,
    };
    return cw_cli_db_run(&command, argc, argv);
}

int cw_cli_token(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"create", "create a token and print it", run_create},
        {"list", "list the tokens", run_list},
        {"revoke", "revoke a token", run_revoke},
        {"inspect", "check whether a JWT would be accepted", cw_cli_token_inspect},
        {0},
    };
    static const cw_cli_group group = {
        "causeway token",
        "Manage API tokens, the credentials of programs. Changes take effect in a\n"
        "running server within a second.",
        "\"causeway help token COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
