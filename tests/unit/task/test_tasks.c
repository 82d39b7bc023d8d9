/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of tasks: owners, limits, states, questions, and each allocation failing in turn. */
#include "task/tasks.h"

#include "base/map.h"
#include "support/assert_str.h"
#include "support/oom.h"

static cw_tasks *table;
static const cw_config_tasks roomy = {.ttl_ms = 60000,
                                      .max = 100,
                                      .max_per_caller = 10,
                                      .max_size = 1 << 20,
                                      .max_size_per_caller = 1 << 16};

/* A task of an anonymous caller in a network of this /48. */
static cw_code add_anonymous(const cw_config_tasks *limits, const char *owner, uint64_t network,
                             cw_task **ret)
{
    cw_task_start start = {
        .owner = cw_str_from(owner),
        .tool = CW_STR("the.tool"),
        .is_anonymous = true,
        .by = {{network, cw_hash(cw_str_from(owner)), cw_hash(cw_str_from(owner))}}};
    return cw_tasks_add(table, limits, &start, ret);
}

static cw_code add(const cw_config_tasks *limits, const char *owner, cw_task **ret)
{
    cw_task_start start = {.owner = cw_str_from(owner),
                           .by = {{1, 1, cw_hash(cw_str_from(owner))}},
                           .caller = CW_STR("somebody"),
                           .tool = CW_STR("the.tool"),
                           .method = CW_STR("the.method"),
                           .size = 100};
    return cw_tasks_add(table, limits, &start, ret);
}

static cw_task *task_of(const char *owner)
{
    cw_task *task = NULL;
    assert_int_equal(add(&roomy, owner, &task), CW_OK);
    return task;
}

/* A reference; NULL: not found. */
static cw_task *find(const char *owner, cw_str id)
{
    cw_task *found = NULL;
    cw_code rc = cw_tasks_find(table, cw_str_from(owner), id, &found);
    assert_int_equal(rc, found ? CW_OK : CW_NOTFOUND);
    return found;
}

static bool writes(cw_task *task, const char *part)
{
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_task_write(task, 1000, /* is_full= */ true, &b);
    bool has = str_has(cw_buf_str(&b), part);
    cw_buf_done(&b);
    return has;
}

SETUP(set_up)
{
    cw_err err;
    return cw_tasks_new(&table, &err) ? -1 : 0;
}

TEARDOWN(tear_down)
{
    cw_tasks_free(table);
    return 0;
}

TEST(a_task_is_found_by_its_owner_alone)
{
    cw_task *task = task_of("+1");
    cw_task *found = find("+1", cw_task_id(task));
    assert_ptr_equal(found, task);
    assert_str(cw_task_tool(found), "the.tool");
    assert_str(cw_task_method(found), "the.method");
    assert_int_equal(cw_task_id(found).n, CW_TASK_ID - 1);
    assert_null(find("-1", cw_task_id(task)));
    assert_null(find("+1", CW_STR("00")));
    cw_task_unref(found);
    cw_task_unref(task);
}

TEST(a_task_that_was_dropped_was_never_there)
{
    cw_task *task = cw_task_ref(task_of("+1"));
    cw_task_drop(task);
    assert_null(find("+1", cw_task_id(task)));
    assert_false(writes(task, "\"completed\""));
    cw_task_unref(task);
}

TEST(nothing_gives_way_to_a_new_task)
{
    cw_task *first, *second, *other;
    cw_config_tasks limits = roomy;
    limits.max_per_caller = 1;
    assert_int_equal(add(&limits, "+1", &first), CW_OK);
    assert_int_equal(add(&limits, "+1", &second), CW_LIMIT);
    assert_int_equal(add(&limits, "+2", &other), CW_OK);
    limits.max = 2;
    assert_int_equal(add(&limits, "+3", &second), CW_LIMIT);
    limits.max = 3;
    limits.max_size = 100;
    assert_int_equal(add(&limits, "+3", &second), CW_LIMIT);
    /* An end makes no room: the result has to be read. */
    assert_int_equal(cw_task_end(first, CW_TASK_COMPLETED, CW_STR(""), CW_STR("{}")), CW_OK);
    limits = roomy;
    limits.max_per_caller = 1;
    assert_int_equal(add(&limits, "+1", &second), CW_LIMIT);
    cw_task_drop(first);
    assert_int_equal(add(&limits, "+1", &second), CW_OK);
    cw_task_unref(second);
    cw_task_unref(other);
}

TEST(a_task_whose_time_is_over_is_gone)
{
    cw_task *task;
    cw_config_tasks limits = roomy;
    limits.ttl_ms = 0;
    assert_int_equal(add(&limits, "+1", &task), CW_OK);
    assert_null(find("+1", cw_task_id(task)));
    limits.max = 1;
    cw_task *next;
    assert_int_equal(add(&limits, "+1", &next), CW_OK);
    cw_task_unref(next);
    cw_task_unref(task);
}

TEST(a_task_that_has_ended_does_not_change)
{
    cw_task *task = task_of("+1");
    cw_task_set_message(task, CW_STR("half"));
    assert_true(writes(task, "\"statusMessage\":\"half\""));
    assert_int_equal(cw_task_end(task, CW_TASK_COMPLETED, CW_STR(""), CW_STR("{\"content\":[]}")),
                     CW_OK);
    assert_true(writes(task, "\"result\":{\"content\":[]}"));
    assert_false(writes(task, "statusMessage"));
    assert_int_equal(cw_task_end(task, CW_TASK_FAILED, CW_STR("no"), CW_STR("{}")), CW_DONE);
    assert_false(cw_task_cancel(task));
    cw_task_set_message(task, CW_STR("late"));
    assert_int_equal(cw_task_ask(task, CW_STR("k"), CW_STR("{}")), CW_DONE);
    assert_false(cw_task_run(task, NULL, NULL, NULL));
    assert_true(writes(task, "\"status\":\"completed\""));
    assert_false(writes(task, "late"));
    cw_task_unref(task);
}

TEST(questions_are_open_until_they_are_answered)
{
    cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_task *task = task_of("+1");
    assert_int_equal(cw_task_ask(task, CW_STR("a"), CW_STR("{\"method\":\"x\"}")), CW_OK);
    assert_int_equal(cw_task_ask(task, CW_STR("b"), CW_STR("{\"method\":\"y\"}")), CW_OK);
    assert_true(
        writes(task, "\"inputRequests\":{\"a\":{\"method\":\"x\"},\"b\":{\"method\":\"y\"}}"));
    assert_int_equal(cw_task_question(task, CW_STR("a"), &text), CW_OK);
    assert_str(cw_buf_str(&text), "{\"method\":\"x\"}");
    assert_true(cw_task_answer(task, CW_STR("a")));
    assert_false(cw_task_answer(task, CW_STR("a")));
    assert_int_equal(cw_task_question(task, CW_STR("a"), &text), CW_NOTFOUND);
    assert_true(writes(task, "\"status\":\"input_required\""));
    assert_true(cw_task_answer(task, CW_STR("b")));
    assert_true(writes(task, "\"status\":\"working\""));
    assert_int_equal(cw_task_ask(task, CW_STR("c"), CW_STR("{}")), CW_OK);
    cw_task_answer_all(task);
    assert_true(writes(task, "\"status\":\"working\""));
    cw_task_unref(task);
    cw_buf_done(&text);
}

TEST(what_exceeds_the_share_of_its_owner_is_not_kept)
{
    static char large[1 << 16];
    memset(large, ' ', sizeof large);
    cw_task *task = task_of("+1");
    cw_str text = cw_str_make(large, sizeof large);
    assert_int_equal(cw_task_ask(task, CW_STR("k"), text), CW_LIMIT);
    assert_int_equal(cw_task_end(task, CW_TASK_COMPLETED, CW_STR(""), text), CW_OK);
    assert_true(writes(task, "\"status\":\"failed\""));
    assert_true(writes(task, "\"error\":{\"code\":-32603,\"message\":\"The result is too large"));
    cw_task_unref(task);
}

TEST(one_network_has_no_more_than_half_of_the_places)
{
    enum { MAX = 40 };
    cw_config_tasks limits = roomy;
    cw_task *tasks[MAX + 1];
    unsigned n = 0;
    limits.max = MAX;
    /* Each address has one task, and all are of one /48. */
    for (unsigned i = 0; i < MAX; i++) {
        char owner[16];
        snprintf(owner, sizeof owner, "-%u", i);
        if (!add_anonymous(&limits, owner, 48, &tasks[n]))
            n++;
    }
    assert_int_equal(n, MAX / 2);
    assert_int_equal(add(&limits, "+1", &tasks[n]), CW_OK);
    n++;
    /* An end in the table leaves the place. */
    cw_task_drop(tasks[0]);
    assert_int_equal(add_anonymous(&limits, "-x", 48, &tasks[0]), CW_OK);
    for (unsigned i = 0; i < n; i++)
        cw_task_unref(tasks[i]);
}

TEST(results_have_a_ceiling_in_all_of_which_anonymous_callers_have_half)
{
    static char large[1 << 15];
    cw_config_tasks limits = roomy;
    cw_task *first, *second, *own, *late;
    cw_str text = cw_str_make(large, sizeof large);
    memset(large, ' ', sizeof large);
    large[0] = '1';
    limits.max_size = 3 * sizeof large;
    assert_int_equal(add_anonymous(&limits, "-1", 1, &first), CW_OK);
    assert_int_equal(add_anonymous(&limits, "-2", 2, &second), CW_OK);
    assert_int_equal(add(&limits, "+1", &own), CW_OK);
    assert_int_equal(add(&limits, "+2", &late), CW_OK);
    assert_int_equal(cw_task_end(first, CW_TASK_COMPLETED, CW_STR(""), text), CW_OK);
    assert_int_equal(cw_task_end(second, CW_TASK_COMPLETED, CW_STR(""), text), CW_OK);
    assert_int_equal(cw_task_end(own, CW_TASK_COMPLETED, CW_STR(""), text), CW_OK);
    assert_int_equal(cw_task_end(late, CW_TASK_COMPLETED, CW_STR(""), text), CW_OK);
    assert_true(writes(first, "\"status\":\"completed\""));
    assert_true(writes(second, "The result is too large"));
    assert_true(writes(own, "\"status\":\"completed\""));
    assert_true(writes(late, "The result is too large"));
    cw_task_unref(first);
    cw_task_unref(second);
    cw_task_unref(own);
    cw_task_unref(late);
}

static void count(const cw_task_info *info, void *ctx)
{
    unsigned *n = ctx;
    assert_str(info->caller, "somebody");
    (*n)++;
}

TEST(an_operator_sees_and_cancels_all)
{
    cw_task *one = task_of("+1"), *two = task_of("+2");
    unsigned n = 0;
    cw_tasks_each(table, /* without_row= */ false, count, &n);
    assert_int_equal(n, 2);
    assert_true(cw_tasks_show(table, cw_task_id(one), count, &n));
    assert_false(cw_tasks_show(table, CW_STR("00"), count, &n));
    assert_int_equal(n, 3);
    assert_int_equal(cw_tasks_cancel(table, cw_task_id(two), NULL, NULL), CW_OK);
    assert_int_equal(cw_tasks_cancel(table, cw_task_id(two), NULL, NULL), CW_DONE);
    assert_int_equal(cw_tasks_cancel(table, CW_STR("00"), NULL, NULL), CW_NOTFOUND);
    assert_true(writes(two, "\"status\":\"cancelled\""));
    assert_string_equal(cw_task_status_name(CW_TASK_CANCELLED), "cancelled");
    cw_task_unref(one);
    cw_task_unref(two);
}

static void live_once(void *ctx)
{
    cw_err err;
    cw_task *task = NULL;
    (void)ctx;
    if (cw_tasks_new(&table, &err))
        return;
    cw_code rc = add(&roomy, "+1", &task);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    if (!rc) {
        cw_task_set_message(task, CW_STR("half"));
        rc = cw_task_ask(task, CW_STR("a"), CW_STR("{}"));
        assert_true(rc == CW_OK || rc == CW_NOMEM);
        assert_int_equal(cw_task_end(task, CW_TASK_COMPLETED, CW_STR("done"), CW_STR("{}")), CW_OK);
        cw_task_unref(task);
    }
    cw_tasks_free(table);
}

TEST(every_allocation_may_fail)
{
    assert_true(oom_each(live_once, NULL) >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_task_is_found_by_its_owner_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_task_that_was_dropped_was_never_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_gives_way_to_a_new_task, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_task_whose_time_is_over_is_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_task_that_has_ended_does_not_change, set_up, tear_down),
        cmocka_unit_test_setup_teardown(questions_are_open_until_they_are_answered, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_exceeds_the_share_of_its_owner_is_not_kept, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_network_has_no_more_than_half_of_the_places, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            results_have_a_ceiling_in_all_of_which_anonymous_callers_have_half, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_operator_sees_and_cancels_all, set_up, tear_down),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
