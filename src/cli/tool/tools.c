/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tools.c - loads the sources as a server does, for commands that show or call tools. */
#include "cli/tool/tools.h"

#include "base/log.h"
#include "cli/lib/loop.h"
#include "cli/lib/progress.h"
#include "config/syntax/quote.h"
#include "server/examples.h"

#define SETTLE_MS 10000u
#define NEAR 3u /* edits, for "did you mean" */

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

static int load_config(const cw_tools_opts *opts, cw_config **ret)
{
    cw_err err = {0};
    cw_config_problems problems;
    cw_config_problems_init(&problems);
    cw_code rc = read_config(opts, ret, &problems, &err);
    int code = rc ? cw_cli_config_failure(rc, &problems, &err) : -1;
    cw_config_problems_done(&problems);
    if (code >= 0 || !*ret || !opts->account || (*ret)->store.path.n)
        return code;
    cw_config_unref(*ret);
    return cw_cli_usage("--as needs a database: set store.path in the configuration");
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
    if (opts->account && cw_caller_is_anonymous(t->app.anonymous))
        return cw_fail(err, CW_NOTFOUND, "there is no account '%s', or it is blocked",
                       opts->account);
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
    int code; /* result of fn */
} tools_run;

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

/* ---- finding ---- */

bool cw_tools_may(const cw_tools *t, bool discovers)
{
    const cw_caller *caller = cw_view_caller(t->view);
    cw_verdict verdict =
        discovers ? cw_view_discover_verdict(t->view) : cw_view_call_verdict(t->view);
    if (verdict == CW_VERDICT_ALLOW)
        return true;
    cw_str permission = discovers ? CW_PERMISSION_DISCOVER : CW_PERMISSION_CALL;
    cw_cli_failure(
        "%.*s may not %s: that needs the permission '%s', under `roles` of the "
        "configuration%s%s",
        CW_STR_ARG(cw_caller_name(caller)), discovers ? "list tools" : "call tools", permission.p,
        t->app.has_store ? " or by \"causeway role allow\"" : "",
        t->app.has_store && cw_caller_is_anonymous(caller) ? "; or name an account with --as" : "");
    return false;
}

static cw_str nearest(const cw_view *view, cw_str name)
{
    cw_str best = CW_STR("");
    unsigned least = NEAR + 1;
    size_t n;
    const cw_entry *const *tools = cw_snapshot_tools(cw_view_snapshot(view), &n);
    for (size_t i = 0; i < n; i++) {
        unsigned d = cw_str_distance_within(tools[i]->tool_name, name, NEAR);
        if (d < least && cw_view_verdict(view, tools[i]) != CW_VERDICT_HIDDEN) {
            least = d;
            best = tools[i]->tool_name;
        }
    }
    return best;
}

const cw_entry *cw_tools_find(const cw_tools *t, const char *name)
{
    char exposed[CW_EXCERPT_SIZE], near[CW_EXCERPT_SIZE];
    cw_str text = cw_str_from(name);
    const cw_entry *entry = cw_view_find_tool(t->view, text);
    if (!entry)
        entry = cw_view_find_method(t->view, text);
    if (!entry)
        entry = cw_view_find_portable(t->view, text);
    if (entry)
        return entry;
    /* A caller without discovery permission gets no suggestions. */
    bool may_list = cw_view_discover_verdict(t->view) == CW_VERDICT_ALLOW;
    cw_str other = may_list ? nearest(t->view, text) : CW_STR("");
    cw_excerpt(text, exposed);
    cw_str who = cw_caller_name(cw_view_caller(t->view));
    if (other.n)
        cw_cli_failure("there is no tool %s for %.*s; did you mean %s?", exposed, CW_STR_ARG(who),
                       cw_excerpt(other, near));
    else
        cw_cli_failure("there is no tool %s for %.*s; see \"causeway list\"", exposed,
                       CW_STR_ARG(who));
    return NULL;
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
