/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remote_load.c - making a remote source: the description of a service, from a file or from itself.
 *
 *     file      read here and now, used at the end of this turn
 *     service   rpc.discover, within the time of a call
 */
#include <stdlib.h>

#include "base/file.h"
#include "source/remote_int.h"

#define ARENA_MAX (512u * 1024u * 1024u)
#define PROBLEMS_MAX 65536u
#define DISCOVER_ID 1u

struct cw_remote_job {
    cw_loop *loop;
    cw_remote *remote;
    cw_config_remote config; /* copied into the remote's arena */
    cw_remote_loaded_fn fn;
    void *ctx;
    cw_buf problems;
    cw_arena scratch; /* for the description; the source keeps nothing of it */
    cw_str document;  /* from the file */
    cw_later later;
    /* Discovery. */
    cw_client *client;
    cw_client_req req;
    cw_deadline_list limit;
    cw_deadline deadline;
    bool watched;
};

/* ---- copies ---- */

typedef struct copier {
    cw_arena *arena;
    bool failed;
} copier;

static cw_str copy(copier *c, cw_str s)
{
    cw_str out = cw_arena_dup_str(c->arena, s);
    if (!out.p)
        c->failed = true;
    return out;
}

static cw_config_strings copy_strings(copier *c, cw_config_strings list)
{
    cw_str *items = cw_arena_calloc(c->arena, list.n, sizeof *items);
    if (!items) {
        c->failed = true;
        return (cw_config_strings){0};
    }
    for (size_t i = 0; i < list.n; i++)
        items[i] = copy(c, list.items[i]);
    return (cw_config_strings){items, list.n};
}

static cw_config_overlays copy_overlays(copier *c, cw_config_overlays list)
{
    cw_config_overlay *items = cw_arena_calloc(c->arena, list.n, sizeof *items);
    if (!items) {
        c->failed = true;
        return (cw_config_overlays){0};
    }
    for (size_t i = 0; i < list.n; i++) {
        items[i] = list.items[i];
        items[i].method = copy(c, list.items[i].method);
        items[i].title = copy(c, list.items[i].title);
        items[i].description = copy(c, list.items[i].description);
        items[i].annotations = copy(c, list.items[i].annotations);
        items[i].permissions = copy_strings(c, list.items[i].permissions);
    }
    return (cw_config_overlays){items, list.n};
}

static cw_code copy_config(cw_remote *r, const cw_config_remote *from, cw_config_remote *to,
                           cw_err *err)
{
    copier c = {&r->arena, false};
    *to = *from;
    to->name = copy(&c, from->name);
    to->url = copy(&c, from->url);
    to->openrpc = copy(&c, from->openrpc);
    to->prefix = copy(&c, from->prefix);
    to->methods = copy_overlays(&c, from->methods);
    return c.failed ? cw_arena_fail(&r->arena, err) : CW_OK;
}

/* ---- the end of a job ---- */

static void stop(cw_remote_job *job)
{
    cw_loop_forget_later(&job->later);
    cw_deadline_clear(&job->deadline);
    if (job->watched)
        cw_loop_unwatch(job->loop, &job->limit);
    job->watched = false;
    if (job->client)
        cw_client_close(job->client, NULL, NULL);
    job->client = NULL;
}

static void free_job(cw_remote_job *job)
{
    cw_remote_free(job->remote);
    cw_arena_done(&job->scratch);
    cw_buf_done(&job->problems);
    free(job);
}

/* Hand the source over, or say why there is none. The job is gone afterwards. */
static void finish(cw_remote_job *job, cw_code rc)
{
    cw_remote *r = job->remote;
    cw_remote_loaded loaded = {.name = r->base.name, .problem = CW_STR("")};
    stop(job);
    if (rc) {
        loaded.problem =
            job->problems.n ? cw_buf_str(&job->problems) : cw_str_from(cw_code_text(rc));
    } else {
        loaded.source = &r->base;
        job->remote = NULL;
    }
    job->fn(&loaded, job->ctx);
    free_job(job);
}

static void finish_with(cw_remote_job *job, cw_code rc, cw_str problem)
{
    cw_buf_add(&job->problems, problem);
    finish(job, rc);
}

static void use_document(cw_remote_job *job, const cw_json *doc)
{
    finish(job, cw_remote_read(job->remote, &job->config, doc, &job->problems));
}

/* ---- from a file ---- */

static cw_code read_file(cw_remote_job *job, cw_err *err)
{
    cw_buf text;
    cw_buf_init(&text, CW_REMOTE_DOCUMENT_MAX);
    cw_code rc = cw_file_read(job->config.openrpc.p, CW_FILE_PLAIN, &text, err);
    size_t n = 0;
    char *p = rc ? NULL : cw_buf_take(&text, &n);
    cw_buf_done(&text);
    if (!p)
        return rc ? rc : cw_fail_nomem(err);
    job->document = cw_str_make(p, n);
    rc = cw_arena_hold(&job->scratch, p, free);
    return rc ? cw_arena_fail(&job->scratch, err) : CW_OK;
}

static void on_later(cw_later *later)
{
    cw_remote_job *job = CW_CONTAINER(later, cw_remote_job, later);
    const cw_json *doc;
    cw_err err;
    cw_code rc = cw_json_read(job->document, NULL, &job->scratch, &doc, NULL, &err);
    if (rc == CW_OK) {
        use_document(job, doc);
        return;
    }
    cw_wrap(&err, rc, "'%s'", job->config.openrpc.p);
    finish_with(job, rc, cw_str_from(err.msg));
}

/* ---- from the service ---- */

static void on_answer(cw_client_req *req, cw_client_end end, const cw_client_answer *answer,
                      const char *why)
{
    cw_remote_job *job = req->ctx;
    cw_remote_reply reply = {end, answer, why};
    cw_outcome outcome;
    cw_remote_judge(job->config.name, DISCOVER_ID, &reply, &job->scratch, &outcome);
    if (outcome.kind == CW_OUTCOME_RESULT) {
        use_document(job, outcome.result);
        return;
    }
    cw_buf_printf(&job->problems, "rpc.discover: %.*s", CW_STR_ARG(outcome.message));
    if (outcome.detail.n)
        cw_buf_printf(&job->problems, " (%.*s)", CW_STR_ARG(outcome.detail));
    /* One line: it may quote what the service sent. */
    for (size_t i = 0; i < job->problems.n; i++) {
        if ((unsigned char)job->problems.p[i] < ' ')
            job->problems.p[i] = ' ';
    }
    finish(job, outcome.fault == CW_FAULT_NOMEM ? CW_NOMEM : CW_IO);
}

static void on_deadline(cw_deadline *d)
{
    cw_remote_job *job = CW_CONTAINER(d, cw_remote_job, deadline);
    /* Not from here: the list of this deadline ends with the job. */
    cw_client_cancel(job->client, &job->req);
    cw_loop_do_later(job->loop, &job->later);
}

static void on_late(cw_later *later)
{
    cw_remote_job *job = CW_CONTAINER(later, cw_remote_job, later);
    finish_with(job, CW_TIMEOUT, CW_STR("rpc.discover: no answer in time"));
}

static cw_code discover(cw_remote_job *job, cw_err *err)
{
    static const cw_str body =
        CW_STR_INIT("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"rpc.discover\"}");
    cw_code rc =
        cw_remote_client(job->remote, job->loop, CW_REMOTE_DOCUMENT_MAX, &job->client, err);
    if (rc)
        return rc;
    job->later.fn = on_late;
    cw_deadline_list_init(&job->limit, job->config.timeout_ms, on_deadline);
    cw_loop_watch(job->loop, &job->limit);
    job->watched = true;
    cw_loop_set_deadline(job->loop, &job->deadline, &job->limit);
    job->req = (cw_client_req){
        .method = CW_HTTP_POST,
        .body = &body,
        .n_body = 1,
        .may_repeat = true,
        .on_done = on_answer,
        .ctx = job,
    };
    return cw_client_send(job->client, &job->req, err);
}

/* ---- the begin of a job ---- */

static cw_code init_remote(cw_remote_job *job, const cw_remote_opts *opts, cw_err *err)
{
    cw_remote *r = job->remote;
    cw_code rc = copy_config(r, opts->config, &job->config, err);
    if (rc)
        return rc;
    rc = cw_client_url_parse(job->config.url, &r->url, err);
    if (rc)
        return cw_wrap(err, rc, "url '%.*s'", CW_STR_ARG(job->config.url));
    r->parts = cw_arena_calloc(&r->arena, opts->n_loops, sizeof *r->parts);
    if (!r->parts)
        return cw_arena_fail(&r->arena, err);
    r->n_loops = opts->n_loops;
    r->connections = job->config.connections;
    r->answer_size = opts->answer_size;
    r->base.ops = &cw_remote_ops;
    r->base.name = job->config.name;
    r->base.call_ms = job->config.timeout_ms;
    atomic_init(&r->base.refs, 1);
    return CW_OK;
}

static cw_code begin(cw_remote_job *job, const cw_remote_opts *opts, cw_err *err)
{
    job->remote = calloc(1, sizeof *job->remote);
    if (!job->remote)
        return cw_fail_nomem(err);
    cw_arena_init(&job->remote->arena, ARENA_MAX);
    cw_code rc = init_remote(job, opts, err);
    if (rc)
        return rc;
    if (job->config.openrpc.n == 0)
        return discover(job, err);
    job->later.fn = on_later;
    rc = read_file(job, err);
    if (rc == CW_OK)
        cw_loop_do_later(job->loop, &job->later);
    return rc;
}

cw_code cw_remote_load(cw_loop *loop, const cw_remote_opts *opts, cw_remote_loaded_fn fn, void *ctx,
                       cw_remote_job **ret_job, cw_err *err)
{
    cw_remote_job *job = calloc(1, sizeof *job);
    if (!job)
        return cw_fail_nomem(err);
    job->loop = loop;
    job->fn = fn;
    job->ctx = ctx;
    cw_buf_init(&job->problems, PROBLEMS_MAX);
    cw_arena_init(&job->scratch, ARENA_MAX);
    cw_code rc = begin(job, opts, err);
    if (rc) {
        stop(job);
        free_job(job);
        return rc;
    }
    if (ret_job)
        *ret_job = job;
    return CW_OK;
}

void cw_remote_load_cancel(cw_remote_job *job)
{
    if (!job)
        return;
    stop(job);
    free_job(job);
}
