/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin_host_path.h - the path of causeway-plugin-host.
 *
 * Threads: main thread only.
 */
#ifndef CW_SERVER_FILES_PLUGIN_HOST_PATH_H
#define CW_SERVER_FILES_PLUGIN_HOST_PATH_H

#include "base/buf.h"
#include "config/config.h"

/* The path of causeway-plugin-host: plugins.host of the configuration, else the one beside this
 * program, in its build tree, or where it is installed. The caller frees it. CW_NOTFOUND when there
 * is none and it is needed. */
CW_MUST_USE cw_code cw_plugin_host_find(const cw_config *config, bool is_needed, char **ret,
                                        cw_err *err);

#endif
