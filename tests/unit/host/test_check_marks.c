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

/* One plugin with a method for each test to mark, and a second one. */
typedef struct rig {
    cw_plugin_entry entry;
    cw_plugin_method method, second;
    cw_plugin_resource resource, second_resource;
    cw_plugin_prompt prompt, second_prompt;
    cw_plugin_complete complete, second_complete;
    cw_hosted hosted;
} rig;

static cw_plugin_mark mark_of(uint32_t kind, size_t size, bool second)
{
    return (cw_plugin_mark){.kind = kind,
                            .size = (uint32_t)size,
                            .function = second ? "other" : "run",
                            .run = second ? other : run};
}

static void init(rig *r)
{
    *r = (rig){
        .entry = {.abi = CW_PLUGIN_ABI, .name = "docs", .version = "1.0"},
        .method = {.id = "a.b",
                   .run = run,
                   .function = "run",
                   .usage = "Does.",
                   .params = {{.name = "x", .schema = "{\"type\":\"string\"}"},
                              {.name = "y", .schema = "{\"type\":[\"null\",\"string\"]}"},
                              {.name = "z"}}},
        .second = {.id = "a.c", .run = other, .function = "other"},
        .resource = {.mark = mark_of(CW_MARK_RESOURCE, sizeof(cw_plugin_resource), false),
                     .uri = "docs://readme"},
        .second_resource = {.mark = mark_of(CW_MARK_RESOURCE, sizeof(cw_plugin_resource), true),
                            .uri = "docs://licence"},
        .prompt = {.mark = mark_of(CW_MARK_PROMPT, sizeof(cw_plugin_prompt), false)},
        .second_prompt = {.mark = mark_of(CW_MARK_PROMPT, sizeof(cw_plugin_prompt), true)},
        .complete = {.mark = mark_of(CW_MARK_COMPLETE, sizeof(cw_plugin_complete), false),
                     .argument = "x",
                     .complete = run},
        .second_complete = {.mark = mark_of(CW_MARK_COMPLETE, sizeof(cw_plugin_complete), false),
                            .argument = "x",
                            .complete = run},
    };
    r->method.next = &r->second;
    r->entry.methods = &r->method;
    cw_hosted_init(&r->hosted);
}

/* As the macros do: the last one first. */
static void add(rig *r, cw_plugin_mark *mark)
{
    mark->next = r->entry.marks;
    r->entry.marks = mark;
}

static void make_template(rig *r, const char *text)
{
    r->resource.mark.kind = CW_MARK_TEMPLATE;
    r->resource.uri = NULL;
    r->resource.uri_template = text;
}

static const char *check(rig *r)
{
    static char text[4096];
    cw_code code = cw_hosted_check(&r->hosted, &r->entry, NULL);
    assert_true(code == CW_OK || code == CW_PARAMS);
    assert_int_equal(code == CW_OK, r->hosted.problems.n == 0);
    cw_str problems = cw_buf_str(&r->hosted.problems);
    assert_true(problems.n < sizeof(text));
    memcpy(text, problems.p, problems.n);
    text[problems.n] = '\0';
    cw_hosted_done(&r->hosted);
    return text;
}

#define RESOURCE "docs: method 'a.b': resource: "
#define PROMPT "docs: method 'a.b': prompt: "
#define COMPLETION "docs: method 'a.b': completion: "

TEST(the_layout_of_abi_1_stays)
{
    /* A plugin that was built before has these sizes, and zeros where new members are. */
    assert_int_equal(sizeof(cw_plugin_entry), 16 + 10 * sizeof(void *));
    assert_int_equal(offsetof(cw_plugin_entry, marks), 16 + 6 * sizeof(void *));
    assert_int_equal(sizeof(cw_plugin_param), 6 * sizeof(void *));
    assert_int_equal(offsetof(cw_plugin_method, params), 23 * sizeof(void *));
    assert_int_equal(sizeof(cw_plugin_method), (23 + 33 * 6 + 4) * sizeof(void *));
    assert_int_equal(sizeof(cw_plugin_tool), (5 + 17 + 2 + 4) * sizeof(void *));
}

TEST(each_kind_of_mark_is_fine)
{
    rig r;
    init(&r);
    add(&r, &r.resource.mark);
    add(&r, &r.second_prompt.mark);
    assert_string_equal(check(&r), "");
    init(&r);
    make_template(&r, "docs://{x}/{y}");
    add(&r, &r.complete.mark); /* in any order */
    add(&r, &r.resource.mark);
    assert_string_equal(check(&r), "");
    init(&r);
    add(&r, &r.prompt.mark);
    add(&r, &r.complete.mark);
    assert_string_equal(check(&r), "");
}

TEST(a_resource_has_an_address_of_its_kind)
{
    rig r;
    init(&r);
    r.resource.uri = NULL;
    r.resource.uri_template = "docs://{x}";
    add(&r, &r.resource.mark);
    assert_string_equal(check(&r), RESOURCE "uri_template: is for CW_RESOURCE_TEMPLATE\n" RESOURCE
                                            "uri: must not be empty\n");
    init(&r);
    make_template(&r, "");
    r.resource.uri = "docs://x";
    add(&r, &r.resource.mark);
    assert_string_equal(check(&r), RESOURCE "uri: is for CW_RESOURCE\n" RESOURCE
                                            "uri_template: must not be empty\n");
    init(&r);
    r.resource.uri = "readme";
    add(&r, &r.resource.mark);
    assert_string_equal(check(&r),
                        RESOURCE "uri: must begin with a scheme, as in \"docs://readme\"\n");
    init(&r);
    make_template(&r, "docs://{x}{y}");
    add(&r, &r.resource.mark);
    assert_string_equal(check(&r),
                        RESOURCE "uri_template: two variables side by side cannot be told apart\n");
}

TEST(variables_are_params_that_take_strings)
{
    rig r;
    init(&r);
    make_template(&r, "docs://{x}/{w}/{z}");
    r.method.params[2].schema = "{\"type\":[\"integer\",\"null\"]}";
    add(&r, &r.resource.mark);
    assert_string_equal(check(&r),
                        RESOURCE "uri_template: variable 'w' is no param of the method\n" RESOURCE
                                 "param 'z': must take strings\n");
}

TEST(a_reader_gives_no_other_arguments)
{
    rig r;
    for (int i = 0; i < 3; i++) {
        init(&r);
        r.method.params[0].required = true;
        r.method.params[1].required = true;
        r.method.params[1].default_value = "\"default\"";
        if (i > 0)
            make_template(&r, i == 1 ? "docs://{x}" : "docs://{y}");
        add(&r, &r.resource.mark);
        assert_string_equal(check(&r), i == 1 ? ""
                                              : RESOURCE
                                           "param 'x': is required, but a reader cannot give it\n");
    }
}

TEST(members_of_a_resource_are_checked)
{
    rig r;
    init(&r);
    r.resource.name = "";
    r.resource.title = "\xff";
    r.resource.description = "\xff";
    r.resource.mime_type = "text";
    r.resource.size = UINT64_MAX;
    r.resource.annotations = "[]";
    r.resource.icons = "[{\"src\":\"x\"},{}]";
    r.resource.scopes[0] = "";
    r.resource.auth_level = "never";
    r.resource.auth_description = "\xff";
    r.resource.visibility = "loud";
    add(&r, &r.resource.mark);
    assert_string_equal(check(&r), RESOURCE
                        "name: must not be empty\n" RESOURCE "title: not UTF-8\n" RESOURCE
                        "description: not UTF-8\n" RESOURCE
                        "mime_type: must be of the form \"text/plain\"\n" RESOURCE
                        "size: too large\n" RESOURCE "annotations: must be an object\n" RESOURCE
                        "icons: must be an array of objects with a \"src\"\n" RESOURCE
                        "scopes: must not be empty\n" RESOURCE
                        "auth_description: not UTF-8\n" RESOURCE
                        "auth_level: must be \"none\", \"optional\" or \"required\"\n" RESOURCE
                        "visibility: must be \"challenge\" or \"hide\"\n");
}

TEST(annotations_are_those_of_the_protocol)
{
    static const char audience[] = "\"audience\" must be an array of \"user\" and \"assistant\"";
    static const struct {
        const char *json;
        const char *problem;
    } cases[] = {
        {"{\"audience\":[\"user\",\"assistant\"],\"priority\":1,\"lastModified\":\"2026\"}", ""},
        {"{\"audience\":[],\"priority\":0.0}", ""},
        {"{\"x\":1}", ""},
        {"{}", ""},
        {"{\"audience\":\"user\"}", audience},
        {"{\"audience\":[\"me\"]}", audience},
        {"{\"audience\":[1]}", audience},
        {"{\"priority\":1.1}", "\"priority\" must be a number from 0 to 1"},
        {"{\"priority\":-1}", "\"priority\" must be a number from 0 to 1"},
        {"{\"priority\":\"1\"}", "\"priority\" must be a number from 0 to 1"},
        {"{\"lastModified\":1}", "\"lastModified\" must be a string"},
        {"{\"auth\":{}}", "\"auth\" is no annotation of content"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        rig r;
        char expected[256] = "";
        init(&r);
        r.resource.annotations = cases[i].json;
        add(&r, &r.resource.mark);
        if (cases[i].problem[0])
            snprintf(expected, sizeof(expected), RESOURCE "annotations: %s\n", cases[i].problem);
        assert_string_equal(check(&r), expected);
    }
}

TEST(each_annotation_that_is_wrong_is_named)
{
    rig r;
    init(&r);
    r.resource.annotations = "{\"audience\":5,\"priority\":7,\"lastModified\":1,\"auth\":{}}";
    add(&r, &r.resource.mark);
    assert_string_equal(check(&r),
                        RESOURCE "annotations: \"auth\" is no annotation of content\n" RESOURCE
                                 "annotations: \"audience\" must be an array of \"user\" and "
                                 "\"assistant\"\n" RESOURCE
                                 "annotations: \"priority\" must be a number from 0 to 1\n" RESOURCE
                                 "annotations: \"lastModified\" must be a string\n");
}

TEST(members_of_a_prompt_are_checked)
{
    rig r;
    init(&r);
    r.method.params[2].schema = "{\"type\":\"integer\"}";
    r.prompt.name = "\xff";
    r.prompt.title = "\xff";
    r.prompt.icons = "{}";
    r.prompt.scopes[0] = "";
    r.prompt.auth_level = "";
    r.prompt.auth_description = "\xff";
    r.prompt.visibility = "";
    add(&r, &r.prompt.mark);
    assert_string_equal(check(&r), PROMPT
                        "name: not UTF-8\n" PROMPT "title: not UTF-8\n" PROMPT
                        "param 'z': must take strings\n" PROMPT
                        "icons: must be an array of objects with a \"src\"\n" PROMPT
                        "scopes: must not be empty\n" PROMPT "auth_description: not UTF-8\n" PROMPT
                        "auth_level: must be \"none\", \"optional\" or \"required\"\n" PROMPT
                        "visibility: must be \"challenge\" or \"hide\"\n");
}

TEST(one_mark_says_who_may_use_a_method)
{
    static const char twice[] = RESOURCE "scopes: CW_TOOL already sets who may use the method\n";
    for (int i = 0; i < 6; i++) {
        rig r;
        init(&r);
        cw_plugin_tool tool = {.run = run, .function = "run"};
        r.entry.tools = &tool;
        if (i == 0)
            tool.scopes[0] = "s";
        else if (i == 1)
            tool.visibility = "challenge";
        else if (i == 2)
            tool.annotations = "{\"auth\":{\"scopes\":[]}}";
        else if (i == 3)
            tool.annotations = "{\"readOnlyHint\":true}";
        else if (i == 4)
            tool.auth_level = "none";
        if (i < 5)
            r.resource.auth_level = "optional";
        else
            tool.scopes[0] = "s";
        add(&r, &r.resource.mark);
        assert_string_equal(check(&r), i == 3 || i == 5 ? "" : twice);
    }
}

TEST(a_template_has_no_size)
{
    rig r;
    init(&r);
    make_template(&r, "docs://{x}");
    r.resource.size = 5;
    add(&r, &r.resource.mark);
    assert_string_equal(check(&r), RESOURCE "size: is for CW_RESOURCE\n");
    init(&r);
    r.resource.size = 5;
    add(&r, &r.resource.mark);
    assert_string_equal(check(&r), "");
}

TEST(completions_belong_to_an_argument)
{
    rig r;
    init(&r);
    add(&r, &r.resource.mark);
    add(&r, &r.complete.mark);
    assert_string_equal(check(&r),
                        COMPLETION "CW_COMPLETE: the method is neither a prompt nor a template\n");
    init(&r);
    make_template(&r, "docs://{y}");
    add(&r, &r.resource.mark);
    add(&r, &r.complete.mark);
    assert_string_equal(check(&r), COMPLETION "argument 'x': is no variable of the template\n");
    init(&r);
    r.complete.argument = "w";
    add(&r, &r.prompt.mark);
    add(&r, &r.complete.mark);
    assert_string_equal(check(&r), COMPLETION "argument 'w': is no param of the method\n");
    init(&r);
    r.complete.argument = NULL;
    add(&r, &r.prompt.mark);
    add(&r, &r.complete.mark);
    assert_string_equal(check(&r), COMPLETION "argument '': is no param of the method\n");
    init(&r);
    add(&r, &r.prompt.mark);
    add(&r, &r.complete.mark);
    add(&r, &r.second_complete.mark);
    assert_string_equal(check(&r), COMPLETION "argument 'x': completed twice\n");
    init(&r);
    r.complete.complete = NULL;
    add(&r, &r.prompt.mark);
    add(&r, &r.complete.mark);
    assert_string_equal(check(&r), COMPLETION "argument 'x': the function is missing\n");
}

TEST(a_method_is_one_of_them)
{
    rig r;
    init(&r);
    add(&r, &r.resource.mark);
    add(&r, &r.prompt.mark);
    assert_string_equal(
        check(&r),
        "docs: method 'a.b': CW_PROMPT: a method is one resource, one template or one prompt\n");
}

TEST(names_are_used_once)
{
    rig r;
    init(&r);
    r.second_resource.uri = r.resource.uri;
    add(&r, &r.resource.mark);
    add(&r, &r.second_resource.mark);
    assert_string_equal(check(&r), "docs: resource 'docs://readme': uri: declared twice\n");
    init(&r);
    r.second_prompt.name = "a.b";
    add(&r, &r.prompt.mark);
    add(&r, &r.second_prompt.mark);
    assert_string_equal(check(&r), "docs: prompt 'a.b': name: declared twice\n");
    init(&r);
    make_template(&r, "docs://{x}");
    r.second_resource = r.resource;
    r.second_resource.mark = mark_of(CW_MARK_TEMPLATE, sizeof(cw_plugin_resource), true);
    r.second.params[0].name = "x";
    add(&r, &r.resource.mark);
    add(&r, &r.second_resource.mark);
    assert_string_equal(check(&r), "docs: resource template 'docs://{x}': uri: declared twice\n");
}

TEST(marks_need_a_method_and_a_kind)
{
    rig r;
    init(&r);
    r.resource.mark.function = "lost";
    r.prompt.mark.kind = 77;
    r.complete.mark.size--;
    add(&r, &r.resource.mark);
    add(&r, &r.prompt.mark);
    add(&r, &r.complete.mark);
    assert_string_equal(
        check(&r),
        "docs: function 'run': mark: built with a header of another version; build it anew\n"
        "docs: function 'run': mark: of a kind that this version of Causeway does not know\n"
        "docs: resource 'lost': CW_RESOURCE: there is no CW_METHOD of this function\n");
    init(&r);
    r.prompt.mark.kind = 0;
    add(&r, &r.prompt.mark);
    assert_string_equal(
        check(&r),
        "docs: function 'run': mark: of a kind that this version of Causeway does not know\n");
}

TEST(the_input_says_nothing_about_single_params)
{
    rig r;
    init(&r);
    r.method.input = "{\"additionalProperties\":false}";
    r.second.input = "{\"required\":[\"x\"]}";
    assert_string_equal(check(&r),
                        "docs: method 'a.c': input: type, properties and required follow "
                        "from the params\n");
    init(&r);
    r.method.input = "true";
    assert_string_equal(check(&r), "docs: method 'a.b': input: must be an object\n");
}

static void make_full(rig *r)
{
    init(r);
    make_template(r, "docs://{x}/{y}");
    r->resource.name = "page";
    r->resource.title = "Page";
    r->resource.mime_type = "text/html";
    r->resource.annotations = "{\"priority\":1}";
    r->resource.icons = "[{\"src\":\"x:y\"}]";
    r->resource.scopes[0] = "s";
    r->resource.visibility = "hide";
    r->method.input = "{\"maxProperties\":2}";
    r->complete.argument = "y";
    add(r, &r->resource.mark);
    add(r, &r->complete.mark);
    add(r, &r->second_complete.mark);
    r->second_prompt.title = "Say";
    r->second_prompt.auth_level = "optional";
    add(r, &r->second_prompt.mark);
}

TEST(marks_are_described)
{
    rig r;
    cw_buf text;
    make_full(&r);
    assert_int_equal(cw_hosted_check(&r.hosted, &r.entry, "file"), CW_OK);
    cw_buf_init(&text, 4096);
    assert_int_equal(cw_hosted_describe(&r.hosted, CW_JSON_COMPACT, &text), CW_OK);
    cw_buf_add_char(&text, '\0');
    assert_non_null(strstr(
        text.p, "\"x-mcp-resource-template\":{\"uriTemplate\":\"docs://{x}/{y}\",\"name\":\"page\","
                "\"title\":\"Page\",\"description\":\"Does.\",\"mimeType\":\"text/html\","
                "\"icons\":[{\"src\":\"x:y\"}],"
                "\"annotations\":{\"priority\":1},\"completes\":[\"x\",\"y\"]}}"));
    assert_non_null(strstr(text.p, "\"x-access\":{\"permissions\":[],\"auth\":{\"scopes\":[\"s\"]},"
                                   "\"visibility\":\"hide\"},\"x-mcp-resource-template\""));
    assert_non_null(strstr(text.p, "\"x-access\":{\"permissions\":[],\"auth\":{\"scopes\":[],"
                                   "\"level\":\"optional\"}},"
                                   "\"x-mcp-prompt\":{\"name\":\"a.c\",\"title\":\"Say\"}}"));
    assert_non_null(strstr(text.p, "\"x-input\":{\"maxProperties\":2}"));
    assert_ptr_equal(cw_hosted_find_mark(&r.hosted, CW_STR("a.c"))->decl, &r.second);
    assert_null(cw_hosted_find_mark(&r.hosted, CW_STR("docs://{x}/{y}")));
    assert_null(cw_hosted_find_mark(&r.hosted, CW_STR("")));
    cw_buf_done(&text);
    cw_hosted_done(&r.hosted);
    init(&r);
    add(&r, &r.resource.mark);
    assert_int_equal(cw_hosted_check(&r.hosted, &r.entry, "file"), CW_OK);
    assert_ptr_equal(cw_hosted_find_mark(&r.hosted, CW_STR("docs://readme"))->decl, &r.method);
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
    r.resource.uri_template = "docs://{w}";
    r.resource.icons = "[";
    cw_code rc = cw_hosted_check(&r.hosted, &r.entry, NULL);
    assert_true(rc == CW_PARAMS || (rc == CW_NOMEM && oom_was_hit()));
    cw_hosted_done(&r.hosted);
}

TEST(marks_survive_every_failed_allocation)
{
    assert_true(oom_each(describe_once, NULL) >= 3);
    assert_true(oom_each(complain_once, NULL) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layout_of_abi_1_stays),
        cmocka_unit_test(each_kind_of_mark_is_fine),
        cmocka_unit_test(a_resource_has_an_address_of_its_kind),
        cmocka_unit_test(variables_are_params_that_take_strings),
        cmocka_unit_test(a_reader_gives_no_other_arguments),
        cmocka_unit_test(members_of_a_resource_are_checked),
        cmocka_unit_test(annotations_are_those_of_the_protocol),
        cmocka_unit_test(each_annotation_that_is_wrong_is_named),
        cmocka_unit_test(members_of_a_prompt_are_checked),
        cmocka_unit_test(one_mark_says_who_may_use_a_method),
        cmocka_unit_test(a_template_has_no_size),
        cmocka_unit_test(completions_belong_to_an_argument),
        cmocka_unit_test(a_method_is_one_of_them),
        cmocka_unit_test(names_are_used_once),
        cmocka_unit_test(marks_need_a_method_and_a_kind),
        cmocka_unit_test(the_input_says_nothing_about_single_params),
        cmocka_unit_test(marks_are_described),
        cmocka_unit_test(marks_survive_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("marks", tests, NULL, NULL);
}
