/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/json_fixture.h"
#include "support/oom.h"
#include "support/temp_dir.h"

#include "source/remote/state_files.h"

static char folder[96];

SETUP(make_state)
{
    int rc = temp_dir_setup(state);
    snprintf(folder, sizeof folder, "%s/state", temp_dir); /* is made when it is needed */
    return rc;
}

TEARDOWN(remove_state)
{
    unlink(temp_dir_path("state/aria2.description.json"));
    unlink(temp_dir_path("state/aria2.status.json"));
    rmdir(folder);
    return temp_dir_teardown(state);
}

static cw_source_status example(void)
{
    return (cw_source_status){
        .name = CW_STR("aria2"),
        .state = CW_STR("stale"),
        .pid = 4711,
        .at_ms = 1790000000123,
        .since_ms = 1780000000000,
        .tools = 3,
        .methods = 36,
        .withheld = 1,
        .problem = CW_STR("connection \"refused\"\n"),
    };
}

static cw_state_description described(void)
{
    return (cw_state_description){
        .at = CW_STR("http://h/"),
        .describe = CW_STR("auto"),
        .kind = CW_STR("openrpc"),
        .is_partial = true,
        .requires = CW_STR("{\"m\":{}}"),
        .openrpc = CW_STR("{\"a\": 1}"),
    };
}

TEST(a_description_comes_back_as_it_was)
{
    cw_arena arena;
    struct stat st;
    const cw_state_description d = described();
    cw_state_description got;
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_state_save_description(cw_str_from(folder), CW_STR("aria2"), &d, NULL),
                     CW_OK);
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat(temp_dir_path("state/aria2.description.json"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(
        cw_state_load_description(cw_str_from(folder), CW_STR("aria2"), &arena, &got, NULL), CW_OK);
    assert_str(got.at, "http://h/");
    assert_str(got.describe, "auto");
    assert_str(got.kind, "openrpc");
    assert_true(got.is_partial);
    assert_str(got.requires, "{\"m\":{}}");
    assert_str(got.openrpc, "{\"a\": 1}");
    assert_int_equal(
        cw_state_load_description(cw_str_from(folder), CW_STR("other"), &arena, &got, NULL),
        CW_GONE);
    cw_arena_done(&arena);
}

/* Never taken for one that does not exist: what it asked of callers would be forgotten. */
TEST(a_description_that_is_damaged_is_not_gone)
{
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "{\"version\":1}",
        "{\"version\":2,\"kind\":\"k\",\"partial\":false,\"requires\":{},\"openrpc\":{}}",
        "{\"version\":1,\"kind\":\"\",\"partial\":false,\"requires\":{},\"openrpc\":{}}",
        "{\"version\":1,\"kind\":\"k\",\"requires\":{},\"openrpc\":{}}",
        "{\"version\":1,\"kind\":\"k\",\"partial\":false,\"requires\":[],\"openrpc\":{}}",
        "{\"version\":1,\"kind\":\"k\",\"partial\":false,\"requires\":{},\"openrpc\":null}",
    };
    cw_arena arena;
    cw_err err = {0};
    cw_state_description d = described();
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_state_save_description(cw_str_from(folder), CW_STR("aria2"), &d, NULL),
                     CW_OK);
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        temp_dir_write("state/aria2.description.json", bad[i]);
        assert_int_equal(
            cw_state_load_description(cw_str_from(folder), CW_STR("aria2"), &arena, &d, &err),
            CW_PARSE);
        assert_non_null(strstr(err.msg, "aria2.description.json"));
    }
    unlink(temp_dir_path("state/aria2.description.json"));
    assert_int_equal(mkdir(temp_dir_path("state/aria2.description.json"), 0700), 0);
    cw_code rc = cw_state_load_description(cw_str_from(folder), CW_STR("aria2"), &arena, &d, &err);
    assert_int_not_equal(rc, CW_OK);
    assert_int_not_equal(rc, CW_GONE);
    rmdir(temp_dir_path("state/aria2.description.json"));
    cw_arena_done(&arena);
}

TEST(a_status_comes_back_as_it_was)
{
    cw_arena arena;
    cw_source_status s = example(), got;
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_state_save_status(cw_str_from(folder), &s, NULL), CW_OK);
    assert_int_equal(cw_state_load_status(cw_str_from(folder), CW_STR("aria2"), &arena, &got, NULL),
                     CW_OK);
    assert_str(got.name, "aria2");
    assert_str(got.state, "stale");
    assert_int_equal(got.pid, 4711);
    assert_int_equal(got.at_ms, 1790000000123);
    assert_int_equal(got.since_ms, 1780000000000);
    assert_int_equal(got.refreshed_ms, 0);
    assert_int_equal(got.tools, 3);
    assert_int_equal(got.methods, 36);
    assert_int_equal(got.withheld, 1);
    assert_str(got.problem, "connection \"refused\"\n");
    cw_arena_done(&arena);
}

TEST(times_are_also_there_for_people)
{
    cw_source_status s = example();
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, 10000);
    assert_int_equal(cw_state_save_status(cw_str_from(folder), &s, NULL), CW_OK);
    FILE *f = fopen(temp_dir_path("state/aria2.status.json"), "re");
    char text[2000] = "";
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    assert_non_null(strstr(text, "\"at\": \"2026-"));
    assert_non_null(strstr(text, "\"refreshed\": null"));
}

TEST(a_long_problem_is_cut_and_fits)
{
    static char text[100000];
    cw_arena arena;
    cw_source_status s = example(), got;
    memset(text, 1, sizeof text); /* six characters each */
    s.problem = cw_str_make(text, sizeof text);
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_state_save_status(cw_str_from(folder), &s, NULL), CW_OK);
    assert_int_equal(cw_state_load_status(cw_str_from(folder), CW_STR("aria2"), &arena, &got, NULL),
                     CW_OK);
    assert_true(got.problem.n > 1000 && got.problem.n < sizeof text);
    cw_arena_done(&arena);
}

TEST(without_a_folder_nothing_is_kept_or_found)
{
    cw_arena arena;
    cw_source_status s = example();
    cw_state_description d = described();
    cw_arena_init(&arena, 1 << 20);
    cw_str none = CW_STR("");
    assert_int_equal(cw_state_save_description(none, CW_STR("a"), &d, NULL), CW_OK);
    assert_int_equal(cw_state_save_status(none, &s, NULL), CW_OK);
    assert_int_equal(cw_state_load_description(none, CW_STR("a"), &arena, &d, NULL), CW_GONE);
    assert_int_equal(cw_state_load_status(none, CW_STR("a"), &arena, &s, NULL), CW_GONE);
    cw_arena_done(&arena);
}

TEST(what_cannot_be_read_or_written_is_named)
{
    cw_arena arena;
    cw_source_status s = example();
    cw_err err = {0};
    char deep[160], *name = malloc(5000);
    cw_arena_init(&arena, 1 << 20);
    snprintf(deep, sizeof deep, "%s/no/such", temp_dir);
    assert_int_equal(cw_state_save_status(cw_str_from(deep), &s, &err), CW_IO);
    assert_non_null(strstr(err.msg, deep));
    memset(name, 'x', 5000);
    const cw_state_description d = described();
    assert_int_equal(
        cw_state_save_description(cw_str_from(folder), cw_str_make(name, 5000), &d, &err),
        CW_LIMIT);
    free(name);
    assert_int_equal(cw_state_save_status(cw_str_from(folder), &s, NULL), CW_OK);
    static const char *const bad[] = {"", "{", "[]", "{\"name\":5,\"pid\":\"x\"}"};
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        temp_dir_write("state/aria2.status.json", bad[i]);
        cw_code rc = cw_state_load_status(cw_str_from(folder), CW_STR("aria2"), &arena, &s, &err);
        assert_int_equal(rc, i < 2 ? CW_PARSE : CW_OK);
        if (rc)
            assert_non_null(strstr(err.msg, "aria2.status.json"));
        else
            assert_int_equal(s.pid + (int64_t)s.name.n, 0);
    }
    cw_arena_done(&arena);
}

static void keep_once(void *ctx)
{
    (void)ctx;
    cw_arena arena;
    cw_source_status s = example();
    cw_arena_init(&arena, 1 << 20);
    cw_code rc = cw_state_save_status(cw_str_from(folder), &s, NULL);
    if (!rc)
        rc = cw_state_load_status(cw_str_from(folder), CW_STR("aria2"), &arena, &s, NULL);
    cw_state_description d = described();
    if (!rc)
        rc = cw_state_save_description(cw_str_from(folder), CW_STR("aria2"), &d, NULL);
    if (!rc)
        rc = cw_state_load_description(cw_str_from(folder), CW_STR("aria2"), &arena, &d, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_arena_done(&arena);
}

TEST(every_failed_allocation_is_survived)
{
    assert_true(oom_each(keep_once, NULL) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_description_comes_back_as_it_was),
        cmocka_unit_test(a_description_that_is_damaged_is_not_gone),
        cmocka_unit_test(a_status_comes_back_as_it_was),
        cmocka_unit_test(times_are_also_there_for_people),
        cmocka_unit_test(a_long_problem_is_cut_and_fits),
        cmocka_unit_test(without_a_folder_nothing_is_kept_or_found),
        cmocka_unit_test(what_cannot_be_read_or_written_is_named),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, make_state, remove_state);
}
