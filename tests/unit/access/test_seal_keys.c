/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of keys, with two servers of one database: what each of them seals and opens. */
#include "access/seal_keys.h"

#include "access/seal_rows.h"
#include "base/clock.h"
#include "store/oauth.h"
#include "store/webhook.h"
#include "support/oom.h"
#include "support/temp_db.h"

#define DAY_MS (24 * 3600 * 1000LL)

static cw_db *db;
static cw_err err;
static cw_arena arena;
static cw_seal_keys a, b;

static void init(cw_seal_keys *keys)
{
    assert_int_equal(cw_seal_keys_init(keys, &err), CW_OK);
    atomic_store(&keys->is_in_store, true);
}

SETUP(setup)
{
    if (temp_db_setup(state))
        return -1;
    cw_db_opts opts = {TEMP_DB, .may_create = true, .busy_ms = 5000};
    if (cw_db_open(&opts, &db, &err))
        fail_msg("%s", err.msg);
    cw_arena_init(&arena, 1u << 22);
    init(&a);
    init(&b);
    return 0;
}

TEARDOWN(teardown)
{
    cw_seal_keys_done(&a);
    cw_seal_keys_done(&b);
    cw_arena_done(&arena);
    cw_db_close(db);
    return temp_db_teardown(state);
}

static cw_str close_text(const cw_seal *seal)
{
    cw_str text;
    assert_int_equal(cw_seal_close(seal, CW_STR("p"), CW_STR("x"), &arena, &text, &err), CW_OK);
    return text;
}

static bool opens(const cw_seal *seal, cw_str text)
{
    cw_str plain;
    return !cw_seal_open(seal, CW_STR("p"), text, &arena, &plain);
}

static void read_both(void)
{
    assert_int_equal(cw_seal_keys_read(&a, db, &err), CW_OK);
    assert_int_equal(cw_seal_keys_read(&b, db, &err), CW_OK);
}

static cw_code rotate(bool is_now)
{
    const cw_seal_keys_rotation r = {.session_ms = DAY_MS, .is_now = is_now};
    cw_db_seal_key key;
    return cw_seal_keys_rotate(db, &r, &key, &err);
}

/* As if the time of all keys had come long ago. */
static void let_begin(void)
{
    temp_db_run("UPDATE secret SET begins = 1 WHERE begins > 1");
}

static size_t count_rows(void)
{
    cw_db_seal_key rows[CW_DB_SEAL_KEYS];
    size_t n;
    assert_int_equal(cw_db_read_seal_keys(db, rows, &n, &err), CW_OK);
    return n;
}

TEST(servers_of_one_database_share_the_first_key)
{
    read_both();
    assert_int_equal(count_rows(), 1);
    assert_true(opens(&b.server, close_text(&a.server)));
    assert_true(opens(&b.oauth, close_text(&a.oauth)));
    /* A text of one seal means nothing to the other. */
    assert_false(opens(&a.server, close_text(&a.oauth)));
    assert_false(opens(&a.oauth, close_text(&a.server)));
}

TEST(a_server_without_the_rows_seals_for_itself)
{
    cw_str text = close_text(&a.server);
    assert_int_equal(cw_seal_keys_read(&b, db, &err), CW_OK);
    /* It finds them later, and still opens its own texts. */
    atomic_store(&a.has_used_own, true);
    assert_int_equal(cw_seal_keys_read(&a, db, &err), CW_OK);
    assert_true(opens(&a.server, text));
    assert_false(opens(&b.server, text));
    assert_true(opens(&b.server, close_text(&a.server)));
    /* Its own key became the row: it is there once. */
    size_t n;
    atomic_store(&b.has_used_own, true);
    assert_int_equal(cw_seal_keys_read(&b, db, &err), CW_OK);
    (void)cw_seal_get_keys(&b.server, &n);
    assert_int_equal(n, 1);
    /* Rows do not count for a server whose keys come from files. */
    atomic_store(&a.is_in_store, false);
    assert_int_equal(rotate(false), CW_OK);
    const cw_seal_key *before = cw_seal_get_keys(&a.server, &n);
    assert_int_equal(cw_seal_keys_read(&a, db, &err), CW_OK);
    assert_ptr_equal(cw_seal_get_keys(&a.server, &n), before);
}

TEST(SC13_a_new_key_opens_everywhere_before_it_seals_anywhere)
{
    read_both();
    cw_str old = close_text(&a.server);
    assert_int_equal(rotate(false), CW_OK);
    /* One server has read it, the other not yet: both seal with the old key. */
    assert_int_equal(cw_seal_keys_read(&a, db, &err), CW_OK);
    const cw_seal_key *newest = &cw_seal_get_keys(&a.server, &(size_t){0})[0];
    assert_true(newest->seals_from > cw_clock_ms() + 5000);
    assert_true(newest->seals_from <= cw_clock_ms() + CW_SEAL_KEYS_WAIT_MS);
    assert_true(opens(&b.server, close_text(&a.server)));
    assert_true(opens(&b.oauth, close_text(&a.oauth)));
    assert_int_equal(cw_seal_keys_read(&b, db, &err), CW_OK);
    let_begin();
    assert_int_equal(cw_seal_keys_read(&a, db, &err), CW_OK);
    cw_str fresh = close_text(&a.server);
    assert_true(opens(&b.server, fresh));
    assert_true(opens(&b.oauth, close_text(&a.oauth)));
    assert_true(opens(&a.server, old));
    /* A key that begins later than it can: the clock was set back. */
    temp_db_run("UPDATE secret SET begins = 9000000000000 WHERE name = 'seal/2'");
    assert_int_equal(cw_seal_keys_read(&b, db, &err), CW_OK);
    newest = &cw_seal_get_keys(&b.server, &(size_t){0})[0];
    assert_true(newest->seals_from <= cw_clock_ms() + CW_SEAL_KEYS_WAIT_MS);
    assert_int_equal(rotate(false), CW_OK);
}

TEST(the_three_newest_keys_open_and_older_ones_are_removed)
{
    cw_str texts[4];
    for (size_t i = 0; i < CW_COUNT(texts); i++) {
        read_both();
        texts[i] = close_text(&a.server);
        assert_int_equal(rotate(true), CW_OK);
        let_begin();
        assert_int_equal(count_rows(), i < 2 ? i + 2 : 3);
    }
    read_both();
    assert_false(opens(&b.server, texts[0]));
    assert_false(opens(&b.server, texts[1]));
    assert_true(opens(&b.server, texts[2]));
    assert_true(opens(&b.server, texts[3]));
}

TEST(a_rotation_waits_for_the_last_one_and_for_sessions)
{
    read_both();
    assert_int_equal(rotate(true), CW_OK);
    assert_int_equal(rotate(true), CW_INVALID);
    assert_non_null(strstr(err.msg, "begins to seal in 10 s"));
    let_begin();
    assert_int_equal(rotate(false), CW_OK);
    let_begin();
    char sql[128];
    snprintf(sql, sizeof sql, "UPDATE secret SET begins = %lld WHERE name = 'seal/2'",
             (long long)(cw_clock_wall_ms() - DAY_MS + 60000));
    temp_db_run(sql);
    assert_int_equal(rotate(false), CW_INVALID);
    assert_non_null(strstr(err.msg, "--now"));
    assert_int_equal(count_rows(), 3);
    temp_db_run("UPDATE secret SET begins = begins - 120000 WHERE name = 'seal/2'");
    assert_int_equal(rotate(false), CW_OK);
}

TEST(a_database_without_a_server_gets_its_first_key)
{
    assert_int_equal(rotate(false), CW_OK);
    assert_int_equal(count_rows(), 1);
    read_both();
    assert_true(opens(&b.server, close_text(&a.server)));
}

/* Rotations after a theft: the key of a process must not open for longer than a row. */
TEST(the_own_key_of_a_process_leaves_with_the_keys_of_its_time)
{
    atomic_store(&a.has_used_own, true);
    atomic_store(&b.has_used_own, true);
    cw_str of_row = close_text(&a.server), of_process = close_text(&b.server);
    read_both();
    for (unsigned i = 0; i < CW_DB_SEAL_KEYS; i++) {
        assert_true(opens(&a.server, of_row));
        assert_true(opens(&b.server, of_process));
        assert_int_equal(rotate(true), CW_OK);
        let_begin();
        read_both();
    }
    assert_false(opens(&b.server, of_row));
    assert_false(opens(&a.server, of_row));
    assert_false(opens(&b.server, of_process));
    read_both();
    assert_false(opens(&a.server, of_row));
}

TEST(a_rotation_replaces_a_row_that_was_damaged)
{
    read_both();
    assert_int_equal(rotate(true), CW_OK);
    let_begin();
    temp_db_run("UPDATE secret SET value = substr(value, 1, 5) WHERE name = 'seal/2'");
    assert_int_equal(count_rows(), 1);
    assert_int_equal(rotate(true), CW_OK);
    assert_int_equal(count_rows(), 2);
    temp_db_run("UPDATE secret SET value = substr(value, 1, 5)");
    assert_int_equal(rotate(true), CW_OK);
    assert_int_equal(count_rows(), 1);
}

/* ---- sealed rows ---- */

static void add_rows(void)
{
    const cw_db_webhook_limits limits = {10, 10};
    cw_db_oauth_key key = {.id = CW_STR("k"), .alg = CW_STR("ES256"), .jwk = CW_STR("{}")};
    cw_db_webhook hook = {.owner = CW_STR("1"), .expires = INT64_MAX};
    static const char *const names[] = {"one", "two", "three"};
    key.state = CW_DB_KEY_NEXT;
    assert_int_equal(
        cw_seal_close(&a.oauth, CW_SEAL_SIGNING_KEY, CW_STR("private"), &arena, &key.secret, &err),
        CW_OK);
    assert_int_equal(cw_db_add_oauth_key(db, &key, &err), CW_OK);
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        hook.id = cw_str_from(names[i]);
        assert_int_equal(
            cw_seal_close(&a.server, CW_SEAL_WEBHOOK, hook.id, &arena, &hook.state, &err), CW_OK);
        assert_int_equal(cw_db_put_webhook(db, &hook, 0, &limits, &err), CW_OK);
    }
    hook.id = CW_STR("foreign");
    hook.state = CW_STR("of another server");
    assert_int_equal(cw_db_put_webhook(db, &hook, 0, &limits, &err), CW_OK);
}

static cw_code check_webhook(const cw_db_webhook *row, void *ctx, cw_err *problem)
{
    size_t *n = ctx;
    cw_str plain;
    (void)problem;
    if (cw_str_is(row->id, "foreign"))
        return cw_str_is(row->state, "of another server") ? CW_OK : CW_PARSE;
    cw_code rc = cw_seal_open(&b.server, CW_SEAL_WEBHOOK, row->state, &arena, &plain);
    if (!rc && !cw_str_eq(plain, row->id))
        rc = CW_PARSE;
    (*n)++;
    return rc;
}

/* `b` is a server that has read the keys before the rotation: it must open the rows too. */
static void check_rows(void)
{
    size_t n = 0;
    cw_db_oauth_key *key = NULL;
    cw_str plain;
    assert_int_equal(cw_db_each_webhook(db, 0, check_webhook, &n, &err), CW_OK);
    assert_int_equal(n, 3);
    assert_int_equal(cw_db_find_oauth_key(db, CW_DB_KEY_NEXT, &arena, &key, &err), CW_OK);
    assert_int_equal(cw_seal_open(&b.oauth, CW_SEAL_SIGNING_KEY, key->secret, &arena, &plain),
                     CW_OK);
    assert_true(cw_str_is(plain, "private"));
}

TEST(rows_of_the_database_survive_any_number_of_rotations)
{
    read_both();
    add_rows();
    for (unsigned i = 0; i < 7; i++) {
        assert_int_equal(rotate(true), CW_OK);
        check_rows();
        let_begin();
        read_both();
        check_rows();
    }
}

TEST(a_failed_allocation_rotates_nothing)
{
    bool was_hit = true;
    read_both();
    add_rows();
    assert_int_equal(rotate(true), CW_OK);
    let_begin();
    read_both();
    for (size_t n = 1; was_hit; n++) {
        assert_true(n < 1000);
        oom_fail_at(n);
        cw_code rc = rotate(true);
        was_hit = oom_was_hit();
        oom_reset();
        assert_int_equal(rc, was_hit ? CW_NOMEM : CW_OK);
        assert_int_equal(count_rows(), was_hit ? 2 : 3);
    }
    check_rows();
    let_begin();
    was_hit = true;
    for (size_t n = 1; was_hit; n++) {
        assert_true(n < 1000);
        oom_fail_at(n);
        cw_code rc = cw_seal_keys_read(&a, db, &err);
        was_hit = oom_was_hit();
        oom_reset();
        assert_int_equal(rc, was_hit ? CW_NOMEM : CW_OK);
    }
    assert_int_equal(cw_seal_keys_read(&b, db, &err), CW_OK);
    assert_true(opens(&b.server, close_text(&a.server)));
    assert_true(opens(&b.oauth, close_text(&a.oauth)));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(servers_of_one_database_share_the_first_key),
        T(a_server_without_the_rows_seals_for_itself),
        T(SC13_a_new_key_opens_everywhere_before_it_seals_anywhere),
        T(the_three_newest_keys_open_and_older_ones_are_removed),
        T(a_rotation_waits_for_the_last_one_and_for_sessions),
        T(a_database_without_a_server_gets_its_first_key),
        T(the_own_key_of_a_process_leaves_with_the_keys_of_its_time),
        T(a_rotation_replaces_a_row_that_was_damaged),
        T(rows_of_the_database_survive_any_number_of_rotations),
        T(a_failed_allocation_rotates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
