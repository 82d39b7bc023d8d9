/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rings of events: order, ceilings, repetitions, gaps, cursors, watches, and each allocation failing
 * in turn. */
#include "event/hub.h"
#include "event/occurrence.h"

#include "support/assert_str.h"
#include "support/oom.h"
#include "support/test.h"

static cw_loop loop;
static cw_event_hub *hub;
static unsigned n_updates;
static const cw_event_rules roomy = {.keep = 100, .max_age = 60000, .per_minute = 60000};

static void on_updated(void *ctx, cw_str uri)
{
    (void)ctx;
    assert_str(uri, "events://s/n");
    n_updates++;
}

SETUP(set_up)
{
    cw_err err;
    if (cw_loop_init(&loop, 64, &err))
        return -1;
    n_updates = 0;
    cw_event_hub_opts opts = {.main = &loop, .n_loops = 1, .updated = on_updated};
    return cw_event_hub_new(&opts, &hub, &err) ? -1 : 0;
}

TEARDOWN(tear_down)
{
    cw_event_hub_close(hub);
    cw_loop_end(&loop);
    cw_loop_run(&loop);
    cw_event_hub_free(hub);
    cw_loop_done(&loop);
    return 0;
}

static cw_event_type *open_type(const cw_event_rules *rules)
{
    cw_event_type *type = NULL;
    assert_int_equal(cw_event_open(hub, CW_STR("s"), CW_STR("n"), rules, &type, NULL), CW_OK);
    return type;
}

static cw_code publish(cw_event_type *type, const char *id, const char *data)
{
    cw_event_news news = {.id = cw_str_from(id), .data = cw_str_from(data)};
    cw_code rc = cw_event_admit(type, &news);
    return rc ? rc : cw_event_publish(type, &news);
}

static void publish_numbers(cw_event_type *type, int from, int to)
{
    for (int i = from; i <= to; i++) {
        char data[16];
        snprintf(data, sizeof data, "%d", i);
        assert_int_equal(publish(type, "", data), CW_OK);
    }
}

/* Events behind `after` in one text: "1 2 3", with "gap " before and " more" behind. */
static void assert_events(cw_event_type *type, uint64_t after, size_t max, const char *expected,
                          uint64_t *ret_cursor)
{
    cw_event_batch batch;
    cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_event_read(type, after, max, &batch);
    cw_buf_add(&text, batch.is_truncated ? CW_STR("gap ") : CW_STR(""));
    for (size_t i = 0; i < batch.n; i++) {
        cw_buf_add(&text, batch.items[i]->data);
        cw_buf_add(&text, i + 1 < batch.n ? CW_STR(" ") : CW_STR(""));
    }
    cw_buf_add(&text, batch.has_more ? CW_STR(" more") : CW_STR(""));
    assert_str(cw_buf_str(&text), expected);
    if (ret_cursor)
        *ret_cursor = batch.cursor;
    cw_event_batch_done(&batch);
    cw_buf_done(&text);
}

TEST(events_are_read_in_order_behind_a_cursor)
{
    cw_event_type *type = open_type(&roomy);
    uint64_t now = cw_event_now(hub), cursor;
    publish_numbers(type, 1, 3);
    assert_events(type, now, 10, "1 2 3", &cursor);
    assert_events(type, cursor, 10, "", &cursor);
    publish_numbers(type, 4, 6);
    assert_events(type, cursor, 2, "4 5 more", &cursor);
    assert_events(type, cursor, 2, "6", &cursor);
    assert_events(type, 0, 2, "5 6", NULL);
    cw_event_type_unref(type);
}

TEST(a_full_ring_evicts_its_oldest_and_reports_the_gap)
{
    cw_event_rules rules = roomy;
    rules.keep = 3;
    cw_event_type *type = open_type(&rules);
    uint64_t now = cw_event_now(hub), cursor;
    publish_numbers(type, 1, 5);
    assert_events(type, now, 10, "gap 3 4 5", &cursor);
    publish_numbers(type, 6, 6);
    assert_events(type, cursor, 10, "6", NULL);
    /* A smaller ring keeps the newest. */
    rules.keep = 2;
    cw_event_type *same = open_type(&rules);
    assert_ptr_equal(same, type);
    assert_events(type, cursor, 10, "6", NULL);
    assert_events(type, now, 10, "gap 5 6", NULL);
    cw_event_type_unref(same);
    cw_event_type_unref(type);
}

TEST(a_ring_has_a_ceiling_of_bytes)
{
    enum { SIZE = 60000 };
    char data[SIZE + 1];
    memset(data, '1', SIZE);
    data[SIZE] = '\0';
    cw_event_type *type = open_type(&roomy);
    for (int i = 0; i < 30; i++)
        assert_int_equal(publish(type, "", data), CW_OK);
    cw_event_batch batch;
    cw_event_read(type, 1, CW_EVENT_BATCH, &batch);
    assert_true(batch.n * SIZE <= CW_EVENT_KEPT_BYTES);
    assert_true(batch.n >= 16);
    assert_true(batch.is_truncated);
    cw_event_batch_done(&batch);
    cw_event_type_unref(type);
}

TEST(old_events_go)
{
    cw_event_rules rules = roomy;
    rules.max_age = 1;
    cw_event_type *type = open_type(&rules);
    uint64_t now = cw_event_now(hub);
    publish_numbers(type, 1, 1);
    for (int64_t begin = cw_clock_wall_ms(); cw_clock_wall_ms() < begin + 5;)
        ;
    assert_events(type, now, 10, "gap ", NULL);
    cw_event_type_unref(type);
}

TEST(a_repetition_is_declined_and_what_is_too_large_is_lost)
{
    cw_event_type *type = open_type(&roomy);
    uint64_t now = cw_event_now(hub);
    char *large = calloc(1, CW_EVENT_MAX_BYTES + 2);
    memset(large, '1', CW_EVENT_MAX_BYTES + 1);
    assert_int_equal(publish(type, "a", "1"), CW_OK);
    assert_int_equal(publish(type, "a", "2"), CW_DECLINED);
    assert_events(type, now, 10, "1", NULL);
    assert_int_equal(publish(type, "b", large), CW_LIMIT);
    assert_events(type, now, 10, "gap 1", NULL);
    free(large);
    cw_event_type_unref(type);
}

TEST(an_admitted_event_is_declined_if_another_has_published_its_id_since)
{
    cw_event_type *type = open_type(&roomy);
    uint64_t now = cw_event_now(hub);
    const cw_event_news news = {.id = CW_STR("a"), .data = CW_STR("1")};
    assert_int_equal(cw_event_admit(type, &news), CW_OK);
    assert_int_equal(cw_event_admit(type, &news), CW_OK);
    assert_int_equal(cw_event_publish(type, &news), CW_OK);
    assert_int_equal(cw_event_publish(type, &news), CW_DECLINED);
    assert_events(type, now, 10, "1", NULL);
    cw_event_type_unref(type);
}

TEST(an_eviction_does_not_hide_an_event_that_was_lost_since)
{
    cw_event_rules rules = roomy;
    rules.keep = 2;
    cw_event_type *type = open_type(&rules);
    uint64_t now = cw_event_now(hub), cursor;
    char *large = calloc(1, CW_EVENT_MAX_BYTES + 2);
    memset(large, '1', CW_EVENT_MAX_BYTES + 1);
    publish_numbers(type, 1, 2);
    assert_events(type, now, 10, "1 2", &cursor);
    assert_int_equal(publish(type, "", large), CW_LIMIT);
    publish_numbers(type, 3, 3);
    assert_events(type, cursor, 10, "gap 3", NULL);
    free(large);
    cw_event_type_unref(type);
}

TEST(beyond_the_rate_events_are_lost)
{
    cw_event_rules rules = roomy;
    rules.per_minute = 2;
    cw_event_type *type = open_type(&rules);
    uint64_t now = cw_event_now(hub), cursor;
    publish_numbers(type, 1, 2);
    assert_events(type, now, 10, "1 2", &cursor);
    assert_int_equal(publish(type, "", "3"), CW_LIMIT);
    assert_events(type, cursor, 10, "gap ", &cursor);
    assert_events(type, cursor, 10, "", NULL);
    cw_event_type_unref(type);
}

TEST(a_cursor_of_another_process_is_old)
{
    char text[CW_EVENT_CURSOR];
    uint64_t number;
    bool is_old;
    cw_event_cursor_write(hub, 42, text);
    assert_true(cw_event_cursor_parse(hub, cw_str_from(text), &number, &is_old));
    assert_int_equal(number, 42);
    assert_false(is_old);
    text[0] = text[0] == '0' ? '1' : '0';
    assert_true(cw_event_cursor_parse(hub, cw_str_from(text), &number, &is_old));
    assert_true(is_old);
    assert_int_equal(number, 1);
    text[16] = '_';
    assert_false(cw_event_cursor_parse(hub, cw_str_from(text), &number, &is_old));
    assert_false(cw_event_cursor_parse(hub, CW_STR("1-2"), &number, &is_old));
}

static unsigned n_news;
static cw_event_watch watches[3];

static void on_news(cw_event_watch *w)
{
    n_news++;
    cw_event_watch_remove(w);
    /* Others may go as well. */
    if (w == &watches[0])
        cw_event_watch_remove(&watches[1]);
}

TEST(a_watch_is_called_once_for_many_events_and_may_remove_others)
{
    cw_event_type *type = open_type(&roomy);
    n_news = 0;
    for (size_t i = 0; i < CW_COUNT(watches); i++) {
        watches[i] = (cw_event_watch){.on_news = on_news};
        cw_event_watch_add(type, &loop, cw_event_now(hub), &watches[i]);
    }
    publish_numbers(type, 1, 20);
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(n_news, 2);
    assert_int_equal(n_updates, 1);
    cw_event_type_unref(type);
}

static void count_news(cw_event_watch *w)
{
    (void)w;
    n_news++;
}

TEST(losses_wake_a_watch_without_an_event_and_a_flood_of_them_does_so_once_in_a_while)
{
    cw_event_type *type = open_type(&roomy);
    cw_event_watch watch = {.on_news = count_news};
    uint64_t begin = cw_loop_now(&loop);
    n_news = 0;
    cw_event_watch_add(type, &loop, cw_event_now(hub), &watch);
    cw_event_gap(type);
    for (int i = 0; i < 3; i++) /* the main loop is told, then the loop of the watch */
        uv_run(&loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(n_news, 1);
    while (n_news == 1) {
        cw_event_drop(type, CW_EVENT_DROP_LIMIT);
        uv_run(&loop.uv, UV_RUN_ONCE);
    }
    assert_true(cw_loop_now(&loop) - begin >= CW_EVENT_UPDATE_MS);
    assert_int_equal(n_news, 2);
    assert_int_equal(n_updates, 0);
    cw_event_watch_remove(&watch);
    cw_event_type_unref(type);
}

static void use_hub(void *ctx)
{
    (void)ctx;
    cw_event_type *type = NULL;
    cw_err err = {0};
    cw_code rc = cw_event_open(hub, CW_STR("s"), CW_STR("n"), &roomy, &type, &err);
    assert_true(rc == CW_OK || (rc == CW_NOMEM && oom_was_hit()));
    if (rc)
        return;
    cw_event_batch batch;
    uint64_t now = cw_event_now(hub);
    rc = publish(type, "x", "1");
    assert_true(rc == CW_OK || (rc == CW_NOMEM && oom_was_hit()));
    cw_event_read(type, now, 10, &batch);
    assert_int_equal(batch.n, rc ? 0 : 1);
    assert_int_equal(batch.is_truncated, rc != CW_OK);
    cw_event_batch_done(&batch);
    cw_event_type_unref(type);
}

TEST(every_failed_allocation_is_survived)
{
    assert_true(oom_each(use_hub, NULL) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(events_are_read_in_order_behind_a_cursor, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_full_ring_evicts_its_oldest_and_reports_the_gap, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_ring_has_a_ceiling_of_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(old_events_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_repetition_is_declined_and_what_is_too_large_is_lost,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            an_admitted_event_is_declined_if_another_has_published_its_id_since, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_eviction_does_not_hide_an_event_that_was_lost_since,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(beyond_the_rate_events_are_lost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cursor_of_another_process_is_old, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_watch_is_called_once_for_many_events_and_may_remove_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            losses_wake_a_watch_without_an_event_and_a_flood_of_them_does_so_once_in_a_while,
            set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_failed_allocation_is_survived, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("event_hub", tests, NULL, NULL);
}
