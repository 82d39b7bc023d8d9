/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/json_fixture.h"

TEST_WITH(types_have_the_names_of_json_schema, cw_arena *a)
{
    const cw_json *v = must_read(a, "[null,true,false,1,\"s\",[],{}]");
    static const char *const names[] = {"null",   "boolean", "boolean", "number",
                                        "string", "array",   "object"};
    for (size_t i = 0; i < CW_COUNT(names); i++)
        assert_string_equal(cw_json_type_name(cw_json_at(v, i)), names[i]);
}

TEST_WITH(spans_are_the_bytes_of_the_source, cw_arena *a)
{
    static const char *const spans[] = {
        "null", "-1.50e+3",       "\"a\"",   "\"\"", "\"\\u0041\\n\"", "[ 1 , 2 ]",
        "{ }",  "{\"k\" : [ ] }", "[[[ ]]]", "true", "false",
    };
    cw_buf b;
    cw_buf_init(&b, 4096);
    for (size_t i = 0; i < CW_COUNT(spans); i++)
        cw_buf_printf(&b, "%c %s ", i ? ',' : '[', spans[i]);
    cw_buf_add_char(&b, ']');
    const cw_json *v = must_read_opts(a, cw_buf_str(&b), NULL);
    size_t i = 0;
    for (const cw_json *e = cw_json_first(v); e; e = cw_json_next(e))
        assert_str(span_of(e), spans[i++]);
    assert_int_equal(i, CW_COUNT(spans));
    assert_true(cw_str_eq(cw_json_span(v), cw_buf_str(&b)));
    assert_true(cw_str_eq(cw_json_text(v), cw_buf_str(&b)));
    cw_buf_done(&b);
}

TEST_WITH(threat_B2_members_are_found_by_their_exact_name, cw_arena *a)
{
    const cw_json *v = must_read(a, "{\"a\":1,\"ab\":2,\"\":3,\"A\":4,\"abcdefghijklmnop\":5,"
                                    "\"nested\":{\"deep\":6},\"last\":7}");
    assert_str(text_of(cw_json_get(v, CW_STR("a"))), "1");
    assert_str(text_of(cw_json_get(v, CW_STR("ab"))), "2");
    assert_str(text_of(cw_json_get(v, CW_STR(""))), "3");
    assert_str(text_of(cw_json_get(v, CW_STR("A"))), "4");
    assert_str(text_of(cw_json_get(v, CW_STR("abcdefghijklmnop"))), "5");
    assert_str(text_of(cw_json_get(v, CW_STR("last"))), "7");
    assert_null(cw_json_get(v, CW_STR("abc")));
    assert_null(cw_json_get(v, CW_STR("deep")));
    assert_null(cw_json_get(v, CW_STR("a\0")));
    assert_null(cw_json_get(NULL, CW_STR("a")));
    assert_null(cw_json_get(cw_json_get(v, CW_STR("a")), CW_STR("a")));
    assert_null(cw_json_get(must_read(a, "{}"), CW_STR("a")));
    assert_null(cw_json_get(must_read(a, "[\"a\",1]"), CW_STR("a")));
}

TEST_WITH(elements_are_found_by_index, cw_arena *a)
{
    const cw_json *flat = must_read(a, "[10,11,12]");
    assert_str(text_of(cw_json_at(flat, 0)), "10");
    assert_str(text_of(cw_json_at(flat, 2)), "12");
    assert_null(cw_json_at(flat, 3));
    assert_null(cw_json_at(flat, SIZE_MAX));
    const cw_json *mixed = must_read(a, "[[1,2],{\"a\":[]},12]");
    assert_str(span_of(cw_json_at(mixed, 1)), "{\"a\":[]}");
    assert_str(text_of(cw_json_at(mixed, 2)), "12");
    assert_null(cw_json_at(must_read(a, "{\"a\":1}"), 0));
    assert_null(cw_json_at(must_read(a, "[]"), 0));
    assert_null(cw_json_at(NULL, 0));
}

TEST_WITH(counts_and_firsts_of_scalars_are_nothing, cw_arena *a)
{
    const cw_json *v = must_read(a, "[\"abc\",12,{},[]]");
    for (const cw_json *e = cw_json_first(v); e; e = cw_json_next(e)) {
        assert_int_equal(cw_json_count(e), 0);
        assert_null(cw_json_first(e));
    }
    assert_false(cw_json_is(NULL, CW_JSON_NULL));
}

TEST(key_hashes_tell_most_names_apart)
{
    /* 2000 names of 0 to 20 bytes: by chance about 0.12 pairs of 24-bit hashes are equal. */
    enum { N = 2000 };
    static uint32_t hashes[N];
    unsigned equal = 0;
    for (unsigned i = 0; i < N; i++) {
        char name[32];
        memset(name, 'n', sizeof name);
        size_t n = 4 + i % 17;
        for (unsigned j = 0; j < 4; j++)
            name[j * (n - 1) / 3] = (char)('a' + (i >> (j * 3) & 7));
        hashes[i] = cw_json_key_hash(cw_str_make(name, n));
        for (unsigned j = 0; j < i; j++)
            equal += hashes[j] == hashes[i];
    }
    assert_true(equal < 700); /* names whose letters were in the middle, beyond both ends */
    assert_int_not_equal(cw_json_key_hash(CW_STR("")), cw_json_key_hash(CW_STR("\0")));
    assert_int_not_equal(cw_json_key_hash(CW_STR("ab")), cw_json_key_hash(CW_STR("ba")));
    assert_int_not_equal(cw_json_key_hash(CW_STR("abc")), cw_json_key_hash(CW_STR("abcc")));
    assert_true(cw_json_key_hash(CW_STR("anything at all")) <= 0xFFFFFF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        arena_test(types_have_the_names_of_json_schema),
        arena_test(spans_are_the_bytes_of_the_source),
        arena_test(threat_B2_members_are_found_by_their_exact_name),
        arena_test(elements_are_found_by_index),
        arena_test(counts_and_firsts_of_scalars_are_nothing),
        cmocka_unit_test(key_hashes_tell_most_names_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
