/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "host/call.h"
#include "support/oom.h"
#include "support/test.h"

#define MAX_BODY 8192u

static cw_plugin_method declared;

/* Run `fn` as a method with these arguments; the answer without the head that all have in common.
 */
static const char *answer(cw_plugin_function fn, const char *params)
{
    static char text[2 * MAX_BODY];
    static const cw_hosted_param wanted[] = {
        {.decl = &declared.params[0], .name = CW_STR_INIT("must")},
    };
    declared = (cw_plugin_method){.run = fn, .params = {{.name = "must", .required = true}}};
    cw_hosted_method method = {.decl = &declared, .id = CW_STR("a.b")};
    bool needs = strstr(params, "NEEDS") != NULL;
    method.params = wanted;
    method.n_params = needs ? 1 : 0;
    cw_wire wire;
    cw_arena arena;
    const cw_json *root;
    char request[MAX_BODY];
    snprintf(request, sizeof(request),
             "{\"params\":%s,\"caller\":{\"id\":7,\"name\":\"eve\",\"permissions\":[\"a\",\"b c\"],"
             "\"language\":\"de\"}}",
             params);
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_wire_init(&wire, -1, MAX_BODY, NULL), CW_OK);
    assert_int_equal(cw_json_read(cw_str_from(request), NULL, &arena, &root, NULL, NULL), CW_OK);
    cw_call call = {
        .wire = &wire,
        .arena = &arena,
        .method = &method,
        .params = cw_json_get(root, CW_STR("params")),
        .caller = cw_json_get(root, CW_STR("caller")),
        .id = 5,
    };
    cw_call_run(&call);
    uint32_t n;
    memcpy(&n, wire.out.p, sizeof(n));
    assert_int_equal(wire.out.n, n + CW_WIRE_HEAD);
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":5,\"";
    assert_memory_equal(wire.out.p + CW_WIRE_HEAD, head, sizeof(head) - 1);
    snprintf(text, sizeof(text), "%.*s", (int)(n - sizeof(head) + 1),
             wire.out.p + CW_WIRE_HEAD + sizeof(head) - 1);
    cw_arena_done(&arena);
    cw_wire_done(&wire);
    return text;
}

#define INTERNAL "error\":{\"code\":-32603,\"message\":\"Internal error\"}}"

static void put_nothing(cw_call *call)
{
    (void)call;
}

static void put_all(cw_call *call)
{
    cw_open_object(call, NULL);
    cw_put_text(call, "text", "a\"b");
    cw_put_string(call, "string", "x\0y", 3);
    cw_put_format(call, "format", "%d-%s", 7, "z");
    cw_put_int(call, "int", INT64_MIN);
    cw_put_double(call, "double", 0.1);
    cw_put_double(call, "nan", (double)NAN);
    cw_put_bool(call, "bool", true);
    cw_put_null(call, "null");
    cw_put_text(call, "none", NULL);
    cw_put_json(call, "json", " [1, 2] ");
    cw_put_value(call, "value", cw_arg(call, "v"));
    cw_put_value(call, "absent", cw_arg(call, "w"));
    cw_open_array(call, "empty");
    cw_close(call);
    cw_close(call);
}

TEST(everything_can_be_put)
{
    assert_string_equal(answer(put_nothing, "{}"), "result\":null}");
    assert_string_equal(
        answer(put_all, "{\"v\":{\"k\":1e2}}"),
        "result\":{\"text\":\"a\\\"b\",\"string\":\"x\\u0000y\",\"format\":\"7-z\","
        "\"int\":-9223372036854775808,\"double\":0.1,\"nan\":null,\"bool\":true,\"null\":null,"
        "\"none\":null,\"json\":[1, 2],\"value\":{\"k\":1e2},\"absent\":null,\"empty\":[]}}");
}

static void put_large(cw_call *call)
{
    size_t n = (size_t)cw_arg_int(call, "n", 0);
    char *text = malloc(n + 1);
    memset(text, 'x', n);
    cw_put_string(call, NULL, text, n);
    free(text);
}

TEST(a_result_has_a_ceiling)
{
    char params[32];
    const size_t around = strlen("{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":\"\"}");
    snprintf(params, sizeof(params), "{\"n\":%zu}", MAX_BODY - around);
    assert_int_equal(strncmp(answer(put_large, params), "result", 6), 0);
    snprintf(params, sizeof(params), "{\"n\":%zu}", MAX_BODY - around + 1);
    assert_string_equal(
        answer(put_large, params),
        "error\":{\"code\":-32603,\"message\":\"result is larger than 8192 bytes\"}}");
    /* Far beyond what the buffer takes. */
    assert_string_equal(
        answer(put_large, "{\"n\":1000000}"),
        "error\":{\"code\":-32603,\"message\":\"result is larger than 8192 bytes\"}}");
}

static void put_keyless(cw_call *call)
{
    cw_open_object(call, NULL);
    cw_put_int(call, NULL, 1);
    cw_close(call);
}

static void put_keyed(cw_call *call)
{
    cw_open_array(call, NULL);
    cw_open_object(call, "k");
    cw_close(call);
}

static void put_twice(cw_call *call)
{
    cw_put_int(call, NULL, 1);
    cw_open_array(call, NULL);
}

static void put_open(cw_call *call)
{
    cw_open_array(call, NULL);
}

static void put_closed(cw_call *call)
{
    assert_false(cw_call_has_failed(call));
    cw_close(call);
    assert_true(cw_call_has_failed(call));
}

static void put_duplicate(cw_call *call)
{
    cw_open_object(call, NULL);
    cw_put_int(call, "a", 1);
    cw_put_int(call, "a", 1);
    cw_close(call);
}

static void put_raw(cw_call *call)
{
    cw_open_array(call, NULL);
    cw_put_json(call, NULL, cw_arg_text(call, "json", ""));
    cw_close(call);
}

static void put_deep(cw_call *call)
{
    int64_t depth = cw_arg_int(call, "depth", 1);
    for (int64_t i = 0; i < depth; i++)
        cw_open_array(call, NULL);
    for (int64_t i = 0; i < depth; i++)
        cw_close(call);
}

TEST(a_misused_writer_is_an_internal_error)
{
    assert_string_equal(answer(put_keyless, "{}"), INTERNAL);
    assert_string_equal(answer(put_keyed, "{}"), INTERNAL);
    assert_string_equal(answer(put_twice, "{}"), INTERNAL);
    assert_string_equal(answer(put_open, "{}"), INTERNAL);
    assert_string_equal(answer(put_closed, "{}"), INTERNAL);
    assert_string_equal(answer(put_duplicate, "{}"), INTERNAL);
    assert_string_equal(answer(put_raw, "{\"json\":\"1,2\"}"), INTERNAL);
    assert_string_equal(answer(put_raw, "{\"json\":\"\"}"), INTERNAL);
    assert_string_equal(answer(put_raw, "{\"json\":\"{\\\"a\\\":1,\\\"a\\\":1}\"}"), INTERNAL);
    assert_string_equal(answer(put_raw, "{\"json\":\"true\"}"), "result\":[true]}");
    assert_int_equal(strncmp(answer(put_deep, "{\"depth\":63}"), "result", 6), 0);
    assert_string_equal(answer(put_deep, "{\"depth\":64}"), INTERNAL);
    assert_string_equal(answer(put_deep, "{\"depth\":200}"), INTERNAL);
}

static void fail_plain(cw_call *call)
{
    cw_open_object(call, NULL);
    cw_put_int(call, "dropped", 1);
    cw_error(call, -32001, "no %s", "luck");
    assert_true(cw_call_has_failed(call));
}

static void fail_with_data(cw_call *call)
{
    cw_error(call, 1, "first");
    cw_error(call, 2, "second");
    cw_open_object(call, NULL);
    cw_put_int(call, "nid", 5);
    cw_close(call);
}

static void fail_with_bad_data(cw_call *call)
{
    cw_error(call, 2, "stays");
    cw_open_object(call, NULL);
}

TEST(errors_take_the_place_of_a_result)
{
    assert_string_equal(answer(fail_plain, "{}"),
                        "error\":{\"code\":-32001,\"message\":\"no luck\"}}");
    assert_string_equal(answer(fail_with_data, "{}"),
                        "error\":{\"code\":2,\"message\":\"second\",\"data\":{\"nid\":5}}}");
    assert_string_equal(answer(fail_with_bad_data, "{}"),
                        "error\":{\"code\":2,\"message\":\"stays\"}}");
}

static void read_all(cw_call *call)
{
    size_t n;
    assert_string_equal(cw_arg_text(call, "s", "-"), "grün");
    assert_string_equal(cw_arg_text(call, "none", "-"), "-");
    assert_string_equal(cw_arg_text(call, "null", "-"), "-");
    assert_string_equal(cw_arg_text(call, "/deep/list/1/x", "-"), "y");
    assert_memory_equal(cw_arg_string(call, "nul", &n), "a\0b", 4);
    assert_int_equal(n, 3);
    assert_null(cw_arg_string(call, "none", &n));
    assert_int_equal(n, 0);
    assert_int_equal(cw_arg_int(call, "i", 0), 1000);
    assert_int_equal(cw_arg_int(call, "none", -3), -3);
    assert_true(cw_arg_double(call, "d", 0) > 2.49 && cw_arg_double(call, "d", 0) < 2.51);
    assert_true(cw_arg_bool(call, "t", false));
    assert_false(cw_arg_bool(call, "f", true));
    assert_true(cw_arg_bool(call, "none", true));
    assert_true(cw_arg_has(call, "null"));
    assert_false(cw_arg_has(call, "none"));
    assert_string_equal(cw_arg_json(call, "deep"), "{\"list\": [1,{\"x\":\"y\"}]}");
    assert_null(cw_arg_json(call, "none"));
    assert_int_equal(cw_arg_count(call, "/deep/list"), 2);
    assert_int_equal(cw_arg_count(call, "s"), 0);
    assert_int_equal(cw_value_type(cw_arg(call, "")), CW_TYPE_OBJECT);
    assert_int_equal(cw_value_type(cw_arg(call, "none")), CW_TYPE_ABSENT);
    assert_int_equal(cw_value_type(cw_arg(call, "f")), CW_TYPE_BOOL);
    assert_false(cw_call_has_failed(call));
}

TEST(arguments_are_found_by_name_and_by_pointer)
{
    assert_string_equal(
        answer(read_all, "{\"s\":\"gr\\u00fcn\",\"null\":null,\"nul\":\"a\\u0000b\",\"i\":1e3,"
                         "\"d\":2.5,\"t\":true,\"f\":false,"
                         "\"deep\":{\"list\": [1,{\"x\":\"y\"}]}}"),
        "result\":null}");
}

static void walk(cw_call *call)
{
    char seen[64] = "";
    size_t n = 0;
    for (const cw_value *v = cw_value_first(cw_arg(call, "m")); v; v = cw_value_next(v))
        n += (size_t)snprintf(seen + n, sizeof(seen) - n, "%s=%d;", cw_value_key(call, v),
                              (int)cw_value_int(call, v, 0));
    for (const cw_value *v = cw_value_first(cw_arg(call, "l")); v; v = cw_value_next(v)) {
        assert_null(cw_value_key(call, v));
        n += (size_t)snprintf(seen + n, sizeof(seen) - n, "%s,",
                              cw_value_text(call, cw_value_get(v, "k"), "?"));
    }
    assert_null(cw_value_first(cw_arg(call, "none")));
    assert_null(cw_value_first(cw_arg(call, "e")));
    assert_null(cw_value_next(NULL));
    assert_null(cw_value_get(NULL, "x"));
    cw_result_text(call, seen);
}

TEST(containers_can_be_walked)
{
    assert_string_equal(
        answer(walk, "{\"m\":{\"a\":1,\"b\":2},\"l\":[{\"k\":\"x\"},{\"k\":\"y\"},{}],\"e\":[]}"),
        "result\":\"a=1;b=2;x,y,?,\"}");
}

static void read_wrong(cw_call *call)
{
    const char *as = cw_arg_text(call, "as", "");
    if (strcmp(as, "text") == 0)
        assert_string_equal(cw_arg_text(call, "/l/1/v", "-"), "-");
    if (strcmp(as, "int") == 0)
        assert_int_equal(cw_arg_int(call, "/l/1/v", 9), 9);
    if (strcmp(as, "double") == 0)
        assert_int_equal((int)cw_arg_double(call, "/l/1/v", 9), 9);
    if (strcmp(as, "bool") == 0)
        assert_true(cw_arg_bool(call, "/l/1/v", true));
    assert_true(cw_call_has_failed(call));
    cw_result_text(call, "too late");
    if (cw_arg_has(call, "own"))
        cw_error(call, 3, "my own");
}

TEST(a_wrong_type_fails_the_call)
{
    static const struct {
        const char *as;
        const char *value;
        const char *problem;
    } cases[] = {
        {"text", "7", "expected string, got number"},
        {"text", "\"a\\u0000\"", "contains U+0000"},
        {"int", "\"7\"", "expected integer, got string"},
        {"int", "7.5", "expected integer"},
        {"int", "1e30", "integer out of range"},
        {"double", "1e999", "number out of range"},
        {"double", "[]", "expected number, got array"},
        {"bool", "0", "expected boolean, got number"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char params[128];
        char expected[256];
        snprintf(params, sizeof(params), "{\"as\":\"%s\",\"l\":[0,{\"v\":%s}]}", cases[i].as,
                 cases[i].value);
        snprintf(expected, sizeof(expected),
                 "error\":{\"code\":-32602,\"message\":\"Invalid params\","
                 "\"data\":\"/l/1/v: %s\"}}",
                 cases[i].problem);
        assert_string_equal(answer(read_wrong, params), expected);
    }
    assert_string_equal(answer(read_wrong, "{\"own\":1,\"as\":\"int\",\"l\":[0,{\"v\":[]}]}"),
                        "error\":{\"code\":3,\"message\":\"my own\"}}");
}

TEST(a_missing_parameter_keeps_the_method_from_running)
{
    assert_string_equal(answer(fail_plain, "{\"NEEDS\":1}"),
                        "error\":{\"code\":-32602,\"message\":\"Invalid params\","
                        "\"data\":\"Missing required parameter: must\"}}");
    assert_string_equal(answer(put_nothing, "{\"NEEDS\":1,\"must\":null}"), "result\":null}");
}

static void say_caller(cw_call *call)
{
    assert_true(cw_caller_may(call, "b c"));
    assert_false(cw_caller_may(call, "b"));
    assert_null(cw_caller_permission(call, 2));
    cw_result_format(call, "%s %s %s %s", cw_caller_id(call), cw_caller_name(call),
                     cw_caller_language(call), cw_caller_permission(call, 1));
}

TEST(the_caller_is_known)
{
    assert_string_equal(answer(say_caller, "{}"), "result\":\"7 eve de b c\"}");
}

static void use_memory(cw_call *call)
{
    cw_open_array(call, NULL);
    cw_put_text(call, NULL, cw_arg_text(call, "s", ""));
    for (int i = 0; i < 6; i++)
        cw_put_format(call, NULL, "%900d", i);
    cw_put_json(call, NULL, "{\"a\":[]}");
    cw_close(call);
}

static void run_once(void *ctx)
{
    cw_arena *arena = ctx;
    cw_wire wire;
    const cw_json *root;
    declared = (cw_plugin_method){.run = use_memory};
    cw_hosted_method method = {.decl = &declared, .id = CW_STR("a.b")};
    cw_arena_init(arena, 1 << 20);
    if (cw_wire_init(&wire, -1, MAX_BODY, NULL) == CW_OK) {
        cw_str request = CW_STR("{\"params\":{\"s\":\"x\"}}");
        if (cw_json_read(request, NULL, arena, &root, NULL, NULL) == CW_OK) {
            cw_call call = {.wire = &wire,
                            .arena = arena,
                            .method = &method,
                            .params = cw_json_get(root, CW_STR("params")),
                            .id = 5};
            cw_call_run(&call);
            cw_buf_add_char(&wire.out, '\0');
            const char *body = wire.out.p + CW_WIRE_HEAD;
            assert_int_equal(strstr(body, "out of memory") != NULL, oom_was_hit());
            assert_int_equal(strstr(body, "result") != NULL, !oom_was_hit());
        }
        cw_wire_done(&wire);
    }
    cw_arena_done(arena);
}

TEST(a_call_survives_every_failed_allocation)
{
    cw_arena arena;
    assert_true(oom_each(run_once, &arena) >= 6);
}

static void put_echo(cw_call *call)
{
    cw_open_object(call, NULL);
    cw_put_text(call, "message", cw_arg_text(call, "message", ""));
    cw_put_format(call, "caller", "%s", cw_caller_name(call));
    cw_close(call);
}

TEST(a_warm_call_asks_for_no_memory)
{
    cw_arena arena;
    cw_wire wire;
    declared = (cw_plugin_method){.run = put_echo};
    cw_hosted_method method = {.decl = &declared, .id = CW_STR("a.b")};
    cw_arena_init(&arena, 1 << 20);
    arena.next_block = CW_ARENA_BLOCK_MAX; /* as serve.c does */
    assert_int_equal(cw_wire_init(&wire, -1, MAX_BODY, NULL), CW_OK);
    for (int i = 0; i < 3; i++) {
        const cw_json *root;
        oom_reset();
        cw_arena_reset(&arena);
        cw_str request = CW_STR("{\"params\":{\"message\":\"hi\"},\"caller\":{\"name\":\"eve\"}}");
        assert_int_equal(cw_json_read(request, NULL, &arena, &root, NULL, NULL), CW_OK);
        cw_call call = {.wire = &wire,
                        .arena = &arena,
                        .method = &method,
                        .params = cw_json_get(root, CW_STR("params")),
                        .caller = cw_json_get(root, CW_STR("caller"))};
        cw_call_run(&call);
        cw_wire_flush(&wire);
        if (i > 0)
            assert_int_equal(oom_count(), 0);
    }
    cw_wire_done(&wire);
    cw_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_can_be_put),
        cmocka_unit_test(a_result_has_a_ceiling),
        cmocka_unit_test(a_misused_writer_is_an_internal_error),
        cmocka_unit_test(errors_take_the_place_of_a_result),
        cmocka_unit_test(arguments_are_found_by_name_and_by_pointer),
        cmocka_unit_test(containers_can_be_walked),
        cmocka_unit_test(a_wrong_type_fails_the_call),
        cmocka_unit_test(a_missing_parameter_keeps_the_method_from_running),
        cmocka_unit_test(the_caller_is_known),
        cmocka_unit_test(a_warm_call_asks_for_no_memory),
        cmocka_unit_test(a_call_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("call", tests, NULL, NULL);
}
