/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "door/negotiate.h"
#include "support/mo_file.h"
#include "support/test.h"

static cw_caller *anonymous;

/* de, en (the original), fr, pt-BR, zh-Hant. */
static cw_translations *world(const char *default_value)
{
    char folder[64];
    cw_translations *t = NULL;
    cw_err err = {0};
    mo_dir_create(folder);
    mo_dir_add(folder, "de.mo", NULL, 0);
    mo_dir_add(folder, "fr.mo", NULL, 0);
    mo_dir_add(folder, "pt_BR.mo", NULL, 0);
    mo_dir_add(folder, "zh_Hant.mo", NULL, 0);
    cw_translations_opts opts = {
        .folder = folder, .original = CW_STR("en"), .default_value = cw_str_from(default_value)};
    if (cw_translations_load(&opts, &t, &err))
        fail_msg("%s", err.msg);
    mo_dir_remove(folder);
    return t;
}

typedef struct example {
    const char *accept, *tag;
} example;

static void check(const cw_translations *t, const example *examples, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cw_str accept = cw_str_from(examples[i].accept);
        cw_str tag = cw_language_tag(cw_negotiate_language(accept, t, anonymous));
        if (!cw_str_is(tag, examples[i].tag))
            fail_msg("'%s': %.*s, not %s", examples[i].accept, CW_STR_ARG(tag), examples[i].tag);
    }
}

#define CHECK(t, ...)                                                                              \
    check(t, (const example[]){__VA_ARGS__},                                                       \
          sizeof((const example[]){__VA_ARGS__}) / sizeof(example))

TEST(the_highest_q_wins_and_the_first_among_equals)
{
    cw_translations *t = world("en");
    CHECK(t, {"de", "de"}, {"DE", "de"}, {"fr, de", "fr"}, {"fr;q=0.5, de", "de"},
          {"fr;q=0.5, de;q=0.50", "fr"}, {"fr;q=0.501,de;q=0.5", "fr"},
          {"de;q=0.001, xx, fr;q=0.002", "fr"}, {"  de ; q=1 ,fr", "de"}, {"fr;Q=0.1,de", "de"});
    cw_translations_unref(t);
}

TEST(ranges_are_widened_and_narrowed)
{
    cw_translations *t = world("en");
    CHECK(t, {"de-AT", "de"}, {"de-AT, fr", "de"}, {"pt", "pt-BR"}, {"pt-PT, fr;q=0.1", "fr"},
          {"zh-Hant-TW", "zh-Hant"}, {"zh", "zh-Hant"}, {"zh-CN", "en"});
    cw_translations_unref(t);
}

TEST(a_star_is_the_default)
{
    cw_translations *t = world("de");
    CHECK(t, {"*", "de"}, {"fr, *", "fr"}, {"fr;q=0.5, *", "de"}, {"xx, *;q=0.1", "de"},
          {"*, fr", "de"}, {"*, de;q=0", "en"}, {"*;q=0", "de"}, {"fr, *;q=0", "fr"},
          {"pt-PT, *;q=0", "de"});
    cw_translations_unref(t);
}

TEST(what_has_q_zero_is_not_taken)
{
    cw_translations *t = world("en");
    CHECK(t, {"de;q=0", "en"}, {"de;q=0, fr;q=0.1", "fr"}, {"de;q=0, de-AT", "en"},
          {"fr;q=0.0, de;q=0.000", "en"}, {"pt;q=0, pt-BR", "pt-BR"}, {"pt-BR;q=0, pt", "en"},
          {"en;q=0", "en"}, {"en;q=0, *;q=0.5", "de"});
    cw_translations_unref(t);
}

TEST(what_is_not_written_right_is_passed_over)
{
    cw_translations *t = world("en");
    CHECK(t, {"", "en"}, {",,,", "en"}, {"de;q=2", "en"}, {"de;q=", "en"}, {"de;q=0.1234", "en"},
          {"de;q=-1", "en"}, {"de;q=1.001", "en"}, {"de;q=01", "en"}, {"de;q=.5", "en"},
          {"de;x=1", "en"}, {"de;q=0.5;q=0.6", "de"}, {"de_AT", "en"}, {"../de", "en"},
          {"de fr", "en"}, {"de;q=0.", "en"}, {"de;q=1.", "de"}, {"x;q, fr", "fr"});
    const cw_language *none = cw_negotiate_language((cw_str){NULL, 0}, t, anonymous);
    assert_true(cw_str_is(cw_language_tag(none), "en"));
    assert_null(cw_negotiate_language(CW_STR("de"), NULL, anonymous));
    cw_translations_unref(t);
}

TEST(members_have_a_ceiling)
{
    char accept[CW_NEGOTIATE_RANGES * 4 + 8] = "";
    cw_translations *t = world("en");
    for (unsigned i = 1; i < CW_NEGOTIATE_RANGES; i++)
        memcpy(accept + strlen(accept), "xx,", 4);
    memcpy(accept + strlen(accept), "de,fr", 6);
    CHECK(t, {accept, "de"});
    memmove(accept + 3, accept, strlen(accept) + 1);
    CHECK(t, {accept, "en"});
    cw_translations_unref(t);
}

/* Callers without a language of their own. */
static int set_up(void **state)
{
    (void)state;
    return cw_caller_new_anonymous(NULL, 0, &anonymous, NULL) ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    cw_caller_unref(anonymous);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_highest_q_wins_and_the_first_among_equals),
        cmocka_unit_test(ranges_are_widened_and_narrowed),
        cmocka_unit_test(a_star_is_the_default),
        cmocka_unit_test(what_has_q_zero_is_not_taken),
        cmocka_unit_test(what_is_not_written_right_is_passed_over),
        cmocka_unit_test(members_have_a_ceiling),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
