/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin_rig.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *rig_host, *rig_folder;

static void count_handle(uv_handle_t *handle, void *arg)
{
    (void)handle;
    ++*(int *)arg;
}

static int count_handles(rig *r)
{
    int n = 0;
    uv_walk(&r->loop.uv, count_handle, &n);
    return n;
}

static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void rig_init(rig *r)
{
    *r = (rig){.opts = RIG_OPTS};
    assert_int_equal(cw_loop_init(&r->loop, 256, NULL), CW_OK);
    assert_int_equal(cw_spawner_new(&r->spawner, NULL), CW_OK);
    r->n_handles = count_handles(r);
}

static void on_loaded(const cw_plugin_loaded *loaded, void *ctx)
{
    rig *r = ctx;
    r->n_loaded++;
    r->source = loaded->source;
    snprintf(r->problem, sizeof r->problem, "%.*s", CW_STR_ARG(loaded->problem));
}

bool rig_load_file(rig *r, const char *name, const char *path)
{
    r->opts.host = r->opts.host ? r->opts.host : rig_host;
    r->opts.spawner = r->spawner;
    cw_err err = {0};
    cw_code rc =
        cw_plugin_load(&r->loop, &r->opts, cw_str_from(name), path, on_loaded, r, NULL, &err);
    if (rc) {
        snprintf(r->problem, sizeof r->problem, "%s", err.msg);
        return false;
    }
    int before = r->n_loaded;
    rig_until(r, &r->n_loaded, before + 1, 20000);
    return true;
}

void rig_load(rig *r, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.so", rig_folder, name);
    assert_true(rig_load_file(r, name, path));
    assert_string_equal(r->problem, "");
    assert_non_null(r->source);
    rig_settle(r);
}

void rig_done(rig *r)
{
    cw_loop_end(&r->loop);
    cw_loop_run(&r->loop);
    cw_source_unref(r->source);
    cw_spawner_free(r->spawner);
    cw_loop_done(&r->loop);
    assert_false(has_children());
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

/* Wait for events, a millisecond at most. */
void rig_turn(rig *r)
{
    uv_timer_t timer;
    uv_timer_init(&r->loop.uv, &timer);
    uv_timer_start(&timer, on_tick, 1, /* repeat= */ 1); /* due already, it must come again */
    uv_run(&r->loop.uv, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&r->loop.uv, UV_RUN_NOWAIT);
}

void rig_until(rig *r, const int *counter, int value, uint32_t ms)
{
    uint64_t until = cw_clock_ms() + ms;
    while (*counter < value && cw_clock_ms() < until)
        rig_turn(r);
    assert_true(*counter >= value);
}

void rig_for(rig *r, uint32_t ms)
{
    uint64_t until = cw_clock_ms() + ms;
    while (cw_clock_ms() < until)
        rig_turn(r);
}

void rig_settle(rig *r)
{
    uint64_t until = cw_clock_ms() + 5000;
    /* A child that the loop has not heard of yet has no handle. */
    while ((count_handles(r) > r->n_handles || has_children()) && cw_clock_ms() < until)
        rig_turn(r);
    assert_int_equal(count_handles(r), r->n_handles);
    assert_false(has_children());
}

const cw_method *rig_method(const cw_source *s, const char *id)
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
    probe *p = CW_CONTAINER(sink, probe, sink);
    assert_int_equal(p->n_done, 0);
    p->n_progress++;
    p->progress = progress->progress;
}

static void on_log(cw_sink *sink, cw_log_level level, cw_str message)
{
    probe *p = CW_CONTAINER(sink, probe, sink);
    assert_int_equal(p->n_done, 0);
    p->n_log++;
    snprintf(p->message, sizeof p->message, "%d %.*s", (int)level, CW_STR_ARG(message));
}

static void on_done(cw_sink *sink, const cw_outcome *outcome)
{
    probe *p = CW_CONTAINER(sink, probe, sink);
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

static const cw_sink_ops sink_ops = {on_progress, on_log, on_done};

cw_code probe_start(probe *p, cw_loop *loop, cw_source *s, const char *method, const char *params)
{
    p->sink.ops = &sink_ops;
    p->source = s;
    p->began_ms = cw_clock_ms();
    if (!p->arena.max)
        cw_arena_init(&p->arena, 64u << 20);
    p->call.method = rig_method(s, method);
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

void probe_cancel(probe *p)
{
    p->source->ops->cancel(p->source, &p->call);
}

void probe_done(probe *p)
{
    cw_arena_done(&p->arena);
    *p = (probe){0};
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

int rig_count_workers(int *ret_one_pid)
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
