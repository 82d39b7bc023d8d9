/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client_profile.c - the client of a request: its capabilities, and adjustments of lists by the name
 * in clientInfo.
 *
 * The name only decides how names and schemas are written: every client sees the same tools.
 */
#include "door/mcp/task/task.h"

/* `bit` if the form is portable, and `own` if the client has one of its own. */
static unsigned bits_of(cw_config_form form, unsigned bit, unsigned own)
{
    if (form == CW_CONFIG_FORM_DEFAULT)
        return 0;
    return form == CW_CONFIG_FORM_PORTABLE ? bit | own : own;
}

/* Likewise of lean lists. */
static unsigned bits_of_detail(cw_config_detail detail, unsigned bit, unsigned own)
{
    if (detail == CW_CONFIG_DETAIL_DEFAULT)
        return 0;
    return detail == CW_CONFIG_DETAIL_LEAN ? bit | own : own;
}

static unsigned bits_of_client(const cw_config_client *client)
{
    return bits_of_detail(client->output_schemas, CW_MCP_NO_OUTPUT_SCHEMAS,
                          CW_MCP_OWN_OUTPUT_SCHEMAS) |
           bits_of_detail(client->descriptions, CW_MCP_SHORT_DESCRIPTIONS,
                          CW_MCP_OWN_DESCRIPTIONS) |
           bits_of(client->tool_names, CW_MCP_PORTABLE_NAMES, CW_MCP_OWN_NAMES) |
           bits_of(client->schemas, CW_MCP_PORTABLE_SCHEMAS, CW_MCP_OWN_SCHEMAS);
}

unsigned cw_mcp_profile_renew(const cw_config *config, unsigned profile)
{
    unsigned of_all = bits_of(config->mcp.tool_names, CW_MCP_PORTABLE_NAMES, 0) |
                      bits_of(config->mcp.schemas, CW_MCP_PORTABLE_SCHEMAS, 0);
    unsigned own = profile & (CW_MCP_OWN_NAMES | CW_MCP_OWN_SCHEMAS);
    unsigned kept = own >> 2; /* the bits of what is its own */
    return own | (profile & (kept | CW_MCP_LEAN)) | (of_all & ~kept);
}

const char *cw_mcp_client_problem(const cw_json *client)
{
    const cw_json *name = cw_json_get(client, CW_STR("name"));
    if (cw_json_is(name, CW_JSON_STRING) && cw_json_text(name).n > CW_MCP_CLIENT_NAME)
        return "clientInfo.name is longer than 256 bytes";
    return NULL;
}

unsigned cw_mcp_profile(const cw_config *config, const cw_json *client)
{
    const cw_json *name = cw_json_get(client, CW_STR("name"));
    const cw_config_clients *clients = &config->mcp.clients;
    for (size_t i = 0; i < clients->n && cw_json_is(name, CW_JSON_STRING); i++) {
        if (cw_str_matches(clients->items[i].name, cw_json_text(name), CW_STR_ANY_CASE))
            return cw_mcp_profile_renew(config, bits_of_client(&clients->items[i]));
    }
    return cw_mcp_profile_renew(config, 0);
}

bool cw_mcp_has_portable_names(const cw_config *config)
{
    bool has = config->mcp.tool_names == CW_CONFIG_FORM_PORTABLE;
    for (size_t i = 0; i < config->mcp.clients.n; i++)
        has |= config->mcp.clients.items[i].tool_names == CW_CONFIG_FORM_PORTABLE;
    return has;
}

/* ---- capabilities ---- */

static bool has(const cw_json *object, const char *name)
{
    return cw_json_is(cw_json_get(object, cw_str_from(name)), CW_JSON_OBJECT);
}

unsigned cw_mcp_client_capabilities(const cw_json *capabilities)
{
    if (!cw_json_is(capabilities, CW_JSON_OBJECT) || cw_json_count(capabilities) == 0)
        return 0;
    const cw_json *elicit = cw_json_get(capabilities, CW_STR("elicitation"));
    const cw_json *sample = cw_json_get(capabilities, CW_STR("sampling"));
    unsigned client_capabilities = 0;
    /* Without saying which kind it means forms. */
    if (cw_json_is(elicit, CW_JSON_OBJECT) && (has(elicit, "form") || !has(elicit, "url")))
        client_capabilities |= CW_MCP_CAN_ELICIT;
    if (has(elicit, "url"))
        client_capabilities |= CW_MCP_CAN_ELICIT_URL;
    if (cw_json_is(sample, CW_JSON_OBJECT))
        client_capabilities |= CW_MCP_CAN_SAMPLE;
    if (has(sample, "tools"))
        client_capabilities |= CW_MCP_CAN_SAMPLE_TOOLS;
    if (has(capabilities, "roots"))
        client_capabilities |= CW_MCP_CAN_ROOTS;
    if (has(cw_json_get(capabilities, CW_STR("extensions")), CW_MCP_TASKS))
        client_capabilities |= CW_MCP_CAN_TASKS;
    return client_capabilities;
}
