/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/limits.h"
#include "support/install_fixture.h"

static const edit_fixture goose = {&cw_install_yaml,
                                   {.section = "extensions", .name = "ours-1"},
                                   "{\"type\": \"stdio\", \"args\": [\"a\", \"b\"], \"on\": true}"};
static const edit_fixture cn = {&cw_install_yaml,
                                {.section = "mcpServers", .name = "ours", .is_list = true},
                                "{\"name\": \"ours\", \"url\": \"u\"}"};

#define OURS "  ours-1:\n    type: \"stdio\"\n    args: [\"a\", \"b\"]\n    on: true\n"
#define ITEM "  - name: \"ours\"\n    url: \"u\"\n"

TEST(a_new_section_follows_the_last_line_of_content)
{
    assert_put(&goose, "", "extensions:\n" OURS);
    assert_put(&goose, "# only a comment", "# only a comment\nextensions:\n" OURS);
    assert_put(&goose, "a: 1", "a: 1\nextensions:\n" OURS);
    assert_put(&goose, "---\na: |\n  x\n\n# end\n...\n",
               "---\na: |\n  x\n\nextensions:\n" OURS "# end\n...\n");
    assert_put(&cn, "name: x\nmodels: []\n", "name: x\nmodels: []\nmcpServers:\n" ITEM);
}

TEST(an_empty_section_gets_its_first_entry)
{
    assert_put(&goose, "extensions:\nb: 1\n", "extensions:\n" OURS "b: 1\n");
    assert_put(&goose, "extensions: {} # none\nb: 1\n", "extensions: # none\n" OURS "b: 1\n");
    assert_put(&goose, "extensions: null\n", "extensions:\n" OURS);
    assert_put(&cn, "mcpServers: []", "mcpServers:\n" ITEM);
    assert_put(&cn, "mcpServers: [\n]\nb: ~\n", "mcpServers:\n" ITEM "b: ~\n");
}

TEST(an_entry_joins_others_at_their_indentation)
{
    assert_put(&goose, "extensions:\n    a: {type: x}\n    # last\nb: 1\n",
               "extensions:\n    a: {type: x}\n    ours-1:\n      type: \"stdio\"\n      args: "
               "[\"a\", \"b\"]\n"
               "      on: true\n    # last\nb: 1\n");
    assert_put(&cn, "mcpServers:\n- name: a\n  url: x # c\n",
               "mcpServers:\n- name: a\n  url: x # c\n- name: \"ours\"\n  url: \"u\"\n");
    assert_put(&cn, "mcpServers:\r\n  -   name: a\r\n",
               "mcpServers:\r\n  -   name: a\r\n  - name: \"ours\"\r\n    url: \"u\"\r\n");
}

TEST(an_entry_is_replaced_in_place)
{
    assert_put(&goose,
               "extensions:\n  a: {}\n  # mine\n  \"ours-1\":\n    type: old\n    env:\n      A: "
               "\"1\"\n  b: {}\n",
               "extensions:\n  a: {}\n  # mine\n" OURS "  b: {}\n");
    assert_put(
        &cn,
        "mcpServers:\n  - name: a\n  - url: old\n    name: ours\n    env: {A: b}\n  - name: b\n",
        "mcpServers:\n  - name: a\n" ITEM "  - name: b\n");
}

TEST(names_that_are_not_strings_are_quoted)
{
    edit_fixture f = goose;
    f.value = "{\"a\": 1}";
    f.at.name = "true";
    assert_put(&f, "", "extensions:\n  \"true\":\n    a: 1\n");
    f.at.name = "12";
    assert_put(&f, "", "extensions:\n  \"12\":\n    a: 1\n");
}

TEST(removing_takes_the_lines_of_the_entry)
{
    assert_removed(&goose, "a: 1\nextensions:\n  b: {}\n" OURS "  # kept\n  c: {}\n", true,
                   "a: 1\nextensions:\n  b: {}\n  # kept\n  c: {}\n");
    assert_removed(&goose, "a: 1\nextensions: # ours\n" OURS "b: 1\n", false,
                   "a: 1\nextensions: {} # ours\nb: 1\n");
    assert_removed(&goose, "a: 1\nextensions:\n" OURS "b: 1\n", true, "a: 1\nb: 1\n");
    assert_removed(&cn, "mcpServers:\n" ITEM, false, "mcpServers: []\n");
    assert_removed(&cn, "mcpServers:\n" ITEM, true, "");
    assert_removed(&cn, "---\nmcpServers:\n" ITEM "...\n", true, "---\n...\n");
    assert_removed(&cn, "mcpServers: # c\n" ITEM "...\n", true, "mcpServers: [] # c\n...\n");
}

TEST(adding_and_removing_gives_the_same_bytes)
{
    assert_round_trip(&goose,
                      "GOOSE_MODEL: m\nextensions:\n  developer:\n    enabled: true\n\n# end\n");
    assert_round_trip(&goose, "a: \"x\\\n  y\"\nb: >-\n  text\n  more\nc: 'it''s'\n? d\n: e\n");
    assert_round_trip(&cn, "name: \xc3\xa4\xe2\x82\xac\r\nmodels:\r\n  - name: x\r\n");
    assert_round_trip(&cn, "x: &a {b: 1}\ny: *a\nz: !t v\n");
}

TEST(spellings_that_are_not_edited_are_refused)
{
    assert_refused(&goose, CW_STR("extensions: {a: {}}\n"), CW_PARAMS, "flow style");
    assert_refused(&goose, CW_STR("{\"extensions\": {}}"), CW_PARAMS, "block style");
    assert_refused(&goose, CW_STR("- a\n"), CW_PARAMS, "not a YAML mapping");
    assert_refused(&goose, CW_STR("extensions: text\n"), CW_PARAMS, "not a mapping");
    assert_refused(&goose, CW_STR("extensions:\n  - a\n"), CW_PARAMS, "not a mapping");
    assert_refused(&cn, CW_STR("mcpServers:\n  a: {}\n"), CW_PARAMS, "not a list");
    assert_refused(&goose, CW_STR("x: &e {}\nextensions: *e\n"), CW_PARAMS, "not a mapping");
    assert_refused(&goose, CW_STR("extensions: &e\n  a: {}\n"), CW_PARAMS, "an anchor or a tag");
    assert_refused(&goose, CW_STR("extensions: !t\n"), CW_PARAMS, "not a mapping");
    assert_refused(&goose, CW_STR("a: 1\rb: 2\r"), CW_PARAMS, "a carriage return");
    assert_refused(&goose, CW_STR("<<: {a: 1}\n"), CW_PARAMS, "merge key");
    assert_refused(&goose, CW_STR("a: 1\n---\nb: 1\n"), CW_PARAMS, "several documents");
    assert_refused(&goose, CW_STR("extensions:\n  ? a\n  : {}\n"), CW_PARAMS, "lines of their own");
    assert_refused(&cn, CW_STR("mcpServers:\n  -\n    name: a\n"), CW_PARAMS, "lines of their own");
}

TEST(an_entry_in_several_places_is_refused)
{
    assert_refused(&goose, CW_STR("extensions:\n  ours-1: {}\n  ours-1: {}\n"), CW_PARAMS,
                   "two entries");
    assert_refused(&cn, CW_STR("mcpServers:\n  - name: ours\n  - {name: ours}\n"), CW_PARAMS,
                   "two entries");
    assert_refused(&goose, CW_STR("extensions:\na: 1\nextensions:\n"), CW_PARAMS, "twice");
    assert_refused(&goose, CW_STR("extensions:\n  ours-1: &a {}\n  b: *a\n"), CW_PARAMS,
                   "has an anchor");
    assert_refused(&cn, CW_STR("mcpServers:\n  - &a\n    name: ours\n"), CW_PARAMS,
                   "has an anchor");
}

TEST(broken_texts_are_refused)
{
    const char *const broken[] = {
        "a: [",        "a: {b: 1", "a: \"x", "a: 'x",   "\ta: 1",
        "a: 1\n b: 2", "a: b: c",  "a: @x",  "\xff: 1", "\357\273\277a: 1", /* a byte order mark */
        "a: 1\n]",     "a: |x\n",
    };
    for (size_t i = 0; i < CW_COUNT(broken); i++)
        assert_refused(&goose, cw_str_from(broken[i]), CW_PARSE, "");
    assert_refused(&goose, CW_STR("a: 1\nb: [1\n"), CW_PARSE, "line 3");
}

TEST(nesting_and_size_have_a_limit)
{
    char text[256] = "a: ";
    memset(text + 3, '[', CW_CONFIG_MAX_DEPTH + 1);
    memset(text + 3 + CW_CONFIG_MAX_DEPTH + 1, ']', CW_CONFIG_MAX_DEPTH + 1);
    assert_refused(&goose, cw_str_from(text), CW_LIMIT, "inside one another");
    char *big = malloc(CW_CONFIG_MAX_BYTES + 1);
    assert_non_null(big);
    memset(big, '\n', CW_CONFIG_MAX_BYTES + 1);
    assert_refused(&goose, cw_str_make(big, CW_CONFIG_MAX_BYTES + 1), CW_LIMIT, "larger than");
    assert_true(check_edits(&goose, cw_str_make(big, CW_CONFIG_MAX_BYTES - 1024)));
    free(big);
}

TEST(every_cut_is_edited_properly_or_refused)
{
    assert_all_cuts(
        &goose, "# Goose\nGOOSE_MODEL: \"m\" # c\nextensions:\n  developer:\n    enabled: true\n"
                "    args: [a, 'b', \"c\"]\n    text: |\n      x: y\n\n  other: {a: b}\n"
                "last: >-\n  more\n");
    assert_all_cuts(
        &goose,
        "a: 1\r\nextensions:\r\n  ours-1:\r\n    type: x\r\n  b:\r\n    c: [1,\r\n      2]\r\n");
    assert_all_cuts(&cn, "name: x\nmcpServers:\n  # first\n  - name: a\n    args:\n      - x\n"
                         "  - uses: b/c\n    with: {k: v}\nrules:\n- one\n- two\n");
    assert_all_cuts(&cn, "mcpServers:\n- name: ours\n  env:\n    A: b\n- name: b\nz: |\n  t\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_section_follows_the_last_line_of_content),
        cmocka_unit_test(an_empty_section_gets_its_first_entry),
        cmocka_unit_test(an_entry_joins_others_at_their_indentation),
        cmocka_unit_test(an_entry_is_replaced_in_place),
        cmocka_unit_test(names_that_are_not_strings_are_quoted),
        cmocka_unit_test(removing_takes_the_lines_of_the_entry),
        cmocka_unit_test(adding_and_removing_gives_the_same_bytes),
        cmocka_unit_test(spellings_that_are_not_edited_are_refused),
        cmocka_unit_test(an_entry_in_several_places_is_refused),
        cmocka_unit_test(broken_texts_are_refused),
        cmocka_unit_test(nesting_and_size_have_a_limit),
        cmocka_unit_test(every_cut_is_edited_properly_or_refused),
    };
    return cmocka_run_group_tests_name("cli/install/yaml", tests, NULL, NULL);
}
