/* SPDX-License-Identifier: GPL-2.0-or-later */
/* broken-reserved-name.c - a tool with a name that is a path of its own. */
#include <causeway/plugin.h>

CW_PLUGIN("broken", "1.0");

static void run(cw_call *call)
{
    cw_put_null(call, NULL);
}
CW_METHOD(run, "describe");
CW_TOOL(run);
