/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stdio: one MCP client, on standard input and output. Everything runs on the main loop. TERM, INT
 * and HUP end it as the end of the input does. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/jwt/jose.h"
#include "base/log.h"
#include "cli/lib/admin.h"
#include "cli/lib/config_files.h"
#include "cli/lib/loop.h"
#include "config/toolset_path.h"
#include "door/mcp/stdio.h"
#include "json/write.h"
#include "server/app.h"
#include "server/files/examples.h"

/* For this long messages wait for sources, so that the first list is whole. `initialize` too: its
 * answer, which clients ask for once, says whether there are prompts and resources. */
#define SETTLE_MS 3000u
/* Time for the calls of a file beyond their own timeouts. */
#define FILE_SPARE_MS 1000u

typedef struct program {
    const char *config_path, *plugin, *account, *token_file, *tool_names, *toolset;
    cw_config_toolset_path at; /* of the toolset */
    cw_buf token;              /* an Authorization header; empty: none */
    cw_config *config;
    cw_loop *loop;
    cw_app app;
    cw_stdio *door;
    uv_signal_t signals[3];
    size_t pending; /* 1 until the end */
    bool is_over;
    bool is_hurried; /* messages do not wait for sources any longer */
} program;

/* ---- the token ---- */

#define TOKEN_VARIABLE "CAUSEWAY_TOKEN"
#define TOKEN_MAX_BYTES (CW_JWS_MAX_BYTES + 64u)

/* From the file, else from the environment, where no child program shall find it. Returns -1, or
 * the exit code. */
static int read_token(program *p)
{
    cw_err err = {0};
    cw_code rc = CW_OK;
    const char *variable = getenv(TOKEN_VARIABLE);
    cw_buf_init(&p->token, TOKEN_MAX_BYTES);
    if (p->token_file) {
        rc = cw_cli_read_token(p->token_file, &p->token, &err);
    } else if (variable && *variable && !p->account && !p->plugin) {
        cw_buf_printf(&p->token, "Bearer %s", variable);
        rc = p->token.code ? cw_fail(&err, p->token.code, TOKEN_VARIABLE " is too long") : CW_OK;
    }
    unsetenv(TOKEN_VARIABLE);
    return rc ? cw_cli_failure("%s", err.msg) : -1;
}

/* ---- configuration ---- */

static cw_code load_config(program *p, cw_config_problems *problems, cw_err *err)
{
    cw_buf text;
    cw_buf_init(&text, CW_CONFIG_MAX_BYTES);
    cw_code rc = CW_OK;
    if (p->plugin)
        rc = cw_cli_plugin_config(p->plugin, &text, err);
    else if (!p->config_path)
        rc = cw_examples_config(&text, err);
    cw_config_source source = {
        .path = p->config_path, .text = cw_buf_str(&text), .tool_names = p->tool_names};
    if (!rc)
        rc = cw_config_load(&source, &p->config, problems, err);
    if (!rc)
        rc = cw_cli_check_sources(p->config_path, p->config, problems, err);
    cw_buf_done(&text);
    return rc;
}

static int read_config(program *p)
{
    cw_err err = {0};
    cw_config_problems problems;
    cw_config_problems_init(&problems);
    cw_code rc = load_config(p, &problems, &err);
    int code = rc ? cw_cli_config_failure(rc, &problems, &err) : -1;
    if (!rc)
        code = cw_cli_try_store(p->config_path, p->config, &problems);
    cw_config_problems_done(&problems);
    if (code >= 0)
        return code;
    if (p->account && cw_config_store(p->config).n == 0)
        return cw_cli_usage("--as needs a database: set store.path in the configuration");
    if (p->token.n && cw_config_store(p->config).n == 0 && !p->config->access.issuers.n)
        return cw_cli_usage("a token cannot be checked: set store.path or access.issuers in the "
                            "configuration");
    code = p->toolset ? cw_cli_check_toolset(p->config, p->toolset) : -1;
    if (code >= 0)
        return code;
    if (cw_cli_configure_log(p->config, &err))
        return cw_cli_failure("%s", err.msg);
    return -1;
}

/* ---- the end ---- */

static void close_signals(program *p)
{
    /* Closing brings the default actions back; what is left to do must not be killed by them. */
    sigset_t late;
    sigemptyset(&late);
    sigaddset(&late, SIGTERM);
    sigaddset(&late, SIGINT);
    sigaddset(&late, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &late, NULL);
    for (size_t i = 0; i < CW_COUNT(p->signals); i++) {
        if (p->signals[i].loop)
            uv_close((uv_handle_t *)&p->signals[i], NULL);
    }
}

/* Workers are killed when the loop ends. */
static void end(program *p)
{
    if (p->is_over)
        return;
    p->is_over = p->is_hurried = true;
    cw_stdio_close(p->door);
    cw_app_close(&p->app);
    close_signals(p);
    cw_loop_end(p->loop); /* no message of another thread may find the closed app */
    cw_cli_loop_finish(p->loop, &p->pending);
}

static void on_flushed(void *ctx)
{
    end(ctx);
}

static void on_end(void *ctx)
{
    program *p = ctx;
    cw_app_flush(&p->app, on_flushed, p);
}

/* The client has left, or what came through a pipe is complete. Services may never respond. Plugins are
 * waited for: without them, their calls would have no result. */
static void on_overdue(void *ctx)
{
    program *p = ctx;
    p->is_hurried = p->is_hurried || !cw_sources_is_loading_plugins(p->app.sources);
}

static void on_signal(uv_signal_t *handle, int signum)
{
    program *p = handle->data;
    cw_log(CW_LOG_INFO, "stdio", "stopping", CW_KN("signal", signum));
    cw_stdio_stop(p->door);
}

static cw_code watch_signals(program *p, cw_err *err)
{
    static const int all[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        uv_signal_init(&p->loop->uv, &p->signals[i]);
        p->signals[i].data = p;
        int rc = uv_signal_start(&p->signals[i], on_signal, all[i]);
        if (rc)
            return cw_fail(err, CW_IO, "watch signals: %s", uv_strerror(rc));
    }
    return CW_OK;
}

/* ---- the beginning ---- */

/* No call takes longer than this. */
static uint32_t longest_call(const cw_config *config)
{
    uint32_t ms = config->plugins.timeout_ms;
    for (size_t i = 0; i < config->sources.n; i++) {
        if (config->sources.items[i].timeout_ms > ms)
            ms = config->sources.items[i].timeout_ms;
    }
    return ms + FILE_SPARE_MS;
}

static cw_code open_door(program *p, cw_err *err)
{
    const cw_config *config = p->config;
    cw_stdio_opts opts = {
        .door = p->app.mcp,
        .runtime = p->app.runtime,
        .loop = p->loop,
        .toolset = p->at.name,
        .is_read_only_toolset = p->at.is_read_only,
        .in = STDIN_FILENO,
        .out = STDOUT_FILENO,
        .line_size = config->limits.body_size,
        .queue_size = config->limits.stream_queue,
        .calls = config->limits.max_calls < config->plugins.queue ? config->limits.max_calls
                                                                  : config->plugins.queue,
        .file_ms = longest_call(config),
        .on_overdue = on_overdue,
        .on_end = on_end,
        .ctx = p,
    };
    return cw_stdio_new(&opts, &p->door, err);
}

static cw_code open_app(program *p, cw_err *err)
{
    cw_loop *loops[] = {p->loop};
    const cw_app_opts opts = {
        .loop = p->loop,
        .n_loops = CW_COUNT(loops),
        .account = p->account,
        .token = p->token.n ? cw_buf_str(&p->token) : (cw_str){NULL, 0},
        .plugin = p->plugin ? cw_cli_plugin_file(p->plugin) : NULL,
        .is_demo = !p->plugin && !p->config_path,
    };
    cw_code rc = cw_app_open(&p->app, &opts, p->config, err);
    if (!rc)
        cw_runtime_attach(p->app.runtime, loops);
    return rc;
}

/* An account, token or plugin that was named must exist. */
static cw_code check_ready(program *p, cw_err *err)
{
    if (p->is_over)
        return CW_OK;
    cw_code rc = cw_app_check_account(&p->app, err);
    if (rc)
        return rc;
    if (p->token.n && cw_caller_is_anonymous(p->app.anonymous))
        return cw_fail(err, CW_PARAMS,
                       "the token is refused, or cannot be checked at the moment: it is unknown, "
                       "expired or revoked, or its account is blocked");
    size_t n = 0;
    if (p->app.snapshot)
        (void)cw_snapshot_entries(p->app.snapshot, &n);
    if (p->plugin && n == 0)
        return cw_fail(err, CW_IO, "'%s' could not be loaded", p->plugin);
    return CW_OK;
}

static cw_code prepare(program *p, cw_err *err)
{
    cw_code rc = cw_log_start(err);
    if (!rc)
        rc = open_app(p, err);
    if (!rc)
        rc = open_door(p, err);
    if (!rc)
        rc = watch_signals(p, err);
    if (!rc)
        rc = cw_app_configure(&p->app, p->config, err);
    if (rc)
        return rc;
    if (!p->config_path && !p->plugin)
        cw_examples_announce(p->config);
    cw_app_wait(&p->app, SETTLE_MS, &p->is_hurried);
    return check_ready(p, err);
}

static cw_code run_on_loop(cw_loop *loop, void *ctx, cw_err *err)
{
    program *p = ctx;
    p->loop = loop;
    p->pending = 1;
    cw_code rc = prepare(p, err);
    if (rc) {
        end(p);
    } else if (!p->is_over) {
        cw_runtime_started(p->app.runtime);
        cw_stdio_go(p->door);
    }
    cw_cli_loop_wait(loop, &p->pending);
    return rc;
}

static void free_app(void *ctx)
{
    cw_app_done(&((program *)ctx)->app);
}

static int run(program *p)
{
    cw_err err = {0};
    cw_code rc = cw_cli_loop_run(run_on_loop, free_app, p, &err);
    cw_log_stop();
    return rc ? cw_cli_failure("%s", err.msg) : CW_EXIT_OK;
}

int cw_cli_stdio(int argc, char **argv)
{
    program p = {0};
    const char *config = NULL;
    const cw_cli_option options[] = {
        {"config", 'c', CW_CLI_TEXT, &config, "FILE", "read the configuration from FILE"},
        {"plugin", 'p', CW_CLI_TEXT, &p.plugin, "FILE.so",
         "serve only this plugin, without a configuration; the\n"
         "client may call all its methods"},
        {"as", 0, CW_CLI_TEXT, &p.account, "ACCOUNT",
         "act as this account of the database; default: the\n"
         "anonymous role"},
        {"token-file", 0, CW_CLI_TEXT, &p.token_file, "FILE",
         "act as the owner of this token, with its scopes;\n"
         "default: the token in $" TOKEN_VARIABLE ", if any"},
        CW_CLI_TOOL_NAMES_OPTION(&p.tool_names),
        CW_CLI_TOOLSET_OPTION(&p.toolset),
        {0},
    };
    const cw_cli_spec spec = {
        "stdio", "",
        "Serve one MCP client. Each line of standard input and output is a message; the\n"
        "log goes to standard error. The server exits at the end of the input. Without a\n"
        "configuration it serves the example plugin.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code >= 0)
        return code;
    const char *other = p.account      ? "as"
                        : p.token_file ? "token-file"
                        : p.toolset    ? "toolset"
                                       : NULL;
    if (p.plugin && (config || other))
        return cw_cli_usage("--plugin cannot be combined with --%s", config ? "config" : other);
    if (p.account && p.token_file)
        return cw_cli_usage("--as and --token-file cannot be combined");
    code = p.plugin ? cw_cli_check_plugin(p.plugin) : -1;
    if (code >= 0)
        return code;
    if (p.toolset)
        (void)cw_config_toolset_path_split(cw_str_from(p.toolset), &p.at.name, &p.at.is_read_only);
    p.config_path = p.plugin ? NULL : cw_cli_config_path(config);
    code = read_token(&p);
    if (code < 0)
        code = read_config(&p);
    if (code < 0)
        code = run(&p);
    if (p.token.p)
        explicit_bzero(p.token.p, p.token.n);
    cw_buf_done(&p.token);
    cw_config_unref(p.config);
    return code;
}
