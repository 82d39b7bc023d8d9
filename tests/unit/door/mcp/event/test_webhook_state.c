/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stored caller of a webhook subscription: it is read again only while its issuer is trusted. */
#include "door/mcp/event/webhook_state.h"

#include "access/credentials.h"
#include "access/issuer/issuer_int.h"
#include "support/client_fixture.h"

static client_fixture f;
static cw_issuers *issuers;
static cw_accounts *accounts;
static cw_arena arena;
static cw_str stored;
static cw_trust *trusted; /* of the issuer */

SETUP(open_accounts)
{
    const cw_issuer_opts issuer = {.rules = {.issuer = CW_STR("http://127.0.0.1:1")}};
    const cw_accounts_opts opts = {.n_loops = 1};
    cw_issuer_set *set;
    cw_arena_init(&arena, CW_ARENA_MAX);
    client_fixture_init(&f);
    if (cw_secret_init(NULL) || cw_issuers_new(&f.loop, &issuers, NULL) ||
        cw_issuers_prepare(issuers, &issuer, 1, &set, NULL) ||
        cw_accounts_new(&opts, &accounts, NULL))
        return -1;
    cw_issuers_use(issuers, set);
    cw_accounts_set_issuers(accounts, issuers);
    trusted = cw_trust_ref(issuers->set->items[0]->trust);
    return 0;
}

TEARDOWN(close_accounts)
{
    cw_trust_unref(trusted);
    cw_issuers_close(issuers);
    client_fixture_done(&f);
    cw_accounts_free(accounts);
    cw_issuers_free(issuers);
    cw_arena_done(&arena);
    return 0;
}

/* Write a caller with such credentials. */
static void write_caller(cw_credential_kind kind, cw_trust *issuer, cw_trust *key)
{
    const cw_str names[] = {CW_STR("a"), CW_STR("b")};
    const cw_caller_opts opts = {.id = CW_STR("http://127.0.0.1:1#sam"),
                                 .name = CW_STR("sam"),
                                 .has_token = true,
                                 .scopes = names,
                                 .n_scopes = 2,
                                 .credential = {.kind = kind,
                                                .hash = CW_STR("hash"),
                                                .granted = names,
                                                .n_granted = 2,
                                                .issuer = issuer,
                                                .key = key}};
    cw_caller *caller;
    assert_int_equal(cw_caller_new(&opts, &caller, NULL), CW_OK);
    stored = cw_webhook_caller_write(caller, &arena);
    assert_non_null(stored.p);
    cw_caller_unref(caller);
}

/* Read it; its issuer must be the trusted one if it has any. */
static cw_code read_caller(void)
{
    CW_CLEANUP(cw_arena_done) cw_arena scratch;
    cw_caller *caller = NULL;
    cw_arena_init(&scratch, CW_ARENA_MAX);
    cw_code rc = cw_webhook_caller_read(stored, accounts, &scratch, &caller);
    assert_int_equal(caller != NULL, rc == CW_OK);
    if (caller && cw_caller_credential_of(caller)->kind != CW_CREDENTIAL_TOKEN)
        assert_ptr_equal(cw_caller_credential_of(caller)->issuer, trusted);
    cw_caller_unref(caller);
    return rc;
}

TEST(a_caller_is_read_while_its_issuer_is_configured)
{
    static const cw_credential_kind kinds[] = {CW_CREDENTIAL_ISSUED_ACCOUNT,
                                               CW_CREDENTIAL_ISSUED_CLAIMS};
    for (size_t i = 0; i < CW_COUNT(kinds); i++) {
        write_caller(kinds[i], trusted, NULL);
        assert_int_equal(read_caller(), CW_OK);
        write_caller(kinds[i], trusted, trusted); /* a key that may be published later */
        assert_int_equal(read_caller(), CW_AGAIN);
        write_caller(kinds[i], NULL, NULL);
        assert_int_equal(read_caller(), CW_NOTFOUND);
    }
    write_caller(CW_CREDENTIAL_TOKEN, NULL, NULL);
    cw_str of_token = stored;
    write_caller(CW_CREDENTIAL_ISSUED_CLAIMS, trusted, NULL);
    cw_issuers_use(issuers, NULL);
    assert_int_equal(read_caller(), CW_NOTFOUND);
    stored = of_token;
    assert_int_equal(read_caller(), CW_OK);
}

static void read_once(void *ctx)
{
    (void)ctx;
    cw_code rc = read_caller();
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
}

TEST(reading_a_caller_survives_every_failed_allocation)
{
    write_caller(CW_CREDENTIAL_ISSUED_CLAIMS, trusted, NULL);
    assert_true(oom_each(read_once, NULL) >= 3);
    assert_int_equal(atomic_load(&trusted->refs), 2);
}

TEST(only_the_same_challenge_is_an_echo)
{
    static const struct {
        const char *answer;
        bool is_echo;
    } cases[] = {
        {"{\"challenge\":\"abc\"}", true},
        {"{\"challenge\":\"abd\"}", false},
        {"{\"challenge\":\"abcd\"}", false},
        {"{\"challenge\":[\"abc\"]}", false},
        {"{}", false},
        {"[]", false},
        {"\"abc\"", false},
        {"{\"challenge\":\"abc\"", false},
        {"", false},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++)
        assert_int_equal(cw_webhook_is_echo(cw_str_from(cases[i].answer), CW_STR("abc")),
                         cases[i].is_echo);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, open_accounts, close_accounts)
    const struct CMUnitTest tests[] = {
        T(a_caller_is_read_while_its_issuer_is_configured),
        T(reading_a_caller_survives_every_failed_allocation),
        cmocka_unit_test(only_the_same_challenge_is_an_echo),
    };
    return cmocka_run_group_tests_name("webhook_state", tests, NULL, NULL);
}
