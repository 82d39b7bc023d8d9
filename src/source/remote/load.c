/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load.c - making a remote source.
 *
 *     endpoint ─► shared connection? ─► discovery ─► description ─► overlay, lock ─► source
 *                           │ it does not respond        │ it cannot be used, or requires less
 *                           │                            │ of callers than before
 *                           └────────────────────────────┴─► the last good description, from the
 *                                                            state's folder
 */
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"
#include "config/overlay.h"
#include "source/openrpc/openrpc.h"
#include "source/remote/discovery.h"
#include "source/remote/last_good.h"
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
    cw_buf lost; /* why the configured lock cannot be used; empty: it can, or none is configured */
    /* The last good description of this service; .kind is empty: none. */
    cw_state_description last;
    const cw_json *requires; /* of it */
    cw_arena known;          /* its texts */
    cw_remote_credentials credentials;
    cw_buf damaged;                           /* why it cannot be read; empty: it can */
    cw_buf widened;                           /* lines: how the new one requires less of callers */
    cw_buf required;                          /* the requirements of the new one */
    cw_source *before;                        /* opts.before, a reference */
    bool has_files;                           /* `files` is valid */
    unsigned char files[CW_REMOTE_DIGEST];    /* of the files that the configuration names */
    unsigned char approved[CW_REMOTE_DIGEST]; /* as of cw_remote */
    bool has_rules;                           /* `rules` is valid */
    unsigned char rules[CW_REMOTE_DIGEST];    /* as of cw_remote */
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
    cw_buf_done(&job->required);
    cw_buf_done(&job->problems);
    cw_buf_done(&job->warnings);
    cw_buf_done(&job->missing);
    cw_buf_done(&job->lost);
    cw_source_unref(job->before);
    cw_config_unref(job->opts.owner);
    free(job);
}

/* Replace secrets in lines that quote a description. Without memory no line is left. */
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

/* ---- a source with the same inputs as the former one ---- */

static void add_to_digest(unsigned char digest[CW_REMOTE_DIGEST], cw_str text)
{
    unsigned char both[2 * CW_REMOTE_DIGEST];
    memcpy(both, digest, CW_REMOTE_DIGEST);
    SHA256((const unsigned char *)(text.n ? text.p : ""), text.n, both + CW_REMOTE_DIGEST);
    SHA256(both, sizeof both, digest);
}

/* Add the documents of views to a digest. A file of several methods counts once. */
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

/* Computed before the files are read for use: a change in between is noticed by the next load. */
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

/* Without a lock nothing is withheld, and with one everything that it has no entry for. */
static void digest_approvals(const cw_lock *lock, cw_str source,
                             unsigned char ret[CW_REMOTE_DIGEST])
{
    memset(ret, 0, CW_REMOTE_DIGEST);
    add_to_digest(ret, lock ? CW_STR("lock") : CW_STR(""));
    add_to_digest(ret, cw_lock_entries(lock, source));
}

static bool digest_overlay(const cw_config_remote *config, unsigned char ret[CW_REMOTE_DIGEST])
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, FILE_MAX);
    memset(ret, 0, CW_REMOTE_DIGEST);
    if (config->overlay.n && cw_file_read(config->overlay.p, CW_FILE_PLAIN, &text, NULL))
        return false;
    add_to_digest(ret, cw_buf_str(&text));
    return true;
}

/* The former requirements are an input only if they are enforced. */
static void digest_inputs(const cw_remote_job *job, cw_str openrpc,
                          const cw_remote_reading *reading, cw_remote *r)
{
    char flags[64];
    const cw_schema_policy *policy = &job->opts.policy;
    snprintf(flags, sizeof flags, "%d %d %d %d %d", (int)policy->draft, policy->annotate_formats,
             reading->is_partial, job->lost.n > 0, reading->enforces);
    memcpy(r->inputs, job->files, CW_REMOTE_DIGEST);
    add_to_digest(r->inputs, openrpc);
    add_to_digest(r->inputs, cw_str_from(flags));
    if (reading->enforces)
        add_to_digest(r->inputs, job->last.requires);
    r->has_inputs = job->has_files;
    memcpy(r->approved, job->approved, CW_REMOTE_DIGEST);
    memcpy(r->rules, job->rules, CW_REMOTE_DIGEST);
    r->has_rules = job->has_rules;
}

static bool is_as_before(const cw_remote_job *job, const cw_remote *r)
{
    const cw_remote *before = cw_remote_of(job->before);
    return before && !job->opts.defines && before->has_inputs && r->has_inputs &&
           memcmp(before->inputs, r->inputs, CW_REMOTE_DIGEST) == 0 &&
           before->shared == r->shared && before->answer_size == r->answer_size &&
           !atomic_load(&before->base.retired) &&
           cw_endpoint_is_same_protocol(before->service, r->service) &&
           cw_config_remote_equal(&before->service->config, &r->service->config);
}

/* The source to return: the former one, if the new one has the same inputs. */
static cw_source *pick_source(const cw_remote_job *job, cw_remote *r)
{
    return r && is_as_before(job, r) ? cw_source_ref(job->before) : r ? &r->base : NULL;
}

/* End the job with a source, or NULL, and free it. */
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
        .notice = r && r->is_partial ? CW_STR(PARTIAL) : CW_STR(""),
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

static void add_line(cw_buf *lines, const char *text)
{
    cw_buf_printf(lines, "%s%s", lines->n ? "\n" : "", text);
}

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

/* Index the exposed resources, for updates of them. */
static cw_code index_resources(cw_remote *r, cw_err *err)
{
    size_t n_templates = 0;
    for (size_t i = 0; i < r->base.n_methods; i++) {
        const cw_exposed *exposed = r->base.methods[i].exposed;
        n_templates += exposed && exposed->kind == CW_EXPOSED_TEMPLATE;
    }
    r->templates = cw_arena_calloc(&r->arena, n_templates, sizeof *r->templates);
    if (!r->templates)
        return cw_fail_nomem(err);
    for (size_t i = 0; i < r->base.n_methods; i++) {
        const cw_exposed *exposed = r->base.methods[i].exposed;
        if (!exposed || exposed->kind == CW_EXPOSED_PROMPT)
            continue;
        if (exposed->kind == CW_EXPOSED_TEMPLATE)
            r->templates[r->n_templates++] = exposed->address;
        else if (cw_map_put(&r->resources, exposed->address, r, NULL))
            return cw_fail_nomem(err);
    }
    return CW_OK;
}

static cw_code make_source(cw_remote_job *job, cw_str openrpc, bool is_partial, bool is_last,
                           cw_remote **ret)
{
    cw_err err = {0};
    const cw_json *doc = NULL;
    cw_remote *r = NULL;
    const cw_json_opts opts = {.max_bytes = CW_DESCRIBE_DOCUMENT_MAX};
    cw_arena_reset(&job->scratch);
    cw_code rc = cw_json_read(openrpc, &opts, &job->scratch, &doc, NULL, &err);
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
        .enforces = is_last,
        .accepts = job->opts.accepts,
        .required = is_last ? NULL : &job->required,
        .is_partial = is_partial,
        .policy = job->opts.policy,
        .defines = job->opts.defines,
        .problems = &job->problems,
        .warnings = &job->warnings,
        .missing = &job->missing,
        .widened = &job->widened,
    };
    r->is_partial = is_partial;
    digest_inputs(job, openrpc, &reading, r);
    rc = cw_remote_read(r, &reading, doc);
    if (!rc && ((rc = index_resources(r, &err)) ||
                (rc = cw_remote_add_events(r, &job->opts, &job->warnings, &err))))
        cw_buf_add(&job->problems, cw_str_from(err.msg));
    if (rc)
        cw_remote_free(r);
    else
        *ret = r;
    return rc;
}

/* ---- the last good description ---- */

/* The URL or the command of a service, in the arena; .p is NULL without memory. */
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

/* `at` is NULL without memory. */
static cw_last_good_key key_of(const cw_remote_job *job, cw_arena *arena)
{
    return (cw_last_good_key){.folder = job->opts.state,
                              .is_quiet = job->opts.is_quiet,
                              .name = job->service->config.name,
                              .at = place_of(job->service, arena),
                              .describe = job->service->config.describe};
}

static cw_code find_last(cw_remote_job *job, cw_err *err)
{
    if (job->service->config.openrpc.n)
        return CW_OK;
    const cw_last_good_key key = key_of(job, &job->known);
    if (!key.at.p)
        return cw_fail_nomem(err);
    cw_code rc = cw_last_good_find(job->opts.last_good, &key, &job->known, &job->last, err);
    if (rc == CW_NOMEM)
        return rc;
    if (rc)
        cw_buf_printf(&job->damaged, "%s", err->msg);
    if (job->last.is_of_other)
        add_line(&job->warnings, "the stored description is of another url, command or discovery: "
                                 "the requirements in it do not count");
    if (rc || job->last.kind.n == 0)
        return job->damaged.code ? cw_fail_nomem(err) : CW_OK;
    const cw_json_opts opts = {.max_bytes = job->last.requires.n + 1,
                               .max_members = (1u << 24) - 1};
    return cw_json_read(job->last.requires, &opts, &job->known, &job->requires, NULL, err);
}

/* Make the source from the last good description. */
static cw_code use_last(cw_remote_job *job, cw_remote **ret)
{
    if (job->last.openrpc.n == 0)
        return CW_GONE;
    return make_source(job, job->last.openrpc, job->last.is_partial, /* is_last= */ true, ret);
}

/* ---- a new description ---- */

/* Keep the description for the next load, and in its file for the next start. */
static cw_code keep(cw_remote_job *job, const cw_discovery_result *result, cw_err *err)
{
    if (job->required.code)
        return cw_fail(err, job->required.code, "what it asks of callers cannot be kept");
    const cw_last_good_key key = key_of(job, &job->known);
    if (!key.at.p)
        return cw_fail_nomem(err);
    const cw_state_description d = {
        .at = key.at,
        .describe = key.describe,
        .kind = cw_str_from(result->kind),
        .is_partial = result->is_partial,
        .accepted_ms = job->opts.accepts ? cw_clock_wall_ms() : 0,
        .requires = cw_buf_str(&job->required),
        .openrpc = result->openrpc,
    };
    cw_code rc = cw_last_good_keep(job->opts.last_good, &key, &job->last, &d, err);
    if (rc == CW_NOMEM || !rc)
        return rc;
    /* An acceptance that is not stored has no effect. */
    if (job->opts.accepts)
        return cw_wrap(err, rc, "the description could not be stored");
    cw_buf_printf(&job->warnings, "%sthe description could not be kept: %s",
                  job->warnings.n ? "\n" : "", err->msg);
    return CW_OK;
}

/* Whether the new description may replace the last good one. A loss adds a line to `widened`. */
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
    } else if (last.n && job->last.is_partial && !result->is_partial &&
               cw_str_is(last, result->kind)) {
        add_line(&job->widened,
                 "the list of tools was rejected before, and is missing now: scopes may be "
                 "missing, and methods that are no tools may be in the description");
    } else {
        return true;
    }
    return job->opts.accepts;
}

static cw_code refuse_new(cw_remote_job *job)
{
    cw_buf_printf(&job->problems, "%s%.*s\nit is not used until ", job->problems.n ? "\n" : "",
                  CW_STR_ARG(cw_buf_str(&job->widened)));
    if (job->opts.state.n)
        cw_buf_printf(&job->problems, "`causeway source accept %.*s`",
                      CW_STR_ARG(job->service->config.name));
    else
        cw_buf_printf(&job->problems, "a restart, since state.directory is not set");
    /* Without a text the refusal would not be noticed. */
    return job->problems.code == CW_NOMEM ? CW_NOMEM : CW_PARAMS;
}

static cw_code use_new(cw_remote_job *job, const cw_discovery_result *result, cw_remote **ret)
{
    cw_err err = {0};
    if (!is_as_rich(job, result))
        return refuse_new(job);
    cw_code rc = make_source(job, result->openrpc, result->is_partial, /* is_last= */ false, ret);
    if (rc)
        return rc;
    if (job->widened.n && !job->opts.accepts)
        rc = refuse_new(job);
    else if (job->service->config.openrpc.n == 0)
        rc = keep(job, result, &err);
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
    cw_buf_printf(&job->warnings, "%s%.*s", job->warnings.n && result->warnings.n ? "\n" : "",
                  CW_STR_ARG(result->warnings));
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
        /* If the last description fails too, the first problem is reported. */
        if (use_last(job, &r))
            job->problems.n = n_problems;
        else
            rc = CW_OK;
    }
    finish(job, r, rc);
}

/* ---- the begin of a job ---- */

/* Share the state of the service with the former source, if both have the same address. */
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
        .n_loops = o->n_loops,
        .spawner = o->spawner,
        .answer_size = o->answer_size,
        .announced = o->announced,
        .updated = o->updated,
        .ctx = job->ctx,
    };
    return cw_shared_conn_new(job->service, &opts, &job->shared, err);
}

/* Read the approved definitions. If they are lost, every tool is withheld, and `lost` gets the
 * reason. */
static cw_code read_lock(cw_str file, const cw_remote_approvals *given, cw_lock **ret, cw_buf *lost,
                         cw_err *err)
{
    *ret = NULL;
    if (given) {
        *ret = cw_lock_ref(given->lock);
        if (!*ret)
            cw_buf_printf(lost, "%.*s; every tool is withheld", CW_STR_ARG(given->problem));
        return lost->code ? cw_fail_nomem(err) : CW_OK;
    }
    cw_code rc = file.n ? cw_lock_read(file.p, ret, err) : CW_OK;
    if (rc == CW_NOMEM || !file.n || *ret)
        return rc;
    if (rc)
        cw_buf_printf(lost,
                      "%s; every tool is withheld until the file is repaired, or removed and made "
                      "anew by `causeway source approve`",
                      err->msg);
    else
        cw_buf_printf(lost,
                      "lock '%s' does not exist; every tool is withheld until `causeway source "
                      "approve`",
                      file.p);
    return lost->code ? cw_fail_nomem(err) : CW_OK;
}

cw_code cw_remote_check_lock(cw_str file, const cw_remote_approvals *given, cw_buf *lost,
                             cw_err *err)
{
    cw_lock *lock;
    cw_code rc = read_lock(file, given, &lock, lost, err);
    cw_lock_unref(lock);
    return rc;
}

/* An overlay that cannot be read is no other one: the file is missing for a moment, or is being
 * edited. */
static bool has_other_overlay(const cw_remote *r, const cw_config_remote *config)
{
    unsigned char rules[CW_REMOTE_DIGEST];
    cw_config_overlay_file *overlay = NULL;
    cw_err unused;
    if (!config->overlay.n || !r->has_rules || !digest_overlay(config, rules) ||
        memcmp(rules, r->rules, CW_REMOTE_DIGEST) == 0 ||
        cw_config_overlay_read(config->overlay.p, &overlay, NULL, &unused))
        return false;
    cw_config_overlay_free(overlay);
    return true;
}

/* A revoked approval counts whatever the overlay contains. Lost approvals have their own check
 * (cw_remote_check_lock). */
bool cw_remote_has_other_rules(const cw_source *s, const cw_remote_opts *opts)
{
    const cw_remote *r = cw_remote_of(s);
    unsigned char approved[CW_REMOTE_DIGEST];
    cw_lock *lock = NULL;
    CW_CLEANUP(cw_buf_done) cw_buf lost;
    cw_err unused;
    cw_buf_init(&lost, LINES_MAX);
    if (!r || read_lock(opts->lock, opts->approvals, &lock, &lost, &unused))
        return false;
    digest_approvals(lock, opts->config->name, approved);
    cw_lock_unref(lock);
    if (lost.n > 0)
        return false;
    return memcmp(approved, r->approved, CW_REMOTE_DIGEST) != 0 ||
           has_other_overlay(r, opts->config);
}

static cw_code begin(cw_remote_job *job, cw_err *err)
{
    const cw_config_remote *config = job->opts.config;
    job->has_files = digest_files(&job->opts, job->files);
    cw_code rc = cw_endpoint_new(config, job->opts.owner, &job->service, err);
    job->has_rules = digest_overlay(config, job->rules);
    if (!rc && config->overlay.n)
        rc = cw_config_overlay_read(config->overlay.p, &job->overlay, NULL, err);
    if (!rc && job->overlay) {
        cw_config_overlay_lists more = cw_config_overlay_lists_of(job->overlay);
        job->has_files = digest_views(&more.methods, job->files) && job->has_files;
    }
    if (!rc)
        rc = read_lock(job->opts.lock, job->opts.approvals, &job->lock, &job->lost, err);
    digest_approvals(job->lock, config->name, job->approved);
    job->opts.approvals = NULL; /* borrowed until now */
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
    cw_buf_init(&job->problems, 2 * LINES_MAX); /* all lines of `widened`, and what follows them */
    cw_buf_init(&job->warnings, LINES_MAX);
    cw_buf_init(&job->missing, LINES_MAX);
    cw_buf_init(&job->lost, LINES_MAX);
    cw_buf_init(&job->damaged, LINES_MAX);
    cw_buf_init(&job->widened, LINES_MAX);
    cw_buf_init(&job->required, CW_DESCRIBE_DOCUMENT_MAX);
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
