/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_id_scan.c - the id of a request, wherever it stands and however the request is cut. */
#include "json/id_scan.h"

#include "support/test.h"

static cw_json_id_scan scan;

/* The id of a message that comes in pieces of `step` bytes. */
static cw_str id_in_pieces(cw_str message, size_t step)
{
    cw_json_id_scan_init(&scan);
    for (size_t at = 0; at < message.n; at += step)
        cw_json_id_scan_add(
            &scan, cw_str_make(message.p + at, message.n - at < step ? message.n - at : step));
    return cw_json_id_scan_end(&scan);
}

/* `id` NULL: none is found. However the message is cut, the answer is the same. */
static void check(const char *message, const char *id)
{
    for (size_t step = 1; step <= strlen(message) + 1; step++) {
        cw_str found = id_in_pieces(cw_str_from(message), step);
        if (!id && found.p)
            fail_msg("%s: found %.*s", message, (int)found.n, found.p);
        if (id && (!found.p || !cw_str_is(found, id)))
            fail_msg("%s: expected %s, found %.*s", message, id, (int)found.n,
                     found.p ? found.p : "");
    }
}

TEST(the_id_of_a_request_is_found_wherever_it_stands)
{
    check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "1");
    check("{\"id\":-12,\"method\":\"ping\"}", "-12");
    check(" {\"id\" : 0 ,\"method\":\"ping\"}\r\n", "0");
    check("{\"method\":\"tools/"
          "call\",\"params\":{\"arguments\":{\"id\":5}},\"jsonrpc\":\"2.0\",\"id\":1}",
          "1");
    check("{\"params\":[{\"id\":7},[\"id\",8]],\"method\":\"m\",\"id\":\"last\"}", "\"last\"");
    check("{\"method\":\"m\",\"params\":\"{\\\"id\\\":3}\",\"id\":4}", "4");
    check("{\"params\":{},\"x\":[],\"y\":null,\"z\":-1.5e3,\"id\":9,\"method\":\"m\"}", "9");
}

TEST(an_id_keeps_its_spelling)
{
    check("{\"method\":\"m\",\"id\":\"a\\\"b\\\\\\u00e9\\n\"}", "\"a\\\"b\\\\\\u00e9\\n\"");
    check("{\"method\":\"m\",\"id\":\"\\ud83d\\ude00\"}", "\"\\ud83d\\ude00\"");
    check("{\"method\":\"m\",\"id\":\"\xC3\xA9\"}", "\"\xC3\xA9\"");
    check("{\"method\":\"m\",\"id\":\"\"}", "\"\"");
    check("{\"method\":\"m\",\"id\":123456789012345678901234567890}",
          "123456789012345678901234567890");
}

TEST(names_count_however_they_are_spelt)
{
    check("{\"\\u006dethod\":\"m\",\"\\u0069\\u0064\":2}", "2");
    check("{\"method\":\"m\",\"\\u0069d\":2,\"id\":3}", NULL);
    check("{\"\\u006D\\u0065\\u0074\\u0068\\u006f\\u0064\":\"m\",\"id\":2}", "2");
    check("{\"method\":\"m\",\"ID\":1,\"idx\":2,\"i\":3,\"\\\\id\":4,\"\\u0169d\":5}", NULL);
}

TEST(nested_repeated_and_response_ids_are_not_used)
{
    check("{\"method\":\"m\",\"params\":{\"id\":5}}", NULL);
    check("{\"id\":1,\"method\":\"m\",\"id\":1}", NULL);
    check("{\"id\":1,\"method\":\"m\",\"id\":null}", NULL);
    check("{\"id\":1,\"method\":\"m\",\"id\":2,\"id\":3}", NULL);
    check("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"method\":\"m\"}}", NULL);
    check("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"m\"}}", NULL);
    check("[{\"id\":1,\"method\":\"m\"}]", NULL);
    check("[1,{\"id\":1,\"method\":\"m\"}]", NULL);
}

TEST(only_strings_and_integers_are_ids)
{
    static const char *const values[] = {
        "null",     "true", "1.5",    "1.0",    "1e3",        "01",          "-",
        "+1",       "{}",   "[1]",    "\"\n\"", "\"\\x\"",    "\"\\u12g4\"", "\"\\ud800\"",
        "\"\xFF\"", "1 2",  "1\"a\"", "\"a\"1", "{\"id\":1}", "\"\\udc00\"", "\"\\ud800\\u0041\""};
    char message[80];
    for (size_t i = 0; i < CW_COUNT(values); i++) {
        snprintf(message, sizeof message, "{\"method\":\"m\",\"id\":%s}", values[i]);
        check(message, NULL);
    }
}

TEST(a_message_that_is_cut_off_or_broken_has_no_id)
{
    static const char whole[] = "{\"id\":1,\"method\":\"m\",\"params\":{\"a\":[1]}}";
    for (size_t n = 0; n + 1 < sizeof whole - 1; n++)
        assert_null(id_in_pieces(cw_str_make(whole, n), n + 1).p);
    static const char *const broken[] = {
        "",
        "{}",
        "{}}",
        "}",
        "\"id\"",
        "id",
        "{\"id\":1,\"method\":\"m\"}}",
        "{\"id\":1,\"method\":\"m\"} {\"id\":2}",
        "{\"id\":1,\"method\":\"m\"},",
        "{\"id\":1,\"method\":\"m\",\"a\":[}}",
        "{\"id\":1,\"method\":\"m\",\"a\":{]}",
        "{\"id\":1,\"method\":\"m\"]",
        "{\"id\":1 \"method\":\"m\"}",
        "{\"id\" 1,\"method\":\"m\"}",
        "{\"id\"::1,\"method\":\"m\"}",
        "{\"id\":1,,\"method\":\"m\"}",
        "{,\"id\":1,\"method\":\"m\"}",
        "{\"id\":1,\"method\":5}",
        "{\"id\":1,\"method\":\"m\" x}",
        "{x\"id\":1,\"method\":\"m\"}",
        "{\"method\":\"m\",\"id\":}",
    };
    for (size_t i = 0; i < CW_COUNT(broken); i++)
        check(broken[i], NULL);
}

/* {"method":"m","params":[[…]],"id":1} with so many brackets. */
static cw_str find_in_depth(size_t depth)
{
    char message[400];
    int n = snprintf(message, sizeof message, "{\"method\":\"m\",\"params\":");
    memset(message + n, '[', depth);
    memset(message + n + depth, ']', depth);
    snprintf(message + n + 2 * depth, sizeof message - (size_t)n - 2 * depth, ",\"id\":1}");
    return id_in_pieces(cw_str_from(message), 16);
}

TEST(depth_has_a_ceiling)
{
    assert_true(cw_str_is(find_in_depth(CW_JSON_MAX_DEPTH - 1), "1"));
    assert_null(find_in_depth(CW_JSON_MAX_DEPTH).p);
    assert_null(find_in_depth(CW_JSON_MAX_DEPTH + 60).p);
}

TEST(the_length_of_an_id_has_a_ceiling)
{
    char message[CW_JSON_ID_MAX * 3], id[CW_JSON_ID_MAX * 2];
    for (size_t n = CW_JSON_ID_MAX - 3; n < CW_JSON_ID_MAX + 3; n++) {
        memset(id, '7', n);
        id[n] = 0;
        snprintf(message, sizeof message, "{\"method\":\"m\",\"id\":%s}", id);
        check(message, n <= CW_JSON_ID_MAX ? id : NULL);
        id[0] = id[n - 1] = '"';
        snprintf(message, sizeof message, "{\"method\":\"m\",\"id\":%s}", id);
        check(message, n <= CW_JSON_ID_MAX ? id : NULL);
    }
}

TEST(long_keys_are_not_the_names_that_they_begin_with)
{
    char message[300];
    char key[200];
    memset(key, 'd', sizeof key);
    for (size_t n = 30; n < sizeof key; n += 13) {
        snprintf(message, sizeof message, "{\"i%.*s\":1,\"method\":\"m\",\"id\":2}", (int)n, key);
        check(message, "2");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_id_of_a_request_is_found_wherever_it_stands),
        cmocka_unit_test(an_id_keeps_its_spelling),
        cmocka_unit_test(names_count_however_they_are_spelt),
        cmocka_unit_test(nested_repeated_and_response_ids_are_not_used),
        cmocka_unit_test(only_strings_and_integers_are_ids),
        cmocka_unit_test(a_message_that_is_cut_off_or_broken_has_no_id),
        cmocka_unit_test(depth_has_a_ceiling),
        cmocka_unit_test(the_length_of_an_id_has_a_ceiling),
        cmocka_unit_test(long_keys_are_not_the_names_that_they_begin_with),
    };
    return cmocka_run_group_tests_name("id_scan", tests, NULL, NULL);
}
