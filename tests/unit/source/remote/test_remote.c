/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A JSON-RPC service as a source: its description, calls, and all that it may do instead of
 * answering. */
#include "source/protocol/sanitize.h"
#include "support/remote_fixture.h"

#define HEAD(n)                                                                                    \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " #n "\r\n\r\n"
/* ---- scrubbing ---- */

TEST(messages_lose_what_callers_must_not_see)
{
    static const char *const cases[][2] = {
        {"no such article", "no such article"},
        {"GET /articles/5 failed", "GET /articles/5 failed"},
        {"see http://example.org/usr/lib/x.js", "see http://example.org/usr/lib/x.js"},
        {"a/b and c / d", "a/b and c / d"},
        {"cannot open /usr/lib/python3/x.py", "cannot open [path]"},
        {"(/srv/joe/app.log)", "([path])"},
        {"open:/etc/passwd: denied", "open:[path]: denied"},
        {"in /code/my/models.py:34", "in [path]:34"},
        {"in /code/my/models.py.", "in [path]."},
        {"C:\\Users\\joe\\x.cs failed", "[path] failed"},
        {"\\\\server\\share\\x is away", "[path] is away"},
        {"file:///srv/x missing", "[path] missing"},
        {"~/secrets missing", "[path] missing"},
        {"Drupal\\Core\\Url::from() failed", "[class]::from() failed"},
        {"a \\App\\Http\\Kernel2, null given", "a [class], null given"},
        {"login of CORP\\joe refused", "login of CORP\\joe refused"},
        {"no match for a\\1\\2", "no match for a\\1\\2"},
        {"boom\nTraceback (most recent call last)", "boom"},
        {"  boom\r\n", "boom"},
        {"a\tb\x1b[0m", "a b [0m"},
        {"", ""},
        {"\n", ""},
    };
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_str out = cw_sanitize_message(cw_str_from(cases[i][0]), &arena);
        char text[256];
        snprintf(text, sizeof text, "%.*s", CW_STR_ARG(out));
        assert_string_equal(text, cases[i][1]);
    }
    char text[4000];
    memset(text, 'x', sizeof text);
    cw_str out = cw_sanitize_message(cw_str_make(text, sizeof text), &arena);
    assert_int_equal(out.n, CW_REMOTE_MESSAGE_MAX);
    /* Between characters. */
    memcpy(text + CW_REMOTE_MESSAGE_MAX - 1, "\xc3\xa4", 2);
    out = cw_sanitize_message(cw_str_make(text, sizeof text), &arena);
    assert_int_equal(out.n, CW_REMOTE_MESSAGE_MAX - 1);
    cw_arena_done(&arena);
}

static void assert_data(const char *json, const char *expected)
{
    cw_arena arena;
    const cw_json *v;
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_json_read(cw_str_from(json), NULL, &arena, &v, NULL, NULL), CW_OK);
    const cw_json *exposed = cw_sanitize_data(v, &arena);
    cw_str text = exposed ? cw_json_span(exposed) : CW_STR("");
    if (!cw_str_is(text, expected))
        fail_msg("%s: expected %s, got %.*s", json, expected, CW_STR_ARG(text));
    cw_arena_done(&arena);
}

TEST(data_is_scrubbed_and_dropped_when_nothing_is_left)
{
    static const char *const fit[] = {
        "null",
        "{\"field\":\"title\",\"trace_id\":\"abc\",\"list\":[1,{\"a\":\"b\"}]}",
        "\"/articles/5\"",
    };
    for (size_t i = 0; i < CW_COUNT(fit); i++)
        assert_data(fit[i], fit[i]);
    assert_data("{\"trace\":1}", "");
    assert_data("{\"stack_trace\":\"\"}", "");
    assert_data("{\"/srv/joe/x\":1}", "");
    assert_data("{\"Traceback (most recent call last)\":1,\"b\":[true,null,2.50]}",
                "{\"b\":[true,null,2.50]}");
    assert_data("{\"a\":[{\"StackTrace\":[],\"nid\":5}]}", "{\"a\":[{\"nid\":5}]}");
    assert_data("[\"Traceback (most recent call last):\",1]", "[\"\",1]");
    assert_data("\"Traceback (most recent call last):\"", "");
    assert_data("\"Error: x\\n    at foo (bar:1)\"", "\"Error: x\"");
    assert_data("{\"file\":\"/usr/share/x/y.php\",\"line\":3}", "{\"file\":\"[path]\",\"line\":3}");
    assert_data("\"first\\n in /etc/x and\\tDrupal\\\\Core\\\\Url\"",
                "\"first\\n in [path] and\\t[class]\"");
    char large[CW_REMOTE_DATA_MAX + 8];
    memset(large, 'x', sizeof large);
    large[0] = large[CW_REMOTE_DATA_MAX - 1] = '"';
    large[CW_REMOTE_DATA_MAX] = 0;
    assert_data(large, large);
    large[CW_REMOTE_DATA_MAX - 1] = 'x';
    large[CW_REMOTE_DATA_MAX] = '"';
    large[CW_REMOTE_DATA_MAX + 1] = 0;
    assert_data(large, "");
}

/* ---- judging ---- */

static cw_arena judge_arena;

static cw_outcome judge(unsigned status, const char *body)
{
    cw_client_response answer = {
        .status = status, .type = CW_STR("application/json"), .body = cw_str_from(body)};
    cw_upstream_reply reply = {CW_CLIENT_OK, &answer, "", NULL, NULL};
    cw_outcome o;
    cw_arena_reset(&judge_arena);
    cw_protocol_opts protocol = {.dialect = cw_dialect_find(CW_STR("2.0"))};
    cw_dialect_parse_response(&protocol, CW_STR("shop"), 7, &reply, &judge_arena, &o);
    return o;
}

static void assert_fault(cw_outcome o, cw_fault fault, const char *message)
{
    assert_int_equal(o.kind, CW_OUTCOME_FAILED);
    assert_int_equal(o.fault, fault);
    char text[256];
    snprintf(text, sizeof text, "%.*s", CW_STR_ARG(o.message));
    assert_string_equal(text, message);
}

TEST(an_answer_becomes_a_result_or_an_error)
{
    cw_arena_init(&judge_arena, 1 << 20);
    cw_outcome o = judge(200, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":[1]}");
    assert_int_equal(o.kind, CW_OUTCOME_RESULT);
    assert_true(cw_str_is(cw_json_span(o.result), "[1]"));
    o = judge(200, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":null}");
    assert_int_equal(o.kind, CW_OUTCOME_RESULT);
    assert_true(cw_json_is(o.result, CW_JSON_NULL));
    o = judge(500, "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":null,\"result\":1}");
    assert_int_equal(o.kind, CW_OUTCOME_RESULT);
    o = judge(400, "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-5,\"message\":\"no\","
                   "\"data\":{\"a\":1}}}");
    assert_int_equal(o.kind, CW_OUTCOME_ERROR);
    assert_int_equal(o.code, -5);
    assert_true(cw_str_is(o.message, "no"));
    assert_true(cw_str_is(cw_json_span(o.data), "{\"a\":1}"));
    assert_int_equal(o.detail.n, 0);
    o = judge(200,
              "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"\"}}");
    assert_int_equal(o.kind, CW_OUTCOME_ERROR);
    assert_true(cw_str_is(o.message, "The service 'shop' reported an error."));
    assert_null(o.data);
    cw_arena_done(&judge_arena);
}

TEST(a_scrubbed_error_keeps_its_original_for_the_log)
{
    cw_arena_init(&judge_arena, 1 << 20);
    cw_outcome o = judge(200, "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":1,\"message\":"
                              "\"in /usr/lib/x.py\",\"data\":{\"traceback\":\"here\"}}}");
    assert_int_equal(o.kind, CW_OUTCOME_ERROR);
    assert_true(cw_str_is(o.message, "in [path]"));
    assert_null(o.data);
    assert_non_null(memmem(o.detail.p, o.detail.n, "x.py", 4));
    assert_non_null(memmem(o.detail.p, o.detail.n, "here", 4));
    /* The reason in data that was cut is in the message too. */
    o = judge(200, "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":0,\"message\":\"Failed\","
                   "\"data\":{\"message\":\"no /etc/x\\nline 2\",\"traceback\":\"here\"}}}");
    assert_true(cw_str_is(o.message, "Failed: no [path]"));
    assert_true(cw_str_is(cw_json_span(o.data), "{\"message\":\"no [path]\\nline 2\"}"));
    cw_arena_done(&judge_arena);
}

TEST(all_else_is_a_fault)
{
    static const char *const bad[] = {
        "",
        "hello",
        "{",
        "[]",
        "7",
        "{\"id\":7,\"result\":1}",
        "{\"jsonrpc\":\"1.0\",\"id\":7,\"result\":1}",
        "{\"jsonrpc\":2.0,\"id\":7,\"result\":1}",
        "{\"jsonrpc\":\"2.0\",\"result\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1,\"error\":{\"code\":1,\"message\":\"\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":\"no\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"message\":\"no\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":\"x\",\"message\":\"no\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":8,\"error\":{\"code\":1,\"message\":\"no\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"id\":7,\"result\":1}",
    };
    cw_arena_init(&judge_arena, 1 << 20);
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        cw_outcome o = judge(200, bad[i]);
        assert_fault(o, CW_FAULT_PROTOCOL,
                     "The service 'shop' answered with something that is no JSON-RPC.");
        assert_true(o.detail.n > 0);
    }
    assert_fault(judge(500, "<h1>Oh</h1>"), CW_FAULT_PROTOCOL,
                 "The service 'shop' answered with HTTP status 500.");
    assert_fault(judge(503, ""), CW_FAULT_UNAVAILABLE,
                 "The service 'shop' answered with HTTP status 503.");
    assert_fault(judge(301, ""), CW_FAULT_PROTOCOL,
                 "The service 'shop' answered with HTTP status 301.");
    cw_arena_done(&judge_arena);
}

/* ---- the breaker ---- */

static const cw_breaker_rule rule = {.failures = CW_REMOTE_FAILURES,
                                     .pause_min_ms = CW_REMOTE_PAUSE_MIN_MS,
                                     .pause_max_ms = CW_REMOTE_PAUSE_MAX_MS};

static bool allowed(cw_breaker *b, uint64_t now, bool *trial)
{
    return cw_breaker_allow(b, now, trial);
}

TEST(the_breaker_opens_tries_and_closes)
{
    cw_breaker b = {0};
    bool trial = true;
    uint64_t now = 1000000;
    for (unsigned i = 0; i < CW_REMOTE_FAILURES - 1; i++)
        cw_breaker_failure(&b, &rule, false, now);
    cw_breaker_success(&b, false); /* in a row, or not at all */
    for (unsigned i = 0; i < CW_REMOTE_FAILURES; i++) {
        assert_true(allowed(&b, now, &trial));
        assert_false(trial);
        cw_breaker_failure(&b, &rule, false, now);
    }
    assert_false(allowed(&b, now, &trial));
    cw_breaker_failure(&b, &rule, false, now + 500); /* one that was under way moves nothing */
    assert_false(allowed(&b, now + CW_REMOTE_PAUSE_MIN_MS - 1, &trial));
    for (uint64_t pause = CW_REMOTE_PAUSE_MIN_MS; pause < 4 * CW_REMOTE_PAUSE_MAX_MS; pause *= 2) {
        uint64_t real = pause < CW_REMOTE_PAUSE_MAX_MS ? pause : CW_REMOTE_PAUSE_MAX_MS;
        bool second;
        assert_false(allowed(&b, now + real - 1, &trial));
        now += real;
        assert_true(allowed(&b, now, &trial));
        assert_true(trial);
        assert_false(allowed(&b, now, &second)); /* only one */
        cw_breaker_failure(&b, &rule, trial, now);
    }
    now += CW_REMOTE_PAUSE_MAX_MS;
    assert_true(allowed(&b, now, &trial));
    cw_breaker_neutral(&b, trial); /* given up: another may try */
    assert_true(allowed(&b, now, &trial));
    cw_breaker_success(&b, trial);
    for (unsigned i = 0; i < 100; i++)
        assert_true(allowed(&b, now, &trial) && !trial);
}

/* ---- loading ---- */

static const cw_str edit = CW_STR_INIT("edit things");

static cw_config_overlay marked_echo(void)
{
    return (cw_config_overlay){
        .method = CW_STR("echo"),
        .tool = true,
        .title = CW_STR("Echo"),
        .description = CW_STR("Repeats"),
        .annotations = CW_STR("{\"readOnlyHint\":true,\"auth\":{\"scopes\":[\"b\",\"a\"]}}"),
        .permissions = {&edit, 1},
    };
}

TEST(methods_come_from_the_file_and_the_overlay)
{
    write_openrpc(REMOTE_OPENRPC);
    cw_config_overlay items[] = {
        marked_echo(),
        {.method = CW_STR("add"), .rpc = true},
        {.method = CW_STR("wipe")}, /* neither: as if it were not named */
    };
    cw_config_remote config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, items, 3);
    client_fixture b;
    remote_load_result l;
    client_fixture_init(&b);
    remote_load_wait(&b, &l, &config);
    assert_string_equal(l.problem, "");
    assert_non_null(l.source);
    assert_true(cw_str_is(l.source->name, "shop"));
    assert_int_equal(l.source->call_ms, 2000);
    assert_int_equal(l.source->n_methods, 2);
    const cw_method *echo = &l.source->methods[0], *add = &l.source->methods[1];
    assert_true(cw_str_is(echo->id, "shop.echo"));
    assert_true(cw_str_is(echo->usage, "Repeats"));
    assert_true(cw_str_is(echo->mark->title, "Echo"));
    assert_true(echo->mark->is_read_only);
    assert_int_equal(echo->needs.n_permissions, 1);
    assert_true(cw_str_is(echo->needs.permissions[0], "edit things"));
    assert_int_equal(echo->needs.level, CW_AUTH_REQUIRED);
    assert_int_equal(echo->needs.n_scopes, 2);
    assert_int_equal(echo->n_params, 1);
    assert_ptr_equal(echo->source, l.source);
    assert_null(add->mark);
    assert_true(add->is_callable && !add->by_position); /* the plan sees to positions */
    assert_true(cw_str_is(add->id, "shop.add"));
    assert_int_equal(add->index, 1);
    cw_source_unref(l.source);
    client_fixture_done(&b);
}

TEST(nothing_is_offered_by_default)
{
    write_openrpc(REMOTE_OPENRPC);
    cw_config_remote config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, NULL, 0);
    client_fixture b;
    remote_load_result l;
    client_fixture_init(&b);
    remote_load_wait(&b, &l, &config);
    assert_non_null(l.source);
    assert_int_equal(l.source->n_methods, 0);
    cw_source_unref(l.source);
    client_fixture_done(&b);
}

TEST(an_overlay_may_hide_a_tool_that_challenges)
{
    write_openrpc(REMOTE_OPENRPC);
    cw_config_overlay items[] = {
        marked_echo(),
        {.method = CW_STR("add"), .rpc = true, .hidden_unless_met = true},
        {.method = CW_STR("wipe"), .tool = true, .hidden_unless_met = true},
    };
    items[0].hidden_unless_met = true;
    cw_config_remote config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, items, 1);
    client_fixture b;
    remote_load_result l;
    client_fixture_init(&b);
    remote_load_wait(&b, &l, &config);
    assert_non_null(l.source);
    assert_true(l.source->methods[0].needs.hidden_unless_met);
    cw_source_unref(l.source);
    config.methods.n = 3;
    remote_load_wait(&b, &l, &config);
    assert_null(l.source);
    assert_non_null(strstr(l.problem, "method 'add': visibility: only a tool can be hidden"));
    assert_non_null(strstr(l.problem, "method 'wipe': overlay: visibility: \"hide\" needs scopes"));
    client_fixture_done(&b);
}

TEST(a_bad_file_or_url_is_said)
{
    client_fixture b;
    remote_load_result l;
    cw_err err;
    client_fixture_init(&b);
    cw_config_remote config = remote_config("http://127.0.0.1:1/", "/nowhere/at.all", NULL, 0);
    remote_load_wait(&b, &l, &config);
    assert_null(l.source);
    assert_non_null(strstr(l.problem, "/nowhere/at.all"));
    config = remote_config("gopher://example.org/", openrpc_path, NULL, 0);
    assert_int_equal(remote_load_start(&b, &l, &config, NULL, &err), CW_PARAMS);
    config = remote_config("http://127.0.0.1:1/", temp_dir, NULL, 0);
    remote_load_wait(&b, &l, &config);
    assert_null(l.source);
    config = remote_config("http://127.0.0.1:1/", openrpc_path, NULL, 0);
    write_openrpc("{\"methods\":");
    remote_load_wait(&b, &l, &config);
    assert_null(l.source);
    assert_non_null(strstr(l.problem, "line 1"));
    write_openrpc("{\"methods\":7}");
    remote_load_wait(&b, &l, &config);
    assert_null(l.source);
    assert_true(*l.problem);
    write_openrpc("");
    assert_int_equal(truncate(openrpc_path, CW_DESCRIBE_DOCUMENT_MAX + 1), 0);
    remote_load_wait(&b, &l, &config);
    assert_null(l.source);
    assert_non_null(strstr(l.problem, "larger"));
    client_fixture_done(&b);
}

TEST(a_service_may_describe_itself)
{
    static const fake_step good[] = {
        DO_READ,
        DO_SEND("HTTP/1.0 200 OK\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" REMOTE_OPENRPC
                "}"),
        DO_CLOSE, DO_END};
    static const fake_step bad[] = {
        DO_READ,
        DO_SEND("HTTP/1.0 200 OK\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,"
                "\"message\":\"Method not found\"}}"),
        DO_CLOSE, DO_END};
    static const fake_step bad2[] = {
        DO_READ,
        DO_SEND("HTTP/1.0 200 OK\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32601,"
                "\"message\":\"Method not found\"}}"),
        DO_CLOSE, DO_END};
    static const fake_step bad3[] = {
        DO_READ,
        DO_SEND("HTTP/1.0 200 OK\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32601,"
                "\"message\":\"Method not found\"}}"),
        DO_CLOSE, DO_END};
    static const fake_step hang[] = {DO_READ, DO_END};
    fake_server s;
    client_fixture b;
    remote_load_result l;
    char url[64];
    cw_config_overlay echo = marked_echo();
    fake_server_start(&s, SCRIPTS(good, bad, bad2, bad3, hang), 5);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/rpc", s.port);
    cw_config_remote config = remote_config(url, "", &echo, 1);
    config.describe = CW_STR("openrpc");
    client_fixture_init(&b);
    remote_load_wait(&b, &l, &config);
    assert_string_equal(l.problem, "");
    assert_int_equal(l.source->n_methods, 1);
    assert_non_null(strstr(fake_server_last_request(&s), "\"method\":\"rpc.discover\""));
    cw_source_unref(l.source);
    remote_load_wait(&b, &l, &config);
    assert_null(l.source);
    assert_string_equal(l.problem, "openrpc: rpc.discover: Method not found");
    config.timeout_ms = 50;
    remote_load_wait(&b, &l, &config);
    assert_null(l.source);
    assert_non_null(strstr(l.problem, "openrpc: rpc.discover: "));
    assert_non_null(strstr(l.problem, "in time"));
    cw_remote_job *job;
    assert_int_equal(remote_load_start(&b, &l, &config, &job, NULL), CW_OK);
    cw_remote_load_cancel(job, false);
    client_run_for(&b, 80);
    assert_int_equal(l.calls, 0);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

/* ---- calls ---- */

typedef struct incoming {
    cw_sink sink;
    cw_source_call call;
    cw_arena arena;
    unsigned calls;
    cw_outcome_kind kind;
    cw_fault fault;
    int64_t code;
    char text[256]; /* the result or message */
} incoming;

static void on_outcome(cw_sink *sink, const cw_outcome *o)
{
    incoming *h = CW_CONTAINER(sink, incoming, sink);
    h->calls++;
    h->kind = o->kind;
    h->fault = o->fault;
    h->code = o->code;
    cw_str text = o->kind == CW_OUTCOME_RESULT ? cw_json_span(o->result) : o->message;
    snprintf(h->text, sizeof h->text, "%.*s", CW_STR_ARG(text));
    cw_arena_done(&h->arena); /* nothing may be touched afterwards */
}

static const cw_sink_ops sink_ops = {.done = on_outcome};

static cw_code begin_call(client_fixture *b, cw_source *s, incoming *h, cw_fault *fault)
{
    memset(h, 0, sizeof *h);
    h->sink.ops = &sink_ops;
    cw_arena_init(&h->arena, 1 << 20);
    h->call = (cw_source_call){
        .method = &s->methods[0],
        .params = CW_STR("{\"text\":\"hi\"}"),
        .arena = &h->arena,
        .sink = &h->sink,
        .loop = &b->loop,
    };
    cw_err err = {0};
    cw_code rc = s->ops->start(s, &h->call, fault, &err);
    if (rc) {
        snprintf(h->text, sizeof h->text, "%s", err.msg);
        cw_arena_done(&h->arena);
    }
    return rc;
}

static void call(client_fixture *b, cw_source *s, incoming *h)
{
    cw_fault fault = CW_FAULT_NONE;
    if (begin_call(b, s, h, &fault)) {
        h->calls = 1;
        h->kind = CW_OUTCOME_FAILED;
        h->fault = fault;
        return;
    }
    assert_int_equal(h->calls, 0);
    client_run_until(b, h->calls);
    assert_int_equal(h->calls, 1);
}

/* A source for the service at `port`, and the loop that it is used on. first_byte_ms 0: it may take
 * its time. */
static cw_source *open_impatient(client_fixture *b, uint16_t port, uint32_t first_byte_ms)
{
    static char url[64]; /* outlives the source */
    remote_load_result l;
    cw_config_overlay echo = marked_echo();
    echo.annotations = CW_STR("");
    write_openrpc(REMOTE_OPENRPC);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/rpc", port);
    cw_config_remote config = remote_config(url, openrpc_path, &echo, 1);
    config.first_byte_ms = first_byte_ms;
    client_fixture_init(b);
    remote_load_wait(b, &l, &config);
    assert_non_null(l.source);
    return l.source;
}

static cw_source *open_source(client_fixture *b, uint16_t port)
{
    return open_impatient(b, port, 0);
}

static void close_source(client_fixture *b, cw_source *s)
{
    cw_source_retire(s);
    s->ops->sweep(s, &b->loop, /* now= */ false);
    cw_source_unref(s);
    client_fixture_done(b);
}

#define RESULT(id) HEAD(38) "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":\"hi\"}"

TEST(a_call_goes_out_and_its_answer_comes_back)
{
    static const fake_step script[] = {DO_READ, DO_SEND(RESULT(1)), DO_READ, DO_SEND(RESULT(2)),
                                       DO_READ, DO_SEND(RESULT(1)), DO_END};
    fake_server s;
    client_fixture b;
    incoming h;
    fake_server_start(&s, SCRIPTS(script), 1);
    cw_source *source = open_source(&b, s.port);
    call(&b, source, &h);
    assert_int_equal(h.kind, CW_OUTCOME_RESULT);
    assert_string_equal(h.text, "\"hi\"");
    const char *body = strstr(fake_server_last_request(&s), "\r\n\r\n");
    assert_non_null(strstr(fake_server_last_request(&s), "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(fake_server_last_request(&s), "\r\nAccept: application/json\r\n"));
    assert_string_equal(body + 4, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\","
                                  "\"params\":{\"text\":\"hi\"}}");
    call(&b, source, &h);
    assert_int_equal(h.kind, CW_OUTCOME_RESULT);
    call(&b, source, &h); /* with an old id */
    assert_int_equal(h.kind, CW_OUTCOME_FAILED);
    assert_int_equal(h.fault, CW_FAULT_PROTOCOL);
    assert_int_equal(s.accepted, 1);
    close_source(&b, source);
    fake_server_stop(&s);
}

static incoming call_script(const fake_step *script)
{
    fake_server s;
    client_fixture b;
    incoming h;
    fake_server_start(&s, SCRIPTS(script), 1);
    cw_source *source = open_source(&b, s.port);
    call(&b, source, &h);
    close_source(&b, source);
    fake_server_stop(&s);
    return h;
}

TEST(what_a_service_does_instead_has_its_fault)
{
    static const fake_step reset[] = {DO_READ, DO_RESET, DO_END};
    static const fake_step garbage[] = {DO_READ, DO_SEND("hello"), DO_CLOSE, DO_END};
    static const fake_step large[] = {DO_READ, DO_SEND("HTTP/1.0 200 OK\r\n\r\n"), DO_FILL(1 << 28),
                                      DO_END};
    static const fake_step broken[] = {
        DO_READ, DO_SEND("HTTP/1.1 500 Oh\r\nContent-Length: 4\r\n\r\n<h1>"), DO_END};
    incoming h = call_script(reset);
    assert_int_equal(h.fault, CW_FAULT_DIED);
    assert_string_equal(h.text, "The service 'shop' closed the connection without an answer.");
    h = call_script(garbage);
    assert_int_equal(h.fault, CW_FAULT_PROTOCOL);
    assert_string_equal(h.text, "The service 'shop' sent something that cannot be read.");
    h = call_script(large);
    assert_int_equal(h.fault, CW_FAULT_PROTOCOL);
    assert_string_equal(h.text, "The answer of the service 'shop' is too large.");
    h = call_script(broken);
    assert_int_equal(h.fault, CW_FAULT_PROTOCOL);
    assert_string_equal(h.text, "The service 'shop' answered with HTTP status 500.");
}

TEST(a_service_that_is_not_there_is_left_alone)
{
    client_fixture b;
    incoming h;
    cw_source *source = open_source(&b, unused_port());
    for (unsigned i = 0; i < CW_REMOTE_FAILURES; i++) {
        call(&b, source, &h);
        assert_int_equal(h.fault, CW_FAULT_UNAVAILABLE);
        assert_string_equal(h.text, "The service 'shop' cannot be reached.");
    }
    call(&b, source, &h);
    assert_int_equal(h.fault, CW_FAULT_UNAVAILABLE);
    assert_string_equal(h.text, "The service 'shop' is not available at the moment.");
    close_source(&b, source);
}

TEST(calls_that_hang_open_the_breaker_and_those_given_up_early_do_not)
{
    static const fake_step hang[] = {DO_READ, DO_END};
    fake_server s;
    client_fixture b;
    incoming h;
    cw_fault fault;
    fake_server_start(&s, SCRIPTS(hang), 1);
    cw_source *source = open_source(&b, s.port);
    for (unsigned i = 0; i < 2 * CW_REMOTE_FAILURES; i++) {
        assert_int_equal(begin_call(&b, source, &h, &fault), CW_OK);
        client_run_for(&b, 2);
        source->ops->cancel(source, &h.call);
        cw_arena_done(&h.arena);
    }
    source->call_ms = 20;
    for (unsigned i = 0; i < CW_REMOTE_FAILURES; i++) {
        assert_int_equal(begin_call(&b, source, &h, &fault), CW_OK);
        client_run_for(&b, 25);
        source->ops->cancel(source, &h.call);
        assert_int_equal(h.calls, 0);
        cw_arena_done(&h.arena);
    }
    assert_int_equal(begin_call(&b, source, &h, &fault), CW_IO);
    assert_int_equal(fault, CW_FAULT_UNAVAILABLE);
    client_run_until(&b, atomic_load(&s.gone) == 3 * CW_REMOTE_FAILURES);
    close_source(&b, source);
    fake_server_stop(&s);
}

TEST(a_service_that_is_mute_is_left_alone)
{
    static const fake_step hang[] = {DO_READ, DO_END};
    fake_server s;
    client_fixture b;
    incoming h;
    cw_fault fault;
    fake_server_start(&s, SCRIPTS(hang), 1);
    cw_source *source = open_impatient(&b, s.port, 10);
    for (unsigned i = 0; i < CW_REMOTE_FAILURES; i++) {
        call(&b, source, &h);
        assert_int_equal(h.fault, CW_FAULT_TIMEOUT);
    }
    assert_int_equal(begin_call(&b, source, &h, &fault), CW_IO);
    assert_int_equal(fault, CW_FAULT_UNAVAILABLE);
    assert_int_equal(s.accepted, CW_REMOTE_FAILURES);
    close_source(&b, source);
    fake_server_stop(&s);
}

TEST(a_retired_source_closes_with_its_last_call)
{
    static const fake_step held[] = {DO_READ, DO_HOLD, DO_SEND(RESULT(1)), DO_END};
    fake_server s;
    client_fixture b;
    incoming h;
    cw_fault fault;
    fake_server_start(&s, SCRIPTS(held), 1);
    cw_source *source = open_source(&b, s.port);
    assert_int_equal(begin_call(&b, source, &h, &fault), CW_OK);
    client_run_until(&b, atomic_load(&s.held) == 1);
    cw_source_retire(source);
    source->ops->sweep(source, &b.loop, /* now= */ false);
    cw_source_unref(source); /* the part has the last reference */
    fake_server_release(&s);
    client_run_until(&b, h.calls);
    assert_int_equal(h.kind, CW_OUTCOME_RESULT);
    client_run_until(&b, atomic_load(&s.gone) == 1);
    client_fixture_done(&b);
    fake_server_stop(&s);
}

TEST(a_loop_that_ends_drops_its_calls)
{
    static const fake_step hang[] = {DO_READ, DO_END};
    for (unsigned i = 0; i < 2; i++) {
        fake_server s;
        client_fixture b;
        incoming h;
        cw_fault fault;
        fake_server_start(&s, SCRIPTS(hang), 1);
        cw_source *source = open_source(&b, s.port);
        assert_int_equal(begin_call(&b, source, &h, &fault), CW_OK);
        client_run_until(&b, atomic_load(&s.requests) == 1);
        if (i) {
            source->ops->sweep(source, &b.loop, /* now= */ true);
            source->ops->cancel(source, &h.call); /* too late, and harmless */
        }
        client_fixture_done(&b);
        assert_int_equal(h.calls, 0);
        cw_arena_done(&h.arena);
        cw_source_unref(source);
        fake_server_stop(&s);
    }
}

/* ---- without memory ---- */

static uint16_t oom_port;

static void load_and_call(void *ctx)
{
    const char *openrpc = ctx; /* empty: the service is asked, and not called */
    char url[64];
    client_fixture b;
    remote_load_result l = {0};
    cw_err err;
    cw_config_overlay echo = marked_echo();
    memset(&b, 0, sizeof b);
    if (cw_loop_init(&b.loop, 64, NULL))
        return;
    client_fixture_start_tick(&b);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/rpc", oom_port);
    cw_config_remote config = remote_config(url, openrpc, &echo, 1);
    cw_code rc = remote_load_start(&b, &l, &config, NULL, &err);
    if (rc) {
        assert_int_equal(rc, CW_NOMEM);
    } else {
        client_run_until(&b, l.calls);
        if (!l.source)
            assert_true(oom_was_hit() && *l.problem);
    }
    for (unsigned i = 0; l.source && *openrpc && i < 2; i++) {
        incoming h;
        call(&b, l.source, &h);
        if (h.kind == CW_OUTCOME_FAILED) {
            assert_int_equal(h.fault, CW_FAULT_NOMEM);
            assert_true(oom_was_hit());
        }
    }
    if (l.source) {
        cw_source_retire(l.source);
        l.source->ops->sweep(l.source, &b.loop, /* now= */ false);
    }
    cw_source_unref(l.source);
    client_fixture_done(&b);
}

TEST(every_failed_allocation_is_survived)
{
    static const fake_step error[] = {
        DO_READ,
        DO_SEND("HTTP/1.0 200 OK\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,"
                "\"message\":\"in /usr/lib/x.py\"}}"),
        DO_CLOSE, DO_END};
    static const fake_step document[] = {
        DO_READ,
        DO_SEND("HTTP/1.0 200 OK\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" REMOTE_OPENRPC
                "}"),
        DO_CLOSE, DO_END};
    static char none[] = "";
    fake_server s;
    write_openrpc(REMOTE_OPENRPC);
    fake_server_start(&s, SCRIPTS(error), 1);
    oom_port = s.port;
    assert_true(oom_each(load_and_call, openrpc_path) > 10);
    fake_server_stop(&s);
    fake_server_start(&s, SCRIPTS(document), 1);
    oom_port = s.port;
    assert_true(oom_each(load_and_call, none) > 10);
    fake_server_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_lose_what_callers_must_not_see),
        cmocka_unit_test(data_is_scrubbed_and_dropped_when_nothing_is_left),
        cmocka_unit_test(an_answer_becomes_a_result_or_an_error),
        cmocka_unit_test(a_scrubbed_error_keeps_its_original_for_the_log),
        cmocka_unit_test(all_else_is_a_fault),
        cmocka_unit_test(the_breaker_opens_tries_and_closes),
        cmocka_unit_test(methods_come_from_the_file_and_the_overlay),
        cmocka_unit_test(nothing_is_offered_by_default),
        cmocka_unit_test(an_overlay_may_hide_a_tool_that_challenges),
        cmocka_unit_test(a_bad_file_or_url_is_said),
        cmocka_unit_test(a_service_may_describe_itself),
        cmocka_unit_test(a_call_goes_out_and_its_answer_comes_back),
        cmocka_unit_test(what_a_service_does_instead_has_its_fault),
        cmocka_unit_test(a_service_that_is_not_there_is_left_alone),
        cmocka_unit_test(calls_that_hang_open_the_breaker_and_those_given_up_early_do_not),
        cmocka_unit_test(a_service_that_is_mute_is_left_alone),
        cmocka_unit_test(a_retired_source_closes_with_its_last_call),
        cmocka_unit_test(a_loop_that_ends_drops_its_calls),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, remote_fixture_setup, remote_fixture_teardown);
}
