/* SPDX-License-Identifier: GPL-2.0-or-later */
/* broken-auth-level.c - an unknown auth level. */
#include <causeway/plugin.h>

CW_PLUGIN("broken", "1.0");

static void run(cw_call *call)
{
    cw_put_null(call, NULL);
}
CW_METHOD(run, "a.b");
CW_TOOL(run, .scopes = {"x"}, .auth_level = "always");
