/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments and results against their schemas, in the path of a call. */
#include <unistd.h>

#include "support/oom.h"
#include "support/runtime_fixture.h"
#include "support/test.h"

static cw_err err;
static cw_call_error refusal;
static char log_path[] = "/tmp/causeway-test-XXXXXX";
static char logged[8192];

/* What was logged since the last time. */
static const char *read_log(void)
{
    FILE *f = fopen(log_path, "r+");
    assert_non_null(f);
    logged[fread(logged, 1, sizeof logged - 1, f)] = 0;
    assert_int_equal(ftruncate(fileno(f), 0), 0);
    fclose(f);
    return logged;
}

SETUP(open_log)
{
    int fd = mkstemp(log_path);
    if (fd < 0)
        return -1;
    close(fd);
    return cw_log_configure(&(cw_log_opts){.path = log_path, .level = CW_LOG_INFO}, &err);
}

TEARDOWN(remove_log)
{
    return unlink(log_path);
}

static void begin(void)
{
    assert_int_equal(runtime_fixture_init(1000, /* may_call= */ true, &err), CW_OK);
}

TEST(arguments_that_do_not_match_are_refused)
{
    static const struct {
        const char *method, *params, *problem;
    } cases[] = {
        {"typed", "{\"id\":\"7\"}", "/id: expected integer, got string"},
        {"typed", "{\"id\":null}", "/id: expected integer, got null"},
        {"typed", "{\"id\":0}", "/id: expected a number of at least 1, got 0"},
        {"typed", "{\"id\":1.5}", "/id: expected integer, got number"},
        {"typed", "{\"id\":1,\"when\":\"soon\"}",
         "/when: expected the format 'date', got \"soon\""},
        {"typed", "{\"id\":1,\"a/b~c\":[\"x\",1]}", "/a~1b~0c/1: expected string, got integer"},
        {"typed", "{\"id\":1,\"a/b~c\":[\"x\",\"x\"]}",
         "/a~1b~0c: expected different items, got 1 equal to 0"},
        /* Several: in declared order, at most three. */
        {"typed", "{\"when\":1,\"id\":\"x\"}",
         "/id: expected integer, got string; /when: expected string, got integer"},
        {"typed", "{\"id\":1,\"a/b~c\":[1,2,3,4,5]}",
         "/a~1b~0c/0: expected string, got integer; /a~1b~0c/1: expected string, got integer; "
         "/a~1b~0c/2: expected string, got integer (and more)"},
        /* By position, whatever the source takes. */
        {"typed", "[\"7\"]", "/id: expected integer, got string"},
        {"listed", "[\"7\"]", "/id: expected integer, got string"},
        {"listed", "{\"id\":[]}", "/id: expected integer, got array"},
        /* Names come first, as ever. */
        {"typed", "{\"when\":1}", "Missing required parameter: id"},
        {"typed", "{\"id\":\"7\",\"wheX\":1}", "Unknown parameter: wheX; did you mean when?"},
    };
    begin();
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        call_waiter wt;
        call_waiter_init(&wt);
        assert_int_equal(runtime_fixture_call(&wt, cases[i].method, cases[i].params, &refusal),
                         CW_PARAMS);
        assert_string_equal(refusal.err.msg, cases[i].problem);
        assert_int_equal(wt.n_done, 0);
        assert_int_equal(fixture.rl->n_running, 0);
    }
    assert_int_equal(atomic_load(&fixture.source->started), 0);
    runtime_fixture_done();
}

TEST(a_long_complaint_keeps_whole_problems)
{
    char params[1000];
    char name[201];
    memset(name, 'x', 200);
    name[200] = 0;
    snprintf(params, sizeof params, "{\"id\":\"%s\",\"when\":\"%s\",\"a/b~c\":[{\"%s\":1},2]}",
             name, name, name);
    begin();
    call_waiter wt;
    call_waiter_init(&wt);
    assert_int_equal(runtime_fixture_call(&wt, "typed", params, &refusal), CW_PARAMS);
    assert_non_null(strstr(refusal.err.msg, "/id: expected integer, got string; /when: expected "));
    size_t n = strlen(refusal.err.msg);
    assert_true(n < CW_ERR_MSG_MAX - 1);
    runtime_fixture_done();
}

TEST(arguments_that_match_travel_on_as_they_came)
{
    static const struct {
        const char *method, *params, *sent;
    } cases[] = {
        {"typed", "{ \"id\":1.0, \"more\":null }", "{ \"id\":1.0, \"more\":null }"},
        {"typed", "{\"id\":100,\"when\":\"2024-02-29\"}",
         "{\"id\":100,\"when\":\"2024-02-29\",\"more\":5}"},
        {"typed", "[1]", "{\"id\":1,\"more\":5}"},
    };
    begin();
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        call_waiter wt;
        call_waiter_init(&wt);
        assert_int_equal(runtime_fixture_call(&wt, cases[i].method, cases[i].params, &refusal),
                         CW_OK);
        runtime_fixture_until(&wt.n_done, 1);
        assert_int_equal(wt.kind, CW_OUTCOME_RESULT);
        assert_string_equal(wt.text, cases[i].sent);
    }
    runtime_fixture_done();
}

TEST(a_result_that_does_not_match_stays_here)
{
    static const char text[] =
        "The method returned a result that does not match its declared schema.";
    call_waiter wt;
    begin();
    call_waiter_init(&wt);
    assert_int_equal(
        runtime_fixture_call(&wt, "typed", "{\"id\":101,\"when\":\"2024-01-01\"}", &refusal),
        CW_OK);
    runtime_fixture_until(&wt.n_done, 1);
    assert_int_equal(wt.kind, CW_OUTCOME_FAILED);
    assert_int_equal(wt.fault, CW_FAULT_SCHEMA);
    assert_string_equal(wt.text, text);
    (void)read_log();
    assert_non_null(strstr(logged, "error"));
    assert_non_null(strstr(logged, "source=\"fake\" method=\"typed\" fault=\"schema\""));
    assert_non_null(strstr(logged, "detail=\"/id: expected a number of at most 100, got 101\""));
    assert_int_equal(fixture.rl->n_running, 0);
    /* Of another type than the schema's. */
    call_waiter_init(&wt);
    assert_int_equal(runtime_fixture_call(&wt, "listed", "[1]", &refusal), CW_OK);
    runtime_fixture_until(&wt.n_done, 1);
    assert_int_equal(wt.fault, CW_FAULT_SCHEMA);
    /* Nobody listens: it is logged all the same. */
    (void)read_log();
    call_waiter_init(&wt);
    assert_int_equal(runtime_fixture_call(&wt, "typed", "{\"id\":101}", &refusal), CW_OK);
    cw_call_detach(fixture.rl, wt.call, CW_STR(""));
    runtime_fixture_turn(3);
    assert_int_equal(wt.n_done, 0);
    assert_non_null(strstr(read_log(), "fault=\"schema\""));
    runtime_fixture_done();
}

TEST(too_much_work_is_not_valid)
{
    call_waiter wt;
    begin();
    call_waiter_init(&wt);
    assert_int_equal(runtime_fixture_call(&wt, "bomb", "{\"x\":{}}", &refusal), CW_PARAMS);
    assert_string_equal(refusal.err.msg, "/x: too much work to validate (limits.validation_steps)");
    assert_non_null(strstr(read_log(), "too much work to validate"));
    assert_non_null(strstr(logged, "method=\"bomb\" value=\"x\""));
    assert_int_equal(atomic_load(&fixture.source->started), 0);
    runtime_fixture_done();
}

/* ---- memory ---- */

TEST(a_valid_call_allocates_nothing_for_it)
{
    static const char params[] = "{\"id\":5,\"when\":\"2024-01-01\",\"a/b~c\":[\"x\"],\"more\":1}";
    size_t counts[2];
    begin();
    for (int i = 0; i < 4; i++) {
        const char *method = i % 2 ? "typed" : "strict";
        call_waiter wt;
        call_waiter_init(&wt);
        oom_reset();
        assert_int_equal(runtime_fixture_call(
                             &wt, method, i % 2 ? params : "{\"a\":1,\"b\":[1,2,3,4]}", &refusal),
                         CW_OK);
        runtime_fixture_until(&wt.n_done, 1);
        counts[i % 2] = oom_count();
        assert_int_equal(wt.kind, CW_OUTCOME_RESULT);
    }
    /* The second time: as many as a call without schemas. */
    assert_int_equal(counts[1], counts[0]);
    runtime_fixture_done();
}

static void call_once(void *ctx)
{
    const char *params = ctx;
    call_waiter wt;
    call_waiter_init(&wt);
    cw_code rc = runtime_fixture_init(1000, /* may_call= */ true, &err);
    if (!rc)
        rc = runtime_fixture_call(&wt, "typed", params, &refusal);
    if (!rc) {
        runtime_fixture_until(&wt.n_done, 1);
        assert_true(wt.kind == CW_OUTCOME_RESULT || wt.kind == CW_OUTCOME_FAILED);
        if (oom_was_hit() && wt.kind == CW_OUTCOME_FAILED)
            assert_true(wt.fault == CW_FAULT_NOMEM || wt.fault == CW_FAULT_SCHEMA);
    } else if (!oom_was_hit()) {
        assert_int_equal(rc, CW_PARAMS);
    }
    runtime_fixture_done();
}

TEST(every_failed_allocation_ends_in_an_answer)
{
    static char good[] = "{\"id\":5,\"when\":\"2024-01-01\"}";
    static char lie[] = "{\"id\":500,\"a/b~c\":[\"x\"]}";
    static char wrong[] = "{\"id\":\"five\",\"when\":5}";
    assert_true(oom_each(call_once, good) > 20);
    assert_true(oom_each(call_once, lie) > 20);
    assert_true(oom_each(call_once, wrong) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_that_do_not_match_are_refused),
        cmocka_unit_test(a_long_complaint_keeps_whole_problems),
        cmocka_unit_test(arguments_that_match_travel_on_as_they_came),
        cmocka_unit_test(a_result_that_does_not_match_stays_here),
        cmocka_unit_test(too_much_work_is_not_valid),
        cmocka_unit_test(a_valid_call_allocates_nothing_for_it),
        cmocka_unit_test(every_failed_allocation_ends_in_an_answer),
    };
    return cmocka_run_group_tests(tests, open_log, remove_log);
}
