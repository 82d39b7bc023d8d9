/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugin: creates, checks, lists, enables and disables plugins. */
#include "cli/plugin/plugin.h"

static const cw_cli_command commands[] = {
    {"new", "create the skeleton of a plugin", cw_cli_plugin_new},
    {"check", "print what a plugin publishes", cw_cli_plugin_check},
    {"list", "list the plugins in the plugin directory", cw_cli_plugin_list},
    {"enable", "enable a plugin", cw_cli_plugin_enable},
    {"disable", "disable a plugin", cw_cli_plugin_disable},
    {0},
};

int cw_cli_plugin(int argc, char **argv)
{
    static const cw_cli_group group = {
        "causeway plugin",
        "Create, check, list, enable and disable plugins.",
        "\"causeway help plugin COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
