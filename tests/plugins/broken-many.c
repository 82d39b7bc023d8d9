/* SPDX-License-Identifier: GPL-2.0-or-later */
/* broken-many.c - several mistakes: all of them are reported. */
#include <causeway/plugin.h>

CW_PLUGIN("broken", "1.0");

static void run(cw_call *call)
{
    cw_put_null(call, NULL);
}
CW_METHOD(run, "a.b", .output = "7", .params = {{"x", .schema = "{"}, {""}}, .permissions = {""});
CW_TOOL(run, .annotations = "[]", .auth_level = "sometimes");
