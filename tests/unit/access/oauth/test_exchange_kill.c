/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kill -9 before and after every statement of code exchange and refresh: the change is there as a whole or
 * not at all, and a client that tries again goes on. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/stmt.h"
#include "support/oauth_fixture.h"

#define KILLS 200u

static oauth_fixture f;

/* ---- a process that ends at the n-th point ---- */

static const cw_db_ops *real;
static unsigned n_points, last_point;

static void point(void)
{
    if (++n_points == last_point)
        kill(getpid(), SIGKILL);
}

static cw_code begin(cw_db *db, cw_err *err)
{
    point();
    cw_code rc = real->begin(db, err);
    point();
    return rc;
}

static cw_code end(cw_db *db, cw_code rc, cw_err *err)
{
    point();
    rc = real->end(db, rc, err);
    point();
    return rc;
}

static bool step(cw_db_query *q)
{
    point();
    bool is_row = real->step(q);
    point();
    return is_row;
}

/* Returns whether it was killed. */
static bool run_until(const cw_oauth_token_request *r, int64_t now, unsigned at)
{
    static cw_db_ops ops;
    int status = 0;
    oauth_fixture_close(&f);
    pid_t child = fork();
    if (child == 0) {
        oauth_fixture_reopen(&f);
        real = f.db->ops;
        ops = *real;
        ops.begin = begin;
        ops.end = end;
        ops.step = step;
        f.db->ops = &ops;
        n_points = 0;
        last_point = at;
        cw_oauth_tokens tokens;
        cw_arena arena;
        cw_arena_init(&arena, 1u << 20);
        _exit(cw_oauth_exchange(f.db, &f.settings, r, now, &arena, &tokens, NULL) != CW_OK);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || status == 0);
    oauth_fixture_reopen(&f);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* ---- the rows ---- */

typedef struct sums {
    int64_t used, grants, generations, tokens;
} sums;

static int64_t count(const char *sql)
{
    cw_db_query q;
    cw_stmt_open(&q, f.db, sql);
    int64_t n = cw_stmt_step(&q) ? cw_stmt_i64(&q, 0) : -1;
    assert_int_equal(cw_stmt_close(&q, NULL), CW_OK);
    return n;
}

static sums read_sums(void)
{
    return (sums){
        .used = count("SELECT count(*) FROM oauth_code WHERE given <> 0"),
        .grants = count("SELECT count(*) FROM oauth_grant"),
        .generations =
            count("SELECT CAST(coalesce(sum(generation), 0) AS bigint) FROM oauth_grant"),
        .tokens = count("SELECT count(*) FROM oauth_token"),
    };
}

/* Whether the change was made: as a whole, or not at all. */
static bool is_changed(const sums *before, const sums *change)
{
    sums now = read_sums();
    bool is_same = memcmp(&now, before, sizeof now) == 0;
    sums whole = {before->used + change->used, before->grants + change->grants,
                  before->generations + change->generations, before->tokens + change->tokens};
    if (!is_same && memcmp(&now, &whole, sizeof now) != 0)
        fail_msg("half a change: %lld codes used, %lld grants, %lld generations, %lld tokens",
                 (long long)now.used, (long long)now.grants, (long long)now.generations,
                 (long long)now.tokens);
    return !is_same;
}

/* ---- what is killed ---- */

static cw_oauth_tokens ask(cw_oauth_token_request r, int64_t now)
{
    return oauth_fixture_ask(&f, &r, now);
}

static cw_oauth_tokens allow(void)
{
    char code[CW_ACCESS_TOKEN_LEN + 1];
    oauth_fixture_add_code(&f, code, "app");
    cw_oauth_tokens tokens = ask(oauth_fixture_exchange(code), OAUTH_NOW);
    assert_int_equal(tokens.error, CW_OAUTH_NO_ERROR);
    return tokens;
}

static bool kill_exchange(unsigned at)
{
    static const sums change = {.used = 1, .grants = 1, .generations = 1, .tokens = 1};
    char code[CW_ACCESS_TOKEN_LEN + 1];
    oauth_fixture_add_code(&f, code, "app");
    cw_oauth_token_request r = oauth_fixture_exchange(code);
    sums before = read_sums();
    bool is_killed = run_until(&r, OAUTH_NOW, at);
    bool is_done = is_changed(&before, &change);
    cw_oauth_tokens again = ask(r, OAUTH_NOW);
    assert_int_equal(again.event, is_done ? CW_OAUTH_REUSED : CW_OAUTH_ISSUED);
    assert_int_equal(again.error, is_done ? CW_OAUTH_INVALID_GRANT : CW_OAUTH_NO_ERROR);
    return is_killed;
}

static bool kill_replay(unsigned at)
{
    static const sums change = {.grants = -1, .generations = -1, .tokens = -1};
    char code[CW_ACCESS_TOKEN_LEN + 1];
    oauth_fixture_add_code(&f, code, "app");
    cw_oauth_token_request r = oauth_fixture_exchange(code);
    cw_oauth_tokens tokens = ask(r, OAUTH_NOW);
    sums before = read_sums();
    bool is_killed = run_until(&r, OAUTH_NOW, at);
    bool is_done = is_changed(&before, &change);
    assert_int_equal(oauth_fixture_has_token(&f, tokens.access_token), !is_done);
    assert_int_equal(ask(r, OAUTH_NOW).error, CW_OAUTH_INVALID_GRANT);
    assert_false(oauth_fixture_has_token(&f, tokens.access_token));
    return is_killed;
}

/* The client never got an answer: it sends the same token again, and goes on. */
static void go_on(const char *token, int64_t now)
{
    cw_refresh_token given, next;
    char expected[CW_REFRESH_LEN + 1];
    assert_true(cw_refresh_parse(f.settings.seal, cw_str_from(token), &given));
    next = cw_refresh_next(f.settings.seal, &given);
    cw_refresh_format(f.settings.seal, &next, expected);
    cw_oauth_tokens again = ask(oauth_fixture_refresh(token), now);
    assert_int_equal(again.error, CW_OAUTH_NO_ERROR);
    assert_string_equal(again.refresh_token, expected);
    assert_true(oauth_fixture_has_token(&f, again.access_token));
    assert_int_equal(ask(oauth_fixture_refresh(expected), now).event, CW_OAUTH_REFRESHED);
}

static bool kill_refresh(unsigned at)
{
    static const sums change = {.generations = 1, .tokens = 1};
    cw_oauth_tokens tokens = allow();
    cw_oauth_token_request r = oauth_fixture_refresh(tokens.refresh_token);
    sums before = read_sums();
    bool is_killed = run_until(&r, OAUTH_NOW + 1000, at);
    (void)is_changed(&before, &change);
    go_on(tokens.refresh_token, OAUTH_NOW + 2000);
    return is_killed;
}

static bool kill_repeat(unsigned at)
{
    static const sums change = {.tokens = 1};
    cw_oauth_tokens tokens = allow();
    cw_oauth_token_request r = oauth_fixture_refresh(tokens.refresh_token);
    assert_int_equal(ask(r, OAUTH_NOW + 1000).event, CW_OAUTH_REFRESHED);
    sums before = read_sums();
    bool is_killed = run_until(&r, OAUTH_NOW + 2000, at);
    (void)is_changed(&before, &change);
    go_on(tokens.refresh_token, OAUTH_NOW + 3000);
    return is_killed;
}

static void check_database(void)
{
    cw_db_opts opts = {TEMP_DB, .busy_ms = 5000};
    cw_db_health health;
    assert_int_equal(cw_db_check(&opts, &health, NULL), CW_OK);
    assert_string_equal(health.damage, "");
}

TEST(T25_a_kill_at_any_statement_leaves_nothing_half_written)
{
    bool (*const kinds[])(unsigned at) = {kill_exchange, kill_refresh, kill_repeat, kill_replay};
    unsigned kills = 0;
    oauth_fixture_open(&f);
    f.settings.grants = 1000000;
    while (kills < KILLS) {
        for (size_t i = 0; i < CW_COUNT(kinds); i++) {
            unsigned at = 1;
            while (kinds[i](at))
                at++;
            assert_true(at > 8);
            kills += at - 1;
        }
        check_database();
    }
    printf("%u kills\n", kills);
    oauth_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(T25_a_kill_at_any_statement_leaves_nothing_half_written,
                                        temp_db_setup, temp_db_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
