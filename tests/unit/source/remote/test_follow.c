/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs of a service and tasks of an MCP server to their ends, with each allocation failing in turn from
 * the moment when the id is known. */
#include "support/fake_source.h"
#include "support/remote_fixture.h"

/* A response with the result of the request with this id, on a connection that is kept. */
static const char *reply(unsigned id, const char *result)
{
    static char texts[16][640];
    static unsigned next;
    char body[512], *text = texts[next++ % CW_COUNT(texts)];
    snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":%s}", id, result);
    snprintf(text, sizeof texts[0],
             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    return text;
}

typedef struct followed {
    cw_sink sink;
    cw_source_call call;
    cw_arena arena;
    unsigned n_done, n_tasks, n_progress, n_asked;
    cw_outcome_kind kind;
    cw_fault fault;
    char text[256];
    size_t fail_at; /* the allocation that fails, counted from the id of the job; 0: none */
} followed;

static followed *followed_of(cw_sink *sink)
{
    return CW_CONTAINER(sink, followed, sink);
}

static void on_done(cw_sink *sink, const cw_outcome *o)
{
    followed *f = followed_of(sink);
    f->n_done++;
    f->kind = o->kind;
    f->fault = o->fault;
    cw_str text = o->kind == CW_OUTCOME_RESULT ? cw_json_span(o->result) : o->message;
    snprintf(f->text, sizeof f->text, "%.*s", CW_STR_ARG(text));
    cw_arena_done(&f->arena); /* nothing may be touched afterwards */
}

static void on_progress(cw_sink *sink, const cw_progress *progress)
{
    (void)progress;
    followed_of(sink)->n_progress++;
}

static void on_ask(cw_sink *sink, const cw_question *question)
{
    (void)question;
    followed_of(sink)->n_asked++;
}

static cw_code on_become_task(cw_sink *sink)
{
    followed *f = followed_of(sink);
    f->n_tasks++;
    oom_fail_at(f->fail_at);
    return CW_OK;
}

static const cw_sink_ops sink_ops = {
    .done = on_done, .progress = on_progress, .ask = on_ask, .become_task = on_become_task};

static cw_source *open_source(client_fixture *b, const cw_config_remote *config)
{
    remote_load_result l;
    client_fixture_init(b);
    remote_load_wait(b, &l, config);
    if (!l.source)
        fail_msg("%s", l.problem);
    return l.source;
}

static void close_source(client_fixture *b, cw_source *s)
{
    cw_source_retire(s);
    s->ops->sweep(s, &b->loop, /* now= */ false);
    cw_source_unref(s);
    client_fixture_done(b);
}

/* One call to its end. A call that does not end after the failure, because its service is asked again
 * later, is cancelled. */
static void run_once(const cw_config_remote *config, size_t fail_at, followed *f)
{
    client_fixture b;
    cw_source *s = open_source(&b, config);
    cw_fault fault;
    cw_err err = {0};
    unsigned n_after = 0;
    cw_caller *caller = NULL;
    assert_int_equal(fake_caller(true, true, &caller, &err), CW_OK);
    *f = (followed){.sink.ops = &sink_ops, .fail_at = fail_at};
    cw_arena_init(&f->arena, 1 << 20);
    f->call = (cw_source_call){.method = &s->methods[0],
                               .params = CW_STR("{\"text\":\"hi\"}"),
                               .caller = caller,
                               .arena = &f->arena,
                               .sink = &f->sink,
                               .extras = CW_STR(",\"client\":[\"form\"]"),
                               .loop = &b.loop};
    assert_int_equal(s->ops->start(s, &f->call, &fault, &err), CW_OK);
    client_run_until(&b, f->n_done || (oom_was_hit() && n_after++ > 30));
    if (!f->n_done) {
        s->ops->cancel(s, &f->call);
        cw_arena_done(&f->arena);
    }
    if (!f->n_tasks)
        fail_msg("%s", f->text);
    close_source(&b, s);
    cw_caller_unref(caller);
}

/* Fails each allocation once. Returns the number of allocations from the id to the end. */
static size_t fail_each(const cw_config_remote *config, const char *expected)
{
    followed f;
    size_t n = 0;
    run_once(config, 0, &f); /* what a process makes once */
    for (bool is_hit = true; is_hit; n += is_hit) {
        oom_reset();
        size_t live = oom_live();
        run_once(config, n + 1, &f);
        is_hit = oom_was_hit();
        oom_reset();
        assert_int_equal(oom_live(), live);
        if (f.n_done && f.kind == CW_OUTCOME_FAILED)
            assert_true(is_hit && f.fault == CW_FAULT_NOMEM);
    }
    assert_int_equal(f.kind, CW_OUTCOME_RESULT);
    assert_string_equal(f.text, expected);
    return n;
}

TEST(a_job_survives_every_failed_allocation)
{
    const fake_step script[] = {
        DO_READ, DO_SEND(reply(1, "\"7\"")),
        DO_READ, DO_SEND(reply(2, "{\"status\":\"active\",\"is\":1,\"of\":\"2\"}")),
        DO_READ, DO_SEND(reply(3, "{\"status\":\"done\"}")),
        DO_READ, DO_SEND(reply(4, "{\"read\":true}")),
        DO_READ, DO_END};
    static const cw_str echo = CW_STR_INIT("echo"), done = CW_STR_INIT("done");
    static const cw_str progress[] = {CW_STR_INIT("/is"), CW_STR_INIT("/of")};
    static const cw_config_job job = {
        .methods = {&echo, 1},
        .poll = {CW_STR_INIT("job.status"), CW_STR_INIT("[\"$job\"]")},
        .result = {CW_STR_INIT("job.result"), CW_STR_INIT("[\"$job\"]")},
        .cancel = {CW_STR_INIT("job.cancel"), CW_STR_INIT("[\"$job\"]")},
        .status = CW_STR_INIT("/status"),
        .done = {&done, 1},
        .progress = {progress, 2},
        .interval_ms = CW_FOLLOW_MIN_MS,
    };
    const cw_config_overlay overlay = {.method = echo, .tool = true};
    char url[64];
    fake_server server;
    write_openrpc(REMOTE_OPENRPC);
    fake_server_start(&server, SCRIPTS(script), 1);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/rpc", server.port);
    cw_config_remote config = remote_config(url, openrpc_path, &overlay, 1);
    config.jobs = (cw_config_jobs){&job, 1};
    assert_true(fail_each(&config, "{\"read\":true}") > 5);
    fake_server_stop(&server);
}

#define TASK(more)                                                                                 \
    "{\"resultType\":\"" more "\",\"ttlMs\":null,\"createdAt\":\"2026-01-01T00:00:00Z\","          \
    "\"lastUpdatedAt\":\"2026-01-01T00:00:00Z\",\"pollIntervalMs\":1}"

TEST(a_task_of_an_mcp_server_survives_every_failed_allocation)
{
    const fake_step script[] = {
        DO_READ,
        DO_SEND(
            reply(2, "{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}}}")),
        DO_READ,
        DO_SEND(reply(1, TASK("task\",\"taskId\":\"t1\",\"status\":\"working"))),
        DO_READ,
        DO_SEND(
            reply(3, TASK("complete\",\"taskId\":\"t1\",\"statusMessage\":\"half\",\"status\":\""
                          "working"))),
        DO_READ,
        DO_SEND(
            reply(4, TASK("complete\",\"taskId\":\"t1\",\"result\":{\"content\":[]},\"status\":\""
                          "completed"))),
        DO_READ,
        DO_END};
    const cw_config_overlay overlay = {.method = CW_STR("echo"), .tool = true};
    char url[64];
    fake_server server;
    write_openrpc(REMOTE_OPENRPC);
    fake_server_start(&server, SCRIPTS(script), 1);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/mcp", server.port);
    cw_config_remote config = remote_config(url, openrpc_path, &overlay, 1);
    config.dialect = CW_STR("mcp");
    config.connections = 1; /* the script is one of a connection */
    assert_true(fail_each(&config, "[]") > 5);
    fake_server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_survives_every_failed_allocation),
        cmocka_unit_test(a_task_of_an_mcp_server_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, remote_fixture_setup, remote_fixture_teardown);
}
