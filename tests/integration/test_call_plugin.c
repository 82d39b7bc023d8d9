/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The whole path of a call to a plugin with a real worker: what its schemas let through. */
#include "support/plugin_fixture.h"

#include "call/call.h"

/* Who waits for a call. */
typedef struct waiter {
    cw_sink sink;
    int n_done;
    cw_outcome_kind kind;
    cw_fault fault;
    char text[512]; /* the result, or the message */
} waiter;

typedef struct world {
    plugin_fixture r;
    cw_runtime *runtime;
    cw_runtime_loop *rl;
    cw_caller *caller;
} world;

static void on_done(cw_sink *sink, const cw_outcome *outcome)
{
    waiter *wt = CW_CONTAINER(sink, waiter, sink);
    cw_str text =
        outcome->kind == CW_OUTCOME_RESULT ? cw_json_span(outcome->result) : outcome->message;
    snprintf(wt->text, sizeof wt->text, "%.*s", CW_STR_ARG(text));
    wt->kind = outcome->kind;
    wt->fault = outcome->fault;
    wt->n_done++;
}

static void ref(cw_source *s)
{
    cw_source_ref(s);
}

static void publish(world *w)
{
    static const cw_offer_ops ops = {ref, cw_source_unref};
    cw_source *s = w->r.source;
    cw_offer offer = {s->name, s->methods, s->n_methods, s};
    cw_snapshot *snapshot = NULL;
    size_t n;
    assert_int_equal(cw_snapshot_build(&offer, 1, &ops, NULL, &snapshot, NULL), CW_OK);
    const cw_snapshot_problem *problems = cw_snapshot_problems(snapshot, &n);
    if (n)
        fail_msg("%.*s", CW_STR_ARG(problems[0].text));
    cw_runtime_settings settings = {.calls = 10};
    assert_int_equal(cw_runtime_publish(w->runtime, snapshot, w->caller, &settings, NULL, 0, NULL),
                     CW_OK);
}

static void open_world(world *w)
{
    const cw_str permissions[] = {CW_PERMISSION_CALL, CW_STR("access content")};
    cw_loop *loops[] = {&w->r.loop};
    plugin_fixture_init(&w->r);
    plugin_fixture_load(&w->r, "checked");
    assert_int_equal(cw_caller_new_anonymous(permissions, 2, &w->caller, NULL), CW_OK);
    assert_int_equal(cw_runtime_new(&(cw_runtime_opts){.n_loops = 1}, &w->runtime, NULL), CW_OK);
    cw_runtime_attach(w->runtime, loops);
    publish(w);
    cw_runtime_started(w->runtime);
    w->rl = cw_runtime_at(w->runtime, &w->r.loop);
}

static void close_world(world *w)
{
    cw_loop_end(&w->r.loop);
    cw_loop_run(&w->r.loop);
    cw_runtime_free(w->runtime);
    cw_caller_unref(w->caller);
    cw_source_unref(w->r.source);
    cw_spawner_free(w->r.spawner);
    cw_loop_done(&w->r.loop);
}

static cw_code call(world *w, waiter *wt, const char *method, const char *params,
                    cw_call_error *refusal)
{
    static const cw_sink_ops ops = {.done = on_done};
    cw_arena arena;
    const cw_json *doc;
    *wt = (waiter){.sink = {&ops}};
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_json_read(cw_str_from(params), NULL, &arena, &doc, NULL, NULL), CW_OK);
    cw_view *view = cw_runtime_anonymous(w->rl);
    cw_call_request request = {.view = view,
                               .entry = cw_view_find_method(view, cw_str_from(method)),
                               .params = doc,
                               .sink = &wt->sink};
    cw_call_handle handle;
    assert_non_null(request.entry);
    cw_code rc = cw_call_start(w->rl, &request, &handle, refusal);
    cw_arena_done(&arena);
    if (rc == CW_OK)
        plugin_fixture_until(&w->r, &wt->n_done, 1, 5000 * SANITIZER_SLOWNESS);
    return rc;
}

TEST(a_result_that_breaks_its_schema_never_arrives)
{
    static const char *const lies[] = {"{\"id\":\"s3cret\"}", "\"s3cret\"", "[\"s3cret\"]", "null"};
    world w = {0};
    waiter wt;
    cw_call_error refusal;
    open_world(&w);
    for (size_t i = 0; i < CW_COUNT(lies); i++) {
        char params[100];
        snprintf(params, sizeof params, "[%s]", lies[i]);
        assert_int_equal(call(&w, &wt, "checked.claim", params, &refusal), CW_OK);
        assert_int_equal(wt.kind, CW_OUTCOME_FAILED);
        assert_int_equal(wt.fault, CW_FAULT_SCHEMA);
        assert_string_equal(
            wt.text, "The method returned a result that does not match its declared schema.");
    }
    /* Its worker is none the worse for it. */
    assert_int_equal(call(&w, &wt, "checked.claim", "{\"result\":{\"id\":1}}", &refusal), CW_OK);
    assert_int_equal(wt.kind, CW_OUTCOME_RESULT);
    assert_string_equal(wt.text, "{\"id\":1}");
    close_world(&w);
}

TEST(arguments_that_break_their_schema_start_nothing)
{
    world w = {0};
    waiter wt;
    cw_call_error refusal;
    open_world(&w);
    assert_int_equal(call(&w, &wt, "checked.order", "{\"id\":0,\"day\":\"x\"}", &refusal),
                     CW_PARAMS);
    assert_string_equal(refusal.err.msg, "/id: expected a number of at least 1, got 0; "
                                         "/day: expected the format 'date', got \"x\"");
    assert_int_equal(plugin_fixture_count_workers(NULL), 0);
    assert_int_equal(call(&w, &wt, "checked.order", "[1]", &refusal), CW_OK);
    assert_string_equal(wt.text, "{\"id\":1,\"size\":\"small\"}");
    close_world(&w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_that_breaks_its_schema_never_arrives),
        cmocka_unit_test(arguments_that_break_their_schema_start_nothing),
    };
    PLUGIN_FIXTURE_MAIN(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
