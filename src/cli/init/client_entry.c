/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client_entry.c - writes the entry of a server for MCP clients, and the next commands. */
#include "cli/init/client_entry.h"

#include "cli/lib/cli.h"
#include "cli/lib/table.h"

#define HEADER_MAX_BYTES 1024u
#define TEXT_MAX_BYTES ((size_t)1 << 20)

static void write_entry(cw_json_writer *w, cw_str url, cw_str token)
{
    CW_CLEANUP(cw_buf_done) cw_buf header;
    cw_buf_init(&header, HEADER_MAX_BYTES);
    cw_buf_printf(&header, "Bearer %.*s", CW_STR_ARG(token));
    cw_json_open_object(w);
    cw_json_add_key(w, CW_STR("mcpServers"));
    cw_json_open_object(w);
    cw_json_add_key(w, CW_STR("causeway"));
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("http"));
    cw_json_add_string_member(w, CW_STR("url"), url);
    cw_json_add_key(w, CW_STR("headers"));
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("Authorization"), cw_buf_str(&header));
    for (int i = 0; i < 4; i++)
        cw_json_close(w);
}

void cw_init_add_client_entry(cw_buf *out, cw_str url, cw_str token)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_INDENT);
    write_entry(&w, url, token);
    cw_cli_end_json(&w);
}

/* "  causeway COMMAND [--as ACCOUNT] --config PATH" */
static void add_command(cw_buf *out, const char *command, const char *account, const char *config)
{
    cw_buf_printf(out, "  causeway %s", command);
    if (account) {
        cw_buf_add(out, CW_STR(" --as "));
        cw_cli_add_word(out, cw_str_from(account));
    }
    cw_buf_add(out, CW_STR(" --config "));
    cw_cli_add_word(out, cw_str_from(config));
    cw_buf_add_char(out, '\n');
}

void cw_init_add_password_command(cw_buf *out, const cw_init_made *made)
{
    cw_buf_add(out, CW_STR("  causeway account password "));
    cw_cli_add_word(out, cw_str_from(made->account));
    cw_buf_add(out, CW_STR(" --config "));
    cw_cli_add_word(out, cw_str_from(made->config));
    cw_buf_add_char(out, '\n');
}

void cw_init_add_next(cw_buf *out, const cw_init_made *made, const char *start)
{
    cw_buf_add(out, CW_STR("\nNext:\n"));
    add_command(out, "doctor", NULL, made->config);
    if (start)
        add_command(out, start, NULL, made->config);
    else
        cw_buf_add(out, CW_STR("  systemctl enable --now causeway\n"));
    add_command(out, "list", made->account, made->config);
}

int cw_init_print_json(const cw_init_made *made)
{
    cw_buf out;
    cw_json_writer w;
    cw_buf_init(&out, TEXT_MAX_BYTES);
    cw_json_writer_init(&w, &out, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("config"), cw_str_from(made->config));
    cw_json_add_string_member(&w, CW_STR("account"), cw_str_from(made->account));
    cw_json_add_string_member(&w, CW_STR("url"), made->url);
    cw_json_add_string_member(&w, CW_STR("token"), made->token);
    cw_json_add_key(&w, CW_STR("client"));
    write_entry(&w, made->url, made->token);
    cw_json_close(&w);
    cw_cli_end_json(&w);
    return cw_cli_print_buf(&out);
}
