/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process that has taken files away from itself, file by file. The argument is a directory that it
 * keeps: that of the build, where a program that counts its lines writes the counters. */
#include "host/landlock.h"

#include <errno.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/arena.h"
#include "support/oom.h"
#include "support/temp_dir.h"

#define FILES 5u

static const char *kept = "/nonexistent";

/* The directories of the test, each with files of these names. */
static const char *const folders[] = {"readable", "writable", "other", "temporary"};
static const char *const names[] = {"a", "secret"};

static const char *path_of(const char *folder, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "%s%s%s", folder, name[0] ? "/" : "", name);
    return temp_dir_path(path);
}

SETUP(make_files)
{
    int rc = temp_dir_setup(state);
    for (size_t i = 0; i < CW_COUNT(folders) && !rc; i++) {
        rc = mkdir(path_of(folders[i], ""), 0755);
        for (size_t k = 0; k < CW_COUNT(names) && !rc; k++) {
            char name[64];
            snprintf(name, sizeof name, "%s/%s", folders[i], names[k]);
            temp_dir_write(name, "x");
        }
    }
    return rc;
}

TEARDOWN(remove_files)
{
    for (size_t i = 0; i < CW_COUNT(folders); i++) {
        for (size_t k = 0; k < CW_COUNT(names); k++)
            unlink(path_of(folders[i], names[k]));
        unlink(path_of(folders[i], "new"));
        rmdir(path_of(folders[i], ""));
    }
    return temp_dir_teardown(state);
}

static bool is_supported(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 2;
}

static bool can_open(const char *folder, const char *name, int flags)
{
    int fd = open(path_of(folder, name), flags | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    else if (errno != EACCES)
        abort();
    return fd >= 0;
}

/* The rights of the process in a directory, as letters: read and write a file, make one, read and
 * write the secret. */
static void describe(const char *folder, char ret[FILES + 1])
{
    const bool can[FILES] = {
        can_open(folder, "a", O_RDONLY),
        can_open(folder, "a", O_WRONLY),
        can_open(folder, "new", O_WRONLY | O_CREAT),
        can_open(folder, "secret", O_RDONLY),
        can_open(folder, "secret", O_WRONLY),
    };
    for (size_t i = 0; i < FILES; i++)
        ret[i] = can[i] ? "rwnRW"[i] : '-';
    ret[FILES] = 0;
}

/* Apply the rules in a process of its own, and compare what it can do in each of the directories. */
static void assert_can(const cw_landlock *rules, const char *const expected[])
{
    int status;
    if (!is_supported())
        skip();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        int wrong = chdir("/usr") || setenv("TMPDIR", path_of("temporary", ""), 1) ||
                    cw_landlock_apply(rules);
        for (size_t i = 0; i < CW_COUNT(folders) && !wrong; i++) {
            char can[FILES + 1];
            describe(folders[i], can);
            if (strcmp(can, expected[i]) != 0)
                wrong = fprintf(stderr, "%s: %s, not %s\n", folders[i], can, expected[i]);
        }
        exit(wrong ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Valid until the directory of the test is removed. */
static const char *keep(cw_arena *arena, const char *folder, const char *name)
{
    const char *path = path_of(folder, name);
    return cw_arena_dup(arena, path, strlen(path));
}

TEST(without_lists_everything_but_hidden_files_can_be_used)
{
    cw_arena arena;
    cw_arena_init(&arena, 1 << 16);
    const cw_landlock rules = {
        .hidden = {{keep(&arena, "writable", "secret"), keep(&arena, "other", ""), "/no/such/file"},
                   3}};
    static const char *const expected[] = {"rwnRW", "rw---", "-----", "rwnRW"};
    assert_can(&rules, expected);
    cw_arena_done(&arena);
}

TEST(with_lists_only_these_and_the_temporary_directory_can_be_used)
{
    cw_arena arena;
    cw_arena_init(&arena, 1 << 16);
    const cw_landlock rules = {
        .hidden = {{keep(&arena, "readable", "secret"), keep(&arena, "temporary", "secret")}, 2},
        .readable = {{keep(&arena, "readable", ""), "/no/such/file"}, 2},
        .writable = {{keep(&arena, "writable", ""), kept}, 2}};
    static const char *const expected[] = {"r----", "rwnRW", "-----", "rw---"};
    assert_can(&rules, expected);
    cw_arena_done(&arena);
}

TEST(without_memory_nothing_is_applied)
{
    const cw_landlock rules = {.hidden = {{"/etc/passwd"}, 1}};
    if (!is_supported())
        skip();
    oom_fail_at(1);
    int rc = cw_landlock_apply(&rules);
    oom_reset();
    assert_int_equal(rc, 1);
    assert_int_equal(access("/etc/passwd", R_OK), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, make_files, remove_files)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        T(without_lists_everything_but_hidden_files_can_be_used),
        T(with_lists_only_these_and_the_temporary_directory_can_be_used),
        T(without_memory_nothing_is_applied),
    };
    kept = argc > 1 ? argv[1] : kept;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
