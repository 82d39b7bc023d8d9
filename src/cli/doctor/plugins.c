/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugins.c - doctor: plugin files, loaded by the plugin host as a server does. */
#include <dirent.h>
#include <stdlib.h>

#include "cli/doctor/doctor.h"
#include "cli/plugin/plugin.h"
#include "server/files/plugin_host_path.h"

static void add_problems(cw_doctor *d, const char *path, cw_str problems)
{
    for (cw_str rest = problems; rest.p && rest.n;) {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        cw_doctor_add(d, CW_DOCTOR_ERROR, path,
                      cw_doctor_text(d,
                                     "build the plugin again for this version, or remove the file; "
                                     "\"causeway plugin check %s\" shows details",
                                     path),
                      "the plugin cannot be loaded: %.*s", CW_STR_ARG(line));
    }
}

static void check_plugin(cw_doctor *d, const char *host, const char *path)
{
    cw_plugin_report report;
    cw_err err = {0};
    const char *remedy;
    if (cw_doctor_is_shared(d, path, &remedy))
        cw_doctor_add(d, CW_DOCTOR_ERROR, path, remedy, "other users can write to this plugin");
    cw_code rc = cw_plugin_inspect(d->config, host, path, &report, &err);
    add_problems(d, path, rc ? cw_str_from(err.msg) : report.problems);
    cw_plugin_report_done(&report);
}

/* A missing directory or host is a finding of the check of files. */
void cw_doctor_check_plugins(cw_doctor *d)
{
    char *host = NULL;
    struct dirent **found = NULL;
    const char *directory = d->config->plugins.directory.p;
    if (!d->config->plugins.directory.n || cw_plugin_host_find(d->config, true, &host, NULL))
        return;
    int n = scandir(directory, &found, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (cw_str_ends(cw_str_from(found[i]->d_name), CW_STR(CW_PLUGIN_SUFFIX)))
            check_plugin(d, host, cw_doctor_text(d, "%s/%s", directory, found[i]->d_name));
        free(found[i]);
    }
    free(found);
    free(host);
}
