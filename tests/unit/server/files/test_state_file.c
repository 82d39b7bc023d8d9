/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of a server that outlive it: their directory, their names, and which of them are refused. */
#include "server/files/state_file.h"

#include <stdlib.h>
#include <string.h>

#include "support/assert_str.h"
#include "support/oom.h"
#include "support/temp_dir.h"

static cw_config_listener listeners[] = {
    {.address = {.text = CW_STR_INIT("127.0.0.1:8080")}},
    {.address = {.text = CW_STR_INIT("127.0.0.1:8081")}},
};

static cw_config config_with(size_t n_listeners)
{
    return (cw_config){.listen = {.items = listeners, .n = n_listeners}};
}

/* NULL: not set. */
static void set_environment(const char *given, const char *state, const char *home)
{
    const char *const names[] = {"STATE_DIRECTORY", "XDG_STATE_HOME", "HOME"};
    const char *const values[] = {given, state, home};
    for (size_t i = 0; i < CW_COUNT(names); i++)
        assert_int_equal(values[i] ? setenv(names[i], values[i], 1) : unsetenv(names[i]), 0);
}

/* Remove a directory that must have this mode. */
static void remove_directory(const char *name, unsigned mode)
{
    struct stat st;
    assert_int_equal(stat(temp_dir_path(name), &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(st.st_mode & 0777u, mode);
    assert_int_equal(rmdir(temp_dir_path(name)), 0);
}

TEST(the_directory_is_the_first_that_is_set)
{
    char found[CW_STATE_FILE_PATH], list[256];
    snprintf(list, sizeof list, "%s/a:%s/b", temp_dir, temp_dir);
    set_environment(list, temp_dir_path("x"), temp_dir_path("h"));
    assert_true(cw_state_file_directory(found, sizeof found));
    assert_string_equal(found, temp_dir_path("a/causeway"));
    assert_true(cw_state_file_directory(found, sizeof found)); /* it exists */
    remove_directory("a/causeway", 0700);
    remove_directory("a", 0700);

    set_environment(NULL, temp_dir_path("x"), temp_dir_path("h"));
    assert_true(cw_state_file_directory(found, sizeof found));
    assert_string_equal(found, temp_dir_path("x/causeway"));
    remove_directory("x/causeway", 0700);
    remove_directory("x", 0700);

    set_environment("relative", "", temp_dir_path("h"));
    assert_true(cw_state_file_directory(found, sizeof found));
    assert_string_equal(found, temp_dir_path("h/.local/state/causeway"));
    remove_directory("h/.local/state/causeway", 0700);
    remove_directory("h/.local/state", 0700);
    remove_directory("h/.local", 0700);
    remove_directory("h", 0700);
}

TEST(no_directory_is_an_error)
{
    char found[CW_STATE_FILE_PATH], path[CW_STATE_FILE_PATH];
    cw_config config = config_with(1);
    cw_err err;
    set_environment(NULL, NULL, NULL);
    assert_false(cw_state_file_directory(found, sizeof found));
    assert_int_equal(cw_state_file_path(&config, NULL, "key", path, &err), CW_IO);
    assert_non_null(strstr(err.msg, "STATE_DIRECTORY"));
    /* A file stands in the way. */
    temp_dir_write("file", "");
    set_environment(temp_dir_path("file"), NULL, NULL);
    assert_false(cw_state_file_directory(found, sizeof found));
    unlink(temp_dir_path("file"));
    set_environment(temp_dir_path("a"), NULL, NULL);
    assert_false(cw_state_file_directory(found, 10));
    /* The directory has room for the name of a file. */
    static char deep[CW_STATE_FILE_PATH];
    size_t n = (size_t)snprintf(deep, sizeof deep, "%s", temp_dir);
    while (n < sizeof deep - 20)
        n += (size_t)snprintf(deep + n, sizeof deep - n, "/.");
    set_environment(deep, NULL, NULL);
    assert_int_equal(cw_state_file_path(&config, NULL, "key", path, &err), CW_IO);
    assert_non_null(strstr(err.msg, "too long"));
    remove_directory("causeway", 0700);
}

static void path_of(const char *config_path, size_t n_listeners, const char *kind,
                    char out[CW_STATE_FILE_PATH])
{
    cw_config config = config_with(n_listeners);
    assert_int_equal(cw_state_file_path(&config, config_path, kind, out, NULL), CW_OK);
}

TEST(each_server_has_files_of_its_own)
{
    char first[CW_STATE_FILE_PATH], other[CW_STATE_FILE_PATH];
    set_environment(temp_dir, NULL, NULL);
    temp_dir_write("one.yaml", "");
    temp_dir_write("two.yaml", "");
    assert_int_equal(symlink("one.yaml", temp_dir_path("link.yaml")), 0);
    path_of(temp_dir_path("one.yaml"), 1, "key", first);
    assert_memory_equal(first, temp_dir_path("causeway/key-"), strlen(temp_dir) + 14);
    assert_int_equal(strlen(first), strlen(temp_dir) + 14 + 16);
    path_of(temp_dir_path("link.yaml"), 1, "key", other); /* the same file */
    assert_string_equal(first, other);
    path_of(temp_dir_path("two.yaml"), 1, "key", other);
    assert_string_not_equal(first, other);
    path_of(temp_dir_path("one.yaml"), 2, "key", other);
    assert_string_not_equal(first, other);
    path_of(temp_dir_path("one.yaml"), 1, "ends", other);
    assert_string_not_equal(first, other);
    path_of(NULL, 1, "key", other);
    assert_string_not_equal(first, other);
    unlink(temp_dir_path("one.yaml"));
    unlink(temp_dir_path("two.yaml"));
    unlink(temp_dir_path("link.yaml"));
    remove_directory("causeway", 0700);
}

static void assert_file(const char *name, const char *text)
{
    char found[64] = "";
    struct stat st;
    int fd = open(temp_dir_path(name), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 0777u, 0600);
    assert_int_equal(read(fd, found, sizeof found - 1), (ssize_t)strlen(text));
    assert_string_equal(found, text);
    close(fd);
}

/* The teardown finds drafts that are left. */
TEST(a_file_is_made_once)
{
    cw_err err;
    mode_t old = umask(0);
    assert_int_equal(cw_state_file_make(temp_dir_path("key"), CW_STR("first"), &err), CW_OK);
    assert_int_equal(cw_state_file_make(temp_dir_path("key"), CW_STR("second"), &err), CW_OK);
    umask(old);
    assert_file("key", "first");
    unlink(temp_dir_path("key"));
    assert_int_equal(cw_state_file_make(temp_dir_path("no/key"), CW_STR("x"), &err), CW_IO);
    assert_non_null(strstr(err.msg, "cannot make"));
}

static void refuses(const char *name, cw_code code, const char *text)
{
    cw_err err = {0};
    int fd = -1;
    assert_int_equal(cw_state_file_open(temp_dir_path(name), &fd, &err), code);
    assert_int_equal(fd, -1);
    assert_non_null(strstr(err.msg, text));
}

TEST(a_file_that_others_could_have_made_is_refused)
{
    cw_err err;
    int fd = -1;
    refuses("key", CW_NOTFOUND, "");
    assert_int_equal(cw_state_file_make(temp_dir_path("key"), CW_STR("first"), &err), CW_OK);
    assert_int_equal(cw_state_file_open(temp_dir_path("key"), &fd, &err), CW_OK);
    assert_int_equal(write(fd, "F", 1), 1);
    close(fd);
    assert_file("key", "First");
    static const mode_t wide[] = {0640, 0620, 0604, 0602, 0601};
    for (size_t i = 0; i < CW_COUNT(wide); i++) {
        assert_int_equal(chmod(temp_dir_path("key"), wide[i]), 0);
        refuses("key", CW_PARAMS, "by others");
    }
    assert_int_equal(chmod(temp_dir_path("key"), 0600), 0);
    assert_int_equal(symlink("key", temp_dir_path("link")), 0);
    refuses("link", CW_PARAMS, "is a link");
    assert_int_equal(mkfifo(temp_dir_path("pipe"), 0600), 0);
    refuses("pipe", CW_PARAMS, "is not a plain file");
    refuses(".", CW_IO, "cannot open");
    if (geteuid() == 0) { /* only root can give a file away */
        assert_int_equal(chown(temp_dir_path("key"), 1, (gid_t)-1), 0);
        refuses("key", CW_PARAMS, "another user");
    }
    unlink(temp_dir_path("key"));
    unlink(temp_dir_path("link"));
    unlink(temp_dir_path("pipe"));
}

static void find_once(void *ctx)
{
    char path[CW_STATE_FILE_PATH];
    cw_config config = config_with(2);
    cw_code rc = cw_state_file_path(&config, "causeway.yaml", "key", path, NULL);
    (void)ctx;
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
}

TEST(every_failed_allocation_is_reported)
{
    set_environment(temp_dir, NULL, NULL);
    assert_true(oom_each(find_once, NULL) >= 1);
    remove_directory("causeway", 0700);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_directory_is_the_first_that_is_set, temp_dir_setup,
                                        temp_dir_teardown),
        cmocka_unit_test_setup_teardown(no_directory_is_an_error, temp_dir_setup,
                                        temp_dir_teardown),
        cmocka_unit_test_setup_teardown(each_server_has_files_of_its_own, temp_dir_setup,
                                        temp_dir_teardown),
        cmocka_unit_test_setup_teardown(a_file_is_made_once, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(a_file_that_others_could_have_made_is_refused,
                                        temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(every_failed_allocation_is_reported, temp_dir_setup,
                                        temp_dir_teardown),
    };
    return cmocka_run_group_tests_name("state_file", tests, NULL, NULL);
}
