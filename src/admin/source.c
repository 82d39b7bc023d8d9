/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source.c - runs administration methods: operations that travel between loops. */
#include "admin/source.h"

#include <stdlib.h>

#include "access/fair_key.h"
#include "admin/definitions.h"
#include "base/clock.h"
#include "config/session_limits.h"
#include "source/openrpc/openrpc.h"

#define DESCRIPTION_MAX ((size_t)4 << 20)
#define TOO_MANY_HASHES "too many passwords wait to be hashed; try again"
/* The threads of the pool have other work, too: names of hosts, and the metrics. */
#define FILES_MAX 2u
#define FILES_WAITING 256u

typedef struct admin_source {
    cw_source base;
    cw_arena arena;
    cw_admin_server *server;
    const cw_admin_method **rows; /* of each method, by its index */
    uint32_t recent_login_ms;
} admin_source;

/* One call under way. */
typedef struct operation {
    cw_admin_call c;
    admin_source *source; /* a reference */
    cw_source_call *call; /* guarded by home->calls; NULL: cancelled */
    cw_admin_loop *home;
    cw_message message;
    cw_hash_job hash;
    cw_store *store;
    cw_store_job job;
    uv_work_t work;
    cw_fair_item turn; /* in server->files */
    cw_fair_key by;
    cw_list node;    /* in server->operations */
    cw_list waiting; /* in home->running, while `call` is set */
    cw_config *config;
    cw_snapshot *snapshot;
    cw_arena arena;
    cw_buf text;
    cw_json_writer writer;
    const cw_json *result;
    cw_code rc;
    cw_err err;
    bool is_old_login;
} operation;

static void free_operation(operation *op)
{
    cw_snapshot_unref(op->snapshot);
    cw_config_unref(op->config);
    /* A result may hold a secret. */
    if (op->text.p)
        explicit_bzero(op->text.p, op->text.n);
    cw_buf_done(&op->text);
    cw_arena_done(&op->arena);
    cw_source_unref(&op->source->base);
    free(op);
}

/* With home->calls: nothing waits for the result any more. Returns the call, or NULL. */
static cw_source_call *detach(operation *op)
{
    cw_source_call *call = op->call;
    cw_list_remove(&op->waiting);
    if (call)
        call->op = NULL;
    op->call = NULL;
    return call;
}

/* The lock: between the end of a loop's mailbox and the loop's hooks, the thread that posts the
 * result drops it, while the loop cancels its calls. */
static cw_source_call *forget_call(operation *op)
{
    cw_admin_loop *home = op->home;
    pthread_mutex_lock(&home->calls);
    cw_source_call *call = detach(op);
    pthread_mutex_unlock(&home->calls);
    return call;
}

static void forget_all(cw_admin_loop *home)
{
    pthread_mutex_lock(&home->calls);
    while (!cw_list_is_empty(&home->running))
        detach(CW_CONTAINER(home->running.next, operation, waiting));
    pthread_mutex_unlock(&home->calls);
}

/* ---- the end, on the loop of the call ---- */

/* The result, copied to where the call needs it. */
static cw_code take_result(const operation *op, cw_source_call *call, cw_outcome *outcome)
{
    cw_str text = cw_arena_dup_str(call->arena, cw_json_span(op->result));
    cw_json_opts opts = {.max_bytes = CW_ADMIN_RESULT_MAX, .max_depth = CW_JSON_DEPTH_CEILING};
    return text.p ? cw_json_read(text, &opts, call->arena, &outcome->result, NULL, NULL) : CW_NOMEM;
}

static void report(const operation *op, cw_source_call *call)
{
    cw_outcome outcome = {.kind = CW_OUTCOME_RESULT};
    cw_code rc = op->rc ? op->rc : take_result(op, call, &outcome);
    if (rc) {
        outcome.kind = CW_OUTCOME_ERROR;
        outcome.code = op->is_old_login ? CW_ADMIN_ERROR_OLD_LOGIN : cw_admin_error_code(rc);
        outcome.message = cw_arena_dup_str(
            call->arena, cw_str_from(op->err.msg[0] ? op->err.msg : cw_code_text(rc)));
        if (!outcome.message.p)
            outcome.message = CW_STR("out of memory");
    }
    call->sink->ops->done(call->sink, &outcome);
}

static void on_home(cw_message *message)
{
    operation *op = CW_CONTAINER(message, operation, message);
    cw_source_call *call = forget_call(op);
    if (call)
        report(op, call);
    free_operation(op);
}

/* The loop of the call ends: on its thread, or in go_home. */
static void drop_home(cw_message *message)
{
    operation *op = CW_CONTAINER(message, operation, message);
    forget_call(op);
    free_operation(op);
}

/* From any thread. */
static void go_home(operation *op)
{
    cw_admin_loop *home = op->home;
    op->message.fn = on_home;
    op->message.drop = drop_home;
    pthread_mutex_lock(&home->lock);
    bool is_ended = home->is_ended;
    if (!is_ended)
        cw_loop_post(home->loop, &op->message);
    pthread_mutex_unlock(&home->lock);
    if (is_ended)
        free_operation(op);
}

/* ---- running ---- */

static void end(operation *op, cw_code rc)
{
    cw_admin_identity identity = {.started = op->source->server->started};
    op->rc = cw_admin_close_result(&op->c, &identity, rc, &op->result, &op->err);
    go_home(op);
}

static cw_code run(operation *op)
{
    cw_admin_open_result(&op->c, &op->writer, &op->text);
    return op->c.method->run(&op->c, &op->err);
}

static void fail(operation *op, cw_code rc, const char *message)
{
    op->rc = cw_fail(&op->err, rc, "%s", message);
    go_home(op);
}

static cw_code on_store_run(cw_store_job *job, cw_db *db, cw_err *err)
{
    operation *op = CW_CONTAINER(job, operation, job);
    op->c.db = db;
    cw_code rc = run(op);
    *err = op->err;
    return rc;
}

static void on_store_done(cw_store_job *job, cw_code rc)
{
    operation *op = CW_CONTAINER(job, operation, job);
    op->c.db = NULL;
    if (!op->c.out && rc != CW_GONE && (op->c.method->flags & CW_ADMIN_STORE_OPTIONAL))
        end(op, run(op));
    else if (!op->c.out)
        fail(op, rc, "the database cannot be used at the moment");
    else
        end(op, rc);
}

static void on_work(uv_work_t *work)
{
    operation *op = CW_CONTAINER(work, operation, work);
    op->rc = run(op);
}

static void start_files(cw_admin_server *server);

static void on_work_done(uv_work_t *work, int status)
{
    operation *op = CW_CONTAINER(work, operation, work);
    cw_admin_server *server = op->source->server;
    if (status)
        fail(op, CW_GONE, "the server is stopping");
    else
        end(op, op->rc);
    server->n_files--;
    if (!server->is_closed)
        start_files(server);
}

static bool is_cancelled(operation *op)
{
    pthread_mutex_lock(&op->home->calls);
    bool has_call = op->call;
    pthread_mutex_unlock(&op->home->calls);
    return !has_call;
}

/* Those that wait, in turn. */
static void start_files(cw_admin_server *server)
{
    cw_fair_item *item;
    while (server->n_files < FILES_MAX && (item = cw_fair_first(&server->files))) {
        operation *op = CW_CONTAINER(item, operation, turn);
        cw_fair_take(&server->files, item);
        if (is_cancelled(op))
            fail(op, CW_GONE, "no client waits for the result");
        else if (uv_queue_work(&server->loop->uv, &op->work, on_work, on_work_done))
            fail(op, CW_IO, "no thread is available");
        else
            server->n_files++;
    }
}

static void run_files(operation *op)
{
    static const char too_many[] = "too many operations wait for files; try again";
    cw_admin_server *server = op->source->server;
    cw_fair_item *lost = NULL;
    if (cw_fair_push(&server->files, &op->turn, &op->by, FILES_WAITING, &lost)) {
        fail(op, CW_LIMIT, too_many);
        return;
    }
    if (lost)
        fail(CW_CONTAINER(lost, operation, turn), CW_LIMIT, too_many);
    start_files(server);
}

static void on_finish(cw_admin_call *c, cw_code rc, const cw_err *err)
{
    operation *op = CW_CONTAINER(c, operation, c);
    cw_list_remove(&op->node);
    if (err)
        op->err = *err;
    end(op, rc);
}

static void run_main(operation *op)
{
    op->c.server = op->source->server;
    op->c.finish = on_finish;
    /* Before the call, which may finish within it. */
    cw_list_add(&op->source->server->operations, &op->node);
    cw_code rc = run(op);
    if (rc == CW_AGAIN)
        return;
    cw_list_remove(&op->node);
    end(op, rc);
}

static void ask_store(operation *op)
{
    if (cw_store_ask(op->store, &op->job))
        fail(op, CW_LIMIT, "too many operations wait for the database; try again");
}

/* On a thread of the hash pool. */
static void on_hash(cw_hash_job *job, cw_hash_job_outcome outcome)
{
    operation *op = CW_CONTAINER(job, operation, hash);
    if (outcome == CW_HASH_JOB_ENDING) {
        fail(op, CW_GONE, "the server is stopping");
        return;
    }
    if (outcome == CW_HASH_JOB_REJECTED) {
        fail(op, CW_LIMIT, TOO_MANY_HASHES);
        return;
    }
    op->rc = op->c.method->prepare(&op->c, &op->err);
    if (op->rc)
        go_home(op);
    else
        ask_store(op);
}

static void run_store(operation *op)
{
    cw_accounts *accounts = op->source->server->accounts;
    op->store = accounts ? cw_accounts_store(accounts) : NULL;
    if (!op->store && (op->c.method->flags & CW_ADMIN_NEEDS_STORE))
        fail(op, CW_CONFIG, "no database: set store.path in the configuration");
    else if (!op->store || !cw_admin_uses_store(&op->c))
        end(op, run(op));
    else if (!op->c.method->prepare)
        ask_store(op);
    else if (cw_accounts_hash(accounts, &op->hash))
        fail(op, CW_LIMIT, TOO_MANY_HASHES);
}

static void on_main(cw_message *message)
{
    operation *op = CW_CONTAINER(message, operation, message);
    const cw_admin_server *server = op->source->server;
    if (server->is_closed) {
        fail(op, CW_GONE, "the server is stopping");
        return;
    }
    op->config = cw_config_ref(server->config);
    op->snapshot = server->snapshot ? cw_snapshot_ref(server->snapshot) : NULL;
    op->c.config = op->config;
    op->c.snapshot = op->snapshot;
    op->c.has_no_logins = server->has_no_logins;
    op->c.tasks = server->tasks;
    op->c.seals = server->seals;
    if ((op->c.method->flags & CW_ADMIN_NEEDS_SERVER) && !server->connections) {
        fail(op, CW_NOTFOUND, CW_ADMIN_NO_SERVER);
        return;
    }
    switch (op->c.method->place) {
    case CW_ADMIN_MAIN:
        run_main(op);
        return;
    case CW_ADMIN_STORE:
        run_store(op);
        return;
    case CW_ADMIN_FILES:
        run_files(op);
        return;
    }
}

/* The main loop ends before it has seen the operation. On standard input it is also the loop of the
 * call. */
static void drop_main(cw_message *message)
{
    operation *op = CW_CONTAINER(message, operation, message);
    if (op->home->loop == op->source->server->loop)
        drop_home(message);
    else
        fail(op, CW_GONE, "the server is stopping");
}

/* ---- the begin, on the loop of the call ---- */

/* Operations that still run free themselves. */
static void on_loop_end(cw_loop_hook *hook)
{
    cw_admin_loop *home = CW_CONTAINER(hook, cw_admin_loop, hook);
    forget_all(home);
    pthread_mutex_lock(&home->lock);
    home->is_ended = true;
    pthread_mutex_unlock(&home->lock);
}

static cw_admin_loop *home_of(cw_admin_server *server, cw_loop *loop)
{
    cw_admin_loop *home = &server->loops[loop->index];
    if (!home->loop) {
        home->loop = loop;
        cw_list_init(&home->running);
        home->hook.on_end = on_loop_end;
        cw_loop_add_hook(loop, &home->hook);
    }
    return home;
}

static cw_code read_params(operation *op, cw_str text, cw_err *err)
{
    cw_str copy = cw_arena_dup_str(&op->arena, text);
    cw_json_opts opts = {.max_bytes = CW_ADMIN_RESULT_MAX};
    if (!copy.p)
        return cw_arena_fail(&op->arena, err);
    return cw_json_read(copy, &opts, &op->arena, &op->c.params, NULL, err);
}

static bool is_old_login(const cw_caller *caller, const cw_admin_method *m, uint32_t max_ms)
{
    int64_t since = cw_caller_logged_in(caller);
    return (m->flags & CW_ADMIN_GUARDED) && since && cw_clock_wall_ms() - since > (int64_t)max_ms;
}

static cw_code begin(operation *op, const cw_source_call *call, cw_err *err)
{
    cw_code rc = read_params(op, call->params, err);
    if (rc)
        return rc;
    op->c.actor = cw_arena_dup_str(&op->arena, cw_caller_name(call->caller));
    op->c.caller = cw_arena_dup_str(&op->arena, cw_caller_json(call->caller));
    op->c.logged_in = cw_caller_logged_in(call->caller);
    op->c.session_ends = cw_caller_expires(call->caller);
    op->c.sees_arguments = cw_caller_may(call->caller, CW_STR(CW_PERMISSION_VIEW_ARGUMENTS));
    op->c.sees_access = cw_caller_may(call->caller, CW_STR(CW_PERMISSION_ADMINISTER_ACCESS));
    return op->c.actor.p && op->c.caller.p ? CW_OK : cw_arena_fail(&op->arena, err);
}

static cw_code start(cw_source *s, cw_source_call *call, cw_fault *fault, cw_err *err)
{
    admin_source *source = CW_CONTAINER(s, admin_source, base);
    *fault = CW_FAULT_NOMEM;
    operation *op = calloc(1, sizeof *op);
    if (!op)
        return cw_fail_nomem(err);
    op->source = source;
    cw_source_ref(s);
    cw_arena_init(&op->arena, 4 * CW_ADMIN_RESULT_MAX);
    cw_buf_init(&op->text, CW_ADMIN_RESULT_MAX);
    op->c.method = source->rows[call->method->index];
    op->c.arena = &op->arena;
    op->home = home_of(source->server, call->loop);
    op->call = call;
    op->by = cw_caller_fair_key(call->caller, call->peer);
    /* A method that can do without the database changes no rights there. */
    unsigned kind = op->c.method->flags & (CW_ADMIN_CHANGES | CW_ADMIN_STORE_OPTIONAL);
    op->job = (cw_store_job){
        .run = on_store_run, .done = on_store_done, .is_change = kind == CW_ADMIN_CHANGES};
    op->hash = (cw_hash_job){.run = on_hash};
    op->message = (cw_message){.fn = on_main, .drop = drop_main};
    cw_code rc = begin(op, call, err);
    if (rc) {
        free_operation(op);
        return rc;
    }
    call->op = op;
    pthread_mutex_lock(&op->home->calls);
    cw_list_add(&op->home->running, &op->waiting);
    pthread_mutex_unlock(&op->home->calls);
    if (is_old_login(call->caller, op->c.method, source->recent_login_ms)) {
        op->is_old_login = true;
        fail(op, CW_INVALID, "Log in again: this method needs a recent login");
    } else {
        cw_loop_post(source->server->loop, &op->message);
    }
    return CW_OK;
}

static void cancel(cw_source *s, cw_source_call *call)
{
    const admin_source *source = CW_CONTAINER(s, admin_source, base);
    cw_admin_loop *home = &source->server->loops[call->loop->index];
    pthread_mutex_lock(&home->calls);
    if (call->op)
        detach(call->op);
    pthread_mutex_unlock(&home->calls);
}

/* Operations end by themselves, also those of a retired source. When the loop ends, they must not
 * touch their calls any more. */
static void sweep(cw_source *s, cw_loop *loop, bool now)
{
    cw_admin_loop *home = &CW_CONTAINER(s, admin_source, base)->server->loops[loop->index];
    if (now && home->loop)
        forget_all(home);
}

static void free_source(cw_source *s)
{
    admin_source *source = CW_CONTAINER(s, admin_source, base);
    cw_arena_done(&source->arena);
    free(source);
}

/* ---- making it ---- */

static cw_code read_methods(admin_source *source, const cw_config *config, cw_arena *scratch,
                            cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, DESCRIPTION_MAX);
    const cw_json *doc = NULL;
    cw_method *methods = NULL;
    cw_openrpc_opts opts = {.trust_marks = true, .callable = true, .source = &source->base};
    cw_code rc = cw_admin_describe(&config->admin.tools, source->server->has_console, &text);
    if (rc)
        return cw_fail(err, rc, "%s", cw_code_text(rc));
    rc = cw_json_read(cw_buf_str(&text), NULL, scratch, &doc, NULL, err);
    if (!rc)
        rc = cw_openrpc_read(doc, &opts, &source->arena, &methods, &source->base.n_methods, err);
    if (rc)
        return rc;
    source->base.methods = methods;
    size_t n = source->base.n_methods;
    source->rows = cw_arena_calloc(&source->arena, n, sizeof *source->rows);
    if (!source->rows)
        return cw_arena_fail(&source->arena, err);
    for (size_t i = 0; i < n; i++) {
        const cw_admin_method *row = cw_admin_find(methods[i].id);
        if (!row)
            return cw_fail(err, CW_INTERNAL, "'%s' is in no table", methods[i].id.p);
        source->rows[i] = row;
        methods[i].is_change = row->flags & CW_ADMIN_CHANGES;
        methods[i].is_secret = row->flags & CW_ADMIN_SECRET;
        methods[i].n_audited = row->n_audited;
    }
    return CW_OK;
}

cw_code cw_admin_source_new(cw_admin_server *server, const cw_config *config, cw_source **ret,
                            cw_err *err)
{
    static const cw_source_ops ops = {
        .name = "admin", .start = start, .cancel = cancel, .sweep = sweep, .free = free_source};
    admin_source *source = calloc(1, sizeof *source);
    if (!source)
        return cw_fail_nomem(err);
    source->base =
        (cw_source){.ops = &ops, .name = CW_STR(CW_ADMIN_SOURCE_NAME), .call_ms = CW_ADMIN_CALL_MS};
    atomic_init(&source->base.refs, 1);
    source->server = server;
    source->recent_login_ms = cw_config_sessions(config).confirm_ms;
    cw_arena_init(&source->arena, DESCRIPTION_MAX);
    cw_arena scratch;
    cw_arena_init(&scratch, 4 * DESCRIPTION_MAX);
    cw_code rc = read_methods(source, config, &scratch, err);
    cw_arena_done(&scratch);
    if (rc)
        cw_source_unref(&source->base);
    else
        *ret = &source->base;
    return rc;
}

/* ---- the server's part ---- */

void cw_admin_server_init(cw_admin_server *server, cw_loop *loop)
{
    server->loop = loop;
    server->started = cw_clock_wall_ms();
    cw_list_init(&server->operations);
    cw_list_init(&server->loads);
    cw_fair_init(&server->files);
    for (size_t i = 0; i < CW_COUNT(server->loops); i++) {
        pthread_mutex_init(&server->loops[i].calls, NULL);
        pthread_mutex_init(&server->loops[i].lock, NULL);
    }
}

void cw_admin_server_close(cw_admin_server *server)
{
    server->is_closed = true;
    cw_admin_definitions_close(server);
    cw_admin_stats_stop(server->stats);
    server->stats = NULL;
    if (server->log_timer.data)
        uv_close((uv_handle_t *)&server->log_timer, NULL);
    server->log_timer.data = NULL;
    for (cw_list *node; (node = cw_list_take_first(&server->operations));)
        fail(CW_CONTAINER(node, operation, node), CW_GONE, "the server is stopping");
    for (cw_fair_item *item; (item = cw_fair_first(&server->files));) {
        cw_fair_take(&server->files, item);
        fail(CW_CONTAINER(item, operation, turn), CW_GONE, "the server is stopping");
    }
    cw_fair_done(&server->files);
}
