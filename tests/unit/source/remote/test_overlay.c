/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an operator says of the methods of a service: what is wrong, what is not there, and what the
 * service's own word does not do. */
#include "support/assert_str.h"
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
        {"{\"auth\":{}}", "auth: scopes or level is needed"},
        {"{\"auth\":{\"description\":\"d\"}}", "auth: scopes or level is needed"},
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

/* A schema of the service that cannot be used is left out. One of the operator is a rule. */
TEST(a_schema_of_the_operator_that_cannot_be_used_is_a_mistake)
{
    static const cw_str bad = CW_STR_INIT("{\"type\":\"strin\"}");
    cw_config_param message = {.name = CW_STR("message"), .schema = bad};
    cw_config_overlay rows[] = {
        {.method = CW_STR("echo"), .tool = true, .params = {&message, 1}},
        {.method = CW_STR("echo"), .tool = true, .output = bad},
        {.method = CW_STR("echo"), .tool = true},
    };
    write_openrpc("{\"openrpc\":\"1.3.2\",\"methods\":[{\"name\":\"echo\",\"params\":[{\"name\":"
                  "\"message\",\"schema\":{\"type\":\"tex\"}}]}]}");
    client_fixture b;
    client_fixture_init(&b);
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        cw_config_remote config =
            remote_config("http://127.0.0.1:1/rpc", openrpc_path, &rows[i], 1);
        remote_load_result l;
        remote_load_wait(&b, &l, &config);
        bool is_own = i < 2;
        assert_int_equal(l.source != NULL, !is_own);
        if (!strstr(is_own ? l.problem : l.warnings,
                    is_own ? "strin" : "a schema that cannot be used"))
            fail_msg("%zu: %s, %s", i, l.problem, l.warnings);
        cw_source_unref(l.source);
    }
    client_fixture_done(&b);
}

#define LIMITED                                                                                    \
    "{\"openrpc\":\"1.3.2\",\"methods\":[{\"name\":\"list\",\"params\":[{\"name\":\"n\","          \
    "\"schema\":{"                                                                                 \
    "\"type\":\"integer\",\"default\":%s}},{\"name\":\"m\",\"schema\":{\"type\":\"integer\","      \
    "\"default\":3}}],\"x-input\":{\"additionalProperties\":false}}]}"

static void write_limited(const char *value)
{
    char text[512];
    snprintf(text, sizeof text, LIMITED, value);
    write_openrpc(text);
}

/* Calls without the argument would fail. */
TEST(a_default_of_the_operator_that_the_schema_rejects_is_a_mistake)
{
    const struct {
        cw_config_param param;
        const char *problem; /* NULL: none */
    } rows[] = {
        {{.default_value = CW_STR("\"ten\"")}, "param 'n': default: expected integer, got string"},
        {{.default_value = CW_STR("\"ten\""), .rename = CW_STR("size")}, "param 'size': default: "},
        {{.default_value = CW_STR("9"), .schema = CW_STR("{\"maximum\":5}")},
         "param 'n': default: "},
        {{.default_value = CW_STR("\"ten\""), .schema = CW_STR("{\"type\":\"string\"}")}, NULL},
        {{.default_value = CW_STR("4")}, NULL},
        /* No argument is validated: the service may take more than it says. */
        {{.default_value = CW_STR("\"ten\""), .hidden = true}, NULL},
        {{.default_value = CW_STR("\"ten\""), .value = CW_STR("1")}, NULL},
    };
    client_fixture b;
    client_fixture_init(&b);
    write_limited("10");
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        cw_config_param param = rows[i].param;
        param.name = CW_STR("n");
        cw_config_overlay list = {.method = CW_STR("list"), .tool = true, .params = {&param, 1}};
        cw_config_remote config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, &list, 1);
        remote_load_result l;
        remote_load_wait(&b, &l, &config);
        if ((l.source == NULL) != (rows[i].problem != NULL) ||
            (rows[i].problem && !strstr(l.problem, rows[i].problem)))
            fail_msg("%zu: %s", i, l.problem);
        assert_string_equal(l.warnings, "");
        cw_source_unref(l.source);
    }
    client_fixture_done(&b);
}

TEST(a_default_of_the_service_that_its_schema_rejects_is_left_out)
{
    cw_config_overlay list = {.method = CW_STR("list"), .tool = true};
    cw_config_remote config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, &list, 1);
    client_fixture b;
    remote_load_result l;
    client_fixture_init(&b);
    write_limited("\"ten\"");
    remote_load_wait(&b, &l, &config);
    assert_non_null(l.source);
    assert_string_equal(l.problem, "");
    assert_string_equal(l.warnings, "a default that cannot be used is left out: method 'list': "
                                    "param 'n': expected integer, got string");
    const cw_method *m = &l.source->methods[0];
    assert_null(m->params[0].default_value);
    assert_false(m->params[0].is_required);
    assert_str(m->params[0].schema, "{\"type\":\"integer\"}");
    assert_str(cw_json_span(m->params[1].default_value), "3");
    assert_str(m->input, "{\"additionalProperties\":false,\"type\":\"object\",\"properties\":{"
                         "\"n\":{\"type\":\"integer\"},"
                         "\"m\":{\"type\":\"integer\",\"default\":3}}}");
    cw_source_unref(l.source);
    client_fixture_done(&b);
}

/* The service would use its own default, which the operator does not allow. */
TEST(a_default_of_the_service_that_the_operator_forbids_makes_the_param_required)
{
    cw_config_param n = {.name = CW_STR("n"), .schema = CW_STR("{\"maximum\":5}")};
    cw_config_overlay list = {.method = CW_STR("list"), .tool = true, .params = {&n, 1}};
    cw_config_remote config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, &list, 1);
    client_fixture b;
    remote_load_result l;
    client_fixture_init(&b);
    write_limited("10");
    remote_load_wait(&b, &l, &config);
    assert_non_null(l.source);
    assert_non_null(strstr(l.warnings,
                           "a default that cannot be used is left out, and the param is "
                           "required: method 'list': param 'n': "));
    assert_null(l.source->methods[0].params[0].default_value);
    assert_true(l.source->methods[0].params[0].is_required);
    assert_str(l.source->methods[0].params[0].schema, "{\"maximum\":5}");
    cw_source_unref(l.source);
    client_fixture_done(&b);
}

/* A method whose params p0, p1, ... have a default, which each costs about 2^doublings steps to check. */
static void write_costly(unsigned n_params, unsigned doublings)
{
    cw_buf text;
    cw_buf_init(&text, 1u << 20);
    cw_buf_printf(&text, "{\"openrpc\":\"1.3.2\",\"methods\":[{\"name\":\"list\",\"params\":[");
    for (unsigned i = 0; i < n_params; i++)
        cw_buf_printf(&text,
                      "%s{\"name\":\"p%u\",\"schema\":{\"default\":1,\"allOf\":[{\"$ref\":"
                      "\"#/components/schemas/s0\"}]}}",
                      i ? "," : "", i);
    cw_buf_printf(&text, "]}],\"components\":{\"schemas\":{");
    for (unsigned i = 0; i < doublings; i++)
        cw_buf_printf(&text,
                      "\"s%u\":{\"allOf\":[{\"$ref\":\"#/components/schemas/s%u\"},{\"$ref\":"
                      "\"#/components/schemas/s%u\"}]},",
                      i, i + 1, i + 1);
    cw_buf_printf(&text, "\"s%u\":{\"type\":\"integer\"}}}}", doublings);
    char *written = cw_buf_take(&text, NULL);
    assert_non_null(written);
    write_openrpc(written);
    free(written);
}

static size_t count_defaults(const cw_method *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_params; i++)
        n += m->params[i].default_value != NULL;
    return n;
}

TEST(defaults_of_a_service_share_a_number_of_steps)
{
    cw_config_overlay list = {.method = CW_STR("list"), .tool = true};
    cw_config_remote config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, &list, 1);
    client_fixture b;
    remote_load_result l;
    client_fixture_init(&b);
    write_costly(200, 2);
    remote_load_wait(&b, &l, &config);
    assert_string_equal(l.warnings, "");
    assert_int_equal(count_defaults(&l.source->methods[0]), 200);
    cw_source_unref(l.source);
    write_costly(200, 16);
    remote_load_wait(&b, &l, &config);
    assert_non_null(
        strstr(l.warnings, "defaults of the service are left out from method 'list', "));
    assert_null(strchr(l.warnings, '\n'));
    const cw_method *m = &l.source->methods[0];
    assert_true(count_defaults(m) > 0 && count_defaults(m) < 190);
    assert_non_null(m->params[0].default_value);
    assert_null(m->params[199].default_value);
    assert_null(memmem(m->params[199].schema.p, m->params[199].schema.n, "default", 7));
    cw_source_unref(l.source);
    client_fixture_done(&b);
}

/* Also behind defaults of the service that took all steps. */
TEST(a_default_of_the_operator_is_checked_however_much_those_of_the_service_cost)
{
    cw_config_param last = {.name = CW_STR("p2"), .default_value = CW_STR("\"ten\"")};
    cw_config_overlay list = {.method = CW_STR("list"), .tool = true, .params = {&last, 1}};
    cw_config_remote config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, &list, 1);
    client_fixture b;
    remote_load_result l;
    client_fixture_init(&b);
    for (unsigned is_own = 0; is_own < 2; is_own++) {
        write_costly(3, 21);
        last.schema = is_own ? CW_STR("{\"type\":\"integer\"}") : CW_STR("");
        remote_load_wait(&b, &l, &config);
        assert_null(l.source);
        assert_non_null(strstr(l.problem, "param 'p2': default: expected integer, got string"));
    }
    client_fixture_done(&b);
}

TEST(a_line_break_in_a_name_of_the_service_splits_no_line)
{
    write_openrpc("{\"openrpc\":\"1.3.2\",\"methods\":[{\"name\":\"a\\nb\",\"params\":[{\"name\":"
                  "\"x\\ty\",\"schema\":{\"type\":\"tex\"}}]}]}");
    cw_config_overlay all = {.method = CW_STR("*"), .tool = true};
    cw_config_remote config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, &all, 1);
    client_fixture b;
    remote_load_result l;
    client_fixture_init(&b);
    remote_load_wait(&b, &l, &config);
    assert_non_null(l.source);
    assert_string_equal(l.warnings, "a schema that cannot be used is left out: method 'a\\u000ab': "
                                    "param 'x\\u0009y': schema: /type: 'tex' is not a type");
    cw_source_unref(l.source);
    client_fixture_done(&b);
}

/* Other methods of the service stay. */
TEST(a_protection_that_the_service_misspells_withholds_the_tool)
{
    static const char *const rows[] = {
        "{\"annotations\":{\"auth\":{\"level\":\"sometimes\"}}}",
        "{\"annotations\":{\"auth\":{\"scopes\":\"admin\"}}}",
        "{\"annotations\":{\"auth\":\"required\"}}",
        "{\"annotations\":{\"auth\":[]}}",
        "{\"annotations\":[{\"auth\":{\"level\":\"required\"}}]}",
        "{\"annotations\":{\"$ref\":\"#/components/x-annotations/admin\"}}",
        "{\"annotations\":\"required\"}",
        "{\"$ref\":\"#/components/x-tools/echo\"}",
        "[\"required\"]",
        "\"required\"",
        "1",
    };
    /* The service's scopes decide whether a tool may be hidden, and they are not known. */
    cw_config_overlay items[] = {
        {.method = CW_STR("echo"), .tool = true, .hidden_unless_met = true},
        {.method = CW_STR("*"), .tool = true},
    };
    client_fixture b;
    client_fixture_init(&b);
    for (size_t i = 0; i < 2 * CW_COUNT(rows); i++) {
        const char *mark = rows[i / 2];
        cw_config_remote config =
            remote_config("http://127.0.0.1:1/rpc", openrpc_path, items + i % 2, 2 - i % 2);
        char text[256];
        remote_load_result l;
        snprintf(text, sizeof text,
                 "{\"openrpc\":\"1.3.2\",\"methods\":[{\"name\":\"echo\",\"x-mcp-tool\":%s},"
                 "{\"name\":\"add\"}]}",
                 mark);
        write_openrpc(text);
        remote_load_wait(&b, &l, &config);
        assert_non_null(l.source);
        assert_int_equal(l.source->n_methods, 1);
        assert_true(cw_str_is(l.source->methods[0].id, "shop.add"));
        if (!strstr(l.warnings, "method 'echo': it is withheld, since marks of the service are "
                                "wrong: "))
            fail_msg("%s: %s", mark, l.warnings);
        cw_source_unref(l.source);
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

/* A service, a description of it that is parsed, and the requirements of an earlier one. */
typedef struct lost_scope {
    cw_endpoint *service;
    cw_config_remote config;
    const cw_json *doc, *requires;
} lost_scope;

static void read_with_loss(void *ctx)
{
    lost_scope *l = ctx;
    cw_buf lines[4];
    cw_remote *r = calloc(1, sizeof *r);
    if (!r)
        return;
    cw_arena_init(&r->arena, 1 << 20);
    cw_map_init(&r->resources, 10);
    r->service = cw_endpoint_ref(l->service);
    for (size_t i = 0; i < CW_COUNT(lines); i++)
        cw_buf_init(&lines[i], 1 << 16);
    const cw_remote_reading reading = {.config = &l->config,
                                       .requires = l->requires,
                                       .problems = &lines[0],
                                       .warnings = &lines[1],
                                       .missing = &lines[2],
                                       .widened = &lines[3]};
    cw_code rc = cw_remote_read(r, &reading, l->doc);
    assert_true(rc == CW_NOMEM || (rc == CW_OK && lines[3].n > 0));
    for (size_t i = 0; i < CW_COUNT(lines); i++)
        cw_buf_done(&lines[i]);
    cw_remote_free(r);
}

TEST(a_lost_requirement_is_noticed_or_the_reading_fails_without_memory)
{
    cw_arena arena;
    cw_config_overlay items[] = {{.method = CW_STR("echo"), .tool = true}};
    lost_scope l = {.config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, items, 1)};
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(
        cw_json_read(CW_STR(REMOTE_OPENRPC), NULL, &arena, &l.doc, NULL, NULL) |
            cw_json_read(CW_STR("{\"echo\":{\"x-mcp-tool\":{\"annotations\":{\"auth\":{"
                                "\"scopes\":[\"a\"]}}}}}"),
                         NULL, &arena, &l.requires, NULL, NULL) |
            cw_endpoint_new(&l.config, NULL, &l.service, NULL),
        CW_OK);
    assert_true(oom_each(read_with_loss, &l) > 5);
    cw_endpoint_unref(l.service);
    cw_arena_done(&arena);
}

/* Read a description, and return what it requires, in an arena. *ret_widened: whether it requires less
 * than `requires`. */
static const cw_json *read_after(const cw_json *requires, const char *text, cw_arena *arena,
                                 bool *ret_widened)
{
    CW_CLEANUP(cw_buf_done) cw_buf lines, widened, required;
    cw_config_overlay item = {.method = CW_STR("*"), .tool = true};
    cw_config_remote config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, &item, 1);
    const cw_json *doc;
    cw_remote *r = calloc(1, sizeof *r);
    assert_non_null(r);
    cw_arena_init(&r->arena, 1 << 20);
    cw_map_init(&r->resources, 10);
    cw_buf_init(&lines, 1 << 16);
    cw_buf_init(&widened, 1 << 16);
    cw_buf_init(&required, 1 << 16);
    assert_int_equal(cw_json_read(cw_str_from(text), NULL, arena, &doc, NULL, NULL) |
                         cw_endpoint_new(&config, NULL, &r->service, NULL),
                     CW_OK);
    const cw_remote_reading reading = {.config = &config,
                                       .requires = requires,
                                       .required = &required,
                                       .problems = &lines,
                                       .warnings = &lines,
                                       .missing = &lines,
                                       .widened = &widened};
    assert_int_equal(cw_remote_read(r, &reading, doc), CW_OK);
    cw_remote_free(r);
    *ret_widened = widened.n > 0;
    cw_str copy = cw_arena_dup_str(arena, cw_buf_str(&required));
    assert_int_equal(cw_json_read(copy, NULL, arena, &doc, NULL, NULL), CW_OK);
    return doc;
}

#define ECHO_MARKED(mark)                                                                          \
    "{\"openrpc\":\"1.3.2\",\"methods\":[{\"name\":\"echo\"" mark "},{\"name\":\"add\"}]}"

TEST(requirements_that_were_never_readable_are_not_replaced_by_none)
{
    static const char *const rows[] = {
        ECHO_MARKED(",\"x-mcp-tool\":{\"$ref\":\"#/components/x-tools/echo\"}"),
        ECHO_MARKED(",\"x-mcp-tool\":{\"$ref\":\"#/x\",\"scopes\":[\"a\"],\"level\":\"none\"}"),
        ECHO_MARKED(",\"x-mcp-tool\":[\"required\"]"),
        ECHO_MARKED(",\"x-mcp-tool\":1"),
        ECHO_MARKED(",\"x-mcp-tool\":{\"annotations\":\"required\"}"),
        ECHO_MARKED(",\"x-mcp-tool\":{\"annotations\":[{\"auth\":{\"level\":\"required\"}}]}"),
        ECHO_MARKED(",\"x-mcp-tool\":{\"annotations\":{\"$ref\":\"#/x\"}}"),
    };
    static const char *const scoped =
        ECHO_MARKED(",\"x-mcp-tool\":{\"annotations\":{\"auth\":{\"scopes\":[\"a\"]}}}");
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        cw_arena arena;
        bool is_wider;
        cw_arena_init(&arena, 1 << 20);
        const cw_json *requires = read_after(NULL, rows[i], &arena, &is_wider);
        assert_false(is_wider);
        requires = read_after(requires, rows[i], &arena, &is_wider);
        assert_false(is_wider);
        (void)read_after(requires, scoped, &arena, &is_wider);
        assert_false(is_wider);
        (void)read_after(requires, ECHO_MARKED(""), &arena, &is_wider);
        assert_true(is_wider);
        cw_arena_done(&arena);
    }
}

/* Requirements of the tools that this entry selects and that are not offered: "LEVEL SCOPE…;" each, and "?" if
 * one is not known. */
static void assert_absent(const char *doc, cw_config_overlay item, const char *expected)
{
    CW_CLEANUP(cw_buf_done) cw_buf lines;
    char text[256] = "";
    size_t n = 0;
    cw_arena arena;
    const cw_json *described, *requires;
    cw_config_overlay items[] = {item, {.method = CW_STR("echo"), .tool = true}};
    cw_config_remote config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, items, 2);
    cw_remote *r = calloc(1, sizeof *r);
    assert_non_null(r);
    cw_arena_init(&arena, 1 << 20);
    cw_arena_init(&r->arena, 1 << 20);
    cw_map_init(&r->resources, 10);
    cw_buf_init(&lines, 1 << 16);
    assert_int_equal(cw_json_read(cw_str_from(doc), NULL, &arena, &described, NULL, NULL) |
                         cw_json_read(CW_STR("{\"add\":{\"x-mcp-tool\":{\"annotations\":{\"auth\":{"
                                             "\"scopes\":[\"admin\"]}}}}}"),
                                      NULL, &arena, &requires, NULL, NULL) |
                         cw_endpoint_new(&config, NULL, &r->service, NULL),
                     CW_OK);
    const cw_remote_reading reading = {.config = &config,
                                       .requires = requires,
                                       .problems = &lines,
                                       .warnings = &lines,
                                       .missing = &lines,
                                       .widened = &lines};
    assert_int_equal(cw_remote_read(r, &reading, described), CW_OK);
    for (size_t i = 0; i < r->n_absent; i++) {
        const cw_requirements *needs = &r->absent[i].needs;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s",
                              needs->level == CW_AUTH_REQUIRED ? "login" : "open");
        for (size_t j = 0; j < needs->n_scopes; j++)
            n += (size_t)snprintf(text + n, sizeof text - n, " %.*s", CW_STR_ARG(needs->scopes[j]));
        n += (size_t)snprintf(text + n, sizeof text - n, ";");
    }
    if (r->lacks_needs)
        snprintf(text + n, sizeof text - n, "?");
    assert_string_equal(text, expected);
    cw_remote_free(r);
    cw_arena_done(&arena);
}

#define ECHO_AND(method) "{\"openrpc\":\"1.3.2\",\"methods\":[{\"name\":\"echo\"}" method "]}"
#define WITH_AUTH(name, auth)                                                                      \
    ",{\"name\":\"" name "\",\"x-mcp-tool\":{\"annotations\":{\"auth\":" auth "}}}"

TEST(a_selected_tool_that_is_not_offered_keeps_its_requirements_for_events)
{
    const cw_config_overlay named = {.method = CW_STR("add"), .tool = true};
    const cw_config_overlay pattern = {.method = CW_STR("a*"), .tool = true};
    const cw_config_overlay other = {.method = CW_STR("wipe"), .tool = true};
    const cw_config_overlay scoped = {.method = CW_STR("wipe"),
                                      .tool = true,
                                      .scopes = {.items = (cw_str[]){CW_STR("own")}, .n = 1}};
    assert_absent(ECHO_AND(WITH_AUTH("add", "{\"scopes\":[\"admin\"]}")), named, "");
    assert_absent(ECHO_AND(WITH_AUTH("add", "5")), named, "login admin;");
    /* The entry is recorded, and the tool of before. */
    assert_absent(ECHO_AND(""), named, "login admin;login admin;");
    assert_absent(ECHO_AND(WITH_AUTH("ab", "{\"scopes\":[\"x\"]}")), pattern, "login admin;");
    assert_absent(ECHO_AND(""), scoped, "login own;");
    assert_absent(ECHO_AND(WITH_AUTH("wipe", "5")), other, "?");
    assert_absent(ECHO_AND(WITH_AUTH("wipe", "5")), (cw_config_overlay){.method = CW_STR("wipe")},
                  "");
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

TEST(every_failed_allocation_is_survived_with_wrong_defaults)
{
    cw_config_param m = {.name = CW_STR("m"), .default_value = CW_STR("4")};
    cw_config_overlay list = {.method = CW_STR("list"), .tool = true, .params = {&m, 0}};
    cw_config_remote config = remote_config("http://127.0.0.1:1/rpc", openrpc_path, &list, 1);
    write_limited("\"ten\"");
    assert_true(oom_each(load_once, &config) > 10);
    list.params.n = 1;
    assert_true(oom_each(load_once, &config) > 10);
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
        cmocka_unit_test(requirements_that_were_never_readable_are_not_replaced_by_none),
        cmocka_unit_test(a_selected_tool_that_is_not_offered_keeps_its_requirements_for_events),
        cmocka_unit_test(a_lost_requirement_is_noticed_or_the_reading_fails_without_memory),
        cmocka_unit_test(a_protection_that_is_misspelt_keeps_the_tool_out),
        cmocka_unit_test(a_schema_of_the_operator_that_cannot_be_used_is_a_mistake),
        cmocka_unit_test(a_default_of_the_operator_that_the_schema_rejects_is_a_mistake),
        cmocka_unit_test(a_default_of_the_service_that_its_schema_rejects_is_left_out),
        cmocka_unit_test(
            a_default_of_the_service_that_the_operator_forbids_makes_the_param_required),
        cmocka_unit_test(defaults_of_a_service_share_a_number_of_steps),
        cmocka_unit_test(
            a_default_of_the_operator_is_checked_however_much_those_of_the_service_cost),
        cmocka_unit_test(every_failed_allocation_is_survived_with_wrong_defaults),
        cmocka_unit_test(a_line_break_in_a_name_of_the_service_splits_no_line),
        cmocka_unit_test(a_protection_that_the_service_misspells_withholds_the_tool),
        cmocka_unit_test(only_the_lists_of_their_kind_expose_resources_and_prompts),
        cmocka_unit_test(every_failed_allocation_is_survived_with_views),
        cmocka_unit_test(every_failed_allocation_is_survived_with_resources),
    };
    return cmocka_run_group_tests(tests, remote_fixture_setup, remote_fixture_teardown);
}
