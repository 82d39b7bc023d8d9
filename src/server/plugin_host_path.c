/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_host_path.c - finds causeway-plugin-host. */
#include "server/plugin_host_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/paths.h"

#define PROGRAM "causeway-plugin-host"
#define PATH_BYTES 4096u

cw_code cw_plugin_host_own_directory(char *out, size_t n, cw_err *err)
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

static cw_code look_up(char *out, size_t n, cw_err *err)
{
    static const char *const below[] = {"", "/src/host"};
    char folder[PATH_BYTES];
    cw_code rc = cw_plugin_host_own_directory(folder, sizeof folder, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < CW_COUNT(below); i++) {
        int length = snprintf(out, n, "%s%s/" PROGRAM, folder, below[i]);
        if (length > 0 && (size_t)length < n && access(out, X_OK) == 0)
            return CW_OK;
    }
    snprintf(out, n, "%s", CW_HOST_INSTALLED);
    return CW_OK;
}

cw_code cw_plugin_host_find(const cw_config *config, bool is_needed, char **ret, cw_err *err)
{
    char path[PATH_BYTES];
    if (config->plugins.host.n) {
        snprintf(path, sizeof path, "%s", config->plugins.host.p);
    } else {
        cw_code rc = look_up(path, sizeof path, err);
        if (rc)
            return rc;
    }
    if (is_needed && access(path, X_OK) != 0)
        return cw_fail(err, CW_NOTFOUND, "%s: %s; plugins.host says where " PROGRAM " is", path,
                       strerror(errno));
    *ret = strdup(path);
    return *ret ? CW_OK : cw_fail_nomem(err);
}
