/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load.c - making a remote source.
 *
 *     endpoint ─► shared connection? ─► discovery ─► description ─► overlay, lock ─► source
 *                           │ it cannot be asked         │ it cannot be used, or asks less of
 *                           │                            │ callers than before
 *                           └────────────────────────────┴─► the last good description, from the
 *                                                            state's folder
 */
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "config/overlay.h"
#include "source/openrpc/openrpc.h"
#include "source/remote/discovery.h"
#include "source/remote/remote_int.h"
#include "source/remote/required_access.h"

#define ARENA_MAX (512u * 1024u * 1024u)
#define LINES_MAX 65536u
#define FILE_MAX (64u * 1024u * 1024u)
#define PARTIAL                                                                                    \
    "the list of tools cannot be read with these credentials: titles, annotations and scopes are " \
    "not known"

struct cw_remote_job {
    cw_loop *loop;
    cw_remote_opts opts;
    cw_endpoint *service;     /* a reference */
    cw_shared_conn *shared;   /* likewise, or NULL */
    cw_remote_health *health; /* likewise */
    cw_discovery *discovery;
    cw_remote_loaded_fn fn;
    void *ctx;
    cw_buf problems, warnings, missing;
    cw_arena scratch; /* for the description; the source keeps nothing of it */
    cw_config_overlay_file *overlay;
    cw_lock *lock;
    cw_buf lost; /* why the configured lock cannot be used; empty: it can, or there is none */
    /* The last good description; .kind is empty where there is none of this service. */
    cw_state_description last;
    const cw_json *requires; /* of it */
    cw_arena known;          /* its texts */
    cw_remote_credentials credentials;
    cw_buf damaged;                        /* why it cannot be read; empty: it can */
    cw_buf widened;                        /* lines: how the new one asks less of callers */
    const cw_json *doc;                    /* that was read last, in scratch */
    cw_source *before;                     /* opts.before, a reference */
    bool has_files;                        /* `files` is valid */
    unsigned char files[CW_REMOTE_DIGEST]; /* of the files that the configuration names */
};

/* ---- the end of a job ---- */

/* A connection that no source uses yet ends with the job that made it. */
static void free_job(cw_remote_job *job, bool loops_ended)
{
    cw_discovery_cancel(job->discovery);
    if (job->shared && job->shared == job->opts.shared)
        cw_shared_conn_unref(job->shared);
    else
        cw_shared_conn_close(job->shared, loops_ended);
    cw_remote_health_unref(job->health);
    cw_endpoint_unref(job->service);
    cw_config_overlay_free(job->overlay);
    cw_lock_unref(job->lock);
    cw_arena_done(&job->scratch);
    cw_arena_done(&job->known);
    cw_buf_done(&job->damaged);
    cw_buf_done(&job->widened);
    cw_buf_done(&job->problems);
    cw_buf_done(&job->warnings);
    cw_buf_done(&job->missing);
    cw_buf_done(&job->lost);
    cw_source_unref(job->before);
    cw_config_unref(job->opts.owner);
    free(job);
}

/* Lines about a description quote it. Without memory nothing is told. */
static void hide_secrets(const cw_remote_job *job, cw_buf *lines)
{
    cw_buf exposed;
    if (!cw_secrets_are_in(&job->service->secrets, cw_buf_str(lines)))
        return;
    cw_buf_init(&exposed, CW_BUF_MAX);
    cw_secrets_write(&job->service->secrets, cw_buf_str(lines), &exposed);
    cw_buf_done(lines);
    *lines = exposed;
    if (exposed.code)
        cw_buf_release(lines);
}

/* ---- a source that is made of the same as the one before ---- */

static void add_to_digest(unsigned char digest[CW_REMOTE_DIGEST], cw_str text)
{
    unsigned char both[2 * CW_REMOTE_DIGEST];
    memcpy(both, digest, CW_REMOTE_DIGEST);
    SHA256((const unsigned char *)(text.n ? text.p : ""), text.n, both + CW_REMOTE_DIGEST);
    SHA256(both, sizeof both, digest);
}

/* The documents of views. A file of several methods counts once. */
static bool digest_views(const cw_config_overlays *methods, unsigned char ret[CW_REMOTE_DIGEST])
{
    cw_str last = CW_STR("");
    for (size_t i = 0; i < methods->n; i++) {
        cw_str file = methods->items[i].ui_file;
        CW_CLEANUP(cw_buf_done) cw_buf text;
        cw_buf_init(&text, FILE_MAX);
        if (!file.n || cw_str_eq(file, last))
            continue;
        if (cw_file_read(file.p, CW_FILE_PLAIN, &text, NULL))
            return false;
        add_to_digest(ret, cw_buf_str(&text));
        last = file;
    }
    return true;
}

/* Before the files are read for use: a file that changes in between differs at the next load. */
static bool digest_files(const cw_remote_opts *opts, unsigned char ret[CW_REMOTE_DIGEST])
{
    const cw_config_remote *c = opts->config;
    const cw_str files[] = {c->overlay,     c->secret.file,     c->oauth.client_secret_file,
                            c->tls.ca_file, c->tls.certificate, c->tls.key,
                            opts->lock};
    memset(ret, 0, CW_REMOTE_DIGEST);
    for (size_t i = 0; i < CW_COUNT(files); i++) {
        CW_CLEANUP(cw_buf_done) cw_buf text;
        cw_buf_init(&text, FILE_MAX);
        if (files[i].n && cw_file_read(files[i].p, CW_FILE_PLAIN, &text, NULL))
            return false;
        add_to_digest(ret, cw_buf_str(&text));
    }
    if (opts->approvals)
        add_to_digest(ret, cw_lock_entries(opts->approvals->lock, c->name));
    return digest_views(&c->methods, ret);
}

static void digest_inputs(const cw_remote_job *job, cw_str openrpc, bool is_partial, cw_remote *r)
{
    char flags[64];
    const cw_schema_policy *policy = &job->opts.policy;
    snprintf(flags, sizeof flags, "%d %d %d %d", (int)policy->draft, policy->annotate_formats,
             is_partial, job->lost.n > 0);
    memcpy(r->inputs, job->files, CW_REMOTE_DIGEST);
    add_to_digest(r->inputs, openrpc);
    add_to_digest(r->inputs, cw_str_from(flags));
    r->has_inputs = job->has_files;
}

static bool is_as_before(const cw_remote_job *job, const cw_remote *r)
{
    const cw_remote *before = cw_remote_of(job->before);
    return before && !job->opts.defines && before->has_inputs && r->has_inputs &&
           memcmp(before->inputs, r->inputs, CW_REMOTE_DIGEST) == 0 &&
           before->shared == r->shared && before->answer_size == r->answer_size &&
           !atomic_load(&before->base.retired) &&
           cw_config_remote_equal(&before->service->config, &r->service->config);
}

/* The source to hand over: that of before, if the new one has nothing else. */
static cw_source *pick_source(const cw_remote_job *job, cw_remote *r)
{
    return r && is_as_before(job, r) ? cw_source_ref(job->before) : r ? &r->base : NULL;
}

/* Hand the source over (NULL: there is none). The job is gone afterwards. */
static void finish(cw_remote_job *job, cw_remote *r, cw_code rc)
{
    cw_source *source = pick_source(job, r);
    hide_secrets(job, &job->problems);
    hide_secrets(job, &job->warnings);
    hide_secrets(job, &job->missing);
    hide_secrets(job, &job->widened);
    const cw_lock_stamp approved = cw_lock_latest(job->lock, job->service->config.name);
    cw_remote_loaded loaded = {
        .source = source,
        .shared = job->shared,
        .name = job->service->config.name,
        .problem = cw_buf_str(&job->problems),
        .warnings = cw_buf_str(&job->warnings),
        .missing = cw_buf_str(&job->missing),
        .n_found = r ? r->n_found : 0,
        .n_withheld = r ? r->n_withheld : 0,
        .notice = r && r->problem.is_partial ? CW_STR(PARTIAL) : CW_STR(""),
        .widened = cw_buf_str(&job->widened),
        .credentials = job->credentials,
        .lock = cw_buf_str(&job->lost),
        .approved_at = approved.at,
        .approved_by = approved.by,
        .definitions = r ? r->definitions : NULL,
        .n_definitions = r ? r->n_definitions : 0,
    };
    if (rc && loaded.problem.n == 0)
        loaded.problem = cw_str_from(cw_code_text(rc));
    cw_remote_start_events(source);
    job->shared = NULL; /* its reference goes with it */
    job->fn(&loaded, job->ctx);
    if (r && source != &r->base)
        cw_remote_free(r);
    free_job(job, /* loops_ended= */ false);
}

/* ---- from a description to a source ---- */

/* NULL without memory. */
static cw_remote *new_remote(const cw_remote_job *job)
{
    cw_remote *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    cw_arena_init(&r->arena, ARENA_MAX);
    cw_map_init(&r->resources, SIZE_MAX);
    r->service = cw_endpoint_ref(job->service);
    if (job->shared) {
        r->shared = cw_shared_conn_ref(job->shared);
        cw_shared_conn_acquire(r->shared);
    }
    r->n_loops = job->opts.n_loops;
    r->answer_size = job->opts.answer_size;
    r->base.ops = &cw_remote_ops;
    r->base.name = job->service->config.name;
    r->base.call_ms = job->service->config.timeout_ms;
    r->base.restarts_ms = cw_dialect_is_mcp(job->service->protocol.dialect);
    r->base.takes_meta = r->base.restarts_ms;
    atomic_init(&r->base.refs, 1);
    r->parts = cw_arena_calloc(&r->arena, job->opts.n_loops, sizeof *r->parts);
    r->health = cw_remote_health_ref(job->health);
    if (r->parts)
        return r;
    cw_remote_free(r);
    return NULL;
}

static cw_code make_source(cw_remote_job *job, cw_str openrpc, bool is_partial, cw_remote **ret)
{
    cw_err err = {0};
    const cw_json *doc = NULL;
    cw_remote *r = NULL;
    const cw_json_opts opts = {.max_bytes = CW_DESCRIBE_DOCUMENT_MAX};
    cw_arena_reset(&job->scratch);
    cw_code rc = cw_json_read(openrpc, &opts, &job->scratch, &doc, NULL, &err);
    job->doc = doc;
    if (!rc)
        rc = cw_openrpc_upgrade_draft4(&doc, &job->scratch, &err);
    if (!rc)
        r = new_remote(job);
    if (!r) {
        rc = rc ? rc : cw_fail_nomem(&err);
        cw_buf_add(&job->problems, cw_str_from(err.msg));
        return rc;
    }
    cw_remote_reading reading = {
        .config = &job->service->config,
        .more = cw_config_overlay_lists_of(job->overlay),
        .lock = job->lock,
        .withholds_all = job->lost.n > 0,
        .requires = job->requires,
        .is_partial = is_partial,
        .policy = job->opts.policy,
        .defines = job->opts.defines,
        .problems = &job->problems,
        .warnings = &job->warnings,
        .missing = &job->missing,
        .widened = &job->widened,
    };
    digest_inputs(job, openrpc, is_partial, r);
    rc = cw_remote_read(r, &reading, doc);
    if (!rc && (rc = cw_remote_add_events(r, &job->opts, &job->warnings, &err)))
        cw_buf_add(&job->problems, cw_str_from(err.msg));
    if (rc)
        cw_remote_free(r);
    else
        *ret = r;
    return rc;
}

/* ---- the last good description ---- */

/* A text of the arena; .p is NULL without memory. */
static cw_str place_of(const cw_endpoint *service, cw_arena *arena)
{
    const cw_config_strings *command = &service->config.command;
    if (command->n == 0)
        return cw_arena_dup_str(arena, service->config.url);
    char *text = cw_arena_printf(arena, "%s", command->items[0].p);
    for (size_t i = 1; i < command->n && text; i++)
        text = cw_arena_printf(arena, "%s %s", text, command->items[i].p);
    return text ? cw_str_from(text) : (cw_str){NULL, 0};
}

static bool copy_text(cw_str *text, cw_arena *arena)
{
    *text = cw_arena_dup_str(arena, *text);
    return text->p;
}

/* All but the document. */
static cw_code copy_problem(const cw_state_description *from, cw_arena *arena,
                            cw_state_description *to)
{
    *to = *from;
    to->openrpc = CW_STR("");
    bool is_copied = copy_text(&to->at, arena) && copy_text(&to->describe, arena) &&
                     copy_text(&to->kind, arena) && copy_text(&to->requires, arena);
    return is_copied ? CW_OK : CW_NOMEM;
}

/* That of the file, or of the source before where there is no file. One of another service, or that
 * was asked for otherwise, says nothing: the operator has changed the configuration. */
static cw_code find_last(cw_remote_job *job, cw_err *err)
{
    const cw_config_remote *config = &job->service->config;
    const cw_remote *before = cw_remote_of(job->opts.before);
    cw_state_description *last = &job->last;
    if (config->openrpc.n)
        return CW_OK;
    cw_code rc = cw_state_load_description(job->opts.state, config->name, &job->known, last, err);
    if (rc == CW_GONE && before && before->problem.kind.n)
        rc = copy_problem(&before->problem, &job->known, last);
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    if (rc && rc != CW_GONE)
        cw_buf_printf(&job->damaged, "%s", err->msg);
    cw_str at = place_of(job->service, &job->known);
    if (!at.p)
        return cw_fail_nomem(err);
    if (rc || !cw_str_eq(last->at, at) || !cw_str_eq(last->describe, config->describe)) {
        *last = (cw_state_description){0};
        return CW_OK;
    }
    const cw_json_opts opts = {.max_bytes = last->requires.n + 1, .max_members = (1u << 24) - 1};
    return cw_json_read(last->requires, &opts, &job->known, &job->requires, NULL, err);
}

/* Use the last description of the service that was used. */
static cw_code use_last(cw_remote_job *job, cw_remote **ret)
{
    if (job->last.openrpc.n == 0)
        return CW_GONE;
    cw_code rc = make_source(job, job->last.openrpc, job->last.is_partial, ret);
    if (rc)
        return rc;
    if (copy_problem(&job->last, &(*ret)->arena, &(*ret)->problem) == CW_OK)
        return CW_OK;
    cw_remote_free(*ret);
    *ret = NULL;
    return CW_NOMEM;
}

/* ---- a new description ---- */

static void add_line(cw_buf *lines, const char *text)
{
    cw_buf_printf(lines, "%s%s", lines->n ? "\n" : "", text);
}

/* Remember what was said, for the next load and the next start. */
static cw_code keep(cw_remote_job *job, const cw_discovery_result *result, cw_remote *r,
                    cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf requires;
    cw_buf_init(&requires, CW_DESCRIBE_DOCUMENT_MAX);
    cw_required_access_write(job->doc, job->requires, &requires);
    if (requires.code)
        return cw_fail(err, requires.code, "what it asks of callers cannot be kept");
    cw_state_description problem = {
        .at = place_of(job->service, &r->arena),
        .describe = job->service->config.describe,
        .kind = cw_str_from(result->kind),
        .is_partial = result->is_partial,
        .requires = cw_buf_str(&requires),
        .openrpc = result->openrpc,
    };
    if (!problem.at.p || copy_problem(&problem, &r->arena, &r->problem))
        return cw_fail_nomem(err);
    const cw_state_description *last = &job->last;
    bool is_same = last->openrpc.n && cw_str_eq(last->kind, problem.kind) &&
                   last->is_partial == problem.is_partial &&
                   cw_str_eq(last->requires, problem.requires) &&
                   cw_str_eq(last->openrpc, problem.openrpc);
    if (is_same || job->opts.is_quiet)
        return CW_OK;
    cw_err why = {0};
    cw_str name = job->service->config.name;
    if (cw_state_save_description(job->opts.state, name, &problem, &why)) {
        cw_buf_printf(&job->warnings, "%sthe description could not be kept: %s",
                      job->warnings.n ? "\n" : "", why.msg);
    }
    return CW_OK;
}

/* Whether nothing is known to be lost. Each loss adds a line to `widened`. */
static bool is_as_rich(cw_remote_job *job, const cw_discovery_result *result)
{
    cw_err text;
    cw_str last = job->last.kind;
    if (job->damaged.n) {
        cw_fail(&text, CW_PARSE, "what the service asked of callers is not known: %.*s",
                CW_STR_ARG(cw_buf_str(&job->damaged)));
        add_line(&job->widened, text.msg);
    } else if (last.n && cw_required_access_is_weaker(last, cw_str_from(result->kind))) {
        cw_fail(&text, CW_PARAMS,
                "the description is '%s' and was '%.*s': scopes may be missing, and methods that "
                "are no tools may be in it",
                result->kind, CW_STR_ARG(last));
        add_line(&job->widened, text.msg);
    } else {
        return true;
    }
    return job->opts.accepts;
}

static cw_code refuse_new(cw_remote_job *job)
{
    cw_buf_printf(&job->problems, "%s%.*s\nit is not used until `causeway source accept %.*s`",
                  job->problems.n ? "\n" : "", CW_STR_ARG(cw_buf_str(&job->widened)),
                  CW_STR_ARG(job->service->config.name));
    return CW_PARAMS;
}

static cw_code use_new(cw_remote_job *job, const cw_discovery_result *result, cw_remote **ret)
{
    cw_err err = {0};
    if (!is_as_rich(job, result))
        return refuse_new(job);
    cw_code rc = make_source(job, result->openrpc, result->is_partial, ret);
    if (rc)
        return rc;
    if (job->widened.n && !job->opts.accepts)
        rc = refuse_new(job);
    else if (job->service->config.openrpc.n == 0)
        rc = keep(job, result, *ret, &err);
    if (!rc)
        return CW_OK;
    if (err.msg[0])
        add_line(&job->problems, err.msg);
    cw_remote_free(*ret);
    *ret = NULL;
    return rc;
}

static void on_discovered(const cw_discovery_result *result, void *ctx)
{
    cw_remote_job *job = ctx;
    cw_remote *r = NULL;
    job->discovery = NULL;
    cw_buf_add(&job->warnings, result->warnings);
    job->credentials = result->is_refused ? CW_REMOTE_CREDENTIALS_REFUSED
                       : result->code     ? CW_REMOTE_CREDENTIALS_UNKNOWN
                                          : CW_REMOTE_CREDENTIALS_ACCEPTED;
    if (result->code) {
        cw_buf_add(&job->problems, result->problem);
        cw_code rc = use_last(job, &r);
        finish(job, r, rc ? result->code : CW_OK);
        return;
    }
    size_t n_warnings = job->warnings.n;
    cw_code rc = use_new(job, result, &r);
    if (rc && rc != CW_NOMEM && !job->opts.accepts) {
        size_t n_problems = job->problems.n;
        job->warnings.n = n_warnings;
        cw_buf_clear(&job->missing);
        /* If that fails too, the first problem is reported. */
        if (use_last(job, &r))
            job->problems.n = n_problems;
        else
            rc = CW_OK;
    }
    finish(job, r, rc);
}

/* ---- the begin of a job ---- */

/* The state of the service that the previous source found holds for this one too. */
static cw_code find_health(cw_remote_job *job, cw_err *err)
{
    const cw_remote *before = cw_remote_of(job->opts.before);
    job->health = before && cw_endpoint_is_same_address(before->service, job->service)
                      ? cw_remote_health_ref(before->health)
                      : cw_remote_health_new();
    return job->health ? CW_OK : cw_fail_nomem(err);
}

static cw_code find_shared(cw_remote_job *job, cw_err *err)
{
    const cw_remote_opts *o = &job->opts;
    if (job->service->kind == CW_ENDPOINT_HTTP &&
        !cw_dialect_is_mcp(job->service->protocol.dialect))
        return CW_OK;
    if (o->shared && cw_shared_conn_is_compatible(o->shared, job->service, o->answer_size)) {
        job->shared = cw_shared_conn_ref(o->shared);
        return CW_OK;
    }
    cw_shared_conn_opts opts = {
        .loop = job->loop,
        .spawner = o->spawner,
        .answer_size = o->answer_size,
        .announced = o->announced,
        .updated = o->updated,
        .ctx = job->ctx,
    };
    return cw_shared_conn_new(job->service, &opts, &job->shared, err);
}

/* A lock that is lost protects nothing: without it every tool is withheld. */
static cw_code read_lock(cw_remote_job *job, cw_err *err)
{
    const char *path = job->opts.lock.p;
    const cw_remote_approvals *given = job->opts.approvals;
    job->opts.approvals = NULL; /* borrowed until now */
    if (given) {
        job->lock = cw_lock_ref(given->lock);
        if (!job->lock)
            cw_buf_printf(&job->lost, "%.*s; every tool is withheld", CW_STR_ARG(given->problem));
        return job->lost.code ? cw_fail_nomem(err) : CW_OK;
    }
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
    job->has_files = digest_files(&job->opts, job->files);
    cw_code rc = cw_endpoint_new(config, job->opts.owner, &job->service, err);
    if (!rc && config->overlay.n)
        rc = cw_config_overlay_read(config->overlay.p, &job->overlay, NULL, err);
    if (!rc && job->overlay) {
        cw_config_overlay_lists more = cw_config_overlay_lists_of(job->overlay);
        job->has_files = digest_views(&more.methods, job->files) && job->has_files;
    }
    if (!rc)
        rc = read_lock(job, err);
    if (!rc)
        rc = find_last(job, err);
    if (!rc)
        rc = find_health(job, err);
    if (!rc)
        rc = find_shared(job, err);
    if (!rc)
        rc = cw_discovery_start(job->loop, job->service, job->shared, on_discovered, job,
                                &job->discovery, err);
    if (!rc && (job->opts.lock.n || job->opts.defines))
        cw_discovery_read_views(job->discovery);
    return rc;
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
    job->before = opts->before ? cw_source_ref(opts->before) : NULL;
    job->fn = fn;
    job->ctx = ctx;
    cw_buf_init(&job->problems, LINES_MAX);
    cw_buf_init(&job->warnings, LINES_MAX);
    cw_buf_init(&job->missing, LINES_MAX);
    cw_buf_init(&job->lost, LINES_MAX);
    cw_buf_init(&job->damaged, LINES_MAX);
    cw_buf_init(&job->widened, LINES_MAX);
    cw_arena_init(&job->scratch, ARENA_MAX);
    cw_arena_init(&job->known, ARENA_MAX);
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
