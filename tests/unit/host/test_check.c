/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/hosted.h"
#include "support/oom.h"
#include "support/test.h"

static void run(cw_call *call)
{
    (void)call;
}

static void other(cw_call *call)
{
    (void)call;
}

/* One plugin with one method and one mark, to be made wrong by each test. */
typedef struct rig {
    cw_plugin_entry entry;
    cw_plugin_method method, second;
    cw_plugin_tool tool;
    cw_hosted hosted;
    cw_code code;
} rig;

static void init(rig *r)
{
    *r = (rig){
        .entry = {.abi = CW_PLUGIN_ABI, .name = "articles", .version = "1.0"},
        .method = {.id = "a.b", .run = run, .function = "run", .usage = "Does."},
        .second = {.id = "a.c", .run = other, .function = "other"},
        .tool = {.run = run, .function = "run", .title = "Do"},
    };
    r->entry.methods = &r->method;
    r->entry.tools = &r->tool;
    cw_hosted_init(&r->hosted);
}

static const char *check(rig *r)
{
    static char text[4096];
    r->code = cw_hosted_check(&r->hosted, &r->entry, NULL);
    assert_true(r->code == CW_OK || r->code == CW_PARAMS);
    assert_int_equal(r->code == CW_OK, r->hosted.problems.n == 0);
    assert_true(r->hosted.problems.n < sizeof(text));
    cw_str problems = cw_buf_str(&r->hosted.problems);
    memcpy(text, problems.p, problems.n);
    text[problems.n] = '\0';
    cw_hosted_done(&r->hosted);
    return text;
}

TEST(a_right_plugin_has_no_problems)
{
    rig r;
    init(&r);
    r.method.next = &r.second;
    assert_string_equal(check(&r), "");
}

/* check-2, check-7, check-8 */
TEST(annotations_are_a_map_with_members)
{
    static const struct {
        const char *annotations;
        const char *problem;
    } cases[] = {
        {"{\"readOnlyHint\":true}", ""},
        {"{\"1\":true,\"0\":true}", ""},
        {"{\"0\":1,\"2\":1}", ""},
        {"{\"00\":1}", ""},
        {"{\"0\":1,\"x\":1}", ""},
        {"{\"\":1}", ""},
        {"[]", "must be an object"},
        {"[{\"a\":1}]", "must be an object"},
        {"null", "must be an object"},
        {"\"a\"", "must be an object"},
        {"{}", ""},
        {"{\"0\":1}", "must be a map, not a list: the keys are 0, 1, …"},
        {"{\"0\":1,\"1\":1,\"2\":1}", "must be a map, not a list: the keys are 0, 1, …"},
        {"", "line 1, column 1: expected a value, found the end of the text"},
        {"{\"a\":1,\"a\":2}", "line 1, column 8: duplicate key \"a\""},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        rig r;
        init(&r);
        r.tool.annotations = cases[i].annotations;
        char expected[256] = "";
        if (cases[i].problem[0])
            snprintf(expected, sizeof(expected), "articles: method 'a.b': annotations: %s\n",
                     cases[i].problem);
        assert_string_equal(check(&r), expected);
    }
}

TEST(auth_inside_annotations_has_its_shape)
{
    static const struct {
        const char *auth;
        const char *problem;
    } cases[] = {
        {"{\"scopes\":[]}", ""},
        {"{\"scopes\":[\"a\"],\"level\":\"optional\",\"description\":\"d\"}", ""},
        {"[]", "auth: must be an object"},
        {"{\"level\":\"required\"}", ""},
        {"{}", "auth: scopes or level is needed"},
        {"{\"description\":\"d\"}", "auth: scopes or level is needed"},
        {"{\"scopes\":[1]}", "auth.scopes: must be an array of strings"},
        {"{\"scopes\":{}}", "auth.scopes: must be an array of strings"},
        {"{\"scopes\":[],\"level\":1}",
         "auth.level: must be \"none\", \"optional\" or \"required\""},
        {"{\"scopes\":[],\"description\":1}", "auth.description: must be a string"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        rig r;
        init(&r);
        char text[256];
        char expected[256] = "";
        snprintf(text, sizeof(text), "{\"auth\":%s}", cases[i].auth);
        r.tool.annotations = text;
        if (cases[i].problem[0])
            snprintf(expected, sizeof(expected), "articles: method 'a.b': annotations.%s\n",
                     cases[i].problem);
        assert_string_equal(check(&r), expected);
    }
}

TEST(auth_is_written_in_one_place)
{
    rig r;
    init(&r);
    r.tool.annotations = "{\"auth\":{\"scopes\":[]}}";
    r.tool.scopes[0] = "x";
    assert_string_equal(check(&r), "articles: method 'a.b': annotations.auth: scopes and "
                                   "auth_level mean the same; use one of them\n");
}

TEST(auth_levels_are_three)
{
    static const char *const good[] = {"none", "optional", "required"};
    static const char *const bad[] = {"", "None", "require", "required "};
    for (size_t i = 0; i < CW_COUNT(good); i++) {
        rig r;
        init(&r);
        r.tool.auth_level = good[i];
        assert_string_equal(check(&r), "");
    }
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        rig r;
        init(&r);
        r.tool.auth_level = bad[i];
        assert_string_equal(check(&r), "articles: method 'a.b': auth_level: must be \"none\", "
                                       "\"optional\" or \"required\"\n");
    }
}

TEST(scopes_are_those_of_oauth)
{
    static const char *const bad[] = {"a b", "a\"", "a\\b", "\xc3\xa4", "a\n"};
    static const char *const shown[] = {"a b", "a\"", "a\\b", "\xc3\xa4", "a?"};
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        rig r;
        char expected[256];
        init(&r);
        r.tool.scopes[0] = "a:b.c/d";
        r.tool.scopes[1] = bad[i];
        snprintf(expected, sizeof expected,
                 "articles: method 'a.b': scope '%s': must be printable ASCII without spaces, "
                 "'\"' and '\\'\n",
                 shown[i]);
        assert_string_equal(check(&r), expected);
    }
    rig r;
    init(&r);
    r.tool.annotations = "{\"auth\":{\"scopes\":[\"a\",\"b c\"],\"levels\":1}}";
    assert_string_equal(check(&r), "articles: method 'a.b': annotations.auth: scope 'b c': must be "
                                   "printable ASCII without spaces, '\"' and '\\'\n"
                                   "articles: method 'a.b': annotations.auth: member 'levels': is "
                                   "not known\n");
}

TEST(permissions_have_no_control_characters)
{
    rig r;
    init(&r);
    r.method.permissions[0] = "access content";
    r.method.permissions[1] = "a\tb";
    r.method.permissions[2] = "";
    assert_string_equal(check(&r),
                        "articles: method 'a.b': permission 'a?b': must not have control "
                        "characters\n"
                        "articles: method 'a.b': permissions: must not be empty\n");
}

TEST(a_tool_without_requirements_cannot_be_hidden)
{
    static const char problem[] =
        "articles: method 'a.b': visibility: \"hide\" needs scopes or the "
        "level \"required\"\n";
    static const struct {
        const char *level, *scope, *annotations;
        bool is_wrong;
    } cases[] = {
        {NULL, NULL, NULL, true},
        {"none", "a", NULL, true},
        {"optional", "a", NULL, true},
        {"required", NULL, NULL, false},
        {NULL, "a", NULL, false},
        {NULL, NULL, "{\"auth\":{\"scopes\":[\"a\"]}}", false},
        {NULL, NULL, "{\"auth\":{\"level\":\"required\"}}", false},
        {NULL, NULL, "{\"auth\":{\"scopes\":[]}}", true},
        {NULL, NULL, "{\"auth\":{\"scopes\":[\"a\"],\"level\":\"none\"}}", true},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        rig r;
        init(&r);
        r.tool.visibility = "hide";
        r.tool.auth_level = cases[i].level;
        r.tool.scopes[0] = cases[i].scope;
        r.tool.annotations = cases[i].annotations;
        assert_string_equal(check(&r), cases[i].is_wrong ? problem : "");
    }
    rig r;
    init(&r);
    r.tool.visibility = "hide";
    r.tool.auth_level = "never";
    assert_string_equal(check(&r), "articles: method 'a.b': auth_level: must be \"none\", "
                                   "\"optional\" or \"required\"\n");
}

TEST(reserved_names_are_no_tools)
{
    static const char *const names[] = {"list", "describe", "invoke"};
    for (size_t i = 0; i < CW_COUNT(names); i++) {
        rig r;
        char expected[256];
        init(&r);
        r.method.id = names[i];
        snprintf(expected, sizeof(expected),
                 "articles: method '%s': id: this name is reserved: a tool cannot have it\n",
                 names[i]);
        assert_string_equal(check(&r), expected);
        init(&r);
        r.method.id = names[i];
        r.entry.tools = NULL;
        assert_string_equal(check(&r), "");
    }
    rig r;
    init(&r);
    r.method.id = "lists";
    assert_string_equal(check(&r), "");
}

TEST(ids_are_free_text_with_exceptions)
{
    static const struct {
        const char *id;
        const char *problem;
    } cases[] = {
        {"textDocument/hover", ""},
        {"größe", ""},
        {"rpc", ""},
        {"rpcs.x", ""},
        {"", "articles: method '': id: must not be empty\n"},
        {NULL, "articles: method of function 'run': id: must not be empty\n"},
        {"rpc.discover", "articles: method 'rpc.discover': id: names that begin with 'rpc.' are "
                         "reserved by JSON-RPC\n"},
        {"$/cancel", "articles: method '$/cancel': id: names that begin with '$/' are reserved\n"},
        {"caf\xe9\n", "articles: method 'caf\x3f\x3f': id: not UTF-8\n"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        rig r;
        init(&r);
        r.method.id = cases[i].id;
        assert_string_equal(check(&r), cases[i].problem);
    }
}

TEST(duplicate_ids_are_reported_once)
{
    rig r;
    init(&r);
    cw_plugin_method third = r.second;
    r.method.next = &r.second;
    r.second.next = &third;
    r.second.id = third.id = "a.b";
    assert_string_equal(check(&r), "articles: method 'a.b': id: declared twice\n");
}

TEST(marks_need_a_method_and_methods_one_mark)
{
    rig r;
    init(&r);
    cw_plugin_tool lost = {.run = other, .function = "other"};
    r.tool.next = &lost;
    assert_string_equal(
        check(&r), "articles: tool 'other': CW_TOOL: there is no CW_METHOD of this function\n");
    init(&r);
    cw_plugin_tool again = r.tool;
    r.tool.next = &again;
    assert_string_equal(check(&r), "articles: method 'a.b': CW_TOOL: marked twice\n");
}

TEST(params_are_checked_each)
{
    rig r;
    init(&r);
    r.method.params[0] = (cw_plugin_param){.name = "x", .schema = "true"};
    r.method.params[1] = (cw_plugin_param){.name = "y", .description = "\xff"};
    r.method.params[2] = (cw_plugin_param){.name = "x", .default_value = "1]"};
    r.method.params[3] =
        (cw_plugin_param){.name = "z", .schema = "{\"default\":1}", .default_value = "2"};
    assert_string_equal(
        check(&r),
        "articles: method 'a.b': param 'x': schema: must be an object\n"
        "articles: method 'a.b': param 'y': description: not UTF-8\n"
        "articles: method 'a.b': param 'x': default_value: line 1, column 2: expected the end of "
        "the text, found ']'\n"
        "articles: method 'a.b': param 'x': declared twice\n"
        "articles: method 'a.b': param 'z': default_value: the schema has a default already\n");
}

TEST(lists_have_a_ceiling)
{
    static char names[CW_PLUGIN_MAX_PARAMS + 1][4];
    for (int over = 0; over <= 1; over++) {
        rig r;
        init(&r);
        for (int i = 0; i < CW_PLUGIN_MAX_PARAMS + over; i++) {
            snprintf(names[i], sizeof(names[i]), "p%d", i);
            r.method.params[i].name = names[i];
        }
        for (int i = 0; i < CW_PLUGIN_MAX_NAMES + over; i++) {
            r.method.permissions[i] = "access content";
            r.tool.scopes[i] = "scope";
        }
        assert_string_equal(check(&r), over ? "articles: method 'a.b': permissions: more than 16\n"
                                              "articles: method 'a.b': params: more than 32\n"
                                              "articles: method 'a.b': scopes: more than 16\n"
                                            : "");
    }
}

TEST(the_plugin_itself_needs_a_name_a_version_and_a_method)
{
    rig r;
    init(&r);
    r.entry.name = "";
    r.entry.version = NULL;
    r.entry.methods = NULL;
    r.entry.tools = NULL;
    assert_string_equal(check(&r), ": name: must not be empty\n"
                                   ": version: must not be empty\n"
                                   ": methods: there is no CW_METHOD\n");
}

static void make_full(rig *r)
{
    init(r);
    r->method.output = "{\"type\":\"string\"}";
    r->method.permissions[0] = "access content";
    r->method.params[0] = (cw_plugin_param){
        .name = "n", .schema = "{\"type\":\"integer\"}", .default_value = "[1,2]"};
    r->method.params[1] =
        (cw_plugin_param){.name = "m", .description = "An \"m\"", .required = true};
    r->tool.annotations = "{\"readOnlyHint\":true}";
    r->tool.scopes[0] = "s";
    r->tool.auth_level = "required";
    r->method.next = &r->second;
}

TEST(the_description_is_an_openrpc_document)
{
    rig r;
    cw_buf text;
    make_full(&r);
    assert_int_equal(cw_hosted_check(&r.hosted, &r.entry, "file"), CW_OK);
    cw_buf_init(&text, 4096);
    assert_int_equal(cw_hosted_describe(&r.hosted, CW_JSON_COMPACT, &text), CW_OK);
    cw_buf_add_char(&text, '\0');
    assert_string_equal(
        text.p,
        "{\"openrpc\":\"1.2.6\",\"info\":{\"title\":\"articles\",\"version\":\"1.0\"},\"methods\":["
        "{\"name\":\"a.b\",\"summary\":\"Does.\",\"params\":["
        "{\"name\":\"n\",\"required\":false,"
        "\"schema\":{\"type\":\"integer\",\"default\":[1,2]}},"
        "{\"name\":\"m\",\"description\":\"An \\\"m\\\"\",\"required\":true,\"schema\":{}}],"
        "\"result\":{\"name\":\"result\",\"schema\":{\"type\":\"string\"}},"
        "\"x-access\":{\"permissions\":[\"access content\"]},"
        "\"x-mcp-tool\":{\"title\":\"Do\",\"annotations\":{\"readOnlyHint\":true,"
        "\"auth\":{\"scopes\":[\"s\"],\"level\":\"required\"}}}},"
        "{\"name\":\"a.c\",\"params\":[],\"x-access\":{\"permissions\":[]}}]}");
    assert_ptr_equal(cw_hosted_find(&r.hosted, CW_STR("a.c"))->decl, &r.second);
    assert_null(cw_hosted_find(&r.hosted, CW_STR("a.d")));
    assert_null(cw_hosted_find(&r.hosted, CW_STR("")));
    cw_buf_done(&text);
    cw_hosted_done(&r.hosted);
}

static void describe_once(void *ctx)
{
    (void)ctx;
    rig r;
    cw_buf text;
    make_full(&r);
    cw_buf_init(&text, 4096);
    cw_code rc = cw_hosted_check(&r.hosted, &r.entry, NULL);
    if (!rc)
        rc = cw_hosted_describe(&r.hosted, CW_JSON_COMPACT, &text);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    if (oom_was_hit())
        assert_int_equal(rc, CW_NOMEM);
    cw_buf_done(&text);
    cw_hosted_done(&r.hosted);
}

static void complain_once(void *ctx)
{
    (void)ctx;
    rig r;
    make_full(&r);
    r.method.output = "[";
    r.tool.auth_level = "x";
    r.method.params[2].name = "n";
    cw_code rc = cw_hosted_check(&r.hosted, &r.entry, NULL);
    assert_true(rc == CW_PARAMS || (rc == CW_NOMEM && oom_was_hit()));
    cw_hosted_done(&r.hosted);
}

TEST(checking_survives_every_failed_allocation)
{
    assert_true(oom_each(describe_once, NULL) >= 3);
    assert_true(oom_each(complain_once, NULL) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_plugin_has_no_problems),
        cmocka_unit_test(annotations_are_a_map_with_members),
        cmocka_unit_test(auth_inside_annotations_has_its_shape),
        cmocka_unit_test(auth_is_written_in_one_place),
        cmocka_unit_test(auth_levels_are_three),
        cmocka_unit_test(scopes_are_those_of_oauth),
        cmocka_unit_test(permissions_have_no_control_characters),
        cmocka_unit_test(a_tool_without_requirements_cannot_be_hidden),
        cmocka_unit_test(reserved_names_are_no_tools),
        cmocka_unit_test(ids_are_free_text_with_exceptions),
        cmocka_unit_test(duplicate_ids_are_reported_once),
        cmocka_unit_test(marks_need_a_method_and_methods_one_mark),
        cmocka_unit_test(params_are_checked_each),
        cmocka_unit_test(lists_have_a_ceiling),
        cmocka_unit_test(the_plugin_itself_needs_a_name_a_version_and_a_method),
        cmocka_unit_test(the_description_is_an_openrpc_document),
        cmocka_unit_test(checking_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
