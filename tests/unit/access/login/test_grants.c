/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way of a request to the store's thread and back: clients, codes, tokens, grants. */
#include "access/login/grants.h"

#include <sodium.h>
#include <stdatomic.h>
#include <unistd.h>

#include "access/login/session.h"
#include "base/clock.h"
#include "store/stmt.h"
#include "support/oauth_fixture.h"
#include "support/oom.h"

/* The test is the loop: it runs it in turns while it waits. */
static cw_loop loop;
static cw_accounts *accounts;
static oauth_fixture f;
static cw_err err;
static atomic_int changes;
static char session[CW_SESSION_LEN + 1];

static void on_status(void *ctx, const cw_err *problem)
{
    (void)ctx;
    (void)problem;
}

static void on_change(void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&changes, 1);
}

static void add_session(void)
{
    static const cw_session_rules rules = {
        .idle_ms = 3600000, .lifetime_ms = 3600000, .per_account = 10};
    cw_session made = {.account = f.account, .created = cw_clock_wall_ms()};
    assert_int_equal(cw_session_secret(session, &err), CW_OK);
    crypto_hash_sha256(made.hash, (const unsigned char *)session, CW_SESSION_LEN);
    assert_int_equal(cw_db_add_session(f.db, &made, CW_STR("$none"), &rules, NULL, &err), CW_OK);
}

/* The settings of the fixture, with a seal and clients of its own. */
static void set_oauth(void)
{
    cw_oauth_settings *settings;
    assert_int_equal(cw_oauth_settings_new(&f.settings, &settings, &err), CW_OK);
    cw_accounts_set_oauth(accounts, settings);
    cw_oauth_settings_unref(settings);
}

SETUP(setup)
{
    if (temp_db_setup(state) || cw_loop_init(&loop, 64, &err))
        return -1;
    atomic_store(&changes, 0);
    oauth_fixture_open(&f);
    add_session();
    cw_accounts_opts opts = {.db = {.where = temp_db_path, .may_create = true},
                             .n_loops = 1,
                             .on_status = on_status,
                             .on_change = on_change};
    if (cw_accounts_new(&opts, &accounts, &err))
        return -1;
    set_oauth();
    for (int i = 0; i < 30000 && !atomic_load(&changes); i++)
        usleep(1000); /* until the database is open */
    return atomic_load(&changes) ? 0 : -1;
}

TEARDOWN(teardown)
{
    cw_loop_end(&loop);
    cw_loop_run(&loop);
    cw_accounts_free(accounts);
    cw_loop_done(&loop);
    oauth_fixture_close(&f);
    return temp_db_teardown(state);
}

/* ---- those who wait ---- */

typedef struct asked {
    cw_oauth_waiter waiter;
    unsigned calls;
    cw_code rc;
    uint32_t wait_s;
    char name[32], code[CW_ACCESS_TOKEN_LEN + 1];
    cw_oauth_tokens tokens; /* without its texts */
    size_t n_grants;
    int64_t first_grant;
} asked;

static void on_result(cw_oauth_waiter *w, const cw_oauth_result *result)
{
    asked *a = CW_CONTAINER(w, asked, waiter);
    a->calls++;
    a->rc = result->rc;
    a->wait_s = result->wait_s;
    a->tokens = *result->tokens;
    a->n_grants = result->n_grants;
    a->first_grant = result->n_grants ? result->grants[0].id : 0;
    snprintf(a->name, sizeof a->name, "%.*s", CW_STR_ARG(result->client->name));
    snprintf(a->code, sizeof a->code, "%.*s", CW_STR_ARG(result->code));
}

static void turn(void)
{
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    usleep(1000);
}

/* The result of what was asked; `rc` is that of the function that asked. */
static void finish(asked *a, cw_code rc)
{
    assert_int_equal(rc, CW_OK);
    for (int i = 0; i < 20000 && !a->calls; i++)
        turn();
    assert_int_equal(a->calls, 1);
    assert_null(a->waiter.op);
}

#define ASKED                                                                                      \
    {                                                                                              \
        .waiter.fn = on_result                                                                     \
    }

/* ---- requests ---- */

static cw_code find_client(const char *id, char name[32])
{
    asked a = ASKED;
    finish(&a, cw_oauth_find_client(accounts, &loop, cw_str_from(id), &a.waiter));
    memcpy(name, a.name, sizeof a.name);
    return a.rc;
}

static const cw_str scopes[] = {CW_STR_INIT("a"), CW_STR_INIT("b")};

static cw_oauth_code_request consent(void)
{
    static const char challenge[] = "pmWkWSBCL51Bfkhn79xPuKBKHz__H6B-mY6G9_eieuM";
    return (cw_oauth_code_request){.account = f.account,
                                   .account_name = CW_STR("alice"),
                                   .session = cw_str_from(session),
                                   .client = &f.clients[0],
                                   .redirect_uri = CW_STR(OAUTH_REDIRECT),
                                   .code_challenge = cw_str_from(challenge),
                                   .resource = CW_STR("/mcp"),
                                   .scopes = scopes,
                                   .n_scopes = 2};
}

static cw_oauth_tokens ask_tokens(const cw_oauth_token_request *r)
{
    asked a = ASKED;
    uint32_t wait_s = 0;
    finish(&a, cw_oauth_ask_tokens(accounts, &loop, r, CW_STR("10.0.0.1"), &wait_s, &a.waiter));
    assert_int_equal(a.rc, CW_OK);
    return a.tokens;
}

static cw_oauth_token_request serve(void)
{
    return (cw_oauth_token_request){.type = CW_OAUTH_CLIENT_CREDENTIALS,
                                    .client_id = CW_STR("robot"),
                                    .client_secret = CW_STR(OAUTH_SECRET)};
}

/* ---- tests ---- */

TEST(clients_of_all_kinds_are_found)
{
    char name[32];
    assert_int_equal(find_client("app", name), CW_OK);
    assert_string_equal(name, "app");
    assert_int_equal(find_client("nobody", name), CW_NOTFOUND);
    assert_int_equal(find_client("", name), CW_NOTFOUND);
    assert_int_equal(find_client("dcr.AAAA", name), CW_NOTFOUND);
    assert_int_equal(find_client("https://a.example/c", name), CW_DECLINED);
    cw_db_oauth_client made = {.id = CW_STR("made"),
                               .record = CW_STR("{\"kind\":\"registered\",\"name\":\"Made\"}")};
    assert_int_equal(cw_db_add_oauth_client(f.db, &made, &err), CW_OK);
    assert_int_equal(find_client("made", name), CW_OK);
    assert_string_equal(name, "Made");
    assert_int_equal(cw_db_deny_oauth_client(f.db, CW_STR("app"), CW_STR(""), 1, &err), CW_OK);
    assert_int_equal(find_client("app", name), CW_NOTFOUND);
}

TEST(AS13_a_code_is_for_a_session_that_is_still_valid)
{
    asked good = ASKED, other = ASKED, ended = ASKED;
    cw_oauth_code_request request = consent();
    finish(&good, cw_oauth_issue_code(accounts, &loop, &request, &good.waiter));
    assert_int_equal(good.rc, CW_OK);
    assert_int_equal(strlen(good.code), CW_ACCESS_TOKEN_LEN);
    request.account++;
    finish(&other, cw_oauth_issue_code(accounts, &loop, &request, &other.waiter));
    assert_int_equal(other.rc, CW_GONE);
    assert_string_equal(other.code, "");
    request = consent();
    request.session = CW_STR("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    finish(&ended, cw_oauth_issue_code(accounts, &loop, &request, &ended.waiter));
    assert_int_equal(ended.rc, CW_GONE);
}

TEST(AS28_grants_of_an_account_are_listed_and_ended_by_it_alone)
{
    cw_oauth_token_request r = serve();
    cw_oauth_tokens tokens = ask_tokens(&r);
    asked list = ASKED, others = ASKED, foreign = ASKED, own = ASKED, empty = ASKED;
    finish(&list, cw_oauth_list_grants(accounts, &loop, f.account, 0, &list.waiter));
    assert_int_equal(list.n_grants, 1);
    assert_int_equal(list.first_grant, tokens.grant);
    finish(&others, cw_oauth_list_grants(accounts, &loop, f.account + 1, 0, &others.waiter));
    assert_int_equal(others.n_grants, 0);
    finish(&foreign,
           cw_oauth_end_grant(accounts, &loop, f.account + 1, tokens.grant, &foreign.waiter));
    assert_int_equal(foreign.rc, CW_NOTFOUND);
    assert_true(oauth_fixture_has_token(&f, tokens.access_token));
    finish(&own, cw_oauth_end_grant(accounts, &loop, f.account, tokens.grant, &own.waiter));
    assert_int_equal(own.rc, CW_OK);
    assert_false(oauth_fixture_has_token(&f, tokens.access_token));
    finish(&empty, cw_oauth_list_grants(accounts, &loop, f.account, 0, &empty.waiter));
    assert_int_equal(empty.n_grants, 0);
}

TEST(AS26_a_revoked_token_is_gone)
{
    cw_oauth_token_request r = serve();
    cw_oauth_tokens tokens = ask_tokens(&r);
    asked a = ASKED;
    uint32_t wait_s = 0;
    finish(&a, cw_oauth_ask_revoke(accounts, &loop, &r, cw_str_from(tokens.access_token),
                                   CW_STR("10.0.0.1"), &wait_s, &a.waiter));
    assert_int_equal(a.rc, CW_OK);
    assert_int_equal(a.tokens.event, CW_OAUTH_REVOKED);
    assert_false(oauth_fixture_has_token(&f, tokens.access_token));
}

/* The code of a request with a wrong secret. */
static cw_code guess(const char *peer, uint32_t *ret_wait_s)
{
    asked a = ASKED;
    cw_oauth_token_request r = serve();
    r.client_secret = CW_STR("wrong");
    cw_code rc = cw_oauth_ask_tokens(accounts, &loop, &r, cw_str_from(peer), ret_wait_s, &a.waiter);
    if (rc)
        return rc;
    finish(&a, rc);
    if (a.rc == CW_AGAIN)
        *ret_wait_s = a.wait_s;
    else
        assert_int_equal(a.tokens.error, CW_OAUTH_INVALID_CLIENT);
    return a.rc;
}

TEST(AS30_failures_of_a_client_count_in_its_network_until_a_success)
{
    uint32_t wait_s = 0;
    cw_oauth_token_request r = serve();
    for (unsigned i = 1; i < CW_ACCOUNTS_FREE_TOKEN_REQUESTS; i++)
        assert_int_equal(guess("10.0.0.1", &wait_s), CW_OK);
    assert_int_equal(ask_tokens(&r).error, CW_OAUTH_NO_ERROR);
    cw_code rc = CW_OK;
    unsigned n = 0;
    while (!rc && n++ < 2 * CW_ACCOUNTS_FREE_TOKEN_REQUESTS)
        rc = guess("10.0.0.1", &wait_s);
    assert_int_equal(rc, CW_AGAIN);
    assert_int_equal(n, CW_ACCOUNTS_FREE_TOKEN_REQUESTS + 1);
    assert_true(wait_s > 0);
    assert_int_equal(guess("192.0.2.7", &wait_s), CW_OK);
}

/* The code of a request of a client that is not registered. */
static cw_code ask_as_stranger(const char *client)
{
    asked a = ASKED;
    uint32_t wait_s = 0;
    cw_oauth_token_request r = {.type = CW_OAUTH_REFRESH_TOKEN,
                                .client_id = cw_str_from(client),
                                .refresh_token = CW_STR("cwr_x")};
    cw_code rc = cw_oauth_ask_tokens(accounts, &loop, &r, CW_STR("10.0.0.1"), &wait_s, &a.waiter);
    if (rc)
        return rc;
    finish(&a, rc);
    assert_true(a.tokens.error == CW_OAUTH_INVALID_CLIENT ||
                a.tokens.error == CW_OAUTH_INVALID_GRANT);
    return a.rc;
}

static int64_t count_failures(void)
{
    cw_db_query q;
    cw_stmt_open(&q, f.db, "SELECT count(*) FROM failure");
    assert_true(cw_stmt_step(&q));
    int64_t n = cw_stmt_i64(&q, 0);
    assert_int_equal(cw_stmt_close(&q, NULL), CW_OK);
    return n;
}

TEST(AS30_clients_that_anyone_can_make_up_fill_no_table)
{
    char id[64];
    uint32_t wait_s = 0;
    for (int i = 0; i < 10; i++) {
        snprintf(id, sizeof id, i % 2 ? "https://%d.example/client" : "stranger-%d", i);
        assert_int_equal(ask_as_stranger(id), CW_OK);
    }
    assert_int_equal(count_failures(), 0);
    assert_int_equal(guess("10.0.0.1", &wait_s), CW_OK);
    assert_int_equal(count_failures(), 1);
    /* They must wait all the same. */
    cw_code rc = CW_OK;
    unsigned n = 0;
    while (!rc && n++ < 2 * CW_ACCOUNTS_FREE_TOKEN_REQUESTS)
        rc = ask_as_stranger("noise");
    assert_int_equal(rc, CW_AGAIN);
    assert_int_equal(n, CW_ACCOUNTS_FREE_TOKEN_REQUESTS + 1);
    assert_int_equal(count_failures(), 1);
}

TEST(one_who_has_left_is_not_called)
{
    asked left = ASKED, other = ASKED;
    assert_int_equal(cw_oauth_list_grants(accounts, &loop, f.account, 0, &left.waiter), CW_OK);
    cw_oauth_cancel(&left.waiter);
    cw_oauth_cancel(&left.waiter);
    finish(&other, cw_oauth_list_grants(accounts, &loop, f.account, 0, &other.waiter));
    assert_int_equal(left.calls, 0);
}

TEST(AS1_nothing_can_be_asked_of_a_server_that_is_off)
{
    asked a = ASKED;
    cw_accounts_set_oauth(accounts, NULL);
    assert_int_equal(cw_oauth_list_grants(accounts, &loop, f.account, 0, &a.waiter), CW_NOMEM);
    assert_int_equal(cw_oauth_find_client(accounts, &loop, CW_STR("app"), &a.waiter), CW_NOMEM);
    turn();
    assert_int_equal(a.calls, 0);
}

/* ---- failed allocations ---- */

static cw_code ask_find(asked *a)
{
    return cw_oauth_find_client(accounts, &loop, CW_STR("made"), &a->waiter);
}

static cw_code ask_code(asked *a)
{
    const cw_oauth_code_request request = consent();
    return cw_oauth_issue_code(accounts, &loop, &request, &a->waiter);
}

static cw_code ask_tokens_again(asked *a)
{
    uint32_t wait_s;
    const cw_oauth_token_request r = serve();
    return cw_oauth_ask_tokens(accounts, &loop, &r, CW_STR("10.0.0.1"), &wait_s, &a->waiter);
}

static cw_code ask_list(asked *a)
{
    return cw_oauth_list_grants(accounts, &loop, f.account, 0, &a->waiter);
}

/* It fails at once, or later, or it succeeds; the next one succeeds. */
static void fail_each(cw_code (*request)(asked *a))
{
    bool was_hit = true;
    for (size_t n = 1; was_hit; n++) {
        asked a = ASKED;
        assert_true(n < 500);
        oom_fail_at(n);
        cw_code rc = request(&a);
        for (int i = 0; i < 20000 && !rc && !a.calls; i++)
            turn();
        was_hit = oom_was_hit();
        oom_reset();
        assert_int_equal(a.calls, rc ? 0 : 1);
        assert_int_equal(rc ? rc : a.rc, was_hit ? CW_NOMEM : CW_OK);
        assert_null(a.waiter.op);
    }
}

TEST(every_failed_allocation_is_reported)
{
    cw_db_oauth_client made = {.id = CW_STR("made"),
                               .record = CW_STR("{\"kind\":\"registered\",\"name\":\"Made\"}")};
    cw_oauth_token_request r = serve();
    int seen = atomic_load(&changes);
    assert_int_equal(cw_db_add_oauth_client(f.db, &made, &err), CW_OK);
    for (int i = 0; i < 30000 && atomic_load(&changes) == seen; i++)
        usleep(1000); /* the store allocates no more by itself */
    (void)ask_tokens(&r);
    fail_each(ask_find);
    fail_each(ask_code);
    fail_each(ask_tokens_again);
    fail_each(ask_list);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(clients_of_all_kinds_are_found),
        T(AS13_a_code_is_for_a_session_that_is_still_valid),
        T(AS28_grants_of_an_account_are_listed_and_ended_by_it_alone),
        T(AS26_a_revoked_token_is_gone),
        T(AS30_failures_of_a_client_count_in_its_network_until_a_success),
        T(AS30_clients_that_anyone_can_make_up_fill_no_table),
        T(one_who_has_left_is_not_called),
        T(AS1_nothing_can_be_asked_of_a_server_that_is_off),
        T(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
