/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file.c - a file of lines that several processes add to.
 *
 * Each append holds a lock of the file, so that an incomplete write can be undone and no other
 * process rotates in between. After locking, the path must still lead to the open file: another
 * process may have rotated it meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/file.h"
#include "audit/timestamp.h"
#include "base/clock.h"
#include "base/log.h"

#define LOCK_TRIES 50 /* 10 ms apart: a lock is held for one write */
#define MOVES_MAX 3   /* how often a path may change under us */

#define FIRST_TIME (sizeof "{\"time\":\"" - 1)

/* When the first record was written; `now` for an empty file. */
static int64_t read_begun(int fd, int64_t now)
{
    char head[FIRST_TIME + CW_CLOCK_ISO_LEN];
    int64_t when;
    if (pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
        cw_audit_parse_time(cw_str_make(head + FIRST_TIME, CW_CLOCK_ISO_LEN), &when))
        return when;
    return now;
}

static void close_fd(cw_audit_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

static cw_code open_path(cw_audit_file *f, cw_err *err)
{
    struct stat st;
    /* The old file is not synced later, and its last lines may be of this batch. */
    cw_code rc = cw_audit_file_sync(f, err);
    close_fd(f);
    if (rc)
        return rc;
    /* A pipe without a reader must not keep us waiting. */
    int fd = open(f->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0)
        return cw_fail_errno(err, errno, "audit: cannot open '%s'", f->path);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        close(fd);
        return cw_fail(err, CW_IO, "audit: '%s' is not a plain file", f->path);
    }
    f->fd = fd;
    f->dev = st.st_dev;
    f->ino = st.st_ino;
    f->begun = read_begun(fd, cw_clock_wall_ms());
    f->has_complained = false;
    return CW_OK;
}

static bool is_current(const cw_audit_file *f)
{
    struct stat st;
    return f->fd >= 0 && stat(f->path, &st) == 0 && st.st_dev == f->dev && st.st_ino == f->ino;
}

static bool lock(int fd)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        usleep(10000);
    }
    return false;
}

/* Have the file that the path leads to open and locked. */
static cw_code settle(cw_audit_file *f, bool *ret_locked, cw_err *err)
{
    for (int i = 0; i < MOVES_MAX; i++) {
        if (!is_current(f)) {
            cw_code rc = open_path(f, err);
            if (rc)
                return rc;
        }
        *ret_locked = lock(f->fd);
        if (is_current(f))
            return CW_OK;
    }
    return cw_fail(err, CW_IO, "audit: '%s' is moved again and again", f->path);
}

#define NAME_SIZE 4200u

static bool name_of(const cw_audit_file *f, unsigned number, char out[NAME_SIZE])
{
    int n = snprintf(out, NAME_SIZE, "%s.%u", f->path, number);
    return n > 0 && (size_t)n < NAME_SIZE;
}

/* Once for each time it was opened: with every record it is tried again. */
static void complain(cw_audit_file *f, int errnum)
{
    if (!f->has_complained)
        cw_log(CW_LOG_WARN, "audit", "files cannot be rotated", CW_KV("path", cw_str_from(f->path)),
               CW_KV("problem", cw_str_from(strerror(errnum))));
    f->has_complained = true;
}

/* PATH.0 becomes PATH.1, and so on; the name of the last one is given to another, which ends it.
 * Stops where one cannot be moved, so that no other takes its name. Returns an errno, or 0. */
static int shift(const cw_audit_file *f)
{
    char old[NAME_SIZE], new[NAME_SIZE];
    for (unsigned i = f->files; i-- > 0;) {
        if (!name_of(f, i, old) || !name_of(f, i + 1, new))
            return ENAMETOOLONG;
        /* One that is not there has never been made. */
        if (rename(old, new) && errno != ENOENT)
            return errno;
    }
    return 0;
}

/* Under the lock of the old file. Before any older one is touched, this one must have moved: where
 * it cannot, it grows on. */
static cw_code rotate(cw_audit_file *f, cw_err *err)
{
    char aside[NAME_SIZE];
    int problem = name_of(f, 0, aside) ? 0 : ENAMETOOLONG;
    /* A process has ended, or failed, between the two steps. */
    if (!problem && access(aside, F_OK) == 0)
        problem = shift(f);
    if (!problem && rename(f->path, aside))
        problem = errno;
    if (problem) {
        complain(f, problem);
        return CW_OK;
    }
    problem = shift(f);
    if (problem)
        complain(f, problem);
    return open_path(f, err);
}

static bool is_due(const cw_audit_file *f, uint64_t size, size_t n, int64_t now)
{
    if (size == 0 || f->files == 0)
        return false;
    return (f->rotate_bytes && size + n > f->rotate_bytes) ||
           (f->rotate_ms && now - f->begun >= (int64_t)f->rotate_ms);
}

/* A line that a dead process left unfinished must not swallow ours. */
static bool ends_within_line(int fd, uint64_t size)
{
    char last = '\n';
    return size > 0 && pread(fd, &last, 1, (off_t)size - 1) == 1 && last != '\n';
}

static cw_code write_all(const cw_audit_file *f, cw_str lines, cw_err *err)
{
    size_t done = 0;
    while (done < lines.n) {
        ssize_t got = write(f->fd, lines.p + done, lines.n - done);
        if (got > 0)
            done += (size_t)got;
        else if (got == 0 || errno != EINTR)
            return cw_fail_errno(err, got == 0 ? ENOSPC : errno, "audit: cannot write '%s'",
                                 f->path);
    }
    return CW_OK;
}

static cw_code append_locked(cw_audit_file *f, cw_str lines, int64_t now, bool is_locked,
                             cw_err *err)
{
    struct stat st;
    if (fstat(f->fd, &st))
        return cw_fail_errno(err, errno, "audit: '%s'", f->path);
    if (is_locked && is_due(f, (uint64_t)st.st_size, lines.n, now)) {
        cw_code rc = rotate(f, err);
        if (rc)
            return rc;
        is_locked = lock(f->fd) && is_locked;
        if (fstat(f->fd, &st))
            return cw_fail_errno(err, errno, "audit: '%s'", f->path);
    }
    cw_code rc = CW_OK;
    if (ends_within_line(f->fd, (uint64_t)st.st_size))
        rc = write_all(f, CW_STR("\n"), err);
    if (!rc)
        rc = write_all(f, lines, err);
    /* Undo an incomplete write, so that the next attempt does not write lines twice. */
    if (rc && is_locked)
        (void)!ftruncate(f->fd, st.st_size);
    flock(f->fd, LOCK_UN);
    return rc;
}

cw_code cw_audit_file_open(cw_audit_file *f, const cw_audit_opts *opts, cw_err *err)
{
    *f = (cw_audit_file){.fd = -1,
                         .rotate_bytes = opts->rotate_bytes,
                         .rotate_ms = opts->rotate_ms,
                         .files = opts->files};
    if (!opts->path || !opts->path[0])
        return CW_OK;
    f->path = strdup(opts->path);
    return f->path ? open_path(f, err) : cw_fail_nomem(err);
}

void cw_audit_file_close(cw_audit_file *f)
{
    close_fd(f);
    free(f->path);
    f->path = NULL;
}

cw_code cw_audit_file_append(cw_audit_file *f, cw_str lines, int64_t now, cw_err *err)
{
    bool is_locked = false;
    cw_code rc = settle(f, &is_locked, err);
    return rc ? rc : append_locked(f, lines, now, is_locked, err);
}

cw_code cw_audit_file_sync(cw_audit_file *f, cw_err *err)
{
    if (f->fd < 0 || fdatasync(f->fd) == 0)
        return CW_OK;
    return cw_fail_errno(err, errno, "audit: cannot write '%s'", f->path);
}
