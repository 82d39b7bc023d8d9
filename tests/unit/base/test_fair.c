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

TEST(equal_keys_below_two_groups_are_two_groups)
{
    add(0, key_of(1, 1, 3));
    add(1, key_of(3, 3, 3));
    add(2, key_of(1, 2, 3));
    cw_fair_remove(&queue, &items[0]);
    assert_int_equal(take(), 2);
    assert_int_equal(take(), 1);
    assert_int_equal(cw_fair_count(&queue), 0);
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

TEST(networks_can_be_looked_at_in_turn)
{
    for (size_t i = 0; i < 8; i++)
        add(i, key_of(1, 10 + i / 4, 100 + i));
    add(20, key_of(2, 2, 2));
    add(30, key_of(3, 3, 3));
    const cw_fair_item *at = cw_fair_next_caller(&queue, cw_fair_first(&queue));
    assert_ptr_equal(at, &items[1]);
    at = cw_fair_next_network(&queue, at);
    assert_ptr_equal(at, &items[20]);
    at = cw_fair_next_network(&queue, at);
    assert_ptr_equal(at, &items[30]);
    assert_null(cw_fair_next_network(&queue, at));
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

TEST(things_of_a_size_take_as_many_places_as_they_need)
{
    cw_fair_slots p;
    cw_fair_group *place = NULL;
    cw_fair_key a = key_of(1, 1, 1), b = key_of(2, 2, 2), c = key_of(3, 3, 3);
    cw_fair_slots_init(&p);
    assert_int_equal(cw_fair_slots_take(&p, &a, 40, 100, 16), CW_OK);
    /* A caller with one thing more of the same size would hold more than is left. */
    assert_int_equal(cw_fair_slots_take(&p, &a, 40, 100, 16), CW_LIMIT);
    assert_int_equal(cw_fair_slots_take(&p, &a, 10, 100, 16), CW_OK);
    assert_int_equal(cw_fair_slots_count(&p), 50);
    assert_int_equal(cw_fair_slots_take(&p, &b, 20, 100, 16), CW_OK);
    assert_int_equal(cw_fair_slots_take(&p, &c, 15, 100, 16), CW_OK);
    assert_int_equal(cw_fair_slots_take(&p, &b, 1, 100, 16), CW_LIMIT);
    /* A single place is the same as one that is entered. */
    assert_int_equal(fill(&p, b, 100, 0, &place), 0);
    cw_fair_slots_give(&p, &a, 40);
    assert_int_equal(fill(&p, b, 100, 0, &place), 18);
    cw_fair_slots_give(&p, &a, 10);
    cw_fair_slots_give(&p, &b, 38);
    cw_fair_slots_give(&p, &c, 15);
    assert_int_equal(cw_fair_slots_count(&p), 0);
    cw_fair_slots_done(&p);
}

TEST(a_caller_may_always_hold_one_thing_if_it_fits)
{
    cw_fair_slots p;
    cw_fair_key a = key_of(1, 1, 1), b = key_of(2, 2, 2);
    cw_fair_slots_init(&p);
    assert_int_equal(cw_fair_slots_take(&p, &a, 51, 100, 50), CW_LIMIT);
    assert_int_equal(cw_fair_slots_take(&p, &a, 20, 100, 50), CW_OK);
    assert_int_equal(cw_fair_slots_take(&p, &a, 30, 100, 50), CW_OK);
    assert_int_equal(cw_fair_slots_take(&p, &a, 1, 100, 50), CW_LIMIT);
    assert_int_equal(cw_fair_slots_take(&p, &b, 50, 100, 50), CW_OK);
    cw_fair_slots_give(&p, &a, 50);
    assert_int_equal(cw_fair_slots_take(&p, &a, 51, 100, 100), CW_LIMIT);
    assert_int_equal(cw_fair_slots_take(&p, &a, 50, 100, 100), CW_OK);
    /* A ceiling that was lowered meanwhile. */
    assert_int_equal(cw_fair_slots_take(&p, &a, 1, 60, 60), CW_LIMIT);
    assert_int_equal(cw_fair_slots_take(&p, &a, UINT32_MAX, 60, 60), CW_LIMIT);
    cw_fair_slots_give(&p, &b, 50);
    /* One alone may hold all of what is no more than one thing. */
    assert_int_equal(cw_fair_slots_take(&p, &a, 50, 100, 100), CW_OK);
    cw_fair_slots_give(&p, &a, 100);
    cw_fair_slots_done(&p);
}

static void take_once(void *ctx)
{
    cw_fair_slots p;
    cw_fair_key a = key_of(1, 1, 1);
    (void)ctx;
    cw_fair_slots_init(&p);
    cw_code rc = cw_fair_slots_take(&p, &a, 5, 100, 10);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    assert_int_equal(cw_fair_slots_count(&p), oom_was_hit() ? 0 : 5);
    cw_fair_slots_done(&p);
}

TEST(places_are_not_held_without_memory)
{
    assert_int_equal(oom_each(take_once, NULL), 3);
}

/* ---- places in turn ---- */

#define SECOND UINT64_C(1000000000)

static cw_fair_turns turns;
static uint64_t now_ns;

SETUP(setup_turns)
{
    cw_fair_turns_init(&turns);
    now_ns = 1;
    return 0;
}

TEARDOWN(teardown_turns)
{
    cw_fair_turns_done(&turns);
    return 0;
}

/* A place of caller `a`, or NULL. */
static cw_fair_group *enter(uint64_t a, uint32_t max)
{
    cw_fair_group *place;
    cw_fair_key key = key_of(a, a, a);
    cw_code rc = cw_fair_turns_enter(&turns, &key, max, now_ns, &place);
    assert_int_equal(rc, place ? CW_OK : CW_LIMIT);
    return place;
}

static void leave(cw_fair_group *place)
{
    assert_non_null(place);
    cw_fair_turns_leave(&turns, place);
}

TEST(a_caller_alone_may_hold_all_places_again_and_again)
{
    cw_fair_group *places[8];
    for (uint32_t max = 1; max <= CW_COUNT(places); max++) {
        for (uint32_t round = 0; round < 3; round++) {
            for (uint32_t i = 0; i < max; i++)
                assert_non_null(places[i] = enter(1, max));
            assert_null(enter(1, max));
            for (uint32_t i = 0; i < max; i++)
                leave(places[i]);
        }
    }
    cw_fair_turns_leave(NULL, NULL);
}

TEST(callers_take_turns_at_a_single_place)
{
    cw_fair_group *place = enter(1, 1);
    assert_null(enter(2, 1));
    assert_null(enter(3, 1));
    leave(place);
    /* 1 has had its turn, and 3 came after 2. */
    assert_null(enter(1, 1));
    assert_null(enter(3, 1));
    leave(enter(2, 1));
    assert_null(enter(2, 1));
    assert_null(enter(1, 1));
    leave(enter(3, 1));
    leave(enter(1, 1));
    leave(enter(2, 1));
    leave(enter(2, 1));
}

TEST(many_callers_cannot_keep_one_out_of_few_places)
{
    cw_fair_group *places[4];
    for (uint64_t i = 0; i < 4; i++)
        assert_non_null(places[i] = enter(10 + i, 4));
    assert_null(enter(1, 4));
    for (uint64_t i = 0; i < 4; i++) {
        leave(places[i]);
        assert_null(enter(10 + i, 4));
        places[i] = i == 0 ? enter(1, 4) : enter(9 + i, 4);
        assert_non_null(places[i]);
    }
    for (uint64_t i = 0; i < 4; i++)
        leave(places[i]);
}

TEST(the_last_place_is_kept_for_those_without_one_while_others_come)
{
    cw_fair_group *places[3], *other;
    leave(enter(2, 3));
    for (uint32_t i = 0; i < 2; i++)
        assert_non_null(places[i] = enter(1, 3));
    /* It does not claim a place that it may not take. */
    assert_null(enter(1, 3));
    assert_non_null(other = enter(2, 3));
    assert_null(enter(3, 3));
    leave(other);
    assert_null(enter(1, 3));
    assert_null(enter(2, 3)); /* 3 came first */
    leave(enter(3, 3));
    leave(enter(2, 3));
    now_ns += CW_FAIR_OTHERS_NS - 1;
    assert_null(enter(1, 3));
    now_ns++;
    assert_non_null(places[2] = enter(1, 3));
    for (uint32_t i = 0; i < 3; i++)
        leave(places[i]);
}

TEST(all_networks_of_one_customer_are_one_caller_here)
{
    cw_fair_group *places[2];
    for (uint64_t i = 0; i < 2; i++) {
        cw_fair_key key = key_of(7, 70 + i, 700 + i);
        assert_int_equal(cw_fair_turns_enter(&turns, &key, 2, now_ns, &places[i]), CW_OK);
    }
    assert_null(enter(1, 2));
    leave(places[0]);
    cw_fair_key key = key_of(7, 79, 799);
    assert_int_equal(cw_fair_turns_enter(&turns, &key, 2, now_ns, &places[0]), CW_LIMIT);
    leave(enter(1, 2));
    leave(places[1]);
}

TEST(a_claim_lasts_while_its_caller_tries_and_not_longer)
{
    cw_fair_group *place = enter(1, 1);
    for (int i = 0; i < 10; i++) {
        now_ns += SECOND;
        assert_null(enter(2, 1));
    }
    assert_null(enter(3, 1));
    leave(place);
    assert_null(enter(1, 1));
    /* A try while a place is free renews nothing: 2 does not come, and 3 lapses with it. */
    now_ns += SECOND;
    assert_null(enter(3, 1));
    assert_null(enter(1, 1));
    now_ns += SECOND;
    leave(enter(4, 1));
    leave(enter(1, 1));
    assert_int_equal(turns.n_claims, 0);
}

TEST(claims_have_a_ceiling)
{
    cw_fair_group *place = enter(1, 1);
    for (uint64_t i = 0; i < 2 * CW_FAIR_CLAIMS; i++)
        assert_null(enter(100 + i, 1));
    assert_int_equal(turns.n_claims, CW_FAIR_CLAIMS);
    leave(place);
    assert_null(enter(100 + CW_FAIR_CLAIMS, 1));
    for (uint64_t i = 0; i < CW_FAIR_CLAIMS; i++)
        leave(enter(100 + i, 1));
    leave(enter(1, 1));
}

TEST(a_lower_ceiling_ends_nothing)
{
    cw_fair_group *a = enter(1, 2), *b = enter(1, 2);
    assert_null(enter(2, 1));
    leave(a);
    assert_null(enter(2, 1));
    leave(b);
    leave(enter(2, 1));
}

static void enter_once(void *ctx)
{
    cw_fair_turns t;
    cw_fair_group *place;
    cw_fair_key key = key_of(1, 2, 3);
    (void)ctx;
    cw_fair_turns_init(&t);
    cw_code rc = cw_fair_turns_enter(&t, &key, 1, now_ns, &place);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    assert_int_equal(t.groups.n, oom_was_hit() ? 0 : 1);
    cw_fair_turns_done(&t);
}

TEST(a_turn_is_not_taken_without_memory)
{
    assert_int_equal(oom_each(enter_once, NULL), 3);
}

int main(void)
{
#define TURN(name) cmocka_unit_test_setup_teardown(name, setup_turns, teardown_turns)
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(callers_take_turns),
        T(one_that_comes_later_waits_for_one_round),
        T(equal_keys_below_two_groups_are_two_groups),
        T(many_networks_of_one_customer_are_one_caller_to_others),
        T(a_caller_alone_may_have_all_places),
        T(a_full_queue_has_places_for_others),
        T(within_a_network_the_largest_yields),
        T(those_that_leave_make_room),
        T(callers_can_be_looked_at_in_turn),
        T(networks_can_be_looked_at_in_turn),
        T(without_memory_nothing_changes),
        cmocka_unit_test(one_caller_holds_half_of_the_places_and_others_find_some),
        cmocka_unit_test(many_networks_of_one_customer_hold_half_together),
        cmocka_unit_test(things_of_a_size_take_as_many_places_as_they_need),
        cmocka_unit_test(a_caller_may_always_hold_one_thing_if_it_fits),
        cmocka_unit_test(places_are_not_held_without_memory),
        TURN(a_caller_alone_may_hold_all_places_again_and_again),
        TURN(callers_take_turns_at_a_single_place),
        TURN(many_callers_cannot_keep_one_out_of_few_places),
        TURN(the_last_place_is_kept_for_those_without_one_while_others_come),
        TURN(all_networks_of_one_customer_are_one_caller_here),
        TURN(a_claim_lasts_while_its_caller_tries_and_not_longer),
        TURN(claims_have_a_ceiling),
        TURN(a_lower_ceiling_ends_nothing),
        TURN(a_turn_is_not_taken_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
