/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_host_path.c - finds causeway-plugin-host. */
#include "server/files/plugin_host_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/files/own_path.h"
#include "server/paths.h"

#define PROGRAM "causeway-plugin-host"
#define PATH_BYTES 4096u

static cw_code look_up(char *out, size_t n, cw_err *err)
{
    static const char *const below[] = {"", "/src/host"};
    char folder[PATH_BYTES];
    cw_code rc = cw_own_path_directory(folder, sizeof folder, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < CW_COUNT(below); i++) {
        int length = snprintf(out, n, "%s%s/" PROGRAM, folder, below[i]);
        if (length > 0 && (size_t)length < n && access(out, X_OK) == 0)
            return CW_OK;
    }
    cw_own_path_installed(CW_HOST_BELOW, out, n);
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
        return cw_fail(err, CW_NOTFOUND, "%s: %s; set plugins.host to the path of " PROGRAM, path,
                       strerror(errno));
    *ret = strdup(path);
    return *ret ? CW_OK : cw_fail_nomem(err);
}
