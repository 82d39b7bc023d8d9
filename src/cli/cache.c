/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cache: clears the caches of a running server. */
#include "catalogue/page_cache.h"

#include "cli/lib/admin.h"
#include "config/syntax/quote.h"

static void write_tag(cw_json_writer *w, const void *ctx)
{
    cw_json_add_string_member(w, CW_STR("tag"), cw_str_from(ctx));
}

/* Call the method and print what was done. A server that does not run has no caches. */
static int clear(const cw_cli_target *target, const char *method, const char *tag, const char *done)
{
    cw_cli_admin a;
    const cw_json *result = NULL;
    int code = cw_cli_admin_open(target, &a);
    if (code >= 0)
        return code;
    if (!cw_cli_admin_has_server(&a)) {
        cw_cli_admin_close(&a);
        return cw_cli_print(CW_STR("no server runs: nothing to clear\n"));
    }
    code = cw_cli_admin_call(&a, method, tag ? write_tag : NULL, tag, &result);
    if (code < 0) {
        cw_buf out;
        cw_buf_init(&out, CW_CONFIG_MAX_BYTES);
        cw_buf_printf(&out, "%s by ", done);
        cw_cli_admin_add_server(&out, result);
        cw_buf_add_char(&out, '\n');
        code = cw_cli_print_buf(&out);
    }
    cw_cli_admin_close(&a);
    return code;
}

static int run_rebuild(int argc, char **argv)
{
    cw_cli_target target = {0};
    const cw_cli_option options[] = {CW_CLI_TARGET_OPTIONS(&target), {0}};
    const cw_cli_spec spec = {
        "cache rebuild", "",
        "Make the running server load all plugins and read all descriptions again, and\n"
        "clear its caches. Sources that cannot be loaded stay unchanged.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    return code >= 0 ? code : clear(&target, "causeway.cache.rebuild", NULL, "rebuild begun");
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
    cw_cli_target target = {0};
    const cw_cli_option options[] = {CW_CLI_TARGET_OPTIONS(&target), {0}};
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
    return clear(&target, "causeway.cache.invalidate", args.items[0], "documents dropped");
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
