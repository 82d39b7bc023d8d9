/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cache-scoped.c - cache.rebuild as the documents of the original system show it a second time,
 * with scopes. It rebuilds nothing, and cannot be in one folder with the example plugin. */
#include <causeway/plugin.h>

CW_PLUGIN("cache-scoped", "1.0");

static void rebuild(cw_call *call)
{
    cw_put_bool(call, NULL, true);
}
CW_METHOD(rebuild, "cache.rebuild", .usage = "Rebuilds the Drupal system cache.",
          .permissions = {"administer site configuration"},
          .output = CW_JSON({"type" : "boolean"}));
CW_TOOL(rebuild, .title = "Rebuild Drupal Cache",
        .annotations = CW_JSON({
            "category" : "system",
            "destructive" : false,
            "auth" : {"level" : "required", "scopes" : [ "mcp_tools", "content_management" ]}
        }));
