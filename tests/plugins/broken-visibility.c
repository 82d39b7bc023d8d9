/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <causeway/plugin.h>

CW_PLUGIN("broken", "1.0.0");

static void run(cw_call *call)
{
    cw_result_text(call, "never");
}
CW_METHOD(run, "broken.visibility", .usage = "Hidden with a word that nobody knows.");
CW_TOOL(run, .scopes = {"content:read"}, .visibility = "invisible");
