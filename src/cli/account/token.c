/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token: creates, lists and revokes the credentials of programs. */
#include <stdio.h>

#include "access/scopes.h"
#include "cli/account/rights.h"
#include "config/syntax/quote.h"
#include "config/syntax/units.h"

#define DAY_MS UINT64_C(86400000)

/* ---- create ---- */

typedef struct new_token {
    const char *account;
    const char *name; /* or NULL */
    int64_t lifetime; /* ms; 0: it does not expire */
    cw_cli_texts scopes;
} new_token;

/* "30d", "12h", "never"; false for anything else. */
static bool parse_lifetime(const char *text, int64_t *ret)
{
    cw_str s = cw_str_from(text);
    uint64_t ms;
    if (cw_str_is(s, "never")) {
        *ret = 0;
        return true;
    }
    if (cw_str_ends(s, CW_STR("d"))) {
        if (!cw_str_to_u64(cw_str_make(s.p, s.n - 1), &ms) ||
            ms > (uint64_t)CW_ADMIN_TOKEN_MAX_MS / DAY_MS)
            return false;
        ms *= DAY_MS;
    } else if (!cw_units_parse_duration(s, &ms)) {
        return false;
    }
    if (ms == 0 || ms > (uint64_t)CW_ADMIN_TOKEN_MAX_MS)
        return false;
    *ret = (int64_t)ms;
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

static void write_token(cw_json_writer *w, const void *ctx)
{
    const new_token *n = ctx;
    cw_json_add_string_member(w, CW_STR("account"), cw_str_from(n->account));
    if (n->name)
        cw_json_add_string_member(w, CW_STR("name"), cw_str_from(n->name));
    if (n->lifetime)
        cw_json_add_i64_member(w, CW_STR("lifetime"), n->lifetime);
    cw_json_add_key(w, CW_STR("scopes"));
    cw_json_open_array(w);
    for (size_t i = 0; i < n->scopes.n; i++)
        cw_json_add_string(w, cw_str_from(n->scopes.items[i]));
    cw_json_close(w);
}

/* Most likely a typing error. */
static void warn_of_unknown(const cw_json *scopes)
{
    char excerpt[CW_EXCERPT_SIZE];
    const cw_json *scope;
    for (size_t i = 0; (scope = cw_json_at(scopes, i)); i++)
        fprintf(stderr,
                "causeway: the scope %s is not one of \"causeway scope list\" or "
                "access.scopes\n",
                cw_excerpt(cw_json_text(scope), excerpt));
}

static void print_json(cw_cli_rights *a, const cw_json *result, cw_str token)
{
    cw_json_writer w;
    cw_json_writer_init(&w, &a->out, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_i64_member(&w, CW_STR("id"), cw_cli_admin_number(result, "id"));
    cw_json_add_string_member(&w, CW_STR("token"), token);
    cw_cli_add_date_member(&w, CW_STR("expires"), cw_cli_admin_number(result, "expires"));
    cw_json_close(&w);
    cw_cli_end_json(&w);
}

/* Only the token goes to standard output. */
static void print_text(cw_cli_rights *a, const cw_json *result, cw_str token)
{
    CW_CLEANUP(cw_buf_done) cw_buf by;
    cw_buf_init(&by, CW_CLI_OUTPUT_MAX);
    if (cw_cli_admin_has_server(&a->admin)) {
        cw_buf_add(&by, CW_STR(", created by "));
        cw_cli_admin_add_server(&by, result);
    }
    fprintf(stderr, "causeway: token %lld%.*s; it is shown this once\n",
            (long long)cw_cli_admin_number(result, "id"), CW_STR_ARG(cw_buf_str(&by)));
    cw_buf_add(&a->out, token);
    cw_buf_add_char(&a->out, '\n');
}

static int create(cw_cli_rights *a, const new_token *n)
{
    const cw_json *result = NULL;
    unsigned char digest[CW_DIGEST];
    int code = cw_cli_admin_call(&a->admin, "causeway.tokens.create", write_token, n, &result);
    if (code >= 0)
        return code;
    cw_str token = cw_cli_admin_text(result, "token");
    if (!cw_token_digest(token, digest))
        return cw_cli_failure("the server returned no token");
    warn_of_unknown(cw_json_get(result, CW_STR("unknown_scopes")));
    (a->json ? print_json : print_text)(a, result, token);
    return -1;
}

static int run_create(int argc, char **argv)
{
    cw_cli_rights a = {0};
    new_token n = {0};
    const char *expires = NULL;
    const cw_cli_option options[] = {
        CW_CLI_TARGET_OPTIONS(&a.target),
        {"name", 'n', CW_CLI_TEXT, &n.name, "TEXT", "purpose of the token"},
        {"scope", 's', CW_CLI_TEXTS, &n.scopes, "SCOPE", "grant this scope; may be repeated"},
        {"expires", 'e', CW_CLI_TEXT, &expires, "TIME",
         "lifetime, such as 12h or 30d; default: \"never\""},
        CW_CLI_JSON_OPTION(&a.json),
        {0},
    };
    const cw_cli_spec spec = {
        "token create", "ACCOUNT",
        "Create a token for an account and print it. It is printed only once, because\n"
        "only its hash is stored.",
        options, 1};
    cw_cli_args args = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n == 0)
        return cw_cli_usage("name the account of the token");
    n.account = args.items[0];
    if (expires && !parse_lifetime(expires, &n.lifetime))
        return cw_cli_usage("not a time: %s; write 12h, 30d or never, at most 36500d", expires);
    code = n.name && n.name[0] ? cw_cli_rights_check_name("token", n.name) : -1;
    if (code < 0)
        code = check_scopes(&n.scopes);
    if (code < 0)
        code = cw_cli_rights_open(&a);
    if (code >= 0)
        return code;
    cw_cli_rights_change(&a, spec.name, n.account, n.name && n.name[0] ? n.name : NULL);
    return cw_cli_rights_close(&a, create(&a, &n));
}

/* ---- list ---- */

static void add_row(cw_cli_table *t, const cw_json *token)
{
    cw_cli_table_add_number(t, cw_cli_admin_number(token, "id"));
    cw_cli_table_add(t, cw_cli_admin_text(token, "account"));
    cw_cli_table_add(t, cw_cli_admin_text(token, "name"));
    cw_cli_table_add(t, cw_cli_admin_text(token, "state"));
    cw_cli_table_add_date(t, cw_cli_admin_number(token, "expires"), "never");
    cw_cli_table_add_date(t, cw_cli_admin_number(token, "used"), "never");
    cw_cli_rights_add_texts(t, cw_json_get(token, CW_STR("scopes")));
}

static void print_list(cw_cli_rights *a, const cw_json *result)
{
    static const cw_cli_column columns[] = {
        {"ID", 5, true},        {"ACCOUNT", 20, false}, {"NAME", 20, false}, {"STATE", 7, false},
        {"EXPIRES", 24, false}, {"USED", 24, false},    {"SCOPES", 0, false}};
    cw_cli_rights_print_list(a, cw_json_get(result, CW_STR("tokens")), columns, CW_COUNT(columns),
                             add_row);
}

static int run_list(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "token list",
        .args = "[ACCOUNT]",
        .about = "List the tokens, or those of one account.",
        .method = "causeway.tokens.list",
        .params = {"account"},
        .has_json = true,
        .print = print_list,
    };
    return cw_cli_rights_run(&command, argc, argv);
}

/* ---- revoke ---- */

static int run_revoke(int argc, char **argv)
{
    static const cw_cli_rights_command command = {
        .name = "token revoke",
        .args = "TOKEN-ID",
        .about = "Revoke a token.",
        .method = "causeway.tokens.revoke",
        .params = {"id"},
        .min_args = 1,
        .is_id = true,
        .done = "token % is revoked",
    };
    return cw_cli_rights_run(&command, argc, argv);
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
        "Manage API tokens, the credentials of programs. If a server runs with this\n"
        "configuration, it makes the changes.",
        "\"causeway help token COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
