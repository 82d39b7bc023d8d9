/* SPDX-License-Identifier: GPL-2.0-or-later */
/* version: prints the versions of the program and its libraries. */
#include <openssl/crypto.h>
#include <uv.h>
#include <yaml.h>

#include "cli/lib/cli.h"

int cw_cli_version(int argc, char **argv)
{
    const cw_cli_spec spec = {
        .name = "version",
        .args = "",
        .about = "Print the versions of the program and of its libraries.",
    };
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code >= 0)
        return code;
    cw_buf out;
    cw_buf_init(&out, 4096);
    cw_buf_printf(&out, "causeway %s\nlibuv %s, OpenSSL %s, libyaml %s\n", CW_VERSION,
                  uv_version_string(), OpenSSL_version(OPENSSL_VERSION_STRING),
                  yaml_get_version_string());
    return cw_cli_print_buf(&out);
}
