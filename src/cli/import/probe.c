/* SPDX-License-Identifier: GPL-2.0-or-later */
/* probe.c - detects the protocol of a service: one attempt after another, the harmless and the
 * likely ones first. Every request only reads. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "cli/import/import.h"
#include "cli/lib/loop.h"
#include "cli/lib/progress.h"
#include "cli/lib/sessions.h"
#include "config/keys/keys.h"
#include "config/syntax/names.h"
#include "config/syntax/quote.h"
#include "net/process/child.h"
#include "server/files/own_files.h"

#define TRY_MS 10000u /* for one answer, while nothing is known */
#define CONNECT_MS 5000u
#define PROBLEMS_MAX 65536u
#define LOOK_MS 50u
#define NO_URL "http://127.0.0.1/"
#define SECRET_MAX 65536u
#define HOW "bearer, basic, header:NAME, first_param or param:NAME"

/* A way to speak; what it leaves open is `auto`. */
typedef struct attempt {
    const char *preset, *framing;
    unsigned silence_ms; /* without any answer in this time it is something else; 0: wait */
} attempt;

#define MCP "mcp"

/* Separate values are sent with a line break behind each: one attempt for both framings. MCP is
 * tried only where the URL or the command names it: another service may have a method `initialize`
 * that changes something. */
static const attempt of_http[] = {
    {MCP, NULL, TRY_MS}, {NULL, NULL, TRY_MS}, {"transmission", NULL, TRY_MS}, {0}};
static const attempt of_stream[] = {
    {NULL, "json", 3000}, {"ovsdb", NULL, 3000}, {"qmp", NULL, 3000}, {0}};
static const attempt of_websocket[] = {{NULL, NULL, TRY_MS}, {0}};
static const attempt of_program[] = {
    {MCP, NULL, TRY_MS}, {NULL, "json", 3000}, {"lsp", NULL, TRY_MS}, {0}};

typedef struct probe {
    cw_import *im;
    cw_loop *loop;
    cw_spawner *spawner;
    cw_cli_progress progress;
    uv_timer_t timer;
    const attempt *now;
    cw_endpoint *service;
    cw_shared_conn *shared;
    cw_discovery *discovery;
    uint64_t begun;
    cw_buf problems;
    size_t pending; /* the running attempt: 0 or 1 */
    int code;       /* of the command, once attempts were made */
    bool is_found;
    bool is_there;    /* a service answered, or at least listened */
    bool speaks;      /* JSON-RPC, whether it describes itself or not */
    bool was_started; /* the program was, at least once */
    bool wants_login; /* and rejects every call without one */
    bool is_hopeless; /* other attempts would fail in the same way */
} probe;

/* ---- the secret ----
 *
 * A service of unknown kind may store every secret that it receives. The secret is therefore sent in
 * one way only: as requested, or as one guess.
 */

static bool has_secret(const cw_import *im)
{
    return im->secret_env || im->secret_file;
}

/* NAME:PASSWORD is for Basic. The later, full read reports an unreadable file. Without memory no
 * guess is made, because it could be wrong. */
static cw_code has_colon(const cw_import *im, bool *ret)
{
    cw_code rc = CW_OK;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, SECRET_MAX);
    const char *value = im->secret_env ? getenv(im->secret_env) : NULL;
    if (value)
        cw_buf_add(&text, cw_str_from(value));
    else if (im->secret_file)
        rc = cw_file_read(im->secret_file, CW_FILE_PLAIN, &text, NULL);
    if (rc == CW_NOMEM || text.code == CW_NOMEM)
        return CW_NOMEM;
    *ret = !rc && !text.code && text.n && memchr(text.p, ':', text.n);
    return CW_OK;
}

static int read_how(cw_import *im)
{
    char exposed[CW_EXCERPT_SIZE];
    cw_str name, how = cw_str_cut(cw_str_from(im->secret_as), ':', &name);
    bool is_named = cw_str_is(how, "header") || cw_str_is(how, "param");
    bool is_plain =
        cw_str_is(how, "bearer") || cw_str_is(how, "basic") || cw_str_is(how, "first_param");
    if (!is_named && (!is_plain || name.p))
        return cw_cli_usage("--secret-as takes " HOW ", not %s",
                            cw_excerpt(cw_str_from(im->secret_as), exposed));
    if (is_named && name.n == 0)
        return cw_cli_usage("--secret-as %.*s needs a name: %.*s:NAME", CW_STR_ARG(how),
                            CW_STR_ARG(how));
    how = cw_arena_dup_str(&im->arena, how);
    if (!how.p)
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    im->config.secret.as = how;
    im->config.secret.name = is_named ? name : CW_STR("");
    if (cw_str_is(how, "first_param") && !im->preset)
        im->config.params = CW_STR("positional");
    return -1;
}

/* Fill how the secret is shown, as --secret-as, the preset or its shape says. Returns -1, or
 * reports and returns the exit code. */
static int place_secret(cw_import *im, bool is_http)
{
    bool is_basic = false;
    if (im->secret_as && !has_secret(im))
        return cw_cli_usage("--secret-as needs --secret-env or --secret-file");
    if (im->secret_as)
        return read_how(im);
    /* The kind of service says how. */
    if (im->preset || !has_secret(im))
        return -1;
    if (!is_http)
        return cw_cli_usage(
            "specify how to send the secret: --secret-as first_param or param:NAME, or "
            "--preset");
    if (has_colon(im, &is_basic))
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    im->config.secret.as = is_basic ? CW_STR("basic") : CW_STR("bearer");
    return -1;
}

cw_str cw_import_secret_word(const cw_import *im)
{
    const cw_config_remote *preset = cw_preset_find(im->config.preset);
    cw_str usual = preset && preset->secret.as.n ? preset->secret.as : CW_STR("bearer");
    cw_str as = im->config.secret.as;
    /* A service that takes the secret as a param describes itself without it, so an accepted guess
     * proves nothing. */
    bool is_unproven = !im->secret_as && cw_str_is(usual, "first_param");
    return is_unproven || cw_str_eq(as, usual) ? CW_STR("") : as;
}

/* Report what can be done about a service that asks for a login. Returns the exit code. */
static int report_login(const cw_import *im)
{
    if (!has_secret(im))
        return cw_cli_failure(
            "the service requires credentials: name the secret with --secret-env or "
            "--secret-file");
    const cw_config_remote *preset = cw_preset_find(im->config.preset);
    cw_str as = im->config.secret.as;
    if (!as.n && preset)
        as = preset->secret.as;
    return cw_cli_failure("the service rejects the credentials, sent as %s; --secret-as takes " HOW,
                          as.n ? as.p : "bearer");
}

/* ---- one attempt ---- */

/* "host:80" of "http://host:80/path", the whole of what has no host. */
static cw_str host_of(cw_str url)
{
    cw_str rest;
    const char *p = memmem(url.p, url.n, "://", 3);
    if (!p)
        return url;
    cw_str after = cw_str_make(p + 3, url.n - (size_t)(p + 3 - url.p));
    return cw_str_cut(after, '/', &rest);
}

/* The name of the service in messages while it is asked: what the operator calls it, its program,
 * or where it is. */
static cw_str own_name(const cw_import *im)
{
    if (im->name)
        return cw_str_from(im->name);
    if (im->command.n) {
        const char *path = im->command.items[0].p, *slash = strrchr(path, '/');
        return cw_str_from(slash ? slash + 1 : path);
    }
    return im->is_file ? cw_str_from(im->target) : host_of(im->config.url);
}

static void add_problem(probe *t, cw_str text)
{
    cw_buf_printf(&t->problems, "%s%.*s", t->problems.n ? "\n" : "", CW_STR_ARG(text));
}

static cw_code read_methods(cw_import *im, cw_str text, cw_buf *warnings, cw_err *err);

static cw_code take(cw_import *im, const cw_discovery_result *result, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf warnings;
    cw_buf_init(&warnings, PROBLEMS_MAX);
    cw_buf_add(&warnings, result->warnings);
    im->describer = result->describer;
    im->is_partial = result->is_partial;
    cw_str text = cw_arena_dup_str(&im->arena, result->openrpc);
    cw_code rc = text.p ? read_methods(im, text, &warnings, err) : cw_arena_fail(&im->arena, err);
    if (rc)
        return rc;
    if (warnings.code == CW_NOMEM)
        return cw_fail_nomem(err);
    im->warnings = cw_arena_dup_str(&im->arena, cw_buf_str(&warnings));
    return im->warnings.p ? CW_OK : cw_arena_fail(&im->arena, err);
}

static void on_discovered(const cw_discovery_result *result, void *ctx)
{
    probe *t = ctx;
    cw_err err = {0};
    t->is_there = t->is_there || cw_discovery_responses(t->discovery);
    /* Only 2.0 is sure: an error of QMP passes for one of JSON-RPC 1.0. */
    t->speaks = t->speaks || (result->speaks && !t->now->preset);
    t->was_started = t->was_started || !result->is_unreachable;
    t->wants_login = result->wants_login;
    t->is_hopeless = result->wants_login || result->is_unreachable;
    t->discovery = NULL;
    cw_cli_loop_finish(t->loop, &t->pending);
    cw_code rc = result->code;
    if (!rc)
        rc = take(t->im, result, &err);
    if (rc)
        add_problem(t, result->code ? result->problem : cw_str_from(err.msg));
    t->is_found = rc == CW_OK;
}

/* Nothing came at all: it waits for something else. */
static void on_silence_poll(uv_timer_t *timer)
{
    probe *t = timer->data;
    bool is_silent = t->discovery && cw_discovery_responses(t->discovery) == 0 &&
                     t->now->silence_ms && uv_now(timer->loop) - t->begun > t->now->silence_ms;
    if (!is_silent)
        return;
    cw_discovery_cancel(t->discovery);
    t->discovery = NULL;
    cw_cli_loop_finish(t->loop, &t->pending);
    t->is_there = t->was_started = true;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, PROBLEMS_MAX);
    cw_buf_printf(&text, "%s: no answer", t->now->preset ? t->now->preset : "JSON-RPC 2.0");
    add_problem(t, cw_buf_str(&text));
}

static void write_progress(cw_buf *out, void *ctx)
{
    const probe *t = ctx;
    cw_buf_printf(out, "asking as %s, %u answers",
                  t->now && t->now->preset ? t->now->preset : "JSON-RPC 2.0",
                  t->discovery ? cw_discovery_responses(t->discovery) : 0u);
}

static cw_code begin(probe *t, const attempt *a, cw_err *err)
{
    cw_config_remote *config = &t->im->config;
    config->preset = a->preset ? cw_str_from(a->preset) : CW_STR("");
    config->framing = a->framing ? cw_str_from(a->framing) : CW_STR("");
    cw_code rc = cw_endpoint_new(config, NULL, &t->service, err);
    if (rc)
        return rc;
    cw_shared_conn_opts opts = {
        .loop = t->loop, .spawner = t->spawner, .answer_size = CW_DESCRIBE_DOCUMENT_MAX};
    bool is_shared =
        t->service->kind != CW_ENDPOINT_HTTP || cw_dialect_is_mcp(t->service->protocol.dialect);
    if (is_shared && !t->im->is_file)
        rc = cw_shared_conn_new(t->service, &opts, &t->shared, err);
    return rc ? rc
              : cw_discovery_start(t->loop, t->service, t->shared, on_discovered, t, &t->discovery,
                                   err);
}

/* Whether it was this. */
static bool try_one(probe *t, const attempt *a)
{
    cw_err err = {0};
    t->now = a;
    t->pending = 1;
    uv_update_time(&t->loop->uv);
    t->begun = uv_now(&t->loop->uv);
    t->is_hopeless = begin(t, a, &err) != CW_OK;
    if (t->is_hopeless)
        add_problem(t, cw_str_from(err.msg));
    else
        cw_cli_loop_wait(t->loop, &t->pending);
    cw_cli_sessions sessions = {.loop = t->loop};
    cw_cli_sessions_end(&sessions, t->shared);
    cw_cli_sessions_wait(&sessions);
    cw_shared_conn_close(t->shared, /* loops_ended= */ false);
    cw_endpoint_unref(t->service);
    t->shared = NULL;
    t->service = NULL;
    return t->is_found;
}

/* ---- what it offers ---- */

/* Whether a method may take parameters. Those that cannot be read are left out of the method. */
static bool may_take_params(const cw_method *m, const cw_json *described)
{
    const cw_json *params = cw_json_get(described, CW_STR("params"));
    return m->n_params || m->input.n || !described || (params && cw_json_count(params));
}

/* A name proves nothing of a method that takes parameters: "isEnabled" with a parameter sets. */
static cw_risk guess_by_name(const cw_method *m, const cw_json *described)
{
    if (m->exposed)
        return CW_RISK_READS; /* by its nature */
    cw_risk made = cw_describe_risk(m->id);
    return made == CW_RISK_READS && may_take_params(m, described) ? CW_RISK_CHANGES : made;
}

static cw_risk guess(const cw_method *m, const cw_json *described)
{
    const cw_json *mark = cw_json_get(described, CW_STR("x-mcp-tool"));
    const cw_json *hints = cw_json_get(mark, CW_STR("annotations"));
    const cw_json *reads = cw_json_get(hints, CW_STR("readOnlyHint"));
    if (cw_json_is(cw_json_get(hints, CW_STR("destructiveHint")), CW_JSON_TRUE))
        return CW_RISK_DESTROYS;
    if (cw_json_is(reads, CW_JSON_TRUE))
        return CW_RISK_READS;
    cw_risk by_name = guess_by_name(m, described);
    bool is_denied = cw_json_is(reads, CW_JSON_FALSE) && by_name == CW_RISK_READS;
    return is_denied ? CW_RISK_CHANGES : by_name;
}

static cw_code guess_all(cw_import *im, const cw_json *root, cw_err *err)
{
    cw_risk *guesses = cw_arena_calloc(&im->arena, im->n + 1, sizeof *guesses);
    cw_map by_id;
    cw_code rc = CW_OK;
    if (!guesses)
        return cw_arena_fail(&im->arena, err);
    cw_map_init(&by_id, im->n + 1);
    for (size_t i = 0; i < im->n && !rc; i++) {
        guesses[i] = guess(&im->methods[i], NULL);
        if (cw_map_put(&by_id, im->methods[i].id, (void *)&guesses[i], NULL))
            rc = cw_fail_nomem(err);
    }
    const cw_json *list = cw_json_get(root, CW_STR("methods"));
    for (const cw_json *m = list && !rc ? cw_json_first(list) : NULL; m; m = cw_json_next(m)) {
        const cw_json *name = cw_json_get(m, CW_STR("name"));
        cw_risk *at =
            cw_json_is(name, CW_JSON_STRING) ? cw_map_find(&by_id, cw_json_text(name)) : NULL;
        if (at)
            *at = guess(&im->methods[at - guesses], m);
    }
    cw_map_done(&by_id);
    im->guesses = guesses;
    return rc;
}

static cw_code read_methods(cw_import *im, cw_str text, cw_buf *warnings, cw_err *err)
{
    const cw_json *root;
    cw_method *methods = NULL;
    const cw_json_opts json = {.max_bytes = CW_DESCRIBE_DOCUMENT_MAX};
    const cw_openrpc_opts opts = {.relays = cw_str_is(cw_str_from(im->describer), "mcp"),
                                  .warnings = warnings};
    cw_code rc = cw_json_read(text, &json, &im->arena, &root, NULL, err);
    if (!rc)
        rc = cw_openrpc_upgrade_draft4(&root, &im->arena, err);
    if (!rc)
        rc = cw_openrpc_read(root, &opts, &im->arena, &methods, &im->n, err);
    im->methods = methods;
    return rc ? rc : guess_all(im, root, err);
}

/* The service matches a preset: name the preset instead of single settings. */
static void name_preset(cw_import *im)
{
    cw_str describer = cw_str_from(im->describer);
    if (im->config.preset.n || im->is_file)
        return;
    bool is_aria2 = false;
    for (size_t i = 0; i < im->n; i++)
        is_aria2 = is_aria2 || cw_str_is(im->methods[i].id, "aria2.addUri");
    if (is_aria2 && cw_str_is(describer, "system"))
        im->config.preset = CW_STR("aria2");
    else if (cw_preset_find(describer))
        im->config.preset = describer;
    else
        im->config.describe = describer;
    if (!im->config.preset.n && cw_str_is(describer, "system"))
        im->config.params = CW_STR("positional");
}

/* ---- where it is ---- */

/* Without links where there is such a file, as it is without a current folder; .p is NULL without
 * memory. */
static cw_str absolute(cw_import *im, const char *path)
{
    char *real = realpath(path, NULL);
    errno = ENOMEM; /* unless it is the folder */
    cw_str text = cw_import_absolute(im, real ? real : path);
    bool has_memory = text.p || errno != ENOMEM;
    free(real);
    return text.p || !has_memory ? text : cw_str_from(path);
}

static bool is_url(cw_str target)
{
    bool has_scheme = false;
    for (size_t i = 0; i + 3 <= target.n && !has_scheme; i++)
        has_scheme = memcmp(target.p + i, "://", 3) == 0;
    return has_scheme || cw_str_starts(target, CW_STR("unix:"));
}

/* "localhost:8080", "[::1]:80/rpc": digits behind the last colon, up to a path. */
static bool is_place(cw_str target)
{
    const char *slash = memchr(target.p, '/', target.n);
    cw_str host = cw_str_make(target.p, slash ? (size_t)(slash - target.p) : target.n);
    const char *colon = host.n ? memrchr(host.p, ':', host.n) : NULL;
    if (!colon || colon == host.p || colon + 1 == host.p + host.n)
        return false;
    for (const char *p = colon + 1; p < host.p + host.n; p++) {
        if (*p < '0' || *p > '9')
            return false;
    }
    return true;
}

/* The URLs that a place may have, the likely ones first. A service that reads lines can do less
 * with HTTP than a web server with lines, but is rarer. */
static const struct {
    const char *scheme, *path;
} place_urls[] = {{"http", "/"}, {"http", "/jsonrpc"}, {"tcp", ""}};

/* Set the i-th of them; false: there is no further one. */
static bool use_place(cw_import *im, size_t i)
{
    bool has_path = memchr(im->place.p, '/', im->place.n);
    /* With a path it is HTTP; a secret is not shown in another way than was said. */
    size_t n = has_path ? 1 : has_secret(im) ? 2 : CW_COUNT(place_urls);
    if (i >= n)
        return false;
    const char *url = cw_arena_printf(&im->arena, "%s://%.*s%s", place_urls[i].scheme,
                                      CW_STR_ARG(im->place), has_path ? "" : place_urls[i].path);
    if (url)
        im->config.url = cw_str_from(url);
    return url;
}

/* The first server in a document that has an address. The later, full read reports problems of the
 * document; only CW_NOMEM is an error here. */
static cw_code find_server(cw_import *im)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_DESCRIBE_DOCUMENT_MAX);
    const cw_json *root = NULL;
    cw_str socket = CW_STR("");
    im->config.url = CW_STR(NO_URL);
    im->lacks_url = true;
    cw_code rc = cw_file_read(im->target, CW_FILE_PLAIN, &text, NULL);
    cw_str copy = {NULL, 0};
    if (!rc) {
        copy = cw_arena_dup_str(&im->arena, cw_buf_str(&text));
        rc = copy.p ? CW_OK : cw_arena_code(&im->arena);
    }
    const cw_json_opts opts = {.max_bytes = CW_DESCRIBE_DOCUMENT_MAX};
    if (!rc)
        rc = cw_json_read(copy, &opts, &im->arena, &root, NULL, NULL);
    if (rc)
        return rc == CW_NOMEM ? rc : CW_OK;
    const cw_json *server = cw_json_at(cw_json_get(root, CW_STR("servers")), 0);
    const cw_json *url = cw_json_get(server, CW_STR("url"));
    if (!cw_json_is(url, CW_JSON_STRING) || memchr(url->p, 0, url->n) ||
        cw_names_check_url(cw_json_text(url), &socket))
        return CW_OK;
    cw_str found = cw_arena_dup_str(&im->arena, cw_json_text(url));
    if (!found.p)
        return CW_NOMEM;
    im->config.url = found;
    im->lacks_url = false;
    return CW_OK;
}

static int place(cw_import *im)
{
    cw_str target = im->target ? cw_str_from(im->target) : CW_STR("");
    cw_str socket = CW_STR("");
    if (!im->target) {
        im->config.command = im->command;
        return -1;
    }
    if (!is_url(target) && is_place(target) && access(im->target, F_OK) != 0) {
        im->place = target;
        if (!use_place(im, 0))
            return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
        target = im->config.url;
    }
    if (!is_url(target)) {
        im->is_file = true;
        im->config.openrpc = absolute(im, im->target);
        if (!im->config.openrpc.p || find_server(im))
            return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
        return -1;
    }
    const char *wrong = cw_names_check_url(target, &socket);
    char exposed[CW_EXCERPT_SIZE];
    if (wrong)
        return cw_cli_usage("%s: %s", cw_excerpt(target, exposed), wrong);
    im->config.url = target;
    if (!socket.n || socket.p[0] == '/')
        return -1;
    cw_str file = cw_arena_dup_str(&im->arena, socket);
    cw_str real = file.p ? absolute(im, file.p) : file;
    cw_str rest =
        cw_str_make(socket.p + socket.n, target.n - (size_t)(socket.p + socket.n - target.p));
    char *url =
        real.p ? cw_arena_printf(&im->arena, "unix:%.*s%.*s", CW_STR_ARG(real), CW_STR_ARG(rest))
               : NULL;
    if (!url)
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    im->config.url = cw_str_from(url);
    return -1;
}

static const attempt *attempts_for(const cw_import *im)
{
    cw_str url = im->config.url;
    if (im->config.command.n)
        return of_program;
    if (cw_str_starts(url, CW_STR("ws:")) || cw_str_starts(url, CW_STR("wss:")))
        return of_websocket;
    bool is_stream = cw_str_starts(url, CW_STR("tcp:")) ||
                     (cw_str_starts(url, CW_STR("unix:")) && !memchr(url.p + 5, ':', url.n - 5));
    return is_stream ? of_stream : of_http;
}

/* "https://mcp.example/", "http://localhost:3000/mcp", "npx @modelcontextprotocol/server-memory". */
static bool names_mcp(const cw_import *im)
{
    static const cw_str names[] = {CW_STR_INIT(MCP), CW_STR_INIT("modelcontextprotocol")};
    bool is_named = false;
    for (size_t i = 0; i < CW_COUNT(names) && !is_named; i++) {
        is_named = cw_str_icontains(im->config.url, names[i]);
        for (size_t j = 0; j < im->config.command.n && !is_named; j++)
            is_named = cw_str_icontains(im->config.command.items[j], names[i]);
    }
    return is_named;
}

static const attempt *first_attempt(const cw_import *im)
{
    const attempt *a = attempts_for(im);
    bool is_mcp = a->preset && strcmp(a->preset, MCP) == 0;
    return is_mcp && !names_mcp(im) ? a + 1 : a;
}

/* ---- all attempts ---- */

/* The cause in a line: "… cannot be reached. (Connection refused)". */
static cw_str cause_of(cw_str line)
{
    const char *at = line.n ? memrchr(line.p, '(', line.n) : NULL;
    return at ? cw_str_make(at, line.n - (size_t)(at - line.p)) : line;
}

/* Each question may fail for the same reason. */
static bool was_reported(cw_str before, cw_str line)
{
    while (before.p && before.n) {
        if (cw_str_eq(cause_of(cw_str_cut(before, '\n', &before)), cause_of(line)))
            return true;
    }
    return false;
}

/* Nothing of what was tried is of use for a program that speaks something else. */
static int report_program(const probe *t)
{
    char exposed[CW_EXCERPT_SIZE];
    cw_str rest, first = cw_str_cut(cw_buf_str(&t->problems), '\n', &rest);
    cw_str cause = cause_of(first);
    bool has_cause = cause.n && cause.p[0] == '(';
    return cw_cli_failure("this program does not speak JSON-RPC: %s%s%.*s",
                          cw_excerpt(t->im->command.items[0], exposed), has_cause ? " " : "",
                          has_cause ? (int)cause.n : 0, cause.p ? cause.p : "");
}

static int report(const probe *t)
{
    bool is_program = t->im->command.n && !t->im->preset;
    if (is_program && t->was_started && !t->speaks)
        return report_program(t);
    cw_str all = cw_buf_str(&t->problems);
    if (t->problems.code == CW_NOMEM)
        cw_cli_failure("%s", cw_code_text(t->problems.code));
    for (cw_str rest = all; rest.p && all.n;) {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        CW_CLEANUP(cw_buf_done) cw_buf exposed;
        cw_buf_init(&exposed, 8 * PROBLEMS_MAX);
        cw_quote_shown(&exposed, line);
        if (exposed.code)
            cw_cli_failure("%s", cw_code_text(exposed.code));
        else if (!was_reported(cw_str_make(all.p, (size_t)(line.p - all.p)), line))
            cw_cli_failure("%.*s", (int)exposed.n, exposed.n ? exposed.p : "");
    }
    if (t->wants_login)
        return report_login(t->im);
    if (t->im->is_file || t->im->preset || !t->is_there)
        return CW_EXIT_FAILURE;
    if (t->speaks)
        return cw_cli_failure("the service speaks JSON-RPC, but has no description of a known "
                              "kind; an MCP server needs --preset mcp. Else import an OpenRPC "
                              "document or a manifest, or name its kind with --preset (%s)",
                              cw_preset_names());
    return cw_cli_failure("no service of a known kind answers; if you know its kind, name it with "
                          "--preset (%s)",
                          cw_preset_names());
}

/* Whether to make further attempts. A service that speaks JSON-RPC gets no other requests. */
static bool is_open(const probe *t)
{
    return !t->is_found && !t->is_hopeless && !t->speaks;
}

static void try_each(probe *t, const attempt *a)
{
    /* The row that ends a list has no time to wait. */
    bool is_more = true;
    while (is_more && !try_one(t, a)) {
        a++;
        is_more = is_open(t) && (a->preset || a->silence_ms);
    }
}

static int try_all(probe *t)
{
    /* A file is read once, and no service is contacted. */
    const attempt only[] = {{t->im->preset, NULL, 0}, {0}};
    const attempt *a = t->im->preset || t->im->is_file ? only : first_attempt(t->im);
    cw_cli_progress_start(&t->progress, &t->loop->uv, write_progress, t);
    uv_timer_start(&t->timer, on_silence_poll, LOOK_MS, LOOK_MS);
    try_each(t, a);
    for (size_t i = 1; is_open(t) && t->im->place.n && use_place(t->im, i); i++)
        try_each(t, t->im->preset ? only : first_attempt(t->im));
    t->now = NULL;
    cw_cli_progress_stop(&t->progress);
    if (!t->is_found)
        return report(t);
    name_preset(t->im);
    return -1;
}

static cw_code run_on_loop(cw_loop *loop, void *ctx, cw_err *err)
{
    probe *t = ctx;
    /* No configuration is needed to import, but a program must not read the usual one. */
    cw_config usual = cw_config_defaults;
    const char *path = cw_cli_config_path(NULL);
    usual.path = path ? cw_import_absolute(t->im, path) : CW_STR("");
    cw_code rc = cw_spawner_new(&t->spawner, err);
    if (!rc)
        rc = cw_own_files_hide(t->spawner, &usual, err);
    if (rc)
        return rc;
    t->loop = loop;
    uv_timer_init(&loop->uv, &t->timer);
    t->timer.data = t;
    cw_buf_init(&t->problems, PROBLEMS_MAX);
    t->code = try_all(t);
    uv_close((uv_handle_t *)&t->timer, NULL);
    return CW_OK;
}

static void free_spawner(void *ctx)
{
    cw_spawner_free(((probe *)ctx)->spawner);
}

static int run(probe *t)
{
    cw_err err = {0};
    cw_code rc = cw_cli_loop_run(run_on_loop, free_spawner, t, &err);
    cw_buf_done(&t->problems);
    return rc ? cw_cli_failure("%s", err.msg) : t->code;
}

int cw_import_try(cw_import *im)
{
    probe t = {.im = im};
    im->config = cw_config_default_remote;
    im->config.secret.file = im->secret_file ? absolute(im, im->secret_file) : CW_STR("");
    if (!im->config.secret.file.p)
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    im->config.secret.environment = im->secret_env ? cw_str_from(im->secret_env) : CW_STR("");
    if (!im->preset) {
        im->config.timeout_ms = TRY_MS;
        im->config.connect_ms = CONNECT_MS;
    }
    int code = place(im);
    im->config.name = own_name(im);
    if (code < 0)
        code = place_secret(im, attempts_for(im) == of_http);
    if (code >= 0)
        return code;
    if (im->preset && !cw_preset_find(cw_str_from(im->preset)))
        return cw_cli_usage("there is no preset \"%s\"; there are %s", im->preset,
                            cw_preset_names());
    (void)!cw_log_configure(&(cw_log_opts){.level = CW_LOG_ERROR}, NULL);
    return run(&t);
}
