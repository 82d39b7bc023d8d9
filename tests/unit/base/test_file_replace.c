/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_replace.h"
#include "support/oom.h"
#include "support/test.h"

static char folder[64], path[96];

SETUP(make_folder)
{
    snprintf(folder, sizeof folder, "%s/cw-replace-XXXXXX", P_tmpdir);
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

TEARDOWN(remove_folder)
{
    unlink(path);
    return rmdir(folder);
}

/* ---- what the system does in its place ---- */

static int write_error; /* errno of every write */
static size_t write_max, interruptions;
static int fsync_error, fchmod_error, close_error;
static unsigned fsyncs;

ssize_t __real_write(int fd, const void *p, size_t n);
int __real_fsync(int fd);
int __real_fchmod(int fd, mode_t mode);
int __real_close(int fd);
ssize_t __wrap_write(int fd, const void *p, size_t n);
int __wrap_fsync(int fd);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_close(int fd);

static int fail_with(int code)
{
    errno = code;
    return -1;
}

ssize_t __wrap_write(int fd, const void *p, size_t n)
{
    if (interruptions && interruptions--)
        return fail_with(EINTR);
    if (write_error)
        return fail_with(write_error);
    return __real_write(fd, p, write_max && n > write_max ? write_max : n);
}

int __wrap_fsync(int fd)
{
    fsyncs++;
    return fsync_error ? fail_with(fsync_error) : __real_fsync(fd);
}

int __wrap_fchmod(int fd, mode_t mode)
{
    return fchmod_error ? fail_with(fchmod_error) : __real_fchmod(fd, mode);
}

int __wrap_close(int fd)
{
    int rc = __real_close(fd);
    return close_error ? fail_with(close_error) : rc;
}

/* ---- tests ---- */

static unsigned count_files(void)
{
    DIR *dir = opendir(folder);
    unsigned n = 0;
    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void assert_file(const char *text, mode_t mode)
{
    char bytes[256] = "";
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(read(fd, bytes, sizeof bytes - 1), strlen(text));
    __real_close(fd);
    assert_string_equal(bytes, text);
    assert_int_equal(st.st_mode & 07777, mode);
    assert_int_equal(count_files(), 1);
}

TEST(a_file_is_made_and_replaced)
{
    cw_err err = {0};
    fsyncs = 0;
    assert_int_equal(cw_file_replace(path, CW_STR("one"), 0600, CW_FILE_REPLACE_FAST, &err), CW_OK);
    assert_file("one", 0600);
    assert_int_equal(fsyncs, 0);
    assert_int_equal(cw_file_replace(path, CW_STR("another"), 0644, CW_FILE_REPLACE_SYNC, &err),
                     CW_OK);
    assert_file("another", 0644);
    assert_int_equal(fsyncs, 1);
    assert_int_equal(cw_file_replace(path, CW_STR(""), 0600, CW_FILE_REPLACE_FAST, &err), CW_OK);
    assert_file("", 0600);
}

TEST(whoever_has_the_old_one_open_keeps_it)
{
    char bytes[8] = "";
    assert_int_equal(cw_file_replace(path, CW_STR("old"), 0600, CW_FILE_REPLACE_FAST, NULL), CW_OK);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(cw_file_replace(path, CW_STR("new"), 0600, CW_FILE_REPLACE_FAST, NULL), CW_OK);
    assert_int_equal(read(fd, bytes, sizeof bytes), 3);
    close(fd);
    assert_string_equal(bytes, "old");
    assert_file("new", 0600);
}

TEST(short_and_interrupted_writes_are_gone_on_with)
{
    write_max = 2;
    interruptions = 3;
    assert_int_equal(cw_file_replace(path, CW_STR("seven b"), 0600, CW_FILE_REPLACE_FAST, NULL),
                     CW_OK);
    write_max = 0;
    assert_int_equal(interruptions, 0);
    assert_file("seven b", 0600);
}

TEST(what_fails_leaves_the_old_one_and_nothing_else)
{
    int *const errors[] = {&write_error, &fsync_error, &fchmod_error, &close_error};
    cw_err err;
    assert_int_equal(cw_file_replace(path, CW_STR("old"), 0600, CW_FILE_REPLACE_FAST, NULL), CW_OK);
    for (size_t i = 0; i < CW_COUNT(errors); i++) {
        err = (cw_err){0};
        *errors[i] = ENOSPC;
        cw_code rc = cw_file_replace(path, CW_STR("new"), 0600, CW_FILE_REPLACE_SYNC, &err);
        *errors[i] = 0;
        assert_int_equal(rc, CW_IO);
        assert_non_null(strstr(err.msg, path));
        assert_file("old", 0600);
    }
}

TEST(a_place_where_nothing_can_be_is_told)
{
    cw_err err = {0};
    char nowhere[128];
    snprintf(nowhere, sizeof nowhere, "%s/no/file", folder);
    assert_int_equal(cw_file_replace(nowhere, CW_STR("x"), 0600, CW_FILE_REPLACE_FAST, &err),
                     CW_IO);
    assert_non_null(strstr(err.msg, nowhere));
    /* A folder is not replaced by a file. */
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(cw_file_replace(path, CW_STR("x"), 0600, CW_FILE_REPLACE_FAST, &err), CW_IO);
    assert_int_equal(count_files(), 1);
    assert_int_equal(rmdir(path), 0);
}

static void replace_once(void *ctx)
{
    (void)ctx;
    cw_code rc = cw_file_replace(path, CW_STR("x"), 0600, CW_FILE_REPLACE_FAST, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
}

TEST(every_failed_allocation_is_survived)
{
    assert_int_equal(oom_each(replace_once, NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_made_and_replaced),
        cmocka_unit_test(whoever_has_the_old_one_open_keeps_it),
        cmocka_unit_test(short_and_interrupted_writes_are_gone_on_with),
        cmocka_unit_test(what_fails_leaves_the_old_one_and_nothing_else),
        cmocka_unit_test(a_place_where_nothing_can_be_is_told),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
