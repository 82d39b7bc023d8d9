/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tools with which the tests of the original system looked at authorisation: with a level and
 * scopes, with scopes alone, with none, and two that ask for more than the others.
 */
#include <causeway/plugin.h>

CW_PLUGIN("original", "1.0");

#define RESULT CW_JSON({"type" : "object", "properties" : {"result" : {"type" : "string"}}})

static void succeed(cw_call *call)
{
    cw_open_object(call, NULL);
    cw_put_text(call, "result", "success");
    cw_close(call);
}

static void with_auth(cw_call *call)
{
    succeed(call);
}
CW_METHOD(with_auth, "test.methodWithAuth", .usage = "A method that declares its authorisation",
          .params = {{"input", .schema = CW_JSON({"type" : "string"}), .required = true}},
          .permissions = {"access content"}, .output = RESULT);
CW_TOOL(with_auth, .title = "With authorisation",
        .annotations = CW_JSON({
            "category" : "testing",
            "auth" : {
                "scopes" : [ "content:read", "content:write" ],
                "level" : "required",
                "description" : "Reads and writes content"
            }
        }));

static void with_inferred_auth(cw_call *call)
{
    succeed(call);
}
CW_METHOD(with_inferred_auth, "test.methodWithInferredAuth",
          .usage = "A method that declares scopes and no level", .permissions = {"access content"},
          .output = RESULT);
CW_TOOL(with_inferred_auth, .annotations = CW_JSON({
                                "auth" : {"scopes" : ["user:read"], "description" : "Reads users"}
                            }));

static void without_auth(cw_call *call)
{
    succeed(call);
}
CW_METHOD(without_auth, "test.methodWithoutAuth", .usage = "A method for whoever may see it",
          .permissions = {"access content"}, .output = RESULT);
CW_TOOL(without_auth, .annotations = CW_JSON({"category" : "testing"}));

static void admin_only(cw_call *call)
{
    succeed(call);
}
CW_METHOD(admin_only, "test.adminOnly", .usage = "A method of administrators",
          .permissions = {"administer site configuration"}, .output = RESULT);
CW_TOOL(admin_only, .title = "For administrators");

static void authenticated(cw_call *call)
{
    succeed(call);
}
CW_METHOD(authenticated, "test.authenticated", .usage = "A method that needs two permissions",
          .permissions = {"access content", "administer site configuration"}, .output = RESULT);
CW_TOOL(authenticated);
