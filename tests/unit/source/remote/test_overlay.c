/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an operator says of the methods of a service: what is wrong, what is not there, and what the
 * service's own word does not do. */
#include "support/remote_fixture.h"

TEST(every_mistake_in_an_overlay_is_named)
{
    write_openrpc(REMOTE_OPENRPC);
    cw_config_overlay items[] = {
        {.method = CW_STR("ehco"), .tool = true},
        {.method = CW_STR("something.entirely.different"), .tool = true},
        {.method = CW_STR("add"), .tool = true, .annotations = CW_STR("[1]")},
        {.method = CW_STR("wipe"), .tool = true, .annotations = CW_STR("{nonsense")},
    };
    cw_config_remote config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, items, 4);
    client_fixture b;
    remote_load_result l;
    client_fixture_init(&b);
    remote_load_wait(&b, &l, &config);
    assert_null(l.source);
    assert_non_null(
        strstr(l.problem, "'ehco': the service has no such method; did you mean 'echo'?"));
    assert_non_null(strstr(l.problem, "\nmethod 'something.entirely.different': the service has"));
    assert_non_null(strstr(l.problem, "method 'add': "));
    assert_non_null(strstr(l.problem, "\nmethod 'wipe': annotations"));
    client_fixture_done(&b);
}

TEST(a_method_that_is_not_there_keeps_no_other_out)
{
    static const char missing[] =
        "method 'ehco': the service has no such method; did you mean 'echo'?";
    write_openrpc(REMOTE_OPENRPC);
    cw_config_overlay items[] = {
        {.method = CW_STR("ehco"), .tool = true},
        {.method = CW_STR("add"), .tool = true},
        {.method = CW_STR("gone.entirely")}, /* not wanted: nothing is said */
    };
    cw_config_remote config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, items, 3);
    client_fixture b;
    remote_load_result l;
    client_fixture_init(&b);
    remote_load_wait(&b, &l, &config);
    assert_non_null(l.source);
    assert_string_equal(l.problem, "");
    assert_string_equal(l.warnings, missing);
    assert_string_equal(l.missing, missing);
    assert_int_equal(l.source->n_methods, 1);
    assert_true(cw_str_is(l.source->methods[0].id, "shop.add"));
    cw_source_unref(l.source);
    /* A pattern that fits something is enough, too. */
    items[1].method = CW_STR("wi*");
    remote_load_wait(&b, &l, &config);
    assert_non_null(l.source);
    assert_string_equal(l.missing, missing);
    cw_source_unref(l.source);
    client_fixture_done(&b);
}

TEST(a_service_without_any_of_the_methods_is_a_problem)
{
    write_openrpc(REMOTE_OPENRPC);
    cw_config_overlay items[] = {
        {.method = CW_STR("gone.one"), .tool = true},
        {.method = CW_STR("gone.two"), .rpc = true},
        {.method = CW_STR("nix.*"), .tool = true},
        {.method = CW_STR("add")}, /* there, and not wanted */
    };
    cw_config_remote config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, items, 4);
    client_fixture b;
    remote_load_result l;
    client_fixture_init(&b);
    remote_load_wait(&b, &l, &config);
    assert_null(l.source);
    assert_string_equal(l.problem, "method 'gone.one': the service has no such method\n"
                                   "method 'gone.two': the service has no such method");
    client_fixture_done(&b);
}

TEST(hints_of_the_service_are_shown_and_open_nothing)
{
    write_openrpc("{\"openrpc\":\"1.3.2\",\"methods\":[{\"name\":\"a\",\"x-mcp-tool\":{"
                  "\"annotations\":{\"readOnlyHint\":true,"
                  "\"idempotentHint\":true}}},{\"name\":\"b\"}]}");
    static const struct {
        cw_config_overlay overlay;
        const char *annotations;
        bool reads, repeats;
    } rows[] = {
        {{.method = CW_STR_INIT("a"), .tool = true},
         "{\"readOnlyHint\":true,\"idempotentHint\":true}",
         false,
         false},
        {{.method = CW_STR_INIT("a"), .tool = true, .read_only = true},
         "{\"readOnlyHint\":true,\"idempotentHint\":true}",
         true,
         true},
        {{.method = CW_STR_INIT("a"),
          .tool = true,
          .annotations = CW_STR_INIT("{\"idempotentHint\":true}")},
         "{\"idempotentHint\":true,\"readOnlyHint\":true}",
         false,
         true},
        {{.method = CW_STR_INIT("b"),
          .tool = true,
          .annotations = CW_STR_INIT("{\"readOnlyHint\":true}")},
         "{\"readOnlyHint\":true}",
         true,
         true},
    };
    client_fixture b;
    client_fixture_init(&b);
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        remote_load_result l;
        cw_config_remote config =
            remote_config("http://127.0.0.1:1/rpc", openrpc_path, &rows[i].overlay, 1);
        remote_load_wait(&b, &l, &config);
        assert_non_null(l.source);
        const cw_remote *r = (const cw_remote *)l.source;
        const cw_mark *mark = l.source->methods[0].mark;
        char exposed[200];
        snprintf(exposed, sizeof exposed, "%.*s", CW_STR_ARG(mark->annotations));
        assert_string_equal(exposed, rows[i].annotations);
        assert_int_equal(mark->is_read_only, rows[i].reads);
        assert_int_equal(r->tools[0].reads, rows[i].reads);
        assert_int_equal(r->tools[0].may_repeat, rows[i].repeats);
        cw_source_unref(l.source);
    }
    client_fixture_done(&b);
}

TEST(a_protection_that_is_misspelt_keeps_the_tool_out)
{
    static const struct {
        const char *annotations, *problem;
    } rows[] = {
        {"{\"auth\":{\"scope\":[\"a\"]}}", "auth: unknown member 'scope'"},
        {"{\"auth\":{\"scopes\":\"a\"}}", "auth: scopes"},
        {"{\"auth\":{\"scopes\":[7]}}", "auth: scopes"},
        {"{\"auth\":{\"scopes\":[\"a\"],\"level\":\"needed\"}}", "auth: level"},
        {"{\"auth\":\"required\"}", "auth: expected an object"},
    };
    write_openrpc(REMOTE_OPENRPC);
    client_fixture b;
    client_fixture_init(&b);
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        cw_config_overlay echo = {.method = CW_STR("echo"),
                                  .tool = true,
                                  .annotations = cw_str_from(rows[i].annotations)};
        cw_config_remote config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, &echo, 1);
        remote_load_result l;
        remote_load_wait(&b, &l, &config);
        assert_null(l.source);
        if (!strstr(l.problem, rows[i].problem))
            fail_msg("%s: %s", rows[i].annotations, l.problem);
    }
    client_fixture_done(&b);
}

/* Better nobody than everybody, where it is the service that cannot be understood, too. */
TEST(a_protection_that_the_service_misspells_keeps_the_tool_out)
{
    static const char *const rows[] = {
        "{\"level\":\"sometimes\"}",
        "{\"scopes\":\"admin\"}",
        "\"required\"",
    };
    cw_config_overlay echo = {.method = CW_STR("echo"), .tool = true};
    cw_config_remote config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, &echo, 1);
    client_fixture b;
    client_fixture_init(&b);
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        char text[256];
        remote_load_result l;
        snprintf(text, sizeof text,
                 "{\"openrpc\":\"1.3.2\",\"methods\":[{\"name\":\"echo\",\"x-mcp-tool\":"
                 "{\"annotations\":{\"auth\":%s}}}]}",
                 rows[i]);
        write_openrpc(text);
        remote_load_wait(&b, &l, &config);
        assert_null(l.source);
        if (!strstr(l.problem, "method 'echo': marks of the service: ") ||
            !strstr(l.problem, "auth"))
            fail_msg("%s: %s", rows[i], l.problem);
    }
    client_fixture_done(&b);
}

static void load_once(void *ctx)
{
    const cw_config_remote *config = ctx;
    client_fixture b;
    remote_load_result l = {0};
    cw_err err = {0};
    memset(&b, 0, sizeof b);
    if (cw_loop_init(&b.loop, 64, NULL))
        return;
    client_fixture_start_tick(&b);
    cw_code rc = remote_load_start(&b, &l, config, NULL, &err);
    if (rc)
        assert_int_equal(rc, CW_NOMEM);
    else
        client_run_until(&b, l.calls);
    if (!rc && !l.source)
        assert_true(*l.problem);
    cw_source_unref(l.source);
    client_fixture_done(&b);
}

TEST(every_failed_allocation_is_survived_with_methods_that_are_not_there)
{
    write_openrpc(REMOTE_OPENRPC);
    cw_config_overlay items[] = {
        {.method = CW_STR("ehco"), .tool = true},
        {.method = CW_STR("add"), .tool = true, .read_only = true},
    };
    cw_config_remote some = remote_config("http://127.0.0.1:1/rpc", openrpc_path, items, 2);
    assert_true(oom_each(load_once, &some) > 10);
    cw_config_remote none = remote_config("http://127.0.0.1:1/rpc", openrpc_path, items, 1);
    assert_true(oom_each(load_once, &none) > 10);
}

/* A description of an MCP server. */
#define MCP_OPENRPC                                                                                \
    "{\"openrpc\":\"1.3.2\",\"x-instructions\":\"Be kind.\",\"methods\":[{\"name\":\"prompt:p\","  \
    "\"params\":[],\"x-mcp-tool\":{\"title\":\"no prompt\"}},{\"name\":\"t\",\"params\":[],"       \
    "\"x-mcp-more\":{\"icons\":[]}},{\"name\":\"prompt:review\",\"params\":[{\"name\":\"a\"}],"    \
    "\"x-mcp-prompt\":{\"name\":\"review\",\"title\":\"R\"}},{\"name\":\"resource:u://1\","        \
    "\"params\":[],\"x-mcp-resource\":{\"uri\":\"u://1\",\"name\":\"n\"}},"                        \
    "{\"name\":\"resource:u://2\",\"params\":[],\"x-mcp-resource\":{\"uri\":\"u://2\",\"name\":"   \
    "\"\\u202e\"}},{\"name\":\"template:u://{x}\",\"params\":[{\"name\":\"x\"}],"                  \
    "\"x-mcp-resource-template\":{\"uriTemplate\":\"u://{x}\",\"name\":\"n\"}}]}"

static cw_config_remote mcp_config(const cw_config_overlay *tools, size_t n)
{
    cw_config_remote config = remote_config("http://127.0.0.1:1/mcp", openrpc_path, tools, n);
    config.dialect = CW_STR("mcp");
    return config;
}

TEST(only_the_lists_of_their_kind_expose_resources_and_prompts)
{
    write_openrpc(MCP_OPENRPC);
    const cw_config_overlay any = {.method = CW_STR("*"), .tool = true};
    const cw_config_overlay prompts[] = {
        {.method = CW_STR("review"), .tool = true, .title = CW_STR("Mine")},
        {.method = CW_STR("p"), .tool = true}, /* a tool that is called like a prompt is none */
    };
    const cw_config_overlay templates[] = {
        {.method = CW_STR("v://{+y}"), .tool = true, .unlisted = true},
        {.method = CW_STR("u://{x}"), .tool = false},
    };
    cw_config_remote config = mcp_config(&any, 1);
    client_fixture b;
    remote_load_result l;
    client_fixture_init(&b);
    remote_load_wait(&b, &l, &config);
    assert_non_null(l.source);
    assert_int_equal(l.source->n_methods, 2); /* tools */
    assert_int_equal(l.source->instructions.n, 0);
    cw_source_unref(l.source);

    config.methods.n = 0;
    config.relays_instructions = true;
    config.exposed[CW_CONFIG_PROMPTS] = (cw_config_overlays){prompts, 2};
    config.exposed[CW_CONFIG_RESOURCES] = (cw_config_overlays){&any, 1};
    config.exposed[CW_CONFIG_TEMPLATES] = (cw_config_overlays){templates, 2};
    remote_load_wait(&b, &l, &config);
    assert_non_null(l.source);
    assert_non_null(strstr(l.warnings, "prompt 'p': the service has no such prompt"));
    assert_non_null(
        strstr(l.warnings, "method 'resource:u://2': its entry in the list: has U+202E"));
    assert_true(cw_str_is(l.source->instructions, "Be kind."));
    assert_int_equal(l.source->n_methods, 3);
    const cw_method *resource = &l.source->methods[0], *template = &l.source->methods[1],
                    *prompt = &l.source->methods[2];
    assert_true(cw_str_is(resource->id, "resource:u://1"));
    assert_null(resource->mark);
    assert_true(cw_str_is(template->id, "template:v://{+y}"));
    assert_true(cw_str_is(prompt->id, "prompt:shop.review"));
    assert_true(cw_str_is(prompt->exposed->address, "shop.review"));
    assert_true(cw_str_is(cw_json_span(prompt->exposed->json),
                          "{\"name\":\"shop.review\",\"title\":\"Mine\"}"));
    assert_true(cw_remote_has_resource(l.source, CW_STR("u://1")));
    assert_true(cw_remote_has_resource(l.source, CW_STR("v://a/b")));
    assert_false(cw_remote_has_resource(l.source, CW_STR("u://2")));
    assert_false(cw_remote_has_resource(NULL, CW_STR("u://1")));
    cw_source_unref(l.source);
    client_fixture_done(&b);
}

TEST(every_failed_allocation_is_survived_with_views)
{
    char file[128];
    write_openrpc(REMOTE_OPENRPC);
    temp_dir_write("view.html", "<!doctype html><p>view</p>");
    snprintf(file, sizeof file, "%s/view.html", temp_dir);
    const cw_config_overlay items[] = {
        {.method = CW_STR("echo"),
         .tool = true,
         .ui_file = cw_str_from(file),
         .ui = CW_STR("{\"prefersBorder\":true,\"permissions\":{\"camera\":{}}}")},
        {.method = CW_STR("add"), .tool = true, .ui_file = cw_str_from(file)},
        {.method = CW_STR("wipe"),
         .tool = true,
         .ui = CW_STR("{\"resourceUri\":\"ui://causeway/data.html\"}")},
    };
    cw_config_remote config =
        remote_config("http://127.0.0.1:1/rpc", openrpc_path, items, CW_COUNT(items));
    assert_true(oom_each(load_once, &config) > 10);
}

TEST(every_failed_allocation_is_survived_with_resources)
{
    write_openrpc(MCP_OPENRPC);
    const cw_config_overlay any = {.method = CW_STR("*"), .tool = true, .title = CW_STR("T")};
    const cw_config_overlay other = {.method = CW_STR("v://{+y}"), .tool = true, .unlisted = true};
    cw_config_remote config = mcp_config(&any, 1);
    config.relays_instructions = true;
    config.exposed[CW_CONFIG_PROMPTS] = config.exposed[CW_CONFIG_RESOURCES] = config.methods;
    config.exposed[CW_CONFIG_TEMPLATES] = (cw_config_overlays){&other, 1};
    assert_true(oom_each(load_once, &config) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mistake_in_an_overlay_is_named),
        cmocka_unit_test(a_method_that_is_not_there_keeps_no_other_out),
        cmocka_unit_test(a_service_without_any_of_the_methods_is_a_problem),
        cmocka_unit_test(hints_of_the_service_are_shown_and_open_nothing),
        cmocka_unit_test(every_failed_allocation_is_survived_with_methods_that_are_not_there),
        cmocka_unit_test(a_protection_that_is_misspelt_keeps_the_tool_out),
        cmocka_unit_test(a_protection_that_the_service_misspells_keeps_the_tool_out),
        cmocka_unit_test(only_the_lists_of_their_kind_expose_resources_and_prompts),
        cmocka_unit_test(every_failed_allocation_is_survived_with_views),
        cmocka_unit_test(every_failed_allocation_is_survived_with_resources),
    };
    return cmocka_run_group_tests(tests, remote_fixture_setup, remote_fixture_teardown);
}
