/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/snapshot.h"
#include "support/json_fixture.h"

#include "catalogue/translate.h"
#include "support/mo_file.h"
#include "support/oom.h"

static const cw_param params[] = {
    {.name = CW_STR_INIT("nid"), .description = CW_STR_INIT("The node"), .is_required = true},
    {.name = CW_STR_INIT("page"), .description = CW_STR_INIT("")},
};
static const cw_mark mark = {.title = CW_STR_INIT("List")};
static const cw_method method = {
    .id = CW_STR_INIT("a.list"),
    .usage = CW_STR_INIT("Lists all"),
    .params = params,
    .n_params = 2,
    .mark = &mark,
};

static cw_translations *german(const mo_pair *pairs, uint32_t n)
{
    char folder[64];
    cw_translations *t = NULL;
    mo_dir_create(folder);
    mo_dir_add(folder, "de.mo", pairs, n);
    cw_translations_opts opts = {
        .folder = folder, .original = CW_STR("en"), .default_value = CW_STR("de")};
    assert_int_equal(cw_translations_load(&opts, &t, NULL), CW_OK);
    mo_dir_remove(folder);
    return t;
}

static const mo_pair all[] = {
    {"", MO_HEADER},
    {"List", "Liste"},
    {"Lists all", "Zählt \"komplett\" auf"},
    {"The node", "Der Knoten"},
    {"a.list\4List", "Liste von a"},
};

static void assert_tool(const cw_language *language, const char *expected)
{
    cw_entry entry = {.method = &method, .tool_name = method.id};
    cw_buf out;
    cw_buf_init(&out, SIZE_MAX / 2);
    for (unsigned form = CW_TOOL_ANY_OUTPUT; form <= CW_TOOL_OBJECT_OUTPUT; form++) {
        cw_buf_clear(&out);
        cw_translate_tool(&out, &entry, (cw_tool_form)form, language);
        assert_str(cw_buf_str(&out), expected);
    }
    cw_buf_done(&out);
}

static const char original[] =
    "{\"name\":\"a.list\",\"description\":\"Lists all\",\"inputSchema\":{\"type\":\"object\","
    "\"properties\":{\"nid\":{\"description\":\"The node\"},\"page\":{}},\"required\":[\"nid\"]},"
    "\"title\":\"List\"}";

TEST(what_people_read_is_translated)
{
    cw_translations *t = german(all, CW_COUNT(all));
    assert_tool(
        cw_translations_default(t),
        "{\"name\":\"a.list\",\"description\":\"Zählt \\\"komplett\\\" auf\",\"inputSchema\":"
        "{\"type\":\"object\",\"properties\":{\"nid\":{\"description\":\"Der Knoten\"},"
        "\"page\":{}},\"required\":[\"nid\"]},\"title\":\"Liste von a\"}");
    cw_translations_unref(t);
}

TEST(without_translations_a_tool_is_as_it_was)
{
    cw_arena arena;
    cw_arena_init(&arena, SIZE_MAX);
    cw_translations *t = german((mo_pair[]){{"Other", "Anderes"}}, 1);
    const cw_language *de = cw_translations_default(t);
    assert_tool(NULL, original);
    assert_tool(de, original);
    assert_ptr_equal(cw_translate_method(de, &method, &arena), &method);
    assert_ptr_equal(cw_translate_method(NULL, &method, &arena), &method);
    cw_translations_unref(t);
    cw_arena_done(&arena);
}

TEST(a_method_without_mark_is_translated_too)
{
    cw_arena arena;
    cw_arena_init(&arena, SIZE_MAX);
    cw_translations *t = german(all, CW_COUNT(all));
    cw_method plain = method;
    plain.mark = NULL;
    const cw_method *translated = cw_translate_method(cw_translations_default(t), &plain, &arena);
    assert_non_null(translated);
    assert_null(translated->mark);
    assert_str(translated->usage, "Zählt \"komplett\" auf");
    assert_str(translated->params[0].description, "Der Knoten");
    assert_true(translated->params[0].is_required);
    assert_str(translated->params[1].description, "");
    assert_str(translated->id, "a.list");
    cw_translations_unref(t);
    cw_arena_done(&arena);
}

TEST(phrases_come_in_order_without_empty_ones)
{
    cw_phrase phrase;
    size_t at = 0;
    assert_true(cw_phrase_next(&method, &at, &phrase));
    assert_str(phrase.text, "List");
    assert_true(phrase.is_title);
    assert_true(cw_phrase_next(&method, &at, &phrase));
    assert_str(phrase.text, "Lists all");
    assert_false(phrase.is_title);
    assert_true(cw_phrase_next(&method, &at, &phrase));
    assert_str(phrase.text, "The node");
    assert_str(phrase.param, "nid");
    assert_false(cw_phrase_next(&method, &at, &phrase));
}

typedef struct job {
    const cw_entry *entry;
    const cw_language *language;
} job;

static void translate_once(void *ctx)
{
    const job *j = ctx;
    cw_buf out;
    cw_buf_init(&out, SIZE_MAX / 2);
    cw_translate_tool(&out, j->entry, CW_TOOL_ANY_OUTPUT, j->language);
    assert_int_equal(out.code, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_buf_done(&out);
}

TEST(translating_survives_every_failed_allocation)
{
    cw_translations *t = german(all, CW_COUNT(all));
    cw_entry entry = {.method = &method, .tool_name = method.id};
    assert_true(oom_each(translate_once, &(job){&entry, cw_translations_default(t)}) >= 3);
    cw_translations_unref(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_people_read_is_translated),
        cmocka_unit_test(without_translations_a_tool_is_as_it_was),
        cmocka_unit_test(a_method_without_mark_is_translated_too),
        cmocka_unit_test(phrases_come_in_order_without_empty_ones),
        cmocka_unit_test(translating_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
