/* SPDX-License-Identifier: GPL-2.0-or-later */
/* discovery.c - requests to a service, several under way, and the describer that gets the
 * responses.
 */
#include "source/remote/discovery.h"

#include <stdlib.h>

#include "base/file.h"
#include "source/describe/describe_ctx.h"

#define ARENA_MAX (512u * 1024u * 1024u)
#define TEXTS_MAX 65536u
#define SLOW_START_MS 60000u

/* One request of a describer, in the job's arena. */
typedef struct question {
    struct question *next; /* in `first` or `running` of the job */
    cw_discovery *job;
    unsigned tag;
    cw_upstream_req req;
    cw_request_template wire;
    cw_relay_request relay; /* of an MCP server */
    cw_str params, path;
    cw_str body[CW_REQUEST_TEMPLATE_PIECES];
    char room[CW_REQUEST_TEMPLATE_ROOM];
    cw_deadline deadline;
    bool is_running;
} question;

struct cw_discovery {
    cw_describe_ctx d;
    cw_loop *loop;
    cw_endpoint *service;     /* a reference */
    cw_shared_conn *shared;   /* likewise, or NULL */
    cw_upstream *upstream;    /* NULL: a file is read */
    const cw_describer *only; /* NULL: the quick ones, one after the other */
    cw_arena arena;
    cw_discovery_fn fn;
    void *ctx;
    cw_buf warnings, problems;
    const cw_describer *describer;
    size_t n_tried;          /* of cw_describers */
    question *first, **last; /* list: they wait */
    question *running;       /* list: they were sent */
    unsigned n_running, n_sent, n_answers;
    cw_deadline_list limit, whole_limit;
    cw_deadline whole; /* of the job */
    cw_deferred later; /* the next step: the job never ends within a function of the describer */
    bool is_done;
    bool is_unreachable; /* the last request did not reach the service */
    unsigned status;     /* of the last call */
    bool wants_login;    /* a call was rejected: 401, or 403 with a body */
    bool is_refused;     /* the last request was rejected: 401, 403, or by the login before it */
    bool speaks;         /* a call had a response in the dialect */
    cw_code code;
    cw_str openrpc;
};

static cw_discovery *discovery_of(cw_describe_ctx *d)
{
    return CW_CONTAINER(d, cw_discovery, d);
}

/* Add one line. It may quote text of the service. */
static void add_line(const cw_discovery *job, cw_buf *to, const char *what, cw_str text)
{
    size_t from = to->n;
    cw_buf_printf(to, "%s%s%s", to->n ? "\n" : "", what, *what ? ": " : "");
    cw_secrets_write(&job->service->secrets, text, to);
    for (size_t i = from + (from ? 1 : 0); i < to->n; i++) {
        if ((unsigned char)to->p[i] < ' ')
            to->p[i] = ' ';
    }
}

/* ---- the end ---- */

static void on_upstream_closed(void *ctx)
{
    (void)ctx;
}

static void free_job(cw_discovery *job)
{
    cw_loop_cancel_deferred(&job->later);
    for (question *q = job->running; q; q = q->next)
        cw_deadline_clear(&q->deadline);
    if (job->upstream)
        cw_upstream_close(job->upstream, on_upstream_closed, NULL);
    cw_deadline_clear(&job->whole);
    cw_loop_unwatch(job->loop, &job->limit);
    cw_loop_unwatch(job->loop, &job->whole_limit);
    cw_arena_done(&job->arena);
    cw_buf_done(&job->warnings);
    cw_buf_done(&job->problems);
    cw_shared_conn_unref(job->shared);
    cw_endpoint_unref(job->service);
    free(job);
}

unsigned cw_discovery_responses(const cw_discovery *job)
{
    return job->n_answers;
}

void cw_discovery_cancel(cw_discovery *job)
{
    if (job)
        free_job(job);
}

static void finish(cw_discovery *job)
{
    cw_discovery_result result = {
        .code = job->code,
        .openrpc = job->openrpc,
        .describer = job->describer ? job->describer->name : "file",
        .is_partial = job->d.is_partial,
        .warnings = cw_buf_str(&job->warnings),
        .problem = cw_buf_str(&job->problems),
        .status = job->status,
        .wants_login = job->wants_login,
        .is_refused = job->code && job->is_refused,
        .is_unreachable = job->is_unreachable,
        .speaks = job->speaks,
    };
    result.kind = job->d.kind ? job->d.kind : result.describer;
    if (job->code && result.problem.n == 0)
        result.problem = cw_str_from(cw_code_text(job->code));
    job->fn(&result, job->ctx);
    free_job(job);
}

/* ---- requests ---- */

static void drop_questions(cw_discovery *job)
{
    for (question *q = job->running; q; q = q->next) {
        cw_deadline_clear(&q->deadline);
        if (q->is_running)
            cw_upstream_cancel(job->upstream, &q->req);
    }
    job->running = job->first = NULL;
    job->last = &job->first;
    job->n_running = 0;
}

static void on_response(question *q, const cw_outcome *outcome)
{
    cw_discovery *job = q->job;
    cw_deadline_clear(&q->deadline);
    q->is_running = false;
    job->n_running--;
    job->describer->incoming(&job->d, q->tag, outcome);
    cw_loop_defer(job->loop, &job->later);
}

static void fail_question(question *q, cw_fault fault, const char *why)
{
    cw_outcome outcome = {.kind = CW_OUTCOME_FAILED, .fault = fault, .message = cw_str_from(why)};
    on_response(q, &outcome);
}

/* The outcome of a GET of a document. */
static void check_document(question *q, const cw_upstream_reply *reply, cw_outcome *ret)
{
    cw_discovery *job = q->job;
    const cw_client_response *answer = reply->answer;
    *ret = (cw_outcome){.kind = CW_OUTCOME_FAILED, .fault = CW_FAULT_UNAVAILABLE};
    if (reply->end != CW_CLIENT_OK) {
        const char *why = cw_arena_printf(&job->arena, "GET %.*s: %s", CW_STR_ARG(q->path),
                                          reply->why ? reply->why : "");
        ret->message = cw_str_from(why);
        return;
    }
    cw_err err = {0};
    const cw_json *root = NULL;
    cw_str body = cw_arena_dup_str(&job->arena, answer->body);
    const cw_json_opts opts = {.max_bytes = body.n + 1};
    cw_code rc =
        body.p ? cw_json_read(body, &opts, &job->arena, &root, NULL, &err) : cw_fail_nomem(&err);
    const char *text = cw_arena_printf(
        &job->arena, "GET %.*s: HTTP status %u%s%s%s", CW_STR_ARG(q->path), answer->status,
        cw_dialect_auth_hint(&job->service->protocol, answer->status), rc ? ", no JSON: " : "",
        rc ? err.msg : "");
    ret->message = cw_str_from(text);
    ret->code = answer->status;
    if (rc) {
        ret->fault = CW_FAULT_PROTOCOL;
        return;
    }
    ret->kind = answer->status == 200 ? CW_OUTCOME_RESULT : CW_OUTCOME_ERROR;
    ret->result = ret->data = root;
}

/* Note whether credentials were rejected. All calls have the same URL, so each further one would be
 * another failed login; a document may be accessible nevertheless. Services that allow only some
 * methods return 403 without a body. */
static void record_refusal(const question *q, const cw_upstream_reply *reply)
{
    cw_discovery *job = q->job;
    unsigned status = reply->end == CW_CLIENT_OK ? reply->answer->status : 0;
    bool is_login = reply->end == CW_CLIENT_REFUSED;
    bool is_page = status == 401 || (status == 403 && reply->answer->body.n);
    job->is_refused = is_login || status == 401 || status == 403;
    job->wants_login = job->wants_login || is_login || (is_page && q->path.n == 0);
}

/* An error with the status 401 or 403 is about credentials, whatever its message is. */
static void check_call(question *q, const cw_upstream_reply *reply, cw_outcome *ret)
{
    cw_discovery *job = q->job;
    const cw_protocol_opts *protocol = &job->service->protocol;
    cw_dialect_parse_response(protocol, job->service->config.name, q->req.id, reply, &job->arena,
                              ret);
    unsigned status = reply->end == CW_CLIENT_OK ? reply->answer->status : 0;
    const char *hint = cw_dialect_auth_hint(protocol, status);
    const char *text = *hint && ret->kind == CW_OUTCOME_ERROR
                           ? cw_arena_printf(&job->arena, "HTTP status %u%s", status, hint)
                           : NULL;
    if (text)
        ret->detail = cw_str_from(text);
}

static void on_answer(cw_upstream_req *req, const cw_upstream_reply *reply)
{
    question *q = req->ctx;
    cw_outcome outcome;
    q->job->n_answers += reply->end == CW_CLIENT_OK;
    q->job->is_unreachable = reply->end == CW_CLIENT_CONNECT;
    if (reply->end == CW_CLIENT_OK && q->path.n == 0)
        q->job->status = reply->answer->status;
    record_refusal(q, reply);
    if (q->path.n)
        check_document(q, reply, &outcome);
    else
        check_call(q, reply, &outcome);
    q->job->speaks = q->job->speaks || (q->path.n == 0 && outcome.kind != CW_OUTCOME_FAILED);
    on_response(q, &outcome);
}

static void on_limit(cw_deadline *d)
{
    question *q = CW_CONTAINER(d, question, deadline);
    cw_upstream_cancel(q->job->upstream, &q->req);
    fail_question(q, CW_FAULT_TIMEOUT, "no answer in time");
}

static void send_question(question *q)
{
    cw_discovery *job = q->job;
    cw_err err = {0};
    q->req = (cw_upstream_req){
        .may_repeat = true, .reads = true, .path = q->path, .on_done = on_answer, .ctx = q};
    q->req.id = cw_upstream_next_id(job->upstream, q->req.reads);
    if (q->path.n == 0 && cw_dialect_is_mcp(job->service->protocol.dialect)) {
        q->req.relay = &q->relay;
    } else if (q->path.n == 0) {
        cw_request_template_write(&job->service->protocol, &q->wire, q->req.id, q->params, q->room,
                                  q->body);
        q->req.body = q->body;
        q->req.n_body = CW_REQUEST_TEMPLATE_PIECES;
    }
    q->next = job->running;
    job->running = q;
    job->n_running++;
    cw_code rc = cw_upstream_send(job->upstream, &q->req, &err);
    if (rc) {
        job->is_unreachable = rc != CW_NOMEM; /* such as a socket that does not exist */
        fail_question(q, CW_FAULT_UNAVAILABLE, err.msg);
        return;
    }
    q->is_running = true;
    cw_loop_set_deadline(job->loop, &q->deadline, &job->limit);
}

static cw_code add_question(cw_discovery *job, unsigned tag, question **ret, cw_err *err)
{
    if (++job->n_sent > CW_DESCRIBE_QUESTIONS)
        return cw_fail(err, CW_LIMIT, "more than %u questions", CW_DESCRIBE_QUESTIONS);
    question *q = cw_arena_calloc(&job->arena, 1, sizeof *q);
    if (!q)
        return cw_arena_fail(&job->arena, err);
    q->job = job;
    q->tag = tag;
    *ret = q;
    return CW_OK;
}

static void enqueue(question *q)
{
    cw_discovery *job = q->job;
    *job->last = q;
    job->last = &q->next;
    cw_loop_defer(job->loop, &job->later);
}

static cw_code query(cw_describe_ctx *d, cw_str method, cw_str params, unsigned tag, cw_err *err)
{
    cw_discovery *job = discovery_of(d);
    question *q = NULL;
    cw_code rc = add_question(job, tag, &q, err);
    if (!q)
        return rc;
    const cw_protocol_opts *protocol = &job->service->protocol;
    rc = cw_request_template_make(protocol, method, &job->arena, &q->wire, err);
    if (rc)
        return rc;
    q->params = cw_arena_dup_str(&job->arena, params);
    q->relay.method = cw_arena_dup_str(&job->arena, method);
    if (!q->params.p || !q->relay.method.p)
        return cw_arena_fail(&job->arena, err);
    if (q->params.n > 2)
        q->relay.members = cw_str_make(q->params.p + 1, q->params.n - 2); /* without braces */
    enqueue(q);
    return CW_OK;
}

/* The params are {"uri":…}; a modern server gets the address in a header, too. */
static cw_code read_resource(cw_describe_ctx *d, cw_str uri, unsigned tag, cw_err *err)
{
    cw_discovery *job = discovery_of(d);
    CW_CLEANUP(cw_buf_done) cw_buf params;
    cw_buf_init(&params, CW_DESCRIBE_DOCUMENT_MAX);
    cw_buf_add(&params, CW_STR("{\"uri\":"));
    cw_json_escape(&params, uri);
    cw_buf_add_char(&params, '}');
    if (params.code)
        return cw_fail_nomem(err);
    question **end = job->last;
    cw_code rc = query(d, CW_STR("resources/read"), cw_buf_str(&params), tag, err);
    if (!rc)
        (*end)->relay.name = uri;
    return rc;
}

/* The path of a URL with the same origin, or the path itself; empty: neither. */
static cw_str path_of(const cw_discovery *job, cw_str where)
{
    if (where.n && where.p[0] == '/')
        return where;
    cw_client_url url;
    const cw_client_url *own = &job->service->url;
    if (cw_client_url_parse(where, &url, NULL) || own->unix_path.n || url.is_tls != own->is_tls ||
        url.port != own->port || !cw_str_ieq(url.host, own->host))
        return CW_STR("");
    return url.path;
}

static cw_code get(cw_describe_ctx *d, cw_str path, unsigned tag, cw_err *err)
{
    cw_discovery *job = discovery_of(d);
    if (job->service->kind != CW_ENDPOINT_HTTP)
        return cw_fail(err, CW_PARAMS, "documents can be had over HTTP only");
    cw_str own = path_of(job, path);
    if (own.n == 0)
        return cw_fail(err, CW_PARAMS, "'%.*s' is not on the same server", CW_STR_ARG(path));
    question *q = NULL;
    cw_code rc = add_question(job, tag, &q, err);
    if (!q)
        return rc;
    q->path = cw_arena_dup_str(&job->arena, own);
    if (!q->path.p)
        return cw_arena_fail(&job->arena, err);
    enqueue(q);
    return CW_OK;
}

/* ---- describers ---- */

static void warn(cw_describe_ctx *d, const char *text)
{
    cw_discovery *job = discovery_of(d);
    add_line(job, &job->warnings, "", cw_str_from(text));
}

static void server(cw_describe_ctx *d, cw_describe_server *ret)
{
    cw_discovery *job = discovery_of(d);
    cw_relay_server told = {0};
    bool is_modern = false;
    if (job->shared) {
        told = cw_shared_conn_server(job->shared, &job->arena);
        is_modern = cw_shared_conn_era(job->shared) == CW_RELAY_MODERN;
    }
    /* The facts of a modern server may have changed by now. A new request shows them. */
    *ret = (cw_describe_server){.is_known = told.is_known && !is_modern,
                                .has_prompts = told.has_prompts,
                                .has_resources = told.has_resources,
                                .instructions = told.instructions};
}

static void done(cw_describe_ctx *d, cw_str openrpc)
{
    cw_discovery *job = discovery_of(d);
    drop_questions(job);
    job->openrpc = openrpc;
    job->code = CW_OK;
    job->is_done = true;
    cw_loop_defer(job->loop, &job->later);
}

static void fail(cw_describe_ctx *d, cw_code rc, const char *why)
{
    cw_discovery *job = discovery_of(d);
    drop_questions(job);
    add_line(job, &job->problems, job->describer->name, cw_str_from(why));
    job->code = rc ? rc : CW_IO;
    /* `auto` tries the next describer, unless it would fail too: for want of memory, or because the
     * service cannot be reached or rejects the login. Each try would be another failed login. */
    job->is_done = job->only || rc == CW_NOMEM || job->is_unreachable || job->wants_login;
    job->describer = NULL;
    cw_loop_defer(job->loop, &job->later);
}

/* The operator may have changed the configuration meanwhile: the former one must not be in force for
 * as long as the service likes. */
static void on_whole_limit(cw_deadline *d)
{
    cw_discovery *job = CW_CONTAINER(d, cw_discovery, whole);
    if (job->is_done)
        return;
    drop_questions(job);
    add_line(job, &job->problems, "", CW_STR("the description takes too long"));
    job->code = CW_TIMEOUT;
    job->is_done = true;
    cw_loop_defer(job->loop, &job->later);
}

static const cw_describer *next_describer(cw_discovery *job)
{
    if (job->only)
        return job->n_tried++ ? NULL : job->only;
    bool is_http = job->service->kind == CW_ENDPOINT_HTTP;
    const cw_describer *next = cw_describers[job->n_tried];
    while (next && (!next->is_quick || (next->is_http && !is_http)))
        next = cw_describers[++job->n_tried];
    if (next)
        job->n_tried++;
    return next;
}

static void begin_next(cw_discovery *job)
{
    cw_err err = {0};
    job->describer = next_describer(job);
    if (!job->describer) {
        job->is_done = true;
        if (!job->code)
            job->code = CW_IO;
        return;
    }
    job->d.state = NULL;
    job->d.kind = NULL;
    job->d.is_partial = false;
    cw_code rc = job->describer->begin(&job->d, &err);
    if (rc)
        fail(&job->d, rc, err.msg);
}

/* The next step of a job that sends requests to a service. */
static void on_step(cw_deferred *later)
{
    cw_discovery *job = CW_CONTAINER(later, cw_discovery, later);
    if (!job->is_done && !job->describer)
        begin_next(job);
    while (!job->is_done && job->first && job->n_running < CW_DISCOVERY_AT_ONCE) {
        question *q = job->first;
        job->first = q->next;
        if (!job->first)
            job->last = &job->first;
        send_question(q);
    }
    if (job->is_done)
        finish(job);
}

/* ---- from a file ---- */

static cw_code read_description(cw_discovery *job, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_DESCRIBE_DOCUMENT_MAX);
    const cw_json *root;
    cw_code rc = cw_file_read(job->service->config.openrpc.p, CW_FILE_PLAIN, &text, err);
    if (!rc)
        rc = cw_json_read(cw_buf_str(&text), NULL, &job->arena, &root, NULL, err);
    if (rc)
        return rc;
    CW_CLEANUP(cw_buf_done) cw_buf document;
    cw_buf_init(&document, CW_DESCRIBE_DOCUMENT_MAX);
    rc = cw_describe_manifest(root, &document, err);
    if (rc)
        return rc;
    job->openrpc = cw_arena_dup_str(&job->arena, cw_buf_str(&document));
    return job->openrpc.p ? CW_OK : cw_arena_fail(&job->arena, err);
}

static void on_file(cw_deferred *later)
{
    cw_discovery *job = CW_CONTAINER(later, cw_discovery, later);
    cw_err err = {0};
    job->code = read_description(job, &err);
    if (job->code)
        add_line(job, &job->problems, job->service->config.openrpc.p, cw_str_from(err.msg));
    finish(job);
}

/* ---- begin ---- */

/* A program that is an MCP server may be downloaded before it starts. */
static uint32_t limit_of(const cw_endpoint *s)
{
    bool is_slow = s->kind == CW_ENDPOINT_PROGRAM && cw_dialect_is_mcp(s->protocol.dialect);
    return is_slow && s->config.timeout_ms < SLOW_START_MS ? SLOW_START_MS : s->config.timeout_ms;
}

static uint64_t whole_limit_of(const cw_endpoint *s)
{
    uint64_t ms = (uint64_t)limit_of(s) * CW_DISCOVERY_TIMES;
    return ms < CW_DISCOVERY_MIN_MS ? CW_DISCOVERY_MIN_MS : ms;
}

void cw_discovery_read_views(cw_discovery *job)
{
    static const cw_describe_ops with_views = {query, get, server, warn, done, fail, read_resource};
    job->d.ops = &with_views;
}

static cw_code start(cw_loop *loop, cw_endpoint *s, cw_shared_conn *shared,
                     const cw_describer *only, bool is_file, cw_discovery **ret, cw_err *err)
{
    static const cw_describe_ops ops = {query, get, server, warn, done, fail, NULL};
    cw_discovery *job = calloc(1, sizeof *job);
    if (!job)
        return cw_fail_nomem(err);
    job->loop = loop;
    job->service = cw_endpoint_ref(s);
    job->shared = shared ? cw_shared_conn_ref(shared) : NULL;
    job->only = only;
    job->last = &job->first;
    job->later.fn = is_file ? on_file : on_step;
    cw_arena_init(&job->arena, ARENA_MAX);
    cw_buf_init(&job->warnings, TEXTS_MAX);
    cw_buf_init(&job->problems, TEXTS_MAX);
    cw_deadline_list_init(&job->limit, limit_of(s), on_limit);
    cw_loop_watch(loop, &job->limit);
    cw_deadline_list_init(&job->whole_limit, whole_limit_of(s), on_whole_limit);
    cw_loop_watch(loop, &job->whole_limit);
    job->d = (cw_describe_ctx){
        .arena = &job->arena, .service = s->config.name, .url = s->config.url, .ops = &ops};
    cw_code rc =
        is_file ? CW_OK
                : cw_upstream_open(s, shared, loop, CW_DESCRIBE_DOCUMENT_MAX, &job->upstream, err);
    if (rc) {
        free_job(job);
        return rc;
    }
    cw_loop_set_deadline(loop, &job->whole, &job->whole_limit);
    cw_loop_defer(loop, &job->later);
    *ret = job;
    return CW_OK;
}

cw_code cw_discovery_start(cw_loop *loop, cw_endpoint *s, cw_shared_conn *shared,
                           cw_discovery_fn fn, void *ctx, cw_discovery **ret, cw_err *err)
{
    bool is_file = s->config.openrpc.n;
    cw_code rc = start(loop, s, shared, s->words.describer, is_file, ret, err);
    if (rc)
        return rc;
    (*ret)->fn = fn;
    (*ret)->ctx = ctx;
    return CW_OK;
}

/* ---- a probe ---- */

/* If the secret is a param of every call, it is the only param of this one. */
static cw_code begin_probe(cw_describe_ctx *d, cw_err *err)
{
    const cw_protocol_opts *protocol = &discovery_of(d)->service->protocol;
    cw_str first = protocol->secret_first, member = protocol->secret_member;
    const char *params = first.n    ? cw_arena_printf(d->arena, "[%.*s]", CW_STR_ARG(first))
                         : member.n ? cw_arena_printf(d->arena, "{%.*s}", CW_STR_ARG(member))
                                    : "";
    if (!params)
        return cw_arena_fail(d->arena, err);
    return d->ops->query(d, CW_STR("rpc.discover"), cw_str_from(params), 0, err);
}

static void on_probe_response(cw_describe_ctx *d, unsigned tag, const cw_outcome *outcome)
{
    (void)tag;
    /* Any response shows that the credentials are accepted, even an unknown method. */
    bool is_answer = outcome->kind != CW_OUTCOME_FAILED || outcome->fault == CW_FAULT_PROTOCOL;
    if (is_answer)
        d->ops->done(d, outcome->kind == CW_OUTCOME_ERROR ? outcome->message : CW_STR(""));
    else
        cw_describe_refused(d, "credentials", outcome);
}

static const cw_describer probe = {
    .name = "probe", .begin = begin_probe, .incoming = on_probe_response};

cw_code cw_discovery_probe(cw_loop *loop, cw_endpoint *s, cw_shared_conn *shared,
                           cw_discovery_fn fn, void *ctx, cw_discovery **ret, cw_err *err)
{
    cw_code rc = start(loop, s, shared, &probe, /* is_file= */ false, ret, err);
    if (rc)
        return rc;
    (*ret)->fn = fn;
    (*ret)->ctx = ctx;
    return CW_OK;
}
