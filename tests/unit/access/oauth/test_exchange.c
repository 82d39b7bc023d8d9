/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checks of the token endpoint, each alone, and what they leave in the database. */
#include "access/oauth/dcr.h"
#include "support/oauth_fixture.h"
#include "support/oom.h"
#include "support/seal_fixture.h"

#define DAY_MS ((int64_t)86400000)

static oauth_fixture f;
static cw_buf before, after;

SETUP(setup)
{
    if (temp_db_setup(state))
        return -1;
    oauth_fixture_open(&f);
    cw_buf_init(&before, 1u << 16);
    cw_buf_init(&after, 1u << 16);
    return 0;
}

TEARDOWN(teardown)
{
    oauth_fixture_close(&f);
    cw_buf_done(&before);
    cw_buf_done(&after);
    return temp_db_teardown(state);
}

static cw_oauth_tokens ask(cw_oauth_token_request r, int64_t now)
{
    return oauth_fixture_ask(&f, &r, now);
}

/* A request that fails, and changes nothing. */
static void refused(cw_oauth_token_request r, int64_t now, cw_oauth_error error)
{
    oauth_fixture_dump(&f, &before);
    cw_oauth_tokens tokens = ask(r, now);
    oauth_fixture_dump(&f, &after);
    assert_int_equal(tokens.error, error);
    assert_non_null(tokens.description);
    assert_int_equal(tokens.event, CW_OAUTH_NO_EVENT);
    assert_int_equal(tokens.access_token[0], '\0');
    assert_int_equal(tokens.refresh_token[0], '\0');
    assert_true(cw_str_eq(cw_buf_str(&before), cw_buf_str(&after)));
}

/* A grant of "app". */
static cw_oauth_tokens allow(void)
{
    char code[CW_ACCESS_TOKEN_LEN + 1];
    oauth_fixture_add_code(&f, code, "app");
    cw_oauth_tokens tokens = ask(oauth_fixture_exchange(code), OAUTH_NOW);
    assert_int_equal(tokens.error, CW_OAUTH_NO_ERROR);
    return tokens;
}

static cw_oauth_tokens refresh(const cw_oauth_tokens *from, int64_t now)
{
    return ask(oauth_fixture_refresh(from->refresh_token), now);
}

/* ---- codes ---- */

TEST(AS10_T7_no_failed_check_consumes_a_code)
{
    char code[CW_ACCESS_TOKEN_LEN + 1], unknown[CW_ACCESS_TOKEN_LEN + 1];
    oauth_fixture_add_code(&f, code, "app");
    assert_int_equal(cw_access_token_make(CW_CODE_PREFIX, unknown, NULL), CW_OK);
    const cw_oauth_token_request good = oauth_fixture_exchange(code);
    struct {
        cw_oauth_token_request r;
        int64_t now;
        cw_oauth_error error;
    } bad[16];
    size_t n = 0;
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        bad[i].r = good;
        bad[i].now = OAUTH_NOW;
    }
#define BAD(member, value, expected)                                                               \
    (bad[n].r.member = (value), bad[n++].error = CW_OAUTH_INVALID_##expected)
    BAD(client_id, CW_STR("nobody"), CLIENT);
    BAD(client_id, CW_STR(""), CLIENT);
    BAD(client_id, CW_STR("robot"), CLIENT); /* has a secret, and sent none */
    BAD(client_secret, CW_STR("x"), CLIENT); /* has none, and sent one */
    BAD(client_id, CW_STR("other"), GRANT);
    BAD(client_id, CW_STR("https://app.example/client.json"), GRANT);
    BAD(code, cw_str_from(unknown), GRANT);
    BAD(code, CW_STR("cwc_"), GRANT);
    BAD(redirect_uri, CW_STR("http://127.0.0.1:8/callback"), GRANT);
    BAD(resource, CW_STR("/mcp/x/small"), TARGET);
    BAD(is_foreign_resource, true, TARGET);
    BAD(code_verifier, CW_STR("short"), REQUEST);
    BAD(code_verifier, CW_STR("a-verifier-of-forty-three-characters or more"), REQUEST);
    BAD(code_verifier, CW_STR("another-verifier-of-forty-three-characters-or"), GRANT);
    bad[n].now = OAUTH_NOW + CW_OAUTH_CODE_MS;
    bad[n++].error = CW_OAUTH_INVALID_GRANT;
    for (size_t i = 0; i < n; i++)
        refused(bad[i].r, bad[i].now, bad[i].error);
    cw_oauth_token_request least = good; /* neither address nor resource is needed */
    least.redirect_uri = least.resource = (cw_str){NULL, 0};
    cw_oauth_tokens tokens = ask(least, OAUTH_NOW + CW_OAUTH_CODE_MS - 1);
    assert_int_equal(tokens.error, CW_OAUTH_NO_ERROR);
    assert_int_equal(tokens.event, CW_OAUTH_ISSUED);
    assert_true(oauth_fixture_has_token(&f, tokens.access_token));
}

TEST(AS10_T6_a_replay_with_everything_right_ends_the_grant_and_another_changes_nothing)
{
    char code[CW_ACCESS_TOKEN_LEN + 1];
    oauth_fixture_add_code(&f, code, "app");
    const cw_oauth_token_request good = oauth_fixture_exchange(code);
    cw_oauth_token_request wrong = good;
    cw_oauth_tokens tokens = ask(good, OAUTH_NOW);
    wrong.code_verifier = CW_STR("another-verifier-of-forty-three-characters-or");
    refused(wrong, OAUTH_NOW, CW_OAUTH_INVALID_GRANT);
    refused(good, OAUTH_NOW + CW_OAUTH_CODE_MS, CW_OAUTH_INVALID_GRANT);
    cw_oauth_tokens again = ask(good, OAUTH_NOW + 1);
    assert_int_equal(again.error, CW_OAUTH_INVALID_GRANT);
    assert_int_equal(again.event, CW_OAUTH_REUSED);
    assert_int_equal(again.grant, tokens.grant);
    assert_false(oauth_fixture_has_token(&f, tokens.access_token));
    refused(oauth_fixture_refresh(tokens.refresh_token), OAUTH_NOW, CW_OAUTH_INVALID_GRANT);
    refused(good, OAUTH_NOW + 2, CW_OAUTH_INVALID_GRANT);
}

TEST(AS27_an_access_token_lives_as_its_settings_say_but_not_longer_than_its_grant)
{
    cw_oauth_tokens tokens = allow();
    assert_int_equal(tokens.expires_ms, 1800000);
    int64_t end = OAUTH_NOW + f.settings.life_ms;
    f.settings.idle_ms = f.settings.life_ms * 2;
    tokens = refresh(&tokens, end - 1000);
    assert_int_equal(tokens.error, CW_OAUTH_NO_ERROR);
    assert_int_equal(tokens.expires_ms, 1000);
}

/* ---- refresh tokens ---- */

TEST(AS23_T25_the_token_before_gets_the_same_successor_within_the_grace)
{
    cw_oauth_tokens first = allow();
    cw_oauth_tokens second = refresh(&first, OAUTH_NOW + 1000);
    assert_int_equal(second.event, CW_OAUTH_REFRESHED);
    cw_oauth_tokens again = refresh(&first, OAUTH_NOW + 1000 + 59999);
    assert_int_equal(again.error, CW_OAUTH_NO_ERROR);
    assert_string_equal(again.refresh_token, second.refresh_token);
    assert_string_not_equal(again.access_token, second.access_token);
    assert_true(oauth_fixture_has_token(&f, second.access_token));
    cw_oauth_tokens late = refresh(&first, OAUTH_NOW + 1000 + 60000);
    assert_int_equal(late.error, CW_OAUTH_INVALID_GRANT);
    assert_int_equal(late.event, CW_OAUTH_REUSED);
    assert_false(oauth_fixture_has_token(&f, again.access_token));
    refused(oauth_fixture_refresh(second.refresh_token), OAUTH_NOW + 70000, CW_OAUTH_INVALID_GRANT);
}

TEST(AS23_a_repeated_token_gets_the_same_successor_after_a_rotation_of_keys)
{
    cw_refresh_token one, two;
    cw_oauth_tokens first = allow();
    cw_oauth_tokens second = refresh(&first, OAUTH_NOW + 1000);
    seal_fixture_rotate(&f.seal);
    cw_oauth_tokens again = refresh(&first, OAUTH_NOW + 2000);
    assert_int_equal(again.error, CW_OAUTH_NO_ERROR);
    assert_true(cw_refresh_parse(&f.seal, cw_str_from(second.refresh_token), &one));
    assert_true(cw_refresh_parse(&f.seal, cw_str_from(again.refresh_token), &two));
    assert_memory_equal(one.secret, two.secret, sizeof one.secret);
    /* Both texts are the current token. Its successor survives the key of the first one. */
    cw_oauth_tokens third = refresh(&second, OAUTH_NOW + 3000);
    assert_int_equal(third.error, CW_OAUTH_NO_ERROR);
    seal_fixture_rotate(&f.seal);
    seal_fixture_rotate(&f.seal);
    assert_int_equal(refresh(&third, OAUTH_NOW + 4000).error, CW_OAUTH_NO_ERROR);
    refused(oauth_fixture_refresh(second.refresh_token), OAUTH_NOW + 5000, CW_OAUTH_INVALID_GRANT);
}

TEST(AS23_without_a_grace_every_second_use_ends_the_grant)
{
    f.settings.grace_ms = 0;
    cw_oauth_tokens first = allow();
    cw_oauth_tokens second = refresh(&first, OAUTH_NOW + 1000);
    assert_int_equal(second.error, CW_OAUTH_NO_ERROR);
    assert_int_equal(refresh(&first, OAUTH_NOW + 1000).event, CW_OAUTH_REUSED);
}

TEST(AS23_T25_a_token_two_generations_old_ends_the_grant_and_a_forged_one_does_not)
{
    cw_oauth_tokens first = allow(), second = refresh(&first, OAUTH_NOW),
                    third = refresh(&second, OAUTH_NOW);
    char forged[CW_REFRESH_LEN + 1];
    cw_refresh_token made_up = {.grant = first.grant, .generation = 1}, ahead;
    cw_seal other;
    seal_fixture_init(&other, CW_STR("another server"));
    cw_refresh_format(&other, &made_up, forged);
    refused(oauth_fixture_refresh(forged), OAUTH_NOW, CW_OAUTH_INVALID_GRANT);
    refused(oauth_fixture_refresh("cwr_"), OAUTH_NOW, CW_OAUTH_INVALID_GRANT);
    /* With a right tag, but of this and of a later generation: not one that was ever given. */
    assert_true(cw_refresh_parse(f.settings.seal, cw_str_from(third.refresh_token), &ahead));
    ahead.secret[0] ^= 1;
    cw_refresh_format(f.settings.seal, &ahead, forged);
    refused(oauth_fixture_refresh(forged), OAUTH_NOW, CW_OAUTH_INVALID_GRANT);
    ahead.generation += 5;
    cw_refresh_format(f.settings.seal, &ahead, forged);
    refused(oauth_fixture_refresh(forged), OAUTH_NOW, CW_OAUTH_INVALID_GRANT);
    assert_int_equal(refresh(&first, OAUTH_NOW).event, CW_OAUTH_REUSED);
    refused(oauth_fixture_refresh(third.refresh_token), OAUTH_NOW, CW_OAUTH_INVALID_GRANT);
}

TEST(AS24_T26_no_failed_check_uses_up_a_refresh_token)
{
    cw_oauth_tokens first = allow();
    const cw_oauth_token_request good = oauth_fixture_refresh(first.refresh_token);
    cw_oauth_token_request bad = good;
    bad.client_id = CW_STR("other");
    refused(bad, OAUTH_NOW, CW_OAUTH_INVALID_GRANT);
    bad = good;
    bad.resource = CW_STR("/mcp/x/small");
    refused(bad, OAUTH_NOW, CW_OAUTH_INVALID_TARGET);
    bad.resource = (cw_str){NULL, 0};
    bad.is_foreign_resource = true;
    refused(bad, OAUTH_NOW, CW_OAUTH_INVALID_TARGET);
    bad = good;
    bad.scope = CW_STR("a c");
    refused(bad, OAUTH_NOW, CW_OAUTH_INVALID_SCOPE);
    cw_oauth_tokens next = ask(good, OAUTH_NOW);
    assert_int_equal(next.error, CW_OAUTH_NO_ERROR);
}

/* The scopes of a request with this scope. */
static void check_request(cw_oauth_token_request r, const char *scope, const char *expected,
                          cw_oauth_tokens *ret)
{
    cw_arena arena;
    cw_oauth_tokens next;
    r.scope = cw_str_from(scope);
    cw_arena_init(&arena, 1u << 16);
    cw_code rc = cw_oauth_exchange(f.db, &f.settings, &r, OAUTH_NOW, &arena, &next, NULL);
    assert_int_equal(rc, CW_OK);
    assert_int_equal(next.error, CW_OAUTH_NO_ERROR);
    assert_true(cw_str_is(next.scope, expected));
    *ret = next;
    cw_arena_done(&arena);
}

static void check_scope(cw_oauth_tokens *tokens, const char *scope, const char *expected)
{
    check_request(oauth_fixture_refresh(tokens->refresh_token), scope, expected, tokens);
}

TEST(AS24_a_refresh_may_ask_for_fewer_scopes_and_later_for_all_again)
{
    cw_oauth_tokens tokens = allow();
    check_scope(&tokens, "b", "b");
    check_scope(&tokens, "b offline_access", "b");
    check_scope(&tokens, "b  a b", "a b");
    check_scope(&tokens, "", "a b");
    check_scope(&tokens, "offline_access", "");
}

TEST(AS25_a_grant_ends_without_use_and_at_its_age)
{
    cw_oauth_tokens tokens = allow(), idle = allow();
    int64_t now = OAUTH_NOW;
    refused(oauth_fixture_refresh(idle.refresh_token), now + f.settings.idle_ms,
            CW_OAUTH_INVALID_GRANT);
    /* One that is used every day lives on, to its last day. */
    while (now + DAY_MS < OAUTH_NOW + f.settings.life_ms) {
        now += DAY_MS;
        tokens = refresh(&tokens, now);
        assert_int_equal(tokens.error, CW_OAUTH_NO_ERROR);
    }
    refused(oauth_fixture_refresh(tokens.refresh_token), now + DAY_MS, CW_OAUTH_INVALID_GRANT);
}

TEST(AS25_a_block_of_the_account_ends_codes_and_grants)
{
    char code[CW_ACCESS_TOKEN_LEN + 1];
    cw_oauth_tokens tokens = allow();
    oauth_fixture_add_code(&f, code, "app");
    assert_int_equal(cw_db_block_account(f.db, CW_STR("alice"), true, NULL), CW_OK);
    assert_int_equal(cw_db_block_account(f.db, CW_STR("alice"), false, NULL), CW_OK);
    refused(oauth_fixture_exchange(code), OAUTH_NOW, CW_OAUTH_INVALID_GRANT);
    refused(oauth_fixture_refresh(tokens.refresh_token), OAUTH_NOW, CW_OAUTH_INVALID_GRANT);
    assert_false(oauth_fixture_has_token(&f, tokens.access_token));
}

TEST(AS30_an_account_has_so_many_grants_and_the_one_used_least_recently_ends)
{
    cw_oauth_tokens all[6], last;
    char code[CW_ACCESS_TOKEN_LEN + 1];
    for (int i = 0; i < 5; i++)
        all[i] = allow();
    all[0] = refresh(&all[0], OAUTH_NOW + 10);
    oauth_fixture_add_code(&f, code, "app");
    last = ask(oauth_fixture_exchange(code), OAUTH_NOW + 20);
    assert_true(last.has_ended_others);
    assert_false(oauth_fixture_has_token(&f, all[1].access_token));
    assert_true(oauth_fixture_has_token(&f, all[0].access_token));
    assert_true(oauth_fixture_has_token(&f, all[2].access_token));
    assert_true(oauth_fixture_has_token(&f, last.access_token));
}

/* ---- client credentials ---- */

static cw_oauth_token_request serve(void)
{
    return (cw_oauth_token_request){.type = CW_OAUTH_CLIENT_CREDENTIALS,
                                    .client_id = CW_STR("robot"),
                                    .client_secret = CW_STR(OAUTH_SECRET)};
}

TEST(AS32_a_client_with_an_account_gets_tokens_of_one_grant)
{
    cw_oauth_token_request r = serve();
    cw_oauth_tokens one = ask(r, OAUTH_NOW), two = ask(r, OAUTH_NOW + 1);
    assert_int_equal(one.error, CW_OAUTH_NO_ERROR);
    assert_int_equal(one.refresh_token[0], '\0');
    assert_int_equal(one.grant, two.grant);
    assert_string_not_equal(one.access_token, two.access_token);
    /* When the grant ends, the next request makes another one. */
    cw_oauth_tokens three = ask(r, OAUTH_NOW + f.settings.life_ms);
    assert_int_equal(three.error, CW_OAUTH_NO_ERROR);
    assert_int_not_equal(three.grant, one.grant);
}

TEST(AS30_a_grant_has_so_many_access_tokens_and_the_oldest_ends)
{
    cw_oauth_tokens all[5];
    f.settings.access_tokens = 3;
    cw_oauth_tokens other = allow();
    for (int i = 0; i < 4; i++)
        all[i] = ask(serve(), OAUTH_NOW + i);
    assert_false(all[2].has_ended_others);
    assert_true(all[3].has_ended_others);
    assert_false(oauth_fixture_has_token(&f, all[0].access_token));
    for (int i = 1; i < 4; i++)
        assert_true(oauth_fixture_has_token(&f, all[i].access_token));
    /* Tokens of one moment: the new one stays. */
    f.settings.access_tokens = 1;
    all[4] = ask(serve(), OAUTH_NOW + 3);
    for (int i = 1; i < 4; i++)
        assert_false(oauth_fixture_has_token(&f, all[i].access_token));
    assert_true(oauth_fixture_has_token(&f, all[4].access_token));
    assert_true(oauth_fixture_has_token(&f, other.access_token));
}

TEST(AS32_shortly_before_its_grant_ends_a_client_gets_one_more)
{
    int64_t now = OAUTH_NOW + f.settings.life_ms - 10;
    f.settings.idle_ms = f.settings.life_ms;
    cw_oauth_tokens one = ask(serve(), OAUTH_NOW), two = ask(serve(), now);
    assert_int_not_equal(one.grant, two.grant);
    assert_int_equal(ask(serve(), now + 1).grant, two.grant);
}

TEST(AS12_AS32_a_client_with_an_account_has_one_grant_for_each_resource)
{
    cw_oauth_token_request r = serve();
    cw_oauth_tokens all = ask(r, OAUTH_NOW);
    r.resource = CW_STR("/mcp/x/small");
    cw_oauth_tokens one = ask(r, OAUTH_NOW), two = ask(r, OAUTH_NOW);
    assert_int_not_equal(all.grant, one.grant);
    assert_int_equal(one.grant, two.grant);
    cw_arena arena;
    cw_db_oauth_grant *grant = NULL;
    cw_arena_init(&arena, 1u << 16);
    assert_int_equal(cw_db_find_oauth_grant(f.db, one.grant, &arena, &grant, NULL), CW_OK);
    assert_true(cw_str_is(grant->resource, "/mcp/x/small"));
    cw_arena_done(&arena);
}

TEST(AS32_a_client_gets_the_scopes_that_it_has_of_those_it_asks_for)
{
    cw_oauth_tokens tokens;
    check_request(serve(), "", "a b", &tokens);
    check_request(serve(), "b c offline_access", "b", &tokens);
    check_request(serve(), "offline_access", "", &tokens);
    f.clients[2].n_scopes = 0;
    check_request(serve(), "c", "", &tokens);
}

TEST(AS32_other_clients_scopes_and_resources_get_none)
{
    cw_oauth_token_request r = serve();
    r.client_secret = CW_STR("another");
    refused(r, OAUTH_NOW, CW_OAUTH_INVALID_CLIENT);
    r = serve();
    r.client_id = CW_STR("app");
    r.client_secret = (cw_str){NULL, 0};
    refused(r, OAUTH_NOW, CW_OAUTH_UNAUTHORIZED_CLIENT);
    r = serve();
    r.scope = CW_STR("c offline_access");
    refused(r, OAUTH_NOW, CW_OAUTH_INVALID_SCOPE);
    r = serve();
    r.is_foreign_resource = true;
    refused(r, OAUTH_NOW, CW_OAUTH_INVALID_TARGET);
    assert_int_equal(cw_db_block_account(f.db, CW_STR("alice"), true, NULL), CW_OK);
    refused(serve(), OAUTH_NOW, CW_OAUTH_UNAUTHORIZED_CLIENT);
    f.clients[2].account = CW_STR("nobody");
    refused(serve(), OAUTH_NOW, CW_OAUTH_UNAUTHORIZED_CLIENT);
}

/* ---- revocation ---- */

static cw_oauth_tokens take_back(const char *client, const char *token)
{
    cw_oauth_tokens tokens;
    cw_arena arena;
    cw_oauth_token_request r = {.client_id = cw_str_from(client), .token = cw_str_from(token)};
    cw_arena_init(&arena, 1u << 16);
    cw_code rc = cw_oauth_revoke(f.db, &f.settings, &r, OAUTH_NOW, &arena, &tokens, NULL);
    assert_int_equal(rc, CW_OK);
    cw_arena_done(&arena);
    return tokens;
}

TEST(AS26_T27_only_its_own_client_revokes_a_token)
{
    cw_oauth_tokens tokens = allow();
    oauth_fixture_dump(&f, &before);
    assert_int_equal(take_back("other", tokens.access_token).event, CW_OAUTH_NO_EVENT);
    assert_int_equal(take_back("other", tokens.refresh_token).event, CW_OAUTH_NO_EVENT);
    assert_int_equal(take_back("app", "anything").event, CW_OAUTH_NO_EVENT);
    assert_int_equal(take_back("nobody", tokens.access_token).error, CW_OAUTH_INVALID_CLIENT);
    oauth_fixture_dump(&f, &after);
    assert_true(cw_str_eq(cw_buf_str(&before), cw_buf_str(&after)));
    assert_int_equal(take_back("app", tokens.access_token).event, CW_OAUTH_REVOKED);
    assert_false(oauth_fixture_has_token(&f, tokens.access_token));
    assert_int_equal(take_back("app", tokens.access_token).event, CW_OAUTH_NO_EVENT);
    tokens = refresh(&tokens, OAUTH_NOW);
    assert_int_equal(tokens.error, CW_OAUTH_NO_ERROR);
    assert_int_equal(take_back("app", tokens.refresh_token).event, CW_OAUTH_REVOKED);
    assert_false(oauth_fixture_has_token(&f, tokens.access_token));
    assert_int_equal(take_back("app", tokens.refresh_token).event, CW_OAUTH_NO_EVENT);
}

/* ---- failed allocations ---- */

/* A request with each allocation failing: it ends with CW_NOMEM and changes nothing, or it succeeds. */
static void fail_each(const cw_oauth_token_request *r)
{
    bool was_hit = true;
    oauth_fixture_dump(&f, &before);
    for (size_t n = 1; was_hit; n++) {
        cw_oauth_tokens tokens;
        cw_arena arena;
        assert_true(n < 500);
        cw_arena_init(&arena, 1u << 20);
        oom_fail_at(n);
        cw_code rc = cw_oauth_exchange(f.db, &f.settings, r, OAUTH_NOW, &arena, &tokens, NULL);
        was_hit = oom_was_hit();
        oom_reset();
        cw_arena_done(&arena);
        assert_int_equal(rc, was_hit ? CW_NOMEM : CW_OK);
        if (!was_hit)
            assert_int_equal(tokens.error, CW_OAUTH_NO_ERROR);
        oauth_fixture_dump(&f, &after);
        assert_int_equal(cw_str_eq(cw_buf_str(&before), cw_buf_str(&after)), was_hit);
    }
}

TEST(a_failed_allocation_changes_nothing)
{
    char code[CW_ACCESS_TOKEN_LEN + 1];
    cw_oauth_tokens tokens = allow();
    oauth_fixture_add_code(&f, code, "app");
    cw_oauth_token_request r = oauth_fixture_exchange(code);
    fail_each(&r);
    r = oauth_fixture_refresh(tokens.refresh_token);
    r.scope = CW_STR("b");
    fail_each(&r);
    r = serve();
    fail_each(&r);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(AS10_T7_no_failed_check_consumes_a_code),
        T(AS10_T6_a_replay_with_everything_right_ends_the_grant_and_another_changes_nothing),
        T(AS27_an_access_token_lives_as_its_settings_say_but_not_longer_than_its_grant),
        T(AS23_T25_the_token_before_gets_the_same_successor_within_the_grace),
        T(AS23_a_repeated_token_gets_the_same_successor_after_a_rotation_of_keys),
        T(AS23_without_a_grace_every_second_use_ends_the_grant),
        T(AS23_T25_a_token_two_generations_old_ends_the_grant_and_a_forged_one_does_not),
        T(AS24_T26_no_failed_check_uses_up_a_refresh_token),
        T(AS24_a_refresh_may_ask_for_fewer_scopes_and_later_for_all_again),
        T(AS25_a_grant_ends_without_use_and_at_its_age),
        T(AS25_a_block_of_the_account_ends_codes_and_grants),
        T(AS30_an_account_has_so_many_grants_and_the_one_used_least_recently_ends),
        T(AS32_a_client_with_an_account_gets_tokens_of_one_grant),
        T(AS30_a_grant_has_so_many_access_tokens_and_the_oldest_ends),
        T(AS32_shortly_before_its_grant_ends_a_client_gets_one_more),
        T(AS12_AS32_a_client_with_an_account_has_one_grant_for_each_resource),
        T(AS32_a_client_gets_the_scopes_that_it_has_of_those_it_asks_for),
        T(AS32_other_clients_scopes_and_resources_get_none),
        T(AS26_T27_only_its_own_client_revokes_a_token),
        T(a_failed_allocation_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
