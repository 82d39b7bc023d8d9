/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys of access tokens: made, published, rotated, and lost. */
#include "access/oauth/keys.h"
#include "json/json.h"
#include "support/oauth_fixture.h"
#include "support/oom.h"
#include "support/seal_fixture.h"

#define CLAIMS CW_STR("{\"sub\":\"alice\"}")

static oauth_fixture f;
static cw_arena arena;

SETUP(setup)
{
    if (temp_db_setup(state))
        return -1;
    oauth_fixture_open(&f);
    f.settings.is_jwt = true;
    cw_arena_init(&arena, 1u << 22);
    return 0;
}

TEARDOWN(teardown)
{
    cw_arena_done(&arena);
    oauth_fixture_close(&f);
    return temp_db_teardown(state);
}

static cw_code publish(int64_t now, cw_arena *memory, cw_str *ret)
{
    return cw_oauth_keys_publish(f.db, &f.settings, now, memory, ret, NULL);
}

static cw_code sign(int64_t now, cw_arena *memory, cw_str *ret)
{
    cw_code rc = cw_db_begin(f.db, NULL);
    if (!rc)
        rc = cw_oauth_keys_sign(f.db, &f.settings, CLAIMS, now, memory, ret, NULL);
    return cw_db_end(f.db, rc, NULL);
}

static cw_code rotate(int64_t now, bool is_now, bool is_lost, cw_str *ret_id)
{
    cw_oauth_keys_rotation r = {
        .token_ms = f.settings.access_ms, .is_now = is_now, .is_lost = is_lost};
    return cw_oauth_keys_rotate(f.db, &r, now, &arena, ret_id, NULL);
}

static size_t count_published(int64_t now)
{
    cw_str set;
    const cw_json *root;
    assert_int_equal(publish(now, &arena, &set), CW_OK);
    assert_int_equal(cw_json_read(set, NULL, &arena, &root, NULL, NULL), CW_OK);
    return cw_json_count(cw_json_get(root, CW_STR("keys")));
}

TEST(the_next_key_is_published_a_day_before_it_signs)
{
    cw_str id, jwt;
    assert_int_equal(count_published(OAUTH_NOW), 2);
    assert_int_equal(sign(OAUTH_NOW, &arena, &jwt), CW_OK);
    assert_int_equal(rotate(OAUTH_NOW + CW_OAUTH_KEYS_PUBLISHED_MS - 1, false, false, &id),
                     CW_INVALID);
    int64_t day_later = OAUTH_NOW + CW_OAUTH_KEYS_PUBLISHED_MS;
    assert_int_equal(rotate(day_later, false, false, &id), CW_OK);
    assert_true(id.n > 0);
    /* The old one, the current one, and a next one that is made now. */
    assert_int_equal(count_published(day_later), 3);
    int64_t end = day_later + f.settings.access_ms + CW_OAUTH_KEYS_KEPT_MS;
    assert_int_equal(count_published(end - 1), 3);
    assert_int_equal(count_published(end), 2);
}

TEST(a_key_that_another_server_sealed_cannot_sign_until_it_is_replaced)
{
    cw_str id, jwt;
    cw_err err = {0};
    assert_int_equal(cw_oauth_keys_prepare(f.db, &f.settings, OAUTH_NOW, NULL), CW_OK);
    seal_fixture_init(&f.seal, CW_STR("the key of another server"));
    assert_int_equal(cw_oauth_keys_prepare(f.db, &f.settings, OAUTH_NOW, &err), CW_CONFIG);
    assert_non_null(strstr(err.msg, "causeway key rotate --lost"));
    assert_int_equal(sign(OAUTH_NOW, &arena, &jwt), CW_CONFIG);
    assert_int_equal(rotate(OAUTH_NOW, false, true, &id), CW_OK);
    assert_int_equal(id.n, 0);
    assert_int_equal(sign(OAUTH_NOW, &arena, &jwt), CW_OK);
    /* Tokens of the lost keys are verified until they expire. */
    assert_int_equal(count_published(OAUTH_NOW), 4);
}

/* The next key may wait for long: a preparation seals both again. */
TEST(keys_survive_the_secret_that_sealed_them)
{
    cw_str id, jwt;
    assert_int_equal(cw_oauth_keys_prepare(f.db, &f.settings, OAUTH_NOW, NULL), CW_OK);
    for (unsigned i = 0; i < 5; i++) {
        seal_fixture_rotate(&f.seal);
        assert_int_equal(cw_oauth_keys_prepare(f.db, &f.settings, OAUTH_NOW, NULL), CW_OK);
    }
    assert_int_equal(sign(OAUTH_NOW, &arena, &jwt), CW_OK);
    assert_int_equal(rotate(OAUTH_NOW, true, false, &id), CW_OK);
    assert_int_equal(sign(OAUTH_NOW, &arena, &jwt), CW_OK);
    assert_int_equal(count_published(OAUTH_NOW), 3);
}

typedef enum step { PREPARE, PUBLISH, SIGN, ROTATE } step;

static cw_code run(step s)
{
    cw_str text;
    cw_arena memory;
    cw_arena_init(&memory, 1u << 22);
    cw_oauth_keys_rotation r = {.token_ms = f.settings.access_ms, .is_now = true};
    cw_code rc = CW_OK;
    if (s == PREPARE)
        rc = cw_oauth_keys_prepare(f.db, &f.settings, OAUTH_NOW, NULL);
    else if (s == PUBLISH)
        rc = publish(OAUTH_NOW, &memory, &text);
    else if (s == SIGN)
        rc = sign(OAUTH_NOW, &memory, &text);
    else
        rc = cw_oauth_keys_rotate(f.db, &r, OAUTH_NOW, &memory, &text, NULL);
    cw_arena_done(&memory);
    return rc;
}

TEST(a_failed_allocation_makes_and_retires_no_key)
{
    for (step s = PREPARE; s <= ROTATE; s++) {
        bool was_hit = true;
        for (size_t n = 1; was_hit; n++) {
            assert_true(n < 1000);
            oom_fail_at(n);
            cw_code rc = run(s);
            was_hit = oom_was_hit();
            oom_reset();
            assert_int_equal(rc, was_hit ? CW_NOMEM : CW_OK);
        }
    }
    /* One rotation: an old key, the current one, and the next one that is made now. */
    assert_int_equal(count_published(OAUTH_NOW), 3);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(the_next_key_is_published_a_day_before_it_signs),
        T(a_key_that_another_server_sealed_cannot_sign_until_it_is_replaced),
        T(keys_survive_the_secret_that_sealed_them),
        T(a_failed_allocation_makes_and_retires_no_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
