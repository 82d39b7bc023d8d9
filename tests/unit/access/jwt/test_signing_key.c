/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys that sign: what they sign is verified by the keys that they publish. */
#include "access/jwt/jwt.h"
#include "access/jwt/signing_key.h"
#include "support/oom.h"
#include "support/test.h"

static cw_arena arena;
static cw_err err;

SETUP(begin)
{
    cw_arena_init(&arena, 1u << 20);
    return 0;
}

TEARDOWN(end)
{
    cw_arena_wipe(&arena);
    return 0;
}

static cw_jwks *publish(const cw_signing_key *key)
{
    cw_jwks *keys = NULL;
    char *set = cw_arena_printf(&arena, "{\"keys\":[%.*s]}", CW_STR_ARG(key->jwk));
    assert_int_equal(cw_jwks_parse(cw_str_from(set), CW_JOSE_ALL, &keys, &err), CW_OK);
    assert_int_equal(cw_jwks_count(keys), 1);
    return keys;
}

TEST(AS34_tokens_are_verified_with_the_published_key_alone)
{
    static const cw_jose_alg algs[] = {CW_JOSE_ES256, CW_JOSE_RS256};
    for (size_t i = 0; i < CW_COUNT(algs); i++) {
        cw_signing_key key, other;
        cw_str token;
        cw_jwt jwt;
        assert_int_equal(cw_signing_key_make(algs[i], &arena, &key, &err), CW_OK);
        assert_int_equal(cw_signing_key_make(algs[i], &arena, &other, &err), CW_OK);
        assert_int_equal(key.id.n, 43);
        assert_int_equal(
            cw_signing_key_sign(&key, "at+jwt", CW_STR("{\"iss\":\"x\"}"), &arena, &token, &err),
            CW_OK);
        assert_int_equal(cw_jwt_parse(token, &arena, &jwt, &err), CW_OK);
        assert_true(cw_str_is(jwt.jws.typ, "at+jwt"));
        assert_true(cw_str_eq(jwt.jws.kid, key.id));
        cw_jwks *own = publish(&key), *foreign = publish(&other);
        assert_int_equal(cw_jwt_check_signature(&jwt, own, &err), CW_OK);
        assert_int_equal(cw_jwt_check_signature(&jwt, foreign, &err), CW_INVALID);
        cw_jwks_unref(own);
        cw_jwks_unref(foreign);
    }
}

TEST(AS34_a_key_that_is_none_signs_nothing)
{
    cw_signing_key key = {.alg = CW_JOSE_ES256, .id = CW_STR("x"), .secret = CW_STR("no key")};
    cw_str token;
    assert_int_equal(cw_signing_key_sign(&key, "at+jwt", CW_STR("{}"), &arena, &token, &err),
                     CW_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(AS34_tokens_are_verified_with_the_published_key_alone,
                                        begin, end),
        cmocka_unit_test_setup_teardown(AS34_a_key_that_is_none_signs_nothing, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
