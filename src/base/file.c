/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file.c - read a whole file up to a limit. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES 16384u

/* -1 with errno, else the number of bytes; 0 at the end. */
static ssize_t read_some(int fd, void *p, size_t n)
{
    ssize_t got;
    do
        got = read(fd, p, n);
    while (got < 0 && errno == EINTR);
    return got;
}

/* How much to read next: what there is memory for, else a part; 0: nothing more may be taken. */
static size_t room_of(const cw_buf *b)
{
    size_t room = b->max - b->n;
    size_t most = b->cap > b->n + 1 ? b->cap - b->n - 1 : READ_BYTES;
    return room < most ? room : most;
}

cw_code cw_file_read_fd(int fd, const char *name, cw_buf *out, cw_err *err)
{
    for (;;) {
        size_t room = room_of(out);
        /* A full buffer: one byte more shows whether that was all. */
        char beyond;
        char *p = room ? cw_buf_reserve(out, room) : &beyond;
        if (!p)
            return cw_fail_nomem(err);
        ssize_t n = read_some(fd, p, room ? room : 1);
        if (n < 0)
            return cw_fail_errno(err, errno, "cannot read '%s'", name);
        if (n == 0)
            return CW_OK;
        if (room == 0)
            return cw_fail(err, CW_LIMIT, "'%s' is larger than %zu bytes", name, out->max);
        cw_buf_commit(out, (size_t)n);
    }
}

/* Whether it is what was asked for; and memory for all of it at once, where its size is known. */
static cw_code look_at(int fd, const char *path, cw_file_kind kind, cw_buf *out, cw_err *err)
{
    struct stat st;
    if (fstat(fd, &st))
        return cw_fail_errno(err, errno, "cannot read '%s'", path);
    bool is_plain = S_ISREG(st.st_mode);
    if (kind == CW_FILE_PLAIN && !is_plain)
        return cw_fail(err, CW_IO, "'%s' is not a file", path);
    if (!is_plain || st.st_size <= 0)
        return CW_OK;
    /* One byte more, in which the end of the file shows. */
    size_t room = out->max - out->n;
    size_t size = (uintmax_t)st.st_size < room ? (size_t)st.st_size + 1 : room;
    return cw_buf_reserve(out, size) ? CW_OK : cw_fail_nomem(err);
}

cw_code cw_file_read(const char *path, cw_file_kind kind, cw_buf *out, cw_err *err)
{
    /* Opening a named pipe waits for its writer unless told not to. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | (kind == CW_FILE_PLAIN ? O_NONBLOCK : 0));
    if (fd < 0)
        return cw_fail_errno(err, errno, "cannot open '%s'", path);
    cw_code rc = look_at(fd, path, kind, out, err);
    if (!rc)
        rc = cw_file_read_fd(fd, path, out, err);
    close(fd);
    return rc;
}
