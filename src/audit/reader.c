/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reader.c - the lines of an audit, file by file. */
#include "audit/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE 65536u
/* Rotating takes a few renames. */
#define MOVE_TRIES 10
#define MOVE_US 5000u

void cw_audit_reader_init(cw_audit_reader *r, const char *path, unsigned files)
{
    *r = (cw_audit_reader){.path = path, .files = files, .fd = -1};
    cw_buf_init(&r->text, CW_AUDIT_LINE_MAX + PIECE);
}

bool cw_audit_is_readable(const char *path)
{
    for (int i = 0; i < MOVE_TRIES; i++) {
        if (access(path, R_OK) == 0)
            return true;
        if (errno != ENOENT)
            return false;
        usleep(MOVE_US);
    }
    char rotated[PATH_MAX + 16];
    snprintf(rotated, sizeof rotated, "%s.1", path);
    return access(rotated, R_OK) == 0;
}

void cw_audit_reader_done(cw_audit_reader *r)
{
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
    cw_buf_done(&r->text);
}

static void name_of(const cw_audit_reader *r, unsigned index, char out[PATH_MAX + 16])
{
    if (index)
        snprintf(out, PATH_MAX + 16, "%s.%u", r->path, index);
    else
        snprintf(out, PATH_MAX + 16, "%s", r->path);
}

/* Find the current position of the open file in the chain; false: it was removed. */
static bool find_place(const cw_audit_reader *r, unsigned *ret)
{
    char name[PATH_MAX + 16];
    struct stat st;
    for (unsigned i = 0; i <= r->files; i++) {
        name_of(r, i, name);
        if (stat(name, &st) == 0 && st.st_dev == r->dev && st.st_ino == r->ino) {
            *ret = i;
            return true;
        }
    }
    return false;
}

/* The file with this number, or -1. */
static int open_index(const cw_audit_reader *r, unsigned index)
{
    char name[PATH_MAX + 16];
    name_of(r, index, name);
    return open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* Go on with this file. False: there is none. */
static bool adopt(cw_audit_reader *r, int fd)
{
    struct stat st;
    if (fd < 0)
        return false;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        close(fd);
        return false;
    }
    if (r->fd >= 0)
        close(r->fd);
    r->fd = fd;
    r->dev = st.st_dev;
    r->ino = st.st_ino;
    /* An unfinished line of the previous file does not continue in this one. */
    if (r->text.n > r->at)
        r->n_damaged++;
    r->is_skipping = false;
    cw_buf_clear(&r->text);
    r->at = 0;
    return true;
}

static bool adopt_oldest(cw_audit_reader *r)
{
    for (unsigned i = r->files + 1; i-- > 0;) {
        if (adopt(r, open_index(r, i)))
            return true;
    }
    return false;
}

/* The next younger one. While it is looked for, all may move on: the open one must have kept its
 * place. */
static bool adopt_younger(cw_audit_reader *r, unsigned place)
{
    unsigned now;
    int fd = open_index(r, place - 1);
    if (fd >= 0 && find_place(r, &now) && now == place)
        return adopt(r, fd);
    if (fd >= 0)
        close(fd);
    return false;
}

/* Read on in the open file. CW_DONE at its end. */
static cw_code read_more(cw_audit_reader *r, cw_err *err)
{
    if (r->at) {
        cw_buf_consume(&r->text, r->at);
        r->at = 0;
    }
    if (r->text.n > CW_AUDIT_LINE_MAX) {
        r->n_damaged += !r->is_skipping;
        r->is_skipping = true;
        cw_buf_clear(&r->text);
    }
    char *to = cw_buf_reserve(&r->text, PIECE);
    if (!to)
        return cw_fail_nomem(err);
    ssize_t got = read(r->fd, to, PIECE);
    if (got < 0)
        return cw_fail_errno(err, errno, "read '%s'", r->path);
    cw_buf_commit(&r->text, (size_t)got);
    return got ? CW_OK : CW_DONE;
}

/* A whole line of what has been read, if there is one. */
static bool cut_line(cw_audit_reader *r, cw_str *ret)
{
    while (r->at < r->text.n) {
        const char *from = r->text.p + r->at;
        const char *end = memchr(from, '\n', r->text.n - r->at);
        if (!end)
            return false;
        r->at += (size_t)(end - from) + 1;
        bool was_skipping = r->is_skipping;
        r->is_skipping = false;
        *ret = cw_str_make(from, (size_t)(end - from));
        if (!was_skipping)
            return true;
    }
    return false;
}

/* The same, after a running rotation has ended. */
static bool find_settled(const cw_audit_reader *r, unsigned *ret)
{
    for (int i = 0; i < MOVE_TRIES; i++) {
        if (find_place(r, ret))
            return true;
        usleep(MOVE_US);
    }
    return false;
}

/* The end of a file: go on with the next one. CW_DONE: there is none, for now. */
static cw_code go_on(cw_audit_reader *r, cw_err *err)
{
    unsigned place;
    if (r->fd < 0)
        return adopt_oldest(r) ? CW_OK : CW_DONE;
    bool is_there = find_settled(r, &place);
    if (is_there && place == 0)
        return CW_DONE;
    /* Between its end and its renaming more may have been added. */
    cw_code rc = read_more(r, err);
    if (rc != CW_DONE)
        return rc;
    for (int i = 0; is_there && i < MOVE_TRIES; i++) {
        if (adopt_younger(r, place))
            return CW_OK;
        usleep(MOVE_US);
        is_there = find_settled(r, &place);
    }
    if (is_there)
        return CW_DONE;
    return adopt_oldest(r) ? CW_OK : CW_DONE;
}

cw_code cw_audit_reader_next(cw_audit_reader *r, cw_str *ret, cw_err *err)
{
    for (;;) {
        if (cut_line(r, ret))
            return CW_OK;
        cw_code rc = r->fd < 0 ? CW_DONE : read_more(r, err);
        if (rc == CW_DONE)
            rc = go_on(r, err);
        if (rc)
            return rc;
    }
}

cw_str cw_audit_reader_rest(const cw_audit_reader *r)
{
    return cw_str_make(r->text.p + r->at, r->text.n - r->at);
}
