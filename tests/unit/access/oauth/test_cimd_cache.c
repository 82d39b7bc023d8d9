/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fetcher and the clock are the test's: it decides when a publisher answers, and what. */
#include "access/oauth/cimd_cache.h"

#include <uv.h>

#include "base/clock.h"
#include "net/curl/fetch.h"
#include "support/oom.h"
#include "support/test.h"

static cw_loop loop;
static cw_cimd_cache *cache;
static uint64_t now_ms;
static cw_fetch *running[32];
static size_t n_started, n_closed;
static cw_code start_code;
static char fetcher;

uint64_t __wrap_cw_clock_ms(void);
cw_code __wrap_cw_fetcher_new(cw_loop *l, cw_fetcher **ret, cw_err *err);
cw_code __wrap_cw_fetcher_start(cw_fetcher *f, cw_fetch *fetch, cw_err *err);
void __wrap_cw_fetcher_close(cw_fetcher *f);

uint64_t __wrap_cw_clock_ms(void)
{
    return now_ms;
}

cw_code __wrap_cw_fetcher_new(cw_loop *l, cw_fetcher **ret, cw_err *err)
{
    (void)l;
    (void)err;
    *ret = (cw_fetcher *)(void *)&fetcher;
    return CW_OK;
}

cw_code __wrap_cw_fetcher_start(cw_fetcher *f, cw_fetch *fetch, cw_err *err)
{
    assert_ptr_equal(f, &fetcher);
    if (start_code)
        return cw_fail(err, start_code, "not this one");
    assert_true(n_started < CW_COUNT(running));
    running[n_started++] = fetch;
    return CW_OK;
}

void __wrap_cw_fetcher_close(cw_fetcher *f)
{
    n_closed += f != NULL;
}

SETUP(setup)
{
    now_ms = 1000000;
    n_started = n_closed = 0;
    start_code = CW_OK;
    return cw_loop_init(&loop, 64, NULL) || cw_cimd_cache_new(&loop, &cache, NULL);
}

TEARDOWN(teardown)
{
    cw_cimd_cache_close(cache);
    cw_loop_end(&loop);
    cw_loop_run(&loop);
    cw_cimd_cache_free(cache);
    cw_loop_done(&loop);
    return 0;
}

/* A message may cause another one. */
static void turn(void)
{
    for (int i = 0; i < 3; i++)
        uv_run(&loop.uv, UV_RUN_NOWAIT);
}

/* ---- those who ask, and the publisher ---- */

typedef struct asked {
    cw_cimd_waiter waiter;
    unsigned calls;
    cw_code rc;
    char body[64];
} asked;

static void on_document(cw_cimd_waiter *w, cw_code rc, cw_str body)
{
    asked *a = CW_CONTAINER(w, asked, waiter);
    a->calls++;
    a->rc = rc;
    if (!rc)
        snprintf(a->body, sizeof a->body, "%.*s", CW_STR_ARG(body));
}

static void ask_as(asked *a, const char *id, const char *account)
{
    *a = (asked){.waiter.fn = on_document};
    cw_cimd_cache_find(cache, &loop, cw_str_from(id), cw_str_from(account), &a->waiter);
    turn();
}

static void ask(asked *a, const char *id)
{
    ask_as(a, id, "alice");
}

#define NO_MAX_AGE UINT64_MAX

static void answer(size_t i, unsigned status, const char *body, uint64_t max_age_s)
{
    cw_fetch_response response = {.status = status,
                                  .body = cw_str_from(body),
                                  .has_max_age = max_age_s != NO_MAX_AGE,
                                  .max_age_s = max_age_s};
    running[i]->on_done(running[i], &response, NULL);
    turn();
}

static void hang_up(size_t i)
{
    running[i]->on_done(running[i], NULL, "it has gone");
    turn();
}

#define ID "https://a.example/client.json"

static void assert_got(const asked *a, const char *body)
{
    assert_int_equal(a->calls, 1);
    assert_int_equal(a->rc, CW_OK);
    assert_string_equal(a->body, body);
}

static void assert_failed(const asked *a, cw_code rc)
{
    assert_int_equal(a->calls, 1);
    assert_int_equal(a->rc, rc);
}

/* ---- tests ---- */

TEST(AS18_one_fetch_serves_all_who_wait_and_those_who_come_later)
{
    asked a, b, late;
    assert_int_equal(cw_cimd_cache_configure(cache, true, CW_STR("/ca.pem"), NULL), CW_OK);
    ask(&a, ID);
    ask_as(&b, ID, "bob");
    assert_int_equal(n_started, 1);
    assert_true(cw_str_is(running[0]->url, ID));
    assert_true(running[0]->allow_private);
    assert_string_equal(running[0]->ca_file, "/ca.pem");
    assert_int_equal(running[0]->max_bytes, 5120);
    assert_int_equal(running[0]->timeout_ms, 5000);
    assert_int_equal(a.calls + b.calls, 0);
    answer(0, 200, "{}", NO_MAX_AGE);
    assert_got(&a, "{}");
    assert_got(&b, "{}");
    ask(&late, ID);
    assert_got(&late, "{}");
    assert_int_equal(n_started, 1);
}

/* For how long a document is kept. */
static void check_kept(uint64_t max_age_s, uint64_t expected_s)
{
    asked a;
    size_t i = n_started;
    ask(&a, ID);
    answer(i, 200, "1", max_age_s);
    now_ms += expected_s * 1000 - 1;
    ask(&a, ID);
    assert_got(&a, "1");
    now_ms++;
    ask(&a, ID);
    assert_int_equal(a.calls, 0);
    answer(i + 1, 404, "", NO_MAX_AGE);
    assert_failed(&a, CW_IO);
    now_ms += CW_CIMD_CACHE_PAUSE_MS + 60000;
}

TEST(AS17_a_document_is_kept_from_five_minutes_to_a_day)
{
    check_kept(NO_MAX_AGE, 300);
    check_kept(0, 300);
    check_kept(301, 301);
    check_kept(86400, 86400);
    check_kept(UINT64_MAX - 1, 86400);
}

TEST(AS17_a_failure_is_not_kept_but_the_url_is_left_alone_for_a_while)
{
    asked a;
    for (int kind = 0; kind < 4; kind++) {
        size_t i = n_started;
        start_code = kind == 0 ? CW_PARAMS : CW_OK;
        ask(&a, ID);
        if (kind == 1)
            hang_up(i);
        else if (kind == 2)
            answer(i, 304, "{}", 1000);
        else if (kind == 3)
            answer(i, 200, "[]", 1000);
        if (kind == 3)
            cw_cimd_cache_reject(cache, CW_STR(ID), "it is a list");
        else
            assert_failed(&a, CW_IO);
        start_code = CW_OK;
        i = n_started;
        now_ms += CW_CIMD_CACHE_PAUSE_MS - 1;
        ask(&a, ID);
        assert_failed(&a, CW_IO);
        assert_int_equal(n_started, i);
        now_ms++;
        ask(&a, ID);
        assert_int_equal(n_started, i + 1);
        answer(i, 200, "2", NO_MAX_AGE);
        assert_got(&a, "2");
        now_ms += 301000;
    }
    cw_cimd_cache_reject(cache, CW_STR("https://unknown.example/"), "never seen");
}

static const char *id_of(size_t i)
{
    static char id[64];
    snprintf(id, sizeof id, "https://a.example/%zu", i);
    return id;
}

TEST(T33_an_account_has_a_share_of_the_fetches_that_run)
{
    asked all[CW_CIMD_CACHE_RUNNING], more, other;
    char account[16];
    for (size_t i = 0; i < CW_CIMD_CACHE_RUNNING; i++) {
        snprintf(account, sizeof account, "account-%zu", i / CW_CIMD_CACHE_PER_ACCOUNT);
        ask_as(&all[i], id_of(i), account);
        assert_int_equal(n_started, i + 1);
        if (i == 1) {
            ask_as(&more, id_of(100), account);
            assert_failed(&more, CW_LIMIT);
        }
    }
    ask_as(&other, id_of(101), "another");
    assert_failed(&other, CW_LIMIT);
    ask_as(&other, id_of(0), "another"); /* waits with the first */
    assert_int_equal(other.calls, 0);
    hang_up(0);
    assert_failed(&all[0], CW_IO);
    assert_failed(&other, CW_IO);
    ask_as(&other, id_of(101), "another");
    assert_int_equal(n_started, CW_CIMD_CACHE_RUNNING + 1);
    cw_cimd_cache_close(cache);
    turn();
    for (size_t i = 1; i < CW_CIMD_CACHE_RUNNING; i++)
        assert_failed(&all[i], CW_IO);
    assert_failed(&other, CW_IO);
    assert_int_equal(n_closed, 1);
    ask(&more, id_of(200));
    assert_failed(&more, CW_LIMIT);
}

TEST(AS30_an_account_causes_so_many_fetches_in_a_minute)
{
    static asked a; /* the last one is answered when the loop ends */
    for (size_t i = 0; i < CW_CIMD_CACHE_PER_MINUTE; i++) {
        ask(&a, id_of(i));
        answer(i, 200, "{}", NO_MAX_AGE);
        assert_got(&a, "{}");
    }
    ask(&a, id_of(50));
    assert_failed(&a, CW_LIMIT);
    ask(&a, id_of(3)); /* there already */
    assert_got(&a, "{}");
    ask_as(&a, id_of(50), "bob");
    assert_int_equal(n_started, CW_CIMD_CACHE_PER_MINUTE + 1);
}

TEST(the_document_that_was_not_used_for_longest_makes_room)
{
    static asked a; /* the last one is answered when the loop ends */
    asked slow;
    ask_as(&slow, id_of(9999), "patient");
    for (size_t i = 0; i < CW_CIMD_CACHE_ENTRIES; i++) {
        now_ms += 60000 / CW_CIMD_CACHE_PER_MINUTE + 1;
        running[1] = NULL;
        n_started = 1;
        ask(&a, id_of(i));
        answer(1, 200, "{}", 86400);
        assert_got(&a, "{}");
    }
    n_started = 1;
    ask(&a, id_of(1));
    assert_got(&a, "{}");
    assert_int_equal(n_started, 1);
    now_ms += 60000;
    ask(&a, id_of(0)); /* the first one had to go, the one that is being fetched not */
    assert_int_equal(n_started, 2);
    hang_up(0);
    assert_failed(&slow, CW_IO);
}

TEST(one_who_has_left_is_not_called)
{
    asked a, b;
    ask(&a, ID);
    ask_as(&b, ID, "bob");
    cw_cimd_cache_cancel(&a.waiter);
    cw_cimd_cache_cancel(&a.waiter);
    answer(0, 200, "{}", NO_MAX_AGE);
    assert_int_equal(a.calls, 0);
    assert_got(&b, "{}");
}

/* Every failure is told, and what waits is freed. */
static void use_once(void *ctx)
{
    asked a = {.waiter.fn = on_document}, b = a;
    cw_cimd_cache *own = NULL;
    (void)ctx;
    n_started = 0;
    if (cw_cimd_cache_new(&loop, &own, NULL))
        return;
    (void)!cw_cimd_cache_configure(own, false, CW_STR("/ca.pem"), NULL);
    cw_cimd_cache_find(own, &loop, CW_STR(ID), CW_STR("alice"), &a.waiter);
    cw_cimd_cache_find(own, &loop, CW_STR(ID), CW_STR("bob"), &b.waiter);
    turn();
    if (n_started)
        answer(0, 200, "{}", NO_MAX_AGE);
    turn();
    assert_int_equal(a.calls, 1);
    assert_int_equal(b.calls, 1);
    assert_true(a.rc == CW_OK || (oom_was_hit() && a.rc == CW_NOMEM));
    assert_true(b.rc == CW_OK || (oom_was_hit() && b.rc == CW_NOMEM));
    cw_cimd_cache_close(own);
    cw_cimd_cache_free(own);
}

TEST(every_failed_allocation_is_reported)
{
    assert_true(oom_each(use_once, NULL) >= 8);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(AS18_one_fetch_serves_all_who_wait_and_those_who_come_later),
        T(AS17_a_document_is_kept_from_five_minutes_to_a_day),
        T(AS17_a_failure_is_not_kept_but_the_url_is_left_alone_for_a_while),
        T(T33_an_account_has_a_share_of_the_fetches_that_run),
        T(AS30_an_account_causes_so_many_fetches_in_a_minute),
        T(the_document_that_was_not_used_for_longest_makes_room),
        T(one_who_has_left_is_not_called),
        T(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
