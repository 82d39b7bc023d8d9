/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is loaded with a warning: a scope that nobody knows, and schemas of draft-07 that 2020-12
 * reads otherwise. */
#include <causeway/plugin.h>

CW_PLUGIN("reviewed", "1.0.0");

#define DRAFT_07 "\"$schema\":\"http://json-schema.org/draft-07/schema#\","

static void scope(cw_call *call)
{
    cw_result_text(call, "scope");
}
CW_METHOD(scope, "reviewed.scope", .usage = "Asks for a scope that nobody knows.");
CW_TOOL(scope, .scopes = {"content:all", "content:write"});

static void old(cw_call *call)
{
    cw_result_text(call, "old");
}
CW_METHOD(old, "reviewed.old", .usage = "Written for draft-07.",
          .params = {{"pair", "{" DRAFT_07 "\"type\":\"array\","
                              "\"items\":[{\"type\":\"string\"},{\"type\":\"integer\"}],"
                              "\"additionalItems\":false}"},
                     {"newer", "{\"dependentRequired\":{\"a\":[\"b\"]}}"},
                     {"plain", "{" DRAFT_07 "\"type\":\"string\",\"minLength\":1}"}},
          .output = "{" DRAFT_07 "\"type\":\"object\",\"properties\":{\"n\":{\"$ref\":"
                    "\"#/definitions/n\",\"minimum\":3,\"description\":\"a number\"}},"
                    "\"definitions\":{\"n\":{\"type\":\"integer\"}},"
                    "\"dependencies\":{\"n\":[\"m\"]}}");
CW_TOOL(old);
