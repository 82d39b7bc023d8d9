/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_file.c - a plugin file in place of a configuration. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/lib/cli.h"
#include "json/write.h"

int cw_cli_check_plugin(const char *plugin)
{
    if (cw_str_ends(cw_str_from(plugin), CW_STR(".so")))
        return -1;
    return cw_cli_usage("a plugin is a file that ends in .so: '%s'", plugin);
}

const char *cw_cli_plugin_file(const char *plugin)
{
    const char *slash = strrchr(plugin, '/');
    return slash ? slash + 1 : plugin;
}

cw_code cw_cli_plugin_config(const char *plugin, cw_buf *out, cw_err *err)
{
    size_t n = (size_t)(cw_cli_plugin_file(plugin) - plugin);
    char *directory = n ? strndup(plugin, n) : strdup(".");
    char *path = directory ? realpath(directory, NULL) : NULL;
    cw_code rc = CW_OK;
    if (!path || access(plugin, R_OK) != 0)
        rc = cw_fail_errno(err, errno, "'%s'", plugin);
    free(directory);
    if (!rc) {
        cw_buf_add(out, CW_STR("plugins:\n  directory: "));
        cw_json_escape(out, cw_str_from(path)); /* a string of JSON is one of YAML */
        cw_buf_add_char(out, '\n');
        rc = out->code ? cw_fail(err, out->code, "%s", cw_code_text(out->code)) : CW_OK;
    }
    free(path);
    return rc;
}
