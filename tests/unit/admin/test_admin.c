/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of methods against the list of the configuration, and the description of all. */
#include "admin/admin.h"

#include "config/keys/reading_methods.c" /* NOLINT(bugprone-suspicious-include) */
#include "support/json_fixture.h"
#include "support/oom.h"

/* Call fn for each row of all tables. */
static size_t each_method(void (*fn)(const cw_admin_method *m))
{
    size_t n = 0;
    for (size_t i = 0; cw_admin_tables[i]; i++) {
        for (const cw_admin_method *m = cw_admin_tables[i]; m->name; m++, n++)
            fn(m);
    }
    return n;
}

static void compare_with_list(const cw_admin_method *m)
{
    bool is_reading = !(m->flags & CW_ADMIN_CHANGES);
    if (cw_config_is_reading_method(cw_str_from(m->name)) != is_reading)
        fail_msg("%s: the table and the list of reading methods differ", m->name);
}

TEST(the_configuration_knows_exactly_the_methods_that_read)
{
    assert_true(each_method(compare_with_list) > CW_COUNT(reading));
    for (size_t i = 0; i < CW_COUNT(reading); i++) {
        if (!cw_admin_find(cw_str_from(reading[i])))
            fail_msg("%s: no table has it", reading[i]);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(reading[i], reading[j]);
    }
    assert_false(cw_config_is_reading_method(CW_STR("causeway.stat")));
    assert_false(cw_config_is_reading_method(CW_STR("causeway.reload")));
}

static void check_row(const cw_admin_method *m)
{
    assert_ptr_equal(cw_admin_find(cw_str_from(m->name)), m);
    assert_non_null(m->about);
    assert_non_null(m->permission);
    assert_non_null(m->run);
    /* A guarded method changes something, and only the store's methods hash passwords. */
    assert_true(!(m->flags & CW_ADMIN_GUARDED) || (m->flags & CW_ADMIN_CHANGES));
    assert_true(!m->prepare || m->place == CW_ADMIN_STORE);
    assert_true(!(m->flags & CW_ADMIN_STORE_FOR_CALLER) || m->place == CW_ADMIN_STORE);
}

TEST(each_row_is_whole_and_found_by_its_name)
{
    assert_true(each_method(check_row) > 20);
}

static void describe_once(void *ctx)
{
    const cw_config_strings *tools = ctx;
    cw_buf out;
    cw_buf_init(&out, 4 << 20);
    cw_code rc = cw_admin_describe(tools, true, &out);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_buf_done(&out);
}

TEST_WITH(a_description_marks_the_tools_and_survives_every_failed_allocation, cw_arena *a)
{
    cw_str marked[] = {CW_STR("causeway.status")};
    cw_config_strings tools = {marked, 1};
    cw_buf out;
    cw_buf_init(&out, 4 << 20);
    assert_int_equal(cw_admin_describe(&tools, true, &out), CW_OK);
    const cw_json *methods =
        cw_json_get(must_read_opts(a, cw_buf_str(&out), NULL), CW_STR("methods"));
    size_t n = 0;
    for (const cw_json *m = cw_json_first(methods); m; m = cw_json_next(m)) {
        if (!cw_json_get(m, CW_STR("x-mcp-tool")))
            continue;
        assert_str(text_of(cw_json_get(m, CW_STR("name"))), "causeway.status");
        n++;
    }
    assert_int_equal(n, 1);
    cw_buf_done(&out);
    assert_true(oom_each(describe_once, &tools) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_configuration_knows_exactly_the_methods_that_read),
        cmocka_unit_test(each_row_is_whole_and_found_by_its_name),
        arena_test(a_description_marks_the_tools_and_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("admin", tests, NULL, NULL);
}
