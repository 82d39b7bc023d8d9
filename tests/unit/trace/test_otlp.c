/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/otlp.h"

#include "support/test.h"

static cw_ids ids_of(void)
{
    cw_ids ids = {.has_trace = true, .flags = CW_IDS_SAMPLED, .tracestate = CW_STR("")};
    memset(ids.trace_id, 1, sizeof ids.trace_id);
    memset(ids.span_id, 2, sizeof ids.span_id);
    return ids;
}

/* tests/functional/traces.test.mjs decodes whole spans with decoders of others. */
TEST(a_small_span_has_these_bytes)
{
    cw_ids ids = ids_of();
    cw_otlp_span span = {.ids = &ids, .name = CW_STR("a"), .kind = CW_SPAN_SERVER, .start_ns = 1};
    char room[128];
    static const unsigned char expected[] = {
        0x12, 0x39,                                                       /* spans */
        0x0a, 0x10, 1,    1,    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, /* trace id */
        0x12, 0x08, 2,    2,    2, 2, 2, 2, 2, 2,                         /* span id */
        0x2a, 0x01, 'a',                                                  /* name */
        0x30, 0x02,                                                       /* kind */
        0x39, 1,    0,    0,    0, 0, 0, 0, 0,                            /* start */
        0x41, 0,    0,    0,    0, 0, 0, 0, 0,                            /* end */
        0x85, 0x01, 0x01, 0x01, 0, 0,                                     /* flags */
    };
    size_t n = cw_otlp_write_span(&span, room, sizeof room);
    assert_int_equal(n, sizeof expected);
    assert_memory_equal(room + sizeof room - n, expected, n);
}

TEST(a_span_that_does_not_fit_is_not_written)
{
    cw_ids ids = ids_of();
    const cw_span_attr attrs[] = {CW_SPAN_TEXT("key", CW_STR("value")), CW_SPAN_NUMBER("n", -1)};
    cw_otlp_span span = {.ids = &ids,
                         .name = CW_STR("name"),
                         .target = CW_STR("target"),
                         .kind = CW_SPAN_CLIENT,
                         .attrs = attrs,
                         .n_attrs = 2,
                         .is_error = true,
                         .message = CW_STR("why")};
    char room[256];
    size_t n = cw_otlp_write_span(&span, room, sizeof room);
    assert_true(n > 0);
    for (size_t size = 0; size < n; size++)
        assert_int_equal(cw_otlp_write_span(&span, room, size), 0);
    assert_int_equal(cw_otlp_write_span(&span, room, n), n);
}

TEST(the_lengths_of_a_head_are_those_of_its_parts)
{
    cw_buf out;
    cw_buf_init(&out, 1024);
    cw_otlp_add_head(&out, CW_STR("RR"), CW_STR("S"), 300);
    assert_int_equal(out.n, 3 + 2 + 3 + 1);
    static const unsigned char expected[] = {0x0a, 0xb2, 0x02, 'R', 'R', 0x12, 0xad, 0x02, 'S'};
    assert_memory_equal(out.p, expected, sizeof expected);
    cw_buf_done(&out);
}

TEST(rejected_spans_are_read_from_a_response)
{
    static const struct {
        const char *bytes;
        size_t n;
        uint64_t rejected;
    } cases[] = {
        {"", 0, 0},
        {"\x0a\x00", 2, 0},
        {"\x0a\x02\x08\x07", 4, 7},
        {"\x0a\x07\x12\x03why\x08\x07", 9, 7},
        {"\x0a\x03\x08\x96\x01", 5, 150},
        {"\x12\x02\x08\x07", 4, 0},                                      /* another field */
        {"\x0a\x7f\x08\x07", 4, 0},                                      /* longer than the body */
        {"\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13, 0}, /* negative */
        {"{\"error\":1}", 11, 0},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++)
        assert_int_equal(cw_otlp_read_rejected(cw_str_make(cases[i].bytes, cases[i].n)),
                         cases[i].rejected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_span_has_these_bytes),
        cmocka_unit_test(a_span_that_does_not_fit_is_not_written),
        cmocka_unit_test(the_lengths_of_a_head_are_those_of_its_parts),
        cmocka_unit_test(rejected_spans_are_read_from_a_response),
    };
    return cmocka_run_group_tests_name("otlp", tests, NULL, NULL);
}
