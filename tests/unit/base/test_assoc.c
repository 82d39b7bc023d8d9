/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_assoc.c - the set-associative table. */
#include "base/assoc.h"

#include "support/test.h"

typedef struct entry {
    unsigned key;
    uint64_t used; /* 0: free */
} entry;

static bool matches(const void *e, const void *key)
{
    return ((const entry *)e)->used && ((const entry *)e)->key == *(const unsigned *)key;
}

static uint64_t age_of(const void *e)
{
    return ((const entry *)e)->used;
}

static const cw_assoc table = {sizeof(entry), 8, 4, matches, age_of};
static entry entries[8];
static uint64_t tick;

/* The key is its own hash: keys of equal parity share a set. */
static entry *find(unsigned key)
{
    return cw_assoc_find(&table, entries, key, &key);
}

static entry *add(unsigned key)
{
    entry *e = cw_assoc_victim(&table, entries, key);
    *e = (entry){key, ++tick};
    return e;
}

SETUP(set_up)
{
    memset(entries, 0, sizeof entries);
    tick = 0;
    return 0;
}

TEST(an_entry_is_found_by_its_key)
{
    assert_null(find(2));
    entry *two = add(2), *four = add(4), *three = add(3);
    assert_ptr_equal(find(2), two);
    assert_ptr_equal(find(4), four);
    assert_ptr_equal(find(3), three);
    assert_null(find(6));
}

TEST(entries_of_other_sets_are_not_replaced)
{
    entry *one = add(1);
    for (unsigned key = 2; key <= 20; key += 2)
        add(key);
    assert_ptr_equal(find(1), one);
    assert_int_equal(one->key, 1);
}

TEST(a_full_set_replaces_its_oldest_entry)
{
    for (unsigned key = 2; key <= 8; key += 2)
        add(key);
    assert_ptr_equal(find(2), &entries[0]);
    entries[0].used = ++tick;
    add(10);
    assert_non_null(find(2));
    assert_null(find(4));
    assert_non_null(find(10));
}

TEST(a_free_entry_is_used_before_any_is_replaced)
{
    for (unsigned key = 2; key <= 8; key += 2)
        add(key);
    entry *six = &entries[2]; /* the third of its set */
    assert_ptr_equal(find(6), six);
    six->used = 0;
    assert_null(find(6));
    assert_ptr_equal(add(10), six);
    assert_non_null(find(2));
}

#define ASSOC_TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ASSOC_TEST(an_entry_is_found_by_its_key),
        ASSOC_TEST(entries_of_other_sets_are_not_replaced),
        ASSOC_TEST(a_full_set_replaces_its_oldest_entry),
        ASSOC_TEST(a_free_entry_is_used_before_any_is_replaced),
    };
    return cmocka_run_group_tests_name("base/assoc", tests, NULL, NULL);
}
