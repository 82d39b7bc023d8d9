/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Content, questions and completion: what causeway/mcp.h adds to a call. */
#include "host/call.h"
#include "support/oom.h"
#include "support/test.h"

#define MAX_BODY 32768u
#define INTERNAL "error\":{\"code\":-32603,\"message\":\"Internal error\"}}"
#define NO_MEMORY "error\":{\"code\":-32603,\"message\":\"out of memory\"}}"

static cw_plugin_method declared;
static cw_plugin_function completes[2];
static cw_plugin_resource resource = {
    .mark = {.kind = CW_MARK_RESOURCE}, .uri = "docs://logo", .mime_type = "image/png"};
static cw_plugin_resource template = {.mark = {.kind = CW_MARK_TEMPLATE},
                                      .uri_template = "docs://{a}/{b}"};

/* The declarations of a method that completes "a" and not "b". */
static cw_hosted_method make_method(cw_plugin_function fn, const cw_plugin_resource *mark)
{
    static const cw_hosted_param params[] = {
        {.decl = &declared.params[0], .name = CW_STR_INIT("a")},
        {.decl = &declared.params[1], .name = CW_STR_INIT("b")},
    };
    declared = (cw_plugin_method){.run = fn, .params = {{.name = "a"}, {.name = "b"}}};
    completes[0] = fn;
    return (cw_hosted_method){.decl = &declared,
                              .id = CW_STR("a.b"),
                              .params = params,
                              .n_params = 2,
                              .resource = mark,
                              .completes = completes};
}

/* Run a method with a request; the answer behind `{"jsonrpc":"2.0","id":5,"`, in the arena's place:
 * `text` has room for 2 * MAX_BODY. False when there was no memory for the request itself. */
static bool run_request(const cw_hosted_method *method, const char *request, char *text)
{
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":5,\"";
    cw_wire wire;
    cw_arena arena;
    const cw_json *root;
    cw_arena_init(&arena, 1 << 22);
    bool is_run = cw_wire_init(&wire, -1, MAX_BODY, NULL) == CW_OK;
    if (!is_run)
        return false;
    is_run = cw_json_read(cw_str_from(request), NULL, &arena, &root, NULL, NULL) == CW_OK;
    if (is_run) {
        cw_call call = {
            .wire = &wire,
            .arena = &arena,
            .method = method,
            .params = cw_json_get(root, CW_STR("params")),
            .root = root,
            .complete = cw_json_get(root, CW_STR("complete")),
            .id = 5,
        };
        cw_call_run(&call);
        uint32_t n;
        memcpy(&n, wire.out.p, sizeof(n));
        assert_int_equal(wire.out.n, n + CW_WIRE_HEAD);
        assert_memory_equal(wire.out.p + CW_WIRE_HEAD, head, sizeof(head) - 1);
        snprintf(text, 2 * MAX_BODY, "%.*s", (int)(n - sizeof(head) + 1),
                 wire.out.p + CW_WIRE_HEAD + sizeof(head) - 1);
        assert_int_equal(wire.content.n, 0);
    }
    cw_arena_done(&arena);
    cw_wire_done(&wire);
    return is_run;
}

static const char *answer_of(cw_plugin_function fn, const cw_plugin_resource *mark,
                             const char *request)
{
    static char text[2 * MAX_BODY];
    cw_hosted_method method = make_method(fn, mark);
    assert_true(run_request(&method, request, text));
    return text;
}

static const char *answer(cw_plugin_function fn, const char *request)
{
    return answer_of(fn, NULL, request);
}

/* ---- content ---- */

static void add_all(cw_call *call)
{
    cw_content_text(call, "a\"b");
    cw_content_format(call, "%d-%s", 7, "z");
    cw_content_annotate(call, " {\"priority\": 1} ");
    cw_content_role(call, "assistant");
    cw_content_image(call, "\0\1\2", 3, "image/png");
    cw_content_role(call, "user");
    cw_content_audio(call, NULL, 0, "audio/wav");
    cw_content_resource(call, "x:y", NULL, "text");
    cw_content_resource(call, "x:y", "text/plain", NULL);
    cw_content_blob(call, "x:y", "a/b", "\xff", 1);
    cw_content_link(call, "x:y", "n", NULL, NULL);
    cw_content_link(call, "x:y", "n", "a/b", "d");
    cw_content_annotate(call, "{\"audience\":[\"user\"]}");
}

TEST(every_kind_of_content_can_be_added)
{
    assert_string_equal(
        answer(add_all, "{}"),
        "result\":null,\"content\":[{\"type\":\"text\",\"text\":\"a\\\"b\"},"
        "{\"type\":\"text\",\"text\":\"7-z\",\"annotations\":{\"priority\": 1}},"
        "{\"role\":\"assistant\",\"type\":\"image\",\"data\":\"AAEC\",\"mimeType\":\"image/png\"},"
        "{\"role\":\"user\",\"type\":\"audio\",\"data\":\"\",\"mimeType\":\"audio/wav\"},"
        "{\"role\":\"user\",\"type\":\"resource\",\"resource\":{\"uri\":\"x:y\","
        "\"text\":\"text\"}},"
        "{\"role\":\"user\",\"type\":\"resource\",\"resource\":{\"uri\":\"x:y\","
        "\"mimeType\":\"text/plain\",\"text\":\"\"}},"
        "{\"role\":\"user\",\"type\":\"resource\",\"resource\":{\"uri\":\"x:y\","
        "\"mimeType\":\"a/b\",\"blob\":\"/w==\"}},"
        "{\"role\":\"user\",\"type\":\"resource_link\",\"uri\":\"x:y\",\"name\":\"n\"},"
        "{\"role\":\"user\",\"type\":\"resource_link\",\"uri\":\"x:y\",\"name\":\"n\","
        "\"mimeType\":\"a/b\",\"description\":\"d\",\"annotations\":{\"audience\":[\"user\"]}}]}");
}

static void add_beside_a_result(cw_call *call)
{
    cw_open_object(call, NULL);
    cw_content_text(call, "caf\xe9");
    cw_put_int(call, "n", 1);
    cw_close(call);
}

TEST(content_travels_beside_the_result)
{
    assert_string_equal(
        answer(add_beside_a_result, "{}"),
        "result\":{\"n\":1},\"content\":[{\"type\":\"text\",\"text\":\"caf\xef\xbf\xbd\"}]}");
}

static void add_and_fail(cw_call *call)
{
    cw_content_text(call, "dropped");
    cw_error(call, 3, "no");
    cw_content_text(call, "dropped too");
    cw_content_annotate(call, "{\"priority\":1}");
}

TEST(an_error_drops_content)
{
    assert_string_equal(answer(add_and_fail, "{}"), "error\":{\"code\":3,\"message\":\"no\"}}");
}

/* What the argument "how" says, wrong in one way each. */
static void misuse(cw_call *call)
{
    int64_t how = cw_arg_int(call, "how", 0);
    if (how == 0)
        cw_content_annotate(call, "{\"priority\":1}");
    cw_content_text(call, "first");
    if (how == 1)
        cw_content_image(call, "x", 1, NULL);
    else if (how == 2)
        cw_content_audio(call, NULL, 1, "audio/wav");
    else if (how == 3)
        cw_content_resource(call, "no address", NULL, "x");
    else if (how == 4)
        cw_content_blob(call, NULL, NULL, "x", 1);
    else if (how == 5)
        cw_content_link(call, "x:y", NULL, NULL, NULL);
    else if (how == 6)
        cw_content_role(call, "system");
    else if (how == 7)
        cw_content_annotate(call, "{\"priority\":");
    else if (how == 8)
        cw_content_annotate(call, "{\"priority\":7}");
    else if (how == 9)
        cw_content_bytes(call, "x", 1, NULL);
    else if (how == 10)
        cw_complete_add(call, "x");
    else if (how == 11)
        cw_ask(call, "", "roots/list", NULL);
    else if (how == 12)
        cw_ask(call, "k", "tools/list", NULL);
    else if (how == 13)
        cw_ask(call, "k", "roots/list", "[]");
    else if (how == 14)
        cw_ask_form(call, "k", "m", "{},\"x\":{}");
    else if (how == 15)
        cw_ask_form(call, "k", "m", NULL);
    else if (how == 16)
        cw_resource_updated(call, "here");
    else if (how == 17)
        cw_lists_changed(call, "roots");
    else if (how == 18)
        cw_state_set(call, "\xff");
    else if (how == 19)
        cw_content_link(call, "here", "n", NULL, NULL);
    else if (how == 20)
        cw_ask(call, "caf\xe9", "roots/list", NULL);
    else if (how == 21)
        cw_ask_form(call, "k", "m", "[]");
    else if (how == 22) {
        cw_content_annotate(call, "{\"priority\":1}");
        cw_content_annotate(call, "{\"priority\":1}");
    } else if (how == 23) {
        char uri[CW_RESOURCE_MAX_URI + 2] = "x:";
        memset(uri + 2, 'y', sizeof(uri) - 3);
        cw_resource_updated(call, uri);
    }
    assert_true(cw_call_has_failed(call));
    cw_content_text(call, "last");
}

TEST(a_misuse_is_an_internal_error)
{
    for (int how = 0; how <= 23; how++) {
        char request[64];
        snprintf(request, sizeof(request), "{\"params\":{\"how\":%d}}", how);
        assert_string_equal(answer(misuse, request), INTERNAL);
    }
}

static void add_large(cw_call *call)
{
    size_t n = (size_t)cw_arg_int(call, "n", 0);
    char *bytes = calloc(1, n + 1);
    cw_content_image(call, bytes, n, "image/png");
    cw_content_text(call, "behind it");
    free(bytes);
}

TEST(content_has_a_ceiling)
{
    static const char too_large[] =
        "error\":{\"code\":-32603,\"message\":\"result is larger than 32768 bytes\"}}";
    assert_int_equal(strncmp(answer(add_large, "{\"params\":{\"n\":24000}}"), "result", 6), 0);
    assert_string_equal(answer(add_large, "{\"params\":{\"n\":24500}}"), too_large);
    assert_string_equal(answer(add_large, "{\"params\":{\"n\":100000}}"), too_large);
}

static void add_own(cw_call *call)
{
    cw_content_text(call, cw_resource_uri(call) ? cw_resource_uri(call) : "none");
    if (cw_arg_has(call, "bytes"))
        cw_content_bytes(call, "x", 1, cw_arg_text(call, "mime", NULL));
}

TEST(a_resource_knows_its_address)
{
    static const char text[] = "result\":null,\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}";
    char expected[256];
    snprintf(expected, sizeof(expected), text, "none");
    assert_string_equal(answer(add_own, "{}"), expected);
    assert_string_equal(answer_of(add_own, &template, "{\"params\":{\"a\":\"1\"}}"), expected);
    assert_string_equal(answer_of(add_own, &template, "{\"params\":{\"a\":\"1\",\"b\":2}}"),
                        expected);
    snprintf(expected, sizeof(expected), text, "docs://logo");
    assert_string_equal(answer_of(add_own, &resource, "{\"uri\":5}"), expected);
    snprintf(expected, sizeof(expected), text, "x:y");
    assert_string_equal(answer_of(add_own, &resource, "{\"uri\":\"x:y\"}"), expected);
    snprintf(expected, sizeof(expected), text, "docs://a%2Fb/");
    assert_string_equal(answer_of(add_own, &template, "{\"params\":{\"a\":\"a/b\",\"b\":\"\"}}"),
                        expected);
    assert_string_equal(
        answer_of(add_own, &resource, "{\"params\":{\"bytes\":1}}"),
        "result\":null,\"content\":[{\"type\":\"text\",\"text\":\"docs://logo\"},"
        "{\"type\":\"resource\",\"resource\":{\"uri\":\"docs://logo\",\"mimeType\":\"image/png\","
        "\"blob\":\"eA==\"}}]}");
    assert_string_equal(
        answer_of(add_own, NULL, "{\"uri\":\"x:y\",\"params\":{\"bytes\":1,\"mime\":\"a/b\"}}"),
        "result\":null,\"content\":[{\"type\":\"text\",\"text\":\"x:y\"},"
        "{\"type\":\"resource\",\"resource\":{\"uri\":\"x:y\",\"mimeType\":\"a/b\","
        "\"blob\":\"eA==\"}}]}");
}

/* The address of a template with an argument that needs three times its room. */
TEST(an_address_that_does_not_fit_is_a_limit)
{
    static const char too_large[] =
        "error\":{\"code\":-32603,\"message\":\"result is larger than 32768 bytes\"}}";
    char value[12001], request[12100];
    memset(value, '/', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    snprintf(request, sizeof(request), "{\"params\":{\"a\":\"%s\",\"b\":\"\"}}", value);
    assert_string_equal(answer_of(add_own, &template, request), too_large);
    /* A method that passes it on has made no mistake. */
    snprintf(request, sizeof(request), "{\"params\":{\"a\":\"%s\",\"b\":\"\",\"bytes\":1}}", value);
    assert_string_equal(answer_of(add_own, &template, request), too_large);
}

/* ---- questions ---- */

#define FORM "{\"type\":\"object\"}"
#define ASK_NAME                                                                                   \
    "\"name\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"Who \\\"you\\\"?\","    \
    "\"requestedSchema\":" FORM "}}"

static void ask_two(cw_call *call)
{
    cw_open_object(call, NULL); /* what was put is dropped, complete or not */
    cw_content_text(call, "dropped");
    const cw_value *name = cw_ask_form(call, "name", "Who \"you\"?", FORM);
    const cw_value *same = cw_ask_form(call, "name", "Who \"you\"?", FORM);
    const cw_value *roots = cw_ask_roots(call, "roots");
    assert_ptr_equal(name, same);
    if (!name || !roots)
        return;
    const cw_value *content = cw_answer_content(name);
    cw_put_text(call, "name", cw_value_text(call, cw_value_get(content, "name"), "nobody"));
    cw_put_int(call, "roots", (int64_t)cw_value_count(cw_value_get(roots, "roots")));
    cw_close(call);
}

TEST(open_questions_take_the_place_of_a_result)
{
    assert_string_equal(answer(ask_two, "{}"),
                        "asks\":{" ASK_NAME ",\"roots\":{\"method\":\"roots/list\","
                        "\"params\":{}}}}");
    assert_string_equal(answer(ask_two, "{\"answers\":{\"roots\":{\"roots\":[]}}}"),
                        "asks\":{" ASK_NAME "}}");
    /* What is no object is no answer; keys that nobody asked for do not matter. */
    static const char *const none[] = {"null", "5", "\"x\"", "[]"};
    for (size_t i = 0; i < CW_COUNT(none); i++) {
        char request[128];
        snprintf(request, sizeof(request),
                 "{\"answers\":{\"roots\":{},\"name\":%s,\"else\":{}},\"state\":5}", none[i]);
        assert_string_equal(answer(ask_two, request), "asks\":{" ASK_NAME "}}");
    }
    assert_string_equal(answer(ask_two, "{\"answers\":7}"),
                        "asks\":{" ASK_NAME ",\"roots\":{\"method\":\"roots/list\","
                        "\"params\":{}}}}");
}

TEST(answers_end_the_questions)
{
    assert_string_equal(
        answer(ask_two, "{\"answers\":{\"roots\":{\"roots\":[1,2]},\"name\":{\"action\":\"accept\","
                        "\"content\":{\"name\":\"Ada\"}}}}"),
        "result\":{\"name\":\"Ada\",\"roots\":2},"
        "\"content\":[{\"type\":\"text\",\"text\":\"dropped\"}]}");
    static const char *const declined[] = {
        "{\"action\":\"decline\",\"content\":{\"name\":\"Ada\"}}",
        "{\"action\":\"accept\"}",
        "{\"action\":1,\"content\":{}}",
        "{\"action\":\"accept\",\"content\":[]}",
        "{}",
    };
    for (size_t i = 0; i < CW_COUNT(declined); i++) {
        char request[160];
        snprintf(request, sizeof(request), "{\"answers\":{\"roots\":{},\"name\":%s}}", declined[i]);
        assert_non_null(strstr(answer(ask_two, request), "{\"name\":\"nobody\",\"roots\":0}"));
    }
    /* An answer of a wrong type says where. */
    assert_string_equal(answer(ask_two,
                               "{\"answers\":{\"roots\":{},\"name\":{\"action\":\"accept\","
                               "\"content\":{\"name\":7}}}}"),
                        "error\":{\"code\":-32602,\"message\":\"Invalid params\","
                        "\"data\":\"answer /name/content/name: expected string, got number\"}}");
}

static void ask_kinds(cw_call *call)
{
    (void)cw_ask_url(call, "u", "Log in", "https://example.org/");
    (void)cw_ask_sample(call, "s", cw_format(call, "{\"x\": %s}", cw_quoted(call, "a\"b")));
    if (cw_arg_has(call, "clash"))
        (void)cw_ask_roots(call, "s");
    if (cw_arg_has(call, "fail"))
        cw_error(call, 9, "no");
    if (cw_arg_has(call, "wrong"))
        (void)cw_arg_int(call, "wrong", 0);
    if (cw_arg_has(call, "keyed"))
        cw_put_int(call, "k", 1);
}

TEST(every_kind_can_be_asked)
{
    assert_string_equal(
        answer(ask_kinds, "{}"),
        "asks\":{\"u\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"url\","
        "\"message\":\"Log in\",\"url\":\"https://example.org/\"}},"
        "\"s\":{\"method\":\"sampling/createMessage\",\"params\":{\"x\": \"a\\\"b\"}}}}");
    assert_string_equal(answer(ask_kinds, "{\"params\":{\"clash\":1}}"), INTERNAL);
    assert_string_equal(answer(ask_kinds, "{\"params\":{\"fail\":1}}"),
                        "error\":{\"code\":9,\"message\":\"no\"}}");
    assert_non_null(strstr(answer(ask_kinds, "{\"params\":{\"wrong\":\"x\"}}"), "-32602"));
    assert_string_equal(answer(ask_kinds, "{\"params\":{\"keyed\":1}}"), INTERNAL);
}

static void ask_many(cw_call *call)
{
    int64_t n = cw_arg_int(call, "n", 0);
    for (int64_t i = 0; i < n; i++)
        (void)cw_ask_roots(call, cw_format(call, "k%d", (int)i));
}

static void ask_large(cw_call *call)
{
    char *text = malloc(40000);
    memset(text, 'x', 40000);
    text[39999] = '\0';
    (void)cw_ask_form(call, "k", text, "{}");
    free(text);
}

static void ask_deep(cw_call *call)
{
    char params[200] = "{\"x\":";
    memset(params + 5, '[', 62);
    memset(params + 67, ']', 62);
    memcpy(params + 129, "}", 2);
    (void)cw_ask_sample(call, "k", params);
}

TEST(questions_have_ceilings)
{
    const char *text = answer(ask_many, "{\"params\":{\"n\":32}}");
    assert_int_equal(strncmp(text, "asks", 4), 0);
    assert_non_null(strstr(text, "\"k31\""));
    assert_string_equal(answer(ask_many, "{\"params\":{\"n\":33}}"), INTERNAL);
    assert_string_equal(
        answer(ask_large, "{}"),
        "error\":{\"code\":-32603,\"message\":\"result is larger than 32768 bytes\"}}");
    assert_string_equal(answer(ask_deep, "{}"), INTERNAL);
}

static void keep_state(cw_call *call)
{
    const char *state = cw_state(call);
    if (cw_arg_has(call, "set"))
        cw_state_set(call, cw_arg_text(call, "set", ""));
    if (cw_arg_has(call, "large")) {
        static char large[CW_PLUGIN_MAX_STATE + 2];
        memset(large, 'x', sizeof(large) - 1);
        cw_state_set(call, large + cw_arg_int(call, "large", 0));
    }
    if (!cw_ask_roots(call, "k"))
        return;
    cw_result_format(call, "%s, %s", state ? state : "none",
                     cw_state(call) ? cw_state(call) : "none");
}

#define ASK_K "asks\":{\"k\":{\"method\":\"roots/list\",\"params\":{}}}"

TEST(a_state_travels_to_the_next_run)
{
    assert_string_equal(answer(keep_state, "{}"), ASK_K "}");
    assert_string_equal(answer(keep_state, "{\"params\":{\"set\":\"a\\\"b\"}}"),
                        ASK_K ",\"state\":\"a\\\"b\"}");
    assert_string_equal(answer(keep_state, "{\"state\":\"old\"}"), ASK_K ",\"state\":\"old\"}");
    assert_string_equal(answer(keep_state, "{\"state\":\"old\",\"params\":{\"set\":\"\"}}"),
                        ASK_K ",\"state\":\"\"}");
    assert_string_equal(
        answer(keep_state,
               "{\"state\":\"old\",\"params\":{\"set\":\"new\"},\"answers\":{\"k\":{}}}"),
        "result\":\"old, new\"}");
    assert_string_equal(answer(keep_state, "{\"answers\":{\"k\":{}}}"), "result\":\"none, none\"}");
    assert_int_equal(strncmp(answer(keep_state, "{\"params\":{\"large\":1}}"), "asks", 4), 0);
    assert_string_equal(answer(keep_state, "{\"params\":{\"large\":0}}"), INTERNAL);
}

static void look_at_client(cw_call *call)
{
    cw_result_format(
        call, "%d%d%d %d%d%d%d", cw_client_can(call, "elicitation"), cw_client_can(call, "roots"),
        cw_client_can(call, NULL), cw_client_wants_log(call, CW_LEVEL_ERROR),
        cw_client_wants_log(call, CW_LEVEL_WARN), cw_client_wants_log(call, CW_LEVEL_INFO),
        cw_client_wants_log(call, CW_LEVEL_DEBUG));
}

TEST(the_client_is_known)
{
    assert_string_equal(answer(look_at_client, "{}"), "result\":\"000 0000\"}");
    assert_string_equal(answer(look_at_client, "{\"client\":[\"roots\",7],\"log\":\"warn\"}"),
                        "result\":\"010 1100\"}");
    assert_string_equal(answer(look_at_client, "{\"client\":\"roots\",\"log\":\"debug\"}"),
                        "result\":\"000 1111\"}");
    assert_string_equal(answer(look_at_client, "{\"client\":[],\"log\":\"loud\"}"),
                        "result\":\"000 0000\"}");
}

/* ---- completion ---- */

static void complete(cw_call *call)
{
    int64_t n = cw_arg_int(call, "n", 0);
    const char *how = cw_arg_text(call, "how", "");
    for (int64_t i = 0; i < n; i++)
        cw_complete_add(call, cw_format(call, "%s%d", cw_complete_value(call), (int)i));
    cw_complete_match(call, "park");
    cw_complete_match(call, "quito");
    if (strcmp(how, "put") == 0)
        cw_put_int(call, NULL, 1);
    else if (strcmp(how, "close") == 0)
        cw_close(call);
    else if (strcmp(how, "content") == 0)
        cw_content_text(call, "x");
    else if (strcmp(how, "ask") == 0)
        (void)cw_ask_roots(call, "k");
    else if (strcmp(how, "nothing") == 0)
        cw_complete_add(call, NULL);
    else if (strcmp(how, "fail") == 0) {
        cw_error(call, 4, "no");
        cw_complete_add(call, "x");
        cw_open_array(call, NULL);
        cw_close(call);
    }
}

TEST(completions_are_values)
{
    assert_string_equal(
        answer(complete, "{\"complete\":{\"argument\":\"a\",\"value\":\"pa\","
                         "\"arguments\":{\"n\":2}},\"params\":{\"n\":7}}"),
        "result\":{\"values\":[\"pa0\",\"pa1\",\"park\"],\"total\":3,\"hasMore\":false}}");
    /* Nothing typed, nothing chosen; odd shapes count as that. */
    static const char both[] =
        "result\":{\"values\":[\"park\",\"quito\"],\"total\":2,\"hasMore\":false}}";
    assert_string_equal(answer(complete, "{\"complete\":{\"argument\":\"a\"}}"), both);
    assert_string_equal(
        answer(complete, "{\"complete\":{\"argument\":\"a\",\"value\":5,\"arguments\":[1]}}"),
        both);
    /* An argument that has no function, and one that there is not. */
    assert_string_equal(answer(complete, "{\"complete\":{\"argument\":\"b\",\"value\":\"p\"}}"),
                        "result\":{\"values\":[],\"total\":0,\"hasMore\":false}}");
    static const char none[] = "error\":{\"code\":-32602,\"message\":\"Invalid params\","
                               "\"data\":\"complete: there is no such argument\"}}";
    assert_string_equal(answer(complete, "{\"complete\":{\"argument\":\"c\"}}"), none);
    assert_string_equal(answer(complete, "{\"complete\":{}}"), none);
    assert_string_equal(answer(complete, "{\"complete\":null}"), none);
}

TEST(a_hundred_values_are_sent)
{
    const char *text = answer(complete, "{\"complete\":{\"argument\":\"a\",\"value\":\"x\","
                                        "\"arguments\":{\"n\":100}}}");
    assert_non_null(strstr(text, ",\"x99\"],\"total\":100,\"hasMore\":false}}"));
    text = answer(complete, "{\"complete\":{\"argument\":\"a\",\"value\":\"x\","
                            "\"arguments\":{\"n\":101}}}");
    assert_non_null(strstr(text, ",\"x99\"],\"total\":101,\"hasMore\":true}}"));
}

TEST(a_completion_does_nothing_else)
{
    static const char *const wrong[] = {"put", "close", "content", "ask", "nothing"};
    char request[128];
    static const char form[] = "{\"complete\":{\"argument\":\"a\",\"arguments\":{\"how\":\"%s\"}}}";
    for (size_t i = 0; i < CW_COUNT(wrong); i++) {
        snprintf(request, sizeof(request), form, wrong[i]);
        assert_string_equal(answer(complete, request), INTERNAL);
    }
    snprintf(request, sizeof(request), form, "fail");
    assert_string_equal(answer(complete, request),
                        "error\":{\"code\":4,\"message\":\"no\",\"data\":[]}}");
}

/* ---- memory ---- */

static void use_content(cw_call *call)
{
    static char bytes[6000];
    cw_content_format(call, "%2000d", 1);
    cw_content_annotate(call, "{\"priority\":1}");
    cw_content_bytes(call, bytes, sizeof(bytes), "a/b");
    cw_content_text(call, cw_resource_uri(call));
}

static void use_questions(cw_call *call)
{
    cw_state_set(call, cw_state(call));
    for (int i = 0; i < 20; i++)
        (void)cw_ask_form(call, cw_format(call, "%d", i), cw_format(call, "%300d", i),
                          "{\"type\":\"object\"}");
    (void)cw_ask_sample(call, "s", cw_format(call, "{\"x\":%s}", cw_quoted(call, "y")));
}

static void use_completion(cw_call *call)
{
    for (int i = 0; i < 110; i++)
        cw_complete_add(call, cw_format(call, "%s%100d", cw_complete_value(call), i));
}

static void run_once(void *ctx)
{
    static char text[2 * MAX_BODY];
    static const char request[] = "{\"params\":{\"a\":\"x\",\"b\":\"y\"},\"state\":\"s\"}";
    cw_plugin_function fn = *(cw_plugin_function *)ctx;
    cw_hosted_method method = make_method(fn, &template);
    bool is_run = run_request(
        &method, fn == use_completion ? "{\"complete\":{\"argument\":\"a\"}}" : request, text);
    if (is_run && oom_was_hit())
        assert_string_equal(text, NO_MEMORY);
    else if (is_run)
        assert_non_null(strstr(text, fn == use_questions ? "asks" : "result"));
}

TEST(calls_survive_every_failed_allocation)
{
    static cw_plugin_function all[] = {use_content, use_questions, use_completion};
    for (size_t i = 0; i < CW_COUNT(all); i++)
        assert_true(oom_each(run_once, &all[i]) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_content_can_be_added),
        cmocka_unit_test(content_travels_beside_the_result),
        cmocka_unit_test(an_error_drops_content),
        cmocka_unit_test(a_misuse_is_an_internal_error),
        cmocka_unit_test(content_has_a_ceiling),
        cmocka_unit_test(a_resource_knows_its_address),
        cmocka_unit_test(an_address_that_does_not_fit_is_a_limit),
        cmocka_unit_test(open_questions_take_the_place_of_a_result),
        cmocka_unit_test(answers_end_the_questions),
        cmocka_unit_test(every_kind_can_be_asked),
        cmocka_unit_test(questions_have_ceilings),
        cmocka_unit_test(a_state_travels_to_the_next_run),
        cmocka_unit_test(the_client_is_known),
        cmocka_unit_test(completions_are_values),
        cmocka_unit_test(a_hundred_values_are_sent),
        cmocka_unit_test(a_completion_does_nothing_else),
        cmocka_unit_test(calls_survive_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("mcp", tests, NULL, NULL);
}
