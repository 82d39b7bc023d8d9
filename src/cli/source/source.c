/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source: the commands for the configured services. */
#include "cli/source/source_set.h"

int cw_cli_source(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"list", "show the status of each service", cw_cli_source_list},
        {"check", "contact the services and report problems", cw_cli_source_check},
        {"refresh", "make a running server read descriptions again", cw_cli_source_refresh},
        {"diff", "show tools that differ from their approved version", cw_cli_source_diff},
        {"approve", "approve the current definitions of tools", cw_cli_source_approve},
        {"accept", "accept a description that requires less of callers", cw_cli_source_accept},
        {0},
    };
    static const cw_cli_group group = {
        "causeway source",
        "Configured services whose methods become tools.",
        "\"causeway help source COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
