/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The official JSON Schema suite, from $CAUSEWAY_TEST_DATA/json-schema-test-suite. Everything is
 * run through both evaluators. Misses are listed here with their reason: one that is not listed,
 * and one that is listed but does not happen, both fail the test. */
#include <dirent.h>
#include <sys/stat.h>

#include "support/schema_fixture.h"

#define DOCUMENTS_MAX 200
#define PATH_MAX_LEN 1024

/* Optional tests that we fail on purpose. */
static const struct miss {
    const char *file;
    unsigned tests;
} misses[] = {
    /* contentEncoding and contentMediaType are annotations. */
    {"draft7/optional/content.json", 4},
    /* A dialect that we refuse by name. */
    {"draft7/optional/cross-draft.json", 2},
    {"draft2020-12/optional/cross-draft.json", 1},
};

typedef struct suite {
    char folder[PATH_MAX_LEN];
    cw_arena remotes; /* texts and addresses */
    cw_schema_document documents[DOCUMENTS_MAX];
    size_t n_documents;
} suite;

typedef struct counts {
    unsigned ran, passed;
} counts;

static void add_remotes(suite *s, const char *folder, const char *prefix)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        if (e->d_name[0] == '.')
            continue;
        char path[PATH_MAX_LEN];
        char uri[PATH_MAX_LEN];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        snprintf(uri, sizeof uri, "%s/%s", prefix, e->d_name);
        struct stat st;
        assert_int_equal(stat(path, &st), 0);
        if (S_ISDIR(st.st_mode)) {
            add_remotes(s, path, uri);
            continue;
        }
        assert_true(s->n_documents < DOCUMENTS_MAX);
        cw_schema_document *d = &s->documents[s->n_documents++];
        d->uri = cw_arena_dup_str(&s->remotes, cw_str_from(uri));
        d->text = load_file(&s->remotes, path);
    }
    closedir(dir);
}

static void suite_init(suite *s)
{
    const char *data = getenv("CAUSEWAY_TEST_DATA");
    struct stat st;
    snprintf(s->folder, sizeof s->folder, "%s/json-schema-test-suite", data ? data : ".");
    if (!data || stat(s->folder, &st) != 0) {
        print_message("[          ] no JSON Schema suite: set CAUSEWAY_TEST_DATA\n");
        skip();
    }
    s->n_documents = 0;
    cw_arena_init(&s->remotes, 16u << 20);
    char remotes[PATH_MAX_LEN + 16];
    snprintf(remotes, sizeof remotes, "%s/remotes", s->folder);
    add_remotes(s, remotes, "http://localhost:1234");
}

static void run_group(const cw_json *group, const cw_schema_opts *opts, const char *file, counts *c)
{
    cw_schema *schema = NULL;
    cw_err err = {0};
    cw_code rc = cw_schema_compile(cw_json_get(group, CW_STR("schema")), opts, &schema, &err);
    cw_str title = cw_json_text(cw_json_get(group, CW_STR("description")));
    cw_schema_scratch scratch;
    cw_schema_scratch_init(&scratch);
    const cw_json *t = cw_json_first(cw_json_get(group, CW_STR("tests")));
    for (; t; t = cw_json_next(t)) {
        c->ran++;
        bool valid = cw_json_is(cw_json_get(t, CW_STR("valid")), CW_JSON_TRUE);
        bool right = false;
        if (!rc) {
            cw_code got = schema_verdict(schema, cw_json_get(t, CW_STR("data")), &scratch);
            right = got == (valid ? CW_OK : CW_PARAMS);
        }
        c->passed += right;
        if (!right && getenv("CAUSEWAY_TEST_VERBOSE"))
            print_message("  %s: %.*s: %.*s%s%s\n", file, CW_STR_ARG(title),
                          CW_STR_ARG(cw_json_text(cw_json_get(t, CW_STR("description")))),
                          rc ? ": " : "", err.msg);
    }
    cw_schema_scratch_done(&scratch);
    cw_schema_unref(schema);
}

static unsigned expected_misses(const char *file)
{
    unsigned n = 0;
    for (size_t i = 0; i < CW_COUNT(misses); i++) {
        if (strcmp(misses[i].file, file) == 0)
            n += misses[i].tests;
    }
    return n;
}

static void run_file(const suite *s, const char *draft, const char *file, bool formats,
                     counts *total)
{
    cw_schema_opts opts = {.documents = s->documents, .n_documents = s->n_documents};
    opts.draft = strcmp(draft, "draft7") == 0 ? CW_SCHEMA_DRAFT_07 : CW_SCHEMA_2020_12;
    opts.annotate_formats = !formats;
    char path[3 * PATH_MAX_LEN];
    snprintf(path, sizeof path, "%s/tests/%s", s->folder, file);
    cw_arena a;
    cw_arena_init(&a, 64u << 20);
    const cw_json *groups = read_deep_json(&a, load_file(&a, path));
    counts c = {0};
    for (const cw_json *g = cw_json_first(groups); g; g = cw_json_next(g))
        run_group(g, &opts, file, &c);
    cw_arena_done(&a);
    unsigned missed = c.ran - c.passed;
    if (missed != expected_misses(file)) {
        print_error("%s: %u of %u passed, %u misses were expected\n", file, c.passed, c.ran,
                    expected_misses(file));
        fail();
    }
    total->ran += c.ran;
    total->passed += c.passed;
}

/* All files of one folder, which is below tests/. */
static counts run_folder(const suite *s, const char *draft, const char *folder, bool formats)
{
    char path[3 * PATH_MAX_LEN];
    snprintf(path, sizeof path, "%s/tests/%s", s->folder, folder);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    counts total = {0};
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        const char *dot = strrchr(e->d_name, '.');
        if (!dot || strcmp(dot, ".json") != 0)
            continue;
        char file[PATH_MAX_LEN];
        snprintf(file, sizeof file, "%s/%s", folder, e->d_name);
        run_file(s, draft, file, formats, &total);
    }
    closedir(dir);
    print_message("[          ] %s: %u of %u passed\n", folder, total.passed, total.ran);
    return total;
}

static suite shared;

TEST(draft_07_passes_all_mandatory_tests)
{
    suite_init(&shared);
    counts c = run_folder(&shared, "draft7", "draft7", false);
    cw_arena_done(&shared.remotes);
    assert_int_equal(c.passed, 927);
    assert_int_equal(c.ran, 927);
}

TEST(draft_2020_12_passes_all_mandatory_tests)
{
    suite_init(&shared);
    counts c = run_folder(&shared, "draft2020-12", "draft2020-12", false);
    cw_arena_done(&shared.remotes);
    assert_int_equal(c.passed, 1299);
    assert_int_equal(c.ran, 1299);
}

TEST(optional_tests_miss_only_what_is_explained)
{
    suite_init(&shared);
    counts seven = run_folder(&shared, "draft7", "draft7/optional", false);
    counts twenty = run_folder(&shared, "draft2020-12", "draft2020-12/optional", false);
    cw_arena_done(&shared.remotes);
    assert_int_equal(seven.ran, 118);
    assert_int_equal(twenty.ran, 162);
}

TEST(formats_miss_only_what_is_explained)
{
    suite_init(&shared);
    counts seven = run_folder(&shared, "draft7", "draft7/optional/format", true);
    counts twenty = run_folder(&shared, "draft2020-12", "draft2020-12/optional/format", true);
    cw_arena_done(&shared.remotes);
    assert_int_equal(seven.ran, 676);
    assert_int_equal(twenty.ran, 764);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draft_07_passes_all_mandatory_tests),
        cmocka_unit_test(draft_2020_12_passes_all_mandatory_tests),
        cmocka_unit_test(optional_tests_miss_only_what_is_explained),
        cmocka_unit_test(formats_miss_only_what_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
