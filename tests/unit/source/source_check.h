/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source_check.h - what tests of this folder share: texts compared, JSON read, a folder for files.
 */
#ifndef CW_TESTS_SOURCE_CHECK_H
#define CW_TESTS_SOURCE_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"
#include "oom.h"

static inline void assert_str(cw_str text, const char *expected)
{
    if (!cw_str_is(text, expected))
        fail_msg("\"%.*s\" instead of \"%s\"", CW_STR_ARG(text), expected);
}

static inline bool str_has(cw_str text, const char *part)
{
    return memmem(text.p, text.n, part, strlen(part)) != NULL;
}

/* A document of the test's own, which is never wrong. */
static inline const cw_json *json_of(cw_arena *arena, const char *text)
{
    const cw_json *v = NULL;
    cw_err err = {0};
    cw_code rc = cw_json_read(cw_str_from(text), NULL, arena, &v, NULL, &err);
    if (rc)
        fail_msg("%s: %s", err.msg, text);
    return v;
}

static char check_folder[64];

static inline int make_check_folder(void **state)
{
    (void)state;
    snprintf(check_folder, sizeof check_folder, "%s/cw-source-XXXXXX", P_tmpdir);
    return mkdtemp(check_folder) ? 0 : -1;
}

static inline int remove_check_folder(void **state)
{
    (void)state;
    return rmdir(check_folder);
}

/* A path in the folder; good until the next call but three. */
static inline const char *check_path(const char *name)
{
    static char paths[4][160];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", check_folder, name);
    return path;
}

static inline void write_check_file(const char *name, const char *text)
{
    int fd = open(check_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

#endif
