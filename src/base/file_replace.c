/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file_replace.c - write a file beside the old one, sync it and rename it. */
#include "base/file_replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, cw_str bytes)
{
    while (bytes.n) {
        ssize_t n = write(fd, bytes.p, bytes.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        bytes.p += n;
        bytes.n -= (size_t)n;
    }
    return 0;
}

static int fill(int fd, cw_str bytes, mode_t mode, cw_file_replace_sync sync)
{
    int rc = write_all(fd, bytes);
    if (!rc && fchmod(fd, mode))
        rc = errno;
    if (!rc && sync == CW_FILE_REPLACE_SYNC && fsync(fd))
        rc = errno;
    if (close(fd) && !rc)
        rc = errno;
    return rc;
}

cw_code cw_file_replace(const char *path, cw_str bytes, mode_t mode, cw_file_replace_sync sync,
                        cw_err *err)
{
    size_t size = strlen(path) + sizeof ".XXXXXX";
    char *half = malloc(size);
    if (!half)
        return cw_fail_nomem(err);
    snprintf(half, size, "%s.XXXXXX", path);
    int fd = mkostemp(half, O_CLOEXEC);
    int rc = fd < 0 ? errno : fill(fd, bytes, mode, sync);
    if (!rc && rename(half, path))
        rc = errno;
    if (rc && fd >= 0)
        unlink(half);
    free(half);
    return rc ? cw_fail_errno(err, rc, "write '%s'", path) : CW_OK;
}
