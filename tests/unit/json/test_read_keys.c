/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <time.h>

#include "support/json_fixture.h"
#include "support/oom.h"

/* {"k0":0,"k1":1,...} with `again` once more at the end, unless it is negative. */
static void write_object(cw_buf *b, int members, int again)
{
    cw_buf_clear(b);
    cw_buf_add_char(b, '{');
    for (int i = 0; i < members; i++)
        cw_buf_printf(b, "%s\"k%d\":%d", i ? "," : "", i, i);
    if (again >= 0)
        cw_buf_printf(b, ",\"k%d\":null", again);
    cw_buf_add_char(b, '}');
}

TEST_WITH(a_duplicate_is_found_whatever_the_size_and_place, cw_arena *a)
{
    cw_buf b;
    cw_buf_init(&b, 1u << 20);
    const cw_json *root;
    static const int sizes[] = {1, 2, 3, 8, 16, 31, 32, 33, 34, 64, 95, 96, 97, 98, 200, 1000};
    for (size_t i = 0; i < CW_COUNT(sizes); i++) {
        write_object(&b, sizes[i], -1);
        assert_int_equal(try_read(a, cw_buf_str(&b), NULL, &root), CW_OK);
        assert_int_equal(cw_json_count(root), sizes[i]);
        for (int again = 0; again < sizes[i]; again += 1 + sizes[i] / 40) {
            write_object(&b, sizes[i], again);
            assert_int_equal(try_read(a, cw_buf_str(&b), NULL, &root), CW_PARSE);
        }
        cw_arena_reset(a);
    }
    cw_buf_done(&b);
}

TEST_WITH(only_keys_of_the_same_object_count, cw_arena *a)
{
    must_read(a, "{\"a\":{\"a\":{\"a\":[{\"a\":1},{\"a\":2}]}}}");
    must_read(a, "[{\"a\":1},{\"a\":1}]");
    must_read(a, "{\"a\":\"b\",\"b\":\"a\"}");
    const cw_json *root;
    assert_int_equal(try_read(a, CW_STR("{\"a\":{\"b\":1,\"c\":{}},\"a\":1}"), NULL, &root),
                     CW_PARSE);
    assert_int_equal(try_read(a, CW_STR("{\"x\":{\"b\":1,\"b\":2}}"), NULL, &root), CW_PARSE);
    assert_int_equal(try_read(a, CW_STR("{\"\":1,\"\":2}"), NULL, &root), CW_PARSE);
}

TEST_WITH(keys_differ_by_every_byte, cw_arena *a)
{
    /* Same length, same ends: only the comparison tells them apart. */
    must_read(a, "{\"aaaaaaaaXaaaaaaaa\":1,\"aaaaaaaaYaaaaaaaa\":2}");
    must_read(a, "{\"a\":1,\"a\\u0000\":2,\"A\":3,\"\":4}");
    /* No normalisation: one composed, one decomposed. */
    must_read(a, "{\"\xC3\xA9\":1,\"e\xCC\x81\":2}");
}

TEST_WITH(duplicates_are_kept_when_allowed_and_the_last_wins, cw_arena *a)
{
    const cw_json_opts opts = {.allow_duplicates = true};
    const cw_json *v = must_read_opts(a, CW_STR("{\"a\":1,\"b\":2,\"a\":3,\"c\":4}"), &opts);
    assert_int_equal(cw_json_count(v), 4);
    assert_str(text_of(cw_json_get(v, CW_STR("a"))), "3");
    assert_str(text_of(cw_json_get(v, CW_STR("b"))), "2");
    assert_str(text_of(cw_json_pointer(v, CW_STR("/a"))), "3");
}

TEST_WITH(several_members_are_found_in_one_walk, cw_arena *a)
{
    const cw_str names[] = {CW_STR_INIT("params"), CW_STR_INIT("method"), CW_STR_INIT("id"),
                            CW_STR_INIT("result")};
    const cw_json_opts opts = {.allow_duplicates = true};
    const cw_json *found[CW_COUNT(names)];
    const char *text = "{\"id\":1,\"other\":{\"id\":2},\"method\":\"m\",\"params\":[3],\"x\":4}";
    cw_json_get_all(must_read(a, text), names, CW_COUNT(names), found);
    assert_str(text_of(found[0]), "[3]");
    assert_str(text_of(found[1]), "m");
    assert_str(text_of(found[2]), "1");
    assert_null(found[3]);
    const cw_json *v = must_read_opts(a, CW_STR("{\"id\":1,\"id\":2}"), &opts);
    cw_json_get_all(v, names, CW_COUNT(names), found);
    assert_str(text_of(found[2]), "2");
    /* What is no object has none of them. */
    cw_json_get_all(must_read(a, "[\"id\",1]"), names, CW_COUNT(names), found);
    assert_null(found[2]);
    found[2] = v;
    cw_json_get_all(NULL, names, CW_COUNT(names), found);
    assert_null(found[2]);
}

/* Large objects inside large ones and one after the other share tables without mixing keys. */
TEST_WITH(nested_large_objects_do_not_mix, cw_arena *a)
{
    cw_buf inner;
    cw_buf outer;
    cw_buf_init(&inner, 1u << 20);
    cw_buf_init(&outer, 8u << 20);
    const cw_json *root;
    for (int again = -1; again < 40; again += 8) {
        cw_buf_clear(&outer);
        cw_buf_add_char(&outer, '{');
        for (int i = 0; i < 120; i++) {
            write_object(&inner, i == 60 ? 500 : 40, i == 119 ? again : -1);
            cw_buf_printf(&outer, "%s\"k%d\":", i ? "," : "", i);
            cw_buf_add(&outer, cw_buf_str(&inner));
        }
        cw_buf_add_char(&outer, '}');
        assert_int_equal(try_read(a, cw_buf_str(&outer), NULL, &root),
                         again < 0 ? CW_OK : CW_PARSE);
        cw_arena_reset(a);
    }
    cw_buf_done(&inner);
    cw_buf_done(&outer);
}

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

TEST_WITH(threat_B3_chosen_collisions_cost_nothing, cw_arena *a)
{
    /* The unseeded hash looks at eight bytes on either side: all of these collide in it. */
    enum { N = 100000 };
    cw_buf b;
    cw_buf_init(&b, 16u << 20);
    for (int i = 0; i < N; i++)
        cw_buf_printf(&b, "%c\"aaaaaaaa%08dzzzzzzzz\":0", i ? ',' : '{', i);
    cw_buf_add_char(&b, '}');
    const cw_json_opts opts = {.max_members = N};
    cw_str text = exact_copy(a, cw_buf_str(&b));
    cw_buf_done(&b);
    const cw_json *root;
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        double start = milliseconds();
        assert_int_equal(cw_json_read(text, &opts, a, &root, NULL, NULL), CW_OK);
        double spent = milliseconds() - start;
        best = spent < best ? spent : best;
    }
    assert_int_equal(cw_json_count(root), N);
    print_message("[          ] %d colliding keys: %.1f ms\n", N, best);
    assert_true(best < (IS_SANITIZED ? 500 : 50));
}

static void read_large_object(void *ctx)
{
    cw_arena a;
    cw_arena_init(&a, TEST_ARENA_MAX);
    const cw_json *root;
    cw_code rc = cw_json_read(*(cw_str *)ctx, NULL, &a, &root, NULL, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_arena_done(&a);
}

TEST(tables_survive_every_failed_allocation)
{
    cw_buf b;
    cw_buf_init(&b, 1u << 20);
    write_object(&b, 2000, -1);
    cw_str text = cw_buf_str(&b);
    assert_true(oom_each(read_large_object, &text) >= 4);

    cw_arena small;
    cw_arena_init(&small, 70000);
    const cw_json *root;
    assert_int_equal(cw_json_read(text, NULL, &small, &root, NULL, NULL), CW_LIMIT);
    cw_arena_done(&small);
    cw_buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        arena_test(a_duplicate_is_found_whatever_the_size_and_place),
        arena_test(only_keys_of_the_same_object_count),
        arena_test(keys_differ_by_every_byte),
        arena_test(duplicates_are_kept_when_allowed_and_the_last_wins),
        arena_test(several_members_are_found_in_one_walk),
        arena_test(nested_large_objects_do_not_mix),
        arena_test(threat_B3_chosen_collisions_cost_nothing),
        cmocka_unit_test(tables_survive_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
