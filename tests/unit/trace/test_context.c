/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/context.h"

#include "support/test.h"

#define TRACE "12345678901234567890123456789012"
#define SPAN "1234567890123456"
#define PARENT "00-" TRACE "-" SPAN "-01"

/* The cases of the W3C trace-context suite for traceparent, and some of our own. */
static const struct {
    const char *text;
    bool is_valid;
    uint8_t flags;
} parents[] = {
    {PARENT, true, 1},
    {"00-" TRACE "-" SPAN "-00", true, 0},
    /* flags are bits; those that are not known are dropped */
    {"00-" TRACE "-" SPAN "-02", true, 2},
    {"00-" TRACE "-" SPAN "-03", true, 3},
    {"00-" TRACE "-" SPAN "-ff", true, 3},
    {"00-" TRACE "-" SPAN "-08", true, 0},
    /* version 00 has exactly four fields */
    {PARENT ".", false, 0},
    {PARENT "-what-the-future-will-be-like", false, 0},
    {PARENT "-", false, 0},
    /* a later version may have more */
    {"cc-" TRACE "-" SPAN "-01", true, 1},
    {"cc-" TRACE "-" SPAN "-01-what-the-future-will-be-like", true, 1},
    {"cc-" TRACE "-" SPAN "-01.what-the-future-will-not-be-like", false, 0},
    {"01-" TRACE "-" SPAN "-00-", true, 0},
    {"ff-" TRACE "-" SPAN "-01", false, 0},
    /* illegal characters and lengths of the version */
    {".0-" TRACE "-" SPAN "-01", false, 0},
    {"0.-" TRACE "-" SPAN "-01", false, 0},
    {"000-" TRACE "-" SPAN "-01", false, 0},
    {"0000-" TRACE "-" SPAN "-01", false, 0},
    {"0-" TRACE "-" SPAN "-01", false, 0},
    {"CC-" TRACE "-" SPAN "-01", false, 0},
    /* of the trace id */
    {"00-00000000000000000000000000000000-" SPAN "-01", false, 0},
    {"00-.2345678901234567890123456789012-" SPAN "-01", false, 0},
    {"00-1.345678901234567890123456789012-" SPAN "-01", false, 0},
    {"00-1234567890123456789012345678901.-" SPAN "-01", false, 0},
    {"00-1234567890123456789012345678901A-" SPAN "-01", false, 0},
    {"00-" TRACE "3-" SPAN "-01", false, 0},
    {"00-1234567890123456789012345678901-" SPAN "-01", false, 0},
    /* of the span id */
    {"00-" TRACE "-0000000000000000-01", false, 0},
    {"00-" TRACE "-.234567890123456-01", false, 0},
    {"00-" TRACE "-1.34567890123456-01", false, 0},
    {"00-" TRACE "-123456789012345E-01", false, 0},
    {"00-" TRACE "-12345678901234567-01", false, 0},
    {"00-" TRACE "-123456789012345-01", false, 0},
    /* of the flags */
    {"00-" TRACE "-" SPAN "-.0", false, 0},
    {"00-" TRACE "-" SPAN "-0.", false, 0},
    {"00-" TRACE "-" SPAN "-0A", false, 0},
    {"00-" TRACE "-" SPAN "-001", false, 0},
    {"00-" TRACE "-" SPAN "-1", false, 0},
    /* separators, blanks, nothing */
    {"00_" TRACE "-" SPAN "-01", false, 0},
    {"00-" TRACE "_" SPAN "-01", false, 0},
    {"00-" TRACE "-" SPAN "_01", false, 0},
    {" " PARENT, false, 0},
    {PARENT " ", false, 0},
    {"", false, 0},
    {"foo", false, 0},
};

TEST(a_traceparent_is_read_as_the_standard_has_it)
{
    for (size_t i = 0; i < CW_COUNT(parents); i++) {
        cw_trace_parent parent = {.flags = 0xEE};
        bool is_valid = cw_trace_parent_parse(cw_str_from(parents[i].text), &parent);
        if (is_valid != parents[i].is_valid)
            fail_msg("'%s' should %sbe valid", parents[i].text, parents[i].is_valid ? "" : "not ");
        assert_int_equal(parent.flags, is_valid ? parents[i].flags : 0xEE);
    }
    cw_trace_parent parent;
    assert_false(cw_trace_parent_parse((cw_str){NULL, 0}, &parent));
    assert_false(cw_trace_parent_parse(cw_str_make(PARENT "\0", 56), &parent));
}

TEST(a_traceparent_is_written_with_our_span)
{
    cw_trace_parent parent;
    char text[CW_TRACE_PARENT_LEN + 1];
    assert_true(cw_trace_parent_parse(CW_STR(PARENT), &parent));
    cw_ids ids = {.flags = parent.flags};
    memcpy(ids.trace_id, parent.trace_id, sizeof ids.trace_id);
    memset(ids.span_id, 0x9a, sizeof ids.span_id);
    cw_trace_parent_format(&ids, text);
    assert_string_equal(text, "00-" TRACE "-9a9a9a9a9a9a9a9a-01");
}

static cw_str read_states(cw_arena *a, const char *one, const char *two)
{
    const cw_str headers[] = {cw_str_from(one), cw_str_from(two)};
    return cw_trace_state_read(headers, two ? 2 : 1, a);
}

static void assert_state(const char *one, const char *two, const char *expected)
{
    cw_arena a;
    cw_arena_init(&a, 65536);
    cw_str got = read_states(&a, one, two);
    if (!cw_str_is(got, expected))
        fail_msg("'%s' became '%.*s', not '%s'", one, CW_STR_ARG(got), expected);
    cw_arena_done(&a);
}

TEST(a_tracestate_is_read_as_the_standard_has_it)
{
    assert_state("foo=1", NULL, "foo=1");
    assert_state("foo=1,bar=2", NULL, "foo=1,bar=2");
    /* several headers, in their order; empty ones and empty members are allowed */
    assert_state("foo=1", "bar=2", "foo=1,bar=2");
    assert_state("foo=1,", ",bar=2,", "foo=1,bar=2");
    assert_state("foo=1", "", "foo=1");
    assert_state("", NULL, "");
    /* blanks around members */
    assert_state("foo=1 \t , \t bar=2, \t baz=3", NULL, "foo=1,bar=2,baz=3");
    assert_state("foo=1\t \t,\t \tbar=2,\t \tbaz=3", NULL, "foo=1,bar=2,baz=3");
    assert_state(" foo=1", NULL, "foo=1");
    assert_state("foo=1\t ", NULL, "foo=1");
    /* duplicates are passed on */
    assert_state("foo=1,foo=2", NULL, "foo=1,foo=2");
    /* keys */
    assert_state("foo =1", NULL, "");
    assert_state("FOO=1", NULL, "");
    assert_state("foo.bar=1", NULL, "");
    assert_state("@foo=1,bar=2", NULL, "");
    assert_state("foo@vendor=1,0a*/-_@=2", NULL, "foo@vendor=1,0a*/-_@=2");
    assert_state("foo", NULL, "");
    assert_state("=1", NULL, "");
    /* values */
    assert_state("foo=bar=baz", NULL, "");
    assert_state("foo=,bar=3", NULL, "");
    assert_state("foo=a b!~", NULL, "foo=a b!~");
    assert_state("foo=\x01", NULL, "");
    assert_state("foo=\xc3\xa9", NULL, "");
    /* one invalid member ends all of them */
    assert_state("good=1", "BAD=2", "");
}

TEST(a_tracestate_has_at_most_32_members)
{
    char text[256] = "";
    for (unsigned i = 0; i < CW_TRACE_STATE_MEMBERS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%sb%u=%u", i ? "," : "", i, i);
    assert_state(text, NULL, text);
    snprintf(text + strlen(text), sizeof text - strlen(text), ",more=1");
    assert_state(text, NULL, "");
}

/* "k=vvv…", of so many bytes. */
static const char *member(char *out, const char *key, size_t n)
{
    memset(out, 'v', n);
    memcpy(out, key, strlen(key));
    out[strlen(key)] = '=';
    out[n] = '\0';
    return out;
}

TEST(keys_and_values_have_at_most_256_bytes)
{
    char text[600], key[300];
    memset(key, 'z', sizeof key);
    key[256] = '\0';
    snprintf(text, sizeof text, "%s=1", key);
    assert_state(text, NULL, text);
    key[256] = 'z';
    key[257] = '\0';
    snprintf(text, sizeof text, "%s=1", key);
    assert_state(text, NULL, "");
    assert_state(member(text, "k", 258), NULL, text);
    assert_state(member(text, "k", 259), NULL, "");
}

TEST(a_long_tracestate_loses_whole_members_first_the_long_ones)
{
    char a[300], b[300], c[300], d[300], text[2000], expected[2000];
    member(a, "a", 100);
    member(b, "b", 200);
    member(c, "c", 128);
    member(d, "d", 129);
    snprintf(text, sizeof text, "%s,%s,%s,%s", a, b, c, d);
    snprintf(expected, sizeof expected, "%s,%s,%s", a, b, c);
    assert_state(text, NULL, expected);
    /* without long ones, the last go */
    snprintf(text, sizeof text, "%s,%s,%s,%s,%s,%s", a, a, a, a, a, a);
    snprintf(expected, sizeof expected, "%s,%s,%s,%s,%s", a, a, a, a, a);
    assert_state(text, NULL, expected);
}

TEST(without_memory_there_is_no_tracestate)
{
    cw_arena a;
    cw_arena_init(&a, 0);
    assert_int_equal(read_states(&a, "foo=1", NULL).n, 0);
    cw_arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_traceparent_is_read_as_the_standard_has_it),
        cmocka_unit_test(a_traceparent_is_written_with_our_span),
        cmocka_unit_test(a_tracestate_is_read_as_the_standard_has_it),
        cmocka_unit_test(a_tracestate_has_at_most_32_members),
        cmocka_unit_test(keys_and_values_have_at_most_256_bytes),
        cmocka_unit_test(a_long_tracestate_loses_whole_members_first_the_long_ones),
        cmocka_unit_test(without_memory_there_is_no_tracestate),
    };
    return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}
