/* SPDX-License-Identifier: GPL-2.0-or-later */
/* name_checks.c - logs collisions of portable names, and limits that name a portable name. */
#include "server/options/name_checks.h"

#include "base/log.h"
#include "catalogue/tool/portable_name.h"

/* The head of the list names the others, so that each collision is logged once. */
static void log_collision(const cw_portable_names *names, const cw_entry *tool)
{
    char room[CW_PORTABLE_NAME_MAX];
    cw_str name = cw_portable_name(tool->tool_name, room);
    const cw_portable_tool *head = name.p == room ? cw_portable_names_find(names, name) : NULL;
    if (!head || head->tool != tool)
        return;
    for (const cw_portable_tool *other = head->next; other; other = other->next)
        cw_log(CW_LOG_ERROR, "serve",
               "two tools have the same portable name: MCP clients that see both get neither",
               CW_KV("name", name), CW_KV("tool", tool->tool_name),
               CW_KV("other", other->tool->tool_name));
}

static void log_limit(const cw_portable_names *names, const cw_snapshot *snapshot, cw_str name)
{
    if (cw_snapshot_find_tool(snapshot, name) || cw_snapshot_find_method(snapshot, name))
        return;
    const cw_portable_tool *one = cw_portable_names_find(names, name);
    if (one)
        cw_log(CW_LOG_ERROR, "serve",
               "limits.tools has a portable name: it applies to no tool; use the tool's own name",
               CW_KV("name", name), CW_KV("tool", one->tool->tool_name));
}

void cw_name_checks_log(const cw_config *config, const cw_snapshot *snapshot)
{
    const cw_portable_names *names = cw_snapshot_portable_names(snapshot);
    size_t n;
    const cw_entry *const *tools = cw_snapshot_tools(snapshot, &n);
    if (!names)
        return; /* without memory; lists fail as well */
    for (size_t i = 0; i < n; i++)
        log_collision(names, tools[i]);
    for (size_t i = 0; i < config->limits.tools.n; i++)
        log_limit(names, snapshot, config->limits.tools.items[i].name);
}
