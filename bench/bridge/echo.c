/* SPDX-License-Identifier: GPL-2.0-or-later */
/* echo.c - one tool, the same that the peer of the `mcp` part has. */
#include <causeway/plugin.h>

CW_PLUGIN("echo", "1.0");

static void echo(cw_call *call)
{
    cw_content_text(call, cw_arg_text(call, "message", ""));
}
CW_METHOD(echo, "test.echo", .usage = "Gives back what it got",
          .params = {{"message", .schema = CW_JSON({"type" : "string"}), .required = true}},
          .permissions = {"access content"});
CW_TOOL(echo);
