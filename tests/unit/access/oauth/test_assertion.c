/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Client assertions: each rule alone, with everything else right. */
#include "access/oauth/assertion.h"
#include "support/oom.h"
#include "support/test.h"
#include "support/token_signer.h"

#define ISSUER "https://tools.example"
#define NOW INT64_C(1800000000)
#define HEADER "{\"alg\":\"ES256\",\"kid\":\"es\"}"
#define REST(aud, exp, jti) "\"aud\":" aud ",\"exp\":" exp ",\"jti\":\"" jti "\"}"
#define CLAIMS(iss, sub, aud, exp, jti)                                                            \
    "{\"iss\":\"" iss "\",\"sub\":\"" sub "\"," REST(aud, exp, jti)
#define GOOD CLAIMS("robot", "robot", "\"" ISSUER "\"", "1800000060", "one")

static token_signer signer, stranger;
static cw_oauth_client client;
static cw_arena arena, keys;
static cw_assertion found;
static cw_err err;

SETUP(make_keys)
{
    cw_arena_init(&arena, 4u << 20);
    cw_arena_init(&keys, 1u << 20);
    token_signer_init(&signer, CW_JOSE_ES256, "es");
    token_signer_init(&stranger, CW_JOSE_ES256, "es");
    client = (cw_oauth_client){.id = CW_STR("robot"),
                               .jwks = token_signer_key_set(&signer, 1, "", &keys)};
    return 0;
}

TEARDOWN(drop_keys)
{
    token_signer_done(&signer);
    token_signer_done(&stranger);
    cw_arena_done(&keys);
    cw_arena_done(&arena);
    return 0;
}

SETUP(reset)
{
    cw_arena_reset(&arena);
    client.is_for_endpoint = false;
    return 0;
}

static cw_code check_by(const token_signer *by, const char *header, const char *claims)
{
    cw_str text = token_signer_token(by, cw_str_from(header), cw_str_from(claims), &arena);
    return cw_assertion_check(text, &client, CW_STR(ISSUER), NOW * 1000, &arena, &found, &err);
}

static cw_code check(const char *claims)
{
    return check_by(&signer, HEADER, claims);
}

TEST(AS33_a_signed_assertion_names_its_client)
{
    assert_int_equal(check(GOOD), CW_OK);
    assert_int_equal(found.until, (NOW + 60 + CW_ASSERTION_LEEWAY_S) * 1000);
    cw_str text = token_signer_token(&stranger, CW_STR(HEADER), CW_STR(GOOD), &arena);
    assert_true(cw_str_is(cw_assertion_client(text, &arena), "robot"));
    assert_null(cw_assertion_client(CW_STR("robot"), &arena).p);
    assert_null(cw_assertion_client(CW_STR("a.b.c"), &arena).p);
}

TEST(AS33_another_key_and_another_kind_of_token_are_rejected)
{
    assert_int_equal(check_by(&stranger, HEADER, GOOD), CW_INVALID);
    assert_int_equal(check_by(&signer, "{\"alg\":\"RS256\",\"kid\":\"es\"}", GOOD), CW_INVALID);
    assert_int_equal(check_by(&signer, "{\"alg\":\"none\",\"kid\":\"es\"}", GOOD), CW_INVALID);
    assert_int_equal(check_by(&signer, "{\"alg\":\"HS256\",\"kid\":\"es\"}", GOOD), CW_INVALID);
    assert_int_equal(
        check_by(&signer, "{\"alg\":\"ES256\",\"kid\":\"es\",\"typ\":\"at+jwt\"}", GOOD),
        CW_INVALID);
    assert_int_equal(
        check_by(&signer, "{\"alg\":\"ES256\",\"kid\":\"es\",\"typ\":\"oauth-id-jag+jwt\"}", GOOD),
        CW_INVALID);
    assert_int_equal(check_by(&signer, "{\"alg\":\"ES256\",\"kid\":\"es\",\"typ\":\"JWT\"}", GOOD),
                     CW_OK);
    assert_int_equal(
        check_by(&signer, "{\"alg\":\"ES256\",\"typ\":\"client-authentication+jwt\"}", GOOD),
        CW_OK);
}

TEST(AS33_issuer_subject_and_id_are_required)
{
#define FOR_US "\"" ISSUER "\""
    assert_int_equal(check(CLAIMS("other", "robot", FOR_US, "1800000060", "1")), CW_INVALID);
    assert_int_equal(check(CLAIMS("robot", "other", FOR_US, "1800000060", "1")), CW_INVALID);
    assert_int_equal(check(CLAIMS("robot", "robot", FOR_US, "1800000060", "")), CW_INVALID);
    assert_int_equal(
        check("{\"iss\":\"robot\",\"sub\":\"robot\",\"aud\":" FOR_US ",\"exp\":1800000060}"),
        CW_INVALID);
    assert_int_equal(
        check("{\"iss\":\"robot\",\"aud\":" FOR_US ",\"exp\":1800000060,\"jti\":\"1\"}"),
        CW_INVALID);
}

TEST(AS33_the_audience_is_one_value)
{
#define AUD(text) CLAIMS("robot", "robot", text, "1800000060", "1")
    assert_int_equal(check(AUD("[\"" ISSUER "\"]")), CW_OK);
    assert_int_equal(check(AUD("[\"" ISSUER "\",\"" ISSUER "\"]")), CW_INVALID);
    assert_int_equal(check(AUD("[]")), CW_INVALID);
    assert_int_equal(check(AUD("\"" ISSUER "/\"")), CW_INVALID);
    assert_int_equal(check(AUD("\"" ISSUER "/token\"")), CW_INVALID);
    client.is_for_endpoint = true;
    assert_int_equal(check(AUD("\"" ISSUER "/token\"")), CW_OK);
    assert_int_equal(check(AUD("\"" ISSUER "\"")), CW_INVALID);
    assert_int_equal(check(AUD("\"https://other.example/token\"")), CW_INVALID);
}

TEST(AS33_it_lives_for_five_minutes_at_most)
{
#define EXP(text) CLAIMS("robot", "robot", "\"" ISSUER "\"", text, "1")
    assert_int_equal(check(EXP("1800000300")), CW_OK);
    assert_int_equal(check(EXP("1800000360")), CW_OK); /* leeway */
    assert_int_equal(check(EXP("1800000361")), CW_INVALID);
    assert_int_equal(check(EXP("1799999941")), CW_OK); /* leeway */
    assert_int_equal(check(EXP("1799999940")), CW_INVALID);
    assert_int_equal(check(EXP("\"soon\"")), CW_INVALID);
    assert_int_equal(check(EXP("1800000060,\"nbf\":1800000100")), CW_INVALID);
    assert_int_equal(check(EXP("1800000060,\"iat\":1800000100")), CW_INVALID);
}

TEST(AS33_the_digest_tells_clients_and_ids_apart)
{
    unsigned char first[CW_DIGEST];
    assert_int_equal(check(GOOD), CW_OK);
    memcpy(first, found.digest, sizeof first);
    assert_int_equal(check(GOOD), CW_OK);
    assert_memory_equal(found.digest, first, sizeof first);
    assert_int_equal(check(CLAIMS("robot", "robot", "\"" ISSUER "\"", "1800000060", "two")), CW_OK);
    assert_memory_not_equal(found.digest, first, sizeof first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(AS33_a_signed_assertion_names_its_client, reset),
        cmocka_unit_test_setup(AS33_another_key_and_another_kind_of_token_are_rejected, reset),
        cmocka_unit_test_setup(AS33_issuer_subject_and_id_are_required, reset),
        cmocka_unit_test_setup(AS33_the_audience_is_one_value, reset),
        cmocka_unit_test_setup(AS33_it_lives_for_five_minutes_at_most, reset),
        cmocka_unit_test_setup(AS33_the_digest_tells_clients_and_ids_apart, reset),
    };
    return cmocka_run_group_tests(tests, make_keys, drop_keys);
}
