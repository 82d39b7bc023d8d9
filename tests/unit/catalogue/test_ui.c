/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/ui.h"
#include "support/assert_str.h"
#include "support/json_fixture.h"
#include "support/oom.h"

/* Read a view; the arena is the caller's. */
static cw_code read_ui(const char *json, const char *uri, cw_arena *arena, cw_ui *ret, cw_err *err)
{
    const cw_json *v = NULL;
    cw_arena_init(arena, 1 << 20);
    *err = (cw_err){0};
    if (json && cw_json_read(cw_str_from(json), NULL, arena, &v, NULL, NULL))
        return CW_NOMEM;
    return cw_ui_read(v, cw_str_from(uri), arena, ret, err);
}

static void assert_problem(const char *json, const char *problem)
{
    cw_arena arena;
    cw_ui ui;
    cw_err err;
    assert_int_equal(read_ui(json, "", &arena, &ui, &err), CW_PARAMS);
    assert_string_equal(err.msg, problem);
    cw_arena_done(&arena);
}

TEST(a_view_is_a_uri_or_an_object)
{
    cw_arena arena;
    cw_ui ui;
    cw_err err;
    assert_int_equal(read_ui("\"ui://a/b\"", "", &arena, &ui, &err), CW_OK);
    assert_str(ui.uri, "ui://a/b");
    cw_arena_done(&arena);
    const char *json = "{\"resourceUri\":\"ui://a/b\",\"visibility\":[\"app\"],\"csp\":"
                       "{\"connectDomains\":[\"https://*.x.org:8443\"]},\"prefersBorder\":true}";
    assert_int_equal(read_ui(json, "", &arena, &ui, &err), CW_OK);
    assert_str(ui.visibility, "[\"app\"]");
    assert_str(ui.meta,
               "{\"csp\":{\"connectDomains\":[\"https://*.x.org:8443\"]},\"prefersBorder\":true}");
    cw_arena_done(&arena);
    assert_int_equal(read_ui(NULL, "ui://a/c.html", &arena, &ui, &err), CW_OK);
    assert_str(ui.uri, "ui://a/c.html");
    cw_arena_done(&arena);
}

TEST(a_wrong_member_is_named)
{
    assert_problem("7", "expected a URI or an object");
    assert_problem("\"http://a\"", "resourceUri must be a URI ui://…");
    assert_problem("{}", "resourceUri is missing");
    assert_problem("{\"x\":1}", "unknown member 'x'");
    assert_problem("{\"resourceUri\":1}", "resourceUri must be a text");
    assert_problem("{\"visibility\":[]}", "visibility must be a list of \"model\" and \"app\"");
    assert_problem("{\"prefersBorder\":1}", "prefersBorder has a wrong type");
    assert_problem("{\"csp\":[]}", "csp must be an object");
    assert_problem("{\"csp\":{\"x\":[]}}", "csp: unknown member 'x'");
    static const char *const origins[] = {"*", "https://a/b", "javascript:x", "https://", "a.org"};
    for (size_t i = 0; i < CW_COUNT(origins); i++) {
        char json[128];
        (void)snprintf(json, sizeof json, "{\"csp\":{\"frameDomains\":[\"%s\"]}}", origins[i]);
        assert_problem(json,
                       "csp.frameDomains: expected origins such as \"https://api.example.org\"");
    }
    assert_problem("{\"permissions\":{\"usb\":{}}}",
                   "permissions: expected camera, microphone, geolocation or clipboardWrite, each "
                   "with {}");
}

TEST(a_list_of_origins_has_a_maximum)
{
    char json[1024];
    int n = snprintf(json, sizeof json, "{\"csp\":{\"connectDomains\":[\"https://a\"");
    for (unsigned i = 0; i < CW_UI_MAX_ORIGINS; i++)
        n += snprintf(json + n, sizeof json - (size_t)n, ",\"https://a\"");
    (void)snprintf(json + n, sizeof json - (size_t)n, "]}}");
    assert_problem(json, "csp.connectDomains must be a list of at most 32 origins");
}

TEST(a_document_begins_with_its_type)
{
    assert_int_equal(cw_ui_check_html(CW_STR(" <!DOCTYPE html><p>"), NULL), CW_OK);
    assert_int_equal(cw_ui_check_html(CW_STR("<p>"), NULL), CW_PARAMS);
    assert_int_equal(cw_ui_check_html(CW_STR("<!doctype html>\xff"), NULL), CW_PARAMS);
}

TEST(the_view_replaces_the_one_of_the_server_and_keeps_the_rest)
{
    cw_arena arena;
    cw_ui ui = {.uri = CW_STR("ui://n/v"), .visibility = CW_STR("[\"app\"]")};
    cw_str more;
    cw_arena_init(&arena, 1 << 20);
    assert_int_equal(cw_ui_write_more(&ui,
                                      CW_STR("{\"icons\":[],\"_meta\":{\"a\":1,\"ui\":{\"x\":2},"
                                             "\"ui/resourceUri\":\"ui://o/v\"}}"),
                                      &arena, &more, NULL),
                     CW_OK);
    assert_str(more, "{\"icons\":[],\"_meta\":{\"a\":1,\"ui\":{\"resourceUri\":\"ui://n/v\","
                     "\"visibility\":[\"app\"]},\"ui/resourceUri\":\"ui://n/v\"}}");
    cw_arena_done(&arena);
}

static void read_once(void *ctx)
{
    cw_arena arena;
    cw_mark mark = {0};
    const cw_json *v = NULL;
    cw_err err = {0};
    (void)ctx;
    cw_arena_init(&arena, 1 << 20);
    const cw_str json = CW_STR("{\"resourceUri\":\"ui://a/b\",\"prefersBorder\":true}");
    cw_code rc = cw_json_read(json, NULL, &arena, &v, NULL, NULL);
    if (!rc)
        rc = cw_ui_read_mark(v, &arena, &mark, &err);
    if (!rc)
        rc = cw_ui_copy(&mark, &arena, &err);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    if (oom_was_hit())
        assert_int_equal(rc, CW_NOMEM);
    cw_arena_done(&arena);
}

TEST(a_view_survives_every_failed_allocation)
{
    assert_true(oom_each(read_once, NULL) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_is_a_uri_or_an_object),
        cmocka_unit_test(a_wrong_member_is_named),
        cmocka_unit_test(a_list_of_origins_has_a_maximum),
        cmocka_unit_test(a_document_begins_with_its_type),
        cmocka_unit_test(the_view_replaces_the_one_of_the_server_and_keeps_the_rest),
        cmocka_unit_test(a_view_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("ui", tests, NULL, NULL);
}
