/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notifications as events: which are published, with what data, and each allocation failing in turn. */
#include "source/upstream/event_intake.h"

#include "support/assert_str.h"
#include "support/oom.h"
#include "support/test.h"

static const cw_config_event events[] = {
    {.name = CW_STR_INIT("done"),
     .method = CW_STR_INIT("job.done"),
     .data = CW_STR_INIT("/params/job"),
     .id = CW_STR_INIT("/params/job/id"),
     .time = CW_STR_INIT("/params/at"),
     .schema = CW_STR_INIT("{\"type\":\"object\",\"required\":[\"id\"]}"),
     .subscribe = {CW_STR_INIT("job.watch"), CW_STR_INIT("[1]")},
     .keep = 10,
     .keep_ms = 60000,
     .per_minute = 1000},
    {.name = CW_STR_INIT("rows"),
     .method = CW_STR_INIT("update"),
     .rows = CW_CONFIG_ROWS_INSERTED,
     .keep = 10,
     .keep_ms = 60000,
     .per_minute = 1000},
    {.name = CW_STR_INIT("wrong"), .schema = CW_STR_INIT("{\"type\":\"nothing\"}"), .keep = 10},
};

static const struct {
    const char *method, *text;
} messages[] = {
    {"job.done", "{\"params\":{\"job\":{\"id\":\"7\",\"ok\":true},\"at\":1700000000}}"},
    {"job.done", "{\"params\":{\"job\":{\"ok\":true}}}"}, /* does not match the schema */
    {"update", "{\"params\":{\"T\":{\"u\":{\"new\":{\"a\":1}}}}}"},
    {"other", "{\"params\":{}}"},
};

typedef struct taken {
    cw_loop loop;
    bool has_loop;
    cw_event_hub *hub;
    cw_endpoint *service;
    cw_event_intake *intake;
    cw_arena arena;
    cw_buf warnings;
} taken;

static cw_code open_taken(taken *t)
{
    const cw_config_remote config = {.name = CW_STR("s"),
                                     .url = CW_STR("ws://127.0.0.1:1/"),
                                     .timeout_ms = 1000,
                                     .connections = 1,
                                     .events = {events, CW_COUNT(events)}};
    cw_err err = {0};
    memset(t, 0, sizeof *t);
    cw_arena_init(&t->arena, 1 << 20);
    cw_buf_init(&t->warnings, 1 << 16);
    if (cw_loop_init(&t->loop, 64, &err))
        return CW_NOMEM;
    t->has_loop = true;
    const cw_event_hub_opts opts = {
        .main = &t->loop, .n_loops = 1, .validation_steps = CW_CALL_MAX_STEPS};
    cw_code rc = cw_event_hub_new(&opts, &t->hub, &err);
    if (!rc)
        rc = cw_endpoint_new(&config, NULL, &t->service, &err);
    return rc ? rc : cw_event_intake_new(t->hub, t->service, &t->warnings, &t->intake, &err);
}

static void close_taken(taken *t)
{
    cw_event_intake_unref(t->intake);
    cw_endpoint_unref(t->service);
    cw_event_hub_close(t->hub);
    if (t->has_loop) {
        cw_loop_end(&t->loop);
        cw_loop_run(&t->loop);
    }
    cw_event_hub_free(t->hub);
    if (t->has_loop)
        cw_loop_done(&t->loop);
    cw_buf_done(&t->warnings);
    cw_arena_done(&t->arena);
}

static void receive_all(taken *t)
{
    for (size_t i = 0; i < CW_COUNT(messages); i++) {
        const cw_json *message;
        if (!cw_json_read(cw_str_from(messages[i].text), NULL, &t->arena, &message, NULL, NULL))
            cw_event_intake_receive(t->intake, cw_str_from(messages[i].method), message);
    }
}

/* The data of the only event of a rule. */
static void assert_event(const taken *t, size_t rule, const char *data)
{
    size_t n;
    cw_event_batch batch;
    const cw_event_rule *rules = cw_event_intake_rules(t->intake, &n);
    cw_event_read(rules[rule].type, 0, CW_EVENT_BATCH, &batch);
    assert_int_equal(batch.n, 1);
    assert_str(batch.items[0]->data, data);
    cw_event_batch_done(&batch);
}

TEST(notifications_become_events_with_the_data_that_clients_receive)
{
    taken t;
    size_t n;
    assert_int_equal(open_taken(&t), CW_OK);
    (void)cw_event_intake_rules(t.intake, &n);
    assert_int_equal(n, 2);
    assert_non_null(memmem(t.warnings.p, t.warnings.n, "'wrong' is left out: schema", 27));
    assert_str(cw_event_intake_subscriptions(t.intake, &n)[0].method, "job.watch");
    assert_int_equal(n, 1);
    receive_all(&t);
    assert_event(&t, 0, "{\"id\":\"7\",\"ok\":true}");
    assert_event(&t, 1, "{\"table\":\"T\",\"uuid\":\"u\",\"new\":{\"a\":1}}");
    close_taken(&t);
}

/* Other members could replace the table and the row, or make a text with duplicate keys. */
TEST(data_of_a_row_has_only_its_table_its_id_and_its_change)
{
    taken t;
    const cw_json *message;
    assert_int_equal(open_taken(&t), CW_OK);
    cw_str text = CW_STR("{\"params\":{\"T\":{\"u\":{\"table\":\"Other\",\"uuid\":\"x\",\"old\":1,"
                         "\"new\":{\"a\":1},\"more\":{}}}}}");
    assert_int_equal(cw_json_read(text, NULL, &t.arena, &message, NULL, NULL), CW_OK);
    cw_event_intake_receive(t.intake, CW_STR("update"), message);
    assert_event(&t, 1, "{\"table\":\"T\",\"uuid\":\"u\",\"new\":{\"a\":1}}");
    close_taken(&t);
}

static void take_once(void *ctx)
{
    taken t;
    (void)ctx;
    cw_code rc = open_taken(&t);
    if (rc)
        assert_true(rc == CW_NOMEM && oom_was_hit());
    if (t.intake) {
        receive_all(&t);
        cw_event_intake_gap(t.intake);
    }
    close_taken(&t);
}

TEST(every_failed_allocation_is_survived)
{
    assert_true(oom_each(take_once, NULL) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notifications_become_events_with_the_data_that_clients_receive),
        cmocka_unit_test(data_of_a_row_has_only_its_table_its_id_and_its_change),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("event_intake", tests, NULL, NULL);
}
