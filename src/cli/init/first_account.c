/* SPDX-License-Identifier: GPL-2.0-or-later */
/* first_account.c - adds the first account and its token. */
#include "cli/init/first_account.h"

#include <stdio.h>

#include "cli/lib/audit_record.h"

#define TOKEN_NAME "init"
#define TARGET_MAX_BYTES 1024u

static void write_list(cw_json_writer *w, cw_str name, const char *const *list)
{
    cw_json_add_key(w, name);
    cw_json_open_array(w);
    for (; *list; list++)
        cw_json_add_string(w, cw_str_from(*list));
    cw_json_close(w);
}

static void write_account(cw_json_writer *w, const void *ctx)
{
    const cw_init_account *n = ctx;
    cw_json_add_string_member(w, CW_STR("name"), cw_str_from(n->name));
    write_list(w, CW_STR("roles"), n->roles);
}

static void write_token(cw_json_writer *w, const void *ctx)
{
    const cw_init_account *n = ctx;
    cw_json_add_string_member(w, CW_STR("account"), cw_str_from(n->name));
    cw_json_add_string_member(w, CW_STR("name"), CW_STR(TOKEN_NAME));
    write_list(w, CW_STR("scopes"), n->scopes);
}

cw_code cw_init_add_account(cw_cli_admin *a, const cw_init_account *account,
                            char token[CW_TOKEN_LEN + 1], cw_err *err)
{
    const cw_json *result = NULL;
    cw_code rc = cw_cli_admin_try(a, "causeway.accounts.add", write_account, account, &result, err);
    if (!rc)
        rc = cw_cli_admin_try(a, "causeway.tokens.create", write_token, account, &result, err);
    if (!rc)
        snprintf(token, CW_TOKEN_LEN + 1, "%.*s", CW_STR_ARG(cw_cli_admin_text(result, "token")));
    return rc;
}

void cw_init_record_account(const cw_cli_admin *a, const char *account)
{
    CW_CLEANUP(cw_buf_done) cw_buf token;
    cw_buf_init(&token, TARGET_MAX_BYTES);
    if (cw_cli_admin_has_server(a))
        return;
    cw_buf_printf(&token, "%s " TOKEN_NAME, account);
    cw_cli_record(a->config, "account add", cw_str_from(account), true);
    cw_cli_record(a->config, "token create", cw_buf_str(&token), true);
}
