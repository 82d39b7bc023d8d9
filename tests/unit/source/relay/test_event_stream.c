/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of a stream, however its bytes are cut. */
#include "source/relay/event_stream.h"
#include "support/test.h"

static cw_event_stream stream;

static void begin(void)
{
    cw_event_stream_init(&stream, 64);
}

/* The data of the next event of a text that is read at once. */
static void assert_next(cw_str *text, const char *expected)
{
    cw_str data;
    assert_true(cw_event_stream_next(&stream, text, &data));
    assert_true(cw_str_is(data, expected));
}

TEST(data_of_several_lines_is_joined)
{
    cw_str text = CW_STR(": comment\nevent: message\ndata: a\ndata:b\n\ndata\n\n"), data;
    begin();
    assert_next(&text, "a\nb");
    assert_next(&text, "");
    assert_false(cw_event_stream_next(&stream, &text, &data));
    cw_event_stream_done(&stream);
}

TEST(lines_end_in_three_ways_and_pieces_anywhere)
{
    static const char text[] = "data: 1\r\n\r\ndata: 2\r\rdata: 3\n\n";
    char seen[8] = "";
    size_t n = 0;
    begin();
    for (size_t i = 0; i + 1 < sizeof text; i++) {
        cw_str piece = cw_str_make(text + i, 1), data;
        while (cw_event_stream_next(&stream, &piece, &data)) {
            assert_true(n + data.n < sizeof seen);
            memcpy(seen + n, data.p, data.n);
            n += data.n;
        }
    }
    assert_string_equal(seen, "123");
    cw_event_stream_done(&stream);
}

TEST(an_id_counts_from_the_end_of_its_event)
{
    cw_str first = CW_STR("id: 7\nretry: 250\ndata: x\n"), end = CW_STR("\n"), data;
    begin();
    assert_false(cw_event_stream_next(&stream, &first, &data));
    assert_string_equal(stream.id, "");
    assert_next(&end, "x");
    assert_string_equal(stream.id, "7");
    assert_int_equal(stream.retry_ms, 250);
    cw_event_stream_done(&stream);
}

TEST(an_event_without_data_has_an_id_all_the_same)
{
    cw_str text = CW_STR("id: primed\n\nretry: soon\n\n"), data;
    begin();
    assert_false(cw_event_stream_next(&stream, &text, &data));
    assert_string_equal(stream.id, "primed");
    assert_int_equal(stream.retry_ms, 0);
    cw_event_stream_done(&stream);
}

TEST(an_id_that_no_header_can_hold_is_none)
{
    cw_str text = CW_STR("id: a\n\nid: \xc5\xbe\n\n"), data;
    begin();
    assert_false(cw_event_stream_next(&stream, &text, &data));
    assert_string_equal(stream.id, "");
    cw_event_stream_done(&stream);
}

TEST(an_event_that_is_too_large_ends_the_stream)
{
    char text[100];
    memset(text, 'x', sizeof text);
    cw_str piece = cw_str_make(text, sizeof text), data;
    begin();
    assert_false(cw_event_stream_next(&stream, &piece, &data));
    assert_int_equal(stream.code, CW_LIMIT);
    cw_event_stream_done(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_of_several_lines_is_joined),
        cmocka_unit_test(lines_end_in_three_ways_and_pieces_anywhere),
        cmocka_unit_test(an_id_counts_from_the_end_of_its_event),
        cmocka_unit_test(an_event_without_data_has_an_id_all_the_same),
        cmocka_unit_test(an_id_that_no_header_can_hold_is_none),
        cmocka_unit_test(an_event_that_is_too_large_ends_the_stream),
    };
    return cmocka_run_group_tests_name("event_stream", tests, NULL, NULL);
}
