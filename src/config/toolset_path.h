/* SPDX-License-Identifier: GPL-2.0-or-later */
/* toolset_path.h - the addresses of toolsets, below the endpoint for MCP clients.
 *
 *     /mcp/x/NAME            a toolset (catalogue/toolset.h)
 *     /mcp/x/NAME/readonly   its read-only part
 *
 * Each may have a slash behind it.
 *
 * Threads: no state.
 */
#ifndef CW_CONFIG_TOOLSET_PATH_H
#define CW_CONFIG_TOOLSET_PATH_H

#include "config/config.h"

#define CW_CONFIG_TOOLSET_PATH "/x/"
#define CW_CONFIG_TOOLSET_READ_ONLY "/readonly"

typedef struct cw_config_toolset_path {
    cw_str name;
    bool is_read_only;
    cw_str path; /* without a final slash */
} cw_config_toolset_path;

/* Read the path of a request; the parts borrow from it. False: it is no such address below
 * `endpoint`. */
bool cw_config_toolset_path_parse(cw_str path, cw_str endpoint, cw_config_toolset_path *ret);
/* "NAME" or "NAME/readonly", as commands take it. False: it is none of them. */
bool cw_config_toolset_path_split(cw_str text, cw_str *ret_name, bool *ret_read_only);
/* Whether the configuration has a toolset of this name. */
bool cw_config_toolset_path_is_known(const cw_config *config, cw_str name);

#endif
