/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lookups: the general permission, names, hidden methods, and when a refusal is recorded. */
#include "call/find.h"
#include "support/runtime_fixture.h"
#include "support/test.h"

static cw_err err;
static unsigned n_recorded; /* the address is read once for each record */

static cw_str count_record(const void *ctx)
{
    (void)ctx;
    n_recorded++;
    return CW_STR("127.0.0.1");
}

static cw_code find(cw_find_in in, const char *name, cw_call_found *ret)
{
    cw_arena arena;
    cw_arena_init(&arena, 65536);
    cw_call_lookup lookup = {.view = cw_runtime_anonymous(fixture.rl),
                             .door = "test",
                             .peer = count_record,
                             .may_wait = true,
                             .in = in,
                             .name = cw_str_from(name),
                             .arena = &arena};
    n_recorded = 0;
    cw_code rc = cw_call_find(fixture.rl, &lookup, ret);
    cw_arena_done(&arena);
    return rc;
}

static void begin(bool may_call)
{
    assert_int_equal(runtime_fixture_init(1000, may_call, &err), CW_OK);
}

TEST(a_known_name_is_found_without_a_record)
{
    static const struct {
        cw_find_in in;
        const char *name;
    } rows[] = {
        {CW_FIND_TOOL, "echo"},
        {CW_FIND_TOOL_OR_PORTABLE, "echo"},
        {CW_FIND_PORTABLE_OR_TOOL, "echo"},
        {CW_FIND_METHOD, "echo"},
        {CW_FIND_METHOD_OR_TOOL, "echo"},
    };
    cw_call_found found;
    begin(true);
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        assert_int_equal(find(rows[i].in, rows[i].name, &found), CW_OK);
        assert_true(cw_str_is(found.entry->method->id, "echo"));
        assert_int_equal(n_recorded, 0);
    }
    assert_int_equal(find(CW_FIND_NONE, "", &found), CW_OK);
    assert_null(found.entry);
    runtime_fixture_done();
}

TEST(hidden_is_unknown_and_recorded_once)
{
    static const struct {
        cw_find_in in;
        const char *name;
    } rows[] = {
        {CW_FIND_TOOL, "hidden"},           {CW_FIND_TOOL, "nothing"},
        {CW_FIND_METHOD, "hidden"},         {CW_FIND_METHOD, "nothing"},
        {CW_FIND_METHOD, "rpc.discover"},   {CW_FIND_RESOURCE, "fake://hidden"},
        {CW_FIND_RESOURCE, "other://none"}, {CW_FIND_TEMPLATE_OR_RESOURCE, "fake://hidden"},
        {CW_FIND_PROMPT, "nothing"},
    };
    cw_call_found found;
    begin(true);
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        assert_int_equal(find(rows[i].in, rows[i].name, &found), CW_NOTFOUND);
        assert_null(found.entry);
        assert_int_equal(n_recorded, 1);
    }
    runtime_fixture_done();
}

/* Else the answer would reveal which names exist. */
TEST(the_general_permission_comes_before_the_name)
{
    static const char *const names[] = {"echo", "hidden", "nothing"};
    cw_call_found found;
    begin(false);
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        assert_int_equal(find(CW_FIND_TOOL, names[i], &found), CW_DECLINED);
        assert_int_equal(found.verdict, CW_VERDICT_NEEDS_LOGIN);
        assert_null(found.entry);
        assert_int_equal(n_recorded, 1);
    }
    assert_int_equal(find(CW_FIND_NONE, "", &found), CW_DECLINED);
    runtime_fixture_done();
}

TEST(an_unknown_name_waits_while_sources_load)
{
    cw_call_found found;
    begin(true);
    fixture.settings.is_loading = true;
    fixture.settings.revision++;
    assert_int_equal(runtime_fixture_publish(NULL, NULL, &err), CW_OK);
    runtime_fixture_turn(3);
    assert_int_equal(find(CW_FIND_TOOL, "nothing", &found), CW_AGAIN);
    assert_int_equal(n_recorded, 0);
    assert_int_equal(find(CW_FIND_TOOL, "echo", &found), CW_OK);
    runtime_fixture_done();
}

TEST(the_same_tool_is_found_in_a_newer_view)
{
    cw_call_found found;
    begin(true);
    assert_int_equal(find(CW_FIND_TOOL, "echo", &found), CW_OK);
    const cw_entry *old = found.entry;
    cw_call_lookup lookup = {.view = cw_runtime_anonymous(fixture.rl),
                             .door = "test",
                             .peer = count_record,
                             .in = CW_FIND_SAME_TOOL,
                             .name = CW_STR("a portable name"),
                             .entry = old};
    assert_int_equal(cw_call_find(fixture.rl, &lookup, &found), CW_OK);
    assert_ptr_equal(found.entry, old);
    /* Another method has taken the name. */
    cw_method other = *old->method;
    cw_entry changed = *old;
    other.id = CW_STR("other");
    changed.method = &other;
    lookup.entry = &changed;
    assert_int_equal(cw_call_find(fixture.rl, &lookup, &found), CW_NOTFOUND);
    runtime_fixture_done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_name_is_found_without_a_record),
        cmocka_unit_test(hidden_is_unknown_and_recorded_once),
        cmocka_unit_test(the_general_permission_comes_before_the_name),
        cmocka_unit_test(an_unknown_name_waits_while_sources_load),
        cmocka_unit_test(the_same_tool_is_found_in_a_newer_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
