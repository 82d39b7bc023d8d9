/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Logging in through the server with each allocation failing in turn: ours, libuv's and SQLite's.
 * Right credentials may then not be judged, but never found wrong, and wrong ones never right; the
 * next login works, and nothing leaks. */
#include "support/temp_db.h"

#include <malloc.h>
#include <signal.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdatomic.h>

#include "access/credentials.h"
#include "access/login/session.h"
#include "base/clock.h"
#include "support/door_fixture.h"
#include "support/oom.h"

#define JSON "Content-Type: application/json\r\n"
#define NUMBER "{\"jsonrpc\":\"2.0\",\"method\":\"number\",\"id\":1}"
#define LIST "{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\",\"id\":1}"

static door_fixture d;
static cw_accounts *accounts;
static cw_err err;
static atomic_int changes;
static char token[CW_TOKEN_LEN + 1];
static char unknown[CW_TOKEN_LEN + 1];
static char pair[64];
static char session[CW_SESSION_LEN + 1]; /* of a browser; also the secret of its form */
static char proof[CW_SESSION_LEN + 1];
static char form[256];

/* ---- SQLite on the allocations that are counted ---- */

static void *sql_malloc(int n)
{
    return malloc((size_t)n);
}

static void *sql_realloc(void *p, int n)
{
    return realloc(p, (size_t)n);
}

static int sql_size(void *p)
{
    return (int)malloc_usable_size(p);
}

static int sql_roundup(int n)
{
    return (n + 7) & ~7;
}

static int sql_init(void *ctx)
{
    (void)ctx;
    return SQLITE_OK;
}

static void sql_shutdown(void *ctx)
{
    (void)ctx;
}

static void count_sqlite(void)
{
    sqlite3_mem_methods counted = {.xMalloc = sql_malloc,
                                   .xFree = free,
                                   .xRealloc = sql_realloc,
                                   .xSize = sql_size,
                                   .xRoundup = sql_roundup,
                                   .xInit = sql_init,
                                   .xShutdown = sql_shutdown};
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &counted), SQLITE_OK);
    assert_int_equal(uv_replace_allocator(malloc, realloc, calloc, free), 0);
}

/* ---- accounts ---- */

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

static void set_roles(void)
{
    static const cw_str permissions[] = {CW_STR_INIT("access mcp tool discovery"),
                                         CW_STR_INIT("use jsonrpc services")};
    const cw_role items[] = {{CW_STR_INIT("authenticated"), permissions, 2},
                             {CW_STR_INIT("editor"), permissions, 1}};
    cw_roles *roles;
    assert_int_equal(cw_roles_new(items, 2, false, &roles, &err), CW_OK);
    cw_accounts_set_roles(accounts, roles);
    cw_roles_unref(roles);
}

static const cw_session_rules rules = {
    .idle_ms = 3600000, .lifetime_ms = 3600000, .per_account = 1000};

static void add_session(cw_db *db, int64_t account, const char *hash)
{
    cw_session made = {.account = account, .created = cw_clock_wall_ms()};
    assert_int_equal(cw_session_secret(session, &err), CW_OK);
    crypto_hash_sha256(made.hash, (const unsigned char *)session, CW_SESSION_LEN);
    assert_int_equal(cw_db_add_session(db, &made, cw_str_from(hash), &rules, NULL, &err), CW_OK);
    cw_session_csrf_token(cw_str_from(session), proof);
    snprintf(form, sizeof form, "name=alice&password=s3cret&next=%%2Fx&csrf=%s", proof);
}

static void fill_database(void)
{
    static const cw_str roles[] = {CW_STR_INIT("editor")};
    static const cw_str scopes[] = {CW_STR_INIT("content:read"), CW_STR_INIT("profile")};
    char hash[CW_PASSWORD_HASH];
    cw_token made = {.name = CW_STR("t")};
    int64_t id;
    cw_db *db;
    cw_db_opts opts = {.where = temp_db_path, .may_create = true, .busy_ms = 1000};
    assert_int_equal(cw_db_open(&opts, &db, &err), CW_OK);
    /* One that is quick to verify. */
    assert_int_equal(crypto_pwhash_argon2id_str(hash, "s3cret", 6,
                                                crypto_pwhash_argon2id_OPSLIMIT_MIN,
                                                crypto_pwhash_argon2id_MEMLIMIT_MIN),
                     0);
    cw_account alice = {.name = CW_STR("alice"), .password = cw_str_from(hash)};
    assert_int_equal(cw_db_add_account(db, &alice, roles, 1, &made.account, &err), CW_OK);
    assert_int_equal(cw_token_make(token, &err), CW_OK);
    assert_int_equal(cw_token_make(unknown, &err), CW_OK);
    assert_true(cw_token_digest(cw_str_from(token), made.hash));
    assert_int_equal(cw_db_add_token(db, &made, scopes, 2, &id, &err), CW_OK);
    add_session(db, made.account, hash);
    cw_db_close(db);
    sodium_bin2base64(pair, sizeof pair, (const unsigned char *)"alice:s3cret", 12,
                      sodium_base64_VARIANT_ORIGINAL);
}

static void open_all(void)
{
    cw_accounts_opts opts = {.db = {.where = temp_db_path, .may_create = true},
                             .n_loops = 1,
                             .on_status = on_status,
                             .on_change = on_change};
    atomic_store(&changes, 0);
    assert_int_equal(cw_accounts_new(&opts, &accounts, &err), CW_OK);
    set_roles();
    cw_accounts_set_sessions(accounts, &rules);
    for (int i = 0; i < 30000 && !atomic_load(&changes); i++)
        usleep(1000);
    assert_true(atomic_load(&changes) > 0);
    door_fixture_open_accounts(&d, 60000, accounts);
}

static void close_all(void)
{
    door_fixture_close(&d);
    cw_accounts_free(accounts);
}

/* ---- scenarios ---- */

typedef struct scenario {
    const char *name, *path, *body; /* without a body: GET */
    const char *scheme, *secret;    /* without a scheme: a browser's cookie */
    int healthy;
    bool is_known; /* the same header each time: the loop may remember it */
} scenario;

static const char unknown_session[] = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

static const scenario scenarios[] = {
    {"a token", "/jsonrpc", NUMBER, "Bearer", token, 200, false},
    {"a token on a list", "/mcp/tools/list", NULL, "Bearer", token, 200, false},
    {"a token on /mcp", "/mcp", LIST, "Bearer", token, 200, false},
    {"an unknown token", "/jsonrpc", NUMBER, "Bearer", unknown, 401, false},
    {"no token at all", "/jsonrpc", NUMBER, "Bearer", "cw_x", 401, false},
    {"a known password", "/jsonrpc", NUMBER, "Basic", pair, 200, true},
    {"a password", "/jsonrpc", NUMBER, "Basic", pair, 200, false},
    {"a session", "/jsonrpc", NUMBER, NULL, session, 200, true},
    {"a session on a list", "/mcp/tools/list", NULL, NULL, session, 200, true},
    {"an unknown session", "/jsonrpc", NUMBER, NULL, unknown_session, 401, true},
    {"the page", "/login", NULL, NULL, session, 200, true},
    {"the page for a stranger", "/login", NULL, NULL, unknown_session, 200, true},
    {"the form", "/login", form, NULL, session, 303, true},
    {"the way out", "/logout", "", NULL, unknown_session, 303, true},
    {"the proof", "/session/token", NULL, NULL, session, 200, true},
};

/* What a browser sends. A session that is replaced by the form's is another one. */
static void add_browser_headers(const scenario *s, char *out, size_t size)
{
    char own[CW_SESSION_LEN + 1];
    bool is_form = s->body == form;
    cw_session_csrf_token(cw_str_from(s->secret), own);
    snprintf(out, size,
             "Content-Type: %s\r\nSec-Fetch-Site: same-origin\r\nX-CSRF-Token: %s\r\n"
             "Cookie: __Host-causeway%s=%s\r\n",
             is_form ? "application/x-www-form-urlencoded" : "application/json", own,
             is_form ? "-login" : "", s->secret);
}

/* Spaces do not count, but make other credentials for the loop's memory: each login goes all the
 * way, unless it is a known one, which is read again because the roles are new. */
static int elicit(const scenario *s)
{
    static size_t fresh;
    char headers[2048];
    http_response got;
    int spaces = s->is_known ? 1 : (int)(++fresh % 1000 + 2);
    snprintf(headers, sizeof headers, JSON "Authorization: %s%*s%s\r\n", s->scheme ? s->scheme : "",
             spaces, "", s->secret);
    if (!s->scheme)
        add_browser_headers(s, headers, sizeof headers);
    if (s->body)
        door_fixture_post(&d, s->path, headers, s->body, &got);
    else
        door_fixture_get(&d, s->path, headers, &got);
    return got.status;
}

static size_t run(const scenario *s, bool all_following)
{
    for (size_t n = 1; n < 2000; n++) {
        if (s->is_known)
            set_roles();
        if (all_following)
            oom_fail_from(n);
        else
            oom_fail_at(n);
        int status = elicit(s);
        bool was_hit = oom_was_hit();
        oom_reset();
        if (status != s->healthy && status != 0 && status != 500 && status != 503)
            fail_msg("%s, allocation %zu: status %d", s->name, n, status);
        if (!was_hit)
            return n;
        assert_int_equal(elicit(&scenarios[0]), 200);
    }
    fail_msg("%s: the failure is met without end", s->name);
    return 0;
}

TEST(logging_in_survives_every_failed_allocation)
{
    size_t allocations = 0;
    open_all();
    for (size_t i = 0; i < CW_COUNT(scenarios); i++) {
        const scenario *s = &scenarios[i];
        assert_int_equal(elicit(s), s->healthy);
        allocations += run(s, /* all_following= */ false);
        (void)run(s, /* all_following= */ true);
    }
    assert_true(allocations > 100);
    close_all();
    sqlite3_shutdown();
}

TEST(nothing_is_left_behind)
{
    size_t before = 0;
    /* The first time fills what libraries keep for good. */
    for (int i = 0; i < 2; i++) {
        before = oom_live();
        open_all();
        for (size_t k = 0; k < CW_COUNT(scenarios); k++)
            assert_int_equal(elicit(&scenarios[k]), scenarios[k].healthy);
        close_all();
        sqlite3_shutdown();
    }
    assert_int_equal(oom_live(), before);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    (void)!cw_log_configure(&(cw_log_opts){.level = CW_LOG_OFF}, NULL);
    count_sqlite();
    if (cw_secret_init(&err) || temp_db_setup(NULL))
        return 1;
    fill_database();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logging_in_survives_every_failed_allocation),
        cmocka_unit_test(nothing_is_left_behind),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return temp_db_teardown(NULL) || failed;
}
