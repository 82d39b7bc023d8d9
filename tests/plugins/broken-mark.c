/* SPDX-License-Identifier: GPL-2.0-or-later */
/* broken-mark.c - a mark without a method. */
#include <causeway/plugin.h>

CW_PLUGIN("broken", "1.0");

static void run(cw_call *call)
{
    cw_put_null(call, NULL);
}
CW_METHOD(run, "a.b");

static void lost(cw_call *call)
{
    cw_put_null(call, NULL);
}
CW_TOOL(lost, .title = "Lost");
