/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_list.c - the ring of embedded nodes. */
#include "base/list.h"

#include "support/test.h"

typedef struct item {
    char name;
    cw_list node;
} item;

static cw_list list;
static item a, b, c;

SETUP(set_up)
{
    cw_list_init(&list);
    a = (item){.name = 'a'};
    b = (item){.name = 'b'};
    c = (item){.name = 'c'};
    cw_list_add(&list, &a.node);
    cw_list_add(&list, &b.node);
    cw_list_add(&list, &c.node);
    return 0;
}

static void expect(cw_list *which, const char *names)
{
    char forward[8] = "", backward[8] = "";
    size_t n = 0;
    CW_LIST_EACH (node, which)
        forward[n++] = CW_CONTAINER(node, item, node)->name;
    assert_string_equal(forward, names);
    for (cw_list *node = which->prev; node != which; node = node->prev)
        backward[--n] = CW_CONTAINER(node, item, node)->name;
    assert_string_equal(backward, names);
}

TEST(nodes_are_added_at_the_end_at_the_start_and_between)
{
    expect(&list, "abc");
    cw_list_remove(&c.node);
    cw_list_add_first(&list, &c.node);
    expect(&list, "cab");
    cw_list_remove(&c.node);
    cw_list_add(&b.node, &c.node);
    expect(&list, "acb");
}

TEST(a_removed_node_is_in_no_list_and_may_be_removed_again)
{
    assert_true(cw_list_is_in(&b.node));
    cw_list_remove(&b.node);
    cw_list_remove(&b.node);
    assert_false(cw_list_is_in(&b.node));
    expect(&list, "ac");
}

TEST(the_first_is_taken_until_the_list_is_empty)
{
    assert_ptr_equal(cw_list_take_first(&list), &a.node);
    assert_ptr_equal(cw_list_take_first(&list), &b.node);
    assert_false(cw_list_is_empty(&list));
    assert_ptr_equal(cw_list_take_first(&list), &c.node);
    assert_true(cw_list_is_empty(&list));
    assert_null(cw_list_take_first(&list));
}

TEST(a_node_may_be_removed_while_all_are_visited)
{
    CW_LIST_EACH_SAFE (node, &list) {
        if (node != &b.node)
            cw_list_remove(node);
    }
    expect(&list, "b");
}

TEST(the_first_nodes_move_in_order)
{
    cw_list other;
    cw_list_init(&other);
    cw_list_move(&list, &a.node, &other);
    expect(&list, "abc");
    expect(&other, "");
    cw_list_move(&list, &c.node, &other);
    expect(&list, "c");
    expect(&other, "ab");
}

TEST(all_nodes_move_in_order)
{
    cw_list other;
    cw_list_init(&other);
    cw_list_move(&list, &list, &other);
    expect(&list, "");
    expect(&other, "abc");
}

#define LIST_TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIST_TEST(nodes_are_added_at_the_end_at_the_start_and_between),
        LIST_TEST(a_removed_node_is_in_no_list_and_may_be_removed_again),
        LIST_TEST(the_first_is_taken_until_the_list_is_empty),
        LIST_TEST(a_node_may_be_removed_while_all_are_visited),
        LIST_TEST(the_first_nodes_move_in_order),
        LIST_TEST(all_nodes_move_in_order),
    };
    return cmocka_run_group_tests_name("base/list", tests, NULL, NULL);
}
