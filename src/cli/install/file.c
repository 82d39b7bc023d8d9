/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file.c - replaces a file of another program atomically. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/install/install.h"

#define PATH_BYTES 4096u

cw_code cw_install_load(const char *path, cw_buf *out, bool *ret_exists, cw_err *err)
{
    struct stat st;
    *ret_exists = stat(path, &st) == 0;
    if (!*ret_exists && errno != ENOENT)
        return cw_fail_errno(err, errno, "'%s'", path);
    return *ret_exists ? cw_file_read(path, CW_FILE_PLAIN, out, err) : CW_OK;
}

cw_code cw_install_make_folders(const char *path, cw_err *err)
{
    char folder[PATH_BYTES];
    int n = snprintf(folder, sizeof folder, "%s", path);
    if (n < 0 || (size_t)n >= sizeof folder)
        return cw_fail(err, CW_LIMIT, "the path is too long");
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0700) != 0 && errno != EEXIST)
            return cw_fail_errno(err, errno, "'%s'", folder);
        *slash = '/';
    }
    return CW_OK;
}

static bool write_all(int fd, cw_str text)
{
    while (text.n) {
        ssize_t n = write(fd, text.p, text.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        text.p += n;
        text.n -= (size_t)n;
    }
    return fsync(fd) == 0;
}

/* As the file was; a new one may hold secrets later and is its owner's alone. */
static void take_over(int fd, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return;
    (void)!fchown(fd, st.st_uid, st.st_gid); /* root's business; others keep what they own */
    (void)!fchmod(fd, st.st_mode & 07777);
}

static cw_code replace(const char *path, cw_str text, cw_err *err)
{
    char half[PATH_BYTES];
    int n = snprintf(half, sizeof half, "%s.causeway-XXXXXX", path);
    if (n < 0 || (size_t)n >= sizeof half)
        return cw_fail(err, CW_LIMIT, "the path is too long");
    int fd = mkostemp(half, O_CLOEXEC);
    if (fd < 0)
        return cw_fail_errno(err, errno, "'%s'", half);
    take_over(fd, path);
    bool is_written = write_all(fd, text);
    is_written = close(fd) == 0 && is_written;
    if (is_written && rename(half, path) == 0)
        return CW_OK;
    cw_code rc = cw_fail_errno(err, errno, "'%s'", path);
    unlink(half);
    return rc;
}

cw_code cw_install_write(const char *path, cw_str text, cw_err *err)
{
    char *real = realpath(path, NULL);
    cw_code rc = replace(real ? real : path, text, err);
    free(real);
    return rc;
}
