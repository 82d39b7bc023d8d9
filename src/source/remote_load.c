/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remote_load.c - making a remote source.
 *
 *     service ─► hub? ─► asking ─► description ─► overlay, lock ─► source
 *                           │ it cannot be asked         │ nothing of it can be used
 *                           └────────────────────────────┴─► the last good description, from the
 *                                                            state's folder
 */
#include <stdlib.h>

#include "config/overlay.h"
#include "source/asking.h"
#include "source/remote_int.h"
#include "source/state.h"

#define ARENA_MAX (512u * 1024u * 1024u)
#define LINES_MAX 65536u

struct cw_remote_job {
    cw_loop *loop;
    cw_remote_opts opts;
    cw_service *service; /* a reference */
    cw_hub *hub;         /* likewise, or NULL */
    cw_breaker *breaker; /* likewise */
    cw_asking *asking;
    cw_remote_loaded_fn fn;
    void *ctx;
    cw_buf problems, warnings, missing;
    cw_arena scratch; /* for the description; the source keeps nothing of it */
    cw_config_overlay_file *overlay;
    cw_lock *lock;
    cw_buf lost; /* why the configured lock cannot be used; empty: it can, or there is none */
};

/* ---- the end of a job ---- */

/* A hub that nobody has seen yet ends with the job that made it. */
static void free_job(cw_remote_job *job, bool loops_ended)
{
    cw_asking_cancel(job->asking);
    if (job->hub && job->hub == job->opts.hub)
        cw_hub_unref(job->hub);
    else
        cw_hub_close(job->hub, loops_ended);
    cw_breaker_unref(job->breaker);
    cw_service_unref(job->service);
    cw_config_overlay_free(job->overlay);
    cw_lock_free(job->lock);
    cw_arena_done(&job->scratch);
    cw_buf_done(&job->problems);
    cw_buf_done(&job->warnings);
    cw_buf_done(&job->missing);
    cw_buf_done(&job->lost);
    cw_config_unref(job->opts.owner);
    free(job);
}

/* Lines about a description quote it. Without memory nothing is told. */
static void hide_secrets(const cw_remote_job *job, cw_buf *lines)
{
    cw_buf shown;
    if (!cw_secrets_are_in(&job->service->secrets, cw_buf_str(lines)))
        return;
    cw_buf_init(&shown, SIZE_MAX / 2);
    cw_secrets_write(&job->service->secrets, cw_buf_str(lines), &shown);
    cw_buf_done(lines);
    *lines = shown;
    if (shown.code)
        cw_buf_release(lines);
}

/* Hand the source over (NULL: there is none). The job is gone afterwards. */
static void finish(cw_remote_job *job, cw_remote *r, cw_code rc)
{
    hide_secrets(job, &job->problems);
    hide_secrets(job, &job->warnings);
    hide_secrets(job, &job->missing);
    cw_remote_loaded loaded = {
        .source = r ? &r->base : NULL,
        .hub = job->hub,
        .name = job->service->config.name,
        .problem = cw_buf_str(&job->problems),
        .warnings = cw_buf_str(&job->warnings),
        .missing = cw_buf_str(&job->missing),
        .n_found = r ? r->n_found : 0,
        .n_withheld = r ? r->n_withheld : 0,
        .lock = cw_buf_str(&job->lost),
        .definitions = r ? r->definitions : NULL,
        .n_definitions = r ? r->n_definitions : 0,
    };
    if (rc && loaded.problem.n == 0)
        loaded.problem = cw_str_from(cw_code_text(rc));
    job->hub = NULL; /* its reference goes with it */
    job->fn(&loaded, job->ctx);
    free_job(job, /* loops_ended= */ false);
}

/* ---- from a description to a source ---- */

static cw_code new_remote(cw_remote_job *job, cw_remote **ret, cw_err *err)
{
    cw_remote *r = calloc(1, sizeof *r);
    if (!r)
        return cw_fail_nomem(err);
    cw_arena_init(&r->arena, ARENA_MAX);
    r->service = cw_service_ref(job->service);
    if (job->hub) {
        r->hub = cw_hub_ref(job->hub);
        cw_hub_use(r->hub);
    }
    r->n_loops = job->opts.n_loops;
    r->answer_size = job->opts.answer_size;
    r->base.ops = &cw_remote_ops;
    r->base.name = job->service->config.name;
    r->base.call_ms = job->service->config.timeout_ms;
    atomic_init(&r->base.refs, 1);
    r->parts = cw_arena_calloc(&r->arena, job->opts.n_loops, sizeof *r->parts);
    r->breaker = cw_breaker_ref(job->breaker);
    if (!r->parts) {
        cw_remote_free(r);
        return cw_fail_nomem(err);
    }
    *ret = r;
    return CW_OK;
}

static cw_code make_source(cw_remote_job *job, cw_str openrpc, cw_remote **ret)
{
    cw_err err = {0};
    const cw_json *doc = NULL;
    cw_remote *r = NULL;
    const cw_json_opts opts = {.max_bytes = CW_DESCRIBE_DOCUMENT_MAX};
    cw_arena_reset(&job->scratch);
    cw_code rc = cw_json_read(openrpc, &opts, &job->scratch, &doc, NULL, &err);
    if (!rc)
        rc = new_remote(job, &r, &err);
    if (rc) {
        cw_buf_add(&job->problems, cw_str_from(err.msg));
        return rc;
    }
    cw_remote_reading reading = {
        .config = &job->service->config,
        .more = cw_config_overlay_methods(job->overlay),
        .lock = job->lock,
        .withholds_all = job->lost.n > 0,
        .policy = job->opts.policy,
        .defines = job->opts.defines,
        .problems = &job->problems,
        .warnings = &job->warnings,
        .missing = &job->missing,
    };
    rc = cw_remote_read(r, &reading, doc);
    if (rc)
        cw_remote_free(r);
    else
        *ret = r;
    return rc;
}

/* What the service said when it last could be asked, and made sense. */
static cw_code use_last(cw_remote_job *job, cw_remote **ret)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_DESCRIBE_DOCUMENT_MAX);
    cw_code rc = cw_state_load_description(job->opts.state, job->service->config.name, &text, NULL);
    return rc ? rc : make_source(job, cw_buf_str(&text), ret);
}

static void on_asked(const cw_asked *asked, void *ctx)
{
    cw_remote_job *job = ctx;
    cw_remote *r = NULL;
    cw_err err = {0};
    job->asking = NULL;
    cw_buf_add(&job->warnings, asked->warnings);
    if (asked->code) {
        cw_buf_add(&job->problems, asked->problem);
        cw_code rc = use_last(job, &r);
        finish(job, r, rc ? asked->code : CW_OK);
        return;
    }
    size_t n_warnings = job->warnings.n;
    cw_code rc = make_source(job, asked->openrpc, &r);
    bool is_file = job->service->config.openrpc.n;
    if (rc && rc != CW_NOMEM && !is_file) {
        size_t n_problems = job->problems.n;
        job->warnings.n = n_warnings;
        cw_buf_clear(&job->missing);
        /* Where that is of no use either, the first reason is the one to tell. */
        if (use_last(job, &r))
            job->problems.n = n_problems;
        else
            rc = CW_OK;
    } else if (!rc && !is_file &&
               cw_state_save_description(job->opts.state, job->service->config.name, asked->openrpc,
                                         &err))
        cw_buf_printf(&job->warnings, "%sthe description could not be kept: %s",
                      job->warnings.n ? "\n" : "", err.msg);
    finish(job, r, rc);
}

/* ---- the begin of a job ---- */

/* What the source before has found out of the service holds for this one too. */
static cw_code find_breaker(cw_remote_job *job, cw_err *err)
{
    const cw_remote *before = cw_remote_of(job->opts.before);
    job->breaker = before && cw_service_is_same_place(before->service, job->service)
                       ? cw_breaker_ref(before->breaker)
                       : cw_breaker_new();
    return job->breaker ? CW_OK : cw_fail_nomem(err);
}

static cw_code find_hub(cw_remote_job *job, cw_err *err)
{
    const cw_remote_opts *o = &job->opts;
    if (job->service->kind == CW_SERVICE_HTTP)
        return CW_OK;
    if (o->hub && cw_hub_fits(o->hub, job->service, o->answer_size)) {
        job->hub = cw_hub_ref(o->hub);
        return CW_OK;
    }
    cw_hub_opts opts = {
        .loop = job->loop,
        .spawner = o->spawner,
        .answer_size = o->answer_size,
        .announced = o->announced,
        .ctx = job->ctx,
    };
    return cw_hub_new(job->service, &opts, &job->hub, err);
}

/* A lock that is lost protects nothing: without it every tool is withheld. */
static cw_code read_lock(cw_remote_job *job, cw_err *err)
{
    const char *path = job->opts.lock.p;
    cw_code rc = job->opts.lock.n ? cw_lock_read(path, &job->lock, err) : CW_OK;
    if (rc == CW_NOMEM || !job->opts.lock.n || job->lock)
        return rc;
    if (rc)
        cw_buf_printf(&job->lost,
                      "%s; every tool is withheld until the file is repaired, or removed and made "
                      "anew by `causeway source approve`",
                      err->msg);
    else
        cw_buf_printf(&job->lost,
                      "lock '%s' does not exist; every tool is withheld until `causeway source "
                      "approve`",
                      path);
    return job->lost.code ? cw_fail_nomem(err) : CW_OK;
}

static cw_code begin(cw_remote_job *job, cw_err *err)
{
    const cw_config_remote *config = job->opts.config;
    cw_code rc = cw_service_new(config, job->opts.owner, &job->service, err);
    if (!rc && config->overlay.n)
        rc = cw_config_overlay_read(config->overlay.p, &job->overlay, err);
    if (!rc)
        rc = read_lock(job, err);
    if (!rc)
        rc = find_breaker(job, err);
    if (!rc)
        rc = find_hub(job, err);
    return rc ? rc
              : cw_asking_start(job->loop, job->service, job->hub, on_asked, job, &job->asking,
                                err);
}

cw_code cw_remote_load(cw_loop *loop, const cw_remote_opts *opts, cw_remote_loaded_fn fn, void *ctx,
                       cw_remote_job **ret_job, cw_err *err)
{
    cw_remote_job *job = calloc(1, sizeof *job);
    if (!job)
        return cw_fail_nomem(err);
    job->loop = loop;
    job->opts = *opts;
    if (opts->owner)
        cw_config_ref(opts->owner);
    job->fn = fn;
    job->ctx = ctx;
    cw_buf_init(&job->problems, LINES_MAX);
    cw_buf_init(&job->warnings, LINES_MAX);
    cw_buf_init(&job->missing, LINES_MAX);
    cw_buf_init(&job->lost, LINES_MAX);
    cw_arena_init(&job->scratch, ARENA_MAX);
    cw_code rc = begin(job, err);
    if (rc) {
        free_job(job, /* loops_ended= */ false);
        return rc;
    }
    if (ret_job)
        *ret_job = job;
    return CW_OK;
}

void cw_remote_load_cancel(cw_remote_job *job, bool loops_ended)
{
    if (job)
        free_job(job, loops_ended);
}
