/* SPDX-License-Identifier: GPL-2.0-or-later */
/* User codes, and a login of a device from its first request to its tokens. */
#include "access/oauth/device.h"
#include "store/stmt.h"
#include "support/oauth_fixture.h"
#include "support/oom.h"
#include "support/seal_fixture.h"

static char code[CW_DEVICE_USER_CODE + 1];
static oauth_fixture f;

/* "app" may use the device grant. */
SETUP(setup)
{
    if (temp_db_setup(state))
        return -1;
    oauth_fixture_open(&f);
    f.clients[0].may_use_device = true;
    return 0;
}

TEARDOWN(teardown)
{
    oauth_fixture_close(&f);
    return temp_db_teardown(state);
}

/* ---- user codes ---- */

TEST(AS31_a_user_code_is_read_in_any_spelling)
{
    static const char *const good[] = {"BCDF-GHJK", "bcdfghjk", " bcdf ghjk ", "B-C-D-F-G-H-J-K",
                                       "bCdF-gHjK-"};
    for (size_t i = 0; i < CW_COUNT(good); i++) {
        assert_true(cw_device_read_code(cw_str_from(good[i]), code));
        assert_string_equal(code, "BCDFGHJK");
    }
}

TEST(AS31_other_texts_are_no_user_codes)
{
    static const char *const bad[] = {"",           "-",         "BCDF-GHJ",        "BCDF-GHJKL",
                                      "ACDF-GHJK",  "BCDF-GHJ1", "BCDF_GHJK",       "BCDFGHJ\xC3",
                                      "BCDF\tGHJK", "BCDFGHJY",  "BCDFGHJKBCDFGHJK"};
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_false(cw_device_read_code(cw_str_from(bad[i]), code));
    assert_false(cw_device_read_code(cw_str_make("BCDF\0GHJ", 8), code));
}

/* ---- logins ---- */

static cw_code begin(const char *client, cw_device_codes *ret)
{
    cw_oauth_token_request r = {.client_id = cw_str_from(client),
                                .scope = CW_STR("a b"),
                                .resource = CW_STR("/mcp"),
                                .address = CW_STR("192.0.2.7")};
    cw_arena arena;
    cw_arena_init(&arena, 1u << 20);
    cw_code rc = cw_device_begin(f.db, &f.settings, &r, OAUTH_NOW, &arena, ret, NULL);
    cw_arena_done(&arena);
    return rc;
}

static cw_code find(const cw_device_codes *codes)
{
    cw_device device;
    cw_arena arena;
    cw_arena_init(&arena, 1u << 20);
    cw_code rc = cw_device_find(f.db, &f.settings, cw_str_from(codes->user_code), OAUTH_NOW, &arena,
                                &device, NULL);
    if (!rc) {
        assert_true(cw_str_is(device.client.id, "app"));
        assert_true(cw_str_is(device.scopes, "a b"));
        assert_true(cw_str_is(device.address, "192.0.2.7"));
    }
    cw_arena_done(&arena);
    return rc;
}

static cw_code decide(const cw_device_codes *codes, int64_t account)
{
    return cw_device_decide(f.db, &f.settings, cw_str_from(codes->user_code), account, CW_STR("a"),
                            OAUTH_NOW, NULL);
}

static cw_oauth_token_request poll_with(const cw_device_codes *codes)
{
    return (cw_oauth_token_request){.type = CW_OAUTH_DEVICE_CODE,
                                    .client_id = CW_STR("app"),
                                    .code = cw_str_from(codes->device_code)};
}

static cw_oauth_error poll_at(const cw_device_codes *codes, int64_t now)
{
    cw_oauth_token_request r = poll_with(codes);
    return oauth_fixture_ask(&f, &r, now).error;
}

static size_t count_devices(void)
{
    cw_db_query q;
    cw_stmt_open(&q, f.db, "SELECT count(*) FROM oauth_device");
    assert_true(cw_stmt_step(&q));
    int64_t n = cw_stmt_i64(&q, 0);
    assert_int_equal(cw_stmt_close(&q, NULL), CW_OK);
    return (size_t)n;
}

TEST(AS31_a_device_that_polls_early_waits_longer_and_gets_tokens_once)
{
    cw_device_codes codes;
    assert_int_equal(begin("app", &codes), CW_OK);
    assert_int_equal(codes.refusal.error, CW_OAUTH_NO_ERROR);
    assert_int_equal(find(&codes), CW_OK);
    assert_int_equal(poll_at(&codes, OAUTH_NOW), CW_OAUTH_AUTHORIZATION_PENDING);
    assert_int_equal(poll_at(&codes, OAUTH_NOW + CW_DEVICE_PAUSE_MS - 1), CW_OAUTH_SLOW_DOWN);
    int64_t later = OAUTH_NOW + (int64_t)2 * CW_DEVICE_PAUSE_MS;
    assert_int_equal(poll_at(&codes, later), CW_OAUTH_SLOW_DOWN);
    assert_int_equal(decide(&codes, f.account), CW_OK);
    assert_int_equal(decide(&codes, 0), CW_NOTFOUND);
    assert_int_equal(find(&codes), CW_NOTFOUND);
    cw_oauth_token_request r = poll_with(&codes);
    cw_oauth_tokens tokens = oauth_fixture_ask(&f, &r, later + 1);
    assert_int_equal(tokens.error, CW_OAUTH_NO_ERROR);
    assert_true(oauth_fixture_has_token(&f, tokens.access_token));
    assert_int_equal(poll_at(&codes, later + 2), CW_OAUTH_INVALID_GRANT);
}

TEST(AS31_a_denied_or_expired_login_gives_no_token)
{
    cw_device_codes denied, expired;
    assert_int_equal(begin("app", &denied), CW_OK);
    assert_int_equal(begin("app", &expired), CW_OK);
    assert_int_equal(decide(&denied, 0), CW_OK);
    assert_int_equal(poll_at(&denied, OAUTH_NOW), CW_OAUTH_ACCESS_DENIED);
    assert_int_equal(poll_at(&expired, OAUTH_NOW + CW_DEVICE_LIFE_MS), CW_OAUTH_EXPIRED_TOKEN);
}

/* As many as may wait, all of them younger than the one that waits. */
static void fill_devices(void)
{
    cw_db_query q;
    cw_stmt_open(&q, f.db,
                 "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)"
                 " INSERT INTO oauth_device (hash, code, client, record, resource, scopes, address,"
                 " created, expires, polled, pause) SELECT randomblob(32), randomblob(32), client,"
                 " record, resource, scopes, address, created + i, expires + i, polled, pause"
                 " FROM oauth_device, n");
    cw_stmt_bind_i64(&q, 1, CW_DEVICE_MAX);
    assert_int_equal(cw_stmt_run(&q, NULL), CW_OK);
    assert_int_equal(count_devices(), CW_DEVICE_MAX);
}

TEST(AS31_the_oldest_of_too_many_devices_gives_way)
{
    cw_device_codes oldest, newest;
    assert_int_equal(begin("app", &oldest), CW_OK);
    fill_devices();
    assert_int_equal(begin("app", &newest), CW_OK);
    assert_int_equal(newest.refusal.error, CW_OAUTH_NO_ERROR);
    assert_int_equal(count_devices(), CW_DEVICE_MAX);
    assert_int_equal(find(&newest), CW_OK);
    assert_int_equal(poll_at(&oldest, OAUTH_NOW), CW_OAUTH_INVALID_GRANT);
}

TEST(AS31_a_client_that_is_not_registered_for_it_gets_no_codes)
{
    cw_device_codes codes;
    assert_int_equal(begin("other", &codes), CW_OK);
    assert_int_equal(codes.refusal.error, CW_OAUTH_UNAUTHORIZED_CLIENT);
    assert_int_equal(count_devices(), 0);
}

TEST(a_login_that_began_before_a_rotation_goes_on)
{
    cw_device_codes codes, late;
    assert_int_equal(begin("app", &codes), CW_OK);
    assert_int_equal(begin("app", &late), CW_OK);
    seal_fixture_rotate(&f.seal);
    seal_fixture_rotate(&f.seal);
    assert_int_equal(find(&codes), CW_OK);
    assert_int_equal(decide(&codes, f.account), CW_OK);
    assert_int_equal(poll_at(&codes, OAUTH_NOW), CW_OAUTH_NO_ERROR);
    seal_fixture_rotate(&f.seal);
    assert_int_equal(find(&late), CW_NOTFOUND);
    assert_int_equal(decide(&late, f.account), CW_NOTFOUND);
}

/* ---- failed allocations ---- */

typedef enum step { BEGIN, FIND, DECIDE, POLL } step;

static cw_code run(step s, cw_device_codes *codes)
{
    cw_oauth_token_request r = poll_with(codes);
    cw_oauth_tokens tokens;
    cw_device_codes other;
    cw_arena arena;
    if (s == BEGIN)
        return begin("app", &other);
    if (s == FIND)
        return find(codes);
    if (s == DECIDE)
        return decide(codes, f.account);
    cw_arena_init(&arena, 1u << 20);
    cw_code rc = cw_oauth_exchange(f.db, &f.settings, &r, OAUTH_NOW, &arena, &tokens, NULL);
    cw_arena_done(&arena);
    return rc;
}

TEST(a_failed_allocation_loses_no_login_of_a_device)
{
    cw_device_codes codes;
    assert_int_equal(begin("app", &codes), CW_OK);
    for (step s = BEGIN; s <= POLL; s++) {
        size_t rows = count_devices();
        bool was_hit = true;
        for (size_t n = 1; was_hit; n++) {
            assert_true(n < 500);
            oom_fail_at(n);
            cw_code rc = run(s, &codes);
            was_hit = oom_was_hit();
            oom_reset();
            assert_int_equal(rc, was_hit ? CW_NOMEM : CW_OK);
            if (was_hit)
                assert_int_equal(count_devices(), rows);
        }
    }
    /* The last run redeemed the code. The second login is the one of BEGIN. */
    assert_int_equal(count_devices(), 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AS31_a_user_code_is_read_in_any_spelling),
        cmocka_unit_test(AS31_other_texts_are_no_user_codes),
        T(AS31_a_device_that_polls_early_waits_longer_and_gets_tokens_once),
        T(AS31_a_denied_or_expired_login_gives_no_token),
        T(AS31_the_oldest_of_too_many_devices_gives_way),
        T(AS31_a_client_that_is_not_registered_for_it_gets_no_codes),
        T(a_login_that_began_before_a_rotation_goes_on),
        T(a_failed_allocation_loses_no_login_of_a_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
