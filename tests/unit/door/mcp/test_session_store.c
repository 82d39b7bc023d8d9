/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is remembered of sessions: shares, what gives way, and each allocation failing in turn. */
#include <fcntl.h>
#include <stdio.h>

#include "catalogue/snapshot.h"
#include "support/json_fixture.h"

#include "door/mcp/mcp_int.h"
#include "support/oom.h"

#define HOUR INT64_C(3600000)

static cw_mcp_session_store memory;

static cw_mcp_session_owner owner(const char *name, bool is_anonymous, int64_t now)
{
    return (cw_mcp_session_owner){
        .owner = cw_str_from(name), .is_anonymous = is_anonymous, .now = now};
}

/* The i-th session of all, until HOUR. */
static cw_mcp_session session_of(unsigned i)
{
    cw_mcp_session session = {.is_named = true, .level = CW_LOG_OFF, .expires = HOUR};
    memcpy(session.number, &i, sizeof i);
    return session;
}

static cw_code set_level(const char *name, bool is_anonymous, unsigned i, int64_t now)
{
    cw_mcp_session_owner by = owner(name, is_anonymous, now);
    cw_mcp_session session = session_of(i);
    return cw_mcp_session_store_set_level(&memory, &by, &session, CW_LOG_INFO);
}

static cw_code end(const char *name, bool is_anonymous, unsigned i, int64_t now)
{
    cw_mcp_session_owner by = owner(name, is_anonymous, now);
    cw_mcp_session session = session_of(i);
    return cw_mcp_session_store_end(&memory, &by, &session);
}

/* 'l': has a level; '-': has none; 'e': has ended. */
static char state_of(unsigned i, int64_t now)
{
    cw_mcp_session session = session_of(i);
    if (!cw_mcp_session_store_recall(&memory, &session, now))
        return 'e';
    return session.level == CW_LOG_INFO ? 'l' : '-';
}

SETUP(set_up)
{
    memset(&memory, 0, sizeof memory);
    cw_mcp_session_store_init(&memory);
    return 0;
}

TEARDOWN(tear_down)
{
    cw_mcp_session_store_done(&memory);
    return 0;
}

TEST(a_flood_takes_nothing_from_others)
{
    unsigned at = 10, n_refused = 0, first_end = 11;
    assert_int_equal(set_level("alice", false, 1, 0), CW_OK);
    assert_int_equal(set_level("192.0.2.1", true, 2, 0), CW_OK);
    assert_int_equal(end("bob", false, 3, 0), CW_OK);
    for (unsigned i = 0; i < 3 * CW_MCP_STATES; i++) {
        n_refused += set_level("192.0.2.66", true, at++, 1) == CW_LIMIT;
        assert_int_equal(end("192.0.2.66", true, at++, 1), CW_OK);
    }
    assert_int_equal(n_refused, 3 * CW_MCP_STATES - CW_MCP_STATES_SHARE);
    assert_int_equal(state_of(1, 2), 'l');
    assert_int_equal(state_of(2, 2), 'l');
    assert_int_equal(state_of(3, 2), 'e');
    /* A refused entry leaves no part behind. An end is stored, and replaced the owner's oldest. */
    assert_int_equal(state_of(at - 2, 2), '-');
    assert_int_equal(state_of(at - 1, 2), 'e');
    assert_int_equal(state_of(first_end, 2), '-');
    assert_int_equal(state_of(at + 1 - 2 * CW_MCP_ENDS_SHARE, 2), 'e');
    assert_int_equal(state_of(at - 1 - 2 * CW_MCP_ENDS_SHARE, 2), '-');
    assert_int_equal(memory.sessions.n, 3 + CW_MCP_STATES_SHARE + CW_MCP_ENDS_SHARE);
    /* There is room for whoever has asked for less. */
    assert_int_equal(set_level("192.0.2.2", true, at++, 2), CW_OK);
    assert_int_equal(set_level("alice", false, at++, 2), CW_OK);
    assert_int_equal(end("alice", false, 1, 2), CW_OK);
}

TEST(the_anonymous_leave_half_to_accounts)
{
    unsigned at = 10, n_kept = 0;
    for (unsigned network = 0; network < 2 * CW_MCP_STATES; network++) {
        char name[16];
        snprintf(name, sizeof name, "n%u", network);
        n_kept += set_level(name, true, at++, 0) == CW_OK;
    }
    assert_int_equal(n_kept, CW_MCP_STATES / 2);
    assert_int_equal(memory.owners[true].n, n_kept);
    assert_int_equal(set_level("alice", false, at++, 0), CW_OK);
}

TEST(all_of_it_has_an_end)
{
    unsigned at = 10;
    for (unsigned account = 0; account < CW_MCP_STATES / CW_MCP_STATES_SHARE; account++) {
        char name[16];
        snprintf(name, sizeof name, "a%u", account);
        for (unsigned i = 0; i < CW_MCP_STATES_SHARE; i++)
            assert_int_equal(set_level(name, false, at++, 0), CW_OK);
    }
    assert_int_equal(set_level("late", false, at++, 0), CW_LIMIT);
    assert_int_equal(memory.owners[false].n, CW_MCP_STATES / CW_MCP_STATES_SHARE);
    /* One that needs nothing any more leaves its place. */
    assert_int_equal(end("a0", false, 10, 0), CW_OK);
    assert_int_equal(set_level("late", false, at++, 0), CW_OK);
}

/* Sessions of more owners than the pool has shares for. */
TEST(an_end_never_fails_for_want_of_room)
{
    unsigned at = 10;
    for (unsigned network = 0; network < 2 * CW_MCP_ENDS; network++) {
        char name[16];
        snprintf(name, sizeof name, "n%u", network);
        assert_int_equal(end(name, true, at++, 0), CW_OK);
    }
    assert_int_equal(memory.used[CW_MCP_POOL_ENDS], CW_MCP_ENDS / 2);
    assert_int_equal(memory.owners[true].n, CW_MCP_ENDS / 2);
    assert_int_equal(state_of(at - 1, 1), 'e');
    for (unsigned account = 0; account < 2 * CW_MCP_ENDS; account++) {
        char name[16];
        snprintf(name, sizeof name, "a%u", account % 9);
        assert_int_equal(end(name, false, at++, 0), CW_OK);
    }
    assert_int_equal(memory.used[CW_MCP_POOL_ENDS], CW_MCP_ENDS);
    assert_int_equal(end("late", false, at, 0), CW_OK);
    assert_int_equal(state_of(at, 1), 'e');
    assert_int_equal(end("n0", true, at + 1, 0), CW_OK);
    assert_int_equal(state_of(at + 1, 1), 'e');
    assert_int_equal(memory.sessions.n, CW_MCP_ENDS);
}

TEST(who_has_expired_makes_room)
{
    for (unsigned i = 0; i < CW_MCP_ENDS_SHARE; i++)
        assert_int_equal(end("alice", false, i, 0), CW_OK);
    for (unsigned i = 0; i < CW_MCP_STATES_SHARE; i++)
        assert_int_equal(set_level("alice", false, 100000 + i, 0), CW_OK);
    assert_int_equal(set_level("alice", false, 200000, CW_MCP_IDLE_MS - 1), CW_LIMIT);
    cw_mcp_session next = session_of(200000);
    cw_mcp_session_owner by = owner("alice", false, HOUR + 1000);
    next.expires = 2 * HOUR;
    assert_int_equal(cw_mcp_session_store_end(&memory, &by, &next), CW_OK);
    assert_int_equal(memory.sessions.n, 1);
    assert_int_equal(set_level("alice", false, 200001, HOUR + 1000), CW_OK);
}

TEST(an_idle_session_gives_way_unless_it_has_a_stream)
{
    cw_mcp_session_owner by = owner("alice", false, 0);
    cw_mcp_session oldest = session_of(0);
    for (unsigned i = 0; i < CW_MCP_STATES_SHARE; i++)
        assert_int_equal(set_level("alice", false, i, i), CW_OK);
    assert_int_equal(set_level("alice", false, 1000, CW_MCP_IDLE_MS - 1), CW_LIMIT);
    assert_int_equal(cw_mcp_session_store_hold(&memory, &by, &oldest), CW_OK);
    assert_int_equal(state_of(1, CW_MCP_IDLE_MS), 'l'); /* it is used */
    assert_int_equal(set_level("alice", false, 1000, CW_MCP_IDLE_MS + 2), CW_OK);
    assert_int_equal(state_of(0, 2000), 'l');
    assert_int_equal(state_of(1, 2000), 'l');
    assert_int_equal(state_of(2, 2000), 'e');
    assert_int_equal(state_of(3, 2000), 'l');
    cw_mcp_session_store_release(&memory, &oldest, 2000);
    assert_int_equal(state_of(0, 2000), 'l');
}

TEST(addresses_have_ceilings)
{
    static char uri[1024];
    cw_mcp_session_owner by = owner("192.0.2.1", true, 0);
    unsigned n_kept = 0;
    memset(uri, 'x', sizeof uri - 2);
    for (unsigned i = 0; i < 20; i++) {
        cw_mcp_session session = session_of(i);
        for (unsigned k = 0; k < 80; k++) {
            snprintf(uri, 8, "%06u", k);
            uri[6] = 'x';
            cw_code rc = cw_mcp_session_store_subscribe(&memory, &by, &session, cw_str_from(uri));
            assert_true(rc == CW_OK || rc == CW_LIMIT);
            n_kept += rc == CW_OK;
        }
    }
    /* 64 in one session, and no more of all than the share has. */
    assert_int_equal(n_kept, CW_MCP_URIS_SHARE / (sizeof uri - 1));
    cw_mcp_session session = session_of(0), other = session_of(19);
    cw_str first = cw_str_from("000000");
    assert_false(cw_mcp_session_store_is_subscribed(&memory, &session, first));
    snprintf(uri, 8, "%06u", 3);
    uri[6] = 'x';
    assert_true(cw_mcp_session_store_is_subscribed(&memory, &session, cw_str_from(uri)));
    assert_false(cw_mcp_session_store_is_subscribed(&memory, &other, cw_str_from(uri)));
    cw_mcp_session_owner neighbour = owner("192.0.2.2", true, 0);
    assert_int_equal(cw_mcp_session_store_subscribe(&memory, &neighbour, &other, cw_str_from(uri)),
                     CW_OK);
    assert_int_equal(cw_mcp_session_store_subscribe(&memory, &by, &session, CW_STR("a\0b")),
                     CW_LIMIT);
    cw_mcp_session_store_unsubscribe(&memory, &session, cw_str_from(uri));
    assert_false(cw_mcp_session_store_is_subscribed(&memory, &session, cw_str_from(uri)));
}

TEST(addresses_of_all_have_a_ceiling)
{
    static char uri[CW_MCP_URIS_SESSION]; /* fills a session */
    unsigned at = 0, n_kept = 0;
    cw_code rc = CW_OK;
    memset(uri, 'x', sizeof uri - 1);
    for (unsigned account = 0; !rc && account < 20; account++) {
        char name[16];
        snprintf(name, sizeof name, "a%u", account);
        cw_mcp_session_owner by = owner(name, false, 0);
        for (unsigned i = 0; !rc && i < CW_MCP_URIS_SHARE / sizeof uri; i++) {
            cw_mcp_session session = session_of(at++);
            rc = cw_mcp_session_store_subscribe(&memory, &by, &session, cw_str_from(uri));
            n_kept += rc == CW_OK;
        }
    }
    assert_int_equal(rc, CW_LIMIT);
    assert_int_equal(n_kept, CW_MCP_URIS / sizeof uri);
    cw_mcp_session_owner first = owner("a0", false, 0);
    cw_mcp_session session = session_of(0);
    assert_int_equal(cw_mcp_session_store_subscribe(&memory, &first, &session, CW_STR("a")),
                     CW_LIMIT);
}

/* A client that wants no lines has set a level; the server has another one for all others. */
TEST(silence_is_a_level)
{
    cw_mcp_session_owner by = owner("alice", false, 0);
    cw_mcp_session session = session_of(1), other = session_of(2);
    assert_int_equal(cw_mcp_session_store_set_level(&memory, &by, &session, CW_LOG_OFF), CW_OK);
    assert_int_equal(cw_mcp_session_store_subscribe(&memory, &by, &other, CW_STR("a:b")), CW_OK);
    session.level = other.level = CW_LOG_DEBUG;
    assert_true(cw_mcp_session_store_recall(&memory, &session, 0));
    assert_true(cw_mcp_session_store_recall(&memory, &other, 0));
    assert_true(session.has_level && session.level == CW_LOG_OFF);
    assert_true(!other.has_level && other.level == CW_LOG_DEBUG);
}

TEST(what_says_nothing_is_not_kept)
{
    cw_mcp_session_owner by = owner("alice", false, 0);
    cw_mcp_session session = session_of(1);
    assert_int_equal(cw_mcp_session_store_subscribe(&memory, &by, &session, CW_STR("a:b")), CW_OK);
    assert_int_equal(atomic_load(&memory.n), 1);
    cw_mcp_session_store_unsubscribe(&memory, &session, CW_STR("a:b"));
    assert_int_equal(memory.sessions.n + memory.owners[false].n, 0);
    /* A stream alone does not make others look for sessions. */
    assert_int_equal(cw_mcp_session_store_hold(&memory, &by, &session), CW_OK);
    assert_int_equal(atomic_load(&memory.n), 0);
    assert_int_equal(cw_mcp_session_store_end(&memory, &by, &session), CW_OK);
    cw_mcp_session_store_release(&memory, &session, 0);
    assert_int_equal(state_of(1, 0), 'e');
    assert_int_equal(set_level("alice", false, 1, 0), CW_LIMIT);
}

/* ---- two processes ---- */

static cw_mcp_session_store successor;

static void open_two(void)
{
    FILE *file = tmpfile();
    memset(&successor, 0, sizeof successor);
    cw_mcp_session_store_init(&successor);
    assert_non_null(file);
    int one = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0), other = fcntl(one, F_DUPFD_CLOEXEC, 0);
    fclose(file);
    assert_int_equal(cw_mcp_session_store_keep_ends(&memory, one, 0, NULL), CW_OK);
    cw_mcp_session_store_yield(&memory);
    cw_mcp_session_store_yield(&memory);
    assert_int_equal(cw_mcp_session_store_keep_ends(&successor, other, 0, NULL), CW_OK);
}

static bool has_ended_there(unsigned i)
{
    cw_mcp_session session = session_of(i);
    return !cw_mcp_session_store_recall(&successor, &session, 0);
}

static void end_there(unsigned i)
{
    cw_mcp_session_owner by = owner("a", false, 0);
    cw_mcp_session session = session_of(i);
    assert_int_equal(cw_mcp_session_store_end(&successor, &by, &session), CW_OK);
}

TEST(ends_of_a_process_that_drains_are_known_to_its_successor)
{
    cw_mcp_session_owner by = owner("a", false, 0);
    cw_mcp_session used = session_of(2);
    open_two();
    /* One of them is in use there. */
    assert_int_equal(cw_mcp_session_store_set_level(&successor, &by, &used, CW_LOG_INFO), CW_OK);
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(end("a", false, i, 0), CW_OK);
        end_there(100 + i);
        assert_false(has_ended_there(i));
    }
    for (int again = 0; again < 2; again++) {
        cw_mcp_session_store_reread_ends(&successor, 0);
        for (unsigned i = 1; i <= 3; i++)
            assert_true(has_ended_there(i) && has_ended_there(100 + i));
        assert_false(has_ended_there(4));
    }
    assert_int_equal(successor.used[CW_MCP_POOL_ENDS], 6);
    assert_int_equal(successor.n_slots, CW_MCP_ENDS - 6);
    /* Neither has written where the other has. */
    cw_mcp_session_store_reread_ends(&memory, 0);
    for (unsigned i = 1; i <= 3; i++)
        assert_int_equal(state_of(100 + i, 0), 'e');
    cw_mcp_session_store_done(&successor);
}

static const cw_json *write_states(cw_arena *arena)
{
    cw_buf buf;
    cw_json_writer w;
    const cw_json *root;
    cw_buf_init(&buf, 1 << 20);
    cw_json_writer_init(&w, &buf, CW_JSON_COMPACT);
    cw_mcp_session_store_write(&memory, &w);
    assert_int_equal(cw_json_writer_end(&w, NULL), CW_OK);
    cw_str text = cw_arena_dup_str(arena, cw_buf_str(&buf));
    cw_buf_done(&buf);
    assert_int_equal(cw_json_read(text, NULL, arena, &root, NULL, NULL), CW_OK);
    return root;
}

TEST(levels_and_subscriptions_go_to_a_successor)
{
    cw_arena arena;
    cw_mcp_session_owner by = owner("192.0.2.0/24", true, 0);
    cw_mcp_session one = session_of(1), two = session_of(2);
    two.expires = 0;
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_mcp_session_store_set_level(&memory, &by, &one, CW_LOG_DEBUG), CW_OK);
    assert_int_equal(cw_mcp_session_store_subscribe(&memory, &by, &two, CW_STR("a:1")), CW_OK);
    assert_int_equal(cw_mcp_session_store_subscribe(&memory, &by, &two, CW_STR("b:2")), CW_OK);
    assert_int_equal(end("a", false, 3, 0), CW_OK);
    const cw_json *states = write_states(&arena);
    assert_int_equal(cw_json_count(states), 2);
    tear_down(NULL);
    set_up(NULL);
    cw_mcp_session_store_read(&memory, states, 0);
    assert_true(cw_mcp_session_store_recall(&memory, &one, 0));
    assert_int_equal(one.level, CW_LOG_DEBUG);
    assert_true(cw_mcp_session_store_is_subscribed(&memory, &two, CW_STR("a:1")));
    assert_true(cw_mcp_session_store_is_subscribed(&memory, &two, CW_STR("b:2")));
    assert_false(cw_mcp_session_store_is_subscribed(&memory, &one, CW_STR("a:1")));
    assert_int_equal(memory.by_anonymous[CW_MCP_POOL_STATES], 2);
    cw_arena_done(&arena);
}

TEST(states_that_make_no_sense_are_ignored)
{
#define NUMBER_TEXT "000102030405060708090a0b0c0d0e0f"
    static const char *const wrong[] = {
        "null",
        "{}",
        "[null,{},[]]",
        "[{\"number\":\"00\",\"owner\":\"a\",\"expires\":0,\"level\":1}]",
        "[{\"number\":\"zz0102030405060708090a0b0c0d0e0f\",\"owner\":\"a\",\"expires\":0,"
        "\"level\":1}]",
        "[{\"number\":\"" NUMBER_TEXT "\",\"owner\":7,\"expires\":0,\"level\":1}]",
        "[{\"number\":\"" NUMBER_TEXT "\",\"owner\":\"a\",\"level\":1}]",
        "[{\"number\":\"" NUMBER_TEXT "\",\"owner\":\"a\",\"expires\":0,\"level\":99}]",
        "[{\"number\":\"" NUMBER_TEXT "\",\"owner\":\"a\",\"expires\":0,\"uris\":[1,null]}]"};
    cw_arena arena;
    const cw_json *root;
    cw_arena_init(&arena, 1 << 20);
    cw_mcp_session_store_read(&memory, NULL, 0);
    for (size_t i = 0; i < CW_COUNT(wrong); i++) {
        assert_int_equal(cw_json_read(cw_str_from(wrong[i]), NULL, &arena, &root, NULL, NULL),
                         CW_OK);
        cw_mcp_session_store_read(&memory, root, 0);
    }
    assert_int_equal(memory.used[CW_MCP_POOL_STATES], 0);
    assert_null(memory.first);
    cw_arena_done(&arena);
}

static void remember_once(void *ctx)
{
    cw_mcp_session_owner by = owner("alice", false, 0), other = owner("192.0.2.1", true, 0);
    cw_mcp_session session = session_of(1), second = session_of(2);
    cw_buf filter;
    (void)ctx;
    cw_buf_init(&filter, SIZE_MAX / 2);
    (void)set_up(NULL);
    cw_code held = cw_mcp_session_store_hold(&memory, &by, &session);
    cw_code rc = cw_mcp_session_store_subscribe(&memory, &by, &session, CW_STR("a:b"));
    assert_int_equal(cw_mcp_session_store_is_subscribed(&memory, &session, CW_STR("a:b")),
                     rc == CW_OK);
    cw_mcp_session_store_subscriptions(&memory, &session, &filter);
    assert_true(filter.code || filter.n == (rc ? 0u : 4u));
    rc = cw_mcp_session_store_set_level(&memory, &by, &session, CW_LOG_INFO);
    assert_int_equal(state_of(1, 0), rc ? '-' : 'l');
    rc = cw_mcp_session_store_end(&memory, &other, &second);
    assert_int_equal(state_of(2, 0), rc ? '-' : 'e');
    if (!held)
        cw_mcp_session_store_release(&memory, &session, 0);
    cw_buf_done(&filter);
    (void)tear_down(NULL);
}

TEST(every_allocation_may_fail)
{
    assert_true(oom_each(remember_once, NULL) >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_flood_takes_nothing_from_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_anonymous_leave_half_to_accounts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_of_it_has_an_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_end_never_fails_for_want_of_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_has_expired_makes_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_idle_session_gives_way_unless_it_has_a_stream, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(addresses_have_ceilings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(addresses_of_all_have_a_ceiling, set_up, tear_down),
        cmocka_unit_test_setup_teardown(silence_is_a_level, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_says_nothing_is_not_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ends_of_a_process_that_drains_are_known_to_its_successor,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(levels_and_subscriptions_go_to_a_successor, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(states_that_make_no_sense_are_ignored, set_up, tear_down),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
