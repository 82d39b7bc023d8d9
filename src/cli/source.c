/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source: the services of the configuration. */
#include "cli/remotes.h"

int cw_cli_source(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"list", "print how the services are", cw_cli_source_list},
        {"check", "ask the services, and say what is wrong", cw_cli_source_check},
        {"refresh", "have a running server ask services again", cw_cli_source_refresh},
        {"diff", "show which tools are not as they were approved", cw_cli_source_diff},
        {"approve", "accept the tools as the services describe them", cw_cli_source_approve},
        {"accept", "accept a description that asks less of callers", cw_cli_source_accept},
        {0},
    };
    static const cw_cli_group group = {
        "causeway source",
        "The services of the configuration whose methods become tools.",
        "\"causeway help source COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
