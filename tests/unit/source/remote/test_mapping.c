/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is shown of a method's params, what is sent for them, and which part of a result counts. */
#include "support/json_fixture.h"
#include "support/oom.h"
#include "support/temp_dir.h"

#include "source/remote/mapping.h"

static cw_arena arena;

SETUP(make_arena)
{
    cw_arena_init(&arena, 4 << 20);
    return 0;
}

TEARDOWN(free_arena)
{
    cw_arena_done(&arena);
    return 0;
}

static const cw_param found[] = {
    {.name = CW_STR_INIT("token"),
     .description = CW_STR_INIT(""),
     .schema = CW_STR_INIT("{\"type\":\"string\"}"),
     .is_required = true},
    {.name = CW_STR_INIT("gid"),
     .description = CW_STR_INIT("which"),
     .schema = CW_STR_INIT("{\"type\":\"string\"}"),
     .is_required = true},
    {.name = CW_STR_INIT("keys"), .description = CW_STR_INIT(""), .schema = CW_STR_INIT("")},
};

static const cw_param spread[] = {
    {.name = CW_STR_INIT("params"),
     .description = CW_STR_INIT(""),
     .schema = CW_STR_INIT("{\"type\":[\"array\",\"object\"],\"x-spread\":true}")},
};

static cw_protocol_opts speech_of(cw_params_style style)
{
    return (cw_protocol_opts){.dialect = cw_dialect_find(CW_STR("2.0")),
                              .params = style,
                              .secret_first = CW_STR(""),
                              .secret_member = CW_STR("")};
}

static cw_method method_of(const cw_param *params, size_t n)
{
    return (cw_method){.id = CW_STR("m"),
                       .params = params,
                       .n_params = n,
                       .takes_any_params = params == spread,
                       .input = CW_STR("{\"x\":1}"),
                       .output = CW_STR("{\"type\":\"object\"}")};
}

static const cw_method *planned; /* by the last plan_of */

static const cw_param_map *plan_of(const cw_protocol_opts *s, const cw_config_overlay *o,
                                   cw_method *m)
{
    const cw_param_map *map = NULL;
    cw_err err = {0};
    if (cw_param_map_make(s, o, m, &arena, &map, &err))
        fail_msg("%s", err.msg);
    planned = m;
    return map;
}

/* The values of the params that the last plan shows. */
static const cw_json *const *values_of(const char *arguments)
{
    const cw_json *root = NULL;
    const cw_json_opts opts = {.max_depth = CW_JSON_DEPTH_CEILING};
    if (arguments[0] && cw_json_read(cw_str_from(arguments), &opts, &arena, &root, NULL, NULL))
        fail_msg("%s", arguments);
    const cw_json **values = cw_arena_calloc(&arena, planned->n_params + 1, sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < planned->n_params; i++)
        values[i] = cw_json_get(root, planned->params[i].name);
    return values;
}

static cw_code apply(const cw_param_map *map, const char *arguments, cw_str *ret,
                     cw_continuation *ret_part, cw_err *err)
{
    return cw_param_map_apply(map, values_of(arguments), &arena, ret, ret_part, err);
}

static const cw_continuation first_part = {.is_given = false};

static void assert_sent(const cw_param_map *map, const char *arguments, const char *expected)
{
    cw_str out = CW_STR("?");
    cw_err err = {0};
    cw_continuation part;
    if (apply(map, arguments, &out, &part, &err))
        fail_msg("%s", err.msg);
    assert_str(out, expected);
}

static const cw_config_overlay nothing = {.tool = true};

/* ---- plans ---- */

TEST(where_nothing_is_to_be_done_there_is_no_plan)
{
    cw_protocol_opts s = speech_of(CW_PARAMS_NAMED);
    cw_method m = method_of(found, 3);
    assert_null(plan_of(&s, &nothing, &m));
    assert_ptr_equal(m.params, found);
    assert_str(m.output, "{\"type\":\"object\"}");
    const cw_config_overlay typed = {.output = CW_STR_INIT("{\"type\":\"array\"}")};
    assert_null(plan_of(&s, &typed, &m));
    assert_str(m.output, "{\"type\":\"array\"}");
}

TEST(an_overlay_fixes_hides_renames_and_presets)
{
    const cw_config_param items[] = {
        {.name = CW_STR("token"), .value = CW_STR("\"x\"")},
        {.name = CW_STR("keys"),
         .rename = CW_STR("fields"),
         .description = CW_STR("what"),
         .schema = CW_STR("{\"type\":\"array\"}"),
         .default_value = CW_STR("[\"a\"]")},
        {.name = CW_STR("own"), .schema = CW_STR("{\"type\":\"number\"}"), .required = true},
        {.name = CW_STR("flag"), .value = CW_STR("true")},
    };
    const cw_config_overlay o = {.params = {items, CW_COUNT(items)}};
    cw_protocol_opts s = speech_of(CW_PARAMS_NAMED);
    cw_method m = method_of(found, 3);
    const cw_param_map *map = plan_of(&s, &o, &m);
    assert_int_equal(m.n_params, 3);
    assert_str(m.params[0].name, "gid");
    assert_str(m.params[0].description, "which");
    assert_str(m.params[1].name, "fields");
    assert_str(m.params[1].description, "what");
    assert_true(str_has(m.params[1].schema, "\"array\""));
    assert_str(cw_json_span(m.params[1].default_value), "[\"a\"]");
    assert_str(m.params[2].name, "own");
    assert_true(m.params[2].is_required);
    assert_str(m.input, ""); /* it spoke of other names */
    assert_sent(map, "{\"gid\":\"g\",\"fields\":[1],\"own\":2,\"token\":\"mine\"}",
                "{\"token\":\"x\",\"gid\":\"g\",\"keys\":[1],\"own\":2,\"flag\":true}");
    assert_sent(map, "{\"gid\":\"g\",\"keys\":\"not its name here\"}",
                "{\"token\":\"x\",\"gid\":\"g\",\"keys\":[\"a\"],\"flag\":true}");
    assert_sent(map, "", "{\"token\":\"x\",\"keys\":[\"a\"],\"flag\":true}");
}

TEST(a_hidden_param_is_sent_only_with_a_default)
{
    const cw_config_param items[] = {
        {.name = CW_STR("token"), .hidden = true},
        {.name = CW_STR("keys"), .hidden = true, .default_value = CW_STR("1")},
    };
    const cw_config_overlay o = {.params = {items, CW_COUNT(items)}};
    cw_protocol_opts s = speech_of(CW_PARAMS_NAMED);
    cw_method m = method_of(found, 3);
    const cw_param_map *map = plan_of(&s, &o, &m);
    assert_int_equal(m.n_params, 1);
    assert_sent(map, "{\"token\":\"t\",\"keys\":2,\"gid\":\"g\"}", "{\"gid\":\"g\",\"keys\":1}");
}

TEST(what_makes_no_sense_is_named)
{
    static const struct {
        cw_config_param param;
        cw_str result;
        const char *part;
    } bad[] = {
        {{.name = CW_STR_INIT("kyes")}, CW_STR_INIT(""), "no 'kyes'; did you mean 'keys'?"},
        {{.name = CW_STR_INIT("something")}, CW_STR_INIT(""), "a schema would declare it"},
        {{.name = CW_STR_INIT("keys"), .rename = CW_STR_INIT("gid")},
         CW_STR_INIT(""),
         "two params have the name 'gid'"},
        {{.name = CW_STR_INIT("keys")}, CW_STR_INIT("a/b"), "JSON Pointer"},
    };
    cw_protocol_opts s = speech_of(CW_PARAMS_NAMED);
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        const cw_config_overlay o = {.params = {&bad[i].param, 1}, .result = bad[i].result};
        cw_method m = method_of(found, 3);
        const cw_param_map *map = NULL;
        cw_err err = {0};
        assert_int_equal(cw_param_map_make(&s, &o, &m, &arena, &map, &err), CW_PARAMS);
        if (!strstr(err.msg, bad[i].part))
            fail_msg("%s", err.msg);
        assert_null(map);
    }
}

/* ---- styles ---- */

TEST(positions_are_filled_as_far_as_they_must)
{
    const cw_config_param items[] = {{.name = CW_STR("gid"), .default_value = CW_STR("\"all\"")}};
    const cw_config_overlay preset = {.params = {items, 1}};
    cw_protocol_opts s = speech_of(CW_PARAMS_POSITIONAL);
    cw_method m = method_of(found, 3);
    const cw_param_map *map = plan_of(&s, &nothing, &m);
    assert_str(m.input, "{\"x\":1}");
    assert_sent(map, "{\"gid\":\"g\",\"token\":\"t\"}", "[\"t\",\"g\"]");
    assert_sent(map, "{\"keys\":[1]}", "[null,null,[1]]");
    assert_sent(map, "{\"token\":null}", "[null]");
    assert_sent(map, "{}", "");
    s.sends_empty = true;
    assert_sent(map, "", "[]");
    m = method_of(found, 3);
    map = plan_of(&s, &preset, &m);
    assert_sent(map, "{\"keys\":1}", "[null,\"all\",1]");
    /* A method may say by itself that it wants a list. */
    cw_protocol_opts named = speech_of(CW_PARAMS_NAMED);
    m = method_of(found, 3);
    m.by_position = true;
    map = plan_of(&named, &nothing, &m);
    assert_false(m.by_position);
    assert_sent(map, "{\"token\":1}", "[1]");
}

TEST(mixed_params_are_a_list_and_then_names)
{
    cw_protocol_opts s = speech_of(CW_PARAMS_MIXED);
    cw_method m = method_of(found, 3);
    const cw_param_map *map = plan_of(&s, &nothing, &m);
    assert_sent(map, "{\"token\":1,\"gid\":2,\"keys\":3}", "{\"args\":[1,2,3]}");
    assert_sent(map, "{\"token\":1,\"keys\":3}", "{\"args\":[1],\"keys\":3}");
    assert_sent(map, "{\"keys\":3}", "{\"keys\":3}");
    assert_sent(map, "{}", "");
    s.secret_member = CW_STR("\"auth\":\"s\"");
    assert_sent(map, "{\"token\":1}", "{\"args\":[1],\"auth\":\"s\"}");
    s.secret_first = CW_STR("\"f\"");
    assert_sent(map, "{\"keys\":3}", "{\"args\":[\"f\"],\"keys\":3,\"auth\":\"s\"}");
}

TEST(secrets_go_where_they_are_wanted)
{
    cw_protocol_opts first = speech_of(CW_PARAMS_POSITIONAL);
    first.secret_first = CW_STR("\"token:s\"");
    cw_method m = method_of(found + 1, 2);
    const cw_param_map *map = plan_of(&first, &nothing, &m);
    assert_sent(map, "{\"gid\":\"g\"}", "[\"token:s\",\"g\"]");
    assert_sent(map, "", "[\"token:s\"]");
    cw_protocol_opts member = speech_of(CW_PARAMS_NAMED);
    member.secret_member = CW_STR("\"auth\":\"s\"");
    m = method_of(found + 1, 2);
    map = plan_of(&member, &nothing, &m);
    assert_sent(map, "{\"gid\":\"g\",\"auth\":\"mine\"}", "{\"gid\":\"g\",\"auth\":\"s\"}");
    assert_sent(map, "{}", "{\"auth\":\"s\"}");
}

TEST(a_method_of_which_nothing_is_known_takes_anything)
{
    cw_protocol_opts s = speech_of(CW_PARAMS_POSITIONAL);
    s.secret_first = CW_STR("\"f\"");
    cw_method m = method_of(spread, 1);
    const cw_param_map *map = plan_of(&s, &nothing, &m);
    assert_int_equal(m.n_params, 1);
    assert_str(m.params[0].schema, "{\"type\":\"array\"}"); /* our mark is not shown */
    assert_false(m.takes_any_params);
    assert_sent(map, "{\"params\":[1,{}]}", "[\"f\",1,{}]");
    assert_sent(map, "{}", "[\"f\"]");
    assert_sent(map, "{\"params\":{\"a\\\"\":1,\"b\":2}}", "{\"a\\\"\":1,\"b\":2}");
    cw_protocol_opts named = speech_of(CW_PARAMS_NAMED);
    named.secret_member = CW_STR("\"k\":1");
    m = method_of(spread, 1);
    map = plan_of(&named, &nothing, &m);
    assert_str(m.params[0].schema, "{\"type\":[\"array\",\"object\"]}");
    assert_sent(map, "{\"params\":{\"a\":1}}", "{\"a\":1,\"k\":1}");
    assert_sent(map, "", "{\"k\":1}");
    assert_sent(map, "{\"params\":[5]}", "[5]");
    /* Whoever declares its params knows them. */
    const cw_config_param items[] = {{.name = CW_STR("x"), .schema = CW_STR("{}")}};
    const cw_config_overlay o = {.params = {items, 1}};
    m = method_of(spread, 1);
    map = plan_of(&s, &o, &m);
    assert_int_equal(m.n_params, 1);
    assert_str(m.params[0].name, "x");
    assert_sent(map, "{\"x\":1}", "[\"f\",1]");
}

/* ---- results ---- */

static cw_outcome result_of(const char *json)
{
    return (cw_outcome){.kind = CW_OUTCOME_RESULT, .result = json_of(&arena, json)};
}

static const cw_param_map *result_plan(const char *pointer, size_t size, bool read_only,
                                       cw_method *m)
{
    static cw_protocol_opts s;
    s = speech_of(CW_PARAMS_NAMED);
    const cw_config_overlay o = {
        .result = cw_str_from(pointer), .result_size = size, .read_only = read_only};
    *m = method_of(found + 1, 1);
    return plan_of(&s, &o, m);
}

TEST(the_part_that_counts_is_given)
{
    cw_method m;
    const cw_param_map *map = result_plan("/a/0", 0, false, &m);
    assert_str(m.output, "");
    cw_outcome o = result_of("{\"a\":[{\"b\":1}]}");
    cw_param_map_result(map, &first_part, &arena, &o);
    assert_int_equal(o.kind, CW_OUTCOME_RESULT);
    assert_str(cw_json_span(o.result), "{\"b\":1}");
    o = result_of("{}");
    cw_param_map_result(map, &first_part, &arena, &o);
    assert_int_equal(o.kind, CW_OUTCOME_ERROR);
    assert_str(o.message, "The result of the service has no /a/0.");
}

/* Ask until there is no continuation, and put the parts together: items or texts. */
static unsigned walk(const cw_param_map *map, const char *json, cw_buf *all)
{
    char arguments[200] = "{\"gid\":\"g\"}";
    for (unsigned n = 1; n < 100; n++) {
        cw_outcome o = result_of(json);
        cw_str sent;
        cw_continuation part;
        assert_int_equal(apply(map, arguments, &sent, &part, NULL), CW_OK);
        assert_str(sent, "{\"gid\":\"g\"}");
        cw_param_map_result(map, &part, &arena, &o);
        assert_int_equal(o.kind, CW_OUTCOME_RESULT);
        const cw_json *items = cw_json_get(o.result, CW_STR("items"));
        const cw_json *text = cw_json_get(o.result, CW_STR("text"));
        for (const cw_json *v = items ? cw_json_first(items) : NULL; v; v = cw_json_next(v))
            cw_buf_printf(all, "%.*s ", CW_STR_ARG(cw_json_span(v)));
        if (text)
            cw_buf_add(all, cw_json_text(text));
        const cw_json *next = cw_json_get(o.result, CW_STR("continuation"));
        if (!next)
            return n;
        snprintf(arguments, sizeof arguments, "{\"gid\":\"g\",\"continuation\":\"%.*s\"}",
                 CW_STR_ARG(cw_json_text(next)));
    }
    fail();
    return 0;
}

TEST(large_results_come_in_parts)
{
    CW_CLEANUP(cw_buf_done) cw_buf all;
    cw_method m;
    cw_buf_init(&all, 10000);
    const cw_param_map *map = result_plan("", 10, true, &m);
    assert_int_equal(m.n_params, 2);
    assert_str(m.params[1].name, "continuation");
    assert_str(m.input, "");
    assert_int_equal(walk(map, "[1,22,333,4444,55555555555555555,6]", &all), 4);
    assert_str(cw_buf_str(&all), "1 22 333 4444 55555555555555555 6 ");
    cw_buf_clear(&all);
    assert_int_equal(walk(map, "\"0123456789abcdefghi\xc3\xa4k\"", &all), 3);
    assert_str(cw_buf_str(&all), "0123456789abcdefghi\xc3\xa4k");
    cw_buf_clear(&all);
    assert_true(walk(map, "{\"a\":[1,2,3],\"b\":{}}", &all) > 1);
    assert_str(cw_buf_str(&all), "{\"a\":[1,2,3],\"b\":{}}");
    /* What fits comes as it is. */
    cw_outcome o = result_of("[1,2]");
    cw_param_map_result(map, &first_part, &arena, &o);
    assert_str(cw_json_span(o.result), "[1,2]");
}

TEST(a_budget_below_a_character_loses_nothing)
{
    CW_CLEANUP(cw_buf_done) cw_buf all;
    cw_method m;
    cw_buf_init(&all, 10000);
    const cw_param_map *map = result_plan("", 1, true, &m);
    walk(map, "\"\xf0\x9f\x98\x80\xe2\x82\xac\xc3\xa4x\"", &all);
    assert_str(cw_buf_str(&all), "\xf0\x9f\x98\x80\xe2\x82\xac\xc3\xa4x");
}

TEST(what_may_change_something_is_cut_and_says_so)
{
    cw_method m;
    const cw_param_map *map = result_plan("", 5, false, &m);
    assert_int_equal(m.n_params, 1);
    cw_outcome o = result_of("[11,22,33,44]");
    cw_str sent;
    cw_continuation part;
    assert_int_equal(apply(map, "{\"continuation\":\"x\"}", &sent, &part, NULL), CW_OK);
    cw_param_map_result(map, &part, &arena, &o);
    assert_str(cw_json_span(o.result), "{\"items\":[11],\"total\":4,\"truncated\":true}");
    /* The mark of a method says it as well. */
    const cw_mark reads = {.is_read_only = true};
    const cw_config_overlay overlay = {.result_size = 5};
    cw_protocol_opts s = speech_of(CW_PARAMS_NAMED);
    m = method_of(found + 1, 1);
    m.mark = &reads;
    plan_of(&s, &overlay, &m);
    assert_int_equal(m.n_params, 2);
}

TEST(a_continuation_must_be_ours_and_fresh)
{
    cw_method m;
    const cw_param_map *map = result_plan("", 5, true, &m);
    static const char *const bad[] = {
        "{\"continuation\":5}",
        "{\"continuation\":\"\"}",
        "{\"continuation\":\"next-\"}",
        "{\"continuation\":\"next-1\"}",
        "{\"continuation\":\"next-1-2x\"}",
        ("{\"continuation\":\"next-1-2-"
         "0123456789012345678901234567890123456789012345678901234567\"}"),
    };
    cw_str out;
    cw_continuation part;
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        cw_err err = {0};
        assert_int_equal(apply(map, bad[i], &out, &part, &err), CW_PARAMS);
        assert_true(strstr(err.msg, "/continuation") == err.msg);
    }
    cw_outcome o = result_of("[1,2,3,4]");
    assert_int_equal(apply(map, "{\"continuation\":\"next-1-2\"}", &out, &part, NULL), CW_OK);
    assert_true(part.is_given && part.at == 1 && part.hash == 2);
    cw_param_map_result(map, &part, &arena, &o);
    assert_int_equal(o.kind, CW_OUTCOME_ERROR);
    assert_true(str_has(o.message, "has changed"));
}

TEST(arguments_that_are_deep_are_read_like_others)
{
    cw_method m;
    const cw_param_map *map = result_plan("", 5, true, &m);
    static char text[1000];
    size_t n = (size_t)snprintf(text, sizeof text, "{\"gid\":");
    memset(text + n, '[', 100);
    memset(text + n + 100, ']', 100);
    snprintf(text + n + 200, sizeof text - n - 200, ",\"continuation\":\"next-1-2\"}");
    cw_str out;
    cw_continuation part;
    assert_int_equal(apply(map, text, &out, &part, NULL), CW_OK);
    cw_outcome o = result_of("[1,2,3,4]");
    cw_param_map_result(map, &part, &arena, &o);
    assert_int_equal(o.kind, CW_OUTCOME_ERROR); /* and not the first part again */
}

/* ---- without memory ---- */

static void plan_once(void *ctx)
{
    (void)ctx;
    const cw_config_param items[] = {
        {.name = CW_STR("token"), .value = CW_STR("\"x\"")},
        {.name = CW_STR("keys"), .rename = CW_STR("f"), .default_value = CW_STR("[1]")},
    };
    const cw_config_overlay o = {
        .params = {items, 2}, .result_size = 4, .read_only = true, .output = CW_STR("{}")};
    cw_protocol_opts s = speech_of(CW_PARAMS_POSITIONAL);
    cw_method m = method_of(found, 3);
    const cw_param_map *map = NULL;
    cw_str out;
    cw_continuation part;
    const cw_json one = {.p = "1", .n = 1, .meta = CW_JSON_NUMBER};
    const cw_json *const values[] = {&one, NULL, NULL}; /* gid, f, continuation */
    cw_arena a;
    cw_arena_init(&a, 1 << 20);
    cw_code rc = cw_param_map_make(&s, &o, &m, &a, &map, NULL);
    if (!rc)
        rc = cw_param_map_apply(map, values, &a, &out, &part, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_arena_done(&a);
}

static void cut_once(void *ctx)
{
    const cw_param_map *map = ctx;
    cw_arena a;
    cw_arena_init(&a, 1 << 20);
    cw_outcome o = {.kind = CW_OUTCOME_RESULT};
    if (cw_json_read(CW_STR("[1,2,3,4,5]"), NULL, &a, &o.result, NULL, NULL) == CW_OK) {
        cw_param_map_result(map, &first_part, &a, &o);
        if (oom_was_hit())
            assert_int_equal(o.fault, CW_FAULT_NOMEM);
        else
            assert_int_equal(o.kind, CW_OUTCOME_RESULT);
    }
    cw_arena_done(&a);
}

TEST(every_failed_allocation_is_survived)
{
    cw_method m;
    assert_true(oom_each(plan_once, NULL) >= 3);
    const cw_param_map *map = result_plan("", 5, false, &m);
    assert_true(oom_each(cut_once, (void *)(uintptr_t)map) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_nothing_is_to_be_done_there_is_no_plan),
        cmocka_unit_test(an_overlay_fixes_hides_renames_and_presets),
        cmocka_unit_test(a_hidden_param_is_sent_only_with_a_default),
        cmocka_unit_test(what_makes_no_sense_is_named),
        cmocka_unit_test(positions_are_filled_as_far_as_they_must),
        cmocka_unit_test(mixed_params_are_a_list_and_then_names),
        cmocka_unit_test(secrets_go_where_they_are_wanted),
        cmocka_unit_test(a_method_of_which_nothing_is_known_takes_anything),
        cmocka_unit_test(the_part_that_counts_is_given),
        cmocka_unit_test(large_results_come_in_parts),
        cmocka_unit_test(a_budget_below_a_character_loses_nothing),
        cmocka_unit_test(what_may_change_something_is_cut_and_says_so),
        cmocka_unit_test(a_continuation_must_be_ours_and_fresh),
        cmocka_unit_test(arguments_that_are_deep_are_read_like_others),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
