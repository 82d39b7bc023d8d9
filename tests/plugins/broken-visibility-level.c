/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <causeway/plugin.h>

CW_PLUGIN("broken", "1.0.0");

static void run(cw_call *call)
{
    cw_result_text(call, "never");
}
CW_METHOD(run, "broken.hidden", .usage = "Hidden from nobody.");
CW_TOOL(run, .scopes = {"content:read"}, .auth_level = "optional", .visibility = "hide");
