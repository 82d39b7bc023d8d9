/* SPDX-License-Identifier: GPL-2.0-or-later */
/* local_socket.c - path and safety of the socket for commands. */
#include "server/files/local_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/files/state_file.h"

static cw_code choose(const cw_config *config, const char *config_path, char *out, cw_err *err)
{
    cw_err why = {0};
    int n = 0;
    if (config->admin.socket.n)
        n = snprintf(out, CW_LOCAL_SOCKET_PATH, "%s", config->admin.socket.p);
    else if (config->store.path.n)
        n = snprintf(out, CW_LOCAL_SOCKET_PATH, "%s.sock", config->store.path.p);
    else if (cw_state_file_name(NULL, config_path, "admin", out, &why))
        return cw_fail(err, CW_IO, "%s; set admin.socket", why.msg);
    return n < 0 || (size_t)n >= CW_LOCAL_SOCKET_PATH
               ? cw_fail(err, CW_PARAMS, "the path of the administration socket is too long")
               : CW_OK;
}

cw_code cw_local_socket_path(const cw_config *config, const char *config_path,
                             char out[CW_LOCAL_SOCKET_PATH], cw_err *err)
{
    cw_code rc = choose(config, config_path, out, err);
    size_t max = sizeof((struct sockaddr_un *)0)->sun_path - 1;
    if (!rc && strlen(out) > max)
        return cw_fail(
            err, CW_PARAMS,
            "'%.100s...': a path of a socket has at most %zu bytes, this one has %zu; set "
            "admin.socket to a shorter one",
            out, max, strlen(out));
    return rc;
}

static void folder_of(const char *path, char out[CW_LOCAL_SOCKET_PATH])
{
    snprintf(out, CW_LOCAL_SOCKET_PATH, "%s", path);
    char *slash = strrchr(out, '/');
    if (!slash)
        snprintf(out, CW_LOCAL_SOCKET_PATH, ".");
    else
        slash[slash == out ? 1 : 0] = '\0';
}

void cw_local_socket_make_folder(const cw_config *config)
{
    char folder[CW_STATE_FILE_PATH];
    if (!config->admin.socket.n && !config->store.path.n)
        (void)cw_state_file_directory(folder, sizeof folder);
}

cw_code cw_local_socket_check_folder(const char *path, cw_err *err)
{
    char folder[CW_LOCAL_SOCKET_PATH];
    struct stat st;
    folder_of(path, folder);
    if (stat(folder, &st))
        return cw_fail_errno(err, errno, "'%s'", folder);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return cw_fail(err, CW_PARAMS,
                       "'%s' belongs to another user, who could replace the administration socket; "
                       "set admin.socket to a path in a folder of this user",
                       folder);
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return cw_fail(err, CW_PARAMS,
                       "others may write to '%s', so they could replace the administration socket; "
                       "use chmod go-w, or set admin.socket to a path in another folder",
                       folder);
    return CW_OK;
}

/* Root may use the socket of any user, if no one else could have put it there. */
static bool may_root_trust(const char *path, uid_t owner)
{
    char folder[CW_LOCAL_SOCKET_PATH];
    struct stat st;
    folder_of(path, folder);
    return geteuid() == 0 && stat(folder, &st) == 0 && st.st_uid == owner &&
           !(st.st_mode & (S_IWGRP | S_IWOTH));
}

cw_code cw_local_socket_check_file(const char *path, cw_err *err)
{
    struct stat st;
    if (lstat(path, &st))
        return errno == ENOENT || errno == ENOTDIR
                   ? cw_fail(err, CW_NOTFOUND, "'%s': no server", path)
                   : cw_fail_errno(err, errno, "'%s'", path);
    if (!S_ISSOCK(st.st_mode))
        return cw_fail(err, CW_PARAMS, "'%s' is not a socket", path);
    if (st.st_uid != geteuid() && st.st_uid != 0 && !may_root_trust(path, st.st_uid))
        return cw_fail(err, CW_PARAMS, "'%s' belongs to another user (uid %u)", path,
                       (unsigned)st.st_uid);
    return CW_OK;
}
