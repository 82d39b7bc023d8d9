/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state_file.c - where the state of a server is, and who may read it. */
#include "server/files/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/seal.h"
#include "base/buf.h"
#include "base/hex.h"

#define NAME_BYTES 8u /* of the digest */

/* Make a directory and those around it. */
static bool make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700); /* the last one tells */
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static bool name_directory(char *out, size_t n)
{
    const char *given = getenv("STATE_DIRECTORY"), *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int length = -1;
    if (given && given[0] == '/')
        length = snprintf(out, n, "%.*s/causeway", (int)strcspn(given, ":"), given);
    else if (state && state[0] == '/')
        length = snprintf(out, n, "%s/causeway", state);
    else if (home && home[0] == '/')
        length = snprintf(out, n, "%s/.local/state/causeway", home);
    return length > 0 && (size_t)length < n;
}

bool cw_state_file_directory(char *out, size_t n)
{
    return name_directory(out, n) && make_directories(out);
}

/* The path of the configuration, then the listen addresses, a NUL behind each. */
static cw_code digest(const cw_config *config, const char *config_path,
                      unsigned char out[CW_SEAL_DIGEST], cw_err *err)
{
    cw_buf b;
    char *whole = config_path ? realpath(config_path, NULL) : NULL;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_buf_add(&b, cw_str_from(whole ? whole : (config_path ? config_path : "")));
    cw_buf_add_char(&b, 0);
    for (size_t i = 0; config && i < config->listen.n; i++) {
        cw_buf_add(&b, config->listen.items[i].address.text);
        cw_buf_add_char(&b, 0);
    }
    cw_code rc = b.code;
    if (!rc)
        cw_seal_digest(cw_buf_str(&b), out);
    cw_buf_done(&b);
    free(whole);
    return rc ? cw_fail_nomem(err) : CW_OK;
}

static cw_code fail_directory(cw_err *err)
{
    return cw_fail(err, CW_IO,
                   "no state directory: set STATE_DIRECTORY, XDG_STATE_HOME or HOME to a directory "
                   "that can be written to");
}

cw_code cw_state_file_name(const cw_config *config, const char *config_path, const char *kind,
                           char out[CW_STATE_FILE_PATH], cw_err *err)
{
    unsigned char bytes[CW_SEAL_DIGEST];
    char directory[CW_STATE_FILE_PATH], name[2 * NAME_BYTES + 1];
    cw_code rc = digest(config, config_path, bytes, err);
    if (rc)
        return rc;
    if (!name_directory(directory, sizeof directory))
        return fail_directory(err);
    cw_hex_write(name, bytes, NAME_BYTES);
    int n = snprintf(out, CW_STATE_FILE_PATH, "%s/%s-%s", directory, kind, name);
    if (n < 0 || (size_t)n >= CW_STATE_FILE_PATH)
        return cw_fail(err, CW_IO, "the path of the state directory is too long");
    return CW_OK;
}

cw_code cw_state_file_path(const cw_config *config, const char *config_path, const char *kind,
                           char out[CW_STATE_FILE_PATH], cw_err *err)
{
    char directory[CW_STATE_FILE_PATH];
    if (!cw_state_file_directory(directory, sizeof directory))
        return fail_directory(err);
    return cw_state_file_name(config, config_path, kind, out, err);
}

static const char *problem_of(const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return "is not a plain file";
    if (st->st_uid != geteuid())
        return "belongs to another user";
    return st->st_mode & 077 ? "can be read or written by others" : NULL;
}

cw_code cw_state_file_open(const char *path, int *ret_fd, cw_err *err)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return CW_NOTFOUND;
    if (fd < 0 && errno == ELOOP)
        return cw_fail(err, CW_PARAMS, "'%s' is a link", path);
    if (fd < 0)
        return cw_fail(err, CW_IO, "cannot open '%s': %s", path, strerror(errno));
    const char *problem = fstat(fd, &st) ? strerror(errno) : problem_of(&st);
    if (!problem) {
        *ret_fd = fd;
        return CW_OK;
    }
    close(fd);
    return cw_fail(err, CW_PARAMS, "'%s' %s", path, problem);
}

static bool write_all(int fd, cw_str bytes)
{
    return write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n && fsync(fd) == 0;
}

cw_code cw_state_file_make(const char *path, cw_str bytes, cw_err *err)
{
    char draft[CW_STATE_FILE_PATH + 8];
    snprintf(draft, sizeof draft, "%s.XXXXXX", path);
    int fd = mkostemp(draft, O_CLOEXEC); /* 0600 */
    if (fd < 0)
        return cw_fail(err, CW_IO, "cannot make '%s': %s", path, strerror(errno));
    /* Unlike rename, link does not replace the file of another process. */
    bool is_made = write_all(fd, bytes) && (link(draft, path) == 0 || errno == EEXIST);
    int why = errno;
    close(fd);
    unlink(draft);
    return is_made ? CW_OK : cw_fail(err, CW_IO, "cannot make '%s': %s", path, strerror(why));
}
