/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "access/oauth/refresh.h"
#include "support/seal_fixture.h"
#include "support/test.h"

static cw_seal seal;

SETUP(setup)
{
    seal_fixture_init(&seal, CW_STR("a key of the server, for this test"));
    return 0;
}

static cw_refresh_token first(void)
{
    cw_refresh_token token = {.grant = 0x0102030405060708, .generation = 7};
    for (size_t i = 0; i < sizeof token.secret; i++)
        token.secret[i] = (unsigned char)(i * 7);
    return token;
}

TEST(AS27_a_token_is_read_as_it_was_written)
{
    char text[CW_REFRESH_LEN + 1];
    cw_refresh_token token = first(), read;
    cw_refresh_format(&seal, &token, text);
    assert_int_equal(strlen(text), CW_REFRESH_LEN);
    assert_true(cw_str_starts(cw_str_from(text), CW_STR(CW_REFRESH_PREFIX)));
    assert_true(cw_refresh_parse(&seal, cw_str_from(text), &read));
    assert_true(read.grant == token.grant);
    assert_int_equal(read.generation, token.generation);
    assert_memory_equal(read.secret, token.secret, sizeof token.secret);
}

TEST(T25_no_changed_token_has_a_right_tag)
{
    char text[CW_REFRESH_LEN + 1];
    cw_refresh_token token = first(), read;
    cw_seal other;
    cw_refresh_format(&seal, &token, text);
    for (size_t i = 0; i < CW_REFRESH_LEN; i++) {
        char kept = text[i];
        text[i] = kept == 'A' ? 'B' : 'A';
        assert_false(cw_refresh_parse(&seal, cw_str_from(text), &read));
        text[i] = kept;
    }
    for (size_t n = 0; n < CW_REFRESH_LEN; n++)
        assert_false(cw_refresh_parse(&seal, cw_str_make(text, n), &read));
    seal_fixture_init(&other, CW_STR("another key"));
    assert_false(cw_refresh_parse(&other, cw_str_from(text), &read));
    assert_true(cw_refresh_parse(&seal, cw_str_from(text), &read));
}

TEST(AS23_the_next_token_follows_from_the_one_before)
{
    unsigned char own[CW_DIGEST], following[CW_DIGEST];
    cw_refresh_token token = first();
    cw_refresh_token next = cw_refresh_next(&seal, &token), again = cw_refresh_next(&seal, &token);
    assert_true(next.grant == token.grant);
    assert_int_equal(next.generation, 8);
    assert_memory_equal(next.secret, again.secret, sizeof next.secret);
    cw_refresh_digest(&token, own);
    cw_refresh_digest(&next, following);
    assert_memory_not_equal(own, following, CW_DIGEST);
    /* Not without the key of the server, and not of another grant. */
    cw_seal other;
    seal_fixture_init(&other, CW_STR("another key"));
    cw_refresh_token foreign = cw_refresh_next(&other, &token);
    assert_memory_not_equal(foreign.secret, next.secret, sizeof next.secret);
    token.grant++;
    foreign = cw_refresh_next(&seal, &token);
    assert_memory_not_equal(foreign.secret, next.secret, sizeof next.secret);
}

/* The successor of a token is the same before and after a rotation, and its text has a tag of the new key. */
TEST(a_token_and_its_successor_survive_two_rotations)
{
    cw_seal own;
    cw_refresh_token read, token = first();
    char text[CW_REFRESH_LEN + 1], again[CW_REFRESH_LEN + 1];
    seal_fixture_init(&own, CW_STR("a key"));
    cw_refresh_format(&own, &token, text);
    assert_true(cw_refresh_parse(&own, cw_str_from(text), &read));
    cw_refresh_token next = cw_refresh_next(&own, &read);
    for (unsigned i = 0; i < 2; i++) {
        seal_fixture_rotate(&own);
        assert_true(cw_refresh_parse(&own, cw_str_from(text), &read));
        cw_refresh_token now = cw_refresh_next(&own, &read);
        assert_memory_equal(now.secret, next.secret, sizeof next.secret);
        cw_refresh_format(&own, &token, again);
        assert_string_not_equal(again, text);
    }
    seal_fixture_rotate(&own);
    assert_false(cw_refresh_parse(&own, cw_str_from(text), &read));
    assert_true(cw_refresh_parse(&own, cw_str_from(again), &read));
    cw_seal_done(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(AS27_a_token_is_read_as_it_was_written),
        cmocka_unit_test(T25_no_changed_token_has_a_right_tag),
        cmocka_unit_test(AS23_the_next_token_follows_from_the_one_before),
        cmocka_unit_test(a_token_and_its_successor_survive_two_rotations),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
