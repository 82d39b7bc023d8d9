/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <malloc.h>

#include "access/issuer/token_cache.c" /* NOLINT(bugprone-suspicious-include) */
#include "support/oom.h"
#include "support/test.h"

#define WALL INT64_C(1800000000000)

static cw_token_cache *cache;
static size_t live; /* values that the cache holds a reference to */
static cw_cache_time now;

static void give_back(void *value)
{
    assert_true(live > 0);
    live--;
    free(value);
}

static void *make_value(size_t n)
{
    live++;
    return calloc(1, n);
}

static void start(size_t entries, size_t bytes)
{
    const cw_token_cache_opts opts = {entries, bytes, 10000, 1000, give_back, NULL, NULL};
    assert_int_equal(cw_token_cache_new(&opts, &cache, NULL), CW_OK);
}

SETUP(setup)
{
    live = 0;
    now = (cw_cache_time){.rights = 1, .keys = 1, .now_ms = 5000, .wall_ms = WALL};
    return cw_secret_init(NULL);
}

TEARDOWN(teardown)
{
    cw_token_cache_free(cache);
    cache = NULL;
    return live == 0 ? 0 : -1;
}

static void key_of(unsigned i, unsigned char key[CW_DIGEST])
{
    char token[32];
    snprintf(token, sizeof token, "token %u", i);
    cw_secret_digest(cw_str_from(token), key);
}

static void add(unsigned i, size_t bytes, int64_t expires_ms)
{
    unsigned char key[CW_DIGEST];
    key_of(i, key);
    cw_token_cache_add(cache, key, &now, make_value(8), bytes, expires_ms);
}

static cw_token_found look_up(unsigned i)
{
    unsigned char key[CW_DIGEST];
    void *value = NULL;
    key_of(i, key);
    cw_token_found found = cw_token_cache_find(cache, key, &now, &value);
    assert_int_equal(value != NULL, found == CW_TOKEN_GOOD);
    return found;
}

static void refuse(unsigned i)
{
    unsigned char key[CW_DIGEST];
    key_of(i, key);
    cw_token_cache_refuse(cache, key, &now);
}

TEST(what_was_added_is_found)
{
    unsigned char key[CW_DIGEST];
    void *value = make_value(8), *found = NULL;
    start(4, 0);
    key_of(1, key);
    assert_int_equal(look_up(1), CW_TOKEN_UNKNOWN);
    cw_token_cache_add(cache, key, &now, value, 8, WALL + 60000);
    assert_int_equal(cw_token_cache_find(cache, key, &now, &found), CW_TOKEN_GOOD);
    assert_ptr_equal(found, value);
    assert_int_equal(look_up(2), CW_TOKEN_UNKNOWN);
    /* Another value for the same token takes its place. */
    add(1, 5, WALL + 60000);
    assert_int_equal(cache->n, 1);
    assert_int_equal(cache->bytes, 5);
    assert_int_equal(live, 1);
}

TEST(nothing_outlives_its_token)
{
    start(4, 0);
    add(1, 1, WALL + 3000);
    now.wall_ms += 2999;
    now.now_ms += 2999;
    assert_int_equal(look_up(1), CW_TOKEN_GOOD);
    now.wall_ms++;
    assert_int_equal(look_up(1), CW_TOKEN_UNKNOWN);
    assert_int_equal(live, 0);
    /* One that has expired is not even kept. */
    add(2, 1, now.wall_ms);
    assert_int_equal(live, 0);
    assert_int_equal(look_up(2), CW_TOKEN_UNKNOWN);
}

TEST(nothing_outlives_the_maximum_whatever_the_wall_clock_says)
{
    start(4, 0);
    add(1, 1, WALL + 100000000);
    now.now_ms += 9999;
    assert_int_equal(look_up(1), CW_TOKEN_GOOD);
    now.now_ms++;
    now.wall_ms -= 1000000;
    assert_int_equal(look_up(1), CW_TOKEN_UNKNOWN);
}

TEST(other_rights_forget)
{
    start(4, 0);
    add(1, 1, WALL + 60000);
    refuse(2);
    now.rights = 2;
    assert_int_equal(look_up(1), CW_TOKEN_UNKNOWN);
    assert_int_equal(look_up(2), CW_TOKEN_UNKNOWN);
    now.rights = 1;
    assert_int_equal(look_up(1), CW_TOKEN_UNKNOWN);
}

TEST(other_keys_forget_only_rejected_tokens)
{
    start(4, 0);
    add(1, 1, WALL + 60000);
    refuse(2);
    now.keys = 2;
    assert_int_equal(look_up(1), CW_TOKEN_GOOD);
    assert_int_equal(look_up(2), CW_TOKEN_UNKNOWN);
}

TEST(the_one_used_longest_ago_goes)
{
    start(3, 0);
    for (unsigned i = 1; i <= 3; i++)
        add(i, 1, WALL + 60000);
    assert_int_equal(look_up(1), CW_TOKEN_GOOD);
    add(4, 1, WALL + 60000);
    assert_int_equal(look_up(2), CW_TOKEN_UNKNOWN);
    assert_int_equal(look_up(1), CW_TOKEN_GOOD);
    assert_int_equal(look_up(3), CW_TOKEN_GOOD);
    assert_int_equal(look_up(4), CW_TOKEN_GOOD);
    assert_int_equal(live, 3);
}

TEST(bytes_have_a_ceiling)
{
    start(100, 1000);
    for (unsigned i = 0; i < 10; i++)
        add(i, 100, WALL + 60000);
    assert_int_equal(cache->bytes, 1000);
    add(10, 250, WALL + 60000);
    assert_int_equal(cache->bytes, 950);
    assert_int_equal(look_up(2), CW_TOKEN_UNKNOWN);
    assert_int_equal(look_up(3), CW_TOKEN_GOOD);
    /* What fits nowhere costs nobody its place. */
    add(11, 1001, WALL + 60000);
    assert_int_equal(cache->n, 8);
    add(12, 1000, WALL + 60000);
    assert_int_equal(cache->n, 1);
}

TEST(refusals_are_short)
{
    start(4, 0);
    refuse(1);
    assert_int_equal(look_up(1), CW_TOKEN_BAD);
    now.now_ms += 999;
    assert_int_equal(look_up(1), CW_TOKEN_BAD);
    now.now_ms++;
    assert_int_equal(look_up(1), CW_TOKEN_UNKNOWN);
    /* The later verdict counts. */
    refuse(1);
    add(1, 1, WALL + 60000);
    assert_int_equal(look_up(1), CW_TOKEN_GOOD);
    refuse(1);
    assert_int_equal(look_up(1), CW_TOKEN_BAD);
    assert_int_equal(live, 0);
}

/* 100,000 different tokens do not grow memory past the ceiling. */
TEST(very_many_tokens_do_not_grow_it)
{
    start(1000, 64000);
    for (unsigned i = 0; i < 1000; i++)
        add(i, 64, WALL + 60000);
    size_t before = mallinfo2().uordblks, allocations = oom_live();
    for (unsigned i = 0; i < 100000; i++) {
        add(i, 64, WALL + 60000);
        refuse(200000 + i);
        assert_true(cache->n <= 1000);
        assert_true(live <= 1000);
    }
    assert_int_equal(oom_live(), allocations);
    assert_true(mallinfo2().uordblks <= before + 4096);
    assert_int_equal(look_up(99999), CW_TOKEN_GOOD);
    assert_int_equal(look_up(99000), CW_TOKEN_GOOD);
    assert_int_equal(look_up(98999), CW_TOKEN_UNKNOWN);
    /* Of the refusals about as many are known as there are places. */
    unsigned known = 0;
    for (unsigned i = 0; i < 100000; i++)
        known += look_up(200000 + i) == CW_TOKEN_BAD;
    assert_true(known > 100 && known <= CW_TOKEN_CACHE_REFUSED);
}

/* Against a simple model: an array in the order of use. */
TEST(it_behaves_like_its_model)
{
    unsigned model[8], n = 0;
    uint32_t random = 1;
    start(8, 0);
    for (unsigned step = 0; step < 20000; step++) {
        random = random * 1664525u + 1013904223u;
        unsigned token = (random >> 16) % 16, at = 0;
        while (at < n && model[at] != token)
            at++;
        bool is_add = (random >> 28) % 2, is_in = at < n;
        if (is_add)
            add(token, 1, WALL + 60000);
        else
            assert_int_equal(look_up(token), is_in ? CW_TOKEN_GOOD : CW_TOKEN_UNKNOWN);
        if (!is_add && !is_in)
            continue;
        if (!is_in)
            at = n < 8 ? n++ : 7;
        memmove(model + 1, model, at * sizeof *model);
        model[0] = token;
        assert_int_equal(cache->n, n);
    }
}

static void make_once(void *ctx)
{
    cw_token_cache *c = NULL;
    const cw_token_cache_opts opts = {.max_entries = 10, .unref = give_back};
    (void)ctx;
    cw_code rc = cw_token_cache_new(&opts, &c, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_token_cache_free(c);
}

TEST(making_it_survives_failed_allocations)
{
    const cw_token_cache_opts opts = {.max_entries = CW_TOKEN_CACHE_MAX_ENTRIES + 1,
                                      .unref = give_back};
    assert_int_equal(oom_each(make_once, NULL), 3);
    assert_int_equal(cw_token_cache_new(&opts, &cache, NULL), CW_LIMIT);
    assert_null(cache);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(what_was_added_is_found),
        T(nothing_outlives_its_token),
        T(nothing_outlives_the_maximum_whatever_the_wall_clock_says),
        T(other_rights_forget),
        T(other_keys_forget_only_rejected_tokens),
        T(the_one_used_longest_ago_goes),
        T(bytes_have_a_ceiling),
        T(refusals_are_short),
        T(very_many_tokens_do_not_grow_it),
        T(it_behaves_like_its_model),
        T(making_it_survives_failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
