/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source_set.c - loads the services of a configuration for the `source` commands. */
#include "cli/source/source_set.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "cli/lib/loop.h"
#include "cli/lib/progress.h"
#include "cli/lib/sessions.h"
#include "config/syntax/quote.h"
#include "net/process/child.h"
#include "server/files/own_files.h"
#include "source/registry/registry.h"
#include "source/remote/lock/lock_diff.h"

#define NEAR 3u /* edits, for "did you mean" */

/* ---- which ---- */

static cw_source_set_item *find(const cw_source_set *all, cw_str name)
{
    for (size_t i = 0; i < all->n; i++) {
        if (cw_str_eq(all->items[i].config->name, name))
            return &all->items[i];
    }
    return NULL;
}

static int unknown(const cw_source_set *all, const char *name)
{
    char exposed[CW_EXCERPT_SIZE];
    cw_str nearest = CW_STR("");
    unsigned best = NEAR + 1;
    for (size_t i = 0; i < all->n; i++) {
        cw_str other = all->items[i].config->name;
        unsigned d = cw_str_distance_within(other, cw_str_from(name), NEAR);
        if (d < best) {
            best = d;
            nearest = other;
        }
    }
    cw_excerpt(cw_str_from(name), exposed);
    if (nearest.n)
        return cw_cli_usage("the configuration has no source %s; did you mean \"%s\"?", exposed,
                            nearest.p);
    return cw_cli_usage("the configuration has no source %s", exposed);
}

static int select_names(cw_source_set *all, bool takes_methods, const cw_cli_args *names)
{
    all->methods = names->items;
    for (size_t i = 0; i < names->n; i++) {
        cw_source_set_item *item = find(all, cw_str_from(names->items[i]));
        if (item)
            item->is_wanted = true;
        else if (takes_methods)
            all->methods[all->n_methods++] = names->items[i];
        else
            return unknown(all, names->items[i]);
    }
    all->n_named = names->n - all->n_methods;
    return -1;
}

cw_code cw_source_set_fill(cw_source_set *all)
{
    const cw_config_remotes *sources = &all->config->sources;
    all->items = calloc(sources->n + 1, sizeof *all->items);
    if (!all->items)
        return CW_NOMEM;
    all->n = sources->n;
    for (size_t i = 0; i < all->n; i++)
        all->items[i] =
            (cw_source_set_item){.config = &sources->items[i], .all = all, .is_wanted = true};
    return CW_OK;
}

/* The services of the server that --server names: the names alone. */
static cw_code take_services(cw_source_set *all, const cw_json *list)
{
    size_t count = cw_json_is(list, CW_JSON_ARRAY) ? cw_json_count(list) : 0;
    all->n = 0;
    all->of_server = calloc(count + 1, sizeof *all->of_server);
    all->items = calloc(count + 1, sizeof *all->items);
    if (!all->of_server || !all->items)
        return CW_NOMEM;
    for (const cw_json *s = cw_cli_admin_items(list); s; s = cw_json_next(s)) {
        cw_str name = cw_cli_admin_text(s, "name");
        if (!name.n || !cw_str_is(cw_cli_admin_text(s, "kind"), "service"))
            continue;
        cw_config_remote *service = &all->of_server[all->n];
        service->name = cw_arena_dup_str(&all->names, name);
        if (!service->name.p)
            return CW_NOMEM;
        all->items[all->n++] = (cw_source_set_item){.config = service, .all = all};
    }
    return CW_OK;
}

static int ask_services(cw_source_set *all)
{
    cw_cli_admin a;
    const cw_json *result = NULL;
    int code = cw_cli_admin_open(&all->target, &a);
    if (code >= 0)
        return code;
    code = cw_cli_admin_call(&a, "causeway.sources.list", NULL, NULL, &result);
    if (code < 0 && take_services(all, cw_json_get(result, CW_STR("sources"))))
        code = cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    cw_cli_admin_close(&a);
    return code;
}

static int open_set(cw_source_set *all, bool takes_methods, const cw_cli_args *names)
{
    int code = all->target.server ? ask_services(all)
                                  : cw_cli_load_config(all->target.config, &all->config);
    if (code >= 0)
        return code;
    if (all->config && cw_source_set_fill(all))
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    for (size_t i = 0; i < all->n; i++)
        all->items[i].is_wanted = names->n == 0;
    return select_names(all, takes_methods, names);
}

int cw_source_set_command(const cw_source_command *command, int argc, char **argv)
{
    cw_source_set all = {0};
    cw_cli_option options[] = {CW_CLI_TARGET_OPTIONS(&all.target), {0}, {0}, {0}};
    size_t n = command->has_server ? CW_COUNT(options) - 3 : 1;
    options[n] = (cw_cli_option){0};
    if (command->has_json)
        options[n++] = (cw_cli_option)CW_CLI_JSON_OPTION(&all.json);
    if (command->has_etag)
        options[n++] = (cw_cli_option){"etag",
                                       0,
                                       CW_CLI_TEXT,
                                       &all.etag,
                                       "ETAG",
                                       "approve only if \"causeway source diff\" with the same\n"
                                       "sources would still print this etag"};
    options[n] = (cw_cli_option){0};
    const cw_cli_spec spec = {command->name, command->args, command->about, options, SIZE_MAX};
    cw_cli_args args = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    cw_arena_init(&all.names, CW_CLI_OUTPUT_MAX);
    code = open_set(&all, command->takes_methods, &args);
    if (code < 0)
        code = command->run(&all);
    cw_arena_done(&all.names);
    free(all.of_server);
    free(all.items);
    cw_config_unref(all.config);
    return code;
}

/* ---- loading ---- */

/* NULL for nothing, and without memory: then `problem` must not be looked at alone. */
static char *copy(cw_str text)
{
    return text.n ? cw_str_dup(text) : NULL;
}

static bool on_finding(const cw_lint_finding *finding, void *ctx)
{
    cw_buf *text = ctx;
    if (text->n)
        cw_buf_add_char(text, '\n');
    cw_lint_write(finding, text);
    return !text->code;
}

/* Those of the load, and what the server would say of the methods. */
static char *warnings_of(const cw_source_set_item *item, const cw_remote_loaded *loaded)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_lint_opts opts = cw_sources_lint_opts(item->all->config);
    opts.portable = true;
    if (item->all->granted) {
        opts.permissions = item->all->granted->items;
        opts.n_permissions = item->all->granted->n;
    }
    cw_buf_init(&text, CW_CLI_OUTPUT_MAX);
    cw_buf_add(&text, loaded->warnings);
    if (loaded->source)
        (void)!cw_lint(loaded->source->methods, loaded->source->n_methods, &opts, on_finding,
                       &text);
    return copy(text.code ? loaded->warnings : cw_buf_str(&text));
}

static void on_loaded(const cw_remote_loaded *loaded, void *ctx)
{
    cw_source_set_item *item = ctx;
    item->job = NULL;
    item->source = loaded->source;
    item->shared = loaded->shared;
    item->problem = copy(loaded->problem.n ? loaded->problem : loaded->lock);
    item->warnings = warnings_of(item, loaded);
    item->widened = copy(loaded->widened);
    item->is_stale = loaded->source && loaded->problem.n;
    item->is_lacking = loaded->missing.n > 0 || loaded->lock.n > 0;
    item->n_found = loaded->n_found;
    item->n_withheld = loaded->n_withheld;
    item->definitions = loaded->definitions;
    item->n_definitions = loaded->n_definitions;
    cw_cli_loop_finish(item->all->loop, &item->all->n_loading);
}

static void begin(cw_source_set_item *item, cw_spawner *spawner, cw_source_set_mode mode)
{
    const cw_config *config = item->all->config;
    cw_err err = {0};
    bool accepts = mode == CW_SOURCE_SET_ACCEPT;
    /* Without a folder: what a service said some other time is not what it says. */
    cw_remote_opts opts = {
        .config = item->config,
        .owner = item->all->config,
        .n_loops = 1,
        .answer_size = config->limits.max_result_size,
        .spawner = spawner,
        .policy = cw_sources_policy(config),
        .state = accepts ? config->state.directory : CW_STR(""),
        .lock = mode == CW_SOURCE_SET_DEFINE ? CW_STR("") : config->state.lock,
        .approvals = item->all->approvals.lock || item->all->approvals.problem.n
                         ? &item->all->approvals
                         : NULL,
        .defines = mode == CW_SOURCE_SET_DEFINE,
        .accepts = accepts,
    };
    if (cw_remote_load(item->all->loop, &opts, on_loaded, item, &item->job, &err))
        item->problem = copy(cw_str_from(err.msg));
    else
        item->all->n_loading++;
}

static void write_loading(cw_buf *out, void *ctx)
{
    const cw_source_set *all = ctx;
    cw_buf_add(out, CW_STR("asking"));
    for (size_t i = 0; i < all->n; i++) {
        if (all->items[i].job)
            cw_buf_printf(out, " %s", all->items[i].config->name.p);
    }
}

static void load(cw_source_set *all, cw_spawner *spawner, cw_source_set_mode mode)
{
    cw_cli_progress progress;
    cw_cli_progress_start(&progress, &all->loop->uv, write_loading, all);
    for (size_t i = 0; i < all->n; i++) {
        if (all->items[i].is_wanted)
            begin(&all->items[i], spawner, mode);
    }
    cw_cli_loop_wait(all->loop, &all->n_loading);
    cw_cli_progress_stop(&progress);
    uv_run(&all->loop->uv, UV_RUN_NOWAIT); /* closes it */
}

static void end_sessions(const cw_source_set *all)
{
    cw_cli_sessions sessions = {.loop = all->loop};
    for (size_t i = 0; i < all->n; i++)
        cw_cli_sessions_end(&sessions, all->items[i].shared);
    cw_cli_sessions_wait(&sessions);
}

static void release(cw_source_set *all)
{
    end_sessions(all);
    for (size_t i = 0; i < all->n; i++) {
        cw_source_set_item *item = &all->items[i];
        cw_source_unref(item->source);
        cw_shared_conn_close(item->shared, /* loops_ended= */ false);
        free(item->problem);
        free(item->warnings);
        free(item->widened);
        item->source = NULL;
        item->shared = NULL;
        item->problem = item->warnings = item->widened = NULL;
        item->definitions = NULL;
        item->n_definitions = 0;
    }
}

typedef struct set_run {
    cw_source_set *all;
    cw_source_set_mode mode;
    int (*fn)(cw_source_set *all, void *ctx);
    void *ctx;
    cw_spawner *spawner;
    int code; /* result of fn */
} set_run;

static cw_code run_on_loop(cw_loop *loop, void *ctx, cw_err *err)
{
    set_run *r = ctx;
    cw_code rc = cw_spawner_new(&r->spawner, err);
    if (!rc)
        rc = cw_own_files_hide(r->spawner, r->all->config, err);
    if (rc)
        return rc;
    r->all->loop = loop;
    load(r->all, r->spawner, r->mode);
    r->code = r->fn(r->all, r->ctx);
    release(r->all);
    return CW_OK;
}

static void free_spawner(void *ctx)
{
    cw_spawner_free(((set_run *)ctx)->spawner);
}

int cw_source_set_run(cw_source_set *all, cw_source_set_mode mode,
                      int (*fn)(cw_source_set *all, void *ctx), void *ctx)
{
    set_run r = {.all = all, .mode = mode, .fn = fn, .ctx = ctx};
    cw_err err = {0}, why = {0};
    const cw_log_opts log = {.level = all->is_silent ? CW_LOG_OFF : CW_LOG_ERROR};
    (void)!cw_log_configure(&log, NULL);
    if (mode != CW_SOURCE_SET_DEFINE && all->config->state.approvals_in_store)
        cw_source_set_read_approvals(all, &why);
    cw_code rc = cw_cli_loop_run(run_on_loop, free_spawner, &r, &err);
    cw_lock_unref(all->approvals.lock);
    all->approvals = (cw_remote_approvals){0};
    return rc ? cw_cli_failure("%s", err.msg) : r.code;
}

void cw_source_set_report(const cw_source_set_item *item)
{
    cw_str rest = item->problem ? cw_str_from(item->problem) : CW_STR("not enough memory");
    while (rest.p) {
        CW_CLEANUP(cw_buf_done) cw_buf line;
        cw_buf_init(&line, CW_CLI_OUTPUT_MAX);
        cw_quote_shown(&line, cw_str_cut(rest, '\n', &rest));
        if (line.code)
            cw_cli_failure("%s: %s", item->config->name.p, cw_code_text(line.code));
        else
            cw_cli_failure("%s: %.*s", item->config->name.p, (int)line.n, line.n ? line.p : "");
    }
}

/* ---- the lock ---- */

cw_code cw_source_set_compare(const cw_source_set *all, const cw_lock *lock, cw_buf *out,
                              char ret_etag[CW_LOCK_HASH + 1], cw_err *err)
{
    cw_json_writer w;
    cw_code rc = CW_OK;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_array(&w);
    for (size_t i = 0; i < all->n && !rc; i++) {
        const cw_source_set_item *item = &all->items[i];
        if (item->is_wanted && item->source)
            rc = cw_lock_diff(lock, item->config->name, item->definitions, item->n_definitions, &w);
    }
    cw_json_close(&w);
    if (rc)
        return cw_fail(err, rc, "%s", cw_code_text(rc));
    rc = cw_json_writer_end(&w, err);
    if (!rc)
        cw_lock_hash(cw_buf_str(out), ret_etag);
    return rc;
}

/* ---- the running server ---- */

int cw_source_set_fail(cw_code rc, const cw_err *err)
{
    return rc == CW_PARAMS ? cw_cli_usage("%s", err->msg) : cw_cli_failure("%s", err->msg);
}

int cw_source_set_ask_diff(const cw_source_set *all, cw_cli_admin *a, const cw_json **ret)
{
    cw_err err = {0};
    cw_code rc =
        cw_cli_admin_try(a, "causeway.sources.diff", cw_source_set_write_names, all, ret, &err);
    if (rc)
        return cw_source_set_fail(rc, &err);
    if (!cw_json_is(cw_json_get(*ret, CW_STR("differences")), CW_JSON_ARRAY))
        return cw_cli_failure("the server returned an unexpected result");
    return -1;
}

void cw_source_set_write_names(cw_json_writer *w, const void *ctx)
{
    const cw_source_set *all = ctx;
    if (!all->n_named)
        return;
    cw_json_add_key(w, CW_STR("names"));
    cw_json_open_array(w);
    for (size_t i = 0; i < all->n; i++) {
        if (all->items[i].is_wanted)
            cw_json_add_string(w, all->items[i].config->name);
    }
    cw_json_close(w);
}

static void report_problem(const cw_json *problem)
{
    for (cw_str rest = cw_cli_admin_text(problem, "problem"); rest.p;) {
        CW_CLEANUP(cw_buf_done) cw_buf line;
        cw_buf_init(&line, CW_CLI_OUTPUT_MAX);
        cw_quote_shown(&line, cw_cli_admin_text(problem, "source"));
        cw_buf_add(&line, CW_STR(": "));
        cw_quote_shown(&line, cw_str_cut(rest, '\n', &rest));
        cw_cli_failure("%.*s", (int)line.n, line.n ? line.p : "");
    }
}

bool cw_source_set_report_problems(const cw_json *result)
{
    const cw_json *problems = cw_json_get(result, CW_STR("problems"));
    for (const cw_json *p = cw_cli_admin_items(problems); p; p = cw_json_next(p))
        report_problem(p);
    return !cw_cli_admin_items(problems);
}

static void add_member(cw_buf *out, const cw_json *object, const char *name)
{
    const cw_json *v = cw_json_get(object, cw_str_from(name));
    if (v)
        cw_quote_shown(out, cw_json_text(v));
}

static void add_report(cw_buf *out, const cw_json *source)
{
    const cw_json *problem = cw_json_get(source, CW_STR("problem"));
    add_member(out, source, "name");
    cw_buf_add(out, CW_STR(": "));
    add_member(out, source, "state");
    cw_buf_add(out, CW_STR(", "));
    add_member(out, source, "tools");
    cw_buf_add(out, CW_STR(" tools"));
    if (problem) {
        cw_str rest;
        cw_buf_add(out, CW_STR("; "));
        cw_quote_shown(out, cw_str_cut(cw_json_text(problem), '\n', &rest));
    }
    cw_buf_add_char(out, '\n');
}

cw_code cw_source_set_refresh(const cw_source_set *all, cw_buf *out, cw_err *err)
{
    cw_cli_admin a;
    const cw_json *result = NULL;
    if (cw_cli_admin_open(&all->target, &a) >= 0)
        return cw_fail(err, CW_IO, "the running server cannot be asked");
    cw_code rc = cw_cli_admin_try(&a, "causeway.sources.refresh", cw_source_set_write_names, all,
                                  &result, err);
    if (!rc) {
        const cw_json *list = cw_json_get(result, CW_STR("sources"));
        for (const cw_json *s = cw_cli_admin_items(list); s; s = cw_json_next(s))
            add_report(out, s);
        cw_buf_add(out, CW_STR("descriptions read again by "));
        cw_cli_admin_add_server(out, result);
        cw_buf_add_char(out, '\n');
    }
    cw_cli_admin_close(&a);
    return rc;
}
