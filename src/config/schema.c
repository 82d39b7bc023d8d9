/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schema.c - the table of keys as a JSON Schema for editors and other tools. */
#include "config/keys/keys.h"

cw_code cw_config_schema(cw_buf *out, cw_err *err)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("$schema"),
                              CW_STR("https://json-schema.org/draft/2020-12/schema"));
    cw_json_add_string_member(&w, CW_STR("title"), CW_STR("Causeway configuration"));
    cw_json_add_string_member(
        &w, CW_STR("description"),
        CW_STR("A file for causeway serve --config, in YAML or JSON. Durations "
               "are seconds or text such as \"500ms\", \"75s\", \"5m\" or "
               "\"1h\"; sizes are bytes or text such as \"16KB\" or \"4MB\"."));
    cw_config_root.type->describe(&w, &cw_config_root);
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, err);
    cw_buf_add_char(out, '\n');
    return rc ? rc : out->code ? cw_fail(err, out->code, "%s", cw_code_text(out->code)) : CW_OK;
}
