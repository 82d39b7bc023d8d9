/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cache: makes a running server rebuild its documents. The order goes through the database and stays
 * there, so a server that is unreachable now follows later. */
#include "catalogue/page_cache.h"

#include "base/clock.h"
#include "cli/lib/db.h"
#include "config/syntax/quote.h"
#include "server/admin_requests.h"

static int order(const char *config, cw_str what, const char *done)
{
    cw_cli_db a = {0};
    int code = cw_cli_db_open(config, /* may_create= */ true, &a);
    if (code >= 0)
        return code;
    cw_cli_db_change(&a, "cache", what.p, NULL);
    cw_code rc = cw_db_order(a.db, what, cw_clock_wall_ms(), &a.err);
    cw_buf_printf(&a.out,
                  "%s: a running server follows within a second; one that is not running\n"
                  "starts with empty caches anyway\n",
                  done);
    return cw_cli_db_close(&a, rc);
}

static int run_rebuild(int argc, char **argv)
{
    const char *config = NULL;
    const cw_cli_option options[] = {CW_CLI_CONFIG_OPTION(&config), {0}};
    const cw_cli_spec spec = {
        "cache rebuild", "",
        "Make the running server load all plugins and read all descriptions again, and\n"
        "clear its caches. Sources that cannot be loaded stay unchanged.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    return code >= 0 ? code : order(config, CW_STR(CW_ORDER_REBUILD), "rebuild ordered");
}

static int unknown_tag(const char *tag)
{
    char exposed[CW_EXCERPT_SIZE];
    return cw_cli_usage("no documents carry the tag %s; those that exist: %s and %s",
                        cw_excerpt(cw_str_from(tag), exposed),
                        cw_page_cache_tags_text(CW_PAGE_CACHE_DISCOVERY).p,
                        cw_page_cache_tags_text(CW_PAGE_CACHE_PERMISSIONS).p);
}

static int run_invalidate(int argc, char **argv)
{
    const char *config = NULL;
    const cw_cli_option options[] = {CW_CLI_CONFIG_OPTION(&config), {0}};
    const cw_cli_spec spec = {
        "cache invalidate", "TAG",
        "Make the running server drop the cached documents with a tag:\n"
        "jsonrpc_mcp:discovery (all documents) or user.permissions (those that depend on\n"
        "the caller). They are built again on the next request.",
        options, 1};
    cw_cli_args args = {0};
    int code = cw_cli_parse(&spec, argc, argv, &args);
    if (code >= 0)
        return code;
    if (args.n < 1)
        return cw_cli_usage("usage: causeway cache invalidate TAG");
    if (!cw_page_cache_tag_find(cw_str_from(args.items[0])))
        return unknown_tag(args.items[0]);
    return order(config, cw_str_from(args.items[0]), "invalidation ordered");
}

int cw_cli_cache(int argc, char **argv)
{
    static const cw_cli_command commands[] = {
        {"rebuild", "reload all sources and clear the caches", run_rebuild},
        {"invalidate", "drop the cached documents with a tag", run_invalidate},
        {0},
    };
    static const cw_cli_group group = {
        "causeway cache",
        "Clear a running server's cache of lists and descriptions.",
        "\"causeway help cache COMMAND\" explains a command.",
        commands,
    };
    return cw_cli_dispatch(&group, argc, argv);
}
