/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/install_fixture.h"
#include "support/oom.h"

static const edit_fixture codex = {&cw_install_toml,
                                   {.section = "mcp_servers", .name = "ours"},
                                   "{\"command\": \"/x\", \"args\": [\"a\", \"b\"]}"};

#define OURS "[mcp_servers.ours]\ncommand = \"/x\"\nargs = [\"a\", \"b\"]\n"

TEST(a_new_entry_is_a_table_at_the_end)
{
    assert_put(&codex, "", OURS);
    assert_put(&codex, "model = \"m\"", "model = \"m\"\n\n" OURS);
    assert_put(&codex, "model = \"m\"\n\n", "model = \"m\"\n\n" OURS);
    assert_put(&codex, "[mcp_servers.a]\nurl = 'u'\n[tui]\nx = 1 # c\n",
               "[mcp_servers.a]\nurl = 'u'\n[tui]\nx = 1 # c\n\n" OURS);
    assert_put(&codex, "[mcp_servers]\na = {url = \"u\"}\n",
               "[mcp_servers]\na = {url = \"u\"}\n\n" OURS);
    assert_put(&codex, "mcp_servers.a.url = \"u\"\n", "mcp_servers.a.url = \"u\"\n\n" OURS);
}

TEST(line_breaks_of_the_text_are_used)
{
    assert_put(&codex, "a = 1\r\n",
               "a = 1\r\n\r\n[mcp_servers.ours]\r\ncommand = \"/x\"\r\nargs = [\"a\", \"b\"]\r\n");
}

TEST(a_table_is_replaced_in_place)
{
    assert_put(&codex,
               "# top\n[mcp_servers.ours] # head\n\tcommand = \"old\"\n# "
               "inner\n[mcp_servers.ours.env]\nA = \"1\"\n"
               "# about tui\n[tui]\nx = 1\n",
               "# top\n" OURS "# about tui\n[tui]\nx = 1\n");
    assert_put(&codex, "[ \"mcp_servers\" . 'ours' ]\nurl = \"u\"\n", OURS);
    assert_put(&codex, "[mcp_servers.\"\\u006furs\"]\nurl = \"u\"\n", OURS);
}

TEST(an_inline_or_dotted_entry_becomes_a_table)
{
    assert_put(&codex, "[mcp_servers]\nours = {command = \"old\", args = []}\na.url = \"u\"\n",
               "[mcp_servers]\na.url = \"u\"\n\n" OURS);
    assert_put(&codex,
               "mcp_servers.ours.command = \"old\"\nmcp_servers.ours.args = [\n  1, # one\n  "
               "2,\n]\nb = 1\n",
               "b = 1\n\n" OURS);
}

TEST(removing_takes_the_lines_of_the_entry)
{
    assert_removed(&codex, "a = 1\n\n# kept\n" OURS "# kept too\n[b]\n", false,
                   "a = 1\n\n# kept\n# kept too\n[b]\n");
    assert_removed(&codex, "a = 1\n\n" OURS "\n[b]\nc = 1\n", true, "a = 1\n\n[b]\nc = 1\n");
    assert_removed(&codex, OURS, true, "");
}

TEST(values_of_every_type_are_skipped)
{
    assert_round_trip(
        &codex,
        "a = \"x # \\\" ]\"\nb = 'c:\\'\nc = \"\"\"\n[mcp_servers.ours]\n\\\"\"\"\"\"\"\n"
        "d = '''\n[x] = '''\ne = [[1, 2], {x = [\"]\"], y.z = 1, \"q\" . r.'s' = {}}, # ]\n]\n"
        "f = 1979-05-27 07:32:00Z # date\ng = -inf\nh = +1_000.5e-3\ni = 0xFF\n"
        "\"a.b\".'c d'.e = true\n[[list]]\nx = 07:32:00\n[[list]]\n");
}

TEST(adding_and_removing_gives_the_same_bytes)
{
    assert_round_trip(&codex, "");
    assert_round_trip(&codex, "model = \"m\"\n");
    assert_round_trip(&codex,
                      "\tmodel = \"m\"\r\n[mcp_servers.other]\r\ncommand = \"x\"\r\n# end\r\n");
}

TEST(sections_that_are_not_tables_are_refused)
{
    assert_refused(&codex, CW_STR("mcp_servers = {}\n"), CW_PARAMS, "not a table with a heading");
    assert_refused(&codex, CW_STR("mcp_servers = {a = {url = \"u\"}}\n"), CW_PARAMS, "not a table");
    assert_refused(&codex, CW_STR("mcp_servers = 1\n"), CW_PARAMS, "not a table");
    assert_refused(&codex, CW_STR("[[mcp_servers]]\n"), CW_PARAMS, "a list of tables");
    assert_refused(&codex, CW_STR("[[mcp_servers.ours]]\n"), CW_PARAMS, "a list of tables");
}

TEST(an_entry_in_several_places_is_refused)
{
    assert_refused(&codex, CW_STR("[mcp_servers.ours]\n[mcp_servers.ours]\n"), CW_PARAMS,
                   "several");
    assert_refused(&codex, CW_STR("[mcp_servers.ours]\n[a]\n[mcp_servers.ours.env]\n"), CW_PARAMS,
                   "several");
    assert_refused(&codex, CW_STR("[mcp_servers]\nours.a = 1\nb = 2\nours.c = 3\n"), CW_PARAMS,
                   "several");
    assert_refused(&codex, CW_STR("[mcp_servers]\nours = {}\n[mcp_servers.ours]\n"), CW_PARAMS,
                   "several");
}

TEST(broken_texts_are_refused)
{
    const char *const broken[] = {
        "a",         "a =",           "a = ",
        "a = tru",   "a = \"x",       "a = \"x\ny\"",
        "a = 'x",    "a = \"\"\"x",   "a = [1",
        "a = [1}",   "a = {b = 1",    "[a",
        "[[a]",      "[a]]",          "[]",
        "[a.]",      "a = 1 b = 2",   "= 1",
        "a = 1 2",   "\"a = 1",       "\"\\x\" = 1",
        "a = @",     "a.b. = 1",      "\"\"\"a\"\"\" = 1",
        "a = [1 2]", "a = {b c = 1}", "a = [\"x\" 'y']",
        "a = 1\001", "[a] b = 1",     "a = [\"",
        "\xff = 1",  "a = \"\xff\"",  "\357\273\277a = 1", /* a byte order mark */
    };
    for (size_t i = 0; i < CW_COUNT(broken); i++)
        assert_refused(&codex, cw_str_from(broken[i]), CW_PARSE, "");
    assert_refused(&codex, CW_STR("a = 1\nb = [1,\n2\n"), CW_PARSE,
                   "line 4: a value is not complete");
}

TEST(nesting_and_keys_have_a_limit)
{
    char text[256] = "a = ";
    memset(text + 4, '[', 65);
    memset(text + 4 + 65, ']', 65);
    assert_refused(&codex, cw_str_from(text), CW_PARSE, "not complete");
    memmove(text + 4, text + 5, sizeof text - 5);
    text[4 + 64 + 64] = '\0';
    assert_true(check_edits(&codex, cw_str_from(text)));
    assert_refused(&codex, CW_STR("a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q = 1"), CW_LIMIT,
                   "more than 16 parts");
}

TEST(every_cut_is_edited_properly_or_refused)
{
    assert_all_cuts(&codex, "# Codex\nmodel = \"m\" # c\n[mcp_servers.a]\ncommand = \"npx\"\n"
                            "args = [\"-y\",\n  'x', # y\n]\nenv = { A = \"1\", B.c = 2 }\n\n"
                            "[projects.\"/home/x\"]\ntrust = true\ntext = \"\"\"\n[x\n\"\"\"\n"
                            "[mcp_servers.\"b\\u0063\"]\nwhen = 1979-05-27T07:32:00Z\n");
    assert_all_cuts(&codex, "a = 1\r\n[mcp_servers.ours]\r\nurl = "
                            "\"u\"\r\n[mcp_servers.ours.env]\r\nA = \"b\"\r\n[z]\r\n");
}

static void put_once(void *ctx)
{
    cw_arena arena;
    cw_buf out;
    const cw_json *value = NULL;
    cw_arena_init(&arena, (size_t)1 << 20);
    cw_buf_init(&out, (size_t)1 << 20);
    cw_code rc = cw_json_read(CW_STR("{\"a\": 1}"), NULL, &arena, &value, NULL, NULL);
    if (!rc)
        rc = cw_install_put(&cw_install_toml, cw_str_from(ctx), &codex.at, value, &arena, &out,
                            NULL);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    if (oom_was_hit())
        assert_int_equal(rc, CW_NOMEM);
    cw_buf_done(&out);
    cw_arena_done(&arena);
}

TEST(every_failed_allocation_is_an_error)
{
    char text[] = "[\"a\\u0062\"]\nx = [1, 2]\n";
    assert_true(oom_each(put_once, text) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_entry_is_a_table_at_the_end),
        cmocka_unit_test(line_breaks_of_the_text_are_used),
        cmocka_unit_test(a_table_is_replaced_in_place),
        cmocka_unit_test(an_inline_or_dotted_entry_becomes_a_table),
        cmocka_unit_test(removing_takes_the_lines_of_the_entry),
        cmocka_unit_test(values_of_every_type_are_skipped),
        cmocka_unit_test(adding_and_removing_gives_the_same_bytes),
        cmocka_unit_test(sections_that_are_not_tables_are_refused),
        cmocka_unit_test(an_entry_in_several_places_is_refused),
        cmocka_unit_test(broken_texts_are_refused),
        cmocka_unit_test(nesting_and_keys_have_a_limit),
        cmocka_unit_test(every_cut_is_edited_properly_or_refused),
        cmocka_unit_test(every_failed_allocation_is_an_error),
    };
    return cmocka_run_group_tests_name("cli/install/toml", tests, NULL, NULL);
}
