/* SPDX-License-Identifier: GPL-2.0-or-later */
/* temp_db.c - the path of a database in a temporary directory. */
#include "support/temp_db.h"

char temp_db_path[96];

static void remove_file(const char *suffix)
{
    char file[128];
    snprintf(file, sizeof file, "%s%s", temp_db_path, suffix);
    unlink(file);
}

int temp_db_setup(void **state)
{
    if (temp_dir_setup(state))
        return -1;
    snprintf(temp_db_path, sizeof temp_db_path, "%s/a.db", temp_dir);
    return 0;
}

int temp_db_teardown(void **state)
{
    remove_file("");
    remove_file("-wal");
    remove_file("-shm");
    remove_file(".away");
    return temp_dir_teardown(state);
}
