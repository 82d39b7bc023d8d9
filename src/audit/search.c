/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search.c - reads files backwards, line by line. */
#include "audit/search.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/reader.h"
#include "base/arena.h"

#define PIECE ((size_t)256 << 10)
#define ARENA_MAX ((size_t)20 * CW_AUDIT_LINE_MAX)
#define FILES_MAX 1024u

/* One file, read from its end. `text` holds what is read and not yet searched. */
typedef struct backwards {
    cw_audit_search *search;
    cw_arena arena;
    uint64_t until; /* of the monotonic clock, in ms */
    int fd;
    off_t at;   /* everything from here on was read */
    char *text; /* of PIECE + CW_AUDIT_LINE_MAX bytes */
    size_t n;
    bool is_skipping; /* the end of `text` belongs to a line that is too long */
    bool has_begun;   /* the place to begin at was found */
} backwards;

/* Records of several threads are not quite in the order of their times. */
static void set_oldest(cw_audit_search *s, const cw_json *record)
{
    const cw_json *time = cw_json_get(record, CW_STR("time"));
    if (!cw_json_is(time, CW_JSON_STRING) || cw_json_text(time).n >= sizeof s->oldest)
        return;
    char text[sizeof s->oldest];
    snprintf(text, sizeof text, "%.*s", CW_STR_ARG(cw_json_text(time)));
    if (!s->oldest[0] || strcmp(text, s->oldest) < 0)
        memcpy(s->oldest, text, sizeof text);
}

static cw_code take_line(backwards *b, cw_str line, cw_err *err)
{
    cw_audit_search *s = b->search;
    const cw_json *record;
    cw_arena_reset(&b->arena);
    if (!line.n)
        return CW_OK;
    cw_code rc = line.n > CW_AUDIT_LINE_MAX
                     ? CW_LIMIT
                     : cw_json_read(line, NULL, &b->arena, &record, NULL, NULL);
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    if (rc || !cw_json_is(record, CW_JSON_OBJECT)) {
        s->n_damaged++;
        return CW_OK;
    }
    rc = cw_audit_filter_matches(&s->filter, record) ? s->fn(record, s->ctx, err) : CW_OK;
    if (!rc)
        set_oldest(s, record);
    return rc;
}

/* Search the lines whose begin has been read, the last one first. */
static cw_code take_lines(backwards *b, cw_err *err)
{
    cw_code rc = CW_OK;
    while (!rc && b->n) {
        const char *end = memrchr(b->text, '\n', b->n);
        if (!end && b->at > 0)
            break;
        size_t from = end ? (size_t)(end - b->text) + 1 : 0;
        if (b->is_skipping)
            b->is_skipping = false;
        else
            rc = take_line(b, cw_str_make(b->text + from, b->n - from), err);
        if (!rc)
            b->n = end ? (size_t)(end - b->text) : 0;
    }
    return rc;
}

/* Put the piece before what has been read in front of it. */
static cw_code read_piece(backwards *b, cw_err *err)
{
    if (b->n > CW_AUDIT_LINE_MAX) {
        b->search->n_damaged += !b->is_skipping;
        b->is_skipping = true;
    }
    if (b->is_skipping)
        b->n = 0;
    size_t n = b->at > (off_t)PIECE ? PIECE : (size_t)b->at;
    memmove(b->text + n, b->text, b->n);
    ssize_t got = pread(b->fd, b->text, n, b->at - (off_t)n);
    if (got < 0 || (size_t)got != n)
        return cw_fail_errno(err, got < 0 ? errno : EIO, "read '%s'", b->search->path);
    b->at -= (off_t)n;
    b->n += n;
    return CW_OK;
}

static cw_code search_file(backwards *b, off_t size, cw_err *err)
{
    cw_code rc = CW_OK;
    b->at = size;
    b->n = 0;
    b->is_skipping = false;
    while (!rc && b->at > 0) {
        if (cw_clock_ms() >= b->until) {
            b->search->is_late = true;
            return CW_OK;
        }
        rc = read_piece(b, err);
        if (!rc)
            rc = take_lines(b, err);
    }
    return rc;
}

/* ---- the files ---- */

typedef struct file_id {
    dev_t dev;
    ino_t ino;
} file_id;

static int open_file(const cw_audit_search *s, unsigned index, struct stat *st)
{
    char name[PATH_MAX + 16];
    if (index)
        snprintf(name, sizeof name, "%s.%u", s->path, index);
    else
        snprintf(name, sizeof name, "%s", s->path);
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, st) || !S_ISREG(st->st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

static bool is_known(const file_id *ids, size_t n, const struct stat *st)
{
    for (size_t i = 0; i < n; i++) {
        if (ids[i].dev == st->st_dev && ids[i].ino == st->st_ino)
            return true;
    }
    return false;
}

/* A record is never newer than the last change of its file. */
static bool is_too_old(const cw_audit_filter *f, const struct stat *st)
{
    char changed[CW_CLOCK_ISO_LEN + 1];
    cw_clock_format_iso(((int64_t)st->st_mtime + 1) * 1000, changed);
    return strcmp(changed, f->since) < 0;
}

/* The end of what is searched in a file; 0: the search begins in an older one. */
static off_t end_of(backwards *b, unsigned index, const struct stat *st)
{
    const cw_audit_place *from = &b->search->from;
    if (b->has_begun)
        return st->st_size;
    if (st->st_ino != from->inode || index < from->file || from->offset > (uint64_t)st->st_size)
        return 0;
    b->has_begun = true;
    return (off_t)from->offset;
}

static cw_code search_files(backwards *b, file_id *ids, cw_err *err)
{
    cw_audit_search *s = b->search;
    unsigned files = s->files < FILES_MAX ? s->files : FILES_MAX;
    size_t n = 0;
    cw_code rc =
        cw_audit_is_readable(s->path) ? CW_OK : cw_fail_errno(err, errno, "open '%s'", s->path);
    for (unsigned i = 0; i <= files && !rc && !s->is_late; i++) {
        struct stat st;
        b->fd = open_file(s, i, &st);
        if (b->fd < 0)
            continue;
        if (!is_known(ids, n, &st) && !is_too_old(&s->filter, &st))
            rc = search_file(b, end_of(b, i, &st), err);
        if (rc == CW_DONE || s->is_late)
            s->end = (cw_audit_place){st.st_ino, i, (uint64_t)b->at + b->n};
        ids[n++] = (file_id){st.st_dev, st.st_ino};
        close(b->fd);
    }
    return rc;
}

cw_code cw_audit_search_run(cw_audit_search *s, cw_err *err)
{
    backwards b = {
        .search = s, .until = cw_clock_ms() + CW_AUDIT_SEARCH_MS, .has_begun = !s->from.inode};
    s->is_late = false;
    s->end = (cw_audit_place){0};
    s->oldest[0] = '\0';
    s->n_damaged = 0;
    b.text = malloc(2 * PIECE + CW_AUDIT_LINE_MAX);
    file_id *ids = calloc(FILES_MAX + 1, sizeof *ids);
    cw_arena_init(&b.arena, ARENA_MAX);
    cw_code rc = b.text && ids ? search_files(&b, ids, err) : cw_fail_nomem(err);
    cw_arena_done(&b.arena);
    free(b.text);
    free(ids);
    return rc;
}
