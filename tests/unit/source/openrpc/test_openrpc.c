/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <time.h>

#include "support/openrpc_fixture.h"

/* The only method of a plugin's document {"methods":[{"name":"a",REST}]}. */
static openrpc_result read_method(const char *rest)
{
    char text[4000];
    snprintf(text, sizeof text, "{\"methods\":[{\"name\":\"a\"%s%s}]}", *rest ? "," : "", rest);
    openrpc_result r = openrpc_read_text(&openrpc_plugin_opts, text);
    if (r.rc)
        fail_msg("%s: %s", rest, r.err.msg);
    assert_int_equal(r.n, 1);
    return r;
}

static void assert_span(const cw_json *v, const char *expected)
{
    assert_non_null(v);
    assert_str(cw_json_span(v), expected);
}

TEST(a_method_needs_a_name_only)
{
    cw_source *source = (cw_source *)(void *)&source;
    const cw_openrpc_opts opts = {.callable = true, .source = source};
    openrpc_result r =
        openrpc_read_text(&opts, "{\"openrpc\":\"1.3.2\",\"methods\":[{\"name\":\"a\"},{\"name\":"
                                 "\"b/c d\"}]}");
    assert_int_equal(r.rc, CW_OK);
    assert_int_equal(r.n, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const cw_method *m = &r.methods[i];
        assert_str(m->id, i ? "b/c d" : "a");
        assert_str(m->usage, "");
        assert_int_equal(m->n_params, 0);
        assert_int_equal(m->output.n, 0);
        assert_null(m->mark);
        assert_int_equal(m->needs.n_permissions, 0);
        assert_int_equal(m->needs.n_scopes, 0);
        assert_int_equal(m->needs.level, CW_AUTH_NONE);
        assert_true(m->is_callable);
        assert_false(m->by_position);
        assert_ptr_equal(m->source, source);
        assert_int_equal(m->index, i);
    }
    openrpc_result_done(&r);
    r = openrpc_read_text(&openrpc_remote_opts, "{\"methods\":[]}");
    assert_int_equal(r.rc, CW_OK);
    assert_int_equal(r.n, 0);
    openrpc_result_done(&r);
}

/* check-1, check-3: what a mark says is kept unchanged, with the method that it marks. */
TEST(a_whole_method_is_read)
{
    openrpc_result r = read_method(
        "\"summary\":\"short\",\"description\":\"long\",\"paramStructure\":\"by-position\","
        "\"params\":[{\"name\":\"x\",\"description\":\"dx\",\"required\":true,\"schema\":{\"type\":"
        "\"integer\",\"default\":5}},{\"name\":\"y\",\"summary\":\"sy\",\"schema\":true},"
        "{\"name\":\"z\",\"required\":false}],"
        "\"result\":{\"name\":\"r\",\"schema\":{\"type\":\"string\"}},"
        "\"x-access\":{\"permissions\":[\"q\",\"p\",\"q\"]},"
        "\"x-mcp-tool\":{\"title\":\"T\",\"annotations\":{\"k\":1,\"auth\":{\"scopes\":[\"s:b\","
        "\"s:a\",\"s:a\"],\"description\":\"why\"}}}");
    const cw_method *m = r.methods;
    assert_str(m->usage, "long");
    assert_true(m->by_position);
    assert_int_equal(m->n_params, 3);
    assert_str(m->params[0].name, "x");
    assert_str(m->params[0].description, "dx");
    assert_true(m->params[0].is_required);
    assert_str(m->params[0].schema, "{\"type\":\"integer\",\"default\":5}");
    assert_span(m->params[0].default_value, "5");
    assert_str(m->params[1].description, "sy");
    assert_false(m->params[1].is_required);
    assert_str(m->params[1].schema, "true");
    assert_null(m->params[1].default_value);
    assert_int_equal(m->params[2].schema.n, 0);
    assert_false(m->params[2].is_required);
    assert_str(m->output, "{\"type\":\"string\"}");
    assert_int_equal(m->needs.n_permissions, 2);
    assert_str(m->needs.permissions[0], "p");
    assert_str(m->needs.permissions[1], "q");
    assert_int_equal(m->needs.n_scopes, 2);
    assert_str(m->needs.scopes[0], "s:b"); /* check-22: as they were written */
    assert_str(m->needs.scopes[1], "s:a");
    assert_int_equal(m->needs.level, CW_AUTH_REQUIRED);
    assert_str(m->mark->title, "T");
    assert_str(m->mark->annotations, "{\"k\":1,\"auth\":{\"scopes\":[\"s:b\",\"s:a\",\"s:a\"],"
                                     "\"description\":\"why\"}}");
    openrpc_result_done(&r);
}

TEST(a_summary_stands_in_for_a_description)
{
    openrpc_result r = read_method("\"summary\":\"short\",\"description\":\"\"");
    assert_str(r.methods->usage, "short");
    openrpc_result_done(&r);
    r = read_method("\"summary\":null,\"description\":\"long\"");
    assert_str(r.methods->usage, "long");
    openrpc_result_done(&r);
}

TEST(structures_are_three_words)
{
    openrpc_result r = read_method("\"paramStructure\":\"by-name\"");
    assert_false(r.methods->by_position);
    openrpc_result_done(&r);
    r = read_method("\"paramStructure\":\"either\"");
    assert_false(r.methods->by_position);
    openrpc_result_done(&r);
}

/* Somebody else's service does not decide what is a tool here, nor who may call it. */
TEST(marks_of_strangers_are_not_read)
{
    openrpc_result r = openrpc_read_text(
        &openrpc_remote_opts, "{\"methods\":[{\"name\":\"a\",\"x-mcp-tool\":5,\"x-access\":"
                              "[]}]}");
    assert_int_equal(r.rc, CW_OK);
    assert_null(r.methods->mark);
    assert_false(r.methods->is_callable);
    assert_int_equal(r.methods->needs.n_permissions, 0);
    openrpc_result_done(&r);
}

/* check-16 to check-20 */
TEST(the_effective_level_follows_the_table)
{
    static const struct {
        const char *auth;
        cw_auth_level level;
        size_t n_scopes;
    } cases[] = {
        {"{\"scopes\":[]}", CW_AUTH_NONE, 0},
        {"{\"scopes\":[\"s\"]}", CW_AUTH_REQUIRED, 1},
        {"{\"scopes\":[\"s\"],\"level\":\"none\"}", CW_AUTH_NONE, 1},
        {"{\"scopes\":[\"s\"],\"level\":\"optional\"}", CW_AUTH_OPTIONAL, 1},
        {"{\"scopes\":[\"s\"],\"level\":\"required\"}", CW_AUTH_REQUIRED, 1},
        {"{\"scopes\":[],\"level\":\"required\"}", CW_AUTH_REQUIRED, 0},
        {"{\"level\":\"required\"}", CW_AUTH_REQUIRED, 0},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char text[200];
        snprintf(text, sizeof text, "\"x-mcp-tool\":{\"annotations\":{\"auth\":%s}}",
                 cases[i].auth);
        openrpc_result r = read_method(text);
        assert_int_equal(r.methods->needs.level, cases[i].level);
        assert_int_equal(r.methods->needs.n_scopes, cases[i].n_scopes);
        openrpc_result_done(&r);
    }
    openrpc_result r = read_method("\"x-mcp-tool\":{\"annotations\":{\"a\":1}}");
    assert_int_equal(r.methods->needs.level, CW_AUTH_NONE);
    openrpc_result_done(&r);
}

TEST(a_mark_may_hide_its_tool)
{
    static const struct {
        const char *mark;
        bool hidden_unless_met;
    } cases[] = {
        {"{\"annotations\":{\"auth\":{\"scopes\":[\"s\"]}},\"visibility\":\"hide\"}", true},
        {"{\"visibility\":\"challenge\",\"annotations\":{\"auth\":{\"scopes\":[\"s\"]}}}", false},
        {"{\"annotations\":{\"auth\":{\"scopes\":[\"s\"]}}}", false},
        {"{\"visibility\":\"challenge\"}", false},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char text[200];
        snprintf(text, sizeof text, "\"x-mcp-tool\":%s", cases[i].mark);
        openrpc_result r = read_method(text);
        assert_int_equal(r.methods->needs.hidden_unless_met, cases[i].hidden_unless_met);
        openrpc_result_done(&r);
    }
}

/* check-4, check-8 */
TEST(annotations_are_maps_with_names)
{
    static const char *const right[] = {
        "{\"1\":1}",         "{\"0\":1,\"2\":2}", "{\"00\":1}",     "{\"0\":1,\"01\":2}",
        "{\"1\":1,\"0\":2}", "{\"\":1}",          "{\"a b/~\":[]}", "{\"-0\":1}",
    };
    for (size_t i = 0; i < CW_COUNT(right); i++) {
        char text[200];
        snprintf(text, sizeof text, "\"x-mcp-tool\":{\"annotations\":%s}", right[i]);
        openrpc_result r = read_method(text);
        assert_str(r.methods->mark->annotations, right[i]);
        openrpc_result_done(&r);
    }
    static const char *const none[] = {"{}", "{\"annotations\":null}", "{\"title\":null}",
                                       "{\"title\":\"\"}"}; /* check-6 */
    for (size_t i = 0; i < CW_COUNT(none); i++) {
        char text[200];
        snprintf(text, sizeof text, "\"x-mcp-tool\":%s", none[i]);
        openrpc_result r = read_method(text);
        assert_non_null(r.methods->mark);
        assert_int_equal(r.methods->mark->annotations.n, 0);
        assert_int_equal(r.methods->mark->title.n, 0);
        openrpc_result_done(&r);
    }
}

TEST(mistakes_are_named)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[]", "OpenRPC document: expected an object, got array"},
        {"{}", "OpenRPC document: methods: missing"},
        {"{\"methods\":{}}", "OpenRPC document: methods: expected an array, got object"},
        {"{\"methods\":[5]}", "methods[0]: expected an object, got number"},
        {"{\"methods\":[{\"name\":\"a\"},{}]}", "methods[1]: name: missing or empty"},
        {"{\"methods\":[{\"name\":\"\"}]}", "methods[0]: name: missing or empty"},
        {"{\"methods\":[{\"name\":5}]}", "methods[0]: name: expected a string, got number"},
        {"{\"methods\":[{\"name\":\"a\"},{\"name\":\"a\"}]}", "method 'a': declared twice"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        openrpc_result r = openrpc_read_text(&openrpc_plugin_opts, cases[i].text);
        assert_string_equal(r.err.msg, cases[i].message);
        assert_int_equal(r.rc, CW_PARAMS);
        assert_null(r.methods);
        openrpc_result_done(&r);
    }
}

TEST(mistakes_of_a_method_are_named)
{
    static const struct {
        const char *rest, *message;
    } cases[] = {
        {"\"summary\":[]", "summary: expected a string, got array"},
        {"\"description\":5", "description: expected a string, got number"},
        {"\"params\":{}", "params: expected an array, got object"},
        {"\"params\":[5]", "params[0]: expected an object, got number"},
        {"\"params\":[{\"name\":\"x\"},{\"name\":true}]",
         "params[1]: name: expected a string, got boolean"},
        {"\"params\":[{\"name\":\"x\"},{\"name\":\"x\"}]", "param 'x': declared twice"},
        {"\"params\":[{\"name\":\"x\",\"required\":1}]",
         "param 'x': required: expected true or false, got number"},
        {"\"params\":[{\"name\":\"x\",\"description\":{}}]",
         "param 'x': description: expected a string, got object"},
        {"\"params\":[{\"name\":\"x\",\"schema\":null}]",
         "param 'x': schema: expected an object, got null"},
        {"\"params\":[{\"name\":\"x\",\"schema\":\"string\"}]",
         "param 'x': schema: expected an object, got string"},
        {"\"x-input\":true", "x-input: expected an object, got boolean"},
        {"\"x-input\":{\"type\":\"object\"}", "x-input: 'type' follows from the params"},
        {"\"x-input\":{\"required\":[]}", "x-input: 'required' follows from the params"},
        {"\"result\":true", "result: expected an object, got boolean"},
        {"\"result\":{\"schema\":true}", "result: schema: expected an object, got boolean"},
        {"\"result\":{\"schema\":[]}", "result: schema: expected an object, got array"},
        {"\"paramStructure\":\"by-hand\"",
         "paramStructure: expected \"by-name\", \"by-position\" or \"either\""},
        {"\"paramStructure\":5", "paramStructure: expected a string, got number"},
        {"\"x-mcp-resource\":5", "x-mcp-resource: expected an object, got number"},
        {"\"x-mcp-resource\":{\"url\":\"a:b\"}", "x-mcp-resource: unknown member 'url'"},
        {"\"x-mcp-resource\":{\"uri\":\"a:b\",\"size\":0.5}",
         "x-mcp-resource: size: expected an integer, got number"},
        {"\"x-mcp-resource\":{\"uri\":\"a:b\",\"annotations\":[]}",
         "x-mcp-resource: annotations: expected an object, got array"},
        {"\"x-mcp-resource\":{\"uri\":5}", "x-mcp-resource: uri: expected a string, got number"},
        {"\"x-mcp-resource\":{\"uri\":\"\"}", "x-mcp-resource: uri: missing"},
        {"\"x-mcp-prompt\":{\"name\":\"p\",\"completes\":\"x\"}",
         "x-mcp-prompt: completes: expected an array, got string"},
        {"\"x-mcp-resource\":{\"uri\":\"a:b\"},\"x-mcp-prompt\":{\"name\":\"p\"}",
         "x-mcp-prompt: it is something else already"},
        {"\"x-access\":[]", "x-access: expected an object, got array"},
        {"\"x-access\":{\"permission\":[]}", "x-access: unknown member 'permission'"},
        {"\"x-access\":{\"permissions\":\"p\"}",
         "x-access: permissions: expected an array, got string"},
        {"\"x-access\":{\"permissions\":[\"p\",5]}",
         "x-access: permissions: [1]: expected a string, got number"},
        {"\"x-access\":{\"permissions\":[\"\"]}",
         "x-access: permissions: [0]: expected a text without control characters"},
        {"\"x-access\":{\"permissions\":[\"a\\nb\"]}",
         "x-access: permissions: [0]: expected a text without control characters"},
        {"\"x-access\":{\"permissions\":[\"a\\u007f\"]}",
         "x-access: permissions: [0]: expected a text without control characters"},
        {"\"x-mcp-tool\":true", "x-mcp-tool: expected an object, got boolean"},
        {"\"x-mcp-tool\":{\"tilte\":\"T\"}", "x-mcp-tool: unknown member 'tilte'"},
        {"\"x-mcp-tool\":{\"title\":5}", "x-mcp-tool: title: expected a string, got number"},
        {"\"x-mcp-tool\":{\"annotations\":[1]}",
         "x-mcp-tool: annotations: expected an object, got array"},
        {"\"x-mcp-tool\":{\"annotations\":[]}",
         "x-mcp-tool: annotations: expected an object, got array"},
        {"\"x-mcp-tool\":{\"annotations\":{\"0\":1,\"1\":2,\"2\":3}}",
         "x-mcp-tool: annotations: expected an object with names, got a list"},
        {"\"x-mcp-tool\":{\"visibility\":\"hidden\"}",
         "x-mcp-tool: visibility: expected \"challenge\" or \"hide\""},
        {"\"x-mcp-tool\":{\"visibility\":null}",
         "x-mcp-tool: visibility: expected \"challenge\" or \"hide\""},
        {"\"x-mcp-tool\":{\"visibility\":\"hide\"}",
         "x-mcp-tool: visibility: \"hide\" needs scopes or the level \"required\""},
        {"\"x-mcp-tool\":{\"annotations\":{\"auth\":[]}}",
         "x-mcp-tool: annotations: auth: expected an object, got array"},
        {"\"x-mcp-tool\":{\"annotations\":{\"auth\":{}}}",
         "x-mcp-tool: annotations: auth: scopes or level is needed"},
        {"\"x-mcp-tool\":{\"annotations\":{\"auth\":{\"scopes\":\"s\"}}}",
         "x-mcp-tool: annotations: auth: scopes: expected an array, got string"},
        {"\"x-mcp-tool\":{\"annotations\":{\"auth\":{\"scopes\":[\"a b\"]}}}",
         "x-mcp-tool: annotations: auth: scopes: [0]: expected a scope (printable ASCII without "
         "spaces, '\"' and '\\')"},
        {"\"x-mcp-tool\":{\"annotations\":{\"auth\":{\"scopes\":[],\"level\":\"maximal\"}}}",
         "x-mcp-tool: annotations: auth: level: expected \"none\", \"optional\" or \"required\""},
        {"\"x-mcp-tool\":{\"annotations\":{\"auth\":{\"scopes\":[],\"level\":null}}}",
         "x-mcp-tool: annotations: auth: level: expected \"none\", \"optional\" or \"required\""},
        {"\"x-mcp-tool\":{\"annotations\":{\"auth\":{\"scopes\":[],\"description\":5}}}",
         "x-mcp-tool: annotations: auth: description: expected a string, got number"},
        {"\"x-mcp-tool\":{\"annotations\":{\"auth\":{\"scopes\":[],\"lever\":\"none\"}}}",
         "x-mcp-tool: annotations: auth: unknown member 'lever'"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char text[600];
        char message[CW_ERR_MSG_MAX + 20];
        snprintf(text, sizeof text, "{\"methods\":[{\"name\":\"a.b\",%s}]}", cases[i].rest);
        snprintf(message, sizeof message, "method 'a.b': %s", cases[i].message);
        openrpc_result r = openrpc_read_text(&openrpc_plugin_opts, text);
        assert_string_equal(r.err.msg, message);
        assert_int_equal(r.rc, CW_PARAMS);
        openrpc_result_done(&r);
    }
}

TEST(scopes_are_fit_for_a_challenge)
{
    static const char *const wrong[] = {"\"\"",        "\"a\\\"\"", "\"a\\\\\"",
                                        "\"\\u00e9\"", "\"a\\n\"",  "\"\\u007f\""};
    for (size_t i = 0; i < CW_COUNT(wrong); i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "{\"methods\":[{\"name\":\"a\",\"x-mcp-tool\":{\"annotations\":{\"auth\":{"
                 "\"scopes\":[%s]}}}}]}",
                 wrong[i]);
        openrpc_result r = openrpc_read_text(&openrpc_plugin_opts, text);
        assert_int_equal(r.rc, CW_PARAMS);
        openrpc_result_done(&r);
    }
    openrpc_result r =
        read_method("\"x-mcp-tool\":{\"annotations\":{\"auth\":{\"scopes\":[\"!#[]^~\"]}}}");
    assert_str(r.methods->needs.scopes[0], "!#[]^~");
    openrpc_result_done(&r);
}

TEST(a_mark_of_the_operator_is_read_alike)
{
    cw_arena arena;
    cw_arena_init(&arena, 1 << 16);
    const cw_json *v = NULL;
    const cw_mark *mark = NULL;
    cw_requirements needs = {.n_permissions = 7};
    cw_err err = {0};
    assert_int_equal(cw_json_read(CW_STR("{\"title\":\"T\",\"annotations\":{\"auth\":{\"scopes\":["
                                         "\"s\"]}}}"),
                                  NULL, &arena, &v, NULL, NULL),
                     CW_OK);
    assert_int_equal(cw_openrpc_mark(v, "source 'x'", &arena, &mark, &needs, &err), CW_OK);
    assert_str(mark->title, "T");
    assert_int_equal(needs.level, CW_AUTH_REQUIRED);
    assert_int_equal(needs.n_permissions, 7); /* not the mark's business */
    assert_int_equal(cw_json_read(CW_STR("{\"annotations\":5}"), NULL, &arena, &v, NULL, NULL),
                     CW_OK);
    mark = NULL;
    assert_int_equal(cw_openrpc_mark(v, "source 'x'", &arena, &mark, &needs, &err), CW_PARAMS);
    assert_string_equal(err.msg, "source 'x': annotations: expected an object, got number");
    assert_null(mark);
    cw_arena_done(&arena);
}

/* ---- references ---- */

/* The schema of the only param of a method, as the document has it and as it is read. */
static void assert_schema(const char *schema, const char *expected)
{
    char text[4000];
    snprintf(text, sizeof text,
             "{" OPENRPC_COMPONENTS
             "\"methods\":[{\"name\":\"a\",\"params\":[{\"name\":\"x\",\"schema\":%s"
             "}],\"result\":{\"schema\":%s}}]}",
             schema, schema);
    openrpc_result r = openrpc_read_text(&openrpc_remote_opts, text);
    if (r.rc)
        fail_msg("%s: %s", schema, r.err.msg);
    assert_str(r.methods->params[0].schema, expected);
    assert_str(r.methods->output, expected);
    openrpc_result_done(&r);
}

#define ID "{\"type\":\"integer\",\"default\":7}"
#define TREE                                                                                       \
    "{\"type\":\"object\",\"properties\":{\"kids\":{\"items\":{\"$ref\":\"#/$defs/"                \
    "Tree\"}},\"id\":"                                                                             \
    "{\"$ref\":\"#/$defs/Id\"}}}"

TEST(params_methods_and_results_may_be_references)
{
    openrpc_result r = openrpc_read_text(
        &openrpc_remote_opts,
        "{" OPENRPC_COMPONENTS "\"x-all\":{\"m\":{\"name\":\"a\",\"params\":[{\"$ref\":\"#/"
        "components/contentDescriptors/Again\"}],\"result\":{\"$ref\":\"#/components/"
        "contentDescriptors/Id\"}}},\"methods\":[{\"$ref\":\"#/x-all/m\"}]}");
    assert_int_equal(r.rc, CW_OK);
    assert_str(r.methods->id, "a");
    assert_str(r.methods->params[0].name, "id");
    assert_str(r.methods->params[0].schema, ID);
    assert_span(r.methods->params[0].default_value, "7");
    assert_str(r.methods->output, ID);
    openrpc_result_done(&r);
}

TEST(a_schema_takes_along_what_it_refers_to)
{
    assert_schema("{\"$ref\":\"#/components/schemas/Id\"}", ID);
    assert_schema("{\"items\":{\"$ref\":\"#/components/schemas/Id\"}}",
                  "{\"items\":{\"$ref\":\"#/$defs/Id\"},\"$defs\":{\"Id\":" ID "}}");
    /* Once, however often it is meant, and whatever refers to itself. */
    assert_schema("{\"anyOf\":[{\"$ref\":\"#/components/schemas/Tree\"},{\"$ref\":\"#/components/"
                  "schemas/Id\"},{\"$ref\":\"#/components/schemas/Id\"}]}",
                  "{\"anyOf\":[{\"$ref\":\"#/$defs/Tree\"},{\"$ref\":\"#/$defs/Id\"},{\"$ref\":\"#/"
                  "$defs/Id\"}],\"$defs\":{\"Tree\":" TREE ",\"Id\":" ID "}}");
    assert_schema("{\"$ref\":\"#/components/schemas/Tree\"}",
                  "{\"type\":\"object\",\"properties\":{\"kids\":{\"items\":{\"$ref\":\"#/$defs/"
                  "Tree\"}},\"id\":{\"$ref\":\"#/$defs/Id\"}},\"$defs\":{\"Tree\":" TREE
                  ",\"Id\":" ID "}}");
}

TEST(definitions_have_names_of_their_own)
{
    assert_schema("{\"anyOf\":[{\"$ref\":\"#/components/schemas/Id\"},{\"$ref\":\"#/components/"
                  "other/Id\"},{\"$ref\":\"#/components/other/a~1b\"}]}",
                  "{\"anyOf\":[{\"$ref\":\"#/$defs/Id\"},{\"$ref\":\"#/$defs/Id_2\"},{\"$ref\":\"#/"
                  "$defs/a~01b\"}],\"$defs\":{\"Id\":" ID
                  ",\"Id_2\":{\"type\":\"string\"},\"a~1b\":false}}");
    assert_schema("{\"not\":{\"$ref\":\"#/components/schemas/Id\"},\"$defs\":{\"Id\":true}}",
                  "{\"not\":{\"$ref\":\"#/definitions/Id\"},\"$defs\":{\"Id\":true},"
                  "\"definitions\":{\"Id\":" ID "}}");
    assert_schema("{\"not\":{\"$ref\":\"#/components/schemas/Id\"},\"$defs\":1,\"definitions\":2}",
                  "{\"not\":{\"$ref\":\"#/x-definitions/Id\"},\"$defs\":1,\"definitions\":2,"
                  "\"x-definitions\":{\"Id\":" ID "}}");
}

TEST(white_space_between_tokens_goes)
{
    assert_schema("{ \"$defs\": {\"x y\": [ 1.0e0 ,2]}, \"enum\": [\"a  b\"] }",
                  "{\"$defs\":{\"x y\":[1.0e0,2]},\"enum\":[\"a  b\"]}");
}

/* Plugins count from their own schema, since they do not see the document around it. */
TEST(references_inside_a_schema_stay_inside_it)
{
    static const char *const same[] = {
        "{\"$defs\":{\"x\":{}},\"items\":{\"$ref\":\"#/$defs/x\"}}",
        "{\"items\":{\"$ref\":\"#\"}}",
        "{\"items\":{\"$ref\":\"#anchor\"}}",
        "{\"items\":{\"$ref\":\"https://example.org/x\"}}",
        "{\"enum\":[{\"$ref\":\"#/components/schemas/Id\"}]}",
        "{\"$id\":\"urn:x\",\"items\":{\"$ref\":\"#/nowhere\"}}",
    };
    for (size_t i = 0; i < CW_COUNT(same); i++)
        assert_schema(same[i], same[i]);
    assert_schema("{\"not\":{\"$ref\":\"#/components/schemas/Own\"}}",
                  "{\"not\":{\"$ref\":\"#/$defs/Own\"},\"$defs\":{\"Own\":{\"$defs\":{\"x\":{"
                  "\"type\":\"null\"}},\"anyOf\":[{\"$ref\":\"#/$defs/Own/$defs/x\"},{\"$ref\":\"#/"
                  "$defs/Own\"}]}}}");
}

TEST(what_holds_for_all_arguments_has_the_params_inside)
{
    openrpc_result r =
        read_method("\"params\":[{\"name\":\"x\",\"required\":true,\"schema\":{\"type\":"
                    "\"string\"}},{\"name\":\"y\"}],\"x-input\":{\"maxProperties\":1}");
    assert_str(r.methods[0].input, "{\"maxProperties\":1,\"type\":\"object\",\"properties\":{"
                                   "\"x\":{\"type\":\"string\"},\"y\":{}},\"required\":[\"x\"]}");
    openrpc_result_done(&r);
    r = read_method("\"x-input\":{}");
    assert_str(r.methods[0].input, "{\"type\":\"object\",\"properties\":{}}");
    openrpc_result_done(&r);
    r = read_method("\"params\":[{\"name\":\"x\",\"schema\":{\"type\":\"string\"}}]");
    assert_int_equal(r.methods[0].input.n, 0);
    openrpc_result_done(&r);
}

TEST(params_keep_their_references_and_descriptions_among_all_arguments)
{
    openrpc_result r = read_method(
        "\"params\":[{\"name\":\"a/b\",\"description\":\"Who.\",\"schema\":{\"$ref\":"
        "\"#/$defs/n\",\"$defs\":{\"n\":{\"type\":\"integer\"}}}},{\"name\":\"c\",\"description\":"
        "\"All.\",\"schema\":true}],\"x-input\":{\"anyOf\":[{\"$ref\":\"#/$defs/o\"}],\"$defs\":"
        "{\"o\":{}}}");
    assert_str(
        r.methods[0].input,
        "{\"anyOf\":[{\"$ref\":\"#/$defs/o\"}],\"$defs\":{\"o\":{}},\"type\":\"object\","
        "\"properties\":{\"a/b\":{\"$ref\":\"#/properties/a~1b/$defs/n\",\"$defs\":{\"n\":"
        "{\"type\":\"integer\"}},\"description\":\"Who.\"},\"c\":{\"description\":\"All.\"}}}");
    /* What the param itself says is untouched: it is a root of its own. */
    assert_str(r.methods[0].params[0].schema,
               "{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"type\":\"integer\"}}}");
    openrpc_result_done(&r);
}

TEST(the_dialect_of_a_param_holds_for_all_arguments)
{
    static const char params[] =
        "\"params\":[{\"name\":\"x\"},{\"name\":\"y\",\"schema\":{\"$schema\":"
        "\"http://json-schema.org/draft-07/schema#\"}}],";
    char text[512];
    snprintf(text, sizeof text, "%s\"x-input\":{}", params);
    openrpc_result r = read_method(text);
    assert_str(r.methods[0].input,
               "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"type\":\"object\","
               "\"properties\":{\"x\":{},\"y\":{}}}");
    openrpc_result_done(&r);
    snprintf(text, sizeof text, "%s\"x-input\":{\"$schema\":\"u:v\"}", params);
    r = read_method(text);
    assert_str(r.methods[0].input, "{\"$schema\":\"u:v\",\"type\":\"object\","
                                   "\"properties\":{\"x\":{},\"y\":{}}}");
    openrpc_result_done(&r);
}

TEST(references_that_lead_nowhere_are_named)
{
    static const struct {
        const char *param, *message;
    } cases[] = {
        {"{\"$ref\":\"#/components/none\"}", "params[0]: $ref '#/components/none' leads nowhere"},
        {"{\"$ref\":\"other.json\"}", "params[0]: $ref 'other.json': only \"#/...\" is followed"},
        {"{\"$ref\":\"#/components/schemas/Loop\"}",
         "params[0]: $ref leads to more than 16 others"},
        {"{\"name\":\"x\",\"schema\":{\"$ref\":\"#/nope\"}}",
         "param 'x': schema: $ref '#/nope' leads nowhere"},
        {"{\"name\":\"x\",\"schema\":{\"$ref\":\"#/components/schemas/Loop\"}}",
         "param 'x': schema: $ref leads to more than 16 others"},
        {"{\"name\":\"x\",\"schema\":{\"items\":{\"$ref\":\"#/nope\"}}}",
         "param 'x': schema: $ref '#/nope' leads nowhere"},
        {"{\"name\":\"x\",\"schema\":{\"not\":{\"$ref\":\"#/components/schemas/Id\"},\"$defs\":1,"
         "\"definitions\":1,\"x-definitions\":1}}",
         "param 'x': schema: $defs, definitions and x-definitions are all taken"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char text[2000];
        char message[CW_ERR_MSG_MAX + 20];
        snprintf(text, sizeof text,
                 "{" OPENRPC_COMPONENTS "\"methods\":[{\"name\":\"a\",\"params\":[%s]}]}",
                 cases[i].param);
        snprintf(message, sizeof message, "method 'a': %s", cases[i].message);
        openrpc_result r = openrpc_read_text(&openrpc_plugin_opts, text);
        assert_string_equal(r.err.msg, message);
        assert_int_equal(r.rc, CW_PARAMS);
        openrpc_result_done(&r);
    }
    openrpc_result r = openrpc_read_text(
        &openrpc_plugin_opts, "{\"methods\":[{\"name\":\"a\",\"result\":{\"$ref\":\"#/x\"}}]}");
    assert_string_equal(r.err.msg, "method 'a': result: $ref '#/x' leads nowhere");
    openrpc_result_done(&r);
    r = openrpc_read_text(&openrpc_plugin_opts, "{\"methods\":[{\"$ref\":\"#/x\"}]}");
    assert_string_equal(r.err.msg, "methods[0]: $ref '#/x' leads nowhere");
    openrpc_result_done(&r);
}

/* ---- ceilings ---- */

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Each of many schemas refers to the end of a very large object. */
TEST(references_into_a_large_object_are_found_in_time)
{
    cw_buf b;
    cw_buf_init(&b, 64u << 20);
    cw_buf_add(&b, CW_STR("{\"components\":{\"schemas\":{"));
    for (int i = 0; i < 9990; i++)
        cw_buf_printf(&b, "%s\"s%d\":{}", i ? "," : "", i);
    cw_buf_add(&b, CW_STR("}},\"methods\":["));
    for (int i = 0; i < 400; i++) {
        cw_buf_printf(&b, "%s{\"name\":\"m%d\",\"params\":[{\"name\":\"x\",\"schema\":{\"anyOf\":[",
                      i ? "," : "", i);
        for (int k = 0; k < 500; k++)
            cw_buf_printf(&b, "%s{\"$ref\":\"#/components/schemas/s%d\"}", k ? "," : "", 9989 - k);
        cw_buf_add(&b, CW_STR("]}}]}"));
    }
    cw_buf_add(&b, CW_STR("]}"));
    char *text = cw_buf_take(&b, NULL);
    double start = cpu_ms();
    openrpc_result r = openrpc_read_text(&openrpc_remote_opts, text);
    double ms = cpu_ms() - start;
    assert_int_equal(r.rc, CW_OK);
    assert_int_equal(r.n, 400);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    if (ms > 1500)
        fail_msg("%.0f ms of CPU", ms);
#endif
    (void)ms;
    openrpc_result_done(&r);
    free(text);
}

typedef struct bounds_case {
    const char *old, *now;
} bounds_case;

static void check_bounds(const bounds_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cw_arena arena;
        const cw_json *doc;
        cw_arena_init(&arena, 1u << 20);
        assert_int_equal(cw_json_read(cw_str_from(cases[i].old), NULL, &arena, &doc, NULL, NULL),
                         CW_OK);
        assert_int_equal(cw_openrpc_upgrade_draft4(&doc, &arena, NULL), CW_OK);
        assert_span(doc, cases[i].now);
        cw_arena_done(&arena);
    }
}

/* Draft-04 has booleans where later drafts have the bound itself. */
TEST(old_bounds_keep_their_meaning)
{
    static const bounds_case cases[] = {
        {"{\"minimum\":5,\"exclusiveMinimum\":true}", "{\"exclusiveMinimum\":5}"},
        {"{\"exclusiveMaximum\":true,\"type\":\"number\",\"maximum\":1.50}",
         "{\"type\":\"number\",\"exclusiveMaximum\":1.50}"},
        {"{\"minimum\":5,\"exclusiveMinimum\":false}", "{\"minimum\":5}"},
        {"{\"type\":\"integer\",\"exclusiveMinimum\":false}", "{\"type\":\"integer\"}"},
        {"{\"items\":[{\"maximum\":9,\"exclusiveMaximum\":true}]}",
         "{\"items\":[{\"exclusiveMaximum\":9}]}"},
        /* Later drafts, properties of that name, and data. */
        {"{\"exclusiveMinimum\":5}", "{\"exclusiveMinimum\":5}"},
        {"{\"properties\":{\"exclusiveMinimum\":true,\"minimum\":{}}}",
         "{\"properties\":{\"exclusiveMinimum\":true,\"minimum\":{}}}"},
        {"{\"default\":{\"minimum\":5,\"exclusiveMinimum\":true}}",
         "{\"default\":{\"minimum\":5,\"exclusiveMinimum\":true}}"},
    };
    check_bounds(cases, CW_COUNT(cases));
}

/* Such a name is a keyword in a schema only, and its value is data there only. */
TEST(old_bounds_keep_their_meaning_below_names_of_data)
{
    static const bounds_case cases[] = {
        {"{\"properties\":{\"default\":{\"minimum\":5,\"exclusiveMinimum\":true}}}",
         "{\"properties\":{\"default\":{\"exclusiveMinimum\":5}}}"},
        {"{\"patternProperties\":{\"enum\":{\"minimum\":5,\"exclusiveMinimum\":true}}}",
         "{\"patternProperties\":{\"enum\":{\"exclusiveMinimum\":5}}}"},
        {"{\"definitions\":{\"const\":{\"minimum\":5,\"exclusiveMinimum\":true}}}",
         "{\"definitions\":{\"const\":{\"exclusiveMinimum\":5}}}"},
        {"{\"$defs\":{\"example\":{\"minimum\":5,\"exclusiveMinimum\":true}}}",
         "{\"$defs\":{\"example\":{\"exclusiveMinimum\":5}}}"},
        {"{\"dependentSchemas\":{\"examples\":{\"minimum\":5,\"exclusiveMinimum\":true}}}",
         "{\"dependentSchemas\":{\"examples\":{\"exclusiveMinimum\":5}}}"},
        {"{\"components\":{\"schemas\":{\"default\":{\"minimum\":5,\"exclusiveMinimum\":true}}}}",
         "{\"components\":{\"schemas\":{\"default\":{\"exclusiveMinimum\":5}}}}"},
        {"{\"components\":{\"contentDescriptors\":{\"example\":{\"schema\":"
         "{\"minimum\":5,\"exclusiveMinimum\":true}}}}}",
         "{\"components\":{\"contentDescriptors\":{\"example\":{\"schema\":"
         "{\"exclusiveMinimum\":5}}}}}"},
        /* A property may be named like a list of properties: its value is a schema. */
        {"{\"properties\":{\"properties\":{\"default\":{\"minimum\":5,"
         "\"exclusiveMinimum\":true}}}}",
         "{\"properties\":{\"properties\":{\"default\":{\"minimum\":5,"
         "\"exclusiveMinimum\":true}}}}"},
    };
    check_bounds(cases, CW_COUNT(cases));
}

TEST(documents_have_a_number_of_methods)
{
    char *text = repeat_item("{\"methods\":[", "{\"name\":\"m%\",\"params\":[{\"name\":\"x\"}]}",
                             CW_OPENRPC_MAX_METHODS, "]}");
    openrpc_result r = openrpc_read_text(&openrpc_plugin_opts, text);
    assert_int_equal(r.rc, CW_OK);
    assert_int_equal(r.n, CW_OPENRPC_MAX_METHODS);
    openrpc_result_done(&r);
    free(text);
    text = repeat_item("{\"methods\":[", "{\"name\":\"m%\"}", CW_OPENRPC_MAX_METHODS + 1, "]}");
    r = openrpc_read_text(&openrpc_plugin_opts, text);
    assert_int_equal(r.rc, CW_LIMIT);
    assert_string_equal(r.err.msg, "OpenRPC document: 10001 methods, the limit is 10000");
    openrpc_result_done(&r);
    free(text);
}

TEST(methods_have_a_number_of_params)
{
    const char *front = "{\"methods\":[{\"name\":\"a\",\"params\":[";
    char *text = repeat_item(front, "{\"name\":\"p%\"}", CW_OPENRPC_MAX_PARAMS, "]}]}");
    openrpc_result r = openrpc_read_text(&openrpc_plugin_opts, text);
    assert_int_equal(r.rc, CW_OK);
    assert_int_equal(r.methods->n_params, CW_OPENRPC_MAX_PARAMS);
    openrpc_result_done(&r);
    free(text);
    text = repeat_item(front, "{\"name\":\"p%\"}", CW_OPENRPC_MAX_PARAMS + 1, "]}]}");
    r = openrpc_read_text(&openrpc_plugin_opts, text);
    assert_int_equal(r.rc, CW_LIMIT);
    assert_string_equal(r.err.msg, "method 'a': params: 257 of them, the limit is 256");
    openrpc_result_done(&r);
    free(text);
}

/* A schema that refers to `n` others. */
static openrpc_result read_references(size_t n)
{
    char *defs = repeat_item("{\"c\":{", "\"d%\":{}", n, "},");
    char *refs = repeat_item("\"methods\":[{\"name\":\"a\",\"result\":{\"schema\":{\"anyOf\":[",
                             "{\"$ref\":\"#/c/d%\"}", n, "]}}}]}");
    cw_buf b;
    cw_buf_init(&b, 1 << 20);
    cw_buf_printf(&b, "%s%s%c", defs, refs, '\0');
    openrpc_result r = openrpc_read_text(&openrpc_plugin_opts, b.p);
    cw_buf_done(&b);
    free(defs);
    free(refs);
    return r;
}

TEST(a_schema_has_a_number_of_references)
{
    openrpc_result r = read_references(999);
    assert_int_equal(r.rc, CW_OK);
    const cw_json *output;
    assert_int_equal(cw_json_read(r.methods->output, NULL, &r.arena, &output, NULL, NULL), CW_OK);
    assert_int_equal(cw_json_count(cw_json_get(output, CW_STR("$defs"))), 999);
    openrpc_result_done(&r);
    r = read_references(1000);
    assert_int_equal(r.rc, CW_LIMIT);
    assert_string_equal(r.err.msg, "method 'a': result: schema: more than 999 references");
    openrpc_result_done(&r);
}

TEST(a_schema_has_a_size_with_all_it_refers_to)
{
    cw_buf b;
    cw_buf_init(&b, (size_t)40 << 20);
    cw_buf_add(&b, CW_STR("{\"big\":{\"enum\":[\""));
    char *space = cw_buf_reserve(&b, (size_t)17 << 20);
    memset(space, 'x', (size_t)17 << 20);
    cw_buf_commit(&b, (size_t)17 << 20);
    cw_buf_add(&b,
               CW_STR("\"]},\"methods\":[{\"name\":\"a\",\"result\":{\"schema\":{\"not\":{\"$ref\":"
                      "\"#/big\"}}}}]}"));
    cw_buf_add_char(&b, '\0');
    openrpc_result r = openrpc_read_text(&openrpc_plugin_opts, b.p);
    assert_int_equal(r.rc, CW_LIMIT);
    assert_string_equal(r.err.msg,
                        "method 'a': result: schema: longer than 16777216 bytes with all "
                        "it refers to");
    openrpc_result_done(&r);
    cw_buf_done(&b);
}

/* Names of a megabyte each do not fit where targets are kept. */
TEST(names_of_references_have_a_ceiling)
{
    cw_buf b;
    cw_buf_init(&b, (size_t)8 << 20);
    size_t n = 1100 * 1024;
    char *name = malloc(n);
    memset(name, 'x', n);
    cw_buf_printf(&b,
                  "{\"%.*s\":{},\"methods\":[{\"name\":\"a\",\"result\":{\"schema\":{\"not\":{"
                  "\"$ref\":\"#/%.*s\"}}}}]}%c",
                  (int)n, name, (int)n, name, '\0');
    openrpc_result r = openrpc_read_text(&openrpc_plugin_opts, b.p);
    assert_int_equal(r.rc, CW_LIMIT);
    openrpc_result_done(&r);
    free(name);
    cw_buf_done(&b);
}

TEST(a_full_arena_is_reported)
{
    cw_arena docs;
    cw_arena_init(&docs, 1 << 20);
    const cw_json *doc = NULL;
    assert_int_equal(
        cw_json_read(CW_STR("{\"s\":{},\"methods\":[{\"name\":\"a\",\"params\":[{\"name\":\"x\","
                            "\"schema\":{\"not\":{\"$ref\":\"#/s\"}}}],\"x-mcp-tool\":{},"
                            "\"x-access\":{\"permissions\":[\"p\"]}}]}"),
                     NULL, &docs, &doc, NULL, NULL),
        CW_OK);
    for (size_t max = 0; max < 16; max += 1) {
        cw_arena arena;
        cw_arena_init(&arena, max);
        cw_method *methods = NULL;
        size_t n = 0;
        cw_err err = {0};
        assert_int_equal(cw_openrpc_read(doc, &openrpc_plugin_opts, &arena, &methods, &n, &err),
                         CW_LIMIT);
        assert_true(err.msg[0]);
        cw_arena_done(&arena);
    }
    cw_arena_done(&docs);
}

TEST(no_permissions_are_fine)
{
    static const char *const none[] = {"\"x-access\":{}", "\"x-access\":{\"permissions\":[]}"};
    for (size_t i = 0; i < CW_COUNT(none); i++) {
        openrpc_result r = read_method(none[i]);
        assert_int_equal(r.methods->needs.n_permissions, 0);
        openrpc_result_done(&r);
    }
}

/* ---- no memory ---- */

static void read_once(void *ctx)
{
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    cw_method *methods = NULL;
    size_t n = 0;
    cw_err err = {0};
    cw_code rc = cw_openrpc_read(ctx, &openrpc_plugin_opts, &arena, &methods, &n, &err);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    assert_int_equal(err.code, rc);
    cw_arena_done(&arena);
}

TEST(every_failed_allocation_is_reported)
{
    cw_arena docs;
    cw_arena_init(&docs, 1 << 20);
    char *text = repeat_item(
        "{" OPENRPC_COMPONENTS "\"methods\":[",
        "{\"name\":\"m%\",\"params\":[{\"name\":\"x\",\"schema\":{\"anyOf\":[{\"$ref\":\"#/"
        "components/schemas/Tree\"},{\"$ref\":\"#/components/other/Id\"},{\"$ref\":\"#/components/"
        "schemas/"
        "Own\"}]}}],\"x-input\":{\"maxProperties\":1},\"x-mcp-tool\":{\"annotations\":{\"auth\":{"
        "\"scopes\":[\"s\"]}}},"
        "\"x-access\":{\"permissions\":[\"p\",\"q\"]}}",
        10, "]}");
    const cw_json *doc = NULL;
    assert_int_equal(cw_json_read(cw_str_from(text), NULL, &docs, &doc, NULL, NULL), CW_OK);
    assert_true(oom_each(read_once, (void *)(uintptr_t)doc) >= 50);
    free(text);
    /* A list so long, and names so long, that they need a block of their own. */
    cw_buf b;
    cw_buf_init(&b, 1 << 20);
    cw_buf_printf(&b,
                  "{\"c\":{\"%0600d\":{}},\"d\":{\"%0600d\":{}},\"methods\":[{\"name\":\"a\","
                  "\"result\":{\"schema\":{\"a\":{\"$ref\":\"#/c/%0600d\"},\"b\":{\"$ref\":"
                  "\"#/d/%0600d\"}}},\"x-access\":{\"permissions\":[\"p\"",
                  0, 0, 0, 0);
    for (int i = 0; i < 500; i++)
        cw_buf_add(&b, CW_STR(",\"p\""));
    cw_buf_add(&b, CW_STR("]}}]}"));
    assert_int_equal(cw_json_read(cw_buf_str(&b), NULL, &docs, &doc, NULL, NULL), CW_OK);
    assert_true(oom_each(read_once, (void *)(uintptr_t)doc) >= 10);
    cw_buf_done(&b);
    cw_arena_done(&docs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_method_needs_a_name_only),
        cmocka_unit_test(a_whole_method_is_read),
        cmocka_unit_test(a_summary_stands_in_for_a_description),
        cmocka_unit_test(structures_are_three_words),
        cmocka_unit_test(marks_of_strangers_are_not_read),
        cmocka_unit_test(the_effective_level_follows_the_table),
        cmocka_unit_test(a_mark_may_hide_its_tool),
        cmocka_unit_test(annotations_are_maps_with_names),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(mistakes_of_a_method_are_named),
        cmocka_unit_test(scopes_are_fit_for_a_challenge),
        cmocka_unit_test(a_mark_of_the_operator_is_read_alike),
        cmocka_unit_test(params_methods_and_results_may_be_references),
        cmocka_unit_test(a_schema_takes_along_what_it_refers_to),
        cmocka_unit_test(definitions_have_names_of_their_own),
        cmocka_unit_test(white_space_between_tokens_goes),
        cmocka_unit_test(references_inside_a_schema_stay_inside_it),
        cmocka_unit_test(what_holds_for_all_arguments_has_the_params_inside),
        cmocka_unit_test(params_keep_their_references_and_descriptions_among_all_arguments),
        cmocka_unit_test(the_dialect_of_a_param_holds_for_all_arguments),
        cmocka_unit_test(references_that_lead_nowhere_are_named),
        cmocka_unit_test(references_into_a_large_object_are_found_in_time),
        cmocka_unit_test(old_bounds_keep_their_meaning),
        cmocka_unit_test(old_bounds_keep_their_meaning_below_names_of_data),
        cmocka_unit_test(documents_have_a_number_of_methods),
        cmocka_unit_test(methods_have_a_number_of_params),
        cmocka_unit_test(a_schema_has_a_number_of_references),
        cmocka_unit_test(a_schema_has_a_size_with_all_it_refers_to),
        cmocka_unit_test(names_of_references_have_a_ceiling),
        cmocka_unit_test(a_full_arena_is_reported),
        cmocka_unit_test(no_permissions_are_fine),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
