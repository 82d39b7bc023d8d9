/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/temp_db.h"

#include <sodium.h>
#include <stdatomic.h>

#include "access/login/login_int.h"
#include "base/clock.h"
#include "store/stmt.h"
#include "support/oom.h"

/* The test is the loop: it runs it in turns while it waits. */
static cw_loop loop;
static cw_accounts *accounts;
static cw_db *db;
static cw_err err;
static atomic_int changes;

/* ---- time and hashes ----
 *
 * A busy machine must not decide a test: the clocks stand still where a wait is tested, and hashes
 * are counted instead of measured.
 */

static atomic_ullong stopped_ms;     /* the monotonic clock; 0: it runs */
static atomic_llong stopped_wall_ms; /* likewise */
static atomic_uint n_hashes;         /* of passwords that were verified */
static atomic_bool is_held;          /* a hash does not begin until this is false */

uint64_t __real_cw_clock_ms(void);
uint64_t __wrap_cw_clock_ms(void);
int64_t __real_cw_clock_wall_ms(void);
int64_t __wrap_cw_clock_wall_ms(void);
int __real_crypto_pwhash_argon2id(unsigned char *out, unsigned long long n_out,
                                  const char *password, unsigned long long n_password,
                                  const unsigned char *salt, unsigned long long ops, size_t memory,
                                  int algorithm);
int __wrap_crypto_pwhash_argon2id(unsigned char *out, unsigned long long n_out,
                                  const char *password, unsigned long long n_password,
                                  const unsigned char *salt, unsigned long long ops, size_t memory,
                                  int algorithm);

uint64_t __wrap_cw_clock_ms(void)
{
    uint64_t stopped = atomic_load(&stopped_ms);
    return stopped ? stopped : __real_cw_clock_ms();
}

int64_t __wrap_cw_clock_wall_ms(void)
{
    int64_t stopped = atomic_load(&stopped_wall_ms);
    return stopped ? stopped : __real_cw_clock_wall_ms();
}

/* The parameters are those of libsodium. NOLINTNEXTLINE(readability-function-size) */
int __wrap_crypto_pwhash_argon2id(unsigned char *out, unsigned long long n_out,
                                  const char *password, unsigned long long n_password,
                                  const unsigned char *salt, unsigned long long ops, size_t memory,
                                  int algorithm)
{
    atomic_fetch_add(&n_hashes, 1);
    while (atomic_load(&is_held))
        usleep(1000);
    return __real_crypto_pwhash_argon2id(out, n_out, password, n_password, salt, ops, memory,
                                         algorithm);
}

/* While the monotonic clock stands still, the store does not look for changes. */
static void stop_clock(void)
{
    atomic_store(&stopped_ms, __real_cw_clock_ms());
}

static void reset_fakes(void)
{
    atomic_store(&stopped_ms, 0);
    atomic_store(&stopped_wall_ms, 0);
    atomic_store(&n_hashes, 0);
    atomic_store(&is_held, false);
}

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

static void add_account(const char *name, const char *password)
{
    char hash[CW_PASSWORD_HASH] = "";
    int64_t id;
    if (password)
        assert_int_equal(cw_password_hash(cw_str_from(password), hash, &err), CW_OK);
    cw_account account = {.name = cw_str_from(name), .password = cw_str_from(hash)};
    assert_int_equal(cw_db_add_account(db, &account, NULL, 0, &id, &err), CW_OK);
}

static void set_roles(const char *permission)
{
    cw_str permissions[] = {cw_str_from(permission)};
    cw_role items[] = {{CW_STR_INIT("editor"), permissions, 1},
                       {CW_STR_INIT("anonymous"), permissions, 1}};
    cw_roles *roles;
    assert_int_equal(cw_roles_new(items, 2, false, &roles, &err), CW_OK);
    cw_accounts_set_roles(accounts, roles);
    cw_roles_unref(roles);
}

SETUP(setup)
{
    if (temp_db_setup(state) || cw_loop_init(&loop, 64, &err))
        return -1;
    atomic_store(&changes, 0);
    reset_fakes();
    cw_accounts_opts opts = {.db = {.where = temp_db_path, .may_create = true},
                             .n_loops = 2,
                             .on_status = on_status,
                             .on_change = on_change};
    cw_db_opts db_opts = {.where = temp_db_path, .may_create = true, .busy_ms = 2000};
    if (cw_secret_init(&err) || cw_db_open(&db_opts, &db, &err))
        return -1;
    add_account("alice", "s3cret");
    if (cw_accounts_new(&opts, &accounts, &err))
        return -1;
    for (int i = 0; i < 30000 && !atomic_load(&changes); i++)
        usleep(1000); /* until the database is open */
    return atomic_load(&changes) ? 0 : -1;
}

static void end_loop(void)
{
    cw_loop_end(&loop);
    cw_loop_run(&loop);
}

TEARDOWN(teardown)
{
    reset_fakes();
    end_loop();
    cw_accounts_free(accounts);
    cw_loop_done(&loop);
    cw_db_close(db);
    return temp_db_teardown(state);
}

/* ---- logging in ---- */

typedef struct attempt {
    cw_login_waiter waiter;
    cw_login login; /* PENDING until it is known */
    cw_caller *caller;
    const char *peer;
} attempt;

static void on_login(cw_login_waiter *w, const cw_login *login)
{
    attempt *a = CW_CONTAINER(w, attempt, waiter);
    a->login = *login;
    a->caller = login->caller ? cw_caller_ref(login->caller) : NULL;
}

static cw_str peer_of(cw_login_waiter *w)
{
    return cw_str_from(CW_CONTAINER(w, attempt, waiter)->peer);
}

static const char *basic(const char *name, const char *password)
{
    static char text[512];
    char pair[256];
    snprintf(pair, sizeof pair, "%s:%s", name, password);
    snprintf(text, sizeof text, "Basic ");
    sodium_bin2base64(text + 6, sizeof text - 6, (unsigned char *)pair, strlen(pair),
                      sodium_base64_VARIANT_ORIGINAL);
    return text;
}

static void begin(attempt *a, const char *header)
{
    if (!a->peer)
        a->peer = "10.0.0.1";
    a->waiter = (cw_login_waiter){.peer = peer_of, .fn = on_login};
    cw_login login = cw_accounts_login(accounts, &loop, cw_str_from(header), &a->waiter);
    a->login = login;
    if (login.caller)
        a->caller = cw_caller_ref(login.caller);
}

static void turn(void)
{
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    usleep(1000);
}

static void finish(attempt *a)
{
    for (int i = 0; i < 20000 && a->login.status == CW_LOGIN_PENDING; i++)
        turn();
    assert_int_not_equal(a->login.status, CW_LOGIN_PENDING);
}

/* Log in to the end; the caller is borrowed until the next call. */
static cw_login_status try(const char *header)
{
    attempt a = {0};
    begin(&a, header);
    finish(&a);
    cw_caller_unref(a.caller);
    return a.login.status;
}

/* Whether the loop knows these already. */
static bool is_remembered(const char *header)
{
    attempt a = {0};
    begin(&a, header);
    bool at_once = a.login.status == CW_LOGIN_OK;
    finish(&a);
    cw_caller_unref(a.caller);
    return at_once;
}

static void wait_for_change(int seen)
{
    for (int i = 0; i < 30000 && atomic_load(&changes) <= seen; i++)
        turn();
    assert_true(atomic_load(&changes) > seen);
}

TEST(a_password_is_verified_once_and_then_remembered)
{
    attempt a = {0};
    begin(&a, basic("alice", "s3cret"));
    assert_int_equal(a.login.status, CW_LOGIN_PENDING);
    finish(&a);
    assert_int_equal(a.login.status, CW_LOGIN_OK);
    assert_true(cw_str_is(cw_caller_name(a.caller), "alice"));
    assert_true(cw_str_is(cw_caller_id(a.caller), "1"));
    assert_false(cw_caller_has_token(a.caller));
    assert_null(strstr(cw_caller_json(a.caller).p, "s3cret"));
    attempt b = {0};
    begin(&b, basic("alice", "s3cret"));
    assert_int_equal(b.login.status, CW_LOGIN_OK);
    assert_ptr_equal(a.caller, b.caller);
    cw_caller_unref(a.caller);
    cw_caller_unref(b.caller);
}

TEST(wrong_unknown_blocked_and_empty_end_the_same)
{
    add_account("blocked", "s3cret");
    add_account("none", NULL);
    assert_int_equal(cw_db_block_account(db, CW_STR("blocked"), true, &err), CW_OK);
    assert_int_equal(try(basic("alice", "s3cre")), CW_LOGIN_WRONG);
    assert_int_equal(try(basic("alice", "")), CW_LOGIN_WRONG);
    assert_int_equal(try(basic("nobody", "s3cret")), CW_LOGIN_WRONG);
    assert_int_equal(try(basic("blocked", "s3cret")), CW_LOGIN_WRONG);
    assert_int_equal(try(basic("none", "")), CW_LOGIN_WRONG);
    assert_int_equal(try("Basic garbage"), CW_LOGIN_WRONG);
    assert_int_equal(try("Negotiate YTpi"), CW_LOGIN_WRONG);
    assert_false(is_remembered(basic("alice", "s3cre")));
}

TEST(permissions_come_from_database_and_configuration)
{
    assert_int_equal(cw_db_add_role(db, CW_STR("stored"), &err), CW_OK);
    assert_int_equal(cw_db_allow(db, CW_STR("stored"), CW_STR("from db"), true, &err), CW_OK);
    assert_int_equal(cw_db_allow(db, CW_STR("authenticated"), CW_STR("everybody"), true, &err),
                     CW_OK);
    assert_int_equal(cw_db_grant(db, CW_STR("alice"), CW_STR("stored"), true, &err), CW_OK);
    assert_int_equal(cw_db_grant(db, CW_STR("alice"), CW_STR("editor"), true, &err), CW_OK);
    set_roles("from config");
    attempt a = {0};
    begin(&a, basic("alice", "s3cret"));
    finish(&a);
    assert_int_equal(a.login.status, CW_LOGIN_OK);
    static const char all[] = "\"permissions\":[\"everybody\",\"from config\",\"from db\"]";
    cw_str json = cw_caller_json(a.caller);
    assert_non_null(memmem(json.p, json.n, all, sizeof all - 1));
    cw_caller_unref(a.caller);
    /* A changed configuration counts at once. */
    set_roles("something else");
    a = (attempt){0};
    begin(&a, basic("alice", "s3cret"));
    finish(&a);
    assert_false(cw_caller_may(a.caller, CW_STR("from config")));
    assert_true(cw_caller_may(a.caller, CW_STR("something else")));
    cw_caller_unref(a.caller);
}

TEST(a_change_makes_the_loop_ask_again_but_not_hash_again)
{
    assert_int_equal(try(basic("alice", "s3cret")), CW_LOGIN_OK);
    int seen = atomic_load(&changes);
    assert_int_equal(cw_db_allow(db, CW_STR("authenticated"), CW_STR("new"), true, &err), CW_OK);
    wait_for_change(seen);
    unsigned before = atomic_load(&n_hashes);
    attempt a = {0};
    begin(&a, basic("alice", "s3cret"));
    assert_int_equal(a.login.status, CW_LOGIN_PENDING);
    finish(&a);
    assert_int_equal(atomic_load(&n_hashes), before);
    assert_true(cw_caller_may(a.caller, CW_STR("new")));
    cw_caller_unref(a.caller);
    /* Another password is hashed, and the old one is wrong. */
    char hash[CW_PASSWORD_HASH];
    assert_int_equal(cw_password_hash(CW_STR("other"), hash, &err), CW_OK);
    seen = atomic_load(&changes);
    assert_int_equal(cw_db_set_password(db, CW_STR("alice"), cw_str_from(hash), &err), CW_OK);
    wait_for_change(seen);
    assert_int_equal(try(basic("alice", "s3cret")), CW_LOGIN_WRONG);
    assert_int_equal(try(basic("alice", "other")), CW_LOGIN_OK);
    seen = atomic_load(&changes);
    assert_int_equal(cw_db_block_account(db, CW_STR("alice"), true, &err), CW_OK);
    wait_for_change(seen);
    assert_int_equal(try(basic("alice", "other")), CW_LOGIN_WRONG);
}

/* The caller of a login to the end; a reference. */
static cw_caller *caller_of(const char *header)
{
    attempt a = {0};
    begin(&a, header);
    finish(&a);
    assert_int_equal(a.login.status, CW_LOGIN_OK);
    return a.caller;
}

/* Views and streams are kept by the address of their caller. */
TEST(a_caller_whose_rights_are_the_same_stays_the_same_object)
{
    set_roles("one");
    cw_caller *first = caller_of(basic("alice", "s3cret"));
    int seen = atomic_load(&changes);
    add_account("bob", NULL);
    wait_for_change(seen);
    cw_caller *second = caller_of(basic("alice", "s3cret"));
    assert_ptr_equal(first, second);
    /* Equal roles are no change: nothing is read again. */
    set_roles("one");
    assert_true(is_remembered(basic("alice", "s3cret")));
    seen = atomic_load(&changes);
    assert_int_equal(cw_db_allow(db, CW_STR("authenticated"), CW_STR("new"), true, &err), CW_OK);
    wait_for_change(seen);
    cw_caller *third = caller_of(basic("alice", "s3cret"));
    assert_ptr_not_equal(first, third);
    assert_true(cw_caller_may(third, CW_STR("new")));
    cw_caller_unref(first);
    cw_caller_unref(second);
    cw_caller_unref(third);
}

TEST(tokens_have_scopes_expire_and_are_revoked)
{
    char secret[CW_TOKEN_LEN + 1], header[64];
    atomic_store(&stopped_wall_ms, __real_cw_clock_wall_ms());
    cw_token token = {.account = 1, .name = CW_STR("t"), .expires = cw_clock_wall_ms() + 600};
    static const cw_str scopes[] = {CW_STR_INIT("a"), CW_STR_INIT("b")};
    int64_t id;
    assert_int_equal(cw_token_make(secret, &err), CW_OK);
    snprintf(header, sizeof header, "bearer %s", secret);
    assert_true(cw_token_digest(cw_str_from(secret), token.hash));
    assert_int_equal(try(header), CW_LOGIN_WRONG);
    int seen = atomic_load(&changes);
    assert_int_equal(cw_db_add_token(db, &token, scopes, 2, &id, &err), CW_OK);
    wait_for_change(seen);
    attempt a = {0};
    begin(&a, header);
    finish(&a);
    assert_int_equal(a.login.status, CW_LOGIN_OK);
    assert_true(cw_caller_has_token(a.caller));
    assert_true(cw_caller_has_scope(a.caller, CW_STR("b")));
    assert_false(cw_caller_has_scope(a.caller, CW_STR("c")));
    cw_caller_unref(a.caller);
    assert_true(is_remembered(header));
    atomic_store(&stopped_wall_ms, token.expires);
    assert_int_equal(try(header), CW_LOGIN_WRONG);
    /* One that does not expire is revoked. */
    assert_int_equal(cw_token_make(secret, &err), CW_OK);
    snprintf(header, sizeof header, "Bearer %s", secret);
    assert_true(cw_token_digest(cw_str_from(secret), token.hash));
    token.expires = 0;
    seen = atomic_load(&changes);
    assert_int_equal(cw_db_add_token(db, &token, scopes, 2, &id, &err), CW_OK);
    wait_for_change(seen);
    assert_int_equal(try(header), CW_LOGIN_OK);
    seen = atomic_load(&changes);
    assert_int_equal(cw_db_revoke_token(db, id, 1, &err), CW_OK);
    wait_for_change(seen);
    assert_int_equal(try(header), CW_LOGIN_WRONG);
}

/* Delayed logins do not read the database, whose clock goes on. */
static void stop_reads(void)
{
    for (size_t i = 0; i < CW_FAILURES_SLOTS; i++)
        atomic_store(&accounts->failures_read[i], UINT64_MAX / 2);
}

/* The same time passes in the database. */
static void age_failures(int64_t ms)
{
    cw_db_query q;
    cw_stmt_open(&q, db, "UPDATE failure SET at = at - ?1");
    cw_stmt_bind_i64(&q, 1, ms);
    assert_int_equal(cw_stmt_run(&q, &err), CW_OK);
}

TEST(failures_of_one_account_must_wait)
{
    assert_int_equal(try(basic("alice", "s3cret")), CW_LOGIN_OK);
    stop_clock();
    stop_reads();
    for (unsigned i = 0; i < CW_ACCOUNTS_FREE_FAILURES; i++)
        assert_int_equal(try(basic("alice", "guess")), CW_LOGIN_WRONG);
    attempt a = {0};
    begin(&a, basic("alice", "guess"));
    assert_int_equal(a.login.status, CW_LOGIN_TOO_MANY);
    assert_int_equal(a.login.retry_s, 1);
    /* Whoever is logged in stays so, and other accounts do not wait. */
    assert_true(is_remembered(basic("alice", "s3cret")));
    assert_int_equal(try(basic("bob", "guess")), CW_LOGIN_WRONG);
    atomic_fetch_add(&stopped_ms, CW_THROTTLE_FIRST_MS - 1);
    a = (attempt){0};
    begin(&a, basic("alice", "guess"));
    assert_int_equal(a.login.status, CW_LOGIN_TOO_MANY);
    atomic_fetch_add(&stopped_ms, 1);
    age_failures(CW_THROTTLE_FIRST_MS);
    assert_int_equal(try(basic("alice", "other guess")), CW_LOGIN_WRONG);
    a = (attempt){0};
    begin(&a, basic("alice", "guess"));
    assert_int_equal(a.login.status, CW_LOGIN_TOO_MANY);
    assert_int_equal(a.login.retry_s, 2);
}

TEST(a_delayed_login_reads_the_failures_of_other_servers_once_a_second)
{
    attempt a;
    for (unsigned i = 0; i < 2 * CW_ACCOUNTS_FREE_FAILURES + 5; i++)
        cw_throttle_fail(&accounts->by_account, CW_STR("alice"), cw_clock_ms());
    /* The database has none of these. */
    assert_int_equal(cw_throttle_take(&accounts->by_account, CW_STR("alice")),
                     2 * CW_ACCOUNTS_FREE_FAILURES + 5);
    a = (attempt){.peer = "10.8.8.8"};
    begin(&a, basic("alice", "s3cret"));
    finish(&a);
    assert_int_equal(a.login.status, CW_LOGIN_OK);
    for (unsigned i = 0; i < 2 * CW_ACCOUNTS_FREE_FAILURES + 5; i++)
        cw_throttle_fail(&accounts->by_account, CW_STR("alice"), cw_clock_ms());
    stop_reads();
    a = (attempt){.peer = "10.9.9.9"};
    begin(&a, basic("alice", "guess"));
    assert_int_equal(a.login.status, CW_LOGIN_TOO_MANY);
}

/* Log in on a loop. Whether the password was hashed for it. */
static bool is_hashed(const char *header, cw_loop *on)
{
    attempt a = {.peer = "10.0.0.1"};
    unsigned before = atomic_load(&n_hashes);
    a.waiter = (cw_login_waiter){.peer = peer_of, .fn = on_login};
    a.login = cw_accounts_login(accounts, on, cw_str_from(header), &a.waiter);
    for (int i = 0; i < 20000 && a.login.status == CW_LOGIN_PENDING; i++) {
        uv_run(&on->uv, UV_RUN_NOWAIT);
        usleep(1000);
    }
    assert_int_equal(a.login.status, CW_LOGIN_OK);
    if (a.caller)
        cw_caller_unref(a.caller);
    return atomic_load(&n_hashes) > before;
}

TEST(every_spelling_of_a_header_is_one_login)
{
    char header[512];
    assert_true(is_hashed(basic("alice", "s3cret"), &loop));
    assert_true(is_remembered(basic("alice", "s3cret")));
    snprintf(header, sizeof header, "bASIC   %s  ", basic("alice", "s3cret") + 6);
    assert_true(is_remembered(header));
}

TEST(success_on_one_loop_counts_on_all)
{
    cw_loop other;
    assert_int_equal(cw_loop_init(&other, 64, &err), CW_OK);
    other.index = 1;
    assert_true(is_hashed(basic("alice", "s3cret"), &loop));
    assert_false(is_hashed(basic("alice", "s3cret"), &other));
    cw_loop_end(&other);
    cw_loop_run(&other);
    cw_loop_done(&other);
}

TEST(a_network_that_logged_in_is_not_locked_out_by_others)
{
    char hash[CW_PASSWORD_HASH];
    attempt a;
    assert_int_equal(try(basic("alice", "s3cret")), CW_LOGIN_OK);
    /* So many guesses of others that the wait is a minute, however slow this test is. */
    for (unsigned i = 0; i < 2 * CW_ACCOUNTS_FREE_FAILURES + 5; i++)
        cw_throttle_fail(&accounts->by_account, CW_STR("alice"), cw_clock_ms());
    /* A new password: nothing that is remembered helps. */
    int seen = atomic_load(&changes);
    assert_int_equal(cw_password_hash(CW_STR("n3w-s3cret"), hash, &err), CW_OK);
    assert_int_equal(cw_db_set_password(db, CW_STR("alice"), cw_str_from(hash), &err), CW_OK);
    wait_for_change(seen);
    stop_clock();
    stop_reads();
    a = (attempt){.peer = "10.8.8.8"};
    begin(&a, basic("alice", "n3w-s3cret"));
    assert_int_equal(a.login.status, CW_LOGIN_TOO_MANY);
    assert_int_equal(try(basic("alice", "n3w-s3cret")), CW_LOGIN_OK);
    /* It did not give the others new guesses, and has a limit of its own. */
    a = (attempt){.peer = "10.9.9.9"};
    begin(&a, basic("alice", "guess"));
    assert_int_equal(a.login.status, CW_LOGIN_TOO_MANY);
    for (unsigned i = 0; i < CW_ACCOUNTS_FREE_FAILURES; i++)
        assert_int_equal(try(basic("alice", "guess")), CW_LOGIN_WRONG);
    a = (attempt){0};
    begin(&a, basic("alice", "guess"));
    assert_int_equal(a.login.status, CW_LOGIN_TOO_MANY);
}

TEST(guesses_at_once_count_before_they_are_hashed)
{
    static attempt all[40];
    int wrong = 0, late = 0;
    stop_clock();
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        char guess[32];
        snprintf(guess, sizeof guess, "guess %zu", i);
        all[i] = (attempt){0};
        begin(&all[i], basic("alice", guess));
    }
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        finish(&all[i]);
        wrong += all[i].login.status == CW_LOGIN_WRONG;
        late += all[i].login.status == CW_LOGIN_TOO_MANY;
    }
    /* Those that were being hashed when the last free one failed. */
    assert_true(wrong <= (int)(CW_ACCOUNTS_FREE_FAILURES + CW_ACCOUNTS_HASH_THREADS));
    assert_int_equal(wrong + late, CW_COUNT(all));
}

TEST(equal_credentials_wait_for_one_answer)
{
    static attempt all[200];
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        all[i] = (attempt){0};
        begin(&all[i], basic("alice", "s3cret"));
        assert_int_equal(all[i].login.status, CW_LOGIN_PENDING);
    }
    cw_login_cancel(&all[7].waiter);
    cw_login_cancel(&all[7].waiter);
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        if (i == 7)
            continue;
        finish(&all[i]);
        assert_int_equal(all[i].login.status, CW_LOGIN_OK);
        cw_caller_unref(all[i].caller);
    }
    assert_int_equal(atomic_load(&n_hashes), 1);
    assert_int_equal(all[7].login.status, CW_LOGIN_PENDING);
}

/* Fill the pool with guesses of strangers, each from somewhere else. */
static void fill_pool(attempt *all, size_t n)
{
    static char peers[64][16];
    for (size_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "stranger %zu", i);
        snprintf(peers[i], sizeof peers[i], "10.1.0.%zu", i);
        all[i] = (attempt){.peer = peers[i]};
        begin(&all[i], basic(name, "guess"));
    }
}

static void finish_all(attempt *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        finish(&all[i]);
}

static atomic_int reads;
static cw_caller *read_caller;

static void on_anonymous(cw_caller *caller, void *ctx)
{
    (void)ctx;
    read_caller = caller ? cw_caller_ref(caller) : NULL;
    atomic_fetch_add(&reads, 1);
}

/* Read the anonymous role. The store works in order: it has run all jobs from before. */
static void read_anonymous(void)
{
    atomic_store(&reads, 0);
    assert_int_equal(cw_accounts_read_anonymous(accounts, on_anonymous, NULL), CW_OK);
    for (int i = 0; i < 20000 && !atomic_load(&reads); i++)
        usleep(1000);
    assert_int_equal(atomic_load(&reads), 1);
}

TEST(a_change_counts_for_those_who_wait_for_the_pool)
{
    static attempt crowd[30];
    attempt old = {0}, blocked = {0};
    char hash[CW_PASSWORD_HASH];
    add_account("bob", "b0b");
    assert_int_equal(cw_password_hash(CW_STR("n3w"), hash, &err), CW_OK);
    atomic_store(&is_held, true);
    fill_pool(crowd, CW_COUNT(crowd));
    begin(&old, basic("alice", "s3cret"));
    begin(&blocked, basic("bob", "b0b"));
    read_anonymous(); /* and both accounts before */
    cw_caller_unref(read_caller);
    read_caller = NULL;
    assert_int_equal(cw_db_set_password(db, CW_STR("alice"), cw_str_from(hash), &err), CW_OK);
    assert_int_equal(cw_db_block_account(db, CW_STR("bob"), true, &err), CW_OK);
    assert_int_equal(old.login.status, CW_LOGIN_PENDING);
    assert_int_equal(blocked.login.status, CW_LOGIN_PENDING);
    atomic_store(&is_held, false);
    finish(&old);
    finish(&blocked);
    assert_int_equal(old.login.status, CW_LOGIN_WRONG);
    assert_int_equal(blocked.login.status, CW_LOGIN_WRONG);
    assert_int_equal(try(basic("alice", "n3w")), CW_LOGIN_OK);
    finish_all(crowd, CW_COUNT(crowd));
}

TEST(addresses_of_one_network_share_their_guesses)
{
    char peer[64], name[32];
    attempt a;
    stop_clock();
    for (unsigned i = 0; i <= CW_ACCOUNTS_FREE_GUESSES; i++) {
        snprintf(peer, sizeof peer, "2001:db8:1:2:%x::%x", i + 1, i + 7);
        snprintf(name, sizeof name, "guessed %u", i);
        a = (attempt){.peer = peer};
        begin(&a, basic(name, "guess"));
        finish(&a);
        assert_int_equal(a.login.status,
                         i < CW_ACCOUNTS_FREE_GUESSES ? CW_LOGIN_WRONG : CW_LOGIN_TOO_MANY);
    }
    a = (attempt){.peer = "2001:db8:1:3::1"};
    begin(&a, basic("guessed", "guess"));
    finish(&a);
    assert_int_equal(a.login.status, CW_LOGIN_WRONG);
}

TEST(the_pool_has_a_ceiling)
{
    enum { SURPLUS = 30 };
    static attempt all[CW_ACCOUNTS_MAX_HASHES + CW_ACCOUNTS_HASH_THREADS + SURPLUS];
    static char peers[CW_COUNT(all)][16];
    int late = 0;
    atomic_store(&is_held, true);
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        char name[32];
        snprintf(name, sizeof name, "nobody %zu", i);
        snprintf(peers[i], sizeof peers[i], "10.0.1.%zu", i);
        all[i] = (attempt){.peer = peers[i]};
        begin(&all[i], basic(name, "x"));
    }
    for (int i = 0; i < 20000 && late < SURPLUS; i++) {
        turn();
        late = 0;
        for (size_t k = 0; k < CW_COUNT(all); k++)
            late += all[k].login.status == CW_LOGIN_TOO_MANY;
    }
    assert_true(late >= SURPLUS);
    /* What still waits ends with the accounts; nobody listens any more. */
    for (size_t i = 0; i < CW_COUNT(all); i++)
        cw_login_cancel(&all[i].waiter);
}

TEST(without_a_database_nobody_is_wrong)
{
    char away[128];
    assert_int_equal(try(basic("alice", "s3cret")), CW_LOGIN_OK);
    snprintf(away, sizeof away, "%s.away", temp_db_path);
    assert_int_equal(rename(temp_db_path, away), 0);
    for (int i = 0; i < 5000 && try(basic("alice", "x")) != CW_LOGIN_UNAVAILABLE; i++)
        usleep(10000);
    assert_int_equal(try(basic("alice", "x")), CW_LOGIN_UNAVAILABLE);
    assert_true(is_remembered(basic("alice", "s3cret")));
    int seen = atomic_load(&changes);
    assert_int_equal(rename(away, temp_db_path), 0);
    wait_for_change(seen);
    assert_int_equal(try(basic("alice", "s3cret")), CW_LOGIN_OK);
}

TEST(the_anonymous_role_is_in_both_places)
{
    set_roles("from config");
    assert_int_equal(cw_db_allow(db, CW_STR("anonymous"), CW_STR("from db"), true, &err), CW_OK);
    read_anonymous();
    assert_non_null(read_caller);
    assert_true(cw_caller_is_anonymous(read_caller));
    assert_true(cw_caller_may(read_caller, CW_STR("from config")));
    assert_true(cw_caller_may(read_caller, CW_STR("from db")));
    cw_caller_unref(read_caller);
    read_caller = NULL;
}

TEST(unknown_tokens_do_not_push_known_ones_out)
{
    static char secrets[CW_ACCOUNTS_REMEMBERED * 2][CW_TOKEN_LEN + 1];
    char header[64];
    int64_t id;
    bool is_known;
    int seen;
    for (size_t i = 0; i < CW_COUNT(secrets); i++) {
        cw_token token = {.account = 1};
        assert_int_equal(cw_token_make(secrets[i], &err), CW_OK);
        assert_true(cw_token_digest(cw_str_from(secrets[i]), token.hash));
        if (i < 64) /* the others are unknown: they must not push these out */
            assert_int_equal(cw_db_add_token(db, &token, NULL, 0, &id, &err), CW_OK);
    }
    /* A change that the store finds meanwhile makes the loop forget: then all is tried again. */
    do {
        seen = atomic_load(&changes);
        for (size_t i = 0; i < CW_COUNT(secrets); i++) {
            snprintf(header, sizeof header, "Bearer %.*s", (int)CW_TOKEN_LEN, secrets[i]);
            assert_int_equal(try(header), i < 64 ? CW_LOGIN_OK : CW_LOGIN_WRONG);
        }
        snprintf(header, sizeof header, "Bearer %.*s", (int)CW_TOKEN_LEN, secrets[0]);
        is_known = is_remembered(header);
    } while (atomic_load(&changes) != seen);
    assert_true(is_known);
}

static void make(void *ctx)
{
    cw_accounts *a = NULL;
    (void)ctx;
    cw_accounts_opts opts = {.db = {.where = temp_db_path, .may_create = true},
                             .n_loops = 2,
                             .on_status = on_status,
                             .on_change = on_change};
    cw_code rc = cw_accounts_new(&opts, &a, &err);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    cw_accounts_free(a);
}

TEST(every_failed_allocation_is_reported)
{
    assert_true(oom_each(make, NULL) >= 4);
}

TEST(one_of_those_who_wait_is_told_of_the_login)
{
    static attempt all[5];
    for (size_t i = 0; i < CW_COUNT(all); i++) {
        all[i] = (attempt){0};
        begin(&all[i], basic("alice", "s3cret"));
    }
    cw_login_cancel(&all[0].waiter);
    for (size_t i = 1; i < CW_COUNT(all); i++) {
        finish(&all[i]);
        assert_int_equal(all[i].login.is_remembered, i > 1);
        cw_caller_unref(all[i].caller);
    }
    assert_true(is_remembered(basic("alice", "s3cret")));
}

TEST(what_nobody_was_told_of_is_not_remembered)
{
    attempt left = {0}, other = {0};
    begin(&left, basic("alice", "s3cret"));
    begin(&other, basic("bob", "guess"));
    cw_login_cancel(&left.waiter);
    finish(&other); /* behind it in the same pool */
    for (int i = 0; i < 300; i++)
        turn();
    assert_false(is_remembered(basic("alice", "s3cret")));
}

TEST(log_in_without_memory)
{
    char secret[CW_TOKEN_LEN + 1], header[64];
    cw_token token = {.account = 1};
    int64_t id;
    assert_int_equal(cw_token_make(secret, &err), CW_OK);
    assert_true(cw_token_digest(cw_str_from(secret), token.hash));
    int seen = atomic_load(&changes);
    assert_int_equal(cw_db_add_token(db, &token, NULL, 0, &id, &err), CW_OK);
    snprintf(header, sizeof header, "Bearer %s", secret);
    wait_for_change(seen); /* the store allocates no more by itself */
    bool was_hit = true;
    for (size_t n = 1; was_hit && n < 200; n++) {
        set_roles("x"); /* forget */
        oom_fail_at(n);
        cw_login_status status = try(header);
        was_hit = oom_was_hit();
        oom_reset();
        assert_int_equal(status, was_hit ? CW_LOGIN_UNAVAILABLE : CW_LOGIN_OK);
    }
    assert_false(was_hit);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_password_is_verified_once_and_then_remembered),
        T(wrong_unknown_blocked_and_empty_end_the_same),
        T(permissions_come_from_database_and_configuration),
        T(a_change_makes_the_loop_ask_again_but_not_hash_again),
        T(a_caller_whose_rights_are_the_same_stays_the_same_object),
        T(tokens_have_scopes_expire_and_are_revoked),
        T(failures_of_one_account_must_wait),
        T(every_spelling_of_a_header_is_one_login),
        T(success_on_one_loop_counts_on_all),
        T(a_network_that_logged_in_is_not_locked_out_by_others),
        T(a_delayed_login_reads_the_failures_of_other_servers_once_a_second),
        T(guesses_at_once_count_before_they_are_hashed),
        T(equal_credentials_wait_for_one_answer),
        T(a_change_counts_for_those_who_wait_for_the_pool),
        T(addresses_of_one_network_share_their_guesses),
        T(the_pool_has_a_ceiling),
        T(without_a_database_nobody_is_wrong),
        T(the_anonymous_role_is_in_both_places),
        T(unknown_tokens_do_not_push_known_ones_out),
        T(every_failed_allocation_is_reported),
        T(one_of_those_who_wait_is_told_of_the_login),
        T(what_nobody_was_told_of_is_not_remembered),
        T(log_in_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
