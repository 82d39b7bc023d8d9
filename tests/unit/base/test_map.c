/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The map is included as source, so that the hash can be tested with a known key and entries with a
 * chosen hash. */
#include "base/map.c" /* NOLINT(bugprone-suspicious-include) */
#include "support/oom.h"
#include "support/test.h"

/* Expected values: SipHash-1-3 with a zero key from another implementation. */
TEST(hash_is_siphash13)
{
    assert_true(siphash13(0, 0, CW_STR("a")) == UINT64_C(0x407448d2b89b1813));
    assert_true(siphash13(0, 0, CW_STR("ab")) == UINT64_C(0x555508cbc6add439));
    assert_true(siphash13(0, 0, CW_STR("abc")) == UINT64_C(0xc03bc3a0042630f2));
    assert_true(siphash13(0, 0, CW_STR("abcdefg")) == UINT64_C(0x6db12aae9070f506));
    assert_true(siphash13(0, 0, CW_STR("abcdefgh")) == UINT64_C(0x3f7b849c0b8e35ea));
    assert_true(siphash13(0, 0, CW_STR("abcdefghi")) == UINT64_C(0xf89b34a3d11eb6e5));
    assert_true(siphash13(0, 0, CW_STR("tools/list")) == UINT64_C(0x9d7b1680083acc92));
    assert_true(siphash13(1, 0, CW_STR("abc")) != siphash13(0, 0, CW_STR("abc")));
    assert_true(siphash13(0, 1, CW_STR("abc")) != siphash13(0, 0, CW_STR("abc")));
}

TEST(the_key_of_the_process_is_secret_and_stable)
{
    assert_true(cw_hash(CW_STR("x")) == cw_hash(CW_STR("x")));
    assert_true(cw_hash(CW_STR("")) == cw_hash((cw_str){NULL, 0}));
    assert_true(secret.k0 != 0 && secret.k1 != 0);
    assert_true(secret.k0 != secret.k1);
}

TEST(put_finds_replaces_and_removes)
{
    cw_map m;
    char one, two;
    void *old = &m;
    cw_map_init(&m, 10);
    assert_null(cw_map_find(&m, CW_STR("a")));
    assert_null(cw_map_remove(&m, CW_STR("a")));
    assert_int_equal(cw_map_put(&m, CW_STR("a"), &one, &old), CW_OK);
    assert_null(old);
    assert_ptr_equal(cw_map_find(&m, CW_STR("a")), &one);
    assert_int_equal(cw_map_put(&m, CW_STR("a"), &two, &old), CW_OK);
    assert_ptr_equal(old, &one);
    assert_int_equal(m.n, 1);
    assert_int_equal(cw_map_put(&m, CW_STR("a"), &two, NULL), CW_OK);
    assert_ptr_equal(cw_map_remove(&m, CW_STR("a")), &two);
    assert_null(cw_map_remove(&m, CW_STR("a")));
    assert_int_equal(m.n, 0);
    cw_map_done(&m);
    cw_map_done(&m);
}

TEST(keys_are_bytes)
{
    cw_map m;
    char v[4];
    cw_map_init(&m, 10);
    assert_int_equal(cw_map_put(&m, (cw_str){NULL, 0}, &v[0], NULL), CW_OK);
    assert_int_equal(cw_map_put(&m, CW_STR("\0"), &v[1], NULL), CW_OK);
    assert_int_equal(cw_map_put(&m, CW_STR("a\0b"), &v[2], NULL), CW_OK);
    assert_int_equal(cw_map_put(&m, CW_STR("a"), &v[3], NULL), CW_OK);
    assert_int_equal(m.n, 4);
    assert_ptr_equal(cw_map_find(&m, CW_STR("")), &v[0]);
    assert_ptr_equal(cw_map_find(&m, CW_STR("\0")), &v[1]);
    assert_ptr_equal(cw_map_find(&m, CW_STR("a\0b")), &v[2]);
    assert_ptr_equal(cw_map_remove(&m, CW_STR("")), &v[0]);
    assert_null(cw_map_find(&m, CW_STR("")));
    cw_map_done(&m);
}

TEST(entry_ceiling_refuses_new_keys_only)
{
    cw_map m;
    char v;
    cw_map_init(&m, 2);
    assert_int_equal(cw_map_put(&m, CW_STR("a"), &v, NULL), CW_OK);
    assert_int_equal(cw_map_put(&m, CW_STR("b"), &v, NULL), CW_OK);
    assert_int_equal(cw_map_put(&m, CW_STR("c"), &v, NULL), CW_LIMIT);
    assert_int_equal(cw_map_put(&m, CW_STR("a"), &m, NULL), CW_OK);
    assert_ptr_equal(cw_map_find(&m, CW_STR("a")), &m);
    cw_map_remove(&m, CW_STR("a"));
    assert_int_equal(cw_map_put(&m, CW_STR("c"), &v, NULL), CW_OK);
    assert_int_equal(m.n, 2);
    cw_map_done(&m);
    cw_map_init(&m, 0);
    assert_int_equal(cw_map_put(&m, CW_STR("a"), &v, NULL), CW_LIMIT);
    cw_map_done(&m);
}

/* Keys in an array, a flag each for what the map must hold. */
enum { MODEL = 2000 };
static char keys[MODEL][12];
static bool present[MODEL];

static void check_model(const cw_map *m)
{
    size_t n = 0;
    for (size_t i = 0; i < MODEL; i++) {
        void *expected = present[i] ? &keys[i] : NULL;
        if (cw_map_find(m, cw_str_from(keys[i])) != expected)
            fail_msg("%s: expected %s", keys[i], expected ? "present" : "absent");
        n += present[i];
    }
    assert_int_equal(m->n, n);
    size_t pos = 0;
    size_t seen = 0;
    const cw_map_entry *e;
    while ((e = cw_map_next(m, &pos))) {
        assert_ptr_equal(e->key.p, e->value);
        seen++;
    }
    assert_int_equal(seen, n);
    assert_null(cw_map_next(m, &pos));
}

TEST(random_changes_agree_with_a_model)
{
    cw_map m;
    uint32_t rnd = 12345;
    cw_map_init(&m, MODEL);
    memset(present, 0, sizeof(present));
    for (size_t i = 0; i < MODEL; i++)
        snprintf(keys[i], sizeof(keys[i]), "key%zu", i);
    for (int step = 0; step < 60000; step++) {
        rnd = rnd * 1664525 + 1013904223;
        size_t i = (rnd >> 8) % MODEL;
        cw_str key = cw_str_from(keys[i]);
        /* Growing and shrinking phases, so that runs build up and break. */
        if ((rnd >> 28) < (step / 10000 % 2 ? 5u : 11u)) {
            void *old;
            assert_int_equal(cw_map_put(&m, key, &keys[i], &old), CW_OK);
            assert_ptr_equal(old, present[i] ? &keys[i] : NULL);
            present[i] = true;
        } else {
            assert_ptr_equal(cw_map_remove(&m, key), present[i] ? &keys[i] : NULL);
            present[i] = false;
        }
        assert_true(m.n <= m.cap / 4 * 3);
        if (step % 5000 == 0)
            check_model(&m);
    }
    check_model(&m);
    cw_map_done(&m);
}

/* Six entries in eight slots, with homes 5, 6, 7 and 0 as two bits each of `homes` say; one is
 * removed, and only that one may be gone. */
static void remove_from_run(unsigned homes, unsigned victim)
{
    enum { N = 6 };
    cw_map_entry slots[8] = {0};
    cw_map m = {.slots = slots, .cap = 8, .max = 8};
    uint64_t hash[N];
    char names[N];
    for (unsigned i = 0; i < N; i++) {
        names[i] = (char)('a' + i);
        /* The higher bits make the hashes different. */
        hash[i] = ((homes >> (2 * i) & 3) + 5) % 8 + 8u * i;
        size_t at = probe(&m, cw_str_make(&names[i], 1), hash[i]);
        slots[at] = (cw_map_entry){cw_str_make(&names[i], 1), &names[i], hash[i]};
    }
    shift_back(&m, probe(&m, cw_str_make(&names[victim], 1), hash[victim]));
    for (unsigned i = 0; i < N; i++) {
        const cw_map_entry *e = &slots[probe(&m, cw_str_make(&names[i], 1), hash[i])];
        if ((e->key.p == NULL) != (i == victim))
            fail_msg("homes %x, %u removed, %u is wrong", homes, victim, i);
    }
}

TEST(removal_closes_every_kind_of_run)
{
    for (unsigned homes = 0; homes < 1u << 12; homes++)
        for (unsigned victim = 0; victim < 6; victim++)
            remove_from_run(homes, victim);
}

/* Names that differ in little, as a client would send to slow the map down: the longest way to a
 * key must stay short. */
TEST(a_flood_of_similar_keys_stays_spread)
{
    enum { FLOOD = 50000 };
    static char names[FLOOD][24];
    cw_map m;
    cw_map_init(&m, FLOOD);
    for (size_t i = 0; i < FLOOD; i++) {
        snprintf(names[i], sizeof(names[i]), "%08zx", i << 12);
        assert_int_equal(cw_map_put(&m, cw_str_from(names[i]), names[i], NULL), CW_OK);
    }
    assert_int_equal(cw_map_put(&m, CW_STR("one more"), names, NULL), CW_LIMIT);
    size_t total = 0;
    size_t longest = 0;
    for (size_t i = 0; i < m.cap; i++) {
        if (!m.slots[i].key.p)
            continue;
        size_t way = (i - m.slots[i].hash) & (m.cap - 1);
        total += way;
        longest = way > longest ? way : longest;
    }
    /* At 3/4 full linear probing has a mean of 1.5 steps. */
    assert_true(total < 3 * (size_t)FLOOD);
    assert_true(longest < 500);
    for (size_t i = 0; i < FLOOD; i++)
        assert_ptr_equal(cw_map_remove(&m, cw_str_from(names[i])), names[i]);
    assert_int_equal(m.n, 0);
    cw_map_done(&m);
}

static void fill_once(void *ctx)
{
    cw_map m;
    cw_map_init(&m, 100);
    size_t n = 0;
    for (size_t i = 0; i < 100; i++) {
        cw_code rc = cw_map_put(&m, cw_str_from(keys[i]), ctx, NULL);
        assert_true(rc == CW_OK || (rc == CW_NOMEM && oom_was_hit()));
        if (rc != CW_OK)
            break;
        n++;
    }
    assert_int_equal(m.n, n);
    assert_int_equal(n == 100, !oom_was_hit());
    for (size_t i = 0; i < n; i++)
        assert_ptr_equal(cw_map_find(&m, cw_str_from(keys[i])), ctx);
    cw_map_done(&m);
}

TEST(every_failed_allocation_keeps_the_entries)
{
    char value;
    assert_int_equal(oom_each(fill_once, &value), 6);
}

TEST(a_seed_is_taken_over_only_before_the_first_hash)
{
    uint64_t own[2], other[2];
    (void)cw_hash(CW_STR("x"));
    cw_hash_secret(own);
    assert_true(own[0] || own[1]);
    assert_true(cw_hash_use_secret(own));
    other[0] = own[0] + 1;
    other[1] = own[1];
    assert_false(cw_hash_use_secret(other));
    cw_hash_secret(other);
    assert_int_equal(other[0], own[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_is_siphash13),
        cmocka_unit_test(the_key_of_the_process_is_secret_and_stable),
        cmocka_unit_test(put_finds_replaces_and_removes),
        cmocka_unit_test(keys_are_bytes),
        cmocka_unit_test(entry_ceiling_refuses_new_keys_only),
        cmocka_unit_test(random_changes_agree_with_a_model),
        cmocka_unit_test(removal_closes_every_kind_of_run),
        cmocka_unit_test(a_flood_of_similar_keys_stays_spread),
        cmocka_unit_test(every_failed_allocation_keeps_the_entries),
        cmocka_unit_test(a_seed_is_taken_over_only_before_the_first_hash),
    };
    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
