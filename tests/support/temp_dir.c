/* SPDX-License-Identifier: GPL-2.0-or-later */
/* temp_dir.c - a temporary directory that must be empty at the end. */
#include "support/temp_dir.h"

char temp_dir[64];

int temp_dir_setup(void **state)
{
    (void)state;
    snprintf(temp_dir, sizeof temp_dir, "%s/causeway-test-XXXXXX", P_tmpdir);
    return mkdtemp(temp_dir) ? 0 : -1;
}

int temp_dir_teardown(void **state)
{
    (void)state;
    return rmdir(temp_dir);
}

const char *temp_dir_path(const char *name)
{
    static char paths[4][160];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", temp_dir, name);
    return path;
}

void temp_dir_write(const char *name, const char *text)
{
    int fd = open(temp_dir_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}
