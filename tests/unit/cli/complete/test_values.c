/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/complete/values.h"

#include <stdio.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "cli/lib/cli.h"
#include "support/assert_str.h"
#include "support/test.h"

static size_t n_commands, n_values;

static void assert_known(cw_str value, const char *command)
{
    if (!cw_complete_find_value(value))
        fail_msg("%s: values.c has no row for %.*s", command, CW_STR_ARG(value));
    n_values++;
}

static void check_options(const cw_cli_option *options, const char *command)
{
    for (; options && options->name; options++)
        if (options->value)
            assert_known(cw_str_from(options->value), command);
}

/* Each word in capitals: URL and FILE of "URL|FILE|--exec PROGRAM [ARGUMENT...]". */
static void check_arguments(const char *args, const char *command)
{
    for (const char *p = args; *p;) {
        size_t n = strcspn(p, " |[]");
        cw_str word = cw_str_make(p, n);
        if (cw_str_ends(word, CW_STR("...")))
            word.n -= 3;
        if (word.n && cw_is_letter(word.p[0]))
            assert_known(word, command);
        p += n ? n : 1;
    }
}

static void on_command(const cw_cli_spec *spec, const cw_cli_option *common, void *ctx)
{
    (void)ctx;
    n_commands++;
    check_options(spec->options, spec->name);
    check_options(common, spec->name);
    check_arguments(spec->args, spec->name);
}

static void on_group(const cw_cli_group *group, const cw_cli_option *common, void *ctx)
{
    const cw_cli_visitor visitor = {on_group, on_command, ctx};
    check_options(common, group->name);
    for (const cw_cli_command *c = group->commands; c->name; c++)
        if (c->summary)
            cw_cli_visit(c->run, c->name, &visitor);
}

TEST(every_value_of_the_help_has_a_kind)
{
    const cw_cli_visitor visitor = {on_group, on_command, NULL};
    cw_cli_visit(cw_cli_program, "causeway", &visitor);
    assert_true(n_commands > 50);
    assert_true(n_values > 100);
}

static void add_name(const cw_complete_value *value, void *ctx)
{
    cw_buf_printf(ctx, "%s ", value->name);
}

static void assert_arguments(const char *args, size_t index, const char *expected)
{
    CW_CLEANUP(cw_buf_done) cw_buf found;
    cw_buf_init(&found, 4096);
    cw_complete_each_argument(args, index, add_name, &found);
    assert_str(cw_buf_str(&found), expected);
}

TEST(an_argument_has_the_kinds_of_its_place)
{
    assert_arguments("", 0, "");
    assert_arguments("ACCOUNT ROLE", 0, "ACCOUNT ");
    assert_arguments("ACCOUNT ROLE", 1, "ROLE ");
    assert_arguments("ACCOUNT ROLE", 2, "");
    assert_arguments("[FILE...]", 7, "FILE ");
    assert_arguments("SCHEMA INSTANCE...", 0, "SCHEMA ");
    assert_arguments("SCHEMA INSTANCE...", 3, "INSTANCE ");
    assert_arguments("[SOURCE...] [METHOD...]", 0, "SOURCE METHOD ");
    assert_arguments("[SOURCE...] [METHOD...]", 2, "SOURCE METHOD ");
    assert_arguments("URL|FILE|--exec PROGRAM [ARGUMENT...]", 0, "URL FILE ");
    assert_arguments("CLIENT | --all", 0, "CLIENT ");
    assert_arguments("CLIENT | --all", 1, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_of_the_help_has_a_kind),
        cmocka_unit_test(an_argument_has_the_kinds_of_its_place),
    };
    return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
