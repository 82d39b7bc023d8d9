/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of sessions with one MCP server. */
#include <stdio.h>

#include "source/relay/sessions.h"
#include "support/test.h"

static cw_relay_sessions table;

static cw_relay_request request_of(const char *caller)
{
    return (cw_relay_request){.method = CW_STR("tools/call"), .caller = cw_str_from(caller)};
}

static cw_code enter(const char *caller, uint64_t now, cw_relay_ticket *ret)
{
    cw_relay_request r = request_of(caller);
    *ret = (cw_relay_ticket){.key = ""};
    return cw_relay_sessions_enter(&table, &r, now, NULL, ret);
}

/* A session of this caller, with the id "id-CALLER". */
static cw_relay_ticket open_session(const char *caller, uint64_t now)
{
    cw_relay_ticket ticket;
    assert_int_equal(enter(caller, now, &ticket), CW_DECLINED);
    snprintf(ticket.id, sizeof ticket.id, "id-%s", caller);
    cw_relay_sessions_opened(&table, &ticket, now);
    return ticket;
}

SETUP(begin)
{
    cw_relay_sessions_init(&table, CW_RELAY_MODE_CALLER, CW_RELAY_LEGACY);
    return 0;
}

TEARDOWN(end)
{
    cw_relay_sessions_done(&table);
    return 0;
}

TEST(one_opens_a_session_and_others_wait_for_it)
{
    cw_relay_ticket first, second;
    assert_int_equal(enter("ada", 1, &first), CW_DECLINED);
    assert_int_equal(enter("ada", 1, &second), CW_AGAIN);
    cw_relay_sessions_opened(&table, &first, 2);
    assert_int_equal(enter("ada", 3, &second), CW_OK);
    assert_int_equal(enter("bob", 3, &second), CW_DECLINED);
}

TEST(a_stream_is_claimed_once_until_it_is_dropped)
{
    cw_relay_ticket ticket = open_session("ada", 1);
    assert_true(cw_relay_sessions_claim_stream(&table, &ticket));
    assert_false(cw_relay_sessions_claim_stream(&table, &ticket));
    assert_int_equal(enter("ada", 2, &ticket), CW_OK);
    assert_true(ticket.has_stream);
    cw_relay_sessions_drop_stream(&table, &ticket);
    assert_true(cw_relay_sessions_claim_stream(&table, &ticket));
    cw_relay_ticket unknown = {.key = "0 nobody"};
    assert_false(cw_relay_sessions_claim_stream(&table, &unknown));
}

TEST(a_modern_server_has_one_stream)
{
    cw_relay_ticket modern = {.is_modern = true};
    assert_true(cw_relay_sessions_claim_stream(&table, &modern));
    assert_false(cw_relay_sessions_claim_stream(&table, &modern));
    cw_relay_sessions_forget_era(&table);
    assert_true(cw_relay_sessions_claim_stream(&table, &modern));
}

TEST(an_idle_session_ends_and_one_in_use_does_not)
{
    const uint64_t later = (uint64_t)CW_RELAY_IDLE_MS + 10;
    cw_relay_ticket ended, busy = open_session("busy", 1);
    open_session("idle", 1);
    cw_relay_route *route = cw_relay_route_new(NULL, 5, &busy);
    assert_non_null(route);
    cw_relay_sessions_begin_call(&table, busy.key, route);
    assert_true(cw_relay_sessions_next_ended(&table, later, &ended));
    assert_string_equal(ended.id, "id-idle");
    assert_false(cw_relay_sessions_next_ended(&table, later, &ended));
    cw_relay_sessions_end_call(&table, route);
    assert_true(cw_relay_sessions_next_ended(&table, later, &ended));
    assert_string_equal(ended.id, "id-busy");
}

TEST(the_session_that_is_our_own_does_not_end)
{
    cw_relay_ticket ended, own = open_session("", 1);
    assert_string_equal(own.key, CW_RELAY_OWN_KEY);
    assert_false(cw_relay_sessions_next_ended(&table, (uint64_t)CW_RELAY_IDLE_MS * 2, &ended));
}

TEST(too_many_sessions_end_the_oldest)
{
    char name[16];
    cw_relay_ticket ended;
    for (unsigned i = 0; i <= CW_RELAY_SESSIONS; i++) {
        snprintf(name, sizeof name, "c%u", i);
        open_session(name, 1);
    }
    assert_true(cw_relay_sessions_next_ended(&table, 2, &ended));
    assert_string_equal(ended.id, "id-c0");
}

TEST(a_call_is_found_by_its_id_or_where_it_is_the_only_one)
{
    cw_relay_ticket ticket = open_session("ada", 1);
    cw_relay_route *one = cw_relay_route_new(NULL, 1, &ticket);
    cw_relay_route *two = cw_relay_route_new(NULL, 2, &ticket);
    assert_true(one && two);
    assert_null(cw_relay_sessions_find_call(&table, ticket.key, 0));
    cw_relay_sessions_begin_call(&table, ticket.key, one);
    cw_relay_route *found = cw_relay_sessions_find_call(&table, ticket.key, 0);
    assert_ptr_equal(found, one);
    cw_relay_route_unref(found);
    cw_relay_sessions_begin_call(&table, ticket.key, two);
    assert_null(cw_relay_sessions_find_call(&table, ticket.key, 0));
    found = cw_relay_sessions_find_call(&table, ticket.key, 2);
    assert_ptr_equal(found, two);
    assert_true(cw_relay_sessions_is_busy(&table, ticket.key));
    cw_relay_sessions_end_call(&table, two);
    assert_null(found->call);
    cw_relay_route_unref(found);
    cw_relay_sessions_end_call(&table, one);
    assert_false(cw_relay_sessions_is_busy(&table, ticket.key));
}

TEST(a_lost_session_leaves_its_calls_without_a_route)
{
    cw_relay_ticket ticket = open_session("ada", 1);
    cw_relay_route *route = cw_relay_route_new(NULL, 1, &ticket);
    assert_non_null(route);
    cw_relay_sessions_begin_call(&table, ticket.key, route);
    cw_relay_sessions_drop(&table, &ticket);
    assert_null(cw_relay_sessions_find_call(&table, ticket.key, 1));
    cw_relay_sessions_end_call(&table, route);
    assert_int_equal(enter("ada", 2, &ticket), CW_DECLINED);
}

/* The server has answered initialize with these capabilities. */
static void learn(const char *answer)
{
    cw_arena arena;
    const cw_json *root = NULL;
    cw_arena_init(&arena, 65536);
    assert_int_equal(cw_json_read(cw_str_from(answer), NULL, &arena, &root, NULL, NULL), CW_OK);
    cw_relay_sessions_learn(&table, root);
    cw_arena_done(&arena);
}

TEST(the_log_level_of_a_session_only_rises)
{
    cw_relay_ticket ada = open_session("ada", 1), bob = open_session("bob", 1);
    assert_false(cw_relay_sessions_raise_level(&table, &ada, 3));
    learn("{\"result\":{\"capabilities\":{\"logging\":{}}}}");
    assert_true(cw_relay_sessions_has_logging(&table));
    assert_true(cw_relay_sessions_raise_level(&table, &ada, 3));
    assert_false(cw_relay_sessions_raise_level(&table, &ada, 3));
    assert_false(cw_relay_sessions_raise_level(&table, &ada, 1));
    assert_true(cw_relay_sessions_raise_level(&table, &ada, 4));
    assert_true(cw_relay_sessions_raise_level(&table, &bob, 1));
    assert_false(cw_relay_sessions_raise_level(&table, &bob, 0));
}

TEST(a_log_level_that_was_not_set_is_asked_for_again)
{
    cw_relay_ticket ada = open_session("ada", 1);
    learn("{\"result\":{\"capabilities\":{\"logging\":{}}}}");
    assert_true(cw_relay_sessions_raise_level(&table, &ada, 3));
    cw_relay_sessions_forget_level(&table, &ada, 3);
    assert_true(cw_relay_sessions_raise_level(&table, &ada, 3));
    /* A higher one was asked for meanwhile. */
    assert_true(cw_relay_sessions_raise_level(&table, &ada, 4));
    cw_relay_sessions_forget_level(&table, &ada, 3);
    assert_false(cw_relay_sessions_raise_level(&table, &ada, 4));
}

TEST(all_sessions_end_at_the_end_but_those_without_an_id)
{
    cw_relay_ticket ticket = open_session("ada", 1);
    (void)open_session("bob", 1);
    assert_int_equal(enter("eve", 1, &ticket), CW_DECLINED);
    cw_relay_sessions_opened(&table, &ticket, 1);
    unsigned n = 0;
    while (cw_relay_sessions_next_open(&table, &ticket)) {
        assert_true(cw_str_starts(cw_str_from(ticket.id), CW_STR("id-")));
        n++;
    }
    assert_int_equal(n, 2);
    assert_int_equal(enter("ada", 2, &ticket), CW_DECLINED);
}

#define WITH_TABLE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TABLE(one_opens_a_session_and_others_wait_for_it),
        WITH_TABLE(a_stream_is_claimed_once_until_it_is_dropped),
        WITH_TABLE(a_modern_server_has_one_stream),
        WITH_TABLE(an_idle_session_ends_and_one_in_use_does_not),
        WITH_TABLE(the_session_that_is_our_own_does_not_end),
        WITH_TABLE(too_many_sessions_end_the_oldest),
        WITH_TABLE(a_call_is_found_by_its_id_or_where_it_is_the_only_one),
        WITH_TABLE(a_lost_session_leaves_its_calls_without_a_route),
        WITH_TABLE(the_log_level_of_a_session_only_rises),
        WITH_TABLE(a_log_level_that_was_not_set_is_asked_for_again),
        WITH_TABLE(all_sessions_end_at_the_end_but_those_without_an_id),
    };
    return cmocka_run_group_tests_name("sessions", tests, NULL, NULL);
}
