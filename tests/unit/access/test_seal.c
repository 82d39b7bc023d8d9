/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/seal.h"

#include <pthread.h>
#include <sched.h>

#include "base/clock.h"
#include "support/oom.h"
#include "support/seal_fixture.h"
#include "support/test.h"

static cw_err err;
static cw_seal seal;

static cw_str close_text(cw_arena *a, const cw_seal *s, cw_str purpose, cw_str plain)
{
    cw_str text = {NULL, 0};
    assert_int_equal(cw_seal_close(s, purpose, plain, a, &text, &err), CW_OK);
    return text;
}

TEST(what_was_sealed_can_be_opened)
{
    cw_arena a;
    cw_arena_init(&a, 1 << 20);
    const size_t sizes[] = {0, 1, 2, 3, 31, 1000};
    for (size_t i = 0; i < CW_COUNT(sizes); i++) {
        char plain[1000];
        memset(plain, (int)i, sizeof plain);
        cw_str opened;
        cw_str text = close_text(&a, &seal, CW_STR("p"), cw_str_make(plain, sizes[i]));
        for (size_t k = 0; k < text.n; k++)
            assert_non_null(strchr(
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", text.p[k]));
        assert_int_equal(cw_seal_open(&seal, CW_STR("p"), text, &a, &opened), CW_OK);
        assert_true(cw_str_eq(opened, cw_str_make(plain, sizes[i])));
    }
    cw_arena_done(&a);
}

TEST(the_same_is_never_sealed_the_same)
{
    cw_arena a;
    cw_arena_init(&a, 1 << 20);
    cw_str one = close_text(&a, &seal, CW_STR("p"), CW_STR("x"));
    cw_str two = close_text(&a, &seal, CW_STR("p"), CW_STR("x"));
    assert_false(cw_str_eq(one, two));
    cw_arena_done(&a);
}

TEST(AS19_an_identifier_is_sealed_the_same_each_time)
{
    cw_arena a;
    cw_str one, two, opened;
    cw_arena_init(&a, 1 << 20);
    assert_int_equal(
        cw_seal_close_same(cw_seal_get_current(&seal), CW_STR("p"), CW_STR("x"), &a, &one, &err),
        CW_OK);
    assert_int_equal(
        cw_seal_close_same(cw_seal_get_current(&seal), CW_STR("p"), CW_STR("x"), &a, &two, &err),
        CW_OK);
    assert_true(cw_str_eq(one, two));
    assert_int_equal(cw_seal_open(&seal, CW_STR("p"), one, &a, &opened), CW_OK);
    assert_true(cw_str_is(opened, "x"));
    assert_int_equal(
        cw_seal_close_same(cw_seal_get_current(&seal), CW_STR("q"), CW_STR("x"), &a, &two, &err),
        CW_OK);
    assert_false(cw_str_eq(one, two));
    assert_int_equal(
        cw_seal_close_same(cw_seal_get_current(&seal), CW_STR("p"), CW_STR("y"), &a, &two, &err),
        CW_OK);
    assert_memory_not_equal(one.p, two.p, 32);
    cw_arena_done(&a);
}

TEST(a_derived_secret_depends_on_key_purpose_and_text)
{
    cw_seal other;
    unsigned char all[5][CW_SEAL_DIGEST];
    seal_fixture_init(&other, CW_STR("another"));
    cw_seal_derive(cw_seal_get_current(&seal), CW_STR("p"), CW_STR("x"), all[0]);
    cw_seal_derive(cw_seal_get_current(&seal), CW_STR("p"), CW_STR("y"), all[1]);
    cw_seal_derive(cw_seal_get_current(&seal), CW_STR("px"), CW_STR(""), all[2]);
    cw_seal_derive(cw_seal_get_current(&other), CW_STR("p"), CW_STR("x"), all[3]);
    cw_seal_derive(cw_seal_get_current(&seal), CW_STR("p"), CW_STR("x"), all[4]);
    assert_memory_equal(all[0], all[4], CW_SEAL_DIGEST);
    for (size_t i = 1; i < 4; i++)
        assert_memory_not_equal(all[0], all[i], CW_SEAL_DIGEST);
}

/* Every character replaced by every other one, cut anywhere, and lengthened. */
TEST(threat_C4_nothing_changed_can_be_opened)
{
    cw_arena a;
    cw_arena_init(&a, 64 << 20);
    cw_str text = close_text(&a, &seal, CW_STR("p"), CW_STR("caller 7"));
    char copy[256];
    cw_str opened;
    assert_true(text.n + 2 < sizeof copy);
    for (size_t i = 0; i < text.n; i++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            memcpy(copy, text.p, text.n);
            if ((unsigned char)copy[i] == byte)
                continue;
            copy[i] = (char)byte;
            assert_int_equal(
                cw_seal_open(&seal, CW_STR("p"), cw_str_make(copy, text.n), &a, &opened), CW_PARSE);
        }
        assert_int_equal(cw_seal_open(&seal, CW_STR("p"), cw_str_make(text.p, i), &a, &opened),
                         CW_PARSE);
    }
    memcpy(copy, text.p, text.n);
    for (unsigned byte = 0; byte < 256; byte++) {
        copy[text.n] = copy[text.n + 1] = (char)byte;
        for (size_t more = 1; more < 3; more++)
            assert_int_equal(
                cw_seal_open(&seal, CW_STR("p"), cw_str_make(copy, text.n + more), &a, &opened),
                CW_PARSE);
    }
    cw_arena_done(&a);
}

TEST(threat_C4_another_purpose_or_key_does_not_open_it)
{
    cw_arena a;
    cw_seal other;
    cw_str opened;
    cw_arena_init(&a, 1 << 20);
    assert_int_equal(cw_seal_init(&other, &err), CW_OK);
    cw_str text = close_text(&a, &seal, CW_STR("session"), CW_STR("x"));
    assert_int_equal(cw_seal_open(&seal, CW_STR("state"), text, &a, &opened), CW_PARSE);
    assert_int_equal(cw_seal_open(&seal, CW_STR(""), text, &a, &opened), CW_PARSE);
    assert_int_equal(cw_seal_open(&seal, CW_STR("sess"), text, &a, &opened), CW_PARSE);
    assert_int_equal(cw_seal_open(&other, CW_STR("session"), text, &a, &opened), CW_PARSE);
    assert_int_equal(cw_seal_open(&seal, CW_STR("session"), text, &a, &opened), CW_OK);
    cw_arena_done(&a);
}

TEST(equal_secrets_make_equal_keys)
{
    cw_arena a;
    cw_seal one, two, three;
    cw_str opened;
    cw_arena_init(&a, 1 << 20);
    seal_fixture_init(&one, CW_STR("a secret that is long enough for it"));
    seal_fixture_init(&two, CW_STR("a secret that is long enough for it"));
    seal_fixture_init(&three, CW_STR("a secret that is long enough for it."));
    cw_str text = close_text(&a, &one, CW_STR("p"), CW_STR("x"));
    assert_int_equal(cw_seal_open(&two, CW_STR("p"), text, &a, &opened), CW_OK);
    assert_int_equal(cw_seal_open(&three, CW_STR("p"), text, &a, &opened), CW_PARSE);
    cw_arena_done(&a);
}

/* ---- rings of keys ---- */

#define HOUR_MS 3600000u

TEST(three_keys_open_and_the_newest_seals)
{
    cw_arena a;
    cw_seal own;
    cw_str texts[4], opened;
    const cw_seal_key *key;
    size_t n;
    cw_arena_init(&a, 1 << 20);
    assert_int_equal(cw_seal_init(&own, &err), CW_OK);
    for (size_t i = 0; i < CW_COUNT(texts); i++) {
        if (i)
            seal_fixture_rotate(&own);
        texts[i] = close_text(&a, &own, CW_STR("p"), CW_STR("x"));
        assert_int_equal(cw_seal_open_with(&own, CW_STR("p"), texts[i], &a, &opened, &key), CW_OK);
        assert_ptr_equal(key, cw_seal_get_current(&own));
    }
    const cw_seal_key *keys = cw_seal_get_keys(&own, &n);
    assert_int_equal(n, 3);
    assert_int_equal(cw_seal_open(&own, CW_STR("p"), texts[0], &a, &opened), CW_PARSE);
    for (size_t i = 1; i < CW_COUNT(texts); i++) {
        assert_int_equal(cw_seal_open_with(&own, CW_STR("p"), texts[i], &a, &opened, &key), CW_OK);
        assert_true(cw_str_is(opened, "x"));
        assert_ptr_equal(key, &keys[3 - i]);
    }
    /* A key opens for its purpose only, old or new. */
    assert_int_equal(cw_seal_open(&own, CW_STR("q"), texts[1], &a, &opened), CW_PARSE);
    cw_seal_done(&own);
    cw_arena_done(&a);
}

TEST(a_key_opens_before_it_seals)
{
    cw_arena a;
    cw_seal own;
    cw_str opened;
    cw_arena_init(&a, 1 << 20);
    seal_fixture_init(&own, CW_STR("old"));
    cw_seal_key keys[2] = {cw_seal_make_key(CW_STR("new")), cw_seal_make_key(CW_STR("old"))};
    keys[0].seals_from = cw_clock_ms() + HOUR_MS;
    assert_int_equal(cw_seal_set_keys(&own, keys, 2, &err), CW_OK);
    assert_memory_equal(cw_seal_get_current(&own)->bytes, keys[1].bytes, CW_SEAL_KEY);
    cw_seal other;
    seal_fixture_init(&other, CW_STR("new"));
    cw_str text = close_text(&a, &other, CW_STR("p"), CW_STR("x"));
    assert_int_equal(cw_seal_open(&own, CW_STR("p"), text, &a, &opened), CW_OK);
    text = close_text(&a, &own, CW_STR("p"), CW_STR("x"));
    assert_int_equal(cw_seal_open(&other, CW_STR("p"), text, &a, &opened), CW_PARSE);
    keys[0].seals_from = 1; /* long ago */
    keys[1].bytes[0] ^= 1;
    assert_int_equal(cw_seal_set_keys(&own, keys, 2, &err), CW_OK);
    text = close_text(&a, &own, CW_STR("p"), CW_STR("x"));
    assert_int_equal(cw_seal_open(&other, CW_STR("p"), text, &a, &opened), CW_OK);
    cw_seal_done(&own);
    cw_arena_done(&a);
}

TEST(equal_keys_replace_nothing_until_their_time_has_come)
{
    cw_seal own;
    size_t n;
    seal_fixture_init(&own, CW_STR("old"));
    cw_seal_key keys[2] = {cw_seal_make_key(CW_STR("new")), cw_seal_make_key(CW_STR("old"))};
    assert_int_equal(cw_seal_set_keys(&own, keys + 1, 1, &err), CW_OK);
    assert_ptr_equal(cw_seal_get_keys(&own, &n), own.first.keys);
    keys[0].seals_from = cw_clock_ms() + HOUR_MS;
    assert_int_equal(cw_seal_set_keys(&own, keys, 2, &err), CW_OK);
    const cw_seal_key *ring = cw_seal_get_keys(&own, &n);
    keys[0].seals_from++; /* read again a little later */
    assert_int_equal(cw_seal_set_keys(&own, keys, 2, &err), CW_OK);
    assert_ptr_equal(cw_seal_get_keys(&own, &n), ring);
    keys[0].seals_from = 0;
    assert_int_equal(cw_seal_set_keys(&own, keys, 2, &err), CW_OK);
    assert_ptr_not_equal(cw_seal_get_keys(&own, &n), ring);
    assert_ptr_equal(cw_seal_get_current(&own), cw_seal_get_keys(&own, &n));
    cw_seal_done(&own);
}

static void set_once(void *ctx)
{
    cw_seal own;
    size_t n;
    (void)ctx;
    seal_fixture_init(&own, CW_STR("old"));
    const cw_seal_key key = cw_seal_make_key(CW_STR("new"));
    cw_code rc = cw_seal_set_keys(&own, &key, 1, &err);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    assert_int_equal(memcmp(cw_seal_get_keys(&own, &n)->bytes, key.bytes, CW_SEAL_KEY) == 0, !rc);
    assert_int_equal(n, 1);
    cw_seal_done(&own);
}

TEST(keys_that_cannot_be_replaced_stay)
{
    assert_true(oom_each(set_once, NULL) >= 1);
}

/* Threads seal and open while another one rotates. It waits for a round of each between two rotations, so
 * no text is older than two of them. */
typedef struct user {
    pthread_t thread;
    cw_seal *seal;
    atomic_uint n_rounds;
    bool has_failed;
} user;

static atomic_bool is_over;

static void *use_seal(void *arg)
{
    user *u = arg;
    while (!atomic_load(&is_over)) {
        cw_arena a;
        cw_str text, opened;
        cw_arena_init(&a, 1 << 20);
        u->has_failed = u->has_failed ||
                        cw_seal_close(u->seal, CW_STR("p"), CW_STR("x"), &a, &text, NULL) ||
                        cw_seal_open(u->seal, CW_STR("p"), text, &a, &opened);
        cw_arena_done(&a);
        atomic_fetch_add(&u->n_rounds, 1);
    }
    return NULL;
}

TEST(rotations_disturb_no_other_thread)
{
    cw_seal shared;
    user users[2] = {{.seal = &shared}, {.seal = &shared}};
    assert_int_equal(cw_seal_init(&shared, &err), CW_OK);
    for (size_t i = 0; i < CW_COUNT(users); i++)
        assert_int_equal(pthread_create(&users[i].thread, NULL, use_seal, &users[i]), 0);
    for (size_t rotation = 0; rotation < 100; rotation++) {
        seal_fixture_rotate(&shared);
        for (size_t i = 0; i < CW_COUNT(users); i++) {
            unsigned before = atomic_load(&users[i].n_rounds);
            while (atomic_load(&users[i].n_rounds) == before)
                sched_yield();
        }
    }
    atomic_store(&is_over, true);
    for (size_t i = 0; i < CW_COUNT(users); i++) {
        pthread_join(users[i].thread, NULL);
        assert_false(users[i].has_failed);
    }
    cw_seal_done(&shared);
}

static void seal_once(void *ctx)
{
    (void)ctx;
    cw_arena a;
    cw_str text, opened;
    cw_arena_init(&a, 1 << 20);
    cw_code rc = cw_seal_close(&seal, CW_STR("p"), CW_STR("x"), &a, &text, &err);
    if (!rc)
        rc = cw_seal_open(&seal, CW_STR("p"), text, &a, &opened);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_arena_done(&a);
}

TEST(sealing_survives_failed_allocations)
{
    assert_true(oom_each(seal_once, NULL) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sealed_can_be_opened),
        cmocka_unit_test(the_same_is_never_sealed_the_same),
        cmocka_unit_test(AS19_an_identifier_is_sealed_the_same_each_time),
        cmocka_unit_test(a_derived_secret_depends_on_key_purpose_and_text),
        cmocka_unit_test(threat_C4_nothing_changed_can_be_opened),
        cmocka_unit_test(threat_C4_another_purpose_or_key_does_not_open_it),
        cmocka_unit_test(equal_secrets_make_equal_keys),
        cmocka_unit_test(sealing_survives_failed_allocations),
        cmocka_unit_test(three_keys_open_and_the_newest_seals),
        cmocka_unit_test(a_key_opens_before_it_seals),
        cmocka_unit_test(equal_keys_replace_nothing_until_their_time_has_come),
        cmocka_unit_test(keys_that_cannot_be_replaced_stay),
        cmocka_unit_test(rotations_disturb_no_other_thread),
    };
    if (cw_seal_init(&seal, &err))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
