/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/json_fixture.h"
#include "support/oom.h"

TEST_WITH(the_tape_is_as_drawn_in_the_header, cw_arena *a)
{
    const cw_json *v = must_read(a, "{\"a\":[1,2],\"b\":null}");
    static const uint32_t types[] = {CW_JSON_OBJECT, CW_JSON_STRING, CW_JSON_ARRAY,
                                     CW_JSON_NUMBER, CW_JSON_NUMBER, CW_JSON_END,
                                     CW_JSON_STRING, CW_JSON_NULL,   CW_JSON_END};
    for (size_t i = 0; i < CW_COUNT(types); i++)
        assert_int_equal(v[i].meta & 7u, types[i]);
    assert_int_equal(v[0].n, 8);
    assert_int_equal(v[0].meta >> 8, 2);
    assert_int_equal(v[2].n, 3);
    assert_int_equal(v[2].meta >> 8, 2);
    assert_int_equal(v[5].n, 3);
    assert_int_equal(v[8].n, 8);
    assert_true(v[1].meta & CW_JSON_KEY);
    assert_false(v[3].meta & CW_JSON_KEY);
    assert_int_equal(v[1].meta >> 8, cw_json_key_hash(CW_STR("a")));
    assert_ptr_equal(cw_json_after(v), v + 9);
}

TEST_WITH(every_kind_of_root_is_read, cw_arena *a)
{
    static const struct {
        const char *text;
        cw_json_type type;
    } cases[] = {
        {"null", CW_JSON_NULL},     {"true", CW_JSON_TRUE},    {"false", CW_JSON_FALSE},
        {"0", CW_JSON_NUMBER},      {"-0", CW_JSON_NUMBER},    {"1.5e+9", CW_JSON_NUMBER},
        {"\"\"", CW_JSON_STRING},   {"\"x\"", CW_JSON_STRING}, {"[]", CW_JSON_ARRAY},
        {"{}", CW_JSON_OBJECT},     {" [ ] ", CW_JSON_ARRAY},  {"\r\n\t{\n}\n", CW_JSON_OBJECT},
        {"[[],{}]", CW_JSON_ARRAY},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++)
        assert_int_equal(cw_json_type_of(must_read(a, cases[i].text)), cases[i].type);
}

TEST_WITH(a_document_is_iterated_in_source_order, cw_arena *a)
{
    const cw_json *v = must_read(a, "[1,[2,3],{\"k\":[4],\"l\":5},6]");
    static const char *const spans[] = {"1", "[2,3]", "{\"k\":[4],\"l\":5}", "6"};
    size_t i = 0;
    for (const cw_json *e = cw_json_first(v); e; e = cw_json_next(e))
        assert_str(span_of(e), spans[i++]);
    assert_int_equal(i, 4);
    assert_int_equal(cw_json_count(v), 4);

    const cw_json *k = cw_json_first(cw_json_at(v, 2));
    assert_non_null(k);
    if (!k)
        return; /* for the compiler */
    assert_str(text_of(k), "k");
    assert_str(span_of(cw_json_value(k)), "[4]");
    k = cw_json_next_key(k);
    assert_non_null(k);
    if (!k)
        return; /* for the compiler */
    assert_str(text_of(k), "l");
    assert_str(text_of(cw_json_value(k)), "5");
    assert_null(cw_json_next_key(k));
}

TEST_WITH(white_space_is_skipped_wherever_it_may_stand, cw_arena *a)
{
    /* Runs of every length around every token, so that each vector boundary is met. */
    for (size_t n = 0; n < 40; n++) {
        char text[512];
        char space[64];
        memset(space, ' ', n);
        if (n > 2) {
            space[0] = '\n';
            space[n - 1] = '\t';
            space[n / 2] = '\r';
        }
        space[n] = '\0';
        int len = snprintf(text, sizeof text, "%s{%s\"a\"%s:%s[%s1%s,%s2%s]%s}%s", space, space,
                           space, space, space, space, space, space, space, space);
        const cw_json *v = must_read_opts(a, cw_str_make(text, (size_t)len), NULL);
        assert_str(text_of(cw_json_at(cw_json_get(v, CW_STR("a")), 1)), "2");
    }
}

TEST_WITH(numbers_keep_their_text_and_carry_their_class, cw_arena *a)
{
    static const struct {
        const char *text;
        uint32_t flags;
    } cases[] = {
        {"0", 0},
        {"12345678901234567890123456789012345678901234567890", 0},
        {"-1", CW_JSON_NEGATIVE},
        {"0.1", CW_JSON_FRACTION},
        {"1e5", CW_JSON_EXPONENT},
        {"-1.50E-07", CW_JSON_NEGATIVE | CW_JSON_FRACTION | CW_JSON_EXPONENT},
    };
    const uint32_t all = CW_JSON_NEGATIVE | CW_JSON_FRACTION | CW_JSON_EXPONENT;
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        const cw_json *v = must_read(a, cases[i].text);
        assert_str(text_of(v), cases[i].text);
        assert_str(span_of(v), cases[i].text);
        assert_int_equal(v->meta & all, cases[i].flags);
    }
}

/* `n` times `open`, `middle`, `n` times `close`. */
static cw_str nest(cw_arena *a, size_t n, const char *open, const char *middle, const char *close)
{
    size_t width = strlen(open);
    size_t inner = strlen(middle);
    size_t end = strlen(close);
    char *p = cw_arena_alloc(a, n * (width + end) + inner);
    assert_non_null(p);
    char *o = p;
    for (size_t i = 0; i < n; i++, o += width)
        memcpy(o, open, width);
    memcpy(o, middle, inner);
    o += inner;
    for (size_t i = 0; i < n; i++, o += end)
        memcpy(o, close, end);
    return cw_str_make(p, (size_t)(o - p));
}

TEST_WITH(the_depth_ceiling_is_reached_exactly, cw_arena *a)
{
    const cw_json *root;
    for (uint32_t max = 1; max < 80; max++) {
        cw_json_opts opts = {.max_depth = max};
        assert_int_equal(try_read(a, nest(a, max, "[", "1", "]"), &opts, &root), CW_OK);
        assert_int_equal(try_read(a, nest(a, max, "{\"a\":", "{}", "}"), &opts, &root), CW_LIMIT);
    }
    assert_int_equal(try_read(a, nest(a, CW_JSON_MAX_DEPTH, "[", "", "]"), NULL, &root), CW_OK);
    assert_int_equal(try_read(a, nest(a, CW_JSON_MAX_DEPTH + 1, "[", "", "]"), NULL, &root),
                     CW_LIMIT);
}

TEST_WITH(no_option_goes_beyond_the_depth_ceiling, cw_arena *a)
{
    const cw_json *root;
    cw_json_opts opts = {.max_depth = UINT32_MAX};
    cw_str deepest = nest(a, CW_JSON_DEPTH_CEILING, "[", "", "]");
    cw_str deeper = nest(a, CW_JSON_DEPTH_CEILING + 1, "[", "", "]");
    assert_int_equal(try_read(a, deepest, &opts, &root), CW_OK);
    assert_int_equal(cw_json_after(root) - root, 2 * CW_JSON_DEPTH_CEILING);
    assert_true(cw_json_equal(root, root));
    assert_int_equal(try_read(a, deeper, &opts, &root), CW_LIMIT);
}

TEST_WITH(threat_B1_depth_bombs_fail_at_once, cw_arena *a)
{
    static const size_t sizes[] = {65, 10000, 1000000};
    static const char *const openings[] = {"[", "{\"a\":", "[{\"a\":[", "[[],"};
    for (size_t i = 0; i < CW_COUNT(sizes); i++) {
        for (size_t j = 0; j < CW_COUNT(openings); j++) {
            cw_str bomb = nest(a, sizes[i], openings[j], "", "");
            const cw_json *root;
            cw_json_pos pos;
            cw_err err;
            assert_int_equal(cw_json_read(bomb, NULL, a, &root, &pos, &err), CW_LIMIT);
            assert_true(pos.offset < 64 * 8);
            assert_non_null(strstr(err.msg, "nested deeper than 64 levels"));
        }
    }
}

TEST_WITH(the_byte_ceiling_is_reached_exactly, cw_arena *a)
{
    const cw_json *root;
    cw_json_opts opts = {.max_bytes = 7};
    assert_int_equal(try_read(a, CW_STR("[1,2,3]"), &opts, &root), CW_OK);
    assert_int_equal(try_read(a, CW_STR("[1,2,34]"), &opts, &root), CW_LIMIT);
    /* Refused by its length alone: nothing behind the pointer is looked at. */
    cw_json_pos pos;
    cw_err err;
    cw_str huge = cw_str_make("1", (size_t)UINT32_MAX + 1);
    opts.max_bytes = SIZE_MAX;
    assert_int_equal(cw_json_read(huge, &opts, a, &root, &pos, &err), CW_LIMIT);
    assert_string_equal(err.msg, "JSON text of 4294967296 bytes is longer than 4294967295");
    huge.n = (size_t)CW_JSON_MAX_BYTES + 1;
    assert_int_equal(cw_json_read(huge, NULL, a, &root, NULL, NULL), CW_LIMIT);
}

TEST_WITH(the_member_ceiling_is_reached_exactly, cw_arena *a)
{
    const cw_json *root;
    cw_err err;
    cw_json_opts opts = {.max_members = 2};
    cw_str three = CW_STR("[{\"a\":1,\"b\":2,\"c\":3}]");
    assert_int_equal(try_read(a, CW_STR("[{\"a\":1,\"b\":2},[1,2,3]]"), &opts, &root), CW_OK);
    assert_int_equal(cw_json_read(three, &opts, a, &root, NULL, &err), CW_LIMIT);
    assert_string_equal(err.msg, "line 1, column 15: more than 2 members in an object");

    cw_buf b;
    cw_buf_init(&b, 1u << 20);
    cw_buf_add_char(&b, '{');
    for (unsigned i = 0; i < CW_JSON_MAX_MEMBERS; i++)
        cw_buf_printf(&b, "%s\"k%u\":%u", i ? "," : "", i, i);
    size_t n = b.n;
    cw_buf_add_char(&b, '}');
    assert_int_equal(try_read(a, cw_buf_str(&b), NULL, &root), CW_OK);
    assert_int_equal(cw_json_count(root), CW_JSON_MAX_MEMBERS);
    b.n = n;
    cw_buf_add(&b, CW_STR(",\"z\":0}"));
    assert_int_equal(try_read(a, cw_buf_str(&b), NULL, &root), CW_LIMIT);
    cw_buf_done(&b);
}

static size_t memory_for(const char *part, size_t times)
{
    cw_arena a;
    cw_arena_init(&a, TEST_ARENA_MAX);
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_buf_add_char(&b, '[');
    for (size_t i = 0; i < times; i++)
        cw_buf_printf(&b, "%s%s", i ? "," : "", part);
    cw_buf_add_char(&b, ']');
    const cw_json *root;
    assert_int_equal(cw_json_read(cw_buf_str(&b), NULL, &a, &root, NULL, NULL), CW_OK);
    size_t tenfold = a.used > 65536 ? (a.used - 65536) * 10 / b.n : 0;
    cw_arena_done(&a);
    cw_buf_done(&b);
    return tenfold; /* tenths of the source's size */
}

TEST(threat_B4_memory_stays_within_its_promise)
{
    assert_true(memory_for("1", 500000) <= 100);
    assert_true(memory_for("\"\"", 300000) <= 100);
    assert_true(memory_for("\"\\n\"", 200000) <= 100);
    assert_true(memory_for("{\"a\":1}", 100000) <= 100);
    assert_true(memory_for("{\"name\":\"some text of a usual length\",\"id\":17}", 20000) <= 40);
    assert_true(memory_for("[]", 300000) <= 160);
    assert_true(memory_for("[[[[[[[[]]]]]]]]", 60000) <= 160);
}

TEST_WITH(the_ceiling_of_the_arena_is_kept, cw_arena *a)
{
    cw_str dense = nest(a, 20000, "[],", "1", "");
    char *text = cw_arena_alloc(a, dense.n + 2);
    text[0] = '[';
    memcpy(text + 1, dense.p, dense.n);
    text[dense.n + 1] = ']';
    cw_str src = cw_str_make(text, dense.n + 2);
    const cw_json *root = NULL;
    cw_err err;
    cw_arena small;
    cw_arena_init(&small, 8 * src.n + 65536);
    assert_int_equal(cw_json_read(src, NULL, &small, &root, NULL, &err), CW_LIMIT);
    assert_null(root);
    cw_arena_done(&small);
    cw_arena_init(&small, 64);
    assert_int_equal(cw_json_read(CW_STR("[1]"), NULL, &small, &root, NULL, &err), CW_LIMIT);
    cw_arena_done(&small);
}

static void read_once(void *ctx)
{
    const cw_json_opts opts = {.max_depth = 100};
    cw_arena a;
    cw_arena_init(&a, TEST_ARENA_MAX);
    const cw_json *root = NULL;
    cw_err err = {0};
    cw_json_pos pos;
    cw_code rc = cw_json_read(*(cw_str *)ctx, &opts, &a, &root, &pos, &err);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    assert_int_equal(root != NULL, rc == CW_OK);
    cw_arena_done(&a);
}

TEST_WITH(reading_survives_every_failed_allocation, cw_arena *a)
{
    /* Grows the tape, decodes strings, goes deep and needs a table of keys. */
    cw_buf b;
    cw_buf_init(&b, 1u << 20);
    cw_buf_add_char(&b, '{');
    for (int i = 0; i < 300; i++)
        cw_buf_printf(&b, "\"k%d\":\"line\\n\",", i);
    cw_buf_add(&b, CW_STR("\"deep\":"));
    cw_buf_add(&b, nest(a, 90, "[", "", "]"));
    cw_buf_add(&b, CW_STR(",\"dense\":[0"));
    for (int i = 0; i < 3000; i++)
        cw_buf_add(&b, CW_STR(",0"));
    cw_buf_add(&b, CW_STR("]}"));
    cw_str text = cw_buf_str(&b);
    assert_true(oom_each(read_once, &text) >= 6);
    cw_buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        arena_test(the_tape_is_as_drawn_in_the_header),
        arena_test(every_kind_of_root_is_read),
        arena_test(a_document_is_iterated_in_source_order),
        arena_test(white_space_is_skipped_wherever_it_may_stand),
        arena_test(numbers_keep_their_text_and_carry_their_class),
        arena_test(the_depth_ceiling_is_reached_exactly),
        arena_test(no_option_goes_beyond_the_depth_ceiling),
        arena_test(threat_B1_depth_bombs_fail_at_once),
        arena_test(the_byte_ceiling_is_reached_exactly),
        arena_test(the_member_ceiling_is_reached_exactly),
        cmocka_unit_test(threat_B4_memory_stays_within_its_promise),
        arena_test(the_ceiling_of_the_arena_is_kept),
        arena_test(reading_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
