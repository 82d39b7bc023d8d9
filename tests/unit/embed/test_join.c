/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of the console on their way into the program: joined modules, and texts without comments. */
#include <string.h>

#include "embed/join.h"
#include "embed/squeeze.h"
#include "support/test.h"

static char out[4096];

/* A module behind the one that exports `taken`; empty if it cannot be joined. */
static const char *join(const char *text)
{
    static const char first[] = "export const taken = 1;\n";
    static cw_joined joined;
    joined = (cw_joined){.out = out, .room = sizeof out - 1};
    assert_true(cw_join_module(&joined, first, strlen(first)));
    size_t begin = joined.n;
    out[cw_join_module(&joined, text, strlen(text)) ? joined.n : begin] = 0;
    return out + begin;
}

TEST(a_module_becomes_a_function_whose_exports_the_next_ones_see)
{
    assert_string_equal(join("export const x = 1;\nexport async function* f(y) {\n}\n"),
                        "const { x, f, } = (() => {\nconst x = 1;\nasync function* f(y) {\n}\n"
                        "return { x, f, };\n})();\n");
    assert_string_equal(join("import {el, write as put} from \"./dom.mjs\";\nput(el);\n"),
                        "const { } = (() => {\nconst put = write;\nput(el);\n"
                        "return { };\n})();\n");
}

TEST(imports_and_exports_of_other_forms_taken_names_and_a_lack_of_room_are_refused)
{
    cw_joined narrow = {.out = out, .room = 10};
    assert_string_equal(join("import x from \"./dom.mjs\";\n"), "");
    assert_string_equal(join("import {x} from \"elsewhere\";\n"), "");
    assert_string_equal(join("export default 1;\n"), "");
    assert_string_equal(join("export function taken() {}\n"), "");
    assert_false(cw_join_module(&narrow, "x", 1));
}

static const char *squeeze(const char *text, bool is_style)
{
    static char room[1024];
    size_t n = strlen(text);
    memcpy(room, text, n);
    n = is_style ? cw_squeeze_style(room, n) : cw_squeeze_script(room, n);
    room[n] = 0;
    return room;
}

TEST(a_script_loses_comments_and_spaces_but_nothing_of_its_texts)
{
    assert_string_equal(squeeze("// why\nconst a = 1; /* how */\n", false), "const a=1;");
    assert_string_equal(squeeze("f(`a  ${b + {c: 1}.c}  // d`, \"e  // f\");\n", false),
                        "f(`a  ${b+{c:1}.c}  // d`,\"e  // f\");");
    assert_string_equal(squeeze("x = a / b; y = /[/ ]  \"/.test(z);\n", false),
                        "x=a/b;y=/[/ ]  \"/.test(z);");
    assert_string_equal(squeeze("a + +b; c - -d; [1, 2,];\n", false), "a+ +b;c- -d;[1,2];");
    assert_string_equal(squeeze("`open ${x}", false), "");
}

TEST(a_stylesheet_loses_comments_and_spaces_but_nothing_of_its_texts)
{
    assert_string_equal(squeeze("/* why */\na { color: red; margin: 0 1px; }\n", true),
                        "a{color:red;margin:0 1px}");
    assert_string_equal(squeeze("a::before { content: \"  x\"; }", true),
                        "a::before{content:\"  x\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_becomes_a_function_whose_exports_the_next_ones_see),
        cmocka_unit_test(
            imports_and_exports_of_other_forms_taken_names_and_a_lack_of_room_are_refused),
        cmocka_unit_test(a_script_loses_comments_and_spaces_but_nothing_of_its_texts),
        cmocka_unit_test(a_stylesheet_loses_comments_and_spaces_but_nothing_of_its_texts),
    };
    return cmocka_run_group_tests_name("embed", tests, NULL, NULL);
}
