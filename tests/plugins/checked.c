/* SPDX-License-Identifier: GPL-2.0-or-later */
/* checked.c - methods with schemas that say more than a type, and one that does not keep its own.
 */
#include <causeway/plugin.h>

CW_PLUGIN("checked", "1.0");

static void put_arg(cw_call *call, const char *name)
{
    if (cw_arg_has(call, name))
        cw_put_value(call, name, cw_arg(call, name));
}

static void order(cw_call *call)
{
    cw_open_object(call, NULL);
    put_arg(call, "id");
    put_arg(call, "day");
    put_arg(call, "tags");
    put_arg(call, "point");
    put_arg(call, "size");
    cw_close(call);
}
CW_METHOD(
    order, "checked.order", .usage = "Returns its arguments.",
    .params =
        {{"id", .schema = CW_JSON({"type" : "integer", "minimum" : 1}), .required = true},
         {"day", .schema = CW_JSON({"type" : "string", "format" : "date"})},
         {"tags",
          .schema = CW_JSON(
              {"type" : "array", "items" : {"enum" : [ "red", "green" ]}, "uniqueItems" : true})},
         {"point", .schema = CW_JSON({
                       "$schema" : "http://json-schema.org/draft-07/schema#",
                       "type" : "array",
                       "items" : [ {"type" : "number"}, {"type" : "number"} ],
                       "additionalItems" : false
                   })},
         {"size",
          .schema = CW_JSON(
              {"$ref" : "#/$defs/size", "$defs" : {"size" : {"enum" : [ "small", "large" ]}}}),
          .default_value = "\"small\""}},
    .output = CW_JSON({"type" : "object", "required" : ["id"]}), .permissions = {"access content"});
CW_TOOL(order);

/* What it returns is what it was asked to. */
static void claim(cw_call *call)
{
    cw_put_value(call, NULL, cw_arg(call, "result"));
}
CW_METHOD(claim, "checked.claim", .usage = "Returns what it is told, right or wrong.",
          .params = {{"result", .required = true}},
          .output = CW_JSON({
              "$schema" : "http://json-schema.org/draft-07/schema#",
              "type" : [ "object", "array" ],
              "properties" : {"id" : {"type" : "integer"}, "mail" : {"format" : "email"}},
              "items" : [ {"type" : "integer"} ],
              "additionalItems" : false
          }),
          .permissions = {"access content"});
CW_TOOL(claim);

static void quiet(cw_call *call)
{
    cw_put_value(call, NULL, cw_arg(call, "result"));
}
CW_METHOD(quiet, "checked.quiet", .usage = "The same, and no tool.",
          .params = {{"result", .schema = CW_JSON({"type" : "integer"}), .required = true}},
          .output = CW_JSON({"type" : "object"}), .permissions = {"access content"});
