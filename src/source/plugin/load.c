/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load.c - from a file to a source: copy it, start a worker, have it describe itself. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalogue/method_errors.h"
#include "json/write.h"
#include "source/openrpc/openrpc.h"
#include "source/plugin/plugin_int.h"

/* From Linux 6.3 on, memory that is executed should have this flag. Older kernels reject it. */
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

#define DISCOVER_ID 1u
/* A description is read into 16 times its size at most. */
#define ARENA_FACTOR 24u
#define PROBLEMS_MAX (1024u * 1024u)

struct cw_plugin_job {
    cw_worker worker;
    cw_worker_timers timers;
    cw_loop_hook hook;
    cw_plugin *plugin;      /* a reference */
    cw_plugin_loaded_fn fn; /* NULL: it was called, or the job is cancelled */
    void *ctx;
};

/* ---- the file ---- */

/* CW_LIMIT: no descriptors. Like a lack of memory, this may pass. */
static cw_code fail_open(int errnum, const char *what, const char *path, cw_err *err)
{
    if (errnum == EMFILE || errnum == ENFILE)
        return cw_fail(err, CW_LIMIT, "%s '%s': %s", what, path, strerror(errnum));
    return cw_fail_errno(err, errnum, "%s '%s'", what, path);
}

static cw_code open_plain(const char *path, int *ret, cw_err *err)
{
    /* Without O_NONBLOCK the open of a named pipe would block. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail_open(errno, "open", path, err);
    struct stat st;
    cw_code rc = CW_OK;
    if (fstat(fd, &st) < 0)
        rc = cw_fail_errno(err, errno, "stat '%s'", path);
    else if (!S_ISREG(st.st_mode))
        rc = cw_fail(err, CW_IO, "'%s' is not a file", path);
    else if (st.st_size > (off_t)CW_PLUGIN_FILE_MAX)
        rc = cw_fail(err, CW_LIMIT, "'%s' is larger than %u MB", path, CW_PLUGIN_FILE_MAX >> 20);
    if (rc)
        close(fd);
    else
        *ret = fd;
    return rc;
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return errno;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

static cw_code copy_bytes(int from, int to, const char *path, char *space, cw_err *err)
{
    size_t total = 0;
    for (;;) {
        ssize_t n = read(from, space, CW_LOOP_SCRATCH);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return cw_fail_errno(err, errno, "read '%s'", path);
        if (n == 0)
            return CW_OK;
        total += (size_t)n;
        if (total > CW_PLUGIN_FILE_MAX)
            return cw_fail(err, CW_LIMIT, "'%s' is larger than %u MB", path,
                           CW_PLUGIN_FILE_MAX >> 20);
        int errnum = write_all(to, space, (size_t)n);
        if (errnum)
            return cw_fail_errno(err, errnum, "copy '%s'", path);
    }
}

static cw_code seal(int fd, cw_err *err)
{
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
    return fcntl(fd, F_ADD_SEALS, seals) < 0 ? cw_fail_errno(err, errno, "seal memory") : CW_OK;
}

/* A sealed copy: what is loaded later is what was checked now. `space` is CW_LOOP_SCRATCH bytes. */
static cw_code copy_file(const char *path, char *space, int *ret, cw_err *err)
{
    int from;
    cw_code rc = open_plain(path, &from, err);
    if (rc)
        return rc;
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int to = memfd_create("causeway-plugin", flags | MFD_EXEC);
    if (to < 0 && errno == EINVAL)
        to = memfd_create("causeway-plugin", flags);
    rc = to < 0 ? fail_open(errno, "memory for", path, err) : CW_OK;
    if (!rc)
        rc = copy_bytes(from, to, path, space, err);
    if (!rc)
        rc = seal(to, err);
    close(from);
    if (rc && to >= 0)
        close(to);
    else if (!rc)
        *ret = to;
    return rc;
}

/* ---- the plugin ---- */

static cw_code make_argv(cw_plugin *p, cw_err *err)
{
    const cw_plugin_opts *o = &p->opts;
    const char **argv = cw_arena_calloc(&p->arena, 7, sizeof *argv);
    if (!argv)
        return cw_arena_fail(&p->arena, err);
    size_t n = 0;
    argv[n++] = o->host;
    argv[n++] = "--serve";
    argv[n++] = cw_arena_printf(&p->arena, "--name=%.*s", CW_STR_ARG(p->base.name));
    argv[n++] = cw_arena_printf(&p->arena, "--frame=%zu", o->frame_size);
    argv[n++] = cw_arena_printf(&p->arena, "--files=%u", (unsigned)o->files);
    if (o->memory)
        argv[n++] = cw_arena_printf(&p->arena, "--memory=%llu", (unsigned long long)o->memory);
    for (size_t i = 0; i < n; i++) {
        if (!argv[i])
            return cw_arena_fail(&p->arena, err);
    }
    p->argv = argv;
    return CW_OK;
}

/* A plugin does not get the environment of the server. It gets the directory of its file, so that
 * it finds other files that belong to it, and the directory in which it may keep files. */
static cw_code make_env(cw_plugin *p, const char *path, cw_err *err)
{
    const char *slash = strrchr(path, '/');
    cw_str folder = slash ? cw_str_make(path, (size_t)(slash - path)) : CW_STR(".");
    cw_str kept = p->opts.data.n ? p->opts.data : folder;
    const char **env = cw_arena_calloc(&p->arena, 5, sizeof *env);
    char *own = cw_arena_printf(&p->arena, "CAUSEWAY_PLUGIN_DIR=%.*s", CW_STR_ARG(folder));
    char *data = cw_arena_printf(&p->arena, "CAUSEWAY_PLUGIN_DATA=%.*s", CW_STR_ARG(kept));
    if (!env || !own || !data)
        return cw_arena_fail(&p->arena, err);
    env[0] = "PATH=/usr/local/bin:/usr/bin:/bin";
    env[1] = "LANG=C.UTF-8";
    env[2] = own;
    env[3] = data;
    p->env = env;
    return CW_OK;
}

static cw_code fill_plugin(cw_plugin *p, cw_str name, cw_err *err)
{
    p->base.name = cw_arena_dup_str(&p->arena, name);
    char *host = cw_arena_dup(&p->arena, p->opts.host, strlen(p->opts.host));
    if (!p->base.name.p || !host)
        return cw_arena_fail(&p->arena, err);
    p->opts.host = host;
    p->output.name = p->base.name;
    p->opts.data = cw_arena_dup_str(&p->arena, p->opts.data);
    if (!p->opts.data.p)
        return cw_arena_fail(&p->arena, err);
    p->parts = calloc(p->opts.n_loops ? p->opts.n_loops : 1, sizeof *p->parts);
    if (!p->parts)
        return cw_fail_nomem(err);
    return make_argv(p, err);
}

static cw_code new_plugin(const cw_plugin_opts *opts, cw_str name, cw_plugin **ret, cw_err *err)
{
    cw_plugin *p = calloc(1, sizeof *p);
    if (!p)
        return cw_fail_nomem(err);
    p->base.ops = &cw_plugin_source_ops;
    atomic_init(&p->base.refs, 1);
    p->base.call_ms = opts->call_ms;
    p->base.change = opts->change;
    p->opts = *opts;
    p->config = opts->config ? cw_config_ref(opts->config) : NULL;
    p->opts.config = NULL;
    p->file = -1;
    cw_arena_init(&p->arena, ARENA_FACTOR * opts->frame_size + 1024u * 1024u);
    cw_worker_breaker_init(&p->breaker, NULL, 0);
    cw_child_output_log_init(&p->output, "plugin", "output", (cw_str){0}, NULL, CW_PLUGIN_LINES);
    cw_code rc = fill_plugin(p, name, err);
    if (rc)
        cw_source_unref(&p->base);
    else
        *ret = p;
    return rc;
}

/* The part of a request that is the same for all calls of a method. */
static cw_code make_heads(cw_plugin *p, cw_err *err)
{
    cw_str *heads = cw_arena_calloc(&p->arena, p->base.n_methods, sizeof *heads);
    if (!heads)
        return cw_arena_fail(&p->arena, err);
    for (size_t i = 0; i < p->base.n_methods; i++) {
        cw_buf b;
        cw_buf_init(&b, p->opts.frame_size);
        cw_buf_add(&b, CW_STR(",\"method\":"));
        cw_json_escape(&b, p->base.methods[i].id);
        cw_buf_add(&b, CW_STR(",\"params\":"));
        cw_code code = b.code;
        heads[i] = cw_arena_dup_str(&p->arena, cw_buf_str(&b));
        cw_buf_done(&b);
        if (code)
            return cw_fail(err, code, "%s", cw_code_text(code));
        if (!heads[i].p)
            return cw_arena_fail(&p->arena, err);
    }
    p->heads = heads;
    return CW_OK;
}

/* Reject defaults that their schemas do not accept: a call without that argument would fail.
 * Schemas are compiled only when the catalogue is built. */
static cw_code check_defaults(const cw_plugin *p, const cw_method *methods, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf lines;
    cw_buf_init(&lines, PROBLEMS_MAX);
    cw_code rc = cw_method_errors_list(methods, p->base.n_methods, &p->opts.policy,
                                       CW_METHOD_ERRORS_DEFAULTS, &lines);
    if (rc)
        return cw_fail_nomem(err);
    return lines.n ? cw_fail(err, CW_PARAMS, "%.*s", CW_STR_ARG(cw_str_trim(cw_buf_str(&lines))))
                   : CW_OK;
}

static cw_code read_methods(cw_plugin *p, cw_str body, cw_arena *scratch, cw_err *err)
{
    cw_outcome answer;
    cw_code rc = cw_plugin_parse_in_place(body, scratch, &answer);
    if (rc)
        return cw_fail(err, rc, "its description cannot be read: %s", cw_code_text(rc));
    if (answer.kind != CW_OUTCOME_RESULT)
        return cw_fail(err, CW_PARAMS, "it does not describe itself: %.*s",
                       CW_STR_ARG(answer.message));
    cw_openrpc_opts opts = {.trust_marks = true, .callable = true, .source = &p->base};
    cw_method *methods;
    rc = cw_openrpc_read(answer.result, &opts, &p->arena, &methods, &p->base.n_methods, err);
    if (!rc)
        rc = check_defaults(p, methods, err);
    if (!rc)
        p->base.methods = methods;
    return rc;
}

/* ---- events ---- */

/* The part of PLUGIN.EVENT behind the dot, if it is the name of this plugin's; else empty. */
static cw_str own_event(const cw_plugin *p, cw_str name)
{
    cw_str plugin = p->base.name;
    bool is_own = name.n > plugin.n + 1 && name.p[plugin.n] == '.' && cw_str_starts(name, plugin);
    return is_own ? cw_str_make(name.p + plugin.n + 1, name.n - plugin.n - 1) : CW_STR("");
}

/* An event with an invalid schema is left out: its data could not be checked. */
static cw_code open_event(cw_plugin *p, const cw_config_event *published, cw_str name,
                          cw_buf *warnings, cw_err *err)
{
    cw_str copy = cw_arena_dup_str(&p->arena, name);
    if (!copy.p)
        return cw_arena_fail(&p->arena, err);
    cw_code rc = cw_event_source_open_rule(p->opts.events, p->base.name, copy, published,
                                           &p->events[p->n_events], err);
    p->n_events += rc == CW_OK;
    if (rc != CW_PARAMS)
        return rc;
    cw_buf_printf(warnings, "%sevent '%.*s': %s", warnings->n ? "\n" : "", CW_STR_ARG(name),
                  err ? err->msg : "");
    return CW_OK;
}

static cw_code add_events(cw_plugin *p, cw_err *err)
{
    if (!p->opts.events || !p->config)
        return CW_OK;
    const cw_config_events *published = &p->config->plugins.events;
    CW_CLEANUP(cw_buf_done) cw_buf warnings;
    cw_buf_init(&warnings, PROBLEMS_MAX);
    p->events = cw_arena_calloc(&p->arena, published->n, sizeof *p->events);
    if (!p->events)
        return cw_arena_fail(&p->arena, err);
    cw_code rc = CW_OK;
    for (size_t i = 0; i < published->n && !rc; i++) {
        cw_str name = own_event(p, published->items[i].name);
        if (name.n)
            rc = open_event(p, &published->items[i], name, &warnings, err);
    }
    cw_event_list events = {.rules = p->events,
                            .n = p->n_events,
                            .n_loops = p->opts.n_loops,
                            .accounts = p->opts.accounts};
    if (!rc && p->n_events)
        rc = cw_event_source_add(&p->base, &events, &p->arena, &warnings, err);
    if (!rc && warnings.n)
        cw_log(CW_LOG_WARN, "source", "events of a plugin are not published",
               CW_KV("source", p->base.name), CW_KV("problem", cw_buf_str(&warnings)));
    /* Only their names are needed from now on. */
    for (size_t i = 0; i < p->n_events; i++)
        p->events[i].config = (cw_config_event){.name = p->events[i].config.name};
    cw_config_unref(p->config);
    p->config = NULL;
    return rc;
}

/* Make the methods and events of the plugin from its description. */
static cw_code read_description(cw_plugin *p, cw_str body, cw_err *err)
{
    cw_arena scratch;
    cw_arena_init(&scratch, p->arena.max);
    cw_code rc = read_methods(p, body, &scratch, err);
    cw_arena_done(&scratch);
    if (rc)
        return rc;
    size_t n = p->base.n_methods;
    cw_breaker *gates = cw_arena_calloc(&p->arena, n, sizeof *gates);
    if (!gates)
        return cw_arena_fail(&p->arena, err);
    cw_worker_breaker_done(&p->breaker);
    cw_worker_breaker_init(&p->breaker, gates, n);
    rc = make_heads(p, err);
    return rc ? rc : add_events(p, err);
}

/* ---- the job ---- */

static void log_all(cw_plugin_job *job, cw_source *source, cw_str problem, bool may_pass)
{
    cw_plugin_loaded_fn fn = job->fn;
    if (!fn)
        return;
    job->fn = NULL;
    cw_plugin_loaded loaded = {
        .source = source, .name = job->plugin->base.name, .problem = problem, .may_pass = may_pass};
    fn(&loaded, job->ctx);
}

static void log_line(cw_plugin_job *job, cw_source *source, cw_str problem)
{
    log_all(job, source, problem, /* may_pass= */ false);
}

static void on_ready(cw_worker *w)
{
    cw_loop_set_deadline(w->loop, &w->wait, &w->timers->load);
    if (cw_plugin_send_discover(w, DISCOVER_ID) != CW_OK)
        cw_worker_fail(w, "cannot be asked: out of memory");
}

static void on_failed(cw_worker *w, cw_str problems, const cw_json *partial)
{
    cw_plugin_job *job = w->owner;
    const cw_plugin *p = job->plugin;
    CW_CLEANUP(cw_buf_done) cw_buf all;
    cw_buf_init(&all, PROBLEMS_MAX);
    cw_buf_add(&all, problems);
    cw_buf_add_char(&all, '\n');
    /* Without memory for further problems, those of the host are reported. */
    cw_code rc = partial
                     ? cw_plugin_declaration_errors(p->base.name, partial, &p->opts.policy, &all)
                     : CW_OK;
    log_line(job, NULL, rc || all.code ? problems : cw_buf_str(&all));
}

/* Report why the description cannot be used: all mistakes in it, or at least the one in `err`. */
static void log_errors(cw_plugin_job *job, cw_str body, const cw_err *err)
{
    const cw_plugin *p = job->plugin;
    cw_arena arena;
    cw_outcome answer;
    cw_arena_init(&arena, p->arena.max);
    CW_CLEANUP(cw_buf_done) cw_buf all;
    cw_buf_init(&all, PROBLEMS_MAX);
    cw_code rc =
        err->code == CW_PARAMS ? cw_plugin_parse_in_place(body, &arena, &answer) : CW_LIMIT;
    if (!rc && answer.kind == CW_OUTCOME_RESULT)
        rc = cw_plugin_declaration_errors(p->base.name, answer.result, &p->opts.policy, &all);
    if (rc || all.code || !all.n) {
        cw_buf_clear(&all);
        cw_buf_printf(&all, "%.*s: %s", CW_STR_ARG(p->base.name), err->msg);
    }
    cw_arena_done(&arena);
    log_line(job, NULL, all.code ? cw_str_from(err->msg) : cw_buf_str(&all));
}

static void on_frame(cw_worker *w, uint64_t id, cw_str body)
{
    cw_plugin_job *job = w->owner;
    if (id == DISCOVER_ID && cw_plugin_is_notification(body))
        return;
    cw_err err;
    cw_code rc = id == DISCOVER_ID
                     ? read_description(job->plugin, body, &err)
                     : cw_fail(&err, CW_INVALID, "it answers a call that was not made");
    if (rc)
        log_errors(job, id == DISCOVER_ID ? body : CW_STR(""), &err);
    else
        log_line(job, cw_source_ref(&job->plugin->base), CW_STR(""));
    cw_worker_close(w, /* now= */ false);
}

static void on_dead(cw_worker *w)
{
    log_all(w->owner, NULL, cw_str_from(w->detail), w->refused || w->is_late);
}

static void on_closed(cw_worker *w)
{
    cw_plugin_job *job = w->owner;
    cw_loop_remove_hook(&job->hook);
    cw_worker_timers_done(&job->timers, w->loop);
    cw_source_unref(&job->plugin->base);
    free(job);
}

static const cw_worker_ops worker_ops = {
    .on_ready = on_ready,
    .on_failed = on_failed,
    .on_frame = on_frame,
    .on_dead = on_dead,
    .on_closed = on_closed,
};

static void on_loop_end(cw_loop_hook *hook)
{
    cw_plugin_job *job = CW_CONTAINER(hook, cw_plugin_job, hook);
    log_line(job, NULL, CW_STR("the server is stopping"));
    cw_worker_close(&job->worker, /* now= */ true);
}

static cw_code start_job(cw_plugin_job *job, cw_loop *loop, cw_err *err)
{
    cw_worker_timers_init(&job->timers, loop, &job->plugin->opts);
    job->worker.owner = job;
    cw_code rc = cw_worker_start(&job->worker, job->plugin, loop, &job->timers, &worker_ops, err);
    if (rc) {
        cw_worker_timers_done(&job->timers, loop);
        return rc;
    }
    job->hook.on_end = on_loop_end;
    cw_loop_add_hook(loop, &job->hook);
    return CW_OK;
}

static cw_code new_job(const cw_plugin_opts *opts, cw_str name, int file, cw_plugin_job **ret,
                       cw_err *err)
{
    cw_plugin_job *job = calloc(1, sizeof *job);
    if (!job) {
        close(file);
        return cw_fail_nomem(err);
    }
    cw_code rc = new_plugin(opts, name, &job->plugin, err);
    if (rc) {
        close(file);
        free(job);
        return rc;
    }
    job->plugin->file = file;
    *ret = job;
    return CW_OK;
}

/* One parameter too many. NOLINTNEXTLINE(readability-function-size) */
cw_code cw_plugin_load(cw_loop *loop, const cw_plugin_opts *opts, cw_str name, const char *path,
                       cw_plugin_loaded_fn fn, void *ctx, cw_plugin_job **ret_job, cw_err *err)
{
    char *space = malloc(CW_LOOP_SCRATCH);
    if (!space)
        return cw_fail_nomem(err);
    int file = -1;
    cw_code rc = copy_file(path, space, &file, err);
    free(space);
    if (rc)
        return rc;
    cw_plugin_job *job = NULL;
    rc = new_job(opts, name, file, &job, err);
    if (!job)
        return rc;
    job->fn = fn;
    job->ctx = ctx;
    rc = make_env(job->plugin, path, err);
    if (!rc)
        rc = start_job(job, loop, err);
    if (rc) {
        cw_source_unref(&job->plugin->base);
        free(job);
        return rc;
    }
    if (ret_job)
        *ret_job = job;
    return CW_OK;
}

void cw_plugin_load_cancel(cw_plugin_job *job)
{
    job->fn = NULL;
    cw_worker_close(&job->worker, /* now= */ false);
}
