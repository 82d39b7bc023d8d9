/* SPDX-License-Identifier: GPL-2.0-or-later */
/* existing.c - adds the first account to the server of an existing configuration. */
#include "cli/init/existing.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/init/client_entry.h"
#include "cli/init/first_account.h"
#include "config/syntax/quote.h"
#include "server/paths.h"

#define TEXT_MAX_BYTES ((size_t)1 << 20)

const char *cw_init_installed_config(void)
{
    bool is_there = geteuid() == 0 && access(CW_CONFIG_INSTALLED, R_OK) == 0;
    return is_there ? CW_CONFIG_INSTALLED : NULL;
}

/* The other options describe a new configuration. */
static int check_options(const cw_init_answers *a, const char *path)
{
    if (a->listen || a->public_url || a->certificate || a->key || a->service || a->secret_file ||
        a->examples || a->console)
        return cw_cli_usage("'%s' exists: change it with an editor, or name a directory for a new "
                            "configuration",
                            path);
    return -1;
}

static void add_url(cw_buf *out, const cw_config *config)
{
    const cw_config_listener *first = &config->listen.items[0];
    if (config->public_url.n)
        cw_buf_add(out, config->public_url);
    else
        cw_buf_printf(out, "%s://%.*s", first->tls ? "https" : "http",
                      CW_STR_ARG(first->address.text));
    cw_buf_add(out, config->mcp.path);
}

static int print_text(const cw_init_made *made, bool has_server)
{
    cw_buf out;
    const char *path = made->config;
    cw_buf_init(&out, TEXT_MAX_BYTES);
    cw_buf_printf(&out,
                  "Added the account \"%s\" and a token to the server of %s.\n\n"
                  "For an MCP client:\n\n",
                  made->account, path);
    cw_init_add_client_entry(&out, made->url, made->token);
    bool has_unit = strcmp(path, CW_CONFIG_INSTALLED) == 0;
    cw_init_add_next(&out, made, has_unit ? NULL : has_server ? "status" : "serve");
    return cw_cli_print_buf(&out);
}

static int print_result(const cw_cli_admin *admin, const cw_init_answers *a, cw_str token)
{
    CW_CLEANUP(cw_buf_done) cw_buf url;
    cw_buf_init(&url, TEXT_MAX_BYTES);
    add_url(&url, admin->config);
    const cw_init_made made = {.config = admin->config_path,
                               .account = a->account,
                               .url = cw_buf_str(&url),
                               .token = token};
    return a->json ? cw_init_print_json(&made) : print_text(&made, cw_cli_admin_has_server(admin));
}

static int add_account(cw_cli_admin *admin, const cw_init_answers *a)
{
    static const char *const none[] = {NULL};
    const cw_init_account account = {a->account, .roles = none, .scopes = none};
    char token[CW_TOKEN_LEN + 1];
    cw_err err = {0};
    if (cw_init_add_account(admin, &account, token, &err))
        return cw_cli_failure("%s", err.msg);
    cw_init_record_account(admin, a->account);
    int code = print_result(admin, a, cw_str_from(token));
    explicit_bzero(token, sizeof token);
    return code;
}

int cw_init_existing(cw_init_answers *a, const char *path)
{
    const cw_cli_target target = {.config = path};
    cw_cli_admin admin;
    int code = check_options(a, path);
    if (code < 0)
        code = cw_init_ask_account(a);
    if (code < 0)
        code = cw_cli_admin_open(&target, &admin);
    if (code >= 0)
        return code;
    if (cw_config_store(admin.config).n)
        code = add_account(&admin, a);
    else
        code = cw_cli_failure("'%s' has no store.path for accounts", path);
    cw_cli_admin_close(&admin);
    return code;
}
