/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools that are hidden from whoever lacks their scopes, and one that is not. */
#include <causeway/plugin.h>

CW_PLUGIN("hidden", "1.0.0");

static void challenged(cw_call *call)
{
    cw_result_text(call, "challenged");
}
CW_METHOD(challenged, "hidden.challenged", .usage = "Listed; asks for a scope when it is called.");
CW_TOOL(challenged, .scopes = {"content:read"}, .visibility = "challenge");

static void scoped(cw_call *call)
{
    cw_result_text(call, "scoped");
}
CW_METHOD(scoped, "hidden.scoped", .usage = "Only tokens with the scope know of it.");
CW_TOOL(scoped, .annotations = CW_JSON({"readOnlyHint" : true}), .scopes = {"content:read"},
        .visibility = "hide");

static void member(cw_call *call)
{
    cw_result_text(call, "member");
}
CW_METHOD(member, "hidden.member", .usage = "Only those who have logged in know of it.");
CW_TOOL(member, .auth_level = "required", .visibility = "hide");

/* All see a tool of this plugin, and nobody a prompt. */
static void announce(cw_call *call)
{
    cw_lists_changed(call, "prompts");
    cw_lists_changed(call, "tools");
    cw_result_text(call, "announced");
}
CW_METHOD(announce, "hidden.announce", .usage = "Announces other lists to those who see them.");
CW_TOOL(announce, .auth_level = "required", .visibility = "hide");
