/* SPDX-License-Identifier: GPL-2.0-or-later */
/* version: prints the versions of the program and its libraries. */
#include <openssl/crypto.h>
#include <uv.h>
#include <yaml.h>

#include "cli/lib/cli.h"
#include "cli/lib/table.h"

static void add_json(cw_buf *out)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("version"), CW_STR(CW_VERSION));
    cw_json_add_key(&w, CW_STR("libraries"));
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("libuv"), cw_str_from(uv_version_string()));
    cw_json_add_string_member(&w, CW_STR("OpenSSL"),
                              cw_str_from(OpenSSL_version(OPENSSL_VERSION_STRING)));
    cw_json_add_string_member(&w, CW_STR("libyaml"), cw_str_from(yaml_get_version_string()));
    cw_json_close(&w);
    cw_json_close(&w);
    cw_cli_end_json(&w);
}

int cw_cli_version(int argc, char **argv)
{
    bool json = false;
    const cw_cli_option options[] = {CW_CLI_JSON_OPTION(&json), {0}};
    const cw_cli_spec spec = {
        "version", "", "Print the versions of the program and of its libraries.", options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code >= 0)
        return code;
    cw_buf out;
    cw_buf_init(&out, 4096);
    if (json)
        add_json(&out);
    else
        cw_buf_printf(&out, "causeway %s\nlibuv %s, OpenSSL %s, libyaml %s\n", CW_VERSION,
                      uv_version_string(), OpenSSL_version(OPENSSL_VERSION_STRING),
                      yaml_get_version_string());
    return cw_cli_print_buf(&out);
}
