/* SPDX-License-Identifier: GPL-2.0-or-later */
/* broken-schema-type.c - a schema that is no object. */
#include <causeway/plugin.h>

CW_PLUGIN("broken", "1.0");

static void run(cw_call *call)
{
    cw_put_null(call, NULL);
}
CW_METHOD(run, "a.b", .params = {{"x", .schema = "\"string\""}});
