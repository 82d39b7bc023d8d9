/* SPDX-License-Identifier: GPL-2.0-or-later */
/* folder.h - a folder of its own for each test, with a database in it. */
#ifndef CW_TESTS_FOLDER_H
#define CW_TESTS_FOLDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];
static char path[96];

static void folder_remove(const char *suffix)
{
    char file[128];
    snprintf(file, sizeof file, "%s%s", path, suffix);
    unlink(file);
}

static int folder_setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", "/tmp/causeway-store-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/a.db", folder);
    return 0;
}

static int folder_teardown(void **state)
{
    (void)state;
    folder_remove("");
    folder_remove("-wal");
    folder_remove("-shm");
    folder_remove(".away");
    return rmdir(folder);
}

#endif
