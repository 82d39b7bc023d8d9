/* SPDX-License-Identifier: GPL-2.0-or-later */
/* broken-utf8.c - text that is not UTF-8. */
#include <causeway/plugin.h>

CW_PLUGIN("broken", "1.0");

static void run(cw_call *call)
{
    cw_put_null(call, NULL);
}
CW_METHOD(run, "a.b", .usage = "caf\xe9");
