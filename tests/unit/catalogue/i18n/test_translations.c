/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/snapshot.h"
#include "support/json_fixture.h"

#include "base/limits.h"
#include "catalogue/i18n/translations.h"
#include "support/mo_file.h"
#include "support/oom.h"

static const mo_pair german[] = {{"", MO_HEADER}, {"List", "Liste"}, {"a\4List", "Liste von a"}};

static cw_translations_opts opts_of(const char *folder)
{
    return (cw_translations_opts){
        .folder = folder, .original = CW_STR("en"), .default_value = CW_STR("en")};
}

static cw_translations *load(const cw_translations_opts *opts)
{
    cw_translations *t = NULL;
    cw_err err = {0};
    if (cw_translations_load(opts, &t, &err))
        fail_msg("%s", err.msg);
    return t;
}

static void assert_refused(const cw_translations_opts *opts, cw_code code, const char *why)
{
    cw_translations *t = NULL;
    cw_err err = {0};
    assert_int_equal(cw_translations_load(opts, &t, &err), code);
    if (!strstr(err.msg, why))
        fail_msg("'%s' is not in '%s'", why, err.msg);
    assert_null(t);
}

static void assert_match(const cw_translations *t, const char *range, const char *tag)
{
    assert_str(cw_language_tag(cw_translations_match(t, cw_str_from(range))), tag);
}

TEST(every_layout_of_gettext_is_read)
{
    char folder[64];
    mo_dir_create(folder);
    mo_dir_add(folder, "de.mo", german, CW_COUNT(german));
    mo_dir_add(folder, "pt_br.mo", german, CW_COUNT(german));
    mo_dir_add_subdir(folder, "fr");
    mo_dir_add_subdir(folder, "fr/LC_MESSAGES");
    mo_dir_add(folder, "fr/a.mo", (mo_pair[]){{"List", "Liste (a)"}}, 1);
    mo_dir_add(folder, "fr/b.mo", (mo_pair[]){{"List", "Liste (b)"}, {"Zoo", "Zoo (b)"}}, 2);
    mo_dir_add(folder, "fr/LC_MESSAGES/c.mo", (mo_pair[]){{"Zoo", "Zoo (c)"}}, 1);
    mo_dir_save(folder, "README", "none of ours", 12);
    mo_dir_save(folder, ".hidden.mo", "none of ours", 12);
    mo_dir_add_subdir(folder, "templates");
    mo_dir_add_subdir(folder, "nl");
    cw_translations_opts opts = opts_of(folder);
    cw_translations *t = load(&opts);
    static const char *const tags[] = {"de", "en", "fr", "pt-BR"};
    for (size_t i = 0; i < CW_COUNT(tags); i++)
        assert_str(cw_language_tag(cw_translations_at(t, i)), tags[i]);
    assert_null(cw_translations_at(t, CW_COUNT(tags)));
    const cw_language *french = cw_translations_match(t, CW_STR("fr"));
    assert_str(cw_language_text(french, CW_STR("x"), CW_STR("List")), "Liste (a)");
    assert_str(cw_language_text(french, CW_STR("x"), CW_STR("Zoo")), "Zoo (c)");
    cw_translations_unref(t);
    mo_dir_remove(folder);
}

TEST(a_text_for_its_method_goes_before_the_general_one)
{
    char folder[64];
    mo_dir_create(folder);
    mo_dir_add(folder, "de.mo", german, CW_COUNT(german));
    cw_translations_opts opts = opts_of(folder);
    cw_translations *t = load(&opts);
    const cw_language *de = cw_translations_match(t, CW_STR("de"));
    assert_str(cw_language_text(de, CW_STR("a"), CW_STR("List")), "Liste von a");
    assert_str(cw_language_text(de, CW_STR("b"), CW_STR("List")), "Liste");
    assert_str(cw_language_text(de, CW_STR("a"), CW_STR("Zoo")), "Zoo");
    assert_str(cw_language_text(NULL, CW_STR("a"), CW_STR("List")), "List");
    const cw_language *en = cw_translations_default(t);
    assert_str(cw_language_text(en, CW_STR("a"), CW_STR("List")), "List");
    cw_translations_unref(t);
    mo_dir_remove(folder);
}

TEST(a_language_is_found_wider_and_narrower)
{
    char folder[64];
    mo_dir_create(folder);
    mo_dir_add(folder, "de.mo", german, CW_COUNT(german));
    mo_dir_add(folder, "pt_BR.mo", german, CW_COUNT(german));
    mo_dir_add(folder, "zh_Hant_TW.mo", german, CW_COUNT(german));
    cw_translations_opts opts = opts_of(folder);
    cw_translations *t = load(&opts);
    assert_match(t, "de", "de");
    assert_match(t, "DE-at", "de");
    assert_match(t, "de-Latn-AT-1996", "de");
    assert_match(t, "pt", "pt-BR");
    assert_match(t, "PT-br", "pt-BR");
    assert_match(t, "zh-Hant", "zh-Hant-TW");
    assert_match(t, "pt-PT", ""); /* another region is another language */
    assert_match(t, "d", "");
    assert_match(t, "deu", "");
    assert_match(t, "", "");
    cw_translations_unref(t);
    mo_dir_remove(folder);
}

TEST(the_default_must_be_there)
{
    char folder[64];
    mo_dir_create(folder);
    mo_dir_add(folder, "de.mo", german, CW_COUNT(german));
    cw_translations_opts opts = opts_of(folder);
    opts.default_value = CW_STR("de");
    cw_translations *t = load(&opts);
    assert_str(cw_language_tag(cw_translations_default(t)), "de");
    cw_translations_unref(t);
    opts.default_value = CW_STR("fr");
    assert_refused(&opts, CW_PARAMS, "there is no language 'fr'");
    mo_dir_remove(folder);
    assert_refused(&opts, CW_IO, folder);
}

TEST(a_file_that_is_not_right_is_named)
{
    char folder[64];
    mo_dir_create(folder);
    cw_translations_opts opts = opts_of(folder);
    mo_dir_save(folder, "de.mo", "msgid", 5);
    assert_refused(&opts, CW_PARAMS, "de.mo': it is no .mo file");
    mo_dir_add(folder, "de.mo", german, CW_COUNT(german));
    mo_dir_add(folder, "examples.mo", german, CW_COUNT(german));
    assert_refused(&opts, CW_PARAMS, "'examples.mo': its name is no language");
    mo_dir_remove(folder);
    mo_dir_create(folder);
    mo_dir_add_subdir(folder, "de.mo");
    assert_refused(&opts, CW_IO, "de.mo' is not a file");
    mo_dir_remove(folder);
}

TEST(bytes_and_files_have_ceilings)
{
    char folder[64], bytes[MO_MAX], name[32];
    size_t n = mo_build(bytes, german, CW_COUNT(german), 0);
    mo_dir_create(folder);
    mo_dir_add(folder, "de.mo", german, CW_COUNT(german));
    mo_dir_add(folder, "fr.mo", german, CW_COUNT(german));
    cw_translations_opts opts = opts_of(folder);
    opts.max_bytes = 2 * n;
    cw_translations_unref(load(&opts));
    opts.max_bytes = 2 * n - 1;
    assert_refused(&opts, CW_LIMIT, "fr.mo': with it the files have more than");
    mo_dir_add_subdir(folder, "it");
    opts.max_bytes = 0;
    for (unsigned i = 2; i < CW_TRANSLATIONS_MAX_FILES; i++) {
        snprintf(name, sizeof name, "it/%u.mo", i);
        mo_dir_add(folder, name, NULL, 0);
    }
    cw_translations_unref(load(&opts));
    mo_dir_add(folder, "it/more.mo", NULL, 0);
    assert_refused(&opts, CW_LIMIT, "more than 1000 files");
    mo_dir_remove(folder);
}

TEST(what_was_read_twice_is_equal)
{
    char folder[64];
    mo_dir_create(folder);
    mo_dir_add(folder, "de.mo", german, CW_COUNT(german));
    cw_translations_opts opts = opts_of(folder);
    cw_translations *a = load(&opts), *b = load(&opts);
    assert_true(cw_translations_equal(a, b));
    assert_true(cw_translations_equal(NULL, NULL));
    assert_false(cw_translations_equal(a, NULL));
    cw_translations_unref(b);
    opts.default_value = CW_STR("de");
    b = load(&opts);
    assert_false(cw_translations_equal(a, b));
    cw_translations_unref(b);
    opts.default_value = CW_STR("en");
    mo_dir_add(folder, "de.mo", (mo_pair[]){{"List", "Die Liste"}}, 1);
    b = load(&opts);
    assert_false(cw_translations_equal(a, b));
    cw_translations_unref(b);
    cw_translations_unref(a);
    mo_dir_remove(folder);
}

static void load_once(void *ctx)
{
    cw_translations *t = NULL;
    cw_err err = {0};
    cw_code rc = cw_translations_load(ctx, &t, &err);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_translations_unref(t);
}

TEST(loading_survives_every_failed_allocation)
{
    char folder[64];
    mo_dir_create(folder);
    mo_dir_add(folder, "de.mo", german, CW_COUNT(german));
    mo_dir_add_subdir(folder, "fr");
    mo_dir_add(folder, "fr/a.mo", german, CW_COUNT(german));
    cw_translations_opts opts = opts_of(folder);
    assert_true(oom_each(load_once, &opts) >= 4);
    mo_dir_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_of_gettext_is_read),
        cmocka_unit_test(a_text_for_its_method_goes_before_the_general_one),
        cmocka_unit_test(a_language_is_found_wider_and_narrower),
        cmocka_unit_test(the_default_must_be_there),
        cmocka_unit_test(a_file_that_is_not_right_is_named),
        cmocka_unit_test(bytes_and_files_have_ceilings),
        cmocka_unit_test(what_was_read_twice_is_equal),
        cmocka_unit_test(loading_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
