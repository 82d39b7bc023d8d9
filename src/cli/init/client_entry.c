/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client_entry.c - writes the entry of a server for MCP clients. */
#include "cli/init/client_entry.h"

#include "json/write.h"

#define HEADER_MAX_BYTES 1024u

void cw_init_add_client_entry(cw_buf *out, cw_str url, cw_str token)
{
    CW_CLEANUP(cw_buf_done) cw_buf header;
    cw_json_writer w;
    cw_buf_init(&header, HEADER_MAX_BYTES);
    cw_buf_printf(&header, "Bearer %.*s", CW_STR_ARG(token));
    cw_json_writer_init(&w, out, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR("mcpServers"));
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR("causeway"));
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("type"), CW_STR("http"));
    cw_json_add_string_member(&w, CW_STR("url"), url);
    cw_json_add_key(&w, CW_STR("headers"));
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("Authorization"), cw_buf_str(&header));
    for (int i = 0; i < 4; i++)
        cw_json_close(&w);
    (void)!cw_json_writer_end(&w, NULL); /* sticky in the buffer */
    cw_buf_add_char(out, '\n');
}
