/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/otlp.h"

#include <stdlib.h>

#include "support/test.h"

static cw_span span_of(void)
{
    cw_span span = {
        .ids = {.has_trace = true, .flags = CW_IDS_SAMPLED, .tracestate = CW_STR("")},
        .begun_ns = 1,
    };
    memset(span.ids.trace_id, 1, sizeof span.ids.trace_id);
    memset(span.ids.span_id, 2, sizeof span.ids.span_id);
    return span;
}

/* tests/functional/traces.test.mjs decodes whole spans with decoders of others. */
TEST(a_small_span_has_these_bytes)
{
    cw_span span = span_of();
    cw_span_report report = {.name = CW_STR("a"), .kind = CW_SPAN_SERVER};
    cw_otlp_writer w;
    char room[CW_SPAN_MAX];
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
    cw_otlp_open(&w, &span, &report, /* wall_offset= */ 0, room, sizeof room);
    size_t n = cw_otlp_close(&w);
    assert_int_equal(n, sizeof expected);
    assert_memory_equal(room, expected, n);
}

/* Write a span with every kind of field. */
static size_t write_full(char *room, size_t size, cw_str value)
{
    cw_span span = span_of();
    span.ids.tracestate = CW_STR("vendor=1");
    span.has_parent = span.has_link = true;
    cw_otlp_writer w;
    cw_otlp_open(&w, &span,
                 &(cw_span_report){.name = CW_STR("name"),
                                   .target = CW_STR("target"),
                                   .kind = CW_SPAN_CLIENT,
                                   .is_error = true,
                                   .message = CW_STR("why")},
                 /* wall_offset= */ 0, room, size);
    cw_otlp_add_text(&w, CW_STR("key"), value);
    cw_otlp_add_number(&w, CW_STR("n"), -1);
    return cw_otlp_close(&w);
}

TEST(a_span_that_does_not_fit_is_not_written)
{
    static char value[CW_SPAN_MAX];
    memset(value, 'v', sizeof value);
    const size_t lengths[] = {1, 100, 118, 119, 127, 128, 300, sizeof value / 2};
    for (size_t i = 0; i < CW_COUNT(lengths); i++) {
        cw_str text = cw_str_make(value, lengths[i]);
        char *room = malloc(CW_SPAN_MAX);
        size_t n = write_full(room, CW_SPAN_MAX, text);
        free(room);
        assert_true(n > lengths[i]);
        /* In a room of just this size, where a sanitizer finds every byte beyond its end. */
        bool fits = false;
        for (size_t size = 1; size < n + 32; size++) {
            room = malloc(size);
            size_t written = write_full(room, size, text);
            free(room);
            assert_true(written == 0 || (written == n && size >= n));
            fits = written > 0;
        }
        assert_true(fits);
    }
    char *room = malloc(2 * CW_SPAN_MAX);
    assert_int_equal(write_full(room, 2 * sizeof value, cw_str_make(value, sizeof value)), 0);
    free(room);
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
