/* SPDX-License-Identifier: GPL-2.0-or-later */
/* serve: the running server. The main thread reads the configuration, starts the loops, and then
 * looks after the sources and waits for signals: TERM and INT stop gracefully (a second one at
 * once), HUP reads the configuration again, USR2 starts a new process that takes the sockets over. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/lib/cli.h"
#include "cli/lib/config_files.h"
#include "config/syntax/check.h"
#include "door/jsonrpc/jsonrpc.h"
#include "door/mcp/mcp.h"
#include "door/oauth/register.h"
#include "door/oauth/token.h"
#include "door/operation.h"
#include "door/page/authorize.h"
#include "door/page/console.h"
#include "door/page/health.h"
#include "door/page/login.h"
#include "door/page/metrics.h"
#include "door/rest/oauth_metadata.h"
#include "door/rest/rest.h"
#include "metrics/names.h"
#include "server/app.h"
#include "server/app_state.h"
#include "server/files/examples.h"
#include "server/files/local_socket.h"
#include "server/listeners.h"
#include "server/probe.h"
#include "server/upgrade/notify.h"
#include "server/upgrade/takeover.h"

/* For this long the start waits for sources, so that the first client finds the tools. A process
 * that takes over has more time: the old one serves meanwhile. */
#define SETTLE_MS 3000u
#define SETTLE_SUCCESSOR_MS 10000u
#define COMPLAINTS_MAX 4096u
#define ENDS_MS 250u
#define RELOAD_WAIT_MS 1000u /* for a database that is slow, and for loops that are busy */

typedef struct service {
    const char *config_path, *tool_names;
    cw_cli_texts listen;
    cw_config *config;
    cw_config *at_start; /* the first one: some keys need a restart */
    cw_router router;
    cw_health health;
    cw_server *server;
    cw_app app;
    cw_oauth_metadata resource;
    cw_login_pages login;
    cw_authorize_pages authorize;
    cw_oauth_register registrations;
    cw_oauth_token_routes token_routes;
    cw_console console;
    cw_metrics_page metrics;
    cw_str console_host; /* text of at_start; empty: no console */
    cw_loop main_loop;
    uv_signal_t term, intr, hup, usr2;
    cw_notify notify;
    cw_program program;       /* that an upgrade starts */
    cw_takeover *takeover;    /* NULL: no upgrade is under way */
    cw_admin_call *upgrading; /* the call that waits for it; NULL: a signal has begun it */
    int successor_link;       /* open while this process drains; -1: none */
    uv_timer_t lame_duck;     /* until the server stops; .data is NULL: not used */
    uv_timer_t ends;          /* reads ended sessions of the predecessor; .data is NULL: not used */
    cw_successor successor;
    cw_server_probe probe;
    cw_handed handed; /* sockets of a predecessor, or of the service manager */
    char addresses[CW_SERVER_MAX_LISTENERS][CW_ADDRESS_TEXT];
    cw_message end; /* to the main loop */
    bool started, stopping;
    bool is_successor; /* this process has taken over */
    bool reloaded;     /* since the upgrade began: its new process must do so too */
    bool has_hints;    /* print what to try */
} service;

/* ---- configuration ---- */

static cw_code load_config(const service *sv, cw_config **ret, cw_config_problems *problems,
                           cw_err *err)
{
    cw_config_source source = {.path = sv->config_path,
                               .listen = sv->listen.items,
                               .n_listen = sv->listen.n,
                               .tool_names = sv->tool_names};
    cw_buf examples;
    cw_buf_init(&examples, CW_CONFIG_MAX_BYTES);
    cw_code rc = sv->config_path ? CW_OK : cw_examples_config(&examples, err);
    source.text = cw_buf_str(&examples);
    cw_config *config = NULL;
    if (!rc)
        rc = cw_config_load(&source, &config, problems, err);
    if (!rc)
        rc = cw_cli_check_sources(sv->config_path, config, problems, err);
    cw_buf_done(&examples);
    if (rc)
        cw_config_unref(config);
    else
        *ret = config;
    return rc;
}

cw_code cw_cli_configure_log(const cw_config *c, cw_err *err)
{
    cw_log_opts opts = cw_config_log_opts(c);
    return cw_log_configure(&opts, err);
}

/* The runtime is made after the first options are set, and before the first request. */
static void on_response(cw_http_req *req, unsigned status, uint64_t begun_ns, void *ctx)
{
    const service *sv = ctx;
    cw_operation_on_response(req, status, begun_ns, sv->app.runtime);
}

static cw_server_opts server_opts(const service *sv, const cw_config *c)
{
    return (cw_server_opts){
        .head = {c->limits.target_size, c->limits.header_size, c->limits.header_fields},
        .body_size = c->limits.body_size,
        .body_memory = c->limits.body_memory,
        .connections = c->limits.connections,
        .per_address = c->limits.connections_per_address,
        .pipelined = c->limits.pipelined_requests,
        .min_rate = c->limits.min_body_rate,
        .stream_queue = c->limits.stream_queue,
        .header_ms = c->timeouts.header_ms,
        .body_ms = c->timeouts.body_ms,
        .idle_ms = c->timeouts.idle_ms,
        .write_ms = c->timeouts.write_ms,
        .drain_ms = c->timeouts.drain_ms,
        .linger_ms = c->timeouts.linger_ms,
        .ping_ms = c->timeouts.sse_keepalive_ms,
        .access_log = c->access_log,
        .on_response = on_response,
        .response_ctx = (void *)(uintptr_t)sv,
        .hosts = c->hosts.items,
        .n_hosts = c->hosts.n,
        .origins = c->origins.items,
        .n_origins = c->origins.n,
        .proxies = c->trusted_proxies.items,
        .n_proxies = c->trusted_proxies.n,
        .tls_certificate = c->tls.certificate.n ? c->tls.certificate.p : NULL,
        .tls_key = c->tls.key.n ? c->tls.key.p : NULL,
        .tls_ciphers = c->tls.ciphers.p,
        .public_url = c->public_url,
        .page_host = sv->console_host,
        .tls13_only = c->tls.min_version == CW_CONFIG_TLS_1_3,
    };
}

/* ---- reload ---- */

/* The keys that a reload cannot change, because the listeners are open and the loops run. */
static void warn_restart(const cw_config *at_start, const cw_config *fresh)
{
    cw_buf keys;
    cw_buf_init(&keys, 4096);
    cw_config_changed_keys(at_start, fresh, /* needs_restart= */ true, &keys);
    if (keys.n)
        cw_log(CW_LOG_WARN, "config", "changes wait for a restart",
               CW_KV("keys", cw_buf_str(&keys)));
    cw_buf_done(&keys);
}

static void log_problems(const cw_config_problems *problems, const cw_err *err)
{
    for (size_t i = 0; i < problems->n; i++)
        cw_log(CW_LOG_ERROR, "config", "configuration refused, the old one stays",
               CW_KV("problem", cw_str_from(problems->items[i].text)));
    if (problems->n == 0)
        cw_log_err(CW_LOG_ERROR, "config", "configuration refused, the old one stays", err);
}

/* The metrics of a configuration that is in force. */
static void set_metrics(const cw_config *config)
{
    cw_metrics_limit_tools(config->metrics.tools);
    cw_metrics_set(CW_METRIC_CALLS_LIMIT, 0, 0, 0, config->limits.max_calls);
    cw_metrics_set(CW_METRIC_CONFIG_TIME, 0, 0, 0, cw_clock_wall_ms());
}

static cw_code apply(service *sv, cw_config *fresh, cw_err *err)
{
    cw_server_opts opts = server_opts(sv, fresh), old = server_opts(sv, sv->config);
    cw_code rc = cw_server_configure(sv->server, &opts, err);
    if (rc)
        return rc;
    rc = cw_app_configure(&sv->app, fresh, err);
    if (rc) {
        /* Half of a configuration is none. */
        (void)!cw_server_configure(sv->server, &old, NULL);
        return rc;
    }
    warn_restart(sv->at_start, fresh);
    set_metrics(fresh);
    cw_err log_err;
    if (cw_cli_configure_log(fresh, &log_err))
        cw_log_err(CW_LOG_ERROR, "config", "log options refused, the old ones stay", &log_err);
    if (cw_metrics_page_configure(&sv->metrics, fresh, &log_err))
        cw_log_err(CW_LOG_ERROR, "config", "the token of metrics stays as it was", &log_err);
    return CW_OK;
}

/* A file that is rewritten in place is blank for a moment, and a full disk can leave it so. Its defaults would end all
 * sources, roles and the audit of a running server. */
static cw_code check_blank(const service *sv, const cw_config *fresh, cw_err *err)
{
    if (!fresh->is_blank || sv->config->is_blank)
        return CW_OK;
    return cw_fail(err, CW_CONFIG,
                   "%s: the file is blank; write it again, or a comment if you want the defaults",
                   sv->config_path);
}

static cw_code read_again(service *sv, cw_config **ret, cw_config_problems *problems, cw_err *err)
{
    cw_code rc = load_config(sv, ret, problems, err);
    if (!rc)
        rc = cw_cli_check_tls(sv->config_path, *ret, problems);
    if (!rc && problems->total)
        rc = cw_check_fail(problems, err);
    if (!rc)
        rc = check_blank(sv, *ret, err);
    return rc ? rc : apply(sv, *ret, err);
}

/* An array of names that are separated by ", ". */
static void write_names(cw_json_writer *out, cw_str name, cw_str names)
{
    cw_json_add_key(out, name);
    cw_json_open_array(out);
    for (cw_str rest = names; rest.p && rest.n;)
        cw_json_add_string(out, cw_str_trim(cw_str_cut(rest, ',', &rest)));
    cw_json_close(out);
}

static void write_changes(cw_json_writer *out, const service *sv, const cw_config *fresh)
{
    CW_CLEANUP(cw_buf_done) cw_buf changed;
    CW_CLEANUP(cw_buf_done) cw_buf restart;
    cw_buf_init(&changed, CW_CONFIG_MAX_BYTES);
    cw_buf_init(&restart, CW_CONFIG_MAX_BYTES);
    cw_config_changed_keys(sv->config, fresh, /* needs_restart= */ false, &changed);
    cw_config_changed_keys(sv->at_start, fresh, /* needs_restart= */ true, &restart);
    cw_json_add_bool_member(out, CW_STR("applied"), true);
    write_names(out, CW_STR("changed"), cw_buf_str(&changed));
    write_names(out, CW_STR("restart"), cw_buf_str(&restart));
}

static void write_problems(cw_json_writer *out, const cw_config_problems *problems,
                           const cw_err *err)
{
    cw_json_add_bool_member(out, CW_STR("applied"), false);
    cw_json_add_key(out, CW_STR("problems"));
    cw_json_open_array(out);
    for (size_t i = 0; i < problems->n; i++)
        cw_json_add_string(out, cw_str_from(problems->items[i].text));
    if (!problems->n)
        cw_json_add_string(out, cw_str_from(err->msg));
    cw_json_close(out);
}

/* Read the configuration again. `out` (NULL: none) receives the members of a report. */
static cw_code reload(service *sv, cw_json_writer *out)
{
    cw_err err = {0};
    cw_notify_send(&sv->notify, "RELOADING=1\nMONOTONIC_USEC=%llu",
                   (unsigned long long)(cw_clock_ns() / 1000));
    sv->reloaded = true;
    cw_config *fresh = NULL;
    cw_config_problems problems;
    cw_config_problems_init(&problems);
    cw_code rc = read_again(sv, &fresh, &problems, &err);
    if (rc) {
        log_problems(&problems, &err);
        if (out)
            write_problems(out, &problems, &err);
        cw_config_unref(fresh);
    } else {
        if (out)
            write_changes(out, sv, fresh);
        cw_config_unref(sv->config);
        sv->config = fresh;
        /* An operator who reads this line may expect the new settings. */
        (void)cw_app_wait_roles(&sv->app, RELOAD_WAIT_MS);
        (void)cw_runtime_wait(sv->app.runtime, RELOAD_WAIT_MS);
        cw_log(CW_LOG_INFO, "config", "configuration read again");
    }
    cw_config_problems_done(&problems);
    cw_metrics_count(CW_METRIC_RELOADS, rc ? CW_RESULT_FAILED : CW_RESULT_OK, 0, 0);
    cw_notify_send(&sv->notify, "READY=1\nSTATUS=%s",
                   rc ? "configuration refused, the old one stays" : "configuration read again");
    return rc;
}

static void audit_signal(const service *sv, bool is_ok, cw_str method)
{
    cw_audit_add(sv->app.audit, &(cw_audit_record){.kind = CW_AUDIT_CHANGE,
                                                   .door = "signal",
                                                   .outcome = is_ok ? "ok" : "failed",
                                                   .method = method});
}

static void reload_by_signal(service *sv)
{
    audit_signal(sv, reload(sv, NULL) == CW_OK, CW_STR("config reload"));
}

/* For administration methods; a configuration that is rejected is a result, not an error. */
static cw_code reload_by_method(cw_json_writer *out, void *ctx, cw_err *err)
{
    service *sv = ctx;
    (void)err;
    if (reload(sv, out) == CW_NOMEM)
        return cw_fail_nomem(err);
    return CW_OK;
}

static uint32_t count_connections(void *ctx)
{
    const service *sv = ctx;
    return cw_server_connections(sv->server);
}

/* ---- upgrade ---- */

static void on_stopped(void *ctx);

/* systemctl shows the status, and the package's upgrade ends its wait by it. */
static void report_failed_upgrade(service *sv, const char *why)
{
    cw_log(CW_LOG_ERROR, "serve", "upgrade failed, this process goes on",
           CW_KV("why", cw_str_from(why)));
    cw_notify_status(&sv->notify, "upgrade failed, this process goes on: ", cw_str_from(why));
}

static void let_go(service *sv)
{
    cw_err err = {0};
    int state = -1;
    if (cw_app_state_save(&sv->app, &state, &err))
        cw_log_err(CW_LOG_WARN, "serve", "the new process starts without state of sessions", &err);
    sv->successor_link = cw_takeover_let_go(sv->takeover, state);
    if (state >= 0)
        close(state);
}

/* The new process accepts connections: finish what runs here. */
static void hand_over(service *sv, const cw_takeover_result *result)
{
    cw_log(CW_LOG_INFO, "serve", "a new process has taken over", CW_KN("pid", result->pid),
           CW_KV("version", cw_str_from(result->version)),
           CW_KN("connections", cw_server_connections(sv->server)));
    cw_notify_send(&sv->notify, "MAINPID=%d\nREADY=1\nSTATUS=taken over by process %d",
                   (int)result->pid, (int)result->pid);
    cw_notify_close(&sv->notify);
    let_go(sv);
    if (sv->reloaded)
        cw_takeover_signal(sv->takeover, SIGHUP);
    sv->stopping = true;
    cw_server_hand_over(sv->server);
    cw_server_stop(sv->server, on_stopped, sv);
}

static void on_takeover(const cw_takeover_result *result, void *ctx)
{
    service *sv = ctx;
    cw_admin_call *call = sv->upgrading;
    sv->upgrading = NULL;
    if (!result->pid)
        report_failed_upgrade(sv, result->problem);
    if (call) {
        cw_takeover_write_result(result, call->out);
        call->finish(call, CW_OK, NULL);
    } else {
        audit_signal(sv, result->pid != 0, CW_STR("upgrade"));
    }
    if (result->pid)
        hand_over(sv, result);
    cw_takeover_close(sv->takeover);
    sv->takeover = NULL;
}

static cw_code begin_upgrade(service *sv, cw_err *err)
{
    if (!sv->started || sv->stopping)
        return cw_fail(err, CW_INVALID, "the server is starting or stopping");
    if (sv->takeover)
        return cw_fail(err, CW_INVALID, "an upgrade is under way");
    if (!sv->program.path)
        return cw_fail(err, CW_IO, "the command line of this process is not known");
    if (getpid() == 1)
        return cw_fail(err, CW_CONFIG,
                       "the server is process 1, whose end ends the container: start a new "
                       "container instead");
    const cw_takeover_opts opts = {.loop = &sv->main_loop,
                                   .spawner = sv->app.spawner,
                                   .server = sv->server,
                                   .program = &sv->program,
                                   .timeout_ms = sv->config->timeouts.upgrade_ms,
                                   .done = on_takeover,
                                   .ctx = sv};
    cw_mcp_yield_ends(sv->app.mcp);
    cw_code rc = cw_takeover_start(&opts, &sv->takeover, err);
    if (rc)
        return rc;
    sv->reloaded = false;
    cw_notify_status(&sv->notify, "upgrade begun", CW_STR(""));
    cw_log(CW_LOG_INFO, "serve", "upgrade begun", CW_KV("program", cw_str_from(sv->program.path)));
    return CW_OK;
}

static void upgrade_by_signal(service *sv)
{
    cw_err err = {0};
    if (!begin_upgrade(sv, &err))
        return;
    report_failed_upgrade(sv, err.msg);
    audit_signal(sv, false, CW_STR("upgrade"));
}

static cw_code upgrade_by_method(cw_admin_call *call, void *ctx, cw_err *err)
{
    service *sv = ctx;
    cw_code rc = begin_upgrade(sv, err);
    if (rc)
        return rc;
    sv->upgrading = call;
    return CW_AGAIN;
}

/* ---- signals and the end ---- */

/* Also when not all of them were opened, or some are closed already. */
static void close_signals(service *sv)
{
    /* Closing brings the default actions back; what is left to do must not be killed by them. */
    sigset_t late;
    sigemptyset(&late);
    sigaddset(&late, SIGTERM);
    sigaddset(&late, SIGINT);
    sigaddset(&late, SIGHUP);
    sigaddset(&late, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &late, NULL);
    uv_signal_t *all[] = {&sv->term, &sv->intr, &sv->hup, &sv->usr2};
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        if (all[i]->loop && !uv_is_closing((uv_handle_t *)all[i]))
            uv_close((uv_handle_t *)all[i], NULL);
    }
}

static void close_timer(uv_timer_t *timer)
{
    if (timer->data && !uv_is_closing((uv_handle_t *)timer))
        uv_close((uv_handle_t *)timer, NULL);
}

/* Everything that keeps the main loop running. Twice is fine. */
static void end_main_loop(service *sv)
{
    cw_takeover_close(sv->takeover);
    close_timer(&sv->ends);
    close_timer(&sv->lame_duck);
    cw_app_close(&sv->app);
    cw_notify_close(&sv->notify);
    close_signals(sv);
    cw_loop_end(&sv->main_loop);
}

static void on_flushed(void *ctx)
{
    end_main_loop(ctx);
}

/* The loops have ended. The last spans are sent before the main loop ends, too. */
static void on_end(cw_message *message)
{
    service *sv = CW_CONTAINER(message, service, end);
    cw_app_flush(&sv->app, on_flushed, sv);
}

/* From a loop's thread. */
static void on_stopped(void *ctx)
{
    service *sv = ctx;
    cw_loop_post(&sv->main_loop, &sv->end);
}

static void on_lame_duck_end(uv_timer_t *timer)
{
    service *sv = timer->data;
    close_timer(timer);
    cw_server_stop(sv->server, on_stopped, sv);
}

/* A balancer must learn of the stop before connections are refused. False: it needs no time. */
static bool begin_lame_duck(service *sv)
{
    uint32_t ms = sv->config->timeouts.lame_duck_ms;
    atomic_store(&sv->health.leaving, true);
    if (ms == 0 || sv->stopping)
        return false;
    uv_timer_init(&sv->main_loop.uv, &sv->lame_duck);
    sv->lame_duck.data = sv;
    uv_timer_start(&sv->lame_duck, on_lame_duck_end, ms, 0);
    return true;
}

/* The first signal finishes what runs, the second one ends everything. */
static void stop(service *sv)
{
    bool waits = sv->started && begin_lame_duck(sv);
    sv->stopping = true;
    if (!sv->started || waits)
        return;
    close_timer(&sv->lame_duck);
    cw_server_stop(sv->server, on_stopped, sv);
}

static void on_signal(uv_signal_t *handle, int signum)
{
    service *sv = handle->data;
    if (signum == SIGHUP) {
        if (!sv->stopping)
            reload_by_signal(sv);
        return;
    }
    if (signum == SIGUSR2) {
        upgrade_by_signal(sv);
        return;
    }
    cw_takeover_close(sv->takeover);
    cw_notify_send(&sv->notify, "STOPPING=1\nSTATUS=finishing running requests");
    cw_log(CW_LOG_INFO, "serve", sv->stopping ? "stopping now" : "stopping",
           CW_KN("connections", cw_server_connections(sv->server)));
    stop(sv);
}

static cw_code watch_signals(service *sv, cw_err *err)
{
    const struct {
        uv_signal_t *handle;
        int signum;
    } all[] = {{&sv->term, SIGTERM}, {&sv->intr, SIGINT}, {&sv->hup, SIGHUP}, {&sv->usr2, SIGUSR2}};
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        uv_signal_init(&sv->main_loop.uv, all[i].handle);
        all[i].handle->data = sv;
        int rc = uv_signal_start(all[i].handle, on_signal, all[i].signum);
        if (rc)
            return cw_fail(err, CW_IO, "watch signals: %s", uv_strerror(rc));
    }
    return CW_OK;
}

/* ---- start ---- */

static cw_code listen_local(service *sv, const char *path, cw_err *err)
{
    char address[CW_LOCAL_SOCKET_PATH + 8];
    snprintf(address, sizeof address, "unix:%s", path);
    cw_str text = cw_str_from(address);
    cw_handed_listener *open = cw_handed_find(&sv->handed, text, /* is_local= */ true);
    return open ? cw_server_adopt(sv->server, open, /* tls= */ false, err)
                : cw_server_listen_local(sv->server, text, err);
}

/* The socket for commands. One that the configuration names must work; otherwise the server runs
 * without it. */
static cw_code open_admin_socket(service *sv, cw_err *err)
{
    char path[CW_LOCAL_SOCKET_PATH];
    cw_err why = {0};
    if (!sv->config->admin.enabled)
        return CW_OK;
    cw_local_socket_make_folder(sv->config);
    cw_code rc = cw_local_socket_path(sv->config, sv->config_path, path, &why);
    if (!rc)
        rc = cw_local_socket_check_folder(path, &why);
    if (!rc)
        rc = listen_local(sv, path, &why);
    if (rc && sv->config->admin.socket.n)
        return cw_fail(err, rc, "admin.socket: %s", why.msg);
    if (rc)
        cw_log_err(sv->config_path ? CW_LOG_WARN : CW_LOG_INFO, "serve",
                   "commands cannot reach this server", &why);
    return CW_OK;
}

/* The console of a demo has no logins: it is for this machine only. */
static cw_str choose_console_host(const service *sv)
{
    size_t n;
    const cw_listener *all = cw_server_listeners(sv->server, &n);
    if (sv->config_path)
        return sv->config->console.enabled ? sv->config->console.host : CW_STR("");
    while (n && cw_listener_is_near(&all[n - 1]))
        n--;
    return n ? CW_STR("") : CW_STR(CW_CONSOLE_HOST);
}

/* The facts about the server itself that administration methods report. */
static void describe_server(service *sv)
{
    size_t n;
    const cw_listener *all = cw_server_listeners(sv->server, &n);
    cw_admin_server *admin = &sv->app.admin;
    for (size_t i = 0; i < n; i++) {
        if (!all[i].is_local && !all[i].is_for_metrics)
            cw_address_format(&all[i].address, sv->addresses[admin->n_addresses++],
                              sizeof sv->addresses[0]);
    }
    admin->addresses = sv->addresses;
    admin->at_start = sv->at_start = cw_config_ref(sv->config);
    admin->connections = count_connections;
    admin->reload = reload_by_method;
    admin->upgrade = upgrade_by_method;
    admin->ctx = sv;
}

/* The built-in authorization server, which a reload can turn off and on. */
static cw_code add_oauth_routes(service *sv)
{
    cw_runtime *runtime = sv->app.runtime;
    cw_router_set_switch(&sv->router, &sv->app.has_oauth);
    cw_code rc = cw_authorize_add_routes(&sv->router, &sv->authorize, runtime, sv->app.documents);
    if (!rc)
        rc = cw_oauth_register_add_routes(&sv->router, &sv->registrations, runtime);
    if (!rc)
        rc = cw_oauth_token_add_routes(&sv->router, &sv->token_routes, runtime, sv->config);
    cw_router_set_switch(&sv->router, NULL);
    return rc;
}

static cw_code add_routes(service *sv, cw_err *err)
{
    const cw_sources_health *sources = &sv->app.health;
    sv->health = (cw_health){.audit = sv->app.audit,
                             .ready = &sources->ready,
                             .stale = &sources->stale,
                             .down = &sources->down,
                             .withheld = &sources->withheld,
                             .plugins = &sources->plugins,
                             .failed_plugins = &sources->failed,
                             .store_away = &sv->app.store_away};
    cw_code rc = cw_health_add_routes(&sv->router, &sv->health);
    if (!rc)
        rc = cw_jsonrpc_add_routes(&sv->router, sv->app.runtime);
    if (!rc)
        rc = cw_mcp_add_routes(&sv->router, sv->app.mcp, sv->config->mcp.path);
    if (!rc)
        rc = cw_rest_add_routes(&sv->router, sv->app.runtime);
    if (!rc)
        rc = cw_oauth_metadata_add_routes(&sv->router, &sv->resource, sv->app.runtime, sv->config);
    if (!rc)
        rc = cw_login_page_add_routes(&sv->router, &sv->login, sv->app.runtime,
                                      sv->config->access.login.path);
    if (!rc)
        rc = cw_console_add_routes(&sv->router, &sv->console, sv->app.runtime, sv->config);
    if (!rc && sv->config->access.server.enabled)
        rc = add_oauth_routes(sv);
    if (rc)
        return cw_fail(err, rc, "routes: %s", cw_code_text(rc));
    return cw_metrics_page_open(&sv->metrics, &sv->router, sv->app.runtime, sv->config, err);
}

static cw_code open_app(service *sv, cw_err *err)
{
    const cw_app_opts opts = {.loop = &sv->main_loop,
                              .n_loops = cw_server_n_loops(sv->server),
                              .keeps_state = true,
                              .config_path = sv->config_path,
                              .console_host = sv->console_host,
                              .is_demo = !sv->config_path};
    return cw_app_open(&sv->app, &opts, sv->config, err);
}

/* Everything but the loops: the sockets are bound, so that clients that come early wait in their
 * queues, and the sources are loaded. */
static cw_code prepare(service *sv, cw_err *err)
{
    cw_code rc = cw_server_new(&sv->router, sv->config->loops, &sv->server, err);
    if (!rc)
        rc = cw_app_open_listeners(sv->server, sv->config, &sv->handed, err);
    if (!rc)
        rc = open_admin_socket(sv, err);
    sv->console_host = rc ? CW_STR("") : choose_console_host(sv);
    cw_server_opts opts = server_opts(sv, sv->config);
    if (!rc)
        rc = cw_server_configure(sv->server, &opts, err);
    if (!rc)
        rc = cw_log_start(err);
    if (!rc && !sv->config_path)
        cw_examples_announce(sv->config);
    if (!rc)
        rc = watch_signals(sv, err);
    if (!rc)
        rc = open_app(sv, err);
    if (!rc)
        describe_server(sv);
    if (!rc)
        rc = add_routes(sv, err);
    if (!rc)
        rc = cw_app_configure(&sv->app, sv->config, err);
    if (!rc)
        cw_app_wait(&sv->app, sv->is_successor ? SETTLE_SUCCESSOR_MS : SETTLE_MS, &sv->stopping);
    return rc;
}

static cw_code start(service *sv, cw_err *err)
{
    cw_app_attach(&sv->app, sv->server);
    cw_code rc = cw_server_start(sv->server, err);
    if (rc)
        return rc;
    cw_runtime_started(sv->app.runtime);
    cw_mcp_start_webhooks(sv->app.mcp, cw_server_loop_at(sv->server, 0));
    sv->probe.main_loop = &sv->main_loop;
    sv->probe.server = sv->server;
    sv->probe.audit = sv->app.audit;
    sv->probe.tracer = sv->app.tracer;
    cw_server_probe_start(&sv->probe);
    if (sv->config->metrics.enabled)
        sv->app.admin.stats = cw_admin_stats_start(&sv->app.admin);
    sv->started = true;
    return CW_OK;
}

/* Warn the operator that passwords are rejected on a public listener without TLS. */
static void warn_clear_text(const service *sv, const cw_listener *l)
{
    char address[CW_ADDRESS_TEXT];
    if (cw_config_store(sv->config).n == 0 || l->tls || cw_address_is_loopback(&l->address))
        return;
    cw_address_format(&l->address, address, sizeof address);
    cw_log(CW_LOG_WARN, "serve",
           sv->config->access.allow_plaintext_passwords
               ? "passwords are taken from other machines without TLS"
               : "passwords are refused from other machines without TLS",
           CW_KV("address", cw_str_from(address)));
}

/* Rights that need no login are meant for this machine, unless the operator knows otherwise. */
static void warn_open(const service *sv, const cw_listener *l)
{
    char address[CW_ADDRESS_TEXT];
    if (!sv->config_path || cw_listener_is_near(l) || !sv->app.anonymous ||
        cw_caller_n_permissions(sv->app.anonymous) == 0)
        return;
    cw_address_format(&l->address, address, sizeof address);
    cw_log(CW_LOG_WARN, "serve",
           "other machines have the rights of the anonymous role, without a login",
           CW_KV("address", cw_str_from(address)),
           CW_KN("permissions", cw_caller_n_permissions(sv->app.anonymous)));
}

/* Without a configuration the only listener is on loopback, unless --listen names another. */
static void log_exposure(const service *sv, const cw_listener *l)
{
    char address[CW_ADDRESS_TEXT];
    bool is_near = cw_listener_is_near(l);
    if (sv->config_path)
        return;
    cw_address_format(&l->address, address, sizeof address);
    cw_log(is_near ? CW_LOG_INFO : CW_LOG_WARN, "serve",
           is_near ? "no configuration file: only this machine can connect"
                   : "no configuration file: other machines can connect and call the examples",
           CW_KV("address", cw_str_from(address)));
}

static int announce(const service *sv)
{
    cw_buf text;
    cw_buf_init(&text, 16384);
    size_t n;
    const cw_listener *listeners = cw_server_listeners(sv->server, &n);
    for (size_t i = 0; i < n; i++) {
        char address[CW_ADDRESS_TEXT];
        cw_address_format(&listeners[i].address, address, sizeof address);
        bool is_unix = listeners[i].address.sa.ss_family == AF_UNIX;
        const char *scheme = is_unix ? "" : (listeners[i].tls ? "https://" : "http://");
        if (listeners[i].is_local)
            continue;
        if (listeners[i].is_for_metrics) {
            cw_buf_printf(&text, "causeway: metrics on %s%s\n", scheme, address);
            continue;
        }
        if (listeners[i].is_for_console) {
            cw_buf_printf(&text, "causeway: console on %s%s\n", scheme, address);
            continue;
        }
        warn_clear_text(sv, &listeners[i]);
        warn_open(sv, &listeners[i]);
        log_exposure(sv, &listeners[i]);
        cw_buf_printf(&text, "causeway: listening on %s%s\n", scheme, address);
    }
    if (sv->has_hints && !sv->config_path && sv->config->plugins.directory.n && n)
        cw_examples_print_hints(&listeners[0], sv->console_host, &text);
    int code = cw_cli_print(cw_buf_str(&text));
    cw_buf_done(&text);
    return code;
}

/* Clients of the predecessor may end sessions as long as it drains. */
static void on_ends(uv_timer_t *timer)
{
    service *sv = timer->data;
    bool is_alone = cw_successor_is_alone(&sv->successor);
    cw_mcp_reread_ends(sv->app.mcp);
    if (is_alone)
        uv_timer_stop(timer);
}

static void follow_predecessor(service *sv, int state)
{
    cw_err err = {0};
    if (state >= 0 && cw_app_state_load(&sv->app, state, &err))
        cw_log_err(CW_LOG_WARN, "serve", "the state of the old process is not used", &err);
    uv_timer_init(&sv->main_loop.uv, &sv->ends);
    sv->ends.data = sv;
    uv_timer_start(&sv->ends, on_ends, 0, ENDS_MS);
}

/* The loops run: let go of a predecessor, and notify the service manager. */
static void settle(service *sv)
{
    cw_err err = {0};
    size_t n_tools = 0;
    if (sv->is_successor)
        follow_predecessor(sv, cw_successor_started(&sv->successor));
    if (sv->app.snapshot)
        (void)cw_snapshot_tools(sv->app.snapshot, &n_tools);
    cw_notify_send(&sv->notify, "READY=1\nSTATUS=serving %zu tool%s", n_tools,
                   n_tools == 1 ? "" : "s");
    cw_notify_unstore(&sv->notify, &sv->handed);
    cw_notify_store_listeners(&sv->notify, sv->server);
    cw_handed_done(&sv->handed, /* removes_files= */ true);
    if (cw_notify_watch(&sv->notify, &sv->main_loop, sv->server, &err))
        cw_log_err(CW_LOG_ERROR, "serve", "the watchdog is not notified", &err);
}

static int run_prepared(service *sv)
{
    cw_err err = {0};
    if (sv->stopping)
        return CW_EXIT_OK;
    if (cw_successor_ready(&sv->successor, &err) || start(sv, &err))
        return cw_cli_failure("%s", err.msg);
    int code = announce(sv);
    /* The reader of the first process may have gone. */
    if (sv->is_successor)
        code = CW_EXIT_OK;
    if (code == CW_EXIT_OK) {
        settle(sv);
        cw_loop_run(&sv->main_loop);
    }
    return code;
}

static int run(service *sv)
{
    cw_err err = {0};
    /* The main loop watches workers too while plugins are loaded; descriptors are numbered per
     * process. */
    int max_fd = (int)(sv->config->limits.connections + CW_SERVER_SPARE_FDS);
    cw_code rc = cw_loop_init(&sv->main_loop, max_fd, &err);
    if (rc)
        return cw_cli_failure("%s", err.msg);
    cw_metrics_enable(sv->config->metrics.enabled);
    set_metrics(sv->config);
    rc = prepare(sv, &err);
    int code = rc ? cw_cli_failure("%s", err.msg) : run_prepared(sv);
    if (code == CW_EXIT_OK)
        cw_log(CW_LOG_INFO, "serve", "stopped");
    cw_server_probe_stop(&sv->probe);
    cw_server_free(sv->server);
    cw_notify_done(&sv->notify);
    cw_app_done(&sv->app);
    end_main_loop(sv);
    cw_loop_run(&sv->main_loop);
    cw_loop_done(&sv->main_loop);
    cw_log_stop();
    if (sv->successor_link >= 0)
        close(sv->successor_link);
    return code;
}

/* Tokens, passwords and keys are in this memory: no file may get it when we crash, and no other
 * process of our user may look at it. Children that run another program start anew. */
static int forbid_dumps(void)
{
    struct rlimit none = {0};
    if (setrlimit(RLIMIT_CORE, &none) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        return cw_cli_failure("cannot switch core dumps off: %s", strerror(errno));
    return -1;
}

/* Everything that has to be known before a configuration is read. */
static int begin(service *sv)
{
    cw_err err = {0};
    cw_code rc = cw_successor_begin(&sv->successor, &sv->handed, &err);
    if (rc)
        return cw_cli_failure("%s", err.msg);
    sv->is_successor = sv->successor.fd >= 0;
    if (cw_program_read(&sv->program, &err))
        cw_log_err(CW_LOG_WARN, "serve", "this server cannot be upgraded while it runs", &err);
    cw_notify_init(&sv->notify);
    return -1;
}

static int load_and_run(service *sv)
{
    cw_err err = {0};
    cw_config_problems problems;
    cw_config_problems_init(&problems);
    cw_code rc = load_config(sv, &sv->config, &problems, &err);
    if (rc) {
        int code = cw_cli_config_failure(rc, &problems, &err);
        cw_config_problems_done(&problems);
        return code;
    }
    int code = cw_cli_try_tls(sv->config_path, sv->config, &problems);
    if (code < 0)
        code = cw_cli_try_store(sv->config_path, sv->config, &problems);
    cw_config_problems_done(&problems);
    if (code < 0 && cw_cli_configure_log(sv->config, &err))
        code = cw_cli_failure("%s", err.msg);
    if (code < 0) {
        cw_router_init(&sv->router);
        code = run(sv);
        cw_router_done(&sv->router);
        if (sv->registrations.runtime)
            cw_oauth_register_done(&sv->registrations);
    }
    cw_config_unref(sv->at_start);
    cw_config_unref(sv->config);
    return code;
}

/* A process that cannot take over sends the reason to its predecessor. */
static int serve(service *sv)
{
    CW_CLEANUP(cw_buf_done) cw_buf complaints;
    cw_buf_init(&complaints, COMPLAINTS_MAX);
    cw_cli_keep_complaints(&complaints);
    int code = begin(sv);
    if (code < 0)
        code = load_and_run(sv);
    cw_successor_failed(&sv->successor, complaints.n ? cw_buf_str(&complaints)
                                                     : CW_STR("the new process was stopped"));
    cw_cli_keep_complaints(NULL);
    cw_handed_done(&sv->handed, /* removes_files= */ false);
    cw_program_done(&sv->program);
    cw_notify_done(&sv->notify);
    return code;
}

int cw_cli_serve(int argc, char **argv)
{
    service sv = {.end.fn = on_end, .notify.fd = -1, .successor.fd = -1, .successor_link = -1};
    const char *config = NULL;
    bool may_dump = false;
    const cw_cli_option options[] = {
        {"config", 'c', CW_CLI_TEXT, &config, "FILE", "read the configuration from FILE"},
        {"listen", 'l', CW_CLI_TEXTS, &sv.listen, "HOST:PORT",
         "listen on this address instead of the configured\n"
         "ones; port 0 selects a free one; may be repeated"},
        CW_CLI_TOOL_NAMES_OPTION(&sv.tool_names),
        {"hints", 0, CW_CLI_FLAG, &sv.has_hints, NULL,
         "without a configuration, print commands to try"},
        {"core-dumps", 0, CW_CLI_FLAG, &may_dump, NULL,
         "allow core dumps, and debuggers of the same user;\n"
         "both can read secrets"},
        {0},
    };
    const cw_cli_spec spec = {
        "serve", "",
        "Start the server and print its addresses. TERM and INT stop it gracefully; HUP\n"
        "reloads the configuration; USR2 starts the program again, which takes over\n"
        "without a dropped connection (\"causeway help upgrade\"). Without a configuration\n"
        "it serves the example plugin to every caller on this machine.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code < 0 && !may_dump)
        code = forbid_dumps();
    if (code >= 0)
        return code;
    sv.config_path = cw_cli_config_path(config);
    return serve(&sv);
}
