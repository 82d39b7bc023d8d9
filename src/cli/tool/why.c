/* SPDX-License-Identifier: GPL-2.0-or-later */
/* why: explains an access decision. Sources and caller are loaded as in the server, and the gate
 * reports each rule that it checks. */
#include <unistd.h>

#include "access/gate.h"
#include "base/file.h"
#include "catalogue/portable_name.h"
#include "cli/lib/db.h"
#include "cli/lib/loop.h"
#include "cli/tool/tools.h"
#include "json/write.h"

#define TOKEN_MAX 65536u
#define RULE_WIDTH 10

typedef struct question {
    const char *tool, *token_file;
    bool json;
    cw_tools *tools;
    cw_login_waiter waiter;
    cw_caller *caller; /* a reference */
    cw_login_status status;
    size_t pending;
} question;

/* ---- the answer ---- */

typedef struct answer {
    cw_gate_trace trace;
    const question *q;
    const char *rule; /* instead of the gate's name for it, or NULL */
    cw_buf out;
    cw_json_writer w;
} answer;

static void on_step(cw_gate_trace *trace, const char *rule, cw_str what, bool passes)
{
    answer *a = CW_CONTAINER(trace, answer, trace);
    rule = a->rule ? a->rule : rule;
    if (a->q->json) {
        cw_json_open_object(&a->w);
        cw_json_add_string_member(&a->w, CW_STR("rule"), cw_str_from(rule));
        cw_json_add_string_member(&a->w, CW_STR("what"), what);
        cw_json_add_bool_member(&a->w, CW_STR("passes"), passes);
        cw_json_close(&a->w);
        return;
    }
    cw_buf_printf(
        &a->out, "%s%s%s  %-*s  ", cw_cli_escape(STDOUT_FILENO, passes ? CW_CLI_GREEN : CW_CLI_RED),
        passes ? "yes" : "no ", cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN), RULE_WIDTH, rule);
    cw_cli_add_text(&a->out, what);
    cw_buf_add_char(&a->out, '\n');
}

static const char *name_of(cw_verdict verdict)
{
    static const char *const names[] = {"allowed", "hidden", "login", "forbidden", "scopes"};
    return names[verdict];
}

static const char *text_of(cw_verdict verdict)
{
    static const char *const texts[] = {
        "the call is let through",
        "the caller gets the answer for an unknown tool",
        "the caller is asked to log in, or to show a token",
        "the caller is refused",
        "the caller is asked for a token with more scopes",
    };
    return texts[verdict];
}

static cw_str credentials_of(const question *q)
{
    if (cw_caller_is_anonymous(q->caller))
        return CW_STR("none");
    return cw_caller_has_token(q->caller) ? CW_STR("token") : CW_STR("password");
}

static void begin(answer *a, const cw_entry *entry)
{
    const question *q = a->q;
    cw_str name = entry->tool_name.n ? entry->tool_name : entry->method->id;
    if (q->json) {
        cw_json_writer_init(&a->w, &a->out, CW_JSON_INDENT);
        cw_json_open_object(&a->w);
        cw_json_add_string_member(&a->w, CW_STR("tool"), name);
        cw_json_add_string_member(&a->w, CW_STR("method"), entry->method->id);
        cw_json_add_string_member(&a->w, CW_STR("source"), entry->method->source->name);
        cw_json_add_string_member(&a->w, CW_STR("caller"), cw_caller_name(q->caller));
        cw_json_add_string_member(&a->w, CW_STR("credentials"), credentials_of(q));
        cw_json_add_key(&a->w, CW_STR("rules"));
        cw_json_open_array(&a->w);
        return;
    }
    cw_cli_add_text(&a->out, name);
    cw_buf_add(&a->out, CW_STR(" of "));
    cw_cli_add_text(&a->out, entry->method->source->name);
    cw_buf_add(&a->out, CW_STR(", asked for by "));
    cw_cli_add_text(&a->out, cw_caller_name(q->caller));
    cw_buf_printf(&a->out, " (credentials: %s)\n", credentials_of(q).p);
}

static void end(answer *a, const cw_entry *entry, cw_verdict discover, cw_verdict verdict)
{
    bool is_listed = discover == CW_VERDICT_ALLOW && entry->tool_name.n;
    if (a->q->json) {
        cw_json_close(&a->w);
        cw_json_add_string_member(&a->w, CW_STR("list"),
                                  cw_str_from(is_listed ? "shown" : "not shown"));
        cw_json_add_string_member(&a->w, CW_STR("call"), cw_str_from(name_of(verdict)));
        cw_json_close(&a->w);
        cw_cli_end_json(&a->w);
        return;
    }
    cw_buf_printf(&a->out, "list: %s\n", is_listed ? "it is shown" : "it is not shown");
    cw_buf_printf(&a->out, "call: %s: %s\n", name_of(verdict), text_of(verdict));
}

/* In the order of the one path: calling at all, then this method. */
static int explain(const question *q, const cw_entry *entry)
{
    answer a = {.trace = {on_step}, .q = q};
    cw_buf_init(&a.out, CW_CLI_OUTPUT_MAX);
    begin(&a, entry);
    a.rule = "discover";
    cw_verdict discover = cw_gate_explain_permission(q->caller, CW_PERMISSION_DISCOVER, &a.trace);
    a.rule = "call";
    cw_verdict call = cw_gate_explain_permission(q->caller, CW_PERMISSION_CALL, &a.trace);
    a.rule = NULL;
    cw_verdict own = cw_gate_explain(q->caller, &entry->method->needs, &a.trace);
    if (own == CW_VERDICT_HIDDEN)
        discover = own;
    bool is_offered = entry->tool_name.n || entry->method->is_callable;
    if (!is_offered)
        on_step(&a.trace, "marked", CW_STR("it is neither a tool nor callable on /jsonrpc"), false);
    cw_verdict verdict = call != CW_VERDICT_ALLOW ? call : own;
    if (verdict == CW_VERDICT_ALLOW && !is_offered)
        verdict = CW_VERDICT_HIDDEN;
    end(&a, entry, discover, verdict);
    int code = cw_cli_print_buf(&a.out);
    if (code != CW_EXIT_OK)
        return code;
    return verdict == CW_VERDICT_ALLOW ? CW_EXIT_OK : CW_EXIT_FAILURE;
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
    cw_code rc = cw_cli_db_read_token(q->token_file, &header, err);
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

static cw_code find_caller(question *q, cw_err *err)
{
    if (q->token_file)
        return log_in(q, err);
    q->caller = cw_caller_ref(q->tools->app.anonymous);
    return CW_OK;
}

/* ---- the command ---- */

static int answer_question(cw_tools *t, void *ctx)
{
    question *q = ctx;
    cw_err err = {0};
    q->tools = t;
    if (find_caller(q, &err))
        return cw_cli_failure("%s", err.msg);
    const cw_snapshot *snapshot = t->app.snapshot;
    cw_str name = cw_str_from(q->tool);
    const cw_entry *entry = snapshot ? cw_snapshot_find_tool(snapshot, name) : NULL;
    if (!entry && snapshot)
        entry = cw_snapshot_find_method(snapshot, name);
    const cw_portable_tool *one = NULL;
    if (!entry && snapshot && cw_snapshot_portable_names(snapshot))
        one = cw_portable_names_find(cw_snapshot_portable_names(snapshot), name);
    if (one)
        entry = one->tool;
    int code = entry ? explain(q, entry)
                     : cw_cli_failure("no loaded source has a tool or method '%s'", q->tool);
    cw_caller_unref(q->caller);
    return code;
}

int cw_cli_why(int argc, char **argv)
{
    question q = {0};
    cw_tools_opts opts = {.is_read_only = true, .needs_config = true};
    bool is_anonymous = false;
    const cw_cli_option options[] = {
        CW_CLI_CONFIG_OPTION(&opts.config),
        {"as", 0, CW_CLI_TEXT, &opts.account, "ACCOUNT",
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
        "allowed, otherwise 1.",
        options, 1};
    cw_cli_args args = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n == 0)
        return cw_cli_usage("name the tool");
    if ((opts.account != NULL) + (q.token_file != NULL) + is_anonymous != 1)
        return cw_cli_usage("name the caller with one of --as, --token-file and --anonymous");
    q.tool = args.items[0];
    return cw_tools_run(&opts, answer_question, &q);
}
