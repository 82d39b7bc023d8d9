/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/config_fixture.h"

#include <unistd.h>

#include "base/limits.h"
#include "config/overlay.h"
#include "support/oom.h"

static char path[] = "/tmp/causeway-overlay-XXXXXX";

static void write_file(cw_str text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text.p, 1, text.n, f), text.n);
    assert_int_equal(fclose(f), 0);
}

static cw_config_overlay_file *read_file(const char *text)
{
    cw_config_overlay_file *file = NULL;
    cw_err err = {0};
    write_file(cw_str_from(text));
    if (cw_config_overlay_read(path, &file, NULL, &err))
        fail_msg("%s\n%s", text, err.msg);
    return file;
}

/* The message is `problem` behind the path, a colon and nothing else. */
static void assert_problem(const char *text, const char *problem)
{
    cw_config_overlay_file *file = NULL;
    cw_err err = {0};
    char expected[512];
    write_file(cw_str_from(text));
    assert_int_equal(cw_config_overlay_read(path, &file, NULL, &err), CW_CONFIG);
    assert_int_equal(err.code, CW_CONFIG);
    assert_null(file);
    snprintf(expected, sizeof expected, "%s:%s", path, problem);
    assert_string_equal(err.msg, expected);
}

TEST(a_file_says_what_sources_methods_says)
{
    cw_config_overlay_file *file = read_file("# written by causeway import\n"
                                             "methods:\n"
                                             "  - plain\n"
                                             "  - method: aria2.tellStatus\n"
                                             "    tool: false\n"
                                             "    read_only: true\n"
                                             "    params: {gid: {description: Which}}\n");
    cw_config_overlays m = cw_config_overlay_lists_of(file).methods;
    assert_int_equal(m.n, 2);
    assert_string_equal(m.items[0].method.p, "plain");
    assert_true(m.items[0].tool);
    assert_string_equal(m.items[1].method.p, "aria2.tellStatus");
    assert_false(m.items[1].tool);
    assert_true(m.items[1].read_only);
    assert_string_equal(m.items[1].title.p, "");
    assert_string_equal(m.items[1].params.items[0].description.p, "Which");
    cw_config_overlay_free(file);
    file = read_file("{\"methods\":[{\"method\":\"m\",\"title\":\"T\"}]}");
    assert_string_equal(cw_config_overlay_lists_of(file).methods.items[0].title.p, "T");
    cw_config_overlay_free(file);
}

TEST(a_file_has_resources_templates_and_prompts_too)
{
    cw_config_overlay_file *file =
        read_file("resources: [\"file:///*\", {uri: 'a:b', expose: false, permissions: [p]}]\n"
                  "templates: ['t://{x}']\n"
                  "prompts: [{prompt: review, name: my-review, scopes: [s], visibility: hide}]\n");
    const cw_config_overlay_lists l = cw_config_overlay_lists_of(file);
    assert_int_equal(l.methods.n, 0);
    assert_int_equal(l.exposed[CW_CONFIG_RESOURCES].n, 2);
    assert_string_equal(l.exposed[CW_CONFIG_RESOURCES].items[0].method.p, "file:///*");
    assert_true(l.exposed[CW_CONFIG_RESOURCES].items[0].tool);
    assert_false(l.exposed[CW_CONFIG_RESOURCES].items[1].tool);
    assert_string_equal(l.exposed[CW_CONFIG_RESOURCES].items[1].permissions.items[0].p, "p");
    assert_string_equal(l.exposed[CW_CONFIG_TEMPLATES].items[0].method.p, "t://{x}");
    assert_string_equal(l.exposed[CW_CONFIG_PROMPTS].items[0].name.p, "my-review");
    assert_true(l.exposed[CW_CONFIG_PROMPTS].items[0].hidden_unless_met);
    cw_config_overlay_free(file);
}

TEST(nothing_is_fine)
{
    static const char *const texts[] = {"", "# nothing\n", "methods:\n", "methods: []\n", "{}"};
    for (size_t i = 0; i < CW_COUNT(texts); i++) {
        cw_config_overlay_file *file = read_file(texts[i]);
        assert_int_equal(cw_config_overlay_lists_of(file).methods.n, 0);
        cw_config_overlay_free(file);
    }
    assert_int_equal(cw_config_overlay_lists_of(NULL).methods.n, 0);
    cw_config_overlay_free(NULL);
}

TEST(mistakes_are_named_as_in_a_configuration)
{
    assert_problem("methods:\n  - method: m\n    ttitle: x\n",
                   "3:5: methods[0].ttitle: unknown key; did you mean \"title\"?");
    assert_problem("methods: [{method: m, tool: 1}, {title: x}]",
                   "1:29: methods[0].tool: expected true or false, got 1 (and 1 more)");
    assert_problem("methods: [m, n, m]", "1:17: methods[2]: the same method as methods[0]");
    assert_problem("methods: [{method: a*, name: x}]",
                   "1:11: methods[0]: \"name\" is for one method, and \"method\" may fit several");
    assert_problem("prompts: [m, m]", "1:14: prompts[1]: the same prompt as prompts[0]");
    assert_problem("prompts: [{prompt: a*, name: x}]",
                   "1:11: prompts[0]: \"name\" is for one prompt, and \"prompt\" may fit several");
    assert_problem("resources: [{uri: a, name: b}]",
                   "1:22: resources[0].name: unknown key; known here: uri, expose, title, "
                   "description, visibility, tags, permissions, scopes, auth_level, timeout");
    assert_problem("- m\n", "1:1: expected a mapping of keys to values, got a list");
    /* Nothing here belongs into a section of a configuration. */
    assert_problem("sources: []\n", "1:1: sources: unknown key; did you mean \"resources\"?");
    assert_problem(
        "header_size: 1\n",
        "1:1: header_size: unknown key; known here: methods, resources, templates, prompts");
}

TEST(a_text_that_is_no_yaml_is_told)
{
    cw_config_overlay_file *file = NULL;
    cw_err err = {0};
    write_file(CW_STR("methods: [\n"));
    assert_int_equal(cw_config_overlay_read(path, &file, NULL, &err), CW_CONFIG);
    assert_true(cw_str_starts(cw_str_from(err.msg), cw_str_from(path)));
    assert_null(file);
}

TEST(a_file_has_a_largest_size)
{
    cw_config_overlay_file *file = NULL;
    cw_err err = {0};
    char *text = malloc(CW_CONFIG_MAX_BYTES + 1);
    assert_non_null(text);
    memset(text, '#', CW_CONFIG_MAX_BYTES + 1);
    write_file(cw_str_make(text, CW_CONFIG_MAX_BYTES + 1));
    assert_int_equal(cw_config_overlay_read(path, &file, NULL, &err), CW_CONFIG);
    assert_null(file);
    write_file(cw_str_make(text, CW_CONFIG_MAX_BYTES));
    assert_int_equal(cw_config_overlay_read(path, &file, NULL, &err), CW_OK);
    cw_config_overlay_free(file);
    free(text);
}

TEST(a_file_that_is_not_there_is_told)
{
    cw_config_overlay_file *file = NULL;
    cw_err err = {0};
    assert_int_equal(cw_config_overlay_read("/nowhere/overlay.yaml", &file, NULL, &err), CW_IO);
    assert_non_null(strstr(err.msg, "/nowhere/overlay.yaml"));
    assert_null(file);
}

static void read_once(void *ctx)
{
    cw_config_overlay_file *file = NULL;
    cw_err err = {0};
    cw_code rc = cw_config_overlay_read(path, &file, NULL, &err);
    if (oom_was_hit()) {
        assert_int_equal(rc, CW_NOMEM);
        assert_int_equal(err.code, CW_NOMEM);
        assert_null(file);
    } else {
        assert_int_equal(rc, *(cw_code *)ctx);
    }
    cw_config_overlay_free(file);
}

TEST(every_failed_allocation_is_reported)
{
    cw_code ok = CW_OK, wrong = CW_CONFIG;
    write_file(CW_STR("methods: [m, {method: n, name: x, params: {a: {value: {b: [1]}}}}]\n"));
    assert_true(oom_each(read_once, &ok) >= 5);
    write_file(CW_STR("methods: [{method: m, ttitle: x}, {method: n, params: {a: {b: 1}}}]\n"));
    assert_true(oom_each(read_once, &wrong) >= 5);
    write_file(CW_STR("methods: [m, m]\n"));
    assert_true(oom_each(read_once, &wrong) >= 5);
}

SETUP(make_file)
{
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

TEARDOWN(remove_file)
{
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_says_what_sources_methods_says),
        cmocka_unit_test(a_file_has_resources_templates_and_prompts_too),
        cmocka_unit_test(nothing_is_fine),
        cmocka_unit_test(mistakes_are_named_as_in_a_configuration),
        cmocka_unit_test(a_text_that_is_no_yaml_is_told),
        cmocka_unit_test(a_file_has_a_largest_size),
        cmocka_unit_test(a_file_that_is_not_there_is_told),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
