/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call: calls a tool from a terminal, through the path that every call takes. */
#include <stdio.h>

#include "call/call.h"
#include "call/find.h"
#include "cli/lib/loop.h"
#include "cli/lib/progress.h"
#include "cli/lib/table.h"
#include "cli/tool/arguments.h"
#include "cli/tool/tools.h"
#include "config/syntax/quote.h"
#include "json/write.h"

#define DOOR "cli" /* for the audit */
#define ARGUMENTS_MAX (16u * 1024u * 1024u)
#define OUTPUT_MAX ((size_t)1 << 31)
#define SCRATCH_MAX ((size_t)16 * ARGUMENTS_MAX)

typedef struct calling {
    cw_sink sink;
    const char *tool, *json;
    const cw_cli_texts *texts;
    cw_cli_progress line;
    double progress, total;
    cw_buf message; /* of the last progress */
    cw_buf out;     /* what is printed */
    cw_loop *loop;
    size_t pending;
    bool has_failed;
} calling;

/* ---- while it runs ---- */

static void write_progress(cw_buf *out, void *ctx)
{
    const calling *c = ctx;
    cw_buf_printf(out, "calling %s", c->tool);
    if (c->progress > 0 && c->total > 0)
        cw_buf_printf(out, ": %.0f %%", 100 * c->progress / c->total);
    else if (c->progress > 0)
        cw_buf_printf(out, ": %g", c->progress);
    if (c->message.n)
        cw_buf_printf(out, ", %.*s", (int)c->message.n, c->message.p);
}

static void on_progress(cw_sink *sink, const cw_progress *progress)
{
    calling *c = CW_CONTAINER(sink, calling, sink);
    c->progress = progress->progress;
    c->total = progress->total; /* NaN is not above 0 */
    cw_buf_clear(&c->message);
    cw_buf_add(&c->message, progress->message);
}

static void print_line(const char *what, cw_str text)
{
    CW_CLEANUP(cw_buf_done) cw_buf line;
    cw_buf_init(&line, OUTPUT_MAX);
    cw_quote_shown(&line, text);
    if (!line.code)
        fprintf(stderr, "%s: %.*s\n", what, (int)line.n, line.n ? line.p : "");
}

static void on_log(cw_sink *sink, cw_log_level level, cw_str message)
{
    calling *c = CW_CONTAINER(sink, calling, sink);
    (void)level;
    cw_cli_progress_hide(&c->line);
    print_line(c->tool, message);
}

/* ---- its end ---- */

static void write_result(calling *c, const cw_outcome *outcome)
{
    cw_json_writer w;
    bool is_content = outcome->content && cw_json_is(outcome->result, CW_JSON_NULL);
    cw_json_writer_init(&w, &c->out, CW_JSON_INDENT);
    if (is_content) {
        cw_json_open_object(&w);
        cw_json_add_key(&w, CW_STR("content"));
        cw_json_add_value(&w, outcome->content);
        cw_json_close(&w);
    } else {
        cw_json_add_value(&w, outcome->result);
    }
    cw_cli_end_json(&w);
}

static void on_done(cw_sink *sink, const cw_outcome *outcome)
{
    calling *c = CW_CONTAINER(sink, calling, sink);
    cw_cli_loop_finish(c->loop, &c->pending);
    cw_cli_progress_stop(&c->line);
    if (outcome->kind == CW_OUTCOME_RESULT) {
        write_result(c, outcome);
        return;
    }
    c->has_failed = true;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, OUTPUT_MAX);
    cw_quote_shown(&text, outcome->message);
    if (outcome->kind == CW_OUTCOME_ERROR)
        cw_buf_printf(&text, " (code %lld)", (long long)outcome->code);
    cw_cli_failure("%s: %.*s", c->tool, (int)text.n, text.n ? text.p : "");
    if (outcome->kind == CW_OUTCOME_ERROR && outcome->data)
        print_line("data", cw_json_span(outcome->data));
}

/* ---- its begin ---- */

/* Report which requirement of the gate the caller does not meet. */
static int refuse_caller(const calling *c, const cw_tools *t, const cw_entry *entry)
{
    bool is_anonymous = cw_caller_is_anonymous(cw_view_caller(t->view));
    if (entry->method->needs.n_scopes)
        return cw_cli_failure("%s requires scopes, which only a client with a token has; see "
                              "\"causeway why %s %s\"",
                              c->tool, c->tool, is_anonymous ? "--anonymous" : "--as NAME");
    if (is_anonymous && t->app.has_store)
        return cw_cli_failure("%s requires a login: name an account with --as", c->tool);
    if (is_anonymous)
        return cw_cli_failure("%s requires a login: for --as, accounts need a "
                              "database, store.path in the configuration",
                              c->tool);
    return cw_cli_failure("%s may not be called; see \"causeway why %s --as NAME\"", c->tool,
                          c->tool);
}

static int refuse(const calling *c, const cw_tools *t, const cw_entry *entry, cw_code rc,
                  const cw_err *err)
{
    if (rc == CW_NOMEM)
        return cw_cli_failure("%s", cw_code_text(rc));
    if (rc != CW_DECLINED)
        return cw_cli_failure("%s: %s", c->tool, err->msg);
    return refuse_caller(c, t, entry);
}

static cw_code read_arguments(const calling *c, const cw_entry *entry, cw_buf *text,
                              cw_arena *arena, const cw_json **ret, cw_err *err)
{
    const cw_json_opts opts = {.max_bytes = ARGUMENTS_MAX};
    cw_code rc = CW_OK;
    if (c->json)
        cw_buf_add(text, cw_str_from(c->json));
    else
        rc = cw_cli_arguments_make(entry->method, c->texts->items, c->texts->n, text, err);
    if (!rc && text->code)
        rc = cw_fail(err, text->code, "%s", cw_code_text(text->code));
    if (!rc)
        rc = cw_json_read(cw_buf_str(text), &opts, arena, ret, NULL, err);
    if (rc && c->json)
        return cw_wrap(err, rc, "--json");
    if (!rc && !cw_json_is(*ret, CW_JSON_OBJECT) && !cw_json_is(*ret, CW_JSON_ARRAY))
        rc = cw_fail(err, CW_PARAMS,
                     "arguments are an object, or a list in the order of the "
                     "parameters");
    return rc;
}

static int start(calling *c, cw_tools *t, const cw_entry *entry, const cw_json *arguments)
{
    static const cw_sink_ops ops = {.progress = on_progress, .log = on_log, .done = on_done};
    cw_call_handle handle;
    cw_call_error refusal = {0};
    c->sink.ops = &ops;
    c->loop = t->loop;
    c->pending = 1;
    cw_call_request request = {.view = t->view,
                               .entry = entry,
                               .params = arguments,
                               .wants_progress = true,
                               .sink = &c->sink,
                               .door = DOOR};
    cw_cli_progress_start(&c->line, &t->loop->uv, write_progress, c);
    cw_code rc = cw_call_start(t->rl, &request, &handle, &refusal);
    if (rc) {
        cw_cli_progress_stop(&c->line);
        return refuse(c, t, entry, rc, &refusal.err);
    }
    cw_cli_loop_wait(t->loop, &c->pending);
    if (c->has_failed)
        return CW_EXIT_FAILURE;
    return cw_cli_print_buf(&c->out);
}

static int call_tool(cw_tools *t, void *ctx)
{
    calling *c = ctx;
    cw_call_lookup lookup = {
        .view = t->view, .door = DOOR, .in = CW_FIND_ANY_NAME, .name = cw_str_from(c->tool)};
    cw_call_found found;
    if (cw_call_find(t->rl, &lookup, &found)) {
        /* Each of these prints its reason. */
        if (cw_tools_may_call(t))
            cw_tools_report_unknown(t, c->tool);
        return CW_EXIT_FAILURE;
    }
    const cw_entry *entry = found.entry;
    cw_err err = {0};
    cw_arena arena;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    const cw_json *arguments = NULL;
    cw_arena_init(&arena, SCRATCH_MAX);
    cw_buf_init(&text, ARGUMENTS_MAX);
    cw_code rc = read_arguments(c, entry, &text, &arena, &arguments, &err);
    int code;
    if (rc)
        code = rc == CW_NOMEM ? cw_cli_failure("%s", err.msg) : cw_cli_usage("%s", err.msg);
    else
        code = start(c, t, entry, arguments);
    cw_arena_done(&arena);
    return code;
}

int cw_cli_call(int argc, char **argv)
{
    cw_cli_texts texts = {.max = CW_CLI_MANY_TEXTS, .instead = "--json takes them all at once"};
    calling c = {.texts = &texts};
    cw_tools_opts opts = {0};
    const cw_cli_option options[] = {
        CW_CLI_CONFIG_OPTION(&opts.config),
        {"plugin", 'p', CW_CLI_TEXT, &opts.plugin, "FILE.so",
         "load only this plugin, without a configuration; all\n"
         "its methods may be called"},
        {"as", 0, CW_CLI_TEXT, &opts.account, "ACCOUNT",
         "act as this account of the database; default: the\n"
         "anonymous role"},
        {"arg", 'a', CW_CLI_TEXTS, &texts, "NAME=VALUE",
         "an argument; JSON unless the parameter is text"},
        {"json", 0, CW_CLI_TEXT, &c.json, "TEXT", "all arguments as one JSON object"},
        {0},
    };
    const cw_cli_spec spec = {
        "call", "TOOL",
        "Call a tool and print its result as JSON. Sources are loaded as in the\n"
        "server, and the same access rules apply. An error of the tool is printed on\n"
        "standard error, and the exit code is 1.",
        options, 1};
    cw_cli_args args = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n == 0)
        return cw_cli_usage("name the tool; \"causeway list\" prints those that there are");
    if (c.json && texts.n)
        return cw_cli_usage("give the arguments with --arg or with --json, not with both");
    if (opts.plugin && (opts.config || opts.account))
        return cw_cli_usage("--plugin cannot be combined with --%s", opts.config ? "config" : "as");
    code = opts.plugin ? cw_cli_check_plugin(opts.plugin) : -1;
    if (code >= 0)
        return code;
    c.tool = args.items[0];
    cw_buf_init(&c.message, OUTPUT_MAX);
    cw_buf_init(&c.out, OUTPUT_MAX);
    code = cw_tools_run(&opts, call_tool, &c);
    cw_buf_done(&c.message);
    cw_buf_done(&c.out);
    return code;
}
