/* SPDX-License-Identifier: GPL-2.0-or-later */
/* undefined.c - calls a function that the host does not have. */
#include <causeway/plugin.h>

CW_PLUGIN("undefined", "1.0");

void cw_put_moon(cw_call *call);

static void run(cw_call *call)
{
    cw_put_moon(call);
}
CW_METHOD(run, "a.b");
