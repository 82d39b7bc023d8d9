/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/temp_db.h"

#include <stdatomic.h>

#include "access/credentials.h"
#include "access/login/login_watch.h"
#include "access/login/session.h"
#include "base/clock.h"
#include "support/oom.h"

/* The test is the loop: it runs it in turns while it waits. */
static cw_loop loop;
static cw_accounts *accounts;
static cw_db *db;
static cw_err err;
static atomic_int changes;
static const cw_session_rules hour = {.idle_ms = 3600000, .lifetime_ms = 7200000, .per_account = 5};

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
    assert_int_equal(cw_password_hash(cw_str_from(password), hash, &err), CW_OK);
    cw_account account = {.name = cw_str_from(name), .password = cw_str_from(hash)};
    assert_int_equal(cw_db_add_account(db, &account, NULL, 0, &id, &err), CW_OK);
}

SETUP(setup)
{
    if (temp_db_setup(state) || cw_loop_init(&loop, 64, &err))
        return -1;
    atomic_store(&changes, 0);
    cw_accounts_opts opts = {.db = {.where = temp_db_path, .may_create = true},
                             .n_loops = 1,
                             .on_status = on_status,
                             .on_change = on_change};
    cw_db_opts db_opts = {.where = temp_db_path, .may_create = true, .busy_ms = 2000};
    if (cw_secret_init(&err) || cw_db_open(&db_opts, &db, &err))
        return -1;
    add_account("alice", "s3cret");
    if (cw_accounts_new(&opts, &accounts, &err))
        return -1;
    cw_accounts_set_sessions(accounts, &hour);
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
    cw_db_close(db);
    return temp_db_teardown(state);
}

/* ---- asking ---- */

typedef struct visitor {
    cw_login_waiter waiter;
    cw_login login;
    char name[64];
    char session[CW_SESSION_LEN + 1];
    bool has_waited;
} visitor;

static void keep(visitor *v, const cw_login *login)
{
    v->login = *login;
    v->name[0] = v->session[0] = 0;
    if (login->caller)
        snprintf(v->name, sizeof v->name, "%.*s", CW_STR_ARG(cw_caller_name(login->caller)));
    if (login->session)
        snprintf(v->session, sizeof v->session, "%s", login->session);
}

static void on_login(cw_login_waiter *w, const cw_login *login)
{
    keep(CW_CONTAINER(w, visitor, waiter), login);
}

static cw_str peer_of(cw_login_waiter *w)
{
    (void)w;
    return CW_STR("10.0.0.1");
}

static void turn(void)
{
    uv_run(&loop.uv, UV_RUN_NOWAIT);
    usleep(1000);
}

static cw_login_status finish(visitor *v, cw_login login)
{
    keep(v, &login);
    v->has_waited = login.status == CW_LOGIN_PENDING;
    for (int i = 0; i < 20000 && v->login.status == CW_LOGIN_PENDING; i++)
        turn();
    assert_int_not_equal(v->login.status, CW_LOGIN_PENDING);
    return v->login.status;
}

static visitor stranger(void)
{
    return (visitor){.waiter = {.peer = peer_of, .fn = on_login}};
}

static cw_login_status open_session(visitor *v, const char *name, const char *password,
                                    const char *replaced)
{
    return finish(v, cw_session_open(accounts, &loop, cw_str_from(name), cw_str_from(password),
                                     cw_str_from(replaced), &v->waiter));
}

static cw_login_status resume(visitor *v, const char *session)
{
    return finish(v, cw_session_resume(accounts, &loop, cw_str_from(session), &v->waiter));
}

static cw_login_status end(visitor *v, const char *session)
{
    return finish(v, cw_session_end(accounts, &loop, cw_str_from(session), &v->waiter));
}

/* ---- tests ---- */

TEST(a_session_is_opened_resumed_remembered_and_ended)
{
    visitor v = stranger(), w = stranger();
    assert_int_equal(open_session(&v, "alice", "s3cret", ""), CW_LOGIN_OK);
    assert_string_equal(v.name, "alice");
    assert_true(cw_session_is_secret(cw_str_from(v.session)));
    assert_int_equal(resume(&w, v.session), CW_LOGIN_OK);
    assert_string_equal(w.name, "alice");
    assert_true(w.has_waited);
    assert_false(w.login.is_remembered);
    assert_int_equal(resume(&w, v.session), CW_LOGIN_OK);
    assert_false(w.has_waited);
    assert_true(w.login.is_remembered);
    assert_int_equal(end(&w, v.session), CW_LOGIN_OK);
    assert_int_equal(resume(&w, v.session), CW_LOGIN_WRONG);
    assert_int_equal(end(&w, v.session), CW_LOGIN_OK);
}

TEST(the_end_of_a_made_up_session_concerns_no_other)
{
    visitor v = stranger(), w = stranger(), made_up = stranger();
    char secret[CW_SESSION_LEN + 1];
    assert_int_equal(open_session(&v, "alice", "s3cret", ""), CW_LOGIN_OK);
    assert_int_equal(resume(&w, v.session), CW_LOGIN_OK);
    assert_int_equal(cw_session_secret(secret, &err), CW_OK);
    assert_int_equal(end(&made_up, secret), CW_LOGIN_OK);
    assert_true(made_up.has_waited);
    assert_int_equal(resume(&w, v.session), CW_LOGIN_OK);
    assert_true(w.login.is_remembered);
}

TEST(threat_C10_each_login_has_a_session_of_its_own)
{
    visitor a = stranger(), b = stranger(), c = stranger();
    assert_int_equal(open_session(&a, "alice", "s3cret", ""), CW_LOGIN_OK);
    assert_int_equal(open_session(&b, "alice", "s3cret", ""), CW_LOGIN_OK);
    assert_string_not_equal(a.session, b.session);
    assert_int_equal(resume(&c, a.session), CW_LOGIN_OK);
    assert_int_equal(open_session(&c, "alice", "s3cret", a.session), CW_LOGIN_OK);
    assert_int_equal(resume(&c, a.session), CW_LOGIN_WRONG);
    assert_int_equal(resume(&c, b.session), CW_LOGIN_OK);
}

TEST(what_is_no_login_opens_nothing)
{
    char text[CW_PASSWORD_MAX + 2];
    visitor v = stranger();
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    assert_int_equal(open_session(&v, "alice", "wrong", ""), CW_LOGIN_WRONG);
    assert_int_equal(open_session(&v, "nobody", "s3cret", ""), CW_LOGIN_WRONG);
    assert_int_equal(open_session(&v, "a:b", "s3cret", ""), CW_LOGIN_WRONG);
    assert_int_equal(open_session(&v, "", "", ""), CW_LOGIN_WRONG);
    assert_int_equal(open_session(&v, "alice", text, ""), CW_LOGIN_WRONG);
    assert_int_equal(v.session[0], 0);
    assert_int_equal(resume(&v, ""), CW_LOGIN_WRONG);
    assert_int_equal(resume(&v, "short"), CW_LOGIN_WRONG);
    assert_int_equal(resume(&v, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), CW_LOGIN_WRONG);
    assert_int_equal(end(&v, "short"), CW_LOGIN_OK);
}

TEST(guesses_are_slowed_down_here_too)
{
    visitor v = stranger();
    for (unsigned i = 0; i < CW_ACCOUNTS_FREE_FAILURES; i++)
        assert_int_equal(open_session(&v, "alice", "wrong", ""), CW_LOGIN_WRONG);
    assert_int_equal(open_session(&v, "alice", "s3cret", ""), CW_LOGIN_TOO_MANY);
    assert_true(v.login.retry_s >= 1);
}

/* The text of a session is nothing in a header, also when the loop remembers it. */
TEST(a_session_is_no_authorization)
{
    visitor v = stranger(), w = stranger();
    assert_int_equal(open_session(&v, "alice", "s3cret", ""), CW_LOGIN_OK);
    assert_int_equal(resume(&w, v.session), CW_LOGIN_OK);
    cw_str text = cw_str_from(v.session);
    assert_int_equal(finish(&w, cw_accounts_login(accounts, &loop, text, &w.waiter)),
                     CW_LOGIN_WRONG);
}

TEST(threat_C13_what_others_change_is_seen)
{
    visitor v = stranger(), w = stranger();
    assert_int_equal(open_session(&v, "alice", "s3cret", ""), CW_LOGIN_OK);
    assert_int_equal(resume(&w, v.session), CW_LOGIN_OK);
    int seen = atomic_load(&changes);
    assert_int_equal(cw_db_grant(db, CW_STR("alice"), CW_STR("editor"), true, &err), CW_OK);
    for (int i = 0; i < 30000 && atomic_load(&changes) <= seen; i++)
        turn();
    assert_int_equal(resume(&w, v.session), CW_LOGIN_WRONG);
}

TEST(new_rules_count_for_sessions_that_are_open)
{
    visitor v = stranger(), w = stranger();
    cw_session_rules rules = hour;
    assert_int_equal(open_session(&v, "alice", "s3cret", ""), CW_LOGIN_OK);
    assert_int_equal(resume(&w, v.session), CW_LOGIN_OK);
    usleep(20000);
    rules.idle_ms = 10;
    cw_accounts_set_sessions(accounts, &rules);
    assert_int_equal(resume(&w, v.session), CW_LOGIN_WRONG);
    rules = hour;
    rules.lifetime_ms = 10;
    cw_accounts_set_sessions(accounts, &rules);
    assert_int_equal(resume(&w, v.session), CW_LOGIN_WRONG);
    cw_accounts_set_sessions(accounts, &hour);
    assert_int_equal(resume(&w, v.session), CW_LOGIN_OK);
    rules.per_account = 0;
    cw_accounts_set_sessions(accounts, &rules);
    assert_false(cw_session_is_on(accounts));
    assert_int_equal(resume(&w, v.session), CW_LOGIN_WRONG);
    assert_int_equal(open_session(&w, "alice", "s3cret", ""), CW_LOGIN_WRONG);
}

static int64_t used;

static cw_code note_used(const cw_session *session, void *ctx, cw_err *e)
{
    (void)ctx;
    (void)e;
    used = session->used;
    return CW_OK;
}

TEST(use_is_written_down_now_and_then)
{
    visitor v = stranger(), w = stranger();
    cw_session_rules rules = hour;
    rules.idle_ms = 2000;
    cw_accounts_set_sessions(accounts, &rules);
    assert_int_equal(open_session(&v, "alice", "s3cret", ""), CW_LOGIN_OK);
    assert_int_equal(cw_db_each_session(db, 0, note_used, NULL, &err), CW_OK);
    int64_t first = used;
    int64_t start = cw_clock_wall_ms();
    /* Without a note of its use it would have ended meanwhile. */
    while (used <= first + 2000 && cw_clock_wall_ms() - start < 30000) {
        assert_int_equal(resume(&w, v.session), CW_LOGIN_OK);
        usleep(5000);
        assert_int_equal(cw_db_each_session(db, 0, note_used, NULL, &err), CW_OK);
    }
    assert_true(used > first + 2000);
}

TEST(a_visitor_may_leave)
{
    visitor v = stranger();
    cw_login login =
        cw_session_open(accounts, &loop, CW_STR("alice"), CW_STR("s3cret"), CW_STR(""), &v.waiter);
    assert_int_equal(login.status, CW_LOGIN_PENDING);
    cw_login_cancel(&v.waiter);
    visitor w = stranger();
    assert_int_equal(open_session(&w, "alice", "s3cret", ""), CW_LOGIN_OK);
    assert_int_equal(v.login.status, CW_LOGIN_OK); /* zero: it was never told */
    assert_int_equal(v.session[0], 0);
}

TEST(a_proof_is_of_one_secret)
{
    char one[CW_SESSION_LEN + 1], two[CW_SESSION_LEN + 1], proof[CW_SESSION_LEN + 1];
    assert_int_equal(cw_session_secret(one, &err), CW_OK);
    assert_int_equal(cw_session_secret(two, &err), CW_OK);
    assert_string_not_equal(one, two);
    cw_session_csrf_token(cw_str_from(one), proof);
    assert_string_not_equal(one, proof);
    assert_true(cw_session_csrf_matches(cw_str_from(one), cw_str_from(proof)));
    assert_false(cw_session_csrf_matches(cw_str_from(two), cw_str_from(proof)));
    assert_false(cw_session_csrf_matches(cw_str_from(one), cw_str_make(proof, CW_SESSION_LEN - 1)));
    assert_false(cw_session_csrf_matches(cw_str_from(one), (cw_str){NULL, 0}));
    assert_true(cw_session_is_secret(cw_str_from(one)));
    assert_false(cw_session_is_secret(cw_str_make(one, CW_SESSION_LEN - 1)));
    assert_false(cw_session_is_secret((cw_str){NULL, 0}));
    one[5] = '=';
    assert_false(cw_session_is_secret(cw_str_from(one)));
}

/* ---- what ends with a session ---- */

typedef struct stream {
    cw_login_watch watch;
    bool is_ended;
    struct stream *removes, *adds; /* when it ends */
} stream;

static cw_caller *watched; /* of the last visitor who opened a stream */

static void on_ended(cw_login_watch *w)
{
    stream *s = CW_CONTAINER(w, stream, watch);
    assert_null(w->node.next);
    assert_false(s->is_ended);
    s->is_ended = true;
    if (s->removes)
        cw_login_watch_remove(&s->removes->watch);
    if (s->adds)
        cw_login_watch_add(accounts, &loop, watched, &s->adds->watch);
}

static void watch(stream *s, cw_caller *caller)
{
    s->watch.on_ended = on_ended;
    cw_login_watch_add(accounts, &loop, caller, &s->watch);
}

static void on_stream(cw_login_waiter *w, const cw_login *login)
{
    keep(CW_CONTAINER(w, visitor, waiter), login);
    watched = login->caller ? cw_caller_ref(login->caller) : NULL;
}

/* Who shows this session; a reference. */
static cw_caller *identify(const char *session)
{
    visitor v = {.waiter = {.peer = peer_of, .fn = on_stream}};
    watched = NULL;
    assert_int_equal(resume(&v, session), CW_LOGIN_OK);
    return watched ? watched : cw_caller_ref(v.login.caller);
}

static void open_stream(stream *s, const char *session)
{
    cw_caller *caller = identify(session);
    watch(s, caller);
    cw_caller_unref(caller);
}

static bool ends(const stream *s, int ms)
{
    int64_t start = cw_clock_wall_ms();
    while (!s->is_ended && cw_clock_wall_ms() - start < ms)
        turn();
    return s->is_ended;
}

TEST(what_a_session_has_opened_ends_with_it_and_nothing_else_does)
{
    visitor a = stranger(), b = stranger(), v = stranger();
    stream of_a = {0}, again = {0}, of_b = {0}, removed = {0};
    assert_int_equal(open_session(&a, "alice", "s3cret", ""), CW_LOGIN_OK);
    assert_int_equal(open_session(&b, "alice", "s3cret", ""), CW_LOGIN_OK);
    open_stream(&of_a, a.session);
    open_stream(&again, a.session);
    open_stream(&of_b, b.session);
    open_stream(&removed, a.session);
    assert_false(ends(&of_a, 600));
    cw_login_watch_remove(&removed.watch);
    cw_login_watch_remove(&removed.watch);
    assert_int_equal(end(&v, a.session), CW_LOGIN_OK);
    assert_true(ends(&of_a, 1000));
    assert_true(ends(&again, 100));
    assert_false(ends(&of_b, 600) || removed.is_ended);
    /* Another login of the same browser ends it too. */
    assert_int_equal(open_session(&v, "alice", "s3cret", b.session), CW_LOGIN_OK);
    assert_true(ends(&of_b, 1000));
}

TEST(what_a_session_has_opened_ends_when_others_end_it)
{
    visitor v = stranger();
    stream s = {0};
    assert_int_equal(open_session(&v, "alice", "s3cret", ""), CW_LOGIN_OK);
    open_stream(&s, v.session);
    assert_false(ends(&s, 300));
    assert_int_equal(cw_db_remove_session(db, 1, &err), CW_OK);
    assert_true(ends(&s, 1500));
}

TEST(what_a_session_has_opened_ends_when_its_time_is_over)
{
    visitor v = stranger(), w = stranger();
    stream s = {0};
    cw_session_rules rules = hour;
    rules.idle_ms = 800;
    cw_accounts_set_sessions(accounts, &rules);
    assert_int_equal(open_session(&v, "alice", "s3cret", ""), CW_LOGIN_OK);
    open_stream(&s, v.session);
    int64_t start = cw_clock_wall_ms();
    while (cw_clock_wall_ms() - start < 1500) {
        assert_int_equal(resume(&w, v.session), CW_LOGIN_OK);
        assert_false(ends(&s, 50)); /* in use */
    }
    assert_true(ends(&s, 2000));
    /* And when there are no sessions any more. */
    cw_accounts_set_sessions(accounts, &hour);
    assert_int_equal(open_session(&v, "alice", "s3cret", ""), CW_LOGIN_OK);
    s = (stream){0};
    open_stream(&s, v.session);
    rules.per_account = 0;
    cw_accounts_set_sessions(accounts, &rules);
    assert_true(ends(&s, 1000));
}

TEST(a_session_that_has_ended_before_is_noticed)
{
    visitor v = stranger(), w = stranger();
    stream s = {0};
    assert_int_equal(open_session(&v, "alice", "s3cret", ""), CW_LOGIN_OK);
    cw_caller *caller = identify(v.session);
    assert_int_equal(end(&w, v.session), CW_LOGIN_OK);
    watch(&s, caller);
    assert_false(s.is_ended); /* not from inside */
    assert_true(ends(&s, 1000));
    cw_caller_unref(caller);
}

TEST(whoever_is_told_may_add_and_remove_others)
{
    visitor v = stranger(), w = stranger();
    enum { MANY = 300 }; /* more than one look holds */
    static stream many[MANY];
    stream added = {.watch.on_ended = on_ended};
    memset(many, 0, sizeof many);
    assert_int_equal(open_session(&v, "alice", "s3cret", ""), CW_LOGIN_OK);
    watched = identify(v.session);
    for (int i = 0; i < MANY; i++)
        watch(&many[i], watched);
    many[0].removes = &many[1];
    many[0].adds = &added;
    assert_int_equal(end(&w, v.session), CW_LOGIN_OK);
    assert_true(ends(&many[MANY - 1], 1500));
    assert_true(ends(&added, 1000));
    for (int i = 0; i < MANY; i++)
        assert_int_equal(many[i].is_ended, i != 1);
    cw_caller_unref(watched);
}

TEST(whoever_shows_something_else_has_no_session_to_end)
{
    visitor v = {.waiter = {.peer = peer_of, .fn = on_stream}};
    stream s = {0};
    cw_str header = CW_STR("Basic YWxpY2U6czNjcmV0");
    assert_int_equal(finish(&v, cw_accounts_login(accounts, &loop, header, &v.waiter)),
                     CW_LOGIN_OK);
    assert_int_equal(cw_caller_credential_of(watched)->kind, CW_CREDENTIAL_PASSWORD);
    s.watch.only_session = true;
    watch(&s, watched);
    assert_null(s.watch.node.next);
    cw_login_watch_remove(&s.watch);
    cw_caller_unref(watched);
}

static cw_caller *oom_caller;

static void end_one_stream(void *ctx)
{
    stream s = {0};
    (void)ctx;
    watch(&s, oom_caller);
    assert_true(ends(&s, 1500) || oom_was_hit());
    cw_login_watch_remove(&s.watch);
}

/* Where all allocations fail it goes on; where one fails the next look finds out. */
TEST(looking_survives_every_failed_allocation)
{
    visitor v = stranger(), w = stranger();
    stream s = {0};
    assert_int_equal(open_session(&v, "alice", "s3cret", ""), CW_LOGIN_OK);
    oom_caller = identify(v.session);
    assert_int_equal(end(&w, v.session), CW_LOGIN_OK);
    assert_true(oom_each(end_one_stream, NULL) >= 1);
    oom_fail_at(1);
    watch(&s, oom_caller);
    assert_true(ends(&s, 1500));
    assert_true(oom_was_hit());
    oom_reset();
    cw_caller_unref(oom_caller);
}

static char known[CW_SESSION_LEN + 1];

static void resume_once(void *ctx)
{
    visitor v = stranger();
    (void)ctx;
    static uint64_t more; /* other rules: the cached session is read again */
    cw_session_rules rules = hour;
    rules.idle_ms += ++more;
    cw_accounts_set_sessions(accounts, &rules);
    cw_login_status status = resume(&v, known);
    assert_true(status == CW_LOGIN_OK || (oom_was_hit() && status == CW_LOGIN_UNAVAILABLE));
}

/* Of the live allocations one may differ: the loop remembers the caller of the last success. */
TEST(resuming_survives_every_failed_allocation)
{
    visitor v = stranger();
    assert_int_equal(open_session(&v, "alice", "s3cret", ""), CW_LOGIN_OK);
    memcpy(known, v.session, sizeof known);
    assert_int_equal(resume(&v, known), CW_LOGIN_OK);
    assert_true(oom_each(resume_once, NULL) >= 3);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_session_is_opened_resumed_remembered_and_ended),
        T(the_end_of_a_made_up_session_concerns_no_other),
        T(threat_C10_each_login_has_a_session_of_its_own),
        T(what_is_no_login_opens_nothing),
        T(guesses_are_slowed_down_here_too),
        T(a_session_is_no_authorization),
        T(threat_C13_what_others_change_is_seen),
        T(new_rules_count_for_sessions_that_are_open),
        T(use_is_written_down_now_and_then),
        T(a_visitor_may_leave),
        T(a_proof_is_of_one_secret),
        T(what_a_session_has_opened_ends_with_it_and_nothing_else_does),
        T(what_a_session_has_opened_ends_when_others_end_it),
        T(what_a_session_has_opened_ends_when_its_time_is_over),
        T(a_session_that_has_ended_before_is_noticed),
        T(whoever_is_told_may_add_and_remove_others),
        T(whoever_shows_something_else_has_no_session_to_end),
        T(looking_survives_every_failed_allocation),
        T(resuming_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
