/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_fixture.c - load a plugin with real workers, call it, and count the workers. */
#include "support/plugin_fixture.h"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/patience.h"

const char *plugin_fixture_host, *plugin_fixture_folder;

static void count_handle(uv_handle_t *handle, void *arg)
{
    (void)handle;
    ++*(int *)arg;
}

static int count_handles(plugin_fixture *f)
{
    int n = 0;
    uv_walk(&f->loop.uv, count_handle, &n);
    return n;
}

static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void plugin_fixture_init(plugin_fixture *f)
{
    *f = (plugin_fixture){.opts = PLUGIN_FIXTURE_OPTS};
    assert_int_equal(cw_loop_init(&f->loop, 256, NULL), CW_OK);
    assert_int_equal(cw_spawner_new(&f->spawner, NULL), CW_OK);
    f->n_handles = count_handles(f);
}

static void on_loaded(const cw_plugin_loaded *loaded, void *ctx)
{
    plugin_fixture *f = ctx;
    f->n_loaded++;
    f->source = loaded->source;
    snprintf(f->problem, sizeof f->problem, "%.*s", CW_STR_ARG(loaded->problem));
}

bool plugin_fixture_load_file(plugin_fixture *f, const char *name, const char *path)
{
    f->opts.host = f->opts.host ? f->opts.host : plugin_fixture_host;
    f->opts.spawner = f->spawner;
    cw_err err = {0};
    cw_code rc =
        cw_plugin_load(&f->loop, &f->opts, cw_str_from(name), path, on_loaded, f, NULL, &err);
    if (rc) {
        snprintf(f->problem, sizeof f->problem, "%s", err.msg);
        return false;
    }
    int before = f->n_loaded;
    plugin_fixture_until(f, &f->n_loaded, before + 1, (uint32_t)patience(20000));
    return true;
}

void plugin_fixture_load(plugin_fixture *f, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.so", plugin_fixture_folder, name);
    assert_true(plugin_fixture_load_file(f, name, path));
    assert_string_equal(f->problem, "");
    assert_non_null(f->source);
    plugin_fixture_settle(f);
}

void plugin_fixture_done(plugin_fixture *f)
{
    cw_loop_end(&f->loop);
    cw_loop_run(&f->loop);
    cw_source_unref(f->source);
    cw_spawner_free(f->spawner);
    cw_loop_done(&f->loop);
    assert_false(has_children());
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

/* Wait for events, a millisecond at most. */
void plugin_fixture_turn(plugin_fixture *f)
{
    uv_timer_t timer;
    uv_timer_init(&f->loop.uv, &timer);
    uv_timer_start(&timer, on_tick, 1, /* repeat= */ 1); /* due already, it must come again */
    uv_run(&f->loop.uv, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&f->loop.uv, UV_RUN_NOWAIT);
}

void plugin_fixture_until(plugin_fixture *f, const int *counter, int value, uint32_t ms)
{
    uint64_t until = cw_clock_ms() + ms;
    while (*counter < value && cw_clock_ms() < until)
        plugin_fixture_turn(f);
    assert_true(*counter >= value);
}

void plugin_fixture_for(plugin_fixture *f, uint32_t ms)
{
    uint64_t until = cw_clock_ms() + ms;
    while (cw_clock_ms() < until)
        plugin_fixture_turn(f);
}

void plugin_fixture_settle(plugin_fixture *f)
{
    uint64_t until = cw_clock_ms() + 5000;
    /* A child that the loop has not heard of yet has no handle. */
    while ((count_handles(f) > f->n_handles || has_children()) && cw_clock_ms() < until)
        plugin_fixture_turn(f);
    assert_int_equal(count_handles(f), f->n_handles);
    assert_false(has_children());
}

const cw_method *plugin_fixture_method(const cw_source *s, const char *id)
{
    for (size_t i = 0; i < s->n_methods; i++) {
        if (cw_str_is(s->methods[i].id, id))
            return &s->methods[i];
    }
    fail_msg("no method '%s'", id);
    return NULL;
}

/* ---- probes ---- */

static void on_progress(cw_sink *sink, const cw_progress *progress)
{
    plugin_call *p = CW_CONTAINER(sink, plugin_call, sink);
    assert_int_equal(p->n_done, 0);
    p->n_progress++;
    p->progress = progress->progress;
}

static void on_log(cw_sink *sink, cw_log_level level, cw_str message)
{
    plugin_call *p = CW_CONTAINER(sink, plugin_call, sink);
    assert_int_equal(p->n_done, 0);
    p->n_log++;
    snprintf(p->message, sizeof p->message, "%d %.*s", (int)level, CW_STR_ARG(message));
}

static void on_done(cw_sink *sink, const cw_outcome *outcome)
{
    plugin_call *p = CW_CONTAINER(sink, plugin_call, sink);
    p->n_done++;
    p->done_ms = cw_clock_ms();
    p->kind = outcome->kind;
    p->fault = outcome->fault;
    p->code = outcome->code;
    if (outcome->result) {
        cw_str text = cw_json_span(outcome->result);
        snprintf(p->result, sizeof p->result, "%.*s", CW_STR_ARG(text));
    }
    if (outcome->kind != CW_OUTCOME_RESULT)
        snprintf(p->message, sizeof p->message, "%.*s", CW_STR_ARG(outcome->message));
    snprintf(p->detail, sizeof p->detail, "%.*s", CW_STR_ARG(outcome->detail));
    if (p->total)
        ++*p->total;
    if (p->on_done)
        p->on_done(p);
}

static const cw_sink_ops sink_ops = {.progress = on_progress, .log = on_log, .done = on_done};

cw_code plugin_call_start(plugin_call *p, cw_loop *loop, cw_source *s, const char *method,
                          const char *params)
{
    p->sink.ops = &sink_ops;
    p->source = s;
    p->began_ms = cw_clock_ms();
    if (!p->arena.max)
        cw_arena_init(&p->arena, 64u << 20);
    p->call.method = plugin_fixture_method(s, method);
    p->call.params = cw_str_from(params);
    p->call.arena = &p->arena;
    p->call.sink = &p->sink;
    p->call.loop = loop;
    cw_err err = {0};
    cw_fault fault = CW_FAULT_NONE;
    cw_code rc = s->ops->start(s, &p->call, &fault, &err);
    if (rc) {
        p->fault = fault;
        snprintf(p->message, sizeof p->message, "%s", err.msg);
    }
    assert_int_equal(p->n_done, 0);
    return rc;
}

void plugin_call_cancel(plugin_call *p)
{
    p->source->ops->cancel(p->source, &p->call);
}

void plugin_call_done(plugin_call *p)
{
    cw_arena_done(&p->arena);
    *p = (plugin_call){0};
}

/* ---- processes ---- */

static bool is_worker(const char *pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *close = strrchr(text, ')');
    char state = 0;
    int parent = 0;
    return close && sscanf(close + 1, " %c %d", &state, &parent) == 2 && parent == getpid() &&
           state != 'Z' && strstr(text, "(causeway-plugi");
}

int plugin_fixture_count_workers(int *ret_one_pid)
{
    DIR *d = opendir("/proc");
    assert_non_null(d);
    int n = 0;
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] < '1' || e->d_name[0] > '9' || !is_worker(e->d_name))
            continue;
        n++;
        if (ret_one_pid)
            *ret_one_pid = (int)strtol(e->d_name, NULL, 10);
    }
    closedir(d);
    return n;
}
