/* SPDX-License-Identifier: GPL-2.0-or-later */
/* examples.c - the configuration of a server without a configuration file. */
#include "server/files/examples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "json/write.h"
#include "server/files/own_path.h"
#include "server/files/plugin_host_path.h"
#include "server/files/state_file.h"
#include "server/paths.h"

#define PATH_BYTES 4096u
#define BUILT_BELOW "/plugins" /* the folder of the program, in a build tree */

static bool is_there(const char *folder)
{
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof path, "%s/examples.so", folder);
    return n > 0 && (size_t)n < sizeof path && access(path, R_OK) == 0;
}

/* False: they are not there. *ret_built: in the build tree, which this user can write to. */
static bool find_plugins(char *out, size_t n, bool *ret_built)
{
    char own[PATH_BYTES - sizeof BUILT_BELOW];
    if (cw_own_path_directory(own, sizeof own, NULL) == CW_OK) {
        snprintf(out, n, "%s" BUILT_BELOW, own);
        *ret_built = is_there(out);
        if (*ret_built)
            return true;
    }
    cw_own_path_installed(CW_EXAMPLES_BELOW, out, n);
    return is_there(out);
}

/* A plugin folder without a host to run them is a mistake in a configuration, and none here. */
static bool has_host(void)
{
    static const cw_config defaults;
    char *host = NULL;
    bool found = cw_plugin_host_find(&defaults, /* is_needed= */ true, &host, NULL) == CW_OK;
    free(host);
    return found;
}

/* The directory for the content of the examples. It stands beside the state of servers, which
 * plugins cannot use. False: it cannot be made. */
static bool make_data(char *out, size_t n)
{
    static const char suffix[] = "-examples";
    if (!cw_state_file_directory(out, n) || strlen(out) + sizeof suffix > n)
        return false;
    memcpy(out + strlen(out), suffix, sizeof suffix);
    return mkdir(out, 0700) == 0 || errno == EEXIST;
}

cw_code cw_examples_config(cw_buf *out, cw_err *err)
{
    char folder[PATH_BYTES], data[PATH_BYTES];
    bool is_built = false;
    cw_buf_add(out, CW_STR("roles:\n  anonymous:\n    - access content\n"
                           "    - access mcp tool discovery\n    - use jsonrpc services\n"
                           "access:\n  scopes: [\"tutorial:read\", \"tutorial:search\"]\n"));
    if (find_plugins(folder, sizeof folder, &is_built) && has_host()) {
        /* A string of JSON is one of YAML. */
        cw_buf_add(out, CW_STR("plugins:\n  directory: "));
        cw_json_escape(out, cw_str_from(folder));
        if (!is_built && make_data(data, sizeof data)) {
            cw_buf_add(out, CW_STR("\n  data: "));
            cw_json_escape(out, cw_str_from(data));
        }
        cw_buf_add(out, CW_STR("\n"));
    }
    return out->code ? cw_fail(err, out->code, "%s", cw_code_text(out->code)) : CW_OK;
}

/* A wildcard is no address to connect to. */
static void format_base(const cw_listener *listener, char *out, size_t n)
{
    char address[CW_ADDRESS_TEXT];
    cw_address_format(&listener->address, address, sizeof address);
    const char *port = strrchr(address, ':');
    cw_str text = cw_str_from(address);
    if (cw_str_starts(text, CW_STR("0.0.0.0:")))
        snprintf(out, n, "http://127.0.0.1%s", port);
    else if (cw_str_starts(text, CW_STR("[::]:")))
        snprintf(out, n, "http://[::1]%s", port);
    else
        snprintf(out, n, "http://%s", address);
}

void cw_examples_print_hints(const cw_listener *listener, cw_str console_host, cw_buf *out)
{
    char base[CW_ADDRESS_TEXT + sizeof "http://"];
    if (listener->address.sa.ss_family == AF_UNIX)
        return;
    format_base(listener, base, sizeof base);
    if (console_host.n)
        cw_buf_printf(out,
                      "\nThe console, for browsers on this machine:\n\n  http://%.*s%s/console/\n",
                      CW_STR_ARG(console_host), strrchr(base, ':'));
    /* Commands to paste have lines of their own. */
    cw_buf_printf(
        out,
        "\nThe example plugin is served; Ctrl-C stops it. Try, in another terminal:\n\n"
        "  curl %s/mcp --json '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}'\n"
        "  curl %s/mcp/tools/invoke --json "
        "'{\"name\":\"examples.article.toMarkdown\",\"arguments\":{\"nid\":2}}'\n"
        "  curl %s/jsonrpc --json "
        "'{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"examples.articles.list\"}'\n",
        base, base, base);
    cw_buf_printf(out,
                  "\nThe MCP Inspector:\n\n"
                  "  npx -y @modelcontextprotocol/inspector@2.12.0 --cli %s/mcp --transport http "
                  "--method tools/list\n"
                  "\nClaude Desktop, in claude_desktop_config.json:\n\n"
                  "  {\"mcpServers\":{\"causeway\":{\"command\":\"npx\",\"args\":[\"-y\","
                  "\"mcp-remote\",\"%s/mcp\"]}}}\n\n",
                  base, base);
}

static void announce_roles(const cw_config *config)
{
    for (size_t i = 0; i < config->roles.n; i++) {
        const cw_config_strings *all = &config->roles.items[i].permissions;
        cw_buf text;
        cw_buf_init(&text, 1024);
        for (size_t k = 0; k < all->n; k++)
            cw_buf_printf(&text, "%s%.*s", k ? ", " : "", CW_STR_ARG(all->items[k]));
        cw_log(CW_LOG_INFO, "serve", "no configuration file: every caller has these permissions",
               CW_KV("permissions", cw_buf_str(&text)));
        cw_buf_done(&text);
    }
}

void cw_examples_announce(const cw_config *config)
{
    if (config->plugins.directory.n)
        cw_log(CW_LOG_INFO, "serve", "no configuration file: the example plugins are loaded",
               CW_KV("folder", config->plugins.directory));
    else
        cw_log(CW_LOG_WARN, "serve", "no configuration file, and no example plugins: no tools");
    announce_roles(config);
}
