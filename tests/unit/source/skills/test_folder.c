/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/skills/folder.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "support/assert_str.h"
#include "support/oom.h"
#include "support/temp_dir.h"

#define FRONT(name) "---\nname: " name "\ndescription: words\n---\n"

/* The problems that were reported: "NAME: PROBLEM\n" of each. */
static char problems[2048];

static void report(cw_str skill, const char *problem, void *ctx)
{
    size_t n = strlen(problems);
    (void)ctx;
    (void)snprintf(problems + n, sizeof problems - n, "%.*s: %s\n", CW_STR_ARG(skill), problem);
}

static cw_skills *read_folder(void)
{
    cw_skills *skills = NULL;
    cw_err err = {0};
    problems[0] = '\0';
    cw_code rc = cw_skill_folder_read(temp_dir, CW_STR("a b"), report, NULL, &skills, &err);
    if (rc)
        fail_msg("%s", err.msg);
    return skills;
}

static void make_skill(const char *name, const char *text)
{
    char path[64];
    assert_int_equal(mkdir(temp_dir_path(name), 0700), 0);
    (void)snprintf(path, sizeof path, "%s/SKILL.md", name);
    temp_dir_write(path, text);
}

/* temp_dir_teardown wants the files to be gone. */
static void remove_all(void)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s/*", temp_dir);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): of a test, without input */
}

TEST(a_skill_has_its_files_with_digests)
{
    make_skill("ab", FRONT("ab"));
    assert_int_equal(mkdir(temp_dir_path("ab/sub"), 0700), 0);
    assert_int_equal(mkdir(temp_dir_path("ab/sub/empty"), 0700), 0);
    temp_dir_write("ab/sub/a b.txt", "hello");
    temp_dir_write("ab/.hidden", "no");
    temp_dir_write("README.md", "no skill");
    cw_skills *skills = read_folder();
    assert_string_equal(problems, "");
    assert_int_equal(skills->n, 1);
    const cw_skill *skill = &skills->items[0];
    assert_str(skill->root, "skill://a%20b/ab");
    assert_str(skill->resource, "{\"uri\":\"skill://a%20b/ab/SKILL.md\",\"name\":\"ab\","
                                "\"description\":\"words\",\"mimeType\":\"text/markdown\"}");
    assert_int_equal(skill->n_nodes, 4);
    assert_str(skill->nodes[2].uri, "skill://a%20b/ab/sub/a%20b.txt");
    assert_str(skill->nodes[2].bytes, "hello");
    assert_true(skill->nodes[3].is_directory);
    /* SHA-256 of "hello". */
    const char *digest = "\"sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
                         "\",\"size\":5}";
    assert_non_null(memmem(skill->entry.p, skill->entry.n, digest, strlen(digest)));
    cw_skills_unref(skills);
    remove_all();
}

TEST(a_skill_with_a_problem_is_left_out_and_the_others_stay)
{
    make_skill("good", FRONT("good"));
    make_skill("other", FRONT("another"));
    assert_int_equal(mkdir(temp_dir_path("empty"), 0700), 0);
    cw_skills *skills = read_folder();
    assert_int_equal(skills->n, 1);
    assert_non_null(strstr(problems, "other: its name in SKILL.md is 'another'\n"));
    assert_non_null(strstr(problems, "empty: it has no file SKILL.md\n"));
    cw_skills_unref(skills);
    remove_all();
}

TEST(links_lead_nowhere)
{
    make_skill("file", FRONT("file"));
    make_skill("directory", FRONT("directory"));
    assert_int_equal(symlink("/etc/passwd", temp_dir_path("file/words.txt")), 0);
    assert_int_equal(symlink("/etc", temp_dir_path("directory/etc")), 0);
    assert_int_equal(symlink("/etc", temp_dir_path("linked")), 0);
    assert_int_equal(mkdir(temp_dir_path("pipe"), 0700), 0);
    assert_int_equal(mkfifo(temp_dir_path("pipe/SKILL.md"), 0600), 0);
    cw_skills *skills = read_folder();
    assert_int_equal(skills->n, 0);
    assert_non_null(strstr(problems, "file: 'words.txt' is a symbolic link\n"));
    assert_non_null(strstr(problems, "directory: 'etc' is a symbolic link\n"));
    assert_non_null(strstr(problems, "linked: its directory is a symbolic link\n"));
    assert_non_null(strstr(problems, "pipe: 'SKILL.md' is neither a file nor a directory\n"));
    cw_skills_unref(skills);
    remove_all();
}

TEST(a_skill_has_a_maximum_of_files_bytes_and_depth)
{
    char path[64] = "deep/d";
    make_skill("many", FRONT("many"));
    for (unsigned i = 0; i < CW_SKILL_MAX_FILES; i++) {
        (void)snprintf(path, sizeof path, "many/%u", i);
        temp_dir_write(path, "");
    }
    make_skill("large", FRONT("large"));
    temp_dir_write("large/x", "");
    assert_int_equal(truncate(temp_dir_path("large/x"), CW_SKILL_MAX_BYTES), 0);
    make_skill("deep", FRONT("deep"));
    (void)snprintf(path, sizeof path, "deep");
    for (unsigned i = 0; i <= CW_SKILL_MAX_DEPTH; i++) {
        (void)snprintf(path + strlen(path), sizeof path - strlen(path), "/d");
        assert_int_equal(mkdir(temp_dir_path(path), 0700), 0);
    }
    cw_skills *skills = read_folder();
    assert_int_equal(skills->n, 0);
    assert_non_null(strstr(problems, "many: more than 512 files\n"));
    assert_non_null(strstr(problems, "large: larger than 16 MB\n"));
    assert_non_null(strstr(problems, "deep: more than 16 directories inside each other\n"));
    cw_skills_unref(skills);
    /* One file less is not too many. */
    assert_int_equal(unlink(temp_dir_path("many/0")), 0);
    skills = read_folder();
    assert_int_equal(skills->n, 1);
    cw_skills_unref(skills);
    remove_all();
}

TEST(the_skills_of_a_source_have_a_maximum)
{
    cw_skills *skills = NULL;
    cw_err err = {0};
    char name[16], text[64];
    for (unsigned i = 0; i <= CW_SKILLS_MAX; i++) {
        (void)snprintf(name, sizeof name, "s%u", i);
        (void)snprintf(text, sizeof text, FRONT("s%u"), i);
        make_skill(name, text);
    }
    assert_int_equal(cw_skill_folder_read(temp_dir, CW_STR("x"), report, NULL, &skills, &err),
                     CW_LIMIT);
    assert_string_equal(err.msg, "more than 256 skills");
    remove_all();
    /* Four of 16 MB fill the room of all. */
    for (unsigned i = 0; i < 5; i++) {
        (void)snprintf(name, sizeof name, "s%u", i);
        (void)snprintf(text, sizeof text, FRONT("s%u"), i);
        make_skill(name, text);
        (void)snprintf(name, sizeof name, "s%u/x", i);
        temp_dir_write(name, "");
        assert_int_equal(truncate(temp_dir_path(name), CW_SKILL_MAX_BYTES - 1024), 0);
    }
    skills = read_folder();
    assert_int_equal(skills->n, 4);
    assert_non_null(strstr(problems, ": the skills of the source are larger than 64 MB\n"));
    cw_skills_unref(skills);
    remove_all();
}

TEST(a_directory_that_does_not_exist_has_no_skills)
{
    cw_skills *skills = NULL;
    const char *path = temp_dir_path("none");
    assert_int_equal(cw_skill_folder_read(path, CW_STR("x"), report, NULL, &skills, NULL), CW_OK);
    assert_int_equal(skills->n, 0);
    assert_int_equal(cw_skill_folder_stamp(path), 0);
    cw_skills_unref(skills);
}

TEST(a_stamp_differs_after_each_change)
{
    make_skill("ab", FRONT("ab"));
    uint64_t first = cw_skill_folder_stamp(temp_dir);
    assert_int_equal(cw_skill_folder_stamp(temp_dir), first);
    temp_dir_write("ab/x", "1");
    uint64_t second = cw_skill_folder_stamp(temp_dir);
    assert_true(second != first);
    temp_dir_write("ab/x", "12");
    assert_true(cw_skill_folder_stamp(temp_dir) != second);
    remove_all();
}

static void read_once(void *ctx)
{
    cw_skills *skills = NULL;
    cw_err err = {0};
    (void)ctx;
    cw_code rc = cw_skill_folder_read(temp_dir, CW_STR("x"), report, NULL, &skills, &err);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    if (oom_was_hit())
        assert_int_equal(rc, CW_NOMEM);
    else
        assert_int_equal(skills->n, 1);
    cw_skills_unref(skills);
}

TEST(a_folder_survives_every_failed_allocation)
{
    make_skill("ab", FRONT("ab"));
    assert_int_equal(mkdir(temp_dir_path("ab/sub"), 0700), 0);
    temp_dir_write("ab/sub/x", "1");
    assert_true(oom_each(read_once, NULL) >= 5);
    remove_all();
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, temp_dir_setup, temp_dir_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_skill_has_its_files_with_digests),
        CASE(a_skill_with_a_problem_is_left_out_and_the_others_stay),
        CASE(links_lead_nowhere),
        CASE(a_skill_has_a_maximum_of_files_bytes_and_depth),
        CASE(the_skills_of_a_source_have_a_maximum),
        CASE(a_directory_that_does_not_exist_has_no_skills),
        CASE(a_stamp_differs_after_each_change),
        CASE(a_folder_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests_name("folder", tests, NULL, NULL);
}
