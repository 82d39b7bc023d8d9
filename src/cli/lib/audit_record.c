/* SPDX-License-Identifier: GPL-2.0-or-later */
/* audit_record.c - writes the audit record of a command. */
#include "cli/lib/audit_record.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/lib/cli.h"
#include "server/options/audit_opts.h"

void cw_cli_user(char ret[CW_CLI_USER])
{
    const struct passwd *user = getpwuid(getuid());
    if (user && user->pw_name[0])
        snprintf(ret, CW_CLI_USER, "%s", user->pw_name);
    else
        snprintf(ret, CW_CLI_USER, "uid:%u", (unsigned)getuid());
}

void cw_cli_record(const cw_config *config, const char *what, cw_str target, bool is_done)
{
    cw_err err = {0};
    char id[32];
    cw_audit_opts opts = cw_app_audit_opts(config);
    if (!opts.path)
        return;
    const struct passwd *user = getpwuid(getuid());
    snprintf(id, sizeof id, "uid:%u", (unsigned)getuid());
    cw_audit_record r = {.kind = CW_AUDIT_CHANGE,
                         .door = "cli",
                         .outcome = is_done ? "ok" : "failed",
                         .caller = user ? cw_str_from(user->pw_name) : CW_STR(""),
                         .caller_id = cw_str_from(id),
                         .method = cw_str_from(what),
                         .detail = target};
    if (cw_audit_write(&opts, &r, &err))
        (void)cw_cli_failure("this is not recorded: %s", err.msg);
}
