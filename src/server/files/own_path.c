/* SPDX-License-Identifier: GPL-2.0-or-later */
/* own_path.c - finds the directory of this program, and the files that were installed with it. */
#include "server/files/own_path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/paths.h"

#define PATH_BYTES 4096u
#define BIN_SUFFIX "/" CW_BINDIR

cw_code cw_own_path_directory(char *out, size_t n, cw_err *err)
{
    ssize_t got = readlink("/proc/self/exe", out, n - 1);
    if (got < 0)
        return cw_fail_errno(err, errno, "/proc/self/exe");
    out[got] = '\0';
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
    return CW_OK;
}

/* The prefix of the installation that this program is a part of. False: it is not in a CW_BINDIR. */
static bool find_prefix(char *out, size_t n)
{
    const size_t suffix = sizeof BIN_SUFFIX - 1;
    if (cw_own_path_directory(out, n, NULL) != CW_OK)
        return false;
    size_t length = strlen(out);
    if (length < suffix || strcmp(out + length - suffix, BIN_SUFFIX) != 0)
        return false;
    out[length - suffix] = '\0';
    return true;
}

void cw_own_path_installed(const char *below, char *out, size_t n)
{
    char prefix[PATH_BYTES];
    if (below[0] == '/') { /* Meson was configured with an absolute directory. */
        snprintf(out, n, "%s", below);
        return;
    }
    if (find_prefix(prefix, sizeof prefix)) {
        int length = snprintf(out, n, "%s/%s", prefix, below);
        if (length > 0 && (size_t)length < n && access(out, F_OK) == 0)
            return;
    }
    snprintf(out, n, "%s/%s", CW_PREFIX, below);
}
