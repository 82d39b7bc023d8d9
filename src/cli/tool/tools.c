/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tools.c - loads the sources as a server does, for commands that show or call tools. */
#include "cli/tool/tools.h"

#include "admin/access.h"
#include "base/log.h"
#include "cli/lib/loop.h"
#include "cli/lib/progress.h"
#include "cli/lib/table.h"
#include "config/syntax/quote.h"
#include "server/files/examples.h"

#define SETTLE_MS 10000u

/* ---- loading ---- */

static cw_code read_config(const cw_tools_opts *opts, cw_config **ret, cw_config_problems *problems,
                           cw_err *err)
{
    const char *path = opts->plugin ? NULL : cw_cli_config_path(opts->config);
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_CONFIG_MAX_BYTES);
    cw_code rc = CW_OK;
    if (opts->plugin)
        rc = cw_cli_plugin_config(opts->plugin, &text, err);
    else if (!path && !opts->needs_config)
        rc = cw_examples_config(&text, err);
    cw_config_source source = {.path = path, .text = cw_buf_str(&text)};
    return rc ? rc : cw_config_load(&source, ret, problems, err);
}

static int fail_account(void)
{
    return cw_cli_usage("--as needs a database: set store.path in the configuration");
}

static int load_config(const cw_tools_opts *opts, cw_config **ret)
{
    cw_err err = {0};
    cw_config_problems problems;
    cw_config_problems_init(&problems);
    cw_code rc = read_config(opts, ret, &problems, &err);
    int code = rc ? cw_cli_config_failure(rc, &problems, &err) : -1;
    cw_config_problems_done(&problems);
    if (code >= 0 || !*ret || !opts->account || cw_config_store(*ret).n)
        return code;
    cw_config_unref(*ret);
    return fail_account();
}

static void write_loading(cw_buf *out, void *ctx)
{
    (void)ctx;
    cw_buf_add(out, CW_STR("loading the sources"));
}

static cw_code prepare(cw_tools *t, const cw_tools_opts *opts, cw_config *config, cw_err *err)
{
    static const bool never = false;
    cw_loop *loops[] = {t->loop};
    const cw_app_opts app = {.loop = t->loop,
                             .n_loops = CW_COUNT(loops),
                             .account = opts->account,
                             .plugin = opts->plugin ? cw_cli_plugin_file(opts->plugin) : NULL,
                             .services = opts->services,
                             .is_quiet = true,
                             .is_read_only = opts->is_read_only};
    cw_code rc = cw_app_open(&t->app, &app, config, err);
    if (rc)
        return rc;
    cw_runtime_attach(t->app.runtime, loops);
    rc = cw_app_configure(&t->app, config, err);
    if (rc)
        return rc;
    cw_app_wait(&t->app, SETTLE_MS, &never);
    rc = cw_app_check_account(&t->app, err);
    if (rc)
        return rc;
    size_t n = 0;
    if (t->app.snapshot)
        (void)cw_snapshot_entries(t->app.snapshot, &n);
    if (opts->plugin && n == 0)
        return cw_fail(err, CW_IO, "'%s' could not be loaded", opts->plugin);
    cw_runtime_started(t->app.runtime);
    t->rl = cw_runtime_at(t->app.runtime, t->loop);
    t->view = cw_runtime_anonymous(t->rl);
    return t->view ? CW_OK : cw_fail_nomem(err);
}

typedef struct tools_run {
    cw_tools tools;
    const cw_tools_opts *opts;
    cw_config *config;
    cw_cli_progress progress;
    int (*fn)(cw_tools *t, void *ctx);
    void *ctx;
    int code;        /* result of fn */
    size_t flushing; /* 1: the end of the app is awaited */
} tools_run;

static void on_flushed(void *ctx)
{
    tools_run *r = ctx;
    cw_cli_loop_finish(r->tools.loop, &r->flushing);
}

/* Send the last spans, and end the sessions with MCP servers. Both have time limits of their own. */
static void flush(tools_run *r)
{
    r->flushing = 1;
    cw_app_flush(&r->tools.app, on_flushed, r);
    cw_cli_loop_wait(r->tools.loop, &r->flushing);
}

static cw_code run_on_loop(cw_loop *loop, void *ctx, cw_err *err)
{
    tools_run *r = ctx;
    cw_tools *t = &r->tools;
    t->loop = loop;
    cw_cli_progress_start(&r->progress, &loop->uv, write_loading, NULL);
    cw_code rc = prepare(t, r->opts, r->config, err);
    cw_cli_progress_stop(&r->progress);
    if (!rc) {
        /* A source that loads late must not replace the view of the command. */
        t->view = cw_view_ref(t->view);
        r->code = r->fn(t, r->ctx);
        cw_view_unref(t->view);
        flush(r);
    }
    cw_app_close(&t->app);
    return rc;
}

static void free_app(void *ctx)
{
    cw_app_done(&((tools_run *)ctx)->tools.app);
}

int cw_tools_run(const cw_tools_opts *opts, int (*fn)(cw_tools *t, void *ctx), void *ctx)
{
    tools_run r = {.opts = opts, .fn = fn, .ctx = ctx};
    cw_err err = {0};
    int code = load_config(opts, &r.config);
    if (code >= 0)
        return code;
    /* The log shows problems only. */
    const cw_log_opts log = {.level = opts->ret_err ? CW_LOG_OFF : CW_LOG_WARN};
    (void)!cw_log_configure(&log, NULL);
    cw_code rc = cw_cli_loop_run(run_on_loop, free_app, &r, &err);
    cw_config_unref(r.config);
    if (rc && opts->ret_err) {
        *opts->ret_err = err;
        return CW_EXIT_FAILURE;
    }
    return rc ? cw_cli_failure("%s", err.msg) : r.code;
}

/* ---- administration methods ---- */

void cw_tools_lend(const cw_tools *t, cw_cli_admin *a)
{
    cw_config *config = cw_config_ref(t->app.settings.config);
    cw_config_unref(a->config);
    a->config = config;
    a->snapshot = t->app.snapshot;
}

typedef struct question {
    cw_cli_admin admin;
    int (*fn)(cw_cli_admin *a, void *ctx);
    void *ctx;
} question;

static int answer_here(cw_tools *t, void *ctx)
{
    question *q = ctx;
    cw_tools_lend(t, &q->admin);
    return q->fn(&q->admin, q->ctx);
}

int cw_tools_ask(const cw_cli_target *target, const cw_tools_opts *opts,
                 int (*fn)(cw_cli_admin *a, void *ctx), void *ctx)
{
    question q = {.fn = fn, .ctx = ctx};
    int code = cw_cli_admin_open(target, &q.admin);
    if (code >= 0)
        return code;
    if (!cw_cli_admin_has_server(&q.admin))
        code = cw_tools_run(opts, answer_here, &q);
    else if (opts->account && q.admin.config && !cw_config_store(q.admin.config).n)
        code = fail_account();
    else
        code = fn(&q.admin, ctx);
    cw_cli_admin_close(&q.admin);
    return code;
}

/* ---- refusals ---- */

/* Report that a caller lacks a general permission. */
static int refuse(cw_str caller, bool is_anonymous, const char *what, cw_str permission,
                  bool has_store)
{
    return cw_cli_failure("%.*s may not %s: that needs the permission '%s', under `roles` of the "
                          "configuration%s%s",
                          CW_STR_ARG(caller), what, permission.p,
                          has_store ? " or by \"causeway role allow\"" : "",
                          has_store && is_anonymous ? "; or name an account with --as" : "");
}

bool cw_tools_may_call(const cw_tools *t)
{
    const cw_caller *caller = cw_view_caller(t->view);
    if (cw_view_call_verdict(t->view) == CW_VERDICT_ALLOW)
        return true;
    refuse(cw_caller_name(caller), cw_caller_is_anonymous(caller), "call tools", CW_PERMISSION_CALL,
           t->app.has_store);
    return false;
}

void cw_tools_write_caller(cw_json_writer *w, const char *account)
{
    if (account)
        cw_json_add_string_member(w, CW_STR("account"), cw_str_from(account));
    else
        cw_json_add_string_member(w, CW_STR("role"), cw_str_from(CW_ROLE_ANONYMOUS));
}

int cw_tools_check_caller(const cw_cli_admin *a, const cw_json *result)
{
    const cw_json *caller = cw_json_get(result, CW_STR("caller"));
    bool has_store = !a->config || cw_config_store(a->config).n;
    if (!caller)
        return cw_cli_failure(CW_TOOLS_UNEXPECTED);
    if (cw_cli_admin_flag(caller, "discover"))
        return -1;
    CW_CLEANUP(cw_buf_done) cw_buf name;
    cw_buf_init(&name, CW_CLI_OUTPUT_MAX);
    cw_quote_shown(&name, cw_cli_admin_text(caller, "name"));
    return refuse(cw_buf_str(&name), cw_cli_admin_flag(caller, "anonymous"), "list tools",
                  CW_PERMISSION_DISCOVER, has_store);
}

void cw_tools_report_unknown(const cw_tools *t, const char *name)
{
    cw_err err = {0};
    const cw_entry *entry = NULL;
    if (cw_admin_find_visible(t->view, cw_str_from(name), &entry, &err))
        cw_cli_failure("%s", err.msg);
}

/* ---- texts ---- */

void cw_tools_add_line(cw_buf *out, cw_str text)
{
    cw_str line = CW_STR("");
    size_t n = 0, i = 0;
    for (cw_str rest = text; rest.p && line.n == 0;) {
        line = cw_str_cut(rest, '\n', &rest);
        if (line.n && line.p[line.n - 1] == '\r')
            line.n--;
        line = cw_str_trim(line);
    }
    for (; i < line.n && n <= CW_TOOLS_LINE; i++)
        n += ((unsigned char)line.p[i] & 0xC0) != 0x80;
    bool is_long = n > CW_TOOLS_LINE;
    cw_quote_shown(out, cw_str_make(line.p, is_long ? i - 1 : line.n));
    if (is_long)
        cw_buf_add(out, CW_STR("..."));
}
