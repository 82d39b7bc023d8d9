/* SPDX-License-Identifier: GPL-2.0-or-later */
/* temp_db.c - the path of a database in a temporary directory. */
#include "support/temp_db.h"

#include <sqlite3.h>
#include <sys/wait.h>

char temp_db_path[96];

bool temp_db_is_server(void)
{
    return getenv("CAUSEWAY_TEST_POSTGRES") != NULL;
}

static void run_on_server(const char *sql)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        execlp("psql", "psql", "-qX", "-v", "ON_ERROR_STOP=1", "-c", sql,
               getenv("CAUSEWAY_TEST_POSTGRES"), (char *)NULL);
        _exit(127);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

void temp_db_run(const char *sql)
{
    sqlite3 *raw;
    if (temp_db_is_server()) {
        run_on_server(sql);
        return;
    }
    assert_int_equal(sqlite3_open(temp_db_path, &raw), SQLITE_OK);
    assert_int_equal(sqlite3_exec(raw, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(raw);
}

static int set_up_server(void)
{
    snprintf(temp_db_path, sizeof temp_db_path, "%s", getenv("CAUSEWAY_TEST_POSTGRES"));
    run_on_server("SET client_min_messages = error; DROP SCHEMA IF EXISTS public CASCADE;"
                  "CREATE SCHEMA public");
    return 0;
}

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
    if (temp_db_is_server())
        return set_up_server();
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
