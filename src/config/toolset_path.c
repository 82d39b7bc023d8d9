/* SPDX-License-Identifier: GPL-2.0-or-later */
/* toolset_path.c - reads the addresses of toolsets. */
#include "config/toolset_path.h"

static cw_str without(cw_str text, cw_str suffix)
{
    return cw_str_make(text.p, text.n - suffix.n);
}

bool cw_config_toolset_path_split(cw_str text, cw_str *ret_name, bool *ret_read_only)
{
    const cw_str suffix = CW_STR(CW_CONFIG_TOOLSET_READ_ONLY);
    *ret_read_only = cw_str_ends(text, suffix);
    *ret_name = *ret_read_only ? without(text, suffix) : text;
    return ret_name->n && !memchr(ret_name->p, '/', ret_name->n);
}

bool cw_config_toolset_path_parse(cw_str path, cw_str endpoint, cw_config_toolset_path *ret)
{
    const cw_str slash = CW_STR("/"), middle = CW_STR(CW_CONFIG_TOOLSET_PATH);
    if (cw_str_ends(path, slash))
        path = without(path, slash);
    if (!cw_str_starts(path, endpoint))
        return false;
    cw_str rest = cw_str_make(path.p + endpoint.n, path.n - endpoint.n);
    if (!cw_str_starts(rest, middle))
        return false;
    rest = cw_str_make(rest.p + middle.n, rest.n - middle.n);
    ret->path = path;
    return cw_config_toolset_path_split(rest, &ret->name, &ret->is_read_only);
}

bool cw_config_toolset_path_is_known(const cw_config *config, cw_str name)
{
    for (size_t i = 0; i < config->toolsets.n; i++) {
        if (cw_str_eq(config->toolsets.items[i].name, name))
            return true;
    }
    return false;
}
