/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server-json: prints the entry of this server for the MCP registry. */
#include "cli/lib/cli.h"
#include "door/mcp/mcp.h"

static int print_entry(const cw_config *config)
{
    cw_buf out;
    cw_err err;
    cw_buf_init(&out, 65536);
    cw_code rc = cw_mcp_write_registry(config, &out, &err);
    if (!rc)
        return cw_cli_print_buf(&out);
    cw_buf_done(&out);
    return rc == CW_CONFIG ? cw_cli_usage("%s", err.msg) : cw_cli_failure("%s", err.msg);
}

int cw_cli_server_json(int argc, char **argv)
{
    const char *path = NULL;
    const cw_cli_option options[] = {CW_CLI_CONFIG_OPTION(&path), {0}};
    const cw_cli_spec spec = {
        "server-json", "",
        "Print the server.json for the MCP registry. Name, title, description and\n"
        "website come from the configuration (mcp), the URL from public_url and\n"
        "mcp.path.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code >= 0)
        return code;
    cw_config *config = NULL;
    code = cw_cli_load_config(path, &config);
    if (config)
        code = print_entry(config);
    cw_config_unref(config);
    return code;
}
