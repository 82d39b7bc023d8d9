/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace.c - a plugin that returns the trace context of its call. */
#include <causeway/plugin.h>

CW_PLUGIN("trace", "1.0");

static void context(cw_call *call)
{
    const char *text = cw_call_traceparent(call);
    cw_result_format(call, "%s", text ? text : "none");
}
CW_METHOD(context, "trace.context", .usage = "Returns the trace context of the call.",
          .permissions = {"access content"});
CW_TOOL(context, .title = "Context");
