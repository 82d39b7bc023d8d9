/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source refresh: have a running server ask services again. The order goes through the database. */
#include "cli/lib/audit_record.h"
#include "cli/source/source_set.h"

static int order(const cw_source_set *all)
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
    const char *config = NULL;
    const cw_cli_option options[] = {CW_CLI_CONFIG_OPTION(&config), {0}};
    const cw_cli_spec spec = {
        "source refresh", "[NAME...]",
        "Make the running server read the descriptions of all services, or of the named\n"
        "ones, again. A service that does not answer keeps its description.",
        options, SIZE_MAX};
    cw_cli_args args = {0};
    cw_source_set all;
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    code = cw_source_set_open(config, args.items, args.n, NULL, &all);
    if (code < 0)
        code = order(&all);
    cw_source_set_done(&all);
    return code;
}
