/* SPDX-License-Identifier: GPL-2.0-or-later */
/* required_permissions.c - collects the permissions that plugins and overlays require. */
#include "cli/account/required_permissions.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/plugin/plugin.h"
#include "server/plugin_host_path.h"

#define PATH_BYTES 4096u

static cw_code add_list(cw_name_list *all, const cw_str *list, size_t n)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < n && !rc; i++)
        rc = cw_name_list_add(all, list[i]);
    return rc;
}

/* One that cannot be loaded asks for nothing. */
static cw_code add_plugin(const cw_config *config, const char *host, const char *file,
                          cw_name_list *all)
{
    char path[PATH_BYTES];
    cw_plugin_report report;
    cw_err err = {0};
    int length = snprintf(path, sizeof path, "%s/%s", config->plugins.directory.p, file);
    if (length < 0 || (size_t)length >= sizeof path)
        return CW_OK;
    cw_code rc = cw_plugin_inspect(config, host, path, &report, &err);
    for (size_t i = 0; !rc && !report.problems.n && i < report.n_methods; i++) {
        const cw_requirements *needs = &report.methods[i].needs;
        rc = add_list(all, needs->permissions, needs->n_permissions);
    }
    cw_plugin_report_done(&report);
    return rc == CW_NOMEM ? rc : CW_OK;
}

static cw_code add_plugins(const cw_config *config, cw_name_list *all)
{
    cw_err err = {0};
    char *host = NULL;
    DIR *folder = config->plugins.directory.n ? opendir(config->plugins.directory.p) : NULL;
    if (!folder)
        return CW_OK;
    cw_code rc = cw_plugin_host_find(config, /* is_needed= */ true, &host, &err);
    bool has_host = !rc;
    rc = rc == CW_NOMEM ? rc : CW_OK;
    for (const struct dirent *e = readdir(folder); e && has_host && !rc; e = readdir(folder)) {
        if (e->d_name[0] != '.' && cw_str_ends(cw_str_from(e->d_name), CW_STR(CW_PLUGIN_SUFFIX)))
            rc = add_plugin(config, host, e->d_name, all);
    }
    closedir(folder);
    free(host);
    return rc;
}

cw_code cw_required_permissions(const cw_config *config, cw_name_list *all)
{
    cw_code rc = cw_role_permissions_of_sources(config, all);
    return rc ? rc : add_plugins(config, all);
}
