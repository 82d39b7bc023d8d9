/* SPDX-License-Identifier: GPL-2.0-or-later */
/* owner.c - continues as the user of the server. */
#include "cli/lib/owner.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096u

cw_code cw_cli_become_owner(const char *database, cw_err *err)
{
    char folder[PATH_BYTES];
    struct stat st;
    snprintf(folder, sizeof folder, "%s", database);
    char *slash = strrchr(folder, '/');
    if (geteuid() != 0 || !slash)
        return CW_OK;
    slash[slash == folder] = '\0';
    if (stat(folder, &st))
        return cw_fail_errno(err, errno, "directory '%s'", folder);
    if (st.st_uid == 0)
        return CW_OK;
    umask(077);
    if (setgroups(0, NULL) || setegid(st.st_gid) || seteuid(st.st_uid))
        return cw_fail_errno(err, errno, "continue as the owner of '%s'", folder);
    return CW_OK;
}
