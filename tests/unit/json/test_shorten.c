/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/shorten.h"
#include "support/json_fixture.h"

typedef struct shortened {
    cw_buf out, place;
    cw_json_shortened is;
    bool fits;
} shortened;

static void shorten(cw_arena *a, const char *text, size_t max, shortened *s)
{
    const cw_json *v = must_read(a, text);
    cw_buf_init(&s->out, CW_BUF_MAX);
    cw_buf_init(&s->place, CW_BUF_MAX);
    s->fits = cw_json_shorten(v, max, &s->out, &s->place, &s->is);
    if (!s->fits)
        return;
    const cw_json *again;
    assert_true(s->out.n <= max);
    assert_int_equal(cw_json_read(cw_buf_str(&s->out), NULL, a, &again, NULL, NULL), CW_OK);
}

static void shortened_done(shortened *s)
{
    cw_buf_done(&s->out);
    cw_buf_done(&s->place);
}

static void assert_shortened(cw_arena *a, const char *text, size_t max, const char *out,
                             const char *place, cw_json_shortened is)
{
    shortened s;
    shorten(a, text, max, &s);
    assert_true(s.fits);
    assert_str(cw_buf_str(&s.out), out);
    assert_str(cw_buf_str(&s.place), place);
    assert_int_equal(s.is.type, is.type);
    assert_int_equal(s.is.shown, is.shown);
    assert_int_equal(s.is.total, is.total);
    shortened_done(&s);
}

TEST_WITH(a_list_loses_its_last_elements, cw_arena *a)
{
    assert_shortened(a, "[10,20,30,40]", 7, "[10,20]", "",
                     (cw_json_shortened){CW_JSON_ARRAY, 2, 4});
    assert_shortened(a, "[10,20,30,40]", 8, "[10,20]", "",
                     (cw_json_shortened){CW_JSON_ARRAY, 2, 4});
    assert_shortened(a, "[10,20,30,40]", 2, "[]", "", (cw_json_shortened){CW_JSON_ARRAY, 0, 4});
}

TEST_WITH(the_cut_is_in_the_part_that_is_large, cw_arena *a)
{
    assert_shortened(a, "{\"n\":1,\"a/b\":[11111,22222,33333,44444,55555]}", 30,
                     "{\"n\":1,\"a/b\":[11111,22222]}", "/a~1b",
                     (cw_json_shortened){CW_JSON_ARRAY, 2, 5});
    assert_shortened(a, "[[1],{\"~\":\"abcdefghijklmnopqrstuvwxyz\"},2]", 32,
                     "[[1],{\"~\":\"abcdefghijklmnop\"},2]", "/1/~0",
                     (cw_json_shortened){CW_JSON_STRING, 16, 26});
}

TEST_WITH(an_object_without_a_large_part_loses_its_last_members, cw_arena *a)
{
    assert_shortened(a, "{\"a\":111,\"b\":222,\"c\":333}", 20, "{\"a\":111,\"b\":222}", "",
                     (cw_json_shortened){CW_JSON_OBJECT, 2, 3});
}

TEST_WITH(a_string_keeps_whole_characters_and_counts_its_escapes, cw_arena *a)
{
    assert_shortened(a, "\"\\n\\n\\n\\n\\n\\n\"", 9, "\"\\n\\n\\n\"", "",
                     (cw_json_shortened){CW_JSON_STRING, 3, 6});
    assert_shortened(a, "\"žžžž\"", 7, "\"žž\"", "", (cw_json_shortened){CW_JSON_STRING, 4, 8});
}

TEST_WITH(what_no_cut_makes_fit_is_said_so, cw_arena *a)
{
    static const char *const texts[] = {"\"abc\"", "[1,2]", "{\"a\":1}", "123456"};
    for (size_t i = 0; i < CW_COUNT(texts); i++) {
        shortened s;
        shorten(a, texts[i], 1, &s);
        assert_false(s.fits);
        shortened_done(&s);
    }
}

TEST_WITH(every_size_gives_a_value_that_fits, cw_arena *a)
{
    static const char text[] =
        "{\"one\":[1,{\"two\":\"some \\u017e text\\n\",\"three\":[[],{},null]},"
        "{\"rows\":[{\"id\":1},{\"id\":2},{\"id\":3},{\"id\":4}]}],\"x\":true}";
    for (size_t max = 0; max < sizeof text - 1; max++) {
        shortened s;
        shorten(a, text, max, &s);
        if (s.fits)
            assert_true(s.is.shown < s.is.total);
        shortened_done(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        arena_test(a_list_loses_its_last_elements),
        arena_test(the_cut_is_in_the_part_that_is_large),
        arena_test(an_object_without_a_large_part_loses_its_last_members),
        arena_test(a_string_keeps_whole_characters_and_counts_its_escapes),
        arena_test(what_no_cut_makes_fit_is_said_so),
        arena_test(every_size_gives_a_value_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
