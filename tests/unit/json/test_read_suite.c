/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The public JSON parsing suite, from $CAUSEWAY_TEST_DATA/json-test-suite/test_parsing. Duplicate
 * keys are allowed in it; every other option is the default. */
#include <dirent.h>

#include "support/json_fixture.h"

/* The suite leaves these open. Numbers of any size are kept as text; everything that is not UTF-8,
 * half a surrogate pair, a byte order mark or too deep is refused. docs/json.md says the same. */
static const struct policy {
    const char *name;
    bool accept;
} policies[] = {
    {"i_number_double_huge_neg_exp.json", true},
    {"i_number_huge_exp.json", true},
    {"i_number_neg_int_huge_exp.json", true},
    {"i_number_pos_double_huge_exp.json", true},
    {"i_number_real_neg_overflow.json", true},
    {"i_number_real_pos_overflow.json", true},
    {"i_number_real_underflow.json", true},
    {"i_number_too_big_neg_int.json", true},
    {"i_number_too_big_pos_int.json", true},
    {"i_number_very_big_negative_int.json", true},
    {"i_object_key_lone_2nd_surrogate.json", false},
    {"i_string_1st_surrogate_but_2nd_missing.json", false},
    {"i_string_1st_valid_surrogate_2nd_invalid.json", false},
    {"i_string_UTF-16LE_with_BOM.json", false},
    {"i_string_UTF-8_invalid_sequence.json", false},
    {"i_string_UTF8_surrogate_U+D800.json", false},
    {"i_string_incomplete_surrogate_and_escape_valid.json", false},
    {"i_string_incomplete_surrogate_pair.json", false},
    {"i_string_incomplete_surrogates_escape_valid.json", false},
    {"i_string_invalid_lonely_surrogate.json", false},
    {"i_string_invalid_surrogate.json", false},
    {"i_string_invalid_utf-8.json", false},
    {"i_string_inverted_surrogates_U+1D11E.json", false},
    {"i_string_iso_latin_1.json", false},
    {"i_string_lone_second_surrogate.json", false},
    {"i_string_lone_utf8_continuation_byte.json", false},
    {"i_string_not_in_unicode_range.json", false},
    {"i_string_overlong_sequence_2_bytes.json", false},
    {"i_string_overlong_sequence_6_bytes.json", false},
    {"i_string_overlong_sequence_6_bytes_null.json", false},
    {"i_string_truncated-utf-8.json", false},
    {"i_string_utf16BE_no_BOM.json", false},
    {"i_string_utf16LE_no_BOM.json", false},
    {"i_structure_500_nested_arrays.json", false},
    {"i_structure_UTF-8_BOM_empty_object.json", false},
};

static bool expected_to_pass(const char *name)
{
    if (name[0] != 'i')
        return name[0] == 'y';
    for (size_t i = 0; i < CW_COUNT(policies); i++) {
        if (strcmp(policies[i].name, name) == 0)
            return policies[i].accept;
    }
    fail_msg("no policy for %s", name);
    return false;
}

static cw_str load(cw_arena *a, const char *path)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    size_t n = (size_t)ftell(f);
    rewind(f);
    char *p = cw_arena_alloc(a, n);
    assert_non_null(p);
    assert_int_equal(fread(p, 1, n, f), n);
    fclose(f);
    return cw_str_make(p, n);
}

static void check_round_trip(cw_arena *a, const cw_json *root, const cw_json_opts *opts)
{
    for (int style = 0; style < 2; style++) {
        cw_buf b;
        cw_buf_init(&b, 1u << 20);
        cw_json_writer w;
        cw_json_writer_init(&w, &b, (cw_json_style)style);
        cw_json_add_value(&w, root);
        assert_int_equal(cw_json_writer_end(&w, NULL), CW_OK);
        assert_true(cw_json_equal(root, must_read_opts(a, cw_buf_str(&b), opts)));
        cw_buf_done(&b);
    }
}

/* Whether the file fares as it should. */
static bool run_file(const char *folder, const char *name)
{
    const cw_json_opts opts = {.allow_duplicates = true};
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cw_arena a;
    cw_arena_init(&a, 16u << 20);
    const cw_json *root = NULL;
    bool passed = cw_json_read(load(&a, path), &opts, &a, &root, NULL, NULL) == CW_OK;
    if (passed)
        check_round_trip(&a, root, &opts);
    cw_arena_done(&a);
    bool right = passed == expected_to_pass(name);
    if (!right)
        print_error("%s was %s\n", name, passed ? "accepted" : "refused");
    return right;
}

TEST(every_file_of_the_parsing_suite_fares_as_it_should)
{
    const char *data = getenv("CAUSEWAY_TEST_DATA");
    char folder[768];
    snprintf(folder, sizeof folder, "%s/json-test-suite/test_parsing", data ? data : ".");
    DIR *dir = data ? opendir(folder) : NULL;
    if (!dir) {
        print_message("[          ] no parsing suite: set CAUSEWAY_TEST_DATA\n");
        skip();
    }
    unsigned ran[128] = {0};
    unsigned wrong = 0;
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        if (!strchr("yni", e->d_name[0]) || e->d_name[1] != '_')
            continue;
        ran[(unsigned char)e->d_name[0]]++;
        wrong += !run_file(folder, e->d_name);
    }
    closedir(dir);
    print_message("[          ] parsing suite: %u y, %u n, %u i files, %u wrong\n", ran['y'],
                  ran['n'], ran['i'], wrong);
    assert_int_equal(wrong, 0);
    assert_int_equal(ran['y'], 95);
    assert_int_equal(ran['n'], 188);
    assert_int_equal(ran['i'], CW_COUNT(policies));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_of_the_parsing_suite_fares_as_it_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
