/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/seal.h"
#include "support/oom.h"
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
    assert_int_equal(cw_seal_close_same(&seal, CW_STR("p"), CW_STR("x"), &a, &one, &err), CW_OK);
    assert_int_equal(cw_seal_close_same(&seal, CW_STR("p"), CW_STR("x"), &a, &two, &err), CW_OK);
    assert_true(cw_str_eq(one, two));
    assert_int_equal(cw_seal_open(&seal, CW_STR("p"), one, &a, &opened), CW_OK);
    assert_true(cw_str_is(opened, "x"));
    assert_int_equal(cw_seal_close_same(&seal, CW_STR("q"), CW_STR("x"), &a, &two, &err), CW_OK);
    assert_false(cw_str_eq(one, two));
    assert_int_equal(cw_seal_close_same(&seal, CW_STR("p"), CW_STR("y"), &a, &two, &err), CW_OK);
    assert_memory_not_equal(one.p, two.p, 32);
    cw_arena_done(&a);
}

TEST(a_derived_secret_depends_on_key_purpose_and_text)
{
    cw_seal other;
    unsigned char all[5][CW_SEAL_DIGEST];
    cw_seal_init_from(&other, CW_STR("another"));
    cw_seal_derive(&seal, CW_STR("p"), CW_STR("x"), all[0]);
    cw_seal_derive(&seal, CW_STR("p"), CW_STR("y"), all[1]);
    cw_seal_derive(&seal, CW_STR("px"), CW_STR(""), all[2]);
    cw_seal_derive(&other, CW_STR("p"), CW_STR("x"), all[3]);
    cw_seal_derive(&seal, CW_STR("p"), CW_STR("x"), all[4]);
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
    cw_seal_init_from(&one, CW_STR("a secret that is long enough for it"));
    cw_seal_init_from(&two, CW_STR("a secret that is long enough for it"));
    cw_seal_init_from(&three, CW_STR("a secret that is long enough for it."));
    cw_str text = close_text(&a, &one, CW_STR("p"), CW_STR("x"));
    assert_int_equal(cw_seal_open(&two, CW_STR("p"), text, &a, &opened), CW_OK);
    assert_int_equal(cw_seal_open(&three, CW_STR("p"), text, &a, &opened), CW_PARSE);
    cw_arena_done(&a);
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
    };
    if (cw_seal_init(&seal, &err))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
