/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source refresh: make a running server read descriptions again. The order goes through the
 * database. */
#include "cli/lib/audit_record.h"
#include "cli/source/source_set.h"

static int refresh(cw_source_set *all)
{
    cw_err err = {0};
    cw_code rc = cw_source_set_order(all, &err);
    for (size_t i = 0; i < all->n; i++) {
        if (all->items[i].is_wanted)
            cw_cli_record(all->config, "source refresh", all->items[i].config->name, rc == CW_OK);
    }
    if (rc)
        return rc == CW_CONFIG ? cw_cli_usage("%s", err.msg) : cw_cli_failure("%s", err.msg);
    return cw_cli_print(CW_STR("refresh ordered: a running server follows within a second\n"));
}

int cw_cli_source_refresh(int argc, char **argv)
{
    static const cw_source_command command = {
        .name = "source refresh",
        .args = "[NAME...]",
        .about = "Make the running server read the descriptions of all services, or of the named\n"
                 "ones, again. A service that does not answer keeps its description.",
        .run = refresh,
    };
    return cw_source_set_command(&command, argc, argv);
}
