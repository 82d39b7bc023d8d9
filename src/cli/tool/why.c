/* SPDX-License-Identifier: GPL-2.0-or-later */
/* why: explains an access decision. The running server answers, or this process after it has loaded
 * the sources. */
#include <unistd.h>

#include "access/login/grants.h"
#include "admin/access.h"
#include "cli/lib/admin.h"
#include "cli/lib/loop.h"
#include "cli/lib/table.h"
#include "cli/tool/tools.h"

#define TOKEN_MAX 65536u
#define RULE_WIDTH 10

typedef struct question {
    const char *tool, *account, *token_file;
    bool json;
    cw_cli_admin *admin;
    cw_tools *tools;
    cw_login_waiter waiter;
    cw_caller *caller; /* a reference; NULL: the method finds it */
    cw_login_status status;
    /* Of an access token of the built-in authorization server: */
    cw_oauth_waiter grant_waiter;
    cw_oauth_settings *settings;
    cw_buf grant; /* its grant, as JSON; empty: none */
    size_t pending;
} question;

/* ---- the answer ---- */

static const char *meaning_of(cw_str verdict)
{
    static const char *const texts[][2] = {
        {"allowed", "the call is let through"},
        {"hidden", "the caller gets the answer for an unknown tool"},
        {"login", "the caller is asked to log in, or to show a token"},
        {"forbidden", "the caller is refused"},
        {"scopes", "the caller is asked for a token with more scopes"},
    };
    for (size_t i = 0; i < CW_COUNT(texts); i++) {
        if (cw_str_is(verdict, texts[i][0]))
            return texts[i][1];
    }
    return "unknown to this command";
}

static void add_rule(cw_buf *out, const cw_json *rule)
{
    bool passes = cw_cli_admin_flag(rule, "passes");
    cw_buf_printf(out, "%s%s%s  ", cw_cli_escape(STDOUT_FILENO, passes ? CW_CLI_GREEN : CW_CLI_RED),
                  passes ? "yes" : "no ", cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN));
    cw_cli_add_column(out, cw_cli_admin_text(rule, "rule"), RULE_WIDTH);
    cw_cli_add_text(out, cw_cli_admin_text(rule, "what"));
    cw_buf_add_char(out, '\n');
}

/* The grant of the token, and the roles that bound it. */
static void add_grant(cw_buf *out, const cw_json *grant)
{
    const cw_json *ceiling = cw_json_get(grant, CW_STR("ceiling"));
    cw_str resource = cw_cli_admin_text(grant, "resource");
    cw_buf_printf(out, "grant %lld of the client ", (long long)cw_cli_admin_number(grant, "id"));
    cw_cli_add_text(out, cw_cli_admin_text(grant, "client"));
    cw_buf_add(out, CW_STR(" ("));
    cw_cli_add_text(out, cw_cli_admin_text(grant, "kind"));
    cw_buf_add(out, CW_STR(")"));
    if (resource.n) {
        cw_buf_add(out, CW_STR(" for "));
        cw_cli_add_text(out, resource);
    }
    cw_buf_add(out, CW_STR("; ceiling: "));
    const cw_json *role = cw_cli_admin_items(ceiling);
    if (!role)
        cw_buf_add(out, CW_STR("all but administration"));
    for (; role; role = cw_json_next(role)) {
        cw_cli_add_text(out, cw_json_text(role));
        cw_buf_add(out, cw_str_from(cw_json_next(role) ? ", " : ""));
    }
    cw_buf_add_char(out, '\n');
}

static void add_answer(cw_buf *out, const cw_json *result)
{
    cw_cli_add_text(out, cw_cli_admin_text(result, "tool"));
    cw_buf_add(out, CW_STR(" of "));
    cw_cli_add_text(out, cw_cli_admin_text(result, "source"));
    cw_buf_add(out, CW_STR(", asked for by "));
    cw_cli_add_text(out, cw_cli_admin_text(result, "caller"));
    cw_buf_add(out, CW_STR(" (credentials: "));
    cw_cli_add_text(out, cw_cli_admin_text(result, "credentials"));
    cw_buf_add(out, CW_STR(")\n"));
    const cw_json *grant = cw_json_get(result, CW_STR("grant"));
    if (grant)
        add_grant(out, grant);
    const cw_json *rules = cw_json_get(result, CW_STR("rules"));
    for (const cw_json *r = cw_cli_admin_items(rules); r; r = cw_json_next(r))
        add_rule(out, r);
    cw_buf_add(out, CW_STR("list: it is "));
    cw_cli_add_text(out, cw_cli_admin_text(result, "list"));
    cw_buf_add(out, CW_STR("\ncall: "));
    cw_cli_add_text(out, cw_cli_admin_text(result, "call"));
    cw_buf_printf(out, ": %s\n", meaning_of(cw_cli_admin_text(result, "call")));
}

/* Print the members of the result, without the one about the server. */
static void add_json(cw_buf *out, const cw_json *result)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_INDENT);
    cw_json_open_object(&w);
    for (const cw_json *k = cw_json_first(result); k; k = cw_json_next_key(k)) {
        if (cw_str_is(cw_json_text(k), "server"))
            continue;
        cw_json_add_key(&w, cw_json_text(k));
        cw_json_add_value(&w, cw_json_value(k));
    }
    cw_json_close(&w);
    cw_cli_end_json(&w);
}

static int print_answer(const question *q, const cw_json *result)
{
    cw_buf out;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    if (q->json)
        add_json(&out, result);
    else
        add_answer(&out, result);
    int code = cw_cli_print_buf(&out);
    if (code != CW_EXIT_OK)
        return code;
    return cw_str_is(cw_cli_admin_text(result, "call"), "allowed") ? CW_EXIT_OK : CW_EXIT_FAILURE;
}

static void write_question(cw_json_writer *w, const void *ctx)
{
    const question *q = ctx;
    cw_json_add_string_member(w, CW_STR("tool"), cw_str_from(q->tool));
    if (q->account)
        cw_json_add_string_member(w, CW_STR("account"), cw_str_from(q->account));
}

/* Let the server, or this process, answer. */
static int ask(const question *q)
{
    const cw_json *result = NULL;
    int code = cw_cli_admin_call(q->admin, "causeway.access.why", write_question, q, &result);
    return code >= 0 ? code : print_answer(q, result);
}

/* The same for the caller of a token, which only its owner's credentials can name. */
static int explain(const question *q)
{
    cw_err err = {0};
    const cw_json *result = NULL;
    cw_json_writer w;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_ADMIN_RESULT_MAX);
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    if (q->grant.n) {
        cw_json_add_key(&w, CW_STR("grant"));
        cw_json_add_span(&w, cw_buf_str(&q->grant));
    }
    cw_code rc =
        cw_admin_explain(q->tools->app.snapshot, q->caller, cw_str_from(q->tool), &w, &err);
    cw_json_close(&w);
    if (!rc)
        rc = cw_json_writer_end(&w, &err);
    if (!rc)
        rc = cw_json_read(cw_buf_str(&text), NULL, &q->admin->arena, &result, NULL, &err);
    return rc ? cw_cli_failure("%s", err.msg) : print_answer(q, result);
}

/* ---- the caller ---- */

static void keep_login(question *q, const cw_login *login)
{
    q->status = login->status;
    if (login->status == CW_LOGIN_OK)
        q->caller = cw_caller_ref(login->caller);
}

static void on_login(cw_login_waiter *w, const cw_login *login)
{
    question *q = CW_CONTAINER(w, question, waiter);
    keep_login(q, login);
    cw_cli_loop_finish(q->tools->loop, &q->pending);
}

static cw_str no_peer(cw_login_waiter *w)
{
    (void)w;
    return CW_STR("");
}

static cw_code log_in(question *q, cw_err *err)
{
    cw_buf header;
    cw_loop *loop = q->tools->loop;
    if (!q->tools->app.accounts)
        return cw_fail(err, CW_CONFIG,
                       "tokens cannot be checked: set "
                       "store.path or an issuer in the configuration");
    cw_buf_init(&header, TOKEN_MAX);
    cw_code rc = cw_cli_read_token(q->token_file, &header, err);
    if (!rc) {
        q->waiter = (cw_login_waiter){.peer = no_peer, .fn = on_login};
        cw_login login =
            cw_accounts_login(q->tools->app.accounts, loop, cw_buf_str(&header), &q->waiter);
        q->pending = login.status == CW_LOGIN_PENDING;
        if (!q->pending)
            keep_login(q, &login);
        cw_cli_loop_wait(loop, &q->pending);
    }
    cw_buf_done(&header);
    if (rc || q->caller)
        return rc;
    return cw_fail(err, CW_PARAMS,
                   q->status == CW_LOGIN_WRONG ? "the token is refused: it is unknown, expired or "
                                                 "revoked, or its account is blocked"
                                               : "the token cannot be checked at the moment");
}

/* ---- its grant ---- */

static void write_grant(cw_json_writer *w, const cw_oauth_grant *grant,
                        const cw_oauth_client *client, const cw_oauth_settings *settings)
{
    bool has_own = client->n_ceiling > 0;
    const cw_str *roles = has_own ? client->ceiling : settings->ceiling;
    size_t n = has_own ? client->n_ceiling : settings->n_ceiling;
    cw_json_open_object(w);
    cw_json_add_i64_member(w, CW_STR("id"), grant->id);
    cw_json_add_string_member(w, CW_STR("client"), client->id);
    cw_json_add_string_member(w, CW_STR("kind"), cw_oauth_client_kind_name(client->kind));
    cw_json_add_string_member(w, CW_STR("resource"), grant->resource);
    cw_json_add_key(w, CW_STR("ceiling"));
    cw_json_open_array(w);
    for (size_t i = 0; i < n; i++)
        cw_json_add_string(w, roles[i]);
    cw_json_close(w);
    cw_json_close(w);
}

static void on_grant(cw_oauth_waiter *waiter, const cw_oauth_result *result)
{
    question *q = CW_CONTAINER(waiter, question, grant_waiter);
    cw_json_writer w;
    cw_json_writer_init(&w, &q->grant, CW_JSON_COMPACT);
    if (!result->rc && result->n_grants)
        write_grant(&w, &result->grants[0], result->client, q->settings);
    (void)!cw_json_writer_end(&w, NULL);
    cw_cli_loop_finish(q->tools->loop, &q->pending);
}

/* Without an answer the decision is explained all the same. */
static void find_grant(question *q)
{
    cw_accounts *accounts = q->tools->app.accounts;
    const cw_caller_credential *credential = cw_caller_credential_of(q->caller);
    if (credential->kind != CW_CREDENTIAL_ACCESS_TOKEN)
        return;
    q->settings = cw_accounts_take_oauth(accounts);
    q->grant_waiter.fn = on_grant;
    q->pending = q->settings && !cw_oauth_find_token_grant(
                                    accounts, q->tools->loop,
                                    (const unsigned char *)credential->hash.p, &q->grant_waiter);
    cw_cli_loop_wait(q->tools->loop, &q->pending);
    cw_oauth_settings_unref(q->settings);
}

/* ---- the command ---- */

static int answer_here(cw_tools *t, void *ctx)
{
    question *q = ctx;
    cw_err err = {0};
    q->tools = t;
    cw_tools_lend(t, q->admin);
    if (!q->token_file)
        return ask(q);
    if (log_in(q, &err))
        return cw_cli_failure("%s", err.msg);
    cw_buf_init(&q->grant, CW_ADMIN_RESULT_MAX);
    find_grant(q);
    int code = explain(q);
    cw_buf_done(&q->grant);
    cw_caller_unref(q->caller);
    return code;
}

/* A token is checked here: no method takes credentials of others. */
static int answer(const cw_cli_target *target, question *q)
{
    cw_cli_admin admin;
    const cw_tools_opts opts = {.config = target->config,
                                .account = q->account,
                                .is_read_only = true,
                                .needs_config = true};
    int code = cw_cli_admin_open(target, &admin);
    if (code >= 0)
        return code;
    q->admin = &admin;
    code = cw_cli_admin_has_server(&admin) && !q->token_file ? ask(q)
                                                             : cw_tools_run(&opts, answer_here, q);
    cw_cli_admin_close(&admin);
    return code;
}

int cw_cli_why(int argc, char **argv)
{
    question q = {0};
    cw_cli_target target = {0};
    bool is_anonymous = false;
    const cw_cli_option options[] = {
        CW_CLI_CONFIG_OPTION(&target.config),
        {"server", 0, CW_CLI_TEXT, &target.server, "URL",
         "ask the server at this URL instead of the local one,\n"
         "with the token in $CAUSEWAY_TOKEN"},
        {"as", 0, CW_CLI_TEXT, &q.account, "ACCOUNT",
         "explain for this account, logged in with its password"},
        {"token-file", 0, CW_CLI_TEXT, &q.token_file, "FILE",
         "explain for the owner of the token in FILE"},
        {"anonymous", 0, CW_CLI_FLAG, &is_anonymous, NULL, "explain for an anonymous caller"},
        CW_CLI_JSON_OPTION(&q.json),
        {0},
    };
    const cw_cli_spec spec = {
        "why", "TOOL",
        "Print each rule that decides whether a caller can see and call a tool, in the\n"
        "order in which the server applies them. The exit code is 0 if the call is\n"
        "allowed, otherwise 1. A running server answers; otherwise the sources are\n"
        "loaded as in the server.",
        options, 1};
    cw_cli_args args = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n == 0)
        return cw_cli_usage("name the tool");
    if ((q.account != NULL) + (q.token_file != NULL) + is_anonymous != 1)
        return cw_cli_usage("name the caller with one of --as, --token-file and --anonymous");
    if (q.token_file && target.server)
        return cw_cli_usage("--token-file checks the token here: leave --server out");
    q.tool = args.items[0];
    return answer(&target, &q);
}
