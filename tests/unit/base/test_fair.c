/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/fair.h"
#include "support/oom.h"
#include "support/test.h"

static cw_fair_queue queue;
static cw_fair_item items[64];

SETUP(setup)
{
    memset(items, 0, sizeof items);
    cw_fair_init(&queue);
    return 0;
}

TEARDOWN(teardown)
{
    cw_fair_done(&queue);
    return 0;
}

static cw_fair_key key_of(uint64_t a, uint64_t b, uint64_t c)
{
    return (cw_fair_key){{a, b, c}};
}

static cw_code push(size_t i, cw_fair_key key, uint32_t max, cw_fair_item **lost)
{
    return cw_fair_push(&queue, &items[i], &key, max, lost);
}

static void add(size_t i, cw_fair_key key)
{
    cw_fair_item *lost;
    assert_int_equal(push(i, key, 64, &lost), CW_OK);
    assert_null(lost);
}

static size_t take(void)
{
    cw_fair_item *first = cw_fair_first(&queue);
    assert_non_null(first);
    cw_fair_take(&queue, first);
    return (size_t)(first - items);
}

TEST(callers_take_turns)
{
    for (size_t i = 0; i < 10; i++)
        add(i, key_of(1, 1, 1));
    add(20, key_of(2, 2, 2));
    add(21, key_of(2, 2, 2));
    add(30, key_of(3, 3, 3));
    static const size_t order[] = {0, 20, 30, 1, 21, 2, 3};
    for (size_t i = 0; i < CW_COUNT(order); i++)
        assert_int_equal(take(), order[i]);
    assert_int_equal(cw_fair_count(&queue), 6);
}

TEST(one_that_comes_later_waits_for_one_round)
{
    for (size_t i = 0; i < 10; i++)
        add(i, key_of(1, 1, 1));
    assert_int_equal(take(), 0);
    add(20, key_of(2, 2, 2));
    assert_int_equal(take(), 1);
    assert_int_equal(take(), 20);
    add(21, key_of(2, 2, 2));
    assert_int_equal(take(), 2);
    assert_int_equal(take(), 21);
}

TEST(many_networks_of_one_customer_are_one_caller_to_others)
{
    for (size_t i = 0; i < 8; i++)
        add(i, key_of(1, 10 + i / 4, 100 + i));
    add(20, key_of(2, 2, 2));
    static const size_t order[] = {0, 20, 4, 1, 5};
    for (size_t i = 0; i < CW_COUNT(order); i++)
        assert_int_equal(take(), order[i]);
}

TEST(a_caller_alone_may_have_all_places)
{
    cw_fair_item *lost;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(push(i, key_of(1, 1, 1), 4, &lost), CW_OK);
    assert_int_equal(push(4, key_of(1, 1, 1), 4, &lost), CW_LIMIT);
    assert_int_equal(cw_fair_count(&queue), 4);
}

TEST(a_full_queue_has_places_for_others)
{
    cw_fair_item *lost;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(push(i, key_of(1, 1, 1), 4, &lost), CW_OK);
    assert_int_equal(push(20, key_of(2, 2, 2), 4, &lost), CW_OK);
    assert_ptr_equal(lost, &items[3]); /* the newest */
    assert_null(lost->group);
    assert_int_equal(push(21, key_of(2, 2, 2), 4, &lost), CW_OK);
    assert_ptr_equal(lost, &items[2]);
    /* Equal shares: nothing changes hands any more. */
    assert_int_equal(push(22, key_of(2, 2, 2), 4, &lost), CW_LIMIT);
    assert_int_equal(push(3, key_of(1, 1, 1), 4, &lost), CW_LIMIT);
    assert_int_equal(cw_fair_count(&queue), 4);
}

TEST(within_a_network_the_largest_yields)
{
    cw_fair_item *lost;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(push(i, key_of(1, 1, 1), 4, &lost), CW_OK);
    assert_int_equal(push(3, key_of(1, 1, 2), 4, &lost), CW_OK);
    assert_int_equal(push(10, key_of(1, 1, 2), 4, &lost), CW_OK);
    assert_ptr_equal(lost, &items[2]);
    assert_int_equal(push(11, key_of(1, 1, 2), 4, &lost), CW_LIMIT);
    assert_int_equal(push(12, key_of(1, 1, 3), 4, &lost), CW_OK);
    assert_ptr_equal(lost, &items[1]);
    assert_int_equal(push(13, key_of(9, 9, 9), 4, &lost), CW_OK);
    assert_ptr_equal(lost, &items[10]);
}

TEST(those_that_leave_make_room)
{
    cw_fair_item *lost;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(push(i, key_of(1, 1, i), 4, &lost), CW_OK);
    cw_fair_remove(&queue, &items[1]);
    assert_int_equal(push(1, key_of(1, 1, 9), 4, &lost), CW_OK);
    assert_null(lost);
    for (size_t i = 0; i < 4; i++)
        take();
    assert_null(cw_fair_first(&queue));
    assert_int_equal(cw_fair_count(&queue), 0);
}

TEST(callers_can_be_looked_at_in_turn)
{
    for (size_t i = 0; i < 3; i++)
        add(i, key_of(1, 1, 1));
    add(10, key_of(1, 5, 6));
    add(20, key_of(2, 2, 2));
    const cw_fair_item *at = cw_fair_first(&queue);
    assert_ptr_equal(at, &items[0]);
    at = cw_fair_next_caller(&queue, at);
    assert_ptr_equal(at, &items[10]);
    at = cw_fair_next_caller(&queue, at);
    assert_ptr_equal(at, &items[20]);
    assert_null(cw_fair_next_caller(&queue, at));
}

static void push_once(void *ctx)
{
    cw_fair_queue *q = ctx;
    cw_fair_item own[3] = {{.group = NULL}}, *lost;
    uint32_t n = 0;
    cw_fair_init(q);
    for (uint32_t i = 0; i < 3; i++) {
        /* The third one is another caller's, and takes the place of the second. */
        cw_fair_key key = i < 2 ? key_of(1, 1, 1) : key_of(2, 3, 4);
        cw_code rc = cw_fair_push(q, &own[i], &key, 2, &lost);
        assert_true(rc == CW_OK || (rc == CW_NOMEM && oom_was_hit()));
        assert_ptr_equal(lost, !rc && i == 2 && n == 2 ? &own[1] : NULL);
        n += !rc && !lost;
        assert_int_equal(cw_fair_count(q), n);
    }
    cw_fair_done(q);
}

TEST(without_memory_nothing_changes)
{
    assert_int_equal(oom_each(push_once, &queue), 6);
}

/* ---- counted places ---- */

static uint32_t fill(cw_fair_slots *p, cw_fair_key key, uint32_t max, uint32_t each,
                     cw_fair_group **last)
{
    uint32_t n = 0;
    cw_fair_group *place;
    while (cw_fair_slots_enter(p, &key, max, each, &place) == CW_OK) {
        *last = place;
        n++;
    }
    return n;
}

TEST(one_caller_holds_half_of_the_places_and_others_find_some)
{
    cw_fair_slots p;
    cw_fair_group *place = NULL;
    cw_fair_slots_init(&p);
    assert_int_equal(fill(&p, key_of(1, 1, 1), 1000, 0, &place), 500);
    assert_int_equal(fill(&p, key_of(2, 2, 2), 1000, 0, &place), 250);
    assert_int_equal(fill(&p, key_of(3, 3, 3), 1000, 0, &place), 125);
    cw_fair_slots_leave(&p, place);
    assert_int_equal(fill(&p, key_of(3, 3, 3), 1000, 0, &place), 1);
    /* Few places are not divided. */
    assert_int_equal(fill(&p, key_of(4, 4, 4), 878, 0, &place), 3);
    cw_fair_slots_leave(&p, NULL);
    cw_fair_slots_done(&p);
}

TEST(many_networks_of_one_customer_hold_half_together)
{
    cw_fair_slots p;
    cw_fair_group *place = NULL;
    uint32_t n = 0;
    cw_fair_slots_init(&p);
    for (uint64_t i = 0; i < 2000; i++) {
        cw_fair_key key = key_of(1, 100 + i / 256, 10000 + i);
        n += cw_fair_slots_enter(&p, &key, 1000, 0, &place) == CW_OK;
    }
    assert_int_equal(n, 500);
    assert_int_equal(fill(&p, key_of(2, 2, 2), 1000, 3, &place), 3);
    cw_fair_slots_done(&p);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(callers_take_turns),
        T(one_that_comes_later_waits_for_one_round),
        T(many_networks_of_one_customer_are_one_caller_to_others),
        T(a_caller_alone_may_have_all_places),
        T(a_full_queue_has_places_for_others),
        T(within_a_network_the_largest_yields),
        T(those_that_leave_make_room),
        T(callers_can_be_looked_at_in_turn),
        T(without_memory_nothing_changes),
        cmocka_unit_test(one_caller_holds_half_of_the_places_and_others_find_some),
        cmocka_unit_test(many_networks_of_one_customer_hold_half_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
