/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of rules with schemas: which are published, and the work that they may cost. */
#include "source/event/event_offers.h"

#include "base/clock.h"
#include "support/test.h"

#define STEPS 20000u  /* of one event */
#define COSTLY 12000u /* elements: valid data that costs more than half of that */
#define DATA_MAX 40000u

static cw_loop loop;
static cw_event_hub *hub;

SETUP(set_up)
{
    cw_err err;
    if (cw_loop_init(&loop, 64, &err))
        return -1;
    const cw_event_hub_opts opts = {.main = &loop, .n_loops = 1, .validation_steps = STEPS};
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

static cw_event_rule open_rule(const char *source, const char *name, const char *schema)
{
    const cw_config_event config = {
        .schema = cw_str_from(schema), .keep = 1000, .keep_ms = 600000, .per_minute = 60000};
    cw_event_rule rule;
    assert_int_equal(cw_event_source_open_rule(hub, cw_str_from(source), cw_str_from(name), &config,
                                               &rule, NULL),
                     CW_OK);
    return rule;
}

/* Whether the event with this data is published. */
static bool publish(cw_event_rule *rule, const char *data)
{
    cw_event_batch batch;
    uint64_t now = cw_event_now(hub);
    cw_event_source_publish(rule, &(cw_event_news){.data = cw_str_from(data)}, NULL);
    cw_event_read(rule->type, now, CW_EVENT_BATCH, &batch);
    bool is_there = batch.n == 1;
    assert_int_equal(batch.is_truncated, !is_there);
    cw_event_batch_done(&batch);
    return is_there;
}

/* [1,1,...,last] */
static const char *costly_list(const char *last)
{
    static char text[DATA_MAX];
    size_t n = 0;
    text[n++] = '[';
    for (unsigned i = 0; i < COSTLY; i++) {
        memcpy(text + n, "1,", 2);
        n += 2;
    }
    snprintf(text + n, sizeof text - n, "%s]", last);
    return text;
}

/* Many expensive events that fail, then one that is valid: whether it is published. The limit recovers by
 * the second, so a round that took longer does not count. */
static bool publish_after_waste(cw_event_rule *wasteful, cw_event_rule *rule)
{
    uint64_t begin;
    bool is_there;
    do {
        begin = cw_clock_ms();
        for (int i = 0; i < 8; i++)
            assert_false(publish(wasteful, costly_list("true")));
        is_there = publish(rule, costly_list("1"));
    } while (cw_clock_ms() - begin > 1000);
    return is_there;
}

TEST(expensive_events_that_fail_lower_the_limit_of_all_events_of_their_source)
{
    static const char integers[] = "{\"items\":{\"type\":\"integer\"}}";
    static const char *const others[] = {"t", "u", "v", "w"};
    cw_event_rule wasteful = open_rule("s", "a", integers), same = open_rule("s", "b", integers);
    size_t n = 0;
    assert_true(publish(&same, costly_list("1")));
    assert_false(publish_after_waste(&wasteful, &same));
    assert_true(publish(&same, "[1]"));
    /* Other sources may share its slot, but few do. */
    for (size_t i = 0; i < CW_COUNT(others); i++) {
        cw_event_rule other = open_rule(others[i], "a", integers);
        n += publish_after_waste(&wasteful, &other);
        cw_event_source_close_rule(&other);
    }
    assert_true(n >= CW_COUNT(others) - 1);
    cw_event_source_close_rule(&wasteful);
    cw_event_source_close_rule(&same);
}

TEST(data_that_is_no_json_does_not_match_its_schema)
{
    cw_event_rule rule = open_rule("s", "a", "{}");
    assert_false(publish(&rule, "{\"a\":1,\"a\":2}"));
    assert_int_equal(atomic_load(&rule.noted), 1u << CW_EVENT_LOSS_SCHEMA);
    cw_event_source_close_rule(&rule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            expensive_events_that_fail_lower_the_limit_of_all_events_of_their_source, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(data_that_is_no_json_does_not_match_its_schema, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("event_offers", tests, NULL, NULL);
}
