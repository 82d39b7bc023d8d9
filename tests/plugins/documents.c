/* SPDX-License-Identifier: GPL-2.0-or-later */
/* documents.c - the methods that the documents of the original system declare as examples for
 * authors. (cache.rebuild and node.create, which they declare too, are in plugins/examples.) */
#include <causeway/plugin.h>

CW_PLUGIN("documents", "1.0");

#define RESULT CW_JSON({"type" : "object", "properties" : {"result" : {"type" : "string"}}})

static void put_input(cw_call *call)
{
    cw_open_object(call, NULL);
    cw_put_text(call, "result", cw_arg_text(call, "input", ""));
    cw_close(call);
}

static void example(cw_call *call)
{
    put_input(call);
}
CW_METHOD(example, "test.example", .usage = "Test method for MCP",
          .params = {{"input", .schema = CW_JSON({"type" : "string"}), .description = "Test input",
                      .required = true}},
          .permissions = {"access content"}, .output = RESULT);
CW_TOOL(example, .title = "Test MCP Tool", .annotations = CW_JSON({"category" : "testing"}));

static void do_something(cw_call *call)
{
    put_input(call);
}
CW_METHOD(do_something, "mymodule.doSomething", .usage = "Performs a custom operation",
          .params = {{"input", .schema = CW_JSON({"type" : "string"}),
                      .description = "The input value", .required = true}},
          .permissions = {"administer site configuration"}, .output = RESULT);
CW_TOOL(do_something, .title = "Do Something Custom",
        .annotations = CW_JSON({"category" : "custom"}));
